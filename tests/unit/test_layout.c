/* test_layout.c - where elements lie: swizzles are bijections, what the primitives refuse, what
 * lowering makes of swizzles, and the same results with and without. */
#include "schedule_case.h"

#define TRANSPOSE                                                                                  \
    "kernel transpose<R = 16, C = 16>(in: f32[R, C]) -> out: f32[C, R]\n"                          \
    "{ for r in R, c in C out[c, r] = in[r, c]; }\n"
#define SYMBOLIC                                                                                   \
    "kernel transpose<R, C>(in: f32[R, C]) -> out: f32[C, R]\n"                                    \
    "{ for r in R, c in C out[c, r] = in[r, c]; }\n"
/* 8 x 8 tiles in shared memory, filled and emptied by rows, through registers of 4 x 4. */
#define TILES                                                                                      \
    "let tile = cache_write(out, shared); let w = cache_read(out, in, local); let [r, c] = "       \
    "loops(out);\n"                                                                                \
    "let [br, tr, vr] = split(r, [_, 2, 4]); let [bc, tc, vc] = split(c, [_, 2, 4]);\n"            \
    "reorder(bc, br, tr, tc, vc, vr); reverse_compute_at(tile, br);\n"                             \
    "let t = fuse(tr, tc); compute_at(w, t); bind(bc, blockIdx.y); bind(br, blockIdx.x); bind(t, " \
    "threadIdx.x);\n"                                                                              \
    "let [wr, wc] = loops(w)[-2:]; vectorize(wc); vectorize(vr);\n"                                \
    "let [x, y] = loops(tile)[-2:]; reorder(y, x);\n"                                              \
    "let [each, th, v] = split(fuse(y, x), [_, 4, 4]); bind(th, threadIdx.x); vectorize(v);\n"

/* ---- the map --------------------------------------------------------------------------------- */

/* Every element of a 2-dimensional buffer has a place of its own, inside the buffer, and chunks
 * stay whole. */
static void expect_bijection(Context *c, int64_t rows, int64_t columns, Swizzle swizzle,
                             int64_t pad)
{
    Expr *shape[2] = {expr_index(c, rows), expr_index(c, columns)};
    Buffer *b = buffer_new(c, &(Buffer){.name = ctx_name(c, "t"),
                                        .type = DT_F32,
                                        .shape = shape,
                                        .rank = 2,
                                        .scope = SCOPE_SHARED,
                                        .role = ROLE_TEMP,
                                        .span = span_none()});
    AxisLayout layout[2] = {[1] = {.swizzle = swizzle, .pad = pad}};
    b->layout = layout;
    int64_t strides[2], elements;
    assert_null(swizzle_error(c, b, 1, &swizzle));
    assert_true(buffer_strides(b, strides, &elements));
    bool *taken = ARENA_ARRAY(c->arena, bool, elements);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < columns; k++) {
            int64_t at = buffer_offset(b, strides, (int64_t[]){r, k});
            assert_true(at >= 0 && at < elements && !taken[at]);
            assert_int_equal(at % swizzle.chunk, (r * strides[0] + k) % swizzle.chunk);
            taken[at] = true;
        }
}

static void swizzles_are_bijections(void **state)
{
    (void)state;
    Text t;
    text_open(&t);
    for (int64_t columns = 1; columns < 40; columns += 3)
        for (int64_t chunk = 1; chunk <= 8; chunk *= 2)
            for (int64_t count = 2; count <= 16; count *= 2)
                for (int64_t every = 1; every <= 3; every++)
                    expect_bijection(t.ctx, 17, columns, (Swizzle){chunk, count, every, 0}, 0);
    expect_bijection(t.ctx, 9, 20, (Swizzle){4, 8, 2, 0}, 4);
    text_close(&t);
}

/* ---- what the primitives make and refuse ----------------------------------------------------- */

static void layouts_are_said_of_the_buffer(void **state)
{
    (void)state;
    const char *rest = "    for ax0 in 16, ax1 in 16\n"
                       "        block in_shared(r in 16 = ax0, c in 16 = ax1) {\n"
                       "            in_shared[r, c] = in[r, c];\n"
                       "        }\n"
                       "    for r in 16, c in 16\n"
                       "        out[c, r] = in_shared[r, c];\n"
                       "}\n";
    static const char *const layouts[][2] = {
        {"swizzle(t, 4, 2);", "swizzle(1, 0, 4, 2, 1)"},
        {"swizzle(t, 4, 8, 2);", "swizzle(1, 0, 4, 8, 2)"},
        {"swizzle(t, 4, 2, axis = 0);", "swizzle(0, 1, 4, 2, 1)"},
        {"swizzle(t, auto);", "swizzle(1, auto)"},
        {"pad(t, auto);", "pad(1, auto)"},
        {"pad(t, auto); pad(t, 3);", "pad(1, 3)"},
        {"pad(t, 4); swizzle(t, 1, 2, by = -2);", "pad(1, 4) swizzle(1, 0, 1, 2, 1)"},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        char body[1000];
        snprintf(body, sizeof body,
                 "    temp in_shared: f32[16, 16] in shared %s;\n"
                 "%s",
                 layouts[i][1], rest);
        char steps[200];
        snprintf(steps, sizeof steps, "let t = cache_read(out, in, shared); %s", layouts[i][0]);
        expect(TRANSPOSE, steps, body);
    }
}

static void refuses_what_is_no_swizzle(void **state)
{
    (void)state;
#define SHARED "let t = cache_read(out, in, shared); "
    refuse(TRANSPOSE, SHARED "swizzle(t, 4, 6);", E0448,
           "the count of chunks that change places is a power of two from 2 to 1024, found 6");
    refuse(TRANSPOSE, SHARED "swizzle(t, 0, 8);", E0448, "a chunk has at least 1 element, found 0");
    refuse(TRANSPOSE, SHARED "swizzle(t, 4, 8, 0);", E0448,
           "rows change places every 1 row or more, found 0");
    refuse(TRANSPOSE, SHARED "swizzle(t, 4, 8, 1, 1, 1);", E0448,
           "axis 1 cannot choose where chunks of axis 1 lie");
    refuse(TRANSPOSE, SHARED "swizzle(t, 4, 8); swizzle(t, 4, 8, 1, 0);", E0448,
           "axis 1 has a swizzle itself");
    refuse(TRANSPOSE,
           "let t = reindex_cache_read(out, in, shared, [i, j] -> [i, j, 0]); swizzle(t, 4, 8, 1, "
           "2); swizzle(t, 4, 8, 1, 1);",
           E0448, "axis 1 chooses where chunks of axis 2 lie");
    refuse(TRANSPOSE, SHARED "swizzle(t, 4);", E0448,
           "needs a count of chunks to permute; write swizzle(in_shared, auto)");
    refuse(TRANSPOSE, SHARED "swizzle(t, some);", E0401,
           "argument 'chunk' takes an integer, or auto, found 'some'");
    refuse(TRANSPOSE, SHARED "swizzle(t, 4, 8, axis = 2);", E0446, "axis 2 is out of range");
    refuse(TRANSPOSE, "swizzle(in, 4, 8);", E0447, "'in' is a parameter");
    refuse(TRANSPOSE, "let t = cache_read(out, in, local); swizzle(t, 4, 8);", E0447,
           "only shared memory has banks");
    refuse(TRANSPOSE, "let t = cache_read(out, in, local); pad(t, auto);", E0447,
           "'in_local' is in local memory; only shared memory has banks");
    refuse("kernel k(x: f32[8]) -> y: f32[8] { for i in 8 y[i] = x[i]; }\n",
           "let t = cache_read(y, x, shared); swizzle(t, 1, 8);", E0446,
           "'x_shared' has 1 axis, but a swizzle needs two");
}

/* ---- lowering -------------------------------------------------------------------------------- */

/* The launch's text holds all pieces. */
static void expect_lowered(const char *steps, const char *const *pieces, int n)
{
    Case k;
    case_run(&k, TRANSPOSE, steps);
    const char *text = text_print(&k.text, case_lowered(&k));
    for (int i = 0; i < n; i++)
        if (!strstr(text, pieces[i]))
            fail_msg("no '%s' in\n%s", pieces[i], text);
    text_close(&k.text);
}

static void swizzles_become_subscripts(void **state)
{
    (void)state;
    static const char *const wide[] = {
        "temp out_shared: f32[8, 8] in shared;",
        "for vr in 4 vectorize",
        "out_shared[t % 2 * 4 + vc, (t / 2 ^ t % 2) * 4 + vr] = in_local[vr, vc];",
        "for v in 4 vectorize",
        "out_shared[each * 2 + t / 2, (t % 2 ^ each / 2) * 4 + v];",
    };
    expect_lowered(TILES "swizzle(out_shared, 4, 2, 4);", wide, 5);
    /* rows are rounded up to whole groups of chunks */
    static const char *const rounded[] = {"temp out_shared: f32[8, 32] in shared;"};
    expect_lowered(TILES "swizzle(out_shared, 4, 8);", rounded, 1);
    /* chunks of 2 would tear the four lanes apart */
    Case k;
    case_run(&k, TRANSPOSE, TILES "swizzle(out_shared, 2, 4);");
    case_lowered(&k);
    if (!strstr(text_report(&k.text), "the swizzle of 'out_shared' separates chunks of 2 elements"))
        fail_msg("%s", text_report(&k.text));
    text_close(&k.text);
}

/* The kernel as it is after choose_layouts. */
typedef struct {
    Text *open;
    const char *text;
} Chosen;

static void after_pass(void *user, const char *pass, const Kernel *kernel, bool changed,
                       double seconds)
{
    Chosen *chosen = user;
    if (strcmp(pass, "choose_layouts") == 0)
        chosen->text = text_print(chosen->open, kernel);
    (void)changed;
    (void)seconds;
}

/* ---- what tirc chooses ----------------------------------------------------------------------- */

/* A tile of T x T elements goes through shared memory: ROWS rows of T threads store rows and load
 * columns. */
static void expect_choice(const char *type, int tile, int rows, const char *layout,
                          const char *expected, const char *warning)
{
    char program[300], steps[1000];
    snprintf(program, sizeof program,
             "kernel transpose(in: %s[64, 64]) -> out: %s[64, 64] { for r in 64, c in 64 out[c, r] "
             "= in[r, c]; }\n",
             type, type);
    snprintf(
        steps, sizeof steps,
        "let [r, c] = loops(out); let [br, tr] = split(r, [_, %d]); let [bc, tc] = split(c, [_, "
        "%d]);\n"
        "reorder(br, bc, tc, tr); let tile = cache_read(out, in, shared); compute_at(tile, bc);\n"
        "%s bind(br, blockIdx.y); bind(bc, blockIdx.x);\n"
        "for nest in [loops(tile)[-2:], [tc, tr]] { let [e, y, x] = split(fuse(nest), [_, %d, "
        "%d]);\n"
        "bind(y, threadIdx.y); bind(x, threadIdx.x); }\n",
        tile, tile, layout, rows, tile);
    Case k;
    case_run(&k, program, steps);
    if (!k.schedule)
        fail_msg("%s", text_report(&k.text));
    LowerOptions options = {.limits = limits_default(), .after_pass = after_pass};
    Chosen chosen = {&k.text, NULL};
    options.user = &chosen;
    lower_kernel(k.text.ctx, schedule_kernel(k.schedule), &options);
    const char *report = text_report(&k.text);
    if (!chosen.text || !strstr(chosen.text, expected))
        fail_msg("no '%s' in\n%s%s", expected, chosen.text ? chosen.text : "nothing", report);
    if (warning ? !strstr(report, warning) : strlen(report) > 0)
        fail_msg("warnings:\n%s", report);
    text_close(&k.text);
}

static void pads_are_the_smallest(void **state)
{
    (void)state;
    expect_choice("f32", 32, 8, "pad(tile, auto);", "f32[32, 32] in shared pad(1, 1);", NULL);
    expect_choice("f32", 32, 32, "pad(tile, auto);", "f32[32, 32] in shared pad(1, 1);", NULL);
    expect_choice("f64", 32, 8, "pad(tile, auto);", "f64[32, 32] in shared pad(1, 1);", NULL);
    expect_choice("u8", 32, 8, "pad(tile, auto);", "u8[32, 32] in shared pad(1, 4);", NULL);
    expect_choice("f16", 32, 8, "pad(tile, auto);", "f16[32, 32] in shared pad(1, 2);", NULL);
    /* half a row of threads: columns want a pad of 2, and rows none */
    expect_choice("f32", 16, 16, "pad(tile, auto);", "pad(1, 2);",
                  "this store takes 2 wavefronts per request; the ideal is 1");
}

static void swizzles_are_chosen(void **state)
{
    (void)state;
    expect_choice("f32", 32, 8, "swizzle(tile, auto);",
                  "f32[32, 32] in shared swizzle(1, 0, 1, 32, 1);", NULL);
    expect_choice("u8", 32, 8, "swizzle(tile, auto);", "swizzle(1, 0, 4, 8, 4);", NULL);
    expect_choice("f32", 32, 8, "pad(tile, 1); swizzle(tile, auto);", "in shared pad(1, 1);", NULL);
}

/* Accesses of 16 bytes stay aligned: the pad is a multiple of four elements although smaller ones
 * would do for banks. */
static void pads_keep_wide_accesses(void **state)
{
    (void)state;
    Case k;
    case_run(&k,
             "kernel transpose(in: f32[64, 64]) -> out: f32[64, 64] { for r in 64, c in 64 out[c, "
             "r] = in[r, c]; }\n",
             "let [r, c] = loops(out); let [br, tr] = split(r, [_, 32]); let [bc, tc] = split(c, "
             "[_, 32]);\n"
             "reorder(br, bc, tc, tr); let tile = cache_read(out, in, shared); compute_at(tile, "
             "bc); pad(tile, auto);\n"
             "bind(br, blockIdx.y); bind(bc, blockIdx.x); let [y, x, v] = "
             "split(fuse(loops(tile)[-2:]), [_, 256, 4]);\n"
             "bind(x, threadIdx.x); vectorize(v); let [e, t] = split(fuse(tc, tr), [_, 256]); "
             "bind(t, threadIdx.x);\n");
    LowerOptions options = {.limits = limits_default(), .after_pass = after_pass};
    Chosen chosen = {&k.text, NULL};
    options.user = &chosen;
    if (!k.schedule)
        fail_msg("%s", text_report(&k.text));
    lower_kernel(k.text.ctx, schedule_kernel(k.schedule), &options);
    if (!chosen.text || !strstr(chosen.text, "f32[32, 32] in shared pad(1, 4);"))
        fail_msg("%s%s", chosen.text ? chosen.text : "", text_report(&k.text));
    text_close(&k.text);
}

/* ---- meaning --------------------------------------------------------------------------------- */

static void layouts_mean_the_same(void **state)
{
    (void)state;
    static const int sizes[] = {1, 7, 8, 9, 16, 25};
    static const char *const layouts[] = {
        TILES "swizzle(out_shared, 4, 2, 4);",
        TILES "swizzle(out_shared, 1, 16, 3);",
        TILES "swizzle(out_shared, 2, 8);",
        TILES "swizzle(out_shared, 4, 4, axis = 0); pad(out_shared, 3);",
    };
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        expect_same(SYMBOLIC, layouts[i], sizes, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swizzles_are_bijections),
        cmocka_unit_test(layouts_are_said_of_the_buffer),
        cmocka_unit_test(refuses_what_is_no_swizzle),
        cmocka_unit_test(swizzles_become_subscripts),
        cmocka_unit_test(pads_are_the_smallest),
        cmocka_unit_test(pads_keep_wide_accesses),
        cmocka_unit_test(swizzles_are_chosen),
        cmocka_unit_test(layouts_mean_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
