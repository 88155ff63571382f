/* Where two ends meet: an AF_UNIX socket that the receiver listens at. Its abstract name is a hash
 * of the session and of the ports of both ends' sockets, so whoever does not know these cannot name
 * it. The ports keep a relay on this host from being passed by. In a session with keys the name
 * depends on a secret of the session, too.
 *
 * The kernel tells each end of a connection process and user of the other, from beginning to end.
 *
 *     sender    <-- greeting_message, in a session with keys                       receiver
 *               connect_message, with the files of the shared page, and of its arena -->
 *               <-- refusal_message
 *
 * With keys each end proves that it has the session's secret. The receiver's greeting is a hash of
 * that and of both processes, so a sender hands nothing to whoever took the name when it was free:
 * its own user's processes, too, can see the name while the receiver listens. What follows is
 * proved by a hash of the secret and the sender's nonce. */
#ifndef ZCRP_TRANSPORT_SHM_RENDEZVOUS_H
#define ZCRP_TRANSPORT_SHM_RENDEZVOUS_H

#include "peer_process.h"
#include "shm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    /* A process whose addresses have 32 bits has versions of its own: it cannot read the memory of
     * one whose addresses have 64. So two of different kinds do not meet, and talk by UDP. */
    RENDEZVOUS_VERSION = 7 + (sizeof(void *) < sizeof(uint64_t) ? 1000 : 0),
    RENDEZVOUS_PROOF = 16,   /* bytes */
    RENDEZVOUS_FILES = 2,    /* that come with a message, at most */
    RENDEZVOUS_CALLERS = 16, /* that wait, at most */
};

/* The receiver's first message, to each process of its user that connects, if there are keys. */
struct greeting_message {
    uint32_t version;
    uint8_t proof[RENDEZVOUS_PROOF];
};

/* The sender's first and only message. */
struct connect_message {
    uint32_t version;
    uint32_t page_bytes;
    uint32_t lets_read; /* 1: if the receiver may not read, it is to ask */
    struct pairing pairing;
    uint64_t page, nonce_at; /* addresses in the sender's memory; a receiver of this version may
                                read trailers from the page */
    uint64_t arena_bytes;    /* of the second file; 0: there is none */
    uint8_t nonce[PEER_NONCE];
    uint8_t proof[RENDEZVOUS_PROOF]; /* the sender's */
};

/* The receiver's, where it has no page to write into. FORBIDDEN, to a sender that lets it read: not
 * yet, the kernel says. */
struct refusal_message {
    uint32_t version;
    uint32_t why; /* enum shm_refusal, not FINE */
};

/* What came over a connection, and the process that sent it. */
struct rendezvous_arrival {
    union {
        struct greeting_message greeting;
        struct connect_message connect;
        struct refusal_message refusal;
    } says;
    ssize_t bytes; /* of that; 0: the other end has closed */
    pid_t pid;
    bool is_own_user;
    int file[RENDEZVOUS_FILES]; /* -1: none, */
    bool is_truncated;          /* or this process had no room for it */
};

/* A socket to listen with, or to connect; -1 if the system has none. */
__attribute__((warn_unused_result)) int rendezvous_socket(void);

/* Listens, or connects to who does, where the ends of this channel meet in a session; `secret` is
 * the session's, NULL: it has none. False if somebody listens there already; if nobody does. */
__attribute__((warn_unused_result)) bool rendezvous_listen(int fd, const struct channel *units,
                                                           struct pairing pairing,
                                                           const uint8_t *secret);
__attribute__((warn_unused_result)) bool rendezvous_connect(int fd, const struct channel *units,
                                                            struct pairing pairing,
                                                            const uint8_t *secret);

/* Whoever has connected; -1 and errno if nobody has. */
__attribute__((warn_unused_result)) int rendezvous_accept(int fd);

/* Is the other end a process of this user that can be named here? */
bool rendezvous_is_own_user(int fd, pid_t *pid);

/* Greets whoever has connected, in a session with this secret. False: it is not of this user. */
bool rendezvous_greet(int fd, const uint8_t *secret);

/* Was this the greeting of a process that has the secret to this one? */
bool rendezvous_is_greeting(const struct rendezvous_arrival *a, const uint8_t *secret);

/* Hands in the message, with `count` files. */
bool rendezvous_hand_in(int fd, const struct connect_message *m, const int *files, size_t count);

/* Says why not. Whoever is there may be deaf, or not there any more. */
void rendezvous_refuse(int fd, uint32_t why);

/* The next message; false if nothing came yet. What came is to be closed. */
bool rendezvous_take(int fd, struct rendezvous_arrival *a);
void rendezvous_close(struct rendezvous_arrival *a);

enum prover { BY_SENDER = 1, BY_RECEIVER };

/* Shows that this end, `by`, has the secret; all 0 where there is none (NULL). */
void rendezvous_prove(const uint8_t *secret, enum prover by, const uint8_t nonce[PEER_NONCE],
                      uint8_t proof[RENDEZVOUS_PROOF]);
bool rendezvous_is_proof(const uint8_t *secret, enum prover by, const uint8_t nonce[PEER_NONCE],
                         const uint8_t proof[RENDEZVOUS_PROOF]);

#endif
