/* What the path carries (path_mtu.h), and the size of units by it. */
#include "core/check.h"
#include "core/wire/control.h"
#include "sender_state.h"

enum { UNIT_LEAST = TRAILER_BYTES + GRAIN };

/* Read only by the kernel; not const, because then it would lie in the library's file. */
static uint8_t padding[UINT16_MAX];

uint32_t sender_unit_data(uint32_t unit_bytes)
{
    uint32_t data = (unit_bytes - TRAILER_BYTES) / GRAIN * GRAIN;
    return data < UNIT_DATA_MAX ? data : UNIT_DATA_MAX;
}

/* Units are no larger than the path is known to carry, and congestion control counts in these. */
static void follow(struct sender *s)
{
    uint32_t most = sender_unit_data(s->path.bytes);
    if (most == s->unit_size.most)
        return;
    unit_size_limit(&s->unit_size, most);
    congestion_set_unit(&s->congestion, most + TRAILER_BYTES);
}

/* The same when it has fallen below `before` without a word. */
static bool follow_fall(struct sender *s, uint32_t before)
{
    bool has_fallen = s->path.bytes < before;
    s->counters.path_falls += has_fallen;
    follow(s);
    return has_fallen;
}

bool sender_on_refused_size(struct sender *s, instant now, uint32_t bytes)
{
    uint32_t least = bytes > PATH_MTU_BASE_BYTES ? PATH_MTU_BASE_BYTES : UNIT_LEAST;
    if (bytes <= UNIT_LEAST)
        return false;
    path_mtu_on_refused(&s->path, now, bytes, least);
    follow(s);
    return true;
}

void sender_on_path_hint(struct sender *s, instant now)
{
    if (sender_is_paired(s))
        path_mtu_on_hint(&s->path, now);
}

void sender_path_on_lost(struct sender *s, instant now, instant sent, uint32_t bytes)
{
    uint32_t before = s->path.bytes;
    path_mtu_on_lost(&s->path, now, sent, bytes);
    (void)follow_fall(s, before);
}

void sender_path_on_timeout(struct sender *s, instant now, uint32_t bytes)
{
    uint32_t before = s->path.bytes;
    path_mtu_on_timeout(&s->path, now, bytes);
    (void)follow_fall(s, before);
}

/* A fall is followed by units that pass: the oldest, now that the size is known. */
void sender_path_on_answer(struct sender *s, instant now, const struct path_probe *answer)
{
    uint32_t before = s->path.bytes;
    s->counters.path_answers++;
    sender_timer_on_heard(s, now);
    path_mtu_on_answer(&s->path, now, answer->number, answer->bytes);
    if (follow_fall(s, before))
        (void)sender_timer_repeat_oldest(s, PROBE_UNITS);
}

void sender_path_expire(struct sender *s, instant now)
{
    path_mtu_expire(&s->path, now, s->newest);
}

/* Only who could fill a larger unit, and does not lose those there are, looks for one. */
static bool has_use(struct sender *s)
{
    struct fragment head;
    uint32_t data = s->unit_size.data;
    return sender_is_paired(s) && data == s->unit_size.most &&
           units_to_send_head(&s->to_send, data, &head) && head.length == data;
}

bool sender_path_probe(struct sender *s, instant now, struct burst *burst)
{
    struct path_probe probe = {.pairing = s->session.pairing};
    if (path_mtu_wants_less(&s->path) ? !sender_is_paired(s) : !has_use(s))
        return false;
    instant due = now + sender_timer_round_trip(s);
    probe.bytes = path_mtu_probe(&s->path, due, s->newest, &probe.number);
    path_probe_encode(burst->control, &probe);
    burst_set_control(burst, TRAILER_BYTES);
    burst->iov[0] = (struct iovec){.iov_base = padding, .iov_len = probe.bytes - TRAILER_BYTES};
    burst->segment = burst->bytes = probe.bytes;
    s->counters.path_probes++;
    return true;
}

void sender_path_on_sent(struct sender *s, const struct burst *burst, uint32_t sent)
{
    if (burst->iov[0].iov_len > 0 && sent == 0)
        path_mtu_forget_probe(&s->path);
}
