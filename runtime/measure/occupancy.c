/* occupancy.c - see occupancy.h. */
#include "runtime/measure/occupancy.h"

enum { WARP = 32, REGISTER_UNIT = 256, SCHEDULERS = 4, SHARED_UNIT = 128 };

const char *occupancy_limit_name(OccupancyLimit limit)
{
    static const char *const names[] = {"threads", "blocks", "shared memory", "registers"};
    return names[limit];
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t by_registers(const Profile *p, const OccupancyNeed *need, int64_t warps)
{
    if (need->registers <= 0 || p->registers <= 0)
        return INT64_MAX;
    int64_t of_warp = ceil_div(need->registers * WARP, REGISTER_UNIT) * REGISTER_UNIT;
    int64_t fits = (int64_t)p->registers / SCHEDULERS / of_warp * SCHEDULERS;
    return fits / warps;
}

static int64_t by_shared(const Profile *p, const OccupancyNeed *need)
{
    int64_t bytes = need->shared_bytes + (int64_t)p->shared_reserved_bytes;
    if (bytes <= 0 || p->shared_bytes <= 0)
        return INT64_MAX;
    return (int64_t)p->shared_bytes / (ceil_div(bytes, SHARED_UNIT) * SHARED_UNIT);
}

Occupancy occupancy_of(const Profile *p, const OccupancyNeed *need)
{
    int64_t warps = ceil_div(need->threads > 0 ? need->threads : 1, WARP);
    Occupancy o = {.limit = LIMIT_THREADS};
    o.by[LIMIT_THREADS] = p->max_threads > 0 ? (int64_t)p->max_threads / (warps * WARP) : INT64_MAX;
    o.by[LIMIT_BLOCKS] = p->max_blocks > 0 ? (int64_t)p->max_blocks : INT64_MAX;
    o.by[LIMIT_SHARED] = by_shared(p, need);
    o.by[LIMIT_REGISTERS] = by_registers(p, need, warps);
    for (int i = 0; i < OCCUPANCY_LIMITS; i++)
        if (o.by[i] < o.by[o.limit])
            o.limit = (OccupancyLimit)i;
    o.blocks = o.by[o.limit] == INT64_MAX ? 0 : o.by[o.limit];
    o.threads = o.blocks * need->threads;
    o.share = p->max_threads > 0 ? (double)o.threads / p->max_threads : 0;
    return o;
}
