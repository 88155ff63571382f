#include "path_probe.h"

static bool is_path_legal(const struct control_trailer *t)
{
    return t->capacity == 0 && t->marks == 0 && t->flags == 0 && t->pairing.session != 0 &&
           t->pairing.tag != 0;
}

void path_probe_encode(uint8_t out[CONTROL_TRAILER_BYTES], const struct path_probe *probe)
{
    const struct control_trailer t = {
        .first = probe->number,
        .length = (uint16_t)(probe->bytes - CONTROL_TRAILER_BYTES),
        .pairing = probe->pairing,
        .type = DATAGRAM_PATH_PROBE,
    };
    (void)control_trailer_encode(out, CONTROL_TRAILER_BYTES, NULL, 0, &t);
}

enum verdict path_probe_decode(const uint8_t in[CONTROL_TRAILER_BYTES], size_t datagram_bytes,
                               struct path_probe *probe)
{
    struct control_trailer t;
    if (datagram_bytes < CONTROL_TRAILER_BYTES)
        return VERDICT_SHORT;
    enum verdict verdict = control_trailer_decode(in, CONTROL_TRAILER_BYTES, DATAGRAM_PATH_PROBE,
                                                  DATAGRAM_PATH_PROBE, &t);
    if (verdict == VERDICT_OK)
        verdict = datagram_judge_size(datagram_bytes, (size_t)t.length + CONTROL_TRAILER_BYTES);
    if (verdict != VERDICT_OK)
        return verdict;
    *probe = (struct path_probe){
        .pairing = t.pairing, .number = t.first, .bytes = (uint32_t)datagram_bytes};
    return t.second == 0 && is_path_legal(&t) ? VERDICT_OK : VERDICT_MALFORMED;
}

void path_answer_encode(uint8_t out[CONTROL_TRAILER_BYTES], const struct path_probe *probe)
{
    const struct control_trailer t = {
        .first = probe->number,
        .second = probe->bytes,
        .pairing = probe->pairing,
        .type = DATAGRAM_PATH_ANSWER,
    };
    (void)control_trailer_encode(out, CONTROL_TRAILER_BYTES, NULL, 0, &t);
}

enum verdict path_answer_decode(const uint8_t *in, size_t size, struct path_probe *probe)
{
    struct control_trailer t;
    enum verdict verdict =
        control_trailer_decode(in, size, DATAGRAM_PATH_ANSWER, DATAGRAM_PATH_ANSWER, &t);
    if (verdict == VERDICT_OK)
        verdict = datagram_judge_size(size, CONTROL_TRAILER_BYTES);
    if (verdict != VERDICT_OK)
        return verdict;
    *probe = (struct path_probe){.pairing = t.pairing, .number = t.first, .bytes = t.second};
    return t.length == 0 && is_path_legal(&t) ? VERDICT_OK : VERDICT_MALFORMED;
}
