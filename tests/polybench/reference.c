/* reference.c - the table of plain C kernels; see reference.h. */
#include "polybench/reference.h"

#include <math.h>
#include <stdlib.h>

/* Pointers to rows whose length is a size; no such array is ever allocated. */
#pragma GCC diagnostic ignored "-Wvla"

#define REAL    double
#define F(name) name##_f64
#include "polybench/reference.inc"
#undef REAL
#undef F
#define REAL    float
#define F(name) name##_f32
#include "polybench/reference.inc"
#undef REAL
#undef F

/* ---- integers -------------------------------------------------------------------------------- */

static void floyd_warshall(const int64_t *n, void *const *b)
{
    int32_t(*path)[n[0]] = b[0];
    for (int64_t k = 0; k < n[0]; k++)
        for (int64_t i = 0; i < n[0]; i++)
            for (int64_t j = 0; j < n[0]; j++)
                if (path[i][k] + path[k][j] < path[i][j])
                    path[i][j] = path[i][k] + path[k][j];
}

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static void nussinov(const int64_t *n, void *const *b)
{
    const int8_t *seq = b[0];
    int32_t(*table)[n[0]] = b[1];
    for (int64_t i = n[0] - 1; i >= 0; i--)
        for (int64_t j = i + 1; j < n[0]; j++) {
            int32_t best = larger(table[i][j], table[i][j - 1]);
            best = larger(best, table[i + 1][j]);
            int32_t match = i < j - 1 && seq[i] + seq[j] == 3;
            best = larger(best, table[i + 1][j - 1] + match);
            for (int64_t k = i + 1; k < j; k++)
                best = larger(best, table[i][k] + table[k + 1][j]);
            table[i][j] = best;
        }
}

/* ---- the table ------------------------------------------------------------------------------- */

#define WITH_SCALARS(name)                                                                         \
    static void run_f64_##name(const int64_t *n, void *const *b)                                   \
    {                                                                                              \
        name##_f64(n, (const double[]){0.25, 1.25}, b);                                            \
    }                                                                                              \
    static void run_f32_##name(const int64_t *n, void *const *b)                                   \
    {                                                                                              \
        name##_f32(n, (const float[]){0.25f, 1.25f}, b);                                           \
    }

#define FLOATS(ROW)                                                                                \
    ROW("2mm", two_mm, NULL, 16, 18, 22, 24, 0, 40, 50, 70, 80, 0)                                 \
    ROW("3mm", three_mm, NULL, 16, 18, 20, 22, 24, 40, 50, 60, 70, 80)                             \
    ROW("adi", adi, NULL, 20, 20, 0, 0, 0, 40, 60, 0, 0, 0)                                        \
    ROW("atax", atax, NULL, 38, 42, 0, 0, 0, 116, 124, 0, 0, 0)                                    \
    ROW("bicg", bicg, NULL, 38, 42, 0, 0, 0, 116, 124, 0, 0, 0)                                    \
    ROW("cholesky", cholesky, "A", 40, 0, 0, 0, 0, 120, 0, 0, 0, 0)                                \
    ROW("correlation", correlation, NULL, 28, 32, 0, 0, 0, 80, 100, 0, 0, 0)                       \
    ROW("covariance", covariance, NULL, 28, 32, 0, 0, 0, 80, 100, 0, 0, 0)                         \
    ROW("deriche", deriche, NULL, 64, 64, 0, 0, 0, 192, 128, 0, 0, 0)                              \
    ROW("doitgen", doitgen, NULL, 8, 10, 12, 0, 0, 20, 25, 30, 0, 0)                               \
    ROW("durbin", durbin, "r", 40, 0, 0, 0, 0, 120, 0, 0, 0, 0)                                    \
    ROW("fdtd-2d", fdtd_2d, NULL, 20, 20, 30, 0, 0, 40, 60, 80, 0, 0)                              \
    ROW("gemm", gemm, NULL, 20, 25, 30, 0, 0, 60, 70, 80, 0, 0)                                    \
    ROW("gemver", gemver, NULL, 40, 0, 0, 0, 0, 120, 0, 0, 0, 0)                                   \
    ROW("gesummv", gesummv, NULL, 30, 0, 0, 0, 0, 90, 0, 0, 0, 0)                                  \
    ROW("gramschmidt", gramschmidt, NULL, 20, 30, 0, 0, 0, 60, 80, 0, 0, 0)                        \
    ROW("heat-3d", heat_3d, NULL, 20, 10, 0, 0, 0, 40, 20, 0, 0, 0)                                \
    ROW("jacobi-1d", jacobi_1d, NULL, 20, 30, 0, 0, 0, 40, 120, 0, 0, 0)                           \
    ROW("jacobi-2d", jacobi_2d, NULL, 20, 30, 0, 0, 0, 40, 90, 0, 0, 0)                            \
    ROW("lu", lu, "A", 40, 0, 0, 0, 0, 120, 0, 0, 0, 0)                                            \
    ROW("ludcmp", ludcmp, "A", 40, 0, 0, 0, 0, 120, 0, 0, 0, 0)                                    \
    ROW("mvt", mvt, NULL, 40, 0, 0, 0, 0, 120, 0, 0, 0, 0)                                         \
    ROW("seidel-2d", seidel_2d, NULL, 20, 40, 0, 0, 0, 40, 120, 0, 0, 0)                           \
    ROW("symm", symm, NULL, 20, 30, 0, 0, 0, 60, 80, 0, 0, 0)                                      \
    ROW("syr2k", syr2k, NULL, 20, 30, 0, 0, 0, 60, 80, 0, 0, 0)                                    \
    ROW("syrk", syrk, NULL, 20, 30, 0, 0, 0, 60, 80, 0, 0, 0)                                      \
    ROW("trisolv", trisolv, "L", 40, 0, 0, 0, 0, 120, 0, 0, 0, 0)                                  \
    ROW("trmm", trmm, NULL, 20, 30, 0, 0, 0, 60, 80, 0, 0, 0)

#define WRAP(file, name, ...) WITH_SCALARS(name)
FLOATS(WRAP)

static const Reference table[] = {
#define ROW(file, name, dominant, a, b, c, d, e, p, q, r, s, t)                                    \
    {file, run_f64_##name, run_f32_##name, {a, b, c, d, e}, {p, q, r, s, t}, dominant},
    FLOATS(ROW){"floyd-warshall", floyd_warshall, floyd_warshall, {60}, {180}, NULL},
    {"nussinov", nussinov, nussinov, {60}, {180}, NULL},
};

const Reference *reference_table(int *n)
{
    *n = (int)(sizeof table / sizeof *table);
    return table;
}
