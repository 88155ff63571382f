#include "scene.h"

#include "chance.h"
#include "core/wire/control.h"

#include <inttypes.h>
#include <stdarg.h>

enum { LINE = 1000 };

static double milliseconds(instant at)
{
    return (double)at / (double)MILLISECOND;
}

bool scene_expect(struct scene *scene, bool is_right, const char *format, ...)
{
    if (is_right || scene->has_failed)
        return is_right;
    va_list arguments;
    va_start(arguments, format);
    scene->has_failed = true;
    vsnprintf(scene->failure, sizeof(scene->failure), format, arguments);
    va_end(arguments);
    scene_tell(scene, "world", "WRONG: %s", scene->failure);
    return false;
}

void scene_tell(struct scene *scene, const char *who, const char *format, ...)
{
    if (scene->log == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(scene->log, "%10.3f  %-8s  ", milliseconds(scene->now), who);
    vfprintf(scene->log, format, arguments);
    fputc('\n', scene->log);
    va_end(arguments);
}

/* Of session and tag the last four digits. */
static char *say_pairing(char *at, const char *end, struct pairing pairing)
{
    return at + snprintf(at, (size_t)(end - at), "[%04x.%04x] ", pairing.session & 0xffff,
                         pairing.tag & 0xffff);
}

static void say_unit(char *at, const char *end, const uint8_t *bytes, uint32_t size)
{
    struct unit_trailer t;
    if (size < TRAILER_BYTES ||
        unit_trailer_decode(bytes + size - TRAILER_BYTES, size, &t) != VERDICT_OK) {
        snprintf(at, (size_t)(end - at), "broken unit");
        return;
    }
    at = say_pairing(at, end, t.pairing);
    at +=
        snprintf(at, (size_t)(end - at), "%s %" PRIu32 "/%" PRIu32 " seq %" PRIu32 ", %u bytes%s%s",
                 (t.flags & FLAG_VOID) != 0 ? "void" : "unit", t.message, t.unit, t.seq, t.length,
                 (t.flags & FLAG_IS_LAST) != 0 ? ", last" : "",
                 (t.flags & FLAG_ANSWER) != 0 ? ", answer" : "");
    if ((t.flags & FLAG_VOID) != 0 && t.unit == VOID_TOO_LARGE)
        snprintf(at, (size_t)(end - at), ", too large: %" PRIu64, unit_trailer_size(&t));
    if ((t.flags & FLAG_HAS_NEXT) != 0)
        snprintf(at, (size_t)(end - at), ", next %" PRIu32 "/%" PRIu32 " of %u",
                 (uint32_t)((int64_t)t.message + t.next_step), t.next_unit, t.next_length);
}

static void say_ack(char *at, const char *end, const uint8_t *bytes, uint32_t size)
{
    struct block_ack ack;
    if (block_ack_decode(bytes, size, &ack) != VERDICT_OK) {
        snprintf(at, (size_t)(end - at), "broken ack");
        return;
    }
    at = say_pairing(at, end, ack.pairing);
    at += snprintf(at, (size_t)(end - at), "ack");
    bool is_positive = ack.first_is_positive;
    for (uint32_t i = 0; i < ack.length && end - at > 40; i++, is_positive = !is_positive)
        at += snprintf(at, (size_t)(end - at), " %c%" PRIu32 "..%" PRIu32, is_positive ? '+' : '-',
                       ack_bound(&ack, i), ack_bound(&ack, i + 1));
    snprintf(at, (size_t)(end - at), "%s%s", ack.length == 0 ? " of nothing" : "",
             ack.is_closing ? ", closing" : "");
}

static void say_request(char *at, const char *end, const uint8_t *bytes, uint32_t size)
{
    struct request request;
    if (request_decode(bytes, size, &request) != VERDICT_OK) {
        snprintf(at, (size_t)(end - at), "broken request");
        return;
    }
    at = say_pairing(at, end, request.pairing);
    at += snprintf(at, (size_t)(end - at), "request%s%s", request.nonce != 0 ? ", an answer," : "",
                   request.length == 0 ? " of nothing" : "");
    for (uint32_t i = 0; i < request.length && end - at > 60; i++) {
        struct request_run run = request_run(&request, i);
        at += snprintf(at, (size_t)(end - at), " %" PRIu32 "..%" PRIu32, run.first,
                       run.first + run.count);
        if (run.size == REQUEST_WITHDRAWN)
            at += snprintf(at, (size_t)(end - at), " withdrawn");
        else
            at += snprintf(at, (size_t)(end - at), " of %" PRIu64, run.size);
    }
    snprintf(at, (size_t)(end - at), "%s", request.wants_offer ? ", wants offers" : "");
}

static void say_hello(char *at, const char *end, const uint8_t *bytes, uint32_t size)
{
    struct hello hello;
    if (hello_decode(bytes, size, &hello) != VERDICT_OK) {
        snprintf(at, (size_t)(end - at), "broken hello");
        return;
    }
    at = say_pairing(at, end, hello.pairing);
    if (hello.nonce != 0)
        snprintf(at, (size_t)(end - at), "hello?%s", hello.cookie != 0 ? " with cookie" : "");
    else
        snprintf(at, (size_t)(end - at), "hello, requested below %" PRIu32 "%s", hello.requested,
                 hello.is_closing ? ", closing" : "");
}

static void say_cookie(char *at, const char *end, const uint8_t *bytes, uint32_t size)
{
    struct cookie_answer answer;
    if (cookie_answer_decode(bytes, size, &answer) != VERDICT_OK) {
        snprintf(at, (size_t)(end - at), "broken cookie");
        return;
    }
    at = say_pairing(at, end, answer.pairing);
    snprintf(at, (size_t)(end - at), "cookie");
}

static void say_offer(char *at, const char *end, const uint8_t *bytes, uint32_t size)
{
    struct offer offer;
    if (offer_decode(bytes, size, &offer) != VERDICT_OK) {
        snprintf(at, (size_t)(end - at), "broken offer");
        return;
    }
    at = say_pairing(at, end, offer.pairing);
    snprintf(at, (size_t)(end - at), "offer %" PRIu32 " of %" PRIu64, offer.message, offer.size);
}

static void say_path(char *at, const char *end, const uint8_t *bytes, uint32_t size)
{
    struct path_probe probe;
    bool is_probe = datagram_type(bytes[size - 1]) == DATAGRAM_PATH_PROBE;
    enum verdict verdict = is_probe ? path_probe_decode(datagram_trailer(bytes, size), size, &probe)
                                    : path_answer_decode(bytes, size, &probe);
    if (verdict != VERDICT_OK) {
        snprintf(at, (size_t)(end - at), "broken %s", is_probe ? "probe" : "answer");
        return;
    }
    at = say_pairing(at, end, probe.pairing);
    snprintf(at, (size_t)(end - at), "%s %" PRIu32 " of %" PRIu32 " bytes",
             is_probe ? "probe" : "answer to probe", probe.number, probe.bytes);
}

void scene_tell_datagram(struct scene *scene, const char *who, const uint8_t *bytes, uint32_t size,
                         const char *how)
{
    char line[LINE] = "nothing";
    if (scene->log == NULL)
        return;
    switch (size == 0 ? 0 : datagram_type(bytes[size - 1])) {
    case DATAGRAM_UNIT:
        say_unit(line, line + LINE, bytes, size);
        break;
    case DATAGRAM_ACK_POSITIVE:
    case DATAGRAM_ACK_NEGATIVE:
        say_ack(line, line + LINE, bytes, size);
        break;
    case DATAGRAM_REQUEST:
        say_request(line, line + LINE, bytes, size);
        break;
    case DATAGRAM_HELLO:
        say_hello(line, line + LINE, bytes, size);
        break;
    case DATAGRAM_COOKIE:
        say_cookie(line, line + LINE, bytes, size);
        break;
    case DATAGRAM_OFFER:
        say_offer(line, line + LINE, bytes, size);
        break;
    case DATAGRAM_PATH_PROBE:
    case DATAGRAM_PATH_ANSWER:
        say_path(line, line + LINE, bytes, size);
        break;
    default:
        break;
    }
    scene_tell(scene, who, "%s %s", how, line);
}

const char *scene_outcome(enum outcome outcome)
{
    static const char *const names[] = {
        [OUTCOME_OK] = "ok",
        [OUTCOME_TOO_LARGE] = "too large",
        [OUTCOME_CANCELLED] = "cancelled",
        [OUTCOME_PEER_CANCELLED] = "peer cancelled",
        [OUTCOME_FAULT] = "fault",
        [OUTCOME_REFUSED] = "refused",
        [OUTCOME_UNREACHABLE] = "unreachable",
        [OUTCOME_VERSION] = "version",
        [OUTCOME_SILENT] = "silent",
        [OUTCOME_STALLED] = "stalled",
        [OUTCOME_PROTOCOL] = "protocol",
        [OUTCOME_RESTARTED] = "restarted",
        [OUTCOME_PEER_CLOSED] = "peer closed",
        [OUTCOME_CLOSED] = "closed",
    };
    return names[outcome];
}

duration scene_some(struct scene *scene, duration most)
{
    return (duration)chance_below(&scene->random, (uint64_t)most + 1);
}
