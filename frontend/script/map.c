/* map.c - Evaluates index maps in scripts: [i, j] -> [i / T, j, i % T].
 *
 * The names on the left are the map's own and hide variables of the script. On the right stand
 * sums, products, quotients and remainders of them, of numbers that the script computes, and of
 * sizes, which may be symbolic. */
#include "frontend/script/internal.h"
#include "passes/analysis/polyhedral/index_map.h"

/* of either side: what is asked about maps takes the square and more of that */
enum { MOST_NUMBERS = 32 };

typedef struct {
    Script *s;
    IndexMap map;
} MapText;

static Var *find_parameter(const MapText *m, Name name)
{
    for (int i = 0; i < m->map.n_from; i++)
        if (m->map.from[i]->name == name)
            return m->map.from[i];
    return NULL;
}

static bool read_parameters(MapText *m, const AstExpr *left)
{
    Script *s = m->s;
    if (left->kind != AE_LIST)
        return script_error(
            s, E0350, left->span,
            "the left side of an index map must be a list of names, as in  [i, j] -> [j, i]");
    if (left->u.list.n > MOST_NUMBERS)
        return script_error(s, E0350, left->span, "an index map takes at most %d inputs, found %d",
                            MOST_NUMBERS, left->u.list.n);
    Var **from = ARENA_ARRAY(s->c->arena, Var *, left->u.list.n + 1);
    m->map.from = from;
    for (int i = 0; i < left->u.list.n; i++) {
        const AstExpr *name = left->u.list.items[i];
        if (name->kind != AE_NAME)
            return script_error(s, E0350, name->span,
                                "each entry on the left side of an index map must be a new name");
        if (find_parameter(m, name->u.name))
            return script_error(s, E0350, name->span, "'%s' appears twice on the left side",
                                name->u.name);
        from[i] = var_new(s->c, name->u.name, DT_INDEX, VAR_ITER, name->span);
        m->map.n_from++;
    }
    return true;
}

/* The symbolic size of this name. In a loop that was entered, the loop is one, also where a
 * variable of the script holds it. */
static Var *find_symbolic(const MapText *m, Name name)
{
    const Kernel *kernel = schedule_entered_kernel(m->s->schedule);
    const Binding *own = script_lookup(m->s, name);
    for (int i = 0; i < kernel->n_sizes && (!own || own->value.kind == VALUE_LOOP); i++)
        if (kernel->sizes[i].name == name && kernel->sizes[i].symbolic)
            return kernel->sizes[i].var;
    return NULL;
}

/* A number that the script computes. */
static bool read_number(MapText *m, const AstExpr *e, Expr **out)
{
    Value v;
    int64_t i;
    if (!script_eval(m->s, e, &v) || !script_int(m->s, &v, "an output of an index map", &i))
        return false;
    *out = expr_int(m->s->c, DT_INDEX, i, e->span);
    return true;
}

/* Also where there are no points, as the shape of a buffer is computed in any case. */
static bool check_divisor(const MapText *m, const AstExpr *text, Expr *divisor)
{
    Context *c = m->s->c;
    Facts *f = facts_of_kernel(c, m->s->kernel);
    for (int i = 0; i < m->map.n_from; i++)
        if (expr_uses_var(divisor, m->map.from[i]))
            return script_error(m->s, E0350, text->span,
                                "an index map may divide only by numbers and sizes, not by '%s'",
                                m->map.from[i]->name);
    if (prove_compare(f, divisor, EX_GE, expr_index(c, 1)))
        return true;
    StrBuf words = strbuf_new(c->arena);
    print_expr(divisor, &words);
    return script_error(
        m->s, E0350, text->span, "the divisor '%s' of the index map may be less than 1%s",
        words.text, divisor->kind == EX_INT ? "" : "; say in the `where` clause that it is not");
}

static bool read_output(MapText *m, const AstExpr *e, Expr **out);

static bool read_binary(MapText *m, const AstExpr *e, Expr **out)
{
    Context *c = m->s->c;
    ExprKind op = e->u.op.op;
    Expr *a, *b;
    if (op != EX_ADD && op != EX_SUB && op != EX_MUL && op != EX_DIV && op != EX_MOD)
        return script_error(m->s, E0350, e->span, "an index map may use + - * / and %%, not '%s'",
                            op_info(op)->token);
    if (!read_output(m, e->u.op.a, &a) || !read_output(m, e->u.op.b, &b))
        return false;
    if ((op == EX_DIV || op == EX_MOD) && !check_divisor(m, e->u.op.b, b))
        return false;
    *out = expr_binary(c, op, a, b, e->span);
    if (expr_division_levels(*out) > EXPR_MAX_DIVISIONS)
        return script_error(m->s, E0350, e->span,
                            "quotients and remainders are nested more than %d levels deep",
                            EXPR_MAX_DIVISIONS);
    *out = simplify(facts_new(c), *out);
    return true;
}

static bool read_output(MapText *m, const AstExpr *e, Expr **out)
{
    Context *c = m->s->c;
    Var *var = e->kind == AE_NAME ? find_parameter(m, e->u.name) : NULL;
    if (e->kind == AE_NAME && !var)
        var = find_symbolic(m, e->u.name);
    if (!script_spend(m->s, 1, e->span))
        return false;
    if (var) {
        *out = expr_var(c, var, e->span);
        return true;
    }
    if (e->kind == AE_BINARY)
        return read_binary(m, e, out);
    if (e->kind != AE_UNARY || e->u.op.op != EX_NEG)
        return read_number(m, e, out);
    if (!read_output(m, e->u.op.a, out))
        return false;
    *out = simplify(facts_new(c), expr_unary(c, EX_NEG, *out, e->span));
    return true;
}

bool script_map(Script *s, const AstExpr *e, Value *out)
{
    MapText m = {.s = s};
    const AstExpr *right = e->u.map.hi;
    if (!read_parameters(&m, e->u.map.lo))
        return false;
    if (right->kind != AE_LIST)
        return script_error(
            s, E0350, right->span,
            "the right side of an index map must be a list, as in  [i, j] -> [j, i]");
    if (right->u.list.n > MOST_NUMBERS)
        return script_error(s, E0350, right->span, "an index map has at most %d outputs, found %d",
                            MOST_NUMBERS, right->u.list.n);
    Expr **to = ARENA_ARRAY(s->c->arena, Expr *, right->u.list.n + 1);
    m.map.to = to;
    m.map.n_to = right->u.list.n;
    for (int i = 0; i < m.map.n_to; i++)
        if (!read_output(&m, right->u.list.items[i], &to[i]))
            return false;
    IndexMap *map = ARENA_NEW(s->c->arena, IndexMap);
    *map = m.map;
    *out = (Value){.kind = VALUE_MAP, .span = e->span};
    out->u.map = map;
    return true;
}
