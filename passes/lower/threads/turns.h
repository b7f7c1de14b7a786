/* turns.h - Has warpgroups of consumers take turns, for the pass that inserts barriers (internal to
 * passes/lower). */
#ifndef TIRC_PASSES_LOWER_THREADS_TURNS_H
#define TIRC_PASSES_LOWER_THREADS_TURNS_H

#include "passes/lower/threads/roles.h"

/* Fills in the loop that ping_pong has marked in the launch, if there is one, and what follows for
 * it. False after a refusal (E0866). */
bool turns_find(Context *c, Stmt *root, Roles *roles);
/* The consumers, with the loop's iterations dealt out. */
Stmt *turns_dealt(Context *c, const Roles *roles, Stmt *consumers);
/* No loop of the host is marked. False after a refusal (E0866). */
bool turns_in_launches(Context *c, Stmt *body);

#endif
