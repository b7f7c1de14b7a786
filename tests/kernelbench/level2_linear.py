"""What the operators of examples/kernelbench/level2 with linear layers and 2-D convolutions
compute, in NumPy and double precision (cases.py)."""

import math

import numpy as np
from cases import average, convolved, largest, normalized
from operators import Cases, sizes

CASES = Cases()
case = CASES.case


# ---- what follows the layers ---------------------------------------------------------------------


def linear(x, weight, bias=0):
    return x @ weight.T + bias


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def swish(x):
    return x * sigmoid(x)


def gelu(x):
    return x * np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)))(x)


def mish(x):
    return x * np.tanh(np.log1p(np.exp(x)))


def relu(x):
    return np.maximum(x, 0)


def leaky_relu(x, slope):
    return relu(x) + slope * np.minimum(x, 0)


def hard_swish(x):
    return x * np.clip(x + 3, 0, 6) / 6


def softmax(x):
    e = np.exp(x)
    return e / e.sum(axis=1, keepdims=True)


def logsumexp(x):
    return np.log(np.exp(x).sum(axis=1, keepdims=True))


def groups_of_columns(x, G, gain, shift):
    parts = x.reshape(x.shape[0], G, -1)
    return normalized(parts, 2).reshape(x.shape) * gain + shift


def batch(x, gain, shift):
    return normalized(x, 0) * gain + shift


# ---- linear layers -------------------------------------------------------------------------------

LINEAR = sizes("M N K", (13, 37, 67))
ALONE = sizes("M N K", (13, 37, 67), (1, 1, 1))
GROUPS = sizes("M N K G", (13, 35, 67, 5))
POOLS = sizes("M N K P", (13, 37, 67, 3))


@case(*ALONE)
def linear_subtract_scale_relu(x, weight, bias):
    return relu((linear(x, weight, bias) - 2) * 1.5)


@case(*LINEAR)
def linear_scale_leaky_relu(x, weight, bias):
    return leaky_relu(linear(x, weight, bias) * 2, 0.1)


@case(*ALONE)
def linear_mish_mish(x, weight, bias):
    return mish(mish(linear(x, weight, bias)))


@case(*LINEAR)
def linear_scale_residual(x, weight, bias):
    return 1.5 * linear(x, weight, bias)


@case(*LINEAR)
def linear_scale_hard_tanh_gelu(x, weight, bias):
    return gelu(np.clip(linear(x, weight, bias) / 2, -2, 2))


@case(*LINEAR)
def linear_swish_scale(x, weight, bias):
    return 2 * swish(linear(x, weight, bias))


@case(*LINEAR)
def linear_relu_divide(x, weight, bias):
    return relu(linear(x, weight, bias)) / 2


@case(*LINEAR)
def linear_min_subtract(x, weight, bias, constant):
    return np.minimum(linear(x, weight, bias) - constant, 0)


@case(*LINEAR)
def linear_sigmoid_scale_residual(x, weight, bias):
    t = linear(x, weight, bias)
    return 2 * sigmoid(t) + t


@case(*LINEAR)
def linear_bias_relu(x, weight, bias):
    return relu(linear(x, weight, bias))


@case(*LINEAR)
def linear_swish_divide_clamp_tanh(x, weight, bias):
    return np.tanh(np.clip(swish(linear(x, weight, bias)) / 2, -1, 1))


@case(*LINEAR)
def linear_divide_gelu(x, weight, bias):
    return gelu(linear(x, weight, bias) / 10)


@case(*LINEAR)
def linear_add_swish_tanh_gelu_hard_tanh(x, weight, bias, add_value):
    return np.clip(gelu(np.tanh(swish(linear(x, weight, bias) + add_value))), -1, 1)


# ---- linear layers whose rows are reduced --------------------------------------------------------


@case(*LINEAR)
def linear_divide_sum_scale(x, weight):
    return 0.75 * linear(x, weight).sum(axis=1, keepdims=True)


@case(*ALONE)
def linear_sum_max_mean_logsumexp(x, weight, bias):
    """A maximum, a mean and logarithms of sums of exponentials of one number change nothing."""
    return linear(x, weight, bias).sum(axis=1, keepdims=True)


@case(*LINEAR)
def linear_scale_residual_clamp_logsumexp_mish(x, weight, bias):
    total = logsumexp(np.clip(4 * linear(x, weight, bias), -10, 10))
    return total * mish(total)


@case(*sizes("M N K L", (13, 37, 67, 19), (1, 1, 1, 1)))
def linear_sigmoid_linear_logsumexp(x, weight, bias, weight_2, bias_2):
    return logsumexp(linear(sigmoid(linear(x, weight, bias)), weight_2, bias_2))[:, 0]


@case(*LINEAR)
def linear_subtract_mean_logsumexp_gelu_residual(x, weight, bias, subtract):
    return gelu((linear(x, weight, bias) - subtract).mean(axis=1, keepdims=True)) + x


@case(*POOLS)
def linear_max_pool_sum_scale(x, weight, bias, P):
    t = linear(x, weight, bias)
    whole = t[:, : t.shape[1] // P * P]
    return whole.reshape(len(t), -1, P).max(axis=2).sum(axis=1) / 2


@case(*LINEAR)
def linear_sigmoid_sum(x, weight, bias):
    return sigmoid(linear(x, weight, bias)).sum(axis=1, keepdims=True)


@case(*LINEAR)
def linear_logsumexp_leaky_relu_gelu(x, weight, bias):
    return gelu(gelu(leaky_relu(logsumexp(linear(x, weight, bias)), 1e-4)))


@case(*LINEAR)
def linear_max_subtract_gelu(x, weight, bias):
    """The mean of one number is this number."""
    return np.zeros((len(x), 1))


@case(*POOLS)
def linear_average_pool_gelu_scale_max(x, weight, bias, P):
    t = linear(x, weight, bias)
    whole = t[:, : t.shape[1] // P * P]
    return 2 * gelu(whole.reshape(len(t), -1, P).mean(axis=2)).max(axis=1)


# ---- linear layers and norms ---------------------------------------------------------------------


@case(*ALONE)
def linear_instance_norm_residual_multiply(x, weight, bias, y):
    return (normalized(linear(x, weight, bias), 1) + y) * y


@case(*GROUPS)
def linear_group_norm_hard_tanh(x, weight, bias, gain, shift, G):
    return np.clip(groups_of_columns(linear(x, weight, bias), G, gain, shift), -2, 2)


@case(*ALONE)
def linear_scale_batch_norm(x, weight, bias, scale, gain, shift):
    return batch(linear(x, weight, bias) * scale, gain, shift)


@case(*GROUPS)
def linear_swish_bias_group_norm(x, weight, bias, bias_2, gain, shift, G):
    return groups_of_columns(swish(linear(x, weight, bias)) + bias_2, G, gain, shift)


@case(*LINEAR)
def linear_scale_batch_norm_tall(x, weight, bias, scale, gain, shift):
    return batch(linear(x, weight, bias) * scale, gain, shift)


@case(*LINEAR)
def linear_batch_norm_gelu_relu(x, weight, bias, gain, shift):
    return relu(gelu(batch(linear(x, weight, bias), gain, shift)))


@case(*GROUPS)
def linear_group_norm_leaky_relu_double(x, weight, bias, gain, shift, G):
    return 2 * leaky_relu(groups_of_columns(linear(x, weight, bias), G, gain, shift), 0.01)


@case(*ALONE)
def linear_softmax(x, weight, bias):
    return softmax(linear(x, weight, bias))


@case(*GROUPS)
def linear_group_norm_min_bias(x, weight, bias, gain, shift, bias_2, G):
    least = groups_of_columns(linear(x, weight, bias), G, gain, shift).min(axis=1)
    return bias_2 + least[:, None]


@case(*LINEAR)
def linear_batch_norm_scale_softmax(x, weight, bias, gain, shift, scale):
    return softmax(scale * batch(linear(x, weight, bias), gain, shift))


@case(*GROUPS)
def linear_group_norm_swish_multiply_swish(x, weight, bias, gain, shift, multiply_weight, G):
    normal = groups_of_columns(linear(x, weight, bias), G, gain, shift)
    return swish(swish(normal) * multiply_weight)


@case(*GROUPS)
def linear_bias_hard_tanh_mish_group_norm(x, weight, bias, bias_2, gain, shift, G):
    clipped = np.clip(linear(x, weight, bias) + bias_2, -1, 1)
    return groups_of_columns(mish(clipped), G, gain, shift)


@case(*LINEAR)
def linear_batch_norm_bias_divide_swish(x, weight, bias, gain, shift, bias_2):
    return swish(batch(linear(x, weight, bias), gain, shift) + bias_2)


@case(*LINEAR)
def linear_gelu_softmax(x, weight, bias):
    return softmax(gelu(linear(x, weight, bias)))


# ---- 2-D convolutions ----------------------------------------------------------------------------

IMAGES = sizes("N C O H W K", (3, 5, 6, 9, 13, 3))
PIXELS = sizes("N C O H W K", (3, 5, 6, 9, 13, 3), (1, 1, 1, 1, 1, 1))
SQUARES = sizes("N C O H W K P", (3, 5, 6, 9, 13, 3, 2))
CHANNELS = sizes("N C O H W K G", (3, 5, 6, 9, 13, 3, 2))


def by_channel(v):
    return v.reshape(-1, 1, 1)


def conv(x, weight, bias):
    return convolved(x, weight) + by_channel(bias)


def max_pool(x, P):
    return largest(x, P, P, 0, 1)


def mean_pool(x, P):
    return average(x, P, P, 0)


def groups_of_channels(x, G, gain, shift):
    n, o, h, w = x.shape
    normal = normalized(x.reshape(n, G, o // G, h, w), (2, 3, 4)).reshape(x.shape)
    return normal * by_channel(gain) + by_channel(shift)


def batch_of_images(x, gain, shift):
    return normalized(x, (0, 2, 3)) * by_channel(gain) + by_channel(shift)


@case(*PIXELS)
def conv_2d_relu_bias(x, weight, bias, bias_2):
    return relu(conv(x, weight, bias)) + bias_2


@case(*IMAGES)
def conv_2d_mish_mish(x, weight, bias):
    return mish(mish(conv(x, weight, bias)))


@case(*IMAGES)
def conv_2d_min_bias_scale(x, weight, bias, bias_2):
    return 2 * (np.minimum(conv(x, weight, bias), 0.5) + bias_2)


@case(*IMAGES)
def conv_2d_scale_leaky_relu_gelu(x, weight, bias, multiplier):
    return gelu(leaky_relu(conv(x, weight, bias) * multiplier, 0.01))


@case(*IMAGES)
def conv_2d_relu_hard_swish(x, weight, bias):
    return hard_swish(relu(conv(x, weight, bias)))


@case(*IMAGES)
def conv_2d_hard_swish_relu(x, weight, bias):
    return relu(hard_swish(conv(x, weight, bias)))


@case(*IMAGES)
def conv_2d_divide_leaky_relu(x, weight, bias):
    return leaky_relu(conv(x, weight, bias) / 2, 0.01)


@case(*IMAGES)
def conv_2d_subtract_mish(x, weight, bias):
    return mish(conv(x, weight, bias) - 0.7)


@case(*PIXELS)
def conv_2d_min_tanh_tanh(x, weight, bias):
    return np.tanh(np.tanh(conv(x, weight, bias).min(axis=1, keepdims=True)))


@case(*IMAGES)
def conv_2d_scale_min(x, weight, bias):
    return 2 * conv(x, weight, bias).min(axis=1, keepdims=True)


@case(*SQUARES)
def conv_2d_hard_swish_max_pool_mish(x, weight, bias, P):
    return mish(max_pool(hard_swish(conv(x, weight, bias) - 0.5), P))


@case(*SQUARES)
def conv_2d_tanh_average_pool(x, weight, bias, P):
    return mean_pool(np.tanh(conv(x, weight, bias) - 0.5) - 0.2, P)


@case(*SQUARES)
def conv_2d_average_pool_sigmoid_sum(x, weight, bias, P):
    return sigmoid(mean_pool(conv(x, weight, bias), P)).sum(axis=(1, 2, 3))


@case(*PIXELS)
def conv_2d_gelu_mean(x, weight, bias):
    return gelu(conv(x, weight, bias)).mean(axis=(2, 3))


@case(*SQUARES)
def conv_2d_tanh_scale_bias_max_pool(x, weight, bias, bias_2, P):
    return max_pool(2 * np.tanh(conv(x, weight, bias)) + bias_2, P)


@case(*IMAGES)
def conv_2d_instance_norm_divide(x, weight, bias):
    return normalized(conv(x, weight, bias), (2, 3)) / 2


@case(*CHANNELS)
def conv_2d_add_scale_sigmoid_group_norm(x, weight, bias, bias_2, scale, gain, shift, G):
    return groups_of_channels(sigmoid((conv(x, weight, bias) + bias_2) * scale), G, gain, shift)


@case(*IMAGES)
def conv_2d_mish_batch_norm(x, weight, bias, gain, shift):
    return batch_of_images(mish(conv(x, weight, bias)), gain, shift)


@case(*PIXELS)
def conv_2d_batch_norm_scale(x, weight, bias, gain, shift):
    return 2 * batch_of_images(conv(x, weight, bias), gain, shift)


@case(*sizes("N C O H W K G P", (3, 5, 6, 9, 13, 3, 2, 4)))
def conv_2d_group_norm_scale_max_pool_clamp(x, weight, bias, gain, shift, scale, G, P):
    normal = groups_of_channels(conv(x, weight, bias), G, gain, shift)
    return np.clip(max_pool(normal * scale, P), 0, 1)


@case(*CHANNELS)
def conv_2d_group_norm_tanh_residual_logsumexp(x, weight, bias, gain, shift, G):
    t = conv(x, weight, bias)
    return logsumexp(t + hard_swish(np.tanh(groups_of_channels(t, G, gain, shift))))
