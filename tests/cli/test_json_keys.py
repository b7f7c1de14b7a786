"""Every key that --json can have stands in docs/cli.md, and every one that stands there can be
had."""

import json
import re

from conftest import ROOT, TRANSPOSE


def documented():
    """`launches[].name`, `.grid` is two keys; what is above them is documented with them."""
    keys = set()
    text = (ROOT / "docs" / "cli.md").read_text().split("## JSON output")[1].split("\n## ")[0]
    for row in re.findall(r"^\| (`.*?) \|", text, re.M):
        folder = ""
        for name in re.findall(r"`([^`]+)`", row):
            folder = folder if name.startswith(".") else name.rpartition(".")[0]
            path = folder + name if name.startswith(".") else name
            while path:
                keys.add(path.removesuffix("[]"))
                path = path.rpartition(".")[0]
    return keys


def keys_of(value, path=""):
    if isinstance(value, list):
        for item in value:
            yield from keys_of(item, path + "[]")
    if isinstance(value, dict):
        for key, item in value.items():
            here = f"{path}.{key}".lstrip(".")
            yield here
            if here not in ("sizes", "analyze.versus.accesses", "analyze.versus.analyze"):
                yield from keys_of(item, here)


def test_the_keys_of_json_are_documented(tirc):
    sizes = ("-D", "R=32", "-D", "C=32", "--device", "sim", "--json")
    race, outside = (
        ROOT / "tests" / "sim" / "faults" / f"{fault}.tir"
        for fault in ("race_next_iteration", "bounds_global_read")
    )
    found = set()
    for command in (
        (
            TRANSPOSE,
            "--schedule",
            "shared",
            *sizes,
            "--run",
            "--verify",
            "--bench",
            "--versus",
            "padded",
        ),
        (TRANSPOSE, "--schedule", "shared", *sizes, "--analyze", "--versus", "padded"),
        (race, "--run", "--device", "sim", "--json"),
        (outside, "--run", "--device", "sim", "--json"),
    ):
        found |= set(keys_of(json.loads(tirc(*command).out)))
    assert found == documented()
