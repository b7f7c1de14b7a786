/* work.c - see work.h. */
#include "fuzz/work.h"

#include "passes/analysis/simplify.h"

typedef struct {
    Context *c;
    Facts *facts;
    const Subst *sizes;
    int n_sizes;
} Work;

/* hi - lo where both are numbers; else 1. */
static int64_t iterations(const Work *w, const ForStmt *loop)
{
    int64_t lo, hi, n;
    if (!expr_is_const(simplify(w->facts, expr_subst(w->c, loop->lo, w->sizes, w->n_sizes)), &lo) ||
        !expr_is_const(simplify(w->facts, expr_subst(w->c, loop->hi, w->sizes, w->n_sizes)), &hi) ||
        loop->step != 1 || !checked_sub(hi, lo, &n))
        return 1;
    return n > 0 ? n : 0;
}

static int64_t work_of(const Work *w, const Stmt *s)
{
    int64_t sum = 0, n = 0;
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            if (!checked_add(sum, work_of(w, s->u.seq.items[i]), &sum))
                return INT64_MAX;
        return sum;
    case ST_FOR:
        n = work_of(w, s->u.loop.body);
        if (n == 0)
            n = 1;
        return checked_mul(n, iterations(w, &s->u.loop), &sum) ? sum : INT64_MAX;
    case ST_BLOCK: return work_of(w, s->u.block.body);
    default: return 0;
    }
}

int64_t work_least(Context *c, const Kernel *kernel, const int64_t *sizes)
{
    Subst *map = ARENA_ARRAY(c->arena, Subst, kernel->n_sizes + 1);
    int n = 0;
    for (int i = 0; i < kernel->n_sizes; i++)
        if (kernel->sizes[i].symbolic)
            map[n++] = (Subst){kernel->sizes[i].var, expr_index(c, sizes[i])};
    Work w = {c, facts_new(c), map, n};
    return work_of(&w, kernel->body);
}
