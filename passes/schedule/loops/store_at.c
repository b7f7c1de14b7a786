/* store_at.c - Implements store_at: declares a temporary in the body of a loop; temporaries lists
 * candidates.
 *
 *   temp s: f32;                          for i in M {
 *   for i in M {                              temp s: f32;
 *       for k in K                    =>      for k in K
 *           s += x[i, k];                         s += x[i, k];
 *       y[i] = s;                             y[i] = s;
 *   }                                     }
 *
 * The name is Halide's. Each iteration then has the temporary for itself, as where the program
 * declares it there, so iterations that share nothing else can run at the same time: compilers
 * call this privatization.
 *
 * Legal: nothing outside of the loop accesses the temporary, and an iteration reads only elements
 * that it has written before. Loops around the temporary run in order.
 * Invariant: each read finds the same value, before and after. */
#include "passes/schedule/loops/loop.h"

/* Nothing around the loop runs its iterations at the same time. */
static bool check_loops(Schedule *s, const StmtPath *path, Span span)
{
    for (int i = 0; i < path->n; i++)
        if (path->items[i]->kind == ST_FOR && !sched_require_serial(s, path->items[i], span))
            return false;
    return true;
}

static int count_accesses(Context *c, const Stmt *s, const Buffer *buffer)
{
    ArenaMark mark = arena_mark(c->arena);
    int n = access_list(c, s, buffer, ACCESS_ANY).n;
    arena_reset(c->arena, mark);
    return n;
}

static bool check_temp(Schedule *s, const Buffer *temp, const Stmt *loop, Span span)
{
    Context *c = s->ctx;
    REQUIRE(s, E0878, span, temp->role == ROLE_TEMP && temp->scope == SCOPE_GLOBAL,
            "'%s' is %s, and store_at takes a temporary in global memory", temp->name,
            temp->role == ROLE_TEMP ? "not in global memory" : "a parameter");
    REQUIRE_AT(s, E0878, span, !stmt_declares(c, loop, temp), loop,
               "loop '%s' declares '%s' already, or a loop in it does", stmt_label(loop),
               temp->name);
    int inside = count_accesses(c, loop, temp);
    REQUIRE_AT(s, E0878, span, inside > 0, loop, "nothing in loop '%s' accesses '%s'",
               stmt_label(loop), temp->name);
    REQUIRE_AT(s, E0878, span, inside == count_accesses(c, s->kernel->body, temp), loop,
               "statements outside of loop '%s' access '%s' too; name a loop around all of them",
               stmt_label(loop), temp->name);
    return true;
}

bool prim_store_at(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    StmtPath path = {0};
    Span span = call->store_at.temp.span;
    Buffer *temp = sched_buffer(s, call->store_at.temp.u.id);
    Stmt *loop = sched_node(s, &call->store_at.loop, &path);
    if (!check_loops(s, &path, call->store_at.loop.span) || !check_temp(s, temp, loop, span))
        return false;
    REQUIRE_AT(s, E0878, span, flow_written_in_iteration(s, s->kernel->body, &path, temp), loop,
               "an iteration of loop '%s' may read an element of '%s' that it has not written, so "
               "values pass from one iteration to another",
               stmt_label(loop), temp->name);
    Stmt *now = loop_with_body(c, loop, flow_declare(s, loop->u.loop.body, temp));
    const Stmt *moved = flow_moved_init(s, loop, now);
    REQUIRE_AT(s, E0878, span, !moved, loop,
               "the init of block '%s' stands before loop '%s' and would move into it; call "
               "decompose_reduction first",
               moved->u.block.name, stmt_label(loop));

    sched_replace_body(s, flow_declare_in(s, s->kernel->body, loop, temp));
    (void)result;
    return true;
}

/* ---- temporaries ----------------------------------------------------------------------------- */

static bool is_held(Schedule *s, const Stmt *loop, const Buffer *temp)
{
    Context *c = s->ctx;
    return temp->scope == SCOPE_GLOBAL && stmt_accesses(c, loop, temp, ACCESS_WRITE) &&
           !stmt_declares(c, loop, temp) &&
           count_accesses(c, loop, temp) == count_accesses(c, s->kernel->body, temp);
}

bool prim_temporaries(Schedule *s, const PrimCall *call, Value *result)
{
    const Stmt *loop = sched_node(s, &call->temporaries.loop, NULL);
    StmtList temps = stmts_of_kind(s->ctx, s->kernel->body, ST_TEMP);
    ValueList held = {0};
    for (int i = 0; i < temps.n; i++)
        if (is_held(s, loop, temps.items[i]->u.temp))
            VEC_PUSH(s->ctx->arena, &held, value_buffer(temps.items[i]->u.temp));
    *result = value_list(s, held.items, held.n);
    return true;
}
