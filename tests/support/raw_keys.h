/* Two raw keys for end-to-end tests, of which both ends accept the first. */
#ifndef ZCRP_TESTS_SUPPORT_RAW_KEYS_H
#define ZCRP_TESTS_SUPPORT_RAW_KEYS_H

#include "ends.h"

#include <string.h>

static const char mine[] = "-----BEGIN PRIVATE KEY-----\n"
                           "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
                           "-----END PRIVATE KEY-----\n";
static const char wrong[] = "-----BEGIN PRIVATE KEY-----\n"
                            "MC4CAQAwBQYDK2VwBCIEIEzNCJsopdubKS92nA/5yo/1vahLoLYnwlZFZCd7BNtv\n"
                            "-----END PRIVATE KEY-----\n";
static const char mine_fingerprint[] =
    "06e3fd8fda29bb60ab59557de61edb0aecdb231134be30e75b455f8e1b792fa9";

/* The caller's, to be freed. */
static inline struct zcrp_keys *raw(const char *pem)
{
    struct zcrp_keys *keys;

    ck_assert_int_eq(zcrp_keys_raw(&keys, pem, strlen(pem)), ZCRP_OK);
    ck_assert_int_eq(zcrp_keys_pin(keys, mine_fingerprint), ZCRP_OK);
    return keys;
}

#endif
