#!/usr/bin/env python3
"""examples/networks/measure.py [--only REGEX] [--seconds S]: these programs and PyTorch, on a GPU.

Each program is compiled with `default` at the sizes below and runs in turns with the same in
PyTorch, eager and compiled by `torch.compile`, in IEEE f32 where the program is: medians of times of
CUDA events with a cold L2 cache, on the same random inputs. The largest difference to PyTorch's
result, relative to its largest element, is printed, too. Needs `tirc` and `torch` (python/README.md).
"""

import argparse
import concurrent.futures
import multiprocessing
import os
import pathlib
import re
import statistics

HERE = pathlib.Path(__file__).resolve().parent
SIZES = {
    "linear_gelu_softmax": {"M": 1024, "N": 8192, "K": 8192},
    "linear_group_norm": {"M": 1024, "C": 512, "K": 8192, "G": 16},
    "linear_batch_norm": {"M": 1024, "N": 8192, "K": 8192},
    "linear_max_pool_sum": {"M": 128, "N": 16384, "K": 32768},
    "linear_sigmoid_logsumexp": {"M": 16384, "N": 1024, "K": 2048, "H": 4096},
    "perceptron": {"M": 128, "N": 8192, "K": 16384, "H": 16384},
    "conv_mish": {"B": 64, "C": 64, "F": 128, "H": 254, "W": 254},
    "conv_min_tanh": {"B": 128, "C": 16, "F": 64, "H": 254, "W": 254},
    "basic_block": {"B": 32, "C": 64, "H": 56, "W": 56},
    "swiglu": {"M": 4096, "N": 14336, "K": 4096},
    "feed_forward": {"M": 4096, "K": 2048, "H": 8192},
    "norm_linear": {"M": 4096, "N": 6144, "K": 2048},
    "linear_rms_norm": {"M": 4096, "N": 4096, "K": 4096},
    "rotary": {"M": 4096, "H": 32, "K": 4096, "R": 64},
    "lora": {"M": 4096, "N": 4096, "K": 4096, "R": 16},
    "decode": {"B": 16, "G": 8, "R": 4, "S": 8192, "D": 128},
    "token_loss": {"M": 2048, "V": 50304, "K": 2048},
    "lstm": {"T": 64, "B": 128, "I": 256, "H": 512},
}


def file_of(name):
    """The file that has a program."""
    return next(
        path
        for path in sorted(HERE.glob("*.tir"))
        if re.search(rf"^kernel {name}\b", path.read_text(), re.M)
    )


def compiled(name):
    import tirc

    return tirc.compile(file_of(name), name, schedule="default", **SIZES[name])


def prepare(name):
    """Compiles a program into the cache, in a process of its own."""
    compiled(name).prepare()


def peers():
    """The same in PyTorch: what takes the inputs of each program."""
    import torch
    import torch.nn.functional as F

    def of_channels(t):
        return t[:, None, None]

    def basic_block(x, w, g, s, v, h, u):
        inner = F.conv2d(x, w, padding=1) * of_channels(g) + of_channels(s)
        outer = F.conv2d(F.relu(inner), v, padding=1) * of_channels(h) + of_channels(u)
        return F.relu(outer + x)

    def linear_batch_norm(x, w, b, s, gain, shift):
        return F.batch_norm(F.linear(x, w, b) * s, None, None, gain, shift, training=True)

    def linear_group_norm(x, w, b, gain, shift):
        c = F.linear(x, w.flatten(0, 1), b.flatten())
        return F.hardtanh(F.group_norm(c, w.shape[0], gain.flatten(), shift.flatten()), -2, 2)

    def linear_rms_norm(x, w, r, g):
        h = F.linear(x, w) + r
        return h, F.rms_norm(h.float(), (h.shape[1],), g.float(), 1e-6).to(h.dtype)

    def rotary(x, w, c, s):
        q = F.linear(x, w.view(-1, w.shape[2])).float().view(x.shape[0], w.shape[0], -1)
        a, b = q.chunk(2, -1)
        c, s = c[:, None], s[:, None]
        turned = torch.cat([a * c - b * s, a * s + b * c], -1)
        return turned.permute(1, 0, 2).to(x.dtype).contiguous()

    def token_loss(x, w, word):
        return F.cross_entropy(F.linear(x, w).float(), word.long(), reduction="none")

    def lstm(x, wx, wh, b):
        state = x.new_zeros(2, 1, x.shape[1], wh.shape[1]).unbind()
        weights = [wx, wh, b, torch.zeros_like(b)]
        h, _, c = torch.lstm(x, state, weights, True, 1, 0.0, False, False, False)
        return torch.cat([torch.zeros_like(h[:1]), h]), c[0]

    return {
        "lstm": lstm,
        "linear_gelu_softmax": lambda x, w, b: F.gelu(F.linear(x, w, b)).softmax(1),
        "linear_group_norm": linear_group_norm,
        "linear_batch_norm": linear_batch_norm,
        "linear_max_pool_sum": lambda x, w, b, s: (
            F.max_pool1d(F.linear(x, w, b)[:, None], 2)[:, 0].sum(1) * s
        ),
        "linear_sigmoid_logsumexp": lambda x, w, b, v, a: torch.logsumexp(
            F.linear(torch.sigmoid(F.linear(x, w, b)), v, a), 1
        ),
        "perceptron": lambda x, u, a, v, b, w, c: F.linear(
            F.relu(F.linear(F.relu(F.linear(x, u, a)), v, b)), w, c
        ),
        "conv_mish": lambda x, w, b: F.mish(F.mish(F.conv2d(x, w, b))),
        "conv_min_tanh": lambda x, w, b: torch.tanh(torch.tanh(F.conv2d(x, w, b).amin(1))),
        "basic_block": basic_block,
        "swiglu": lambda x, v, w: F.silu(F.linear(x, v)) * F.linear(x, w),
        "feed_forward": lambda x, v, a, w, b: F.linear(F.gelu(F.linear(x, v, a)), w, b) + x,
        "norm_linear": lambda x, g, h, w, b: F.linear(F.layer_norm(x, x.shape[1:], g, h), w, b),
        "linear_rms_norm": linear_rms_norm,
        "rotary": rotary,
        "lora": lambda x, w, a, b, scale: F.linear(x, w) + scale * F.linear(F.linear(x, a), b),
        "decode": F.scaled_dot_product_attention,
        "token_loss": token_loss,
    }


def inputs_of(name):
    """Random inputs: the first one in [-0.5, 0.5), others a tenth of that, so that sums stay small."""
    import torch

    types = {"f32": torch.float32, "bf16": torch.bfloat16}
    text = file_of(name).read_text()
    head = re.search(rf"^kernel {name}<.*?>\s*\((.*?)\)\s*->", text, re.M | re.S)[1]
    given = []
    for number, (kind, shape) in enumerate(re.findall(r"\w+: (\w+)(?:\[(.*?)\])?", head)):
        sides = [eval(side, {}, SIZES[name]) for side in shape.split(",") if side]
        if not sides:
            given.append(0.5)
        elif kind == "i32":
            given.append(torch.randint(0, SIZES[name]["V"], sides, dtype=torch.int32))
        else:
            low = 0.5 if number == 0 or name == "decode" else 0.05
            given.append((torch.rand(sides) * 2 * low - low).to(types[kind]))
    return given


def medians(runs, seconds):
    """The medians of the milliseconds of each, in turns, each with a cold L2 cache."""
    import torch

    flush = torch.empty(256 << 20, dtype=torch.uint8)

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

    times(2)
    turns = int(seconds * 1e3 / (sum(times(1)[0]) + 0.1 * len(runs)))
    return [
        statistics.median(column) for column in zip(*times(min(100, max(3, turns))), strict=True)
    ]


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def difference(got, wanted):
    return max(
        ((g.float().flatten() - w.float().flatten()).abs().max() / w.float().abs().max()).item()
        for g, w in zip(as_tuple(got), as_tuple(wanted), strict=True)
    )


def measure(name, peer, seconds):
    import torch

    kernel, given = compiled(name), inputs_of(name)
    error = difference(kernel(*given), peer(*given))
    faster = torch.compile(peer)
    faster(*given)
    runs = [lambda: kernel(*given), lambda: peer(*given), lambda: faster(*given)]
    ours, eager, other = medians(runs, seconds)
    ratio = min(eager, other) / ours
    print(f"| {name} | {ours:.4f} | {eager:.4f} | {other:.4f} | {ratio:.2f} | {error:.0e} |")
    torch._dynamo.reset()
    torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="programs whose name has a match of it")
    parser.add_argument("--seconds", default=0.5, type=float, help="that runs of a program take")
    arguments = parser.parse_args()
    names = [name for name in SIZES if re.search(arguments.only, name)]
    import torch

    torch.set_default_device("cuda")
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    with concurrent.futures.ProcessPoolExecutor(
        os.cpu_count(), multiprocessing.get_context("spawn")
    ) as pool:
        list(pool.map(prepare, names))
    print("| program | tirc, ms | eager | compiled | least / tirc | difference |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in names:
        measure(name, peers()[name], arguments.seconds)


if __name__ == "__main__":
    main()
