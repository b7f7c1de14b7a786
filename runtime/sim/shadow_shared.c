/* shadow_shared.c - Detects races and undefined reads in shared memory, also in that of clusters.
 *
 * Most reads find that two threads have read their element in this epoch, or that all lanes of
 * their warp read the same one; both are decided without looking at a lane. */
#include <stdio.h>
#include <string.h>

#include "runtime/sim/shadow.h"

enum { WARP = 32 };

/* One access under way. */
typedef struct Access {
    VmState *st;
    const VmStep *s;
    SharedCell *cells;
    uint32_t *crowded;
    Clock clock;
    uint32_t first_epoch;
    Mark mark;                  /* of lane 0 */
    const struct Access *parts; /* [n_parts] the same access, seen by parts */
    int n_parts;
} Access;

static int block_threads(const VmState *st)
{
    return (int)(st->block_shape[0] * st->block_shape[1] * st->block_shape[2]);
}

static Access access_of(VmState *st, const VmStep *s)
{
    const BlockShadow *b = st->shadow;
    bool part = st->f->buffers[s->inst->c].part > 0;
    Access a = {.st = st, .s = s, .cells = s->cells, .crowded = s->crowded};
    a.clock = part ? (Clock){b->cluster_epoch, 1} : clock_of(b, 0);
    a.first_epoch = part ? b->cluster->first_epoch : b->first_epoch;
    int before = part ? st->rank * block_threads(st) : 0;
    a.mark = mark_of(a.clock.epoch, (int)(s - st->steps), before + st->first);
    return a;
}

/* The same access, seen by part `i` of the block. */
static Access access_of_part(const Access *a, int i)
{
    const BlockShadow *b = a->st->shadow;
    Access of = *a;
    of.cells = part_cell(b, i, a->cells);
    of.crowded = b->parts[i].crowded + (a->cells - b->cells);
    of.clock = clock_of(b, 1 + i);
    of.mark = mark_of(of.clock.epoch, mark_inst(a->mark), mark_thread(a->mark));
    return of;
}

/* The access with those of the parts of the block, if it has some, in `parts`. */
static Access access_with_parts(VmState *st, const VmStep *s, Access parts[MOST_PARTS])
{
    Access a = access_of(st, s);
    int n = st->f->buffers[s->inst->c].part > 0 ? 0 : st->shadow->n_parts;
    for (int i = 0; i < n; i++)
        parts[i] = access_of_part(&a, i);
    a.parts = parts;
    a.n_parts = n;
    return a;
}

/* Marks in the memory of a cluster tell the block, too. */
static Party party_in(const VmState *st, Mark mark, const VmBuffer *buffer)
{
    const int64_t *block = st->block;
    int thread = mark_thread(mark), threads = block_threads(st);
    bool of_cluster = buffer->part > 0;
    int64_t x = of_cluster ? block[0] - st->rank + thread / threads : block[0];
    return (Party){mark_inst(mark),
                   of_cluster ? thread % threads : thread,
                   {x, block[1], block[2]},
                   mark_is_in_flight(mark),
                   false};
}

static Party party_of(const Access *a, Mark mark)
{
    return party_in(a->st, mark, &a->st->f->buffers[a->s->inst->c]);
}

static bool conflict(const Access *a, int lane, int64_t element, Mark with)
{
    Party mine = party_of(a, a->mark + (Mark)lane), theirs = party_of(a, with);
    theirs.parted = a->clock.threads > 1;
    return vm_race(a->st, a->s, element, &mine, &theirs);
}

/* Keeps two readers that differ in thread or kind. What a third one clashes with clashes with one
 * of those: a plain write with either, a read with the one that is atomic, an atomic with the one
 * that is not. */
static void note_reader(const Access *a, SharedCell *cell, int64_t element, Mark mine)
{
    for (int i = 0; i < 2; i++) {
        Mark old = cell->reader[i];
        if (mark_epoch(old) < a->clock.epoch) {
            cell->reader[i] = mine;
            if (i == 0) /* the second one is older still, or of no use: it differs from no one */
                cell->reader[1] = 0;
            else if (!mark_is_atomic(a->st, mine) && !mark_is_atomic(a->st, cell->reader[0]))
                a->crowded[element] = a->clock.epoch;
            return;
        }
        if (clock_joins(a->clock, old, mine) &&
            mark_is_atomic(a->st, old) == mark_is_atomic(a->st, mine))
            return;
    }
}

static bool is_written(const Access *a, int64_t element)
{
    return mark_epoch(a->cells[element].writer) >= a->first_epoch;
}

/* Parts are asked only about what is. */
static bool is_defined(const Access *a, int64_t element)
{
    return a->clock.threads > 1 || (is_written(a, element) && !a->s->vague[element]);
}

/* The copy of what nothing has written is part of the fault, if it is one. */
static bool is_undefined(const Access *a, int lane, int64_t element)
{
    bool copied = is_written(a, element);
    if (vm_undefined(a->st, a->s, lane, element, copied))
        return true;
    Party copy = party_of(a, a->cells[element].writer);
    if (copied)
        vm_other(a->st, &copy);
    return false;
}

typedef bool CheckCell(const Access *a, int lane, int64_t element);

/* The same check by each size of parts. */
static bool in_parts(const Access *a, int lane, int64_t element, CheckCell *check)
{
    for (int i = 0; i < a->n_parts; i++)
        if (!check(&a->parts[i], lane, element))
            return false;
    return true;
}

/* One that is undefined leaves no mark: whatever comes of it is undefined, too. */
static bool read_cell(const Access *a, int lane, int64_t element)
{
    SharedCell *cell = &a->cells[element];
    Mark mine = a->mark + (Mark)lane;
    if (marks_clash(a->clock, mine, cell->writer))
        return conflict(a, lane, element, cell->writer);
    if (!is_defined(a, element))
        return is_undefined(a, lane, element);
    for (int i = 0; i < 2; i++)
        if (marks_clash(a->clock, mine, cell->reader[i]) && mark_is_atomic(a->st, cell->reader[i]))
            return conflict(a, lane, element, cell->reader[i]);
    note_reader(a, cell, element, mine);
    return in_parts(a, lane, element, read_cell);
}

static bool write_cell(const Access *a, int lane, int64_t element)
{
    SharedCell *cell = &a->cells[element];
    Mark mine = a->mark + (Mark)lane;
    if (marks_clash(a->clock, mine, cell->writer))
        return conflict(a, lane, element, cell->writer);
    for (int i = 0; i < 2; i++)
        if (marks_clash(a->clock, mine, cell->reader[i]))
            return conflict(a, lane, element, cell->reader[i]);
    cell->writer =
        vm_is_async(a->s->inst) ? mark_of(IN_FLIGHT, mark_inst(mine), mark_thread(mine)) : mine;
    const int64_t *index = a->s->a;
    a->s->vague[element] =
        vm_carries(a->st, a->s, lane, (int)(element - index[a->s->lanes_a ? lane : 0]));
    return in_parts(a, lane, element, write_cell);
}

/* An exchange defines its element; other updates need it defined. */
static bool update_cell(const Access *a, int lane, int64_t element)
{
    SharedCell *cell = &a->cells[element];
    Mark mine = a->mark + (Mark)lane;
    bool defined = is_defined(a, element);
    if (!defined && a->s->inst->sub != VM_MOVE)
        return is_undefined(a, lane, element);
    if (marks_clash(a->clock, mine, cell->writer) && !mark_is_atomic(a->st, cell->writer))
        return conflict(a, lane, element, cell->writer);
    for (int i = 0; i < 2; i++)
        if (marks_clash(a->clock, mine, cell->reader[i]) && !mark_is_atomic(a->st, cell->reader[i]))
            return conflict(a, lane, element, cell->reader[i]);
    note_reader(a, cell, element, mine);
    if (!defined)
        cell->writer = mine;
    a->s->vague[element] = false;
    return in_parts(a, lane, element, update_cell);
}

bool vm_fenced(VmState *st, const VmStep *s, int lane, int64_t element)
{
    Access a = access_of(st, s);
    Mark writer = a.cells[element].writer;
    if (mark_epoch(writer) < a.clock.epoch || mark_is_in_flight(writer))
        return true;
    Party theirs = party_of(&a, writer);
    vm_fault(st, s, FAULT_RACE, lane,
             "a bulk store reads element %lld of '%s', which a thread has written; the "
             "asynchronous proxy sees that behind a barrier only",
             (long long)element, st->f->buffers[s->inst->c].name);
    vm_other(st, &theirs);
    return false;
}

/* ---- warps --------------------------------------------------------------------------------- */

/* Every lane that runs from `first` on, up to `end`, with each element of its access. */
static bool each_lane(const Access *a, int first, int end, CheckCell *check)
{
    const int64_t *index = a->s->a;
    for (int lane = vm_next_lane(a->st, first, end); lane < end;
         lane = vm_next_lane(a->st, lane + 1, end))
        for (int k = 0; k < a->s->width; k++)
            if (!check(a, lane, index[a->s->lanes_a ? lane : 0] + k))
                return false;
    return true;
}

/* Have two threads read all the elements in this epoch? Then a write since would have been a
 * race. */
static bool all_crowded(const uint32_t *crowded, const int64_t *index, uint32_t epoch)
{
    uint32_t differs = 0;
    for (int i = 0; i < WARP; i++)
        differs |= crowded[index[i]] ^ epoch;
    return differs == 0;
}

static bool all_same(const int64_t *index)
{
    int64_t differs = 0;
    for (int i = 1; i < WARP; i++)
        differs |= index[i] ^ index[0];
    return differs == 0;
}

/* One element by all lanes of a warp: two of them stand for the others. */
static bool read_same(const Access *a, int first, int64_t element)
{
    if (!is_defined(a, element))
        return each_lane(a, first, first + WARP, read_cell);
    return a->crowded[element] == a->clock.epoch ||
           (read_cell(a, first, element) && read_cell(a, first + 1, element));
}

/* Does one more reader change nothing? Two threads have read the element in this epoch, and two
 * parts of each size, or the lane's own. A write since would have been a race. */
static bool read_already(const Access *a, int lane, int64_t element)
{
    bool already = a->crowded[element] == a->clock.epoch;
    for (int i = 0; i < a->n_parts && already; i++) {
        const Access *part = &a->parts[i];
        Mark reader = part->cells[element].reader[0];
        bool own = mark_epoch(reader) == part->clock.epoch &&
                   clock_joins(part->clock, reader, part->mark + (Mark)lane);
        already = own || part->crowded[element] == part->clock.epoch;
    }
    return already;
}

/* All lanes of a warp. Tensor cores read each element by several of them. */
static bool read_lanes(const Access *a, int first)
{
    const int64_t *index = a->s->a;
    for (int lane = first; lane < first + WARP; lane++)
        if (!read_already(a, lane, index[lane]) && !read_cell(a, lane, index[lane]))
            return false;
    return true;
}

VM_LANES static bool read_warp(const Access *a, int first, int end)
{
    const int64_t *index = (const int64_t *)a->s->a + first;
    if (end - first < WARP || !a->st->full[a->st->level] || a->s->width > 1)
        return each_lane(a, first, end, read_cell);
    if (a->n_parts)
        return read_lanes(a, first);
    if (a->crowded[*index] == a->clock.epoch && all_crowded(a->crowded, index, a->clock.epoch))
        return true;
    if (all_same(index))
        return read_same(a, first, *index);
    return read_lanes(a, first);
}

/* ---- parts of blocks ------------------------------------------------------------------------- */

static bool not_resident(VmState *st, const Party *by, int owner, const char *when)
{
    const VmInst *inst = &st->f->code[by->inst];
    char what[120];
    if (inst->op == VM_RELEASE_CLUSTER)
        snprintf(what, sizeof what, "releases copies to the producer");
    else
        snprintf(what, sizeof what, "accesses '%s' in the memory", st->f->buffers[inst->c].name);
    vm_fault(st, &st->steps[by->inst], FAULT_NOT_RESIDENT, 0,
             "%s of block %d of the cluster, which may have %s; no barrier of the cluster stands "
             "between",
             what, owner, when);
    memcpy(st->fault.block, by->block, sizeof by->block);
    for (int axis = 0, left = by->thread; axis < 3; left /= (int)st->block_shape[axis++])
        st->fault.thread[axis] = left % st->block_shape[axis];
    return false;
}

bool vm_outlived(VmState *st, Mark access)
{
    Party by = party_in(st, access, &st->f->buffers[st->f->code[mark_inst(access)].c]);
    return not_resident(st, &by, st->rank, "ended");
}

/* A lane accesses the part of another block, which has to be there. */
static bool visits(const Access *a, int lane, int64_t owner)
{
    ClusterShadow *k = a->st->shadow->cluster;
    Mark mine = a->mark + (Mark)lane;
    Party me = party_of(a, mine);
    if (owner == a->st->rank)
        return true;
    if (a->clock.epoch == a->first_epoch)
        return not_resident(a->st, &me, (int)owner, "not begun");
    if (k->ended[owner])
        return not_resident(a->st, &me, (int)owner, "ended");
    k->touched[owner] = mine;
    return true;
}

bool vm_shadow_visits(VmState *st, const VmStep *s, int rank)
{
    const BlockShadow *b = st->shadow;
    if (!b)
        return true;
    Access a = {
        .st = st, .s = s, .clock = {b->cluster_epoch, 1}, .first_epoch = b->cluster->first_epoch};
    a.mark = mark_of(a.clock.epoch, (int)(s - st->steps), st->first);
    return visits(&a, 0, rank);
}

static bool all_resident(const Access *a)
{
    const int64_t *index = a->s->a;
    int64_t part = a->st->f->buffers[a->s->inst->c].part;
    for (int lane = 0; lane < a->st->lanes && part; lane++)
        if (vm_runs(a->st, lane) && !visits(a, lane, index[a->s->lanes_a ? lane : 0] / part))
            return false;
    return true;
}

static bool read_shared(VmState *st, const VmStep *s)
{
    Access parts[MOST_PARTS], a = access_with_parts(st, s, parts);
    if (!all_resident(&a))
        return false;
    if (!s->lanes_a) {
        int64_t element = *(const int64_t *)s->a;
        if (s->width > 1 || a.n_parts || a.crowded[element] != a.clock.epoch)
            return each_lane(&a, 0, st->lanes, read_cell);
        return true;
    }
    for (int first = 0; first < st->lanes; first += WARP) {
        int end = first + WARP < st->lanes ? first + WARP : st->lanes;
        if (!read_warp(&a, first, end))
            return false;
    }
    return true;
}

static bool write_shared(VmState *st, const VmStep *s)
{
    Access parts[MOST_PARTS], a = access_with_parts(st, s, parts);
    bool ok = all_resident(&a) && each_lane(&a, 0, st->lanes, write_cell);
    vm_has_stored(s);
    return ok;
}

static bool update_shared(VmState *st, const VmStep *s)
{
    Access parts[MOST_PARTS], a = access_with_parts(st, s, parts);
    return all_resident(&a) && each_lane(&a, 0, st->lanes, update_cell);
}

void vm_shadow_land(VmState *st, int inst, int thread, int64_t element)
{
    const VmStep *s = &st->steps[inst];
    SharedCell *cells = s->cells;
    uint32_t epoch = st->produces ? st->shadow->first_epoch : st->shadow->epoch;
    for (int k = 0; k < s->width; k++)
        cells[element + k].writer = mark_of(epoch, inst, thread);
    for (int k = 0; k < s->width && !st->produces; k++)
        vm_parts_land(st->shadow, &cells[element + k], inst, thread);
}

void vm_shadow_drop(VmState *st, int inst, int64_t element)
{
    SharedCell *cells = st->steps[inst].cells;
    for (int k = 0; k < st->steps[inst].width; k++) {
        cells[element + k].writer = 0;
        vm_parts_forget(st->shadow, &cells[element + k]);
    }
}

VmApply *vm_shadow_shared(VmOp op)
{
    return op == VM_LOAD ? read_shared : op == VM_STORE ? write_shared : update_shared;
}
