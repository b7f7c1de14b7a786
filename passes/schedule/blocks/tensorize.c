/* tensorize.c - Implements tensorize: makes a block that a tensor instruction computes.
 *
 *   for ki in 4                                            block C_o(...) instruction dp4a_i8 {
 *       C[i] += i32(A[i, ko * 4 + ki]) *            =>         for ki in 4
 *               i32(B[ko * 4 + ki]);                               C[i] += ...;
 *                                                          }
 *
 * A loop is blockized first. The block keeps its body, so dependences, regions and barriers are
 * those that it had; lowering puts the CUDA text of the instruction in its place. Steps that follow
 * may change the block as long as it still matches, which is checked after each of them.
 *
 * Legal: the body is what the instruction computes (passes/shared/unify.h).
 * Invariant: only what computes the body changes. */
#include "ir/target/target.h"
#include "passes/analysis/regions/inits.h"
#include "passes/schedule/flow.h"
#include "passes/schedule/instructions.h"

/* ---- the instruction ------------------------------------------------------------------------- */

void schedule_set_finder(Schedule *s, InstructionFinder finder)
{
    s->finder = finder;
}

/* Those without parameters that are declared beside the kernel; NULL: none of this name. */
static const Instruction *beside_kernel(const Schedule *s, Name name)
{
    const Kernel *kernel = s->first;
    for (int i = 0; i < kernel->n_instructions; i++)
        if (kernel->instructions[i]->kernel->name == name)
            return kernel->instructions[i];
    return NULL;
}

/* NULL after a refusal. */
static const Instruction *find_instruction(Schedule *s, const PrimCall *call)
{
    const Value *name = &call->tensorize.instruction, *arguments = &call->tensorize.arguments;
    InstructionCall of = {.name = name->u.s, .span = call->span};
    if (arguments->kind == VALUE_LIST) {
        of.arguments = arguments->u.list.items;
        of.n_arguments = arguments->u.list.n;
    }
    int errors = s->ctx->n_errors;
    const char *near = NULL;
    const Instruction *found = of.n_arguments ? NULL : beside_kernel(s, of.name);
    if (!found && s->finder.find)
        found = s->finder.find(s->finder.user, s->first, &of, &near);
    if (found || s->ctx->n_errors > errors)
        return found;
    sched_refuse(s, E0840, name->span,
                 near
                     ? "there is no instruction '%s'; did you mean '%s'?"
                     : "there is no instruction '%s'; declare it beside the kernel, or include the "
                       "file that declares it in the file of the schedule",
                 name->u.s, near);
    s->mistaken = true; /* as REQUIRE_WORD has it */
    if (near)
        diag_remedy(s->ctx, name->span, name->u.s, near);
    return NULL;
}

/* ---- the block ------------------------------------------------------------------------------- */

/* Printed programs declare the instructions that they use by name. */
static bool require_own_name(Schedule *s, const PrimCall *call, const Instruction *of)
{
    const Instruction *other = beside_kernel(s, of->kernel->name);
    StmtList used = sched_instructions(s);
    for (int i = 0; i < used.n && !other; i++)
        if (used.items[i]->u.block.instruction->kernel->name == of->kernel->name)
            other = used.items[i]->u.block.instruction;
    if (!other || instruction_equal(other, of))
        return true;
    sched_refuse(s, E0851, call->span,
                 "there are two instructions '%s', and printed programs tell them apart by name; "
                 "rename one",
                 of->kernel->name);
    diag_note(s->ctx, other->kernel->span, "the other one is declared here");
    return false;
}

static bool require_target(Schedule *s, const PrimCall *call, const Instruction *of)
{
    const char *what = arena_printf(s->ctx->arena, "instruction '%s'", of->kernel->name);
    return sched_require_target(s, call->span, target_of_template(of->lines, of->n_lines), what);
}

static bool require_plain(Schedule *s, const PrimCall *call, const Stmt *node)
{
    const BlockStmt *block = &node->u.block;
    const char *key = sched_access_annotation(block);
    REQUIRE_AT(s, E0848, call->span, !block->instruction, node,
               "block '%s' is instruction '%s' already", block->name,
               block->instruction->kernel->name);
    REQUIRE_AT(s, E0848, call->span, !block->atomic, node,
               "the updates of block '%s' are atomic, and the instruction is not", block->name);
    REQUIRE_AT(s, E0848, call->span, !block_in_order(block), node,
               "the updates of block '%s' keep their order (@in_order), and an instruction adds in "
               "its own",
               block->name);
    REQUIRE_AT(s, E0848, call->span, !key, node,
               "block '%s' has the annotation '%s', but the CUDA text says how the instruction "
               "accesses memory",
               block->name, key);
    return true;
}

/* Where the reduction starts with this very loop, its init becomes a block in front of it: it is no
 * part of the instruction, which updates. */
static bool take_init_out(Schedule *s, const PrimCall *call)
{
    StmtPath path = {0}, inner = {0};
    Stmt *loop = sched_node(s, &call->tensorize.node, &path);
    const Stmt *block = block_with_init(s->ctx, loop);
    if (!block)
        return true;
    stmt_find(s->ctx, loop, block->u.block.id, &inner);
    path = path_joined(s->ctx, &path, path.n - 1, inner);
    if (reduction_start(s->ctx, &path) != path.n - inner.n)
        return true;
    Value ignored;
    PrimCall own = {.primitive = call->primitive, .span = call->span};
    own.decompose_reduction.block = value_block(block);
    own.decompose_reduction.loop = call->tensorize.node;
    return prim_decompose_reduction(s, &own, &ignored);
}

/* The block that is to become an instruction: the node, or what blockize makes of a loop. */
static bool take_block(Schedule *s, const PrimCall *call, const Instruction *of, Value *block)
{
    const Value *node = &call->tensorize.node;
    *block = *node;
    if (node->kind == VALUE_BLOCK)
        return true;
    if (of->body->kind != ST_SEQ && !take_init_out(s, call))
        return false;
    PrimCall inner = {.primitive = call->primitive, .span = call->span};
    inner.blockize.nodes = value_of_items(node, 1, node->span);
    return prim_blockize(s, &inner, block);
}

bool prim_tensorize(Schedule *s, const PrimCall *call, Value *result)
{
    const Instruction *of = find_instruction(s, call);
    Value value;
    StmtPath path = {0};
    if (!of || !require_target(s, call, of) || !require_own_name(s, call, of) ||
        !take_block(s, call, of, &value))
        return false;
    Stmt *old = sched_node(s, &value, &path);
    if (!require_plain(s, call, old))
        return false;
    Unify u = {.of = of};
    if (!sched_matches(s, &u, &path, PLACES_ALIGNED)) {
        sched_refuse(s, u.code, call->span, "block '%s' is not what instruction '%s' computes: %s",
                     old->u.block.name, of->kernel->name, u.why);
        if (u.at.source)
            diag_note(s->ctx, u.at, "here");
        diag_note(s->ctx, of->kernel->span, "instruction '%s' is declared here", of->kernel->name);
        return false;
    }
    BlockStmt block = old->u.block;
    block.instruction = of;
    Stmt *done = stmt_block(s->ctx, &block, old->span);
    sched_replace(s, old, done);
    s->has_instructions = true;
    s->reassociates |= u.reassociates;
    *result = value_block(done);
    return true;
}
