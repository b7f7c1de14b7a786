/* npy.c - libFuzzer target of the reader of .npy files. What is read has exactly the bytes that its
 * shape says, and is written with a header that reads back. */
#include <string.h>

#include "tests/fuzz/targets/step.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(tirc *t, const tirc_npy *array)
{
    const tirc_argument same = {"a", array->type, array->rank, array->dims};
    const void *header;
    size_t length;
    tirc_npy again;
    if (*array->type == 'V')
        return;
    if (tirc_npy_header(t, &same, &header, &length) != TIRC_OK || length % 64 != 0)
        abort();
    char *file = malloc(length + array->bytes);
    if (!file)
        return;
    memcpy(file, header, length);
    memcpy(file + length, array->data, array->bytes);
    if (tirc_npy_parse(t, "again", file, length + array->bytes, &again) != TIRC_OK ||
        again.rank != array->rank || again.bytes != array->bytes ||
        memcmp(again.data, array->data, array->bytes) != 0)
        abort();
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const tirc_options options = {.memory_limit = (size_t)64 << 20, .cache_dir = ""};
    tirc *t = tirc_new(&options);
    tirc_npy array;
    if (t && step_done(t, tirc_npy_parse(t, "fuzz", data, size, &array), "parse")) {
        if ((const uint8_t *)array.data + array.bytes != data + size)
            abort();
        check_round_trip(t, &array);
    }
    tirc_free(t);
    return 0;
}
