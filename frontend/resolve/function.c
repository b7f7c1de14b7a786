/* function.c - Finds the functions that a file declares, and writes out their calls.
 *
 *     fn square<T: type>(x: T) -> T { return x * x; }
 *
 *     y[i] = square(a[i] - b[i]);     =>     y[i] = (a[i] - b[i]) * (a[i] - b[i]);
 *
 * A function is pure, so a call is its value with the arguments in the place of the parameters. The
 * body is resolved once for each choice of its type parameters, in a scope of its own. */
#include <string.h>

#include "frontend/resolve/internal.h"

static bool is_builtin(Name name)
{
    return call_find(name) != CALL_COUNT || type_find(name) != DT_COUNT || !strcmp(name, "min") ||
           !strcmp(name, "max") || !strcmp(name, "select") ||
           !strcmp(name, op_info(EX_SHUFFLE_XOR)->token) ||
           !strcmp(name, op_info(EX_SHUFFLE)->token);
}

void functions_check_names(Resolver *r)
{
    const AstFunctionList *list = r->functions->list;
    for (int i = 0; list && i < list->n; i++) {
        AstName name = list->items[i]->name;
        const AstFunction *first = function_find(r, name.text);
        if (is_builtin(name.text))
            diag_error(r->ctx, E0202, name.span,
                       "'%.60s' is the name of a built-in function or a type; choose another name",
                       name.text);
        else if (first != list->items[i])
            diag_error(r->ctx, E0202, name.span,
                       "'%.60s' is already the name of a function; choose another name", name.text);
    }
}

const AstFunction *function_find(const Resolver *r, Name name)
{
    const AstFunctionList *list = r->functions ? r->functions->list : NULL;
    for (int i = 0; list && i < list->n; i++)
        if (list->items[i]->name.text == name)
            return list->items[i];
    return NULL;
}

/* ---- cases ---- */

/* The number of the type parameter of this name, or -1. */
static int type_param(const AstFunction *f, Name name)
{
    for (int i = 0; i < f->n_types; i++)
        if (f->types[i].name.text == name)
            return i;
    return -1;
}

/* The type that the arguments of a type parameter meet in: literals and loops adapt to the others,
 * and are f32 alone. */
static DType common_argument(Resolver *r, const AstFunction *f, const Value *args, int param)
{
    Value common = {0};
    for (int i = 0; i < f->n_params; i++) {
        Expr *both[2];
        if (type_param(f, f->params[i].type.name.text) != param)
            continue;
        if (!common.e)
            common = args[i];
        else if (values_unify(r, common, args[i], SMALL_STAY, both))
            common = (Value){.e = both[0], .literal = common.literal && args[i].literal};
        else
            return DT_COUNT;
    }
    return !common.e || common.literal || common.e->type == DT_INDEX ? DT_F32 : common.e->type;
}

static bool declare_param(Resolver *body, const AstParam *p, Var **var)
{
    DType type = resolve_type(body, p->type.name);
    if (p->inout || p->type.has_shape) {
        diag_error(body->ctx, E0243, p->span,
                   "'%.60s' is a buffer, but a function computes with values; pass an element",
                   p->name.text);
        return false;
    }
    *var = var_new(body->ctx, p->name.text, type == DT_COUNT ? DT_F32 : type, VAR_SCALAR, p->span);
    names_add(body, (Symbol){.name = p->name.text,
                             .kind = SYMBOL_VAR,
                             .span = p->span,
                             .var = *var,
                             .broken = type == DT_COUNT});
    return type != DT_COUNT;
}

/* A case whose parameters are in scope in `body`. */
static FunctionCase *open_case(Resolver *r, const AstFunction *f, const DType *types,
                               Resolver *body)
{
    FunctionCase *own = ARENA_NEW(r->ctx->arena, FunctionCase);
    *own = (FunctionCase){.function = f, .types = types, .open = true};
    own->params = ARENA_ARRAY(r->ctx->arena, Var *, f->n_params + 1);
    own->next = r->functions->cases;
    r->functions->cases = own;
    *body = (Resolver){.ctx = r->ctx, .mode = MODE_BLOCK, .functions = r->functions};
    bool good = true;
    for (int i = 0; i < f->n_types; i++) {
        const AstSize *t = &f->types[i];
        if (!t->is_type || t->type_value.text) {
            diag_error(r->ctx, E0243, t->span,
                       "a function has type parameters without a default only, as in "
                       "<T: type>; pass numbers as arguments");
            good = false;
        }
        names_add(
            body,
            (Symbol){.name = t->name.text, .kind = SYMBOL_TYPE, .span = t->span, .type = types[i]});
    }
    for (int i = 0; i < f->n_params; i++)
        good = declare_param(body, &f->params[i], &own->params[i]) && good;
    own->open = good;
    return own;
}

static FunctionCase *find_case(const Resolver *r, const AstFunction *f, const DType *types)
{
    for (FunctionCase *at = r->functions->cases; at; at = at->next)
        if (at->function == f &&
            (f->n_types == 0 || memcmp(at->types, types, sizeof *types * (size_t)f->n_types) == 0))
            return at;
    return NULL;
}

FunctionCase *function_open(Resolver *r, const AstFunction *f, const DType *types, Resolver *body)
{
    FunctionCase *known = find_case(r, f, types);
    return known ? known : open_case(r, f, types, body);
}

FunctionCase *function_case(Resolver *r, const AstExpr *call, const AstFunction *f,
                            const Value *args, Resolver *body)
{
    DType *types = ARENA_ARRAY(r->ctx->arena, DType, f->n_types + 1);
    for (int i = 0; i < f->n_types; i++) {
        types[i] = common_argument(r, f, args, i);
        if (types[i] == DT_COUNT)
            return NULL;
    }
    const FunctionCase *known = find_case(r, f, types);
    if (!known || !known->open)
        return function_open(r, f, types, body);
    diag_error(r->ctx, E0243, call->span,
               "'%.60s' calls itself, perhaps through others; a function ends only if none does",
               f->name.text);
    return NULL;
}

/* ---- calls ---- */

void function_too_large(Resolver *r, const AstFunction *f, Span span)
{
    diag_error(r->ctx, E0244, span,
               "'%.60s' has more than %d operations when it is written out here; name the "
               "arguments of calls with 'let', or call fewer functions in one expression",
               f->name.text, FUNCTION_NODES);
}

Expr *function_write_out(Resolver *r, const AstExpr *call, const FunctionCase *of,
                         const Value *args)
{
    const AstFunction *f = of->function;
    Subst *map = ARENA_ARRAY(r->ctx->arena, Subst, f->n_params + 1);
    for (int i = 0; i < f->n_params; i++) {
        Expr *value = value_widen(
            r, args[i], of->params[i]->type,
            ctx_namef(r->ctx, "'%.60s' of '%.60s'", f->params[i].name.text, f->name.text));
        if (!value)
            return NULL;
        map[i] = (Subst){of->params[i], value};
    }
    Expr *out = expr_subst(r->ctx, of->value, map, f->n_params);
    if (expr_nodes(out, FUNCTION_NODES) <= FUNCTION_NODES)
        return out;
    function_too_large(r, f, call->span);
    return NULL;
}
