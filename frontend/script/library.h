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

/* A line of a shipped file that declares something. */
typedef struct {
    const char *line; /* "proc tile_rows" */
    int file;         /* in library_files */
    int at;           /* where the line begins in the file's text */
} LibraryLine;

extern const LibraryLine library_files_index[]; /* in the order of strcmp */
extern const int library_files_index_count;

#endif
