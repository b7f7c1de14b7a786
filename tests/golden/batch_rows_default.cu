// layers: 1 launch
//   x: f32[3, 2, 32], read
//   u: f32[48, 32], read
//   w: f32[48, 48], read
//   y: f32[3, 2, 48], written
// layers<<<3, dim3(32, 32)>>>(x, u, w, y);

extern "C" __global__ void __launch_bounds__(1024)
layers(const float *__restrict__ x, const float *__restrict__ u, const float *__restrict__ w,
       float *__restrict__ y)
{
    __shared__ float h[48];
    __shared__ float n[48];
    const int b = blockIdx.x;
    const int ty = threadIdx.y;
    const int tx = threadIdx.x;
    const int j = ty * 32 + tx;
    if (j < 48)
        h[j] = 0.0f;
    __syncthreads();  // h: written above by other threads, read below
    for (int t = 0; t < 2; ++t) {
        for (int j_0 = 0; j_0 < 2; ++j_0) {
            const int j_1 = j_0 * 32 + ty;
            float s;
            float s_part = 0.0f;
            if (j_1 < 48)
                s_part += u[j_1 * 32 + tx] * x[(b * 2 + t) * 32 + tx];
            s_part += __shfl_xor_sync(0xffffffff, s_part, 16);
            s_part += __shfl_xor_sync(0xffffffff, s_part, 8);
            s_part += __shfl_xor_sync(0xffffffff, s_part, 4);
            s_part += __shfl_xor_sync(0xffffffff, s_part, 2);
            s_part += __shfl_xor_sync(0xffffffff, s_part, 1);
            if (j_1 < 48)
                s = s_part;
            float s_local_part = 0.0f;
            if (j_1 < 48) {
                for (int each = 0; each < 2; ++each) {
                    const int k = each * 32 + tx;
                    if (k < 48)
                        s_local_part += w[j_1 * 48 + k] * h[k];
                }
            }
            s_local_part += __shfl_xor_sync(0xffffffff, s_local_part, 16);
            s_local_part += __shfl_xor_sync(0xffffffff, s_local_part, 8);
            s_local_part += __shfl_xor_sync(0xffffffff, s_local_part, 4);
            s_local_part += __shfl_xor_sync(0xffffffff, s_local_part, 2);
            s_local_part += __shfl_xor_sync(0xffffffff, s_local_part, 1);
            if (j_1 < 48) {
                float s_local = s_local_part;
                s += s_local;
            }
            if (tx == 0 && j_1 < 48)
                n[j_1] = fmaxf(s, 0.0f);
        }
        __syncthreads();  // n: written above by other threads, read below; h: read above by other
                          // threads, overwritten below
        if (j < 48) {
            h[j] = n[j];
            y[(b * 2 + t) * 48 + j] = n[j];
        }
        __syncthreads();  // h: written above, read in the next iteration of t by other threads; n:
                          // read above, overwritten in the next iteration of t by other threads
    }
}
