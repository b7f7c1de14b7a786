"""Kernels as operators of PyTorch, for torch.compile, torch.export and autograd."""

from __future__ import annotations

import ast
from typing import Any, Callable

import torch
from torch import Tensor

from ._unit import Declaration
from .arrays import _LIBRARY_NAMES
from .kernel import Kernel

__all__ = ["op"]


def op(name: str, kernel: Kernel, *, backward: Kernel | None = None) -> Callable[..., Any]:
    """Registers a kernel as the operator `name` ("mine::matmul") and returns it.

    The operator takes the kernel's inputs in order and returns its outputs. It has a fake kernel,
    so torch.compile takes it whole. `backward` computes gradients: its inputs are named like
    inputs and outputs of the kernel, and grad_C for the gradient of output C; its output grad_A is
    the gradient of input A. Inputs without one get no gradient.
    """
    operator: Callable[..., Any] = _register(name, kernel)
    if backward is not None:
        _register_gradient(name, operator, kernel, backward)
    return operator


def _split(kernel: Kernel) -> tuple[list[Declaration], list[Declaration]]:
    inputs = [p for p in kernel.parameters if p.is_input]
    outputs = [p for p in kernel.parameters if not p.is_input]
    if not outputs:
        raise ValueError("an operator needs a kernel with outputs; this one writes in place only")
    if kernel.layouts:
        raise ValueError(
            "an operator needs the layouts of its program, but the schedule has changed that of "
            f"{', '.join(kernel.layouts)}"
        )
    return inputs, outputs


def _schema(inputs: list[Declaration], outputs: list[Declaration]) -> str:
    words = []
    for i, p in enumerate(inputs):
        alias = f"(a{i}!)" if p.is_output else ""
        scalar = "float" if p.type[0] in "fb" and p.type != "bool" else "int"
        words.append(f"Tensor{alias} {p.name}" if p.is_buffer else f"{scalar} {p.name}")
    result = ", ".join(["Tensor"] * len(outputs))
    return f"({', '.join(words)}) -> {result if len(outputs) == 1 else f'({result})'}"


def _register(name: str, kernel: Kernel) -> Any:
    inputs, outputs = _split(kernel)

    def run(*args: Any) -> Any:
        return kernel(*(a.contiguous() if isinstance(a, Tensor) else a for a in args))

    written = [p.name for p in inputs if p.is_output]
    operator = torch.library.custom_op(
        name, run, mutates_args=written, schema=_schema(inputs, outputs)
    )

    def fake(*args: Any) -> Any:
        made = _fake_outputs(kernel, inputs, outputs, args)
        return made[0] if len(made) == 1 else made

    operator.register_fake(fake)
    return operator


# ---- shapes without data ---------------------------------------------------------------------


def _evaluate(node: ast.expr, sizes: dict[str, Any]) -> Any:
    """An extent as the program writes it; sizes may be symbols of torch."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return sizes[node.id]
    if isinstance(node, ast.UnaryOp):
        return -_evaluate(node.operand, sizes)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        operands = [_evaluate(a, sizes) for a in node.args]
        return min(*operands) if node.func.id == "min" else max(*operands)
    assert isinstance(node, ast.BinOp)
    a, b = _evaluate(node.left, sizes), _evaluate(node.right, sizes)
    operators: dict[type[ast.operator], Callable[[], Any]] = {
        ast.Add: lambda: a + b,
        ast.Sub: lambda: a - b,
        ast.Mult: lambda: a * b,
        ast.Div: lambda: a // b,
        ast.Mod: lambda: a % b,
    }
    return operators[type(node.op)]()


def _parse(extent: str) -> ast.expr:
    return ast.parse(extent, mode="eval").body


def _sizes(kernel: Kernel, inputs: list[Declaration], args: tuple[Any, ...]) -> dict[str, Any]:
    """From extents that are a size, or one size times a number plus a number; else as given."""
    sizes: dict[str, Any] = dict(kernel.constants)
    for p, a in zip(inputs, args):
        for extent, length in zip(p.dims, a.shape if p.is_buffer else ()):
            node = _parse(extent)
            names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            if len(names) != 1:
                continue
            (name,) = names
            at = [_evaluate(node, {name: value}) for value in (0, 1, 2)]
            factor = at[1] - at[0]
            if factor and at[2] - at[1] == factor:
                sizes[name] = (length - at[0]) // factor if factor != 1 else length - at[0]
    return sizes


def _fake_outputs(
    kernel: Kernel, inputs: list[Declaration], outputs: list[Declaration], args: tuple[Any, ...]
) -> tuple[Tensor, ...]:
    sizes = _sizes(kernel, inputs, args)
    types = {p.type: a.dtype for p, a in zip(inputs, args) if p.is_buffer}
    like = next(a for a in args if isinstance(a, Tensor))
    made = []
    for p in outputs:
        dtype = getattr(torch, _LIBRARY_NAMES[p.type], None) if p.type in _LIBRARY_NAMES else None
        shape = [_evaluate(_parse(extent), sizes) for extent in p.dims]
        made.append(like.new_empty(shape, dtype=dtype or types[p.type]))
    return tuple(made)


# ---- gradients -------------------------------------------------------------------------------


def _register_gradient(name: str, operator: Any, kernel: Kernel, backward: Kernel) -> None:
    inputs, outputs = _split(kernel)
    gradient_inputs, gradients = _split(backward)
    known = {p.name for p in (*inputs, *outputs)} | {f"grad_{p.name}" for p in outputs}
    for p in gradient_inputs:
        if p.name not in known:
            raise ValueError(f"the backward program needs '{p.name}', which is none of {known}")
    gradient = _register(f"{name}_backward", backward)

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        made = output if isinstance(output, tuple) else (output,)
        names = [p.name for p in (*_split(kernel)[0], *outputs)]
        values = dict(zip(names, (*inputs, *made)))
        wanted = [p.name for p in gradient_inputs if p.name in values]
        ctx.numbers = {n: values[n] for n in wanted if not isinstance(values[n], Tensor)}
        ctx.names = [n for n in wanted if isinstance(values[n], Tensor)]
        ctx.save_for_backward(*(values[n] for n in ctx.names))

    def run(context: Any, *grads: Tensor) -> Any:
        values = dict(zip(context.names, context.saved_tensors)) | context.numbers
        values |= {f"grad_{p.name}": g for p, g in zip(outputs, grads)}
        found = gradient(*(values[p.name] for p in gradient_inputs))
        found = found if isinstance(found, tuple) else (found,)
        by_name = dict(zip((p.name for p in gradients), found))
        result = tuple(by_name.get(f"grad_{p.name}") for p in inputs)
        return result[0] if len(result) == 1 else result

    operator.register_autograd(run, setup_context=setup)
