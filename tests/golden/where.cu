// embedding: 1 launch
//   table: f32[V, D], read
//   id: i32[B], read
//   scale: f32
//   y: f32[B, D], written
//   32-bit indices: B, D, B * D and V * D are at most 2147483647
// embedding<<<dim3(D / 32, B), 32>>>(table, id, y, D, scale);

extern "C" __global__ void __launch_bounds__(32)
embedding(const float *__restrict__ table, const int *__restrict__ id, float *__restrict__ y,
          const int D, const float scale)
{
    const int b = blockIdx.y;
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int d = block * 32 + thread;
    y[b * D + d] = table[id[b] * D + d] * scale;
}
