/* output.h - files that appear whole or not at all, and what is said while work goes on. */
#ifndef TIRC_COMMAND_OUTPUT_H
#define TIRC_COMMAND_OUTPUT_H

#include "tirc.h"

/* Writes to `path`, or to standard output for NULL and "-". A regular file is replaced by a rename once all of it is
 * there. TIRC_UNAVAILABLE after a line on standard error. */
tirc_status output_write(const char *path, const void *data, size_t length);
/* Whether all that was printed has arrived; TIRC_UNAVAILABLE after a line on standard error. */
tirc_status output_finish(void);

/* Says on standard error, if it is a terminal, what takes so long, once it has taken a second. `what` must outlive the
 * work. One piece of work at a time. */
typedef struct Progress Progress;
Progress *progress_begin(const char *what);
void progress_end(Progress *progress);

#endif
