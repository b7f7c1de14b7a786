"""Verification, measurement and analysis of a kernel."""

from __future__ import annotations

import time
from typing import Any, Callable, NamedTuple

from . import arrays, errors
from ._native import ffi, lib
from ._session import Strings, each, optional_text, text
from ._unit import Unit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .kernel import Kernel


class Verification(NamedTuple):
    """The result of a comparison with the unscheduled program (docs/verification.md)."""

    ok: bool
    """nothing is wrong, and every element was checked"""
    checked: int
    total: int
    wrong: int
    max_error: float
    """the largest `|result - reference|` on random reals"""
    bound: float
    """the error that rounding can explain there"""
    method: str
    structure: str | None
    """the run on small integers, where results are equal bit for bit"""
    written: str
    """once: the program's elements, each proved to be written exactly once; open; wrong"""

    def __bool__(self) -> bool:
        return self.ok


class Measurement(NamedTuple):
    """Times of one kernel or function."""

    median_ms: float
    min_ms: float
    p95_ms: float
    runs: int
    gflops: float | None
    gbps: float | None


class Bench(NamedTuple):
    """Times of the kernel and of its peers."""

    kernel: Measurement
    versus: dict[str, Measurement]

    @property
    def median_ms(self) -> float:
        """Of the kernel."""
        return self.kernel.median_ms

    def speedup(self, name: str | None = None) -> float:
        """The time of a peer / the time of the kernel."""
        other = self.versus[name] if name else next(iter(self.versus.values()))
        return other.median_ms / self.kernel.median_ms


class Limit(NamedTuple):
    """A part of the GPU, and its minimum time for its share of the work."""

    name: str
    amount: float
    unit: str
    ms: float | None
    binds: bool


class KernelUse(NamedTuple):
    """A kernel of the CUDA text, its launches, and its use of a multiprocessor."""

    name: str
    launches: int
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int
    registers: int | None
    occupancy: float | None
    limited_by: str | None


class Access(NamedTuple):
    """An access of the program's text, and the cost of its requests."""

    buffer: str
    scope: str
    op: str
    place: str
    """file:line"""
    step: str | None
    """the call of the schedule that made it"""
    requests: int
    cost: float
    """sectors (global memory) or wavefronts (shared memory) a request"""
    ideal: float
    verdict: str | None
    """why it costs more than the ideal, and a remedy"""


class Report(NamedTuple):
    """An analysis (docs/analysis.md); print it for a table."""

    profile: str
    kernels: tuple[KernelUse, ...]
    limits: tuple[Limit, ...]
    accesses: tuple[Access, ...]

    @property
    def bottleneck(self) -> str | None:
        """The part of the GPU with the longest minimum time."""
        return next((limit.name for limit in self.limits if limit.binds), None)

    def __str__(self) -> str:
        lines = [f"on {self.profile}"]
        for k in self.kernels:
            registers = f", {k.registers} registers" if k.registers else ""
            occupancy = f", occupancy {k.occupancy:.0%}" if k.occupancy else ""
            lines.append(
                f"  {k.name}<<<{k.grid}, {k.block}>>>  {k.shared_bytes} bytes shared"
                f"{registers}{occupancy}"
            )
        for limit in self.limits:
            ms = f"{limit.ms:.4f} ms" if limit.ms is not None else "unknown"
            mark = "  <- the bottleneck" if limit.binds else ""
            lines.append(f"  {limit.name}: {limit.amount:.4g} {limit.unit}, {ms}{mark}")
        for a in self.accesses:
            lines.append(
                f"  {a.op} {a.buffer} ({a.scope}, {a.place}): {a.cost:.3g} a request, "
                f"ideal {a.ideal:.3g}{f'; {a.verdict}' if a.verdict else ''}"
            )
        return "\n".join(lines)


# ---- verification ----------------------------------------------------------------------------


def _symbolic(unit: Unit, sizes: dict[str, Any], last: Any) -> Any:
    """Values for the symbolic sizes of a unit."""
    names = [name for name, value in unit.sizes().items() if value is None]
    if last is not None and last.unit is unit:
        return last.sizes
    if names:
        raise errors.ArgumentValueError(
            f"the size {names[0]} has no value; give it as {names[0]}=1000", parameter=names[0]
        )
    return ffi.NULL


def _program(kernel: Kernel, sizes: dict[str, Any]) -> tuple[Unit, Any, Any, int]:
    """A unit, its program on the device of the last call, the symbolic sizes, the device."""
    unit, last = kernel._select(sizes), kernel._last
    if last is not None:
        number = last.number
    else:
        number = _default_device(unit) if kernel._device != "sim" else arrays.HOST
    with unit.session.lock:
        return unit, unit.load(number), _symbolic(unit, sizes, last), number


def _default_device(unit: Unit) -> int:
    """The GPU, if there is one."""
    with unit.session.lock:
        try:
            unit.device(0)
            return 0
        except errors.UnavailableError:
            return arrays.HOST


def verify(kernel: Kernel, seed: int, sizes: dict[str, Any]) -> Verification:
    unit, program, values, number = _program(kernel, sizes)
    v = ffi.new("tirc_verification *")
    with unit.session.lock:
        handle = unit.session.handle
        status = lib.tirc_verify(handle, program, values, seed, v)
        if status not in (lib.TIRC_OK, lib.TIRC_WRONG) or not text(v.method):
            raise unit.session.error(status)
        lib.tirc_clear_diagnostics(handle)
        return Verification(
            v.ok,
            v.checked,
            v.total,
            v.wrong,
            v.max_error,
            v.bound,
            text(v.method),
            optional_text(v.structure),
            text(v.written),
        )


# ---- measurement -----------------------------------------------------------------------------


def bench(kernel: Kernel, args: tuple[Any, ...], versus: Any, named: dict[str, Any]) -> Bench:
    if callable(versus):
        return _bench_function(kernel, args, versus, named)
    peers = [versus] if isinstance(versus, str) else list(versus or [])
    if args:
        kernel(*args, **named)
    unit, program, sizes, _ = _program(kernel, {} if args else named)
    programs, names = ffi.new("tirc_program *[]", [program]), Strings(peers)
    results = ffi.new("tirc_measurement[]", 1 + len(peers))
    session = unit.session
    with session.lock:
        session.check(
            lib.tirc_bench_versus(session.handle, programs, 1, names.array, names.n, sizes, results)
        )
    found = [
        Measurement(m.median_ms, m.min_ms, m.p95_ms, m.runs, m.gflops or None, m.gbps or None)
        for m in results
    ]
    return Bench(found[0], dict(zip(peers, found[1:])))


def random_arguments(kernel: Kernel, sizes: dict[str, Any]) -> list[Any]:
    """Random inputs in arrays of the library of the last call."""
    unit, program, values, number = _program(kernel, sizes)
    library = kernel._library
    made = []
    with unit.session.lock:
        for i, p in enumerate(unit.parameters(program, values)):
            if not p.is_input:
                continue
            host = arrays.empty(p.name, p.type, p.shape, None)
            address = arrays.view(p.name, host).address
            data, handle = ffi.cast("void *", address), unit.session.handle
            unit.session.check(lib.tirc_fill_random(handle, program, values, 0, i, data))
            made.append(_to_library(host, library, number) if p.is_buffer else host[()].item())
    return made


def _to_library(host: Any, library: str, number: int) -> Any:
    if library == "torch":
        import torch

        tensor = torch.from_numpy(host)
        return tensor if number == arrays.HOST else tensor.to(f"cuda:{number}")
    if library == "cupy":
        import cupy

        return cupy.asarray(host)
    if library in ("jax", "jaxlib"):
        import jax

        return jax.numpy.asarray(host)
    return host


class _HostClock:
    def __call__(self, run: Callable[[], Any]) -> float:
        start = time.perf_counter()
        run()
        return (time.perf_counter() - start) * 1e3


class _TorchClock:
    """Time on the GPU's current stream with a cold L2 cache."""

    def __init__(self, device: Any) -> None:
        import torch

        self.torch = torch
        size = getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 1 << 26)
        self.flush = torch.empty(2 * size, dtype=torch.uint8, device=device)
        self.marks = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def __call__(self, run: Callable[[], Any]) -> float:
        self.flush.zero_()
        self.marks[0].record()
        run()
        self.marks[1].record()
        self.marks[1].synchronize()
        return float(self.marks[0].elapsed_time(self.marks[1]))


def _summary(times: list[float]) -> Measurement:
    times = sorted(times)
    n = len(times)
    return Measurement(times[n // 2], times[0], times[min(n - 1, n * 95 // 100)], n, None, None)


def _bench_function(
    kernel: Kernel, args: tuple[Any, ...], other: Callable[..., Any], named: dict[str, Any]
) -> Bench:
    """Alternately, for about half a second."""
    if not args:
        args, named = tuple(random_arguments(kernel, named)), {}
    out = kernel(*args, **named)
    last = kernel._last
    assert last is not None
    on_gpu = last.number != arrays.HOST and kernel._library == "torch"
    clock: Callable[[Callable[[], Any]], float] = (
        _TorchClock(args[0].device) if on_gpu else _HostClock()
    )
    mine: list[float] = []
    theirs: list[float] = []
    other(*args)
    end = time.monotonic() + 0.5
    while time.monotonic() < end or len(mine) < 5:
        mine.append(clock(lambda: kernel(*args, out=out, **named)))
        theirs.append(clock(lambda: other(*args)))
    name = getattr(other, "__name__", "versus")
    return Bench(_summary(mine), {name: _summary(theirs)})


# ---- analysis --------------------------------------------------------------------------------


def report(kernel: Kernel, profile: str | None, sizes: dict[str, Any]) -> Report:
    unit = kernel._select(sizes)
    session = unit.session
    with session.lock:
        values = _symbolic(unit, sizes, kernel._last)
        options = ffi.new("tirc_analyze_options *")
        name = ffi.new("char[]", profile.encode()) if profile else ffi.NULL
        options.profile = name
        last = kernel._last
        if last is not None and last.unit is unit and last.number != arrays.HOST and not profile:
            options.device = unit.device(last.number)
        analysis = ffi.new("tirc_analysis **")
        session.check(lib.tirc_analyze(session.handle, unit.lowered, values, options, analysis))
        found = analysis[0]
        about = lib.tirc_analysis_describe(found)
        return Report(text(about.profile), _uses(found), _limits(found), _accesses(found))


def _uses(analysis: Any) -> tuple[KernelUse, ...]:
    return tuple(
        KernelUse(
            text(u.name),
            u.launches,
            tuple(u.grid),
            tuple(u.block),
            u.shared_bytes,
            u.registers or None,
            u.occupancy or None,
            optional_text(u.limited_by),
        )
        for u in each(lib.tirc_kernel_use_at, "tirc_kernel_use", analysis)
    )


def _limits(analysis: Any) -> tuple[Limit, ...]:
    return tuple(
        Limit(text(m.name), m.amount, text(m.unit), m.ms if m.rate else None, m.binds)
        for m in each(lib.tirc_limit_at, "tirc_limit", analysis)
    )


def _accesses(analysis: Any) -> tuple[Access, ...]:
    return tuple(
        Access(
            text(a.buffer),
            text(a.scope),
            text(a.op),
            f"{text(a.origin.path)}:{a.origin.line}",
            optional_text(a.origin.step_text),
            a.requests,
            a.sectors_per_request or a.wavefronts_per_request or a.passes_per_request,
            a.ideal,
            optional_text(a.verdict),
        )
        for a in each(lib.tirc_access_at, "tirc_access", analysis)
    )


def explain(kernel: Kernel, sizes: dict[str, Any]) -> str:
    unit = kernel._select(sizes)
    found = report(kernel, None, sizes)
    steps = unit.steps()
    lines = [kernel.signature, f"The schedule has {len(steps)} steps:"]
    lines += [f"  {i}. {step}" for i, step in enumerate(steps, 1)]
    for k in found.kernels:
        lines.append(
            f"{k.name} runs {k.launches} time{'s' * (k.launches != 1)} on a grid of {k.grid} "
            f"blocks of {k.block} threads."
        )
    if found.bottleneck:
        lines.append(f"On {found.profile}, {found.bottleneck} is the bottleneck.")
    costly = [a for a in found.accesses if a.verdict]
    for a in costly:
        made = f", made by {a.step}" if a.step else ""
        lines.append(f"The {a.op} of {a.buffer} at {a.place}{made}: {a.verdict}.")
    if not costly:
        lines.append("Every access has the least cost for its bytes.")
    return "\n".join(lines)
