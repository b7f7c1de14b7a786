#!/usr/bin/env python3
"""examples/kernelbench/measure.py [--level 2] [--torch TIMES.tsv | --torch CHECKOUT]: the table of
KernelBench on a GPU, of level 1 or 2.

Each operator at the benchmark's own sizes, compiled with `default` and measured as `tirc --bench`
does: the median of many runs, cold L2. Each has a process of its own with a time limit, so a slow
or broken kernel costs one row. Results go into a file after each row; a further run measures what
is missing.

The times of PyTorch come from a table, or from a checkout of KernelBench, whose models run in turn
if torch and a GPU are there. A table has a line for each operator, without a heading, separated by
tabs: its name, then milliseconds in eager mode, in eager mode without TF32, and compiled. The peer
is the fastest that computes in IEEE f32: for convolutions the second, for others the least. Models
of level 1 run in evaluation mode, those of level 2 in training mode, as the benchmark runs them:
batch norm has the statistics of the batch.

    python3 examples/kernelbench/measure.py --torch times.tsv --budget 900 --results h200.json
    python3 examples/kernelbench/measure.py --only 'norm|softmax' --verify
    python3 examples/kernelbench/measure.py --level 2 --torch KernelBench --results level2.json
"""

import argparse
import csv
import json
import math
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


TABLES = {1: "operators.tsv", 2: "level2.tsv"}


def operators():
    with open(HERE / TABLES[ARGUMENTS.level]) as file:
        return list(csv.DictReader(file, delimiter="\t"))


# ---- processes -----------------------------------------------------------------------------------


class Failed(Exception):
    pass


def output(command, limit):
    """What a command prints; it and its children end when the limit is over."""
    child = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        raise Failed(f"took more than {limit:.3g} s") from None
    if child.returncode:
        said = (err.strip() or f"exit status {child.returncode}").splitlines()
        raise Failed(next((line for line in said if "error" in line), said[-1]))
    return out


def tirc(operator, limit, *words):
    """The JSON that the command prints for an operator."""
    command = [ARGUMENTS.tirc, HERE / f"{operator['program']}.tir", "--kernel", operator["kernel"]]
    chosen = ["--schedule", ARGUMENTS.schedule, "--device", "cuda", "--json"]
    return json.loads(output([*command, *chosen, *words], limit))


def measure(operator, limit):
    bench = tirc(operator, limit, "--bench")["bench"]
    return {"ms": bench["median_ms"], "gbps": bench["gbps"], "gflops": bench["gflops"]}


def verify(operator, limit):
    """The command fails if an element is wrong."""
    tirc(operator, limit, "--verify")
    return {"verified": True}


# ---- PyTorch -------------------------------------------------------------------------------------


def table_of(path):
    with open(path) as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    return {line[0]: line[1:4] for line in lines if len(line) >= 4 and "ERR" not in line[1]}


def peer(operator, times):
    """The milliseconds of PyTorch in IEEE f32, or None."""
    if operator["benchmark"] not in times:
        return None
    eager, exact, compiled = map(float, times[operator["benchmark"]])
    return exact if "conv" in operator["benchmark"].lower() else min(eager, exact, compiled)


def measure_torch(operator, limit):
    done = output([sys.executable, __file__, "--model", operator["benchmark"], "--torch",
                   ARGUMENTS.torch, "--level", ARGUMENTS.level], limit)  # fmt: skip
    return {"torch_ms": min(json.loads(done))}


def run_model(checkout, level, name):
    """Prints the milliseconds of a model of KernelBench, eager and compiled, without TF32."""
    import importlib.util

    import torch

    path = pathlib.Path(checkout, "KernelBench", f"level{level}", f"{name}.py")
    spec = importlib.util.spec_from_file_location("model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(0)
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")

    def milliseconds(run):
        def once():
            flush.zero_()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            run()
            end.record()
            end.synchronize()
            return begin.elapsed_time(end)

        once()
        first = once()
        return statistics.median(once() for _ in range(3 if first > 200 else 15))

    with torch.no_grad():
        model = module.Model(*module.get_init_inputs()).cuda().train(level > 1)
        inputs = [x.cuda() if torch.is_tensor(x) else x for x in module.get_inputs()]
        eager = milliseconds(lambda: model(*inputs))
        compiled = torch.compile(model)
        print(json.dumps([eager, milliseconds(lambda: compiled(*inputs))]))


# ---- the table -----------------------------------------------------------------------------------


def steps():
    """What is measured of an operator: the field of its result, and how."""
    yield "ms", measure
    if ARGUMENTS.torch and ARGUMENTS.torch.is_dir():
        yield "torch_ms", measure_torch
    if ARGUMENTS.verify:
        yield "verified", verify


def complete(operator, row, deadline):
    """Measures what the row does not have yet."""
    for field, take in steps():
        failed = row.get("failed", {})
        if field in row or (field in failed and not ARGUMENTS.again):
            continue
        limit = min(ARGUMENTS.timeout, deadline - time.monotonic())
        if limit <= 0:
            return
        begin = time.monotonic()
        try:
            row.update(take(operator, limit))
            failed.pop(field, None)
        except (Failed, ValueError, KeyError) as failure:
            if limit < ARGUMENTS.timeout and time.monotonic() - begin >= limit:
                return  # the budget ended, not its own limit
            row.setdefault("failed", {})[field] = str(failure)


def line(operator, row):
    ratio = row["torch_ms"] / row["ms"] if "ms" in row and row.get("torch_ms") else None
    cells = [
        operator["benchmark"].split("_")[0],
        operator["kernel"],
        f"{row['ms']:.4f}" if "ms" in row else "",
        f"{row['gbps']:.0f}" if "gbps" in row else "",
        f"{row['torch_ms']:.4f}" if row.get("torch_ms") else "",
        f"{ratio:.3f}" if ratio else "",
        "yes" if row.get("verified") else "",
        "; ".join(row.get("failed", {}).values()),
    ]
    return "| " + " | ".join(cells) + " |", ratio


def show(rows):
    print("| | operator | ms | GB/s | PyTorch, ms | ratio | verified | failed |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    ratios = []
    for operator, row in rows:
        text, ratio = line(operator, row)
        ratios += [ratio] if ratio else []
        print(text)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        fast = sum(r >= 1 for r in ratios)
        print(
            f"\ngeometric mean of {len(ratios)}: {mean:.3f}; as fast or faster: {fast}; "
            f"below 0.8: {sum(r < 0.8 for r in ratios)}; least: {min(ratios):.3f}"
        )


def main():
    path, deadline = ARGUMENTS.results, time.monotonic() + ARGUMENTS.budget
    results = json.loads(path.read_text()) if path and path.exists() else {}
    times = table_of(ARGUMENTS.torch) if ARGUMENTS.torch and ARGUMENTS.torch.is_file() else {}
    rows, left = [], []
    for operator in operators():
        if not re.search(ARGUMENTS.only, f"{operator['benchmark']} {operator['kernel']}"):
            continue
        row = results.setdefault(operator["kernel"], {})
        complete(operator, row, deadline)
        if times:
            row["torch_ms"] = peer(operator, times)
        if path:
            path.write_text(json.dumps(results, indent=1))
        print(line(operator, row)[0], file=sys.stderr, flush=True)
        rows.append((operator, row))
        left += [operator["kernel"]] if not (row.get("failed") or "ms" in row) else []
    show(rows)
    if left:
        print(f"\nnot measured within {ARGUMENTS.budget:.0f} s: {' '.join(left)}")
    return 1 if left or any(row.get("failed") for _, row in rows) else 0


def positive(text):
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"seconds are more than 0, not {text}")
    return value


def existing(text):
    path = pathlib.Path(text)
    if not path.exists():
        raise argparse.ArgumentTypeError(f"there is no {text}")
    return path


PARSER = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
PARSER.add_argument("--tirc", default=str(ROOT / "build/tirc"), help="the command to measure")
PARSER.add_argument("--schedule", default="default", help="the schedule; normally `default`")
PARSER.add_argument("--level", type=int, choices=TABLES, default=1, help="of the benchmark")
PARSER.add_argument("--only", default="", metavar="REGEX", help="operators whose name matches")
PARSER.add_argument("--torch", type=existing, help="a table of times, or a KernelBench checkout")
PARSER.add_argument("--verify", action="store_true", help="also verifies, which takes minutes")
PARSER.add_argument("--budget", type=positive, default=math.inf, help="seconds for all")
PARSER.add_argument("--timeout", type=positive, default=60, help="seconds for a step of a row")
PARSER.add_argument("--results", type=pathlib.Path, help="where results are kept between runs")
PARSER.add_argument("--again", action="store_true", help="tries failed rows again")
PARSER.add_argument("--model", help=argparse.SUPPRESS)
ARGUMENTS = PARSER.parse_args()
if ARGUMENTS.model:
    run_model(ARGUMENTS.torch, ARGUMENTS.level, ARGUMENTS.model)
else:
    sys.exit(main())
