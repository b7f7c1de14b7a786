"""Kernels in notebooks: how one is shown, and cells that begin with %%tir."""

from __future__ import annotations

import html as escape
import shlex
from typing import Any

from . import errors
from .kernel import Kernel, compile

_COLUMN = "flex: 1; min-width: 20em; overflow: auto; max-height: 30em"


def _column(title: str, text: str) -> str:
    return (
        f'<div style="{_COLUMN}"><b>{escape.escape(title)}</b>'
        f'<pre style="white-space: pre">{escape.escape(text)}</pre></div>'
    )


def html(kernel: Kernel) -> str:
    """The program, the CUDA text and the report side by side."""
    try:
        report = str(kernel.report())
    except errors.Error as e:  # a symbolic size without a value, say
        report = str(e)
    columns = _column("Program", kernel.program), _column("CUDA", kernel.cuda)
    return (
        f'<div style="display: flex; gap: 1em">{"".join(columns)}{_column("Report", report)}</div>'
    )


def _options(line: str) -> tuple[str | None, dict[str, Any]]:
    """`%%tir name schedule=tiled32 M=512`"""
    name, options = None, dict[str, Any]()
    for word in shlex.split(line):
        key, equals, value = word.partition("=")
        if equals:
            options[key] = value
        elif name is None:
            name = key
        else:
            raise ValueError(f"%%tir NAME schedule=... M=512: a second name, '{word}'")
    return name, options


def register(shell: Any) -> None:
    """Adds %%tir: compiles the cell to a kernel and binds it to a variable of its name."""

    def tir(line: str, cell: str) -> Kernel:
        name, options = _options(line)
        kernel = compile(cell + "\n", **options)
        shell.push({name or kernel.name: kernel})
        return kernel

    shell.register_magic_function(tir, magic_kind="cell", magic_name="tir")
