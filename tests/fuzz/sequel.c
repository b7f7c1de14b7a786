/* sequel.c - what usually follows an accepted step (draw.h): calls that nobody makes alone are
 * drawn together with those that prepare them. */
#include <stdio.h>
#include <string.h>

#include "fuzz/draw.h"
#include "fuzz/fit.h"
#include "passes/schedule/flow.h"

static Step step_of(const char *primitive, int n_args, const Pick *picks)
{
    Step step = {.primitive = primitive_find(primitive), .n_args = n_args};
    for (int i = 0; i < n_args; i++)
        step.args[i] = (PickArg){.n = 1, .items = {picks[i]}};
    return step;
}

/* The outer part of a split to blocks; the inner part to threads, or to the lanes of a vector. */
static int follow_split(Schedule *s, Random *r, const Pick *from, const Value *result, Step *out)
{
    static const char *const blocks[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};
    static const char *const threads[] = {"threadIdx.x", "threadIdx.y", "threadIdx.z"};
    int axis = (int)random_below(r, 3), n = result->u.list.n, count = 0;
    Value at = result->u.list.items[n > 2 && random_below(r, 2) ? 1 : n - 1],
          block = {.kind = VALUE_BLOCK};
    block.u.id = state_find_block(s, ctx_name(schedule_context(s), from->block));
    if (!block.u.id)
        return 0;
    Pick outer = pick_handle(s, result->u.list.items[0], block), inner = pick_handle(s, at, block);
    uint64_t how = random_below(r, 8);
    if (how > 1)
        out[count++] = step_of("bind", 2, (Pick[]){outer, pick_word(blocks[axis])});
    if (how == 0)
        out[count++] = step_of("vectorize", 1, &inner);
    else
        out[count++] = step_of("bind", 2, (Pick[]){inner, pick_word(threads[axis])});
    return count;
}

/* The columns of a grid inside its rows, in another order. */
static int follow_rows(Schedule *s, Random *r, const Pick *rows, Step *out)
{
    Value block = {.kind = VALUE_BLOCK};
    block.u.id = state_find_block(s, ctx_name(schedule_context(s), rows->block));
    Value loops = block.u.id ? all_loops(s, block) : (Value){.kind = VALUE_LIST};
    for (int i = 0; i + 1 < loops.u.list.n; i++) {
        if (strcmp(pick_handle(s, loops.u.list.items[i], block).name, rows->name) != 0)
            continue;
        Pick columns = pick_handle(s, loops.u.list.items[i + 1], block),
             order = pick_word("grouped");
        order.kind = VALUE_STRING;
        out[0] = step_of("bind", 2, (Pick[]){columns, pick_word("blockIdx.x")});
        out[1] = step_of(
            "remap", 4, (Pick[]){*rows, columns, order, pick_int(1 + (int64_t)random_below(r, 4))});
        return 2;
    }
    return 0;
}

static bool copies_box(Schedule *s, Value block)
{
    Value copies = fit_blocks(s, BLOCK_BOX);
    for (int i = 0; i < copies.u.list.n; i++)
        if (copies.u.list.items[i].u.id == block.u.id)
            return true;
    return false;
}

/* A copying block moves to a loop of the block that it was made for; that loop may run ahead of it.
 * Or the hardware makes the copy. */
static int follow_copy(Schedule *s, Random *r, const Step *step, const Value *result, Step *out)
{
    bool reads = strstr(step->primitive->name, "read") != NULL;
    Value user = {.kind = VALUE_BLOCK};
    user.u.id = state_find_block(s, ctx_name(schedule_context(s), step->args[0].items[0].name));
    Value loops = user.u.id ? all_loops(s, user) : (Value){.kind = VALUE_LIST};
    if (loops.u.list.n == 0 || all_loops(s, *result).u.list.n == 0)
        return 0;
    Pick copy = pick_handle(s, *result, *result);
    if (reads && copies_box(s, *result) && random_below(r, 2)) {
        Value own = all_loops(s, *result);
        Pick inner = pick_handle(s, own.u.list.items[own.u.list.n - 1], *result);
        out[0] = step_of("copy_bulk", 1, &inner);
        return 1;
    }
    Pick loop = pick_handle(s, loops.u.list.items[random_below(r, (uint64_t)loops.u.list.n)], user);
    int count = 0;
    out[count++] = step_of(reads ? "compute_at" : "reverse_compute_at", 2, (Pick[]){copy, loop});
    if (reads && !random_below(r, 3))
        out[count++] =
            step_of("pipeline", 2, (Pick[]){loop, pick_int(2 + (int64_t)random_below(r, 2))});
    if (reads && !random_below(r, 3))
        out[count++] = step_of("copy_async", 1, &copy);
    return count;
}

/* What has been brought under a loop of its reader is kept on the chip, and perhaps in a circle. */
static int follow_place(Schedule *s, Random *r, const Step *step, Step *out)
{
    const Pick *name = &step->args[0].items[0];
    Value block = {.kind = VALUE_BLOCK};
    block.u.id = state_find_block(s, ctx_name(schedule_context(s), name->name));
    const Buffer *written = block.u.id ? flow_written(s, sched_node(s, &block, NULL)) : NULL;
    if (!written || written->role != ROLE_TEMP)
        return 0;
    Pick buffer = {.kind = VALUE_BUFFER};
    snprintf(buffer.name, sizeof buffer.name, "%s", written->name);
    static const char *const scopes[] = {"shared", "shared", "local", "local", "warp"};
    out[0] = step_of("set_scope", 2, (Pick[]){buffer, pick_word(scopes[random_below(r, 5)])});
    out[1] = step_of("rolling_buffer", 1, name);
    return random_below(r, 3) ? 1 : 2;
}

/* What was padded before an einsum is filled apart. */
static int follow_padding(Schedule *s, const Value *result, Step *out)
{
    int count = 0;
    for (int i = 0; i + 1 < result->u.list.n && count < DRAW_ITEMS; i++) {
        Value copy = result->u.list.items[i], loops = all_loops(s, copy);
        if (loops.u.list.n > 0)
            out[count++] = step_of(
                "decompose_padding", 2,
                (Pick[]){pick_handle(s, copy, copy), pick_handle(s, loops.u.list.items[0], copy)});
    }
    return count;
}

int draw_sequel(Schedule *s, Random *r, const Step *step, const Value *result, Step out[DRAW_ITEMS])
{
    const char *name = step->primitive->name;
    const Pick *first = &step->args[0].items[0];
    if (strcmp(name, "split") == 0 && result->kind == VALUE_LIST && result->u.list.n > 1 &&
        random_below(r, 3))
        return follow_split(s, r, first, result, out);
    if (strncmp(name, "cache_", 6) == 0 && result->kind == VALUE_BLOCK && random_below(r, 4))
        return follow_copy(s, r, step, result, out);
    if (strcmp(name, "bind") == 0 && strcmp(step->args[1].items[0].name, "blockIdx.y") == 0 &&
        random_below(r, 2))
        return follow_rows(s, r, first, out);
    if (strcmp(name, "compute_at") == 0 && !random_below(r, 3))
        return follow_place(s, r, step, out);
    if (strcmp(name, "pad_einsum") == 0 && random_below(r, 2))
        return follow_padding(s, result, out);
    if (strcmp(name, "annotate") == 0 && random_below(r, 2)) {
        out[0] = step_of("unannotate", 2, (Pick[]){*first, step->args[1].items[0]});
        return 1;
    }
    return 0;
}
