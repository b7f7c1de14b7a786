/* split_product.c - Implements split_product: computes a product of f32 from parts of its factors
 * that TF32 holds.
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
 * Legal: the block adds the product of two different elements, or of such behind a condition with 0
 * on its other side, to a buffer of f32 that lets products keep 19 digits or fewer.
 * Invariant: the sum differs from that of the products by what its buffer allows. */
#include "passes/schedule/copies/stage.h"

enum { DIGITS_KEPT = 19 };

/* A factor: an element, or one that a condition chooses. */
typedef struct {
    Expr *value;
    const Expr *load;
    Buffer *rest;
} Factor;

typedef struct {
    Schedule *s;
    const PrimCall *call;
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

static bool find_product(Split *p, Stmt *block, Span span)
{
    Schedule *s = p->s;
    p->store = flow_single_store(s->ctx, block);
    const Expr *value =
        p->store && p->store->u.store.op == STORE_ADD ? p->store->u.store.value : NULL;
    bool good = value && value->kind == EX_MUL && value->type == DT_F32;
    for (int i = 0; good && i < 2; i++) {
        p->factor[i] = (Factor){.value = value->u.arg[i], .load = element_of(value->u.arg[i])};
        good = p->factor[i].load != NULL;
    }
    REQUIRE(s, E0853, span, good,
            "block '%s' does not add a product of two elements of f32: C[i, j] += A[i, k] * "
            "B[k, j]",
            block->u.block.name);
    const Buffer *to = p->store->u.store.buffer;
    REQUIRE(s, E0853, span, to->digits.products && to->digits.products <= DIGITS_KEPT,
            "products that are added to '%s' have %d digits, and split ones keep %d; the program "
            "allows them if it declares '%s' with product_digits(%d)",
            to->name, to->digits.products ? to->digits.products : type_info(to->type)->digits,
            DIGITS_KEPT, to->name, DIGITS_KEPT);
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

/* A block that computes the rests of what the block reads of the factor's buffer. */
static Stmt *rests_of(Split *p, Stmt *block, Factor *factor)
{
    Buffer *from = factor->load->u.load.buffer;
    factor->rest = stage_buffer(p->s, from, "rest", SCOPE_GLOBAL, p->call->span);
    Rewriter rewriter = {.ctx = p->s->ctx, .expr = rest_of_load};
    BoxCopy copy = {
        .block = factor->rest->name, .to = factor->rest, .from = from, .span = block->span};
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
    return e->kind == EX_LOAD ? expr_load_like(r->ctx, e, factor->rest, e->u.load.index) : e;
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

/* The block with the sum of three products in the place of one. */
static Stmt *in_three_parts(Split *p, const Stmt *block)
{
    Context *c = p->s->ctx;
    Expr *x = p->factor[0].value, *y = p->factor[1].value;
    Expr *first = times(c, x, y), *second = times(c, x, rest_of(c, &p->factor[1]));
    Expr *third = times(c, rest_of(c, &p->factor[0]), y);
    Expr *sum =
        expr_binary(c, EX_ADD, first, expr_binary(c, EX_ADD, second, third, x->span), x->span);
    const StoreStmt *store = &p->store->u.store;
    BlockStmt now = block->u.block;
    now.body = stmt_store_like(c, p->store, store->buffer, store->index, sum);
    return stmt_stamp(stmt_block(c, &now, block->span), block);
}

bool prim_split_product(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    StagePlace place = {0};
    Split p = {.s = s, .call = call};
    Span span = call->split_product.block.span;
    Stmt *block = sched_node(s, &call->split_product.block, NULL);
    if (!find_product(&p, block, span) || !find_place(&p, block, span, &place))
        return false;

    Factor *first = &p.factor[0], *second = &p.factor[1];
    bool square = first->load->u.load.buffer == second->load->u.load.buffer;
    Stmt *rests[2] = {rests_of(&p, block, first)};
    if (square)
        second->rest = first->rest;
    else
        rests[1] = rests_of(&p, block, second);
    Stmt *before = stmt_seq(c, rests, square ? 1 : 2, block->span);
    Stmt *body =
        stmt_replace(c, s->kernel->body, place.parent, stage_insert(s, &place, before, NULL));
    body = stmt_replace(c, body, block, in_three_parts(&p, block));
    for (int i = 0; i < (square ? 1 : 2); i++)
        body = flow_declare_beside(s, body, p.factor[i].load->u.load.buffer, p.factor[i].rest);
    sched_replace_body(s, body);

    Value blocks[2] = {value_block(stmt_nest_block(rests[0]))};
    if (!square)
        blocks[1] = value_block(stmt_nest_block(rests[1]));
    *result = value_list(s, blocks, square ? 1 : 2);
    return true;
}
