#include "peer_process.h"

#include "platform/system.h"

#include <errno.h>
#include <sodium/utils.h>
#include <sys/uio.h>
#include <unistd.h>

bool peer_process_is(const struct peer_process *p, const uint8_t nonce[PEER_NONCE])
{
    return sodium_memcmp(nonce, p->nonce, PEER_NONCE) == 0;
}

enum peer_sight peer_process_look(const struct peer_process *p)
{
    uint8_t nonce[PEER_NONCE];
    struct iovec here = {nonce, sizeof(nonce)};
    struct iovec there = {(void *)(uintptr_t)p->nonce_at, sizeof(nonce)}; /* NOLINT */

    ssize_t size = process_vm_readv(p->pid, &here, 1, &there, 1, 0);

    if (size < 0)
        return PEER_HIDDEN;
    return size == (ssize_t)sizeof(nonce) && peer_process_is(p, nonce) ? PEER_SAME : PEER_ANOTHER;
}

/* One whose first thread has ended cannot be read, and may go on writing. */
bool peer_process_has_ended(const struct peer_process *p)
{
    int file = process_file(p->pid);

    if (file < 0)
        return errno == ESRCH;
    bool has_ended = process_has_ended(file);
    (void)close(file);
    if (has_ended)
        return true;
    enum peer_sight sight = peer_process_look(p);
    return sight == PEER_ANOTHER || (sight == PEER_HIDDEN && errno == EFAULT);
}
