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
/* The version of the linked library: "0.1.0". */
const char *tirc_version(void);

/* The result of a call, and the exit status of the command. */
typedef enum {
    TIRC_OK = 0,
    TIRC_REFUSED = 1, /* the input is refused; the diagnostics say why */
    TIRC_USAGE = 2,   /* the call is invalid: a missing kernel name, an unknown format */
    /* a device, library or file is missing or failed: no GPU, no NVRTC, no memory on the device */
    TIRC_UNAVAILABLE = 3,
    TIRC_WRONG = 4, /* the result is wrong, or the simulator found a fault */
    /* a bug in tirc; tirc_bug_report returns a file that reproduces it */
    TIRC_BUG = 70,
} tirc_status;

/* A context, which owns everything that its calls return. */
typedef struct tirc tirc;
/* Parsed kernels and schedules. */
typedef struct tirc_file tirc_file;
/* One kernel at one level; immutable. */
typedef struct tirc_kernel tirc_kernel;
/* A GPU, or the simulator. */
typedef struct tirc_device tirc_device;
/* A lowered kernel, compiled for a device. */
typedef struct tirc_program tirc_program;

/* Options of tirc_new. Zero-initialize it; zero is the default of each field. */
typedef struct {
    size_t memory_limit; /* in bytes, for parsing, scheduling and code generation; 0: 1 GiB */
    /* for compiled kernels; NULL: $TIRC_CACHE_DIR, $XDG_CACHE_HOME/tirc or ~/.cache/tirc; "": none
     */
    const char *cache_dir;
} tirc_options;
/* Creates a context. Returns NULL only if memory is exhausted. options may be NULL. */
tirc *tirc_new(const tirc_options *options);
/* Frees t with everything that it returned, including devices and programs. t may be NULL. */
void tirc_free(tirc *t);

/* ---- diagnostics ----------------------------------------------------------------------------- */

/* How severe a diagnostic is. */
typedef enum { TIRC_ERROR, TIRC_WARNING, TIRC_NOTE } tirc_severity;
/* A diagnostic in its parts. */
typedef struct {
    tirc_severity severity;
    const char *code;         /* "E0401"; see tirc_explain */
    const char *path;         /* NULL without a position */
    int line, column;         /* from 1; 0 without a position */
    const char *message;      /* notes follow the error that they belong to */
    int end_line, end_column; /* behind the last byte of the text; 0 without a position */
    /* the error would go away if the text from `fix_column` of line `fix_line` to `fix_end` read
     * so; NULL: no remedy is known */
    const char *fix;
    int fix_line, fix_column, fix_end;
} tirc_diagnostic;
/* Returns the number of diagnostics since tirc_new or tirc_clear_diagnostics. */
size_t tirc_diagnostic_count(const tirc *t);
/* Returns the i-th of these diagnostics. */
tirc_diagnostic tirc_diagnostic_at(const tirc *t, size_t i);
/* Returns all diagnostics as the command prints them, with source lines and carets. */
const char *tirc_diagnostics(tirc *t, bool color);
/* Removes all diagnostics; their texts stay valid until tirc_free. */
void tirc_clear_diagnostics(tirc *t);
/* Removes all diagnostics but the first n. */
void tirc_keep_diagnostics(tirc *t, size_t n);
/* After TIRC_BUG: returns a .tir text that reproduces the bug, or NULL. */
const char *tirc_bug_report(const tirc *t);

/* Explains an error code, with a small example program; NULL: unknown code. */
const char *tirc_explain(tirc *t, const char *code);
/* Describes a schedule primitive: its effect, an example, its conditions; NULL: unknown name. */
const char *tirc_explain_primitive(tirc *t, const char *name);
/* Returns the names of all primitives in the order of the manual, terminated by NULL. */
const char *const *tirc_primitives(tirc *t);
/* Describes a primitive in one line; NULL: unknown name. */
const char *tirc_primitive_summary(const char *name);
/* Returns the word of `words` nearest to `word`, within an edit distance of a third of its length;
 * NULL: none. */
const char *tirc_nearest(const char *word, const char *const *words, size_t n);
/* Returns the i-th error code in the order of the manual; NULL past the last. */
const char *tirc_error_code(size_t i);

/* ---- programs -------------------------------------------------------------------------------- */

/* Parses a file; "-" is standard input. */
tirc_status tirc_parse_file(tirc *t, const char *path, tirc_file **file);
/* Parses a text; diagnostics refer to it as `name`. */
tirc_status tirc_parse_text(tirc *t, const char *name, const char *text, size_t length,
                            tirc_file **file);
/* A text; it may hold NUL bytes. */
typedef struct {
    const char *text;
    size_t length;
} tirc_text;
/* Formats the text of a program or schedule file in the one style of the language. Comments, and
 * numbers as they are written, stay; formatting the result changes nothing. Refused if the text
 * does not parse; diagnostics refer to it as `name`. */
tirc_status tirc_format_text(tirc *t, const char *name, tirc_text text, tirc_text *formatted);
/* The same for a file ("-" is standard input), with its text as it is. */
tirc_status tirc_format_file(tirc *t, const char *path, tirc_text *text, tirc_text *formatted);
/* Returns the name of the i-th kernel of the file; NULL past the last. */
const char *tirc_file_kernel(const tirc_file *file, size_t i);
/* Returns the signature of a kernel as written, on one line: "matmul<M = 1024>(A: f32[M]) -> C:
 * f32[M]"; NULL: unknown kernel. */
const char *tirc_file_signature(tirc *t, const tirc_file *file, const char *kernel);

/* A parameter of a kernel as its program declares it. */
typedef struct {
    const char *name;
    const char *type; /* "f32", or the name of a type parameter: "T" */
    bool is_buffer, is_input, is_output;
    int rank;
    const char *const *dims; /* as written: "M", "2 * N + 1" */
} tirc_declaration;
/* Returns the i-th parameter of a kernel, inputs first; false past the last, and, with a
 * diagnostic, for an unknown kernel. kernel: NULL selects the only kernel. */
bool tirc_declaration_at(tirc *t, const tirc_file *file, const char *kernel, size_t i,
                         tirc_declaration *declaration);

/* Returns the same file with more conditions in the `where` clause of a kernel: "label in 0..C". */
tirc_status tirc_require(tirc *t, const tirc_file *file, const char *kernel, const char *condition,
                         tirc_file **result);

/* An array that a caller has for a buffer. */
typedef struct {
    const char *name; /* of the parameter */
    const char *type; /* "f32"; "V2" fits bf16 and "V1" the 8-bit floats, as in tirc_npy */
    int rank;
    const int64_t *dims;
} tirc_argument;
/* Definitions as for tirc_resolve, and arrays for some of the buffers. */
typedef struct {
    const char *const *defines;
    size_t n_defines;
    const tirc_argument *arguments;
    size_t n_arguments;
} tirc_arguments;
/* What tirc_bind derives from arrays. */
typedef struct {
    /* for tirc_resolve: the given ones, then "M=512" and "T=f16", which follow from the arrays */
    const char *const *defines;
    size_t n_defines;
    /* the value of each symbolic size in order; -1: no array says it */
    const int64_t *sizes;
    size_t n_sizes;
} tirc_binding;
/* Derives the sizes and types of a kernel from arrays for its buffers. A symbolic size stays
 * symbolic. Refused if an array does not fit: an unknown name (E0707), another type (E0708), or
 * another shape (E0709). */
tirc_status tirc_bind(tirc *t, const tirc_file *file, const char *kernel,
                      const tirc_arguments *arguments, tirc_binding *binding);

/* Resolves a kernel of the file with its sizes set. name: NULL selects the only kernel. defines:
 * "M=512", "M=?" (symbolic), "T=f16". */
tirc_status tirc_resolve(tirc *t, const tirc_file *file, const char *name,
                         const char *const *defines, size_t n_defines, tirc_kernel **kernel);

/* The name of the kernel in the program. */
const char *tirc_kernel_name(const tirc_kernel *kernel);
/* The level of a kernel. A scheduled kernel without constructs that only schedules create is a
 * program. */
typedef enum { TIRC_PROGRAM, TIRC_SCHEDULED, TIRC_LOWERED } tirc_level;
/* Returns the level of a kernel. */
tirc_level tirc_kernel_level(const tirc_kernel *kernel);

/* A size of a kernel. */
typedef struct {
    const char *name;
    bool symbolic; /* a kernel argument; else `value` is its value */
    int64_t value;
} tirc_size;
/* Returns the i-th size of a kernel; false past the last. */
bool tirc_size_at(const tirc_kernel *kernel, size_t i, tirc_size *size);

/* A schedule that applies to a kernel, and its parameters. */
typedef struct {
    const char *name, *where; /* the file that contains it */
    size_t n_parameters;
    const char *const *parameters; /* "T"; includes names that only a `tune` declares */
    /* "32"; NULL: the first of the values to tune, which depend on the kernel */
    const char *const *defaults;
    /* "[8, 16, 32]", or the script's text: "sample_perfect_tile(i, 2)"; NULL: not tuned */
    const char *const *tune;
} tirc_schedule_info;
/* Returns the i-th schedule that applies to a kernel of the file; false past the last. */
bool tirc_schedule_at(tirc *t, const tirc_file *file, const char *kernel, size_t i,
                      tirc_schedule_info *info);

/* Sets the architecture that schedules are for: tirc_apply refuses steps whose instructions it
 * lacks, and "default" does without them. "sm_90a" at first; opening a GPU sets that of the GPU. */
tirc_status tirc_set_arch(tirc *t, const char *arch);

/* Applies a schedule, given by a name (searched in the kernel's file, in NAME.sched beside it, and
 * among the shipped schedules) or by the path of a .sched file; NULL is "default". settings:
 * "T=16". If `file` is NULL, only shipped schedules and paths are searched. */
tirc_status tirc_apply(tirc *t, const tirc_file *file, const tirc_kernel *kernel,
                       const char *schedule, const char *const *settings, size_t n_settings,
                       tirc_kernel **scheduled);

/* A parameter whose layout the schedule has changed (transform_layout): arrays of it are expected
 * in the new layout, and have the shape of the scheduled kernel. */
typedef struct {
    const char *name;
    const char *map; /* "[i, j] -> [j, i]": from the subscripts of the program to the new ones */
} tirc_layout;
/* Returns the i-th such parameter of a scheduled or lowered kernel; false past the last. */
bool tirc_layout_at(tirc *t, const tirc_kernel *kernel, size_t i, tirc_layout *layout);

/* Returns the number of steps of a scheduled kernel. */
size_t tirc_step_count(const tirc_kernel *scheduled);
/* Returns the call of a step, from 1: "split(i, [_, 32])"; NULL: there is no such step. */
const char *tirc_step_text(const tirc_kernel *scheduled, size_t step);
/* Returns the kernel after a step; 0: before the first. NULL: there is no such step. */
tirc_kernel *tirc_step_kernel(tirc *t, const tirc_kernel *scheduled, size_t step);
/* Returns the steps as a schedule that reproduces the same kernel. */
const char *tirc_trace(tirc *t, const tirc_kernel *scheduled);

/* A tunable of the schedule (tune) in this run: its value, and the number of choices. Pass the
 * setting "NAME=CHOICE" to tirc_apply to choose another value. A choice can change the choices of
 * later tunables. */
typedef struct {
    const char *name;  /* "tile" */
    const char *value; /* "[64, 16]" */
    size_t n_choices;  /* the first is the default, unless the name is a parameter */
} tirc_knob;
/* Returns the i-th tunable in the order of the run; false past the last. */
bool tirc_knob_at(tirc *t, const tirc_kernel *scheduled, size_t i, tirc_knob *knob);
/* Returns a choice of the i-th tunable: "[128, 8]"; NULL past the last. */
const char *tirc_knob_choice(tirc *t, const tirc_kernel *scheduled, size_t i, size_t choice);

/* Options of tirc_lower. Zero-initialize it; zero is the default of each field. */
typedef struct {
    /* computes indices that depend on symbolic sizes in 64 bits, so the sizes have no limits.
     * Otherwise the emitted text lists the sums and products of sizes that must be at most
     * 2147483647; if a launch by tirc exceeds one, tirc recompiles the kernel with index64 */
    bool index64;
    /* called after each pass with the resulting kernel */
    void (*after_pass)(void *user, const char *pass, const tirc_kernel *kernel, bool changed,
                       double seconds);
    void *user;
} tirc_lower_options;
/* Lowers a kernel to launches. For a lowered kernel, index64 only widens the indices. */
tirc_status tirc_lower(tirc *t, const tirc_kernel *kernel, const tirc_lower_options *options,
                       tirc_kernel **lowered);

/* ---- text and code --------------------------------------------------------------------------- */

/* What tirc_emit writes. */
typedef enum {
    TIRC_TIR,   /* .tir text of a kernel of any level */
    TIRC_CUDA,  /* the kernels in CUDA C, with a comment on how to launch them (lowered) */
    TIRC_CU,    /* a complete program for nvcc that verifies itself (lowered) */
    TIRC_PTX,   /* by NVRTC (lowered) */
    TIRC_CUBIN, /* by NVRTC (lowered) */
    /* sizes, launches, arguments, shared memory, the CUDA text and the origins of its lines
     * (lowered) */
    TIRC_JSON,
} tirc_format;
/* How the text of kernels shows the origins of its lines. */
typedef enum {
    TIRC_PLAIN,
    /* at the end of each line: the line of the program, and the schedule step that made it */
    TIRC_COMMENTS,
    /* #line directives, so that compilers, debuggers and profilers refer to lines of the program */
    TIRC_DIRECTIVES,
} tirc_annotation;

/* Options of tirc_emit. Zero-initialize it; zero is the default of each field. */
typedef struct {
    const char *arch; /* for machine code; NULL: "sm_90a" */
    /* for TIRC_CUDA and TIRC_CU; TIRC_DIRECTIVES also adds line information to machine code */
    tirc_annotation annotate;
} tirc_emit_options;
/* Emits a kernel in a format. options may be NULL. Text is null-terminated; length excludes the
 * terminator. */
tirc_status tirc_emit(tirc *t, const tirc_kernel *kernel, tirc_format format,
                      const tirc_emit_options *options, const void **data, size_t *length);

/* Announces a later tirc_emit, so that its start-up runs in the background: for machine code,
 * NVRTC takes 0.05 to 0.3 s to load. tirc_emit reports errors; tirc_free waits for the background
 * work. */
void tirc_prepare(tirc *t, tirc_format format, const tirc_emit_options *options);

/* The origin of a line of the CUDA text. */
typedef struct {
    /* of the program; NULL if the line belongs to no statement: comments, helper functions */
    const char *path;
    int line, column; /* in the program, from 1 */
    /* the step that made the line, as in tirc_step_text; 0: the program itself, or lowering */
    size_t step;
    /* "split(i, [_, 32])", or NULL; and the position of the call in the schedule: */
    const char *step_text;
    const char *step_path;
    int step_line, step_column;
} tirc_origin;
/* Returns the origin of each line of the plain TIRC_CUDA text of a lowered kernel. */
tirc_status tirc_origins(tirc *t, const tirc_kernel *lowered, const tirc_origin **lines, size_t *n);
/* Returns the text of a program or schedule that was read from the `path` of an origin; NULL:
 * unknown path. */
const char *tirc_source_text(const tirc *t, const char *path);

/* ---- running --------------------------------------------------------------------------------- */

/* Which device tirc_device_open opens. */
typedef enum { TIRC_DEVICE_AUTO, TIRC_DEVICE_CUDA, TIRC_DEVICE_SIM } tirc_device_kind;
/* The properties of a device. */
typedef struct {
    const char *kind, *name, *arch; /* "cuda" or "sim", "NVIDIA H200", "sm_90a" */
    int multiprocessors;
    int64_t memory_bytes, l2_bytes;
} tirc_device_info;
/* Opens a device. AUTO: the GPU if there is one, else the simulator. arch: NULL for that of the
 * device. tirc_device_close or tirc_free closes it. */
tirc_status tirc_device_open(tirc *t, tirc_device_kind kind, int ordinal, const char *arch,
                             tirc_device **device);
/* Closes a device and frees its memory and its programs, which must not be used afterwards. */
void tirc_device_close(tirc *t, tirc_device *device);
/* Returns the properties of a device. */
tirc_device_info tirc_device_describe(const tirc_device *device);

/* Compiles a lowered kernel for a device (NVRTC, cached on disk). */
tirc_status tirc_compile(tirc *t, tirc_device *device, const tirc_kernel *lowered,
                         tirc_program **program);

/* Returns the number of parameters of a program. */
size_t tirc_parameter_count(const tirc_program *program);
/* A parameter of a program: a buffer (with dims for the given sizes) or a scalar. */
typedef struct {
    const char *name, *type; /* "f32" */
    bool is_buffer, is_input, is_output;
    int rank;
    const int64_t *dims;
    size_t bytes;
} tirc_parameter;
/* Returns the i-th parameter. sizes: a value for each symbolic size, in order; NULL if there is
 * none. Returns false past the last, and, with a diagnostic, for a buffer that does not fit in
 * memory for these sizes. */
bool tirc_parameter_at(tirc *t, const tirc_program *program, const int64_t *sizes, size_t i,
                       tirc_parameter *parameter);

/* The first launch of a kernel of a program. */
typedef struct {
    const char *name;
    int64_t grid[3], block[3]; /* x, y, z; the grid is 0 if these sizes never launch it */
    int64_t shared_bytes;      /* per block */
    int barriers;              /* in the text of the kernel */
    /* threads that guards leave without work, over all blocks; -1: unknown */
    int64_t idle_threads;
} tirc_launch_info;
/* Returns the first launch of the i-th kernel of a program for these sizes; false past the last. */
bool tirc_launch_at(tirc *t, const tirc_program *program, const int64_t *sizes, size_t i,
                    tirc_launch_info *launch);

/* Fills host memory for parameter i with the random data that tirc_verify and tirc_bench use. */
tirc_status tirc_fill_random(tirc *t, const tirc_program *program, const int64_t *sizes,
                             uint64_t seed, size_t i, void *data);
/* Returns element `index` of data of a type as a number; NaN for an unknown type. */
double tirc_element(const char *type, const void *data, size_t index);
/* The least and the largest of n elements and their mean, NaNs apart. */
typedef struct {
    double least, largest, mean; /* NaN if there is no number */
    int64_t nans;
} tirc_summary;
/* Summarizes n elements of a type. */
tirc_summary tirc_summarize(const char *type, const void *data, size_t n);
/* Reads a value of the parameter's type from text ("0.5", "-3", "0x1f", "true") into data. Floats
 * are rounded to the nearest value. Refused (E0711) if it is no such value or does not fit. */
tirc_status tirc_parse_element(tirc *t, const tirc_parameter *parameter, const char *text,
                               void *data);

/* An array in the bytes of a .npy file, NumPy's format. */
typedef struct {
    /* "f32"; "V2" and "V1": raw elements of 2 bytes and 1, as NumPy stores bf16 and f8 */
    const char *type;
    int rank;
    const int64_t *dims;
    const void *data; /* within the bytes */
    size_t bytes;     /* of the elements */
} tirc_npy;
/* Finds the array in the bytes of a file; messages refer to it as `path`. Reads versions 1.0 to
 * 3.0, little-endian elements, rows first; refuses others (E0710). */
tirc_status tirc_npy_parse(tirc *t, const char *path, const void *bytes, size_t length,
                           tirc_npy *array);
/* The beginning of a .npy file for an array, whose elements follow it. */
tirc_status tirc_npy_header(tirc *t, const tirc_argument *array, const void **header,
                            size_t *length);

/* Runs the program on host memory: arguments[i] points to the buffer (row major) or scalar of
 * parameter i. Copies inputs to the device and outputs back, and returns when the copies are
 * complete. Refuses arguments that violate the program's `where` clause (E0652) before anything
 * runs. */
tirc_status tirc_run(tirc *t, tirc_program *program, const int64_t *sizes, void *const *arguments);
/* Runs the program on device memory (CUDA device pointers) without copies, asynchronously until
 * tirc_synchronize. Buffers must be aligned to 16 bytes and must not overlap. Scalars are passed by
 * host pointer. Sizes and scalars are checked as in tirc_run; elements are not. */
tirc_status tirc_launch(tirc *t, tirc_program *program, const int64_t *sizes,
                        void *const *arguments);
/* The same on a CUDA stream of the caller, who waits for it: tirc_synchronize does not. It can be
 * captured in a CUDA graph after a first launch at these sizes. The simulator has no streams. */
tirc_status tirc_launch_on(tirc *t, tirc_program *program, const int64_t *sizes,
                           void *const *arguments, void *stream);
/* Whether a program has buffers of its own between its launches. Launches of one program share
 * them, so such a program may be in use on one stream at a time. */
bool tirc_has_temporaries(const tirc_program *program);
/* Waits for the launches of the program to complete, and reports their errors. */
tirc_status tirc_synchronize(tirc *t, tirc_program *program);

/* A fault that the simulator found. */
typedef struct {
    const char *kind;    /* "out_of_bounds" */
    const char *message; /* names the buffer, the element and the thread */
    const char *where;   /* "matmul.tir:7:13", or NULL */
    tirc_origin origin;  /* the line of the program, and the schedule step that made it */
    /* the other access of a race, or the access that copied an undefined element: */
    bool has_other;
    const char *other_where;
    tirc_origin other;
    int64_t block[3], thread[3], other_block[3], other_thread[3]; /* x, y, z */
} tirc_fault;
/* After TIRC_WRONG: returns the i-th fault of the run; false past the last. */
bool tirc_fault_at(tirc *t, const tirc_device *device, size_t i, tirc_fault *fault);

/* The number of accesses of the emitted text that are proved in bounds, for all symbolic sizes of
 * at least 1 and all elements of wide accesses (docs/verification.md). Buffers without axes are not
 * counted. */
typedef struct {
    int64_t accesses; /* in the text */
    int64_t proved;
    int64_t data;     /* the answer depends on memory or on a scalar argument */
    int64_t unproved; /* no proof: products of sizes, or the budget is exceeded */
    int64_t leaving;  /* out of bounds for some sizes of at least 1 and some iteration */
} tirc_memory;
/* Tries to prove each access of a lowered kernel in bounds. */
tirc_status tirc_memory_bounds(tirc *t, const tirc_kernel *lowered, tirc_memory *memory);
/* An access without a proof. */
typedef struct {
    const char *element; /* "x[i + 1]" */
    const char *answer;  /* "data", "unproved" or "leaves" */
    /* the data; the obstacle; or the sizes, block, thread, iteration and subscript */
    const char *why;
    tirc_origin origin; /* the line of the program, and the schedule step that made it */
} tirc_open_access;
/* Returns the i-th of these in text order, after tirc_memory_bounds of this kernel; false past the
 * last. */
bool tirc_open_access_at(tirc *t, const tirc_kernel *lowered, size_t i, tirc_open_access *access);

/* The result of tirc_verify. */
typedef struct {
    /* nothing is wrong, and each element to check was checked or overflows in the program itself */
    bool ok;
    int64_t checked, total; /* checked elements, and all elements, of all outputs */
    double max_error;       /* the largest |result - reference| of the run on random reals */
    double bound;           /* the bound of that element */
    /* that run in words: how many elements were checked, and why others were not */
    const char *method;
    /* "once": every output element is proved to be written exactly once, for all values of symbolic
     * sizes; "open": not proved; "wrong" */
    const char *written;
    const char *written_why; /* the reason, if not "once" */
    int64_t wrong;           /* wrong elements, in the first run that has any */
    double nearest;          /* the largest error / bound of all elements */
    /* elements within their bounds on random reals */
    int64_t rounding;
    /* those of them with weak bounds: above 1/16 of the largest element */
    int64_t wide;
    /* elements that overflow or are NaN in the program itself on these inputs */
    int64_t overflown;
    int64_t unbounded; /* elements whose rounding error has no bound */
    /* elements that are sums, and those of them whose error is within the bound but unlikely for
     * independent rounding errors (docs/verification.md) */
    int64_t summed, unlikely;
    /* the longest chain of additions that their bounds assume: the number of terms, or fewer if the
     * schedule adds in a tree */
    double additions;
    /* elements equal bit for bit on small integers, where every order of evaluation is exact */
    int64_t exact;
    /* that run in words: how many, and on which inputs; NULL: the run on random reals was wrong */
    const char *structure;
} tirc_verification;
/* Returns the same kernel with `program` as its reference, since lowered text no longer contains
 * the program. Refused if `program` is scheduled or lowered, or if parameters or sizes differ. */
tirc_status tirc_against(tirc *t, const tirc_kernel *kernel, const tirc_kernel *program,
                         tirc_kernel **result);

/* From now on, tirc_verify, tirc_bench and tirc_bench_versus (for the first of several programs)
 * run `program` on these inputs: data[i] of parameter i, as for tirc_run; NULL where it is random.
 * The memory must stay as it is until the last of these calls. data NULL: all are random again.
 * Inputs that violate the program's `where` clause are refused there (E0652). */
tirc_status tirc_set_inputs(tirc *t, tirc_program *program, const void *const *data);

/* Runs on seeded random inputs and compares with the unscheduled program in higher precision
 * (docs/verification.md): the kernel of tirc_resolve, even if its text was scheduled, or the
 * program of tirc_against. Refused for lowered text without a program. Returns TIRC_WRONG if an
 * element is wrong, with the result filled in. */
tirc_status tirc_verify(tirc *t, tirc_program *program, const int64_t *sizes, uint64_t seed,
                        tirc_verification *result);

/* Times of one program or peer. */
typedef struct {
    double median_ms, min_ms, p95_ms;
    int runs;
    bool cold_l2;
    double gflops, gbps; /* from the program's operations and its parameters' bytes */
    /* its result equals that of the first program, after tirc_verify of the latter */
    bool agrees;
} tirc_measurement;
/* Measures several programs alternately (A B A B ...) on seeded random inputs with a cold L2
 * cache. */
tirc_status tirc_bench(tirc *t, tirc_program *const *programs, size_t n, const int64_t *sizes,
                       tirc_measurement *results);

/* Measures programs[0..n) and peers alternately, the peers on inputs like those of programs[0]:
 * "cublas" for a matmul in f32 or f64, or in f32 with a bias, "memcpy" for a program that reads as
 * many bytes as it writes. Fills results[n + n_peers]. Returns TIRC_REFUSED if a peer does not fit
 * the program, TIRC_UNAVAILABLE if it is missing. */
tirc_status tirc_bench_versus(tirc *t, tirc_program *const *programs, size_t n,
                              const char *const *peers, size_t n_peers, const int64_t *sizes,
                              tirc_measurement *results);

/* ---- analysis -------------------------------------------------------------------------------- */

/* Options of tirc_analyze, which counts a kernel's use of a GPU on the simulator
 * (docs/analysis.md). Zero is the default of each field. */
typedef struct {
    /* of the GPU to analyze for: a shipped one ("H200"), or the path of a text file */
    const char *profile;
    /* a GPU supplies the profile if none is named (without a device, that is the H200). A simulator
     * runs the kernel and records its fault, if any */
    const tirc_device *device;
    /* to compile for, to find the registers; NULL: that of the device, else "sm_90a" */
    const char *arch;
    uint64_t seed; /* of the inputs */
    /* the number of warp-wide requests to count before sampling evenly spaced blocks; 0: 4 million
     */
    int64_t budget;
} tirc_analyze_options;
/* The result of tirc_analyze. */
typedef struct tirc_analysis tirc_analysis;
/* Runs a lowered kernel once on the simulator and analyzes it. sizes: a value for each symbolic
 * size. options may be NULL. Returns TIRC_WRONG if the simulator finds a fault. */
tirc_status tirc_analyze(tirc *t, const tirc_kernel *lowered, const int64_t *sizes,
                         const tirc_analyze_options *options, tirc_analysis **analysis);

/* The totals over all kernels. */
typedef struct {
    const char *profile;            /* "NVIDIA H200" */
    int64_t blocks, counted_blocks; /* equal if every figure is exact */
    /* Floating-point operations: of the unscheduled program (-1: unknown), and executed by threads;
     * those of tensor cores are a limit (tirc_limit_at). */
    int64_t program_flops, f32_flops, f64_flops;
    /* Bytes of global memory: accessed by threads, in the sectors that warps move, past an
     * unlimited L1 cache, and of the parameters, each once. */
    int64_t bytes_named, bytes_sectors, bytes_beyond_l1, bytes_least;
    int64_t loads, stores, atomics; /* thread-wide, on global memory */
    int64_t output_elements;
    /* bytes accessed per operation of the program; 0 without operations */
    double bytes_per_flop;
    /* the rate that device memory would allow without caches; 0: unknown */
    double uncached_gflops;
    /* from the profile, for the types of this kernel; 0: unknown */
    double peak_gflops, dram_gbps;
} tirc_analysis_summary;
/* Returns the totals of an analysis. */
tirc_analysis_summary tirc_analysis_describe(const tirc_analysis *analysis);

/* An access of the program's text in one kernel, with all its requests. */
typedef struct {
    const char *kernel, *buffer, *type;
    const char *scope; /* "global", "shared" or "constant" */
    const char *op;    /* "load", "store" or "atomic" */
    int bytes;         /* per lane and request */
    tirc_origin origin;
    int64_t requests, lanes; /* warp-wide; thread-wide */
    /* for global memory; for shared memory; else 0 */
    double sectors_per_request, wavefronts_per_request;
    /* the minimum of sectors or wavefronts per request for the same bytes; 1 for constant memory */
    double ideal;
    /* atomics: serialized passes of lanes with the same element; constant memory: distinct words,
     * which are served one at a time; else 0 */
    double passes_per_request;
    /* why it costs more than the minimum, and a remedy; NULL: it does not */
    const char *verdict;
    /* The most expensive request; addresses in bytes from the start of the buffer (shared memory:
     * of the block's memory). */
    uint32_t active;          /* bit i: lane i is active */
    const int64_t *addresses; /* [32] */
    int worst_sectors, worst_wavefronts;
    int64_t worst_block; /* in the grid, x fastest */
    int worst_warp;
} tirc_access;
/* Returns the i-th access in the order of the kernels' text; false past the last. */
bool tirc_access_at(const tirc_analysis *analysis, size_t i, tirc_access *access);

/* A barrier of one kernel, and the number of its executions. */
typedef struct {
    const char *kernel;
    tirc_origin origin;
    const char *reason; /* what it orders */
    int64_t executed;   /* by all blocks */
    double per_block;
} tirc_barrier;
/* Returns the i-th barrier in the order of the kernels' text; false past the last. */
bool tirc_barrier_at(const tirc_analysis *analysis, size_t i, tirc_barrier *barrier);

/* A kernel and its residency on a multiprocessor. */
typedef struct {
    const char *name;
    int64_t launches, grid[3], block[3]; /* the grid of the first launch */
    int64_t shared_bytes;                /* per block */
    int registers, stack_bytes;          /* per thread; registers 0: unknown (no NVRTC) */
    int64_t resident_blocks, resident_threads;
    /* resident threads / maximum; 0: unknown */
    double occupancy;
    /* "threads", "blocks", "shared memory" or "registers"; NULL: unknown */
    const char *limited_by;
    /* blocks of the first launch / blocks that the whole GPU holds; 0: unknown */
    double waves;
} tirc_kernel_use;
/* Returns the i-th kernel; omits kernels that these sizes never launch. False past the last. */
bool tirc_kernel_use_at(const tirc_analysis *analysis, size_t i, tirc_kernel_use *use);

/* A part of the GPU, and its minimum time for its share of the work. */
typedef struct {
    const char *name, *unit; /* "device memory", "byte" */
    double amount, rate;     /* units, units per second; rate 0: unknown, and so is ms */
    double ms;
    bool binds; /* no part takes longer */
} tirc_limit;
/* Returns the i-th part of the GPU; false past the last. */
bool tirc_limit_at(const tirc_analysis *analysis, size_t i, tirc_limit *limit);

/* ---- tuning ---------------------------------------------------------------------------------- */

/* Sets the log of tuned programs (docs/tuning.md): tirc_tune writes it. tirc_apply takes the
 * schedule "tuned" from it, and "default" without settings where it has the program. NULL:
 * $TIRC_TUNE_LOG, or tuned.sqlite in the folder of the kernel cache; "": none. */
tirc_status tirc_set_tune_log(tirc *t, const char *path);
/* Returns the path of the log; NULL: none. */
const char *tirc_tune_log(tirc *t);
/* Returns the choice of the log that tirc_apply used: "default(threads=128)"; NULL: it used
 * none. */
const char *tirc_tuned_choice(const tirc_kernel *scheduled);

/* What tirc_tune has done so far. */
typedef struct {
    bool measuring;    /* else it is ranking candidates */
    size_t candidates; /* found so far */
    size_t done;       /* estimated or measured so far */
    double best_ms;    /* the least time so far; 0: none */
} tirc_tune_progress;
/* Options of tirc_tune. Zero-initialize it; zero is the default of each field. */
typedef struct {
    const char *schedule; /* NULL: "default" */
    /* settings that all candidates have: "T=16" */
    const char *const *settings;
    size_t n_settings;
    const int64_t *sizes; /* a value for each symbolic size */
    /* a GPU measures; the simulator only ranks by the model of a device */
    tirc_device_kind device;
    int ordinal;         /* of the GPU */
    const char *arch;    /* NULL: that of the device */
    const char *profile; /* of the model: as in tirc_analyze_options */
    uint64_t seed;       /* of the inputs */
    double seconds;      /* the time to spend; 0: 10 */
    /* called now and then, from any thread, but one call at a time */
    void (*progress)(void *user, const tirc_tune_progress *now);
    void *user;
} tirc_tune_options;
/* The result of tirc_tune. */
typedef struct {
    /* the best: "default(threads=128)"; NULL: other processes are at all candidates */
    const char *choice;
    const char *device, *arch;     /* that the times are of: "NVIDIA H200", "sm_90a" */
    bool measured;                 /* else the times are estimates of the model */
    double ms;                     /* of the best */
    double own_ms;                 /* of the schedule without settings; 0: not known */
    size_t candidates, refused;    /* with different code; choices that a step refused */
    size_t done, known, elsewhere; /* by this call; before it; by other processes meanwhile */
    size_t wrong, failed;          /* other results than the first; did not run */
    double seconds;
} tirc_tuning;
/* Searches the choices of the `tune` statements of a schedule for the fastest kernel, and writes
 * all figures to the log. Ranks candidates by a model of the device, from counters of the
 * simulator, and measures the best on the GPU until the time is over. The schedule's own choice is
 * verified, and all candidates that are measured have to produce the same result. Several processes
 * with one log share the work. */
tirc_status tirc_tune(tirc *t, const tirc_file *file, const tirc_kernel *program,
                      const tirc_tune_options *options, tirc_tuning *result);

/* ---- editors --------------------------------------------------------------------------------- */

/* Parses a text that may be wrong: *file has the declarations that can be read, without the
 * statements that cannot. Returns TIRC_REFUSED, with diagnostics, if there were errors. */
tirc_status tirc_open_text(tirc *t, const char *name, tirc_text text, tirc_file **file);
/* Sets the text that is used in place of the file at `path`, when schedules or includes are
 * looked for. Returns TIRC_REFUSED, with diagnostics, if it does not parse. */
tirc_status tirc_provide_text(tirc *t, const char *path, tirc_text text);
/* A part of a text; lines and columns from 1, columns in bytes; the end is behind the last byte.
 * path is NULL where there is none, as for primitives. */
typedef struct {
    const char *path;
    int line, column, end_line, end_column;
} tirc_place;

/* The kinds of things that have names. */
typedef enum {
    TIRC_NAMED_KERNEL,
    TIRC_NAMED_SIZE,
    TIRC_NAMED_TYPE,
    TIRC_NAMED_BUFFER, /* an input with elements, or an output */
    TIRC_NAMED_SCALAR,
    TIRC_NAMED_TEMP,
    TIRC_NAMED_VALUE,
    TIRC_NAMED_LOOP,
    TIRC_NAMED_ITERATOR,
    TIRC_NAMED_BLOCK,
    TIRC_NAMED_REDUCER,
    TIRC_NAMED_FUNCTION,
    TIRC_NAMED_SCHEDULE,
    TIRC_NAMED_PROC,
    TIRC_NAMED_PARAMETER, /* of a schedule or proc */
    TIRC_NAMED_VARIABLE,  /* of a schedule or proc */
    TIRC_NAMED_PRIMITIVE,
    TIRC_NAMED_INSTRUCTION,
} tirc_named_kind;
/* Returns "a kernel", "a loop" ... */
const char *tirc_named_kind_text(tirc_named_kind kind);

/* What a name stands for. */
typedef struct {
    tirc_named_kind kind;
    const char *name;
    tirc_place place; /* of the name in its declaration */
    tirc_place whole; /* of the declaration */
    tirc_place scope; /* where the name means this; no path: wherever the declaration is seen */
    int parent;       /* the kernel, schedule or proc around it; -1: none */
    const char *type; /* as written: "f32[M, K]"; NULL: none */
    /* as written: of a loop or iterator its range, of a value or variable its value, of a size or
     * parameter its default; NULL: none */
    const char *domain;
    const char *declaration; /* its text on one line, up to its body; NULL: none */
} tirc_named;
/* A name in the text of a file. */
typedef struct {
    tirc_place place;
    int named; /* what it stands for */
    bool declares;
} tirc_name_use;
/* The names of a file and what they stand for. */
typedef struct tirc_names tirc_names;
/* Finds what the names of a file stand for. program: the file with the kernels of its schedules;
 * NULL: there is none, or it is this file. */
tirc_status tirc_find_names(tirc *t, const tirc_file *file, const tirc_file *program,
                            tirc_names **names);
/* Returns the i-th thing that has a name, in no particular order; false past the last. */
bool tirc_named_at(tirc *t, const tirc_names *names, size_t i, tirc_named *named);
/* Returns the i-th name in the text, in no particular order; false past the last. */
bool tirc_name_use_at(tirc *t, const tirc_names *names, size_t i, tirc_name_use *use);
/* Returns the number of names at this place (as in tirc_name_use_at); -1: none. */
int tirc_name_use_find(const tirc_names *names, int line, int column);
/* Returns what a kernel accesses of a buffer: "read at [0..M, 0..K]"; NULL: nothing is known. */
const char *tirc_regions(tirc *t, const tirc_kernel *kernel, const char *buffer);

/* Returns the i-th schedule of the file itself; false past the last. */
bool tirc_file_schedule(tirc *t, const tirc_file *file, size_t i, tirc_named *schedule);
/* Returns a kernel that the i-th schedule of the file is for, "any" for all; NULL past the last. */
const char *tirc_file_schedule_kernel(const tirc_file *file, size_t i, size_t kernel);
/* Applies the i-th schedule of the file itself as far as it goes. If it is refused, *scheduled has
 * the steps that ran. kernel may be of another file. */
tirc_status tirc_apply_partly(tirc *t, const tirc_file *file, size_t i, const tirc_kernel *kernel,
                              tirc_kernel **scheduled);
/* Returns the place of a step (from 1) of a kernel of tirc_apply_partly: of the call in the
 * schedule, also if a proc made the step. */
bool tirc_step_place(tirc *t, const tirc_kernel *scheduled, size_t step, tirc_place *place);

#ifdef __cplusplus
}
#endif
#endif
