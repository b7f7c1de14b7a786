/* instruction.c - Resolves `instruction` declarations: their operands, what they compute, and the
 * CUDA text that they stand for.
 *
 *   instruction dp4a_i8(a: i8[4] align(4), b: i8[4] align(4), inout c: i32)
 *       cuda "{c} = __dp4a({a: int}, {b: int}, {c});"
 *   {
 *       for k in 4
 *           c += i32(a[k]) * i32(b[k]);
 *   }
 *
 * The body is that of a kernel without sizes, whose parameters are the operands. It is kept a
 * second time as loops over stores, with which blocks are compared (passes/shared/unify.h).
 *
 * An instruction with parameters, `mma<T: type, N>(...)`, is resolved once for each list of
 * arguments. The result has none: it is what a declaration with these values in their places is. */
#include <ctype.h>
#include <string.h>

#include "frontend/resolve/internal.h"
#include "passes/lower/lower.h"
#include "passes/shared/unify.h"

/* Arrays in shared memory begin at any multiple; others at those of the widest access. */
enum { MOST_ALIGN = 16, MOST_SHARED_ALIGN = 1024 };

typedef struct {
    Resolver r; /* of the declaration: it sees no kernel */
    const AstInstruction *ast;
    const SizeOverride *arguments; /* of its parameters */
    int n_arguments;
    Instruction *out;
    VEC(TemplatePiece) pieces;
    VEC(OperandElement) elements;
} Declaration;

/* ---- operands -------------------------------------------------------------------------------- */

static const AstOperand *operand_ast(const Declaration *d, int i)
{
    int n = d->ast->n_operands;
    return i < n ? &d->ast->operands[i] : &d->ast->outputs[i - n];
}

static int operand_count(const Declaration *d)
{
    return d->ast->n_operands + d->ast->n_outputs;
}

/* `lane`, in the body of an instruction of a warp: a number without a value, as a size is. The
 * parameters of the instruction follow. */
static const AstSize *body_sizes(Declaration *d)
{
    AstSize *sizes = ARENA_ARRAY(d->r.ctx->arena, AstSize, d->ast->n_sizes + 1);
    AstName lane = {.text = ctx_name(d->r.ctx, "lane"), .span = d->ast->lanes_span};
    int n = 0;
    if (d->out->lanes > 1)
        sizes[n++] = (AstSize){.name = lane, .span = d->ast->lanes_span};
    for (int i = 0; i < d->ast->n_sizes; i++)
        sizes[n++] = d->ast->sizes[i];
    return sizes;
}

/* NAME_bf16_128: as printed programs call the instruction with these arguments. */
static AstName full_name(const Declaration *d)
{
    Context *c = d->r.ctx;
    StrBuf text = strbuf_new(c->arena);
    strbuf_add(&text, d->ast->name.text);
    for (int i = 0; i < d->n_arguments; i++) {
        const SizeOverride *a = &d->arguments[i];
        if (a->kind == SIZE_TYPE)
            strbuf_addf(&text, "_%s", type_info(a->type)->name);
        else
            strbuf_addf(&text, "_%lld", (long long)a->value);
    }
    return (AstName){.text = ctx_name(c, text.text), .span = d->ast->name.span};
}

static const AstKernel *body_kernel(Declaration *d)
{
    Arena *arena = d->r.ctx->arena;
    const AstInstruction *ast = d->ast;
    AstParam *params = ARENA_ARRAY(arena, AstParam, operand_count(d) + 1);
    AstKernel *kernel = ARENA_NEW(arena, AstKernel);
    for (int i = 0; i < operand_count(d); i++) {
        params[i] = operand_ast(d, i)->param;
        params[i].n_clauses = 0; /* resolve_operand reads them */
    }
    *kernel = (AstKernel){.name = full_name(d),
                          .span = ast->span,
                          .sizes = body_sizes(d),
                          .n_sizes = ast->n_sizes + (d->out->lanes > 1),
                          .params = params,
                          .n_params = ast->n_operands,
                          .outputs = params + ast->n_operands,
                          .n_outputs = ast->n_outputs,
                          .facts = ast->facts,
                          .n_facts = ast->n_facts,
                          .body = ast->body,
                          .functions = ast->functions,
                          .reducers = ast->reducers,
                          .n_reducers = ast->n_reducers};
    return kernel;
}

static bool resolve_align(Declaration *d, const AstLayout *clause, Operand *out)
{
    int bytes = type_bytes(out->buffer->type);
    int64_t most = out->has_scope && out->scope == SCOPE_SHARED ? MOST_SHARED_ALIGN : MOST_ALIGN;
    bool good =
        clause->n == 1 && resolve_literal(&d->r, clause->args[0], "an alignment", &out->align);
    if (!good && clause->n == 1)
        return false;
    if (good && out->align >= bytes && out->align <= most && !(out->align & (out->align - 1)))
        return true;
    diag_error(d->r.ctx, E0248, clause->span,
               "align takes one number of bytes: a power of two from %d, which '%.60s' has anyway, "
               "to %lld",
               bytes, out->buffer->name, (long long)most);
    return false;
}

/* The rows that choose how chunks change places, and these chunks, are whole. */
static bool check_swizzle(Declaration *d, const AstLayout *clause, const Operand *out)
{
    int64_t extent = 0;
    const Swizzle *s = &out->swizzle;
    const char *wrong = swizzle_error(d->r.ctx, out->buffer, out->swizzled, s);
    if (!wrong && expr_is_const(out->buffer->shape[out->swizzled], &extent) &&
        extent > s->chunk * s->count)
        wrong = arena_printf(
            d->r.ctx->arena, "axis %d of '%s' has %lld elements, but only %lld change places",
            out->swizzled, out->buffer->name, (long long)extent, (long long)(s->chunk * s->count));
    if (wrong)
        diag_error(d->r.ctx, E0248, clause->span, "%s", wrong);
    return !wrong;
}

static bool resolve_swizzle(Declaration *d, const AstLayout *clause, Operand *out)
{
    int64_t v[5] = {0};
    int rank = out->buffer->rank;
    bool good = clause->n == 5 && !out->swizzle.chunk && !out->in_runs;
    if (clause->n == 1 && clause->args[0]->kind == AE_FILL && !out->swizzle.chunk)
        return out->in_runs = true;
    for (int k = 0; good && k < clause->n; k++)
        if (!resolve_literal(&d->r, clause->args[k], "a number of a layout", &v[k]))
            return false;
    if (!good || v[0] < 0 || v[0] >= rank) {
        diag_error(d->r.ctx, E0248, clause->span,
                   "swizzle stands once and takes five numbers, (axis, by, chunk, count, every), "
                   "the first below the %d axes of '%.60s', or _ for any",
                   rank, out->buffer->name);
        return false;
    }
    out->swizzled = (int)v[0];
    out->swizzle = (Swizzle){
        .by = v[1] < rank ? (int)v[1] : rank, .chunk = v[2], .count = v[3], .every = v[4]};
    return check_swizzle(d, clause, out);
}

/* Along some axis, elements are neighbours in whole runs of `align` bytes. */
static bool check_runs(Declaration *d, const Operand *out)
{
    const Buffer *buffer = out->buffer;
    bool good = !out->in_runs;
    for (int k = 0; k < buffer->rank && !good; k++) {
        int64_t extent;
        good = out->has_scope && out->scope == SCOPE_SHARED && out->strides[k] == 1 &&
               expr_is_const(buffer->shape[k], &extent) &&
               extent * type_bytes(buffer->type) % out->align == 0;
    }
    if (!good)
        diag_error(d->r.ctx, E0248, buffer->span,
                   "swizzle(_) says that runs of align(bytes) lie anywhere `in shared`, so an axis "
                   "of '%.60s' with a stride of 1 has an extent of whole runs",
                   buffer->name);
    return good;
}

static bool resolve_proxy(Declaration *d, const AstLayout *clause, Operand *out)
{
    const AstExpr *word = clause->n == 1 ? clause->args[0] : NULL;
    bool good = word && word->kind == AE_NAME && !strcmp(word->u.name, "async") && out->has_scope &&
                out->scope == SCOPE_SHARED;
    out->proxy = good ? PROXY_ASYNC : PROXY_GENERIC;
    if (!good)
        diag_error(d->r.ctx, E0248, clause->span,
                   "proxy(async) says that an operand `in shared` is read through the "
                   "asynchronous proxy; without it, accesses are those of threads");
    return good;
}

static bool resolve_sums(Declaration *d, const AstLayout *clause, Operand *out)
{
    bool good = out->buffer->role != ROLE_IN;
    if (!good)
        diag_error(
            d->r.ctx, E0248, clause->span,
            "sum_digits says how an instruction adds to an operand, and '%.60s' is only read",
            out->buffer->name);
    return good && resolve_digits(&d->r, clause, out->buffer);
}

static bool resolve_strides(Declaration *d, const AstLayout *clause, int64_t *strides,
                            const Buffer *buffer)
{
    bool good = clause->n == buffer->rank;
    if (!good)
        diag_error(d->r.ctx, E0248, clause->span,
                   "strides takes a number, or _ for any, for each of the %d axes of '%.60s'; "
                   "found %d",
                   buffer->rank, buffer->name, clause->n);
    for (int k = 0; good && k < clause->n; k++) {
        strides[k] = STRIDE_ANY;
        if (clause->args[k]->kind == AE_FILL)
            continue;
        good = resolve_literal(&d->r, clause->args[k], "a stride", &strides[k]);
        if (good && strides[k] < 1) {
            diag_error(d->r.ctx, E0248, clause->args[k]->span,
                       "a stride is at least 1, or _ for any; found %lld", (long long)strides[k]);
            good = false;
        }
    }
    return good;
}

static bool resolve_scope(Declaration *d, AstName name, Operand *out)
{
    if (!name.text)
        return true;
    out->has_scope = true;
    out->scope = scope_find(name.text);
    if (out->scope != SCOPE_COUNT && (out->scope != SCOPE_WARP || d->ast->lanes > 1))
        return true;
    diag_error(
        d->r.ctx, E0248, name.span,
        "there is no scope '%.60s'; an operand lies in global, shared, local or constant, or of "
        "several lanes in warp, or anywhere if nothing is written",
        name.text);
    return false;
}

static bool resolve_operand(Declaration *d, int i, Operand *out)
{
    const AstOperand *ast = operand_ast(d, i);
    const Buffer *buffer = out->buffer;
    int64_t *strides = ARENA_ARRAY(d->r.ctx->arena, int64_t, buffer->rank + 1);
    for (int k = 0; k < buffer->rank; k++)
        strides[k] = k + 1 < buffer->rank ? STRIDE_ANY : 1;
    out->strides = strides;
    out->align = type_bytes(buffer->type);
    bool good = resolve_scope(d, ast->scope, out);
    for (int k = 0; k < ast->param.n_clauses; k++) {
        const AstLayout *clause = &ast->param.clauses[k];
        if (!strcmp(clause->name.text, "align"))
            good = resolve_align(d, clause, out) && good;
        else if (!strcmp(clause->name.text, "strides"))
            good = resolve_strides(d, clause, strides, buffer) && good;
        else if (!strcmp(clause->name.text, "swizzle"))
            good = resolve_swizzle(d, clause, out) && good;
        else if (!strcmp(clause->name.text, "proxy"))
            good = resolve_proxy(d, clause, out) && good;
        else if (!strcmp(clause->name.text, "sum_digits"))
            good = resolve_sums(d, clause, out) && good;
        else {
            diag_error(d->r.ctx, E0248, clause->name.span,
                       "an operand has no clause '%.60s'; there are align(bytes), strides(...), "
                       "swizzle(...), proxy(async) and sum_digits(n)",
                       clause->name.text);
            good = false;
        }
    }
    return good && check_runs(d, out);
}

static bool resolve_operands(Declaration *d)
{
    const Kernel *kernel = d->out->kernel;
    Operand *operands = ARENA_ARRAY(d->r.ctx->arena, Operand, operand_count(d) + 1);
    bool good = true;
    for (int i = 0; good && i < kernel->n_params; i++) {
        good = kernel->params[i].buffer != NULL;
        if (!good) {
            const Var *scalar = kernel->params[i].scalar;
            diag_error(d->r.ctx, E0248, scalar->span,
                       "operand '%.60s' has no elements in memory; give it a shape, as in "
                       "%.60s: %s[1]",
                       scalar->name, scalar->name, type_info(scalar->type)->name);
            return false;
        }
        operands[i].buffer = kernel->params[i].buffer;
        good = resolve_operand(d, i, &operands[i]);
    }
    d->out->operands = operands;
    d->out->n_operands = kernel->n_params;
    return good;
}

/* ---- the body -------------------------------------------------------------------------------- */

/* The statements of a block in terms of the loops around it. */
static Stmt *dissolve(Rewriter *r, Stmt *s)
{
    if (s->kind != ST_BLOCK)
        return s;
    const BlockStmt *block = &s->u.block;
    Subst *map = ARENA_ARRAY(r->ctx->arena, Subst, block->n_iters + 1);
    for (int i = 0; i < block->n_iters; i++)
        map[i] = (Subst){block->iters[i].var, block->iters[i].binding};
    return stmt_subst(r->ctx, block->body, map, block->n_iters);
}

static bool refuse_body(Declaration *d, Span span, const char *what)
{
    diag_error(d->r.ctx, E0248, span,
               "the body of instruction '%.60s' has %s; it consists of loops over numbers, "
               "conditions and stores to the operands",
               d->ast->name.text, what);
    return false;
}

static bool check_body(Declaration *d)
{
    for (Cursor at = cursor_stmts(d->r.ctx, d->out->body); cursor_next(&at);) {
        const Stmt *s = at.stmt;
        int64_t extent;
        if (s->kind == ST_TEMP)
            return refuse_body(d, s->span, "a temporary");
        if (s->kind == ST_SEQ && s->u.seq.combiner)
            return refuse_body(d, s->span, "an update with a reducer");
        if (s->kind == ST_FOR && (!loop_const_extent(&s->u.loop, &extent) || s->u.loop.step != 1))
            return refuse_body(d, s->span, "a loop whose range is not of literals in steps of 1");
    }
    return true;
}

/* Some access goes along the axis alone by a loop, or by lanes: it tells how elements of the axis
 * lie. */
static bool has_own_step(Declaration *d, const Buffer *buffer, int axis)
{
    Facts *facts = facts_new(d->r.ctx);
    AxisStep of = {
        .rank = buffer->rank, .axis = axis, .lane = d->out->lane, .lanes = d->out->lanes};
    for (Cursor at = cursor_stmt(d->r.ctx, d->out->body); cursor_next(&at);) {
        bool loads = at.expr && at.expr->kind == EX_LOAD && at.expr->u.load.buffer == buffer;
        bool stores = at.stmt && at.stmt->kind == ST_STORE && at.stmt->u.store.buffer == buffer;
        of.index = loads ? at.expr->u.load.index : stores ? at.stmt->u.store.index : NULL;
        if (of.index && operand_axis_step(d->r.ctx, facts, &of))
            return true;
    }
    return false;
}

static bool check_axes(Declaration *d)
{
    for (int i = 0; i < d->out->n_operands; i++) {
        const Buffer *buffer = d->out->operands[i].buffer;
        for (int k = 0; k < buffer->rank; k++) {
            int64_t extent;
            if (expr_is_const(buffer->shape[k], &extent) &&
                (extent == 1 || has_own_step(d, buffer, k)))
                continue;
            diag_error(d->r.ctx, E0248, buffer->span,
                       "no access of '%.60s' has a loop of its own in subscript %d; write what the "
                       "instruction computes with a loop over each axis",
                       buffer->name, k);
            return false;
        }
    }
    return true;
}

/* What the body computes for these arguments. They are no part of the result, but names for
 * clauses and the template. */
static bool resolve_body_kernel(Declaration *d)
{
    const InstructionList none = {0};
    const AstKernel *ast = body_kernel(d);
    Kernel scratch = {0};
    Kernel *kernel = resolve_kernel_with(d->r.ctx, ast, &none, d->arguments, d->n_arguments);
    d->out->kernel = kernel;
    if (!kernel || !resolve_sizes(&d->r, ast, d->arguments, d->n_arguments, &scratch))
        return false;
    kernel->n_sizes = d->out->lanes > 1;
    d->out->lane = d->out->lanes > 1 ? kernel->sizes[0].var : NULL;
    if (kernel->n_facts == 0)
        return true;
    diag_error(d->r.ctx, E0248, kernel->facts[0].span,
               "a condition of an instruction is about its parameters alone: nothing is known of "
               "its operands");
    return false;
}

static bool resolve_computation(Declaration *d)
{
    Context *c = d->r.ctx;
    if (!resolve_body_kernel(d))
        return false;
    const Kernel *plain = sequential_kernel(c, d->out->kernel);
    if (!plain)
        return false;
    d->out->body = rewrite_stmt(&(Rewriter){.ctx = c, .stmt = dissolve}, plain->body);
    return check_body(d);
}

/* ---- the template ---------------------------------------------------------------------------- */

static bool refuse_piece(Declaration *d, const AstExpr *line, const char *format, const char *word,
                         const char *rest)
{
    const char *why = arena_printf(d->r.ctx->arena, format, word, rest);
    diag_error(d->r.ctx, E0249, line->span, "%s", why);
    return false;
}

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

static int find_operand(const Declaration *d, const char *name)
{
    for (int i = 0; i < d->out->n_operands; i++)
        if (!strcmp(d->out->operands[i].buffer->name, name))
            return i;
    return -1;
}

static bool unknown_operand(Declaration *d, const AstExpr *line, const char *name)
{
    const char **names = ARENA_ARRAY(d->r.ctx->arena, const char *, d->out->n_operands + 1);
    for (int i = 0; i < d->out->n_operands; i++)
        names[i] = d->out->operands[i].buffer->name;
    const char *near = diag_suggest(name, names, d->out->n_operands);
    return refuse_piece(d, line,
                        near ? "there is no operand '%.60s'; did you mean '%.60s'?"
                             : "there is no operand '%.60s'; a brace in front of a letter "
                               "begins the name of one, so write a blank between them%s",
                        name, near ? near : "");
}

static Expr **first_element(Context *c, const Buffer *buffer)
{
    Expr **at = ARENA_ARRAY(c->arena, Expr *, buffer->rank + 1);
    for (int i = 0; i < buffer->rank; i++)
        at[i] = expr_index(c, 0);
    return at;
}

/* Number of the element of an operand, counted anew if it is. */
static int add_element(Declaration *d, OperandElement element)
{
    int rank = d->out->operands[element.operand].buffer->rank;
    for (int i = 0; i < d->elements.n; i++) {
        const OperandElement *known = &d->elements.items[i];
        bool same = known->operand == element.operand;
        for (int k = 0; same && k < rank; k++)
            same = expr_equal(known->at[k], element.at[k]);
        if (same)
            return i;
    }
    VEC_PUSH(d->r.ctx->arena, &d->elements, element);
    return d->elements.n - 1;
}

/* [1, 2] behind an operand's name, up to what follows; NULL after an error. */
static const char *read_subscripts(Declaration *d, const AstExpr *line, const char *at, int operand,
                                   Expr **out)
{
    const Buffer *buffer = d->out->operands[operand].buffer;
    const char *behind = element_subscripts(d->r.ctx, d->out, buffer, at, out);
    if (behind)
        return skip_blanks(behind);
    refuse_piece(
        d, line,
        "the subscripts of '%.60s' are numbers, one for each axis and below its extent, or "
        "made of numbers and `lane` by + * / %%%s",
        buffer->name, "");
    return NULL;
}

/* ` - a` behind `{a[1, 0]`: what follows, with the piece a distance from the first element; `at`
 * itself where something else follows. */
static const char *read_distance(Declaration *d, const char *at, int operand, TemplatePiece *piece)
{
    const char *name = d->out->operands[operand].buffer->name;
    size_t length = strlen(name);
    const char *from = *at == '-' ? skip_blanks(at + 1) : at;
    if (from == at || strncmp(from, name, length) != 0 || *skip_blanks(from + length) != '}')
        return at;
    const Buffer *buffer = d->out->operands[operand].buffer;
    piece->kind = PIECE_DISTANCE;
    piece->first = add_element(d, (OperandElement){operand, first_element(d->r.ctx, buffer)});
    return skip_blanks(from + length);
}

/* The placeholder behind the brace at `at`; what follows it, or NULL after an error. */
static const char *read_placeholder(Declaration *d, const AstExpr *line, const char *at)
{
    Arena *arena = d->r.ctx->arena;
    const char *begin = ++at;
    while (isalnum((unsigned char)*at) || *at == '_')
        at++;
    const char *name = arena_strndup(arena, begin, (size_t)(at - begin));
    int operand = find_operand(d, name);
    if (operand < 0) {
        unknown_operand(d, line, name);
        return NULL;
    }
    const Buffer *buffer = d->out->operands[operand].buffer;
    Expr **index = first_element(d->r.ctx, buffer);
    TemplatePiece piece = {.kind = buffer->rank ? PIECE_ADDRESS : PIECE_ELEMENT};
    at = skip_blanks(at);
    if (*at == '[') {
        piece.kind = PIECE_ELEMENT;
        if (!(at = read_subscripts(d, line, at, operand, index)))
            return NULL;
        at = read_distance(d, at, operand, &piece);
    }
    if (*at == ':' && piece.kind != PIECE_DISTANCE) {
        begin = at = skip_blanks(at + 1);
        while (*at && *at != '}')
            at++;
        piece.kind = PIECE_WIDE;
        piece.text = arena_strndup(arena, begin, (size_t)(at - begin));
    }
    if (*at != '}' || (piece.kind == PIECE_WIDE && !*piece.text)) {
        refuse_piece(d, line,
                     "'{%.60s' is not closed; write {%s}, {NAME[0]}, {NAME: int} for its bytes "
                     "as a type of CUDA's, or {NAME[1] - NAME} for a distance",
                     name, name);
        return NULL;
    }
    piece.element = add_element(d, (OperandElement){operand, index});
    VEC_PUSH(arena, &d->pieces, piece);
    return at + 1;
}

static bool starts_name(const char *at)
{
    return isalpha((unsigned char)*at) || *at == '_';
}

static bool read_line(Declaration *d, const AstExpr *line, const char *text)
{
    Arena *arena = d->r.ctx->arena;
    while (*text) {
        const char *at = text;
        while (*at && !(*at == '{' && starts_name(at + 1)))
            at++;
        if (at > text) {
            TemplatePiece piece = {.kind = PIECE_TEXT,
                                   .text = arena_strndup(arena, text, (size_t)(at - text))};
            VEC_PUSH(arena, &d->pieces, piece);
        }
        if (*at && !(at = read_placeholder(d, line, at)))
            return false;
        text = at;
    }
    return true;
}

static bool check_written(Declaration *d)
{
    for (int i = 0; i < d->out->n_operands; i++) {
        bool named = false;
        for (int k = 0; k < d->elements.n; k++)
            named |= d->elements.items[k].operand == i;
        if (!named)
            return refuse_piece(d, d->ast->template[0].texts[0],
                                "the template does not name operand '%.60s'; write {%s} where it "
                                "belongs",
                                d->out->operands[i].buffer->name, d->out->operands[i].buffer->name);
    }
    return true;
}

static bool is_one_line(const AstExpr *line)
{
    const char *text = line->u.string.text;
    return strlen(text) == line->u.string.length && !strpbrk(text, "\n\r");
}

static bool resolve_template(Declaration *d)
{
    Context *c = d->r.ctx;
    TemplateLineList all = {0};
    if (!template_lines(&d->r, d->ast, &all))
        return false;
    const char **lines = ARENA_ARRAY(c->arena, const char *, all.n);
    for (int i = 0; i < all.n; i++) {
        lines[i] = all.items[i].text;
        if (i > 0) {
            TemplatePiece next = {.kind = PIECE_TEXT, .text = "\n"};
            VEC_PUSH(c->arena, &d->pieces, next);
        }
        if (!read_line(d, all.items[i].from, lines[i]))
            return false;
    }
    d->out->lines = lines;
    d->out->n_lines = all.n;
    d->out->pieces = d->pieces.items;
    d->out->n_pieces = d->pieces.n;
    d->out->elements = d->elements.items;
    d->out->n_elements = d->elements.n;
    return check_written(d);
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* What an execution under way writes stays in registers, which the text of a wait passes on. Of
 * registers that it reads, those of all lanes are waited for before they change. */
static bool check_async_operands(Declaration *d)
{
    for (int i = 0; i < d->out->n_operands; i++) {
        const Operand *operand = &d->out->operands[i];
        DType type = operand->buffer->type;
        bool local = operand->scope == SCOPE_LOCAL, read = operand->buffer->role == ROLE_IN;
        bool in_registers = type == DT_F32 || type == DT_I32 || type == DT_U32 || type == DT_F64;
        if (read ? !local : local && in_registers)
            continue;
        diag_error(
            d->r.ctx, E0248, operand->buffer->span,
            "an instruction that is waited for reads operands `in shared`, `in global` or "
            "`in warp`, and writes elements of f32, f64, i32 or u32 `in local`, each a register; "
            "'%.60s' is %s %s `in %s`",
            operand->buffer->name, read ? "read," : "written,", type_info(type)->name,
            scope_name(operand->scope));
        return false;
    }
    return true;
}

/* commit "..." wait "... {pending} ...", both or none. */
static bool resolve_waiting(Declaration *d)
{
    const AstExpr *commit = d->ast->commit, *wait = d->ast->wait;
    if (!commit && !wait)
        return true;
    const AstExpr *at = wait ? wait : commit;
    const char *mark = wait ? strstr(wait->u.string.text, PENDING_MARK) : NULL;
    if (!commit || !mark || d->out->lanes == 1 || !is_one_line(commit) || !is_one_line(wait)) {
        diag_error(d->r.ctx, E0248, at->span,
                   "the executions of an instruction of several lanes go on behind its text if it "
                   "has both clauses: commit \"...\", the text that makes a group of them, and "
                   "wait \"...\", which waits for all groups but the " PENDING_MARK
                   " latest; each is one line");
        return false;
    }
    d->out->commit = commit->u.string.text;
    d->out->wait = wait->u.string.text;
    return check_async_operands(d);
}

/* ---- declarations ---------------------------------------------------------------------------- */

static bool check_lanes(Declaration *d)
{
    const AstTensor *tensor = &d->ast->tensor;
    d->out->lanes = (int64_t)d->ast->lanes;
    if (d->ast->lanes == 1 && tensor->type.text) {
        diag_error(d->r.ctx, E0248, tensor->span,
                   "tensor cores execute instructions of a warp or a warpgroup, so tensor(TYPE) "
                   "stands behind `lanes 32` or `lanes 128`");
        return false;
    }
    if (d->ast->lanes == 1 || d->ast->lanes == LANES_WARP || d->ast->lanes == LANES_WARPGROUP)
        return true;
    diag_error(d->r.ctx, E0248, d->ast->lanes_span,
               "an instruction is run by one thread, without a `lanes` clause, by the threads of a "
               "warp, with `lanes 32`, or of a warpgroup, with `lanes 128`; found %llu",
               (unsigned long long)d->ast->lanes);
    return false;
}

enum { MOST_PASSES = 16 };

static bool resolve_tensor(Declaration *d)
{
    const AstTensor *ast = &d->ast->tensor;
    if (!ast->type.text)
        return true;
    d->out->tensor = resolve_type(&d->r, ast->type);
    d->out->passes = (int64_t)ast->passes;
    if (d->out->tensor == DT_COUNT)
        return false;
    if (d->out->tensor != DT_BOOL && ast->passes >= 1 && ast->passes <= MOST_PASSES)
        return true;
    diag_error(
        d->r.ctx, E0248, ast->span,
        "tensor(TYPE, PASSES) says of which type the elements are that tensor cores multiply, "
        "and in how many passes, 1 to %d; found %s in %llu",
        MOST_PASSES, type_info(d->out->tensor)->name, (unsigned long long)ast->passes);
    return false;
}

/* Operands of several lanes are registers of each thread, or memory of the block: what is written
 * is `in local` or `in shared`, what is read may also be `in global`, or `in warp`: registers of
 * all lanes. */
static bool check_warp_operands(Declaration *d)
{
    for (int i = 0; d->out->lanes > 1 && i < d->out->n_operands; i++) {
        const Operand *operand = &d->out->operands[i];
        bool written = operand->buffer->role != ROLE_IN;
        if (operand->has_scope &&
            (operand->scope == SCOPE_LOCAL || operand->scope == SCOPE_SHARED ||
             (!written && (operand->scope == SCOPE_GLOBAL || operand->scope == SCOPE_WARP))))
            continue;
        diag_error(d->r.ctx, E0248, operand->buffer->span,
                   "'%.60s' is %s by %lld threads together, so it is declared %s",
                   operand->buffer->name, written ? "written" : "read", (long long)d->out->lanes,
                   written ? "`in local`, registers of each thread, or `in shared`"
                           : "`in shared` or `in global`, or in registers: `in local`, those of "
                             "each thread, or `in warp`, those of all");
        return false;
    }
    return true;
}

/* The instruction that is declared, with these arguments for its parameters; those that are missing
 * have defaults. NULL after diagnostics. */
static const Instruction *resolve_instruction(Context *c, const AstInstruction *ast,
                                              const SizeOverride *arguments, int n)
{
    Declaration d = {.r = {.ctx = c, .mode = MODE_BLOCK},
                     .ast = ast,
                     .arguments = arguments,
                     .n_arguments = n,
                     .out = ARENA_NEW(c->arena, Instruction)};
    bool good = check_lanes(&d) && resolve_computation(&d) && resolve_tensor(&d) &&
                resolve_operands(&d) && check_warp_operands(&d) && check_axes(&d) &&
                resolve_template(&d) && resolve_waiting(&d);
    return good ? d.out : NULL;
}

static bool same_arguments(const InstructionCase *of, const SizeOverride *arguments, int n)
{
    bool same = of->n == n;
    for (int i = 0; same && i < n; i++) {
        const SizeOverride *a = &of->arguments[i], *b = &arguments[i];
        same = a->kind == SIZE_TYPE ? a->type == b->type : a->value == b->value;
    }
    return same;
}

const Instruction *instruction_case(Context *c, InstructionCases *known, const AstInstruction *ast,
                                    const SizeOverride *arguments, int n)
{
    for (int i = 0; i < known->n; i++)
        if (known->items[i].ast == ast && same_arguments(&known->items[i], arguments, n))
            return known->items[i].instruction;
    InstructionCase one = {ast, arguments, n, resolve_instruction(c, ast, arguments, n)};
    if (one.instruction)
        VEC_PUSH(c->arena, known, one);
    return one.instruction;
}

/* Those without parameters: a block that is written names no other. */
static bool resolve_instructions(Context *c, const AstKernel *k, InstructionList *out)
{
    const Instruction **all = ARENA_ARRAY(c->arena, const Instruction *, k->n_instructions + 1);
    int n = 0;
    for (int i = 0; i < k->n_instructions; i++) {
        const AstInstruction *ast = k->instructions[i];
        for (int j = 0; j < i; j++)
            if (k->instructions[j]->name.text == ast->name.text) {
                diag_error(c, E0248, ast->name.span, "instruction '%.60s' is declared twice",
                           ast->name.text);
                return false;
            }
        if (ast->n_sizes > 0)
            continue;
        all[n] = resolve_instruction(c, ast, NULL, 0);
        if (!all[n++])
            return false;
    }
    out->items = all;
    out->n = n;
    return true;
}

Kernel *resolve_kernel(Context *c, const AstKernel *kernel, const SizeOverride *overrides,
                       int n_overrides)
{
    InstructionList all = {.with_values = instruction_case};
    bool good = resolve_instructions(c, kernel, &all);
    Kernel *resolved = resolve_kernel_with(c, kernel, &all, overrides, n_overrides);
    return good ? resolved : NULL;
}
