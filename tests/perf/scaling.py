#!/usr/bin/env python3
"""How the time of a compile grows with the program and with the schedule.

    scaling.py TIRC [--small] [--markdown]
    scaling.py TIRC --instructions MILLIONS

Each family is a program or a schedule of n statements or steps. It is compiled to CUDA as a whole
process, several times; the least processor time counts, less that of an empty compile. Where the
time between the two largest sizes grows faster than n^1.4, the script fails. --small takes seconds
and smaller sizes, and allows for noise. Sizes are meaningful for a build without TIRC_VERIFY, which
looks at the whole program after every step.

--instructions counts those of one small compile under callgrind, which do not depend on what else
runs, and fails where there are more. Without valgrind the status is 77."""

import argparse
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile


def nests(n):
    body = "".join(f"    for i in N\n        y[{j}, i] = x[i] * {j + 1}.0;\n" for j in range(n))
    return f"kernel k<N = 64>(x: f32[N]) -> y: f32[{n}, N]\n{{\n{body}}}\n"


def one_nest(n):
    body = "".join(f"        y[{j}, i] = x[i] * {j + 1}.0;\n" for j in range(n))
    return (
        f"kernel k<N = 64>(x: f32[N]) -> y: f32[{n}, N]\n{{\n    for i in N {{\n{body}    }}\n}}\n"
    )


def temporaries(n):
    temps = "".join(f"    temp t{j}: f32[N];\n" for j in range(n))
    chain = "".join(f"    for i in N\n        t{j}[i] = t{j - 1}[i] + 1.0;\n" for j in range(1, n))
    return (
        f"kernel k<N = 64>(x: f32[N]) -> y: f32[N]\n{{\n{temps}    for i in N\n"
        f"        t0[i] = x[i];\n{chain}"
        f"    for i in N\n        y[i] = t{n - 1}[i];\n}}\n"
    )


def steps(script):
    return (
        "kernel k<N = 1024>(x: f32[N]) -> y: f32[N]\n{\n    for i in N\n        y[i] = x[i];\n}\n\n"
        f"schedule s for k()\n{{\n{script}}}\n"
    )


def split_fuse(n):
    return steps(
        "".join(
            f"    let [a{j}, b{j}] = split(loops(y)[0], [_, 32]);\n    fuse(a{j}, b{j});\n"
            for j in range(n // 2)
        )
    )


def annotate(n):
    return steps(
        f'    for _ in 0..{n // 2} {{\n        annotate(loops(y)[0], "u", 1);\n'
        '        unannotate(loops(y)[0], "u");\n    }\n'
    )


def reorder(n):
    return steps(
        "    let [a, b] = split(loops(y)[0], [_, 32]);\n"
        f"    for _ in 0..{n // 2} {{\n        reorder(b, a);\n        reorder(a, b);\n    }}\n"
    )


PROGRAMS = [125, 250, 500, 1000, 2000]
SCHEDULES = [1250, 2500, 5000, 10000]
FAMILIES = [
    ("nests, no schedule given", nests, PROGRAMS, []),
    ("nests, naive", nests, PROGRAMS, ["--schedule", "naive"]),
    ("statements of one nest, no schedule given", one_nest, PROGRAMS, []),
    ("nests through temporaries, no schedule given", temporaries, PROGRAMS, []),
    ("steps: split, fuse", split_fuse, SCHEDULES, ["--schedule", "s"]),
    ("steps: annotate, unannotate", annotate, SCHEDULES, ["--schedule", "s"]),
    ("steps: reorder", reorder, SCHEDULES, ["--schedule", "s"]),
]


def measure(tirc, text, options, runs):
    """The least processor time in seconds, and the memory in MB."""
    with tempfile.NamedTemporaryFile("w", suffix=".tir") as f:
        f.write(text)
        f.flush()
        best, memory = math.inf, 0.0
        for _ in range(runs):
            process = subprocess.Popen(
                [tirc, f.name, *options, "--emit", "cuda"], stdout=subprocess.DEVNULL
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                sys.exit(
                    f"scaling.py: tirc failed with status {process.returncode} on:\n{text[:400]}..."
                )
            best = min(best, usage.ru_utime + usage.ru_stime)
            memory = max(memory, usage.ru_maxrss / 1024)
    return best, memory


def count_instructions(tirc, most):
    """Of a matmul with a schedule of some 20 steps, as a whole process; in millions."""
    if not shutil.which("valgrind"):
        print("scaling.py: valgrind is not installed, so instructions are not counted")
        sys.exit(77)
    folder = os.path.join(os.path.dirname(__file__), "../../examples/matmul")
    command = [tirc, os.path.join(folder, "matmul.tir"), "--schedule", "tiled32", "--emit", "cuda"]
    callgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    run = subprocess.run(callgrind + command, capture_output=True, text=True, check=True)
    count = int(re.search(r"Collected : (\d+)", run.stderr)[1]) / 1e6
    print(f"{count:.2f} million instructions, at most {most} are allowed")
    if count > most:
        sys.exit("scaling.py: a small compile has become slower")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tirc")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--instructions", type=float, metavar="MILLIONS")
    args = parser.parse_args()
    if args.instructions:
        return count_instructions(args.tirc, args.instructions)
    runs, limit = (3, 1.6) if args.small else (7, 1.4)
    nothing, _ = measure(args.tirc, nests(1), [], runs)
    slow = []
    for name, family, sizes, options in FAMILIES:
        sizes = [n // 2 for n in sizes[1:]] if args.small else sizes
        figures = [measure(args.tirc, family(n), options, runs) for n in sizes]
        times = [max(time - nothing, 1e-4) for time, _ in figures]
        power = math.log(times[-1] / times[-2]) / math.log(sizes[-1] / sizes[-2])
        if args.markdown:
            cells = " | ".join(f"{1000 * t:.0f} ms, {m:.0f} MB" for t, m in figures)
            print(f"| {name} | {cells} | {power:.2f} |")
        else:
            cells = "  ".join(
                f"{n}: {1000 * t:.0f} ms {m:.0f} MB" for n, (t, m) in zip(sizes, figures)
            )
            print(f"{name:46}{cells}  n^{power:.2f}", flush=True)
        if power > limit:
            slow.append(name)
    if slow:
        sys.exit(f"faster than n^{limit}: {'; '.join(slow)}")


if __name__ == "__main__":
    main()
