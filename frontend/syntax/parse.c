/* parse.c - Runs the parser and words its syntax errors for users.
 *
 * The grammar knows which tokens could stand where an error is.  That list is exact but long; a
 * reader wants its meaning: "an expression", "a statement", "';' after the statement".  Groups of
 * tokens are replaced by such words, operators are left out, and a few mistakes that C or Python
 * suggest get a note with the right form. */
#include "frontend/syntax/parse.h"

#include <string.h>

#include "frontend/syntax/internal.h"
#include "tirc_parser.h"

AstFile *parse_text(Context *c, uint32_t source)
{
    AstFile *file = parse_part(c, source, 0, (uint32_t)source_get(c, source)->length);
    return file && check_unique_names(c, file) ? file : NULL;
}

/* The items that were read. */
static AstFile *file_of(Context *c, const Parser *p)
{
    AstFunctionList *functions = ARENA_NEW(c->arena, AstFunctionList);
    *functions = (AstFunctionList){p->functions.items, p->functions.n};
    for (int i = 0; i < p->kernels.n; i++) {
        p->kernels.items[i]->functions = functions;
        p->kernels.items[i]->reducers = p->reducers.items;
        p->kernels.items[i]->n_reducers = p->reducers.n;
        p->kernels.items[i]->instructions = p->instructions.items;
        p->kernels.items[i]->n_instructions = p->instructions.n;
    }
    for (int i = 0; i < p->instructions.n; i++) {
        p->instructions.items[i]->functions = functions;
        p->instructions.items[i]->reducers = p->reducers.items;
        p->instructions.items[i]->n_reducers = p->reducers.n;
    }
    AstFile *file = ARENA_NEW(c->arena, AstFile);
    *file = (AstFile){
        .source = p->source,
        .kernels = p->kernels.items,
        .n_kernels = p->kernels.n,
        .reducers = p->reducers.items,
        .n_reducers = p->reducers.n,
        .instructions = p->instructions.items,
        .n_instructions = p->instructions.n,
        .schedules = p->schedules.items,
        .n_schedules = p->schedules.n,
        .procs = p->procs.items,
        .n_procs = p->procs.n,
        .includes = p->includes.items,
        .n_includes = p->includes.n,
        .functions = functions,
    };
    return file;
}

/* Whether the text is a sequence of items. */
static bool read_items(Parser *p, uint32_t begin, uint32_t end)
{
    int errors = p->ctx->n_errors;
    lexer_open(p, source_get(p->ctx, p->source)->text + begin, end - begin);
    int status = tirc_parse_parse(p);
    lexer_close(p);
    return status == 0 && p->ctx->n_errors == errors;
}

AstFile *parse_part(Context *c, uint32_t source, uint32_t begin, uint32_t end)
{
    Parser p = {.ctx = c, .source = source, .offset = begin};
    return read_items(&p, begin, end) ? file_of(c, &p) : NULL;
}

AstFile *parse_readable(Context *c, uint32_t source)
{
    Parser p = {.ctx = c, .source = source};
    read_items(&p, 0, (uint32_t)source_get(c, source)->length);
    return file_of(c, &p);
}

/* ---- sets of token names ---- */

typedef struct {
    const char *const *names;
    int n;
} Expected;

static bool has(const Expected *e, const char *name)
{
    for (int i = 0; i < e->n; i++)
        if (strcmp(e->names[i], name) == 0)
            return true;
    return false;
}

static bool among(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}
#define AMONG(name, list) among((name), (list), sizeof(list) / sizeof *(list))

/* Tokens that can start an expression; continue one; start a statement. */
static const char *const operands[] = {
    "a number",
    "a decimal number",
    "'true' or 'false'",
    "a name",
    "a string",
    "'_'",
    "'('",
    "'['",
    "'-'",
    "'!'",
    "'~'",
};
static const char *const operators[] = {
    "'+'",  "'-'",  "'*'",  "'/'",  "'%'", "'<'", "'>'", "'<='", "'>='", "'=='", "'!='",
    "'&&'", "'||'", "'<<'", "'>>'", "'&'", "'|'", "'^'", "'?'",  "'['",  "'.'",  "'('",
};
static const char *const starters[] = {
    "'for'",    "'if'",       "'let'",     "'assert'",  "'tune'",        "'return'",
    "'{'",      "'block'",    "'while'",   "'break'",   "'temp'",        "'init'",
    "'launch'", "'barrier'",  "'commit'",  "'wait'",    "'instruction'", "'view'",
    "'call'",   "'producer'", "'acquire'", "'receive'", "'release'",     "a name",
};

/* ---- what was expected ---- */

typedef VEC(const char *) Words;

/* The list with groups replaced by their word, in a stable order. */
static Words expected_words(Parser *p, const Expected *e)
{
    Words words = {0};
    Arena *arena = p->ctx->arena;
    bool operand = has(e, "a number") && has(e, "a name") && has(e, "'('");
    bool statement = has(e, "'for'") && has(e, "'if'");
    bool operator_ = has(e, "'*'") && has(e, "'+'");
    if (statement)
        VEC_PUSH(arena, &words, "a statement");
    else if (operand)
        VEC_PUSH(arena, &words, "an expression");
    for (int i = 0; i < e->n; i++) {
        const char *name = e->names[i];
        bool grouped = (operand && AMONG(name, operands)) ||
                       (operator_ && AMONG(name, operators)) ||
                       (statement && AMONG(name, starters));
        if (!grouped)
            VEC_PUSH(arena, &words, name);
    }
    return words;
}

static const char *join_words(Parser *p, const Words *words)
{
    StrBuf s = strbuf_new(p->ctx->arena);
    for (int i = 0; i < words->n; i++) {
        if (i > 0)
            strbuf_add(&s, i + 1 == words->n ? " or " : ", ");
        strbuf_add(&s, words->items[i]);
    }
    return s.text;
}

static const char *describe_expected(Parser *p, const Expected *e)
{
    enum { MOST = 8 };
    Words words = expected_words(p, e);
    if (has(e, "';'") && !has(e, "'for'"))
        return "';' after the statement";
    if (words.n == 0 || words.n > MOST)
        return has(e, "a name") ? "a name" : NULL;
    return join_words(p, &words);
}

/* ---- what was found ---- */

static const char *describe_found(Parser *p)
{
    const Source *s = source_get(p->ctx, p->source);
    Span at = p->last_span;
    if (p->last == TOKEN_END)
        return "the end of the file";
    if (p->last == TOKEN_STRING)
        return "a string";
    int length = at.end - at.begin > 40 ? 40 : (int)(at.end - at.begin);
    return arena_printf(p->ctx->arena, "'%.*s%s'", length, s->text + at.begin,
                        (int)(at.end - at.begin) > length ? "..." : "");
}

static bool is_reserved(int kind)
{
    return kind == TOKEN_KERNEL || kind == TOKEN_SCHEDULE || kind == TOKEN_PROC ||
           kind == TOKEN_INCLUDE || kind == TOKEN_FOR || kind == TOKEN_IF || kind == TOKEN_ELSE ||
           kind == TOKEN_LET || kind == TOKEN_ASSERT || kind == TOKEN_TUNE ||
           kind == TOKEN_RETURN || kind == TOKEN_BOOL;
}

/* ---- notes for habits of other languages ---- */

/* Is the text at `at` one of these words, which blanks divide? */
static bool is_word(Parser *p, Span at, const char *words)
{
    const char *text = source_get(p->ctx, p->source)->text + at.begin;
    size_t length = at.end - at.begin;
    for (size_t n; *words; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        if (n == length && memcmp(words, text, n) == 0)
            return true;
    }
    return false;
}

/* The word in front of `at`, blanks between. */
static Span word_before(Parser *p, Span at)
{
    const char *text = source_get(p->ctx, p->source)->text;
    Span word = at;
    word.end = at.begin;
    while (word.end > 0 && text[word.end - 1] == ' ')
        word.end--;
    word.begin = word.end;
    while (word.begin > 0 && text[word.begin - 1] >= 'a' && text[word.begin - 1] <= 'z')
        word.begin--;
    return word;
}

static const char c_types[] = "auto bool double float half int long var";
static const char declare_temp[] = "declare a variable as a buffer of one element: 'temp t: f32;'";

static const char *habit_of_programs(Parser *p, const Expected *e)
{
    if (p->before_last == TOKEN_FOR && p->last == '(')
        return "write a loop as 'for i in 0..N', without parentheses and types";
    if (p->before_last == TOKEN_ARROW && p->last == '(')
        return "write several outputs without parentheses: '-> y: f32[N], z: f32[N]'";
    if (p->last == '=' && has(e, "'=='"))
        return "write a comparison as '=='";
    if (p->last == '=' && p->before_last == TOKEN_NAME && has(e, "'in'"))
        return "write a range as 'i in 0..N'";
    if (p->last == '[' && p->before_last == ']')
        return "write all subscripts in one pair of brackets: 'x[i, j]'";
    if ((p->last == '+' || p->last == '-') && has(e, "'='"))
        return "a statement stores ('x[i] = ...') or updates ('x[i] += 1')";
    if (p->last == TOKEN_NAME && is_word(p, p->before_span, c_types))
        return declare_temp;
    if (is_word(p, p->last_span, "def func fn void"))
        return "write a program as 'kernel NAME<SIZES>(INPUTS) -> OUTPUTS { ... }'";
    return NULL;
}

static const char *habit_of_schedules(Parser *p, const Expected *e)
{
    if (p->last == ',' && p->before_last == TOKEN_NAME && has(e, "'='"))
        return "use brackets to name the values of a list: 'let [a, b] = ...'";
    if (p->last == '(' && p->before_last == TOKEN_NAME && has(e, "';'"))
        return "call a primitive by its name alone: 'split(loop, [_, 32])'";
    if (p->last == TOKEN_NAME && has(e, "'..'") && has(e, "'{'"))
        return "in a schedule, enclose the bodies of 'if' and 'for' in braces";
    return NULL;
}

static void note_habit(Parser *p, const Expected *e)
{
    const char *note = "the logical operators are '&&', '||' and '!'";
    /* `i > 0 and i < 5` reads on to the second token after the word. */
    if (!is_word(p, p->last_span, "and or not") && !is_word(p, p->before_span, "and or not") &&
        !is_word(p, word_before(p, p->before_span), "and or not"))
        note = habit_of_programs(p, e);
    if (!note)
        note = habit_of_schedules(p, e);
    if (note)
        diag_note(p->ctx, p->last_span, "%s", note);
    else if (is_reserved(p->last) && has(e, "a name") && !has(e, "'for'"))
        diag_note(p->ctx, p->last_span, "%s is a reserved word; choose another name",
                  describe_found(p));
}

/* ---- the report ---- */

/* A missing ';' is shown behind the last token of its statement, everything else where it is
 * found. */
static Span error_place(Parser *p, const Expected *e)
{
    const Source *s = source_get(p->ctx, p->source);
    int line_before, line, column;
    if (!has(e, "';'") || has(e, "'for'"))
        return p->last_span;
    source_position(s, p->before_span.end, &line_before, &column);
    source_position(s, p->last_span.begin, &line, &column);
    if (line == line_before)
        return p->last_span;
    return (Span){p->source, p->before_span.end, p->before_span.end};
}

static void start_skipping(Parser *p)
{
    p->brackets = 0;
    p->resync_open = 0;
    p->resync_parens = p->last == '(';
    p->resync = p->last != ';' && p->last != '}';
    if (p->last == '{') {
        p->braces--;
        p->resync_open = 1;
    }
    bool item = p->last == TOKEN_KERNEL || p->last == TOKEN_SCHEDULE || p->last == TOKEN_PROC;
    if (item && p->braces > 0)
        p->gave_up = true; /* a missing '}': what follows would all be misread */
}

/* Bytes that are no token leave a hole here, which has been reported. */
static bool follows_from_lexical_error(Parser *p)
{
    const Diag *last = p->ctx->n_errors > 0 ? p->ctx->last : NULL;
    return last && last->code >= E0101 && last->code <= E0107 && last->span.source == p->source &&
           last->span.begin >= p->before_span.begin;
}

void parse_report(Parser *p, const char *const *expected, int n)
{
    if (p->gave_up)
        return;
    if (follows_from_lexical_error(p)) {
        start_skipping(p);
        return;
    }
    Expected e = {expected, n};
    const char *wanted = describe_expected(p, &e);
    if (wanted)
        diag_error(p->ctx, E0108, error_place(p, &e), "expected %s, found %s", wanted,
                   describe_found(p));
    else
        diag_error(p->ctx, E0108, error_place(p, &e), "%s is not allowed here", describe_found(p));
    note_habit(p, &e);
    start_skipping(p);
    p->gave_up = p->gave_up || p->ctx->n_errors > p->ctx->max_errors; /* no more are reported */
}

void parse_expect_word(Parser *p, AstName found, const char *expected)
{
    if (strcmp(found.text, expected) != 0)
        diag_error(p->ctx, E0108, found.span, "expected '%s', found '%.60s'", expected, found.text);
}

SyncKind parse_barrier_kind(Parser *p, AstName of)
{
    for (SyncKind kind = SYNC_WARPGROUP; kind <= SYNC_WARP; kind++)
        if (strcmp(of.text, sync_word(kind)) == 0)
            return kind;
    parse_expect_word(p, of, "cluster");
    return SYNC_CLUSTER;
}

void parse_no_assignment(Parser *p, Span op)
{
    diag_error(p->ctx, E0110, op,
               "a script has no assignments; name each value once, with 'let name = value;'");
}

void parse_no_declaration(Parser *p, Span place, AstName name)
{
    if (!is_word(p, place, c_types))
        return;
    diag_error(p->ctx, E0108, name.span, "expected a subscript or an update, found '%.60s'",
               name.text);
    diag_note(p->ctx, name.span, "%s", declare_temp);
}
