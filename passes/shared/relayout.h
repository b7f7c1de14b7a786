/* relayout.h - Rewrites the accesses of a buffer that gets another layout: an index map says where
 * each element lies. */
#ifndef TIRC_PASSES_SHARED_RELAYOUT_H
#define TIRC_PASSES_SHARED_RELAYOUT_H

#include "ir/ir.h"

/* The body of `kernel`, in which every access of `of->from`, known by its id, touches the place in
 * `of->to`. */
Stmt *relayout_body(Context *c, const Kernel *kernel, const Relayout *of);
/* The kernel with a parameter in another layout, which becomes part of its interface and is
 * recorded in `relayouts`. No fact about the order of its elements may be known. */
const Kernel *relayout_parameter(Context *c, const Kernel *kernel, const Relayout *of);
/* The program that a schedule was applied to, with the interface and the types that the schedule
 * gave it: it computes the same elements, and takes and gives them where `scheduled` does. It says,
 * too, whether the schedule composes functions. */
const Kernel *relayout_like(Context *c, const Kernel *program, const Kernel *scheduled);

/* "[i, j] -> [j, i]" */
const char *relayout_text(Context *c, const Relayout *of);

#endif
