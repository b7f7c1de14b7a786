/* block.c - Turns statements into blocks.
 *
 *     C[i, j] = 0;                      for k in K {
 *     for k in K                   =>       init C[i, j] = 0;
 *         C[i, j] += A[i, k];               C[i, j] += A[i, k];
 *                                       }
 *
 * A plain statement stands for a block over the loops around it (ir/implied.c).  An assignment
 * followed by updates of the same element in loops of their own is the init of one reduction, which
 * starts again in each iteration of the loops around both: those are spatial. */
#include "frontend/resolve/internal.h"
#include "passes/analysis/regions/affine_bounds.h"

IterKind loop_implied_kind(const Resolver *r, const Stmt *body, int i)
{
    return i < block_private_loops(body, &r->temps)
               ? ITER_SPATIAL
               : block_implied_kind(r->ctx, body, r->loops.items[i]->var);
}

/* The declarations that stood in the block, and the block. */
static Stmt *behind_moved(Resolver *r, Stmt *block)
{
    if (r->moved.n == 0)
        return block;
    StmtList items = r->moved;
    r->moved = (StmtList){0};
    VEC_PUSH(r->ctx->arena, &items, block);
    return stmt_seq(r->ctx, items.items, items.n, block->span);
}

/* The label, if there is one that no block took, or a name like `implied`. */
static Name take_name(Resolver *r, Label *label, Name implied)
{
    if (!label || !label->name.text || label->used)
        return block_names_fresh(r, implied);
    label->used = true;
    VEC_PUSH(r->ctx->arena, &r->labels, label->name.text);
    return label->name.text;
}

Stmt *block_wrap(Resolver *r, const BlockInit *init, Stmt *body, int n_loops, Label *label)
{
    if (r->mode != MODE_PROGRAM)
        return body;
    values_check(r, body);
    body = values_bind(r, body);
    Name implied = block_implied_name(r->ctx, body);
    if (!implied)
        return behind_moved(r, stmt_seq(r->ctx, NULL, 0, body->span)); /* it writes nothing */
    Name name = take_name(r, label, implied);
    int n_private = block_private_loops(body, &r->temps), n_anew = init ? init->n_loops : 0;
    ImpliedBlock block = {.loops = r->loops.items,
                          .n_loops = n_loops,
                          .n_spatial = n_private > n_anew ? n_private : n_anew,
                          .name = name,
                          .init = init ? values_write_out(r, init->stmt) : NULL,
                          .body = body,
                          .span = body->span};
    return behind_moved(r, block_implied(r->ctx, &block));
}

/* Temps that the body writes are private to each iteration of how many of the outermost loops? */
static int private_loops(const Resolver *r, const Stmt *body)
{
    int most = 0;
    for (Cursor at = cursor_stmts(r->ctx, body); cursor_next(&at);) {
        int n =
            at.stmt->kind == ST_STORE ? loops_around_temp(at.stmt->u.store.buffer, &r->temps) : 0;
        most = n > most ? n : most;
    }
    return most;
}

Stmt *block_of_instruction(Resolver *r, const Instruction *of, Stmt *body)
{
    values_check(r, body);
    ImpliedBlock block = {.loops = r->loops.items,
                          .n_loops = r->loops.n,
                          .n_spatial = private_loops(r, body),
                          .name = take_name(r, &r->label, block_implied_name(r->ctx, body)),
                          .body = values_write_out(r, body),
                          .instruction = of,
                          .span = body->span};
    return block_implied(r->ctx, &block);
}

/* ---- values that are kept ---- */

static bool has_buffer(const Resolver *r, Name name)
{
    bool has = false;
    for (int i = 0; i < r->temps.n; i++)
        has |= r->temps.items[i].buffer->name == name;
    return has;
}

/* The name of the value, or another one, since schedules find buffers by name. */
static Name name_of_temp(const Resolver *r, Name base)
{
    Name name = base;
    for (int i = 1; has_buffer(r, name) || (name != base && names_find(r, name)); i++)
        name = ctx_namef(r->ctx, "%s_%d", base, i);
    return name;
}

Stmt *value_store(Resolver *r, const AstStmt *let, Expr *value)
{
    Context *c = r->ctx;
    const AstPattern *name = &let->u.let.pattern;
    Buffer *temp = buffer_new(c, &(Buffer){.name = name_of_temp(r, name->name),
                                           .type = value->type,
                                           .scope = SCOPE_GLOBAL,
                                           .role = ROLE_TEMP,
                                           .span = name->span});
    names_add(
        r, (Symbol){.name = name->name, .kind = SYMBOL_BUFFER, .span = name->span, .buffer = temp});
    VEC_PUSH(c->arena, &r->written, temp);
    Stmt *store = stmt_set(c, (BufferElement){temp, NULL}, value, let->span);
    Stmt *items[] = {declare_temp(r, temp, let->span),
                     block_wrap(r, NULL, store, r->loops.n, NULL)};
    return stmt_seq(c, items, 2, let->span);
}

/* ---- an assignment and a nest of updates ---- */

/* The number of values at the start of a sequence. */
static int leading_values(const AstStmt *seq)
{
    int n = 0;
    while (n < seq->u.seq.n && value_is_of_uses(seq->u.seq.items[n]))
        n++;
    return n;
}

/* What there is below labels, braces and values around one statement. */
typedef struct {
    const AstStmt *stmt;
    AstName label; /* the innermost, or the one before */
    VEC(const AstStmt *) values;
} Unwrapped;

static void unwrap(Context *c, const AstStmt *s, Unwrapped *out)
{
    for (;;) {
        if (s->kind == AS_LABEL) {
            out->label = s->u.label.name;
            s = s->u.label.body;
        } else if (s->kind == AS_SEQ && s->u.seq.n == leading_values(s) + 1) {
            for (int i = 0; i < s->u.seq.n - 1; i++)
                VEC_PUSH(c->arena, &out->values, s->u.seq.items[i]);
            s = s->u.seq.items[s->u.seq.n - 1];
        } else {
            out->stmt = s;
            return;
        }
    }
}

/* Goes on to what stands in loops, and under conditions without `else`. */
static void unwrap_nest(Context *c, Unwrapped *out)
{
    for (;;) {
        if (out->stmt->kind == AS_FOR)
            unwrap(c, out->stmt->u.loop.body, out);
        else if (out->stmt->kind == AS_IF && !out->stmt->u.cond.otherwise)
            unwrap(c, out->stmt->u.cond.then, out);
        else
            return;
    }
}

bool reduction_is_possible(Context *c, const AstStmt *first, const AstStmt *next)
{
    Unwrapped store = {0}, update = {0};
    unwrap(c, first, &store);
    unwrap(c, next, &update);
    if (store.values.n > 0 || store.stmt->kind != AS_STORE ||
        store.stmt->u.store.op != UPDATE_SET || update.stmt->kind != AS_FOR)
        return false;
    unwrap_nest(c, &update);
    const AstStmt *s = update.stmt;
    return s->kind == AS_STORE && s->u.store.op != UPDATE_DIV &&
           s->u.store.buffer.text == store.stmt->u.store.buffer.text &&
           s->u.store.n == store.stmt->u.store.n && !(store.label.text && update.label.text);
}

typedef struct {
    Resolver *r;
    Stmt *init;   /* the assignment as it stands */
    int n_loops;  /* around both */
    Label first;  /* of the assignment, or of what holds both */
    Label second; /* of the updates */
    Stmt *before; /* the assignment's block where it does not belong to the reduction */
    bool merged;
} Reduction;

static bool same_element(const Stmt *a, const Stmt *b)
{
    if (a->u.store.buffer != b->u.store.buffer)
        return false;
    for (int i = 0; i < a->u.store.buffer->rank; i++)
        if (!expr_equal(a->u.store.index[i], b->u.store.index[i]))
            return false;
    return true;
}

/* Whether the assignment is the init of the update in `body` under all the loops now open. */
static bool is_init_of(const Reduction *red, Stmt *body)
{
    const Resolver *r = red->r;
    const Stmt *update = stmt_guarded_update(body);
    if (r->mode != MODE_PROGRAM || !update || update->kind != ST_STORE ||
        !same_element(red->init, update) ||
        value_uses_buffer(red->r, red->init->u.store.value, update->u.store.buffer))
        return false;
    body = values_bind(red->r, body);
    for (int i = red->n_loops; i < r->loops.n; i++)
        if (loop_implied_kind(r, body, i) != ITER_REDUCE)
            return false;
    return true;
}

/* The assignment is a block of its own; it is named before what follows. */
static void separate(Reduction *red)
{
    if (!red->before)
        red->before = block_wrap(red->r, NULL, red->init, red->n_loops, &red->first);
}

/* The block of a store, or of a condition with one. */
static Stmt *reduction_block(Reduction *red, Stmt *update)
{
    Resolver *r = red->r;
    red->merged = is_init_of(red, update);
    if (!red->merged && r->mode == MODE_PROGRAM)
        separate(red);
    Label *label = red->merged && !red->second.name.text ? &red->first : &red->second;
    BlockInit init = {red->init, red->n_loops};
    return block_wrap(r, red->merged ? &init : NULL, update, r->loops.n, label);
}

static Stmt *reduction_leaf(Reduction *red, const AstStmt *s)
{
    Stmt *update = resolve_store(red->r, s);
    return update ? reduction_block(red, update) : NULL;
}

/* The `if` has nothing but a store behind it, without a label, and other conditions. */
static bool guards_store(Context *c, const AstStmt *s)
{
    Unwrapped inner = {.stmt = s};
    while (inner.stmt->kind == AS_IF && !inner.stmt->u.cond.otherwise)
        unwrap(c, inner.stmt->u.cond.then, &inner);
    return inner.stmt->kind == AS_STORE && !inner.label.text;
}

/* A condition on sizes and loops decides which blocks run. */
static Stmt *reduction_if_around(Reduction *red, const OpenIf *open, const AstStmt *s)
{
    Resolver *r = red->r;
    Label outside = r->label;
    separate(red);
    r->label = red->second;
    Stmt *out = if_close(r, open, resolve_body(r, s->u.cond.then), NULL);
    red->second = r->label;
    r->label = outside;
    return out;
}

/* One that reads data is in the block. So is any in front of the update alone, where the assignment
 * is the update's init: that runs for all elements. */
static Stmt *reduction_if(Reduction *red, const AstStmt *s)
{
    Resolver *r = red->r;
    OpenIf open = if_open(r, s);
    if (!open.data && !(r->mode == MODE_PROGRAM && guards_store(r->ctx, s)))
        return reduction_if_around(red, &open, s);
    r->mode = MODE_BLOCK;
    Stmt *out = if_close(r, &open, resolve_body(r, s->u.cond.then), NULL);
    if (!out || open.data || is_init_of(red, out))
        return out ? reduction_block(red, out) : NULL;
    separate(red);
    Stmt *block = block_wrap(r, NULL, out->u.cond.then, r->loops.n, &red->second);
    return stmt_if(r->ctx, out->u.cond.cond, block, NULL, out->span);
}

static Stmt *reduction_nest(Reduction *red, const AstStmt *s, int i);

/* The loops or the update below labels, braces and values, which are declared on the way. */
static Stmt *reduction_body(Reduction *red, const AstStmt *s)
{
    Unwrapped inner = {0};
    int outside = red->r->symbols.n;
    unwrap(red->r->ctx, s, &inner);
    bool good = true;
    for (int i = 0; i < inner.values.n; i++)
        good = resolve_let(red->r, inner.values.items[i]) && good;
    Stmt *out = reduction_nest(red, inner.stmt, 0);
    names_end(red->r, outside);
    return good ? out : NULL;
}

/* Loop number `i` of `s`, an AS_FOR, with what is in it. */
static Stmt *reduction_nest(Reduction *red, const AstStmt *s, int i)
{
    Resolver *r = red->r;
    if (s->kind == AS_FOR && i == s->u.loop.n)
        return reduction_body(red, s->u.loop.body);
    if (s->kind != AS_FOR)
        return s->kind == AS_IF ? reduction_if(red, s) : reduction_leaf(red, s);
    OpenLoop open = loop_open(r, s, i);
    if (open.data)
        separate(red);
    loop_enter(r, &open);
    Stmt *body = reduction_nest(red, s, i + 1);
    return loop_close(r, &open, body, &red->second);
}

Stmt *resolve_reduction(Resolver *r, AstStmt *const *items, int n)
{
    const AstStmt *first = items[0], *next = items[n - 1];
    Unwrapped store = {0}, update = {0};
    unwrap(r->ctx, first, &store);
    unwrap(r->ctx, next, &update);
    unwrap_nest(r->ctx, &update);
    Reduction red = {.r = r, .n_loops = r->loops.n, .second = {update.label, false}};
    red.first = store.label.text ? (Label){store.label, false} : r->label;
    red.init = resolve_store(r, store.stmt);
    if (!red.init) {
        resolve_stmt(r, next); /* for its errors */
        return NULL;
    }
    values_check(r, red.init);
    bool good = true;
    for (int i = 1; i < n - 1; i++)
        good = resolve_let(r, items[i]) && good;
    Stmt *out = reduction_body(&red, next);
    if (!store.label.text)
        r->label.used = red.first.used;
    if (!out || !good || !red.before)
        return good ? out : NULL;
    Stmt *both[] = {red.before, out};
    return stmt_seq(r->ctx, both, 2, span_join(first->span, next->span));
}

/* ---- init written out ---- */

/* The init runs for each value of the spatial iterators, which no reduce iterator may decide: it
 * has none yet. */
static bool refuse_init_domain(Resolver *r, Span span, Name spatial, Name reduce)
{
    diag_error(
        r->ctx, E0221, span,
        "the range of '%s' depends on the reduction loop '%s', so the elements that the init must "
        "set are not known before it; use the full range, and put a condition around the update",
        spatial, reduce);
    return false;
}

static Stmt *refuse_init(Resolver *r, Span span, const char *why)
{
    diag_error(r->ctx, E0221, span,
               "'init' belongs in the loops of a reduction, directly before the update, as in for "
               "k in K { init C[i] = 0; C[i] += A[i, k]; }; here %s",
               why);
    return NULL;
}

/* The reduction loop of the update that the init uses; `any` is set if there is one. */
static const ForStmt *init_uses_reduce(Resolver *r, const Stmt *init, const Stmt *update, bool *any)
{
    *any = false;
    for (int i = 0; i < r->loops.n; i++) {
        const Var *var = r->loops.items[i]->var;
        if (loop_implied_kind(r, update, i) != ITER_REDUCE)
            continue;
        *any = true;
        if (stmt_uses_var(r->ctx, init, var))
            return r->loops.items[i];
    }
    return NULL;
}

/* No loop that stays has a range that changes with one that the update reduces over. */
static bool check_ranges(Resolver *r, Span span, const Stmt *update)
{
    for (int i = 0; i < r->loops.n; i++)
        for (int k = 0; k < i; k++) {
            const ForStmt *loop = r->loops.items[i], *outer = r->loops.items[k];
            if (loop_implied_kind(r, update, i) == ITER_SPATIAL &&
                loop_implied_kind(r, update, k) == ITER_REDUCE &&
                (expr_uses_var(loop->lo, outer->var) || expr_uses_var(loop->hi, outer->var)))
                return refuse_init_domain(r, span, loop->var->name, outer->var->name);
        }
    return true;
}

Stmt *resolve_init(Resolver *r, const AstStmt *s, const AstStmt *next)
{
    if (r->mode != MODE_PROGRAM)
        return refuse_init(r, s->span,
                           "it is in a launch, or is not the first statement of a block");
    if (!next)
        return refuse_init(r, s->span, "nothing follows it");
    r->mode = MODE_BLOCK;
    r->spelt_out = true;
    Stmt *init = resolve_body(r, s->u.init);
    r->spelt_out = false;
    Stmt *update = resolve_body(r, next);
    r->mode = MODE_PROGRAM;
    if (!init || !update)
        return NULL;
    values_check(r, init);
    update = values_bind(r, update);
    bool any;
    const ForStmt *loop = init_uses_reduce(r, init, update, &any);
    if (!any)
        return refuse_init(r, s->span,
                           "no enclosing loop is a reduction loop: the subscripts use them all, or "
                           "the next statement is not a single update such as +=");
    if (!check_ranges(r, s->span, update))
        return NULL;
    if (loop)
        return refuse_init(
            r, s->span,
            ctx_namef(
                r->ctx,
                "it uses the reduction loop '%s', but it runs once, before all iterations of '%s'",
                loop->var->name, loop->var->name));
    return block_wrap(r, &(BlockInit){.stmt = init}, update, r->loops.n, &r->label);
}

/* ---- blocks written out ---- */

/* A binding or condition of a block: of loops, sizes and inputs only. */
static bool check_control(Resolver *r, const Expr *e, const AstExpr *ast, const char *what)
{
    if (!e || !expr_loads_change(e))
        return e != NULL;
    diag_error(r->ctx, E0213, ast->span,
               "%s may depend only on sizes, loops and inputs; it cannot read a buffer that the "
               "kernel may write",
               what);
    return false;
}

static bool check_domain(Resolver *r, const Expr *e, const AstExpr *ast)
{
    if (!e || expr_is_affine(e))
        return e != NULL;
    diag_error(r->ctx, E0213, ast->span,
               "the domain of an iterator must be affine in sizes and earlier iterators");
    return false;
}

static bool resolve_iter(Resolver *r, const AstIter *ast, BlockIter *out)
{
    out->kind = ast->kind;
    out->lo = ast->lo ? resolve_bound(r, ast->lo, "a bound") : expr_index(r->ctx, 0);
    out->hi = resolve_bound(r, ast->hi, "a bound");
    out->var = var_new(r->ctx, ast->name.text, DT_INDEX, VAR_ITER, ast->name.span);
    bool good = check_domain(r, out->lo, ast->lo ? ast->lo : ast->hi);
    good = check_domain(r, out->hi, ast->hi) && good;
    names_add(r, (Symbol){.name = ast->name.text,
                          .kind = SYMBOL_VAR,
                          .span = ast->name.span,
                          .var = out->var,
                          .broken = !good});
    return good;
}

/* Bindings first, in sight of the loops; then domains, where they are not. */
static bool resolve_iters(Resolver *r, const AstStmt *s, BlockIter *iters)
{
    bool good = true;
    for (int i = 0; i < s->u.block.n; i++) {
        const AstExpr *ast = s->u.block.iters[i].binding;
        iters[i].binding = value_in_range(r, resolve_index(r, ast, "the value of an iterator"));
        good = check_control(r, iters[i].binding, ast, "the value of an iterator") && good;
    }
    r->loops_from = r->symbols.n;
    for (int i = 0; i < s->u.block.n; i++)
        good = resolve_iter(r, &s->u.block.iters[i], &iters[i]) && good;
    return good;
}

static bool resolve_block_body(Resolver *r, const AstStmt *s, BlockStmt *block)
{
    AstStmt rest = *s->u.block.body;
    bool has_init = rest.u.seq.n > 0 && rest.u.seq.items[0]->kind == AS_INIT;
    if (has_init) {
        block->init = resolve_body(r, rest.u.seq.items[0]->u.init);
        rest.u.seq.items++;
        rest.u.seq.n--;
    }
    for (int i = 0; i < block->n_iters; i++)
        r->reduces = r->reduces || block->iters[i].kind == ITER_REDUCE;
    block->body = resolve_body(r, &rest);
    r->reduces = false;
    return block->body && (!has_init || block->init);
}

/* Checks that the domain of a spatial iterator uses no reduce iterator. */
static bool check_init_domains(Resolver *r, const AstStmt *s, const BlockStmt *block)
{
    for (int i = 0; i < block->n_iters; i++)
        for (int k = 0; k < i; k++) {
            const BlockIter *iter = &block->iters[i], *before = &block->iters[k];
            if (iter->kind == ITER_SPATIAL && before->kind == ITER_REDUCE &&
                (expr_uses_var(iter->lo, before->var) || expr_uses_var(iter->hi, before->var)))
                return refuse_init_domain(r, s->u.block.iters[i].hi->span, iter->var->name,
                                          before->var->name);
        }
    return true;
}

static bool check_init(Resolver *r, const AstStmt *s, const BlockStmt *block)
{
    bool reduces = false;
    for (int i = 0; block->init && i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        reduces = reduces || iter->kind == ITER_REDUCE;
        if (iter->kind == ITER_REDUCE && stmt_uses_var(r->ctx, block->init, iter->var))
            return refuse_init(
                r, s->u.block.body->u.seq.items[0]->span,
                ctx_namef(r->ctx, "it uses the reduction iterator '%s'", iter->var->name));
    }
    if (!block->init || reduces)
        return !block->init || check_init_domains(r, s, block);
    return refuse_init(r, s->u.block.body->u.seq.items[0]->span,
                       "the block has no reduce iterator");
}

/* Atomic updates have no order, and an instruction has its own. */
static bool check_order(Resolver *r, const AstStmt *s, const BlockStmt *block)
{
    if (!block_in_order(block) || !(block->atomic || block->instruction))
        return true;
    diag_error(r->ctx, E0223, s->u.block.name.span,
               "the updates of block '%.60s' keep their order (@in_order), and %s", block->name,
               block->atomic ? "atomic updates have none" : "those of an instruction have its own");
    return false;
}

Stmt *resolve_written_block(Resolver *r, const AstStmt *s)
{
    if (r->mode != MODE_PROGRAM) {
        diag_error(r->ctx, E0222, s->u.block.name.span,
                   "a block cannot be inside a block, or in a kernel with launches");
        return NULL;
    }
    int outside = r->symbols.n, loops_from = r->loops_from;
    BlockIter *iters = ARENA_ARRAY(r->ctx->arena, BlockIter, s->u.block.n + 1);
    BlockStmt block = {.name = s->u.block.name.text,
                       .iters = iters,
                       .n_iters = s->u.block.n,
                       .atomic = s->u.block.atomic};
    bool good = true;
    if (s->u.block.instruction.text) {
        block.instruction = resolve_instruction_name(r, s->u.block.instruction);
        good = block.instruction != NULL;
    }
    if (s->u.block.where) {
        block.predicate =
            value_in_range(r, resolve_condition(r, s->u.block.where, "the 'where' of a block"));
        good =
            check_control(r, block.predicate, s->u.block.where, "the 'where' of a block") && good;
    }
    good = resolve_annotations(r, s->u.block.annotations, s->u.block.n_annotations,
                               &block.annotations) &&
           good;
    good = good && check_order(r, s, &block);
    good = resolve_iters(r, s, iters) && good;
    r->mode = MODE_BLOCK;
    r->spelt_out = true;
    good = resolve_block_body(r, s, &block) && good;
    r->spelt_out = false;
    r->mode = MODE_PROGRAM;
    r->loops_from = loops_from;
    names_cut(r, outside);
    return good && check_init(r, s, &block) ? stmt_block(r->ctx, &block, s->span) : NULL;
}
