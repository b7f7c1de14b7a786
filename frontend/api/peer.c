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

static bool product_task(tirc *t, const Kernel *program, const Workload *w, PeerTask *task)
{
    Contraction form;
    const char *why;
    if (!contraction_of(t->ctx, program, &form, &why))
        return refuse(t, peer_name(task->kind), program->name, why);
    if (form.type != DT_F32 && form.type != DT_F64)
        return refuse(
            t, peer_name(task->kind), program->name,
            arena_printf(t->ctx->arena,
                         "its matrices are in %s, and only matmuls in f32 and f64 can be compared",
                         type_info(form.type)->name));
    if (form.bias && form.type != DT_F32)
        return refuse(t, peer_name(task->kind), program->name, "cublasLt fuses a bias only in f32");
    PeerProduct *x = &task->product;
    *x = (PeerProduct){.a = {buffer_number(program, form.a), form.a_transposed},
                       .b = {buffer_number(program, form.b), form.b_transposed},
                       .c = {buffer_number(program, form.c), form.c_transposed},
                       .batch = 1,
                       .type = form.type,
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
