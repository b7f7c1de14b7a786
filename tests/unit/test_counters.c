/* test_counters.c - counting requests, merging what several threads counted, and the words about
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/measure/verdict.h"

enum { CODE = 4 };
static const VmFunction code = {.n_code = CODE};
static const ModuleKernel kernel = {.name = "k", .code = &code};
static const Module module = {.n_kernels = 1, .kernels = &kernel};

/* A tile in shared memory with `row` elements a row, `pad` of them unused, and a buffer in global
 * memory. */
static VmBuffer shared_tile(int64_t row, int64_t pad, DType type)
{
    return (VmBuffer){.name = "tile", .type = type, .space = VM_SHARED, .row = row, .pad = pad};
}
static const VmBuffer out = {.name = "out", .type = DT_F32, .space = VM_GLOBAL, .argument = 1};

/* Lanes of a block `width` wide at base + x * dx + y * dy bytes. */
static AccessEvent event(const VmBuffer *buffer, AccessOp op, int inst, int width, int64_t dx,
                         int64_t dy)
{
    AccessEvent e = {.inst = inst, .buffer = buffer, .op = op};
    e.lanes.bytes = (int)type_bytes(buffer->type);
    e.lanes.active = UINT32_MAX;
    for (int lane = 0; lane < WARP_LANES; lane++)
        e.lanes.address[lane] = lane % width * dx + lane / width * dy;
    return e;
}

/* ---- counting ------------------------------------------------------------------------------ */

static void requests_add_up(void **state)
{
    (void)state;
    Counters *c = counters_new(&module);
    AccessEvent good = event(&out, ACCESS_STORE, 1, 32, 4, 0),
                bad = event(&out, ACCESS_STORE, 1, 32, 4096, 0);
    good.block = 0;
    bad.block = 7;
    assert_true(counters_add(c, &good));
    assert_true(counters_add(c, &bad));
    bad.block = 5;
    bad.lanes.active = 0xffff;
    assert_true(counters_add(c, &bad));
    bad.lanes.active = 0;
    assert_true(counters_add(c, &bad));
    const AccessCounter *a = counters_at(c, 0, 1);
    assert_int_equal(a->cost.requests, 3);
    assert_int_equal(a->cost.lanes, 80);
    assert_int_equal(a->cost.sectors, 4 + 32 + 16);
    assert_int_equal(a->cost.sectors_ideal, 4 + 4 + 2);
    assert_int_equal(a->cost.lines, 1 + 32 + 16);
    assert_int_equal(a->worst.block, 7);
    assert_int_equal(counters_at(c, 0, 2)->cost.requests, 0);
    counters_free(c);
}

static void a_block_loads_a_sector_once(void **state)
{
    (void)state;
    Counters *c = counters_new(&module);
    AccessEvent load = event(&out, ACCESS_LOAD, 0, 32, 4, 0),
                store = event(&out, ACCESS_STORE, 1, 32, 4, 0);
    for (int block = 0; block < 2; block++)
        for (int again = 0; again < 3; again++) {
            load.block = store.block = block;
            assert_true(counters_add(c, &load) && counters_add(c, &store));
        }
    assert_int_equal(counters_beyond_l1(c, 0), 2 * (4 + 3 * 4) * 32);
    counters_begin_launch(c);
    assert_true(counters_add(c, &load));
    assert_int_equal(counters_beyond_l1(c, 0), (2 * (4 + 3 * 4) + 4) * 32);
    counters_free(c);
}

static void many_sectors_are_remembered(void **state)
{
    (void)state;
    Counters *c = counters_new(&module);
    AccessEvent load = event(&out, ACCESS_LOAD, 0, 32, 4096, 0);
    for (int again = 0; again < 2; again++)
        for (int i = 0; i < 1000; i++) {
            for (int lane = 0; lane < WARP_LANES; lane++)
                load.lanes.address[lane] = (int64_t)(i * WARP_LANES + lane) * 32;
            assert_true(counters_add(c, &load));
        }
    assert_int_equal(counters_beyond_l1(c, 0), 32000 * 32);
    counters_free(c);
}

static void threads_can_share_the_work(void **state)
{
    (void)state;
    Counters *all = counters_new(&module),
             *half[2] = {counters_new(&module), counters_new(&module)};
    for (int block = 9; block >= 0; block--) {
        AccessEvent e = event(&out, ACCESS_ATOMIC, 2, 32, block % 3 ? 4 : 0, 0);
        e.block = block;
        Counters *const to[] = {all, half[block % 2]};
        for (int i = 0; i < 2; i++) {
            assert_true(counters_add(to[i], &e));
            counters_add_execution(to[i], 0, 3, 64);
        }
    }
    Counters *sum = counters_new(&module);
    counters_merge(sum, half[1]);
    counters_merge(sum, half[0]);
    assert_memory_equal(counters_at(sum, 0, 2), counters_at(all, 0, 2), sizeof(AccessCounter));
    assert_int_equal(counters_at(sum, 0, 2)->worst.block, 0);
    assert_int_equal(counters_at(sum, 0, 2)->cost.passes, 4 * 32 + 6);
    assert_int_equal(counters_executions(sum, 0, 3).times, 10);
    assert_int_equal(counters_executions(sum, 0, 3).lanes, 640);
    assert_int_equal(counters_beyond_l1(sum, 0), counters_beyond_l1(all, 0));
    counters_free(all);
    counters_free(half[0]);
    counters_free(half[1]);
    counters_free(sum);
}

/* ---- instructions of several threads ------------------------------------------------------ */

/* Eight rows of 32 bytes, element by element: lane / 4 has the row. */
static void read_matrix(Counters *c, const VmBuffer *tile, int64_t row)
{
    counters_begin_unit(c, 32);
    for (int k = 0; k < 16; k++) {
        AccessEvent e = event(tile, ACCESS_LOAD, 0, 4, 0, row);
        for (int lane = 0; lane < WARP_LANES; lane++)
            e.lanes.address[lane] += 2 * k;
        assert_true(counters_add(c, &e));
    }
    assert_true(counters_end_unit(c));
}

static void a_unit_reads_an_operand_once(void **state)
{
    (void)state;
    VmBuffer tile = shared_tile(16, 0, DT_F16);
    Counters *c = counters_new(&module);
    read_matrix(c, &tile, 48); /* an odd multiple of 16 bytes: all banks */
    const AccessCounter *a = counters_at(c, 0, 0);
    assert_int_equal(a->cost.requests, 1);
    assert_int_equal(a->cost.lanes, 16);
    assert_int_equal(a->cost.wavefronts, 2);
    assert_int_equal(a->cost.wavefronts_ideal, 2);
    read_matrix(c, &tile, 64); /* every second row in the same banks */
    assert_int_equal(a->cost.requests, 2);
    assert_int_equal(a->cost.wavefronts, 2 + 8);
    assert_int_equal(a->worst_cost, 8);
    assert_int_equal(a->worst.lanes.active, 0xff);
    assert_int_equal(counters_requests(c), 32);
    counters_free(c);
}

static void warps_of_a_group_share_an_operand(void **state)
{
    (void)state;
    VmBuffer tile = shared_tile(16, 0, DT_F16);
    Counters *c = counters_new(&module);
    counters_begin_unit(c, 128);
    AccessEvent e = event(&tile, ACCESS_LOAD, 0, 32, 4, 0);
    for (e.warp = 0; e.warp < 8; e.warp++)
        assert_true(counters_add(c, &e));
    assert_true(counters_end_unit(c));
    assert_int_equal(counters_at(c, 0, 0)->cost.requests, 2);
    assert_int_equal(counters_at(c, 0, 0)->cost.wavefronts, 2);
    counters_free(c);
}

static void doubles_are_read_by_single_lanes(void **state)
{
    (void)state;
    VmBuffer tile = shared_tile(8, 0, DT_F64);
    Counters *c = counters_new(&module);
    counters_begin_unit(c, 32);
    for (int k = 0; k < 8; k++) {
        AccessEvent e = event(&tile, ACCESS_LOAD, 0, 4, 0, 96);
        for (int lane = 0; lane < WARP_LANES; lane++)
            e.lanes.address[lane] += 8 * k;
        assert_true(counters_add(c, &e));
    }
    assert_true(counters_end_unit(c));
    assert_int_equal(counters_at(c, 0, 0)->cost.wavefronts, 4);
    counters_free(c);
}

static void bulk_copies_pass_the_first_cache_by(void **state)
{
    (void)state;
    Counters *c = counters_new(&module);
    for (int again = 0; again < 2; again++) {
        counters_begin_unit(c, 1);
        AccessEvent e = event(&out, ACCESS_LOAD, 1, 32, 4, 0);
        e.lanes.active = 1;
        for (int i = 0; i < 64; i++) {
            e.lanes.address[0] = i / 16 * 1024 + 16 + i % 16 * 4; /* rows of 64 bytes */
            assert_true(counters_add(c, &e));
        }
        assert_true(counters_end_unit(c));
    }
    assert_int_equal(counters_at(c, 0, 1)->cost.requests, 2);
    assert_int_equal(counters_at(c, 0, 1)->cost.sectors, 2 * 4 * 3);
    assert_int_equal(counters_at(c, 0, 1)->cost.sectors_ideal, 2 * 8);
    Context *ctx = ctx_new(0);
    const AccessCounter *box = counters_at(c, 0, 1);
    assert_string_equal(verdict_of(ctx, &(AccessGroup){&box, 1}, 0),
                        "rows of the box of 'out' begin or end inside of sectors");
    ctx_free(ctx);
    assert_int_equal(counters_beyond_l1(c, 0), 2 * 4 * 3 * 32);
    counters_free(c);
}

/* ---- words --------------------------------------------------------------------------------- */

/* What is said about the first of two accesses of a buffer. */
static void expect(AccessEvent first, const AccessEvent *second, const char *words)
{
    Context *ctx = ctx_new(0);
    Counters *c = counters_new(&module);
    assert_true(counters_add(c, &first));
    if (second)
        assert_true(counters_add(c, second));
    const AccessCounter *items[] = {counters_at(c, 0, first.inst),
                                    second ? counters_at(c, 0, second->inst) : NULL};
    AccessGroup group = {items, second ? 2 : 1};
    const char *said = verdict_of(ctx, &group, 0);
    if (words)
        assert_string_equal(said ? said : "nothing", words);
    else
        assert_null(said);
    counters_free(c);
    ctx_free(ctx);
}

static void words_about_banks(void **state)
{
    (void)state;
    VmBuffer square = shared_tile(32, 0, DT_F32), half = shared_tile(16, 0, DT_F32),
             one = shared_tile(33, 1, DT_F32), wide = shared_tile(32, 0, DT_F64),
             vector = shared_tile(0, 0, DT_F32);
    AccessEvent row = event(&square, ACCESS_STORE, 1, 32, 4, 0);
    expect(event(&square, ACCESS_LOAD, 0, 32, 128, 0), &row,
           "32 lanes fall into 1 bank: pad the row by 1");
    expect(row, NULL, NULL);
    expect(event(&square, ACCESS_LOAD, 0, 16, 128, 4), NULL,
           "32 lanes fall into 2 banks: pad the row by 2");
    expect(event(&one, ACCESS_LOAD, 0, 16, 132, 4), NULL,
           "32 lanes fall into 17 banks: pad the row by 2 instead of 1");
    expect(event(&half, ACCESS_LOAD, 0, 16, 64, 4), NULL,
           "32 lanes fall into 4 banks: pad the row by 2");
    expect(event(&wide, ACCESS_LOAD, 0, 32, 256, 0), NULL,
           "16 lanes fall into 2 banks: pad the row by 1");
    expect(event(&vector, ACCESS_LOAD, 0, 32, 128, 0), NULL,
           "32 lanes fall into 1 bank, and no padding of the row helps: swizzle it, or let "
           "adjacent lanes access adjacent elements of the row");
}

static void words_about_sectors(void **state)
{
    (void)state;
    expect(event(&out, ACCESS_STORE, 0, 32, 4, 0), NULL, NULL);
    expect(event(&out, ACCESS_STORE, 0, 32, 4096, 0), NULL,
           "32 lanes access 32 sectors; 4 would suffice: adjacent lanes are 4096 bytes apart; let "
           "threadIdx.x run along the last axis of 'out'");
    AccessEvent e = event(&out, ACCESS_LOAD, 0, 32, 4, 0);
    for (int lane = 0; lane < WARP_LANES; lane++)
        e.lanes.address[lane] -= 4;
    expect(e, NULL,
           "32 lanes access 5 sectors; 4 would suffice: the elements are adjacent, but the first "
           "is 28 bytes into a sector; align it to 32 bytes");
    for (int lane = 0; lane < WARP_LANES; lane++)
        e.lanes.address[lane] = lane * lane * 64;
    expect(e, NULL,
           "32 lanes access 32 sectors; 4 would suffice: adjacent lanes should access adjacent "
           "elements of 'out'");
}

/* It has a cache of its own, whose lines no sector and no line of the first-level cache counts. */
static void constant_memory_costs_its_words(void **state)
{
    (void)state;
    static const VmBuffer table = {
        .name = "table", .type = DT_F32, .space = VM_GLOBAL, .constant = true};
    Counters *c = counters_new(&module);
    AccessEvent same = event(&table, ACCESS_LOAD, 0, 32, 0, 0),
                pairs = event(&table, ACCESS_LOAD, 1, 2, 0, 4);
    assert_true(counters_add(c, &same) && counters_add(c, &pairs));
    const AccessCounter *one = counters_at(c, 0, 0), *many = counters_at(c, 0, 1);
    assert_int_equal(one->cost.passes, 1);
    assert_int_equal(many->cost.passes, 16);
    assert_int_equal(many->cost.sectors + many->cost.lines + many->cost.wavefronts, 0);
    assert_int_equal(counters_beyond_l1(c, 0), 0);
    counters_free(c);
    expect(same, NULL, NULL);
    expect(pairs, NULL,
           "32 lanes read 16 different words of 'table', and constant memory serves one at a time: "
           "read the same element in all lanes of a warp, or keep it in global or shared memory");
}

static void words_about_collisions(void **state)
{
    (void)state;
    expect(event(&out, ACCESS_ATOMIC, 0, 32, 0, 0), NULL,
           "up to 32 lanes of a warp update one element of 'out', one after the other: 32.0 passes "
           "per request");
    expect(event(&out, ACCESS_ATOMIC, 0, 32, 4, 0), NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_add_up),
        cmocka_unit_test(a_block_loads_a_sector_once),
        cmocka_unit_test(constant_memory_costs_its_words),
        cmocka_unit_test(many_sectors_are_remembered),
        cmocka_unit_test(threads_can_share_the_work),
        cmocka_unit_test(a_unit_reads_an_operand_once),
        cmocka_unit_test(warps_of_a_group_share_an_operand),
        cmocka_unit_test(doubles_are_read_by_single_lanes),
        cmocka_unit_test(bulk_copies_pass_the_first_cache_by),
        cmocka_unit_test(words_about_banks),
        cmocka_unit_test(words_about_sectors),
        cmocka_unit_test(words_about_collisions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
