# NVIDIA H200 SXM (compute capability 9.0).
name = NVIDIA H200

multiprocessors = 132
clock_mhz = 1980
dram_gbps = 4800                # data sheet; copies reach 4270
l2_gbps = 7900                  # reads that hit it, measured by tests/gpu/counters
f64_gflops = 33454              # 132 * 64 * 2 * 1.98 GHz
f32_gflops = 66908              # 132 * 128 * 2 * 1.98 GHz; 65300 measured
tensor_8_gflops = 2141061      # 132 * 8192 * 1.98 GHz
tensor_16_gflops = 1070531     # half of that
tensor_tf32_gflops = 535265    # a quarter
tensor_64_gflops = 66908       # 132 * 256 * 1.98 GHz

max_threads = 2048
max_blocks = 32
registers = 65536
shared_bytes = 233472           # 228 KB
shared_block_bytes = 232448     # 227 KB
shared_reserved_bytes = 1024
