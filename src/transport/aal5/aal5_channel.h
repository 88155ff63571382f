/* A channel over AAL5: units travel as PDUs, each cut into packets at cell boundaries
 * (docs/aal5.md).
 *
 *     aal5_open.c      the channel's memory, circuits and packet filter; ZCRP_AAL5
 *     aal5_send.c      a burst becomes PDUs, each cut into as many packets as the path needs, all
 *                      with one call (sendmmsg). The data is read once, for the CRC, never copied
 *     aal5_receive.c   several packets with one call (recvmmsg), straight into a landing
 *
 * Receiving points each packet at the part of an opening where it belongs if everything comes as
 * planned:
 *
 *     packet   head | cells                    head | cells
 *     pointed       | slot, first cells             | slot, the rest; trailer; PAD and tail to
 * spill
 *
 * Afterwards it writes the openings anew, a PDU each, as the pieces of memory where it landed
 * indeed. So the landing moves what came down elsewhere, as it always does, and nothing else is
 * copied. One exception: if a PDU is not complete at the end of the call, its beginning is set
 * aside, because the slot may not be the PDU's any more when the rest comes.
 *
 * A tap (channel.h) sees PDUs, as their cells left and as their cells came: damaged ones, too, and
 * what the fault option did, but none that is not out or not there wholly.
 *
 * A connection's receiver reads for the sender, too, so two circuits come to it: units, and
 * control. Each has a reassembly of its own, because their pieces come in any order among each
 * other. Packets are pointed as if all were of units; what control there is lands where a unit was
 * expected, like a unit that comes out of order.
 *
 * One thread may send while another receives; they share nothing but what is constant. Lock
 * letters: (c) constant after open, (s) the thread that sends, (r) the thread that receives. */
#ifndef ZCRP_TRANSPORT_AAL5_AAL5_CHANNEL_H
#define ZCRP_TRANSPORT_AAL5_AAL5_CHANNEL_H

#include "core/wire/aal5.h"
#include "transport/channel.h"

#include <sys/socket.h>

enum {
    AAL5_PACKETS_OUT = 128,                        /* with one call; more than any PDU has */
    AAL5_STAGE = AAL5_PDU_MOST + LANDING_DATAGRAM, /* room for any packet behind any PDU */
    AAL5_FRAGMENTS = 3 * LANDING_OPENINGS + 1,     /* of the PDUs that one call brings */
    AAL5_SOURCES = 2,                              /* circuits of one channel to receive from */
};

/* (r) A circuit that is received from, and its PDU under way. */
struct aal5_source {
    uint32_t label; /* (c); 0: there is no such circuit */
    struct aal5_reassembly reassembly;
    bool is_congested;  /* the PDU under way met congestion, by what came of it */
    uint32_t fragments; /* of the PDU under way */
    struct iovec fragment[AAL5_FRAGMENTS];
    uint32_t piece_bytes; /* what a piece that is not the last is taken to have */
    uint32_t first_bytes; /* of the first piece of the PDU under way */
    uint32_t stage;       /* which of the two it lies in, if it does */
    uint8_t stages[2][AAL5_STAGE];
};

/* Most of it is never touched while PDUs come in one piece. */
struct aal5_channel {
    uint32_t label_out;                      /* (c) */
    bool has_filter;                         /* (c) the socket has this channel's */
    uint32_t packet_bytes;                   /* (s) of cells in a packet, a multiple of AAL5_CELL */
    uint16_t number;                         /* (s) of the next piece */
    uint32_t stuck;                          /* (s) times that the socket took only a part of one
                                                PDU, since it took a whole one */
    struct aal5_network network;             /* (s) of the fault option, */
    uint8_t passing[AAL5_PDU_MOST];          /* (s) and a PDU in it */
    struct aal5_source source[AAL5_SOURCES]; /* (r) packets are pointed at PDUs of the first */
};

/* Makes the channel's units PDUs: path_bytes and datagram_max become the circuit's MTU. A raw
 * socket that this channel receives from gets a filter, so that packets of other circuits cost
 * nothing. 0, -EINVAL, -ENOMEM as channel_init. */
__attribute__((warn_unused_result)) int aal5_open(struct channel *c,
                                                  const struct channel_aal5 *options);

/* Gives the memory back; close also gives the socket back as it was. */
void aal5_free(struct channel *c);
void aal5_close(struct channel *c);

/* Overrules what ZCRP_AAL5 in the environment names, for programs that know nothing of AAL5, and
 * for tests: mtu, loss, tagged, tagged_loss, swapped, merged, congested, discard, seed.
 *
 *     ZCRP_AAL5=mtu=1500,loss=10000,seed=7
 *
 * False if the variable has another word, or no number. */
__attribute__((warn_unused_result)) bool aal5_environment(struct channel_aal5 *options);

/* What channel_send promises. Packets that the path does not take are cut smaller. TOO_BIG: the
 * socket's buffer does not hold the packets of one unit. */
enum channel_verdict aal5_send(struct channel *c, const struct burst *b, uint32_t *sent);

/* What channel_receive promises, of packets instead of openings. The landing was planned with one
 * unit an opening. */
int aal5_receive(struct channel *c, struct landing *l);

/* The send buffer that the largest PDU needs on any path, in bytes: the smallest packets, and what
 * the kernel counts for each of them. */
static inline uint32_t aal5_send_bytes(const struct channel *c)
{
    enum { CELLS = (CONTROL_BYTES - AAL5_HEAD) / AAL5_CELL * AAL5_CELL, KERNEL = 1400 };
    uint32_t packets = (aal5_pdu_bytes(c->datagram_max) + CELLS - 1) / CELLS;

    return packets * (2 * (AAL5_HEAD + CELLS) + KERNEL);
}

/* The bytes of cells in a packet that fits `path_bytes`. */
static inline uint32_t aal5_packet_bytes(uint32_t path_bytes)
{
    return (path_bytes - AAL5_HEAD) / AAL5_CELL * AAL5_CELL;
}

#endif
