"""Compiles texts with NVRTC: names and types are judged by CUDA's own compiler.

Many texts make one program, each in a namespace of its own; what they declare outside of functions
is declared outside of the namespaces, too, where it could clash with what CUDA declares. A text
that this program names in an error is compiled alone, as it is, and that is its verdict."""

import ctypes
import glob
import os
import re

import cuda_text

OPTIONS = (b"--gpu-architecture=compute_90", b"--std=c++17")
SYNTAX = (
    *OPTIONS,
    b"--fdevice-syntax-only",
)  # all but the code: PTX is made of those texts that hold some


def library():
    """NVRTC of a toolkit, or of a Python environment, where it finds its builtins only if they are
    loaded."""
    installed = sorted(
        glob.glob(
            os.environ.get("VIRTUAL_ENV", "/nowhere")
            + "/lib/*/site-packages/nvidia/*/lib/libnvrtc.so.*"
        )
    )
    for name in (
        os.environ.get("TIRC_NVRTC", ""),
        "/usr/local/cuda/lib64/libnvrtc.so",
        "libnvrtc.so",
        *installed,
    ):
        try:
            for builtins in (
                glob.glob(f"{os.path.dirname(name)}/libnvrtc-builtins.so.*")
                if name in installed
                else ()
            ):
                ctypes.CDLL(builtins)
            return ctypes.CDLL(name or "/nowhere")
        except OSError:
            continue
    return None


class Nvrtc:
    def __init__(self):
        self.library = library()

    def machine_code(self, arch="sm_90a"):
        """The options for machine code that nobody runs: NVRTC 13 can leave out what makes it fast,
        and refuses the same."""
        options = (f"--gpu-architecture={arch}".encode(), b"--std=c++17")
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        return (*options, b"--Ofast-compile=max") if major.value >= 13 else options

    def messages(self, text, options=OPTIONS):
        """None, or what the compiler says."""
        program = ctypes.c_void_p()
        self.library.nvrtcCreateProgram(
            ctypes.byref(program), text.encode(), b"text.cu", 0, None, None
        )
        status = self.library.nvrtcCompileProgram(
            program, len(options), (ctypes.c_char_p * len(options))(*options)
        )
        said = None
        if status:
            size = ctypes.c_size_t()
            self.library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            self.library.nvrtcGetProgramLog(program, log)
            said = log.value.decode(errors="replace")
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        return said

    def refused(self, texts, options=None):
        """{number: what the compiler says} of the texts that it refuses with the options. By
        default only texts with assembler code become PTX; of the others only the syntax and the
        types are checked."""
        if options:
            suspects = self.suspects(texts, range(len(texts)), options)
        else:
            suspects = self.suspects(texts, range(len(texts)), SYNTAX)
            suspects |= self.suspects(
                texts,
                [n for n, text in enumerate(texts) if "asm" in text and n not in suspects],
                OPTIONS,
            )
        said = {n: self.messages(texts[n], options or OPTIONS) for n in sorted(suspects)}
        return {n: messages for n, messages in said.items() if messages is not None}

    def suspects(self, texts, numbers, options):
        """Numbers of texts without which the others compile together."""
        rest, bad = list(numbers), set()
        while rest and (messages := self.messages(together(texts, rest), options)) is not None:
            named = {
                int(n)
                for n in re.findall(r"^text_(\d+)\(\d+\): (?:catastrophic )?error", messages, re.M)
            } or set(rest)
            bad |= named
            rest = [n for n in rest if n not in named]
        return bad


def declarations(text):
    """(name, declaration) of what a text declares outside of functions."""
    if found := re.search(r"^struct alignas\(64\) TensorMap \{.*?^\};", text, re.M | re.S):
        yield "TensorMap", found.group()  # a type of parameters
    for found in re.finditer(
        r'extern "C" __global__ '
        r"void\s+(?:__(?:launch_bounds|cluster_dims)__\([^)]*\)\s*)*(?!__)(\w+)\(",
        text,
    ):
        end = cuda_text.closing(text, found.end() - 1)
        yield (
            found.group(1),
            f'extern "C" __global__ void {found.group(1)}{text[found.end() - 1 : end + 1]};',
        )
    for found in re.finditer(
        r"^__constant__ (?:__align__\(\d+\) )?[\w ]+? (\w+)[\[;].*", text, re.M
    ):
        yield found.group(1), found.group()


def together(texts, numbers):
    """One program of many texts; errors name the file text_NUMBER."""
    parts, declared = [], {}
    for n in numbers:
        inner = texts[n].replace('extern "C" __global__', "__global__")
        parts.append(f'#line 1 "text_{n}"\nnamespace text_{n} {{ {inner}\n}}\n')
        for name, declaration in declarations(texts[n]):
            declared.setdefault(name, f'#line 1 "text_{n}"\n{declaration}\n')
    return "".join([*declared.values(), *parts])


def first_error(messages):
    found = re.search(r"^.*error.*$", messages, re.M)
    return found.group() if found else messages[:200]
