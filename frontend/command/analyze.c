/* analyze.c - Implements --analyze, with --versus for a second schedule of the same program. */
#include <stdlib.h>
#include <string.h>

#include "analyze.h"
#include "choice.h"
#include "output.h"

/* ---- analyzing ------------------------------------------------------------------------------- */

static tirc_status analyze_kernel(const Command *c, const tirc_kernel *lowered,
                                  const int64_t *sizes, const tirc_device *device,
                                  tirc_analysis **out)
{
    const Options *o = c->options;
    tirc_analyze_options options = {o->profile, device, o->arch, (uint64_t)o->seed, o->budget};
    Progress *progress = progress_begin("analyzing");
    tirc_status status = tirc_analyze(c->t, lowered, sizes, &options, out);
    progress_end(progress);
    return status;
}

static tirc_status lower_other(const Command *c, const Choice *choice, tirc_kernel **lowered)
{
    tirc_kernel *scheduled;
    tirc_lower_options options = {.index64 = c->options->index64};
    tirc_status status = tirc_apply(c->t, c->file, c->program, choice->name, choice->settings,
                                    choice->n, &scheduled);
    return status ? status : tirc_lower(c->t, scheduled, &options, lowered);
}

static tirc_status analyze_other(const Command *c, const int64_t *sizes, const tirc_device *device,
                                 AnalysisReport *out)
{
    Choice choice;
    tirc_status status = choice_parse(c->options->versus, &choice);
    if (!status)
        status = lower_other(c, &choice, &out->other_lowered);
    if (!status)
        status = analyze_kernel(c, out->other_lowered, sizes, device, &out->other);
    if (!status && !analysis_compare(out->analysis, out->other, &out->changes)) {
        fputs("tirc: out of memory\n", stderr);
        status = TIRC_UNAVAILABLE;
    }
    choice_free(&choice);
    return status;
}

tirc_status command_analyze(const Command *c, const int64_t *sizes, const tirc_device *device,
                            AnalysisReport *out)
{
    tirc_status status = analyze_kernel(c, c->lowered, sizes, device, &out->analysis);
    if (status || !c->options->versus)
        return status;
    out->other_name = c->options->versus;
    return analyze_other(c, sizes, device, out);
}

void analysis_report_free(AnalysisReport *report)
{
    changes_free(&report->changes);
}
