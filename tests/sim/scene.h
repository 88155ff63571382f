/* What everything in a simulated world shares: the time, the dice, the log, and the verdict. The
 * first thing that is wrong is kept, and ends the run. */
#ifndef ZCRP_TESTS_SIM_SCENE_H
#define ZCRP_TESTS_SIM_SCENE_H

#include "setup.h"

#include <stdio.h>

struct scene {
    const struct setup *setup;
    instant now;
    uint64_t random;
    FILE *log; /* the story, or NULL */
    bool has_failed;
    char failure[256];
};

/* Notes what is wrong unless `is_right`; returns it. */
bool scene_expect(struct scene *scene, bool is_right, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes a line of the story. */
void scene_tell(struct scene *scene, const char *who, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same of a datagram: `how` says what becomes of it. */
void scene_tell_datagram(struct scene *scene, const char *who, const uint8_t *bytes, uint32_t size,
                         const char *how);

/* An outcome by name. */
const char *scene_outcome(enum outcome outcome);

/* A length of time below `most` or equal. */
duration scene_some(struct scene *scene, duration most);

#endif
