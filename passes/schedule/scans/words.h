/* words.h - Puts values into words of 64 bits, in which blocks of a grid publish them to each other
 * (internal to passes/schedule/scans). */
#ifndef TIRC_PASSES_SCHEDULE_SCANS_WORDS_H
#define TIRC_PASSES_SCHEDULE_SCANS_WORDS_H

#include "passes/schedule/sched.h"

/* How many words a value of the type takes. */
int words_of(DType type);
/* Word `number` of a value: a part of its bits, and the flag. */
Expr *word_of(Context *c, Expr *value, int number);
/* The value of the type in elements [words_of(type)], once all of them are there. */
Expr *value_of_words(Context *c, DType type, Expr *const *elements);
/* A nest that stores 0 to all words. */
Stmt *words_clear(Schedule *s, Buffer *words, Span span);

#endif
