/* analyze.h - Declares the forms of an analysis: table, JSON, comparison. */
#ifndef TIRC_COMMAND_ANALYZE_H
#define TIRC_COMMAND_ANALYZE_H

#include <jansson.h>

#include "command.h"

/* ---- analyze_table.c ------------------------------------------------------------------------- */

void analysis_print(const tirc_analysis *analysis);

enum { NUMBER_ROOM = 32, COST_ROOM = 48 };
/* "16", "4.25". */
void number_plain(double value, char out[NUMBER_ROOM]);
/* "1.5 ms", "12.3 us". */
void time_text(double ms, char out[NUMBER_ROOM]);
/* "16 sectors", "1 wavefront". */
void access_cost_text(const tirc_access *access, char out[COST_ROOM]);

/* ---- analyze_json.c: new references ---------------------------------------------------------- */

/* The keys of `accesses` that every request of an access has in common. */
json_t *accesses_json(const tirc_analysis *analysis);
/* All the rest. */
json_t *analysis_json(const tirc_analysis *analysis);

/* ---- analyze_versus.c ------------------------------------------------------------------------ */

enum { SUBJECT_ROOM = 128, VALUE_ROOM = 80 };

/* A counter that two analyses of one program do not agree on. */
typedef struct {
    char subject[SUBJECT_ROOM]; /* "load in_shared (shared)" */
    const char *counter;        /* "each costs" */
    char first[VALUE_ROOM], second[VALUE_ROOM];
} Change;
typedef struct {
    Change *items;
    size_t n, capacity;
    bool out_of_memory;
} ChangeList;

/* False without memory; the list is to be freed in any case. */
bool analysis_compare(const tirc_analysis *first, const tirc_analysis *second, ChangeList *out);
void changes_free(ChangeList *list);
void changes_print(const ChangeList *list, const char *first, const char *second);
json_t *changes_json(const ChangeList *list);

/* ---- analyze.c ------------------------------------------------------------------------------- */

typedef struct {
    tirc_analysis *analysis; /* NULL: none was made */
    tirc_analysis *other;    /* of --versus; NULL: none was asked for */
    const char *other_name;
    tirc_kernel *other_lowered;
    ChangeList changes;
} AnalysisReport;

tirc_status command_analyze(const Command *c, const int64_t *sizes, const tirc_device *device,
                            AnalysisReport *out);
void analysis_report_free(AnalysisReport *report);

#endif
