/* own_copy.c - Checks privatization: each thread (local memory), warp, or block (shared memory)
 * reads only what it has written itself.
 *
 * The program has one copy of a buffer. Privatization is legal if the same owner wrote every
 * element that it reads, in the same iteration of some of the loops that write and read share, and
 * no other owner writes the element in that iteration (the one copy of the program would then hold
 * the other value), unless a group of lanes that reduce together write the same bits.
 *
 * "Every read is covered by a write" is a for-all-exists question: a quick proof computes the
 * iteration that writes (poly_extend.c), then the exact set difference decides. */
#include "passes/analysis/threads/threads.h"

#include <isl/set.h>

/* The context of all questions about one read. A definition is a write before the read: in the text
 * under the same iteration of all loops that they share, or (where `carried`) also in an earlier
 * iteration of one of them; in the same iteration of the first `from` loops. */
typedef struct {
    Threads *t;
    Poly *p;
    int reader;
    const Access *read;
    Axis axes[AXIS_COUNT]; /* whose coordinates own a copy: those of blocks, or all */
    int n_axes;
    bool carried;
    int from;
    const bool *any;       /* [loops] the reader runs redundantly in the loop, so its iteration does
                      * not matter; or NULL */
    bool first;            /* asks about the reader's first runs: the launch has no others */
    int n_least;           /* loops with equal values in the read and its definitions */
    int n_most;            /* loops whose values distinguish a definition from a later write */
    bool defined, written; /* it has definitions; is written in the launch at all */
    int n_elements;        /* of inputs, that decide where the reader runs */
    int writer;            /* one of them */
    const Access *write;
    Conflict *why;
} OwnCopy;

/* Goes through the definitions: instances of a write in the same iteration of the loops that it
 * shares with the read before number `level`, and in an earlier one of that; with no shared loop
 * left, above in the text. */
typedef struct {
    BufferAccesses by;
    int level, common; /* of `common` shared loops; the next level is one less */
} Definition;

static Definition definitions_of(const OwnCopy *o)
{
    return (Definition){.by = accesses_of(o->t->model, o->read->buffer)};
}

static bool is_definition(const OwnCopy *o, const Definition *d)
{
    const Unit *r = thread_unit(o->t, o->reader), *w = thread_unit(o->t, d->by.unit);
    return d->by.access->writes && d->level >= o->from && (d->level == d->common || o->carried) &&
           units_may_precede(w, r, (Precedence){.level = d->level, .serial = true});
}

static bool definition_next(const OwnCopy *o, Definition *d)
{
    for (;;) {
        while (d->level-- > 0)
            if (is_definition(o, d))
                return true;
        if (!accesses_next(&d->by))
            return false;
        d->common = units_common(thread_unit(o->t, d->by.unit), thread_unit(o->t, o->reader));
        d->level = d->common + 1;
    }
}

static void find_definitions(OwnCopy *o)
{
    o->n_least = o->n_most = 0;
    o->defined = o->written = false;
    for (BufferAccesses x = accesses_of(o->t->model, o->read->buffer); accesses_next(&x);)
        if (x.access->writes && !o->written) {
            o->writer = x.unit;
            o->write = x.access;
            o->written = true;
        }
    for (Definition d = definitions_of(o); definition_next(o, &d);) {
        int compared = d.level + (d.level < d.common);
        o->n_least = o->defined && o->n_least < d.level ? o->n_least : d.level;
        o->n_most = compared > o->n_most ? compared : o->n_most;
        o->defined = true;
        if (d.level < d.common)
            continue;
        o->writer = d.by.unit;
        o->write = d.by.access;
    }
}

/* ---- the quick proof ------------------------------------------------------------------------- */

/* Rows that a definition may leave open, for the next ones to cover. */
enum { MAX_LEFT = 4 };

/* An instance of the definition before the reader's `r`, on the same coordinates; true where all
 * that it needs is in rows. */
static bool add_earlier(OwnCopy *o, const Definition *d, const ThreadInstance *r,
                        const Affine *read)
{
    Poly *p = o->p;
    int n_choices = p->top.choices.n, n_fixed = p->fixed.n, same = 0;
    while (same < d->level && !(o->any && o->any[same]))
        same++;
    p->inexact = false;
    p->n_given = o->n_elements;
    ThreadInstance w = thread_instance_within(o->t, p, d->by.unit, r, same);
    const Affine *written = instance_index(p, &w.at, d->by.access);
    instance_precedes(p, &w.at, &r->at,
                      (Precedence){.from = same, .level = d->level, .any = o->any});
    for (int i = 0; i < o->n_axes; i++)
        poly_equal(p, &p->top, w.axis[o->axes[i]], r->axis[o->axes[i]]);
    for (int i = 0; i < o->read->buffer->rank; i++)
        poly_equal(p, &p->top, written[i], read[i]);
    p->n_given = 0;
    return !p->inexact && p->top.choices.n == n_choices && p->fixed.n == n_fixed;
}

/* Solutions of `p` where one of the rows does not hold. */
static void assume_broken(Poly *p, const Row *rows, int n)
{
    VEC(Affine) negative = {0}; /* one of these is below 0 */
    for (int i = 0; i < n; i++) {
        VEC_PUSH(p->ctx->arena, &negative, rows[i].form);
        if (rows[i].equal)
            VEC_PUSH(p->ctx->arena, &negative, poly_add(p, affine_const(0), rows[i].form, -1));
    }
    Conj **broken = negative.n > 1 ? poly_choice(p, &p->top, negative.n) : NULL;
    for (int i = 0; i < negative.n; i++)
        poly_at_most(p, broken ? broken[i] : &p->top, negative.items[i], affine_const(-1), 0);
}

/* The definition writes the elements that `r` reads, before `r`: the iteration that writes can
 * be computed. If it covers only some of the reads, `p` is restricted to the others. */
static bool plainly_covers(OwnCopy *o, const Definition *d, const ThreadInstance *r,
                           const Affine *read)
{
    Poly *p = o->p;
    PolyMark mark = poly_mark(p);
    bool exact = add_earlier(o, d, r, read);
    int n = p->top.rows.n - mark.rows, columns = mark.columns, n_left = -1;
    Row *rows = ARENA_ARRAY(p->ctx->arena, Row, n), left[MAX_LEFT];
    for (int i = 0; i < n; i++)
        rows[i] = p->top.rows.items[mark.rows + i];
    p->top.rows.n = mark.rows;
    if (exact)
        n_left = poly_extend(p, rows, n, columns, left, MAX_LEFT);
    if (n_left > 0)
        assume_broken(p, left, n_left);
    else if (n_left < 0)
        poly_reset(p, mark);
    return n_left == 0 || (n_left > 0 && poly_solve(p, NULL, 0, NULL) == POLY_NONE);
}

/* Rows: the read is of an element that there is. A program that reads others, as where a size of 0
 * makes (0 - 1) / 2 + 1 iterations, has no meaning to keep. */
static void assume_element(const OwnCopy *o, const Affine *index)
{
    Poly *p = o->p;
    const Buffer *buffer = o->read->buffer;
    for (int i = 0; i < buffer->rank; i++) {
        poly_not_negative(p, &p->top, index[i]);
        poly_at_most(p, &p->top, index[i], poly_value(p, &p->fixed, buffer->shape[i]), -1);
    }
}

/* A run of the reader that is asked about. */
static ThreadInstance reader_run(const OwnCopy *o)
{
    return o->first ? thread_first_run(o->t, o->p, o->reader)
                    : thread_instance(o->t, o->p, o->reader);
}

/* The definitions cover all that is read, one after the other. */
static bool all_plainly_cover(OwnCopy *o)
{
    PolyMark start = poly_mark(o->p);
    ThreadInstance r = reader_run(o);
    const Affine *read = instance_index(o->p, &r.at, o->read);
    assume_element(o, read);
    o->n_elements = o->p->elements.n;
    bool covered = false;
    for (Definition d = definitions_of(o); !covered && definition_next(o, &d);)
        covered = plainly_covers(o, &d, &r, read);
    poly_reset(o->p, start);
    return covered;
}

/* ---- the exact answer ------------------------------------------------------------------------ */

static const char *owner_text(const OwnCopy *o)
{
    switch (o->read->buffer->scope) {
    case SCOPE_LOCAL: return "thread";
    case SCOPE_WARP: return "warp";
    case SCOPE_CLUSTER: return "cluster";
    default: return "block of the grid";
    }
}

/* The turn of loop `i` in a read of an element that `at` wrote before: equal for the loops
 * before the definition's level, later at that level, arbitrary for the rest. */
static Affine reader_loop(const OwnCopy *o, const Definition *d, const ThreadInstance *at, int i)
{
    Poly *p = o->p;
    if (o->any && o->any[i])
        return affine_const(0);
    if (i < d->level)
        return at->at.turns[i];
    Affine turn = poly_free_column(p, INT64_MIN, INT64_MAX);
    if (i == d->level && d->level < d->common)
        poly_at_most(p, &p->top, at->at.turns[i], turn, -1);
    return turn;
}

/* The values of (sizes, the loops of the reader that it may share with definitions, coordinates,
 * subscripts) of an access. */
static isl_set *access_image(const OwnCopy *o, const Definition *d, bool *exact)
{
    const Access *x = d->by.access;
    Poly *p = o->p;
    PolyMark mark = poly_mark(p);
    p->inexact = p->lost = false;
    ThreadInstance at = x == o->read ? reader_run(o) : thread_instance(o->t, p, d->by.unit);
    const Affine *index = instance_index(p, &at.at, x);
    if (x == o->read)
        assume_element(o, index);
    VEC(Affine) forms = {0};
    Arena *arena = p->ctx->arena;
    for (int i = 0; i < p->fixed.n; i++)
        VEC_PUSH(arena, &forms, p->fixed.items[i].value);
    for (int i = 0; i < o->n_most; i++)
        VEC_PUSH(arena, &forms, reader_loop(o, d, &at, i));
    for (int i = 0; i < o->n_axes; i++)
        VEC_PUSH(arena, &forms, at.axis[o->axes[i]]);
    VEC_APPEND(arena, &forms, index, x->buffer->rank);
    isl_set *set = poly_image(p, forms.items, forms.n, exact);
    poly_reset(p, mark);
    return set;
}

/* Takes `set`, the reads; returns the upward-exposed ones, which no definition covers. What is not
 * known exactly covers nothing; *all_exact becomes false then. */
static isl_set *subtract_definitions(OwnCopy *o, isl_set *set, bool *all_exact)
{
    for (Definition d = definitions_of(o); set && definition_next(o, &d);) {
        bool exact;
        isl_set *part = access_image(o, &d, &exact);
        *all_exact &= exact;
        if (exact || !part)
            set = isl_set_subtract(set, part);
        else
            isl_set_free(part);
    }
    return set;
}

/* "; ...": a number for the size that a subscript of the read divides by makes it affine. */
static const char *divisor_remedy(const OwnCopy *o)
{
    Context *c = o->p->ctx;
    for (int d = 0; d < o->read->buffer->rank; d++)
        for (Cursor at = cursor_expr(c, o->read->index[d]); cursor_next(&at);) {
            const Expr *by = at.expr->kind == EX_DIV ? at.expr->u.arg[1] : NULL;
            if (by && by->kind == EX_VAR && by->u.var->kind == VAR_SIZE)
                return arena_printf(c->arena, "; give size '%s' a number, as in -D %s=16",
                                    by->u.var->name, by->u.var->name);
        }
    return "";
}

/* What is known of the reads that no definition covers. */
typedef struct {
    bool found, spent; /* there is one; the budget ended before an answer */
    bool exact;        /* one that was found is certain */
    /* of it: sizes and outer loops, shared loops, coordinates, subscripts (access_image) */
    const int64_t *values;
} Exposed;

static Exposed find_exposed(OwnCopy *o)
{
    Poly *p = o->p;
    int n = p->fixed.n + o->n_most + o->n_axes + o->read->buffer->rank;
    int64_t *values = ARENA_ARRAY(p->ctx->arena, int64_t, n);
    Exposed found = {.values = values};
    const Definition itself = {
        .by = {.unit = o->reader, .access = o->read}, .level = o->n_most, .common = o->n_most};
    arena_begin_lenient(p->ctx->arena);
    isl_set *set = access_image(o, &itself, &found.exact);
    set = subtract_definitions(o, set, &found.exact);
    found.found = poly_set_point(set, values, n, &found.spent);
    isl_set_free(set);
    arena_end_lenient(p->ctx->arena);
    return found;
}

static const char *exposed_reason(const OwnCopy *o, const Exposed *found)
{
    const char *unproved =
        found->spent    ? " (not proved: the analysis budget was spent)"
        : !found->exact ? " (not proved: products of sizes, or values that are not affine in "
                          "loops and sizes, decide which elements it writes)"
                        : "";
    return arena_printf(o->p->ctx->arena,
                        "'%s' is in %s memory, which is private to each %s, and the %s that reads "
                        "this element has not written it%s%s",
                        o->read->buffer->name, scope_name(o->read->buffer->scope), owner_text(o),
                        owner_text(o), unproved, found->exact ? "" : divisor_remedy(o));
}

/* The element that was found, and where its reader runs. */
static void show_exposed(OwnCopy *o, const int64_t *values)
{
    Poly *p = o->p;
    StrBuf element = strbuf_new(p->ctx->arena), thread = strbuf_new(p->ctx->arena);
    const int64_t *axes = values + p->fixed.n + o->n_most, *index = axes + o->n_axes;
    for (int i = 0; i < p->fixed.n; i++)
        if (p->fixed.items[i].var->kind == VAR_SIZE)
            point_print(&thread, p->fixed.items[i].var->name, values[i]);
    for (int i = 0; i < o->n_axes; i++)
        if (o->t->axis[o->axes[i]])
            point_print(&thread, axis_name(o->axes[i]), axes[i]);
    for (int i = 0; i < o->read->buffer->rank; i++)
        strbuf_addf(&element, "%s%lld", i ? ", " : "", (long long)index[i]);
    o->why->element = arena_printf(p->ctx->arena, "%s[%s]", o->read->buffer->name, element.text);
    o->why->second_at = thread.text;
}

/* Words the conflict. False. */
static bool tell_of_exposed(OwnCopy *o, const Exposed *found)
{
    Poly *p = o->p;
    PolyMark mark = poly_mark(p);
    Instance w = instance_new(p, thread_unit(o->t, o->writer));
    Instance r = instance_new(p, thread_unit(o->t, o->reader));
    conflict_unproved((AccessPair){&w, o->write, &r, o->read}, exposed_reason(o, found), o->why);
    if (found->found && found->exact)
        show_exposed(o, found->values);
    poly_reset(p, mark);
    return false;
}

/* Every element read was written before by the thread, or block of the grid, that reads it. */
static bool reads_covered(OwnCopy *o)
{
    if (all_plainly_cover(o))
        return true;
    Exposed found = find_exposed(o);
    return (!found.found && !found.spent) || tell_of_exposed(o, &found);
}

/* ---- other owners ---------------------------------------------------------------------------- */

/* The two have the same coordinates of the owner in equal iterations of the first n loops. */
static bool same_owner(const OwnCopy *o, int writer, int n)
{
    const Place *w = &o->t->places[writer], *r = &o->t->places[o->reader];
    for (int i = 0; i < o->n_axes; i++) {
        Axis axis = o->axes[i];
        bool shared = w->loop[axis] >= 0 && w->loop[axis] == r->loop[axis] && w->loop[axis] < n;
        if (!shared && !w->every[axis] &&
            !(thread_on_zero(o->t, writer, axis) && thread_on_zero(o->t, o->reader, axis)))
            return false;
    }
    return true;
}

/* Words the conflict that has a solution. False. */
static bool tell_of_other(OwnCopy *o, AccessPair pair)
{
    const char *reason =
        arena_printf(o->p->ctx->arena,
                     "'%s' is in %s memory, which is private to each %s: one would read a value "
                     "that another wrote",
                     o->read->buffer->name, scope_name(o->read->buffer->scope), owner_text(o));
    return conflict_none(o->p, pair, reason, o->why);
}

/* The coordinate, or the number of the group of those that the unit runs alike on: in the order of
 * the program, each of them has an equal write at the same place. */
static Affine alike_on(const OwnCopy *o, int unit, Axis axis, Affine coordinate)
{
    int lanes = thread_unit(o->t, unit)->block->lanes_alike;
    return lanes && axis == AXIS_THREAD_X ? poly_quotient(o->p, coordinate, lanes) : coordinate;
}

/* No run of the writer `x` on other coordinates writes the element that the read finds, both in one
 * iteration of the first `n_equal` loops. What runs on every coordinate of an axis runs on the
 * reader's, too, and is no other's; so does what a group of lanes runs alike. */
static bool no_other_writes(OwnCopy *o, const BufferAccesses *x, int n_equal)
{
    Poly *p = o->p;
    PolyMark mark = poly_mark(p);
    ThreadInstance a = thread_first_run(o->t, p, x->unit);
    ThreadInstance b = thread_instance_within(o->t, p, o->reader, &a, n_equal);
    thread_be_first_run(o->t, p, o->reader, &b);
    AccessPair pair = {&a.at, x->access, &b.at, o->read};
    pair_collide(p, pair);
    Affine one[AXIS_COUNT], other[AXIS_COUNT];
    for (int i = 0; i < o->n_axes; i++) {
        Axis axis = o->axes[i];
        one[i] = alike_on(o, x->unit, axis, a.axis[axis]);
        other[i] = alike_on(o, x->unit, axis, b.axis[axis]);
        if (o->t->places[x->unit].every[axis])
            poly_equal(p, &p->top, one[i], other[i]);
    }
    poly_differ(p, &p->top, one, other, o->n_axes);
    bool none = poly_solve(p, NULL, 0, NULL) == POLY_NONE || tell_of_other(o, pair);
    poly_reset(p, mark);
    return none;
}

/* No other thread, or block, writes the element while it is in use: in one iteration of the loops
 * that the read shares with its definitions. */
static bool writes_own(OwnCopy *o)
{
    const Unit *r = thread_unit(o->t, o->reader);
    for (BufferAccesses x = accesses_of(o->t->model, o->read->buffer); accesses_next(&x);) {
        int common = units_common(thread_unit(o->t, x.unit), r);
        int n_equal = o->n_least < common ? o->n_least : common;
        if (x.access->writes && !same_owner(o, x.unit, n_equal) && !no_other_writes(o, &x, n_equal))
            return false;
    }
    return true;
}

/* ---- values that every owner agrees on ------------------------------------------------------- */

static bool written_in_launch(const Threads *t, const Buffer *buffer)
{
    for (BufferAccesses x = accesses_of(t->model, buffer); accesses_next(&x);)
        if (x.access->writes)
            return true;
    return false;
}

/* Each iterator is a subscript. */
static bool names_all_iters(const BlockStmt *block, const Access *x)
{
    for (int i = 0; i < block->n_iters; i++) {
        bool found = false;
        for (int d = 0; d < x->buffer->rank; d++)
            found |= expr_is_var(x->index[d], block->iters[i].var);
        if (!found)
            return false;
    }
    return true;
}

bool threads_write_alike(const Threads *t, const Buffer *buffer)
{
    int writes = 0;
    for (BufferAccesses x = accesses_of(t->model, buffer); accesses_next(&x);) {
        const Unit *u = thread_unit(t, x.unit);
        if (!x.access->writes)
            continue;
        if (++writes > 1 || x.access->reads || x.access->path.n > 0 ||
            !names_all_iters(u->block, x.access))
            return false;
        for (int r = 0; r < u->accesses.n; r++)
            if (u->accesses.items[r].reads && written_in_launch(t, u->accesses.items[r].buffer))
                return false;
    }
    return writes == 1;
}

static OwnCopy own_copy_of(Threads *t, Poly *p, int reader, const Access *read, Conflict *why)
{
    OwnCopy o = {.t = t, .p = p, .reader = reader, .read = read, .why = why};
    for (Axis axis = 0; axis < AXIS_COUNT; axis++)
        if (!scope_shared_along(read->buffer->scope, axis))
            o.axes[o.n_axes++] = axis;
    return o;
}

/* Each read finds a definition whose iteration can be computed. */
static bool plainly_owned(OwnCopy *o)
{
    find_definitions(o);
    return o->defined && all_plainly_cover(o) && writes_own(o);
}

/* Nothing is asked of the other owners where all write the same values. The first answer is the one
 * that is told. */
static bool exactly_owned(OwnCopy *o)
{
    Conflict ignored, *why = o->why;
    o->carried = false;
    find_definitions(o);
    if (!o->written || (reads_covered(o) && writes_own(o)))
        return true;
    o->why = &ignored;
    o->any = threads_write_alike(o->t, o->read->buffer) ? o->t->places[o->reader].rerun : NULL;
    bool owned = o->any && o->defined && reads_covered(o);
    o->any = NULL;
    o->carried = true;
    find_definitions(o);
    owned = owned || (o->defined && reads_covered(o) && writes_own(o));
    o->why = why;
    return owned;
}

/* Tries quick proofs first: an iteration reads its own writes; or also those of earlier
 * iterations (`carried`), which needs more of the other owners. Exact answers take long. */
static bool read_owned(OwnCopy *o)
{
    o->carried = false;
    if (plainly_owned(o))
        return true;
    o->carried = true;
    return plainly_owned(o) || exactly_owned(o);
}

bool threads_reads_covered(Threads *t, const Buffer *buffer, int n_fixed)
{
    Poly *p = threads_question(t);
    for (BufferAccesses x = accesses_of(t->model, buffer); accesses_next(&x);) {
        Conflict ignored;
        const AccessList *unit = &thread_unit(t, x.unit)->accesses;
        if (!x.access->reads || access_reads_own(t->ctx, unit, (int)(x.access - unit->items)))
            continue;
        OwnCopy o = own_copy_of(t, p, x.unit, x.access, &ignored);
        o.carried = true;
        o.from = n_fixed;
        find_definitions(&o);
        if (!o.defined || !reads_covered(&o))
            return false;
    }
    return true;
}

bool threads_read_renewed(Threads *t, Poly *p, int unit, const Access *read, int n_fixed)
{
    Conflict ignored;
    OwnCopy o = own_copy_of(t, p, unit, read, &ignored);
    o.n_axes = 0;
    o.carried = true;
    o.from = n_fixed;
    find_definitions(&o);
    return o.defined && reads_covered(&o);
}

bool threads_copies_own(Threads *t, Poly *p, Conflict *why)
{
    for (int i = 0; i < t->model->units.n; i++) {
        const Unit *u = thread_unit(t, i);
        for (int k = 0; k < u->accesses.n; k++) {
            const Access *x = &u->accesses.items[k];
            if (!x->reads || scope_outlives_launch(x->buffer->scope) ||
                !threads_use_changed(t, x->buffer) || access_reads_own(t->ctx, &u->accesses, k))
                continue;
            OwnCopy o = own_copy_of(t, p, i, x, why);
            o.first = true;
            if (!read_owned(&o))
                return false;
        }
    }
    return true;
}
