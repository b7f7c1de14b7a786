/* call.c - Evaluates calls in scripts: looks up primitives, then procs, then built-in functions. */
#include "frontend/script/internal.h"

#include <string.h>

/* ---- functions of scripts -------------------------------------------------------------------- */

static bool takes(Script *s, const AstExpr *call, int n, int wanted)
{
    if (n == wanted)
        return true;
    return script_error(s, E0308, call->span, "'%s' takes %d argument%s, found %d",
                        call->u.call.callee.text, wanted, wanted == 1 ? "" : "s", n);
}

static bool two_ints(Script *s, const AstExpr *call, const Value *args, int n, int64_t out[2])
{
    return takes(s, call, n, 2) && script_int(s, &args[0], "the first argument", &out[0]) &&
           script_int(s, &args[1], "the second argument", &out[1]);
}

static bool call_len(Script *s, const AstExpr *call, const Value *args, int n, Value *out)
{
    if (!takes(s, call, n, 1))
        return false;
    if (args[0].kind != VALUE_LIST)
        return script_error(s, E0304, args[0].span, "'len' takes a list, found %s",
                            value_kind_name(args[0].kind));
    *out = (Value){.kind = VALUE_INT, .span = call->span, .u.i = args[0].u.list.n};
    return true;
}

static bool call_ceildiv(Script *s, const AstExpr *call, const Value *args, int n, Value *out)
{
    int64_t x[2];
    if (!two_ints(s, call, args, n, x))
        return false;
    if (x[0] < 0 || x[1] <= 0)
        return script_error(
            s, E0305, call->span,
            "ceildiv(%lld, %lld): expected a dividend of at least 0 and a divisor of at least 1",
            (long long)x[0], (long long)x[1]);
    *out = (Value){.kind = VALUE_INT, .span = call->span, .u.i = x[0] / x[1] + (x[0] % x[1] != 0)};
    return true;
}

static bool call_min(Script *s, const AstExpr *call, const Value *args, int n, Value *out)
{
    int64_t x[2];
    if (!two_ints(s, call, args, n, x))
        return false;
    *out = (Value){.kind = VALUE_INT, .span = call->span, .u.i = x[0] < x[1] ? x[0] : x[1]};
    return true;
}

static bool call_max(Script *s, const AstExpr *call, const Value *args, int n, Value *out)
{
    int64_t x[2];
    if (!two_ints(s, call, args, n, x))
        return false;
    *out = (Value){.kind = VALUE_INT, .span = call->span, .u.i = x[0] > x[1] ? x[0] : x[1]};
    return true;
}

/* The functions of scripts that are no primitives; NULL: no such name. */
typedef bool BuiltinFunction(Script *s, const AstExpr *call, const Value *args, int n, Value *out);

static const struct {
    const char *name;
    BuiltinFunction *function;
} builtins[] = {
    {"len", call_len},
    {"ceildiv", call_ceildiv},
    {"min", call_min},
    {"max", call_max},
};

static BuiltinFunction *find_builtin(Name name)
{
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (!strcmp(builtins[i].name, name))
            return builtins[i].function;
    return NULL;
}

/* ---- procs ----------------------------------------------------------------------------------- */

/* Which argument a parameter takes: by name, else the next one by position; -1 for its default. */
static bool match_arguments(Script *s, const AstExpr *call, const AstProc *proc, int *argument)
{
    int position = 0;
    for (int p = 0; p < proc->n_params; p++)
        argument[p] = -1;
    for (int a = 0; a < call->u.call.n; a++) {
        const AstArg *arg = &call->u.call.args[a];
        int p = 0;
        if (!arg->name.text) {
            p = position++;
        } else {
            while (p < proc->n_params && (proc->params[p].pattern.kind != AP_NAME ||
                                          proc->params[p].pattern.name != arg->name.text))
                p++;
        }
        if (p >= proc->n_params)
            return script_error(s, E0308, arg->value->span,
                                arg->name.text ? "proc '%s' has no parameter '%s'"
                                               : "too many arguments for proc '%s'",
                                proc->name.text, arg->name.text);
        if (argument[p] >= 0)
            return script_error(s, E0308, arg->value->span,
                                "parameter %d of proc '%s' is given twice", p + 1, proc->name.text);
        argument[p] = a;
    }
    return true;
}

/* A proc, and the file that it stands in. */
typedef struct {
    const AstProc *proc;
    const AstFile *file;
} FoundProc;

static bool call_proc(Script *s, const AstExpr *call, FoundProc found, const Value *args,
                      Value *out)
{
    const AstProc *proc = found.proc;
    for (const Frame *f = s->frame; f; f = f->caller)
        if (f->proc == proc)
            return script_error(s, E0309, call->span,
                                "proc '%s' is called recursively; scripts cannot recurse",
                                proc->name.text);
    int *argument = ARENA_ARRAY(s->c->arena, int, proc->n_params + 1);
    if (!match_arguments(s, call, proc, argument))
        return false;
    if (s->calls == SCRIPT_CALLS)
        return script_error(s, E0318, call->span,
                            "calls of procs are nested more than %d levels deep", SCRIPT_CALLS);
    Frame frame = {.proc = proc, .file = found.file, .call = call->span, .caller = s->frame};
    Frame *outer = s->frame;
    bool ok = true;
    s->frame = &frame;
    s->calls++;
    for (int p = 0; ok && p < proc->n_params; p++) {
        Value v;
        if (argument[p] >= 0) {
            v = args[argument[p]];
        } else if (proc->params[p].value) {
            ok = script_eval(s, proc->params[p].value, &v);
        } else {
            ok = script_error(s, E0308, call->span, "proc '%s' takes %d argument%s, found %d",
                              proc->name.text, proc->n_params, proc->n_params == 1 ? "" : "s",
                              call->u.call.n);
        }
        ok = ok && script_bind_pattern(s, &proc->params[p].pattern, &v);
    }
    ok = ok && script_block(s, proc->body);
    script_unbind(s, NULL);
    s->frame = outer;
    s->calls--;
    *out = frame.result;
    out->span = call->span;
    return ok;
}

/* ---- a call ---------------------------------------------------------------------------------- */

/* All names that may be called, for suggestions. */
static int callable_names(Context *c, const AstFile *file, const char ***names)
{
    VEC(const char *) all = {0};
    int n;
    const Primitive *primitives = primitive_table(&n);
    for (int i = 0; i < n; i++)
        VEC_PUSH(c->arena, &all, primitives[i].name);
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        VEC_PUSH(c->arena, &all, builtins[i].name);
    for (int i = 0; file && i < file->n_procs; i++)
        VEC_PUSH(c->arena, &all, file->procs[i]->name.text);
    *names = all.items;
    return all.n;
}

/* The primitive that TVM calls by that name, and tirc by another; NULL if there is none. */
static const char *known_to_tvm_as(Name name)
{
    int n;
    const Primitive *primitives = primitive_table(&n);
    for (int i = 0; i < n; i++)
        if (!strcmp(primitives[i].tvm, name))
            return primitives[i].name;
    return NULL;
}

/* `format` names the two. */
static bool wrong_name(Script *s, const AstExpr *call, const char *right, const char *format)
{
    AstName callee = call->u.call.callee;
    diag_error(s->c, E0303, callee.span, format, callee.text, right);
    diag_remedy(s->c, callee.span, callee.text, right);
    script_note_callers(s);
    return false;
}

static bool no_such_function(Script *s, const AstExpr *call)
{
    const char **names;
    Name callee = call->u.call.callee.text;
    const char *here = known_to_tvm_as(callee);
    if (here)
        return wrong_name(s, call, here,
                          "unknown primitive '%s'; TVM's primitive of this name is called '%s' "
                          "here");
    int n = callable_names(s->c, s->frame->file, &names);
    const char *near = diag_suggest(callee, names, n);
    if (near)
        return wrong_name(s, call, near,
                          "unknown primitive, proc or function '%s'; did you mean '%s'?");
    return script_error(s, E0303, call->u.call.callee.span,
                        "unknown primitive, proc or function '%s'; `tirc --help primitives` "
                        "lists the primitives",
                        callee);
}

/* The last step, if there is a new one, comes from this call: in the schedule, or in a proc that
 * the schedule has called. */
static void note_sites(Script *s, Span call)
{
    for (const Frame *f = s->frame; f->proc; f = f->caller)
        call = f->call;
    int steps = schedule_steps(s->schedule);
    s->sites.n = s->sites.n < steps ? s->sites.n : steps;
    while (s->sites.n < steps)
        VEC_PUSH(s->c->arena, &s->sites, call);
}

static bool call_primitive(Script *s, const AstExpr *call, const Primitive *primitive,
                           const Value *args, Value *out)
{
    int n = call->u.call.n;
    Name *names = ARENA_ARRAY(s->c->arena, Name, n + 1);
    for (int i = 0; i < n; i++)
        names[i] = call->u.call.args[i].name.text;
    bool ok =
        schedule_call(s->schedule, primitive,
                      &(GivenArgs){.args = args, .names = names, .n = n, .span = call->span}, out);
    if (!ok)
        script_note_callers(s);
    note_sites(s, call->span);
    out->span = call->span;
    return ok;
}

/* Primitives look at all of a list, and write it down. */
static bool spend_list(Script *s, const Value *value)
{
    return value->kind != VALUE_LIST || script_spend(s, value->u.list.total, value->span);
}

bool script_call(Script *s, const AstExpr *call, Value *out)
{
    Name callee = call->u.call.callee.text;
    const Primitive *primitive = primitive_find(callee);
    const AstFile *file = NULL;
    const AstProc *proc = primitive ? NULL : script_find_proc(s->c, s->frame->file, callee, &file);
    BuiltinFunction *builtin = primitive || proc ? NULL : find_builtin(callee);
    if (!primitive && !proc && !builtin)
        return no_such_function(s, call);
    int n = call->u.call.n;
    if (!script_spend(s, SCRIPT_CALL, call->span))
        return false;
    Value *args = ARENA_ARRAY(s->c->arena, Value, n + 1);
    for (int i = 0; i < n; i++)
        if (!script_eval(s, call->u.call.args[i].value, &args[i]) || !spend_list(s, &args[i]))
            return false;
    if (primitive)
        return call_primitive(s, call, primitive, args, out);
    if (proc)
        return call_proc(s, call, (FoundProc){proc, file}, args, out);
    for (int i = 0; i < n; i++)
        if (call->u.call.args[i].name.text)
            return script_error(s, E0308, call->u.call.args[i].name.span,
                                "'%s' takes its arguments by position", callee);
    return builtin(s, call, args, n, out);
}
