/* report_json.c - Prints results as one JSON object with stable keys. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "report.h"

/* JSON has no NaN and no infinity. */
static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *integers(const int64_t *values, int n)
{
    json_t *array = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(array, json_integer(values[i]));
    return array;
}

static json_t *sizes_json(const Report *r)
{
    json_t *sizes = json_object();
    tirc_size s;
    size_t symbolic = 0;
    for (size_t i = 0; tirc_size_at(r->lowered, i, &s); i++)
        json_object_set_new(sizes, s.name,
                            json_integer(s.symbolic ? r->sizes[symbolic++] : s.value));
    return sizes;
}

static json_t *launches_json(const Command *c, const Report *r)
{
    json_t *launches = json_array();
    tirc_launch_info l;
    for (size_t i = 0; tirc_launch_at(c->t, r->program, r->sizes, i, &l); i++)
        json_array_append_new(
            launches, json_pack("{s:s, s:o, s:o, s:I, s:i, s:o}", "name", l.name, "grid",
                                integers(l.grid, 3), "block", integers(l.block, 3), "shared_bytes",
                                (json_int_t)l.shared_bytes, "barriers", l.barriers, "idle_threads",
                                l.idle_threads < 0 ? json_null() : json_integer(l.idle_threads)));
    return launches;
}

/* The keys of the first launch stand at the top, too. */
static void add_first_launch(json_t *top, const json_t *launches)
{
    static const char *const keys[] = {"grid", "block", "shared_bytes", "barriers"};
    const json_t *first = json_array_get(launches, 0);
    for (int i = 0; first && i < 4; i++)
        json_object_set(top, keys[i], json_object_get(first, keys[i]));
}

static json_t *run_json(const Report *r)
{
    json_t *outputs = json_array();
    for (size_t i = 0; i < r->n_outputs; i++) {
        const OutputReport *o = &r->outputs[i];
        const tirc_summary *s = &o->summary;
        char checksum[24];
        snprintf(checksum, sizeof checksum, "%016" PRIx64, o->checksum);
        json_t *first = json_array();
        for (int k = 0; k < o->n_first; k++)
            json_array_append_new(first, real(o->first[k]));
        json_array_append_new(outputs,
                              json_pack("{s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:I}", "name",
                                        o->name, "type", o->type, "shape",
                                        integers(o->dims, o->rank), "checksum", checksum, "first",
                                        first, "least", real(s->least), "largest", real(s->largest),
                                        "mean", real(s->mean), "nans", (json_int_t)s->nans));
    }
    return json_pack("{s:o, s:o}", "ms", real(r->run_ms), "outputs", outputs);
}

static json_t *rounding_json(const tirc_verification *v)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:o}", "checked", (json_int_t)v->rounding,
                     "wide", (json_int_t)v->wide, "overflown", (json_int_t)v->overflown,
                     "unbounded", (json_int_t)v->unbounded, "nearest", real(v->nearest), "sums",
                     (json_int_t)v->summed, "unlikely", (json_int_t)v->unlikely, "additions",
                     real(v->additions));
}

static json_t *structure_json(const tirc_verification *v)
{
    return v->structure
               ? json_pack("{s:I, s:s}", "exact", (json_int_t)v->exact, "words", v->structure)
               : json_null();
}

static json_t *verify_json(const tirc_verification *v)
{
    return json_pack("{s:b, s:I, s:I, s:I, s:o, s:o, s:s, s:o, s:o, s:s?, s:s?}", "ok", (int)v->ok,
                     "checked", (json_int_t)v->checked, "total", (json_int_t)v->total, "wrong",
                     (json_int_t)v->wrong, "max_error", real(v->max_error), "bound", real(v->bound),
                     "method", v->method, "structure", structure_json(v), "rounding",
                     rounding_json(v), "written", v->written, "written_why", v->written_why);
}

static json_t *memory_json(const Command *c, const Report *r)
{
    enum { FIRST = 16 };
    const tirc_memory *m = &r->memory;
    json_t *first = json_array();
    tirc_open_access a;
    for (size_t i = 0; i < FIRST && tirc_open_access_at(c->t, r->lowered, i, &a); i++)
        json_array_append_new(first, json_pack("{s:s, s:s, s:s, s:s?, s:i}", "element", a.element,
                                               "answer", a.answer, "why", a.why, "path",
                                               a.origin.path, "line", a.origin.line));
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o}", "accesses", (json_int_t)m->accesses,
                     "proved", (json_int_t)m->proved, "data", (json_int_t)m->data, "unproved",
                     (json_int_t)m->unproved, "leaving", (json_int_t)m->leaving, "first", first);
}

/* ratio: how many times as fast as the other. */
static json_t *versus_json(const Report *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->n_versus; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:o, s:o, s:b}", "name", r->versus[i], "median_ms",
                                        real(r->beside[i].median_ms), "ratio",
                                        real(r->beside[i].median_ms / r->measurement.median_ms),
                                        "agrees", r->beside[i].agrees));
    return list;
}

static json_t *bench_json(const Report *r)
{
    const tirc_measurement *m = &r->measurement;
    json_t *gflops = m->gflops > 0 ? real(m->gflops) : json_null();
    return json_pack("{s:o, s:o, s:o, s:i, s:b, s:o, s:o, s:o}", "median_ms", real(m->median_ms),
                     "min_ms", real(m->min_ms), "p95_ms", real(m->p95_ms), "runs", m->runs,
                     "cold_l2", (int)m->cold_l2, "gflops", gflops, "gbps", real(m->gbps), "versus",
                     versus_json(r));
}

/* Which thread made an access, and which step of the schedule the access. */
static json_t *access_json(const tirc_origin *o, const int64_t *block, const int64_t *thread)
{
    return json_pack("{s:[III], s:[III], s:I, s:s?}", "block", (json_int_t)block[0],
                     (json_int_t)block[1], (json_int_t)block[2], "thread", (json_int_t)thread[0],
                     (json_int_t)thread[1], (json_int_t)thread[2], "step", (json_int_t)o->step,
                     "call", o->step_text);
}

static json_t *faults_json(const Command *c, const Report *r)
{
    json_t *faults = json_array();
    tirc_fault f;
    for (size_t i = 0; r->faults && tirc_fault_at(c->t, r->faults, i, &f); i++) {
        json_t *fault =
            json_pack("{s:s, s:s, s:s?}", "kind", f.kind, "message", f.message, "where", f.where);
        json_object_update_new(fault, access_json(&f.origin, f.block, f.thread));
        if (f.has_other) {
            json_t *other = json_pack("{s:s?}", "where", f.other_where);
            json_object_update_new(other, access_json(&f.other, f.other_block, f.other_thread));
            json_object_set_new(fault, "other", other);
        }
        json_array_append_new(faults, fault);
    }
    return faults;
}

static void add_analysis(json_t *top, const AnalysisReport *a)
{
    json_t *analyze = analysis_json(a->analysis);
    json_object_set_new(top, "accesses", accesses_json(a->analysis));
    json_object_set_new(top, "analyze", analyze);
    if (a->other)
        json_object_set_new(analyze, "versus",
                            json_pack("{s:s, s:o, s:o, s:o}", "schedule", a->other_name, "changes",
                                      changes_json(&a->changes), "accesses",
                                      accesses_json(a->other), "analyze", analysis_json(a->other)));
}

json_t *report_object(const Command *c, const Report *r)
{
    json_t *launches = launches_json(c, r);
    json_t *top = json_pack("{s:s, s:s?, s:s, s:s, s:s, s:o}", "kernel", r->kernel, "schedule",
                            r->schedule, "device", r->device.kind, "device_name", r->device.name,
                            "arch", r->device.arch, "sizes", sizes_json(r));
    add_first_launch(top, launches);
    json_object_set_new(top, "launches", launches);
    if (r->ran)
        json_object_set_new(top, "run", run_json(r));
    if (r->verified)
        json_object_set_new(top, "verify", verify_json(&r->verification));
    if (r->bounded)
        json_object_set_new(top, "memory", memory_json(c, r));
    if (r->measured)
        json_object_set_new(top, "bench", bench_json(r));
    if (r->analyzed.analysis)
        add_analysis(top, &r->analyzed);
    json_object_set_new(top, "faults", faults_json(c, r));
    return top;
}

tirc_status report_json(const Command *c, const Report *r)
{
    json_t *object = report_object(c, r);
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    json_decref(object);
    if (!text) {
        fputs("tirc: out of memory for the JSON output\n", stderr);
        return TIRC_UNAVAILABLE;
    }
    size_t length = strlen(text);
    text[length] = '\n'; /* in place of the terminator: the length says where it ends */
    tirc_status status =
        output_write(c->options->emit ? NULL : c->options->output, text, length + 1);
    free(text);
    return status;
}
