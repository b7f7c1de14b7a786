/* warps.c - Checks that the threads of a warp, or a warpgroup, run its instructions together.
 *
 * Such an instruction has no meaning where some of its threads are elsewhere: no condition or
 * range of a loop around it may differ between them. A value differs if it comes from threadIdx.x
 * or from memory that a thread writes. */
#include "passes/lower/threads/warps.h"

#include "ir/copies/roles.h"
#include "ir/instruction.h"
#include "passes/analysis/threads/launch.h"

typedef struct {
    Context *c;
    VEC(const Var *) differing;
    const Stmt *around; /* the innermost statement that sends threads different ways, or NULL */
    bool failed;
} Warps;

static bool differs(const Warps *w, const Expr *e)
{
    for (Cursor at = cursor_expr(w->c, e); cursor_next(&at);) {
        if (at.expr->kind == EX_LOAD && at.expr->u.load.buffer->role != ROLE_IN)
            return true;
        if (at.expr->kind == EX_AXIS && at.expr->u.axis == AXIS_THREAD_X)
            return true;
        for (int i = 0; at.expr->kind == EX_VAR && i < w->differing.n; i++)
            if (w->differing.items[i] == at.expr->u.var)
                return true;
    }
    return false;
}

static void refuse(Warps *w, const Stmt *s)
{
    const Instruction *of = s->u.instruction.of;
    if (of->lanes == 1 || !w->around)
        return;
    diag_error(w->c, E0521, s->span,
               "the %lld threads of a warp%s run instruction '%s' together, but what stands around "
               "it sends some of them another way",
               (long long)of->lanes, of->lanes == LANES_WARPGROUP ? "group" : "", of->kernel->name);
    diag_note(w->c, w->around->span, "here");
    w->failed = true;
}

/* It shuffles any values: what the exchanges of reductions do is checked where they are made. */
static const Expr *shuffle_in(Context *c, const Stmt *s)
{
    for (int i = 0; i < stmt_operands(s); i++)
        for (Cursor at = cursor_expr(c, stmt_operand(s, i)); cursor_next(&at);)
            if (at.expr->kind == EX_SHUFFLE)
                return at.expr;
    return NULL;
}

static void refuse_shuffle(Warps *w, const Expr *e)
{
    diag_error(w->c, E0524, e->span,
               "memory of a warp is read here by all its lanes together, but what stands around it "
               "sends some of them another way");
    diag_note(w->c, w->around->span, "here");
    w->failed = true;
}

static Stmt *check(void *user, Stmt *s)
{
    Warps *w = user;
    const Stmt *outer = w->around;
    if (s->kind == ST_INSTRUCTION)
        refuse(w, s);
    const Expr *shuffle = w->around ? shuffle_in(w->c, s) : NULL;
    if (shuffle)
        refuse_shuffle(w, shuffle);
    if (s->kind == ST_LET && differs(w, s->u.let.value))
        VEC_PUSH(w->c->arena, &w->differing, s->u.let.var);
    if (s->kind == ST_IF && differs(w, s->u.cond.cond))
        w->around = s;
    if (s->kind == ST_FOR && (differs(w, s->u.loop.lo) || differs(w, s->u.loop.hi))) {
        VEC_PUSH(w->c->arena, &w->differing, s->u.loop.var);
        w->around = s;
    }
    Stmt *done = stmt_map_children(w->c, s, check, w);
    w->around = outer;
    return done;
}

bool warps_together(Context *c, const Stmt *launch)
{
    Warps w = {.c = c};
    check(&w, launch->u.launch.body);
    return !w.failed;
}

bool warps_bound(Context *c, const Stmt *root)
{
    StmtList blocks = stmts_of_kind(c, (Stmt *)root, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++) {
        const BlockStmt *block = &blocks.items[i]->u.block;
        StmtPath path = {0};
        bool every;
        if (!block->instruction || block->instruction->lanes == 1)
            continue;
        stmt_find(c, (Stmt *)root, block->id, &path);
        if (thread_loop(c, &path, AXIS_THREAD_X, &every))
            continue;
        diag_error(
            c, E0850, blocks.items[i]->span,
            "block '%s' is not what instruction '%s' computes: %lld threads run it together, "
            "but no loop around it is bound to threadIdx.x",
            block->name, block->instruction->kernel->name, (long long)block->instruction->lanes);
        return false;
    }
    return true;
}

SyncKind warps_meet(Threads *t)
{
    static const int64_t sizes[] = {ROLE_WARPGROUP, ROLE_WARP};
    int64_t part = threads_parted(t, sizes, 2);
    return part == ROLE_WARP ? SYNC_WARP : part > 0 ? SYNC_WARPGROUP : SYNC_THREADS;
}
