/* The key log: a file of TLS secrets, one a line, in the format of SSLKEYLOGFILE
 * (draft-ietf-tls-keylogfile). Whoever reads it can decrypt captures of the connections.
 *
 *     CLIENT_TRAFFIC_SECRET_0 <client random, hexadecimal> <secret, hexadecimal>
 *
 * Each line is appended by one call, so several processes may share a file. Several threads may
 * write to one log. */
#ifndef ZCRP_KEYS_LOG_H
#define ZCRP_KEYS_LOG_H

#include "zcrp.h"

#include <gnutls/gnutls.h>

enum { LOG_LABEL_MOST = 64, LOG_BYTES_MOST = 64 }; /* of a label; of a random or a secret */

struct log;

/* Opens the file at `path`, or makes it with mode 600; `*log` is to be closed. ZCRP_ERROR_SYSTEM
 * (errno says how; ELOOP: it is a link), _EXPOSED if it is another user's or others may read or
 * write it, _ARGUMENT if it is no regular file, _MEMORY; `*log` is NULL then. */
__attribute__((warn_unused_result)) int log_open(struct log **log, const char *path);

/* Appends a line. After one that could not be written whole nothing is written any more. What is
 * longer than the limits is left out. */
void log_write(struct log *log, const char *label, const gnutls_datum_t *random,
               const gnutls_datum_t *secret);

/* Closes the file. NULL is fine. */
void log_close(struct log *log);

#endif
