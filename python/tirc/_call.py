"""A kernel made ready for arrays of one set of shapes and types, and repeated calls of it."""

from __future__ import annotations

import functools
import math
import sys
from typing import Any, Callable

from . import arrays, errors
from ._native import ffi, lib
from ._unit import Parameter, Unit, rejected

# How C holds a scalar. Scalars of other types are always converted by the library.
_C_TYPES = {"f64": "double *", "f32": "float *"} | {
    f"{sign}{bits}": f"{'u' * (sign == 'u')}int{bits}_t *"
    for sign in "iu"
    for bits in (8, 16, 32, 64)
}

_UNKNOWN = object()


class Scalar:
    """The value of a scalar parameter in the memory that launches read."""

    __slots__ = ("parameter", "data", "address", "typed", "exact", "last", "session")

    def __init__(self, unit: Unit, parameter: Parameter) -> None:
        self.session, self.parameter = unit.session, parameter
        self.data = ffi.new("uint64_t *")
        self.address = int(ffi.cast("uintptr_t", self.data))
        c_type = _C_TYPES.get(parameter.type)
        self.typed: Any = ffi.cast(c_type, self.data) if c_type else None
        self.exact = (float, int) if parameter.type[0] == "f" else (int,)
        self.last: object = _UNKNOWN

    def put(self, value: Any) -> None:
        if value is self.last:
            return
        self.last = _UNKNOWN
        if self.typed is None or type(value) not in self.exact or not self._put_typed(value):
            self._put_text(self._words(value))
        if type(value) in (int, float, bool):  # others may change
            self.last = value

    def _put_typed(self, value: Any) -> bool:
        """By C's conversion; False if the value does not fit."""
        try:
            self.typed[0] = value
        except OverflowError:
            return False
        return float not in self.exact or not math.isinf(self.typed[0]) or math.isinf(value)

    def _words(self, value: Any) -> str:
        p = self.parameter
        value = value.item() if hasattr(value, "item") else value
        if not isinstance(value, (int, float)):
            raise errors.ArgumentTypeError(
                f"'{p.name}' needs a number ({p.type}), found {type(value).__name__}",
                parameter=p.name,
            )
        if isinstance(value, float) and not p.type.startswith(("f", "bf")):
            raise errors.ArgumentTypeError(
                f"'{p.name}' has type {p.type}, and {value!r} is a float", parameter=p.name
            )
        if isinstance(value, bool) and p.type == "bool":
            return repr(value).lower()
        return repr(float(value)) if p.type[0] in "fb" != p.type else repr(int(value))

    def _put_text(self, words: str) -> None:
        p, session = self.parameter, self.session
        name, kind = ffi.new("char[]", p.name.encode()), ffi.new("char[]", p.type.encode())
        parameter = ffi.new("tirc_parameter *", {"name": name, "type": kind})
        status = lib.tirc_parse_element(session.handle, parameter, words.encode(), self.data)
        if status:
            raise rejected(session.error(status), {p.name})


class Call:
    """A kernel ready to run on arrays of one set of shapes and types."""

    __slots__ = (
        "unit",
        "number",
        "sizes",
        "program",
        "programs",
        "addresses",
        "pointers",
        "parameters",
        "scalars",
        "bytes",
        "n_written",
    )

    def __init__(self, unit: Unit, number: int, sizes: tuple[int, ...]) -> None:
        self.unit, self.number = unit, number
        self.sizes = ffi.new("int64_t[]", list(sizes)) if sizes else ffi.NULL
        self.program = unit.load(number)
        self.programs: dict[int, Any] | None = (
            {} if lib.tirc_has_temporaries(self.program) else None
        )
        self.parameters = unit.parameters(self.program, self.sizes)
        self.addresses = ffi.new("uint64_t[]", len(self.parameters) + 1)
        self.pointers = ffi.cast("void **", self.addresses)
        self.scalars = {
            i: Scalar(unit, p) for i, p in enumerate(self.parameters) if not p.is_buffer
        }
        for i, scalar in self.scalars.items():
            self.addresses[i] = scalar.address
        self.bytes = [math.prod(p.shape, start=arrays.bytes_of(p.type)) for p in self.parameters]
        self.n_written = sum(p.is_output for p in self.parameters)

    def run(self) -> int:
        """On host memory; hold the session's lock, as for the other calls."""
        handle = self.unit.session.handle
        status: int = lib.tirc_run(handle, self.program, self.sizes, self.pointers)
        return status

    def launch(self, stream: int) -> int:
        program = self.program if self.programs is None else self.program_for(stream)
        handle, pointer = self.unit.session.handle, ffi.cast("void *", stream)
        status: int = lib.tirc_launch_on(handle, program, self.sizes, self.pointers, pointer)
        return status

    def program_for(self, stream: int) -> Any:
        """Temporaries belong to a program, so streams cannot share it."""
        if self.programs is None:
            return self.program
        if stream not in self.programs:
            self.programs[stream] = self.unit.load(self.number, stream)
        return self.programs[stream]

    def refuse(self, status: int) -> errors.Error:
        """What a status means, with the name of the parameter."""
        return rejected(self.unit.session.error(status), {p.name for p in self.parameters})


def refuse_overlap(written: Parameter, other: Parameter) -> errors.Error:
    return errors.ArgumentValueError(
        f"'{written.name}' is written and shares memory with '{other.name}'",
        parameter=written.name,
    )


def check_overlap(call: Call, addresses: list[int | None]) -> None:
    """What is written must not overlap another argument: a kernel reads and writes in any order."""
    spans = [
        (begin, begin + bytes, p)
        for begin, bytes, p in zip(addresses, call.bytes, call.parameters)
        if begin is not None
    ]
    for begin, end, p in spans:
        if not p.is_output:
            continue
        for other_begin, other_end, other in spans:
            if begin < other_end and other_begin < end and other is not p:
                raise refuse_overlap(p, other)


# ---- tensors of torch ------------------------------------------------------------------------


_NUMBERS = frozenset((int, float, bool))


def tensor_key(values: tuple[Any, ...]) -> tuple[object, ...]:
    """All that a call depends on but addresses and the values of scalars."""
    tensors = arrays.Torch.classes
    return tuple(
        [
            (v.dtype, v.shape, v.device, v.is_contiguous())
            if type(v) in tensors
            else type(v) in _NUMBERS or type(v)
            for v in values
        ]
    )


def is_repeatable(call: Call, values: tuple[Any, ...]) -> bool:
    """Whether the key says all about these arguments."""
    return all(
        type(v) in (arrays.Torch.classes if p.is_buffer else _NUMBERS)
        for v, p in zip(values, call.parameters)
    )


def _maker(p: Parameter, number: int) -> Callable[[], Any]:
    """Allocates an output on the current device: as Inductor does it, else by the public call."""
    torch = sys.modules["torch"]
    dtype = arrays.torch_type(p.type)
    guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
    kind = "cpu" if number == arrays.HOST else "cuda"
    fast = getattr(guards, f"_empty_strided_{kind}", None)
    if fast is None:
        return functools.partial(torch.empty, p.shape, dtype=dtype, device=kind)
    strides = tuple(math.prod(p.shape[axis + 1 :]) for axis in range(len(p.shape)))
    return functools.partial(fast, p.shape, strides, dtype)


class Repeat:
    """A call on tensors of torch like one before.

    The first call has checked types, shapes, layouts and devices, so a repeated one only
    allocates, takes addresses, checks that they do not overlap, and launches."""

    __slots__ = (
        "call",
        "lock",
        "on_host",
        "n_given",
        "buffers",
        "scalars",
        "makers",
        "pairs",
        "written",
        "native",
        "kept",
    )

    def __init__(self, call: Call, values: tuple[Any, ...]) -> None:
        parameters = call.parameters
        self.call, self.lock, self.n_given = call, call.unit.session.lock, len(values)
        self.on_host = call.number == arrays.HOST
        self.buffers = [i for i, p in enumerate(parameters) if p.is_buffer]
        self.scalars = list(call.scalars.items())
        self.makers = [_maker(p, call.number) for p in parameters[len(values) :]]
        given = [i for i in self.buffers if i < len(values)]  # new outputs overlap nothing
        self.pairs = [(i, j) for i in given for j in given if parameters[i].is_output and i != j]
        outputs = [i for i, p in enumerate(parameters) if not p.is_input]
        self.written = outputs or [i for i, p in enumerate(parameters) if p.is_output]
        self.native = self._native(values) if arrays.Torch.exchange != ffi.NULL else None

    def _native(self, values: tuple[Any, ...]) -> Any:
        call = self.call
        expected = ffi.new("tirc_expected[]", len(call.parameters))
        types = [*map(type, values), *[arrays.Torch.tensor for _ in self.makers]]
        shapes = [ffi.new("int64_t[]", list(p.shape)) for p in call.parameters]
        for i, p in enumerate(call.parameters):
            if p.is_buffer:
                e = expected[i]
                e.type, e.ndim, e.shape = id(types[i]), len(p.shape), shapes[i]
                e.code, e.bits = arrays.dlpack_type(p.type)
                e.device_type, e.device_id = arrays.dlpack_device(call.number)
                e.bytes, e.is_written = call.bytes[i], p.is_output and i < self.n_given
        self.kept = expected, types, shapes
        native = ffi.new("tirc_repeat *")
        native.t, native.program, native.sizes = call.unit.session.handle, call.program, call.sizes
        native.exchange, native.expected = arrays.Torch.exchange, expected
        native.addresses, native.n = call.addresses, len(call.parameters)
        return native

    def try_again(self, values: tuple[Any, ...]) -> Any:
        """The result for any arguments; NotImplemented if their key may be another."""
        native, on_host, number = self.native, self.on_host, self.call.number
        if (
            native is None
            or len(values) != self.n_given
            or not (on_host or arrays.Torch.current_device() == number)
        ):
            return NotImplemented
        for make in self.makers:
            values = (*values, make())
        with self.lock:
            for i, scalar in self.scalars:
                scalar.put(values[i])
            if on_host:
                status = lib.tirc_repeat_run(native, id(values))
            else:
                stream = arrays.Torch.current_stream(number)
                if self.call.programs is not None:
                    native.program = self.call.program_for(stream)
                status = lib.tirc_repeat_launch(native, id(values), stream)
            if status:
                if status < 0:
                    return NotImplemented
                raise self.call.refuse(status)
        return self._result(values)

    def again(self, values: tuple[Any, ...]) -> Any:
        """The result for arguments of the same key."""
        call, number, addresses = self.call, self.call.number, self.call.addresses
        if not self.on_host and arrays.Torch.current_device() != number:
            with sys.modules["torch"].cuda.device(number):
                return self.again(values)
        for make in self.makers:
            values = (*values, make())
        with self.lock:
            for i in self.buffers:
                addresses[i] = values[i].data_ptr()
            self._check_overlap()
            for i, scalar in self.scalars:
                scalar.put(values[i])
            stream = 0 if self.on_host else arrays.Torch.current_stream(number)
            status = call.run() if self.on_host else call.launch(stream)
            if status:
                raise call.refuse(status)
        return self._result(values)

    def _result(self, values: tuple[Any, ...]) -> Any:
        if len(self.written) == 1:
            return values[self.written[0]]
        return tuple([values[i] for i in self.written])

    def _check_overlap(self) -> None:
        call, addresses, bytes = self.call, self.call.addresses, self.call.bytes
        for i, j in self.pairs:
            if addresses[i] < addresses[j] + bytes[j] and addresses[j] < addresses[i] + bytes[i]:
                raise refuse_overlap(call.parameters[i], call.parameters[j])
