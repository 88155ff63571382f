#include "sender_path.h"

#include "core/check.h"
#include "core/number.h"

enum { UNIT_LEAST = TRAILER_BYTES + GRAIN };

/* Read only by the kernel; not const, because then it would lie in the library's file. */
static uint8_t padding[UINT16_MAX];

/* Bytes of data in the largest unit that a datagram of `bytes` holds. */
static uint32_t unit_data(uint32_t bytes)
{
    uint32_t data = (bytes - TRAILER_BYTES) / GRAIN * GRAIN;
    return (uint32_t)lesser(data, UNIT_DATA_MAX);
}

void sender_path_init(struct sender_path *p, uint32_t bytes, uint32_t most, bool is_cut,
                      instant now)
{
    unit_size_init(&p->size, unit_data(bytes), is_cut);
    path_mtu_init(&p->mtu, bytes, most, now);
    ecn_path_init(&p->ecn);
    offload_path_init(&p->offload, false);
}

/* Units follow what the path carries, which was `before`. */
static enum path_change follow(struct sender_path *p, uint32_t before)
{
    uint32_t most = unit_data(p->mtu.bytes);
    bool has_fallen = p->mtu.bytes < before;
    if (most != p->size.most)
        unit_size_limit(&p->size, most);
    else if (!has_fallen)
        return PATH_STAYS;
    return has_fallen ? PATH_FALLS : PATH_CHANGES;
}

enum path_change sender_path_on_lost(struct sender_path *p, instant now, instant sent,
                                     uint32_t data)
{
    uint32_t before = p->mtu.bytes;
    path_mtu_on_lost(&p->mtu, now, sent, data + TRAILER_BYTES);
    enum path_change change = follow(p, before);
    unit_size_on_lost(&p->size, data);
    return change;
}

enum path_change sender_path_on_timeout(struct sender_path *p, instant now, uint32_t data)
{
    uint32_t before = p->mtu.bytes;
    path_mtu_on_timeout(&p->mtu, now, data + TRAILER_BYTES);
    return follow(p, before);
}

enum path_change sender_path_on_answer(struct sender_path *p, instant now,
                                       const struct path_probe *answer)
{
    uint32_t before = p->mtu.bytes;
    path_mtu_on_answer(&p->mtu, now, answer->number, answer->bytes);
    return follow(p, before);
}

bool sender_path_on_refused(struct sender_path *p, instant now, uint32_t bytes,
                            enum path_change *change)
{
    uint32_t least = bytes > PATH_MTU_BASE_BYTES ? PATH_MTU_BASE_BYTES : UNIT_LEAST;
    if (bytes <= UNIT_LEAST)
        return false;
    path_mtu_on_refused(&p->mtu, now, bytes, least);
    *change = follow(p, 0); /* a word was said: that is no silent fall */
    return true;
}

void sender_path_write_probe(struct sender_path *p, struct pairing pairing, instant due,
                             uint64_t newest, struct burst *burst)
{
    struct path_probe probe = {.pairing = pairing};
    probe.bytes = path_mtu_probe(&p->mtu, due, newest, &probe.number);
    path_probe_encode(burst->control, &probe);
    burst_set_control(burst, TRAILER_BYTES);
    burst->iov[0] = (struct iovec){.iov_base = padding, .iov_len = probe.bytes - TRAILER_BYTES};
    burst->segment = burst->bytes = probe.bytes;
}

void sender_path_on_control_sent(struct sender_path *p, const struct burst *burst, uint32_t sent)
{
    if (burst->iov[0].iov_len > 0 && sent == 0)
        path_mtu_forget_probe(&p->mtu);
}

void sender_path_check(const struct sender_path *p)
{
    CHECK(p->size.most == unit_data(p->mtu.bytes));
    path_mtu_check(&p->mtu);
    unit_size_check(&p->size);
    offload_path_check(&p->offload);
}
