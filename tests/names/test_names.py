"""Names in emitted text: each name of hostile.py in each role compiles, computes what Python says,
and reads back."""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

import host
import hostile
import nvrtc
import reserved
from test_programs import cases_with_cuda, complete

needs_cuda = pytest.mark.skipif(
    not reserved.cuda_home(), reason="no nvcc: neither NVRTC nor the headers of CUDA are at hand"
)


def tirc(program, *arguments, text=None):
    done = subprocess.run(
        [os.environ["TIRC"], "-", *program.arguments, *arguments],
        capture_output=True,
        timeout=120,
        check=False,
        input=(text or program.text).encode(),
    )
    assert done.returncode == 0, (
        f"status {done.returncode} from tirc {' '.join(arguments)}\n{done.stderr.decode()}\n"
        f"{program.text[:2000]}"
    )
    return done.stdout.decode()


def emitted(chosen, *arguments):
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda p: tirc(p[1], *arguments), chosen))


def test_there_are_names():
    assert len(hostile.NAMES) >= 304 and len(set(hostile.NAMES)) == len(hostile.NAMES)


@needs_cuda
def test_lists_say_what_compilers_say(whole):
    """What NVRTC or g++ refuses stands in the lists."""
    words, symbols = reserved.ask(reserved.header_words() if whole else set(hostile.NAMES))
    assert not words - reserved.listed("words"), "run tests/names/reserved.py --update"
    assert not symbols - reserved.listed("words") - reserved.listed("symbols"), (
        "run tests/names/reserved.py --update"
    )


@needs_cuda
def test_nvrtc_compiles(chosen):
    """All in one program, each text in a namespace; what NVRTC says names the text by its
    number."""
    texts = emitted(chosen, "--emit", "cuda")
    assert reserved.Nvrtc().messages(nvrtc.together(texts, range(len(texts)))) == "", list(
        enumerate(name for name, _ in chosen)
    )


def test_results_are_right(chosen):
    described = emitted(chosen, "--emit", "json")
    assert (
        host.check([(name, program, text) for (name, program), text in zip(chosen, described)])
        == []
    )


def test_text_reads_back(chosen):
    """At every level: the text of what was read from a text is that text, and its CUDA is the
    same."""
    for _, program in chosen:
        sizes = [word for word in program.arguments if word == "-D" or "=?" in word]
        plain = hostile.Program("", sizes, {}, {})
        scheduled, lowered = tirc(program, "--emit", "tir"), tirc(program, "--emit", "lowered")
        assert tirc(plain, "--emit", "tir", text=scheduled) == scheduled
        assert tirc(plain, "--emit", "lowered", text=lowered) == lowered
        assert tirc(plain, "--emit", "cuda", text=lowered) == tirc(program, "--emit", "cuda")


# ---- complete programs ---------------------------------------------------------------------------


def test_complete_programs_check_themselves(chosen):
    """`--emit cu` as C++ on the host: it compiles beside the host's headers, and finds no wrong
    element."""
    text, calls = host.HEADER, ""
    for number, source in enumerate(emitted(chosen, "--emit", "cu")):
        text += host.one_of_many(source, number)
        sizes = [str(3 + k % 5) for k in range(len(re.findall(r" = atoll?[(]", source)))]
        calls += host.call_of_main(number, sizes)
    status, output = host.run(text + host.main_of(calls))
    assert status == 0, output[:3000]
    assert output.count(" elements checked, 0 wrong") == len(chosen), output


def files_of(sources):
    """Lists of programs whose kernels have different names, so that they may stand in one file."""
    files = []
    for source in sources:
        kernels = set(re.findall(r"^(\w+)\(.*__restrict__", source, re.M))
        for programs, names in files:
            if not names & kernels:
                programs.append(source)
                names |= kernels
                break
        else:
            files.append(([source], kernels))
    return [programs for programs, _ in files]


@needs_cuda
def test_nvcc_compiles(chosen, whole):
    """Beside those of every eighth golden case, which --whole compiles in test_programs.py."""
    files = files_of(emitted(chosen, "--emit", "cu"))
    if not whole:
        files[0] += [complete(case) for case in cases_with_cuda()[::8]]
    for programs in files:
        assert host.nvcc(programs, "-cuda") == ""
