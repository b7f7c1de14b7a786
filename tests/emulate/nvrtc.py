"""Compiles texts as they are with NVRTC to PTX, without any change: names are judged by CUDA's own compiler."""
import ctypes
import os
import re

OPTIONS = (b"--gpu-architecture=compute_90", b"--std=c++17")


def library():
    for name in (os.environ.get("TIRC_NVRTC", ""), "/usr/local/cuda/lib64/libnvrtc.so", "libnvrtc.so"):
        try:
            return ctypes.CDLL(name) if name else None or ctypes.CDLL("/nowhere")
        except OSError:
            continue
    return None


class Nvrtc:
    def __init__(self):
        self.library = library()

    def messages(self, text):
        """None, or what the compiler says."""
        program = ctypes.c_void_p()
        self.library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"text.cu", 0, None, None)
        options = (ctypes.c_char_p * len(OPTIONS))(*OPTIONS)
        status = self.library.nvrtcCompileProgram(program, len(OPTIONS), options)
        said = None
        if status:
            size = ctypes.c_size_t()
            self.library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            self.library.nvrtcGetProgramLog(program, log)
            said = log.value.decode(errors="replace")
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        return said


def first_error(messages):
    found = re.search(r"^.*error.*$", messages, re.M)
    return found.group() if found else messages[:200]
