/* annotation.c - Looks up, adds and removes annotations in immutable lists. */
#include <stdint.h>
#include <string.h>

#include "ir/ir.h"

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
