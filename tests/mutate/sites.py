"""Finds the legality checks in the sources, and writes the text in which each can be switched off.

A check is a place that decides to refuse. Mutant number N, when it is on, decides otherwise:

    REQUIRE(s, E0412, span, ok, ...)              ->  REQUIRE(s, E0412, span, (ok) || mutant(N),
                                                  ...)
                                                      and REQUIRE_AT, REQUIRE_KEPT likewise
    if (bad) return sched_refuse(...);            ->  if ((bad) && !mutant(N)) return
                                                  sched_refuse(...);
    if (ok) return true; sched_refuse(...);       ->  if ((ok) || mutant(N)) return true;
                                                  sched_refuse(...);
    case ST_TEMP: return refuse(...);             ->  case ST_TEMP: return mutant(N) || refuse(...);
    if (!require_plain(s, loop)) return false;    ->  if (!(mutant_skips(N) || require_plain(s,
                                                  loop) || mutant(N))) ...
    if (unknown) return false;  (passes/analysis) ->  if ((unknown) && !mutant(N)) return false;

A function that does nothing but refuse hands the question to its callers. Sites are found in the
text, whose style is uniform (.clang-format), with comments and literals blanked out.
"""

import re
from pathlib import Path

REFUSE = r"\b(?:sched_refuse|diag_error|refuse)\s*\("
CHECK = re.compile(
    r"(?<![\w.>])(?:\w*require_\w+|check_\w+|flow_recheck_(?:kinds|order)|threads_proved|"
    r"dependence_\w+_(?:kept|legal|none)|threads_\w+_(?:kept|covered|legal))\s*\("
)
# Where "false" is an answer about legality.
ANALYSIS = [
    "conflict",
    "dependence",
    "fold",
    "own_copy",
    "reducer",
    "thread_bind",
    "thread_hazards",
    "thread_meet",
    "thread_pairs",
    "threads",
]


class Mutant:
    def __init__(self, file, function, code, begin, end, before, after):
        self.file, self.function, self.code = file, function, code
        self.begin, self.end, self.before, self.after = begin, end, before, after
        self.key, self.line = "", 0


def blank(text):
    """The text with comments and literals as spaces, every character in its place."""
    pattern = (
        r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ '
        r"\t]*#(?:[^\n]*\\\n)*[^\n]*"
    )
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S | re.M)


def closing(code, at):
    """The parenthesis or brace that closes the one at `at`."""
    pairs, depth = {"(": ")", "{": "}", "[": "]"}, 0
    for i in range(at, len(code)):
        depth += (code[i] == code[at]) - (code[i] == pairs[code[at]])
        if depth == 0:
            return i
    raise ValueError("unbalanced text")


def opening(code, at):
    pairs, depth = {")": "(", "}": "{"}, 0
    for i in range(at, -1, -1):
        depth += (code[i] == code[at]) - (code[i] == pairs[code[at]])
        if depth == 0:
            return i
    raise ValueError("unbalanced text")


def block_around(code, at):
    """The brace that opens the block around `at`."""
    depth = 0
    for i in range(at - 1, -1, -1):
        depth += (code[i] == "}") - (code[i] == "{")
        if depth < 0:
            return i
    return -1


def statement_start(code, at):
    """Behind the `;` or brace in front of the statement that holds `at`."""
    i, depth = at - 1, 0
    while i >= 0 and (depth > 0 or code[i] not in ";{}"):
        depth += (code[i] == ")") - (code[i] == "(")
        i -= 1
    return i + 1 + len(code[i + 1 : at]) - len(code[i + 1 : at].lstrip())


def condition(code, at):
    """The span inside the parentheses of the `if` at `at`, and what follows them."""
    begin = code.index("(", at)
    end = closing(code, begin)
    return begin + 1, end, end + 1


class Source:
    def __init__(self, root, path):
        self.path = path
        self.text = (root / path).read_text()
        self.code = blank(self.text)
        self.functions = [
            (m.start(), m.group(1), closing(self.code, m.end() - 1))
            for m in re.finditer(r"^[A-Za-z][^;{}=]*?\b(\w+)\([^;{}]*\)\n\{", self.code, re.M)
        ]
        self.mutants, self.unknown = {}, []

    def function_at(self, at):
        return next((f for f in self.functions if f[0] <= at <= f[2]), None)

    def add(self, span, before, after, at, code=""):
        function = self.function_at(at)[1]
        self.mutants.setdefault(span[0], Mutant(self.path, function, code, *span, before, after))

    def code_near(self, at):
        found = re.search(r"\bE\d{4}\b", self.text[at : self.text.index(";", at)])
        return found.group() if found else ""

    # ---- REQUIRE ----

    def requires(self):
        for m in re.finditer(r"\bREQUIRE(?:_AT|_KEPT)?\s*\(", self.code):
            begin, end = m.end(), closing(self.code, m.end() - 1)
            commas, depth = [], 0
            for i in range(begin, end):
                depth += (self.code[i] in "([{") - (self.code[i] in ")]}")
                if self.code[i] == "," and depth == 0:
                    commas.append(i)
            self.add(
                (commas[2] + 1, commas[3]), "(", ") || mutant({n})", begin, self.code_near(begin)
            )

    # ---- statements that refuse ----

    def pass_guard(self, start, at):
        """The last `if` between them, on their level, whose statement leaves without a refusal."""
        found, i = None, start
        while i < at:
            if self.code[i] == "{":
                i = closing(self.code, i)
            m = re.compile(r"if\s*\(").match(self.code, i)
            if m and not re.match(r"\w", self.code[i - 1]):
                begin, end, rest = condition(self.code, i)
                body = self.code[rest : self.code.find(";", rest) + 1]
                if re.match(r"\s*(?:return\b|continue;)", body) and not self.refuses(body):
                    found = (begin, end)
                i = rest
            i += 1
        return found

    def refuses(self, text):
        return (
            re.search(REFUSE, text)
            or re.search(r"\brefuse_\w+\s*\(", text)
            or "return false" in text
        )

    def refusal(self, at, code):
        start = statement_start(self.code, at)
        if re.match(r"(else )?if \(", self.code[start:at]) and not self.before_else(at):
            begin, end, _ = condition(self.code, start)
            return self.add((begin, end), "(", ") && !mutant({n})", at, code)
        case = re.match(r"(?:case \w+:\s*)+return ", self.code[start : at + 1])
        if case:
            return self.add(
                (start + case.end(), self.code.index(";", at)), "mutant({n}) || ", "", at, code
            )
        block = block_around(self.code, at)
        guard = self.pass_guard(block + 1, start)
        if guard:
            return self.add(guard, "(", ") || mutant({n})", at, code)
        head = self.code[:block].rstrip()
        if head.endswith(")"):
            paren = opening(self.code, len(head) - 1)
            if re.search(r"\bif\s*$", self.code[:paren]):
                return self.add((paren + 1, len(head) - 1), "(", ") && !mutant({n})", at, code)
        function = self.function_at(at)
        calls = [
            m.start()
            for m in re.finditer(r"\b%s\s*\(" % function[1], self.code)
            if m.start() > function[2]
        ]
        if not calls or self.code[block - 1] != "\n":
            if not re.match(
                r"(else )?if \(", self.code[start:at]
            ):  # with an `else` behind it, which then runs
                return self.unknown.append(at)
            begin, end, _ = condition(self.code, start)
            return self.add((begin, end), "(", ") && !mutant({n})", at, code)
        for call in calls:
            self.refusal(call, code)

    def before_else(self, at):
        end = closing(self.code, self.code.index("(", at))
        return re.match(r"\s*;\s*else\b", self.code[end + 1 :])

    def refusals(self):
        for m in re.finditer(REFUSE, self.code):
            function = self.function_at(m.start())
            if (
                function
                and function[1] not in ("sched_refuse", "refuse")
                and m.start() > function[0] + len(function[1])
            ):
                self.refusal(m.start(), self.code_near(m.start()))

    # ---- calls of checks, and answers of the analysis ----

    def calls(self):
        for m in CHECK.finditer(self.code):
            before = self.code[: m.start()].rstrip()
            if self.function_at(m.start()) and re.search(
                r"(!|&&|\|\||\(|\breturn|[^=!<>]=)$", before
            ):
                end = closing(self.code, m.end() - 1) + 1
                self.add((m.start(), end), "(mutant_skips({n}) || ", " || mutant({n}))", m.start())

    def answers(self):
        for m in re.finditer(r"\bif\s*\(", self.code):
            begin, end, rest = condition(self.code, m.start())
            if re.match(r"\s*return (?:false|NULL);", self.code[rest:]):
                self.add((begin, end), "(", ") && !mutant({n})", m.start())


def find(root):
    """All mutants of the tree, in the order of the text; keys do not change when lines move."""
    mutants, unknown = [], []
    for folder in ("passes/schedule", "passes/analysis", "passes/shared", "passes/lower"):
        for file in sorted((root / folder).rglob("*.c")):
            source = Source(root, str(file.relative_to(root)))
            if folder != "passes/analysis":
                source.requires()
                source.refusals()
                source.calls()
            elif file.stem in ANALYSIS:
                source.answers()
            keys = {}
            for begin in sorted(source.mutants):
                m = source.mutants[begin]
                text = " ".join(source.text[m.begin : m.end].split())
                key = f"{Path(m.file).stem}:{m.function}:{m.code}:{text[:70].strip()}"
                keys[key] = keys.get(key, 0) + 1
                m.key = key if keys[key] == 1 else f"{key}#{keys[key]}"
                m.line = source.text.count("\n", 0, m.begin) + 1
                mutants.append(m)
            unknown += [
                f"{source.path}:{source.text.count(chr(10), 0, at) + 1}" for at in source.unknown
            ]
    return mutants, unknown


def instrument(text, mutants):
    """The text of a file with its mutants [(number, mutant)] in it."""
    edits = []
    for n, m in mutants:
        edits += [(m.begin, 1, 0, m.before.format(n=n)), (m.end, 0, -m.begin, m.after.format(n=n))]
    for at, _, _, insert in sorted(edits, key=lambda e: e[:3], reverse=True):
        text = text[:at] + insert + text[at:]
    return text
