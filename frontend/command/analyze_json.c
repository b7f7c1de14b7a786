/* analyze_json.c - Prints an analysis as JSON. */
#include <math.h>

#include "analyze.h"

/* A rate or a share that is not known is null. */
static json_t *known(double value)
{
    return value > 0 && isfinite(value) ? json_real(value) : json_null();
}

static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

static void set_int(json_t *object, const char *key, int64_t value)
{
    set(object, key, json_integer((json_int_t)value));
}

static void set_text(json_t *object, const char *key, const char *text)
{
    set(object, key, text ? json_string(text) : json_null());
}

static json_t *three(const int64_t *values)
{
    return json_pack("[I, I, I]", (json_int_t)values[0], (json_int_t)values[1],
                     (json_int_t)values[2]);
}

/* file, line, column; the step's number, its call, and where the schedule makes it. */
static void set_origin(json_t *object, const tirc_origin *o)
{
    set_text(object, "file", o->path);
    set_int(object, "line", o->line);
    set_int(object, "column", o->column);
    set_int(object, "step", (int64_t)o->step);
    set_text(object, "call", o->step_text);
    set_text(object, "schedule_file", o->step_path);
    set_int(object, "schedule_line", o->step_line);
}

/* ---- accesses -------------------------------------------------------------------------------- */

static json_t *worst_json(const tirc_access *a)
{
    json_t *lanes = json_array();
    for (int i = 0; i < 32; i++)
        json_array_append_new(lanes, a->active >> i & 1 ? json_integer((json_int_t)a->addresses[i])
                                                        : json_null());
    json_t *worst = json_object();
    set_int(worst, "block", a->worst_block);
    set_int(worst, "warp", a->worst_warp);
    set_int(worst, "sectors", a->worst_sectors);
    set_int(worst, "wavefronts", a->worst_wavefronts);
    set(worst, "addresses", lanes);
    return worst;
}

static json_t *access_json(const tirc_access *a)
{
    json_t *row = json_object();
    set_text(row, "kernel", a->kernel);
    set_text(row, "buffer", a->buffer);
    set_text(row, "scope", a->scope);
    set_text(row, "op", a->op);
    set_text(row, "type", a->type);
    set_int(row, "bytes", a->bytes);
    set_origin(row, &a->origin);
    set_int(row, "requests", a->requests);
    set_int(row, "lanes", a->lanes);
    set(row, "sectors_per_request", json_real(a->sectors_per_request));
    set(row, "wavefronts_per_request", json_real(a->wavefronts_per_request));
    set(row, "ideal", json_real(a->ideal));
    set(row, "passes_per_request", json_real(a->passes_per_request));
    set_text(row, "verdict", a->verdict);
    set(row, "worst", worst_json(a));
    return row;
}

json_t *accesses_json(const tirc_analysis *analysis)
{
    json_t *rows = json_array();
    tirc_access a;
    for (size_t i = 0; tirc_access_at(analysis, i, &a); i++)
        json_array_append_new(rows, access_json(&a));
    return rows;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static json_t *kernel_use_json(const tirc_kernel_use *k)
{
    json_t *row = json_object();
    set_text(row, "name", k->name);
    set_int(row, "launches", k->launches);
    set(row, "grid", three(k->grid));
    set(row, "block", three(k->block));
    set_int(row, "shared_bytes", k->shared_bytes);
    set(row, "registers", k->registers ? json_integer(k->registers) : json_null());
    set(row, "stack_bytes", k->registers ? json_integer(k->stack_bytes) : json_null());
    set_int(row, "resident_blocks", k->resident_blocks);
    set_int(row, "resident_threads", k->resident_threads);
    set(row, "occupancy", known(k->occupancy));
    set_text(row, "limited_by", k->limited_by);
    set(row, "waves", known(k->waves));
    return row;
}

static json_t *kernel_uses_json(const tirc_analysis *analysis)
{
    json_t *rows = json_array();
    tirc_kernel_use k;
    for (size_t i = 0; tirc_kernel_use_at(analysis, i, &k); i++)
        json_array_append_new(rows, kernel_use_json(&k));
    return rows;
}

static json_t *barriers_json(const tirc_analysis *analysis)
{
    json_t *rows = json_array();
    tirc_barrier b;
    for (size_t i = 0; tirc_barrier_at(analysis, i, &b); i++) {
        json_t *row = json_object();
        set_text(row, "kernel", b.kernel);
        set_origin(row, &b.origin);
        set_text(row, "reason", b.reason);
        set_int(row, "executed", b.executed);
        set(row, "per_block", json_real(b.per_block));
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *limits_json(const tirc_analysis *analysis)
{
    json_t *rows = json_array();
    tirc_limit l;
    for (size_t i = 0; tirc_limit_at(analysis, i, &l); i++) {
        json_t *row = json_object();
        set_text(row, "name", l.name);
        set_text(row, "unit", l.unit);
        set(row, "amount", json_real(l.amount));
        set(row, "rate", known(l.rate));
        set(row, "ms", l.rate > 0 ? json_real(l.ms) : json_null());
        set(row, "binds", json_boolean(l.binds));
        json_array_append_new(rows, row);
    }
    return rows;
}

json_t *analysis_json(const tirc_analysis *analysis)
{
    tirc_analysis_summary s = tirc_analysis_describe(analysis);
    json_t *top = json_object();
    set_text(top, "profile", s.profile);
    set_int(top, "blocks", s.blocks);
    set_int(top, "counted_blocks", s.counted_blocks);
    set(top, "exact", json_boolean(s.blocks == s.counted_blocks));
    set(top, "flops",
        s.program_flops < 0 ? json_null() : json_integer((json_int_t)s.program_flops));
    set_int(top, "f32_flops", s.f32_flops);
    set_int(top, "f64_flops", s.f64_flops);
    set_int(top, "bytes_named", s.bytes_named);
    set_int(top, "bytes_sectors", s.bytes_sectors);
    set_int(top, "bytes_beyond_l1", s.bytes_beyond_l1);
    set_int(top, "bytes_least", s.bytes_least);
    set_int(top, "loads", s.loads);
    set_int(top, "stores", s.stores);
    set_int(top, "atomics", s.atomics);
    set_int(top, "output_elements", s.output_elements);
    set(top, "bytes_per_flop", known(s.bytes_per_flop));
    set(top, "uncached_gflops", known(s.uncached_gflops));
    set(top, "peak_gflops", known(s.peak_gflops));
    set(top, "dram_gbps", known(s.dram_gbps));
    set(top, "kernels", kernel_uses_json(analysis));
    set(top, "barriers", barriers_json(analysis));
    set(top, "limits", limits_json(analysis));
    return top;
}
