"""A kernel on gentle inputs: scaled, and with a heavy diagonal where they are square matrices.

Random inputs in [-1, 1] tell nothing about some kernels: the factors of a random matrix are not
numbers, sums that are divided again and again grow until no digit is left, and no column is nearly
constant. Gentle inputs are well conditioned. They are made in the text: the kernel, and the program
that it is compared with, begin with statements that change their inputs in the same way. These
stand in the line of the opening brace, so that all lines keep their numbers."""

import re

# Factor of all inputs, and what is added to the diagonal of a square one.
SETTINGS = ((0.3, 0), (0.01, 0), (0.3, 10))
PARAMETER = re.compile(r"(inout )?\b(\w+): (\w+)\[([^\]]*)\]")


def arrays(head):
    """Inputs of numbers: (name, extents)."""
    return [
        (m[2], m[4].split(", ")) for m in PARAMETER.finditer(head) if m[3] in ("f64", "f32", "T")
    ]


def changed(element, scale, diagonal, on_diagonal):
    more = f" + ({on_diagonal} ? {float(diagonal)} : 0.0)" if diagonal and on_diagonal else ""
    return f"{element} = {element} * {scale}{more};"


def in_lowered(name, extents, scale, diagonal):
    elements, at = 1, "blockIdx.x"
    for extent in extents:
        elements *= int(extent)
    square = len(extents) == 2 and extents[0] == extents[1]
    body = changed(
        f"{name}[{at}]", scale, diagonal, square and f"{at} % {int(extents[0]) + 1} == 0"
    )
    return f" launch gentle_{name} grid({elements}, 1, 1) block(1, 1, 1) {{ {body} }}"


def in_program(name, extents, scale, diagonal):
    loops = ", ".join(f"gentle{n} in {e}" for n, e in enumerate(extents))
    square = len(extents) == 2 and extents[0] == extents[1]
    element = f"{name}[{', '.join(f'gentle{n}' for n in range(len(extents)))}]"
    return (
        f" gentle_{name}: for {loops} "
        f"{changed(element, scale, diagonal, square and 'gentle0 == gentle1')}"
    )


def gentle(text, kernel, scale, diagonal):
    """The text of a file with the kernel, lowered or a program, on such inputs."""
    begin = re.search(rf"^kernel {kernel}\b", text, re.M).start()
    brace = text.index("\n{", begin) + 1
    head = text[begin:brace]
    inputs, arrow, outputs = head.partition("->")
    made = in_lowered if re.search(r"^ +launch ", text[brace:], re.M) else in_program
    first = "".join(made(*a, scale, diagonal) for a in arrays(inputs))
    names = {name for name, _ in arrays(inputs)}
    inputs = PARAMETER.sub(
        lambda m: f"inout {m[2]}: {m[3]}[{m[4]}]" if m[2] in names else m[0], inputs
    )
    return text[:begin] + inputs + arrow + outputs + "{" + first + text[brace + 1 :]
