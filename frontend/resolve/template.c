/* template.c - Writes out the CUDA text of an instruction for values of its parameters.
 *
 *   for j in 1..N / 8                                      ", %4, %5"
 *       "\", %{j * 4}, %{j * 4 + 1}\""         =>           ", %8, %9"   ...
 *
 * A brace in front of a parameter or of the loop's variable begins an integer expression, or a
 * type, whose value takes its place: i8 becomes s8, as PTX calls it. Other braces stay: those of
 * operands are read next (instruction.c). */
#include <ctype.h>
#include <string.h>

#include "frontend/resolve/internal.h"

enum { MOST_ITERATIONS = 1024 };

/* A placeholder that is being read. */
typedef struct {
    Resolver *r;
    const AstExpr *line;
    const char *at;
    int depth; /* of parentheses */
} Reader;

static bool refuse(Reader *t, const char *what)
{
    diag_error(t->r->ctx, E0249, t->line->span,
               "%s; `{N / 8 - 1}` stands for a number made of parameters and loop variables with "
               "+ - * / %% and parentheses, and `{T}` for a type",
               what);
    return false;
}

static void skip_blanks(Reader *t)
{
    while (*t->at == ' ')
        t->at++;
}

/* The name at `at`, which may be the start of a placeholder; NULL if there is none. */
static const Symbol *symbol_at(Resolver *r, const char *at, const char **end)
{
    *end = at;
    if (!isalpha((unsigned char)*at) && *at != '_')
        return NULL;
    while (isalnum((unsigned char)**end) || **end == '_')
        (*end)++;
    return names_find(r, interner_get(r->ctx->names, at, (size_t)(*end - at)));
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool read_sum(Reader *t, int64_t *out);

static bool read_name(Reader *t, int64_t *out)
{
    const char *end;
    const Symbol *s = symbol_at(t->r, t->at, &end);
    if (!s || s->kind != SYMBOL_SIZE || s->var)
        return refuse(t, arena_printf(t->r->ctx->arena, "'%.*s' is no number that is known here",
                                      (int)(end - t->at), t->at));
    *out = s->value;
    t->at = end;
    return true;
}

static bool read_digits(Reader *t, int64_t *out)
{
    for (*out = 0; isdigit((unsigned char)*t->at); t->at++)
        if (__builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, *t->at - '0', out))
            return refuse(t, "the number does not fit in 63 bits");
    return true;
}

static bool read_factor(Reader *t, int64_t *out)
{
    skip_blanks(t);
    if (isdigit((unsigned char)*t->at))
        return read_digits(t, out);
    if (*t->at != '(')
        return read_name(t, out);
    if (++t->depth > AST_MAX_DEPTH)
        return refuse(t, "too many parentheses");
    t->at++;
    if (!read_sum(t, out))
        return false;
    if (*t->at != ')')
        return refuse(t, "a parenthesis is not closed");
    t->at++;
    t->depth--;
    return true;
}

/* Integers are those of the language: a quotient is rounded down. */
static bool apply(Reader *t, char op, int64_t b, int64_t *a)
{
    int64_t rest = 0;
    if ((op == '/' || op == '%') && b <= 0)
        return refuse(t, "a divisor is not positive");
    switch (op) {
    case '+': return !__builtin_add_overflow(*a, b, a) || refuse(t, "the sum is too large");
    case '-': return !__builtin_sub_overflow(*a, b, a) || refuse(t, "the difference is too large");
    case '*': return !__builtin_mul_overflow(*a, b, a) || refuse(t, "the product is too large");
    default:
        rest = (*a % b + b) % b;
        *a = op == '%' ? rest : (*a - rest) / b;
        return true;
    }
}

static bool read_product(Reader *t, int64_t *out)
{
    if (!read_factor(t, out))
        return false;
    for (skip_blanks(t); *t->at && strchr("*/%", *t->at); skip_blanks(t)) {
        int64_t right;
        char op = *t->at++;
        if (!read_factor(t, &right) || !apply(t, op, right, out))
            return false;
    }
    return true;
}

static bool read_sum(Reader *t, int64_t *out)
{
    if (!read_product(t, out))
        return false;
    while (*t->at == '+' || *t->at == '-') {
        int64_t right;
        char op = *t->at++;
        if (!read_product(t, &right) || !apply(t, op, right, out))
            return false;
    }
    return true;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The type as PTX calls it: s8 of i8, e4m3 of f8e4m3. */
static void add_type(DType type, StrBuf *out)
{
    const TypeInfo *info = type_info(type);
    bool is_signed = type_is_int(type) && info->name[0] == 'i';
    bool is_float8 = type_is_float(type) && info->bits == 8;
    strbuf_addf(out, "%s%s", is_signed ? "s" : "",
                info->name + (is_float8 ? strlen("f8") : is_signed));
}

/* What the placeholder behind the brace stands for. */
static bool read_placeholder(Reader *t, const Symbol *first, const char *behind, StrBuf *out)
{
    int64_t value;
    t->at++;
    if (first->kind == SYMBOL_TYPE) {
        t->at = behind;
        add_type(first->type, out);
    } else if (read_sum(t, &value)) {
        strbuf_addf(out, "%lld", (long long)value);
    } else {
        return false;
    }
    if (*t->at != '}')
        return refuse(t, "a placeholder is not closed");
    t->at++;
    return true;
}

static bool add_line(Resolver *r, const AstExpr *line, TemplateLineList *out)
{
    StrBuf text = strbuf_new(r->ctx->arena);
    Reader t = {.r = r, .line = line, .at = line->u.string.text};
    if (strlen(t.at) != line->u.string.length || strpbrk(t.at, "\n\r"))
        return refuse(&t, "each line of the template is a string of its own, without line breaks "
                          "in it");
    while (*t.at) {
        const char *behind = NULL;
        const Symbol *first = *t.at == '{' ? symbol_at(r, t.at + 1, &behind) : NULL;
        if (!first)
            strbuf_addc(&text, *t.at++);
        else if (!read_placeholder(&t, first, behind, &text))
            return false;
    }
    VEC_PUSH(r->ctx->arena, out, ((TemplateLine){text.text, line}));
    return true;
}

static bool add_part(Resolver *r, const AstTemplatePart *part, TemplateLineList *out)
{
    for (int i = 0; i < part->n; i++)
        if (!add_line(r, part->texts[i], out))
            return false;
    return true;
}

static bool check_range(Resolver *r, const AstLoop *loop, int64_t lo, int64_t hi)
{
    if (lo >= hi || (lo >= 0 && hi <= MOST_ITERATIONS))
        return true;
    diag_error(r->ctx, E0249, loop->span,
               "a loop of a template runs from at least 0 to at most %d, found %lld..%lld",
               MOST_ITERATIONS, (long long)lo, (long long)hi);
    return false;
}

static bool add_loop(Resolver *r, const AstTemplatePart *part, TemplateLineList *out)
{
    const AstLoop *loop = part->loop;
    int64_t lo = 0, hi = 0;
    int n = r->symbols.n;
    bool good = (!loop->lo || resolve_literal(r, loop->lo, "the start of a range", &lo)) &&
                resolve_literal(r, loop->hi, "the end of a range", &hi) &&
                check_range(r, loop, lo, hi);
    for (int64_t i = lo; good && i < hi; i++) {
        names_add(
            r,
            (Symbol){.name = loop->name.text, .kind = SYMBOL_SIZE, .span = loop->span, .value = i});
        good = add_part(r, part, out);
        names_cut(r, n);
    }
    return good;
}

bool template_lines(Resolver *r, const AstInstruction *ast, TemplateLineList *out)
{
    int errors = r->ctx->n_errors;
    for (int i = 0; i < ast->n_parts; i++) {
        const AstTemplatePart *part = &ast->template[i];
        bool good = part->loop ? add_loop(r, part, out) : add_part(r, part, out);
        if (!good || r->ctx->n_errors > errors)
            return false;
    }
    return true;
}
