#include "receiver_session.h"

#include "core/check.h"
#include "core/number.h"

static enum hello_use use_of_question(const struct receiver_session *s, const struct hello *hello,
                                      bool has_good_cookie)
{
    if (!has_good_cookie)
        return QUESTION_UNPROVEN;
    if (receiver_session_is_bound(s) && hello->pairing.tag == s->pairing.tag)
        return QUESTION_AGAIN;
    return hello->pairing.session == s->pairing.session ? QUESTION_OF_OTHER : QUESTION_UNPROVEN;
}

enum hello_use receiver_session_use(const struct receiver_session *s, const struct hello *hello,
                                    bool has_good_cookie)
{
    if (hello->nonce != 0)
        return use_of_question(s, hello, has_good_cookie);
    if (receiver_session_accepts(s, hello->pairing))
        return HELLO_OF_PARTNER;
    bool is_left = hello->pairing.session == s->left.session && hello->pairing.tag == s->left.tag;
    return hello->is_closing && is_left ? HELLO_OF_LEFT : HELLO_OF_STRANGER;
}

/* The session has a number of its own even if nothing came in the one before: a question of the
 * dead that names the old one is to find it gone. */
void receiver_session_bind(struct receiver_session *s, uint32_t name, const struct hello *hello,
                           uint64_t first)
{
    s->pairing = (struct pairing){.session = name, .tag = hello->pairing.tag};
    s->nonce = hello->nonce;
    s->known = s->named = s->message_base + first;
    s->was_bound = true;
    s->is_untold = false;
}

void receiver_session_unbind(struct receiver_session *s, uint64_t first)
{
    uint64_t base = s->message_base, next = base + first;
    *s = (struct receiver_session){
        .left = s->left, .message_base = base, .requested = next, .known = next, .named = next};
}

void receiver_session_leave(struct receiver_session *s, uint64_t next, uint64_t first)
{
    *s = (struct receiver_session){.left = s->left,
                                   .message_base = next - first,
                                   .requested = next,
                                   .known = next,
                                   .named = next,
                                   .was_bound = s->was_bound,
                                   .is_untold = s->is_untold};
}

enum known receiver_session_on_known(struct receiver_session *s, uint32_t wire, uint64_t next)
{
    uint64_t known = s->message_base + number_expand(wire, next - s->message_base);
    if (known <= s->named || known > next)
        return KNOWN_BEFORE;
    s->named = known;
    if (known <= s->known)
        return KNOWN_NAMED;
    s->known = known;
    return KNOWN_NEWLY;
}

void receiver_session_check(const struct receiver_session *s)
{
    CHECK((s->pairing.session != 0) == (s->pairing.tag != 0));
    CHECK(s->message_base <= s->requested);
}
