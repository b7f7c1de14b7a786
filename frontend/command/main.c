/* main.c - Implements the command: reads the command line, calls the library, prints the results.
 *
 * Results go to standard output, diagnostics to standard error, and the exit status is the
 * tirc_status of the first thing that did not go well. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "output.h"

/* ---- what to do ------------------------------------------------------------------------------ */

static bool has_action(const Options *o)
{
    return o->emit || options_measure(o) || o->print_after || o->dump_dir || o->trace ||
           o->time_passes;
}

static tirc_status check_usage(const Options *o)
{
    if (!o->word)
        return usage_error("no FILE.tir is given; `tirc --help` shows the usage");
    if (o->list)
        return TIRC_OK;
    if (!has_action(o))
        return usage_error("no action is given for '%.200s'; use --emit cuda to print the kernel, "
                           "--run, --verify or --bench to run it, --analyze to explain its speed, "
                           "or --list to list kernels and schedules",
                           o->word);
    if (o->output && !o->emit && !o->json && !o->analyze)
        return usage_error(
            "-o needs --emit, --json or --analyze: it names the file for their output");
    if (o->seconds)
        return usage_error("--seconds needs tirc tune: it limits the time of its search");
    if ((o->profile || o->budget) && !o->analyze)
        return usage_error("--profile and --budget need --analyze: they control its analysis");
    if (o->versus && !o->analyze && !o->bench)
        return usage_error(
            "--versus needs --bench or --analyze: it names what they compare the kernel with");
    if ((o->sizes.n || o->seed) && !options_measure(o))
        return usage_error("--size and --seed need --run, --verify, --bench or --analyze: they "
                           "choose the inputs of a run; use -D to fix a size in the emitted text");
    if (o->outputs.n && !o->run)
        return usage_error("--output NAME=FILE needs --run: it is for the data of one run");
    if (o->arguments.n && !o->run && !o->verify && !o->bench)
        return usage_error("--arg needs --run, --verify or --bench: it is for the data of a run");
    if (o->against && !o->verify && o->emit != EMIT_CU)
        return usage_error(
            "--against needs --verify or --emit cu: it names the program to compare results with");
    if (o->annotate && (o->emit < EMIT_CUDA || o->emit > EMIT_CUBIN))
        return usage_error("--annotate needs --emit cuda or --emit cu: it shows the origin of each "
                           "line of their text; --emit json always contains the origins");
    if (o->annotate == ANNOTATE_COMMENTS && o->emit > EMIT_CU)
        return usage_error("--annotate=comments does not apply to machine code, which has no "
                           "comments; use --annotate=lines to add line information");
    if (o->json && !options_measure(o))
        return usage_error("--json needs --run, --verify, --bench or --analyze: it prints their "
                           "results; use --emit json to print the kernel as JSON");
    if (o->json && o->emit && !o->output)
        return usage_error("--emit and --json would both write to standard output; send the output "
                           "of --emit to a file with -o");
    return TIRC_OK;
}

static tirc_status compile_and_run(Command *c)
{
    const Options *o = c->options;
    tirc_status status = command_compile(c);
    if (!status && o->emit)
        status = command_emit(c);
    if (!status && options_measure(o))
        status = command_measure(c);
    return status;
}

static tirc_status perform(tirc *t, const Options *o)
{
    Command command = {.t = t, .options = o};
    if (o->help)
        return command_help(t, o->word);
    if (o->explain)
        return command_explain(t, o->explain);
    if (o->devices)
        return command_devices(t);
    if (o->tune) {
        tirc_status tuned = command_tune(&command);
        data_free(&command);
        return tuned;
    }
    tirc_status status = check_usage(o);
    if (status)
        return status;
    status = o->list ? command_list(&command) : compile_and_run(&command);
    data_free(&command);
    return status;
}

static tirc_status start(const Options *o)
{
    if (o->version) {
        printf("tirc %s\n", tirc_version());
        return TIRC_OK;
    }
    tirc *t = tirc_new(NULL);
    if (!t) {
        fputs("tirc: out of memory\n", stderr);
        return TIRC_UNAVAILABLE;
    }
    tirc_status status = o->tune_log ? tirc_set_tune_log(t, o->tune_log) : TIRC_OK;
    if (!status && o->arch)
        status = tirc_set_arch(t, o->arch);
    if (!status)
        status = perform(t, o);
    bool warned = output_has(t, TIRC_WARNING), refused = output_has(t, TIRC_ERROR);
    if (!o->no_warn || refused || status)
        output_diagnostics(t, o->color, status);
    if (o->werror && warned && status == TIRC_OK)
        status = TIRC_REFUSED;
    tirc_free(t);
    return status;
}

static tirc_status compile(int argc, char **argv, bool tune)
{
    Options options;
    bool good = options_parse(argc, argv, &options);
    options.tune = tune;
    tirc_status status = good ? start(&options) : TIRC_USAGE;
    options_free(&options);
    return status;
}

/* TVMScript is Python, and read by Python: python/tirc/tvmscript. */
static tirc_status name_importer(int argc, char **argv)
{
    return usage_error("import-tvmscript is part of the Python package: run `python3 -m tirc "
                       "import-tvmscript %.200s` (docs/import_tvm.md)",
                       argc > 2 ? argv[2] : "FILE.py");
}

static tirc_status run_command(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    if (!strcmp(command, "fmt"))
        return command_format(argc - 1, argv + 1);
    if (!strcmp(command, "lsp"))
        return command_serve(argv + 1);
    if (!strcmp(command, "import-tvmscript"))
        return name_importer(argc, argv);
    bool tune = !strcmp(command, "tune");
    return compile(argc - tune, argv + tune, tune);
}

int main(int argc, char **argv)
{
    tirc_status status = run_command(argc, argv);
    tirc_status written = output_finish();
    return (int)(status ? status : written);
}
