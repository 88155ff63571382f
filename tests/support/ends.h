/* Both ends of a transfer in one process, for end-to-end tests: the public API, and libcheck. */
#ifndef ZCRP_TESTS_SUPPORT_ENDS_H
#define ZCRP_TESTS_SUPPORT_ENDS_H

#include "loopback.h"
#include "pattern.h"
#include "suite.h"
#include "zcrp.h"

#include "asserts.h"
#include "common/clock.h"
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENDS_SECOND ((int64_t)1000000000)
#define ENDS_MILLISECOND (ENDS_SECOND / 1000)

struct ends {
    struct loopback sockets;
    struct zcrp_entity *sender;
    struct zcrp_entity *receiver;
};

/* Opens an entity on its end of the sockets; the code. */
static inline int ends_open_role(struct zcrp_entity **e, const struct loopback *sockets,
                                 bool is_sender, const struct zcrp_options *options)
{
    return is_sender ? zcrp_open_sender(e, sockets->sender, options)
                     : zcrp_open_receiver(e, sockets->receiver, options);
}

static inline struct ends ends_open_at(const struct loopback *sockets,
                                       const struct zcrp_options *of_sender,
                                       const struct zcrp_options *of_receiver)
{
    struct ends e = {.sockets = *sockets};

    ck_assert_int_eq(ends_open_role(&e.receiver, sockets, false, of_receiver), 0);
    ck_assert_int_eq(ends_open_role(&e.sender, sockets, true, of_sender), 0);
    return e;
}

static inline struct ends ends_open(enum loopback_kind kind, bool is_simplex,
                                    const struct zcrp_options *options)
{
    struct loopback sockets = loopback_open(kind, is_simplex);

    return ends_open_at(&sockets, options, options);
}

static inline void ends_close(struct ends *e)
{
    ck_assert_int_eq(zcrp_close(e->sender), 0);
    ck_assert_int_eq(zcrp_close(e->receiver), 0);
    loopback_close(&e->sockets);
}

static inline struct zcrp_stats ends_stats(struct zcrp_entity *e)
{
    struct zcrp_stats s;

    ck_assert_int_eq(zcrp_stats(e, &s), ZCRP_OK);
    return s;
}

/* A message full of its pattern. */
static inline struct zcrp_msg *ends_filled(nlong size, uint64_t seed)
{
    struct zcrp_msg *m = zcrp_alloc_msg(size);

    ck_assert_ptr_nonnull(m);
    pattern_fill(m->buffer, size, seed);
    return m;
}

/* A message that has nothing of it. */
static inline struct zcrp_msg *ends_empty(nlong size)
{
    struct zcrp_msg *m = zcrp_alloc_msg(size);

    ck_assert_ptr_nonnull(m);
    memset(m->buffer, 0xEE, size);
    return m;
}

/* Waits for the message, within 30 seconds. */
static inline int ends_wait(struct zcrp_msg *m)
{
    return zcrp_wait_for(m, 30 * ENDS_SECOND);
}

/* May the child of a process with threads allocate? Clang's address sanitizer locks its allocator
 * for a fork since version 18 (github.com/llvm/llvm-project, 75290): before, the child may hang. */
static inline bool ends_live_in_a_child(void)
{
#if defined(__clang__) && defined(__has_feature)
    if (__has_feature(address_sanitizer) && __clang_major__ < 18) {
        puts("the address sanitizer before clang 18 may hang in a child");
        return false;
    }
#endif
    return true;
}

/* Posts a buffer, and sends a message of `size` bytes, which is to land there. */
static inline void ends_submit(const struct ends *e, struct zcrp_msg *in, struct zcrp_msg *out,
                               nlong size)
{
    ck_assert_int_eq(zcrp_submit(e->receiver, in, in->message_size), 0);
    ck_assert_int_eq(zcrp_submit(e->sender, out, size), 0);
}

/* Waits until the message of `size` bytes has arrived, unharmed, and frees both. */
static inline void ends_finish(struct zcrp_msg *in, struct zcrp_msg *out, nlong size, uint64_t seed)
{
    ck_assert_int_eq(ends_wait(out), ZCRP_OK);
    ck_assert_int_eq(ends_wait(in), ZCRP_OK);
    ck_assert_uint_eq(out->length, size);
    ck_assert_uint_eq(in->length, size);
    ck_assert(pattern_holds(in->buffer, size, seed));
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

/* One message from end to end. */
static inline void ends_move(const struct ends *e, nlong size, uint64_t seed)
{
    struct zcrp_msg *in = ends_empty(size), *out = ends_filled(size, seed);

    ends_submit(e, in, out, size);
    ends_finish(in, out, size, seed);
}

/* What the two ends of a transfer counted. */
struct ends_transfer {
    struct zcrp_stats sent;
    struct zcrp_stats received;
};

/* One message from end to end, which are opened for it and closed after it. */
static inline struct ends_transfer ends_transfer(const struct loopback *sockets, nlong size,
                                                 const struct zcrp_options *of_sender,
                                                 const struct zcrp_options *of_receiver)
{
    struct ends e = ends_open_at(sockets, of_sender, of_receiver);
    struct ends_transfer counted;

    ends_move(&e, size, 1);
    ck_assert_int_eq(zcrp_stats(e.sender, &counted.sent), 0);
    ck_assert_int_eq(zcrp_stats(e.receiver, &counted.received), 0);
    ck_assert_int_eq(zcrp_close(e.sender), 0);
    ck_assert_int_eq(zcrp_close(e.receiver), 0);
    return counted;
}

enum { ENDS_PEER_BYTES = 100000 };

/* A process that sends or receives messages of ENDS_PEER_BYTES, all 0x55, until it is killed. It
 * begins when `gate` can be read (-1: at once). Thread sanitizers want all children made before
 * this process has threads. */
static inline pid_t ends_start_peer(const struct loopback *sockets, bool is_sender, int gate,
                                    const struct zcrp_options *options)
{
    pid_t child = fork();
    struct zcrp_entity *e = NULL;
    char go;

    ck_assert_int_ge(child, 0);
    if (child > 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (gate >= 0 && read(gate, &go, 1) != 1)
        _exit(1);
    struct zcrp_msg *m = zcrp_alloc_msg(ENDS_PEER_BYTES);
    int code = ends_open_role(&e, sockets, is_sender, options);
    while (code == 0) {
        memset(m->buffer, 0x55, ENDS_PEER_BYTES);
        code = zcrp_submit(e, m, ENDS_PEER_BYTES);
        if (code == 0)
            code = zcrp_wait_for(m, -1);
    }
    pause();
    _exit(1);
}

static inline void ends_kill_peer(pid_t child)
{
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}

/* Is this how messages for a peer end whose process has ended? On one host the system says so. */
static inline bool ends_is_death(int code)
{
    const char *forbidden = getenv("ZCRP_NO_MEMORY");
    bool may_be_told = forbidden == NULL || forbidden[0] == '0';

    return code == ZCRP_ERROR_SILENT || (may_be_told && code == ZCRP_ERROR_DIED);
}

/* Can there be ends? Says why not. */
static inline bool ends_are_permitted(void)
{
    if (!loopback_is_permitted())
        puts("no right to open a raw socket: CAP_NET_RAW");
    return loopback_is_permitted();
}

NEEDS(ends_are_permitted)

#endif
