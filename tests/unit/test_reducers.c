/* test_reducers.c - reducers: which laws are tested, what misuse is refused, and what programs with
 * them are read and printed as. */
#include "tests/unit/parse_text.h"

#define ARGMAX                                                                                     \
    "reducer argmax(value: f32, index: i32) {\n"                                                   \
    "    init (-inf, -1);\n"                                                                       \
    "    combine(a, b): b.value > a.value || b.value == a.value && b.index < a.index ? b : a;\n"   \
    "}\n"
#define ONE(type, where, init, combine)                                                            \
    "reducer r(v: " type ") " where " { init " init "; combine(a, b): " combine "; }\n"            \
    "kernel k<N = 8>(x: " type "[N]) -> y: r { for i in N y r= x[i]; }\n"
#define BODY(body)                                                                                 \
    ARGMAX "kernel k<N = 8, M = 4>(x: f32[N, M], p: i32[N]) -> at: i32[N], value: f32[N] {" body   \
           "}\n"

typedef struct {
    ErrorCode code; /* E0000: accepted */
    const char *text, *says;
} ReducerCase;

static void check(const ReducerCase *k)
{
    Text t;
    text_open(&t);
    text_refuse(&t, k->text);
    const Diag *first = t.ctx->first;
    if (!k->says && first)
        fail_msg("refused:\n%s\n%s", k->text, text_report(&t));
    if (k->says && (!first || first->code != k->code || !strstr(text_report(&t), k->says)))
        fail_msg("expected '%s':\n%s\n%s", k->says, k->text, text_report(&t));
    text_close(&t);
}

static void check_all(const ReducerCase *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check(&cases[i]);
}
#define CHECK_REDUCERS(cases) check_all(cases, sizeof cases / sizeof *(cases))

static void test_laws(void **state)
{
    (void)state;
    static const ReducerCase cases[] = {
        {0, ONE("i32", "", "0", "a + b"), NULL},
        {0, ONE("f32", "", "0", "a + b"), NULL},
        {0, ONE("f64", "", "1", "a * b"), NULL},
        {0, ONE("f16", "", "inf", "min(a, b)"), NULL},
        {0, ONE("u8", "", "0", "u8(a | b)"), NULL},
        {0, ONE("bool", "", "true", "a && b"), NULL},
        {0, ONE("i64", "where 0 <= v && v < 97", "1", "a * b % 97"), NULL},
        {0, ONE("f32", "where v >= 0", "0", "sqrt(a * a + b * b)"), NULL},
        {E0247, ONE("i32", "", "0", "a - b"), "combine(init, x)"},
        {E0247, ONE("i32", "", "1", "a + b"), "combine(init, init) is (v = 2)"},
        {E0247, ONE("i32", "", "0", "a * b"), "combine(init, x) is (v = 0), but x is"},
        {E0247, ONE("f32", "", "0", "a + b + 0.001 * a * a * b"), "not commutative"},
        {E0247, ONE("f32", "", "0", "a + b + a * a * b * b"), "not associative"},
        {E0247, ONE("f32", "", "0", "abs(a) > abs(b) ? a : b"), "not commutative"},
        {E0247, ONE("f32", "", "0", "sqrt(a * a + b * b)"), "combine(init, x)"},
        {E0247, ONE("i8", "", "0", "i8(a + b + a * b * b)"), "is not"},
    };
    CHECK_REDUCERS(cases);
}

#define LOGSUMEXP(guard)                                                                           \
    "reducer lse(m: f32, s: f32) where s >= 0 { init (-inf, 0); combine(a, b) { let m = max(a.m, " \
    "b.m); return (m, " guard "a.s * exp(a.m - m) + b.s * exp(b.m - m)); } }\n"                    \
    "kernel k<N = 8>(x: f32[N]) -> y: lse { for i in N y lse= (x[i], 1); }\n"
#define MOMENTS(where, m2)                                                                         \
    "reducer moments(n: f32, mean: f32, m2: f32) " where " { init (0, 0, 0); combine(a, b) { "     \
    "let n = a.n + b.n; let d = b.mean - a.mean; let share = n > 0 ? b.n / n : 0; "                \
    "return (n, a.mean + d * share, " m2 "); } }\n"                                                \
    "kernel k<N = 8>(x: f32[N]) -> y: moments { for i in N y moments= (1, x[i], 0); }\n"

#define AFFINE(word)                                                                               \
    "reducer affine(a: f32, b: f32) " word " { init (1, 0); combine(x, y): (y.a * x.a, y.a * x.b " \
    "+ y.b); }\nkernel k<N = 8>(x: f32[N]) -> y: affine { for i in N y affine= (0.5, x[i]); }\n"

/* One that is declared ordered does not commute, and has an identity on both sides. */
static void test_ordered_laws(void **state)
{
    (void)state;
    static const ReducerCase cases[] = {
        {0, AFFINE("ordered"), NULL},
        {0, AFFINE("ordered where a >= 0"), NULL},
        {E0247, AFFINE(""), "say so, and schedules keep it: reducer affine(...) ordered"},
        {0, ONE("i32", "ordered", "0", "a + b"), NULL},
        {0, ONE("f32", "ordered", "0", "b != 0 ? b : a"), NULL},
        {E0247, ONE("i32", "ordered", "0", "a - b"), "combine(init, x)"},
        {E0247, ONE("i32", "ordered", "0", "b"), "combine(x, init) is (v = 0), but x is"},
        {E0247, ONE("f32", "ordered", "0", "a + b + a * a * b * b"), "not associative"},
    };
    CHECK_REDUCERS(cases);
}

/* Laws that hold up to rounding, or only for the tuples that occur. */
static void test_tuple_laws(void **state)
{
    (void)state;
    static const ReducerCase cases[] = {
        {0, LOGSUMEXP("m == -inf ? 0 : "), NULL},
        {E0247, LOGSUMEXP(""), "combine(init, init) is (m = -inf, s = "},
        {0, MOMENTS("where n >= 0", "a.m2 + b.m2 + d * d * a.n * share"), NULL},
        {E0247, MOMENTS("", "a.m2 + b.m2 + d * d * a.n * share"), "where n >= 0"},
        {E0247, MOMENTS("where n >= 0", "a.m2 + b.m2 + d * d * share"), "is not"},
        {E0247,
         "reducer first(value: f32, index: i32) { init (-inf, -1); combine(a, b): b.value > "
         "a.value ? b : a; }\n"
         "kernel k<N = 8>(x: f32[N]) -> y: first { for i in N y first= (x[i], i); }\n",
         "not commutative"},
    };
    CHECK_REDUCERS(cases);
}

static void test_misuse(void **state)
{
    (void)state;
    static const ReducerCase cases[] = {
        {E0246, BODY("temp b: argmax; for i in N b argmin= (x[i, 0], i); at[0] = b.index;"),
         "unknown reducer 'argmin'; did you mean 'argmax'?"},
        {E0246, BODY("temp b: argmax; for i in N b argmax= x[i, 0]; at[0] = b.index;"),
         "expected a tuple of 2 components"},
        {E0246, BODY("temp b: argmax; for i in N b argmax= (x[i, 0], i); at[0] = b.at;"),
         "has no component 'at'"},
        {E0246, BODY("temp b: argmax; for i in N b argmax= (x[i, 0], i); at[0] = b;"),
         "'b' is a tuple; name one of its components"},
        {E0246, BODY("for i in N value[0], value[1] argmax= (x[i, 0], i);"),
         "component 'index' of reducer 'argmax' has type i32, but 'value' holds f32"},
        {E0246, BODY("for i in N value[0] argmax= (x[i, 0], i);"), "updates 2 buffers"},
        {E0246, BODY("at[0] = (1, 2);"), "a tuple stands only in a reducer"},
        {E0209, BODY("temp b: argmax; for i in N b argmax= (f64(1.0), i); at[0] = b.index;"),
         "component 'value' has type f32"},
        {E0203, BODY("temp b: argmax[N]; for i in N b argmax= (x[i, 0], i); at[0] = b[0].index;"),
         "'b' has 1 subscript"},
        {E0211,
         ARGMAX "kernel k<N = 8>(b: argmax[N]) -> y: f32 { for i in N b[i] argmax= (1.0, i); y = "
                "b[0].value; }",
         "is an input"},
        {E0246,
         "reducer r(v: f32, v: f32) { init (0, 0); combine(a, b): (a.v, b.v); }\n"
         "kernel k() -> y: r { y r= (1, 1); }",
         "a name of its own"},
        {E0246,
         "reducer r(v: i32) where v in 0..7 { init 1; combine(a, b): a * b; }\n"
         "kernel k() -> y: r { y r= 1; }",
         "holds conditions on its components"},
        {E0246,
         "reducer r(v: f32) { init sqrt(2.0); combine(a, b): a + b; }\n"
         "kernel k() -> y: r { y r= 1; }",
         "must be a literal"},
        {E0201,
         "reducer r(v: f32) { init 0; combine(a, b): a + c; }\nkernel k() -> y: r { y r= 1; }",
         "unknown value 'c'"},
    };
    CHECK_REDUCERS(cases);
}

/* The text of a kernel, of its first loop on; and that this is read as the same kernel. */
static void check_text(const char *text, const char *expected)
{
    Text t, again;
    text_open(&t);
    text_parse(&t, text);
    const Kernel *kernel = text_kernel(&t, 0);
    const char *printed = text_print(&t, kernel), *body = strstr(printed, "f32[8]\n{\n");
    if (!body || strcmp(body + 9, expected) != 0)
        fail_msg("expected\n%s\nfound\n%s", expected, body ? body + 9 : printed);
    text_open(&again);
    text_parse(&again, printed);
    assert_string_equal(text_print(&again, text_kernel(&again, 0)), printed);
    if (!kernel_equal(kernel, text_kernel(&again, 0)))
        fail_msg("read back as another kernel:\n%s", printed);
    text_close(&again);
    text_close(&t);
}

/* The first update is a reduction with an init; the second goes on. A tuple whose first update is
 * none starts where it is declared. */
static void test_texts(void **state)
{
    (void)state;
    check_text(BODY("for i in N { temp b: argmax; for j in M b argmax= (x[i, j], j); for j in M b "
                    "argmax= (2 * x[i, j], j + M); at[i] = b.index; value[i] = b.value; }"),
               "    for i in 8 {\n"
               "        temp b_value: f32;\n"
               "        temp b_index: i32;\n"
               "        for j in 4 {\n"
               "            init {\n"
               "                b_value = -inf;\n"
               "                b_index = -1;\n"
               "            }\n"
               "            b_value, b_index argmax= (x[i, j], i32(j));\n"
               "        }\n"
               "        for j in 4\n"
               "            b_1: b_value, b_index argmax= (2.0 * x[i, j], i32(j + 4));\n"
               "        at[i] = b_index;\n"
               "        value[i] = b_value;\n"
               "    }\n"
               "}\n");
    check_text(BODY("temp b: argmax[N]; for i in N if p[i] > 0 b[i] argmax= (x[i, 0], i); for i in "
                    "N { at[i] = b[i].index; value[i] = b[i].value; }"),
               "    temp b_value: f32[8];\n"
               "    temp b_index: i32[8];\n"
               "    for b_value_0 in 8\n"
               "        block b_value(b_value_0 in 8 = b_value_0) {\n"
               "            b_value[b_value_0] = -inf;\n"
               "            b_index[b_value_0] = -1;\n"
               "        }\n"
               "    for i in 8\n"
               "        block b(i in 8 = i) {\n"
               "            if p[i] > 0\n"
               "                b_value[i], b_index[i] argmax= (x[i, 0], i32(i));\n"
               "        }\n"
               "    for i in 8 {\n"
               "        at[i] = b_index[i];\n"
               "        value[i] = b_value[i];\n"
               "    }\n"
               "}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_laws),       cmocka_unit_test(test_ordered_laws),
        cmocka_unit_test(test_tuple_laws), cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
