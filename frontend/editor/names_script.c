/* names_script.c - Finds the names of schedules and procs, and those that they use of programs. */
#include <string.h>

#include "frontend/editor/internal.h"
#include "frontend/script/script.h"

/* A script with the kernels that it is for; of a proc, any. */
typedef struct {
    Walk *walk;
    const AstSchedule *schedule; /* NULL: a proc */
} ScriptWalk;

static void script_expr(ScriptWalk *s, const AstExpr *e);
static void script_stmt(ScriptWalk *s, const AstStmt *stmt);

/* ---- names of programs ----------------------------------------------------------------------- */

static bool is_for(const ScriptWalk *s, Name kernel)
{
    if (!s->schedule)
        return true;
    for (int i = 0; i < s->schedule->n_kernels; i++)
        if (s->schedule->kernels[i].text == kernel || !strcmp(s->schedule->kernels[i].text, "any"))
            return true;
    return false;
}

/* What the name means to schedules; the least comes first. */
static int rank_of(NamedKind kind)
{
    static const NamedKind ranks[] = {NAMED_BLOCK, NAMED_BUFFER, NAMED_TEMP, NAMED_SIZE};
    int n = sizeof ranks / sizeof *ranks;
    for (int i = 0; i < n; i++)
        if (ranks[i] == kind)
            return i;
    return n;
}

/* The block, buffer or size `name` of a kernel that the script is for; -1: none. */
static int find_in_kernels(const ScriptWalk *s, Name name)
{
    const NameIndex *index = s->walk->index;
    int best = -1, best_rank = rank_of(NAMED_KERNEL);
    for (int i = 0; i < index->items.n; i++) {
        const Named *named = &index->items.items[i];
        if (named->name != name || named->parent < 0 || rank_of(named->kind) >= best_rank)
            continue;
        const Named *parent = &index->items.items[named->parent];
        if (parent->kind != NAMED_KERNEL || !is_for(s, parent->name))
            continue;
        best = i;
        best_rank = rank_of(named->kind);
    }
    return best;
}

/* `hist_1` is the second block that writes `hist`, and `A_shared` a copy of `A`. */
static int find_derived(const ScriptWalk *s, Name name)
{
    const char *end = strrchr(name, '_');
    int found = -1;
    while (found < 0 && end && end > name) {
        found = find_in_kernels(s, interner_get(s->walk->c->names, name, (size_t)(end - name)));
        for (end--; end > name && *end != '_'; end--)
            continue;
    }
    return found;
}

static void use_word(ScriptWalk *s, Span span, Name name)
{
    int named = walk_find(s->walk, name);
    if (named < 0)
        named = find_in_kernels(s, name);
    if (named < 0)
        named = walk_find_item(s->walk, NAMED_INSTRUCTION, name);
    if (named < 0)
        named = find_derived(s, name);
    walk_use(s->walk, span, named);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void use_callee(Walk *w, AstName callee)
{
    NamedKind kind = primitive_find(callee.text) ? NAMED_PRIMITIVE : NAMED_PROC;
    int named = walk_find_item(w, kind, callee.text);
    if (kind == NAMED_PRIMITIVE && named < 0)
        named = walk_declare(w, &(Named){.kind = kind, .name = callee.text});
    walk_use(w, callee.span, named);
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* [i, j] -> [j, i]: the names on the left are those on the right. */
static void script_map(ScriptWalk *s, const AstExpr *e)
{
    int begin = walk_begin(s->walk);
    const AstExpr *from = e->u.map.lo;
    for (int i = 0; from->kind == AE_LIST && i < from->u.list.n; i++)
        if (from->u.list.items[i]->kind == AE_NAME)
            walk_declare_here(s->walk, &(Named){.kind = NAMED_VARIABLE,
                                                .name = from->u.list.items[i]->u.name,
                                                .span = from->u.list.items[i]->span,
                                                .whole = e->span});
    script_expr(s, e->u.map.hi);
    walk_end(s->walk, begin, e->span);
}

static void script_expr(ScriptWalk *s, const AstExpr *e)
{
    if (!e)
        return;
    if (e->kind == AE_MAP) {
        script_map(s, e);
        return;
    }
    if (e->kind == AE_NAME)
        use_word(s, e->span, e->u.name);
    if (e->kind == AE_CALL)
        use_callee(s->walk, e->u.call.callee);
    for (int i = 0; i < ast_operands(e); i++)
        script_expr(s, ast_operand(e, i));
}

/* ---- statements ------------------------------------------------------------------------------ */

static void declare_pattern(ScriptWalk *s, const AstPattern *p, NamedKind kind, const Named *like)
{
    for (int i = 0; p->kind == AP_LIST && i < p->n; i++)
        declare_pattern(s, &p->items[i], kind, like);
    if (p->kind != AP_NAME)
        return;
    Named named = *like;
    named.kind = kind;
    named.name = p->name;
    named.span = p->span;
    walk_declare_here(s->walk, &named);
}

static void script_seq(ScriptWalk *s, const AstStmt *body)
{
    int begin = walk_begin(s->walk);
    for (int i = 0; i < body->u.seq.n; i++)
        script_stmt(s, body->u.seq.items[i]);
    walk_end(s->walk, begin, body->span);
}

static void script_each(ScriptWalk *s, const AstStmt *stmt)
{
    int begin = walk_begin(s->walk);
    script_expr(s, stmt->u.each.value);
    declare_pattern(s, &stmt->u.each.pattern, NAMED_VARIABLE,
                    &(Named){.whole = stmt->span, .domain = stmt->u.each.value->span});
    script_stmt(s, stmt->u.each.body);
    walk_end(s->walk, begin, stmt->span);
}

static void script_tune_stmt(ScriptWalk *s, const AstStmt *stmt)
{
    AstName name = stmt->u.tune.name;
    int known = walk_find(s->walk, name.text);
    script_expr(s, stmt->u.tune.values);
    if (known >= 0 && s->walk->index->items.items[known].kind == NAMED_PARAMETER)
        walk_use(s->walk, name.span, known);
    else
        walk_declare_here(s->walk, &(Named){.kind = NAMED_VARIABLE,
                                            .name = name.text,
                                            .span = name.span,
                                            .whole = stmt->span,
                                            .domain = stmt->u.tune.values->span});
}

static void script_stmt(ScriptWalk *s, const AstStmt *stmt)
{
    switch (stmt->kind) {
    case AS_SEQ: script_seq(s, stmt); return;
    case AS_LET:
        script_expr(s, stmt->u.let.value);
        declare_pattern(s, &stmt->u.let.pattern, NAMED_VARIABLE,
                        &(Named){.whole = stmt->span, .domain = stmt->u.let.value->span});
        return;
    case AS_EACH: script_each(s, stmt); return;
    case AS_IF:
        script_expr(s, stmt->u.cond.cond);
        script_stmt(s, stmt->u.cond.then);
        if (stmt->u.cond.otherwise)
            script_stmt(s, stmt->u.cond.otherwise);
        return;
    case AS_TRY:
        script_stmt(s, stmt->u.attempt.body);
        if (stmt->u.attempt.otherwise)
            script_stmt(s, stmt->u.attempt.otherwise);
        return;
    case AS_ASSERT:
        script_expr(s, stmt->u.assertion.cond);
        script_expr(s, stmt->u.assertion.message);
        return;
    case AS_TUNE: script_tune_stmt(s, stmt); return;
    case AS_EXPR: script_expr(s, stmt->u.expr); return;
    case AS_RETURN: script_expr(s, stmt->u.value); return;
    default: return;
    }
}

/* ---- items ----------------------------------------------------------------------------------- */

static void declare_params(ScriptWalk *s, const AstScriptParam *params, int n)
{
    for (int i = 0; i < n; i++) {
        Span value = params[i].value ? params[i].value->span : span_none();
        script_expr(s, params[i].value);
        declare_pattern(s, &params[i].pattern, NAMED_PARAMETER,
                        &(Named){.whole = params[i].pattern.span, .domain = value});
    }
}

static void walk_schedule(Walk *w, const AstSchedule *schedule)
{
    ScriptWalk s = {w, schedule};
    int begin = walk_begin(w);
    w->parent = walk_declare(w, &(Named){.kind = NAMED_SCHEDULE,
                                         .name = schedule->name.text,
                                         .span = schedule->name.span,
                                         .whole = schedule->span});
    for (int i = 0; i < schedule->n_kernels; i++)
        walk_use(w, schedule->kernels[i].span,
                 walk_find_item(w, NAMED_KERNEL, schedule->kernels[i].text));
    declare_params(&s, schedule->params, schedule->n_params);
    script_stmt(&s, schedule->body);
    walk_end(w, begin, schedule->span);
    w->parent = -1;
}

static void walk_proc(Walk *w, const AstProc *proc)
{
    ScriptWalk s = {w, NULL};
    int begin = walk_begin(w);
    w->parent = walk_find_item(w, NAMED_PROC, proc->name.text);
    declare_params(&s, proc->params, proc->n_params);
    script_stmt(&s, proc->body);
    walk_end(w, begin, proc->span);
    w->parent = -1;
}

static void declare_procs(Walk *w, const AstFile *file)
{
    for (int i = 0; i < file->n_procs; i++)
        if (walk_find_item(w, NAMED_PROC, file->procs[i]->name.text) < 0)
            walk_declare(w, &(Named){.kind = NAMED_PROC,
                                     .name = file->procs[i]->name.text,
                                     .span = file->procs[i]->name.span,
                                     .whole = file->procs[i]->span});
}

/* The procs of includes and of the library; errors there are reported elsewhere. */
static void declare_procs_seen(Walk *w, const AstFile *file)
{
    ScriptFileList files = {0};
    DiagMark mark = diag_mark(w->c);
    script_files_seen(w->c, file, &files);
    diag_forget(w->c, mark);
    w->foreign = true;
    for (int i = 0; i < files.n; i++)
        if (files.items[i] != file)
            declare_procs(w, files.items[i]);
    w->foreign = false;
}

void walk_scripts(Walk *w, const AstFile *file)
{
    if (file->n_procs == 0 && file->n_schedules == 0)
        return;
    declare_procs(w, file);
    declare_procs_seen(w, file);
    for (int i = 0; i < file->n_procs; i++)
        walk_proc(w, file->procs[i]);
    for (int i = 0; i < file->n_schedules; i++)
        walk_schedule(w, file->schedules[i]);
}
