/* poly_order.c - Relates the elements of inputs: those with equal subscripts, and those whose order
 * the `where` clause promises.
 *
 *   len[b], len[b]         one value, such as the end of two loops
 *
 *   where ptr is nondecreasing
 *
 *   ptr[i + 1], ptr[j]     i + 1 < j and ptr[i + 1] <= ptr[j], or i + 1 == j and the two are equal,
 *                          or i + 1 > j and ptr[i + 1] >= ptr[j]
 *
 * An input is an uninterpreted function of its subscript. A system instantiates the promise for
 * each pair of elements that it reads, so two instances of a block see it for their rows: the runs
 * ptr[i] .. ptr[i + 1] and ptr[j] .. ptr[j + 1] are disjoint for i < j. Every integer subscript has
 * a value, because a value may stand in a branch that is not taken. A nondecreasing list extends
 * beyond its ends by its first and last element. The other orders hold between two elements inside
 * of the buffer only.
 *
 * Invariant: every run that satisfies the clause still solves the system. Only inputs count, which
 * no kernel writes; the elements of an `inout` have their order when the kernel starts. */
#include "passes/analysis/polyhedral/poly.h"

/* More elements of one system are not related: each pair multiplies the cases. */
enum { MOST_ELEMENTS = 16 };

/* The order of the elements of a buffer that loads may use; ORDER_COUNT: none. An u64 may exceed
 * what an index holds. */
static Order order_of(const Poly *p, const Buffer *buffer)
{
    for (int i = 0; p->kernel && buffer->role == ROLE_IN && i < p->kernel->n_facts; i++) {
        const Fact *fact = &p->kernel->facts[i];
        if (fact->kind == FACT_ORDER && fact->subject.buffer->id == buffer->id &&
            buffer->type != DT_U64)
            return fact->order;
    }
    return ORDER_COUNT;
}

static bool is_sorted(Order order)
{
    return order == ORDER_NONDECREASING || order == ORDER_INCREASING;
}

/* The subscript lies outside of the buffer. */
static void add_outside(Poly *p, Conj *below, Conj *above, const Element *e)
{
    poly_at_most(p, below, e->at[0], affine_const(-1), 0);
    poly_at_most(p, above, poly_value(p, &p->fixed, e->buffer->shape[0]), e->at[0], 0);
}

/* One of two subscripts lies outside. */
static void one_outside(Poly *p, Conj *into, const Element *a, const Element *b)
{
    Conj **which = poly_choice(p, into, 4);
    add_outside(p, which[0], which[1], a);
    add_outside(p, which[2], which[3], b);
}

/* The subscript of `a` is the lower one, and so is its element. */
static void ascend(Poly *p, Conj *into, Order order, const Element *a, const Element *b)
{
    Affine value = a->value;
    if (order == ORDER_INCREASING) /* each element exceeds the one before by at least 1 */
        value = poly_add(p, value, poly_add(p, b->at[0], a->at[0], -1), 1);
    poly_at_most(p, into, a->at[0], b->at[0], -1);
    poly_at_most(p, into, value, b->value, 0);
}

static void relate_sorted(Poly *p, Order order, const Element *a, const Element *b)
{
    Bounds apart = affine_range(p, poly_add(p, b->at[0], a->at[0], -1));
    bool ahead = apart.min >= 1;
    if (order == ORDER_NONDECREASING && (ahead || apart.max <= -1)) { /* without a choice */
        poly_at_most(p, &p->top, ahead ? a->value : b->value, ahead ? b->value : a->value, 0);
        return;
    }
    Conj **which = poly_choice(p, &p->top, order == ORDER_INCREASING ? 4 : 3);
    ascend(p, which[0], order, a, b);
    poly_equal(p, which[1], a->at[0], b->at[0]);
    poly_equal(p, which[1], a->value, b->value);
    ascend(p, which[2], order, b, a);
    if (order == ORDER_INCREASING)
        one_outside(p, which[3], a, b);
}

static void relate_distinct(Poly *p, const Element *a, const Element *b)
{
    Conj **which = poly_choice(p, &p->top, 3);
    poly_equal(p, which[0], a->at[0], b->at[0]);
    poly_equal(p, which[0], a->value, b->value);
    poly_differ(p, which[1], a->at, b->at, 1);
    poly_differ(p, which[1], &a->value, &b->value, 1);
    one_outside(p, which[2], a, b);
}

/* The rows that the type of the elements says. */
static void assume_type(Poly *p, const Buffer *buffer, Affine value)
{
    Bounds type = bounds_of_type(buffer->type);
    if (!bounds_are_finite(type))
        return;
    poly_at_most(p, &p->top, affine_const(type.min), value, 0);
    poly_at_most(p, &p->top, value, affine_const(type.max), 0);
}

/* Sums of loops and sizes, and quotients and remainders of such, which need no cases. */
static bool are_plain(Context *c, Expr *const *index, int rank)
{
    for (int i = 0; i < rank; i++)
        for (Cursor at = cursor_expr(c, index[i]); cursor_next(&at);)
            if (at.expr->kind != EX_VAR && at.expr->kind != EX_INT && at.expr->kind != EX_ADD &&
                at.expr->kind != EX_SUB && at.expr->kind != EX_MUL && at.expr->kind != EX_DIV &&
                at.expr->kind != EX_MOD)
                return false;
    return true;
}

/* The subscripts of a load; NULL: the system does not keep what it reads. */
static const Affine *subscripts(Poly *p, const Env *env, const Expr *load, Order order)
{
    const Buffer *buffer = load->u.load.buffer;
    if (buffer->role != ROLE_IN || buffer->view_of ||
        (order == ORDER_COUNT && !are_plain(p->ctx, load->u.load.index, buffer->rank)))
        return NULL;
    Affine *at = ARENA_ARRAY(p->ctx->arena, Affine, buffer->rank + 1);
    for (int i = 0; i < buffer->rank; i++)
        at[i] = poly_value(p, env, load->u.load.index[i]);
    return at;
}

/* The number of the element with equal subscripts; -1: there is none. */
static int find_element(const Poly *p, const Buffer *buffer, const Affine *at)
{
    for (int i = 0; i < p->elements.n; i++) {
        const Element *known = &p->elements.items[i];
        int n = 0;
        while (known->buffer->id == buffer->id && n < buffer->rank &&
               affine_equal(known->at[n], at[n]))
            n++;
        if (known->buffer->id == buffer->id && n == buffer->rank)
            return i;
    }
    return -1;
}

static void relate(Poly *p, Order order, const Element *own)
{
    for (int i = 0; i < p->elements.n && p->elements.n < MOST_ELEMENTS; i++) {
        const Element *other = &p->elements.items[i];
        if (other->buffer->id != own->buffer->id)
            continue;
        if (is_sorted(order))
            relate_sorted(p, order, other, own);
        else
            relate_distinct(p, other, own);
    }
    assume_type(p, own->buffer, own->value);
}

Affine poly_element(Poly *p, const Env *env, const Expr *load)
{
    const Buffer *buffer = load->u.load.buffer;
    Order order = order_of(p, buffer);
    Element own = {.buffer = buffer, .at = subscripts(p, env, load, order)};
    int known = own.at ? find_element(p, buffer, own.at) : -1;
    if (known >= 0) {
        p->inexact |= known >= p->n_given;
        p->lost |= known >= p->n_given;
        return p->elements.items[known].value;
    }
    own.value = poly_unknown(p);
    poly_assume_values(p, buffer, own.value);
    if (own.at && order != ORDER_COUNT)
        relate(p, order, &own);
    if (own.at)
        VEC_PUSH(p->ctx->arena, &p->elements, own);
    return own.value;
}
