/* The options of an entity, made complete. */
#ifndef ZCRP_ENTITY_OPTIONS_H
#define ZCRP_ENTITY_OPTIONS_H

#include "zcrp.h"

/* Copies the user's options, of a struct of `size` bytes (NULL: none), with every 0 replaced by its
 * default, but for unit_bytes, whose default is the path's. ZCRP_OK, or ZCRP_ERROR_ARGUMENT if one
 * is out of its range, or the struct has something that this library does not know. */
__attribute__((warn_unused_result)) int
options_complete(struct zcrp_options *complete, const struct zcrp_options *given, size_t size);

#endif
