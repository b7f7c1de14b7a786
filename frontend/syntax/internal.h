/* internal.h - Declares the state that lexer, words, grammar and tree builders share while they
 * parse one text.
 *
 *   lexer.l    bytes to raw tokens; every word that is not reserved is a NAME
 *   words.c    gives words such as `in` and `step` their role from their neighbours; skips to the
 *              next statement after an error
 *   parser.y   the grammar; its actions call the builders of ast.c
 *   parse.c    the entry, and the wording of syntax errors
 *   unique.c   names that two items have */
#ifndef TIRC_FRONTEND_SYNTAX_INTERNAL_H
#define TIRC_FRONTEND_SYNTAX_INTERNAL_H

#include "frontend/syntax/ast.h"

typedef VEC(AstExpr *) AstExprList;
typedef VEC(AstStmt *) AstStmtList;
typedef VEC(AstName) NameList;
typedef VEC(AstArg) ArgList;
typedef VEC(AstPattern) PatternList;
typedef VEC(AstAnnotation) AstAstAnnotationList;
typedef VEC(AstLoop) LoopList;
typedef VEC(AstIter) IterList;
typedef VEC(AstLayout) LayoutList;
typedef VEC(AstSize) SizeList;
typedef VEC(AstParam) ParamList;
typedef VEC(AstOperand) OperandList;
typedef VEC(AstTemplatePart) TemplatePartList;
typedef VEC(AstFact) FactList;
typedef VEC(AstScriptParam) ScriptParamList;

/* The value of a token. */
typedef union {
    uint64_t i;
    double f;
    bool b;
    AstUpdate update;
    Name name;
    struct {
        const char *text;
        size_t length;
    } string;
} TokenValue;

typedef struct {
    int kind; /* a token of parser.y */
    Span span;
    TokenValue value;
} Token;

#define PARSE_LOOKAHEAD 2

typedef struct Parser {
    Context *ctx;
    uint32_t source;
    void *scanner;
    uint32_t offset;                  /* of the scanner: where the next raw token begins */
    Span comment;                     /* the comment that the scanner is in */
    Token ahead[PARSE_LOOKAHEAD + 1]; /* raw tokens that were read but not handed out */
    int n_ahead;
    int last, before_last;       /* kinds of the last two tokens handed out */
    Span last_span, before_span; /* of the last two */
    int braces, brackets;        /* that are open */
    bool resync;                 /* skip to the end of the statement or item that holds an error */
    int resync_open, resync_parens; /* braces and parentheses opened while skipping */
    bool gave_up;   /* no token follows: the rest of the text is not worth reading */
    NameList calls; /* of instructions, in the kernel at work */
    VEC(AstKernel *) kernels;
    VEC(AstFunction *) functions;
    VEC(AstReducer *) reducers;
    VEC(AstInstruction *) instructions;
    VEC(AstSchedule *) schedules;
    VEC(AstProc *) procs;
    VEC(AstInclude *) includes;
} Parser;

/* ---- tokens (lexer.l, words.c) ---- */

/* Opens and closes the scanner, of a text; memory comes from the context's arena. */
void lexer_open(Parser *p, const char *text, size_t length);
void lexer_close(Parser *p);
/* The next raw token; its `kind` is the end token at the end. */
Token lexer_next(Parser *p);
/* The next token with its role. */
Token words_next(Parser *p);

/* ---- trees (ast.c) ---- */

/* Refuses a tree of more than AST_MAX_DEPTH levels and gives up on the text. */
void parse_too_deep(Parser *p, Span span);

/* Nodes above children that are built, each one level deeper than they are; a tree that gets too
 * deep is refused (parse_too_deep). ast_expr leaves `u` to the caller. */
AstExpr *ast_expr(Parser *p, AstExprKind kind, Span span);
AstExpr *ast_unary(Parser *p, ExprKind op, AstExpr *a, Span span);
AstExpr *ast_binary(Parser *p, ExprKind op, AstExpr *a, AstExpr *b, Span span);
AstExpr *ast_select(Parser *p, AstExpr *cond, AstExpr *a, AstExpr *b, Span span);
AstExpr *ast_list(Parser *p, AstExprList items, Span span);
AstExpr *ast_tuple(Parser *p, AstExprList items, Span span);
/* The items with `first` in front. */
AstExprList ast_prepend(Parser *p, AstExpr *first, AstExprList items);
AstExpr *ast_pair(Parser *p, AstExprKind kind, AstExpr *lo, AstExpr *hi, Span span);
AstExpr *ast_index(Parser *p, AstExpr *base, AstExprList items, Span span);
AstExpr *ast_field(Parser *p, AstExpr *base, AstName name, Span span);
AstExpr *ast_call(Parser *p, AstName callee, ArgList args, Span span);

/* A statement whose `u` the caller fills, above children of the given depth. */
AstStmt *ast_stmt(Parser *p, AstStmtKind kind, int child_depth, Span span);
AstStmt *ast_update(Parser *p, AstExpr *places, AstName reducer, AstExpr *value, Span span);
AstStmt *ast_seq(Parser *p, AstStmtList items, Span span);
AstStmt *ast_roles(Parser *p, AstStmt *producer, AstStmt *consumers, Span span);
AstStmt *ast_barrier(Parser *p, SyncKind kind, int64_t pending, AstExpr *why, Span span);
AstStmt *ast_try_else(Parser *p, AstStmt *body, AstStmt *otherwise, Span span);
AstStmt *ast_conditional(Parser *p, AstStmtKind kind, AstExpr *cond, AstStmt *then, Span span);
AstStmt *ast_if_else(Parser *p, AstExpr *cond, AstStmt *then, AstStmt *otherwise, Span span);
int ast_depth(const AstStmt *s); /* 0 for NULL */

/* ---- what the grammar cannot say (parse.c) ---- */

#define PARSE_MOST_EXPECTED 80

/* Reports that the last token handed out is none of the `n` that could stand there, by the names
 * that parser.y gives them, and starts to skip to the end of the statement. */
void parse_report(Parser *p, const char *const *expected, int n);
/* Refuses a word that is not the one that must stand there. */
void parse_expect_word(Parser *p, AstName found, const char *expected);
/* Of the barrier of `cluster`, `warpgroup` or `warp`. */
SyncKind parse_barrier_kind(Parser *p, AstName of);
/* Refuses `float t = 1`, which reads like an update of `float` with a reducer `t`. */
void parse_no_declaration(Parser *p, Span place, AstName name);
/* Refuses an assignment in a script. */
void parse_no_assignment(Parser *p, Span op);

/* Whether each item of the file has a name of its own among those of its kind. */
bool check_unique_names(Context *c, const AstFile *file);

#endif
