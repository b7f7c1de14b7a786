/* cache.h - compiled kernels kept on disk, found again by the content that they were made from.
 *
 * One file an entry, named after the 128-bit hash of everything that the result depends on.  Files
 * appear whole, by a rename, so processes may share the folder; each carries its length and
 * checksum, so that one that a full disk or a dying machine cut short is noticed and made again.
 * Files that are no entries are neither read nor replaced nor deleted.  A folder that cannot be
 * used, or that others may write to, only costs time. */
#ifndef TIRC_RUNTIME_CACHE_H
#define TIRC_RUNTIME_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    char *folder;   /* NULL: no cache */
    uint64_t limit; /* bytes that cache_trim leaves */
} Cache;

typedef struct {
    uint64_t high, low;
} CacheKey;

/* Opens `folder`, or with NULL the first of $TIRC_CACHE_DIR, $XDG_CACHE_HOME/tirc, ~/.cache/tirc
 * that is set; "" (also in $TIRC_CACHE_DIR) is no cache.  Makes missing folders.  Never fails: a
 * cache that cannot be had is off. */
void cache_open(Cache *cache, const char *folder);
void cache_close(Cache *cache);
/* The folder that NULL stands for, which the caller frees; NULL: none. */
char *cache_default_folder(void);

/* The key of an entry that depends on these strings, and on the format of the cache. */
CacheKey cache_key(const char *const *parts, int n);

/* The entry in memory that the caller frees, or NULL when there is none. */
void *cache_get(const Cache *cache, CacheKey key, size_t *bytes);
/* Stores an entry if it can.  Now and then trims the cache. */
void cache_put(const Cache *cache, CacheKey key, const void *data, size_t bytes);
/* Removes the entries that were used longest ago until `limit` bytes are left, and what dead
 * writers left behind. */
void cache_trim(const Cache *cache);

#endif
