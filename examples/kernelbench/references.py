"""The operators of KernelBench in torch, as references of check_torch.py.

Each function has the name of a kernel. It takes the inputs by name, reals in f64, and may take the
sizes by name, too; it returns what the kernel writes. Convolutions do not use cuDNN: without it,
they are products of matrices in f64, which are fast.

A result is right if it differs by no more than a number of rounding errors, which grows with the
number of terms that an element adds: with its root for sums in order, with its logarithm for
sums by trees.
"""

import dataclasses
import math
from typing import Callable

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclasses.dataclass
class Reference:
    evaluate: Callable
    rows: tuple  # inputs of which the first axis is that of the result, which is checked in parts
    inputs: dict  # for some names a function of a shape and the sizes; others are in -1..1
    errors: Callable  # of the inputs: how many rounding errors are allowed
    relative: bool  # compares with each element alone, not with the root mean square of all, too
    whole: dict  # further arguments that depend on whole inputs


REFERENCES: dict[str, Reference] = {}


def few(**_):
    """Of elementwise operators."""
    return 8


def in_order(count):
    return lambda **given: 8 + 8 * math.sqrt(count(given))


def by_trees(count):
    return lambda **given: 8 + 4 * math.log2(1 + count(given))


def reference(rows=(), inputs=None, errors=few, relative=False, whole=None):
    def add(evaluate):
        made = Reference(evaluate, tuple(rows), inputs or {}, errors, relative, whole or {})
        REFERENCES[evaluate.__name__.rstrip("_")] = made
        return evaluate

    return add


def uniform(low, high):
    return lambda shape, _: torch.empty(shape).uniform_(low, high)


# ---- products ------------------------------------------------------------------------------------

K_OF_A = in_order(lambda given: given["A"].shape[-1])
K_OF_X = in_order(lambda given: given["X"].shape[-1])
FIRST_OF_A = in_order(lambda given: given["A"].shape[0])


def symmetric(shape, _):
    a = uniform(-1, 1)(shape, _)
    return a + a.T


def upper(shape, _):
    return uniform(-1, 1)(shape, _).triu()


def lower(shape, _):
    return uniform(-1, 1)(shape, _).tril()


def product(A, B):
    return A @ B


def batched(X, Y):
    return X @ Y


def add_products():
    both = {"matmul_symmetric": symmetric, "matmul_upper_triangular": upper}
    both["matmul_lower_triangular"] = lower
    names = "matmul_square matmul matmul_irregular matmul_large_k matmul_small_k matmul_3d"
    for name in f"{names} matmul_tall_skinny matrix_vector".split():
        REFERENCES[name] = Reference(product, ("A",), {}, K_OF_A, False, {})
    for name, make in both.items():
        REFERENCES[name] = Reference(product, (), {"A": make, "B": make}, K_OF_A, False, {})
    REFERENCES["matmul_batched"] = Reference(batched, ("X", "Y"), {}, K_OF_X, False, {})
    REFERENCES["matmul_4d"] = Reference(batched, ("X",), {}, K_OF_X, False, {})


add_products()


@reference(rows="A", inputs={"s": lambda shape, _: 0.75})
def matrix_scalar(A, s):
    return A * s


@reference()
def matmul_diagonal(A, B):
    return A[:, None] * B


@reference(errors=FIRST_OF_A)
def matmul_transposed_a(A, B):
    return A.T @ B


@reference(errors=K_OF_A)
def matmul_transposed_b(A, B):
    return A @ B.T


@reference(errors=FIRST_OF_A)
def matmul_transposed_both(A, B):
    return A.T @ B.T


# ---- activations ---------------------------------------------------------------------------------


def activation(evaluate):
    return reference(rows="x", inputs={"x": uniform(-8, 8)})(evaluate)


def add_activations():
    functions = {
        "relu": F.relu, "leaky_relu": F.leaky_relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
        "swish": F.silu, "gelu": F.gelu, "selu": F.selu, "hard_sigmoid": F.hardsigmoid,
        "softsign": F.softsign, "elu": F.elu, "hard_tanh": F.hardtanh,
    }  # fmt: skip
    for name, function in functions.items():
        evaluate = lambda x, function=function: function(x)  # noqa: E731
        REFERENCES[name] = Reference(evaluate, ("x",), {"x": uniform(-8, 8)}, few, False, {})


add_activations()


@reference(rows="x", inputs={"x": uniform(-40, 40)})
def softplus(x):
    return F.softplus(x)


@activation
def new_gelu(x):
    return F.gelu(x, approximate="tanh")


LAST_OF_X = by_trees(lambda given: given["x"].shape[-1])
ALL_OF_X = by_trees(lambda given: given["x"].numel())


@reference(rows="x", errors=LAST_OF_X, relative=True)
def softmax(x):
    return x.softmax(dim=1)


@reference(rows="x", errors=LAST_OF_X)
def log_softmax(x):
    return x.log_softmax(dim=1)


# ---- norms ---------------------------------------------------------------------------------------


@reference(rows="x", inputs={"variance": uniform(0, 1)}, errors=lambda **_: 16)
def batch_norm_inference(x, mean, variance, weight, bias):
    return F.batch_norm(x, mean, variance, weight, bias, eps=1e-5)


@reference(rows="x", errors=ALL_OF_X)
def instance_norm(x):
    return F.instance_norm(x, eps=1e-5)


@reference(rows="x", errors=ALL_OF_X)
def group_norm(x, weight, bias, G):
    return F.group_norm(x, G, weight, bias, eps=1e-5)


@reference(rows="x", errors=ALL_OF_X)
def layer_norm(x, weight, bias):
    return F.layer_norm(x, x.shape[1:], weight, bias, eps=1e-5)


@reference(rows="x", errors=by_trees(lambda given: given["x"].shape[1]), relative=True)
def rms_norm(x):
    return x / (x.square().mean(dim=1, keepdim=True) + 1e-5).sqrt()


def norm_of_all(x):
    return torch.linalg.vector_norm(x, dtype=torch.double)


@reference(rows="x", errors=ALL_OF_X, relative=True, whole={"norm": norm_of_all})
def frobenius_norm(x, norm):
    return x / norm


@reference(rows="x", errors=LAST_OF_X, relative=True)
def l1_norm(x):
    return x / x.abs().mean(dim=1, keepdim=True)


@reference(rows="x", errors=LAST_OF_X, relative=True)
def l2_norm(x):
    return x / torch.linalg.vector_norm(x, dim=1, keepdim=True)


# ---- pooling, reductions -------------------------------------------------------------------------


def pooling(evaluate):
    return reference(rows="x", errors=lambda **_: 32)(evaluate)


@pooling
def max_pooling_1d(x, K, S, P, D):
    return F.max_pool1d(x, K, S, P, D)


@pooling
def max_pooling_2d(x, K, S, P, D):
    return F.max_pool2d(x, K, S, P, D)


@pooling
def max_pooling_3d(x, K, S, P, D):
    return F.max_pool3d(x, K, S, P, D)


@pooling
def average_pooling_1d(x, K, S, P):
    return F.avg_pool1d(x, K, S, P)


@pooling
def average_pooling_2d(x, K):
    return F.avg_pool2d(x, K)


@pooling
def average_pooling_3d(x, K, S, P):
    return F.avg_pool3d(x, K, S, P)


COLUMN_OF_X = in_order(lambda given: given["x"].shape[1])


@reference(rows="x", errors=COLUMN_OF_X)
def sum_reduction(x):
    return x.sum(dim=1, keepdim=True)


@reference(rows="x", errors=COLUMN_OF_X)
def mean_reduction(x):
    return x.mean(dim=1)


@reference(rows="x")
def max_reduction(x):
    return x.amax(dim=1)


@reference(rows="x")
def min_reduction(x):
    return x.amin(dim=1)


def few_values(shape, _):
    """The largest and the least of a column stand in several rows."""
    return torch.randint(-1000, 1001, shape).float()


def first_equal(x, best):
    """The least index of an element that equals the best of its column."""
    rows = torch.arange(x.shape[1], device=x.device)[:, None]
    return torch.where(x == best, rows, x.shape[1]).amin(dim=1)


@reference(rows="x", inputs={"x": few_values})
def argmax(x):
    return first_equal(x, x.amax(dim=1, keepdim=True))


@reference(rows="x", inputs={"x": few_values})
def argmin(x):
    return first_equal(x, x.amin(dim=1, keepdim=True))


# ---- convolutions --------------------------------------------------------------------------------

CONVOLUTIONS = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}
TRANSPOSED = {3: F.conv_transpose1d, 4: F.conv_transpose2d, 5: F.conv_transpose3d}
TAPS = in_order(lambda given: given["weight"][0].numel())
TRANSPOSED_TAPS = in_order(lambda given: given["weight"].numel() / given["weight"].shape[1])


def convolved(x, weight, **how):
    return CONVOLUTIONS[x.ndim](x, weight, **how)


def by_own_kernels(x, weight, **how):
    return convolved(x, weight, groups=x.shape[1], **how)


def transposed(x, weight, **how):
    return TRANSPOSED[x.ndim](x, weight, **how)


def add_convolutions():
    plain = "1d 2d 2d_asymmetric 2d_asymmetric_input 2d_asymmetric_kernel pointwise_2d"
    for name in f"{plain} 3d 3d_asymmetric 3d_asymmetric_input 3d_asymmetric_kernel".split():
        REFERENCES[f"conv_{name}"] = Reference(convolved, ("x",), {}, TAPS, False, {})
    for name in ("", "_asymmetric", "_asymmetric_input", "_asymmetric_kernel"):
        own = Reference(by_own_kernels, ("x",), {}, TAPS, False, {})
        REFERENCES[f"conv_depthwise_2d{name}"] = own
    for rank in ("1d", "2d", "3d"):
        for name in ("", "_asymmetric", "_asymmetric_input", "_asymmetric_kernel"):
            if rank != "1d" or not name:
                made = Reference(transposed, ("x",), {}, TRANSPOSED_TAPS, False, {})
                REFERENCES[f"conv_transposed_{rank}{name}"] = made


add_convolutions()


@reference(rows="x", errors=TAPS)
def conv_2d_strided_bias(x, weight, bias, S, P):
    return convolved(x, weight, bias=bias, stride=S, padding=P)


@reference(rows="x", errors=TAPS)
def conv_1d_dilated_strided(x, weight, S, D):
    return convolved(x, weight, stride=S, dilation=D)


@reference(rows="x", errors=TAPS)
def conv_2d_dilated_padded(x, weight, PH, PW, DH, DW):
    return convolved(x, weight, padding=(PH, PW), dilation=(DH, DW))


@reference(rows="x", errors=in_order(lambda given: 9 * given["pointwise"].shape[1]))
def conv_depthwise_separable_2d(x, depthwise, pointwise, P):
    return convolved(by_own_kernels(x, depthwise, padding=P), pointwise)


@reference(rows="x", errors=TRANSPOSED_TAPS)
def conv_transposed_1d_dilated(x, weight, D):
    return transposed(x, weight, dilation=D)


@reference(rows="x", errors=TRANSPOSED_TAPS)
def conv_transposed_1d_strided(x, weight, S, P, D):
    return transposed(x, weight, stride=S, padding=P, dilation=D)


@reference(rows="x", errors=TRANSPOSED_TAPS)
def conv_transposed_2d_padded(x, weight, PH, PW):
    return transposed(x, weight, padding=(PH, PW))


@reference(rows="x", errors=TRANSPOSED_TAPS)
def conv_transposed_2d_dilated(x, weight, S, P, D):
    return transposed(x, weight, stride=S, padding=P, dilation=D)


@reference(rows="x", errors=TRANSPOSED_TAPS)
def conv_transposed_2d_grouped(x, weight, G, SH, SW, PH, PW, DH, DW):
    how = {"stride": (SH, SW), "padding": (PH, PW), "dilation": (DH, DW)}
    return transposed(x, weight, groups=G, **how)


@reference(rows="x", errors=TRANSPOSED_TAPS)
def conv_transposed_3d_dilated(x, weight, S, P, D):
    return transposed(x, weight, stride=S, padding=P, dilation=D)


@reference(rows="x", errors=TRANSPOSED_TAPS)
def conv_transposed_3d_grouped(x, weight, G, S, P):
    return transposed(x, weight, stride=S, padding=P, groups=G)


@reference(rows="x", errors=TRANSPOSED_TAPS)
def conv_transposed_3d_grouped_asymmetric(x, weight, G, S, PX, PY, PZ, E):
    return transposed(x, weight, stride=S, padding=(PX, PY, PZ), output_padding=E, groups=G)


# ---- scans, losses, attention --------------------------------------------------------------------

LONG_ROW = in_order(lambda given: given["x"].shape[1])


@reference(rows="x", errors=LONG_ROW)
def cumsum(x):
    return x.cumsum(dim=1)


@reference(rows="x", inputs={"x": uniform(0.95, 1.05)}, errors=LONG_ROW, relative=True)
def cumprod(x):
    return x.cumprod(dim=1)


@reference(rows="x", errors=LONG_ROW)
def cumsum_reverse(x):
    return x.flip(1).cumsum(dim=1).flip(1)


@reference(rows="x", errors=LONG_ROW)
def cumsum_exclusive(x):
    return x.cumsum(dim=1) - x


def random_bits(shape, _):
    return torch.rand(shape) < 0.5


@reference(rows=("x", "mask"), inputs={"mask": random_bits}, errors=LONG_ROW)
def masked_cumsum(x, mask):
    return torch.where(mask, x, 0).cumsum(dim=1)


@reference(errors=ALL_OF_X)
def mse_loss(x, target):
    return F.mse_loss(x, target)


@reference(errors=ALL_OF_X, inputs={"x": uniform(-3, 3)})
def huber_loss(x, target):
    return F.huber_loss(x, target)


def labels(shape, sizes):
    return torch.randint(0, sizes["N"], shape)


@reference(errors=ALL_OF_X, inputs={"x": uniform(-8, 8), "target": labels})
def cross_entropy_loss(x, target):
    return F.cross_entropy(x, target)


@reference(errors=ALL_OF_X, inputs={"x": uniform(0.01, 1), "target": uniform(0, 1)})
def kl_div_loss(x, target):
    return F.kl_div(x.log(), target, reduction="batchmean")


def distances(a, b):
    return torch.linalg.vector_norm(a - b + 1e-6, dim=1)


@reference(errors=by_trees(lambda given: given["anchor"].numel()))
def triplet_margin_loss(anchor, positive, negative):
    return (distances(anchor, positive) - distances(anchor, negative) + 1).clamp(min=0).mean()


def signs(shape, _):
    return torch.randint(0, 2, shape).float() * 2 - 1


@reference(errors=ALL_OF_X, inputs={"target": signs})
def hinge_loss(x, target):
    return (1 - x * target).clamp(min=0).mean()


@reference(rows="qkv", errors=in_order(lambda given: given["q"].shape[3]))
def attention(q, k, v):
    weight = (q @ k.transpose(2, 3) / math.sqrt(q.shape[3])).softmax(dim=3)
    return weight @ v


def parts(reference: Reference, given: dict[str, Tensor], elements: int):
    """The inputs in parts of some elements, or whole: pairs of a range of rows and arguments."""
    wide = lambda a: a.double() if torch.is_tensor(a) and a.is_floating_point() else a  # noqa: E731
    more = {name: make(**given) for name, make in reference.whole.items()}
    others = {n: wide(a) for n, a in given.items() if n not in reference.rows} | more
    if not reference.rows:
        yield slice(None), others
        return
    first = given[reference.rows[0]]
    step = max(1, elements // max(1, first[0].numel()))
    for start in range(0, first.shape[0], step):
        part = slice(start, start + step)
        yield part, others | {n: wide(given[n][part]) for n in reference.rows}
