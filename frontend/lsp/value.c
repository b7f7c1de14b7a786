/* value.c - Builds and reads JSON values. */
#include "value.h"

#include <stdarg.h>

GVariant *lsp_object(const char *name, ...)
{
    GVariantBuilder builder;
    va_list args;
    g_variant_builder_init(&builder, G_VARIANT_TYPE_VARDICT);
    va_start(args, name);
    for (; name; name = va_arg(args, const char *)) {
        GVariant *value = va_arg(args, GVariant *);
        if (value)
            g_variant_builder_add(&builder, "{sv}", name, value);
    }
    va_end(args);
    return g_variant_builder_end(&builder);
}

GVariant *lsp_array(GPtrArray *items)
{
    GVariantBuilder builder;
    g_variant_builder_init(&builder, G_VARIANT_TYPE("av"));
    for (guint i = 0; i < items->len; i++)
        g_variant_builder_add(&builder, "v", g_ptr_array_index(items, i));
    g_ptr_array_free(items, TRUE);
    return g_variant_builder_end(&builder);
}

GVariant *lsp_string(const char *text)
{
    return g_variant_new_take_string(g_utf8_make_valid(text, -1));
}

GVariant *lsp_int(gint64 value)
{
    return g_variant_new_int64(value);
}

GVariant *lsp_bool(gboolean value)
{
    return g_variant_new_boolean(value);
}

GVariant *lsp_null(void)
{
    return g_variant_new_maybe(G_VARIANT_TYPE_VARIANT, NULL);
}

GVariant *lsp_member(GVariant *object, const char *name)
{
    if (!object || !g_variant_is_of_type(object, G_VARIANT_TYPE_VARDICT))
        return NULL;
    return g_variant_lookup_value(object, name, NULL);
}

GVariant *lsp_item(GVariant *array, gsize i)
{
    if (!array || !g_variant_is_of_type(array, G_VARIANT_TYPE("av")) ||
        i >= g_variant_n_children(array))
        return NULL;
    GVariant *box = g_variant_get_child_value(array, i);
    GVariant *item = g_variant_get_variant(box);
    g_variant_unref(box);
    return item;
}

char *lsp_text(GVariant *object, const char *name)
{
    g_autoptr(GVariant) member = lsp_member(object, name);
    if (!member || !g_variant_is_of_type(member, G_VARIANT_TYPE_STRING))
        return NULL;
    return g_variant_dup_string(member, NULL);
}

gint64 lsp_number(GVariant *object, const char *name, gint64 otherwise)
{
    g_autoptr(GVariant) member = lsp_member(object, name);
    if (member && g_variant_is_of_type(member, G_VARIANT_TYPE_INT64))
        return g_variant_get_int64(member);
    if (member && g_variant_is_of_type(member, G_VARIANT_TYPE_DOUBLE))
        return (gint64)CLAMP(g_variant_get_double(member), -1e9, 1e9);
    return otherwise;
}
