"""Names that mean something somewhere, and programs that use each of them in every role.

Programs are given as (text, arguments of tirc, what the outputs must be), computed here, from
inputs that are small integers."""

C_WORDS = """
alignas alignof and and_eq asm auto bitand bitor break case catch char char16_t char32_t char8_t
class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit
continue decltype default delete do double dynamic_cast enum explicit export extern float friend
goto inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
protected public register reinterpret_cast requires restrict short signed sizeof static
static_assert static_cast struct switch template this thread_local throw try typedef typeid typename
typeof union unsigned using virtual void volatile wchar_t while xor xor_eq _Bool _Complex _Atomic
_Noreturn final override import module
""".split()
MACROS = """
NULL EOF INFINITY NAN INT_MAX INT_MIN UINT_MAX LONG_MAX LLONG_MAX CHAR_BIT SIZE_MAX INT32_MAX
UINT64_MAX HUGE_VAL HUGE_VALF M_PI M_E M_LN2 RAND_MAX BUFSIZ SEEK_SET EXIT_SUCCESS EXIT_FAILURE
stdin stdout stderr linux unix CLOCKS_PER_SEC FP_NAN FP_ZERO MATH_ERRNO math_errhandling PATH_MAX
NAME_MAX __FILE__ __LINE__ __CUDA_ARCH__ __CUDACC__ __cplusplus CUDART_VERSION CUDA_VERSION
cudaStreamDefault assert major minor isnan isinf errno offsetof CHECK
""".split()
CUDA = """
threadIdx blockIdx blockDim gridDim warpSize dim3 uint3 float2 float3 float4 int2 int4 uint2 uint4
double2 uchar4 ushort4 half half2 make_float4 make_uint4 __shared__ __constant__ __global__
__device__ __host__ __restrict__ __forceinline__ __launch_bounds__ __align__ __syncthreads __ldg
__ldcs __stcs __shfl_xor_sync __half __nv_bfloat16 __nv_fp8_e4m3 atomicAdd atomicCAS atomicMin
atomicMax cudaMalloc cudaMemcpy cudaError_t cudaSuccess cudaFree cudaGetLastError cudaStream_t clock
clock64 nanosleep all any ballot saturate __int_as_float __uint_as_float __cvta_generic_to_shared
__trap __assertfail __builtin_expect __float128 __int128 add ret mov bra ld st cvt WARP_SZ tid reg
entry func visible param cuda nvcuda cub thrust cooperative_groups nv
""".split()
MATHS = """
exp exp2 expf exp2f log log2 log10 logf log2f sqrt sqrtf rsqrt rsqrtf sin cos tan sinf cosf tanf
to_tf32 f64_to_tf32 host_tf32 to_tf32_rz f64_to_tf32_rz host_tf32_rz
log1p log1pf expm1 expm1f isnan isinf __popc __clzll __dp4a
tanh tanhf erf erff fabs fabsf floor floorf ceil ceilf rint rintf round roundf trunc truncf pow powf
fmod fmodf fma fmaf fmin fmax fminf fmaxf min max abs labs llabs y0 y1 yn j0 j1 jn gamma lgamma
hypot cbrt acos asin atan atan2 cosh sinh ldexp frexp modf remainder scalb signbit significand
norm3d normcdf sincos sinpi cospi umin umax llmin mulhi select step mix
""".split()
LIBRARY = """
malloc free calloc realloc printf fprintf sprintf snprintf puts putchar getchar memcpy memset memcmp
memmove strlen strcpy index rindex read write open close exit abort atoi atof atexit rand srand
random time clock_gettime div ldiv qsort bsearch signal raise link unlink pipe select_ wait fork
kill sleep sync environ end etext edata std vector string sort size_t ptrdiff_t uint8_t int32_t
uint64_t nullptr_t va_list FILE tm timeval
""".split()
TIRC = """
expected compute compute_exactly verify verify_exactly allocate allocated release inputs Inputs
check_grid exact_sum random_real run exact choose compare check check_call Check range argc argv
random_bits random_float random_state main error status call file line rest needed bound nu need i n
z x old result shared_memory combine bits seen word mask shift value policy bytes pending from to at
wanted Word T Value Combine f16_to_f32 f16_from_f32 bf16_to_f32 f8e4m3_to_f32 f32_round_to_odd
atomic_update atomic_update_f32 pack_halves pack_bytes copy_async copy_async_wait copy_async_commit
min_or_nan_f32 max_or_nan_f64 host_clz
load_no_allocate store_evict_first y_host want_y y_data y_err y_abs y_n y_need_0 y_unsure y_v y_v1
y_acc y_shared y_local y_init y_rf y_pad want_y_err setup step_ q r0 r1 x0 ax0 ax1 v0 v1 run0 out
""".split()
SHAPES = (
    "max_ max_1 min_ exp_ exp_1 int_ int_1 a__b a__ _a _A __a __A _1 __1 i_0 i_1 i_0_ N M K A B C"
).split()
TIR = """
in step bind parallel vectorize unroll reduce inout where atomic init block temp launch barrier
commit wait grid pad swizzle align fold sum_digits auto of on split fuse loops
shared local global constant serial spatial index kernel_ range_ select async evict_first streaming
read_only u v w
""".split()
TIR_RESERVED = set(
    "kernel schedule proc include for if else let assert tune return true false inf nan _ "
    "f64 f32 f16 bf16 f8e4m3 f8e5m2 i64 i32 i16 i8 u64 u32 u16 u8 bool index".split()
)

NAMES = [
    name
    for name in dict.fromkeys(C_WORDS + MACROS + CUDA + MATHS + LIBRARY + TIRC + SHAPES + TIR)
    if name not in TIR_RESERVED
]
LANES = 8
CHUNK = 24  # names in one program: each adds an argument, a loop or a statement


class Program:
    """A program with its kernel's name, the inputs as lists, and the outputs as they must be."""

    def __init__(self, text, arguments, inputs, outputs):
        self.text, self.arguments, self.inputs, self.outputs = text, arguments, inputs, outputs


def column(k):
    """The elements of the k-th input."""
    return [(5 * k + 3 * i) % 7 - 3 for i in range(LANES)]


def data(k):
    return f"data_{k}"


def as_kernel(names, _):
    assert len(names) == 1
    return Program(
        f"kernel {names[0]}(zx: f32[{LANES}]) -> zy: f32[{LANES}] {{ for zi in {LANES} "
        f"zy[zi] = zx[zi] + 1; }}\n",
        [],
        {"zx": column(1)},
        {"zy": [v + 1 for v in column(1)]},
    )


def summed(parts, extra=""):
    """`zy[zi]` as a sum, with few terms to a statement."""
    lines = [f"zy[zi] = {parts[0]};"] + [
        f"zy[zi] += {' + '.join(parts[i : i + 8])};" for i in range(1, len(parts), 8)
    ]
    return extra + "\n".join(f"        {line}" for line in lines)


def as_size(names, kernel):
    sizes = ", ".join(names)
    text = (
        f"kernel {kernel}<{sizes}>(zx: f32[{LANES}]) -> zy: f32[{LANES}] {{\n"
        f"    for zi in {LANES} {{\n"
        + summed(["zx[zi]"] + [f"f32(i32({name}))" for name in names])
        + "\n    }\n}\n"
    )
    values = {name: k % 5 + 1 for k, name in enumerate(names)}
    arguments = [word for name in names for word in ("-D", f"{name}=?")]
    return Program(
        text,
        arguments,
        {"zx": column(1), **values},
        {"zy": [v + sum(values.values()) for v in column(1)]},
    )


def as_scalar(names, kernel):
    scalars = ", ".join(f"{name}: f32" for name in names)
    text = (
        f"kernel {kernel}(zx: f32[{LANES}], {scalars}) -> zy: f32[{LANES}] {{\n"
        f"    for zi in {LANES} {{\n" + summed(["zx[zi]", *names]) + "\n    }\n}\n"
    )
    values = {name: k % 5 - 2 for k, name in enumerate(names)}
    return Program(
        text, [], {"zx": column(1), **values}, {"zy": [v + sum(values.values()) for v in column(1)]}
    )


def as_input(names, kernel):
    buffers = ", ".join(f"{name}: f32[{LANES}]" for name in names)
    text = (
        f"kernel {kernel}({buffers}) -> zy: f32[{LANES}] {{\n    for zi in {LANES} {{\n"
        + summed([f"{n}[zi]" for n in names])
        + "\n    }\n}\n"
    )
    inputs = {name: column(k) for k, name in enumerate(names)}
    return Program(
        text,
        [],
        inputs,
        {"zy": [sum(column(k)[i] for k in range(len(names))) for i in range(LANES)]},
    )


def as_output(names, kernel):
    buffers = ", ".join(f"{name}: f32[{LANES}]" for name in names)
    body = "\n".join(f"        {name}[zi] = zx[zi] * {k % 5 + 1};" for k, name in enumerate(names))
    text = (
        f"kernel {kernel}(zx: f32[{LANES}]) -> {buffers} {{\n    for zi in {LANES} {{\n{body}\n"
        f"    }}\n}}\n"
    )
    return Program(
        text,
        [],
        {"zx": column(1)},
        {name: [v * (k % 5 + 1) for v in column(1)] for k, name in enumerate(names)},
    )


def as_temp(names, kernel):
    """Each is a buffer in global memory: loops of their own write and read it."""
    lines = []
    for k, name in enumerate(names):
        lines += [
            f"    temp {name}: f32[{LANES}];",
            f"    for zi in {LANES} {name}[zi] = zx[zi] + {k % 5};",
        ]
    terms = [f"{name}[zi]" for name in names]
    text = (
        f"kernel {kernel}(zx: f32[{LANES}]) -> zy: f32[{LANES}] {{\n"
        + "\n".join(lines)
        + f"\n    for zi in {LANES} {{\n"
        + summed(terms)
        + "\n    }\n}\n"
    )
    return Program(
        text,
        [],
        {"zx": column(1)},
        {"zy": [sum(v + k % 5 for k in range(len(names))) for v in column(1)]},
    )


def as_loop(names, kernel):
    lines = [
        f"    for {name} in {LANES} zy[{k}, {name}] = zx[{name}] + {k};"
        for k, name in enumerate(names)
    ]
    text = (
        f"kernel {kernel}(zx: f32[{LANES}]) -> zy: f32[{len(names)}, {LANES}] {{\n"
        + "\n".join(lines)
        + "\n}\n"
    )
    return Program(
        text, [], {"zx": column(1)}, {"zy": [v + k for k in range(len(names)) for v in column(1)]}
    )


def as_block(names, kernel):
    """Labels of statements; one reduction each, so that lowering names inits and accumulators after
    the block and the buffer."""
    lines = [
        f"    for zi in {LANES} {{ zy[{k}, zi] = 0; for zj in 3 {name}: "
        f"zy[{k}, zi] += zx[zi] * {k % 5}; }}"
        for k, name in enumerate(names)
    ]
    text = (
        f"kernel {kernel}(zx: f32[{LANES}]) -> zy: f32[{len(names)}, {LANES}] {{\n"
        + "\n".join(lines)
        + "\n}\n"
    )
    return Program(
        text,
        [],
        {"zx": column(1)},
        {"zy": [3 * v * (k % 5) for k in range(len(names)) for v in column(1)]},
    )


def as_split(names, kernel):
    """Names that a schedule gives: `let [NAME, zi] = split(...)`."""
    base = as_loop([f"zl{k}" for k in range(len(names))], kernel)
    blocks = base.text.replace(" zy[", " zb: zy[")
    for k in range(len(names)):
        blocks = blocks.replace("zb: ", f"zb{k}: ", 1)
    steps = "\n".join(
        f"    let [{name}, zi{k}] = split(loops(zb{k})[0], [_, 4]);" for k, name in enumerate(names)
    )
    return Program(
        blocks + f"schedule zs for {kernel} {{\n{steps}\n}}\n",
        ["--schedule", "zs"],
        base.inputs,
        base.outputs,
    )


def as_staged(names, kernel):
    """Copies of inputs in local and in shared memory, and wide accesses, all named after the
    buffers."""
    buffers = ", ".join(f"{name}: f32[{LANES}]" for name in names)
    terms = " + ".join(f"{name}[zi]" for name in names)
    steps = "\n".join(
        f"    let zc{k} = cache_read(zy, {name}, {'local' if k % 2 else 'shared'});\n"
        f"    compute_at(zc{k}, zo);\n"
        f"    vectorize(loops(zc{k})[-1]);"
        for k, name in enumerate(names)
    )
    text = (
        f"kernel {kernel}({buffers}) -> zy: f32[{LANES}] {{\n    for zi in {LANES}\n"
        f"        zy[zi] = {terms};\n}}\n"
        f"schedule zs for {kernel} {{\n    let [zo, zv] = split(loops(zy)[0], [_, 4]);\n"
        f"    bind(zo, blockIdx.x);\n{steps}\n"
        "    vectorize(zv);\n}\n"
    )
    program = as_input(names, kernel)
    return Program(text, ["--schedule", "zs"], program.inputs, program.outputs)


ROLES = {
    "kernel": as_kernel,
    "size": as_size,
    "scalar": as_scalar,
    "input": as_input,
    "output": as_output,
    "temp": as_temp,
    "loop": as_loop,
    "block": as_block,
    "split": as_split,
    "staged": as_staged,
}


def of_role(role, names=tuple(NAMES)):
    """[(name of the program, program)]: each of the names in the role."""
    size = 1 if role == "kernel" else CHUNK
    return [
        (f"{role}_{at}", ROLES[role](names[at : at + size], f"z_{role}_{at}"))
        for at in range(0, len(names), size)
    ]


def part():
    """Each third name in one role; names that follow each other in the list, which are of a kind,
    have different roles."""
    names = NAMES[::3]
    return [
        program for k, role in enumerate(ROLES) for program in of_role(role, names[k :: len(ROLES)])
    ]
