/* work.c - see work.h. */
#include "fuzz/work.h"

#include "passes/analysis/symbolic/simplify.h"

typedef struct {
    Context *c;
    Facts *facts;
    VEC(Subst) values; /* of sizes, and of the loops around */
} Work;

static bool value_of(const Work *w, Expr *e, int64_t *out)
{
    return expr_is_const(simplify(w->facts, expr_subst(w->c, e, w->values.items, w->values.n)),
                         out);
}

static int64_t work_of(Work *w, const Stmt *s);

static int64_t work_of_loop(Work *w, const ForStmt *loop)
{
    int64_t lo, hi, n = 1, all, middle = 0;
    if (value_of(w, loop->lo, &lo) && value_of(w, loop->hi, &hi) && checked_sub(hi, lo, &n)) {
        n /= loop->step;
        middle = lo + (hi - lo) / 2;
    }
    if (n <= 0)
        return 0;
    VEC_PUSH(w->c->arena, &w->values, ((Subst){loop->var, expr_index(w->c, middle)}));
    int64_t body = work_of(w, loop->body);
    w->values.n--;
    return checked_mul(n, body ? body : 1, &all) ? all : INT64_MAX;
}

/* Both parts, unless the sizes decide between them. */
static int64_t work_of_if(Work *w, const Stmt *s)
{
    const Stmt *otherwise = s->u.cond.otherwise;
    int64_t decided = -1, all;
    value_of(w, s->u.cond.cond, &decided);
    int64_t then = decided ? work_of(w, s->u.cond.then) : 0;
    int64_t rest = otherwise && decided <= 0 ? work_of(w, otherwise) : 0;
    return checked_add(then, rest, &all) ? all : INT64_MAX;
}

static int64_t work_of(Work *w, const Stmt *s)
{
    int64_t sum = 0;
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            if (!checked_add(sum, work_of(w, s->u.seq.items[i]), &sum))
                return INT64_MAX;
        return sum;
    case ST_FOR: return work_of_loop(w, &s->u.loop);
    case ST_IF: return work_of_if(w, s);
    case ST_BLOCK: return work_of(w, s->u.block.body);
    default: return 0;
    }
}

int64_t work_about(Context *c, const Kernel *kernel, const int64_t *sizes)
{
    Work w = {.c = c, .facts = facts_new(c)};
    for (int i = 0; i < kernel->n_sizes; i++)
        if (kernel->sizes[i].symbolic)
            VEC_PUSH(c->arena, &w.values, ((Subst){kernel->sizes[i].var, expr_index(c, sizes[i])}));
    return work_of(&w, kernel->body);
}
