/* How two ends that a remote shell joins come together. The near end makes secrets for this one
 * copy, and writes a line to the far end's standard input, never to a command line, which others
 * could see:
 *
 *      zcrp-cp 1 KEY PROOFS HOST PORT
 *
 * The far end listens, and answers on its standard output:
 *
 *      zcrp-cp 1 PORT MEMORY-PORT
 *
 * PORT has connections with the key. MEMORY-PORT is 0, or, if HOST says that both ends are
 * processes of one user on one host, a port at 127.0.0.1 for a connection without keys that uses
 * memory or nothing (ZCRP_CHANNEL_MEMORY). There each end shows its proof to the other one. */
#ifndef ZCRP_CP_MEETING_H
#define ZCRP_CP_MEETING_H

#include <stdbool.h>
#include <stdint.h>

#include "zcrp-cp/wire/record.h"
#include "zcrp.h"

enum { MEETING_ROOM = 256, MEETING_KEY_BYTES = ZCRP_KEYS_PSK_LEAST };

struct meeting {
    uint8_t key[MEETING_KEY_BYTES];
    uint8_t near_proof[PROOF_BYTES], far_proof[PROOF_BYTES];
    uint64_t host; /* a hash of this host's boot, namespaces and user */
    uint16_t port; /* that the far end shall listen on; 0: any */
};

/* Draws the secrets. 0, or -1 with a complaint. */
int meeting_make(struct meeting *meeting, uint16_t port);

/* The near end's line, with its newline, and back. False: it is none. */
void meeting_write(const struct meeting *meeting, char line[MEETING_ROOM]);
bool meeting_read(struct meeting *meeting, const char *line);

/* The far end's answer. */
void meeting_write_ports(uint16_t port, uint16_t memory_port, char line[MEETING_ROOM]);
bool meeting_read_ports(const char *line, uint16_t *port, uint16_t *memory_port);

/* Does a line begin like one of these, whatever its version? Remote shells may print others. */
bool meeting_is_line(const char *line);

/* What this process's meeting->host is. */
uint64_t meeting_host(void);

/* The key, for zcrp_listen and zcrp_connect. NULL, with a complaint. */
struct zcrp_keys *meeting_keys(const struct meeting *meeting);

/* The key of a server, from a file of zcrp-keys. NULL, with a complaint. */
struct zcrp_keys *meeting_server_keys(const char *path);

bool meeting_proof_is(const uint8_t proof[PROOF_BYTES], const uint8_t wanted[PROOF_BYTES]);

/* Overwrites the secrets. */
void meeting_forget(struct meeting *meeting);

#endif
