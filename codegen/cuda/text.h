/* text.h - Declares the parts of the CUDA emitter (internal to codegen).
 *
 * A CudaWriter holds the text under way and which helper functions the text has come to need;
 * helpers are put in front when all kernels are written. */
#ifndef TIRC_CODEGEN_CUDA_TEXT_H
#define TIRC_CODEGEN_CUDA_TEXT_H

#include "codegen/cuda/cuda.h"
#include "codegen/cuda/names.h"
#include "codegen/launch_use.h"

/* Small device functions, each emitted once if used. */
typedef enum {
#define HELPER(e, name, needs, text) HELPER_##e,
#include "codegen/cuda/cuda_helper.def"
#undef HELPER
    HELPER_COUNT
} Helper;

typedef VEC(const Buffer *) BufferList;

/* Functions of the host's reference in a complete program, likewise. */
typedef enum {
#define HOST_HELPER(e, name, text) HOST_##e,
#include "codegen/cuda/host_helper.def"
#undef HOST_HELPER
    HOST_HELPER_COUNT
} HostHelper;

/* How strongly C's operators bind that are no operators of the language; see op_info. */
enum { PRECEDENCE_SELECT = 1, PRECEDENCE_UNARY = 12, PRECEDENCE_POSTFIX = 13 };

/* From `offset` on the text comes from `origin`. */
typedef struct {
    size_t offset;
    Origin origin;
} LineMark;

typedef struct {
    Context *c;
    CudaNames *names;
    StrBuf *out;
    int indent;
    Origin origin;       /* of what is written */
    VEC(LineMark) marks; /* in `out`, in rising order */
    bool helper_used[HELPER_COUNT];
    bool host_helper_used[HOST_HELPER_COUNT];
    VEC(const Var *) wide_indices; /* lets of 64 bits that hold indices */
    uint32_t n_ids;
    const bool *read; /* [n_ids] by the id of a variable or buffer: some expression reads it */
    /* the text is for the host: its temps are vectors, its floats those of <cmath> */
    bool host;
    bool in_braces; /* the loop that comes next is all that stands between two braces */
    /* buffers of the launch that vectorized loops touch: they need 16-byte alignment */
    BufferList wide;
    const LaunchUse *use; /* of the launch under way; NULL: none */
    enum { WRITES_ALL, WRITES_PRODUCER, WRITES_CONSUMERS } role; /* whose text it is */
    /* buffers in scope that asynchronous instructions of the launch write */
    VEC(const Buffer *) in_flight;
} CudaWriter;

/* Marks a helper as used and gives its name. */
const char *cuda_helper(CudaWriter *w, Helper helper);
const char *cuda_helper_name(Helper helper);
const char *cuda_host_helper(CudaWriter *w, HostHelper helper);
const char *cuda_host_helper_name(HostHelper helper);
/* The text of the helpers used, in order; of the host's. */
void cuda_helpers(const CudaWriter *w, StrBuf *out);
void cuda_host_helpers(const CudaWriter *w, StrBuf *out);

/* The name of a size, parameter, loop or named value in the text (names.h). */
const char *cuda_name(const CudaWriter *w, Name name);
const char *cuda_buffer_name(const CudaWriter *w, const Buffer *b);
/* The C type that a value of the type is stored as, or computed in. */
const char *cuda_storage_type(DType type);
const char *cuda_value_type(DType type);

/* An expression as a value: a C type it computes in. `precedence` is the operator's around it;
 * parentheses come where C needs them. */
void cuda_expr(CudaWriter *w, const Expr *e, int precedence);
/* An expression as it is stored: for 16- and 8-bit floats the bits. */
void cuda_stored(CudaWriter *w, const Expr *e);
/* The f32 that an operation on a narrow type computes, before it is rounded to the type. */
void cuda_unrounded(CudaWriter *w, const Expr *e, int precedence);
/* `buffer[index]` as an lvalue of its storage type. */
void cuda_element(CudaWriter *w, const Buffer *buffer, Expr *const *index);
/* A statement with what is in it, on lines of its own. */
void cuda_statement(CudaWriter *w, const Stmt *s);
/* `for (int i = 0; i < n; ++i)`, without a body. */
void cuda_loop_header(CudaWriter *w, const ForStmt *loop);
/* `__shared__ float tile[32][33];` */
void cuda_array_declaration(CudaWriter *w, const Buffer *buffer);

/* The right operand of an operator of `precedence` - 1: C converts what is smaller. */
void cuda_right_operand(CudaWriter *w, const Expr *e, int precedence);

/* Integers (int.c): writes arithmetic that C leaves undefined for some operands; false where
 * its own operator does. */
bool cuda_integer(CudaWriter *w, const Expr *e, int precedence);
/* C computes `e` in a signed type, which may not hold it. */
bool cuda_overflows(const CudaWriter *w, const Expr *e);
/* C computes `e`, of 8 or 16 bits, in an int, and its value may not fit the type. */
bool cuda_leaves_type(const Expr *e);
/* f32 holds all values that the integer `e` may have. */
bool cuda_fits_f32(const Expr *e);
/* A float as the integer of type `to` that a conversion gives; of small types as an int. */
void cuda_from_float(CudaWriter *w, const Expr *from, DType to);
/* An integer of 8 bits as an f32; false where a cast does. */
bool cuda_byte_as_float(CudaWriter *w, const Expr *from);
/* A let is written: remembers those of indices. */
void cuda_note_let(CudaWriter *w, const Stmt *let);

/* Finds out what expressions of `body` read; compilers warn of what is declared for nothing. */
void cuda_note_reads(CudaWriter *w, const Stmt *body);
/* The prefix of the declaration of the variable or buffer with this id: `[[maybe_unused]] ` if
 * nothing reads it. */
const char *cuda_unused(const CudaWriter *w, uint32_t id);

/* The function that loads or stores with a hint (hint.c); NULL for HINT_NONE. */
const char *cuda_hint_load(CudaWriter *w, CacheHint hint);
const char *cuda_hint_store(CudaWriter *w, CacheHint hint);
/* The function that makes the policy of a bulk copy with a hint; NULL: it has none. */
const char *cuda_hint_policy(CudaWriter *w, CacheHint hint);
/* The line of an asynchronous store, of a vectorized loop where `plan` is not NULL; false if it is
 * none that the hardware has. */
struct VectorPlan;
bool cuda_async_store(CudaWriter *w, const Stmt *store, const struct VectorPlan *plan);

/* Bulk copies (bulk.c). Of a launch, what a caller needs to know to make its tensor maps, as
 * comments; as variables of a complete program; the mbarriers. */
const char *cuda_map_name(CudaWriter *w, const LaunchUse *use, int box);
void cuda_map_comments(CudaWriter *w, const LaunchUse *use);
void cuda_map_variables(CudaWriter *w, const LaunchUse *use);
void cuda_bulk_declarations(CudaWriter *w, const LaunchUse *use);
/* The mbarriers at which groups land, and the number of groups that the thread has begun. */
const char *cuda_landed_name(CudaWriter *w);
const char *cuda_begun_name(CudaWriter *w);

/* roles.c: the mbarriers of a launch with roles, and their first phases; what stands in front of,
 * and behind, the parts of ST_ROLES; ACQUIRE, RECEIVE and RELEASE; the other waits of a role. */
void cuda_roles_declarations(CudaWriter *w, const LaunchUse *use);
void cuda_producer_opens(CudaWriter *w);
void cuda_consumers_open(CudaWriter *w);
void cuda_roles_close(CudaWriter *w);
void cuda_hand_over(CudaWriter *w, const Stmt *s, const char *why);
void cuda_producer_commit(CudaWriter *w, const char *why);
void cuda_consumers_meet(CudaWriter *w, const char *why);
/* Where the mbarriers begin of the consumer whose turn it is, for which the producer copies. */
const char *cuda_turns_mbarriers(CudaWriter *w);
/* The lines of a copy, of the end of a group, and of a wait for all but `pending` groups. */
void cuda_bulk_copy(CudaWriter *w, const Stmt *copy);
/* A commit of bulk stores, or a wait for them. */
void cuda_store_group(CudaWriter *w, const Stmt *s, const char *why);
void cuda_bulk_commit(CudaWriter *w, const char *why);
void cuda_bulk_wait(CudaWriter *w, int pending, const char *why);

/* A vectorized loop as wide accesses; false if its shape or type has none (the caller unrolls). The
 * names that it declares are in braces, which may stand already. */
bool cuda_vector_loop(CudaWriter *w, const ForStmt *loop, bool in_braces);
/* The buffers that vectorized loops below `s` touch. */
void cuda_wide_buffers(Context *c, const Stmt *s, BufferList *list);

/* A local buffer of one element is a variable; what its layout adds holds nothing. */
bool cuda_is_variable(const Buffer *buffer);
/* The dimensions of an array, as in "float A_shared[32][33]": the axes of more than one element,
 * and at least one axis. */
typedef struct {
    int n, *axis;    /* [n] which axis of the buffer */
    int64_t *extent; /* [n] padding included */
} ArrayDims;
/* False where strides do not nest, so that the array must be flat. */
bool cuda_array_dims(Context *c, const Buffer *buffer, ArrayDims *dims);

/* The call that launches the __global__ function of a launch. */
void cuda_launch_call(CudaWriter *w, const LaunchUse *use);

/* Sets the origin of the text that follows, and returns the previous origin, to restore it
 * afterwards (lines.c). */
Origin cuda_mark(CudaWriter *w, Span span, int step);
/* The origin of each line of `text`, which w's marks are about, added to `lines`. */
void cuda_lines(CudaWriter *w, const StrBuf *text, LineOrigins *lines);

/* `text`, whole lines which w's marks are about, with long ones folded; moves the marks. */
StrBuf cuda_folded(CudaWriter *w, const StrBuf *text);

/* A whole line at the depth of the place; and only what it begins with. */
void cuda_line(CudaWriter *w, const char *format, ...) TIRC_PRINTF(2, 3);
void cuda_indent(CudaWriter *w);

#endif
