/* copies.c - Finds loads that only move a value to other memory, directly or through a selection:
 * `s[i] = in ? x[i] : 0.0` moves the element in the lanes whose condition holds, and only these
 * lanes load.
 *
 * Copying an undefined element is not a fault by itself: a copy of a whole buffer includes elements
 * that nothing uses. So the mark "undefined" propagates with the value, as in valgrind's memcheck,
 * and a later use of the copy is the fault. Registers are reused, but no other definition of a
 * register lies between a value's definition and its uses, so a use always refers to the latest
 * definition. */
#include "runtime/sim/shadow.h"

#include <stdlib.h>
#include <string.h>

/* Which of d a b c an operation has: the others are 0, which is a register as well. */
static const char *const operands[] = {
#define OP(e, operands, meaning) operands,
#include "runtime/vm.def"
#undef OP
};

typedef struct {
    const VmFunction *f;
    /* [registers] the number of the instruction that made the value, counted from 1 (0: none, it
     * was there before the first), and which straight-line code that is in */
    int *made, *line;
    int *uses; /* [1 + instructions] of the values that it makes */
    /* [1 + instructions] of a selection: the number of the load whose value it passes on, as of
     * `made` */
    int *passes;
    int now;
    int opened; /* the IF that straight-line code has followed since; -1: none */
    /* the END of that IF, which straight-line code has followed since; -1: it has not come */
    int closed;
} Flow;

/* The load of a value, and the register that it left it in. */
typedef struct {
    const VmInst *load; /* NULL: something else made the value */
    int reg;
} Moved;

static void read_register(Flow *w, int reg)
{
    w->uses[w->made[reg]]++;
}

static void make_register(Flow *w, int reg, int inst)
{
    w->made[reg] = inst + 1;
    w->line[reg] = w->now;
}

static int part(const VmFunction *f, int operand, int width, int k)
{
    return width > 1 ? f->lists[operand + k] : operand;
}

static bool has(VmOp op, char operand)
{
    return strchr(operands[op], operand) != NULL;
}

static bool ends_line(VmOp op)
{
    return op == VM_FOR || op == VM_NEXT || op == VM_IF || op == VM_ELSE || op == VM_END ||
           op == VM_BREAK || op == VM_BARRIER || op == VM_ROLES || op == VM_ACQUIRE ||
           op == VM_RECEIVE || op == VM_STOP;
}

static void note_branch(Flow *w, int i)
{
    VmOp op = (VmOp)w->f->code[i].op;
    if (!ends_line(op))
        return;
    bool closes = op == VM_END && w->opened >= 0 && w->closed < 0;
    w->closed = closes ? i : -1;
    w->opened = closes ? w->opened : op == VM_IF ? i : -1;
}

/* The number of the load whose value a selection has where its condition holds: in the IF of that
 * condition, right before. */
static int passed_on(const Flow *w, const VmInst *select)
{
    int load = w->made[select->b] - 1;
    bool behind =
        w->closed >= 0 && load > w->opened && load < w->closed && w->f->code[load].op == VM_LOAD;
    return behind && w->f->code[w->opened].a == select->a && w->made[select->a] - 1 < w->opened
               ? load + 1
               : 0;
}

static void follow(Flow *w, int i)
{
    const VmInst *inst = &w->f->code[i];
    VmOp op = (VmOp)inst->op;
    int width = inst->width > 1 ? inst->width : 1;
    if (op == VM_LAUNCH)
        return;
    note_branch(w, i);
    if (op == VM_SELECT)
        w->passes[i + 1] = passed_on(w, inst);
    if (has(op, 'a'))
        read_register(w, inst->a);
    for (int k = 0; has(op, 'b') && k < (op == VM_STORE ? width : 1); k++)
        read_register(w, op == VM_STORE ? part(w->f, inst->b, width, k) : inst->b);
    if (has(op, 'c'))
        read_register(w, inst->c);
    w->now += ends_line(op);
    for (int k = 0; has(op, 'd') && k < (op == VM_LOAD ? width : 1); k++)
        make_register(w, op == VM_LOAD ? part(w->f, inst->d, width, k) : inst->d, i);
}

/* Whether the value of a register is that of a load, and of which. */
static Moved moved(const Flow *w, int reg)
{
    int inst = w->line[reg] == w->now ? w->made[reg] : 0;
    if (inst && w->passes[inst]) {
        reg = w->f->code[inst - 1].b;
        inst = w->passes[inst];
    }
    bool loads = inst && w->f->code[inst - 1].op == VM_LOAD;
    return (Moved){loads ? &w->f->code[inst - 1] : NULL, reg};
}

/* The number of the shuffle that made the value of a register, of that of a load; 0: there is
 * none. */
static int shuffled(const Flow *w, int reg)
{
    int inst = w->line[reg] == w->now ? w->made[reg] : 0;
    const VmInst *made = inst ? &w->f->code[inst - 1] : NULL;
    bool shuffles = made && (made->op == VM_SHUFFLE || made->op == VM_SHUFFLE_LANE);
    return shuffles && moved(w, made->a).load ? inst : 0;
}

/* The loads of the values that a store takes: one of all, in their order, or one for each. */
static void link_store(const Flow *w, VmStep *steps, int store)
{
    const VmInst *s = &w->f->code[store];
    const VmInst *first = moved(w, part(w->f, s->b, s->width, 0)).load;
    int width = s->width > 1 ? s->width : 1;
    bool together = first && first->width > 1 && first->width == width;
    for (int k = 0; k < width && together; k++)
        together = moved(w, part(w->f, s->b, width, k)).reg == part(w->f, first->d, width, k);
    if (together)
        steps[first - w->f->code].into = &steps[store];
    for (int k = 0; k < width && !together; k++) {
        int reg = part(w->f, s->b, width, k), shuffle = shuffled(w, reg);
        VmStep *into = &steps[store];
        if (shuffle) { /* in between: a step that changes which lane has the value */
            steps[shuffle - 1].into = into;
            steps[shuffle - 1].part = k;
            into = &steps[shuffle - 1];
            reg = w->f->code[shuffle - 1].a;
        }
        const VmInst *load = moved(w, reg).load;
        if (!load || load->width > 1)
            continue;
        steps[load - w->f->code].into = into;
        steps[load - w->f->code].part = shuffle ? 0 : k;
    }
}

static void link_copies(Flow *w, VmStep *steps)
{
    const VmFunction *f = w->f;
    for (int i = 0; i < f->n_code; i++) {
        if (f->code[i].op == VM_STORE)
            link_store(w, steps, i);
        follow(w, i);
    }
    for (int i = 0; i < f->n_code; i++) {
        const VmInst *l = &f->code[i];
        int width = l->width > 1 ? l->width : 1;
        const VmStep *into = steps[i].into;
        bool kept = !into || into->inst->op == VM_STORE || w->uses[into - steps + 1] == 1;
        if (w->uses[i + 1] != width || !kept)
            steps[i].into = NULL;
        if (w->passes[i + 1] && w->uses[i + 1] != 1)
            steps[w->passes[i + 1] - 1].into = NULL;
    }
}

bool vm_find_copies(VmState *st)
{
    const VmFunction *f = st->f;
    size_t n = (size_t)f->n_registers + 1;
    size_t n_values = (size_t)f->n_code + 1;
    Flow w = {f,
              calloc(n, sizeof(int)),
              calloc(n, sizeof(int)),
              calloc(n_values, sizeof(int)),
              calloc(n_values, sizeof(int)),
              1,
              -1,
              -1};
    bool ok = w.made && w.line && w.uses && w.passes;
    if (ok)
        link_copies(&w, st->steps);
    free(w.made);
    free(w.line);
    free(w.uses);
    free(w.passes);
    return ok;
}
