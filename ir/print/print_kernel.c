/* print_kernel.c - Prints whole kernels: the reducers and instructions that they use, a header, the
 * body (print.c). */
#include <inttypes.h>

#include "ir/copies/bulk_copy.h"
#include "ir/print/print_internal.h"

/* ---- reducers -------------------------------------------------------------------------------- */

typedef enum { IDENTITIES, VALUES } TupleSide;

/* (e1, e2), or e where there is one. */
static void add_tuple(const Combiner *combiner, TupleSide side, StrBuf *out)
{
    strbuf_add(out, combiner->n > 1 ? "(" : "");
    for (int k = 0; k < combiner->n; k++) {
        const CombinerPart *part = &combiner->parts[k];
        strbuf_add(out, k ? ", " : "");
        print_value(side == IDENTITIES ? part->identity : part->value, part->type, out);
    }
    strbuf_add(out, combiner->n > 1 ? ")" : "");
}

static void add_combine(const Combiner *combiner, StrBuf *out)
{
    int n_lets = combiner->n_lets - (combiner->choice != NULL);
    strbuf_addf(out, "    combine(%s, %s)%s", combiner->a, combiner->b,
                n_lets ? "\n    {\n" : ": ");
    for (int i = 0; i < n_lets; i++) {
        strbuf_addf(out, "        let %s = ", combiner->lets[i].var->name);
        print_value(combiner->lets[i].value, DT_COUNT, out);
        strbuf_add(out, ";\n");
    }
    strbuf_add(out, n_lets ? "        return " : "");
    if (combiner->choice) {
        print_value(combiner->choice, DT_COUNT, out);
        strbuf_addf(out, " ? %s : %s", combiner->chooses_b ? combiner->b : combiner->a,
                    combiner->chooses_b ? combiner->a : combiner->b);
    } else {
        add_tuple(combiner, VALUES, out);
    }
    strbuf_add(out, n_lets ? ";\n    }\n" : ";\n");
}

static void print_combiner(const Combiner *combiner, StrBuf *out)
{
    strbuf_addf(out, "reducer %s(", combiner->name);
    for (int k = 0; k < combiner->n; k++)
        strbuf_addf(out, "%s%s: %s", k ? ", " : "", combiner->parts[k].name,
                    type_info(combiner->parts[k].type)->name);
    strbuf_add(out, combiner->ordered ? ") ordered" : ")");
    for (int i = 0; i < combiner->n_conditions; i++) {
        strbuf_add(out, i ? ", " : "\n    where ");
        print_value(combiner->conditions[i], DT_COUNT, out);
    }
    strbuf_add(out, "\n{\n    init ");
    add_tuple(combiner, IDENTITIES, out);
    strbuf_add(out, ";\n");
    add_combine(combiner, out);
    strbuf_add(out, "}\n\n");
}

/* The reducers that a kernel's updates name, each once. */
static void print_combiners(Context *c, const Kernel *kernel, StrBuf *out)
{
    VEC(const Combiner *) seen = {0};
    for (Cursor at = cursor_stmts(c, kernel->body); cursor_next(&at);) {
        const Combiner *combiner = at.stmt->kind == ST_SEQ ? at.stmt->u.seq.combiner : NULL;
        for (int i = 0; combiner && i < seen.n; i++)
            if (seen.items[i]->name == combiner->name)
                combiner = NULL;
        if (!combiner)
            continue;
        VEC_PUSH(c->arena, &seen, combiner);
        print_combiner(combiner, out);
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void add_sizes(const Kernel *kernel, StrBuf *out)
{
    for (int i = 0; i < kernel->n_sizes; i++) {
        const Size *size = &kernel->sizes[i];
        strbuf_addf(out, "%s%s", i ? ", " : "<", size->name);
        if (!size->symbolic)
            strbuf_addf(out, " = %" PRId64, size->value);
    }
    strbuf_add(out, kernel->n_sizes ? ">" : "");
}

/* in shared align(16) strides(_, 1) swizzle(1, 0, 8, 8, 1) proxy(async) sum_digits(14) */
static void add_operand_clauses(const Operand *operand, StrBuf *out)
{
    const Buffer *buffer = operand->buffer;
    bool standard = true;
    for (int d = 0; d < buffer->rank; d++)
        standard = standard && operand->strides[d] == (d + 1 < buffer->rank ? STRIDE_ANY : 1);
    if (operand->has_scope)
        strbuf_addf(out, " in %s", scope_name(operand->scope));
    if (operand->align > type_bytes(buffer->type))
        strbuf_addf(out, " align(%" PRId64 ")", operand->align);
    for (int d = 0; !standard && d < buffer->rank; d++) {
        strbuf_add(out, d ? ", " : " strides(");
        if (operand->strides[d] == STRIDE_ANY)
            strbuf_addc(out, '_');
        else
            strbuf_addf(out, "%" PRId64, operand->strides[d]);
    }
    strbuf_add(out, standard ? "" : ")");
    if (operand->in_runs)
        strbuf_add(out, " swizzle(_)");
    if (operand->swizzle.chunk)
        strbuf_addf(out, " swizzle(%d, %d, %" PRId64 ", %" PRId64 ", %" PRId64 ")",
                    operand->swizzled, operand->swizzle.by, operand->swizzle.chunk,
                    operand->swizzle.count, operand->swizzle.every);
    if (operand->proxy == PROXY_ASYNC)
        strbuf_add(out, " proxy(async)");
}

static void add_param(const Param *param, bool first, StrBuf *out)
{
    strbuf_add(out, first ? "" : ", ");
    if (!param->buffer) {
        strbuf_addf(out, "%s: %s", param->scalar->name, type_info(param->scalar->type)->name);
        return;
    }
    strbuf_add(out, param->buffer->role == ROLE_INOUT ? "inout " : "");
    print_type(param->buffer, out);
}

/* `lo <= x < hi`, in the shortest way to write it. */
static void add_values(const Fact *fact, StrBuf *out)
{
    const Param *p = &fact->subject;
    Name name = p->buffer ? p->buffer->name : p->scalar->name;
    DType type = p->buffer ? p->buffer->type : p->scalar->type;
    DType want = type_is_float(type) ? type : DT_INDEX;
    if (fact->lo && fact->hi && expr_equal(fact->lo, fact->hi)) {
        strbuf_addf(out, "%s == ", name);
        print_value(fact->lo, want, out);
    } else if (fact->lo && fact->hi && !fact->excludes_lo && fact->excludes_hi) {
        strbuf_addf(out, "%s in ", name);
        print_value(fact->lo, want, out);
        strbuf_add(out, "..");
        print_value(fact->hi, want, out);
    } else if (fact->lo && fact->hi) {
        print_value(fact->lo, want, out);
        strbuf_addf(out, " %s %s %s ", fact->excludes_lo ? "<" : "<=", name,
                    fact->excludes_hi ? "<" : "<=");
        print_value(fact->hi, want, out);
    } else {
        const char *lower = fact->excludes_lo ? ">" : ">=", *upper = fact->excludes_hi ? "<" : "<=";
        strbuf_addf(out, "%s %s ", name, fact->lo ? lower : upper);
        print_value(fact->lo ? fact->lo : fact->hi, want, out);
    }
}

void print_fact(const Fact *fact, StrBuf *out)
{
    if (fact->kind == FACT_SIZES)
        print_value(fact->cond, DT_COUNT, out);
    else if (fact->kind == FACT_ORDER)
        strbuf_addf(out, "%s is %s", fact->subject.buffer->name, order_name(fact->order));
    else
        add_values(fact, out);
}

/* The `where` clause, on lines of its own. */
static void print_where(Context *c, const Kernel *kernel, StrBuf *out)
{
    StrBuf clause = strbuf_new(c->arena);
    if (kernel->n_facts == 0)
        return;
    for (int i = 0; i < kernel->n_facts; i++) {
        strbuf_add(&clause, i ? ", " : "where ");
        print_fact(&kernel->facts[i], &clause);
    }
    strbuf_addf(out, "\n%*s", PRINT_INDENT, "");
    print_wrapped(clause.text, 0, out);
}

/* Its parameters, with the clauses of an instruction's operands (NULL: none). */
static void add_params(const Kernel *kernel, const Operand *operands, StrBuf *out)
{
    int n_inputs = kernel->n_params - kernel->n_outputs;
    strbuf_addc(out, '(');
    for (int i = 0; i < kernel->n_params; i++) {
        if (i == n_inputs)
            strbuf_add(out, ") -> ");
        add_param(&kernel->params[i], i == 0 || i == n_inputs, out);
        if (operands)
            add_operand_clauses(&operands[i], out);
        if (kernel->params[i].buffer)
            print_digits(kernel->params[i].buffer, out);
    }
    strbuf_add(out, kernel->n_outputs ? "" : ")");
}

/* commit "...", wait "...": how executions of an instruction are waited for. */
static void add_waiting(const char *word, const char *text, StrBuf *out)
{
    if (!text)
        return;
    strbuf_addf(out, "\n%*s%s ", PRINT_INDENT, "", word);
    print_string(text, out);
}

/* ---- instructions ---------------------------------------------------------------------------- */

static void add_tensor(const Instruction *instruction, StrBuf *out)
{
    if (instruction->passes == 0)
        return;
    strbuf_addf(out, " tensor(%s", type_info(instruction->tensor)->name);
    if (instruction->passes > 1)
        strbuf_addf(out, ", %" PRId64, instruction->passes);
    strbuf_add(out, ")");
}

static void print_declaration(Context *c, const Instruction *instruction, StrBuf *out)
{
    StrBuf header = strbuf_new(c->arena);
    strbuf_addf(&header, "instruction %s", instruction->kernel->name);
    add_params(instruction->kernel, instruction->operands, &header);
    if (instruction->lanes > 1)
        strbuf_addf(&header, " lanes %" PRId64, instruction->lanes);
    add_tensor(instruction, &header);
    print_wrapped(header.text, 0, out);
    for (int i = 0; i < instruction->n_lines; i++) {
        strbuf_addf(out, i ? "\n%*s" : "\n%*scuda ", i ? 2 * PRINT_INDENT : PRINT_INDENT, "");
        print_string(instruction->lines[i], out);
    }
    add_waiting("commit", instruction->commit, out);
    add_waiting("wait", instruction->wait, out);
    print_kernel_body(c, instruction->kernel, out);
    strbuf_addc(out, '\n');
}

/* The declared instruction that a statement refers to, or NULL. */
static const Instruction *instruction_of(const Stmt *s)
{
    if (s->kind == ST_BLOCK)
        return s->u.block.instruction;
    const Instruction *of = s->kind == ST_BARRIER       ? s->u.barrier.of
                            : s->kind == ST_INSTRUCTION ? s->u.instruction.of
                                                        : NULL;
    return of && of->bulk ? NULL : of;
}

/* The instructions that a kernel uses, each once. */
static void print_instructions(Context *c, const Kernel *kernel, StrBuf *out)
{
    VEC(const Instruction *) seen = {0};
    for (Cursor at = cursor_stmts(c, kernel->body); cursor_next(&at);) {
        const Instruction *instruction = instruction_of(at.stmt);
        for (int i = 0; instruction && i < seen.n; i++)
            if (seen.items[i]->kernel->name == instruction->kernel->name)
                instruction = NULL;
        if (!instruction)
            continue;
        VEC_PUSH(c->arena, &seen, instruction);
        print_declaration(c, instruction, out);
    }
}

void print_kernel(Context *c, const Kernel *kernel, StrBuf *out)
{
    StrBuf header = strbuf_new(c->arena);
    print_combiners(c, kernel, out);
    print_instructions(c, kernel, out);
    strbuf_addf(&header, "kernel %s", kernel->name);
    add_sizes(kernel, &header);
    add_params(kernel, NULL, &header);
    print_wrapped(header.text, 0, out);
    print_where(c, kernel, out);
    print_kernel_body(c, kernel, out);
}
