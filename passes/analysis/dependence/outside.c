/* outside.c - see outside.h.
 *
 *   for i in N
 *       y[i] = x[i + 1];       runs for the sizes N >= 1, and i + 1 reaches N for each of them
 *
 * An access certainly leaves its buffer if some iteration does so for all sizes (and integer
 * scalars) for which the access runs. The sizes for which it runs and the sizes for which it leaves
 * are two sets of integers. Both must be exact: nothing is proved about data, conditions that read
 * data, and products of sizes. */
#include "passes/analysis/dependence/outside.h"

#include <isl/set.h>

#include "passes/analysis/dependence/model.h"
#include "passes/analysis/symbolic/simplify.h"

enum { MAX_GIVEN = 64 };

typedef enum { SIDE_ABOVE, SIDE_BELOW, SIDES } Side;

typedef struct {
    Context *c;
    const Kernel *kernel;
    const EnclosingList *path; /* around the block */
    const BlockStmt *block;
    const Access *access;
    bool found;
} Outside;

/* A system with the iterations of the block. */
static Poly *iterations(const Outside *o, Env *env, Affine *given, int *n)
{
    Poly *p = poly_new(o->c);
    *n = poly_given(p, o->kernel, given, MAX_GIVEN);
    for (int i = 0; i < *n; i++)
        if (p->fixed.items[i].var->kind == VAR_SIZE)
            poly_raise(p, given[i].terms[0].column, 1);
    poly_assume_where(p, o->kernel);
    for (int i = 0; i < o->path->n; i++)
        model_enter_scope(p, env, o->path->items[i]);
    if (o->block->predicate)
        poly_assume(p, &p->top, env, o->block->predicate, HOLDS);
    for (int i = 0; i < o->block->n_iters; i++) {
        const BlockIter *iter = &o->block->iters[i];
        Affine value = poly_value(p, env, iter->binding);
        poly_at_most(p, &p->top, poly_value(p, env, iter->lo), value, 0);
        poly_at_most(p, &p->top, value, poly_value(p, env, iter->hi), -1);
        VEC_PUSH(o->c->arena, env, ((Meaning){iter->var, value, false}));
    }
    for (int i = 0; i < o->access->path.n; i++)
        model_enter_scope(p, env, o->access->path.items[i]);
    return p;
}

/* "N = 1, i = 3", of the sizes and of the iterators and loops that the subscript speaks of. */
static const char *point_text(const Outside *o, const Poly *p, const Env *env,
                              const Expr *subscript, const int64_t *point)
{
    StrBuf text = strbuf_new(o->c->arena);
    for (int i = 0; i < o->kernel->n_sizes; i++) {
        const Size *size = &o->kernel->sizes[i];
        if (size->symbolic)
            point_print(&text, size->name, affine_at(*env_find(&p->fixed, size->var), point));
    }
    for (int i = 0; i < o->kernel->n_params; i++) {
        const Var *scalar = o->kernel->params[i].scalar;
        if (scalar && type_is_int(scalar->type))
            point_print(&text, scalar->name, affine_at(*env_find(&p->fixed, scalar), point));
    }
    for (int i = 0; i < env->n; i++)
        if (expr_uses_var(subscript, env->items[i].var))
            point_print(&text, env->items[i].var->name, affine_at(env->items[i].value, point));
    return text.length ? text.text : "every iteration";
}

/* What the runs are given for which the system has a solution; NULL where that is not known
 * exactly. */
static isl_set *given_of(Poly *p, const Affine *given, int n)
{
    bool exact;
    isl_set *set = poly_image(p, given, n, &exact);
    return set && exact ? set : isl_set_free(set);
}

/* The block runs for some arguments, and all of them are in the set. */
static bool are_all(const Outside *o, isl_set *leaving)
{
    Affine given[MAX_GIVEN];
    Env env = {0};
    int n;
    Poly *p = iterations(o, &env, given, &n);
    isl_set *running = given_of(p, given, n);
    bool all = running && isl_set_is_empty(running) == isl_bool_false &&
               isl_set_is_subset(running, leaving) == isl_bool_true;
    isl_set_free(running);
    return all;
}

static void refuse(Outside *o, int axis, const char *where, int64_t value, int64_t extent)
{
    const char *end =
        value < 0 ? "axes start at 0"
                  : arena_printf(o->c->arena, "the axis ends at %lld", (long long)extent - 1);
    diag_error(o->c, E0232, o->access->span,
               "at %s the subscript %s of '%s' is %lld, but %s; shorten the loop, or guard the "
               "access with a condition",
               where, expr_text(o->c, o->access->index[axis]), o->access->buffer->name,
               (long long)value, end);
    o->found = true;
}

/* The subscript leaves on one side, below 0 or above, for all sizes for which it is evaluated. */
static bool leaves(Outside *o, int axis, Side side)
{
    Expr *subscript = o->access->index[axis];
    Affine given[MAX_GIVEN];
    Env env = {0};
    int n;
    int64_t *point = NULL;
    Poly *p = iterations(o, &env, given, &n);
    Affine at = poly_value(p, &env, subscript),
           extent = poly_value(p, &p->fixed, o->access->buffer->shape[axis]);
    if (side == SIDE_ABOVE)
        poly_at_most(p, &p->top, extent, at, 0);
    else
        poly_at_most(p, &p->top, at, affine_const(0), -1);
    if (p->inexact || poly_solve(p, NULL, 0, NULL) != POLY_SOME || p->inexact)
        return false;
    isl_set *leaving = given_of(p, given, n);
    bool certain = leaving && are_all(o, leaving);
    isl_set_free(leaving);
    /* a point takes longest: it is for those that are refused */
    if (!certain || poly_solve(p, given, n, &point) != POLY_SOME || !point || p->inexact)
        return false;
    const char *where = point_text(o, p, &env, subscript, point);
    refuse(o, axis, where, affine_at(at, point), affine_at(extent, point));
    return true;
}

/* What holds at the access. */
static Facts *facts_at(const Outside *o)
{
    Facts *f = facts_of_kernel(o->c, o->kernel);
    for (int i = 0; i < o->path->n; i++)
        facts_enter_enclosing(f, o->path->items[i]);
    Stmt block = {.kind = ST_BLOCK, .u.block = *o->block};
    facts_enter(f, &block);
    for (int i = 0; i < o->access->path.n; i++)
        facts_enter_enclosing(f, o->access->path.items[i]);
    return f;
}

/* Most stay inside, which facts know at once. */
static bool stays_inside(const Outside *o, Facts *f, int axis)
{
    Expr *subscript = o->access->index[axis];
    return prove_inside(f, subscript, o->access->buffer->shape[axis]);
}

/* Under a condition, which decides what runs. */
static bool is_conditional(const Access *access)
{
    for (int i = 0; i < access->path.n; i++)
        if (access->path.items[i].stmt->kind == ST_IF)
            return true;
    return false;
}

static void check_access(Outside *o)
{
    ArenaMark mark = arena_mark(o->c->arena);
    Facts *f = facts_at(o);
    for (int axis = 0; axis < o->access->buffer->rank; axis++) {
        if (expr_has_load(o->access->index[axis]) || stays_inside(o, f, axis))
            continue;
        for (Side side = 0; side < SIDES; side++)
            if (leaves(o, axis, side))
                return;
    }
    arena_reset(o->c->arena, mark);
}

static void check_body(Outside *o, const Stmt *body)
{
    AccessList all = access_list(o->c, body, NULL, ACCESS_ANY);
    for (int i = 0; i < all.n; i++) {
        o->access = &all.items[i];
        if (!is_conditional(o->access))
            check_access(o);
    }
}

bool no_access_leaves(Context *c, const Kernel *program)
{
    Outside o = {.c = c, .kernel = program};
    Cursor at = cursor_with_path(cursor_outer(c, program->body), NULL);
    while (cursor_next(&at)) {
        if (at.stmt->kind == ST_IF)
            cursor_prune(&at);
        if (at.stmt->kind != ST_BLOCK)
            continue;
        o.path = &at.path;
        o.block = &at.stmt->u.block;
        if (o.block->init)
            check_body(&o, o.block->init);
        check_body(&o, o.block->body);
    }
    return !o.found;
}
