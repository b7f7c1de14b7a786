/* module.c - Translates a kernel to the data that a device runs: tables, shapes, host part,
 * kernels. */
#include "codegen/cuda/names.h"
#include "codegen/inputs.h"
#include "codegen/module/code.h"
#include "codegen/size_limit.h"
#include "ir/copies/roles.h"

typedef struct {
    Context *c;
    const Kernel *kernel;
    Module *m;
    const CudaNames *names;
    bool lowered;
    VEC(const Buffer *) buffers; /* of the module, in order */
    VEC(uint32_t) ids;
    VEC(ModuleMap) maps;
    VEC(ModuleConstant) constants;
} ModuleBuilder;

/* A function that computes `n` INDEX expressions of the kernel's sizes (vm_eval_shape). */
static const VmFunction *compile_shape(Context *c, const Kernel *kernel, const char *name,
                                       Expr *const *exprs, int n)
{
    static const Module nothing = {0};
    Kernel sizes_only = *kernel;
    sizes_only.n_params = 0;
    VmCoder *k = coder_new(c, &sizes_only, &nothing, NULL, name);
    int *outputs = ARENA_ARRAY(c->arena, int, n + 1);
    for (int i = 0; i < n; i++)
        outputs[i] = coder_index(k, exprs[i]).reg;
    k->f->outputs = outputs;
    k->f->n_outputs = n;
    return coder_finish(k);
}

/* ---- tables -------------------------------------------------------------------------------- */

static void build_sizes(ModuleBuilder *b)
{
    const Kernel *kernel = b->kernel;
    ModuleSize *sizes = ARENA_ARRAY(b->c->arena, ModuleSize, kernel->n_sizes + 1);
    for (int i = 0; i < kernel->n_sizes; i++) {
        const Size *size = &kernel->sizes[i];
        sizes[i] = (ModuleSize){size->name, size->symbolic, size->value};
    }
    b->m->sizes = sizes;
    b->m->n_sizes = kernel->n_sizes;
}

static void add_buffer(ModuleBuilder *b, const Buffer *buffer)
{
    for (int i = 0; i < b->ids.n; i++)
        if (b->ids.items[i] == buffer->id)
            return;
    VEC_PUSH(b->c->arena, &b->buffers, buffer);
    VEC_PUSH(b->c->arena, &b->ids, buffer->id);
}

static BufferRole role_of(Role role)
{
    switch (role) {
    case ROLE_IN: return BUFFER_IN;
    case ROLE_OUT: return BUFFER_OUT;
    case ROLE_INOUT: return BUFFER_INOUT;
    case ROLE_TEMP: break;
    }
    return BUFFER_TEMP;
}

static void build_limits(ModuleBuilder *b)
{
    Context *c = b->c;
    ModuleLimit *limits = ARENA_ARRAY(c->arena, ModuleLimit, b->kernel->n_limits + 1);
    for (int i = 0; i < b->kernel->n_limits; i++) {
        const SizeLimit *limit = &b->kernel->limits[i];
        Expr *value = expr_cast(c, DT_INDEX, size_limit_value(c, limit), span_none());
        limits[i] = (ModuleLimit){size_limit_text(c, limit),
                                  compile_shape(c, b->kernel, "a limit", &value, 1)};
    }
    b->m->limits = limits;
    b->m->n_limits = b->kernel->n_limits;
}

/* ---- values of inputs ---------------------------------------------------------------------- */

static ModuleValues compile_values(ModuleBuilder *b, const InputValues *v, DType type)
{
    ModuleValues out = {NULL,      v->lo,          v->hi,          v->has_lo,
                        v->has_hi, v->excludes_lo, v->excludes_hi, v->order};
    Expr *ends[] = {v->least ? v->least : expr_index(b->c, INT64_MIN),
                    v->greatest ? v->greatest : expr_index(b->c, INT64_MAX)};
    if (type_is_int(type))
        out.ends = compile_shape(b->c, b->kernel, "values", ends, 2);
    return out;
}

static const ModuleValues *draw_values(ModuleBuilder *b, const Param *p)
{
    InputValues v = input_draw(b->c, b->kernel, p);
    if (!v.limited)
        return NULL;
    ModuleValues *out = ARENA_NEW(b->c->arena, ModuleValues);
    *out = compile_values(b, &v, p->buffer ? p->buffer->type : p->scalar->type);
    return out;
}

/* The parameter's number among buffers, or among scalars. */
static int table_number(const ModuleBuilder *b, const Param *p)
{
    int n = 0;
    for (int i = 0; i < b->kernel->n_params; i++) {
        const Param *other = &b->kernel->params[i];
        if (p->buffer ? other->buffer && other->buffer->id == p->buffer->id
                      : other->scalar == p->scalar)
            return n;
        n += !other->buffer == !p->buffer;
    }
    TIRC_BUG(b->c, "a fact is about no parameter of '%s'", b->kernel->name);
}

static ModuleFact build_fact(ModuleBuilder *b, const Fact *fact)
{
    StrBuf text = strbuf_new(b->c->arena);
    print_fact(fact, &text);
    ModuleFact out = {.text = text.text, .span = fact->span, .buffer = -1, .scalar = -1};
    if (fact->kind == FACT_SIZES) {
        Expr *holds =
            expr_select(b->c, fact->cond, expr_index(b->c, 1), expr_index(b->c, 0), fact->span);
        out.cond = compile_shape(b->c, b->kernel, "where", &holds, 1);
        return out;
    }
    const Param *p = &fact->subject;
    InputValues v = input_values(b->c, fact, 1, p);
    out.values = compile_values(b, &v, p->buffer ? p->buffer->type : p->scalar->type);
    *(p->buffer ? &out.buffer : &out.scalar) = table_number(b, p);
    return out;
}

static void build_facts(ModuleBuilder *b)
{
    ModuleFact *facts = ARENA_ARRAY(b->c->arena, ModuleFact, b->kernel->n_facts + 1);
    for (int i = 0; i < b->kernel->n_facts; i++)
        facts[i] = build_fact(b, &b->kernel->facts[i]);
    b->m->facts = facts;
    b->m->n_facts = b->kernel->n_facts;
}

static void build_scalars(ModuleBuilder *b)
{
    const Kernel *kernel = b->kernel;
    ModuleScalar *scalars = ARENA_ARRAY(b->c->arena, ModuleScalar, kernel->n_params + 1);
    for (int i = 0; i < kernel->n_params; i++) {
        const Var *scalar = kernel->params[i].scalar;
        if (scalar)
            scalars[b->m->n_scalars++] =
                (ModuleScalar){scalar->name, scalar->type, draw_values(b, &kernel->params[i])};
    }
    b->m->scalars = scalars;
}

/* The extents of a buffer. A temporary of one version of the kernel (specialize) is empty where its
 * extents are negative: those sizes take another version. */
static const VmFunction *shape_of(const ModuleBuilder *b, const Buffer *buffer)
{
    Expr **shape = ARENA_ARRAY(b->c->arena, Expr *, buffer->rank + 1), *none = expr_index(b->c, 0);
    for (int i = 0; i < buffer->rank; i++) {
        Expr *extent = buffer->shape[i];
        bool known = buffer->role != ROLE_TEMP || expr_is_const(extent, &(int64_t){0});
        shape[i] = known ? extent : expr_binary(b->c, EX_MAX, extent, none, extent->span);
    }
    return compile_shape(b->c, b->kernel, buffer->name, shape, buffer->rank);
}

static void build_buffers(ModuleBuilder *b)
{
    for (int i = 0; i < b->kernel->n_params; i++)
        if (b->kernel->params[i].buffer)
            add_buffer(b, b->kernel->params[i].buffer);
    StmtList temps = stmts_of_kind(b->c, b->kernel->body, ST_TEMP);
    for (int i = 0; i < temps.n; i++) {
        const Buffer *temp = temps.items[i]->u.temp;
        if (!temp->copy_of && (temp->scope == SCOPE_GLOBAL || !b->lowered))
            add_buffer(b, temp);
    }
    ModuleBuffer *table = ARENA_ARRAY(b->c->arena, ModuleBuffer, b->buffers.n + 1);
    for (int i = 0; i < b->buffers.n; i++) {
        const Buffer *buffer = b->buffers.items[i];
        table[i] = (ModuleBuffer){
            .name = buffer->name,
            .type = buffer->type,
            .role = role_of(buffer->role),
            .rank = buffer->rank,
            .shape = shape_of(b, buffer),
            .part = buffer->part,
            .part_of = buffer->part_of ? buffer->part_of->name : NULL,
            .part_axis = buffer->part_axis,
            .values = buffer->role == ROLE_IN || buffer->role == ROLE_INOUT
                          ? draw_values(b, &(Param){(Buffer *)buffer, NULL})
                          : NULL,
        };
    }
    b->m->buffers = table;
    b->m->n_buffers = b->buffers.n;
}

/* ---- kernels ------------------------------------------------------------------------------- */

static bool is_host_value(const Var *var)
{
    return var->kind != VAR_SIZE && var->kind != VAR_SCALAR;
}

static KernelArgument value_argument(const ModuleBuilder *b, const LaunchUse *use, const Var *var,
                                     int *n_host)
{
    DType type = launch_value_type(b->c, use, var);
    if (is_host_value(var))
        return (KernelArgument){ARG_HOST, (*n_host)++, type};
    if (var->kind == VAR_SIZE)
        for (int i = 0; i < b->kernel->n_sizes; i++)
            if (b->kernel->sizes[i].var == var)
                return (KernelArgument){ARG_SIZE, i, type};
    int number = 0;
    for (int i = 0; i < b->kernel->n_params; i++) {
        if (b->kernel->params[i].scalar == var)
            break;
        number += b->kernel->params[i].scalar != NULL;
    }
    return (KernelArgument){ARG_SCALAR, number, type};
}

static int buffer_number(const ModuleBuilder *b, const Buffer *buffer)
{
    for (int i = 0; i < b->ids.n; i++)
        if (b->ids.items[i] == buffer->id)
            return i;
    TIRC_BUG(b->c, "'%s' is no buffer of the module", buffer->name);
}

static KernelArgument map_argument(ModuleBuilder *b, const BulkBox *box)
{
    ModuleMap map = {.buffer = buffer_number(b, box->tensor),
                     .span = (int)bulk_span(box->mode),
                     .type = box->type};
    for (int d = 0; d < box->tensor->rank; d++)
        map.box[d] = box->extent[d];
    VEC_PUSH(b->c->arena, &b->maps, map);
    return (KernelArgument){ARG_MAP, b->maps.n - 1, box->tensor->type};
}

/* In the order of the emitted function's parameters: buffers, tensor maps, values (launch_uses). */
static void build_arguments(ModuleBuilder *b, const LaunchUse *use, ModuleKernel *out)
{
    KernelArgument *args =
        ARENA_ARRAY(b->c->arena, KernelArgument, use->buffers.n + use->boxes.n + use->values.n + 1);
    int n_host = 0;
    for (int i = 0; i < use->buffers.n; i++)
        args[out->n_arguments++] = (KernelArgument){
            ARG_BUFFER, buffer_number(b, use->buffers.items[i]), use->buffers.items[i]->type};
    for (int i = 0; i < use->boxes.n; i++)
        args[out->n_arguments++] = map_argument(b, &use->boxes.items[i]);
    for (int i = 0; i < use->values.n; i++)
        args[out->n_arguments++] = value_argument(b, use, use->values.items[i], &n_host);
    out->arguments = args;
}

static const VmFunction *build_code(ModuleBuilder *b, const LaunchUse *use)
{
    const LaunchStmt *launch = &use->launch->u.launch;
    VmCoder *k = coder_new(b->c, b->kernel, b->m, b->ids.items, launch->name);
    k->inside = launch;
    k->f->cluster = launch->cluster ? (int)launch->cluster : 1;
    k->fits = true;
    for (int i = 0; i < use->values.n; i++)
        if (is_host_value(use->values.items[i]))
            coder_input(k, use->values.items[i], vm_type_of(use->values.items[i]->type));
    if (use->roles) {
        k->f->consumers = (int)roles_consumers(launch);
        k->f->turns = use->turns;
        k->f->turn = use->roles->u.roles.turn;
    }
    coder_stmt(k, launch->body);
    return coder_finish(k);
}

/* The number of a symbol in the module; it is added where it is new. */
static int constant_number(ModuleBuilder *b, const Buffer *buffer)
{
    Name symbol = cuda_names_buffer(b->names, buffer);
    for (int i = 0; i < b->constants.n; i++)
        if (b->constants.items[i].symbol == symbol)
            return i;
    int64_t elements, *strides = ARENA_ARRAY(b->c->arena, int64_t, buffer->rank + 1);
    if (!buffer_strides(buffer, strides, &elements))
        TIRC_BUG(b->c, "constant buffer '%s' has no literal size", buffer->name);
    ModuleConstant constant = {symbol, buffer_number(b, buffer->copy_of),
                               elements * type_bytes(buffer->type),
                               buffer->copy_of->role == ROLE_TEMP};
    VEC_PUSH(b->c->arena, &b->constants, constant);
    return b->constants.n - 1;
}

static void build_constants(ModuleBuilder *b, const LaunchUse *use, ModuleKernel *out)
{
    int *numbers = ARENA_ARRAY(b->c->arena, int, use->constants.n + 1);
    for (int i = 0; i < use->constants.n; i++)
        numbers[i] = constant_number(b, use->constants.items[i]);
    out->constants = numbers;
    out->n_constants = use->constants.n;
}

static void build_kernels(ModuleBuilder *b, const LaunchUseList *uses)
{
    ModuleKernel *kernels = ARENA_ARRAY(b->c->arena, ModuleKernel, uses->n + 1);
    for (int i = 0; i < uses->n; i++) {
        const LaunchUse *use = &uses->items[i];
        const LaunchStmt *launch = &use->launch->u.launch;
        kernels[i].name = launch->name;
        kernels[i].symbol = cuda_names_launch(b->names, launch->name);
        launch_block(use->launch, kernels[i].block);
        kernels[i].shared_static = use->shared_is_dynamic ? 0 : use->shared_bytes;
        kernels[i].shared_dynamic = use->shared_is_dynamic ? use->shared_bytes : 0;
        kernels[i].barriers = use->barriers;
        build_arguments(b, use, &kernels[i]);
        build_constants(b, use, &kernels[i]);
        kernels[i].code = build_code(b, use);
    }
    b->m->kernels = kernels;
    b->m->n_kernels = uses->n;
}

static Module *build(Context *c, const Kernel *kernel, const char *cuda_source, bool in_lanes)
{
    ModuleBuilder b = {.c = c, .kernel = kernel, .m = ARENA_NEW(c->arena, Module)};
    ir_demand(c, kernel);
    b.lowered = kernel_level(b.c, kernel) == LEVEL_LOWERED;
    b.names = cuda_names_new(c, kernel);
    b.m->name = kernel->name;
    b.m->source = cuda_source;
    build_sizes(&b);
    build_limits(&b);
    build_scalars(&b);
    build_buffers(&b);
    build_facts(&b);
    LaunchUseList uses = {0};
    launch_uses(c, kernel, &uses);
    build_kernels(&b, &uses);
    b.m->maps = b.maps.items;
    b.m->n_maps = b.maps.n;
    b.m->constants = b.constants.items;
    b.m->n_constants = b.constants.n;
    VmCoder *k = coder_new(c, kernel, b.m, b.ids.items, kernel->name);
    k->launches = uses.items;
    k->in_lanes = in_lanes;
    coder_stmt(k, kernel->body);
    b.m->host = coder_finish(k);
    return b.m;
}

Module *module_build(Context *c, const Kernel *kernel, const char *cuda_source)
{
    bool in_lanes = false;
    return build(c, kernel, cuda_source, in_lanes);
}

Module *module_build_in_lanes(Context *c, const Kernel *reference)
{
    bool in_lanes = true;
    return build(c, reference, NULL, in_lanes);
}
