/* Numbers of the kernel that older headers lack (glibc 2.28, Linux 4.19): the same on every
 * processor. A kernel that does not know one of them refuses it, and each caller has an answer. */
#ifndef ZCRP_PLATFORM_NUMBERS_H
#define ZCRP_PLATFORM_NUMBERS_H

enum {
    NUMBER_UDP_SEGMENT = 103,      /* UDP_SEGMENT, Linux 4.18 */
    NUMBER_UDP_GRO = 104,          /* UDP_GRO, 5.0 */
    NUMBER_SEAL_FUTURE_WRITE = 16, /* F_SEAL_FUTURE_WRITE, 5.1 */
    NUMBER_NOEXEC_SEAL = 8,        /* MFD_NOEXEC_SEAL, 6.3 */
    NUMBER_POPULATE_READ = 22,     /* MADV_POPULATE_READ, 5.14 */
    NUMBER_POPULATE_WRITE = 23,    /* MADV_POPULATE_WRITE, 5.14 */
};

#endif
