"""Kernels that compute something else, made from right ones: one change of a lowered text, of four
kinds.

    bound      a loop runs once more, or once less
    term       what is added is left out, or is added twice
    operator   one of + - * min max becomes another
    subscript  an element beside the one meant is read or written

The text is that of the printer; mutants.py makes the changes that are faults."""

import re

from mutants import Mutant

OTHER = {" + ": " - ", " - ": " + ", " * ": " + ", "max(": "min(", "min(": "max("}
STORE = re.compile(r"(\s*)(\w+\[[^=]*\]) (atomic )?([-+*/&|^]|min|max)?= (.*);$")


def changed(lines, i, line, kind):
    return Mutant(kind, range(i, i + 1), "\n".join(lines[:i] + [line] + lines[i + 1 :]))


def with_other_bounds(lines):
    for i, line in enumerate(lines):
        loop = re.match(
            r"(\s*(?:\w+ )?for \w+ in (?:[^{}]*?\.\.)?)([\w()*/% +-]+?)( step .*)?( \{)?$", line
        )
        for more in ("+ 1", "- 1") if loop else ():
            yield changed(
                lines, i, f"{loop[1]}({loop[2]}) {more}{loop[3] or ''}{loop[4] or ''}", "bound"
            )


def with_other_terms(lines):
    for i, line in enumerate(lines):
        store = STORE.match(line)
        if store and store[4] == "+":
            space, to, atomic, _, value = store.groups()
            yield changed(lines, i, f"{space}{to} = {to};", "term")
            yield changed(lines, i, f"{space}{to} {atomic or ''}+= {value} + {value};", "term")


def outside_brackets(text, word):
    """Where a word stands that is in no subscript."""
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if depth == 0 and text.startswith(word, i):
            yield i


def with_other_operators(lines):
    for i, line in enumerate(lines):
        store = STORE.match(line)
        for word, other in OTHER.items() if store else ():
            for at in outside_brackets(store[5], word):
                value = store[5][:at] + other + store[5][at + len(word) :]
                yield changed(lines, i, line[: store.start(5)] + value + ";", "operator")


def with_other_subscripts(lines):
    for i, line in enumerate(lines):
        if STORE.match(line):
            for end in (m.start() for m in re.finditer(r"\]", line)):
                yield changed(lines, i, line[:end] + " + 1" + line[end:], "subscript")


def mutants(text):
    lines = text.rstrip("\n").split("\n")
    yield from with_other_bounds(lines)
    yield from with_other_terms(lines)
    yield from with_other_operators(lines)
    yield from with_other_subscripts(lines)
