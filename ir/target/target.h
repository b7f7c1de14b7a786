/* target.h - Says which GPUs have what a schedule asks for. */
#ifndef TIRC_IR_TARGET_TARGET_H
#define TIRC_IR_TARGET_TARGET_H

#include "ir/diag.h"

/* Returns "90a" of "sm_90a" or "compute_90a", or NULL if it is no architecture's name. */
const char *target_suffix(const char *arch);
/* Reads such a name; false if it is none. */
bool target_parse(const char *arch, Target *out);

/* What is said of a name that is none. */
#define TARGET_EXPECTED                                                                            \
    "'%s' is not a GPU architecture; write it as sm_90a or compute_90a: the compute capability "   \
    "without the dot"

/* Returns whether a GPU has what others have from `first` on, or alone if that has a feature. */
bool target_has(Target gpu, Target first);
/* "sm_90a", in the context's arena. */
const char *target_name(Context *c, Target target);

/* Returns how many bytes of shared memory a block may have. */
int64_t target_max_shared(Target gpu);

/* Returns the first GPUs that have the PTX instructions in the lines of a template. */
Target target_of_template(const char *const *lines, int n);

#endif
