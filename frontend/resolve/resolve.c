/* resolve.c - Resolves the syntax tree of a kernel to IR: sizes, parameters, and the rules for the
 * whole kernel.
 *
 * Sizes come first, because everything else is written in terms of them: a constant is replaced by
 * its value wherever it is named, a symbolic one becomes a variable.  Then parameters, then the
 * body.  The kernel is given out only if nothing was refused on the way. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/resolve/internal.h"
#include "passes/analysis/dependence/outside.h"
#include "passes/analysis/regions/draws.h"
#include "passes/shared/rebuild.h"

/* ---- -D ---- */

static bool refuse_size(Context *c, Span span, const char *name, const char *value)
{
    diag_error(c, E0204, span,
               "size '%.60s' is %.40s; expected an integer from 1 to 9223372036854775807, or ? to "
               "make it an argument of the kernel",
               name, value);
    return false;
}

bool size_override_parse(Context *c, const char *text, SizeOverride *out)
{
    const char *equals = strchr(text, '='), *value = equals ? equals + 1 : "";
    size_t digits = strspn(value, "-0123456789");
    char *end;
    *out = (SizeOverride){.kind = SIZE_CONSTANT};
    if (!equals || equals == text || !*value) {
        diag_error(c, E0231, span_none(),
                   "-D expects NAME=VALUE, as in -D M=512, -D M=? or -D T=f16; found '%.60s'",
                   text);
        return false;
    }
    out->name = interner_get(c->names, text, (size_t)(equals - text));
    out->type = type_find(value);
    if (strcmp(value, "?") == 0) {
        out->kind = SIZE_SYMBOLIC;
        return true;
    }
    if (out->type < DT_INDEX) {
        out->kind = SIZE_TYPE;
        return true;
    }
    if (digits != strlen(value)) {
        const char *near = resolve_nearest_type(value);
        diag_error(c, E0231, span_none(),
                   "-D %.60s: expected an integer, a type or ?, found '%.60s'%s%s%s", out->name,
                   value, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        return false;
    }
    errno = 0;
    out->value = strtoll(value, &end, 10);
    if (errno == ERANGE || *end || out->value < 1)
        return refuse_size(c, span_none(), out->name, value);
    return true;
}

static const SizeOverride *find_override(const SizeOverride *overrides, int n, Name name)
{
    for (int i = n - 1; i >= 0; i--)
        if (overrides[i].name == name)
            return &overrides[i];
    return NULL;
}

/* "; did you mean 'M'?", or what the kernel has. */
static const char *known_sizes(Resolver *r, const AstKernel *k, Name name)
{
    StrBuf text = strbuf_new(r->ctx->arena);
    const char **words = ARENA_ARRAY(r->ctx->arena, const char *, k->n_sizes + 1);
    for (int i = 0; i < k->n_sizes; i++)
        words[i] = k->sizes[i].name.text;
    const char *near = diag_suggest(name, words, k->n_sizes);
    if (near)
        strbuf_addf(&text, "; did you mean '%s'?", near);
    else
        strbuf_add(&text, k->n_sizes ? "; it has " : "; it has none");
    for (int i = 0; !near && i < k->n_sizes && i < 16; i++)
        strbuf_addf(&text, "%s%.60s", i ? ", " : "", words[i]);
    return text.text;
}

static void check_overrides(Resolver *r, const AstKernel *k, const SizeOverride *overrides, int n)
{
    for (int i = 0; i < n; i++) {
        bool known = false;
        for (int j = 0; j < k->n_sizes; j++)
            known = known || k->sizes[j].name.text == overrides[i].name;
        if (!known)
            diag_error(r->ctx, E0205, k->name.span,
                       "-D %.60s: kernel '%.60s' has no size or type of this name%s",
                       overrides[i].name, k->name.text, known_sizes(r, k, overrides[i].name));
    }
}

/* ---- sizes ---- */

/* Refuses a default that is known only at run time: an expression of some symbolic size. */
static bool refuse_default(Resolver *r, const AstSize *s, const Expr *value)
{
    const char *name = s->name.text;
    Cursor at = cursor_expr(r->ctx, value);
    while (cursor_next(&at) && at.expr->kind != EX_VAR)
        ;
    const char *of = at.expr->u.var->name;
    diag_error(r->ctx, E0224, s->value->span,
               "the default of size '%.60s' depends on '%.60s', which is symbolic, and a default "
               "must be a number when the kernel is compiled; set -D %.60s=NUMBER, or make '%.60s' "
               "symbolic, too (without a default, or -D %.60s=?) and give its value in each run",
               name, of, of, name, name);
    return false;
}

/* The default of a size: a number, or an expression of earlier sizes. */
static bool read_default(Resolver *r, const AstSize *s, int64_t *value)
{
    const AstExpr *e = s->value;
    if (e->kind == AE_INT && e->u.i > INT64_MAX)
        return refuse_size(r->ctx, e->span, s->name.text,
                           ctx_namef(r->ctx, "%llu", (unsigned long long)e->u.i));
    const Expr *folded = resolve_bound(r, e, "the default of a size");
    if (!folded)
        return false;
    if (!expr_is_const(folded, value))
        return refuse_default(r, s, folded);
    return *value >= 1 ||
           refuse_size(r->ctx, e->span, s->name.text, ctx_namef(r->ctx, "%lld", (long long)*value));
}

static bool resolve_size(Resolver *r, const AstSize *s, const SizeOverride *o, Size *out)
{
    *out = (Size){.name = s->name.text, .span = s->span};
    if (o && o->kind == SIZE_TYPE) {
        diag_error(r->ctx, E0205, s->span,
                   "-D %.60s: '%.60s' is a size, not a type; give it an integer or ?", s->name.text,
                   s->name.text);
        return false;
    }
    if (o ? o->kind == SIZE_CONSTANT : s->value != NULL) {
        if (o)
            out->value = o->value;
        return o || read_default(r, s, &out->value);
    }
    out->symbolic = true;
    out->var = var_new(r->ctx, s->name.text, DT_INDEX, VAR_SIZE, s->name.span);
    return true;
}

static bool resolve_type_param(Resolver *r, const AstSize *s, const SizeOverride *o, DType *type)
{
    *type = DT_COUNT;
    if (o && o->kind != SIZE_TYPE)
        diag_error(r->ctx, E0205, s->span,
                   "-D %.60s: '%.60s' is a type parameter; give it a type, as in -D %.60s=f16",
                   s->name.text, s->name.text, s->name.text);
    else if (o)
        *type = o->type;
    else if (s->type_value.text)
        *type = resolve_type(r, s->type_value);
    else
        diag_error(r->ctx, E0228, s->span,
                   "the type parameter '%.60s' has no default; set it with -D %.60s=f32, or in the "
                   "kernel: %.60s: type = f32",
                   s->name.text, s->name.text, s->name.text);
    return *type != DT_COUNT;
}

bool resolve_sizes(Resolver *r, const AstKernel *k, const SizeOverride *overrides, int n,
                   Kernel *kernel)
{
    Size *sizes = ARENA_ARRAY(r->ctx->arena, Size, k->n_sizes + 1);
    bool good = true;
    kernel->sizes = sizes;
    for (int i = 0; i < k->n_sizes; i++) {
        const AstSize *s = &k->sizes[i];
        const SizeOverride *o = find_override(overrides, n, s->name.text);
        Symbol symbol = {.name = s->name.text, .span = s->span};
        if (s->is_type) {
            symbol.kind = SYMBOL_TYPE;
            symbol.broken = !resolve_type_param(r, s, o, &symbol.type);
        } else {
            Size *size = &sizes[kernel->n_sizes++];
            symbol.kind = SYMBOL_SIZE;
            symbol.broken = !resolve_size(r, s, o, size);
            symbol.value = size->value;
            symbol.var = size->var;
        }
        good = good && !symbol.broken;
        names_add(r, symbol);
    }
    return good;
}

/* ---- parameters ---- */

/* A parameter of a reducer's type: one for each component; their number, or 0 after an error. */
static int resolve_tuple_param(Resolver *r, const AstParam *p, Role role, Param *out)
{
    Tuple *tuple = resolve_tuple(
        r, p->name, &p->type,
        &(Buffer){.name = p->name.text, .scope = SCOPE_GLOBAL, .role = role, .span = p->span});
    for (int k = 0; tuple && k < tuple->combiner->n; k++)
        out[k].buffer = tuple->buffers[k];
    return tuple ? tuple->combiner->n : 0;
}

static bool resolve_param(Resolver *r, const AstParam *p, Role role, Param *out)
{
    DType type = resolve_type(r, p->type.name);
    Symbol symbol = {.name = p->name.text, .span = p->span};
    if (role == ROLE_IN && !p->type.has_shape) {
        symbol.kind = SYMBOL_VAR;
        symbol.broken = type == DT_COUNT;
        symbol.var = out->scalar =
            var_new(r->ctx, p->name.text, symbol.broken ? DT_F32 : type, VAR_SCALAR, p->span);
    } else {
        Expr **shape = type != DT_COUNT ? resolve_shape(r, &p->type, type) : NULL;
        symbol.kind = SYMBOL_BUFFER;
        symbol.broken = !shape;
        symbol.buffer = out->buffer =
            buffer_new(r->ctx, &(Buffer){.name = p->name.text,
                                         .type = type == DT_COUNT ? DT_F32 : type,
                                         .shape = shape,
                                         .rank = shape ? p->type.rank : 0,
                                         .scope = SCOPE_GLOBAL,
                                         .role = role,
                                         .span = p->span});
    }
    names_add(r, symbol);
    return !symbol.broken;
}

/* sum_digits(n) and product_digits(n) of a parameter that the kernel adds to. */
static bool resolve_param_clauses(Resolver *r, const AstParam *p, Buffer *buffer)
{
    for (int i = 0; i < p->n_clauses; i++) {
        const AstLayout *clause = &p->clauses[i];
        bool known = clause_is_of_digits(clause);
        if (!known || !buffer || buffer->role == ROLE_IN) {
            diag_error(r->ctx, E0254, clause->span,
                       !known ? "a parameter has no clause '%.60s'; there are sum_digits(n) and "
                                "product_digits(n), of '%.60s' if the kernel adds to it"
                              : "'%.60s' says how the kernel adds to a buffer of numbers, and "
                                "'%.60s' is only read, or a tuple",
                       clause->name.text, p->name.text);
            return false;
        }
        if (!resolve_digits(r, clause, buffer))
            return false;
    }
    return true;
}

typedef VEC(Param) ParamList;

/* Adds the parameter, or those of its components. */
static bool add_param(Resolver *r, const AstParam *p, Role role, ParamList *out)
{
    const AstReducer *reducer = reducer_find(r, p->type.name.text);
    int n = reducer ? reducer->n : 1;
    Param *own = ARENA_ARRAY(r->ctx->arena, Param, n);
    bool good =
        reducer ? resolve_tuple_param(r, p, role, own) == n : resolve_param(r, p, role, own);
    good = good && resolve_param_clauses(r, p, reducer ? NULL : own->buffer);
    for (int k = 0; good && k < n; k++)
        VEC_PUSH(r->ctx->arena, out, own[k]);
    return good;
}

static bool resolve_params(Resolver *r, const AstKernel *k, Kernel *kernel)
{
    ParamList params = {0};
    bool good = true;
    for (int i = 0; i < k->n_params; i++) {
        const AstParam *p = &k->params[i];
        good = add_param(r, p, p->inout ? ROLE_INOUT : ROLE_IN, &params) && good;
    }
    int n_inputs = params.n;
    for (int i = 0; i < k->n_outputs; i++) {
        const AstParam *p = &k->outputs[i];
        if (p->inout) {
            diag_error(r->ctx, E0226, p->span,
                       "'%.60s' is declared after '->', so it is only an output; declare a buffer "
                       "that is read and written before '->'",
                       p->name.text);
            good = false;
        }
        good = add_param(r, p, ROLE_OUT, &params) && good;
    }
    kernel->params = params.items;
    kernel->n_params = params.n;
    kernel->n_outputs = params.n - n_inputs;
    return good;
}

/* Puts the init of each output that is a tuple and needs one there in front of the body. */
static Stmt *start_outputs(Resolver *r, Stmt *body)
{
    for (int i = 0; body && i < r->symbols.n; i++) {
        const Symbol *s = &r->symbols.items[i];
        if (s->kind == SYMBOL_TUPLE && !s->broken && s->tuple->starts_early)
            body = stmt_then(r->ctx, tuple_start(r, s->tuple), body);
    }
    return body;
}

/* ---- the whole ---- */

static bool is_written(const Resolver *r, const Buffer *buffer)
{
    for (int i = 0; i < r->written.n; i++)
        if (buffer_defined(r->written.items[i]) == buffer)
            return true;
    return false;
}

/* Some store gives elements of the output a value, which others may update. */
static bool is_set(Context *c, const Kernel *kernel, const Buffer *output)
{
    for (Cursor at = cursor_stmts(c, kernel->body); cursor_next(&at);)
        if (at.stmt->kind == ST_STORE && at.stmt->u.store.buffer->id == output->id &&
            !store_updates(at.stmt->u.store.op))
            return true;
    return false;
}

static void check_outputs(Resolver *r, const Kernel *kernel)
{
    bool writable = false;
    for (int i = 0; i < kernel->n_params; i++) {
        const Buffer *b = kernel->params[i].buffer;
        if (!b || b->role == ROLE_IN)
            continue;
        writable = true;
        if (b->role == ROLE_OUT && !is_written(r, b))
            diag_error(
                r->ctx, E0212, b->span,
                "output '%.60s' is never written; the kernel must set every element of an output",
                b->name);
        else if (b->role == ROLE_OUT && !is_set(r->ctx, kernel, b))
            diag_error(r->ctx, E0212, b->span,
                       "output '%.60s' is updated but never initialized; set it before the update, "
                       "as in %.60s[...] = 0, or declare it 'inout' among the inputs if the caller "
                       "initializes it",
                       b->name, b->name);
    }
    if (!writable)
        diag_error(
            r->ctx, E0212, kernel->span,
            "kernel '%.60s' has no output; declare outputs after '->', or mark a parameter 'inout'",
            kernel->name);
}

static bool is_used(Resolver *r, const Kernel *kernel, const Param *p)
{
    if (p->buffer && (p->buffer->role == ROLE_OUT || is_written(r, p->buffer)))
        return true;
    for (Cursor at = cursor_stmt(r->ctx, kernel->body); cursor_next(&at);)
        if (at.expr &&
            (p->buffer ? at.expr->kind == EX_LOAD && at.expr->u.load.buffer->id == p->buffer->id
                       : at.expr->kind == EX_VAR && at.expr->u.var == p->scalar))
            return true;
    return false;
}

/* A tuple is one parameter of the program, and used where one of its components is. */
static void warn_of_unused(Resolver *r, const Kernel *kernel)
{
    for (int i = 0; i < kernel->n_params; i++) {
        const Param *p = &kernel->params[i];
        Span span = p->buffer ? p->buffer->span : p->scalar->span;
        bool used = false;
        for (int k = 0; k < kernel->n_params; k++) {
            const Param *other = &kernel->params[k];
            Span at = other->buffer ? other->buffer->span : other->scalar->span;
            used = used || (at.begin == span.begin && is_used(r, kernel, other));
        }
        if (!used)
            diag_warning(r->ctx, W0001, span, "parameter '%.60s' is not used",
                         p->buffer ? p->buffer->name : p->scalar->name);
    }
}

/* Something but declarations. */
static bool has_statement(const AstStmt *s)
{
    for (int i = 0; s->kind == AS_SEQ && i < s->u.seq.n; i++)
        if (has_statement(s->u.seq.items[i]))
            return true;
    return s->kind != AS_SEQ && s->kind != AS_TEMP && s->kind != AS_VIEW;
}

/* The sizes that the caller has given. */
typedef struct {
    const SizeOverride *items;
    int n;
} Overrides;

/* *again: a value has to be stored. */
static Kernel *resolve_once(Context *c, const AstKernel *k, const InstructionList *all,
                            Overrides given, bool *again)
{
    int errors = c->n_errors;
    Functions functions = {.list = k->functions};
    Resolver r = {.ctx = c,
                  .mode = ast_has(k->body, AS_LAUNCH) ? MODE_HOST : MODE_PROGRAM,
                  .functions = &functions,
                  .reducers = k->reducers,
                  .n_reducers = k->n_reducers,
                  .instructions = k->instructions,
                  .n_instructions = k->n_instructions,
                  .visible = all};
    Kernel *kernel = ARENA_NEW(c->arena, Kernel);
    r.kernel = kernel;
    kernel->name = k->name.text;
    kernel->span = k->name.span;
    functions_check_names(&r);
    resolve_functions(&r);
    kernel->instructions = all->items;
    kernel->n_instructions = all->n;
    check_overrides(&r, k, given.items, given.n);
    resolve_sizes(&r, k, given.items, given.n, kernel);
    resolve_params(&r, k, kernel);
    resolve_where(&r, k, kernel);
    block_names_claim(&r, k->body);
    kernel->body = start_outputs(&r, resolve_body(&r, k->body));
    /* Lowering leaves out stores in loops that have no iterations, and launches without stores. */
    if (kernel->body && c->n_errors == errors && r.mode == MODE_PROGRAM && has_statement(k->body))
        check_outputs(&r, kernel);
    if (kernel->body && c->n_errors == errors && r.mode == MODE_PROGRAM) {
        kernel->body = bits_written_out(c, kernel);
        no_access_leaves(c, kernel);
    }
    if (kernel->body && c->n_errors == errors)
        kernel->draws = input_draws(c, kernel, &kernel->n_draws);
    if (kernel->body && c->n_errors == errors && r.mode == MODE_PROGRAM && has_statement(k->body))
        warn_of_unused(&r, kernel);
    *again = r.stores_values && c->n_errors == errors;
    return kernel->body && c->n_errors == errors ? kernel : NULL;
}

Kernel *resolve_kernel_with(Context *c, const AstKernel *k, const InstructionList *all,
                            const SizeOverride *overrides, int n_overrides)
{
    for (;;) {
        bool again;
        DiagMark mark = diag_mark(c);
        Kernel *kernel = resolve_once(c, k, all, (Overrides){overrides, n_overrides}, &again);
        if (!again)
            return kernel;
        diag_forget(c, mark);
    }
}
