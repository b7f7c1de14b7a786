"""A use of the library: its memory, its diagnostics, and the lock that lets one thread in."""

from __future__ import annotations

import os
import threading
from typing import Any, Iterator

from . import errors
from ._native import ffi, lib

_SEVERITIES = ("error", "warning", "note")


class _Process:
    """Counts forks: a child shares no device, and no lock, with its parent."""

    generation = 0


def _after_fork() -> None:
    _Process.generation += 1


os.register_at_fork(after_in_child=_after_fork)


def version() -> str:
    return text(lib.tirc_version())


def text(chars: Any) -> str:
    return "" if chars == ffi.NULL else ffi.string(chars).decode()


def optional_text(chars: Any) -> str | None:
    return None if chars == ffi.NULL else ffi.string(chars).decode()


def explain(code: str) -> str:
    """Explains an error code ("E0401") or a schedule primitive ("split")."""
    session = Session()
    found = lib.tirc_explain(session.handle, code.encode())
    if found == ffi.NULL:
        found = lib.tirc_explain_primitive(session.handle, code.encode())
    if found == ffi.NULL:
        raise ValueError(f"'{code}' is neither an error code nor a schedule primitive")
    return text(found)


def each(read: Any, kind: str, *owner: Any) -> Iterator[Any]:
    """The items that read(*owner, i, item) finds, one after another in the same memory."""
    item = ffi.new(f"{kind} *")
    i = 0
    while read(*owner, i, item):
        yield item
        i += 1


class Strings:
    """An array of C strings, and what keeps it alive."""

    def __init__(self, items: list[str]) -> None:
        self._kept = [ffi.new("char[]", item.encode()) for item in items]
        self.array = ffi.new("char *[]", self._kept)
        self.n = len(items)


class Session:
    """A `tirc` context, which one thread uses at a time: hold `lock`."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.generation = _Process.generation
        self.handle = lib.tirc_new(ffi.NULL)
        if self.handle == ffi.NULL:
            raise MemoryError("tirc: out of memory")

    def __del__(self) -> None:
        # A forked child leaves the parent's device alone.
        if getattr(self, "handle", None) is not None and self.is_ours():
            lib.tirc_free(self.handle)

    def is_ours(self) -> bool:
        """Made by this process, not by the one that it was forked from."""
        return self.generation == _Process.generation

    def diagnostics(self) -> tuple[errors.Diagnostic, ...]:
        found = []
        for i in range(lib.tirc_diagnostic_count(self.handle)):
            d = lib.tirc_diagnostic_at(self.handle, i)
            found.append(
                errors.Diagnostic(
                    _SEVERITIES[d.severity],
                    text(d.code),
                    optional_text(d.path),
                    d.line,
                    d.column,
                    text(d.message),
                )
            )
        return tuple(found)

    def check(self, status: int) -> None:
        """Raises what a status means."""
        if status != lib.TIRC_OK:
            raise self.error(status)

    def error(self, status: int) -> errors.Error:
        found = self.diagnostics()
        message = text(lib.tirc_diagnostics(self.handle, False)).rstrip("\n")
        lib.tirc_clear_diagnostics(self.handle)
        if status == lib.TIRC_BUG:
            bug = errors.InternalError(message, found)
            bug.report = optional_text(lib.tirc_bug_report(self.handle))
            return bug
        kinds: dict[int, type[errors.Error]] = {
            lib.TIRC_UNAVAILABLE: errors.UnavailableError,
            lib.TIRC_WRONG: errors.FaultError,
        }
        return kinds.get(status, errors.CompileError)(message, found)
