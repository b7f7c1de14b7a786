/* args.c - Looks up primitives in their table and checks the arguments of calls.
 *
 * Checks every call against the parameters in its row of prim.def, so that no primitive checks the
 * kind of its arguments. */
#include <ctype.h>
#include <string.h>

#include "passes/schedule/enter.h"
#include "passes/schedule/flow.h"

#define ARG(name, kind)      {#name, PARAM_##kind, .list = false},
#define OPT(name, kind)      {#name, PARAM_##kind, .optional = true},
#define LIST(name, kind)     {#name, PARAM_##kind, .list = true},
#define OPT_LIST(name, kind) {#name, PARAM_##kind, .list = true, .optional = true},
#define REST(name, kind)     {#name, PARAM_##kind, .variadic = true},
#define NO_ARGS
#define PRIM(name, params, returns, query, summary, before, steps, after, legal, tvm)              \
    static const PrimParam params_##name[] = {params{0}};
#include "passes/schedule/tables/prim.def"
#undef PRIM

static const Primitive primitives[] = {
#define PRIM(name, params, returns, query, summary, before, steps, after, legal, tvm)              \
    {#name,   params_##name, (int)(sizeof params_##name / sizeof *params_##name) - 1,              \
     returns, summary,       before,                                                               \
     steps,   after,         legal,                                                                \
     tvm,     query,         prim_##name},
#include "passes/schedule/tables/prim.def"
#undef PRIM
};

const Primitive *primitive_table(int *n)
{
    *n = (int)(sizeof primitives / sizeof *primitives);
    return primitives;
}

const Primitive *primitive_find(const char *name)
{
    for (const Primitive *p = primitives; p < primitives + sizeof primitives / sizeof *p; p++)
        if (word_is(p->name, name))
            return p;
    return NULL;
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* What a parameter takes, in the words of a refusal. */
static const char *kind_wanted(ParamKind kind)
{
    switch (kind) {
    case PARAM_LOOP: return "a loop";
    case PARAM_BLOCK: return "a block";
    case PARAM_BUFFER: return "a buffer";
    case PARAM_INT: return "an integer";
    case PARAM_BOOL: return "true or false";
    case PARAM_SCOPE: return "a scope: global, shared or local";
    case PARAM_AXIS: return "an axis such as blockIdx.x or threadIdx.y";
    case PARAM_KEY: return "an identifier";
    case PARAM_TEXT: return "a string";
    case PARAM_FACTOR: return "an integer of at least 1, or _";
    case PARAM_LENGTH: return "an integer of at least 1, a loop, or _";
    case PARAM_AMOUNT: return "an integer, or auto";
    case PARAM_NODE: return "a loop or a block";
    case PARAM_NEST: return "a loop or a list of loops";
    case PARAM_MAP: return "an index map such as [i, j] -> [j, i]";
    case PARAM_TRUTH: return "a condition on sizes such as N % 4 == 0";
    case PARAM_ANY: return "a value";
    }
    return "";
}

void primitive_usage(const Primitive *primitive, StrBuf *out)
{
    strbuf_addf(out, "%s(", primitive->name);
    for (int i = 0; i < primitive->n_params; i++) {
        const PrimParam *param = &primitive->params[i];
        strbuf_addf(out, "%s%s%s%s", i ? ", " : "", param->name, param->variadic ? "..." : "",
                    param->optional ? " (optional)" : "");
    }
    strbuf_addc(out, ')');
}

/* ---- names in the kernel --------------------------------------------------------------------- */

/* "; did you mean 'X'?", or "". */
static const char *suggestion(Schedule *s, const char *near)
{
    return near ? arena_printf(s->ctx->arena, "; did you mean '%s'?", near) : "";
}

/* Lists the names of all handles of a kind: "A, B, C". */
static const char *names_of(Schedule *s, HandleKind kind, const char *word, const char **near)
{
    VEC(const char *) words = {0};
    StrBuf text = strbuf_new(s->ctx->arena);
    for (int i = 0; i < s->handles.n; i++) {
        const Handle *handle = &s->handles.items[i];
        if (handle->kind != kind || !handle->alive)
            continue;
        if (words.n < 20)
            strbuf_addf(&text, "%s%s", words.n ? ", " : "", handle->name);
        VEC_PUSH(s->ctx->arena, &words, handle->name);
    }
    if (words.n > 20)
        strbuf_addf(&text, " and %d more", words.n - 20);
    *near = diag_suggest(word, words.items, words.n);
    return words.n ? text.text : "none";
}

/* After an error about `word`: false, with the name nearest to it as a remedy. */
static bool with_remedy(Schedule *s, Span span, const char *word, const char *near)
{
    if (near)
        diag_remedy(s->ctx, span, word, near);
    return false;
}

/* ---- checking one value ---------------------------------------------------------------------- */

typedef struct {
    Schedule *s;
    const PrimParam *param;
    Span span; /* of the value, or of the call where it has none */
} ArgPlace;

static bool refuse_kind(const ArgPlace *p, const Value *value)
{
    const char *found = value_kind_name(value->kind);
    if (value->kind == VALUE_SIZES)
        return sched_refuse(p->s, E0313, p->span,
                            "argument '%s' takes %s, but '%s' has no value before a launch; set "
                            "the sizes with -D",
                            p->param->name, kind_wanted(p->param->kind),
                            expr_text(p->s->ctx, value->u.sizes));
    if (value->kind == VALUE_INT)
        found = arena_printf(p->s->ctx->arena, "%lld", (long long)value->u.i);
    else if (value->kind == VALUE_WORD || value->kind == VALUE_STRING)
        found = arena_printf(p->s->ctx->arena, "'%s'", value->u.s);
    return sched_refuse(p->s, E0401, p->span, "argument '%s' takes %s, found %s", p->param->name,
                        kind_wanted(p->param->kind), found);
}

/* "at line 7" of the schedule, or "". */
static const char *at_line(Schedule *s, Span span)
{
    const Source *source = span.source ? source_get(s->ctx, span.source) : NULL;
    if (!source)
        return "";
    int line, column;
    source_position(source, span.begin, &line, &column);
    return arena_printf(s->ctx->arena, ", at line %d", line);
}

static bool check_alive(const ArgPlace *p, const Value *value, Value *out)
{
    Schedule *s = p->s;
    const Handle *handle = state_handle(s, value->u.id);
    REQUIRE(
        s, E0402, p->span, handle != NULL,
        "argument '%s' is %s of another schedule; get it from this schedule with loops or block",
        p->param->name, value_kind_name(value->kind));
    if (!handle->alive) {
        int step = handle->consumed;
        REQUIRE(s, E0402, p->span, !enter_is_outside(s, value->u.id),
                "'%s' is outside of the loop that the schedule has entered; call leave first",
                handle->name);
        REQUIRE(s, E0402, p->span, step > 0 && step <= s->steps.n, "'%s' no longer exists",
                handle->name);
        sched_refuse(s, E0402, p->span, "'%s' was consumed by step %d, %s%s; use its results",
                     handle->name, step, schedule_step_text(s, step),
                     at_line(s, schedule_step_span(s, step)));
        if (schedule_step_span(s, step).source)
            diag_note(s->ctx, schedule_step_span(s, step), "'%s' was consumed here", handle->name);
        return false;
    }
    *out = *value;
    return true;
}

static bool check_loop(const ArgPlace *p, const Value *value, Value *out)
{
    if (value->kind == VALUE_LOOP)
        return check_alive(p, value, out);
    if (value->kind != VALUE_WORD)
        return refuse_kind(p, value);
    return sched_refuse(p->s, E0401, p->span,
                        "argument '%s' takes a loop, and no variable is named '%s'; get the loops "
                        "of a block first, as in  let [i, j] = loops(NAME)",
                        p->param->name, value->u.s);
}

static bool check_nest(const ArgPlace *p, const Value *value, Value *out)
{
    if (value->kind != VALUE_LIST)
        return check_loop(p, value, out);
    for (int i = 0; i < value->u.list.n; i++)
        if (!check_loop(p, &value->u.list.items[i], out))
            return false;
    *out = *value;
    return true;
}

/* A block where a buffer is wanted stands for the one that it writes. */
static bool check_written(const ArgPlace *p, const Value *value, Value *out)
{
    StmtPath path = {0};
    if (!check_alive(p, value, out))
        return false;
    Buffer *buffer = flow_written(p->s, sched_node(p->s, value, &path));
    REQUIRE(p->s, E0401, p->span, buffer != NULL,
            "argument '%s' takes a buffer, and block '%s' writes several; give the buffer's name",
            p->param->name, path_end(&path)->u.block.name);
    *out = value_buffer(buffer);
    out->span = value->span;
    return true;
}

static bool check_named(const ArgPlace *p, const Value *value, ValueKind wanted, Value *out)
{
    Schedule *s = p->s;
    if (value->kind == wanted)
        return check_alive(p, value, out);
    if (value->kind == VALUE_BLOCK && wanted == VALUE_BUFFER)
        return check_written(p, value, out);
    if (value->kind != VALUE_WORD && value->kind != VALUE_STRING)
        return refuse_kind(p, value);
    bool block = wanted == VALUE_BLOCK;
    uint32_t id = block ? state_find_block(s, value->u.s) : state_find_buffer(s, value->u.s);
    if (id == 0) {
        const char *near;
        const char *all = names_of(s, block ? HANDLE_BLOCK : HANDLE_BUFFER, value->u.s, &near);
        const char *hint = suggestion(s, near);
        if (block && state_find_buffer(s, value->u.s))
            hint = ", only a buffer; a block is named by its label, or after the buffer it writes";
        if (block && enter_has_block_outside(s, value->u.s))
            hint = " inside of the loop that the schedule has entered; call leave first";
        sched_refuse(s, block ? E0403 : E0404, p->span,
                     "kernel '%s' has no %s called '%s'%s (it has: %s)", s->kernel->name,
                     block ? "block" : "buffer", value->u.s, hint, all);
        return with_remedy(s, value->span, value->u.s, near);
    }
    *out = (Value){.kind = wanted, .span = value->span};
    out->u.id = id;
    return true;
}

/* Virtual threads have axes by name alone: no launch has them. */
static const char *const virtual_axes[] = {"vthread", "vthread.x", "vthread.y", "vthread.z"};
enum {
    N_VIRTUAL = sizeof virtual_axes / sizeof *virtual_axes,
    MOST_WORDS = (int)SCOPE_COUNT + (int)AXIS_COUNT + N_VIRTUAL,
};

bool axis_is_virtual(const char *name)
{
    for (int i = 0; i < N_VIRTUAL; i++)
        if (strcmp(virtual_axes[i], name) == 0)
            return true;
    return false;
}

static const char *axis_word(int i)
{
    return i < AXIS_COUNT ? axis_name((Axis)i) : virtual_axes[i - AXIS_COUNT];
}

/* There is no such scope or axis; says which there are. */
static bool refuse_word(const ArgPlace *p, const Value *value, const char *const *words, int n)
{
    Schedule *s = p->s;
    bool scope = p->param->kind == PARAM_SCOPE;
    const char *near = diag_suggest(value->u.s, words, n);
    StrBuf all = strbuf_new(s->ctx->arena);
    for (int i = 0; i < n; i++)
        strbuf_addf(&all, "%s%s", i ? ", " : "", words[i]);
    sched_refuse(s, scope ? E0405 : E0406, p->span, "there is no %s '%s'%s (there are: %s)",
                 scope ? "scope" : "axis", value->u.s, suggestion(s, near), all.text);
    return with_remedy(s, value->span, value->u.s, near);
}

/* The names of scopes, or of axes. */
static bool check_word(const ArgPlace *p, const Value *value, Value *out)
{
    bool scope = p->param->kind == PARAM_SCOPE, known = false;
    const char *words[MOST_WORDS];
    int n = scope ? SCOPE_COUNT : AXIS_COUNT + N_VIRTUAL;
    if (value->kind != VALUE_WORD && value->kind != VALUE_STRING)
        return refuse_kind(p, value);
    for (int i = 0; i < n; i++) {
        words[i] = scope ? scope_name((Scope)i) : axis_word(i);
        known |= !strcmp(words[i], value->u.s);
    }
    if (!known)
        return refuse_word(p, value, words, n);
    *out = *value;
    out->kind = VALUE_WORD;
    return true;
}

static bool is_identifier(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    while (isalnum((unsigned char)*text) || *text == '_')
        text++;
    return *text == '\0';
}

static bool check_key(const ArgPlace *p, const Value *value, Value *out)
{
    if ((value->kind != VALUE_WORD && value->kind != VALUE_STRING) || !is_identifier(value->u.s))
        return refuse_kind(p, value);
    *out = *value;
    out->kind = VALUE_STRING;
    return true;
}

static bool check_factor(const ArgPlace *p, const Value *value, Value *out)
{
    if (value->kind != VALUE_INT && value->kind != VALUE_FILL)
        return refuse_kind(p, value);
    REQUIRE(p->s, E0407, p->span, value->kind == VALUE_FILL || value->u.i >= 1,
            "a factor is at least 1, found %lld; write _ to let tirc compute it",
            (long long)value->u.i);
    *out = *value;
    return true;
}

static bool check_length(const ArgPlace *p, const Value *value, Value *out)
{
    return value->kind == VALUE_LOOP ? check_alive(p, value, out) : check_factor(p, value, out);
}

static bool check_amount(const ArgPlace *p, const Value *value, Value *out)
{
    bool word = value->kind == VALUE_WORD || value->kind == VALUE_STRING;
    if (value->kind != VALUE_INT && !(word && strcmp(value->u.s, "auto") == 0))
        return refuse_kind(p, value);
    *out = *value;
    if (word)
        out->kind = VALUE_WORD;
    return true;
}

static bool check_kind(const ArgPlace *p, const Value *value, ValueKind wanted, Value *out)
{
    if (value->kind != wanted)
        return refuse_kind(p, value);
    *out = *value;
    return true;
}

static bool check_truth(const ArgPlace *p, const Value *value, Value *out)
{
    if (value->kind != VALUE_SIZES || value->u.sizes->type != DT_BOOL)
        return check_kind(p, value, VALUE_BOOL, out);
    *out = *value;
    return true;
}

static bool check_one(ArgPlace p, const Value *value, Value *out)
{
    if (value->span.source)
        p.span = value->span;
    switch (p.param->kind) {
    case PARAM_LOOP: return check_loop(&p, value, out);
    case PARAM_NEST: return check_nest(&p, value, out);
    case PARAM_BLOCK: return check_named(&p, value, VALUE_BLOCK, out);
    case PARAM_BUFFER: return check_named(&p, value, VALUE_BUFFER, out);
    case PARAM_NODE:
        if (value->kind == VALUE_LOOP)
            return check_alive(&p, value, out);
        return check_named(&p, value, VALUE_BLOCK, out);
    case PARAM_INT: return check_kind(&p, value, VALUE_INT, out);
    case PARAM_BOOL: return check_kind(&p, value, VALUE_BOOL, out);
    case PARAM_TEXT: return check_kind(&p, value, VALUE_STRING, out);
    case PARAM_SCOPE:
    case PARAM_AXIS: return check_word(&p, value, out);
    case PARAM_MAP: return check_kind(&p, value, VALUE_MAP, out);
    case PARAM_TRUTH: return check_truth(&p, value, out);
    case PARAM_KEY: return check_key(&p, value, out);
    case PARAM_FACTOR: return check_factor(&p, value, out);
    case PARAM_LENGTH: return check_length(&p, value, out);
    case PARAM_AMOUNT: return check_amount(&p, value, out);
    case PARAM_ANY: *out = *value; return true;
    }
    return false;
}

/* A parameter that takes a list gets one: of the value itself where it is none. */
static bool check_value(ArgPlace p, const Value *value, Value *out)
{
    if (!p.param->list && !p.param->variadic)
        return check_one(p, value, out);
    const Value *items = value->kind == VALUE_LIST ? value->u.list.items : value;
    int n = value->kind == VALUE_LIST ? value->u.list.n : 1;
    REQUIRE(p.s, E0400, p.span, n > 0,
            "argument '%s' needs at least one value, found an empty list", p.param->name);
    Value *checked = ARENA_ARRAY(p.s->ctx->arena, Value, n);
    for (int i = 0; i < n; i++)
        if (!check_one(p, &items[i], &checked[i]))
            return false;
    *out = value_of_items(checked, n, value->span);
    return true;
}

/* ---- the arguments of a call ----------------------------------------------------------------- */

static const char *usage(Schedule *s, const Primitive *primitive)
{
    StrBuf text = strbuf_new(s->ctx->arena);
    primitive_usage(primitive, &text);
    return text.text;
}

static int find_param(const PrimParam *params, int n, Name name)
{
    int at = 0;
    while (at < n && strcmp(params[at].name, name) != 0)
        at++;
    return at;
}

static bool refuse_unknown(Schedule *s, const Primitive *primitive, Name name, Span span)
{
    const char *words[PRIM_MAX_PARAMS];
    int n = primitive->n_params;
    for (int i = 0; i < n; i++)
        words[i] = primitive->params[i].name;
    return sched_refuse(s, E0400, span, "there is no argument '%s'%s; the call is %s", name,
                        suggestion(s, diag_suggest(name, words, n)), usage(s, primitive));
}

/* Which argument each parameter gets. */
typedef struct {
    int given[PRIM_MAX_PARAMS]; /* its place, or -1 */
    int rest;                   /* how many in a row a variadic one takes */
} Assignment;

static bool assign(Schedule *s, const Primitive *primitive, const GivenArgs *given, Assignment *a)
{
    const PrimParam *params = primitive->params;
    int next = 0, n_params = primitive->n_params;
    for (int i = 0; i < n_params; i++)
        a->given[i] = -1;
    for (int i = 0; i < given->n; i++) {
        int at = next;
        if (given->names && given->names[i]) {
            at = find_param(params, n_params, given->names[i]);
            if (at == n_params)
                return refuse_unknown(s, primitive, given->names[i], given->span);
        } else if (next > 0 && params[next - 1].variadic) {
            a->rest++;
            continue;
        } else {
            next++;
        }
        REQUIRE(s, E0400, given->span, at < n_params,
                "expected at most %d argument%s, found %d; the call is %s", n_params,
                n_params == 1 ? "" : "s", given->n, usage(s, primitive));
        REQUIRE(s, E0400, given->span, a->given[at] < 0,
                "argument '%s' is given twice; the call is %s", params[at].name,
                usage(s, primitive));
        a->given[at] = i;
        if (params[at].variadic)
            a->rest = 1;
    }
    return true;
}

bool args_check(Schedule *s, const Primitive *primitive, const GivenArgs *given, PrimCall *call)
{
    Assignment a = {0};
    *call = (PrimCall){.primitive = primitive, .span = given->span};
    if (!assign(s, primitive, given, &a))
        return false;
    for (int i = 0; i < primitive->n_params; i++) {
        const PrimParam *param = &primitive->params[i];
        REQUIRE(s, E0400, given->span, a.given[i] >= 0 || param->optional,
                "argument '%s' is missing; the call is %s", param->name, usage(s, primitive));
        if (a.given[i] < 0)
            continue;
        ArgPlace place = {s, param, given->span};
        Value value = given->args[a.given[i]];
        if (param->variadic && a.rest > 1)
            value = value_list(s, &given->args[a.given[i]], a.rest);
        if (!check_value(place, &value, &call->arg[i]))
            return false;
    }
    return true;
}
