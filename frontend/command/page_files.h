/* page_files.h - Declares the frame, style and script of the report page, which the build embeds
 * from frontend/command/page. */
#ifndef TIRC_COMMAND_PAGE_FILES_H
#define TIRC_COMMAND_PAGE_FILES_H

typedef struct {
    const char *name; /* "page.css" */
    const char *text;
} PageFile;

extern const PageFile page_files[];
extern const int page_file_count;

#endif
