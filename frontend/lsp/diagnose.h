/* diagnose.h - Finds the errors of a text as the compiler reports them. */
#ifndef TIRC_LSP_DIAGNOSE_H
#define TIRC_LSP_DIAGNOSE_H

#include "document.h"

typedef struct {
    GVariant *diagnostics; /* array of Diagnostic */
    GVariant *actions;     /* array of CodeAction, one for each remedy */
} Diagnosis;

/* Parses the text, resolves its kernels, and runs its schedules on the kernels that they are for.
 * It uses nothing but its parameters, so it may run on any thread. */
Diagnosis *diagnose(const char *uri, const char *path, const char *text, const GPtrArray *overlays);
void diagnosis_free(Diagnosis *diagnosis);

#endif
