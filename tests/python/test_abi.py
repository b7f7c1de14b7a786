"""The binary interface of the library: what programs that are linked with libtirc.so rely on.

include/tirc.abi holds it, for one soname. What is there may only change with a step of the version,
in CMakeLists.txt; new functions, structs and enumerators are added by --store-abi.
"""

import re
from pathlib import Path

import pytest
from tirc._native import ffi, lib

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "include" / "tirc.abi"
HEADER = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / "tirc.h").read_text(), flags=re.S)


def soname():
    version = re.search(r"project\(tirc VERSION (\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text())
    return f"libtirc.so.{version[1]}"


def is_public(name):
    return re.search(rf"\b{name}\b", HEADER) is not None


def members(kind):
    if kind.kind == "enum":
        return "".join(f"    {name} = {value}\n" for value, name in sorted(kind.elements.items()))
    return "".join(
        f"    {field.offset}: {field.type.cname} {name}\n" for name, field in kind.fields
    )


def describe():
    """A paragraph for each name, as the C compiler lays it out."""
    found = {}
    for name in sum(ffi.list_types(), []):
        kind = ffi.typeof(name)
        if not is_public(name) or kind.kind not in ("struct", "enum"):
            continue
        try:
            found[name] = f"{kind.kind} {name}, {ffi.sizeof(kind)} bytes\n{members(kind)}"
        except ffi.error:  # only its pointers are public
            found[name] = f"{kind.kind} {name}\n"
    for name in filter(is_public, dir(lib)):
        value = getattr(lib, name)
        if not isinstance(value, int):
            kind = ffi.typeof(value)
            arguments = ", ".join(argument.cname for argument in kind.args)
            found[name] = f"{kind.result.cname} {name}({arguments})\n"
    return found


def read_stored():
    first, *paragraphs = STORED.read_text().split("\n\n")
    return first, {
        re.search(r"(\w+)(, \d+ bytes|\(.*\))?$", p.split("\n")[0])[1]: p.rstrip("\n") + "\n"
        for p in paragraphs
    }


def broken(before, now):
    """What programs of before no longer find as it was. Enumerators may be added."""
    names = []
    for name, text in before.items():
        kept = now.get(name, "")
        if text.startswith("enum"):
            kept = "".join(line for line in kept.splitlines(True) if line in text)
        if kept != text:
            names.append(name)
    return names


def test_the_interface_changes_with_the_version_only(request):
    now, name = describe(), soname()
    assert len(now) > 80
    of, before = read_stored() if STORED.exists() else ("", {})
    if of == name:
        assert not broken(before, now), (
            f"programs that use {name} would break: raise the version in CMakeLists.txt"
        )
    if request.config.getoption("--store-abi"):
        STORED.write_text("\n".join([f"{name}\n", *(now[key] for key in sorted(now))]))
        return
    assert (of, before) == (name, now), f"store the interface of {name} with --store-abi"


LIMIT = "struct tirc_limit, 24 bytes\n    0: char * name\n    8: double ms\n    16: int n\n"
KIND = "enum tirc_kind, 4 bytes\n    A = 0\n    B = 1\n"


@pytest.mark.parametrize(
    "before, after, breaks",
    [
        (LIMIT, LIMIT, False),
        (LIMIT, LIMIT.replace("24", "32") + "    24: int m\n", True),
        (LIMIT, LIMIT.replace("8: double ms", "8: float ms"), True),
        (LIMIT, LIMIT.replace("ms", "us"), True),
        (LIMIT, "", True),
        (KIND, KIND + "    C = 2\n", False),
        (KIND, KIND.replace("A = 0", "A = 2"), True),
    ],
)
def test_what_breaks_programs(before, after, breaks):
    assert broken({"name": before}, {"name": after}) == ["name"] * breaks
