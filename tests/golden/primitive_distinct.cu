// compact: 4 launches
//   x: f32[100], read
//   y: f32[100], written
//   count: i32[], written
//   count_before: i32[13], temporary, allocated by the caller
//   count_total: i32[13], temporary, allocated by the caller
//   count_sums: u64[13], temporary, allocated by the caller
//   count_groups: u64[4], temporary, allocated by the caller
// compact<<<1, 1>>>(count_sums);
// compact_1<<<1, 1>>>(count_groups);
// compact_2<<<13, 1>>>(x, y, count, count_total, count_sums, count_groups, count_before);
// compact_3<<<1, 1>>>(y, count);

static __device__ __forceinline__ unsigned long long await_element(
    const unsigned long long *element)
{
    unsigned long long value;
    while ((value = *(const volatile unsigned long long *)element) == 0)
        __nanosleep(100);
    return value;
}

static __device__ __forceinline__ void publish_element(unsigned long long *element,
                                                       unsigned long long value)
{
    *(volatile unsigned long long *)element = value;
}

extern "C" __global__ void __launch_bounds__(1)
compact(unsigned long long *__restrict__ count_sums)
{
    for (int ax0 = 0; ax0 < 13; ++ax0)
        count_sums[ax0] = 0ull;
}

extern "C" __global__ void __launch_bounds__(1)
compact_1(unsigned long long *__restrict__ count_groups)
{
    for (int ax0 = 0; ax0 < 4; ++ax0)
        count_groups[ax0] = 0ull;
}

extern "C" __global__ void __launch_bounds__(1)
compact_2(const float *__restrict__ x, float *__restrict__ y, int *__restrict__ count,
          int *__restrict__ count_total, unsigned long long *__restrict__ count_sums,
          unsigned long long *__restrict__ count_groups, int *__restrict__ count_before)
{
    __shared__ int count_near;
    __shared__ int count_far;
    __shared__ int count_chunk;
    const int part_m = blockIdx.x;
    int count_total_acc = 0;
    for (int i_1 = 0; i_1 < 8; ++i_1) {
        if (part_m * 8 + i_1 < 100) {
            if (x[part_m * 8 + i_1] > 0.0f)
                count_total_acc = (int)((unsigned int)count_total_acc + 1);
        }
    }
    count_total[part_m] = count_total_acc;
    publish_element(&count_sums[part_m],
                    ((unsigned long long)((unsigned int)count_total[part_m]) << 32ull) | 1ull);
    int count_near_acc = 0;
    for (int member = 0; member < 4; ++member) {
        if (member < part_m % 4)
            count_near_acc =
                (int)((unsigned int)count_near_acc
                      + (int)(
                          (unsigned int)(await_element(&count_sums[part_m / 4 * 4 + member])
                                         >> 32ull)));
    }
    count_near = count_near_acc;
    if (part_m % 4 == 3)
        publish_element(&count_groups[part_m / 4],
                        ((unsigned long long)(
                             (unsigned int)((int)((unsigned int)count_near + count_total[part_m])))
                         << 32ull) | 1ull);
    int count_far_acc = 0;
    for (int group = 0; group < 4; ++group) {
        if (group < part_m / 4)
            count_far_acc =
                (int)((unsigned int)count_far_acc
                      + (int)((unsigned int)(await_element(&count_groups[group]) >> 32ull)));
    }
    count_far = count_far_acc;
    count_before[part_m] = 0 + (int)((unsigned int)count_far + count_near);
    if (part_m == 12)
        count[0] = (int)((unsigned int)count_before[part_m] + count_total[part_m]);
    count_chunk = count_before[part_m];
    int count_chunk_acc = count_chunk;
    for (int i_1 = 0; i_1 < 8; ++i_1) {
        const int i = part_m * 8 + i_1;
        if (i < 100) {
            if (x[i] > 0.0f)
                y[count_chunk_acc] = x[i];
            if (x[i] > 0.0f)
                count_chunk_acc = (int)((unsigned int)count_chunk_acc + 1);
        }
    }
    count_chunk = count_chunk_acc;
}

extern "C" __global__ void __launch_bounds__(1)
compact_3(float *__restrict__ y, const int *__restrict__ count)
{
    for (int i = 0; i < 100; ++i) {
        if (i >= count[0])
            y[i] = 0.0f;
    }
}
