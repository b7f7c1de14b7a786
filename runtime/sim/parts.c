/* parts.c - Watches memory for threads of different warps or warpgroups, where a block has barriers
 * of these.
 *
 * A barrier of a warpgroup orders only accesses by threads of one warpgroup. So each element has
 * marks for each size of a part: accesses by threads of different parts race unless a barrier that
 * joins parts separates them, whatever barriers of parts do. These are the marks of a block whose
 * threads are its parts, and whose epochs count only the barriers that join them: the rules of
 * shadow_shared.c and shadow_global.c hold for each. */
#include "runtime/sim/shadow.h"

#include <stdlib.h>
#include <string.h>

/* The size of the parts that a barrier orders, INT_MAX: the block. */
static int threads_of(int sub)
{
    return sub == VM_OF_WARP ? 32 : sub == VM_OF_WARPGROUP ? 128 : 1 << THREAD_BITS;
}

static bool has_barrier(const VmFunction *f, int sub)
{
    for (int i = 0; i < f->n_code; i++)
        if (f->code[i].op == VM_BARRIER && f->code[i].sub == sub)
            return true;
    return false;
}

static bool open_part(BlockShadow *b, int threads)
{
    PartShadow *part = &b->parts[b->n_parts++];
    *part = (PartShadow){.threads = threads,
                         .cells = calloc((size_t)b->n_cells + 1, sizeof *part->cells),
                         .crowded = calloc((size_t)b->n_cells + 1, sizeof *part->crowded)};
    return part->cells && part->crowded;
}

int vm_parts_of(const VmFunction *f)
{
    return has_barrier(f, VM_OF_WARP) ? MOST_PARTS : has_barrier(f, VM_OF_WARPGROUP) ? 1 : 0;
}

bool vm_parts_open(BlockShadow *b, const VmFunction *f)
{
    int n = vm_parts_of(f);
    return (n < MOST_PARTS || open_part(b, threads_of(VM_OF_WARP))) &&
           (n < 1 || open_part(b, threads_of(VM_OF_WARPGROUP)));
}

void vm_parts_close(BlockShadow *b)
{
    for (int i = 0; i < b->n_parts; i++) {
        free(b->parts[i].cells);
        free(b->parts[i].crowded);
    }
}

void vm_parts_barrier(BlockShadow *b, int sub)
{
    for (int i = 0; i < b->n_parts; i++)
        if (threads_of(sub) > b->parts[i].threads)
            b->parts[i].epoch = b->epoch;
}

void vm_parts_restart(BlockShadow *b)
{
    for (int i = 0; i < b->n_parts; i++) {
        memset(b->parts[i].cells, 0, sizeof(SharedCell) * (size_t)b->n_cells);
        memset(b->parts[i].crowded, 0, sizeof(uint32_t) * (size_t)b->n_cells);
        b->parts[i].epoch = b->epoch;
    }
}

void vm_parts_forget(BlockShadow *b, const SharedCell *of)
{
    for (int i = 0; i < b->n_parts; i++) {
        *part_cell(b, i, of) = (SharedCell){0};
        b->parts[i].crowded[of - b->cells] = 0;
    }
}

void vm_parts_land(BlockShadow *b, const SharedCell *of, int inst, int thread)
{
    for (int i = 0; i < b->n_parts; i++)
        part_cell(b, i, of)->writer = mark_of(b->parts[i].epoch, inst, thread);
}
