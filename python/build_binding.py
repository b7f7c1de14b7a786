"""Writes the C source of the extension module tirc._native, by cffi.

python build_binding.py HEADER... OUTPUT.c       all that the headers declare
"""

import re
import sys
from pathlib import Path

import cffi


def declarations(header: str) -> str:
    """What a header declares, without preprocessor lines and the braces of extern "C"."""
    header = re.sub(r"#ifdef __cplusplus.*?#endif", "", header, flags=re.S)
    return re.sub(r"^#.*$", "", header, flags=re.M)


def main() -> None:
    *headers, output = map(Path, sys.argv[1:])
    ffi = cffi.FFI()
    for header in headers:
        ffi.cdef(declarations(header.read_text()))
    includes = "".join(f'#include "{header.name}"\n' for header in headers)
    ffi.set_source("tirc._native", f"#include <stdbool.h>\n{includes}", py_limited_api=True)
    ffi.emit_c_code(str(output))


if __name__ == "__main__":
    main()
