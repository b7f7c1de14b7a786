"""tirc.compile and the kernel that it returns, which is called like a function."""

from __future__ import annotations

import os
import threading
from typing import Any, Callable, Iterable

from . import arrays, errors
from ._call import Call, Repeat, check_overlap, is_repeatable, tensor_key
from ._native import ffi, lib
from ._session import Session
from ._unit import (
    Binding,
    Declaration,
    Source,
    Unit,
    bind,
    declarations,
    parse,
    rejected,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .results import Bench, Report, Verification

_MAX_UNITS = 256
_MAX_CALLS = 4096


def _read(source: str | os.PathLike[str]) -> tuple[str, str]:
    """The name and the text of a program that is given by its path or as text."""
    if isinstance(source, str) and ("{" in source or "\n" in source):
        return "<text>", source
    path = os.fspath(source)
    try:
        with open(path, encoding="utf-8") as file:
            return path, file.read()
    except OSError as e:
        raise errors.UnavailableError(f"'{path}' cannot be read: {e.strerror}") from e


def _split_schedule(program: str, schedule: str | None) -> tuple[str, str | None]:
    """A schedule that is given as text joins the program, and goes by its name."""
    if schedule is None or "{" not in schedule:
        return program, schedule
    words = schedule[schedule.index("schedule") :].split() if "schedule" in schedule else []
    if len(words) < 2:
        raise ValueError("the text of a schedule is: schedule NAME for KERNEL() { steps }")
    return f"{program}\n{schedule}\n", words[1]


def compile(
    source: str | os.PathLike[str],
    kernel: str | None = None,
    *,
    schedule: str | None = None,
    set: dict[str, object] | None = None,
    device: str = "auto",
    arch: str | None = None,
    index64: bool = False,
    **sizes: int | str,
) -> Kernel:
    """Compiles a program to a kernel that is called with arrays.

    Args:
        source: the path of a program, or its text
        kernel: which kernel of the program; None: the only one
        schedule: a name (in the program, in NAME.sched beside it, or shipped), the path of a
            .sched file, or the text of a schedule; None: `default`
        set: parameters of the schedule, such as `{"T": 16}`
        device: where arrays in host memory run: "auto" and "sim" are the simulator, "cuda" is a
            GPU, with copies
        arch: what the schedule and machine code are for, such as "sm_90a"; None: the schedule is
            for sm_90a, and machine code for the GPU
        index64: computes indices in 64 bits from the start
        sizes: constants, such as `M=512`; `M="?"` keeps a size symbolic, `T="f16"` sets a type.
            Other sizes follow from the shapes of the arrays.
    """
    name, text = _read(source)
    text, schedule = _split_schedule(text, schedule)
    if device not in ("auto", "sim", "cuda"):
        raise ValueError(f"device is 'auto', 'sim' or 'cuda', not {device!r}")
    settings = tuple(f"{key}={value}" for key, value in (set or {}).items())
    made = Source(name, text, kernel, schedule, settings, index64, arch)
    return Kernel(made, {key: str(value) for key, value in sizes.items()}, device)


class Kernel:
    """A program with its schedule. Call it with arrays; each set of sizes is compiled once."""

    def __init__(self, source: Source, sizes: dict[str, str], device: str) -> None:
        self._source, self._sizes, self._device = source, sizes, device
        self._restart()
        self._names = {d.name for d in self._declared}
        self._n_inputs = sum(d.is_input for d in self._declared)
        self._place = {d.name: i for i, d in enumerate(self._declared)}
        unit = self._unit(self._bind({}, []).defines)  # refuses a wrong program or schedule here
        self._layouts = unit.layouts()

    def _restart(self) -> None:
        """At the beginning, and in a forked process, which shares nothing with its parent."""
        self._lock = threading.RLock()
        self._front = Session()
        self._file = parse(self._front, self._source)
        self._declared = declarations(self._front, self._file, self._source.kernel)
        self._units: dict[tuple[str, ...], Unit] = {}
        self._calls: dict[tuple[object, ...], Call] = {}
        self._repeats: dict[tuple[object, ...], Repeat] = {}
        self._repeated: Repeat | None = None
        self._last: Call | None = None
        self._library = "numpy"

    # ---- calls ---------------------------------------------------------------------------------

    def __call__(self, *args: Any, out: Any = None, **named: Any) -> Any:
        """Runs the kernel.

        Args:
            args: the inputs, in the order of the program
            out: the output, a tuple of several, or a dictionary by name; None: they are allocated
            named: inputs by name, and sizes that no array determines

        Returns:
            The output, or a tuple of several; without one, the arrays written in place.
        """
        if not self._front.is_ours():
            self._restart()
        if named or len(args) != self._n_inputs or not arrays.Torch.classes:
            return self._call(args, out, named)[1]
        given = args if out is None else (*args, *(out if type(out) is tuple else (out,)))
        repeat = self._repeated
        result = NotImplemented if repeat is None else repeat.try_again(given)
        if repeat is None or result is NotImplemented:
            return self._call_key(tensor_key(given), given, out)
        self._last, self._library = repeat.call, "torch"
        return result

    def _call_key(self, key: tuple[object, ...], given: tuple[Any, ...], out: Any) -> Any:
        repeat = self._repeats.get(key)
        if repeat is not None:
            result = repeat.again(given)
            self._last, self._library = repeat.call, "torch"
        else:
            call, result = self._call(given[: self._n_inputs], out, {})
            if not is_repeatable(call, given):
                return result
            repeat = Repeat(call, given)
            with self._lock:
                if len(self._repeats) >= _MAX_CALLS:
                    self._repeats.pop(next(iter(self._repeats)))
                self._repeats[key] = repeat
        self._repeated = repeat
        return result

    def _call(self, args: tuple[Any, ...], out: Any, named: dict[str, Any]) -> tuple[Call, Any]:
        """Looks at each argument; returns what ran, and its result."""
        values = list(args)
        if named or len(args) != self._n_inputs:
            values = self._match(args, named)
        if len(values) < len(self._declared):
            values += self._match_outputs(out)
        views: list[arrays.View | None] = []
        key: list[object] = []
        first: arrays.View | None = None
        for d, value in zip(self._declared, values):
            if value is None or not d.is_buffer:
                views.append(None)
                continue
            v = arrays.view(d.name, value)
            views.append(v)
            key += (v.type, v.shape)
            if first is None:
                first = v
            elif v.device != first.device:
                raise _refuse_device(d.name, v.device, first.device)
            if d.is_output and not v.writable:
                raise errors.ArgumentValueError(
                    f"'{d.name}' is written, but the array is read-only", parameter=d.name
                )
        number = arrays.HOST if first is None else first.device
        if number == arrays.HOST and self._device == "cuda":
            number = 0
        key.append(number)
        if named:
            key += sorted((k, v) for k, v in named.items() if k not in self._place)
        call = self._calls.get(tuple(key))
        if call is None:
            call = self._prepare(tuple(key), number, views, named)
        return call, self._run(call, values, views, first)

    def _match(self, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """The inputs in order."""
        inputs = self._declared[: self._n_inputs]
        if len(args) > len(inputs):
            raise errors.ArgumentTypeError(
                f"the kernel takes {len(inputs)} inputs ({', '.join(d.name for d in inputs)}), "
                f"but {len(args)} were given; outputs go into out="
            )
        values = list(args)
        for i, d in enumerate(inputs):
            if (i < len(args)) == (d.name in named):
                problem = "is given twice" if d.name in named else "is missing"
                raise errors.ArgumentTypeError(f"'{d.name}' {problem}", parameter=d.name)
            if i >= len(args):
                values.append(named[d.name])
        return values

    def _match_outputs(self, out: Any) -> list[Any]:
        outputs = self._declared[self._n_inputs :]
        if out is None:
            return [None] * len(outputs)
        if isinstance(out, dict):
            unknown = out.keys() - {d.name for d in outputs}
            if unknown:
                raise errors.ArgumentTypeError(f"out: the kernel has no output {min(unknown)!r}")
            return [out.get(d.name) for d in outputs]
        given = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(given) != len(outputs):
            raise errors.ArgumentTypeError(
                f"out: the kernel has {len(outputs)} outputs, but {len(given)} were given"
            )
        return given

    def _bind(
        self, sizes: dict[str, object], found: list[tuple[str, str, tuple[int, ...]]]
    ) -> Binding:
        given = self._sizes | {name: str(value) for name, value in sizes.items()}
        defines = [f"{name}={value}" for name, value in given.items()]
        try:
            with self._front.lock:
                return bind(self._front, self._file, self._source.kernel, defines, found)
        except errors.Error as e:
            raise rejected(e, self._names) from None

    def _unit(self, defines: tuple[str, ...]) -> Unit:
        with self._lock:
            unit = self._units.get(defines)
            if unit is None:
                while len(self._units) >= _MAX_UNITS:
                    oldest = self._units.pop(next(iter(self._units)))
                    self._calls = {k: c for k, c in self._calls.items() if c.unit is not oldest}
                    self._repeated = None
                    self._repeats = {
                        k: r for k, r in self._repeats.items() if r.call.unit is not oldest
                    }
                unit = self._units[defines] = Unit(self._source, defines)
        return unit

    def _prepare(
        self,
        key: tuple[object, ...],
        number: int,
        views: list[arrays.View | None],
        named: dict[str, Any],
    ) -> Call:
        found = [
            (d.name, v.type, tuple(v.shape))
            for d, v in zip(self._declared, views)
            if v is not None and d.name not in self._layouts
        ]
        sizes = {name: value for name, value in named.items() if name not in self._place}
        binding = self._bind(sizes, found)
        unit = self._unit(binding.defines)
        if -1 in binding.sizes:
            open_sizes = [name for name, value in unit.sizes().items() if value is None]
            name = open_sizes[binding.sizes.index(-1)]
            raise errors.ArgumentValueError(
                f"no array says the value of the size {name}; give it as {name}=1000",
                parameter=name,
            )
        with unit.session.lock:
            try:
                call = Call(unit, number, binding.sizes)
            except errors.Error as e:
                raise rejected(e, self._names) from None
        for p, v in zip(call.parameters, views):
            if v is not None and tuple(v.shape) != p.shape:
                raise errors.ArgumentValueError(
                    f"'{p.name}' has shape {list(p.shape)} for these sizes, but the array has "
                    f"{list(v.shape)}",
                    parameter=p.name,
                )
        with self._lock:
            if len(self._calls) >= _MAX_CALLS:
                self._calls.pop(next(iter(self._calls)))
            self._calls[key] = call
        return call

    def _allocate(
        self, call: Call, values: list[Any], views: list[arrays.View | None], like: Any
    ) -> int:
        """The outputs that the caller has not given; returns their number."""
        made = 0
        for i in range(self._n_inputs, len(values)):
            if values[i] is None:
                p = call.parameters[i]
                values[i] = arrays.empty(p.name, p.type, p.shape, like)
                views[i] = arrays.view(p.name, values[i])
                made += 1
        return made

    def _run(
        self,
        call: Call,
        values: list[Any],
        views: list[arrays.View | None],
        first: arrays.View | None,
    ) -> Any:
        like = None if first is None else first.owner
        like = like[0] if isinstance(like, tuple) else like
        if self._allocate(call, values, views, like) < call.n_written:
            check_overlap(
                call, [None if v is None else v.address for v in views]
            )  # new arrays overlap nothing
        session = call.unit.session
        with session.lock:
            for i, v in enumerate(views):
                if v is None:
                    call.scalars[i].put(values[i])
                else:
                    call.addresses[i] = v.address
            if first is not None and first.device != arrays.HOST:
                status = self._launch(call, like, first.device)
            else:
                status = call.run()
            if status:
                raise call.refuse(status)
        self._last = call
        if like is not None:
            self._library = arrays.library_of(like)
        outputs = tuple(values[self._n_inputs :])
        if not outputs:
            written = zip(self._declared, values)
            outputs = tuple(value for d, value in written if d.is_output)
        return outputs[0] if len(outputs) == 1 else outputs

    def _launch(self, call: Call, like: object, device: int) -> int:
        library = arrays.library_of(like)
        with arrays.current_device(library, device):
            status = call.launch(arrays.stream_of(library, device))
        if not status and arrays.waits(library):
            status = lib.tirc_synchronize(call.unit.session.handle, call.program)
        return status

    def prepare(self, device: int = 0, **sizes: int | str) -> None:
        """Compiles the kernel for a GPU, into the cache on disk, ahead of the first call.

        Args:
            device: the number of the GPU
            sizes: by keyword; those of the last call, or else the defaults of the program
        """
        unit = self._select(sizes)
        with unit.session.lock:
            unit.load(device)

    # ---- texts ---------------------------------------------------------------------------------

    def _select(self, sizes: dict[str, Any]) -> Unit:
        """For given sizes; else of the last call; else for the defaults of the program."""
        if not self._front.is_ours():
            self._restart()
        if not sizes and self._last is not None:
            return self._last.unit
        return self._unit(self._bind(sizes, []).defines)

    def _text(self, format: int, annotate: bool = False) -> str:
        unit = self._select({})
        kernel = unit.scheduled if format == lib.TIRC_TIR else unit.lowered
        return unit.emit(kernel, format, annotate).decode()

    @property
    def cuda(self) -> str:
        """The CUDA text, for the sizes of the last call."""
        return self._text(lib.TIRC_CUDA)

    @property
    def annotated(self) -> str:
        """The CUDA text with the origin of each line."""
        return self._text(lib.TIRC_CUDA, annotate=True)

    @property
    def tir(self) -> str:
        """The program after its schedule."""
        return self._text(lib.TIRC_TIR)

    @property
    def ptx(self) -> str:
        """The PTX text, by NVRTC."""
        return self._text(lib.TIRC_PTX)

    @property
    def program(self) -> str:
        """The text that was compiled."""
        return self._source.text

    @property
    def name(self) -> str:
        """The name of the kernel."""
        unit = self._select({})
        return str(ffi.string(lib.tirc_kernel_name(unit.program)).decode())

    @property
    def signature(self) -> str:
        """The declaration of the kernel: "matmul<M = 1024>(A: f32[M]) -> C: f32[M]"."""
        with self._front.lock:
            handle, name = self._front.handle, self.name.encode()
            return str(ffi.string(lib.tirc_file_signature(handle, self._file, name)).decode())

    @property
    def parameters(self) -> tuple[Declaration, ...]:
        """The parameters as the program declares them, inputs first."""
        return self._declared

    @property
    def layouts(self) -> dict[str, str]:
        """The parameters whose arrays have another layout than the program declares, with the map
        from its subscripts to theirs: `{"A": "[i, j] -> [j, i]"}`."""
        return dict(self._layouts)

    @property
    def constants(self) -> dict[str, int]:
        """The sizes that are constant, with defaults where nothing else is given."""
        unit = self._unit(self._bind({}, []).defines)
        return {name: value for name, value in unit.sizes().items() if value is not None}

    # ---- results -------------------------------------------------------------------------------

    def verify(self, seed: int = 0, **sizes: int | str) -> Verification:
        """Compares the kernel with its unscheduled program on random inputs."""
        from . import results

        return results.verify(self, seed, sizes)

    def bench(
        self,
        *args: Any,
        versus: str | Iterable[str] | Callable[..., Any] | None = None,
        **named: Any,
    ) -> Bench:
        """Measures the kernel, in turn with each peer.

        Args:
            args: the inputs for a function; none: random arrays
            versus: "cublas", "memcpy", or a list of them; or a function of the same arguments, such
                as `torch.matmul`
            named: inputs and sizes by name
        """
        from . import results

        return results.bench(self, args, versus, named)

    def report(self, profile: str | None = None, **sizes: int | str) -> Report:
        """Analyzes the kernel on the simulator: the cost of each access, and the bottleneck."""
        from . import results

        return results.report(self, profile, sizes)

    def explain(self, **sizes: int | str) -> str:
        """Describes the steps of the schedule, the bottleneck, and remedies for costly accesses."""
        from . import results

        return results.explain(self, sizes)

    def __repr__(self) -> str:
        schedule = self._source.schedule
        return f"<tirc kernel {self.signature}{f', schedule {schedule}' if schedule else ''}>"

    def _repr_html_(self) -> str:
        from .notebook import html

        return html(self)


def _refuse_device(name: str, found: int, before: int) -> errors.Error:
    place = "in host memory", "on the GPU"
    return errors.ArgumentValueError(
        f"'{name}' is {place[found != arrays.HOST]}{_number(found)}, but the arrays before it are "
        f"{place[before != arrays.HOST]}{_number(before)}",
        parameter=name,
    )


def _number(device: int) -> str:
    return "" if device == arrays.HOST else f" {device}"
