/* tunelog.c - see tunelog.h.
 *
 * The journal is SQLite's own (no write-ahead log): it works on network file systems, where the
 * processes of several hosts share a log, and a reader needs no right to write. */
#define _GNU_SOURCE
#include "runtime/measure/tunelog.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cache.h"

enum {
    APPLICATION = 0x74697263, /* "tirc", in the header of the file */
    FORMAT = 1,
    PATIENCE_MS = 10000, /* for a lock */
    STALE_SECONDS = 600, /* for a claim of another host */
    HASH_DIGITS = 33,
};

struct TuneLog {
    Context *ctx;
    sqlite3 *db;
    const char *path;
    char host[64];
};

static const char SCHEMA[] =
    "CREATE TABLE program(hash TEXT PRIMARY KEY, kernel TEXT NOT NULL, text TEXT NOT NULL);"
    "CREATE TABLE figure("
    " program TEXT NOT NULL REFERENCES program(hash), sizes TEXT NOT NULL, device TEXT NOT NULL,"
    " measured INTEGER NOT NULL, code TEXT NOT NULL, schedule TEXT NOT NULL,"
    " settings TEXT NOT NULL, state INTEGER NOT NULL, ms REAL, min_ms REAL, p95_ms REAL,"
    " runs INTEGER, version TEXT, arch TEXT, clock_mhz INTEGER, memory_mhz INTEGER,"
    " host TEXT NOT NULL, pid INTEGER NOT NULL, records INTEGER NOT NULL DEFAULT 0,"
    " written TEXT NOT NULL,"
    " PRIMARY KEY(program, sizes, device, measured, code));"
    "PRAGMA application_id = 1953067619;"
    "PRAGMA user_version = 1;";
_Static_assert(APPLICATION == 1953067619, "the number in SCHEMA");

/* ---- statements ------------------------------------------------------------------------------ */

static bool refuse(TuneLog *log, const char *what)
{
    int code = sqlite3_errcode(log->db);
    const char *why = sqlite3_errmsg(log->db);
    if (code == SQLITE_NOTADB)
        diag_error(log->ctx, E0661, span_none(), "'%s' is not a log of tirc: it is no database",
                   log->path);
    else
        diag_error(log->ctx, E0660, span_none(), "the log of tuned programs '%s' cannot be %s: %s",
                   log->path, what, why);
    return false;
}

static bool execute(TuneLog *log, const char *sql)
{
    return sqlite3_exec(log->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static sqlite3_stmt *prepare(TuneLog *log, const char *sql)
{
    sqlite3_stmt *s = NULL;
    return sqlite3_prepare_v2(log->db, sql, -1, &s, NULL) == SQLITE_OK ? s : NULL;
}

static void bind_text(sqlite3_stmt *s, const char *name, const char *text)
{
    int at = sqlite3_bind_parameter_index(s, name);
    if (at)
        sqlite3_bind_text(s, at, text, -1, SQLITE_TRANSIENT);
}

static void bind_number(sqlite3_stmt *s, const char *name, double value)
{
    int at = sqlite3_bind_parameter_index(s, name);
    if (at)
        sqlite3_bind_double(s, at, value);
}

static void bind_integer(sqlite3_stmt *s, const char *name, int64_t value)
{
    int at = sqlite3_bind_parameter_index(s, name);
    if (at)
        sqlite3_bind_int64(s, at, value);
}

static void hash_of(const char *text, char hash[HASH_DIGITS])
{
    CacheKey key = cache_key(&text, 1);
    snprintf(hash, HASH_DIGITS, "%016llx%016llx", (unsigned long long)key.high,
             (unsigned long long)key.low);
}

/* The parameters of a statement that it has. */
static void bind_task(sqlite3_stmt *s, const TuneTask *task)
{
    char hash[HASH_DIGITS];
    hash_of(task->program, hash);
    bind_text(s, ":program", hash);
    bind_text(s, ":kernel", task->kernel);
    bind_text(s, ":text", task->program);
    bind_text(s, ":sizes", task->sizes);
    bind_text(s, ":device", task->device);
    bind_integer(s, ":measured", task->measured);
}

static void bind_figure(const TuneLog *log, sqlite3_stmt *s, const Figure *f)
{
    bind_text(s, ":code", f->code);
    bind_text(s, ":schedule", f->schedule);
    bind_text(s, ":settings", f->settings);
    bind_integer(s, ":state", f->state);
    bind_number(s, ":ms", f->ms);
    bind_number(s, ":min_ms", f->min_ms);
    bind_number(s, ":p95_ms", f->p95_ms);
    bind_integer(s, ":runs", f->runs);
    bind_text(s, ":version", f->version);
    bind_text(s, ":arch", f->arch);
    bind_integer(s, ":clock_mhz", f->clock_mhz);
    bind_integer(s, ":memory_mhz", f->memory_mhz);
    bind_text(s, ":host", log->host);
    bind_integer(s, ":pid", getpid());
}

/* Runs a statement that has no result. */
static bool perform(TuneLog *log, const char *sql, const TuneTask *task, const Figure *figure)
{
    sqlite3_stmt *s = prepare(log, sql);
    if (!s)
        return false;
    bind_task(s, task);
    bind_figure(log, s, figure);
    bool done = sqlite3_step(s) == SQLITE_DONE;
    return sqlite3_finalize(s) == SQLITE_OK && done;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* A number that a statement gives; -1 if it fails. */
static int64_t number_of(TuneLog *log, const char *sql)
{
    sqlite3_stmt *s = prepare(log, sql);
    int64_t value = s && sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : -1;
    sqlite3_finalize(s);
    return value;
}

/* An empty file becomes a log; any other must be one. */
static bool check_format(TuneLog *log, TuneLogUse use)
{
    int64_t tables = number_of(log, "SELECT count(*) FROM sqlite_master");
    if (tables < 0)
        return refuse(log, "read");
    if (tables == 0 && use == TUNELOG_CREATE)
        return execute(log, SCHEMA) || refuse(log, "written");
    int64_t application = number_of(log, "PRAGMA application_id");
    int64_t format = number_of(log, "PRAGMA user_version");
    if (application == APPLICATION && format == FORMAT)
        return true;
    diag_error(log->ctx, E0661, span_none(),
               application == APPLICATION
                   ? "'%s' is a log of another version of tirc (format %lld)"
                   : "'%s' is not a log of tirc: it is a database of another program",
               log->path, (long long)format);
    return false;
}

/* One process makes the tables, and others wait for it. */
static bool check_alone(TuneLog *log, TuneLogUse use)
{
    if (use == TUNELOG_READ)
        return check_format(log, use);
    if (!execute(log, "BEGIN IMMEDIATE"))
        return refuse(log, "written");
    bool good = check_format(log, use);
    if (!execute(log, good ? "COMMIT" : "ROLLBACK") && good)
        return refuse(log, "written");
    return good;
}

TuneLog *tunelog_open(Context *ctx, const char *path, TuneLogUse use)
{
    if (use == TUNELOG_READ && access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return NULL;
    TuneLog *log = ARENA_NEW(ctx->arena, TuneLog);
    log->ctx = ctx;
    log->path = arena_strdup(ctx->arena, path);
    if (gethostname(log->host, sizeof log->host - 1) != 0)
        log->host[0] = '\0';
    int flags =
        use == TUNELOG_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    bool good = sqlite3_open_v2(path, &log->db, flags, NULL) == SQLITE_OK ||
                refuse(log, use == TUNELOG_READ ? "opened" : "opened for writing");
    sqlite3_busy_timeout(log->db, PATIENCE_MS);
    execute(log, "PRAGMA synchronous = NORMAL");
    if (good && check_alone(log, use))
        return log;
    tunelog_close(log);
    return NULL;
}

void tunelog_close(TuneLog *log)
{
    if (!log)
        return;
    sqlite3_close(log->db);
    log->db = NULL;
}

/* ---- figures --------------------------------------------------------------------------------- */

static const char *text_at(const TuneLog *log, sqlite3_stmt *s, int column)
{
    const unsigned char *text = sqlite3_column_text(s, column);
    return arena_strdup(log->ctx->arena, text ? (const char *)text : "");
}

#define FIGURE_COLUMNS                                                                             \
    "schedule, settings, code, state, ms, min_ms, p95_ms, runs, version, arch, clock_mhz, "        \
    "memory_mhz, device, sizes, written, measured"

/* The row of a statement that selects FIGURE_COLUMNS. */
static Figure figure_at(const TuneLog *log, sqlite3_stmt *s)
{
    return (Figure){
        .schedule = text_at(log, s, 0),
        .settings = text_at(log, s, 1),
        .code = text_at(log, s, 2),
        .state = (FigureState)sqlite3_column_int(s, 3),
        .ms = sqlite3_column_double(s, 4),
        .min_ms = sqlite3_column_double(s, 5),
        .p95_ms = sqlite3_column_double(s, 6),
        .runs = sqlite3_column_int(s, 7),
        .version = text_at(log, s, 8),
        .arch = text_at(log, s, 9),
        .clock_mhz = sqlite3_column_int(s, 10),
        .memory_mhz = sqlite3_column_int(s, 11),
        .device = text_at(log, s, 12),
        .sizes = text_at(log, s, 13),
        .written = text_at(log, s, 14),
        .measured = sqlite3_column_int(s, 15),
    };
}

#define OF_CANDIDATE                                                                               \
    " WHERE program = :program AND sizes = :sizes AND device = :device AND measured = :measured "  \
    "AND code = :code"

/* Does the process of a claim still run, as far as can be known? */
static bool is_alive(const TuneLog *log, const char *host, int64_t pid, int64_t seconds)
{
    if (seconds > STALE_SECONDS)
        return false;
    return strcmp(host, log->host) != 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

/* What the log says about a candidate: CLAIM_OURS if nothing. */
static Claim look_up(TuneLog *log, const TuneTask *task, Figure *figure)
{
    sqlite3_stmt *s = prepare(log, "SELECT " FIGURE_COLUMNS ", host, pid, strftime('%s', "
                                   "'now') - strftime('%s', written) FROM figure" OF_CANDIDATE);
    if (!s)
        return CLAIM_REFUSED;
    bind_task(s, task);
    bind_figure(log, s, figure);
    int status = sqlite3_step(s);
    Claim claim = status == SQLITE_DONE ? CLAIM_OURS : CLAIM_REFUSED;
    if (status == SQLITE_ROW && sqlite3_column_int(s, 3) == FIGURE_CLAIMED) {
        bool alive = is_alive(log, (const char *)sqlite3_column_text(s, 16),
                              sqlite3_column_int64(s, 17), sqlite3_column_int64(s, 18));
        claim = alive ? CLAIM_OTHER : CLAIM_OURS;
    } else if (status == SQLITE_ROW) {
        *figure = figure_at(log, s);
        claim = CLAIM_KNOWN;
    }
    sqlite3_finalize(s);
    return claim;
}

static bool insert_claim(TuneLog *log, const TuneTask *task, const Figure *figure)
{
    return perform(log, "INSERT OR IGNORE INTO program VALUES(:program, :kernel, :text)", task,
                   figure) &&
           perform(log,
                   "INSERT OR REPLACE INTO figure(program, sizes, device, measured, code, "
                   "schedule, settings, state, version, arch, host, pid, written) "
                   "VALUES(:program, :sizes, :device, :measured, :code, :schedule, :settings, 0, "
                   ":version, :arch, :host, :pid, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))",
                   task, figure);
}

Claim tunelog_claim(TuneLog *log, const TuneTask *task, Figure *figure)
{
    Claim claim = CLAIM_REFUSED;
    if (execute(log, "BEGIN IMMEDIATE")) {
        claim = look_up(log, task, figure);
        if (claim == CLAIM_OURS && !insert_claim(log, task, figure))
            claim = CLAIM_REFUSED;
        if (claim == CLAIM_REFUSED)
            refuse(log, "written");
        if (!execute(log, claim == CLAIM_REFUSED ? "ROLLBACK" : "COMMIT"))
            claim = CLAIM_REFUSED;
    } else {
        refuse(log, "written");
    }
    return claim;
}

bool tunelog_record(TuneLog *log, const TuneTask *task, const Figure *figure)
{
    return perform(log,
                   "UPDATE figure SET state = :state, ms = :ms, min_ms = :min_ms, p95_ms = :p95_ms,"
                   " runs = :runs, version = :version, arch = :arch, clock_mhz = :clock_mhz,"
                   " memory_mhz = :memory_mhz, host = :host, pid = :pid, records = records + 1,"
                   " written = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')" OF_CANDIDATE,
                   task, figure) ||
           refuse(log, "written");
}

bool tunelog_best(TuneLog *log, const TuneTask *task, Figure *best)
{
    static const char sql[] =
        "WITH mine AS (SELECT * FROM figure WHERE program = :program AND state = 1"
        " AND (:device IS NULL OR device = :device) AND (:sizes IS NULL OR sizes = :sizes)),"
        " last AS (SELECT * FROM mine ORDER BY measured DESC, written DESC LIMIT 1)"
        " SELECT " FIGURE_COLUMNS " FROM mine WHERE (device, sizes, measured) ="
        " (SELECT device, sizes, measured FROM last) ORDER BY ms, settings LIMIT 1";
    sqlite3_stmt *s = prepare(log, sql);
    if (!s)
        return refuse(log, "read");
    bind_task(s, task);
    int status = sqlite3_step(s);
    if (status == SQLITE_ROW)
        *best = figure_at(log, s);
    else if (status != SQLITE_DONE)
        refuse(log, "read");
    sqlite3_finalize(s);
    return status == SQLITE_ROW;
}
