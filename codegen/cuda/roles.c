/* roles.c - Emits what the roles of a launch do, and the mbarriers that order them.
 *
 *   unsigned long long *released = landed + 4;
 *   roles_begin<4, 8>(landed, released);
 *   if (threadIdx.y >= 2) {  // the producer's warpgroup
 *       if (threadIdx.x == 0) {
 *           int begun = 0;
 *           for ... {
 *               producer_acquire<4>(released, begun, 4);
 *               copy_bulk_2d(..., &landed[begun % 4], 16384);
 *               producer_commit<4>(landed, begun);
 *           }
 *       }
 *   } else {  // the consumers
 *       int received = 0, freed = 0;
 *       for ... {
 *           consumer_receive<4>(landed, received);
 *           ...
 *           consumer_release<4>(released, freed, received - 1);
 *       }
 *   }
 *
 * Where the arrays of a thread take much of the registers, the producer's warpgroup leaves most of
 * its own to the consumers (setmaxnreg).
 *
 * Group n of copies has the mbarriers landed[n % 4] and released[n % 4], of each the phase n / 4.
 * At the former the producer arrives, and the bytes of its copies; at the latter each warp of the
 * consumers. Where blocks of a cluster share copies, these are the copies and warps of all of
 * them.
 *
 * Consumers that take turns have mbarriers `landed` each, and count the groups that they receive: a
 * parity does not tell a phase of an mbarrier from the one two before, so nobody may wait for a
 * phase behind those of other consumers. Turns are multiples of the groups under way, so both
 * counts of a group have the same remainder, which says its place. */
#include "ir/copies/roles.h"
#include "codegen/cuda/text.h"

static const char *released_name(CudaWriter *w)
{
    return cuda_names_made(w->names, "text", "released");
}

static const char *received_name(CudaWriter *w)
{
    return cuda_names_made(w->names, "text", "received");
}

static const char *freed_name(CudaWriter *w)
{
    return cuda_names_made(w->names, "text", "freed");
}

/* Consumers release to the producers of all blocks of the cluster. */
static bool releases_to_all(CudaWriter *w, const LaunchUse *use)
{
    for (Cursor at = cursor_stmts(w->c, use->roles); cursor_next(&at);)
        if (at.stmt->kind == ST_BARRIER && at.stmt->u.barrier.kind == SYNC_RELEASE_CLUSTER)
            return true;
    return false;
}

void cuda_roles_declarations(CudaWriter *w, const LaunchUse *use)
{
    const LaunchStmt *l = &use->launch->u.launch;
    int64_t warps =
        roles_consumers(l) / use->turns / ROLE_WARP * (releases_to_all(w, use) ? l->cluster : 1);
    cuda_line(w, "unsigned long long *%s = %s + %d;", released_name(w), cuda_landed_name(w),
              use->turns * use->groups);
    if (use->turns > 1)
        cuda_line(w, "%s<%d>(%s + %d);  // of copies for the other consumers, which take turns",
                  cuda_helper(w, HELPER_BULK_BEGIN), (use->turns - 1) * use->groups,
                  cuda_landed_name(w), use->groups);
    cuda_line(w, "%s<%d, %lld>(%s, %s);  // two mbarriers for each group of copies under way",
              cuda_helper(w, HELPER_ROLES_BEGIN), use->groups, (long long)warps,
              cuda_landed_name(w), released_name(w));
}

/* The mbarriers of copies for the consumer whose turn it is, or, among consumers, for this one. */
static const char *landed_text(CudaWriter *w)
{
    const char *landed = cuda_landed_name(w);
    if (w->use->turns == 1)
        return landed;
    if (w->role == WRITES_PRODUCER)
        return arena_printf(w->c->arena, "%s + %s", landed, cuda_turns_mbarriers(w));
    return arena_printf(w->c->arena, "%s + %s * %d", landed,
                        axis_name(roles_axis(&w->use->launch->u.launch)), w->use->groups);
}

/* The one thread of the warpgroup that makes the copies: the first. */
static const char *first_thread(CudaWriter *w, const LaunchStmt *l)
{
    Axis last = roles_axis(l);
    StrBuf text = strbuf_new(w->c->arena);
    int64_t block[3];
    launch_block(w->use->launch, block);
    if (block[last - AXIS_THREAD_X] > l->block[last - AXIS_THREAD_X] + 1)
        strbuf_addf(&text, "%s == %lld", axis_name(last),
                    (long long)l->block[last - AXIS_THREAD_X]);
    for (Axis axis = AXIS_THREAD_X; axis < last; axis++)
        if (l->block[axis - AXIS_THREAD_X] > 1)
            strbuf_addf(&text, "%s%s == 0", text.length ? " && " : "", axis_name(axis));
    return text.text;
}

/* Registers of a multiprocessor, of which a thread has a multiple of UNIT and at most MOST; its
 * shared memory in bytes; registers of a thread of the producer's warpgroup. */
enum { REGISTERS = 65536, UNIT = 8, MOST = 255, SHARED = 233472, PRODUCERS = 40 };

/* Registers of a thread that its arrays take. */
static int64_t registers_of_arrays(CudaWriter *w)
{
    int64_t bytes = 0;
    for (Cursor at = cursor_stmts(w->c, w->use->launch->u.launch.body); cursor_next(&at);) {
        const Buffer *b = at.stmt->kind == ST_TEMP ? at.stmt->u.temp : NULL;
        int64_t elements, *strides = b ? ARENA_ARRAY(w->c->arena, int64_t, b->rank + 1) : NULL;
        if (b && b->scope == SCOPE_LOCAL && buffer_strides(b, strides, &elements))
            bytes += elements * type_bytes(b->type);
    }
    return bytes / 4;
}

/* How many registers each consumer gets if the producer's warpgroup keeps PRODUCERS; 0: all keep
 * what the launch gives them. Those of a multiprocessor are given out in units; a block that shares
 * it with others should not ask for all. */
static int64_t consumers_registers(CudaWriter *w)
{
    int64_t consumers = roles_consumers(&w->use->launch->u.launch);
    int64_t given = REGISTERS / (consumers + ROLE_WARPGROUP) / UNIT * UNIT;
    int64_t more = (given - PRODUCERS) * ROLE_WARPGROUP / consumers / UNIT * UNIT;
    bool scarce = given < MOST && 2 * registers_of_arrays(w) > given;
    return scarce && 2 * w->use->shared_bytes > SHARED ? given + more : 0;
}

/* The warpgroups of a role take or leave registers, all of their threads. */
static void registers_text(CudaWriter *w, Helper helper, int64_t registers)
{
    if (consumers_registers(w))
        cuda_line(w, "%s<%lld>();", cuda_helper(w, helper), (long long)registers);
}

void cuda_producer_opens(CudaWriter *w)
{
    const LaunchStmt *l = &w->use->launch->u.launch;
    Axis last = roles_axis(l);
    cuda_line(w, "if (%s >= %lld) {  // the producer, in a warpgroup of its own", axis_name(last),
              (long long)l->block[last - AXIS_THREAD_X]);
    w->indent++;
    registers_text(w, HELPER_LEAVE_REGISTERS, PRODUCERS);
    cuda_line(w, "if (%s) {", first_thread(w, l));
    w->indent++;
    w->role = WRITES_PRODUCER;
    cuda_line(w, "int %s = 0;", cuda_begun_name(w));
}

void cuda_consumers_open(CudaWriter *w)
{
    w->indent--;
    cuda_line(w, "}");
    w->indent--;
    cuda_line(w, "} else {  // the consumers");
    w->indent++;
    w->role = WRITES_CONSUMERS;
    registers_text(w, HELPER_TAKE_REGISTERS, consumers_registers(w));
    cuda_line(w, "int %s = 0, %s = 0;", received_name(w), freed_name(w));
}

void cuda_roles_close(CudaWriter *w)
{
    w->role = WRITES_ALL;
    w->indent--;
    cuda_line(w, "}");
}

static void release_text(CudaWriter *w, const Stmt *s, const char *why)
{
    int kept = s->u.barrier.pending;
    const char *until =
        kept ? arena_printf(w->c->arena, "%s - %d", received_name(w), kept) : received_name(w);
    if (s->u.barrier.kind == SYNC_RELEASE_CLUSTER)
        cuda_line(w, "%s<%d, %lld>(%s, %s, %s);  // %s",
                  cuda_helper(w, HELPER_CONSUMER_RELEASE_CLUSTER), w->use->groups,
                  (long long)w->use->launch->u.launch.cluster, released_name(w), freed_name(w),
                  until, why);
    else
        cuda_line(w, "%s<%d>(%s, %s, %s);  // %s", cuda_helper(w, HELPER_CONSUMER_RELEASE),
                  w->use->groups, released_name(w), freed_name(w), until, why);
}

void cuda_hand_over(CudaWriter *w, const Stmt *s, const char *why)
{
    int groups = w->use->groups;
    if (s->u.barrier.kind == SYNC_ACQUIRE)
        cuda_line(w, "%s<%d>(%s, %s, %d);  // %s", cuda_helper(w, HELPER_PRODUCER_ACQUIRE), groups,
                  released_name(w), cuda_begun_name(w), s->u.barrier.pending, why);
    else if (s->u.barrier.kind == SYNC_RECEIVE)
        cuda_line(w, "%s<%d>(%s, %s);  // %s", cuda_helper(w, HELPER_CONSUMER_RECEIVE), groups,
                  landed_text(w), received_name(w), why);
    else
        release_text(w, s, why);
}

void cuda_producer_commit(CudaWriter *w, const char *why)
{
    cuda_line(w, "%s<%d>(%s, %s);  // %s", cuda_helper(w, HELPER_PRODUCER_COMMIT), w->use->groups,
              landed_text(w), cuda_begun_name(w), why);
}

void cuda_consumers_meet(CudaWriter *w, const char *why)
{
    cuda_line(w, "%s<%lld>();  // %s", cuda_helper(w, HELPER_CONSUMERS_MEET),
              (long long)roles_consumers(&w->use->launch->u.launch), why);
}
