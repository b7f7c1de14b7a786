/* limits.c - Refuses launches that exceed hardware limits, at the schedule line that asked for
 * them. */
#include "ir/copies/roles.h"
#include "ir/instruction.h"
#include "passes/lower/pass.h"
#include "passes/lower/threads/warps.h"

typedef struct {
    Context *c;
    const Limits *limits;
    VEC(const Buffer *) shared;  /* what a block has of each buffer in shared memory */
    const Stmt *let[AXIS_COUNT]; /* where an axis got its loop */
    bool failed;
} Check;

static Span axis_span(const Check *k, const Stmt *launch, Axis axis)
{
    return k->let[axis] ? k->let[axis]->span : launch->span;
}

static void check_threads(Check *k, const Stmt *s)
{
    const LaunchStmt *launch = &s->u.launch;
    int64_t threads = 1, block[3];
    bool fits = true;
    launch_block(s, block);
    for (int d = 0; d < 3; d++) {
        Axis axis = (Axis)(AXIS_THREAD_X + d);
        fits = fits && checked_mul(threads, block[d], &threads);
        if (block[d] <= k->limits->max_block[d])
            continue;
        diag_error(k->c, E0508, axis_span(k, s, axis),
                   "%s has %lld threads, but a block has at most %lld on this axis",
                   axis_name(axis), (long long)block[d], (long long)k->limits->max_block[d]);
        diag_note(k->c, axis_span(k, s, axis),
                  "split the loop and bind its outer part to a block axis, or leave it serial");
        k->failed = true;
    }
    if (k->failed || (fits && threads <= k->limits->max_threads_per_block))
        return;
    Span at = axis_span(k, s, launch->block[0] > 1 ? AXIS_THREAD_X : AXIS_THREAD_Y);
    diag_error(k->c, E0507, at,
               "launch '%s' has %lld x %lld x %lld = %lld threads per block, but the limit is %lld",
               launch->name, (long long)block[0], (long long)block[1], (long long)block[2],
               (long long)threads, (long long)k->limits->max_threads_per_block);
    diag_note(k->c, at,
              "use a smaller tile, or compute several elements per thread: split again and leave "
              "the inner loop serial");
    k->failed = true;
}

static void check_grid(Check *k, const Stmt *s)
{
    for (int d = 0; d < 3; d++) {
        int64_t n;
        Axis axis = (Axis)(AXIS_BLOCK_X + d);
        if (!expr_is_const(s->u.launch.grid[d], &n) || n <= k->limits->max_grid[d])
            continue;
        diag_error(k->c, E0509, axis_span(k, s, axis),
                   "%s has %lld blocks, but a grid has at most %lld on this axis", axis_name(axis),
                   (long long)n, (long long)k->limits->max_grid[d]);
        diag_note(k->c, axis_span(k, s, axis),
                  axis == AXIS_BLOCK_X
                      ? "give each block more work: split the loop by a larger factor"
                      : "bind the longest loop to blockIdx.x, which allows 2147483647");
        k->failed = true;
    }
}

static void check_shared(Check *k, const Stmt *s)
{
    int64_t total = 0, largest = -1;
    const Buffer *worst = NULL;
    for (int i = 0; i < k->shared.n; i++) {
        const Buffer *b = k->shared.items[i];
        int64_t bytes = buffer_bytes(k->c, b);
        if (!checked_add(bytes, total, &total))
            total = bytes = INT64_MAX / 2;
        if (bytes > largest) {
            largest = bytes;
            worst = b;
        }
    }
    if (total <= k->limits->max_shared)
        return;
    diag_error(k->c, E0510, buffer_span(worst),
               "launch '%s' needs %lld bytes of shared memory, but a block has at most %lld; the "
               "largest buffer is '%s' with %lld",
               s->u.launch.name, (long long)total, (long long)k->limits->max_shared, worst->name,
               (long long)largest);
    for (int i = 0; i < k->shared.n; i++) {
        const Buffer *b = k->shared.items[i];
        StrBuf shape = strbuf_new(k->c->arena);
        print_exprs(b->shape, b->rank, &shape);
        diag_note(k->c, buffer_span(b), "'%s' is %s[%s]", b->name, type_info(b->type)->name,
                  shape.text);
    }
    diag_note(k->c, buffer_span(worst),
              "compute_at a loop further in, or choose smaller tiles, so that a smaller part is "
              "live at a time");
    k->failed = true;
}

/* The blocks that the schedule wants to run at a time on one multiprocessor fit on it, registers
 * aside: the compiler spills until those fit. */
static void check_min_blocks(Check *k, const Stmt *s)
{
    const LaunchStmt *launch = &s->u.launch;
    const Limits *most = k->limits;
    if (k->failed || launch->min_blocks == 0) /* each block fits, so nothing below overflows */
        return;
    int64_t blocks = launch->min_blocks,
            threads = launch->block[0] * launch->block[1] * launch->block[2];
    int64_t shared = most->reserved_shared;
    for (int i = 0; i < k->shared.n; i++)
        shared += buffer_bytes(k->c, k->shared.items[i]);
    if (blocks <= most->max_resident_blocks && blocks * threads <= most->max_resident_threads &&
        blocks * shared <= most->max_resident_shared)
        return;
    diag_error(k->c, E0518, s->span,
               "launch '%s' requests %lld resident blocks of %lld threads and %lld bytes of shared "
               "memory each (including %lld for the system), but a multiprocessor has room for "
               "%lld blocks, %lld threads, %lld bytes",
               launch->name, (long long)blocks, (long long)threads, (long long)shared,
               (long long)most->reserved_shared, (long long)most->max_resident_blocks,
               (long long)most->max_resident_threads, (long long)most->max_resident_shared);
    diag_note(k->c, s->span,
              "request fewer blocks with annotate(loop, min_blocks, n), or use a smaller tile");
    k->failed = true;
}

static int64_t operand_registers(const Operand *operand)
{
    enum { WORD = 4, ADDRESS = 2 };
    const Buffer *b = operand->buffer;
    int64_t bytes = type_bytes(b->type), extent;
    if (!operand->has_scope || operand->scope != SCOPE_LOCAL)
        return ADDRESS;
    for (int d = 0; d < b->rank; d++)
        bytes *= expr_is_const(b->shape[d], &extent) ? extent : 1;
    return (bytes + WORD - 1) / WORD;
}

/* What runs on behind its text keeps its sums in registers: they cannot be spilled. */
static void check_registers(Check *k, const Stmt *launch, const Stmt *s)
{
    const int64_t *block = launch->u.launch.block;
    const Instruction *of = s->u.instruction.of;
    int64_t threads = block[0] * block[1] * block[2], needed = 0;
    for (int i = 0; i < of->n_operands; i++)
        needed += operand_registers(&of->operands[i]);
    if (k->failed || threads * needed <= k->limits->max_registers)
        return;
    diag_error(k->c, E0525, s->span,
               "instruction '%s' holds %lld registers of each thread until it is complete, but "
               "launch '%s' has %lld threads per block, which leave %lld to each",
               of->kernel->name, (long long)needed, launch->u.launch.name, (long long)threads,
               (long long)(k->limits->max_registers / threads));
    diag_note(k->c, s->span,
              "use fewer threads, or an instruction with fewer sums, such as a tile of half as "
              "many rows or columns");
    k->failed = true;
}

static void check_instructions(Check *k, const Stmt *launch)
{
    for (Cursor at = cursor_stmts(k->c, launch->u.launch.body); cursor_next(&at);)
        if (at.stmt->kind == ST_INSTRUCTION && instruction_is_async(at.stmt->u.instruction.of))
            check_registers(k, launch, at.stmt);
}

static bool check_launch(Context *c, const Limits *limits, const Stmt *s)
{
    Check k = {.c = c, .limits = limits};
    for (Cursor at = cursor_stmts(c, s->u.launch.body); cursor_next(&at);) {
        const Expr *value = at.stmt->kind == ST_LET ? at.stmt->u.let.value : NULL;
        if (at.stmt->kind == ST_TEMP && scope_is_shared(at.stmt->u.temp->scope))
            VEC_PUSH(c->arena, &k.shared, buffer_of_block(c, at.stmt->u.temp));
        if (value && value->kind == EX_AXIS && !k.let[value->u.axis])
            k.let[value->u.axis] = at.stmt;
    }
    check_threads(&k, s);
    check_grid(&k, s);
    check_shared(&k, s);
    check_min_blocks(&k, s);
    check_instructions(&k, s);
    return warps_together(c, s) && !k.failed;
}

Kernel *pass_check_limits(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    StmtList launches = stmts_of_kind(c, kernel->body, ST_LAUNCH);
    bool fits = true;
    for (int i = 0; i < launches.n; i++)
        fits &= check_launch(c, &options->limits, launches.items[i]);
    return fits && check_constants(c, kernel, &options->limits)
               ? kernel_with_body(c, kernel, kernel->body)
               : NULL;
}
