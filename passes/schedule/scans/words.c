/* words.c - Puts values into words of 64 bits which also say that the value is there.
 *
 * The upper half of a word holds 32 bits of a value, and bit 0 is the flag, so one access publishes
 * both, and no fence is needed. A value of 64 bits takes two words, its upper half first: a reader
 * that has awaited both has both halves, whichever it sees first. */
#include "passes/schedule/scans/words.h"

#include "passes/schedule/copies/stage.h"

enum { HALF_BITS = 32 };

static Expr *u64(Context *c, int64_t value)
{
    return expr_int(c, DT_U64, value, span_none());
}

static Expr *shift(Context *c, ExprKind direction, Expr *value)
{
    return expr_binary(c, direction, value, u64(c, HALF_BITS), value->span);
}

static Expr *converted(Context *c, DType type, Expr *value)
{
    return value->type == type ? value : expr_cast(c, type, value, value->span);
}

int words_of(DType type)
{
    return type_info(type)->bits > HALF_BITS ? 2 : 1;
}

Expr *word_of(Context *c, Expr *value, int number)
{
    DType bits = type_of_bits(type_info(value->type)->bits);
    bool is_number = value->type == bits || value->type == DT_BOOL;
    Expr *held = is_number ? value : expr_bitcast(c, bits, value, value->span);
    Expr *wide = converted(c, DT_U64, held);
    if (words_of(value->type) == 2 && number == 0)
        wide = shift(c, EX_SHR, wide);
    return expr_binary(c, EX_BITOR, shift(c, EX_SHL, wide), u64(c, 1), value->span);
}

static Expr *awaited(Context *c, Expr *element)
{
    Expr *word = expr_call(c, CALL_AWAIT, &element, element->span);
    return shift(c, EX_SHR, word);
}

Expr *value_of_words(Context *c, DType type, Expr *const *elements)
{
    Span span = elements[0]->span;
    DType bits = type_of_bits(type_info(type)->bits);
    Expr *held = awaited(c, elements[0]);
    if (words_of(type) == 2)
        held = expr_binary(c, EX_BITOR, shift(c, EX_SHL, held), awaited(c, elements[1]), span);
    if (type == DT_BOOL)
        return expr_binary(c, EX_NE, held, u64(c, 0), span);
    held = converted(c, bits, held);
    return type == bits ? held : expr_bitcast(c, type, held, span);
}

Stmt *words_clear(Schedule *s, Buffer *words, Span span)
{
    Context *c = s->ctx;
    Expr **index;
    StageNest nest = stage_over(s, words, NULL, span, &index);
    nest.block = sched_fresh_name(s, ctx_namef(c, "%s_clear", words->name));
    Expr *zero = expr_int(c, DT_U64, 0, span_none());
    nest.body = stmt_set(c, (BufferElement){words, index}, zero, span);
    return stage_nest(s, &nest, span);
}
