/* The API's codes: what stands for an outcome of the core, or for an error of a channel;
 * and their words (zcrp_strerror, zcrp_explain). */
#ifndef ZCRP_LINK_CODES_H
#define ZCRP_LINK_CODES_H

#include "core/outcome.h"

#include <stdbool.h>

/* The code of a message that ended so. The core knows of no channel: a message that it ends by
 * itself failed because of the channel if that is broken, else because of the close. */
int code_of_outcome(enum outcome outcome, bool is_broken);

/* How a connection stands whose sender is linked so, and ended so. */
int code_of_link(enum peer_link link, enum outcome ended);

/* Does this outcome end the whole session, so that the backlog fails with it? */
bool code_ends_session(enum outcome outcome);

/* The code for a negative error of channel_init, or of the system: then errno is set, and what the
 * system says is said (reason.h). */
int code_of_channel(int error);

/* ZCRP_ERROR_ARGUMENT; says that the argument of this name is NULL. */
int code_of_null(const char *argument);

#endif
