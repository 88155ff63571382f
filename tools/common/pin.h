/* Which core an end runs on. */
#ifndef COMMON_PIN_H
#define COMMON_PIN_H

#define PIN_NONE (-1)

/* From now on this process, with all threads that it starts, runs on that core alone; with PIN_NONE
 * wherever the system likes. 0, or -1 with a complaint. */
int pin_to(int core);

#endif
