/* page.h - Writes the report of an analysis as one page for a browser. */
#ifndef TIRC_COMMAND_PAGE_H
#define TIRC_COMMAND_PAGE_H

#include "report.h"

/* Writes the page to -o. */
tirc_status report_page(const Command *c, const Report *r);

#endif
