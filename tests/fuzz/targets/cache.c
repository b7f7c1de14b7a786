/* cache.c - libFuzzer target of what is read back from disk: entries of the cache, and the
 * machine code in them.
 *
 * The bytes become the file of an entry, as they are or over an entry that is whole, at a place
 * that the second byte says. What cache_get then returns is the data of a whole entry, or nothing;
 * and after cache_put and cache_trim it is the new data. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cache.h"
#include "runtime/cuda/cubin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char WHOLE[] = "the data of an entry that is whole";

/* The one file in the folder; false: there is none. */
static bool entry_in(const char *folder, char path[512])
{
    DIR *stream = opendir(folder);
    bool found = false;
    for (const struct dirent *each; stream && (each = readdir(stream)) != NULL;)
        if (each->d_name[0] != '.') {
            snprintf(path, 512, "%s/%s", folder, each->d_name);
            found = true;
        }
    if (stream)
        closedir(stream);
    return found;
}

static void spoil(const char *path, const uint8_t *data, size_t size, bool over, off_t at)
{
    int file = open(path, O_WRONLY | (over ? 0 : O_TRUNC));
    if (file >= 0) {
        (void)!pwrite(file, data, size, over ? at : 0);
        close(file);
    }
}

static void expect(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void check(const Cache *cache, CacheKey key, const char *data, size_t size, bool must)
{
    size_t bytes = 0;
    char *got = cache_get(cache, key, &bytes);
    expect(got || !must, "an entry is lost");
    expect(!got || (bytes == size && !memcmp(got, data, size)), "an entry is another one");
    free(got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[] = "/tmp/tirc-fuzz-XXXXXX", path[512];
    Cache cache;
    CubinKernel found;
    CacheKey key = cache_key((const char *[]){"key"}, 1);
    cubin_kernel(data, size, "k", &found);
    if (size < 2 || !mkdtemp(folder))
        return 0;
    cache_open(&cache, folder);
    cache_put(&cache, key, WHOLE, sizeof WHOLE);
    expect(entry_in(folder, path), "an entry is not stored");
    spoil(path, data + 2, size - 2, data[0] % 2, data[1] % 128);
    check(&cache, key, WHOLE, sizeof WHOLE, false);
    cache.limit = 0;
    cache_trim(&cache);
    unlink(path); /* where it does not begin as entries do it has stayed */
    cache_put(&cache, key, data, size);
    check(&cache, key, (const char *)data, size, true);
    cache_trim(&cache);
    expect(!entry_in(folder, path), "an entry stays");
    cache_close(&cache);
    rmdir(folder);
    return 0;
}
