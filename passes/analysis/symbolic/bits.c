/* bits.c - Writes bit operations of INDEX numbers as sums, products, quotients and remainders.
 *
 * These are what the analysis knows: i >> 4 becomes i / 16, i & 15 becomes i % 16, (i << 4) | j
 * becomes i * 16 + j where j is less than 16, and i ^ 16 becomes i + 16 - i / 16 % 2 * 32.
 * Quotients round towards 0, so numbers must be proved to be at least 0. What is not proved stays
 * as it is. */
#include "passes/analysis/symbolic/affine.h"

static Expr *power(Facts *f, int bit)
{
    return expr_index(f->c, INT64_C(1) << bit);
}

static bool is_shift(const Expr *count, int64_t *bits)
{
    return expr_is_const(count, bits) && *bits >= 0 && *bits < 62;
}

/* The lowest bit of a number above 0, and the number of bits up to its highest. */
static int lowest_bit(int64_t number)
{
    int bit = 0;
    while (!(number >> bit & 1))
        bit++;
    return bit;
}

static int bit_length(int64_t number)
{
    int bits = 0;
    while (bits < 63 && number >> bits != 0)
        bits++;
    return bits;
}

/* The bits low ... high - 1 of `a`, where they stand. */
static Expr *field(Facts *f, Expr *a, int low, int high)
{
    Expr *rest = index_div(f->c, a, power(f, low));
    if (high < 63)
        rest = index_mod(f->c, rest, power(f, high - low));
    return index_mul(f->c, rest, power(f, low));
}

/* a & mask, of bits in a row; a mask below 0 has all bits from one on. */
static Expr *masked(Facts *f, Expr *a, Expr *mask)
{
    int64_t bits;
    if (!expr_is_const(mask, &bits) || bits == INT64_MIN || !prove_at_least(f, a, 0))
        return NULL;
    if (bits == 0)
        return mask;
    int low = lowest_bit(bits < 0 ? -bits : bits), high = bits < 0 ? 63 : bit_length(bits);
    if (bits > 0 && high - low > 61)
        return NULL;
    int64_t all = bits < 0 ? -1 : (INT64_C(1) << (high - low)) - 1;
    return bits >> low == all ? field(f, a, low, high) : NULL;
}

/* `a` has none of the bits that `b`, from 0 to `most`, may have. */
static bool lacks_bits(Facts *f, Expr *a, Expr *b, int64_t most)
{
    int64_t number;
    int high = bit_length(most);
    if (!expr_is_const(b, &number) || number <= 0)
        return high < 62 && prove_divisible(f, a, INT64_C(1) << high);
    return high < 62 &&
           prove_compare(f, field(f, a, lowest_bit(number), high), EX_EQ, expr_index(f->c, 0));
}

static bool are_apart(Facts *f, Expr *a, Expr *b)
{
    int64_t least, most;
    return bounds_const(f, b, &least, &most) && least >= 0 && most < INT64_MAX &&
           prove_at_least(f, a, 0) && lacks_bits(f, a, b, most);
}

/* a | b, and a ^ b, of numbers that share no bits. */
static Expr *joined(Facts *f, Expr *left, Expr *right)
{
    return are_apart(f, left, right) || are_apart(f, right, left) ? index_add(f->c, left, right)
                                                                  : NULL;
}

/* a ^ 2^bit: a + 2^bit less twice the bit of a. */
static Expr *flipped(Facts *f, Expr *a, Expr *number)
{
    int64_t value;
    if (!expr_is_const(number, &value) || value <= 0 || value >= INT64_C(1) << 61)
        return NULL;
    int bit = lowest_bit(value);
    if (value >> bit != 1 || !prove_at_least(f, a, 0))
        return NULL;
    Expr *twice = index_mul(f->c, field(f, a, bit, bit + 1), expr_index(f->c, 2));
    return index_sub(f->c, index_add(f->c, a, number), twice);
}

static Expr *exclusive(Facts *f, Expr *left, Expr *right)
{
    Expr *sum = joined(f, left, right);
    if (!sum)
        sum = flipped(f, left, right);
    return sum ? sum : flipped(f, right, left);
}

static Expr *shifted_right(Facts *f, Expr *a, Expr *count)
{
    int64_t bits;
    return is_shift(count, &bits) && prove_at_least(f, a, 0)
               ? index_div(f->c, a, power(f, (int)bits))
               : NULL;
}

Expr *bits_as_arithmetic(Facts *f, Expr *e)
{
    int64_t bits;
    Expr *left = e->u.arg[0], *right = e->u.arg[1];
    switch (e->kind) {
    case EX_SHL: return is_shift(right, &bits) ? index_mul(f->c, left, power(f, (int)bits)) : NULL;
    case EX_SHR: return shifted_right(f, left, right);
    case EX_BITAND:
        return expr_is_const(left, &bits) ? masked(f, right, left) : masked(f, left, right);
    case EX_BITOR: return joined(f, left, right);
    case EX_BITXOR: return exclusive(f, left, right);
    default: return NULL;
    }
}
