/* codegen.h - Builds the module of a lowered kernel, which devices run.
 *
 * Everything lives in the context's arena.  The text for CUDA is in cuda.h. */
#ifndef TIRC_CODEGEN_CODEGEN_H
#define TIRC_CODEGEN_CODEGEN_H

#include "ir/ir.h"
#include "runtime/module.h"

/* The tables of a kernel, its host part and its kernels as code for the machine.
 *   lowered      launches become the module's kernels, loops around them its host part
 *   not lowered  a program at any other level, without inits (sequential_kernel): the host part
 *                computes it by itself, loops one after the other
 * `cuda_source` is the text of --emit cuda, or NULL where no GPU will run it. NULL after a
 * diagnostic. */
Module *module_build(Context *c, const Kernel *kernel, const char *cuda_source);

/* The same of a reference whose parallel loops run in lanes (reference_in_lanes): each lane of the
 * machine takes an iteration, and has a single element that the loop stores to for itself. */
Module *module_build_in_lanes(Context *c, const Kernel *reference);

/* Lets runs of the module leave elements of outputs unwritten where `program`, which the module's
 * kernel was made from, does not certainly write them all. */
void module_allow_partial(Context *c, Module *m, const Kernel *program);

#endif
