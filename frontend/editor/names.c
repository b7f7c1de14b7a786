/* names.c - Builds the index of a file's names from its programs and scripts. */
#include "frontend/editor/names.h"

#include "frontend/editor/internal.h"

const NameIndex *names_index(Context *c, const AstFile *file, const AstFile *program)
{
    NameIndex *index = ARENA_NEW(c->arena, NameIndex);
    Walk w = {.c = c, .index = index, .file = file, .parent = -1};
    w.foreign = true;
    if (program && program != file)
        walk_programs(&w, program);
    w.foreign = false;
    walk_programs(&w, file);
    walk_scripts(&w, file);
    return index;
}
