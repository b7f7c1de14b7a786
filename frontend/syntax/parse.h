/* parse.h - Declares the steps from text to syntax tree, and from a kernel's tree to the IR.
 *
 * Both steps record what they refuse in the context and return NULL; they go on after an error to
 * report several at once, but never return half a result. */
#ifndef TIRC_FRONTEND_SYNTAX_PARSE_H
#define TIRC_FRONTEND_SYNTAX_PARSE_H

#include "frontend/syntax/ast.h"

/* The items of a registered source (source_add): kernels, schedules, procs and includes.  Any bytes
 * are safe to parse.  NULL, with at least one error in `c`, when the text is not a sequence of
 * items, or two of a kind have one name. */
AstFile *parse_text(Context *c, uint32_t source);
/* Those between two places of the source. */
AstFile *parse_part(Context *c, uint32_t source, uint32_t begin, uint32_t end);

/* For editors: the items that can be read, without the statements that cannot. Never NULL; errors
 * are recorded. */
AstFile *parse_readable(Context *c, uint32_t source);

/* The -D option for one size or type parameter. */
typedef struct {
    Name name;
    enum { SIZE_CONSTANT, SIZE_SYMBOLIC, SIZE_TYPE } kind;
    int64_t value; /* of SIZE_CONSTANT */
    DType type;    /* of SIZE_TYPE */
} SizeOverride;

/* Reads the argument of -D: "M=512", "M=?" or "T=f16".  False, with an error, when it is none of
 * these, and when the size is not a positive number that fits in 63 bits. */
bool size_override_parse(Context *c, const char *text, SizeOverride *out);

/* The kernel that the tree describes, at the level it is written at, with names, types and ranks
 * resolved, statements grouped into blocks, and the overrides applied (an override that names no
 * size of the kernel is an error; the last one for a name wins).  NULL, with at least one error in
 * `c`, when the tree is not a correct kernel.  The result passes ir_verify. */
Kernel *resolve_kernel(Context *c, const AstKernel *kernel, const SizeOverride *overrides,
                       int n_overrides);

/* An instruction with these values of its first parameters. */
typedef struct {
    const AstInstruction *ast;
    const SizeOverride *arguments; /* [n] */
    int n;
    const Instruction *instruction;
} InstructionCase;
typedef VEC(InstructionCase) InstructionCases;
/* The same, resolved once for each list of arguments. NULL after diagnostics. */
const Instruction *instruction_case(Context *c, InstructionCases *known, const AstInstruction *ast,
                                    const SizeOverride *arguments, int n);

#endif
