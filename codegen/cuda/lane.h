/* lane.h - Writes out single lanes of a vectorized loop (internal to codegen). */
#ifndef TIRC_CODEGEN_CUDA_LANE_H
#define TIRC_CODEGEN_CUDA_LANE_H

#include "codegen/cuda/text.h"
#include "codegen/vector.h"

/* A part of the value that all lanes have computed already, in a vector of this name. */
typedef struct {
    const Expr *e;
    Name name;
} LanePart;

typedef struct {
    CudaWriter *w;
    const VectorPlan *plan;
    int lane;
    VEC(LanePart) parts;
} Lanes;

/* The type of a vector of `lanes` elements: CUDA's own, or words that hold elements of 1 and 2
 * bytes. */
const char *lane_vector_type(CudaWriter *w, const VectorPlan *plan, DType type);
/* The vector that holds `e` of all lanes, a wide load or a part; NULL: there is none. */
Name lane_vector(const Lanes *l, const Expr *e);
/* The name of the variable that holds a wide load. */
Name lane_load_name(const Lanes *l, int load);
/* The word number `word` of a vector of `bytes` bytes. */
Name lane_word(const Lanes *l, Name vector, int64_t bytes, int word);
/* `e` in l->lane: vectors become their components, the variable of the loop a literal. */
Expr *lane_value(Lanes *l, Expr *e);

/* packed.c: lanes of 1 and 2 bytes together in words. The word number `word` of the vector that the
 * loop stores, as a value. */
void packed_word(Lanes *l, int word);
/* Declares the vectors of those parts of the value that have packed arithmetic but stand in other
 * arithmetic: of f16(exp(f32(a + b))) the sum. */
void packed_parts(Lanes *l);

#endif
