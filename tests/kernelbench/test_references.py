"""Every operator of KernelBench has a reference for examples/kernelbench/check_torch.py, with the
inputs of its kernel as arguments. Torch need not be installed: a stand-in takes its place."""

import csv
import importlib.util
import inspect
import sys
import types
from pathlib import Path

import pytest
import tirc

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "kernelbench"


class Anything(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return sys.modules.get(f"{self.__name__}.{name}", Anything(name))


@pytest.fixture(scope="module")
def references():
    """The module, which computes nothing while it is imported."""
    names = ("torch", "torch.nn", "torch.nn.functional")
    before = {name: sys.modules.get(name) for name in names}
    sys.modules.update({name: Anything(name) for name in names})
    spec = importlib.util.spec_from_file_location("references", FOLDER / "references.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["references"] = module  # its dataclass looks there
    spec.loader.exec_module(module)
    for name, found in before.items():
        sys.modules.pop(name) if found is None else sys.modules.__setitem__(name, found)
    yield module.REFERENCES
    del sys.modules["references"]


def test_operators(references):
    with open(FOLDER / "operators.tsv") as file:
        operators = list(csv.DictReader(file, delimiter="\t"))
    assert {operator["kernel"] for operator in operators} == references.keys()
    for operator in operators:
        kernel = tirc.compile(FOLDER / f"{operator['program']}.tir", operator["kernel"])
        inputs = {p.name for p in kernel.parameters if p.is_input}
        reference = references[operator["kernel"]]
        taken = inspect.signature(reference.evaluate).parameters
        needed = {
            name for name, p in taken.items() if p.default is p.empty and p.kind != p.VAR_KEYWORD
        }
        known = inputs | set(kernel.constants) | reference.whole.keys()
        assert set(reference.rows) | reference.inputs.keys() <= inputs
        assert needed <= known, operator["kernel"]
