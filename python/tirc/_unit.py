"""A kernel compiled at one set of sizes: its texts, and its programs for devices."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import errors
from ._native import ffi, lib
from ._session import Session, Strings, each, text
from .arrays import HOST


class Source(NamedTuple):
    """What is compiled: the same for all sizes."""

    name: str
    """of the file, for messages, and to find schedules beside it"""
    text: str
    kernel: str | None
    schedule: str | None
    settings: tuple[str, ...]
    index64: bool
    arch: str | None


class Declaration(NamedTuple):
    """A parameter as the program declares it."""

    name: str
    type: str
    is_buffer: bool
    is_input: bool
    is_output: bool
    dims: tuple[str, ...]


class Parameter(NamedTuple):
    """A parameter at given sizes."""

    name: str
    type: str
    is_buffer: bool
    is_input: bool
    is_output: bool
    shape: tuple[int, ...]


def parse(session: Session, source: Source) -> Any:
    file = ffi.new("tirc_file **")
    data = source.text.encode()
    name = source.name.encode()
    session.check(lib.tirc_parse_text(session.handle, name, data, len(data), file))
    return file[0]


def c_name(name: str | None) -> Any:
    return ffi.NULL if name is None else name.encode()


def declarations(session: Session, file: Any, kernel: str | None) -> tuple[Declaration, ...]:
    owner = session.handle, file, c_name(kernel)
    found = tuple(
        Declaration(
            text(d.name),
            text(d.type),
            d.is_buffer,
            d.is_input,
            d.is_output,
            tuple(text(d.dims[i]) for i in range(d.rank)),
        )
        for d in each(lib.tirc_declaration_at, "tirc_declaration", *owner)
    )
    if lib.tirc_diagnostic_count(session.handle):
        raise session.error(lib.TIRC_USAGE)
    return found


class Unit:
    """A session that holds one kernel at one set of constant sizes and types."""

    def __init__(self, source: Source, defines: tuple[str, ...]) -> None:
        self.session = Session()
        self.source = source
        self.defines = defines
        self._devices: dict[int, Any] = {}
        self._programs: dict[tuple[int, int], Any] = {}
        self._lower()

    def _lower(self) -> None:
        s, check, handle = self.source, self.session.check, self.session.handle
        if s.arch:
            check(lib.tirc_set_arch(handle, c_name(s.arch)))
        self.file = parse(self.session, s)
        given, kernel = Strings(list(self.defines)), ffi.new("tirc_kernel **")
        name = c_name(s.kernel)
        check(lib.tirc_resolve(handle, self.file, name, given.array, given.n, kernel))
        self.program = kernel[0]
        level = lib.tirc_kernel_level(self.program)
        self.scheduled = self.program
        if s.schedule is not None or level == lib.TIRC_PROGRAM:
            settings, schedule = Strings(list(s.settings)), c_name(s.schedule)
            check(
                lib.tirc_apply(
                    handle, self.file, kernel[0], schedule, settings.array, settings.n, kernel
                )
            )
            self.scheduled = kernel[0]
        options = ffi.new("tirc_lower_options *", {"index64": s.index64})
        check(lib.tirc_lower(handle, self.scheduled, options, kernel))
        self.lowered = kernel[0]

    # ---- texts ---------------------------------------------------------------------------------

    def emit(self, kernel: Any, format: int, annotate: bool = False) -> bytes:
        data, length = ffi.new("const void **"), ffi.new("size_t *")
        options = ffi.new("tirc_emit_options *")
        options.annotate = lib.TIRC_COMMENTS if annotate else lib.TIRC_PLAIN
        arch = ffi.new("char[]", self.source.arch.encode()) if self.source.arch else ffi.NULL
        options.arch = arch
        with self.session.lock:
            handle = self.session.handle
            self.session.check(lib.tirc_emit(handle, kernel, format, options, data, length))
            return bytes(ffi.buffer(data[0], length[0]))

    def steps(self) -> list[str]:
        """The executed calls of the schedule."""
        n = lib.tirc_step_count(self.scheduled)
        return [text(lib.tirc_step_text(self.scheduled, i)) for i in range(1, n + 1)]

    def sizes(self) -> dict[str, int | None]:
        """All sizes; symbolic ones are None."""
        return {
            text(size.name): None if size.symbolic else size.value
            for size in each(lib.tirc_size_at, "tirc_size", self.lowered)
        }

    def layouts(self) -> dict[str, str]:
        """The parameters whose layout the schedule has changed, and their index maps."""
        owner = self.session.handle, self.lowered
        return {
            text(layout.name): text(layout.map)
            for layout in each(lib.tirc_layout_at, "tirc_layout", *owner)
        }

    # ---- programs ------------------------------------------------------------------------------

    def device(self, number: int) -> Any:
        """Of a GPU, or the simulator for host memory."""
        if number not in self._devices:
            kind = lib.TIRC_DEVICE_SIM if number == HOST else lib.TIRC_DEVICE_CUDA
            device, arch = ffi.new("tirc_device **"), c_name(self.source.arch)
            self.session.check(
                lib.tirc_device_open(self.session.handle, kind, max(number, 0), arch, device)
            )
            self._devices[number] = device[0]
        return self._devices[number]

    def load(self, number: int, stream: int = 0) -> Any:
        """The program for a device. One with temporaries serves one stream."""
        key = (number, stream)
        if key not in self._programs:
            program = ffi.new("tirc_program **")
            self.session.check(
                lib.tirc_compile(self.session.handle, self.device(number), self.lowered, program)
            )
            self._programs[key] = program[0]
        return self._programs[key]

    def parameters(self, program: Any, sizes: Any) -> list[Parameter]:
        found, p = [], ffi.new("tirc_parameter *")
        for i in range(lib.tirc_parameter_count(program)):
            if not lib.tirc_parameter_at(self.session.handle, program, sizes, i, p):
                raise self.session.error(lib.TIRC_REFUSED)
            shape = tuple(p.dims[axis] for axis in range(p.rank))
            found.append(
                Parameter(text(p.name), text(p.type), p.is_buffer, p.is_input, p.is_output, shape)
            )
        return found

    def faults(self, number: int) -> list[str]:
        owner = self.session.handle, self._devices[number]
        return [
            text(fault.message) + (f" ({text(fault.where)})" if fault.where else "")
            for fault in each(lib.tirc_fault_at, "tirc_fault", *owner)
        ]


class Binding(NamedTuple):
    """What arrays say about a kernel."""

    defines: tuple[str, ...]
    sizes: tuple[int, ...]


def bind(
    session: Session,
    file: Any,
    kernel: str | None,
    defines: list[str],
    arrays: list[tuple[str, str, tuple[int, ...]]],
) -> Binding:
    given, kept = Strings(defines), []
    arguments = ffi.new("tirc_argument[]", len(arrays))
    for argument, (name, type, shape) in zip(arguments, arrays):
        parts = ffi.new("char[]", name.encode()), ffi.new("char[]", type.encode())
        dims = ffi.new("int64_t[]", list(shape))
        kept.append((parts, dims))
        argument.name, argument.type = parts
        argument.rank, argument.dims = len(shape), dims
    every = ffi.new("tirc_arguments *", (given.array, given.n, arguments, len(arrays)))
    binding = ffi.new("tirc_binding *")
    session.check(lib.tirc_bind(session.handle, file, c_name(kernel), every, binding))
    return Binding(
        tuple(text(binding.defines[i]) for i in range(binding.n_defines)),
        tuple(ffi.unpack(binding.sizes, binding.n_sizes)) if binding.n_sizes else (),
    )


def rejected(error: errors.Error, parameters: set[str]) -> errors.Error:
    """A refusal of an argument, with the parameter's name, where it is one."""
    kinds: dict[str | None, type[errors._ArgumentError]] = {
        "E0708": errors.ArgumentTypeError,
        "E0652": errors.ArgumentValueError,
        "E0703": errors.ArgumentValueError,
        "E0704": errors.ArgumentValueError,
        "E0709": errors.ArgumentValueError,
        "E0711": errors.ArgumentValueError,
    }
    kind = kinds.get(error.code)
    if kind is None:
        return error
    message = next(d.message for d in error.diagnostics if d.severity == "error")
    named = next((word for word in message.split("'")[1::2] if word in parameters), None)
    return kind(str(error), error.diagnostics, named)
