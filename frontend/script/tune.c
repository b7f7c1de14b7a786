/* tune.c - Sets the open parameters of a schedule: --set NAME=VALUE, and tune NAME in VALUES.
 *
 * A name that is a parameter of the schedule has its value from there, and the list only says what
 * else a tuner may try. Any other name is declared by its `tune`: it takes the first value of the
 * list, or the one of the list that --set names. Every decision is recorded, so that a caller can
 * enumerate the space and set each of its points. */
#include "frontend/script/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- settings -------------------------------------------------------------------------------- */

/* "8", "0x10", "true", "shared" */
static Value read_value(Context *c, const char *text, size_t length)
{
    const char *word = interner_get(c->names, text, length);
    char *end;
    long long i = strtoll(word, &end, 0);
    if (length > 0 && *end == 0)
        return (Value){.kind = VALUE_INT, .u.i = i};
    if (!strcmp(word, "true") || !strcmp(word, "false"))
        return (Value){.kind = VALUE_BOOL, .u.i = word[0] == 't'};
    return (Value){.kind = VALUE_WORD, .u.s = word};
}

/* "[4, 8]"; false where a bracket or a value is missing. */
static bool read_list(Context *c, const char *text, Value *out)
{
    VEC(Value) items = {0};
    const char *at = text + 1;
    do {
        at += strspn(at, " ");
        size_t length = strcspn(at, ",] []");
        if (length == 0)
            return false;
        VEC_PUSH(c->arena, &items, read_value(c, at, length));
        at += length;
        at += strspn(at, " ");
    } while (*at++ == ',');
    *out = value_of_items(items.items, items.n, span_none());
    return at[-1] == ']' && *at == 0;
}

bool script_setting_parse(Context *c, const char *text, ScriptSetting *out)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1]) {
        diag_error(c, E0312, span_none(), "'--set %s': expected NAME=VALUE", text);
        return false;
    }
    out->name = interner_get(c->names, text, (size_t)(equals - text));
    if (equals[1] != '[') {
        out->value = read_value(c, equals + 1, strlen(equals + 1));
        return true;
    }
    if (read_list(c, equals + 1, &out->value))
        return true;
    diag_error(c, E0312, span_none(), "'--set %s': write a list as [4, 8]", text);
    return false;
}

const Value *script_setting(const Script *s, Name name)
{
    for (int i = s->n_settings - 1; i >= 0; i--)
        if (s->settings[i].name == name)
            return &s->settings[i].value;
    return NULL;
}

/* ---- the names that can be set --------------------------------------------------------------- */

static bool is_parameter(const AstSchedule *schedule, Name name)
{
    for (int i = 0; i < schedule->n_params; i++)
        if (schedule->params[i].pattern.name == name)
            return true;
    return false;
}

/* Adds every `tune` below, in the order of the text. */
static void find_tunes(Context *c, const AstStmt *stmt, TuneList *out)
{
    switch (stmt->kind) {
    case AS_SEQ:
        for (int i = 0; i < stmt->u.seq.n; i++)
            find_tunes(c, stmt->u.seq.items[i], out);
        return;
    case AS_EACH: find_tunes(c, stmt->u.each.body, out); return;
    case AS_IF:
        find_tunes(c, stmt->u.cond.then, out);
        if (stmt->u.cond.otherwise)
            find_tunes(c, stmt->u.cond.otherwise, out);
        return;
    case AS_TRY:
        find_tunes(c, stmt->u.attempt.body, out);
        if (stmt->u.attempt.otherwise)
            find_tunes(c, stmt->u.attempt.otherwise, out);
        return;
    case AS_TUNE:
        VEC_PUSH(c->arena, out, ((Tune){stmt->u.tune.name.text, stmt->u.tune.values}));
        return;
    default: return;
    }
}

void script_tunes(Context *c, const FoundSchedule *found, TuneList *out)
{
    find_tunes(c, found->schedule->body, out);
}

bool script_tune_values(Context *c, const FoundSchedule *found, const Tune *tune, Value *list)
{
    Frame frame = {.file = found->file};
    Kernel no_sizes = {0};
    Script s = {.c = c,
                .kernel = &no_sizes,
                .frame = &frame,
                .ast = found->schedule,
                .budget = SCRIPT_BUDGET};
    DiagMark mark = diag_mark(c);
    if (tune->values->kind == AE_LIST && script_eval(&s, tune->values, list))
        return true;
    diag_forget(c, mark);
    return false;
}

static void note_parameters(Context *c, const char *const *names, int n)
{
    StrBuf list = strbuf_new(c->arena);
    for (int i = 0; i < n; i++)
        strbuf_addf(&list, "%s%s", i ? ", " : "", names[i]);
    diag_note(c, span_none(), n ? "its parameters: %s" : "it has no parameters%s", list.text);
}

bool script_check_settings(Script *s)
{
    TuneList tunes = {0};
    VEC(const char *) names = {0};
    find_tunes(s->c, s->ast->body, &tunes);
    for (int p = 0; p < s->ast->n_params; p++)
        VEC_PUSH(s->c->arena, &names, s->ast->params[p].pattern.name);
    for (int i = 0; i < tunes.n; i++)
        if (!is_parameter(s->ast, tunes.items[i].name))
            VEC_PUSH(s->c->arena, &names, tunes.items[i].name);
    for (int i = 0; i < s->n_settings; i++) {
        bool known = false;
        for (int k = 0; k < names.n; k++)
            known |= names.items[k] == s->settings[i].name;
        if (known)
            continue;
        diag_error(s->c, E0312, s->ast->name.span, "schedule '%s' has no parameter '%s'",
                   s->ast->name.text, s->settings[i].name);
        const char *near = diag_suggest(s->settings[i].name, names.items, names.n);
        if (near)
            diag_note(s->c, span_none(), "did you mean '%s'?", near);
        else
            note_parameters(s->c, names.items, names.n);
        return false;
    }
    return true;
}

/* ---- tune NAME in VALUES --------------------------------------------------------------------- */

enum { CHOICES_SHOWN = 8 };

/* "[1, 16], [2, 8] and 3 more" */
static const char *choices_text(Script *s, const Value *choices)
{
    StrBuf text = strbuf_new(s->c->arena);
    int n = choices->u.list.n, shown = n > CHOICES_SHOWN ? CHOICES_SHOWN : n;
    for (int i = 0; i < shown; i++) {
        strbuf_add(&text, i ? ", " : "");
        script_value_text(&choices->u.list.items[i], &text);
    }
    if (shown < n)
        strbuf_addf(&text, " and %d more", n - shown);
    return text.text;
}

/* A choice as a setting gives it: a loop, a block or a buffer by its name. */
static Value choice_word(const Script *s, const Value *choice)
{
    bool named =
        choice->kind == VALUE_LOOP || choice->kind == VALUE_BLOCK || choice->kind == VALUE_BUFFER;
    Value word = {.kind = VALUE_WORD, .span = choice->span};
    if (!named)
        return *choice;
    word.u.s = schedule_name_of(s->schedule, choice);
    return word;
}

/* The list of all choices as settings give them. */
static Value choice_words(const Script *s, const Value *choices)
{
    int n = choices->u.list.n;
    Value *words = ARENA_ARRAY(s->c->arena, Value, n);
    for (int i = 0; i < n; i++)
        words[i] = choice_word(s, &choices->u.list.items[i]);
    return value_of_items(words, n, choices->span);
}

/* The place of a word in a list; -1 if it is not there. */
static int find_choice(const Value *word, const Value *words)
{
    for (int i = 0; i < words->u.list.n; i++)
        if (script_value_equal(word, &words->u.list.items[i]))
            return i;
    return -1;
}

/* No two loops of the choices have one name, which a setting could not tell apart. */
static bool require_apart(Script *s, const AstStmt *stmt, const Value *choices, const Value *words)
{
    for (int i = 0; i < words->u.list.n; i++) {
        const Value *word = &words->u.list.items[i], *choice = &choices->u.list.items[i];
        int first = find_choice(word, words);
        if (!script_value_equal(choice, &choices->u.list.items[first]))
            return script_error(s, E0315, stmt->u.tune.values->span,
                                "two of the choices are %ss named '%s', which --set could not "
                                "tell apart; give one another name, as in  let [other] = "
                                "split(loop, [_])",
                                value_kind_name(choice->kind) + strlen("a "), word->u.s);
    }
    return true;
}

/* The value of a name that is no parameter: what was set, or the first choice. */
static bool declare(Script *s, const AstStmt *stmt, const Value *choices, Value *value)
{
    Name name = stmt->u.tune.name.text;
    const Value *set = script_setting(s, name), words = choice_words(s, choices);
    int choice = set ? find_choice(set, &words) : 0;
    if (!require_apart(s, stmt, choices, &words))
        return false;
    if (choice < 0) {
        StrBuf text = strbuf_new(s->c->arena);
        script_value_text(set, &text);
        return script_error(s, E0317, stmt->u.tune.values->span,
                            "'%s' cannot be %s; choose one of %s", name, text.text,
                            choices_text(s, &words));
    }
    *value = choices->u.list.items[choice];
    value->span = stmt->u.tune.name.span;
    script_bind(s, name, value);
    return true;
}

static bool require_new(Script *s, const AstStmt *stmt)
{
    int n;
    Name name = stmt->u.tune.name.text;
    const Knob *knobs = schedule_knobs(s->schedule, &n);
    for (int i = 0; i < n; i++)
        if (knobs[i].name == name)
            return script_error(
                s, E0315, stmt->u.tune.name.span,
                "'%s' is tuned twice; each tunable has one list of values, and --set sets it once",
                name);
    return true;
}

bool script_tune(Script *s, const AstStmt *stmt)
{
    Value choices, value;
    Name name = stmt->u.tune.name.text;
    const Binding *known = script_lookup(s, name);
    bool parameter = is_parameter(s->ast, name);
    if (s->frame->proc || (known && !parameter))
        return script_error(s, E0315, stmt->u.tune.name.span,
                            s->frame->proc
                                ? "'%s' is tuned in a proc; tunables belong to the schedule: tune "
                                  "the name there, and pass its value to the proc"
                                : "'%s' already has a value and is not a parameter of this "
                                  "schedule; choose another name to tune",
                            name);
    if (!require_new(s, stmt) || !script_eval(s, stmt->u.tune.values, &choices))
        return false;
    if (choices.kind != VALUE_LIST || choices.u.list.n == 0)
        return script_error(
            s, E0304, stmt->u.tune.values->span, "'tune' expects a list of values to try, found %s",
            choices.kind == VALUE_LIST ? "an empty list" : value_kind_name(choices.kind));
    if (parameter)
        value = known->value;
    else if (!declare(s, stmt, &choices, &value))
        return false;
    schedule_add_knob(s->schedule, (Knob){name, choice_word(s, &value), choice_words(s, &choices)});
    return true;
}
