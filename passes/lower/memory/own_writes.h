/* own_writes.h - Decides whether an iteration reads only what it has written itself (internal to
 * passes/lower). */
#ifndef TIRC_PASSES_LOWER_MEMORY_OWN_WRITES_H
#define TIRC_PASSES_LOWER_MEMORY_OWN_WRITES_H

#include "passes/lower/pass.h"

/* `path` leads from the kernel's body to a statement that holds every access of `b`; path[root] is
 * the launch it is in. True if every execution of the statement (by all threads of a block for
 * shared memory, by each thread for local) is proved to read only elements of `b` that it wrote
 * before. */
bool reads_own_writes(Context *c, Stmt *const *path, int n, int root, const Buffer *b);

#endif
