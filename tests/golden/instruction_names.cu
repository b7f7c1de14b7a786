// sums: 1 launch
//   u: u8[3, 8], read
//   t_: u8[8], read
//   d: u32[3], written
// sums<<<1, 1>>>(u, t_, d);

extern "C" __global__ void __launch_bounds__(1)
sums(const unsigned char *__restrict__ u, const unsigned char *__restrict__ t_,
     unsigned int *__restrict__ d)
{
    for (int i = 0; i < 3; ++i) {
        unsigned int d_acc = 0u;
        for (int k_ = 0; k_ < 2; ++k_) {
            for (int k = 0, t = 4; k < t; k++)
                d_acc += (&u[i * 8 + k_ * 4])[k] * (&t_[k_ * 4])[k];
        }
        d[i] = d_acc;
    }
}
