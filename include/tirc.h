/* tirc.h - Compiles .tir text and a schedule to a checked, measured CUDA kernel, as a library.
 *
 *     tirc *t = tirc_new(NULL);
 *     tirc_file *file;  tirc_kernel *program, *scheduled, *lowered;
 *     tirc_parse_file(t, "matmul.tir", &file);
 *     tirc_resolve(t, file, NULL, NULL, 0, &program);
 *     tirc_apply(t, file, program, "tiled32", NULL, 0, &scheduled);
 *     tirc_lower(t, scheduled, NULL, &lowered);
 *     const char *cuda;  size_t length;
 *     tirc_emit(t, lowered, TIRC_CUDA, NULL, (const void **)&cuda, &length);
 *
 * There is no global state: everything belongs to a `tirc`, which one thread uses at a time;
 * several may be in use at once. Nothing is printed and nothing exits. Every function that can be
 * refused returns a status and records diagnostics; objects and text that it hands out live until
 * tirc_free, unless said otherwise. */
#ifndef TIRC_H
#define TIRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TIRC_VERSION_MAJOR 0
#define TIRC_VERSION_MINOR 1
#define TIRC_VERSION_PATCH 0
/* "0.1.0": of the library that is linked. */
const char *tirc_version(void);

/* Also the exit statuses of the command. */
typedef enum {
    TIRC_OK = 0,
    TIRC_REFUSED = 1, /* the input was refused; the diagnostics say why */
    TIRC_USAGE = 2,   /* the call makes no sense: a missing kernel name, an unknown format */
    /* something outside is missing or failed: no GPU, no NVRTC, no memory on the device */
    TIRC_UNAVAILABLE = 3,
    TIRC_WRONG = 4, /* the result is wrong, or the simulator found a fault */
    /* tirc broke its own rules; tirc_bug_report has a file that reproduces it */
    TIRC_BUG = 70,
} tirc_status;

typedef struct tirc tirc;
typedef struct tirc_file tirc_file;       /* kernels and schedules, parsed */
typedef struct tirc_kernel tirc_kernel;   /* one kernel at some level; immutable */
typedef struct tirc_device tirc_device;   /* a GPU, or the simulator */
typedef struct tirc_program tirc_program; /* a lowered kernel, compiled for a device */

/* Zero-initialise; zero is the default of each. */
typedef struct {
    size_t memory_limit; /* bytes that parsing, scheduling and code generation may take; 0: 1 GiB */
    /* compiled kernels; NULL: $TIRC_CACHE_DIR, $XDG_CACHE_HOME/tirc, ~/.cache/tirc; "": none */
    const char *cache_dir;
} tirc_options;
/* NULL only when there is no memory. options may be NULL. */
tirc *tirc_new(const tirc_options *options);
/* With everything that it handed out, devices and programs included; NULL is allowed. */
void tirc_free(tirc *t);

/* ---- diagnostics ----------------------------------------------------------------------------- */

typedef enum { TIRC_ERROR, TIRC_WARNING, TIRC_NOTE } tirc_severity;
typedef struct {
    tirc_severity severity;
    const char *code;    /* "E0401"; tirc_explain has more */
    const char *path;    /* NULL where there is no place */
    int line, column;    /* from 1; 0 where there is no place */
    const char *message; /* notes follow the error that they belong to */
} tirc_diagnostic;
/* How many there are since tirc_new or tirc_clear_diagnostics, and one of them, i below that. */
size_t tirc_diagnostic_count(const tirc *t);
tirc_diagnostic tirc_diagnostic_at(const tirc *t, size_t i);
/* All of them as the command prints them, with source lines and carets. */
const char *tirc_diagnostics(tirc *t, bool color);
/* Forgets them; their texts stay until tirc_free. */
void tirc_clear_diagnostics(tirc *t);
/* After TIRC_BUG: a .tir text that reproduces it, or NULL. */
const char *tirc_bug_report(const tirc *t);

/* What an error code means, with a small program that shows it; NULL: there is no such code. */
const char *tirc_explain(tirc *t, const char *code);
/* What a schedule primitive does, before and after, when it is legal; NULL: there is none of that
 * name. */
const char *tirc_explain_primitive(tirc *t, const char *name);
/* The names of all primitives, in the order of the manual, NULL at the end. */
const char *const *tirc_primitives(tirc *t);
/* What a primitive does, in one line; NULL: there is none of that name. */
const char *tirc_primitive_summary(const char *name);
/* The word among `words` that `word` was probably meant to be: within a third of its length in
 * edits; NULL: none is near. */
const char *tirc_nearest(const char *word, const char *const *words, size_t n);
/* Every error code, in the order of the manual; NULL past the last. */
const char *tirc_error_code(size_t i);

/* ---- programs -------------------------------------------------------------------------------- */

/* "-" reads the standard input. */
tirc_status tirc_parse_file(tirc *t, const char *path, tirc_file **file);
/* `name` stands for the text in diagnostics. */
tirc_status tirc_parse_text(tirc *t, const char *name, const char *text, size_t length,
                            tirc_file **file);
/* Kernels in the order of the text; NULL past the last. */
const char *tirc_file_kernel(const tirc_file *file, size_t i);
/* The kernel's head as it is written, on one line: "matmul<M = 1024>(A: f32[M]) -> C: f32[M]";
 * NULL: no such kernel. */
const char *tirc_file_signature(tirc *t, const tirc_file *file, const char *kernel);

/* A kernel of the file with its sizes fixed. name: NULL takes the only one. defines: "M=512", "M=?"
 * (symbolic), "T=f16". */
tirc_status tirc_resolve(tirc *t, const tirc_file *file, const char *name,
                         const char *const *defines, size_t n_defines, tirc_kernel **kernel);

/* As the program names it. */
const char *tirc_kernel_name(const tirc_kernel *kernel);
/* The level that a kernel is written at. A scheduled kernel that shows nothing that only schedules
 * write is a program. */
typedef enum { TIRC_PROGRAM, TIRC_SCHEDULED, TIRC_LOWERED } tirc_level;
tirc_level tirc_kernel_level(const tirc_kernel *kernel);

typedef struct {
    const char *name;
    bool symbolic; /* a kernel argument; else `value` is fixed */
    int64_t value;
} tirc_size;
/* False past the last. */
bool tirc_size_at(const tirc_kernel *kernel, size_t i, tirc_size *size);

/* A schedule that fits a kernel, and what can be set. */
typedef struct {
    const char *name, *where; /* the file it stands in */
    size_t n_parameters;
    const char *const *parameters; /* "T"; also names that only a `tune` declares */
    /* "32"; NULL: the first of its values, which depend on the kernel */
    const char *const *defaults;
    /* "[8, 16, 32]", or the script's text: "sample_perfect_tile(i, 2)"; NULL: not tuned */
    const char *const *tune;
} tirc_schedule_info;
/* False past the last. */
bool tirc_schedule_at(tirc *t, const tirc_file *file, const char *kernel, size_t i,
                      tirc_schedule_info *info);

/* Runs a schedule: a name (the kernel's file, NAME.sched beside it, the library that ships with
 * tirc) or the path of a .sched file; NULL is "default". settings: "T=16". `file` may be NULL: then
 * only the library and paths are searched. */
tirc_status tirc_apply(tirc *t, const tirc_file *file, const tirc_kernel *kernel,
                       const char *schedule, const char *const *settings, size_t n_settings,
                       tirc_kernel **scheduled);

/* The steps that made a scheduled kernel: how many, the call ("split(i, [_, 32])"), and the kernel
 * after it. */
size_t tirc_step_count(const tirc_kernel *scheduled);
const char *tirc_step_text(const tirc_kernel *scheduled, size_t step);
tirc_kernel *tirc_step_kernel(tirc *t, const tirc_kernel *scheduled, size_t step);
/* The steps as a schedule that runs again to the same kernel. */
const char *tirc_trace(tirc *t, const tirc_kernel *scheduled);

/* What the schedule left open (tune), as this run of it met it: the value that was taken, and how
 * many there are to choose from. tirc_apply with the setting "NAME=CHOICE" takes another. A
 * decision may change what the later ones offer. */
typedef struct {
    const char *name;  /* "tile" */
    const char *value; /* "[64, 16]" */
    size_t n_choices;  /* the first is the default of a name that is no parameter */
} tirc_knob;
/* In the order in which they were met; false past the last. */
bool tirc_knob_at(tirc *t, const tirc_kernel *scheduled, size_t i, tirc_knob *knob);
/* "[128, 8]"; NULL past the last. */
const char *tirc_knob_choice(tirc *t, const tirc_kernel *scheduled, size_t i, size_t choice);

/* Zero-initialise; zero is the default of each. */
typedef struct {
    /* symbolic sizes have no limits: what depends on them is computed in 64 bits. Without it the
     * emitted text says which sums and products of sizes must be at most 2147483647, and launches
     * by tirc that exceed one compile the kernel with it */
    bool index64;
    /* Called after each pass with the program after it as a kernel. */
    void (*after_pass)(void *user, const char *pass, const tirc_kernel *kernel, bool changed,
                       double seconds);
    void *user;
} tirc_lower_options;
/* To launches. Of a lowered kernel only the widths of indices change, if index64 asks for it. */
tirc_status tirc_lower(tirc *t, const tirc_kernel *kernel, const tirc_lower_options *options,
                       tirc_kernel **lowered);

/* ---- text and code --------------------------------------------------------------------------- */

typedef enum {
    TIRC_TIR,   /* .tir text of the kernel, whatever its level */
    TIRC_CUDA,  /* the kernels in CUDA C, with a comment that says how to launch them (lowered) */
    TIRC_CU,    /* a complete program for nvcc that checks itself (lowered) */
    TIRC_PTX,   /* by NVRTC (lowered) */
    TIRC_CUBIN, /* by NVRTC (lowered) */
    /* sizes, launches, arguments, shared memory, the CUDA text and where its lines come from
     * (lowered) */
    TIRC_JSON,
} tirc_format;
/* Whether the text of kernels says where its lines come from. */
typedef enum {
    TIRC_PLAIN,
    /* at the end of each line: the line of the program, and the schedule step that made it */
    TIRC_COMMENTS,
    /* #line, so that messages of compilers, debuggers and profilers speak of the program's lines */
    TIRC_DIRECTIVES,
} tirc_annotation;

/* Zero-initialise; zero is the default of each. */
typedef struct {
    const char *arch; /* of machine code: "sm_90a" if NULL */
    /* TIRC_CUDA and TIRC_CU; with TIRC_DIRECTIVES machine code knows the lines, too */
    tirc_annotation annotate;
} tirc_emit_options;
/* options may be NULL. Text is terminated; length does not count the terminator. */
tirc_status tirc_emit(tirc *t, const tirc_kernel *kernel, tirc_format format,
                      const tirc_emit_options *options, const void **data, size_t *length);

/* Says that tirc_emit will be asked for this. What it needs that does not depend on a program gets
 * ready beside what is done until then: for machine code NVRTC, which takes 0.05 to 0.3 s to load.
 * Errors are left to tirc_emit; tirc_free waits for what has begun. */
void tirc_prepare(tirc *t, tirc_format format, const tirc_emit_options *options);

/* Where a line of the CUDA text comes from. */
typedef struct {
    /* of the program; NULL where the line belongs to no statement: comments, helper functions */
    const char *path;
    int line, column; /* in it, from 1 */
    /* of tirc_step_text: what made the line; 0: the program as it stands, or lowering by itself */
    size_t step;
    const char *step_text; /* "split(i, [_, 32])", or NULL; and where the schedule calls it: */
    const char *step_path;
    int step_line, step_column;
} tirc_origin;
/* For each line of the plain TIRC_CUDA text of a lowered kernel, in order. */
tirc_status tirc_origins(tirc *t, const tirc_kernel *lowered, const tirc_origin **lines, size_t *n);
/* The text of a program or schedule that was read from `path`, as an origin names it; NULL: there
 * is none. */
const char *tirc_source_text(const tirc *t, const char *path);

/* ---- running --------------------------------------------------------------------------------- */

typedef enum { TIRC_DEVICE_AUTO, TIRC_DEVICE_CUDA, TIRC_DEVICE_SIM } tirc_device_kind;
typedef struct {
    const char *kind, *name, *arch; /* "cuda" or "sim", "NVIDIA H200", "sm_90a" */
    int multiprocessors;
    int64_t memory_bytes, l2_bytes;
} tirc_device_info;
/* AUTO: the GPU if there is one, else the simulator. arch: NULL for the device's own. Closed by
 * tirc_device_close or tirc_free. */
tirc_status tirc_device_open(tirc *t, tirc_device_kind kind, int ordinal, const char *arch,
                             tirc_device **device);
/* Frees what lies on the device, its programs included, which are not to be used any more. */
void tirc_device_close(tirc *t, tirc_device *device);
tirc_device_info tirc_device_describe(const tirc_device *device);

/* Compiles a lowered kernel for a device (NVRTC, cached on disk). */
tirc_status tirc_compile(tirc *t, tirc_device *device, const tirc_kernel *lowered,
                         tirc_program **program);

/* How many parameters a program has. */
size_t tirc_parameter_count(const tirc_program *program);
/* A parameter of a program: a buffer (dims for the sizes given) or a scalar. */
typedef struct {
    const char *name, *type; /* "f32" */
    bool is_buffer, is_input, is_output;
    int rank;
    const int64_t *dims;
    size_t bytes;
} tirc_parameter;
/* sizes: a value for each symbolic size, in order; NULL where there is none. False past the last,
 * and, with a diagnostic, for a buffer that has no size or no place in memory for these sizes. */
bool tirc_parameter_at(tirc *t, const tirc_program *program, const int64_t *sizes, size_t i,
                       tirc_parameter *parameter);

/* A launch of a program: one kernel, the first time that it is launched. False past the last. */
typedef struct {
    const char *name;
    int64_t grid[3], block[3]; /* x, y, z; a grid of zeros: these sizes never launch it */
    int64_t shared_bytes;      /* of a block */
    int barriers;              /* in the text of the kernel */
    /* how many threads of all blocks have nothing to do, because of guards; -1: not known */
    int64_t idle_threads;
} tirc_launch_info;
bool tirc_launch_at(tirc *t, const tirc_program *program, const int64_t *sizes, size_t i,
                    tirc_launch_info *launch);

/* Fills host memory of parameter i with the random data that tirc_verify and tirc_bench would give
 * it. */
tirc_status tirc_fill_random(tirc *t, const tirc_program *program, const int64_t *sizes,
                             uint64_t seed, size_t i, void *data);
/* Element `index` of data of a type, as a number; NaN if there is no such type. */
double tirc_element(const char *type, const void *data, size_t index);

/* Runs the program on host memory: arguments[i] points to the buffer (row major) or the scalar of
 * parameter i. Inputs are copied to the device and outputs back; it returns when they are there.
 * Arguments that do not satisfy the program's `where` clause are refused (E0652), before anything
 * runs. */
tirc_status tirc_run(tirc *t, tirc_program *program, const int64_t *sizes, void *const *arguments);
/* The same on memory of the device (CUDA device pointers), without copies; asynchronous until
 * tirc_synchronize. Buffers must be aligned to 16 bytes and must not overlap. Scalars are passed by
 * host pointer. Sizes and scalars are checked as in tirc_run, elements are not. */
tirc_status tirc_launch(tirc *t, tirc_program *program, const int64_t *sizes,
                        void *const *arguments);
/* Waits until the launches of the program are done; what went wrong in them is told here. */
tirc_status tirc_synchronize(tirc *t, tirc_program *program);

/* After TIRC_WRONG from the simulator: what the kernel did. False past the last. */
typedef struct {
    const char *kind;    /* "out_of_bounds" */
    const char *message; /* what, which buffer, which element, which thread */
    const char *where;   /* "matmul.tir:7:13", or NULL */
    tirc_origin origin;  /* the line of the program, and the schedule step that made it */
    /* the other access of a race, or the one that copied what nothing had written: */
    bool has_other;
    const char *other_where;
    tirc_origin other;
    int64_t block[3], thread[3], other_block[3], other_thread[3]; /* x, y, z */
} tirc_fault;
bool tirc_fault_at(tirc *t, const tirc_device *device, size_t i, tirc_fault *fault);

/* How many accesses of the emitted text are proved to stay inside their buffers, for all symbolic
 * sizes of at least 1 and all elements of wide accesses (docs/verification.md). Buffers of one
 * element without a subscript are not counted. */
typedef struct {
    int64_t accesses; /* in the text */
    int64_t proved;
    int64_t data;     /* it depends on what memory or a scalar argument holds */
    int64_t unproved; /* products of sizes, or too hard a question */
    int64_t leaving;  /* some sizes, all at least 1, and some iteration take it outside */
} tirc_memory;
/* Asks for each access of a lowered kernel. */
tirc_status tirc_memory_bounds(tirc *t, const tirc_kernel *lowered, tirc_memory *memory);
/* An access that is not proved. */
typedef struct {
    const char *element; /* "x[i + 1]" */
    const char *answer;  /* "data", "unproved" or "leaves" */
    /* the data; what is too hard; or the sizes, block, thread and iteration, and the subscript */
    const char *why;
    tirc_origin origin; /* the line of the program, and the schedule step that made it */
} tirc_open_access;
/* The i-th of those, in the order of the text, after tirc_memory_bounds of this kernel. False past
 * the last. */
bool tirc_open_access_at(tirc *t, const tirc_kernel *lowered, size_t i, tirc_open_access *access);

typedef struct {
    /* nothing is wrong, and each element that was to be checked was, or overflows as the program
     * says */
    bool ok;
    int64_t checked, total; /* elements that one of the runs could check, of all outputs */
    double max_error;       /* the largest |result - reference| of a run on random reals */
    double bound;           /* the bound of that element */
    /* that run in words: how many elements were checked, and why others were not */
    const char *method;
    /* "once": proved that each element of each output is written, by one thread, for all values of
     * symbolic sizes; "open": not proved; "wrong" */
    const char *written;
    const char *written_why; /* where it is not "once" */
    int64_t wrong;           /* elements that are, in the first run that shows some */
    double nearest;          /* how near an element comes to its bound at most: error / bound */
    /* elements that were within their bounds on random reals; and of those without one: */
    int64_t rounding;
    /* elements of these whose bound is beyond 1/16 of the largest element: being within it tells
     * little */
    int64_t wide;
    /* which the program itself makes too large, or no number, on these inputs */
    int64_t overflown;
    int64_t unbounded; /* for which rounding errors have no bound */
    /* elements that are sums, and how many are within their bound and beyond what independent
     * rounding errors make likely (docs/verification.md) */
    int64_t summed, unlikely;
    /* how many additions, one after another, the bounds of these count with at most: the terms, or
     * fewer where the schedule adds in a tree */
    double additions;
    /* elements that were equal, bit for bit, on small integers, where every order of evaluation is
     * exact */
    int64_t exact;
    /* in words: how many, and on which inputs; NULL: the run on random reals was wrong already */
    const char *structure;
} tirc_verification;
/* The same kernel, to be compared with `program`, of which its text came: lowered text holds no
 * program any more. Refused where `program` is none, or where parameters and sizes are not the
 * same. */
tirc_status tirc_against(tirc *t, const tirc_kernel *kernel, const tirc_kernel *program,
                         tirc_kernel **result);

/* Runs on seeded random inputs and compares with the unscheduled program in higher precision
 * (docs/verification.md): the one that tirc_resolve gave, also where its text was that of a
 * scheduled kernel, or the one of tirc_against. Refused for lowered text without one. TIRC_WRONG
 * where an element is wrong; the result is filled in then, too. */
tirc_status tirc_verify(tirc *t, tirc_program *program, const int64_t *sizes, uint64_t seed,
                        tirc_verification *result);

typedef struct {
    double median_ms, min_ms, p95_ms;
    int runs;
    bool cold_l2;
    double gflops, gbps; /* by the program's own operations, and its parameters' bytes */
    /* after tirc_verify of the first program that is measured: its result is the same */
    bool agrees;
} tirc_measurement;
/* Times several programs in turn (A B A B ...) on seeded random inputs, cold L2. */
tirc_status tirc_bench(tirc *t, tirc_program *const *programs, size_t n, const int64_t *sizes,
                       tirc_measurement *results);

/* The same beside peers, in turn with programs[0..n) and on inputs like those of programs[0]:
 * "cublas" for a product of matrices in f32 or f64, and in f32 with a bias behind it, "memcpy" for
 * a program that reads as many bytes as it writes. results[n + n_peers]. TIRC_REFUSED where a peer
 * does not fit the program, TIRC_UNAVAILABLE where it is not there. */
tirc_status tirc_bench_versus(tirc *t, tirc_program *const *programs, size_t n,
                              const char *const *peers, size_t n_peers, const int64_t *sizes,
                              tirc_measurement *results);

/* ---- analysis -------------------------------------------------------------------------------- */

/* What a kernel asks of a GPU, counted on the simulator (docs/simulator.md says how). Zero is the
 * default of each. */
typedef struct {
    /* of the GPU that it is for: one that ships with tirc ("H200"), or the path of a text file */
    const char *profile;
    /* a GPU: its own attributes are the profile, if none is named; without one the H200's are. The
     * simulator: it is the one that runs the kernel, and has the fault if there is one */
    const tirc_device *device;
    /* to compile for, which tells the registers; the device's, else "sm_90a" */
    const char *arch;
    uint64_t seed; /* of the inputs */
    /* warp-wide requests to count; beyond, blocks at even distances stand for all; 0: 4 million */
    int64_t budget;
} tirc_analyze_options;
typedef struct tirc_analysis tirc_analysis;
/* Runs a lowered kernel once on the simulator. sizes: a value for each symbolic size. options may
 * be NULL. TIRC_WRONG where the simulator finds a fault. */
tirc_status tirc_analyze(tirc *t, const tirc_kernel *lowered, const int64_t *sizes,
                         const tirc_analyze_options *options, tirc_analysis **analysis);

/* The figures of all kernels together. */
typedef struct {
    const char *profile;            /* "NVIDIA H200" */
    int64_t blocks, counted_blocks; /* equal: every figure is exact */
    /* Floating-point operations: of the program as it is written (-1: not known), and as they are
     * executed. */
    int64_t program_flops, f32_flops, f64_flops;
    /* Bytes of global memory: that threads name (each lane's own), in sectors that warps move, that
     * a first-level cache without limits would have to fetch and send on, and of the parameters,
     * each once. */
    int64_t bytes_named, bytes_sectors, bytes_beyond_l1, bytes_least;
    int64_t loads, stores, atomics; /* of threads, on global memory */
    int64_t output_elements;
    double bytes_per_flop; /* named, by the program's operations; 0 without any */
    /* what the device memory would allow if every named byte came from there; 0: not known */
    double uncached_gflops;
    double peak_gflops, dram_gbps; /* of the profile, for the types of this kernel; 0: not known */
} tirc_analysis_summary;
tirc_analysis_summary tirc_analysis_describe(const tirc_analysis *analysis);

/* An access of the program's text in one kernel: all requests that come from it. */
typedef struct {
    const char *kernel, *buffer, *type;
    const char *scope; /* "global", "shared" or "constant" */
    const char *op;    /* "load", "store" or "atomic" */
    int bytes;         /* that a lane moves by one request */
    tirc_origin origin;
    int64_t requests, lanes; /* of warps; of threads */
    /* of global memory; of shared memory; else 0 */
    double sectors_per_request, wavefronts_per_request;
    /* the least sectors or wavefronts a request for the same bytes; of constant memory 1 pass */
    double ideal;
    /* of atomics: how often lanes with the same element wait for each other; of constant memory:
     * how many different words lanes name, which come one after the other; else 0 */
    double passes_per_request;
    /* what makes it cost more, and what to do; NULL: it costs what it must */
    const char *verdict;
    /* The costliest request: bytes from the start of the buffer (shared: of the block's memory). */
    uint32_t active;          /* bit i: lane i takes part */
    const int64_t *addresses; /* [32] */
    int worst_sectors, worst_wavefronts;
    int64_t worst_block; /* in the grid, x fastest */
    int worst_warp;
} tirc_access;
/* In the order of the kernels' text. False past the last. */
bool tirc_access_at(const tirc_analysis *analysis, size_t i, tirc_access *access);

/* A barrier of one kernel, and how often it was executed. False past the last. */
typedef struct {
    const char *kernel;
    tirc_origin origin;
    const char *reason; /* what it orders */
    int64_t executed;   /* by blocks */
    double per_block;
} tirc_barrier;
bool tirc_barrier_at(const tirc_analysis *analysis, size_t i, tirc_barrier *barrier);

/* A kernel, and how many of its blocks a multiprocessor holds at a time. Kernels that these sizes
 * never launch are left out. False past the last. */
typedef struct {
    const char *name;
    int64_t launches, grid[3], block[3]; /* the grid of the first launch */
    int64_t shared_bytes;                /* of a block */
    int registers, stack_bytes;          /* of a thread; registers 0: not known (no NVRTC) */
    int64_t resident_blocks, resident_threads;
    /* resident threads of the most that there can be; 0: not known */
    double occupancy;
    /* "threads", "blocks", "shared memory" or "registers"; NULL: not known */
    const char *limited_by;
    /* blocks of the first launch by those that the whole GPU holds; 0: not known */
    double waves;
} tirc_kernel_use;
bool tirc_kernel_use_at(const tirc_analysis *analysis, size_t i, tirc_kernel_use *use);

/* A part of the GPU: the least time that it takes for its share of the work. False past the
 * last. */
typedef struct {
    const char *name, *unit; /* "device memory", "byte" */
    double amount, rate;     /* units, units a second; rate 0: not known, and so is ms */
    double ms;
    bool binds; /* no part takes longer */
} tirc_limit;
bool tirc_limit_at(const tirc_analysis *analysis, size_t i, tirc_limit *limit);

#ifdef __cplusplus
}
#endif
#endif
