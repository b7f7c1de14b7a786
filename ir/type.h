/* type.h - Declares the element types of type.def, and the functions of call.def. */
#ifndef TIRC_IR_TYPE_H
#define TIRC_IR_TYPE_H

#include <stdbool.h>

typedef enum {
#define TYPE(e, name, class, bits, digits, cuda) DT_##e,
#include "ir/tables/type.def"
#undef TYPE
    DT_COUNT
} DType;

/* What a buffer of a reference says of a buffer X of the program that it checks (reference_kernel
 * in passes/lower/lower.h). */
typedef enum {
    PART_NONE,      /* it belongs to no reference */
    PART_VALUE,     /* the elements of X */
    PART_ERROR,     /* bounds on their errors */
    PART_MAGNITUDE, /* of sums: the sum of the magnitudes that are added ... */
    PART_TERMS,     /* ... how many they are ... */
    PART_BITS,      /* ... and, of an exact reference, all terms in fixed point, by `or` */
    PART_UNSURE,    /* one element, not 0: rounding may decide what is written to X */
    PART_NEED,      /* which indices of one axis are wanted */
} BufferPart;

typedef enum { CLASS_FLOAT, CLASS_INT, CLASS_UINT, CLASS_BOOL, CLASS_INDEX } TypeClass;

typedef struct {
    const char *name, *cuda;
    TypeClass class;
    int bits, digits;
} TypeInfo;
const TypeInfo *type_info(DType type);
/* DT_COUNT if there is none. */
DType type_find(const char *name);
bool type_is_float(DType type);
/* The unsigned integer of 8, 16, 32 or 64 bits. */
DType type_of_bits(int bits);
/* INT, UINT or INDEX. */
bool type_is_int(DType type);
/* An integer of 8 bits, whose values f32, f16 and bf16 have. */
bool type_is_byte(DType type);
int type_bytes(DType type);
/* The largest finite number of a floating type, and the smallest above 0. */
double type_largest(DType type);
double type_smallest(DType type);
/* The value of a floating type nearest to `value`, ties to even (IEEE 754; OCP 8-bit formats).
 * Beyond the largest finite value it is an infinity, or for f8e4m3, which has none, a NaN. */
double type_round(DType type, double value);

/* The order of the elements of an input with one axis (order.def). */
typedef enum {
#define ORDER(e, name, meaning) ORDER_##e,
#include "ir/tables/order.def"
#undef ORDER
    ORDER_COUNT
} Order;
const char *order_name(Order order);
Order order_find(const char *name); /* ORDER_COUNT if there is none */

/* ---- functions ------------------------------------------------------------------------------- */

typedef enum {
#define CALL(e, name, arity, takes, gives, f32, f64, ulp, meaning) CALL_##e,
#include "ir/tables/call.def"
#undef CALL
    CALL_COUNT
} CallKind;
/* The type of a function's arguments. */
typedef enum {
    OF_FLOAT,   /* any floating type */
    OF_INTEGER, /* i32, u32, i64 or u64 */
    OF_WORD,    /* i32 or u32 */
    OF_BITS,    /* any type but bool and index */
    OF_U64,
} CallTakes;
/* The type of its result. */
typedef enum {
    GIVES_SAME, /* that of its arguments */
    GIVES_BOOL,
    GIVES_I32,
    GIVES_NAMED, /* the program names it: bitcast */
} CallGives;
typedef struct {
    const char *name, *f32, *f64, *meaning;
    int arity, ulp;
    CallTakes takes;
    CallGives gives;
} CallInfo;
const CallInfo *call_info(CallKind call);
/* exp or exp2, also the fast ones */
bool call_is_power(CallKind call);
/* Are results below the smallest normal number 0? Of floats of 32 bits and less. */
bool call_flushes(CallKind call);
bool call_takes(CallKind call, DType type);
/* The type of a call with arguments of type `type`; it names its own where the function leaves it
 * open (bitcast), and then it is `named`. */
DType call_result(CallKind call, DType type, DType named);
CallKind call_find(const char *name);

/* ---- cache hints ----------------------------------------------------------------------------- */

/* The cache hint of an access to global memory (cache_hint.def). */
typedef enum {
#define HINT(e, name, load, store, meaning) HINT_##e,
#include "ir/tables/cache_hint.def"
#undef HINT
    HINT_COUNT
} CacheHint;
typedef struct {
    const char *name, *meaning;
    bool load, store; /* accesses that may have it */
} CacheHintInfo;
const CacheHintInfo *cache_hint_info(CacheHint hint);
CacheHint cache_hint_find(const char *name); /* HINT_COUNT if there is none */

#endif
