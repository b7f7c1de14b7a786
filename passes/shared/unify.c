/* unify.c - Matches a statement with what an instruction computes: see unify.h.
 *
 *   instruction dp4a_i8(a: i8[4], b: i8[4], inout c: i32)    for k in 4
 *       for k in 4                                               C[i] += i32(B[j, i * 4 + k]) *
 *           c += i32(a[k]) * i32(b[k]);                                  i32(A[i * 4 + k]);
 *
 * Where operands or loops may change places, one order is tried after the other. A try makes its
 * choices in a fixed order, so the next one repeats them but for the last that has another
 * possibility. Of several failures, the one that came furthest is reported. */
#include "passes/shared/unify.h"

#include <inttypes.h>
#include <string.h>

#include "passes/shared/normal_form.h"
#include "passes/shared/operand_swizzle.h"
#include "passes/shared/rebuild.h"

enum { MOST_CHOICES = 24, MOST_TRIES = 4096, MATCHED = 1000000 };

/* An access of an operand, in the words of the instruction and of the statement. */
typedef struct {
    int operand;
    Expr *const *own, *const *theirs;
    Span at;
} Occurrence;

typedef struct {
    Var *own;
    const Var *theirs;
    LoopKind kind; /* of the instruction's */
} LoopPair;

typedef struct {
    Unify *u;
    int pick[MOST_CHOICES], limit[MOST_CHOICES];
    int n, known; /* choices of this try; how many of them are given */
    VEC(Occurrence) seen;
    VEC(LoopPair) loops;
    Buffer **buffers; /* [n_operands]; NULL: not met yet */
    int progress;     /* nodes that agree */
} Search;

/* ---- failures -------------------------------------------------------------------------------- */

static bool fail(Search *s, ErrorCode code, Span at, const char *format, ...) TIRC_PRINTF(4, 5);

static bool fail(Search *s, ErrorCode code, Span at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    s->u->why = arena_vprintf(s->u->c->arena, format, args);
    va_end(args);
    s->u->code = code;
    s->u->at = at;
    return false;
}

/* ---- choices --------------------------------------------------------------------------------- */

static int choose(Search *s, int n)
{
    if (n < 2 || s->n == MOST_CHOICES)
        return 0;
    int i = s->n++;
    if (i >= s->known)
        s->pick[i] = 0;
    s->limit[i] = n;
    return s->pick[i];
}

/* Sets the choices of the next try; false after the last. */
static bool next_try(Search *s)
{
    while (s->n > 0 && s->pick[s->n - 1] + 1 >= s->limit[s->n - 1])
        s->n--;
    s->known = s->n;
    if (s->n == 0)
        return false;
    s->pick[s->n - 1]++;
    return true;
}

/* ---- expressions ----------------------------------------------------------------------------- */

static bool match_expr(Search *s, const Expr *own, const Expr *theirs);

static bool match_operand(Search *s, BufferElement mine, BufferElement other, Span at)
{
    Unify *u = s->u;
    const Buffer *own = mine.buffer;
    Buffer *theirs = other.buffer;
    int k = 0;
    while (u->of->operands[k].buffer != own)
        k++;
    if (own->type != theirs->type)
        return fail(s, E0842, at, "operand '%s' holds %s, but '%s' holds %s", own->name,
                    type_info(own->type)->name, theirs->name, type_info(theirs->type)->name);
    if (buffer_sum_digits(own) < buffer_sum_digits(theirs))
        return fail(s, E0852, at,
                    "sums in operand '%s' keep %d digits, and those in '%s' have %d; declare the "
                    "temp with sum_digits(%d) if so many are enough",
                    own->name, buffer_sum_digits(own), theirs->name, buffer_sum_digits(theirs),
                    buffer_sum_digits(own));
    if (s->buffers[k] && s->buffers[k] != theirs)
        return fail(s, E0842, at, "operand '%s' is '%s' in one place and '%s' in another",
                    own->name, s->buffers[k]->name, theirs->name);
    s->buffers[k] = theirs;
    s->progress++;
    VEC_PUSH(u->c->arena, &s->seen, ((Occurrence){k, mine.index, other.index, at}));
    return true;
}

static bool same_leaf(Search *s, const Expr *own, const Expr *theirs)
{
    if (own->kind == EX_INT)
        return own->u.i == theirs->u.i;
    if (own->kind == EX_FLOAT)
        return !memcmp(&own->u.f, &theirs->u.f, sizeof own->u.f);
    if (own->kind == EX_CALL)
        return own->u.call.call == theirs->u.call.call;
    if (own->kind != EX_VAR)
        return true;
    for (int i = 0; i < s->loops.n; i++)
        if (s->loops.items[i].own == own->u.var)
            return s->loops.items[i].theirs == theirs->u.var;
    return false;
}

/* The first two operands may change places. The order of floats matters to min and max of zeros. */
static bool commutes(const Expr *e)
{
    switch (e->kind) {
    case EX_ADD:
    case EX_MUL:
    case EX_EQ:
    case EX_NE:
    case EX_AND:
    case EX_OR:
    case EX_BITAND:
    case EX_BITOR:
    case EX_BITXOR: return true;
    case EX_MIN:
    case EX_MAX: return !type_is_float(e->type);
    case EX_CALL: return e->u.call.call == CALL_FMA || e->u.call.call == CALL_DP4A;
    default: return false;
    }
}

static bool match_expr(Search *s, const Expr *own, const Expr *theirs)
{
    if (own->kind == EX_LOAD && theirs->kind == EX_LOAD && own->type == theirs->type)
        return match_operand(s, (BufferElement){own->u.load.buffer, own->u.load.index},
                             (BufferElement){theirs->u.load.buffer, theirs->u.load.index},
                             theirs->span);
    if (own->kind != theirs->kind || own->type != theirs->type || !same_leaf(s, own, theirs))
        return fail(s, E0842, theirs->span, "expected '%s' of type %s, found '%s' of type %s",
                    expr_text(s->u->c, own), type_info(own->type)->name, expr_text(s->u->c, theirs),
                    type_info(theirs->type)->name);
    s->progress++;
    int n = expr_operands(own);
    bool swapped = n > 1 && commutes(own) && choose(s, 2) == 1;
    for (int k = 0; k < n; k++)
        if (!match_expr(s, expr_operand(own, k),
                        expr_operand(theirs, swapped && k < 2 ? 1 - k : k)))
            return false;
    return true;
}

/* ---- statements ------------------------------------------------------------------------------ */

static bool match_stmt(Search *s, const Stmt *own, const Stmt *theirs);

typedef VEC(const ForStmt *) LoopList;

static const Stmt *open_loops(Context *c, const Stmt *s, LoopList *out)
{
    for (; s->kind == ST_FOR; s = s->u.loop.body)
        VEC_PUSH(c->arena, out, &s->u.loop);
    return s;
}

/* "4, 8", or "no loop". */
static const char *extents_of(Context *c, const LoopList *loops)
{
    StrBuf text = strbuf_new(c->arena);
    if (loops->n == 0)
        return "no loop";
    strbuf_add(&text, loops->n == 1 ? "a loop of " : "loops of ");
    for (int i = 0; i < loops->n; i++) {
        strbuf_add(&text, i ? ", " : "");
        print_expr(loops->items[i]->hi, &text);
    }
    strbuf_add(&text, " iterations");
    return text.text;
}

static bool same_extent(const ForStmt *own, const ForStmt *theirs)
{
    int64_t x, y;
    return theirs->step == 1 && loop_const_extent(own, &x) && loop_const_extent(theirs, &y) &&
           x == y;
}

static bool uses_alone(Expr *const *index, int rank, const Var *var)
{
    bool alone = false, mixed = false;
    for (int d = 0; d < rank; d++) {
        bool is = expr_is_var(index[d], var);
        mixed |= !is && expr_uses_var(index[d], var);
        alone |= is;
    }
    return alone && !mixed;
}

/* The iterations of the loops around `own` may run in any order: they update elements, or set
 * different ones. */
static bool has_free_order(const LoopList *loops, const Stmt *own)
{
    if (own->kind != ST_STORE || expr_reads(own->u.store.value, own->u.store.buffer))
        return false;
    const StoreStmt *store = &own->u.store;
    for (int i = 0; i < loops->n && !store_updates(store->op); i++)
        if (!uses_alone(store->index, store->buffer->rank, loops->items[i]->var))
            return false;
    return true;
}

/* Gives each loop of the instruction one of the statement's, of the same extent. */
static bool pair_loops(Search *s, const LoopList *own, const LoopList *theirs, bool *in_order)
{
    Context *c = s->u->c;
    bool *used = ARENA_ARRAY(c->arena, bool, theirs->n + 1);
    int *fitting = ARENA_ARRAY(c->arena, int, theirs->n + 1);
    *in_order = true;
    for (int i = 0; i < own->n; i++) {
        int n = 0;
        for (int k = 0; k < theirs->n; k++)
            if (!used[k] && same_extent(own->items[i], theirs->items[k]))
                fitting[n++] = k;
        if (n == 0)
            return false;
        int k = fitting[choose(s, n)];
        used[k] = true;
        *in_order &= k == i;
        LoopPair pair = {own->items[i]->var, theirs->items[k]->var, own->items[i]->kind};
        VEC_PUSH(c->arena, &s->loops, pair);
    }
    return own->n == theirs->n;
}

static bool match_loops(Search *s, const Stmt *own, const Stmt *theirs)
{
    LoopList mine = {0}, others = {0};
    Context *c = s->u->c;
    const Stmt *inner = open_loops(c, own, &mine), *body = open_loops(c, theirs, &others);
    bool in_order;
    if (!pair_loops(s, &mine, &others, &in_order))
        return fail(s, E0841, theirs->span,
                    "the instruction runs %s, and here %s; split or reorder the loops so that the "
                    "numbers agree",
                    extents_of(c, &mine), others.n ? extents_of(c, &others) : "is no loop");
    if (!in_order && !has_free_order(&mine, inner))
        return fail(s, E0841, theirs->span,
                    "its loops come in another order than those of the instruction, which matters "
                    "to what it stores; reorder them");
    s->progress += mine.n;
    return match_stmt(s, inner, body);
}

static bool match_store(Search *s, const Stmt *own, const Stmt *theirs)
{
    const StoreStmt *x = &own->u.store, *y = &theirs->u.store;
    if (x->op != y->op)
        return fail(s, E0842, theirs->span, "expected '%s %s', found '%s %s'", x->buffer->name,
                    store_op_token(x->op), y->buffer->name, store_op_token(y->op));
    if (store_updates(x->op) && type_is_float(x->buffer->type))
        for (int i = 0; i < s->loops.n; i++)
            s->u->reassociates |=
                s->loops.items[i].own != s->u->of->lane &&
                !exprs_use_var(x->index, x->buffer->rank, s->loops.items[i].own) &&
                (x->op == STORE_ADD || x->op == STORE_MUL);
    return match_operand(s, (BufferElement){x->buffer, x->index},
                         (BufferElement){y->buffer, y->index}, theirs->span) &&
           match_expr(s, x->value, y->value);
}

static bool match_if(Search *s, const Stmt *own, const Stmt *theirs)
{
    const Stmt *otherwise = own->u.cond.otherwise, *other = theirs->u.cond.otherwise;
    if (!otherwise != !other)
        return fail(s, E0842, theirs->span,
                    "the condition of the instruction has %s, but this one %s",
                    otherwise ? "an else" : "no else", other ? "has one" : "has none");
    return match_expr(s, own->u.cond.cond, theirs->u.cond.cond) &&
           match_stmt(s, own->u.cond.then, theirs->u.cond.then) &&
           (!otherwise || match_stmt(s, otherwise, other));
}

static const char *count_stmts(Context *c, const Stmt *s)
{
    int n = stmt_items(s);
    return arena_printf(c->arena, "%d statement%s", n, n == 1 ? "" : "s");
}

static bool match_stmt(Search *s, const Stmt *own, const Stmt *theirs)
{
    if (theirs->kind == ST_IF && own->kind != ST_IF)
        return fail(s, E0843, theirs->span,
                    "it runs only where '%s', but the instruction runs whole; split off its loop "
                    "before others, choose factors that divide the extents, or pad the operands",
                    expr_text(s->u->c, theirs->u.cond.cond));
    if (theirs->kind == ST_SEQ && theirs->u.seq.combiner)
        return fail(s, E0842, theirs->span,
                    "it updates a tuple by reducer '%s', and the body of an instruction has none",
                    theirs->u.seq.combiner->name);
    bool seq = own->kind == ST_SEQ || theirs->kind == ST_SEQ;
    if (!seq && (own->kind == ST_FOR || theirs->kind == ST_FOR))
        return match_loops(s, own, theirs);
    if (own->kind != theirs->kind || (seq && own->u.seq.n != theirs->u.seq.n))
        return fail(s, E0842, theirs->span,
                    "expected %s, found %s; an init of the reduction leaves the loop with "
                    "decompose_reduction",
                    count_stmts(s->u->c, own), count_stmts(s->u->c, theirs));
    if (own->kind == ST_STORE)
        return match_store(s, own, theirs);
    if (own->kind == ST_IF)
        return match_if(s, own, theirs);
    for (int i = 0; seq && i < own->u.seq.n; i++)
        if (!match_stmt(s, own->u.seq.items[i], theirs->u.seq.items[i]))
            return false;
    return seq || fail(s, E0842, theirs->span, "the statement has no counterpart");
}

/* ---- where operands lie ---------------------------------------------------------------------- */

static int64_t extent_of(const Operand *operand, int axis)
{
    int64_t extent = 0;
    expr_is_const(operand->buffer->shape[axis], &extent);
    return extent;
}

const Var *unify_lane(const BlockStmt *block, const Var *coordinate)
{
    const Var *lane = NULL;
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        if (!lane && expr_is_var(iter->binding, coordinate))
            lane = iter->var;
        else if (expr_uses_var(iter->binding, coordinate))
            return NULL;
    }
    return lane;
}

static const Var *paired(const Search *s, const Var *own)
{
    for (int i = 0; i < s->loops.n; i++)
        if (s->loops.items[i].own == own)
            return s->loops.items[i].theirs;
    return NULL;
}

/* How far axis `x` of the operand goes along the axes of its buffer, from an access that has a loop
 * of its own for it. */
static bool find_step(Search *s, int operand, int x, int64_t *step)
{
    Facts *facts = s->u->facts;
    const Buffer *own = s->u->of->operands[operand].buffer;
    for (int i = 0; i < s->seen.n; i++) {
        const Occurrence *o = &s->seen.items[i];
        AxisStep of = {.index = o->own,
                       .rank = own->rank,
                       .axis = x,
                       .lane = s->u->of->lane,
                       .lanes = s->u->of->lanes};
        if (o->operand != operand || !operand_axis_step(s->u->c, facts, &of))
            continue;
        const Var *var = paired(s, of.var);
        const Buffer *buffer = s->buffers[operand];
        for (int d = 0; d < buffer->rank; d++) {
            Expr *at = simplify(facts, o->theirs[d]);
            int64_t by;
            if (!operand_axis_moves(s->u->c, facts, at, var, of.apart, &by) || by % of.factor != 0)
                return fail(s, E0844, o->at,
                            "subscript %d of '%s', '%s', does not advance by the same number in "
                            "each iteration of '%s', so operand '%s' has no stride",
                            d, buffer->name, expr_text(s->u->c, at), var->name, own->name);
            step[d * own->rank + x] = by / of.factor;
        }
        return true;
    }
    return fail(s, E0844, span_none(), "operand '%s' has no access along axis %d", own->name, x);
}

/* The subscript of the operand's first element that the access implies. */
static Expr *base_of(Search *s, const Occurrence *o, int d, const int64_t *step, int rank)
{
    Context *c = s->u->c;
    Subst *map = ARENA_ARRAY(c->arena, Subst, s->loops.n + 1);
    for (int i = 0; i < s->loops.n; i++) {
        Var *to = (Var *)s->loops.items[i].theirs;
        map[i] = (Subst){s->loops.items[i].own, expr_var(c, to, to->span)};
    }
    Expr *base = o->theirs[d];
    for (int x = 0; x < rank; x++) {
        Expr *at = expr_subst(c, o->own[x], map, s->loops.n);
        base = index_sub(c, base, index_mul(c, expr_index(c, step[d * rank + x]), at));
    }
    return simplify(s->u->facts, base);
}

/* The first element of the operand is the same one whatever the loops are; in memory that threads
 * share, it also is for all threads of a warp. */
static bool is_fixed(const Search *s, const Buffer *buffer, const Expr *base)
{
    for (int k = 0; k < s->loops.n; k++) {
        const LoopPair *pair = &s->loops.items[k];
        bool own = pair->own == s->u->of->lane && buffer->scope == SCOPE_LOCAL;
        if (!own && expr_uses_var(base, pair->theirs))
            return false;
    }
    return true;
}

static bool find_base(Search *s, int operand, const int64_t *step, Expr **base)
{
    const Buffer *own = s->u->of->operands[operand].buffer, *buffer = s->buffers[operand];
    for (int i = 0; i < s->seen.n; i++) {
        const Occurrence *o = &s->seen.items[i];
        for (int d = 0; o->operand == operand && d < buffer->rank; d++) {
            Expr *at = base_of(s, o, d, step, own->rank);
            bool fits = is_fixed(s, buffer, at);
            Expr *difference =
                base[d] ? simplify(s->u->facts, index_sub(s->u->c, at, base[d])) : NULL;
            fits = fits && (!difference || expr_is(difference, 0));
            if (!fits)
                return fail(s, E0844, o->at,
                            "subscript %d of '%s', '%s', differs from where operand '%s' has this "
                            "element",
                            d, buffer->name, expr_text(s->u->c, o->theirs[d]), own->name);
            base[d] = at;
        }
    }
    return true;
}

/* The swizzle keeps the runs of the operand whole, which lie along the axis. */
static bool keeps_runs(const Buffer *buffer, const Operand *operand, int d)
{
    int64_t chunk = buffer->layout[d].swizzle.chunk * type_bytes(buffer->type);
    return operand->in_runs && chunk % operand->align == 0;
}

/* The layout moves elements of the axis apart in other ways than by a stride, and as the operand
 * does not ask for (check_swizzle). */
static const char *irregular(const Buffer *buffer, const Operand *operand, int d)
{
    for (int k = 0; buffer->layout && k < buffer->rank && !operand->swizzle.chunk; k++)
        if (buffer_is_swizzled(buffer, k) && (k == d || buffer->layout[k].swizzle.by == d) &&
            !(k == d && keeps_runs(buffer, operand, d)))
            return "is swizzled";
    for (int k = 0; buffer->layout && k < buffer->rank; k++)
        if (buffer->layout[k].choose_pad || buffer->layout[k].choose_swizzle)
            return "gets its layout from `auto`, after instructions are placed";
    return NULL;
}

static int64_t size_of_step(int64_t step)
{
    return step < 0 ? -step : step;
}

/* A circular axis may end inside the operand, which is known not to where both the circle and the
 * operand's start are multiples of its length. */
static bool wraps(Search *s, int k, int d, const OperandPlace *at)
{
    const Operand *operand = &s->u->of->operands[k];
    int64_t length = 1, fold = at->buffer->layout ? at->buffer->layout[d].fold : 0;
    for (int x = 0; x < operand->buffer->rank; x++)
        length +=
            (extent_of(operand, x) - 1) * size_of_step(at->step[d * operand->buffer->rank + x]);
    return fold > 0 && length > 1 &&
           (fold % length != 0 || !prove_divisible(s->u->facts, at->base[d], length));
}

static bool check_wraps(Search *s, int k, const OperandPlace *at)
{
    for (int d = 0; d < at->buffer->rank; d++)
        if (wraps(s, k, d, at))
            return fail(s, E0844, at->buffer->span,
                        "'%s' is circular, and operand '%s' is not known to lie within its "
                        "%" PRId64 " elements along axis %d",
                        at->buffer->name, s->u->of->operands[k].buffer->name,
                        at->buffer->layout[d].fold, d);
    return true;
}

/* Along axis d of its buffer and along one further in lie several elements of the operand: they are
 * not neighbours along d, however small the buffer becomes. */
static bool has_inner_axis(Search *s, int k, int d, const int64_t *step)
{
    const Operand *operand = &s->u->of->operands[k];
    int rank = operand->buffer->rank;
    for (int e = d + 1; e < s->buffers[k]->rank; e++)
        for (int y = 0; y < rank; y++)
            if (step[e * rank + y] && extent_of(operand, y) > 1)
                return true;
    return false;
}

static bool check_stride(Search *s, int k, int x, const int64_t *step)
{
    Context *c = s->u->c;
    const Operand *operand = &s->u->of->operands[k];
    const Buffer *buffer = s->buffers[k];
    int64_t wanted = operand->strides[x];
    Expr *stride = expr_index(c, 0);
    if (wanted == STRIDE_ANY || extent_of(operand, x) == 1)
        return true;
    for (int d = 0; d < buffer->rank; d++) {
        int64_t by = step[d * operand->buffer->rank + x];
        const char *why = by ? irregular(buffer, operand, d) : NULL;
        bool moves = d + 1 < buffer->rank || buffer->scope == SCOPE_LOCAL;
        if (by && moves && !unify_is_settled(s->u, buffer) &&
            (wanted > 1 || !has_inner_axis(s, k, d, step)))
            return true;
        if (why)
            return fail(s, E0844, buffer->span, "'%s' %s, but operand '%s' is contiguous in memory",
                        buffer->name, why, operand->buffer->name);
        stride = index_add(c, stride, index_mul(c, expr_index(c, by), buffer_stride(c, buffer, d)));
    }
    stride = simplify(s->u->facts, stride);
    if (expr_is(stride, wanted))
        return true;
    return fail(s, E0844, buffer->span,
                "neighbours along axis %d of operand '%s' lie %" PRId64 " element%s apart, but "
                "those of '%s' lie %s apart; copy it with cache_read or cache_write, and transpose "
                "the copy with transform_layout",
                x, operand->buffer->name, wanted, wanted == 1 ? "" : "s", buffer->name,
                expr_text(s->u->c, stride));
}

/* Two axes of the operand on one axis of the buffer: the larger step leaves room for the other. */
static bool leaves_room(const Operand *operand, const int64_t *step, int x, int y)
{
    int64_t a = size_of_step(step[x]), b = size_of_step(step[y]);
    return a >= b ? a >= b * extent_of(operand, y) : b >= a * extent_of(operand, x);
}

/* The elements of an operand that is written are different ones. */
static bool check_distinct(Search *s, int k, const int64_t *step)
{
    const Operand *operand = &s->u->of->operands[k];
    const Buffer *buffer = s->buffers[k];
    int rank = operand->buffer->rank;
    bool good = true;
    for (int x = 0; x < rank && operand->buffer->role != ROLE_IN; x++) {
        bool moves = extent_of(operand, x) == 1;
        for (int d = 0; d < buffer->rank; d++) {
            const int64_t *along = step + d * rank;
            moves |= along[x] != 0;
            for (int y = 0; y < x; y++)
                good = good && (!along[x] || !along[y] || leaves_room(operand, along, x, y));
        }
        good = good && moves;
    }
    return good || fail(s, E0847, buffer->span,
                        "several elements of operand '%s', which is written, are one element of "
                        "'%s'",
                        operand->buffer->name, buffer->name);
}

/* The instruction reads all operands before it writes one, so none of the others may be there. */
static bool check_apart(Search *s, int k)
{
    const Instruction *of = s->u->of;
    for (int i = 0; i < of->n_operands && of->operands[k].buffer->role != ROLE_IN; i++)
        if (i != k && s->buffers[i] == s->buffers[k])
            return fail(s, E0847, s->buffers[k]->span,
                        "operands '%s' and '%s' are both in '%s', which is written; copy one of "
                        "them with cache_read",
                        of->operands[k].buffer->name, of->operands[i].buffer->name,
                        s->buffers[k]->name);
    return true;
}

static bool check_scope(Search *s, int k)
{
    const Operand *operand = &s->u->of->operands[k];
    const Buffer *buffer = s->buffers[k];
    return !operand->has_scope || operand->scope == buffer->scope ||
           fail(s, E0846, buffer->span,
                "operand '%s' is in %s memory, but '%s' is in %s memory; copy it with cache_read "
                "or cache_write",
                operand->buffer->name, scope_name(operand->scope), buffer->name,
                scope_name(buffer->scope));
}

static bool check_swizzle(Search *s, int k, const OperandPlace *at)
{
    const Operand *operand = &s->u->of->operands[k];
    const char *wrong = swizzle_mismatch(s->u->c, s->u->facts, operand, at);
    return !wrong || fail(s, E0844, at->buffer->span, "%s", wrong);
}

static bool place_operand(Search *s, int k, OperandPlace *out)
{
    Context *c = s->u->c;
    const Operand *operand = &s->u->of->operands[k];
    int rank = operand->buffer->rank, n = s->buffers[k]->rank;
    int64_t *step = ARENA_ARRAY(c->arena, int64_t, n * rank + 1);
    Expr **base = ARENA_ARRAY(c->arena, Expr *, n + 1);
    for (int x = 0; x < rank; x++)
        if (extent_of(operand, x) > 1 && !find_step(s, k, x, step))
            return false;
    if (!find_base(s, k, step, base))
        return false;
    for (int x = 0; x < rank; x++)
        if (!check_stride(s, k, x, step))
            return false;
    *out = (OperandPlace){s->buffers[k], base, step};
    return check_wraps(s, k, out) && check_scope(s, k) && check_swizzle(s, k, out) &&
           check_distinct(s, k, step) && check_apart(s, k);
}

static bool place_operands(Search *s)
{
    OperandPlace *places = ARENA_ARRAY(s->u->c->arena, OperandPlace, s->u->of->n_operands);
    for (int k = 0; k < s->u->of->n_operands; k++, s->progress += MATCHED)
        if (!place_operand(s, k, &places[k]))
            return false;
    s->u->places = places;
    return true;
}

/* ---- the search ------------------------------------------------------------------------------ */

static bool try_once(Search *s, const Stmt *own, const Stmt *theirs)
{
    s->n = 0;
    s->seen.n = s->loops.n = s->progress = 0;
    s->u->reassociates = false;
    for (int k = 0; k < s->u->of->n_operands; k++)
        s->buffers[k] = NULL;
    if (s->u->of->lane)
        VEC_PUSH(s->u->c->arena, &s->loops, ((LoopPair){s->u->of->lane, s->u->lane, LOOP_SERIAL}));
    if (!match_stmt(s, own, theirs))
        return false;
    s->progress += MATCHED;
    return place_operands(s);
}

/* Where a warp runs the instruction, one runs the statement. */
static bool has_lanes(Unify *u, const Stmt *body)
{
    if (!u->of->lane || u->lane)
        return true;
    u->code = E0850;
    u->at = body->span;
    u->why = arena_printf(u->c->arena,
                          "it is run by a warp%s, but no loop of %" PRId64
                          " iterations around it alone is bound to threadIdx.x",
                          u->of->lanes == LANES_WARPGROUP ? "group" : "", u->of->lanes);
    return false;
}

bool unify(Unify *u, Stmt *body)
{
    if (!has_lanes(u, body))
        return false;
    Search s = {.u = u, .buffers = ARENA_ARRAY(u->c->arena, Buffer *, u->of->n_operands)};
    const Stmt *own = normal_form(u->c, u->of->body);
    Stmt *theirs = normal_form(u->c, body);
    Unify best = *u;
    FactsMark mark = facts_mark(u->facts);
    for (Cursor at = cursor_stmts(u->c, theirs); cursor_next(&at);)
        if (at.stmt->kind == ST_FOR)
            facts_enter(u->facts, at.stmt);
    int furthest = -1;
    bool found = false, more = true;
    for (int tries = 0; !found && more && tries < MOST_TRIES; tries++) {
        found = try_once(&s, own, theirs);
        if (!found && s.progress > furthest) {
            furthest = s.progress;
            best = *u;
        }
        more = !found && next_try(&s);
    }
    facts_reset(u->facts, mark);
    if (!found)
        *u = best;
    return found;
}
