/* How two ends that a remote shell joins come together. The near end makes secrets for this one
 * run, and writes a line to the far end's standard input, never to a command line, which others
 * could see:
 *
 *      PROGRAM VERSION KEY PROOFS HOST PORT
 *
 * The far end listens with the key, and answers on its standard output:
 *
 *      PROGRAM VERSION PORT SAME
 *
 * The near end passes over other lines, which a login script prints. The last of them may lack its
 * newline: the far end writes one first.
 *
 * SAME is 0, or again PORT if HOST says that both ends are on one host: then the near end calls
 * 127.0.0.1, whatever name the user has for that host. PROOFS are what zcrp-cp 0.2.0 shows and
 * wants to see besides; now the key is enough, and other programs have none. */
#ifndef COMMON_MEETING_H
#define COMMON_MEETING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "zcrp.h"

enum { MEETING_ROOM = 256, MEETING_KEY_BYTES = ZCRP_KEYS_PSK_LEAST, MEETING_PROOF_BYTES = 16 };

/* Whose ends they are. */
struct meeting_program {
    const char *name; /* in lines and complaints, and of the key */
    int version;
    bool has_proofs;
};

struct meeting {
    uint8_t key[MEETING_KEY_BYTES];
    uint8_t near_proof[MEETING_PROOF_BYTES], far_proof[MEETING_PROOF_BYTES];
    uint64_t host; /* a hash of this host's boot and network namespace */
    uint16_t port; /* that the far end shall listen on; 0: any */
};

/* Draws the secrets. */
void meeting_make(struct meeting *meeting, uint16_t port);

/* The near end's line, with its newline, and back. False: it is none. */
void meeting_write(const struct meeting *meeting, const struct meeting_program *program,
                   char line[MEETING_ROOM]);
bool meeting_read(struct meeting *meeting, const struct meeting_program *program, const char *line);

/* The far end's answer. */
void meeting_write_port(const struct meeting_program *program, uint16_t port, bool is_one_host,
                        char line[MEETING_ROOM]);
bool meeting_read_port(const struct meeting_program *program, const char *line, uint16_t *port,
                       bool *is_one_host);

/* Does a line begin like one of these, whatever its version? Remote shells may print others. */
bool meeting_is_line(const struct meeting_program *program, const char *line);

/* What this process's meeting->host is. Where /proc does not tell it, it is one that no other
 * process has. */
uint64_t meeting_host(void);

/* The far end reads the line from standard input. 0, or -1 with a complaint. Its complaints begin
 * with "PROGRAM (far end)" from now on, because they come out beside the near end's. */
int meeting_hear(struct meeting *meeting, const struct meeting_program *program);

/* And answers on standard output, when it listens on `port`. As meeting_hear. */
int meeting_answer(const struct meeting *meeting, const struct meeting_program *program,
                   uint16_t port);

/* The key, for zcrp_listen and zcrp_connect. NULL, with a complaint. */
struct zcrp_keys *meeting_keys(const struct meeting *meeting,
                               const struct meeting_program *program);

/* The key of a server, from a file of zcrp-keys. NULL, with a complaint, also of a key pair: no
 * option pins the other end's key, so it would let nobody in. */
struct zcrp_keys *meeting_server_keys(const char *path);

/* Listens with these options, whose keys it frees, or not at all if they are NULL. `port` is 0 for
 * any one, `address` NULL. 0, or -1 with a complaint. */
int meeting_listen(struct zcrp_listener **listener, const char *address, uint64_t port,
                   const struct zcrp_options *options);

/* Overwrites the secrets. */
void meeting_forget(struct meeting *meeting);

/* The far end, started through a remote shell. Its standard input carries the meeting's line and
 * stays open as long as this end lives; its standard output carries the answer, and stays open as
 * long as that end lives; its complaints go where ours go. */
struct remote {
    pid_t pid; /* 0: none */
    int in, out;
    const char *login; /* user@host: the caller's */
};

/* The user's remote shell: ZCRP_RSH in the environment, or ssh. */
const char *remote_shell(void);

/* Runs `shell`, words with blanks between them, with `login`, `far_program`, and these arguments,
 * of which the last is NULL. 0, or -1 with a complaint. */
int remote_start(struct remote *remote, const char *shell, const char *login,
                 const char *far_program, const char *const arguments[]);

/* Tells the far end the secrets, and waits for its port. 0, or -1 with a complaint (none if a
 * signal ended the wait: errno is EINTR). */
int remote_meet(struct remote *remote, const struct meeting *meeting,
                const struct meeting_program *program, uint16_t *port, bool *is_one_host);

/* Tells the far end that this one is over, waits for it a while, and ends it if it goes on. Closes
 * `out`. */
void remote_end(struct remote *remote);

#endif
