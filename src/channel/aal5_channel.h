/* What a channel over AAL5 keeps beside its socket; the channel's header says which threads may
 * send and receive, and they share nothing but what is constant. */
#ifndef ZCRP_CHANNEL_AAL5_CHANNEL_H
#define ZCRP_CHANNEL_AAL5_CHANNEL_H

#include "channel.h"
#include "core/wire/aal5.h"

#include <sys/socket.h>

enum {
    AAL5_PACKETS_OUT = 128,             /* with one call; more than any PDU has */
    AAL5_PACKETS_IN = LANDING_OPENINGS, /* likewise: each might be a whole PDU */
    AAL5_IOV_OUT = 4,                   /* head, data, trailer, tail */
    AAL5_IOV_IN = 4,                    /* head, slot, trailer, spill */
    AAL5_IP4_HEAD = 20, /* what a raw socket puts before the head, without options */
    AAL5_HEAD_MOST = AAL5_IP4_HEAD + AAL5_HEAD,
    AAL5_STAGE = AAL5_PDU_MOST + LANDING_DATAGRAM, /* room for any packet behind any PDU */
    AAL5_FRAGMENTS = 3 * AAL5_PACKETS_IN + 1,      /* of the PDUs that one call brings */
};

/* (s) The packets of the next call. */
struct aal5_outgoing {
    uint32_t packets;
    uint32_t tails;                    /* in use */
    uint32_t unit[AAL5_PACKETS_OUT];   /* datagram of the burst whose piece it is */
    uint16_t number[AAL5_PACKETS_OUT]; /* of the piece */
    bool is_first[AAL5_PACKETS_OUT];   /* it begins its PDU */
    struct mmsghdr message[AAL5_PACKETS_OUT];
    struct iovec iov[AAL5_PACKETS_OUT][AAL5_IOV_OUT];
    uint8_t head[AAL5_PACKETS_OUT][AAL5_HEAD];
    uint8_t tail[BURST_UNITS][AAL5_TAIL_MOST];
};

/* (r) Where the packets of a call were pointed, and the PDU under way. */
struct aal5_incoming {
    uint32_t packets;
    struct mmsghdr message[AAL5_PACKETS_IN];
    struct iovec iov[AAL5_PACKETS_IN][AAL5_IOV_IN];
    uint8_t head[AAL5_PACKETS_IN][AAL5_HEAD_MOST];
    uint32_t head_bytes; /* (c) before the cells, with what the kernel adds */
    bool is_congested;   /* the PDU under way met congestion, by what came of it */
    uint32_t fragments;  /* of the PDU under way */
    struct iovec fragment[AAL5_FRAGMENTS];
    uint32_t stage;       /* which of the two it lies in, if it does */
    uint8_t *stages[2];   /* AAL5_STAGE bytes each */
    uint32_t piece_bytes; /* what a piece that is not the last is taken to have */
    uint32_t first_bytes; /* of the first piece of the PDU under way */
};

struct aal5_channel {
    uint32_t label_out, label_in;      /* (c) */
    crc32_function crc;                /* (c) */
    uint32_t packet_bytes;             /* (s) of cells in a packet, a multiple of AAL5_CELL */
    uint16_t number;                   /* (s) of the next piece */
    struct aal5_reassembly reassembly; /* (r) */
    struct aal5_network network;       /* (s) */
    uint8_t *passing;                  /* (s) a PDU in the network; NULL: there are no faults */
    struct aal5_outgoing out;
    struct aal5_incoming in;
};

#endif
