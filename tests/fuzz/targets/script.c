/* script.c - libFuzzer target of scripts that run: what they compute, the primitives that they
 * call, and what lowering makes of the result.
 *
 * The bytes are the statements of a schedule for one of three programs, which the first byte
 * chooses. Each step succeeds or says why it does not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/targets/step.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const PROGRAMS[] = {
    "kernel k<M = 24, N = 40>(x: f32[M, N]) -> y: f32[N, M] {\n"
    "    for i in N, j in M y[i, j] = x[j, i];\n"
    "}\n",
    "kernel k<M, N, K>(a: f32[M, K], b: f32[K, N]) -> y: f32[M, N] {\n"
    "    for i in M, j in N {\n"
    "        y[i, j] = 0.0;\n"
    "        for l in K y[i, j] += a[i, l] * b[l, j];\n"
    "    }\n"
    "}\n",
    "kernel k<N = 50>(x: f32[N]) -> y: f32[N] {\n"
    "    temp t: f32[N];\n"
    "    for i in N t[i] = x[i] * x[i];\n"
    "    for i in N y[i] = i > 0 ? t[i] + t[i - 1] : t[i];\n"
    "}\n",
};
enum { N_PROGRAMS = sizeof PROGRAMS / sizeof *PROGRAMS };

static void run(tirc *t, const char *text, size_t length)
{
    tirc_file *file;
    tirc_kernel *program, *scheduled, *lowered;
    const void *cuda;
    if (step_done(t, tirc_parse_text(t, "fuzz", text, length, &file), "parse") &&
        step_done(t, tirc_resolve(t, file, "k", NULL, 0, &program), "resolve") &&
        step_done(t, tirc_apply(t, file, program, "fuzz", NULL, 0, &scheduled), "schedule") &&
        step_done(t, tirc_lower(t, scheduled, NULL, &lowered), "lower"))
        step_done(t, tirc_emit(t, lowered, TIRC_CUDA, NULL, &cuda, &length), "emit");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char begin[] = "schedule fuzz for k()\n{\n", end[] = "\n}\n";
    if (size == 0)
        return 0;
    const char *program = PROGRAMS[data[0] % N_PROGRAMS];
    size_t room = strlen(program) + sizeof begin + size + sizeof end;
    char *text = malloc(room);
    if (!text)
        return 0;
    size_t length = (size_t)snprintf(text, room, "%s%s", program, begin);
    memcpy(text + length, data + 1, size - 1);
    length += size - 1;
    memcpy(text + length, end, sizeof end - 1);
    tirc_options options = {.memory_limit = (size_t)256 << 20, .cache_dir = ""};
    tirc *t = tirc_new(&options);
    if (t)
        run(t, text, length + sizeof end - 1);
    tirc_free(t);
    free(text);
    return 0;
}
