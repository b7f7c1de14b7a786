"""What programs, schedules and file names say reaches comments and #line directives: the text stays
what it is."""

import json
import os
import subprocess

import pytest

import nvrtc
import reserved

PROGRAM = """kernel k<N = 64>(x: f32[N]) -> y: f32[N]
{
    for i in N
        y[i] = x[i] * 2;
}
schedule s for k { let [b, t] = split(loops(y)[0], [_, 32]);
                   bind(b, blockIdx.x); bind(t, threadIdx.x); }
"""
LOWERED = """kernel k(x: f32[64]) -> y: f32[64]
{
    launch k grid(2, 1, 1) block(32, 1, 1) {
        temp s: f32[32] in shared;
        s[threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
        barrier "%s";
        y[blockIdx.x * 32 + threadIdx.x] = s[31 - threadIdx.x];
    }
}
"""
TEXTS = [
    b"plain",
    b"ends in \\\\",
    b"ends in ??/",
    b"*/ y[0] = 1; /*",
    b"%s %n",
    b"\xff\xfe",
    "\u202e turned \u2069".encode(),
    "\u2028 line".encode(),
    "f\u00fcr".encode(),
    b"\x01\x7f\x1b[31m",
    b"quote \\\" and '",
]
FILES = [
    name.replace(b"/", b"|").replace(b'\\"', b'"').replace(b"\\\\", b"\\") + end
    for name in [*TEXTS, b"two\nlines", b"tab\t"]
    for end in (b"", b".tir")
]


def tirc(*arguments):
    done = subprocess.run([os.environ["TIRC"], *arguments], capture_output=True, check=False)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def code(text):
    """The lines without comments and directives."""
    return [
        line.partition("//")[0].rstrip()
        for line in text.decode().splitlines()
        if not line.startswith("#line")
    ]


def compile_together(texts):
    """As one program, each text in a namespace, without a warning."""
    together = nvrtc.together([text.decode() for text in texts], range(len(texts)))
    assert not reserved.cuda_home() or reserved.Nvrtc().messages(together, "-lineinfo") == ""


def of_barrier(why, tmp_path):
    plain, other = tmp_path / "plain.tir", tmp_path / "other.tir"
    plain.write_text(LOWERED % "plain")
    other.write_bytes(LOWERED.encode().replace(b"%s", why))
    text = tirc(other, "--emit", "cuda")
    assert code(text) == code(tirc(plain, "--emit", "cuda"))
    assert not any(line.rstrip().endswith(("\\", "??/")) for line in text.decode().splitlines())
    again = tmp_path / "again.tir"
    again.write_bytes(tirc(other, "--emit", "lowered"))
    assert tirc(again, "--emit", "lowered") == again.read_bytes()
    assert tirc(again, "--emit", "cuda") == text
    return text


def test_texts_of_barriers_stay_in_comments(tmp_path):
    compile_together([of_barrier(why, tmp_path) for why in TEXTS])


def of_file(name, annotate, tmp_path):
    plain, other = tmp_path / "plain.tir", os.fsencode(tmp_path) + b"/" + name
    for path in (plain, other):
        with open(path, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
    text = tirc(other, "--schedule", "s", "--emit", "cuda", annotate)
    assert code(text) == code(tirc(plain, "--schedule", "s", "--emit", "cuda", annotate))
    if annotate == "--annotate=lines" and name == FILES[-1] and reserved.cuda_home():
        tirc(other, "--schedule", "s", "--emit", "cubin", annotate)
    assert json.loads(tirc(other, "--schedule", "s", "--emit", "json"))["lines"]
    return text


@pytest.mark.parametrize("annotate", ["--annotate", "--annotate=lines"])
def test_names_of_files_stay_in_comments(annotate, tmp_path):
    compile_together([of_file(name, annotate, tmp_path) for name in FILES])
