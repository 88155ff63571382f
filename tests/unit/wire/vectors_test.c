/* The C codec against docs/vectors/datagrams.txt, whose head describes the format: the bytes must
 * decode to the fields, or earn the verdict, and the decoded fields must encode to the bytes. */
#include "../../support/round_trip.h"
#include "../../support/suite.h"
#include "core/wire/control.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_CHARS = 4096, DATAGRAM_BYTES = 70000 };

/* One line, taken apart. The words of the fields are joined by single blanks again. */
struct vector {
    char name[80];
    char type[20];
    char fields[LINE_CHARS];
    char hex[LINE_CHARS];
    uint8_t bytes[DATAGRAM_BYTES];
    size_t size;
};

static const char *vectors_path(void)
{
    const char *path = getenv("ZCRP_VECTORS");
    return path ? path : "docs/vectors/datagrams.txt";
}

/* Appends to the text of LINE_CHARS. */
__attribute__((format(printf, 2, 3))) static void append(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    int added = vsnprintf(text + used, LINE_CHARS - used, format, arguments);
    va_end(arguments);
    ck_assert_int_ge(added, 0);
    ck_assert_uint_lt(used + (size_t)added, LINE_CHARS);
}

/* `5a*32` or `0a0b`; the bytes go behind those that are there. */
static void bytes_of_piece(struct vector *v, const char *piece)
{
    size_t digits = strspn(piece, "0123456789abcdef");
    long times = piece[digits] == '*' ? strtol(piece + digits + 1, NULL, 10) : 1;
    ck_assert_msg(digits > 0 && digits % 2 == 0 && times > 0, "%s: hex %s", v->name, piece);
    ck_assert_uint_le(v->size + digits / 2 * (size_t)times, DATAGRAM_BYTES);
    for (long t = 0; t < times; t++) {
        for (size_t d = 0; d < digits; d += 2) {
            const char pair[] = {piece[d], piece[d + 1], 0};
            v->bytes[v->size++] = (uint8_t)strtoul(pair, NULL, 16);
        }
    }
}

static void bytes_of_hex(struct vector *v)
{
    char *rest = NULL;
    if (strcmp(v->hex, "-") == 0)
        return;
    for (char *piece = strtok_r(v->hex, "+", &rest); piece; piece = strtok_r(NULL, "+", &rest))
        bytes_of_piece(v, piece);
}

/* Word by word: name, type, fields, and the last one is hex. */
static struct vector *vector_of_line(const char *line)
{
    static struct vector v;
    char copy[LINE_CHARS];
    char *rest = NULL;
    memset(&v, 0, sizeof v);
    append(memset(copy, 0, sizeof copy), "%s", line);
    snprintf(v.name, sizeof v.name, "%s", strtok_r(copy, " \n", &rest));
    snprintf(v.type, sizeof v.type, "%s", strtok_r(NULL, " \n", &rest));
    const char *word = strtok_r(NULL, " \n", &rest);
    for (const char *next = NULL; word; word = next) {
        next = strtok_r(NULL, " \n", &rest);
        if (next)
            append(v.fields, "%s%s", v.fields[0] ? " " : "", word);
        else
            append(v.hex, "%s", word);
    }
    bytes_of_hex(&v);
    return &v;
}

static const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {"accepted", "short", "version", "type", "malformed"};
    return names[verdict];
}

static void append_pairing(char *text, const struct pairing *pairing, int flags)
{
    append(text, " session=0x%08" PRIx32 " tag=0x%08" PRIx32 " flags=0x%02x", pairing->session,
           pairing->tag, (unsigned)flags);
}

/* The decoders. Each writes the fields of what it accepts to `text`. */

static enum verdict unit_read(const struct vector *v, char *text)
{
    struct unit_trailer t;
    enum verdict verdict = unit_trailer_decode(datagram_trailer(v->bytes, v->size), v->size, &t);
    if (verdict != VERDICT_OK)
        return verdict;
    append(text, "message=%" PRIu32 " unit=%" PRIu32 " seq=%" PRIu32, t.message, t.unit, t.seq);
    append(text, " next_unit=%" PRIu32 " length=%u", t.next_unit, t.length);
    append(text, " next_length=%u next_step=%d", t.next_length, t.next_step);
    append_pairing(text, &t.pairing, t.flags);
    return VERDICT_OK;
}

static enum verdict ack_read(const struct vector *v, char *text)
{
    struct block_ack ack;
    enum verdict verdict = block_ack_decode(v->bytes, v->size, &ack);
    if (verdict != VERDICT_OK)
        return verdict;
    append(text, "newest=%" PRIu32 " delay=%" PRIu32 " capacity=%" PRIu32 " length=%u marks=%u",
           ack.newest, ack.delay_us, ack.capacity, ack.length, ack.marks);
    append_pairing(text, &ack.pairing,
                   (uint8_t)((ack.is_closing ? FLAG_CLOSING : 0) | (ack.has_ecn ? FLAG_ECN : 0)));
    append(text, " bounds=");
    for (uint32_t i = 0; ack.length > 0 && i <= ack.length; i++)
        append(text, "%s%" PRIu32, i > 0 ? "," : "", ack_bound(&ack, i));
    return VERDICT_OK;
}

static enum verdict request_read(const struct vector *v, char *text)
{
    struct request request;
    enum verdict verdict = request_decode(v->bytes, v->size, &request);
    if (verdict != VERDICT_OK)
        return verdict;
    append(text, "nonce=0x%016" PRIx64 " capacity=%" PRIu32 " length=%u", request.nonce,
           request.capacity, request.length);
    append_pairing(text, &request.pairing, request.wants_offer ? FLAG_ANSWER : 0);
    append(text, " runs=");
    for (uint32_t i = 0; i < request.length; i++) {
        struct request_run run = request_run(&request, i);
        append(text, "%s%" PRIu32 ":%" PRIu32, i > 0 ? "," : "", run.first, run.count);
        if (run.size == REQUEST_WITHDRAWN)
            append(text, ":withdrawn");
        else
            append(text, ":%" PRIu64, run.size);
    }
    return VERDICT_OK;
}

static enum verdict hello_read(const struct vector *v, char *text)
{
    struct hello hello;
    enum verdict verdict = hello_decode(v->bytes, v->size, &hello);
    if (verdict != VERDICT_OK)
        return verdict;
    append(text, "nonce=0x%016" PRIx64 " cookie=0x%016" PRIx64 " requested=%" PRIu32, hello.nonce,
           hello.cookie, hello.requested);
    append_pairing(
        text, &hello.pairing,
        (uint8_t)((hello.is_closing ? FLAG_CLOSING : 0) | (hello.is_cut ? FLAG_VOID : 0)));
    return VERDICT_OK;
}

static enum verdict cookie_read(const struct vector *v, char *text)
{
    struct cookie_answer answer;
    enum verdict verdict = cookie_answer_decode(v->bytes, v->size, &answer);
    if (verdict != VERDICT_OK)
        return verdict;
    append(text, "nonce=0x%016" PRIx64 " cookie=0x%016" PRIx64, answer.nonce, answer.cookie);
    append_pairing(text, &answer.pairing, 0);
    return VERDICT_OK;
}

static enum verdict challenge_read(const struct vector *v, char *text)
{
    struct challenge challenge;
    enum verdict verdict = challenge_decode(v->bytes, v->size, &challenge);
    if (verdict != VERDICT_OK)
        return verdict;
    append(text, "challenge=0x%016" PRIx64 " moves=%" PRIu32, challenge.challenge, challenge.moves);
    append_pairing(text, &challenge.pairing, 0);
    return verdict;
}

static enum verdict challenge_answer_read(const struct vector *v, char *text)
{
    struct challenge_answer answer;
    enum verdict verdict = challenge_answer_decode(v->bytes, v->size, &answer);
    if (verdict != VERDICT_OK)
        return verdict;
    append(text, "challenge=0x%016" PRIx64, answer.challenge);
    append_pairing(text, &answer.pairing, 0);
    return verdict;
}

static enum verdict offer_read(const struct vector *v, char *text)
{
    struct offer offer;
    enum verdict verdict = offer_decode(v->bytes, v->size, &offer);
    if (verdict != VERDICT_OK)
        return verdict;
    append(text, "size=%" PRIu64 " message=%" PRIu32, offer.size, offer.message);
    append_pairing(text, &offer.pairing, 0);
    return VERDICT_OK;
}

static enum verdict probe_read(const struct vector *v, char *text)
{
    struct path_probe probe;
    enum verdict verdict = path_probe_decode(datagram_trailer(v->bytes, v->size), v->size, &probe);
    if (verdict != VERDICT_OK)
        return verdict;
    append(text, "number=%" PRIu32 " length=%" PRIu32, probe.number, probe.bytes - TRAILER_BYTES);
    append_pairing(text, &probe.pairing, 0);
    return VERDICT_OK;
}

static enum verdict answer_read(const struct vector *v, char *text)
{
    struct path_probe probe;
    enum verdict verdict = path_answer_decode(v->bytes, v->size, &probe);
    if (verdict != VERDICT_OK)
        return verdict;
    append(text, "number=%" PRIu32 " size=%" PRIu32, probe.number, probe.bytes);
    append_pairing(text, &probe.pairing, 0);
    return VERDICT_OK;
}

static enum verdict greeting_read(const struct vector *v, char *text)
{
    struct handshake_datagram d;
    size_t bytes;
    enum verdict verdict = handshake_decode(v->bytes, v->size, &d, &bytes);
    if (verdict != VERDICT_OK)
        return verdict;
    const struct pairing pairing = {.tag = d.tag};
    append(text, "nonce=0x%016" PRIx64 " cookie=0x%016" PRIx64 " place=%u", d.nonce, d.cookie,
           d.at);
    append(text, " have_first=%u have_second=%u length=%zu", d.have[0], d.have[1],
           v->size - TRAILER_BYTES);
    append_pairing(text, &pairing, d.flags);
    return VERDICT_OK;
}

/* What is no version answer is judged like any other datagram. */
static enum verdict version_read(const struct vector *v, char *text)
{
    struct pairing echoed;
    uint8_t version;
    if (!version_answer_decode(v->bytes, v->size, &echoed, &version)) {
        enum verdict verdict = datagram_verdict(datagram_trailer(v->bytes, v->size), v->size,
                                                DATAGRAM_VERSION_ANSWER, DATAGRAM_VERSION_ANSWER);
        return verdict == VERDICT_OK ? VERDICT_MALFORMED : verdict;
    }
    append(text, "version=%u", version);
    append_pairing(text, &echoed, 0);
    return VERDICT_OK;
}

static const struct {
    const char *type;
    enum verdict (*read)(const struct vector *v, char *text);
} codecs[] = {
    {"unit", unit_read},           {"ack", ack_read},
    {"request", request_read},     {"hello", hello_read},
    {"cookie", cookie_read},       {"offer", offer_read},
    {"probe", probe_read},         {"answer", answer_read},
    {"version", version_read},     {"handshake", greeting_read},
    {"challenge", challenge_read}, {"challenge_answer", challenge_answer_read},
};

static enum verdict codec_read(const struct vector *v, char *text)
{
    int i = 0;
    while (i < ROWS(codecs) && strcmp(v->type, codecs[i].type) != 0)
        i++;
    ck_assert_msg(i < ROWS(codecs), "%s: type %s", v->name, v->type);
    return codecs[i].read(v, text);
}

static void check_line(const char *line)
{
    char text[LINE_CHARS] = "";
    const struct vector *v = vector_of_line(line);
    enum verdict verdict = codec_read(v, text);
    if (verdict != VERDICT_OK)
        append(text, "reject=%s", verdict_name(verdict));
    ck_assert_msg(strcmp(text, v->fields) == 0, "%s:\n  is %s\n  not %s", v->name, text, v->fields);
    ck_assert_msg(verdict != VERDICT_OK || round_trip_accepted(v->bytes, v->size) == 1,
                  "%s: other bytes", v->name);
}

static enum verdict verdict_at(const struct vector *v, size_t size)
{
    static struct vector other;
    char text[LINE_CHARS] = "";
    size_t kept = size < v->size ? size : v->size;
    other = *v;
    other.size = size;
    memset(other.bytes, 0, size - kept);
    memcpy(other.bytes + size - kept, v->bytes + v->size - kept, kept);
    return codec_read(&other, text);
}

/* A datagram that is accepted, cut at its front, and with zeros before it. A version answer and a
 * handshake's bytes may be longer. */
static void check_sizes(const char *line)
{
    const struct vector *v = vector_of_line(line);
    bool is_rejected = strncmp(v->fields, "reject=", strlen("reject=")) == 0;
    bool is_open = strcmp(v->type, "version") == 0 || strcmp(v->type, "handshake") == 0;
    if (is_rejected || v->size > 300 || is_open)
        return;
    for (size_t size = 0; size <= v->size + 8; size++) {
        enum verdict expected = size < v->size   ? VERDICT_SHORT
                                : size > v->size ? VERDICT_MALFORMED
                                                 : VERDICT_OK;
        ck_assert_msg(verdict_at(v, size) == expected, "%s: of %zu bytes", v->name, size);
    }
}

static void each_line(void (*check)(const char *line))
{
    FILE *file = fopen(vectors_path(), "r");
    ck_assert_msg(file != NULL, "no %s; ZCRP_VECTORS names another file", vectors_path());
    char line[LINE_CHARS];
    int count = 0;
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        check(line);
        count++;
    }
    fclose(file);
    ck_assert_int_gt(count, 0);
}

TEST(vectors__each_line)
{
    each_line(check_line);
}

TEST(vectors__of_no_other_size)
{
    each_line(check_sizes);
}
