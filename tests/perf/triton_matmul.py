"""A tiled product of matrices on Triton's interpreter: python triton_matmul.py N [TILE]; prints
seconds and the largest error.

Needs triton and numpy. The interpreter asks its arguments for a few methods of torch's tensors,
which `Array` has, so that torch is not needed; the time is that of the kernel alone."""

import os
import sys
import time

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import triton
import triton.language as tl


class Array:
    """As much of a tensor on the CPU as the interpreter asks for; it is its own storage."""

    def __init__(self, values):
        self.values = values
        self.dtype = str(values.dtype)

    def data_ptr(self):
        return self.values.ctypes.data

    def untyped_storage(self):
        return self

    cpu = untyped_storage

    def new_empty(self, *_, **__):
        return Array(self.values)

    def set_(self, storage, *_):
        self.values = storage.values

    def copy_(self, other):
        assert other.values is self.values

    def storage_offset(self):
        return 0

    def size(self):
        return self.values.shape

    def stride(self):
        return tuple(s // self.values.itemsize for s in self.values.strides)


@triton.jit
def matmul(a, b, c, n, T: tl.constexpr):
    i = tl.program_id(1) * T + tl.arange(0, T)
    j = tl.program_id(0) * T + tl.arange(0, T)
    acc = tl.zeros((T, T), dtype=tl.float32)
    for k in range(0, n, T):
        ks = k + tl.arange(0, T)
        x = tl.load(a + i[:, None] * n + ks[None, :])
        y = tl.load(b + ks[:, None] * n + j[None, :])
        acc += tl.dot(x, y, input_precision="ieee")
    tl.store(c + i[:, None] * n + j[None, :], acc)


def main():
    n, tile = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 32
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((n, n), dtype=np.float32) for _ in range(2))
    c = np.full((n, n), np.nan, dtype=np.float32)
    start = time.perf_counter()
    matmul[(n // tile, n // tile)](Array(a), Array(b), Array(c), n, T=tile)
    seconds = time.perf_counter() - start
    print(f"{seconds:.3f} {np.abs(c - a @ b).max():.2e}")


if __name__ == "__main__":
    main()
