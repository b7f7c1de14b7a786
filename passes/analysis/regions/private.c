/* private.c - Decides which temporaries each iteration of a loop can have for itself. */
#include "passes/analysis/regions/private.h"

enum {
    THREAD_BYTES = 4 << 10, /* more leaves room for few threads */
    BLOCK_BYTES = 48 << 10, /* the static limit of a block */
};

/* The bytes of its elements; INT64_MAX where the shape is not literal. */
static int64_t bytes_of(const Buffer *buffer)
{
    int64_t extent, bytes = type_bytes(buffer->type);
    for (int i = 0; i < buffer->rank; i++)
        if (!expr_is_const(buffer->shape[i], &extent) || !checked_mul(bytes, extent, &bytes))
            return INT64_MAX;
    return bytes;
}

Scope private_scope(const Buffer *temp, Axis axis)
{
    if (temp->scope == SCOPE_CONSTANT || temp->scope == SCOPE_WARP || temp->scope == SCOPE_CLUSTER)
        return temp->scope;
    if (axis_is_thread(axis))
        return bytes_of(temp) <= THREAD_BYTES ? SCOPE_LOCAL : temp->scope;
    return temp->scope == SCOPE_GLOBAL && bytes_of(temp) <= BLOCK_BYTES ? SCOPE_SHARED
                                                                        : temp->scope;
}
