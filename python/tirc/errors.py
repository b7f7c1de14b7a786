"""What tirc refuses, as exceptions with structured diagnostics."""

from __future__ import annotations

from typing import NamedTuple


class Diagnostic(NamedTuple):
    """An error, a warning or a note. `tirc.explain(code)` teaches more about it."""

    severity: str
    """error, warning or note; notes follow the error that they belong to"""
    code: str
    """E0401"""
    path: str | None
    line: int
    """from 1; 0 without a position"""
    column: int
    message: str


class Error(Exception):
    """The base of all errors; its text is what the command prints."""

    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, text: str, diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(text)
        self.diagnostics = diagnostics

    @property
    def code(self) -> str | None:
        """Of the first error."""
        return next((d.code for d in self.diagnostics if d.severity == "error"), None)


class CompileError(Error, ValueError):
    """A program, a schedule or its parameters are refused."""


class _ArgumentError(Error):
    parameter: str | None

    def __init__(
        self,
        text: str,
        diagnostics: tuple[Diagnostic, ...] = (),
        parameter: str | None = None,
    ) -> None:
        super().__init__(text, diagnostics)
        self.parameter = parameter


class ArgumentTypeError(_ArgumentError, TypeError):
    """An argument has another type than its parameter, or there are too many or too few."""


class ArgumentValueError(_ArgumentError, ValueError):
    """An argument has a wrong shape, layout, device or value."""


class UnavailableError(Error, RuntimeError):
    """A GPU, a library, a file or memory is missing or failed."""


class FaultError(Error, RuntimeError):
    """The simulator found a race, an access out of bounds or another fault."""


class InternalError(Error, RuntimeError):
    """A bug in tirc. `report` is a program that reproduces it."""

    report: str | None = None
