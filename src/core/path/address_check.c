#include "address_check.h"

#include "core/check.h"

/* The old address has brought something newer: the peer is still there. */
static bool is_void(const struct address_check *c, uint64_t known)
{
    return c->state != ADDRESS_CHECK_NONE && c->known != known;
}

static void end(struct address_check *c)
{
    c->state = ADDRESS_CHECK_NONE;
}

static void make_void(struct address_check *c)
{
    c->voided++;
    end(c);
}

static void begin(struct address_check *c, instant now, const struct address_check_arrival *a,
                  uint64_t fresh)
{
    CHECK(fresh != 0);
    c->state = ADDRESS_CHECK_CHALLENGED;
    c->address = a->address;
    c->challenge = fresh;
    c->in = c->out = 0;
    c->known = a->known;
    c->asked = now - ADDRESS_CHECK_REPEAT;
    c->begun++;
}

/* Newer than all that the peer has sent from anywhere, as far as this side knows? */
static bool is_news(const struct address_check *c, const struct address_check_arrival *a)
{
    CHECK(a->stream < ADDRESS_CHECK_STREAMS);
    return a->number >= a->end && a->number >= c->newest[a->stream];
}

uint64_t address_check_on_arrival(struct address_check *c, instant now,
                                  const struct address_check_arrival *a, uint64_t fresh)
{
    if (is_void(c, a->known))
        make_void(c);
    if (!is_news(c, a))
        return 0;
    c->newest[a->stream] = a->number + 1;
    if (c->state == ADDRESS_CHECK_NONE || c->address != a->address)
        begin(c, now, a, fresh);
    c->in += a->bytes;
    if (c->state != ADDRESS_CHECK_CHALLENGED || now - c->asked < ADDRESS_CHECK_REPEAT ||
        c->out + ADDRESS_CHECK_BYTES > c->in)
        return 0;
    c->out += ADDRESS_CHECK_BYTES;
    c->asked = now;
    return c->challenge;
}

void address_check_on_answer(struct address_check *c, instant now, uint64_t address,
                             uint64_t challenge, duration round_trip)
{
    instant least = now + ADDRESS_CHECK_SETTLE, most = now + ADDRESS_CHECK_SETTLE_MOST;
    if (c->state != ADDRESS_CHECK_CHALLENGED || c->out == 0 || c->address != address ||
        c->challenge != challenge)
        return;
    c->state = ADDRESS_CHECK_ANSWERED;
    c->due = instant_earlier(instant_later(least, now + round_trip), most);
    c->latest = c->due + ADDRESS_CHECK_UNREAD;
}

bool address_check_is_due(struct address_check *c, instant now, uint64_t known)
{
    if (is_void(c, known))
        make_void(c);
    return c->state == ADDRESS_CHECK_ANSWERED && c->due <= now;
}

bool address_check_awaits_reader(const struct address_check *c, instant now)
{
    return c->state == ADDRESS_CHECK_ANSWERED && now < c->latest;
}

void address_check_put_off(struct address_check *c, instant until)
{
    c->due = until;
}

void address_check_on_moved(struct address_check *c)
{
    CHECK(c->state == ADDRESS_CHECK_ANSWERED);
    c->moves++;
    end(c);
}

void address_check_give_up(struct address_check *c)
{
    end(c);
}

void address_check_check(const struct address_check *c)
{
    CHECK(c->state == ADDRESS_CHECK_NONE || c->out <= c->in);
    CHECK(c->state != ADDRESS_CHECK_ANSWERED || c->out > 0);
}
