/* roofline.c - see roofline.h. */
#include "runtime/measure/roofline.h"

/* Types that are computed at different rates take their times one after the other. */
static Roof arithmetic(const Profile *p, const Work *w)
{
    Roof roof = {.name = "arithmetic", .unit = "flop", .amount = w->f64_flops + w->f32_flops};
    if ((w->f64_flops > 0 && p->f64_gflops <= 0) || (w->f32_flops > 0 && p->f32_gflops <= 0))
        return roof;
    double seconds = (w->f64_flops > 0 ? w->f64_flops / (p->f64_gflops * 1e9) : 0) +
                     (w->f32_flops > 0 ? w->f32_flops / (p->f32_gflops * 1e9) : 0);
    roof.rate = seconds > 0 ? roof.amount / seconds : p->f32_gflops * 1e9;
    return roof;
}

double roofline_tensor_rate(const Profile *p, TensorRate of)
{
    const double gflops[] = {[TENSOR_8] = p->tensor_8_gflops,
                             [TENSOR_16] = p->tensor_16_gflops,
                             [TENSOR_TF32] = p->tensor_tf32_gflops,
                             [TENSOR_64] = p->tensor_64_gflops};
    return gflops[of] * 1e9;
}

static Roof tensor_cores(const Profile *p, const Work *w)
{
    Roof roof = {.name = "tensor cores", .unit = "flop", .amount = work_tensor_flops(w)};
    double seconds = 0;
    for (int i = 0; i < TENSOR_RATES; i++) {
        double rate = roofline_tensor_rate(p, (TensorRate)i);
        if (w->tensor_flops[i] > 0 && rate <= 0)
            return roof;
        seconds += w->tensor_flops[i] > 0 ? w->tensor_flops[i] / rate : 0;
    }
    roof.rate = seconds > 0 ? roof.amount / seconds : roofline_tensor_rate(p, TENSOR_16);
    return roof;
}

int roofline_of(const Profile *p, const Work *w, Roof roofs[ROOFS])
{
    roofs[ROOF_ARITHMETIC] = arithmetic(p, w);
    roofs[ROOF_TENSOR] = tensor_cores(p, w);
    roofs[ROOF_DRAM] = (Roof){"device memory", "byte", w->least_bytes, p->dram_gbps * 1e9, 0};
    roofs[ROOF_L2] = (Roof){"second-level cache", "byte", w->beyond_l1_bytes, p->l2_gbps * 1e9, 0};
    roofs[ROOF_L1] =
        (Roof){"load/store units", "pass", w->passes, p->multiprocessors * p->clock_mhz * 1e6, 0};
    int binds = -1;
    for (int i = 0; i < ROOFS; i++) {
        roofs[i].ms = roofs[i].rate > 0 ? roofs[i].amount / roofs[i].rate * 1e3 : 0;
        if (roofs[i].ms > (binds < 0 ? 0 : roofs[binds].ms))
            binds = i;
    }
    return binds;
}
