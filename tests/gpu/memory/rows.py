"""The rows of tests/gpu/memory/run: a program, its sizes, its peers and what its speed must reach.

A row is measured against the fastest of its peers:

  eager, compiled  the reference in torch, as it is and by torch.compile
  cub              the same by CUB
  memcpy           cudaMemcpy of as many bytes from the device to itself
  read             a kernel that only reads the largest input
  even, constant   the same program at the sizes `other`; with sizes as constants

Needs no torch: references.py of examples/kernelbench and peers.py have the computations."""

import dataclasses

OWN = "tests/gpu/memory/programs.tir"
NESTS = "tests/gpu/memory/nests.tir"
PRODUCTS = "examples/products/products.tir"
HISTOGRAM = "examples/collections/cuda_samples/histogram256.tir"


@dataclasses.dataclass(frozen=True)
class Row:
    work: str
    program: str
    kernel: str
    at: dict  # the sizes, in the order of the table
    peers: tuple
    least: float | None  # the speed in units of the peer's
    reference: str
    type: str = "f32"
    symbolic: bool = False
    other: dict | None = None  # the sizes of the peer "even"
    small: dict = dataclasses.field(default_factory=dict)  # on the simulator, where not `shrunk`

    @property
    def sizes(self):
        return " x ".join(str(n) for n in self.at.values()) + ", symbolic" * self.symbolic

    @property
    def title(self):
        return f"{self.work} {self.sizes}"

    @property
    def shrunk(self):
        """Small sizes with the remainders of the large ones."""
        step = 4096 if len(self.at) == 1 else 64
        small = {name: n if n <= step else step + n % step for name, n in self.at.items()}
        return small | self.small


def odd(row, **at):
    """At sizes that no tile divides, against even ones."""
    work, at = f"{row.work}, odd", row.at | at
    return dataclasses.replace(row, work=work, at=at, peers=("even",), least=0.95, other=row.at)


def symbolic(row):
    return dataclasses.replace(row, symbolic=True, peers=("constant",), least=0.9)


# ---- what the table is about ---------------------------------------------------------------------

TORCH = ("eager", "compiled")


def product(m, n, k):
    at = {"M": m, "N": n, "K": k}
    return Row("matmul f32", PRODUCTS, "matmul", at, ("eager",), 1.02, "matmul_square")


def operator(work, program, at, peers=TORCH, least=1.2, small=None, **more):
    """Of KernelBench."""
    path, kernel = f"examples/kernelbench/{program}.tir", more.pop("kernel", program)
    return Row(work, path, kernel, at, peers, least, kernel, small=small or {}, **more)


def own(work, kernel, at, peers, least, reference=None, **more):
    return Row(work, OWN, kernel, at, peers, least, reference or kernel, **more)


def softmax(m, n, least, kind):
    at = {"M": m, "N": n}
    return own(f"softmax {kind}", "softmax", at, TORCH, least, f"softmax_{kind}", type=kind)


def nests(work, kernel, m, n, kind):
    at = {"M": m, "N": n}
    return Row(f"{work}, {kind}", NESTS, kernel, at, TORCH, 1.0, f"{kernel}_{kind}", type=kind)


def norm(work, at, **more):
    return operator(work, more.pop("program", work.replace(" ", "_")), at, **more)


def images(n, c=64, side=512):
    return {"N": n, "C": c, "H": side, "W": side}


FEW_IMAGES = {"N": 2, "C": 4}
GI, MI = 1 << 30, 1 << 20
VECTOR = operator("matrix-vector f32", "matrix_vector", {"M": 2048, "K": 1 << 20}, ("eager",), 1.02)
SUM = own("sum f32", "sum", {"N": GI}, ("cub",), 1.0)
LARGEST = own("max f32", "largest", {"N": GI}, ("cub",), 1.0)
ARGMAX = own("argmax f32", "argmax", {"N": GI}, ("cub",), 1.0)
COLUMNS = operator("column sums f32", "sum_reduction", {"B": 128, "M": 4096, "N": 4095},
                   ("read",), 0.97, {"B": 2})  # fmt: skip
SOFTMAX = softmax(16384, 8192, 1.1, "f32")
LAYER_NORM = norm("layer norm", images(16, 64, 256), small=FEW_IMAGES)
GROUP_NORM = norm("group norm", {"N": 112, "G": 8, "C": 64, "H": 512, "W": 512},
                  small={"N": 2, "G": 2, "C": 4})  # fmt: skip
INSTANCE_NORM = norm("instance norm", images(112), small=FEW_IMAGES)
BATCH_NORM = norm("batch norm", images(64), small=FEW_IMAGES)
BATCH_NORM_GIVEN = norm("batch norm, given mean", images(64), program="batch_norm",
                        kernel="batch_norm_inference", small=FEW_IMAGES)  # fmt: skip
RMS_NORM = norm("RMS norm", images(112), program="rms_norm", small=FEW_IMAGES)
SCANS = operator("cumulative sums f32", "cumsum", {"M": 32768, "N": 32768}, least=1.25,
                 small={"M": 3})  # fmt: skip
SCAN = operator("cumulative sum f32", "cumsum", {"M": 1, "N": 1 << 28}, least=1.3)

SOFTMAX_OF_NESTS = nests("softmax by nests", "softmax_of_nests", 16384, 8192, "f32")


def histogram(data):
    return Row(f"histogram u8, {data}", HISTOGRAM, "histogram256", {"N": 1 << 28}, ("cub",), 1.5,
               f"histogram_{data}")  # fmt: skip


def indexed(work, kernel, order):
    return own(f"{work} f32, {order}", kernel, {"N": 64 * MI}, TORCH, 1.1, f"{kernel}_{order}")


HISTOGRAM_UNIFORM, HISTOGRAM_EQUAL = histogram("uniform"), histogram("equal")
GATHER, SCATTER = indexed("gather", "gather", "random"), indexed("scatter-add", "scatter_add",
                                                                 "random")  # fmt: skip
MATRIX = {"M": 16384, "N": 8192}
CHAIN = own("chain f32", "chain", MATRIX, ("memcpy",), 0.99)
BROADCAST = own("chain with broadcasts f32", "broadcast_chain", MATRIX, ("memcpy",), 0.99)
PLANE = own("stencil f32", "stencil_2d", {"N": 8192, "M": 8192}, ("memcpy",), 0.97)
CUBE = own("stencil f32", "stencil_3d", {"L": 512, "N": 512, "M": 512}, ("memcpy",), 0.97,
           small={"L": 5, "N": 9})  # fmt: skip

ROWS = [
    product(768, 768, 768),
    product(8192, 128, 8192),
    product(64, 64, 65536),
    product(16, 16384, 16384),
    product(256, 256, 524288),
    product(2049, 2047, 2045),
    VECTOR,
    SUM,
    LARGEST,
    ARGMAX,
    COLUMNS,
    softmax(4096, 393216, 1.3, "f32"),
    SOFTMAX,
    softmax(65536, 512, 1.1, "f32"),
    softmax(4096, 393216, 1.3, "bf16"),
    softmax(16384, 8192, 1.1, "bf16"),
    softmax(65536, 512, 1.1, "bf16"),
    SOFTMAX_OF_NESTS,
    nests("softmax of temporaries", "softmax_of_temps", 16384, 8192, "bf16"),
    nests("layer norm by nests", "norm_of_nests", 16384, 4096, "f32"),
    nests("layer norm by nests", "norm_of_nests", 4096, 65536, "f32"),
    nests("layer norm by nests", "norm_of_nests", 16384, 4096, "bf16"),
    nests("layer norm of a sum", "norm_of_sum", 8192, 768, "f32"),
    nests("layer norm of a sum", "norm_of_sum", 4096, 4096, "f32"),
    nests("layer norm of a sum", "norm_of_sum", 8192, 768, "bf16"),
    nests("layer norm of a sum", "norm_of_sum", 8192, 4096, "bf16"),
    nests("RMS norm of rows", "rms_norm_of_rows", 16384, 4096, "bf16"),
    LAYER_NORM,
    GROUP_NORM,
    INSTANCE_NORM,
    BATCH_NORM,
    BATCH_NORM_GIVEN,
    RMS_NORM,
    SCANS,
    SCAN,
    HISTOGRAM_UNIFORM,
    HISTOGRAM_EQUAL,
    GATHER,
    indexed("gather", "gather", "sorted"),
    SCATTER,
    indexed("scatter-add", "scatter_add", "sorted"),
    CHAIN,
    BROADCAST,
    PLANE,
    CUBE,
    odd(product(2048, 2048, 2048), M=2049, N=2047, K=2045),
    odd(VECTOR, M=2047, K=1048575),
    odd(SUM, N=GI - 1),
    odd(ARGMAX, N=GI - 1),
    odd(dataclasses.replace(COLUMNS, at=COLUMNS.at | {"N": 4096}), M=4095, N=4095),
    odd(SOFTMAX, M=16383, N=8191),
    odd(softmax(16384, 8192, 1.1, "bf16"), M=16383, N=8191),
    odd(softmax(65536, 512, 1.1, "f32"), M=65535, N=511),
    odd(LAYER_NORM, N=15, C=63, H=255, W=257),
    odd(INSTANCE_NORM, N=111, C=63, H=511, W=511),
    odd(RMS_NORM, N=111, C=63, H=511, W=511),
    odd(dataclasses.replace(SCANS, at=MATRIX), M=16383, N=8191),
    odd(SCAN, N=(1 << 28) - 1),
    odd(HISTOGRAM_UNIFORM, N=(1 << 28) - 1),
    odd(GATHER, N=64 * MI - 1),
    odd(SCATTER, N=64 * MI - 1),
    odd(CHAIN, M=16383, N=8191),
    odd(BROADCAST, M=16383, N=8191),
    odd(PLANE, N=8191, M=8191),
    odd(CUBE, L=511, N=511, M=511),
    symbolic(product(2048, 2048, 2048)),
    symbolic(VECTOR),
    symbolic(SUM),
    symbolic(COLUMNS),
    symbolic(SOFTMAX),
    symbolic(softmax(16384, 8192, 1.1, "bf16")),
    symbolic(softmax(16384, 4000, 1.1, "bf16")),
    symbolic(softmax(65536, 512, 1.1, "bf16")),
    symbolic(softmax(16383, 8191, 1.1, "bf16")),
    symbolic(softmax(65536, 511, 1.1, "bf16")),
    symbolic(SOFTMAX_OF_NESTS),
    symbolic(LAYER_NORM),
    symbolic(RMS_NORM),
    symbolic(dataclasses.replace(SCANS, at=MATRIX)),
    symbolic(HISTOGRAM_UNIFORM),
    symbolic(GATHER),
    symbolic(CHAIN),
    symbolic(PLANE),
]
