"""Names of tirc for names of Python and TVM, each in use once."""

from __future__ import annotations

import re

# Reserved words, and words that would read as something else at the start of a statement or type.
RESERVED = set(
    """kernel schedule proc include for if else let assert tune return true false inf nan fn reducer
    try block init temp barrier commit wait launch reduce atomic where step in inout bind parallel
    vectorize unroll f64 f32 f16 bf16 f8e4m3 f8e5m2 i64 i32 i16 i8 u64 u32 u16 u8 bool index type
    min max select abs exp exp2 log log2 log10 sqrt rsqrt sin cos tan tanh erf floor ceil round
    trunc pow fmod fma""".split()
)


def legal(name: str) -> str:
    """The nearest name that tirc reads."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", name) or "unnamed"
    if name[0].isdigit() or set(name) == {"_"}:
        name = "v" + name
    return name + "_" if name in RESERVED else name


class Names:
    """The names in use."""

    def __init__(self, taken: set[str] | None = None) -> None:
        self.taken = set(taken or ())

    def fresh(self, wanted: str) -> str:
        """A name like `wanted` that is not in use; it is then."""
        base = name = legal(wanted)
        count = 0
        while name in self.taken:
            count += 1
            name = f"{base}_{count}"
        self.taken.add(name)
        return name

    def release(self, name: str) -> None:
        self.taken.discard(name)
