/* memory_model.c - Counts the sectors, banks and wavefronts of one request.
 *
 * The lanes name pieces (sectors, words, bytes in a run); distinct pieces are counted.
 * Neighbouring lanes mostly name neighbouring pieces, so the search for an equal one starts at the
 * latest. */
#include "ir/target/memory_model.h"

#include "ir/support.h"

enum { PIECES_MAX = WARP_LANES * (LANE_BYTES_MAX / BANK_BYTES + 1) };

typedef struct {
    int64_t items[PIECES_MAX];
    int n;
} PieceSet;

static void add_piece(PieceSet *set, int64_t piece)
{
    for (int i = set->n - 1; i >= 0; i--)
        if (set->items[i] == piece)
            return;
    set->items[set->n++] = piece;
}

static bool runs(const WarpAccess *access, int lane)
{
    return access->active >> lane & 1;
}

/* The pieces of `size` bytes that lanes [first, last) touch. Addresses may be negative: the origin
 * is anywhere. */
static void collect(const WarpAccess *access, int first, int last, int size, PieceSet *set)
{
    set->n = 0;
    for (int lane = first; lane < last; lane++) {
        if (!runs(access, lane))
            continue;
        int64_t from = floor_div64(access->address[lane], size);
        int64_t to = floor_div64(access->address[lane] + access->bytes - 1, size);
        for (int64_t piece = from; piece <= to; piece++)
            add_piece(set, piece);
    }
}

/* ---- global memory ------------------------------------------------------------------------- */

int memory_sectors(const WarpAccess *access)
{
    PieceSet sectors;
    collect(access, 0, WARP_LANES, SECTOR_BYTES, &sectors);
    return sectors.n;
}

int memory_lines(const WarpAccess *access)
{
    PieceSet lines;
    collect(access, 0, WARP_LANES, LINE_BYTES, &lines);
    return lines.n;
}

/* A lane that wants several words names the first one. */
int memory_words(const WarpAccess *access)
{
    PieceSet words = {.n = 0};
    for (int lane = 0; lane < WARP_LANES; lane++)
        if (runs(access, lane))
            add_piece(&words, floor_div64(access->address[lane], BANK_BYTES));
    return words.n;
}

/* Lanes are aligned to their size or not; either way their byte ranges are intervals, and the
 * measure of the union is what each adds beyond those before it in the order of addresses. */
int memory_distinct_bytes(const WarpAccess *access)
{
    PieceSet starts = {.n = 0};
    for (int lane = 0; lane < WARP_LANES; lane++)
        if (runs(access, lane))
            add_piece(&starts, access->address[lane]);
    for (int i = 1; i < starts.n; i++)
        for (int j = i; j > 0 && starts.items[j - 1] > starts.items[j]; j--) {
            int64_t swapped = starts.items[j];
            starts.items[j] = starts.items[j - 1];
            starts.items[j - 1] = swapped;
        }
    int bytes = starts.n ? access->bytes : 0;
    for (int i = 1; i < starts.n; i++) {
        int64_t gap = starts.items[i] - starts.items[i - 1];
        bytes += gap < access->bytes ? (int)gap : access->bytes;
    }
    return bytes;
}

int memory_sectors_ideal(const WarpAccess *access)
{
    return (memory_distinct_bytes(access) + SECTOR_BYTES - 1) / SECTOR_BYTES;
}

/* ---- shared memory ------------------------------------------------------------------------- */

int memory_bank(int64_t address)
{
    int64_t word = floor_div64(address, BANK_BYTES);
    return (int)(word - floor_div64(word, BANKS) * BANKS);
}

/* Does every lane name the same address as its partner, as far as both are active? */
static bool is_shared_by_partners(const WarpAccess *access, int distance)
{
    for (int lane = 0; lane < WARP_LANES; lane++) {
        int partner = lane ^ distance;
        if (runs(access, lane) && runs(access, partner) &&
            access->address[lane] != access->address[partner])
            return false;
    }
    return true;
}

int memory_group_lanes(const WarpAccess *access)
{
    if (access->bytes <= BANK_BYTES)
        return WARP_LANES;
    bool merges =
        !access->writes && (is_shared_by_partners(access, 1) || is_shared_by_partners(access, 2));
    return WAVEFRONT_BYTES / access->bytes * (merges ? 2 : 1);
}

static BankUse group_use(const WarpAccess *access, int first, int last)
{
    PieceSet words;
    int held[BANKS] = {0};
    BankUse use = {0, 0};
    collect(access, first, last, BANK_BYTES, &words);
    for (int i = 0; i < words.n; i++) {
        int bank = memory_bank(words.items[i] * BANK_BYTES);
        use.banks += held[bank]++ == 0;
        use.words = use.words < held[bank] ? held[bank] : use.words;
    }
    return use;
}

int memory_wavefronts(const WarpAccess *access)
{
    int lanes = memory_group_lanes(access), wavefronts = 0;
    for (int first = 0; first < WARP_LANES; first += lanes)
        wavefronts += group_use(access, first, first + lanes).words;
    return wavefronts;
}

/* The most lanes that any request of this width has served together. */
static int most_group_lanes(const WarpAccess *access)
{
    int lanes = WAVEFRONT_BYTES / access->bytes * (access->writes ? 1 : 2);
    return lanes < WARP_LANES ? lanes : WARP_LANES;
}

int memory_wavefronts_ideal(const WarpAccess *access)
{
    int full = (memory_distinct_bytes(access) + WAVEFRONT_BYTES - 1) / WAVEFRONT_BYTES, groups = 0;
    for (int lanes = most_group_lanes(access), first = 0; first < WARP_LANES; first += lanes) {
        uint32_t group = lanes == WARP_LANES ? UINT32_MAX : ((UINT32_C(1) << lanes) - 1) << first;
        groups += (access->active & group) != 0;
    }
    return full > groups ? full : groups;
}

BankUse memory_bank_use(const WarpAccess *access)
{
    int lanes = memory_group_lanes(access);
    BankUse worst = {0, 0};
    for (int first = 0; first < WARP_LANES; first += lanes) {
        BankUse use = group_use(access, first, first + lanes);
        if (use.words > worst.words)
            worst = use;
    }
    return worst;
}

/* ---- atomics ------------------------------------------------------------------------------- */

int memory_collisions(const WarpAccess *access)
{
    int most = 0;
    for (int lane = 0; lane < WARP_LANES; lane++) {
        int same = 0;
        for (int other = lane; runs(access, lane) && other < WARP_LANES; other++)
            same += runs(access, other) && access->address[other] == access->address[lane];
        most = same > most ? same : most;
    }
    return most;
}
