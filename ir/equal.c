/* equal.c - Compares expressions, statements and kernels for structural equality.
 *
 * Two kernels are equal when they print the same meaning: variables and buffers are matched by
 * where they are defined, ids, spans and steps do not count.  The matches of a path are a list on
 * the C stack, so a definition ends where its scope does and nothing is allocated. */
#include "ir/instruction.h"
#include "ir/ir.h"

#include <math.h>
#include <string.h>

typedef struct Match {
    const void *a, *b; /* a Var or Buffer of each side */
    const struct Match *outer;
} Match;

/* Outside of all matches a thing equals only itself. */
static bool matches(const Match *m, const void *a, const void *b)
{
    for (; m; m = m->outer)
        if (m->a == a || m->b == b)
            return m->a == a && m->b == b;
    return a == b;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static bool same_float(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

static bool same_expr(const Match *m, const Expr *a, const Expr *b);

static bool same_exprs(const Match *m, Expr *const *a, Expr *const *b, int n)
{
    for (int i = 0; i < n; i++)
        if (!same_expr(m, a[i], b[i]))
            return false;
    return true;
}

static bool same_expr(const Match *m, const Expr *a, const Expr *b)
{
    if (!a || !b || (a == b && !m))
        return a == b;
    if (a->kind != b->kind || a->type != b->type)
        return false;
    switch (a->kind) {
    case EX_INT: return a->u.i == b->u.i;
    case EX_FLOAT: return same_float(a->u.f, b->u.f);
    case EX_VAR: return matches(m, a->u.var, b->u.var);
    case EX_AXIS: return a->u.axis == b->u.axis;
    case EX_LOAD:
        return matches(m, buffer_defined(a->u.load.buffer), buffer_defined(b->u.load.buffer)) &&
               a->u.load.buffer->rank == b->u.load.buffer->rank && a->hint == b->hint &&
               same_exprs(m, a->u.load.index, b->u.load.index, a->u.load.buffer->rank);
    case EX_CALL:
        return a->u.call.call == b->u.call.call &&
               same_exprs(m, a->u.call.arg, b->u.call.arg, call_info(a->u.call.call)->arity);
    default: return same_exprs(m, a->u.arg, b->u.arg, expr_arity(a->kind));
    }
}

bool expr_equal(const Expr *a, const Expr *b)
{
    return same_expr(NULL, a, b);
}

bool exprs_equal(Expr *const *a, Expr *const *b, int n)
{
    return same_exprs(NULL, a, b, n);
}

/* ---- definitions ----------------------------------------------------------------------------- */

static bool same_var(const Var *a, const Var *b)
{
    return same_text(a->name, b->name) && a->type == b->type && a->kind == b->kind;
}

static AxisLayout layout_of(const Buffer *buffer, int axis)
{
    return buffer->layout ? buffer->layout[axis] : (AxisLayout){0};
}

bool swizzle_equal(const Swizzle *x, const Swizzle *y)
{
    return x->by == y->by && x->chunk == y->chunk && x->count == y->count && x->every == y->every;
}

static bool same_layout(const Buffer *a, const Buffer *b)
{
    for (int i = 0; i < a->rank; i++) {
        AxisLayout x = layout_of(a, i), y = layout_of(b, i);
        if (x.pad != y.pad || x.align_factor != y.align_factor ||
            x.align_offset != y.align_offset || x.fold != y.fold || x.choose_pad != y.choose_pad ||
            x.choose_swizzle != y.choose_swizzle || !swizzle_equal(&x.swizzle, &y.swizzle))
            return false;
    }
    return true;
}

static bool same_buffer(const Match *m, const Buffer *a, const Buffer *b)
{
    return same_text(a->name, b->name) && a->type == b->type && a->rank == b->rank &&
           a->scope == b->scope && a->role == b->role && a->digits.sums == b->digits.sums &&
           a->digits.products == b->digits.products && same_exprs(m, a->shape, b->shape, a->rank) &&
           same_layout(a, b) && !a->copy_of == !b->copy_of &&
           (!a->copy_of || same_text(a->copy_of->name, b->copy_of->name));
}

static bool same_annotation_value(const Annotation *x, const Annotation *y)
{
    if (x->kind != y->kind)
        return false;
    switch (x->kind) {
    case ANNOTATION_INT: return x->i == y->i;
    case ANNOTATION_FLOAT: return memcmp(&x->f, &y->f, sizeof x->f) == 0;
    case ANNOTATION_STRING: return same_text(x->string, y->string);
    case ANNOTATION_LIST: break;
    }
    for (int i = 0; x->n_list == y->n_list && i < x->n_list; i++)
        if (!same_annotation_value(&x->list[i], &y->list[i]))
            return false;
    return x->n_list == y->n_list;
}

static bool same_annotations(AnnotationList a, AnnotationList b)
{
    if (a.n != b.n)
        return false;
    for (int i = 0; i < a.n; i++) {
        const Annotation *x = &a.items[i], *y = &b.items[i];
        if (!same_text(x->key, y->key) || !same_annotation_value(x, y))
            return false;
    }
    return true;
}

/* ---- combiners ------------------------------------------------------------------------------- */

static bool same_values(const Match *m, const Combiner *a, const Combiner *b)
{
    for (int k = 0; k < a->n; k++)
        if (!same_expr(m, a->parts[k].value, b->parts[k].value))
            return false;
    return same_exprs(m, a->conditions, b->conditions, a->n_conditions);
}

/* Named values from `at` on, then what is combined. */
static bool same_lets(const Match *m, const Combiner *a, const Combiner *b, int at)
{
    if (at == a->n_lets)
        return same_values(m, a, b);
    Match own = {a->lets[at].var, b->lets[at].var, m};
    return same_expr(m, a->lets[at].value, b->lets[at].value) && same_lets(&own, a, b, at + 1);
}

/* Components from `at` on, then what uses them. */
static bool same_parts(const Match *m, const Combiner *a, const Combiner *b, int at)
{
    if (at == a->n)
        return same_lets(m, a, b, 0);
    const CombinerPart *x = &a->parts[at], *y = &b->parts[at];
    Match self = {x->self, y->self, m}, left = {x->a, y->a, &self}, right = {x->b, y->b, &left};
    return same_text(x->name, y->name) && x->type == y->type &&
           same_expr(m, x->identity, y->identity) && same_parts(&right, a, b, at + 1);
}

bool combiner_equal(const Combiner *a, const Combiner *b)
{
    return a == b || (same_text(a->name, b->name) && a->n == b->n && a->ordered == b->ordered &&
                      a->n_lets == b->n_lets && a->n_conditions == b->n_conditions &&
                      same_parts(NULL, a, b, 0));
}

/* ---- statements ------------------------------------------------------------------------------ */

static bool same_stmt(const Match *m, const Stmt *a, const Stmt *b);

/* Items from `at` on; a temp or let matches for the rest of them. */
static bool same_items(const Match *m, const Stmt *a, const Stmt *b, int at)
{
    for (; at < a->u.seq.n; at++) {
        const Stmt *x = a->u.seq.items[at], *y = b->u.seq.items[at];
        if (!same_stmt(m, x, y))
            return false;
        if (x->kind == ST_TEMP || x->kind == ST_LET) {
            bool temp = x->kind == ST_TEMP;
            Match own = {temp ? (const void *)x->u.temp : x->u.let.var,
                         temp ? (const void *)y->u.temp : y->u.let.var, m};
            return same_items(&own, a, b, at + 1);
        }
    }
    return true;
}

static bool same_element(const Match *m, const Stmt *a, const Stmt *b)
{
    const Buffer *x = a->u.store.buffer, *y = b->u.store.buffer;
    return matches(m, buffer_defined(x), buffer_defined(y)) && x->rank == y->rank &&
           same_exprs(m, a->u.store.index, b->u.store.index, x->rank);
}

/* Updates of tuples are alike in their combiner, targets and values, whatever else their text does
 * not show. */
static bool same_update(const Match *m, const Stmt *a, const Stmt *b)
{
    const Combiner *combiner = a->u.seq.combiner;
    if (!combiner_equal(combiner, b->u.seq.combiner))
        return false;
    Stmt *const *x = a->u.seq.items, *const *y = b->u.seq.items;
    int last_x = a->u.seq.n - combiner->n, last_y = b->u.seq.n - combiner->n;
    for (int k = 0; k < combiner->n; k++)
        if (!same_expr(m, x[k]->u.let.value, y[k]->u.let.value) ||
            !same_element(m, x[last_x + k], y[last_y + k]))
            return false;
    return true;
}

static bool same_seq(const Match *m, const Stmt *a, const Stmt *b)
{
    if (a->u.seq.combiner || b->u.seq.combiner)
        return a->u.seq.combiner && b->u.seq.combiner && same_update(m, a, b);
    return a->u.seq.n == b->u.seq.n && same_items(m, a, b, 0);
}

static bool same_for(const Match *m, const ForStmt *a, const ForStmt *b)
{
    Match own = {a->var, b->var, m};
    return same_var(a->var, b->var) && same_expr(m, a->lo, b->lo) && same_expr(m, a->hi, b->hi) &&
           a->step == b->step && a->kind == b->kind && a->axis == b->axis &&
           same_annotations(a->annotations, b->annotations) && same_stmt(&own, a->body, b->body);
}

/* Iterators from `at` on, then what is inside the block. */
static bool same_iters(const Match *m, const BlockStmt *a, const BlockStmt *b, int at)
{
    if (at == a->n_iters)
        return same_stmt(m, a->init, b->init) && same_stmt(m, a->body, b->body);
    const BlockIter *x = &a->iters[at], *y = &b->iters[at];
    Match own = {x->var, y->var, m};
    return same_var(x->var, y->var) && x->kind == y->kind && same_expr(m, x->lo, y->lo) &&
           same_expr(m, x->hi, y->hi) && same_iters(&own, a, b, at + 1);
}

static bool same_instruction(const Instruction *a, const Instruction *b)
{
    return !a || !b ? a == b : instruction_equal(a, b);
}

static bool same_block(const Match *m, const BlockStmt *a, const BlockStmt *b)
{
    if (!same_text(a->name, b->name) || a->n_iters != b->n_iters || a->atomic != b->atomic ||
        !same_instruction(a->instruction, b->instruction) ||
        !same_expr(m, a->predicate, b->predicate) ||
        !same_annotations(a->annotations, b->annotations))
        return false;
    for (int i = 0; i < a->n_iters; i++)
        if (!same_expr(m, a->iters[i].binding, b->iters[i].binding))
            return false;
    return same_iters(m, a, b, 0);
}

static bool same_store(const Match *m, const Stmt *a, const Stmt *b)
{
    return matches(m, buffer_defined(a->u.store.buffer), buffer_defined(b->u.store.buffer)) &&
           a->u.store.op == b->u.store.op && a->u.store.atomic == b->u.store.atomic &&
           a->u.store.hint == b->u.store.hint &&
           a->u.store.buffer->rank == b->u.store.buffer->rank &&
           same_exprs(m, a->u.store.index, b->u.store.index, a->u.store.buffer->rank) &&
           same_expr(m, a->u.store.value, b->u.store.value);
}

static bool same_launch(const Match *m, const LaunchStmt *a, const LaunchStmt *b)
{
    return same_text(a->name, b->name) && same_exprs(m, a->grid, b->grid, 3) &&
           memcmp(a->block, b->block, sizeof a->block) == 0 && a->cluster == b->cluster &&
           a->min_blocks == b->min_blocks && same_stmt(m, a->body, b->body);
}

static bool same_stmt(const Match *m, const Stmt *a, const Stmt *b)
{
    if (!a || !b)
        return a == b;
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case ST_SEQ: return same_seq(m, a, b);
    case ST_FOR: return same_for(m, &a->u.loop, &b->u.loop);
    case ST_IF:
        return same_expr(m, a->u.cond.cond, b->u.cond.cond) &&
               same_stmt(m, a->u.cond.then, b->u.cond.then) &&
               same_stmt(m, a->u.cond.otherwise, b->u.cond.otherwise);
    case ST_BLOCK: return same_block(m, &a->u.block, &b->u.block);
    case ST_STORE: return same_store(m, a, b);
    case ST_TEMP: return same_buffer(m, a->u.temp, b->u.temp);
    case ST_LET:
        return same_var(a->u.let.var, b->u.let.var) && same_expr(m, a->u.let.value, b->u.let.value);
    case ST_BARRIER:
        return a->u.barrier.kind == b->u.barrier.kind &&
               a->u.barrier.pending == b->u.barrier.pending &&
               same_instruction(a->u.barrier.of, b->u.barrier.of) &&
               same_text(a->u.barrier.why, b->u.barrier.why);
    case ST_BREAK: return true;
    case ST_ROLES:
        return a->u.roles.turn == b->u.roles.turn &&
               same_stmt(m, a->u.roles.producer, b->u.roles.producer) &&
               same_stmt(m, a->u.roles.consumers, b->u.roles.consumers);
    case ST_LAUNCH: return same_launch(m, &a->u.launch, &b->u.launch);
    case ST_INSTRUCTION:
        return same_instruction(a->u.instruction.of, b->u.instruction.of) &&
               same_exprs(m, a->u.instruction.elements, b->u.instruction.elements,
                          a->u.instruction.of->n_elements) &&
               same_stmt(m, a->u.instruction.body, b->u.instruction.body);
    }
    return false;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static bool same_subject(const Match *m, const Param *a, const Param *b)
{
    return matches(m, a->buffer, b->buffer) && matches(m, a->scalar, b->scalar);
}

static bool same_fact(const Match *m, const Fact *a, const Fact *b)
{
    return a->kind == b->kind && a->excludes_lo == b->excludes_lo &&
           a->excludes_hi == b->excludes_hi && a->order == b->order &&
           same_subject(m, &a->subject, &b->subject) && same_expr(m, a->cond, b->cond) &&
           same_expr(m, a->lo, b->lo) && same_expr(m, a->hi, b->hi);
}

static bool same_facts(const Match *m, const Kernel *a, const Kernel *b)
{
    for (int i = 0; i < a->n_facts; i++)
        if (!same_fact(m, &a->facts[i], &b->facts[i]))
            return false;
    return true;
}

static bool same_params(const Match *m, const Kernel *a, const Kernel *b, int at)
{
    if (at == a->n_params)
        return same_facts(m, a, b) && same_stmt(m, a->body, b->body);
    const Param *x = &a->params[at], *y = &b->params[at];
    if (!x->buffer != !y->buffer)
        return false;
    bool same = x->buffer ? same_buffer(m, x->buffer, y->buffer) : same_var(x->scalar, y->scalar);
    Match own = {x->buffer ? (const void *)x->buffer : x->scalar,
                 y->buffer ? (const void *)y->buffer : y->scalar, m};
    return same && same_params(&own, a, b, at + 1);
}

static bool same_sizes(const Match *m, const Kernel *a, const Kernel *b, int at)
{
    if (at == a->n_sizes)
        return same_params(m, a, b, 0);
    const Size *x = &a->sizes[at], *y = &b->sizes[at];
    if (!same_text(x->name, y->name) || x->symbolic != y->symbolic ||
        (!x->symbolic && x->value != y->value))
        return false;
    if (!x->var || !y->var)
        return same_sizes(m, a, b, at + 1);
    Match own = {x->var, y->var, m};
    return same_sizes(&own, a, b, at + 1);
}

bool kernel_equal(const Kernel *a, const Kernel *b)
{
    return same_text(a->name, b->name) && a->n_sizes == b->n_sizes && a->n_params == b->n_params &&
           a->n_outputs == b->n_outputs && a->n_facts == b->n_facts && same_sizes(NULL, a, b, 0);
}

static bool same_operand(const Operand *a, const Operand *b)
{
    bool same = a->has_scope == b->has_scope && (!a->has_scope || a->scope == b->scope) &&
                a->align == b->align && a->in_runs == b->in_runs && a->proxy == b->proxy &&
                a->swizzled == b->swizzled && swizzle_equal(&a->swizzle, &b->swizzle);
    for (int d = 0; same && d < a->buffer->rank; d++)
        same = a->strides[d] == b->strides[d];
    return same;
}

bool instruction_equal(const Instruction *a, const Instruction *b)
{
    if (a == b)
        return true;
    if (a->bulk || b->bulk)
        return a->bulk == b->bulk && a->multicast == b->multicast && a->stores == b->stores;
    bool same_tensor = a->passes == b->passes && (a->passes == 0 || a->tensor == b->tensor);
    if (a->lanes != b->lanes || !same_tensor || a->n_lines != b->n_lines ||
        a->n_operands != b->n_operands || !kernel_equal(a->kernel, b->kernel))
        return false;
    for (int i = 0; i < a->n_operands; i++)
        if (!same_operand(&a->operands[i], &b->operands[i]))
            return false;
    for (int i = 0; i < a->n_lines; i++)
        if (strcmp(a->lines[i], b->lines[i]) != 0)
            return false;
    if (!same_text(a->commit, b->commit) || !same_text(a->wait, b->wait))
        return false;
    return true;
}
