"""What each operator of examples/kernelbench computes, in NumPy and double precision, and small
sizes at which it is tested (../support/operators.py)."""

import math

import numpy as np
from operators import Cases, sizes

CASES = Cases()
case = CASES.case


# ---- products ------------------------------------------------------------------------------------


def symmetric(rng, shape, _):
    a = rng.uniform(-1, 1, shape)
    return a + a.T


def product(a, b):
    return np.einsum("...ik,kj->...ij", a, b)


ODD_PRODUCTS = sizes("M N K", (37, 19, 53), (1, 1, 1), (1, 67, 300), (130, 1, 7), (65, 129, 33))


@case(*sizes("N", (37,), (1,), (2,), (67,)))
def matmul_square(A, B):
    return product(A, B)


@case(*ODD_PRODUCTS)
def matmul(A, B):
    return product(A, B)


@case(*sizes("B M N K", (3, 17, 23, 31), (1, 1, 1, 1), (2, 65, 3, 67)))
def matmul_batched(X, Y):
    return np.einsum("bik,bkj->bij", X, Y)


@case(*sizes("M K", (13, 517), (1, 1), (300, 3), (1, 1031)))
def matrix_vector(A, B):
    return product(A, B)


@case(*sizes("M N", (7, 131), (1, 1), (67, 5)))
def matrix_scalar(A, s):
    return A * s


@case(*sizes("M N K", (7, 5, 613), (1, 1, 1), (33, 17, 129)))
def matmul_large_k(A, B):
    return product(A, B)


@case(*sizes("M N K", (67, 71, 3), (1, 1, 1), (129, 65, 9)))
def matmul_small_k(A, B):
    return product(A, B)


@case(*ODD_PRODUCTS)
def matmul_irregular(A, B):
    return product(A, B)


@case(*sizes("M K", (61, 5), (1, 1), (129, 33)))
def matmul_tall_skinny(A, B):
    return product(A, B)


@case(*sizes("N M K L", (3, 11, 29, 17), (1, 1, 1, 1), (2, 33, 5, 67)))
def matmul_3d(A, B):
    return product(A, B)


@case(*sizes("B I J L K", (2, 3, 11, 29, 17), (1, 1, 1, 1, 1), (3, 5, 7, 2, 67)))
def matmul_4d(X, Y):
    return product(X, Y)


@case(*sizes("N M", (17, 131), (1, 1), (301, 2)))
def matmul_diagonal(A, B):
    return product(np.diag(A), B)


@case(*sizes("N", (37,), (1,), (67,)), inputs={"A": symmetric, "B": symmetric})
def matmul_symmetric(A, B):
    return product(A, B)


def upper(rng, shape, _):
    return np.triu(rng.uniform(-1, 1, shape))


def lower(rng, shape, _):
    return np.tril(rng.uniform(-1, 1, shape))


@case(*sizes("N", (37,), (1,), (67,)), inputs={"A": upper, "B": upper})
def matmul_upper_triangular(A, B):
    return product(A, B)


@case(*sizes("N", (37,), (1,), (67,)), inputs={"A": lower, "B": lower})
def matmul_lower_triangular(A, B):
    return product(A, B)


@case(*ODD_PRODUCTS)
def matmul_transposed_a(A, B):
    return product(A.T, B)


@case(*ODD_PRODUCTS)
def matmul_transposed_b(A, B):
    return product(A, B.T)


@case(*ODD_PRODUCTS)
def matmul_transposed_both(A, B):
    return product(A.T, B.T)


# ---- activations ---------------------------------------------------------------------------------

ROWS = sizes("M N", (3, 331), (1, 1), (259, 2), (5, 1024))


def wide(rng, shape, _):
    """Large and small numbers of both signs, and zeros."""
    x = rng.uniform(-1, 1, shape) * 10.0 ** rng.integers(-3, 2, shape)
    return np.where(rng.random(shape) < 0.02, 0, x)


def activation(evaluate):
    return case(*ROWS, inputs={"x": wide})(evaluate)


@activation
def relu(x):
    return np.where(x > 0, x, 0)


@activation
def leaky_relu(x):
    return np.where(x > 0, x, 0.01 * x)


@activation
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@activation
def tanh(x):
    return np.tanh(x)


@activation
def softmax(x):
    return np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)


@activation
def log_softmax(x):
    return np.log(softmax(x))


@activation
def swish(x):
    return x * sigmoid(x)


@activation
def gelu(x):
    return x * np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)))(x)


@activation
def selu(x):
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return scale * np.where(x > 0, x, alpha * (np.exp(x) - 1))


@activation
def hard_sigmoid(x):
    return np.clip(x + 3, 0, 6) / 6


@case(*ROWS, inputs={"x": lambda rng, shape, _: rng.uniform(-40, 40, shape)})
def softplus(x):
    return np.logaddexp(0, x)


@activation
def softsign(x):
    return x / (1 + np.abs(x))


@activation
def elu(x):
    return np.where(x > 0, x, np.exp(x) - 1)


@activation
def hard_tanh(x):
    return np.clip(x, -1, 1)


# ---- norms ---------------------------------------------------------------------------------------

IMAGES = sizes("N C H W", (3, 2, 5, 67), (1, 1, 1, 1), (2, 67, 3, 3), (1, 3, 33, 17))


def normalized(x, axes):
    """With mean 0 and variance 1 along some axes."""
    mean = x.mean(axis=axes, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5)


def by_channel(v):
    return v[:, None, None]


@case(*IMAGES)
def batch_norm(x, weight, bias):
    return normalized(x, (0, 2, 3)) * by_channel(weight) + by_channel(bias)


def magnitudes(rng, shape, _):
    return 10 ** rng.uniform(-6, 0, shape)


@case(*IMAGES, inputs={"variance": magnitudes})
def batch_norm_inference(x, mean, variance, weight, bias):
    scale = weight / np.sqrt(variance + 1e-5)
    return x * by_channel(scale) + by_channel(bias - mean * scale)


@case(*IMAGES)
def instance_norm(x):
    return normalized(x, (2, 3))


@case(*sizes("N G C H W", (2, 3, 6, 5, 13), (1, 1, 1, 1, 1), (3, 5, 5, 1, 67), (2, 1, 7, 3, 3)))
def group_norm(x, weight, bias, G):
    n, c, h, w = x.shape
    normal = normalized(x.reshape(n, G, c // G, h, w), (2, 3, 4)).reshape(x.shape)
    return normal * by_channel(weight) + by_channel(bias)


@case(*IMAGES)
def rms_norm(x):
    return x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-5)


@case(*IMAGES)
def frobenius_norm(x):
    return x / np.linalg.norm(x.ravel())


@case(*ROWS)
def l1_norm(x):
    return x * x.shape[1] / np.abs(x).sum(axis=1, keepdims=True)


@case(*ROWS)
def l2_norm(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@case(*IMAGES)
def layer_norm(x, weight, bias):
    return normalized(x, (1, 2, 3)) * weight + bias


# ---- pooling -------------------------------------------------------------------------------------


def pooled(x, reduce, window, stride, padding, dilation, fill):
    """Reduces a window around each place of all axes behind the second."""
    rank = x.ndim - 2
    x = np.pad(x, [(0, 0)] * 2 + [(padding, padding)] * rank, constant_values=fill)
    reach = dilation * (window - 1) + 1
    shape = [(extent - reach) // stride + 1 for extent in x.shape[2:]]
    y = np.empty(x.shape[:2] + tuple(shape))
    for place in np.ndindex(*shape):
        part = tuple(slice(p * stride, p * stride + reach, dilation) for p in place)
        inner = x[(slice(None), slice(None), *part)]
        y[(slice(None), slice(None), *place)] = reduce(inner, axis=tuple(range(2, x.ndim)))
    return y


def largest(x, K, S, P, D):
    return pooled(x, np.max, K, S, P, D, -np.inf)


def average(x, K, S, P):
    return pooled(x, np.mean, K, S, P, 1, 0)


@case(
    *sizes("N C L K S P D", (2, 3, 67, 8, 1, 4, 3), (1, 1, 1, 2, 1, 1, 1), (1, 5, 131, 3, 2, 1, 5))
)
def max_pooling_1d(x, K, S, P, D):
    return largest(x, K, S, P, D)


@case(
    *sizes(
        "N C H W K S P D",
        (2, 3, 11, 17, 4, 1, 1, 1),
        (1, 1, 1, 1, 2, 1, 1, 1),
        (1, 2, 19, 13, 3, 2, 1, 3),
    )
)
def max_pooling_2d(x, K, S, P, D):
    return largest(x, K, S, P, D)


@case(
    *sizes(
        "N C X Y Z K S P D",
        (1, 2, 7, 9, 13, 3, 2, 1, 3),
        (1, 1, 1, 1, 1, 2, 1, 1, 1),
        (2, 2, 6, 5, 8, 2, 1, 1, 2),
    )
)
def max_pooling_3d(x, K, S, P, D):
    return largest(x, K, S, P, D)


@case(*sizes("N C L K S P", (2, 3, 67, 8, 1, 4), (1, 1, 1, 2, 1, 1), (1, 5, 131, 3, 2, 1)))
def average_pooling_1d(x, K, S, P):
    return average(x, K, S, P)


@case(*sizes("N C H W K", (2, 3, 23, 35, 11), (1, 1, 1, 1, 1), (1, 2, 19, 13, 3)))
def average_pooling_2d(x, K):
    return average(x, K, K, 0)


@case(
    *sizes(
        "N C X Y Z K S P",
        (1, 2, 7, 6, 13, 3, 2, 1),
        (1, 1, 1, 1, 1, 2, 1, 1),
        (2, 2, 4, 5, 8, 4, 1, 1),
    )
)
def average_pooling_3d(x, K, S, P):
    return average(x, K, S, P)


# ---- reductions ----------------------------------------------------------------------------------

STACKS = sizes("B M N", (3, 37, 67), (1, 1, 1), (1, 259, 3), (5, 2, 131))


def reduction(evaluate):
    return case(*STACKS)(evaluate)


def repeated(rng, shape, _):
    """Few different numbers: the largest and the least of a column stand in several rows."""
    return rng.integers(-3, 4, shape)


@reduction
def sum_reduction(x):
    return x.sum(axis=1, keepdims=True)


@reduction
def mean_reduction(x):
    return x.mean(axis=1)


@reduction
def max_reduction(x):
    return x.max(axis=1)


@reduction
def min_reduction(x):
    return x.min(axis=1)


@case(*STACKS, inputs={"x": repeated})
def argmax(x):
    return x.argmax(axis=1)


@case(*STACKS, inputs={"x": repeated})
def argmin(x):
    return x.argmin(axis=1)


# ---- convolutions --------------------------------------------------------------------------------


def per_axis(value, rank):
    return (value,) * rank if isinstance(value, int) else value


def convolved(x, weight, stride=1, padding=0, dilation=1):
    """weight: output channels, input channels, and the taps."""
    rank = x.ndim - 2
    stride, padding, dilation = (per_axis(v, rank) for v in (stride, padding, dilation))
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in padding]])
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, weight.shape[2:])]
    shape = [(e - r) // s + 1 for e, r, s in zip(x.shape[2:], reach, stride)]
    y = np.zeros((x.shape[0], weight.shape[0], *shape))
    for tap in np.ndindex(*weight.shape[2:]):
        part = tuple(
            slice(t * d, t * d + (n - 1) * s + 1, s)
            for t, d, n, s in zip(tap, dilation, shape, stride)
        )
        y += np.einsum("nc...,oc->no...", x[(..., *part)], weight[(..., *tap)])
    return y


def by_own_kernels(x, weight, padding=0):
    channels = [convolved(x[:, [c]], weight[[c]], padding=padding) for c in range(x.shape[1])]
    return np.concatenate(channels, axis=1)


def transposed(x, weight, stride=1, padding=0, dilation=1, groups=1, extra=0):
    """Each element of x adds its multiples of all taps. weight: input channels, output channels of
    a group, and the taps."""
    if groups > 1:
        parts = zip(np.split(x, groups, axis=1), np.split(weight, groups))
        done = [transposed(*part, stride, padding, dilation, 1, extra) for part in parts]
        return np.concatenate(done, axis=1)
    rank = x.ndim - 2
    stride, padding, dilation = (per_axis(v, rank) for v in (stride, padding, dilation))
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, weight.shape[2:])]
    shape = [(e - 1) * s + r + extra for e, s, r in zip(x.shape[2:], stride, reach)]
    y = np.zeros((x.shape[0], weight.shape[1], *shape))
    for tap in np.ndindex(*weight.shape[2:]):
        part = tuple(
            slice(t * d, t * d + (e - 1) * s + 1, s)
            for t, d, e, s in zip(tap, dilation, x.shape[2:], stride)
        )
        y[(..., *part)] += np.einsum("nc...,co->no...", x, weight[(..., *tap)])
    return y[(..., *[slice(p, n - p) for p, n in zip(padding, shape)])]


@case(*sizes("N C O H W K S P", (2, 3, 5, 23, 17, 11, 4, 2), (1, 1, 1, 1, 1, 3, 1, 1)))
def conv_2d_strided_bias(x, weight, bias, S, P):
    return convolved(x, weight, S, P) + by_channel(bias)


@case(*sizes("N C O L K", (2, 3, 5, 67, 3), (1, 1, 1, 1, 1), (1, 17, 33, 13, 5)))
def conv_1d(x, weight):
    return convolved(x, weight)


@case(
    *sizes("N C O L K S D", (2, 3, 5, 67, 3, 3, 4), (1, 1, 1, 1, 1, 1, 1), (1, 9, 33, 40, 4, 2, 3))
)
def conv_1d_dilated_strided(x, weight, S, D):
    return convolved(x, weight, S, 0, D)


SQUARE_2D = sizes("N C O H W K", (2, 3, 5, 7, 13, 3), (1, 1, 1, 1, 1, 1), (1, 17, 33, 9, 9, 2))
WIDE_2D = sizes("N C O H W KH KW", (1, 3, 5, 7, 13, 5, 7), (1,) * 7, (2, 17, 33, 9, 6, 2, 1))
SQUARE_3D = sizes("N C O X Y Z K", (1, 3, 5, 3, 5, 17, 3), (1,) * 7, (2, 2, 3, 3, 4, 5, 2))
WIDE_3D = sizes(
    "N C O X Y Z KX KY KZ", (1, 3, 5, 4, 7, 9, 3, 5, 7), (1,) * 9, (2, 2, 3, 3, 4, 5, 2, 1, 3)
)


@case(*SQUARE_2D)
def conv_2d(x, weight):
    return convolved(x, weight)


@case(*SQUARE_2D)
def conv_2d_asymmetric_input(x, weight):
    return convolved(x, weight)


@case(*WIDE_2D)
def conv_2d_asymmetric(x, weight):
    return convolved(x, weight)


@case(*WIDE_2D)
def conv_2d_asymmetric_kernel(x, weight):
    return convolved(x, weight)


@case(
    *sizes(
        "N C O H W KH KW PH PW DH DW",
        (1, 3, 5, 9, 23, 5, 9, 2, 4, 2, 3),
        (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
        (2, 2, 3, 5, 4, 3, 2, 3, 1, 3, 2),
    )
)
def conv_2d_dilated_padded(x, weight, PH, PW, DH, DW):
    return convolved(x, weight, 1, (PH, PW), (DH, DW))


@case(*SQUARE_3D)
def conv_3d(x, weight):
    return convolved(x, weight)


@case(*SQUARE_3D)
def conv_3d_asymmetric_input(x, weight):
    return convolved(x, weight)


@case(*WIDE_3D)
def conv_3d_asymmetric(x, weight):
    return convolved(x, weight)


@case(*WIDE_3D)
def conv_3d_asymmetric_kernel(x, weight):
    return convolved(x, weight)


DEPTHWISE = sizes("N C H W K", (2, 3, 7, 13, 3), (1, 1, 1, 1, 1), (1, 67, 3, 4, 2))


@case(*DEPTHWISE)
def conv_depthwise_2d(x, weight):
    return by_own_kernels(x, weight)


@case(*DEPTHWISE)
def conv_depthwise_2d_asymmetric_input(x, weight):
    return by_own_kernels(x, weight)


@case(*DEPTHWISE)
def conv_depthwise_2d_asymmetric_kernel(x, weight):
    return by_own_kernels(x, weight)


@case(*sizes("N C H W KH KW", (2, 3, 7, 13, 3, 7), (1,) * 6, (1, 67, 3, 4, 2, 1)))
def conv_depthwise_2d_asymmetric(x, weight):
    return by_own_kernels(x, weight)


@case(*sizes("N C O H W K P", (2, 3, 5, 7, 13, 3, 1), (1,) * 7, (1, 17, 33, 3, 4, 4, 2)))
def conv_depthwise_separable_2d(x, depthwise, pointwise, P):
    return convolved(by_own_kernels(x, depthwise, P), pointwise)


@case(*sizes("N C O H W", (2, 7, 5, 3, 67), (1,) * 5, (1, 33, 65, 4, 2)))
def conv_pointwise_2d(x, weight):
    return convolved(x, weight)


@case(*sizes("N C O L K", (2, 3, 5, 67, 3), (1, 1, 1, 1, 1), (1, 17, 33, 13, 5)))
def conv_transposed_1d(x, weight):
    return transposed(x, weight)


@case(*sizes("N C O L K D", (2, 3, 5, 67, 5, 3), (1,) * 6, (1, 17, 33, 5, 3, 7)))
def conv_transposed_1d_dilated(x, weight, D):
    return transposed(x, weight, dilation=D)


@case(
    *sizes(
        "N C O L K S P D",
        (2, 3, 5, 67, 3, 2, 1, 2),
        (1, 1, 1, 1, 3, 1, 1, 1),
        (1, 9, 3, 5, 5, 3, 2, 4),
    )
)
def conv_transposed_1d_strided(x, weight, S, P, D):
    return transposed(x, weight, S, P, D)


@case(*SQUARE_2D)
def conv_transposed_2d(x, weight):
    return transposed(x, weight)


@case(*SQUARE_2D)
def conv_transposed_2d_asymmetric_input(x, weight):
    return transposed(x, weight)


@case(*WIDE_2D)
def conv_transposed_2d_asymmetric(x, weight):
    return transposed(x, weight)


@case(*WIDE_2D)
def conv_transposed_2d_asymmetric_kernel(x, weight):
    return transposed(x, weight)


@case(
    *sizes(
        "N C O H W KH KW PH PW",
        (1, 3, 5, 7, 13, 3, 7, 1, 3),
        (1, 1, 1, 1, 1, 3, 3, 1, 1),
        (1, 2, 3, 5, 4, 4, 6, 2, 1),
    )
)
def conv_transposed_2d_padded(x, weight, PH, PW):
    return transposed(x, weight, padding=(PH, PW))


@case(
    *sizes(
        "N C O H W K S P D",
        (2, 3, 5, 7, 5, 3, 5, 1, 2),
        (1, 1, 1, 1, 1, 3, 1, 1, 1),
        (1, 2, 3, 5, 4, 4, 3, 2, 1),
    )
)
def conv_transposed_2d_dilated(x, weight, S, P, D):
    return transposed(x, weight, S, P, D)


@case(
    *sizes(
        "N G C O H W KH KW SH SW PH PW DH DW",
        (1, 3, 6, 3, 5, 7, 3, 5, 2, 3, 1, 2, 2, 1),
        (1, 1, 1, 1, 1, 1, 3, 3, 1, 1, 1, 1, 1, 1),
        (2, 4, 4, 8, 3, 4, 4, 2, 3, 2, 1, 1, 1, 3),
    )
)
def conv_transposed_2d_grouped(x, weight, G, SH, SW, PH, PW, DH, DW):
    return transposed(x, weight, (SH, SW), (PH, PW), (DH, DW), G)


@case(*SQUARE_3D)
def conv_transposed_3d(x, weight):
    return transposed(x, weight)


@case(*SQUARE_3D)
def conv_transposed_3d_asymmetric_input(x, weight):
    return transposed(x, weight)


@case(*WIDE_3D)
def conv_transposed_3d_asymmetric(x, weight):
    return transposed(x, weight)


@case(*WIDE_3D)
def conv_transposed_3d_asymmetric_kernel(x, weight):
    return transposed(x, weight)


@case(
    *sizes(
        "N C O X Y Z K S P D",
        (1, 3, 5, 3, 4, 5, 3, 2, 1, 2),
        (1, 1, 1, 1, 1, 1, 3, 1, 1, 1),
        (2, 2, 3, 3, 2, 4, 2, 3, 1, 3),
    )
)
def conv_transposed_3d_dilated(x, weight, S, P, D):
    return transposed(x, weight, S, P, D)


@case(
    *sizes(
        "N G C O X Y Z K S P",
        (1, 3, 6, 3, 3, 4, 5, 3, 2, 1),
        (1, 1, 1, 1, 1, 1, 1, 3, 1, 1),
        (2, 1, 3, 5, 3, 2, 4, 4, 3, 1),
    )
)
def conv_transposed_3d_grouped(x, weight, G, S, P):
    return transposed(x, weight, S, P, 1, G)


@case(
    *sizes(
        "N G C O X Y Z KX KY KZ S PX PY PZ E",
        (1, 3, 6, 3, 2, 3, 5, 3, 5, 7, 2, 1, 2, 3, 1),
        (1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 2, 1, 1, 1, 1),
        (2, 1, 3, 5, 3, 2, 4, 4, 3, 3, 3, 1, 1, 1, 2),
    )
)
def conv_transposed_3d_grouped_asymmetric(x, weight, G, S, PX, PY, PZ, E):
    return transposed(x, weight, S, (PX, PY, PZ), 1, G, E)


# ---- scans, losses, attention --------------------------------------------------------------------


@activation
def new_gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@case(*ROWS)
def cumsum(x):
    return np.cumsum(x, axis=1)


@case(*ROWS, inputs={"x": lambda rng, shape, _: rng.uniform(0.9, 1.1, shape)})
def cumprod(x):
    return np.cumprod(x, axis=1)


@case(*ROWS)
def cumsum_reverse(x):
    return np.cumsum(x[:, ::-1], axis=1)[:, ::-1]


@case(*ROWS)
def cumsum_exclusive(x):
    return np.cumsum(x, axis=1) - x


@case(*ROWS, inputs={"mask": lambda rng, shape, _: rng.random(shape) < 0.5})
def masked_cumsum(x, mask):
    return np.cumsum(np.where(mask, x, 0), axis=1)


def labels(rng, shape, sizes):
    return rng.integers(0, sizes["N"], shape)


@case(*ROWS)
def mse_loss(x, target):
    return np.mean((x - target) ** 2)


@case(*ROWS, inputs={"x": wide, "target": labels})
def cross_entropy_loss(x, target):
    return -np.mean(np.log(softmax(x)[np.arange(len(x)), target]))


@case(*ROWS, inputs={"x": lambda rng, shape, _: rng.uniform(-3, 3, shape)})
def huber_loss(x, target):
    d = np.abs(x - target)
    return np.mean(np.where(d < 1, d**2 / 2, d - 0.5))


@case(*sizes("B H S E", (1, 3, 13, 17), (1, 1, 1, 1), (2, 2, 37, 5), (1, 1, 3, 129)))
def attention(q, k, v):
    score = np.einsum("bhie,bhje->bhij", q, k) / math.sqrt(q.shape[3])
    weight = np.exp(score) / np.exp(score).sum(axis=3, keepdims=True)
    return np.einsum("bhij,bhje->bhie", weight, v)


def positive(rng, shape, _):
    return rng.uniform(0.01, 1, shape)


def some_zeros(rng, shape, _):
    return np.where(rng.random(shape) < 0.1, 0, positive(rng, shape, _))


@case(*ROWS, inputs={"x": positive, "target": some_zeros})
def kl_div_loss(x, target):
    held = target > 0
    return np.sum(target[held] * np.log(target[held] / x[held])) / len(x)


@case(*ROWS)
def triplet_margin_loss(anchor, positive, negative):
    near, far = (np.linalg.norm(anchor - x + 1e-6, axis=1) for x in (positive, negative))
    return np.mean(np.maximum(near - far + 1, 0))


@case(*ROWS, inputs={"target": lambda rng, shape, _: rng.choice((-1, 1), shape)})
def hinge_loss(x, target):
    return np.mean(np.maximum(1 - x * target, 0))
