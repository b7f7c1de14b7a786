/* choice.h - Parses the schedules that --versus names, with or without settings, "padded",
 * "padded(row=2, T=16)", and lists of them. */
#ifndef TIRC_COMMAND_CHOICE_H
#define TIRC_COMMAND_CHOICE_H

#include <tirc.h>

typedef struct {
    char *text; /* a copy, cut into words */
    const char *name;
    const char **settings;
    size_t n;
} Choice;

/* Takes the words apart. TIRC_USAGE, said on standard error, where they are no schedule. The caller
 * frees the choice in any case. */
tirc_status choice_parse(const char *words, Choice *choice);
void choice_free(Choice *choice);

/* The next word of a list with commas outside of parentheses; NULL at its end. Advances `*rest`
 * past the word. */
char *choice_next(char **rest);

#endif
