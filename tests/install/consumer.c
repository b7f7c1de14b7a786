/* consumer.c - a program outside of tirc: compiles a kernel and runs it on the simulator. The
 * example of docs/api.md. */
#include <stdio.h>
#include <string.h>

#include <tirc.h>

static const char program[] = "kernel add<N = 1000>(x: f32[N], y: f32[N]) -> z: f32[N]\n"
                              "{\n"
                              "    for i in N\n"
                              "        z[i] = x[i] + y[i];\n"
                              "}\n";

/* Text to a program that is ready to run. */
static tirc_status build(tirc *t, tirc_device *device, tirc_program **out)
{
    tirc_file *file;
    tirc_kernel *kernel, *scheduled, *lowered;
    tirc_status status = tirc_parse_text(t, "add.tir", program, strlen(program), &file);
    if (!status)
        status = tirc_resolve(t, file, NULL, NULL, 0, &kernel);
    if (!status)
        status = tirc_apply(t, file, kernel, NULL, NULL, 0, &scheduled);
    if (!status)
        status = tirc_lower(t, scheduled, NULL, &lowered);
    return status ? status : tirc_compile(t, device, lowered, out);
}

/* The number of elements that are not the sum. */
static int run(tirc *t, tirc_program *add)
{
    static float x[1000], y[1000], z[1000];
    void *const arguments[] = {x, y, z};
    int wrong = 0;
    for (int i = 0; i < 1000; i++) {
        x[i] = (float)i;
        y[i] = 0.5f;
    }
    if (tirc_run(t, add, NULL, arguments) != TIRC_OK)
        return -1;
    for (int i = 0; i < 1000; i++)
        wrong += z[i] != (float)i + 0.5f;
    return wrong;
}

int main(void)
{
    tirc *t = tirc_new(NULL);
    tirc_device *device;
    tirc_program *add;
    int wrong = -1;
    if (!t)
        return 1;
    if (tirc_device_open(t, TIRC_DEVICE_SIM, 0, NULL, &device) == TIRC_OK &&
        build(t, device, &add) == TIRC_OK)
        wrong = run(t, add);
    fputs(tirc_diagnostics(t, false), stderr);
    printf("tirc %s: %d elements are wrong\n", tirc_version(), wrong);
    tirc_free(t);
    return wrong != 0;
}
