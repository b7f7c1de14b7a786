/* bind.c - Derives the sizes and element types of a kernel from the arrays of a call.
 *
 * Each dimension of an array is an equation: A: f32[M, 2 * K + 1] with an array of 20 x 7 says
 * M = 20 and K = 3. Dimensions that are linear in one unknown size are solved until nothing
 * changes, then defaults fill the rest, and every dimension is checked. */
#include "frontend/api/internal.h"

#include <string.h>

#include "frontend/syntax/parse.h"

/* ---- declarations ---------------------------------------------------------------------------- */

static const AstParam *param_at(const AstKernel *k, size_t i)
{
    size_t inputs = (size_t)k->n_params, all = inputs + (size_t)k->n_outputs;
    return i < inputs ? &k->params[i] : i < all ? &k->outputs[i - inputs] : NULL;
}

static bool is_output(const AstKernel *k, const AstParam *p)
{
    return p < k->params || p >= k->params + k->n_params;
}

static bool declaration_at(tirc *t, const tirc_file *file, const char *name, size_t i,
                           tirc_declaration *out)
{
    const AstKernel *k = api_choose_kernel(t, file, name);
    const AstParam *p = k ? param_at(k, i) : NULL;
    if (!p)
        return false;
    bool output = is_output(k, p);
    const char **dims = ARENA_ARRAY(t->ctx->arena, const char *, p->type.rank + 1);
    for (int d = 0; d < p->type.rank; d++)
        dims[d] = api_span_text(t->ctx, p->type.shape[d]->span);
    *out = (tirc_declaration){.name = p->name.text,
                              .type = p->type.name.text,
                              .is_buffer = output || p->type.has_shape,
                              .is_input = !output,
                              .is_output = output || p->inout,
                              .rank = p->type.rank,
                              .dims = dims};
    return true;
}

bool tirc_declaration_at(tirc *t, const tirc_file *file, const char *kernel, size_t i,
                         tirc_declaration *declaration)
{
    API_ANSWER(t, declaration_at(t, file, kernel, i, declaration));
}

/* ---- sizes and types that are known so far --------------------------------------------------- */

typedef struct {
    bool known, symbolic;
    int64_t value;
    DType type;       /* of a type parameter that is known */
    const char *from; /* why it is known: "follows from 'A'" */
    bool derived;     /* from an argument, so the definitions do not contain it yet */
} BoundSize;

typedef struct {
    tirc *t;
    const AstKernel *kernel;
    BoundSize *sizes; /* [kernel->n_sizes] */
} Binder;

static int find_size(const Binder *b, Name name)
{
    for (int i = 0; i < b->kernel->n_sizes; i++)
        if (b->kernel->sizes[i].name.text == name)
            return i;
    return -1;
}

/* Definitions that name no size are left for tirc_resolve to refuse. */
static void define(Binder *b, const SizeOverride *o)
{
    int at = find_size(b, o->name);
    if (at < 0)
        return;
    b->sizes[at] = (BoundSize){.known = o->kind != SIZE_SYMBOLIC,
                               .symbolic = o->kind == SIZE_SYMBOLIC,
                               .value = o->value,
                               .type = o->type,
                               .from = "is given"};
}

static bool read_defines(Binder *b, const tirc_arguments *a)
{
    Context *c = b->t->ctx;
    bool readable = true;
    for (int i = 0; i < b->kernel->n_sizes; i++) {
        const AstSize *s = &b->kernel->sizes[i];
        b->sizes[i].symbolic = !s->is_type && !s->value;
    }
    for (size_t i = 0; i < a->n_defines; i++) {
        SizeOverride o;
        bool good = size_override_parse(c, a->defines[i], &o);
        if (good)
            define(b, &o);
        readable = readable && good;
    }
    return readable;
}

/* ---- dimensions as linear forms -------------------------------------------------------------- */

/* constant + factor * the size `unknown`; unknown is -1 if all sizes in it are known. */
typedef struct {
    int64_t constant, factor;
    int unknown;
} Dimension;

/* Both depend on at most one unknown size, the same one. */
static bool join_unknown(const Dimension *x, const Dimension *y, Dimension *out)
{
    out->unknown = x->unknown < 0 ? y->unknown : x->unknown;
    return x->unknown < 0 || y->unknown < 0 || x->unknown == y->unknown;
}

static bool multiply(const Dimension *x, const Dimension *y, Dimension *out)
{
    const Dimension *number = x->unknown < 0 ? x : y, *form = number == x ? y : x;
    out->unknown = form->unknown;
    return number->unknown < 0 && checked_mul(form->constant, number->constant, &out->constant) &&
           checked_mul(form->factor, number->constant, &out->factor);
}

/* On numbers alone. */
static bool combine_numbers(ExprKind op, int64_t x, int64_t y, int64_t *out)
{
    switch (op) {
    case EX_DIV:
    case EX_MOD:
        if (y == 0 || (x == INT64_MIN && y == -1))
            return false;
        *out = op == EX_DIV ? x / y : x % y;
        return true;
    case EX_MIN: *out = x < y ? x : y; return true;
    case EX_MAX: *out = x > y ? x : y; return true;
    default: return false;
    }
}

static bool combine(ExprKind op, const Dimension *x, const Dimension *y, Dimension *out)
{
    *out = (Dimension){.unknown = -1};
    switch (op) {
    case EX_ADD:
        return join_unknown(x, y, out) && checked_add(x->constant, y->constant, &out->constant) &&
               checked_add(x->factor, y->factor, &out->factor);
    case EX_SUB:
        return join_unknown(x, y, out) && checked_sub(x->constant, y->constant, &out->constant) &&
               checked_sub(x->factor, y->factor, &out->factor);
    case EX_MUL: return multiply(x, y, out);
    default:
        return x->unknown < 0 && y->unknown < 0 &&
               combine_numbers(op, x->constant, y->constant, &out->constant);
    }
}

static bool read_name(const Binder *b, Name name, Dimension *out)
{
    int at = find_size(b, name);
    if (at < 0 || b->kernel->sizes[at].is_type)
        return false;
    const BoundSize *s = &b->sizes[at];
    *out = s->known ? (Dimension){s->value, 0, -1} : (Dimension){0, 1, at};
    return true;
}

static bool read_dimension(const Binder *b, const AstExpr *e, Dimension *out);

static bool read_operands(const Binder *b, ExprKind op, AstExpr *const *operands, Dimension *out)
{
    Dimension x, y;
    return read_dimension(b, operands[0], &x) && read_dimension(b, operands[1], &y) &&
           combine(op, &x, &y, out);
}

/* False if the dimension is not linear in one unknown size. */
static bool read_dimension(const Binder *b, const AstExpr *e, Dimension *out)
{
    static const Dimension zero = {0, 0, -1};
    Dimension x;
    switch (e->kind) {
    case AE_INT: *out = (Dimension){(int64_t)e->u.i, 0, -1}; return e->u.i <= INT64_MAX;
    case AE_NAME: return read_name(b, e->u.name, out);
    case AE_UNARY:
        return e->u.op.op == EX_NEG && read_dimension(b, e->u.op.a, &x) &&
               combine(EX_SUB, &zero, &x, out);
    case AE_BINARY: return read_operands(b, e->u.op.op, (AstExpr *[]){e->u.op.a, e->u.op.b}, out);
    case AE_CALL: {
        bool least = !strcmp(e->u.call.callee.text, "min");
        if (e->u.call.n != 2 || (!least && strcmp(e->u.call.callee.text, "max") != 0))
            return false;
        AstExpr *operands[] = {e->u.call.args[0].value, e->u.call.args[1].value};
        return read_operands(b, least ? EX_MIN : EX_MAX, operands, out);
    }
    default: return false;
    }
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* "f32[20, 7]" */
static const char *argument_text(Context *c, const tirc_argument *a)
{
    StrBuf out = strbuf_new(c->arena);
    strbuf_addf(&out, "%.20s[", a->type);
    for (int i = 0; i < a->rank; i++)
        strbuf_addf(&out, "%s%lld", i ? ", " : "", (long long)a->dims[i]);
    strbuf_add(&out, "]");
    return out.text;
}

static const AstParam *find_param(const Binder *b, const char *name)
{
    const AstParam *p;
    for (size_t i = 0; (p = param_at(b->kernel, i)); i++)
        if (!strcmp(p->name.text, name))
            return p;
    return NULL;
}

static bool refuse_name(Binder *b, const char *name)
{
    Context *c = b->t->ctx;
    size_t n = (size_t)(b->kernel->n_params + b->kernel->n_outputs);
    const char **names = ARENA_ARRAY(c->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        names[i] = param_at(b->kernel, i)->name.text;
    const char *near = diag_suggest(name, names, (int)n);
    diag_error(c, E0707, b->kernel->name.span,
               near ? "kernel '%.60s' has no parameter '%.60s'; did you mean '%s'?"
                    : "kernel '%.60s' has no parameter '%.60s'",
               b->kernel->name.text, name, near);
    return false;
}

/* The element type of p. A type parameter that is open becomes `given`; DT_COUNT: unknown. */
static DType declared_type(Binder *b, const AstParam *p, DType given)
{
    int at = find_size(b, p->type.name.text);
    BoundSize *s = at >= 0 && b->kernel->sizes[at].is_type ? &b->sizes[at] : NULL;
    if (!s)
        return type_find(p->type.name.text);
    if (!s->known && given < DT_INDEX)
        *s = (BoundSize){.known = true, .type = given, .derived = true};
    return s->known ? s->type : DT_COUNT;
}

/* Raw elements, as NumPy stores the types that it does not know. */
static bool holds_raw(const char *type, DType declared)
{
    return (!strcmp(type, "V2") && declared == DT_BF16) ||
           (!strcmp(type, "V1") && (declared == DT_F8E4M3 || declared == DT_F8E5M2));
}

static bool bind_type(Binder *b, const AstParam *p, const tirc_argument *a)
{
    DType given = type_find(a->type), declared = declared_type(b, p, given);
    if (given < DT_INDEX ? given == declared || declared == DT_COUNT : holds_raw(a->type, declared))
        return true;
    diag_error(b->t->ctx, E0708, p->span, "'%s' has elements of type %s, but the array has %.20s",
               p->name.text, declared < DT_INDEX ? type_info(declared)->name : p->type.name.text,
               a->type);
    return false;
}

static bool check_rank(Binder *b, const AstParam *p, const tirc_argument *a)
{
    if (a->rank == p->type.rank)
        return true;
    diag_error(b->t->ctx, E0709, p->span, "'%s' has %d axes, but the array %s has %d", p->name.text,
               p->type.rank, argument_text(b->t->ctx, a), a->rank);
    return false;
}

/* Whether the dimension says the value of a size that was unknown. */
static bool solve(Binder *b, const AstParam *p, const AstExpr *e, int64_t extent)
{
    Dimension d;
    int64_t rest;
    if (!read_dimension(b, e, &d) || d.unknown < 0 || d.factor == 0 ||
        !checked_sub(extent, d.constant, &rest) || rest % d.factor != 0 || rest / d.factor < 0)
        return false;
    BoundSize *s = &b->sizes[d.unknown];
    s->known = s->derived = true;
    s->value = rest / d.factor;
    s->from = arena_printf(b->t->ctx->arena, "follows from '%s'", p->name.text);
    return true;
}

static void solve_all(Binder *b, const tirc_arguments *a)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < a->n_arguments; i++) {
            const AstParam *p = find_param(b, a->arguments[i].name);
            for (int d = 0; d < p->type.rank; d++)
                changed |= solve(b, p, p->type.shape[d], a->arguments[i].dims[d]);
        }
    }
}

static void take_defaults(Binder *b)
{
    for (int i = 0; i < b->kernel->n_sizes; i++) {
        const AstSize *size = &b->kernel->sizes[i];
        BoundSize *s = &b->sizes[i];
        if (s->known || s->symbolic || size->is_type || size->value->kind != AE_INT)
            continue;
        s->known = size->value->u.i <= INT64_MAX;
        s->value = (int64_t)size->value->u.i;
        s->from = "is the default";
    }
}

/* The sizes of a dimension, and where their values come from. */
static void note_sizes(Binder *b, const AstExpr *e)
{
    if (e->kind == AE_BINARY || e->kind == AE_UNARY) {
        note_sizes(b, e->u.op.a);
        if (e->u.op.b)
            note_sizes(b, e->u.op.b);
        return;
    }
    int at = e->kind == AE_NAME ? find_size(b, e->u.name) : -1;
    if (at >= 0 && b->sizes[at].known)
        diag_note(b->t->ctx, span_none(), "%s = %lld %s", e->u.name, (long long)b->sizes[at].value,
                  b->sizes[at].from);
}

static bool check_dimension(Binder *b, const AstParam *p, const tirc_argument *a, int axis)
{
    const AstExpr *e = p->type.shape[axis];
    Dimension d;
    if (!read_dimension(b, e, &d) || (d.unknown >= 0 && d.factor == 0))
        return true; /* the run compares it with the array */
    if (d.unknown < 0 && d.constant == a->dims[axis])
        return true;
    const char *declared = api_span_text(b->t->ctx, e->span);
    if (d.unknown >= 0)
        diag_error(b->t->ctx, E0709, p->span,
                   "axis %d of '%s' has extent %s, which is never %lld, as in the array %s", axis,
                   p->name.text, declared, (long long)a->dims[axis], argument_text(b->t->ctx, a));
    else
        diag_error(b->t->ctx, E0709, p->span,
                   "axis %d of '%s' has extent %s, here %lld, but the array %s has %lld", axis,
                   p->name.text, declared, (long long)d.constant, argument_text(b->t->ctx, a),
                   (long long)a->dims[axis]);
    note_sizes(b, e);
    return false;
}

static bool bind_arguments(Binder *b, const tirc_arguments *a)
{
    bool good = true;
    for (size_t i = 0; i < a->n_arguments; i++) {
        const tirc_argument *given = &a->arguments[i];
        const AstParam *p = find_param(b, given->name);
        good =
            (p ? bind_type(b, p, given) && check_rank(b, p, given) : refuse_name(b, given->name)) &&
            good;
    }
    if (!good)
        return false;
    solve_all(b, a);
    take_defaults(b);
    for (size_t i = 0; i < a->n_arguments; i++) {
        const AstParam *p = find_param(b, a->arguments[i].name);
        for (int d = 0; d < p->type.rank; d++)
            good = check_dimension(b, p, &a->arguments[i], d) && good;
    }
    return good;
}

/* ---- the binding ----------------------------------------------------------------------------- */

static void write_binding(const Binder *b, const tirc_arguments *a, tirc_binding *out)
{
    Arena *arena = b->t->ctx->arena;
    int n = b->kernel->n_sizes;
    const char **defines = ARENA_ARRAY(arena, const char *, a->n_defines + (size_t)n + 1);
    int64_t *sizes = ARENA_ARRAY(arena, int64_t, n + 1);
    *out = (tirc_binding){.defines = defines, .sizes = sizes};
    for (size_t i = 0; i < a->n_defines; i++)
        defines[out->n_defines++] = a->defines[i];
    for (int i = 0; i < n; i++) {
        const AstSize *size = &b->kernel->sizes[i];
        const BoundSize *s = &b->sizes[i];
        if (s->symbolic)
            sizes[out->n_sizes++] = s->known ? s->value : -1;
        else if (s->derived && size->is_type)
            defines[out->n_defines++] =
                arena_printf(arena, "%s=%s", size->name.text, type_info(s->type)->name);
        else if (s->derived)
            defines[out->n_defines++] =
                arena_printf(arena, "%s=%lld", size->name.text, (long long)s->value);
    }
}

static bool bind(tirc *t, const tirc_file *file, const char *name, const tirc_arguments *arguments,
                 tirc_binding *binding)
{
    const AstKernel *kernel = api_choose_kernel(t, file, name);
    if (!kernel)
        return false;
    Binder b = {t, kernel, ARENA_ARRAY(t->ctx->arena, BoundSize, kernel->n_sizes + 1)};
    if (!read_defines(&b, arguments) || !bind_arguments(&b, arguments))
        return false;
    write_binding(&b, arguments, binding);
    return true;
}

tirc_status tirc_bind(tirc *t, const tirc_file *file, const char *kernel,
                      const tirc_arguments *arguments, tirc_binding *binding)
{
    API_GUARDED(t, bind(t, file, kernel, arguments, binding));
}
