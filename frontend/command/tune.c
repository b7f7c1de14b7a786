/* tune.c - Implements `tirc tune`: searches the choices of a schedule for the fastest kernel.
 *
 * Several processes may share the log, as the ranks of `mpirun -n 2 tirc tune ...` do: each takes
 * the GPU of its local rank, which every launcher puts into the environment. So tirc needs no MPI
 * library, whose binary interface depends on its vendor. */
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "output.h"

/* ---- ranks ----------------------------------------------------------------------------------- */

/* The number of this process among those of its host; 0 without a launcher. */
static int local_rank(void)
{
    static const char *const names[] = {
        "OMPI_COMM_WORLD_LOCAL_RANK", /* Open MPI */
        "MPI_LOCALRANKID",            /* MPICH, Intel MPI */
        "MV2_COMM_WORLD_LOCAL_RANK",  /* MVAPICH */
        "PALS_LOCAL_RANKID",          /* Cray */
        "SLURM_LOCALID",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = getenv(names[i]);
        if (text && *text) {
            long rank = strtol(text, NULL, 10);
            return rank > 0 && rank <= INT_MAX ? (int)rank : 0;
        }
    }
    return 0;
}

/* The number of the GPU: a launcher may already show each rank its own ones only. */
static int ordinal_of(int rank)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int shown = 1;
    if (!visible || !*visible)
        return rank;
    for (; *visible; visible++)
        shown += *visible == ',';
    return rank % shown;
}

/* ---- usage ----------------------------------------------------------------------------------- */

static tirc_status check_usage(const Options *o)
{
    if (!o->word)
        return usage_error("no FILE.tir is given; `tirc tune FILE.tir` tunes its kernel");
    if (o->emit || options_measure(o) || o->list || o->trace || o->print_after || o->dump_dir ||
        o->time_passes || o->output || o->versus || o->against || o->annotate || o->budget ||
        o->index64 || o->inputs.n || o->outputs.n || o->arguments.n)
        return usage_error(
            "tirc tune takes --kernel, --schedule, -D, --set, --size, --range, --seed, --device, "
            "--arch, --profile, --seconds, --tune-log and --json; use the result with --schedule "
            "tuned and other options afterwards");
    return TIRC_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

static void print_best(const tirc_tuning *r)
{
    if (!r->choice) {
        printf(r->elsewhere ? "  no figure yet: other processes are at all candidates\n"
                            : "  no figure: no candidate ran\n");
        return;
    }
    if (r->candidates == 1)
        printf("  there is nothing to choose: no `tune`, or all choices give the same kernel\n");
    printf("  best: %s, %.4g ms%s\n", r->choice, r->ms, r->measured ? "" : " by the model");
    if (r->own_ms > 0)
        printf("  the schedule's own choice: %.4g ms, %.2fx\n", r->own_ms, r->own_ms / r->ms);
}

static void print_result(const Command *c, const tirc_tuning *r)
{
    printf("%s, schedule %s, tuned for %s (%s) in %.1f s\n", tirc_kernel_name(c->program),
           c->schedule, r->device, r->arch, r->seconds);
    if (!r->measured)
        printf("  there is no GPU: nothing was measured, the model of the device ranks the "
               "candidates\n");
    printf("  candidates: %zu, %zu refused; %zu %s, %zu known from the log", r->candidates,
           r->refused, r->done, r->measured ? "measured and verified" : "estimated", r->known);
    if (r->elsewhere)
        printf(", %zu left to other processes", r->elsewhere);
    if (r->wrong)
        printf(", %zu wrong", r->wrong);
    if (r->failed)
        printf(", %zu failed", r->failed);
    printf("\n");
    print_best(r);
    printf("  log: %s\n", tirc_tune_log(c->t));
}

static tirc_status print_json(const Command *c, const tirc_tuning *r)
{
    const char *choice = r->choice ? r->choice : "";
    json_t *j = json_pack(
        "{s:s, s:s, s:s*, s:s, s:s, s:b, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:s}",
        "kernel", tirc_kernel_name(c->program), "schedule", c->schedule, "choice",
        *choice ? choice : NULL, "device_name", r->device, "arch", r->arch, "measured",
        (int)r->measured, "ms", r->ms, "own_ms", r->own_ms, "candidates", (json_int_t)r->candidates,
        "refused", (json_int_t)r->refused, "done", (json_int_t)r->done, "known",
        (json_int_t)r->known, "elsewhere", (json_int_t)r->elsewhere, "wrong", (json_int_t)r->wrong,
        "failed", (json_int_t)r->failed, "seconds", r->seconds, "log", tirc_tune_log(c->t));
    char *text = j ? json_dumps(j, JSON_INDENT(2)) : NULL;
    json_decref(j);
    if (!text) {
        fputs("tirc: out of memory\n", stderr);
        return TIRC_UNAVAILABLE;
    }
    puts(text);
    free(text);
    return TIRC_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void show_progress(void *user, const tirc_tune_progress *now)
{
    char text[96], best[32] = "";
    if (now->best_ms > 0)
        snprintf(best, sizeof best, ", best %.4g ms", now->best_ms);
    snprintf(text, sizeof text, ": %s %zu of %zu candidates%s",
             now->measuring ? "measured" : "ranked", now->done, now->candidates, best);
    progress_say(user, text);
}

static tirc_status tune(const Command *c, const int64_t *sizes, int rank, tirc_tuning *result)
{
    const Options *o = c->options;
    Progress *progress = rank == 0 ? progress_begin("tuning") : NULL;
    tirc_tune_options options = {
        .schedule = c->schedule,
        .settings = o->settings.items,
        .n_settings = o->settings.n,
        .sizes = sizes,
        .device = command_device_kind(c),
        .ordinal = ordinal_of(rank),
        .arch = o->arch,
        .profile = o->profile,
        .seed = (uint64_t)o->seed,
        .seconds = (double)o->seconds,
        .progress = show_progress,
        .user = progress,
    };
    tirc_status status = tirc_tune(c->t, c->file, c->program, &options, result);
    progress_end(progress);
    return status;
}

tirc_status command_tune(Command *c)
{
    tirc_tuning result;
    int64_t *sizes = NULL;
    int rank = local_rank();
    tirc_status status = check_usage(c->options);
    c->schedule = c->options->schedule ? c->options->schedule : "default";
    status = status ? status : command_read(c);
    status = status ? status : command_sizes(c, c->program, &sizes);
    status = status ? status : tune(c, sizes, rank, &result);
    free(sizes);
    if (status || rank > 0)
        return status;
    if (c->options->json)
        return print_json(c, &result);
    print_result(c, &result);
    return TIRC_OK;
}
