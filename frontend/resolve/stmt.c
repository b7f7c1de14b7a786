/* stmt.c - Resolves stores, temps, sequences, and the statements of lowered kernels. */
#include <string.h>

#include "frontend/resolve/internal.h"
#include "ir/copies/bulk_copy.h"
#include "passes/shared/rebuild.h"

/* ---- stores ---- */

/* An access as it is written: a name, and subscripts. */
typedef struct {
    AstName name;
    AstExpr *const *items;
    int n;
    Span span;
} WrittenPlace;

/* The buffer of what a store names, a buffer or a view. */
static Buffer *buffer_of(const Symbol *target)
{
    return target->kind == SYMBOL_VIEW ? target->part->buffer : target->buffer;
}

/* What a store names, if it may be written. */
static const Symbol *find_target(Resolver *r, AstName name)
{
    const Symbol *symbol = names_find(r, name.text);
    if (!symbol) {
        names_unknown(r, name, "buffer");
        return NULL;
    }
    if (symbol->broken)
        return NULL;
    if (symbol->kind != SYMBOL_BUFFER && symbol->kind != SYMBOL_VIEW) {
        diag_error(
            r->ctx, E0211, name.span,
            "'%.60s' is %s and cannot be written; only outputs, inout parameters and temps can be",
            name.text, symbol_describe(symbol));
        return NULL;
    }
    const Buffer *buffer = buffer_of(symbol);
    if (buffer->role == ROLE_IN) {
        diag_error(r->ctx, E0211, name.span,
                   "'%.60s' is an input and cannot be written; declare it 'inout "
                   "%.60s: ...' if the kernel changes it in place",
                   buffer->name, buffer->name);
        diag_note(r->ctx, symbol->span, "'%.60s' is declared here", name.text);
        return NULL;
    }
    if (r->mode == MODE_HOST) {
        diag_error(r->ctx, E0222, name.span,
                   "in a kernel with launches, each store must be inside a launch");
        return NULL;
    }
    return symbol;
}

/* The buffer that is written, and the subscripts of its element; NULL after an error. */
static Buffer *find_element(Resolver *r, const WrittenPlace *place, Expr ***index)
{
    const Symbol *target = find_target(r, place->name);
    Buffer *buffer = target ? buffer_of(target) : NULL;
    if (!target)
        return NULL;
    *index = target->kind == SYMBOL_VIEW
                 ? view_subscripts(r, target, place->items, place->n, place->span)
                 : resolve_subscripts(r, &buffer, place->items, place->n, place->span);
    return *index ? buffer : NULL;
}

Buffer *resolve_target(Resolver *r, const AstExpr *place, Expr *const **index)
{
    const AstExpr *base = place->kind == AE_INDEX ? place->u.index.base : place;
    bool subscripts = place->kind == AE_INDEX;
    if (base->kind != AE_NAME) {
        diag_error(r->ctx, E0246, place->span, "an update writes elements of buffers");
        return NULL;
    }
    WrittenPlace written = {.name = {base->u.name, base->span},
                            .items = subscripts ? place->u.index.items : NULL,
                            .n = subscripts ? place->u.index.n : 0,
                            .span = place->span};
    Expr **found = NULL;
    Buffer *buffer = find_element(r, &written, &found);
    *index = found;
    return buffer;
}

static bool op_fits(Resolver *r, const AstStmt *s, const Buffer *buffer)
{
    static const char *const words[] = {[TAKES_NUMBERS] = "numbers",
                                        [TAKES_BITS] = "integers or conditions",
                                        [TAKES_CONDITIONS] = "conditions"};
    const AstUpdateInfo *info = ast_update_info(s->u.store.op);
    bool truth = buffer->type == DT_BOOL, fits = true;
    switch (info->takes) {
    case TAKES_ANY: break;
    case TAKES_NUMBERS: fits = !truth; break;
    case TAKES_BITS: fits = truth || type_is_int(buffer->type); break;
    case TAKES_CONDITIONS: fits = truth; break;
    }
    if (!fits)
        diag_error(r->ctx, E0208, s->u.store.op_span, "'%s' updates %s, but '%.60s' holds %s",
                   info->token, words[info->takes], buffer->name, type_info(buffer->type)->name);
    return fits;
}

/* x -= e is x += -(e); x /= e is x = x / e. */
static Expr *desugar(Resolver *r, const AstStmt *s, Buffer *buffer, Expr **index, Expr *value)
{
    if (s->u.store.op == UPDATE_SUB)
        return expr_unary(r->ctx, EX_NEG, value, value->span);
    if (s->u.store.op != UPDATE_DIV)
        return value;
    Expr *old = expr_load(r->ctx, buffer, index, s->u.store.buffer.span);
    return expr_binary(r->ctx, EX_DIV, old, value, s->span);
}

/* Threads wait for copies into the memory that they share, inside a launch; there are no others. */
static bool async_fits(Resolver *r, const AstStmt *s, const Buffer *buffer)
{
    if (r->mode != MODE_LAUNCH)
        diag_error(r->ctx, E0222, s->u.store.op_span,
                   "an asynchronous store must be inside a launch; in a schedule, "
                   "copy_async(block) makes a copy asynchronous");
    else if (buffer->scope != SCOPE_SHARED || s->u.store.atomic)
        diag_error(r->ctx, E0222, s->u.store.op_span,
                   "an asynchronous store must write shared memory, but '%.60s' is in %s memory; "
                   "use = here",
                   buffer->name, scope_name(buffer->scope));
    else
        return true;
    return false;
}

Stmt *resolve_store(Resolver *r, const AstStmt *s)
{
    WrittenPlace place = {s->u.store.buffer, s->u.store.index, s->u.store.n,
                          s->u.store.buffer.span};
    Expr **index = NULL;
    Buffer *buffer = find_element(r, &place, &index);
    Value v = resolve_value(r, s->u.store.value);
    if (!buffer || !v.e || !op_fits(r, s, buffer))
        return NULL;
    Expr *value = value_widen(r, v, buffer->type, ctx_namef(r->ctx, "'%.60s'", buffer->name));
    if (!value)
        return NULL;
    if (s->u.store.atomic && r->mode != MODE_LAUNCH) {
        diag_error(r->ctx, E0222, s->u.store.op_span,
                   "a store can be atomic only inside a launch; in a schedule, atomic(block) makes "
                   "the updates of a block atomic");
        return NULL;
    }
    StoreOp store_op = ast_update_info(s->u.store.op)->op;
    CacheHint hint = HINT_NONE;
    if ((store_op == STORE_ASYNC && !async_fits(r, s, buffer)) ||
        (s->u.store.hint.text && !resolve_hint(r, s->u.store.hint, buffer, HINTED_STORE, &hint)))
        return NULL;
    VEC_PUSH(r->ctx->arena, &r->written, buffer);
    value = desugar(r, s, buffer, index, value);
    Stmt *store = stmt_assign(r->ctx, (BufferElement){buffer, index}, store_op, value, s->span);
    store->u.store.atomic = s->u.store.atomic;
    store->u.store.hint = hint;
    bool stays =
        (r->spelt_out && !r->reduces) || (r->mode != MODE_PROGRAM && r->mode != MODE_BLOCK);
    return stays ? store : store_as_update(r->ctx, store);
}

/* ---- annotations ---- */

static bool resolve_annotation_value(Resolver *r, const AstExpr *e, Annotation *out)
{
    const AstExpr *negated = e->kind == AE_UNARY && e->u.op.op == EX_NEG ? e->u.op.a : NULL;
    if (e->kind == AE_STRING) {
        out->kind = ANNOTATION_STRING;
        out->string = ctx_name(r->ctx, e->u.string.text);
        return true;
    }
    if (e->kind == AE_FLOAT || (negated && negated->kind == AE_FLOAT)) {
        out->kind = ANNOTATION_FLOAT;
        out->f = negated ? -negated->u.f : e->u.f;
        return true;
    }
    out->kind = ANNOTATION_INT;
    if (e->kind != AE_LIST)
        return resolve_literal(r, e, "the value of an annotation", &out->i);
    Annotation *list = ARENA_ARRAY(r->ctx->arena, Annotation, e->u.list.n + 1);
    for (int i = 0; i < e->u.list.n; i++)
        if (!resolve_annotation_value(r, e->u.list.items[i], &list[i]))
            return false;
    out->kind = ANNOTATION_LIST;
    out->list = list;
    out->n_list = e->u.list.n;
    return true;
}

static bool resolve_annotation(Resolver *r, const AstAnnotation *a, Annotation *out)
{
    out->key = a->key.text;
    out->kind = ANNOTATION_INT;
    out->i = 1;
    return !a->value || resolve_annotation_value(r, a->value, out);
}

bool resolve_annotations(Resolver *r, const AstAnnotation *items, int n, AnnotationList *out)
{
    Annotation *list = ARENA_ARRAY(r->ctx->arena, Annotation, n + 1);
    bool good = true;
    for (int i = 0; i < n; i++)
        good = resolve_annotation(r, &items[i], &list[i]) && good;
    *out = (AnnotationList){list, n};
    return good;
}

/* ---- temporaries ---- */

/* The layouts of an axis: what stands in the text after its number. */
typedef enum { LAYOUT_PAD, LAYOUT_ALIGN, LAYOUT_FOLD, LAYOUT_SWIZZLE, LAYOUT_COUNT } LayoutKind;
static const struct {
    const char *name;
    int numbers; /* with the axis */
    bool chosen; /* `auto` may stand for all but the axis */
} layout_kinds[LAYOUT_COUNT] = {
    [LAYOUT_PAD] = {"pad", 2, true},
    [LAYOUT_ALIGN] = {"align", 3, false},
    [LAYOUT_FOLD] = {"fold", 2, false},
    [LAYOUT_SWIZZLE] = {"swizzle", 5, true},
};

bool clause_is_of_digits(const AstLayout *clause)
{
    return !strcmp(clause->name.text, "sum_digits") || !strcmp(clause->name.text, "product_digits");
}

bool resolve_digits(Resolver *r, const AstLayout *clause, Buffer *buffer)
{
    int64_t digits = 0;
    int most = type_info(buffer->type)->digits - 1;
    bool of_sums = !strcmp(clause->name.text, "sum_digits");
    int *kept = of_sums ? &buffer->digits.sums : &buffer->digits.products;
    bool good = clause->n == 1 && !*kept;
    if (good && !resolve_literal(r, clause->args[0], "a number of digits", &digits))
        return false;
    *kept = (int)digits;
    if (good && digits >= 2 && digits <= most)
        return true;
    diag_error(r->ctx, E0254, clause->span,
               most < 2 ? "'%.60s' holds %s, whose sums and products are exact; those of floats "
                          "are cut off by %s"
                        : "'%.60s' holds %s, and %s stands once and takes a number of binary "
                          "digits that are fewer than its own: 2 to %d",
               buffer->name, type_info(buffer->type)->name, clause->name.text, most);
    return false;
}

static LayoutKind layout_kind(Resolver *r, const AstLayout *l)
{
    int kind = 0;
    while (kind < LAYOUT_COUNT && strcmp(l->name.text, layout_kinds[kind].name) != 0)
        kind++;
    if (kind == LAYOUT_COUNT)
        diag_error(r->ctx, E0223, l->name.span,
                   "unknown layout '%.60s'; the layouts are pad(axis, n), align(axis, factor, "
                   "offset), fold(axis, n) and swizzle(axis, by, chunk, count, every); any temp "
                   "takes sum_digits(n) and product_digits(n)",
                   l->name.text);
    return (LayoutKind)kind;
}

static bool layout_is_auto(const AstLayout *l, LayoutKind kind)
{
    return layout_kinds[kind].chosen && l->n == 2 && l->args[1]->kind == AE_NAME &&
           strcmp(l->args[1]->u.name, "auto") == 0;
}

/* The numbers of a layout; values[0] is an axis of the buffer. */
static bool layout_numbers(Resolver *r, const AstLayout *l, LayoutKind kind, int rank,
                           int64_t *values)
{
    bool chosen = layout_is_auto(l, kind), fold = kind == LAYOUT_FOLD;
    if (l->n != layout_kinds[kind].numbers && !chosen) {
        diag_error(r->ctx, E0216, l->span, "'%s' takes %d numbers, found %d", l->name.text,
                   layout_kinds[kind].numbers, l->n);
        return false;
    }
    for (int i = 0; i < (chosen ? 1 : l->n); i++)
        if (!resolve_literal(r, l->args[i], "a number of a layout", &values[i]))
            return false;
    if (values[0] >= 0 && values[0] < rank && (chosen || values[1] >= fold))
        return true;
    diag_error(
        r->ctx, E0223, l->span,
        "invalid %s of axis %lld by %lld; the axes are 0 to %d, and the minimum amount is %d",
        l->name.text, (long long)values[0], (long long)(chosen ? 0 : values[1]), rank - 1, fold);
    return false;
}

static bool layout_of_axis(Resolver *r, const AstLayout *l, int rank, AxisLayout *layout)
{
    int64_t v[5];
    LayoutKind kind = layout_kind(r, l);
    if (kind == LAYOUT_COUNT || !layout_numbers(r, l, kind, rank, v))
        return false;
    AxisLayout *axis = &layout[v[0]];
    bool chosen = layout_is_auto(l, kind);
    if (kind == LAYOUT_FOLD) {
        axis->fold = v[1];
    } else if (kind == LAYOUT_ALIGN) {
        axis->align_factor = v[1];
        axis->align_offset = v[2];
    } else if (kind == LAYOUT_PAD) {
        axis->choose_pad = chosen;
        axis->pad = chosen ? 0 : v[1];
    } else {
        axis->choose_swizzle = chosen;
        axis->swizzle = chosen ? (Swizzle){0}
                               : (Swizzle){.by = v[1] < rank ? (int)v[1] : rank,
                                           .chunk = v[2],
                                           .count = v[3],
                                           .every = v[4]};
    }
    return true;
}

/* A swizzle is right only in view of the whole buffer. */
static bool check_swizzles(Resolver *r, const AstStmt *s, const Buffer *buffer)
{
    for (int i = 0; i < s->u.temp.n_layout; i++) {
        const AstLayout *l = &s->u.temp.layout[i];
        int64_t axis;
        if (strcmp(l->name.text, layout_kinds[LAYOUT_SWIZZLE].name) != 0 ||
            layout_is_auto(l, LAYOUT_SWIZZLE) ||
            !resolve_literal(r, l->args[0], "a number of a layout", &axis))
            continue;
        const char *wrong = swizzle_error(r->ctx, buffer, (int)axis, &buffer->layout[axis].swizzle);
        if (wrong) {
            diag_error(r->ctx, E0223, l->span, "%s", wrong);
            return false;
        }
    }
    return true;
}

/* of(coef): a buffer in constant memory is a copy of that one. */
static bool resolve_copy_of(Resolver *r, const AstLayout *l, Buffer *buffer)
{
    const AstExpr *name = l->n == 1 && l->args[0]->kind == AE_NAME ? l->args[0] : NULL;
    const Symbol *symbol = name ? names_find(r, name->u.name) : NULL;
    const Buffer *from = symbol && symbol->kind == SYMBOL_BUFFER ? symbol->buffer : NULL;
    bool good = from && from->scope == SCOPE_GLOBAL &&
                (from->role == ROLE_IN || from->role == ROLE_TEMP) && from->type == buffer->type &&
                from->rank == buffer->rank;
    for (int i = 0; good && i < buffer->rank; i++)
        good = expr_equal(from->shape[i], buffer->shape[i]);
    if (good)
        buffer->copy_of = from;
    else
        diag_error(r->ctx, E0223, l->span,
                   "'%.60s' must be a copy of an input or temp in global memory of the same type "
                   "and shape; name it with of(NAME)",
                   buffer->name);
    return good;
}

static bool check_has_layout(Resolver *r, const AstLayout *clause, const Buffer *buffer)
{
    if (!scope_outlives_launch(buffer->scope))
        return true;
    if (layout_kind(r, clause) == LAYOUT_COUNT)
        return false;
    diag_error(r->ctx, E0223, clause->span,
               "'%.60s' is in %s memory, where buffers are dense; only temps in shared or local "
               "memory can have a layout",
               buffer->name, scope_name(buffer->scope));
    return false;
}

static bool resolve_layout(Resolver *r, const AstStmt *s, Buffer *buffer)
{
    if (buffer->scope == SCOPE_CONSTANT && s->u.temp.n_layout == 1 &&
        strcmp(s->u.temp.layout->name.text, "of") == 0)
        return resolve_copy_of(r, s->u.temp.layout, buffer);
    AxisLayout *layout = ARENA_ARRAY(r->ctx->arena, AxisLayout, buffer->rank + 1);
    for (int i = 0; i < s->u.temp.n_layout; i++) {
        const AstLayout *clause = &s->u.temp.layout[i];
        bool digits = clause_is_of_digits(clause);
        if (!digits && !check_has_layout(r, clause, buffer))
            return false;
        if (!(digits ? resolve_digits(r, clause, buffer)
                     : layout_of_axis(r, clause, buffer->rank, layout)))
            return false;
        buffer->layout = digits ? buffer->layout : layout;
    }
    return check_swizzles(r, s, buffer);
}

static Scope resolve_scope(Resolver *r, const AstStmt *s)
{
    AstName name = s->u.temp.scope;
    Scope scope = name.text ? scope_find(name.text) : SCOPE_GLOBAL;
    if (scope == SCOPE_COUNT)
        diag_error(r->ctx, E0223, name.span,
                   "unknown memory scope '%.60s'; the scopes are global, shared, warp, cluster, "
                   "local and constant",
                   name.text);
    if (scope == SCOPE_WARP && (r->mode == MODE_LAUNCH || r->mode == MODE_HOST)) {
        diag_error(r->ctx, E0222, name.span,
                   "memory of a warp is part of schedules; a lowered kernel has local memory and "
                   "'shuffle' instead");
        return SCOPE_COUNT;
    }
    return scope;
}

/* The statement that declares the temp, private to each iteration of the loops around it. Control
 * that data decide becomes a block: the declaration goes in front of it. */
Stmt *declare_temp(Resolver *r, Buffer *temp, Span span)
{
    Stmt *out = stmt_temp(r->ctx, temp, span);
    VEC_PUSH(r->ctx->arena, &r->temps, ((PrivateTemp){temp, r->loops.n}));
    if (r->mode != MODE_BLOCK)
        return out;
    VEC_PUSH(r->ctx->arena, &r->moved, out);
    return stmt_seq(r->ctx, NULL, 0, span);
}

/* May a temp be declared here? */
static bool check_declared(Resolver *r, const AstStmt *s)
{
    bool moves = r->kernel && !r->spelt_out && !reducer_find(r, s->u.temp.type.name.text);
    if (r->mode != MODE_BLOCK || moves)
        return true;
    diag_error(r->ctx, E0222, s->span,
               "a temp cannot be declared inside a block; declare '%.60s' before the block",
               s->u.temp.name.text);
    return false;
}

/* A temp of a reducer's type: one for each component. */
static Stmt *tuple_statement(Resolver *r, const AstStmt *s, Scope scope)
{
    AstName name = s->u.temp.name;
    if (s->u.temp.n_layout > 0) {
        diag_error(r->ctx, E0223, s->u.temp.layout[0].span,
                   "'%.60s' is a tuple, which has no layout; its components can have one",
                   name.text);
        return NULL;
    }
    Tuple *tuple = resolve_tuple(
        r, name, &s->u.temp.type,
        &(Buffer){.name = name.text, .scope = scope, .role = ROLE_TEMP, .span = name.span});
    if (!tuple)
        return NULL;
    Stmt **temps = ARENA_ARRAY(r->ctx->arena, Stmt *, tuple->combiner->n);
    for (int k = 0; k < tuple->combiner->n; k++)
        temps[k] = declare_temp(r, tuple->buffers[k], s->span);
    return stmt_seq(r->ctx, temps, tuple->combiner->n, s->span);
}

static Stmt *temp_statement(Resolver *r, const AstStmt *s)
{
    AstName name = s->u.temp.name;
    const AstType *type = &s->u.temp.type;
    if (!check_declared(r, s))
        return NULL;
    Scope scope = resolve_scope(r, s);
    if (reducer_find(r, type->name.text))
        return scope == SCOPE_COUNT ? NULL : tuple_statement(r, s, scope);
    DType element = resolve_type(r, type->name);
    Expr **shape = element != DT_COUNT ? resolve_shape(r, type, element) : NULL;
    Buffer *buffer =
        buffer_new(r->ctx, &(Buffer){.name = name.text,
                                     .type = element == DT_COUNT ? DT_F32 : element,
                                     .shape = shape,
                                     .rank = shape ? type->rank : 0,
                                     .scope = scope == SCOPE_COUNT ? SCOPE_GLOBAL : scope,
                                     .role = ROLE_TEMP,
                                     .span = name.span});
    bool good = shape && scope != SCOPE_COUNT && resolve_layout(r, s, buffer);
    names_add(r, (Symbol){.name = name.text,
                          .kind = SYMBOL_BUFFER,
                          .span = name.span,
                          .buffer = buffer,
                          .broken = !good});
    return good ? declare_temp(r, buffer, s->span) : NULL;
}

/* ---- values ---- */

Stmt *resolve_let(Resolver *r, const AstStmt *s)
{
    const AstPattern *name = &s->u.let.pattern;
    Expr *value =
        resolve_as(r, s->u.let.value, s->u.let.type, ctx_namef(r->ctx, "'%.60s'", name->name));
    if (value && s->u.let.stored)
        return value_store(r, s, value);
    Symbol symbol = {.name = name->name, .kind = SYMBOL_VAR, .span = name->span, .broken = !value};
    symbol.var = var_new(r->ctx, name->name, value ? value->type : DT_INDEX, VAR_LET, name->span);
    names_add(r, symbol);
    if (!value || r->mode != MODE_PROGRAM)
        return value ? stmt_let(r->ctx, symbol.var, value, s->span) : NULL;
    value_declare(r, s, symbol.var, value);
    return stmt_seq(r->ctx, NULL, 0, s->span);
}

/* ---- statements of lowered kernels ---- */

/* The instruction whose groups a commit or wait is about, in `of`; NULL: those of stores. */
static bool resolve_waited(Resolver *r, const AstStmt *s, const Instruction **of)
{
    AstName name = s->u.barrier.instruction;
    bool stores = name.text && bulk_kind_find(name.text).stores;
    *of = stores ? bulk_stores(r->ctx) : name.text ? resolve_instruction_name(r, name) : NULL;
    if (!*of || instruction_is_async(*of))
        return *of || !name.text;
    diag_error(
        r->ctx, E0250, name.span,
        "an execution of '%.60s' is complete when its text is; its declaration has no clauses "
        "`commit` and `wait`",
        name.text);
    return false;
}

static Stmt *resolve_barrier(Resolver *r, const AstStmt *s)
{
    const char *why = s->u.barrier.why->u.string.text;
    const Instruction *of = NULL;
    if (r->mode != MODE_LAUNCH) {
        diag_error(r->ctx, E0222, s->span,
                   "a barrier must be inside a launch; in scheduled programs, tirc inserts "
                   "barriers where threads exchange data");
        return NULL;
    }
    if (!launch_role_may(r, s) || !resolve_waited(r, s, &of))
        return NULL;
    switch (s->u.barrier.kind) {
    case SYNC_THREADS:
    case SYNC_WARPGROUP:
    case SYNC_WARP:
    case SYNC_CLUSTER: return stmt_barrier(r->ctx, s->u.barrier.kind, why, s->span);
    case SYNC_COMMIT: return stmt_commit(r->ctx, of, why, s->span);
    case SYNC_WAIT: return stmt_wait(r->ctx, of, s->u.barrier.pending, why, s->span);
    case SYNC_ACQUIRE:
    case SYNC_RECEIVE:
    case SYNC_RELEASE:
    case SYNC_RELEASE_CLUSTER: break;
    }
    return stmt_hand_over(r->ctx, s->u.barrier.kind, s->u.barrier.pending, why, s->span);
}

/* ---- roles ---- */

static Stmt *resolve_roles(Resolver *r, const AstStmt *s)
{
    if (r->mode != MODE_LAUNCH || r->role != IN_NO_ROLE) {
        diag_error(r->ctx, E0255, s->span, "roles stand in a launch, and not in each other");
        return NULL;
    }
    r->role = IN_PRODUCER;
    Stmt *producer = resolve_body(r, s->u.roles.producer);
    r->role = IN_CONSUMERS;
    Stmt *consumers = resolve_body(r, s->u.roles.consumers);
    r->role = IN_NO_ROLE;
    if (!producer || !consumers || !launch_parts_may(r, producer, consumers))
        return NULL;
    return stmt_roles(r->ctx, producer, consumers, s->u.roles.turn, s->span);
}

static Stmt *resolve_launch(Resolver *r, const AstStmt *s)
{
    if (r->mode != MODE_HOST) {
        diag_error(r->ctx, E0222, s->u.launch.name.span,
                   "a launch cannot be inside a launch or a block");
        return NULL;
    }
    LaunchStmt launch = {.name = s->u.launch.name.text};
    AnnotationList said;
    bool good = resolve_annotations(r, s->u.launch.annotations, s->u.launch.n_annotations, &said) &&
                launch_head(r, s, said, &launch);
    r->mode = MODE_LAUNCH;
    launch.body = resolve_body(r, s->u.launch.body);
    r->mode = MODE_HOST;
    good = good && launch.body && launch_roles_may(r, &launch);
    return good ? stmt_launch(r->ctx, &launch, s->span) : NULL;
}

/* ---- instructions ---- */

const Instruction *resolve_instruction_name(Resolver *r, AstName name)
{
    const Kernel *kernel = r->kernel;
    const char **words = ARENA_ARRAY(r->ctx->arena, const char *, kernel->n_instructions + 1);
    for (int i = 0; i < kernel->n_instructions; i++) {
        words[i] = kernel->instructions[i]->kernel->name;
        if (kernel->instructions[i]->kernel->name == name.text)
            return kernel->instructions[i];
    }
    const char *near = diag_suggest(name.text, words, kernel->n_instructions);
    diag_error(r->ctx, E0250, name.span,
               near ? "the file declares no instruction '%.60s'; did you mean '%.60s'?"
                    : "the file declares no instruction '%.60s'",
               name.text, near);
    if (near)
        diag_remedy(r->ctx, name.span, name.text, near);
    return NULL;
}

/* The one of a bulk copy has the type of its first element. */
static const Instruction *instruction_of(Resolver *r, const AstStmt *s)
{
    BulkKind kind = bulk_kind_find(s->u.instruction.name.text);
    if (kind.mode == BULK_NONE || s->u.instruction.n != 2)
        return resolve_instruction_name(r, s->u.instruction.name);
    Expr *first = resolve_value(r, s->u.instruction.elements[0]).e;
    return first ? bulk_instruction(r->ctx, kind, first->type) : NULL;
}

static Stmt *resolve_instruction_stmt(Resolver *r, const AstStmt *s)
{
    const Instruction *of = instruction_of(r, s);
    int n = s->u.instruction.n;
    if (of && (r->mode != MODE_LAUNCH || n != of->n_elements)) {
        diag_error(r->ctx, E0250, s->u.instruction.name.span,
                   "an instruction stands in a launch, with the %d element%s that its template "
                   "names in parentheses",
                   of->n_elements, of->n_elements == 1 ? "" : "s");
        return NULL;
    }
    Expr **elements = ARENA_ARRAY(r->ctx->arena, Expr *, n + 1);
    bool good = of != NULL;
    for (int i = 0; good && i < n; i++) {
        const Buffer *operand = of->operands[of->elements[i].operand].buffer;
        elements[i] = resolve_value(r, s->u.instruction.elements[i]).e;
        good = elements[i] != NULL;
        if (good && (elements[i]->kind != EX_LOAD || elements[i]->type != operand->type)) {
            diag_error(r->ctx, E0250, s->u.instruction.elements[i]->span,
                       "operand '%.60s' of '%.60s' is an element of a buffer of %s", operand->name,
                       of->kernel->name, type_info(operand->type)->name);
            good = false;
        }
    }
    Stmt *body = good ? resolve_body(r, s->u.instruction.body) : NULL;
    Stmt *done = body ? stmt_instruction(r->ctx, of, elements, body, s->span) : NULL;
    if (!done || !stmt_is_bulk_copy(done) || bulk_copy_is_whole(done))
        return done;
    diag_error(r->ctx, E0250, body->span,
               "the body of '%.60s' is a nest of loops with literal ranges around one copy of an "
               "element, or one update that the hardware can do",
               of->kernel->name);
    return NULL;
}

/* ---- sequences ---- */

/* Adds the statement of the items from `i` on, and returns how many items it used. */
static int resolve_item(Resolver *r, const AstStmt *seq, int i, Stmt **out)
{
    const AstStmt *s = seq->u.seq.items[i];
    const AstStmt *next = i + 1 < seq->u.seq.n ? seq->u.seq.items[i + 1] : NULL;
    if (s->kind == AS_INIT) {
        *out = resolve_init(r, s, next);
        return next ? 2 : 1;
    }
    int n = 2;
    while (s->kind != AS_LET && i + n < seq->u.seq.n &&
           value_is_of_uses(seq->u.seq.items[i + n - 1]))
        n++;
    if (r->mode == MODE_PROGRAM && next &&
        reduction_is_possible(r->ctx, s, seq->u.seq.items[i + n - 1])) {
        *out = resolve_reduction(r, &seq->u.seq.items[i], n);
        return n;
    }
    *out = resolve_stmt(r, s);
    return 1;
}

/* Puts the init of each tuple that needs one there behind its declaration. */
static void start_tuples(Resolver *r, int symbols, Stmt **items, int n)
{
    for (int i = symbols; i < r->symbols.n; i++) {
        const Symbol *s = &r->symbols.items[i];
        if (s->kind != SYMBOL_TUPLE || s->broken || !s->tuple->starts_early)
            continue;
        for (int k = 0; k < n; k++) {
            const Stmt *first = items[k]->kind == ST_SEQ && items[k]->u.seq.n > 0
                                    ? items[k]->u.seq.items[0]
                                    : items[k];
            if (first->kind == ST_TEMP && first->u.temp == s->tuple->buffers[0])
                items[k] = stmt_then(r->ctx, items[k], tuple_start(r, s->tuple));
        }
    }
}

static Stmt *resolve_seq(Resolver *r, const AstStmt *s)
{
    bool *plain = ARENA_ARRAY(r->ctx->arena, bool, s->u.seq.n + 1);
    StmtList out = {0};
    int symbols = r->symbols.n;
    bool good = true;
    for (int i = 0; i < s->u.seq.n;) {
        Stmt *item = NULL;
        plain[out.n] = is_plain_assignment(s->u.seq.items[i]);
        i += resolve_item(r, s, i, &item);
        if (item)
            VEC_PUSH(r->ctx->arena, &out, item);
        else
            good = false;
    }
    if (!good)
        return NULL;
    if (r->mode == MODE_PROGRAM)
        join_updates(r, &out, plain);
    start_tuples(r, symbols, out.items, out.n);
    return stmt_seq(r->ctx, out.items, out.n, s->span);
}

Stmt *resolve_body(Resolver *r, const AstStmt *s)
{
    int outside = r->symbols.n;
    Stmt *out = s->kind == AS_SEQ ? resolve_seq(r, s) : resolve_stmt(r, s);
    names_cut(r, outside);
    return out;
}

static Stmt *resolve_braces(Resolver *r, const AstStmt *s)
{
    int outside = r->symbols.n;
    Stmt *out = resolve_seq(r, s);
    names_end(r, outside);
    return out;
}

static Stmt *resolve_label(Resolver *r, const AstStmt *s)
{
    if (r->mode != MODE_PROGRAM) {
        diag_error(r->ctx, E0219, s->u.label.name.span,
                   "a label must name a block, and this statement contains none");
        return NULL;
    }
    Label outside = r->label;
    r->label = (Label){s->u.label.name, false};
    Stmt *out = resolve_stmt(r, s->u.label.body);
    bool used = r->label.used;
    r->label = outside;
    if (!out || used)
        return out;
    diag_error(r->ctx, E0219, s->u.label.name.span,
               "the label '%.60s' names no block; put a label before an unnamed statement that "
               "writes a buffer",
               s->u.label.name.text);
    return NULL;
}

Stmt *resolve_stmt(Resolver *r, const AstStmt *s)
{
    switch (s->kind) {
    case AS_SEQ: return resolve_braces(r, s);
    case AS_FOR: return resolve_for(r, s);
    case AS_IF: return resolve_if(r, s);
    case AS_WHILE: return resolve_while(r, s);
    case AS_BREAK: return resolve_break(r, s);
    case AS_STORE: {
        Stmt *store = resolve_store(r, s);
        return store ? block_wrap(r, NULL, store, r->loops.n, &r->label) : NULL;
    }
    case AS_UPDATE: {
        BlockInit init = {0};
        Stmt *update = resolve_update(r, s, &init.stmt);
        return update ? block_wrap(r, init.stmt ? &init : NULL, update, r->loops.n, &r->label)
                      : NULL;
    }
    case AS_TEMP: return temp_statement(r, s);
    case AS_VIEW: return resolve_view(r, s);
    case AS_CALL: return resolve_instruction_call(r, s);
    case AS_LABEL: return resolve_label(r, s);
    case AS_BLOCK: return resolve_written_block(r, s);
    case AS_INIT: return resolve_init(r, s, NULL);
    case AS_LET: return resolve_let(r, s);
    case AS_BARRIER: return resolve_barrier(r, s);
    case AS_LAUNCH: return resolve_launch(r, s);
    case AS_ROLES: return resolve_roles(r, s);
    case AS_INSTRUCTION: return resolve_instruction_stmt(r, s);
    case AS_EACH:
    case AS_TRY:
    case AS_ASSERT:
    case AS_TUNE:
    case AS_EXPR:
    case AS_RETURN: break;
    }
    TIRC_BUG(r->ctx, "a statement of scripts in a kernel");
}
