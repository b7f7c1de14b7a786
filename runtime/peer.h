/* peer.h - Declares the peers of a benchmark: library routines that are loaded at run time.
 *
 * A peer works on a workload like the kernel's own: the same seeded inputs, in buffers of its own,
 * in the same interleaved measurement with the same treatment of the caches. */
#ifndef TIRC_RUNTIME_PEER_H
#define TIRC_RUNTIME_PEER_H

#include "runtime/device.h"

/* A matrix of a product, row major: rows of `columns` elements, `batch` of them one behind the
 * other. */
typedef struct {
    int buffer; /* its number in the module */
    bool transposed;
} PeerMatrix;

/* The types of both operands, of the sums, and of what is stored. */
typedef struct {
    DType operands, sums, result;
} PeerTypes;

/* c[i, j] = sum of a[i, k] * b[k, j] for each of `batch`; and what follows it in the same
 * routine. */
typedef struct {
    PeerMatrix a, b, c;
    int64_t rows, columns, depth, batch;
    PeerTypes types;
    bool tf32; /* the routine may round elements of f32 to TF32 */
    int bias;  /* a buffer [columns] that is added to each row; -1: none */
    bool relu; /* after that, max with 0 */
} PeerProduct;

typedef enum { PEER_CUBLAS, PEER_MEMCPY, PEER_KINDS } PeerKind;
const char *peer_name(PeerKind kind);
PeerKind peer_find(const char *name); /* PEER_KINDS if there is none */

typedef struct {
    PeerKind kind;
    PeerProduct product; /* of cublas */
    int from, to;        /* buffers of memcpy ... */
    int64_t bytes;       /* ... and how many bytes */
} PeerTask;

typedef struct LibraryPeer LibraryPeer;
/* NULL after a diagnostic: E0640 where the library is missing (with the places that were searched),
 * E0641 where it refuses. The workload outlives the peer. */
LibraryPeer *peer_open(Device *d, const PeerTask *task, const Workload *w);
void peer_close(LibraryPeer *p);
bool peer_run(LibraryPeer *p);
/* Is its result that of the program but for rounding? One that copies moves as many bytes, and
 * computes nothing; how a routine rounds to TF32 is not documented. */
bool peer_is_comparable(const LibraryPeer *p);

#endif
