"""What tests/gpu/memory/run compares a row with: its inputs, its reference in torch in f64, and its
peers. Only the process that runs kernels imports this."""

import ctypes
import inspect
import math
import statistics
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "examples" / "kernelbench"))

from references import REFERENCES, Reference, by_trees, few, in_order, uniform  # noqa: E402

# ---- references ----------------------------------------------------------------------------------

OF_BF16 = 1.01 * 2**16  # a rounding error of bf16, in those of f32


def indices(shape, sizes):
    return torch.randint(0, sizes["N"], shape, dtype=torch.int32)


def sorted_indices(shape, sizes):
    return indices(shape, sizes).sort().values


def bytes_(shape, _):
    return torch.randint(0, 256, shape, dtype=torch.uint8)


def equal_bytes(shape, _):
    return torch.full(shape, 77, dtype=torch.uint8)


def number(value):
    return lambda shape, _: value


def total(x):
    return x.sum()


def largest(x):
    return x.max()


def first_largest(x):
    return (x == x.max()).nonzero()[0, 0]


def softmax(x):
    return x.softmax(dim=1)


def layer_norm(x, g, b=None):
    return torch.nn.functional.layer_norm(x, x.shape[1:], g, b, eps=1e-5)


def norm_of_sum(x, r, g):
    return layer_norm(x + r, g)


def rms_norm(x, g):
    return torch.nn.functional.rms_norm(x, x.shape[1:], g, eps=1e-6)


def counts(x):
    return torch.bincount(x, minlength=256).int()


def gather(x, at):
    return x[at]


def scatter_add(x, at):
    return torch.zeros_like(x).index_add_(0, at, x)


def chain(x, a, b, c):
    return (a * x + b).relu() * c + x


def broadcast_chain(x, r, s):
    return torch.nn.functional.silu(x * s + r[:, None])


def stencil(x, centre, side):
    """Each inner element and its neighbours along each axis."""
    inside = tuple(slice(1, -1) for _ in range(x.ndim))
    y = x.clone()
    near = [
        x[tuple(slice(1 + by, x.shape[n] - 1 + by) if n == axis else cut
                for n, cut in enumerate(inside))]
        for axis in range(x.ndim) for by in (-1, 1)
    ]  # fmt: skip
    y[inside] = centre * x[inside] + side * sum(near)
    return y


def by_channels(x):
    return x.transpose(0, 1).flatten(1).double()


def batch_norm(x, weight, bias, mean, variance):
    return torch.nn.functional.batch_norm(x, mean, variance, weight, bias, eps=1e-5)


def trained_batch_norm(x, weight, bias):
    return torch.nn.functional.batch_norm(x, None, None, weight, bias, training=True, eps=1e-5)


def means(x, **_):
    return torch.stack([x[:, c].double().mean() for c in range(x.shape[1])])


def variances(x, **_):
    return torch.stack([x[:, c].double().var(correction=0) for c in range(x.shape[1])])


def reference(evaluate, rows=(), inputs=None, errors=few, relative=False, whole=None):
    return Reference(evaluate, tuple(rows), inputs or {}, errors, relative, whole or {})


def four_each(**given):
    """Of a sum: four rounding errors for each halving of the number of elements."""
    return 4 * math.log2(max(2, given["x"].numel()))


COLUMNS = by_trees(lambda given: given["x"].shape[1])
INTO_ONE = in_order(lambda given: 64)
CHAIN_INPUTS = {"a": number(1.5), "b": number(0.25), "c": number(-0.75)}
BF16_SOFTMAX = reference(softmax, "x", errors=lambda **_: OF_BF16, relative=True)
TABLE = REFERENCES | {
    "sum": reference(total, (), {"x": uniform(0, 1)}, four_each, relative=True),
    "largest": reference(largest),
    "argmax": reference(first_largest),
    "softmax_f32": REFERENCES["softmax"],
    "softmax_bf16": BF16_SOFTMAX,
    "softmax_of_nests_f32": REFERENCES["softmax"],
    "softmax_of_temps_bf16": BF16_SOFTMAX,
    "norm_of_nests_f32": reference(layer_norm, "x", errors=COLUMNS),
    "norm_of_nests_bf16": reference(layer_norm, "x", errors=lambda **_: OF_BF16),
    "norm_of_sum_f32": reference(norm_of_sum, "xr", errors=COLUMNS),
    "norm_of_sum_bf16": reference(norm_of_sum, "xr", errors=lambda **_: OF_BF16),
    "rms_norm_of_rows_bf16": reference(rms_norm, "x", errors=lambda **_: OF_BF16),
    "batch_norm": reference(batch_norm, "x", errors=by_trees(lambda given: given["x"].numel()),
                            whole={"mean": means, "variance": variances}),
    "histogram_uniform": reference(counts, inputs={"x": bytes_}),
    "histogram_equal": reference(counts, inputs={"x": equal_bytes}),
    "gather_random": reference(gather, ("at",), {"at": indices}),
    "gather_sorted": reference(gather, ("at",), {"at": sorted_indices}),
    "scatter_add_random": reference(scatter_add, inputs={"at": indices}, errors=INTO_ONE),
    "scatter_add_sorted": reference(scatter_add, inputs={"at": sorted_indices}, errors=INTO_ONE),
    "chain": reference(chain, "x", CHAIN_INPUTS),
    "broadcast_chain": reference(broadcast_chain, "xr", {"x": uniform(-4, 4)}, lambda **_: 16),
    "stencil_2d": reference(lambda x: stencil(x, 0.5, 0.125)),
    "stencil_3d": reference(lambda x: stencil(x, 0.4, 0.1), errors=lambda **_: 16),
}  # fmt: skip
# Where torch computes a result by another function than the reference.
IN_TORCH = {"batch_norm": trained_batch_norm}


# ---- peers ---------------------------------------------------------------------------------------


def in_torch(row):
    """A function of the inputs, and of the sizes that it takes."""
    evaluate = IN_TORCH.get(row.reference, TABLE[row.reference].evaluate)
    taken = inspect.signature(evaluate).parameters
    sizes = {name: size for name, size in row.at.items() if name in taken}
    return lambda **given: evaluate(**sizes, **given)


def eager(row, given, _):
    evaluate = in_torch(row)
    return lambda: evaluate(**given)


def compiled(row, given, _):
    torch._dynamo.reset()
    evaluate = torch.compile(in_torch(row), dynamic=False)
    return lambda: evaluate(**given)


def memcpy(row, given, _):
    copy = torch.empty_like(given["x"])
    return lambda: copy.copy_(given["x"])


def stream():
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


def address(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


def read(row, given, library):
    """The time of reading stands for the result, which is none."""
    x, flag = max(given.values(), key=torch.numel), torch.zeros(1, dtype=torch.int32)
    call = ctypes.CDLL(library).read_all
    bytes = ctypes.c_longlong(x.numel() * x.element_size())
    return lambda: call(address(x), address(flag), bytes, stream())


RESULTS = {"sum": torch.float32, "largest": torch.float32, "argmax": torch.int64}


def cub(row, given, library):
    x, bytes = given["x"], ctypes.c_size_t()
    y = torch.empty(257, dtype=RESULTS.get(row.kernel, torch.int32))
    call, n = getattr(ctypes.CDLL(library), f"cub_{row.kernel}"), ctypes.c_longlong(x.numel())

    def run(temp):
        if call(temp, ctypes.byref(bytes), address(x), address(y), n, stream()):
            raise RuntimeError(f"cub_{row.kernel} failed")
        return y[:256] if row.kernel == "histogram256" else y[0]

    run(None)
    temp = torch.empty(bytes.value, dtype=torch.uint8)
    return lambda: run(address(temp))


PEERS = {"eager": eager, "compiled": compiled, "memcpy": memcpy, "read": read, "cub": cub}


# ---- times ---------------------------------------------------------------------------------------

FLUSHED = 256 << 20  # bytes, more than any L2 cache


def medians(runs, seconds):
    """The median times of functions in ms, which take turns, each after the L2 cache is flushed."""
    flush = torch.empty(FLUSHED, dtype=torch.uint8)

    def once(run):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flush.zero_()
        begin.record()
        run()
        end.record()
        return begin, end

    def times(turns):
        pairs = [[once(run) for run in runs] for _ in range(turns)]
        torch.cuda.synchronize()
        return [[begin.elapsed_time(end) for begin, end in turn] for turn in pairs]

    times(1)
    turns = int(seconds * 1e3 / (sum(times(1)[0]) + 0.1 * len(runs)))
    return [statistics.median(of) for of in zip(*times(min(50, max(3, turns))))]
