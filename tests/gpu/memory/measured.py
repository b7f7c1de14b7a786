"""How tests/gpu/memory/run measures and verifies a row. Only the processes that compile and run
kernels import this: `prepare` needs tirc, the rest torch, too."""

from pathlib import Path

import tirc

ROOT = Path(__file__).resolve().parents[3]


def compiled(row, at, symbolic=False):
    sizes = dict.fromkeys(at, "?") if symbolic else at
    kind = {} if row.type == "f32" else {"T": row.type}
    return tirc.compile(ROOT / row.program, row.kernel, schedule="default", **sizes, **kind)


def prepare(row):
    """Compiles what a row needs, into the cache."""
    compiled(row, row.at, row.symbolic).prepare()
    if row.other or row.symbolic:
        compiled(row, row.other or row.at).prepare()


def simulate(row):
    """The error at small sizes."""
    import torch

    torch.manual_seed(0)
    kernel, given = with_inputs(row, row.shrunk)
    kernel = compiled(row, row.shrunk, row.symbolic)
    return {"error": error(row, kernel, given, kernel(*given.values()))}


def measure(row, library, seconds):
    import peers
    import torch

    torch.set_default_device("cuda")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(0)
    constant, given = with_inputs(row, row.at)
    kernel = compiled(row, row.at, True) if row.symbolic else constant
    got = kernel(*given.values())
    found = {"error": error(row, constant, given, got), "bytes": bytes_of(got, *given.values())}
    del got
    others, left_out = [], {}
    for name in row.peers:
        try:
            others.append((name, *peer(name, row, constant, given, library)))
        except (RuntimeError, OSError) as e:
            left_out[name] = f"{type(e).__name__}: {str(e).strip()}"
    ms, *times = peers.medians([on(kernel, given), *(run for _, run, _ in others)], seconds)
    per = amount(row, row.at, found["bytes"])
    scaled = {name: t * per / (n or per) for (name, _, n), t in zip(others, times, strict=True)}
    return found | {"ms": ms, "peers": scaled, "left_out": left_out}


def with_inputs(row, at):
    import check_torch
    import peers
    import torch

    kernel = compiled(row, at)
    given = dict(check_torch.inputs(peers.TABLE[row.reference], kernel))
    if row.type == "bf16":
        given = {name: a.to(torch.bfloat16) for name, a in given.items()}
    return kernel, given


def error(row, kernel, given, got):
    """The largest one, of what is allowed."""
    import check_torch
    import peers

    return check_torch.error_of(peers.TABLE[row.reference], kernel, given, got, 1 << 26)


def on(kernel, given):
    values = tuple(given.values())
    return lambda: kernel(*values)


def bytes_of(*values):
    import torch

    return sum(a.numel() * a.element_size() for a in values if torch.is_tensor(a))


def amount(row, at, bytes):
    """What times at different sizes are compared by."""
    return at["M"] * at["N"] * at["K"] if row.kernel == "matmul" else bytes


def peer(name, row, constant, given, library):
    """A run, which has run once, and if its sizes are others, its amount of work."""
    import peers

    if name == "constant":
        return on(constant, given), None
    if name == "even":
        kernel, others = with_inputs(row, row.other)
        bytes = bytes_of(kernel(*others.values()), *others.values())
        return on(kernel, others), amount(row, row.other, bytes)
    run = peers.PEERS[name](row, given, library)
    got = run()
    if name == "cub" and error(row, constant, given, got) > 1:
        raise RuntimeError("another result")
    return run, None
