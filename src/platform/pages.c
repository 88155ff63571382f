#include "pages.h"

#include "system.h"
#include "thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- what is there ---- */

/* Linux 6.7: finds pages by what they are (linux/fs.h). */
struct page_region {
    uint64_t start, end, categories;
};

struct page_scan {
    uint64_t size, flags, start, end, walk_end, regions, regions_size, pages_most;
    uint64_t inverted, all_of, any_of, returned;
};

#define PAGES_SCAN _IOWR('f', 16, struct page_scan)

enum {
    PAGE_PRESENT = 1 << 3,
    LOOK_AHEAD = 1 << 20, /* bytes behind what is asked about, which costs little */
};

enum { NO_FILE = -1, FILE_REFUSED = -2 };

static _Atomic int pagemap = NO_FILE; /* of this process */

/* What is lacking for now is tried again with the next look. */
static int find_pagemap(void)
{
    int fd = atomic_load_explicit(&pagemap, memory_order_relaxed), none = NO_FILE;

    if (fd != NO_FILE)
        return fd;
    fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return NO_FILE;
    int found = fd >= 0 ? fd : FILE_REFUSED;
    if (atomic_compare_exchange_strong(&pagemap, &none, found))
        return found;
    if (fd >= 0)
        (void)close(fd);
    return none;
}

/* The first page that is not there, or `end`; 0 if this kernel does not tell. */
static uintptr_t scan(uintptr_t first, uintptr_t end)
{
    struct page_region region = {.start = first};
    struct page_scan s = {
        .size = sizeof(s),
        .start = first,
        .end = end,
        .regions = (uintptr_t)&region,
        .regions_size = 1,
        .pages_most = 1,
        .inverted = PAGE_PRESENT,
        .all_of = PAGE_PRESENT,
        .returned = PAGE_PRESENT,
    };
    int fd = find_pagemap();

    int found = fd < 0 ? -1 : ioctl(fd, PAGES_SCAN, &s);
    if (found < 0)
        return 0;
    return found == 0 ? end : (uintptr_t)region.start;
}

/* The same by mincore, page by page behind the first that is no memory (ENOMEM): that is no page to
 * wait for. */
static uintptr_t scan_core(uintptr_t first, uintptr_t end, uintptr_t page)
{
    unsigned char there[1024];
    size_t most = sizeof(there);

    for (uintptr_t at = first; at < end;) {
        size_t pages = (end - at + page - 1) / page;
        pages = pages < most ? pages : most;
        int error = mincore((void *)at, pages * page, there) == 0 ? 0 : errno; /* NOLINT */
        if (error == ENOMEM && most > 1) {
            most = 1;
            continue;
        }
        if (error == EAGAIN)
            return at;
        for (size_t i = 0; error == 0 && i < pages; i++)
            if (!(there[i] & 1))
                return at + i * page;
        at += pages * page;
    }
    return end;
}

/* How far pages are there from `at` on; `end` is asked about. */
static uintptr_t there_until(uintptr_t at, uintptr_t end)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    at = at / page * page;
    end = (end + page - 1) / page * page;
    uintptr_t until = scan(at, end);
    return until != 0 ? until : scan_core(at, end, page);
}

bool pages_are_there(const void *at, size_t bytes)
{
    uintptr_t end = (uintptr_t)at + bytes;

    return bytes == 0 || there_until((uintptr_t)at, end) >= end;
}

/* Is what lies between the pieces not much more than they? Then [*first, *end) is all of it. */
static bool lie_together(const struct iovec *piece, size_t count, size_t stride, uintptr_t *first,
                         uintptr_t *end)
{
    size_t bytes = 0;

    *first = UINTPTR_MAX;
    *end = 0;
    for (size_t i = 0; i < count * stride; i += stride) {
        uintptr_t at = (uintptr_t)piece[i].iov_base, behind = at + piece[i].iov_len;
        *first = at < *first ? at : *first;
        *end = behind > *end ? behind : *end;
        bytes += piece[i].iov_len;
    }
    return *end > *first && *end - *first <= 2 * bytes;
}

/* Is all of [first, end) there, as far as is known, or as the kernel says now? */
static bool look(struct pages_seen *seen, uintptr_t first, uintptr_t end)
{
    instant now = clock_now();

    if (first >= seen->first && end <= seen->end && now - seen->at < PAGES_SEEN_FOR)
        return true;
    *seen = (struct pages_seen){first, there_until(first, end + LOOK_AHEAD), now};
    return seen->end >= end;
}

bool pages_of_all_are_there(struct pages_seen *seen, const struct iovec *piece, size_t count,
                            size_t stride, size_t *absent)
{
    uintptr_t first, end;

    if (lie_together(piece, count, stride, &first, &end) && look(seen, first, end))
        return true;
    for (size_t i = 0; i < count; i++)
        if (!pages_are_there(piece[i * stride].iov_base, piece[i * stride].iov_len)) {
            if (absent != NULL)
                *absent = i;
            return false;
        }
    return true;
}

/* ---- bringing it ---- */

struct fetch {
    struct thread thread;
    const uint8_t *at;      /* (c) */
    size_t bytes;           /* (c) */
    _Atomic size_t brought; /* (a) of those */
    _Atomic bool is_over;   /* (a) */
    _Atomic int holders;    /* (a) the thread, and who began it: the last one frees this */
    struct mutex mutex;     /* held while `tell` runs */
    void (*tell)(void *);   /* (m) NULL: left */
    void *context;          /* (m) */
};

static _Atomic uint32_t fetches;

static void drop(struct fetch *f)
{
    if (atomic_fetch_sub(&f->holders, 1) > 1)
        return;
    mutex_fini(&f->mutex);
    free(f);
}

/* For a kernel that cannot be asked for pages (before Linux 5.14). The kernel reads them, which
 * bears memory that is gone. */
static void touch(const uint8_t *at, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t byte;
    struct iovec here = {&byte, 1};

    for (size_t i = 0; i < bytes; i += page) {
        struct iovec there = {(void *)(uintptr_t)(at + i), 1}; /* NOLINT */
        (void)process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    }
}

static void tell(struct fetch *f)
{
    mutex_lock(&f->mutex);
    if (f->tell != NULL)
        f->tell(f->context);
    mutex_unlock(&f->mutex);
}

static bool is_left(struct fetch *f)
{
    return atomic_load(&f->holders) == 1;
}

static void bring(void *context)
{
    struct fetch *f = context;

    for (size_t at = 0; at < f->bytes && !is_left(f); at += FETCH_STEP) {
        size_t bytes = f->bytes - at < FETCH_STEP ? f->bytes - at : FETCH_STEP;
        if (memory_is_accessible(f->at + at, bytes, MEMORY_READ) &&
            !pages_are_there(f->at + at, bytes))
            touch(f->at + at, bytes);
        atomic_store(&f->brought, at + bytes);
        if (at + bytes < f->bytes)
            tell(f);
    }
    atomic_fetch_sub(&fetches, 1);
    atomic_store(&f->is_over, true);
    tell(f);
    drop(f);
}

struct fetch *fetch_begin(const void *at, size_t bytes, void (*told)(void *context), void *context)
{
    struct fetch *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return NULL;
    f->at = at;
    f->bytes = bytes < FETCH_MOST ? bytes : FETCH_MOST;
    f->holders = 2;
    f->tell = told;
    f->context = context;
    mutex_init(&f->mutex);
    if (atomic_fetch_add(&fetches, 1) < FETCHES &&
        thread_start(&f->thread, "zcrp-fetching", bring, f) == 0) {
        thread_leave(&f->thread);
        return f;
    }
    atomic_fetch_sub(&fetches, 1);
    fetch_abandon(f);
    return NULL;
}

bool fetch_has_brought(const struct fetch *f, const void *at, size_t bytes)
{
    uintptr_t from = (uintptr_t)at - (uintptr_t)f->at;
    size_t brought = atomic_load(&f->brought);

    return (uintptr_t)at >= (uintptr_t)f->at && from <= brought && bytes <= brought - from;
}

bool fetch_is_over(const struct fetch *f)
{
    return atomic_load(&f->is_over);
}

void fetch_leave(struct fetch *f)
{
    if (f == NULL)
        return;
    mutex_lock(&f->mutex);
    f->tell = NULL;
    mutex_unlock(&f->mutex);
    drop(f);
}

void fetch_abandon(struct fetch *f)
{
    free(f);
}

void pages_after_fork(void)
{
    int fd = atomic_load(&pagemap);

    if (fd >= 0)
        (void)close(fd);
    atomic_store(&pagemap, NO_FILE);
    atomic_store(&fetches, 0);
}
