/* page_files.h - the frame, the style and the script of the report page, embedded by the build from
 * frontend/command/page. */
#ifndef TIRC_COMMAND_PAGE_FILES_H
#define TIRC_COMMAND_PAGE_FILES_H

typedef struct {
    const char *name; /* "page.css" */
    const char *text;
} PageFile;

extern const PageFile page_files[];
extern const int page_file_count;

#endif
