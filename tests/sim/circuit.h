/* A circuit of AAL5, as a part of a link: each datagram is a PDU, cut into cells, to which happens
 * what core/aal5_fault.h says; what is left is put together by its ends and judged. */
#ifndef ZCRP_TESTS_SIM_CIRCUIT_H
#define ZCRP_TESTS_SIM_CIRCUIT_H

#include "core/wire/aal5_fault.h"

struct circuit {
    struct aal5_network network;
    uint32_t cells;         /* of PDUs that lost their end: the next is taken for the rest */
    bool is_marked;         /* one of those under way met congestion */
    bool has_passed_others; /* something was judged good that was never sent */
    uint8_t pdu[2 * AAL5_PDU_MOST];
};

/* A circuit with these faults, which are sane. To be freed. */
struct circuit *circuit_create(const struct aal5_faults *faults);

/* Sends a datagram of 1 to AAL5_PAYLOAD_MOST bytes. True if it comes out whole; then `*is_marked`
 * says whether it met congestion. */
bool circuit_pass(struct circuit *c, const uint8_t *bytes, uint32_t size, bool *is_marked);

#endif
