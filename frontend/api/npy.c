/* npy.c - Reads and writes the header of .npy files, NumPy's format for one array.
 *
 * A file holds a magic string, a version (1.0, 2.0 or 3.0), the length of the header, the header,
 * and the elements. The header is a Python dictionary:
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (20, 7), }
 *
 * Little-endian elements in C order are read; the rest of what NumPy writes is refused with a
 * reason. */
#include "frontend/api/internal.h"

#include <string.h>

enum {
    NPY_AXES = 64,      /* NumPy's own limit */
    NPY_ALIGNMENT = 64, /* of the elements in a file */
    MAGIC_BYTES = 6,
};
static const char NPY_MAGIC[] = "\x93NUMPY";

/* The types of both; the first row of a type is written. */
static const struct {
    const char *descr, *type;
} NPY_TYPES[] = {
    {"<f8", "f64"}, {"<f4", "f32"},  {"<f2", "f16"}, {"<i8", "i64"}, {"<i4", "i32"},
    {"<i2", "i16"}, {"|i1", "i8"},   {"<u8", "u64"}, {"<u4", "u32"}, {"<u2", "u16"},
    {"|u1", "u8"},  {"|b1", "bool"}, {"<i1", "i8"},  {"<u1", "u8"},  {"<b1", "bool"},
    {"<V2", "V2"},  {"|V2", "V2"},   {"|V1", "V1"},  {"<V1", "V1"},
};
enum { N_TYPES = sizeof NPY_TYPES / sizeof NPY_TYPES[0] };

typedef struct {
    tirc *t;
    const char *path;
    const char *at, *end; /* the rest of the header */
} NpyReader;

static bool refuse(NpyReader *r, const char *why)
{
    diag_error(r->t->ctx, E0710, span_none(), "'%s' is not read: %s", r->path, why);
    return false;
}

/* ---- the dictionary -------------------------------------------------------------------------- */

static void skip_blanks(NpyReader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n'))
        r->at++;
}

static bool take(NpyReader *r, char c)
{
    skip_blanks(r);
    bool there = r->at < r->end && *r->at == c;
    r->at += there;
    return there;
}

static bool take_word(NpyReader *r, const char *word)
{
    size_t n = strlen(word);
    skip_blanks(r);
    bool there = (size_t)(r->end - r->at) >= n && !memcmp(r->at, word, n);
    r->at += there ? n : 0;
    return there;
}

/* A string without escapes; NULL: there is none. */
static const char *take_string(NpyReader *r)
{
    skip_blanks(r);
    if (r->at == r->end || (*r->at != '\'' && *r->at != '"'))
        return NULL;
    const char *begin = r->at + 1;
    const char *close = memchr(begin, *r->at, (size_t)(r->end - begin));
    if (!close)
        return NULL;
    r->at = close + 1;
    return arena_strndup(r->t->ctx->arena, begin, (size_t)(close - begin));
}

static bool is_digit(const NpyReader *r)
{
    return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

static bool take_integer(NpyReader *r, int64_t *out)
{
    skip_blanks(r);
    bool fits = is_digit(r);
    for (*out = 0; fits && is_digit(r); r->at++)
        fits = checked_mul(*out, 10, out) && checked_add(*out, *r->at - '0', out);
    return fits;
}

/* (20, 7), (20,) or () */
static bool take_shape(NpyReader *r, tirc_npy *array, int64_t *dims)
{
    if (!take(r, '('))
        return refuse(r, "its shape is not a tuple of integers");
    for (array->rank = 0; !take(r, ')');) {
        if (array->rank == NPY_AXES)
            return refuse(r, "it has more than 64 axes");
        if (!take_integer(r, &dims[array->rank++]))
            return refuse(r, "its shape is not a tuple of integers from 0 to 2^63 - 1");
        if (!take(r, ',')) {
            if (!take(r, ')'))
                return refuse(r, "its shape is not a tuple of integers");
            break;
        }
    }
    array->dims = dims;
    return true;
}

static bool find_type(NpyReader *r, const char *descr, tirc_npy *array)
{
    for (int i = 0; i < N_TYPES; i++)
        if (!strcmp(NPY_TYPES[i].descr, descr)) {
            array->type = NPY_TYPES[i].type;
            return true;
        }
    return refuse(
        r, *descr == '>' ? "its elements are big-endian; convert them with "
                           "a.astype(a.dtype.newbyteorder('<'))"
           : strchr(descr, 'O')
               ? "its elements are Python objects, not numbers"
               : arena_printf(r->t->ctx->arena, "tirc has no type for NumPy's '%.20s'", descr));
}

static bool take_type(NpyReader *r, tirc_npy *array)
{
    const char *descr = take_string(r);
    return descr ? find_type(r, descr, array)
                 : refuse(r, "its elements are records, and tirc has no type for these");
}

typedef struct {
    bool type, order, shape, fortran;
} NpyKeys;

static bool take_order(NpyReader *r, NpyKeys *keys)
{
    keys->fortran = take_word(r, "True");
    return keys->fortran || take_word(r, "False") ||
           refuse(r, "its 'fortran_order' is neither True nor False");
}

static bool take_entry(NpyReader *r, NpyKeys *keys, tirc_npy *array, int64_t *dims)
{
    const char *key = take_string(r);
    if (!key || !take(r, ':'))
        return refuse(r, "its header is not a dictionary");
    bool *seen = !strcmp(key, "descr")           ? &keys->type
                 : !strcmp(key, "fortran_order") ? &keys->order
                 : !strcmp(key, "shape")         ? &keys->shape
                                                 : NULL;
    if (!seen || *seen)
        return refuse(r, "its header has other keys than 'descr', 'fortran_order' and 'shape'");
    *seen = true;
    return seen == &keys->type    ? take_type(r, array)
           : seen == &keys->order ? take_order(r, keys)
                                  : take_shape(r, array, dims);
}

static bool take_header(NpyReader *r, tirc_npy *array)
{
    NpyKeys keys = {0};
    int64_t *dims = ARENA_ARRAY(r->t->ctx->arena, int64_t, NPY_AXES);
    if (!take(r, '{'))
        return refuse(r, "its header is not a dictionary");
    while (!take(r, '}')) {
        if (!take_entry(r, &keys, array, dims))
            return false;
        if (!take(r, ',') && (r->at == r->end || *r->at != '}'))
            return refuse(r, "its header is not a dictionary");
    }
    skip_blanks(r);
    if (r->at < r->end || !keys.type || !keys.order || !keys.shape)
        return refuse(r, "its header does not consist of 'descr', 'fortran_order' and 'shape'");
    if (keys.fortran && array->rank > 1)
        return refuse(r, "it is stored column by column; save numpy.ascontiguousarray(a)");
    return true;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The number of bytes before the elements, and the header in r; 0 after E0710. */
static size_t find_header(NpyReader *r, const unsigned char *bytes, size_t length)
{
    size_t fixed = MAGIC_BYTES + 4, size = 0;
    if (length < fixed || memcmp(bytes, NPY_MAGIC, MAGIC_BYTES) != 0)
        return refuse(r, "it is not a .npy file, which numpy.save writes");
    int major = bytes[MAGIC_BYTES];
    if (major < 1 || major > 3 || bytes[MAGIC_BYTES + 1] != 0)
        return refuse(r, "it has another version of the format than 1.0, 2.0 and 3.0");
    fixed += major > 1 ? 2 : 0;
    for (size_t i = fixed; i-- > MAGIC_BYTES + 2 && length >= fixed;)
        size = size << 8 | bytes[i];
    if (length < fixed || length - fixed < size)
        return refuse(r, "it ends within its header");
    r->at = (const char *)bytes + fixed;
    r->end = r->at + size;
    return fixed + size;
}

static int64_t element_bytes(const char *type)
{
    return *type == 'V' ? type[1] - '0' : type_bytes(type_find(type));
}

static bool check_elements(NpyReader *r, tirc_npy *array, size_t there)
{
    int64_t bytes = element_bytes(array->type);
    bool empty = false;
    for (int i = 0; i < array->rank; i++)
        empty = empty || array->dims[i] == 0;
    for (int i = 0; i < array->rank && !empty; i++)
        if (!checked_mul(bytes, array->dims[i], &bytes))
            return refuse(r, "it has more than 2^63 bytes");
    array->bytes = empty ? 0 : (size_t)bytes;
    if (array->bytes != there)
        return refuse(r, arena_printf(r->t->ctx->arena,
                                      "its shape says %zu bytes of elements, but it has %zu",
                                      array->bytes, there));
    const unsigned char *data = array->data;
    for (size_t i = 0; !strcmp(array->type, "bool") && i < there; i++)
        if (data[i] > 1)
            return refuse(r, "its elements are truth values, but one is neither 0 nor 1");
    return true;
}

static bool npy_parse(tirc *t, const char *path, const void *bytes, size_t length, tirc_npy *array)
{
    NpyReader r = {.t = t, .path = path};
    *array = (tirc_npy){0};
    size_t header = find_header(&r, bytes, length);
    if (!header || !take_header(&r, array))
        return false;
    array->data = (const char *)bytes + header;
    return check_elements(&r, array, length - header);
}

tirc_status tirc_npy_parse(tirc *t, const char *path, const void *bytes, size_t length,
                           tirc_npy *array)
{
    API_GUARDED(t, npy_parse(t, path, bytes, length, array));
}

/* ---- writing --------------------------------------------------------------------------------- */

static const char *descr_of(const char *type)
{
    for (int i = 0; i < N_TYPES; i++)
        if (!strcmp(NPY_TYPES[i].type, type))
            return NPY_TYPES[i].descr;
    return type_bytes(type_find(type)) == 2 ? "<V2" : "|V1";
}

static bool npy_header(tirc *t, const tirc_argument *a, const void **header, size_t *length)
{
    if (type_find(a->type) >= DT_INDEX) {
        diag_error(t->ctx, E0704, span_none(), "'%.20s' is no type of elements", a->type);
        return false;
    }
    StrBuf out = strbuf_new(t->ctx->arena);
    strbuf_addn(&out, NPY_MAGIC, MAGIC_BYTES);
    strbuf_addn(&out, "\x01\x00\x00\x00", 4); /* the length follows below */
    strbuf_addf(&out, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr_of(a->type));
    for (int i = 0; i < a->rank; i++)
        strbuf_addf(&out, "%s%lld", i ? ", " : "", (long long)a->dims[i]);
    strbuf_add(&out, a->rank == 1 ? ",), }" : "), }");
    while (out.length % NPY_ALIGNMENT != NPY_ALIGNMENT - 1)
        strbuf_addc(&out, ' ');
    strbuf_addc(&out, '\n');
    size_t size = out.length - MAGIC_BYTES - 4;
    out.text[MAGIC_BYTES + 2] = (char)(size & 0xff);
    out.text[MAGIC_BYTES + 3] = (char)(size >> 8);
    *header = out.text;
    *length = out.length;
    return true;
}

tirc_status tirc_npy_header(tirc *t, const tirc_argument *array, const void **header,
                            size_t *length)
{
    API_GUARDED(t, npy_header(t, array, header, length));
}
