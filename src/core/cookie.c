#include "cookie.h"

#include "wire.h"

enum { OWNER_BYTES = 8 + 8 + 4 + 4 + 8 };

static uint64_t cookie_of(const struct cookie_jar *jar, const struct cookie_owner *owner,
                          uint64_t slot)
{
    uint8_t in[OWNER_BYTES];
    wire_put_u64(in, owner->peer);
    wire_put_u64(in + 8, owner->nonce);
    wire_put_u32(in + 16, owner->pairing.tag);
    wire_put_u32(in + 20, owner->pairing.session);
    wire_put_u64(in + 24, slot);
    uint64_t cookie = jar->hash(jar->key, in, sizeof in);
    return cookie != 0 ? cookie : 1;
}

static uint64_t slot_of(instant now)
{
    return (uint64_t)(now / COOKIE_SLOT);
}

uint64_t cookie_make(const struct cookie_jar *jar, const struct cookie_owner *owner, instant now)
{
    return cookie_of(jar, owner, slot_of(now));
}

bool cookie_is_good(const struct cookie_jar *jar, const struct cookie_owner *owner, instant now,
                    uint64_t cookie)
{
    uint64_t slot = slot_of(now);
    return cookie == cookie_of(jar, owner, slot) || cookie == cookie_of(jar, owner, slot - 1);
}
