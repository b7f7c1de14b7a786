/* schedule.c - Runs primitives: checks them, records the steps, and reports refusals.
 *
 *   arguments checked -> the primitive runs -> verified -> recorded as a step
 *                     -> refuses           -> the kernel is the one from before
 *
 * A step that leaves the kernel as it was (fuse of one loop) is not recorded. A schedule can go
 * back to an earlier state; handles of loops that were made since then are dead. */
#include "passes/schedule/enter.h"

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

/* A statement of the body is a condition. */
static bool has_branches(const Stmt *body)
{
    for (int i = 0; i < stmt_items(body); i++)
        if (stmt_item(body, i)->kind == ST_IF)
            return true;
    return false;
}

Schedule *schedule_new(Context *c, const Kernel *kernel)
{
    Schedule *s = ARENA_NEW(c->arena, Schedule);
    s->ctx = c;
    s->first = s->kernel = kernel;
    s->lowered = kernel_level(c, kernel) == LEVEL_LOWERED;
    s->first_id = kernel_least_id(c, kernel);
    s->has_branches = has_branches(kernel->body);
    state_rebuild(s);
    s->has_instructions = true;
    s->has_instructions = sched_instructions(s).n > 0;
    sched_open_calls(s);
    s->has_distinct = true;
    s->has_distinct = sched_distinct(s).n > 0;
    return s;
}

/* The program with `body` in the place of what was entered. */
static const Kernel *whole_program(const Schedule *s, const Kernel *body, const Entered *entered)
{
    for (; entered; entered = entered->outer)
        body = enter_whole(s->ctx, entered, body);
    return body;
}

const Kernel *schedule_kernel(const Schedule *s)
{
    return whole_program(s, s->kernel, s->entered);
}

const Kernel *schedule_entered_kernel(const Schedule *s)
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
    if (step == 0)
        return s->first;
    const StepRecord *r = &s->steps.items[step - 1];
    return whole_program(s, versions_kernel(s, r->kernel, step), r->entered);
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
    Value *args = ARENA_COPY(s->ctx->arena, Value, call->arg, n, 0);
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
    CallRecord record = {
        .primitive = call->primitive, .args = call->arg, .n_args = count_args(call)};
    call_print(s, &record, NULL, NULL, &text);
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
    bool done = branch_run(s, call, result);
    if (done && value_has_loop(result))
        record_call(s, call, result, 0);
    return done;
}

/* The kernel from before the step at work. */
static void take_back(Schedule *s, const Kernel *before, const Entered *entered)
{
    if (s->kernel == before)
        return;
    s->kernel = before;
    s->entered = entered;
    versions_take_back(s, s->steps.n);
    state_rebuild(s);
}

/* Runs the primitive of a step, which is not recorded yet. */
static bool change(Schedule *s, const PrimCall *call, Value *result)
{
    const Kernel *before = s->kernel;
    const Entered *entered = s->entered;
    s->step = s->steps.n + 1;
    s->first_new_id = s->ctx->next_id;
    s->ctx->step = s->step;
    s->reassociates = s->proves_distinct = false;
    s->remark = NULL;
    const StmtList instructions = sched_instructions(s), distinct = sched_distinct(s);
    bool done = branch_run(s, call, result);
    if (done && s->kernel != before && !s->proves_distinct)
        sched_drop_distinct(s, &distinct);
    s->ctx->step = 0;
    if (done && s->kernel != before && s->entered == entered)
        done = enter_allows_step(s, call->span) &&
               sched_check_instructions(s, &instructions, call->span);
    if (!done)
        take_back(s, before, entered);
    return done;
}

static bool run_step(Schedule *s, const PrimCall *call, Value *result)
{
    const Kernel *before = s->kernel;
    const char *text = call_text(s, call);
    bool done = change(s, call, result);
    if (!done || s->kernel == before)
        return done;
    verify_step(s, before, text);
    StepRecord step = {.kernel = s->kernel,
                       .entered = s->entered,
                       .text = text,
                       .primitive = call->primitive,
                       .span = call->span,
                       .reassociates = s->reassociates,
                       .remark = s->remark};
    VEC_PUSH(s->ctx->arena, &s->steps, step);
    record_call(s, call, result, s->steps.n);
    return true;
}

bool sched_would_accept(Schedule *s, const PrimCall *call)
{
    const Kernel *before = s->kernel;
    const Entered *entered = s->entered;
    const uint32_t first_new_id = s->first_new_id;
    const DiagMark mark = diag_mark(s->ctx);
    Value unused = {.kind = VALUE_NONE};
    bool done = change(s, call, &unused);
    take_back(s, before, entered);
    diag_forget(s->ctx, mark);
    s->first_new_id = first_new_id;
    return done;
}

bool schedule_call(Schedule *s, const Primitive *primitive, const GivenArgs *given, Value *result)
{
    PrimCall call;
    *result = (Value){.kind = VALUE_NONE};
    s->running = primitive;
    s->refused = s->mistaken = false;
    REQUIRE(s, E0408, given->span, !s->lowered,
            "kernel '%s' is lowered already; schedule its program instead", s->kernel->name);
    bool done = args_check(s, primitive, given, &call);
    if (done) {
        done = primitive->is_query ? run_query(s, &call, result) : run_step(s, &call, result);
        s->refused = !done && !s->mistaken;
    }
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

Name schedule_name_of(const Schedule *s, const Value *handle)
{
    return state_handle(s, handle->u.id)->name;
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

/* ---- attempts: the kernel, the steps and the names become those of the mark ------------------ */

ScheduleMark schedule_mark(const Schedule *s)
{
    return (ScheduleMark){s->kernel,  s->entered, s->first_new_id, s->steps.n,
                          s->calls.n, s->knobs.n, s->comments.n};
}

void schedule_go_back(Schedule *s, const ScheduleMark *mark, const char *why)
{
    s->refused = false;
    s->steps.n = mark->steps;
    s->calls.n = mark->calls;
    s->knobs.n = mark->knobs;
    s->first_new_id = mark->first_new_id;
    s->comments.n = mark->comments;
    if (why)
        trace_comment(s, arena_printf(s->ctx->arena, "refused: %s", why));
    if (s->kernel == mark->kernel)
        return;
    s->kernel = mark->kernel;
    s->entered = mark->entered;
    versions_take_back(s, mark->steps);
    state_rebuild(s);
}

bool schedule_refused(const Schedule *s)
{
    return s->refused;
}
