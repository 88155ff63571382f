#include "sealing.h"

#include "chance.h"

#include <inttypes.h>
#include <stdlib.h>

enum { ROOM = 1024 }; /* at first */

/* ---- the log ---- */

static bool is_same(const struct sealing_entry *a, const struct sealing_entry *b)
{
    return a->epoch == b->epoch && a->number == b->number && a->life == b->life &&
           a->kind == b->kind;
}

/* The entry's place: it is there, or the place is free. */
static struct sealing_entry *find(struct sealing *s, const struct sealing_entry *entry)
{
    uint64_t state = entry->number ^ entry->epoch << 40 ^ (uint64_t)entry->life << 60 ^
                     (uint64_t)entry->kind << 62;
    size_t at = (size_t)random_next(&state) & (s->room - 1);
    while (s->entry[at].is_taken && !is_same(&s->entry[at], entry))
        at = (at + 1) & (s->room - 1);
    return &s->entry[at];
}

static void grow(struct sealing *s)
{
    struct sealing_entry *old = s->entry;
    size_t room = s->room;
    s->room = 2 * room;
    s->entry = calloc(s->room, sizeof *s->entry);
    for (size_t i = 0; i < room; i++)
        if (old[i].is_taken)
            *find(s, &old[i]) = old[i];
    free(old);
}

static struct sealing_entry entry_of(const struct sealing_stream *stream, const struct seal_text *t)
{
    return (struct sealing_entry){.epoch = t->epoch,
                                  .number = t->number,
                                  .life = stream->life,
                                  .kind = stream->kind,
                                  .is_taken = true};
}

static bool seal(void *keys, const struct seal_text *text)
{
    struct sealing_stream *stream = keys;
    struct sealing *s = stream->sealing;
    struct sealing_entry entry = entry_of(stream, text);
    if (2 * s->count >= s->room)
        grow(s);
    struct sealing_entry *place = find(s, &entry);
    scene_expect(s->scene, !place->is_taken,
                 "number %" PRIu64 " of epoch %" PRIu64 " of stream %d is sealed twice",
                 entry.number, entry.epoch, (int)entry.kind);
    s->count += !place->is_taken;
    *place = entry;
    return fake_seal(&stream->keys, text);
}

static bool open(void *keys, const struct seal_text *text)
{
    struct sealing_stream *stream = keys;
    struct sealing *s = stream->sealing;
    struct sealing_entry entry = entry_of(stream, text);
    if (!fake_open(&stream->keys, text))
        return false;
    struct sealing_entry *place = find(s, &entry);
    scene_expect(s->scene, place->is_taken && !place->is_opened,
                 "number %" PRIu64 " of epoch %" PRIu64 " of stream %d %s", entry.number,
                 entry.epoch, (int)entry.kind,
                 place->is_taken ? "is opened twice" : "opens, and was not sealed");
    place->is_opened = place->is_taken;
    s->opened++;
    return true;
}

static void forget(void *keys, uint64_t epoch)
{
    struct sealing_stream *stream = keys;
    fake_forget(&stream->keys, epoch);
}

static const struct cipher cipher = {seal, open, forget, fake_reach};

/* ---- handshakes ---- */

static struct sealer sealer_of(struct sealing_stream *stream, uint32_t epoch_bits, uint64_t start)
{
    return (struct sealer){
        .cipher = &cipher, .keys = stream, .epoch_bits = epoch_bits, .next = start};
}

static struct opener opener_of(struct sealing_stream *stream, uint32_t epoch_bits, uint64_t start)
{
    return (struct opener){
        .cipher = &cipher, .keys = stream, .epoch_bits = epoch_bits, .end = start};
}

static void shake_hands(struct sealing *s, uint32_t life)
{
    const struct setup *setup = s->scene->setup;
    struct sealing_handshake *h = &s->handshake[life];
    uint64_t random = chance_of(setup->seed + 6, life);
    uint32_t bits = setup->epoch_bits;
    for (uint32_t kind = 0; kind < SEALING_KINDS; kind++) {
        h->seals[kind] = (struct sealing_stream){.keys.secret = random_next(&random),
                                                 .sealing = s,
                                                 .life = life,
                                                 .kind = (enum sealing_kind)kind};
        h->opens[kind] = h->seals[kind];
    }
    h->sender.pairing = (struct pairing){1 + (uint32_t)chance_below(&random, UINT32_MAX),
                                         1 + (uint32_t)chance_below(&random, UINT32_MAX)};
    h->receiver.pairing = h->sender.pairing;
    h->sender.units_out = sealer_of(&h->seals[SEALING_UNITS], bits, setup->sender.first_seq);
    h->receiver.units_in = opener_of(&h->opens[SEALING_UNITS], bits, setup->sender.first_seq);
    h->sender.control_out = sealer_of(&h->seals[SEALING_OF_SENDER], bits, 0);
    h->receiver.control_in = opener_of(&h->opens[SEALING_OF_SENDER], bits, 0);
    h->receiver.control_out = sealer_of(&h->seals[SEALING_OF_RECEIVER], bits, 0);
    h->sender.control_in = opener_of(&h->opens[SEALING_OF_RECEIVER], bits, 0);
}

struct sealing *sealing_create(struct scene *scene)
{
    if (scene->setup->epoch_bits == 0)
        return NULL;
    struct sealing *s = calloc(1, sizeof *s);
    s->scene = scene;
    s->room = ROOM;
    s->entry = calloc(s->room, sizeof *s->entry);
    for (uint32_t life = 0; life < SEALING_LIVES; life++)
        shake_hands(s, life);
    return s;
}

void sealing_destroy(struct sealing *s)
{
    if (s != NULL)
        free(s->entry);
    free(s);
}

struct keyring *sealing_of_sender(struct sealing *s, uint32_t life)
{
    return s == NULL ? NULL : &s->handshake[life].sender;
}

struct keyring *sealing_of_receiver(struct sealing *s, uint32_t life)
{
    return s == NULL ? NULL : &s->handshake[life].receiver;
}

uint64_t sealing_replayed(const struct sealing *s)
{
    uint64_t count = 0;
    for (int i = 0; i < SEALING_LIVES; i++) {
        const struct sealing_handshake *h = &s->handshake[i];
        count += h->receiver.units_in.replayed + h->receiver.control_in.replayed +
                 h->sender.control_in.replayed;
    }
    return count;
}

uint64_t sealing_forged(const struct sealing *s)
{
    uint64_t count = 0;
    for (int i = 0; i < SEALING_LIVES; i++) {
        const struct sealing_handshake *h = &s->handshake[i];
        count += h->receiver.units_in.forged + h->receiver.control_in.forged +
                 h->sender.control_in.forged;
    }
    return count;
}
