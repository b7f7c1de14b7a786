/* answers.h - Declares the answers to requests about a document. Each takes the parameters of its
 * method and returns a result, which may be null. */
#ifndef TIRC_LSP_ANSWERS_H
#define TIRC_LSP_ANSWERS_H

#include "document.h"

typedef GVariant *Answer(const Documents *documents, GVariant *params);

/* hover.c */
Answer answer_hover;
/* navigate.c */
Answer answer_definition, answer_references, answer_highlights, answer_prepare_rename,
    answer_rename;
/* complete.c */
Answer answer_completion;
/* outline.c */
Answer answer_symbols, answer_tokens;
/* text.c */
Answer answer_formatting, answer_program_after;

/* The kinds of tokens that answer_tokens uses, an array for the capabilities. */
GVariant *outline_token_types(void);

#endif
