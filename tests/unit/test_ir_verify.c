/* Each invariant of the IR, broken on purpose.  Nodes are changed after they are built, because the
 * builders would refuse most of this. */
#include "tests/unit/ir_build.h"

#include <string.h>

/* What the verifier says must contain `words`. */
static void expect(Context *c, const Kernel *kernel, const char *words)
{
    const char *broken = ir_verify(c, kernel);
    if (!broken || !strstr(broken, words))
        fail_msg("expected '%s', found '%s'", words, broken ? broken : "nothing broken");
}

static BlockIter *iters_of(Matmul *m)
{
    return (BlockIter *)m->block->u.block.iters;
}

static Stmt *update_of(Matmul *m)
{
    return m->block->u.block.body;
}

static void test_names(void **state)
{
    Context *c = *state;
    Matmul m = matmul(c);
    m.j->name = m.i->name;
    expect(c, &m.kernel, "the name 'i' means two things");
    m = matmul(c);
    iters_of(&m)[1].var->name = ctx_name(c, "i");
    expect(c, &m.kernel, "the name 'i' means two things");
    m = matmul(c);
    m.k->name = ctx_name(c, "A");
    expect(c, &m.kernel, "the name 'A' means two things");
    m = matmul(c);
    iters_of(&m)[0].var->name = ctx_name(c, "N");
    expect(c, &m.kernel, "the name 'N' means two things");
    m = matmul(c);
    m.b->name = m.a->name;
    expect(c, &m.kernel, "two buffers are called 'A'");
    m = matmul(c);
    m.kernel.body->u.loop.body->u.loop.var = m.i;
    expect(c, &m.kernel, "'i' is defined twice");
}

static void test_scopes(void **state)
{
    Context *c = *state;
    Matmul m = matmul(c);
    iters_of(&m)[2].binding = use(c, loop_var(c, "ghost"));
    expect(c, &m.kernel, "'ghost' is used where it is not defined");
    m = matmul(c);
    ((Expr **)update_of(&m)->u.store.index)[0] = use(c, m.i);
    expect(c, &m.kernel, "the block uses 'i' of outside");
    m = matmul(c);
    iters_of(&m)[2].hi = use(c, m.i);
    expect(c, &m.kernel, "a domain uses 'i'");
    m = matmul(c);
    iters_of(&m)[0].hi = use(c, iters_of(&m)[1].var);
    expect(c, &m.kernel, "'j' is used where it is not defined");
    m = matmul(c);
    m.kernel.body = stmt_replace_buffer(c, m.kernel.body, m.a, buffer_copy(c, m.a));
    expect(c, &m.kernel, "buffer 'A' is used where it is not defined");
    m = matmul(c);
    m.kernel.body->u.loop.hi =
        expr_cast(c, DT_INDEX,
                  expr_load(c, m.c, EXPRS(expr_index(c, 0), expr_index(c, 0)), NOWHERE), NOWHERE);
    expect(c, &m.kernel, "'C' is read where only sizes and loops may decide");
}

static void test_types(void **state)
{
    Context *c = *state;
    Matmul m = matmul(c);
    update_of(&m)->u.store.value->u.arg[0] = expr_index(c, 1);
    expect(c, &m.kernel, "operator * has type f32 and operands of types index and f32");
    m = matmul(c);
    update_of(&m)->u.store.value = expr_float(c, DT_F16, 1, NOWHERE);
    expect(c, &m.kernel, "a value of type f16 is stored to 'C', which holds f32");
    m = matmul(c);
    ((Expr **)update_of(&m)->u.store.index)[1] = expr_int(c, DT_I32, 0, NOWHERE);
    expect(c, &m.kernel, "subscript 2 of 'C' has type i32");
    ((Expr **)update_of(&m)->u.store.index)[1] = expr_int(c, DT_I64, 0, NOWHERE);
    expect(c, &m.kernel, "subscript 2 of 'C' has type i64");
    m = matmul(c);
    m.block->u.block.predicate = expr_index(c, 1);
    expect(c, &m.kernel, "the predicate of a block has type index; expected bool");
    m = matmul(c);
    m.kernel.body->u.loop.lo = expr_float(c, DT_F32, 0, NOWHERE);
    expect(c, &m.kernel, "the bound of a loop has type f32");
    m = matmul(c);
    Stmt *check = stmt_if(c, expr_bool(c, true), m.block, NULL, NOWHERE);
    check->u.cond.cond = expr_index(c, 1);
    m.kernel.body = stmt_replace(c, m.kernel.body, m.block, check);
    expect(c, &m.kernel, "a condition has type index");
    m = matmul(c);
    Expr *minus = expr_unary(c, EX_NEG, use(c, m.i), NOWHERE);
    minus->u.arg[0] = expr_index(c, 1);
    iters_of(&m)[0].binding = minus;
    expect(c, &m.kernel, "a minus before a literal");
}

static void test_loops_and_blocks(void **state)
{
    Context *c = *state;
    Matmul m = matmul(c);
    m.kernel.body->u.loop.kind = LOOP_BIND;
    expect(c, &m.kernel, "loop 'i' is bind and has no axis");
    m.kernel.body->u.loop.kind = LOOP_SERIAL;
    m.kernel.body->u.loop.axis = AXIS_BLOCK_X;
    expect(c, &m.kernel, "loop 'i' is serial and has an axis");
    m = matmul(c);
    m.kernel.body->u.loop.step = 0;
    expect(c, &m.kernel, "loop 'i' has step 0");
    m = matmul(c);
    iters_of(&m)[2].kind = ITER_SPATIAL;
    expect(c, &m.kernel, "block 'C' has an init but no reduce iterator");
    m = matmul(c);
    m.block->u.block.init = m.block->u.block.body;
    expect(c, &m.kernel, "the init of block 'C' uses reduce iterator 'k'");
    m = matmul(c);
    BlockIter *iters = iters_of(&m), j = iters[1];
    iters[1] = iters[2];
    iters[2] = j;
    iters[2].hi = expr_var(c, iters[1].var, NOWHERE);
    expect(c, &m.kernel, "the domain of 'j' uses reduce iterator 'k', and block 'C' has an init");
    m = matmul(c);
    m.block->u.block.body = stmt_block(c, &m.block->u.block, NOWHERE);
    expect(c, &m.kernel, "block 'C' stands in another block");
    m = matmul(c);
    m.kernel.body = update_of(&m);
    expect(c, &m.kernel, "a store to 'C' outside of any block");
    m = matmul(c);
    m.c->role = ROLE_IN;
    expect(c, &m.kernel, "parameter 'C' stands on the wrong side of '->'");
    m = matmul(c);
    update_of(&m)->u.store.buffer = m.a;
    expect(c, &m.kernel, "input 'A' is written");
    m = matmul(c);
    m.a->type = DT_INDEX;
    expect(c, &m.kernel, "buffer 'A' holds index");
    m = matmul(c);
    m.kernel.body = stmt_temp(c, m.a, NOWHERE);
    expect(c, &m.kernel, "two buffers are called 'A'");
}

static Stmt *launch_of(Context *c, Stmt *body)
{
    Expr *one = expr_index(c, 1);
    LaunchStmt launch = {
        .name = ctx_name(c, "f"), .grid = {one, one, one}, .block = {1, 1, 1}, .body = body};
    return stmt_launch(c, &launch, NOWHERE);
}

static void test_levels(void **state)
{
    Context *c = *state;
    Matmul m = matmul(c);
    Stmt *nest = m.kernel.body, *barrier = stmt_barrier(c, SYNC_THREADS, "why", NOWHERE);
    Var *x = var_new(c, ctx_name(c, "x"), DT_INDEX, VAR_LET, NOWHERE);
    m.kernel.body = SEQ(c, nest, barrier);
    expect(c, &m.kernel, "a barrier outside of a launch");
    m.kernel.body = SEQ(c, stmt_let(c, x, expr_index(c, 1), NOWHERE), nest);
    expect(c, &m.kernel, "let 'x' in a kernel that is not lowered");
    m.kernel.body = SEQ(c, nest, launch_of(c, barrier));
    expect(c, &m.kernel, "block 'C' stands in a lowered kernel");
    m.kernel.body = launch_of(c, launch_of(c, barrier));
    expect(c, &m.kernel, "launch 'f' stands in another launch");
    m.kernel.body = launch_of(c, barrier);
    assert_null(ir_verify(c, &m.kernel));
    m.kernel.body->u.launch.block[1] = 0;
    expect(c, &m.kernel, "launch 'f' has no threads");
    m.kernel.body =
        SEQ(c, launch_of(c, barrier), stmt_let(c, x, expr_axis(c, AXIS_BLOCK_X), NOWHERE));
    expect(c, &m.kernel, "'blockIdx.x' outside of a launch");
    Stmt *empty = stmt_seq(c, NULL, 0, NOWHERE);
    ForStmt bound = {.var = loop_var(c, "t"),
                     .lo = expr_index(c, 0),
                     .hi = expr_index(c, 2),
                     .step = 1,
                     .kind = LOOP_BIND,
                     .axis = AXIS_THREAD_X,
                     .body = empty};
    m.kernel.body = launch_of(c, stmt_for(c, &bound, NOWHERE));
    expect(c, &m.kernel, "loop 't' is bound in a lowered kernel");
    Expr *const *wide = EXPRS(expr_int(c, DT_I64, 0, NOWHERE), expr_index(c, 0));
    m.kernel.body =
        launch_of(c, stmt_store(c,
                                &(StoreStmt){.buffer = m.c,
                                             .index = wide,
                                             .op = STORE_SET,
                                             .value = expr_float(c, DT_F32, 1, NOWHERE)},
                                NOWHERE));
    assert_null(ir_verify(c, &m.kernel));
}

static void test_temps_live_in_their_seq(void **state)
{
    Context *c = *state;
    Matmul m = matmul(c);
    Buffer *t = buffer2(c, "T", DT_F32, ROLE_TEMP, expr_index(c, 64), expr_index(c, 32));
    Stmt *nest = stmt_replace_buffer(c, m.kernel.body, m.a, t);
    m.kernel.body = SEQ(c, stmt_temp(c, t, NOWHERE), nest);
    assert_null(ir_verify(c, &m.kernel));
    m.kernel.body =
        SEQ(c, stmt_if(c, expr_bool(c, true), stmt_temp(c, t, NOWHERE), NULL, NOWHERE), nest);
    expect(c, &m.kernel, "buffer 'T' is used where it is not defined");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names),  TEST(test_scopes),
        TEST(test_types),  TEST(test_loops_and_blocks),
        TEST(test_levels), TEST(test_temps_live_in_their_seq),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
