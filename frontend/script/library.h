/* library.h - Declares the shipped schedule files, which the build embeds from
 * frontend/library/. */
#ifndef TIRC_FRONTEND_SCRIPT_LIBRARY_H
#define TIRC_FRONTEND_SCRIPT_LIBRARY_H

typedef struct {
    const char *path; /* "library/default.sched" */
    const char *text;
} LibraryFile;

extern const LibraryFile library_files[];
extern const int library_count;

#endif
