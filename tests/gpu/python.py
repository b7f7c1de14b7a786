"""The Python package on a GPU: torch, CuPy and JAX, streams, graphs, torch.compile, and the times.

python tests/gpu/python.py      needs the package; prints a table, and exits with 1 if a check fails

What is not installed is said, and not a failure. The goals: a launch at most 5 us above a raw one
through cuda-python, and the first call of a new kernel, NVRTC included, at most 150 ms.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

MATMUL = Path(__file__).resolve().parents[2] / "examples" / "matmul" / "matmul.tir"
SCALE = """
kernel scale<N = 1, T: type = f32>(x: T[N], by: f32) -> y: T[N]
{
    for i in N
        y[i] = by * x[i];
}
"""
ADD = "kernel add<N = 1>(inout x: f32[N], y: f32[N]) { for i in N x[i] += y[i]; }"
IMPORT = """
import time
start = time.process_time()
import tirc
tirc.compile  # loads the library
print((time.process_time() - start) * 1e3)
"""


class Missing(Exception):
    """What a check needs and is not there."""


def need(*modules):
    """The modules, imported."""
    for name in modules:
        try:
            found = importlib.util.find_spec(name)
        except ModuleNotFoundError:  # of the package around it
            found = None
        if not found:
            raise Missing(f"not installed: {name}")
    return [importlib.import_module(name) for name in modules]


def torch_on_gpu():
    (torch,) = need("torch")
    if not torch.cuda.is_available():
        raise Missing("torch sees no GPU")
    return torch


def limited(value, goal, unit):
    assert value <= goal, f"{value:.1f} {unit} is above {goal} {unit}"
    return f"{value:.1f} {unit}, at most {goal}"


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


# ---- checks: what each returns is a row of the table ---------------------------------------------


def import_with_the_library():
    env = dict(os.environ, PYTHONPYCACHEPREFIX=tempfile.mkdtemp(), PYTHONDONTWRITEBYTECODE="")
    runs = [subprocess.check_output([sys.executable, "-c", IMPORT], env=env) for _ in range(9)]
    return limited(min(map(float, runs)), 30, "ms")


def first_call(tile=16):
    """Of a kernel that is in no cache, with NVRTC."""
    torch = torch_on_gpu()
    import tirc

    a, b = torch.rand(64, 64, device="cuda"), torch.rand(64, 64, device="cuda")
    torch.cuda.synchronize()
    start = time.perf_counter()
    c = tirc.compile(MATMUL, schedule="tiled32", set={"T": tile})(a, b)
    torch.cuda.synchronize()
    taken = (time.perf_counter() - start) * 1e3
    torch.testing.assert_close(c, (a.double() @ b.double()).float())
    return limited(taken, 150, "ms")


def second_kernel():
    return first_call(32)


def torch_tensors():
    torch = torch_on_gpu()
    import tirc

    mm, add = tirc.compile(MATMUL, schedule="tiled32"), tirc.compile(ADD)
    a, b = torch.rand(100, 70, device="cuda"), torch.rand(70, 50, device="cuda")
    expected = (a.double() @ b.double()).float()
    torch.testing.assert_close(mm(a, b), expected)
    c = torch.empty_like(expected)
    assert mm(a, b, out=c) is c
    torch.testing.assert_close(c, expected)
    x, y = torch.rand(5000, device="cuda"), torch.rand(5000, device="cuda")
    total, place = x + y, x.data_ptr()
    assert add(x, y) is x and x.data_ptr() == place
    torch.testing.assert_close(x, total)
    try:
        mm(a, b.cpu())
        raise AssertionError("arrays on two devices")
    except tirc.ArgumentValueError as e:
        assert e.parameter == "B"
    return "read and written in place"


def torch_stream():
    torch = torch_on_gpu()
    import tirc

    mm = tirc.compile(MATMUL, schedule="tiled32")
    a, b = torch.rand(100, 70, device="cuda"), torch.rand(70, 50, device="cuda")
    c, expected = torch.empty(100, 50, device="cuda"), (a.double() @ b.double()).float()
    mm(a, b, out=c)
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(10_000_000)
        a2 = a * 2  # after the sleep: a call on another stream would read too early
        mm(a2, b, out=c)
    side.synchronize()
    torch.testing.assert_close(c, 2 * expected)
    return "a call waits for what its stream does"


def torch_graph():
    torch = torch_on_gpu()
    import tirc

    mm = tirc.compile(MATMUL, schedule="tiled32")
    a, b = torch.rand(100, 70, device="cuda"), torch.rand(70, 50, device="cuda")
    c = mm(a, b)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        mm(a, b, out=c)
    for _ in range(2):
        a.copy_(torch.rand_like(a))
        graph.replay()
        torch.testing.assert_close(c, (a.double() @ b.double()).float())
    return "captured, and replayed on other data"


def torch_compiled():
    torch = torch_on_gpu()
    need("triton")
    import tirc

    op = tirc.torch.op("tirc_gpu::matmul", tirc.compile(MATMUL, schedule="tiled32"))
    f = torch.compile(lambda a, b: op(a, b).relu() + 1, fullgraph=True)
    for n in (100, 60):  # the second time with symbolic shapes
        a, b = torch.rand(n, 70, device="cuda"), torch.rand(70, 50, device="cuda")
        torch.testing.assert_close(f(a, b), (a.double() @ b.double()).float().relu() + 1)
    return "fullgraph=True, with Inductor"


def verified_and_measured():
    torch = torch_on_gpu()
    import tirc

    mm = tirc.compile(MATMUL, schedule="tiled32", M=256, N=256, K=256)
    a, b = torch.rand(256, 256, device="cuda"), torch.rand(256, 256, device="cuda")
    mm(a, b)
    assert mm.verify()
    return f"{mm.bench(versus=torch.matmul).median_ms * 1e3:.1f} us for 256 x 256 x 256"


def cupy_arrays():
    (cupy,) = need("cupy")
    import tirc

    mm, add = tirc.compile(MATMUL, schedule="tiled32"), tirc.compile(ADD)
    a, b = cupy.random.rand(20, 30, dtype="f4"), cupy.random.rand(30, 40, dtype="f4")
    x, y = cupy.random.rand(500, dtype="f4"), cupy.random.rand(500, dtype="f4")
    total, place = x + y, x.data.ptr
    cupy.cuda.Device().synchronize()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        c = mm(a, b)
        assert add(x, y) is x and x.data.ptr == place
    stream.synchronize()
    assert isinstance(c, cupy.ndarray)
    cupy.testing.assert_allclose(c, a @ b, rtol=1e-4)
    cupy.testing.assert_allclose(x, total)
    return "in place, on a stream"


def jax_arrays():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    (jax,) = need("jax")
    import tirc

    if not any(device.platform == "gpu" for device in jax.devices()):
        raise Missing("jax sees no GPU")
    a = jax.random.uniform(jax.random.key(0), (20, 30))
    b = jax.random.uniform(jax.random.key(1), (30, 40))
    c = tirc.compile(MATMUL, schedule="tiled32")(a, b)
    assert isinstance(c, jax.Array) and c.devices() == a.devices()
    assert abs(c - jax.numpy.matmul(a, b, precision="highest")).max() < 1e-4
    return "read in place; the result is an array of JAX"


def overhead(allocates=False):
    """Of a call above a raw launch."""
    torch = torch_on_gpu()
    need("cuda.bindings")
    import tirc

    scale = tirc.compile(SCALE)
    x = torch.rand(1024, device="cuda")
    y = torch.empty_like(x)
    call = (lambda: scale(x, 2.0)) if allocates else (lambda: scale(x, 2.0, out=y))
    call(), call()  # the first calls look at each argument
    whole, raw = time_us(call), time_us(raw_launch(scale.cuda, x, y))
    return f"{whole:.2f} us, a raw launch {raw:.2f}: adds {limited(whole - raw, 5, 'us')}"


def overhead_with_the_output():
    return overhead(allocates=True)


CHECKS = {
    "import tirc, with the library": import_with_the_library,
    "first new kernel, with NVRTC": first_call,
    "second new kernel": second_kernel,
    "torch: tensors": torch_tensors,
    "torch: another stream": torch_stream,
    "torch: a CUDA graph": torch_graph,
    "torch.compile": torch_compiled,
    "verify and bench": verified_and_measured,
    "CuPy: arrays": cupy_arrays,
    "JAX: arrays": jax_arrays,
    "a call": overhead,
    "a call that allocates": overhead_with_the_output,
}


def verdict(check):
    try:
        return "ok", check()
    except Missing as missing:
        return "-", str(missing)
    except Exception as e:  # of any library; the others are still checked
        traceback.print_exc()
        return "FAILED", f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"[:90]


def main():
    if not importlib.util.find_spec("tirc"):
        sys.exit("the package is not installed: pip install .")
    os.environ["TIRC_CACHE_DIR"] = tempfile.mkdtemp()  # an empty cache
    verdicts = []
    for name, check in CHECKS.items():
        answer, what = verdict(check)
        verdicts.append(answer)
        print(f"{answer:8}{name:32}{what}", flush=True)
    if "ok" not in verdicts[1:]:
        print("SKIPPED: nothing here runs on a GPU")
    sys.exit("FAILED" in verdicts)


if __name__ == "__main__":
    main()
