/* choose_layouts.c - Chooses the numbers of `pad(t, auto)` and `swizzle(t, auto)`.
 *
 *   temp t: f32[16, 32] in shared pad(1, auto);     t[ty, tx] = ...;  ... = t[tx % 16, ...]
 *                                              =>   temp t: f32[16, 32] in shared pad(1, 2);
 *
 * Every request that a warp makes to the buffer is written down (requests.h), its addresses are
 * computed under each candidate, and the bank conflicts are counted with the rules of
 * ir/target/memory_model.h. A request is free of conflicts if no bank has to give two words to
 * lanes that are served together. The first candidate that frees all requests wins:
 *
 *   pad      0, 1, 2 ... elements, up to what shifts a row by all 32 banks; only pads that keep
 *            wide accesses aligned
 *   swizzle  none; then large chunks before small ones, few chunks in a group before many, `every`
 *            from 1 on
 *
 * Where none does, the one with the fewest wavefronts is taken, and a warning says which access
 * stays at what. */
#include "passes/lower/access/requests.h"

/* A buffer, an axis of it whose layout is to be chosen, and the best rule so far. */
typedef struct {
    Context *c;
    const Buffer *buffer;
    int axis;
    const BufferAccesses *accesses;
    int64_t lanes; /* of the widest access along the last axis */
    AxisLayout best;
    int64_t wavefronts; /* in all, with the best; -1: nothing tried yet */
    bool free;          /* of conflicts */
} Choice;

/* The wavefronts of all requests of an access; *worst is one of the costliest. */
static int64_t cost(const Buffer *b, const int64_t *strides, const BufferAccess *access,
                    WarpAccess *worst, bool *free)
{
    int64_t sum = 0;
    int most = 0;
    for (int i = 0; i < access->requests.n; i++) {
        WarpAccess warp;
        request_addresses(b, strides, access, &access->requests.items[i], &warp);
        int wavefronts = memory_wavefronts(&warp);
        *free = *free && memory_bank_use(&warp).words <= 1;
        if (wavefronts > most) {
            most = wavefronts;
            *worst = warp;
        }
        sum += wavefronts;
    }
    return sum;
}

static void try_rule(Choice *ch, AxisLayout rule)
{
    Context *c = ch->c;
    Buffer *b = buffer_with_rule(c, ch->buffer, ch->axis, rule);
    int64_t *strides = ARENA_ARRAY(c->arena, int64_t, b->rank + 1), elements, sum = 0;
    bool free = true;
    if (!buffer_strides(b, strides, &elements))
        return;
    for (int i = 0; i < ch->accesses->n && (free || ch->wavefronts < 0 || sum < ch->wavefronts);
         i++) {
        WarpAccess worst;
        sum += cost(b, strides, &ch->accesses->items[i], &worst, &free);
    }
    if (ch->wavefronts < 0 || free || sum < ch->wavefronts) {
        ch->best = rule;
        ch->wavefronts = sum;
        ch->free = free;
    }
}

static void choose_pad(Choice *ch)
{
    Context *c = ch->c;
    const Buffer *b = ch->buffer;
    int64_t period = (int64_t)BANKS * BANK_BYTES / type_bytes(b->type);
    int64_t *strides = ARENA_ARRAY(c->arena, int64_t, b->rank + 1), elements;
    if (!buffer_strides(b, strides, &elements))
        return;
    for (int64_t pad = 0; pad < period && !ch->free; pad++) {
        AxisLayout rule = b->layout[ch->axis];
        rule.choose_pad = false;
        rule.pad = pad;
        if (pad * strides[ch->axis] % ch->lanes == 0)
            try_rule(ch, rule);
    }
}

/* The smallest power of two that is at least n. */
static int64_t power_of_two(int64_t n)
{
    int64_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

static void choose_counts(Choice *ch, int64_t chunk, int by)
{
    int64_t columns, rows;
    if (!expr_is_const(ch->buffer->shape[ch->axis], &columns) ||
        !expr_is_const(ch->buffer->shape[by], &rows))
        return;
    int64_t most = power_of_two((columns + chunk - 1) / chunk);
    for (int64_t count = 2; count <= most && count <= BANKS; count *= 2)
        for (int64_t every = 1; every < rows && !ch->free; every *= 2) {
            AxisLayout rule = ch->buffer->layout[ch->axis];
            rule.choose_swizzle = false;
            rule.swizzle = (Swizzle){chunk, count, every, by};
            try_rule(ch, rule);
        }
}

static void choose_swizzle(Choice *ch)
{
    AxisLayout none = ch->buffer->layout[ch->axis];
    none.choose_swizzle = false;
    try_rule(ch, none);
    int64_t widest = LANE_BYTES_MAX / type_bytes(ch->buffer->type);
    for (int64_t chunk = widest > ch->lanes ? widest : ch->lanes; chunk >= ch->lanes && !ch->free;
         chunk /= 2)
        for (int by = ch->buffer->rank - 1; by >= 0 && !ch->free; by--)
            if (by != ch->axis && !buffer_is_swizzled(ch->buffer, by))
                choose_counts(ch, chunk, by);
}

/* ---- what it says ---------------------------------------------------------------------------- */

static const char *rule_text(const Choice *ch, bool pad)
{
    Context *c = ch->c;
    const Swizzle *s = &ch->best.swizzle;
    if (pad)
        return arena_printf(c->arena, "a pad of %lld", (long long)ch->best.pad);
    if (s->chunk == 0)
        return "no swizzle";
    return arena_printf(c->arena, "swizzle(%d, %d, %lld, %lld, %lld)", ch->axis, s->by,
                        (long long)s->chunk, (long long)s->count, (long long)s->every);
}

static void report_access(const Choice *ch, const Buffer *b, const int64_t *strides,
                          const BufferAccess *access)
{
    WarpAccess worst = {0};
    bool free = true;
    const char *op = access->is_store ? "store" : "load";
    if (!access->known)
        diag_note(ch->c, access->span,
                  "this %s was ignored: the elements it accesses depend on data or on sizes", op);
    else if (cost(b, strides, access, &worst, &free), !free)
        diag_note(ch->c, access->span, "this %s takes %d wavefronts per request; the ideal is %d",
                  op, memory_wavefronts(&worst), memory_wavefronts_ideal(&worst));
    else if (!access->complete)
        diag_note(ch->c, access->span, "only the first %d requests of this %s were examined",
                  REQUESTS_MAX, op);
}

/* Warns where the choice is not known to be free of conflicts. */
static void report(const Choice *ch, const Buffer *b, bool pad)
{
    bool certain = ch->free || ch->best.quiet;
    for (int i = 0; i < ch->accesses->n && !ch->best.quiet; i++)
        certain = certain && ch->accesses->items[i].known && ch->accesses->items[i].complete;
    if (certain)
        return;
    int64_t *strides = ARENA_ARRAY(ch->c->arena, int64_t, b->rank + 1), elements;
    if (!buffer_strides(b, strides, &elements))
        return;
    diag_warning(
        ch->c, E0516, buffer_span(b),
        "no %s of axis %d is known to avoid bank conflicts in all accesses to '%s'; tirc chose %s",
        pad ? "pad" : "swizzle", ch->axis, b->name, rule_text(ch, pad));
    for (int i = 0; i < ch->accesses->n; i++)
        report_access(ch, b, strides, &ch->accesses->items[i]);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static int64_t widest_access(const BufferAccesses *accesses)
{
    int64_t lanes = 1;
    for (int i = 0; i < accesses->n; i++)
        lanes = accesses->items[i].lanes > lanes ? accesses->items[i].lanes : lanes;
    return lanes;
}

static Buffer *choose(Context *c, const Stmt *launch, const Buffer *buffer)
{
    Buffer *b = buffer_copy(c, buffer);
    BufferAccesses accesses = {0};
    requests_of(c, launch, buffer, &accesses);
    for (int axis = 0; axis < b->rank; axis++) {
        bool pad = b->layout[axis].choose_pad, swizzle = b->layout[axis].choose_swizzle;
        for (int kind = 0; kind < 2; kind++) {
            if (!(kind ? swizzle : pad))
                continue;
            Choice ch = {.c = c,
                         .buffer = b,
                         .axis = axis,
                         .accesses = &accesses,
                         .wavefronts = -1,
                         .best = b->layout[axis],
                         .lanes = widest_access(&accesses)};
            (kind ? choose_swizzle : choose_pad)(&ch);
            ch.best.choose_pad &= kind == 1;
            ch.best.choose_swizzle &= kind == 0;
            b = buffer_with_rule(c, b, axis, ch.best);
            report(&ch, b, kind == 0);
        }
    }
    return b;
}

static bool wants_choice(const Buffer *b)
{
    for (int d = 0; b->layout && d < b->rank; d++)
        if (b->layout[d].choose_pad || b->layout[d].choose_swizzle)
            return true;
    return false;
}

static Stmt *walk(void *user, Stmt *s)
{
    Context *c = user;
    if (s->kind != ST_LAUNCH)
        return stmt_map_children(c, s, walk, c);
    StmtList temps = stmts_of_kind(c, s, ST_TEMP);
    for (int i = 0; i < temps.n; i++) {
        const Buffer *buffer = temps.items[i]->u.temp;
        if (wants_choice(buffer))
            s = stmt_replace_buffer(c, s, buffer, choose(c, s, buffer));
    }
    return s;
}

Kernel *pass_choose_layouts(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    return kernel_with_body(c, kernel, walk(c, kernel->body));
}
