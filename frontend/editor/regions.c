/* regions.c - Computes the boxes of a buffer that a kernel reads and writes, as text. */
#include "frontend/editor/regions.h"

#include <string.h>

#include "passes/analysis/regions/region.h"

static const Buffer *find_buffer(Context *c, const Kernel *kernel, const char *name)
{
    AccessList all = access_list(c, kernel->body, NULL, ACCESS_ANY);
    for (int i = 0; i < all.n; i++)
        if (!strcmp(all.items[i].buffer->name, name))
            return all.items[i].buffer;
    return NULL;
}

static void add_box(Facts *f, Context *c, const Buffer *buffer, const Interval *box, StrBuf *out)
{
    for (int axis = 0; axis < buffer->rank; axis++) {
        Interval part = interval_clip(f, box[axis], buffer->shape[axis]);
        Expr *end = expr_binary(c, EX_ADD, part.min, part.extent, span_none());
        strbuf_add(out, axis ? ", " : "");
        print_expr(simplify(f, part.min), out);
        strbuf_add(out, "..");
        print_expr(simplify(f, end), out);
    }
}

static void add_mode(Context *c, const Kernel *kernel, const Buffer *buffer, AccessMode mode,
                     StrBuf *out)
{
    Interval *box = ARENA_ARRAY(c->arena, Interval, buffer->rank + 1);
    Facts *f = facts_of_kernel(c, kernel);
    if (!region_touched(f, kernel->body, buffer, mode, box))
        return;
    strbuf_addf(out, "%s%s", out->length ? "; " : "", mode == ACCESS_READ ? "read" : "written");
    if (buffer->rank == 0)
        return;
    strbuf_add(out, " at [");
    add_box(f, c, buffer, box, out);
    strbuf_addc(out, ']');
}

void regions_describe(Context *c, const Kernel *kernel, const char *name, StrBuf *out)
{
    const Buffer *buffer = find_buffer(c, kernel, name);
    if (!buffer)
        return;
    add_mode(c, kernel, buffer, ACCESS_READ, out);
    add_mode(c, kernel, buffer, ACCESS_WRITE, out);
}
