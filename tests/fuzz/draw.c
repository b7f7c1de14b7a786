/* draw.c - see draw.h. */
#include "fuzz/draw.h"

#include <stdio.h>
#include <string.h>

#include "fuzz/fit.h"
#include "ir/instruction.h"
#include "passes/schedule/sched.h"

/* ---- picks ----------------------------------------------------------------------------------- */

Pick pick_handle(Schedule *s, Value handle, Value block)
{
    Pick pick = {.kind = handle.kind};
    snprintf(pick.name, sizeof pick.name, "%s", state_handle(s, handle.u.id)->name);
    if (handle.kind == VALUE_LOOP)
        snprintf(pick.block, sizeof pick.block, "%s", state_handle(s, block.u.id)->name);
    return pick;
}

Pick pick_word(const char *word)
{
    Pick pick = {.kind = VALUE_WORD};
    snprintf(pick.name, sizeof pick.name, "%s", word);
    return pick;
}

Pick pick_int(int64_t i)
{
    return (Pick){.kind = VALUE_INT, .i = i};
}

/* ---- one argument ---------------------------------------------------------------------------- */

/* The block that a call is about, and what suits the primitive. */
typedef struct {
    Schedule *s;
    Random *r;
    const Primitive *primitive;
    Fit fit;
    Value block, loops;
    bool other_block; /* the call has named `block`: another one is next */
} Focus;

static Value one_of(Random *r, Value list)
{
    return list.u.list.items[random_below(r, (uint64_t)list.u.list.n)];
}

/* A block around which a loop stands, to speak of the loop by. */
static Value block_in(Schedule *s, Value loop)
{
    Value blocks = all_blocks(s);
    for (int i = 0; i < blocks.u.list.n; i++) {
        Value loops = all_loops(s, blocks.u.list.items[i]);
        for (int k = 0; k < loops.u.list.n; k++)
            if (loops.u.list.items[k].u.id == loop.u.id)
                return blocks.u.list.items[i];
    }
    return blocks.u.list.items[0];
}

static bool draw_loop(Focus *f, Pick *pick)
{
    if (f->loops.u.list.n == 0)
        return false;
    Value loop = one_of(f->r, f->loops);
    *pick = pick_handle(f->s, loop, block_in(f->s, loop));
    return true;
}

/* The block behind the first in the text, or the first. */
static Value next_block(const Focus *f)
{
    Value all = all_blocks(f->s);
    for (int i = 0; i + 1 < all.u.list.n; i++)
        if (all.u.list.items[i].u.id == f->block.u.id)
            return all.u.list.items[i + 1];
    return f->block;
}

/* A second block: one that reads what the first writes, one that suits as well, or any. */
static Value draw_other_block(Focus *f)
{
    uint64_t kind = random_below(f->r, 4);
    if (kind > 0 && strcmp(f->primitive->name, "unite") == 0)
        return next_block(f);
    Value users = query(f->s, "consumers", &f->block, 1);
    if (kind > 1 && users.u.list.n > 0)
        return one_of(f->r, users);
    Value alike = fit_blocks(f->s, f->fit.block);
    return one_of(f->r, kind == 1 && alike.u.list.n > 0 ? alike : all_blocks(f->s));
}

static bool draw_block(Focus *f, Pick *pick)
{
    Value block = f->other_block ? draw_other_block(f) : f->block;
    f->other_block = true;
    *pick = pick_handle(f->s, block, block);
    return true;
}

static bool draw_buffer(Focus *f, Pick *pick)
{
    Value buffers = fit_buffers(f->s, f->fit.buffer, f->block);
    if (buffers.u.list.n > 0)
        *pick = pick_handle(f->s, one_of(f->r, buffers), f->block);
    return buffers.u.list.n > 0;
}

/* An instruction of the program that writes what the block writes, or its first; false: it has
 * none. */
static bool draw_instruction(Focus *f, Pick *pick)
{
    const Kernel *kernel = schedule_kernel(f->s);
    if (kernel->n_instructions > 0)
        *pick = pick_word(kernel->instructions[0]->kernel->name);
    Value written = fit_buffers(f->s, BUFFER_WRITTEN, f->block);
    for (int i = 0; i < kernel->n_instructions && written.u.list.n > 0; i++) {
        const Instruction *instruction = kernel->instructions[i];
        const Operand *last = &instruction->operands[instruction->n_operands - 1];
        if (last->buffer->type == state_handle(f->s, written.u.list.items[0].u.id)->buffer->type)
            *pick = pick_word(instruction->kernel->name);
    }
    pick->kind = VALUE_STRING;
    return kernel->n_instructions > 0;
}

static Pick draw_key(Focus *f, const char *parameter)
{
    static const char *const tails[] = {"guard", "peel", "pad"}, *const orders[] = {"grouped",
                                                                                    "reversed",
                                                                                    "diagonal"};
    Pick pick = pick_word("note");
    if (strcmp(parameter, "tail") == 0)
        pick = pick_word(tails[random_below(f->r, 3)]);
    if (strcmp(parameter, "zeros") == 0)
        pick = pick_word(random_below(f->r, 2) ? "before" : "behind");
    if (strcmp(parameter, "left") == 0)
        pick = pick_word(random_below(f->r, 2) ? "masked" : "unread");
    if (strcmp(parameter, "type") == 0)
        pick = pick_word(random_below(f->r, 2) ? "f16" : "bf16");
    if (strcmp(parameter, "order") == 0)
        pick = pick_word(orders[random_below(f->r, 3)]);
    if (strcmp(parameter, "hint") == 0)
        pick =
            pick_word(cache_hint_info((CacheHint)(1 + random_below(f->r, HINT_COUNT - 1)))->name);
    pick.kind = VALUE_STRING;
    return pick;
}

static Pick draw_factor(Focus *f)
{
    static const int64_t factors[] = {1, 2, 2, 3, 4, 4, 5, 8, 16};
    return pick_int(factors[random_below(f->r, 9)]);
}

/* An axis, a number of stages, an amount. */
static Pick draw_int(Focus *f, const char *parameter)
{
    if (strcmp(parameter, "stages") == 0)
        return pick_int(1 + (int64_t)random_below(f->r, 4));
    if (strcmp(parameter, "axis") == 0 || strcmp(parameter, "by") == 0)
        return pick_int((int64_t)random_below(f->r, 3) - (random_below(f->r, 4) == 0));
    if (strcmp(parameter, "uses") == 0)
        return pick_int(1 + (int64_t)random_below(f->r, 2));
    if (strcmp(parameter, "amount") == 0 || strcmp(parameter, "offset") == 0)
        return pick_int((int64_t)random_below(f->r, 6) - 1);
    return draw_factor(f);
}

static bool draw_pick(Focus *f, const PrimParam *param, Pick *pick)
{
    static const char *const scopes[] = {"global", "shared", "shared",  "local",
                                         "local",  "warp",   "cluster", "constant"};
    static const char *const axes[] = {"blockIdx.x",  "blockIdx.x",  "blockIdx.y",  "blockIdx.z",
                                       "threadIdx.x", "threadIdx.x", "threadIdx.y", "threadIdx.z",
                                       "vthread.x",   "vthread.y",   "cluster.rank"};
    switch (param->kind) {
    case PARAM_LOOP: return draw_loop(f, pick);
    case PARAM_NODE:
        return f->fit.loop != LOOP_SHARED && random_below(f->r, 2) ? draw_loop(f, pick)
                                                                   : draw_block(f, pick);
    case PARAM_BLOCK: return draw_block(f, pick);
    case PARAM_BUFFER: return draw_buffer(f, pick);
    case PARAM_AMOUNT:
        *pick = random_below(f->r, 4) ? draw_factor(f) : pick_word("auto");
        return true;
    case PARAM_FACTOR: *pick = draw_factor(f); return true;
    case PARAM_BOOL:
        *pick = (Pick){.kind = VALUE_BOOL, .i = (int64_t)random_below(f->r, 2)};
        return true;
    case PARAM_SCOPE: *pick = pick_word(scopes[random_below(f->r, 7)]); return true;
    case PARAM_AXIS: *pick = pick_word(axes[random_below(f->r, 11)]); return true;
    case PARAM_KEY:
        if (strcmp(param->name, "instruction") == 0)
            return draw_instruction(f, pick);
        *pick = draw_key(f, param->name);
        return true;
    case PARAM_MAP:
        *pick = (Pick){.kind = VALUE_MAP, .i = (int64_t)random_below(f->r, 1 << 30)};
        return true;
    case PARAM_TRUTH:
        *pick = (Pick){.kind = VALUE_SIZES, .i = (int64_t)random_below(f->r, 1 << 30)};
        return true;
    default: *pick = draw_int(f, param->name); return true;
    }
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void shuffle(Random *r, int *order, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int k = (int)random_below(r, (uint64_t)i + 1), was = order[i];
        order[i] = order[k];
        order[k] = was;
    }
}

/* Several loops: `run` of neighbours from the outside in, or any in any order. */
static bool draw_loops(Focus *f, bool run, PickArg *arg)
{
    int n = f->loops.u.list.n, order[SCHED_MAX_LOOPS];
    if (n < 2)
        return false;
    arg->n = 2 + (int)random_below(f->r, (uint64_t)(n < DRAW_ITEMS ? n - 1 : DRAW_ITEMS - 1));
    int first = run ? (int)random_below(f->r, (uint64_t)(n - arg->n + 1)) : 0;
    for (int i = 0; i < n; i++)
        order[i] = i + first;
    if (!run)
        shuffle(f->r, order, n);
    for (int i = 0; i < arg->n; i++)
        arg->items[i] = pick_handle(f->s, f->loops.u.list.items[order[i]], f->block);
    return true;
}

/* A loop and one beside it, the first in the program first. */
static bool draw_siblings(Focus *f, PickArg *arg)
{
    int n = f->loops.u.list.n / 2;
    if (n == 0)
        return false;
    int at = 2 * (int)random_below(f->r, (uint64_t)n);
    arg->n = 2;
    for (int i = 0; i < 2; i++)
        arg->items[i] = pick_handle(f->s, f->loops.u.list.items[at + i],
                                    block_in(f->s, f->loops.u.list.items[at + i]));
    return true;
}

/* Factors; at times a loop stands for one of several lengths. */
static void draw_factors(Focus *f, ParamKind kind, PickArg *arg)
{
    arg->n = 2 + (int)random_below(f->r, 2);
    for (int i = 0; i < arg->n; i++)
        if (kind == PARAM_FACTOR || random_below(f->r, 4) || !draw_loop(f, &arg->items[i]))
            arg->items[i] = draw_factor(f);
    if (random_below(f->r, 8))
        arg->items[random_below(f->r, 4) ? 0 : random_below(f->r, (uint64_t)arg->n)] =
            (Pick){.kind = VALUE_FILL};
}

/* A number for each iterator of the block: an order of them, or an amount for each. */
static bool draw_numbers(Focus *f, bool order, PickArg *arg)
{
    int n = sched_node(f->s, &f->block, NULL)->u.block.n_iters, numbers[DRAW_ITEMS];
    if (n == 0 || n > DRAW_ITEMS)
        return false;
    for (int i = 0; i < n; i++)
        numbers[i] = order ? i : 1 + (int)random_below(f->r, 4);
    shuffle(f->r, numbers, n);
    arg->n = n;
    for (int i = 0; i < n; i++)
        arg->items[i] = pick_int(numbers[i]);
    return true;
}

static bool draw_arg(Focus *f, const PrimParam *param, PickArg *arg)
{
    *arg = (PickArg){.list = param->list || param->variadic, .n = 1};
    if (!arg->list)
        return draw_pick(f, param, &arg->items[0]);
    if (param->kind == PARAM_LOOP && f->fit.loop == LOOP_SIBLINGS)
        return draw_siblings(f, arg);
    if (param->kind == PARAM_LOOP && f->fit.loop != LOOP_OUTERMOST)
        return draw_loops(f, strcmp(f->primitive->name, "reorder") != 0 || !random_below(f->r, 3),
                          arg);
    if (param->kind == PARAM_INT)
        return draw_numbers(f, strcmp(param->name, "order") == 0, arg);
    if (param->kind == PARAM_FACTOR || param->kind == PARAM_LENGTH) {
        draw_factors(f, param->kind, arg);
        return true;
    }
    arg->n = param->kind == PARAM_LOOP ? 1 : 1 + (int)random_below(f->r, 2);
    for (int i = 0; i < arg->n; i++)
        if (!draw_pick(f, param, &arg->items[i]))
            return false;
    return true;
}

/* Two loops that stand for a nest are neighbours, the outer one first. */
static bool draw_nest(Focus *f, Step *step)
{
    PickArg pair = {0};
    if (f->loops.u.list.n < 2)
        return false;
    int at = (int)random_below(f->r, (uint64_t)f->loops.u.list.n - 1);
    for (int i = 0; i < 2; i++) {
        pair.items[0] = pick_handle(f->s, f->loops.u.list.items[at + i], f->block);
        pair.n = 1;
        step->args[step->n_args++] = pair;
    }
    return true;
}

/* A loop of the block or one inside `outer`; none where the list has it. */
static void add_loop_in(Focus *f, Value block, Value outer, PickArg *list)
{
    int first = 0;
    Value loops = all_loops(f->s, block);
    while (loops.u.list.items[first].u.id != outer.u.id)
        first++;
    first += (int)random_below(f->r, (uint64_t)(loops.u.list.n - first));
    Pick pick = pick_handle(f->s, loops.u.list.items[first], block);
    for (int i = 0; i < list->n; i++)
        if (strcmp(list->items[i].name, pick.name) == 0 &&
            strcmp(list->items[i].block, pick.block) == 0)
            return;
    list->items[list->n++] = pick;
}

/* A loop, and one for each block in it. */
static bool draw_parts(Focus *f, Step *step)
{
    PickArg one = {.n = 1}, list = {.list = true};
    if (f->loops.u.list.n == 0)
        return false;
    Value outer = one_of(f->r, f->loops), blocks = query(f->s, "blocks", &outer, 1);
    one.items[0] = pick_handle(f->s, outer, f->block);
    for (int i = 0; i < blocks.u.list.n && list.n < DRAW_ITEMS; i++)
        add_loop_in(f, blocks.u.list.items[i], outer, &list);
    step->args[step->n_args++] = one;
    step->args[step->n_args++] = list;
    return list.n > 0;
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Nothing is left that was not entered. */
static int weight_of(const Schedule *s, const Primitive *primitive)
{
    bool leaves = strcmp(primitive->name, "leave") == 0;
    return leaves && !s->entered ? 0 : fit_of(primitive).weight;
}

static const Primitive *draw_primitive(const Schedule *s, Random *r)
{
    int n, sum = 0;
    const Primitive *table = primitive_table(&n), *found = table;
    for (int i = 0; i < n; i++) {
        int weight = weight_of(s, &table[i]);
        sum += weight;
        if (weight && random_below(r, (uint64_t)sum) < (uint64_t)weight)
            found = &table[i];
    }
    return found;
}

static bool draw_args(Focus *f, Step *step)
{
    const PrimParam *params = step->primitive->params;
    int n = step->primitive->n_params, first = 0;
    if (strcmp(step->primitive->name, "interchange") == 0)
        return draw_parts(f, step);
    if (n > 1 && strcmp(params[0].name, "outer") == 0 && strcmp(params[1].name, "inner") == 0) {
        if (!draw_nest(f, step))
            return false;
        first = 2;
    }
    for (int i = first; i < n; i++) {
        if (params[i].optional && !random_below(f->r, 3))
            break;
        if (!draw_arg(f, &params[i], &step->args[step->n_args++]))
            return false;
    }
    return true;
}

bool draw_step(Schedule *s, Random *r, const Primitive *wanted, Step *step)
{
    *step = (Step){.primitive = wanted ? wanted : draw_primitive(s, r)};
    Focus f = {.s = s, .r = r, .primitive = step->primitive, .fit = fit_of(step->primitive)};
    if (!random_below(r, 8))
        f.fit = (Fit){.weight = 1};
    Value blocks = fit_blocks(s, f.fit.block);
    if (blocks.u.list.n == 0)
        return false;
    f.block = one_of(r, blocks);
    f.loops = fit_loops(s, f.fit.loop, f.block);
    return draw_args(&f, step);
}
