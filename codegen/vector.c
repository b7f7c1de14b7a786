/* vector.c - see vector.h.
 *
 * The vectorize pass has proved that every access is contiguous in the loop's variable or does not
 * use it, and that the wide ones are aligned; a store to memory may take its lanes from any
 * registers. A copy moves whole words; arithmetic works on the components of CUDA's vector types,
 * or on words that hold elements of 1 and 2 bytes. */
#include "codegen/vector.h"

#include "ir/packed.h"

const char *vector_type(Context *c, DType type, int64_t lanes)
{
    static const char *const base[DT_COUNT] = {
        [DT_F64] = "double", [DT_F32] = "float", [DT_I64] = "longlong", [DT_U64] = "ulonglong",
        [DT_I32] = "int",    [DT_U32] = "uint",  [DT_I16] = "short",    [DT_U16] = "ushort",
        [DT_I8] = "char",    [DT_U8] = "uchar",
    };
    if (!base[type] || (lanes != 2 && lanes != 4) || lanes * type_bytes(type) > 16)
        return NULL;
    return arena_printf(c->arena, "%s%d", base[type], (int)lanes);
}

const char *vector_word(int64_t bytes)
{
    switch (bytes) {
    case 2: return "unsigned short";
    case 4: return "unsigned int";
    case 8: return "uint2";
    case 16: return "uint4";
    default: return NULL;
    }
}

/* `e` with one term `var` taken out of its sum; NULL where var is no plain term. */
static Expr *without_term(Context *c, Expr *e, const Var *var)
{
    int64_t zero;
    if (e->kind == EX_VAR)
        return e->u.var == var ? expr_index(c, 0) : NULL;
    if (e->kind == EX_CAST && e->type == DT_I64 && e->u.arg[0]->type == DT_INDEX) {
        Expr *rest = without_term(c, e->u.arg[0], var);
        return !rest                        ? NULL
               : expr_is_const(rest, &zero) ? expr_int(c, DT_I64, zero, e->span)
                                            : expr_cast(c, DT_I64, rest, e->span);
    }
    if (e->kind != EX_ADD && e->kind != EX_SUB)
        return NULL;
    for (int side = 0; side < (e->kind == EX_ADD ? 2 : 1); side++) {
        Expr *rest = without_term(c, e->u.arg[side], var), *other = e->u.arg[1 - side];
        if (!rest || expr_uses_var(other, var))
            continue;
        if (e->kind == EX_ADD && expr_is_const(rest, &zero) && zero == 0)
            return other;
        if (e->kind == EX_SUB)
            return expr_binary(c, EX_SUB, rest, other, e->span);
        return side ? expr_binary(c, EX_ADD, other, rest, e->span)
                    : expr_binary(c, EX_ADD, rest, other, e->span);
    }
    return NULL;
}

/* The subscripts of the first lane if the access is contiguous in var; NULL otherwise. */
static Expr *const *first_lane(Context *c, const Buffer *buffer, Expr *const *index, const Var *var)
{
    if (buffer->rank == 0)
        return NULL;
    Expr **base = ARENA_ARRAY(c->arena, Expr *, buffer->rank);
    int row = buffer_row_axis(buffer);
    for (int i = 0; i < buffer->rank; i++) {
        base[i] = index[i];
        if (i != row && expr_uses_var(index[i], var))
            return NULL;
    }
    base[row] = without_term(c, index[row], var);
    return base[row] ? base : NULL;
}

static bool subscripts_use(const Expr *load, const Var *var)
{
    for (int i = 0; i < load->u.load.buffer->rank; i++)
        if (expr_uses_var(load->u.load.index[i], var))
            return true;
    return false;
}

int vector_find_load(const VectorPlan *plan, const Expr *e)
{
    for (int i = 0; i < plan->loads.n; i++)
        if (expr_equal(plan->loads.items[i].load, e))
            return i;
    return -1;
}

/* Is there a type for an access of all lanes? Words hold what has none of its own. */
static bool has_type(Context *c, DType type, int64_t lanes)
{
    int bytes = type_bytes(type);
    return vector_type(c, type, lanes) || (bytes <= 2 && vector_word(lanes * bytes));
}

/* An asynchronous copy or zeros moves the bytes of the element: types do not matter. */
static bool moves_words(const VectorPlan *plan, const Expr *copied)
{
    const Buffer *to = plan->store->u.store.buffer, *from = copied->u.load.buffer;
    int64_t bytes = plan->lanes * type_bytes(to->type);
    return plan->fills && from->type == to->type && from->scope == SCOPE_GLOBAL &&
           to->scope == SCOPE_SHARED && bytes >= 4 && vector_word(bytes);
}

static bool plan_load(Context *c, VectorPlan *plan, Expr *e)
{
    const Buffer *b = e->u.load.buffer;
    if (vector_find_load(plan, e) >= 0)
        return true;
    if (b->scope == SCOPE_LOCAL && plan->store->u.store.buffer->scope != SCOPE_LOCAL)
        /* a register for each lane: a struct of registers would be stored piece by piece */
        return true;
    WideLoad load = {e, first_lane(c, b, e->u.load.index, plan->var)};
    VEC_PUSH(c->arena, &plan->loads, load);
    return load.first &&
           (plan->copies || moves_words(plan, e) || has_type(c, b->type, plan->lanes));
}

/* The loads from number `first` on run for all lanes, though `e` may leave them out: they run in
 * any case, or read inputs where data decide, which the vectorize pass has proved to exist. */
static bool run_anyway(const VectorPlan *plan, const Expr *e, int first)
{
    for (int i = first; i < plan->loads.n; i++) {
        const Expr *load = plan->loads.items[i].load;
        bool early = load->u.load.buffer->role == ROLE_IN && expr_has_load(e->u.arg[0]);
        if (!early && !expr_reads_certainly(plan->value, load))
            return false;
    }
    return true;
}

/* Plans the wide loads of `e`; false where one has no form. */
static bool plan_loads(Context *c, VectorPlan *plan, Expr *e)
{
    if (e->kind == EX_LOAD && subscripts_use(e, plan->var))
        return plan_load(c, plan, e);
    int certain = packed_certain_operands(e), made = plan->loads.n;
    for (int i = 0; i < expr_operands(e); i++) {
        if (!plan_loads(c, plan, expr_operand(e, i)))
            return false;
        made = i < certain ? plan->loads.n : made;
    }
    return run_anyway(plan, e, made);
}

bool vector_plan(Context *c, const ForStmt *loop, VectorPlan *plan)
{
    const Stmt *s = stmt_single_store(loop->body);
    int64_t lo;
    *plan = (VectorPlan){.var = loop->var};
    if (loop->kind != LOOP_VECTORIZE || !s || s->u.store.atomic ||
        !loop_const_extent(loop, &plan->lanes) || !expr_is_const(loop->lo, &lo) || lo != 0 ||
        loop->step != 1)
        return false;
    const Buffer *to = s->u.store.buffer;
    plan->store = s;
    plan->first = first_lane(c, to, s->u.store.index, loop->var);
    plan->value = stored_value(c, s);
    plan->copies = !store_updates(s->u.store.op) && plan->value->kind == EX_LOAD &&
                   plan->value->type == to->type && subscripts_use(plan->value, loop->var) &&
                   (plan->value->u.load.buffer->scope != SCOPE_LOCAL || to->scope == SCOPE_LOCAL);
    const Expr *copied =
        s->u.store.op == STORE_ASYNC ? expr_copied_or(plan->value, &plan->where) : NULL;
    plan->fills = copied && plan->where && !expr_uses_var(plan->where, loop->var);
    bool planned = plan_loads(c, plan, plan->fills ? (Expr *)copied : plan->value);
    int64_t bytes = plan->lanes * type_bytes(to->type);
    plan->packs =
        type_bytes(to->type) <= 2 && vector_word(bytes) && !vector_type(c, to->type, plan->lanes);
    bool has_form = has_type(c, to->type, plan->lanes) || (plan->copies && vector_word(bytes)) ||
                    (plan->fills && moves_words(plan, copied));
    return plan->first && has_form && planned;
}
