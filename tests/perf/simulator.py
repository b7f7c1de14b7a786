#!/usr/bin/env python3
"""tests/perf/simulator.py TIRC [--numba PYTHON] [--triton PYTHON]: the time of the simulator on the
tiled matmul, and beside it what else runs GPU kernels without a GPU: Numba's CUDA simulator on the
same kernel (a block of 32 x 32 threads, tiles in shared memory), and Triton's interpreter on a
matmul of 32 x 32 tiles (triton_matmul.py). PYTHON is an interpreter that has the package."""

import argparse
import json
import os
import subprocess
import sys

NUMBA = """
import sys, time
import numpy as np
from numba import cuda, float32
T = 32
@cuda.jit
def matmul(A, B, C):
    sA = cuda.shared.array((T, T), float32)
    sB = cuda.shared.array((T, T), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = cuda.blockIdx.y * T + ty, cuda.blockIdx.x * T + tx
    acc = float32(0.)
    for ko in range(A.shape[1] // T):
        sA[ty, tx] = A[i, ko * T + tx]
        sB[ty, tx] = B[ko * T + ty, j]
        cuda.syncthreads()
        for ki in range(T):
            acc += sA[ty, ki] * sB[ki, tx]
        cuda.syncthreads()
    C[i, j] = acc
n = int(sys.argv[1])
A, B = np.random.rand(n, n).astype(np.float32), np.random.rand(n, n).astype(np.float32)
C = np.zeros((n, n), np.float32)
start = time.perf_counter()
matmul[(n // T, n // T), (T, T)](A, B, C)
print(time.perf_counter() - start)
assert np.allclose(C, A @ B, rtol=1e-3)
"""


def tirc_seconds(tirc, n):
    """The best of three runs: (seconds, seconds of all cores together)."""
    sizes = [w for s in "MNK" for w in ("-D", f"{s}={n}")]
    best = None
    for _ in range(3):
        before = os.times()
        out = subprocess.run(
            [
                tirc,
                "examples/matmul/matmul.tir",
                "--schedule",
                "tiled32",
                *sizes,
                "--run",
                "--device",
                "sim",
                "--json",
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        after = os.times()
        took = json.loads(out)["run"]["ms"] / 1e3, after.children_user - before.children_user
        best = min(best or took, took)
    return best


def other_seconds(python, words, n, environment):
    """Of the kernel alone; and of all cores together, of the process less what it takes for the
    smallest product."""

    def cores(n):
        before = os.times()
        done = subprocess.run(
            [python, *words, str(n)],
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
        )
        return float(
            done.stdout.split()[0]
        ) if done.returncode == 0 else None, os.times().children_user - before.children_user

    seconds, cpu = cores(n)
    return seconds, cpu - cores(32)[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tirc")
    parser.add_argument("--numba")
    parser.add_argument("--triton")
    parser.add_argument("--largest", type=int, default=1024)
    args = parser.parse_args()
    ours, cores = {}, {}
    for n in (size for size in (64, 128, 256, 512, 1024) if size <= args.largest):
        ours[n], cores[n] = tirc_seconds(args.tirc, n)
        print(
            f"tirc, all checks   {n:5}^3  {ours[n] * 1e3:10.1f} ms  {cores[n]:8.2f} "
            f"s of all cores  {ours[n] / n**3 * 1e9:7.3f} ns a multiplication",
            flush=True,
        )
    triton = os.path.join(os.path.dirname(__file__), "triton_matmul.py")
    for name, python, words, n, environment in (
        ("numba simulator", args.numba, ["-c", NUMBA], 64, {"NUMBA_ENABLE_CUDASIM": "1"}),
        ("triton interpreter", args.triton, [triton], 256, {"OPENBLAS_NUM_THREADS": "1"}),
    ):
        seconds, cpu = other_seconds(python, words, n, environment) if python else (None, 0)
        if seconds:
            print(
                f"{name:18} {n:5}^3  {seconds * 1e3:10.1f} ms  {cpu:8.2f} "
                f"s of all cores  {cpu / cores[n]:.0f} times as much of them as tirc"
            )
        else:
            print(f"{name:18} SKIPPED: not installed")


if __name__ == "__main__":
    sys.exit(main())
