/* cache.c - Caches compiled kernels on disk, keyed by the content that they were compiled from.
 *
 *   file := "tirc" version(4) length(8) key(16) checksum(16) data(length)
 *           integers little-endian, hashes canonical
 *
 * A writer fills a file of its own, forces it to the disk and renames it into place. A reader
 * believes nothing: the length must be that of the file, the key the one asked for, and the
 * checksum the data's.
 *
 * The folder may hold anything else. A file is ours, to be replaced or deleted, only if all of
 * these hold: its name is one that entry_path or write_entry makes, it is a regular file (no link,
 * no pipe), and it begins with "tirc" or is empty. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "runtime/cache.h"

enum {
    FORMAT_VERSION = 1,
    HEADER_BYTES = 48,
    TRIM_EVERY = 64,         /* one store in so many trims, chosen by the key */
    STALE_SECONDS = 60 * 60, /* a writer that took so long is dead */
};
static const uint64_t LIMIT_BYTES = 512ull << 20;
static const size_t MAX_ENTRY_BYTES = (size_t)1 << 30;

#define MAGIC          "tirc"
#define ENTRY_SUFFIX   ".bin"
#define PARTIAL_PREFIX "partial."
enum { KEY_DIGITS = 32, RANDOM_LETTERS = 6 };

/* ---- the folder ------------------------------------------------------------------------------ */

/* Others could put code there that a GPU then runs: the checksum of an entry says that it is whole,
 * not who wrote it. */
static bool is_private(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Like mkdir -p; the last folder must be writable for this user only. */
static bool make_folders(char *path)
{
    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            (void)mkdir(path, 0700);
            *p = '/';
        }
    return (mkdir(path, 0700) == 0 || errno == EEXIST) && access(path, W_OK | X_OK) == 0 &&
           is_private(path);
}

char *cache_default_folder(void)
{
    char *folder = NULL;
    const char *own = getenv("TIRC_CACHE_DIR");
    const char *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int written = -1;
    if (own)
        return *own ? strdup(own) : NULL;
    if (xdg && *xdg == '/') /* relative ones are to be ignored: XDG Base Directory Specification */
        written = asprintf(&folder, "%s/tirc", xdg);
    else if (home && *home)
        written = asprintf(&folder, "%s/.cache/tirc", home);
    return written < 0 ? NULL : folder;
}

void cache_open(Cache *cache, const char *folder)
{
    cache->limit = LIMIT_BYTES;
    cache->folder = !folder ? cache_default_folder() : *folder ? strdup(folder) : NULL;
    if (cache->folder && !make_folders(cache->folder))
        cache_close(cache);
}

void cache_close(Cache *cache)
{
    free(cache->folder);
    cache->folder = NULL;
}

/* ---- keys and headers ------------------------------------------------------------------------ */

CacheKey cache_key(const char *const *parts, int n)
{
    /* Each part's own hash is folded into the hash of those before it: no two lists of parts give
     * the same bytes. */
    XXH128_canonical_t fold[2];
    XXH128_canonicalFromHash(&fold[0], XXH3_128bits_withSeed("tirc", 4, FORMAT_VERSION));
    for (int i = 0; i < n; i++) {
        XXH128_canonicalFromHash(&fold[1], XXH3_128bits(parts[i], strlen(parts[i])));
        XXH128_canonicalFromHash(&fold[0], XXH3_128bits(fold, sizeof fold));
    }
    XXH128_hash_t all = XXH128_hashFromCanonical(&fold[0]);
    return (CacheKey){all.high64, all.low64};
}

static void put_little(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get_little(const unsigned char *from, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static void make_header(unsigned char header[HEADER_BYTES], CacheKey key, const void *data,
                        size_t bytes)
{
    XXH128_canonical_t checksum;
    XXH128_canonicalFromHash(&checksum, XXH3_128bits(data, bytes));
    memcpy(header, MAGIC, 4);
    put_little(header + 4, FORMAT_VERSION, 4);
    put_little(header + 8, bytes, 8);
    put_little(header + 16, key.high, 8);
    put_little(header + 24, key.low, 8);
    memcpy(header + 32, &checksum, 16);
}

static bool entry_path(const Cache *cache, CacheKey key, char **path)
{
    return asprintf(path, "%s/%016llx%016llx" ENTRY_SUFFIX, cache->folder,
                    (unsigned long long)key.high, (unsigned long long)key.low) >= 0;
}

static bool partial_path(const Cache *cache, CacheKey key, char **path)
{
    return asprintf(path, "%s/" PARTIAL_PREFIX "%016llx%016llx.XXXXXX", cache->folder,
                    (unsigned long long)key.high, (unsigned long long)key.low) >= 0;
}

/* ---- which files are ours -------------------------------------------------------------------- */

static bool begins_with_key(const char *name)
{
    return strspn(name, "0123456789abcdef") == KEY_DIGITS;
}

static bool is_entry_name(const char *name)
{
    return begins_with_key(name) && strcmp(name + KEY_DIGITS, ENTRY_SUFFIX) == 0;
}

static bool is_partial_name(const char *name)
{
    const size_t prefix = strlen(PARTIAL_PREFIX);
    return strncmp(name, PARTIAL_PREFIX, prefix) == 0 && begins_with_key(name + prefix) &&
           name[prefix + KEY_DIGITS] == '.' &&
           strlen(name + prefix + KEY_DIGITS) == 1 + RANDOM_LETTERS;
}

/* Opens a regular file of ours by name or path; -1 if it is none. Links are not followed, and
 * nothing waits for a pipe. */
static int open_regular(int folder, const char *name, struct stat *status)
{
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file >= 0 && fstat(file, status) == 0 && S_ISREG(status->st_mode) &&
        status->st_uid == geteuid())
        return file;
    if (file >= 0)
        (void)close(file);
    return -1;
}

/* A file that a writer of entries began, as far as its content says. */
static bool is_ours(int folder, const char *name, struct stat *status)
{
    char magic[4];
    int file = open_regular(folder, name, status);
    if (file < 0)
        return false;
    bool ours = status->st_size == 0 || (pread(file, magic, sizeof magic, 0) == sizeof magic &&
                                         memcmp(magic, MAGIC, sizeof magic) == 0);
    (void)close(file);
    return ours;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool read_all(int file, void *to, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = read(file, (char *)to + done, bytes - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* The data of a file that is exactly what a writer of `key` writes, or NULL. */
static void *read_entry(int file, int64_t file_bytes, CacheKey key, size_t *bytes)
{
    unsigned char header[HEADER_BYTES], expected[HEADER_BYTES];
    if (file_bytes < HEADER_BYTES || !read_all(file, header, HEADER_BYTES))
        return NULL;
    uint64_t length = get_little(header + 8, 8);
    if (length > MAX_ENTRY_BYTES || length + HEADER_BYTES != (uint64_t)file_bytes)
        return NULL;
    void *data = malloc((size_t)length + 1);
    if (data && read_all(file, data, (size_t)length)) {
        make_header(expected, key, data, (size_t)length);
        if (memcmp(header, expected, HEADER_BYTES) == 0) {
            *bytes = (size_t)length;
            return data;
        }
    }
    free(data);
    return NULL;
}

void *cache_get(const Cache *cache, CacheKey key, size_t *bytes)
{
    char *path;
    struct stat status;
    if (!cache->folder || !entry_path(cache, key, &path))
        return NULL;
    void *data = NULL;
    int file = open_regular(AT_FDCWD, path, &status);
    if (file >= 0) {
        data = read_entry(file, status.st_size, key, bytes);
        if (data)
            (void)futimens(file, NULL); /* cache_trim takes the oldest first */
        (void)close(file);
    }
    free(path);
    return data;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool write_all(int file, const void *from, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t put = write(file, (const char *)from + done, bytes - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

/* Writes a whole entry to a new file beside `path`, then gives it that name. */
static bool write_entry(const Cache *cache, const char *path, CacheKey key, const void *data,
                        size_t bytes)
{
    unsigned char header[HEADER_BYTES];
    struct stat status;
    char *partial;
    make_header(header, key, data, bytes);
    if (lstat(path, &status) == 0 && !is_ours(AT_FDCWD, path, &status))
        return true; /* whatever it is, it stays */
    if (!partial_path(cache, key, &partial))
        return false;
    int file = mkostemp(partial, O_CLOEXEC);
    bool ok = file >= 0;
    if (ok) {
        ok = write_all(file, header, HEADER_BYTES) && write_all(file, data, bytes) &&
             fsync(file) == 0;
        ok = close(file) == 0 && ok;
        ok = ok && rename(partial, path) == 0;
        if (!ok)
            (void)unlink(partial);
    }
    free(partial);
    return ok;
}

void cache_put(const Cache *cache, CacheKey key, const void *data, size_t bytes)
{
    char *path;
    if (!cache->folder || bytes > MAX_ENTRY_BYTES || !entry_path(cache, key, &path))
        return;
    bool written = write_entry(cache, path, key, data, bytes);
    free(path);
    if (!written || key.low % TRIM_EVERY == 0)
        cache_trim(cache);
}

/* ---- keeping it small ------------------------------------------------------------------------ */

typedef struct {
    char *name;
    uint64_t bytes;
    struct timespec used;
} Entry;

typedef struct {
    Entry *items;
    size_t n, capacity;
    uint64_t bytes;
} EntryList;

static int older_first(const void *a, const void *b)
{
    const Entry *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

static void add_entry(EntryList *list, const char *name, const struct stat *status)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 256;
        Entry *items = realloc(list->items, capacity * sizeof *items);
        if (!items)
            return;
        list->items = items;
        list->capacity = capacity;
    }
    char *copy = strdup(name);
    if (!copy)
        return;
    list->items[list->n++] = (Entry){copy, (uint64_t)status->st_size, status->st_mtim};
    list->bytes += (uint64_t)status->st_size;
}

/* Lists the entries, and removes abandoned partial files. */
static void list_folder(int folder, DIR *stream, EntryList *list)
{
    time_t now = time(NULL);
    for (struct dirent *each; (each = readdir(stream)) != NULL;) {
        struct stat status;
        bool partial = is_partial_name(each->d_name);
        if ((!partial && !is_entry_name(each->d_name)) || !is_ours(folder, each->d_name, &status))
            continue;
        if (!partial)
            add_entry(list, each->d_name, &status);
        else if (now - status.st_mtim.tv_sec > STALE_SECONDS)
            (void)unlinkat(folder, each->d_name, 0);
    }
}

void cache_trim(const Cache *cache)
{
    DIR *stream = cache->folder ? opendir(cache->folder) : NULL;
    if (!stream)
        return;
    EntryList list = {0};
    list_folder(dirfd(stream), stream, &list);
    if (list.n > 0)
        qsort(list.items, list.n, sizeof *list.items, older_first);
    for (size_t i = 0; i < list.n; i++) {
        if (list.bytes > cache->limit) {
            list.bytes -= list.items[i].bytes; /* gone, even if another process removed it */
            (void)unlinkat(dirfd(stream), list.items[i].name, 0);
        }
        free(list.items[i].name);
    }
    free(list.items);
    (void)closedir(stream);
}
