/* instruction.h - Defines instructions of the GPU: operands, CUDA text, and what they compute. */
#ifndef TIRC_IR_INSTRUCTION_H
#define TIRC_IR_INSTRUCTION_H

#include "ir/ir.h"

enum { STRIDE_ANY = -1 };

/* What the template of an instruction needs of one of its operands, beside type and shape. */
typedef struct {
    Buffer *buffer; /* a parameter of the kernel */
    bool has_scope; /* it lies in `scope` */
    Scope scope;
    int64_t align;          /* its first element lies at a multiple of this many bytes */
    const int64_t *strides; /* [buffer->rank] in elements, or STRIDE_ANY */
} Operand;

/* An element of an operand that the template names. */
typedef struct {
    int operand;
    const int64_t *at; /* [rank] */
} OperandElement;

typedef enum {
    PIECE_TEXT,    /* CUDA text as it stands */
    PIECE_ELEMENT, /* {a[2]}, or {c} of an operand without axes: the element itself */
    PIECE_ADDRESS, /* {a} of an operand with axes: where its first element lies */
    PIECE_WIDE,    /* {a: int}, {a[4]: int}: the bytes from an element on as this type of CUDA's */
} PieceKind;
typedef struct {
    PieceKind kind;
    const char *text; /* of TEXT: itself; of WIDE: the type */
    int element;
} TemplatePiece;

/* An instruction of the GPU, as declared by `instruction NAME(...) cuda "..." { body }`. */
struct Instruction {
    const Kernel *kernel; /* its name, its operands, and what it computes */
    const Operand *operands;
    int n_operands;
    Stmt *body;               /* of the kernel, as loops over stores to the operands */
    int64_t lanes;            /* 1, or 32: the threads of a warp run it together */
    Var *lane;                /* in the body: the thread's threadIdx.x; NULL: one thread */
    const char *const *lines; /* the template as it is written */
    int n_lines;
    const TemplatePiece *pieces; /* the template as it is read */
    int n_pieces;
    const OperandElement *elements; /* that the pieces name, each once */
    int n_elements;
};
/* The same operands, template and body. */
bool instruction_equal(const Instruction *a, const Instruction *b);

#endif
