/* async.c - Emits asynchronous stores: cp.async of 4, 8 or 16 bytes, from global to shared memory.
 *
 *   s[k][i] async= A[i * 64 + k];
 *       copy_async<4>(&s[k][i], &A[i * 64 + k]);
 *   s[k][i] async= i < M ? A[i * 64 + k] : 0.0;
 *       copy_async_or_zero<4>(&s[k][i], &A[i * 64 + k], i < M);
 *   s[k][i] async= i < M ? A[i * 64 + k] : inf;
 *       copy_async_or<4>(&s[k][i], &A[i * 64 + k], i < M, (float)(__int_as_float(0x7f800000)));
 *
 * Stores without such an instruction happen at once, which is early enough for every wait. */
#include "codegen/cuda/text.h"

#include "codegen/vector.h"

/* The load whose bytes arrive, and under which condition (NULL: always); NULL where there is no
 * such instruction. */
static const Expr *source(const Stmt *store, Expr **wanted)
{
    const Expr *load = expr_copied_or(store->u.store.value, wanted);
    bool moves = load && load->type == store->u.store.buffer->type &&
                 load->u.load.buffer->scope == SCOPE_GLOBAL &&
                 store->u.store.buffer->scope == SCOPE_SHARED;
    return moves ? load : NULL;
}

bool cuda_async_store(CudaWriter *w, const Stmt *store, const VectorPlan *plan)
{
    Expr *wanted;
    const Expr *from = source(store, &wanted);
    const Buffer *to = store->u.store.buffer;
    int64_t bytes = (plan ? plan->lanes : 1) * type_bytes(to->type);
    if (store->u.store.op != STORE_ASYNC || !from || (bytes != 4 && bytes != 8 && bytes != 16))
        return false;
    int load = plan ? vector_find_load(plan, from) : 0;
    if (load < 0 || (plan && wanted && expr_uses_var(wanted, plan->var)))
        return false;
    Expr *fill = wanted ? store->u.store.value->u.arg[2] : NULL;
    Helper helper = !wanted              ? HELPER_ASYNC_COPY
                    : expr_is_zero(fill) ? HELPER_ASYNC_COPY_OR_ZERO
                                         : HELPER_ASYNC_COPY_OR;
    cuda_indent(w);
    strbuf_addf(w->out, "%s<%d>(&", cuda_helper(w, helper), (int)bytes);
    cuda_element(w, to, plan ? plan->first : store->u.store.index);
    strbuf_add(w->out, ", &");
    cuda_element(w, from->u.load.buffer, plan ? plan->loads.items[load].first : from->u.load.index);
    if (wanted) {
        strbuf_add(w->out, ", ");
        cuda_expr(w, wanted, 0);
    }
    if (helper == HELPER_ASYNC_COPY_OR) {
        strbuf_addf(w->out, ", (%s)(", cuda_storage_type(to->type));
        cuda_stored(w, fill);
        strbuf_add(w->out, ")");
    }
    strbuf_add(w->out, ");\n");
    return true;
}
