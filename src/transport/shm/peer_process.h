/* The process at the other end, known by its number and by a nonce that lies at an address of its
 * memory. The kernel may give its number to another process, and it may become another program:
 * neither has the nonce there. */
#ifndef ZCRP_TRANSPORT_SHM_PEER_PROCESS_H
#define ZCRP_TRANSPORT_SHM_PEER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { PEER_NONCE = 16 }; /* bytes */

struct peer_process {
    pid_t pid;
    uint64_t nonce_at;
    uint8_t nonce[PEER_NONCE];
};

enum peer_sight {
    PEER_SAME,
    PEER_ANOTHER, /* something else lies there */
    PEER_HIDDEN,  /* this process cannot read it: errno says why */
};

/* Reads its nonce: a system call. */
enum peer_sight peer_process_look(const struct peer_process *p);

/* Is this its nonce, which was read from there? */
bool peer_process_is(const struct peer_process *p, const uint8_t nonce[PEER_NONCE]);

/* Does it write nothing any more, because it has ended or become another program? Some system
 * calls. */
bool peer_process_has_ended(const struct peer_process *p);

#endif
