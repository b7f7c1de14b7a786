/* target.c - Says which GPUs have the PTX instructions of a template, and reads names of
 * architectures. */
#include "ir/target/target.h"

#include <stdlib.h>
#include <string.h>

const char *target_suffix(const char *arch)
{
    static const char *const prefixes[] = {"sm_", "compute_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t length = strlen(prefixes[i]);
        if (strncmp(arch, prefixes[i], length) != 0)
            continue;
        const char *suffix = arch + length;
        size_t digits = strspn(suffix, "0123456789");
        const char *end = suffix + digits;
        end += *end == 'a' || *end == 'f';
        return digits >= 2 && digits <= 3 && !*end ? suffix : NULL;
    }
    return NULL;
}

bool target_parse(const char *arch, Target *out)
{
    const char *suffix = target_suffix(arch);
    char *end;
    if (!suffix)
        return false;
    out->number = (int)strtol(suffix, &end, 10);
    out->feature = *end;
    return true;
}

bool target_has(Target gpu, Target first)
{
    return first.feature ? gpu.number == first.number && gpu.feature == first.feature
                         : gpu.number >= first.number;
}

const char *target_name(Context *c, Target target)
{
    return arena_printf(c->arena, "sm_%d%.1s", target.number, &target.feature);
}

/* ---- memory ---------------------------------------------------------------------------------- */

int64_t target_max_shared(Target gpu)
{
    /* CUDA C++ Programming Guide, technical specifications per compute capability; each up to the
     * next one. */
    static const struct {
        int number, kilobytes;
    } rows[] = {{0, 48},   {70, 96}, {75, 64},  {80, 163}, {86, 99},
                {87, 163}, {88, 99}, {90, 227}, {120, 99}};
    size_t i = sizeof rows / sizeof *rows - 1;
    while (rows[i].number > gpu.number)
        i--;
    return rows[i].kilobytes * 1024;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static const struct {
    const char *begin; /* of the opcode */
    Target first;
} opcodes[] = {
#define OPCODE(begin, number, feature) {begin, {number, feature}},
#include "ir/target/opcode.def"
#undef OPCODE
};

Target target_of_template(const char *const *lines, int n)
{
    Target first = {0};
    for (int line = 0; line < n; line++)
        for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
            if (strstr(lines[line], opcodes[i].begin) && opcodes[i].first.number >= first.number)
                first = opcodes[i].first;
    return first;
}
