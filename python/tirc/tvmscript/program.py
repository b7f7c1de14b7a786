"""Translates functions of TVMScript to kernels."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from .expression import Buffer, Refused, Scope, called
from .header import Item
from .opaque import Instruction
from .refusal import Refusal, Report
from .statement import BlockInfo, Statements, keyword
from .value import TYPES, Value

# Calls whose arguments are shapes, extents or domains: an integer parameter in one is a size.
_SHAPES = set(
    """Buffer match_buffer alloc_buffer sblock_alloc_buffer range grid serial parallel vectorized
    unroll thread_binding spatial reduce S R""".split()
)
_HANDLES = {"handle", ""}


@dataclass
class Kernel:
    """A kernel as text, and its blocks by their names in TVM."""

    name: str
    text: str
    blocks: dict[str, BlockInfo]
    words: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    """the declared instructions that it calls"""


class Function(Statements):
    """Translates one function."""

    def __init__(
        self,
        node: ast.FunctionDef,
        constants: dict[str, object],
        report: Report,
        variables: list[str],
        declared: dict[str, Instruction],
    ) -> None:
        super().__init__(Scope(dict(constants)), report)
        self.instructions = declared
        self.node = node
        self.variables = variables
        self.sizes: list[str] = []
        self.parameters: list[Buffer | Value] = []
        self.handles: dict[str, int] = {}

    def translate(self, name: str) -> Kernel:
        self._declare_sizes()
        self._declare_parameters()
        items = self.sequence(self._match_buffers(self.node.body))
        if not any(isinstance(p, Buffer) and self._role(p) != "in" for p in self.parameters):
            items = self._show_results(items)
        body = "".join("    " + line + "\n" for item in items for line in item)
        text = f"{self._signature(name)}\n{{\n{body}}}\n"
        words = self.names.taken | self.block_names.taken
        return Kernel(name, text, self.blocks, words, self.called)

    # ---- sizes -------------------------------------------------------------------------------

    def _declare_sizes(self) -> None:
        """Integer parameters that are extents, variables: `n = T.int32()`, and quoted names."""
        used = _names_of_extents(self.node)
        names = [name for name in self.variables if name in used]
        for arg in self.node.args.args:
            names += _quoted_sizes(arg)
            if arg.annotation and _scalar(arg.annotation).startswith("int") and arg.arg in used:
                names.append(arg.arg)
        for statement in self.node.body:
            names += _size_variables(statement)
        for name in dict.fromkeys(names):
            self._size(name)

    def _size(self, name: str) -> None:
        size = self.names.fresh(name)
        self.sizes.append(size)
        self.scope.define(name, Value(size, "index", low=1))

    # ---- parameters --------------------------------------------------------------------------

    def _declare_parameters(self) -> None:
        for arg in self.node.args.args:
            try:
                if arg.arg != "self" and self.scope.find(arg.arg) is None:
                    self._parameter(arg)
            except Refusal as refusal:
                self.report.refuse(refusal)
                self.scope.define(arg.arg, Refused())

    def _parameter(self, arg: ast.arg) -> None:
        kind = arg.annotation
        if kind is None or _scalar(kind) in _HANDLES and not _is_buffer(kind):
            self.handles[arg.arg] = len(self.parameters)
            self.parameters.append(Value("", "", literal=arg.arg))
        elif isinstance(kind, ast.Call) and _is_buffer(kind):
            self._add_buffer(arg.arg, self.make_buffer(arg.arg, kind, 0), len(self.parameters))
        elif _scalar(kind) in TYPES:
            value = Value(self.names.fresh(arg.arg), TYPES[_scalar(kind)])
            self.parameters.append(value)
            self.scope.define(arg.arg, value)
        else:
            raise Refusal("P0105", arg, f"'{arg.arg}' is {ast.unparse(kind)}")

    def _add_buffer(self, name: str, buffer: Buffer, place: int) -> None:
        buffer.parameter = True
        self.parameters[place : place + 1] = [buffer]
        self.scope.define(name, buffer)

    def _match_buffers(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements without those that declare parameters and sizes."""
        rest = []
        for statement in body:
            if list(_size_variables(statement)):
                continue
            if not self._match_buffer(statement):
                rest.append(statement)
        for name, place in self.handles.items():
            if isinstance(self.parameters[place], Value):
                refusal = Refusal("P0105", self.node, f"no T.match_buffer says what '{name}' is")
                self.report.refuse(refusal)
        return rest

    def _match_buffer(self, statement: ast.stmt) -> bool:
        call = getattr(statement, "value", None)
        if not isinstance(statement, ast.Assign) or not isinstance(call, ast.Call):
            return False
        target = statement.targets[0]
        source = call.args[0] if call.args else None
        if called(call) != "match_buffer" or not isinstance(target, ast.Name):
            return False
        if not isinstance(source, ast.Name) or source.id not in self.handles:
            return False
        try:
            buffer = self.make_buffer(target.id, call, 1)
            self._add_buffer(target.id, buffer, self.handles[source.id])
        except Refusal as refusal:
            self.refuse(statement, refusal)
        return True

    # ---- the signature -----------------------------------------------------------------------

    def _signature(self, name: str) -> str:
        inputs: list[str] = []
        outputs: list[str] = []
        for parameter in self.parameters:
            if isinstance(parameter, Value):
                if parameter.text:
                    inputs.append(f"{parameter.text}: {parameter.type}")
                continue
            role = self._role(parameter)
            text = f"{parameter.name}: {parameter.type}[{_shape(parameter)}]"
            (outputs if role == "out" else inputs).append("inout " * (role == "inout") + text)
        sizes = f"<{', '.join(self.sizes)}>" if self.sizes else ""
        result = f" -> {', '.join(outputs)}" if outputs else ""
        return f"kernel {name}{sizes}({', '.join(inputs)}){result}"

    def _show_results(self, items: list[Item]) -> list[Item]:
        """A function that writes no parameter has no result. Its temporaries that are written and
        not read become outputs, and those that are read and not written become inputs."""
        for buffer in self.temporaries:
            kinds = {a.write for a in self.scope.accesses if a.buffer is buffer}
            declared = [f"temp {buffer.name}: {buffer.type}[{_shape(buffer)}];"]
            if len(kinds) == 1 and declared in items:
                items = [item for item in items if item != declared]
                self.parameters.append(buffer)
                role = "an output" if kinds == {True} else "an input"
                self.report.warn(
                    self.node, f"'{buffer.name}' becomes {role}: no parameter is written"
                )
        return items

    def _role(self, buffer: Buffer) -> str:
        """in, out or inout: an output is overwritten before it is read."""
        accesses = [a for a in self.scope.accesses if a.buffer is buffer]
        if not any(a.write for a in accesses):
            return "in"
        whole = any(a.write and a.whole for a in accesses)
        return "out" if accesses[0].write and whole else "inout"


def _shape(buffer: Buffer) -> str:
    return ", ".join(v.text for v in buffer.shape)


def _scalar(kind: ast.expr) -> str:
    return called(kind)


def _is_buffer(kind: ast.expr) -> bool:
    return called(kind) == "Buffer"


def _quoted_sizes(arg: ast.arg) -> list[str]:
    """The names in quoted extents, as in T.Buffer(("n", 16)): TVM prints a size so where it occurs
    first. The quotes are taken off."""
    shape = keyword(arg.annotation, "shape", 0) if isinstance(arg.annotation, ast.Call) else None
    if not isinstance(shape, (ast.Tuple, ast.List)):
        return []
    names = []
    for i, extent in enumerate(shape.elts):
        if isinstance(extent, ast.Constant) and isinstance(extent.value, str):
            shape.elts[i] = _parsed(extent.value, extent)
            names += [n.id for n in ast.walk(shape.elts[i]) if isinstance(n, ast.Name)]
    return names


def _parsed(text: str, quoted: ast.expr) -> ast.expr:
    """The expression in quotes; what is none stays quoted."""
    try:
        expression = ast.parse(text, mode="eval").body
    except SyntaxError:
        return quoted
    for node in ast.walk(expression):
        ast.copy_location(node, quoted)
    return expression


def _size_variables(statement: ast.stmt) -> list[str]:
    """The names of `n = T.int32()` and `n, m = T.int32(), T.int64()`."""
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        whole = statement.value is None and _scalar(statement.annotation).startswith("int")
        return [statement.target.id] if whole else []
    if not isinstance(statement, ast.Assign):
        return []
    target, value = statement.targets[0], statement.value
    targets = target.elts if isinstance(target, ast.Tuple) else [target]
    values = value.elts if isinstance(value, ast.Tuple) else [value]
    if len(targets) != len(values) or not all(map(_is_variable, values)):
        return []
    return [t.id for t in targets if isinstance(t, ast.Name)]


def _is_variable(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = called(node)
    arguments = [a for a in node.args if not isinstance(a, ast.Constant)]
    return name in ("int32", "int64") and not node.args or name == "var" and not arguments


def _names_of_extents(node: ast.AST) -> set[str]:
    """The names that occur in shapes and extents."""
    found: set[str] = set()
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and called(call) in _SHAPES:
            shape = keyword(call, "shape")
            parts = [*call.args, *([shape] if shape is not None else [])]
            if called(call) in ("spatial", "reduce", "S", "R"):
                parts = call.args[:1]
            found |= {n.id for p in parts for n in ast.walk(p) if isinstance(n, ast.Name)}
    return found
