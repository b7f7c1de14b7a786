// patterns.cu - requests of one warp with known addresses, for a profiler: what the memory model says about each is printed, one line a
// launch, in the order of the launches.  Named patterns and random ones, of 1 to 16 bytes a lane; `patterns l2` measures the
// bandwidth of the second-level cache instead.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
#include "ir/target/memory_model.h"
}

enum { ELEMENTS = 1024 };

struct Pattern {
    int index[WARP_LANES], again[WARP_LANES]; // the same twice, which the compiler does not know
    uint32_t active;
};

template <int BYTES> struct Element;
template <> struct Element<1> { typedef unsigned char Type; };
template <> struct Element<2> { typedef unsigned short Type; };
template <> struct Element<4> { typedef unsigned int Type; };
template <> struct Element<8> { typedef uint2 Type; };
template <> struct Element<16> { typedef uint4 Type; };

// One load and one store of global memory, one store and one load of shared memory.
template <typename V> __global__ void touch(Pattern p, const V *in, V *out)
{
    __shared__ __align__(128) V tile[ELEMENTS];
    int lane = threadIdx.x;
    if (!(p.active >> lane & 1))
        return;
    V v = in[p.index[lane]];
    tile[p.index[lane]] = v;
    __threadfence_block();
    V w = tile[p.again[lane]];
    out[p.again[lane]] = w;
}

static void check(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

template <int BYTES> static void launch(const char *name, const Pattern &p)
{
    typedef typename Element<BYTES>::Type V;
    static V *in, *out;
    if (!in) {
        check(cudaMalloc(&in, ELEMENTS * sizeof(V)), "cudaMalloc");
        check(cudaMalloc(&out, ELEMENTS * sizeof(V)), "cudaMalloc");
        check(cudaMemset(in, 1, ELEMENTS * sizeof(V)), "cudaMemset");
    }
    WarpAccess a = {};
    a.bytes = BYTES;
    a.active = p.active;
    for (int lane = 0; lane < WARP_LANES; lane++)
        a.address[lane] = (int64_t)p.index[lane] * BYTES;
    touch<V><<<1, WARP_LANES>>>(p, in, out);
    check(cudaDeviceSynchronize(), "touch");
    int load = memory_wavefronts(&a);
    a.writes = true;
    printf("%d %s %d %d %d %08x", BYTES, name, memory_sectors(&a), load, memory_wavefronts(&a), p.active);
    for (int lane = 0; lane < WARP_LANES; lane++)
        printf(" %d", p.index[lane]);
    printf("\n");
}

static int named(int which, int lane)
{
    switch (which) {
    case 0: return lane;
    case 1: return 0;
    case 2: return lane / 2;
    case 3: return lane / 4;
    case 4: return lane / 8;
    case 5: return lane / 16;
    case 6: return lane % 2;
    case 7: return lane % 4;
    case 8: return lane % 8;
    case 9: return lane % 16;
    case 10: return lane * 2;
    case 11: return lane * 4;
    case 12: return lane * 8;
    case 13: return lane * 16;
    case 14: return lane * 32;
    case 15: return lane * 33 % ELEMENTS;
    case 16: return lane * 17;
    case 17: return lane * 9;
    case 18: return lane * 5;
    case 19: return lane ^ 1;
    case 20: return 31 - lane;
    case 21: return lane % 16 * 16 + lane / 16;
    case 22: return lane % 16 * 17 + lane / 16;
    case 23: return lane % 8 * 8 + lane / 8;
    case 24: return lane % 8 * 9 + lane / 8;
    case 25: return lane % 8 * 32 + lane / 8;
    case 26: return lane / 8 * 32 + lane % 8;
    case 27: return lane / 2 * 2;
    case 28: return (lane / 2) % 8;
    case 29: return lane / 16 * 64 + lane % 2;
    case 30: return lane + 1;
    case 31: return lane < 16 ? lane / 2 : lane;
    case 32: return lane < 16 ? lane : lane / 2;
    case 33: return lane < 16 ? lane / 2 : 64 + lane % 2;
    case 34: return lane < 8 ? lane / 2 : lane;
    default: return lane / 2 + (which - 35) * lane / 4;
    }
}
enum { NAMED = 40, RANDOM = 60 };

/* Masks under which partners are often not there. */
static uint32_t active_lanes(int which)
{
    static const uint32_t masks[] = {0x55555555, 0xaaaaaaaa, 0x33333333, 0x0000ffff, 0x0f0ff3ff, 0x00000001};
    if (which < NAMED)
        return which >= 35 ? masks[which - 35] : 0xffffffff;
    return which % 3 == 2 ? masks[which % 6] : 0xffffffff;
}

template <int BYTES> static void all(uint64_t *seed)
{
    for (int which = 0; which < NAMED + RANDOM; which++) {
        Pattern p = {};
        char name[32];
        snprintf(name, sizeof name, which < NAMED ? "named%d" : "random%d", which < NAMED ? which : which - NAMED);
        p.active = active_lanes(which);
        for (int lane = 0; lane < WARP_LANES; lane++) {
            *seed = *seed * 6364136223846793005u + 1442695040888963407u;
            int range = 4 << which % 8;
            p.index[lane] = which < NAMED ? named(which, lane) : (int)(*seed >> 40) % range;
            if (which >= NAMED && which % 4 == 1) // partners that agree
                p.index[lane] = lane & 1 ? p.index[lane - 1] : p.index[lane];
            p.again[lane] = p.index[lane];
        }
        launch<BYTES>(name, p);
    }
}

// ---- the second-level cache --------------------------------------------------------------------

__global__ void read_all(const uint4 *in, size_t n, int times, unsigned *out)
{
    unsigned sum = 0;
    for (int t = 0; t < times; t++)
        for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
            uint4 v = __ldcg(in + i);
            sum += v.x ^ v.y ^ v.z ^ v.w;
        }
    if (sum == 12345)
        *out = sum;
}

static void measure_l2()
{
    const int times = 50;
    for (size_t megabytes = 4; megabytes <= 32; megabytes *= 2) {
        size_t bytes = megabytes << 20;
        uint4 *in;
        unsigned *out;
        cudaEvent_t begin, end;
        float ms = 0, best = 1e9f;
        check(cudaMalloc(&in, bytes), "cudaMalloc");
        check(cudaMalloc(&out, 4), "cudaMalloc");
        check(cudaMemset(in, 7, bytes), "cudaMemset");
        cudaEventCreate(&begin);
        cudaEventCreate(&end);
        for (int i = 0; i < 7; i++) {
            cudaEventRecord(begin);
            read_all<<<132 * 4, 512>>>(in, bytes / sizeof(uint4), times, out);
            cudaEventRecord(end);
            check(cudaEventSynchronize(end), "read_all");
            cudaEventElapsedTime(&ms, begin, end);
            best = ms < best ? ms : best;
        }
        printf("reads of %zu MB that hit the second-level cache: %.0f GB/s\n", megabytes, (double)bytes * times / best * 1e-6);
        cudaFree(in);
        cudaFree(out);
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = 1;
    if (argc > 1 && !strcmp(argv[1], "l2")) {
        measure_l2();
        return 0;
    }
    all<1>(&seed);
    all<2>(&seed);
    all<4>(&seed);
    all<8>(&seed);
    all<16>(&seed);
    return 0;
}
