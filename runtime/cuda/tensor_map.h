/* tensor_map.h - Makes the tensor maps of bulk copies. */
#ifndef TIRC_RUNTIME_CUDA_TENSOR_MAP_H
#define TIRC_RUNTIME_CUDA_TENSOR_MAP_H

#include "runtime/cuda/cuda.h"

/* CUtensorMap of cuda.h; the driver wants it at a multiple of 64 bytes. */
typedef struct {
    _Alignas(64) uint64_t opaque[16];
} TensorMap;

/* Describes the boxes of `map` in the arrays of a run. False after E0617. */
bool tensor_map_make(CudaDevice *d, const Module *m, const ModuleMap *map, const RunArguments *args,
                     TensorMap *out);

#endif
