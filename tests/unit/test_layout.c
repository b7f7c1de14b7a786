/* test_layout.c - where elements lie: swizzles are bijections, and which layouts tirc chooses. What
 * pad and swizzle make and refuse stands in tests/legality/steps/swizzle.tir. */
#include "schedule_case.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swizzles_are_bijections),
        cmocka_unit_test(pads_are_the_smallest),
        cmocka_unit_test(pads_keep_wide_accesses),
        cmocka_unit_test(swizzles_are_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
