/* start.c - see start.h. The rest of the schedule speaks of loops by their place around a block:
 * steps that are left out would have given them their names. */
#include "fuzz/start.h"

#include <stdio.h>
#include <string.h>

#include "passes/schedule/sched.h"

enum { MOST_REST = 16 };

/* ---- steps that ran, as steps to be drawn ---------------------------------------------------- */

/* A loop of the kernel, by a block that it stands around and its place. */
static bool pick_loop(Context *c, const Kernel *before, const Schedule *s, uint32_t id, Pick *pick)
{
    StmtPath path = {0};
    if (!stmt_find(c, before->body, id, &path))
        return false;
    StmtList blocks = stmts_of_kind(c, path_end(&path), ST_BLOCK);
    for (int i = 0; i + 1 < path.n; i++)
        pick->i += path.items[i]->kind == ST_FOR;
    if (blocks.n > 0)
        snprintf(pick->block, sizeof pick->block, "%s",
                 state_handle(s, blocks.items[0]->u.block.id)->name);
    return blocks.n > 0;
}

static bool pick_of(Context *c, const Kernel *before, const Schedule *s, const Value *value,
                    Pick *pick)
{
    *pick = (Pick){.kind = value->kind};
    switch (value->kind) {
    case VALUE_LOOP: return pick_loop(c, before, s, value->u.id, pick);
    case VALUE_BLOCK:
    case VALUE_BUFFER:
        snprintf(pick->name, sizeof pick->name, "%s", state_handle(s, value->u.id)->name);
        return true;
    case VALUE_WORD:
    case VALUE_STRING: snprintf(pick->name, sizeof pick->name, "%s", value->u.s); return true;
    case VALUE_INT:
    case VALUE_BOOL: pick->i = value->u.i; return true;
    case VALUE_NONE:
    case VALUE_FILL: return true;
    default: return false;
    }
}

/* False where a step cannot say it. */
static bool step_of_call(Context *c, const Schedule *s, const CallRecord *call, Step *step)
{
    const Kernel *before = schedule_kernel_after(s, call->step - 1);
    *step = (Step){.primitive = call->primitive, .n_args = call->n_args};
    for (int i = 0; i < call->n_args; i++) {
        const Value *value = &call->args[i];
        bool list = value->kind == VALUE_LIST;
        PickArg *arg = &step->args[i];
        *arg = (PickArg){.list = list, .n = list ? value->u.list.n : 1};
        if (arg->n > DRAW_ITEMS)
            return false;
        for (int k = 0; k < arg->n; k++)
            if (!pick_of(c, before, s, list ? &value->u.list.items[k] : value, &arg->items[k]))
                return false;
    }
    return true;
}

/* The steps behind the first `kept`. */
static StartRest rest_of(Context *c, const Schedule *s, int kept)
{
    StartRest rest = {.items = ARENA_ARRAY(c->arena, Step, s->calls.n + 1)};
    for (int i = 0; i < s->calls.n; i++)
        if (s->calls.items[i].step > kept &&
            step_of_call(c, s, &s->calls.items[i], &rest.items[rest.n]))
            rest.n++;
    return rest;
}

/* ---- the beginning --------------------------------------------------------------------------- */

bool start_is_rare(const Program *p)
{
    static const char *const steps[] = {"copy_bulk(", "multicast(", "specialize_warps(",
                                        "ping_pong(", "tensorize("};
    bool found = false;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        found |= p->n_own > 0 && strstr(p->text, steps[i]) != NULL;
    return found;
}

void start_draw(Trial *t, Random *r, bool rare)
{
    t->begun = t->program->n_own > 0 && (rare || random_below(r, 8) == 0);
    do
        t->schedule = (int)random_below(r, (uint64_t)t->program->n_schedules);
    while (t->begun && program_ships(t->program, t->schedule));
    t->behind = (int)random_below(r, MOST_REST);
}

static void go_back(Schedule *s, int kept)
{
    ScheduleMark mark = {.kernel = schedule_kernel_after(s, kept), .steps = kept};
    while (mark.calls < s->calls.n && s->calls.items[mark.calls].step <= kept)
        mark.calls++;
    schedule_go_back(s, &mark, NULL);
}

bool start_use(const Trial *t, const char *const *overrides, Use *use, StartRest *rest)
{
    if (!program_use(t->program, t->program->schedules[t->schedule], overrides, t->n_overrides,
                     use))
        return false;
    int n = schedule_steps(use->schedule), kept = n > t->behind ? n - t->behind : 0;
    *rest = rest_of(use->c, use->schedule, kept);
    go_back(use->schedule, kept);
    schedule_set_finder(use->schedule, (InstructionFinder){0}); /* which ended with the script */
    return true;
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* Another number in the place of one of the step, if it has one. */
static void change(Step *step, Random *r)
{
    static const int64_t numbers[] = {0, 1, 2, 3, 4, 5, 8, 16, 32, 64};
    PickArg *arg = step->n_args > 0 ? &step->args[random_below(r, (uint64_t)step->n_args)] : NULL;
    Pick *pick = arg && arg->n > 0 ? &arg->items[random_below(r, (uint64_t)arg->n)] : NULL;
    if (pick && (pick->kind == VALUE_INT || pick->kind == VALUE_LOOP))
        pick->i =
            pick->kind == VALUE_LOOP ? (int64_t)random_below(r, 5) : numbers[random_below(r, 10)];
}

bool start_next(StartRest *rest, Random *r, Step *step)
{
    uint64_t how = random_below(r, 12);
    if (how == 0)
        rest->at++;
    if (rest->at >= rest->n)
        return false;
    Step *next = &rest->items[rest->at];
    *step = *next;
    if (how == 1 && rest->at + 1 < rest->n) {
        *step = next[1];
        next[1] = *next;
    }
    if (how == 2)
        change(step, r);
    rest->at += how != 3; /* made twice */
    return true;
}
