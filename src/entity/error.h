/* The API's words for what was found in opening a socket by name. */
#ifndef ZCRP_ENTITY_ERROR_H
#define ZCRP_ENTITY_ERROR_H

/* The code for 0 or a negative error of channel/names.h. What is wrong with the name or the
 * address is the caller's to know (_ADDRESS), as is the time (_TIMEOUT); all else is the system's,
 * with errno set. */
int error_of_name(int error);

#endif
