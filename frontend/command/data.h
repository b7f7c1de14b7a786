/* data.h - Declares a run on the user's own data: --input, --output, --arg and --range. */
#ifndef TIRC_COMMAND_DATA_H
#define TIRC_COMMAND_DATA_H

#include "command.h"

/* Reads the files, and derives sizes from them: c->file, c->inputs and c->binding. */
tirc_status data_read(Command *c);
void data_free(Command *c);

/* Whether the options name parameters of the right kinds. */
tirc_status data_check(const Command *c, const tirc_parameter *parameters, size_t n);
/* Finds the user's data for a parameter: in a file, or in `scalar`, which has room for a value.
 * *data NULL: there are none. */
tirc_status data_find(const Command *c, const tirc_parameter *p, void *scalar, const void **data);
/* Writes an output to the file that the user named for it, if any. */
tirc_status data_write(const Command *c, const tirc_parameter *p, const void *data);

#endif
