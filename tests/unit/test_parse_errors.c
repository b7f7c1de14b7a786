/* test_parse_errors.c - what is refused, where, and in which words.
 *
 * Every row of syntax.def and program.def that has an example gives exactly its code.  Below that,
 * single mistakes with the place and the text of the message; `|` in a program marks where the
 * first error must be. */
#include "tests/unit/parse_text.h"

/* ---- every row has its example ---- */

static void test_examples_give_their_code(void **state)
{
    (void)state;
    for (int code = E0101; code < E0301; code++) {
        const ErrorInfo *info = error_info((ErrorCode)code);
        if (!info->program)
            continue;
        Text t;
        text_open(&t);
        text_refuse(&t, info->program);
        if (t.ctx->n_errors + t.ctx->n_warnings != 1 || t.ctx->first->code != (ErrorCode)code)
            fail_msg("%s: expected one such error or warning, found:\n"
                     "%s",
                     info->id, text_report(&t));
        text_close(&t);
    }
}

/* ---- place and text ---- */

typedef struct {
    ErrorCode code;
    const char *program, *message;
} Case;

static const Diag *first_error(const Context *c)
{
    const Diag *d = c->first;
    while (d && d->severity != SEVERITY_ERROR)
        d = d->next;
    return d;
}

static void check_case(const Case *k)
{
    Text t;
    text_open(&t);
    const char *mark = strchr(k->program, '|');
    size_t before = (size_t)(mark - k->program);
    char *program = arena_printf(t.ctx->arena, "%.*s%s", (int)before, k->program, mark + 1);
    text_refuse(&t, program);
    const Diag *d = first_error(t.ctx);
    if (!d || t.ctx->n_errors != 1 || d->code != k->code || d->span.begin != before ||
        !strstr(d->message, k->message))
        fail_msg("expected %s at byte %zu: '%s', in\n"
                 "%s\n"
                 "found:\n"
                 "%s",
                 error_info(k->code)->id, before, k->message, program, text_report(&t));
    text_close(&t);
}

static void check_cases(const Case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_case(&cases[i]);
}
#define CHECK_CASES(cases) check_cases((cases), sizeof(cases) / sizeof *(cases))

#define HEAD "kernel k<N = 8>(x: f32[N], c: u8[N]) -> y: f32[N] { "
/* A launch whose consumers take turns, of so many groups. */
#define TURNS(cluster, block, turn)                                                                \
    HEAD "launch f grid(2, 1, 1) block" block " " cluster                                          \
         " { temp t: f32[8] in shared; |producer { acquire 2 \"\"; commit \"\"; } consumers "      \
         "turn " turn " { receive \"\"; release 0 \"\"; } } }"

static void test_syntax(void **state)
{
    (void)state;
    static const Case cases[] = {
        {E0108, HEAD "for i in N y[i] = x[i]| \n}", "expected ';' after the statement, found '}'"},
        {E0108, HEAD "for i |on N { y[i] = x[i]; } y[0] = 1; }", "expected 'in', found 'on'"},
        {E0108, HEAD "for |(int i = 0; i < N; i++) { y[i] = 0; } }", "expected a name, found '('"},
        {E0108, HEAD "y[0] = 4 +|; }", "expected an expression, found ';'"},
        {E0108, HEAD "y[0] = (1 + 2|; }", "expected ')' or ',', found ';'"},
        {E0108, HEAD "if x[0] |= 3 { y[0] = 1; } else { y[1] = 2; } }", "found '='"},
        {E0108, HEAD "for |for in N y[0] = 1; }", "expected a name, found 'for'"},
        {E0108, HEAD "y[0] = 1;\n|", "expected a statement or '}', found the end of the file"},
        {E0108, "kernel k(x: f32[4] |-> y: f32[4] { y[0] = 1; }",
         "expected a name, ')' or ',', found '->'"},
        {E0108, "|def k(x): pass", "found 'def'"},
        {E0108, HEAD "let x = |for; }", "expected an expression, found 'for'"},
        {E0108, "kernel k<T: |kind>() -> y: f32[1] { y[0] = 1; }", "expected 'type', found 'kind'"},
        {E0101, HEAD "y[0] = 3 |× 4; }",
         "unexpected character '×'; names consist of letters, digits and '_'"},
        {E0104, HEAD "y[0] = |0x; }", "only the digits 0-9 and a-f may follow 0x"},
        {E0104, HEAD "y[0] = |1.5f; }", "such as f32(1.5)"},
        {E0105, HEAD "y[0] = |99999999999999999999; }", "does not fit in 64 bits"},
        {E0105, HEAD "y[0] = |1e999; }", "exceeds the largest f64"},
        {E0102, HEAD "y[0] = 1; } |/* no end",
         "unterminated comment; expected '*/' before the end of the file"},
        {E0110, "schedule s for k(T = 2) { T |= 3; }", "let name = value"},
    };
    CHECK_CASES(cases);
}

static void test_names(void **state)
{
    (void)state;
    static const Case cases[] = {
        {E0201, HEAD "for i in N y[i] = |xs[i]; }", "unknown buffer 'xs'"},
        {E0201,
         "kernel k<N = 8>(scale: f32, data: f32[N]) -> y: f32[N] { for i in N y[i] = |dta[i]; }",
         "did you mean 'data'?"},
        {E0201, HEAD "for i in N y[i] = x[|j]; }", "unknown value 'j'"},
        {E0201, HEAD "for i in N { temp t: f32[1]; t[0] = x[i]; } for i in N y[i] = |t[0]; }",
         "'t' is no longer in scope"},
        {E0201, HEAD "{ temp t: f32[1]; t[0] = x[0]; } y[0] = |t[0]; }",
         "'t' is no longer in scope"},
        {E0202, HEAD "for |x in N y[x] = 0; }", "'x' is already the name of a buffer"},
        {E0202, HEAD "for |N in 4 y[N] = 0; }", "'N' is already the name of a size"},
        {E0202, HEAD "{ temp t: f32[1]; t[0] = 1; } { temp |t: f32[1]; t[0] = 1; } y[0] = 1; }",
         "'t' is already the name of a temp"},
        {E0202,
         HEAD "for i in N { temp t: f32; t = 1; } for i in N { temp |t: f32; t = 1; } y[0] = 1; }",
         "'t' is already the name of an earlier temp"},
        {E0202, "kernel k<N = 8>(a: f32[N], |a: f32[N]) -> y: f32[N] { y[0] = 0; }",
         "'a' is already"},
        {E0202, HEAD "a: y[0] = 1; |a: y[1] = 2; }", "is already the name of another block"},
        {E0202, HEAD "for |f32 in N y[0] = 1; }", "is the name of a type"},
        {E0202, HEAD "y[0] = 1; } kernel |k(x: f32[1]) -> y: f32[1] { y[0] = 1; }",
         "'k' is already the name of a kernel in this file"},
        {E0202, HEAD "y[0] = 1; } schedule s for k() {} schedule |s for h, k() {}",
         "'s' is already the name of a schedule in this file"},
        {E0202, HEAD "y[0] = 1; } proc p(x) {} proc |p() {}",
         "'p' is already the name of a proc in this file"},
        {E0203, HEAD "for i in N y[i] = |x[i, i]; }", "'x' has 1 axis, but 2 subscripts are given"},
        {E0203, HEAD "for i in N |y[i, 0] = x[i]; }", "'y' has 1 axis, but 2 subscripts are given"},
        {E0211, HEAD "for i in N |x[i] = 1; }", "'x' is an input and cannot be written"},
        {E0211, HEAD "for i in N |N = 1; }", "'N' is a size and cannot be written"},
        {E0211, HEAD "for i in N |i = i + 1; }", "'i' is a loop and cannot be written"},
        {E0212,
         "kernel k<N = 8>(x: f32[N]) -> |y: f32[N] { temp t: f32[N]; for i in N t[i] = x[i]; }",
         "'y' is never written"},
        {E0212, "kernel k<N = 8>(x: f32[N]) -> |y: f32[N] { for i in N y[i] += x[i]; }",
         "'y' is updated but never initialized"},
        {E0215, HEAD "y[0] = |sqroot(x[0]); }", "did you mean 'sqrt'?"},
        {E0215, HEAD "y[0] = |x(0); }", "'x' is a buffer, not a function"},
        {E0216, HEAD "y[0] = |fma(x[0], 1); }", "'fma' takes 3 arguments, but 2 are given"},
        {E0218, HEAD "y[0] = |x + 1; }", "'x' is a buffer"},
        {E0218, HEAD "y[0] = |N[0]; }", "'N' is a size and has no subscripts"},
        {E0218, HEAD "view v[i] = y[i + 1]; y[0] = |v; }",
         "'v' is a view; write one of its elements"},
        {E0211, HEAD "view v[i] = x[i + 1]; |v[0] = 1; }", "'x' is an input and cannot be written"},
        {E0252, HEAD "view v[i] = y[i + 1]; |v[0, 1] = 1; }",
         "view 'v' has 1 subscript, but 2 are given"},
        {E0252, HEAD "view v[i] = |N; y[0] = v[0]; }", "stands for elements of a buffer"},
        {E0252, HEAD "launch k grid(1, 1, 1) block(1, 1, 1) { |view v[i] = y[i]; v[0] = 1; } }",
         "'v' is a view in a lowered kernel"},
        {E0202, HEAD "for i in N { view v[|i] = x[i]; y[i] = v[i]; } }",
         "'i' is already the name of a loop"},
        {E0202, HEAD "view v[a, |a] = x[a]; y[0] = v[0, 0]; }", "'a' is already the name of"},
        {E0201, HEAD "for i in N { view v[j] = x[i]; block b(k in N = i) { y[k] = |v[0]; } } }",
         "unknown buffer 'v'"},
        {E0201, HEAD "{ view v[i] = x[i]; y[0] = v[0]; } y[1] = |v[1]; }",
         "'v' is no longer in scope"},
        {E0223, HEAD "for |i in N @in_order y[i] = 1; }", "'@in_order' is for blocks"},
        {E0223, HEAD "for i in N block |b(v in N = i) atomic @in_order { y[v] += 1; } }",
         "atomic updates have none"},
        {E0219, HEAD "|a: { } y[0] = 1; }", "the label 'a' names no block"},
        {E0251, HEAD "for i in N y[i] = x[i]; |break; }", "here is none in the same block"},
        {E0251, HEAD "for i in N block a(v in N = i) { |break; } }", "here is none in the same"},
        {E0251, HEAD "for |i in N unroll { y[i] = x[i]; if x[i] > 0 break; } }",
         "loop 'i' contains a 'break', so its iterations run one after the other; remove 'unroll'"},
        {E0251, HEAD "|while x[0] > 0 launch k grid(1, 1, 1) block(1, 1, 1) { y[0] = 1; } }",
         "'while' stands outside of the launches"},
        {E0222, HEAD "for i in N block a(v in N = i) { |temp t: f32; y[v] = 1; } }",
         "before the block"},
        {E0217, HEAD "while |x[0] y[0] = 1; }", "the condition of 'while'"},
        {E0220, HEAD "y[0] = |[1, 2]; }", "a list is a value of schedule scripts"},
        {E0207, "kernel k(x: |float[4]) -> y: f32[4] { y[0] = 1; }",
         "unknown type 'float'; did you mean 'f32'"},
        {E0207, "kernel k(x: |f23[4]) -> y: f32[4] { y[0] = 1; }", "did you mean 'f32'?"},
        {E0207, "kernel k<T: type = |f24>() -> y: T[4] { y[0] = T(2); }", "did you mean 'f64'?"},
    };
    CHECK_CASES(cases);
}

static void test_types(void **state)
{
    (void)state;
    static const Case cases[] = {
        {E0209, "kernel k(x: f64[4]) -> y: f32[4] { for i in 4 y[i] = |x[i]; }", "write f32(...)"},
        {E0209, "kernel k(x: u8[4]) -> y: u8[4] { for i in 4 y[i] = |x[i] + 1; }",
         "this has type i32"},
        {E0209, "kernel k(x: f32[4]) -> y: i32[4] { for i in 4 y[i] = |x[i]; }", "write i32(...)"},
        {E0209, "kernel k(x: f16[4]) -> y: bf16[4] { for i in 4 y[i] = |x[i]; }",
         "write bf16(...)"},
        {E0209, "kernel k() -> y: i32[4] { for i in 4 y[i] = |0.5; }", "this has type f32"},
        {E0209, "kernel k(x: i32[4]) -> y: u32[4] { for i in 4 y[i] = |x[i]; }", "write u32(...)"},
        {E0210, "kernel k() -> y: u8[4] { for i in 4 y[i] = |-1; }",
         "the literal -1 does not fit in u8"},
        {E0209, "kernel k(x: i8[4]) -> y: i8[4] { for i in 4 y[i] = |x[i] > 0 ? 1 : i; }",
         "this has type index"},
        {E0210, "kernel k(x: i8[4]) -> y: i8[4] { for i in 4 y[i] = x[i] > 0 ? 1 : |128; }",
         "the literal 128 does not fit in i8"},
        {E0210, "kernel k() -> y: f16[4] { for i in 4 y[i] = |1e6; }", "does not fit in f16"},
        {E0210, "kernel k() -> y: i64[4] { y[0] = |9223372036854775808; }", "does not fit in i64"},
        {E0208, "kernel k(b: bool[4]) -> y: i32[4] { y[0] = |~b[0] ? 1 : 2; }", "'~'"},
        {E0208, HEAD "y[0] = |x[0] & 1; }", "'&' needs integers"},
        {E0208, HEAD "if |x[0] && true y[0] = 1; }", "'&&' needs conditions"},
        {E0208, "kernel k(n: i32[4]) -> y: f32[4] { y[0] = sqrt(|n[0]); }", "sqrt(f32(x))"},
        {E0208, HEAD "y[0] |&&= 1; }", "'&&=' updates conditions"},
        {E0208, HEAD "y[0] = popcount(|x[0]); }",
         "needs an integer of 32 or 64 bits, but this is f"},
        {E0208, "kernel k(n: u8[4]) -> y: i32[4] { for i in 4 y[i] = clz(|n[i]); }",
         "as in clz(u32(x))"},
        {E0208, "kernel k() -> y: i32[4] { for i in 4 y[i] = popcount(|i); }", "this is index"},
        {E0208, "kernel k() -> y: i32 { y = popcount(|5); }", "this is an integer literal"},
        {E0208, "kernel k(n: i32[4], u: u32[4]) -> y: i32[4] { y[0] = |dp4a(n[0], u[0], 0); }",
         "needs arguments of one type, but these are i32 and u32"},
        {E0208, "kernel k(n: i64[4]) -> y: i64[4] { y[0] = dp4a(|n[0], 1, 0); }",
         "'dp4a' needs i32 or u32, but this is i64"},
        {E0208, HEAD "y[0] = |bitcast(f64, x[0]); }", "keeps the width"},
        {E0208, "kernel k(b: bool[4]) -> y: u8[4] { y[0] = |bitcast(u8, b[0]); }", "this is bool"},
        {E0207, HEAD "y[0] = bitcast(|float, x[0]); }", "did you mean 'f32'?"},
        {E0216, HEAD "y[0] = bitcast(|x[0], x[0]); }", "is a type, as in bitcast(u32, x)"},
        {E0216, HEAD "y[0] = |bitcast(x[0]); }", "'bitcast' takes 2 arguments"},
        {E0210, HEAD "y[0] = f32(bitcast(f16, |65536)); }", "does not fit in u16"},
        {E0217, HEAD "if |N y[0] = 1; }", "the condition is an integer literal"},
        {E0217, HEAD "y[0] = |x[0] ? 1 : 2; }", "a condition must be a bool"},
        {E0225, HEAD "y[0] = x[|x[0]]; }", "a subscript is an integer, but this is f32"},
        {E0225, HEAD "for i in |2.5 y[i] = 0; }", "a bound is an integer"},
    };
    CHECK_CASES(cases);
}

static void test_structure(void **state)
{
    (void)state;
    static const Case cases[] = {
        {E0204, "kernel k<N = |-1>() -> y: f32[N] { y[0] = 1; }", "size 'N' is -1"},
        {E0204, "kernel k<N = |0>() -> y: f32[N] { y[0] = 1; }", "size 'N' is 0"},
        {E0204, "kernel k<N = |9223372036854775808>() -> y: f32[N] { y[0] = 1; }",
         "from 1 to 9223372036854775807"},
        {E0204, "kernel k<N = 4>() -> y: f32[|N - 4] { y[0] = 1; }", "would have 0 elements"},
        {E0206, "kernel k<N = 4294967296>() -> y: |f32[N, N] { y[0, 0] = 1; }",
         "more than 2^63 bytes"},
        {E0206, HEAD "for i in |9223372036854775807 * N y[i] = 1; }", "does not fit in 63 bits"},
        {E0213, "kernel k(n: i32) -> y: f32[4] { for i in |n y[i] = 1; }", "must be affine"},
        {E0213, HEAD "for i in N, j in |i * i y[j] = x[i]; }",
         "the bounds of loop 'j' must be affine"},
        {E0214, HEAD "for i in 0..N step |0 y[i] = 1; }", "has step 0"},
        {E0221, HEAD "for i in N { |init y[i] = 0; y[i] += x[i]; } }",
         "no enclosing loop is a reduction loop"},
        {E0221, HEAD "for i in N { y[i] = 0; |init y[i] = 1; } }", "nothing follows it"},
        {E0221, HEAD "for k in N { |init y[0] = k; y[0] += x[k]; } }",
         "it uses the reduction loop 'k'"},
        {E0221, HEAD "for k in N, i in k + 1 { |init y[i] = 0; y[i] += x[k]; } }",
         "the range of 'i' depends on the reduction loop 'k'"},
        {E0221,
         HEAD "for k in N, i in N block y(reduce a in N = k, b in |a + 1 = i) { init y[b] = 0; "
              "y[b] += x[a]; } }",
         "the range of 'b' depends on the reduction loop 'a'"},
        {E0222, HEAD "for i in N { y[i] = 1; |barrier \"x\"; } }",
         "a barrier must be inside a launch"},
        {E0242,
         HEAD "temp t: f32[N]; for i in N { let a = t[i] > 0 ? i : 0; t[i] = x[i]; |y[i] = a; } }",
         "'a' reads 't', which is written between the 'let' and this use, and has no type"},
        {E0242, HEAD "for i in N { let a = y[i] > 0 ? i : 0; for k in N |y[i] += a * x[k]; } }",
         "'a' reads 'y', which is written between"},
        {E0211,
         HEAD "temp t: f32[N]; for i in N { let a = t[i]; t[i] = x[i]; y[i] = a; |a = 1; } }",
         "'a' is a named value and cannot be written"},
        {E0202, HEAD "for i in N { let a = x[i]; for |a in N y[a] = x[i]; } }",
         "'a' is already the name of a named value"},
        {E0201, HEAD "for i in N { { let a = x[i]; y[i] = a; } y[i] = |a; } }",
         "the scope of a temp or value ends with the braces"},
        {E0209, HEAD "for i in N { let a: i32 = |x[i]; y[i] = a; } }", "'a' has type i32"},
        {E0213, HEAD "for i in N y[i] = 1; block b(i in N = |index(y[0])) { y[i] = 1; } }",
         "may depend only on sizes, loops and inputs"},
        {E0243,
         "fn f(x: f32) -> f32 { return g(x); } fn g(x: f32) -> f32 { return |f(x); } " HEAD
         "y[0] = f(x[0]); }",
         "calls itself, perhaps through others"},
        {E0243, "fn f(|x: f32[2]) -> f32 { return 1; } " HEAD "y[0] = f(x[0]); }",
         "'x' is a buffer, but a function computes with values"},
        {E0243, "fn f<|N = 2>(x: f32) -> f32 { return x; } " HEAD "y[0] = f(x[0]); }",
         "type parameters without a default only"},
        {E0201, "fn f(a: f32) -> f32 { return a * |N; } " HEAD "y[0] = f(x[0]); }",
         "unknown value 'N'"},
        {E0202, "fn |exp(a: f32) -> f32 { return a; } " HEAD "y[0] = exp(x[0]); }",
         "'exp' is the name of a built-in function"},
        {E0202,
         "fn f(a: f32) -> f32 { return a; } fn |f(a: f32) -> f32 { return a; } " HEAD
         "y[0] = f(x[0]); }",
         "'f' is already the name of a function"},
        {E0209, "fn f(a: f16) -> f16 { return a; } " HEAD "y[0] = f(|x[0]); }",
         "'a' of 'f' has type f16, but this has type f32"},
        {E0209, "fn f(a: f32) -> f16 { return |a; } " HEAD "y[0] = x[0]; }",
         "the result of 'f' has type f16"},
        {E0216, "fn f(a: f32) -> f32 { return a; } " HEAD "y[0] = |f(x[0], 1); }",
         "'f' takes 1 argument"},
        {E0224, "kernel k<L, N = |1 << L>(x: f32[N]) -> y: f32[N] { y[0] = x[0]; }",
         "the default of size 'N' depends on 'L', which is symbolic"},
        {E0224, "kernel k<L, M = 3, N = |M + (2 << L)>(x: f32[N]) -> y: f32[N] { y[0] = x[0]; }",
         "make 'N' symbolic, too (without a default, or -D N=?)"},
        {E0204, "kernel k<L = 4, N = |L - 4>(x: f32[N]) -> y: f32[N] { y[0] = x[0]; }",
         "size 'N' is 0"},
        {E0206, "kernel k<L = 63, N = |1 << L>(x: f32[N]) -> y: f32[N] { y[0] = x[0]; }",
         "1 << 63 does not fit in 63 bits"},
        {E0201, "kernel k<N = 1 << |L, L = 4>(x: f32[N]) -> y: f32[N] { y[0] = x[0]; }",
         "unknown value 'L'"},
        {E0226, HEAD "let n = c[0]; temp t: f32[|n]; t[0] = 1; }", "it cannot read a buffer"},
        {E0222, HEAD "y[|blockIdx.x] = 1; }", "bind(loop, blockIdx.x)"},
        {E0222, HEAD "y[0] atomic |+= 1; }", "only inside a launch"},
        {E0222, HEAD "for i in N { y[i] |async= x[i]; } }", "copy_async(block)"},
        {E0222, HEAD "launch f grid(1, 1, 1) block(1, 1, 1) { y[0] |async= x[0]; } }",
         "an asynchronous store must write shared memory"},
        {E0222, HEAD "|y[0] = 1; launch f grid(1, 1, 1) block(1, 1, 1) { y[1] = 1; } }",
         "inside a launch"},
        {E0222, HEAD "y.|streaming[0] = 1; }",
         "only accesses to global memory inside a launch can have cache hints"},
        {E0222, HEAD "y[0] = x.|streaming[0]; }", "cache_hint(block, buffer, streaming)"},
        {E0222,
         HEAD "launch f grid(1, 1, 1) block(1, 1, 1) { temp t: f32[1] in shared; t.|streaming[0] = "
              "1; y[0] = t[0]; } }",
         "'t' is shared"},
        {E0223, HEAD "launch f grid(1, 1, 1) block(1, 1, 1) { y[0] = x.|steaming[0]; } }",
         "unknown cache hint 'steaming'"},
        {E0223, HEAD "launch f grid(1, 1, 1) block(1, 1, 1) { y.|read_only[0] = 1; } }",
         "'read_only' is a hint for loads"},
        {E0223, HEAD "launch f grid(1, 1, 1) block(1, 1, 1) { y[0] = x.|write_through[0]; } }",
         "is a hint for stores"},
        {E0223, HEAD "launch f grid(1, 1, 1) block(1, 1, 1) @|many(2) { y[0] = 1; } }",
         "a launch takes @cluster(1) to @cluster(8)"},
        {E0223, HEAD "temp t: f32[N] in |sharde; t[0] = x[0]; y[0] = t[0]; }",
         "unknown memory scope 'sharde'"},
        {E0223, HEAD "temp t: f32[N] |pad(0, 1); t[0] = x[0]; y[0] = t[0]; }", "global memory"},
        {E0223, HEAD "temp t: f32[N] sum_digits(14) |fold(0, 2); t[0] = x[0]; y[0] = t[0]; }",
         "global memory"},
        {E0223, HEAD "temp t: f32[N] |sum_digts(14); t[0] = x[0]; y[0] = t[0]; }",
         "any temp takes sum_digits(n)"},
        {E0254, HEAD "temp t: f32[N] |sum_digits(24); t[0] = x[0]; y[0] = t[0]; }",
         "'t' holds f32, and sum_digits stands once and takes a number"},
        {E0254, HEAD "temp t: f32[N] |sum_digits(1); t[0] = x[0]; y[0] = t[0]; }", "2 to 23"},
        {E0254, HEAD "temp t: f32[N] |sum_digits(3, 4); t[0] = x[0]; y[0] = t[0]; }",
         "takes a number of binary digits"},
        {E0254, HEAD "temp t: f32[N] sum_digits(3) |sum_digits(3); t[0] = x[0]; y[0] = t[0]; }",
         "sum_digits stands once"},
        {E0254, HEAD "temp t: i32[N] |sum_digits(14); t[0] = 1; y[0] = x[t[0]]; }",
         "'t' holds i32, whose sums and products are exact"},
        {E0254, HEAD "temp t: f32[N] |product_digits(24); t[0] = x[0]; y[0] = t[0]; }",
         "fewer than its own: 2 to 23"},
        {E0254, HEAD "temp t: f32 product_digits(3) |product_digits(3); t = 0; y[0] = t; }",
         "product_digits stands once"},
        {E0254, "kernel k<N>(x: f32[N] |sum_digits(14)) -> y: f32[N] { y[0] = x[0]; }",
         "'sum_digits' says how the kernel adds to a buffer of numbers, and 'x' is only read"},
        {E0254, "kernel k<N>(x: f32[N]) -> y: f32[N] |pad(0, 1) { y[0] = x[0]; }",
         "a parameter has no clause 'pad'; there are sum_digits(n) and product_digits(n)"},
        {E0254, "kernel k<N>(x: f32[N]) -> y: f32[N] |product_digits(24) { y[0] = x[0]; }",
         "2 to 23"},
        {E0255,
         HEAD "launch f grid(2, 1, 1) block(32, 1, 1) @cluster(2) { temp t: f32[8] in shared; "
              "|instruction multicast_bulk(t[0], x[0]) { for i in 8 t[i] async= x[i]; } } }",
         "made by the roles of a launch with @cluster"},
        {E0255,
         HEAD "launch f grid(2, 1, 1) block(32, 1, 1) { temp t: f32[8] in shared; producer { "
              "acquire 1 \"\"; |instruction multicast_bulk(t[0], x[0]) { for i in 8 t[i] async= "
              "x[i]; } commit \"\"; } consumers { receive \"\"; release 0 \"\" cluster; } } }",
         "made by the roles of a launch with @cluster"},
        {E0255,
         HEAD "launch f grid(2, 1, 1) block(32, 1, 1) { producer { acquire 1 \"\"; commit \"\"; } "
              "consumers { receive \"\"; |release 0 \"\" cluster; } } }",
         "releases to their producers"},
        {E0255,
         HEAD "launch f grid(1, 1, 1) block(32, 1, 1) { barrier \"\"; |producer { acquire 1 \"\"; "
              "commit \"\"; } consumers { receive \"\"; } } }",
         "and barriers of the cluster"},
        {E0255, TURNS("", "(128, 2, 1)", "5"),
         "of 1 to 65536 groups, a multiple of those under way at a time, 2 here"},
        {E0255, TURNS("", "(128, 2, 1)", "0"), "take turns of 1 to 65536 groups"},
        {E0255, TURNS("", "(128, 2, 1)", "65538"), "take turns of 1 to 65536 groups"},
        {E0255, TURNS("", "(64, 2, 1)", "4"), "counts warpgroups of 128 threads"},
        {E0255, TURNS("@cluster(2)", "(128, 2, 1)", "4"), "only in a launch without @cluster"},
        {E0255,
         HEAD "launch f grid(1, 1, 1) block(128, 2, 1) { producer { acquire 1 \"\"; commit \"\"; } "
              "consumers turn 1 { receive \"\"; |barrier \"\"; release 0 \"\"; } } }",
         "meet at barriers of a warpgroup or a warp only"},
        {E0255,
         HEAD "launch f grid(1, 1, 1) block(128, 2, 1) { producer { acquire 1 \"\"; commit \"\"; } "
              "consumers turn 1 { receive \"\"; |barrier \"\" cluster; release 0 \"\"; } } }",
         "meet at barriers of a warpgroup or a warp only"},
        {E0503,
         HEAD "launch f grid(1, 1, 1) block(32, 6, 1) { barrier \"\" warp; |barrier \"\" "
              "warpgroup; } }",
         "a barrier of the 128 threads of a warpgroup, and the 192 threads of the block are no "
         "multiple"},
        {E0503, HEAD "launch f grid(1, 1, 1) block(72, 1, 1) { |barrier \"\" warp; } }",
         "a barrier of the 32 threads of a warp, and the 72 threads"},
        {E0108, HEAD "launch f grid(1, 1, 1) block(32, 1, 1) { barrier \"\" |grid; } }",
         "expected 'cluster', found 'grid'"},
        {E0223, HEAD "for i in N bind |threadIdx.w y[i] = 1; }",
         "expected an axis to bind the loop to"},
        {E0224, "kernel k<N>() -> y: f32[N] { for i in 0..8 step |N y[i] = 1; }",
         "must be a constant"},
        {E0226, "kernel k(n: i32, x: f32[|n]) -> y: f32[4] { y[0] = 1; }",
         "an extent may use sizes, but not scalar parameters"},
        {E0226, "kernel k() -> |inout y: f32[4] { y[0] = 1; }", "so it is only an output"},
        {E0229, HEAD "for i in |N / 0 y[i] = 1; }", "division by zero"},
    };
    CHECK_CASES(cases);
}

#define WHERE(clause)                                                                              \
    "kernel k<N = 8, M>(x: f32[N], id: i32[N, N], ptr: i32[N], flag: bool, a: f32, b: f32, n: "    \
    "i32) -> y: f32[N] where " clause " { for i in N y[i] = x[i]; }"

static void test_where(void **state)
{
    (void)state;
    static const Case cases[] = {
        {E0108, WHERE("id in |..3"), "expected an expression"},
        {E0108, WHERE("id is |3"), "expected a name, found '3'"},
        {E0201, WHERE("a > |c"), "unknown value 'c'"},
        {E0240, WHERE("|a < b"), "compares two inputs"},
        {E0240, WHERE("|a + b > 0"), "combines an input with other operands"},
        {E0240, WHERE("|x[0] + 1 > 0"), "combines an input with other operands"},
        {E0240, WHERE("a > |a * 2"), "must be a number"},
        {E0240, WHERE("a > |f32(M)"), "must be a number"},
        {E0240, WHERE("a > |nan"), "must be a number"},
        {E0240, WHERE("n > |2 * ptr[0]"), "an expression of sizes"},
        {E0240, WHERE("|n != 3"), "'!=' does not define a range"},
        {E0240, WHERE("|y > 0"), "an output"},
        {E0240, WHERE("|flag == 1"), "a bool cannot have a range"},
        {E0240, WHERE("|a[i] > 0"), "a scalar has no subscripts"},
        {E0240, WHERE("|id[i] in 0..N"), "the number of subscripts differs"},
        {E0240, WHERE("id[i, |0] in 0..N"), "stands for every index"},
        {E0240, WHERE("id[i, |N] in 0..N"), "stands for every index"},
        {E0240, WHERE("id[i, |i] in 0..N"), "a diagonal"},
        {E0240, WHERE("ptr is |sorted"),
         "elements can be nondecreasing, increasing, distinct, permutation"},
        {E0240, WHERE("|M is increasing"), "the elements of an input"},
        {E0240, WHERE("|id is increasing"), "one axis"},
        {E0240, WHERE("|n is increasing"), "one axis"},
        {E0240, WHERE("|x is permutation"), "only integers"},
        {E0217, WHERE("|M"), "is index"},
        {E0241, WHERE("M > 1, |N > 8"), "false for these sizes"},
        {E0241, WHERE("M > 5, |M < 5"), "no sizes satisfy this"},
        {E0241, WHERE("|M < 0"), "false for these sizes"},
        {E0241, WHERE("M % 4 == 1, |M % 2 == 0"), "no sizes satisfy this"},
        {E0241, WHERE("|a in 1..1"), "this range is empty"},
        {E0241, WHERE("a > 1, |a <= 1"), "this range is empty"},
        {E0241, WHERE("|3 < n < 4"), "this range is empty"},
        {E0241, WHERE("id >= 8, |id[i, j] < N"), "this range is empty"},
    };
    CHECK_CASES(cases);
}

/* ---- several at once, overrides ---- */

static void test_reports_several(void **state)
{
    (void)state;
    Text t;
    text_open(&t);
    text_refuse(&t, HEAD "for i on N { y[i] = 1; }\n"
                         " y[0] = ;\n"
                         " y[1] = 2 }\n"
                         "kernel q() -> y: f32[1] { y[0 = 1; }");
    assert_int_equal(t.ctx->n_errors, 4);
    text_close(&t);
    text_open(&t);
    text_refuse(&t, HEAD "y[0] = a; y[1] = b; for i in c y[i] = d[i]; x[0] = 1; }");
    assert_int_equal(t.ctx->n_errors, 5);
    text_close(&t);
}

#define KERNEL HEAD "y[0] = x[0]; }"
#define LANES  "cuda \"{c[0]} += {a[0]};\" { for i in 4 c[i] += a[lane + i]; } " KERNEL

#define TEXT(text)                                                                                 \
    "instruction f(a: f32[4], inout c: f32) cuda |\"{c} += {a[0]} + " text                         \
    ";\" { for i in 4 c += a[i]; } " KERNEL

static void test_templates(void **state)
{
    (void)state;
    static const Case cases[] = {
        {E0249, TEXT("{b[0]}"), "there is no operand 'b'"},
        {E0249, TEXT("{a[4]}"), "the subscripts of 'a' are numbers"},
        {E0249, TEXT("{a: }"), "'{a' is not closed"},
        {E0249, TEXT("{a[1] - c}"), "or {NAME[1] - NAME} for a distance"},
        {E0249, TEXT("{a[1] - a[0]}"), "or {NAME[1] - NAME} for a distance"},
        {E0249, TEXT("{a - a}"), "or {NAME[1] - NAME} for a distance"},
        {E0249, TEXT("{a[1] - a: int}"), "or {NAME[1] - NAME} for a distance"},
    };
    CHECK_CASES(cases);
}

static void test_warp_instructions(void **state)
{
    (void)state;
    static const Case cases[] = {
        {E0248, "instruction f(a: f32[35] in shared, inout c: f32[4] in local) |lanes 16 " LANES,
         "by the threads of a warp, with `lanes 32`, or of a warpgroup, with `lanes 128`; found "
         "16"},
        {E0248, "instruction f(a: f32[35] in shared, inout c: f32[4] in local) |tensor(f16) " LANES,
         "stands behind `lanes 32`"},
        {E0248,
         "instruction f(a: f32[35] in shared, inout c: f32[4] in local) lanes 32 "
         "|tensor(bool) " LANES,
         "found bool in 1"},
        {E0248,
         "instruction f(a: f32[35] in shared, inout c: f32[4] in local) lanes 32 "
         "|tensor(f16, 17) " LANES,
         "passes, 1 to 16"},
        {E0207,
         "instruction f(a: f32[35] in shared, inout c: f32[4] in local) lanes 32 "
         "tensor(|half) " LANES,
         "unknown type 'half'"},
        {E0248, "instruction f(|a: f32[35], inout c: f32[4] in local) lanes 32 " LANES,
         "'a' is read by 32 threads together, so it is declared `in shared` or `in global`, or"},
        {E0248,
         "instruction f(a: f32[4] in |warp, inout c: f32[4]) cuda \"{c[0]} += {a[0]};\" "
         "{ for i in 4 c[i] += a[i]; } " KERNEL,
         "of several lanes in warp"},
        {E0248, "instruction f(a: f32[35] in shared, |inout c: f32[4] in warp) lanes 32 " LANES,
         "'c' is written by 32 threads together"},
        {E0248, "instruction f(|a: f32[35] in constant, inout c: f32[4] in local) lanes 32 " LANES,
         "'a' is read by"},
        {E0248, "instruction f(a: f32[35] in shared, |inout c: f32[4] in global) lanes 32 " LANES,
         "'c' is written by 32 threads together, so it is declared `in local`, registers of each "
         "thread, or `in shared`"},
        {E0249,
         "instruction f(a: f32[4] in shared, inout c: f32[4] in local) lanes 32 "
         "cuda |\"{c[0]} += {a[lane]};\" { for i in 4 c[i] += a[i]; } " KERNEL,
         "below its extent, or made of numbers and `lane`"},
        {E0249,
         "instruction f(a: f32[4] in shared, inout c: f32[4] in local) lanes 32 "
         "cuda |\"{c[0]} += {a[lane / (lane + 1)]};\" { for i in 4 c[i] += a[i]; } " KERNEL,
         "the subscripts of 'a' are numbers"},
        {E0249,
         "instruction f(a: f32[4] in shared, inout c: f32[4] in local) "
         "cuda |\"{c[0]} += {a[lane % 4]};\" { for i in 4 c[i] += a[i]; } " KERNEL,
         "the subscripts of 'a' are numbers"},
        {E0201,
         "instruction f(a: f32[4] in shared, inout c: f32[4] in local) "
         "cuda \"{c[0]} += {a[0]};\" { for i in 4 c[i] += a[|lane]; } " KERNEL,
         "unknown value 'lane'"},
        {E0202,
         "instruction f(|lane: f32[4] in shared, inout c: f32[4] in local) lanes 32 "
         "cuda \"{c[0]} += {lane[0]};\" { for i in 4 c[i] += lane[i]; } " KERNEL,
         "'lane' is already the name of a size"},
    };
    CHECK_CASES(cases);
}

#define CALLS                                                                                      \
    "instruction add(a: f32[4], inout c: f32) cuda \"{c} += {a}[0];\" { for k in 4 c += a[k]; } "  \
    "instruction some<T: type, N>(a: T[N], inout c: f32) cuda \"{c} += {a}[0];\" "                 \
    "{ for k in N c += f32(a[k]); } "                                                              \
    "instruction row(a: f32[4] in shared, inout c: f32[2] in local) lanes 32 "                     \
    "cuda \"{c}[0] += {a}[0];\" { for i in 2, k in 4 c[i] += a[k]; } "                             \
    "kernel k<N = 8>(x: f32[N, N], h: f16[N], s: f32) -> y: f32[N] { "

#define BULK                                                                                       \
    "kernel k<N = 32>(x: f32[N]) -> y: f32[N] { launch q grid(1, 1, 1) block(1, 1, 1) { "          \
    "temp t: f32[32] in shared; instruction store_bulk(y[0], t[0]) "

static void test_bulk_copies(void **state)
{
    (void)state;
    static const Case cases[] = {
        {E0250, BULK "|{ } } }", "the body of 'store_bulk' is a nest of loops"},
        {E0250, BULK "{ |for i in 32 { y[i] = t[i]; y[i] = t[i]; } } } }", "a nest of loops"},
        {E0250, BULK "{ |for i in 32 if i < 9 y[i] = t[i]; else y[i] = t[i]; } } }", "one copy"},
        {E0250, BULK "{ |for i in N - 1 for j in i y[j] = t[j]; } } }", "literal ranges"},
        {E0250, BULK "{ |for i in 32 y[i] = t[i] + 1; } } }", "one copy of an element"},
        {E0250, BULK "{ |for i in 32 y[i] = y[i]; } } }", "one copy of an element"},
        {E0250, BULK "{ |for i in 32 t[i] = t[i]; } } }", "one copy of an element"},
        {E0250, BULK "{ |for i in 32 y[i] *= t[i]; } } }", "one update that the hardware can do"},
        {E0250,
         "kernel k<N = 32>(x: f32[N]) -> y: f32[N] { launch q grid(1, 1, 1) block(1, 1, 1) { "
         "temp t: f32[32] in shared; instruction copy_bulk(t[0], x[0]) "
         "{ |for i in 32 t[i] += x[i]; } } }",
         "the body of 'copy_bulk'"},
    };
    CHECK_CASES(cases);
}

static void test_calls(void **state)
{
    (void)state;
    static const Case cases[] = {
        {E0250, CALLS "call |ad(x[0, 0:], y[0]); }", "did you mean 'add'?"},
        {E0253, CALLS "call |add(x[0, 0:]); }", "has 2 operands, and 1 is given"},
        {E0253, CALLS "call |add(x[0, 0:], y[0], y[1]); }", "has 2 operands, and 3 are given"},
        {E0253, CALLS "call add(|x[0, 0], y[0]); }", "operand 'a' has 1 axis"},
        {E0253, CALLS "call add(|x[0:, 0:], y[0]); }", "operand 'a' has 1 axis"},
        {E0253, CALLS "call add(|1 + 2, y[0]); }", "operand 'a' has 1 axis"},
        {E0253, CALLS "call add(x[0, 0:], |y[0:]); }", "operand 'c' has 0 axes"},
        {E0253, CALLS "call add(x[0, |2:7], y[0]); }", "has 4 elements along this axis"},
        {E0253, CALLS "call add(|h, y[0]); }", "operand 'a' holds f32, but 'h' holds f16"},
        {E0203, CALLS "call add(|x, y[0]); }", "'x' has 2 axes, but 1 subscript is given"},
        {E0211, CALLS "call add(x[0, 0:], |h[0]); }", "'h' is an input and cannot be written"},
        {E0253, CALLS "call add(x[0, 0:], |c = y[0]); }", "operands have no names"},
        {E0253, CALLS "call add(x[0, 0:], y[0], lane = |0); }", "one thread runs"},
        {E0253, CALLS "call |row(x[0, 0:], y[0:]); }", "the call says which loop"},
        {E0253, CALLS "for t in 16 call row(x[0, 0:], y[0:], lane = |t); }",
         "`lane` is a loop of 32 iterations"},
        {E0253, CALLS "for t in 32 call row(x[0, 0:], y[0:], lane = |t / 2); }",
         "`lane` is a loop of 32 iterations"},
        {E0253, CALLS "for t in 1..33 call row(x[0, 0:], y[0:], lane = |t); }",
         "`lane` is a loop of 32 iterations"},
        {E0253, CALLS "for t in 0..64 step 2 call row(x[0, 0:], y[0:], lane = |t); }",
         "`lane` is a loop of 32 iterations"},
        {E0253, CALLS "call |some(x[0, 0:], y[0]); }", "has 2 parameters, and 0 values are given"},
        {E0253, CALLS "call some<f16, |0>(h, y[0]); }", "of at least 1, and this is 0"},
        {E0253,
         "instruction some_f16_4(a: f16[2], inout c: f32) cuda \"{c} += {a}[0];\" "
         "{ for k in 2 c += f32(a[k]); } " CALLS "call |some<f16, 4>(h, y[0]); }",
         "call the instruction 'some_f16_4', as the file does another one"},
        {E0253, CALLS "call |some<f16, 4, 4>(h, y[0]); }", "and 3 values are given"},
        {E0253, CALLS "call some<|4, 4>(h, y[0]); }", "parameter 'T' is a type"},
        {E0207, CALLS "call some<|f61, 4>(h, y[0]); }", "did you mean 'f64'?"},
        {E0253, CALLS "for i in N if x[i, 0] > 0 |call add(x[0, 0:], y[i]); }",
         "conditions and loops that data decide"},
        {E0253, CALLS "for i in N block b(v in N = i) { |call add(x[v, 0:], y[v]); } }",
         "a call is a block of its own"},
        {E0218, CALLS "call add(|s, y[0]); }", "'s' is a scalar parameter"},
    };
    CHECK_CASES(cases);
}

#define TILES                                                                                      \
    "inout c: f32[4] in local) lanes 128 cuda \"{c[0]} += {a[0, 0]};\" "                           \
    "{ for i in 4, k in 16 c[i] += a[lane / 16 + i, k]; } " KERNEL
#define TILE "instruction f(a: f32[11, 16] in shared "

/* How the tiles of a warpgroup lie in shared memory. */
static void test_warpgroup_operands(void **state)
{
    (void)state;
    static const Case cases[] = {
        {E0248, TILE "|align(2048), " TILES,
         "a power of two from 4, which 'a' has anyway, to 1024"},
        {E0248, TILE "|align(96), " TILES, "a power of two from 4"},
        {E0248, "instruction f(a: f32[11, 16] in global |align(32), " TILES, "has anyway, to 16"},
        {E0248, TILE "|swizzle(1, 0, 4, 4), " TILES, "swizzle stands once and takes five numbers"},
        {E0248, TILE "|swizzle(2, 0, 4, 4, 1), " TILES, "the first below the 2 axes of 'a'"},
        {E0248, TILE "|swizzle(-1, 0, 4, 4, 1), " TILES, "the first below the 2 axes of 'a'"},
        {E0248, TILE "swizzle(1, 0, 4, 4, 1) |swizzle(1, 0, 4, 4, 1), " TILES, "stands once"},
        {E0248, TILE "|swizzle(1, 1, 4, 4, 1), " TILES,
         "axis 1 cannot choose where chunks of axis 1"},
        {E0248, TILE "|swizzle(1, 4294967296, 4, 4, 1), " TILES, "axis 2 cannot choose"},
        {E0248, TILE "|swizzle(1, 0, 4, 3, 1), " TILES, "a power of two from 2 to 1024, found 3"},
        {E0248, TILE "|swizzle(1, 0, 4, 2, 1), " TILES,
         "axis 1 of 'a' has 16 elements, but only 8 change places"},
        {E0248, TILE "swizzle(_) |swizzle(1, 0, 4, 4, 1), " TILES, "swizzle stands once"},
        {E0248, TILE "swizzle(1, 0, 4, 4, 1) |swizzle(_), " TILES, "swizzle stands once"},
        {E0248, "instruction f(|a: f32[11, 16] in global align(16) swizzle(_), " TILES,
         "runs of align(bytes) lie anywhere `in shared`"},
        {E0248, "instruction f(|a: f32[11, 16] in shared align(128) swizzle(_), " TILES,
         "has an extent of whole runs"},
        {E0248, TILE "|proxy(tensor), " TILES, "proxy(async) says that an operand `in shared`"},
        {E0248, TILE "|proxy(1), " TILES, "proxy(async) says"},
        {E0248, TILE "|proxy(async, async), " TILES, "proxy(async) says"},
        {E0248, "instruction f(a: f32[11, 16] in global |proxy(async), " TILES,
         "proxy(async) says"},
        {E0248, TILE "|sum_digits(14), " TILES, "and 'a' is only read"},
        {E0248, TILE "|padding(4), " TILES, "an operand has no clause 'padding'"},
    };
    CHECK_CASES(cases);
}

#define HEAD_OF  "instruction f(a: f32[11, 16] in shared, "
#define SUMS(of) "inout c: " of "[4] in local) lanes 128 cuda \"{c[0]} += {a[0, 0]};\" "
#define BODY     "{ for i in 4, k in 16 c[i] += a[lane / 16 + i, k]; } " KERNEL

/* How an instruction that goes on behind its text is waited for. */
static void test_waits_of_instructions(void **state)
{
    (void)state;
    static const Case cases[] = {
        {E0248, HEAD_OF SUMS("f32") "commit |\"end();\" " BODY, "it has both clauses"},
        {E0248, HEAD_OF SUMS("f32") "wait |\"w({pending});\" " BODY, "it has both clauses"},
        {E0248, HEAD_OF SUMS("f32") "commit \"end();\" wait |\"w();\" " BODY,
         "waits for all groups but the {pending} latest"},
        {E0248, HEAD_OF SUMS("f32") "commit \"end();\" wait |\"w({pending});\\n\" " BODY,
         "each is one line"},
        {E0248, HEAD_OF SUMS("f32") "commit \"end();\\n\" wait |\"w({pending});\" " BODY,
         "each is one line"},
        {E0248,
         "instruction f(a: f32[4], inout c: f32[4] in local) cuda \"{c[0]} += {a[0]};\" "
         "commit \"end();\" wait |\"w({pending});\" { for i in 4 c[i] += a[i]; } " KERNEL,
         "an instruction of several lanes"},
        {E0248,
         "instruction f(a: f16[11, 16] in shared, |" SUMS(
             "f16") "commit \"end();\" wait \"w({pending});\" " BODY,
         "each a register; 'c' is written, f16 `in local`"},
        {E0248,
         "instruction f(a: f32[11, 16] in shared, |inout c: f32[4] in shared) lanes 128 "
         "cuda \"{c[0]} += {a[0, 0]};\" commit \"end();\" wait \"w({pending});\" " BODY,
         "'c' is written, f32 `in shared`"},
        {E0248,
         "instruction f(|a: f32[11, 16] in local, " SUMS(
             "f32") "commit \"end();\" wait \"w({pending});\" " BODY,
         "'a' is read, f32 `in local`"},
        {E0250,
         HEAD_OF SUMS("f32") "{ for i in 4, k in 16 c[i] += a[lane / 16 + i, k]; } " HEAD
                             "launch q grid(1, 1, 1) block(1, 1, 1) "
                             "{ commit \"group\" instruction |f; } }",
         "an execution of 'f' is complete when its text is"},
        {E0250,
         HEAD_OF SUMS("f32") "{ for i in 4, k in 16 c[i] += a[lane / 16 + i, k]; } " HEAD
                             "launch q grid(1, 1, 1) block(1, 1, 1) "
                             "{ wait 0 \"group\" instruction |g; } }",
         "declares no instruction 'g'"},
    };
    CHECK_CASES(cases);
}

static void check_override(const char *text, ErrorCode code)
{
    Text t;
    SizeOverride o;
    text_open(&t);
    AstFile *file = text_parse(
        &t, "kernel k<M = 4, T: type = f32>(x: T[M]) -> y: T[M] { for i in M y[i] = x[i]; }");
    assert_non_null(file);
    if (size_override_parse(t.ctx, text, &o))
        assert_null(resolve_kernel(t.ctx, file->kernels[0], &o, 1));
    assert_int_equal(t.ctx->n_errors, 1);
    assert_int_equal(t.ctx->first->code, code);
    text_close(&t);
}

static void test_overrides(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        ErrorCode code;
    } cases[] = {
        {"M", E0231},   {"=3", E0231},    {"M=", E0231},
        {"M=x", E0231}, {"M=0", E0204},   {"M=-1", E0204},
        {"Q=3", E0205}, {"M=f16", E0205}, {"M=9223372036854775808", E0204},
        {"T=3", E0205}, {"T=?", E0205},   {"M=1-2", E0204},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_override(cases[i].text, cases[i].code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples_give_their_code),
        cmocka_unit_test(test_syntax),
        cmocka_unit_test(test_where),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_structure),
        cmocka_unit_test(test_reports_several),
        cmocka_unit_test(test_templates),
        cmocka_unit_test(test_warp_instructions),
        cmocka_unit_test(test_bulk_copies),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_warpgroup_operands),
        cmocka_unit_test(test_waits_of_instructions),
        cmocka_unit_test(test_overrides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
