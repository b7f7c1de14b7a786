/* Text of kernels at every level; the round trip itself is tested where there is a parser. */
#include "tests/unit/ir_build.h"

#include <math.h>
#include <string.h>

static void test_matmul_with_init(void **state)
{
    Matmul m = matmul(*state);
    assert_null(ir_verify(*state, &m.kernel));
    assert_int_equal(kernel_level(*state, &m.kernel), LEVEL_PROGRAM);
    assert_string_equal(text_of(*state, &m.kernel),
                        "kernel matmul<M = 64, N>(A: f32[64, 32], B: f32[32, N]) -> C: f32[64, N]\n"
                        "{\n"
                        "    for i in 64, j in N, k in 32 {\n"
                        "        init C[i, j] = 0.0;\n"
                        "        C[i, j] += A[i, k] * B[k, j];\n"
                        "    }\n"
                        "}\n");
}

static void test_label_of_a_reduction(void **state)
{
    Context *c = *state;
    Matmul m = matmul(c);
    BlockStmt block = m.block->u.block;
    block.name = ctx_name(c, "update");
    m.kernel.body = stmt_replace(c, m.kernel.body, m.block, stmt_block(c, &block, NOWHERE));
    assert_non_null(strstr(text_of(c, &m.kernel), "    for i in 64, j in N, k in 32\n"
                                                  "        update: {\n"
                                                  "            init C[i, j] = 0.0;\n"
                                                  "            C[i, j] += A[i, k] * B[k, j];\n"
                                                  "        }\n"));
}

/* The loops of a schedule: kinds, annotations, a block with bindings and a predicate. */
static void test_scheduled(void **state)
{
    Context *c = *state;
    Matmul m = matmul(c);
    Var *by = loop_var(c, "by"), *ty = loop_var(c, "ty");
    BlockStmt block = m.block->u.block;
    BlockIter iters[3] = {block.iters[0], block.iters[1], block.iters[2]};
    Expr *row =
        expr_binary(c, EX_ADD, expr_binary(c, EX_MUL, use(c, by), expr_index(c, 32), NOWHERE),
                    use(c, ty), NOWHERE);
    iters[0].binding = row;
    block.iters = iters;
    block.predicate = expr_binary(c, EX_LT, row, expr_index(c, 64), NOWHERE);
    block.atomic = true;
    Annotation list[] = {{.kind = ANNOTATION_INT, .i = 1}, {.kind = ANNOTATION_FLOAT, .f = -0.5}};
    Annotation notes[] = {
        {.key = ctx_name(c, "n"), .kind = ANNOTATION_INT, .i = 1},
        {.key = ctx_name(c, "s"), .kind = ANNOTATION_STRING, .string = ctx_name(c, "a\"b\n")},
        {.key = ctx_name(c, "l"), .kind = ANNOTATION_LIST, .list = list, .n_list = 2},
    };
    block.annotations = (AnnotationList){notes, 3};
    Stmt *inner = loop_to(c, m.j, use(c, m.n),
                          loop_to(c, m.k, expr_index(c, 32), stmt_block(c, &block, NOWHERE)));
    ForStmt loop = {.var = ty,
                    .lo = expr_index(c, 0),
                    .hi = expr_index(c, 32),
                    .step = 1,
                    .kind = LOOP_VECTORIZE,
                    .axis = AXIS_NONE,
                    .annotations = {notes, 1},
                    .body = inner};
    ForStmt outer = {.var = by,
                     .lo = expr_index(c, 0),
                     .hi = expr_index(c, 2),
                     .step = 1,
                     .kind = LOOP_BIND,
                     .axis = AXIS_BLOCK_Y,
                     .body = stmt_for(c, &loop, NOWHERE)};
    m.kernel.body = stmt_for(c, &outer, NOWHERE);
    assert_null(ir_verify(c, &m.kernel));
    assert_int_equal(kernel_level(*state, &m.kernel), LEVEL_SCHEDULED);
    const char *text = text_of(c, &m.kernel);
    assert_non_null(strstr(text, "\n{\n"
                                 "    for by in 2 bind blockIdx.y\n"
                                 "        for ty in 32 vectorize @n(1)\n"
                                 "            for j in N, k in 32\n"
                                 "                block C(i in 64 = by * 32 + ty, j in N = j,\n"
                                 "                        reduce k in 32 = k) where by * 32 + ty < "
                                 "64 atomic @n(1) @s(\"a\\\"b\\n\") @l([1, -0.5]) {\n"
                                 "                    init C[i, j] = 0.0;\n"
                                 "                    C[i, j] += A[i, k] * B[k, j];\n"
                                 "                }\n"
                                 "}\n"));
}

static void test_lowered(void **state)
{
    Context *c = *state;
    Buffer *x = buffer1(c, "x", DT_F32, ROLE_OUT, expr_index(c, 64));
    AxisLayout layout[] = {{.pad = 1, .align_factor = 32, .align_offset = 8, .fold = 64}};
    Buffer *s = buffer_new(c, &(Buffer){.name = ctx_name(c, "s"),
                                        .type = DT_F32,
                                        .shape = EXPRS(expr_index(c, 32)),
                                        .rank = 1,
                                        .scope = SCOPE_SHARED,
                                        .role = ROLE_TEMP,
                                        .span = NOWHERE});
    s->layout = layout;
    Expr *thread = expr_axis(c, AXIS_THREAD_X);
    Expr *at = expr_binary(
        c, EX_ADD, expr_binary(c, EX_MUL, expr_axis(c, AXIS_BLOCK_X), expr_index(c, 32), NOWHERE),
        thread, NOWHERE);
    Var *i = var_new(c, ctx_name(c, "i"), DT_INDEX, VAR_LET, NOWHERE);
    Stmt *add = stmt_store(c,
                           &(StoreStmt){.buffer = x,
                                        .index = EXPRS(use(c, i)),
                                        .op = STORE_ADD,
                                        .value = expr_load(c, s, EXPRS(thread), NOWHERE)},
                           NOWHERE);
    add->u.store.atomic = true;
    Stmt *body = SEQ(c, stmt_temp(c, s, NOWHERE), stmt_let(c, i, at, NOWHERE),
                     stmt_store(c,
                                &(StoreStmt){.buffer = s,
                                             .index = EXPRS(thread),
                                             .op = STORE_SET,
                                             .value = expr_float(c, DT_F32, 1.5, NOWHERE)},
                                NOWHERE),
                     stmt_barrier(c, SYNC_THREADS, "s: written above", NOWHERE),
                     stmt_if(c, expr_binary(c, EX_LT, use(c, i), expr_index(c, 60), NOWHERE), add,
                             NULL, NOWHERE));
    LaunchStmt launch = {.name = ctx_name(c, "main"),
                         .grid = {expr_index(c, 2), expr_index(c, 1), expr_index(c, 1)},
                         .block = {32, 1, 1},
                         .body = body};
    Kernel kernel = kernel_of(c, "k", (Buffer *const[]){x}, 1, stmt_launch(c, &launch, NOWHERE));
    assert_null(ir_verify(c, &kernel));
    assert_int_equal(kernel_level(*state, &kernel), LEVEL_LOWERED);
    assert_string_equal(text_of(c, &kernel),
                        "kernel k() -> x: f32[64]\n"
                        "{\n"
                        "    launch main grid(2, 1, 1) block(32, 1, 1) {\n"
                        "        temp s: f32[32] in shared pad(0, 1) align(0, 32, 8) fold(0, 64);\n"
                        "        let i = blockIdx.x * 32 + threadIdx.x;\n"
                        "        s[threadIdx.x] = 1.5;\n"
                        "        barrier \"s: written above\";\n"
                        "        if i < 60\n"
                        "            x[i] atomic += s[threadIdx.x];\n"
                        "    }\n"
                        "}\n");
}

/* Two blocks that a reader would take for one reduction: the first is spelt out. */
static void test_store_before_its_update(void **state)
{
    Context *c = *state;
    Matmul m = matmul(c);
    Expr *const *at = EXPRS(use(c, m.i), use(c, m.j));
    const ForStmt *loops[] = {&m.kernel.body->u.loop, &m.kernel.body->u.loop.body->u.loop,
                              &m.kernel.body->u.loop.body->u.loop.body->u.loop};
    Stmt *set = stmt_store(c,
                           &(StoreStmt){.buffer = m.c,
                                        .index = at,
                                        .op = STORE_SET,
                                        .value = expr_float(c, DT_F32, 0, NOWHERE)},
                           NOWHERE);
    Stmt *add = stmt_store(c,
                           &(StoreStmt){.buffer = m.c,
                                        .index = at,
                                        .op = STORE_ADD,
                                        .value = expr_float(c, DT_F32, 1, NOWHERE)},
                           NOWHERE);
    Stmt *first = block_implied(c, &(ImpliedBlock){.loops = loops,
                                                   .n_loops = 2,
                                                   .name = ctx_name(c, "C_init"),
                                                   .body = set,
                                                   .span = NOWHERE});
    Stmt *second = block_implied(
        c, &(ImpliedBlock){.loops = loops, .n_loops = 3, .body = add, .span = NOWHERE});
    Stmt *seq = SEQ(c, first, loop_to(c, m.k, expr_index(c, 32), second));
    m.kernel.body = loop_to(c, m.i, expr_index(c, 64), loop_to(c, m.j, use(c, m.n), seq));
    assert_null(ir_verify(c, &m.kernel));
    assert_string_equal(strchr(text_of(c, &m.kernel), '\n'),
                        "\n{\n"
                        "    for i in 64, j in N {\n"
                        "        block C_init(i in 64 = i, j in N = j) {\n"
                        "            C[i, j] = 0.0;\n"
                        "        }\n"
                        "        for k in 32\n"
                        "            C[i, j] += 1.0;\n"
                        "    }\n"
                        "}\n");
}

static void test_downward_loop(void **state)
{
    Context *c = *state;
    Buffer *x = buffer1(c, "x", DT_I32, ROLE_OUT, expr_index(c, 10));
    Var *i = loop_var(c, "i");
    ForStmt loop = {.var = i,
                    .lo = expr_index(c, 9),
                    .hi = expr_index(c, 0),
                    .step = -1,
                    .axis = AXIS_NONE,
                    .body = stmt_seq(c, NULL, 0, NOWHERE)};
    Stmt *store = stmt_store(c,
                             &(StoreStmt){.buffer = x,
                                          .index = EXPRS(use(c, i)),
                                          .op = STORE_MAX,
                                          .value = expr_int(c, DT_I32, -1, NOWHERE)},
                             NOWHERE);
    loop.body = block_implied(
        c, &(ImpliedBlock){
               .loops = (const ForStmt *[]){&loop}, .n_loops = 1, .body = store, .span = NOWHERE});
    assert_int_equal(loop.body->u.block.iters[0].hi->u.i, 10);
    Kernel kernel = kernel_of(c, "k", (Buffer *const[]){x}, 1, stmt_for(c, &loop, NOWHERE));
    assert_null(ir_verify(c, &kernel));
    assert_string_equal(text_of(c, &kernel), "kernel k() -> x: i32[10]\n"
                                             "{\n"
                                             "    for i in 9..0 step -1\n"
                                             "        x[i] max= -1;\n"
                                             "}\n");
}

static void test_else_binds_to_its_if(void **state)
{
    Context *c = *state;
    Expr *yes = expr_bool(c, true);
    Stmt *a = stmt_barrier(c, SYNC_THREADS, "a", NOWHERE),
         *b = stmt_barrier(c, SYNC_THREADS, "b", NOWHERE);
    Stmt *s =
        stmt_if(c, yes, stmt_if(c, yes, a, NULL, NOWHERE), stmt_if(c, yes, b, a, NOWHERE), NOWHERE);
    StrBuf out = strbuf_new(c->arena);
    print_stmt(c, s, 0, &out);
    assert_string_equal(out.text, "if true {\n"
                                  "    if true\n"
                                  "        barrier \"a\";\n"
                                  "}\n"
                                  "else if true\n"
                                  "    barrier \"b\";\n"
                                  "else\n"
                                  "    barrier \"a\";\n");
}

static void test_precedence(void **state)
{
    Context *c = *state;
    Expr *x = use(c, loop_var(c, "x")), *y = use(c, loop_var(c, "y")),
         *z = use(c, loop_var(c, "z"));
    Expr *sum = expr_binary(c, EX_ADD, x, y, NOWHERE), *less = expr_binary(c, EX_LT, x, y, NOWHERE);
    Expr *negated = expr_unary(c, EX_NEG, x, NOWHERE);
#define SHOWS(e, text) assert_string_equal(text_of_expr(c, (e)), (text))
    SHOWS(expr_binary(c, EX_MUL, sum, z, NOWHERE), "(x + y) * z");
    SHOWS(expr_binary(c, EX_SUB, sum, z, NOWHERE), "x + y - z");
    SHOWS(expr_binary(c, EX_SUB, z, sum, NOWHERE), "z - (x + y)");
    SHOWS(expr_binary(c, EX_MIN, sum, z, NOWHERE), "min(x + y, z)");
    SHOWS(expr_unary(c, EX_NEG, sum, NOWHERE), "-(x + y)");
    SHOWS(expr_unary(c, EX_NEG, negated, NOWHERE), "-(-x)");
    SHOWS(expr_binary(c, EX_SUB, x, expr_index(c, -1), NOWHERE), "x - -1");
    SHOWS(expr_unary(c, EX_NEG, expr_index(c, 5), NOWHERE), "-5");
    SHOWS(expr_unary(c, EX_NOT, less, NOWHERE), "!(x < y)");
    SHOWS(expr_binary(c, EX_OR, less, expr_binary(c, EX_AND, less, less, NOWHERE), NOWHERE),
          "x < y || x < y && x < y");
    Expr *choice = expr_select(c, less, x, y, NOWHERE);
    SHOWS(expr_select(c, less, choice, choice, NOWHERE), "x < y ? (x < y ? x : y) : x < y ? x : y");
    SHOWS(expr_binary(c, EX_ADD, choice, z, NOWHERE), "(x < y ? x : y) + z");
}

static void test_literals_keep_their_type(void **state)
{
    Context *c = *state;
    Buffer *h = buffer1(c, "h", DT_F16, ROLE_IN, expr_index(c, 4));
    Buffer *n = buffer1(c, "n", DT_U8, ROLE_IN, expr_index(c, 4));
    Expr *load = expr_load(c, h, EXPRS(expr_index(c, 0)), NOWHERE);
    Expr *byte = expr_load(c, n, EXPRS(expr_index(c, 0)), NOWHERE);
    Expr *half = expr_float(c, DT_F16, 1.5, NOWHERE), *two = expr_float(c, DT_F16, 2, NOWHERE);
    SHOWS(half, "f16(1.5)");
    SHOWS(expr_binary(c, EX_MUL, half, load, NOWHERE), "1.5 * h[0]");
    SHOWS(expr_binary(c, EX_MUL, half, two, NOWHERE), "f16(1.5) * 2.0");
    SHOWS(expr_binary(c, EX_ADD, expr_binary(c, EX_MUL, half, two, NOWHERE), two, NOWHERE),
          "f16(1.5) * 2.0 + 2.0");
    SHOWS(expr_cast(c, DT_F32, half, NOWHERE), "f32(f16(1.5))");
    SHOWS(expr_cast(c, DT_F16, expr_float(c, DT_F32, 1, NOWHERE), NOWHERE), "f16(f32(1.0))");
    SHOWS(expr_cast(c, DT_I32, byte, NOWHERE), "i32(n[0])");
    SHOWS(expr_call(c, CALL_FMA, EXPRS(half, load, two), NOWHERE), "fma(1.5, h[0], 2.0)");
    SHOWS(expr_load(c, h, EXPRS(expr_cast(c, DT_INDEX, byte, NOWHERE)), NOWHERE), "h[n[0]]");
    SHOWS(expr_binary(c, EX_SHL, byte, expr_index(c, 2), NOWHERE), "n[0] << index(2)");
    SHOWS(expr_int(c, DT_U64, -1, NOWHERE), "u64(18446744073709551615)");
    SHOWS(expr_int(c, DT_INDEX, INT64_MIN, NOWHERE), "-9223372036854775808");
}

static void test_floats_are_short_and_exact(void **state)
{
    Context *c = *state;
    SHOWS(expr_float(c, DT_F32, 0.1, NOWHERE), "0.1");
    SHOWS(expr_float(c, DT_F32, 1e30, NOWHERE), "1e30");
    SHOWS(expr_float(c, DT_F32, 16777217, NOWHERE), "16777216.0");
    SHOWS(expr_float(c, DT_F32, -0.0, NOWHERE), "-0.0");
    SHOWS(expr_float(c, DT_F32, -INFINITY, NOWHERE), "-inf");
    SHOWS(expr_float(c, DT_F32, NAN, NOWHERE), "nan");
    SHOWS(expr_float(c, DT_F64, 0.1 + 0.2, NOWHERE), "f64(0.30000000000000004)");
    SHOWS(expr_float(c, DT_F16, 65504, NOWHERE), "f16(65504.0)");
}

static void test_equality(void **state)
{
    Matmul a = matmul(*state), b = matmul(*state);
    assert_true(kernel_equal(&a.kernel, &b.kernel));
    Kernel other = b.kernel;
    BlockStmt block = b.block->u.block;
    block.atomic = true;
    other.body = stmt_replace(*state, b.kernel.body, b.block, stmt_block(*state, &block, NOWHERE));
    assert_false(kernel_equal(&a.kernel, &other));
    other.body = stmt_replace_buffer(*state, b.kernel.body, b.a, b.b);
    assert_false(kernel_equal(&a.kernel, &other));
    other = b.kernel;
    other.body = stmt_clone_fresh(*state, b.kernel.body);
    assert_true(kernel_equal(&a.kernel, &other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_matmul_with_init),
        TEST(test_label_of_a_reduction),
        TEST(test_scheduled),
        TEST(test_lowered),
        TEST(test_store_before_its_update),
        TEST(test_downward_loop),
        TEST(test_else_binds_to_its_if),
        TEST(test_precedence),
        TEST(test_literals_keep_their_type),
        TEST(test_floats_are_short_and_exact),
        TEST(test_equality),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
