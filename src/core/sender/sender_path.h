/* The path, as the sender knows it: how large a datagram may be (path_mtu.h), how large units are
 * by what becomes of them (unit_size.h), whether ECN gets through (ecn_path.h), and bursts that the
 * kernel cuts (offload_path.h). Facts go in; the size of units comes out. Each verb that may change
 * that size says how it has changed, because congestion control counts in units.
 *
 * I1  units of size.most fill the largest datagram that the path is known to carry.
 * I2  the invariants of path_mtu.h and unit_size.h. */
#ifndef ZCRP_CORE_SENDER_PATH_H
#define ZCRP_CORE_SENDER_PATH_H

#include "core/path/ecn_path.h"
#include "core/path/offload_path.h"
#include "core/path/path_mtu.h"
#include "core/path/unit_size.h"
#include "core/wire/burst.h"
#include "core/wire/control.h"

struct sender_path {
    struct path_mtu mtu;
    struct unit_size size;
    struct ecn_path ecn;
    struct offload_path offload;
};

enum path_change {
    PATH_STAYS,
    PATH_CHANGES, /* units have another size, because the system or a probe said so */
    PATH_FALLS,   /* they are smaller, because large ones went missing without a word */
};

/* Datagrams of `bytes` pass, and of up to `most` may; `is_cut`: each piece of a datagram can be
 * lost by itself on the way. Cannot fail. */
void sender_path_init(struct sender_path *p, uint32_t bytes, uint32_t most, bool is_cut,
                      instant now);

/* Bytes of the largest unit, its trailer included. */
static inline uint32_t sender_path_unit(const struct sender_path *p)
{
    return p->size.most + TRAILER_BYTES;
}

/* `units` with `data` bytes of data each have arrived. */
static inline void sender_path_on_arrived(struct sender_path *p, uint32_t data, uint32_t units)
{
    unit_size_on_arrived(&p->size, data, units);
    path_mtu_on_arrived(&p->mtu, data + TRAILER_BYTES);
}

/* A unit with `data` bytes, sent at `sent`, was given up because later ones arrived. */
enum path_change sender_path_on_lost(struct sender_path *p, instant now, instant sent,
                                     uint32_t data);

/* Nothing came back in time; of the units that go again the largest has `data` bytes. */
enum path_change sender_path_on_timeout(struct sender_path *p, instant now, uint32_t data);

/* A probe was answered. */
enum path_change sender_path_on_answer(struct sender_path *p, instant now,
                                       const struct path_probe *answer);

/* This machine's interface takes no datagram of `bytes`. False, and nothing changes, if units
 * cannot be smaller. */
bool sender_path_on_refused(struct sender_path *p, instant now, uint32_t bytes,
                            enum path_change *change);

/* Writes the probe that is wanted into the burst. It should be answered by `due`; `newest` is the
 * highest sequence number that is known to have arrived. */
void sender_path_write_probe(struct sender_path *p, struct pairing pairing, instant due,
                             uint64_t newest, struct burst *burst);

/* The channel took `sent` datagrams of a control burst. If that was a probe and did not leave, it
 * is not waited for. */
void sender_path_on_control_sent(struct sender_path *p, const struct burst *burst, uint32_t sent);

/* CHECKs I1 and I2. */
void sender_path_check(const struct sender_path *p);

#endif
