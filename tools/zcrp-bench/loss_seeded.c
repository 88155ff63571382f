#include "loss_seeded.h"

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The figures are splitmix64's. It steps by this, and multiplies with these. */
static const uint64_t step = 0x9e3779b97f4a7c15;
static const uint64_t first_factor = 0xbf58476d1ce4e5b9;
static const uint64_t second_factor = 0x94d049bb133111eb;

static int call(enum bpf_cmd command, union bpf_attr *attributes)
{
    return (int)syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

/* One number of 64 bits, 0: how many packets have come. */
static int open_counter(void)
{
    union bpf_attr attributes = {
        .map_type = BPF_MAP_TYPE_ARRAY,
        .key_size = sizeof(uint32_t),
        .value_size = sizeof(uint64_t),
        .max_entries = 1,
    };

    return call(BPF_MAP_CREATE, &attributes);
}

/* Seeds next to each other shall not have next to the same figures. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * first_factor;
    x = (x ^ x >> 27) * second_factor;
    return x ^ x >> 31;
}

#define STEP(operation, to, from, at, figure)                                                      \
    {                                                                                              \
        .code = (operation), .dst_reg = (to), .src_reg = (from), .off = (at), .imm = (int)(figure) \
    }
#define COPY(to, from) STEP(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
#define SET(to, figure) STEP(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, figure)
#define DO(operation, to, from) STEP(BPF_ALU64 | (operation) | BPF_X, to, from, 0, 0)
#define DO_BY(operation, to, figure) STEP(BPF_ALU64 | (operation) | BPF_K, to, 0, 0, figure)
#define SET_WIDE(to, kind, figure)                                                                 \
    STEP(BPF_LD | BPF_DW | BPF_IMM, to, kind, 0, (uint32_t)(figure)),                              \
        STEP(0, 0, 0, 0, (uint32_t)((uint64_t)(figure) >> 32))
#define LOOK_UP STEP(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem)
#define COUNT(to, by) STEP(BPF_STX | BPF_DW | BPF_ATOMIC, to, by, 0, BPF_ADD | BPF_FETCH)
#define SHIFTED_IN(to, bits) COPY(2, to), DO_BY(BPF_RSH, 2, bits), DO(BPF_XOR, to, 2)
#define END STEP(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

/* Registers: 0 results, 1 the figure, 2 for the moment, 10 the stack. */
static int open_program(int counter, uint32_t threshold, uint64_t seed)
{
    const struct bpf_insn steps[] = {
        STEP(BPF_ST | BPF_W | BPF_MEM, 10, 0, -4, 0), /* the counter's key */
        COPY(2, 10),
        DO_BY(BPF_ADD, 2, -4),
        SET_WIDE(1, BPF_PSEUDO_MAP_FD, counter),
        LOOK_UP,
        STEP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 26, 0), /* there is no counter: to the last two */
        SET(1, 1),
        COUNT(0, 1), /* 1 is the number of the packet now */
        SET_WIDE(2, 0, step),
        DO(BPF_MUL, 1, 2),
        SET_WIDE(2, 0, mix(seed)),
        DO(BPF_ADD, 1, 2),
        SHIFTED_IN(1, 30),
        SET_WIDE(2, 0, first_factor),
        DO(BPF_MUL, 1, 2),
        SHIFTED_IN(1, 27),
        SET_WIDE(2, 0, second_factor),
        DO(BPF_MUL, 1, 2),
        DO_BY(BPF_RSH, 1, 32),
        SET_WIDE(2, 0, threshold),
        STEP(BPF_JMP | BPF_JGE | BPF_X, 1, 2, 2, 0),
        SET(0, 0),
        END,
        SET(0, -1), /* all of it is kept */
        END,
    };
    union bpf_attr attributes = {
        .prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
        .insns = (uint64_t)(uintptr_t)steps,
        .insn_cnt = sizeof steps / sizeof *steps,
        .license = (uint64_t)(uintptr_t) "",
    };

    return call(BPF_PROG_LOAD, &attributes);
}

int loss_seeded_open(uint32_t threshold, uint64_t seed)
{
    int counter = open_counter();
    int program;

    if (counter < 0)
        return -1;
    program = open_program(counter, threshold, seed);
    close(counter); /* the program has it */
    return program;
}
