/* state.c - Tracks the kernel of a schedule: handles, names, paths, replacement.
 *
 * Every loop, block and buffer is known by its id: what it is called, which loop or block it stands
 * in, which step made it and which removed it. Names are counted, so that a fresh one is found
 * without a look at the program. Replacing a statement updates both for that statement alone, and
 * rebuilds only the nodes above it, so that a step costs what it changes and not the size of the
 * program.
 *
 * Invariant: between steps, the handles that are alive and the names with uses are those of
 * `kernel`. */
#include <string.h>

#include "passes/schedule/enter.h"
#include "passes/shared/rebuild.h"

/* ---- names -> numbers ------------------------------------------------------------------------ */

static struct NameSlot *name_slot(const NameMap *map, Name name)
{
    uint64_t hash = (uint64_t)(uintptr_t)name * UINT64_C(0x9E3779B97F4A7C15);
    for (uint64_t at = hash >> 32;; at++) {
        struct NameSlot *slot = &map->slots[at & (uint64_t)(map->capacity - 1)];
        if (!slot->name || slot->name == name)
            return slot;
    }
}

uint32_t namemap_get(const NameMap *map, Name name)
{
    return map->n == 0 ? 0 : name_slot(map, name)->value;
}

void namemap_set(Arena *arena, NameMap *map, Name name, uint32_t value)
{
    if (2 * map->n >= map->capacity) {
        NameMap bigger = {NULL, map->n, map->capacity ? 2 * map->capacity : 64};
        bigger.slots = ARENA_ARRAY(arena, struct NameSlot, bigger.capacity);
        for (int i = 0; i < map->capacity; i++)
            if (map->slots[i].name)
                *name_slot(&bigger, map->slots[i].name) = map->slots[i];
        *map = bigger;
    }
    struct NameSlot *slot = name_slot(map, name);
    map->n += slot->name == NULL;
    *slot = (struct NameSlot){name, value};
}

NameUse *state_name(const Schedule *s, Name name)
{
    uint32_t at = namemap_get(&s->names, name);
    return at ? &s->uses.items[at - 1] : NULL;
}

static NameUse *name_use(Schedule *s, Name name)
{
    NameUse *use = state_name(s, name);
    if (use)
        return use;
    VEC_PUSH(s->ctx->arena, &s->uses, (NameUse){0});
    namemap_set(s->ctx->arena, &s->names, name, (uint32_t)s->uses.n);
    return &s->uses.items[s->uses.n - 1];
}

/* ---- ids -> handles -------------------------------------------------------------------------- */

Handle *state_handle(const Schedule *s, uint32_t id)
{
    if (id < s->first_id || id - s->first_id >= (uint32_t)s->handles.n)
        return NULL;
    Handle *handle = &s->handles.items[id - s->first_id];
    return handle->kind == HANDLE_NONE ? NULL : handle;
}

static uint32_t stmt_id(const Stmt *stmt)
{
    return stmt->kind == ST_FOR ? stmt->u.loop.id : stmt->kind == ST_BLOCK ? stmt->u.block.id : 0;
}

static Handle *handle_alive(Schedule *s, uint32_t id, HandleKind kind, Name name, uint32_t parent)
{
    while (id - s->first_id >= (uint32_t)s->handles.n)
        VEC_PUSH(s->ctx->arena, &s->handles, (Handle){0});
    Handle *handle = &s->handles.items[id - s->first_id];
    if (handle->kind == HANDLE_NONE)
        handle->born = s->step;
    handle->kind = kind;
    handle->alive = true;
    if (parent != handle->parent)
        handle->place = 0;
    handle->parent = parent;
    handle->name = name;
    return handle;
}

static void handle_dead(Schedule *s, uint32_t id)
{
    Handle *handle = state_handle(s, id);
    if (handle && handle->alive) {
        handle->alive = false;
        handle->consumed = s->step;
    }
}

typedef enum { OUTSIDE_BLOCKS, INSIDE_BLOCK } Inside;

/* Which ids and names the statements below hold; `parent` is 0 inside a block, whose statements
 * have no handles of their own but whose names count. */
static void enter_stmt(Schedule *s, const Stmt *stmt, uint32_t parent, Inside inside);

static void enter_buffer(Schedule *s, Buffer *buffer)
{
    handle_alive(s, buffer->id, HANDLE_BUFFER, buffer->name, 0)->buffer = buffer;
    NameUse *use = name_use(s, buffer->name);
    use->others++;
    use->buffer = buffer->id;
}

static void count_let(Schedule *s, const Stmt *let, int by)
{
    NameUse *use = name_use(s, let->u.let.var->name);
    use->others += by;
    use->lets += by;
}

static void count_block(Schedule *s, const BlockStmt *block, int by)
{
    name_use(s, block->name)->others += by;
    for (int i = 0; i < block->n_iters; i++)
        name_use(s, block->iters[i].var->name)->loops += by;
}

static void enter_block(Schedule *s, const BlockStmt *block, uint32_t parent)
{
    handle_alive(s, block->id, HANDLE_BLOCK, block->name, parent);
    count_block(s, block, 1);
    name_use(s, block->name)->block = block->id;
    enter_stmt(s, block->init, 0, INSIDE_BLOCK);
    enter_stmt(s, block->body, 0, INSIDE_BLOCK);
}

static void enter_stmt(Schedule *s, const Stmt *stmt, uint32_t parent, Inside inside)
{
    if (!stmt)
        return;
    switch (stmt->kind) {
    case ST_SEQ:
        for (int i = 0; i < stmt->u.seq.n; i++) {
            enter_stmt(s, stmt->u.seq.items[i], parent, inside);
            Handle *handle =
                inside == INSIDE_BLOCK ? NULL : state_handle(s, stmt_id(stmt->u.seq.items[i]));
            if (handle)
                handle->place = i;
        }
        return;
    case ST_FOR:
        name_use(s, stmt->u.loop.var->name)->loops++;
        if (inside != INSIDE_BLOCK)
            handle_alive(s, stmt->u.loop.id, HANDLE_LOOP, stmt->u.loop.var->name, parent);
        enter_stmt(s, stmt->u.loop.body, stmt->u.loop.id, inside);
        return;
    case ST_IF:
        enter_stmt(s, stmt->u.cond.then, parent, inside);
        enter_stmt(s, stmt->u.cond.otherwise, parent, inside);
        return;
    case ST_BLOCK: enter_block(s, &stmt->u.block, parent); return;
    case ST_TEMP: enter_buffer(s, stmt->u.temp); return;
    case ST_LET: count_let(s, stmt, 1); return;
    case ST_LAUNCH: enter_stmt(s, stmt->u.launch.body, parent, inside); return;
    case ST_STORE:
    case ST_BARRIER:
    case ST_BREAK:
    case ST_ROLES:
    case ST_INSTRUCTION: return;
    }
}

/* The reverse of enter_stmt. */
static void leave_stmt(Schedule *s, const Stmt *left)
{
    for (Cursor at = cursor_stmts(s->ctx, left); cursor_next(&at);) {
        const Stmt *stmt = at.stmt;
        if (stmt->kind == ST_FOR) {
            name_use(s, stmt->u.loop.var->name)->loops--;
            handle_dead(s, stmt->u.loop.id);
        } else if (stmt->kind == ST_BLOCK) {
            handle_dead(s, stmt->u.block.id);
            count_block(s, &stmt->u.block, -1);
        } else if (stmt->kind == ST_TEMP) {
            name_use(s, stmt->u.temp->name)->others--;
            handle_dead(s, stmt->u.temp->id);
        } else if (stmt->kind == ST_LET) {
            count_let(s, stmt, -1);
        }
    }
}

/* The names outside of a loop that the schedule has entered, and of the loops around, of which
 * sizes may have other names. */
static void count_outside(Schedule *s, const Entered *entered)
{
    for (int i = 0; i < entered->sizes.n; i++)
        name_use(s, entered->sizes.items[i].var->name)->others++;
    for (int i = 0; i < entered->whole->n_params; i++)
        if (entered->whole->params[i].buffer)
            name_use(s, entered->whole->params[i].buffer->name)->others++;
    for (Cursor at = cursor_stmts(s->ctx, entered->whole->body); cursor_next(&at);) {
        const Stmt *stmt = at.stmt;
        if (stmt->kind == ST_FOR && stmt->u.loop.id == entered->loop)
            cursor_prune(&at);
        else if (stmt->kind == ST_FOR)
            name_use(s, stmt->u.loop.var->name)->loops++;
        else if (stmt->kind == ST_BLOCK)
            count_block(s, &stmt->u.block, 1);
        else if (stmt->kind == ST_TEMP)
            name_use(s, stmt->u.temp->name)->others++;
        else if (stmt->kind == ST_LET)
            count_let(s, stmt, 1);
    }
}

void state_rebuild(Schedule *s)
{
    for (int i = 0; i < s->handles.n; i++)
        handle_dead(s, s->first_id + (uint32_t)i);
    for (int i = 0; i < s->uses.n; i++)
        s->uses.items[i] = (NameUse){0};
    const Kernel *kernel = s->kernel;
    for (int i = 0; i < kernel->n_sizes; i++)
        name_use(s, kernel->sizes[i].name)->others++;
    for (int i = 0; i < kernel->n_params; i++) {
        if (kernel->params[i].buffer)
            enter_buffer(s, kernel->params[i].buffer);
        else
            name_use(s, kernel->params[i].scalar->name)->others++;
    }
    enter_stmt(s, kernel->body, 0, OUTSIDE_BLOCKS);
    for (int i = 0; i < s->hidden.n; i++)
        enter_stmt(s, s->hidden.items[i], 0, OUTSIDE_BLOCKS);
    for (const Entered *e = s->entered; e; e = e->outer)
        count_outside(s, e);
}

/* The block or buffer that came to the name last, if it still has it: no two have one name. */
static uint32_t if_named(const Schedule *s, Name name, uint32_t last)
{
    const Handle *handle = last ? state_handle(s, last) : NULL;
    return handle && handle->alive && handle->name == name ? last : 0;
}

uint32_t state_find_block(const Schedule *s, Name name)
{
    const NameUse *use = state_name(s, name);
    return use ? if_named(s, name, use->block) : 0;
}

uint32_t state_find_buffer(const Schedule *s, Name name)
{
    const NameUse *use = state_name(s, name);
    return use ? if_named(s, name, use->buffer) : 0;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Extends `path` by the nodes down to the loop or block `id`, of which none but the last is one.
 * `*place` is where it was last seen in the first seq on the way: programs are wide, and places
 * change rarely. */
static bool descend(Arena *arena, Stmt *from, uint32_t id, int *place, StmtPath *path)
{
    uint32_t here = stmt_id(from);
    if (here != 0 && here != id)
        return false;
    int depth = path->n, inner = 0;
    VEC_PUSH(arena, path, from);
    if (here == id)
        return true;
    if (from->kind == ST_SEQ) {
        int n = from->u.seq.n;
        for (int i = 0, at = *place; i < n; i++, at++) {
            at = at < n ? at : 0;
            if (descend(arena, from->u.seq.items[at], id, &inner, path)) {
                *place = at;
                return true;
            }
        }
    } else if (from->kind == ST_IF) {
        if (descend(arena, from->u.cond.then, id, &inner, path))
            return true;
        if (from->u.cond.otherwise && descend(arena, from->u.cond.otherwise, id, &inner, path))
            return true;
    }
    path->n = depth;
    return false;
}

static bool path_to(Schedule *s, uint32_t id, StmtPath *path)
{
    Handle *handle = state_handle(s, id);
    if (!handle || !handle->alive)
        return false;
    if (handle->parent == 0)
        return descend(s->ctx->arena, s->kernel->body, id, &handle->place, path);
    if (!path_to(s, handle->parent, path))
        return false;
    Stmt *parent = path_end(path);
    return descend(s->ctx->arena, parent->u.loop.body, id, &handle->place, path);
}

Stmt *state_find(Schedule *s, uint32_t id, StmtPath *path)
{
    StmtPath own = {0};
    path = path ? path : &own;
    path->n = 0;
    return path_to(s, id, path) ? path_end(path) : NULL;
}

Stmt *state_path(Schedule *s, uint32_t id, StmtPath *path)
{
    Stmt *node = state_find(s, id, path);
    if (!node)
        TIRC_BUG(s->ctx, "handle %u of kernel '%s' leads nowhere", (unsigned)id, s->kernel->name);
    return node;
}

Stmt *sched_node(Schedule *s, const Value *node, StmtPath *path)
{
    return state_path(s, node->u.id, path);
}

Buffer *sched_buffer(Schedule *s, uint32_t id)
{
    const Handle *handle = state_handle(s, id);
    return handle && handle->alive ? handle->buffer : NULL;
}

Kernel *sched_kernel_around(Schedule *s, const Kernel *kernel, const StmtPath *path)
{
    Kernel *nest = ARENA_NEW(s->ctx->arena, Kernel);
    *nest = *kernel;
    for (int i = 0; i < path->n && nest->body->kind == ST_SEQ; i++)
        nest->body = path->items[i];
    return nest;
}

int sched_loops_on(Schedule *s, const StmtPath *path, StmtPath *loops)
{
    int n = 0;
    for (int i = 0; i < path->n; i++) {
        if (path->items[i]->kind != ST_FOR)
            continue;
        n++;
        if (loops)
            VEC_PUSH(s->ctx->arena, loops, path->items[i]);
    }
    return n;
}

/* ---- replacement ----------------------------------------------------------------------------- */

/* `seq` with one item replaced by one statement that is no seq, without a look at the others. */
static Stmt *seq_with_item(Schedule *s, const Stmt *seq, const Stmt *child, Stmt *new_child)
{
    int n = seq->u.seq.n;
    const Handle *handle = state_handle(s, stmt_id(child));
    int at = handle && handle->place < n ? handle->place : 0;
    while (seq->u.seq.items[at] != child)
        at = at + 1 < n ? at + 1 : 0;
    return versions_put(s, seq, at, new_child);
}

/* `seq` with `child` replaced, or without it where `new_child` is NULL; NULL if nothing is left. */
static Stmt *seq_with_child(Schedule *s, const Stmt *seq, const Stmt *child, Stmt *new_child)
{
    if (new_child && new_child->kind != ST_SEQ)
        return seq_with_item(s, seq, child, new_child);
    s->scratch.n = 0;
    for (int i = 0; i < seq->u.seq.n; i++) {
        Stmt *item = seq->u.seq.items[i];
        if (item == child)
            item = new_child;
        if (item)
            VEC_PUSH(s->ctx->arena, &s->scratch, item);
    }
    if (s->scratch.n == 0)
        return NULL;
    return stmt_seq(s->ctx, s->scratch.items, s->scratch.n, seq->span);
}

/* The same for any node that may stand above a loop or block. */
static Stmt *with_child(Schedule *s, const Stmt *parent, const Stmt *child, Stmt *new_child)
{
    if (parent->kind == ST_SEQ)
        return seq_with_child(s, parent, child, new_child);
    if (parent->kind == ST_FOR)
        return new_child ? loop_with_body(s->ctx, parent, new_child) : NULL;
    Stmt *then = parent->u.cond.then, *otherwise = parent->u.cond.otherwise;
    if (then == child)
        then = new_child;
    else
        otherwise = new_child;
    if (!then && !otherwise)
        return NULL;
    if (!then)
        then = stmt_empty(s->ctx, parent->span);
    return stmt_stamp(stmt_if(s->ctx, parent->u.cond.cond, then, otherwise, parent->span), parent);
}

/* The path down to `node`, by pointer: a loop, a block, or a sequence with one among its items. */
static void path_to_node(Schedule *s, const Stmt *node, StmtPath *path)
{
    uint32_t id = 0;
    for (int i = 0; i < stmt_items(node) && id == 0; i++)
        id = stmt_id(stmt_item(node, i));
    state_path(s, id, path);
    while (path_end(path) != node)
        path->n--;
}

/* Where the path's last node was last seen in its seq. */
static int place_of(const Schedule *s, const StmtPath *path)
{
    const Handle *handle = state_handle(s, stmt_id(path_end(path)));
    return handle ? handle->place : 0;
}

static void set_body(Schedule *s, Stmt *body)
{
    s->kernel =
        kernel_with_body(s->ctx, s->kernel, body ? body : stmt_empty(s->ctx, s->kernel->span));
}

void sched_replace_body(Schedule *s, Stmt *body)
{
    set_body(s, body);
    state_rebuild(s);
}

void sched_replace_interface(Schedule *s, const Kernel *kernel)
{
    s->kernel = kernel;
    state_rebuild(s);
}

void sched_replace(Schedule *s, const Stmt *old, Stmt *new_node)
{
    StmtPath path = {0};
    path_to_node(s, old, &path);
    uint32_t parent = 0;
    for (int i = path.n - 2; i >= 0 && parent == 0; i--)
        parent = stmt_id(path.items[i]);
    Stmt *now = new_node;
    int gone = path.n - 1; /* the outermost node that vanishes with `old` */
    for (int i = path.n - 2; i >= 0; i--) {
        now = with_child(s, path.items[i], path.items[i + 1], now);
        if (!now)
            gone = i;
    }
    int place = place_of(s, &path);
    leave_stmt(s, path.items[gone]);
    if (new_node) {
        enter_stmt(s, new_node, parent, OUTSIDE_BLOCKS);
        Handle *handle = state_handle(s, stmt_id(new_node));
        if (handle)
            handle->place = place;
    }
    set_body(s, now);
}

/* ---- fresh names ----------------------------------------------------------------------------- */

Name sched_fresh_name(Schedule *s, const char *base)
{
    Name name = ctx_name(s->ctx, base);
    for (int i = 1;; i++) {
        const NameUse *use = state_name(s, name);
        if (!use || use->loops + use->others == 0)
            return name;
        name = ctx_namef(s->ctx, "%s_%d", base, i);
    }
}

Name sched_iter_name(Schedule *s, int k)
{
    Name name = ctx_namef(s->ctx, "v%d", k);
    for (int i = 1;; i++) {
        const NameUse *use = state_name(s, name);
        if (!use || use->others == 0)
            return name;
        name = ctx_namef(s->ctx, "v%d_%d", k, i);
    }
}

static bool is_loop_called(const Stmt *stmt, Name name, uint32_t except)
{
    return stmt->kind == ST_FOR && stmt->u.loop.var->name == name && stmt->u.loop.id != except;
}

/* A loop above or below the path's last node has the name. */
static bool name_on_path(Context *c, const StmtPath *path, Name name, uint32_t except)
{
    for (int i = 0; i < path->n; i++)
        if (is_loop_called(path->items[i], name, except))
            return true;
    if (path->n == 0)
        return false;
    for (Cursor at = cursor_stmts(c, path_end(path)); cursor_next(&at);)
        if (is_loop_called(at.stmt, name, except))
            return true;
    return false;
}

#define LOOP_NAME_MAX 32

Name sched_fresh_loop_name(Schedule *s, const StmtPath *path, const char *base, uint32_t except)
{
    if (strlen(base) > LOOP_NAME_MAX)
        base = arena_strndup(s->ctx->arena, base, LOOP_NAME_MAX);
    Name name = ctx_name(s->ctx, base);
    for (int i = 1;; i++) {
        const NameUse *use = state_name(s, name);
        if (!use ||
            (use->others == 0 && (use->loops == 0 || !name_on_path(s->ctx, path, name, except))))
            return name;
        name = ctx_namef(s->ctx, "%s_%d", base, i);
    }
}

void state_rename_loop(Schedule *s, ForStmt *loop, Name name)
{
    name_use(s, loop->var->name)->loops--;
    name_use(s, name)->loops++;
    loop->var->name = name;
    state_handle(s, loop->id)->name = name;
}

/* ---- facts ----------------------------------------------------------------------------------- */

Facts *sched_facts(Schedule *s, const StmtPath *path)
{
    Facts *facts = facts_of_kernel(s->ctx, s->kernel);
    for (int i = 0; i + 1 < path->n; i++)
        facts_enter_item(facts, path, i);
    return facts;
}
