#!/usr/bin/env python3
"""examples/solvers/measure.py [--seconds S]: these solvers and PyTorch, on a GPU.

Each is compiled with `default` and runs in turns with the same in PyTorch, eager and compiled by
`torch.compile`, in IEEE f32: medians of times of CUDA events with a cold L2 cache, on the same random
inputs. The largest difference to PyTorch's result, relative to its largest element, is printed, too.
Needs `tirc` and `torch` (python/README.md).
"""

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "networks"))
from measure import difference, medians  # noqa: E402

SIZES = {
    "conjugate_gradients": {"N": 8192, "STEPS": 32},
    "sinkhorn": {"M": 4096, "N": 4096, "STEPS": 16},
}


def solvers():
    """For each: the same in PyTorch, and its inputs."""
    import torch

    def conjugate_gradients(a, b):
        x, r, p, rr = torch.zeros_like(b), b, b, b @ b
        for _ in range(SIZES["conjugate_gradients"]["STEPS"]):
            q = a @ p
            step = rr / (p @ q)
            x, r, before = x + step * p, r - step * q, rr
            rr = r @ r
            p = r + rr / before * p
        return x

    def sinkhorn(k):
        v = torch.ones(k.shape[1])
        for _ in range(SIZES["sinkhorn"]["STEPS"]):
            u = 1 / (k @ v)
            v = 1 / (k.T @ u)
        return u, v

    n = SIZES["conjugate_gradients"]["N"]
    m = torch.randn(n, n)
    matrix = m @ m.T / n + torch.eye(n)
    k = torch.rand(SIZES["sinkhorn"]["M"], SIZES["sinkhorn"]["N"]) * 1.5 + 0.5
    return {
        "conjugate_gradients": (conjugate_gradients, (matrix, torch.randn(n))),
        "sinkhorn": (sinkhorn, (k,)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=2)
    seconds = parser.parse_args().seconds
    import tirc
    import torch

    torch.set_default_device("cuda")
    torch.backends.cuda.matmul.allow_tf32 = False
    print("| solver | tirc, ms | eager | compiled | least / tirc | difference |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, (peer, given) in solvers().items():
        ours = tirc.compile(HERE / "solvers.tir", name, schedule="default", **SIZES[name])
        fast = torch.compile(peer)
        runs = [lambda: ours(*given), lambda: peer(*given), lambda: fast(*given)]
        apart = difference(ours(*given), peer(*given))
        fast(*given)
        times = medians(runs, seconds)
        cells = " | ".join(f"{t:.4f}" for t in times)
        print(f"| {name} | {cells} | {min(times[1:]) / times[0]:.2f} | {apart:.0e} |", flush=True)


if __name__ == "__main__":
    main()
