/* in_bounds.c - see in_bounds.h.
 *
 *   let i = blockIdx.x * 4 + threadIdx.x;  columns N, b, t with 0 <= b < ceil(N / 4), 0 <= t < 4
 *   if i < N                               row b * 4 + t < N
 *       y[i] = x[i];                       no solution with b * 4 + t < 0 or b * 4 + t >= N
 *
 * Facts (simplify.h) answer most questions; the systems of poly.h answer the rest, and give
 * witnesses. */
#include "passes/lower/proofs/in_bounds.h"

#include "passes/analysis/dependence/model.h"
#include "passes/lower/index/exact_index.h"
#include "passes/lower/pass.h"

enum { MOST_SYSTEMS = 400 }; /* of one proof; each has its own budget, too */

typedef struct {
    Context *c;
    const Kernel *kernel;
    const int64_t *sizes;
    int systems; /* asked so far */
    /* how many scopes are outside of the launch, behind which its axes stand; -1: outside of one */
    int launch;
    Var *axes[AXIS_COUNT]; /* of that launch */
    /* of the access before this one: the path, its scopes (exact_index.h), what holds there, and
     * how much of that outside of each scope */
    EnclosingList known, scopes;
    Facts *facts;
    VEC(FactsMark) outside;
    MemoryBounds found;
} Proof;

/* One access, while it is asked about. */
typedef struct {
    Proof *proof;
    const Buffer *buffer; /* whose shape counts */
    Expr *const *index;   /* [buffer->rank] */
    EnclosingList scopes; /* around it, all index arithmetic exact (exact_index.h) */
    int64_t lanes;        /* of the wide access that it is part of; 1: none */
    Expr *first;          /* the place of the first of them, in elements of the buffer */
    AccessBounds bounds;
} Question;

/* ---- in words -------------------------------------------------------------------------------- */

static const char *element_text(Context *c, const Buffer *buffer, Expr *const *index)
{
    return expr_text(c, expr_load(c, (Buffer *)buffer, index, span_none()));
}

static void answer(Question *q, BoundsAnswer answer, const char *why)
{
    q->bounds.answer = answer;
    q->bounds.why = why;
}

/* ---- what it depends on ---------------------------------------------------------------------- */

static const char *data_behind(const Question *q, const Expr *e, int scopes);

static const char *data_behind_var(const Question *q, const Var *var, int scopes)
{
    if (var->kind == VAR_SCALAR)
        return arena_printf(q->proof->c->arena, "the argument '%s'", var->name);
    for (int i = scopes - 1; i >= 0; i--) {
        const Stmt *s = q->scopes.items[i].stmt;
        if (s->kind == ST_LET && s->u.let.var == var)
            return data_behind(q, s->u.let.value, i);
        if (s->kind != ST_FOR || s->u.loop.var != var)
            continue;
        const char *lo = data_behind(q, s->u.loop.lo, i);
        return lo ? lo : data_behind(q, s->u.loop.hi, i);
    }
    return NULL;
}

/* The first load or argument that the value comes from, through names and bounds of loops of the
 * first `scopes` scopes. */
static const char *data_behind(const Question *q, const Expr *e, int scopes)
{
    Context *c = q->proof->c;
    if (e->kind == EX_LOAD) {
        const AxisAccess *axes = e->u.load.axes;
        return axes ? element_text(c, axes->buffer, axes->index) : expr_text(c, e);
    }
    if (e->kind == EX_VAR)
        return data_behind_var(q, e->u.var, scopes);
    const char *found = NULL;
    for (int i = 0; i < expr_operands(e) && !found; i++)
        found = data_behind(q, expr_operand(e, i), scopes);
    return found;
}

static const char *data_of_question(const Question *q)
{
    const char *found = NULL;
    for (int i = 0; i < q->buffer->rank && !found; i++)
        found = data_behind(q, q->index[i], q->scopes.n);
    for (int i = 0; i < q->scopes.n && !found; i++)
        if (q->scopes.items[i].stmt->kind == ST_IF)
            found = data_behind(q, q->scopes.items[i].stmt->u.cond.cond, i);
    return found;
}

/* ---- one question to a system ---------------------------------------------------------------- */

/* Columns for symbolic sizes: all from 1 on, or `values` [n_sizes]. */
static void enter_sizes(const Proof *proof, Poly *p, const int64_t *values, Affine *columns, int *n)
{
    const Kernel *kernel = proof->kernel;
    for (int i = 0; i < kernel->n_sizes; i++) {
        if (!kernel->sizes[i].symbolic)
            continue;
        Affine size = poly_size(p, kernel->sizes[i].var);
        poly_raise(p, size.terms[0].column, values && values[i] < 1 ? 0 : 1);
        if (values)
            poly_equal(p, &p->top, size, affine_const(values[i]));
        columns[(*n)++] = size;
    }
}

/* The question with numbers for symbolic sizes: nothing in it is a product any more. */
static void put_sizes(Question *q, const int64_t *values)
{
    Context *c = q->proof->c;
    const Kernel *kernel = q->proof->kernel;
    SubstList map = {0};
    for (int i = 0; i < kernel->n_sizes; i++)
        if (kernel->sizes[i].symbolic)
            VEC_PUSH(c->arena, &map, ((Subst){kernel->sizes[i].var, expr_index(c, values[i])}));
    q->index = exprs_subst(c, q->index, q->buffer->rank, map.items, map.n);
    q->buffer = buffer_subst(c, q->buffer, map.items, map.n);
    q->first = q->first ? expr_subst(c, q->first, map.items, map.n) : NULL;
    q->scopes = scopes_subst(c, &q->scopes, map.items, map.n);
}

/* The sizes are such that the launch has blocks. */
static void assume_launched(const Question *q, Poly *p)
{
    for (int k = 0; k < AXIS_COUNT && q->proof->launch >= 0; k++)
        poly_assume_positive(p, q->scopes.items[q->proof->launch + k].stmt->u.loop.hi);
}

/* "N = 1, blockIdx.x = 0, i = 3" */
static const char *point_text(const Question *q, const Poly *p, const Env *env,
                              const int64_t *point)
{
    const Proof *proof = q->proof;
    StrBuf text = strbuf_new(proof->c->arena);
    for (int i = 0; i < proof->kernel->n_sizes; i++) {
        const Size *size = &proof->kernel->sizes[i];
        const Affine *value = size->symbolic ? env_find(&p->fixed, size->var) : NULL;
        if (value)
            point_print(&text, size->name, affine_at(*value, point));
    }
    for (int i = 0; i < q->scopes.n; i++) {
        const Stmt *s = q->scopes.items[i].stmt;
        int64_t extent;
        if (s->kind != ST_FOR || (loop_const_extent(&s->u.loop, &extent) && extent == 1))
            continue;
        point_print(&text, s->u.loop.var->name, affine_at(*env_find(env, s->u.loop.var), point));
    }
    return text.text;
}

/* Rows: the subscript is below 0, or not below the extent. */
static void leave_axis(Poly *p, Affine at, Affine extent)
{
    Conj **side = poly_choice(p, &p->top, 2);
    poly_at_most(p, side[0], at, affine_const(0), -1);
    poly_at_most(p, side[1], extent, at, 0);
}

/* A condition that an access must never satisfy: a misalignment, or leaving an axis. */
enum { FIRST_MISALIGNED = -1 }; /* instead of the number of an axis that it leaves */

typedef struct {
    Answer found;
    bool exact;
    const char *at; /* where, and what the subscript is */
} Violation;

static Expr *subscript_of(const Question *q, int axis)
{
    return axis == FIRST_MISALIGNED ? q->first : q->index[axis];
}

static const char *violation_text(const Question *q, int axis, const char *where, int64_t at,
                                  int64_t extent)
{
    Arena *arena = q->proof->c->arena;
    const char *subscript = expr_text(q->proof->c, subscript_of(q, axis));
    if (axis == FIRST_MISALIGNED)
        return arena_printf(arena,
                            "at %s a wide access of %lld elements starts at %s = %lld, which is "
                            "not a multiple of its width",
                            where, (long long)q->lanes, subscript, (long long)at);
    return arena_printf(arena, "at %s the subscript %s is %lld, but the axis has %lld elements",
                        where, subscript, (long long)at, (long long)extent);
}

/* The access runs behind each let around it, so what is known of its value holds. */
static void enter_scope(Poly *p, Env *env, Enclosing scope)
{
    if (scope.stmt->kind == ST_LET && type_is_int(scope.stmt->u.let.var->type))
        model_enter_let(p, env, scope.stmt);
    else
        model_enter_scope(p, env, scope);
}

/* Asks for all sizes, or for the sizes `values` [n_sizes]. */
static Violation ask_system(const Question *asked, int axis, const int64_t *values)
{
    enum { MOST = 64 };
    Question put = *asked;
    const Question *q = &put;
    Proof *proof = q->proof;
    Affine sizes[MOST], extent = affine_const(0);
    Env env = {0};
    int n = 0;
    int64_t *point = NULL;
    Poly *p = poly_new(proof->c);
    if (proof->kernel->n_sizes > MOST || proof->systems++ >= MOST_SYSTEMS)
        return (Violation){.found = POLY_SPENT};
    if (values)
        put_sizes(&put, values);
    enter_sizes(proof, p, values, sizes, &n);
    poly_assume_where(p, proof->kernel);
    assume_launched(q, p);
    for (int i = 0; i < q->scopes.n; i++)
        enter_scope(p, &env, q->scopes.items[i]);
    Affine at = poly_value(p, &env, subscript_of(q, axis));
    if (axis == FIRST_MISALIGNED) {
        Affine rest = poly_add(p, at, poly_quotient(p, at, q->lanes), -q->lanes),
               zero = affine_const(0);
        poly_differ(p, &p->top, &rest, &zero, 1);
    } else {
        extent = poly_value(p, &p->fixed, q->buffer->shape[axis]);
        leave_axis(p, at, extent);
    }
    Violation v = {.found = poly_solve(p, sizes, n, &point), .exact = !p->inexact};
    if (v.found == POLY_SOME && point)
        v.at = violation_text(asked, axis, point_text(q, p, &env, point), affine_at(at, point),
                              affine_at(extent, point));
    return v;
}

/* If products prevent a proof, small sizes may give a counterexample: 1, 2 and 3 for all, or in
 * turn. */
static Violation ask_small_sizes(const Question *q, int axis)
{
    enum { TRIED = 5 };
    const Kernel *kernel = q->proof->kernel;
    int64_t *values = ARENA_ARRAY(q->proof->c->arena, int64_t, kernel->n_sizes + 1);
    for (int k = 0; k < TRIED; k++) {
        for (int i = 0; i < kernel->n_sizes; i++)
            values[i] = k < 3 ? k + 1 : (i + k) % 2 + 1;
        Violation v = ask_system(q, axis, values);
        if (v.found == POLY_SOME && v.exact)
            return v;
    }
    return (Violation){.found = POLY_SPENT};
}

/* The answer about the access from a solution, or from the lack of one within the budget. */
static void judge(Question *q, int axis, Violation found)
{
    Context *c = q->proof->c;
    const int64_t *sizes = q->proof->sizes;
    const char *data = data_of_question(q);
    if (!data && (found.found != POLY_SOME || !found.exact)) {
        Violation small = ask_small_sizes(q, axis);
        found = small.found == POLY_SOME ? small : found;
    }
    if (data) {
        answer(q, BOUNDS_DATA, arena_printf(c->arena, "it depends on %s", data));
    } else if (found.found == POLY_SPENT) {
        answer(q, BOUNDS_UNPROVED, "the proof exceeds its budget");
    } else if (!found.exact) {
        answer(q, BOUNDS_UNPROVED,
               "it depends on products of sizes, or on a value that is not linear");
    } else {
        answer(q, BOUNDS_LEAVES, found.at);
        Violation here = {.found = POLY_NONE};
        if (sizes)
            here = ask_system(q, axis, sizes);
        q->bounds.always = here.found == POLY_SOME && here.exact;
        if (q->bounds.always)
            q->bounds.why = here.at;
    }
}

/* ---- facts ----------------------------------------------------------------------------------- */

static Facts *facts_of_sizes(Context *c, const Kernel *kernel)
{
    Facts *f = facts_of_kernel(c, kernel);
    facts_scale(f);
    for (int i = 0; i < kernel->n_sizes; i++)
        if (kernel->sizes[i].symbolic)
            facts_assume(f, expr_binary(c, EX_GE, expr_var(c, kernel->sizes[i].var, span_none()),
                                        expr_index(c, 1), span_none()));
    return f;
}

/* Quotients and remainders by what is no literal, but positive: bounds look no further than the
 * divisor's literal ends.
 *
 *   place % min(G - first, 8) >= 0  with first < G */
static void assume_quotients(Context *c, Facts *f, const Expr *value)
{
    int64_t literal;
    Expr *zero = expr_index(c, 0);
    for (Cursor at = cursor_expr(c, value); cursor_next(&at);) {
        Expr *e = at.expr;
        if ((e->kind == EX_DIV || e->kind == EX_MOD) && e->type == DT_INDEX &&
            !expr_is_const(e->u.arg[1], &literal) && prove_at_least(f, e->u.arg[1], 1) &&
            prove_at_least(f, e->u.arg[0], 0))
            facts_assume(f, expr_binary(c, EX_GE, e, zero, e->span));
    }
}

/* Brings the scopes and the facts to the path, from the scopes that it has in common with the path
 * before. */
static void enter_path(Proof *p, const EnclosingList *path)
{
    Context *c = p->c;
    int same = 0;
    while (same < p->known.n && same < path->n &&
           p->known.items[same].stmt == path->items[same].stmt &&
           p->known.items[same].otherwise == path->items[same].otherwise)
        same++;
    if (same < p->known.n)
        facts_reset(p->facts, p->outside.items[same]);
    EnclosingList rest = {.items = path->items + same, .n = path->n - same};
    rest = exact_index_scopes(c, &rest, p->axes);
    p->known.n = p->scopes.n = p->outside.n = same;
    for (int i = 0; i < rest.n; i++) {
        VEC_PUSH(c->arena, &p->known, path->items[same + i]);
        VEC_PUSH(c->arena, &p->scopes, rest.items[i]);
        VEC_PUSH(c->arena, &p->outside, facts_mark(p->facts));
        facts_enter_enclosing(p->facts, rest.items[i]);
    }
}

static bool proved_by_facts(Facts *f, const Question *q, int axis)
{
    Expr *at = subscript_of(q, axis);
    if (axis == FIRST_MISALIGNED)
        return prove_divisible(f, at, q->lanes);
    return prove_inside(f, at, q->buffer->shape[axis]);
}

/* The same in terms of loops: names are seen through, but for values of memory that changes. So
 * what a guard says of one holds for subscripts that are written out. */
static bool proved_in_loops(const Question *q, int axis)
{
    Context *c = q->proof->c;
    ArenaMark mark = arena_mark(c->arena);
    Question put = *q;
    SubstList names = {0};
    Facts *f = facts_of_sizes(c, q->proof->kernel);
    for (int i = 0; i < q->scopes.n; i++) {
        EnclosingList one = {.items = q->scopes.items + i, .n = 1};
        Enclosing scope = scopes_subst(c, &one, names.items, names.n).items[0];
        if (scope.stmt->kind != ST_LET || expr_loads_change(scope.stmt->u.let.value)) {
            facts_enter_enclosing(f, scope);
            continue;
        }
        assume_quotients(c, f, scope.stmt->u.let.value);
        VEC_PUSH(c->arena, &names, ((Subst){scope.stmt->u.let.var, scope.stmt->u.let.value}));
    }
    put.index = exprs_subst(c, q->index, q->buffer->rank, names.items, names.n);
    put.first = q->first ? expr_subst(c, q->first, names.items, names.n) : NULL;
    bool proved = proved_by_facts(f, &put, axis);
    arena_reset(c->arena, mark);
    return proved;
}

static void ask_about(Question *q, Facts *f, int axis)
{
    if (q->bounds.answer != BOUNDS_PROVED || proved_by_facts(f, q, axis) ||
        proved_in_loops(q, axis))
        return;
    Violation found = ask_system(q, axis, NULL);
    if (found.found != POLY_NONE)
        judge(q, axis, found);
}

static void ask(Question *q, Facts *f)
{
    for (int axis = 0; axis < q->buffer->rank; axis++)
        ask_about(q, f, axis);
    if (q->lanes > 1)
        ask_about(q, f, FIRST_MISALIGNED);
}

/* ---- wide accesses --------------------------------------------------------------------------- */

/* The place of an element, in elements from the first; NULL where it has no literal strides. */
static Expr *place_in_memory(Context *c, const Buffer *buffer, Expr *const *index)
{
    if (buffer->rank == 1)
        return index[0];
    int64_t *strides = ARENA_ARRAY(c->arena, int64_t, buffer->rank), elements;
    if (!buffer_strides(buffer, strides, &elements))
        return NULL;
    Expr *sum = expr_index(c, 0);
    for (int d = 0; d < buffer->rank; d++)
        sum = index_add(c, sum, index_mul(c, index[d], expr_index(c, strides[d])));
    return sum;
}

/* The loop around whose iterations may be lanes of one access of this type. */
static const ForStmt *loop_of_lanes(const Question *q, DType type, int64_t *lanes)
{
    int64_t lo;
    for (int i = q->scopes.n - 1; i >= 0; i--) {
        const Stmt *s = q->scopes.items[i].stmt;
        if (s->kind == ST_FOR && s->u.loop.kind == LOOP_VECTORIZE)
            return loop_const_extent(&s->u.loop, lanes) && expr_is_const(s->u.loop.lo, &lo) &&
                           lo == 0 && *lanes > 1 && *lanes * type_bytes(type) <= 16 &&
                           stmt_single_store(s->u.loop.body)
                       ? &s->u.loop
                       : NULL;
    }
    return NULL;
}

/* The first lane, where the access goes from one element to the next from lane to lane. Registers
 * have no address. */
static void find_lanes(Question *q, Facts *f)
{
    int64_t lanes, step;
    Expr *rest, *at = place_in_memory(q->proof->c, q->buffer, q->index);
    const ForStmt *loop =
        q->buffer->scope == SCOPE_LOCAL ? NULL : loop_of_lanes(q, q->buffer->type, &lanes);
    q->lanes = 1;
    if (!at || !loop || !expr_uses_var(at, loop->var) ||
        !split_linear(f, at, loop->var, &step, &rest) || step != 1)
        return;
    q->lanes = lanes;
    q->first = rest;
}

/* ---- one subscript for several axes ---------------------------------------------------------- */

/* The place of an element, row major, exact. */
static Expr *place(Context *c, const Buffer *buffer, Expr *const *index)
{
    Expr *sum = index[0];
    for (int d = 1; d < buffer->rank; d++)
        sum = index_add(c, index_mul(c, sum, buffer->shape[d]), index[d]);
    return sum;
}

static Expr *join_divisors(Rewriter *r, Expr *e)
{
    return index_join_divisors(r->ctx, e);
}

/* The subscript with all names seen through, and digits put together as in flatten.c. */
static Expr *spelled_out(Context *c, Facts *f, Expr *e, const SubstList *names)
{
    Expr *simple = simplify(f, expr_subst(c, e, names->items, names->n));
    return rewrite_expr(&(Rewriter){.ctx = c, .expr = join_divisors}, simple);
}

/* Are the two subscripts one value? */
static bool is_same(const Question *q, Facts *f, Expr *a, Expr *b)
{
    Context *c = q->proof->c;
    const EnclosingList *path = &q->scopes;
    SubstList names = {0};
    for (int i = 0; i < path->n; i++) {
        const Stmt *s = path->items[i].stmt;
        if (s->kind != ST_LET || !type_is_int(s->u.let.var->type))
            continue;
        Subst known = {s->u.let.var, expr_subst(c, s->u.let.value, names.items, names.n)};
        VEC_PUSH(c->arena, &names, known);
    }
    Expr *difference = index_sub(c, spelled_out(c, f, a, &names), spelled_out(c, f, b, &names));
    return expr_is(simplify(f, difference), 0);
}

/* The subscripts by axis, where they are those of the one that is emitted. */
static void take_apart(Question *q, Facts *f, const AxisAccess *axes)
{
    Context *c = q->proof->c;
    if (!axes)
        return;
    Expr *const *index = exact_index_exprs(c, axes->index, axes->buffer->rank, q->proof->axes);
    if (!is_same(q, f, place(c, axes->buffer, index), q->index[0]))
        return;
    q->buffer = axes->buffer;
    q->index = index;
}

/* ---- all accesses ---------------------------------------------------------------------------- */

static void ask_access(Proof *p, const Access *access)
{
    const Buffer *buffer = access->buffer;
    if (buffer->rank == 0)
        return;
    const Stmt *store = access->store;
    Question q = {.proof = p, .buffer = buffer};
    enter_path(p, &access->path);
    q.index = exact_index_exprs(p->c, access->index, buffer->rank, p->axes);
    q.scopes = p->scopes;
    q.bounds = (AccessBounds){.store = store, .load = access->load};
    Facts *f = p->facts;
    find_lanes(&q, f);
    take_apart(&q, f, store ? store->u.store.axes : access->load->u.load.axes);
    q.bounds.element = element_text(p->c, q.buffer, q.index);
    ask(&q, f);
    p->found.count[q.bounds.answer]++;
    VEC_PUSH(p->c->arena, &p->found.accesses, q.bounds);
}

/* An instruction is asked about by its body. */
static void ask_stmt(Proof *p, const Stmt *s, const EnclosingList *path)
{
    AccessList own = {0};
    if (s->kind != ST_INSTRUCTION)
        access_collect_own(p->c, s, path, &own);
    for (int i = 0; i < own.n; i++)
        ask_access(p, &own.items[i]);
}

static void ask_all(Proof *p, const Stmt *root, const EnclosingList *outer)
{
    for (Cursor at = cursor_with_path(cursor_outer(p->c, root), outer); cursor_next(&at);) {
        ask_stmt(p, at.stmt, &at.path);
        if (at.stmt->kind != ST_LAUNCH)
            continue;
        p->launch = at.path.n;
        exact_index_axes(p->c, at.stmt, p->axes, &at.path);
        ask_all(p, at.stmt->u.launch.body, &at.path);
        p->launch = -1;
        cursor_prune(&at);
    }
}

MemoryBounds accesses_in_bounds(Context *c, const Kernel *lowered, const int64_t *sizes)
{
    Proof p = {.c = c, .kernel = lowered, .sizes = sizes, .launch = -1};
    p.facts = facts_of_sizes(c, lowered);
    ask_all(&p, lowered->body, NULL);
    return p.found;
}

/* ---- what is left to check at run time ------------------------------------------------------- */

static bool is_proved(const MemoryBounds *m, const AxisAccess *axes)
{
    for (int i = 0; i < m->accesses.n; i++) {
        const AccessBounds *a = &m->accesses.items[i];
        if ((a->store ? a->store->u.store.axes : a->load->u.load.axes) == axes)
            return a->answer == BOUNDS_PROVED;
    }
    return false;
}

static Expr *drop_load_axes(Rewriter *r, Expr *e)
{
    if (e->kind != EX_LOAD || !e->u.load.axes || !is_proved(r->user, e->u.load.axes))
        return e;
    Expr *load = expr_load_like(r->ctx, e, e->u.load.buffer, e->u.load.index);
    load->u.load.axes = NULL;
    return load;
}

static Stmt *drop_store_axes(Rewriter *r, Stmt *s)
{
    if (s->kind != ST_STORE || !s->u.store.axes || !is_proved(r->user, s->u.store.axes))
        return s;
    Stmt *store = stmt_store_like(r->ctx, s, s->u.store.buffer, s->u.store.index, s->u.store.value);
    store->u.store.axes = NULL;
    return store;
}

Kernel *keep_unproved_axes(Context *c, const Kernel *lowered, const MemoryBounds *found)
{
    Rewriter r = {.ctx = c, .user = (void *)found, .expr = drop_load_axes, .stmt = drop_store_axes};
    return kernel_with_body(c, lowered, rewrite_stmt(&r, lowered->body));
}
