/* SPDX-License-Identifier: MIT */
/* Sends its standard input to receiver.c, as sender.c does, and records each datagram that crosses
 * its socket in a capture file (pcap) for Wireshark and tshark. The library shows the datagrams to
 * a tap, so no rights are needed.
 *
 *     ./receiver 127.0.0.1 7000 >copy
 *     ./tap 127.0.0.1 7000 run.pcap <file
 *
 *     cc tap.c -o tap $(pkg-config --cflags --libs zcrp) */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zcrp.h>

enum { MESSAGE_BYTES = 1 << 20, HEADS = 28, LINKTYPE_RAW = 101 };

static void check(const char *what, int code)
{
    if (code >= 0)
        return;
    fprintf(stderr, "tap: %s: %s\n", what, zcrp_explain(code));
    exit(1);
}

static FILE *open_capture(const char *path)
{
    const struct {
        uint32_t magic; /* times are in nanoseconds */
        uint16_t version[2];
        uint32_t zone, accuracy, longest, link;
    } head = {0xa1b23c4d, {2, 4}, 0, 0, 1 << 18, LINKTYPE_RAW};
    FILE *capture = fopen(path, "w");

    if (capture == NULL || fwrite(&head, sizeof(head), 1, capture) != 1) {
        perror(path);
        exit(1);
    }
    return capture;
}

static void put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* The tap: writes a packet. The heads of IPv4 and UDP are made up; their ports, 7001 here and 7000
 * there, tell the two directions apart. Two threads may call this at once. */
static void record(void *context, const struct zcrp_crossing *crossing)
{
    FILE *capture = context;
    uint32_t bytes = HEADS + crossing->bytes;
    uint64_t time_ns = (uint64_t)crossing->time_ns;
    const uint32_t packet[4] = {(uint32_t)(time_ns / 1000000000), (uint32_t)(time_ns % 1000000000),
                                bytes, bytes};
    uint8_t heads[HEADS] = {
        0x45, [8] = 64, [9] = 17 /* UDP */, [12] = 127, [15] = 1, [16] = 127, [19] = 1};

    put16(&heads[2], bytes);
    put16(&heads[20], crossing->is_outward ? 7001 : 7000);
    put16(&heads[22], crossing->is_outward ? 7000 : 7001);
    put16(&heads[24], bytes - 20);
    flockfile(capture);
    fwrite(packet, sizeof(packet), 1, capture);
    fwrite(heads, sizeof(heads), 1, capture);
    for (uint32_t i = 0; i < crossing->piece_count; i++)
        fwrite(crossing->pieces[i].iov_base, crossing->pieces[i].iov_len, 1, capture);
    funlockfile(capture);
}

int main(int argc, char **argv)
{
    struct zcrp_entity *sender;
    size_t bytes;

    if (argc != 4) {
        fprintf(stderr, "usage: tap HOST PORT CAPTURE\n");
        return 2;
    }
    struct zcrp_msg *message = zcrp_alloc_msg(MESSAGE_BYTES);
    if (message == NULL)
        check("message", ZCRP_ERROR_MEMORY);
    int fd = zcrp_udp_connect(argv[1], argv[2]);
    check("connect", fd);
    FILE *capture = open_capture(argv[3]);
    /* From memory to memory nothing would cross the socket. */
    struct zcrp_options options = {.flags = ZCRP_NO_MEMORY, .tap = record, .tap_context = capture};
    check("open", zcrp_open_sender(&sender, (int[]){fd, fd}, &options));
    do { /* a message of 0 bytes ends the stream */
        bytes = fread(message->buffer, 1, MESSAGE_BYTES, stdin);
        check("submit", zcrp_submit(sender, message, bytes));
        check("send", zcrp_wait_for(message, -1));
    } while (bytes > 0);
    check("close", zcrp_close(sender));
    zcrp_free_msg(message);
    close(fd);
    int is_cut = ferror(capture);
    if (fclose(capture) != 0 || is_cut) {
        fprintf(stderr, "tap: %s cannot be written\n", argv[3]);
        return 1;
    }
    return 0;
}
