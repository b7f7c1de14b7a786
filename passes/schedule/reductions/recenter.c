/* recenter.c - Implements recenter: computes partial sums around partial results of the value that
 * the sum depends on, so that one pass over the data is enough.
 *
 *   for p, e  mean_rf[p] += x[p, e];            for p, e  mean_rf[p] += x[p, e];
 *   for p     mean += mean_rf[p];               for p, e  { let d = x[p, e] - mean_rf[p] / E;
 *   mean /= N;                                              v_rf[p] += d * d; }
 *   for p, e  { let d = x[p, e] - mean;     =>  for p     mean += mean_rf[p];
 *               v_rf[p] += d * d; }             mean /= N;
 *   for p     v += v_rf[p];                     for p     { let d = mean_rf[p] / E - mean;
 *                                                           v += v_rf[p] + E * d * d; }
 *
 * Two laws let a sum change its center c, whatever that is. Both hold for the terms of each part.
 *   sum exp(g - c)   = exp(m - c) * sum exp(g - m)                  m the maximum of g: no overflow
 *   sum (g - c) ** 2 = sum (g - m) ** 2 + n * (m - c) ** 2          m the mean of g, n their number
 * The first is an online softmax, the second the update of Chan, Golub and LeVeque (1983).
 *
 * Legal: the partial results are those of the same terms, in nests of the same loops. Nothing in
 * between changes what the terms read.
 * Invariant: floating-point results change by rounding only. */
#include "passes/schedule/reductions/recenter.h"
#include "passes/analysis/regions/reducer.h"
#include "passes/schedule/reductions/power.h"
#include "passes/schedule/reductions/term_count.h"

typedef enum { LAW_EXP, LAW_SQUARE } Law;

/* A nest of loops around one block that is a reduction. */
typedef struct {
    Stmt *block, *nest;
    StmtPath path;
    int at; /* of the nest, in the sequence that holds all of them */
    Reducer r;
} Part;

typedef struct {
    Schedule *s;
    Span span;
    Part pivots, sums, total; /* partial results, partial sums, and the sum of these */
    const Stmt *seq;
    SubstList map; /* loops and iterators of the sums' nest in terms of the pivots' */
    Law law;
    CallKind power;   /* of LAW_EXP: exp or another function like it */
    Expr *exists;     /* the condition on terms, or NULL */
    Expr *g, *center; /* of the sums' terms */
    Expr *count;      /* of a part's terms, of the sums' iterators; of squares only */
    Expr *moved;      /* what the total adds then */
} Recenter;

/* ---- the three nests ------------------------------------------------------------------------- */

/* The block reads the partial sums alone. */
static bool find_total(Recenter *f)
{
    Schedule *s = f->s;
    const Buffer *sums = flow_written(s, f->sums.block);
    REQUIRE(s, E0482, f->span, sums && sums->role == ROLE_TEMP,
            "block '%s' does not write one temp", f->sums.block->u.block.name);
    BlockList readers = flow_blocks(s, s->kernel->body, sums, ACCESS_READ);
    for (int i = 0; i < readers.n; i++)
        if (readers.items[i] != f->sums.block) {
            REQUIRE(s, E0482, f->span, !f->total.block,
                    "blocks '%s' and '%s' both read '%s'; one block has to add its elements",
                    f->total.block->u.block.name, readers.items[i]->u.block.name, sums->name);
            f->total.block = readers.items[i];
        }
    REQUIRE(s, E0482, f->span, f->total.block, "no block adds the elements of '%s'; use rfactor",
            sums->name);
    f->total.path = stmt_path_to(s->ctx, s->kernel->body, f->total.block);
    return true;
}

/* Nothing but loops stands around the block in its nest. */
static bool is_alone(const Part *part, int depth)
{
    bool alone = part->at >= 0;
    for (int i = depth; i + 1 < part->path.n; i++)
        alone = alone && part->path.items[i]->kind == ST_FOR;
    return alone;
}

static bool place_part(Recenter *f, Part *part, int depth)
{
    const Stmt *block = part->block;
    part->nest = part->path.items[depth];
    part->at = stmt_place(f->seq, part->nest);
    REQUIRE(f->s, E0482, f->span, is_alone(part, depth),
            "block '%s' does not stand alone in its nest", block->u.block.name);
    const char *why;
    REQUIRE(f->s, E0482, f->span,
            reducer_of(f->s->ctx, &part->path, depth, &part->r, &why) && !part->r.combiner &&
                !part->r.guard && part->r.from_identity,
            "block '%s' is not a reduction of one value that starts from its identity",
            block->u.block.name);
    return true;
}

/* All stand in one sequence, the pivots first, and the total right behind the sums. */
static bool find_places(Recenter *f)
{
    int depth = flow_common(&f->sums.path, &f->total.path);
    int other = flow_common(&f->sums.path, &f->pivots.path);
    f->seq = f->sums.path.items[depth - 1];
    REQUIRE(f->s, E0482, f->span, depth == other && f->seq->kind == ST_SEQ,
            "blocks '%s', '%s' and '%s' do not stand in nests that follow each other",
            f->pivots.block->u.block.name, f->sums.block->u.block.name,
            f->total.block->u.block.name);
    if (!place_part(f, &f->pivots, depth) || !place_part(f, &f->sums, depth) ||
        !place_part(f, &f->total, depth))
        return false;
    REQUIRE(f->s, E0482, f->span, f->pivots.at < f->sums.at && f->total.at == f->sums.at + 1,
            "the nests of '%s', '%s' and '%s' do not follow each other in this order",
            f->pivots.block->u.block.name, f->sums.block->u.block.name,
            f->total.block->u.block.name);
    return true;
}

/* ---- the same terms -------------------------------------------------------------------------- */

static bool same(Recenter *f, Expr *of_pivots, Expr *of_sums)
{
    if (!of_pivots || !of_sums)
        return of_pivots == of_sums;
    return expr_equal(of_pivots, expr_subst(f->s->ctx, of_sums, f->map.items, f->map.n));
}

static void map_var(Recenter *f, Var *of_sums, Var *of_pivots)
{
    Context *c = f->s->ctx;
    VEC_PUSH(c->arena, &f->map, ((Subst){of_sums, expr_var(c, of_pivots, span_none())}));
}

static bool same_loop(Recenter *f, const ForStmt *a, const ForStmt *b)
{
    map_var(f, b->var, a->var);
    return same(f, a->lo, b->lo) && same(f, a->hi, b->hi) && a->step == b->step &&
           a->kind == LOOP_SERIAL && b->kind == LOOP_SERIAL;
}

static bool same_iters(Recenter *f, const BlockStmt *a, const BlockStmt *b)
{
    for (int i = 0; i < a->n_iters && i < b->n_iters; i++) {
        const BlockIter *x = &a->iters[i], *y = &b->iters[i];
        if (x->kind != y->kind || !same(f, x->lo, y->lo) || !same(f, x->hi, y->hi) ||
            !same(f, x->binding, y->binding))
            return false;
        map_var(f, y->var, x->var);
    }
    return a->n_iters == b->n_iters && same(f, a->predicate, b->predicate);
}

/* Both nests run the same iterations. */
static bool same_nests(Recenter *f)
{
    const Stmt *a = f->pivots.nest, *b = f->sums.nest;
    for (; a->kind == ST_FOR && b->kind == ST_FOR; a = a->u.loop.body, b = b->u.loop.body)
        if (!same_loop(f, &a->u.loop, &b->u.loop))
            return false;
    return a->kind == ST_BLOCK && b->kind == ST_BLOCK && same_iters(f, &a->u.block, &b->u.block);
}

/* The value where the condition holds, of `exists ? value : identity`. */
static Expr *value_of(const Part *part, Expr **exists)
{
    Expr *e = part->r.parts[0].written;
    *exists = NULL;
    if (e->kind != EX_SELECT || !expr_equal(e->u.arg[2], part->r.parts[0].identity))
        return e;
    *exists = e->u.arg[0];
    return e->u.arg[1];
}

/* The law that the value obeys: exp(g - c), exp2 and the fast ones too, or (g - c) * (g - c). */
static bool find_law(Recenter *f, Expr *value)
{
    bool square = value->kind == EX_MUL && expr_equal(value->u.arg[0], value->u.arg[1]);
    bool power = value->kind == EX_CALL && call_is_power(value->u.call.call);
    const Expr *from = square ? value->u.arg[0] : power ? value->u.call.arg[0] : NULL;
    if (!from || from->kind != EX_SUB)
        return false;
    f->law = square ? LAW_SQUARE : LAW_EXP;
    f->power = power ? value->u.call.call : CALL_EXP;
    f->g = from->u.arg[0];
    f->center = from->u.arg[1];
    return f->pivots.r.op == (square ? STORE_ADD : STORE_MAX);
}

static const Buffer *target_of(const Part *part)
{
    return part->r.parts[0].target.buffer;
}

/* The terms of a part can be counted: each runs once. */
static bool counts_terms(Recenter *f, Conflict *why)
{
    int depth = flow_common(&f->sums.path, &f->total.path);
    f->count = term_count(f->s, &f->sums.path, f->exists, f->span);
    return f->count && (term_loops_are_iterators(&f->sums.path, depth) ||
                        (!f->exists && !f->sums.block->u.block.predicate &&
                         flow_runs_once(f->s, f->sums.block, why)));
}

static Expr *as_float(Recenter *f, Expr *count)
{
    DType type = target_of(&f->sums)->type;
    int64_t n;
    return expr_is_const(count, &n) ? expr_float(f->s->ctx, type, (double)n, f->span)
                                    : expr_cast(f->s->ctx, type, count, f->span);
}

/* The number of terms, or one where there is none: the mean of none is 0. */
static Expr *divisor(Recenter *f)
{
    Context *c = f->s->ctx;
    Expr *one = expr_index(c, 1);
    Expr *some = expr_binary(c, EX_GE, f->count, one, f->span);
    bool known = prove(sched_facts(f->s, &f->sums.path), some);
    return as_float(f, known ? f->count : expr_binary(c, EX_MAX, f->count, one, f->span));
}

static bool check_terms(Recenter *f)
{
    Expr *exists;
    Expr *value = value_of(&f->sums, &f->exists), *pivot = value_of(&f->pivots, &exists);
    DType type = target_of(&f->sums)->type;
    REQUIRE(f->s, E0482, f->span, same_nests(f),
            "blocks '%s' and '%s' are not in serial nests that run the same iterations",
            f->pivots.block->u.block.name, f->sums.block->u.block.name);
    REQUIRE(f->s, E0482, f->span,
            (type == DT_F32 || type == DT_F64) && f->sums.r.op == STORE_ADD &&
                f->total.r.op == STORE_ADD && target_of(&f->pivots)->type == type &&
                expr_is_load(f->total.r.parts[0].written, target_of(&f->sums)) &&
                find_law(f, value) && same(f, pivot, f->g) && same(f, exists, f->exists),
            "no law changes the center of the terms of '%s': they have the form exp(g - c), where "
            "'%s' is the maximum of g, or (g - c) * (g - c), where it is the sum of g, in f32 or "
            "f64",
            f->sums.block->u.block.name, f->pivots.block->u.block.name);
    Conflict why = {0};
    REQUIRE_KEPT(f->s, E0482, f->span, f->law == LAW_EXP || counts_terms(f, &why), &why,
                 "the conditions on the terms of '%s' do not say how many a part has; split its "
                 "loops by factors of their extents",
                 f->sums.block->u.block.name);
    return true;
}

/* ---- what may change in between -------------------------------------------------------------- */

/* Nothing between the pivots and the sums writes what the terms read, or uses either result. */
static bool check_between(Recenter *f)
{
    Context *c = f->s->ctx;
    AccessList reads = access_list_expr(c, f->g, NULL);
    const Buffer *pivots = target_of(&f->pivots), *sums = target_of(&f->sums);
    for (int i = f->pivots.at + 1; i < f->sums.at; i++) {
        const Stmt *item = f->seq->u.seq.items[i];
        bool used = stmt_accesses(c, item, pivots, ACCESS_WRITE) ||
                    stmt_accesses(c, item, sums, ACCESS_ANY);
        for (int k = 0; k < reads.n && !used; k++)
            used = stmt_accesses(c, item, reads.items[k].buffer, ACCESS_WRITE);
        REQUIRE_AT(f->s, E0482, f->span, !used, item,
                   "a statement between the partial results of '%s' and '%s' writes what these "
                   "read",
                   f->pivots.block->u.block.name, f->sums.block->u.block.name);
    }
    return true;
}

/* ---- build ----------------------------------------------------------------------------------- */

/* The partial result that belongs to an instance of the sums: their iterators in terms of the
 * pivots', turned round. */
static Expr *pivot_of(Recenter *f)
{
    Context *c = f->s->ctx;
    const BufferElement *target = &f->pivots.r.parts[0].target;
    Subst *back = ARENA_ARRAY(c->arena, Subst, f->map.n);
    for (int i = 0; i < f->map.n; i++)
        back[i] =
            (Subst){f->map.items[i].value->u.var, expr_var(c, f->map.items[i].var, span_none())};
    Expr **index = exprs_subst(c, target->index, target->buffer->rank, back, f->map.n);
    return expr_load(c, target->buffer, index, f->span);
}

/* The center of a part's terms. */
static Expr *own_center(Recenter *f, Expr *pivot)
{
    return f->law == LAW_EXP ? power_finite_center(f->s->ctx, pivot, f->span)
                             : expr_binary(f->s->ctx, EX_DIV, pivot, divisor(f), f->span);
}

/* exp(g - center), or its square. */
static Expr *term(Recenter *f, Expr *g, Expr *center)
{
    Context *c = f->s->ctx;
    Expr *difference = expr_binary(c, EX_SUB, g, center, f->span);
    return f->law == LAW_EXP ? expr_call(c, f->power, &difference, f->span)
                             : expr_binary(c, EX_MUL, difference, difference, f->span);
}

/* A block whose update adds another value. */
static Stmt *with_value(Recenter *f, const Part *part, Expr *value)
{
    BlockStmt block = part->block->u.block;
    const BufferElement *target = &part->r.parts[0].target;
    block.body = stmt_assign(f->s->ctx, *target, STORE_ADD, value, part->r.update->span);
    return stmt_block(f->s->ctx, &block, part->block->span);
}

static Stmt *new_sums(Recenter *f)
{
    Context *c = f->s->ctx;
    Expr *value = term(f, f->g, own_center(f, pivot_of(f)));
    if (f->exists)
        value = expr_select(c, f->exists, value, f->sums.r.parts[0].identity, f->span);
    return stmt_replace(c, f->sums.nest, f->sums.block, with_value(f, &f->sums, value));
}

/* The part's sum around its own center, as one around the common center. */
static Expr *moved_sum(Recenter *f)
{
    Context *c = f->s->ctx;
    Expr *sum = f->total.r.parts[0].written, *pivot = pivot_of(f);
    bool square = f->law == LAW_SQUARE;
    Expr *shift = term(f, square ? own_center(f, pivot) : pivot, f->center);
    if (square)
        shift = expr_binary(c, EX_MUL, shift, as_float(f, f->count), f->span);
    return expr_binary(c, square ? EX_ADD : EX_MUL, sum, shift, f->span);
}

/* The sums' iterators in terms of the total's: as one writes what the other reads. */
static bool map_total(Recenter *f, SubstList *map)
{
    const BufferElement *made = &f->sums.r.parts[0].target;
    const Expr *read = f->total.r.parts[0].written;
    for (int k = 0; k < made->buffer->rank; k++) {
        Expr *at = made->index[k];
        if (at->kind == EX_VAR)
            VEC_PUSH(f->s->ctx->arena, map, ((Subst){at->u.var, read->u.load.index[k]}));
        else if (!expr_equal(at, read->u.load.index[k]))
            return false;
    }
    return true;
}

/* What the total adds: of its own iterators only, since the center is the same for all terms of a
 * part. */
static bool find_moved(Recenter *f)
{
    const BlockStmt *block = &f->sums.block->u.block;
    SubstList map = {0};
    bool told = map_total(f, &map) && !expr_reads(f->center, target_of(&f->total));
    if (told)
        f->moved = expr_subst(f->s->ctx, moved_sum(f), map.items, map.n);
    for (int i = 0; told && i < block->n_iters; i++)
        told = !expr_uses_var(f->moved, block->iters[i].var);
    REQUIRE(f->s, E0482, f->span, told,
            "the center of the terms of '%s' is not the same for all terms of a part", block->name);
    return true;
}

static Stmt *new_total(Recenter *f)
{
    Stmt *block = with_value(f, &f->total, f->moved);
    return stmt_replace(f->s->ctx, f->total.nest, f->total.block, block);
}

/* The sums right behind the pivots; where their buffer is declared here, it is before both. */
static Stmt *new_seq(Recenter *f)
{
    Context *c = f->s->ctx;
    VEC(Stmt *) items = {0};
    Stmt *temp = NULL, *sums = new_sums(f);
    for (int i = 0; i < f->seq->u.seq.n; i++) {
        Stmt *item = f->seq->u.seq.items[i];
        if (item->kind == ST_TEMP && item->u.temp->id == target_of(&f->sums)->id)
            temp = item;
    }
    for (int i = 0; i < f->seq->u.seq.n; i++) {
        Stmt *item = f->seq->u.seq.items[i];
        if (i == f->pivots.at && temp)
            VEC_PUSH(c->arena, &items, temp);
        if (i != f->sums.at && item != temp)
            VEC_PUSH(c->arena, &items, i == f->total.at ? new_total(f) : item);
        if (i == f->pivots.at)
            VEC_PUSH(c->arena, &items, sums);
    }
    return stmt_seq(c, items.items, items.n, f->seq->span);
}

bool prim_recenter(Schedule *s, const PrimCall *call, Value *result)
{
    Recenter f = {.s = s, .span = call->span};
    *result = (Value){.kind = VALUE_NONE};
    f.sums.block = sched_node(s, &call->recenter.sums, &f.sums.path);
    if (recenter_is_of_weights(s, f.sums.block))
        return recenter_weights(s, call);
    f.pivots.block = sched_node(s, &call->recenter.pivots, &f.pivots.path);
    if (!find_total(&f) || !find_places(&f) || !check_terms(&f) || !check_between(&f) ||
        !find_moved(&f))
        return false;
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, f.seq, new_seq(&f));
    if (!flow_recheck_all(s, body, call->span))
        return false;
    s->reassociates = true;
    sched_replace_body(s, body);
    return true;
}
