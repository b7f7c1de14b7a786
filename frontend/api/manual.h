/* manual.h - Generates the built-in manual of primitives and errors from their tables. */
#ifndef TIRC_FRONTEND_API_MANUAL_H
#define TIRC_FRONTEND_API_MANUAL_H

#include "passes/schedule/schedule.h"

/* Parses, resolves, schedules and lowers the example of an error, as far as it goes, and leaves the
 * diagnostics in `c`. The row must have a program. */
void explain_run_example(Context *c, const ErrorInfo *info);

/* The explanation of an error, its example, and the message for it. The example consumes `c`. */
void explain_error(Context *c, const ErrorInfo *info, StrBuf *out);

/* How a primitive is called, what it does, a program before and after, when it is legal, TVM's name
 * for it. */
void explain_primitive(const Primitive *primitive, StrBuf *out);

#endif
