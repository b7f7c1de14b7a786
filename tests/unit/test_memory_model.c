/* test_memory_model.c - sectors and wavefronts against the figures that Nsight Compute read on a
 * GPU (to which it adds up to 6% of arbitration in shared memory), against figures worked out by
 * hand, and against a model that counts by brute force. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/target/memory_model.h"

/* Lanes of a block `width` threads wide, each at base + x * dx + y * dy bytes. */
static WarpAccess lanes(int width, int64_t dx, int64_t dy, int bytes)
{
    WarpAccess a = {.active = UINT32_MAX, .bytes = bytes, .writes = false};
    for (int lane = 0; lane < WARP_LANES; lane++)
        a.address[lane] = lane % width * dx + lane / width * dy;
    return a;
}

static WarpAccess line(int64_t stride, int bytes)
{
    return lanes(WARP_LANES, stride, 0, bytes);
}

static void expect_sectors(WarpAccess a, int sectors, int ideal)
{
    assert_int_equal(memory_sectors(&a), sectors);
    assert_int_equal(memory_sectors_ideal(&a), ideal);
}

static void expect_wavefronts(WarpAccess a, int wavefronts, int ideal)
{
    assert_int_equal(memory_wavefronts(&a), wavefronts);
    assert_int_equal(memory_wavefronts_ideal(&a), ideal);
}

/* ---- global memory ------------------------------------------------------------------------- */

static void measured_sectors(void **state)
{
    (void)state;
    expect_sectors(line(4, 4), 4, 4);            /* copy */
    expect_sectors(line(4096, 4), 32, 4);        /* naive transpose, the strided side */
    expect_sectors(lanes(16, 4, 4096, 4), 4, 4); /* two rows of 16 */
    expect_sectors(line(8, 8), 8, 8);            /* f64 */
    expect_sectors(line(16, 16), 16, 16);        /* 16 bytes a lane */
    /* A[i, k] of the naive matmul: (1 + 4) / 2 = 2.5 */
    expect_sectors(line(0, 4), 1, 1);
    expect_sectors(lanes(8, 4 * 4, 4096, 4), 16, 4); /* a store of every fourth element */
    WarpAccess strided = line(4096, 4), wide = line(16, 16), row = line(4, 4);
    assert_int_equal(memory_lines(&strided), 32);
    assert_int_equal(memory_lines(&wide), 4);
    assert_int_equal(memory_lines(&row), 1);
}

static void misaligned(void **state)
{
    (void)state;
    WarpAccess a = line(4, 4);
    for (int lane = 0; lane < WARP_LANES; lane++)
        a.address[lane] -= 4; /* x[i - 1]: before the origin, too */
    expect_sectors(a, 5, 4);
}

static void small_types(void **state)
{
    (void)state;
    expect_sectors(line(1, 1), 1, 1);
    expect_sectors(line(2, 2), 2, 2);
    expect_sectors(line(32, 1), 32, 1);
    expect_wavefronts(line(1, 1), 1, 1);
    expect_wavefronts(line(2, 2), 1, 1);
    expect_wavefronts(line(128, 1), 32, 1);
}

static void inactive_lanes_cost_nothing(void **state)
{
    (void)state;
    WarpAccess a = line(4096, 4);
    a.active = 0x80000001;
    expect_sectors(a, 2, 1);
    expect_wavefronts(a, 2, 1);
    a.active = 0;
    expect_sectors(a, 0, 0);
    expect_wavefronts(a, 0, 0);
}

/* ---- shared memory ------------------------------------------------------------------------- */

static void measured_wavefronts(void **state)
{
    (void)state;
    expect_wavefronts(lanes(16, 32 * 4, 4, 4), 16, 1); /* columns of [16][32], two of them */
    expect_wavefronts(lanes(16, 33 * 4, 4, 4), 2, 1);  /* padded by 1 */
    expect_wavefronts(lanes(16, 34 * 4, 4, 4), 1, 1);  /* by 2 */
    expect_wavefronts(line(32 * 4, 4), 32, 1);         /* a column of [32][32] */
    expect_wavefronts(line(33 * 4, 4), 1, 1);
    expect_wavefronts(lanes(16, 17 * 4, 4, 4), 2, 1); /* columns of [16][17] */
    expect_wavefronts(line(0, 4), 1, 1);              /* one word for all */
}

static void eight_bytes_go_in_halves(void **state)
{
    (void)state;
    expect_wavefronts(line(8, 8), 2, 2);
    expect_wavefronts(lanes(16, 32 * 8, 8, 8), 32, 2);
    expect_wavefronts(line(33 * 8, 8), 2, 2);
    expect_wavefronts(line(32 * 8, 8), 32, 2);
}

static void sixteen_bytes_go_in_quarters(void **state)
{
    (void)state;
    expect_wavefronts(line(16, 16), 4, 4);
    expect_wavefronts(line(128, 16), 32, 4);
    expect_wavefronts(line(128 + 16, 16), 4, 4);
}

/* What Nsight Compute counted for loads of 8 and 16 bytes in which lanes share addresses. */
static void loads_merge_partners(void **state)
{
    (void)state;
    const struct {
        int dx, dy, width, of_8, of_16;
    } all[] = {
        {0, 0, 32, 1, 2}, /* all lanes the same */
        {0, 1, 2, 1, 2},  /* lane / 2 */
        {0, 1, 4, 1, 2},  /* lane / 4 */
        {1, 0, 2, 1, 2},  /* lane % 2 */
        {1, 0, 4, 2, 4},  /* lane % 4: partners differ */
        {0, 2, 2, 2, 4},  /* lane / 2 * 2: merged, but in conflict */
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        for (int bytes = 8; bytes <= 16; bytes *= 2) {
            WarpAccess a = lanes(all[i].width, all[i].dx * bytes, all[i].dy * bytes, bytes);
            assert_int_equal(memory_wavefronts(&a), bytes == 8 ? all[i].of_8 : all[i].of_16);
            a.writes = true;
            assert_true(memory_wavefronts(&a) >= bytes / 4);
        }
}

static void banks_of_a_conflict(void **state)
{
    (void)state;
    WarpAccess column = line(32 * 4, 4), row = line(4, 4), pairs = line(2 * 4, 4);
    BankUse use = memory_bank_use(&column);
    assert_int_equal(use.banks, 1);
    assert_int_equal(use.words, 32);
    use = memory_bank_use(&row);
    assert_int_equal(use.banks, 32);
    assert_int_equal(use.words, 1);
    use = memory_bank_use(&pairs);
    assert_int_equal(use.banks, 16);
    assert_int_equal(use.words, 2);
    assert_int_equal(memory_bank(132), 1);
    assert_int_equal(memory_bank(-4), 31);
}

static void collisions(void **state)
{
    (void)state;
    WarpAccess a = line(4, 4);
    assert_int_equal(memory_collisions(&a), 1);
    a.address[7] = a.address[30] = a.address[3];
    assert_int_equal(memory_collisions(&a), 3);
    a.active &= ~(1u << 7);
    assert_int_equal(memory_collisions(&a), 2);
    a.active = 0;
    assert_int_equal(memory_collisions(&a), 0);
}

static void words_of_constant_memory(void **state)
{
    (void)state;
    WarpAccess one = line(0, 4), bytes = line(1, 1), each = line(8, 8);
    assert_int_equal(memory_words(&one), 1);
    assert_int_equal(memory_words(&bytes), 8);
    assert_int_equal(memory_words(&each), 32);
    each.active = 0xff;
    assert_int_equal(memory_words(&each), 8);
}

/* ---- brute force --------------------------------------------------------------------------- */

enum { SPACE = 2048 };

/* A byte map of the requests, and a word map of each group. */
static void check_against_maps(const WarpAccess *a)
{
    bool byte[SPACE] = {false}, sector[SPACE / SECTOR_BYTES] = {false};
    int bytes = 0, sectors = 0, wavefronts = 0;
    int group = a->bytes <= 4 ? 32 : 128 / a->bytes;
    for (int first = 0; first < WARP_LANES; first += group) {
        bool word[SPACE / 4] = {false};
        int held[BANKS] = {0}, most = 0;
        for (int lane = first; lane < first + group; lane++)
            for (int i = 0; a->active >> lane & 1 && i < a->bytes; i++) {
                int at = (int)a->address[lane] + i;
                bytes += !byte[at];
                sectors += !sector[at / SECTOR_BYTES];
                held[at / 4 % BANKS] += !word[at / 4];
                most = held[at / 4 % BANKS] > most ? held[at / 4 % BANKS] : most;
                byte[at] = sector[at / SECTOR_BYTES] = word[at / 4] = true;
            }
        wavefronts += most;
    }
    assert_int_equal(memory_distinct_bytes(a), bytes);
    assert_int_equal(memory_sectors(a), sectors);
    assert_int_equal(memory_wavefronts(a), wavefronts);
}

static void random_requests(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        WarpAccess a = {.bytes = 1 << round % 5, .writes = true};
        int range = 16 << round % 7;
        for (int lane = 0; lane < WARP_LANES; lane++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            a.address[lane] = (int64_t)(seed >> 40) % range / a.bytes * a.bytes;
        }
        a.active = round % 3 ? UINT32_MAX : (uint32_t)(seed >> 32);
        check_against_maps(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_sectors),
        cmocka_unit_test(misaligned),
        cmocka_unit_test(small_types),
        cmocka_unit_test(inactive_lanes_cost_nothing),
        cmocka_unit_test(measured_wavefronts),
        cmocka_unit_test(eight_bytes_go_in_halves),
        cmocka_unit_test(sixteen_bytes_go_in_quarters),
        cmocka_unit_test(loads_merge_partners),
        cmocka_unit_test(banks_of_a_conflict),
        cmocka_unit_test(collisions),
        cmocka_unit_test(words_of_constant_memory),
        cmocka_unit_test(random_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
