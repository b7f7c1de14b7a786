/* schedule.c - running primitives: checks around them, steps, and how they refuse.
 *
 *   arguments checked -> the primitive runs -> verified -> recorded as a step
 *                     -> refuses           -> the kernel is the one from before
 *
 * A step that leaves the kernel as it was (fuse of one loop) is not recorded. */
#include <string.h>

#include "passes/schedule/sched.h"

/* ---- values ---------------------------------------------------------------------------------- */

const char *value_kind_name(ValueKind kind)
{
    switch (kind) {
    case VALUE_NONE: return "nothing";
    case VALUE_INT: return "an integer";
    case VALUE_BOOL: return "a truth value";
    case VALUE_STRING: return "a string";
    case VALUE_WORD: return "a name";
    case VALUE_FILL: return "_";
    case VALUE_LIST: return "a list";
    case VALUE_LOOP: return "a loop";
    case VALUE_BLOCK: return "a block";
    case VALUE_BUFFER: return "a buffer";
    case VALUE_MAP: return "an index map";
    }
    return "";
}

static Value handle_value(ValueKind kind, uint32_t id)
{
    Value value = {.kind = kind};
    value.u.id = id;
    return value;
}

Value value_loop(const Stmt *loop)
{
    return handle_value(VALUE_LOOP, loop->u.loop.id);
}

Value value_block(const Stmt *block)
{
    return handle_value(VALUE_BLOCK, block->u.block.id);
}

Value value_buffer(const Buffer *buffer)
{
    return handle_value(VALUE_BUFFER, buffer->id);
}

Value value_int(int64_t i)
{
    Value value = {.kind = VALUE_INT};
    value.u.i = i;
    return value;
}

Value value_of_items(const Value *items, int n, Span span)
{
    enum { MOST = (1 << 24) - 1, DEEPEST = 255 };
    int64_t total = n;
    unsigned depth = 0;
    for (int i = 0; i < n; i++)
        if (items[i].kind == VALUE_LIST) {
            total += items[i].u.list.total;
            depth = depth < items[i].u.list.depth ? items[i].u.list.depth : depth;
        }
    Value value = {.kind = VALUE_LIST, .span = span};
    value.u.list.items = items;
    value.u.list.n = n;
    value.u.list.total = (unsigned)(total < MOST ? total : MOST) & MOST;
    value.u.list.depth = depth < DEEPEST ? depth + 1 : DEEPEST;
    return value;
}

Value value_list(Schedule *s, const Value *items, int n)
{
    Value *copy = ARENA_ARRAY(s->ctx->arena, Value, n);
    for (int i = 0; i < n; i++)
        copy[i] = items[i];
    return value_of_items(copy, n, span_none());
}

/* ---- a schedule ------------------------------------------------------------------------------ */

static uint32_t stmt_id(const Stmt *stmt)
{
    switch (stmt->kind) {
    case ST_FOR: return stmt->u.loop.id;
    case ST_BLOCK: return stmt->u.block.id;
    case ST_TEMP: return stmt->u.temp->id;
    default: return UINT32_MAX;
    }
}

static uint32_t kernel_least_id(Context *c, const Kernel *kernel)
{
    uint32_t least = UINT32_MAX;
    for (int i = 0; i < kernel->n_params; i++)
        if (kernel->params[i].buffer && kernel->params[i].buffer->id < least)
            least = kernel->params[i].buffer->id;
    for (Cursor at = cursor_stmts(c, kernel->body); cursor_next(&at);)
        if (stmt_id(at.stmt) < least)
            least = stmt_id(at.stmt);
    return least;
}

Schedule *schedule_new(Context *c, const Kernel *kernel)
{
    Schedule *s = ARENA_NEW(c->arena, Schedule);
    s->ctx = c;
    s->first = s->kernel = kernel;
    s->lowered = kernel_level(c, kernel) == LEVEL_LOWERED;
    s->first_id = kernel_least_id(c, kernel);
    state_rebuild(s);
    return s;
}

const Kernel *schedule_kernel(const Schedule *s)
{
    return s->kernel;
}

Context *schedule_context(const Schedule *s)
{
    return s->ctx;
}

int schedule_steps(const Schedule *s)
{
    return s->steps.n;
}

const Kernel *schedule_kernel_after(const Schedule *s, int step)
{
    return step == 0 ? s->first : versions_kernel(s, s->steps.items[step - 1].kernel, step);
}

const char *schedule_step_text(const Schedule *s, int step)
{
    return s->steps.items[step - 1].text;
}

const char *schedule_step_name(const Schedule *s, int step)
{
    return s->steps.items[step - 1].primitive->name;
}

Span schedule_step_span(const Schedule *s, int step)
{
    return s->steps.items[step - 1].span;
}

bool schedule_step_reassociates(const Schedule *s, int step)
{
    return s->steps.items[step - 1].reassociates;
}

const char *schedule_step_remark(const Schedule *s, int step)
{
    return s->steps.items[step - 1].remark;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Whether a value is or holds a loop: what the trace needs variables for. */
static bool value_has_loop(const Value *value)
{
    if (value->kind != VALUE_LIST)
        return value->kind == VALUE_LOOP;
    for (int i = 0; i < value->u.list.n; i++)
        if (value_has_loop(&value->u.list.items[i]))
            return true;
    return false;
}

static const Value *copy_args(Schedule *s, const PrimCall *call, int n)
{
    Value *args = ARENA_ARRAY(s->ctx->arena, Value, n);
    for (int i = 0; i < n; i++)
        args[i] = call->arg[i];
    return args;
}

static int count_args(const PrimCall *call)
{
    int n = PRIM_MAX_PARAMS;
    while (n > 0 && call->arg[n - 1].kind == VALUE_NONE)
        n--;
    return n;
}

static void record_call(Schedule *s, const PrimCall *call, const Value *result, int step)
{
    int n = count_args(call);
    CallRecord record = {call->primitive, copy_args(s, call, n), n, *result, step};
    VEC_PUSH(s->ctx->arena, &s->calls, record);
}

static const char *call_text(Schedule *s, const PrimCall *call)
{
    StrBuf text = strbuf_new(s->ctx->arena);
    call_print(s, call->primitive, call->arg, count_args(call), NULL, NULL, &text);
    return text.text;
}

static void verify_step(Schedule *s, const Kernel *before, const char *text)
{
#ifdef TIRC_VERIFY
    const char *broken = ir_verify(s->ctx, s->kernel);
    if (!broken)
        return;
    StrBuf state = strbuf_new(s->ctx->arena);
    print_kernel(s->ctx, versions_kernel(s, before, s->step - 1), &state);
    s->ctx->bug_state = state.text;
    TIRC_BUG(s->ctx, "%s broke the program: %s", text, broken);
#else
    (void)s, (void)before, (void)text;
#endif
}

static bool run_query(Schedule *s, const PrimCall *call, Value *result)
{
    bool done = call->primitive->run(s, call, result);
    if (done && value_has_loop(result))
        record_call(s, call, result, 0);
    return done;
}

static bool run_step(Schedule *s, const PrimCall *call, Value *result)
{
    const Kernel *before = s->kernel;
    const char *text = call_text(s, call);
    s->step = s->steps.n + 1;
    s->first_new_id = s->ctx->next_id;
    s->ctx->step = s->step;
    s->reassociates = false;
    s->remark = NULL;
    bool done = call->primitive->run(s, call, result);
    s->ctx->step = 0;
    if (!done && s->kernel != before) {
        s->kernel = before;
        versions_take_back(s);
        state_rebuild(s);
    }
    if (!done || s->kernel == before)
        return done;
    verify_step(s, before, text);
    StepRecord step = {s->kernel, text, call->primitive, call->span, s->reassociates, s->remark};
    VEC_PUSH(s->ctx->arena, &s->steps, step);
    record_call(s, call, result, s->steps.n);
    return true;
}

bool schedule_call(Schedule *s, const Primitive *primitive, const GivenArgs *given, Value *result)
{
    PrimCall call;
    *result = (Value){.kind = VALUE_NONE};
    s->running = primitive;
    REQUIRE(s, E0408, given->span, !s->lowered,
            "kernel '%s' is lowered already; schedule its program instead", s->kernel->name);
    bool done = args_check(
        s, primitive,
        &(GivenArgs){
            .args = given->args, .names = given->names, .n = given->n, .span = given->span},
        &call);
    if (done)
        done = primitive->is_query ? run_query(s, &call, result) : run_step(s, &call, result);
    s->running = NULL;
    result->span = given->span;
    return done;
}

void schedule_name_loop(Schedule *s, uint32_t loop, Name name)
{
    Handle *handle = state_handle(s, loop);
    if (!handle || handle->kind != HANDLE_LOOP || !handle->alive || handle->named ||
        s->steps.n == 0 || handle->born != s->steps.n)
        return;
    handle->named = true;
    StmtPath path = {0};
    ForStmt *node = &state_path(s, loop, &path)->u.loop;
    /* Only a variable that no older kernel holds can still be given its name in place. */
    if (handle->name != name && node->var->id >= s->first_new_id)
        state_rename_loop(s, node, sched_fresh_loop_name(s, &path, name, loop));
}

/* ---- refusals -------------------------------------------------------------------------------- */

bool sched_refuse(Schedule *s, ErrorCode code, Span span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = arena_vprintf(s->ctx->arena, format, args);
    va_end(args);
    diag_error(s->ctx, code, span, "%s: %s", s->running ? s->running->name : "schedule", text);
    return false;
}

const char *sched_text(Schedule *s, const Expr *e)
{
    StrBuf text = strbuf_new(s->ctx->arena);
    print_expr(e, &text);
    return text.text;
}

Name stmt_label(const Stmt *node)
{
    return node->kind == ST_FOR ? node->u.loop.var->name : node->u.block.name;
}

/* How much of a printed line is the node itself: up to its body, and of several loops on a line the
 * first. */
static size_t header_length(const char *line, size_t length, bool is_loop)
{
    int depth = 0;
    for (size_t i = 0; i < length; i++) {
        depth += (line[i] == '(' || line[i] == '[') - (line[i] == ')' || line[i] == ']');
        if (is_loop && depth == 0 && line[i] == ',')
            return i;
    }
    while (length > 0 && (line[length - 1] == '{' || line[length - 1] == ' '))
        length--;
    return length;
}

void sched_note_at(Schedule *s, const Stmt *node, const char *format, ...)
{
    StrBuf text = strbuf_new(s->ctx->arena);
    va_list args;
    va_start(args, format);
    strbuf_vaddf(&text, format, args);
    va_end(args);
    StrBuf program = strbuf_new(s->ctx->arena);
    print_stmt(s->ctx, node, 0, &program);
    size_t length = strcspn(program.text, "\n");
    strbuf_add(&text, "\n    ");
    strbuf_addn(&text, program.text, length);
    strbuf_add(&text, "\n    ");
    for (size_t i = header_length(program.text, length, node->kind == ST_FOR); i > 0; i--)
        strbuf_addc(&text, '^');
    diag_note(s->ctx, span_none(), "%s", text.text);
}

void sched_note_conflict(Schedule *s, const Conflict *why)
{
    if (!why->first || !why->second) {
        if (why->reason)
            diag_note(s->ctx, span_none(), "%s", why->reason);
        return;
    }
    if (!why->element || !*why->element) { /* it is not about an element but about an instance */
        diag_note(s->ctx, why->first_span, "block '%s' at %s", why->first->name, why->first_at);
        return;
    }
    if (*why->first_at) {
        diag_note(s->ctx, why->first_span, "block '%s' at %s comes first and touches %s (%s)",
                  why->first->name, why->first_at, why->element, hazard_text(why->kind));
        diag_note(s->ctx, why->second_span, "block '%s' at %s touches the same element",
                  why->second->name, why->second_at);
    } else { /* no instance of it will do */
        diag_note(s->ctx, why->second_span, "block '%s' at %s reads %s", why->second->name,
                  why->second_at, why->element);
        diag_note(s->ctx, why->first_span, "block '%s' writes '%s'", why->first->name,
                  why->buffer->name);
    }
    if (why->reason)
        diag_note(s->ctx, span_none(), "%s", why->reason);
}

/* ---- facts ----------------------------------------------------------------------------------- */

Facts *sched_facts(Schedule *s, const StmtPath *path)
{
    Facts *facts = facts_of_kernel(s->ctx, s->kernel);
    for (int i = 0; i + 1 < path->n; i++) {
        const Stmt *stmt = path->items[i];
        if (stmt->kind == ST_IF && path->items[i + 1] == stmt->u.cond.otherwise)
            facts_assume(facts, expr_unary(s->ctx, EX_NOT, stmt->u.cond.cond, stmt->span));
        else
            facts_enter(facts, stmt);
    }
    return facts;
}

void schedule_add_knob(Schedule *s, Knob knob)
{
    VEC_PUSH(s->ctx->arena, &s->knobs, knob);
}

const Knob *schedule_knobs(const Schedule *s, int *n)
{
    *n = s->knobs.n;
    return s->knobs.items;
}
