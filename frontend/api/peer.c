/* peer.c - Decides which library routine computes the same as a program, for benchmarks against
 * it. */
#include "frontend/api/internal.h"

#include "passes/analysis/regions/contraction.h"

static bool refuse(tirc *t, const char *peer, const char *kernel, const char *why)
{
    diag_error(t->ctx, E0642, span_none(), "'%s' cannot be compared with '%s': %s", kernel, peer,
               why);
    return false;
}

/* The number of a parameter among the module's buffers. */
static int buffer_number(const Kernel *k, const Buffer *b)
{
    int n = 0;
    for (int i = 0; i < k->n_params; i++) {
        if (k->params[i].buffer && k->params[i].buffer->id == b->id)
            return n;
        n += k->params[i].buffer != NULL;
    }
    return -1;
}

/* What cuBLAS multiplies with the same rounding. */
static bool has_routine(PeerTypes types)
{
    DType in = types.operands, sums = types.sums, out = types.result;
    if (in == DT_F16 || in == DT_BF16)
        return sums == DT_F32 && (out == DT_F32 || out == in);
    if (in == DT_I8)
        return sums == DT_I32 && out == DT_I32;
    return (in == DT_F32 || in == DT_F64) && sums == in && out == in;
}

/* NULL, or why cuBLAS does not compute the matmul. */
static const char *wrong_types(Context *c, const Contraction *form, PeerTypes types)
{
    if (!has_routine(types))
        return arena_printf(c->arena,
                            "it multiplies %s with sums of %s and stores %s; cuBLAS multiplies f32 "
                            "and f64, f16 and bf16 with sums of f32, stored as that or as the "
                            "operands, and i8 with sums of i32",
                            type_info(types.operands)->name, type_info(types.sums)->name,
                            type_info(types.result)->name);
    if (form->bias && (types.operands != DT_F32 || form->a_tf32))
        return "cublasLt fuses a bias only in f32";
    return NULL;
}

static bool product_task(tirc *t, const Kernel *program, const Workload *w, PeerTask *task)
{
    Contraction form;
    const char *why;
    if (!contraction_of(t->ctx, program, &form, &why))
        return refuse(t, peer_name(task->kind), program->name, why);
    PeerTypes types = {form.a->type, form.type, form.c->type};
    if ((why = wrong_types(t->ctx, &form, types)))
        return refuse(t, peer_name(task->kind), program->name, why);
    PeerProduct *x = &task->product;
    *x = (PeerProduct){.a = {buffer_number(program, form.a), form.a_transposed},
                       .b = {buffer_number(program, form.b), form.b_transposed},
                       .c = {buffer_number(program, form.c), form.c_transposed},
                       .batch = 1,
                       .types = types,
                       .tf32 = form.a_tf32,
                       .bias = form.bias ? buffer_number(program, form.bias) : -1,
                       .relu = form.relu};
    if (x->a.buffer < 0 || x->b.buffer < 0 || x->c.buffer < 0)
        return refuse(t, peer_name(task->kind), program->name, "a matrix is not a parameter");
    const int64_t *a = workload_dims(w, x->a.buffer), *c = workload_dims(w, x->c.buffer);
    for (int d = 0; d < form.n_batch; d++)
        x->batch *= c[d];
    x->rows = c[form.n_batch + form.c_transposed];
    x->columns = c[form.n_batch + !form.c_transposed];
    x->depth = a[form.n_batch + !form.a_transposed];
    return true;
}

static bool copy_task(tirc *t, const Kernel *program, const Workload *w, PeerTask *task)
{
    int from = -1, to = -1, reads = 0, writes = 0;
    for (int i = 0; i < program->n_params; i++) {
        const Buffer *b = program->params[i].buffer;
        if (!b)
            continue;
        int at = buffer_number(program, b);
        reads += b->role != ROLE_OUT;
        writes += b->role != ROLE_IN;
        *(b->role == ROLE_OUT ? &to : &from) = at;
        int64_t bytes = workload_elements(w, at) * type_bytes(b->type);
        if (task->bytes > 0 && bytes != task->bytes)
            return refuse(t, peer_name(task->kind), program->name,
                          "it reads and writes different numbers of bytes");
        task->bytes = bytes;
    }
    task->from = from;
    task->to = to;
    return (reads == 1 && writes == 1 && from >= 0 && to >= 0) ||
           refuse(t, peer_name(task->kind), program->name,
                  "it does not read one buffer and write another");
}

bool api_peer_task(tirc *t, const tirc_program *program, const char *peer, const Workload *w,
                   PeerTask *task)
{
    *task = (PeerTask){.kind = peer_find(peer)};
    const Kernel *kernel = program->kernel->program;
    switch (task->kind) {
    case PEER_CUBLAS: return product_task(t, kernel, w, task);
    case PEER_MEMCPY: return copy_task(t, kernel, w, task);
    case PEER_KINDS: break;
    }
    return refuse(t, peer, kernel->name,
                  "the peers are 'cublas', for matmuls, 'memcpy', for programs that read as many "
                  "bytes as they write, and schedules");
}
