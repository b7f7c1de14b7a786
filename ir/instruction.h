/* instruction.h - Defines instructions of the GPU: operands, CUDA text, and what they compute. */
#ifndef TIRC_IR_INSTRUCTION_H
#define TIRC_IR_INSTRUCTION_H

#include "ir/ir.h"

enum { STRIDE_ANY = -1, LANES_WARP = 32, LANES_WARPGROUP = 128 };

/* How the instruction reads an operand. Writes of threads are visible to the asynchronous proxy
 * behind a fence only, which each barrier has in front of it (codegen/cuda/stmt.c). */
typedef enum { PROXY_GENERIC, PROXY_ASYNC } Proxy;

/* What the template of an instruction needs of one of its operands, beside type and shape. */
typedef struct {
    Buffer *buffer; /* a parameter of the kernel */
    bool has_scope; /* it lies in `scope` */
    Scope scope;
    int64_t align;          /* its first element lies at a multiple of this many bytes */
    const int64_t *strides; /* [buffer->rank] in elements, or STRIDE_ANY */
    Swizzle swizzle;        /* of chunks along `swizzled`; none where chunk is 0 */
    int swizzled;
    /* Runs of `align` bytes along the axis of stride 1 lie anywhere, each at a multiple of `align`:
     * the template takes the address of each. */
    bool in_runs;
    Proxy proxy;
} Operand;

/* An element of an operand that the template names. */
typedef struct {
    int operand;
    Expr *const *at; /* [rank] numbers, and the instruction's lane */
} OperandElement;

typedef enum {
    PIECE_TEXT,     /* CUDA text as it stands */
    PIECE_ELEMENT,  /* {a[2]}, or {c} of an operand without axes: the element itself */
    PIECE_ADDRESS,  /* {a} of an operand with axes: where its first element lies */
    PIECE_WIDE,     /* {a: int}, {a[4]: int}: the bytes from an element on as this type of CUDA's */
    PIECE_DISTANCE, /* {a[1, 0] - a}: elements from the first one of the operand to this one */
} PieceKind;
typedef struct {
    PieceKind kind;
    const char *text; /* of TEXT: itself; of WIDE: the type */
    int element;
    int first; /* of DISTANCE: the first element of the operand */
} TemplatePiece;

/* Copies of whole boxes of a tensor that the hardware makes (bulk_copy.h), by the span in bytes
 * within which it lets chunks of 16 bytes change places. */
typedef enum {
    BULK_NONE,
    BULK_PLAIN,
    BULK_SWIZZLE_32,
    BULK_SWIZZLE_64,
    BULK_SWIZZLE_128,
    BULK_MODES
} BulkMode;

/* An instruction of the GPU, as declared by `instruction NAME(...) cuda "..." { body }`. */
struct Instruction {
    const Kernel *kernel; /* its name, its operands, and what it computes */
    const Operand *operands;
    int n_operands;
    Stmt *body;    /* of the kernel, as loops over stores to the operands */
    int64_t lanes; /* 1; 32 or 128: the threads of a warp or a warpgroup together */
    Var *lane;     /* in the body: the thread's threadIdx.x; NULL: one thread */
    /* Tensor cores execute it, as so many products of elements of the type: of f32 rounded to TF32.
     * 0: threads do. */
    int64_t passes;
    DType tensor;
    const char *const *lines; /* the template as it is written */
    int n_lines;
    const TemplatePiece *pieces; /* the template as it is read */
    int n_pieces;
    /* The texts that make a group of executions, and wait until all but the {pending} latest groups
     * are complete. NULL: an execution is complete when its text is. */
    const char *commit, *wait;
    const OperandElement *elements; /* that the pieces name, each once */
    int n_elements;
    BulkMode bulk;  /* it is no declared one, but a copy of a box: two elements, no template */
    bool multicast; /* of a box: to this place in all blocks of the cluster */
    bool stores;    /* of a box: to the tensor; it reads shared memory behind its text */
};
/* The place of the number of groups in the text of `wait`. */
#define PENDING_MARK "{pending}"

/* Its executions go on behind its text, until a wait for their group. */
static inline bool instruction_is_async(const Instruction *of)
{
    return of && (of->commit || of->stores);
}

/* Something ahead of the cursor loads from the local buffer or stores to it, or waits for
 * instructions in flight, which name the registers that these write. */
bool cursor_meets(Cursor at, const Buffer *buffer);

/* The same operands, template and body. */
bool instruction_equal(const Instruction *a, const Instruction *b);

#endif
