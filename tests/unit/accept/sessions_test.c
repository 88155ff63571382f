/* Which link a datagram of a session is posted to. */
#include "accept/sessions.h"

#include "../../support/suite.h"

#include <string.h>

static const union address nowhere = {.room = {.ss_family = AF_UNSPEC}};

static bool post(struct sessions *s, struct pairing pairing, enum datagram_type type, size_t size)
{
    uint8_t datagram[64] = {0};

    datagram_tail_encode(datagram + size - TAIL_BYTES, pairing, 0, type);
    return sessions_post(s, &nowhere, datagram, size);
}

/* Names that nobody has are nobody's; those that could collide are told apart. */
TEST(sessions__names)
{
    struct sessions *s = sessions_create(1);
    struct session_name name = {.link = NULL};
    const struct pairing pairing = {7, 9};

    ck_assert(!post(s, pairing, DATAGRAM_UNIT, 60));
    sessions_add(s, &name, pairing, NULL);
    ck_assert(!post(s, (struct pairing){9, 7}, DATAGRAM_UNIT, 60));
    ck_assert(!post(s, (struct pairing){7, 0}, DATAGRAM_UNIT, 60));
    ck_assert(!post(s, pairing, DATAGRAM_HANDSHAKE, 60));
    ck_assert(!post(s, pairing, DATAGRAM_VERSION_ANSWER, 60));
    ck_assert(!post(s, pairing, DATAGRAM_UNIT, TRAILER_BYTES - 1));
    sessions_destroy(s, false);
}
