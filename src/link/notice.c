#include "notice.h"

#include "entity.h"
#include "peer_move.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the statistics are offered, or NULL. The environment overrules the program. */
static const char *wanted(const struct zcrp_entity *e)
{
    const char *text = secure_getenv("ZCRP_STATS");

    if (text == NULL)
        text = e->options.stats_directory;
    return text == NULL || text[0] == '\0' || strcmp(text, "0") == 0 ? NULL : text;
}

static enum board_channel channel_of(const struct zcrp_entity *e)
{
    if (transport_is_memory(e->transport))
        return BOARD_MEMORY;
    if (e->channels.out->aal5 != NULL)
        return BOARD_AAL5;
    return e->channels.out->kind == CHANNEL_UNIX ? BOARD_UNIX : BOARD_UDP;
}

struct zcrp_stats notice_stats(const struct zcrp_entity *e)
{
    struct zcrp_stats stats = {
        .messages = e->messages,
        .messages_failed = e->failures,
        .bytes = e->bytes,
        .unwatched = atomic_load(&e->member.unwatched),
    };

    machine_add_stats(&e->machine, &stats);
    ways_add_stats(e, &stats);
    keyed_add_stats(e, &stats);
    peer_move_add_stats(e, &stats);
    return stats;
}

static void write_row(struct zcrp_entity *e, instant now)
{
    struct notice *n = &e->notice;
    struct zcrp_stats stats = notice_stats(e);
    struct board_row row = {
        .kind = entity_is_sender(e) ? BOARD_SENDER : BOARD_RECEIVER,
        .channel = channel_of(e),
        .flags =
            (e->keyed.keyring != NULL ? BOARD_KEYS : 0u) | (e->channels.is_half ? BOARD_HALF : 0u),
        .opened_ns = n->opened,
        .written_ns = now,
        .entity = n->number,
    };

    channels_add_stats(&e->channels, &stats);
    memcpy(row.peer, n->peer, sizeof(row.peer));
    memcpy(row.stats, &stats, sizeof(row.stats));
    board_write(n->place, &row);
    n->due = NEVER;
}

static void write_peer(struct zcrp_entity *e)
{
    char *peer = e->notice.peer;

    if (address_write(&e->channels.out->peer, peer, sizeof(e->notice.peer)) != 0)
        (void)snprintf(peer, sizeof(e->notice.peer), "-");
}

void notice_on_moved(struct zcrp_entity *e)
{
    if (e->notice.place >= 0)
        write_peer(e);
}

void notice_init(struct zcrp_entity *e)
{
    struct notice *n = &e->notice;
    const char *where = wanted(e);

    *n = (struct notice){.place = BOARD_NONE, .due = NEVER};
    e->options.stats_directory = NULL; /* it is the caller's */
    if (where == NULL)
        return;
    n->opened = clock_now();
    write_peer(e);
    n->place = board_take(where, &n->number);
    if (n->place >= 0)
        write_row(e, n->opened);
}

void notice_fini(struct zcrp_entity *e)
{
    board_give(e->notice.place);
}

void notice_expire(struct zcrp_entity *e, instant now)
{
    if (now >= e->notice.due)
        e->notice.due = NOTICE_NOW;
}

void notice_tend(struct zcrp_entity *e)
{
    struct notice *n = &e->notice;

    if (n->due == NOTICE_NOW)
        write_row(e, clock_now());
    else if (n->due == NEVER)
        n->due = (clock_now() / NOTICE_EVERY + 1) * NOTICE_EVERY;
}
