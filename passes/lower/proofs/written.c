/* written.c - see written.h.
 *
 *   let i = blockIdx.x * 4 + threadIdx.x;  columns N, b, t with 0 <= b < ceil(N / 4), 0 <= t < 4
 *   if i < N                               row b * 4 + t < N
 *       y[i] = x[i];                       the image of (N, b * 4 + t): {(N, e) : 0 <= e < N}
 */
#include "passes/lower/proofs/written.h"

#include <isl/ctx.h>
#include <isl/set.h>
#include <isl/space.h>

#include "passes/analysis/dependence/model.h"
#include "passes/lower/index/exact_index.h"
#include "passes/lower/pass.h"

enum { MAX_DIMENSIONS = 64 };

/* A store to an output, and what is around it. */
typedef struct {
    const Stmt *store;
    EnclosingList scopes;
    int launch; /* how many of the scopes are outside of the launch; behind them stand its axes */
    int epoch;  /* how many barriers stand before it in the text */
} Writer;
typedef VEC(Writer) WriterList;

typedef struct {
    Context *c;
    const Kernel *program, *lowered;
    int launch, epoch; /* as of a writer here; -1: outside of a launch */
    WriterList writers;
    WrittenProof proof;
} Question;

/* The first reason stays, but for one that shows an error. */
static void answer(Question *q, Written answer, const char *why)
{
    if (q->proof.answer == WRITTEN_ONCE ||
        (answer == WRITTEN_WRONG && q->proof.answer == WRITTEN_OPEN))
        q->proof = (WrittenProof){answer, why};
}

/* ---- the stores of a lowered kernel ---------------------------------------------------------- */

static Expr *axis_to_var(Rewriter *r, Expr *e)
{
    Var *const *axes = r->user;
    return e->kind == EX_AXIS ? expr_var(r->ctx, axes[e->u.axis], e->span) : e;
}

static bool is_output(const Buffer *buffer)
{
    return buffer->role == ROLE_OUT || buffer->role == ROLE_INOUT;
}

/* The value of a let comes from the computation: not from loops, sizes and inputs, of which the
 * program knows more. */
static bool is_computed(Context *c, const Expr *value)
{
    for (Cursor at = cursor_expr(c, value); cursor_next(&at);)
        if (op_info(at.expr->kind)->class == OP_LANES ||
            (at.expr->kind == EX_LOAD && at.expr->u.load.buffer->role != ROLE_IN))
            return true;
    return false;
}

/* What decides which elements the store writes: computed values that only its value uses do not. */
static EnclosingList scopes_of(Question *q, const Stmt *store, const EnclosingList *path)
{
    Context *c = q->c;
    ExprList uses = {0};
    EnclosingList all = {0}, scopes = {0};
    VEC_APPEND(c->arena, &uses, store->u.store.index, store->u.store.buffer->rank);
    for (int i = path->n - 1; i >= 0; i--) {
        const Stmt *s = path->items[i].stmt;
        if (s->kind == ST_LET && !exprs_use_var(uses.items, uses.n, s->u.let.var) &&
            is_computed(c, s->u.let.value))
            continue;
        for (int k = 0; k < stmt_operands(s); k++)
            VEC_PUSH(c->arena, &uses, stmt_operand(s, k));
        VEC_PUSH(c->arena, &all, path->items[i]);
    }
    for (int i = all.n - 1; i >= 0; i--)
        VEC_PUSH(c->arena, &scopes, all.items[i]);
    return scopes;
}

static void add_writer(Question *q, const Stmt *s, const EnclosingList *path)
{
    if (!is_output(buffer_defined(s->u.store.buffer)))
        return;
    Writer writer = {s, scopes_of(q, s, path), q->launch, q->epoch};
    VEC_PUSH(q->c->arena, &q->writers, writer);
}

/* The two kernels may have been read from two texts. */
static bool writes(const Writer *w, const Buffer *output)
{
    return w->store->u.store.buffer->name == output->name;
}

static void find_writers(Question *q, const Stmt *root, const EnclosingList *outer)
{
    for (Cursor at = cursor_with_path(cursor_outer(q->c, root), outer); cursor_next(&at);) {
        if (at.stmt->kind == ST_STORE)
            add_writer(q, at.stmt, &at.path);
        if (at.stmt->kind == ST_BARRIER)
            q->epoch += at.stmt->u.barrier.kind == SYNC_THREADS;
        if (at.stmt->kind != ST_LAUNCH)
            continue;
        Var *axes[AXIS_COUNT];
        Rewriter r = {.ctx = q->c, .user = axes, .expr = axis_to_var};
        q->launch = at.path.n;
        exact_index_axes(q->c, at.stmt, axes, &at.path);
        find_writers(q, rewrite_stmt(&r, at.stmt->u.launch.body), &at.path);
        q->launch = -1;
        cursor_prune(&at);
    }
}

/* ---- which elements are written -------------------------------------------------------------- */

static isl_set *join(isl_set *a, isl_set *b)
{
    return a && b ? isl_set_union(a, b) : (isl_set_free(a), isl_set_free(b), NULL);
}

/* The subscripts behind the n parameters; how many there are together. */
static int add_subscripts(Affine *dims, int n, const Affine *index, int rank)
{
    for (int i = 0; i < rank; i++)
        dims[n + i] = index[i];
    return n + rank;
}

/* Lower and upper bounds of the set of written (parameters, subscripts). */
typedef struct {
    isl_set *least, *most;
    bool exact; /* the two are the same */
} Image;

static Image no_elements(const Question *q, int n)
{
    Poly *p = poly_new(q->c);
    isl_set *none = isl_set_empty(isl_space_set_alloc(p->isl, 0, (unsigned)n));
    return (Image){isl_set_copy(none), none, true};
}

/* Adds the image of (parameters, subscripts). A store under a condition on data may not run. */
static void add_image(Poly *p, const Affine *dims, int n, Image *image)
{
    bool exact;
    isl_set *set = poly_image(p, dims, n, &exact);
    image->most = join(image->most, isl_set_copy(set));
    if (exact)
        image->least = join(image->least, isl_set_copy(set));
    image->exact &= exact;
    isl_set_free(set);
}

/* The elements, where the two bounds meet: an update that may not run is of elements that an init
 * writes. NULL where they do not. Pieces of unrolled and of shifted stores are joined: each piece
 * that is subtracted may take what is left of a set apart. */
static isl_set *elements_of(Image image)
{
    bool known = image.least && image.most &&
                 (image.exact || isl_set_is_subset(image.most, image.least) == 1);
    isl_set_free(image.most);
    return known ? isl_set_coalesce(image.least) : isl_set_free(image.least);
}

/* Columns for what a run is given, and what the kernel assumes of it. */
static int enter_given(const Kernel *kernel, Poly *p, Affine *out)
{
    int n = poly_given(p, kernel, out, MAX_DIMENSIONS);
    poly_assume_where(p, kernel);
    return n;
}

/* The elements of the buffer that the program writes, as (parameters, subscripts); NULL if the set
 * is not exact. */
static isl_set *program_image(Question *q, const Model *m, const Buffer *buffer)
{
    Affine dims[2 * MAX_DIMENSIONS];
    Image image = no_elements(q, enter_given(q->program, poly_new(q->c), dims) + buffer->rank);
    for (BufferAccesses at = accesses_of(m, buffer); accesses_next(&at);) {
        if (!at.access->writes)
            continue;
        Poly *p = poly_new(q->c);
        int n = enter_given(q->program, p, dims);
        Instance writer = instance_new(p, m->units.items[at.unit]);
        const Affine *index = instance_index(p, &writer, at.access);
        n = add_subscripts(dims, n, index, buffer->rank);
        add_image(p, dims, n, &image);
    }
    return elements_of(image);
}

static void enter_scopes(Poly *p, Env *env, const Writer *w, int from, int to)
{
    for (int i = from; i < to; i++)
        model_enter_scope(p, env, w->scopes.items[i]);
}

/* The sizes are such that the launch has blocks. */
static void assume_launched(Poly *p, const Writer *w)
{
    for (int k = 0; k < AXIS_COUNT && w->launch >= 0; k++)
        poly_assume_positive(p, w->scopes.items[w->launch + k].stmt->u.loop.hi);
}

static const Affine *subscripts(Question *q, Poly *p, const Env *env, const Writer *w)
{
    int rank = w->store->u.store.buffer->rank;
    Affine *index = ARENA_ARRAY(q->c->arena, Affine, rank + 1);
    for (int i = 0; i < rank; i++)
        index[i] = poly_value(p, env, w->store->u.store.index[i]);
    return index;
}

static isl_set *lowered_image(Question *q, const Buffer *buffer)
{
    Affine dims[2 * MAX_DIMENSIONS];
    Image image = no_elements(q, enter_given(q->program, poly_new(q->c), dims) + buffer->rank);
    for (int i = 0; i < q->writers.n; i++) {
        const Writer *w = &q->writers.items[i];
        if (!writes(w, buffer))
            continue;
        Poly *p = poly_new(q->c);
        int n = enter_given(q->lowered, p, dims);
        Env env = {0};
        assume_launched(p, w);
        enter_scopes(p, &env, w, 0, w->scopes.n);
        n = add_subscripts(dims, n, subscripts(q, p, &env, w), buffer->rank);
        add_image(p, dims, n, &image);
    }
    return elements_of(image);
}

/* "C[4, 0] at N = 5" */
static const char *point_text(const Question *q, const Buffer *buffer, const int64_t *point)
{
    StrBuf element = strbuf_new(q->c->arena), sizes = strbuf_new(q->c->arena);
    int n = 0;
    for (int i = 0; i < q->program->n_sizes; i++)
        if (q->program->sizes[i].symbolic) {
            strbuf_addf(&sizes, "%s%s = %lld", n ? ", " : " at ", q->program->sizes[i].name,
                        (long long)point[n]);
            n++;
        }
    for (int i = 0; i < q->program->n_params; i++) {
        const Var *scalar = q->program->params[i].scalar;
        if (!scalar || !type_is_int(scalar->type))
            continue;
        strbuf_addf(&sizes, "%s%s = %lld", n ? ", " : " at ", scalar->name, (long long)point[n]);
        n++;
    }
    strbuf_addf(&element, "%s[", buffer->name);
    for (int i = 0; i < buffer->rank; i++)
        strbuf_addf(&element, "%s%lld", i ? ", " : "", (long long)point[n + i]);
    strbuf_addf(&element, "]%s", n ? sizes.text : "");
    return element.text;
}

/* A point of the set: of one in which no size is 0, if there is one. False if the set is empty;
 * *spent when not decided. */
static bool find_point(const Question *q, isl_set *set, int64_t *point, bool *spent)
{
    isl_set *sized = isl_set_copy(set);
    for (int i = 0, n = 0; i < q->program->n_sizes; i++)
        if (q->program->sizes[i].symbolic)
            sized = isl_set_lower_bound_si(sized, isl_dim_set, (unsigned)n++, 1);
    int n = (int)isl_set_dim(set, isl_dim_set);
    bool found = sized && poly_set_point(sized, point, n, spent);
    isl_set_free(sized);
    return found || poly_set_point(set, point, n, spent);
}

/* A point of `all` that is not in `part`, if there is one, is the answer. Takes neither. */
static void ask_missing(Question *q, const Buffer *buffer, isl_set *all, isl_set *part,
                        const char *what)
{
    int64_t point[2 * MAX_DIMENSIONS];
    bool spent;
    isl_set *missing = isl_set_subtract(isl_set_copy(all), isl_set_copy(part));
    if (missing && find_point(q, missing, point, &spent))
        answer(q, WRITTEN_WRONG,
               arena_printf(q->c->arena, "element %s %s", point_text(q, buffer, point), what));
    else if (!missing || spent)
        answer(q, WRITTEN_OPEN,
               arena_printf(q->c->arena,
                            "the proof of which elements of '%s' are written exceeds its budget",
                            buffer->name));
    isl_set_free(missing);
}

static void ask_elements(Question *q, const Model *m, const Buffer *buffer)
{
    isl_set *wanted = program_image(q, m, buffer);
    isl_set *written = wanted ? lowered_image(q, buffer) : NULL;
    if (!wanted || !written) {
        answer(q, WRITTEN_OPEN,
               arena_printf(
                   q->c->arena,
                   "the elements of '%s' that are written depend on data, or on products of sizes",
                   buffer->name));
    } else {
        ask_missing(q, buffer, wanted, written, "is never written");
        ask_missing(q, buffer, written, wanted, "is written, but the program does not write it");
    }
    isl_set_free(wanted);
    isl_set_free(written);
}

/* ---- by whom --------------------------------------------------------------------------------- */

/* Barriers in the loop hold the threads of a block together: those of all, not of a warp, and waits
 * for copies, which have one behind them. */
static bool holds_threads(Context *c, const ForStmt *loop)
{
    for (Cursor at = cursor_stmts(c, loop->body); cursor_next(&at);) {
        SyncKind kind = at.stmt->kind == ST_BARRIER ? at.stmt->u.barrier.kind : SYNC_COMMIT;
        if ((sync_meets(kind) && !sync_is_part(kind)) ||
            (kind == SYNC_WAIT && !at.stmt->u.barrier.of))
            return true;
    }
    return false;
}

/* It has the same ends for both. Loops such as `for c in thread..64 step 4` threads run each on its
 * own, unless barriers hold them. */
static bool same_ends(Poly *p, const ForStmt *loop, const Env *mine, const Env *theirs)
{
    return affine_equal(poly_value(p, mine, loop->lo), poly_value(p, theirs, loop->lo)) &&
           affine_equal(poly_value(p, mine, loop->hi), poly_value(p, theirs, loop->hi));
}

/* `w` on a thread of its own, in the iteration of the loops around both that `like` is in, where
 * threads are in step there. */
static void enter_like(Poly *p, Env *env, const Writer *w, const Writer *like, const Env *theirs)
{
    enter_scopes(p, env, w, w->launch, w->launch + AXIS_COUNT);
    for (int i = w->launch + AXIS_COUNT; i < w->scopes.n; i++) {
        const Stmt *s = w->scopes.items[i].stmt;
        bool shared = s->kind == ST_FOR && i < like->scopes.n && like->scopes.items[i].stmt == s;
        Affine same = shared ? *env_find(theirs, s->u.loop.var) : affine_const(0);
        if (shared && same_ends(p, &s->u.loop, env, theirs)) {
            VEC_PUSH(p->ctx->arena, env, ((Meaning){s->u.loop.var, same, false}));
            continue;
        }
        model_enter_scope(p, env, w->scopes.items[i]);
        if (shared && holds_threads(p->ctx, &s->u.loop))
            poly_equal(p, &p->top, *env_find(env, s->u.loop.var), same);
    }
}

static bool same_launch(const Writer *a, const Writer *b)
{
    return a->launch >= 0 && a->launch == b->launch &&
           a->scopes.items[a->launch].stmt == b->scopes.items[b->launch].stmt;
}

/* It has a barrier, or a wait with one behind it, of all threads of a block. */
static bool orders_blocks(Context *c, const Stmt *s)
{
    for (Cursor at = cursor_stmts(c, s); cursor_next(&at);)
        if (at.stmt->kind == ST_BARRIER && !sync_is_part(at.stmt->u.barrier.kind))
            return true;
    return false;
}

/* A loop around `a` and not around `b` has barriers inside: those of its iterations that come
 * before another order the two. */
static bool parted_in_loop(Question *q, const Writer *a, const Writer *b)
{
    int shared = 0;
    while (shared < a->scopes.n && shared < b->scopes.n &&
           a->scopes.items[shared].stmt == b->scopes.items[shared].stmt)
        shared++;
    for (int i = shared; i < a->scopes.n; i++)
        if (a->scopes.items[i].stmt->kind == ST_FOR &&
            orders_blocks(q->c, a->scopes.items[i].stmt->u.loop.body))
            return true;
    return false;
}

/* Two threads of a launch do not write one element in one iteration of the loops around both; a
 * barrier between the stores orders those of one block. */
static void ask_pair(Question *q, const Writer *a, const Writer *b)
{
    Affine parameters[MAX_DIMENSIONS], at_a[AXIS_COUNT], at_b[AXIS_COUNT];
    Poly *p = poly_new(q->c);
    enter_given(q->lowered, p, parameters);
    assume_launched(p, a);
    for (int i = 0; i < a->launch; i++)
        model_enter_scope(p, &p->fixed, a->scopes.items[i]);
    Env env_a = {0}, env_b = {0};
    enter_scopes(p, &env_a, a, a->launch, a->scopes.n);
    enter_like(p, &env_b, b, a, &env_a);
    const Affine *index_a = subscripts(q, p, &env_a, a), *index_b = subscripts(q, p, &env_b, b);
    for (int i = 0; i < a->store->u.store.buffer->rank; i++)
        poly_equal(p, &p->top, index_a[i], index_b[i]);
    for (int k = 0; k < AXIS_COUNT; k++) {
        const Var *axis = a->scopes.items[a->launch + k].stmt->u.loop.var;
        at_a[k] = *env_find(&env_a, axis);
        at_b[k] = *env_find(&env_b, axis);
    }
    poly_differ(p, &p->top, at_a, at_b, a->epoch == b->epoch ? AXIS_COUNT : AXIS_THREAD_X);
    Answer found = poly_solve(p, NULL, 0, NULL);
    const Buffer *buffer = a->store->u.store.buffer;
    if (found == POLY_SOME && !p->inexact && !parted_in_loop(q, a, b) && !parted_in_loop(q, b, a))
        answer(q, WRITTEN_WRONG,
               arena_printf(q->c->arena, "two threads of a launch write the same element of '%s'",
                            buffer->name));
    else if (found != POLY_NONE)
        answer(q, WRITTEN_OPEN,
               arena_printf(q->c->arena,
                            "not proved: exactly one thread writes each element of '%s'",
                            buffer->name));
}

static void ask_writers(Question *q, const Buffer *buffer)
{
    for (int i = 0; i < q->writers.n; i++)
        for (int k = i; k < q->writers.n; k++) {
            const Writer *a = &q->writers.items[i], *b = &q->writers.items[k];
            if (writes(a, buffer) && writes(b, buffer) && same_launch(a, b) &&
                !(a->store->u.store.atomic && b->store->u.store.atomic))
                ask_pair(q, a, b);
        }
}

/* Of a kernel that launches the same for all sizes. */
static WrittenProof one_version(Context *c, const Kernel *program, const Kernel *lowered)
{
    Question q = {.c = c, .program = program, .lowered = lowered, .launch = -1};
    find_writers(&q, lowered->body, NULL);
    Model *m = model_new(c, program, program->body, program->body);
    for (int i = 0; i < program->n_params && q.proof.answer != WRITTEN_WRONG; i++) {
        const Buffer *buffer = program->params[i].buffer;
        if (!buffer || !is_output(buffer))
            continue;
        ask_elements(&q, m, buffer);
        ask_writers(&q, buffer);
    }
    return q.proof;
}

/* ---- versions -------------------------------------------------------------------------------- */

/* A condition on sizes of the host, outside of loops; NULL: there is none. */
static const Stmt *choice_of_host(const Stmt *body)
{
    for (int i = 0; i < stmt_items(body); i++) {
        const Stmt *item = stmt_item(body, i);
        if (item->kind == ST_IF && expr_of_sizes(item->u.cond.cond))
            return item;
    }
    return NULL;
}

static Kernel *with_condition(Context *c, const Kernel *kernel, Expr *cond)
{
    Fact *facts = ARENA_COPY(c->arena, Fact, kernel->facts, kernel->n_facts, 1);
    facts[kernel->n_facts] = (Fact){.kind = FACT_SIZES, .cond = cond};
    Kernel *made = kernel_with_body(c, kernel, kernel->body);
    made->facts = facts;
    made->n_facts = kernel->n_facts + 1;
    return made;
}

/* A condition on the sizes of `lowered` as one on those of `program`, which has the same. */
static Expr *of_program(Context *c, Expr *cond, const Kernel *program, const Kernel *lowered)
{
    SubstList map = {0};
    for (int i = 0; i < lowered->n_sizes; i++)
        if (lowered->sizes[i].symbolic) {
            Subst to = {lowered->sizes[i].var, expr_var(c, program->sizes[i].var, span_none())};
            VEC_PUSH(c->arena, &map, to);
        }
    return expr_subst(c, cond, map.items, map.n);
}

/* What makes a difference: where a version before is open, only one that is wrong. */
typedef enum { ASK_ALL, ASK_WRONG } Purpose;

/* The sizes that are asked about: all, or those that take the branches on the way here. */
typedef struct {
    const Kernel *program, *lowered;
    Purpose purpose;
} Asked;

static WrittenProof of_choices(Context *c, Asked given, Asked all);

/* The answer for the sizes that take one branch. */
static WrittenProof of_branch(Context *c, Asked given, Asked all, const Stmt *choice, Branch branch)
{
    Expr *cond = choice->u.cond.cond;
    Stmt *taken = choice->u.cond.then;
    if (branch == BRANCH_ELSE) {
        cond = expr_unary(c, EX_NOT, cond, cond->span);
        taken = choice->u.cond.otherwise ? choice->u.cond.otherwise : stmt_empty(c, choice->span);
    }
    Stmt *body = stmt_replace(c, given.lowered->body, choice, taken);
    Kernel *version = kernel_with_body(c, given.lowered, body);
    Expr *cond_of_program = of_program(c, cond, given.program, given.lowered);
    given = (Asked){with_condition(c, given.program, cond_of_program),
                    with_condition(c, version, cond), given.purpose};
    all.lowered = kernel_with_body(c, all.lowered, body);
    return of_choices(c, given, all);
}

/* Asks about each version once with all its conditions, and if need be once without: what holds for
 * all sizes holds for these, and a condition on a multiple, such as N % 4 == 0, keeps products of
 * sizes from being columns. */
static WrittenProof of_choices(Context *c, Asked given, Asked all)
{
    const Stmt *choice = choice_of_host(given.lowered->body);
    if (!choice) {
        WrittenProof proof = one_version(c, given.program, given.lowered);
        if (proof.answer != WRITTEN_OPEN || given.program == all.program ||
            given.purpose == ASK_WRONG)
            return proof;
        WrittenProof of_all = one_version(c, all.program, all.lowered);
        return of_all.answer == WRITTEN_ONCE ? of_all : proof;
    }
    WrittenProof then = of_branch(c, given, all, choice, BRANCH_THEN);
    if (then.answer == WRITTEN_OPEN)
        given.purpose = ASK_WRONG;
    WrittenProof otherwise = of_branch(c, given, all, choice, BRANCH_ELSE);
    bool first = then.answer == WRITTEN_WRONG ||
                 (then.answer == WRITTEN_OPEN && otherwise.answer != WRITTEN_WRONG);
    return first ? then : otherwise;
}

WrittenProof outputs_written_once(Context *c, const Kernel *program, const Kernel *lowered)
{
    Asked all = {program, lowered, ASK_ALL};
    return of_choices(c, all, all);
}
