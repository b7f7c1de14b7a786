"""SECURITY.md: a test for each of its promises, and a promise for each of these tests."""

import json
import os
import re
import sqlite3
import stat
import subprocess
import threading

import pytest

from conftest import MATMUL, ROOT

PROMISES = {}
HEAD = "kernel k(x: f32[64]) -> y: f32[64]\n"
COPY = HEAD + "{\n    for i in 64\n        y[i] = x[i];\n}\n"
SECRET = "root:x:0:0:secret"
MIB = 1 << 20


def promise(*words):
    """Marks the test of the promises that begin with these words."""

    def mark(test):
        for w in words:
            PROMISES.setdefault(w, test)
        return test

    return mark


def script(text):
    return COPY + "schedule s for k()\n{\n" + text + "\n}\n"


def emit(tirc, text, *options):
    tirc.write("k.tir", text)
    return tirc("k.tir", "--schedule", "s", "--emit", "cuda", *options)


def test_every_promise_has_a_test():
    text = (ROOT / "SECURITY.md").read_text().split("## What tirc does not promise")[0]
    made = re.findall(r"^- \*\*(.*?)\*\*", text, re.M)
    assert len(made) > 15 and sorted(made) == sorted(PROMISES)


# ---- files that are read -------------------------------------------------------------------------


@promise("Only schedules are included.", "Messages quote no other file.")
@pytest.mark.parametrize(
    "name, words",
    [
        ("{}/passwd", "must end in .sched"),
        ("link.sched", "it links to a file"),
        ("pipe.sched", "not a regular file"),
        ("folder.sched", "not a regular file"),
        ("/dev/zero", "must end in .sched"),
        ("../passwd", "must end in .sched"),
    ],
)
def test_includes(tirc, name, words):
    tirc.write("passwd", SECRET + "\n")
    (tirc.folder / "link.sched").symlink_to("passwd")
    (tirc.folder / "folder.sched").mkdir()
    os.mkfifo(tirc.folder / "pipe.sched")
    tirc.write("k.tir", script(f'f();\n}}\ninclude "{name.format(tirc.folder)}";\nproc g()\n{{'))
    for options in (["--schedule", "s", "--emit", "cuda"], ["--list"]):
        result = tirc("k.tir", *options)
        assert SECRET not in result.err + result.out
        assert (result.status == 1 and words in result.err) or options == ["--list"]


@promise("Large files are refused.")
def test_large_files(tirc):
    with open(tirc.folder / "large.sched", "wb") as f:
        f.truncate(65 * MIB)
    result = emit(tirc, script('f();\n}\ninclude "large.sched";\nproc g()\n{'))
    assert result.status == 1 and "larger than 64 MiB" in result.err
    assert tirc("large.sched", "--emit", "cuda").status == 1


def test_schedules_beside_a_program_are_no_pipes(tirc):
    """--schedule NAME looks for NAME.sched, and --list at all files beside the program."""
    os.mkfifo(tirc.folder / "s.sched")
    tirc.write("k.tir", COPY)
    assert tirc("k.tir", "--schedule", "s", "--emit", "cuda").status == 1
    assert tirc("k.tir", "--schedule", "s.sched", "--emit", "cuda").status == 1
    tirc("k.tir", "--list")  # ends


# ---- files that are written ----------------------------------------------------------------------


@promise("Input chooses no output file.")
def test_no_other_files(tirc):
    folder = tirc.folder / "work"
    folder.mkdir()
    for name in ("k", "x", "y", "s"):
        (folder / f"{name}.txt").write_text("mine")
    before = sorted(folder.rglob("*"))
    tirc.folder = folder
    text = script(
        'let [i] = loops(y); split(i, [_, 8]); annotate(loops(y)[0], "x_txt", "../../x.txt");'
    )
    text = text.replace("kernel k(", "/* > x.txt */ kernel k(").replace(
        "schedule s", "// `touch x` $(touch y)\nschedule s"
    )
    (folder / "k.tir").write_text(text)
    for options in (
        ["--emit", "cuda"],
        ["--emit", "json"],
        ["--run", "--device", "sim"],
        ["--print-after", "all"],
        ["--trace"],
    ):
        assert tirc("k.tir", "--schedule", "s", *options).status == 0
    (folder / "k.tir").unlink()
    assert sorted(folder.rglob("*")) == before and all(p.read_text() == "mine" for p in before)


@promise("`--dump-dir` follows no link in its folder.")
@pytest.mark.parametrize("name", ["00-program.tir", "01-bind.tir"])
def test_dump_dir(tirc, name):
    tirc.write("k.tir", script("let [i] = loops(y); bind(i, threadIdx.x);"))
    tirc.write("precious", "mine")
    dump = tirc.folder / "dump"
    options = ("k.tir", "--schedule", "s", "--dump-dir", "dump")
    assert tirc(*options).status == 0
    (dump / name).write_text("old")
    assert tirc(*options).status == 0 and (dump / name).read_text() != "old"
    (dump / name).unlink()
    (dump / name).symlink_to("../precious")
    result = tirc(*options)
    assert result.status == 3 and "not a regular file" in result.err
    assert (tirc.folder / "precious").read_text() == "mine"
    (dump / name).unlink()
    os.mkfifo(dump / name)
    assert tirc(*options).status == 3


@promise("Bug reports are new files.")
def test_bug_reports(tirc):
    tirc.program = os.environ["TIRC_FAULTY"]
    paths = []
    for _ in range(2):
        result = tirc(
            MATMUL, "--schedule", "tiled32", "--emit", "cuda", env={"TIRC_BREAK": "insert_barriers"}
        )
        assert result.status == 70
        paths.append(re.search(r"report this bug with (\S+),", result.err)[1])
        assert stat.S_IMODE(os.lstat(paths[-1]).st_mode) == 0o600
    assert paths[0] != paths[1]  # the same bug


# ---- code that runs ------------------------------------------------------------------------------


@promise("No other program is started.")
def test_no_programs(tirc):
    names = subprocess.run(
        ["nm", "--undefined-only", tirc.program], capture_output=True, text=True, check=True
    ).stdout
    called = set(re.findall(r"\bU (\w+)", names))
    assert {"malloc", "memcpy"} & called
    if "__asan_init" in names:
        pytest.skip("SKIPPED: sanitizers bring calls of their own")
    # One call, which turns `tirc lsp` into the language server beside it.
    sources = (ROOT / "frontend").rglob("*.c")
    assert [p.name for p in sources if re.search(r"\bexecv\(", p.read_text())] == ["tools.c"]
    assert not called & {
        "system",
        "popen",
        "execl",
        "execlp",
        "execle",
        "execve",
        "execvp",
        "execvpe",
        "fexecve",
        "fork",
        "vfork",
        "clone",
        "posix_spawn",
        "posix_spawnp",
        "wordexp",
        "socket",
        "connect",
        "bind",
        "listen",
        "accept",
        "getaddrinfo",
    }


@promise("The simulator is a sandbox.", "Lowered text is checked like any program.")
@pytest.mark.parametrize(
    "access",
    [
        "y[i] = x[i + 1000000000000]",
        "y[i - 64] = x[i]",
        "y[i] = x[at[i]] + x[at[i] + 64]",
        "y[i] = x[at[i]] + x[at[i] - 1000000000]",
    ],
)
@pytest.mark.parametrize("lowered", [False, True])
def test_simulator(tirc, access, lowered):
    text = (
        f"kernel k(x: f32[64], at: i32[64]) -> y: f32[64]\n{{\n    for i in 64\n        {access};\n"
        f"}}\n"
    )
    if lowered:
        text = (
            f"kernel k(x: f32[64], at: i32[64]) -> y: f32[64]\n{{\n"
            f"    launch k grid(1, 1, 1) block(64, 1, 1) {{\n"
            f"        let i = threadIdx.x;\n        {access};\n    }}\n}}\n"
        )
        assert (
            tirc(
                "-", "--run", "--device", "sim", stdin=text.replace(access, "y[i] = x[i]").encode()
            ).status
            == 0
        )
    tirc.write("k.tir", text)
    result = tirc("k.tir", "--run", "--device", "sim")
    certain = result.status == 1 and "error[E0232]" in result.err  # found without a run
    assert certain or (
        result.status == 4 and re.search("out_of_bounds|index_too_large", result.err)
    ), result.err


def test_lowered_text_is_checked(tirc):
    text = tirc(MATMUL, "--schedule", "tiled32", "--emit", "lowered").out
    changes = (
        ("A_shared", "B_nowhere", 1),
        ("threadIdx.x", "threadIdx.w", 1),
        ("f32", "f33", 1),
        ("{", "", 1),
        (" = ", " : ", 1),
    )
    for old, new, n in changes:
        assert old in text
        result = tirc("-", "--emit", "cuda", stdin=text.replace(old, new, n).encode())
        assert result.status == 1 and "error[E" in result.err, new


# ---- time and memory -----------------------------------------------------------------------------


@promise("Nesting is bounded.")
@pytest.mark.parametrize(
    "text",
    [
        COPY.replace("x[i]", "(" * 100_000 + "x[i]"),
        COPY.replace("x[i]", "-" * 5000 + "x[i]"),
        HEAD + "{" * 5000,
        HEAD + "{\n" + "for i in 2 " * 5000 + "y[0] = 1;\n}\n",
        HEAD + "{\n" + "if x[0] > 0 " * 5000 + "y[0] = 1;\n}\n",
        COPY.replace("x[i]", "x[" + "(" * 100 + "i" + " / 3 * 5)" * 100 + "]"),
        COPY.replace("x[i]", "x[" * 5000),
    ],
)
def test_nesting(tirc, text):
    tirc.write("k.tir", text)
    result = tirc("k.tir", "--emit", "cuda")
    assert result.status == 1 and re.search(r"E0109|E0239", result.err)


@promise("Scripts end.")
@pytest.mark.parametrize(
    "text, code",
    [
        ("for i in 0..1000000 { for j in 0..1000000 { let a = 1; } }", "E0310"),
        ("let a = 0..1000000; let b = a + [1];", "E0310"),
        (
            "f0();\n}\n"
            + "".join(f"proc f{j}() {{ f{j + 1}(); }}\n" for j in range(200))
            + "proc f200()\n{",
            "E0318",
        ),
    ],
)
def test_scripts(tirc, text, code):
    result = emit(tirc, script(text))
    assert result.status == 1 and f"error[{code}]" in result.err


@pytest.mark.sweep
@promise("Memory is bounded.")
def test_memory(tirc):
    tirc.write("k.tir", HEAD + "{\n" + "for i in 64 y[i] = x[i];\n" * 1_500_000 + "}\n")
    out = tirc.folder / "out"
    with open(out, "wb") as f:
        process = subprocess.Popen(
            [tirc.program, "k.tir", "--emit", "cuda"], cwd=tirc.folder, stdout=f, stderr=f
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 3 and b"out of memory" in out.read_bytes()
    assert usage.ru_maxrss < 1300 * 1024 or b"__asan_init" in open(tirc.program, "rb").read()


# ---- what is shown -------------------------------------------------------------------------------


@promise("Messages are short.", "Messages are safe to show.")
def test_messages(tirc):
    lines = "".join(
        f"        y[i] = q{j}\x1b]0;owned\x07\u202e" + "x" * 5000 + ";\n" for j in range(200)
    )
    tirc.write("k\x1b[2J.tir", HEAD + "{\n    for i in 64 {\n" + lines + "    }\n}\n")
    result = tirc("k\x1b[2J.tir", "--emit", "cuda")
    assert result.status == 1 and not set(result.err) & {"\x1b", "\x07", "\u202e"}
    assert (
        "<1b>" in result.err
        and result.err.count("error[") <= 20
        and max(map(len, result.err.split("\n"))) < 400
    )


@promise("Reports are well-formed.")
def test_reports(tirc):
    name = 'a"]}<script>alert(1)<\\.tir'
    tirc.write(name, "// </script><script>alert(2)</script>\n" + COPY)
    result = tirc(name, "--run", "--device", "sim", "--json")
    assert json.loads(result.out)["kernel"] == "k"
    assert json.loads(tirc(name, "--emit", "json").out)
    assert tirc(name, "--analyze", "-o", "page.html").status == 0
    page = (tirc.folder / "page.html").read_text()
    assert (
        "alert(2)" in page
        and "<script>alert" not in page
        and page.count("</script>") == page.count("<script")
    )


# ---- the cache -----------------------------------------------------------------------------------


@promise("The cache is yours alone.", "Damaged entries are ignored.", "Other files stay.")
def test_cache():
    """test_cache holds all three; here: the tests are there, and pass."""
    program = os.path.join(os.path.dirname(os.environ["TIRC"]), "tests", "test_cache")
    done = subprocess.run([program], capture_output=True, text=True)
    for name in (
        "folders_of_others_are_not_used",
        "truncated_files_are_made_again",
        "changed_bytes_are_noticed",
        "renamed_entries_are_refused",
        "other_files_stay",
        "pipes_and_links_are_no_entries",
    ):
        assert f"[       OK ] {name}" in done.stdout + done.stderr


# ---- -o ------------------------------------------------------------------------------------------


@promise("Files appear whole.", "Files keep their mode.")
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o666])
def test_mode(tirc, mode):
    path = tirc.folder / "kernel.cu"
    path.write_text("old")
    path.chmod(mode)
    inode = path.stat().st_ino
    assert tirc(MATMUL, "--emit", "cuda", "-o", "kernel.cu").status == 0
    assert stat.S_IMODE(path.stat().st_mode) == mode and path.stat().st_ino != inode
    assert tirc(MATMUL, "--schedule", "nosuch", "--emit", "cuda", "-o", "kernel.cu").status == 1
    assert "__global__" in path.read_text()
    assert sorted(p.name for p in tirc.folder.iterdir()) == ["kernel.cu"]


@pytest.mark.skipif(os.geteuid() == 0, reason="SKIPPED: root may write everything")
def test_files_that_may_not_be_written(tirc):
    path = tirc.folder / "kernel.cu"
    path.write_text("old")
    path.chmod(0o444)
    assert (
        tirc(MATMUL, "--emit", "cuda", "-o", "kernel.cu").status == 3 and path.read_text() == "old"
    )
    tirc.folder.chmod(0o500)
    assert tirc(MATMUL, "--emit", "cuda", "-o", "other.cu").status == 3
    tirc.folder.chmod(0o700)


@promise("Links are followed.")
def test_links(tirc):
    tirc.write("real.cu", "old")
    (tirc.folder / "link.cu").symlink_to("real.cu")
    (tirc.folder / "lost.cu").symlink_to("nowhere.cu")
    assert tirc(MATMUL, "--emit", "cuda", "-o", "link.cu").status == 0
    assert (tirc.folder / "link.cu").is_symlink() and "__global__" in (
        tirc.folder / "real.cu"
    ).read_text()
    result = tirc(MATMUL, "--emit", "cuda", "-o", "lost.cu")
    assert result.status == 3 and "cannot write 'lost.cu'" in result.err
    assert (tirc.folder / "lost.cu").is_symlink() and not (tirc.folder / "nowhere.cu").exists()


@promise("Devices and pipes are written to.")
def test_devices_and_pipes(tirc):
    result = tirc(MATMUL, "--schedule", "tiled32", "--trace", "--emit", "cuda", "-o", "/dev/stdout")
    assert result.status == 0 and "split" in result.out and "__global__" in result.out
    with open(tirc.folder / "all", "wb") as f:  # a file: what was printed before must not be lost
        subprocess.run(
            [
                tirc.program,
                MATMUL,
                "--schedule",
                "tiled32",
                "--trace",
                "--emit",
                "cuda",
                "-o",
                "/dev/stdout",
            ],
            stdout=f,
            check=True,
        )
    assert (tirc.folder / "all").read_text() == result.out
    os.mkfifo(tirc.folder / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tirc.folder / "pipe").read_text()))
    reader.start()
    assert tirc(MATMUL, "--emit", "cuda", "-o", "pipe").status == 0
    reader.join()
    assert "__global__" in read[0] and stat.S_ISFIFO((tirc.folder / "pipe").stat().st_mode)


@promise("The log of `tirc tune` holds no code.")
@pytest.mark.parametrize("schedule", ["/etc/passwd", "../secret.sched", "s\n}\nkernel k()", "none"])
def test_a_log_from_elsewhere_chooses_only_among_schedules(tirc, schedule):
    (tirc.folder.parent / "secret.sched").write_text("the secret")
    tirc.write("k.tir", COPY)
    plain = tirc("k.tir", "--emit", "cuda", "--tune-log", "").out
    assert tirc("tune", "k.tir", "--tune-log", "log").status == 0
    with sqlite3.connect(tirc.folder / "log") as log:
        log.execute("UPDATE figure SET schedule = ?, settings = ''", (schedule,))
    log.close()
    done = tirc("k.tir", "--emit", "cuda", "--tune-log", "log")
    assert done.status == 0 and (done.out == plain or schedule == "none")
    refused = tirc("k.tir", "--schedule", "tuned", "--emit", "cuda", "--tune-log", "log")
    assert refused.status == (0 if schedule == "none" else 1)
    assert "root:" not in refused.err
