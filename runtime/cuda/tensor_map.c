/* tensor_map.c - Makes the tensor maps of bulk copies: what the hardware has to know of a tensor
 * and of a box of it.
 *
 * The driver makes them. Its function is found through the CUDA runtime, so nothing is linked. */
#include "runtime/cuda/tensor_map.h"

#include <string.h>

/* cuTensorMapEncodeTiled, "CUDA Driver API" reference manual */
typedef int EncodeTiled(void *map, int type, unsigned rank, void *tensor, const uint64_t *extents,
                        const uint64_t *pitches, const unsigned *box, const unsigned *steps,
                        int interleave, int swizzle, int promotion, int fill);

/* enum CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion of cuda.h */
enum {
    MAP_UINT8 = 0,
    MAP_UINT16 = 1,
    MAP_UINT32 = 2,
    MAP_INT32 = 3,
    MAP_UINT64 = 4,
    MAP_INT64 = 5,
    MAP_FLOAT16 = 6,
    MAP_FLOAT32 = 7,
    MAP_BFLOAT16 = 9
};
enum { MAP_PROMOTE_128_BYTES = 2, MAP_VERSION = 12000, MAP_ALIGNMENT = 16 };
enum { MAP_MAX_EXTENT = INT32_MAX - 511 };

/* NULL where the driver has none. */
static EncodeTiled *find_encoder(CudaDevice *d)
{
    void *function = NULL;
    int found = 0;
    if (d->api.rt.cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, MAP_VERSION,
                                                   0, &found) != CUDA_OK)
        return NULL;
    EncodeTiled *encode;
    memcpy(&encode, &function, sizeof encode);
    return encode;
}

static int type_of_map(DType type)
{
    switch (type) {
    case DT_U8: return MAP_UINT8;
    case DT_U16: return MAP_UINT16;
    case DT_I32: return MAP_INT32;
    case DT_U64: return MAP_UINT64;
    case DT_I64: return MAP_INT64;
    case DT_F16: return MAP_FLOAT16;
    case DT_F32: return MAP_FLOAT32;
    case DT_BF16: return MAP_BFLOAT16;
    default: return MAP_UINT32;
    }
}

static int swizzle_of_span(int span)
{
    return span == 128 ? 3 : span / 32;
}

static bool refuse(CudaDevice *d, const ModuleBuffer *buffer, const char *why)
{
    diag_error(d->base.ctx, E0617, span_none(), "bulk copies cannot read '%s': %s", buffer->name,
               why);
    return false;
}

/* What cuTensorMapEncodeTiled takes, the last axis first. */
typedef struct {
    uint64_t extents[MAP_MAX_RANK], pitches[MAP_MAX_RANK];
    unsigned box[MAP_MAX_RANK], steps[MAP_MAX_RANK];
} Tiles;

/* False where an axis has no elements, or more than coordinates reach, boxes beyond included. */
static bool describe(const ModuleBuffer *buffer, const ModuleMap *map, const int64_t *sizes,
                     Tiles *out)
{
    int64_t shape[MAP_MAX_RANK];
    uint64_t pitch = (uint64_t)type_bytes(buffer->type);
    bool reached = vm_eval_shape(buffer->shape, sizes, shape);
    for (int i = 0; reached && i < buffer->rank; i++) {
        int axis = buffer->rank - 1 - i;
        reached = shape[axis] > 0 && shape[axis] <= MAP_MAX_EXTENT;
        out->extents[i] = (uint64_t)shape[axis];
        out->pitches[i] = pitch *= out->extents[i];
        out->box[i] = (unsigned)map->box[axis];
        out->steps[i] = 1;
    }
    return reached;
}

bool tensor_map_make(CudaDevice *d, const Module *m, const ModuleMap *map, const RunArguments *args,
                     TensorMap *out)
{
    const ModuleBuffer *buffer = &m->buffers[map->buffer];
    void *tensor = (void *)(uintptr_t)args->buffers[map->buffer];
    Tiles tiles;
    if (!describe(buffer, map, args->sizes, &tiles))
        return refuse(d, buffer, "an axis has no elements, or more than 2147483136");
    if ((uintptr_t)tensor % MAP_ALIGNMENT != 0)
        return refuse(d, buffer, "it does not begin at a multiple of 16 bytes");
    EncodeTiled *encode = find_encoder(d);
    if (!encode)
        return refuse(d, buffer, "the driver makes no tensor maps; it is older than CUDA 12");
    int status = encode(out, type_of_map(map->type), (unsigned)buffer->rank, tensor, tiles.extents,
                        tiles.pitches, tiles.box, tiles.steps, 0, swizzle_of_span(map->span),
                        MAP_PROMOTE_128_BYTES, 0);
    return status == CUDA_OK || refuse(d, buffer, "the driver refuses its tensor map");
}
