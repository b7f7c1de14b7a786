// l2_norm: 1 launch
//   x: f32[100, 1001], read
//   y: f32[100, 1001], written
// l2_norm<<<25, dim3(32, 4)>>>(x, y);

extern "C" __global__ void __launch_bounds__(128)
l2_norm(const float *__restrict__ x, float *__restrict__ y)
{
    const int block = blockIdx.x;
    const int warp = threadIdx.y;
    const int thread = threadIdx.x;
    __align__(16) float x_local[32];
    const int i = block * 4 + warp;
    if (warp * 1001 % 4 <= thread * 4) {
        *(float4 *)&x_local[0] = *(const float4 *)&x[i * 1001 + thread * 4 - warp * 1001 % 4];
    } else {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane) {
            if (warp * 1001 % 4 <= thread * 4 + lane)
                x_local[lane] = x[i * 1001 + thread * 4 + lane - warp * 1001 % 4];
        }
    }
    #pragma unroll
    for (int each = 1; each < 7; ++each) {
        *(float4 *)&x_local[each * 4] =
            *(const float4 *)&x[i * 1001 + each * 128 + thread * 4 - warp * 1001 % 4];
    }
    if (thread * 4 <= warp * 1001 % 4 + 101) {
        *(float4 *)&x_local[28] =
            *(const float4 *)&x[i * 1001 + thread * 4 - warp * 1001 % 4 + 896];
    } else {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane) {
            if (thread * 4 + lane <= warp * 1001 % 4 + 104)
                x_local[lane + 28] = x[i * 1001 + thread * 4 + lane - warp * 1001 % 4 + 896];
        }
    }
    float squares_part = 0.0f;
    if (i * 1001 % 4 <= thread * 4) {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            squares_part += x_local[lane] * x_local[lane];
    } else {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane) {
            const int j = thread * 4 + lane;
            if (i * 1001 % 4 <= j)
                squares_part += x_local[lane] * x_local[lane];
        }
    }
    #pragma unroll
    for (int each = 1; each < 7; ++each) {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            squares_part += x_local[each * 4 + lane] * x_local[each * 4 + lane];
    }
    if (thread * 4 <= i * 1001 % 4 + 101) {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            squares_part += x_local[lane + 28] * x_local[lane + 28];
    } else {
        if (thread * 4 <= i * 1001 % 4 + 104) {
            #pragma unroll
            for (int lane = 0; lane < 4; ++lane) {
                const int j = thread * 4 + lane + 896;
                if (j <= i * 1001 % 4 + 1000)
                    squares_part += x_local[lane + 28] * x_local[lane + 28];
            }
        }
    }
    squares_part += __shfl_xor_sync(0xffffffff, squares_part, 16);
    squares_part += __shfl_xor_sync(0xffffffff, squares_part, 8);
    squares_part += __shfl_xor_sync(0xffffffff, squares_part, 4);
    squares_part += __shfl_xor_sync(0xffffffff, squares_part, 2);
    squares_part += __shfl_xor_sync(0xffffffff, squares_part, 1);
    float squares = squares_part;
    __align__(16) float y_local_2[4];
    if (warp * 1001 % 4 <= thread * 4) {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            y_local_2[lane] = x_local[lane] / sqrtf(squares);
    } else {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane) {
            const int j = thread * 4 + lane - warp * 1001 % 4;
            if (j >= 0)
                y_local_2[lane] = x_local[lane] / sqrtf(squares);
        }
    }
    if (warp * 1001 % 4 <= thread * 4) {
        *(float4 *)&y[i * 1001 + thread * 4 - warp * 1001 % 4] =
            make_float4(y_local_2[0], y_local_2[1], y_local_2[2], y_local_2[3]);
    } else {
        #pragma unroll
        for (int nest = 0; nest < 4; ++nest) {
            if (warp * 1001 % 4 <= thread * 4 + nest)
                y[i * 1001 + thread * 4 + nest - warp * 1001 % 4] = y_local_2[nest];
        }
    }
    #pragma unroll
    for (int each = 1; each < 7; ++each) {
        __align__(16) float y_local_1[4];
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            y_local_1[lane] = x_local[each * 4 + lane] / sqrtf(squares);
        *(float4 *)&y[i * 1001 + each * 128 + thread * 4 - warp * 1001 % 4] =
            make_float4(y_local_1[0], y_local_1[1], y_local_1[2], y_local_1[3]);
    }
    __align__(16) float y_local[4];
    if (thread * 4 <= warp * 1001 % 4 + 101) {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            y_local[lane] = x_local[lane + 28] / sqrtf(squares);
    } else {
        if (thread * 4 <= warp * 1001 % 4 + 104) {
            #pragma unroll
            for (int lane = 0; lane < 4; ++lane) {
                const int j = thread * 4 + lane - warp * 1001 % 4 + 896;
                if (j < 1001)
                    y_local[lane] = x_local[lane + 28] / sqrtf(squares);
            }
        }
    }
    if (thread * 4 <= warp * 1001 % 4 + 101) {
        *(float4 *)&y[i * 1001 + thread * 4 - warp * 1001 % 4 + 896] =
            make_float4(y_local[0], y_local[1], y_local[2], y_local[3]);
    } else {
        #pragma unroll
        for (int nest = 0; nest < 4; ++nest) {
            if (thread * 4 + nest <= warp * 1001 % 4 + 104)
                y[i * 1001 + thread * 4 + nest - warp * 1001 % 4 + 896] = y_local[nest];
        }
    }
}
