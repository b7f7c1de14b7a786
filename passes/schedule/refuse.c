/* refuse.c - Refuses a step: errors that name the primitive, and notes that show loops and blocks
 * as text. */
#include <string.h>

#include "ir/target/target.h"
#include "passes/schedule/sched.h"

bool sched_refuse(Schedule *s, ErrorCode code, Span span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = arena_vprintf(s->ctx->arena, format, args);
    va_end(args);
    diag_error(s->ctx, code, span, "%s: %s", s->running ? s->running->name : "schedule", text);
    return false;
}

bool sched_require_target(Schedule *s, Span span, Target first, const char *what)
{
    REQUIRE(s, E0854, span, target_has(s->ctx->target, first),
            "needs %s for %s, but the kernel is for %s; do without, or choose another architecture "
            "(--arch)",
            target_name(s->ctx, first), what, target_name(s->ctx, s->ctx->target));
    return true;
}

const char *sched_box_text(Schedule *s, const Interval *box, int rank)
{
    StrBuf text = strbuf_new(s->ctx->arena);
    for (int d = 0; d < rank; d++)
        strbuf_addf(&text, "%s%s elements from %s", d ? ", " : "", expr_text(s->ctx, box[d].extent),
                    expr_text(s->ctx, box[d].min));
    return text.text;
}

Name stmt_label(const Stmt *node)
{
    return node->kind == ST_FOR ? node->u.loop.var->name : node->u.block.name;
}

/* How much of a printed line is the node itself: up to its body, and of several loops on a line the
 * first. */
static size_t header_length(const char *line, size_t length, bool is_loop)
{
    int depth = 0;
    for (size_t i = 0; i < length; i++) {
        depth += (line[i] == '(' || line[i] == '[') - (line[i] == ')' || line[i] == ']');
        if (is_loop && depth == 0 && line[i] == ',')
            return i;
    }
    while (length > 0 && (line[length - 1] == '{' || line[length - 1] == ' '))
        length--;
    return length;
}

void sched_note_at(Schedule *s, const Stmt *node, const char *format, ...)
{
    StrBuf text = strbuf_new(s->ctx->arena);
    va_list args;
    va_start(args, format);
    strbuf_vaddf(&text, format, args);
    va_end(args);
    StrBuf program = strbuf_new(s->ctx->arena);
    print_stmt(s->ctx, node, 0, &program);
    size_t length = strcspn(program.text, "\n");
    strbuf_add(&text, "\n    ");
    strbuf_addn(&text, program.text, length);
    strbuf_add(&text, "\n    ");
    for (size_t i = header_length(program.text, length, node->kind == ST_FOR); i > 0; i--)
        strbuf_addc(&text, '^');
    diag_note(s->ctx, span_none(), "%s", text.text);
}

void sched_note_now(Schedule *s, const Stmt *node)
{
    sched_note_at(s, node, "%s '%s' is now", node->kind == ST_FOR ? "loop" : "block",
                  stmt_label(node));
}

void sched_note_conflict(Schedule *s, const Conflict *why)
{
    if (!why->first || !why->second) {
        if (why->reason)
            diag_note(s->ctx, span_none(), "%s", why->reason);
        return;
    }
    if (!why->element || !*why->element) { /* it is not about an element but about an instance */
        diag_note(s->ctx, why->first_span, "block '%s' at %s", why->first->name, why->first_at);
        return;
    }
    if (!*why->first_at && !*why->second_at) { /* no instances are known */
        diag_note(s->ctx, why->first_span, "block '%s' accesses '%s' (%s)", why->first->name,
                  why->buffer->name, hazard_text(why->kind));
        diag_note(s->ctx, why->second_span, "block '%s' accesses it, too", why->second->name);
    } else if (*why->first_at) {
        diag_note(s->ctx, why->first_span, "block '%s' at %s runs first and accesses %s (%s)",
                  why->first->name, why->first_at, why->element, hazard_text(why->kind));
        diag_note(s->ctx, why->second_span, "block '%s' at %s accesses the same element",
                  why->second->name, why->second_at);
    } else { /* no instance of it will do */
        diag_note(s->ctx, why->second_span, "block '%s' at %s reads %s", why->second->name,
                  why->second_at, why->element);
        diag_note(s->ctx, why->first_span, "block '%s' writes '%s'", why->first->name,
                  why->buffer->name);
    }
    if (why->reason)
        diag_note(s->ctx, span_none(), "%s", why->reason);
}
