"""Every block of every document does what the document says (blocks.py says how a block is marked).

With --update-docs the shown outputs are written anew instead of compared.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from blocks import Block, body_of, excerpt, indent, read_blocks, wrap_body
from conftest import ROOT

sys.path.insert(0, str(ROOT / "docs/site"))
import header  # noqa: E402
import pages  # noqa: E402

DOCUMENTS = sorted(
    p.relative_to(ROOT)
    for pattern in ("*.md", "docs/*.md", "examples/**/README.md")
    for p in ROOT.glob(pattern)
)
NOTHING_TO_RUN = {"ebnf", "text", "cmake", "python"}
FILES = sorted(
    p
    for p in [*ROOT.glob("examples/*/*.tir"), *ROOT.glob("examples/*/*.sched")]
    if p.parent.name != "kernelbench"
)
OUTSIDE = (
    "./demo",
    "./check",
    "./site",
    "PYTHONPATH=",
    "apt-get ",
    "cmake ",
    "cc ",
    "ctest ",
    "git ",
    "nvcc ",
    "export ",
    "python3 ",
    "pip ",
)


@pytest.fixture
def tirc(tirc):
    """Its folder holds the programs of the examples, under the names that documents give them."""
    for path in FILES:
        shutil.copy(path, tirc.folder)
        folder = tirc.folder / path.relative_to(ROOT).parent
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder)
    # These have names of others, and documents give them with their folder.
    for name in ("kernelbench", "collections"):
        (tirc.folder / "examples" / name).symlink_to(ROOT / "examples" / name)
    return tirc


def program_compiles(tirc, block, name):
    tirc.write(name, block.text + "\n")
    names = re.findall(r"^kernel (\w+)", block.text, re.M)
    assert names, f"{block.where}: no kernel in it"
    for kernel in names:
        schedules = re.findall(rf"^schedule (\w+) for (?:{kernel}|any)\b", block.text, re.M)
        for schedule in schedules or [None]:
            status, out = tirc(
                name,
                "--kernel",
                kernel,
                "--emit",
                "cuda",
                *(["--schedule", schedule] if schedule else []),
            )
            assert status == 0, f"{block.where}: kernel {kernel}, schedule {schedule}:\n{out}"


def import_compiles(tirc, block, name):
    """What import-tvmscript makes of a program and a schedule of TVM."""
    tirc.write(name, block.text + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "tirc", "import-tvmscript", tirc.folder / name],
        env=dict(os.environ, PYTHONPATH=str(ROOT / "python")),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{block.where}:\n{done.stderr}"
    assert "schedule " in done.stdout, f"{block.where}: no schedule in it"
    imported = Block(block.path, block.line, "tir", done.stdout)
    program_compiles(tirc, imported, f"{Path(name).stem}.tir")


def schedule_parses(tirc, block, name):
    """A schedule `for any` is run on every program, another one on the first with its kernel."""
    tirc.write(name, block.text + "\n")
    wanted = re.search(r"for (\w+)\(", block.text)[1]
    kernels = [
        (program.name, kernel)
        for program in sorted(tirc.folder.glob("*.tir"))
        for kernel in re.findall(r"^kernel (\w+)", program.read_text(), re.M)
        if wanted in ("any", kernel)
    ]
    assert kernels, f"{block.where}: no program for {wanted}"
    for program, kernel in kernels if wanted == "any" else kernels[:1]:
        status, out = tirc(program, "--kernel", kernel, "--schedule", name, "--emit", "cuda")
        assert status == 0, f"{block.where}: {kernel} of {program}:\n{out}"


def steps_make(tirc, before, steps):
    text = wrap_body(before.text) + f"schedule s for example()\n{{\n{indent(steps.text)}\n}}\n"
    status, out = tirc("-", "--schedule", "s", "--emit", "tir", stdin=text)
    assert status == 0, f"{steps.where}:\n{text}\n{out}"
    return body_of(out)


def commands_succeed(tirc, block):
    for line in block.text.splitlines():
        if not line.startswith(("#", *OUTSIDE)):
            status, out = tirc.line(line, shown=False)
            assert status == 0, f"{block.where}: {line}\n{out}"


def expected_text(tirc, block, earlier):
    """What the block has to hold; None where any text will do."""
    if block.command:
        line, refused = block.command
        status, out = tirc.line(line)
        assert status in ((1, 4) if refused else (0,)), (
            f"{block.where}: exit status {status}\n{out}"
        )
        return out.strip("\n")
    if block.info == "tir after":
        return steps_make(tirc, *earlier[-2:])
    if " = " in block.info:
        file, *names = block.info.split(" = ")[1].split()
        text = (ROOT / file).read_text()
        return (excerpt(text, names) if names else text).strip("\n")
    return None


def run_block(tirc, block):
    language, *name = block.info.split()
    if block.info.startswith("python tvm "):
        import_compiles(tirc, block, name[1])
    elif block.info == "python triton":
        ast.parse(block.text)
    elif language == "tir" and name != ["before"]:
        program_compiles(tirc, block, name[0] if name else f"line{block.line}.tir")
    elif language == "sched" and name[1:] == ["refused"]:
        tirc.write(name[0], block.text + "\n")
    elif language == "sched" and name != ["steps"]:
        schedule_parses(tirc, block, name[0] if name else f"line{block.line}.sched")
    elif block.info == "sh":
        commands_succeed(tirc, block)
    else:
        assert block.info in NOTHING_TO_RUN | {"tir before", "sched steps"}, (
            f"{block.where}: what is '{block.info}'?"
        )


def replace_block(path, block, text):
    lines = path.read_text().splitlines()
    end = lines.index("```", block.line)
    path.write_text("\n".join(lines[: block.line] + text.splitlines() + lines[end:]) + "\n")


@pytest.mark.parametrize("name", DOCUMENTS, ids=str)
def test_blocks(tirc, update, name):
    path = ROOT / name
    blocks, stray = read_blocks(path, name)
    assert not stray, f"{name}:{stray[0]}: code outside of a block"
    for i in range(len(blocks)):
        block = blocks[i]
        text = expected_text(tirc, block, blocks[:i])
        if text is None:
            run_block(tirc, block)
        elif update and text != block.text and block.info != "tir after":
            replace_block(path, block, text)
            blocks, _ = read_blocks(path, name)  # anew: an update moves lines
        else:
            assert block.text == text, (
                f"{block.where} shows another text; --update-docs writes it anew"
            )


def test_the_header_is_documented():
    """Each declaration of tirc.h has a comment above it, which the site shows."""
    text = (ROOT / "include/tirc.h").read_text()
    found = list(header.DECLARATION.finditer(text))
    assert len(found) > 100
    bare = [m[0].splitlines()[0] for m in found if not text[: m.start()].endswith("*/\n")]
    assert not bare


def test_navigation():
    """Each document has one place on the site, and each place a document."""
    listed = [page for part in pages.NAVIGATION.values() for page in part]
    found = [pages.page_of(document) for document in pages.documents()]
    found = [page for page in found if not page.startswith("examples/")]
    assert sorted([*found, "examples/index", "reference/c", "reference/python"]) == sorted(listed)


@pytest.mark.parametrize("name", DOCUMENTS, ids=str)
def test_links(name):
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / name).read_text()):
        assert "://" in target or (ROOT / name.parent / target).exists(), (
            f"{name}: {target} is not there"
        )


@pytest.mark.parametrize("name", DOCUMENTS, ids=str)
def test_paths(name):
    """Files that a document names are there. NAME stands for any name."""
    text = re.sub(r"^```.*?^```", "", (ROOT / name).read_text(), flags=re.M | re.S)
    for path in re.findall(
        r"`((?:codegen|docs|examples|frontend|include|ir|passes|runtime|tests)/[\w./*-]+)`", text
    ):
        assert list(ROOT.glob(path.replace("NAME", "*").rstrip("/"))), (
            f"{name}: {path} is not there"
        )


def test_procs_of_the_library_are_listed():
    """As schedules call them: a reader who meets one finds what it does."""
    procs = re.findall(
        r"^proc (.*)$", (ROOT / "frontend" / "library" / "common.sched").read_text(), re.M
    )
    listed = re.findall(
        r"^\| `(\w+\(.*?\))` \|", (ROOT / "docs" / "schedules.md").read_text(), re.M
    )
    assert sorted(listed) == sorted(procs)
