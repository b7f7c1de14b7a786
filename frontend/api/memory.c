/* memory.c - Implements the calls that prove accesses in bounds. */
#include "frontend/api/internal.h"

/* The proofs about the accesses of a lowered kernel. */
static const MemoryBounds *api_memory_bounds(tirc *t, const Kernel *lowered)
{
    if (t->bounded != lowered) {
        t->bounds = accesses_in_bounds(t->ctx, lowered, NULL);
        t->bounded = lowered;
    }
    return &t->bounds;
}

/* Some access had subscripts for several axes. */
static bool has_axes(Context *c, const Stmt *body)
{
    for (Cursor at = cursor_stmt(c, body); cursor_next(&at);)
        if (at.stmt ? at.stmt->kind == ST_STORE && at.stmt->u.store.axes
                    : at.expr->kind == EX_LOAD && at.expr->u.load.axes)
            return true;
    return false;
}

const Kernel *api_checked_kernel(tirc *t, const Kernel *lowered)
{
    return has_axes(t->ctx, lowered->body)
               ? keep_unproved_axes(t->ctx, lowered, api_memory_bounds(t, lowered))
               : lowered;
}

static Origin origin_of(const AccessBounds *a)
{
    return a->store ? (Origin){a->store->span, a->store->step}
                    : (Origin){a->load->span, a->load->step};
}

bool api_stays_inside(tirc *t, const tirc_kernel *lowered, const int64_t *sizes)
{
    if (api_memory_bounds(t, lowered->kernel)->count[BOUNDS_LEAVES] == 0)
        return true;
    MemoryBounds found = accesses_in_bounds(t->ctx, lowered->kernel, sizes);
    bool inside = true;
    for (int i = 0; i < found.accesses.n; i++) {
        const AccessBounds *a = &found.accesses.items[i];
        if (!a->always)
            continue;
        diag_error(t->ctx, E0639, origin_of(a).span, "'%s' is out of bounds: %s", a->element,
                   a->why);
        api_note_step(t, lowered, origin_of(a).step, "the access");
        inside = false;
    }
    return inside;
}

static bool memory_bounds(tirc *t, const tirc_kernel *lowered, tirc_memory *memory)
{
    t->subject = lowered->command;
    if (!api_require_lowered(t, lowered, "tirc_memory_bounds"))
        return false;
    const MemoryBounds *found = api_memory_bounds(t, lowered->kernel);
    *memory =
        (tirc_memory){found->accesses.n, found->count[BOUNDS_PROVED], found->count[BOUNDS_DATA],
                      found->count[BOUNDS_UNPROVED], found->count[BOUNDS_LEAVES]};
    return true;
}

tirc_status tirc_memory_bounds(tirc *t, const tirc_kernel *lowered, tirc_memory *memory)
{
    API_GUARDED(t, memory_bounds(t, lowered, memory));
}

static bool open_access_at(tirc *t, const tirc_kernel *lowered, size_t i, tirc_open_access *access)
{
    static const char *const answers[] = {
        [BOUNDS_LEAVES] = "leaves", [BOUNDS_DATA] = "data", [BOUNDS_UNPROVED] = "unproved"};
    const MemoryBounds *found = api_memory_bounds(t, lowered->kernel);
    for (int k = 0; k < found->accesses.n; k++) {
        const AccessBounds *a = &found->accesses.items[k];
        if (a->answer == BOUNDS_PROVED || i-- > 0)
            continue;
        *access = (tirc_open_access){a->element, answers[a->answer], a->why,
                                     api_origin(t, lowered, origin_of(a))};
        return true;
    }
    return false;
}

bool tirc_open_access_at(tirc *t, const tirc_kernel *lowered, size_t i, tirc_open_access *access)
{
    API_ANSWER(t, open_access_at(t, lowered, i, access));
}
