"""Where the time of a call from Python goes, without a GPU: its launches are those of fake_cuda.c.

python tests/python/overhead.py FAKE_CUDA.so      needs the package and torch

Tensors lie in host memory and are passed to a kernel for the GPU, which computes nothing.
Each figure is the least of many short series, since other programs disturb them.
tests/gpu/python.py measures whole calls on a GPU.
"""

import os
import sys
import timeit
from pathlib import Path

MATMUL = Path(__file__).resolve().parents[2] / "examples" / "matmul" / "matmul.tir"


def time_us(call):
    return min(timeit.repeat(call, number=100, repeat=300)) * 1e4


def launch_instead(repeat):
    """From now on the call launches on the GPU instead of running on the simulator."""
    from tirc import arrays

    unit, number = repeat.call.unit, arrays.HOST
    repeat.native.program = repeat.call.program = unit.load(0)
    repeat.on_host = False
    arrays.Torch.current_device = staticmethod(number.__int__)
    arrays.Torch.current_stream = staticmethod({number: 1}.__getitem__)


def main():
    os.environ["TIRC_CUDART"] = os.environ["TIRC_NVRTC"] = os.path.abspath(sys.argv[1])
    os.environ["TIRC_CACHE_DIR"] = ""
    import tirc
    import torch
    from tirc._call import tensor_key

    mm = tirc.compile(MATMUL, schedule="naive")
    a, b, c = torch.rand(8, 8), torch.rand(8, 8), torch.rand(8, 8)
    for out in (c, None):
        for _ in range(2):  # the first call sees that there is torch
            mm(a, b, out=out)
        launch_instead(mm._repeated)
        given = "" if out is None else ", out=c"
        print(f"mm(a, b{given}): {time_us(lambda: mm(a, b, out=out)):.2f} us")
    repeat = mm._repeated
    print(f"  of that, the repeated call: {time_us(lambda: repeat.try_again((a, b))):.2f} us")
    print(f"    its output: {time_us(repeat.makers[0]):.2f} us")
    print(f"    the launch: {time_us(lambda: repeat.call.launch(1)):.2f} us")
    by_key = time_us(lambda: mm._call_key(tensor_key((a, b)), (a, b), None))
    print(f"by its key, as before torch 2.10: {by_key:.2f} us")


if __name__ == "__main__":
    main()
