// resize: 1 launch
//   x: f32[3, 31, 40], read
//   y: f32[3, 64, 80], written
// resize<<<48, 96>>>(x, y);

extern "C" __global__ void __launch_bounds__(96)
resize(const float *__restrict__ x, float *__restrict__ y)
{
    const int c_rows_columns_fused = blockIdx.x;
    const int column_1 = threadIdx.x;
    const int c = c_rows_columns_fused / 16;
    if (column_1 < 80) {
        #pragma unroll
        for (int row_1 = 0; row_1 < 4; ++row_1) {
            const int i = c_rows_columns_fused % 16 * 4 + row_1;
            const float row = ((float)i + 0.5f) * (31.0f / 64.0f);
            const float column = ((float)column_1 + 0.5f) * (40.0f / 80.0f);
            const int y0 = min(__float2int_rz(row), 30);
            const int x0 = min(__float2int_rz(column), 39);
            const int y1 = min((int)((unsigned int)y0 + 1), 30);
            const int x1 = min((int)((unsigned int)x0 + 1), 39);
            const float down = row - (float)y0;
            const float right = column - (float)x0;
            y[(c * 64 + i) * 80 + column_1] =
                (1.0f - down)
                    * ((1.0f - right) * x[(int)(((long long)(c * 31) + y0) * 40 + x0)]
                       + right * x[(int)(((long long)(c * 31) + y0) * 40 + x1)])
                + down
                    * ((1.0f - right) * x[(int)(((long long)(c * 31) + y1) * 40 + x0)]
                       + right * x[(int)(((long long)(c * 31) + y1) * 40 + x1)]);
        }
    }
}
