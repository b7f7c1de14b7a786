/* emulator.h - a CUDA device on the host: one block at a time, its threads as fibers that take
 * turns at barriers and shuffles.
 *
 *   Orders      threads and blocks run forwards, backwards, warp by warp, or in random order;
 *               another order after each barrier.
 *   Barriers    wait for all threads of the block, which must stand at one line; a thread that has
 *               ended or stands elsewhere is a fault, and so is a shuffle that part of a warp never
 *               reaches.
 *   Copies      of cp.async arrive when they are waited for, not before; until then their place
 *               holds garbage.
 *   Memory      begins as garbage: shared memory for each block, buffers that nothing has written.
 *               Each buffer ends (or begins) at a page that cannot be accessed.
 *
 * A fault ends the process with a line that says what, where, and by which thread. */
#ifndef EMULATOR_H
#define EMULATOR_H

#include <stddef.h>
#include <stdint.h>

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(long long x_ = 1, long long y_ = 1, long long z_ = 1)
        : x((unsigned)x_), y((unsigned)y_), z((unsigned)z_)
    {
    }
};
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

namespace emulator
{

/* ---- programs under test ---- */

enum Role { IN, OUT, INOUT };
struct Parameter {
    const char *name, *type;
    Role role;
    bool is_scalar;
    long long elements;
    double low, high; /* inputs are drawn between these, unless low > high */
    /* of the elements: "", "nondecreasing", "increasing", "distinct", "permutation" */
    const char *order;
};
/* One program with its schedule and sizes. */
struct Trial {
    const char *name;
    unsigned long long seed;
    bool reorders; /* additions of floats may run in another order than the program's */
    /* accesses of several elements at once, for which buffers must be aligned and whole */
    bool wide;
    int n_parameters;
    const Parameter *parameters;
    void (*evaluate)(void **arguments); /* the program itself (evaluate.py) */
    /* the host's part of what tirc made of it: buffers on the device, scalars on the host */
    void (*launch)(void **arguments);
};
/* Runs them in processes of their own, and prints a line for each: its name, a verdict, and what is
 * wrong. */
int run_trials(const Trial *trials, int n, int argc, char **argv);

/* A complete program, which checks itself. */
struct Complete {
    const char *name;
    int (*main)(int argc, char **argv);
    int argc;
    const char *argv[10];
};
int run_complete(const Complete *programs, int n, int argc, char **argv);

/* ---- the device ---- */

[[noreturn]] void fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A buffer that begins as garbage. wide: 16 bytes may be accessed where one is. */
void *device_memory(long long bytes);
/* What __shared__ memory of one kernel's text lies in; null where it has none. Where its blocks
 * await others, they run in the order of blockIdx. */
struct Shared {
    char *begin, *end;
    bool awaits;
};
void launch_grid(dim3 grid, dim3 block, long long dynamic_bytes, Shared shared,
                 void (*kernel)(void *), void *closure);

template <class Call> void call_closure(void *closure)
{
    (*(Call *)closure)();
}
template <class Call>
void launch(dim3 grid, dim3 block, long long dynamic_bytes, Shared shared, Call call)
{
    launch_grid(grid, block, dynamic_bytes, shared, call_closure<Call>, &call);
}

/* A size that becomes an argument: a fault where it does not fit. */
struct Size {
    long long value;
    template <class T> operator T() const
    {
        if ((long long)(T)value != value)
            fault("a size of %lld does not fit its argument", value);
        return (T)value;
    }
};

/* ---- threads ---- */

void barrier(int line);
/* Of so many threads of the block, which must stand at one line; there are several, by number. */
void part_barrier(int line, int number, int n);
unsigned lane();
void warp_barrier(int line);
uint64_t exchange(int line, uint64_t value, unsigned lane_mask);
/* The values of all 32 lanes of the warp. */
void gather(int line, uint64_t value, uint64_t *values);
template <class T> T shuffle_xor(int line, T value, unsigned lane_mask)
{
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    bits = exchange(line, bits, lane_mask);
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
/* The value of lane `lane` % 32; each lane names one of its own. */
template <class T> T shuffle(int line, T value, unsigned lane)
{
    uint64_t bits = 0, all[32];
    __builtin_memcpy(&bits, &value, sizeof value);
    gather(line, bits, all);
    __builtin_memcpy(&value, &all[lane % 32], sizeof value);
    return value;
}
/* cp.async: of `bytes` bytes the first `given` come from memory, the others are 0. */
void copy_async(void *to, const void *from, int bytes, int given);
void copy_commit();
void copy_wait(int pending);
/* mbarriers and bulk copies of a box of a tensor, at `at`, the last axis first. The copies arrive
 * when their mbarrier is waited for and nothing but they is missing, not before; until then their
 * place holds garbage. */
struct TensorMapOf {
    const void *tensor;
    int bytes, rank;
    long long extent[5];
    int box[5], span; /* of the swizzle in bytes; 0: none */
    const char *type; /* that updates take elements for */
    template <class T> operator T() const
    {
        static_assert(sizeof(T) == 128 && sizeof(TensorMapOf) <= sizeof(T), "a CUtensorMap");
        T map = {};
        __builtin_memcpy(&map, this, sizeof *this);
        return map;
    }
};
void mbarrier_init(unsigned mbarrier, int arrivals);
void mbarrier_arrive(unsigned mbarrier);
void mbarrier_expect(unsigned mbarrier, int bytes);
/* Whether its phase with this parity is complete; the thread gives way where it is not. */
bool mbarrier_test(int line, unsigned mbarrier, unsigned parity);
void copy_bulk(unsigned to, const void *map, const int *at, int rank, unsigned mbarrier);
/* Bulk stores, which read shared memory when their thread waits for their group, not before. */
void store_bulk(const void *map, const int *at, int rank, unsigned from);
/* The same of an update, which combines an element of the tensor with one in shared memory. */
using Combine = void(const char *type, void *to, const void *from);
void update_bulk(const void *map, const int *at, int rank, unsigned from, Combine *combine);
void store_commit();
void store_wait(int pending);
/* fence.proxy.async: a warpgroup's product does not see copies that have no fence behind them. */
void proxy_fence();
/* wgmma.mma_async of one thread: `add` adds the products to its `n` sums. Until the thread waits
 * for the group, the sums are garbage; then they are computed from what the memory holds then. */
struct Product {
    void *sums[128]; /* of four bytes each */
    int n;
    uint64_t a, b; /* descriptors */
    bool a_turned, b_turned;
    bool fresh;           /* sums begin at 0 */
    bool in_registers;    /* a */
    uint32_t rows[2][32]; /* then: what a has in the rows of the thread */
    void (*add)(const Product &, uint32_t *sums);
    uint32_t values[128]; /* as bits */
    int group;
};
/* `add` of operands of these types (warpgroup.cpp). */
void add_f16(const Product &, uint32_t *sums);
void add_bf16(const Product &, uint32_t *sums);
void add_e4m3(const Product &, uint32_t *sums);
void add_e5m2(const Product &, uint32_t *sums);
void add_tf32(const Product &, uint32_t *sums);
void add_s8(const Product &, uint32_t *sums);
void add_u8(const Product &, uint32_t *sums);
void product_fence();
/* Fills the product's rows of 8, 16 or 32 elements from the registers of the threads that have
 * them. */
void product_rows(int line, const uint32_t *registers, int elements, Product *product);
void product_issue(int line, Product product);
void product_commit();
void product_wait(int pending);
/* Addresses in shared memory as 32 bits. */
unsigned shared_address(const void *p);
void *shared_pointer(unsigned address);
void check_aligned(const void *p, size_t bytes);

} // namespace emulator

#endif
