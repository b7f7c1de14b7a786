/* output.h - Declares files that appear whole or not at all, and messages while work goes on. */
#ifndef TIRC_COMMAND_OUTPUT_H
#define TIRC_COMMAND_OUTPUT_H

#include "tirc.h"

/* Writes to `path`, or to standard output for NULL and "-". A regular file of this user is replaced
 * by a rename once all of it is there, and keeps its mode; a link is followed, and what it leads to
 * replaced. Devices, pipes, files of others and what is open as standard output or standard error
 * are written to. TIRC_UNAVAILABLE after a line on standard error. */
tirc_status output_write(const char *path, const void *data, size_t length);
/* The same for a name that the user did not choose: a regular file or nothing has to be there, not
 * a link or a pipe. */
tirc_status output_write_own(const char *path, const void *data, size_t length);
/* Whether all that was printed has arrived; TIRC_UNAVAILABLE after a line on standard error. */
tirc_status output_finish(void);

/* Is there a diagnostic of that severity? */
bool output_has(const tirc *t, tirc_severity severity);
/* Prints the diagnostics on standard error, in color as a ColorChoice says, and saves what
 * reproduces a bug. */
void output_diagnostics(tirc *t, int color, tirc_status status);

/* Says on standard error, if it is a terminal, what takes so long, once it has taken a second.
 * `what` must outlive the work. One piece of work at a time. */
typedef struct Progress Progress;
Progress *progress_begin(const char *what);
/* Says more about it from now on; progress may be NULL. */
void progress_say(Progress *progress, const char *text);
void progress_end(Progress *progress);

/* Of a clock that only goes forwards. */
double seconds_now(void);

#endif
