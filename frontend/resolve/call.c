/* call.c - Resolves calls of instructions, which stand for what the instruction computes.
 *
 *   for i in M, j in N / 4
 *       call dp4a_i8(A[i, j * 4:], x[j * 4:], c[i]);
 *
 *   =>      block c(i in M = i, reduce j in N / 4 = j) instruction dp4a_i8 {
 *               for k in 4
 *                   c[i] += i32(A[i, j * 4 + k]) * i32(x[j * 4 + k]);
 *           }
 *
 * This is the block that tensorize makes, so analysis, steps and lowering need to know no calls.
 * Each operand is a view (view.c): a slice of the argument is an axis of the operand. */
#include "frontend/resolve/internal.h"
#include "passes/analysis/symbolic/simplify.h"

typedef struct {
    Resolver *r;
    const AstStmt *s;
    const Instruction *of;
    View *operands; /* [of->n_operands] */
    Expr *lane;     /* the loop of the threads; NULL: one thread */
} Call;

static bool refuse(const Call *call, Span span, const char *format, ...) TIRC_PRINTF(3, 4);

static bool refuse(const Call *call, Span span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    diag_error(call->r->ctx, E0253, span, "%s", arena_vprintf(call->r->ctx->arena, format, args));
    va_end(args);
    diag_note(call->r->ctx, call->of->kernel->span, "instruction '%s' is declared here",
              call->of->kernel->name);
    return false;
}

/* ---- the instruction ------------------------------------------------------------------------- */

static const AstInstruction *find_declaration(const Resolver *r, Name name)
{
    for (int i = 0; i < r->n_instructions; i++)
        if (r->instructions[i]->name.text == name)
            return r->instructions[i];
    return NULL;
}

static bool resolve_size_parameter(Resolver *r, const AstExpr *value, SizeOverride *out)
{
    out->kind = SIZE_CONSTANT;
    if (!resolve_literal(r, value, "a value of an instruction's parameter", &out->value))
        return false;
    if (out->value < 1)
        diag_error(r->ctx, E0253, value->span,
                   "parameter '%.60s' is a size of at least 1, and this is %lld", out->name,
                   (long long)out->value);
    return out->value >= 1;
}

static bool resolve_parameter(Resolver *r, const AstSize *parameter, const AstExpr *value,
                              SizeOverride *out)
{
    *out = (SizeOverride){.name = parameter->name.text, .kind = SIZE_TYPE};
    if (!parameter->is_type)
        return resolve_size_parameter(r, value, out);
    Name type = value->kind == AE_NAME ? value->u.name : NULL;
    if (!type)
        diag_error(r->ctx, E0253, value->span,
                   "parameter '%.60s' is a type, such as f16, and this is none",
                   parameter->name.text);
    out->type = type ? resolve_type(r, (AstName){type, value->span}) : DT_COUNT;
    return out->type != DT_COUNT;
}

/* The values in angle brackets; false after an error. */
static bool resolve_parameters(Resolver *r, const AstStmt *s, const AstInstruction *ast,
                               SizeOverride *out)
{
    bool good = s->u.call.n_values <= ast->n_sizes;
    for (int i = s->u.call.n_values; i < ast->n_sizes; i++)
        good = good && (ast->sizes[i].value || ast->sizes[i].type_value.text);
    if (!good)
        diag_error(r->ctx, E0253, s->u.call.name.span,
                   "instruction '%.60s' has %d parameter%s, and %d value%s %s given; a call names "
                   "them in angle brackets, as in NAME<f16, 8>(...), but for those with a default",
                   ast->name.text, ast->n_sizes, ast->n_sizes == 1 ? "" : "s", s->u.call.n_values,
                   s->u.call.n_values == 1 ? "" : "s", s->u.call.n_values == 1 ? "is" : "are");
    for (int i = 0; i < s->u.call.n_values && good; i++)
        good = resolve_parameter(r, &ast->sizes[i], s->u.call.values[i], &out[i]);
    return good;
}

/* Printed programs call an instruction with values by the name and the values. */
static bool has_own_name(Resolver *r, const AstStmt *s, const Instruction *of)
{
    const AstInstruction *other = find_declaration(r, of->kernel->name);
    if (!other)
        return true;
    diag_error(r->ctx, E0253, s->u.call.name.span,
               "with these values, printed programs call the instruction '%.60s', as the file does "
               "another one; rename one of them",
               of->kernel->name);
    diag_note(r->ctx, other->name.span, "the other one is declared here");
    return false;
}

static const Instruction *find_instruction(Resolver *r, const AstStmt *s)
{
    const AstInstruction *ast = find_declaration(r, s->u.call.name.text);
    bool declared = ast && ast->n_sizes == 0;
    if (declared && r->kernel->n_instructions == 0)
        return NULL; /* one of them is wrong, which is an error already */
    if (!ast || declared)
        return resolve_instruction_name(r, s->u.call.name);
    SizeOverride *values = ARENA_ARRAY(r->ctx->arena, SizeOverride, ast->n_sizes);
    if (!resolve_parameters(r, s, ast, values))
        return NULL;
    const Instruction *found =
        r->visible->with_values(r->ctx, &r->cases, ast, values, s->u.call.n_values);
    return found && has_own_name(r, s, found) ? found : NULL;
}

/* ---- operands -------------------------------------------------------------------------------- */

/* The names of an operand's axes in its argument, in scope until the caller cuts them: no text can
 * have them. */
static Var *const *declare_axes(Resolver *r, const Buffer *operand)
{
    Var **axes = ARENA_ARRAY(r->ctx->arena, Var *, operand->rank + 1);
    for (int k = 0; k < operand->rank; k++) {
        Name name = ctx_namef(r->ctx, "%s.%d", operand->name, k);
        axes[k] = var_new(r->ctx, name, DT_INDEX, VAR_ITER, operand->span);
        names_add(r, (Symbol){.name = name, .kind = SYMBOL_VAR, .var = axes[k]});
    }
    return axes;
}

static AstExpr *new_expr(const Call *call, AstExprKind kind, Span span)
{
    AstExpr *e = ARENA_NEW(call->r->ctx->arena, AstExpr);
    *e = (AstExpr){.kind = kind, .depth = 1, .span = span};
    return e;
}

static AstExpr *subscript_name(const Call *call, const Var *axis, Span span)
{
    AstExpr *name = new_expr(call, AE_NAME, span);
    name->u.name = axis->name;
    return name;
}

/* lo:hi has as many elements as the operand has along its axis. */
static bool check_extent(Call *call, const AstExpr *slice, Expr *extent)
{
    Context *c = call->r->ctx;
    if (!slice->u.slice.hi)
        return true;
    Expr *hi = resolve_subscript(call->r, slice->u.slice.hi);
    Expr *lo = slice->u.slice.lo ? resolve_subscript(call->r, slice->u.slice.lo) : expr_index(c, 0);
    if (!hi || !lo)
        return false;
    Expr *rest = simplify(facts_new(c), index_sub(c, index_sub(c, hi, lo), extent));
    if (expr_is(rest, 0))
        return true;
    return refuse(call, slice->span,
                  "the operand has %s elements along this axis, and the slice has others; leave "
                  "the end out, as in x[i:]",
                  expr_text(c, extent));
}

/* A subscript of the argument: a slice is the next axis of the operand. */
static AstExpr *subscript(Call *call, AstExpr *item, const Var *axis, Expr *extent)
{
    if (!check_extent(call, item, extent))
        return NULL;
    AstExpr *name = subscript_name(call, axis, item->span);
    if (!item->u.slice.lo)
        return name;
    AstExpr *sum = new_expr(call, AE_BINARY, item->span);
    sum->u.op.op = EX_ADD;
    sum->u.op.a = item->u.slice.lo;
    sum->u.op.b = name;
    return sum;
}

static AstExpr *not_a_part(Call *call, const AstExpr *arg, const Buffer *operand)
{
    refuse(
        call, arg->span,
        "operand '%.60s' has %d ax%s, so its argument is an element of a buffer with %d slice%s, "
        "as in x[i, j:], or the name of a buffer or view with as many axes",
        operand->name, operand->rank, operand->rank == 1 ? "is" : "es", operand->rank,
        operand->rank == 1 ? "" : "s");
    return NULL;
}

/* A name stands for the whole; NULL after an error. */
static AstExpr *base_of(Call *call, AstExpr *arg, const Buffer *operand)
{
    if (arg->kind == AE_NAME)
        return arg;
    AstExpr *base = arg->kind == AE_INDEX ? arg->u.index.base : NULL;
    int slices = 0;
    for (int i = 0; base && i < arg->u.index.n; i++)
        slices += arg->u.index.items[i]->kind == AE_SLICE;
    if (!base || base->kind != AE_NAME || slices != operand->rank)
        return not_a_part(call, arg, operand);
    return base;
}

/* The element of the argument that is element `axes` of the operand, as text would name it. */
static AstExpr *spell_out(Call *call, AstExpr *arg, const Buffer *operand, Var *const *axes)
{
    bool whole = arg->kind == AE_NAME;
    AstExpr *base = base_of(call, arg, operand);
    int n = whole ? operand->rank : arg->u.index.n, axis = 0;
    if (!base || n == 0)
        return base;
    AstExpr **items = ARENA_ARRAY(call->r->ctx->arena, AstExpr *, n + 1);
    for (int i = 0; i < n; i++) {
        AstExpr *item = whole ? NULL : arg->u.index.items[i];
        bool slice = whole || item->kind == AE_SLICE;
        items[i] = whole   ? subscript_name(call, axes[i], arg->span)
                   : slice ? subscript(call, item, axes[axis], operand->shape[axis])
                           : item;
        axis += slice;
        if (!items[i])
            return NULL;
    }
    AstExpr *element = new_expr(call, AE_INDEX, arg->span);
    element->u.index.base = base;
    element->u.index.items = items;
    element->u.index.n = n;
    return element;
}

/* The buffer and the subscripts that the argument names. */
static bool find_element(Call *call, const AstExpr *arg, const Buffer *operand, View *out)
{
    Resolver *r = call->r;
    if (operand->role != ROLE_IN) {
        out->buffer = resolve_target(r, arg, &out->index);
        if (out->buffer)
            VEC_PUSH(r->ctx->arena, &r->written, out->buffer);
        return out->buffer != NULL;
    }
    const Expr *element = resolve_value(r, arg).e;
    if (!element)
        return false;
    if (element->kind != EX_LOAD)
        TIRC_BUG(r->ctx, "an element of a buffer that is no load");
    out->buffer = element->u.load.buffer;
    out->index = element->u.load.index;
    return true;
}

static bool resolve_operand(Call *call, AstExpr *arg, int i)
{
    Resolver *r = call->r;
    const Buffer *operand = call->of->operands[i].buffer;
    View *out = &call->operands[i];
    int outside = r->symbols.n;
    out->n = operand->rank;
    out->params = declare_axes(r, operand);
    const AstExpr *element = spell_out(call, arg, operand, out->params);
    bool good = element && find_element(call, element, operand, out);
    names_cut(r, outside);
    if (!good || out->buffer->type == operand->type)
        return good;
    return refuse(call, arg->span, "operand '%.60s' holds %s, but '%.60s' holds %s", operand->name,
                  type_info(operand->type)->name, out->buffer->name,
                  type_info(out->buffer->type)->name);
}

/* `lane = t`: a loop over the threads that run the instruction together. */
static bool resolve_lane(Call *call, const AstExpr *arg)
{
    Resolver *r = call->r;
    int64_t extent = 0;
    if (!call->of->lane)
        return refuse(call, arg->span, "one thread runs the instruction, so it has no `lane`");
    call->lane = resolve_subscript(r, arg);
    for (int i = 0; call->lane && call->lane->kind == EX_VAR && i < r->loops.n; i++) {
        const ForStmt *loop = r->loops.items[i];
        if (loop->var == call->lane->u.var && loop_counts_from_zero(loop) &&
            loop_const_extent(loop, &extent) && extent == call->of->lanes)
            return true;
    }
    return call->lane &&
           refuse(call, arg->span,
                  "%lld threads run the instruction together, so `lane` is a loop of %lld "
                  "iterations around the call, which a schedule binds to threadIdx.x",
                  (long long)call->of->lanes, (long long)call->of->lanes);
}

static bool check_number(const Call *call, int n)
{
    const Instruction *of = call->of;
    Span at = call->s->u.call.name.span;
    if (n != of->n_operands)
        return refuse(call, at, "the instruction has %d operand%s, and %d %s given", of->n_operands,
                      of->n_operands == 1 ? "" : "s", n, n == 1 ? "is" : "are");
    return !of->lane || call->lane ||
           refuse(call, at,
                  "threads run the instruction together, so the call says which loop they are: "
                  "lane = NAME");
}

static bool resolve_arguments(Call *call)
{
    const AstStmt *s = call->s;
    const Instruction *of = call->of;
    int n = 0;
    bool good = true;
    call->operands = ARENA_ARRAY(call->r->ctx->arena, View, of->n_operands + 1);
    for (int i = 0; i < s->u.call.n; i++) {
        const AstArg *arg = &s->u.call.args[i];
        bool lane = arg->name.text == ctx_name(call->r->ctx, "lane");
        if (arg->name.text && !lane)
            return refuse(call, arg->name.span,
                          "operands have no names in a call; only `lane` has");
        if (!lane && n++ >= of->n_operands)
            continue;
        good = (lane ? resolve_lane(call, arg->value) : resolve_operand(call, arg->value, n - 1)) &&
               good;
    }
    return good && check_number(call, n);
}

/* ---- what it computes ------------------------------------------------------------------------ */

/* Where the operand has this element. */
static Expr *const *place(const Call *call, const Buffer *operand, Expr *const *index,
                          Buffer **buffer)
{
    int i = 0;
    while (call->of->operands[i].buffer != operand)
        i++;
    *buffer = call->operands[i].buffer;
    return view_element(call->r->ctx, &call->operands[i], index);
}

static Expr *load_argument(Rewriter *w, Expr *e)
{
    const Call *call = w->user;
    if (e->kind != EX_LOAD)
        return e;
    Buffer *buffer;
    Expr *const *index = place(call, e->u.load.buffer, e->u.load.index, &buffer);
    return expr_load(w->ctx, buffer, index, call->s->span);
}

static Stmt *store_argument(Rewriter *w, Stmt *s)
{
    const Call *call = w->user;
    if (s->kind != ST_STORE)
        return s;
    StoreStmt store = s->u.store;
    store.index = place(call, s->u.store.buffer, s->u.store.index, &store.buffer);
    return stmt_store(w->ctx, &store, call->s->span);
}

static bool has_loop(const Call *call, Name name)
{
    for (Cursor at = cursor_stmts(call->r->ctx, call->of->body); cursor_next(&at);)
        if (at.stmt->kind == ST_FOR && at.stmt->u.loop.var->name == name)
            return true;
    return false;
}

/* `k`, or k_1, k_2, ... where that is in scope. */
static Name free_name(const Call *call, Name base)
{
    Name name = base;
    for (int i = 1; names_find(call->r, name) || (name != base && has_loop(call, name)); i++)
        name = ctx_namef(call->r->ctx, "%s_%d", base, i);
    return name;
}

static Stmt *rename_loop(Rewriter *w, Stmt *s)
{
    const Call *call = w->user;
    if (s->kind != ST_FOR)
        return s;
    ForStmt loop = s->u.loop;
    Var *var = loop.var;
    loop.var = var_new(w->ctx, free_name(call, var->name), DT_INDEX, VAR_LOOP, var->span);
    Subst to = {var, expr_var(w->ctx, loop.var, var->span)};
    loop.body = stmt_subst(w->ctx, loop.body, &to, 1);
    return stmt_for(w->ctx, &loop, call->s->span);
}

static Stmt *computation(Call *call)
{
    Context *c = call->r->ctx;
    Stmt *body = call->of->body;
    if (call->lane) {
        Subst lane = {call->of->lane, call->lane};
        body = stmt_subst(c, body, &lane, 1);
    }
    Rewriter rename = {.ctx = c, .user = call, .stmt = rename_loop};
    Rewriter arguments = {.ctx = c, .user = call, .expr = load_argument, .stmt = store_argument};
    return rewrite_stmt(&arguments, rewrite_stmt(&rename, body));
}

Stmt *resolve_instruction_call(Resolver *r, const AstStmt *s)
{
    if (r->mode != MODE_PROGRAM) {
        diag_error(r->ctx, E0253, s->span,
                   "a call is a block of its own, so it stands outside of other blocks, of "
                   "conditions and loops that data decide, and of lowered kernels");
        return NULL;
    }
    Call call = {.r = r, .s = s, .of = find_instruction(r, s)};
    if (!call.of || !resolve_arguments(&call))
        return NULL;
    return block_of_instruction(r, call.of, computation(&call));
}
