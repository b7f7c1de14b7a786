/* verify.c - Verifies the invariants that every pass relies on and must preserve.
 *
 * It walks the kernel once with a stack of scopes and stops at the first violation. The message
 * names the nodes involved, for the author of the pass at fault. Scoping is checked by identity,
 * which finds buffers and variables that a rewrite left behind, and by name, so that text at this
 * level is unambiguous. */
#include "ir/implied.h"
#include "ir/instruction.h"
#include "ir/ir.h"

typedef struct {
    Name name;
    const Var *var;       /* or */
    const Buffer *buffer; /* what the name stands for */
} Entry;

/* The context of an expression, which restricts its contents. */
typedef enum {
    USE_VALUE,   /* anything in scope */
    USE_CONTROL, /* no loads: conditions outside of blocks do not depend on data */
    USE_RANGE,   /* loads of inputs only: which iterations there are does not change */
    USE_DOMAIN,  /* sizes, iterators and loads of inputs only */
    USE_SHAPE,   /* sizes only (and loops, for temps), no loads */
} Use;

typedef struct {
    Context *ctx;
    Level level;
    VEC(Entry) scope;
    bool in_update; /* of a tuple */
    bool breaks;    /* the innermost loop may end by a break */
    int floor;      /* loops and lets below this entry are out of sight: those around the block */
    /* the entry where the names of the block at hand begin; -1 outside of blocks */
    int block;
    bool in_launch;
    enum { NO_ROLE, PRODUCER, CONSUMER } role; /* in a launch with roles */
    const char *broken;                        /* the answer, or NULL so far */
} Verifier;

static bool fail(Verifier *v, const char *format, ...) TIRC_PRINTF(2, 3);

/* Always false. */
static bool fail(Verifier *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!v->broken)
        v->broken = arena_vprintf(v->ctx->arena, format, args);
    va_end(args);
    return false;
}

static const char *type_name(DType type)
{
    return type < DT_COUNT ? type_info(type)->name : "no type";
}

/* ---- scope ----------------------------------------------------------------------------------- */

/* Iterators may have the names of the loops around their block, which its body does not see. */
static bool may_share(const Verifier *v, const Var *var, int entry)
{
    const Entry *e = &v->scope.items[entry];
    bool outside = v->block >= 0 && entry < v->block;
    return var && var->kind == VAR_ITER && outside && e->var &&
           (e->var->kind == VAR_LOOP || e->var->kind == VAR_LET);
}

static bool define(Verifier *v, Name name, const Var *var, const Buffer *buffer)
{
    for (int i = 0; i < v->scope.n; i++) {
        const Entry *e = &v->scope.items[i];
        if ((var && e->var == var) || (buffer && e->buffer == buffer))
            return fail(v, "'%s' is defined twice", name);
        if (e->name == name && !may_share(v, var, i) && !v->in_update)
            return fail(v, "the name '%s' means two things on one path", name);
    }
    Entry own = {name, var, buffer};
    VEC_PUSH(v->ctx->arena, &v->scope, own);
    return true;
}

static bool define_var(Verifier *v, const Var *var, VarKind kind, const char *what)
{
    if (var->kind != kind)
        return fail(v, "'%s' is defined as %s but is a variable of another kind", var->name, what);
    bool wide = kind == VAR_LOOP && v->level == LEVEL_LOWERED && var->type == DT_I64;
    if ((kind == VAR_SIZE || kind == VAR_LOOP || kind == VAR_ITER) && var->type != DT_INDEX &&
        !wide)
        return fail(v, "%s '%s' has type %s; expected index", what, var->name,
                    type_name(var->type));
    return define(v, var->name, var, NULL);
}

static bool check_var(Verifier *v, const Var *var, Use use)
{
    int at = v->scope.n - 1;
    while (at >= 0 && v->scope.items[at].var != var)
        at--;
    if (at < 0)
        return fail(v, "'%s' is used where it is not defined", var->name);
    bool constant = var->kind == VAR_SIZE || var->kind == VAR_SCALAR;
    if (at < v->floor && !constant)
        return fail(v, "the block uses '%s' of outside; expected its iterators only", var->name);
    if (use == USE_DOMAIN && var->kind != VAR_SIZE && var->kind != VAR_ITER)
        return fail(v, "a domain uses '%s'; expected sizes and earlier iterators only", var->name);
    return true;
}

static bool check_buffer(Verifier *v, const Buffer *buffer)
{
    for (int i = v->scope.n - 1; i >= 0; i--)
        if (v->scope.items[i].buffer == buffer_defined(buffer))
            return true;
    return fail(v, "buffer '%s' is used where it is not defined", buffer->name);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static bool check_expr(Verifier *v, const Expr *e, Use use);

static bool check_typed(Verifier *v, const Expr *e, DType type, Use use, const char *what)
{
    if (!e)
        return fail(v, "%s is missing", what);
    if (e->type != type)
        return fail(v, "%s has type %s; expected %s", what, type_name(e->type), type_name(type));
    return check_expr(v, e, use);
}

static bool check_subscripts(Verifier *v, const Buffer *buffer, Expr *const *index, Use use)
{
    for (int i = 0; i < buffer->rank; i++) {
        if (!index[i])
            return fail(v, "subscript %d of '%s' is missing", i + 1, buffer->name);
        bool wide = v->level == LEVEL_LOWERED && index[i]->type == DT_I64;
        if (index[i]->type != DT_INDEX && !wide)
            return fail(v, "subscript %d of '%s' has type %s; expected index", i + 1, buffer->name,
                        type_name(index[i]->type));
        if (!check_expr(v, index[i], use))
            return false;
    }
    return true;
}

static bool check_hint(Verifier *v, const Buffer *buffer, CacheHint hint, bool fits)
{
    if (hint == HINT_NONE || (fits && v->level == LEVEL_LOWERED && buffer->scope == SCOPE_GLOBAL))
        return true;
    return fail(v, "an access of '%s' has the hint %s, which is for %s", buffer->name,
                cache_hint_info(hint)->name,
                fits                          ? "global memory in launches"
                : cache_hint_info(hint)->load ? "loads"
                                              : "stores");
}

static bool check_load(Verifier *v, const Expr *e, Use use)
{
    const Buffer *buffer = e->u.load.buffer;
    bool given = (use == USE_RANGE || use == USE_DOMAIN) && !expr_loads_change(e);
    if (use != USE_VALUE && !given)
        return fail(v, "'%s' is read where only sizes and loops may decide", buffer->name);
    if (e->type != buffer->type)
        return fail(v, "a load of '%s' has type %s; expected %s", buffer->name, type_name(e->type),
                    type_name(buffer->type));
    return check_buffer(v, buffer) &&
           check_hint(v, buffer, e->hint, cache_hint_info(e->hint)->load) &&
           check_subscripts(v, buffer, e->u.load.index, use);
}

static bool check_call(Verifier *v, const Expr *e, Use use)
{
    const CallInfo *info = call_info(e->u.call.call);
    DType type = e->u.call.arg[0]->type;
    bool same_width = type_info(type)->bits == type_info(e->type)->bits;
    if (!call_takes(e->u.call.call, type))
        return fail(v, "'%s' takes no %s", info->name, type_name(type));
    if (e->type != call_result(e->u.call.call, type, e->type) ||
        (info->gives == GIVES_NAMED && (!same_width || !call_takes(e->u.call.call, e->type))))
        return fail(v, "'%s' of %s has type %s", info->name, type_name(type), type_name(e->type));
    if (expr_awaits(e) && e->u.call.arg[0]->kind != EX_LOAD)
        return fail(v, "'%s' of what is no element", info->name);
    for (int i = 0; i < info->arity; i++)
        if (!check_typed(v, e->u.call.arg[i], type, use, "an argument of a function"))
            return false;
    return true;
}

static bool check_unary(Verifier *v, const Expr *e, Use use)
{
    const Expr *a = e->u.arg[0];
    if (e->kind == EX_CAST)
        return check_expr(v, a, use);
    bool fits = e->kind == EX_NOT      ? a->type == DT_BOOL
                : e->kind == EX_BITNOT ? type_is_int(a->type)
                                       : a->type != DT_BOOL;
    if (!fits || e->type != a->type)
        return fail(v, "operator %s has type %s and an operand of type %s", op_info(e->kind)->token,
                    type_name(e->type), type_name(a->type));
    bool literal =
        a->kind == EX_FLOAT || (a->kind == EX_INT && type_info(a->type)->class != CLASS_UINT);
    if (e->kind == EX_NEG && literal)
        return fail(v, "a minus before a literal; expected a negative literal");
    return check_expr(v, a, use);
}

static bool check_binary(Verifier *v, const Expr *e, Use use)
{
    const Expr *a = e->u.arg[0], *b = e->u.arg[1];
    OpClass class = op_info(e->kind)->class;
    DType result = class == OP_COMPARE || class == OP_LOGIC ? DT_BOOL : a->type;
    if (!expr_binary_accepts(e->kind, a->type, b->type) || e->type != result)
        return fail(v, "operator %s has type %s and operands of types %s and %s",
                    op_info(e->kind)->token, type_name(e->type), type_name(a->type),
                    type_name(b->type));
    int64_t lanes;
    if (class == OP_LANES &&
        (!(v->in_launch || v->block >= 0) || v->level == LEVEL_PROGRAM || use != USE_VALUE))
        return fail(v, "a shuffle outside of a launch");
    if (e->kind == EX_SHUFFLE_XOR && (!expr_is_const(b, &lanes) || lanes < 1 || lanes > 31))
        return fail(v, "a shuffle not by 1 to 31 lanes");
    return check_expr(v, a, use) && check_expr(v, b, use);
}

static bool check_literal(Verifier *v, const Expr *e)
{
    bool fits =
        e->kind == EX_FLOAT ? type_is_float(e->type) : type_is_int(e->type) || e->type == DT_BOOL;
    return fits || fail(v, "a literal has type %s", type_name(e->type));
}

static bool check_expr(Verifier *v, const Expr *e, Use use)
{
    switch (e->kind) {
    case EX_INT:
    case EX_FLOAT: return check_literal(v, e);
    case EX_VAR:
        if (e->type != e->u.var->type)
            return fail(v, "a use of '%s' has type %s; expected %s", e->u.var->name,
                        type_name(e->type), type_name(e->u.var->type));
        return check_var(v, e->u.var, use);
    case EX_AXIS: return v->in_launch || fail(v, "'%s' outside of a launch", axis_name(e->u.axis));
    case EX_LOAD: return check_load(v, e, use);
    case EX_SELECT:
        return check_typed(v, e->u.arg[0], DT_BOOL, use, "a condition") &&
               check_typed(v, e->u.arg[1], e->type, use, "a choice") &&
               check_typed(v, e->u.arg[2], e->type, use, "a choice");
    case EX_CALL: return check_call(v, e, use);
    case EX_CAST:
    case EX_NEG:
    case EX_NOT:
    case EX_BITNOT: return check_unary(v, e, use);
    default: return check_binary(v, e, use);
    }
}

/* ---- statements ------------------------------------------------------------------------------ */

static bool check_stmt(Verifier *v, const Stmt *s);

/* `outside` of blocks; anything within them, and where the kernel is lowered. */
static Use use_at(const Verifier *v, Use outside)
{
    return v->block < 0 && v->level != LEVEL_LOWERED ? outside : USE_VALUE;
}

/* A statement that is a scope of its own. */
static bool check_body(Verifier *v, const Stmt *s)
{
    int outside = v->scope.n;
    bool ok = check_stmt(v, s);
    v->scope.n = outside;
    return ok;
}

static bool check_for(Verifier *v, const ForStmt *loop)
{
    Use use = use_at(v, USE_RANGE);
    if (loop->step == 0)
        return fail(v, "loop '%s' has step 0", loop->var->name);
    if ((loop->kind == LOOP_BIND) != (loop->axis != AXIS_NONE))
        return fail(v, "loop '%s' is %s and %s axis", loop->var->name, loop_kind_name(loop->kind),
                    loop->axis == AXIS_NONE ? "has no" : "has an");
    if (v->level == LEVEL_LOWERED && loop->kind == LOOP_BIND)
        return fail(v, "loop '%s' is bound in a lowered kernel", loop->var->name);
    if (!check_typed(v, loop->lo, loop->var->type, use, "the bound of a loop") ||
        !check_typed(v, loop->hi, loop->var->type, use, "the bound of a loop"))
        return false;
    int outside = v->scope.n;
    bool breaks = v->breaks;
    v->breaks = loop->kind == LOOP_BREAKS && (v->block >= 0 || v->in_launch);
    bool ok = (loop_is_while(loop) || define_var(v, loop->var, VAR_LOOP, "loop")) &&
              check_stmt(v, loop->body);
    v->scope.n = outside;
    v->breaks = breaks;
    return ok;
}

static bool check_iters(Verifier *v, const BlockStmt *block)
{
    for (int i = 0; i < block->n_iters; i++)
        if (!check_typed(v, block->iters[i].binding, DT_INDEX, USE_RANGE,
                         "the binding of an iterator"))
            return false;
    v->block = v->scope.n;
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        if (!check_typed(v, iter->lo, DT_INDEX, USE_DOMAIN, "the domain of an iterator") ||
            !check_typed(v, iter->hi, DT_INDEX, USE_DOMAIN, "the domain of an iterator") ||
            !define_var(v, iter->var, VAR_ITER, "iterator"))
            return false;
    }
    return true;
}

/* An init runs for each value of the spatial iterators, before the reduce iterators have any. */
static bool check_init(Verifier *v, const BlockStmt *block)
{
    if (!block->init)
        return true;
    if (!stmt_is_reduction(block))
        return fail(v, "block '%s' has an init but no reduce iterator", block->name);
    for (int i = 0; i < block->n_iters; i++) {
        const Var *var = block->iters[i].var;
        if (block->iters[i].kind != ITER_REDUCE)
            continue;
        if (stmt_uses_var(v->ctx, block->init, var))
            return fail(v, "the init of block '%s' uses reduce iterator '%s'", block->name,
                        var->name);
        for (int k = 0; k < block->n_iters; k++)
            if (block->iters[k].kind == ITER_SPATIAL && iter_uses_var(&block->iters[k], var))
                return fail(
                    v, "the domain of '%s' uses reduce iterator '%s', and block '%s' has an init",
                    block->iters[k].var->name, var->name, block->name);
    }
    return true;
}

static bool check_block(Verifier *v, const BlockStmt *block)
{
    if (v->level == LEVEL_LOWERED || v->block >= 0)
        return fail(v, "block '%s' stands %s", block->name,
                    v->block >= 0 ? "in another block" : "in a lowered kernel");
    if (!check_init(v, block))
        return false;
    int outside = v->scope.n;
    bool ok = !block->predicate ||
              check_typed(v, block->predicate, DT_BOOL, USE_RANGE, "the predicate of a block");
    ok = ok && check_iters(v, block);
    v->floor = outside;
    ok = ok && (!block->init || check_body(v, block->init)) && check_body(v, block->body);
    v->floor = 0;
    v->block = -1;
    v->scope.n = outside;
    return ok;
}

static bool check_store(Verifier *v, const Stmt *s)
{
    const Buffer *buffer = s->u.store.buffer;
    bool lowered = v->level == LEVEL_LOWERED;
    if (lowered ? !v->in_launch : v->block < 0)
        return fail(v, "a store to '%s' outside of any %s", buffer->name,
                    lowered ? "launch" : "block");
    if (buffer->role == ROLE_IN)
        return fail(v, "input '%s' is written", buffer->name);
    if (buffer->copy_of)
        return fail(v, "'%s' is written, which is a copy of '%s'", buffer->name,
                    buffer->copy_of->name);
    if (s->u.store.value->type != buffer->type)
        return fail(v, "a value of type %s is stored to '%s', which holds %s",
                    type_name(s->u.store.value->type), buffer->name, type_name(buffer->type));
    CacheHint hint = s->u.store.hint;
    bool fits = cache_hint_info(hint)->store && !s->u.store.atomic;
    return check_buffer(v, buffer) && check_hint(v, buffer, hint, fits) &&
           check_subscripts(v, buffer, s->u.store.index, USE_VALUE) &&
           check_expr(v, s->u.store.value, USE_VALUE);
}

static bool check_shape(Verifier *v, const Buffer *buffer)
{
    if (buffer->type >= DT_INDEX)
        return fail(v, "buffer '%s' holds %s, which has no storage", buffer->name,
                    type_name(buffer->type));
    for (int i = 0; i < buffer->rank; i++) {
        int64_t extent;
        if (!check_typed(v, buffer->shape[i], DT_INDEX, USE_SHAPE, "the shape of a buffer"))
            return false;
        if (expr_is_const(buffer->shape[i], &extent) && extent < 1)
            return fail(v, "axis %d of '%s' has %lld elements", i, buffer->name, (long long)extent);
    }
    if (buffer->layout && scope_outlives_launch(buffer->scope))
        return fail(v, "%s buffer '%s' has a layout", scope_name(buffer->scope), buffer->name);
    for (int i = 0; buffer->layout && i < buffer->rank; i++) {
        const char *wrong = buffer_is_swizzled(buffer, i)
                                ? swizzle_error(v->ctx, buffer, i, &buffer->layout[i].swizzle)
                                : NULL;
        if (wrong)
            return fail(v, "%s", wrong);
        if (buffer->layout[i].fold < 0)
            return fail(v, "axis %d of '%s' is folded by %lld", i, buffer->name,
                        (long long)buffer->layout[i].fold);
    }
    return define(v, buffer->name, NULL, buffer);
}

static bool check_temp(Verifier *v, const Buffer *buffer)
{
    if (buffer->role != ROLE_TEMP)
        return fail(v, "parameter '%s' is defined as a temp", buffer->name);
    if (v->block >= 0)
        return fail(v, "temp '%s' stands in a block", buffer->name);
    if (buffer->scope == SCOPE_CONSTANT && v->level == LEVEL_LOWERED &&
        (v->in_launch || !buffer->copy_of))
        return fail(v, "'%s' in constant memory is no copy of a buffer, made outside launches",
                    buffer->name);
    if (buffer->scope == SCOPE_WARP && v->level == LEVEL_LOWERED)
        return fail(v, "'%s' is in the memory of a warp, which lowering removes", buffer->name);
    if (buffer->copy_of && !check_buffer(v, buffer->copy_of))
        return false;
    return check_shape(v, buffer);
}

static bool check_let(Verifier *v, const Stmt *s)
{
    const Var *var = s->u.let.var;
    if (v->level != LEVEL_LOWERED && v->block < 0)
        return fail(v, "let '%s' in a kernel that is not lowered", var->name);
    return check_typed(v, s->u.let.value, var->type, USE_VALUE, "the value of a let") &&
           define_var(v, var, VAR_LET, "let");
}

static bool check_launch(Verifier *v, const LaunchStmt *launch)
{
    if (v->in_launch || v->block >= 0)
        return fail(v, "launch '%s' stands in another %s", launch->name,
                    v->in_launch ? "launch" : "block");
    for (int i = 0; i < 3; i++) {
        if (!check_typed(v, launch->grid[i], DT_INDEX, USE_CONTROL, "the grid of a launch"))
            return false;
        if (launch->block[i] < 1)
            return fail(v, "launch '%s' has no threads", launch->name);
    }
    if (launch->cluster < 0 || launch->cluster > MAX_CLUSTER)
        return fail(v, "launch '%s' has clusters of %lld blocks", launch->name,
                    (long long)launch->cluster);
    if (launch->min_blocks < 0)
        return fail(v, "launch '%s' asks for %lld blocks", launch->name,
                    (long long)launch->min_blocks);
    v->in_launch = true;
    bool ok = check_body(v, launch->body);
    v->in_launch = false;
    return ok;
}

static bool check_roles(Verifier *v, const Stmt *s)
{
    if (!v->in_launch || v->role != NO_ROLE)
        return fail(v, "roles outside of a launch, or in a role");
    v->role = PRODUCER;
    bool ok = check_body(v, s->u.roles.producer);
    v->role = CONSUMER;
    ok = ok && check_body(v, s->u.roles.consumers);
    v->role = NO_ROLE;
    return ok;
}

/* Who meets it: threads without roles, the producer, consumers. */
static bool check_sync(Verifier *v, const Stmt *s)
{
    static const bool allowed[][3] = {
        [SYNC_THREADS] = {true, false, true},  [SYNC_WARPGROUP] = {true, false, true},
        [SYNC_WARP] = {true, false, true},     [SYNC_CLUSTER] = {true, false, true},
        [SYNC_COMMIT] = {true, true, true},    [SYNC_WAIT] = {true, false, true},
        [SYNC_ACQUIRE] = {false, true, false}, [SYNC_RECEIVE] = {false, false, true},
        [SYNC_RELEASE] = {false, false, true}, [SYNC_RELEASE_CLUSTER] = {false, false, true},
    };
    if (!v->in_launch)
        return fail(v, "a barrier outside of a launch");
    return allowed[s->u.barrier.kind][v->role] ||
           fail(v, "a barrier of another role: %s", s->u.barrier.why);
}

/* Elements of the operands, where the body accesses them. */
static bool check_instruction(Verifier *v, const Stmt *s)
{
    const Instruction *of = s->u.instruction.of;
    if (!v->in_launch)
        return fail(v, "instruction '%s' outside of a launch", of->kernel->name);
    for (int i = 0; i < of->n_elements; i++) {
        const Expr *e = s->u.instruction.elements[i];
        const Operand *operand = &of->operands[of->elements[i].operand];
        if (e->kind != EX_LOAD || e->type != operand->buffer->type)
            return fail(v, "operand '%s' of instruction '%s' is no element of its type",
                        operand->buffer->name, of->kernel->name);
        if (!check_expr(v, e, USE_VALUE))
            return false;
    }
    return check_body(v, s->u.instruction.body);
}

static bool check_update(Verifier *v, const Stmt *s)
{
    TupleUpdate update;
    if (!tuple_update_of(v->ctx, s, &update))
        return fail(v, "an update with reducer '%s' is not of its form", s->u.seq.combiner->name);
    for (int k = 0; k < update.combiner->n; k++)
        if (update.targets[k].buffer->type != update.combiner->parts[k].type)
            return fail(v, "'%s' has not the type of component '%s' of reducer '%s'",
                        update.targets[k].buffer->name, update.combiner->parts[k].name,
                        update.combiner->name);
    return true;
}

/* The names in an update of a tuple are no part of the text, and may be those of other things. */
static bool check_seq(Verifier *v, const Stmt *s)
{
    int outside = v->scope.n;
    bool ok = !s->u.seq.combiner || check_update(v, s);
    v->in_update = s->u.seq.combiner != NULL;
    for (int i = 0; ok && i < s->u.seq.n; i++)
        ok = check_stmt(v, s->u.seq.items[i]);
    v->in_update = false;
    v->scope.n = outside;
    return ok;
}

static bool check_stmt(Verifier *v, const Stmt *s)
{
    switch (s->kind) {
    case ST_SEQ: return check_seq(v, s);
    case ST_FOR: return check_for(v, &s->u.loop);
    case ST_IF:
        return check_typed(v, s->u.cond.cond, DT_BOOL, use_at(v, USE_CONTROL), "a condition") &&
               check_body(v, s->u.cond.then) &&
               (!s->u.cond.otherwise || check_body(v, s->u.cond.otherwise));
    case ST_BLOCK: return check_block(v, &s->u.block);
    case ST_STORE: return check_store(v, s);
    case ST_TEMP: return check_temp(v, s->u.temp);
    case ST_LET: return check_let(v, s);
    case ST_BREAK: return v->breaks || fail(v, "a break outside of a loop that it may end");
    case ST_BARRIER: return check_sync(v, s);
    case ST_ROLES: return check_roles(v, s);
    case ST_LAUNCH: return check_launch(v, &s->u.launch);
    case ST_INSTRUCTION: return check_instruction(v, s);
    }
    return fail(v, "a statement of no known kind");
}

/* ---- kernels --------------------------------------------------------------------------------- */

static bool check_params(Verifier *v, const Kernel *kernel)
{
    for (int i = 0; i < kernel->n_sizes; i++) {
        const Size *size = &kernel->sizes[i];
        if (size->symbolic && !size->var)
            return fail(v, "symbolic size '%s' has no variable", size->name);
        if (size->var && !define_var(v, size->var, VAR_SIZE, "size"))
            return false;
    }
    for (int i = 0; i < kernel->n_params; i++) {
        const Param *param = &kernel->params[i];
        if (!param->buffer == !param->scalar)
            return fail(v, "parameter %d is not one of a buffer and a scalar", i + 1);
        if (param->scalar && !define_var(v, param->scalar, VAR_SCALAR, "scalar"))
            return false;
        if (!param->buffer)
            continue;
        bool output = i >= kernel->n_params - kernel->n_outputs;
        if ((param->buffer->role == ROLE_OUT) != output || param->buffer->role == ROLE_TEMP)
            return fail(v, "parameter '%s' stands on the wrong side of '->'", param->buffer->name);
        if (!check_shape(v, param->buffer))
            return false;
    }
    return true;
}

static bool is_input(const Kernel *kernel, const Param *subject)
{
    for (int i = 0; i < kernel->n_params - kernel->n_outputs; i++)
        if (kernel->params[i].buffer == subject->buffer &&
            kernel->params[i].scalar == subject->scalar)
            return true;
    return false;
}

static bool check_end(Verifier *v, const Expr *e, DType subject)
{
    DType type = type_is_float(subject) ? subject : DT_INDEX;
    if (type != DT_INDEX && e && e->kind != EX_FLOAT)
        return fail(v, "a bound of floating values is no literal");
    return !e || check_typed(v, e, type, USE_DOMAIN, "the bound of a fact");
}

static bool check_fact(Verifier *v, const Kernel *kernel, const Fact *fact)
{
    const Param *p = &fact->subject;
    if (fact->kind == FACT_SIZES)
        return check_typed(v, fact->cond, DT_BOOL, USE_DOMAIN, "a fact about sizes");
    if (!is_input(kernel, p))
        return fail(v, "a fact is about something that is no input");
    DType type = p->buffer ? p->buffer->type : p->scalar->type;
    if (fact->kind == FACT_ORDER)
        return (p->buffer && p->buffer->rank == 1 && fact->order < ORDER_COUNT) ||
               fail(v, "an order of what is no list");
    if (!fact->lo && !fact->hi)
        return fail(v, "a range without ends");
    return check_end(v, fact->lo, type) && check_end(v, fact->hi, type);
}

static bool check_facts(Verifier *v, const Kernel *kernel)
{
    for (int i = 0; i < kernel->n_facts; i++)
        if (!check_fact(v, kernel, &kernel->facts[i]))
            return false;
    return true;
}

typedef struct {
    Verifier *verifier;
    VEC(Name) names; /* of the buffers met so far */
} BufferNames;

static bool meet_buffer(BufferNames *met, const Buffer *buffer)
{
    for (int i = 0; i < met->names.n; i++)
        if (met->names.items[i] == buffer->name)
            return fail(met->verifier, "two buffers are called '%s'", buffer->name);
    VEC_PUSH(met->verifier->ctx->arena, &met->names, buffer->name);
    return true;
}

/* Buffers of different scopes differ in name, too: schedules and messages refer to them by name. */
static bool check_buffer_names(Verifier *v, const Kernel *kernel)
{
    BufferNames met = {.verifier = v};
    for (int i = 0; i < kernel->n_params; i++)
        if (kernel->params[i].buffer && !meet_buffer(&met, kernel->params[i].buffer))
            return false;
    for (Cursor at = cursor_stmts(v->ctx, kernel->body); cursor_next(&at);)
        if (at.stmt->kind == ST_TEMP && !meet_buffer(&met, at.stmt->u.temp))
            return false;
    return true;
}

/* Only schedules write it. A program may choose the memory of a temporary itself. */
static bool is_scheduled(const Stmt *s)
{
    switch (s->kind) {
    case ST_FOR: return s->u.loop.kind != LOOP_SERIAL || s->u.loop.annotations.n > 0;
    case ST_BLOCK:
        return s->u.block.atomic || s->u.block.instruction || s->u.block.annotations.n > 0;
    default: return false;
    }
}

Level kernel_level(Context *c, const Kernel *kernel)
{
    bool scheduled = false;
    for (Cursor at = cursor_outer(c, kernel->body); cursor_next(&at);) {
        if (at.stmt->kind == ST_LAUNCH)
            return LEVEL_LOWERED;
        scheduled |= is_scheduled(at.stmt);
    }
    return scheduled ? LEVEL_SCHEDULED : LEVEL_PROGRAM;
}

const char *ir_verify(Context *c, const Kernel *kernel)
{
    Verifier v = {.ctx = c, .level = kernel_level(c, kernel), .block = -1};
    if (check_buffer_names(&v, kernel) && check_params(&v, kernel) && check_facts(&v, kernel))
        check_body(&v, kernel->body);
    return v.broken;
}

void ir_demand(Context *c, const Kernel *kernel)
{
    const char *broken = ir_verify(c, kernel);
    if (broken)
        TIRC_BUG(c, "kernel '%s' cannot be written out: %s", kernel->name, broken);
}
