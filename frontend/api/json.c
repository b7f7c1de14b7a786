/* json.c - Describes a lowered kernel as JSON, with everything that another program needs to launch
 * it.
 *
 * Numbers that depend on symbolic sizes are strings, in the syntax of .tir, which is C's. */
#include "codegen/cuda/names.h"
#include "codegen/size_limit.h"
#include "frontend/api/internal.h"
#include "ir/copies/roles.h"
#include "passes/analysis/threads/idle.h"
#include "passes/shared/relayout.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *number_or_text(Context *c, const Expr *e)
{
    int64_t value;
    if (expr_is_const(e, &value))
        return json_integer(value);
    return json_string(expr_text(c, e));
}

static json_t *numbers_or_texts(Context *c, Expr *const *exprs, int n)
{
    json_t *array = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(array, number_or_text(c, exprs[i]));
    return array;
}

static json_t *sizes_json(const Kernel *kernel)
{
    json_t *sizes = json_object();
    for (int i = 0; i < kernel->n_sizes; i++)
        json_object_set_new(sizes, kernel->sizes[i].name,
                            kernel->sizes[i].symbolic ? json_null()
                                                      : json_integer(kernel->sizes[i].value));
    return sizes;
}

static const char *role_text(const Buffer *b)
{
    switch (b->role) {
    case ROLE_IN: return "in";
    case ROLE_OUT: return "out";
    case ROLE_INOUT: return "inout";
    case ROLE_TEMP: break;
    }
    return "temp";
}

static json_t *buffer_json(Context *c, const Buffer *b)
{
    return json_pack("{s:s, s:s, s:s, s:o}", "name", b->name, "type", type_info(b->type)->name,
                     "role", role_text(b), "shape", numbers_or_texts(c, b->shape, b->rank));
}

/* Of a parameter; one whose layout a schedule has changed says from where to where. */
static json_t *parameter_json(Context *c, const Kernel *kernel, const Buffer *b)
{
    json_t *json = buffer_json(c, b);
    for (int i = 0; i < kernel->n_relayouts; i++) {
        const Relayout *of = &kernel->relayouts[i];
        if (of->from->id == b->id)
            json_object_set_new(json, "layout",
                                json_pack("{s:o, s:s}", "shape",
                                          numbers_or_texts(c, of->from->shape, of->from->rank),
                                          "map", relayout_text(c, of)));
    }
    return json;
}

static json_t *parameters_json(Context *c, const Kernel *kernel)
{
    json_t *parameters = json_array();
    for (int i = 0; i < kernel->n_params; i++) {
        const Param *p = &kernel->params[i];
        json_array_append_new(
            parameters, p->buffer ? parameter_json(c, kernel, p->buffer)
                                  : json_pack("{s:s, s:s, s:s}", "name", p->scalar->name, "type",
                                              type_info(p->scalar->type)->name, "role", "in"));
    }
    return parameters;
}

typedef VEC(const Buffer *) Temps;

static void add_temp(Context *c, Temps *temps, const Buffer *b)
{
    for (int i = 0; i < temps->n; i++)
        if (temps->items[i]->id == b->id)
            return;
    if (b->role == ROLE_TEMP)
        VEC_PUSH(c->arena, temps, b);
}

/* Buffers that launches, and copies to constant memory before them, access: the caller has to
 * provide them. */
static json_t *temps_json(Context *c, const LaunchUseList *uses)
{
    Temps temps = {0};
    json_t *out = json_array();
    for (int i = 0; i < uses->n; i++) {
        const LaunchUse *use = &uses->items[i];
        for (int j = 0; j < use->buffers.n; j++)
            add_temp(c, &temps, use->buffers.items[j]);
        for (int j = 0; j < use->constants.n; j++)
            add_temp(c, &temps, use->constants.items[j]->copy_of);
    }
    for (int i = 0; i < temps.n; i++)
        json_array_append_new(out, buffer_json(c, temps.items[i]));
    return out;
}

/* A tensor map of a buffer: what its elements are taken for, extents of the box, the last axis
 * last, and bytes of the swizzle. */
static json_t *map_json(const BulkBox *box)
{
    json_t *extents = json_array();
    for (int d = 0; d < box->tensor->rank; d++)
        json_array_append_new(extents, json_integer(box->extent[d]));
    return json_pack("{s:s, s:s, s:s, s:o, s:I}", "kind", "tensor_map", "name", box->tensor->name,
                     "element", type_info(box->type)->name, "box", extents, "swizzle",
                     (json_int_t)bulk_span(box->mode));
}

static json_t *arguments_json(Context *c, const LaunchUse *use)
{
    json_t *arguments = json_array();
    for (int i = 0; i < use->buffers.n; i++)
        json_array_append_new(arguments, json_pack("{s:s, s:s}", "kind", "buffer", "name",
                                                   use->buffers.items[i]->name));
    for (int i = 0; i < use->boxes.n; i++)
        json_array_append_new(arguments, map_json(&use->boxes.items[i]));
    for (int i = 0; i < use->values.n; i++) {
        const Var *v = use->values.items[i];
        const char *kind = v->kind == VAR_SIZE     ? "size"
                           : v->kind == VAR_SCALAR ? "scalar"
                           : v->kind == VAR_LET    ? "value"
                                                   : "loop";
        DType type = launch_value_type(c, use, v);
        json_array_append_new(arguments,
                              json_pack("{s:s, s:s, s:s}", "kind", kind, "name", v->name, "type",
                                        type_info(type == DT_INDEX ? DT_I32 : type)->name));
    }
    return arguments;
}

/* The limits of the sizes for 32-bit indices: each of these is at most 2147483647. */
static json_t *limits_json(Context *c, const Kernel *kernel)
{
    json_t *limits = json_array();
    for (int i = 0; i < kernel->n_limits; i++)
        json_array_append_new(limits, json_string(size_limit_text(c, &kernel->limits[i])));
    return limits;
}

/* Symbols to be filled, from device memory, before the launch. */
static json_t *constants_json(const CudaNames *names, const LaunchUse *use)
{
    json_t *constants = json_array();
    for (int i = 0; i < use->constants.n; i++)
        json_array_append_new(constants,
                              json_pack("{s:s, s:s}", "symbol",
                                        cuda_names_buffer(names, use->constants.items[i]), "from",
                                        use->constants.items[i]->copy_of->name));
    return constants;
}

static json_t *around_json(Context *c, const Enclosing *around)
{
    const Stmt *s = around->stmt;
    switch (s->kind) {
    case ST_FOR:
        return json_pack("{s:s, s:o, s:o, s:I}", "loop", s->u.loop.var->name, "from",
                         number_or_text(c, s->u.loop.lo), "to", number_or_text(c, s->u.loop.hi),
                         "step", (json_int_t)s->u.loop.step);
    case ST_LET:
        return json_pack("{s:s, s:o}", "value", s->u.let.var->name, "is",
                         number_or_text(c, s->u.let.value));
    default:
        return json_pack("{s:o}", around->otherwise ? "unless" : "if",
                         number_or_text(c, s->u.cond.cond));
    }
}

/* The host's loops, values and conditions around a launch, outermost first. */
static json_t *within_json(Context *c, const Kernel *kernel, const Stmt *launch)
{
    json_t *within = json_array();
    EnclosingList around = {0};
    stmt_enclosing(c, kernel->body, launch, &around);
    for (int i = 0; i < around.n; i++)
        json_array_append_new(within, around_json(c, &around.items[i]));
    return within;
}

/* How many threads store nothing, because of guards; null where the grid is no literal. */
static json_t *idle_json(Context *c, const LaunchStmt *launch)
{
    int64_t threads, idle;
    return count_idle(c, launch, &threads, &idle) ? json_integer(idle) : json_null();
}

static json_t *launch_json(Context *c, const Kernel *kernel, const CudaNames *names,
                           const LaunchUse *use)
{
    const LaunchStmt *launch = &use->launch->u.launch;
    json_t *grid = numbers_or_texts(c, launch->grid, 3);
    int64_t threads[3];
    launch_block(use->launch, threads);
    json_t *block = json_pack("[I, I, I]", (json_int_t)threads[0], (json_int_t)threads[1],
                              (json_int_t)threads[2]);
    return json_pack("{s:s, s:o, s:o, s:o, s:I, s:b, s:i, s:o, s:o, s:o}", "name",
                     cuda_names_launch(names, launch->name), "within",
                     within_json(c, kernel, use->launch), "grid", grid, "block", block,
                     "shared_bytes", (json_int_t)use->shared_bytes, "shared_is_dynamic",
                     (int)use->shared_is_dynamic, "barriers", use->barriers, "arguments",
                     arguments_json(c, use), "constants", constants_json(names, use),
                     "idle_threads", idle_json(c, launch));
}

/* Of the CUDA text, those that belong to a launch. */
static json_t *lines_json(tirc *t, const tirc_kernel *lowered, const LineOrigins *lines)
{
    json_t *array = json_array();
    for (int i = 0; i < lines->n; i++) {
        tirc_origin o = api_origin(t, lowered, lines->items[i]);
        if (!o.path)
            continue;
        json_t *line = json_pack("{s:i, s:s, s:i, s:i, s:I}", "cuda", i + 1, "file",
                                 cuda_comment(t->ctx, o.path), "line", o.line, "column", o.column,
                                 "step", (json_int_t)o.step);
        if (o.step)
            json_object_set_new(line, "call", json_string(cuda_comment(t->ctx, o.step_text)));
        if (o.step_path)
            json_object_update_new(line,
                                   json_pack("{s:s, s:i, s:i}", "schedule_file",
                                             cuda_comment(t->ctx, o.step_path), "schedule_line",
                                             o.step_line, "schedule_column", o.step_column));
        json_array_append_new(array, line);
    }
    return array;
}

static json_t *kernel_json(tirc *t, const tirc_kernel *lowered)
{
    Context *c = t->ctx;
    LaunchUseList uses = {0};
    launch_uses(c, lowered->kernel, &uses);
    StrBuf cuda = strbuf_new(c->arena);
    LineOrigins lines = {0};
    cuda_emit(c, lowered->kernel, &cuda, &lines);
    const CudaNames *names = cuda_names_new(c, lowered->kernel);
    json_t *launches = json_array();
    for (int i = 0; i < uses.n; i++)
        json_array_append_new(launches, launch_json(c, lowered->kernel, names, &uses.items[i]));
    return json_pack("{s:s, s:s?, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "kernel",
                     lowered->kernel->name, "schedule", lowered->schedule_name, "sizes",
                     sizes_json(lowered->kernel), "limits", limits_json(c, lowered->kernel),
                     "parameters", parameters_json(c, lowered->kernel), "temps",
                     temps_json(c, &uses), "launches", launches, "cuda", cuda.text, "lines",
                     lines_json(t, lowered, &lines));
}

bool api_emit_json(tirc *t, const tirc_kernel *lowered, const char **text, size_t *length)
{
    json_t *json = kernel_json(t, lowered);
    char *dump = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
    json_decref(json);
    if (!dump)
        ctx_fatal(t->ctx, FATAL_OUT_OF_MEMORY, "out of memory for the JSON of kernel '%s'",
                  lowered->kernel->name);
    char *copy = arena_printf(t->ctx->arena, "%s\n", dump);
    free(dump);
    *text = copy;
    *length = strlen(copy);
    return true;
}
