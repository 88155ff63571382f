#include "spec.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PARTS = 4 };

/* Cuts a text at its colons, but those in brackets, which it takes off. The number of parts; 0: too
 * many, too long, or a bracket has no other one. */
static int cut(const char *text, char parts[PARTS][HOST_ROOM])
{
    for (int count = 0; count < PARTS; text++) {
        bool has_bracket = text[0] == '[';
        size_t length = strcspn(text += has_bracket, has_bracket ? "]" : ":");

        if (length >= HOST_ROOM)
            return 0;
        memcpy(parts[count], text, length);
        parts[count++][length] = '\0';
        text += length;
        if (has_bracket && *text++ != ']')
            return 0;
        if (*text == '\0')
            return count;
        if (*text != ':')
            return 0;
    }
    return 0;
}

static bool read_port(uint16_t *port, const char *text, unsigned least)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number < least || number > UINT16_MAX)
        return false;
    *port = (uint16_t)number;
    return true;
}

bool spec_is_name(const char *host)
{
    for (; *host != '\0'; host++)
        if (*host <= ' ' || *host > '~')
            return false;
    return true;
}

int spec_forward(struct forward *forward, const char *text)
{
    char parts[PARTS][HOST_ROOM];
    int count = cut(text, parts), first = count == PARTS;

    if (count < PARTS - 1 || parts[first + 1][0] == '\0' || !spec_is_name(parts[0]) ||
        !spec_is_name(parts[first + 1]) || !read_port(&forward->bind.port, parts[first], 0) ||
        !read_port(&forward->target.port, parts[first + 2], 1))
        return -1;
    (void)strcpy(forward->bind.host, first == 1 ? parts[0] : "");
    (void)strcpy(forward->target.host, parts[first + 1]);
    return 0;
}

int spec_address(struct address *address, const char *text, uint16_t usual)
{
    char parts[PARTS][HOST_ROOM];
    int count = cut(text, parts);

    *address = (struct address){.port = usual};
    if (count == 1 && usual == 0)
        return read_port(&address->port, parts[0], 0) ? 0 : -1;
    if (count < 1 || count > 2 || parts[0][0] == '\0' ||
        (count == 2 && !read_port(&address->port, parts[1], 0)))
        return -1;
    (void)strcpy(address->host, parts[0]);
    return 0;
}

int spec_peer(struct address *peer, const char *text, uint16_t usual)
{
    int status = spec_address(peer, text, usual);

    return status == 0 && peer->host[0] != '\0' && peer->port != 0 ? 0 : -1;
}

int spec_rule(struct address *rule, const char *text)
{
    char parts[PARTS][HOST_ROOM];

    rule->port = 0;
    if (cut(text, parts) != 2 || parts[0][0] == '\0' ||
        (strcmp(parts[1], "*") != 0 && !read_port(&rule->port, parts[1], 1)))
        return -1;
    (void)strcpy(rule->host, parts[0]);
    return 0;
}

bool spec_allows(const struct rules *rules, const char *host, uint16_t port)
{
    for (unsigned i = 0; i < rules->count; i++) {
        const struct address *rule = &rules->of[i];

        if ((strcmp(rule->host, "*") == 0 || strcasecmp(rule->host, host) == 0) &&
            (rule->port == 0 || rule->port == port))
            return true;
    }
    return false;
}
