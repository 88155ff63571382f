/* How a message ended, in the core's words; the entity turns them into the API's codes. */
#ifndef ZCRP_CORE_OUTCOME_H
#define ZCRP_CORE_OUTCOME_H

#include <stdint.h>

enum outcome {
    OUTCOME_OK,             /* every byte arrived, or was acknowledged */
    OUTCOME_TOO_LARGE,      /* the message was larger than the buffer posted for it */
    OUTCOME_CANCELLED,      /* this side's user took it back */
    OUTCOME_PEER_CANCELLED, /* the other side's user did */
    OUTCOME_SILENT,         /* nothing was heard of the peer for the silence limit */
    OUTCOME_RESTARTED,      /* the peer is a new one that knows nothing of it */
    OUTCOME_PEER_CLOSED,    /* the peer closed before it was through */
    OUTCOME_CLOSED,         /* this side closed before it was through */
};

/* One message's end. Each message that entered a core leaves it as exactly one event. */
struct event {
    void *user;      /* what submit or post was given */
    uint64_t length; /* bytes that were delivered; 0 unless outcome is OK */
    enum outcome outcome;
};

#endif
