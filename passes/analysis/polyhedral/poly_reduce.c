/* poly_reduce.c - Decides a set of rows by elimination and bounds, without isl.
 *
 *   0. equations between mixed-radix numbers are split into their digits (poly_digits.c)
 *   1. an equality with a factor of 1 or -1 removes a variable; one whose factors have a divisor
 *   that the constant has not is impossible
 *   2. a row  y - x - 1 >= 0  (an order of two iterations) becomes  y = x + 1 + d, d >= 0, so that
 *   bounds see the distance: by' > by makes 32 by' + ty' > 32 by + ty at once
 *   3. bounds of variables follow from rows and bounds of the others, a few times around
 *   4. a solution is tried: each variable in turn gets its least value, which bounds the rest
 *   further
 *   5. where that decides nothing, all of it is tried again with numbers that rows share in the
 *   words of their digits, and with sums of rows (poly_sums.c)
 *
 * isl decides the rest. Numbers that do not fit end the attempt. */
#include "passes/analysis/polyhedral/poly_reduce.h"

enum { ROUNDS = 4 };

static int64_t divisor_of(const Line *l)
{
    int64_t g = 0;
    for (int t = 0; t < l->n_terms && g != 1; t++)
        g = gcd64(g, l->factor[l->term[t]]);
    return g;
}

/* Counts another look at a row. */
static void system_work(System *s)
{
    *s->left -= s->n + 1;
    s->overflow |= *s->left < 0;
}

void system_drop_zeros(Line *l)
{
    int n = 0;
    for (int t = 0; t < l->n_terms; t++)
        if (l->factor[l->term[t]])
            l->term[n++] = l->term[t];
    l->n_terms = n;
}

/* Divides a row by the divisor of its factors; settles rows without variables. */
void system_normalize(System *s, Line *l)
{
    system_work(s);
    bool large = is_far(l->factor[s->n]);
    for (int t = 0; t < l->n_terms; t++)
        large |= is_far(l->factor[l->term[t]]);
    s->overflow |= large;
    if (s->overflow)
        return;
    int64_t g = divisor_of(l), constant = l->factor[s->n];
    if (g == 0) {
        s->impossible |= l->equal ? constant != 0 : constant < 0;
        l->gone = true;
        return;
    }
    if (g == 1)
        return;
    s->impossible |= l->equal && constant % g != 0;
    for (int t = 0; t < l->n_terms; t++)
        l->factor[l->term[t]] /= g;
    l->factor[s->n] = floor_div64(constant, g);
}

void system_add(System *s, Line *to, const Line *from, int64_t factor)
{
    system_work(s);
    s->overflow |= !add_product(&to->factor[s->n], from->factor[s->n], factor);
    for (int t = 0; t < from->n_terms; t++) {
        int i = from->term[t];
        if (to->factor[i] == 0)
            to->term[to->n_terms++] = i;
        s->overflow |= !add_product(&to->factor[i], from->factor[i], factor);
    }
    system_drop_zeros(to);
}

void system_eliminate(System *s, Line *l, int at)
{
    for (int m = 0; m < s->n_watched; m++)
        if (s->watched[m].factor[at] != 0)
            system_add(s, &s->watched[m], l, -s->watched[m].factor[at] * l->factor[at]);
    for (int m = 0; m < s->n_lines; m++) {
        Line *other = &s->lines[m];
        if (other == l || other->gone || other->factor[at] == 0)
            continue;
        system_add(s, other, l, -other->factor[at] * l->factor[at]);
        system_normalize(s, other);
    }
    l->gone = true;
}

static void eliminate_equalities(System *s)
{
    for (int k = 0; k < s->n_lines && !s->overflow && !s->impossible; k++) {
        Line *l = &s->lines[k];
        int at = -1;
        for (int t = 0; t < l->n_terms && l->equal && !l->gone && at < 0; t++)
            if (l->factor[l->term[t]] == 1 || l->factor[l->term[t]] == -1)
                at = l->term[t];
        if (at < 0)
            continue;
        system_eliminate(s, l, at);
        k = -1; /* a row before may have got a factor of 1 */
    }
}

/* x = the variable that comes first in  y - x + constant >= 0, constant < 0; -1 for other rows. */
static int order_row(const System *s, const Line *l, int *y)
{
    int x = -1;
    *y = -1;
    for (int t = 0; t < l->n_terms; t++) {
        int i = l->term[t];
        if (l->factor[i] == 1)
            *y = i;
        else if (l->factor[i] == -1)
            x = i;
    }
    return !l->equal && l->n_terms == 2 && *y >= 0 && l->factor[s->n] < 0 ? x : -1;
}

static void measure_distances(System *s)
{
    for (int k = 0; k < s->n_lines && !s->overflow; k++) {
        Line *l = &s->lines[k];
        int y, x = l->gone ? -1 : order_row(s, l, &y);
        if (x < 0)
            continue;
        /* y becomes d: every other row gets factor * (x - constant) added. */
        Line shift = *l;
        shift.factor[y] = 0;
        for (int m = 0; m < s->n_lines; m++)
            if (m != k && !s->lines[m].gone && s->lines[m].factor[y] != 0) {
                system_add(s, &s->lines[m], &shift, -s->lines[m].factor[y]);
                system_normalize(s, &s->lines[m]);
            }
        for (int m = 0; m < s->n_watched; m++)
            if (s->watched[m].factor[y] != 0)
                system_add(s, &s->watched[m], &shift, -s->watched[m].factor[y]);
        l->factor[x] = l->factor[s->n] = 0;
        l->factor[y] = 1;
        system_drop_zeros(l);
    }
}

/* The most that factor * variable i can be; false for no bound. */
static bool most(const System *s, int i, int64_t factor, int64_t *out)
{
    int64_t bound = factor > 0 ? s->max[i] : s->min[i];
    return bound != INT64_MIN && bound != INT64_MAX && checked_mul(factor, bound, out);
}

/* factor * variable i >= -rest */
static void tighten(System *s, int i, int64_t factor, int64_t rest)
{
    int64_t limit = factor > 0 ? -floor_div64(rest, factor) : floor_div64(rest, -factor);
    int64_t *bound = factor > 0 ? &s->min[i] : &s->max[i];
    if (factor > 0 ? limit <= *bound : limit >= *bound)
        return;
    *bound = limit;
    s->tighter = true;
    s->impossible |= s->min[i] > s->max[i];
}

/* sum + constant >= 0 bounds each variable by the maximum of the other terms; `sign` is -1 for
 * the other half of an equality. */
static void bound_by_line(System *s, const Line *l, int64_t sign)
{
    int open = -1;
    int64_t sum = sign * l->factor[s->n], part, rest;
    system_work(s);
    for (int t = 0; t < l->n_terms; t++) {
        int i = l->term[t];
        if (most(s, i, sign * l->factor[i], &part) && checked_add(sum, part, &rest)) {
            sum = rest;
            continue;
        }
        if (open >= 0)
            return;
        open = i;
    }
    if (open >= 0) {
        tighten(s, open, sign * l->factor[open], sum);
        return;
    }
    s->impossible |= sum < 0;
    for (int t = 0; t < l->n_terms && !s->impossible; t++) {
        int i = l->term[t];
        int64_t factor = sign * l->factor[i];
        if (most(s, i, factor, &part) && checked_sub(sum, part, &rest))
            tighten(s, i, factor, rest);
    }
}

void system_bound(System *s, const Line *l)
{
    bound_by_line(s, l, 1);
    if (l->equal)
        bound_by_line(s, l, -1);
}

Bounds system_range(System *s, const Line *l, int64_t g)
{
    system_work(s);
    Bounds range = bounds_exactly(l->factor[s->n]);
    for (int t = 0; t < l->n_terms; t++) {
        int i = l->term[t];
        if (g == 0 || l->factor[i] % g != 0)
            range = bounds_add_scaled(range, (Bounds){s->min[i], s->max[i]}, l->factor[i]);
    }
    return range;
}

/* What a row of one variable says does not depend on others: one look is enough. */
typedef enum { ALL_ROWS, ROWS_OF_SEVERAL } RowsLookedAt;

static void bound_variables(System *s, RowsLookedAt rows)
{
    s->tighter = true;
    for (int round = 0; round < ROUNDS && s->tighter; round++) {
        s->tighter = false;
        for (int k = 0; k < s->n_lines && !s->impossible && !s->overflow; k++)
            if (!s->lines[k].gone && (rows == ALL_ROWS || s->lines[k].n_terms > 1))
                system_bound(s, &s->lines[k]);
        rows = ROWS_OF_SEVERAL;
    }
}

/* Fixes each variable to its least value (or greatest, or 0) that is left; true if all rows hold
 * there. */
static bool least_values_hold(System *s)
{
    for (int i = 0; i < s->n && !s->impossible && !s->overflow; i++) {
        if (s->min[i] == s->max[i])
            continue;
        if (s->min[i] != INT64_MIN)
            s->max[i] = s->min[i];
        else if (s->max[i] != INT64_MAX)
            s->min[i] = s->max[i];
        else
            s->min[i] = s->max[i] = 0;
        bound_variables(s, ROWS_OF_SEVERAL);
    }
    for (int k = 0; k < s->n_lines && !s->impossible; k++) {
        const Line *l = &s->lines[k];
        int64_t sum = l->factor[s->n], product;
        for (int t = 0; t < l->n_terms && !l->gone; t++)
            if (!checked_mul(l->factor[l->term[t]], s->min[l->term[t]], &product) ||
                !checked_add(sum, product, &sum))
                return false;
        if (!l->gone && (l->equal ? sum != 0 : sum < 0))
            return false;
    }
    return !s->impossible && !s->overflow;
}

/* normalize has nothing to do: most rows have a factor of 1 or -1. */
static bool is_normal(Affine form)
{
    bool unit = false, large = is_far(form.constant);
    for (int i = 0; i < form.n; i++) {
        unit |= form.terms[i].factor == 1 || form.terms[i].factor == -1;
        large |= is_far(form.terms[i].factor);
    }
    return unit && !large;
}

Line *system_new_lines(System *s, int n)
{
    Line *lines = ARENA_ARRAY(s->arena, Line, n);
    int64_t *numbers = ARENA_ARRAY(s->arena, int64_t, n * (s->n + 1));
    int *terms = arena_room(s->arena, sizeof *terms * (size_t)n * (size_t)s->n);
    for (int k = 0; k < n; k++) {
        lines[k].factor = numbers + (size_t)k * (size_t)(s->n + 1);
        lines[k].term = terms + (size_t)k * (size_t)s->n;
    }
    return lines;
}

static void read_form(System *s, Line *l, Affine form, const int *dimension)
{
    for (int i = 0; i < form.n; i++) {
        l->term[i] = dimension[form.terms[i].column];
        l->factor[l->term[i]] = form.terms[i].factor;
    }
    l->n_terms = form.n;
    l->factor[s->n] = form.constant;
}

static void read_rows(System *s, Asked asked)
{
    Line *lines = system_new_lines(s, asked.n);
    for (int k = 0; k < asked.n; k++)
        read_form(s, &lines[k], asked.rows[k].form, asked.dimension);
    for (int k = 0; k < s->n_lines; k++) {
        s->lines[k] = lines[k];
        s->lines[k].equal = asked.rows[k].equal;
        s->lines[k].digits = asked.rows[k].digits;
        if (!is_normal(asked.rows[k].form))
            system_normalize(s, &s->lines[k]);
    }
    s->watched = lines + s->n_lines;
    s->n_watched = asked.n_forms;
}

static void forget_bounds(System *s)
{
    for (int i = 0; i < s->n; i++) {
        s->min[i] = INT64_MIN;
        s->max[i] = INT64_MAX;
    }
}

static System system_of(Context *c, Asked asked)
{
    System s = {.n_lines = asked.n - asked.n_forms,
                .n = asked.n_dimensions,
                .left = &c->solver->work_left,
                .arena = c->arena,
                .capacity = 2 * asked.n + 16};
    s.lines = arena_room(c->arena, sizeof *s.lines * (size_t)s.capacity);
    s.min = ARENA_ARRAY(c->arena, int64_t, s.n);
    s.max = ARENA_ARRAY(c->arena, int64_t, s.n);
    read_rows(&s, asked);
    return s;
}

/* Eliminates variables with equalities, and bounds the others. False if a number does not fit. */
static bool reduce(System *s, Numbers numbers)
{
    forget_bounds(s);
    system_split_digits(s, numbers);
    eliminate_equalities(s);
    if (!s->impossible)
        measure_distances(s);
    forget_bounds(s); /* variables mean something else now */
    if (!s->impossible && !s->overflow)
        bound_variables(s, ALL_ROWS);
    return !s->overflow;
}

static Answer decide(Context *c, Asked asked, Numbers numbers)
{
    ArenaMark mark = arena_mark(c->arena);
    System s = system_of(c, asked);
    bool fits = reduce(&s, numbers);
    if (fits && !s.impossible && numbers == NUMBERS_JOINED) {
        system_add_sums(&s);
        bound_variables(&s, ALL_ROWS);
    }
    Answer answer = !fits || s.overflow     ? POLY_SPENT
                    : s.impossible          ? POLY_NONE
                    : least_values_hold(&s) ? POLY_SOME
                                            : POLY_SPENT;
    arena_reset(c->arena, mark);
    return answer;
}

Answer poly_reduce(Context *c, Asked asked)
{
    Answer answer = decide(c, asked, NUMBERS_KEPT);
    return answer == POLY_SPENT ? decide(c, asked, NUMBERS_JOINED) : answer;
}

bool poly_refuted(Context *c, Asked asked)
{
    return !poly_reduce_ranges(c, asked, NULL);
}

bool poly_reduce_ranges(Context *c, Asked asked, Bounds *ranges)
{
    ArenaMark mark = arena_mark(c->arena);
    System s = system_of(c, asked);
    bool fits = reduce(&s, NUMBERS_KEPT);
    for (int k = 0; k < asked.n_forms; k++)
        ranges[k] = fits ? system_range(&s, &s.watched[k], 0) : bounds_none();
    arena_reset(c->arena, mark);
    return !fits || !s.impossible;
}
