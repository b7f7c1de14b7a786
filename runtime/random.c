/* random.c - see random.h. */
#include "runtime/random.h"

#include "runtime/vm.h"

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

Random random_new(uint64_t seed, uint64_t stream)
{
    uint64_t mixed = stream, state = seed ^ splitmix(&mixed);
    Random r;
    for (int i = 0; i < 4; i++)
        r.s[i] = splitmix(&state);
    return r;
}

/* The next 64 bits of xoshiro256**. */
static uint64_t next_bits(Random *r)
{
    uint64_t *s = r->s, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t random_below(Random *r, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)next_bits(r) * n) >> 64);
}

/* In [-1, 1), 53 random bits. */
static double unit_float(Random *r)
{
    return (double)(next_bits(r) >> 11) * 0x1p-52 - 1.0;
}

/* The values of an integer type: `least` and how many there are to choose from. */
static uint64_t int_choices(DType type, int64_t *least)
{
    const TypeInfo *info = type_info(type);
    bool is_signed = info->class == CLASS_INT || info->class == CLASS_INDEX;
    *least = is_signed ? -100 : 0;
    return type == DT_U8 ? 256 : 201;
}

static VmValue value_of(DType type, int64_t integer)
{
    VmValue value = {0};
    if (type == DT_F64)
        value.f64 = (double)integer;
    else if (type_is_float(type))
        value.f32 = (float)integer;
    else if (vm_type_of(type) == VM_I64 || vm_type_of(type) == VM_U64)
        value.i64 = integer;
    else
        value.i32 = (int32_t)integer;
    return value;
}

static VmValue random_value(Random *r, DType type)
{
    VmValue value = {0};
    if (type == DT_BOOL) {
        value.boolean = (uint8_t)(next_bits(r) >> 63);
    } else if (type == DT_F64) {
        value.f64 = unit_float(r);
    } else if (type_is_float(type)) {
        value.f32 = (float)unit_float(r);
    } else {
        int64_t least;
        uint64_t choices = int_choices(type, &least);
        return value_of(type, least + (int64_t)random_below(r, choices));
    }
    return value;
}

static int64_t small_integer(Random *r, DType type, const SmallIntegers *from)
{
    TypeClass class = type_info(type)->class;
    uint64_t bits = next_bits(r);
    if (from->magnitude == 0 || (double)(bits >> 11) * 0x1p-53 >= from->share)
        return 0;
    int64_t size = 1 + (int64_t)random_below(r, (uint64_t)from->magnitude);
    bool negative = (bits & 1) && class != CLASS_UINT;
    return negative ? -size : size;
}

void random_fill_small(Random *r, DType type, void *to, int64_t n, const SmallIntegers *from)
{
    char *at = to;
    int bytes = type_bytes(type);
    for (int64_t i = 0; i < n; i++, at += bytes)
        vm_value_store(type,
                       type == DT_BOOL ? random_value(r, type)
                                       : value_of(type, small_integer(r, type, from)),
                       at);
}

/* As random_fill does, several times as fast: inputs of benchmarks have thousands of millions. */
static void fill_f32(Random *r, float *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)unit_float(r);
}

void random_fill(Random *r, DType type, void *to, int64_t n)
{
    if (type == DT_F32) {
        fill_f32(r, to, n);
        return;
    }
    char *at = to;
    int bytes = type_bytes(type);
    for (int64_t i = 0; i < n; i++, at += bytes)
        vm_value_store(type, random_value(r, type), at);
}
