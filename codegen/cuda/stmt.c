/* stmt.c - Emits statements as CUDA C, one line each, with the program's own names. */
#include "codegen/cuda/text.h"
#include "ir/copies/bulk_copy.h"
#include "ir/copies/roles.h"
#include "ir/implied.h"

#include <string.h>

/* ---- stores ---------------------------------------------------------------------------------- */

/* `x += -y` reads better as `x -= y`. */
static bool store_in_place(CudaWriter *w, const Stmt *s)
{
    const Buffer *buffer = s->u.store.buffer;
    if (type_info(buffer->type)->bits < 32 || s->u.store.hint != HINT_NONE ||
        (s->u.store.op != STORE_ADD && s->u.store.op != STORE_MUL))
        return false;
    if (cuda_overflows(w, stored_value(w->c, s)))
        return false;
    const Expr *value = s->u.store.value;
    const char *op = s->u.store.op == STORE_MUL ? "*=" : "+=";
    if (s->u.store.op == STORE_ADD && value->kind == EX_NEG) {
        op = "-=";
        value = value->u.arg[0];
    }
    cuda_element(w, buffer, s->u.store.index);
    strbuf_addf(w->out, " %s ", op);
    cuda_expr(w, value, 0);
    return true;
}

/* The function of CUDA that does the update atomically, or NULL. */
static const char *atomic_function(StoreOp op, DType type)
{
    bool word = type == DT_I32 || type == DT_U32 || type == DT_U64;
    switch (op) {
    case STORE_ADD: return word || type == DT_F32 || type == DT_F64 ? "atomicAdd" : NULL;
    case STORE_MIN: return word || type == DT_I64 ? "atomicMin" : NULL;
    case STORE_MAX: return word || type == DT_I64 ? "atomicMax" : NULL;
    case STORE_AND: return word ? "atomicAnd" : NULL;
    case STORE_OR: return word ? "atomicOr" : NULL;
    case STORE_XOR: return word ? "atomicXor" : NULL;
    default: return NULL;
    }
}

static Helper atomic_helper(DType type)
{
    if (type == DT_F32)
        return HELPER_ATOMIC_F32;
    if (type == DT_F64)
        return HELPER_ATOMIC_F64;
    return type_bytes(type) == 2 ? HELPER_ATOMIC_16 : HELPER_ATOMIC_WORD;
}

/* A 16-bit float is added as its bits. */
static void store_atomic(CudaWriter *w, const Stmt *s)
{
    DType type = s->u.store.buffer->type;
    const char *function = atomic_function(s->u.store.op, type);
    if (s->u.store.op == STORE_ADD && (type == DT_F16 || type == DT_BF16)) {
        Helper add = type == DT_F16 ? HELPER_ATOMIC_ADD_F16 : HELPER_ATOMIC_ADD_BF16;
        strbuf_addf(w->out, "%s(&", cuda_helper(w, add));
        cuda_element(w, s->u.store.buffer, s->u.store.index);
        strbuf_add(w->out, ", ");
        cuda_stored(w, s->u.store.value);
        strbuf_add(w->out, ")");
        return;
    }
    if (function) {
        strbuf_addf(w->out, "%s(&", function);
        cuda_element(w, s->u.store.buffer, s->u.store.index);
        strbuf_add(w->out, ", ");
        cuda_expr(w, s->u.store.value, 0);
        strbuf_add(w->out, ")");
        return;
    }
    Context *c = w->c;
    Name old = cuda_names_made(w->names, "text", "old");
    Buffer *stand_in = buffer_new(
        c,
        &(Buffer){
            .name = old, .type = type, .scope = SCOPE_LOCAL, .role = ROLE_TEMP, .span = s->span});
    Stmt *update = stmt_store(
        c, &(StoreStmt){.buffer = stand_in, .op = s->u.store.op, .value = s->u.store.value},
        s->span);
    strbuf_addf(w->out, "%s(&", cuda_helper(w, atomic_helper(type)));
    cuda_element(w, s->u.store.buffer, s->u.store.index);
    strbuf_addf(w->out, ", [=](%s %s) { return (%s)(", cuda_storage_type(type), old,
                cuda_storage_type(type));
    cuda_stored(w, stored_value(c, update));
    strbuf_add(w->out, "); })");
}

/* The function that stores to the element; NULL: an assignment does. */
static const char *store_function(CudaWriter *w, const StoreStmt *s)
{
    if (s->buffer->type == DT_U64 && w->use && stmt_awaits(w->c, w->use->launch, s->buffer))
        return cuda_helper(w, HELPER_PUBLISH);
    return cuda_hint_store(w, s->hint);
}

static void store_text(CudaWriter *w, const Stmt *s)
{
    if (s->u.store.atomic && s->u.store.op != STORE_SET) {
        store_atomic(w, s);
        return;
    }
    if (store_updates(s->u.store.op) && store_in_place(w, s))
        return;
    const char *function = store_function(w, &s->u.store);
    if (function)
        strbuf_addf(w->out, "%s(%s&", function,
                    s->u.store.buffer->type == DT_BOOL ? "(unsigned char *)" : "");
    cuda_element(w, s->u.store.buffer, s->u.store.index);
    strbuf_add(w->out, function ? ", " : " = ");
    cuda_stored(w, stored_value(w->c, s));
    strbuf_add(w->out, function ? ")" : "");
}

static void store(CudaWriter *w, const Stmt *s)
{
    if (cuda_async_store(w, s, NULL))
        return;
    cuda_indent(w);
    store_text(w, s);
    strbuf_add(w->out, ";\n");
}

/* ---- declarations ---------------------------------------------------------------------------- */

/* The bytes that the buffer's first element lies at a multiple of; 0: those of its type will do. */
static int64_t alignment(const CudaWriter *w, const Buffer *b)
{
    int64_t bytes = 0;
    for (int i = 0; i < w->wide.n; i++)
        if (w->wide.items[i]->id == b->id)
            bytes = 16;
    for (int i = 0; w->use && i < w->use->shared.n; i++)
        if (w->use->shared.items[i]->id == b->id && w->use->shared_align.items[i] > 16)
            bytes = w->use->shared_align.items[i];
    return bytes;
}

/* `float acc[4]`, `__shared__ float tile[32][33]`; a variable where there is one element. */
static void declaration(CudaWriter *w, const Buffer *b)
{
    if (b->scope != SCOPE_CONSTANT)
        strbuf_add(w->out, cuda_unused(w, b->id));
    if (b->scope == SCOPE_SHARED)
        strbuf_add(w->out, "__shared__ ");
    if (b->scope == SCOPE_CONSTANT)
        strbuf_add(w->out, "__constant__ ");
    if (alignment(w, b))
        strbuf_addf(w->out, "__align__(%lld) ", (long long)alignment(w, b));
    strbuf_addf(w->out, "%s %s", cuda_storage_type(b->type), cuda_buffer_name(w, b));
    if (cuda_is_variable(b))
        return;
    ArrayDims dims;
    if (!cuda_array_dims(w->c, b, &dims)) {
        int64_t elements, *strides = ARENA_ARRAY(w->c->arena, int64_t, b->rank + 1);
        buffer_strides(b, strides, &elements);
        strbuf_addf(w->out, "[%lld]", (long long)elements);
        return;
    }
    for (int i = 0; i < dims.n; i++)
        strbuf_addf(w->out, "[%lld]", (long long)dims.extent[i]);
}

/* An array of the host's reference, zeroed. */
static void host_temp(CudaWriter *w, const Buffer *b)
{
    const char *type = cuda_storage_type(b->type), *name = cuda_buffer_name(w, b);
    const char *data =
        cuda_names_made(w->names, "data", arena_printf(w->c->arena, "%s_data", name));
    cuda_indent(w);
    strbuf_addf(w->out, "std::vector<%s> %s(", b->type == DT_BOOL ? "unsigned char" : type, data);
    for (int i = 0; i < b->rank; i++) {
        strbuf_add(w->out, i ? " * (size_t)" : "(size_t)");
        cuda_expr(w, b->shape[i], 13);
    }
    strbuf_add(w->out, b->rank ? ");\n" : "1);\n");
    cuda_line(w, "%s%s *%s = (%s *)%s.data();", cuda_unused(w, b->id), type, name, type, data);
}

/* Is this the store that gives a variable its first value? */
static bool sets_first(CudaWriter *w, const Stmt *s, const Buffer *b)
{
    return s->kind == ST_STORE && s->u.store.buffer == b && s->u.store.op == STORE_SET &&
           !cursor_meets(cursor_expr(w->c, s->u.store.value), b);
}

/* Where a variable of one element gets its first value: the index of the store in `seq` that sets
 * the temp at `at`, with nothing between that names it. 0: it stands alone. */
static int first_value(CudaWriter *w, const Stmt *seq, int at)
{
    const Buffer *b = seq->u.seq.items[at]->u.temp;
    if (!cuda_is_variable(b))
        return 0;
    for (int i = at + 1; i < seq->u.seq.n; i++) {
        const Stmt *s = seq->u.seq.items[i];
        if (sets_first(w, s, b))
            return i;
        if (cursor_meets(cursor_stmt(w->c, s), b))
            return 0;
    }
    return 0;
}

/* Shared buffers stand at the top of their function; local ones where they begin. */
static void temp(CudaWriter *w, const Buffer *b)
{
    if (w->host) {
        host_temp(w, b);
    } else if (b->scope == SCOPE_LOCAL) {
        cuda_indent(w);
        declaration(w, b);
        strbuf_add(w->out, ";\n");
    }
}

/* A variable with its first value: `float acc = 0.0f;`. */
static void initialised(CudaWriter *w, const Stmt *store)
{
    Origin outer = cuda_mark(w, store->span, store->step);
    cuda_indent(w);
    declaration(w, store->u.store.buffer);
    strbuf_add(w->out, " = ");
    cuda_stored(w, store->u.store.value);
    strbuf_add(w->out, ";\n");
    cuda_mark(w, outer.span, outer.step);
}

void cuda_array_declaration(CudaWriter *w, const Buffer *b)
{
    cuda_indent(w);
    declaration(w, b);
    strbuf_add(w->out, ";\n");
}

/* The host's reference counts in 64 bits throughout. */
static const char *value_type(const CudaWriter *w, DType type)
{
    return w->host && type == DT_INDEX ? "long long" : cuda_value_type(type);
}

static void let(CudaWriter *w, const Stmt *s)
{
    const Var *v = s->u.let.var;
    cuda_note_let(w, s);
    cuda_indent(w);
    strbuf_addf(w->out, "%sconst %s %s = ", cuda_unused(w, v->id), value_type(w, v->type),
                cuda_name(w, v->name));
    if (s->u.let.value->kind == EX_AXIS)
        strbuf_add(w->out, axis_name(s->u.let.value->u.axis));
    else
        cuda_expr(w, s->u.let.value, 0);
    strbuf_add(w->out, ";\n");
}

/* ---- control --------------------------------------------------------------------------------- */

static bool is_one_line(const Stmt *s)
{
    return stmt_is_bulk_copy(s) || (s->kind == ST_INSTRUCTION && s->u.instruction.of->n_lines == 1);
}

static bool is_simple(const Stmt *s)
{
    return s->kind == ST_STORE || s->kind == ST_BREAK || is_one_line(s) ||
           (s->kind == ST_SEQ && s->u.seq.n == 1 && s->u.seq.items[0]->kind == ST_STORE);
}

/* What stands behind `if (...)`, without the brace that ends it. */
static void open_body(CudaWriter *w, const Stmt *s)
{
    strbuf_add(w->out, is_simple(s) ? "\n" : " {\n");
    w->indent++;
    w->in_braces = s->kind == ST_FOR || s->kind == ST_INSTRUCTION;
    cuda_statement(w, s);
    w->indent--;
}

static void body(CudaWriter *w, const Stmt *s)
{
    open_body(w, s);
    if (!is_simple(s))
        cuda_line(w, "}");
}

void cuda_loop_header(CudaWriter *w, const ForStmt *loop)
{
    const char *name = cuda_name(w, loop->var->name);
    cuda_indent(w);
    strbuf_addf(w->out, "for (%s %s = ", value_type(w, loop->var->type), name);
    cuda_expr(w, loop->lo, 0);
    strbuf_addf(w->out, "; %s %s ", name, loop->step > 0 ? "<" : ">=");
    cuda_expr(w, loop->hi, op_info(EX_LT)->precedence + 1);
    if (loop->step == 1 || loop->step == -1)
        strbuf_addf(w->out, "; %s%s)", loop->step == 1 ? "++" : "--", name);
    else
        strbuf_addf(w->out, "; %s %s %lld)", name, loop->step > 0 ? "+=" : "-=",
                    (long long)(loop->step > 0 ? loop->step : -loop->step));
}

static void while_loop(CudaWriter *w, const ForStmt *f)
{
    WhileParts parts = while_parts(f);
    cuda_indent(w);
    strbuf_add(w->out, "while (");
    if (parts.cond)
        cuda_expr(w, parts.cond, 0);
    else
        strbuf_add(w->out, "true");
    strbuf_add(w->out, ")");
    body(w, parts.body);
}

static void loop(CudaWriter *w, const ForStmt *f)
{
    bool in_braces = w->in_braces;
    w->in_braces = false;
    if (loop_is_while(f)) {
        while_loop(w, f);
        return;
    }
    if (f->kind == LOOP_VECTORIZE && cuda_vector_loop(w, f, in_braces))
        return;
    int64_t copies = w->host || f->kind != LOOP_SERIAL
                         ? 0
                         : annotation_int(f->annotations, ANNOTATION_UNROLL_HINT);
    if (f->kind == LOOP_UNROLL || f->kind == LOOP_VECTORIZE)
        cuda_line(w, "#pragma unroll");
    else if (copies > 0)
        cuda_line(w, "#pragma unroll %d", (int)copies);
    cuda_loop_header(w, f);
    body(w, f->body);
}

static void condition(CudaWriter *w, const Stmt *s)
{
    cuda_indent(w);
    strbuf_add(w->out, "if (");
    cuda_expr(w, s->u.cond.cond, 0);
    strbuf_add(w->out, ")");
    if (!s->u.cond.otherwise) {
        body(w, s->u.cond.then);
        return;
    }
    open_body(w, s->u.cond.then);
    cuda_indent(w);
    strbuf_add(w->out, is_simple(s->u.cond.then) ? "else" : "} else");
    body(w, s->u.cond.otherwise);
}

/* A buffer that an asynchronous instruction writes: waits pass it on until it goes out of scope. */
static void note_in_flight(CudaWriter *w, const Stmt *item)
{
    const LaunchUse *use = w->use;
    for (int i = 0; use && item->kind == ST_TEMP && i < use->in_flight.n; i++)
        if (use->in_flight.items[i]->id == item->u.temp->id)
            VEC_PUSH(w->c->arena, &w->in_flight, item->u.temp);
}

static void sequence(CudaWriter *w, const Stmt *s)
{
    int outside = w->in_flight.n;
    /* stores that declare their variable; never the first */
    bool *sets = ARENA_ARRAY(w->c->arena, bool, s->u.seq.n + 1);
    for (int i = 0; i < s->u.seq.n; i++) {
        const Stmt *item = s->u.seq.items[i];
        int value = item->kind == ST_TEMP && !w->host ? first_value(w, s, i) : 0;
        sets[value] = true;
        if (value == 0 && sets[i] && i > 0)
            initialised(w, item);
        else if (value == 0)
            cuda_statement(w, item);
        note_in_flight(w, item);
    }
    w->in_flight.n = outside;
}

/* A group has the bulk copies of the launch, and those that each thread makes itself. */
static void commit_text(CudaWriter *w, const char *why)
{
    if (w->role == WRITES_PRODUCER) {
        cuda_producer_commit(w, why);
        return;
    }
    if (w->use->threads_copy)
        cuda_line(w, "%s();  // %s", cuda_helper(w, HELPER_ASYNC_COMMIT), why);
    if (w->use->groups && !w->use->roles)
        cuda_bulk_commit(w, why);
}

static void wait_text(CudaWriter *w, int pending, const char *why)
{
    if (w->use->threads_copy)
        cuda_line(w, "%s<%d>();  // %s", cuda_helper(w, HELPER_ASYNC_WAIT), pending, why);
    if (w->use->groups && !w->use->roles)
        cuda_bulk_wait(w, pending, why);
}

/* The text of the wait with the number of groups in its place. */
static const char *awaited_text(CudaWriter *w, const Stmt *s)
{
    const char *text = s->u.barrier.of->wait, *mark = strstr(text, PENDING_MARK);
    return arena_printf(w->c->arena, "%.*s%d%s", (int)(mark - text), text, s->u.barrier.pending,
                        mark + strlen(PENDING_MARK));
}

/* The registers of the buffer are what they are behind a wait: no compiler reads them in front of
 * it. */
static void settle_text(CudaWriter *w, const Buffer *b)
{
    Helper helper = b->type == DT_F32   ? HELPER_SETTLE_F32
                    : b->type == DT_F64 ? HELPER_SETTLE_F64
                    : b->type == DT_I32 ? HELPER_SETTLE_I32
                                        : HELPER_SETTLE_U32;
    int64_t elements, *strides = ARENA_ARRAY(w->c->arena, int64_t, b->rank + 1);
    Expr **first = ARENA_ARRAY(w->c->arena, Expr *, b->rank + 1);
    for (int d = 0; d < b->rank; d++)
        first[d] = expr_index(w->c, 0);
    if (!buffer_strides(b, strides, &elements))
        TIRC_BUG(w->c, "registers of unknown number");
    cuda_indent(w);
    strbuf_addf(w->out, "%s<%lld>(&", cuda_helper(w, helper), (long long)elements);
    cuda_element(w, b, first);
    strbuf_add(w->out, ");\n");
}

/* A group of executions of an instruction, or the wait for one. */
static void group_text(CudaWriter *w, const Stmt *s, const char *why)
{
    if (s->u.barrier.of->stores) {
        cuda_store_group(w, s, why);
        return;
    }
    if (s->u.barrier.kind == SYNC_COMMIT) {
        cuda_line(w, "%s  // %s", s->u.barrier.of->commit, why);
        return;
    }
    cuda_line(w, "%s  // %s", awaited_text(w, s), why);
    for (int i = 0; s->u.barrier.pending == 0 && i < w->in_flight.n; i++)
        settle_text(w, w->in_flight.items[i]);
}

/* The number of the thread's warpgroup in the block. */
static const char *warpgroup_text(CudaWriter *w)
{
    const int64_t *block = w->use->launch->u.launch.block;
    int64_t size = ROLE_WARPGROUP, before = 1;
    int terms = 0;
    StrBuf text = strbuf_new(w->c->arena);
    for (int i = 0; i < 3; before *= block[i++]) {
        int64_t factor = block[0] == size ? before / size : before;
        if (block[i] == 1 || factor == 0)
            continue;
        strbuf_add(&text, terms++ ? " + " : "");
        if (factor > 1)
            strbuf_addf(&text, "%lld * ", (long long)factor);
        strbuf_add(&text, axis_name((Axis)(AXIS_THREAD_X + i)));
    }
    if (terms == 0)
        return "0";
    return block[0] == size ? text.text
                            : arena_printf(w->c->arena, terms > 1 ? "(%s) / %d" : "%s / %d",
                                           text.text, ROLE_WARPGROUP);
}

static void barrier_text(CudaWriter *w, SyncKind kind, const char *why)
{
    if (kind == SYNC_WARP)
        cuda_line(w, "__syncwarp();  // %s", why);
    else if (kind == SYNC_WARPGROUP)
        cuda_line(w, "%s(%s);  // %s", cuda_helper(w, HELPER_WARPGROUP_MEETS), warpgroup_text(w),
                  why);
    else if (w->role == WRITES_CONSUMERS)
        cuda_consumers_meet(w, why);
    else
        cuda_line(w, "__syncthreads();  // %s", why);
}

static void sync_text(CudaWriter *w, const Stmt *s)
{
    const char *why = cuda_comment(w->c, s->u.barrier.why);
    if (s->u.barrier.of) {
        group_text(w, s, why);
        return;
    }
    SyncKind kind = s->u.barrier.kind;
    if ((sync_meets(kind) && w->use->fences_barriers) ||
        (sync_releases(kind) && w->use->fences_releases))
        cuda_line(w, "%s();", cuda_helper(w, HELPER_FENCE_PROXY));
    switch (kind) {
    case SYNC_THREADS:
    case SYNC_WARPGROUP:
    case SYNC_WARP: barrier_text(w, kind, why); return;
    case SYNC_CLUSTER:
        cuda_line(w, "%s();  // %s", cuda_helper(w, HELPER_CLUSTER_BARRIER), why);
        return;
    case SYNC_COMMIT: commit_text(w, why); return;
    case SYNC_WAIT: wait_text(w, s->u.barrier.pending, why); return;
    case SYNC_ACQUIRE:
    case SYNC_RECEIVE:
    case SYNC_RELEASE:
    case SYNC_RELEASE_CLUSTER: cuda_hand_over(w, s, why); return;
    }
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* i + 3 as i and 3. */
static const Expr *without_constant(const Expr *e, int64_t *constant)
{
    *constant = 0;
    if (expr_is_const(e, constant))
        return NULL;
    return e->kind == EX_ADD && expr_is_const(e->u.arg[1], constant) ? e->u.arg[0] : e;
}

/* How far apart two elements of a buffer lie, if the text of their subscripts shows it. */
static bool literal_distance(CudaWriter *w, const Expr *from, const Expr *to, int64_t *distance)
{
    const Buffer *buffer = from->u.load.buffer;
    int64_t elements, *strides = ARENA_ARRAY(w->c->arena, int64_t, buffer->rank + 1);
    *distance = 0;
    strides[0] = 1; /* of one axis, whatever its extent */
    if (buffer->rank > 1 && !buffer_strides(buffer, strides, &elements))
        return false;
    for (int d = 0; d < buffer->rank; d++) {
        int64_t x, y;
        const Expr *a = without_constant(from->u.load.index[d], &x);
        const Expr *b = without_constant(to->u.load.index[d], &y);
        if (a != b && (!a || !b || !expr_equal(a, b)))
            return false;
        *distance += (y - x) * strides[d];
    }
    return true;
}

/* The elements from one element to another: a number, or the difference of their addresses. */
static void distance_text(CudaWriter *w, const Expr *from, const Expr *to)
{
    int64_t distance;
    if (literal_distance(w, from, to, &distance)) {
        strbuf_addf(w->out, "%lld", (long long)distance);
        return;
    }
    strbuf_add(w->out, "(&");
    cuda_element(w, to->u.load.buffer, to->u.load.index);
    strbuf_add(w->out, " - &");
    cuda_element(w, from->u.load.buffer, from->u.load.index);
    strbuf_add(w->out, ")");
}

/* Does the text behind piece `i` begin with a postfix operator? It binds more tightly than the
 * prefix operators of an address. */
static bool has_postfix(const Instruction *of, int i)
{
    while (++i < of->n_pieces && of->pieces[i].kind == PIECE_TEXT) {
        const char *at = of->pieces[i].text + strspn(of->pieces[i].text, " \t\n");
        if (*at)
            return strchr("[(.", *at) || !strncmp(at, "->", 2) || !strncmp(at, "++", 2) ||
                   !strncmp(at, "--", 2);
    }
    return false;
}

static void piece_text(CudaWriter *w, const Stmt *s, int number)
{
    const Instruction *of = s->u.instruction.of;
    const TemplatePiece *piece = &of->pieces[number];
    if (piece->kind == PIECE_TEXT) {
        for (const char *at = piece->text; *at; at++) {
            strbuf_addc(w->out, *at);
            if (*at == '\n')
                cuda_indent(w);
        }
        return;
    }
    const Expr *element = s->u.instruction.elements[piece->element];
    const Buffer *operand = of->operands[of->elements[piece->element].operand].buffer;
    if (piece->kind == PIECE_DISTANCE) {
        distance_text(w, s->u.instruction.elements[piece->first], element);
        return;
    }
    bool parenthesis = piece->kind != PIECE_ELEMENT && has_postfix(of, number);
    strbuf_add(w->out, parenthesis ? "(" : "");
    if (piece->kind == PIECE_WIDE)
        strbuf_addf(w->out, "*(%s%s *)", operand->role == ROLE_IN ? "const " : "", piece->text);
    strbuf_add(w->out, piece->kind == PIECE_ELEMENT ? "" : "&");
    cuda_element(w, element->u.load.buffer, element->u.load.index);
    strbuf_add(w->out, parenthesis ? ")" : "");
}

/* The CUDA text of the instruction; several lines have braces of their own. */
static void instruction(CudaWriter *w, const Stmt *s)
{
    const Instruction *of = s->u.instruction.of;
    if (of->bulk) {
        cuda_bulk_copy(w, s);
        return;
    }
    bool braces = of->n_lines > 1 && !w->in_braces;
    w->in_braces = false;
    if (braces)
        cuda_line(w, "{");
    w->indent += braces;
    cuda_indent(w);
    for (int i = 0; i < of->n_pieces; i++)
        piece_text(w, s, i);
    strbuf_addc(w->out, '\n');
    w->indent -= braces;
    if (braces)
        cuda_line(w, "}");
}

static void roles(CudaWriter *w, const Stmt *s)
{
    cuda_producer_opens(w);
    cuda_statement(w, s->u.roles.producer);
    cuda_consumers_open(w);
    cuda_statement(w, s->u.roles.consumers);
    cuda_roles_close(w);
}

static void statement(CudaWriter *w, const Stmt *s)
{
    switch (s->kind) {
    case ST_SEQ: sequence(w, s); return;
    case ST_FOR: loop(w, &s->u.loop); return;
    case ST_IF: condition(w, s); return;
    case ST_STORE: store(w, s); return;
    case ST_TEMP: temp(w, s->u.temp); return;
    case ST_LET: let(w, s); return;
    case ST_BREAK: cuda_line(w, "break;"); return;
    case ST_BARRIER: sync_text(w, s); return;
    case ST_ROLES: roles(w, s); return;
    case ST_INSTRUCTION: instruction(w, s); return;
    case ST_BLOCK:
        if (w->host && s->u.block.n_iters == 0) { /* a reference is one block of plain statements */
            cuda_statement(w, s->u.block.body);
            return;
        }
        break;
    case ST_LAUNCH: break;
    }
    TIRC_BUG(w->c, "a block or launch where CUDA text is written");
}

/* What follows a statement on lines of its own belongs to the one around it. */
void cuda_statement(CudaWriter *w, const Stmt *s)
{
    Origin outer = s->kind == ST_SEQ ? w->origin : cuda_mark(w, s->span, s->step);
    statement(w, s);
    cuda_mark(w, outer.span, outer.step);
}
