/* Building, walking and rebuilding trees. */
#include "tests/unit/ir_build.h"

#include <string.h>

static Expr *same_expr(Rewriter *r, Expr *e)
{
    (*(int *)r->user)++;
    return e;
}

static Stmt *same_stmt(Rewriter *r, Stmt *s)
{
    (*(int *)r->user)++;
    return s;
}

static void test_identity_returns_the_same_pointer(void **state)
{
    Matmul m = matmul(*state);
    int rewritten = 0, visited = 0;
    Rewriter r = {*state, &rewritten, same_expr, same_stmt};
    assert_ptr_equal(rewrite_stmt(&r, m.kernel.body), m.kernel.body);
    for (Cursor at = cursor_stmt(*state, m.kernel.body); cursor_next(&at);)
        visited++;
    assert_int_equal(visited, rewritten);
    assert_int_equal(visited, 6 + 6 + 9 + 3 + 9); /* statements, bounds, iterators, init, update */
}

static const char *kind_name(const Stmt *s)
{
    return s->kind == ST_FOR ? "for" : s->kind == ST_BLOCK ? "block" : "store";
}

static void test_a_cursor_goes_in_the_order_of_the_text(void **state)
{
    Matmul m = matmul(*state);
    StrBuf text = strbuf_new(((Context *)*state)->arena);
    for (Cursor at = cursor_stmt(*state, m.kernel.body); cursor_next(&at);) {
        if (at.stmt)
            strbuf_add(&text, kind_name(at.stmt));
        else
            print_expr(at.expr, &text);
        strbuf_add(&text, "; ");
    }
    assert_string_equal(text.text,
                        "for; 0; 64; for; 0; N; for; 0; 32; block; 0; 64; i; 0; N; j; 0; 32; k; "
                        "store; i; j; 0.0; "
                        "store; i; j; A[i, k] * B[k, j]; A[i, k]; i; k; B[k, j]; k; j; ");
}

static void test_a_cursor_leaves_out_what_it_is_told_to(void **state)
{
    Matmul m = matmul(*state);
    int all = 0, outer = 0, pruned = 0;
    for (Cursor at = cursor_stmts(*state, m.kernel.body); cursor_next(&at);)
        all++;
    for (Cursor at = cursor_outer(*state, m.kernel.body); cursor_next(&at);)
        outer++;
    for (Cursor at = cursor_stmt(*state, m.kernel.body); cursor_next(&at); pruned++)
        if (at.stmt == m.kernel.body->u.loop.body)
            cursor_prune(&at);
    assert_int_equal(all, 6);    /* three loops, the block, its init and update */
    assert_int_equal(outer, 4);  /* three loops and the block */
    assert_int_equal(pruned, 4); /* a loop, its bounds, and the loop in it */
}

/* 1 + (1 + (1 + ...)), deeper than a cursor has room for at first. */
static void test_a_cursor_goes_deep(void **state)
{
    Context *c = *state;
    enum { DEEP = 10 * CURSOR_FEW };
    Expr *e = expr_index(c, 1);
    int n = 0;
    for (int i = 0; i < DEEP; i++)
        e = expr_binary(c, EX_ADD, expr_index(c, 1), e, NOWHERE);
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        n++;
    assert_int_equal(n, 2 * DEEP + 1);
}

/* What a node stands in, in words. */
static void add_path(StrBuf *out, const EnclosingList *path)
{
    for (int i = 0; i < path->n; i++) {
        const Stmt *around = path->items[i].stmt;
        const char *word = around->kind == ST_FOR     ? around->u.loop.var->name
                           : around->kind == ST_LET   ? around->u.let.var->name
                           : path->items[i].otherwise ? "else"
                                                      : "if";
        strbuf_addf(out, "%s ", word);
    }
}

static Stmt *store_to(Context *c, const char *name)
{
    Buffer *b = buffer1(c, name, DT_F32, ROLE_OUT, expr_index(c, 4));
    return stmt_store(c,
                      &(StoreStmt){.buffer = b,
                                   .index = EXPRS(expr_index(c, 0)),
                                   .op = STORE_SET,
                                   .value = expr_float(c, DT_F32, 0, NOWHERE)},
                      NOWHERE);
}

static void test_a_cursor_knows_what_is_around(void **state)
{
    Context *c = *state;
    Var *i = loop_var(c, "i"), *skipped = loop_var(c, "skipped"),
        *n = var_new(c, ctx_name(c, "n"), DT_INDEX, VAR_LET, NOWHERE);
    Expr *four = expr_index(c, 4),
         *cond = expr_binary(c, EX_LT, use(c, i), expr_index(c, 2), NOWHERE);
    Stmt *last = store_to(c, "d");
    Stmt *branches = stmt_if(
        c, cond, SEQ(c, store_to(c, "a"), stmt_let(c, n, use(c, i), NOWHERE), store_to(c, "b")),
        last, NOWHERE);
    Stmt *body = SEQ(c, branches, loop_to(c, skipped, four, store_to(c, "c")), store_to(c, "e"));
    Stmt *root = loop_to(c, i, four, body);
    StrBuf text = strbuf_new(c->arena);
    for (Cursor at = cursor_with_path(cursor_outer(c, root), NULL); cursor_next(&at);) {
        if (at.stmt->kind == ST_FOR && at.stmt->u.loop.var == skipped)
            cursor_prune(&at);
        if (at.stmt->kind != ST_STORE)
            continue;
        add_path(&text, &at.path);
        strbuf_addf(&text, "%s; ", at.stmt->u.store.buffer->name);
    }
    assert_string_equal(text.text, "i if a; i if n b; i else d; i e; ");
    EnclosingList around = {0};
    assert_true(stmt_enclosing(c, root, last, &around));
    assert_int_equal(around.n, 2);
    assert_true(around.items[1].stmt == branches && around.items[1].otherwise);
    assert_int_equal(enclosing_loops(c, &around).n, 1);
    assert_int_equal(enclosing_conds(c, &around).items[0]->kind, EX_NOT);
    assert_false(stmt_enclosing(c, body, root, &around));
}

static void test_a_path_begins_with_what_is_outside(void **state)
{
    Context *c = *state;
    Var *outer = loop_var(c, "outer"), *i = loop_var(c, "i"), *k = loop_var(c, "k");
    Expr *four = expr_index(c, 4),
         *cond = expr_binary(c, EX_LT, use(c, i), expr_index(c, 2), NOWHERE);
    Stmt *around = loop_to(c, outer, four, store_to(c, "a"));
    Stmt *root = stmt_if(c, cond, loop_to(c, k, use(c, i), store_to(c, "b")), NULL, NOWHERE);
    EnclosingList path = {0};
    VEC_PUSH(c->arena, &path, ((Enclosing){around, false}));
    StrBuf text = strbuf_new(c->arena);
    for (Cursor at = cursor_with_path(cursor_stmt(c, root), &path); cursor_next(&at);)
        if (at.stmt || at.expr->kind == EX_VAR) {
            add_path(&text, &at.path);
            strbuf_addf(&text, "%s; ", at.expr ? at.expr->u.var->name : "-");
        }
    /* the if, its condition; the loop, its bound; the store */
    assert_string_equal(text.text, "outer -; outer i; outer if -; outer if i; outer if k -; ");
    assert_int_equal(path.n, 1);
}

static Stmt *drop_stores(Rewriter *r, Stmt *s)
{
    (void)r;
    return s->kind == ST_STORE ? NULL : s;
}

static void test_removing_statements(void **state)
{
    Matmul m = matmul(*state);
    Rewriter r = {*state, NULL, NULL, drop_stores};
    Stmt *out = rewrite_stmt(&r, m.kernel.body);
    const BlockStmt *block = &out->u.loop.body->u.loop.body->u.loop.body->u.block;
    assert_null(block->init);
    assert_true(block->body->kind == ST_SEQ && block->body->u.seq.n == 0);
    assert_non_null(m.block->u.block.init);
    assert_int_equal(stmt_replace(*state, m.block, m.block, NULL)->kind, ST_SEQ);
}

static Stmt *without_stores(void *user, Stmt *s)
{
    return s->kind == ST_STORE ? NULL : stmt_map_children(user, s, without_stores, user);
}

static void test_a_step_takes_out_what_it_leaves_empty(void **state)
{
    Context *c = *state;
    Var *i = loop_var(c, "i");
    Expr *four = expr_index(c, 4),
         *cond = expr_binary(c, EX_LT, use(c, i), expr_index(c, 2), NOWHERE);
    Stmt *barrier = stmt_barrier(c, SYNC_THREADS, "why", NOWHERE), *store = store_to(c, "a");
    assert_null(without_stores(c, loop_to(c, i, four, SEQ(c, store, store))));
    assert_null(without_stores(c, stmt_if(c, cond, store, store, NOWHERE)));
    Stmt *right = without_stores(c, stmt_if(c, cond, store, barrier, NOWHERE));
    assert_int_equal(right->u.cond.then->u.seq.n, 0);
    assert_ptr_equal(right->u.cond.otherwise, barrier);
    assert_null(without_stores(c, stmt_if(c, cond, barrier, store, NOWHERE))->u.cond.otherwise);
    Matmul m = matmul(c);
    assert_ptr_equal(without_stores(c, m.kernel.body), m.kernel.body);
}

static void test_seq_flattens(void **state)
{
    Context *c = *state;
    Stmt *a = stmt_barrier(c, SYNC_THREADS, "a", NOWHERE),
         *b = stmt_barrier(c, SYNC_THREADS, "b", NOWHERE);
    Stmt *none = stmt_seq(c, NULL, 0, NOWHERE);
    assert_ptr_equal(SEQ(c, a, none), a);
    Stmt *all = SEQ(c, SEQ(c, a, b), a);
    assert_int_equal(all->u.seq.n, 3);
}

static void test_subst_and_uses(void **state)
{
    Context *c = *state;
    Matmul m = matmul(c);
    Var *i = m.block->u.block.iters[0].var;
    assert_true(stmt_uses_var(*state, m.kernel.body, i));
    Subst map = {i, expr_index(c, 7)};
    Stmt *out = stmt_subst(c, m.block, &map, 1);
    assert_false(stmt_uses_var(*state, out, i));
    assert_true(stmt_uses_var(*state, out, m.i));
    assert_ptr_equal(stmt_subst(c, m.block, &(Subst){m.k, NULL}, 0), m.block);
    assert_true(expr_has_load(out->u.block.body->u.store.value));
    Expr *minus = expr_unary(c, EX_NEG, use(c, i), NOWHERE);
    assert_int_equal(expr_subst(c, minus, &map, 1)->u.i, -7);
}

static void test_clone_has_new_variables(void **state)
{
    Context *c = *state;
    Matmul m = matmul(c);
    Stmt *copy = stmt_clone_fresh(c, m.kernel.body);
    Var *olds[] = {m.i, m.j, m.k, m.block->u.block.iters[0].var, m.block->u.block.iters[2].var};
    for (int i = 0; i < 5; i++)
        assert_false(stmt_uses_var(*state, copy, olds[i]));
    assert_int_not_equal(copy->u.loop.id, m.kernel.body->u.loop.id);
    assert_ptr_equal(copy->u.loop.var->name, m.i->name);
    assert_true(stmt_uses_var(*state, copy, m.n));
    Kernel cloned = m.kernel;
    cloned.body = copy;
    assert_null(ir_verify(c, &cloned));
}

static void test_find_gives_the_path(void **state)
{
    Context *c = *state;
    Matmul m = matmul(c);
    StmtPath path = {0};
    assert_true(stmt_find(c, m.kernel.body, m.block->u.block.id, &path));
    assert_int_equal(path.n, 4);
    assert_ptr_equal(path.items[0], m.kernel.body);
    assert_ptr_equal(path.items[3], m.block);
    assert_false(stmt_find(c, m.kernel.body, 99999, &path));
}

static void test_replacing_buffers_and_nodes(void **state)
{
    Context *c = *state;
    Matmul m = matmul(c);
    Buffer *d = buffer_copy(c, m.c);
    d->name = ctx_name(c, "D");
    Stmt *out = stmt_replace_buffer(c, m.kernel.body, m.c, d);
    StrBuf text = strbuf_new(c->arena);
    print_stmt(c, out, 0, &text);
    assert_non_null(strstr(text.text, "    C: {\n        init D[i, j] = 0.0;\n        D[i, j] +="));
    assert_ptr_equal(stmt_replace(c, m.kernel.body, out, NULL), m.kernel.body);
}

static void test_extents(void **state)
{
    Context *c = *state;
    ForStmt loop = {.lo = expr_index(c, 3), .hi = expr_index(c, 10), .step = 2};
    int64_t n;
    assert_true(loop_const_extent(&loop, &n) && n == 4);
    loop.step = -2;
    assert_true(loop_const_extent(&loop, &n) && n == 0);
    loop.lo = expr_index(c, 10), loop.hi = expr_index(c, 3);
    assert_true(loop_const_extent(&loop, &n) && n == 4); /* 10 8 6 4 */
    loop.lo = expr_index(c, INT64_MIN), loop.hi = expr_index(c, INT64_MAX), loop.step = 1;
    assert_false(loop_const_extent(&loop, &n));
}

static void test_builders_refuse_wrong_types(void **state)
{
    Context *c = *state;
    jmp_buf guard;
    c->guard = &guard;
    if (!setjmp(guard))
        expr_binary(c, EX_ADD, expr_index(c, 1), expr_bool(c, true), NOWHERE);
    assert_int_equal(c->fatal, FATAL_BUG);
    assert_string_equal(c->fatal_message, "operator + of types index and bool");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_cursor_goes_in_the_order_of_the_text),
        TEST(test_a_cursor_leaves_out_what_it_is_told_to),
        TEST(test_a_cursor_goes_deep),
        TEST(test_identity_returns_the_same_pointer),
        TEST(test_a_cursor_knows_what_is_around),
        TEST(test_a_path_begins_with_what_is_outside),
        TEST(test_removing_statements),
        TEST(test_a_step_takes_out_what_it_leaves_empty),
        TEST(test_seq_flattens),
        TEST(test_subst_and_uses),
        TEST(test_clone_has_new_variables),
        TEST(test_find_gives_the_path),
        TEST(test_replacing_buffers_and_nodes),
        TEST(test_extents),
        TEST(test_builders_refuse_wrong_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
