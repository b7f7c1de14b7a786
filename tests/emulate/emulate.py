#!/usr/bin/env python3
"""Executes emitted CUDA text on the host and compares with the program (README.md).

emulate.py random COUNT [SEED] [-j JOBS]      random schedules of tests/fuzz, trials SEED, SEED + 1,
... emulate.py golden [NAME...]                   the golden cases emulate.py file FILE [tirc's
options] [--size N=5]     one program; its symbolic sizes are 5, 7, 9 ... or what --size says
"""

import argparse
import collections
import concurrent.futures
import functools
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import batch
import complete
import nvrtc

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SYMBOLIC = (37, 50, 23, 19, 5, 7, 3, 2)  # values of sizes that are open
CHUNK = 100


def newest(pattern):
    built = sorted(ROOT.glob(pattern), key=lambda path: path.stat().st_mtime)
    if not built:
        sys.exit(f"no {pattern}: build first")
    return str(built[-1])


def tirc():
    return os.environ.get("TIRC") or newest("build*/tirc")


def recorder():
    return os.environ.get("FUZZ_RECORD") or newest("build*/tests/fuzz/fuzz_record")


# ---- records -------------------------------------------------------------------------------------


def before_sm_80(record):
    """The same text as GPUs before sm_80 run it, if it has asynchronous copies."""
    if "copy_async" in record["launches"]:
        yield {k: v for k, v in record.items() if k != "complete"} | {
            "name": record["name"] + " before sm_80",
            "arch": 750,
        }


def random_records(count, seed, every=0):
    """Records of trials seed, seed + 1, ...; verdicts of those that crash the recorder or do not
    replay."""
    records, verdicts, at, end = [], [], seed, seed + count
    folders = [
        str(ROOT / "tests/fuzz/programs"),
        str(ROOT / "tests/programs"),
        str(HERE / "programs"),
    ]
    while at < end:
        done = subprocess.run(
            [recorder(), "-c", str(every), str(end - at), str(at), *folders],
            capture_output=True,
            text=True,
            check=False,
        )
        for line in done.stdout.splitlines():
            record = json.loads(line)
            record["name"] = str(record["seed"])
            at = record["seed"] + 1
            if "broken" in record:
                verdicts.append((record, "broken", record["broken"]))
            elif "launches" in record and "__cluster_dims__" not in record["launches"]:
                records.append(record)  # the emulator runs one block after the other
                records += before_sm_80(record)
        if done.returncode or not done.stdout:
            verdicts.append(
                (
                    {
                        "name": str(at),
                        "seed": at,
                        "path": "?",
                        "overrides": [],
                        "sizes": {},
                        "schedule": "",
                    },
                    "broken",
                    f"fuzz_record ends with {done.returncode}: {done.stderr[-300:]}",
                )
            )
            at += 1
    return records, verdicts


def run_tirc(arguments, text=None):
    done = subprocess.run(
        [tirc(), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        input=text,
        timeout=60,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"tirc {' '.join(arguments)} gives {done.returncode}\n{done.stderr}")
    return done.stdout


def launches_of(arguments, program):
    return run_tirc([*arguments, "--emit", "json"], program)


def file_record(name, arguments, program=None, sizes=(), reorders=True, launches=None):
    """A record of what the command makes of a file, or of the text `program`; `launches`, where it
    is known already."""
    launches = launches or launches_of(arguments, program)
    known = json.loads(launches)
    text = program or (ROOT / next(a for a in arguments if a.endswith(".tir"))).read_text()
    overrides = [b for a, b in zip(arguments, arguments[1:]) if a == "-D"]
    record = {
        "name": name,
        "seed": 1,
        "program": text,
        "path": name,
        "kernel": known["kernel"],
        "overrides": overrides,
        "sizes": {},
        "reorders": reorders,
        "schedule": " ".join(arguments),
        "launches": launches,
        "lowered": run_tirc([*arguments, "--emit", "lowered"], program),
    }
    return choose_sizes(record, known["sizes"], dict(sizes))


def choose_sizes(record, known, given):
    """Values for the sizes that are open, which the program is for."""
    is_open = [n for n, v in known.items() if v is None and n not in given]
    for shift, values in enumerate(itertools.product((0, 64, 96, 4, 1), repeat=len(is_open))):
        chosen = {
            n: v or SYMBOLIC[i % len(SYMBOLIC)] for i, (n, v) in enumerate(zip(is_open, values))
        }
        record["sizes"] = {n: v for n, v in known.items() if v is not None} | chosen | given
        if shift > 200 or batch.program_of(record).is_for_sizes:
            break
    return record


MOST_SIZE = 160


def smaller(arguments, sizes):
    """Arguments of tirc with which the sizes that are literal stay below MOST_SIZE, with the same
    remainder by 32, and multiples of 64 for such."""
    large = {n: v for n, v in sizes.items() if v is not None and v > MOST_SIZE}
    kept, at = [], 0
    while at < len(arguments):
        define = arguments[at] == "-D"
        if not (define and arguments[at + 1].split("=")[0] in large):
            kept += arguments[at : at + 1 + define]
        at += 1 + define
    return kept + [
        a for n, v in large.items() for a in ("-D", f"{n}={96 + v % 32 if v % 64 else 128}")
    ]


def golden_case(path):
    """Name, arguments and program (None: it stands in a file) of a case of tests/golden that keeps
    CUDA text and begins with a program; else None."""
    head, _, program = path.read_text().partition("\n\n")
    keys = dict(line.split(":", 1) for line in head.splitlines())
    arguments = keys.get("run", "").split()
    inside = not any(a.endswith(".tir") for a in arguments)
    if "cuda" not in keys.get("emit", "").split():
        return None
    if inside and re.search(r"^ +launch ", program, re.M):
        return None  # lowered text: there is no program to compare with
    if "__cluster_dims__" in path.with_suffix(".cu").read_text():
        return None  # the emulator runs one block after the other
    return path.stem, [*(["-"] if inside else []), *arguments], program if inside else None


def golden_cases():
    found = map(golden_case, sorted((ROOT / "tests/golden").glob("*.case")))
    return [case for case in found if case]


def golden_record(name, arguments, program):
    """At sizes that are soon evaluated."""
    launches = launches_of(arguments, program)
    small = smaller(arguments, json.loads(launches)["sizes"])
    known = launches if small == arguments else None
    return file_record(name, small, program, launches=known)


# ---- running -------------------------------------------------------------------------------------


def show(record, verdict, detail, out=sys.stdout):
    sizes = " ".join(f"{n}={v}" for n, v in record["sizes"].items())
    print(
        f"---- {verdict}: {record['name']}, {record['path']} "
        f"{' '.join('-D ' + o for o in record['overrides'])}, at {sizes}\n"
        f"{record['schedule']}{detail}\n",
        file=out,
        flush=True,
    )


@functools.cache
def cuda_compiler():
    return nvrtc.Nvrtc()


def refused_by_nvrtc(records):
    """Verdicts of what NVRTC refuses."""
    said = cuda_compiler().refused([json.loads(record["launches"])["cuda"] for record in records])
    return [
        (records[n], "refused by NVRTC", nvrtc.first_error(messages))
        for n, messages in said.items()
    ]


def run_chunk(compiler, name, count, seed, every, with_nvrtc):
    records, verdicts = random_records(count, seed, every)
    verdicts += batch.run(compiler, name, records) if records else []
    whole = [r for r in records if "complete" in r]
    verdicts += complete.run(compiler, f"{name}_complete", whole) if whole else []
    verdicts += refused_by_nvrtc(records) if with_nvrtc else []
    bad = [(r, v, d) for r, v, d in verdicts if v not in batch.GOOD]
    return count, len(records), collections.Counter(v for _, v, _ in verdicts), bad


def run_random(compiler, o):
    begin, done, executed, verdicts, failures = time.time(), 0, 0, collections.Counter(), 0
    chunks = [
        (seed, min(CHUNK, o.seed + o.count - seed))
        for seed in range(o.seed, o.seed + o.count, CHUNK)
    ]
    with concurrent.futures.ProcessPoolExecutor(o.jobs) as pool:
        running = [
            pool.submit(run_chunk, compiler, f"unit_{seed}", count, seed, o.complete, o.nvrtc)
            for seed, count in chunks
        ]
        for future in concurrent.futures.as_completed(running):
            trials, records, counts, bad = future.result()
            done, executed = done + trials, executed + records
            verdicts += counts
            for record, verdict, detail in bad:
                failures += 1
                if failures <= o.show:
                    show(record, verdict, detail)
                if o.failures:
                    with open(o.failures, "a", encoding="utf-8") as out:
                        out.write(
                            json.dumps({**record, "verdict": verdict, "detail": detail}) + "\n"
                        )
            if o.progress:
                print(
                    f"{done} trials, {summary(executed, verdicts)}, {time.time() - begin:.0f} s",
                    file=sys.stderr,
                    flush=True,
                )
    print(
        f"{done} trials from seed {o.seed}: {summary(executed, verdicts)}, "
        f"{time.time() - begin:.0f} s"
    )
    return failures


def summary(executed, verdicts):
    return f"{executed} schedules, " + ", ".join(
        f"{verdicts[v]} {v}" for v in (*batch.VERDICTS, "refused by NVRTC", "broken") if verdicts[v]
    )


def run_records(compiler, records):
    verdicts = batch.run(compiler, "unit", records, keep=True)
    for record, verdict, detail in verdicts:
        if verdict not in batch.GOOD:
            show(record, verdict, detail)
    counts = collections.Counter(v for _, v, _ in verdicts)
    print(summary(len(records), counts))
    return sum(n for v, n in counts.items() if v not in batch.GOOD)


def options():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--work", help="a folder for what is compiled; kept")
    p.add_argument("--cxx", default="g++", help="the C++ compiler, g++ or clang++")
    sub = p.add_subparsers(dest="mode", required=True)
    r = sub.add_parser("random")
    r.add_argument("count", type=int)
    r.add_argument("seed", type=int, nargs="?", default=1)
    r.add_argument("-j", "--jobs", type=int, default=1)
    r.add_argument(
        "--complete",
        type=int,
        default=16,
        metavar="EVERY",
        help="run every EVERY-th complete program, too; 0: none",
    )
    r.add_argument("--nvrtc", action="store_true", help="compile every text with NVRTC, too")
    r.add_argument("--show", type=int, default=20, help="how many failures are printed")
    r.add_argument("--failures", help="a file to which failures are appended, a line of JSON each")
    r.add_argument("--progress", action="store_true")
    g = sub.add_parser("golden")
    g.add_argument("names", nargs="*")
    f = sub.add_parser("file")
    f.add_argument("--size", action="append", default=[])
    f.add_argument("arguments", nargs=argparse.REMAINDER)
    return p.parse_args()


def main():
    o = options()
    work = o.work or tempfile.mkdtemp(prefix="tirc-emulate-")
    compiler = batch.Compiler(work, o.cxx)
    try:
        compiler.prepare()
        if o.mode == "random":
            return bool(run_random(compiler, o))
        if o.mode == "golden":
            cases = [c for c in golden_cases() if not o.names or c[0] in o.names]
            return bool(run_records(compiler, [golden_record(*case) for case in cases]))
        sizes = [(n, int(v)) for n, v in (s.split("=") for s in o.size)]
        return bool(run_records(compiler, [file_record("file", o.arguments, sizes=sizes)]))
    finally:
        if not o.work:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
