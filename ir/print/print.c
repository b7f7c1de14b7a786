/* print.c - Prints kernels and statements as .tir text (docs/language.md) that parses back to an
 * equal kernel.
 *
 * What the reader would fill in is left out: a block that is what a plain statement stands for
 * (implied.c) prints as that statement, and loops that nest without anything between them share one
 * `for`.  The one trap is the reader's own step in the other direction: it makes one reduction
 * block of a store and an update of the same element in loops of its own.  Where two blocks would
 * be taken for that, the first is printed as a block.  So is one in a loop between elements that
 * exist under an `if` alone: the reader would take the loop for the body of a block. */
#include "ir/instruction.h"
#include "ir/print/print_internal.h"

#include <inttypes.h>
#include <string.h>

#include "ir/implied.h"

enum { LINE_MAX_COLUMNS = 100, INDENT = PRINT_INDENT };

typedef struct {
    Context *ctx;
    StrBuf *out;
    VEC(const ForStmt *) loops; /* around the statement, outermost first */
    PrivateTemps temps;         /* all that are declared above, in the order of the text */
    bool direct;                /* in a block or at the lowered level: stores are just stores */
    const Stmt *spelt_out;      /* a block that must not print as a plain statement, or NULL */
    const Stmt *guard;          /* the outermost `if` around the statement, or NULL, */
    int guarded;                /* and the number of loops around it */
} Printer;

static void print_statement(Printer *p, const Stmt *s, int indent);
static void print_rest(Printer *p, const Stmt *s, int indent);
static void print_braced(Printer *p, const Stmt *s, int indent);

/* ---- lines ----------------------------------------------------------------------------------- */

static void start_line(Printer *p, int indent)
{
    for (int i = 0; i < indent; i++)
        strbuf_addc(p->out, ' ');
}

static int column(const Printer *p)
{
    size_t at = p->out->length;
    while (at > 0 && p->out->text[at - 1] != '\n')
        at--;
    return (int)(p->out->length - at);
}

/* Where to break text[0, n): behind the last ", " that is not inside brackets of a list's item, or
 * 0. */
static size_t break_point(const char *text, size_t n)
{
    size_t best = 0;
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i + 1 < n; i++) {
        if (text[i] == '"' && (i == 0 || text[i - 1] != '\\'))
            quoted = !quoted;
        if (quoted)
            continue;
        depth += (text[i] == '(' || text[i] == '[') - (text[i] == ')' || text[i] == ']');
        if (text[i] == ',' && text[i + 1] == ' ' && depth <= 1)
            best = i + 2;
    }
    return best;
}

/* Adds a header, broken into lines that are continued two levels further in. */
static void add_wrapped(Printer *p, const char *text, int indent)
{
    for (;;) {
        size_t room = LINE_MAX_COLUMNS - 2;
        int used = column(p);
        room = (size_t)used < room ? room - (size_t)used : 1;
        size_t at = strlen(text) > room ? break_point(text, room) : 0;
        if (at == 0) {
            strbuf_add(p->out, text);
            return;
        }
        strbuf_addn(p->out, text, at - 1);
        strbuf_addc(p->out, '\n');
        start_line(p, indent + 2 * INDENT);
        text += at;
    }
}

void print_string(const char *text, StrBuf *out)
{
    strbuf_addc(out, '"');
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\')
            strbuf_addf(out, "\\%c", byte);
        else if (byte == '\n')
            strbuf_add(out, "\\n");
        else if (byte < 0x20 || byte == 0x7f)
            strbuf_addf(out, "\\x%02x", byte);
        else
            strbuf_addc(out, (char)byte);
    }
    strbuf_addc(out, '"');
}

static void add_annotation_value(StrBuf *out, const Annotation *a)
{
    switch (a->kind) {
    case ANNOTATION_INT: strbuf_addf(out, "%" PRId64, a->i); return;
    case ANNOTATION_FLOAT: print_float(DT_F64, a->f, out); return;
    case ANNOTATION_STRING: print_string(a->string, out); return;
    case ANNOTATION_LIST:
        strbuf_addc(out, '[');
        for (int i = 0; i < a->n_list; i++) {
            strbuf_add(out, i ? ", " : "");
            add_annotation_value(out, &a->list[i]);
        }
        strbuf_addc(out, ']');
        return;
    }
}

static void add_annotations(StrBuf *out, AnnotationList list)
{
    for (int i = 0; i < list.n; i++) {
        const Annotation *a = &list.items[i];
        strbuf_addf(out, " @%s(", a->key);
        add_annotation_value(out, a);
        strbuf_addc(out, ')');
    }
}

/* ---- plain statements ------------------------------------------------------------------------ */

/* Of iterator `var` of loop number `i` around the body of a block. */
static IterKind implied_kind(const Printer *p, const Stmt *body, int i, const Var *var)
{
    return i < block_private_loops(body, &p->temps) ? ITER_SPATIAL
                                                    : block_implied_kind(p->ctx, body, var);
}

static bool same_iter(const Printer *p, const BlockStmt *block, int i, const Subst *map)
{
    const BlockIter *iter = &block->iters[i];
    const ForStmt *loop = p->loops.items[i];
    if (strcmp(iter->var->name, loop->var->name) != 0 || !expr_is_var(iter->binding, loop->var) ||
        iter->kind != implied_kind(p, block->body, i, iter->var))
        return false;
    Expr *lo, *hi;
    loop_domain(p->ctx, loop, &lo, &hi);
    return expr_equal(expr_subst(p->ctx, lo, map, i), iter->lo) &&
           expr_equal(expr_subst(p->ctx, hi, map, i), iter->hi);
}

/* Whether a plain statement behind the lets in front of `store` would get these lets: it gets the
 * values that it uses, and none that would be written out. */
static bool has_plain_values(Context *c, const Stmt *body)
{
    int n = stmt_lets(body) + 1;
    for (int k = 0; k < n - 1; k++) {
        const Stmt *let = body->u.seq.items[k];
        bool used = false;
        for (int i = k + 1; i < n && !used; i++)
            used = stmt_uses_var(c, body->u.seq.items[i], let->u.let.var);
        if (!used || value_is_inline(let->u.let.value))
            return false;
    }
    return true;
}

static bool is_plain_body(const Stmt *body)
{
    return body->kind == ST_STORE ? !body->u.store.atomic
                                  : body->kind == ST_SEQ && body->u.seq.combiner;
}

static bool is_plain_init(const BlockStmt *block)
{
    const Stmt *init = block->init, *body = stmt_behind_values(block->body);
    if (!stmt_is_reduction(block))
        return false;
    if (body->kind == ST_SEQ)
        return true;
    return init->kind == ST_STORE && init->u.store.op == STORE_SET && !init->u.store.atomic &&
           init->u.store.buffer == body->u.store.buffer;
}

/* A loop under an `if` has a range that data decide. */
static bool data_are_guarded(const Printer *p)
{
    for (int i = p->guard ? p->guarded : p->loops.n; i < p->loops.n; i++)
        if (expr_has_load(p->loops.items[i]->lo) || expr_has_load(p->loops.items[i]->hi))
            return true;
    return false;
}

/* Whether the block is what the plain statement of its body would stand for here. */
static bool is_plain(const Printer *p, const Stmt *s)
{
    const BlockStmt *block = &s->u.block;
    const Stmt *body = stmt_behind_values(block->body), *init = block->init;
    if (body && body->kind == ST_STORE && store_as_update(p->ctx, (Stmt *)body) != body)
        return false;
    if (s == p->spelt_out || block->predicate || block->atomic || block->instruction ||
        block->annotations.n > 0 || block->n_iters != p->loops.n || !body || !is_plain_body(body) ||
        !has_plain_values(p->ctx, block->body) || data_are_guarded(p))
        return false;
    if (init && !is_plain_init(block))
        return false;
    Subst *map = ARENA_ARRAY(p->ctx->arena, Subst, block->n_iters);
    for (int i = 0; i < block->n_iters; i++) {
        if (!same_iter(p, block, i, map))
            return false;
        Var *var = block->iters[i].var;
        map[i] = (Subst){p->loops.items[i]->var, expr_var(p->ctx, var, var->span)};
    }
    return true;
}

static bool has_default_name(const Printer *p, const BlockStmt *block)
{
    Name name = block_implied_name(p->ctx, block->body);
    return name && strcmp(name, block->name) == 0;
}

static bool updates(Context *c, const Stmt *s, const Buffer *buffer)
{
    for (Cursor at = cursor_stmts(c, s); cursor_next(&at);)
        if (at.stmt->kind == ST_STORE && at.stmt->u.store.op != STORE_SET &&
            at.stmt->u.store.buffer == buffer)
            return true;
    return false;
}

/* Whether seq item i, a plain `=`, and an update in a loop behind it would be read as one
 * reduction. */
static bool would_fuse(Context *c, const Stmt *seq, int i)
{
    const Stmt *s = seq->u.seq.items[i];
    const Stmt *store =
        s->kind == ST_BLOCK && !s->u.block.init ? stmt_single_store(s->u.block.body) : NULL;
    if (!store || store->u.store.op != STORE_SET)
        return false;
    for (int j = i + 1; j < seq->u.seq.n; j++)
        if (seq->u.seq.items[j]->kind == ST_FOR &&
            updates(c, seq->u.seq.items[j], store->u.store.buffer))
            return true;
    return false;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* A statement of several: one with lets of its own has braces of its own. */
static void print_item(Printer *p, const Stmt *s, int indent)
{
    bool valued = s->kind == ST_BLOCK && stmt_lets(s->u.block.body) > 0 && is_plain(p, s) &&
                  has_default_name(p, &s->u.block);
    if (!valued) {
        print_statement(p, s, indent);
        return;
    }
    start_line(p, indent);
    print_braced(p, s, indent);
}

static void print_items(Printer *p, const Stmt *s, int indent)
{
    if (s->kind != ST_SEQ || s->u.seq.combiner) {
        print_statement(p, s, indent);
        return;
    }
    for (int i = 0; i < s->u.seq.n; i++) {
        if (!p->direct && would_fuse(p->ctx, s, i))
            p->spelt_out = s->u.seq.items[i];
        print_item(p, s->u.seq.items[i], indent);
    }
}

/* `{`, the statements, `}` and the end of the line. */
static void print_braced(Printer *p, const Stmt *s, int indent)
{
    strbuf_add(p->out, "{\n");
    print_items(p, s, indent + INDENT);
    start_line(p, indent);
    strbuf_add(p->out, "}\n");
}

/* More or less than one statement in text, or one that would reach beyond its braces. */
static bool needs_braces(const Printer *p, const Stmt *s)
{
    switch (s->kind) {
    case ST_SEQ: return !s->u.seq.combiner;
    case ST_TEMP:
    case ST_LET: return true;
    case ST_BLOCK:
        return (s->u.block.init || stmt_lets(s->u.block.body) > 0) && is_plain(p, s) &&
               has_default_name(p, &s->u.block);
    case ST_FOR:
    case ST_IF:
    case ST_STORE:
    case ST_BARRIER:
    case ST_BREAK:
    case ST_ROLES:
    case ST_LAUNCH:
    case ST_INSTRUCTION: return false;
    }
    return false;
}

/* The body of what stands on this line. */
static void print_body(Printer *p, const Stmt *s, int indent)
{
    if (needs_braces(p, s)) {
        strbuf_addc(p->out, ' ');
        print_braced(p, s, indent);
    } else {
        strbuf_addc(p->out, '\n');
        print_statement(p, s, indent + INDENT);
    }
}

/* ---- statements ------------------------------------------------------------------------------ */

static void add_loop(StrBuf *out, const ForStmt *loop)
{
    strbuf_addf(out, "%s in ", loop->var->name);
    print_range(loop->lo, loop->hi, loop->step < 0 ? RANGE_DOWN : RANGE_UP, out);
    if (loop->step != 1)
        strbuf_addf(out, " step %" PRId64, loop->step);
    if (loop->kind == LOOP_BIND)
        strbuf_addf(out, " bind %s", axis_name(loop->axis));
    else if (loop->kind != LOOP_SERIAL && loop->kind != LOOP_BREAKS)
        strbuf_addf(out, " %s", loop_kind_name(loop->kind));
    add_annotations(out, loop->annotations);
}

static bool is_simple_loop(const Stmt *s)
{
    return s->kind == ST_FOR && s->u.loop.kind == LOOP_SERIAL && s->u.loop.annotations.n == 0;
}

static void print_while(Printer *p, const ForStmt *loop, int indent)
{
    WhileParts parts = while_parts(loop);
    strbuf_add(p->out, "while ");
    if (parts.cond)
        print_value(parts.cond, DT_COUNT, p->out);
    else
        strbuf_add(p->out, "true");
    print_body(p, parts.body, indent);
}

/* A loop, and the simple loops directly in it as far as the line reaches. */
static void print_for(Printer *p, const Stmt *s, int indent)
{
    if (loop_is_while(&s->u.loop)) {
        print_while(p, &s->u.loop, indent);
        return;
    }
    int outside = p->loops.n;
    strbuf_add(p->out, "for ");
    add_loop(p->out, &s->u.loop);
    VEC_PUSH(p->ctx->arena, &p->loops, &s->u.loop);
    while (is_simple_loop(s) && is_simple_loop(s->u.loop.body)) {
        StrBuf next = strbuf_new(p->ctx->arena);
        strbuf_add(&next, ", ");
        add_loop(&next, &s->u.loop.body->u.loop);
        if ((size_t)column(p) + next.length + 2 > LINE_MAX_COLUMNS)
            break;
        strbuf_add(p->out, next.text);
        s = s->u.loop.body;
        VEC_PUSH(p->ctx->arena, &p->loops, &s->u.loop);
    }
    print_body(p, s->u.loop.body, indent);
    p->loops.n = outside;
}

/* Whether an `else` after the text of `s` would be taken by an `if` in it. */
static bool takes_else(const Stmt *s)
{
    if (s->kind == ST_FOR)
        return takes_else(loop_is_while(&s->u.loop) ? while_parts(&s->u.loop).body
                                                    : s->u.loop.body);
    return s->kind == ST_IF && (!s->u.cond.otherwise || takes_else(s->u.cond.otherwise));
}

static void print_if(Printer *p, const Stmt *s, int indent)
{
    const Stmt *then = s->u.cond.then, *otherwise = s->u.cond.otherwise;
    strbuf_add(p->out, "if ");
    print_value(s->u.cond.cond, DT_COUNT, p->out);
    if (otherwise && takes_else(then)) {
        strbuf_addc(p->out, ' ');
        print_braced(p, then, indent);
    } else {
        print_body(p, then, indent);
    }
    if (!otherwise)
        return;
    start_line(p, indent);
    strbuf_add(p->out, "else");
    if (otherwise->kind == ST_IF) {
        strbuf_addc(p->out, ' ');
        print_rest(p, otherwise, indent);
    } else {
        print_body(p, otherwise, indent);
    }
}

static void print_guarded(Printer *p, const Stmt *s, int indent)
{
    const Stmt *guard = p->guard;
    if (!guard) {
        p->guard = s;
        p->guarded = p->loops.n;
    }
    print_if(p, s, indent);
    p->guard = guard;
}

static const char *op_token(const Stmt *s)
{
    bool truth = s->u.store.buffer->type == DT_BOOL;
    if (truth && s->u.store.op == STORE_AND)
        return "&&=";
    return truth && s->u.store.op == STORE_OR ? "||=" : store_op_token(s->u.store.op);
}

static void print_store(Printer *p, const Stmt *s)
{
    const Buffer *buffer = s->u.store.buffer;
    strbuf_add(p->out, buffer->name);
    print_hint(s->u.store.hint, p->out);
    print_indices(s->u.store.index, buffer->rank, p->out);
    strbuf_addf(p->out, " %s%s ", s->u.store.atomic ? "atomic " : "", op_token(s));
    print_stored(s->u.store.value, buffer->type, p->out);
    strbuf_add(p->out, ";\n");
}

static void print_let(Printer *p, const Stmt *s)
{
    strbuf_addf(p->out, "let %s = ", s->u.let.var->name);
    print_value(s->u.let.value, DT_COUNT, p->out);
    strbuf_add(p->out, ";\n");
}

/* x[i], y[i] argmax= (e1, e2); */
static void print_update(Printer *p, const Stmt *s)
{
    TupleUpdate update;
    StrBuf text = strbuf_new(p->ctx->arena);
    if (!tuple_update_of(p->ctx, s, &update))
        TIRC_BUG(p->ctx, "an update with reducer '%s' is not of its form", s->u.seq.combiner->name);
    int n = update.combiner->n;
    for (int k = 0; k < n; k++) {
        const BufferElement *target = &update.targets[k];
        strbuf_addf(&text, "%s%s", k ? ", " : "", target->buffer->name);
        print_indices(target->index, target->buffer->rank, &text);
    }
    strbuf_addf(&text, " %s= %s", update.combiner->name, n > 1 ? "(" : "");
    for (int k = 0; k < n; k++) {
        strbuf_add(&text, k ? ", " : "");
        print_value(update.values[k], update.combiner->parts[k].type, &text);
    }
    strbuf_addf(p->out, "%s%s;\n", text.text, n > 1 ? ")" : "");
}

static void print_init(Printer *p, const Stmt *init, int indent)
{
    strbuf_add(p->out, "init ");
    if (needs_braces(p, init))
        print_braced(p, init, indent);
    else
        print_rest(p, init, indent);
}

/* The lines of a plain block: its lets, its init, its store; the first is already indented. */
static void print_plain(Printer *p, const BlockStmt *block, int indent)
{
    const Stmt *body = block->body;
    for (int i = 0; i < stmt_lets(body); i++) {
        print_let(p, body->u.seq.items[i]);
        start_line(p, indent);
    }
    if (block->init) {
        print_init(p, block->init, indent);
        start_line(p, indent);
    }
    print_rest(p, stmt_behind_values(body), indent);
}

static void print_plain_block(Printer *p, const BlockStmt *block, int indent)
{
    bool labelled = !has_default_name(p, block);
    if (labelled)
        strbuf_addf(p->out, "%s: ", block->name);
    if (!labelled || (!block->init && stmt_lets(block->body) == 0)) {
        print_plain(p, block, indent);
        return;
    }
    strbuf_add(p->out, "{\n");
    start_line(p, indent + INDENT);
    print_plain(p, block, indent + INDENT);
    start_line(p, indent);
    strbuf_add(p->out, "}\n");
}

static const char *block_header(Printer *p, const BlockStmt *block)
{
    StrBuf text = strbuf_new(p->ctx->arena);
    strbuf_addf(&text, "block %s(", block->name);
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        strbuf_addf(&text, "%s%s%s in ", i ? ", " : "", iter->kind == ITER_REDUCE ? "reduce " : "",
                    iter->var->name);
        print_range(iter->lo, iter->hi, RANGE_UP, &text);
        strbuf_add(&text, " = ");
        print_index(iter->binding, &text);
    }
    strbuf_addc(&text, ')');
    if (block->predicate) {
        strbuf_add(&text, " where ");
        print_value(block->predicate, DT_COUNT, &text);
    }
    strbuf_add(&text, block->atomic ? " atomic" : "");
    if (block->instruction)
        strbuf_addf(&text, " instruction %s", block->instruction->kernel->name);
    add_annotations(&text, block->annotations);
    strbuf_addc(&text, ' ');
    return text.text;
}

static void print_block(Printer *p, const Stmt *s, int indent)
{
    const BlockStmt *block = &s->u.block;
    if (is_plain(p, s)) {
        print_plain_block(p, block, indent);
        return;
    }
    add_wrapped(p, block_header(p, block), indent);
    bool outside = p->direct;
    p->direct = true;
    strbuf_add(p->out, "{\n");
    if (block->init) {
        start_line(p, indent + INDENT);
        print_init(p, block->init, indent + INDENT);
    }
    print_items(p, block->body, indent + INDENT);
    start_line(p, indent);
    strbuf_add(p->out, "}\n");
    p->direct = outside;
}

void print_type(const Buffer *buffer, StrBuf *out)
{
    strbuf_addf(out, "%s: %s", buffer->name, type_info(buffer->type)->name);
    print_indices(buffer->shape, buffer->rank, out);
}

void print_digits(const Buffer *buffer, StrBuf *out)
{
    if (buffer->digits.sums)
        strbuf_addf(out, " sum_digits(%d)", buffer->digits.sums);
    if (buffer->digits.products)
        strbuf_addf(out, " product_digits(%d)", buffer->digits.products);
}

static void print_temp(Printer *p, const Buffer *buffer)
{
    strbuf_add(p->out, "temp ");
    print_type(buffer, p->out);
    if (buffer->scope != SCOPE_GLOBAL)
        strbuf_addf(p->out, " in %s", scope_name(buffer->scope));
    print_digits(buffer, p->out);
    if (buffer->copy_of)
        strbuf_addf(p->out, " of(%s)", buffer->copy_of->name);
    for (int i = 0; buffer->layout && i < buffer->rank; i++) {
        const AxisLayout *axis = &buffer->layout[i];
        const Swizzle *s = &axis->swizzle;
        if (axis->choose_pad)
            strbuf_addf(p->out, " pad(%d, auto)", i);
        if (axis->pad)
            strbuf_addf(p->out, " pad(%d, %" PRId64 ")", i, axis->pad);
        if (axis->choose_swizzle)
            strbuf_addf(p->out, " swizzle(%d, auto)", i);
        if (s->chunk)
            strbuf_addf(p->out, " swizzle(%d, %d, %" PRId64 ", %" PRId64 ", %" PRId64 ")", i, s->by,
                        s->chunk, s->count, s->every);
        if (axis->align_factor)
            strbuf_addf(p->out, " align(%d, %" PRId64 ", %" PRId64 ")", i, axis->align_factor,
                        axis->align_offset);
        if (axis->fold)
            strbuf_addf(p->out, " fold(%d, %" PRId64 ")", i, axis->fold);
    }
    strbuf_add(p->out, ";\n");
}

static void print_launch(Printer *p, const LaunchStmt *launch, int indent)
{
    bool outside = p->direct;
    strbuf_addf(p->out, "launch %s grid(", launch->name);
    for (int i = 0; i < 3; i++) {
        strbuf_add(p->out, i ? ", " : "");
        print_value(launch->grid[i], DT_INDEX, p->out);
    }
    strbuf_addf(p->out, ") block(%" PRId64 ", %" PRId64 ", %" PRId64 ") ", launch->block[0],
                launch->block[1], launch->block[2]);
    if (launch->cluster)
        strbuf_addf(p->out, "@cluster(%" PRId64 ") ", launch->cluster);
    if (launch->min_blocks)
        strbuf_addf(p->out, "@min_blocks(%" PRId64 ") ", launch->min_blocks);
    p->direct = true;
    print_braced(p, launch->body, indent);
    p->direct = outside;
}

/* instruction NAME(a[0], b[0]) { what it computes } */
static void print_instruction(Printer *p, const Stmt *s, int indent)
{
    const Instruction *of = s->u.instruction.of;
    StrBuf text = strbuf_new(p->ctx->arena);
    strbuf_addf(&text, "instruction %s(", of->kernel->name);
    for (int i = 0; i < of->n_elements; i++) {
        strbuf_add(&text, i ? ", " : "");
        print_value(s->u.instruction.elements[i], DT_COUNT, &text);
    }
    strbuf_add(&text, ") ");
    add_wrapped(p, text.text, indent);
    print_braced(p, s->u.instruction.body, indent);
}

/* `wait 1 "all copies but those of the last group";` */
static void print_sync(Printer *p, const Stmt *s)
{
    static const char *const words[] = {
        [SYNC_THREADS] = "barrier", [SYNC_WARPGROUP] = "barrier",
        [SYNC_WARP] = "barrier",    [SYNC_CLUSTER] = "barrier",
        [SYNC_COMMIT] = "commit",   [SYNC_WAIT] = "wait",
        [SYNC_ACQUIRE] = "acquire", [SYNC_RECEIVE] = "receive",
        [SYNC_RELEASE] = "release", [SYNC_RELEASE_CLUSTER] = "release",
    };
    SyncKind kind = s->u.barrier.kind;
    strbuf_add(p->out, words[kind]);
    strbuf_addc(p->out, ' ');
    if (sync_counts(kind))
        strbuf_addf(p->out, "%d ", s->u.barrier.pending);
    print_string(s->u.barrier.why, p->out);
    if (kind == SYNC_CLUSTER || kind == SYNC_RELEASE_CLUSTER)
        strbuf_add(p->out, " cluster");
    if (sync_is_part(kind))
        strbuf_addf(p->out, " %s", sync_word(kind));
    if (s->u.barrier.of)
        strbuf_addf(p->out, " instruction %s", s->u.barrier.of->kernel->name);
    strbuf_add(p->out, ";\n");
}

/* producer { what it does } consumers { what they do } */
static void print_roles(Printer *p, const Stmt *s, int indent)
{
    strbuf_add(p->out, "producer {\n");
    print_items(p, s->u.roles.producer, indent + INDENT);
    start_line(p, indent);
    strbuf_add(p->out, "} consumers ");
    if (s->u.roles.turn)
        strbuf_addf(p->out, "turn %d ", s->u.roles.turn);
    print_braced(p, s->u.roles.consumers, indent);
}

/* The statement, on a line that is already indented or begun. */
static void print_rest(Printer *p, const Stmt *s, int indent)
{
    switch (s->kind) {
    case ST_SEQ:
        if (s->u.seq.combiner)
            print_update(p, s);
        else
            print_braced(p, s, indent);
        return;
    case ST_FOR: print_for(p, s, indent); return;
    case ST_IF: print_guarded(p, s, indent); return;
    case ST_BLOCK: print_block(p, s, indent); return;
    case ST_STORE: print_store(p, s); return;
    case ST_TEMP:
        VEC_PUSH(p->ctx->arena, &p->temps, ((PrivateTemp){s->u.temp, p->loops.n}));
        print_temp(p, s->u.temp);
        return;
    case ST_LET: print_let(p, s); return;
    case ST_BARRIER: print_sync(p, s); return;
    case ST_ROLES: print_roles(p, s, indent); return;
    case ST_BREAK: strbuf_add(p->out, "break;\n"); return;
    case ST_LAUNCH: print_launch(p, &s->u.launch, indent); return;
    case ST_INSTRUCTION: print_instruction(p, s, indent); return;
    }
}

static void print_statement(Printer *p, const Stmt *s, int indent)
{
    start_line(p, indent);
    print_rest(p, s, indent);
}

void print_stmt(Context *c, const Stmt *s, int indent, StrBuf *out)
{
    Printer p = {.ctx = c, .out = out};
    print_items(&p, s, indent);
}

/* ---- for print_kernel.c ---------------------------------------------------------------------- */

void print_wrapped(const char *text, int indent, StrBuf *out)
{
    add_wrapped(&(Printer){.out = out}, text, indent);
}

void print_kernel_body(Context *c, const Kernel *kernel, StrBuf *out)
{
    Printer p = {.ctx = c, .out = out, .direct = kernel_level(c, kernel) == LEVEL_LOWERED};
    strbuf_add(out, "\n{\n");
    print_items(&p, kernel->body, INDENT);
    strbuf_add(out, "}\n");
}
