/* Where long lines of emitted text break, and where they go on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "codegen/fold.h"
#include "ir/ir.h"

typedef struct {
    const char *line, *folded;
} Pair;

static const Pair pairs[] = {
    /* short lines stay as they are */
    {"    a = b + c;", "    a = b + c;"},
    /* a value that fits on a line of its own */
    {"    const float middle = first_value_of_all * second_value_of_all "
     "* third_value_of_all * last_of_them;",
     "    const float middle =\n"
     "        first_value_of_all * second_value_of_all * third_value_of_all * last_of_them;"},
    /* the operators that bind least; those that bind more stay together */
    {"    sums[block * 256 + thread] = 0.125f * (left[i * 64 + j] - centre_value) "
     "+ 0.125f * (right[i * 64 + j] - centre_value) + last_value_of_all * 0.5f;",
     "    sums[block * 256 + thread] = 0.125f * (left[i * 64 + j] - centre_value)\n"
     "        + 0.125f * (right[i * 64 + j] - centre_value) + last_value_of_all * 0.5f;"},
    {"    result_of_the_row[block * 256 + thread] = some_weight * (values_on_the_left[i] "
     "- values_on_the_right[i + 1]) + other_weight * (values_on_the_left[j] - 1.0f);",
     "    result_of_the_row[block * 256 + thread] =\n"
     "        some_weight * (values_on_the_left[i] - values_on_the_right[i + 1])\n"
     "        + other_weight * (values_on_the_left[j] - 1.0f);"},
    /* an operand that goes on is further to the right */
    {"    if (keep_this_one[i] && overlap_of_columns(first[i], second[j]) "
     "* overlap_of_rows(first[i], second[j]) > most_of_all * area_of_both_boxes(first[i], "
     "second[j]))",
     "    if (keep_this_one[i]\n"
     "        && overlap_of_columns(first[i], second[j]) * overlap_of_rows(first[i], second[j])\n"
     "            > most_of_all * area_of_both_boxes(first[i], second[j]))"},
    /* the values of a choice stay together; each one of several has a line */
    {"    centre[chunk * 256 + thread] = count[k] > 0 ? centre[chunk * 256 + thread] "
     "/ (float)count[k] : 0.0f;",
     "    centre[chunk * 256 + thread] = count[k] > 0\n"
     "        ? centre[chunk * 256 + thread] / (float)count[k] : 0.0f;"},
    {"    level[block * 256 + thread] = value < first_limit ? first_level : value < second_limit "
     "? second_level : last_level;",
     "    level[block * 256 + thread] = value < first_limit ? first_level\n"
     "        : value < second_limit ? second_level : last_level;"},
    /* arguments below each other; an argument of two lines ends its line */
    {"    copy_async_or_zero<4>(&x_shared[each][warp * 32 + lane], &x[((block / 1044484 * 16 + "
     "each) "
     "* 1024 + block % 1044484 / 1022) * 1024 + thread % 1022], block < 16711744);",
     "    copy_async_or_zero<4>(&x_shared[each][warp * 32 + lane],\n"
     "                          &x[((block / 1044484 * 16 + each) * 1024 + block % 1044484 / 1022) "
     "* 1024\n"
     "                             + thread % 1022],\n"
     "                          block < 16711744);"},
    {"matmul_of_long_name(const float *__restrict__ first_operand, const float *__restrict__ "
     "second, "
     "float *__restrict__ c)",
     "matmul_of_long_name(const float *__restrict__ first_operand, const float *__restrict__ "
     "second,\n"
     "                    float *__restrict__ c)"},
    /* conditions among arguments */
    {"    copy_async_or_zero<4>(&x_shared[each][warp * 32 + lane], &x[each * 1024], block_of_rows "
     "< "
     "64 && block_of_columns < 64 && row_in_block < 32);",
     "    copy_async_or_zero<4>(&x_shared[each][warp * 32 + lane], &x[each * 1024],\n"
     "                          block_of_rows < 64 && block_of_columns < 64 && row_in_block < "
     "32);"},
    /* assembly has operands behind colons; texts stay whole */
    {"    asm volatile(\"cp.async.ca.shared.global [%0], [%1], %2, %3;\" ::\"r\"(at), \"l\"(from), "
     "\"n\"(bytes), \"r\"(n));",
     "    asm volatile(\"cp.async.ca.shared.global [%0], [%1], %2, %3;\" ::\"r\"(at), "
     "\"l\"(from), \"n\"(bytes),\n"
     "                 \"r\"(n));"},
    /* comments go on below themselves; directives do not */
    {"    __syncthreads();  // first_operand_shared, second_operand_shared: written above by other "
     "threads, read below",
     "    __syncthreads();  // first_operand_shared, second_operand_shared: written above by "
     "other\n"
     "                      // threads, read below"},
    {"#define A_LONG_NAME_OF_A_MACRO(first_argument, second_argument) (first_argument + "
     "second_argument * 2)",
     "#define A_LONG_NAME_OF_A_MACRO(first_argument, second_argument) (first_argument + "
     "second_argument * 2)"},
};

static void test_lines_fold(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        Context *c = ctx_new(0);
        StrBuf out = strbuf_new(c->arena);
        fold_line(&out, pairs[i].line, pairs[i].line + strlen(pairs[i].line));
        assert_string_equal(out.text, pairs[i].folded);
        ctx_free(c);
    }
}

/* Without its spaces and ends of lines. */
static void squeeze(StrBuf *out, const char *text)
{
    for (; *text; text++)
        if (*text != ' ' && *text != '\n')
            strbuf_addc(out, *text);
}

/* Brackets that never close, close too often, or are many: nothing is lost. */
static void test_any_line_keeps_its_text(void **state)
{
    (void)state;
    static const char *const parts[] = {"a + ",    "(",      ")",    "[i * 2",   "]",      ", ",
                                        " ? b : ", " && c ", " = d", "f(a, b) ", "\"x \"", "; "};
    unsigned random = 1;
    for (int round = 0; round < 2000; round++) {
        Context *c = ctx_new(0);
        StrBuf line = strbuf_new(c->arena), out = strbuf_new(c->arena);
        StrBuf before = strbuf_new(c->arena), after = strbuf_new(c->arena);
        strbuf_add(&line, "    y");
        for (int n = 0; n < 60; n++) {
            random = random * 1664525u + 1013904223u;
            strbuf_add(&line, parts[(random >> 16) % (sizeof parts / sizeof *parts)]);
        }
        fold_line(&out, line.text, line.text + line.length);
        squeeze(&before, line.text);
        squeeze(&after, out.text);
        assert_string_equal(after.text, before.text);
        ctx_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_fold),
        cmocka_unit_test(test_any_line_keeps_its_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
