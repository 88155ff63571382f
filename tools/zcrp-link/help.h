/* What --help prints. */
#ifndef LINK_HELP_H
#define LINK_HELP_H

extern const char help_text[];

#endif
