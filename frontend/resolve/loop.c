/* loop.c - Resolves loops and conditions.
 *
 * Outside of blocks they decide from sizes and loops, so that the analysis knows which iterations
 * there are.  The bounds of loops may also read inputs, `rowptr[i]..rowptr[i + 1]`, which do not
 * change while the kernel runs.  A loop or condition that reads anything else to decide becomes,
 * with all that is in it, the body of one block. */
#include "frontend/resolve/internal.h"
#include "ir/implied.h"
#include "passes/analysis/regions/affine_bounds.h"

/* ---- the range of a loop ---- */

static bool loop_reads_data(Resolver *r, const ForStmt *loop)
{
    return r->mode == MODE_PROGRAM &&
           (value_reads_data(r, loop->lo) || value_reads_data(r, loop->hi));
}

/* Of an end that is the least of some, each is one. */
static void assume_ends(Context *c, Facts *facts, Expr *at, Expr *hi)
{
    if (hi->kind == EX_MIN) {
        assume_ends(c, facts, at, hi->u.arg[0]);
        assume_ends(c, facts, at, hi->u.arg[1]);
    } else {
        facts_assume(facts, expr_binary(c, EX_LT, at, hi, hi->span));
    }
}

/* Facts about the sizes and the loops that are open. */
static Facts *open_facts(Resolver *r)
{
    Facts *facts = facts_of_kernel(r->ctx, r->kernel);
    for (int i = 0; i < r->loops.n; i++) {
        Stmt loop = {.kind = ST_FOR, .u.loop = *r->loops.items[i]};
        facts_enter(facts, &loop);
        if (loop.u.loop.hi->kind == EX_MIN && loop.u.loop.step > 0)
            assume_ends(r->ctx, facts, expr_var(r->ctx, loop.u.loop.var, loop.u.loop.hi->span),
                        loop.u.loop.hi);
    }
    return facts;
}

/* One of the loops that are open has no iteration, which literals say. */
static bool never_runs(const Resolver *r)
{
    int64_t extent;
    for (int i = 0; i < r->loops.n; i++)
        if (loop_const_extent(r->loops.items[i], &extent) && extent <= 0)
            return true;
    return false;
}

/* Every load in the bounds finds an element, wherever a schedule evaluates them. */
static bool loads_exist(Resolver *r, const ForStmt *loop)
{
    if (never_runs(r))
        return true;
    Facts *facts = open_facts(r);
    const Expr *ends[] = {loop->lo, loop->hi};
    for (int end = 0; end < 2; end++)
        for (Cursor at = cursor_expr(r->ctx, ends[end]); cursor_next(&at);)
            if (at.expr->kind == EX_LOAD && !load_exists(facts, at.expr))
                return false;
    return true;
}

/* The loop with this body is the body of a block, as data decide its range that may change or may
 * not be there.  Written blocks in it say that it is not: a schedule has changed the loop. */
static bool is_data_loop(Resolver *r, const ForStmt *loop, const AstStmt *body)
{
    if (!loop_reads_data(r, loop))
        return false;
    bool given = expr_is_affine(loop->lo) && expr_is_affine(loop->hi);
    return !given || !(ast_has(body, AS_BLOCK) || loads_exist(r, loop));
}

static bool check_affine(Resolver *r, const ForStmt *loop)
{
    const Expr *bad = !expr_is_affine(loop->lo)   ? loop->lo
                      : !expr_is_affine(loop->hi) ? loop->hi
                                                  : NULL;
    if (!bad || r->mode != MODE_PROGRAM || loop_reads_data(r, loop))
        return true;
    diag_error(
        r->ctx, E0213, bad->span,
        "the bounds of loop '%.60s' must be affine in outer loops: sums, and products with and "
        "quotients by sizes; declare a number that is known only at run time as a size in <...>",
        loop->var->name);
    return false;
}

static bool resolve_step(Resolver *r, const AstLoop *loop, int64_t *step)
{
    *step = 1;
    if (!loop->step)
        return true;
    if (!resolve_literal(r, loop->step, "a step", step))
        return false;
    if (*step == 0)
        diag_error(r->ctx, E0214, loop->step->span,
                   "loop '%.60s' has step 0 and would not terminate; use a step of at least 1, or "
                   "at most -1 to count down",
                   loop->name.text);
    return *step != 0;
}

/* `N - 1..0` without a step: a loop that was meant to go down. The end is written as 0: `1..N - 1`
 * is empty for a small N. */
static void warn_downward(Resolver *r, const AstLoop *ast, const ForStmt *loop)
{
    int64_t lo, hi;
    if (ast->step || ast->hi->kind != AE_INT || !expr_is_const(loop->lo, &lo) ||
        !expr_is_const(loop->hi, &hi) || lo <= hi || hi != 0)
        return;
    diag_warning(r->ctx, E0214, ast->span,
                 "loop '%.60s' counts up from %lld to 0, so it has no iterations; add 'step -1' to "
                 "count down",
                 ast->name.text, (long long)lo);
}

static bool resolve_axis(Resolver *r, const AstLoop *loop, Axis *axis)
{
    *axis = AXIS_NONE;
    if (loop->kind != LOOP_BIND)
        return true;
    *axis = axis_find(ctx_namef(r->ctx, "%s.%s", loop->axis->u.field.base->u.name,
                                loop->axis->u.field.name.text));
    if (*axis == AXIS_NONE)
        diag_error(r->ctx, E0223, loop->axis->span,
                   "expected an axis to bind the loop to: blockIdx.x, .y, .z, cluster.rank or "
                   "threadIdx.x, .y, .z");
    else if (r->mode == MODE_LAUNCH || r->mode == MODE_HOST)
        diag_error(r->ctx, E0222, loop->axis->span,
                   "a kernel with launches has no bound loops: each launch defines its blocks and "
                   "threads");
    else
        return true;
    return false;
}

/* A bound that data decide without the types of these, where they make no difference. */
static Expr *exact_end(Resolver *r, Expr *end)
{
    bool typed = end && end->kind == EX_CAST && end->type == DT_INDEX && r->mode == MODE_PROGRAM;
    if (!typed || end->u.arg[0]->kind == EX_LOAD || !value_reads_data(r, end))
        return end;
    Expr *exact = expr_exact(open_facts(r), r->ctx, end->u.arg[0]);
    return exact && expr_is_affine(exact) ? exact : end;
}

/* A bound of a loop: in a launch it may also be an i64. */
static Expr *resolve_end(Resolver *r, const AstExpr *e)
{
    return r->mode == MODE_LAUNCH ? resolve_wide_bound(r, e, "a bound")
                                  : exact_end(r, value_in_range(r, resolve_bound(r, e, "a bound")));
}

/* The type of a loop: i64 where a bound is, and then both are. */
static DType common_bound_type(Resolver *r, ForStmt *loop)
{
    if (loop->lo->type == loop->hi->type)
        return loop->lo->type;
    Expr **narrow = loop->lo->type == DT_INDEX ? &loop->lo : &loop->hi;
    int64_t value;
    *narrow = expr_is_const(*narrow, &value) ? expr_int(r->ctx, DT_I64, value, (*narrow)->span)
                                             : expr_cast(r->ctx, DT_I64, *narrow, (*narrow)->span);
    return DT_I64;
}

/* A loop of an AS_FOR without its body; false after an error. Its variable is declared either
 * way. */
static bool resolve_loop(Resolver *r, const AstLoop *loop, ForStmt *out)
{
    *out = (ForStmt){.kind = loop->kind};
    out->lo = loop->lo ? resolve_end(r, loop->lo) : expr_index(r->ctx, 0);
    out->hi = resolve_end(r, loop->hi);
    bool good = out->lo && out->hi;
    good = resolve_step(r, loop, &out->step) && good;
    good = resolve_axis(r, loop, &out->axis) && good;
    good =
        resolve_annotations(r, loop->annotations, loop->n_annotations, &out->annotations) && good;
    if (good && annotation_find(out->annotations, ANNOTATION_IN_ORDER)) {
        diag_error(r->ctx, E0223, loop->span,
                   "'@in_order' is for blocks: the updates of each element keep their order; write "
                   "block NAME(...) @in_order { ... }");
        good = false;
    }
    DType type = good ? common_bound_type(r, out) : DT_INDEX;
    out->var = var_new(r->ctx, loop->name.text, type, VAR_LOOP, loop->name.span);
    names_add(r, (Symbol){.name = loop->name.text,
                          .kind = SYMBOL_VAR,
                          .span = loop->name.span,
                          .var = out->var});
    if (!good || !check_affine(r, out))
        return false;
    warn_downward(r, loop, out);
    return true;
}

/* ---- loops ---- */

/* A `break` in the statement ends the loop around it. */
static bool has_break(const AstStmt *s)
{
    bool found = s->kind == AS_BREAK;
    for (int i = 0; s->kind == AS_SEQ && i < s->u.seq.n && !found; i++)
        found = has_break(s->u.seq.items[i]);
    if (s->kind == AS_IF)
        found =
            has_break(s->u.cond.then) || (s->u.cond.otherwise && has_break(s->u.cond.otherwise));
    return found || (s->kind == AS_LABEL && has_break(s->u.label.body));
}

/* A `break` ends the innermost of the loops of a `for`, which data then decide. */
static void open_breaking(Resolver *r, OpenLoop *open, const AstLoop *ast)
{
    open->data = r->mode == MODE_PROGRAM;
    if (open->loop.kind != LOOP_SERIAL) {
        diag_error(r->ctx, E0251, ast->span,
                   "loop '%.60s' contains a 'break', so its iterations run one after the other; "
                   "remove '%s'",
                   ast->name.text, loop_kind_name(open->loop.kind));
        open->good = false;
    } else {
        open->loop.kind = LOOP_BREAKS;
    }
}

OpenLoop loop_open(Resolver *r, const AstStmt *s, int i)
{
    OpenLoop open = {.symbols = r->symbols.n,
                     .loops = r->loops.n,
                     .uses = r->uses.n,
                     .mode = r->mode,
                     .breaks = r->breaks};
    open.good = resolve_loop(r, &s->u.loop.loops[i], &open.loop);
    open.data = open.good && is_data_loop(r, &open.loop, s->u.loop.body);
    if (open.good && i == s->u.loop.n - 1 && has_break(s->u.loop.body))
        open_breaking(r, &open, &s->u.loop.loops[i]);
    open.span = i == 0 ? s->span : s->u.loop.loops[i].span;
    open.span.end = s->span.end;
    return open;
}

void loop_enter(Resolver *r, OpenLoop *open)
{
    r->breaks = open->loop.kind == LOOP_BREAKS || !open->good;
    if (open->data)
        r->mode = MODE_BLOCK;
    else if (open->good && r->mode == MODE_PROGRAM)
        VEC_PUSH(r->ctx->arena, &r->loops, &open->loop);
}

Stmt *loop_close(Resolver *r, OpenLoop *open, Stmt *body, Label *label)
{
    r->loops.n = open->loops;
    r->mode = open->mode;
    r->breaks = open->breaks;
    values_check_loop(r, open->loops, open->uses);
    names_cut(r, open->symbols);
    if (!open->good || !body)
        return NULL;
    open->loop.body = body;
    Stmt *out = stmt_for(r->ctx, &open->loop, open->span);
    return open->data ? block_wrap(r, NULL, out, r->loops.n, label) : out;
}

/* Loop number `i` of `s` with what is in it. */
static Stmt *resolve_nest(Resolver *r, const AstStmt *s, int i)
{
    if (i == s->u.loop.n)
        return resolve_body(r, s->u.loop.body);
    OpenLoop open = loop_open(r, s, i);
    loop_enter(r, &open);
    Stmt *body = resolve_nest(r, s, i + 1);
    return loop_close(r, &open, body, &r->label);
}

Stmt *resolve_for(Resolver *r, const AstStmt *s)
{
    return resolve_nest(r, s, 0);
}

/* The host's part of a lowered kernel has no loops that data decide. */
static bool check_while(Resolver *r, const AstStmt *s)
{
    if (r->mode == MODE_HOST)
        diag_error(r->ctx, E0251, s->span,
                   "'while' stands outside of the launches; the host runs only loops between "
                   "numbers");
    return r->mode != MODE_HOST;
}

Stmt *resolve_while(Resolver *r, const AstStmt *s)
{
    Mode mode = r->mode;
    bool breaks = r->breaks, good = check_while(r, s);
    Expr *cond = resolve_condition(r, s->u.cond.cond, "the condition of 'while'");
    if (mode == MODE_PROGRAM)
        r->mode = MODE_BLOCK;
    r->breaks = true;
    Stmt *body = resolve_body(r, s->u.cond.then);
    r->mode = mode;
    r->breaks = breaks;
    if (!good || !cond || !body)
        return NULL;
    return block_wrap(r, NULL, stmt_while(r->ctx, cond, body, s->span), r->loops.n, &r->label);
}

Stmt *resolve_break(Resolver *r, const AstStmt *s)
{
    if (r->breaks)
        return stmt_break(r->ctx, s->span);
    diag_error(r->ctx, E0251, s->span,
               "'break' ends the innermost loop around it, and here is none in the same block; put "
               "it into a 'for' or 'while'");
    return NULL;
}

/* ---- conditions ---- */

OpenIf if_open(Resolver *r, const AstStmt *s)
{
    OpenIf open = {.mode = r->mode, .span = s->span};
    open.cond = value_in_control(r, resolve_condition(r, s->u.cond.cond, "the condition"));
    open.data = open.cond && r->mode == MODE_PROGRAM && value_reads_data(r, open.cond);
    if (open.data)
        r->mode = MODE_BLOCK;
    return open;
}

Stmt *if_close(Resolver *r, const OpenIf *open, Stmt *then, Stmt *otherwise)
{
    r->mode = open->mode;
    return open->cond && then ? stmt_if(r->ctx, open->cond, then, otherwise, open->span) : NULL;
}

Stmt *resolve_if(Resolver *r, const AstStmt *s)
{
    OpenIf open = if_open(r, s);
    Stmt *then = resolve_body(r, s->u.cond.then);
    Stmt *otherwise = s->u.cond.otherwise ? resolve_body(r, s->u.cond.otherwise) : NULL;
    Stmt *out = if_close(r, &open, then, otherwise);
    if (!out || (s->u.cond.otherwise && !otherwise))
        return NULL;
    BlockInit init = {.stmt = open.data ? tuple_guarded_init(r, out) : NULL};
    return open.data ? block_wrap(r, init.stmt ? &init : NULL, out, r->loops.n, &r->label) : out;
}
