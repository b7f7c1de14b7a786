/* requests.h - what the warps of a launch ask of a buffer: the subscripts of each lane, by going
 * through all of them.
 *
 * An access of the lowered text makes one request for each warp of the block and each combination
 * of the loops and block coordinates that its subscripts use. Guards that depend only on these are
 * evaluated; other guards are assumed to be true, so a request may contain lanes that are inactive
 * at an edge of the data. */
#ifndef TIRC_PASSES_LOWER_ACCESS_REQUESTS_H
#define TIRC_PASSES_LOWER_ACCESS_REQUESTS_H

#include "ir/target/memory_model.h"
#include "passes/lower/pass.h"

/* The lanes of one warp; index[lane * rank + axis] is a subscript of its first element. */
typedef struct {
    uint32_t active;
    const int64_t *index;
} Request;

typedef struct {
    Span span;
    bool is_store;
    int lanes;     /* elements of one thread: more than 1 for a wide access */
    bool known;    /* false: a subscript depends on data or on sizes, so there are no requests */
    bool complete; /* false: there are more requests than REQUESTS_MAX */
    VEC(Request) requests;
} BufferAccess;

enum { REQUESTS_MAX = 4096 };

typedef VEC(BufferAccess) BufferAccesses;

/* All accesses to `buffer` in the launch, in the order of the text. */
void requests_of(Context *c, const Stmt *launch, const Buffer *buffer, BufferAccesses *out);

/* The bytes that each lane of a request touches, with the elements where `buffer` (the same one,
 * perhaps with another layout) puts them. */
void request_addresses(const Buffer *buffer, const int64_t *strides, const BufferAccess *access,
                       const Request *request, WarpAccess *out);

#endif
