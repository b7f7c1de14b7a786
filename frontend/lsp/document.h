/* document.h - Keeps the open documents and what libtirc knows of their texts. */
#ifndef TIRC_LSP_DOCUMENT_H
#define TIRC_LSP_DOCUMENT_H

#include "lines.h"

/* What libtirc knows of one version of a text. */
typedef struct {
    tirc *t;
    tirc_file *file;    /* NULL: libtirc gave up */
    tirc_file *program; /* the file with the kernels of its schedules; NULL: itself, or none */
    tirc_names *names;
    char *text;
    Lines *lines;
    gboolean parsed;     /* all of the text */
    GHashTable *kernels; /* by name: tirc_kernel with symbolic sizes where it can be, or NULL */
    GPtrArray *foreign;  /* of Foreign: texts that places refer to */
} Analysis;

typedef struct {
    char *uri, *path;
    GString *text;
    gint64 version;
    Analysis *now;  /* of `text`; NULL: not yet */
    Analysis *good; /* of the last version that had names, for completion in broken text; or NULL */
} Document;

/* The open documents, by URI. */
typedef struct {
    GHashTable *by_uri;
} Documents;

/* The path and text of an open document, for work on another thread. */
typedef struct {
    char *path, *text;
} Overlay;
/* Copies of all open documents. */
GPtrArray *documents_overlays(const Documents *documents);

Documents *documents_new(void);
void documents_free(Documents *documents);
void documents_open(Documents *documents, const char *uri, const char *text, gint64 version);
void documents_close(Documents *documents, const char *uri);
Document *documents_find(const Documents *documents, const char *uri);
/* The one that `textDocument` of the parameters names; NULL: it is not open. */
Document *documents_of(const Documents *documents, GVariant *params);
/* Applies `contentChanges`. */
void document_change(Document *document, GVariant *changes, gint64 version);

/* What libtirc knows of the present text. */
Analysis *document_analysis(const Documents *documents, Document *document);
/* The same, of an earlier text if this one has no names. */
Analysis *document_names(const Documents *documents, Document *document);

/* Parses `text` and finds the programs of its schedules beside `path`, in `overlays` first. Owns
 * neither. */
Analysis *analysis_new(const char *path, const char *text, gsize length, const GPtrArray *overlays);
void analysis_free(Analysis *analysis);
/* A kernel of the text or of its program; NULL: it does not resolve. */
tirc_kernel *analysis_kernel(Analysis *analysis, const char *name);
/* `uri` and `range` of a place; NULL: it has none. */
GVariant *analysis_location(Analysis *analysis, const tirc_place *place);
/* The name at a position; -1: none. */
int analysis_use_at(const Analysis *analysis, GVariant *position);

#endif
