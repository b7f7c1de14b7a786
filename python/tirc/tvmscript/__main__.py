"""The command `tirc import-tvmscript FILE.py`; also `python3 -m tirc.tvmscript`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import Imported, convert

OK, REFUSED, UNAVAILABLE = 0, 1, 3


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tirc import-tvmscript",
        description="Prints TVMScript functions as kernels, and schedules and traces as scripts. "
        "FILE.py is read, not run; TVM is not needed. docs/import_tvm.md lists what is read.",
    )
    parser.add_argument("file", metavar="FILE.py", help="a Python file, or - for standard input")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write to FILE: all of it if FILE ends in .tir, the schedules if it ends in .sched",
    )
    parser.add_argument(
        "--instructions",
        metavar="FILE.tir",
        help="declarations of what the functions of T.call_extern compute, as instructions",
    )
    return parser


def _read(path: str) -> str:
    return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")


def _text(found: Imported, output: str | None) -> str:
    if output and output.endswith(".sched"):
        return found.schedules
    return "\n".join(part for part in (found.program, found.schedules) if part)


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    if options.output and not options.output.endswith((".tir", ".sched")):
        _parser().error(f"-o {options.output}: the name ends in .tir or .sched")
    texts = []
    for path in filter(None, [options.file, options.instructions]):
        try:
            texts.append(_read(path))
        except (OSError, UnicodeDecodeError) as e:
            print(f"tirc: cannot read {path}: {e}", file=sys.stderr)
            return REFUSED
    found = convert(texts[0], "<stdin>" if options.file == "-" else options.file, *texts[1:])
    sys.stderr.write(found.messages)
    if found.refused:
        return REFUSED
    result = _text(found, options.output)
    if not options.output:
        sys.stdout.write(result)
        return OK
    try:
        Path(options.output).write_text(result, encoding="utf-8")
    except OSError as e:
        print(f"tirc: cannot write {options.output}: {e}", file=sys.stderr)
        return UNAVAILABLE
    return OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
