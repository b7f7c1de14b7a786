"""Runs many trials at once: one translation unit, one compilation, one process for each trial.

A record says what a trial is: {"name", "seed", "path" (of the program), "kernel", "overrides",
"sizes", "reorders", "schedule", "lowered", "launches" (the text of --emit json)}, and perhaps
"arch", the value of __CUDA_ARCH__ (900). A verdict is one of

    exact      as the program, bit for bit (exact inputs, or no additions in another order)
    near       as the program, but for rounding
    undefined  the program itself has no meaning on the inputs that were drawn: nothing was compared
    wrong, fault, crashed, hung, uncompiled, untranslated      with what is wrong
"""

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import cuda_text
import evaluate
import tir

HERE = Path(__file__).resolve().parent
FLAGS = [
    "-std=c++17",
    "-O0",
    "-w",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-asynchronous-unwind-tables",
    "-fno-stack-protector",
    "-ffp-contract=off",
    "-fno-pie",
    "-ftrivial-auto-var-init=pattern",
    "-fsanitize=signed-integer-overflow,shift-exponent,bounds,alignment,integer-divide-by-zero",
    "-fsanitize-undefined-trap-on-error",
]
GOOD = ("exact", "near", "undefined")
VERDICTS = (*GOOD, "wrong", "fault", "crashed", "hung", "uncompiled", "untranslated")
SECONDS = 300  # to compile or run a batch


@functools.cache
def kernels_of(path):
    return tir.kernels(Path(path).read_text())


def program_of(record):
    if "program" in record:
        kernels = tir.kernels(record["program"])
    else:
        kernels = kernels_of(record["path"])
    kernel = next(k for k in kernels if k.name == record["kernel"])
    chosen = dict(o.split("=", 1) for o in record["overrides"])
    types = {s.name: chosen.get(s.name, s.default) for s in kernel.sizes if s.is_type}
    return evaluate.Program(kernel, record["sizes"], types)


def parameter_text(p):
    role = {"in": "IN", "out": "OUT", "inout": "INOUT"}[p.role]
    return (
        f'{{"{p.name}", "{p.type}", emulator::{role}, {str(p.is_scalar).lower()}, {p.elements}ll, '
        f'{p.low!r}, {p.high!r}, "{p.order}"}}'
    )


def trial_text(record, number):
    """The namespace of a trial: the emitted text, the program, the host's part."""
    launches = json.loads(record["launches"])
    cuda = launches["cuda"]
    program = program_of(record)
    most_dynamic = max(
        [l["shared_bytes"] for l in launches["launches"] if l["shared_is_dynamic"]], default=0
    )
    text = cuda_text.host_text(cuda, most_dynamic)
    lowered = tir.kernels(record["lowered"])[0]
    host = cuda_text.Host(program, lowered, launches, text).text()
    parameters = ",\n    ".join(parameter_text(p) for p in program.parameters)
    more = f"""__attribute__((no_sanitize("undefined"))) {program.function()}
{host}
static const emulator::Parameter parameters[] = {{
    {parameters}}};
"""
    device = f"namespace device {{\n{text}\n}}"
    return cuda_text.in_namespace(device, number, "trial", more, record.get("arch", 900))


def table_row(record, number):
    launches = json.loads(record["launches"])
    n = len(launches["parameters"])
    wide = str(cuda_text.is_wide(launches["cuda"])).lower()
    return (
        f'{{"{record["name"]}", {record["seed"]}ull, {str(record["reorders"]).lower()}, {wide}, '
        f"{n}, "
        f"trial_{number}::parameters, trial_{number}::evaluate, trial_{number}::launch}}"
    )


def unit_text(trials):
    """A translation unit of (record, number, text)."""
    rows = ",\n    ".join(table_row(record, number) for record, number, _ in trials)
    return f"""{"".join(text for _, _, text in trials)}
#line 1 "table"
static const emulator::Trial trials[] = {{
    {rows}}};
int main(int argc, char **argv)
{{
    return emulator::run_trials(trials, {len(trials)}, argc, argv);
}}
"""


class Compiler:
    """A C++ compiler, with the headers and the emulator compiled once: by `prepare` in `work`, or
    before in the folder `parts`."""

    EMULATOR = ("emulator", "warpgroup")

    def __init__(self, work, command="g++", parts=None):
        self.work, self.command = Path(work).resolve(), [*command.split(), *FLAGS]
        self.work.mkdir(parents=True, exist_ok=True)
        self.parts = Path(parts) if parts else self.work

    def run(self, *arguments):
        return subprocess.run(
            [*self.command, *arguments],
            cwd=self.work,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def prepare(self):
        prelude = self.work / "prelude.h"
        # What all trials call is optimized, in texts that are not. Each text compiles it anew, for
        # which -O2 takes longer than it saves when they run.
        headers = [f'#include "{HERE}/{name}.h"' for name in ("reference", "complete_host")]
        options = ("push_options", 'optimize("O1")', "pop_options")
        push, optimize, pop = (f"#pragma GCC {option}" for option in options)
        prelude.write_text("\n".join([push, optimize, *headers, pop, ""]))
        header = ("-x", "c++-header", "prelude.h", "-o", "prelude.h.gch")
        parts = [
            ("-O2", "-fno-sanitize=all", "-c", str(HERE / f"{part}.cpp"), "-o", f"{part}.o")
            for part in self.EMULATOR
        ]
        for arguments in (header, *parts):
            done = self.run(*arguments)
            if done.returncode:
                raise RuntimeError(done.stderr)

    def program(self, name, text):
        """None, or what the compiler says."""
        (self.work / f"{name}.cpp").write_text(text)
        parts = [str(self.parts / f"{part}.o") for part in self.EMULATOR]
        prelude = str(self.parts / "prelude.h")
        done = self.run("-include", prelude, f"{name}.cpp", *parts, "-no-pie", "-o", name)
        return done.stderr if done.returncode else None


def first_errors(messages, number):
    of_trial = [line for line in messages.splitlines() if re.match(rf"\w+_{number}:.*error", line)]
    return "\n".join(of_trial[:3]) or messages[:600]


def compile_trials(compiler, name, trials, unit):
    """Compiles what compiles: (trials left, verdicts of the others)."""
    bad = []
    while trials:
        messages = compiler.program(name, unit(trials))
        if messages is None:
            break
        named = {
            int(n) for n in re.findall(r"^\w+_(\d+):\d+:\d+: (?:fatal )?error", messages, re.M)
        }
        bad += [
            (t[0], "uncompiled", first_errors(messages, t[1]))
            for t in trials
            if t[1] in named or not named
        ]
        trials = [t for t in trials if t[1] not in named] if named else []
    return trials, bad


def run_unit(compiler, name):
    done = subprocess.run(
        [str(compiler.work / name)],
        capture_output=True,
        text=True,
        timeout=SECONDS * 4,
        check=False,
    )
    found = {}
    for line in done.stdout.splitlines():
        trial, verdict, detail = line.split("\t", 2)
        found[trial] = (verdict, detail)
    return found


def run(compiler, name, records, keep=False, make=trial_text, unit=unit_text):
    """[(record, verdict, detail)] of all records."""
    trials, verdicts = [], []
    for number, record in enumerate(records):
        try:
            trials.append((record, number, make(record, number)))
        except (
            tir.TirError,
            cuda_text.TextError,
            KeyError,
            IndexError,
            StopIteration,
            AttributeError,
        ) as error:
            verdicts.append((record, "untranslated", repr(error)))
    good, bad = compile_trials(compiler, name, trials, unit) if trials else ([], [])
    found = run_unit(compiler, name) if good else {}
    for record, _, _ in good:
        verdicts.append((record, *found.get(record["name"], ("crashed", "no verdict"))))
    if not keep:
        for ending in ("", ".cpp"):
            if os.path.exists(compiler.work / f"{name}{ending}"):
                os.unlink(compiler.work / f"{name}{ending}")
    return verdicts + bad


if __name__ == "__main__":  # batch.py FOLDER: makes the parts of all compilers there
    Compiler(sys.argv[1]).prepare()
