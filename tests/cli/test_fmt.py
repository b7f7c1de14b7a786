"""`tirc fmt`: one style, written safely, with the compiler's messages for what does not parse."""

import os
import stat

import pytest
from conftest import EXAMPLES, ROOT

MESSY = """// Adds.
kernel add< N=10 >( x:f32[N],y:f32[N] )->z:f32[N] where N>1 {
for i in 0 .. N{ // each
 z[ i ]=x[i]+ -y[i]*0x1F ; /* done */ } }
schedule one for add(){ let [i]=loops(z) ;


if true{bind(i,threadIdx.x);}else{unroll(i);}
// the end
}
"""
TIDY = """// Adds.
kernel add<N = 10>(x: f32[N], y: f32[N]) -> z: f32[N]
    where N > 1
{
    for i in 0..N { // each
        z[i] = x[i] + -y[i] * 0x1F; /* done */
    }
}

schedule one for add()
{
    let [i] = loops(z);

    if true {
        bind(i, threadIdx.x);
    } else {
        unroll(i);
    }
    // the end
}
"""


def test_standard_input(tirc):
    for args in [("fmt",), ("fmt", "-"), ("fmt", "--", "-")]:
        done = tirc(*args, stdin=MESSY.encode())
        assert (done.status, done.out, done.err) == (0, TIDY, "")


def test_files(tirc):
    """In place, with their modes; what is formatted is not touched."""
    tirc.write("messy.tir", MESSY)
    tirc.write("tidy.tir", TIDY)
    os.chmod(tirc.folder / "messy.tir", 0o640)
    os.utime(tirc.folder / "tidy.tir", (1, 1))
    done = tirc("fmt", "messy.tir", "tidy.tir")
    assert (done.status, done.out, done.err) == (0, "", "")
    assert (tirc.folder / "messy.tir").read_text() == TIDY
    assert stat.S_IMODE((tirc.folder / "messy.tir").stat().st_mode) == 0o640
    assert (tirc.folder / "tidy.tir").stat().st_mtime == 1
    assert sorted(os.listdir(tirc.folder)) == ["messy.tir", "tidy.tir"]


def test_check(tirc):
    tirc.write("messy.tir", MESSY)
    tirc.write("tidy.tir", TIDY)
    done = tirc("fmt", "--check", "tidy.tir")
    assert (done.status, done.out) == (0, "")
    done = tirc("fmt", "--check", "messy.tir", "tidy.tir")
    assert (done.status, done.out) == (1, "messy.tir\n")
    assert (tirc.folder / "messy.tir").read_text() == MESSY


def test_what_does_not_parse(tirc):
    """As the compiler reports it; the file stays as it is, and others are formatted."""
    tirc.write("wrong.tir", "kernel f() -> y: f32\n{\n    y = 1\n}\n")
    tirc.write("messy.tir", MESSY)
    compiled = tirc("wrong.tir", "--emit", "tir")
    done = tirc("fmt", "wrong.tir", "messy.tir")
    assert done.status == 1 and done.err == compiled.err
    assert "wrong.tir:3:10: error[E0108]: expected ';' after the statement" in done.err
    assert (
        (tirc.folder / "wrong.tir").read_text().startswith("kernel f() -> y: f32\n{\n    y = 1\n")
    )
    assert (tirc.folder / "messy.tir").read_text() == TIDY


def test_usage(tirc):
    done = tirc("fmt", "--chekc")
    assert done.status == 2 and "unknown option '--chekc' of fmt" in done.err
    done = tirc("fmt", "--help")
    assert done.status == 0 and done.out.startswith("tirc fmt [--check] [FILE...]\n")
    done = tirc("fmt", "none.tir")
    assert done.status == 1 and "error[E0314]: 'none.tir' cannot be read" in done.err


@pytest.mark.parametrize("text", ["", "\n\n", "// only a comment"])
def test_small_texts(tirc, text):
    done = tirc("fmt", stdin=text.encode())
    want = text.strip() + "\n" if text.strip() else ""
    assert (done.status, done.out) == (0, want)


def test_this_tree(tirc):
    files = [p for p in sorted(EXAMPLES.rglob("*")) if p.suffix in (".tir", ".sched")]
    files += sorted((ROOT / "frontend" / "library").glob("*.sched"))
    assert len(files) > 70
    done = tirc("fmt", "--check", *files)
    assert (done.status, done.out) == (0, ""), "run: tirc fmt " + done.out
