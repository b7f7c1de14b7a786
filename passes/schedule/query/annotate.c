/* annotate.c - Implements annotate, unannotate, atomic and note: loops, blocks and traces.
 *
 * Legal: annotations are of keys that the loop or block may have; updates that become atomic are
 * those of a reduction.
 * Invariant: what the program computes does not change. */
#include "passes/analysis/regions/reducer.h"
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

static bool make_annotation(Schedule *s, const Value *value, Annotation *out);

/* False where the list holds something that no annotation may be. */
static bool list_annotation(Schedule *s, const Value *value, Annotation *out)
{
    Annotation *list = ARENA_ARRAY(s->ctx->arena, Annotation, value->u.list.n + 1);
    for (int i = 0; i < value->u.list.n; i++)
        if (!make_annotation(s, &value->u.list.items[i], &list[i]))
            return false;
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
    case VALUE_FLOAT:
        out->kind = ANNOTATION_FLOAT;
        out->f = value->u.f;
        return true;
    case VALUE_STRING:
    case VALUE_WORD:
        out->kind = ANNOTATION_STRING;
        out->string = value->u.s;
        return true;
    case VALUE_LIST: return list_annotation(s, value, out);
    default: return false;
    }
}

/* A key that tirc reads is no primitive's mark, which changes what is run and is proved first, and
 * has a value that it can have. */
static bool check_known_key(Schedule *s, const PrimCall *call, const Annotation *added)
{
    AnnotationKey key = annotation_key(added->key);
    if (key == ANNOTATION_KEYS)
        return true;
    const AnnotationInfo *info = annotation_info(key);
    REQUIRE(s, E0498, call->span, key != ANNOTATION_IN_ORDER,
            "the program declares the order of updates: block NAME(...) @%s { ... }", added->key);
    REQUIRE(s, E0498, call->span, !info->primitive,
            "the annotation '%s' is reserved: its primitive first proves that the result stays the "
            "same; call %s instead",
            added->key, info->primitive);
    REQUIRE(s, E0457,
            call->annotate.value.kind == VALUE_NONE ? call->span : call->annotate.value.span,
            added->kind == ANNOTATION_INT && added->i >= info->least && added->i <= info->most,
            "'%s' takes an integer from %lld to %lld; other values have no effect", added->key,
            (long long)info->least, (long long)info->most);
    return true;
}

bool prim_note(Schedule *s, const PrimCall *call, Value *result)
{
    (void)result;
    trace_comment(s, call->note.text.u.s);
    return true;
}

bool prim_annotate(Schedule *s, const PrimCall *call, Value *result)
{
    const Stmt *node = sched_node(s, &call->annotate.node, NULL);
    Annotation added = {.key = call->annotate.key.u.s};
    const Value *value = &call->annotate.value;
    REQUIRE_WORD(
        s, E0430, call->span, make_annotation(s, value, &added),
        "the value of '%s' is %s; an annotation takes a number, a string or a list of these",
        added.key,
        value->kind == VALUE_LIST ? "a list of other values" : value_kind_name(value->kind));
    if (!check_known_key(s, call, &added))
        return false;
    set_annotations(s, node, annotations_with(s->ctx, annotations_of(node), added));
    *result = (Value){.kind = VALUE_NONE};
    return true;
}

bool prim_unannotate(Schedule *s, const PrimCall *call, Value *result)
{
    const Stmt *node = sched_node(s, &call->unannotate.node, NULL);
    Name key = call->unannotate.key.u.s;
    AnnotationList old = annotations_of(node), kept = annotations_without(s->ctx, old, key);
    REQUIRE(s, E0498, call->span, annotation_key(key) != ANNOTATION_IN_ORDER,
            "'%s' declares the order of updates, which no step changes; remove it where it is "
            "declared",
            key);
    REQUIRE(s, E0429, call->span, kept.n < old.n, "%s '%s' has no annotation '%s'%s%s%s",
            node->kind == ST_FOR ? "loop" : "block", stmt_label(node), key,
            old.n > 0 ? "; it has '" : "", old.n > 0 ? old.items[0].key : "", old.n > 0 ? "'" : "");
    set_annotations(s, node, kept);
    *result = (Value){.kind = VALUE_NONE};
    return true;
}

/* ---- atomic ---------------------------------------------------------------------------------- */

static bool can_be_atomic(const Stmt *store)
{
    return store->u.store.op != STORE_SET && type_bytes(store->u.store.buffer->type) > 1;
}

/* A store that is no update, or of elements of another size; NULL if there is none. */
static const Stmt *store_in_the_way(Context *c, const Stmt *body)
{
    for (Cursor at = cursor_stmts(c, body); cursor_next(&at);)
        if (at.stmt->kind == ST_STORE && !can_be_atomic(at.stmt))
            return at.stmt;
    return NULL;
}

static bool loads_from(Context *c, const Stmt *body, const Buffer *buffer)
{
    for (Cursor at = cursor_stmt(c, body); cursor_next(&at);)
        if (at.expr && expr_is_load(at.expr, buffer))
            return true;
    return false;
}

/* A store to a buffer that `body` also loads from; NULL if there is none. */
static const Stmt *store_that_is_read(Context *c, const Stmt *body)
{
    for (Cursor at = cursor_stmts(c, body); cursor_next(&at);)
        if (at.stmt->kind == ST_STORE && loads_from(c, body, at.stmt->u.store.buffer))
            return at.stmt;
    return NULL;
}

bool prim_atomic(Schedule *s, const PrimCall *call, Value *result)
{
    Stmt *node = sched_node(s, &call->atomic.block, NULL);
    BlockStmt block = node->u.block;
    const Stmt *other = store_in_the_way(s->ctx, block.body),
               *read = store_that_is_read(s->ctx, block.body);
    const Stmt *update = stmt_valued_update(block.body);
    bool tuple = update && update->kind == ST_SEQ;
    REQUIRE(s, E0432, call->span, !block_in_order(&block),
            "the updates of block '%s' keep their order (@in_order), and atomic updates have none",
            block.name);
    REQUIRE(s, E0432, call->span, !tuple,
            "block '%s' updates all components of reducer '%s' at once, which no instruction does; "
            "use rfactor, or bind a loop of the reduction to threads",
            block.name, update->u.seq.combiner->name);
    REQUIRE(s, E0432, call->span, !other,
            "block '%s' updates with '%s %s' elements of type %s; only updates of 2, 4 or 8 bytes "
            "can be atomic",
            block.name, other->u.store.buffer->name, store_op_token(other->u.store.op),
            type_info(other->u.store.buffer->type)->name);
    REQUIRE(
        s, E0432, call->span, !read,
        "block '%s' updates '%s' and also reads it elsewhere, where it would see partial results",
        block.name, read->u.store.buffer->name);
    *result = (Value){.kind = VALUE_NONE};
    if (block.atomic)
        return true;
    block.atomic = true;
    s->reassociates |= stmt_update_rounds(s->ctx, block.body);
    sched_replace(s, node, stmt_block(s->ctx, &block, node->span));
    return true;
}
