"""The fenced blocks of a document, and what a test does with each.

The words after ``` say what a block is; readers see the first only, as its language.

    tir FILE, sched FILE       written into the folder of the document under that name; a program
                               has to compile,
    tir                        a schedule has to parse. Without a name, a program of its own
    sched FILE refused         a mistake: written, and shown at work by a command that follows
    tir before                 the body of a kernel whose parameters follow from it,
    sched steps                the steps of a schedule for it, and
    tir after                  what they make of it
    LANGUAGE $ COMMAND         what the command prints, which has to succeed
    LANGUAGE ! COMMAND         what it prints when it refuses its input, or finds a fault in the run
    LANGUAGE = FILE            a copy of a file of the repository
    LANGUAGE = FILE NAME...    of its schedules and procedures of these names, with the comments
                               above them
    sh                         commands, which have to succeed
    python                     run by tests/python
    python tvm FILE            written; the importer makes of it a program that has to compile with
                               its schedules
    python triton              has to be Python
    ebnf, text, cmake          nothing to run
"""

import re
from dataclasses import dataclass

FENCE = re.compile(r"^```(.*)$")


@dataclass
class Block:
    path: str
    line: int
    info: str
    text: str

    @property
    def where(self):
        return f"{self.path}:{self.line}"

    @property
    def command(self):
        """The command whose output the block shows, and whether it fails; None if there is none."""
        found = re.match(r"\w+ ([$!]) (.*)", self.info)
        return (found[2], found[1] == "!") if found else None


def read_blocks(path, name):
    """The blocks of the document, in order; and the lines that look like code outside of them."""
    blocks, stray, opened, lines = [], [], None, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None and fence:
            opened, lines = (number, fence[1].strip()), []
        elif opened is None:
            stray += [number] if line.startswith("    ") and line.strip() else []
        elif fence:
            blocks.append(Block(name, opened[0], opened[1], "\n".join(lines)))
            opened = None
        else:
            lines.append(line)
    assert opened is None, f"{name}:{opened[0]}: the block has no end"
    return blocks, stray


def excerpt(text, names):
    """The definitions of the names in a schedule script, in the order of the names."""
    found = {
        m[2]: m[0]
        for m in re.finditer(
            r"(?:^//[^\n]*\n)*^(schedule|proc) (\w+)[^{]*^\{\n.*?^\}", text, re.M | re.S
        )
    }
    return "\n\n".join(found[name] for name in names)


# ---- bodies of kernels ---------------------------------------------------------------------------

TYPES = {"color": "u8", "hist": "i32", "q": "i8", "w": "i8"}


def wrap_body(body):
    """The body as a kernel: a buffer is as large as the loops in its subscripts, 256 where another
    one is; a capital letter is a symbolic size; x, A, color, q and w are inputs, z is inout, y and
    hist are outputs, all f32 but for those in TYPES."""
    extents = dict(re.findall(r"(\w+) in (?:\d+\.\.)?(\d+|[A-Z])", body))
    shapes = {}
    for name, subscripts in re.findall(
        r"\b(x|y|z|A|color|hist|q|w)\[([^\[\]]*(?:\[[^\]]*\])?)\]", body
    ):
        shapes[name] = ", ".join(extents.get(s, "256") for s in subscripts.split(", "))
    for name, subscripts in re.findall(r"\b(color)\[(\w+)\]", body):
        shapes[name] = extents[subscripts]
    says = {
        name: f"{name}: {TYPES.get(name, 'f32')}[{shape}]" for name, shape in sorted(shapes.items())
    }
    inputs = ", ".join(text for name, text in says.items() if name in ("x", "A", "color", "q", "w"))
    inputs += "".join(f", inout {text}" for name, text in says.items() if name == "z")
    outputs = ", ".join(text for name, text in says.items() if name in ("y", "hist"))
    outputs = f" -> {outputs}" if outputs else ""
    sizes = ", ".join(sorted({extent for extent in extents.values() if extent.isalpha()}))
    sizes = f"<{sizes}>" if sizes else ""
    return f"kernel example{sizes}({inputs.lstrip(', ')}){outputs}\n{{\n{indent(body)}\n}}\n"


def indent(text):
    return "\n".join("    " + line if line else line for line in text.splitlines())


def body_of(kernel):
    """The inverse, of printed text."""
    lines = kernel[kernel.rindex("\n{\n") + 3 :].rstrip("\n").splitlines()
    assert lines[-1] == "}"
    return "\n".join(line[4:] for line in lines[:-1])
