"""The Python package on a GPU: torch, CuPy and JAX, streams, graphs, torch.compile, and the times.

python tests/gpu/python.py      needs the package and torch with CUDA; the others are optional

Goals: a launch at most 5 us above a raw launch through cuda-python, and the first call of a new
kernel, NVRTC included, at most 150 ms.
"""

import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path

MATMUL = Path(__file__).resolve().parents[2] / "examples" / "matmul" / "matmul.tir"
SCALE = """
kernel scale<N = 1, T: type = f32>(x: T[N], by: f32) -> y: T[N]
{
    for i in N
        y[i] = by * x[i];
}
"""


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(0)


def time_us(call, runs=2000):
    """The time that the host needs for a call; the least of several series."""
    import torch

    best = float("inf")
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(runs):
            call()
        best = min(best, (time.perf_counter() - start) / runs)
        torch.cuda.synchronize()
    return best * 1e6


def raw_launch(text, x, y):
    """A launch of the same kernel, scale(x, y, by), through cuda-python, as fast as it goes."""
    import ctypes

    import torch
    from cuda.bindings import driver, nvrtc

    def check(result):
        assert int(result[0]) == 0, result
        return result[1] if len(result) == 2 else result[1:]

    program = check(nvrtc.nvrtcCreateProgram(text.encode(), b"k.cu", 0, [], []))
    major, minor = torch.cuda.get_device_capability()
    check(nvrtc.nvrtcCompileProgram(program, 1, [f"--gpu-architecture=sm_{major}{minor}".encode()]))
    image = b" " * check(nvrtc.nvrtcGetCUBINSize(program))
    check(nvrtc.nvrtcGetCUBIN(program, image))
    function = check(driver.cuModuleGetFunction(check(driver.cuModuleLoadData(image)), b"scale"))
    stream = torch.cuda.current_stream().cuda_stream
    values = (x.data_ptr(), y.data_ptr(), 2.0)
    arguments = (values, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float))
    n = (x.numel() + 255) // 256
    return lambda: driver.cuLaunchKernel(function, n, 1, 1, 256, 1, 1, 0, stream, arguments, 0)


def launch_overhead(torch, tirc):
    scale = tirc.compile(SCALE)
    x = torch.rand(1024, device="cuda")
    y = torch.empty_like(x)
    for _ in range(2):
        scale(x, 2.0, out=y)
        scale(x, 2.0)
    mine, allocating = time_us(lambda: scale(x, 2.0, out=y)), time_us(lambda: scale(x, 2.0))
    print(f"a call: {mine:.2f} us; one that allocates its output: {allocating:.2f} us")
    if importlib.util.find_spec("cuda") and importlib.util.find_spec("cuda.bindings"):
        raw = time_us(raw_launch(scale.cuda, x, y))
        print(
            f"a raw launch through cuda-python: {raw:.2f} us; tirc adds {mine - raw:.2f} us, or "
            f"{allocating - raw:.2f} us with the output"
        )
    else:
        print("SKIPPED: a raw launch, which needs cuda-python")


def first_call(torch, tirc):
    a, b = torch.rand(64, 64, device="cuda"), torch.rand(64, 64, device="cuda")
    torch.cuda.synchronize()
    for which in ("first", "second"):
        start = time.perf_counter()
        tirc.compile(MATMUL, schedule="tiled32", set={"T": 16 if which == "first" else 32})(a, b)
        torch.cuda.synchronize()
        print(
            f"the {which} new kernel of the process: {(time.perf_counter() - start) * 1e3:.0f} ms"
        )


def tensors(torch, tirc):
    mm = tirc.compile(MATMUL, schedule="tiled32")
    a, b = torch.rand(100, 70, device="cuda"), torch.rand(70, 50, device="cuda")
    expected = (a.double() @ b.double()).float()
    torch.testing.assert_close(mm(a, b), expected)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        c = torch.empty_like(expected)
        torch.cuda._sleep(10_000_000)
        a2 = a * 2  # after the sleep: a call on another stream would read too early
        mm(a2, b, out=c)
    side.synchronize()
    torch.testing.assert_close(c, 2 * expected)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        mm(a, b, out=c)
    a.copy_(torch.rand_like(a))
    graph.replay()
    torch.testing.assert_close(c, (a.double() @ b.double()).float())
    try:
        mm(a, b.cpu())
        raise AssertionError("arrays on two devices")
    except tirc.ArgumentValueError as e:
        assert e.parameter == "B"
    op = tirc.torch.op("tirc_gpu::matmul", mm)
    f = torch.compile(lambda a, b: op(a, b).relu(), fullgraph=True)
    torch.testing.assert_close(f(a, b), (a.double() @ b.double()).float().relu())
    assert mm.verify() and mm.bench(versus=torch.matmul).median_ms > 0
    print("torch: in place, on a stream, in a graph, under torch.compile")


def other_libraries(tirc):
    mm = tirc.compile(MATMUL, schedule="tiled32")
    if importlib.util.find_spec("cupy"):
        import cupy

        a, b = cupy.random.rand(20, 30, dtype="f4"), cupy.random.rand(30, 40, dtype="f4")
        with cupy.cuda.Stream(non_blocking=True) as stream:
            c = mm(a, b)
        stream.synchronize()
        assert isinstance(c, cupy.ndarray)
        cupy.testing.assert_allclose(c, a @ b, rtol=1e-4)
        print("CuPy: on a stream")
    if importlib.util.find_spec("jax"):
        import jax

        if any(d.platform == "gpu" for d in jax.devices()):
            a, b = jax.numpy.ones((20, 30)), jax.numpy.ones((30, 40))
            c = mm(a, b)
            assert isinstance(c, jax.Array) and (c == 30).all()
            print("JAX")


def main():
    if not importlib.util.find_spec("torch"):
        skip("there is no torch")
    import torch

    if not torch.cuda.is_available():
        skip("torch sees no GPU")
    if not importlib.util.find_spec("tirc"):
        skip("the package is not installed: pip install .")
    os.environ["TIRC_CACHE_DIR"] = tempfile.mkdtemp()  # an empty cache
    start = time.perf_counter()
    import tirc

    print(f"import tirc: {(time.perf_counter() - start) * 1e3:.1f} ms")
    first_call(torch, tirc)
    tensors(torch, tirc)
    other_libraries(tirc)
    launch_overhead(torch, tirc)


if __name__ == "__main__":
    main()
