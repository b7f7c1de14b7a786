/* value.h - Builds and reads JSON values, which jsonrpc-glib has as GVariants. */
#ifndef TIRC_LSP_VALUE_H
#define TIRC_LSP_VALUE_H

#include <gio/gio.h>

/* An object of names and values, ended by NULL; a value that is NULL is left out. */
GVariant *lsp_object(const char *name, ...) G_GNUC_NULL_TERMINATED;
/* An array of the GVariants in `items`, which is freed. */
GVariant *lsp_array(GPtrArray *items);
GVariant *lsp_string(const char *text); /* what is not UTF-8 is replaced */
GVariant *lsp_int(gint64 value);
GVariant *lsp_bool(gboolean value);
/* A value that prints as null. */
GVariant *lsp_null(void);

/* The member of an object, to be released; NULL: there is none, or `object` is none. */
GVariant *lsp_member(GVariant *object, const char *name);
/* The item of an array, to be released; NULL: there is none. */
GVariant *lsp_item(GVariant *array, gsize i);
/* The text or number of a member; NULL and `otherwise` if it has another type. */
char *lsp_text(GVariant *object, const char *name);
gint64 lsp_number(GVariant *object, const char *name, gint64 otherwise);

#endif
