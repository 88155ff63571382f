/* The API's codes: what stands for an outcome of the core, or for an error of a channel;
 * and their words (zcrp_strerror, zcrp_explain). */
#ifndef ZCRP_LINK_CODES_H
#define ZCRP_LINK_CODES_H

#include "core/outcome.h"

#include <stdbool.h>

/* The code of a message with this outcome. The core does not know the channel. So a message that
 * the core ended by itself failed because of the channel, if that is broken, and else because of
 * the close. */
int code_of_outcome(enum outcome outcome, bool is_broken);

/* The status of a connection whose sender has this link, and this end. */
int code_of_link(enum peer_link link, enum outcome ended);

/* Does this outcome end the whole session, so that the backlog fails with it? */
bool code_ends_session(enum outcome outcome);

/* The code for a negative error of channel_init, or of the system: then errno is set, and the
 * system's text becomes the reason (reason.h). */
int code_of_channel(int error);

/* ZCRP_ERROR_ARGUMENT; says that the argument of this name is NULL. */
int code_of_null(const char *argument);

#endif
