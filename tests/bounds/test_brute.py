"""What is proved in bounds never leaves: lowered texts, right and wrong ones, are evaluated access
by access (lowered.py), and tirc is asked about the same texts. At fixed sizes both answers are
exact, so that what leaves must not be proved, and what stays inside must not be said to leave."""

import json
import os
import random
import re
import subprocess
from pathlib import Path

import pytest

from lowered import evaluate
from parts import in_sweep

ROOT = Path(__file__).resolve().parents[2]
TIRC = os.environ.get("TIRC", str(ROOT / "build" / "tirc"))
# Programs of few iterations at small sizes.
PROGRAMS = [
    ROOT / "tests" / "programs" / f"{name}.tir"
    for name in (
        "conv2d",
        "copy",
        "downward",
        "inplace",
        "layouts",
        "matmul",
        "reindexed",
        "stencil",
        "transpose",
        "triangular",
    )
]
GOLDEN = sorted((ROOT / "tests" / "golden").glob("*.lowered.tir"))
ROLES = ("primitive_multicast.", "primitive_ping_pong.", "primitive_specialize_w")
DEAR = [p for p in GOLDEN if p.name.startswith(ROLES)]
WRONG = 3  # changes of each text


def tirc(*args):
    done = subprocess.run([TIRC, *map(str, args)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def memory_of(path):
    status, out, err = tirc(path, "--run", "--device", "sim", "--json")
    assert status in (0, 4), err
    return json.loads(out)["memory"]


def ends_later(match):
    return match[0] + " + 1"


# A guard, a subscript and a loop that go one too far, and a guard that begins one too early.
CHANGES = [
    (re.compile(r"(?<=if )\w+ < [\w* +/()]+?(?=\n| &&| \{)"), lambda m: m[0].replace("<", "<=", 1)),
    (re.compile(r"(?<=\w\[)[^\[\]\n]*(?=\])"), ends_later),
    (re.compile(r"(?<= for )\w+ in \d+(?= \{|\n| unroll)"), ends_later),
    (re.compile(r"\w+ >= 0\b"), lambda m: m[0].replace(">= 0", ">= -1")),
]
INSTRUCTION = re.compile(r"^( *)instruction \w+\(.*?^\1\}$", re.M | re.S)


def wrong_texts(text, seed):
    """Shapes of parameters and instructions stay as they are: others would be refused."""
    head, body = text.split("\n{\n", 1)
    kept = [m.span() for m in INSTRUCTION.finditer(body)]
    places = [
        (m, change)
        for pattern, change in CHANGES
        for m in pattern.finditer(body)
        if "temp" not in line_of(body, m) and not any(a <= m.start() < b for a, b in kept)
    ]
    for match, change in random.Random(seed).sample(places, min(WRONG, len(places))):
        yield head + "\n{\n" + body[: match.start()] + change(match) + body[match.end() :]


def line_of(text, match):
    return text[text.rfind("\n", 0, match.start()) + 1 : match.start()]


def compare(folder, text, name):
    """Whether an access leaves."""
    path = folder / "k.tir"
    path.write_text(text)
    left, memory = evaluate(text), memory_of(path)
    if left:
        assert memory["proved"] < memory["accesses"], (
            f"{name}: {left} leaves, and all is proved\n{text}"
        )
    else:
        misaligned = any("wide access" in first["why"] for first in memory["first"])
        assert memory["leaving"] == 0 or misaligned or "?" in text, (
            f"{name}: nothing leaves, and {memory['first']}\n{text}"
        )
    return bool(left)


def check(folder, text, name):
    assert not compare(folder, text, name)
    return sum(compare(folder, wrong, name) for wrong in wrong_texts(text, name))


@pytest.mark.parametrize(
    "path",
    [*(p for p in GOLDEN if p not in DEAR), *in_sweep(*DEAR)],
    ids=lambda p: p.name.split(".")[0],
)
def test_golden(path, tmp_path):
    text = path.read_text()
    sizes = re.search(r"kernel \w+<(.*?)>", text)
    if sizes and any("=" not in size for size in sizes[1].split(",")):
        pytest.skip("sizes without values")
    if text.startswith("instruction"):
        pytest.skip("a wrong loop of an instruction is refused")
    if any(int(n) > 256 for n in re.findall(r"\d+", text.partition("{")[0])):
        pytest.skip("too many iterations")
    check(tmp_path, text, path.name)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_program(path, tmp_path):
    listing = tirc("--list", path)[1]
    names = [
        size.split(" ")[0]
        for size in re.search(r"<(.*?)>", listing)[1].split(", ")
        if ":" not in size
    ]
    schedules = re.findall(r"^    (\w+) ", listing, re.M)
    changed = 0
    for schedule in schedules:
        sizes = [word for k, name in enumerate(names) for word in ("-D", f"{name}={3 + k}")]
        status, text, _ = tirc(path, "--schedule", schedule, *sizes, "--emit", "lowered")
        if status == 0:
            changed += check(tmp_path, text, f"{path.stem} {schedule}")
    assert changed > 0
