#include "path_probe.h"

#include "wire.h"

#include <string.h>

/* The fields of each trailer, up to the tail. What is not named is reserved. */
enum {
    PROBE_AT_NUMBER = 0,
    PROBE_AT_RESERVED = 4,
    PROBE_AT_LENGTH = 12,
    PROBE_AT_RESERVED_TOO = 14,
};

enum {
    ANSWER_AT_NUMBER = 0,
    ANSWER_AT_SIZE = 4,
    ANSWER_AT_RESERVED = 8,
};

void path_probe_encode(uint8_t out[TRAILER_BYTES], const struct path_probe *probe)
{
    memset(out, 0, TRAILER_BYTES);
    wire_put_u32(out + PROBE_AT_NUMBER, probe->number);
    wire_put_u16(out + PROBE_AT_LENGTH, (uint16_t)(probe->bytes - TRAILER_BYTES));
    datagram_tail_encode(out + TAIL_AT, probe->pairing, 0, DATAGRAM_PATH_PROBE);
}

enum verdict path_probe_decode(const uint8_t in[TRAILER_BYTES], size_t datagram_bytes,
                               struct path_probe *probe)
{
    enum verdict verdict =
        datagram_judge(in, datagram_bytes, DATAGRAM_PATH_PROBE, DATAGRAM_PATH_PROBE);
    if (verdict == VERDICT_OK)
        verdict = datagram_judge_size(datagram_bytes,
                                      (size_t)wire_get_u16(in + PROBE_AT_LENGTH) + TRAILER_BYTES);
    if (verdict != VERDICT_OK)
        return verdict;
    struct datagram_tail tail = datagram_tail_decode(in + TAIL_AT);
    *probe = (struct path_probe){
        .pairing = tail.pairing,
        .number = wire_get_u32(in + PROBE_AT_NUMBER),
        .bytes = (uint32_t)datagram_bytes,
    };
    bool is_legal = tail.flags == 0 && pairing_is_complete(tail.pairing) &&
                    datagram_is_clear(in, PROBE_AT_RESERVED, PROBE_AT_LENGTH) &&
                    datagram_is_clear(in, PROBE_AT_RESERVED_TOO, TAIL_AT);
    return is_legal ? VERDICT_OK : VERDICT_MALFORMED;
}

void path_answer_encode(uint8_t out[TRAILER_BYTES], const struct path_probe *probe)
{
    memset(out, 0, TRAILER_BYTES);
    wire_put_u32(out + ANSWER_AT_NUMBER, probe->number);
    wire_put_u32(out + ANSWER_AT_SIZE, probe->bytes);
    datagram_tail_encode(out + TAIL_AT, probe->pairing, 0, DATAGRAM_PATH_ANSWER);
}

enum verdict path_answer_decode(const uint8_t *in, size_t size, struct path_probe *probe)
{
    enum verdict verdict = datagram_judge_bare(in, size, DATAGRAM_PATH_ANSWER);
    if (verdict != VERDICT_OK)
        return verdict;
    struct datagram_tail tail = datagram_tail_decode(in + TAIL_AT);
    *probe = (struct path_probe){
        .pairing = tail.pairing,
        .number = wire_get_u32(in + ANSWER_AT_NUMBER),
        .bytes = wire_get_u32(in + ANSWER_AT_SIZE),
    };
    bool is_legal = tail.flags == 0 && pairing_is_complete(tail.pairing) &&
                    datagram_is_clear(in, ANSWER_AT_RESERVED, TAIL_AT);
    return is_legal ? VERDICT_OK : VERDICT_MALFORMED;
}
