#!/usr/bin/env python3
"""Random programs whose loops are bound to threads and blocks as it comes: what is accepted has to
be right.

    threads.py COUNT SEED [--jobs N] [--keep FOLDER]

fuzz_schedule goes from a right program by steps, each of which has been checked, so that it seldom
sees two blocks meet in a way that no step would have made. Here the blocks, their iterators, their
accesses and the loops that are bound are all drawn (Program), in memory of each kind, and tirc has
to refuse the program or run it right on the simulator, races and all.

Prints how many were accepted, how many were refused with which code, and the programs that are
wrong; --keep leaves those in a folder. The exit status is 1 if there is one, or if less than one in
six is accepted, which would say little.
"""

import argparse
import collections
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

AXES = ("threadIdx.x", "threadIdx.y", "blockIdx.x")
OUTER = ("threadIdx.z", "blockIdx.y")
PLANES = "am"  # of two axes; the other buffers have one
BUFFERS = "aabssml"
FULL = 4  # elements on each axis
DEPTH = 3
LEAST_ACCEPTED = 6


class Program:
    """A launch of one outermost bound loop, in which each element of each buffer has a value from
    the beginning."""

    def __init__(self, seed):
        self.random, self.name, self.lines, self.numbers, self.extents = (
            random.Random(seed),
            f"k{seed}",
            [],
            0,
            {},
        )
        scope = self.random.choice(("shared", "local", "global"))
        self.put(1, f"for o in {self.random.choice((1, 2))} bind {self.random.choice(OUTER)} {{")
        self.put(2, "temp s: i32[4] in shared;")
        self.put(2, "temp l: i32[4] in local;")
        self.put(2, f"temp m: i32[4, 4] in {scope};")
        self.put(2, "for f in 4 {")
        self.put(3, "block fill_s(i in 4 = f) { s[i] = i; }")
        self.put(3, "block fill_l(i in 4 = f) { l[i] = i + 9; }")
        self.put(2, "}")
        self.put(2, "for f in 4, g in 4")
        self.put(3, "block fill_m(i in 4 = f, j in 4 = g) { m[i, j] = 5 * i + j; }")
        self.draw_nest([("o", 2)] if self.chance(0.3) else [], 2)
        self.put(1, "}")

    def text(self):
        return (
            f"kernel {self.name}(inout a: i32[4, 4], inout b: i32[4])\n{{\n"
            + "\n".join(self.lines)
            + "\n}\n"
        )

    def put(self, depth, line):
        self.lines.append("    " * depth + line)

    def chance(self, share):
        return self.random.random() < share

    def number(self):
        self.numbers += 1
        return self.numbers

    def draw_nest(self, loops, depth):
        for _ in range(self.random.choice((1, 1, 2, 2, 3))):
            if depth < DEPTH + 2 and self.chance(0.75 if depth == 2 else 0.4):
                self.draw_loop(loops, depth)
            else:
                self.draw_block(loops, depth)

    def draw_loop(self, loops, depth):
        name, extent, kind = f"t{self.number()}", self.random.choice((2, 3, FULL, FULL)), ""
        if self.chance(0.65):
            axis = self.random.choice(AXES)
            extent = self.extents.setdefault(
                axis, extent
            )  # a launch has as many threads everywhere
            kind = f" bind {axis}"
        elif self.chance(0.25):
            kind = " " + self.random.choice(("vectorize", "unroll"))
        self.put(depth, f"for {name} in {extent}{kind} {{")
        self.draw_nest(loops + [(name, extent)], depth + 1)
        self.put(depth, "}")

    def draw_block(self, loops, depth):
        """Iterators of some of the loops around: of the others the block does not depend."""
        used = [loop for loop in loops if self.chance(0.55)]
        names = [f"i{k}" for k in range(len(used))]
        iters = [self.draw_iterator(name, *loop) for name, loop in zip(names, used)]
        reduces = len(used) > 1 and self.chance(0.2)
        if reduces:
            iters[-1] = "reduce " + iters[-1]
        where = ""
        if loops and self.chance(0.15):
            name, extent = self.random.choice(loops)
            where = f" where {name} " + self.random.choice(
                (">= 1", "< 1", "== 0", f"< {extent - 1}")
            )
        self.put(
            depth,
            f"block q{self.number()}({', '.join(iters)}){where}{self.draw_body(names, reduces)}",
        )

    def draw_body(self, names, reduces):
        """A store, or an update, atomic or with its init; of a reduction, the last iterator is no
        subscript."""
        if reduces:
            target = self.draw_access(names[:-1])
            return (
                f" {{ init {target} = {self.random.randrange(9)}; {target} "
                f"+= {self.draw_value(names)}; }}"
            )
        target, op = self.draw_access(names), self.random.choice(("=", "=", "=", "+="))
        mark = " atomic" if op == "+=" and self.chance(0.2) else ""
        return f"{mark} {{ {target} {op} {self.draw_value(names)}; }}"

    def draw_iterator(self, name, loop, extent):
        kind = self.random.random()
        if kind < 0.85:
            return f"{name} in 4 = {loop}"
        return (
            f"{name} in 4 = {extent - 1} - {loop}"
            if kind < 0.92
            else f"{name} in {max(extent - 1, 1)} = {loop}"
        )

    def draw_value(self, names):
        return self.random.choice(
            (
                self.draw_access(names),
                f"{self.draw_access(names)} + {self.random.randrange(9)}",
                str(self.random.randrange(100)),
                f"{names[0] if names else 7} + {self.draw_access(names)}",
            )
        )

    def draw_access(self, names):
        buffer = self.random.choice(BUFFERS)
        subscripts = [self.draw_subscript(names) for _ in range(2 if buffer in PLANES else 1)]
        return f"{buffer}[{', '.join(subscripts)}]"

    def draw_subscript(self, names):
        kind = self.random.random()
        if not names or kind < 0.15:
            return str(self.random.randrange(2))
        name = self.random.choice(names)
        forms = (
            (0.75, name),
            (0.85, f"(3 - {name})"),
            (0.95, f"{name} % 2"),
            (1, f"({name} + 1) % 4"),
        )
        return next(form for share, form in forms if kind < share)


def judge(tirc, folder, seed):
    """The program, and 'accepted', the code of a refusal, or what is wrong."""
    path = Path(folder) / f"{seed}.tir"
    text = Program(seed).text()
    path.write_text(text)
    try:
        done = subprocess.run(
            [tirc, path, "--verify", "--device", "sim"], capture_output=True, text=True, timeout=120
        )
    except subprocess.TimeoutExpired:
        return seed, text, "wrong", "it does not end"
    finally:
        path.unlink()
    code = re.search(r"error\[(E\d+)\]", done.stderr)
    if done.returncode == 0:
        return seed, text, "accepted", ""
    if done.returncode == 1 and code and not code[1].startswith("E06"):
        return seed, text, code[1], ""
    return seed, text, "wrong", done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    answers = collections.Counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        seeds = range(options.seed, options.seed + options.count)
        for seed, text, answer, why in pool.map(
            lambda seed: judge(os.environ["TIRC"], folder, seed), seeds
        ):
            answers[answer] += 1
            if answer != "wrong":
                continue
            print(f"---- seed {seed}\n{text}\n{why}")
            if options.keep:
                options.keep.mkdir(exist_ok=True)
                (options.keep / f"{seed}.tir").write_text(text)
    print(
        f"{options.count} programs: "
        + ", ".join(f"{n} {answer}" for answer, n in answers.most_common())
        + ("" if answers["wrong"] else ", 0 wrong")
    )
    sys.exit(answers["wrong"] > 0 or answers["accepted"] * LEAST_ACCEPTED < options.count)


main()
