/* draw.c - see draw.h. */
#include "fuzz/draw.h"

#include <stdio.h>
#include <string.h>

#include "passes/analysis/index_map.h"
#include "passes/schedule/sched.h"

/* ---- what there is ------------------------------------------------------------------------------- */

static Value query(Schedule *s, const char *name, const Value *args, int n)
{
    Value result = {.kind = VALUE_NONE};
    if (!schedule_call(s, primitive_find(name), args, NULL, n, span_none(), &result))
        result = (Value){.kind = VALUE_LIST};
    return result;
}

static Value all_blocks(Schedule *s)
{
    return query(s, "blocks", NULL, 0);
}

static Value loops_of(Schedule *s, Value block)
{
    return query(s, "loops", &block, 1);
}

static Name name_of(Schedule *s, Value handle)
{
    return state_handle(s, handle.u.id)->name;
}

static Value one_of(Random *r, Value list)
{
    return list.u.list.items[random_below(r, (uint64_t)list.u.list.n)];
}

static void pick_handle(Schedule *s, Value handle, Name block, Pick *pick)
{
    *pick = (Pick){.kind = handle.kind};
    snprintf(pick->name, sizeof pick->name, "%s", name_of(s, handle));
    snprintf(pick->block, sizeof pick->block, "%s", block ? block : "");
}

static Pick pick_word(const char *word)
{
    Pick pick = {.kind = VALUE_WORD};
    snprintf(pick.name, sizeof pick.name, "%s", word);
    return pick;
}

/* ---- one argument -------------------------------------------------------------------------------- */

/* The block that a call is about, and its loops. */
typedef struct {
    Schedule *s;
    Random *r;
    Value blocks, block, loops;
    bool other_block; /* a loop is rather one of another block: compute_at(block, loop) */
} Focus;

static bool draw_loop(Focus *f, Pick *pick)
{
    Value block = f->block, loops = f->loops;
    if (f->other_block && random_below(f->r, 4)) {
        block = one_of(f->r, f->blocks);
        loops = loops_of(f->s, block);
    }
    if (loops.u.list.n == 0)
        return false;
    pick_handle(f->s, one_of(f->r, loops), name_of(f->s, block), pick);
    return true;
}

/* A temp rather than a parameter: most primitives take nothing else. */
static bool draw_buffer(Focus *f, Pick *pick)
{
    uint64_t n = 0;
    for (int i = 0; i < f->s->handles.n; i++) {
        const Handle *h = &f->s->handles.items[i];
        if (h->kind != HANDLE_BUFFER || !h->alive)
            continue;
        uint64_t weight = h->buffer->role == ROLE_TEMP ? 3 : 1;
        n += weight;
        if (random_below(f->r, n) >= weight)
            continue;
        *pick = (Pick){.kind = VALUE_BUFFER};
        snprintf(pick->name, sizeof pick->name, "%s", h->name);
    }
    return n > 0;
}

static bool draw_pick(Focus *f, ParamKind kind, Pick *pick)
{
    static const char *const scopes[] = {"global", "shared", "shared", "local", "local", "constant"};
    static const char *const axes[] = {"blockIdx.x", "blockIdx.x", "blockIdx.y", "blockIdx.z",
                                       "threadIdx.x", "threadIdx.x", "threadIdx.y", "threadIdx.z"};
    static const int64_t factors[] = {1, 2, 2, 3, 4, 4, 5, 8, 16};
    switch (kind) {
    case PARAM_LOOP:
        return draw_loop(f, pick);
    case PARAM_NODE:
        if (random_below(f->r, 2))
            return draw_loop(f, pick);
        pick_handle(f->s, f->block, NULL, pick);
        return true;
    case PARAM_BLOCK:
        pick_handle(f->s, f->other_block ? one_of(f->r, f->blocks) : f->block, NULL, pick);
        f->other_block = true;
        return true;
    case PARAM_BUFFER:
        return draw_buffer(f, pick);
    case PARAM_AMOUNT:
        if (!random_below(f->r, 4)) {
            *pick = pick_word("auto");
            return true;
        }
        *pick = (Pick){.kind = VALUE_INT, .i = factors[random_below(f->r, 9)]};
        return true;
    case PARAM_INT:
        *pick = (Pick){.kind = VALUE_INT, .i = (int64_t)random_below(f->r, 6) - 1};
        return true;
    case PARAM_BOOL:
        *pick = (Pick){.kind = VALUE_BOOL, .i = (int64_t)random_below(f->r, 2)};
        return true;
    case PARAM_SCOPE:
        *pick = pick_word(scopes[random_below(f->r, 6)]);
        return true;
    case PARAM_AXIS:
        *pick = pick_word(axes[random_below(f->r, 8)]);
        return true;
    case PARAM_KEY:
        *pick = pick_word("note");
        pick->kind = VALUE_STRING;
        return true;
    case PARAM_MAP:
        *pick = (Pick){.kind = VALUE_MAP, .i = (int64_t)random_below(f->r, 1 << 30)};
        return true;
    case PARAM_FACTOR:
        *pick = (Pick){.kind = VALUE_INT, .i = factors[random_below(f->r, 9)]};
        return true;
    default:
        *pick = (Pick){.kind = VALUE_INT, .i = (int64_t)random_below(f->r, 4)};
        return true;
    }
}

/* ---- lists --------------------------------------------------------------------------------------- */

/* Several loops of the block: `run` of neighbours from the outside in, or any in any order. */
static bool draw_loops(Focus *f, bool run, PickArg *arg)
{
    int n = f->loops.u.list.n, order[SCHED_MAX_LOOPS];
    if (n < 2)
        return false;
    arg->n = 2 + (int)random_below(f->r, (uint64_t)(n < DRAW_ITEMS ? n - 1 : DRAW_ITEMS - 1));
    int first = run ? (int)random_below(f->r, (uint64_t)(n - arg->n + 1)) : 0;
    for (int i = 0; i < n; i++)
        order[i] = i + first;
    for (int i = n - 1; i > 0 && !run; i--) {
        int k = (int)random_below(f->r, (uint64_t)i + 1), was = order[i];
        order[i] = order[k];
        order[k] = was;
    }
    for (int i = 0; i < arg->n; i++)
        pick_handle(f->s, f->loops.u.list.items[order[i]], name_of(f->s, f->block), &arg->items[i]);
    return true;
}

static void draw_factors(Focus *f, PickArg *arg)
{
    arg->n = 2 + (int)random_below(f->r, 2);
    for (int i = 0; i < arg->n; i++)
        draw_pick(f, PARAM_FACTOR, &arg->items[i]);
    if (random_below(f->r, 8))
        arg->items[random_below(f->r, 4) ? 0 : random_below(f->r, (uint64_t)arg->n)] = (Pick){.kind = VALUE_FILL};
}

static bool draw_arg(Focus *f, const Primitive *primitive, const PrimParam *param, PickArg *arg)
{
    static const char *const tails[] = {"guard", "peel", "pad"};
    *arg = (PickArg){.list = param->list || param->variadic, .n = 1};
    if (param->kind == PARAM_KEY && strcmp(param->name, "tail") == 0) {
        arg->items[0] = pick_word(tails[random_below(f->r, 3)]);
        arg->items[0].kind = VALUE_STRING;
        return true;
    }
    if (param->kind == PARAM_KEY && strcmp(param->name, "hint") == 0) {
        arg->items[0] = pick_word(cache_hint_info((CacheHint)(1 + random_below(f->r, HINT_COUNT - 1)))->name);
        return true;
    }
    if (!arg->list)
        return draw_pick(f, param->kind, &arg->items[0]);
    if (param->kind == PARAM_LOOP)
        return draw_loops(f, strcmp(primitive->name, "reorder") != 0 || !random_below(f->r, 3), arg);
    if (param->kind == PARAM_FACTOR) {
        draw_factors(f, arg);
        return true;
    }
    arg->n = 1 + (int)random_below(f->r, 2);
    for (int i = 0; i < arg->n; i++)
        if (!draw_pick(f, param->kind, &arg->items[i]))
            return false;
    return true;
}

/* ---- a step -------------------------------------------------------------------------------------- */

/* How often a primitive is drawn; those that are not named here once. */
static int weight_of(const Primitive *primitive)
{
    static const struct {
        const char *name;
        int weight;
    } weights[] = {{"split", 6},      {"fuse", 3},          {"reorder", 6},   {"bind", 8},
                   {"cache_read", 5}, {"cache_write", 4},   {"compute_at", 6}, {"reverse_compute_at", 5},
                   {"set_scope", 3}, {"transform_layout", 3}, {"reindex_cache_read", 2}, {"compute_inline", 2}, {"vectorize", 2}, {"decompose_reduction", 3}};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        if (strcmp(weights[i].name, primitive->name) == 0)
            return weights[i].weight;
    return primitive->is_query ? 0 : 1;
}

static const Primitive *draw_primitive(Random *r)
{
    int n, sum = 0;
    const Primitive *table = primitive_table(&n), *found = table;
    for (int i = 0; i < n; i++) {
        int weight = weight_of(&table[i]);
        sum += weight;
        if (weight && random_below(r, (uint64_t)sum) < (uint64_t)weight)
            found = &table[i];
    }
    return found;
}

static bool draw_args(Focus *f, Step *step)
{
    PrimParam params[PRIM_MAX_PARAMS];
    int n = primitive_params(step->primitive, params);
    for (int i = 0; i < n; i++) {
        if (params[i].optional && random_below(f->r, 2))
            break;
        if (!draw_arg(f, step->primitive, &params[i], &step->args[step->n_args++]))
            return false;
    }
    return true;
}

bool draw_step(Schedule *s, Random *r, Step *step)
{
    for (int attempt = 0; attempt < 20; attempt++) {
        Focus f = {.s = s, .r = r, .blocks = all_blocks(s)};
        if (f.blocks.u.list.n == 0)
            return false;
        f.block = one_of(r, f.blocks);
        f.loops = loops_of(s, f.block);
        *step = (Step){.primitive = draw_primitive(r)};
        if (draw_args(&f, step))
            return true;
    }
    return false;
}

/* ---- what usually follows ------------------------------------------------------------------------ */

static Step bind_step(const Pick *loop, const char *axis)
{
    Step step = {.primitive = primitive_find("bind"), .n_args = 2};
    step.args[0] = (PickArg){.n = 1, .items = {*loop}};
    step.args[1] = (PickArg){.n = 1, .items = {pick_word(axis)}};
    return step;
}

/* The outer part of a split to blocks, the inner part to threads. */
static int bind_split(Schedule *s, Random *r, const Pick *from, const Value *result, Step *out)
{
    const char *const blocks[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};
    const char *const threads[] = {"threadIdx.x", "threadIdx.y", "threadIdx.z"};
    int axis = (int)random_below(r, 3), n = result->u.list.n;
    Pick outer, inner;
    pick_handle(s, result->u.list.items[0], NULL, &outer);
    pick_handle(s, result->u.list.items[n > 2 && random_below(r, 2) ? 1 : n - 1], NULL, &inner);
    memcpy(outer.block, from->block, sizeof outer.block);
    memcpy(inner.block, from->block, sizeof inner.block);
    int count = 0;
    if (random_below(r, 4))
        out[count++] = bind_step(&outer, blocks[axis]);
    out[count++] = bind_step(&inner, threads[axis]);
    return count;
}

/* A copying block moves to a loop of the block that it was made for, and its threads share the work. */
static int place_copy(Schedule *s, Random *r, const Step *step, const Value *result, Step *out)
{
    bool reads = strcmp(step->primitive->name, "cache_read") == 0;
    Name user = ctx_name(schedule_context(s), step->args[0].items[0].name);
    uint32_t id = state_find_block(s, user);
    Value loops = id ? loops_of(s, (Value){.kind = VALUE_BLOCK, .u.id = id}) : (Value){.kind = VALUE_LIST};
    Value own = loops_of(s, *result);
    if (loops.u.list.n == 0 || own.u.list.n == 0)
        return 0;
    Step *at = &out[0];
    *at = (Step){.primitive = primitive_find(reads ? "compute_at" : "reverse_compute_at"), .n_args = 2};
    at->args[0].n = at->args[1].n = 1;
    pick_handle(s, *result, NULL, &at->args[0].items[0]);
    pick_handle(s, one_of(r, loops), user, &at->args[1].items[0]);
    return 1;
}

int draw_sequel(Schedule *s, Random *r, const Step *step, const Value *result, Step out[DRAW_ITEMS])
{
    const char *name = step->primitive->name;
    if (strcmp(name, "split") == 0 && result->kind == VALUE_LIST && result->u.list.n > 1 && random_below(r, 3))
        return bind_split(s, r, &step->args[0].items[0], result, out);
    if (strncmp(name, "cache_", 6) == 0 && result->kind == VALUE_BLOCK && random_below(r, 4))
        return place_copy(s, r, step, result, out);
    return 0;
}

/* ---- calling ------------------------------------------------------------------------------------- */

static bool resolve_handle(Schedule *s, const Pick *pick, Value *value)
{
    Context *c = schedule_context(s);
    Name name = ctx_name(c, pick->name);
    *value = (Value){.kind = pick->kind};
    if (pick->kind == VALUE_BLOCK)
        return (value->u.id = state_find_block(s, name)) != 0;
    if (pick->kind == VALUE_BUFFER)
        return (value->u.id = state_find_buffer(s, name)) != 0;
    Value block = {.kind = VALUE_BLOCK};
    block.u.id = state_find_block(s, ctx_name(c, pick->block));
    if (!block.u.id)
        return false;
    Value loops = loops_of(s, block);
    for (int i = 0; i < loops.u.list.n; i++)
        if (name_of(s, loops.u.list.items[i]) == name) {
            *value = loops.u.list.items[i];
            return true;
        }
    return false;
}

/* ---- index maps: their inputs are those of the call's first argument, so that they are made when it is ---- */

static int map_inputs(Schedule *s, const Value *first)
{
    StmtPath path = {0};
    if (first->kind == VALUE_BUFFER)
        return sched_buffer(s, first->u.id)->rank;
    return first->kind == VALUE_BLOCK ? sched_block(s, first, &path)->u.block.n_iters : 1;
}

typedef VEC(Expr *) Outputs;

static void insert_output(Context *c, Random *r, Outputs *out, Expr *e)
{
    VEC_PUSH(c->arena, out, e);
    int at = (int)random_below(r, (uint64_t)out->n);
    out->items[out->n - 1] = out->items[at];
    out->items[at] = e;
}

/* Inputs in any order; some are split, shifted, joined with the one before, or forgotten. */
static const IndexMap *draw_map(Context *c, int n, uint64_t seed)
{
    Random r = random_new(seed, 0);
    IndexMap *map = ARENA_NEW(c->arena, IndexMap);
    Var **from = ARENA_ARRAY(c->arena, Var *, n + 1);
    Outputs out = {0};
    for (int i = 0; i < n; i++) {
        from[i] = var_new(c, ctx_namef(c, "i%d", i), DT_INDEX, VAR_ITER, span_none());
        Expr *e = expr_var(c, from[i], span_none());
        Expr *number = expr_index(c, 2 + (int64_t)random_below(&r, 5));
        uint64_t how = random_below(&r, 12);
        if (how < 3)
            insert_output(c, &r, &out, index_mod(c, e, number));
        if (how == 4 && out.n > 0)
            out.items[0] = index_add(c, index_mul(c, out.items[0], number), e);
        else if (how < 4)
            insert_output(c, &r, &out, index_div(c, e, number));
        else if (how > 5)
            insert_output(c, &r, &out, how == 6 ? index_add(c, e, number) : e);
    }
    *map = (IndexMap){from, n, out.items, out.n};
    return map;
}

static bool resolve(Schedule *s, const Pick *pick, const Value *first, Value *value)
{
    *value = (Value){.kind = pick->kind};
    switch (pick->kind) {
    case VALUE_LOOP:
    case VALUE_BLOCK:
    case VALUE_BUFFER:
        return resolve_handle(s, pick, value);
    case VALUE_WORD:
    case VALUE_STRING:
        value->u.s = ctx_name(schedule_context(s), pick->name);
        return true;
    case VALUE_MAP:
        value->u.map = draw_map(schedule_context(s), map_inputs(s, first), (uint64_t)pick->i);
        return true;
    default:
        value->u.i = pick->i;
        return true;
    }
}

bool draw_call(Schedule *s, const Step *step, Value *result, bool *refused)
{
    Value args[PRIM_MAX_PARAMS];
    *refused = false;
    for (int i = 0; i < step->n_args; i++) {
        const PickArg *arg = &step->args[i];
        Value items[DRAW_ITEMS];
        for (int k = 0; k < arg->n; k++)
            if (!resolve(s, &arg->items[k], &args[0], &items[k]))
                return false;
        args[i] = arg->list ? value_list(s, items, arg->n) : items[0];
    }
    *refused = true;
    return schedule_call(s, step->primitive, args, NULL, step->n_args, span_none(), result);
}
