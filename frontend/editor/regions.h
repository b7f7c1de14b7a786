/* regions.h - Describes which elements of a buffer a kernel reads and writes, for editors. */
#ifndef TIRC_FRONTEND_EDITOR_REGIONS_H
#define TIRC_FRONTEND_EDITOR_REGIONS_H

#include "ir/ir.h"

/* Appends "read at [0..M, 0..K]; written at [0..M, 0..N]"; nothing if the kernel has no buffer
 * `name`, or does not use it. Boxes may be larger than what is accessed, never smaller. */
void regions_describe(Context *c, const Kernel *kernel, const char *name, StrBuf *out);

#endif
