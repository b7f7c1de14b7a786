/* reindex.h - Declares what a copy by an index map stands for (internal to passes/schedule/copies;
 * reindex.c). */
#ifndef TIRC_PASSES_SCHEDULE_COPIES_REINDEX_H
#define TIRC_PASSES_SCHEDULE_COPIES_REINDEX_H

#include "passes/analysis/polyhedral/index_map.h"
#include "passes/schedule/copies/stage.h"

/* Another block that reads the copy. */
typedef struct {
    Stmt *stmt;
    Subst *iters; /* the first block's iterators to its own */
} Reader;

typedef struct {
    Schedule *s;
    Span span, map_span;
    StmtPath path;
    Stmt *stmt; /* the block */
    Buffer *from;
    const char *suffix;
    Scope scope;
    Expr *const *at;  /* [from->rank] the element, in the block's iterators */
    bool among;       /* the block also reads other elements, which stay where they are */
    bool takes_parts; /* a copy may have all parts of an element */
    int part_axis;    /* accesses have numbers there, which differ: the copy has all parts; or -1 */
    Var *part;        /* of them */
    Expr *inside;     /* the value is the element where this holds, and 0 elsewhere; NULL: always */
    Expr **to;        /* [n_to] the place, in the block's iterators */
    int n_to;
    PointBox points; /* the iterators that at and to use */
    Expr **extent;   /* [n_to] */
    Var **place;     /* [n_to] the iterators of the copying block */
    Expr **back;     /* [points.n] the iterators at a place; NULL: only the element is known */
    Expr **element;  /* [from->rank] the element at a place */
    Expr *inside_at_place;
    Facts *at_place; /* the ranges of the places */
    VEC(Reader) readers;
} Reindex;

/* The subscripts are those of the element at `at`, or of a part of it. */
bool reindex_is_part(const Reindex *r, Expr *const *index, Expr *const *at);
/* Finds the element that the block accesses: all accesses that are meant have the same subscripts,
 * made of iterators, but for numbers on an axis. */
bool reindex_find_element(Reindex *r);
/* Finds `inside`: the block's only access is the element of `inside ? element : 0`, and the
 * condition is made of iterators and reads no memory. */
void reindex_find_condition(Reindex *r);
/* Finds the other blocks that read the element, or a part of it. */
bool reindex_find_readers(Reindex *r, const Value *given);
/* Makes the place of plain reindex: the iterators that the element uses, each from 0. */
void reindex_place_by_iterators(Reindex *r);
bool reindex_place_by_map(Reindex *r, const IndexMap *map);
/* Adds an axis of the parts to the place, if there are several. */
void reindex_place_parts(Reindex *r);
/* Finds the iterators that the element, its condition or the place uses. */
void reindex_find_points(Reindex *r);

#endif
