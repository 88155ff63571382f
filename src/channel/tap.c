#include "tap.h"

#include "platform/system.h"

static void show(const struct channel *c, const struct channel_crossing *crossing)
{
    if (crossing->bytes > 0)
        c->tap.see(c->tap.context, c, crossing);
}

enum channel_verdict tap_send(struct channel *c, const struct burst *b, uint32_t *sent)
{
    int64_t time_ns = clock_date();
    enum channel_verdict verdict = c->methods->send(c, b, sent);

    for (uint32_t i = 0; i < *sent; i++) {
        uint32_t skip = b->iov[2 * i].iov_len == 0; /* control has no data, a unit may have none */
        const struct iovec *pieces = &b->iov[2 * i];
        show(c, &(struct channel_crossing){
                    .time_ns = time_ns,
                    .is_outward = true,
                    .bytes = (uint32_t)(pieces[0].iov_len + pieces[1].iov_len),
                    .count = 2 - skip,
                    .pieces = pieces + skip,
                });
    }
    return verdict;
}

int tap_receive(struct channel *c, struct landing *l)
{
    struct iovec pieces[LANDING_IOV];
    struct landing_walk walk = {0};
    struct segment segment;
    int filled = c->methods->receive(c, l);
    int64_t time_ns = clock_date();

    while (filled > 0 && landing_next(l, &walk, &segment)) {
        show(c, &(struct channel_crossing){
                    .time_ns = time_ns,
                    .bytes = segment.bytes,
                    .count = landing_list(l, &segment, pieces),
                    .pieces = pieces,
                });
    }
    return filled;
}

int tap_receive_control(struct channel *c, uint8_t *buffer, size_t size)
{
    int bytes = c->methods->receive_control(c, buffer, size);
    struct iovec piece = {.iov_base = buffer, .iov_len = bytes > 0 ? (size_t)bytes : 0};

    show(c, &(struct channel_crossing){
                .time_ns = clock_date(),
                .bytes = (uint32_t)piece.iov_len,
                .count = 1,
                .pieces = &piece,
            });
    return bytes;
}
