/* helpers.c - Defines the helper functions of emitted text: names, texts, and which are used. */
#include "codegen/cuda/text.h"
#include "codegen/fold.h"

#include <string.h>

static const struct {
    const char *name, *text;
    Helper needs;
} helpers[] = {
#define HELPER(e, name, needs, text) {name, text, HELPER_##needs},
#include "codegen/cuda/cuda_helper.def"
#undef HELPER
};

const char *cuda_helper_name(Helper helper)
{
    return helpers[helper].name;
}

const char *cuda_helper(CudaWriter *w, Helper helper)
{
    w->helper_used[helper] = true;
    w->helper_used[helpers[helper].needs] = true;
    return helpers[helper].name;
}

static const struct {
    const char *name, *text;
} host_helpers[] = {
#define HOST_HELPER(e, name, text) {name, text},
#include "codegen/cuda/host_helper.def"
#undef HOST_HELPER
};

const char *cuda_host_helper_name(HostHelper helper)
{
    return host_helpers[helper].name;
}

const char *cuda_host_helper(CudaWriter *w, HostHelper helper)
{
    w->host_helper_used[helper] = true;
    return cuda_host_helper_name(helper);
}

void cuda_host_helpers(const CudaWriter *w, StrBuf *out)
{
    for (int i = 0; i < HOST_HELPER_COUNT; i++)
        if (w->host_helper_used[i])
            strbuf_addf(out, "%s\n", host_helpers[i].text);
}

/* Adds the text of a helper, and an empty line. */
static void add_folded(StrBuf *out, const char *text)
{
    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        fold_line(out, text, end);
        strbuf_addc(out, '\n');
    }
    strbuf_addc(out, '\n');
}

void cuda_helpers(const CudaWriter *w, StrBuf *out)
{
    for (int i = 0; i < HELPER_COUNT; i++)
        if (w->helper_used[i])
            add_folded(out, helpers[i].text);
}
