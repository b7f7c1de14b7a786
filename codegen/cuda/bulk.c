/* bulk.c - Emits bulk copies: tensor maps, the copies, and the mbarriers that say when a group of
 * copies into shared memory has landed.
 *
 *   prefetch_map(A_map);
 *   __shared__ unsigned long long landed[2];
 *   int begun = 0, waited = 0;
 *   copy_bulk_begin<2>(landed);
 *   ...
 *       copy_bulk_2d(&t[0][0], A_map, ko * 64, by * 128, &landed[begun % 2], 16384);
 *       copy_bulk_commit<2>(landed, begun);
 *   ...
 *   copy_bulk_wait<2>(landed, waited, begun - 1);
 *
 * Group n belongs to mbarrier n % 2, of which it is phase n / 2. All threads count the groups, so
 * each finds the phase by itself, wherever copies and waits stand. There are as many mbarriers as
 * groups under way at a time (copy_groups). Between the wait for a group and the next group of its
 * mbarrier stands the __syncthreads that follows each wait.
 *
 * A copy to all blocks of a cluster is a part of theirs: `multicast_bulk_2d<2>(..., 16384)` copies
 * 8192 bytes, to this block and to the other one, and lets the group of this one wait for as many
 * from there.
 *
 *   store_bulk_2d(C_map, bx * 64, by * 128, &t[0][0]);
 *   store_bulk_commit();
 *   store_bulk_wait<1>();
 *
 * An update is `add_bulk_2d(C_map, ...)` or its like. Its map says what the elements are.
 *
 * Groups of copies from shared memory are those of the thread that has made them. All threads
 * commit and wait; the others have nothing to wait for. */
#include "codegen/cuda/text.h"

const char *cuda_landed_name(CudaWriter *w)
{
    return cuda_names_made(w->names, "text", "landed");
}

const char *cuda_begun_name(CudaWriter *w)
{
    return cuda_names_made(w->names, "text", "begun");
}

static const char *waited_name(CudaWriter *w)
{
    return cuda_names_made(w->names, "text", "waited");
}

const char *cuda_map_name(CudaWriter *w, const LaunchUse *use, int box)
{
    Context *c = w->c;
    const char *what = arena_printf(c->arena, "map %d of %s", box, use->launch->u.launch.name);
    return cuda_names_made(
        w->names, what,
        arena_printf(c->arena, "%s_map", cuda_buffer_name(w, use->boxes.items[box].tensor)));
}

/* `{1024, M}, {64, 128}`: the extents of the tensor and those of a box, the last axis first, with
 * `between` in front of the latter. */
static void extents_text(CudaWriter *w, const BulkBox *box, const char *between)
{
    int last = box->tensor->rank - 1;
    for (int d = last; d >= 0; d--) {
        strbuf_add(w->out, d == last ? "{" : ", ");
        cuda_expr(w, box->tensor->shape[d], 0);
    }
    strbuf_addf(w->out, "}, %s", between);
    for (int d = last; d >= 0; d--)
        strbuf_addf(w->out, "%s%lld", d == last ? "{" : ", ", (long long)box->extent[d]);
    strbuf_add(w->out, "}");
}

/* A CUtensorMapDataType of cuda.h. */
typedef struct {
    int number;
    const char *name;
} MapType;

static MapType map_type(DType type)
{
    switch (type) {
    case DT_U8: return (MapType){0, "UINT8"};
    case DT_U16: return (MapType){1, "UINT16"};
    case DT_I32: return (MapType){3, "INT32"};
    case DT_U64: return (MapType){4, "UINT64"};
    case DT_I64: return (MapType){5, "INT64"};
    case DT_F16: return (MapType){6, "FLOAT16"};
    case DT_F32: return (MapType){7, "FLOAT32"};
    case DT_BF16: return (MapType){9, "BFLOAT16"};
    default: return (MapType){2, "UINT32"};
    }
}

void cuda_map_comments(CudaWriter *w, const LaunchUse *use)
{
    static const char *const swizzles[] = {
        [BULK_PLAIN] = "NONE",
        [BULK_SWIZZLE_32] = "32B",
        [BULK_SWIZZLE_64] = "64B",
        [BULK_SWIZZLE_128] = "128B",
    };
    for (int i = 0; i < use->boxes.n; i++) {
        const BulkBox *box = &use->boxes.items[i];
        strbuf_addf(w->out, "//   %s: cuTensorMapEncodeTiled of %s, %s, extents ",
                    cuda_map_name(w, use, i), cuda_buffer_name(w, box->tensor),
                    map_type(box->type).name);
        extents_text(w, box, "boxes ");
        strbuf_addf(w->out, ", SWIZZLE_%s\n", swizzles[box->mode]);
    }
}

void cuda_map_variables(CudaWriter *w, const LaunchUse *use)
{
    for (int i = 0; i < use->boxes.n; i++) {
        const BulkBox *box = &use->boxes.items[i];
        cuda_indent(w);
        strbuf_addf(w->out, "const TensorMap %s = tensor_map(%s, %d, ", cuda_map_name(w, use, i),
                    cuda_buffer_name(w, box->tensor), (int)type_bytes(box->tensor->type));
        extents_text(w, box, "");
        strbuf_addf(w->out, ", %d, %d);\n", (int)(box->mode - BULK_PLAIN),
                    map_type(box->type).number);
    }
}

void cuda_bulk_declarations(CudaWriter *w, const LaunchUse *use)
{
    if (use->groups == 0)
        return;
    for (int i = 0; i < use->boxes.n; i++)
        cuda_line(w, "%s(%s);", cuda_helper(w, HELPER_PREFETCH_MAP), cuda_map_name(w, use, i));
    const char *landed = cuda_landed_name(w);
    if (use->shared_is_dynamic)
        cuda_line(w, "unsigned long long *%s = (unsigned long long *)(%s + %lld);", landed,
                  cuda_names_made(w->names, "text", "shared_memory"),
                  (long long)use->groups_offset);
    else
        cuda_line(w, "__shared__ unsigned long long %s[%d];", landed, launch_mbarriers(use));
    if (use->roles)
        return;
    cuda_line(w, "int %s = 0, %s = 0;", cuda_begun_name(w), waited_name(w));
    cuda_line(w, "%s<%d>(%s);  // an mbarrier for each group of copies under way",
              cuda_helper(w, HELPER_BULK_BEGIN), use->groups, landed);
}

const char *cuda_turns_mbarriers(CudaWriter *w)
{
    return arena_printf(w->c->arena, "%s / %d %% %d * %d", cuda_begun_name(w),
                        w->use->roles->u.roles.turn, w->use->turns, w->use->groups);
}

/* `, x` as the hardware takes it, an int. */
static void coordinate_text(CudaWriter *w, const Expr *at)
{
    if (at->type == DT_I64) {
        strbuf_addf(w->out, ", %s(", cuda_helper(w, HELPER_BULK_COORDINATE));
        cuda_expr(w, at, 0);
        strbuf_add(w->out, ")");
        return;
    }
    strbuf_add(w->out, at->type == DT_INDEX ? ", " : ", (int)");
    cuda_expr(w, at, at->type == DT_INDEX ? 0 : PRECEDENCE_UNARY);
}

/* `A_map, x, y`: where the box lies in the tensor. */
static void box_text(CudaWriter *w, const Stmt *copy)
{
    const Expr *begins = bulk_begins(copy);
    strbuf_add(w->out, cuda_map_name(w, w->use, launch_box(w->use, copy)));
    for (int d = begins->u.load.buffer->rank - 1; d >= 0; d--)
        coordinate_text(w, begins->u.load.index[d]);
}

static void shared_text(CudaWriter *w, const Stmt *copy)
{
    const Expr *lies = bulk_lies(copy);
    strbuf_addc(w->out, '&');
    cuda_element(w, lies->u.load.buffer, lies->u.load.index);
}

static void store_text(CudaWriter *w, const Stmt *copy)
{
#define OF_RANKS(e)                                                                                \
    {                                                                                              \
        HELPER_BULK_##e##_1D, HELPER_BULK_##e##_2D, HELPER_BULK_##e##_3D, HELPER_BULK_##e##_4D,    \
            HELPER_BULK_##e##_5D                                                                   \
    }
    static const Helper helpers[][BULK_MAX_RANK] = {
        [STORE_SET] = OF_RANKS(STORE), [STORE_ADD] = OF_RANKS(ADD), [STORE_MIN] = OF_RANKS(MIN),
        [STORE_MAX] = OF_RANKS(MAX),   [STORE_AND] = OF_RANKS(AND), [STORE_OR] = OF_RANKS(OR),
        [STORE_XOR] = OF_RANKS(XOR),
    };
#undef OF_RANKS
    int rank = bulk_begins(copy)->u.load.buffer->rank;
    strbuf_addf(w->out, "%s(", cuda_helper(w, helpers[bulk_store(copy)->op][rank - 1]));
    box_text(w, copy);
    strbuf_add(w->out, ", ");
    shared_text(w, copy);
    strbuf_add(w->out, ");\n");
}

static void copy_text(CudaWriter *w, const Stmt *copy)
{
    static const Helper helpers[2][2][BULK_MAX_RANK] = {
        {{HELPER_BULK_COPY_1D, HELPER_BULK_COPY_2D, HELPER_BULK_COPY_3D, HELPER_BULK_COPY_4D,
          HELPER_BULK_COPY_5D},
         {HELPER_BULK_HINTED_1D, HELPER_BULK_HINTED_2D, HELPER_BULK_HINTED_3D,
          HELPER_BULK_HINTED_4D, HELPER_BULK_HINTED_5D}},
        {{HELPER_BULK_MULTICAST_1D, HELPER_BULK_MULTICAST_2D, HELPER_BULK_MULTICAST_3D,
          HELPER_BULK_MULTICAST_4D, HELPER_BULK_MULTICAST_5D},
         {HELPER_BULK_HINTED_MULTICAST_1D, HELPER_BULK_HINTED_MULTICAST_2D,
          HELPER_BULK_HINTED_MULTICAST_3D, HELPER_BULK_HINTED_MULTICAST_4D,
          HELPER_BULK_HINTED_MULTICAST_5D}}};
    bool multicast = copy->u.instruction.of->multicast;
    int64_t blocks = w->use->launch->u.launch.cluster;
    const char *policy = cuda_hint_policy(w, bulk_begins(copy)->hint);
    const BulkBox *box = &w->use->boxes.items[launch_box(w->use, copy)];
    int64_t bytes = type_bytes(box->tensor->type) * (multicast ? blocks : 1);
    for (int d = 0; d < box->tensor->rank; d++)
        bytes *= box->extent[d];
    strbuf_add(w->out, cuda_helper(w, helpers[multicast][policy != NULL][box->tensor->rank - 1]));
    if (multicast)
        strbuf_addf(w->out, "<%lld>", (long long)blocks);
    strbuf_addc(w->out, '(');
    shared_text(w, copy);
    strbuf_add(w->out, ", ");
    box_text(w, copy);
    strbuf_addf(w->out, ", &%s[%s%s %% %d], %lld", cuda_landed_name(w),
                w->use->turns > 1 ? arena_printf(w->c->arena, "%s + ", cuda_turns_mbarriers(w))
                                  : "",
                cuda_begun_name(w), w->use->groups, (long long)bytes);
    if (policy)
        strbuf_addf(w->out, ", %s()", policy);
    strbuf_add(w->out, ");\n");
}

void cuda_bulk_copy(CudaWriter *w, const Stmt *copy)
{
    cuda_indent(w);
    if (copy->u.instruction.of->stores)
        store_text(w, copy);
    else
        copy_text(w, copy);
}

void cuda_store_group(CudaWriter *w, const Stmt *s, const char *why)
{
    if (s->u.barrier.kind == SYNC_COMMIT)
        cuda_line(w, "%s();  // %s", cuda_helper(w, HELPER_STORE_COMMIT), why);
    else
        cuda_line(w, "%s<%d>();  // %s", cuda_helper(w, HELPER_STORE_WAIT), s->u.barrier.pending,
                  why);
}

void cuda_bulk_commit(CudaWriter *w, const char *why)
{
    cuda_line(w, "%s<%d>(%s, %s);  // %s", cuda_helper(w, HELPER_BULK_COMMIT), w->use->groups,
              cuda_landed_name(w), cuda_begun_name(w), why);
}

void cuda_bulk_wait(CudaWriter *w, int pending, const char *why)
{
    const char *until = pending ? arena_printf(w->c->arena, "%s - %d", cuda_begun_name(w), pending)
                                : cuda_begun_name(w);
    cuda_line(w, "%s<%d>(%s, %s, %s);  // %s", cuda_helper(w, HELPER_BULK_WAIT), w->use->groups,
              cuda_landed_name(w), waited_name(w), until, why);
}
