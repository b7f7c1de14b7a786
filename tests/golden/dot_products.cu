// dot_products: 1 launch
//   a: i8[33, 20], read
//   b: i8[17, 20], read
//   c: i32[33, 17], written
// dot_products<<<dim3(2, 3), dim3(16, 16)>>>(a, b, c);

extern "C" __global__ void __launch_bounds__(256)
dot_products(const signed char *__restrict__ a, const signed char *__restrict__ b,
             int *__restrict__ c)
{
    const int tile_i = blockIdx.y;
    const int tile_j = blockIdx.x;
    const int thread_i = threadIdx.y;
    const int thread_j = threadIdx.x;
    const int i = tile_i * 16 + thread_i;
    const int j = tile_j * 16 + thread_j;
    if (i < 33 && j < 17) {
        int c_acc = 0;
        for (int k_0 = 0; k_0 < 5; ++k_0)
            c_acc = __dp4a(*(const int *)&a[i * 20 + k_0 * 4], *(const int *)&b[j * 20 + k_0 * 4],
                           c_acc);
        c[i * 17 + j] = c_acc;
    }
}
