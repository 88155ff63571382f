/* HOST:PORT as text, the way getaddrinfo likes it. */
#ifndef BENCH_ADDRESS_H
#define BENCH_ADDRESS_H

struct address {
    char host[256]; /* a name or number; "": any, to listen at */
    char port[32];
};

/* Reads "host:port", "[v6]:port" or ":port". 0 or -1, without a complaint. */
int address_parse(const char *text, struct address *address);

/* The two ends of a connected or bound socket, in numbers. 0, or -1 with a complaint. */
int address_local(int fd, struct address *address);
int address_peer(int fd, struct address *address);

#endif
