"""Faulty kernels made from right ones: one change of a lowered text, of three kinds.

    barrier  a barrier is left out
    wait     a wait for asynchronous copies is left out, or lets one more group be under way; a
             commit is left out; of roles, `receive` or `release` is left out, or the latter comes a
             group earlier, or to the producer of one block of a cluster only
    turn     of warpgroups that take turns, a turn is twice as long
    guard    a condition lets one more value through: `i < 70` becomes `i < 70 + 1`
    swap     two neighbouring statements that depend on each other change places

The text is that of the printer: a statement is a line and the deeper lines behind it."""

import collections
import re

Mutant = collections.namedtuple(
    "Mutant", "kind lines text"
)  # `lines`: what was changed, or is guarded, from 0

WIDER = {"<": "{} + 1", "<=": "{} + 1", ">": "{} - 1", ">=": "{} - 1"}


def indent_of(line):
    return len(line) - len(line.lstrip())


def statements(lines, first, last):
    """The statements among lines[first:last], all of one depth, as (begin, end)."""
    found = []
    i = first
    while i < last:
        end = i + 1
        depth = indent_of(lines[i])
        while end < last and (
            indent_of(lines[end]) > depth
            or (indent_of(lines[end]) == depth and lines[end].lstrip().startswith(("}", "else")))
        ):
            end += 1
        found.append((i, end))
        i = end
    return found


def sequences(lines, first, last):
    """Every list of neighbouring statements, at all depths."""
    here = statements(lines, first, last)
    if len(here) > 1:
        yield here
    for begin, end in here:
        own = [i for i in range(begin + 1, end) if indent_of(lines[i]) == indent_of(lines[begin])]
        if len(own) <= 1 and end - begin > 1:  # at most its closing brace: no `else`
            yield from sequences(lines, begin + 1, own[0] if own else end)


def split_top(text, operators):
    """`text` cut at operators outside of brackets: pieces and operators in turn."""
    parts, depth, start, i = [], 0, 0, 0
    while i < len(text):
        depth += (text[i] in "([") - (text[i] in ")]")
        op = next((o for o in operators if text.startswith(o, i)), [])
        if op and depth == 0:
            parts += [text[start:i], op]
            start = i + len(op)
            i = start
        else:
            i += 1
    return parts + [text[start:]]


def widened(condition):
    """The condition with each of its comparisons let one more through, one at a time."""
    atoms = split_top(condition, [" && ", " || "])
    for i in range(0, len(atoms), 2):
        sides = split_top(atoms[i], [" <= ", " >= ", " < ", " > "])
        if len(sides) != 3:
            continue
        wide = sides[0] + sides[1] + WIDER[sides[1].strip()].format(sides[2])
        yield "".join(atoms[:i] + [wide] + atoms[i + 1 :])


def conditions(lines, i):
    """The guards in a line: of an `if`, and in front of a `?`. An `if` with an `else` chooses, and
    so does what reads memory."""
    head = re.match(r"\s*if (.*?)( \{)?$", lines[i])
    if head:
        same = next((s for s in lines[i + 1 :] if indent_of(s) <= indent_of(lines[i])), "")
        found = [] if "else" in same else [head[1]]
    else:
        ternary = re.match(r"[^=]* [-+*a-z&|^]*= (.*?) \? ", lines[i])
        found = [ternary[1]] if ternary else []
    return [c for c in found if "[" not in c]


def touched(text):
    """Buffers with brackets: (written, read or written)."""
    written = set(re.findall(r"^\s*(\w+)\[[^=\n]*\] (?:\w+ ?|[-+*&|^])?=(?!=)", text, re.M))
    return written, set(re.findall(r"\b(\w+)\[", text))


def commute(a, b):
    """Steps of one butterfly: `x += shuffle_xor(x, 16)` and `x += shuffle_xor(x, 8)` sum up the
    same lanes in any order."""
    step = r"\s*(\w+\[.*\]) (\S+) shuffle_xor\((.*), \d+\);\s*$"
    first, second = re.match(step, a), re.match(step, b)
    return first and second and first.groups() == second.groups()


def depend(a, b):
    """Neither declares, and one of them writes what the other touches; a barrier depends on the
    accesses that it orders."""
    if any(re.match(r"\s*(temp|let)\b", s) for s in (a, b)):
        return False
    barriers = [s for s in (a, b) if re.match(r"\s*(barrier|acquire|receive|release)", s)]
    if len(barriers) == 2:
        return False
    if barriers:
        other = b if barriers[0] is a else a
        return any(re.search(rf"\b{name}\b", barriers[0]) for name in touched(other)[1])
    (wa, ta), (wb, tb) = touched(a), touched(b)
    return bool(wa & tb or wb & ta) and not commute(a, b)


def without_barriers(lines):
    for i, line in enumerate(lines):
        if re.match(r'\s*barrier "', line):
            yield Mutant("barrier", range(i, i + 1), "\n".join(lines[:i] + lines[i + 1 :]))


def turn_of(lines):
    """How many groups of copies a turn of warpgroups has; None where they do not take turns."""
    found = (re.match(r"\s*} consumers turn (\d+) ", line) for line in lines)
    return next((int(m[1]) for m in found if m), None)


def one_more(lines, wait):
    """A number of groups that may be under way; None: none that divides a turn."""
    n, turn = int(wait[2]), turn_of(lines)
    if not turn or "acquire" not in wait[1]:
        return n + 1
    return next((k for k in range(n + 1, turn + 1) if turn % k == 0), None)


def with_weaker_waits(lines):
    for i, line in enumerate(lines):
        wait = re.match(r'(\s*(?:wait|acquire) )(\d+)( ".*)', line)
        early = re.match(r'(\s*release )([1-9]\d*)( ".*)', line)
        if early:
            yield Mutant(
                "wait",
                range(i, i + 1),
                "\n".join(
                    lines[:i] + [f"{early[1]}{int(early[2]) - 1}{early[3]}"] + lines[i + 1 :]
                ),
            )
        more = wait and one_more(lines, wait)
        if more:
            yield Mutant(
                "wait",
                range(i, i + 1),
                "\n".join(lines[:i] + [f"{wait[1]}{more}{wait[3]}"] + lines[i + 1 :]),
            )
        one = re.match(r'(\s*release \d+ ".*") cluster;', line)
        if one:
            yield Mutant(
                "wait", range(i, i + 1), "\n".join(lines[:i] + [f"{one[1]};"] + lines[i + 1 :])
            )
        turn = re.match(r"(\s*} consumers turn )(\d+)( {)", line)
        if turn:
            yield Mutant(
                "turn",
                range(i, i + 1),
                "\n".join(lines[:i] + [f"{turn[1]}{2 * int(turn[2])}{turn[3]}"] + lines[i + 1 :]),
            )
        if wait or re.match(r'\s{8,}(commit|receive|release \d+) "', line):  # in a launch
            yield Mutant("wait", range(i, i + 1), "\n".join(lines[:i] + lines[i + 1 :]))


def with_wider_guards(lines):
    for i, line in enumerate(lines):
        end = next((end for begin, end in statements(lines, i, len(lines)) if begin == i), i + 1)
        for condition in conditions(lines, i):
            for wide in widened(condition):
                changed = line.replace(condition, wide, 1)
                yield Mutant(
                    "guard", range(i, end), "\n".join(lines[:i] + [changed] + lines[i + 1 :])
                )


def with_swaps(lines):
    inside = [i for i, line in enumerate(lines) if i > 0 and indent_of(line) > 0]
    for sequence in sequences(lines, inside[0], len(lines) - 1):
        for (a, b), (c, d) in zip(sequence, sequence[1:]):
            first, second = lines[a:b], lines[c:d]
            if depend("\n".join(first), "\n".join(second)):
                yield Mutant("swap", range(a, d), "\n".join(lines[:a] + second + first + lines[d:]))


def mutants(text):
    lines = text.rstrip("\n").split("\n")
    body = lines.index("{")
    lines = [" ".join(lines[:body])] + lines[body:] if body > 1 else lines
    yield from without_barriers(lines)
    yield from with_weaker_waits(lines)
    yield from with_wider_guards(lines)
    yield from with_swaps(lines)
