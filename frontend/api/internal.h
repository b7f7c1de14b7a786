/* internal.h - Defines the data behind the handles of tirc.h, and how each public call starts and
 * ends.
 *
 * A public function that can fail consists of one API_GUARDED around a function that returns bool:
 * fatal errors (exhausted memory, a bug) unwind to it, and the status follows from the
 * diagnostics. */
#ifndef TIRC_FRONTEND_API_INTERNAL_H
#define TIRC_FRONTEND_API_INTERNAL_H

#include "codegen/codegen.h"
#include "codegen/cuda/cuda.h"
#include "codegen/launch_use.h"
#include "frontend/syntax/ast.h"
#include "include/tirc.h"
#include "passes/lower/proofs/in_bounds.h"
#include "passes/schedule/schedule.h"
#include "runtime/device.h"
#include "runtime/measure/tunelog.h"
#include "runtime/measure/verify.h"
#include "runtime/peer.h"

struct tirc {
    Context *ctx;
    Arena *texts; /* rendered messages: they are needed most when the context's memory is spent */
    char *cache_dir;
    tirc_status dead; /* not TIRC_OK: the context was unwound, and only messages can be had */
    Diag fatal;       /* the message of that, which cannot be allocated any more */
    const char *bug_report;
    const char *subject; /* the command line that repeats what is being done, for a bug report */
    VEC(tirc_device *) devices;
    NvrtcWarmup *warmup; /* since tirc_prepare, or NULL */
    /* stores of a reference that are worth waiting for: beyond, it computes a sample */
    double full_work;
    int64_t samples;            /* the elements of a sample, roughly */
    Workload *workload, *other; /* of the call at work */
    /* the last lowered kernel whose accesses were asked about, and the answers */
    const Kernel *bounded;
    MemoryBounds bounds;
    /* the last one that was right, and how far two right results may be apart */
    const tirc_program *verified;
    double apart;
    char *tune_log; /* its path, set by the caller; NULL: that of the environment */
    TuneLog *log;   /* open to be read; or NULL */
};

struct tirc_file {
    const AstFile *ast;
};

struct tirc_kernel {
    const Kernel *kernel;
    Level level;            /* of it */
    const Kernel *declared; /* before any schedule */
    /* the same with the interface of `kernel`: what the result is compared with */
    const Kernel *program;
    /* lowered, while subscripts still stood apart: what outputs_written_once asks about; or NULL */
    const Kernel *apart;
    const Schedule *schedule; /* or NULL */
    const Span *sites;        /* of its steps, after tirc_apply_partly; or NULL */
    const char *schedule_name;
    const char *tuned;   /* the choice of the log: "default(threads=128)"; or NULL */
    const char *command; /* the command line that makes it, but for what is done with it */
};

struct tirc_device {
    Device *device; /* NULL once it is closed */
    VEC(tirc_program *) programs;
    const tirc_kernel *ran; /* last: whose fault device->fault is */
};

struct tirc_program {
    tirc_device *device;
    const tirc_kernel *kernel;
    const Module *module;
    LoadedModule *loaded;
    /* the same with 64-bit indices, made when sizes first ask for it; or NULL */
    tirc_program *wide;
    DevicePtr *temps; /* [n_buffers], of tirc_launch; 0 where there is none */
    int64_t *dims;    /* of the temps, all in a row, to see whether they still fit */
    /* [parameters] of tirc_set_inputs, NULL where an input is random; or NULL */
    void *const *inputs;
};

/* ---- calls ----------------------------------------------------------------------------------- */

typedef struct {
    jmp_buf guard;
    jmp_buf *outer; /* calls nest: a callback may use the library */
    const Diag *last;
} ApiFrame;

/* A call begins: the guard that it stands in, and the last diagnostic so far. */
ApiFrame api_enter(const tirc *t);
/* The call ends: TIRC_OK if it is `done`, else what the code of its first error means for the
 * caller. */
tirc_status api_leave(tirc *t, const ApiFrame *frame, bool done);
/* After a longjmp to the frame. */
tirc_status api_unwind(tirc *t, const ApiFrame *frame);

/* Ends the function with the status of `call`, a bool; API_ANSWER with whether it is TIRC_OK, for
 * questions. */
#define API_GUARDED(t, call) API_RETURN(t, call, )
#define API_ANSWER(t, call)  API_RETURN(t, call, TIRC_OK ==)
#define API_RETURN(t, call, as)                                                                    \
    do {                                                                                           \
        if ((t)->dead)                                                                             \
            return as(t)->dead;                                                                    \
        ApiFrame frame_ = api_enter(t);                                                            \
        if (setjmp(frame_.guard))                                                                  \
            return as api_unwind((t), &frame_);                                                    \
        (t)->ctx->guard = &frame_.guard;                                                           \
        return as api_leave((t), &frame_, (call));                                                 \
    } while (0)

/* ---- shared by the api_*.c files ------------------------------------------------------------- */

/* A handle of `kernel`, which lives as long as the context; all else that is known of it is as in
 * `from` (NULL: nothing yet). */
tirc_kernel *api_kernel_new(tirc *t, const Kernel *kernel, const tirc_kernel *from);
/* The kernel of that name, NULL: the only one; NULL after E0701. */
const AstKernel *api_choose_kernel(tirc *t, const tirc_file *file, const char *name);
/* The text of a span on one line, runs of blanks as one. */
const char *api_span_text(Context *c, Span span);
/* A file of a tree. */
tirc_file *api_file_new(tirc *t, const AstFile *ast);
/* False, with E0702, when the kernel is not lowered. */
bool api_require_lowered(tirc *t, const tirc_kernel *kernel, const char *what);
/* The CUDA text of a lowered kernel, made anew at each call. */
const char *api_cuda_text(tirc *t, const tirc_kernel *lowered);
/* The reference of a kernel, as verify and --emit cu need it; NULL after a diagnostic. */
const Kernel *api_reference(tirc *t, const tirc_kernel *kernel);
/* All sizes of the program, with values for the symbolic ones; NULL after E0703 or E0704. */
const int64_t *api_sizes(tirc *t, const tirc_program *program, const int64_t *values);
/* Whether sizes, scalars, and buffers in this process's memory satisfy the program's `where`
 * clause; false after E0652. All tables are those of the module (where.c). */
bool api_sizes_fit(tirc *t, const Module *m, const int64_t *sizes);
bool api_scalars_fit(tirc *t, const Module *m, const int64_t *sizes, const void *const *scalars);
bool api_elements_fit(tirc *t, const Module *m, const int64_t *sizes, const DevicePtr *host,
                      const int64_t *bytes);
/* The program itself or, for sizes that break a limit of its 32-bit indices, the same with 64-bit
 * indices; NULL after a diagnostic. */
tirc_program *api_for_sizes(tirc *t, tirc_program *program, const int64_t *sizes);
/* A workload of random inputs, but for those of tirc_set_inputs, which must satisfy the program's
 * `where` clause. NULL after a diagnostic. */
Workload *api_workload(tirc *t, const tirc_program *program, const int64_t *sizes, uint64_t seed);
/* A lowered kernel with 64-bit indices. */
const tirc_kernel *api_with_index64(tirc *t, const tirc_kernel *lowered);
/* The differences between two runs of the same program on the same inputs. */
enum { AGREEMENT_SHOWN = 12 };
typedef struct {
    bool compared;
    const char *with;                     /* the other schedule, if they are compared */
    int64_t elements, different;          /* of all outputs */
    const char *first;                    /* the first difference, in words */
    VerifyElement shown[AGREEMENT_SHOWN]; /* the first, the second, the fourth ... of them */
    int n_shown;
} Agreement;
/* A program under another schedule. */
typedef struct {
    const char *with; /* the schedule; NULL: there is none to compare with */
    const Kernel *lowered;
    Module *module;
} Peer;
/* Finds the peer of `program`, at the sizes of t->workload: none where it has no program to
 * schedule, or no other schedule that serves within this tolerance (agree.c). */
bool api_find_peer(tirc *t, const tirc_program *program, double tolerance, Peer *out);
/* Runs the peer on the inputs of t->workload, and compares whole outputs with those there: integers
 * exactly, floats within `tolerance`. Nothing is compared where there is no peer. */
bool api_agree(tirc *t, const tirc_program *program, const Peer *peer, double tolerance,
               Agreement *out);
/* The outputs of two runs, which must agree. */
typedef struct {
    const Workload *one, *other;
    double tolerance;
} TwoRuns;

/* Compares the outputs of two runs of a program, which may be of different modules: parameters have
 * the same numbers in all. */
bool api_compare_outputs(tirc *t, const tirc_program *program, const TwoRuns *runs, Agreement *out);
/* The result of a run on small integers (structure.c). */
typedef struct {
    int kind;       /* of inputs: what there is to choose from */
    int rounds;     /* runs on different inputs of that kind */
    bool by_bounds; /* there was no such run: on random reals, too, all must be equal */
    /* `checked`: how many elements were compared for equality, the fewest of all runs */
    VerifyResult result;
    const char *blame; /* why others were not, as far as it is known */
    /* of a sample: with another schedule, bit for bit, in the run that differs most */
    Agreement whole;
} Structure;
/* Runs the program on small integers, and compares elements that are exact then, of those that
 * `options` wants. The last run's data are left in t->workload. False after a diagnostic where
 * there was no run; wrong elements are only counted. */
bool api_check_structure(tirc *t, const tirc_program *program, const int64_t *sizes,
                         const VerifyOptions *options, Structure *out);
/* The same in words: "exact, 1024 of 1024 elements equal bit for bit on integers up to 16". */
void api_describe_structure(const Structure *s, StrBuf *out);
/* Runs a program on its device; reports a fault with the schedule steps that made the two
 * accesses. */
bool api_run(tirc *t, const tirc_program *program, const RunArguments *args);
/* Adds the note that `what` comes from that step of the kernel's schedule, if it does. */
void api_note_step(tirc *t, const tirc_kernel *kernel, int step, const char *what);
/* The origin of a line; the texts live as long as the context (lines.c). */
tirc_origin api_origin(tirc *t, const tirc_kernel *kernel, Origin origin);
typedef struct {
    const char *text;
    const LineOrigins *lines; /* where its lines come from */
} CudaText;

/* CUDA text with where its lines come from: in comments at their ends, or as #line directives. */
void api_annotate(tirc *t, const tirc_kernel *kernel, const CudaText *cuda, bool directives,
                  StrBuf *out);
/* The task that the named peer performs instead of the program; false after E0642 (peer.c). */
bool api_peer_task(tirc *t, const tirc_program *program, const char *peer, const Workload *w,
                   PeerTask *task);
/* The kernel for the simulator: accesses that are not proved are checked axis by axis. */
const Kernel *api_checked_kernel(tirc *t, const Kernel *lowered);
/* No access certainly leaves its buffer at these sizes; false after E0639. */
bool api_stays_inside(tirc *t, const tirc_kernel *lowered, const int64_t *sizes);
/* Measures programs alternately, the first of which was verified; all must agree with it. */
typedef struct {
    tirc_program *const *programs;
    size_t n;
    const int64_t *sizes; /* values of the symbolic ones */
    BenchOptions options;
} Race;
bool api_race(tirc *t, const Race *race, tirc_measurement *results);
/* The time of a lowered kernel by the model of a device. */
typedef struct {
    double ms;
    const char *profile; /* "NVIDIA H200" */
} Estimate;
bool api_estimate(tirc *t, const tirc_kernel *lowered, const int64_t *sizes,
                  const tirc_analyze_options *options, Estimate *out);
/* The text that identifies a program in the log; NULL after a diagnostic. */
const char *api_tune_text(tirc *t, const tirc_kernel *program);
/* What the log says for a schedule of this name without settings (tuned.c). */
typedef enum { TUNED_NONE, TUNED_CHOSEN, TUNED_REFUSED } Tuned;
typedef struct {
    const char *text, *schedule;
    const char *const *settings;
    size_t n_settings;
} TunedChoice;
/* TUNED_NONE: the name means what it means without a log. TUNED_REFUSED: after a diagnostic. */
Tuned api_tuned(tirc *t, const tirc_file *file, const tirc_kernel *kernel, const char *name,
                TunedChoice *choice);
/* The choice of a figure. */
TunedChoice api_choice_of(tirc *t, const Figure *figure);
/* --emit json. */
bool api_emit_json(tirc *t, const tirc_kernel *lowered, const char **text, size_t *length);

#endif
