/* run.c - Runs a schedule: the statements of its script, from first to last. */
#include "frontend/script/internal.h"
#include "passes/lower/lower.h"

#include <stdlib.h>
#include <string.h>

/* ---- errors ---------------------------------------------------------------------------------- */

void script_note_callers(Script *s)
{
    enum { SHOWN = 8 };
    int n = 0;
    for (const Frame *f = s->frame; f && f->proc; f = f->caller)
        if (n++ < SHOWN)
            diag_note(s->c, f->call, "in proc '%s', called here", f->proc->name.text);
    if (n > SHOWN)
        diag_note(s->c, span_none(), "and in %d more nested calls", n - SHOWN);
}

bool script_error(Script *s, ErrorCode code, Span span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    diag_error(s->c, code, span, "%s", arena_vprintf(s->c->arena, format, args));
    va_end(args);
    script_note_callers(s);
    return false;
}

bool script_spend(Script *s, int64_t steps, Span span)
{
    s->budget -= steps;
    if (s->budget >= 0)
        return true;
    return script_error(s, E0310, span,
                        "the script has exceeded the limit of %d steps; a step is an expression, a "
                        "value of a list, or a hundredth of a call",
                        SCRIPT_BUDGET);
}

bool script_enter(Script *s, Span span)
{
    if (s->depth++ < SCRIPT_DEPTH)
        return true;
    return script_error(
        s, E0318, span,
        "statements, expressions and calls of the script are nested more than %d levels deep",
        SCRIPT_DEPTH);
}

/* ---- names ----------------------------------------------------------------------------------- */

Binding **script_bucket(const Script *s, Name name)
{
    uint64_t hash = (uint64_t)(uintptr_t)name * UINT64_C(0x9E3779B97F4A7C15);
    return &s->frame->bucket[(hash >> 32) % NAME_BUCKETS];
}

void script_bind(Script *s, Name name, const Value *value)
{
    Binding *b = s->spare;
    if (b)
        s->spare = b->next;
    else
        b = ARENA_NEW(s->c->arena, Binding);
    Binding **bucket = script_bucket(s, name);
    *b = (Binding){name, *value, s->frame->names, *bucket};
    s->frame->names = *bucket = b;
}

void script_unbind(Script *s, Binding *outer)
{
    while (s->frame->names != outer) {
        Binding *gone = s->frame->names;
        *script_bucket(s, gone->name) = gone->hidden;
        s->frame->names = gone->next;
        gone->next = s->spare;
        s->spare = gone;
    }
}

bool script_bind_pattern(Script *s, const AstPattern *pattern, const Value *value)
{
    switch (pattern->kind) {
    case AP_IGNORE: return true;
    case AP_NAME:
        if (value->kind == VALUE_LOOP)
            schedule_name_loop(s->schedule, value->u.id, pattern->name);
        script_bind(s, pattern->name, value);
        return true;
    case AP_LIST: break;
    }
    if (value->kind != VALUE_LIST)
        return script_error(s, E0307, pattern->span,
                            "%d name%s in brackets for %s, which is not a list", pattern->n,
                            pattern->n == 1 ? "" : "s", value_kind_name(value->kind));
    if (value->u.list.n != pattern->n)
        return script_error(s, E0307, pattern->span, "%d name%s for a list of %d value%s%s",
                            pattern->n, pattern->n == 1 ? "" : "s", value->u.list.n,
                            value->u.list.n == 1 ? "" : "s",
                            pattern->n < value->u.list.n ? "; write _ for an unused value" : "");
    for (int i = 0; i < pattern->n; i++)
        if (!script_bind_pattern(s, &pattern->items[i], &value->u.list.items[i]))
            return false;
    return true;
}

/* ---- statements ------------------------------------------------------------------------------ */

static bool run_statement(Script *s, const AstStmt *stmt);

bool script_block(Script *s, const AstStmt *body)
{
    Binding *outer = s->frame->names;
    bool ok = true;
    for (int i = 0; ok && i < body->u.seq.n && !s->frame->returned; i++)
        ok = run_statement(s, body->u.seq.items[i]);
    script_unbind(s, outer);
    return ok;
}

static bool run_let(Script *s, const AstStmt *stmt)
{
    Value v;
    return script_eval(s, stmt->u.let.value, &v) &&
           script_bind_pattern(s, &stmt->u.let.pattern, &v);
}

static bool run_for(Script *s, const AstStmt *stmt, const Value *item)
{
    Binding *outer = s->frame->names;
    bool ok = script_spend(s, 1, stmt->span) &&
              script_bind_pattern(s, &stmt->u.each.pattern, item) &&
              script_block(s, stmt->u.each.body);
    script_unbind(s, outer);
    return ok;
}

/* A range is no list here: its values come one after the other. */
static bool run_each_of_range(Script *s, const AstStmt *stmt)
{
    const AstExpr *range = stmt->u.each.value;
    int64_t from, n;
    if (!script_range(s, range, &from, &n))
        return false;
    for (int64_t i = 0; i < n && !s->frame->returned; i++) {
        Value item = script_number(from + i, range->span);
        if (!run_for(s, stmt, &item))
            return false;
    }
    return true;
}

static bool run_each(Script *s, const AstStmt *stmt)
{
    Value list;
    if (stmt->u.each.value->kind == AE_RANGE)
        return run_each_of_range(s, stmt);
    if (!script_eval(s, stmt->u.each.value, &list))
        return false;
    if (list.kind != VALUE_LIST)
        return script_error(
            s, E0304, stmt->u.each.value->span,
            "'for' iterates over a list, found %s; write the integers below n as 0..n",
            value_kind_name(list.kind));
    for (int i = 0; i < list.u.list.n && !s->frame->returned; i++) {
        Value item = list.u.list.items[i];
        if (!run_for(s, stmt, &item))
            return false;
    }
    return true;
}

static bool run_if(Script *s, const AstStmt *stmt)
{
    Value v;
    bool taken;
    if (!script_eval(s, stmt->u.cond.cond, &v) ||
        !script_bool(s, &v, "the condition of 'if'", &taken))
        return false;
    const AstStmt *branch = taken ? stmt->u.cond.then : stmt->u.cond.otherwise;
    if (!branch)
        return true;
    return branch->kind == AS_SEQ ? script_block(s, branch) : run_statement(s, branch);
}

/* The first error since the mark, on one line. */
static const char *first_error(const Script *s, DiagMark mark)
{
    const Diag *diag = mark.last ? mark.last->next : s->c->first;
    while (diag && diag->severity != SEVERITY_ERROR)
        diag = diag->next;
    return diag ? arena_printf(s->c->arena, "%s: %.*s", error_info(diag->code)->id,
                               (int)strcspn(diag->message, "\n"), diag->message)
                : "";
}

/* An error of the script itself, such as an unknown name, is one inside `try`, too. */
static bool run_try(Script *s, const AstStmt *stmt)
{
    DiagMark said = diag_mark(s->c);
    ScheduleMark before = schedule_mark(s->schedule);
    if (script_block(s, stmt->u.attempt.body))
        return true;
    if (!schedule_refused(s->schedule))
        return false;
    schedule_go_back(s->schedule, &before, first_error(s, said));
    diag_forget(s->c, said);
    return !stmt->u.attempt.otherwise || script_block(s, stmt->u.attempt.otherwise);
}

static bool run_assert(Script *s, const AstStmt *stmt)
{
    Value v, message = {.kind = VALUE_NONE};
    bool holds;
    if (!script_eval(s, stmt->u.assertion.cond, &v) ||
        !script_bool(s, &v, "the condition of 'assert'", &holds))
        return false;
    if (holds)
        return true;
    if (stmt->u.assertion.message && !script_eval(s, stmt->u.assertion.message, &message))
        return false;
    return script_error(s, E0311, stmt->u.assertion.cond->span, "assertion failed%s%s",
                        message.kind == VALUE_STRING ? ": " : "",
                        message.kind == VALUE_STRING ? message.u.s : "");
}

static bool run_return(Script *s, const AstStmt *stmt)
{
    if (!s->frame->proc)
        return script_error(s, E0316, stmt->span, "'return' outside a proc");
    if (stmt->u.value && !script_eval(s, stmt->u.value, &s->frame->result))
        return false;
    s->frame->returned = true;
    return true;
}

static bool run_one(Script *s, const AstStmt *stmt)
{
    Value ignored;
    switch (stmt->kind) {
    case AS_SEQ: return script_block(s, stmt);
    case AS_LET: return run_let(s, stmt);
    case AS_EACH: return run_each(s, stmt);
    case AS_IF: return run_if(s, stmt);
    case AS_TRY: return run_try(s, stmt);
    case AS_ASSERT: return run_assert(s, stmt);
    case AS_TUNE: return script_tune(s, stmt);
    case AS_EXPR: return script_eval(s, stmt->u.expr, &ignored);
    case AS_RETURN: return run_return(s, stmt);
    default: TIRC_BUG(s->c, "a statement of a kernel in a script");
    }
}

static bool run_statement(Script *s, const AstStmt *stmt)
{
    if (!script_enter(s, stmt->span))
        return false;
    bool ok = run_one(s, stmt);
    s->depth--;
    return ok;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static bool bind_parameters(Script *s)
{
    const AstSchedule *schedule = s->ast;
    if (!script_check_settings(s))
        return false;
    for (int p = 0; p < schedule->n_params; p++) {
        const AstScriptParam *param = &schedule->params[p];
        Value v = {.kind = VALUE_NONE};
        if (param->value && !script_eval(s, param->value, &v))
            return false;
        const Value *set = script_setting(s, param->pattern.name);
        if (set) {
            Span span = v.span;
            v = *set;
            v.span = span;
        }
        if (v.kind == VALUE_NONE)
            return script_error(s, E0312, param->pattern.span,
                                "parameter '%s' has no value; set it with --set %s=VALUE",
                                param->pattern.name, param->pattern.name);
        script_bind(s, param->pattern.name, &v);
    }
    return true;
}

static Kernel *lower(Context *c, const Kernel *kernel)
{
    return lower_kernel(c, kernel, &(LowerOptions){.limits = limits_of(c->target)});
}

bool script_run_partly(Context *c, const Kernel *kernel, ScriptRun *run)
{
    Frame frame = {.file = run->found->file};
    Script s = {.c = c,
                .kernel = kernel,
                .schedule = schedule_new(c, kernel),
                .frame = &frame,
                .ast = run->found->schedule,
                .settings = run->settings,
                .n_settings = run->n_settings,
                .budget = SCRIPT_BUDGET};
    schedule_set_finder(s.schedule, (InstructionFinder){&s, script_find_instruction});
    schedule_set_lowering(s.schedule, lower);
    bool ok = bind_parameters(&s) && script_block(&s, run->found->schedule->body);
    if (ok)
        script_warn_unused(c, run->found->schedule);
    run->schedule = s.schedule;
    run->sites = s.sites.items;
    return ok;
}

Schedule *script_run(Context *c, const Kernel *kernel, const FoundSchedule *found,
                     const ScriptSetting *settings, int n_settings)
{
    ScriptRun run = {.found = found, .settings = settings, .n_settings = n_settings};
    return script_run_partly(c, kernel, &run) ? run.schedule : NULL;
}
