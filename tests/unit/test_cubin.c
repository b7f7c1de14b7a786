/* test_cubin.c - registers from machine code, and from files that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/cuda/cubin.h"
#include "runtime/device.h"

static const char TWO_KERNELS[] =
    "extern \"C\" __global__ void small(float *x) { x[threadIdx.x] = 1; }\n"
    "extern \"C\" __global__ void large(float *x, int n) {\n"
    "    volatile float a[400];\n"
    "    for (int i = 0; i < 400; i++) a[i] = x[i];\n"
    "    x[threadIdx.x] = a[n];\n"
    "}\n";

/* NULL where there is no NVRTC. */
static uint8_t *compile(Context *c, size_t *bytes)
{
    const void *image;
    if (!nvrtc_compile(c,
                       &(NvrtcRequest){.source = TWO_KERNELS,
                                       .name = "two",
                                       .arch = "sm_90a",
                                       .kind = NVRTC_CUBIN,
                                       .lines = NVRTC_PLAIN},
                       &image, bytes)) {
        print_message("SKIPPED: no NVRTC: %s\n", c->first ? c->first->message : "");
        return NULL;
    }
    uint8_t *copy = malloc(*bytes);
    assert_non_null(copy);
    return memcpy(copy, image, *bytes);
}

static void each_kernel_has_its_own(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    size_t bytes;
    uint8_t *image = compile(c, &bytes);
    CubinKernel small, large, none;
    if (image) {
        assert_true(cubin_kernel(image, bytes, "small", &small));
        assert_true(cubin_kernel(image, bytes, "large", &large));
        assert_false(cubin_kernel(image, bytes, "smal", &none));
        assert_in_range(small.registers, 4, 32);
        assert_int_equal(small.stack_bytes, 0);
        assert_true(large.registers >= small.registers);
        assert_int_equal(large.stack_bytes, 1600);
    }
    free(image);
    ctx_free(c);
}

/* Cut short anywhere, and with any byte changed, it is read without leaving it (the sanitizers
 * look). */
static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    size_t bytes;
    CubinKernel k;
    uint8_t *image = compile(c, &bytes);
    for (size_t length = 0; image && length < bytes; length += 7) {
        uint8_t *cut = malloc(length + 1);
        memcpy(cut, image, length);
        (void)cubin_kernel(cut, length, "small", &k);
        free(cut);
    }
    for (size_t i = 0; image && i < bytes; i++) {
        uint8_t kept = image[i];
        image[i] ^= 0xff;
        (void)cubin_kernel(image, bytes, "large", &k);
        image[i] = kept;
    }
    free(image);
    ctx_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kernel_has_its_own),
        cmocka_unit_test(damaged_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
