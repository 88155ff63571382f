/* The inside of the target, which session.h runs. Two files share its state:
 *
 *      target.c    requests and answers, the list, and how much may be under way
 *      placing.c   what becomes of an entry: made at once, passed over, or asked for
 *
 * Functions return 0 or a code that ends the copy: the library's, or LINE_BROKEN. */
#ifndef ZCRP_CP_TARGET_H
#define ZCRP_CP_TARGET_H

#include "incoming.h"
#include "session.h"

enum {
    TARGET_FILES = 64,  /* large files under way at once */
    AWAITED_MOST = 512, /* answers at once */
    AWAITED_SPARE = 16, /* messages of their own that are kept for the next answers */
    STORERS_MOST = 8,   /* files that are handed to the file system at once */
};

/* An answer. Its buffer is posted when it is asked for: a block's is the slice of the part file
 * where it belongs, the others have memory of their own. */
struct awaited {
    uint8_t kind;              /* of the request: enum record_kind */
    int code;                  /* how the message has ended, once it has come */
    struct zcrp_msg *message;  /* NULL: CLOSE, which only its REPORT answers */
    struct incoming *incoming; /* whose; NULL: LIST, PACK, REPORT, BYE */
    struct range part;         /* of its file */
    struct task touch, hash;   /* SEND: its pages, and what has landed; HASHES: what is here */
    uint8_t own[HASH_BYTES];   /* SEND: the hash of what has landed */
    uint8_t *digests;          /* HASHES: those of the leaves here; freed with the answer */
    struct wanted **pack;      /* PACK: the files, NULL once dealt with; freed with the answer */
    unsigned pack_count;
};

/* All of them, in their order. A SEND or CLOSE stays until its REPORT has come. With a line and a
 * crew, everything else zero is none. */
struct awaiting {
    struct line *line;
    struct crew *crew;
    struct awaited ring[AWAITED_MOST];
    unsigned first, count; /* all that are in it */
    unsigned come;         /* of these, so many from the first on have come */
    struct zcrp_msg *spare[AWAITED_SPARE];
    int spare_count;
};

/* A directory that gets its permissions and time when all that is in it is there. */
struct finished {
    const char *path; /* the entry's; first, so that a pointer to it in the tree is one to all */
    struct wanted *wanted;
    struct finished *next;
};

struct copy_target {
    const struct target_wishes *wishes;
    struct progress *progress;
    struct outbox requests;
    struct zcrp_msg *message; /* requests that are not sent yet; NULL: none */
    struct writer writer;     /* into it */
    struct awaiting awaiting;
    struct wanted *first, **last; /* of the list, not begun yet */
    unsigned queued;
    uint32_t listed; /* entries so far */
    int lists;       /* LIST requests under way */
    bool is_listed;  /* the list is complete */
    struct incoming open[TARGET_FILES];
    bool is_open[TARGET_FILES];
    int open_count;
    struct crew storers;             /* the other crew's threads never wait for that */
    struct wanted *pack[PACK_FILES]; /* to be asked for together */
    unsigned pack_count;
    uint64_t pack_bytes;
    char lost[PATH_MOST + 1];     /* the directory that could not be made last; "": none */
    struct finished *directories; /* the deepest first */
    void *directory_paths;        /* of these: a tree of tsearch(3) */
    unsigned unreported;          /* SEND and CLOSE since the last REPORT */
    uint64_t in_flight;           /* bytes asked for that have not come */
    int64_t allowed_ns;           /* with a rate: from then on more may be asked for */
    bool is_over;
};

/* ---- target.c ---- */

/* Adds a request to the message that is being filled; those of a SEND and a CLOSE are counted, and
 * at last a REPORT is asked for. */
int target_request(struct copy_target *target, const struct record *record);

/* These bytes are asked for now. */
void target_charge(struct copy_target *target, uint64_t bytes);

/* When more may be asked for at `rate` bits per second, if it was at `allowed_ns`, and these bytes
 * are asked for now. Time in which nothing was asked for is not saved up, but for 100 ms. */
int64_t target_allowed_after(int64_t allowed_ns, int64_t now_ns, uint64_t bytes, uint64_t rate);

/* Tells the user what became of an entry, or the source, which tells its user, and frees the entry.
 * `settled` bytes of it need not cross. It has failed: why ("": another complaint stands for it),
 * or `what` happened, and errno says why. */
int target_settle(struct copy_target *target, struct wanted *wanted, enum outcome outcome,
                  uint64_t settled);
int target_fail(struct copy_target *target, struct wanted *wanted, struct text why);
int target_fail_errno(struct copy_target *target, struct wanted *wanted, const char *what);

/* It is the next that the target takes from its list, once more. */
void target_put_back(struct copy_target *target, struct wanted *wanted);

/* The source broke the rules. LINE_BROKEN. */
int target_refuse(void);

/* Adds the last one, to be filled in, and posts its buffer: memory of `room` bytes of its own, or
 * the part of the file where it lands, or none (room 0). NULL, and *code. */
struct awaited *awaiting_add(struct awaiting *awaiting, uint8_t kind, size_t room, int *code);
struct awaited *awaiting_add_slice(struct awaiting *awaiting, struct incoming *incoming,
                                   struct range part, int *code);

/* Drops those at the front that are dealt with: all before the i-th. */
struct awaited *awaiting_at(struct awaiting *awaiting, unsigned i);
void awaiting_drop(struct awaiting *awaiting, unsigned count);

/* ---- placing.c ---- */

/* Takes an entry, and owns it from then on. A file needs a place. */
int placing_entry(struct copy_target *target, struct wanted *wanted);

/* Asks for the pack. It is full if not every small file would find room in it. */
bool placing_is_pack_full(const struct copy_target *target);
int placing_request_pack(struct copy_target *target);

/* Takes a large file's next step. *did: there was one. Leaving its place frees it. */
int placing_advance(struct copy_target *target, struct incoming *incoming, bool *did);
void placing_leave(struct copy_target *target, struct incoming *incoming, bool keeps);

/* Takes an answer about files. A REPORT is about all SEND and CLOSE before it, and takes them all
 * out of the ring. */
int placing_on_answer(struct copy_target *target, struct awaited *awaited);

/* Gives the directories their permissions and times, when all that is in them is there; frees them
 * in any case. */
int placing_finish_directories(struct copy_target *target, bool is_fine);

#endif
