/* size_sum.c - Bounds index arithmetic by sums of products of symbolic sizes with rational factors.
 */
#include "passes/analysis/symbolic/size_sum.h"

#include <string.h>

#include "passes/analysis/symbolic/affine.h"

static bool same_sizes(const SizeTerm *a, const SizeTerm *b)
{
    return a->degree == b->degree &&
           !memcmp(a->sizes, b->sizes, (size_t)a->degree * sizeof a->sizes[0]);
}

/* Brings the factor num / den into lowest terms, with a den above 0; false where it does not
 * fit. */
static bool term_reduce(SizeTerm *t)
{
    if (t->num == INT64_MIN || t->den == INT64_MIN)
        return false;
    int64_t gcd = gcd64(t->num, t->den);
    gcd = t->den < 0 ? -gcd : gcd;
    t->num /= gcd;
    t->den /= gcd;
    return true;
}

/* *sum = a + b as factors. */
static bool factors_add(const SizeTerm *a, const SizeTerm *b, SizeTerm *sum)
{
    int64_t left, right;
    *sum = *a;
    return checked_mul(a->num, b->den, &left) && checked_mul(b->num, a->den, &right) &&
           checked_add(left, right, &sum->num) && checked_mul(a->den, b->den, &sum->den) &&
           term_reduce(sum);
}

/* Is the factor of a below that of b? In 128 bits. */
static bool factor_less(const SizeTerm *a, const SizeTerm *b)
{
    return (__int128)a->num * b->den < (__int128)b->num * a->den;
}

static const SizeTerm *find_term(const SizeSum *a, const SizeTerm *like)
{
    for (int i = 0; i < a->n; i++)
        if (same_sizes(&a->terms[i], like))
            return &a->terms[i];
    return NULL;
}

/* A sum under construction. */
typedef struct {
    int n;
    SizeTerm terms[SIZE_SUM_TERMS];
    bool lost; /* it has no room, or a number did not fit */
} Builder;

static void add_term(Builder *b, SizeTerm term)
{
    for (int i = 0; i < b->n && term.num != 0; i++) {
        SizeTerm *known = &b->terms[i];
        if (!same_sizes(known, &term))
            continue;
        SizeTerm sum;
        b->lost |= !factors_add(known, &term, &sum);
        *known = sum;
        if (sum.num == 0)
            *known = b->terms[--b->n];
        return;
    }
    if (term.num == 0)
        return;
    if (b->n == SIZE_SUM_TERMS)
        b->lost = true;
    else
        b->terms[b->n++] = term;
}

static const SizeSum *finish(Context *c, const Builder *b)
{
    if (b->lost)
        return NULL;
    SizeTerm *terms = ARENA_ARRAY(c->arena, SizeTerm, b->n + 1);
    memcpy(terms, b->terms, (size_t)b->n * sizeof *terms);
    SizeSum *p = ARENA_NEW(c->arena, SizeSum);
    *p = (SizeSum){b->n, terms};
    return p;
}

const SizeSum *size_sum_int(Context *c, int64_t value)
{
    Builder b = {.n = 0};
    add_term(&b, (SizeTerm){.num = value, .den = 1});
    return finish(c, &b);
}

const SizeSum *size_sum_of(Context *c, const Var *size)
{
    Builder b = {.n = 0};
    add_term(&b, (SizeTerm){.num = 1, .den = 1, .degree = 1, .sizes = {size}});
    return finish(c, &b);
}

const SizeSum *size_sum_scale(Context *c, const SizeSum *a, int64_t num, int64_t den)
{
    Builder b = {.lost = !a};
    for (int i = 0; !b.lost && i < a->n; i++) {
        SizeTerm t = a->terms[i];
        b.lost = !checked_mul(t.num, num, &t.num) || !checked_mul(t.den, den, &t.den) ||
                 !term_reduce(&t);
        add_term(&b, t);
    }
    return finish(c, &b);
}

const SizeSum *size_sum_add(Context *c, const SizeSum *a, const SizeSum *b)
{
    Builder sum = {.lost = !a || !b};
    for (int i = 0; !sum.lost && i < a->n; i++)
        add_term(&sum, a->terms[i]);
    for (int i = 0; !sum.lost && i < b->n; i++)
        add_term(&sum, b->terms[i]);
    return finish(c, &sum);
}

const SizeSum *size_sum_sub(Context *c, const SizeSum *a, const SizeSum *b)
{
    return size_sum_add(c, a, size_sum_scale(c, b, -1, 1));
}

/* The product of two terms; false where it has too many sizes or does not fit. */
static bool terms_multiply(const SizeTerm *a, const SizeTerm *b, SizeTerm *out)
{
    *out = *a;
    if (a->degree + b->degree > SIZE_SUM_DEGREE || !checked_mul(a->num, b->num, &out->num) ||
        !checked_mul(a->den, b->den, &out->den))
        return false;
    for (int i = 0; i < b->degree; i++) {
        int at = out->degree++;
        for (; at > 0 && out->sizes[at - 1]->id > b->sizes[i]->id; at--)
            out->sizes[at] = out->sizes[at - 1];
        out->sizes[at] = b->sizes[i];
    }
    return term_reduce(out);
}

const SizeSum *size_sum_mul(Context *c, const SizeSum *a, const SizeSum *b)
{
    Builder product = {.lost = !a || !b};
    for (int i = 0; !product.lost && i < a->n; i++)
        for (int j = 0; !product.lost && j < b->n; j++) {
            SizeTerm t;
            if (terms_multiply(&a->terms[i], &b->terms[j], &t))
                add_term(&product, t);
            else
                product.lost = true;
        }
    return finish(c, &product);
}

const SizeSum *size_sum_div_size(Context *c, const SizeSum *a, const Var *size)
{
    Builder b = {.lost = !a};
    for (int i = 0; !b.lost && i < a->n; i++) {
        SizeTerm t = a->terms[i];
        int at = 0;
        while (at < t.degree && t.sizes[at] != size)
            at++;
        if (at == t.degree && t.num < 0)
            continue;
        if (at < t.degree)
            memmove(&t.sizes[at], &t.sizes[at + 1], (size_t)(--t.degree - at) * sizeof t.sizes[0]);
        add_term(&b, t);
    }
    return finish(c, &b);
}

/* Of each term the larger (or smaller) factor of both; one that is missing is 0. */
static const SizeSum *pick(Context *c, const SizeSum *a, const SizeSum *b, bool larger)
{
    Builder out = {.lost = !a || !b};
    for (int side = 0; !out.lost && side < 2; side++) {
        const SizeSum *own = side ? b : a, *other = side ? a : b;
        for (int i = 0; i < own->n; i++) {
            SizeTerm t = own->terms[i], zero = {.den = 1};
            const SizeTerm *match = find_term(other, &t);
            if (match && side)
                continue; /* seen from the other side */
            if (factor_less(&t, match ? match : &zero) == larger)
                t.num = match ? match->num : 0, t.den = match ? match->den : 1;
            add_term(&out, t);
        }
    }
    return finish(c, &out);
}

const SizeSum *size_sum_above(Context *c, const SizeSum *a, const SizeSum *b)
{
    return pick(c, a, b, true);
}

const SizeSum *size_sum_below(Context *c, const SizeSum *a, const SizeSum *b)
{
    return pick(c, a, b, false);
}

const SizeSum *size_sum_positive(Context *c, const SizeSum *a)
{
    return a && size_sum_is_positive(a) ? a : size_sum_above(c, a, size_sum_int(c, 0));
}

bool size_sum_is_positive(const SizeSum *a)
{
    for (int i = 0; i < a->n; i++)
        if (a->terms[i].num < 0)
            return false;
    return true;
}

bool size_sum_within(const SizeSum *a, const SizeSum *b)
{
    for (int i = 0; i < a->n; i++) {
        const SizeTerm *match = find_term(b, &a->terms[i]);
        if (!match || factor_less(match, &a->terms[i]))
            return false;
    }
    return true;
}
