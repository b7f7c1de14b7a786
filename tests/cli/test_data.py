"""The user's own data: --input, --output, --arg, --range. Files are built here byte by byte."""

import ast
import json
import struct

import pytest

MATMUL = """
kernel matmul<M = 64, N = 64, K = 64>(A: f32[M, K], B: f32[K, N], alpha: f32) -> C: f32[M, N]
{
    for i in M, j in N {
        C[i, j] = 0;
        for k in K
            C[i, j] += alpha * A[i, k] * B[k, j];
    }
}
"""
COUNT = """
kernel count<N = 1000, C = 10>(label: i32[N]) -> hist: i32[C]
{
    for c in C
        hist[c] = 0;
    for i in N
        if (label[i] >= 0 && label[i] < C)
            hist[label[i]] += 1;
}
"""
SIM = ("--run", "--device", "sim", "--schedule", "none")


def npy(descr, shape, data, version=(1, 0), order=False):
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    wide = version[0] > 1
    header += b" " * (-(len(header) + 11 + 2 * wide) % 64) + b"\n"
    return (
        b"\x93NUMPY"
        + bytes(version)
        + struct.pack("<I" if wide else "<H", len(header))
        + header
        + data
    )


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


def read(path):
    """Type, shape and bytes of a file as tirc writes them."""
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    (length,) = struct.unpack("<H", data[8:10])
    assert (10 + length) % 64 == 0
    header = ast.literal_eval(data[10 : 10 + length].decode())
    assert set(header) == {"descr", "fortran_order", "shape"} and header["fortran_order"] is False
    return header["descr"], header["shape"], data[10 + length :]


@pytest.fixture
def matmul(tirc):
    tirc.write("m.tir", MATMUL)
    tirc.write("a.npy", npy("<f4", (2, 3), floats(1, 2, 3, 4, 5, 6)))
    tirc.write("b.npy", npy("<f4", (3, 1), floats(1, 10, 100)))
    return lambda *args: tirc("m.tir", *SIM, "--input", "A=a.npy", "--input", "B=b.npy", *args)


def test_arrays_set_the_sizes_and_outputs_are_written(tirc, matmul):
    r = matmul("--arg", "alpha=0.5", "--output", "C=c.npy")
    assert r.status == 0, r.err
    assert read(tirc.folder / "c.npy") == ("<f4", (2, 1), floats(160.5, 327))
    assert "C: f32[2, 1]" in r.out and "starts 160.5 327" in r.out
    assert "least 160.5, largest 327, mean 243.75" in r.out
    # -o and --output are one option; what names no parameter is still the file for text
    assert matmul("--arg", "alpha=0.5", "-o", "C=d.npy").status == 0
    assert (tirc.folder / "d.npy").read_bytes() == (tirc.folder / "c.npy").read_bytes()
    assert tirc("m.tir", "--emit", "cuda", "--output", "m.cu").status == 0
    assert "__global__" in (tirc.folder / "m.cu").read_text()


def test_the_result_as_json(matmul):
    r = matmul("--arg", "alpha=1", "--json")
    output = json.loads(r.out)["run"]["outputs"][0]
    assert (output["least"], output["largest"], output["mean"], output["nans"]) == (
        321,
        654,
        487.5,
        0,
    )


def test_arrays_set_the_sizes_of_emitted_text(tirc, matmul):
    r = tirc("m.tir", "--input", "A=a.npy", "--emit", "cuda")
    assert "A: f32[2, 3], read" in r.out and "B: f32[3, 64], read" in r.out


def test_arrays_set_symbolic_sizes(tirc, matmul):
    tirc.write("c.npy", b"an earlier file")
    r = matmul("-D", "M=?", "-D", "K=?", "--arg", "alpha=1", "--output", "C=c.npy")
    assert r.status == 0, r.err
    assert read(tirc.folder / "c.npy") == ("<f4", (2, 1), floats(321, 654))
    r = matmul("-D", "M=?", "--size", "M=3")
    assert r.status == 2 and "--size M=3: the arrays of --input, or another --size, say 2" in r.err


def test_what_cannot_be_read_off_a_shape_is_compared_with_it(tirc):
    tirc.write(
        "h.tir", "kernel h<N = 8>(x: f32[N / 2]) -> y: f32[N / 2] { for i in N / 2 y[i] = x[i]; }"
    )
    tirc.write("x.npy", npy("<f4", (3,), floats(1, 2, 3)))
    assert tirc("h.tir", *SIM, "-D", "N=7", "--input", "x=x.npy").status == 0
    assert "E0709" in tirc("h.tir", *SIM, "--input", "x=x.npy").err
    r = tirc("h.tir", *SIM, "-D", "N=?", "--size", "N=9", "--input", "x=x.npy")
    assert (
        r.status == 2 and "axis 0 of 'x' has extent 4 for these sizes, but the array has 3" in r.err
    )


REFUSED = {
    "a file of another format": (b"PK\x03\x04" + bytes(60), "it is not a .npy file"),
    "a short file": (b"\x93NUMPY", "it is not a .npy file"),
    "a newer version": (npy("<f4", (2, 3), bytes(24), (4, 0)), "another version of the format"),
    "half a header": (npy("<f4", (2, 3), b"")[:40], "it ends within its header"),
    "too few elements": (npy("<f4", (2, 3), bytes(20)), "24 bytes of elements, but it has 20"),
    "too many elements": (npy("<f4", (2, 3), bytes(28)), "24 bytes of elements, but it has 28"),
    "big-endian elements": (npy(">f4", (2, 3), bytes(24)), "big-endian"),
    "complex numbers": (npy("<c8", (2, 3), bytes(48)), "no type for NumPy's '<c8'"),
    "objects": (npy("|O", (2, 3), bytes(48)), "Python objects"),
    "records": (npy("|O", (2, 3), b"").replace(b"'|O'", b"[ ] "), "records"),
    "columns first": (npy("<f4", (2, 3), bytes(24), order=True), "column by column"),
    "a huge shape": (npy("<f4", (2**62, 3), b""), "more than 2^63 bytes"),
    "a negative shape": (npy("<f4", (-2, 3), b""), "not a tuple of integers"),
    "65 axes": (npy("<f4", (1,) * 65, bytes(4)), "more than 64 axes"),
    "another key": (npy("<f4", (2, 3), bytes(24)).replace(b"'descr'", b"'descx'"), "other keys"),
    "a key twice": (
        npy("<f4", (2, 3), bytes(24)).replace(b"fortran_order': False", b"descr': '<f4'       "),
        "other keys",
    ),
    "no dictionary": (npy("<f4", (2, 3), bytes(24)).replace(b"{", b"("), "not a dictionary"),
    "something behind it": (
        npy("<f4", (2, 3), bytes(24)).replace(b"}", b"}x"),
        "does not consist of",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_files_that_are_refused(tirc, matmul, what):
    data, reason = REFUSED[what]
    tirc.write("a.npy", data)
    r = matmul("--output", "C=c.npy")
    assert r.status == 1 and "error[E0710]: 'a.npy' is not read: " in r.err and reason in r.err, (
        r.err
    )
    assert not (tirc.folder / "c.npy").exists()


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_the_format(tirc, matmul, version):
    tirc.write("b.npy", npy("<f4", (3, 1), floats(1, 10, 100), version))
    assert matmul("--arg", "alpha=1").out.count("starts 321 654") == 1


def test_arrays_that_do_not_fit(tirc, matmul):
    tirc.write("b.npy", npy("<f8", (3, 1), bytes(24)))
    r = matmul()
    assert (
        r.status == 1
        and "m.tir:2:" in r.err
        and "error[E0708]: 'B' has elements of type f32" in r.err
    )
    tirc.write("b.npy", npy("<f4", (4, 1), bytes(16)))
    r = matmul()
    assert r.status == 1 and "error[E0709]" in r.err and "note: K = 3 follows from 'A'" in r.err
    r = matmul("-D", "M=5")
    assert "note: M = 5 is given" in r.err
    r = tirc("m.tir", *SIM, "--input", "a=a.npy")
    assert r.status == 2 and "error[E0707]" in r.err


def test_wrong_usage(tirc, matmul):
    for options, message in {
        ("--output", "A=x.npy"): "--output A=x.npy: the kernel writes no parameter of this name",
        ("--arg", "A=1"): "--arg A=1: the kernel has no scalar parameter of this name",
        ("--input", "C=a.npy"): "--input C=...: it is an output; --output C=FILE.npy writes it",
        ("--input", "a.npy"): "--input a.npy: expected NAME=FILE.npy",
        ("--arg", "alpha"): "--arg alpha: expected NAME=VALUE",
    }.items():
        r = matmul("-D", "M=2", "-D", "N=1", "-D", "K=3", *options)
        assert r.status == 2 and message in r.err, r.err
    r = matmul("--input", "B=nowhere.npy")
    assert r.status == 3 and "cannot read 'nowhere.npy'" in r.err
    r = tirc("m.tir", "--emit", "cuda", "--arg", "alpha=1")
    assert r.status == 2 and "--arg needs --run, --verify or --bench" in r.err
    for value, reason in {
        "x": "is not a number",
        "": "expected NAME=VALUE",
        "1e60": "larger than its largest",
    }.items():
        r = matmul("--arg", f"alpha={value}")
        assert r.status and reason in r.err, r.err


SCALARS = [
    ("u8", "255", "256", 255),
    ("i8", "-128", "-129", -128),
    ("i64", "-9223372036854775808", "9223372036854775808", None),
    ("u64", "18446744073709551615", "-1", None),
    ("bool", "true", "2", 1),
    ("f16", "65504", "65520", 65504),
    ("i32", "0x10", "1.5", 16),
]


@pytest.mark.parametrize("type, good, bad, value", SCALARS)
def test_scalars_have_the_type_of_their_parameter(tirc, type, good, bad, value):
    tirc.write("s.tir", f"kernel s<N = 2>(v: {type}) -> y: {type}[N] {{ for i in N y[i] = v; }}")
    r = tirc("s.tir", *SIM, "--arg", f"v={good}", "--output", "y=y.npy")
    assert r.status == 0, r.err
    assert value is None or f"starts {value} {value}" in r.out
    data = read(tirc.folder / "y.npy")[2]
    assert value is not None or int.from_bytes(data[:8], "little", signed=type == "i64") == int(
        good
    )
    r = tirc("s.tir", *SIM, "--arg", f"v={bad}")
    assert r.status == 1 and f"error[E0711]: 'v' has type {type}, and {bad} " in r.err


def test_types_that_numpy_does_not_know_are_raw(tirc):
    tirc.write(
        "c.tir", "kernel c<N = 2, T: type = bf16>(x: T[N]) -> y: T[N] { for i in N y[i] = x[i]; }"
    )
    tirc.write("x.npy", npy("<V2", (3,), b"\x80\x3f\x00\x40\x40\x40"))
    r = tirc("c.tir", *SIM, "-D", "T=bf16", "--input", "x=x.npy", "--output", "y=y.npy")
    assert "starts 1 2 3" in r.out, r.err
    assert read(tirc.folder / "y.npy") == ("<V2", (3,), b"\x80\x3f\x00\x40\x40\x40")
    r = tirc("c.tir", *SIM, "-D", "T=f16", "--input", "x=x.npy")
    assert "error[E0708]: 'x' has elements of type f16, but the array has V2" in r.err


def test_truth_values_are_0_or_1(tirc):
    tirc.write("b.tir", "kernel b<N = 2>(x: bool[N]) -> y: bool[N] { for i in N y[i] = !x[i]; }")
    tirc.write("x.npy", npy("|b1", (3,), b"\0\1\0"))
    assert "starts 1 0 1" in tirc("b.tir", *SIM, "--input", "x=x.npy").out
    tirc.write("x.npy", npy("|b1", (3,), b"\0\2\0"))
    assert "neither 0 nor 1" in tirc("b.tir", *SIM, "--input", "x=x.npy").err


def test_ranges_of_random_inputs(tirc):
    tirc.write("count.tir", COUNT)
    r = tirc("count.tir", *SIM, "--range", "label=0..4")
    assert r.status == 0 and "mean 100" in r.out, r.err
    r = tirc("count.tir", *SIM, "--range", "label=2..C - 7", "--output", "hist=h.npy")
    assert r.status == 0, r.err
    assert read(tirc.folder / "h.npy")[2] == struct.pack("<10i", 0, 0, 1000, *[0] * 7)
    # a user's own data must obey it, too
    tirc.write("l.npy", npy("<i4", (2,), struct.pack("<2i", 3, 9)))
    assert tirc("count.tir", *SIM, "--range", "label=0..10", "--input", "label=l.npy").status == 0
    r = tirc("count.tir", *SIM, "--range", "label=0..9", "--input", "label=l.npy")
    assert r.status == 1 and "error[E0652]" in r.err and "element 1 of 'label' is 9" in r.err
    for text in ("label=0..4 {} kernel k() where 1 < 2", "nothing=0..4", "label=0"):
        assert tirc("count.tir", *SIM, "--range", text).status in (1, 2), text


SPECIAL = """
kernel special<N = 4>(x: i32[N], unless: i32) -> y: i32[N]
{
    for i in N
        y[i] = x[i] == 77 && unless != 5 ? 0 : x[i];
}
"""


@pytest.fixture
def special(tirc):
    """A kernel that is wrong where an element is 77, which random ones never are."""
    tirc.write("copy.tir", SPECIAL.replace("x[i] == 77 && unless != 5 ? 0 : x[i]", "x[i]"))
    tirc.write("special.tir", SPECIAL)
    lowered = tirc("special.tir", "--emit", "lowered", "--schedule", "none", "-D", "N=?").out
    tirc.write("special.tir", lowered)
    tirc.write("x.npy", npy("<i4", (5,), struct.pack("<5i", 1, 2, 3, 77, 5)))
    return lambda *args: tirc("special.tir", "--device", "sim", "--against", "copy.tir", *args)


def test_verify_compares_on_the_users_data(tirc, special):
    r = special("--verify", "--size", "N=5")
    assert r.status == 0 and "5 of 5 elements checked, all exact" in r.out, r.err
    r = special("--verify", "--input", "x=x.npy")
    assert r.status == 4 and "y[3] = 0; expected 77 exactly" in r.err, r.err
    r = special("--verify", "--input", "x=x.npy", "--arg", "unless=5")
    assert r.status == 0 and "5 of 5 elements checked on the given inputs" in r.out, r.err
    # a run before writes elsewhere
    tirc.write("s.tir", "kernel s<N = 4>(inout x: i32[N]) { for i in N x[i] *= 2; }")
    r = tirc("s.tir", *SIM, "--verify", "--input", "x=x.npy")
    assert r.status == 0 and "starts 2 4 6 154" in r.out and "on the given inputs" in r.out


@pytest.mark.parametrize("what", ["--verify", "--bench"])
def test_measurements_run_on_the_users_data(tirc, what):
    gather = "kernel g<N = 4, M = 4>(x: i32[M], at: i32[N], by: i32) -> y: i32[N] "
    tirc.write("g.tir", gather + "where by < 9 { for i in N y[i] = by * x[at[i]]; }")
    run = ("g.tir", what, "--device", "sim", "--schedule", "none", "--input", "at=at.npy")
    tirc.write("at.npy", npy("<i4", (3,), struct.pack("<3i", 3, 0, 1)))
    assert tirc(*run, "--arg", "by=8").status == 0
    r = tirc(*run, "--arg", "by=9")
    assert r.status == 1 and "error[E0652]" in r.err and "'by' is 9" in r.err
    tirc.write("at.npy", npy("<i4", (3,), struct.pack("<3i", 3, 4, 1)))
    r = tirc(*run)
    assert r.status == 4 and "reads element 4 of 'x', which has 4" in r.err, r.err
    r = tirc(*run, "--arg", "at=1")
    assert r.status == 2 and "no scalar parameter of this name" in r.err


def test_outputs_are_written_whole_or_not_at_all(tirc, matmul):
    tirc.write("c.npy", b"an earlier file")
    (tirc.folder / "c.npy").chmod(0o444)
    before = sorted(p.name for p in tirc.folder.iterdir() if p.is_file())
    r = matmul("--arg", "alpha=1", "--output", "C=nowhere/c.npy")
    assert r.status == 3 and "cannot write 'nowhere/c.npy'" in r.err
    assert sorted(p.name for p in tirc.folder.iterdir() if p.is_file()) == before


def test_an_array_is_read_and_written_in_place(tirc):
    tirc.write("s.tir", "kernel s<N = 4>(inout x: i16[N], by: i16) { for i in N x[i] += by; }")
    tirc.write("x.npy", npy("<i2", (3,), struct.pack("<3h", 1, 2, 3)))
    r = tirc("s.tir", *SIM, "--input", "x=x.npy", "--arg", "by=-2", "--output", "x=x.npy")
    assert r.status == 0, r.err
    assert read(tirc.folder / "x.npy") == ("<i2", (3,), struct.pack("<3h", -1, 0, 1))


LAID_OUT = """
kernel laid_out<M, N>(x: f32[M, N], z: f32[M]) -> y: f32[M, N]
{
    for i in M, j in N
        y[i, j] = x[i, j] + z[i];
}
schedule turned for laid_out()
{
    transform_layout(x, [i, j] -> [j, i]);
    transform_layout(y, [i, j] -> [j, i]);
}
"""


def test_arrays_have_the_layout_that_the_schedule_gives_a_parameter(tirc):
    tirc.write("laid_out.tir", LAID_OUT)
    tirc.write("x.npy", npy("<f4", (3, 2), floats(1, 2, 3, 4, 5, 6)))
    tirc.write("z.npy", npy("<f4", (2,), floats(10, 20)))
    words = ["laid_out.tir", "--run", "--device", "sim", "--schedule", "turned", "-D", "N=3"]
    words += ["--input", "z=z.npy", "--output", "y=y.npy"]
    r = tirc(*words, "--input", "x=x.npy")
    assert r.status == 0, r.err
    assert read(tirc.folder / "y.npy") == ("<f4", (3, 2), floats(11, 22, 13, 24, 15, 26))
    wrong = {
        ("<f4", (2, 3)): "axis 0 of 'x' has extent 3 for these sizes, but the array has 2",
        ("<f4", (6,)): "'x' has 2 axes in the layout that the schedule gives it",
        ("<i4", (3, 2)): "'x' has elements of type f32, but the array has i32",
    }
    for (kind, shape), message in wrong.items():
        tirc.write("w.npy", npy(kind, shape, bytes(24)))
        r = tirc(*words, "--input", "x=w.npy")
        assert r.status == 2 and message in r.err, r.err
