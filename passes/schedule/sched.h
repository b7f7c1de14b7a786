/* sched.h - what primitives are written with (internal to passes/schedule).
 *
 * Every primitive has the same shape, in this order:
 *   check    REQUIRE one condition a line; nothing built in the kernel, no name used up
 *   build    new subtrees from old, pure
 *   replace  exactly one sched_replace
 *   report   fill *result with handles */
#ifndef TIRC_PASSES_SCHEDULE_SCHED_H
#define TIRC_PASSES_SCHEDULE_SCHED_H

#include "passes/analysis/dependence.h"
#include "passes/analysis/region.h"
#include "passes/analysis/simplify.h"
#include "passes/schedule/schedule.h"

/* The arguments of one call, checked against the row's parameters and put in their order. An optional
 * parameter that was not given is VALUE_NONE. */
struct PrimCall {
    const Primitive *primitive;
    Span span;
    Value arg[6];
};

/* One line per precondition: diagnoses and leaves the primitive.
 *   REQUIRE(s, E0412, call->span, loop->kind == LOOP_SERIAL, "...", ...) */
#define REQUIRE(s, code, span, condition, ...)                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            sched_refuse((s), (code), (span), __VA_ARGS__);                                        \
            return false;                                                                          \
        }                                                                                          \
    } while (0)
/* An error that names the primitive at work; always returns false. */
bool sched_refuse(Schedule *s, ErrorCode code, Span span, const char *format, ...)
    TIRC_PRINTF(4, 5);
/* A note that shows the loop or block in the program as it is now, its line underlined. */
void sched_note_at(Schedule *s, const Stmt *node, const char *format, ...) TIRC_PRINTF(3, 4);
/* Notes for the two instances of a conflict. */
void sched_note_conflict(Schedule *s, const Conflict *why);

/* The node behind a handle with the path to it from the kernel's body. Arguments are checked to be alive before
 * a primitive runs, so these do not fail for them. */
Stmt *sched_loop(Schedule *s, const Value *loop, StmtPath *path);
Stmt *sched_block(Schedule *s, const Value *block, StmtPath *path);
/* The buffer with this id, among parameters and temps. */
Buffer *sched_buffer(Schedule *s, uint32_t id);

/* Replaces `old` (by pointer) in the kernel's body by `new`; the only way a primitive changes the kernel. */
void sched_replace(Schedule *s, const Stmt *old, Stmt *new_node);
/* The whole body at once, for changes in several places. */
void sched_replace_body(Schedule *s, Stmt *body);
/* `id` no longer names anything, because of the step at work. */
void sched_consume(Schedule *s, uint32_t id, Name name);

/* Facts that hold at `path`'s last node. */
Facts *sched_facts(Schedule *s, const StmtPath *path);
/* `base`, or base_1, base_2 ... : no loop, let, buffer, size, scalar or block of the kernel has the name. */
Name sched_fresh_name(Schedule *s, const char *base);

Value value_loop(const Stmt *loop);
Value value_block(const Stmt *block);
Value value_buffer(const Buffer *buffer);
Value value_int(int64_t i);
Value value_list(Schedule *s, const Value *items, int n);

/* The primitives: bool prim_NAME(Schedule *, const PrimCall *, Value *). */
#define PRIM(name, params, result, query, summary, before, after, legal, tvm)                      \
    bool prim_##name(Schedule *s, const PrimCall *call, Value *result);
#include "passes/schedule/prim.def"
#undef PRIM

#endif
