/* annotate.c - what a schedule says about loops and blocks: annotate, unannotate, atomic. */
#include <string.h>

#include "passes/schedule/sched.h"

/* The annotations of a loop or block, and the node with others. */
static const Annotation *annotations_of(const Stmt *node, int *n)
{
    bool loop = node->kind == ST_FOR;
    *n = loop ? node->u.loop.n_annotations : node->u.block.n_annotations;
    return loop ? node->u.loop.annotations : node->u.block.annotations;
}

static void set_annotations(Schedule *s, const Stmt *node, const Annotation *items, int n)
{
    if (node->kind == ST_FOR) {
        ForStmt loop = node->u.loop;
        loop.annotations = items;
        loop.n_annotations = n;
        sched_replace(s, node, stmt_for(s->ctx, &loop, node->span));
    } else {
        BlockStmt block = node->u.block;
        block.annotations = items;
        block.n_annotations = n;
        sched_replace(s, node, stmt_block(s->ctx, &block, node->span));
    }
}

static int find_annotation(const Annotation *items, int n, Name key)
{
    int at = 0;
    while (at < n && items[at].key != key)
        at++;
    return at;
}

/* A list of integers; false where it holds something else. */
static bool list_annotation(Schedule *s, const Value *value, Annotation *out)
{
    int64_t *list = ARENA_ARRAY(s->ctx->arena, int64_t, value->u.list.n);
    for (int i = 0; i < value->u.list.n; i++) {
        if (value->u.list.items[i].kind != VALUE_INT)
            return false;
        list[i] = value->u.list.items[i].u.i;
    }
    out->kind = ANNOTATION_LIST;
    out->list = list;
    out->n_list = value->u.list.n;
    return true;
}

static bool make_annotation(Schedule *s, const Value *value, Annotation *out)
{
    switch (value->kind) {
    case VALUE_NONE:
        out->kind = ANNOTATION_INT;
        out->i = 1;
        return true;
    case VALUE_INT:
    case VALUE_BOOL:
        out->kind = ANNOTATION_INT;
        out->i = value->u.i;
        return true;
    case VALUE_STRING:
    case VALUE_WORD:
        out->kind = ANNOTATION_STRING;
        out->string = value->u.s;
        return true;
    case VALUE_LIST:
        return list_annotation(s, value, out);
    default:
        return false;
    }
}

/* The primitive whose mark the key is: it changes what is run, and the primitive proves that it may. */
static const char *primitive_of_key(Name key)
{
    static const char *const marks[][2] = {{"serpentine", "serpentine"},
                                           {"copy_async", "copy_async"},
                                           {"remap_diagonal", "remap"},
                                           {"remap_grouped", "remap"}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (!strcmp(key, marks[i][0]))
            return marks[i][1];
    return strncmp(key, "cache_hint_", 11) == 0 ? "cache_hint" : NULL;
}

bool prim_annotate(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    const Stmt *node = state_path(s, call->annotate.node.u.id, &path);
    Annotation added = {.key = call->annotate.key.u.s};
    const char *owner = primitive_of_key(added.key);
    REQUIRE(s, E0498, call->span, !owner,
            "'%s' is the mark of a primitive, which proves first that it changes no result; call %s instead", added.key,
            owner);
    REQUIRE(
        s, E0430, call->span, make_annotation(s, &call->annotate.value, &added),
        "the value of '%s' is %s, and an annotation is an integer, a string or a list of integers",
        added.key,
        call->annotate.value.kind == VALUE_LIST ? "a list of other things"
                                        : value_kind_name(call->annotate.value.kind));
    int n;
    const Annotation *old = annotations_of(node, &n);
    int at = find_annotation(old, n, added.key);
    Annotation *items = ARENA_ARRAY(s->ctx->arena, Annotation, n + 1);
    for (int i = 0; i < n; i++)
        items[i] = old[i];
    items[at] = added;
    set_annotations(s, node, items, at == n ? n + 1 : n);
    *result = (Value){.kind = VALUE_NONE};
    return true;
}

bool prim_unannotate(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    const Stmt *node = state_path(s, call->unannotate.node.u.id, &path);
    Name key = call->unannotate.key.u.s;
    int n;
    const Annotation *old = annotations_of(node, &n);
    int at = find_annotation(old, n, key);
    REQUIRE(s, E0429, call->span, at < n, "%s '%s' has no annotation '%s'%s%s%s",
            node->kind == ST_FOR ? "loop" : "block", stmt_label(node), key,
            n > 0 ? "; it has '" : "", n > 0 ? old[0].key : "", n > 0 ? "'" : "");
    Annotation *items = ARENA_ARRAY(s->ctx->arena, Annotation, n);
    for (int i = 0, kept = 0; i < n; i++)
        if (i != at)
            items[kept++] = old[i];
    set_annotations(s, node, items, n - 1);
    *result = (Value){.kind = VALUE_NONE};
    return true;
}

/* ---- atomic ----------------------------------------------------------------------------------- */

typedef struct {
    const Stmt *store;  /* a store that stands in the way, or NULL */
    const Buffer *read; /* with a buffer that the block updates: where it is read */
    Stmt *body;
} AtomicSearch;

static bool can_be_atomic(const Stmt *store)
{
    int bytes = type_bytes(store->u.store.buffer->type);
    return store->u.store.op != STORE_SET && (bytes == 4 || bytes == 8);
}

static bool search_stores(Visitor *v, Stmt *stmt)
{
    AtomicSearch *search = v->user;
    if (stmt->kind == ST_STORE && !search->store && !can_be_atomic(stmt))
        search->store = stmt;
    return true;
}

static bool search_update_of(Visitor *v, Stmt *stmt)
{
    AtomicSearch *search = v->user;
    if (stmt->kind == ST_STORE && search->read && stmt->u.store.buffer->id == search->read->id)
        search->store = stmt;
    return true;
}

/* A load of a buffer that some store below `body` updates. */
static bool search_reads(Visitor *v, Expr *e)
{
    AtomicSearch *search = v->user;
    if (e->kind != EX_LOAD || search->store)
        return !search->store;
    search->read = e->u.load.buffer;
    Visitor stores = {search, NULL, search_update_of};
    visit_stmt(&stores, search->body);
    return true;
}

/* An update that rounds, which may now come in any order. */
static bool search_rounding(Visitor *v, Stmt *stmt)
{
    bool *found = v->user;
    *found |= stmt->kind == ST_STORE && type_is_float(stmt->u.store.buffer->type) &&
              (stmt->u.store.op == STORE_ADD || stmt->u.store.op == STORE_MUL);
    return !*found;
}

bool prim_atomic(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *node = sched_block(s, &call->atomic.block, &path);
    BlockStmt block = node->u.block;
    AtomicSearch search = {.body = block.body};
    Visitor stores = {&search, NULL, search_stores}, reads = {&search, search_reads, NULL};
    visit_stmt(&stores, block.body);
    REQUIRE(s, E0432, call->span, !search.store,
            "block '%s' has '%s %s' on elements of type %s, and only updates of 4 or 8 bytes can "
            "be atomic",
            block.name, search.store->u.store.buffer->name,
            store_op_token(search.store->u.store.op),
            type_info(search.store->u.store.buffer->type)->name);
    visit_stmt(&reads, block.body);
    REQUIRE(s, E0432, call->span, !search.store,
            "block '%s' updates '%s' and reads it elsewhere, which would see updates that are half "
            "done",
            block.name, search.store->u.store.buffer->name);
    *result = (Value){.kind = VALUE_NONE};
    if (block.atomic)
        return true;
    block.atomic = true;
    Visitor rounding = {&s->reassociates, NULL, search_rounding};
    visit_stmt(&rounding, block.body);
    sched_replace(s, node, stmt_block(s->ctx, &block, node->span));
    return true;
}
