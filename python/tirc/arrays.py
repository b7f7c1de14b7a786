"""Arrays of other libraries, without copies: torch, CuPy, JAX, NumPy, and whatever speaks one of
their protocols (__array_interface__, __cuda_array_interface__, DLPack)."""

from __future__ import annotations

import importlib
import sys
from typing import Any, Callable

from . import errors
from ._native import ffi, lib

HOST = -1
"""The device number of memory of this process; GPUs count from 0."""

_NAMES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint64": "u64",
    "uint32": "u32",
    "uint16": "u16",
    "uint8": "u8",
    "bool": "bool",
}
_LIBRARY_NAMES = {ours: theirs for theirs, ours in _NAMES.items()}
_TYPESTRS = {
    "<f8": "f64",
    "<f4": "f32",
    "<f2": "f16",
    "<i8": "i64",
    "<i4": "i32",
    "<i2": "i16",
    "|i1": "i8",
    "<u8": "u64",
    "<u4": "u32",
    "<u2": "u16",
    "|u1": "u8",
    "|b1": "bool",
}
# (code, bits) of dlpack.h
_DLPACK = {
    (2, 64): "f64",
    (2, 32): "f32",
    (2, 16): "f16",
    (4, 16): "bf16",
    (0, 64): "i64",
    (0, 32): "i32",
    (0, 16): "i16",
    (0, 8): "i8",
    (1, 64): "u64",
    (1, 32): "u32",
    (1, 16): "u16",
    (1, 8): "u8",
    (6, 8): "bool",
    (10, 8): "f8e4m3",
    (12, 8): "f8e5m2",
}
_BYTES = {"f64": 8, "i64": 8, "u64": 8, "f32": 4, "i32": 4, "u32": 4} | dict.fromkeys(
    ("f16", "bf16", "i16", "u16"), 2
)
_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13  # device types of dlpack.h


class View:
    """An array as a kernel sees it."""

    __slots__ = ("type", "shape", "address", "device", "writable", "owner")

    def __init__(
        self,
        type: str,
        shape: tuple[int, ...],
        address: int,
        device: int,
        writable: bool,
        owner: object,
    ) -> None:
        self.type = type
        self.shape = shape
        self.address = address
        self.device = device
        self.writable = writable
        self.owner = owner


_DLPACK_TYPES = {ours: theirs for theirs, ours in _DLPACK.items()}


def dlpack_type(type: str) -> tuple[int, int]:
    return _DLPACK_TYPES[type]


def dlpack_device(number: int) -> tuple[int, int]:
    return (_CPU, 0) if number == HOST else (_CUDA, number)


def bytes_of(type: str) -> int:
    return _BYTES.get(type, 1)


def _refuse_layout(name: str, strides: object) -> errors.Error:
    return errors.ArgumentValueError(
        f"'{name}' is not contiguous: its rows must follow each other without gaps (C order), but "
        f"its strides are {tuple(strides) if isinstance(strides, (tuple, list)) else strides}; "
        "make a copy that is",
        parameter=name,
    )


def _refuse_type(name: str, found: object) -> errors.Error:
    return errors.ArgumentTypeError(f"'{name}': tirc has no type {found}", parameter=name)


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...] | None, unit: int) -> bool:
    if strides is None or 0 in shape:
        return True
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != unit:
            return False
        unit *= extent
    return True


# ---- one function for each protocol ----------------------------------------------------------


def _view_interface(name: str, array: Any, interface: dict[str, Any], device: int) -> View:
    shape, typestr = tuple(interface["shape"]), interface["typestr"]
    type = _TYPESTRS.get(typestr) or _NAMES.get(str(getattr(array, "dtype", "")))
    if type is None:
        raise _refuse_type(name, getattr(array, "dtype", typestr))
    if not _is_contiguous(shape, interface.get("strides"), bytes_of(type)):
        raise _refuse_layout(name, interface["strides"])
    address, read_only = interface["data"]
    return View(type, shape, address or 0, device, not read_only, array)


def _view_host(name: str, array: Any) -> View:
    return _view_interface(name, array, array.__array_interface__, HOST)


def _view_cuda(name: str, array: Any) -> View:
    device = getattr(getattr(array, "device", None), "id", 0)
    return _view_interface(name, array, array.__cuda_array_interface__, device or 0)


def _dlpack_stream(array: Any) -> dict[str, Any]:
    # The default stream: the producer's work comes before ours, which waits for that stream.
    return {"stream": 1} if array.__dlpack_device__()[0] == _CUDA else {}


def _view_dlpack(name: str, array: Any) -> View:
    try:
        capsule = array.__dlpack__(**_dlpack_stream(array))
    except BufferError as e:
        raise errors.ArgumentValueError(f"'{name}': {e}", parameter=name) from e
    t = ffi.new("tirc_dlpack *")
    if not lib.tirc_dlpack_read(id(capsule), t):
        raise errors.ArgumentTypeError(f"'{name}' exports no array by DLPack", parameter=name)
    type = _DLPACK.get((t.code, t.bits)) if t.lanes == 1 else None
    if type is None:
        raise _refuse_type(name, getattr(array, "dtype", "of this array"))
    if t.device_type not in (_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED):
        raise errors.ArgumentValueError(
            f"'{name}' is neither on a CUDA device nor in host memory", parameter=name
        )
    shape = tuple(ffi.unpack(t.shape, t.ndim)) if t.ndim else ()
    strides = tuple(ffi.unpack(t.strides, t.ndim)) if t.ndim and t.strides != ffi.NULL else None
    if not _is_contiguous(shape, strides, 1):
        raise _refuse_layout(name, strides)
    device = t.device_id if t.device_type in (_CUDA, _CUDA_MANAGED) else HOST
    return View(type, shape, int(ffi.cast("uintptr_t", t.data)), device, True, (array, capsule))


class Torch:
    """What a fast call needs of torch; set when the first tensor is seen."""

    classes: frozenset[type] = frozenset()
    """of tensors whose attributes are just read"""
    tensor: type
    types: dict[object, str] = {}
    current_device: staticmethod[[], int]
    current_stream: staticmethod[[int], int]
    exchange: Any
    """its table of functions for DLPack, since torch 2.10; else NULL"""

    @classmethod
    def begin(cls) -> None:
        torch = sys.modules["torch"]
        cls.types = {
            getattr(torch, theirs): ours
            for theirs, ours in _NAMES.items()
            if hasattr(torch, theirs)
        }
        # As Triton and Inductor do; the public calls take microseconds.
        private = torch._C
        cls.current_device = staticmethod(
            getattr(private, "_cuda_getDevice", torch.cuda.current_device)
        )
        cls.current_stream = staticmethod(
            getattr(private, "_cuda_getCurrentRawStream", _public_stream)
        )
        capsule = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
        cls.exchange = lib.tirc_exchange_open(id(capsule))
        cls.tensor = torch.Tensor
        cls.classes = frozenset((torch.Tensor, torch.nn.Parameter))


def _public_stream(device: int) -> int:
    return int(sys.modules["torch"].cuda.current_stream(device).cuda_stream)


def torch_type(type: str) -> Any:
    return getattr(sys.modules["torch"], _LIBRARY_NAMES[type])


def _view_torch(name: str, array: Any) -> View:
    if not Torch.classes:
        Torch.begin()
    type = Torch.types.get(array.dtype)
    if type is None:
        raise _refuse_type(name, array.dtype)
    if not array.is_contiguous():
        raise _refuse_layout(name, array.stride())
    if not (array.is_cuda or array.is_cpu):
        raise errors.ArgumentValueError(
            f"'{name}' is on {array.device}, neither on a CUDA device nor in host memory",
            parameter=name,
        )
    return View(type, array.shape, array.data_ptr(), array.get_device(), True, array)


def _is_torch(kind: type) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(kind, torch.Tensor)


def _choose(array: object) -> Callable[[str, Any], View] | None:
    if _is_torch(type(array)):
        return _view_torch
    if hasattr(array, "__cuda_array_interface__"):
        return _view_cuda
    if hasattr(array, "__array_interface__"):
        return _view_host
    return _view_dlpack if hasattr(array, "__dlpack__") else None


_VIEWERS: dict[type, Callable[[str, Any], View]] = {}


def view(name: str, array: object) -> View:
    """The array as tirc sees it, without a copy."""
    viewer = _VIEWERS.get(type(array))
    if viewer is None:
        viewer = _choose(array)
        if viewer is None:
            raise errors.ArgumentTypeError(
                f"'{name}' needs an array (torch, CuPy, JAX, NumPy, or any with DLPack), found "
                f"{type(array).__name__}",
                parameter=name,
            )
        # JAX has arrays of one type on several kinds of devices.
        if viewer is _view_torch or type(array).__module__ == "numpy":
            _VIEWERS[type(array)] = viewer
    return viewer(name, array)


# ---- outputs ---------------------------------------------------------------------------------


_LIBRARIES: dict[type, str] = {}


def library_of(array: object) -> str:
    """The library whose arrays a call returns."""
    kind = type(array)
    found = _LIBRARIES.get(kind)
    if found is None:
        found = "torch" if _is_torch(kind) else kind.__module__.split(".")[0]
        _LIBRARIES[kind] = found
    return found


def _numpy_type(name: str, type: str) -> Any:
    numpy = importlib.import_module("numpy")
    theirs = _LIBRARY_NAMES[type]
    if hasattr(numpy, theirs):
        return getattr(numpy, theirs)
    if theirs == "bool":
        return numpy.bool_
    try:
        return getattr(importlib.import_module("ml_dtypes"), theirs)
    except ImportError:
        raise errors.ArgumentTypeError(
            f"'{name}': NumPy has no type {type}; install ml_dtypes, or use torch", parameter=name
        ) from None


def empty(name: str, type: str, shape: tuple[int, ...], like: object | None) -> Any:
    """A new array of the library of `like`, on its device."""
    library = "numpy" if like is None else library_of(like)
    if library == "torch":
        given = getattr(like, "device")
        return sys.modules["torch"].empty(shape, dtype=torch_type(type), device=given)
    if library == "cupy":
        return sys.modules["cupy"].empty(shape, dtype=_numpy_type(name, type))
    if library in ("jax", "jaxlib"):
        jax = importlib.import_module("jax")
        made = jax.numpy.empty(shape, dtype=_numpy_type(name, type))
        return jax.device_put(made, next(iter(like.devices()))).block_until_ready()  # type: ignore
    return importlib.import_module("numpy").empty(shape, dtype=_numpy_type(name, type))


def stream_of(library: str, device: int) -> int:
    """The current stream of the library of the arguments; 0 is the default stream."""
    if library == "torch":
        return Torch.current_stream(device)
    if library == "cupy":
        return int(sys.modules["cupy"].cuda.get_current_stream().ptr)
    return 0


class _Same:
    """The thread uses the device already."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *unused: object) -> None:
        pass


_SAME = _Same()


def current_device(library: str, device: int) -> Any:
    """A launch makes its device current; afterwards it is the one that the caller has chosen."""
    if library == "torch" and Torch.current_device() != device:
        return sys.modules["torch"].cuda.device(device)
    if library == "cupy" and sys.modules["cupy"].cuda.runtime.getDevice() != device:
        return sys.modules["cupy"].cuda.Device(device)
    return _SAME


def waits(library: str) -> bool:
    """Whether a call returns when it is done, because the library knows nothing of its stream."""
    return library not in ("torch", "cupy")
