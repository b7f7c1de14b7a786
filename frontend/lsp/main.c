/* main.c - Implements tirc-lsp, a language server: reads requests from standard input and writes
 * answers to standard output. `tirc lsp` starts it. */
#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <jsonrpc-glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "answers.h"
#include "diagnose.h"

typedef struct {
    GMainLoop *loop;
    JsonrpcClient *client;
    Documents *documents;
    GHashTable *diagnoses; /* by URI: Diagnosis */
    GHashTable *pending;   /* by URI: the texts that a thread looks at, or will soon */
    gboolean shut_down;
} Server;

/* ---- diagnosis, on a thread of its own ------------------------------------------------------- */

enum { QUIET_MS = 20 }; /* without a change, before a text is looked at */

typedef struct {
    Server *server;
    char *uri, *path, *text;
    gint64 version;
    GPtrArray *overlays;
} Job;

static void job_free(void *data)
{
    Job *job = data;
    g_ptr_array_free(job->overlays, TRUE);
    g_free(job->uri);
    g_free(job->path);
    g_free(job->text);
    g_free(job);
}

static void run_job(GTask *task, void *source, void *data, GCancellable *cancellable)
{
    Job *job = data;
    (void)source;
    (void)cancellable;
    g_task_return_pointer(task, diagnose(job->uri, job->path, job->text, job->overlays),
                          (GDestroyNotify)diagnosis_free);
}

static void look_at(Server *server, const char *uri);

static void publish(Server *server, const char *uri, gint64 version, GVariant *diagnostics)
{
    GVariant *params = lsp_object("uri", lsp_string(uri), "version", lsp_int(version),
                                  "diagnostics", diagnostics, NULL);
    if (server->client)
        jsonrpc_client_send_notification(server->client, "textDocument/publishDiagnostics", params,
                                         NULL, NULL);
    else
        g_variant_unref(g_variant_ref_sink(params));
}

static void job_done(GObject *source, GAsyncResult *result, void *user)
{
    Server *server = user;
    const Job *job = g_task_get_task_data(G_TASK(result));
    Diagnosis *diagnosis = g_task_propagate_pointer(G_TASK(result), NULL);
    const Document *document = documents_find(server->documents, job->uri);
    (void)source;
    g_hash_table_remove(server->pending, job->uri);
    if (document && document->version == job->version) {
        /* first: a client that sees an error may ask for its remedy while it is being sent */
        g_hash_table_replace(server->diagnoses, g_strdup(job->uri), diagnosis);
        publish(server, job->uri, job->version, diagnosis->diagnostics);
        return;
    }
    diagnosis_free(diagnosis);
    if (document)
        look_at(server, job->uri);
}

static gboolean start_job(void *user)
{
    Job *job = user;
    Document *document = documents_find(job->server->documents, job->uri);
    if (!document) {
        g_hash_table_remove(job->server->pending, job->uri);
        job_free(job);
        return G_SOURCE_REMOVE;
    }
    job->path = g_strdup(document->path);
    job->text = g_strdup(document->text->str);
    job->version = document->version;
    g_ptr_array_free(job->overlays, TRUE);
    job->overlays = documents_overlays(job->server->documents);
    g_autoptr(GTask) task = g_task_new(NULL, NULL, job_done, job->server);
    g_task_set_task_data(task, job, job_free);
    g_task_run_in_thread(task, run_job);
    return G_SOURCE_REMOVE;
}

/* Looks at the document soon; a change before that is seen, and one after it is looked at again. */
static void look_at(Server *server, const char *uri)
{
    if (!g_hash_table_add(server->pending, g_strdup(uri)))
        return;
    Job *job = g_new0(Job, 1);
    job->server = server;
    job->uri = g_strdup(uri);
    job->overlays = g_ptr_array_new();
    g_timeout_add(QUIET_MS, start_job, job);
}

/* A change of one document may matter to all. */
static void look_at_all(Server *server)
{
    GHashTableIter iter;
    void *uri;
    g_hash_table_iter_init(&iter, server->documents->by_uri);
    while (g_hash_table_iter_next(&iter, &uri, NULL))
        look_at(server, uri);
}

/* ---- notifications --------------------------------------------------------------------------- */

static void did_open(Server *server, GVariant *params)
{
    g_autoptr(GVariant) item = lsp_member(params, "textDocument");
    g_autofree char *uri = lsp_text(item, "uri"), *text = lsp_text(item, "text");
    if (uri && text)
        documents_open(server->documents, uri, text, lsp_number(item, "version", 0));
    look_at_all(server);
}

static void did_change(Server *server, GVariant *params)
{
    Document *document = documents_of(server->documents, params);
    g_autoptr(GVariant) item = lsp_member(params, "textDocument");
    g_autoptr(GVariant) changes = lsp_member(params, "contentChanges");
    if (document)
        document_change(document, changes, lsp_number(item, "version", document->version + 1));
    look_at_all(server);
}

static void did_close(Server *server, GVariant *params)
{
    const Document *document = documents_of(server->documents, params);
    if (!document)
        return;
    g_autofree char *uri = g_strdup(document->uri);
    publish(server, uri, document->version, lsp_array(g_ptr_array_new()));
    g_hash_table_remove(server->diagnoses, uri);
    documents_close(server->documents, uri);
}

static void on_notification(JsonrpcServer *rpc, JsonrpcClient *client, const char *method,
                            GVariant *params, Server *server)
{
    (void)rpc;
    (void)client;
    if (!strcmp(method, "exit"))
        g_main_loop_quit(server->loop);
    else if (!strcmp(method, "textDocument/didOpen"))
        did_open(server, params);
    else if (!strcmp(method, "textDocument/didChange"))
        did_change(server, params);
    else if (!strcmp(method, "textDocument/didClose"))
        did_close(server, params);
}

/* ---- requests -------------------------------------------------------------------------------- */

static GVariant *strings(const char *first, ...)
{
    GPtrArray *items = g_ptr_array_new();
    va_list args;
    va_start(args, first);
    for (const char *text = first; text; text = va_arg(args, const char *))
        g_ptr_array_add(items, lsp_string(text));
    va_end(args);
    return lsp_array(items);
}

static GVariant *capabilities(void)
{
    GVariant *legend =
        lsp_object("tokenTypes", outline_token_types(), "tokenModifiers", strings(NULL), NULL);
    GVariant *sync = lsp_object("openClose", lsp_bool(TRUE), "change", lsp_int(2), NULL);
    return lsp_object(
        "textDocumentSync", sync, "hoverProvider", lsp_bool(TRUE), "definitionProvider",
        lsp_bool(TRUE), "referencesProvider", lsp_bool(TRUE), "documentHighlightProvider",
        lsp_bool(TRUE), "documentSymbolProvider", lsp_bool(TRUE), "documentFormattingProvider",
        lsp_bool(TRUE), "codeActionProvider",
        lsp_object("codeActionKinds", strings("quickfix", NULL), NULL), "renameProvider",
        lsp_object("prepareProvider", lsp_bool(TRUE), NULL), "completionProvider",
        lsp_object("triggerCharacters", strings(".", NULL), NULL), "semanticTokensProvider",
        lsp_object("legend", legend, "full", lsp_bool(TRUE), NULL), NULL);
}

static GVariant *initialize(void)
{
    GVariant *info =
        lsp_object("name", lsp_string("tirc"), "version", lsp_string(tirc_version()), NULL);
    return lsp_object("capabilities", capabilities(), "serverInfo", info, NULL);
}

static gint64 line_of(GVariant *range, const char *end)
{
    g_autoptr(GVariant) position = lsp_member(range, end);
    return lsp_number(position, "line", 0);
}

/* The actions whose diagnostics lie in the lines of the range. */
static GVariant *code_actions(Server *server, GVariant *params)
{
    const Document *document = documents_of(server->documents, params);
    const Diagnosis *diagnosis =
        document ? g_hash_table_lookup(server->diagnoses, document->uri) : NULL;
    g_autoptr(GVariant) range = lsp_member(params, "range");
    GPtrArray *items = g_ptr_array_new_with_free_func((GDestroyNotify)g_variant_unref);
    GVariant *action;
    for (gsize i = 0; diagnosis && (action = lsp_item(diagnosis->actions, i)) != NULL; i++) {
        g_autoptr(GVariant) about = lsp_member(action, "diagnostics");
        g_autoptr(GVariant) first = lsp_item(about, 0);
        g_autoptr(GVariant) place = lsp_member(first, "range");
        if (line_of(place, "start") <= line_of(range, "end") &&
            line_of(place, "end") >= line_of(range, "start"))
            g_ptr_array_add(items, g_variant_ref(action));
        g_variant_unref(action);
    }
    return lsp_array(items);
}

static const struct {
    const char *method;
    Answer *answer;
} answers[] = {
    {"textDocument/hover", answer_hover},
    {"textDocument/definition", answer_definition},
    {"textDocument/references", answer_references},
    {"textDocument/documentHighlight", answer_highlights},
    {"textDocument/prepareRename", answer_prepare_rename},
    {"textDocument/rename", answer_rename},
    {"textDocument/completion", answer_completion},
    {"textDocument/documentSymbol", answer_symbols},
    {"textDocument/semanticTokens/full", answer_tokens},
    {"textDocument/formatting", answer_formatting},
    {"tirc/programAfter", answer_program_after},
};

static gboolean answer(Server *server, const char *method, GVariant *params, GVariant **result)
{
    *result = NULL;
    if (!strcmp(method, "initialize")) {
        *result = initialize();
        return TRUE;
    }
    if (!strcmp(method, "shutdown")) {
        server->shut_down = TRUE;
        return TRUE;
    }
    if (!strcmp(method, "textDocument/codeAction")) {
        *result = code_actions(server, params);
        return TRUE;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(answers); i++)
        if (!strcmp(method, answers[i].method)) {
            *result = answers[i].answer(server->documents, params);
            return TRUE;
        }
    return FALSE;
}

static gboolean on_call(JsonrpcServer *rpc, JsonrpcClient *client, const char *method, GVariant *id,
                        GVariant *params)
{
    GVariant *result;
    if (!answer(g_object_get_data(G_OBJECT(rpc), "server"), method, params, &result))
        return FALSE;
    jsonrpc_client_reply(client, id, result ? result : lsp_null(), NULL, NULL);
    return TRUE;
}

/* ---- the program ----------------------------------------------------------------------------- */

static void on_accepted(JsonrpcServer *rpc, JsonrpcClient *client, Server *server)
{
    (void)rpc;
    server->client = client;
}

static void on_closed(JsonrpcServer *rpc, JsonrpcClient *client, Server *server)
{
    (void)rpc;
    (void)client;
    server->client = NULL;
    g_main_loop_quit(server->loop);
}

static void serve(Server *server)
{
    g_autoptr(JsonrpcServer) rpc = jsonrpc_server_new();
    g_autoptr(GInputStream) input = g_unix_input_stream_new(STDIN_FILENO, FALSE);
    g_autoptr(GOutputStream) output = g_unix_output_stream_new(STDOUT_FILENO, FALSE);
    g_autoptr(GIOStream) stream = g_simple_io_stream_new(input, output);
    g_object_set_data(G_OBJECT(rpc), "server", server);
    g_signal_connect(rpc, "handle-call", G_CALLBACK(on_call), NULL);
    g_signal_connect(rpc, "notification", G_CALLBACK(on_notification), server);
    g_signal_connect(rpc, "client-accepted", G_CALLBACK(on_accepted), server);
    g_signal_connect(rpc, "client-closed", G_CALLBACK(on_closed), server);
    jsonrpc_server_accept_io_stream(rpc, stream);
    g_main_loop_run(server->loop);
}

int main(int argc, char **argv)
{
    Server server = {.loop = g_main_loop_new(NULL, FALSE),
                     .documents = documents_new(),
                     .diagnoses = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                                        (GDestroyNotify)diagnosis_free),
                     .pending = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};
    if (argc > 1) {
        fprintf(stderr,
                "tirc-lsp: no argument is expected, found '%s'; an editor starts this "
                "language server and speaks to its standard input and output\n",
                argv[1]);
        return TIRC_USAGE;
    }
    serve(&server);
    _exit(server.shut_down ? 0 : 1); /* a thread may still be at work */
}
