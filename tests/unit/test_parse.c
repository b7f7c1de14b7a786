/* test_parse.c - the grammar: what parses, into which tree, and that hostile bytes are only
 * refused. */
#include "tests/unit/parse_text.h"

static AstFile *parse_good(Text *t, const char *text)
{
    text_open(t);
    AstFile *file = text_parse(t, text);
    if (!file)
        fail_msg("refused:\n%s", text_report(t));
    return file;
}

/* ---- schedules ---- */

static const char tiled[] = "schedule tiled32 for matmul(T = 32)\n"
                            "{\n"
                            "    let [i, j, k] = loops(C);\n"
                            "    let [by, ty] = split(i, [_, T]);\n"
                            "    bind(by, blockIdx.y);   bind(ty, threadIdx.y);\n"
                            "    for buffer in [A, B] {\n"
                            "        let s = cache_read(C, buffer, shared);\n"
                            "        cooperative_fetch(s, [T, T]);\n"
                            "    }\n"
                            "}\n"
                            "// the same few lines that every schedule needs, written once\n"
                            "proc cooperative_fetch(block, [ny, nx])\n"
                            "{\n"
                            "    let copy = fuse(loops(block)[-2:]);\n"
                            "    let [each, y, x] = split(copy, [_, ny, nx]);\n"
                            "}\n";

static void test_schedule_of_the_design(void **state)
{
    (void)state;
    Text t;
    AstFile *file = parse_good(&t, tiled);
    assert_int_equal(file->n_schedules, 1);
    assert_int_equal(file->n_procs, 1);
    const AstSchedule *s = file->schedules[0];
    assert_string_equal(s->name.text, "tiled32");
    assert_string_equal(s->kernels[0].text, "matmul");
    assert_int_equal(s->n_params, 1);
    assert_int_equal(s->params[0].value->u.i, 32);
    assert_int_equal(s->body->u.seq.n, 5);
    const AstStmt *let = s->body->u.seq.items[1];
    assert_int_equal(let->kind, AS_LET);
    assert_int_equal(let->u.let.pattern.kind, AP_LIST);
    assert_int_equal(let->u.let.value->u.call.args[1].value->u.list.items[0]->kind, AE_FILL);
    assert_int_equal(s->body->u.seq.items[4]->kind, AS_EACH);
    text_close(&t);
}

static void test_slices_and_spans(void **state)
{
    (void)state;
    Text t;
    AstFile *file = parse_good(&t, tiled);
    const AstProc *proc = file->procs[0];
    assert_int_equal(proc->params[1].pattern.kind, AP_LIST);
    const AstExpr *call = proc->body->u.seq.items[0]->u.let.value;
    const AstExpr *slice = call->u.call.args[0].value;
    assert_int_equal(slice->kind, AE_INDEX);
    assert_int_equal(slice->u.index.items[0]->kind, AE_SLICE);
    assert_null(slice->u.index.items[0]->u.slice.hi);
    int n = (int)(slice->span.end - slice->span.begin);
    const char *text = source_get(t.ctx, slice->span.source)->text + slice->span.begin;
    assert_int_equal(n, (int)strlen("loops(block)[-2:]"));
    assert_memory_equal(text, "loops(block)[-2:]", (size_t)n);
    text_close(&t);
}

static void test_statements_of_scripts(void **state)
{
    (void)state;
    Text t;
    AstFile *file = parse_good(&t, "include \"more.sched\";\n"
                                   "schedule default for any {\n"
                                   "    tune T in [8, 16, 32];\n"
                                   "    let step = 3; let in = 4; let block = step - 1;\n"
                                   "    for block in blocks() { parallel(block[0]); }\n"
                                   "    for [a, _] in [[1, 2], [3, 4]] { f(a); }\n"
                                   "    for i in 0..4 { f(i, at = i + 1, axis = blockIdx.x); }\n"
                                   "    if T > 3 && !(T == 8) { return; } else if T % 2 == 0 { "
                                   "assert T != 0, \"no\\\"pe\"; } else { }\n"
                                   "    let l = loops(C)[1:3][:1][0]; let r = [0..2, 1];\n"
                                   "}\n"
                                   "schedule other for any() { }\n"
                                   "proc p() { return T ? 1 : -2; }\n");
    assert_int_equal(file->n_includes, 1);
    assert_int_equal(file->n_schedules, 2);
    const AstStmt *body = file->schedules[0]->body;
    assert_int_equal(body->u.seq.n, 10);
    assert_int_equal(body->u.seq.items[0]->kind, AS_TUNE);
    const AstStmt *assertion = body->u.seq.items[7]->u.cond.otherwise->u.cond.then->u.seq.items[0];
    assert_string_equal(assertion->u.assertion.message->u.string.text, "no\"pe");
    text_close(&t);
}

/* ---- words that are only sometimes keywords ---- */

static void test_words_as_names(void **state)
{
    (void)state;
    Text t;
    AstFile *file =
        parse_good(&t, "kernel k<N = 8>(in: f32[N], step: f32[N], block: f32[N], inout inout: "
                       "f32[N]) -> out: f32[N] {\n"
                       "    temp temp: f32[N] in shared pad(0, 4) align(0, 32, 8);\n"
                       "    for in in N bind threadIdx.x @a @b(1) @c(\"x\") @d([1, 2]), step in "
                       "0..N step 2 parallel\n"
                       "        block[step] = in[in];\n"
                       "    for reduce in N step -1 unroll, init in 4 block[reduce] = 1;\n"
                       "    for r in N in[r] = block[r] - step[0];\n"
                       "    init: for i in N { init C[i] = 0; C[i] += in[i] * step[i]; }\n"
                       "    temp[0] min= 3; temp[1] = min(temp[1], temp[2]) == 3 ? 1 : 2; "
                       "barrier[0] = launch[1];\n"
                       "    block block(in in N = in, reduce in in 0..4 = 3) where a < b atomic @x "
                       "{ where[in] = atomic[1]; }\n"
                       "    block reduce(reduce in N = 3) { init x[1] = 2; x[1] = 3; }\n"
                       "    if in[0] > 3 atomic[0] = 1; else x[1] &&= true;\n"
                       "}\n");
    const AstStmt *body = file->kernels[0]->body;
    assert_int_equal(body->u.seq.items[0]->kind, AS_TEMP);
    const AstStmt *loops = body->u.seq.items[1];
    assert_int_equal(loops->u.loop.n, 2);
    assert_int_equal(loops->u.loop.loops[0].kind, LOOP_BIND);
    assert_int_equal(loops->u.loop.loops[0].n_annotations, 4);
    assert_int_equal(loops->u.loop.loops[1].kind, LOOP_PARALLEL);
    assert_non_null(loops->u.loop.loops[1].step);
    const AstStmt *block = body->u.seq.items[8];
    assert_int_equal(block->kind, AS_BLOCK);
    assert_int_equal(block->u.block.iters[0].kind, ITER_SPATIAL);
    assert_int_equal(block->u.block.iters[1].kind, ITER_REDUCE);
    assert_true(block->u.block.atomic);
    const AstStmt *second = body->u.seq.items[9];
    assert_string_equal(second->u.block.iters[0].name.text, "reduce");
    text_close(&t);
}

static void test_precedence(void **state)
{
    (void)state;
    Text t;
    AstFile *file =
        parse_good(&t, "proc p() { return a || b && c | d ^ e & f == g < h << i + j * -k; }");
    const AstExpr *e = file->procs[0]->body->u.seq.items[0]->u.value;
    static const ExprKind down[] = {EX_OR, EX_AND, EX_BITOR, EX_BITXOR, EX_BITAND,
                                    EX_EQ, EX_LT,  EX_SHL,   EX_ADD,    EX_MUL};
    for (size_t i = 0; i < sizeof down / sizeof *down; i++, e = e->u.op.b)
        assert_int_equal(e->u.op.op, down[i]);
    assert_int_equal(e->u.op.op, EX_NEG);
    text_close(&t);
}

/* ---- hostile texts: one error each, no crash, no hang ---- */

static const char *repeat(Text *t, const char *before, const char *unit, int n, const char *after)
{
    StrBuf s = strbuf_new(t->ctx->arena);
    strbuf_add(&s, before);
    for (int i = 0; i < n; i++)
        strbuf_add(&s, unit);
    strbuf_add(&s, after);
    return s.text;
}

static void test_depth(void **state)
{
    (void)state;
    static const char *const units[] = {"(",  "-",  "a + ", "a ? 1 : ", "[",
                                        "f(", "a[", "!",    "(a + "};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        Text t;
        text_open(&t);
        assert_null(text_parse(
            &t, repeat(&t, "kernel k() -> y: f32[1] { y[0] = ", units[i], 100000, "1; }")));
        assert_int_equal(t.ctx->n_errors, 1);
        assert_int_equal(t.ctx->first->code, E0109);
        text_close(&t);
    }
}

static void test_depth_of_statements(void **state)
{
    (void)state;
    static const char *const units[] = {"for i in 3 ",          "{",   "if a ",
                                        "if a y[0] = 1; else ", "l: ", "init "};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        Text t;
        text_open(&t);
        assert_null(text_parse(
            &t, repeat(&t, "kernel k() -> y: f32[1] { ", units[i], 100000, "y[0] = 1; }")));
        assert_int_equal(t.ctx->n_errors, 1);
        assert_int_equal(t.ctx->first->code, E0109);
        text_close(&t);
    }
    Text t;
    text_open(&t);
    assert_null(text_parse(&t, repeat(&t, "kernel k() -> y: f32[1] { for ", "i in 3, ", 100000,
                                      "j in 3 y[0] = 1; }")));
    assert_int_equal(t.ctx->n_errors, 1);
    text_close(&t);
}

/* What is nested deeply but allowed is resolved, too: nobody who walks the tree overflows. */
static void test_depth_allowed(void **state)
{
    (void)state;
    Text t;
    text_open(&t);
    text_parse(&t, repeat(&t, "kernel k() -> y: f32[1] { y[0] = ", "1 + ", 900, "1; }"));
    text_print(&t, text_kernel(&t, 0));
    text_close(&t);
}

static void test_long_lines(void **state)
{
    (void)state;
    enum { MEGA = 2 * 1024 * 1024 };
    static const char fills[] = {'a', '1', '"', ' ', '\n', '/', '(', '\x80', '*', '\0', '\\', '{'};
    for (size_t i = 0; i < sizeof fills; i++) {
        Text t;
        text_open(&t);
        char *text = malloc(MEGA);
        memset(text, fills[i], MEGA);
        AstFile *file = text_parse_bytes(&t, text, MEGA);
        bool blank = fills[i] == ' ' || fills[i] == '\n' || fills[i] == '/';
        assert_true(blank ? file != NULL : file == NULL && t.ctx->n_errors >= 1);
        text_report(&t);
        free(text);
        text_close(&t);
    }
}

static void test_bytes(void **state)
{
    (void)state;
    Text t;
    char bytes[256];
    for (int i = 0; i < 256; i++)
        bytes[i] = (char)i;
    text_open(&t);
    assert_null(text_parse_bytes(&t, bytes, sizeof bytes));
    assert_int_equal(t.ctx->n_errors, 1);
    text_close(&t);
    for (int i = 0; i < 256; i++) {
        text_open(&t);
        text_parse_bytes(&t, bytes + i, 1);
        text_parse_bytes(&t, bytes + i, sizeof bytes - (size_t)i);
        text_close(&t);
    }
}

/* Every text cut off anywhere is refused or accepted, never worse. */
static void test_cut_off(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof tiled; n++) {
        Text t;
        text_open(&t);
        AstFile *file = text_parse_bytes(&t, tiled, n);
        assert_true(file || t.ctx->n_errors == 1);
        text_close(&t);
    }
}

/* The memory limit of the context holds for the parser, too. */
static void test_out_of_memory(void **state)
{
    (void)state;
    Context *c = ctx_new(200000);
    jmp_buf guard;
    assert_non_null(c);
    if (setjmp(guard) == 0) {
        c->guard = &guard;
        char *text = arena_alloc(c->arena, 60001);
        memset(text, '(', 60000);
        for (int i = 0; i < 100; i++)
            parse_text(c, source_add(c, "test.tir", text, 60000));
        fail_msg("the limit was not noticed");
    }
    assert_int_equal(c->fatal, FATAL_OUT_OF_MEMORY);
    ctx_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule_of_the_design),
        cmocka_unit_test(test_slices_and_spans),
        cmocka_unit_test(test_statements_of_scripts),
        cmocka_unit_test(test_words_as_names),
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_depth_of_statements),
        cmocka_unit_test(test_depth_allowed),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
