"""Inputs that nobody would write: each ends soon, with the right status and words, and without a
crash."""

import os
import resource
import subprocess
import time

import pytest

HEAD = "kernel k(x: f32[64]) -> y: f32[64]\n"
SANITIZED = b"__asan_init" in open(os.environ["TIRC"], "rb").read()
LONGEST = 20  # seconds; a second or two in a release build, more under sanitizers


def value(text):
    return HEAD + "{\n    for i in 64\n        y[i] = " + text + ";\n}\n"


def script(text):
    return value("x[i]") + "schedule s for k()\n{\n" + text + "\n}\n"


def deep(n):
    return (
        "kernel k(x: f32[2]) -> y: f32[2]\n{\n"
        + "".join(f"for i{j} in 2 " for j in range(n))
        + "y[i0] = x[i0];\n}\n"
    )


def doubled(name, n):
    """let NAME0 = [0]; let NAME1 = [NAME0, NAME0]; ..."""
    return f"let {name}0 = [0];\n" + "".join(
        f"let {name}{j} = [{name}{j - 1}, {name}{j - 1}];\n" for j in range(1, n + 1)
    )


def chain(n):
    """proc f0() calls f1, and so on."""
    return (
        "f0();\n}\n"
        + "".join(f"proc f{j}() {{ f{j + 1}(); }}\n" for j in range(n))
        + f"proc f{n}()\n{{"
    )


def nested(template, n):
    """One of them in another, n times: "({} / 2 + i)"."""
    text = "i"
    for j in range(n):
        text = template.format(text, j + 2)
    return text


PROGRAMS = {
    "nothing but zero bytes": (b"\0" * 100_000, "0x00"),
    "a sum of 100000 terms": (value("x[i]" + " + x[i]" * 100_000), "nested too deeply"),
    "100000 signs": (value("-" * 100_000 + "x[i]"), "nested too deeply"),
    "100000 braces": (HEAD + "{" * 100_000, "nested too deeply"),
    "1000 loops": (deep(1000), "nested too deeply"),
    "100000 errors": (HEAD + "{\n" + "    y[ = ;\n" * 100_000 + "}\n", "expected"),
    "100000 unknown names": (
        HEAD + "{\n" + "    y[q] = z;\n" * 100_000 + "}\n",
        "unknown value 'q'",
    ),
    "a shape of 2^64 elements": (
        "kernel k(x: i32[4000000000, 4000000000]) -> y: i32[1]\n{ y[0] = x[0, 0]; }",
        "more than 2^63 bytes",
    ),
    "200 quotients of products": (
        value("x[" + nested("({} * 3 / {} + i)", 200) + "]"),
        "more than 32 levels deep",
    ),
    "200 remainders": (
        value("x[" + nested("({} * 3 % {} + i)", 200) + "]"),
        "more than 32 levels deep",
    ),
    "a quotient by a quotient, 200 times": (
        value("x[" + nested("1000 / ({} + {})", 200) + "]"),
        "more than 32 levels deep",
    ),
    "unterminated comment": ("/* aaa\n" * 10_000, "unterminated comment; expected"),
}

SCRIPTS = {
    "a range of 10^12": ("for i in 0..1000000000000 { }", "more than 1000000 values"),
    "a loop in a loop in a loop": (
        "for i in 0..1000 { for j in 0..1000 { for k in 0..1000 { let a = i; } } }",
        "has exceeded the limit",
    ),
    "a list that doubles 60 times": (
        "let a0 = [0];\n"
        + "".join(f"let a{j} = [a{j - 1}, a{j - 1}];\n" for j in range(1, 60))
        + "assert a59 == 1;",
        "E0310",
    ),
    "two lists that double 44 times": (
        doubled("a", 44) + doubled("b", 44) + "assert a44 == b44;",
        "more than 1000000 values",
    ),
    "an annotation that doubles 44 times": (
        doubled("a", 44) + 'annotate(loops(y)[0], "u", a44);',
        "more than 1000000 values",
    ),
    "large lists compared 1000 times": (
        doubled("a", 18) + doubled("b", 18) + "for _ in 0..1000 { assert a18 == b18; }",
        "has exceeded the limit",
    ),
    "lists in lists, 100000 levels": (
        "let a = [0];\n" + "let a = [a];\n" * 100_000,
        "the limit is 64",
    ),
    "a million ranges": ("for i in 0..1000000 { let a = 0..1000000; }", "has exceeded the limit"),
    "1000 sums of large lists": (
        "let a = 0..400000; for i in 0..1000 { let b = a + a; }",
        "has exceeded the limit",
    ),
    "a million queries": ("for i in 0..1000000 { loops(y); }", "has exceeded the limit"),
    "a million steps": (
        "for i in 0..1000000 { let [a, b] = split(loops(y)[0], [_, 2]); fuse(a, b); }",
        "has exceeded the limit",
    ),
    "a chain of 5000 procs": (chain(5000), "calls of procs are nested more than 100 levels deep"),
    "90 procs, each 900 levels deep": (
        "f0();\n}\n"
        + "".join(f"proc f{j}() {{ return {'-' * 900}f{j + 1}(); }}\n" for j in range(90))
        + "proc f90()\n{ return 1;",
        "calls of the script are nested more than",
    ),
    "an index map of 5000 numbers": (
        "transform_block_layout(y, [i] -> [" + ", ".join(["i / 2"] * 5000) + "]);",
        "an index map has at most 32",
    ),
    "an index map of 5000 names": (
        "let m = [" + ", ".join(f"i{j}" for j in range(5000)) + "] -> [i0];",
        "an index map takes at most 32",
    ),
    "200 quotients in an index map": (
        "let m = [i] -> [" + nested("({} * 3 / {} + i)", 200) + "];",
        "more than 32 levels deep",
    ),
    "a loop split 1000 times": (
        "for _ in 0..1000 { split(loops(y)[0], [_, 2]); }",
        "the limit is 128",
    ),
    "1000 factors": ("split(loops(y)[0], [_" + ", 2" * 1000 + "]);", "E04"),
    "recursive proc": ("f();\n}\nproc f()\n{\n    f();", "cannot recurse"),
}

WORKS = {
    "900 terms": (value("x[i]" + " + x[i]" * 900), ()),
    "a million steps of a loop": (
        script("for i in 0..1000000 { let a = i; }"),
        ("--schedule", "s"),
    ),
    "500 conditions": (
        HEAD
        + "{\n    for i in 64\n"
        + "".join(f"if i == {j} y[i] = x[i]; else " for j in range(100))
        + "y[i] = 0;\n}\n",
        (),
    ),
    "a buffer of 500 axes": (
        f"kernel k(x: f32[{', '.join(['1'] * 500)}]) -> y: f32[1]\n"
        f"{{ y[0] = x[{', '.join(['0'] * 500)}]; }}",
        (),
    ),
    "5000 parameters": (
        "kernel k("
        + ", ".join(f"x{j}: f32[4]" for j in range(5000))
        + ") -> y: f32[4]\n{ for i in 4 y[i] = x0[i]; }",
        (),
    ),
}


def refused(result, words):
    assert result.status == 1 and words in result.err and result.out == ""
    assert result.err.count(": error[") + result.err.startswith("error[") <= 20
    assert len(result.err) < 20_000


@pytest.fixture(autouse=True)
def soon():
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    yield
    assert time.monotonic() - start < LONGEST
    if not SANITIZED:
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # of all so far
        assert largest == before or largest < 300 * 1024


@pytest.mark.parametrize("text, words", PROGRAMS.values(), ids=PROGRAMS)
def test_programs(tirc, text, words):
    tirc.write("k.tir", text)
    refused(tirc("k.tir", "--emit", "cuda"), words)


@pytest.mark.parametrize("text, words", SCRIPTS.values(), ids=SCRIPTS)
def test_scripts(tirc, text, words):
    tirc.write("k.tir", script(text))
    refused(tirc("k.tir", "--schedule", "s", "--emit", "cuda"), words)


@pytest.mark.parametrize("text, options", WORKS.values(), ids=WORKS)
def test_large_but_right(tirc, text, options):
    tirc.write("k.tir", text)
    result = tirc("k.tir", *options, "--emit", "cuda")
    assert result.status == 0, result.err


@pytest.mark.skipif(SANITIZED, reason="sanitizers keep what is given back")
@pytest.mark.parametrize(
    "steps",
    [
        "for i in 0..1000000 { let a = i; }",
        SCRIPTS["a loop in a loop in a loop"][0],
        "for i in 0..20000 { let a = f(i); }\n}\nproc f(x)\n{\n    "
        + "".join(f"let b{j} = x; " for j in range(100)),
    ],
    ids=["a loop", "three loops", "calls"],
)
def test_names_that_are_forgotten_take_no_memory(tirc, steps):
    """A list of what a range holds, and a million names, were kept to the end: 160 MB and more."""
    tirc.write("k.tir", script(steps))
    child = subprocess.Popen(
        [tirc.program, "k.tir", "--schedule", "s", "--emit", "cuda"],
        cwd=tirc.folder,
        env=tirc.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, child.returncode, used = os.wait4(child.pid, 0)
    assert used.ru_maxrss < 100 * 1024  # with that of this process, which it was before


def test_input_without_an_end(tirc):
    refused(tirc("/dev/zero", "--emit", "cuda"), "larger than 64 MiB")
    tirc.write("k.tir", script('f();\n}\ninclude "/dev/zero";\nproc g()\n{'))
    refused(tirc("k.tir", "--schedule", "s", "--emit", "cuda"), "must end in .sched")


def test_files_that_include_each_other(tirc):
    tirc.write("k.tir", value("x[i]"))
    tirc.write("a.sched", 'include "b.sched";\nschedule a for k()\n{\n    f();\n}\n')
    tirc.write("b.sched", 'include "a.sched";\ninclude "b.sched";\nproc f()\n{\n}\n')
    assert tirc("k.tir", "--schedule", "a.sched", "--emit", "cuda").status == 0


@pytest.mark.parametrize("shape, size", [("N - 5", 2), ("N", 2**62)])
def test_sizes_that_do_not_fit(tirc, shape, size):
    """One error, and no run: what came behind such a parameter was taken for the end of the list,
    and read beyond it."""
    tirc.write(
        "k.tir",
        f"kernel k<N>(x: f32[{shape}], z: f32[N]) -> y: f32[N] {{ for i in N y[i] = z[i]; }}",
    )
    result = tirc("k.tir", "--size", f"N={size}", "--run", "--device", "sim")
    assert result.status == 1 and result.err.count("error[E0633]") == 1


def test_many_kernels(tirc):
    tirc.write(
        "k.tir", "".join(value("x[i]").replace("kernel k", f"kernel k{j}") for j in range(10_000))
    )
    result = tirc("k.tir", "--emit", "cuda")
    assert result.status == 2 and "--kernel" in result.err and len(result.err) < 1000
