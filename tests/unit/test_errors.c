/* test_errors.c - the rows of errors.def: each example gives the code that it stands for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/api/manual.h"

/* The first error or warning that the example of a row gives; "" for none, and the message of a
 * fatal error. */
static const char *first_code(Context *c, const ErrorInfo *info)
{
    jmp_buf guard;
    if (setjmp(guard))
        return c->fatal_message;
    c->guard = &guard;
    explain_run_example(c, info);
    for (const Diag *d = c->first; d; d = d->next)
        if (d->severity != SEVERITY_NOTE)
            return error_info(d->code)->id;
    return "";
}

static void every_example_gives_its_code(void **state)
{
    (void)state;
    int wrong = 0;
    for (int code = 0; code < ERROR_COUNT; code++) {
        const ErrorInfo *info = error_info((ErrorCode)code);
        if (!info->program)
            continue;
        Context *c = ctx_new(0);
        const char *got = first_code(c, info);
        if (strcmp(got, info->id) != 0) {
            print_error("the example of %s gives '%s'\n", info->id, got);
            wrong++;
        }
        ctx_free(c);
    }
    assert_int_equal(wrong, 0);
}

/* A code is found by its own name, and by nothing else. */
static void codes_are_found_by_name(void **state)
{
    (void)state;
    for (int code = 0; code < ERROR_COUNT; code++)
        assert_int_equal(error_find(error_info((ErrorCode)code)->id), code);
    assert_int_equal(error_find("E9999"), ERROR_COUNT);
    assert_int_equal(error_find(""), ERROR_COUNT);
}

/* Titles are phrases, explanations sentences; a schedule without a program shows nothing. */
static void rows_are_complete(void **state)
{
    (void)state;
    for (int code = 0; code < ERROR_COUNT; code++) {
        const ErrorInfo *info = error_info((ErrorCode)code);
        assert_true(strlen(info->title) > 0 && strlen(info->explanation) > 0);
        if (info->title[strlen(info->title) - 1] == '.')
            fail_msg("the title of %s ends in a full stop", info->id);
        if (info->explanation[strlen(info->explanation) - 1] != '.')
            fail_msg("the explanation of %s does not end in a full stop", info->id);
        assert_true(info->program || !info->schedule);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_gives_its_code),
        cmocka_unit_test(codes_are_found_by_name),
        cmocka_unit_test(rows_are_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
