/* parser.y - Defines the grammar of kernels at every level and of schedules; docs/language.md
 * explains it.
 *
 * Actions only build the tree of ast.h.  Values on the stack are at most 24 bytes, and the stack
 * has a fixed size on the C stack: nothing to free, and a text that needs more is refused as nested
 * too deeply. */
%define api.pure full
%define api.prefix {tirc_parse_}
%define api.token.prefix {TOKEN_}
%define api.location.type {Span}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%parse-param {Parser *p}
%lex-param {Parser *p}

%code requires {
#include "frontend/syntax/internal.h"
}

%union {
    TokenValue token;
    AstName name;
    AstExpr *expr;
    AstStmt *stmt;
    AstArg *arg;
    AstPattern *pattern;
    AstAnnotation *annotation;
    AstLoop *loop;
    AstIter *iter;
    AstLayout *layout;
    AstType *type;
    AstSize *size;
    AstParam *param;
    AstReducer *reducer;
    AstOperand *operand;
    AstTemplatePart *template_part;
    AstFact *fact;
    AstScriptParam *sparam;
    NameList names;
    AstExprList exprs;
    AstStmtList stmts;
    ArgList args;
    PatternList patterns;
    AstAstAnnotationList annotations;
    LoopList loops;
    IterList iters;
    LayoutList layouts;
    SizeList sizes;
    ParamList params;
    OperandList operands;
    TemplatePartList template_parts;
    FactList facts;
    ScriptParamList sparams;
    AstTensor tensor;
    bool flag;
}

%code {
#define YYINITDEPTH 3000
#define YYMAXDEPTH 3000

#define YYLLOC_DEFAULT(current, rhs, n)                                                            \
    do {                                                                                           \
        if (n) {                                                                                   \
            (current) = YYRHSLOC(rhs, 1);                                                          \
            (current).end = YYRHSLOC(rhs, n).end;                                                  \
        } else {                                                                                   \
            (current) = YYRHSLOC(rhs, 0);                                                          \
            (current).begin = (current).end;                                                       \
        }                                                                                          \
    } while (0)

#define PUSH(list, item) VEC_PUSH(p->ctx->arena, &(list), (item))
#define NEW(T) ARENA_NEW(p->ctx->arena, T)

static int yylex(YYSTYPE *value, Span *span, Parser *p)
{
    Token t = words_next(p);
    value->token = t.value;
    *span = t.span;
    return t.kind;
}

static void yyerror(const Span *span, Parser *p, const char *message)
{
    (void)message; /* the only one that is not a syntax error: the stack is full */
    parse_too_deep(p, *span);
}
}

/* The names are those that syntax errors use. */
%token END 0 "the end of the file"
%token FN "'fn'" REDUCER "'reducer'" KERNEL "'kernel'" SCHEDULE "'schedule'" PROC "'proc'"
%token INSTRUCTION "'instruction'" INCLUDE "'include'"
%token FOR "'for'" IF "'if'" ELSE "'else'" LET "'let'" ASSERT "'assert'" TUNE "'tune'"
%token RETURN "'return'" TRY "'try'" FILL "'_'" IN "'in'" STEP "'step'" BIND "'bind'" IS "'is'"
%token VIEW "'view'" CALL "'call'" WHILE "'while'" BREAK "'break'"
%token PARALLEL "'parallel'" VECTORIZE "'vectorize'" UNROLL "'unroll'" REDUCE "'reduce'"
%token INOUT "'inout'" WHERE "'where'" ATOMIC "'atomic'" INIT "'init'" BLOCK "'block'"
%token ORDERED "'ordered'"
%token TEMP "'temp'" LANES "'lanes'" TENSOR "'tensor'" CUDA "'cuda'"
%token LAUNCH "'launch'" BARRIER "'barrier'"
%token PRODUCER "'producer'" ACQUIRE "'acquire'" RECEIVE "'receive'" RELEASE "'release'"
%token COMMIT "'commit'" WAIT "'wait'" ARROW "'->'" DOTS "'..'" SHL "'<<'" SHR "'>>'"
%token LE "'<='" GE "'>='" EQ "'=='" NE "'!='" AND "'&&'" OR "'||'"
%token <token.i> INT "a number"
%token <token.f> FLOAT "a decimal number"
%token <token.b> BOOL "'true' or 'false'"
%token <token.name> NAME "a name"
%token <token.update> UPDATE "an update such as '+='"
%token <token> STRING "a string"

%precedence THEN
%precedence ELSE
%right '?' ':'
%left OR
%left AND
%left '|'
%left '^'
%left '&'
%left EQ NE
%left '<' LE '>' GE
%left SHL SHR
%left '+' '-'
%left '*' '/' '%'
%precedence UNARY

%type <name> name opt_scope opt_let_type opt_instruction
%type <names> names
%type <expr> expr place primary value size_value sub opt_expr opt_where opt_step opt_value string
%type <expr> opt_commit opt_awaited
%type <exprs> places line lines template_body exprs opt_exprs values opt_values subs
%type <exprs> instruction_values opt_instruction_values
%type <arg> arg
%type <args> args opt_args
%type <stmt> let block stmt if_stmt script script_stmt script_if
%type <stmts> stmts script_stmts fn_lets
%type <pattern> pattern
%type <patterns> patterns opt_patterns
%type <annotation> annotation
%type <annotations> annotations
%type <loop> loop range loop_kind
%type <loops> loops
%type <iter> iter iter_range
%type <iters> iters opt_iters
%type <layout> layout
%type <layouts> layouts
%type <type> type
%type <size> size
%type <sizes> sizes opt_sizes
%type <reducer> combined
%type <param> param clause_param
%type <operand> operand
%type <template_part> template_part
%type <template_parts> template
%type <operands> operands opt_operands results
%type <params> params opt_params clause_params opt_clause_params outputs
%type <fact> fact
%type <facts> facts opt_facts
%type <sparam> schedule_param proc_param
%type <sparams> schedule_params opt_schedule_params proc_params opt_proc_params
%type <token.update> store_op
%type <flag> opt_atomic opt_inout
%type <token.i> opt_lanes opt_passes
%type <tensor> opt_tensor
%type <flag> opt_ordered

%%

file: items;

items:
    %empty
  | items function
  | items kernel
  | items reducer
  | items instruction
  | items schedule
  | items proc
  | items include
  | items error ';'
  | items error '}'
  ;

/* ---- items ---- */

kernel: KERNEL name opt_sizes '(' opt_clause_params ')' outputs opt_facts block {
        AstKernel *k = NEW(AstKernel);
        *k = (AstKernel){.name = $2, .span = @$, .sizes = $3.items, .n_sizes = $3.n,
                         .params = $5.items, .n_params = $5.n, .outputs = $7.items,
                         .n_outputs = $7.n, .facts = $8.items, .n_facts = $8.n, .body = $9,
                         .calls = p->calls.items, .n_calls = p->calls.n};
        PUSH(p->kernels, k);
        p->calls = (NameList){0};
    };

function: FN name opt_sizes '(' opt_params ')' ARROW name '{' fn_lets RETURN expr ';' '}' {
        AstFunction *f = NEW(AstFunction);
        *f = (AstFunction){.name = $2, .span = @$, .types = $3.items, .n_types = $3.n,
                           .params = $5.items, .n_params = $5.n, .result = $8,
                           .lets = $10.items, .n_lets = $10.n, .value = $12};
        PUSH(p->functions, f);
    };

fn_lets:
    %empty { $$ = (AstStmtList){0}; }
  | fn_lets let { $$ = $1; PUSH($$, $2); }
  ;

reducer: REDUCER name '(' params ')' opt_ordered opt_facts
         '{' init expr ';' name '(' name ',' name ')' combined '}' {
        AstReducer *r = $18;
        r->name = $2;
        r->span = @$;
        r->parts = $4.items;
        r->n = $4.n;
        r->ordered = $6;
        r->facts = $7.items;
        r->n_facts = $7.n;
        r->identities = $10;
        parse_expect_word(p, $12, "combine");
        r->a = $14;
        r->b = $16;
        PUSH(p->reducers, r);
    };

opt_ordered: %empty { $$ = false; } | ORDERED { $$ = true; };

init: INIT | name { parse_expect_word(p, $1, "init"); };

instruction: INSTRUCTION name opt_sizes '(' opt_operands ')' results opt_lanes opt_tensor
             opt_facts CUDA template opt_commit opt_awaited block {
        AstInstruction *i = NEW(AstInstruction);
        *i = (AstInstruction){.name = $2, .span = @$, .sizes = $3.items, .n_sizes = $3.n,
                              .operands = $5.items, .n_operands = $5.n, .outputs = $7.items,
                              .n_outputs = $7.n, .lanes = $8, .lanes_span = @8,
                              .tensor = $9, .facts = $10.items, .n_facts = $10.n,
                              .template = $12.items, .n_parts = $12.n, .commit = $13,
                              .wait = $14, .body = $15};
        PUSH(p->instructions, i);
    };

opt_operands: %empty { $$ = (OperandList){0}; } | operands;

results: %empty { $$ = (OperandList){0}; } | ARROW operands { $$ = $2; };

operands:
    operand { $$ = (OperandList){0}; PUSH($$, *$1); }
  | operands ',' operand { $$ = $1; PUSH($$, *$3); }
  ;

operand: param opt_scope layouts {
        $$ = NEW(AstOperand);
        *$$ = (AstOperand){.param = *$1, .scope = $2};
        $$->param.clauses = $3.items;
        $$->param.n_clauses = $3.n;
    };

opt_lanes: %empty { $$ = 1; } | LANES INT { $$ = $2; };

opt_tensor:
    %empty { $$ = (AstTensor){0}; }
  | TENSOR '(' name opt_passes ')' { $$ = (AstTensor){.type = $3, .passes = $4, .span = @$}; }
  ;

opt_passes: %empty { $$ = 1; } | ',' INT { $$ = $2; };

opt_commit: %empty { $$ = NULL; } | COMMIT string { $$ = $2; };

opt_awaited: %empty { $$ = NULL; } | WAIT string { $$ = $2; };

template:
    template_part { $$ = (TemplatePartList){0}; PUSH($$, *$1); }
  | template template_part { $$ = $1; PUSH($$, *$2); }
  ;

template_part:
    line { $$ = NEW(AstTemplatePart); *$$ = (AstTemplatePart){.texts = $1.items, .n = $1.n}; }
  | FOR name IN range template_body {
        $4->name = $2;
        $4->span = @2;
        $$ = NEW(AstTemplatePart);
        *$$ = (AstTemplatePart){.texts = $5.items, .n = $5.n, .loop = $4};
    }
  ;

template_body: line | '{' lines '}' { $$ = $2; };

line: string { $$ = (AstExprList){0}; PUSH($$, $1); };

lines:
    line
  | lines string { $$ = $1; PUSH($$, $2); }
  ;

combined:
    ':' expr ';' { $$ = NEW(AstReducer); $$->value = $2; }
  | '{' fn_lets RETURN expr ';' '}' {
        $$ = NEW(AstReducer);
        $$->lets = $2.items;
        $$->n_lets = $2.n;
        $$->value = $4;
    }
  ;

name: NAME { $$ = (AstName){$1, @1}; };

opt_sizes: %empty { $$ = (SizeList){0}; } | '<' sizes '>' { $$ = $2; };

sizes:
    size { $$ = (SizeList){0}; PUSH($$, *$1); }
  | sizes ',' size { $$ = $1; PUSH($$, *$3); }
  ;

size:
    name { $$ = NEW(AstSize); *$$ = (AstSize){.name = $1, .span = @$}; }
  | name '=' size_value {
        $$ = NEW(AstSize);
        *$$ = (AstSize){.name = $1, .span = @$, .value = $3};
    }
  | name ':' name {
        $$ = NEW(AstSize);
        *$$ = (AstSize){.name = $1, .span = @$, .is_type = true};
        parse_expect_word(p, $3, "type");
    }
  | name ':' name '=' name {
        $$ = NEW(AstSize);
        *$$ = (AstSize){.name = $1, .span = @$, .is_type = true, .type_value = $5};
        parse_expect_word(p, $3, "type");
    }
  ;

/* No comparisons: `>` ends the sizes. */
size_value:
    INT { $$ = ast_expr(p, AE_INT, @$); $$->u.i = $1; }
  | NAME { $$ = ast_expr(p, AE_NAME, @$); $$->u.name = $1; }
  | '(' size_value ')' { $$ = $2; }
  | '-' size_value %prec UNARY { $$ = ast_unary(p, EX_NEG, $2, @$); }
  | size_value '*' size_value { $$ = ast_binary(p, EX_MUL, $1, $3, @$); }
  | size_value '/' size_value { $$ = ast_binary(p, EX_DIV, $1, $3, @$); }
  | size_value '%' size_value { $$ = ast_binary(p, EX_MOD, $1, $3, @$); }
  | size_value '+' size_value { $$ = ast_binary(p, EX_ADD, $1, $3, @$); }
  | size_value '-' size_value { $$ = ast_binary(p, EX_SUB, $1, $3, @$); }
  | size_value SHL size_value { $$ = ast_binary(p, EX_SHL, $1, $3, @$); }
  | size_value SHR size_value { $$ = ast_binary(p, EX_SHR, $1, $3, @$); }
  ;

opt_params: %empty { $$ = (ParamList){0}; } | params;

opt_clause_params: %empty { $$ = (ParamList){0}; } | clause_params;

outputs: %empty { $$ = (ParamList){0}; } | ARROW clause_params { $$ = $2; };

clause_params:
    clause_param { $$ = (ParamList){0}; PUSH($$, *$1); }
  | clause_params ',' clause_param { $$ = $1; PUSH($$, *$3); }
  ;

clause_param: param layouts {
        $$ = $1;
        $$->clauses = $2.items;
        $$->n_clauses = $2.n;
    };

params:
    param { $$ = (ParamList){0}; PUSH($$, *$1); }
  | params ',' param { $$ = $1; PUSH($$, *$3); }
  ;

param: opt_inout name ':' type {
        $$ = NEW(AstParam);
        *$$ = (AstParam){.name = $2, .span = @$, .inout = $1, .type = *$4};
        $$->span.begin = $1 ? @1.begin : @2.begin;
    };

opt_inout: %empty { $$ = false; } | INOUT { $$ = true; };

opt_facts: %empty { $$ = (FactList){0}; } | WHERE facts { $$ = $2; };

facts:
    fact { $$ = (FactList){0}; PUSH($$, *$1); }
  | facts ',' fact { $$ = $1; PUSH($$, *$3); }
  ;

fact:
    expr { $$ = NEW(AstFact); *$$ = (AstFact){.value = $1, .span = @$}; }
  | expr IN expr DOTS expr {
        $$ = NEW(AstFact);
        *$$ = (AstFact){.value = $1, .lo = $3, .hi = $5, .span = @$};
    }
  | expr IN expr {
        $$ = NEW(AstFact);
        *$$ = (AstFact){.value = $1, .types = $3, .span = @$};
    }
  | expr IS name {
        $$ = NEW(AstFact);
        *$$ = (AstFact){.value = $1, .order = $3, .span = @$};
    }
  ;

type:
    name { $$ = NEW(AstType); *$$ = (AstType){.name = $1, .span = @$}; }
  | name '[' opt_exprs ']' {
        $$ = NEW(AstType);
        *$$ = (AstType){.name = $1, .span = @$, .has_shape = true, .shape = $3.items, .rank = $3.n};
    }
  ;

schedule: SCHEDULE name FOR names opt_schedule_params script {
        AstSchedule *s = NEW(AstSchedule);
        *s = (AstSchedule){.name = $2, .kernels = $4.items, .n_kernels = $4.n, .span = @$,
                           .params = $5.items, .n_params = $5.n, .body = $6};
        PUSH(p->schedules, s);
    };

names:
    name { $$ = (NameList){0}; PUSH($$, $1); }
  | names ',' name { $$ = $1; PUSH($$, $3); }
  ;

opt_schedule_params:
    %empty { $$ = (ScriptParamList){0}; }
  | '(' ')' { $$ = (ScriptParamList){0}; }
  | '(' schedule_params ')' { $$ = $2; }
  ;

schedule_params:
    schedule_param { $$ = (ScriptParamList){0}; PUSH($$, *$1); }
  | schedule_params ',' schedule_param { $$ = $1; PUSH($$, *$3); }
  ;

schedule_param: name '=' value {
        $$ = NEW(AstScriptParam);
        $$->pattern = (AstPattern){.kind = AP_NAME, .span = $1.span, .name = $1.text};
        $$->value = $3;
    };

proc: PROC name '(' opt_proc_params ')' script {
        AstProc *s = NEW(AstProc);
        *s = (AstProc){.name = $2, .span = @$, .params = $4.items, .n_params = $4.n, .body = $6};
        PUSH(p->procs, s);
    };

opt_proc_params: %empty { $$ = (ScriptParamList){0}; } | proc_params;

proc_params:
    proc_param { $$ = (ScriptParamList){0}; PUSH($$, *$1); }
  | proc_params ',' proc_param { $$ = $1; PUSH($$, *$3); }
  ;

proc_param: pattern opt_value {
        $$ = NEW(AstScriptParam);
        *$$ = (AstScriptParam){*$1, $2};
    };

opt_value: %empty { $$ = NULL; } | '=' value { $$ = $2; };

include: INCLUDE string ';' {
        AstInclude *i = NEW(AstInclude);
        *i = (AstInclude){$2, @$};
        PUSH(p->includes, i);
    };

string: STRING {
        $$ = ast_expr(p, AE_STRING, @$);
        $$->u.string.text = $1.string.text;
        $$->u.string.length = $1.string.length;
    };

/* ---- statements of a kernel ---- */

block:
    '{' stmts '}' { $$ = ast_seq(p, $2, @$); }
  | '{' stmts error '}' { $$ = ast_seq(p, $2, @$); yyerrok; }
  ;

stmts:
    %empty { $$ = (AstStmtList){0}; }
  | stmts stmt { $$ = $1; PUSH($$, $2); }
  | stmts error ';' { $$ = $1; yyerrok; }
  ;

stmt:
    block
  | if_stmt
  | FOR loops stmt {
        $$ = ast_stmt(p, AS_FOR, ast_depth($3) + $2.n - 1, @$);
        $$->u.loop.loops = $2.items;
        $$->u.loop.n = $2.n;
        $$->u.loop.body = $3;
    }
  | WHILE expr stmt { $$ = ast_conditional(p, AS_WHILE, $2, $3, @$); }
  | BREAK ';' { $$ = ast_stmt(p, AS_BREAK, 0, @$); }
  | let
  | places name '=' expr ';' {
        parse_no_declaration(p, @1, $2);
        $$ = ast_update(p, ast_tuple(p, $1, @1), $2, $4, @$);
    }
  | name '[' opt_exprs ']' opt_atomic store_op expr ';' {
        $$ = ast_stmt(p, AS_STORE, 0, @$);
        $$->u.store.buffer = $1;
        $$->u.store.has_index = true;
        $$->u.store.index = $3.items;
        $$->u.store.n = $3.n;
        $$->u.store.atomic = $5;
        $$->u.store.op = $6;
        $$->u.store.op_span = @6;
        $$->u.store.value = $7;
    }
  | name '.' name '[' opt_exprs ']' opt_atomic store_op expr ';' {
        $$ = ast_stmt(p, AS_STORE, 0, @$);
        $$->u.store.buffer = $1;
        $$->u.store.hint = $3;
        $$->u.store.has_index = true;
        $$->u.store.index = $5.items;
        $$->u.store.n = $5.n;
        $$->u.store.atomic = $7;
        $$->u.store.op = $8;
        $$->u.store.op_span = @8;
        $$->u.store.value = $9;
    }
  | name opt_atomic store_op expr ';' {
        $$ = ast_stmt(p, AS_STORE, 0, @$);
        $$->u.store.buffer = $1;
        $$->u.store.atomic = $2;
        $$->u.store.op = $3;
        $$->u.store.op_span = @3;
        $$->u.store.value = $4;
    }
  | TEMP name ':' type opt_scope layouts ';' {
        $$ = ast_stmt(p, AS_TEMP, 0, @$);
        $$->u.temp.name = $2;
        $$->u.temp.type = *$4;
        $$->u.temp.scope = $5;
        $$->u.temp.layout = $6.items;
        $$->u.temp.n_layout = $6.n;
    }
  | VIEW name '[' names ']' '=' place ';' {
        $$ = ast_stmt(p, AS_VIEW, 0, @$);
        $$->u.view.name = $2;
        $$->u.view.params = $4.items;
        $$->u.view.n = $4.n;
        $$->u.view.place = $7;
    }
  | CALL name opt_instruction_values '(' opt_args ')' ';' {
        $$ = ast_stmt(p, AS_CALL, 0, @$);
        $$->u.call.name = $2;
        $$->u.call.values = $3.items;
        $$->u.call.n_values = $3.n;
        $$->u.call.args = $5.items;
        $$->u.call.n = $5.n;
        PUSH(p->calls, $2);
    }
  | name ':' stmt {
        $$ = ast_stmt(p, AS_LABEL, ast_depth($3), @$);
        $$->u.label.name = $1;
        $$->u.label.body = $3;
    }
  | BLOCK name '(' opt_iters ')' opt_where opt_atomic opt_instruction annotations block {
        $$ = ast_stmt(p, AS_BLOCK, ast_depth($10), @$);
        $$->u.block.name = $2;
        $$->u.block.iters = $4.items;
        $$->u.block.n = $4.n;
        $$->u.block.where = $6;
        $$->u.block.atomic = $7;
        $$->u.block.instruction = $8;
        $$->u.block.annotations = $9.items;
        $$->u.block.n_annotations = $9.n;
        $$->u.block.body = $10;
    }
  | INSTRUCTION name '(' opt_exprs ')' block {
        $$ = ast_stmt(p, AS_INSTRUCTION, ast_depth($6), @$);
        $$->u.instruction.name = $2;
        $$->u.instruction.elements = $4.items;
        $$->u.instruction.n = $4.n;
        $$->u.instruction.body = $6;
    }
  | INIT stmt { $$ = ast_stmt(p, AS_INIT, ast_depth($2), @$); $$->u.init = $2; }
  | BARRIER string ';' { $$ = ast_barrier(p, SYNC_THREADS, 0, $2, @$); }
  | BARRIER string name ';' {
        $$ = ast_barrier(p, parse_barrier_kind(p, $3), 0, $2, @$);
    }
  | COMMIT string opt_instruction ';' {
        $$ = ast_barrier(p, SYNC_COMMIT, 0, $2, @$);
        $$->u.barrier.instruction = $3;
    }
  | WAIT INT string opt_instruction ';' {
        $$ = ast_barrier(p, SYNC_WAIT, $2, $3, @$);
        $$->u.barrier.instruction = $4;
    }
  | ACQUIRE INT string ';' { $$ = ast_barrier(p, SYNC_ACQUIRE, $2, $3, @$); }
  | RECEIVE string ';' { $$ = ast_barrier(p, SYNC_RECEIVE, 0, $2, @$); }
  | RELEASE INT string ';' { $$ = ast_barrier(p, SYNC_RELEASE, $2, $3, @$); }
  | RELEASE INT string name ';' {
        parse_expect_word(p, $4, "cluster");
        $$ = ast_barrier(p, SYNC_RELEASE_CLUSTER, $2, $3, @$);
    }
  | PRODUCER block name block {
        parse_expect_word(p, $3, "consumers");
        $$ = ast_roles(p, $2, $4, @$);
    }
  | PRODUCER block name name INT block {
        parse_expect_word(p, $3, "consumers");
        parse_expect_word(p, $4, "turn");
        $$ = ast_roles(p, $2, $6, @$);
        $$->u.roles.turn = $5 > 0 && $5 <= MAX_TURN ? (int)$5 : -1;
    }
  | LAUNCH name name '(' exprs ')' name '(' exprs ')' annotations block {
        parse_expect_word(p, $3, "grid");
        parse_expect_word(p, $7, "block");
        $$ = ast_stmt(p, AS_LAUNCH, ast_depth($12), @$);
        $$->u.launch.name = $2;
        $$->u.launch.grid = $5.items;
        $$->u.launch.n_grid = $5.n;
        $$->u.launch.block = $9.items;
        $$->u.launch.n_block = $9.n;
        $$->u.launch.annotations = $11.items;
        $$->u.launch.n_annotations = $11.n;
        $$->u.launch.body = $12;
    }
  ;

opt_instruction_values:
    %empty { $$ = (AstExprList){0}; }
  | '<' instruction_values '>' { $$ = $2; }
  ;

instruction_values:
    size_value { $$ = (AstExprList){0}; PUSH($$, $1); }
  | instruction_values ',' size_value { $$ = $1; PUSH($$, $3); }
  ;

/* What an update with a reducer of the program writes. */
place:
    name { $$ = ast_expr(p, AE_NAME, @1); $$->u.name = $1.text; }
  | name '[' opt_exprs ']' {
        AstExpr *base = ast_expr(p, AE_NAME, @1);
        base->u.name = $1.text;
        $$ = ast_index(p, base, $3, @$);
    }
  ;

places:
    place { $$ = (AstExprList){0}; PUSH($$, $1); }
  | places ',' place { $$ = $1; PUSH($$, $3); }
  ;

let: LET name opt_let_type '=' expr ';' {
        $$ = ast_stmt(p, AS_LET, 0, @$);
        $$->u.let.pattern = (AstPattern){.kind = AP_NAME, .span = $2.span, .name = $2.text};
        $$->u.let.type = $3;
        $$->u.let.value = $5;
    };

if_stmt:
    IF expr stmt %prec THEN { $$ = ast_conditional(p, AS_IF, $2, $3, @$); }
  | IF expr stmt ELSE stmt { $$ = ast_if_else(p, $2, $3, $5, @$); }
  ;

store_op: '=' { $$ = UPDATE_SET; } | UPDATE;

opt_atomic: %empty { $$ = false; } | ATOMIC { $$ = true; };

loops:
    loop { $$ = (LoopList){0}; PUSH($$, *$1); }
  | loops ',' loop { $$ = $1; PUSH($$, *$3); }
  ;

loop: name IN range opt_step loop_kind annotations {
        $$ = NEW(AstLoop);
        *$$ = (AstLoop){.name = $1, .span = @1, .lo = $3->lo, .hi = $3->hi, .step = $4,
                        .kind = $5->kind, .axis = $5->axis, .annotations = $6.items,
                        .n_annotations = $6.n};
        $$->span.end = $4 ? @4.end : @3.end;
    };

range:
    expr { $$ = NEW(AstLoop); $$->hi = $1; }
  | expr DOTS expr { $$ = NEW(AstLoop); $$->lo = $1; $$->hi = $3; }
  ;

opt_step: %empty { $$ = NULL; } | STEP expr { $$ = $2; };

loop_kind:
    %empty { $$ = NEW(AstLoop); $$->kind = LOOP_SERIAL; }
  | PARALLEL { $$ = NEW(AstLoop); $$->kind = LOOP_PARALLEL; }
  | VECTORIZE { $$ = NEW(AstLoop); $$->kind = LOOP_VECTORIZE; }
  | UNROLL { $$ = NEW(AstLoop); $$->kind = LOOP_UNROLL; }
  | BIND name '.' name {
        AstExpr *base = ast_expr(p, AE_NAME, @2);
        base->u.name = $2.text;
        $$ = NEW(AstLoop);
        $$->kind = LOOP_BIND;
        $$->axis = ast_field(p, base, $4, @2);
        $$->axis->span.end = @4.end;
    }
  ;

annotations:
    %empty { $$ = (AstAstAnnotationList){0}; }
  | annotations annotation { $$ = $1; PUSH($$, *$2); }
  ;

annotation:
    '@' name { $$ = NEW(AstAnnotation); $$->key = $2; }
  | '@' name '(' expr ')' { $$ = NEW(AstAnnotation); $$->key = $2; $$->value = $4; }
  ;

opt_iters: %empty { $$ = (IterList){0}; } | iters;

iters:
    iter { $$ = (IterList){0}; PUSH($$, *$1); }
  | iters ',' iter { $$ = $1; PUSH($$, *$3); }
  ;

iter:
    iter_range { $$ = $1; $$->kind = ITER_SPATIAL; $$->span = @$; }
  | REDUCE iter_range { $$ = $2; $$->kind = ITER_REDUCE; $$->span = @$; }
  ;

iter_range: name IN range '=' expr {
        $$ = NEW(AstIter);
        *$$ = (AstIter){.name = $1, .lo = $3->lo, .hi = $3->hi, .binding = $5};
    };

opt_where: %empty { $$ = NULL; } | WHERE expr { $$ = $2; };

opt_instruction: %empty { $$ = (AstName){NULL, @$}; } | INSTRUCTION name { $$ = $2; };

opt_let_type: %empty { $$ = (AstName){NULL, @$}; } | ':' name { $$ = $2; };

opt_scope: %empty { $$ = (AstName){NULL, @$}; } | IN name { $$ = $2; };

layouts:
    %empty { $$ = (LayoutList){0}; }
  | layouts layout { $$ = $1; PUSH($$, *$2); }
  ;

layout: name '(' exprs ')' {
        $$ = NEW(AstLayout);
        *$$ = (AstLayout){$1, $3.items, $3.n, @$};
    };

/* ---- statements of a script ---- */

script:
    '{' script_stmts '}' { $$ = ast_seq(p, $2, @$); }
  | '{' script_stmts error '}' { $$ = ast_seq(p, $2, @$); yyerrok; }
  ;

script_stmts:
    %empty { $$ = (AstStmtList){0}; }
  | script_stmts script_stmt { $$ = $1; PUSH($$, $2); }
  | script_stmts error ';' { $$ = $1; yyerrok; }
  ;

script_stmt:
    script
  | script_if
  | FOR pattern IN value script {
        $$ = ast_stmt(p, AS_EACH, ast_depth($5), @$);
        $$->u.each.pattern = *$2;
        $$->u.each.value = $4;
        $$->u.each.body = $5;
    }
  | TRY script {
        $$ = ast_stmt(p, AS_TRY, ast_depth($2), @$);
        $$->u.attempt.body = $2;
    }
  | TRY script ELSE script { $$ = ast_try_else(p, $2, $4, @$); }
  | LET pattern '=' value ';' {
        $$ = ast_stmt(p, AS_LET, 0, @$);
        $$->u.let.pattern = *$2;
        $$->u.let.value = $4;
    }
  | ASSERT value ';' { $$ = ast_stmt(p, AS_ASSERT, 0, @$); $$->u.assertion.cond = $2; }
  | ASSERT value ',' value ';' {
        $$ = ast_stmt(p, AS_ASSERT, 0, @$);
        $$->u.assertion.cond = $2;
        $$->u.assertion.message = $4;
    }
  | TUNE name IN value ';' {
        $$ = ast_stmt(p, AS_TUNE, 0, @$);
        $$->u.tune.name = $2;
        $$->u.tune.values = $4;
    }
  | RETURN ';' { $$ = ast_stmt(p, AS_RETURN, 0, @$); }
  | RETURN value ';' { $$ = ast_stmt(p, AS_RETURN, 0, @$); $$->u.value = $2; }
  | value ';' { $$ = ast_stmt(p, AS_EXPR, 0, @$); $$->u.expr = $1; }
  | value store_op value ';' {
        $$ = ast_stmt(p, AS_EXPR, 0, @$);
        $$->u.expr = $1;
        parse_no_assignment(p, @2);
    }
  ;

script_if:
    IF value script { $$ = ast_conditional(p, AS_IF, $2, $3, @$); }
  | IF value script ELSE script { $$ = ast_if_else(p, $2, $3, $5, @$); }
  | IF value script ELSE script_if { $$ = ast_if_else(p, $2, $3, $5, @$); }
  ;

pattern:
    NAME { $$ = NEW(AstPattern); *$$ = (AstPattern){.kind = AP_NAME, .span = @$, .name = $1}; }
  | FILL { $$ = NEW(AstPattern); *$$ = (AstPattern){.kind = AP_IGNORE, .span = @$}; }
  | '[' opt_patterns ']' {
        $$ = NEW(AstPattern);
        *$$ = (AstPattern){.kind = AP_LIST, .span = @$, .items = $2.items, .n = $2.n};
    }
  ;

opt_patterns: %empty { $$ = (PatternList){0}; } | patterns;

patterns:
    pattern { $$ = (PatternList){0}; PUSH($$, *$1); }
  | patterns ',' pattern { $$ = $1; PUSH($$, *$3); }
  ;

/* ---- expressions ---- */

value:
    expr
  | expr DOTS expr { $$ = ast_pair(p, AE_RANGE, $1, $3, @$); }
  | expr ARROW expr { $$ = ast_pair(p, AE_MAP, $1, $3, @$); }
  ;

expr:
    primary
  | '-' expr %prec UNARY { $$ = ast_unary(p, EX_NEG, $2, @$); }
  | '!' expr %prec UNARY { $$ = ast_unary(p, EX_NOT, $2, @$); }
  | '~' expr %prec UNARY { $$ = ast_unary(p, EX_BITNOT, $2, @$); }
  | expr '*' expr { $$ = ast_binary(p, EX_MUL, $1, $3, @$); }
  | expr '/' expr { $$ = ast_binary(p, EX_DIV, $1, $3, @$); }
  | expr '%' expr { $$ = ast_binary(p, EX_MOD, $1, $3, @$); }
  | expr '+' expr { $$ = ast_binary(p, EX_ADD, $1, $3, @$); }
  | expr '-' expr { $$ = ast_binary(p, EX_SUB, $1, $3, @$); }
  | expr SHL expr { $$ = ast_binary(p, EX_SHL, $1, $3, @$); }
  | expr SHR expr { $$ = ast_binary(p, EX_SHR, $1, $3, @$); }
  | expr '<' expr { $$ = ast_binary(p, EX_LT, $1, $3, @$); }
  | expr LE expr { $$ = ast_binary(p, EX_LE, $1, $3, @$); }
  | expr '>' expr { $$ = ast_binary(p, EX_GT, $1, $3, @$); }
  | expr GE expr { $$ = ast_binary(p, EX_GE, $1, $3, @$); }
  | expr EQ expr { $$ = ast_binary(p, EX_EQ, $1, $3, @$); }
  | expr NE expr { $$ = ast_binary(p, EX_NE, $1, $3, @$); }
  | expr '&' expr { $$ = ast_binary(p, EX_BITAND, $1, $3, @$); }
  | expr '^' expr { $$ = ast_binary(p, EX_BITXOR, $1, $3, @$); }
  | expr '|' expr { $$ = ast_binary(p, EX_BITOR, $1, $3, @$); }
  | expr AND expr { $$ = ast_binary(p, EX_AND, $1, $3, @$); }
  | expr OR expr { $$ = ast_binary(p, EX_OR, $1, $3, @$); }
  | expr '?' expr ':' expr { $$ = ast_select(p, $1, $3, $5, @$); }
  ;

primary:
    INT { $$ = ast_expr(p, AE_INT, @$); $$->u.i = $1; }
  | FLOAT { $$ = ast_expr(p, AE_FLOAT, @$); $$->u.f = $1; }
  | BOOL { $$ = ast_expr(p, AE_BOOL, @$); $$->u.b = $1; }
  | string
  | NAME { $$ = ast_expr(p, AE_NAME, @$); $$->u.name = $1; }
  | FILL { $$ = ast_expr(p, AE_FILL, @$); }
  | '(' expr ')' { $$ = $2; $$->parenthesized = true; }
  | '(' expr ',' exprs ')' { $$ = ast_tuple(p, ast_prepend(p, $2, $4), @$); }
  | '[' opt_values ']' { $$ = ast_list(p, $2, @$); }
  | NAME '(' opt_args ')' { $$ = ast_call(p, (AstName){$1, @1}, $3, @$); }
  | primary '[' subs ']' { $$ = ast_index(p, $1, $3, @$); }
  | primary '.' name { $$ = ast_field(p, $1, $3, @$); }
  ;

opt_exprs: %empty { $$ = (AstExprList){0}; } | exprs;

exprs:
    expr { $$ = (AstExprList){0}; PUSH($$, $1); }
  | exprs ',' expr { $$ = $1; PUSH($$, $3); }
  ;

opt_values: %empty { $$ = (AstExprList){0}; } | values;

values:
    value { $$ = (AstExprList){0}; PUSH($$, $1); }
  | values ',' value { $$ = $1; PUSH($$, $3); }
  ;

subs:
    sub { $$ = (AstExprList){0}; PUSH($$, $1); }
  | subs ',' sub { $$ = $1; PUSH($$, $3); }
  ;

sub: expr | opt_expr ':' opt_expr { $$ = ast_pair(p, AE_SLICE, $1, $3, @$); };

opt_expr: %empty { $$ = NULL; } | expr;

opt_args: %empty { $$ = (ArgList){0}; } | args;

args:
    arg { $$ = (ArgList){0}; PUSH($$, *$1); }
  | args ',' arg { $$ = $1; PUSH($$, *$3); }
  ;

arg:
    value { $$ = NEW(AstArg); $$->value = $1; }
  | NAME '=' value { $$ = NEW(AstArg); *$$ = (AstArg){{$1, @1}, $3}; }
  ;

%%

/* Hands the names of the tokens that could stand here to parse.c, which knows how to say it. */
static int yyreport_syntax_error(const yypcontext_t *at, Parser *p)
{
    yysymbol_kind_t symbols[PARSE_MOST_EXPECTED];
    const char *names[PARSE_MOST_EXPECTED];
    int n = yypcontext_expected_tokens(at, symbols, PARSE_MOST_EXPECTED);
    for (int i = 0; i < n; i++)
        names[i] = yysymbol_name(symbols[i]);
    parse_report(p, names, n);
    return 0;
}
