"""Golden files: what tirc makes of a case, kept beside it.

A case is a file NAME.case. Lines of the form `key: value` come first:

    run: examples/matmul/matmul.tir --schedule tiled32 -D M=1000     the command line, from the root
                                                                     of the repository; without a
                                                                     file in it, the case itself is
                                                                     the program
    emit: tir lowered cuda annotated lines                           what is kept, each in
                                                                     NAME.<extension>; the last two
                                                                     are the CUDA with --annotate
                                                                     and --annotate=lines
    pass: vectorize                                                  instead: the program before and
                                                                     after one pass

and after an empty line, where `run` names no file, a program with its schedule.
"""

import functools
import os
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXTENSION = {
    "tir": ".tir",
    "lowered": ".lowered.tir",
    "cuda": ".cu",
    "annotated": ".annotated.cu",
    "lines": ".lines.cu",
}
ARGUMENTS = {"annotated": ("cuda", "--annotate"), "lines": ("cuda", "--annotate=lines")}
OUTPUTS = (".lowered.tir", ".before.tir", ".after.tir", ".tir", ".cu")


def tirc():
    """The command: $TIRC, else the newest build."""
    if "TIRC" in os.environ:
        return os.environ["TIRC"]
    built = sorted(ROOT.glob("build*/tirc"), key=lambda path: path.stat().st_mtime)
    if not built:
        raise RuntimeError("no build*/tirc: build first, or set TIRC")
    return str(built[-1])


class Case:
    def __init__(self, path):
        self.path = path
        self.name = path.stem
        head, _, self.program = path.read_text().partition("\n\n")
        keys = dict(line.split(":", 1) for line in head.splitlines())
        unknown = set(keys) - {"run", "emit", "pass"}
        assert not unknown, f"{path.name}: unknown keys {sorted(unknown)}"
        self.args = keys.get("run", "").split()
        self.emit = keys.get("emit", "").split()
        self.lower_pass = keys.get("pass", "").strip()

    def tirc(self, *more):
        """Runs tirc on the case; (status, output, diagnostics)."""
        file = [] if any(arg.endswith(".tir") for arg in self.args) else ["-"]
        done = subprocess.run(
            [tirc(), *file, *self.args, *more],
            cwd=ROOT,
            capture_output=True,
            timeout=60,
            input=self.program.encode(),
            check=False,
        )
        return done.returncode, done.stdout, done.stderr.decode()

    def text(self, *more):
        status, output, messages = self.tirc(*more)
        assert status == 0, f"{self.name}: tirc {' '.join(more)} gave status {status}\n{messages}"
        return output.decode()

    @functools.cache
    def kept(self, kind):
        """What is kept under that name in `emit`."""
        return self.text("--emit", *ARGUMENTS.get(kind, (kind,)))

    def files(self):
        """The names of the files that the case makes."""
        endings = (
            (".before.tir", ".after.tir")
            if self.lower_pass
            else [EXTENSION[kind] for kind in self.emit]
        )
        return {self.name + ending for ending in endings}

    def outputs(self):
        """File name -> text."""
        if self.lower_pass:
            return self.around_pass()
        return {self.name + EXTENSION[kind]: self.kept(kind) for kind in self.emit}

    def around_pass(self):
        """What stands before a pass and after it, from the text of all of them."""
        shown = re.split(r"^// ---- after (.*)\n", self.text("--print-after", "all"), flags=re.M)
        titles, texts = shown[1::2], shown[2::2]
        at = next(i for i, title in enumerate(titles) if title.split()[0] == self.lower_pass)
        before = texts[at - 1] if at > 0 else shown[0]
        tidy = lambda text: text.strip() + "\n"
        return {self.name + ".before.tir": tidy(before), self.name + ".after.tir": tidy(texts[at])}

    def has_cuda(self):
        return "cuda" in self.emit


def cases():
    return [Case(path) for path in sorted(HERE.glob("*.case"))]


def golden_files():
    return {path.name for path in HERE.iterdir() if path.name.endswith(OUTPUTS)}
