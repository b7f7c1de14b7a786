/* values.c - Represents calls and steps: values of every kind, and a step's text, position and
 * remarks. */
#include "passes/schedule/sched.h"

const char *value_kind_name(ValueKind kind)
{
    switch (kind) {
    case VALUE_NONE: return "nothing";
    case VALUE_INT: return "an integer";
    case VALUE_BOOL: return "a truth value";
    case VALUE_FLOAT: return "a number with a fraction";
    case VALUE_STRING: return "a string";
    case VALUE_WORD: return "a name";
    case VALUE_FILL: return "_";
    case VALUE_LIST: return "a list";
    case VALUE_LOOP: return "a loop";
    case VALUE_BLOCK: return "a block";
    case VALUE_BUFFER: return "a buffer";
    case VALUE_MAP: return "an index map";
    case VALUE_SIZES: return "an expression of symbolic sizes";
    }
    return "";
}

static Value handle_value(ValueKind kind, uint32_t id)
{
    Value value = {.kind = kind};
    value.u.id = id;
    return value;
}

Value value_loop(const Stmt *loop)
{
    return handle_value(VALUE_LOOP, loop->u.loop.id);
}

ValueList value_loops(Schedule *s, const StmtPath *path)
{
    ValueList loops = {0};
    for (int i = 0; i < path->n; i++)
        if (path->items[i]->kind == ST_FOR)
            VEC_PUSH(s->ctx->arena, &loops, value_loop(path->items[i]));
    return loops;
}

Value value_block(const Stmt *block)
{
    return handle_value(VALUE_BLOCK, block->u.block.id);
}

Value value_buffer(const Buffer *buffer)
{
    return handle_value(VALUE_BUFFER, buffer->id);
}

Value value_int(int64_t i)
{
    Value value = {.kind = VALUE_INT};
    value.u.i = i;
    return value;
}

Value value_of_items(const Value *items, int n, Span span)
{
    enum { MOST = (1 << 24) - 1, DEEPEST = 255 };
    int64_t total = n;
    unsigned depth = 0;
    for (int i = 0; i < n; i++)
        if (items[i].kind == VALUE_LIST) {
            total += items[i].u.list.total;
            depth = depth < items[i].u.list.depth ? items[i].u.list.depth : depth;
        }
    Value value = {.kind = VALUE_LIST, .span = span};
    value.u.list.items = items;
    value.u.list.n = n;
    value.u.list.total = (unsigned)(total < MOST ? total : MOST) & MOST;
    value.u.list.depth = depth < DEEPEST ? depth + 1 : DEEPEST;
    return value;
}

Value value_list(Schedule *s, const Value *items, int n)
{
    Value *copy = ARENA_COPY(s->ctx->arena, Value, items, n, 0);
    return value_of_items(copy, n, span_none());
}

Value value_blocks(Schedule *s, StmtList blocks)
{
    ValueList values = {0};
    for (int i = 0; i < blocks.n; i++)
        VEC_PUSH(s->ctx->arena, &values, value_block(blocks.items[i]));
    return value_list(s, values.items, values.n);
}

/* ---- steps --------------------------------------------------------------------------------------
 * */

const char *schedule_step_text(const Schedule *s, int step)
{
    return s->steps.items[step - 1].text;
}

const char *schedule_step_name(const Schedule *s, int step)
{
    return s->steps.items[step - 1].primitive->name;
}

Span schedule_step_span(const Schedule *s, int step)
{
    return s->steps.items[step - 1].span;
}

bool schedule_step_reassociates(const Schedule *s, int step)
{
    return s->steps.items[step - 1].reassociates;
}

const char *schedule_step_remark(const Schedule *s, int step)
{
    return s->steps.items[step - 1].remark;
}
