"""Runs emitted text on the host: C++ with host_cuda.h, compared with what Python computed.

Each program stands in a namespace of its own."""

import json
import re
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADER = '#include "host_cuda.h"\n'
LAUNCH = re.compile(r"(\w+)<<<(.*?)>>>\((.*)\);")


def run(text, *flags, arguments=()):
    """Compiles a program and runs it: (status, output); messages of the compiler with status
    None."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "program.cpp", Path(folder) / "program"
        source.write_text(text)
        built = subprocess.run(
            [
                "g++",
                "-std=c++17",
                "-O0",
                "-w",
                "-fno-strict-aliasing",
                f"-I{HERE}",
                *flags,
                "-o",
                program,
                source,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if built.returncode:
            return None, built.stderr
        done = subprocess.run(
            [program, *arguments], capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, done.stdout


# ---- complete programs, many in one file ---------------------------------------------------------

INCLUDES = "".join(
    f"#include <{name}>\n"
    for name in (
        "algorithm",
        "cmath",
        "cstdio",
        "cstdlib",
        "cstring",
        "vector",
        "cuda_fp16.h",
        "cuda_bf16.h",
        "cuda_fp8.h",
    )
)


def alone(text, number):
    """A complete program as one of many: without its includes, in a namespace, with another
    `main`."""
    body = re.sub(r"^#include .*\n", "", text, flags=re.M)
    return (
        f"namespace program_{number} {{\n"
        f"{re.sub(r'^int main[(]', 'int main_of_program(', body, flags=re.M)}}}\n#undef CHECK\n"
    )


def one_of_many(text, number):
    """The same for the host: with `k<<<g, b>>>(x);` as host_launch(g, b, [&] { k(x); });"""
    text = text.replace('extern "C" ', "")
    return alone(
        LAUNCH.sub(lambda m: f"host_launch({m[2]}, [&] {{ {m[1]}({m[3]}); }});", text), number
    )


def call_of_main(number, sizes):
    words = ", ".join(f'(char *)"{word}"' for word in ["program", *sizes])
    return (
        f"    {{ char *words[] = {{{words}, nullptr}};\n"
        f"      failed |= program_{number}::main_of_program({1 + len(sizes)}, words); }}\n"
    )


def main_of(calls):
    return "int main()\n{\n    int failed = 0;\n" + calls + "    return failed;\n}\n"


def architecture(program):
    """The option of nvcc in the command at the top of a complete program."""
    return re.search(r"^//   nvcc -O3 (\S+) ", program, re.M)[1]


def nvcc(programs, *flags):
    """What nvcc says to complete programs, for the architecture that they ask for and with warnings
    as errors; empty where it is content."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "programs.cu"
        source.write_text(
            INCLUDES + "".join(alone(text, number) for number, text in enumerate(programs))
        )
        done = subprocess.run(
            [
                "nvcc",
                architecture(programs[0]),
                "-Werror",
                "all-warnings",
                "-Xcompiler",
                "-Wall,-Wno-unused-function",
                *flags,
                "-o",
                Path(folder) / "out",
                source,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    return (
        ""
        if done.returncode == 0
        else (done.stdout + done.stderr)[:3000] or f"status {done.returncode}"
    )


# ---- kernels, driven by what --emit json says ----------------------------------------------------


def array(name, values):
    return f"alignas(16) static float {name}[] = {{{', '.join(f'{v}.0f' for v in values)}}};"


def value_of(argument, names, inputs):
    if argument["kind"] == "buffer":
        return names[argument["name"]]
    if argument["kind"] == "loop":
        raise ValueError("a launch inside of a loop of the host")
    return str(inputs[argument["name"]]) + (".0f" if argument["kind"] == "scalar" else "")


def check_text(number, program, description):
    """A function `check_NUMBER` that runs the program and gives how many outputs are wrong."""
    names, lines = {}, []
    described = description["parameters"] + description["temps"]
    for k, p in enumerate(p for p in described if "shape" in p):
        names[p["name"]] = f"array_{number}_{k}"
        elements = 1
        for extent in p["shape"]:
            elements *= extent
        values = program.inputs.get(p["name"], [99] * elements)
        lines.append(array(names[p["name"]], values))
    lines.append(f"static int check_{number}()\n{{\n    int wrong = 0;")
    for launch in description["launches"]:
        arguments = ", ".join(value_of(a, names, program.inputs) for a in launch["arguments"])
        dims = [f"dim3({', '.join(map(str, launch[key]))})" for key in ("grid", "block")]
        lines.append(
            f"    host_launch({', '.join(dims)}, [&] {{ "
            f"text_{number}::{launch['name']}({arguments}); }});"
        )
    for name, want in program.outputs.items():
        lines.append("    " + array(f"want_{names[name]}", want))
        lines.append(
            f"    for (int i = 0; i < {len(want)}; i++)\n"
            f"        wrong += !({names[name]}[i] == want_{names[name]}[i]);"
        )
    return "\n".join(lines + ["    return wrong;\n}\n"])


def check(programs):
    """programs: (name, Program, the text of --emit json). The names of those that are wrong, or
    what the compiler says."""
    text, calls = HEADER, []
    for number, (name, program, described) in enumerate(programs):
        description = json.loads(described)
        cuda = description["cuda"].replace(
            'extern "C" ', ""
        )  # other programs have kernels of the same name
        text += f"namespace text_{number} {{\n{cuda}\n}}\n" + check_text(
            number, program, description
        )
        calls.append(f'    if (check_{number}())\n        puts("{name}");')
    text += "int main()\n{\n" + "\n".join(calls) + "\n}\n"
    status, output = run(text)
    return output.split() if status == 0 else [f"status {status}: {output[:2000]}"]
