/* compile.c - libFuzzer target of the whole way from text to CUDA.
 *
 * Any bytes are parsed. Every kernel that is accepted goes through `default` and through the
 * schedules that stand beside it, is lowered and becomes text. Each step succeeds or says why it
 * does not; none crashes, hangs, leaks or breaks a rule of tirc's own (which the build checks after
 * every step with -DTIRC_VERIFY=ON). With -DTIRC_FUZZ=ON and clang:
 *     fuzz_compile -dict=tests/fuzz/tir.dict -max_len=8192 -timeout=20 CORPUS examples */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "tests/fuzz/targets/step.h"

/* More would only make inputs slower, not different. */
enum { KERNELS = 4, SCHEDULES = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is written as JSON reads back. */
static void check_json(const char *text, size_t length)
{
    json_error_t error;
    json_t *object = json_loadb(text, length, 0, &error);
    if (!object) {
        fprintf(stderr, "no JSON: %s\n%.*s\n", error.text, (int)length, text);
        abort();
    }
    json_decref(object);
}

static void compile(tirc *t, const tirc_file *file, const tirc_kernel *program,
                    const char *schedule)
{
    tirc_kernel *scheduled, *lowered;
    const void *text;
    size_t length;
    if (!step_done(t, tirc_apply(t, file, program, schedule, NULL, 0, &scheduled), "schedule") ||
        !step_done(t, tirc_lower(t, scheduled, NULL, &lowered), "lower"))
        return;
    step_done(t, tirc_emit(t, lowered, TIRC_CUDA, NULL, &text, &length), "emit");
    step_done(t, tirc_emit(t, lowered, TIRC_CU, NULL, &text, &length), "emit a program");
    if (step_done(t, tirc_emit(t, lowered, TIRC_JSON, NULL, &text, &length), "emit JSON"))
        check_json(text, length);
}

static void compile_kernel(tirc *t, const tirc_file *file, const char *name)
{
    tirc_kernel *program;
    tirc_schedule_info info;
    if (!step_done(t, tirc_resolve(t, file, name, NULL, 0, &program), "resolve"))
        return;
    compile(t, file, program, NULL);
    for (size_t i = 0, n = 0; n < SCHEDULES && tirc_schedule_at(t, file, name, i, &info); i++) {
        if (strcmp(info.where, "fuzz"))
            continue; /* one of the library */
        compile(t, file, program, info.name);
        n++;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tirc_options options = {.memory_limit = (size_t)128 << 20, .cache_dir = ""};
    tirc *t = tirc_new(&options);
    tirc_file *file;
    const char *name;
    if (t && step_done(t, tirc_parse_text(t, "fuzz", (const char *)data, size, &file), "parse"))
        for (size_t i = 0; i < KERNELS && (name = tirc_file_kernel(file, i)); i++)
            compile_kernel(t, file, name);
    tirc_free(t);
    return 0;
}
