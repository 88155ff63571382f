/* How a message ended, in the core's words; the entity turns them into the API's codes. */
#ifndef ZCRP_CORE_OUTCOME_H
#define ZCRP_CORE_OUTCOME_H

#include <stdint.h>

enum outcome {
    OUTCOME_OK,             /* every byte arrived, or was acknowledged */
    OUTCOME_TOO_LARGE,      /* the message was larger than the buffer posted for it */
    OUTCOME_CANCELLED,      /* this side's user cancelled it */
    OUTCOME_PEER_CANCELLED, /* the other side's user did */
    OUTCOME_FAULT,          /* its memory, here or at the peer, cannot be read or written */
    OUTCOME_REFUSED,        /* never paired: the system says that nobody listens there */
    OUTCOME_UNREACHABLE,    /* never paired: nothing came back */
    OUTCOME_VERSION,        /* never paired: the peer speaks another version */
    OUTCOME_NOT_ADMITTED,   /* never paired: a listener answers, but has no room */
    OUTCOME_SILENT,         /* nothing came from a known peer for the silence limit; or
                               for some seconds in which it was refused and asked in vain */
    OUTCOME_STALLED,        /* datagrams come, but acknowledge nothing that is in transit */
    OUTCOME_PROTOCOL,       /* the peer acknowledged what was never sent */
    OUTCOME_RESTARTED,      /* the peer has restarted, and does not know it */
    OUTCOME_PEER_CLOSED,    /* the peer has closed, and nothing of it had come */
    OUTCOME_CUT_OFF,        /* the peer closed before it was through */
    OUTCOME_CLOSED,         /* this side closed before it was through */
    OUTCOME_KEYS,           /* one end does not accept the other end's key */
    OUTCOME_APART,          /* it was to go from memory to memory, and cannot */
    OUTCOME_DIED,           /* the peer's process has ended without a close, as the system says */
};

/* A sender that stays: is its peer there? */
enum peer_link {
    LINK_ASKING, /* this side looks for it */
    LINK_UP,     /* it is there */
    LINK_ENDED,  /* it was there, or never found; this side looks no more */
};

/* One message's end. Each message that entered a core leaves it as exactly one event. */
struct event {
    void *user;         /* what submit or post was given */
    uint64_t length;    /* OK: bytes that were delivered. A receiver's TOO_LARGE: bytes that the
                           message has, as its sender says. Else 0 */
    uint64_t scribbled; /* OK, of a receiver: if it is more than `length`, something landed in the
                           buffer between the two that is not the message's. Whoever takes the event
                           clears it: only that one knows if the memory may be gone. */
    enum outcome outcome;
};

#endif
