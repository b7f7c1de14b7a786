#!/usr/bin/env python3
"""Deletes each legality check in turn, and says whether a test notices.

    mutate.py BUILD [--slice K/N] [--only TEXT] [--tests A,B] [--jobs N] [--again] [--list]

    BUILD         the folder to work in: a copy of the sources with a switch at each check
                  (sites.py), its build, and results.tsv, which a later run goes on from
    --slice K/N   the K-th of N parts; a check stays in its part when others come and go
    --only TEXT   checks whose key holds TEXT
    --tests A,B   with these tests alone
    --jobs N      so many at a time; all cores without it
    --again       the checks that no test noticed once more, after tests were added
    --list        the checks, without running anything

All mutants are in one build: $TIRC_MUTANT switches one on. Each test runs once with none, and
records which checks it makes refuse; a mutant is then given to those tests alone, since to no other
it makes a difference. It is caught where one of them fails, crashes or does not end; what was
killed or took too long is tried once more, since a busy machine does that, too. Checks that no test
can notice stand in equivalent.txt, with the reason. The exit status is 1 when a check outside of
that list goes unnoticed, one in it is noticed or no longer there, or a test fails without any
mutant.
"""

import argparse
import functools
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import sites

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
WITHOUT = (
    "cuda",
    "nvrtc",
    "cubin",
    "cache",
    "bench",
    "vm_float",
    "simplify_fuzz",
)
HOOK = """
int mutant(int n);       /* is it this one? Asked where the check would refuse */
int mutant_skips(int n); /* the same, asked beforehand */
"""
HOOK_CODE = """
#include <stdio.h>
#include <stdlib.h>
static unsigned char mutants_asked[%d];
int mutant_skips(int n)
{
    static int on = -2;
    if (on == -2)
        on = getenv("TIRC_MUTANT") ? atoi(getenv("TIRC_MUTANT")) : -1;
    return n == on;
}
int mutant(int n)
{
    mutants_asked[n] = 1;
    return mutant_skips(n);
}
__attribute__((destructor)) static void mutants_write(void)
{
    FILE *f = getenv("TIRC_MUTANT_LOG") ? fopen(getenv("TIRC_MUTANT_LOG"), "a") : NULL;
    for (int i = 0; f && i < (int)sizeof mutants_asked; i++)
        if (mutants_asked[i])
            fprintf(f, "%%d\\n", i);
    if (f)
        fclose(f);
}
"""


# ---- the build -----------------------------------------------------------------------------------


def tracked_files():
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout.decode()
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def write(path, data):
    """Only where it changes something, so that the build goes on from what it has."""
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def copy_sources(folder, mutants):
    files = tracked_files()
    by_file = {}
    for n, m in enumerate(mutants):
        by_file.setdefault(m.file, []).append((n, m))
    for name in files:
        data = (ROOT / name).read_bytes()
        if name in by_file:
            data = sites.instrument(data.decode(), by_file[name]).encode()
        elif name == "ir/support.h":
            data = (
                data.replace(b"#endif", HOOK.encode() + b"#endif")
                if data.count(b"#endif") == 1
                else data[: data.rindex(b"#endif")] + HOOK.encode() + b"#endif\n"
            )
        elif name == "ir/arena.c":
            data += (HOOK_CODE % len(mutants)).encode()
        write(folder / name, data)
    for path in folder.rglob("*"):
        if path.is_file() and str(path.relative_to(folder)) not in files:
            path.unlink()


def build(work, mutants):
    copy_sources(work / "source", mutants)
    if not (work / "build" / "build.ninja").exists():
        subprocess.run(
            [
                "cmake",
                "-S",
                work / "source",
                "-B",
                work / "build",
                "-G",
                "Ninja",
                "-DTIRC_VERIFY=ON",
                "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -w",
                "-DCMAKE_C_COMPILER_LAUNCHER=" + os.environ.get("TIRC_MUTATE_LAUNCHER", ""),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    done = subprocess.run(["ninja", "-C", work / "build"], capture_output=True, text=True)
    if done.returncode:
        sys.exit("the instrumented sources do not build:\n" + done.stdout[-4000:] + done.stderr)


# ---- the tests -----------------------------------------------------------------------------------


def commands(work):
    """Name and command of each test, the quick ones first."""
    tests, source = work / "build" / "tests", work / "source" / "tests"
    unit = sorted(path.stem for path in (source / "unit").glob("test_*.c"))
    out = {
        name: [tests / name]
        for name in unit
        if (tests / name).exists() and not any(word in name for word in WITHOUT)
    }
    for path in sorted((source / "legality").rglob("*.tir")):
        out[f"legality.{path.parent.name}.{path.stem}"] = [tests / "test_cases", path]
    pytest = python_with_pytest(), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"
    out["golden"] = [*pytest, source / "golden", "-k", "not nvrtc"]
    out["fuzz"] = [
        tests / "fuzz" / "fuzz_schedule",
        "600",
        "1",
        source / "fuzz" / "programs",
        source / "programs",
    ]
    for path in sorted(
        (source / "programs").glob("*.tir")
    ):  # each program a test: what asks for a check is few of them
        kernels = re.findall(r"^kernel (\w+)", path.read_text(), re.M)
        for kernel in kernels:
            program = path.stem if len(kernels) == 1 else f"{path.stem}.{kernel}"
            for name in ("once", "meaning"):
                out[f"{name}.{program}"] = [
                    tests / f"test_{name}",
                    source / "programs",
                    "--short",
                    program,
                ]
    return out


@functools.lru_cache
def python_with_pytest():
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import pytest"], capture_output=True).returncode == 0:
            return python
    sys.exit("no Python with pytest (Debian: python3-pytest)")


def run(work, command, limit, **env):
    env = {
        **os.environ,
        "TIRC": str(work / "build" / "tirc"),
        "PYTHONDONTWRITEBYTECODE": "1",
        **env,
    }
    try:
        return subprocess.run(
            list(map(str, command)),
            env=env,
            timeout=limit,
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ).returncode
    except subprocess.TimeoutExpired:
        return "too long"


def notices(work, command, limit, n):
    """Does a test fail with mutant n? One that is killed or takes too long has to be so twice, with
    more time."""
    status = run(work, command, limit, TIRC_MUTANT=str(n))
    if status == "too long" or status == -signal.SIGKILL:
        status = run(work, command, 3 * limit, TIRC_MUTANT=str(n))
    return status != 0


def asked_by(work, name, command):
    """What a test takes without any mutant, and the mutants that it asks about; None where it
    fails."""
    log = work / f"asked-{name}"
    log.unlink(missing_ok=True)
    start = time.monotonic()
    status = run(work, command, 900, TIRC_MUTANT_LOG=str(log))
    if status != 0:
        print(f"it fails without any mutant ({status}): {name}", flush=True)
        return None
    asked = sorted(set(map(int, log.read_text().split()))) if log.exists() else []
    return time.monotonic() - start, asked


def baseline(work, state, wanted, jobs):
    """asked_by of each test, the slow ones first; from an earlier run of the same sources where
    there is one."""
    saved = work / "baseline.json"
    known = json.loads(saved.read_text()) if saved.exists() else {}
    out = known["tests"] if known.get("state") == state else {}
    todo = [test for test in commands(work).items() if test[0] not in out and test[0] in wanted]
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(asked_by, work, *test): test[0] for test in reversed(todo)}
        for done in as_completed(running):
            if done.result():
                out[running[done]] = done.result()
                saved.write_text(json.dumps({"state": state, "tests": out}))
    return {name: test for name, test in out.items() if name in wanted}


def judge(work, n, tests):
    """The first test that notices mutant n; "" if none does; "-" if none even asks."""
    asking = sorted((seconds, name) for name, (seconds, asked) in tests.items() if n in asked)
    for seconds, name in asking:
        if notices(work, commands(work)[name], 20 + 5 * seconds, n):
            return name
    return "" if asking else "-"


# ---- results -------------------------------------------------------------------------------------


def read_table(path):
    rows = (
        (line.split("\t", 1) for line in path.read_text().splitlines() if line and line[0] != "#")
        if path.exists()
        else ()
    )
    return {key: value for key, value in rows}


def write_table(path, state, rows):
    path.write_text(f"# {state}\n" + "".join(f"{key}\t{value}\n" for key, value in rows.items()))


def read_state(path):
    return path.read_text().splitlines()[0][2:] if path.exists() and path.stat().st_size else None


def fingerprint():
    """Of everything that the results depend on."""
    digest = hashlib.sha256()
    for name in tracked_files():
        digest.update(name.encode() + (ROOT / name).read_bytes())
    return digest.hexdigest()[:16]


def report(every, mutants, results, equivalent, broken):
    missed = [m for m in mutants if results.get(m.key) in ("", "-") and m.key not in equivalent]
    noticed = [
        m.key for m in mutants if m.key in equivalent and results.get(m.key, "") not in ("", "-")
    ]
    gone = equivalent.keys() - {m.key for m in every}
    for name in broken:
        print(f"{name} fails without any mutant")
    for m in missed:
        print(
            f"{m.file}:{m.line}: no test {'asks for' if results[m.key] == '-' else 'notices'} "
            f"{m.key}"
        )
    for key in noticed:
        print(f"equivalent.txt: {results[key]} notices {key}")
    for key in sorted(gone):
        print(f"equivalent.txt: there is no {key} any more")
    known = [m for m in mutants if m.key in results]
    caught = sum(results[m.key] not in ("", "-") for m in known)
    print(
        f"{len(known)} of {len(mutants)} checks deleted: {caught} noticed, "
        f"{len(known) - caught - len(missed)} equivalent, {len(missed)} missed"
    )
    return bool(missed or noticed or gone or broken)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--slice", default="1/1")
    parser.add_argument("--only", default="")
    parser.add_argument("--tests", default="")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    for flag in ("--again", "--list"):
        parser.add_argument(flag, action="store_true")
    args = parser.parse_args()
    every, unknown = sites.find(ROOT)
    if unknown:
        sys.exit("refusals whose condition was not found: " + ", ".join(unknown))
    first, step = map(int, args.slice.split("/"))
    part = lambda m: int(hashlib.sha256(m.key.encode()).hexdigest(), 16) % step
    chosen = [(n, m) for n, m in enumerate(every) if part(m) == first % step and args.only in m.key]
    if args.list:
        for n, m in chosen:
            print(f"{n:4} {m.file}:{m.line}: {m.key}")
        return 0
    work = args.work.resolve()
    build(work, every)
    table = work / "results.tsv"
    state = fingerprint()
    results = read_table(table) if args.again or read_state(table) == state else {}
    todo = [
        (n, m)
        for n, m in chosen
        if m.key not in results or (args.again and results[m.key] in ("", "-"))
    ]
    wanted = args.tests.split(",") if args.tests else list(commands(work))
    tests = baseline(work, state, wanted, args.jobs) if todo else {}
    broken = [name for name in wanted if todo and name not in tests]
    with ThreadPoolExecutor(args.jobs) as pool:
        running = {pool.submit(judge, work, n, tests): (n, m) for n, m in todo}
        try:
            for done in as_completed(running):
                n, m = running[done]
                results[m.key] = done.result()
                print(f"{n:4} {m.file}:{m.line} {m.key}: {results[m.key] or 'MISSED'}", flush=True)
                write_table(table, state, results)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    equivalent = read_table(HERE / "equivalent.txt")
    return report(every, [m for _, m in chosen], results, equivalent, broken)


if __name__ == "__main__":
    sys.exit(main())
