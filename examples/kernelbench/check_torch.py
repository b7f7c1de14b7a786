#!/usr/bin/env python3
"""examples/kernelbench/check_torch.py: compares the operators of KernelBench at the benchmark's own
sizes with torch in f64, on a GPU.

`measure.py --verify` computes its reference as the program is written, which takes minutes for some
operators. Torch computes all of them in seconds, and is written by others (references.py). Each
operator runs through tirc's Python package on random inputs. The table shows its largest error, in
units of what is allowed. Results go into a file after each operator; a further run checks what is
missing. The exit status is 1 if a result is wrong or missing.

    python3 examples/kernelbench/check_torch.py --results checked.json --budget 300
    python3 examples/kernelbench/check_torch.py --only 'norm|softmax'
"""

import argparse
import csv
import inspect
import json
import math
import pathlib
import re
import signal
import sys
import time

import references
import tirc
import torch

HERE = pathlib.Path(__file__).resolve().parent
UNIT = 2.0**-24  # a rounding error of f32


def operators():
    with open(HERE / "operators.tsv") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def compiled(operator):
    return tirc.compile(HERE / f"{operator['program']}.tir", operator["kernel"])


def inputs(reference, kernel):
    sizes = kernel.constants
    for p in kernel.parameters:
        if p.is_input:
            text = "(" + "".join(f"{dim}," for dim in p.dims) + ")"
            shape = eval(text.replace("/", "//"), {}, dict(sizes))
            yield p.name, reference.inputs.get(p.name, references.uniform(-1, 1))(shape, sizes)


def largest_error(got, want, relative):
    """In rounding errors; infinite where something is not a number."""
    if not want.is_floating_point():
        return 0.0 if torch.equal(got, want) else math.inf
    scale = 0 if relative else want.square().mean().sqrt()
    error = (got.double() - want).abs_().div_(want.abs().add_(scale).add_(1e-37))
    return error.max().nan_to_num(nan=math.inf).item() / UNIT


def error_of(reference, kernel, given, got, elements):
    """The largest error of a result, of what is allowed."""
    taken = inspect.signature(reference.evaluate).parameters
    sizes = {name: size for name, size in kernel.constants.items() if name in taken}
    worst = 0.0
    for part, values in references.parts(reference, given, elements):
        values = {name: value for name, value in values.items() if name in taken}
        with torch.backends.cudnn.flags(enabled=False):
            want = reference.evaluate(**sizes | values)
        found = got[part] if reference.rows else got.reshape(want.shape)
        worst = max(worst, largest_error(found, want, reference.relative))
        del want, values
    return worst / reference.errors(**given)


def check(operator, arguments):
    kernel, reference = compiled(operator), references.REFERENCES[operator["kernel"]]
    torch.manual_seed(arguments.seed)
    given = dict(inputs(reference, kernel))
    return error_of(reference, kernel, given, kernel(**given), arguments.elements)


class Late(Exception):
    pass


def stop(*_):
    raise Late


def checked(operator, arguments, limit):
    """The row of an operator."""
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    begin = time.monotonic()
    try:
        row = {"error": check(operator, arguments)}
    except Late:
        row = {"failed": f"took more than {limit:.3g} s"}
    except (tirc.Error, RuntimeError, ValueError, TypeError) as failure:
        row = {"failed": str(failure).strip().splitlines()[0]}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        torch.cuda.empty_cache()
    return row | {"seconds": time.monotonic() - begin}


def right(row):
    return "error" in row and row["error"] <= 1


def line(operator, row):
    error = f"{row['error']:.3f}" if "error" in row else ""
    verdict = "yes" if right(row) else row.get("failed", "wrong")
    cells = [operator["benchmark"].split("_")[0], operator["kernel"], error]
    return "| " + " | ".join([*cells, f"{row['seconds']:.1f}", verdict]) + " |"


def main():
    arguments = PARSER.parse_args()
    torch.set_default_device("cuda")
    path, deadline = arguments.results, time.monotonic() + arguments.budget
    results = json.loads(path.read_text()) if path and path.exists() else {}
    bad = 0
    print("| | operator | largest error, of what is allowed | s | right |")
    print("| --- | --- | --- | --- | --- |")
    for operator in operators():
        name = operator["kernel"]
        if not re.search(arguments.only, f"{operator['benchmark']} {name}"):
            continue
        limit = min(arguments.timeout, deadline - time.monotonic())
        if name not in results and limit > 0:
            results[name] = checked(operator, arguments, limit)
            if path:
                path.write_text(json.dumps(results, indent=1))
        row = results.get(name, {"failed": "not checked", "seconds": 0})
        bad += not right(row)
        print(line(operator, row), flush=True)
    return 1 if bad else 0


PARSER = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
PARSER.add_argument("--only", default="", metavar="REGEX", help="operators whose name matches")
PARSER.add_argument("--budget", type=float, default=math.inf, help="seconds for all")
PARSER.add_argument("--timeout", type=float, default=60, help="seconds for one operator")
PARSER.add_argument("--results", type=pathlib.Path, help="where results are kept between runs")
PARSER.add_argument("--seed", type=int, default=0, help="of the random inputs")
PARSER.add_argument(
    "--elements", type=int, default=1 << 26, help="of an input that are converted to f64 at a time"
)
if __name__ == "__main__":
    sys.exit(main())
