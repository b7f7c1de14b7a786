#!/usr/bin/env python3
"""tests/fuzz/fuzz_default.py [-j PROCESSES] COUNT SEED: random programs, scheduled by `default`.

Programs SEED, SEED + 1, ... of draw_program.py, some of their sizes symbolic, run on the simulator
with `--verify`, which compares with the program in order, in higher precision. `default` takes
each of them. A wrong result, a refusal, a crash or a run that does not end is reduced to the nests
that it needs and printed, and makes the status 1.
"""

import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

from draw_program import Program

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIRC = os.environ.get("TIRC") or str(ROOT / "build/tirc")
SECONDS = 120


def failure(text, words):
    """What is wrong with a program, in a line; None: nothing."""
    with tempfile.NamedTemporaryFile("w", suffix=".tir") as file:
        file.write(text)
        file.flush()
        command = [TIRC, file.name, "--schedule", "default", "--device", "sim", "--verify", *words]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return "hung"
    said = done.stdout + done.stderr
    error = re.search(r"error\[E\d+\].*", said)
    if done.returncode < 0:
        return f"crashed: signal {-done.returncode}"
    if done.returncode == 0 or "overflow in the program itself" in said or "[E0636]" in said:
        return None  # what overflows does so elsewhere in another order
    kind = "wrong" if "WRONG" in said else "refused"
    return f"{kind}: {error.group(0) if error else said[-200:]}"


def kind(why):
    """What a reduced program has in common with the whole."""
    return why and re.match(r"\w+(: error\[E\d+\])?", why).group(0)


def sizes_of(program, seed):
    """Some sizes are symbolic."""
    chosen = random.Random(seed)
    some = [name for name in program.sizes if chosen.random() < 0.15]
    return [w for n in some for w in ("-D", f"{n}=?", "--size", f"{n}={program.sizes[n]}")]


def reduced(program, words, why):
    """The program without the nests that the failure does not need."""
    nests = program.nests
    for nest in program.nests if why != "hung" else []:
        fewer = [n for n in nests if n is not nest]
        if fewer and kind(failure(program.text(fewer), words)) == kind(why):
            nests = fewer
    return program.text(nests)


def trial(seed):
    program = Program(seed)
    words = sizes_of(program, seed)
    why = failure(program.text(), words)
    return seed, words, why, why and reduced(program, words, why)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-j", type=int, default=os.cpu_count(), metavar="PROCESSES")
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int)
    given = parser.parse_args()
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(given.j) as pool:
        for seed, words, why, text in pool.map(trial, range(given.seed, given.seed + given.count)):
            if why:
                failures += 1
                print(f"---- seed {seed} {' '.join(words)}: {why}\n{text}", flush=True)
    print(f"{given.count} programs: {given.count - failures} right, {failures} not")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
