"""The declarations at the start of a block of TVMScript: its axes, and which instances run."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass, field

from .opaque import Regions
from .value import Value

# One statement as lines of text.
Item = list[str]


@dataclass(frozen=True)
class Loop:
    """A loop or an iterator of a block: `low..end`."""

    name: str
    low: Value
    end: Value

    def range(self) -> str:
        return self.end.text if self.low.text == "0" else f"{self.low.text}..{self.end.text}"

    def variable(self) -> Value:
        high = None if self.end.high is None else self.end.high - 1
        covers = self.end.text if self.low.text == "0" else ""
        return Value(self.name, "index", low=self.low.low, high=high, covers=covers)


@dataclass(frozen=True)
class Axis:
    """An iterator of a block, and what it is bound to."""

    loop: Loop
    reduce: bool
    binding: Value

    def text(self) -> str:
        kind = "reduce " if self.reduce else ""
        return f"{kind}{self.loop.name} in {self.loop.range()} = {self.binding.text}"


@dataclass
class Header:
    """The declarations at the start of a block."""

    axes: list[tuple[str, Axis]] = field(default_factory=list)
    where: str = ""
    bounds: list[tuple[str, str]] | None = field(default_factory=list)
    """`where` as `a < b and ...`; None if it is anything else"""
    reads_temp: bool = False
    """`where` reads a temporary"""
    annotations: str = ""
    reads: list[str] | None = None
    regions: Regions = field(default_factory=Regions)
    pointers: list[ast.stmt] = field(default_factory=list)
    """statements that are pointers and nothing else"""
    init: list[ast.stmt] | None = None
    temporaries: list[Item] = field(default_factory=list)
    body: list[ast.stmt] = field(default_factory=list)


def runs_all(header: Header) -> bool:
    """The block runs for all values of its spatial axes: the loops reach both ends of each, and a
    condition only keeps loops of splits and fusions in bounds: each value that it bounds has all
    its digits among the axes."""
    axes = [axis for _, axis in header.axes]
    if any(_falls_short(axis) for axis in axes if not axis.reduce):
        return False
    return header.bounds is not None and all(_covers_digits(axes, *b) for b in header.bounds)


def _falls_short(axis: Axis) -> bool:
    """The loops are known not to reach an end of the axis."""
    value, low, end = axis.binding, axis.loop.low, axis.loop.end
    if value.low is not None and low.high is not None and value.low > low.high:
        return True
    return value.high is not None and end.low is not None and value.high < end.low - 1


def _covers_digits(axes: list[Axis], value: str, end: str) -> bool:
    """Whether axes are all digits of `value`, which is below `end`: value / 8 and value % 8."""
    if any(a.binding.text == value and a.loop.end.text == end for a in axes):
        return True
    digit = re.compile(rf"\(*{re.escape(value)}\)*(?: / (\(?[\w *]+\)?)\)*)?(?: % (.+))?")
    found = [(digit.fullmatch(a.binding.text), a.loop.end.text) for a in axes]
    digits = {_factors(m[1] or "1"): (m[2], extent) for m, extent in found if m}
    below = _factors("1")
    while below in digits:
        modulus, extent = digits.pop(below)
        if modulus and _factors(modulus) != _factors(extent):
            return False
        below = _factors(" * ".join([*below, extent]))
    return not digits and below == _factors(end)


def _factors(text: str) -> tuple[str, ...]:
    """A product as its number and its names in order; other text as it is."""
    parts = text.replace("(", "").replace(")", "").split(" * ")
    if not all(part.isalnum() or part.isidentifier() for part in parts):
        return (text,)
    number = math.prod(int(part) for part in parts if part.isdigit())
    return str(number), *sorted(part for part in parts if not part.isdigit())
