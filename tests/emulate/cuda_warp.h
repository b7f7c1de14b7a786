/* cuda_warp.h - PTX that a warp executes together: ldmatrix, stmatrix and mma.sync.
 *
 * The tables of the PTX manual say which lane has which element of a matrix in which register. */
#ifndef TIRC_TESTS_EMULATE_CUDA_WARP_H
#define TIRC_TESTS_EMULATE_CUDA_WARP_H

namespace emulator
{
/* What the lanes of a warp show each other, until `leave`. */
struct Lanes {
    uint64_t of[32];
    Lanes(int line, uint64_t mine)
    {
        gather(line, mine, of);
    }
    template <class T> const T *at(int lane) const
    {
        return (const T *)of[lane];
    }
};

static inline int own_lane()
{
    return (int)((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32);
}

/* The elements of matrix m that a lane has in the halves of a register, as rows and columns. */
struct Halves {
    int row[2], column[2];
};
static inline Halves halves_of_lane(bool transposed)
{
    int lane = own_lane();
    Halves halves;
    for (int i = 0; i < 2; i++) {
        halves.row[i] = transposed ? lane % 4 * 2 + i : lane / 4;
        halves.column[i] = transposed ? lane / 4 : lane % 4 * 2 + i;
    }
    return halves;
}

/* Lane 8 * m + r has the address of row r of matrix m. */
static inline const void *row_of_matrix(int matrices, unsigned address)
{
    const void *row = shared_pointer(address);
    if (own_lane() < 8 * matrices)
        check_aligned(row, 16);
    return row;
}

static inline void load_matrices(int matrices, unsigned *const to[], unsigned address,
                                 bool transposed)
{
    Lanes rows(__LINE__, (uint64_t)row_of_matrix(matrices, address));
    Halves at = halves_of_lane(transposed);
    for (int m = 0; m < matrices; m++) {
        *to[m] = 0;
        for (int i = 0; i < 2; i++)
            *to[m] |= (unsigned)rows.at<unsigned short>(8 * m + at.row[i])[at.column[i]] << 16 * i;
    }
    warp_barrier(__LINE__);
}

static inline void store_matrices(int matrices, const unsigned from[], unsigned address,
                                  bool transposed)
{
    Lanes rows(__LINE__, (uint64_t)row_of_matrix(matrices, address));
    Halves at = halves_of_lane(transposed);
    for (int m = 0; m < matrices; m++)
        for (int i = 0; i < 2; i++)
            ((unsigned short *)rows.of[8 * m + at.row[i]])[at.column[i]] =
                (unsigned short)(from[m] >> 16 * i);
    warp_barrier(__LINE__);
}

template <class Register> struct Fragments {
    Register a[4], b[2];
};
static inline double element(const unsigned *registers, int number, const NarrowFormat &format)
{
    return narrow_value(format, registers[number / 2] >> number % 2 * 16 & 0xffff);
}

/* d = a * b + c for the elements of this lane: rows lane / 4 and 8 more, two columns. */
template <class Register, class Sum, class Product>
static inline void multiply(Sum *const d[4], const Sum *const c[4], const Fragments<Register> &mine,
                            Product product)
{
    Lanes all(__LINE__, (uint64_t)&mine);
    int lane = own_lane();
    Sum sums[4];
    for (int r = 0; r < 4; r++)
        sums[r] = (Sum)(*c[r] + product(all, lane / 4 + r / 2 * 8, lane % 4 * 2 + r % 2));
    warp_barrier(__LINE__);
    for (int r = 0; r < 4; r++)
        *d[r] = sums[r];
}

static inline double halves_product(const Lanes &all, int row, int column,
                                    const NarrowFormat &format)
{
    double sum = 0;
    for (int k = 0; k < 16; k++) {
        const auto *x = all.at<Fragments<unsigned>>(row % 8 * 4 + k % 8 / 2),
                   *y = all.at<Fragments<unsigned>>(column * 4 + k % 8 / 2);
        sum += element(x->a, (row / 8 + k / 8 * 2) * 2 + k % 2, format) *
               element(y->b, k / 8 * 2 + k % 2, format);
    }
    return sum;
}

template <class Byte> static inline long long bytes_product(const Lanes &all, int row, int column)
{
    long long sum = 0;
    for (int k = 0; k < 32; k++) {
        const auto *x = all.at<Fragments<unsigned>>(row % 8 * 4 + k % 16 / 4),
                   *y = all.at<Fragments<unsigned>>(column * 4 + k % 16 / 4);
        sum += (long long)(Byte)(x->a[row / 8 + k / 16 * 2] >> k % 4 * 8) *
               (Byte)(y->b[k / 16] >> k % 4 * 8);
    }
    return sum;
}

static inline double floats_product(const Lanes &all, int row, int column, NarrowFormat format)
{
    double sum = 0;
    for (int k = 0; k < 32; k++) {
        const auto *x = all.at<Fragments<unsigned>>(row % 8 * 4 + k % 16 / 4),
                   *y = all.at<Fragments<unsigned>>(column * 4 + k % 16 / 4);
        sum += narrow_value(format, x->a[row / 8 + k / 16 * 2] >> k % 4 * 8 & 0xff) *
               narrow_value(format, y->b[k / 16] >> k % 4 * 8 & 0xff);
    }
    return sum;
}

static inline double tf32_product(const Lanes &all, int row, int column)
{
    double sum = 0;
    for (int k = 0; k < 8; k++)
        sum +=
            tf32_value(all.at<Fragments<unsigned>>(row % 8 * 4 + k % 4)->a[row / 8 + k / 4 * 2]) *
            tf32_value(all.at<Fragments<unsigned>>(column * 4 + k % 4)->b[k / 4]);
    return sum;
}

static inline double doubles_product(const Lanes &all, int row, int column)
{
    double sum = 0;
    for (int k = 0; k < 8; k++)
        sum += all.at<Fragments<double>>(row % 8 * 4 + k % 4)->a[row / 8 + k / 4 * 2] *
               all.at<Fragments<double>>(column * 4 + k % 4)->b[k / 4];
    return sum;
}
} // namespace emulator

#define MATRICES(name, transposed)                                                                 \
    static inline void ptx_ldmatrix_sync_aligned_m8n8_x1_##name(unsigned &r0, unsigned address)    \
    {                                                                                              \
        unsigned *const to[] = {&r0};                                                              \
        emulator::load_matrices(1, to, address, transposed);                                       \
    }                                                                                              \
    static inline void ptx_ldmatrix_sync_aligned_m8n8_x2_##name(unsigned &r0, unsigned &r1,        \
                                                                unsigned address)                  \
    {                                                                                              \
        unsigned *const to[] = {&r0, &r1};                                                         \
        emulator::load_matrices(2, to, address, transposed);                                       \
    }                                                                                              \
    static inline void ptx_ldmatrix_sync_aligned_m8n8_x4_##name(                                   \
        unsigned &r0, unsigned &r1, unsigned &r2, unsigned &r3, unsigned address)                  \
    {                                                                                              \
        unsigned *const to[] = {&r0, &r1, &r2, &r3};                                               \
        emulator::load_matrices(4, to, address, transposed);                                       \
    }                                                                                              \
    static inline void ptx_stmatrix_sync_aligned_m8n8_x1_##name(unsigned address, unsigned r0)     \
    {                                                                                              \
        const unsigned from[] = {r0};                                                              \
        emulator::store_matrices(1, from, address, transposed);                                    \
    }                                                                                              \
    static inline void ptx_stmatrix_sync_aligned_m8n8_x2_##name(unsigned address, unsigned r0,     \
                                                                unsigned r1)                       \
    {                                                                                              \
        const unsigned from[] = {r0, r1};                                                          \
        emulator::store_matrices(2, from, address, transposed);                                    \
    }                                                                                              \
    static inline void ptx_stmatrix_sync_aligned_m8n8_x4_##name(                                   \
        unsigned address, unsigned r0, unsigned r1, unsigned r2, unsigned r3)                      \
    {                                                                                              \
        const unsigned from[] = {r0, r1, r2, r3};                                                  \
        emulator::store_matrices(4, from, address, transposed);                                    \
    }
MATRICES(shared_b16, false)
MATRICES(trans_shared_b16, true)

#define MMA(name, Register, Sum, product)                                                          \
    static inline void ptx_mma_sync_aligned_##name(                                                \
        Sum &d0, Sum &d1, Sum &d2, Sum &d3, Register a0, Register a1, Register a2, Register a3,    \
        Register b0, Register b1, const Sum &c0, const Sum &c1, const Sum &c2, const Sum &c3)      \
    {                                                                                              \
        using namespace emulator;                                                                  \
        Sum *const d[4] = {&d0, &d1, &d2, &d3};                                                    \
        const Sum *const c[4] = {&c0, &c1, &c2, &c3};                                              \
        multiply(d, c, Fragments<Register>{{a0, a1, a2, a3}, {b0, b1}},                            \
                 [](const Lanes &all, int row, int column) { return product; });                   \
    }
MMA(m16n8k16_row_col_f32_bf16_bf16_f32, unsigned, float,
    halves_product(all, row, column, bf16_format))
MMA(m16n8k16_row_col_f32_f16_f16_f32, unsigned, float, halves_product(all, row, column, f16_format))
MMA(m16n8k32_row_col_s32_s8_s8_s32, unsigned, int, bytes_product<signed char>(all, row, column))
MMA(m16n8k32_row_col_s32_u8_u8_s32, unsigned, int, bytes_product<unsigned char>(all, row, column))
MMA(m16n8k32_row_col_f32_e4m3_e4m3_f32, unsigned, float,
    floats_product(all, row, column, f8e4m3_format))
MMA(m16n8k32_row_col_f32_e5m2_e5m2_f32, unsigned, float,
    floats_product(all, row, column, f8e5m2_format))
MMA(m16n8k8_row_col_f32_tf32_tf32_f32, unsigned, float, tf32_product(all, row, column))
MMA(m16n8k8_row_col_f64_f64_f64_f64, double, double, doubles_product(all, row, column))

#undef MATRICES
#undef MMA

static inline void ptx_laneid(unsigned &lane)
{
    lane = emulator::lane();
}

/* A launch without clusters has those of one block. */
template <class T> static inline void ptx_mapa_u64(T *&there, T *place, int rank)
{
    if (rank != 0)
        emulator::fault("the memory of block %d of a cluster of one", rank);
    there = place;
}
#define ptx_barrier_cluster_arrive_release_nbarrier_cluster_wait_acquire() __syncthreads()

#endif
