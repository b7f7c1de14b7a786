/* poly_solve.c - Decides whether a system has a solution, and computes one, or the range of a form.
 *
 * Choices are tried one alternative at a time. A full set of rows becomes one isl_basic_set over
 * the columns that it mentions; isl says whether it holds an integer point. Where products of
 * symbolic sizes are involved, a point that isl finds may not be one of the program: then the rows
 * are split into cases without products first (poly_products.c). */
#include "passes/analysis/polyhedral/poly_memo.h"
#include "passes/analysis/polyhedral/poly_reduce.h"

#include <isl/aff.h>
#include <isl/ilp.h>
#include <isl/local_space.h>
#include <isl/mat.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

/* Cases of one question; more are not tried. */
#define MAX_CASES 20000

typedef struct {
    Poly *p;
    RowList rows;             /* of the alternatives taken */
    VEC(const Choice *) todo; /* choices[next..] are open */
    int next;
    int cases;
    int *dimension; /* of each column in the basic set, -1: not used */
    int room;       /* columns that `dimension` has room for: splitting into cases makes more */
    int n_dimensions;
    const Affine *first; /* what to make small; at a solution */
    int n_first;
    int64_t *point;      /* [n_point] the solution, or NULL */
    int n_point;         /* columns that there were when it was asked */
    const Affine *image; /* for poly_image */
    int n_image;
    bool exact; /* the image so far */
    isl_set *set;
    Answer answer;
} Search;

static void push_conj(Search *s, const Conj *conj)
{
    Arena *arena = s->p->ctx->arena;
    VEC_APPEND(arena, &s->rows, conj->rows.items, conj->rows.n);
    for (int i = 0; i < conj->choices.n; i++)
        VEC_PUSH(arena, &s->todo, &conj->choices.items[i]);
}

/* The memory of one case, and the lists as they were before it. */
typedef struct {
    PolyPart poly;
    Search before;
} Scratch;

static Scratch scratch_begin(const Search *s)
{
    return (Scratch){poly_begin(s->p), *s};
}

static void scratch_end(Search *s, const Scratch *scratch)
{
    const Search *before = &scratch->before;
    s->rows = before->rows;
    s->todo = before->todo;
    s->dimension = before->dimension;
    s->room = before->room;
    poly_end_work(s->p, &scratch->poly);
}

/* ---- rows to isl ----------------------------------------------------------------------------- */

static void use_columns(Search *s, Affine form)
{
    for (int i = 0; i < form.n; i++)
        if (s->dimension[form.terms[i].column] < 0)
            s->dimension[form.terms[i].column] = s->n_dimensions++;
}

/* Gives a dimension to each column in use, after the n_image dimensions of the image. */
static void number_columns(Search *s)
{
    int n = s->p->columns.n;
    if (n > s->room) {
        s->room = 2 * n;
        s->dimension = ARENA_ARRAY(s->p->ctx->arena, int, s->room);
    }
    s->n_dimensions = s->n_image;
    for (int i = 0; i < n; i++)
        s->dimension[i] = -1;
    for (int i = 0; i < s->n_first; i++)
        use_columns(s, s->first[i]);
    for (int i = 0; i < s->n_image; i++)
        use_columns(s, s->image[i]);
    for (int i = 0; i < s->rows.n; i++)
        use_columns(s, s->rows.items[i].form);
}

static isl_mat *set_number(Search *s, isl_mat *mat, int row, int column, int64_t value)
{
    if (value >= INT32_MIN && value <= INT32_MAX)
        return isl_mat_set_element_si(mat, row, column, (int)value);
    return isl_mat_set_element_val(mat, row, column, isl_val_int_from_si(s->p->isl, value));
}

/* Row `row` of the matrix: constant first, then the dimensions. */
static isl_mat *set_row(Search *s, isl_mat *mat, int row, Affine form)
{
    for (int i = 0; i <= s->n_dimensions; i++)
        mat = isl_mat_set_element_si(mat, row, i, 0);
    mat = set_number(s, mat, row, 0, form.constant);
    for (int i = 0; i < form.n; i++)
        mat = set_number(s, mat, row, 1 + s->dimension[form.terms[i].column], form.terms[i].factor);
    return mat;
}

/* The rows taken so far (and dimension k == image[k]) as a basic set. */
static isl_basic_set *rows_to_isl(Search *s)
{
    number_columns(s);
    int n_equal = s->n_image;
    for (int i = 0; i < s->rows.n; i++)
        n_equal += s->rows.items[i].equal;
    unsigned width = 1 + (unsigned)s->n_dimensions;
    /* each equality removes a dimension from all rows */
    s->p->ctx->solver->work_left -= (int64_t)(1 + n_equal) * (s->n_image + s->rows.n) * width;
    isl_ctx *isl = s->p->isl;
    isl_mat *equal = isl_mat_alloc(isl, (unsigned)n_equal, width);
    isl_mat *least = isl_mat_alloc(isl, (unsigned)(s->n_image + s->rows.n - n_equal), width);
    int n[2] = {0, 0};
    for (int i = 0; i < s->n_image; i++) {
        equal = set_row(s, equal, n[1]++, s->image[i]);
        equal = isl_mat_set_element_si(equal, i, 1 + i, -1);
    }
    for (int i = 0; i < s->rows.n; i++) {
        Row row = s->rows.items[i];
        if (row.equal)
            equal = set_row(s, equal, n[1]++, row.form);
        else
            least = set_row(s, least, n[0]++, row.form);
    }
    isl_space *space = isl_space_set_alloc(isl, 0, (unsigned)s->n_dimensions);
    return isl_basic_set_from_constraint_matrices(space, equal, least, isl_dim_cst, isl_dim_param,
                                                  isl_dim_set, isl_dim_div);
}

/* A row without columns that does not hold. */
static bool contradicts(const Search *s)
{
    for (int i = 0; i < s->rows.n; i++) {
        const Row *row = &s->rows.items[i];
        if (row->form.n == 0 && (row->equal ? row->form.constant != 0 : row->form.constant < 0))
            return true;
    }
    return false;
}

/* The rows taken so far. */
static Asked rows_asked(Search *s)
{
    number_columns(s);
    return (Asked){s->rows.items, s->rows.n, s->dimension, s->n_dimensions, 0};
}

static bool rows_refuted(Search *s)
{
    return contradicts(s) || poly_refuted(s->p->ctx, rows_asked(s));
}

static Answer decide_rows(Search *s, Asked asked)
{
    Answer answer = poly_reduce(s->p->ctx, asked);
    if (answer != POLY_SPENT || s->p->ctx->solver->work_left < 0)
        return answer;
    isl_basic_set *set = rows_to_isl(s);
    isl_bool empty = isl_basic_set_is_empty(set);
    isl_basic_set_free(set);
    return empty == isl_bool_error ? POLY_SPENT : empty ? POLY_NONE : POLY_SOME;
}

static Answer rows_feasible(Search *s)
{
    if (contradicts(s))
        return POLY_NONE;
    Asked asked = rows_asked(s);
    Arena *arena = s->p->ctx->arena;
    ArenaMark mark = arena_mark(arena);
    MemoKey key = memo_key(arena, asked);
    Answer answer = memo_find(s->p->memo, &key, NULL);
    if (answer == POLY_SPENT) {
        answer = decide_rows(s, asked);
        memo_keep(s->p->memo, &key, answer, NULL);
    }
    arena_reset(arena, mark);
    return answer;
}

bool poly_implied(Poly *p, const RowList *rows, int without, Affine form)
{
    ArenaMark mark = arena_mark(p->ctx->arena);
    Search s = {.p = p};
    for (int i = 0; i < rows->n; i++)
        if (i != without)
            VEC_PUSH(p->ctx->arena, &s.rows, rows->items[i]);
    Row contrary = {.form = poly_add(p, affine_const(-1), form, -1)};
    VEC_PUSH(p->ctx->arena, &s.rows, contrary);
    bool implied = rows_feasible(&s) == POLY_NONE;
    arena_reset(p->ctx->arena, mark);
    return implied;
}

bool poly_implied_plainly(Poly *p, const RowList *rows, Affine form)
{
    ArenaMark mark = arena_mark(p->ctx->arena);
    Search s = {.p = p};
    VEC_APPEND(p->ctx->arena, &s.rows, rows->items, rows->n);
    Row contrary = {.form = poly_add(p, affine_const(-1), form, -1)};
    VEC_PUSH(p->ctx->arena, &s.rows, contrary);
    bool implied = contradicts(&s) || poly_reduce(p->ctx, rows_asked(&s)) == POLY_NONE;
    arena_reset(p->ctx->arena, mark);
    return implied;
}

/* ---- a solution to show ---------------------------------------------------------------------- */

/* The set with dimension `at` fixed to its least value, if it has one. */
static isl_set *fix_least(isl_set *set, int at)
{
    isl_local_space *space = isl_local_space_from_space(isl_set_get_space(set));
    isl_aff *aff = isl_aff_var_on_domain(space, isl_dim_set, (unsigned)at);
    isl_val *least = isl_set_min_val(set, aff);
    isl_aff_free(aff);
    if (least && isl_val_is_int(least))
        return isl_set_fix_val(set, isl_dim_set, (unsigned)at, least);
    isl_val_free(least);
    return set;
}

static bool read_point(isl_set *set, int64_t *values, int n)
{
    isl_point *point = isl_set_sample_point(set);
    bool ok = point && isl_point_is_void(point) == isl_bool_false;
    for (int i = 0; i < n && ok; i++) {
        isl_val *value = isl_point_get_coordinate_val(point, isl_dim_set, i);
        ok = value && isl_val_is_int(value);
        values[i] = ok ? (int64_t)isl_val_get_num_si(value) : 0;
        isl_val_free(value);
    }
    isl_point_free(point);
    return ok;
}

/* A small point of the current rows into s->point. */
static bool find_point(Search *s)
{
    Arena *arena = s->p->ctx->arena;
    isl_set *set = isl_set_from_basic_set(rows_to_isl(s));
    for (int i = 0; i < s->n_first && set; i++)
        if (s->first[i].n == 1)
            set = fix_least(set, s->dimension[s->first[i].terms[0].column]);
    int64_t *values = ARENA_ARRAY(arena, int64_t, s->n_dimensions + 1);
    bool ok = read_point(set, values, s->n_dimensions);
    for (int i = 0; i < s->n_point && ok; i++)
        s->point[i] = s->dimension[i] < 0 ? 0 : values[s->dimension[i]];
    return ok;
}

/* Makes every size of a product the literal `value`, so that products are exact; false if that
 * leaves no solution. The rows grow; the caller cuts them back. */
static bool fix_sizes(Search *s, int64_t value)
{
    Poly *p = s->p;
    for (int i = 0; i < p->products.n; i++) {
        Product product = p->products.items[i];
        Affine exact = poly_add(p, poly_term(p, 1, product.column), product.factor, -value);
        Affine size = product.size;
        if (!checked_sub(size.constant, value, &size.constant))
            return false;
        VEC_PUSH(p->ctx->arena, &s->rows, ((Row){.form = size, .equal = true}));
        VEC_PUSH(p->ctx->arena, &s->rows, ((Row){.form = exact, .equal = true}));
    }
    return rows_feasible(s) == POLY_SOME;
}

/* Sizes that a solution is shown at: small ones, and two at which a loop over all elements of a
 * matrix has several tiles. */
static const int64_t shown_sizes[] = {2, 3, 4, 5, 16, 64};

/* Shows a solution of feasible rows; with products, one with equal sizes. */
static Answer show_solution(Search *s)
{
    if (!s->point)
        return POLY_SOME;
    if (s->p->products.n == 0)
        return find_point(s) ? POLY_SOME : POLY_SPENT;
    for (size_t i = 0; i < sizeof shown_sizes / sizeof *shown_sizes; i++) {
        Scratch scratch = scratch_begin(s);
        bool found = fix_sizes(s, shown_sizes[i]) && find_point(s);
        scratch_end(s, &scratch);
        if (found)
            return POLY_SOME;
    }
    return POLY_SPENT;
}

/* ---- search ---------------------------------------------------------------------------------- */

/* One more case; false where the question has had its share. */
static bool begin_case(Search *s)
{
    bool more = ++s->cases <= MAX_CASES && s->p->ctx->solver->work_left >= 0;
    if (!more)
        s->answer = POLY_SPENT;
    return more;
}

/* The search with rows and an image without products of sizes; false where they are not found. */
static bool split_products(const Search *s, Search *without)
{
    Arena *arena = s->p->ctx->arena;
    Affine *image = ARENA_COPY(arena, Affine, s->image, s->n_image, 1);
    *without = (Search){.p = s->p, .image = image, .n_image = s->n_image};
    VEC_APPEND(arena, &without->rows, s->rows.items, s->rows.n);
    return poly_split_products(s->p, &without->rows, image, s->n_image);
}

static bool has_lost_row(const Search *s)
{
    for (int i = 0; i < s->rows.n; i++)
        for (int k = 0; k < s->rows.items[i].form.n; k++)
            if (s->p->columns.items[s->rows.items[i].form.terms[k].column].lost)
                return true;
    return false;
}

/* The image under the rows taken, as one more part of the set. */
static bool add_to_image(Search *s)
{
    Search without, *at = s;
    bool split = s->p->products.n > 0 && !contradicts(s) && split_products(s, &without);
    if (split)
        at = &without;
    if (rows_feasible(at) == POLY_NONE)
        return false;
    s->exact &= (split || s->p->products.n == 0) && !has_lost_row(at);
    isl_basic_set *set = rows_to_isl(at);
    set = isl_basic_set_project_out(set, isl_dim_set, (unsigned)at->n_image,
                                    (unsigned)(at->n_dimensions - at->n_image));
    s->set = isl_set_union(s->set, isl_set_from_basic_set(set));
    s->answer = s->set ? POLY_SOME : POLY_SPENT;
    return !s->set;
}

/* With more choices than these there are too many cases to take all numbers in each apart. */
enum { FEW_CHOICES = 4 };

/* The rows taken have no solution where products are numbers with digits. */
static bool none_in_digits(const Search *s)
{
    Search without;
    return s->p->products.n > 0 && split_products(s, &without) &&
           rows_feasible(&without) == POLY_NONE;
}

/* The column is a quotient whose dividend may be negative: only a choice says what it is. */
static bool is_chosen(const Poly *p, int column)
{
    for (int i = 0; i < p->quotients.n; i++) {
        const Quotient *q = &p->quotients.items[i];
        if (q->column == column)
            return q->divisor.n == 0 && q->divisor.constant != 1 && q->number < 0;
    }
    return false;
}

static bool has_chosen(const Poly *p, const RowList *rows)
{
    for (int i = 0; i < rows->n; i++)
        for (int k = 0; k < rows->items[i].form.n; k++)
            if (is_chosen(p, rows->items[i].form.terms[k].column))
                return true;
    return false;
}

static bool is_about_quotients(const Poly *p, const Choice *choice)
{
    bool about = false;
    for (int i = 0; i < choice->n; i++)
        about |=
            choice->alternatives[i]->choices.n > 0 || has_chosen(p, &choice->alternatives[i]->rows);
    return about;
}

/* The rows and choices that are not about such quotients. */
static Search without_quotients(const Search *s)
{
    Arena *arena = s->p->ctx->arena;
    Search plain = {.p = s->p, .answer = POLY_NONE};
    for (int i = 0; i < s->rows.n; i++) {
        RowList one = {0};
        VEC_PUSH(arena, &one, s->rows.items[i]);
        if (!has_chosen(s->p, &one))
            VEC_PUSH(arena, &plain.rows, s->rows.items[i]);
    }
    for (int i = 0; i < s->todo.n; i++)
        if (!is_about_quotients(s->p, s->todo.items[i]))
            VEC_PUSH(arena, &plain.todo, s->todo.items[i]);
    return plain;
}

/* All choices are taken. True if the search is over. */
static bool search_leaf(Search *s)
{
    Answer answer = rows_feasible(s);
    if (answer == POLY_NONE || (s->todo.n <= FEW_CHOICES && none_in_digits(s)))
        return false;
    s->answer = answer == POLY_SOME ? show_solution(s) : POLY_SPENT;
    return true;
}

/* True if the search is over: `answer` says how. */
static bool search(Search *s)
{
    if (!begin_case(s))
        return true;
    if (s->next == s->todo.n)
        return s->image ? add_to_image(s) : search_leaf(s);
    const Choice *choice = s->todo.items[s->next];
    /* Many cases ahead: is it plain that none holds? */
    if ((choice->n > 2 || s->todo.n - s->next > 1) && rows_refuted(s))
        return false;
    s->next++;
    bool over = false;
    for (int i = 0; i < choice->n && !over; i++) {
        Scratch scratch = scratch_begin(s);
        push_conj(s, choice->alternatives[i]);
        over = search(s);
        scratch_end(s, &scratch);
    }
    s->next--;
    return over;
}

/* So many cases are guessed at. */
enum { MAX_GUESSES = 12 };

/* A solution of one of the first cases is found at once. */
static bool guess_case(Search *s)
{
    if (s->next == s->todo.n)
        return ++s->cases <= MAX_GUESSES && poly_guess(s->p, s->rows.items, s->rows.n);
    const Choice *choice = s->todo.items[s->next++];
    bool found = false;
    for (int i = 0; i < choice->n && !found && s->cases < MAX_GUESSES; i++) {
        Scratch scratch = scratch_begin(s);
        push_conj(s, choice->alternatives[i]);
        found = !contradicts(s) && guess_case(s);
        scratch_end(s, &scratch);
    }
    s->next--;
    return found;
}

/* True where a guess solves the rows. A guess knows nothing of products of sizes. */
static bool guess(Poly *p)
{
    Search s = {.p = p};
    Scratch scratch = scratch_begin(&s);
    push_conj(&s, &p->top);
    bool found = p->products.n == 0 && guess_case(&s);
    scratch_end(&s, &scratch);
    return found;
}

/* Where there are too many choices for digits, those that conditions such as (p - r) % 2 == 0 make
 * may not be needed. Their rows would mix the digits of p with others, too. */
static bool none_without_quotients(Search *s)
{
    if (s->image || s->p->products.n == 0 || s->todo.n <= FEW_CHOICES)
        return false;
    Search plain = without_quotients(s);
    if (plain.todo.n > FEW_CHOICES)
        return false;
    search(&plain);
    return plain.answer == POLY_NONE;
}

/* All of the question. */
static void search_top(Search *s)
{
    Scratch scratch = scratch_begin(s);
    push_conj(s, &s->p->top);
    if (!none_without_quotients(s))
        search(s);
    scratch_end(s, &scratch);
}

/* A row that no set of rows has when it is asked about. */
static void push_number(Search *s, int number)
{
    Row row = {.form = affine_const(number), .equal = true};
    VEC_PUSH(s->p->ctx->arena, &s->rows, row);
}

/* All of a question as rows, in one way: numbers say where choices and their alternatives begin and
 * end. */
static void push_whole(Search *s, const Conj *conj)
{
    VEC_APPEND(s->p->ctx->arena, &s->rows, conj->rows.items, conj->rows.n);
    for (int i = 0; i < conj->choices.n; i++) {
        const Choice *choice = &conj->choices.items[i];
        push_number(s, 1 + choice->n);
        for (int k = 0; k < choice->n; k++) {
            push_whole(s, choice->alternatives[k]);
            push_number(s, 1);
        }
    }
}

/* A point is not asked for. */
static Answer solve(Poly *p)
{
    Search s = {.p = p, .answer = POLY_NONE};
    if (guess(p))
        return POLY_SOME;
    search_top(&s);
    return s.answer;
}

/* Each step of a schedule asks most questions again, with all their choices. */
static Answer solve_once(Poly *p)
{
    ArenaMark mark = arena_mark(p->ctx->arena);
    Search whole = {.p = p};
    push_whole(&whole, &p->top);
    MemoKey key = memo_key(p->ctx->arena, rows_asked(&whole));
    Answer answer = memo_find(p->memo, &key, NULL);
    if (answer == POLY_SPENT) {
        answer = solve(p);
        memo_keep(p->memo, &key, answer, NULL);
    }
    arena_reset(p->ctx->arena, mark);
    return answer;
}

Answer poly_solve(Poly *p, const Affine *first, int n_first, int64_t **point)
{
    if (!point) /* what products mean is no part of the rows */
        return p->products.n == 0 ? solve_once(p) : solve(p);
    Search s = {.p = p, .first = first, .n_first = n_first, .answer = POLY_NONE};
    s.n_point = p->columns.n;
    s.point = *point = ARENA_ARRAY(p->ctx->arena, int64_t, s.n_point + 1);
    search_top(&s);
    return s.answer;
}

bool poly_ranges(Poly *p, const Affine *forms, int n, Bounds *ranges)
{
    ArenaMark mark = arena_mark(p->ctx->arena);
    Search s = {.p = p};
    push_conj(&s, &p->top);
    bool none = contradicts(&s);
    for (int i = 0; i < n; i++)
        VEC_PUSH(p->ctx->arena, &s.rows, ((Row){.form = forms[i]}));
    Asked asked = rows_asked(&s);
    asked.n_forms = n;
    MemoKey key = memo_key(p->ctx->arena, asked);
    Answer answer = none ? POLY_NONE : memo_find(p->memo, &key, ranges);
    if (answer == POLY_SPENT) {
        answer = poly_reduce_ranges(p->ctx, asked, ranges) ? POLY_SOME : POLY_NONE;
        memo_keep(p->memo, &key, answer, ranges);
    }
    arena_reset(p->ctx->arena, mark);
    return answer == POLY_SOME;
}

int64_t affine_at(Affine a, const int64_t *point)
{
    int64_t value = a.constant;
    for (int i = 0; i < a.n; i++)
        value += a.terms[i].factor * point[a.terms[i].column];
    return value;
}

void point_print(StrBuf *out, const char *name, int64_t value)
{
    strbuf_addf(out, "%s%s = %lld", out->length ? ", " : "", name, (long long)value);
}

isl_set *poly_image(Poly *p, const Affine *forms, int n, bool *exact)
{
    Search s = {.p = p, .image = forms, .n_image = n, .exact = !p->lost, .answer = POLY_NONE};
    s.set = isl_set_empty(isl_space_set_alloc(p->isl, 0, (unsigned)n));
    search_top(&s);
    if (s.answer == POLY_SPENT)
        s.set = isl_set_free(s.set);
    *exact = s.exact;
    return s.set;
}

bool poly_set_point(isl_set *set, int64_t *point, int n, bool *spent)
{
    isl_bool empty = isl_set_is_empty(set);
    *spent = empty == isl_bool_error;
    if (*spent || empty)
        return false;
    isl_set *small = isl_set_copy(set);
    for (int i = 0; i < n && small; i++)
        small = fix_least(small, i);
    *spent = !read_point(small, point, n);
    return !*spent;
}
