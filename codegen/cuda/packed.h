/* packed.h - Puts lanes of 1 and 2 bytes together in words (internal to codegen). */
#ifndef TIRC_CODEGEN_CUDA_PACKED_H
#define TIRC_CODEGEN_CUDA_PACKED_H

#include "codegen/cuda/lane.h"

/* The word number `word` of the vector that the loop stores, as a value. */
void packed_word(Lanes *l, int word);
/* Declares the vectors of those parts of the value that have packed arithmetic but stand in other
 * arithmetic: of f16(exp(f32(a + b))) the sum. */
void packed_parts(Lanes *l);

#endif
