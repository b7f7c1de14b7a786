"""Repeated calls on tensors of torch on a GPU, without either: the GPU is fake_cuda.c, and a module
stands in for torch. $TIRC_FAKE_CUDA is the GPU's library."""

import ctypes
import os
import re
import sys
import threading
import types

import numpy as np
import pytest
import tirc
from conftest import held, works_in_a_child
from tirc import arrays, kernel

FAKE = os.environ.get("TIRC_FAKE_CUDA")
pytestmark = pytest.mark.skipif(not FAKE, reason="$TIRC_FAKE_CUDA names no library")
SCALE = """
kernel scale<N = 8>(x: f32[N], by: f32, count: i32) -> y: f32[N]
{
    for i in N
        y[i] = by * x[i] + f32(count);
}
"""
ADD = "kernel add<N = 8>(inout x: f32[N], y: f32[N]) { for i in N x[i] += y[i]; }"


class Tensor:
    """Aligned memory of this process that says it is the GPU's."""

    def __init__(self, n, dtype="float32", device="cuda:0", base=None, at=0, stride=1):
        self.memory = np.zeros(4 * n + 64, "f4") if base is None else base.memory
        self.at = (-self.memory.ctypes.data % 256) // 4 + at
        self.shape, self.dtype, self.device, self.step = (n,), dtype, device, stride

    is_cuda = property(lambda self: self.device.startswith("cuda"))
    is_cpu = property(lambda self: self.device == "cpu")

    def get_device(self):
        return int(self.device[5:]) if self.is_cuda else -1

    def data_ptr(self):
        return self.memory.ctypes.data + 4 * self.at

    def is_contiguous(self):
        return self.step == 1

    def stride(self):
        return (self.step,)


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Exchange(ctypes.Structure):
    READ = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("prev_api", ctypes.c_void_p),
        ("unused", ctypes.c_void_p * 3),
        ("read", READ),
        ("current_work_stream", ctypes.c_void_p),
    ]


def read(tensor, out):
    """dltensor_from_py_object_no_sync"""
    if tensor.device == "meta":
        return -1
    tensor.c_shape = (ctypes.c_int64 * 1)(*tensor.shape)
    tensor.c_strides = (ctypes.c_int64 * 1)(*tensor.stride())
    t = out.contents
    t.data, t.byte_offset, t.ndim = tensor.data_ptr() - 16, 16, 1
    t.device_type, t.device_id = (2, tensor.get_device()) if tensor.is_cuda else (1, 0)
    t.code, t.lanes, t.bits = 2, 1, int(tensor.dtype[5:])
    t.shape, t.strides = tensor.c_shape, tensor.c_strides
    return 0


TABLE = Exchange(major=1, minor=3, read=Exchange.READ(read))
NEW = ctypes.pythonapi.PyCapsule_New
NEW.restype, NEW.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
NAME = b"dlpack_exchange_api"  # the capsule does not copy it
CAPSULE = NEW(ctypes.addressof(TABLE), NAME, None)


class Machine:
    """What torch knows of the GPU: the current device and stream."""

    def __init__(self):
        self.device, self.stream = 0, 0x50

    def guard(self, device):
        class Guard:
            def __enter__(_):
                self.before, self.device = self.device, device

            def __exit__(_, *unused):
                self.device = self.before

        return Guard()


@pytest.fixture(params=["exchange", "attributes", "public"])
def gpu(request, monkeypatch):
    """With the table of functions since torch 2.10, with private and with public calls only."""
    machine = Machine()
    torch = types.ModuleType("torch")
    torch.Tensor = type("Tensor", (Tensor,), {})
    torch.nn = types.SimpleNamespace(Parameter=type("Parameter", (torch.Tensor,), {}))
    torch.float32, torch.float64 = "float32", "float64"
    torch.empty = lambda shape, dtype, device: torch.Tensor(*shape, dtype)
    torch.cuda = types.SimpleNamespace(
        device=machine.guard,
        current_device=lambda: machine.device,
        current_stream=lambda device: types.SimpleNamespace(cuda_stream=machine.stream + device),
    )
    torch._C = types.SimpleNamespace()
    if request.param != "public":
        torch._C._cuda_getDevice = lambda: machine.device
        torch._C._cuda_getCurrentRawStream = lambda device: machine.stream + device
    if request.param == "exchange":
        torch.Tensor.__dlpack_c_exchange_api__ = CAPSULE
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(arrays.Torch, "classes", frozenset())
    monkeypatch.setattr(arrays, "_VIEWERS", {})
    monkeypatch.setattr(arrays, "_LIBRARIES", {})
    for variable in ("TIRC_CUDART", "TIRC_NVRTC"):
        monkeypatch.setenv(variable, FAKE)
    monkeypatch.setenv("TIRC_CACHE_DIR", "")
    machine.torch = torch
    yield machine
    ctypes.CDLL(FAKE).fake_on_launch(None)


class Launches:
    """The arguments of each launch by name, and its stream."""

    CALLBACK = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)
    TYPES = {"by": ctypes.c_float, "count": ctypes.c_int}

    def __init__(self, text):
        signature = re.search(r"__launch_bounds__\(\d+\)\s*\w+\(([^)]*)\)", text)[1]
        self.names = [re.search(r"\w+$", part)[0] for part in signature.split(",")]
        self.found = []
        self.callback = self.CALLBACK(self.add)
        ctypes.CDLL(FAKE).fake_on_launch(self.callback)

    def add(self, arguments, stream):
        values = {"stream": stream}
        for i, name in enumerate(self.names):
            kind = self.TYPES.get(name, ctypes.c_uint64)
            values[name] = ctypes.cast(arguments[i], ctypes.POINTER(kind))[0]
        self.found.append(values)


@pytest.fixture
def only_repeats(monkeypatch):
    """From its call on, arguments are not looked at one by one."""

    def begin():
        def looked_at(*unused):
            raise AssertionError("the call was not repeated")

        monkeypatch.setattr(kernel.Kernel, "_call", looked_at)

    return begin


def begin(text, *args, **named):
    """A kernel after its first calls, and its launches."""
    made = tirc.compile(text)
    for _ in range(2):  # the first one sees that there is torch
        made(*args, **named)
    has_table = hasattr(sys.modules["torch"].Tensor, "__dlpack_c_exchange_api__")
    assert (made._repeated.native is not None) == has_table
    return made, Launches(made.cuda)


def test_addresses_values_and_the_stream(gpu, only_repeats):
    x = gpu.torch.Tensor(8)
    scale, launches = begin(SCALE, x, 0.5, 3)
    only_repeats()
    for by, count, stream in ((0.25, 3, 0x50), (2, -7, 0x60), (2, 2**31 - 1, 0x60)):
        gpu.stream = stream
        other = gpu.torch.Tensor(8)
        y = scale(other, by, count)
        assert type(y) is gpu.torch.Tensor and y.shape == (8,)
        expected = {"x": other.data_ptr(), "y": y.data_ptr(), "by": by, "count": count}
        assert launches.found.pop() == expected | {"stream": stream}
    assert not launches.found


def test_given_outputs_and_parameters(gpu, only_repeats):
    x, y = gpu.torch.nn.Parameter(8), gpu.torch.Tensor(8)
    scale, launches = begin(SCALE, x, 0.5, 3, out=y)
    only_repeats()
    assert scale(x, 0.5, 3, out=y) is y and scale(x, 0.5, 3, out=(y,)) is y
    assert [found["y"] for found in launches.found] == [y.data_ptr()] * 2


def test_other_shapes_are_other_calls(gpu, only_repeats):
    sizes = 8, 16, 24
    scale = tirc.compile(SCALE)
    for _ in range(2):
        for n in sizes:
            assert scale(gpu.torch.Tensor(n), 0.5, 3).shape == (n,)
    only_repeats()
    for n in sizes:
        assert scale(gpu.torch.Tensor(n), 0.5, 3).shape == (n,)


def test_prepared(gpu, monkeypatch, tmp_path):
    """A first call finds what was compiled ahead of it, and only that."""
    monkeypatch.setenv("TIRC_CACHE_DIR", str(tmp_path))
    tirc.compile(SCALE).prepare(N=8)
    assert len(list(tmp_path.iterdir())) == 1
    for n, compiled in ((8, 1), (16, 2)):
        tirc.compile(SCALE)(gpu.torch.Tensor(n), 0.5, 3)
        assert len(list(tmp_path.iterdir())) == compiled


def test_repeated_calls_refuse_what_first_ones_do(gpu):
    tensor = gpu.torch.Tensor
    x, y = tensor(8), tensor(8)
    add, launches = begin(ADD, x, y)
    cases = [
        ((x, tensor(9)), "y"),
        ((x, tensor(8, "float64")), "y"),
        ((x, tensor(8, stride=2)), "y"),
        ((x, tensor(8, device="cuda:1")), "y"),
        ((x, tensor(8, device="cpu")), "y"),
        ((x, tensor(8, device="meta")), "y"),
        ((x, tensor(8, base=x, at=4)), "x"),
        ((x, tensor(8, at=1)), "y"),
        ((x, 1.5), "y"),
        ((x,), "y"),
    ]
    for args, parameter in cases:
        for _ in range(2):
            with pytest.raises((tirc.ArgumentTypeError, tirc.ArgumentValueError)) as e:
                add(*args)
            assert e.value.parameter == parameter, e.value
            assert not launches.found
            assert add(x, y) is x and launches.found.pop()
    scale, launches = begin(SCALE, x, 0.5, 3)
    for by, count, parameter in ((1e60, 3, "by"), (0.5, 2**31, "count"), (0.5, 1.5, "count")):
        for _ in range(2):
            with pytest.raises(tirc.Error) as e:
                scale(x, by, count)
            assert e.value.parameter == parameter and not launches.found
        scale(x, 0.5, 3)
        found = launches.found.pop()
        assert (found["by"], found["count"]) == (0.5, 3)


def test_another_device(gpu, only_repeats):
    x = gpu.torch.Tensor(8, device="cuda:1")
    y = gpu.torch.Tensor(8, device="cuda:1")
    scale, launches = begin(SCALE, x, 0.5, 3, out=y)
    only_repeats()
    scale(x, 0.5, 3, out=y)
    assert launches.found.pop()["stream"] == 0x51 and gpu.device == 0


def test_threads_repeat_one_call(gpu, only_repeats):
    """Their arguments do not mix."""
    pairs = [(gpu.torch.Tensor(8), gpu.torch.Tensor(8)) for _ in range(4)]
    scale, launches = begin(SCALE, pairs[0][0], 0.5, 3, out=pairs[0][1])
    only_repeats()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [
            threading.Thread(
                target=lambda x, y: [scale(x, 1, 3, out=y) for _ in range(300)], args=p
            )
            for p in pairs
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    found = [(launch["x"], launch["y"]) for launch in launches.found]
    assert sorted(found) == sorted(
        (x.data_ptr(), y.data_ptr()) for x, y in pairs for _ in range(300)
    )


def test_a_child_repeats_calls(gpu):
    x, y = (gpu.torch.Tensor(8, device="cpu") for _ in range(2))
    scale = tirc.compile(SCALE)
    for _ in range(3):
        scale(x, 0.5, 3, out=y)

    def check():
        scale(x, 0.5, 5, out=y)
        return y.memory[y.at] == 5

    with held(scale._repeated.lock):
        assert works_in_a_child(check)
