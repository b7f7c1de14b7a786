/* profile.h - Describes the performance of a GPU in numbers: the device that an analysis is for.
 *
 * A profile is a text of `key = value` lines; '#' starts a comment.  `name` is its title, every
 * other key a row of profile.def.  Those of runtime/profiles ship inside the library; a user's own
 * are files. */
#ifndef TIRC_RUNTIME_MEASURE_PROFILE_H
#define TIRC_RUNTIME_MEASURE_PROFILE_H

#include "ir/diag.h"
#include "runtime/device.h"

typedef struct {
    const char *name;                     /* "NVIDIA H200" */
#define KEY(field, meaning) double field; /* 0: not known */
#include "runtime/measure/profile.def"
#undef KEY
} Profile;

/* A shipped profile as its file (profile_files.c, written by the build). */
typedef struct {
    const char *name; /* "h200.profile" */
    const char *text;
} ProfileFile;
extern const ProfileFile profile_files[];
extern const int profile_file_count;

/* The shipped profile called `name`, in any case ("H200"); NULL: there is none. */
const ProfileFile *profile_shipped(const char *name);
/* The names of the shipped profiles: "a100, h200". */
const char *profile_names(Context *ctx);
/* Reads a text that was added to the context's sources.  False after E0651. */
bool profile_parse(Context *ctx, uint32_t source, Profile *out);

/* A GPU's own: its attributes, and for what no attribute says, what its compute capability has.
 * `name` lives as long as `info`. */
Profile profile_of_device(const DeviceInfo *info);

#endif
