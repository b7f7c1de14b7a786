/* parse_internal.h - what lexer, words, grammar and tree builders share while one text is parsed.
 *
 *   lexer.l    bytes to raw tokens; every word that is not reserved is a NAME
 *   words.c    gives words such as `in` and `step` their role from their neighbours; skips to the next
 *              statement after an error
 *   parser.y   the grammar; its actions call the builders of ast.c
 *   parse.c    the entry, and the wording of syntax errors */
#ifndef TIRC_FRONTEND_PARSE_INTERNAL_H
#define TIRC_FRONTEND_PARSE_INTERNAL_H

#include "frontend/ast.h"

typedef VEC(AstExpr *) ExprList;
typedef VEC(AstStmt *) StmtList;
typedef VEC(AstArg) ArgList;
typedef VEC(AstPattern) PatternList;
typedef VEC(AstAnnotation) AnnotationList;
typedef VEC(AstLoop) LoopList;
typedef VEC(AstIter) IterList;
typedef VEC(AstLayout) LayoutList;
typedef VEC(AstSize) SizeList;
typedef VEC(AstParam) ParamList;
typedef VEC(AstScriptParam) ScriptParamList;

/* What a token carries. */
typedef union {
    uint64_t i;
    double f;
    bool b;
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
    uint32_t offset; /* of the scanner: where the next raw token begins */
    Token ahead[PARSE_LOOKAHEAD + 1]; /* raw tokens that were read but not handed out */
    int n_ahead;
    int last, before_last; /* kinds of the last two tokens handed out */
    Span last_span;
    int open;        /* brackets and braces that are open */
    bool resync;     /* skip to the end of the statement or item that holds an error */
    int resync_open; /* braces opened while skipping */
    bool gave_up;    /* no token follows: the rest of the text is not worth reading */
    VEC(AstKernel *) kernels;
    VEC(AstSchedule *) schedules;
    VEC(AstProc *) procs;
    VEC(AstInclude *) includes;
} Parser;

/* ---- tokens (lexer.l, words.c) ---- */

/* Opens and closes the scanner of the parser's source; memory comes from the context's arena. */
void lexer_open(Parser *p, const Source *source);
void lexer_close(Parser *p);
/* The next raw token; its `kind` is the end token at the end. */
Token lexer_next(Parser *p);
/* The next token with its role. */
Token words_next(Parser *p);
/* A token as a message shows it: 'for', a number, the end of the file. */
const char *token_found(Parser *p, int kind, Span span);

/* ---- trees (ast.c) ---- */

/* Refuses a tree of more than AST_MAX_DEPTH levels and gives up on the text. */
void parse_too_deep(Parser *p, Span span);

AstExpr *ast_expr(Parser *p, AstExprKind kind, Span span);
AstExpr *ast_unary(Parser *p, ExprKind op, AstExpr *a, Span span);
AstExpr *ast_binary(Parser *p, ExprKind op, AstExpr *a, AstExpr *b, Span span);
AstExpr *ast_select(Parser *p, AstExpr *cond, AstExpr *a, AstExpr *b, Span span);
AstExpr *ast_list(Parser *p, ExprList items, Span span);
AstExpr *ast_pair(Parser *p, AstExprKind kind, AstExpr *lo, AstExpr *hi, Span span);
AstExpr *ast_index(Parser *p, AstExpr *base, ExprList items, Span span);
AstExpr *ast_field(Parser *p, AstExpr *base, AstName name, Span span);
AstExpr *ast_call(Parser *p, AstName callee, ArgList args, Span span);

/* A statement whose `u` the caller fills, above children of the given depth. */
AstStmt *ast_stmt(Parser *p, AstStmtKind kind, int child_depth, Span span);
AstStmt *ast_seq(Parser *p, StmtList items, Span span);
int ast_depth(const AstStmt *s); /* 0 for NULL */

/* ---- syntax errors (parse.c) ---- */

/* Reports one: `expected` lists `n` acceptable tokens (n 0: too many to list). */
void parse_report(Parser *p, const Token *found, const int *expected, int n);

#endif
