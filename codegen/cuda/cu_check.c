/* cu_check.c - Emits the references of a complete program, and the comparison of its outputs with
 * them.
 *
 * A reference is a function of its own, and has arrays of its own:
 *
 *     std::vector<double> want_y(n), want_y_err(n);
 *     expected::compute(x_host.data(), want_y.data(), want_y_err.data());
 *     for (size_t i = 0; i < y_host.size(); i++) {
 *         double bound = want_y_err[i];
 *         compare(&check, "y", i, y_host[i], want_y[i], bound);
 *     } */
#include "codegen/cuda/cu.h"

#include <math.h>
#include <string.h>

/* ---- names ----------------------------------------------------------------------------------- */

bool cu_is_narrow(DType type)
{
    return type_is_float(type) && type_info(type)->bits < 32;
}

const char *cu_host_name(CudaWriter *w, const Buffer *b)
{
    return cuda_names_made(w->names, "host",
                           arena_printf(w->c->arena, "%s_host", cuda_buffer_name(w, b)));
}

/* The array of a buffer of a reference. */
static const char *want_name(CudaWriter *w, const Buffer *b)
{
    return cuda_names_made(w->names, "want",
                           arena_printf(w->c->arena, "want_%s", cuda_buffer_name(w, b)));
}

const char *cu_made_name(CudaWriter *w, const char *base)
{
    return cuda_names_made(w->names, "text", base);
}

void cu_elements(CudaWriter *w, const Buffer *b)
{
    bool outer = w->host;
    w->host = true;
    if (b->rank == 0)
        strbuf_add(w->out, "1");
    for (int i = 0; i < b->rank; i++) {
        strbuf_add(w->out, i ? " * (size_t)" : "(size_t)");
        cuda_expr(w, b->shape[i], 13);
    }
    w->host = outer;
}

/* ---- the reference --------------------------------------------------------------------------- */

static void reference_parameters(CudaWriter *w, const Kernel *reference)
{
    bool first = true;
    for (int i = 0; i < reference->n_params; i++) {
        const Param *p = &reference->params[i];
        strbuf_add(w->out, first ? "" : ", ");
        first = false;
        if (p->buffer)
            strbuf_addf(w->out, "%s%s *%s", p->buffer->role == ROLE_IN ? "const " : "",
                        cuda_storage_type(p->buffer->type), cuda_buffer_name(w, p->buffer));
        else
            strbuf_addf(w->out, "%s %s", cuda_storage_type(p->scalar->type),
                        cuda_name(w, p->scalar->name));
    }
    for (int i = 0; i < reference->n_sizes; i++)
        if (reference->sizes[i].symbolic) {
            strbuf_addf(w->out, "%slong long %s", first ? "" : ", ",
                        cuda_name(w, reference->sizes[i].name));
            first = false;
        }
}

void cu_reference(CudaWriter *w, const CuReference *r)
{
    strbuf_addf(w->out, "static void %s(", r->function);
    reference_parameters(w, r->kernel);
    strbuf_add(w->out, ")\n{\n");
    cuda_note_reads(w, r->kernel->body);
    w->host = true;
    w->indent = 1;
    cuda_statement(w, r->kernel->body);
    w->indent = 0;
    w->host = false;
    strbuf_add(w->out, "}\n");
}

/* ---- the check ------------------------------------------------------------------------------- */

static const Buffer *find_param(const Kernel *kernel, const char *name)
{
    for (int i = 0; i < kernel->n_params; i++)
        if (kernel->params[i].buffer && !strcmp(kernel->params[i].buffer->name, name))
            return kernel->params[i].buffer;
    return NULL;
}

/* The part of the reference for an output of the program, and for one of its axes if the part has
 * one; NULL: none. */
static const Buffer *part_of(const Kernel *reference, const Buffer *b, BufferPart part, int axis)
{
    for (int i = 0; i < reference->n_params; i++) {
        const Buffer *other = reference->params[i].buffer;
        if (other && other->part == part && other->part_axis == axis &&
            !strcmp(other->part_of->name, b->name))
            return other;
    }
    return NULL;
}

/* The program's buffer whose elements a buffer of the reference has, or NULL. */
static const Buffer *value_of(const Kernel *lowered, const Buffer *b)
{
    return b->part == PART_VALUE ? find_param(lowered, b->part_of->name) : NULL;
}

/* An output that is read, too, begins with what the program gets. */
static void start_value(CudaWriter *w, const Buffer *b, const Buffer *same)
{
    const char *want = want_name(w, b), *host = cu_host_name(w, same);
    if (b->type == same->type)
        cuda_line(w, "%s = %s;", want, host);
    else if (cu_is_narrow(same->type))
        cuda_line(w, "for (size_t i = 0; i < %s.size(); i++) %s[i] = expected::%s_to_f32(%s[i]);",
                  want, want, type_info(same->type)->name, host);
    else
        cuda_line(w, "for (size_t i = 0; i < %s.size(); i++) %s[i] = %s[i];", want, want, host);
}

/* The type of an element in a std::vector: one of bool has no array. */
static const char *vector_element(DType type)
{
    return type == DT_BOOL ? "unsigned char" : cuda_storage_type(type);
}

/* The reference's own arrays: inputs are the host's, outputs and what accompanies them are new. */
static void reference_arrays(CudaWriter *w, const Kernel *lowered, const Kernel *reference)
{
    for (int i = 0; i < reference->n_params; i++) {
        const Buffer *b = reference->params[i].buffer;
        if (!b)
            continue;
        const char *want = want_name(w, b);
        const Buffer *same = value_of(lowered, b);
        if (b->role == ROLE_IN && same)
            continue;
        cuda_indent(w);
        strbuf_addf(w->out, "std::vector<%s> %s(", vector_element(b->type), want);
        cu_elements(w, b);
        strbuf_add(w->out, ");\n");
        if (same && same->role == ROLE_OUT) /* what the program does not write is compared, too */
            cuda_line(w, "memset(%s.data(), 0xff, %s.size() * sizeof(%s));", want, want,
                      vector_element(b->type));
        if (b->part == PART_NEED)
            cuda_line(w, "choose(%s);", want);
        if (same && same->role == ROLE_INOUT)
            start_value(w, b, same);
    }
}

static void reference_call(CudaWriter *w, const Kernel *lowered, const CuReference *r)
{
    const Kernel *reference = r->kernel;
    bool first = true;
    cuda_indent(w);
    strbuf_addf(w->out, "expected::%s(", r->function);
    for (int i = 0; i < reference->n_params; i++) {
        const Param *p = &reference->params[i];
        strbuf_add(w->out, first ? "" : ", ");
        first = false;
        const Buffer *input =
            p->buffer && p->buffer->role == ROLE_IN ? value_of(lowered, p->buffer) : NULL;
        if (!p->buffer)
            strbuf_add(w->out, cuda_name(w, p->scalar->name));
        else if (input)
            strbuf_addf(w->out, "%s%s.data()", p->buffer->type == DT_BOOL ? "(const bool *)" : "",
                        cu_host_name(w, input));
        else
            strbuf_addf(w->out, "%s%s.data()", p->buffer->type == DT_BOOL ? "(bool *)" : "",
                        want_name(w, p->buffer));
    }
    for (int i = 0; i < reference->n_sizes; i++)
        if (reference->sizes[i].symbolic) {
            strbuf_addf(w->out, "%s%s", first ? "" : ", ", cuda_name(w, reference->sizes[i].name));
            first = false;
        }
    strbuf_add(w->out, ");\n");
}

/* The bound of a sum: of what rounding does, or of a reference that asks for exactness, which
 * knows the bits of the terms. */
static void sum_bound_text(CudaWriter *w, const Kernel *reference, const Buffer *b,
                           const Buffer *sum)
{
    const Buffer *bits = part_of(reference, b, PART_BITS, 0);
    int digits = type_info(b->type)->digits;
    if (bits)
        cuda_line(w, "bound += exact_sum(%s[i], %s[i], %d, %.17g);", want_name(w, sum),
                  want_name(w, bits), digits, type_largest(b->type));
    else
        cuda_line(w, "bound += %s[i] * (0x1p-%d + 0x1p-53) * %s[i];",
                  want_name(w, part_of(reference, b, PART_TERMS, 0)), digits, want_name(w, sum));
}

/* The bound of element i, as docs/verification.md has it. */
static void bound_text(CudaWriter *w, const Kernel *reference, const Buffer *b)
{
    const Buffer *err = part_of(reference, b, PART_ERROR, 0),
                 *sum = part_of(reference, b, PART_MAGNITUDE, 0),
                 *unsure = part_of(reference, b, PART_UNSURE, 0);
    if (err)
        cuda_line(w, "double bound = %s[i];", want_name(w, err));
    else
        cuda_line(w, "double bound = 0;");
    if (sum)
        sum_bound_text(w, reference, b, sum);
    if (unsure)
        cuda_line(w, "bound = %s[0] ? INFINITY : bound;", want_name(w, unsure));
}

/* Goes on to the next element where this one is not computed by the reference. */
static void check_need(CudaWriter *w, const Kernel *reference, const Buffer *b)
{
    bool any = false;
    for (int axis = b->rank - 1; axis >= 0; axis--) {
        const Buffer *need = part_of(reference, b, PART_NEED, axis);
        if (!need)
            continue;
        if (!any) {
            cuda_line(w, "size_t rest = i;");
            cuda_line(w, "bool needed = true;");
        }
        any = true;
        const char *wanted = want_name(w, need);
        cuda_line(w, "needed &= %s[rest %% %s.size()] != 0;", wanted, wanted);
        cuda_line(w, "rest /= %s.size();", wanted);
    }
    if (any) {
        cuda_line(w, "if (!needed)");
        cuda_line(w, "    continue;");
    }
}

/* The loops use only host arrays, so their names conflict with no others. */
static void check_output(CudaWriter *w, const Kernel *reference, const Buffer *b)
{
    const char *name = cuda_buffer_name(w, b), *host = cu_host_name(w, b);
    cuda_line(w,
              "CHECK(cudaMemcpy(%s.data(), %s, %s.size() * sizeof(%s), cudaMemcpyDeviceToHost));",
              host, name, host, cuda_storage_type(b->type));
    cuda_line(w, "for (size_t i = 0; i < %s.size(); i++) {", host);
    w->indent++;
    check_need(w, reference, b);
    bound_text(w, reference, b);
    cuda_indent(w);
    strbuf_addf(w->out, "compare(&%s, \"%s\", i, (double)", cu_made_name(w, "check"), b->name);
    if (cu_is_narrow(b->type))
        strbuf_addf(w->out, "expected::%s_to_f32(%s[i])", type_info(b->type)->name, host);
    else
        strbuf_addf(w->out, "%s[i]", host);
    strbuf_addf(w->out, ", (double)%s[i], bound * (1 + 0x1p-20));\n",
                want_name(w, part_of(reference, b, PART_VALUE, 0)));
    w->indent--;
    cuda_line(w, "}");
}

void cu_check(CudaWriter *w, const Kernel *lowered, const CuReference *r)
{
    reference_arrays(w, lowered, r->kernel);
    reference_call(w, lowered, r);
    for (int i = 0; i < lowered->n_params; i++)
        if (lowered->params[i].buffer && lowered->params[i].buffer->role != ROLE_IN)
            check_output(w, r->kernel, lowered->params[i].buffer);
}
