/* profile.c - Reads device profiles, and makes one from the attributes of a GPU. */
#include "runtime/measure/profile.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- keys ---------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    size_t offset;
} ProfileKey;

static const ProfileKey keys[] = {
#define KEY(field, meaning) {#field, offsetof(Profile, field)},
#include "runtime/measure/profile.def"
#undef KEY
};
enum { KEYS = sizeof keys / sizeof keys[0], NAME_LENGTH_MAX = 64 };

static double *value_of(Profile *p, int key)
{
    return (double *)((char *)p + keys[key].offset);
}

/* ---- reading ------------------------------------------------------------------------------- */

typedef struct {
    Context *c;
    uint32_t source;
    const char *text;
    Profile *out;
    bool seen[KEYS];
} ProfileReader;

/* A part of the text without blanks around it. */
typedef struct {
    size_t begin, end;
} Part;

static Part trim(const ProfileReader *r, size_t begin, size_t end)
{
    while (begin < end && isspace((unsigned char)r->text[begin]))
        begin++;
    while (end > begin && isspace((unsigned char)r->text[end - 1]))
        end--;
    return (Part){begin, end};
}

static Span span_of(const ProfileReader *r, Part part)
{
    return (Span){r->source, (uint32_t)part.begin, (uint32_t)part.end};
}

static char *text_of(const ProfileReader *r, Part part)
{
    return arena_strndup(r->c->arena, r->text + part.begin, part.end - part.begin);
}

static bool refuse_key(const ProfileReader *r, Part part, const char *key)
{
    const char *words[KEYS + 1] = {"name"};
    for (int i = 0; i < KEYS; i++)
        words[i + 1] = keys[i].name;
    const char *near = diag_suggest(key, words, KEYS + 1);
    diag_error(r->c, E0651, span_of(r, part),
               near ? "unknown key '%.60s' of a device profile; did you mean '%s'?"
                    : "unknown key '%.60s' of a device profile",
               key, near);
    StrBuf all = strbuf_new(r->c->arena);
    for (int i = 0; i <= KEYS; i++)
        strbuf_addf(&all, "%s%s", i ? ", " : "", words[i]);
    diag_note(r->c, span_none(), "the keys are %s", all.text);
    return false;
}

static bool set_number(ProfileReader *r, Part key_part, Part value_part, int key)
{
    if (r->seen[key]) {
        diag_error(r->c, E0651, span_of(r, key_part),
                   "'%s' is set twice; keep one of the two lines", keys[key].name);
        return false;
    }
    r->seen[key] = true;
    char *end;
    const char *text = text_of(r, value_part);
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < 0) {
        diag_error(r->c, E0651, span_of(r, value_part),
                   "'%s' takes a nonnegative number, found '%.60s'", keys[key].name, text);
        return false;
    }
    *value_of(r->out, key) = value;
    return true;
}

static bool read_pair(ProfileReader *r, Part key_part, Part value_part)
{
    const char *key = text_of(r, key_part);
    if (!strcmp(key, "name")) {
        r->out->name = text_of(r, value_part);
        return true;
    }
    for (int i = 0; i < KEYS; i++)
        if (!strcmp(key, keys[i].name))
            return set_number(r, key_part, value_part, i);
    return refuse_key(r, key_part, key);
}

static bool read_line(ProfileReader *r, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        if (r->text[i] == '#')
            end = i;
    Part line = trim(r, begin, end);
    if (line.begin == line.end)
        return true;
    size_t equals = line.begin;
    while (equals < line.end && r->text[equals] != '=')
        equals++;
    if (equals == line.end) {
        diag_error(r->c, E0651, span_of(r, line),
                   "expected 'key = number' in a device profile, found a line without '='");
        return false;
    }
    return read_pair(r, trim(r, line.begin, equals), trim(r, equals + 1, line.end));
}

bool profile_parse(Context *ctx, uint32_t source, Profile *out)
{
    const Source *s = source_get(ctx, source);
    ProfileReader reader = {.c = ctx, .source = source, .text = s->text, .out = out};
    *out = (Profile){.name = s->path};
    for (size_t begin = 0; begin < s->length;) {
        size_t end = begin;
        while (end < s->length && s->text[end] != '\n')
            end++;
        if (!read_line(&reader, begin, end))
            return false;
        begin = end + 1;
    }
    return true;
}

/* ---- shipped profiles ---------------------------------------------------------------------- */

static size_t stem_length(const ProfileFile *file)
{
    return strcspn(file->name, ".");
}

const ProfileFile *profile_shipped(const char *name)
{
    for (int i = 0; i < profile_file_count; i++) {
        const ProfileFile *file = &profile_files[i];
        if (strlen(name) == stem_length(file) && !strncasecmp(file->name, name, stem_length(file)))
            return file;
    }
    return NULL;
}

const char *profile_names(Context *ctx)
{
    StrBuf out = strbuf_new(ctx->arena);
    for (int i = 0; i < profile_file_count; i++)
        strbuf_addf(&out, "%s%.*s", i ? ", " : "", (int)stem_length(&profile_files[i]),
                    profile_files[i].name);
    return out.text;
}

/* ---- a GPU's own --------------------------------------------------------------------------- */

/* Lanes of a multiprocessor for each type, by compute capability: the table of throughputs in the
 * CUDA C++ Programming Guide, "Arithmetic Instructions". */
typedef struct {
    int capability; /* 90 for 9.0 */
    int f64, f32;
} Lanes;

static Lanes lanes_of(int capability)
{
    static const Lanes table[] = {
        {70, 32, 64}, {75, 2, 64},   {80, 32, 64},   {86, 2, 128},  {87, 2, 128},
        {89, 2, 128}, {90, 64, 128}, {100, 64, 128}, {103, 2, 128}, {120, 2, 128},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].capability == capability)
            return table[i];
    return (Lanes){0};
}

Profile profile_of_device(const DeviceInfo *info)
{
    Lanes lanes = lanes_of(info->capability);
    double ghz = info->clock_khz * 1e-6, per_lane = 2 * ghz * info->multiprocessors;
    return (Profile){
        .name = info->name,
        .multiprocessors = info->multiprocessors,
        .clock_mhz = info->clock_khz * 1e-3,
        .dram_gbps = 2.0 * info->memory_clock_khz * 1e3 * info->memory_bus_bits / 8 * 1e-9,
        .f64_gflops = per_lane * lanes.f64,
        .f32_gflops = per_lane * lanes.f32,
        .max_threads = info->threads_per_multiprocessor,
        .max_blocks = info->blocks_per_multiprocessor,
        .registers = info->registers_per_multiprocessor,
        .shared_bytes = (double)info->shared_per_multiprocessor,
        .shared_block_bytes = (double)info->max_shared_per_block,
        .shared_reserved_bytes = info->shared_reserved_per_block,
    };
}
