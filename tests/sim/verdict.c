/* What both users were told, against each other and against what they did. */
#include "world.h"

#include <inttypes.h>

static bool is_failure_of_network(enum outcome outcome)
{
    return outcome == OUTCOME_UNREACHABLE || outcome == OUTCOME_NOT_ADMITTED ||
           outcome == OUTCOME_SILENT || outcome == OUTCOME_STALLED ||
           outcome == OUTCOME_RESTARTED || outcome == OUTCOME_PEER_CLOSED ||
           outcome == OUTCOME_CUT_OFF || outcome == OUTCOME_CLOSED;
}

static bool is_cancelled(enum outcome outcome)
{
    return outcome == OUTCOME_CANCELLED || outcome == OUTCOME_PEER_CANCELLED;
}

/* Can these two ends belong to one message? What the sender calls ok the receiver has; the other
 * way round the last acknowledgement may be missing. */
static bool do_agree(enum outcome sent, enum outcome received)
{
    if (sent == OUTCOME_OK || received == OUTCOME_OK)
        return received == OUTCOME_OK &&
               (sent == OUTCOME_OK || sent == OUTCOME_CANCELLED || is_failure_of_network(sent));
    if (is_failure_of_network(sent) || is_failure_of_network(received))
        return true;
    if (is_cancelled(sent) || is_cancelled(received))
        return sent == OUTCOME_CANCELLED || received == OUTCOME_CANCELLED;
    return sent == received;
}

/* What was over on one side just before it closed, and did not end well, the other hears of as
 * closed; or of nothing at all, if it was not begun there before. */
static bool is_over_there(const struct entry *entry, const struct entry *peer)
{
    bool is_unheard = entry->outcome == OUTCOME_PEER_CLOSED || entry->outcome == OUTCOME_CUT_OFF ||
                      entry->outcome == OUTCOME_SILENT;
    return is_unheard && peer != NULL &&
           (peer->was_cancelled || peer->outcome == OUTCOME_TOO_LARGE);
}

/* A receiver that has given up its close is gone, and with it the last acknowledgement. */
static bool is_unanswered(const struct world *w, const struct entry *entry,
                          const struct entry *peer)
{
    return entry->outcome == OUTCOME_SILENT && peer != NULL && peer->outcome == OUTCOME_OK &&
           receiver_is_closed(w->receiver.core) && !receiver_is_confirmed(w->receiver.core);
}

/* `peer`: the same message at the other end, or NULL. */
static void judge_entry(struct world *w, const char *who, const struct entry *entry,
                        const struct entry *peer)
{
    struct scene *scene = &w->scene;
    bool may_fail =
        w->setup.may_fail || is_over_there(entry, peer) || is_unanswered(w, entry, peer);
    scene_expect(scene, entry->is_over, "%s: message %" PRIu32 " did not end", who, entry->index);
    scene_expect(scene, entry->outcome != OUTCOME_CANCELLED || entry->was_cancelled,
                 "%s: message %" PRIu32 " was not taken back", who, entry->index);
    scene_expect(scene, !entry->was_cancelled || entry->outcome == OUTCOME_CANCELLED,
                 "%s: message %" PRIu32 " was taken back", who, entry->index);
    scene_expect(scene, may_fail || !is_failure_of_network(entry->outcome),
                 "%s: message %" PRIu32 " failed: %s", who, entry->index,
                 scene_outcome(entry->outcome));
}

static void judge_pair(struct scene *scene, const struct entry *sent, const struct entry *received)
{
    scene_expect(scene, do_agree(sent->outcome, received->outcome),
                 "message %" PRIu32 ": sender says %s, receiver %s", sent->index,
                 scene_outcome(sent->outcome), scene_outcome(received->outcome));
    scene_expect(scene,
                 received->outcome != OUTCOME_PEER_CLOSED || !is_failure_of_network(sent->outcome),
                 "message %" PRIu32 " was cut off, and its receiver knows of no more than a close",
                 sent->index);
    bool is_too_large = sent->size > received->size;
    scene_expect(scene, !is_too_large || received->outcome != OUTCOME_OK,
                 "message %" PRIu32 " does not fit", sent->index);
    scene_expect(scene,
                 is_too_large ||
                     (sent->outcome != OUTCOME_TOO_LARGE && received->outcome != OUTCOME_TOO_LARGE),
                 "message %" PRIu32 " would have fitted", sent->index);
    scene_expect(scene, !received->was_offered || received->size == sent->size,
                 "message %" PRIu32 " was offered with %" PRIu64 " bytes of %" PRIu64, sent->index,
                 received->size, sent->size);
    scene_expect(scene, received->outcome != OUTCOME_TOO_LARGE || received->length == sent->size,
                 "message %" PRIu32 " is too large with %" PRIu64 " bytes of %" PRIu64, sent->index,
                 received->length, sent->size);
}

/* True if the n-th message went into the n-th buffer all along. */
static bool is_one_session(const struct world *w)
{
    return w->sender.lives == 0 && w->receiver.lives == 0 && w->sender.sessions <= 1 &&
           w->receiver.session_first == 0;
}

static const struct entry *entry_at(const struct user *user, uint32_t index)
{
    return index < user->begun && user->entry[index].is_over ? &user->entry[index] : NULL;
}

static void judge_users(struct world *w)
{
    const struct user *sender = &w->sender.user;
    const struct user *receiver = &w->receiver.user;
    uint32_t most = sender->begun > receiver->begun ? sender->begun : receiver->begun;
    for (uint32_t i = 0; i < most; i++) {
        const struct entry *sent = entry_at(sender, i);
        const struct entry *received = entry_at(receiver, i);
        if (i < sender->begun && w->setup.submits.stop_at == NEVER)
            judge_entry(w, sender->name, &sender->entry[i], received);
        if (i < receiver->begun && w->setup.posts.stop_at == NEVER)
            judge_entry(w, receiver->name, &receiver->entry[i], sent);
        if (is_one_session(w) && sent != NULL && received != NULL)
            judge_pair(&w->scene, sent, received);
    }
}

void verdict(struct world *w)
{
    const struct user *receiver = &w->receiver.user;
    sender_check(w->sender.core);
    receiver_check(w->receiver.core);
    for (uint32_t i = w->receiver.fini_next; i < receiver->begun; i++)
        scene_expect(&w->scene, shadow_is_intact(&receiver->entry[i].shadow),
                     "buffer %" PRIu32 " was touched late", i);
    bool is_well = w->setup.cutting == CUTTING_WORKS && !w->setup.joins_wrongly;
    uint64_t failures = sender_counters(w->sender.core)->offload_failures +
                        receiver_counters(w->receiver.core)->offload_failures;
    scene_expect(&w->scene, failures == 0 || !is_well,
                 "loss was taken for a kernel that cuts or joins wrongly");
    if (!w->setup.is_corrupt)
        judge_users(w);
}
