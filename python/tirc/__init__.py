"""tirc: loop nests and schedules, compiled to CUDA and called from Python.

    import tirc
    mm = tirc.compile("matmul.tir", schedule="tiled32")
    c = mm(a, b)        # torch, CuPy, JAX or NumPy arrays; their shapes set the sizes

docs/python.md is the manual.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._session import explain as explain
    from ._session import version as version
    from .errors import ArgumentTypeError as ArgumentTypeError
    from .errors import ArgumentValueError as ArgumentValueError
    from .errors import CompileError as CompileError
    from .errors import Diagnostic as Diagnostic
    from .errors import Error as Error
    from .errors import FaultError as FaultError
    from .errors import InternalError as InternalError
    from .errors import UnavailableError as UnavailableError
    from .kernel import Kernel as Kernel
    from .kernel import compile as compile

# Modules load when a name is first used, so that a program that only may need tirc starts fast.
_HOME = {
    "compile": "kernel",
    "Kernel": "kernel",
    "explain": "_session",
    "version": "_session",
} | dict.fromkeys(
    (
        "ArgumentTypeError",
        "ArgumentValueError",
        "CompileError",
        "Diagnostic",
        "Error",
        "FaultError",
        "InternalError",
        "UnavailableError",
    ),
    "errors",
)
__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name == "__version__":
        return __getattr__("version")()  # type: ignore[operator]
    if name == "torch":
        return importlib.import_module(".torch", __name__)
    if name not in _HOME:
        raise AttributeError(f"module 'tirc' has no attribute '{name}'")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]


def load_ipython_extension(shell: object) -> None:
    """`%load_ext tirc`: cells that begin with %%tir."""
    from .notebook import register

    register(shell)
