// wavefront: 1 launch
//   a: i32[20, 20], read and written
// wavefront<<<1, 20>>>(a);

extern "C" __global__ void __launch_bounds__(20)
wavefront(int *a)
{
    const int i = threadIdx.x;
    for (int d = 0; d < 39; ++d) {
        if (i > 0 && i < d && d <= i + 19)
            a[i * 20 + d - i] =
                (int)((unsigned int)a[i * 20 + d - i] + a[(i - 1) * 20 + d - i]
                      + a[i * 20 + d - i - 1]);
        __syncthreads();  // a: written above, read in the next iteration of d by other threads
    }
}
