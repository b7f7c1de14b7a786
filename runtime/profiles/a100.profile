# NVIDIA A100 SXM 80 GB (compute capability 8.0).
name = NVIDIA A100 80GB

multiprocessors = 108
clock_mhz = 1410
dram_gbps = 2039
l2_gbps = 7219                  # 5120 bytes a clock (white paper) at 1.41 GHz
f64_gflops = 9746               # 108 * 32 * 2 * 1.41 GHz
f32_gflops = 19492              # 108 * 64 * 2 * 1.41 GHz
tensor_8_gflops = 623739       # 108 * 4096 * 1.41 GHz, of integers
tensor_16_gflops = 311869      # half of that
tensor_tf32_gflops = 155934    # a quarter
tensor_64_gflops = 19492       # 108 * 128 * 1.41 GHz

max_threads = 2048
max_blocks = 32
registers = 65536
shared_bytes = 167936           # 164 KB
shared_block_bytes = 166912     # 163 KB
shared_reserved_bytes = 1024
