/* split_product.c - Implements split_product: computes a product of f32 from parts of its factors
 * that TF32 holds, or from its factors rounded to bf16 or f16.
 *
 *   C[i] += A[i] * B[i]   =>   C[i] += tf32_rz(A[i]) * tf32_rz(B[i])
 *                                  + (tf32_rz(A[i]) * tf32_rz(B_rest[i])
 *                                     + tf32_rz(A_rest[i]) * tf32_rz(B[i]))
 *
 * with A_rest[i] = A[i] - tf32_rz(A[i]), which a block of its own computes, and so for B. A part
 * keeps the 11 digits that tf32_rz does not cut off. What is left out of x y is at most 2^-20 of it
 * for each rest that is cut off, and for the product of both rests: 3 * 2^-20 < 2^-18, so that 19
 * digits are kept. (Markidis et al., NVIDIA Tensor Core Programmability, Performance and Precision,
 * IPDPSW 2018, and Ootomo and Yokota, Recovering single precision accuracy from Tensor Cores,
 * IJHPCA 2022, split factors in this way.)
 *
 * With bf16, each factor that is not of that type is rounded to its 8 digits, which is off by 2^-9
 * of it at most, so that 2^-7 of the product covers both: 8 digits are kept. f16 keeps 11, but
 * below 2^-14 its numbers are multiples of 2^-24, and above 65504 there are none: such factors are
 * weights that rolling_update has made, which are at most 1.
 *
 *   C[i] += A[i] * B[i]   =>   C[i] += f32(A_bf16[i]) * f32(B_bf16[i])
 *
 * Legal: the block adds the product of two different elements, or of such behind a condition with
 * 0 on its other side, to a buffer of f32 that lets products keep 19 digits or fewer, with bf16 8,
 * with f16 11. Factors that are rounded to f16 are from 0 to 1.
 * Invariant: the sum differs from that of the products by what its buffer allows. */
#include "passes/schedule/copies/stage.h"

/* A factor: an element, or one that a condition chooses; or one of the type that others are rounded
 * to, which has no element to be rounded. */
typedef struct {
    Expr *value;
    const Expr *load;
    Buffer *rest; /* what TF32 loses; or the rounded elements */
} Factor;

typedef struct {
    Schedule *s;
    const PrimCall *call;
    bool rounds; /* to this type: */
    DType type;
    int digits; /* that are kept */
    const Stmt *store;
    Factor factor[2];
} Split;

static bool is_zero(const Expr *e)
{
    return e->kind == EX_FLOAT && e->u.f == 0;
}

/* The load of an element, also as one side of a choice whose other side is 0; else NULL. */
static const Expr *element_of(const Expr *e)
{
    if (e->kind == EX_SELECT && is_zero(e->u.arg[2]))
        return element_of(e->u.arg[1]);
    if (e->kind == EX_SELECT && is_zero(e->u.arg[1]))
        return element_of(e->u.arg[2]);
    return e->kind == EX_LOAD ? e : NULL;
}

static bool is_of(DType type, const Expr *e)
{
    return e->kind == EX_CAST && e->u.arg[0]->type == type;
}

static bool find_type(Split *p)
{
    const Value *type = &p->call->split_product.type;
    p->rounds = type->kind == VALUE_STRING;
    p->type = p->rounds ? type_find(type->u.s) : DT_F32;
    REQUIRE_WORD(p->s, E0853, type->span, !p->rounds || p->type == DT_BF16 || p->type == DT_F16,
                 "a product is computed from parts that TF32 holds, or, with bf16 or f16, from "
                 "rounded factors; found '%s'",
                 type->u.s);
    p->digits = p->rounds ? type_info(p->type)->digits : 19;
    return true;
}

static bool find_product(Split *p, Stmt *block, Span span)
{
    Schedule *s = p->s;
    p->store = flow_single_store(s->ctx, block);
    const Expr *value =
        p->store && p->store->u.store.op == STORE_ADD ? p->store->u.store.value : NULL;
    bool good = value && value->kind == EX_MUL && value->type == DT_F32;
    for (int i = 0; good && i < 2; i++) {
        p->factor[i] = (Factor){.value = value->u.arg[i], .load = element_of(value->u.arg[i])};
        good = p->factor[i].load || (p->rounds && is_of(p->type, p->factor[i].value));
    }
    REQUIRE(s, E0853, span, good && (p->factor[0].load || p->factor[1].load),
            "block '%s' does not add a product of two elements of f32: C[i, j] += A[i, k] * "
            "B[k, j]",
            block->u.block.name);
    const Buffer *to = p->store->u.store.buffer;
    REQUIRE(s, E0853, span, to->digits.products && to->digits.products <= p->digits,
            "products that are added to '%s' have %d digits, and split ones keep %d; the program "
            "allows them if it declares '%s' with product_digits(%d)",
            to->name, to->digits.products ? to->digits.products : type_info(to->type)->digits,
            p->digits, to->name, p->digits);
    return true;
}

/* f16 has no numbers above 65504, and fewer digits near 0. */
static bool check_range(Split *p, Stmt *block, Span span)
{
    for (int i = 0; p->rounds && p->type == DT_F16 && i < 2; i++) {
        const Expr *load = p->factor[i].load;
        REQUIRE(
            p->s, E0853, span, !load || load->u.load.buffer->is_weight,
            "elements of '%s', a factor of block '%s', may be beyond the range of f16: it takes "
            "weights of rolling_update, exp(F(x - m)) where F multiplies by what is known not "
            "to be negative; bf16 has the range of f32",
            load->u.load.buffer->name, block->u.block.name);
    }
    return true;
}

static Expr *part(Context *c, Expr *e)
{
    return expr_call(c, CALL_TF32_RZ, &e, e->span);
}

static Expr *rest_of_load(Rewriter *r, Expr *e)
{
    return e->kind == EX_LOAD ? expr_binary(r->ctx, EX_SUB, e, part(r->ctx, e), e->span) : e;
}

/* The copy stores elements of a narrower type. */
static Stmt *rounded_copy(Rewriter *r, Stmt *s)
{
    if (s->kind != ST_STORE)
        return s;
    StoreStmt store = s->u.store;
    store.buffer = r->user;
    store.value = expr_cast(r->ctx, store.buffer->type, store.value, s->span);
    return stmt_store(r->ctx, &store, s->span);
}

/* What an iteration of the innermost loop around the place reads of a buffer that the kernel
 * writes: elsewhere, elements may not be there yet. NULL: all of it. */
static const Interval *box_at(Split *p, const StagePlace *place, const Buffer *from)
{
    Schedule *s = p->s;
    StmtPath path = stmt_path_to(s->ctx, s->kernel->body, place->parent);
    while (path.n > 0 && path_end(&path)->kind != ST_FOR)
        path.n--;
    if (path.n == 0 || from->role == ROLE_IN)
        return NULL;
    BoxOf of = {&path, from, ACCESS_READ, SCOPE_GLOBAL};
    Interval *box = ARENA_ARRAY(s->ctx->arena, Interval, from->rank + 1);
    Facts *facts = sched_facts(s, &path);
    facts_enter(facts, path_end(&path));
    return stage_box(s, facts, &of, box) ? box : NULL;
}

/* A block that computes the rests of what the block reads of the factor's buffer, or rounds it. */
static Stmt *rests_of(Split *p, Stmt *block, Factor *factor, const StagePlace *place)
{
    Context *c = p->s->ctx;
    Buffer *from = factor->load->u.load.buffer;
    Buffer *to = stage_buffer(p->s, from, p->rounds ? type_info(p->type)->name : "rest",
                              SCOPE_GLOBAL, p->call->span);
    factor->rest = p->rounds ? buffer_copy(c, to) : to;
    if (p->rounds)
        factor->rest->type = p->type;
    Rewriter rewriter = {.ctx = c,
                         .user = factor->rest,
                         .expr = p->rounds ? NULL : rest_of_load,
                         .stmt = p->rounds ? rounded_copy : NULL};
    BoxCopy copy = {.block = to->name,
                    .to = to,
                    .from = from,
                    .box = box_at(p, place, from),
                    .span = block->span};
    return rewrite_stmt(&rewriter, stage_copy_box(p->s, block, &copy));
}

/* The place in front of the block where what it reads of both factors is known. */
static bool find_place(Split *p, Stmt *block, Span span, StagePlace *place)
{
    Schedule *s = p->s;
    BlockList users = {0};
    BufferSet staged = {0};
    VEC_PUSH(s->ctx->arena, &users, block);
    for (int i = 0; i < 2; i++) {
        if (!p->factor[i].load)
            continue;
        const Buffer *from = p->factor[i].load->u.load.buffer;
        if (!flow_require_fixed_shape(s, from, E0853, span))
            return false;
        VEC_PUSH(s->ctx->arena, &staged, from);
    }
    REQUIRE(s, E0853, span, stage_place(s, &users, &staged, ACCESS_WRITE, place),
            "block '%s' also writes its factors, so their rests are not known before it",
            block->u.block.name);
    return true;
}

static Expr *rest_in_place(Rewriter *r, Expr *e)
{
    const Factor *factor = r->user;
    if (e->kind != EX_LOAD)
        return e;
    Expr *rest = expr_load_like(r->ctx, e, factor->rest, e->u.load.index);
    return rest->type == e->type ? rest : expr_cast(r->ctx, e->type, rest, e->span);
}

static Expr *rest_of(Context *c, Factor *factor)
{
    Rewriter rewriter = {.ctx = c, .user = factor, .expr = rest_in_place};
    return rewrite_expr(&rewriter, factor->value);
}

static Expr *times(Context *c, Expr *x, Expr *y)
{
    return expr_binary(c, EX_MUL, part(c, x), part(c, y), x->span);
}

/* The sum of three products of parts. */
static Expr *in_three_parts(Split *p)
{
    Context *c = p->s->ctx;
    Expr *x = p->factor[0].value, *y = p->factor[1].value;
    Expr *first = times(c, x, y), *second = times(c, x, rest_of(c, &p->factor[1]));
    Expr *third = times(c, rest_of(c, &p->factor[0]), y);
    return expr_binary(c, EX_ADD, first, expr_binary(c, EX_ADD, second, third, x->span), x->span);
}

static Expr *rounded(Split *p, Factor *factor)
{
    return factor->load ? rest_of(p->s->ctx, factor) : factor->value;
}

/* The block that adds the product as it is computed now. */
static Stmt *with_product(Split *p, const Stmt *block)
{
    Context *c = p->s->ctx;
    const StoreStmt *store = &p->store->u.store;
    Expr *value = p->rounds ? expr_binary(c, EX_MUL, rounded(p, &p->factor[0]),
                                          rounded(p, &p->factor[1]), store->value->span)
                            : in_three_parts(p);
    BlockStmt now = block->u.block;
    now.body = stmt_store_like(c, p->store, store->buffer, store->index, value);
    return stmt_stamp(stmt_block(c, &now, block->span), block);
}

bool prim_split_product(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    StagePlace place = {0};
    Split p = {.s = s, .call = call};
    Span span = call->split_product.block.span;
    Stmt *block = sched_node(s, &call->split_product.block, NULL);
    if (!find_type(&p) || !find_product(&p, block, span) || !check_range(&p, block, span) ||
        !find_place(&p, block, span, &place))
        return false;

    Stmt *rests[2];
    const Factor *of[2];
    Value blocks[2];
    int n = 0;
    for (int i = 0; i < 2; i++) {
        Factor *factor = &p.factor[i];
        if (n > 0 && factor->load && factor->load->u.load.buffer == of[0]->load->u.load.buffer) {
            factor->rest = of[0]->rest;
        } else if (factor->load) {
            rests[n] = rests_of(&p, block, factor, &place);
            of[n++] = factor;
        }
    }
    Stmt *before = stmt_seq(c, rests, n, block->span);
    Stmt *body =
        stmt_replace(c, s->kernel->body, place.parent, stage_insert(s, &place, before, NULL));
    body = stmt_replace(c, body, block, with_product(&p, block));
    for (int i = 0; i < n; i++)
        body = flow_declare_beside(s, body, of[i]->load->u.load.buffer, of[i]->rest);
    sched_replace_body(s, body);

    for (int i = 0; i < n; i++)
        blocks[i] = value_block(stmt_nest_block(rests[i]));
    *result = value_list(s, blocks, n);
    return true;
}
