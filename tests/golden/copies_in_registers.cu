// copies_in_registers: 2 launches
//   x: f32[1024, 4], read
//   y: f32[1024], written
//   z: f32[1024], written
// copies_in_registers<<<8, 128>>>(x, y);
// copies_in_registers_1<<<8, 128>>>(x, z);

extern "C" __global__ void __launch_bounds__(128)
copies_in_registers(const float *__restrict__ x, float *__restrict__ y)
{
    const int o = blockIdx.x;
    const int t = threadIdx.x;
    float x_local_1[4];
    const int i = o * 128 + t;
    for (int ax1 = 0; ax1 < 4; ++ax1)
        x_local_1[ax1] = x[i * 4 + ax1];
    float y_acc = 0.0f;
    for (int k = 0; k < 4; ++k)
        y_acc += x_local_1[k];
    y[i] = y_acc;
}

extern "C" __global__ void __launch_bounds__(128)
copies_in_registers_1(const float *__restrict__ x, float *__restrict__ z)
{
    const int o = blockIdx.x;
    const int t = threadIdx.x;
    float x_local[4];
    const int i = o * 128 + t;
    for (int ax1 = 0; ax1 < 4; ++ax1)
        x_local[ax1] = x[i * 4 + ax1];
    float z_acc = 0.0f;
    for (int k = 0; k < 4; ++k)
        z_acc += x_local[k] * x_local[3 - k];
    z[i] = z_acc;
}
