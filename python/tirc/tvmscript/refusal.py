"""Codes of the importer's refusals, and their text in the style of the command."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

# code: (title, what to do)
CODES = {
    "P0001": ("file is not Python", "TVMScript is Python text; mend the syntax"),
    "P0002": (
        "nothing to import",
        "the file needs a function under @T.prim_func, or a schedule: a call of Schedule(...), or "
        "a printed trace (`print(sch.trace)`)",
    ),
    "P0101": (
        "unknown name",
        "the importer reads the file without running it: it knows parameters, buffers, loops, and "
        "names that are set to numbers, strings or tuples above their use",
    ),
    "P0102": (
        "statement outside the affine part",
        "tirc programs are loops, conditions, blocks and stores; print the function before it is "
        "lowered (`print(mod.script())`)",
    ),
    "P0103": ("unknown type", "see docs/language.md for the types of tirc"),
    "P0104": (
        "function without a counterpart",
        "docs/language.md lists the functions of tirc; write the value with these",
    ),
    "P0105": (
        "parameter or buffer without a counterpart",
        "parameters are T.Buffer, T.handle with T.match_buffer, or scalars; buffers are dense, in "
        "row-major order, in scope global, shared, warp or local",
    ),
    "P0106": (
        "loop without a counterpart",
        "loops are range, T.grid, T.serial, T.parallel, T.vectorized, T.unroll and "
        "T.thread_binding of blockIdx, threadIdx or vthread",
    ),
    "P0107": (
        "block axis without a counterpart",
        "axes are T.axis.spatial, T.axis.reduce, T.axis.remap, and in a block that holds no blocks "
        "T.axis.opaque and T.axis.scan",
    ),
    "P0108": (
        "expression without a counterpart",
        "expressions are arithmetic, comparisons, loads of single elements, and calls of T",
    ),
    "P0109": (
        "view of a buffer",
        "T.match_buffer in a block names a part of a buffer, A[i : i + 16, k], of the same shape; "
        "elsewhere, write the subscripts of the buffer itself",
    ),
    "P0110": (
        "call whose effect is not known",
        "write what the call computes as loops and stores, or declare it: docs/import_tvm.md, "
        "'Calls of functions and instructions'",
    ),
    "P0201": (
        "schedule step without a counterpart",
        "docs/import_tvm.md lists the methods of Schedule that become steps",
    ),
    "P0202": (
        "argument without a counterpart",
        "docs/import_tvm.md lists the arguments that steps take",
    ),
    "P0203": (
        "schedule is not a list of steps",
        "the importer reads assignments, calls, and `for` over lists; print the trace of a "
        "schedule that Python computes (`print(sch.trace)`), and import that",
    ),
}


@dataclass(frozen=True)
class Finding:
    """A refusal, or a warning, at a node of the file."""

    code: str
    message: str
    line: int
    column: int
    length: int
    severity: str = "error"


class Refusal(Exception):
    """Leaves the statement that is being translated; the statements after it are still read."""

    def __init__(self, code: str, node: ast.AST, message: str) -> None:
        super().__init__(message)
        self.code, self.node, self.message = code, node, message


def follows(node: ast.AST) -> Refusal:
    """The refusal of what uses a name whose definition was refused: it says nothing more."""
    return Refusal("", node, "")


def targets(node: ast.AST) -> list[str]:
    """The names that an assignment defines."""
    return [
        n.id
        for target in getattr(node, "targets", [])
        for n in ast.walk(target)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]


def finding(node: ast.AST, code: str, message: str, severity: str = "error") -> Finding:
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    one_line = getattr(node, "end_lineno", None) == line
    length = getattr(node, "end_col_offset", 0) - column if one_line else 1
    return Finding(code, message, line, column + 1, max(1, length), severity)


@dataclass
class Report:
    """Everything that the importer has to say about one file."""

    path: str
    text: str
    findings: list[Finding] = field(default_factory=list)

    def refuse(self, refusal: Refusal) -> None:
        if refusal.code:
            self.add(finding(refusal.node, refusal.code, refusal.message))

    def warn(self, node: ast.AST, message: str) -> None:
        self.add(finding(node, "", message, "warning"))

    def add(self, found: Finding) -> None:
        if found not in self.findings:
            self.findings.append(found)

    @property
    def refused(self) -> bool:
        return any(f.severity == "error" for f in self.findings)

    def render(self) -> str:
        """All findings with their lines, and one remedy for each code."""
        lines: list[str] = []
        explained: set[str] = set()
        for f in sorted(self.findings, key=lambda f: (f.line, f.column)):
            code = f"[{f.code}]" if f.code else ""
            lines.append(f"{self.path}:{f.line}:{f.column}: {f.severity}{code}: {f.message}")
            lines += self._excerpt(f)
            if f.code and f.code not in explained:
                explained.add(f.code)
                lines.append(f"      = {CODES[f.code][0]}: {CODES[f.code][1]}")
        return "".join(line + "\n" for line in lines)

    def _excerpt(self, f: Finding) -> list[str]:
        source = self.text.splitlines()
        if f.line > len(source):
            return []
        return [
            f"{f.line:5} | {source[f.line - 1]}".rstrip(),
            f"      | {' ' * (f.column - 1)}^{'~' * (f.length - 1)}",
        ]
