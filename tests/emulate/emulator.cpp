/* emulator.cpp - see emulator.h: fibers, memory with fences, and the comparison of a trial's
 * results. */
#include "emulator.h"

#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "narrow.h"

#ifndef __x86_64__
#error "the switch between fibers is written for x86-64"
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulator
{

/* ---- chance ---------------------------------------------------------------------------------- */

static uint64_t random_state;
static uint64_t random_bits()
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static long long random_below(long long n)
{
    return (long long)(random_bits() % (uint64_t)n);
}

/* ---- how a trial runs ------------------------------------------------------------------------ */

enum Order { FORWARD, BACKWARD, WARPS, SHUFFLED, ORDERS };
static struct {
    const char *name;
    int number; /* of the case */
    Order order;
    /* a buffer ends at a page that cannot be accessed; else it begins at one */
    bool fence_behind;
    bool wide;
    unsigned char garbage;
    bool on_device;
} now = {"?", 0, FORWARD, true, true, 0xff, false};

static int output = 1; /* verdicts go there */

static void say(const char *verdict, const char *detail)
{
    char line[1200];
    int n = snprintf(line, sizeof line, "%s\t%s\t%s\n", now.name, verdict, detail);
    if (n >= (int)sizeof line) {
        n = sizeof line - 1;
        line[n - 1] = '\n';
    }
    if (write(output, line, (size_t)n) != n)
        _exit(3);
}

[[noreturn]] void fault(const char *format, ...)
{
    char text[600], line[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(line, sizeof line, "case %d: %s; thread (%u, %u, %u) of block (%u, %u, %u)",
             now.number, text, threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x, blockIdx.y,
             blockIdx.z);
    say("fault", line);
    _exit(1);
}

/* ---- memory ---------------------------------------------------------------------------------- */

struct Region {
    char *pages, *begin;
    size_t page_bytes, bytes;
};
static std::vector<Region> regions;
enum { PAGE = 4096, CANARY = 0xa5 };

void *device_memory(long long bytes)
{
    if (bytes < 0 || bytes > 1ll << 32)
        fault("a buffer of %lld bytes", bytes);
    size_t whole = ((size_t)bytes + PAGE - 1) / PAGE * PAGE + (bytes ? 0 : PAGE);
    char *pages =
        (char *)mmap(nullptr, whole + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + PAGE, whole, PROT_READ | PROT_WRITE))
        fault("no memory for %lld bytes", bytes);
    size_t tail = now.wide ? ((size_t)bytes + 15) / 16 * 16 : (size_t)bytes;
    char *begin = now.fence_behind ? pages + PAGE + whole - tail : pages + PAGE;
    memset(pages + PAGE, CANARY, whole);
    memset(begin, now.garbage, (size_t)bytes);
    regions.push_back({pages, begin, whole, (size_t)bytes});
    return begin;
}

static void check_canaries()
{
    for (size_t i = 0; i < regions.size(); i++) {
        const Region &r = regions[i];
        for (const char *p = r.pages + PAGE; p < r.pages + PAGE + r.page_bytes; p++)
            if ((p < r.begin || p >= r.begin + r.bytes) && (unsigned char)*p != CANARY)
                fault("buffer %zu was written at byte %td of %zu", i, p - r.begin, r.bytes);
    }
}

static void free_memory()
{
    for (const Region &r : regions)
        munmap(r.pages, r.page_bytes + 2 * PAGE);
    regions.clear();
}

static void at_signal(int signal, siginfo_t *info, void *)
{
    const char *address = (const char *)info->si_addr;
    if (signal == SIGILL || signal == SIGTRAP)
        fault("%s without a meaning in C (an overflow, a shift, a subscript outside of its array, "
              "an address that is not aligned)",
              now.on_device ? "an operation of the emitted text"
                            : "the evaluation has an operation");
    if (signal == SIGFPE)
        fault("a division by 0");
    for (size_t i = 0; i < regions.size(); i++) {
        const Region &r = regions[i];
        if (address >= r.pages && address < r.pages + r.page_bytes + 2 * PAGE)
            fault("an access at byte %td of buffer %zu, which has %zu", address - r.begin, i,
                  r.bytes);
    }
    fault("an access of memory that is no buffer's");
}

static void catch_signals()
{
    static char stack[64 << 10];
    stack_t alternate = {stack, 0, sizeof stack};
    sigaltstack(&alternate, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = at_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (int s : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP})
        sigaction(s, &action, nullptr);
}

void check_aligned(const void *p, size_t bytes)
{
    if ((uintptr_t)p % bytes)
        fault("an access of %zu bytes at an address that is not a multiple of that", bytes);
}

/* ---- fibers ---------------------------------------------------------------------------------- */

extern "C" void emulator_switch(void **leave, void *enter);
asm(".text\n"
    ".globl emulator_switch\n"
    "emulator_switch:\n"
    "    pushq %rbp\n"
    "    pushq %rbx\n"
    "    pushq %r12\n"
    "    pushq %r13\n"
    "    pushq %r14\n"
    "    pushq %r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n"
    "    popq %r14\n"
    "    popq %r13\n"
    "    popq %r12\n"
    "    popq %rbx\n"
    "    popq %rbp\n"
    "    ret\n");

enum { MOST_THREADS = 1024, STACK = 256 << 10, WARP = 32, WARPGROUP = 128, BARRIERS = 16 };
enum State { READY, AT_BARRIER, AT_PART_BARRIER, AT_WARP_BARRIER, AT_MBARRIER, DONE };
struct Copy {
    void *to;
    const void *from;
    int bytes, given, group;
};
struct BulkCopy {
    char *shared;
    TensorMapOf map;
    int at[5], group; /* of the thread, from shared memory */
    Combine *combine; /* in an update */
};
struct Mbarrier {
    int arrivals, missing; /* of a phase: how many, and how many are to come */
    unsigned phase;
    long long expected; /* bytes */
    std::vector<BulkCopy> copies;
};
static std::map<unsigned, Mbarrier> mbarriers; /* of the block */
struct Thread {
    void *sp;
    State state;
    int line, exchanges, groups;
    unsigned mbarrier, parity; /* that it waits for */
    int part, barrier;         /* how many threads meet at its barrier, and its number */
    uint64_t slot[2];
    std::vector<Copy> copies;
    std::vector<BulkCopy> stores; /* from shared memory */
    int store_groups;
    std::vector<Product> products;
    int product_groups;
    bool fenced;          /* wgmma.fence: products may begin */
    uint32_t fragment[4]; /* of a product's first operand */
    /* what copies without fence.proxy.async have written; a barrier is behind those first ones */
    std::vector<Copy> unfenced;
    size_t unfenced_past;
};
static Thread threads[MOST_THREADS];
static int n_threads, current;
static void *scheduler_sp;
static char *stacks;
static void (*kernel_call)(void *);
static void *kernel_closure;
static Shared shared_now;

unsigned shared_address(const void *p)
{
    return (unsigned)((const char *)p - shared_now.begin);
}
void *shared_pointer(unsigned address)
{
    return shared_now.begin + address;
}

static void thread_main()
{
    kernel_call(kernel_closure);
    if (!threads[current].stores.empty())
        fault("a thread that ends before its bulk stores have read shared memory");
    threads[current].state = DONE;
    emulator_switch(&threads[current].sp, scheduler_sp);
    abort();
}

static void set_thread(int i)
{
    current = i;
    threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
}

static void prepare(int i)
{
    void **top = (void **)(stacks + (size_t)(i + 1) * STACK) - 2;
    *top = (void *)thread_main;
    threads[i].sp = top - 6;
    threads[i].state = READY;
    threads[i].exchanges = threads[i].groups = 0;
    threads[i].copies.clear();
    threads[i].stores.clear();
    threads[i].store_groups = 0;
    threads[i].products.clear();
    threads[i].product_groups = 0;
    threads[i].fenced = false;
    threads[i].unfenced.clear();
    threads[i].unfenced_past = 0;
}

static void pause_at(State state, int line)
{
    Thread *t = &threads[current];
    t->state = state;
    t->line = line;
    emulator_switch(&t->sp, scheduler_sp);
}

void barrier(int line)
{
    threads[current].unfenced_past = threads[current].unfenced.size();
    pause_at(AT_BARRIER, line);
}
void part_barrier(int line, int number, int n)
{
    threads[current].unfenced_past = threads[current].unfenced.size();
    threads[current].part = n;
    threads[current].barrier = number;
    pause_at(AT_PART_BARRIER, line);
}
unsigned lane()
{
    return (unsigned)current % WARP;
}
void warp_barrier(int line)
{
    pause_at(AT_WARP_BARRIER, line);
}

uint64_t exchange(int line, uint64_t value, unsigned lane_mask)
{
    Thread *t = &threads[current];
    int partner = current / WARP * WARP + (int)((unsigned)current % WARP ^ lane_mask),
        turn = t->exchanges++ % 2;
    if (partner >= n_threads)
        fault("a shuffle with lane %d of a warp that ends before it", partner % WARP);
    t->slot[turn] = value;
    pause_at(AT_WARP_BARRIER, line);
    return threads[partner].slot[turn];
}

void gather(int line, uint64_t value, uint64_t *values)
{
    int first = current / WARP * WARP, turn = threads[current].exchanges++ % 2;
    if (first + WARP > n_threads)
        fault("an instruction of a warp that has %d threads", n_threads - first);
    threads[current].slot[turn] = value;
    pause_at(AT_WARP_BARRIER, line);
    for (int i = 0; i < WARP; i++)
        values[i] = threads[first + i].slot[turn];
}

/* ---- asynchronous copies --------------------------------------------------------------------- */

void copy_async(void *to, const void *from, int bytes, int given)
{
    check_aligned(to, (size_t)bytes);
    check_aligned(from, (size_t)bytes);
    if ((char *)to < shared_now.begin || (char *)to + bytes > shared_now.end)
        fault("an asynchronous copy to what is no shared memory");
    memset(to, now.garbage, (size_t)bytes);
    threads[current].copies.push_back({to, from, bytes, given, threads[current].groups});
}

void copy_commit()
{
    threads[current].groups++;
}

void copy_wait(int pending)
{
    Thread *t = &threads[current];
    size_t left = 0;
    for (const Copy &c : t->copies) {
        if (c.group >= t->groups - pending) {
            t->copies[left++] = c;
            continue;
        }
        memset(c.to, 0, (size_t)c.bytes);
        memcpy(c.to, c.from, (size_t)c.given);
        t->unfenced.push_back(c);
    }
    t->copies.resize(left);
}

/* ---- bulk copies ----------------------------------------------------------------------------- */

static Mbarrier &mbarrier_at(unsigned address)
{
    auto found = mbarriers.find(address);
    if (found == mbarriers.end())
        fault("an mbarrier that has not been initialised");
    return found->second;
}

void mbarrier_init(unsigned mbarrier, int arrivals)
{
    check_aligned(shared_pointer(mbarrier), 8);
    mbarriers[mbarrier] = {arrivals, arrivals, 0, 0, {}};
}

void mbarrier_arrive(unsigned mbarrier)
{
    Mbarrier &m = mbarrier_at(mbarrier);
    if (m.missing-- == 0)
        fault("an arrival at an mbarrier whose phase waits for copies alone");
}

void mbarrier_expect(unsigned mbarrier, int bytes)
{
    mbarrier_at(mbarrier).expected += bytes;
}

static long long bytes_of(const TensorMapOf &map)
{
    long long bytes = map.bytes;
    for (int d = 0; d < map.rank; d++)
        bytes *= map.box[d];
    return bytes;
}

static BulkCopy bulk_copy(unsigned shared, const void *map, const int *at, int rank)
{
    BulkCopy copy = {(char *)shared_pointer(shared), {}, {}, 0, nullptr};
    memcpy(&copy.map, map, sizeof copy.map);
    memcpy(copy.at, at, (size_t)rank * sizeof *at);
    long long pitch = copy.map.bytes, row = pitch * copy.map.box[0];
    if (rank != copy.map.rank)
        fault("a copy with %d coordinates of a tensor with %d axes", rank, copy.map.rank);
    if ((uintptr_t)copy.map.tensor % 16 || row % 16 || (copy.map.span && row > copy.map.span))
        fault("a tensor map that the driver refuses");
    for (int d = 0; d < rank; d++) {
        if (copy.map.box[d] > 256 || (d > 0 && pitch % 16))
            fault("a tensor map that the driver refuses");
        pitch *= copy.map.extent[d];
    }
    check_aligned(copy.shared, copy.map.span ? (size_t)copy.map.span * 8 : 128);
    return copy;
}

void copy_bulk(unsigned to, const void *map, const int *at, int rank, unsigned mbarrier)
{
    BulkCopy copy = bulk_copy(to, map, at, rank);
    memset(copy.shared, now.garbage, (size_t)bytes_of(copy.map));
    mbarrier_at(mbarrier).copies.push_back(copy);
}

/* Where element `i` of the box lies in the tensor; null: outside of it. */
static char *in_tensor(const BulkCopy &copy, long long i)
{
    const TensorMapOf &map = copy.map;
    long long place = 0, pitch = 1;
    bool inside = true;
    for (int d = 0; d < map.rank; d++) {
        long long at = copy.at[d] + i % map.box[d];
        i /= map.box[d];
        inside &= at >= 0 && at < map.extent[d];
        place += at * pitch;
        pitch *= map.extent[d];
    }
    return inside ? (char *)map.tensor + place * map.bytes : nullptr;
}

/* Where it lies in shared memory: chunks of 16 bytes change places by bits of their address. */
static void *in_shared(const BulkCopy &copy, long long i)
{
    const TensorMapOf &map = copy.map;
    unsigned at = shared_address(copy.shared) + (unsigned)(i * map.bytes);
    if (map.span)
        at ^= (at >> 7 & (unsigned)(map.span / 16 - 1)) << 4;
    return shared_pointer(at);
}

/* Element by element: those outside of the tensor are 0. */
static void land(const BulkCopy &copy)
{
    size_t bytes = (size_t)copy.map.bytes;
    for (long long i = 0; i < bytes_of(copy.map) / copy.map.bytes; i++)
        if (const char *from = in_tensor(copy, i))
            memcpy(in_shared(copy, i), from, bytes);
        else
            memset(in_shared(copy, i), 0, bytes);
}

void store_bulk(const void *map, const int *at, int rank, unsigned from)
{
    update_bulk(map, at, rank, from, nullptr);
}

void update_bulk(const void *map, const int *at, int rank, unsigned from, Combine *combine)
{
    BulkCopy copy = bulk_copy(from, map, at, rank);
    copy.combine = combine;
    copy.group = threads[current].store_groups;
    threads[current].stores.push_back(copy);
}

void store_commit()
{
    threads[current].store_groups++;
}

/* A store reads shared memory no earlier than a wait makes it. */
void store_wait(int pending)
{
    Thread *t = &threads[current];
    size_t left = 0;
    for (const BulkCopy &copy : t->stores) {
        if (copy.group >= t->store_groups - pending) {
            t->stores[left++] = copy;
            continue;
        }
        for (long long i = 0; i < bytes_of(copy.map) / copy.map.bytes; i++)
            if (char *to = in_tensor(copy, i); to && copy.combine)
                copy.combine(copy.map.type, to, in_shared(copy, i));
            else if (to)
                memcpy(to, in_shared(copy, i), (size_t)copy.map.bytes);
    }
    t->stores.resize(left);
}

/* Completes the phase where copies alone are missing. */
static bool phase_is_complete(unsigned mbarrier, unsigned parity)
{
    Mbarrier &m = mbarrier_at(mbarrier);
    if ((m.phase & 1) != parity)
        return true;
    if (m.missing > 0)
        return false;
    long long brought = 0;
    for (const BulkCopy &copy : m.copies)
        brought += bytes_of(copy.map);
    if (brought != m.expected)
        fault("an mbarrier that expects %lld bytes, and copies of %lld", m.expected, brought);
    for (const BulkCopy &copy : m.copies)
        land(copy);
    m = {m.arrivals, m.arrivals, m.phase + 1, 0, {}};
    return true;
}

bool mbarrier_test(int line, unsigned mbarrier, unsigned parity)
{
    if (phase_is_complete(mbarrier, parity))
        return true;
    threads[current].mbarrier = mbarrier;
    threads[current].parity = parity;
    pause_at(AT_MBARRIER, line);
    return false;
}

/* Lets threads go on whose phase is complete; true if there is one. */
static bool release_mbarriers()
{
    bool any = false;
    for (int i = 0; i < n_threads; i++)
        if (threads[i].state == AT_MBARRIER &&
            phase_is_complete(threads[i].mbarrier, threads[i].parity)) {
            threads[i].state = READY;
            any = true;
        }
    return any;
}

/* Lets threads go on that meet at the barrier of a part of the block; true if there are some. */
static bool release_part(int number)
{
    int waiting = 0, last = 0;
    for (int i = 0; i < n_threads; i++)
        if (threads[i].state == AT_PART_BARRIER && threads[i].barrier == number) {
            waiting++;
            last = i;
        }
    if (waiting == 0 || waiting != threads[last].part)
        return false;
    for (int i = 0; i < n_threads; i++)
        if (threads[i].state == AT_PART_BARRIER && threads[i].barrier == number) {
            if (threads[i].line != threads[last].line)
                fault("a barrier at line %d that this thread never reaches", threads[last].line);
            threads[i].state = READY;
        }
    return true;
}

static bool release_parts()
{
    bool any = false;
    for (int number = 0; number < BARRIERS; number++)
        any |= release_part(number);
    return any;
}

/* ---- products of warpgroups ------------------------------------------------------------------ */

void proxy_fence()
{
    threads[current].unfenced.clear();
    threads[current].unfenced_past = 0;
}

void product_fence()
{
    threads[current].fenced = true;
}

/* Of eight columns of 4 bytes, a thread has number t % 4 and 4 more, in rows t % 32 / 4 and 8 more;
 * of 16 columns of 2 bytes t % 4 * 2 and 1, 8 and 9 more; of 32 of a byte t % 4 * 4 and so on. */
void product_rows(int line, const uint32_t *registers, int elements, Product *product)
{
    product->in_registers = true;
    memcpy(threads[current].fragment, registers, sizeof threads[current].fragment);
    warp_barrier(line);
    for (int u = 0; u < 2; u++)
        for (int k = 0; k < elements; k++) {
            int each = elements / 8, of = k % (elements / 2) / each;
            uint32_t bits = threads[current / 4 * 4 + of].fragment[k / (elements / 2) * 2 + u];
            product->rows[u][k] = bits >> k % each * (32 / each) & 0xffffffffu >> (32 - 32 / each);
        }
    warp_barrier(line);
}

/* A product whose first operand is in registers reads rows of 128 bytes of the other one alone,
 * which begins at a multiple of 1024; of others, any copy may be an operand. */
static bool may_read(const Product &product, const Copy &copy)
{
    const char *b = (const char *)shared_pointer((unsigned)(product.b & 0x3fc0) << 4);
    const char *to = (const char *)copy.to;
    return !product.in_registers || (to < b + product.n * 256 && to + copy.bytes > b);
}

void product_issue(int line, Product product)
{
    Thread *t = &threads[current];
    if (current / WARPGROUP * WARPGROUP + WARPGROUP > n_threads)
        fault("an instruction of a warpgroup that is not whole");
    if (!t->fenced)
        fault("a product of a warpgroup without wgmma.fence");
    for (int i = 0; i < n_threads; i++)
        for (size_t k = 0; k < threads[i].unfenced_past; k++)
            if (may_read(product, threads[i].unfenced[k]))
                fault("a product of a warpgroup reads copies that have no fence.proxy.async behind "
                      "them");
    warp_barrier(line);
    product.group = t->product_groups;
    for (int i = 0; i < product.n; i++)
        if (!product.fresh)
            memcpy(&product.values[i], product.sums[i], sizeof product.values[i]);
    for (int i = 0; i < product.n; i++)
        memset(product.sums[i], now.garbage, sizeof product.values[i]);
    t->products.push_back(product);
}

void product_commit()
{
    threads[current].product_groups++;
}

/* Returns the next product of the same sums, which begins with the results of this one, or NULL. */
static Product *next_product(std::vector<Product> &products, size_t i)
{
    for (size_t k = i + 1; k < products.size(); k++)
        if (products[k].sums[0] == products[i].sums[0])
            return products[k].fresh ? nullptr : &products[k];
    return nullptr;
}

void product_wait(int pending)
{
    Thread *t = &threads[current];
    size_t done = 0;
    while (done < t->products.size() && t->products[done].group < t->product_groups - pending)
        done++;
    for (size_t i = 0; i < done; i++) {
        Product &p = t->products[i];
        p.add(p, p.values);
        Product *next = next_product(t->products, i);
        for (int k = 0; k < p.n; k++)
            memcpy(next ? &next->values[k] : p.sums[k], &p.values[k], sizeof p.values[k]);
    }
    t->products.erase(t->products.begin(), t->products.begin() + (long)done);
    t->fenced = false;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void make_order(std::vector<int> &order, int n)
{
    order.resize((size_t)n);
    int n_warps = (n + WARP - 1) / WARP, first_warp = (int)random_below(n_warps);
    for (int i = 0; i < n; i++) {
        int warp = (i / WARP * 7 + first_warp) % n_warps;
        order[(size_t)i] = now.order == BACKWARD ? n - 1 - i : i;
        if (now.order == WARPS && n % WARP == 0 && n_warps % 7)
            order[(size_t)i] = warp * WARP + i % WARP;
    }
    for (int i = n - 1; i > 0 && now.order == SHUFFLED; i--)
        std::swap(order[(size_t)i], order[(size_t)random_below(i + 1)]);
}

/* Lets warps go on whose lanes all wait for each other; true if there is one. */
static bool release_warps()
{
    bool any = false;
    for (int w = 0; w < n_threads; w += WARP) {
        int end = w + WARP < n_threads ? w + WARP : n_threads, waiting = -1;
        for (int i = w; i < end; i++)
            if (threads[i].state == AT_WARP_BARRIER)
                waiting = i;
        if (waiting < 0)
            continue;
        for (int i = w; i < end; i++)
            if (threads[i].state != AT_WARP_BARRIER || threads[i].line != threads[waiting].line) {
                set_thread(i);
                fault("lane %d exchanges values at line %d, which this one never reaches",
                      waiting % WARP, threads[waiting].line);
            }
        for (int i = w; i < end; i++)
            threads[i].state = READY;
        any = true;
    }
    return any;
}

static void release_block()
{
    int waiting = 0;
    for (int i = 0; i < n_threads; i++)
        if (threads[i].state == AT_MBARRIER) {
            set_thread(i);
            fault("a wait for phase %u of an mbarrier that never ends", threads[i].parity);
        }
    for (int i = 0; i < n_threads; i++)
        if (threads[i].state == AT_PART_BARRIER) {
            set_thread(i);
            fault("a barrier of %d threads that not all of them reach", threads[i].part);
        }
    while (threads[waiting].state != AT_BARRIER)
        waiting++;
    for (int i = 0; i < n_threads; i++)
        if (threads[i].state != AT_BARRIER || threads[i].line != threads[waiting].line) {
            set_thread(i);
            fault("a barrier at line %d that this thread never reaches", threads[waiting].line);
        }
    for (int i = 0; i < n_threads; i++)
        threads[i].state = READY;
}

static void run_block(std::vector<int> &order)
{
    mbarriers.clear();
    for (int i = 0; i < n_threads; i++)
        prepare(i);
    for (;;) {
        bool all_done = true;
        make_order(order, n_threads);
        for (int i : order)
            if (threads[i].state == READY) {
                set_thread(i);
                emulator_switch(&scheduler_sp, threads[i].sp);
            }
        for (int i = 0; i < n_threads; i++)
            all_done &= threads[i].state == DONE;
        if (all_done)
            return;
        if (!release_mbarriers() && !release_warps() && !release_parts())
            release_block();
    }
}

void launch_grid(dim3 grid, dim3 block, long long dynamic_bytes, Shared shared,
                 void (*kernel)(void *), void *closure)
{
    uint64_t n = (uint64_t)block.x * block.y * block.z, blocks = (uint64_t)grid.x * grid.y * grid.z;
    bool small_grid = grid.x <= 0x7fffffffu && grid.y <= 65535 && grid.z <= 65535;
    if (n == 0 || n > MOST_THREADS || block.z > 64 || blocks == 0 || !small_grid)
        fault("a launch of (%u, %u, %u) blocks of (%u, %u, %u) threads", grid.x, grid.y, grid.z,
              block.x, block.y, block.z);
    if (dynamic_bytes > 227 << 10)
        fault("a launch with %lld bytes of shared memory", dynamic_bytes);
    if (!stacks)
        stacks = (char *)mmap(nullptr, (size_t)MOST_THREADS * STACK, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    gridDim = grid, blockDim = block, n_threads = (int)n, kernel_call = kernel,
    kernel_closure = closure, shared_now = shared;
    std::vector<int> order, block_order;
    now.on_device = true;
    bool all_at_once = blocks <= 1 << 16 && !shared.awaits;
    if (all_at_once)
        make_order(block_order, (int)blocks);
    for (uint64_t b = 0; b < blocks; b++) {
        uint64_t at = all_at_once ? (uint64_t)block_order[(size_t)b] : b;
        blockIdx = {(unsigned)(at % grid.x), (unsigned)(at / grid.x % grid.y),
                    (unsigned)(at / ((uint64_t)grid.x * grid.y))};
        memset(shared.begin, now.garbage, (size_t)(shared.end - shared.begin));
        run_block(order);
    }
    now.on_device = false;
}

/* ---- types ----------------------------------------------------------------------------------- */

struct Type {
    const char *name;
    int bytes;
    bool is_float, is_signed;
    double epsilon;
    NarrowFormat narrow;
};
static const Type types[] = {
    {"f64", 8, true, true, 0x1p-53, {}},
    {"f32", 4, true, true, 0x1p-24, {}},
    {"f16", 2, true, true, 0x1p-11, f16_format},
    {"bf16", 2, true, true, 0x1p-8, bf16_format},
    {"f8e4m3", 1, true, true, 0x1p-4, f8e4m3_format},
    {"f8e5m2", 1, true, true, 0x1p-3, f8e5m2_format},
    {"i64", 8, false, true, 0, {}},
    {"i32", 4, false, true, 0, {}},
    {"i16", 2, false, true, 0, {}},
    {"i8", 1, false, true, 0, {}},
    {"u64", 8, false, false, 0, {}},
    {"u32", 4, false, false, 0, {}},
    {"u16", 2, false, false, 0, {}},
    {"u8", 1, false, false, 0, {}},
    {"bool", 1, false, false, 0, {}},
};

static const Type *type_of(const Parameter *p)
{
    for (const Type &t : types)
        if (!strcmp(t.name, p->type))
            return &t;
    fault("no type %s", p->type);
}

static void put_float(const Type *t, void *to, double x)
{
    float single = (float)x;
    unsigned bits = t->narrow.exponent_bits ? narrow_bits(t->narrow, x) : 0;
    memcpy(to,
           t->bytes == 8   ? (void *)&x
           : t->bytes == 4 ? (void *)&single
                           : (void *)&bits,
           (size_t)t->bytes);
}

static double get_float(const Type *t, const void *from)
{
    double x;
    float single;
    unsigned bits = 0;
    memcpy(t->bytes == 8   ? (void *)&x
           : t->bytes == 4 ? (void *)&single
                           : (void *)&bits,
           from, (size_t)t->bytes);
    return t->bytes == 8 ? x : t->bytes == 4 ? single : narrow_value(t->narrow, bits);
}

static std::string text_of(const Type *t, const void *from)
{
    char text[64];
    long long i = 0;
    if (t->is_float) {
        snprintf(text, sizeof text, "%.9g", get_float(t, from));
        return text;
    }
    memcpy(&i, from, (size_t)t->bytes);
    int unused = 64 - 8 * t->bytes;
    i = (long long)((uint64_t)i << unused);
    snprintf(text, sizeof text, "%lld",
             t->is_signed ? i >> unused : (long long)((uint64_t)i >> unused));
    return text;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Integers are exact in every order of additions; special values find what algebra on reals
 * changes. */
enum Inputs { INTEGERS, FEW_INTEGERS, SPECIAL_FLOATS, SPECIAL_VALUES, NATURALS, CASES };

static double special_float(const Type *t)
{
    static const double values[] = {0.0, -0.0, 1, -1,   INFINITY, -INFINITY, NAN,
                                    0.5, -2.5, 3, 1e30, -1e30,    1e-30,     0.1};
    long long n = sizeof values / sizeof *values, i = random_below(n + 2);
    if (i < n)
        return values[i];
    return i == n          ? t->bytes == 8   ? 0x1p-1074
                             : t->bytes == 4 ? 0x1p-149
                                             : 0x1p-16
           : t->bytes == 8 ? 1.7976931348623157e308
                           : 0x1.fffffep127;
}

static long long special_integer(const Type *t)
{
    long long top = t->bytes == 8 ? INT64_MAX : (1ll << (8 * t->bytes - 1)) - 1;
    const long long values[] = {0, 1, -1, 2, 3, top, -top - 1, top - 1, top / 2 + 1};
    return values[random_below(sizeof values / sizeof *values)];
}

/* An input that the program assumes to lie between two numbers. */
static void fill_between(const Parameter *p, const Type *t, void *to)
{
    if (t->is_float) {
        put_float(t, to, p->low + (p->high - p->low) * (double)(1 + random_below(7)) / 8);
        return;
    }
    int bits = 8 * t->bytes - t->is_signed;
    double top = bits < 63 ? (double)((1ll << bits) - 1) : 9e18,
           high = p->high < top ? p->high : top;
    long long i = (long long)p->low + random_below((long long)(high - p->low) + 1);
    memcpy(to, &i, (size_t)t->bytes);
}

static void fill_one(const Parameter *p, const Type *t, Inputs inputs, void *to)
{
    static const int spans[CASES] = {9, 3, 9, 9, 0};
    int span = spans[inputs] * (t->is_float && t->bytes >= 4 && inputs == INTEGERS ? 4 : 1);
    bool special = inputs >= SPECIAL_FLOATS && inputs < NATURALS && random_below(2);
    long long i = span ? random_below(2 * span + 1) - span : random_below(8);
    if (p->low <= p->high) {
        fill_between(p, t, to);
        return;
    }
    if (t->is_float) {
        put_float(t, to, special ? special_float(t) : (double)i);
        return;
    }
    if (!strcmp(t->name, "bool"))
        i = random_below(2);
    else if (special && inputs == SPECIAL_VALUES)
        i = special_integer(t);
    else if (!t->is_signed && i < 0)
        i = -i;
    memcpy(to, &i, (size_t)t->bytes);
}

/* Elements in an order that the program assumes. Distinct ones are steps of one from the least. */
static void put_in_order(const Parameter *p, const Type *t, char *data)
{
    if (!*p->order || t->is_float)
        return;
    std::vector<long long> values;
    for (long long k = 0; k < p->elements; k++) {
        long long i = 0;
        memcpy(&i, data + k * t->bytes, (size_t)t->bytes);
        int unused = 64 - 8 * t->bytes;
        values.push_back(t->is_signed ? (long long)((uint64_t)i << unused) >> unused : i);
    }
    std::sort(values.begin(), values.end());
    for (long long k = 0; k < p->elements && strcmp(p->order, "nondecreasing"); k++)
        values[(size_t)k] = (p->low <= p->high ? (long long)p->low : 0) + k;
    for (long long k = p->elements - 1; k > 0 && strstr("distinct permutation", p->order); k--)
        std::swap(values[(size_t)k], values[(size_t)random_below(k + 1)]);
    for (long long k = 0; k < p->elements; k++)
        memcpy(data + k * t->bytes, &values[(size_t)k], (size_t)t->bytes);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static double largest(const Type *t, const char *data, long long n)
{
    double most = 1;
    for (long long i = 0; i < n; i++) {
        double x = fabs(get_float(t, data + i * t->bytes));
        most = x > most && x < INFINITY ? x : most;
    }
    return most;
}

static bool same(const Type *t, const char *got, const char *want, double tolerance)
{
    if (!memcmp(got, want, (size_t)t->bytes))
        return true;
    if (!t->is_float)
        return false;
    double a = get_float(t, got), b = get_float(t, want);
    return (a != a && b != b) || (tolerance > 0 && fabs(a - b) <= tolerance);
}

/* tolerance: of floats, relative to the largest of them; 0: bit for bit, but for the bits of NaN */
static void compare(const Parameter *p, const char *got, const char *want, bool exactly)
{
    const Type *t = type_of(p);
    double tolerance =
        exactly || !t->is_float ? 0 : 256 * t->epsilon * largest(t, want, p->elements);
    for (long long i = 0; i < p->elements; i++) {
        if (same(t, got + i * t->bytes, want + i * t->bytes, tolerance))
            continue;
        char text[300];
        snprintf(text, sizeof text, "case %d: %s[%lld] is %s, expected %s%s", now.number, p->name,
                 i, text_of(t, got + i * t->bytes).c_str(), text_of(t, want + i * t->bytes).c_str(),
                 exactly ? "" : " or near that");
        say("wrong", text);
        _exit(1);
    }
}

/* ---- a trial --------------------------------------------------------------------------------- */

static jmp_buf has_no_meaning;
static char why_undefined[100];

} // namespace emulator

[[noreturn]] void undefined(const char *why)
{
    snprintf(emulator::why_undefined, sizeof emulator::why_undefined, "%s", why);
    longjmp(emulator::has_no_meaning, 1);
}

namespace emulator
{

struct Data {
    std::vector<std::vector<char>> inputs, wanted;
};

static Data make_data(const Trial *trial, Inputs inputs)
{
    Data d;
    for (int i = 0; i < trial->n_parameters; i++) {
        const Parameter *p = &trial->parameters[i];
        const Type *t = type_of(p);
        std::vector<char> bytes((size_t)(p->elements * t->bytes) + 1, (char)now.garbage);
        for (long long k = 0; k < p->elements && p->role != OUT; k++)
            fill_one(p, t, inputs, &bytes[(size_t)(k * t->bytes)]);
        if (p->role != OUT)
            put_in_order(p, t, bytes.data());
        d.inputs.push_back(bytes);
    }
    d.wanted = d.inputs;
    return d;
}

/* What the program computes; false where it has no meaning. *exact: nothing was rounded. */
static bool evaluate(const Trial *trial, Data *d, bool *exact)
{
    std::vector<void *> arguments;
    for (std::vector<char> &bytes : d->wanted)
        arguments.push_back(bytes.data());
    if (setjmp(has_no_meaning))
        return false;
    feclearexcept(FE_ALL_EXCEPT);
    trial->evaluate(arguments.data());
    *exact = !fetestexcept(FE_INEXACT);
    return true;
}

static void run_on_device(const Trial *trial, const Data &d)
{
    std::vector<void *> arguments;
    for (int i = 0; i < trial->n_parameters; i++) {
        const Parameter *p = &trial->parameters[i];
        long long bytes = (long long)d.inputs[(size_t)i].size() - 1;
        void *at = p->is_scalar ? (void *)d.inputs[(size_t)i].data() : device_memory(bytes);
        if (!p->is_scalar)
            memcpy(at, d.inputs[(size_t)i].data(), (size_t)bytes);
        arguments.push_back(at);
    }
    trial->launch(arguments.data());
    check_canaries();
    for (int i = 0; i < trial->n_parameters; i++)
        if (!trial->parameters[i].is_scalar)
            memcpy((void *)d.inputs[(size_t)i].data(), arguments[(size_t)i],
                   d.inputs[(size_t)i].size() - 1);
    free_memory();
}

/* How it was compared: 0 the program has no meaning with these inputs, 1 nearly, 2 bit for bit. */
static int run_case(const Trial *trial, Inputs inputs)
{
    random_state = trial->seed * 1000003 + (uint64_t)inputs;
    now.number = inputs;
    now.order = (Order)((trial->seed + (uint64_t)inputs) % ORDERS);
    now.fence_behind = inputs != FEW_INTEGERS;
    now.garbage = inputs == INTEGERS
    ? 0xff : 0x7b;
    now.wide = trial->wide;
    Data d = make_data(trial, inputs);
    bool exact = false;
    if (!evaluate(trial, &d, &exact))
        return 0;
    run_on_device(trial, d);
    exact |= !trial->reorders;
    for (int i = 0; i < trial->n_parameters; i++)
        if (!trial->parameters[i].is_scalar)
            compare(&trial->parameters[i], d.inputs[(size_t)i].data(), d.wanted[(size_t)i].data(),
                    exact);
    return exact ? 2 : 1;
}

static void run_trial(const Trial *trial)
{
    int meaning = run_case(trial, INTEGERS), exact = meaning == 2;
    int other = run_case(trial, meaning ? FEW_INTEGERS : NATURALS);
    exact |= other == 2;
    meaning |= other;
    if (!trial->reorders) {
        meaning |= run_case(trial, SPECIAL_FLOATS);
        meaning |= run_case(trial, SPECIAL_VALUES);
    }
    say(!meaning ? "undefined" : exact ? "exact" : "near", meaning ? "" : why_undefined);
}

/* $EMULATOR_SECONDS of CPU for a trial. */
static double most_seconds()
{
    const char *text = getenv("EMULATOR_SECONDS");
    return text ? atof(text) : 20;
}

template <class Run> void run_in_process(const char *name, Run run)
{
    now.name = name;
    pid_t pid = fork();
    if (pid == 0) {
        catch_signals();
        long most = (long)(most_seconds() * 1e6);
        struct itimerval limit = {{0, 0}, {most / 1000000, most % 1000000}};
        setitimer(ITIMER_PROF, &limit, nullptr);
        alarm((unsigned)(20 * most_seconds()));
        run();
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status))
        say(WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM ? "hung" : "crashed",
            strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) > 1)
        say("crashed", "an unknown status");
}

/* With names as arguments only those. */
static bool is_wanted(const char *name, int argc, char **argv)
{
    bool wanted = argc < 2;
    for (int k = 1; k < argc; k++)
        wanted |= !strcmp(argv[k], name);
    return wanted;
}

int run_trials(const Trial *trials, int n, int argc, char **argv)
{
    for (int i = 0; i < n; i++)
        if (is_wanted(trials[i].name, argc, argv))
            run_in_process(trials[i].name, [&] { run_trial(&trials[i]); });
    return 0;
}

/* What a program prints is the detail of a verdict that is not good. */
static void say_status(int status, void *printed)
{
    char text[700] = "";
    fflush(stdout);
    if (pread((int)(intptr_t)printed, text, sizeof text - 1, 0) < 0)
        text[0] = 0;
    for (char *c = text; *c; c++)
        *c = *c == '\n' ? ' ' : *c == '\t' ? ' ' : *c;
    say(status == 0 ? "exact" : status == 4 ? "wrong" : "fault", text);
    _exit(0);
}

static void run_program(const Complete *program)
{
    char path[] = "/tmp/tirc-complete-XXXXXX";
    int printed = mkstemp(path), verdicts = dup(1);
    unlink(path);
    dup2(printed, 1);
    dup2(printed, 2);
    output = verdicts;
    random_state = (uint64_t)strtoull(program->name, nullptr, 10);
    now.order = (Order)(random_state % ORDERS);
    now.fence_behind = random_state % 3;
    on_exit(say_status, (void *)(intptr_t)printed);
    int status = program->main(program->argc, (char **)program->argv);
    check_canaries();
    exit(status);
}

int run_complete(const Complete *programs, int n, int argc, char **argv)
{
    for (int i = 0; i < n; i++)
        if (is_wanted(programs[i].name, argc, argv))
            run_in_process(programs[i].name, [&] { run_program(&programs[i]); });
    return 0;
}

} // namespace emulator
