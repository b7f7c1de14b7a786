/* record.h - writes a random schedule with the text that tirc emits for it, for tests/emulate. */
#ifndef TIRC_TESTS_RECORD_H
#define TIRC_TESTS_RECORD_H

#include "fuzz/trial.h"

typedef enum { RECORD_WRITTEN, RECORD_REFUSED, RECORD_BROKEN } RecordAnswer;

/* Runs `trace` (the text of a schedule named `found`) through the public library, and writes one
 * line of JSON to `to`: seed, program, sizes, schedule, the lowered text, --emit json, with
 * `complete` --emit cu. RECORD_REFUSED: lowering refuses the schedule. RECORD_BROKEN, with a line
 * that has a key "broken": the trace is refused, or tirc fails. */
RecordAnswer record_write(const Trial *t, const char *trace, bool reorders, bool complete,
                          FILE *to);

#endif
