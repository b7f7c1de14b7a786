/* tables.c - Turns the .def tables into data: types, operators, functions, errors, scopes, axes,
 * loop kinds, updates and annotations. The parser looks words up here and the printer prints them
 * from here, so they cannot disagree. */
#include "ir/ir.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The index of `name` in a table of names, or n. */
static int find_name(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return n;
}

/* ---- types ----------------------------------------------------------------------------------- */

static const TypeInfo types[] = {
#define TYPE(e, name, class, bits, digits, cuda) {name, cuda, CLASS_##class, bits, digits},
#include "ir/tables/type.def"
#undef TYPE
};

const TypeInfo *type_info(DType type)
{
    return &types[type];
}

DType type_find(const char *name)
{
    for (int i = 0; i < DT_COUNT; i++)
        if (strcmp(types[i].name, name) == 0)
            return (DType)i;
    return DT_COUNT;
}

bool type_is_float(DType type)
{
    return types[type].class == CLASS_FLOAT;
}

bool type_is_int(DType type)
{
    TypeClass class = types[type].class;
    return class == CLASS_INT || class == CLASS_UINT || class == CLASS_INDEX;
}

bool type_is_byte(DType type)
{
    return type == DT_I8 || type == DT_U8;
}

int type_bytes(DType type)
{
    return types[type].bits / 8;
}

/* The exponents of a type's smallest normal number and its largest finite number. */
static void float_range(DType type, int *lowest, double *largest)
{
    switch (type) {
    case DT_F64: *lowest = DBL_MIN_EXP - 1, *largest = DBL_MAX; return;
    case DT_F16: *lowest = -14, *largest = 65504.0; return;
    case DT_BF16: *lowest = -126, *largest = ldexp(255.0, 120); return;
    case DT_F8E4M3: *lowest = -6, *largest = 448.0; return;
    case DT_F8E5M2: *lowest = -14, *largest = 57344.0; return;
    default: *lowest = -126, *largest = ldexp(16777215.0, 104);
    }
}

double type_largest(DType type)
{
    int lowest;
    double largest;
    float_range(type, &lowest, &largest);
    return largest;
}

double type_smallest(DType type)
{
    int lowest;
    double largest;
    float_range(type, &lowest, &largest);
    return ldexp(1, lowest - types[type].digits + 1);
}

double type_round(DType type, double value)
{
    if (type == DT_F64 || value == 0 || isnan(value) || (isinf(value) && type != DT_F8E4M3))
        return value;
    int lowest, exponent;
    double largest;
    float_range(type, &lowest, &largest);
    if (isinf(value))
        return NAN;
    frexp(value, &exponent); /* 2^(exponent-1) <= |value| < 2^exponent */
    int top = exponent - 1 < lowest ? lowest : exponent - 1;
    int unit = top - (types[type].digits - 1); /* 2^unit separates neighbours */
    double rounded = ldexp(nearbyint(ldexp(value, -unit)), unit);
    if (fabs(rounded) <= largest)
        return rounded;
    return type == DT_F8E4M3 ? NAN : copysign(INFINITY, value);
}

/* ---- operators and functions ----------------------------------------------------------------- */

static const OpInfo ops[] = {
#define LEAF(e)                             {NULL, 0, OP_LEAF},
#define UNARY(e, token, precedence)         {token, precedence, OP_UNARY},
#define BINARY(e, token, precedence, class) {token, precedence, OP_##class},
#include "ir/tables/expr.def"
#undef LEAF
#undef UNARY
#undef BINARY
};

const OpInfo *op_info(ExprKind kind)
{
    return &ops[kind];
}

bool expr_is_unary(ExprKind kind)
{
    return ops[kind].class == OP_UNARY;
}

bool expr_is_binary(ExprKind kind)
{
    return ops[kind].class != OP_UNARY && ops[kind].class != OP_LEAF;
}

static const CallInfo calls[] = {
#define CALL(e, name, arity, takes, gives, f32, f64, ulp, meaning)                                 \
    {name, f32, f64, meaning, arity, ulp, OF_##takes, GIVES_##gives},
#include "ir/tables/call.def"
#undef CALL
};

const CallInfo *call_info(CallKind call)
{
    return &calls[call];
}

DType type_of_bits(int bits)
{
    return bits == 64 ? DT_U64 : bits == 32 ? DT_U32 : bits == 16 ? DT_U16 : DT_U8;
}

bool call_is_power(CallKind call)
{
    return call == CALL_EXP || call == CALL_EXP2 || call_flushes(call);
}

bool call_flushes(CallKind call)
{
    return call == CALL_FAST_EXP || call == CALL_FAST_EXP2;
}

bool call_takes(CallKind call, DType type)
{
    const TypeInfo *info = type_info(type);
    bool is_integer = info->class == CLASS_INT || info->class == CLASS_UINT;
    switch (calls[call].takes) {
    case OF_FLOAT: return info->class == CLASS_FLOAT;
    case OF_INTEGER: return is_integer && info->bits >= 32;
    case OF_WORD: return is_integer && info->bits == 32;
    case OF_BITS: return is_integer || info->class == CLASS_FLOAT;
    case OF_U64: return type == DT_U64;
    }
    return false;
}

DType call_result(CallKind call, DType type, DType named)
{
    switch (calls[call].gives) {
    case GIVES_SAME: return type;
    case GIVES_BOOL: return DT_BOOL;
    case GIVES_I32: return DT_I32;
    case GIVES_NAMED: return named;
    }
    return type;
}

CallKind call_find(const char *name)
{
    for (int i = 0; i < CALL_COUNT; i++)
        if (strcmp(calls[i].name, name) == 0)
            return (CallKind)i;
    return CALL_COUNT;
}

/* ---- vocabularies ---------------------------------------------------------------------------- */

static const char *const scope_names[] = {"global",   "shared", "local",
                                          "constant", "warp",   "cluster"};

const char *scope_name(Scope scope)
{
    return scope_names[scope];
}

Scope scope_find(const char *name)
{
    return (Scope)find_name(scope_names, SCOPE_COUNT, name);
}

static const char *const axis_names[] = {"blockIdx.x",  "blockIdx.y",  "blockIdx.z", "cluster.rank",
                                         "threadIdx.x", "threadIdx.y", "threadIdx.z"};

const char *axis_name(Axis axis)
{
    return axis_names[axis];
}

Axis axis_find(const char *name)
{
    return (Axis)find_name(axis_names, AXIS_COUNT, name);
}

static const CacheHintInfo hints[] = {
#define HINT(e, name, load, store, meaning) {name, meaning, load, store},
#include "ir/tables/cache_hint.def"
#undef HINT
};

const CacheHintInfo *cache_hint_info(CacheHint hint)
{
    return &hints[hint];
}

CacheHint cache_hint_find(const char *name)
{
    int i = HINT_NONE + 1;
    while (i < HINT_COUNT && strcmp(hints[i].name, name) != 0)
        i++;
    return (CacheHint)i;
}

static const char *const order_names[] = {
#define ORDER(e, name, meaning) name,
#include "ir/tables/order.def"
#undef ORDER
};

const char *order_name(Order order)
{
    return order_names[order];
}

Order order_find(const char *name)
{
    return (Order)find_name(order_names, ORDER_COUNT, name);
}

const char *loop_kind_name(LoopKind kind)
{
    static const char *const names[] = {"serial", "parallel", "vectorize",
                                        "unroll", "bind",     "ended by break"};
    return names[kind];
}

const char *store_op_token(StoreOp op)
{
    static const char *const tokens[] = {
        "=", "+=", "*=", "min=", "max=", "&=", "|=", "^=", "async="};
    return tokens[op];
}

ExprKind store_op_kind(StoreOp op, DType type)
{
    switch (op) {
    case STORE_ADD: return EX_ADD;
    case STORE_MUL: return EX_MUL;
    case STORE_MIN: return EX_MIN;
    case STORE_MAX: return EX_MAX;
    case STORE_AND: return type == DT_BOOL ? EX_AND : EX_BITAND;
    case STORE_OR: return type == DT_BOOL ? EX_OR : EX_BITOR;
    case STORE_XOR: return EX_BITXOR;
    case STORE_SET:
    case STORE_ASYNC: break;
    }
    return EX_COUNT;
}

/* ---- errors ---------------------------------------------------------------------------------- */

static const ErrorInfo errors[] = {
#define ERROR(code, status, title, explanation, program, schedule)                                 \
    {#code, STATUS_##status, title, explanation, program, schedule},
#include "ir/tables/errors.def"
#undef ERROR
};

const ErrorInfo *error_info(ErrorCode code)
{
    return &errors[code];
}

ErrorCode error_find(const char *id)
{
    for (int i = 0; i < ERROR_COUNT; i++)
        if (strcmp(errors[i].id, id) == 0)
            return (ErrorCode)i;
    return ERROR_COUNT;
}

/* ---- annotations ----------------------------------------------------------------------------- */

static const AnnotationInfo infos[] = {
#define ANNOTATION(key, name, primitive, least, most) {name, primitive, least, most},
#include "ir/tables/annotation.def"
#undef ANNOTATION
};

const AnnotationInfo *annotation_info(AnnotationKey key)
{
    return &infos[key];
}

AnnotationKey annotation_key(const char *name)
{
    int key = 0;
    for (; key < ANNOTATION_KEYS; key++) {
        size_t length = strlen(infos[key].name);
        bool family = infos[key].name[length - 1] == '_';
        if (family ? strncmp(name, infos[key].name, length) == 0
                   : strcmp(name, infos[key].name) == 0)
            break;
    }
    return (AnnotationKey)key;
}

const char *annotation_member(const Annotation *a, AnnotationKey family)
{
    return annotation_key(a->key) == family ? a->key + strlen(infos[family].name) : NULL;
}

const Annotation *annotation_find(AnnotationList list, AnnotationKey key)
{
    for (int i = 0; i < list.n; i++)
        if (strcmp(list.items[i].key, infos[key].name) == 0)
            return &list.items[i];
    return NULL;
}

int64_t annotation_int(AnnotationList list, AnnotationKey key)
{
    const Annotation *a = annotation_find(list, key);
    bool fits =
        a && a->kind == ANNOTATION_INT && a->i >= infos[key].least && a->i <= infos[key].most;
    return fits ? a->i : 0;
}

bool annotations_remap(AnnotationList list)
{
    return annotation_int(list, ANNOTATION_REMAP_DIAGONAL) ||
           annotation_int(list, ANNOTATION_REMAP_REVERSED) ||
           annotation_int(list, ANNOTATION_REMAP_GROUPED);
}

AnnotationList annotations_without(Context *c, AnnotationList list, Name key)
{
    Annotation *kept = ARENA_ARRAY(c->arena, Annotation, list.n + 1);
    int n = 0;
    for (int i = 0; i < list.n; i++)
        if (list.items[i].key != key)
            kept[n++] = list.items[i];
    return (AnnotationList){kept, n};
}

AnnotationList annotations_with(Context *c, AnnotationList list, Annotation added)
{
    Annotation *items = ARENA_ARRAY(c->arena, Annotation, list.n + 1);
    int at = 0;
    for (int i = 0; i < list.n; i++)
        items[i] = list.items[i];
    while (at < list.n && items[at].key != added.key)
        at++;
    items[at] = added;
    return (AnnotationList){items, at == list.n ? list.n + 1 : list.n};
}

AnnotationList annotations_mark(Context *c, AnnotationList list, AnnotationKey key)
{
    Annotation mark = {.key = ctx_name(c, infos[key].name), .kind = ANNOTATION_INT, .i = 1};
    return annotations_with(c, list, mark);
}
