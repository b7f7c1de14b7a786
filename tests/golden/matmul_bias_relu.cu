// matmul_bias_relu: 2 launches
//   A: f32[1024, 1024], read
//   B: f32[1024, 1024], read
//   bias: f32[1024], read
//   C: f32[1024, 1024], written
//   acc: f32[1024, 1024], temporary, allocated by the caller
// matmul_bias_relu<<<4096, 256>>>(A, B, acc);
// matmul_bias_relu_1<<<1024, 256>>>(bias, C, acc);

extern "C" __global__ void __launch_bounds__(256)
matmul_bias_relu(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ acc)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int i = block / 4;
    const int j = block % 4 * 256 + thread;
    float acc_acc = 0.0f;
    for (int k = 0; k < 1024; ++k)
        acc_acc += A[i * 1024 + k] * B[k * 1024 + j];
    acc[i * 1024 + j] = acc_acc;
}

extern "C" __global__ void __launch_bounds__(256)
matmul_bias_relu_1(const float *__restrict__ bias, float *__restrict__ C, const float *__restrict__ acc)
{
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    {
        const float4 acc_v = *(const float4 *)&acc[block * 1024 + thread * 4];
        const float4 bias_v1 = *(const float4 *)&bias[thread * 4];
        float4 result;
        result.x = fmaxf(acc_v.x + bias_v1.x, 0.0f);
        result.y = fmaxf(acc_v.y + bias_v1.y, 0.0f);
        result.z = fmaxf(acc_v.z + bias_v1.z, 0.0f);
        result.w = fmaxf(acc_v.w + bias_v1.w, 0.0f);
        *(float4 *)&C[block * 1024 + thread * 4] = result;
    }
}
