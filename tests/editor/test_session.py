"""A session in Neovim, a client of the protocol that others have written."""

import json
import os
import shutil
import subprocess

import pytest
from conftest import ROOT

PROGRAM = (ROOT / "examples" / "matmul" / "matmul.tir").read_text()
SCHEDULE = """// Tiles in shared memory.
schedule tiled for matmul(T = 32)
{
    let [i, j, k] = loops(C); let [io, ii] = split(i, [_, T]);
    let [ko, ki] = split(k, [_, T]);
    reorder(io, ii, j, ko, ki); stage(C, [A, B], ko, [T, T]);
}
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    nvim = shutil.which("nvim")
    if not nvim or not os.environ.get("TIRC_LSP"):
        pytest.skip("there is no Neovim, or no language server")
    folder = tmp_path_factory.mktemp("session")
    (folder / "matmul.tir").write_text(PROGRAM)
    (folder / "tiled.sched").write_text(SCHEDULE)
    env = dict(
        os.environ,
        SERVER=os.environ["TIRC"],
        FOLDER=str(folder),
        RESULT=str(folder / "seen.json"),
        HOME=str(folder),
        XDG_CACHE_HOME=str(folder / "cache"),
        XDG_STATE_HOME=str(folder / "state"),
    )
    script = ROOT / "tests" / "editor" / "session.lua"
    command = [nvim, "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", f"luafile {script}"]
    subprocess.run(command, env=env, timeout=120, capture_output=True, check=True)
    result = json.loads((folder / "seen.json").read_text())
    assert "problem" not in result, result["problem"]
    return result


def test_a_mistake_and_its_remedy(seen):
    line, column, end, message = seen["error"]
    assert (line, column, end) == (5, 33, 38)
    assert message == "unknown function 'sqrrt'; did you mean 'sqrt'?"
    assert seen["action"] == "Change to 'sqrt'"
    assert seen["mended"] == "            C[i, j] += A[i, k] * sqrt(B[k, j]);"


def test_hover(seen):
    assert "A: f32[M, K]" in seen["hover"] and "region: read at [0..M, 0..K]" in seen["hover"]
    assert "a loop" in seen["loop"] and "domain: `0..K`" in seen["loop"]
    assert "split(loop, factors" in seen["manual"] and "before:" in seen["manual"]


def test_completion(seen):
    assert seen["completes"] == [True, True, True, False]
    assert "loop" in seen["primitives"][0] and None not in seen["primitives"]


def test_symbols(seen):
    assert seen["symbols"][0] == "matmul" and seen["symbols"][1] >= 9


def test_the_program_after_a_step(seen):
    after = seen["after"]
    assert (after["schedule"], after["kernel"]) == ("tiled", "matmul")
    assert after["call"] == "split(i, [_, 32])" and after["step"] == 1 and after["steps"] > 3
    assert "for io in 32, ii in 32, j in 1024" in after["program"]


def test_definitions(seen):
    assert seen["definition"]["uri"].endswith("/matmul.tir")
    assert seen["definition"]["range"]["start"] == {"line": 0, "character": 44}
    assert seen["library"]["uri"].endswith("/common.sched")
    assert seen["references"] == 3


def test_rename(seen):
    assert "(left: f32[M, K], B" in seen["renamed"][0]
    assert "stage(C, [left, B], ko" in seen["renamed"][1]


def test_format(seen):
    assert seen["formatted"] == "    let [i, j, k] = loops(C);"


def test_columns_are_utf16(seen):
    line, code, column = seen["units"]
    assert (line, code) == (3, "E0303") and column == 35
