/* Waiting for the peer of a bound socket: the first that shows that it reads what is sent to its
 * address (core/wire/cookie.h). */
#ifndef ZCRP_CHANNEL_ACCEPT_H
#define ZCRP_CHANNEL_ACCEPT_H

#include "core/instant.h"

/* Answers hellos, and connects the socket to where the first hello with a good cookie came from.
 * That hello stays in the socket, for the receiver that is opened with it; what came before it is
 * gone, and what others sent meanwhile is dropped by the channel. On raw sockets of AAL5, and on
 * UDP port 6635, hellos come in PDUs of any circuit, and are answered on the same.
 *
 * 0; -ETIMEDOUT after the deadline (NEVER: no limit), or another negative error number: then the
 * socket is as it was, connected to nobody.
 * A machine with several addresses should bind to the one that its peer uses: an answer from
 * another one would be a stranger's to the peer. */
__attribute__((warn_unused_result)) int accept_peer(int fd, instant deadline);

#endif
