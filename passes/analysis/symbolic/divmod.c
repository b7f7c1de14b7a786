/* divmod.c - Simplifies quotients and remainders from what is known about their operands.
 *
 *   (io * 32 + ii) / 32        ->  io                  for 0 <= ii < 32
 *   (io * 32 + ii) % 32        ->  ii
 *   (x / 4) / 8                ->  x / 32
 *   x / 32 * 32 + x % 32       ->  x,  also with a symbolic divisor
 *   x / W % H * W + x % W      ->  x % (H * W)
 *   (N + 31) / 32              ->  N / 32              where N % 32 == 0 is known
 *   (i * 4 + k) / W            ->  i * 4 / W           where W % 4 == 0 is known, for 0 <= k < 4
 *   (i * 2 + k - k % 2) % 2    ->  0,  and a quotient of multiples is taken apart, too
 *
 * Division truncates.  Where the dividend is proved to be at least 0 it is the floor, and the
 * multiples of the divisor can be taken out; the rest must be at least 0 too, or have one known
 * quotient. */
#include "passes/analysis/symbolic/affine.h"
#include "passes/analysis/symbolic/mixed_radix.h"

/* What a division is pushed to: out += scale * (a / d), or of a % d, with a, d and scale as each
 * function has them. */
typedef struct {
    Facts *f;
    Affine *out;
    bool mod;
    Span span;
} Division;

static bool push_atom(const Division *p, const Affine *a, Expr *divisor, int64_t scale)
{
    Context *c = p->f->c;
    Expr *atom =
        expr_binary(c, p->mod ? EX_MOD : EX_DIV, affine_expr(c, a, p->span), divisor, p->span);
    return affine_push(c, p->out, scale, atom);
}

static bool push_const_quotient(const Division *p, const Affine *a, int64_t d, int64_t scale);

/* (x / k) / d = x / (k * d) and (x % k) % d = x % d for d dividing k, whatever the signs. */
static bool nested_dividend(Facts *f, const Affine *a, int64_t *d, bool mod, Affine *x)
{
    int64_t k;
    if (a->n != 1 || a->constant != 0 || a->terms[0].factor != 1)
        return false;
    const Expr *atom = a->terms[0].atom;
    if (atom->kind != (mod ? EX_MOD : EX_DIV) || !expr_is_const(atom->u.arg[1], &k) || k <= 0)
        return false;
    if (mod ? k % *d != 0 : !checked_mul(k, *d, d))
        return false;
    return affine_of(f->c, atom->u.arg[0], PRODUCTS_KEPT, x);
}

/* What is left to divide may be a quotient itself. */
static bool push_const_atom(const Division *p, const Affine *a, int64_t d, int64_t scale)
{
    Affine x;
    if (nested_dividend(p->f, a, &d, p->mod, &x))
        return push_const_quotient(p, &x, d, scale);
    return push_atom(p, a, expr_int(p->f->c, DT_INDEX, d, p->span), scale);
}

/* The multiples of d that the first value of a form lies between. */
typedef struct {
    int64_t d, quotient;
    bool known;
} Quotient;

/* The value lies between other ones. */
static bool has_other_quotient(void *first, int64_t value)
{
    Quotient *q = first;
    int64_t quotient = floor_div64(value, q->d);
    bool other = q->known && quotient != q->quotient;
    q->quotient = quotient;
    q->known = true;
    return other;
}

/* The tightest range is looked for where it may be within one multiple of d. */
static Bounds range_of(void *user, const Affine *a, int64_t d)
{
    Facts *f = user;
    Bounds b = bounds_of_affine(f, a);
    bool within = bounds_are_finite(b) && floor_div64(b.min, d) == floor_div64(b.max, d);
    if (!within && !points_find(f, a, has_other_quotient, &(Quotient){.d = d})) {
        Question q = facts_ask(f);
        b = bounds_tight(f, a);
        facts_answered(f, &q);
    }
    return b;
}

static Expr *divided_atom(void *user, Expr *atom, int64_t by)
{
    Facts *f = user;
    return facts_divisible(f, atom, by)
               ? expr_binary(f->c, EX_DIV, atom, expr_index(f->c, by), atom->span)
               : NULL;
}

static Radix radix_of(Facts *f)
{
    return (Radix){f->c, f, divided_atom, range_of};
}

/* All numbers of a / d have a common divisor: it cancels, whatever the signs. */
static bool push_cancelled(const Division *p, const Affine *a, int64_t d, int64_t scale)
{
    int64_t g = gcd64(gcd64(affine_gcd(*a), a->constant), d);
    if (g <= 1)
        return push_const_atom(p, a, d, scale);
    Affine less = affine_divide(p->f->c, *a, g);
    return (!p->mod || checked_mul(scale, g, &scale)) &&
           push_const_quotient(p, &less, d / g, scale);
}

/* In a remainder by d of something non-negative, x % k stands for x if d divides k. */
static bool strip_remainders(Facts *f, const Affine *a, int64_t d, Affine *out)
{
    bool found = false;
    *out = (Affine){.constant = a->constant};
    for (int t = 0; t < a->n; t++) {
        Expr *atom = a->terms[t].atom;
        int64_t k, factor = a->terms[t].factor;
        bool strip = atom->kind == EX_MOD && expr_is_const(atom->u.arg[1], &k) && k > 0 &&
                     factor > 0 && k % d == 0 && bounds_nonneg(f, atom->u.arg[0]);
        if (!(strip ? affine_collect(f->c, atom->u.arg[0], factor, PRODUCTS_KEPT, out)
                    : affine_push(f->c, out, factor, atom)))
            return false;
        found = found || strip;
    }
    return found && affine_normalize(out);
}

/* a / d for a = width * high + low:  high / (d / width),  and  a % d = high % (d / width) * width +
 * low. */
static bool push_parts(const Division *p, const Affine *high, const Affine *low, int64_t width,
                       int64_t d, int64_t scale)
{
    int64_t step = scale;
    return (!p->mod || (affine_push_scaled(p->f->c, p->out, low, scale) &&
                        checked_mul(scale, width, &step))) &&
           push_const_quotient(p, high, d / width, step);
}

/* a >= 0 and d > 1. */
static bool push_floor(const Division *p, const Affine *a, int64_t d, int64_t scale)
{
    Facts *f = p->f;
    Radix r = radix_of(f);
    Affine multiple, rest, high, low;
    if (radix_take_low(&r, a, d, &multiple, &rest))
        return push_parts(p, &multiple, &rest, d, d, scale);
    if (rest.constant < 0 && multiple.n > 0 && !prove_nonneg(f, &rest)) {
        rest.constant += d;
        multiple.constant -= 1;
    }
    if (!prove_nonneg(f, &rest)) {
        rest = *a;
        multiple = (Affine){0};
    }
    if (!p->mod && !affine_push_scaled(f->c, p->out, &multiple, scale))
        return false;
    int64_t width = radix_coarsen(&r, &rest, d, &high, &low);
    return width > 1 ? push_parts(p, &high, &low, width, d, scale)
                     : push_const_atom(p, &rest, d, scale);
}

static bool push_const_quotient(const Division *p, const Affine *a, int64_t d, int64_t scale)
{
    Facts *f = p->f;
    Affine x, multiple, rest;
    if (d == 0 || d == INT64_MIN)
        return push_atom(p, a, expr_int(f->c, DT_INDEX, d, p->span), scale);
    if (d < 0) {
        d = -d;
        if (!p->mod && !checked_mul(scale, -1, &scale))
            return false;
    }
    if (a->n == 0) {
        Affine folded = {.constant = p->mod ? a->constant % d : a->constant / d};
        return affine_push_scaled(f->c, p->out, &folded, scale);
    }
    if (d == 1)
        return p->mod || affine_push_scaled(f->c, p->out, a, scale);
    if (nested_dividend(f, a, &d, p->mod, &x))
        return push_const_quotient(p, &x, d, scale);
    Radix r = radix_of(f);
    if (!radix_split(&r, a, d, &multiple, &rest))
        return false;
    if (rest.n == 0 && rest.constant == 0)
        return p->mod || affine_push_scaled(f->c, p->out, &multiple, scale);
    bool is_multiple = affine_is_multiple(f, &rest, d);
    if (is_multiple && p->mod)
        return true;
    if (is_multiple && (multiple.n > 0 || multiple.constant != 0))
        return affine_push_scaled(f->c, p->out, &multiple, scale) &&
               push_const_quotient(p, &rest, d, scale);
    if (!prove_nonneg(f, a))
        return push_cancelled(p, a, d, scale);
    if (p->mod && strip_remainders(f, a, d, &x) && prove_nonneg(f, &x))
        a = &x;
    return push_floor(p, a, d, scale);
}

/* ---- symbolic divisors ----------------------------------------------------------------------- */

static bool is_symbolic_quotient(const Expr *e)
{
    int64_t value;
    return e->kind == EX_DIV && e->type == DT_INDEX && !expr_is_const(e->u.arg[1], &value);
}

Expr *index_join_divisors(Context *c, Expr *e)
{
    if (!is_symbolic_quotient(e) || !is_symbolic_quotient(e->u.arg[0]))
        return e;
    Expr *x = e->u.arg[0]->u.arg[0], *a = e->u.arg[0]->u.arg[1];
    return expr_binary(c, EX_DIV, x, index_mul(c, e->u.arg[1], a), e->span);
}

static bool split_symbolic(Context *c, const Affine *a, Expr *divisor, Affine *multiple,
                           Affine *rest)
{
    *multiple = affine_const(0);
    *rest = affine_const(a->constant);
    for (int t = 0; t < a->n; t++) {
        Term term = a->terms[t];
        Expr *left = product_divide(c, term.atom, divisor);
        if (!(left ? affine_collect(c, left, term.factor, PRODUCTS_KEPT, multiple)
                   : affine_push(c, rest, term.factor, term.atom)))
            return false;
    }
    return affine_normalize(multiple);
}

/* 0 <= a and 0 <= rest < divisor. */
static bool rest_is_remainder(Facts *f, const Affine *a, const Affine *rest, Expr *divisor)
{
    Affine d, room;
    return prove_nonneg(f, rest) && affine_of(f->c, divisor, PRODUCTS_KEPT, &d) &&
           affine_combine(f->c, d, 1, *rest, -1, &room) &&
           checked_sub(room.constant, 1, &room.constant) && prove_nonneg(f, &room) &&
           prove_nonneg(f, a);
}

/* a = high + low, for high and divisor multiples of one width and low in 0..width, so that
 * a / divisor = high / divisor,  and  a % divisor = high % divisor + low. False where there is no
 * such low but 0. */
static bool split_below_divisor(Facts *f, const Affine *a, Expr *divisor, Affine *high, Affine *low)
{
    Radix r = radix_of(f);
    for (int t = 0; t < a->n; t++) {
        int64_t width = facts_common_divisor(f, divisor, a->terms[t].factor);
        Affine quotient;
        if (width > 1 && radix_take_low(&r, a, width, &quotient, low) &&
            (low->n > 0 || low->constant != 0)) {
            *high = (Affine){0};
            return affine_push_scaled(f->c, high, &quotient, width);
        }
    }
    return false;
}

static bool push_symbolic_quotient(const Division *p, const Affine *a, Expr *divisor, int64_t scale)
{
    Facts *f = p->f;
    Affine multiple, rest, high, low;
    if (!split_symbolic(f->c, a, divisor, &multiple, &rest))
        return false;
    bool exact = rest.n == 0 && rest.constant == 0;
    if (exact || rest_is_remainder(f, a, &rest, divisor))
        return affine_push_scaled(f->c, p->out, p->mod ? &rest : &multiple, scale);
    if (split_below_divisor(f, a, divisor, &high, &low) && prove_nonneg(f, a))
        return (!p->mod || affine_push_scaled(f->c, p->out, &low, scale)) &&
               push_symbolic_quotient(p, &high, divisor, scale);
    return push_atom(p, a, divisor, scale);
}

bool affine_push_quotient(Facts *f, Affine *out, const Affine *a, const Affine *b, bool mod,
                          int64_t scale, Span span)
{
    Division p = {f, out, mod, span};
    if (b->n == 0)
        return push_const_quotient(&p, a, b->constant, scale);
    Expr *divisor = affine_expr(f->c, b, span);
    bool single = b->n == 1 && b->constant == 0 && b->terms[0].factor == 1;
    if (single)
        return push_symbolic_quotient(&p, a, divisor, scale);
    if (rest_is_remainder(f, a, a, divisor))
        return !mod || affine_push_scaled(f->c, out, a, scale);
    return push_atom(&p, a, divisor, scale);
}

/* ---- putting together ------------------------------------------------------------------------ */

/* The literal divisor of a quotient or remainder, and what it divides; 0 for other atoms. */
static int64_t divided(const Expr *atom, ExprKind kind, Expr **x)
{
    int64_t d;
    if (atom->kind != kind || !expr_is_const(atom->u.arg[1], &d) || d <= 0)
        return 0;
    *x = atom->u.arg[0];
    return d;
}

static bool same(const Expr *a, const Expr *b)
{
    return expr_same(a, b);
}

/* x / d, in the form that it has for a quotient x: y / (k * d) for x = y / k. */
static bool is_quotient(const Expr *e, const Expr *x, int64_t d)
{
    Expr *y = NULL, *z = NULL;
    int64_t have = divided(e, EX_DIV, &y), k, whole;
    if (have == d && same(x, y))
        return true;
    k = divided(x, EX_DIV, &z);
    return have != 0 && k != 0 && checked_mul(k, d, &whole) && have == whole && same(y, z);
}

/* z % d = x % d: the same, or multiples of d were taken out of an x that is not negative. */
static bool same_remainder(Facts *f, Expr *z, Expr *x, int64_t d)
{
    Affine a, b, more;
    if (same(x, z))
        return true;
    return affine_of(f->c, z, PRODUCTS_KEPT, &a) && affine_of(f->c, x, PRODUCTS_KEPT, &b) &&
           affine_combine(f->c, a, 1, b, -1, &more) && more.n == 0 && more.constant > 0 &&
           more.constant % d == 0 && prove_nonneg(f, &b);
}

/* `upper` * d + (x % d) is one expression: `upper` is x / d, or a remainder of it.
 *   x / d                                     ->  x
 *   y / d for y = z % m, d dividing m         ->  y,  where x % d = z % d
 *   x / d % k                                 ->  x % (k * d) */
static Expr *rejoin(Facts *f, Expr *upper, Expr *x, int64_t d, Span span)
{
    Context *c = f->c;
    Expr *y, *z;
    int64_t whole;
    if (is_quotient(upper, x, d))
        return x;
    if (divided(upper, EX_DIV, &y) == d) {
        int64_t m = divided(y, EX_MOD, &z);
        return m != 0 && m % d == 0 && same_remainder(f, z, x, d) ? y : NULL;
    }
    int64_t k = divided(upper, EX_MOD, &y);
    if (k != 0 && is_quotient(y, x, d) && checked_mul(k, d, &whole))
        return expr_binary(c, EX_MOD, x, expr_int(c, DT_INDEX, whole, span), span);
    return NULL;
}

/* Replaces terms s and t by e, with the factor of t. */
static bool replace_pair(Context *c, Affine *a, int s, int t, Expr *e)
{
    int64_t factor = a->terms[t].factor;
    Affine out = affine_without(c, affine_without(c, *a, s > t ? s : t), s > t ? t : s);
    if (!affine_collect(c, e, factor, PRODUCTS_KEPT, &out) || !affine_normalize(&out))
        return false;
    *a = out;
    return true;
}

/* x - x / d * d  ->  x % d, for the quotient at t. */
static bool subtract_multiple(Context *c, Affine *a, int t, Span span)
{
    Expr *x;
    int64_t d = divided(a->terms[t].atom, EX_DIV, &x), factor = a->terms[t].factor;
    Affine form, out;
    if (d == 0 || factor % d != 0 || factor == INT64_MIN ||
        !affine_of(c, x, PRODUCTS_KEPT, &form) ||
        !affine_combine(c, affine_without(c, *a, t), 1, form, factor / d, &out) ||
        out.n != a->n - 1 - form.n) /* all terms of x cancel */
        return false;
    Expr *rest = expr_binary(c, EX_MOD, x, expr_int(c, DT_INDEX, d, span), span);
    if (!affine_push(c, &out, -(factor / d), rest) || !affine_normalize(&out))
        return false;
    *a = out;
    return true;
}

/* A factor x % d of a product with symbolic d, and what it is multiplied by; NULL for none. */
static Expr *remainder_factor(Context *c, Expr *atom, Expr **times)
{
    ExprList factors = {0};
    expr_chain(c, atom, EX_MUL, &factors);
    for (int k = 0; k < factors.n; k++) {
        Expr *found = factors.items[k];
        int64_t d;
        if (found->kind != EX_MOD || expr_is_const(found->u.arg[1], &d))
            continue;
        factors.items[k] = factors.items[--factors.n];
        *times = product_build(c, &factors, atom->span);
        return found;
    }
    return NULL;
}

/* `term` is factor * upper * d * times: upper, for d = k * e with a product e of sizes, or a sum d
 * that products keep. */
static Expr *multiplied(Context *c, const Term *term, int64_t factor, Expr *d, Expr *times)
{
    Affine form;
    int64_t want = factor;
    if (!affine_of(c, d, PRODUCTS_KEPT, &form))
        return NULL;
    bool sum = form.n != 1 || form.constant != 0;
    if ((!sum && !checked_mul(form.terms[0].factor, factor, &want)) || term->factor != want)
        return NULL;
    Expr *left = product_divide(c, term->atom, sum ? d : form.terms[0].atom);
    return left && times ? product_divide(c, left, times) : left;
}

static bool is_quotient_by(const Expr *e, const Expr *x, const Expr *d)
{
    return e->kind == EX_DIV && same(e->u.arg[0], x) && same(e->u.arg[1], d);
}

/* atom * d + x % d:  x for x / d,  and  x % (e * d) for x / d % e. NULL for others. */
static Expr *rejoin_digit(Context *c, const Expr *atom, Expr *x, Expr *d)
{
    if (is_quotient_by(atom, x, d))
        return x;
    if (atom->kind != EX_MOD || !is_quotient_by(atom->u.arg[0], x, d))
        return NULL;
    return expr_binary(c, EX_MOD, x, index_mul(c, atom->u.arg[1], d), x->span);
}

/* sum * d + x % d, for a sum with x / d, or a remainder of it, among its terms. NULL for others. */
static Expr *rejoin_sum(Context *c, Expr *sum, Expr *x, Expr *d)
{
    Affine form;
    if (!affine_of(c, sum, PRODUCTS_KEPT, &form))
        return NULL;
    for (int i = 0; i < form.n; i++) {
        Expr *digit = form.terms[i].factor == 1 ? rejoin_digit(c, form.terms[i].atom, x, d) : NULL;
        if (!digit)
            continue;
        Affine others = affine_without(c, form, i);
        bool alone = others.n == 0 && others.constant == 0;
        return alone ? digit
                     : index_add(c, index_mul(c, affine_expr(c, &others, x->span), d), digit);
    }
    return NULL;
}

/* (y + x / d) * d + x % d  ->  y * d + x,  and the same times other factors, for the remainder at
 * t;  (y + x / d % e) * d + x % d  ->  y * d + x % (e * d). */
static bool rejoin_symbolic(Context *c, Affine *a, int t, Span span)
{
    Expr *times = NULL, *rest = remainder_factor(c, a->terms[t].atom, &times);
    for (int s = 0; s < a->n && rest; s++) {
        Expr *x = rest->u.arg[0], *d = rest->u.arg[1];
        Expr *upper = s == t ? NULL : multiplied(c, &a->terms[s], a->terms[t].factor, d, times);
        Expr *joined = upper ? rejoin_sum(c, upper, x, d) : NULL;
        if (joined &&
            replace_pair(c, a, s, t, times ? expr_binary(c, EX_MUL, joined, times, span) : joined))
            return true;
    }
    return false;
}

static bool recombine_once(Facts *f, Affine *a, Span span)
{
    Context *c = f->c;
    for (int t = 0; t < a->n; t++)
        if (rejoin_symbolic(c, a, t, span))
            return true;
    for (int t = 0; t < a->n; t++) {
        Expr *x;
        int64_t d = divided(a->terms[t].atom, EX_MOD, &x), want;
        for (int s = 0; s < a->n && d != 0; s++) {
            if (s == t || !checked_mul(a->terms[t].factor, d, &want) || a->terms[s].factor != want)
                continue;
            Expr *joined = rejoin(f, a->terms[s].atom, x, d, span);
            if (joined && replace_pair(c, a, s, t, joined))
                return true;
        }
    }
    for (int t = 0; t < a->n; t++)
        if (subtract_multiple(c, a, t, span))
            return true;
    return false;
}

void affine_recombine(Facts *f, Affine *a, Span span)
{
    enum { TERMS = 32 };
    while (a->n >= 2 && a->n <= TERMS && recombine_once(f, a, span))
        continue;
}
