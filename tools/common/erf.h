/* The record that a whole PDU of AAL5 has in a capture (ERF, type 4): where it came from, its
 * cells' head without HEC, and then the PDU, padding and trailer included. */
#ifndef COMMON_ERF_H
#define COMMON_ERF_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ERF_AAL5_HEAD = 20,         /* bytes before the PDU */
    ERF_AAL5_MOST = 65535 - 20, /* of a PDU: more than it can say, the rest is cut off */
};

struct erf_pdu {
    int64_t time_ns; /* since 1970 */
    bool is_outward; /* shown as DTE to DCE, else the other way */
    uint8_t vpi;
    uint16_t vci;
    uint32_t bytes; /* at most ERF_AAL5_MOST */
};

/* Cannot fail. */
void erf_aal5_head(uint8_t out[ERF_AAL5_HEAD], const struct erf_pdu *pdu);

#endif
