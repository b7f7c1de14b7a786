/* choice.c - see choice.h. */
#include "choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

void choice_free(Choice *c)
{
    free(c->text);
    free(c->settings);
}

/* Words between commas, without the blanks before them. */
static void cut_settings(Choice *c, char *at)
{
    for (char *word = strtok(at, ","); word; word = strtok(NULL, ","))
        c->settings[c->n++] = word + strspn(word, " ");
}

tirc_status choice_parse(const char *words, Choice *c)
{
    size_t length = strlen(words);
    *c = (Choice){.text = malloc(length + 1), .settings = calloc(length + 1, sizeof *c->settings)};
    if (!c->text || !c->settings) {
        fputs("tirc: out of memory\n", stderr);
        return TIRC_UNAVAILABLE;
    }
    memcpy(c->text, words, length + 1);
    c->name = c->text;
    char *open = strchr(c->text, '(');
    if (!open)
        return TIRC_OK;
    if (c->text[length - 1] != ')')
        return usage_error("--versus takes a schedule such as 'padded', with settings if needed: "
                           "'padded(row=2)'; found '%.60s'",
                           words);
    c->text[length - 1] = *open = '\0';
    cut_settings(c, open + 1);
    return TIRC_OK;
}

char *choice_next(char **rest)
{
    char *word = *rest + strspn(*rest, ", ");
    int open = 0;
    if (!*word)
        return NULL;
    for (*rest = word; **rest && (open > 0 || **rest != ','); ++*rest)
        open += **rest == '(' ? 1 : **rest == ')' ? -1 : 0;
    if (**rest)
        *(*rest)++ = '\0';
    return word;
}
