/* Diagnostics: what is kept, and the exact text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "ir/diag.h"

/* The text of one error about bytes [begin, end) of a source. */
static const char *render(Context *c, const char *text, size_t length, uint32_t begin, uint32_t end)
{
    uint32_t source = source_add(c, "a.tir", text, length);
    DiagMark mark = diag_mark(c);
    diag_error(c, E0699, (Span){source, begin, end}, "no");
    StrBuf out = strbuf_new(c->arena);
    diag_render(c, c->last, false, &out);
    diag_forget(c, mark);
    return out.text;
}

#define RENDER(text, begin, end) render(*state, text, sizeof(text) - 1, begin, end)

static int set_up(void **state)
{
    *state = ctx_new(0);
    return 0;
}

static int tear_down(void **state)
{
    ctx_free(*state);
    return 0;
}

static void test_span_is_underlined(void **state)
{
    assert_string_equal(RENDER("one\nsplit(k, [4, 30]);\n", 13, 20),
                        "a.tir:2:10: error[E0699]: no\n"
                        "    2 | split(k, [4, 30]);\n"
                        "      |          ^~~~~~~\n");
    assert_string_equal(RENDER("ab\ncd", 1, 4), "a.tir:1:2: error[E0699]: no\n"
                                                "    1 | ab\n"
                                                "      |  ^\n");
    assert_string_equal(RENDER("ab\n", 3, 3), "a.tir:2:1: error[E0699]: no\n"
                                              "    2 | \n"
                                              "      | ^\n");
}

static void test_tabs_and_utf8_keep_the_caret_in_place(void **state)
{
    assert_string_equal(RENDER("\tx\ty", 3, 4), "a.tir:1:4: error[E0699]: no\n"
                                                "    1 |     x   y\n"
                                                "      |         ^\n");
    assert_string_equal(RENDER("\xc3\xa9\xe2\x82\xac x", 6, 7), "a.tir:1:7: error[E0699]: no\n"
                                                                "    1 | \xc3\xa9\xe2\x82\xac x\n"
                                                                "      |    ^\n");
}

static void test_what_a_terminal_cannot_show(void **state)
{
    assert_string_equal(RENDER("a\0b\x1b\xff c\r\n", 2, 3), "a.tir:1:3: error[E0699]: no\n"
                                                            "    1 | a<00>b<1b><ff> c\n"
                                                            "      |      ^\n");
    assert_string_equal(RENDER("a\xe2\x80\xae!\xc0\xaf", 4, 5), "a.tir:1:5: error[E0699]: no\n"
                                                                "    1 | a?!<c0><af>\n"
                                                                "      |   ^\n");
}

static void test_long_line_is_cut_around_the_caret(void **state)
{
    char text[1000];
    memset(text, '.', sizeof text);
    memcpy(text + 500, "here", 4);
    const char *out = render(*state, text, sizeof text, 500, 504);
    const char *line = strchr(out, '\n') + 1, *mark = strchr(line, '\n') + 1;
    assert_int_equal(mark - line, 8 + 3 + 100 + 3 + 1);
    assert_memory_equal(line, "    1 | .....", 13);
    assert_memory_equal(mark - 4, "...\n", 4);
    const char *caret = strchr(mark, '^');
    assert_memory_equal(line + (caret - mark), "here", 4);
    assert_string_equal(caret, "^~~~\n");
}

static void test_error_without_a_place(void **state)
{
    Context *c = *state;
    diag_error(c, E0699, span_none(), "lost");
    diag_note(c, span_none(), "it was here");
    diag_warning(c, E0600, span_none(), "low");
    StrBuf out = strbuf_new(c->arena);
    diag_render_all(c, DIAG_PLAIN, &out);
    assert_string_equal(out.text, "error[E0699]: lost\nnote: it was here\nwarning[E0600]: low\n");
    StrBuf paint = strbuf_new(c->arena);
    diag_render(c, c->first, true, &paint);
    assert_string_equal(paint.text, "\033[1;31merror[E0699]:\033[0m lost\n");
}

static void test_errors_beyond_the_limit_are_only_counted(void **state)
{
    Context *c = *state;
    c->max_errors = 2;
    for (int i = 0; i < 5; i++) {
        diag_error(c, E0699, span_none(), "%d", i);
        diag_note(c, span_none(), "of %d", i);
    }
    assert_int_equal(c->n_errors, 5);
    StrBuf out = strbuf_new(c->arena);
    diag_render_all(c, DIAG_PLAIN, &out);
    assert_string_equal(out.text, "error[E0699]: 0\nnote: of 0\nerror[E0699]: 1\nnote: of 1\n"
                                  "3 more errors are not shown\n");
}

static void test_forgetting_an_attempt(void **state)
{
    Context *c = *state;
    DiagMark none = diag_mark(c);
    diag_error(c, E0699, span_none(), "kept");
    DiagMark mark = diag_mark(c);
    diag_error(c, E0699, span_none(), "forgotten");
    diag_forget(c, mark);
    assert_int_equal(c->n_errors, 1);
    assert_null(c->first->next);
    diag_forget(c, none);
    assert_null(c->first);
    assert_null(c->last);
}

static void test_suggestions(void **state)
{
    (void)state;
    const char *const words[] = {"split", "fuse", "reorder", "bind", "i"};
    assert_string_equal(diag_suggest("slpit", words, 5), "split");
    assert_string_equal(diag_suggest("reoder", words, 5), "reorder");
    assert_null(diag_suggest("vectorize", words, 5));
    assert_null(diag_suggest("j", words, 5));
}

static void test_positions_and_spans(void **state)
{
    Context *c = *state;
    uint32_t n = source_add(c, "x", "ab\n\ncd", 6);
    int line, column;
    source_position(source_get(c, n), 5, &line, &column);
    assert_true(line == 3 && column == 2);
    source_position(source_get(c, n), 2, &line, &column);
    assert_true(line == 1 && column == 3);
    Span joined = span_join((Span){n, 4, 5}, (Span){n, 1, 2});
    assert_true(joined.begin == 1 && joined.end == 5);
    assert_int_equal(span_join(span_none(), joined).source, n);
    assert_null(source_get(c, 0));
    assert_null(source_get(c, n + 1));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_span_is_underlined),          TEST(test_tabs_and_utf8_keep_the_caret_in_place),
        TEST(test_what_a_terminal_cannot_show), TEST(test_long_line_is_cut_around_the_caret),
        TEST(test_error_without_a_place),       TEST(test_errors_beyond_the_limit_are_only_counted),
        TEST(test_forgetting_an_attempt),       TEST(test_suggestions),
        TEST(test_positions_and_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
