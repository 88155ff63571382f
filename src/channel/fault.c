#include "fault.h"

#include <errno.h>

/* The network's doings are what ICMP makes the kernel report on a connected socket, a firewall's
 * EPERM, and an interface or a local peer that is gone for now. */
static enum channel_verdict verdict_of(int error)
{
    switch (error) {
    case EAGAIN:
        return CHANNEL_BLOCKED;
    case ENOBUFS:
    case ENOMEM:
        return CHANNEL_CROWDED;
    case EMSGSIZE:
        return CHANNEL_TOO_BIG;
    case EFAULT:
        return CHANNEL_FAULT;
    case ECONNREFUSED:
    case ECONNRESET:
    case ENOTCONN:
    case EDESTADDRREQ:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
    case ENETDOWN:
    case ENONET:
    case ENOPROTOOPT:
    case EOPNOTSUPP:
    case EPROTO:
    case EACCES:
    case EPERM:
        return CHANNEL_REFUSED;
    default:
        return CHANNEL_BROKEN;
    }
}

enum channel_verdict fault_note(struct channel *c, int error)
{
    enum channel_verdict verdict = verdict_of(error);

    switch (verdict) {
    case CHANNEL_BLOCKED:
        channel_note(c, CHANNEL_BLOCKS, 1);
        break;
    case CHANNEL_CROWDED:
        channel_note(c, CHANNEL_CROWDS, 1);
        break;
    case CHANNEL_TOO_BIG:
        channel_note(c, CHANNEL_TOO_BIGS, 1);
        break;
    case CHANNEL_REFUSED:
        channel_note(c, CHANNEL_REFUSALS, 1);
        break;
    case CHANNEL_FAULT:
        channel_note(c, CHANNEL_FAULTS, 1);
        break;
    case CHANNEL_OK:
    case CHANNEL_BROKEN:
        atomic_store_explicit(&c->fault, error, memory_order_relaxed);
        break;
    }
    return verdict;
}
