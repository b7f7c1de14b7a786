"""Mistakes that a newcomer makes: each gets the right exit status, at the right place, with words
to act on."""

import random

import pytest

from conftest import MATMUL

HEAD = "kernel copy<N = 4096>(x: f32[N]) -> y: f32[N]"
BODY = "{\n    for i in N\n        y[i] = x[i];\n}\n"


def program(statement):
    return f"{HEAD}\n{{\n    for i in N\n        {statement}\n}}\n"


def script(steps):
    lines = "\n".join("    " + line for line in steps)
    return f"{HEAD}\n{BODY}schedule s for copy()\n{{\n    let [i] = loops(y);\n{lines}\n}}\n"


PROGRAMS = {
    "misspelt buffer": (program("y[i] = xs[i];"), "4:16", "'xs'"),
    "wrong rank": (program("y[i] = x[i, 0];"), "4:16", "'x' has 1 axis, but 2 subscripts"),
    "narrowing without a cast": (HEAD.replace("y: f32", "y: i32") + BODY, "3:16", "i32(...)"),
    "unknown type": (HEAD.replace("x: f32", "x: f33") + BODY, "1:26", "did you mean 'f32'?"),
    "missing semicolon": (program("y[i] = x[i]"), "4:20", "expected ';'"),
    "subscripts as in C": (program("y[i][0] = x[i];"), "4:13", "one pair of brackets"),
    "an increment": (program("y[i]++;"), "4:13", "'x[i] += 1'"),
    "a variable as in C": (program("float t = x[i];"), "4:15", "'temp t: f32;'"),
    "logic in words": (program("if i > 0 and i < 5 y[i] = x[i];"), "4:24", "'&&'"),
    "a range as in Python": (program("for k in range(3) y[i] += x[i];"), "4:18", "'i in 0..N'"),
    "outputs in parentheses": (
        HEAD.replace("y: f32[N]", "(y: f32[N])") + BODY,
        "1:37",
        "'-> y: f32[N], z: f32[N]'",
    ),
    "a type of C": (HEAD.replace("x: f32", "x: float") + BODY, "1:26", "did you mean 'f32'?"),
    "a sum from nowhere": (
        program("y[i] += x[i];"),
        "1:37",
        "but never initialized; set it before the update, as in y[...] = 0",
    ),
    "size of 0": (HEAD.replace("4096", "0") + BODY, "1:17", "size 'N' is 0"),
    "size of -1": (HEAD.replace("4096", "-1") + BODY, "1:17", "size 'N' is -1"),
    "size of 2^63": (
        HEAD.replace("4096", "9223372036854775808") + BODY,
        "1:",
        "9223372036854775807",
    ),
}

SCHEDULES = {
    "misspelt primitive": (["spilt(i, [_, 32]);"], "9:5", "did you mean 'split'?"),
    "misspelt variable": (["split(ii, [_, 32]);"], "9:11", "'ii'"),
    "a factor too many": (
        ["let [a, b, c] = split(i, [_, 32]);"],
        "9:9",
        "3 names for a list of 2 values",
    ),
    "factors that do not cover": (
        ["split(i, [64, 32]);"],
        "9:5",
        "cover 2048 iterations, but loop 'i' has 4096",
    ),
    "consumed loop": (
        ["split(i, [_, 32]);", "unroll(i);"],
        "10:12",
        "consumed by step 1, split(i, [_, 32]), at line 9",
    ),
    "bound loop split": (
        ["bind(i, blockIdx.x);", "split(i, [_, 32]);"],
        "10:",
        "is already bound to blockIdx.x",
    ),
    "2048 threads": (
        ["let [b, t] = split(i, [_, 2048]);", "bind(b, blockIdx.x);", "bind(t, threadIdx.x);"],
        "11:",
        "2048 iterations, but threadIdx.x has at most 1024",
    ),
    "pad on a global buffer": (["pad(x, 1);"], "9:9", "cache_read(block, x, shared)"),
    "a list without brackets": (["let a, b = split(i, [_, 32]);"], "9:10", "'let [a, b] = ...'"),
    "a method": (["y.split(i, [_, 32]);"], "9:12", "by its name alone"),
    "a body without braces": (
        ["if N > 3 unroll(i);"],
        "9:14",
        "enclose the bodies of 'if' and 'for' in braces",
    ),
    "too few names": (
        ["let [a] = split(i, [_, 32]);"],
        "9:9",
        "1 name for a list of 2 values; write _",
    ),
    "a number for a list": (
        ["for n in 3 { split(i, [_, 2]); }"],
        "9:14",
        "found an integer; write the integers below n as 0..n",
    ),
    "a name of TVM": (
        ["get_loops(y);"],
        "9:5",
        "TVM's primitive of this name is called 'loops' here",
    ),
    "a primitive that is none": (
        ["frobnicate(i);"],
        "9:5",
        "`tirc --help primitives` lists the primitives",
    ),
    "a buffer for a block": (
        ["cache_read(x, y, shared);"],
        "9:16",
        "no block called 'x', only a buffer",
    ),
    "misspelt scope": (
        ["cache_read(y, x, sharde);"],
        "9:22",
        "did you mean 'shared'? (there are: global, shared, local, constant, warp, cluster)",
    ),
    "misspelt axis": (["bind(i, threadidx.x);"], "9:13", "did you mean 'threadIdx.x'?"),
    "a word for a loop": (["split(y, [_, 32]);"], "9:11", "loop"),
}


@pytest.mark.parametrize("text, place, words", PROGRAMS.values(), ids=PROGRAMS)
def test_programs(tirc, text, place, words):
    tirc.write("copy.tir", text)
    r = tirc("copy.tir", "--emit", "cuda")
    assert (r.status, r.out) == (1, "")
    assert f"copy.tir:{place}" in r.err and words in r.err


@pytest.mark.parametrize("steps, place, words", SCHEDULES.values(), ids=SCHEDULES)
def test_schedules(tirc, steps, place, words):
    tirc.write("copy.tir", script(steps))
    r = tirc("copy.tir", "--schedule", "s", "--emit", "cuda")
    assert (r.status, r.out) == (1, "")
    assert f"copy.tir:{place}" in r.err and words in r.err


def test_a_subscript_one_too_far(tirc):
    tirc.write("copy.tir", program("y[i] = x[i + 1];"))
    r = tirc("copy.tir", "--emit", "cuda")
    assert (r.status, r.out) == (
        1,
        "",
    ) and "copy.tir:4:16: error[E0232]: at i = 4095 the subscript i + 1 of 'x' is 4096" in r.err
    assert "the axis ends at 4095; shorten the loop" in r.err
    tirc.write("copy.tir", program("y[i - 1] = x[i];"))
    assert (
        "at i = 0 the subscript i - 1 of 'y' is -1, but axes start at 0"
        in tirc("copy.tir", "--emit", "cuda").err
    )
    tirc.write("copy.tir", program("y[i] = i + 1 < N ? x[i + 1] : 0;"))
    assert tirc("copy.tir", "--emit", "cuda").err == ""


def test_missing_file(tirc):
    r = tirc("nosuch.tir", "--emit", "cuda")
    assert (r.status, r.out) == (1, "") and "'nosuch.tir' cannot be read: No such file" in r.err


def test_folder_for_a_file(tirc):
    r = tirc(".", "--emit", "cuda")
    assert (r.status, r.out) == (1, "") and "directory" in r.err


def test_unknown_schedule(tirc):
    r = tirc(MATMUL, "--schedule", "tiled64", "--emit", "cuda")
    assert (r.status, r.out) == (1, "")
    assert "did you mean 'tiled32'?" in r.err and "schedules for 'matmul'" in r.err


@pytest.mark.parametrize("value", ["0", "-1", "9223372036854775808"])
def test_sizes_on_the_command_line(tirc, value):
    r = tirc(MATMUL, "-D", f"M={value}", "--emit", "cuda")
    assert (r.status, r.out) == (1, "")
    assert f"size 'M' is {value}; expected an integer from 1 to 9223372036854775807" in r.err


def test_binary_garbage(tirc):
    tirc.write("garbage.tir", random.Random(1).randbytes(100000))
    r = tirc("garbage.tir", "--emit", "cuda")
    assert (r.status, r.out) == (1, "") and "garbage.tir:" in r.err and len(r.err) < 10000
    assert all(c == "\n" or c.isprintable() for c in r.err)


def test_line_of_10_megabytes(tirc):
    tirc.write("long.tir", HEAD + " { for i in N y[i] = x[i]" + " + x[i]" * 1_500_000 + "; }")
    r = tirc("long.tir", "--emit", "cuda")
    assert (
        r.status == 1 and "nested too deeply" in r.err and max(map(len, r.err.splitlines())) < 400
    )


def test_a_long_line_that_is_right(tirc):
    tirc.write("long.tir", HEAD + " { for i in N y[i] = x[i]; }" + " " * 10_000_000 + "// end")
    assert tirc("long.tir", "--emit", "cuda").status == 0


def test_100000_parentheses(tirc):
    tirc.write("deep.tir", program("y[i] = " + "(" * 100_000 + "x[i]" + ")" * 100_000 + ";"))
    r = tirc("deep.tir", "--emit", "cuda")
    assert r.status == 1 and "deep.tir:4:" in r.err and "nested too deeply" in r.err


def test_empty_file(tirc):
    tirc.write("empty.tir", "")
    r = tirc("empty.tir", "--emit", "cuda")
    assert r.status in (1, 2) and "empty.tir" in r.err
