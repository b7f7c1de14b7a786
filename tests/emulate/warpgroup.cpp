/* warpgroup.cpp - Computes the products of wgmma: what one thread adds to its sums.
 *
 * The PTX manual says which thread has which sum, and where a descriptor has the elements of a
 * matrix in shared memory. Only the swizzle of 128 bytes is here: its pattern repeats after 1024
 * bytes, in which chunk c of 16 bytes in row r of 128 lies at c ^ r. */
#include <string.h>

#include "emulator.h"
#include "narrow.h"

namespace emulator
{
/* A matrix in shared memory, as its descriptor has it. */
struct Matrix {
    unsigned start, leading, stride;
};

static Matrix matrix(uint64_t descriptor)
{
    const uint64_t fields = 0x3fffull | 0x3fffull << 16 | 0x3fffull << 32;
    if ((descriptor & ~fields) != 1ull << 62)
        fault("a descriptor that is not of a matrix with the swizzle of 128 bytes");
    return {(unsigned)(descriptor & 0x3fff) << 4, (unsigned)(descriptor >> 16 & 0x3fff) << 4,
            (unsigned)(descriptor >> 32 & 0x3fff) << 4};
}

static const void *swizzled(unsigned at)
{
    return shared_pointer(at ^ (at >> 7 & 7) << 4);
}

/* Element k of row or column i of an operand whose rows go along k. */
template <class T> static T along_k(uint64_t descriptor, unsigned i, unsigned k)
{
    Matrix m = matrix(descriptor);
    return *(const T *)swizzled(m.start + i / 8 * m.stride + i % 8 * 128 + k * sizeof(T));
}

/* The same of two bytes; turned: its rows do not. */
static unsigned short operand(uint64_t descriptor, bool turned, unsigned i, unsigned k)
{
    if (!turned)
        return along_k<unsigned short>(descriptor, i, k);
    Matrix m = matrix(descriptor);
    return *(const unsigned short *)swizzled(m.start + i / 64 * m.leading + k / 8 * m.stride +
                                             k % 8 * 128 + i % 64 * 2);
}

/* Thread t has rows t / 32 * 16 + t % 32 / 4 and 8 more, of eight columns two: sum
 * 4 * j + 2 * u + v is in column 8 * j + t % 4 * 2 + v of row 8 * u. */
struct Place {
    unsigned row, column;
};

static Place place_of(unsigned sum)
{
    unsigned t = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 128;
    return {t / 32 * 16 + t % 32 / 4 + sum / 2 % 2 * 8, sum / 4 * 8 + t % 4 * 2 + sum % 2};
}

/* Which of the two rows, and of the columns of its thread, a sum is in. */
static unsigned row_of(unsigned sum)
{
    return sum / 2 % 2;
}

static unsigned column_of(unsigned sum)
{
    return sum / 4 * 2 + sum % 2;
}

enum { MOST_COLUMNS = 64, MOST_STEPS = 32 };

/* What both operands have in the rows and columns of a thread. */
template <class Number> struct Operands {
    Number rows[2][MOST_STEPS], columns[MOST_COLUMNS][MOST_STEPS];
};

/* Reads them: element k of row r of the first operand is row(u, r, k), u = 0 or 1. */
template <class Number, class Row, class Column>
static const Operands<Number> &read_operands(const Product &p, unsigned steps, Row row,
                                             Column column)
{
    static Operands<Number> read;
    for (unsigned n = 0; n < (unsigned)p.n; n++) {
        Place at = place_of(n);
        for (unsigned k = 0; n < 4 && n % 2 == 0 && k < steps; k++)
            read.rows[row_of(n)][k] = row(row_of(n), at.row, k);
        for (unsigned k = 0; row_of(n) == 0 && k < steps; k++)
            read.columns[column_of(n)][k] = column(at.column, k);
    }
    return read;
}

/* Adds the terms of so many steps along k, exactly, and rounds each sum once. */
template <class Row, class Column>
static void add_floats(const Product &p, uint32_t *sums, unsigned steps, Row row, Column column)
{
    const Operands<double> &read = read_operands<double>(p, steps, row, column);
    for (unsigned n = 0; n < (unsigned)p.n; n++) {
        float before;
        memcpy(&before, &sums[n], sizeof before);
        double sum = before;
        for (unsigned k = 0; k < steps; k++)
            sum += read.rows[row_of(n)][k] * read.columns[column_of(n)][k];
        float after = (float)sum;
        memcpy(&sums[n], &after, sizeof after);
    }
}

static void add_halves(NarrowFormat format, const Product &p, uint32_t *sums)
{
    add_floats(
        p, sums, 16,
        [&](unsigned u, unsigned i, unsigned k) {
            unsigned short bits =
                p.in_registers ? (unsigned short)p.rows[u][k] : operand(p.a, p.a_turned, i, k);
            return narrow_value(format, bits);
        },
        [&](unsigned i, unsigned k) {
            return narrow_value(format, operand(p.b, p.b_turned, i, k));
        });
}

/* Element k of row i, the thread's row u, of a first operand of bytes. */
template <class T> static T byte_of_a(const Product &p, unsigned u, unsigned i, unsigned k)
{
    return p.in_registers ? (T)p.rows[u][k] : along_k<T>(p.a, i, k);
}

/* The hardware keeps fewer digits of the sum. */
static void add_quarters(NarrowFormat format, const Product &p, uint32_t *sums)
{
    add_floats(
        p, sums, 32,
        [&](unsigned u, unsigned i, unsigned k) {
            return narrow_value(format, byte_of_a<unsigned char>(p, u, i, k));
        },
        [&](unsigned i, unsigned k) {
            return narrow_value(format, along_k<unsigned char>(p.b, i, k));
        });
}

void add_f16(const Product &p, uint32_t *sums)
{
    add_halves(f16_format, p, sums);
}
void add_bf16(const Product &p, uint32_t *sums)
{
    add_halves(bf16_format, p, sums);
}
void add_e4m3(const Product &p, uint32_t *sums)
{
    add_quarters(f8e4m3_format, p, sums);
}
void add_e5m2(const Product &p, uint32_t *sums)
{
    add_quarters(f8e5m2_format, p, sums);
}

void add_tf32(const Product &p, uint32_t *sums)
{
    add_floats(
        p, sums, 8,
        [&](unsigned u, unsigned i, unsigned k) {
            return tf32_value(p.in_registers ? p.rows[u][k] : along_k<uint32_t>(p.a, i, k));
        },
        [&](unsigned i, unsigned k) { return tf32_value(along_k<uint32_t>(p.b, i, k)); });
}

template <class T> static void add_bytes(const Product &p, uint32_t *sums)
{
    const Operands<int> &read = read_operands<int>(
        p, 32, [&](unsigned u, unsigned i, unsigned k) { return byte_of_a<T>(p, u, i, k); },
        [&](unsigned i, unsigned k) { return along_k<T>(p.b, i, k); });
    for (unsigned n = 0; n < (unsigned)p.n; n++)
        for (unsigned k = 0; k < 32; k++)
            sums[n] += (uint32_t)(read.rows[row_of(n)][k] * read.columns[column_of(n)][k]);
}

void add_s8(const Product &p, uint32_t *sums)
{
    add_bytes<signed char>(p, sums);
}
void add_u8(const Product &p, uint32_t *sums)
{
    add_bytes<unsigned char>(p, sums);
}
} // namespace emulator
