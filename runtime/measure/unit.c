/* unit.c - see unit.h. */
#include "runtime/measure/unit.h"

#include <stdlib.h>

/* ---- gathering ----------------------------------------------------------------------------- */

void unit_begin(UnitAccesses *u, int lanes)
{
    u->lanes = lanes;
}

void unit_end(UnitAccesses *u)
{
    u->lanes = 0;
    u->n = u->last = 0;
    numbers_clear(&u->known);
}

void unit_free(UnitAccesses *u)
{
    for (int i = 0; i < u->capacity; i++)
        free(u->operands[i].pieces);
    free(u->operands);
    numbers_free(&u->known);
}

static int first_warp(const UnitAccesses *u, int warp)
{
    return u->lanes > WARP_LANES ? warp - warp % (u->lanes / WARP_LANES) : warp;
}

static bool room_for_operand(UnitAccesses *u)
{
    if (u->n < u->capacity)
        return true;
    int capacity = u->capacity ? 2 * u->capacity : 8;
    UnitOperand *larger = realloc(u->operands, (size_t)capacity * sizeof *larger);
    if (!larger)
        return false;
    for (int i = u->capacity; i < capacity; i++)
        larger[i] = (UnitOperand){0};
    u->operands = larger;
    u->capacity = capacity;
    return true;
}

/* The operand that a request accesses; -1 without memory. Requests of one place come warp by
 * warp. */
static int operand_of(UnitAccesses *u, const AccessEvent *e)
{
    int warp = first_warp(u, e->warp);
    for (int i = 0; i < u->n; i++) {
        int at = (u->last + i) % u->n;
        if (u->operands[at].event.inst == e->inst && u->operands[at].event.warp == warp)
            return u->last = at;
    }
    if (!room_for_operand(u))
        return -1;
    UnitOperand *new = &u->operands[u->n];
    new->event = *e;
    new->event.warp = warp;
    new->n = 0;
    return u->last = u->n++;
}

static bool push_piece(UnitOperand *o, int64_t address)
{
    if (o->n == o->capacity) {
        int capacity = o->capacity ? 2 * o->capacity : 64;
        int64_t *larger = realloc(o->pieces, (size_t)capacity * sizeof *larger);
        if (!larger)
            return false;
        o->pieces = larger;
        o->capacity = capacity;
    }
    o->pieces[o->n++] = address;
    return true;
}

static bool add_piece(UnitAccesses *u, int operand, int64_t address)
{
    uint64_t number = (uint64_t)address / PIECE_BYTES, key = (uint64_t)operand << 48 | number;
    bool fresh;
    if (!numbers_add(&u->known, key, &fresh))
        return false;
    return !fresh || push_piece(&u->operands[operand], (int64_t)number * PIECE_BYTES);
}

bool unit_add(UnitAccesses *u, const AccessEvent *e)
{
    int operand = operand_of(u, e);
    int64_t last = -1;
    for (int lane = 0; operand >= 0 && lane < WARP_LANES; lane++) {
        int64_t at = e->lanes.address[lane];
        if (!(e->lanes.active >> lane & 1) || at / PIECE_BYTES == last)
            continue;
        last = at / PIECE_BYTES;
        if (!add_piece(u, operand, at))
            return false;
    }
    return operand >= 0;
}

/* ---- pricing ------------------------------------------------------------------------------- */

enum { ROWS = WAVEFRONT_BYTES / PIECE_BYTES };

/* Pieces as the request of a warp, a lane for each. */
static WarpAccess request_of(const UnitOperand *o, int first, int n)
{
    WarpAccess w = {.bytes = PIECE_BYTES, .writes = o->event.op != ACCESS_LOAD};
    for (int i = 0; i < n && first + i < o->n; i++) {
        w.address[i] = o->pieces[first + i];
        w.active |= UINT32_C(1) << i;
    }
    return w;
}

/* The most pieces in the same banks. */
static int most_in_bank(const WarpAccess *w)
{
    int in[ROWS] = {0}, most = 0;
    for (int i = 0; i < WARP_LANES; i++)
        if (w->active >> i & 1) {
            int *here = &in[w->address[i] / PIECE_BYTES % ROWS];
            most = ++*here > most ? *here : most;
        }
    return most;
}

static int64_t sectors_of(const UnitOperand *o)
{
    int64_t n = 0, last = -1;
    for (int i = 0; i < o->n; i++) {
        n += o->pieces[i] / SECTOR_BYTES != last;
        last = o->pieces[i] / SECTOR_BYTES;
    }
    return n;
}

AccessCost unit_cost(const UnitOperand *o, WarpAccess *worst)
{
    AccessCost cost = {.requests = 1, .lanes = o->n};
    bool global = o->event.buffer->space == VM_GLOBAL;
    int together = global || type_bytes(o->event.buffer->type) == 8 ? WARP_LANES : ROWS, most = 0;
    *worst = request_of(o, 0, together);
    if (global) {
        cost.sectors = sectors_of(o);
        cost.sectors_ideal = (o->n * PIECE_BYTES + SECTOR_BYTES - 1) / SECTOR_BYTES;
        return cost;
    }
    for (int i = 0; i < o->n; i += together) {
        WarpAccess w = request_of(o, i, together);
        int wavefronts = most_in_bank(&w);
        cost.wavefronts += wavefronts;
        *worst = wavefronts > most ? w : *worst;
        most = wavefronts > most ? wavefronts : most;
    }
    cost.wavefronts_ideal = (o->n + ROWS - 1) / ROWS;
    return cost;
}
