/* work.c - see work.h. */
#include "runtime/measure/work.h"

static TensorRate rate_of(DType type)
{
    int bytes = type_bytes(type);
    return bytes == 1 ? TENSOR_8 : bytes == 2 ? TENSOR_16 : bytes == 4 ? TENSOR_TF32 : TENSOR_64;
}

/* Adds what the threads that execute an instruction compute. In a unit with arithmetic of its own
 * its text computes nothing. */
static void add_flops(Work *w, const VmFunction *code, int i, const VmUnit *unit, double lanes)
{
    const VmInst *inst = &code->code[i];
    if (inst->op == VM_UNIT)
        w->tensor_flops[rate_of(unit->tensor)] += lanes * (double)unit->flops;
    else if (!unit || unit->flops == 0)
        *(inst->type == VM_F64 ? &w->f64_flops : &w->f32_flops) += lanes * vm_flops(inst);
}

void work_add(Work *w, const Module *m, const Census *census, int kernel)
{
    const VmFunction *code = m->kernels[kernel].code;
    const VmUnit *unit = NULL; /* around the instruction */
    for (int i = 0; i < code->n_code; i++) {
        const VmInst *inst = &code->code[i];
        const AccessCost *cost = &counters_at(census->counters, kernel, i)->cost;
        w->passes += (double)census_scale(census, kernel, cost->lines + cost->wavefronts);
        bool ends = inst->op == VM_UNIT && inst->sub == VM_UNIT_END;
        if (inst->op == VM_UNIT)
            unit = ends ? NULL : &code->units[inst->c];
        ExecutionCount n = counters_executions(census->counters, kernel, i);
        if (n.times > 0 && inst->op != VM_BARRIER && !ends)
            add_flops(w, code, i, unit, (double)census_scale(census, kernel, n.lanes));
    }
    w->beyond_l1_bytes +=
        (double)census_scale(census, kernel, counters_beyond_l1(census->counters, kernel));
}

double work_tensor_flops(const Work *w)
{
    double sum = 0;
    for (int i = 0; i < TENSOR_RATES; i++)
        sum += w->tensor_flops[i];
    return sum;
}
