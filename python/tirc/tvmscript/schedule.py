"""Translates schedules and printed traces to schedule scripts."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .constants import NotConstant, evaluate
from .expression import called
from .names import Names, legal
from .program import Kernel
from .refusal import Refusal, Report, follows, targets
from .statement import annotation_text
from .value import TYPES

Given = dict[str, Any]
"""The arguments of a call by parameter: an expression, or the list that `*` takes."""

# The parameters of each method that becomes a step: `*` takes the rest.
_METHODS = {
    "get_sblock": "name func_name",
    "get_block": "name func_name",
    "get_loops": "block",
    "get_producers": "block",
    "get_consumers": "block",
    "get_child_blocks": "block_or_loop",
    "get_output_blocks": "block",
    "split": "loop factors preserve_unit_iters disable_predication",
    "fuse": "*loops preserve_unit_iters",
    "reorder": "*ordered_loops",
    "merge": "*loops",
    "loop_partition": "loop factors preserve_unit_iters",
    "add_unit_loop": "block_or_loop",
    "reorder_block_iter_var": "block new_order",
    "bind": "loop thread_axis",
    "parallel": "loop",
    "vectorize": "loop",
    "unroll": "loop",
    "cache_read": "block read_buffer_index storage_scope consumer_blocks",
    "cache_write": "block write_buffer_index storage_scope consumer_blocks",
    "reindex_cache_read": "block read_buffer_index storage_scope index_map",
    "reindex_cache_write": "block write_buffer_index storage_scope index_map",
    "cache_inplace": "block read_buffer_index storage_scope",
    "cache_index": "block storage_scope cse_thresh",
    "reindex": "block buffer",
    "read_at": "loop block read_buffer_index storage_scope",
    "write_at": "loop block write_buffer_index storage_scope",
    "compute_at": "block loop preserve_unit_loops index",
    "reverse_compute_at": "block loop preserve_unit_loops index",
    "compute_inline": "block",
    "reverse_compute_inline": "block",
    "fuse_reduction_epilogue": "reduction_block epilogue_block",
    "decompose_reduction": "block loop",
    "rfactor": "loop factor_axis merge_loops",
    "storage_align": "block buffer_index axis factor offset",
    "set_scope": "block buffer_index storage_scope",
    "unsafe_set_dtype": "block buffer_index dtype",
    "blockize": "target preserve_unit_iters",
    "annotate": "block_or_loop ann_key ann_val",
    "unannotate": "block_or_loop ann_key",
    "transform_layout": "block buffer index_map pad_value assume_injective_transform",
    "transform_block_layout": "block index_map",
    "decompose_padding": "block loop",
    "can_decompose_padding": "block loop",
    "pad_einsum": "block padding",
    "rolling_buffer": "block write_buffer_index",
    "sample_perfect_tile": "loop n max_innermost_factor decision",
    "sample_categorical": "candidates probs decision",
    "sample_compute_location": "block decision",
}
_RENAMED = {
    "get_producers": "producers",
    "get_consumers": "consumers",
    "reorder_block_iter_var": "reorder_block_iter_var",
}
# Steps whose arguments are handles and numbers, in the order of tirc.
_DIRECT = {
    "get_producers": ["block"],
    "get_consumers": ["block"],
    "add_unit_loop": ["block_or_loop"],
    "reorder_block_iter_var": ["block", "new_order"],
    "parallel": ["loop"],
    "vectorize": ["loop"],
    "unroll": ["loop"],
    "compute_inline": ["block"],
    "reverse_compute_inline": ["block"],
    "fuse_reduction_epilogue": ["reduction_block", "epilogue_block"],
    "decompose_reduction": ["block", "loop"],
    "rfactor": ["loop", "factor_axis"],
    "decompose_padding": ["block", "loop"],
    "can_decompose_padding": ["block", "loop"],
    "pad_einsum": ["block", "padding"],
    "rolling_buffer": ["block"],
}
# Calls that change neither what is computed nor what tirc knows: it derives the regions of a block.
_IGNORED = {
    "enter_postproc",
    "work_on",
    "show",
    "state",
    "copy",
    "seed",
    "annotate_buffer_access",
}
_REASONS = {
    "tensorize": "its intrinsic is code of TVM; declare the instruction as text, and use tensorize",
    "set_axis_separator": "buffers of tirc have one address",
    "unsafe_hide_buffer_access": "tirc derives the regions of a block",
}
_INLINE = -2  # a decision of sample_compute_location
# Annotations that ask TVM for a transformation.
_TRANSFORMATIONS = {
    "software_pipeline_stage": "pipeline(loop, stages)",
    "software_pipeline_order": "pipeline(loop, stages)",
    "software_pipeline_async_stages": "copy_async(block)",
    "double_buffer_scope": "pipeline(loop, 2)",
}


class Script:
    """One schedule: the calls of methods of `handle`, as steps."""

    def __init__(
        self, handle: str, kernel: Kernel | None, constants: dict[str, Any], report: Report
    ) -> None:
        self.handle, self.kernel, self.report = handle, kernel, report
        self.constants = dict(constants)
        self.variables: dict[str, str] = {}
        self.names = Names(set(kernel.words) if kernel else set())
        # What the reads of a block are called now, by the text of its handle or by its name.
        self.reads: dict[str, list[str]] = {}
        self.block_of: dict[str, str] = {}
        self.blocks = kernel.blocks if kernel else {}
        if kernel:
            self.reads = {b.name: list(b.reads) for b in kernel.blocks.values()}
        self.n_writes = {b.name: len(b.writes) for b in kernel.blocks.values()} if kernel else {}
        # Blocks around blocks, and the variables for blocks that stand for them.
        self.nests = {n: b for n, b in kernel.blocks.items() if b.holds} if kernel else {}
        self.nest_of: dict[str, str] = {}
        self.whole: dict[str, str] = {}
        # The names of the loops of blocks in TVM, by blocks and by variables, and the first block of
        # each part that loop_partition makes, by its name in TVM.
        self.loops_of = {b.name: b.loops for b in self.blocks.values() if not b.holds}
        self.loop_of: dict[str, tuple[str, str]] = {}
        self.parts: dict[str, str] = {}
        self.last_asked = 0
        """the line of the last step that asks for loops"""
        self.no_loop: dict[str, int] = {}  # variables for decisions that are no loops
        self.lines: list[str] = []
        self.refused: set[str] = set()

    def text(self, name: str) -> str:
        target = self.kernel.name if self.kernel else "any"
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"schedule {name} for {target}()\n{{\n{body}}}\n"

    # ---- statements --------------------------------------------------------------------------

    def run(self, body: list[ast.stmt]) -> None:
        calls = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Call)]
        asked = [c.lineno for c in calls if called(c) == "get_loops"]
        self.last_asked = max([self.last_asked, *asked])
        for statement in body:
            try:
                self._statement(statement)
            except Refusal as refusal:
                self.report.refuse(refusal)
                self.refused |= set(targets(statement))

    def _statement(self, node: ast.stmt) -> None:
        value = getattr(node, "value", None)
        if isinstance(node, ast.For) and self._mentions(node):
            return self._for(node)
        if isinstance(node, (ast.Expr, ast.Assign)) and self._is_step(node.value):
            return self._step(node, node.value)
        if isinstance(node, ast.Assign) and self._uses_handles(value):
            return self._let(node)
        if self._mentions(node) and any(self._is_step(n) for n in ast.walk(node)):
            raise Refusal("P0203", node, f"tirc does not run this {type(node).__name__} of Python")

    def _mentions(self, node: ast.AST) -> bool:
        return any(isinstance(n, ast.Name) and n.id == self.handle for n in ast.walk(node))

    def _is_step(self, node: object) -> bool:
        """A call of a method of the schedule, or an element of what one gives."""
        while isinstance(node, ast.Subscript):
            node = node.value
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        owner = node.func.value
        return isinstance(owner, ast.Name) and owner.id == self.handle

    def _uses_handles(self, node: object) -> bool:
        return isinstance(node, ast.AST) and any(
            isinstance(n, ast.Name) and n.id in self.variables or self._is_step(n)
            for n in ast.walk(node)
        )

    def _step(self, node: ast.stmt, value: ast.expr) -> None:
        call = value
        while isinstance(call, ast.Subscript):
            call = call.value
        assert isinstance(call, ast.Call)
        if called(call) in _IGNORED:
            return
        targets = node.targets if isinstance(node, ast.Assign) else []
        if called(call) in ("get_sblock", "get_block") and self._names_nest(call, targets):
            return
        if called(call).startswith("sample_") and call is value:
            if self._sample(call, targets):
                return
        if called(call).endswith("compute_at") and self._at_no_loop(call):
            return
        text = self.value(value)
        block = self.block_of.pop(text, None)
        if not targets:
            self.lines.append(f"{text};")
            return
        pattern = self._pattern(targets[0])
        self.lines.append(f"let {pattern} = {text};")
        self._name_loops(call, targets[0])
        if block:
            self.block_of[pattern] = block

    def _name_loops(self, call: ast.Call, target: ast.expr) -> None:
        """Which loops the variables of `i, j = sch.get_loops(b)` are, and what TVM calls the blocks
        of `a, b = sch.loop_partition(i, ...)`: B_i0 and B_i1."""
        given = self._bind(call, called(call)) if called(call) in _METHODS else {}
        variables = [self.variables.get(getattr(n, "id", "")) for n in getattr(target, "elts", [])]
        if called(call) == "get_loops" and not self._nest(given["block"]):
            block = self.value(given["block"])
            block = self.block_of.get(block, block)
            names = self.loops_of.get(block, [])
            if len(names) == len(variables):
                named = {v: (block, name) for v, name in zip(variables, names) if v}
                self.loop_of.update(named)
        if called(call) == "loop_partition":
            block, loop = self.loop_of.get(self.value(given["loop"]), ("", ""))
            for n, variable in enumerate(variables):
                if block and variable:
                    self.parts[f"{block}_{loop}{n}"] = f"blocks({variable})[0]"
                    self.loops_of[f"{block}_{loop}{n}"] = self.loops_of[block]

    def _names_nest(self, call: ast.Call, targets: list[ast.expr]) -> bool:
        """`b = sch.get_sblock(...)` of a block around blocks: no step until it is used; of the
        program as a whole: none."""
        name = self._constant(self._bind(call, called(call)).get("name"))
        known = self.kernel.blocks if self.kernel else {}
        if name == "root" and name not in known and targets and isinstance(targets[0], ast.Name):
            self.variables[targets[0].id] = "block(root)"  # it has no steps of its own
            return True
        if name not in self.nests or not targets or not isinstance(targets[0], ast.Name):
            return False
        self.nest_of[targets[0].id] = str(name)
        return True

    def _nest(self, node: ast.expr) -> str | None:
        """The block around blocks that an argument names."""
        if isinstance(node, ast.Call) and called(node) in ("get_sblock", "get_block"):
            node = self._bind(node, called(node)).get("name", node)
        name = self.nest_of.get(node.id) if isinstance(node, ast.Name) else self._constant(node)
        return str(name) if name in self.nests else None

    def _make_whole(self, name: str) -> str:
        """One block in place of the blocks that a block of TVM holds."""
        if name not in self.whole:
            nest = self.nests[name]
            inner = [b.name for b in nest.holds]
            loops = nest.holds[0].depth - nest.depth
            one_nest = len(inner) == 1 and loops > 0
            nodes = f"loops({inner[0]})[-{loops}]" if one_nest else ", ".join(inner)
            self.whole[name] = self.names.fresh(name)
            self.lines.append(f"let {self.whole[name]} = blockize({nodes});")
        return self.whole[name]

    def _do_get_loops(self, call: ast.Call, given: Given) -> str:
        """The loops of a block, up to the block of TVM that holds it."""
        name = self._nest(given["block"])
        if name and name not in self.whole:
            nest = self.nests[name]
            first, inside = nest.holds[0].name, nest.holds[0].depth - nest.depth
            around = nest.depth - nest.outside
            return self._part(f"loops({first})", -inside - around, -inside)
        block = self.value(given["block"])
        known = [b for b in self.kernel.blocks.values() if not b.holds] if self.kernel else []
        info = next((b for b in known if b.name == self.block_of.get(block, block)), None)
        if info and info.outside:
            return self._part(f"loops({block})", info.outside - info.depth, 0)
        return f"loops({block})"

    def _part(self, loops: str, first: int, end: int) -> str:
        """The loops that these numbers count from the innermost one, which has number -1."""
        if first == end:
            return "[]"
        return f"{loops}[{first}:{end if end else ''}]"

    def _let(self, node: ast.Assign) -> None:
        text = self.value(node.value)
        self.lines.append(f"let {self._pattern(node.targets[0])} = {text};")

    def _for(self, node: ast.For) -> None:
        text = self.value(node.iter)
        outer, self.lines = self.lines, []
        pattern = self._pattern(node.target)
        self.run(node.body)
        inner, self.lines = self.lines, outer
        self.lines += [f"for {pattern} in {text} {{", *("    " + line for line in inner), "}"]

    def _pattern(self, node: ast.expr) -> str:
        if isinstance(node, (ast.Tuple, ast.List)):
            return "[" + ", ".join(self._pattern(n) for n in node.elts) + "]"
        if not isinstance(node, ast.Name):
            raise Refusal("P0203", node, "a step's result gets a name")
        if node.id == "_":
            return "_"
        self.nest_of.pop(node.id, None)
        self.variables[node.id] = self.names.fresh(node.id)
        self.constants.pop(node.id, None)
        return self.variables[node.id]

    # ---- values ------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> str:
        try:
            return self._python(node, evaluate(node, self.constants))
        except NotConstant:
            pass
        if isinstance(node, ast.Name):
            if node.id in self.nest_of:
                return self._make_whole(self.nest_of[node.id])
            if node.id in self.variables:
                return self.variables[node.id]
            if node.id in self.refused:
                raise follows(node)
            raise Refusal("P0101", node, f"'{node.id}' is no result of a step above")
        if isinstance(node, (ast.Tuple, ast.List)):
            return "[" + ", ".join(self.value(n) for n in node.elts) + "]"
        if isinstance(node, ast.Subscript):
            return f"{self.value(node.value)}[{self._index(node.slice)}]"
        if isinstance(node, ast.Call) and self._is_step(node):
            return self._call(node)
        return self._arithmetic(node)

    def _python(self, node: ast.expr, value: object) -> str:
        if value is None:
            return "_"
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, list):
            return "[" + ", ".join(self._python(node, v) for v in value) + "]"
        if isinstance(value, str):
            return self._make_whole(value) if value in self.nests else _word(value)
        return str(value)

    def _index(self, node: ast.expr) -> str:
        if isinstance(node, ast.Slice) and node.step is None:
            return ":".join("" if n is None else self.value(n) for n in (node.lower, node.upper))
        return self.value(node)

    def _arithmetic(self, node: ast.expr) -> str:
        operators = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/", ast.Mod: "%"}
        if isinstance(node, ast.BinOp) and type(node.op) in operators:
            left, right = self.value(node.left), self.value(node.right)
            return f"({left} {operators[type(node.op)]} {right})"
        if isinstance(node, ast.Call) and called(node) in ("zip", "enumerate", "range"):
            raise Refusal("P0203", node, f"a script has lists, but no {called(node)}")
        raise Refusal("P0202", node, f"'{ast.unparse(node)[:80]}' is no value of a script")

    # ---- steps -------------------------------------------------------------------------------

    def _call(self, call: ast.Call) -> str:
        name = called(call)
        if name not in _METHODS:
            reason = _REASONS.get(name, "it is no step of tirc")
            raise Refusal("P0201", call, f"'{name}' has no counterpart: {reason}")
        given = self._bind(call, name)
        handler: Callable[[ast.Call, Given], str] | None = getattr(self, "_do_" + name, None)
        if handler:
            return handler(call, given)
        arguments = [self.value(given[p]) for p in _DIRECT[name] if p in given]
        if name == "compute_inline":
            self._inlined(arguments[0])
        return f"{_RENAMED.get(name, name)}({', '.join(arguments)})"

    def _bind(self, call: ast.Call, name: str) -> dict[str, ast.expr]:
        """The arguments by the names of the parameters."""
        parameters = _METHODS[name].split()
        given: dict[str, ast.expr] = {}
        if parameters[0].startswith("*"):
            items = ast.copy_location(ast.List(list(call.args)), call)
            given[parameters[0][1:]] = items
        else:
            given.update(zip(parameters, call.args))
        for k in call.keywords:
            if k.arg is None or k.arg not in [p.lstrip("*") for p in parameters]:
                raise Refusal("P0202", k.value, f"'{name}' has no argument '{k.arg}'")
            given[k.arg] = k.value
        return given

    def _constant(self, node: ast.expr | None) -> object:
        try:
            return None if node is None else evaluate(node, self.constants)
        except NotConstant:
            return None

    def _do_get_sblock(self, call: ast.Call, given: Given) -> str:
        name = str(self._constant(given.get("name")))
        if name in self.nests:
            return self._make_whole(name)
        known = self.kernel.blocks.get(name) if self.kernel else None
        word = known.name if known else legal(name.removesuffix("_update"))
        if not known and legal(name) != word and self.kernel and name in self.kernel.words:
            word = legal(name)
        whole = self.kernel.blocks.get(name.removesuffix("_rf")) if self.kernel else None
        if not known and whole and name.endswith("_rf") and whole.writes:
            word = f"{whole.writes[0]}_rf"  # what rfactor makes of it
        text = f"block({word})"
        if not known and name in self.parts:
            text, word = self.parts[name], name
        self.block_of[text] = word
        return text

    _do_get_block = _do_get_sblock

    def _do_get_output_blocks(self, call: ast.Call, given: Given) -> str:
        return "output_blocks()"

    def _do_get_child_blocks(self, call: ast.Call, given: Given) -> str:
        scope = self.value(given["block_or_loop"])
        return "blocks()" if scope == "block(root)" else f"blocks({scope})"

    def _do_blockize(self, call: ast.Call, given: Given) -> str:
        target = given["target"]
        nodes = target.elts if isinstance(target, (ast.List, ast.Tuple)) else [target]
        return f"blockize({', '.join(self.value(n) for n in nodes)})"

    def _spread(self, name: str, node: ast.expr) -> str:
        """`name(a, b)` of the loops a, b or of one list."""
        items = node.elts if isinstance(node, ast.List) else [node]
        values = [
            self.value(n.value) if isinstance(n, ast.Starred) else self.value(n) for n in items
        ]
        starred = any(isinstance(n, ast.Starred) for n in items)
        if starred and len(items) > 1:
            parts = [v if isinstance(n, ast.Starred) else f"[{v}]" for n, v in zip(items, values)]
            return f"{name}({' + '.join(parts)})"
        return f"{name}({', '.join(values)})"

    def _do_fuse(self, call: ast.Call, given: Given) -> str:
        return self._spread("fuse", given["loops"])

    def _do_merge(self, call: ast.Call, given: Given) -> str:
        return self._spread("merge", given["loops"])

    def _do_reorder(self, call: ast.Call, given: Given) -> str:
        return self._spread("reorder", given["ordered_loops"])

    def _do_split(self, call: ast.Call, given: Given) -> str:
        return f"split({self.value(given['loop'])}, {self.value(given['factors'])})"

    def _do_loop_partition(self, call: ast.Call, given: Given) -> str:
        factors = self._constant(given["factors"])
        text = self.value(given["factors"])
        if isinstance(factors, list) and None not in factors:  # TVM adds what remains
            text = f"{text[:-1]}, _]"
        return f"loop_partition({self.value(given['loop'])}, {text})"

    def _do_bind(self, call: ast.Call, given: Given) -> str:
        return f"bind({self.value(given['loop'])}, {self.value(given['thread_axis'])})"

    # ---- copies ------------------------------------------------------------------------------

    def _do_cache_read(self, call: ast.Call, given: Given) -> str:
        buffer = self._read(given, "read_buffer_index")
        text = self._copy("cache_read", given, buffer)
        self._staged(buffer)
        return text

    def _do_cache_write(self, call: ast.Call, given: Given) -> str:
        block = self.value(given["block"])
        buffer = self._written(given, block)
        return f"cache_write({block}, {self._scope(given)}{self._consumers(given)}{buffer})"

    def _do_cache_inplace(self, call: ast.Call, given: Given) -> str:
        return self._copy("cache_inplace", given, self._read(given, "read_buffer_index", False))

    def _copy(self, name: str, given: Given, buffer: str) -> str:
        block = self.value(given["block"])
        return f"{name}({block}, {buffer}, {self._scope(given)}{self._consumers(given)})"

    def _do_read_at(self, call: ast.Call, given: Given) -> str:
        loop, block = self.value(given["loop"]), self.value(given["block"])
        buffer = self._read(given, "read_buffer_index")
        return f"read_at({loop}, {block}, {buffer}, {self._scope(given)})"

    def _do_write_at(self, call: ast.Call, given: Given) -> str:
        self._only(given, "write_buffer_index")
        loop, block = self.value(given["loop"]), self.value(given["block"])
        return f"write_at({loop}, {block}, {self._target(block)}, {self._scope(given)})"

    def _do_reindex_cache_read(self, call: ast.Call, given: Given) -> str:
        buffer = self._read(given, "read_buffer_index")
        return (
            self._copy("reindex_cache_read", given, buffer)[:-1]
            + f", {self._map(given['index_map'])})"
        )

    def _do_reindex_cache_write(self, call: ast.Call, given: Given) -> str:
        self._only(given, "write_buffer_index")
        block = self.value(given["block"])
        text = self._copy("reindex_cache_write", given, self._target(block))
        return text[:-1] + f", {self._map(given['index_map'])})"

    def _do_reindex(self, call: ast.Call, given: Given) -> str:
        block = self.value(given["block"])
        return f"reindex({block}, {self._buffer(given['buffer'], block)})"

    def _do_cache_index(self, call: ast.Call, given: Given) -> str:
        return f"cache_index({self.value(given['block'])}, {self._scope(given)})"

    def _scope(self, given: Given) -> str:
        scope = str(self._constant(given.get("storage_scope")))
        scope = "shared" if scope == "shared.dyn" else scope
        if scope not in ("global", "shared", "warp", "local"):
            raise Refusal("P0202", given["storage_scope"], f"tirc has no memory scope {scope!r}")
        return scope

    def _consumers(self, given: Given) -> str:
        node = given.get("consumer_blocks")
        if node is None or self._constant(node) in (None, []) and isinstance(node, ast.Constant):
            return ""
        items = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]
        texts = [_block_word(n) or self.value(n) for n in items]
        return f", consumers = [{', '.join(texts)}]"

    def _only(self, given: Given, parameter: str) -> None:
        node = given.get(parameter)
        if node is not None and self._constant(node) != 0 and not self._named(node):
            raise Refusal("P0202", node, "blocks of tirc are known by the first buffer they write")

    def _named(self, node: ast.expr) -> bool:
        return isinstance(self._constant(node), str)

    def _written(self, given: Given, block: str) -> str:
        """The argument for one of several buffers that a block writes, which a trace without its
        program does not know."""
        node = given.get("write_buffer_index", ast.Constant(0))
        index = self._constant(node)
        if isinstance(index, str):
            return f", buffer = {legal(index)}"
        if not isinstance(index, int):
            raise Refusal("P0202", node, "a buffer is a number or a name")
        count = self.n_writes.get(self.block_of.get(block, block), 1 if self.kernel else None)
        return "" if count == 1 and index == 0 else f", buffer = writes({block})[{index}]"

    def _read(self, given: Given, parameter: str, known: bool = True) -> str:
        """The buffer that a block reads at an index of TVM."""
        block, node = self.value(given["block"]), given.get(parameter, ast.Constant(0))
        if not known and not self._named(node):
            return block
        return self._read_at(block, node)

    def _read_at(self, block: str, node: ast.expr) -> str:
        index = self._constant(node)
        if isinstance(index, str):
            return legal(index)
        if not isinstance(index, int):
            raise Refusal("P0202", node, "a buffer is a number or a name")
        reads = self.reads.get(self.block_of.get(block, block))
        if reads is None:
            return f"reads({block})[{index}]"
        if index >= len(reads):
            raise Refusal("P0202", node, f"the block reads {len(reads)} buffers")
        return reads[index]

    def _buffer(self, node: ast.expr, block: str) -> str:
        """ "A", ("read", 0), ("write", 0) or 0."""
        spec = self._constant(node)
        if isinstance(spec, list) and len(spec) == 2 and spec[0] in ("read", "write"):
            if spec[0] == "write" and isinstance(spec[1], int):
                return self._target(block, spec[1])
            if spec[0] == "read":
                return self._read_at(block, ast.copy_location(ast.Constant(spec[1]), node))
        if isinstance(spec, str):
            return legal(spec)
        raise Refusal("P0202", node, f"'{ast.unparse(node)}' names no buffer of the block")

    def _target(self, block: str, number: int = 0) -> str:
        """The buffer that a block writes: the block itself where it writes one, unless it is named
        by a label."""
        known = self.kernel.blocks.values() if self.kernel else []
        label = any(b.name == block and block not in b.writes for b in known)
        count = self.n_writes.get(self.block_of.get(block, block), 1)
        return f"writes({block})[{number}]" if label or count > 1 else block

    def _staged(self, buffer: str) -> None:
        """Readers of a staged buffer read the copy; its name is not known."""
        self.reads = {block: reads for block, reads in self.reads.items() if buffer not in reads}

    def _inlined(self, block: str) -> None:
        """Readers of an inlined block read what it read; their order is no longer known."""
        self.reads = {}

    # ---- placement and layouts ---------------------------------------------------------------

    def _do_compute_at(self, call: ast.Call, given: Given) -> str:
        return self._at("compute_at", call, given)

    def _do_reverse_compute_at(self, call: ast.Call, given: Given) -> str:
        return self._at("reverse_compute_at", call, given)

    def _at(self, name: str, call: ast.Call, given: Given) -> str:
        """Loops of one iteration matter where a later step counts the loops of a block."""
        index = given.get("index")
        if index is not None and self._constant(index) not in (-1, -2):
            number = f", index = {self.value(index)}"
        else:
            number = ""
        if not self._constant(given.get("preserve_unit_loops")) and call.lineno < self.last_asked:
            number += ", preserve_unit_loops = false"
        return f"{name}({self.value(given['block'])}, {self.value(given['loop'])}{number})"

    def _do_storage_align(self, call: ast.Call, given: Given) -> str:
        self._only(given, "buffer_index")
        numbers = ", ".join(self.value(given[p]) for p in ("axis", "factor", "offset"))
        return f"storage_align({self.value(given['block'])}, {numbers})"

    def _chosen(self, given: Given) -> str:
        """The buffer that a block writes, by its name or its number."""
        spec = self._constant(given["buffer_index"])
        if isinstance(spec, str):
            return legal(spec)
        self._only(given, "buffer_index")
        return self._target(self.value(given["block"]))

    def _do_set_scope(self, call: ast.Call, given: Given) -> str:
        return f"set_scope({self._chosen(given)}, {self._scope(given)})"

    def _do_unsafe_set_dtype(self, call: ast.Call, given: Given) -> str:
        word = str(self._constant(given["dtype"]))
        if word not in TYPES:
            raise Refusal("P0202", given["dtype"], f"tirc has no type {word!r}")
        return f"unsafe_set_dtype({self._chosen(given)}, {TYPES[word]})"

    def _do_transform_layout(self, call: ast.Call, given: Given) -> str:
        block = self.value(given["block"])
        buffer = self._buffer(given["buffer"], block)
        pad = _pad_value(given.get("pad_value"))
        padding = ""
        if pad is not None and self._constant(pad) is not None:
            number = self._constant(pad)
            if isinstance(number, float) and number.is_integer():
                padding = f", pad_value = {int(number)}"
            else:
                padding = f", pad_value = {self.value(pad)}"
        elif isinstance(given.get("pad_value"), ast.Lambda):
            padding = f", pad_value = {self._map(_unscaled(given['pad_value']))}"
        elif pad is not None and not isinstance(pad, ast.Constant):
            raise Refusal("P0202", pad, "a pad value is a number, or a lambda of the place")
        return f"transform_layout({buffer}, {self._map(given['index_map'])}{padding})"

    def _do_transform_block_layout(self, call: ast.Call, given: Given) -> str:
        return (
            f"transform_block_layout({self.value(given['block'])}, {self._map(given['index_map'])})"
        )

    def _map(self, node: ast.expr) -> str:
        """lambda i, j: (i // 4, j, i % 4) as [i, j] -> [i / 4, j, i % 4]."""
        if not isinstance(node, ast.Lambda) or node.args.vararg:
            raise Refusal("P0202", node, "an index map is a lambda with a fixed number of names")
        names = [legal(a.arg) for a in node.args.args]
        body = node.body.elts if isinstance(node.body, (ast.Tuple, ast.List)) else [node.body]
        saved = dict(self.variables), dict(self.constants)
        self.variables.update({a.arg: n for a, n in zip(node.args.args, names)})
        for a in node.args.args:
            self.constants.pop(a.arg, None)
        try:
            outputs = [_bare(self.value(n)) for n in body]
        finally:
            self.variables, self.constants = saved
        return f"[{', '.join(names)}] -> [{', '.join(outputs)}]"

    # ---- annotations and samples -------------------------------------------------------------

    def _do_annotate(self, call: ast.Call, given: Given) -> str:
        key = str(self._constant(given["ann_key"]))
        if key in _TRANSFORMATIONS:
            self.report.warn(call, f"'{key}' has no effect in tirc; use {_TRANSFORMATIONS[key]}")
        value = annotation_text(self._constant(given["ann_val"]))
        if value is None:
            raise Refusal("P0202", given["ann_val"], "an annotation has no such value")
        return f"annotate({self.value(given['block_or_loop'])}, {legal(key)}, {value})"

    def _do_unannotate(self, call: ast.Call, given: Given) -> str:
        key = legal(str(self._constant(given["ann_key"])))
        return f"unannotate({self.value(given['block_or_loop'])}, {key})"

    def _sample(self, call: ast.Call, targets: list[ast.expr]) -> bool:
        """The decision of a trace, or an open choice: `tune`."""
        name = called(call)
        if name not in ("sample_perfect_tile", "sample_categorical", "sample_compute_location"):
            return False
        given = self._bind(call, name)
        decision = self._constant(given.get("decision"))
        if name == "sample_compute_location":
            if isinstance(decision, int) and decision < 0 and isinstance(targets[0], ast.Name):
                self.no_loop[targets[0].id] = decision
            else:
                place = self._do_sample_compute_location(call, given)
                self.lines.append(f"let {self._pattern(targets[0])} = {place};")
            return True
        if decision is not None and name == "sample_categorical":
            candidates = self._constant(given["candidates"])
            assert isinstance(candidates, list) and isinstance(decision, int)
            decision = candidates[decision]
        if decision is not None:
            shown = self._python(call, decision)
            self.lines.append(f"let {self._pattern(targets[0])} = {shown};")
            return True
        tile = self.names.fresh("tile" if name == "sample_perfect_tile" else "choice")
        self.lines.append(f"tune {tile} in {self._space(name, given)};")
        self.lines.append(f"let {self._pattern(targets[0])} = {tile};")
        return True

    def _do_sample_compute_location(self, call: ast.Call, given: Given) -> str:
        """The loop around the first consumer that a decision counts, or an open choice."""
        block, decision = self.value(given["block"]), self._constant(given.get("decision"))
        if isinstance(decision, int):
            return f"loops(consumers({block})[0])[{decision}]"
        place = self.names.fresh("place")
        self.lines.append(f"tune {place} in sample_compute_location({block});")
        return place

    def _at_no_loop(self, call: ast.Call) -> bool:
        """TVM's decisions that are no loops: a block stays at the root (-1), or is inlined (-2)."""
        given = self._bind(call, called(call))
        loop = given["loop"]
        decision = self.no_loop.get(loop.id) if isinstance(loop, ast.Name) else None
        if decision == _INLINE:
            prefix = called(call).removesuffix("compute_at")
            self.lines.append(f"{prefix}compute_inline({self.value(given['block'])});")
        return decision is not None

    def _space(self, name: str, given: Given) -> str:
        if name == "sample_categorical":
            return f"sample_categorical({self.value(given['candidates'])})"
        most = given.get("max_innermost_factor")
        limit = f", max_innermost = {self.value(most)}" if most is not None else ""
        return f"sample_perfect_tile({self.value(given['loop'])}, {self.value(given['n'])}{limit})"


def _block_word(node: ast.expr) -> str:
    return (
        legal(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    )


def _bare(text: str) -> str:
    """Without the parentheses around the whole."""
    inner = text[1:-1]
    whole = text.startswith("(") and text.endswith(")") and inner.find(")") >= inner.find("(")
    return inner if whole and inner.count("(") == inner.count(")") and _balanced(inner) else text


def _balanced(text: str) -> bool:
    depth = 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if depth < 0:
            return False
    return depth == 0


def _word(text: str) -> str:
    """A string of Python: a scope, an axis, the name of a block or buffer."""
    return text if "." in text else legal(text) if text not in ("shared", "warp", "local") else text


def _unscaled(node: ast.Lambda) -> ast.Lambda:
    """`lambda a, b: T.float32(1.0) * b`, as TVM asks for a type, and `T.Cast("float32", b)`, as a
    trace prints it, without the type."""
    body = node.body
    if isinstance(body, ast.Tuple) and len(body.elts) == 1:
        body = body.elts[0]
    if isinstance(body, ast.Call) and called(body) == "Cast" and len(body.args) == 2:
        return ast.copy_location(ast.Lambda(node.args, body.args[1]), node)
    if isinstance(body, ast.BinOp) and isinstance(body.op, ast.Mult):
        one = body.left
        if isinstance(one, ast.Call) and called(one) in TYPES and len(one.args) == 1:
            number = one.args[0]
            if isinstance(number, ast.Constant) and number.value == 1:
                return ast.copy_location(ast.Lambda(node.args, body.right), node)
    return node


def _pad_value(node: ast.expr | None) -> ast.expr | None:
    """The number of `0.0`, and of `lambda i, j: (T.float32(0.0),)`, as a trace prints it."""
    if isinstance(node, ast.Lambda):
        node = node.body
        if isinstance(node, ast.Tuple) and len(node.elts) == 1:
            node = node.elts[0]
        if isinstance(node, ast.Call) and called(node) in TYPES and len(node.args) == 1:
            node = node.args[0]
    return node
