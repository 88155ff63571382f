/* Keys for a simulated connection, and a log of every number that is sealed with them. The cipher
 * is a fake (fake_cipher.h); numbers, epochs and windows are the core's.
 *
 *     handshake n: new keys, for the n-th life of the sender and the n-th life of the receiver
 *
 * I1  no number of a stream is sealed twice with the keys of one epoch.
 * I2  what opens has been sealed, and opens once.
 *
 * A run in which one of them does not hold has failed. */
#ifndef ZCRP_TESTS_SIM_SEALING_H
#define ZCRP_TESTS_SIM_SEALING_H

#include "../support/fake_cipher.h"
#include "scene.h"

enum { SEALING_LIVES = 2 }; /* a host restarts once */

/* The streams that are sealed. */
enum sealing_kind { SEALING_UNITS, SEALING_OF_SENDER, SEALING_OF_RECEIVER, SEALING_KINDS };

/* The keys of one stream, as one of its ends has them. */
struct sealing_stream {
    struct fake_keys keys;
    struct sealing *sealing;
    uint32_t life;
    enum sealing_kind kind;
};

/* A number that was sealed; and has it been opened? */
struct sealing_entry {
    uint64_t epoch, number;
    uint32_t life;
    enum sealing_kind kind;
    bool is_taken, is_opened;
};

struct sealing_handshake {
    struct sealing_stream seals[SEALING_KINDS], opens[SEALING_KINDS];
    struct keyring sender, receiver;
};

struct sealing {
    struct scene *scene;
    struct sealing_handshake handshake[SEALING_LIVES];
    struct sealing_entry *entry; /* a hash table with open addressing */
    size_t count, room;          /* room: a power of two */
    uint64_t opened;
};

/* Does all handshakes. NULL if the setup has no keys. To be destroyed; NULL is fine. */
struct sealing *sealing_create(struct scene *scene);
void sealing_destroy(struct sealing *s);

/* The keyrings of the life of a sender, or of a receiver; NULL: there are no keys. */
struct keyring *sealing_of_sender(struct sealing *s, uint32_t life);
struct keyring *sealing_of_receiver(struct sealing *s, uint32_t life);

/* Numbers that were refused because they had been opened, and texts that nobody has sealed. */
uint64_t sealing_replayed(const struct sealing *s);
uint64_t sealing_forged(const struct sealing *s);

#endif
