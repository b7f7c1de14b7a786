/* annotate.c - what a schedule says about loops and blocks: annotate, unannotate, atomic. */
#include <string.h>

#include "passes/schedule/sched.h"

static AnnotationList annotations_of(const Stmt *node)
{
    return node->kind == ST_FOR ? node->u.loop.annotations : node->u.block.annotations;
}

static void set_annotations(Schedule *s, const Stmt *node, AnnotationList list)
{
    if (node->kind == ST_FOR) {
        ForStmt loop = node->u.loop;
        loop.annotations = list;
        sched_replace(s, node, stmt_for(s->ctx, &loop, node->span));
    } else {
        BlockStmt block = node->u.block;
        block.annotations = list;
        sched_replace(s, node, stmt_block(s->ctx, &block, node->span));
    }
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

/* A key that tirc reads is no primitive's mark, which changes what is run and is proved first, and has a value that it
 * can have. */
static bool check_known_key(Schedule *s, const PrimCall *call, const Annotation *added)
{
    AnnotationKey key = annotation_key(added->key);
    if (key == ANNOTATION_KEYS)
        return true;
    const AnnotationInfo *info = annotation_info(key);
    REQUIRE(s, E0498, call->span, !info->primitive,
            "'%s' is the mark of a primitive, which proves first that it changes no result; call %s instead", added->key,
            info->primitive);
    REQUIRE(s, E0457, call->annotate.value.kind == VALUE_NONE ? call->span : call->annotate.value.span,
            added->kind == ANNOTATION_INT && added->i >= info->least && added->i <= info->most,
            "'%s' takes an integer from %lld to %lld; another value would have no effect", added->key,
            (long long)info->least, (long long)info->most);
    return true;
}

bool prim_annotate(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    const Stmt *node = state_path(s, call->annotate.node.u.id, &path);
    Annotation added = {.key = call->annotate.key.u.s};
    const Value *value = &call->annotate.value;
    REQUIRE(s, E0430, call->span, make_annotation(s, value, &added),
            "the value of '%s' is %s, and an annotation is an integer, a string or a list of integers", added.key,
            value->kind == VALUE_LIST ? "a list of other things" : value_kind_name(value->kind));
    if (!check_known_key(s, call, &added))
        return false;
    set_annotations(s, node, annotations_with(s->ctx, annotations_of(node), added));
    *result = (Value){.kind = VALUE_NONE};
    return true;
}

bool prim_unannotate(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    const Stmt *node = state_path(s, call->unannotate.node.u.id, &path);
    Name key = call->unannotate.key.u.s;
    AnnotationList old = annotations_of(node), kept = annotations_without(s->ctx, old, key);
    REQUIRE(s, E0429, call->span, kept.n < old.n, "%s '%s' has no annotation '%s'%s%s%s",
            node->kind == ST_FOR ? "loop" : "block", stmt_label(node), key, old.n > 0 ? "; it has '" : "",
            old.n > 0 ? old.items[0].key : "", old.n > 0 ? "'" : "");
    set_annotations(s, node, kept);
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
