#include "place.h"

#include <arpa/inet.h>
#include <string.h>

static const uint8_t network[4] = {0xFD, 0x00, 0x00, 0x5A};

int place_family = AF_INET;

void place_put(uint8_t bytes[16], uint32_t address)
{
    memset(bytes, 0, 16);
    memcpy(bytes, network, sizeof(network));
    for (int i = 0; i < 4; i++)
        bytes[4 + i] = (uint8_t)(address >> (24 - 8 * i));
    bytes[15] = 1;
}

uint32_t place_get(const uint8_t bytes[16])
{
    uint32_t address = 0;

    if (memcmp(bytes, network, sizeof(network)) != 0)
        return 0;
    for (int i = 0; i < 4; i++)
        address = address << 8 | bytes[4 + i];
    return address;
}

union place_address place_address_of(struct raw_end end, socklen_t *size)
{
    union place_address a = {0};

    if (place_is_ipv6()) {
        a.in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(end.port)};
        place_put(a.in6.sin6_addr.s6_addr, end.address);
        *size = sizeof(a.in6);
    } else {
        a.in = (struct sockaddr_in){
            .sin_family = AF_INET, .sin_port = htons(end.port), .sin_addr = {htonl(end.address)}};
        *size = sizeof(a.in);
    }
    return a;
}

struct raw_end place_end_of(const union place_address *a)
{
    if (a->any.sa_family == AF_INET6)
        return (struct raw_end){place_get(a->in6.sin6_addr.s6_addr), ntohs(a->in6.sin6_port)};
    return (struct raw_end){ntohl(a->in.sin_addr.s_addr), ntohs(a->in.sin_port)};
}

uint32_t place_number(const char *text)
{
    struct in6_addr six;
    struct in_addr four;

    if (inet_pton(AF_INET6, text, &six) == 1)
        return place_get(six.s6_addr);
    return inet_pton(AF_INET, text, &four) == 1 ? ntohl(four.s_addr) : 0;
}

void place_text(uint32_t address, char text[INET6_ADDRSTRLEN])
{
    socklen_t size;
    union place_address a = place_address_of((struct raw_end){address, 0}, &size);

    if (place_is_ipv6())
        inet_ntop(AF_INET6, &a.in6.sin6_addr, text, INET6_ADDRSTRLEN);
    else
        inet_ntop(AF_INET, &a.in.sin_addr, text, INET6_ADDRSTRLEN);
}
