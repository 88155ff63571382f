#include "scene.h"

#include "chance.h"
#include "core/wire/control.h"

#include <inttypes.h>
#include <stdarg.h>

static void begin_line(const struct scene *scene, const char *who)
{
    fprintf(scene->log, "%10.3f  %-8s  ", (double)scene->now / (double)MILLISECOND, who);
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
    begin_line(scene, who);
    vfprintf(scene->log, format, arguments);
    fputc('\n', scene->log);
    va_end(arguments);
}

/* Each writes what a datagram says, or that it cannot be read. */

/* Of session and tag the last four digits. */
static void say_pairing(FILE *log, struct pairing pairing)
{
    fprintf(log, "[%04x.%04x] ", pairing.session & 0xffff, pairing.tag & 0xffff);
}

static bool say_unit(FILE *log, const uint8_t *bytes, uint32_t size)
{
    struct unit_trailer t;
    if (unit_trailer_decode(datagram_trailer(bytes, size), size, &t) != VERDICT_OK)
        return false;
    say_pairing(log, t.pairing);
    fprintf(log, "%s %" PRIu32 "/%" PRIu32 " seq %" PRIu32 ", %u bytes%s%s",
            (t.flags & FLAG_VOID) != 0 ? "void" : "unit", t.message, t.unit, t.seq, t.length,
            (t.flags & FLAG_IS_LAST) != 0 ? ", last" : "",
            (t.flags & FLAG_ANSWER) != 0 ? ", answer" : "");
    if ((t.flags & FLAG_VOID) != 0 && t.unit == VOID_TOO_LARGE)
        fprintf(log, ", too large: %" PRIu64, unit_trailer_size(&t));
    if ((t.flags & FLAG_HAS_NEXT) != 0)
        fprintf(log, ", next %" PRIu32 "/%" PRIu32 " of %u",
                (uint32_t)((int64_t)t.message + t.next_step), t.next_unit, t.next_length);
    return true;
}

static bool say_ack(FILE *log, const uint8_t *bytes, uint32_t size)
{
    struct block_ack ack;
    if (block_ack_decode(bytes, size, &ack) != VERDICT_OK)
        return false;
    say_pairing(log, ack.pairing);
    fputs("ack", log);
    bool is_positive = ack.first_is_positive;
    for (uint32_t i = 0; i < ack.length; i++, is_positive = !is_positive)
        fprintf(log, " %c%" PRIu32 "..%" PRIu32, is_positive ? '+' : '-', ack_bound(&ack, i),
                ack_bound(&ack, i + 1));
    fprintf(log, "%s%s", ack.length == 0 ? " of nothing" : "", ack.is_closing ? ", closing" : "");
    return true;
}

static bool say_request(FILE *log, const uint8_t *bytes, uint32_t size)
{
    struct request request;
    if (request_decode(bytes, size, &request) != VERDICT_OK)
        return false;
    say_pairing(log, request.pairing);
    fprintf(log, "request%s%s", request.nonce != 0 ? ", an answer," : "",
            request.length == 0 ? " of nothing" : "");
    for (uint32_t i = 0; i < request.length; i++) {
        struct request_run run = request_run(&request, i);
        fprintf(log, " %" PRIu32 "..%" PRIu32, run.first, run.first + run.count);
        if (run.size == REQUEST_WITHDRAWN)
            fputs(" withdrawn", log);
        else
            fprintf(log, " of %" PRIu64, run.size);
    }
    fputs(request.wants_offer ? ", wants offers" : "", log);
    return true;
}

static bool say_hello(FILE *log, const uint8_t *bytes, uint32_t size)
{
    struct hello hello;
    if (hello_decode(bytes, size, &hello) != VERDICT_OK)
        return false;
    say_pairing(log, hello.pairing);
    if (hello.nonce != 0)
        fprintf(log, "hello?%s", hello.cookie != 0 ? " with cookie" : "");
    else
        fprintf(log, "hello, requested below %" PRIu32 "%s", hello.requested,
                hello.is_cut       ? ", closing, cut off"
                : hello.is_closing ? ", closing"
                                   : "");
    return true;
}

static bool say_cookie(FILE *log, const uint8_t *bytes, uint32_t size)
{
    struct cookie_answer answer;
    if (cookie_answer_decode(bytes, size, &answer) != VERDICT_OK)
        return false;
    say_pairing(log, answer.pairing);
    fputs("cookie", log);
    return true;
}

static bool say_challenge(FILE *log, const uint8_t *bytes, uint32_t size)
{
    struct challenge challenge;
    if (challenge_decode(bytes, size, &challenge) != VERDICT_OK)
        return false;
    say_pairing(log, challenge.pairing);
    fprintf(log, "challenge %" PRIu64 ", %" PRIu32 " moves", challenge.challenge, challenge.moves);
    return true;
}

static bool say_challenge_answer(FILE *log, const uint8_t *bytes, uint32_t size)
{
    struct challenge_answer answer;
    if (challenge_answer_decode(bytes, size, &answer) != VERDICT_OK)
        return false;
    say_pairing(log, answer.pairing);
    fprintf(log, "answer to challenge %" PRIu64, answer.challenge);
    return true;
}

static bool say_offer(FILE *log, const uint8_t *bytes, uint32_t size)
{
    struct offer offer;
    if (offer_decode(bytes, size, &offer) != VERDICT_OK)
        return false;
    say_pairing(log, offer.pairing);
    fprintf(log, "offer %" PRIu32 " of %" PRIu64, offer.message, offer.size);
    return true;
}

static bool say_path(FILE *log, const uint8_t *bytes, uint32_t size)
{
    struct path_probe probe;
    bool is_probe = datagram_type(bytes[size - 1]) == DATAGRAM_PATH_PROBE;
    enum verdict verdict = is_probe ? path_probe_decode(datagram_trailer(bytes, size), size, &probe)
                                    : path_answer_decode(bytes, size, &probe);
    if (verdict != VERDICT_OK)
        return false;
    say_pairing(log, probe.pairing);
    fprintf(log, "%s %" PRIu32 " of %" PRIu32 " bytes", is_probe ? "probe" : "answer to probe",
            probe.number, probe.bytes);
    return true;
}

void scene_tell_datagram(struct scene *scene, const char *who, const uint8_t *bytes, uint32_t size,
                         const char *how)
{
    static const struct {
        const char *name;
        bool (*say)(FILE *log, const uint8_t *bytes, uint32_t size);
    } types[] = {
        [DATAGRAM_UNIT] = {"unit", say_unit},
        [DATAGRAM_ACK_POSITIVE] = {"ack", say_ack},
        [DATAGRAM_ACK_NEGATIVE] = {"ack", say_ack},
        [DATAGRAM_REQUEST] = {"request", say_request},
        [DATAGRAM_HELLO] = {"hello", say_hello},
        [DATAGRAM_PATH_PROBE] = {"probe", say_path},
        [DATAGRAM_PATH_ANSWER] = {"answer", say_path},
        [DATAGRAM_COOKIE] = {"cookie", say_cookie},
        [DATAGRAM_OFFER] = {"offer", say_offer},
        [DATAGRAM_CHALLENGE] = {"challenge", say_challenge},
        [DATAGRAM_CHALLENGE_ANSWER] = {"answer", say_challenge_answer},
    };
    if (scene->log == NULL)
        return;
    uint32_t type = size == 0 ? 0 : datagram_type(bytes[size - 1]);
    bool is_known = type < sizeof types / sizeof types[0] && types[type].say != NULL;
    begin_line(scene, who);
    fprintf(scene->log, "%s ", how);
    if (!is_known)
        fputs("nothing", scene->log);
    else if (!types[type].say(scene->log, bytes, size))
        fprintf(scene->log, "broken %s", types[type].name);
    fputc('\n', scene->log);
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
        [OUTCOME_NOT_ADMITTED] = "not admitted",
        [OUTCOME_SILENT] = "silent",
        [OUTCOME_STALLED] = "stalled",
        [OUTCOME_PROTOCOL] = "protocol",
        [OUTCOME_RESTARTED] = "restarted",
        [OUTCOME_PEER_CLOSED] = "peer closed",
        [OUTCOME_CUT_OFF] = "cut off",
        [OUTCOME_CLOSED] = "closed",
        [OUTCOME_APART] = "apart",
        [OUTCOME_DIED] = "died",
    };
    return names[outcome];
}

duration scene_some(struct scene *scene, duration most)
{
    return (duration)chance_below(&scene->random, (uint64_t)most + 1);
}
