/* The sending end of udp-limit (limit.h). */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>

#include "common/complain.h"
#include "zcrp-bench/job/record.h"
#include "zcrp-bench/transports/limit.h"

/* Units that leave in one call, {data, trailer} each. */
struct burst {
    uint32_t units;
    uint64_t segment; /* bytes of each unit but the last, which may be shorter */
    uint64_t bytes;
    struct iovec pieces[2 * LIMIT_UNITS];
};

struct sending {
    struct transport *transport;
    struct limit_state *state;
    struct job *job;
    uint64_t next;          /* unit to send, */
    struct limit_unit unit; /* and where it is */
    uint64_t all;           /* units of the job */
    uint64_t allowed;       /* units that there is credit for, from the first */
    uint64_t message;       /* that `place` is of; UINT64_MAX: none yet */
    uint8_t *place;
};

/* The next unit joins the burst. */
static void add(struct sending *sending, struct burst *burst)
{
    const struct limit_unit *unit = &sending->unit;
    struct limit_state *state = sending->state;
    uint8_t *trailer = state->trailer[burst->units];

    if (sending->message != unit->message) {
        sending->message = unit->message;
        sending->place = job_outgoing(sending->job, unit->message);
    }
    word_store(&trailer[0], state->job);
    word_store(&trailer[WORD_BYTES], sending->next);
    burst->pieces[2 * burst->units] = (struct iovec){sending->place + unit->offset, unit->length};
    burst->pieces[2 * burst->units + 1] = (struct iovec){trailer, LIMIT_TRAILER};
    burst->bytes += unit->length + LIMIT_TRAILER;
    burst->units++;
    sending->next++;
    sending->unit = limit_unit_after(state, sending->job, unit);
}

/* Units of one size, the last may be shorter; at most what one call carries. */
static void fill(struct sending *sending, struct burst *burst)
{
    burst->units = 0;
    burst->bytes = 0;
    burst->segment = 0;
    while (sending->next < sending->all && burst->units < LIMIT_UNITS &&
           burst->bytes == burst->units * burst->segment) {
        uint64_t bytes = sending->unit.length + LIMIT_TRAILER;

        if (burst->units == 0)
            burst->segment = bytes;
        if (bytes > burst->segment || burst->bytes + bytes > LIMIT_BURST)
            break;
        add(sending, burst);
    }
}

/* Cut by the kernel. */
static ssize_t send_whole(int fd, struct burst *burst)
{
    union {
        struct cmsghdr head; /* aligns */
        uint8_t room[CMSG_SPACE(sizeof(uint16_t))];
    } note = {0};
    struct msghdr message = {.msg_iov = burst->pieces, .msg_iovlen = 2 * (size_t)burst->units};
    uint16_t segment = (uint16_t)burst->segment;

    if (burst->units > 1) {
        message.msg_control = &note;
        message.msg_controllen = sizeof note;
        note.head.cmsg_level = IPPROTO_UDP;
        note.head.cmsg_type = UDP_SEGMENT;
        note.head.cmsg_len = CMSG_LEN(sizeof segment);
        memcpy(CMSG_DATA(&note.head), &segment, sizeof segment);
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -1 : (ssize_t)burst->units;
}

/* One by one, in one call; the kernel may take a part, and says so. */
static ssize_t send_several(int fd, struct burst *burst, uint32_t from)
{
    struct mmsghdr messages[LIMIT_UNITS];
    uint32_t count = burst->units - from;

    for (uint32_t i = 0; i < count; i++) {
        messages[i] = (struct mmsghdr){
            .msg_hdr = {.msg_iov = &burst->pieces[2 * (from + i)], .msg_iovlen = 2}};
    }
    return sendmmsg(fd, messages, count, MSG_NOSIGNAL);
}

static int send_burst(struct sending *sending, struct burst *burst)
{
    struct limit_state *state = sending->state;
    int fd = sending->transport->fd;
    uint32_t sent = 0;

    while (sent < burst->units) {
        ssize_t taken = state->has_gso ? send_whole(fd, burst) : send_several(fd, burst, sent);

        state->counts.value[COUNT_system_calls]++;
        if (taken < 0 && state->has_gso && (errno == EIO || errno == EINVAL)) {
            state->has_gso = false; /* not on this path */
            continue;
        }
        if (taken < 0 && errno == ECONNREFUSED)
            return transport_despair(sending->transport, watch_now_ns());
        if (taken < 0 && errno != EINTR && errno != EAGAIN && errno != ENOBUFS)
            return limit_broken("send");
        sent += taken > 0 ? (uint32_t)taken : 0;
    }
    state->counts.value[COUNT_units] += burst->units;
    state->counts.value[COUNT_bursts]++;
    return 0;
}

/* Reads one credit; waits for it for a moment, in vain if units were lost. */
static void take_credit(struct sending *sending)
{
    struct limit_state *state = sending->state;
    uint8_t credit[2 * WORD_BYTES];
    ssize_t got = recv(sending->transport->fd, credit, sizeof credit, 0);

    state->counts.value[COUNT_system_calls]++;
    if (got < 0 && errno == EAGAIN && sending->next > 0)
        sending->allowed += LIMIT_UNITS;
    if (got == sizeof credit && word_load(&credit[0]) == state->job &&
        word_load(&credit[WORD_BYTES]) > sending->allowed)
        sending->allowed = word_load(&credit[WORD_BYTES]);
}

/* Waits for credit for another burst. */
static int wait_for_credit(struct sending *sending)
{
    int64_t since = watch_now_ns();

    while (sending->next >= sending->allowed) {
        take_credit(sending);
        if (sending->next >= sending->allowed && transport_despair(sending->transport, since) < 0)
            return -1;
    }
    return 0;
}

int limit_send(struct transport *transport, struct job *job)
{
    struct limit_state *state = transport->state;
    struct burst burst;
    struct sending sending = {
        .transport = transport,
        .state = state,
        .job = job,
        .all = limit_units(state, job),
        .unit = limit_unit_at(state, job, 0),
        .message = UINT64_MAX,
    };

    while (sending.next < sending.all) {
        if (wait_for_credit(&sending) < 0)
            return -1;
        fill(&sending, &burst);
        if (send_burst(&sending, &burst) < 0)
            return -1;
        sending.all = limit_units(state, job);
    }
    return 0;
}
