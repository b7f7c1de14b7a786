"""What the operators of examples/kernelbench/level2 with convolutions of volumes and transposed
convolutions compute, in NumPy and double precision (cases.py)."""

import math

import numpy as np
from cases import convolved, normalized, pooled, transposed
from operators import Cases, sizes

CASES = Cases()
case = CASES.case


# ---- what follows the convolutions ---------------------------------------------------------------


def along(v, x):
    """A value for each channel, to combine with x."""
    return v.reshape(-1, *(1,) * (x.ndim - 2))


def convolved_3d(x, weight, bias, padding=0):
    y = convolved(x, weight, 1, padding)
    return y + along(bias, y)


def spread(x, weight, bias, S=1, P=0, E=0):
    """A transposed convolution."""
    y = transposed(x, weight, S, P, extra=E)
    return y + along(bias, y)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    return x * np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)))(x)


def mish(x):
    return x * np.tanh(np.log1p(np.exp(x)))


def leaky_relu(x, slope):
    return np.maximum(x, 0) + slope * np.minimum(x, 0)


def hard_swish(x):
    return x * np.clip(x + 3, 0, 6) / 6


def softmax(x, axes=1):
    e = np.exp(x)
    return e / e.sum(axis=axes, keepdims=True)


def logsumexp(x):
    return np.log(np.exp(x).sum(axis=1, keepdims=True))


def places(x):
    return tuple(range(2, x.ndim))


def mean_of_places(x):
    return x.mean(axis=places(x), keepdims=True)


def batch_norm(x, gain, shift):
    return normalized(x, (0, *places(x))) * along(gain, x) + along(shift, x)


def group_norm(x, gain, shift, G):
    grouped = x.reshape(x.shape[0], G, -1)
    return normalized(grouped, (2,)).reshape(x.shape) * along(gain, x) + along(shift, x)


def layer_norm(x, gain, shift):
    return normalized(x, (-1,)) * gain + shift


def largest(x, window=2):
    return pooled(x, np.max, window, window, 0, 1, 0)


def average(x):
    return pooled(x, np.mean, 2, 2, 0, 1, 0)


# ---- convolutions of volumes ---------------------------------------------------------------------

VOLUMES = sizes("N C O X Y Z K", (2, 3, 5, 4, 5, 19, 3), (1,) * 7, (1, 9, 17, 5, 3, 6, 2))
POOLED_VOLUMES = sizes("N C O X Y Z K", (2, 3, 5, 4, 7, 13, 3), (1, 1, 1, 2, 2, 2, 1))
GROUPED_VOLUMES = sizes(
    "N C O X Y Z K G", (2, 3, 6, 4, 5, 9, 3, 3), (1,) * 8, (3, 2, 8, 3, 4, 6, 2, 2)
)


@case(*VOLUMES)
def conv_3d_relu_leaky_relu_gelu_sigmoid_bias(x, weight, bias, shift):
    z = np.maximum(convolved_3d(x, weight, bias), 0)
    return sigmoid(gelu(leaky_relu(z, 0.01))) + shift


@case(*VOLUMES)
def conv_3d_mish_tanh(x, weight, bias):
    return np.tanh(mish(convolved_3d(x, weight, bias)))


@case(*VOLUMES)
def conv_3d_scale_tanh_scale_sigmoid(x, weight, bias, scale, factor):
    return sigmoid(np.tanh(convolved_3d(x, weight, bias) * scale) * factor)


@case(*VOLUMES)
def conv_3d_leaky_relu_add_clamp_gelu(x, weight, bias, term):
    return gelu(np.clip(leaky_relu(convolved_3d(x, weight, bias), 0.2) + term, -1, 1))


@case(*sizes("N C O X Y Z K", (2, 3, 5, 6, 11, 7, 3), (1, 1, 1, 4, 4, 4, 1)))
def conv_3d_softmax_max_pooling_twice(x, weight, bias):
    return largest(largest(softmax(convolved_3d(x, weight, bias))))


@case(*POOLED_VOLUMES)
def conv_3d_divide_max_pooling_mean_add_sum(x, weight, bias, term):
    means = mean_of_places(largest(convolved_3d(x, weight, bias) / 2))
    return (means + term).sum(axis=1)


@case(*VOLUMES)
def conv_3d_min_softmax(x, weight, bias):
    return softmax(convolved_3d(x, weight, bias).min(axis=2))


@case(*sizes("N C O X Y Z K P", (2, 3, 5, 3, 5, 11, 3, 1), (1, 1, 1, 1, 1, 1, 2, 1)))
def conv_3d_max_pooling_logsumexp_relu(x, weight, bias, P):
    return np.maximum(logsumexp(largest(convolved_3d(x, weight, bias, P))), 0)


@case(*GROUPED_VOLUMES)
def conv_3d_group_norm_mean(x, weight, bias, gain, shift, G):
    z = group_norm(convolved_3d(x, weight, bias), gain, shift, G)
    return z.mean(axis=(1, 2, 3, 4))


@case(*GROUPED_VOLUMES)
def conv_3d_hard_swish_group_norm_mean(x, weight, bias, gain, shift, G):
    z = group_norm(hard_swish(convolved_3d(x, weight, bias)), gain, shift, G)
    return z.mean(axis=(2, 3, 4))


@case(*VOLUMES)
def conv_3d_scale_instance_norm_clamp_scale_max(x, weight, bias, scale):
    z = normalized(convolved_3d(x, weight, bias) * scale, (2, 3, 4))
    return (np.clip(z, -1, 1) * scale).max(axis=1)


@case(*GROUPED_VOLUMES)
def conv_3d_group_norm_min_clamp(x, weight, bias, gain, shift, G):
    z = group_norm(convolved_3d(x, weight, bias), gain, shift, G)
    return np.clip(np.minimum(z, 0), 0, 1)


# ---- transposed convolutions of images -----------------------------------------------------------

EXTENDED_IMAGES = sizes(
    "N C O H W K S P E",
    (2, 3, 5, 4, 7, 3, 2, 1, 1),
    (1, 1, 1, 1, 1, 2, 2, 1, 1),
    (1, 9, 17, 3, 5, 4, 2, 1, 1),
)
POOLED_IMAGES = sizes("N C O H W K P", (2, 3, 5, 7, 12, 3, 1), (1, 1, 1, 1, 1, 4, 1))


@case(*EXTENDED_IMAGES)
def conv_transposed_2d_add_clamp_scale_clamp_divide(x, weight, bias, term, S, P, E):
    z = np.clip(spread(x, weight, bias, S, P, E) + term, 0, 1)
    return np.clip(z * 2, 0, 1) / 2


@case(*EXTENDED_IMAGES)
def conv_transposed_2d_subtract_tanh(x, weight, bias, term, S, P, E):
    return np.tanh(spread(x, weight, bias, S, P, E) - term)


@case(*EXTENDED_IMAGES)
def conv_transposed_2d_mish_add_hard_tanh_scale(x, weight, bias, S, P, E):
    return np.clip(mish(spread(x, weight, bias, S, P, E)) + 0.5, -1, 1) * 2


@case(*sizes("N C O H W K S", (2, 3, 5, 4, 7, 4, 2), (1,) * 7, (1, 9, 17, 3, 5, 3, 3)))
def conv_transposed_2d_add_min_gelu_scale(x, weight, bias, S):
    return gelu(np.minimum(spread(x, weight, bias, S) + 0.5, 0)) * 2


@case(*POOLED_IMAGES)
def conv_transposed_2d_max_pooling_hard_tanh_mean_tanh(x, weight, bias, P):
    z = np.clip(largest(spread(x, weight, bias, 1, P)), -1, 1)
    return np.tanh(mean_of_places(z))


@case(*EXTENDED_IMAGES)
def conv_transposed_2d_min_sum_gelu_add(x, weight, bias, term, S, P, E):
    least = spread(x, weight, bias, S, P, E).min(axis=1, keepdims=True)
    return gelu(least.sum(axis=2, keepdims=True)) + term


@case(*sizes("N C O H W K", (2, 3, 5, 7, 11, 3), (1,) * 6, (3, 9, 17, 3, 5, 2)))
def conv_transposed_2d_mean_add_logsumexp_sum_scale(x, weight, bias, term):
    return logsumexp(mean_of_places(spread(x, weight, bias)) + term).sum(axis=(2, 3)) * 10


@case(*EXTENDED_IMAGES)
def conv_transposed_2d_scale_mean_mean(x, weight, bias, S, P, E):
    return mean_of_places(mean_of_places(spread(x, weight, bias, S, P, E) * 0.5))


@case(*EXTENDED_IMAGES)
def conv_transposed_2d_softmax_add_scale_sigmoid(x, weight, bias, term, S, P, E):
    return sigmoid((softmax(spread(x, weight, bias, S, P, E)) + term) * 2)


@case(*sizes("N C O H W K P G", (3, 2, 6, 5, 7, 5, 1, 3), (1, 1, 1, 1, 1, 4, 1, 1)))
def conv_transposed_2d_batch_norm_tanh_max_pooling_group_norm(
    x, weight, bias, gain, shift, group_gain, group_shift, P, G
):
    z = batch_norm(spread(x, weight, bias, 1, P), gain, shift)
    return group_norm(largest(np.tanh(z)), group_gain, group_shift, G)


@case(*sizes("N C O H W K G", (2, 3, 6, 5, 11, 3, 3), (1,) * 7, (1, 5, 16, 3, 4, 2, 8)))
def conv_transposed_2d_gelu_group_norm(x, weight, bias, gain, shift, G):
    return group_norm(gelu(spread(x, weight, bias)), gain, shift, G)


# ---- transposed convolutions of volumes ----------------------------------------------------------

SPREAD_VOLUMES = sizes(
    "N C O X Y Z K S P",
    (2, 3, 5, 3, 4, 5, 3, 2, 1),
    (1, 1, 1, 1, 1, 1, 3, 1, 1),
    (1, 5, 9, 2, 3, 4, 4, 2, 1),
)
EXTENDED_VOLUMES = sizes(
    "N C O X Y Z K S P E",
    (2, 3, 5, 2, 3, 5, 3, 2, 1, 1),
    (1, 1, 1, 1, 1, 1, 2, 2, 1, 1),
    (1, 5, 9, 2, 3, 2, 4, 3, 1, 2),
)
POOLED_EXTENDED_VOLUMES = sizes(
    "N C O X Y Z K S P E", (2, 3, 5, 2, 3, 5, 3, 2, 1, 1), (1, 1, 1, 1, 1, 1, 3, 2, 1, 1)
)
POOLED_SPREAD_VOLUMES = sizes(
    "N C O X Y Z K S P", (2, 3, 5, 2, 3, 5, 3, 2, 1), (1, 1, 1, 1, 1, 1, 4, 2, 1)
)


@case(*EXTENDED_VOLUMES)
def conv_transposed_3d_add_residual_product_residual(x, weight, bias, term, S, P, E):
    z = spread(x, weight, bias, S, P, E)
    return (z + term + z) * z + z


@case(*EXTENDED_VOLUMES)
def conv_transposed_3d_add_hard_swish(x, weight, bias, term, S, P, E):
    z = spread(x, weight, bias, S, P, E) + term
    return z * hard_swish(z)


@case(*SPREAD_VOLUMES)
def conv_transposed_3d_clamp_divide(x, weight, bias, S, P):
    return np.maximum(spread(x, weight, bias, S, P), -1) / 2


@case(*POOLED_EXTENDED_VOLUMES)
def conv_transposed_3d_add_layer_norm_average_pooling_gelu(
    x, weight, bias, term, gain, shift, S, P, E
):
    z = layer_norm(spread(x, weight, bias, S, P, E) + term, gain, shift)
    return gelu(average(z))


@case(*SPREAD_VOLUMES)
def conv_transposed_3d_layer_norm_gelu_scale(x, weight, bias, gain, shift, S, P):
    return gelu(layer_norm(spread(x, weight, bias, S, P), gain, shift))


@case(*SPREAD_VOLUMES)
def conv_transposed_3d_batch_norm_subtract_mean(x, weight, bias, gain, shift, S, P):
    z = batch_norm(spread(x, weight, bias, S, P), gain, shift)
    return z - mean_of_places(z)


@case(
    *sizes(
        "N C O X Y Z K S P G",
        (2, 3, 6, 3, 4, 5, 3, 2, 1, 3),
        (1, 1, 1, 1, 1, 1, 3, 1, 1, 1),
        (1, 2, 8, 2, 3, 4, 4, 2, 1, 2),
    )
)
def conv_transposed_3d_swish_group_norm_hard_swish(x, weight, bias, gain, shift, S, P, G):
    z = spread(x, weight, bias, S, P)
    return hard_swish(group_norm(sigmoid(z) * z, gain, shift, G))


@case(*sizes("N C O X Y Z K G", (2, 3, 6, 2, 4, 7, 3, 3), (1,) * 8, (1, 2, 8, 3, 2, 4, 2, 2)))
def conv_transposed_3d_relu_group_norm(x, weight, gain, shift, G):
    return group_norm(np.maximum(transposed(x, weight), 0), gain, shift, G)


@case(*sizes("N C O X Y Z K S P", (2, 3, 5, 3, 4, 5, 3, 2, 1), (1, 1, 1, 1, 1, 1, 6, 2, 1)))
def conv_transposed_3d_batch_norm_average_pooling_twice(x, weight, bias, gain, shift, S, P):
    return average(average(batch_norm(spread(x, weight, bias, S, P), gain, shift)))


@case(*sizes("N C O X Y Z K", (2, 3, 5, 3, 4, 5, 3), (1,) * 7, (1, 5, 9, 2, 3, 4, 2)))
def conv_transposed_3d_scale_batch_norm_mean(x, weight, bias, gain, shift):
    return mean_of_places(batch_norm(spread(x, weight, bias) * 2, gain, shift))


@case(*POOLED_SPREAD_VOLUMES)
def conv_transposed_3d_scale_average_pooling_add_scale(x, weight, bias, scale, term, factor, S, P):
    return (average(spread(x, weight, bias, S, P) * scale) + term) * factor


@case(*POOLED_EXTENDED_VOLUMES)
def conv_transposed_3d_leaky_relu_scale_leaky_relu_max_pooling(x, weight, bias, scale, S, P, E):
    z = leaky_relu(spread(x, weight, bias, S, P, E), 0.2)
    return largest(leaky_relu(z * scale, 0.2))


@case(*sizes("N C O X Y Z K S P", (2, 3, 5, 4, 7, 4, 5, 2, 2), (1, 1, 1, 1, 1, 1, 8, 1, 1)))
def conv_transposed_3d_max_pooling_twice_sum(x, weight, bias, S, P):
    z = largest(largest(spread(x, weight, bias, S, P)), 3)
    return z.sum(axis=1, keepdims=True)


@case(*POOLED_EXTENDED_VOLUMES)
def conv_transposed_3d_max_pooling_softmax_subtract_swish_max(x, weight, bias, term, S, P, E):
    z = softmax(largest(spread(x, weight, bias, S, P, E)))
    z = z - along(term, z)
    return (sigmoid(z) * z).max(axis=1)


@case(*POOLED_SPREAD_VOLUMES)
def conv_transposed_3d_scale_max_pooling_mean_clamp(x, weight, bias, S, P):
    return np.clip(mean_of_places(largest(spread(x, weight, bias, S, P) * 0.5)), 0, 1)


@case(
    *sizes(
        "N C O X Y Z K S P E",
        (2, 3, 5, 5, 6, 9, 3, 2, 1, 1),
        (1, 1, 1, 2, 2, 2, 2, 2, 1, 1),
        (1, 5, 9, 4, 3, 6, 2, 3, 1, 2),
    )
)
def pooled_conv_transposed_3d_clamp_softmax_scale(x, weight, bias, scale, S, P, E):
    z = np.clip(spread(average(x), weight, bias, S, P, E), 0, 1)
    return softmax(z, (2, 3, 4)) * scale


@case(*sizes("N C O X Y Z K P", (2, 3, 5, 3, 4, 11, 3, 1), (1, 1, 1, 1, 1, 1, 3, 1)))
def conv_transposed_3d_mean_add_softmax_tanh_scale(x, weight, bias, term, P):
    means = spread(x, weight, bias, 1, P).mean(axis=2, keepdims=True)
    return np.tanh(softmax(means + term)) * 2


@case(*EXTENDED_VOLUMES)
def conv_transposed_3d_softmax_sigmoid(x, weight, bias, S, P, E):
    return sigmoid(softmax(spread(x, weight, bias, S, P, E)))


@case(*SPREAD_VOLUMES)
def conv_transposed_3d_logsumexp_swish_subtract_clamp(x, weight, bias, term, S, P):
    z = logsumexp(spread(x, weight, bias, S, P))
    return np.clip(z * sigmoid(z + 3) / 6 - term, -1, 1)
