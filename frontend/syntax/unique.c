/* unique.c - Checks that each item of a file has a name of its own: a second one of the name would
 * never be found.
 *
 * Schedules may share a name if they are for different kernels. Functions are checked together with
 * the built-in ones, by the resolver. */
#include "frontend/syntax/internal.h"

typedef struct {
    const char *kind;
    AstName name;
    const AstSchedule *schedule; /* NULL: the item is none */
} Item;

typedef VEC(Item) ItemList;

static ItemList items_of(Context *c, const AstFile *file)
{
    ItemList all = {0};
    for (int i = 0; i < file->n_kernels; i++)
        VEC_PUSH(c->arena, &all, ((Item){"kernel", file->kernels[i]->name, NULL}));
    for (int i = 0; i < file->n_reducers; i++)
        VEC_PUSH(c->arena, &all, ((Item){"reducer", file->reducers[i]->name, NULL}));
    for (int i = 0; i < file->n_instructions; i++)
        VEC_PUSH(c->arena, &all, ((Item){"instruction", file->instructions[i]->name, NULL}));
    for (int i = 0; i < file->n_procs; i++)
        VEC_PUSH(c->arena, &all, ((Item){"proc", file->procs[i]->name, NULL}));
    for (int i = 0; i < file->n_schedules; i++) {
        const AstSchedule *schedule = file->schedules[i];
        VEC_PUSH(c->arena, &all, ((Item){"schedule", schedule->name, schedule}));
    }
    return all;
}

static bool share_kernel(const AstSchedule *a, const AstSchedule *b)
{
    for (int i = 0; i < a->n_kernels; i++)
        for (int k = 0; k < b->n_kernels; k++)
            if (a->kernels[i].text == b->kernels[k].text)
                return true;
    return false;
}

static bool clash(const Item *a, const Item *b)
{
    return a->name.text == b->name.text && a->kind == b->kind &&
           (!a->schedule || share_kernel(a->schedule, b->schedule));
}

bool check_unique_names(Context *c, const AstFile *file)
{
    ItemList all = items_of(c, file);
    bool unique = true;
    for (int i = 0; i < all.n; i++) {
        int first = 0;
        while (first < i && !clash(&all.items[first], &all.items[i]))
            first++;
        if (first == i)
            continue;
        unique = false;
        diag_error(c, E0202, all.items[i].name.span,
                   "'%.60s' is already the name of a %s in this file; choose another name",
                   all.items[i].name.text, all.items[i].kind);
        diag_note(c, all.items[first].name.span, "it is declared here");
    }
    return unique;
}
