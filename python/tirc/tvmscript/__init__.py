"""Imports TVMScript: programs become .tir text, schedules and traces become scripts.

docs/import_tvm.md is the manual. The text of a file is read and not run, and TVM is not needed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from .constants import assign
from .expression import called
from .names import Names
from .opaque import instructions
from .program import Function, Kernel
from .refusal import Finding, Refusal, Report
from .schedule import Script

__all__ = ["Imported", "convert"]


@dataclass(frozen=True)
class Imported:
    """What a file holds, in the text of tirc; `messages` shows errors and warnings."""

    program: str
    schedules: str
    messages: str
    refused: bool


@dataclass(frozen=True)
class _Found:
    """A function under @T.prim_func, with the module around it and the constants above it."""

    node: ast.FunctionDef
    module: str
    constants: dict[str, object]
    variables: list[str]


class _Reader:
    """Finds the programs and schedules of a file."""

    def __init__(self, report: Report, declared: str) -> None:
        self.report = report
        self.declared = instructions(declared)
        self.functions: list[_Found] = []
        self.kernels: list[tuple[_Found, Kernel]] = []
        self.scripts: list[tuple[str, Script]] = []
        self.names = Names()
        self.variables: list[str] = []
        """the names of `n = TypeVar("n")`, which are sizes"""

    def collect(self, body: list[ast.stmt], constants: dict[str, object], module: str) -> None:
        """Programs first: a schedule may stand above the last of them."""
        for node in body:
            assign(node, constants)
            self.variables += _type_variable(node)
            if isinstance(node, ast.FunctionDef) and _is_prim_func(node):
                found = _Found(node, module, dict(constants), list(self.variables))
                self.functions.append(found)
            elif isinstance(node, ast.ClassDef):
                self.collect(node.body, dict(constants), node.name)
            elif isinstance(node, ast.FunctionDef):
                self.collect(node.body, dict(constants), "")

    def translate(self) -> None:
        plain = [f.node.name for f in self.functions]
        for found in self.functions:
            unique = plain.count(found.node.name) == 1
            wanted = found.node.name if unique or not found.module else found.module
            if not unique and found.module and len(self._members(found.module)) > 1:
                wanted = f"{found.module}_{found.node.name}"
            function = Function(
                found.node, found.constants, self.report, found.variables, self.declared
            )
            self.kernels.append((found, function.translate(self.names.fresh(wanted))))

    def _members(self, module: str) -> list[_Found]:
        return [f for f in self.functions if f.module == module]

    # ---- schedules ---------------------------------------------------------------------------

    def schedules(self, body: list[ast.stmt], constants: dict[str, object], name: str) -> None:
        current: tuple[Script, list[ast.stmt]] | None = None
        for node in body:
            assign(node, constants)
            made = self._made(node, constants)
            if made:
                self._finish(current, name)
                current = (made, [])
            elif current:
                current[1].append(node)
            if isinstance(node, ast.FunctionDef) and not _is_prim_func(node):
                self._inner(node, dict(constants))
        self._finish(current, name)

    def _inner(self, node: ast.FunctionDef, constants: dict[str, object]) -> None:
        """A printed trace, `def apply_trace(sch: Schedule)`, or a function with schedules."""
        for arg in node.args.args:
            if arg.annotation is not None and called(arg.annotation) == "Schedule":
                kernel = self.kernels[0][1] if len(self.kernels) == 1 else None
                script = Script(arg.arg, kernel, constants, self.report)
                return self._finish((script, node.body), node.name)
        return self.schedules(node.body, constants, node.name)

    def _made(self, node: ast.stmt, constants: dict[str, object]) -> Script | None:
        """The schedule of `sch = Schedule(program)`."""
        value = getattr(node, "value", None)
        if not isinstance(node, ast.Assign) or not isinstance(value, ast.Call):
            return None
        if called(value) != "Schedule" or not isinstance(node.targets[0], ast.Name):
            return None
        kernel = self._kernel(value.args[0]) if value.args else None
        return Script(node.targets[0].id, kernel, constants, self.report)

    def _kernel(self, node: ast.expr) -> Kernel | None:
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        names |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
        names |= {str(n.value) for n in ast.walk(node) if isinstance(n, ast.Constant)}
        found = [k for f, k in self.kernels if f.module in names and f.node.name in names]
        found += [k for f, k in self.kernels if f.module in names or f.node.name in names]
        found += [k for _, k in self.kernels if len(self.kernels) == 1]
        return found[0] if found else None

    def _finish(self, current: tuple[Script, list[ast.stmt]] | None, name: str) -> None:
        if current:
            script, body = current
            script.run(body)
            if script.lines:
                self.scripts.append((self.names.fresh(name or script.handle), script))


def _type_variable(node: ast.stmt) -> list[str]:
    call = getattr(node, "value", None)
    if isinstance(node, ast.Assign) and isinstance(call, ast.Call) and called(call) == "TypeVar":
        return [t.id for t in node.targets if isinstance(t, ast.Name)]
    return []


def _is_prim_func(node: ast.FunctionDef) -> bool:
    return any(called(d) == "prim_func" for d in node.decorator_list)


def _texts(reader: _Reader) -> Iterator[str]:
    for name, script in reader.scripts:
        yield script.text(name)


def convert(text: str, path: str = "<text>", declared: str = "") -> Imported:
    """The programs and schedules of a Python file. `declared` is a `.tir` file whose instructions
    say what functions of C compute."""
    report = Report(path, text)
    reader = _Reader(report, declared)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as e:
        line, column = getattr(e, "lineno", None) or 1, getattr(e, "offset", None) or 1
        report.add(Finding("P0001", getattr(e, "msg", str(e)), line, column, 1))
        return Imported("", "", report.render(), True)
    reader.collect(tree.body, {}, "")
    reader.translate()
    reader.schedules(tree.body, {}, "")
    if not reader.kernels and not reader.scripts:
        report.refuse(Refusal("P0002", tree, "the file holds no program and no schedule of TVM"))
    program = "\n".join(kernel.text for _, kernel in reader.kernels)
    if any(kernel.called for _, kernel in reader.kernels):
        program = f"{declared.rstrip()}\n\n{program}"
    return Imported(program, "\n".join(_texts(reader)), report.render(), report.refused)
