#include "meeting.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/complain.h"

enum {
    SECRET_BYTES = MEETING_KEY_BYTES + 2 * PROOF_BYTES,
    FACT_ROOM = 128,
};

static const char prefix[] = "zcrp-cp ";

int meeting_make(struct meeting *meeting, uint16_t port)
{
    uint8_t bytes[SECRET_BYTES];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return complain("there are no random numbers: %s", strerror(errno));
    memcpy(meeting->key, bytes, MEETING_KEY_BYTES);
    memcpy(meeting->near_proof, bytes + MEETING_KEY_BYTES, PROOF_BYTES);
    memcpy(meeting->far_proof, bytes + MEETING_KEY_BYTES + PROOF_BYTES, PROOF_BYTES);
    explicit_bzero(bytes, sizeof(bytes));
    meeting->host = meeting_host();
    meeting->port = port;
    return 0;
}

void meeting_forget(struct meeting *meeting)
{
    explicit_bzero(meeting, sizeof(*meeting));
}

/* ---- lines ---- */

static char *put_digits(char *to, const uint8_t *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < count; i++) {
        *to++ = digits[bytes[i] >> 4];
        *to++ = digits[bytes[i] & 15];
    }
    *to = '\0';
    return to;
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_digits(const char **from, uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int high = digit((*from)[0]), low = high < 0 ? -1 : digit((*from)[1]);

        if (low < 0)
            return false;
        bytes[i] = (uint8_t)(high << 4 | low);
        *from += 2;
    }
    return true;
}

void meeting_write(const struct meeting *meeting, char line[MEETING_ROOM])
{
    int length = snprintf(line, MEETING_ROOM, "%s%d ", prefix, RECORD_VERSION);
    char *to = put_digits(line + length, meeting->key, MEETING_KEY_BYTES);

    *to++ = ' ';
    to = put_digits(to, meeting->near_proof, PROOF_BYTES);
    to = put_digits(to, meeting->far_proof, PROOF_BYTES);
    (void)snprintf(to, (size_t)(line + MEETING_ROOM - to), " %016" PRIx64 " %u\n", meeting->host,
                   (unsigned)meeting->port);
}

bool meeting_read(struct meeting *meeting, const char *line)
{
    int version = 0, length = 0;
    unsigned port = 0;

    if (sscanf(line, "zcrp-cp %d %n", &version, &length) != 1 || version != RECORD_VERSION)
        return false;
    line += length;
    if (!take_digits(&line, meeting->key, MEETING_KEY_BYTES) || *line++ != ' ' ||
        !take_digits(&line, meeting->near_proof, PROOF_BYTES) ||
        !take_digits(&line, meeting->far_proof, PROOF_BYTES) ||
        sscanf(line, " %" SCNx64 " %u", &meeting->host, &port) != 2 || port > UINT16_MAX)
        return false;
    meeting->port = (uint16_t)port;
    return true;
}

void meeting_write_ports(uint16_t port, uint16_t memory_port, char line[MEETING_ROOM])
{
    (void)snprintf(line, MEETING_ROOM, "%s%d %u %u\n", prefix, RECORD_VERSION, (unsigned)port,
                   (unsigned)memory_port);
}

bool meeting_read_ports(const char *line, uint16_t *port, uint16_t *memory_port)
{
    int version = 0;
    unsigned first = 0, second = 0;

    if (sscanf(line, "zcrp-cp %d %u %u", &version, &first, &second) != 3 ||
        version != RECORD_VERSION || first == 0 || first > UINT16_MAX || second > UINT16_MAX)
        return false;
    *port = (uint16_t)first;
    *memory_port = (uint16_t)second;
    return true;
}

bool meeting_is_line(const char *line)
{
    return strncmp(line, prefix, sizeof(prefix) - 1) == 0;
}

/* ---- one host ---- */

static void add_file(XXH3_state_t *state, const char *path)
{
    char fact[FACT_ROOM];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, fact, sizeof(fact)) : 0;

    if (fd >= 0)
        (void)close(fd);
    (void)XXH3_64bits_update(state, fact, length > 0 ? (size_t)length : 0);
}

static void add_link(XXH3_state_t *state, const char *path)
{
    char fact[FACT_ROOM];
    ssize_t length = readlink(path, fact, sizeof(fact));

    (void)XXH3_64bits_update(state, fact, length > 0 ? (size_t)length : 0);
}

uint64_t meeting_host(void)
{
    uid_t user = geteuid();
    XXH3_state_t *state = XXH3_createState();

    if (state == NULL)
        return 0;
    (void)XXH3_64bits_reset(state);
    add_file(state, "/proc/sys/kernel/random/boot_id");
    add_link(state, "/proc/self/ns/net");
    add_link(state, "/proc/self/ns/pid");
    (void)XXH3_64bits_update(state, &user, sizeof(user));
    uint64_t host = XXH3_64bits_digest(state);
    (void)XXH3_freeState(state);
    return host;
}

/* ---- secrets ---- */

struct zcrp_keys *meeting_keys(const struct meeting *meeting)
{
    struct zcrp_keys *keys = NULL;
    int code = zcrp_keys_psk(&keys, "zcrp-cp", meeting->key, MEETING_KEY_BYTES);

    if (code != 0)
        (void)complain("cannot make a key: %s", zcrp_explain(code));
    return keys;
}

struct zcrp_keys *meeting_server_keys(const char *path)
{
    struct zcrp_keys *keys = NULL;
    int code = zcrp_keys_read(&keys, path);

    if (code != 0)
        (void)complain("%s", zcrp_explain(code));
    return keys;
}

bool meeting_proof_is(const uint8_t proof[PROOF_BYTES], const uint8_t wanted[PROOF_BYTES])
{
    uint8_t difference = 0;

    for (int i = 0; i < PROOF_BYTES; i++)
        difference |= proof[i] ^ wanted[i];
    return difference == 0;
}
