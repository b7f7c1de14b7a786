/* analyze_versus.c - Prints the differences between two analyses of one program: accesses,
 * counters, barriers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze.h"

/* ---- the list -------------------------------------------------------------------------------- */

static Change *new_change(ChangeList *list, const char *subject, const char *counter)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 32;
        Change *items = realloc(list->items, capacity * sizeof *items);
        if (!items) {
            list->out_of_memory = true;
            return NULL;
        }
        list->items = items;
        list->capacity = capacity;
    }
    Change *change = &list->items[list->n++];
    *change = (Change){.counter = counter};
    snprintf(change->subject, sizeof change->subject, "%s", subject);
    return change;
}

/* Notes a counter whose two texts differ. */
static void compare(ChangeList *list, const char *subject, const char *counter, const char *first,
                    const char *second)
{
    if (!strcmp(first, second))
        return;
    Change *change = new_change(list, subject, counter);
    if (!change)
        return;
    snprintf(change->first, sizeof change->first, "%s", first);
    snprintf(change->second, sizeof change->second, "%s", second);
}

static void compare_numbers(ChangeList *list, const char *subject, const char *counter,
                            double first, double second)
{
    char a[NUMBER_ROOM], b[NUMBER_ROOM];
    number_plain(first, a);
    number_plain(second, b);
    compare(list, subject, counter, a, b);
}

void changes_free(ChangeList *list)
{
    free(list->items);
    *list = (ChangeList){0};
}

/* ---- accesses -------------------------------------------------------------------------------- */

static bool is_alike(const tirc_access *a, const tirc_access *b)
{
    return !strcmp(a->op, b->op) && !strcmp(a->buffer, b->buffer) && !strcmp(a->scope, b->scope);
}

/* Distinguishes accesses of one kind by their order. */
static size_t rank_of(const tirc_analysis *analysis, size_t i, const tirc_access *access)
{
    tirc_access other;
    size_t rank = 0;
    for (size_t j = 0; j < i && tirc_access_at(analysis, j, &other); j++)
        rank += is_alike(&other, access);
    return rank;
}

static bool find_alike(const tirc_analysis *analysis, const tirc_access *access, size_t rank,
                       tirc_access *out)
{
    for (size_t i = 0; tirc_access_at(analysis, i, out); i++)
        if (is_alike(out, access) && rank-- == 0)
            return true;
    return false;
}

static void describe_access(const tirc_access *a, char out[SUBJECT_ROOM])
{
    snprintf(out, SUBJECT_ROOM, "%s %.40s (%s)", a->op, a->buffer, a->scope);
}

static void compare_access(ChangeList *list, const tirc_access *a, const tirc_access *b)
{
    char subject[SUBJECT_ROOM], first[COST_ROOM], second[COST_ROOM];
    describe_access(a, subject);
    access_cost_text(a, first);
    access_cost_text(b, second);
    compare(list, subject, "each costs", first, second);
    compare_numbers(list, subject, "requests", (double)a->requests, (double)b->requests);
    compare_numbers(list, subject, "bytes per lane", a->bytes, b->bytes);
    compare_numbers(list, subject, "passes", a->passes_per_request, b->passes_per_request);
}

typedef enum { IN_SECOND, IN_FIRST } Which;

/* An access that only one of the two has. */
static void single_access(ChangeList *list, const tirc_access *a, Which where)
{
    char subject[SUBJECT_ROOM], cost[COST_ROOM], text[VALUE_ROOM];
    describe_access(a, subject);
    access_cost_text(a, cost);
    snprintf(text, sizeof text, "%lld x %s", (long long)a->requests, cost);
    compare(list, subject, "requests", where == IN_FIRST ? text : "none",
            where == IN_FIRST ? "none" : text);
}

static void compare_accesses(ChangeList *list, const tirc_analysis *a, const tirc_analysis *b)
{
    tirc_access one, other;
    for (size_t i = 0; tirc_access_at(a, i, &one); i++) {
        if (find_alike(b, &one, rank_of(a, i, &one), &other))
            compare_access(list, &one, &other);
        else
            single_access(list, &one, IN_FIRST);
    }
    for (size_t i = 0; tirc_access_at(b, i, &other); i++)
        if (!find_alike(a, &other, rank_of(b, i, &other), &one))
            single_access(list, &other, IN_SECOND);
}

/* ---- barriers, kernels, limits --------------------------------------------------------------- */

/* A barrier is known by what it orders. */
static double times_at(const tirc_analysis *analysis, const char *reason)
{
    tirc_barrier b;
    double times = 0;
    for (size_t i = 0; tirc_barrier_at(analysis, i, &b); i++)
        if (b.reason && !strcmp(b.reason, reason))
            times += b.per_block;
    return times;
}

static void compare_barriers(ChangeList *list, const tirc_analysis *a, const tirc_analysis *b)
{
    tirc_barrier at;
    char subject[SUBJECT_ROOM];
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; tirc_barrier_at(side ? b : a, i, &at); i++) {
            const char *reason = at.reason ? at.reason : "";
            snprintf(subject, sizeof subject, "barrier: %.100s", reason);
            if (side == 0 || times_at(a, reason) == 0)
                compare_numbers(list, subject, "times per block", times_at(a, reason),
                                times_at(b, reason));
        }
}

static void compare_kernels(ChangeList *list, const tirc_analysis *a, const tirc_analysis *b)
{
    tirc_kernel_use one, other;
    for (size_t i = 0; tirc_kernel_use_at(a, i, &one) && tirc_kernel_use_at(b, i, &other); i++) {
        compare_numbers(list, one.name, "threads per block",
                        (double)(one.block[0] * one.block[1] * one.block[2]),
                        (double)(other.block[0] * other.block[1] * other.block[2]));
        compare_numbers(list, one.name, "blocks", (double)(one.grid[0] * one.grid[1] * one.grid[2]),
                        (double)(other.grid[0] * other.grid[1] * other.grid[2]));
        compare_numbers(list, one.name, "shared bytes", (double)one.shared_bytes,
                        (double)other.shared_bytes);
        compare_numbers(list, one.name, "registers", one.registers, other.registers);
        compare_numbers(list, one.name, "occupancy (%)", 100 * one.occupancy,
                        100 * other.occupancy);
        compare(list, one.name, "limited by", one.limited_by ? one.limited_by : "?",
                other.limited_by ? other.limited_by : "?");
    }
}

static void compare_limits(ChangeList *list, const tirc_analysis *a, const tirc_analysis *b)
{
    tirc_limit one, other;
    char first[VALUE_ROOM] = "?", second[VALUE_ROOM] = "?", time[NUMBER_ROOM];
    for (size_t i = 0; tirc_limit_at(a, i, &one) && tirc_limit_at(b, i, &other); i++) {
        char before[NUMBER_ROOM], after[NUMBER_ROOM];
        time_text(one.ms, before);
        time_text(other.ms, after);
        compare(list, one.name, "minimum time", before, after);
        time_text(one.ms, time);
        if (one.binds)
            snprintf(first, sizeof first, "%s, %s", time, one.name);
        time_text(other.ms, time);
        if (other.binds)
            snprintf(second, sizeof second, "%s, %s", time, other.name);
    }
    compare(list, "all", "bound by", first, second);
}

bool analysis_compare(const tirc_analysis *a, const tirc_analysis *b, ChangeList *out)
{
    *out = (ChangeList){0};
    compare_accesses(out, a, b);
    compare_barriers(out, a, b);
    compare_kernels(out, a, b);
    compare_limits(out, a, b);
    return !out->out_of_memory;
}

/* ---- telling --------------------------------------------------------------------------------- */

void changes_print(const ChangeList *list, const char *first, const char *second)
{
    const char *subject = "";
    printf("  versus %s: %s\n", second, list->n ? "differences" : "no differences");
    if (list->n)
        printf("    %-16s %-32s %s\n", "", first, second);
    for (size_t i = 0; i < list->n; i++) {
        const Change *c = &list->items[i];
        if (strcmp(subject, c->subject) != 0)
            printf("    %s\n", c->subject);
        subject = c->subject;
        printf("      %-16s %-30s %s\n", c->counter, c->first, c->second);
    }
}

json_t *changes_json(const ChangeList *list)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < list->n; i++) {
        const Change *c = &list->items[i];
        json_array_append_new(rows,
                              json_pack("{s:s, s:s, s:s, s:s}", "subject", c->subject, "counter",
                                        c->counter, "first", c->first, "second", c->second));
    }
    return rows;
}
