/* share.c - Names expressions that a launch writes down several times (common subexpression
 * elimination).
 *
 *   y[f] = x[f / 96 * 31 + f % 96 * 31 / 96]         let f_div = f % 96 * 31 / 96;
 *        + x[f / 96 * 31 + f % 96 * 31 / 96 + 1]     let x_at = f / 96 * 31 + f_div;
 *                                               =>   y[f] = x[x_at] + x[x_at + 1];
 *
 * An expression gets a name if it has at least LEAST_OPERATORS operators and stands at least twice
 * in statements of one sequence and in what is below them. The name stands in front of the first of
 * these statements that evaluates it in any case: no condition is left out, so there is no division
 * by zero and no read that was not there before. An expression that reads memory that the kernel
 * writes is shared by one store and the names before it alone. The bodies of vectorized loops stay
 * single stores.
 *
 * Quotients and remainders by what is no number also get a name in front of the loops that evaluate
 * them in any case, or evaluate another one by the same number in any case. The compiler of CUDA
 * cannot move them: for all it knows, they divide by zero.
 *
 *   for k in 9                                       let bx_div = bx / W;
 *       copy(x[bx / W + k]);                    =>   for k in 9
 *                                                        copy(x[bx_div + k]);
 *
 * The name says where the value comes from: the variable or buffer that the expression begins with,
 * and what its last operator makes (name_of). */
#include "ir/instruction.h"
#include "passes/lower/pass.h"

enum { LEAST_OPERATORS = 4, MOST_NAMES = 64, BUCKETS = 256 };

/* What an expression reads: its value can change between two statements, or not. */
typedef enum { READS_NOTHING, READS_INPUTS, READS_CHANGING } Reads;

/* Facts about an expression and everything below it. */
typedef struct {
    uint64_t hash;
    int operators;
    Reads reads;
    bool inner;   /* uses a variable that is bound below the sequence, or values of other lanes */
    bool divides; /* a quotient or remainder by what is no number */
} Shape;

/* An expression that may get a name. */
typedef struct {
    Expr *e;
    Shape shape;
    int uses;
    int item;  /* the first statement of the sequence that evaluates it in any case */
    bool sure; /* there is one; else it is the first one that has it */
    bool lazy; /* without one, that statement has it in what it evaluates in some cases only */
    int run;   /* of that statement */
    int next;  /* in its bucket; -1: the last one */
} Found;

typedef struct {
    Context *c;
    int made; /* names in this launch */
} Share;

/* Where an expression stands. */
typedef struct {
    int item;    /* of the sequence */
    int run;     /* items between which nothing is written have the same number */
    bool sure;   /* evaluated whenever the item runs */
    bool loops;  /* the same, in loops below the item */
    bool lazy;   /* evaluated in some cases by what would be one of these */
    bool nested; /* in a statement below the item */
    bool named;  /* it is the element that an `await` names, and not its value */
} Place;

typedef struct {
    Share *s;
    VEC(Found) found;
    int bucket[BUCKETS]; /* by hash; -1: empty */
    VarList inner;
} Search;

/* ---- finding --------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 0x9E3779B97F4A7C15u + (hash >> 29);
}

static uint64_t hash_node(const Expr *e)
{
    uint64_t hash = mix((uint64_t)e->kind, (uint64_t)e->type);
    switch (e->kind) {
    case EX_INT: return mix(hash, (uint64_t)e->u.i);
    case EX_VAR: return mix(hash, e->u.var->id);
    case EX_AXIS: return mix(hash, (uint64_t)e->u.axis);
    case EX_LOAD: return mix(hash, e->u.load.buffer->id);
    case EX_CALL: return mix(hash, (uint64_t)e->u.call.call);
    default: return hash;
    }
}

static bool is_inner(const Search *s, const Expr *e)
{
    for (int i = 0; e->kind == EX_VAR && i < s->inner.n; i++)
        if (s->inner.items[i] == e->u.var)
            return true;
    return false;
}

/* How much text and work the node itself is: a division by what is no power of two counts as
 * three operators, a conversion as none. */
static int operators_of_node(const Expr *e)
{
    enum { DIVISION = 3 };
    int64_t by;
    switch (e->kind) {
    case EX_INT:
    case EX_FLOAT:
    case EX_VAR:
    case EX_AXIS:
    case EX_CAST: return 0;
    case EX_DIV:
    case EX_MOD:
        return expr_is_const(e->u.arg[1], &by) && by > 0 && (by & (by - 1)) == 0 ? 1 : DIVISION;
    default: return 1;
    }
}

static Shape shape_of_node(const Search *s, const Expr *e)
{
    Reads reads = e->kind != EX_LOAD                  ? READS_NOTHING
                  : e->u.load.buffer->role == ROLE_IN ? READS_INPUTS
                                                      : READS_CHANGING;
    bool divides = (e->kind == EX_DIV || e->kind == EX_MOD) && e->type == DT_INDEX &&
                   !expr_is_const(e->u.arg[1], &(int64_t){0});
    return (Shape){.hash = hash_node(e),
                   .operators = operators_of_node(e),
                   .reads = reads,
                   .divides = divides,
                   .inner = is_inner(s, e) || op_info(e->kind)->class == OP_LANES};
}

static bool may_have_name(const Expr *e, const Shape *shape, Place at)
{
    bool dear =
        shape->operators >= LEAST_OPERATORS || (shape->divides && (at.sure || at.loops || at.lazy));
    return dear && !shape->inner && type_info(e->type)->bits >= 32 && e->kind != EX_CAST &&
           !at.named && !(shape->reads == READS_CHANGING && at.nested);
}

static void note(Search *s, Expr *e, Shape shape, Place at)
{
    bool repeated = shape.divides && at.loops, sure = at.sure || repeated;
    bool lazy = shape.divides && at.lazy && shape.reads == READS_NOTHING;
    int uses = repeated || lazy ? 2 : shape.operators >= LEAST_OPERATORS;
    int *bucket = &s->bucket[shape.hash % BUCKETS];
    for (int i = *bucket; i >= 0; i = s->found.items[i].next) {
        Found *f = &s->found.items[i];
        if (f->shape.hash != shape.hash || (shape.reads == READS_CHANGING && f->run != at.run) ||
            !expr_equal(f->e, e))
            continue;
        if (!f->sure && sure)
            *f = (Found){e, shape, uses, at.item, true, false, at.run, f->next};
        else
            f->uses += uses;
        return;
    }
    Found found = {e, shape, uses, at.item, sure, lazy, at.run, *bucket};
    *bucket = s->found.n;
    VEC_PUSH(s->s->c->arena, &s->found, found);
}

/* The operand is evaluated only if another one says so. */
static bool is_lazy(const Expr *e, int operand)
{
    return (e->kind == EX_SELECT || e->kind == EX_AND || e->kind == EX_OR) && operand > 0;
}

static Shape search_expr(Search *s, Expr *e, Place at)
{
    Shape shape = shape_of_node(s, e);
    for (int k = 0; k < expr_operands(e); k++) {
        Place below = at;
        if (is_lazy(e, k)) {
            below.lazy |= at.loops;
            below.sure = below.loops = false;
        }
        below.named = expr_awaits(e);
        Shape part = search_expr(s, expr_operand(e, k), below);
        shape.hash = mix(shape.hash, part.hash);
        shape.operators += part.operators;
        shape.reads = part.reads > shape.reads ? part.reads : shape.reads;
        shape.inner |= part.inner;
    }
    if (may_have_name(e, &shape, at))
        note(s, e, shape, at);
    return shape;
}

/* The load of an asynchronous copy is the copy. */
static void search_async(Search *s, Expr *value, Place at)
{
    Expr *where;
    const Expr *copied = expr_copied_or(value, &where);
    if (where)
        search_expr(s, where, at);
    for (int k = 0; copied && k < expr_operands(copied); k++)
        search_expr(s, expr_operand(copied, k), at);
}

static void search_stmt(Search *s, Stmt *stmt, Place at);

/* Searches code below a statement that may never run. */
static void search_below(Search *s, Stmt *stmt, Place at)
{
    at.sure = at.loops = at.lazy = false;
    at.nested = true;
    if (stmt)
        search_stmt(s, stmt, at);
}

/* The same of code that runs, once or more, wherever the statement does. */
static void search_certain(Search *s, Stmt *stmt, Place at)
{
    at.loops |= at.sure;
    at.sure = false;
    at.nested = true;
    search_stmt(s, stmt, at);
}

/* The loop runs. One that is a single access is none to move a quotient out of. */
static bool runs_body(const ForStmt *loop, Place at)
{
    int64_t extent;
    return loop_const_extent(loop, &extent) && extent > 0 &&
           (loop->kind != LOOP_VECTORIZE || at.loops);
}

static void search_store(Search *s, const StoreStmt *store, Place at)
{
    for (int d = 0; d < store->buffer->rank; d++)
        search_expr(s, store->index[d], at);
    if (store->op == STORE_ASYNC)
        search_async(s, store->value, at);
    else
        search_expr(s, store->value, at);
}

/* The text shows where the elements lie, and nothing of the body. */
static void search_instruction(Search *s, const Stmt *stmt, Place at)
{
    for (int i = 0; i < stmt->u.instruction.of->n_elements; i++) {
        const Expr *element = stmt->u.instruction.elements[i];
        for (int d = 0; d < element->u.load.buffer->rank; d++)
            search_expr(s, element->u.load.index[d], at);
    }
}

static void search_stmt(Search *s, Stmt *stmt, Place at)
{
    int outer = s->inner.n;
    switch (stmt->kind) {
    case ST_SEQ:
        for (int i = 0; i < stmt->u.seq.n; i++)
            (at.loops ? search_certain : search_below)(s, stmt->u.seq.items[i], at);
        break;
    case ST_LET:
        search_expr(s, stmt->u.let.value, at);
        if (at.nested)
            VEC_PUSH(s->s->c->arena, &s->inner, stmt->u.let.var);
        return;
    case ST_FOR:
        search_expr(s, stmt->u.loop.lo, at);
        search_expr(s, stmt->u.loop.hi, at);
        VEC_PUSH(s->s->c->arena, &s->inner, stmt->u.loop.var);
        (runs_body(&stmt->u.loop, at) ? search_certain : search_below)(s, stmt->u.loop.body, at);
        break;
    case ST_IF:
        search_expr(s, stmt->u.cond.cond, at);
        search_below(s, stmt->u.cond.then, at);
        search_below(s, stmt->u.cond.otherwise, at);
        break;
    case ST_ROLES:
        search_below(s, stmt->u.roles.producer, at);
        search_below(s, stmt->u.roles.consumers, at);
        break;
    case ST_STORE: search_store(s, &stmt->u.store, at); break;
    case ST_INSTRUCTION: search_instruction(s, stmt, at); break;
    case ST_BLOCK:
    case ST_LAUNCH:
    case ST_TEMP:
    case ST_BARRIER:
    case ST_BREAK: break;
    }
    s->inner.n = outer;
}

/* What an expression divides by is no 0: some statement up to its first one divides by it in any
 * case. */
static bool divides_safely(const Search *s, const Found *f, const Expr *e)
{
    bool safe =
        (e->kind != EX_DIV && e->kind != EX_MOD) || expr_is_const(e->u.arg[1], &(int64_t){0});
    for (int i = 0; i < s->found.n && !safe; i++) {
        const Found *other = &s->found.items[i];
        safe = other->sure && other->item <= f->item && other->shape.divides &&
               expr_equal(other->e->u.arg[1], e->u.arg[1]);
    }
    for (int k = 0; k < expr_operands(e) && safe; k++)
        safe = divides_safely(s, f, expr_operand(e, k));
    return safe;
}

/* The largest expression that is to have a name, the first one of several. */
static const Found *choose(const Search *s)
{
    const Found *best = NULL;
    for (int i = 0; i < s->found.n; i++) {
        const Found *f = &s->found.items[i];
        bool evaluated = f->sure || (f->lazy && divides_safely(s, f, f->e));
        if (evaluated && f->uses >= 2 && (!best || f->shape.operators > best->shape.operators))
            best = f;
    }
    return best;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The variable or buffer that the text of the expression begins with. */
static Name first_name(const Expr *e)
{
    if (e->kind == EX_VAR)
        return e->u.var->name;
    if (e->kind == EX_AXIS)
        return e->u.axis < AXIS_THREAD_X ? "block" : "thread";
    if (e->kind == EX_LOAD)
        return e->u.load.buffer->name;
    for (int k = 0; k < expr_operands(e); k++) {
        Name name = first_name(expr_operand(e, k));
        if (name)
            return name;
    }
    return NULL;
}

static const char *what_it_is(const Expr *e)
{
    bool index = e->type == DT_INDEX || e->type == DT_I64;
    switch (e->kind) {
    case EX_ADD: return index ? "at" : "sum";
    case EX_SUB: return index ? "at" : "diff";
    case EX_MUL: return index ? "start" : "product";
    case EX_DIV: return "div";
    case EX_MOD: return "mod";
    case EX_MIN: return "min";
    case EX_MAX: return "max";
    case EX_CALL: return call_info(e->u.call.call)->name;
    default: return "value";
    }
}

/* Several of one name become different ones in the end (names.c). */
static Name name_of(Context *c, const Expr *e)
{
    Name first = first_name(e);
    return ctx_namef(c, "%s_%s", first ? first : "one", what_it_is(e));
}

/* ---- rewriting ------------------------------------------------------------------------------- */

typedef struct {
    const Expr *from;
    Expr *to;
} Exchange;

static Expr *exchange(Rewriter *r, Expr *e)
{
    const Exchange *x = r->user;
    return e->kind == x->from->kind && expr_equal(e, x->from) ? x->to : e;
}

/* An element of an instruction is a place, which stays a load. */
static Stmt *keep_elements(Rewriter *r, Stmt *s)
{
    const Exchange *x = r->user;
    if (s->kind != ST_INSTRUCTION)
        return s;
    int n = s->u.instruction.of->n_elements;
    Expr **elements = ARENA_ARRAY(r->ctx->arena, Expr *, n + 1);
    bool changed = false;
    for (int i = 0; i < n; i++) {
        elements[i] = s->u.instruction.elements[i];
        changed |= elements[i] == x->to;
        if (elements[i] == x->to)
            elements[i] = (Expr *)x->from;
    }
    return changed ? stmt_stamp(stmt_instruction(r->ctx, s->u.instruction.of, elements,
                                                 s->u.instruction.body, s->span),
                                s)
                   : s;
}

static Stmt *share_body(void *user, Stmt *s);

static bool writes(const Stmt *s)
{
    return s->kind != ST_LET && s->kind != ST_TEMP;
}

/* The variable that stands for the chosen expression: that of the let whose whole value it is, or a
 * new one, whose let is `made`. */
static Var *variable_of(Context *c, const Stmt *first, Expr *e, Stmt **made)
{
    if (first->kind == ST_LET && first->u.let.value == e)
        return first->u.let.var;
    Span span = e->span.source ? e->span : first->span;
    Var *var = var_new(c, name_of(c, e), e->type, VAR_LET, span);
    *made = stmt_let(c, var, e, span);
    (*made)->step = e->step ? e->step : first->step;
    return var;
}

/* Names the chosen expression in front of its first statement. */
static void give_name(Share *s, StmtList *items, Found chosen)
{
    Context *c = s->c;
    Stmt *let = NULL;
    Var *var = variable_of(c, items->items[chosen.item], chosen.e, &let);
    Exchange x = {chosen.e, expr_var(c, var, chosen.e->span)};
    Rewriter r = {.ctx = c, .user = &x, .expr = exchange, .stmt = keep_elements};
    StmtList out = {0};
    bool ends = false;
    for (int i = 0; i < items->n; i++) {
        Stmt *item = items->items[i];
        if (i == chosen.item && let)
            VEC_PUSH(c->arena, &out, let);
        bool replaces = !ends && i >= chosen.item + (let == NULL);
        VEC_PUSH(c->arena, &out, replaces ? rewrite_stmt(&r, item) : item);
        ends |= i >= chosen.item && chosen.shape.reads == READS_CHANGING && writes(item);
    }
    *items = out;
    s->made++;
}

static bool find_next(Share *s, const StmtList *items, Found *chosen)
{
    Search search = {.s = s};
    Place at = {.sure = true};
    for (int i = 0; i < BUCKETS; i++)
        search.bucket[i] = -1;
    for (int i = 0; i < items->n; i++) {
        at.item = i;
        search_stmt(&search, items->items[i], at);
        at.run += writes(items->items[i]);
    }
    const Found *best = choose(&search);
    if (best)
        *chosen = *best;
    return best != NULL;
}

static bool name_next(Share *s, StmtList *items)
{
    Found chosen;
    ArenaMark scratch = arena_mark(s->c->arena);
    bool found = find_next(s, items, &chosen);
    arena_reset(s->c->arena, scratch);
    if (found)
        give_name(s, items, chosen);
    return found;
}

/* ---- values that are there already ----------------------------------------------------------- */

/* What the value of a let is, apart from what it reads that can change; NULL: it is no let, or
 * reads that. */
static Expr *lasting_value(Share *s, const Stmt *item, uint64_t *hash)
{
    if (item->kind != ST_LET)
        return NULL;
    Search search = {.s = s};
    for (int i = 0; i < BUCKETS; i++)
        search.bucket[i] = -1;
    ArenaMark scratch = arena_mark(s->c->arena);
    Shape shape = search_expr(&search, item->u.let.value, (Place){.sure = true});
    arena_reset(s->c->arena, scratch);
    *hash = shape.hash;
    return shape.reads == READS_CHANGING || shape.inner ? NULL : item->u.let.value;
}

/* Drops lets of a value that a let in front of them has: two statements of the program may have
 * computed the same. */
static bool drop_repeated(Share *s, StmtList *items)
{
    Context *c = s->c;
    int kept = 0;
    Expr **values = ARENA_ARRAY(c->arena, Expr *, items->n + 1);
    uint64_t *hashes = ARENA_ARRAY(c->arena, uint64_t, items->n + 1);
    for (int i = 0; i < items->n; i++) {
        Stmt *item = items->items[i];
        Expr *value = lasting_value(s, item, &hashes[kept]);
        int same = 0;
        while (value && same < kept &&
               !(values[same] && hashes[same] == hashes[kept] && expr_equal(values[same], value)))
            same++;
        if (value && same < kept) {
            const Var *first = items->items[same]->u.let.var;
            Subst to = {item->u.let.var, expr_var(c, (Var *)first, item->span)};
            for (int k = i + 1; k < items->n; k++)
                items->items[k] = stmt_subst(c, items->items[k], &to, 1);
            continue;
        }
        values[kept] = value;
        items->items[kept++] = item;
    }
    bool dropped = kept < items->n;
    items->n = kept;
    return dropped;
}

static Stmt *share_inside(void *user, Stmt *s)
{
    Share *share = user;
    bool whole = s->kind == ST_FOR && s->u.loop.kind == LOOP_VECTORIZE;
    if (whole || s->kind == ST_INSTRUCTION)
        return s;
    return stmt_map_children(share->c, s, share_body, share);
}

/* A sequence, or a statement that stands alone in a body. */
static Stmt *share_body(void *user, Stmt *s)
{
    Share *share = user;
    Context *c = share->c;
    StmtList items = {0};
    if (s->kind == ST_SEQ)
        VEC_APPEND(c->arena, &items, s->u.seq.items, s->u.seq.n);
    else
        VEC_PUSH(c->arena, &items, s);
    int before = share->made;
    bool changed = drop_repeated(share, &items);
    while (share->made < MOST_NAMES && name_next(share, &items))
        continue;
    changed |= share->made > before;
    for (int i = 0; i < items.n; i++) {
        Stmt *item = items.items[i];
        items.items[i] = share_inside(share, item);
        changed |= items.items[i] != item;
    }
    return !changed       ? s
           : items.n == 1 ? items.items[0]
                          : stmt_seq(c, items.items, items.n, s->span);
}

static Stmt *share_launch(void *user, Stmt *s)
{
    Share *share = user;
    share->made = 0;
    return stmt_map_children(share->c, s, s->kind == ST_LAUNCH ? share_body : share_launch, share);
}

Kernel *pass_share_values(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Share share = {.c = c};
    return names_settle(c, kernel_with_body(c, kernel, share_launch(&share, kernel->body)));
}
