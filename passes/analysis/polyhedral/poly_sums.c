/* poly_sums.c - Adds sums of two rows in which variables go away, as Fourier and Motzkin do.
 *
 *   x - 256 p >= 0,  256 q - x + 255 >= 0      q - p >= 0, the sum divided by 256
 *
 * Bounds of variables do not see such a pair: x and p may both be large. Of all sums only those are
 * looked at in which two variables go away at once, or of two rows of two variables. A sum without
 * solutions decides the system, and one of at most two variables becomes a row.
 *
 * Pairs are many, and few have variables of opposite signs. The signs of each row are kept as bits,
 * so that most pairs are left out by a few operations. */
#include "passes/analysis/polyhedral/poly_reduce.h"

/* The variables of a row with positive and with negative factors. Variables 64 apart share a bit:
 * bits that say no are right. */
typedef struct {
    uint64_t positive, negative;
} Signs;

static Signs signs_of(const Line *l)
{
    Signs of = {0, 0};
    for (int t = 0; t < l->n_terms; t++) {
        uint64_t bit = (uint64_t)1 << (l->term[t] & 63);
        *(l->factor[l->term[t]] < 0 ? &of.negative : &of.positive) |= bit;
    }
    return of;
}

static bool same_row(const System *s, const Line *a, const Line *b)
{
    bool same =
        a->equal == b->equal && a->n_terms == b->n_terms && a->factor[s->n] == b->factor[s->n];
    for (int t = 0; t < a->n_terms && same; t++)
        same = a->factor[a->term[t]] == b->factor[a->term[t]];
    return same;
}

/* Each row is said once. */
static void drop_repeated(System *s, const Signs *signs)
{
    for (int k = 0; k < s->n_lines; k++)
        for (int m = 0; m < k && !s->lines[k].gone; m++)
            s->lines[k].gone = signs[k].positive == signs[m].positive &&
                               signs[k].negative == signs[m].negative && !s->lines[m].gone &&
                               same_row(s, &s->lines[k], &s->lines[m]);
}

/* Can enough variables have opposite signs in the two rows? In sums of positive multiples only
 * those go away. */
static bool may_sum(const System *s, const Line *a, Signs of_a, const Line *b, Signs of_b)
{
    uint64_t opposed = (of_a.positive & of_b.negative) | (of_a.negative & of_b.positive);
    bool one_is_enough = (a->n_terms == 2 && b->n_terms == 2) || s->n > 64;
    return one_is_enough ? opposed != 0 : (opposed & (opposed - 1)) != 0;
}

/* A variable with opposite signs in the two rows; -1 for none. */
static int opposed(const Line *a, const Line *b)
{
    for (int t = 0; t < a->n_terms; t++) {
        int64_t in_a = a->factor[a->term[t]], in_b = b->factor[a->term[t]];
        if (in_b != 0 && (in_a < 0) != (in_b < 0))
            return a->term[t];
    }
    return -1;
}

/* How many variables go away in times_a * a + times_b * b. */
static int count_gone(const Line *a, int64_t times_a, const Line *b, int64_t times_b)
{
    int n = 0;
    for (int t = 0; t < a->n_terms; t++) {
        int64_t sum = 0, in_b = b->factor[a->term[t]];
        n += in_b != 0 && add_product(&sum, a->factor[a->term[t]], times_a) &&
             add_product(&sum, in_b, times_b) && sum == 0;
    }
    return n;
}

/* sum = a multiple of a + one of b, if enough variables go away in it. */
static bool sum_rows(System *s, const Line *a, const Line *b, Line *sum)
{
    int at = opposed(a, b);
    if (at < 0)
        return false;
    int64_t g = gcd64(a->factor[at], b->factor[at]);
    int64_t times_a = magnitude64(b->factor[at]) / g, times_b = magnitude64(a->factor[at]) / g;
    bool short_rows = a->n_terms == 2 && b->n_terms == 2;
    if (!short_rows && count_gone(a, times_a, b, times_b) < 2)
        return false;
    *sum = *system_new_lines(s, 1);
    system_add(s, sum, a, times_a);
    system_add(s, sum, b, times_b);
    system_normalize(s, sum);
    return !s->overflow && !sum->gone;
}

/* Is the sum a row now? */
static bool add_sum(System *s, const Line *a, const Line *b)
{
    ArenaMark mark = arena_mark(s->arena);
    Line sum;
    bool kept = false;
    if (sum_rows(s, a, b, &sum)) {
        s->impossible |= system_range(s, &sum, 0).max < 0;
        kept = sum.n_terms <= 2 && s->n_lines < s->capacity;
    }
    if (kept)
        s->lines[s->n_lines++] = sum;
    else
        arena_reset(s->arena, mark);
    return kept;
}

static bool has_sums(const Line *l)
{
    return !l->gone && !l->equal && l->n_terms > 1;
}

void system_add_sums(System *s)
{
    Signs *signs = ARENA_ARRAY(s->arena, Signs, s->capacity);
    for (int k = 0; k < s->n_lines; k++)
        signs[k] = signs_of(&s->lines[k]);
    drop_repeated(s, signs);
    for (int k = 1; k < s->n_lines; k++)
        for (int m = 0; m < k && has_sums(&s->lines[k]); m++) {
            const Line *a = &s->lines[k], *b = &s->lines[m];
            if (may_sum(s, a, signs[k], b, signs[m]) && has_sums(b) && add_sum(s, a, b))
                signs[s->n_lines - 1] = signs_of(&s->lines[s->n_lines - 1]);
            if (s->impossible || s->overflow)
                return;
        }
}
