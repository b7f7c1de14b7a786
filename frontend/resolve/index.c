/* index.c - Resolves the integers that shape a program: subscripts, bounds, extents, literals.
 *
 * They have type INDEX.  Bounds and extents are folded (literals only), so that `N - 1` is a number
 * wherever N is one: loops and buffers of known size are known by their literals. */
#include "frontend/resolve/internal.h"
#include "passes/analysis/symbolic/simplify.h"

static Expr *to_index(Resolver *r, Value v, const AstExpr *e, const char *what)
{
    if (!v.e)
        return NULL;
    bool integer = v.literal ? v.e->kind == EX_INT : type_is_int(v.e->type);
    if (integer)
        return value_convert(r, v, DT_INDEX);
    const char *type = v.literal ? "a floating literal" : type_info(v.e->type)->name;
    diag_error(r->ctx, E0225, e->span, "%s is an integer, but this is %s%s", what, type,
               v.e->type == DT_BOOL ? "" : "; write index(...) to truncate it");
    return NULL;
}

Expr *resolve_index(Resolver *r, const AstExpr *e, const char *what)
{
    return to_index(r, resolve_value(r, e), e, what);
}

Expr *resolve_subscript(Resolver *r, const AstExpr *e)
{
    Value v = resolve_value(r, e);
    if (v.e && !v.literal && v.e->type == DT_I64 && r->mode == MODE_LAUNCH)
        return v.e;
    return to_index(r, v, e, "a subscript");
}

/* ---- folding ---- */

static bool is_folded(ExprKind kind)
{
    return kind == EX_ADD || kind == EX_SUB || kind == EX_MUL || kind == EX_DIV || kind == EX_MOD ||
           kind == EX_SHL || kind == EX_SHR || kind == EX_MIN || kind == EX_MAX;
}

static Expr *fold_node(Rewriter *w, Expr *e)
{
    bool *failed = w->user;
    int64_t a, b, value;
    bool divides = (e->kind == EX_DIV || e->kind == EX_MOD) && e->type == DT_INDEX;
    if (divides && expr_is(e->u.arg[1], 0)) {
        diag_error(w->ctx, E0229, e->span, "division by zero");
        *failed = true;
        return e;
    }
    if (!is_folded(e->kind) || e->type != DT_INDEX || !expr_is_const(e->u.arg[0], &a) ||
        !expr_is_const(e->u.arg[1], &b))
        return e;
    if (integer_binary(e->kind, a, b, &value))
        return expr_int(w->ctx, DT_INDEX, value, e->span);
    diag_error(w->ctx, E0206, e->span, "%lld %s %lld does not fit in 63 bits", (long long)a,
               op_info(e->kind)->token, (long long)b);
    *failed = true;
    return e;
}

/* `out` with its numbers folded; NULL after a diagnostic, and where it is NULL. */
static Expr *fold(Resolver *r, Expr *out)
{
    if (!out)
        return NULL;
    bool failed = false;
    out = rewrite_expr(&(Rewriter){r->ctx, &failed, fold_node, NULL}, out);
    return failed ? NULL : out;
}

Expr *resolve_bound(Resolver *r, const AstExpr *e, const char *what)
{
    return fold(r, resolve_index(r, e, what));
}

Expr *resolve_wide_bound(Resolver *r, const AstExpr *e, const char *what)
{
    Value v = resolve_value(r, e);
    bool wide = v.e && !v.literal && v.e->type == DT_I64;
    return fold(r, wide ? v.e : to_index(r, v, e, what));
}

bool resolve_literal(Resolver *r, const AstExpr *e, const char *what, int64_t *out)
{
    Expr *value = resolve_bound(r, e, what);
    if (value && !expr_is_const(value, out)) {
        diag_error(r->ctx, E0224, e->span,
                   "%s must be a constant: a number, or an expression of constant sizes", what);
        return false;
    }
    return value != NULL;
}

/* ---- shapes ---- */

static bool uses_scalar(Context *c, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (at.expr->kind == EX_VAR && at.expr->u.var->kind == VAR_SCALAR)
            return true;
    return false;
}

/* An extent: without loads, and at least 1 where it is a literal. */
static Expr *resolve_extent(Resolver *r, const AstExpr *e)
{
    int64_t value;
    Expr *extent = value_in_control(r, resolve_bound(r, e, "an extent"));
    if (!extent)
        return NULL;
    if (uses_scalar(r->ctx, extent)) {
        diag_error(r->ctx, E0226, e->span,
                   "an extent may use sizes, but not scalar parameters; declare this number as a "
                   "size, in <...> after the kernel's name");
        return NULL;
    }
    if (value_reads_data(r, extent)) {
        diag_error(r->ctx, E0226, e->span,
                   "an extent must be known before the kernel runs, so it cannot read a buffer");
        return NULL;
    }
    if (expr_is_const(extent, &value) && value < 1) {
        diag_error(r->ctx, E0204, e->span, "this axis would have %lld elements; the minimum is 1",
                   (long long)value);
        return NULL;
    }
    return extent;
}

Expr **resolve_shape(Resolver *r, const AstType *type, DType element)
{
    Expr **shape = ARENA_ARRAY(r->ctx->arena, Expr *, type->rank + 1);
    int64_t bytes = type_bytes(element), extent;
    bool good = true;
    for (int i = 0; i < type->rank; i++) {
        shape[i] = resolve_extent(r, type->shape[i]);
        good = good && shape[i];
        if (!good || !expr_is_const(shape[i], &extent) || checked_mul(bytes, extent, &bytes))
            continue;
        diag_error(r->ctx, E0206, type->span, "a buffer of this shape has more than 2^63 bytes");
        good = false;
    }
    return good ? shape : NULL;
}
