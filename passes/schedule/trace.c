/* trace.c - Prints calls, and a whole schedule that reproduces the same kernel.
 *
 * The trace has every step, and of the queries those whose loops a step uses. Blocks and buffers
 * stand as their names, loops as variables. `let` names the loops that a step makes, so a step's
 * results are bound to exactly the names that the loops have; where that hides a variable that is
 * still needed, its loop is kept under another name first. */
#include "passes/analysis/polyhedral/index_map.h"
#include "passes/schedule/sched.h"

/* ---- one call -------------------------------------------------------------------------------- */

typedef struct {
    const Schedule *s;
    const Name *loop_names; /* by id - first_id; NULL: the loops' own */
    const NameMap *taken;   /* words that are variables; NULL: none */
    StrBuf *out;
} ValueText;

static void print_word(const ValueText *t, Name word)
{
    if (t->taken && namemap_get(t->taken, word))
        print_string(word, t->out);
    else
        strbuf_add(t->out, word);
}

static void print_items(const ValueText *t, const Value *list);

static void print_value(const ValueText *t, const Value *value)
{
    const Handle *handle;
    switch (value->kind) {
    case VALUE_NONE: return;
    case VALUE_INT: strbuf_addf(t->out, "%lld", (long long)value->u.i); return;
    case VALUE_BOOL: strbuf_add(t->out, value->u.i ? "true" : "false"); return;
    case VALUE_FLOAT: print_float(DT_F64, value->u.f, t->out); return;
    case VALUE_STRING: print_string(value->u.s, t->out); return;
    case VALUE_WORD: print_word(t, value->u.s); return;
    case VALUE_FILL: strbuf_addc(t->out, '_'); return;
    case VALUE_LIST:
        strbuf_addc(t->out, '[');
        print_items(t, value);
        strbuf_addc(t->out, ']');
        return;
    case VALUE_LOOP:
        handle = state_handle(t->s, value->u.id);
        strbuf_add(t->out,
                   t->loop_names ? t->loop_names[value->u.id - t->s->first_id] : handle->name);
        return;
    case VALUE_MAP: index_map_print(value->u.map, t->out); return;
    case VALUE_SIZES: print_expr(value->u.sizes, t->out); return;
    case VALUE_BLOCK:
    case VALUE_BUFFER: print_word(t, state_handle(t->s, value->u.id)->name); return;
    }
}

static void print_items(const ValueText *t, const Value *list)
{
    for (int i = 0; i < list->u.list.n; i++) {
        if (i > 0)
            strbuf_add(t->out, ", ");
        print_value(t, &list->u.list.items[i]);
    }
}

void call_print(const Schedule *s, const CallRecord *call, const Name *loop_names,
                const NameMap *taken, StrBuf *out)
{
    ValueText text = {s, loop_names, taken, out};
    const PrimParam *params = call->primitive->params;
    strbuf_addf(out, "%s(", call->primitive->name);
    bool skipped = false;
    for (int i = 0; i < call->n_args; i++) {
        if (call->args[i].kind == VALUE_NONE) {
            skipped = true;
            continue;
        }
        if (i > 0)
            strbuf_add(out, ", ");
        skipped |= i > 0 && params[i - 1].variadic; /* which would take it for its own */
        if (skipped)
            strbuf_addf(out, "%s = ", params[i].name);
        if (params[i].variadic && params[i].kind != PARAM_FACTOR &&
            params[i].kind != PARAM_LENGTH && !skipped)
            print_items(&text, &call->args[i]);
        else
            print_value(&text, &call->args[i]);
    }
    strbuf_addc(out, ')');
}

void trace_comment(Schedule *s, const char *text)
{
    VEC_PUSH(s->ctx->arena, &s->comments, ((TraceComment){s->calls.n, text}));
}

/* ---- the whole schedule ---------------------------------------------------------------------- */

typedef struct {
    const Schedule *s;
    Context *ctx;
    int *last_use;  /* by id - first_id: the last call that takes the loop, -1 for none */
    Name *variable; /* by id - first_id: what the loop is called in the trace */
    NameMap holder; /* variable -> id of the loop that it holds */
    int call;       /* the index of the one at work */
    int step;       /* the last one before it; 0: none */
    StrBuf *out;
} Trace;

static uint32_t slot_of(const Trace *t, const Value *loop)
{
    return loop->u.id - t->s->first_id;
}

static void note_uses(Trace *t, const Value *value, int call)
{
    if (value->kind == VALUE_LOOP)
        t->last_use[slot_of(t, value)] = call;
    if (value->kind == VALUE_LIST)
        for (int i = 0; i < value->u.list.n; i++)
            note_uses(t, &value->u.list.items[i], call);
}

/* Did a variable that took the loop from a query give it its name? */
static bool is_named_here(const Trace *t, const Value *loop)
{
    return !t->variable[slot_of(t, loop)] && state_handle(t->s, loop->u.id)->named;
}

/* The loop must be bound by the query at work: nothing has bound it, and a later call takes it or
 * it has its name from here. */
static bool is_wanted(const Trace *t, const Value *loop)
{
    uint32_t slot = slot_of(t, loop);
    return !t->variable[slot] && (t->last_use[slot] > t->call || is_named_here(t, loop));
}

/* No variable holds a loop that a step has made; one that it only returns (specialize) has one. */
static bool is_unbound(const Trace *t, const Value *loop)
{
    return !t->variable[slot_of(t, loop)];
}

static bool has_wanted(const Trace *t, const Value *value)
{
    if (value->kind == VALUE_LOOP)
        return is_wanted(t, value);
    if (value->kind == VALUE_LIST)
        for (int i = 0; i < value->u.list.n; i++)
            if (has_wanted(t, &value->u.list.items[i]))
                return true;
    return false;
}

/* The loop that a variable holds and a call from `first` on still takes, or 0. */
static uint32_t needed_holder(const Trace *t, Name variable, int first)
{
    uint32_t id = namemap_get(&t->holder, variable);
    if (id == 0)
        return 0;
    uint32_t slot = id - t->s->first_id;
    return t->variable[slot] == variable && t->last_use[slot] >= first ? id : 0;
}

/* A variable that hides nothing: no other variable, no name of the kernel, no primitive. */
static Name free_variable(Trace *t, Name base)
{
    Name name = base;
    for (int i = 1;; i++) {
        const NameUse *use = state_name(t->s, name);
        if (!needed_holder(t, name, t->call + 1) && !(use && use->others) && !primitive_find(name))
            return name;
        name = ctx_namef(t->ctx, "%s_%d", base, i);
    }
}

static void bind_variable(Trace *t, const Value *loop, Name variable)
{
    t->variable[slot_of(t, loop)] = variable;
    namemap_set(t->ctx->arena, &t->holder, variable, loop->u.id);
}

/* Keeps the loop behind `variable` reachable when the variable is about to be bound anew. */
static void save_holder(Trace *t, Name variable)
{
    uint32_t id = needed_holder(t, variable, t->call + 1);
    if (id == 0)
        return;
    Value loop = {.kind = VALUE_LOOP};
    loop.u.id = id;
    Name other = variable;
    for (int i = 1; needed_holder(t, other, t->call) || state_name(t->s, other);
         i++) /* the call at work reads its own */
        other = ctx_namef(t->ctx, "%s_%d", variable, i);
    strbuf_addf(t->out, "    let %s = %s;\n", other, variable);
    bind_variable(t, &loop, other);
}

/* The variable is called as the loop: it gave it its name, or would give it another one, since the
 * last step made the loop. */
static bool keeps_name(const Trace *t, const Value *loop)
{
    const Handle *handle = state_handle(t->s, loop->u.id);
    const NameUse *use = state_name(t->s, handle->name);
    return is_named_here(t, loop) ||
           (t->step > 0 && handle->born == t->step && is_wanted(t, loop) && !(use && use->others) &&
            !primitive_find(handle->name));
}

static void save_hidden(Trace *t, const Value *value, bool is_step)
{
    if (value->kind == VALUE_LOOP && (is_step ? is_unbound(t, value) : keeps_name(t, value)))
        save_holder(t, state_handle(t->s, value->u.id)->name);
    if (value->kind == VALUE_LIST)
        for (int i = 0; i < value->u.list.n; i++)
            save_hidden(t, &value->u.list.items[i], is_step);
}

/* A loop of the same name stands before it in the pattern: specialize returns loops of several
 * nests. The query that took it for the script binds it. */
static bool has_namesake(const Trace *t, Name name)
{
    uint32_t id = namemap_get(&t->holder, name);
    return id != 0 && t->variable[id - t->s->first_id] == name &&
           state_handle(t->s, id)->born == t->s->calls.items[t->call].step;
}

/* The pattern of a result; binds its loops. */
static void print_pattern(Trace *t, const Value *value, bool is_step, StrBuf *out)
{
    if (value->kind == VALUE_LIST) {
        strbuf_addc(out, '[');
        for (int i = 0; i < value->u.list.n; i++) {
            if (i > 0)
                strbuf_add(out, ", ");
            print_pattern(t, &value->u.list.items[i], is_step, out);
        }
        strbuf_addc(out, ']');
        return;
    }
    bool bound =
        value->kind != VALUE_LOOP || !(is_step ? is_unbound(t, value) : is_wanted(t, value));
    Name name = bound ? NULL : state_handle(t->s, value->u.id)->name;
    if (bound || (is_step && has_namesake(t, name))) {
        strbuf_addc(out, '_');
        return;
    }
    bind_variable(t, value, is_step || keeps_name(t, value) ? name : free_variable(t, name));
    strbuf_add(out, t->variable[slot_of(t, value)]);
}

static bool is_list_or_loop(const Value *value)
{
    return value->kind == VALUE_LOOP || (value->kind == VALUE_LIST && value->u.list.n > 0);
}

static void print_call(Trace *t, const CallRecord *call)
{
    bool is_step = call->step > 0;
    save_hidden(t, &call->result, is_step);
    StrBuf text = strbuf_new(t->ctx->arena);
    call_print(t->s, call, t->variable, &t->holder, &text);
    strbuf_add(t->out, "    ");
    if (is_list_or_loop(&call->result)) {
        strbuf_add(t->out, "let ");
        print_pattern(t, &call->result, is_step, t->out);
        strbuf_add(t->out, " = ");
    }
    const char *remark = is_step ? schedule_step_remark(t->s, call->step) : NULL;
    strbuf_addf(t->out, "%s;", text.text);
    if (is_step && schedule_step_reassociates(t->s, call->step))
        strbuf_add(t->out, "  // changes the order of floating-point additions");
    if (remark)
        strbuf_addf(t->out, "  // %s", remark);
    strbuf_addc(t->out, '\n');
}

/* The comments before the call at work. */
static void print_comments(Trace *t, int *comment)
{
    for (; *comment < t->s->comments.n && t->s->comments.items[*comment].call <= t->call;
         ++*comment)
        strbuf_addf(t->out, "    // %s\n", t->s->comments.items[*comment].text);
}

void schedule_trace(const Schedule *s, Name schedule_name, StrBuf *out)
{
    Trace t = {.s = s, .ctx = s->ctx, .out = out};
    t.last_use = ARENA_ARRAY(s->ctx->arena, int, s->handles.n);
    t.variable = ARENA_ARRAY(s->ctx->arena, Name, s->handles.n);
    for (int i = 0; i < s->handles.n; i++)
        t.last_use[i] = -1;
    for (int i = 0; i < s->calls.n; i++)
        for (int a = 0; a < s->calls.items[i].n_args; a++)
            note_uses(&t, &s->calls.items[i].args[a], i);
    strbuf_addf(out, "schedule %s for %s\n{\n", schedule_name, s->kernel->name);
    int comment = 0;
    for (t.call = 0; t.call < s->calls.n; t.call++) {
        print_comments(&t, &comment);
        const CallRecord *call = &s->calls.items[t.call];
        if (call->step > 0 || has_wanted(&t, &call->result))
            print_call(&t, call);
        t.step = call->step > 0 ? call->step : t.step;
    }
    print_comments(&t, &comment);
    strbuf_add(out, "}\n");
}
