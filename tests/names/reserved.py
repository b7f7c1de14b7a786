#!/usr/bin/env python3
"""Asks the compilers which names the CUDA text may not use, and writes them to
codegen/cuda/reserved_*.def.

    tests/names/reserved.py --update

Words (reserved_words.def) mean something else wherever they stand: keywords, macros, and what the
emitted kernels name. Symbols (reserved_symbols.def) are declared at global scope, or exported by
the libraries that a program is linked with, so no kernel or constant array may have them; as a
parameter or a loop they are fine. The candidates are all identifiers of the headers. The answers
come from NVRTC and from g++ with the includes of a complete program."""

import argparse
import ctypes
import functools
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CODEGEN = ROOT / "codegen/cuda"
IDENTIFIER = re.compile(r"\b[A-Za-z_][A-Za-z0-9_]*\b")
# codegen/cuda/names.c refuses these by their form, so the lists leave them out.
BY_FORM = re.compile(r"__|^_[A-Z]|.*__|^cuda[A-Z]|^CUDA|^NV_")

KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
constinit continue decltype default delete do double dynamic_cast else enum explicit export extern
false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr
operator or or_eq private protected public register reinterpret_cast requires restrict return short
signed sizeof static static_assert static_cast struct switch template this thread_local throw true
try typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t
while xor xor_eq main linux unix WARP_SZ
""".split()  # the last is a constant of PTX, which has no words of its own otherwise

# What the emitted kernels name: built-in variables, types and functions. What else the text calls,
# codegen/cuda/names.c knows.
TEXT = """
threadIdx blockIdx blockDim gridDim warpSize dim3
char2 char4 uchar2 uchar4 short2 short4 ushort2 ushort4 int2 int4 uint2 uint4 longlong2 ulonglong2
float2 float4 double2 make_char2 make_char4 make_uchar2 make_uchar4 make_short2 make_short4
make_ushort2 make_ushort4 make_int2 make_int4 make_uint2 make_uint4 make_longlong2 make_ulonglong2
make_float2 make_float4 make_double2 min max fmin fmax fminf fmaxf atomicAdd atomicMin atomicMax
atomicAnd atomicOr atomicXor
""".split()


# ---- the compilers -------------------------------------------------------------------------------

INCLUDES = "".join(
    f"#include <{name}>\n"
    for name in (
        "algorithm",
        "climits",
        "cmath",
        "cstdint",
        "cstdio",
        "cstdlib",
        "cstring",
        "vector",
        "cuda_fp16.h",
        "cuda_bf16.h",
        "cuda_fp8.h",
    )
)


@functools.cache
def cuda_home():
    """The folder of the CUDA toolkit, or None."""
    nvcc = shutil.which("nvcc")
    if not nvcc:
        return None
    top = re.search(
        r"^#\$ TOP=(.*)$",
        subprocess.run(
            [nvcc, "--dryrun", "-c", "x.cu"], capture_output=True, text=True, check=False
        ).stderr,
        re.M,
    )
    return Path(top.group(1)).resolve() if top else None


def host(text, *flags):
    """g++ on the host's side of a program, as nvcc runs it: (output, messages)."""
    include = cuda_home() / "include"
    with tempfile.NamedTemporaryFile("w", suffix=".cu") as file:
        file.write(INCLUDES + text)
        file.flush()
        done = subprocess.run(
            [
                "g++",
                "-x",
                "c++",
                "-std=gnu++17",
                "-D__CUDACC__",
                "-D__NVCC__",
                "-D__CUDACC_VER_MAJOR__=13",
                "-D__CUDACC_VER_MINOR__=0",
                "-D__CUDACC_VER_BUILD__=0",
                f"-I{include}",
                "-isystem",
                f"{include}/cccl",
                "-include",
                "cuda_runtime.h",
                "-w",
                "-fmax-errors=0",
                *flags,
                file.name,
            ],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    return done.stdout, done.stderr


class Nvrtc:
    """NVRTC itself, without tirc."""

    def __init__(self):
        self.library = ctypes.CDLL(str(next((cuda_home() / "lib64").glob("libnvrtc.so"))))

    def messages(self, text, *options):
        """What it says about the text; empty where it compiles."""
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        self.library.nvrtcCreateProgram(
            ctypes.byref(program), text.encode(), b"text.cu", 0, None, None
        )
        options = ("--std=c++17", "-arch=sm_90", *options)
        array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
        status = self.library.nvrtcCompileProgram(program, len(options), array)
        self.library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        self.library.nvrtcGetProgramLog(program, log)
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        return log.value.decode(errors="replace") or ("" if status == 0 else f"status {status}")


def nvrtc_refused(nvrtc, names, line):
    """The names for which NVRTC finds an error in their line; it stops after a hundred errors, so
    again without those."""
    refused, rest = set(), list(names)
    while True:
        text = "\n".join(line(i, name) for i, name in enumerate(rest))
        found = {
            rest[int(n) - 1]
            for n in re.findall(
                r"^text\.cu\((\d+)\): (?:catastrophic )?error", nvrtc.messages(text, "-w"), re.M
            )
        }
        refused |= found
        rest = [name for name in rest if name not in found]
        if not found:
            return refused


def host_refused(names, line):
    names = list(names)
    text = '#line 1 "names"\n' + "\n".join(line(i, name) for i, name in enumerate(names))
    return {
        names[int(n) - 1]
        for n in re.findall(r"^names:(\d+):(?:\d+:)? error", host(text, "-fsyntax-only")[1], re.M)
    }


# ---- what is asked -------------------------------------------------------------------------------


def local_line(i, name):
    """Where a keyword or a macro cannot stand."""
    return (
        f"__device__ inline int probe_{i}(int probed) {{ int {name} = probed; return {name} + 1; }}"
    )


def function_line(_, name):
    """A function, a type or a variable that is declared already cannot be a namespace."""
    return f"namespace {name} {{}}"


def namespace_line(_, name):
    """And a namespace cannot be a type."""
    return f"struct {name} {{}};"


def header_words():
    """Every identifier of the headers of CUDA, and of those that a program includes."""
    words = set(IDENTIFIER.findall(host("", "-E", "-dD")[0]))
    for path in (cuda_home() / "include").glob("*.h*"):
        words |= set(IDENTIFIER.findall(path.read_text(errors="replace")))
    for path in (cuda_home() / "include/crt").glob("*"):
        words |= set(IDENTIFIER.findall(path.read_text(errors="replace")))
    return words


def macros():
    """Names of macros, without and with arguments, on the host."""
    found = re.findall(r"^#define (\w+)(\()?", host("", "-E", "-dM")[0], re.M)
    return {name for name, call in found if not call}, {name for name, call in found if call}


def exported():
    """What the libraries export that every program is linked with: a kernel of that name would take
    its place."""
    names = set()
    for library in ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1"):
        path = subprocess.run(
            ["gcc", f"-print-file-name={library}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        listed = subprocess.run(
            ["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True
        ).stdout
        names |= {
            re.sub("@.*", "", line.split()[-1]) for line in listed.splitlines() if " A " not in line
        }
    return names | set("environ edata etext end main".split())


def ask(candidates):
    """(words, symbols) among the candidates."""
    nvrtc = Nvrtc()
    plain, with_arguments = macros()
    words = set(KEYWORDS) | set(TEXT) | plain
    rest = sorted(candidates - words)
    words |= nvrtc_refused(nvrtc, rest, local_line) | host_refused(rest, local_line)
    symbols = with_arguments | exported()
    for line in (function_line, namespace_line):
        rest = sorted(candidates - words - symbols)
        symbols |= nvrtc_refused(nvrtc, rest, line) | host_refused(rest, line)
    keep = lambda names: {
        n for n in names if not BY_FORM.match(n) and re.fullmatch(r"[A-Za-z_]\w*", n)
    }
    words = keep(words)
    return words, {n for n in keep(symbols) if not n.startswith("_")} - words


# ---- the lists -----------------------------------------------------------------------------------

LISTS = {
    "words": (
        "Words that no name in emitted CUDA C may be: "
        "keywords, macros, and what the text itself names"
    ),
    "symbols": (
        "What is declared at global scope, or exported by the C library: "
        "no name of a kernel or constant array"
    ),
}


def path_of(which):
    return CODEGEN / f"reserved_{which}.def"


def listed(which):
    return set(re.findall(r'"(\w+)"', path_of(which).read_text()))


def write(which, names):
    text = (
        f"/* {LISTS[which]}. Sorted; written by\n"
        " * tests/names/reserved.py, which asks the compilers. */\n"
    )
    line = ""
    for name in sorted(names):
        item = f'"{name}", '
        if len(line) + len(item) > 100:
            text += line.rstrip() + "\n"
            line = ""
        line += item
    path_of(which).write_text(text + line.rstrip() + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the lists")
    update = parser.parse_args().update
    found = dict(zip(("words", "symbols"), ask(header_words())))
    for name, words in found.items():
        if update:
            write(name, words)
        else:
            print(f"{name}: {len(words)}; not in the list: {sorted(words - listed(name))[:20]}")
    sys.exit(0)
