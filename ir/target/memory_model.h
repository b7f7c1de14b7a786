/* memory_model.h - Computes the cost of a warp's request in the memory of a GPU.
 *
 * A warp-wide load or store is one request of up to 32 addresses.  Global memory answers it in
 * sectors of 32 bytes; shared memory in wavefronts, each of which moves at most one 4-byte word of
 * each of its 32 banks.  The rules, for compute capability 5.0 and later:
 *
 *     sectors     the distinct values of floor(address / 32) over all bytes of the active lanes
 *     wavefronts  the sum, over the groups of lanes that are served together, of the largest number
 *                 of distinct words that a bank holds: bank(word) = word mod 32,
 *                 word = floor(address / 4).  Lanes that name the same word share it, also in a
 *                 store.  A group has 128 bytes: all 32 lanes for up to 4 bytes a lane, half a warp
 *                 for 8, a quarter for 16.  A load takes groups of twice as many lanes where every
 *                 lane i names the same address as lane i xor 1, or every one as lane i xor 2, as
 *                 far as both are active
 *     ideal       ceil(distinct bytes / 32) sectors, ceil(distinct bytes / 128) wavefronts; at
 *                 least one for each group
 *     words       the distinct values of floor(address / 4): constant memory answers one of them at
 *                 a time, to all lanes that want it
 *     lines       the distinct values of floor(address / 128): how often the first-level cache
 *                 looks up a tag
 *
 * Sources: the CUDA C++ Programming Guide, "Compute Capability 5.x", "Shared Memory" and "Global
 * Memory"; wide accesses as Nsight Compute counts them on an H200 (tests/gpu/counters):
 * l1tex__t_sectors_pipe_lsu_mem_global_op_* and l1tex__data_pipe_lsu_wavefronts_mem_shared_op_*,
 * divided by their requests.  docs/analysis.md compares model and hardware. */
#ifndef TIRC_IR_TARGET_MEMORY_MODEL_H
#define TIRC_IR_TARGET_MEMORY_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum {
    WARP_LANES = 32,
    SECTOR_BYTES = 32,
    LINE_BYTES = 128,
    BANKS = 32,
    BANK_BYTES = 4,
    WAVEFRONT_BYTES = BANKS * BANK_BYTES,
    LANE_BYTES_MAX = 16,
};

/* One request. Addresses are bytes from any origin that is a multiple of LINE_BYTES; those of
 * inactive lanes mean nothing. */
typedef struct {
    int64_t address[WARP_LANES];
    uint32_t active; /* bit i: lane i takes part */
    int bytes;       /* of a lane: 1, 2, 4, 8 or 16 */
    bool writes;     /* a store or an atomic */
} WarpAccess;

/* The cost of a request to global memory, in sectors; to shared memory, in wavefronts. 0 where no
 * lane is active. */
int memory_sectors(const WarpAccess *access);
int memory_wavefronts(const WarpAccess *access);

/* The lines of a request to global memory. */
int memory_lines(const WarpAccess *access);

/* The words of a request to constant memory. */
int memory_words(const WarpAccess *access);

/* The least that the same number of distinct bytes can cost. */
int memory_sectors_ideal(const WarpAccess *access);
int memory_wavefronts_ideal(const WarpAccess *access);

/* Bytes that at least one active lane touches. */
int memory_distinct_bytes(const WarpAccess *access);

/* How many lanes of a request to shared memory are served together. */
int memory_group_lanes(const WarpAccess *access);

/* The bank of the first word at an address. */
int memory_bank(int64_t address);

/* How many banks the lanes of the costliest group fall into, and the most distinct words in one of
 * them: (1, 32) for 32 lanes of 4 bytes in one bank, (32, 1) where there is no conflict. */
typedef struct {
    int banks, words;
} BankUse;
BankUse memory_bank_use(const WarpAccess *access);

/* The most active lanes that name the same address: how often an atomic has to be done one after
 * the other. */
int memory_collisions(const WarpAccess *access);

#endif
