/* test_where.c - the `where` clause: how it is read and printed, what makes two of them different,
 * and what proofs take from it. */
#include "passes/analysis/symbolic/simplify.h"
#include "passes/analysis/threads/launch.h"
#include "tests/unit/parse_text.h"

/* ---- text ------------------------------------------------------------------------------------ */

typedef struct {
    const char *head;    /* up to the clause */
    const char *clause;  /* as written */
    const char *printed; /* NULL: nothing is left of it */
} Clause;

#define SIZES                                                                                      \
    "kernel k<N, M, C = 10>(x: f32[N], id: i32[N, M], eps: f32, n: i32, inout z: f32[N]) -> y: "   \
    "f32[N]"
#define BODY "{ for i in N y[i] = x[i]; }"

static const Clause clauses[] = {
    {SIZES, "where eps > 0", "where eps > 0.0"},
    {SIZES, "where 0 < eps", "where eps > 0.0"},
    {SIZES, "where 0 < eps < 1", "where 0.0 < eps < 1.0"},
    {SIZES, "where 1 > eps && eps >= 0", "where eps in 0.0..1.0"},
    {SIZES, "where eps in -1e-3..inf", "where eps in -0.001..inf"},
    {SIZES, "where eps == 2", "where eps == 2.0"},
    {SIZES, "where eps > 0, eps < 1", "where eps > 0.0, eps < 1.0"},
    {SIZES, "where id in 0..C", "where id in 0..10"},
    {SIZES, "where id[i, j] in 0..N + M", "where id in 0..N + M"},
    {SIZES, "where id[i, j] < N, id[a, b] >= -1", "where id < N, id >= -1"},
    {SIZES, "where n in 1..N, x >= 0, z <= 1", "where n in 1..N, x >= 0.0, z <= 1.0"},
    {SIZES, "where N >= M, N % 4 == 0, 1 <= M <= 1000",
     "where N >= M, N % 4 == 0, 1 <= M, M <= 1000"},
    {SIZES, "where N in 2..M, N != M || M > 3", "where N >= 2, N < M, N != M || M > 3"},
    {SIZES, "where C >= 10, C % 5 == 0", NULL},
    {SIZES, "where x is nondecreasing, z is increasing",
     "where x is nondecreasing, z is increasing"},
    {"kernel k<N>(x: f32[N], p: i32[N], q: u8[N]) -> y: f32[N]",
     "where p is permutation, q[i] is distinct", "where p is permutation, q is distinct"},
    {"kernel k<N>(x: f32[N]) -> y: f32[N]", "where N >= 1", "where N >= 1"},
};

static const char *clause_of(const char *printed)
{
    const char *at = strstr(printed, "\n    where ");
    return at ? at + 5 : NULL;
}

static void check_clause(const Clause *k)
{
    Text t;
    text_open(&t);
    text_parse(&t, arena_printf(t.ctx->arena, "%s %s " BODY, k->head, k->clause));
    Kernel *kernel = text_kernel(&t, 0);
    const char *printed = text_print(&t, kernel), *found = clause_of(printed);
    size_t n = k->printed ? strlen(k->printed) : 0;
    if (!found != !k->printed ||
        (found && (strncmp(found, k->printed, n) != 0 || found[n] != '\n')))
        fail_msg("'%s' should print '%s':\n"
                 "%s",
                 k->clause, k->printed ? k->printed : "nothing", printed);
    text_parse(&t, printed);
    if (!kernel_equal(kernel, text_kernel(&t, 0)))
        fail_msg("not the same after the round trip:\n%s", printed);
    text_close(&t);
}

static void clauses_read_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof clauses / sizeof *clauses; i++)
        check_clause(&clauses[i]);
}

/* Each differs from the others in one respect. */
static void different_clauses_are_different(void **state)
{
    static const char *const others[] = {"",
                                         "where id < N",
                                         "where id <= N",
                                         "where id > N",
                                         "where id >= N",
                                         "where id < M",
                                         "where n < N",
                                         "where N < M",
                                         "where M < N",
                                         "where x is increasing",
                                         "where x is nondecreasing",
                                         "where z is increasing",
                                         "where id < N, n < N",
                                         "where n < N, id < N"};
    enum { COUNT = sizeof others / sizeof *others };
    (void)state;
    Text t;
    Kernel *kernels[COUNT];
    text_open(&t);
    for (int i = 0; i < COUNT; i++) {
        text_parse(&t, arena_printf(t.ctx->arena, SIZES " %s " BODY, others[i]));
        kernels[i] = text_kernel(&t, 0);
    }
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < i; j++)
            if (kernel_equal(kernels[i], kernels[j]))
                fail_msg("'%s' and '%s' are equal", others[i], others[j]);
    text_close(&t);
}

/* The words of the clause are names where a name can stand. */
static void words_stay_names(void **state)
{
    (void)state;
    Text t;
    text_open(&t);
    text_parse(
        &t, "kernel is<N>(where: f32[N], is: f32) -> nondecreasing: f32[N] where is > 0, where is "
            "increasing { for in in N nondecreasing[in] = where[in] * is; }kernel where<is>(x: "
            "f32[is]) -> where: f32[is] where is > 2 { for i in is where[i] = x[i]; }kernel "
            "one(is: f32) -> where: f32 { if (is > 0) where = 1; else where = is; }");
    assert_int_equal(text_kernel(&t, 0)->n_facts, 2);
    assert_int_equal(text_kernel(&t, 1)->n_facts, 1);
    assert_int_equal(text_kernel(&t, 2)->n_facts, 0);
    text_close(&t);
}

/* ---- proofs ---------------------------------------------------------------------------------- */

static const Stmt *first_if(Context *c, const Stmt *body)
{
    for (Cursor at = cursor_stmts(c, body); cursor_next(&at);)
        if (at.stmt->kind == ST_IF)
            return at.stmt;
    return NULL;
}

/* Whether the condition of the first `if` follows from the clause. */
static bool follows(Text *t, const char *clause, const char *cond)
{
    text_parse(t, arena_printf(t->ctx->arena,
                               "kernel k<N, M>(x: f32[N], id: i32[N], ptr: u64[N], n: i32, inout "
                               "z: i32[N]) -> y: f32 %s { y = 0; if %s { y = 1; } }",
                               clause, cond));
    Kernel *kernel = text_kernel(t, 0);
    return prove(facts_of_kernel(t->ctx, kernel), first_if(t->ctx, kernel->body)->u.cond.cond);
}

typedef struct {
    const char *clause, *cond;
    bool wanted;
} Proof;

static const Proof proofs[] = {
    {"where N >= M", "N - M >= 0", true},
    {"", "N - M >= 0", false},
    {"where N > 4 && M > 2 * N", "M >= 10", true},
    {"where N % 4 == 0", "N % 4 == 0", true},
    {"where N % 4 == 0", "(N + 3) / 4 * 4 == N && (3 * N + 5) / 4 == N / 4 * 3 + 1", true},
    {"where N % 12 == 0", "N / 4 * 4 == N", true},
    {"where N % 12 == 0", "(N + M % 4) / 4 * 4 == N", true},
    {"where N % 12 == 0", "N % 6 == 0", true},
    {"where N % 4 == 0", "N / 8 * 8 == N", false},
    {"where N % 4 == 0", "(N + 4) / 4 * 4 == N", false},
    {"where N % 4 == 0", "M / 4 * 4 == M", false},
    {"where N % 4 == 0", "(M * 8 + 3) / N == M * 8 / N && (M * 8 + 3) % N == M * 8 % N + 3", true},
    {"where N % 4 == 0", "(M * 8 + 3 + M % 4) / N == M * 8 / N", false},
    {"where N % 4 == 0", "(M * 6 + 1) % N == M * 6 % N + 1", true},
    {"where N % 4 == 0", "(M * 6 + 2) % N == M * 6 % N + 2", false},
    {"where N % 4 == 0", "(M * 8 - 1) / N == (M - 1) * 8 / N", false},
    {"where N % 4 == 0", "M * 8 % N + 4 <= N && M * 6 % N + 2 <= N", true},
    {"where N % 4 == 0", "M * 8 % N + 5 <= N", false},
    {"where N % 4 == 0", "M * 6 % N + 3 <= N", false},
    {"where N % 4 == 0", "M * 8 % N % 4 == 0", true},
    {"where N % 4 == 0", "M * 6 % N % 4 == 0", false},
    {"where N % 4 == 0", "M * 8 % (N + 2) % 4 == 0", false},
    {"where id in 0..M", "index(id[0]) < M && index(id[N - 1]) >= 0", true},
    {"where id in 0..M", "index(id[0]) < M - 1", false},
    {"where id in 0..M", "2 * index(id[3]) + 1 < 2 * M", true},
    {"where id >= 0, id < M", "index(id[0]) >= 0 && index(id[1]) < M", true},
    {"where id in 3..7", "index(id[0]) * 5 <= 30 && index(id[0]) >= 3", true},
    {"where id in 3..7", "index(id[0]) != index(id[1])", false},
    {"where id > 3", "index(id[2]) >= 4", true},
    {"where id > 3", "index(id[2]) <= 1000", false},
    {"where ptr <= N", "index(ptr[0]) <= N", true},
    {"where n in 1..N", "index(n) >= 1 && index(n) < N && N >= 2", true},
    {"where n in 1..N", "index(n) >= 2", false},
    {"where 2 <= n <= 2", "index(n) + 1 == 3", true},
    {"where z in 0..M", "index(z[0]) < M", false}, /* the kernel may have written it */
    {"where id in 0..M", "index(z[0]) < M", false},
    {"where id is nondecreasing", "index(id[0]) <= index(id[1])", false},
};

static void proofs_use_the_clause(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof proofs / sizeof *proofs; i++) {
        Text t;
        text_open(&t);
        if (follows(&t, proofs[i].clause, proofs[i].cond) != proofs[i].wanted)
            fail_msg("%s %s %s", proofs[i].clause,
                     proofs[i].wanted ? "should prove" : "does not say", proofs[i].cond);
        text_close(&t);
    }
}

typedef struct {
    const char *clause, *statement; /* in `for i in N` */
    bool wanted;                    /* the iterations may run at once */
} Parallel;

static const Parallel parallels[] = {
    {"where M >= N", "{ z[i] = 1; z[i + M] = 2; }", true},
    {"", "{ z[i] = 1; z[i + M] = 2; }", false},
    {"where n >= N", "{ z[i] = 1; z[i + index(n)] = 2; }", true},
    {"where 0 <= n <= N", "{ z[i] = 1; z[i + index(n)] = 2; }", false},
    {"where id in 0..M", "z[i * M + index(id[i])] = 1;", true},
    {"where id in 0..M + 1", "z[i * M + index(id[i])] = 1;", false},
    {"where id in 0..4", "z[i * 4 + index(id[i])] = 1;", true},
    {"where id in 0..5", "z[i * 4 + index(id[i])] = 1;", false},
    {"", "z[i * 4 + index(id[i])] = 1;", false},
};

static bool may_run_at_once(Text *t, const Parallel *k)
{
    Conflict why;
    text_parse(t, arena_printf(
                      t->ctx->arena,
                      "kernel k<N, M>(id: i32[N], n: i32, inout z: i32[100]) %s { for i in N %s }",
                      k->clause, k->statement));
    Kernel *kernel = text_kernel(t, 0);
    ForStmt as = kernel->body->u.loop;
    as.kind = LOOP_PARALLEL;
    return threads_loop_kind_legal(t->ctx, kernel, &as, &why);
}

static void dependences_use_the_clause(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof parallels / sizeof *parallels; i++) {
        Text t;
        text_open(&t);
        if (may_run_at_once(&t, &parallels[i]) != parallels[i].wanted)
            fail_msg("%s %s: should be %s", parallels[i].clause, parallels[i].statement,
                     parallels[i].wanted ? "legal" : "refused");
        text_close(&t);
    }
}

/* What the verifier must find in a kernel that a pass has broken. */
static void the_verifier_checks_clauses(void **state)
{
    (void)state;
    Text t;
    text_open(&t);
    text_parse(&t, "kernel k<N>(x: f32[N], id: i32[N]) -> y: f32[N] where id in 0..N { for i in N "
                   "y[i] = x[id[i]]; }");
    Kernel *kernel = text_kernel(&t, 0), broken = *kernel;
    Fact fact = kernel->facts[0];
    broken.facts = &fact;
    fact.subject.buffer = kernel->params[2].buffer;
    assert_non_null(strstr(ir_verify(t.ctx, &broken), "no input"));
    fact = kernel->facts[0];
    fact.lo = fact.hi = NULL;
    assert_non_null(strstr(ir_verify(t.ctx, &broken), "without ends"));
    fact = kernel->facts[0];
    fact.hi = expr_bool(t.ctx, true);
    assert_non_null(strstr(ir_verify(t.ctx, &broken), "the bound of a fact has type bool"));
    fact = kernel->facts[0];
    fact.subject.buffer = kernel->params[0].buffer;
    assert_non_null(strstr(ir_verify(t.ctx, &broken), "no literal"));
    fact = (Fact){.kind = FACT_ORDER, .order = ORDER_COUNT, .subject = kernel->facts[0].subject};
    assert_non_null(strstr(ir_verify(t.ctx, &broken), "an order"));
    text_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clauses_read_back),
        cmocka_unit_test(different_clauses_are_different),
        cmocka_unit_test(words_stay_names),
        cmocka_unit_test(proofs_use_the_clause),
        cmocka_unit_test(dependences_use_the_clause),
        cmocka_unit_test(the_verifier_checks_clauses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
