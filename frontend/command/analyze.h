/* analyze.h - how an analysis is told: as a table, as JSON, as a comparison. */
#ifndef TIRC_COMMAND_ANALYZE_H
#define TIRC_COMMAND_ANALYZE_H

#include <jansson.h>

#include "tirc.h"

/* ---- analyze_table.c --------------------------------------------------------------------------------------- */

void analysis_print(const tirc_analysis *analysis);

enum { NUMBER_ROOM = 32, COST_ROOM = 48 };
/* "33.6 MB": three digits and a prefix. */
void number_short(double value, const char *unit, char out[NUMBER_ROOM]);
/* "16", "4.25". */
void number_plain(double value, char out[NUMBER_ROOM]);
/* "1.5 ms", "12.3 us". */
void time_text(double ms, char out[NUMBER_ROOM]);
/* "16 sectors", "1 wavefront". */
void access_cost_text(const tirc_access *access, char out[COST_ROOM]);

/* ---- analyze_json.c: new references ------------------------------------------------------------------------ */

/* The keys of `accesses` that every request of an access has in common. */
json_t *accesses_json(const tirc_analysis *analysis);
/* All the rest. */
json_t *analysis_json(const tirc_analysis *analysis);

#endif
