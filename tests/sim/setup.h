/* All that makes one simulated run, beside its seed: the links, the two cores, what their users do
 * and what the threads around them are like. Written by scenarios, read by everybody else. */
#ifndef ZCRP_TESTS_SIM_SETUP_H
#define ZCRP_TESTS_SIM_SETUP_H

#include "core/receiver/receiver.h"
#include "core/sender/sender.h"
#include "link.h"

enum { NO_MESSAGE = UINT32_MAX };

/* A time away: from `at` on for `length`, and again every `every` unless that is 0. */
struct absence {
    instant at; /* or NEVER */
    duration length;
    duration every;
    uint64_t random; /* not 0: a seed: each is somewhere in its `every` */
};

/* What a user does of itself, and when. */
struct habits {
    uint32_t messages;      /* begun in all: submitted, or buffers posted */
    uint32_t outstanding;   /* at a time, at most */
    duration start;         /* before the first */
    duration pause;         /* between two, at most; 0: none */
    bool opens_alone;       /* the first is over before the second begins */
    uint32_t cancel_one_in; /* messages; 0: none */
    uint32_t cancel_index;  /* this one too; or NO_MESSAGE */
    duration cancel_after;  /* its beginning; of the random ones at most */
    instant close_at;       /* NEVER: when everything is over */
    instant restart_at;     /* a new process takes the place of the old; or NEVER */
    instant stop_at;        /* nothing is heard of this process from then on; or NEVER */
    bool is_host_left;      /* its host says so, at most once a second */
    struct absence idle;    /* the user begins nothing */
    struct absence frozen;  /* the host does nothing; what comes waits in its socket */
};

enum sizes {
    SIZES_FIXED, /* all of `size` bytes */
    SIZES_EDGES, /* around everything that has an edge */
    SIZES_LARGE, /* the same, but large enough to be told apart by their content */
};

/* What the sending kernel makes of a burst that it is to cut. */
enum cutting {
    CUTTING_WORKS,
    CUTTING_LOSES,
    CUTTING_SHORTENS, /* its datagrams */
};

/* How the receiver's channel reads. */
enum reading {
    READING_RUNS,   /* runs of equal datagrams into one opening, as UDP_GRO */
    READING_SINGLE, /* one datagram to an opening, as recvmmsg */
    READING_MIXED,  /* runs, into several openings */
};

/* The sending host comes to another address, and so to another path: what is under way is lost, for
 * `gap` so is all that is sent, and then both ends know. */
struct move {
    instant at; /* or NEVER */
    duration gap;
    struct conditions out, back; /* of the other path */
};

struct setup {
    uint64_t seed;
    struct conditions out; /* sender to receiver */
    struct conditions back;
    struct sender_config sender;
    struct receiver_config receiver;
    struct habits submits;
    struct habits posts;
    enum sizes sizes;
    uint64_t size;
    uint32_t larger_one_in;  /* posted buffers are larger than the message */
    uint32_t smaller_one_in; /* or too small for it */
    uint32_t cut_one_in;     /* messages, and buffers, lie in several pieces of memory; 0: none */
    uint32_t expect_one_in;  /* or the sender is asked first how large it is; 0: never */
    enum reading reading;
    uint32_t flights;         /* bursts that may be in the sending kernel at once, 1 or 2 */
    duration flight;          /* how long a burst is there at most */
    duration hold;            /* how long a plan is out at most */
    uint32_t lie_permille;    /* units whose forecast of the next unit is made up */
    uint32_t refuse_permille; /* bursts of which the sending kernel takes only a part */
    instant limit_at;         /* from then on it refuses datagrams larger than */
    uint32_t limit_bytes;     /* these, and the channel learns it; limit_at may be NEVER */
    enum cutting cutting;     /* at first: */
    instant cutting_until;    /* from then on it works */
    bool joins_wrongly;       /* the receiving kernel says a wrong length of joined datagrams */
    uint32_t check_every;     /* steps from one full check to the next */
    uint32_t epoch_bits;      /* numbers that a key is for, as a power of two; 0: no keys */
    duration lie_every;       /* a stranger says to both that nobody listens there; 0: never */
    struct move move;
    bool has_memory; /* that both share, for small messages (whole_ring.h) */
    bool may_fail;   /* messages may end for the network's reasons */
    bool is_corrupt; /* bytes may be wrong: only safety is looked at */
    instant limit;   /* the run is over by then, or has failed */
};

/* The first instant from `at` on that is not within the absence. */
instant absence_end(const struct absence *absence, instant at);

/* A plain run: a good network, ten messages, both users in time. */
struct setup setup_plain(uint64_t seed);

/* A burst is in the sending kernel for up to 3 ms, and a plan is out for up to 1 ms. The seed
 * chooses when the kernel reads a burst, and how many it has at once. */
void setup_slow_kernel(struct setup *setup, uint64_t seed);

/* How long both ends wait for each other, whatever they wait for. */
void setup_patience(struct setup *setup, duration patience);

/* The ends have keys, each for 2^epoch_bits numbers. Units and bursts become smaller if what is
 * sealed would not fit a datagram, and no forecast is made up any more. */
void setup_keys(struct setup *setup, uint32_t epoch_bits);

/* Bytes of message `index`, and of the buffer that is posted for it. */
uint64_t setup_message_size(const struct setup *setup, uint64_t index);
uint64_t setup_buffer_size(const struct setup *setup, uint64_t index);

/* How the memory of message `index` is cut, at the sender or at the receiver (shadow.h); 0: not. */
uint64_t setup_cut(const struct setup *setup, bool is_sender, uint64_t index);

/* Does the receiver's user ask how large message `index` is, before it posts a buffer for it? */
bool setup_expects(const struct setup *setup, uint64_t index);

#endif
