/* options.c - Defines one table of options, from which both parsing and --help work. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* OUTPUT is a LIST of NAME=FILE, or the TEXT `output`. */
typedef enum { FLAG, TEXT, LIST, CHOICE, OPTIONAL, NUMBER, OUTPUT } OptionKind;

typedef struct {
    const char *name; /* NULL: `help` is a heading */
    char letter;      /* or 0 */
    OptionKind kind;
    size_t offset;
    /* for --help; of CHOICE the words, separated by |; OPTIONAL takes the first where none is
     * given */
    const char *argument;
    const char *help;
} Option;

#define AT(member) offsetof(Options, member)

static const Option table[] = {
    {.help = "kernel and schedule"},
    {"kernel", 0, TEXT, AT(kernel), "NAME", "selects a kernel if the file has several"},
    {"schedule", 0, TEXT, AT(schedule), "NAME",
     "from the file, NAME.sched beside it, or shipped; or path.sched, or path.sched:NAME; "
     "tuned: from the log (default: default)"},
    {"define", 'D', LIST, AT(defines), "M=512",
     "sets a size; M=? makes it an argument; T=f16 sets a type"},
    {"set", 0, LIST, AT(settings), "T=16", "sets a parameter or tunable of the schedule"},
    {"index64", 0, FLAG, AT(index64), NULL,
     "uses 64-bit indices, so only the grid limits symbolic sizes"},
    {.help = "output"},
    {"emit", 0, CHOICE, AT(emit), "tir|lowered|cuda|cu|ptx|cubin|json",
     "prints the scheduled program, its lowered form, or code generated from it"},
    {"annotate", 0, OPTIONAL, AT(annotate), "comments|lines",
     "shows the origin of each line of cuda and cu, in comments or as #line"},
    {"output", 'o', OUTPUT, AT(outputs), "FILE",
     "writes to FILE; with --analyze: an HTML report; C=c.npy: output C of --run"},
    {.help = "running"},
    {"run", 0, FLAG, AT(run), NULL,
     "runs once on random inputs that satisfy the program's where clause"},
    {"input", 0, LIST, AT(inputs), "A=a.npy",
     "takes an array from a file instead; its shape sets the sizes"},
    {"arg", 0, LIST, AT(arguments), "alpha=0.5", "sets a scalar parameter"},
    {"range", 0, LIST, AT(ranges), "label=0..C",
     "draws the random elements of an input from LO..HI, HI excluded"},
    {"verify", 0, FLAG, AT(verify), NULL,
     "compares the result with the unscheduled program in higher precision"},
    {"against", 0, TEXT, AT(against), "FILE",
     "with --verify: the program that lowered text must agree with"},
    {"bench", 0, FLAG, AT(bench), NULL, "measures the time of many runs with a cold L2 cache"},
    {"analyze", 0, FLAG, AT(analyze), NULL,
     "reports the cost of each memory access, and the bottleneck on a GPU"},
    {"profile", 0, TEXT, AT(profile), "H200",
     "the GPU to analyze for, shipped or a file (default: this GPU, else H200)"},
    {"budget", 0, NUMBER, AT(budget), "N",
     "requests to count before sampling blocks (default: 4000000)"},
    {"versus", 0, TEXT, AT(versus), "LIST",
     "compares with: cublas, memcpy, schedules (--bench); a schedule (--analyze)"},
    {"device", 0, CHOICE, AT(device), "auto|cuda|sim",
     "where to run; auto (default): the GPU if there is one, else the simulator"},
    {"arch", 0, TEXT, AT(arch), "sm_90a",
     "the architecture to compile for (default: that of this GPU)"},
    {"size", 0, LIST, AT(sizes), "M=1000", "sets a symbolic size for this run"},
    {"seed", 0, NUMBER, AT(seed), "N", "selects another set of random inputs (default: 0)"},
    {"json", 0, FLAG, AT(json), NULL, "prints results as one JSON object"},
    {.help = "tuning"},
    {"tune-log", 0, TEXT, AT(tune_log), "FILE",
     "the log of tuned programs; \"\" is none (default: tuned.sqlite in the cache's folder)"},
    {"seconds", 0, NUMBER, AT(seconds), "N", "with tirc tune: the time to spend (default: 10)"},
    {.help = "inspecting compilation"},
    {"list", 0, FLAG, AT(list), NULL,
     "lists the kernels of the file, their sizes, schedules and parameters"},
    {"print-after", 0, TEXT, AT(print_after), "STEP|all",
     "prints the program after a step (its number or primitive) or a pass"},
    {"dump-dir", 0, TEXT, AT(dump_dir), "DIR",
     "writes the program after every step and pass into files"},
    {"trace", 0, FLAG, AT(trace), NULL, "prints the executed steps as a schedule"},
    {"time-passes", 0, FLAG, AT(time_passes), NULL,
     "prints the time of each part of the compilation on standard error"},
    {.help = "help"},
    {"help", 'h', FLAG, AT(help), NULL,
     "`--help split` describes a primitive, `--help primitives` lists them all"},
    {"explain", 0, TEXT, AT(explain), "E0123", "explains an error, with an example program"},
    {"devices", 0, FLAG, AT(devices), NULL, "lists the GPUs and the simulator"},
    {"no-warn", 0, FLAG, AT(no_warn), NULL, "hides warnings, unless there are errors too"},
    {"werror", 0, FLAG, AT(werror), NULL, "fails if there are warnings"},
    {"color", 0, CHOICE, AT(color), "auto|always|never",
     "colors diagnostics; auto (default): on a terminal, unless NO_COLOR is set"},
    {"version", 0, FLAG, AT(version), NULL, "prints the version"},
};
enum { OPTIONS = sizeof table / sizeof table[0], FIRST_LONG = 256 };

tirc_status usage_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("tirc: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\n", stderr);
    va_end(args);
    return TIRC_USAGE;
}

/* ---- help ------------------------------------------------------------------------------------ */

void options_help(FILE *out)
{
    fputs(
        "tirc FILE.tir [options]        \"-\" reads the program from standard input\n"
        "tirc tune FILE.tir [options]   searches the choices of a schedule for the fastest kernel\n"
        "tirc fmt [--check] [FILE...]   formats programs and schedules in place\n"
        "tirc lsp                       the language server, which editors start\n"
        "tirc import-tvmscript FILE.py  reads TVMScript; in the Python package "
        "(docs/import_tvm.md)\n",
        out);
    for (int i = 0; i < OPTIONS; i++) {
        const Option *o = &table[i];
        if (!o->name) {
            fprintf(out, "\n%s\n", o->help);
            continue;
        }
        char left[80];
        bool optional = o->kind == OPTIONAL;
        snprintf(left, sizeof left, "%c%c%s--%s%s%s%s", o->letter ? '-' : ' ',
                 o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name,
                 optional      ? "[="
                 : o->argument ? " "
                               : "",
                 o->argument ? o->argument : "", optional ? "]" : "");
        bool wide = strlen(left) > 26;
        fprintf(out, wide ? "  %s\n  %-26s  %s\n" : "  %-26s%s  %s\n", left, "", o->help);
    }
    fputs("\nexit status: 0 success; 1 input refused; 2 wrong usage; 3 a device, library or file "
          "is missing or failed;\n4 wrong result, or a fault found by the simulator; 70 a bug in "
          "tirc, with a file that reproduces it\nenvironment: TIRC_CACHE_DIR, TIRC_TUNE_LOG, "
          "TIRC_NVRTC, TIRC_CUDART, TIRC_CUBLAS, TIRC_CUBLASLT, NO_COLOR, TMPDIR (docs/cli.md)\n",
          out);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The number of `word` among "a|b|c", from 1; 0 if it is none. */
static int find_choice(const char *choices, const char *word)
{
    size_t length = strlen(word);
    for (int n = 1;; n++) {
        size_t next = strcspn(choices, "|");
        if (next == length && !strncmp(choices, word, length))
            return n;
        if (!choices[next])
            return 0;
        choices += next + 1;
    }
}

static bool set_number(const Option *o, const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 0);
    *out = value;
    if (!errno && end != text && !*end && value >= 0)
        return true;
    usage_error("--%s takes a number from 0 to 2^63 - 1, found '%.60s'", o->name, text);
    return false;
}

/* NAME=..., not a path. */
static bool names_parameter(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n > 0 && text[n] == '=';
}

static bool set(Options *options, const Option *o, const char *text)
{
    char *at = (char *)options + o->offset;
    switch (o->kind) {
    case FLAG: *(bool *)at = true; return true;
    case TEXT: *(const char **)at = text; return true;
    case LIST: {
        Words *words = (Words *)at;
        words->items[words->n++] = text;
        return true;
    }
    case OUTPUT: {
        Words *words = &options->outputs;
        if (names_parameter(text))
            words->items[words->n++] = text;
        else
            options->output = text;
        return true;
    }
    case OPTIONAL:
    case CHOICE: {
        int choice = text ? find_choice(o->argument, text) : 1;
        *(int *)at = choice;
        if (choice == 0)
            usage_error("--%s takes one of %s, found '%.60s'", o->name, o->argument, text);
        return choice != 0;
    }
    case NUMBER: return set_number(o, text, (int64_t *)at);
    }
    return false;
}

/* ---- parsing --------------------------------------------------------------------------------- */

/* Builds the tables of getopt_long. The value of an option is FIRST_LONG plus its row. */
static void make_getopt(struct option *longs, char *shorts)
{
    *shorts++ = ':'; /* distinguishes a missing argument from an unknown option */
    for (int i = 0; i < OPTIONS; i++) {
        const Option *o = &table[i];
        if (!o->name)
            continue;
        int argument = o->kind == FLAG       ? no_argument
                       : o->kind == OPTIONAL ? optional_argument
                                             : required_argument;
        *longs++ = (struct option){o->name, argument, NULL, FIRST_LONG + i};
        if (!o->letter)
            continue;
        *shorts++ = o->letter;
        if (argument == required_argument)
            *shorts++ = ':';
    }
    *longs = (struct option){0};
    *shorts = '\0';
}

static const Option *find_option(int value)
{
    if (value >= FIRST_LONG)
        return &table[value - FIRST_LONG];
    for (int i = 0; i < OPTIONS; i++)
        if (table[i].letter == value)
            return &table[i];
    return NULL;
}

/* Reports an unknown option with a suggestion, or an ambiguous one. */
static void refuse_unknown(const char *word)
{
    const char *names[OPTIONS], *found[OPTIONS];
    char name[64];
    size_t n = 0, several = 0;
    const char *begin = word + strspn(word, "-");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(begin, "="), begin);
    for (int i = 0; i < OPTIONS; i++) {
        if (!table[i].name)
            continue;
        names[n++] = table[i].name;
        if (*name && !strncmp(table[i].name, name, strlen(name)))
            found[several++] = table[i].name;
    }
    const char *near = tirc_nearest(name, names, n);
    if (several > 1)
        usage_error("'%.60s' is ambiguous: it abbreviates --%s and --%s; write the option in full",
                    word, found[0], found[1]);
    else if (near)
        usage_error("unknown option '%.60s'; did you mean --%s?", word, near);
    else
        usage_error("unknown option '%.60s'; `tirc --help` lists the options", word);
}

static bool refuse_option(char **argv, int value)
{
    const char *word = argv[optind - 1];
    if (value == ':')
        usage_error("%s needs an argument", word);
    else if (optopt >= FIRST_LONG)
        usage_error("--%s takes no argument, found '%.60s'", table[optopt - FIRST_LONG].name, word);
    else
        refuse_unknown(word);
    return false;
}

static bool make_room(Options *options, int argc)
{
    Words *const lists[] = {&options->defines, &options->settings, &options->sizes,
                            &options->inputs,  &options->outputs,  &options->arguments,
                            &options->ranges};
    bool ok = true;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        lists[i]->items = calloc((size_t)argc, sizeof *lists[i]->items);
        ok = ok && lists[i]->items;
    }
    return ok;
}

bool options_parse(int argc, char **argv, Options *out)
{
    struct option longs[OPTIONS + 1];
    char shorts[2 * OPTIONS + 2];
    int value;
    *out = (Options){0};
    if (!make_room(out, argc))
        return false;
    make_getopt(longs, shorts);
    opterr = 0;
    while ((value = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        const Option *option = value == '?' || value == ':' ? NULL : find_option(value);
        if (!option)
            return refuse_option(argv, value);
        if (!set(out, option, optarg))
            return false;
    }
    out->word = argv[optind];
    if (optind + 1 < argc) {
        usage_error(
            "expected one FILE, found '%.60s' after '%.60s'; use --schedule to choose a schedule",
            argv[optind + 1], argv[optind]);
        return false;
    }
    return true;
}

void options_free(Options *options)
{
    free(options->defines.items);
    free(options->settings.items);
    free(options->sizes.items);
    free(options->inputs.items);
    free(options->outputs.items);
    free(options->arguments.items);
    free(options->ranges.items);
}
