/* async.c - Simulates asynchronous stores: their values become visible when their thread has waited
 * for their group.
 *
 * Until then the element holds all ones, so that a kernel that does not wait gives a wrong result
 * and not a lucky one, and where memory is watched, its mark says that a copy is under way: any
 * access to it is a fault (shadow_shared.c). After the wait, it is as if the thread had written the
 * element there. Until then the copy may also read its source at any time: a write there is a
 * fault, too (of a copy that is a load and a store; inputs are never written). */
#include "runtime/sim/internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    uint8_t *to;
    int64_t group, element, from; /* elements of the destination and of the source */
    int inst, lane, bytes;
    int source; /* the load, if its buffer is watched; or -1 */
    uint8_t data[16];
} Copy;

struct VmAsync {
    Copy *copies; /* under way, in the order in which they began */
    int n, capacity;
    const VmStep *load; /* of the sources below, whose store is to come; or NULL */
    int64_t *from;      /* [lanes] -1: the lane fills, and reads nothing */
    int64_t groups[];   /* [lanes] how many each thread has committed, then `from` */
};

static struct VmAsync *begun(VmState *st)
{
    size_t lanes = (size_t)st->lanes;
    if (!st->async &&
        (st->async = calloc(1, sizeof *st->async + 2 * lanes * sizeof st->async->groups[0])))
        st->async->from = st->async->groups + lanes;
    return st->async;
}

static Copy *new_copy(VmState *st)
{
    struct VmAsync *async = begun(st);
    if (!async)
        return NULL;
    if (async->n == async->capacity) {
        int capacity = async->capacity ? 2 * async->capacity : 1024;
        Copy *copies = realloc(async->copies, sizeof *copies * (size_t)capacity);
        if (!copies)
            return NULL;
        async->copies = copies;
        async->capacity = capacity;
    }
    return &async->copies[async->n++];
}

bool vm_async_source(VmState *st, const VmStep *load)
{
    struct VmAsync *async = begun(st);
    const int64_t *index = load->a;
    if (!async)
        return vm_fault(st, load, FAULT_STOPPED, 0, "out of memory for an asynchronous store");
    async->load = load;
    for (int i = 0; i < st->lanes; i++)
        async->from[i] = vm_runs(st, i) ? index[load->lanes_a ? i : 0] : -1;
    return true;
}

bool vm_async_reads(const VmState *st, const void *cells, int64_t element, int *inst, int *thread)
{
    const struct VmAsync *async = st->async;
    for (int k = 0; async && k < async->n; k++) {
        const Copy *copy = &async->copies[k];
        if (copy->source < 0 || st->steps[copy->source].cells != cells || element < copy->from ||
            element >= copy->from + st->steps[copy->source].width)
            continue;
        *inst = copy->source;
        *thread = st->first + copy->lane;
        return true;
    }
    return false;
}

/* The copy that has just begun goes to other blocks of the cluster, too. */
static bool multicast(VmState *st, const VmStep *s)
{
    VmState *to;
    for (int i = 0; (to = vm_roles_other(st, i)); i++) {
        const Copy *mine = &st->async->copies[st->async->n - 1];
        if (!vm_roles_reach(st, s, to))
            return false;
        Copy *copy = new_copy(to);
        if (!copy)
            return vm_fault(st, s, FAULT_STOPPED, 0, "out of memory for an asynchronous store");
        *copy = *mine;
        copy->source = -1;
        copy->to = (uint8_t *)to->steps[s - st->steps].memory + (mine->to - (uint8_t *)s->memory);
        memset(copy->to, 0xff, (size_t)copy->bytes);
    }
    return true;
}

bool vm_async_defer(VmState *st, const VmStep *s)
{
    int size = type_bytes(st->f->buffers[s->inst->c].type), bytes = size * s->width;
    int before = st->async ? st->async->n : 0;
    const int64_t *index = s->a;
    int n = st->lanes;
    for (int i = vm_next_lane(st, 0, n); i < n; i = vm_next_lane(st, i + 1, n)) {
        Copy *copy = new_copy(st);
        if (!copy)
            return vm_fault(st, s, FAULT_STOPPED, i, "out of memory for an asynchronous store");
        int64_t element = index[s->lanes_a ? i : 0];
        const VmStep *load = st->async->load && st->async->load->into == s ? st->async->load : NULL;
        *copy = (Copy){.to = (uint8_t *)s->memory + element * size,
                       .group = st->produces ? vm_group_under_way(st) : st->async->groups[i],
                       .element = element,
                       .inst = (int)(s - st->steps),
                       .lane = i,
                       .bytes = bytes,
                       .source = load && st->async->from[i] >= 0 ? (int)(load - st->steps) : -1,
                       .from = st->async->from[i]};
        memcpy(copy->data, copy->to, (size_t)bytes);
    }
    if (st->async)
        st->async->load = NULL;
    for (int k = before; st->async && k < st->async->n; k++)
        memset(st->async->copies[k].to, 0xff, (size_t)st->async->copies[k].bytes);
    return s->inst->sub != VM_MULTICAST || multicast(st, s);
}

static bool commit(VmState *st, const VmStep *s)
{
    (void)s;
    if (st->produces)
        vm_group_commit(st);
    for (int i = 0; st->async && i < st->lanes; i++)
        st->async->groups[i] += vm_runs(st, i);
    return true;
}

static void land(VmState *st, const Copy *copy)
{
    memcpy(copy->to, copy->data, (size_t)copy->bytes);
    if (st->shadow)
        vm_shadow_land(st, copy->inst, st->first + copy->lane, copy->element);
    if (st->shadow && st->produces)
        vm_roles_landed(st, &st->steps[copy->inst], copy->element, copy->group);
    if (st->shadow && copy->source >= 0)
        vm_shadow_source(st, copy->source, copy->lane, copy->from);
}

void vm_async_land(VmState *producer, int64_t group)
{
    struct VmAsync *async = producer->async;
    int kept = 0;
    for (int k = 0; async && k < async->n; k++)
        if (async->copies[k].group == group)
            land(producer, &async->copies[k]);
        else
            async->copies[kept++] = async->copies[k];
    if (async)
        async->n = kept;
}

static bool wait_for(VmState *st, const VmStep *s)
{
    struct VmAsync *async = st->async;
    int kept = 0;
    for (int k = 0; async && k < async->n; k++) {
        const Copy *copy = &async->copies[k];
        if (copy->group < async->groups[copy->lane] - s->inst->sub && vm_runs(st, copy->lane))
            land(st, copy);
        else
            async->copies[kept++] = *copy;
    }
    if (async)
        async->n = kept;
    return true;
}

VmApply *vm_async(VmOp op)
{
    return op == VM_COMMIT ? commit : wait_for;
}

void vm_async_begin(VmState *st)
{
    struct VmAsync *async = st->async;
    for (int k = 0; async && st->shadow && k < async->n; k++)
        vm_shadow_drop(st, async->copies[k].inst, async->copies[k].element);
    if (async)
        async->n = 0;
}

void vm_async_close(VmState *st)
{
    if (st->async)
        free(st->async->copies);
    free(st->async);
    st->async = NULL;
}
