/* The two ends of zcrp-cp, each against a peer that does not keep the rules: nothing outside the
 * directory is touched, and the copy ends with an error instead of in one. */
#include "zcrp-cp/ends/target.h"
#include "zcrp-cp/files/memory.h"
#include "zcrp-cp/files/place.h"
#include "zcrp-cp/wire/line.h"

#include "../../support/own.h"
#include "../../support/suite.h"
#include "common/complain.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

LOAD(asleep)

enum { RECORDS = 24, OUTCOMES_KEPT = 8, PORT_ROOM = 8 };

static const char secret[] = "secret";

/* ---- a stage: two ends of a connection, and a folder with two in it ---- */

static struct line ours, theirs;
static struct zcrp_listener *listener;
static struct crew crew;
static char folder[64];
static int inside; /* the directory that may be touched */

static const char *path_of(const char *name)
{
    static char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void connect_ends(void)
{
    struct zcrp_connection *near = NULL, *far = NULL;
    char port[PORT_ROOM];

    ck_assert_int_eq(zcrp_listen(&listener, "127.0.0.1", "0", NULL), 0);
    (void)snprintf(port, sizeof(port), "%d", zcrp_listener_port(listener));
    ck_assert_int_eq(zcrp_connect(&near, "127.0.0.1", port, NULL, 0), 0);
    ck_assert_int_eq(zcrp_accept(listener, &far, -1), 0);
    ck_assert_int_eq(zcrp_connection_wait(near, -1), 0);
    line_init(&ours, near);
    line_init(&theirs, far);
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* Outside there is the victim, as it was, and nothing else. */
static void check_outside(void)
{
    char text[sizeof(secret)] = "";
    FILE *victim = fopen(path_of("outside/victim"), "r");

    ck_assert_ptr_nonnull(victim);
    ck_assert_int_eq(own_count(path_of("outside")), 3); /* with . and .. */
    ck_assert_ptr_nonnull(fgets(text, sizeof(text), victim));
    ck_assert_str_eq(text, secret);
    (void)fclose(victim);
}

/* ---- a peer that is stopped ---- */

/* It has begun to copy into each message: the first cancel is BUSY, in any thread, and so is the
 * first close of our connection. */
static const struct zcrp_connection *stopped; /* ours, once the peer is */
static atomic_int closes;
static _Thread_local const struct zcrp_msg *busy;
static _Thread_local int busy_times, given_up; /* messages; of these not cancelled again */

static void stop_peer(void)
{
    stopped = ours.connection;
    line_end_waits(&ours, LINE_INTERRUPTED);
}

int __wrap_zcrp_cancel(struct zcrp_msg *message);
int __real_zcrp_cancel(struct zcrp_msg *message);
int __wrap_zcrp_connection_close(struct zcrp_connection *connection);
int __real_zcrp_connection_close(struct zcrp_connection *connection);

int __wrap_zcrp_cancel(struct zcrp_msg *message)
{
    if (stopped == NULL || message == busy || zcrp_error(message) != ZCRP_ERROR_BUSY) {
        busy = message == busy ? NULL : busy;
        return __real_zcrp_cancel(message);
    }
    given_up += busy != NULL;
    busy = message;
    busy_times++;
    return ZCRP_ERROR_BUSY;
}

int __wrap_zcrp_connection_close(struct zcrp_connection *connection)
{
    if (connection != NULL && connection == stopped && atomic_fetch_add(&closes, 1) == 0)
        return ZCRP_ERROR_BUSY;
    return __real_zcrp_connection_close(connection);
}

/* ---- a source that says anything ---- */

static struct {
    struct record list[RECORDS]; /* its whole list */
    int list_count;
    struct record extents[RECORDS]; /* of each file with holes */
    int extent_count;
    size_t block_length; /* of each block; 0: as it should be */
    const char *content; /* of each small file; NULL: "x" */
    bool damages;        /* hashes are never right */
    bool is_silly;       /* each answer is a LIST request */
    bool is_stopped;     /* it is when a block is asked for, and the target's user has had enough */
    bool takes_back;     /* each block is taken back before the target asks for it, */
    struct partial held; /* ... because its part file is held until then */
    int lists;           /* asked for */
    int blocks;          /* asked for, ever */
    int pending;         /* SEND since the last REPORT */
    size_t lengths[REPORT_MOST];
    uint8_t outcomes[OUTCOMES_KEPT];
    bool has_text[OUTCOMES_KEPT];
    int outcome_count;
    bool is_over;
} script;

static uint8_t zeros[BLOCK_MOST];
static struct target_wishes wishes;

/* What a target asks that is none. */
static struct record requests_of_target[RECORDS];
static int request_count;

static void setup(void)
{
    complain_silently();
    memset(&script, 0, sizeof(script));
    memset(&wishes, 0, sizeof(wishes));
    memset(&ours, 0, sizeof(ours));
    memset(&theirs, 0, sizeof(theirs));
    memset(requests_of_target, 0, sizeof(requests_of_target));
    request_count = 0;
    stopped = NULL;
    mapping_start();
    strcpy(folder, "/tmp/zcrp-hostile-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(mkdir(path_of("inside"), 0700), 0);
    ck_assert_int_eq(mkdir(path_of("outside"), 0700), 0);
    write_file("outside/victim", secret);
    inside = open(path_of("inside"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(inside, 0);
    ck_assert_int_eq(crew_init(&crew, "zcrp-cp crew", CREW_THREADS), 0);
    connect_ends();
}

static void teardown(void)
{
    char command[128];

    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    (void)zcrp_listener_close(listener);
    crew_fini(&crew);
    (void)close(inside);
    ck_assert_int_eq(system(command), 0);
}

FIXTURE(setup, teardown)

/* The target may have had enough already, and have taken its buffers back. */
static void answer(const void *bytes, size_t length)
{
    struct zcrp_msg *message = zcrp_alloc_msg(length);

    ck_assert_ptr_nonnull(message);
    if (length > 0)
        memcpy(message->buffer, bytes, length);
    (void)line_send_first(&theirs, message, length, 2000000000);
}

static void answer_records(const struct record *records, int count)
{
    static uint8_t bytes[PACK_ROOM];
    struct writer writer = writer_of(bytes, sizeof(bytes));

    for (int i = 0; i < count; i++)
        ck_assert(record_encode(&writer, &records[i]));
    answer(bytes, writer_length(&writer));
}

static struct text content(void)
{
    const char *bytes = script.content != NULL ? script.content : "x";

    return text_of(bytes);
}

/* Of a small file, as a whole. */
static void answer_hashes(void)
{
    struct record record = {.kind = RECORD_DIGESTS};
    uint8_t hash[HASH_BYTES];

    task_hash(content().bytes, content().length, hash);
    record.digests.hashes = (struct text){(const char *)hash, sizeof(hash)};
    answer_records(&record, 1);
}

static void answer_pack(int count)
{
    static struct record records[PACK_FILES];

    for (int i = 0; i < count; i++) {
        records[i] = (struct record){.kind = RECORD_PACKED};
        records[i].packed.content = content();
        task_hash(content().bytes, content().length, records[i].packed.hash);
        records[i].packed.hash[0] ^= script.damages;
    }
    answer_records(records, count);
}

static void answer_report(void)
{
    static struct record records[REPORT_MOST];

    for (int i = 0; i < script.pending; i++) {
        records[i] = (struct record){.kind = RECORD_BLOCK};
        task_hash(zeros, script.lengths[i], records[i].block.hash);
        records[i].block.hash[0] ^= script.damages;
    }
    answer_records(records, script.pending);
    script.pending = 0;
}

/* The target waits for its part file meanwhile. */
static void take_block_back(void)
{
    struct zcrp_msg *message = zcrp_alloc_msg(1 << 20);

    ck_assert_ptr_nonnull(message);
    ck_assert_int_eq(zcrp_submit(theirs.sender, message, 1 << 20), 0);
    line_take_back(message);
    zcrp_free_msg(message);
    partial_close(&script.held);
}

static void answer_request(const struct record *request)
{
    static const struct record list = {.kind = RECORD_LIST}, end = {.kind = RECORD_END};

    if (request->kind == RECORD_OUTCOME) {
        if (script.outcome_count == OUTCOMES_KEPT)
            return;
        script.has_text[script.outcome_count] = request->outcome.error.length > 0;
        script.outcomes[script.outcome_count++] = request->outcome.outcome;
    } else if (script.is_silly) {
        answer_records(&list, 1);
    } else if (request->kind == RECORD_LIST) {
        answer_records(script.list, script.list_count);
        script.list[0] = end;
        script.list_count = 1;
        if (++script.lists == 2 && script.takes_back)
            take_block_back();
    } else if (request->kind == RECORD_PACK) {
        answer_pack(request->pack.count);
    } else if (request->kind == RECORD_HASHES) {
        answer_hashes();
    } else if (request->kind == RECORD_SEND && script.is_stopped) {
        stop_peer();
    } else if (request->kind == RECORD_SEND) {
        size_t length = script.block_length > 0 ? script.block_length : request->part.length;

        script.blocks++;
        script.lengths[script.pending++] = request->part.length;
        if (!script.takes_back)
            answer(zeros, length);
    } else if (request->kind == RECORD_CLOSE) {
        script.lengths[script.pending++] = 0;
    } else if (request->kind == RECORD_REPORT) {
        answer_report();
    } else if (request->kind == RECORD_EXTENTS) {
        answer_records(script.extents, script.extent_count);
    } else {
        answer_records(&end, 1);
        script.is_over = request->kind == RECORD_BYE;
    }
}

static void *act(void *unused)
{
    struct inbox requests;
    int code = inbox_init(&requests, &theirs);

    while (code == 0 && !script.is_over) {
        struct zcrp_msg *message = inbox_receive(&requests, -1, &code);
        struct record record;

        if (message == NULL)
            break;
        struct reader reader = reader_of(message->buffer, message->length);
        while (record_decode(&reader, &record) && atomic_load(&theirs.stop) == LINE_GOES)
            answer_request(&record);
        code = inbox_put_back(&requests);
    }
    inbox_fini(&requests);
    return unused;
}

static void *close_theirs(void *unused)
{
    line_fini(&theirs);
    return unused;
}

static void close_lines(void)
{
    pthread_t closer;

    ck_assert_int_eq(pthread_create(&closer, NULL, close_theirs, NULL), 0);
    line_fini(&ours);
    ck_assert_int_eq(pthread_join(closer, NULL), 0);
}

/* Runs the target against the script, and looks outside. */
static enum line_end run_target(void)
{
    pthread_t actor;

    wishes.directory = inside;

    ck_assert_int_eq(pthread_create(&actor, NULL, act, NULL), 0);
    enum line_end end = target_run(&ours, &crew, &wishes, NULL);
    line_end_waits(&theirs, LINE_LEFT);
    ck_assert_int_eq(pthread_join(actor, NULL), 0);
    close_lines();
    check_outside();
    return end;
}

static void say(struct record record)
{
    script.list[script.list_count++] = record;
}

static struct record entry_of(uint8_t type, const char *path, uint64_t size, const char *link)
{
    struct record record = {.kind = RECORD_ENTRY};

    record.entry = (struct list_entry){
        .type = type,
        .mode = type == ENTRY_DIRECTORY ? 0755 : 0644,
        .size = size,
        .path = text_of(path),
        .link = text_of(link),
    };
    return record;
}

static void say_end(void)
{
    say((struct record){.kind = RECORD_END});
}

static bool is_there(const char *name)
{
    struct stat status;

    return lstat(path_of(name), &status) == 0;
}

TEST(target__a_good_source)
{
    say(entry_of(ENTRY_DIRECTORY, "d", 0, ""));
    say(entry_of(ENTRY_FILE, "d/small", 1, ""));
    say(entry_of(ENTRY_FILE, "d/large", 5 << 20, ""));
    say_end();
    ck_assert_int_eq(run_target(), LINE_FINE);
    ck_assert_int_eq(script.outcome_count, 2);
    ck_assert(is_there("inside/d/small"));
    ck_assert(is_there("inside/d/large"));
}

static const char *const bad_paths[] = {
    "../outside/victim", "/tmp/victim", "a/../../outside/victim", "a//b", "", ".", "a/."};

TEST(target__paths_that_lead_out, .rows = ROWS(bad_paths))
{
    say(entry_of(ENTRY_FILE, bad_paths[_i], 1, ""));
    say_end();
    ck_assert_int_eq(run_target(), LINE_FAILED);
    ck_assert_int_eq(script.outcome_count, 0);
}

/* The user has named run.h5. */
static const struct {
    uint8_t type;
    const char *path;
} not_asked_for[] = {
    {ENTRY_FILE, ".bashrc"}, {ENTRY_DIRECTORY, ".ssh"}, {ENTRY_LINK, "run.h"},
    {ENTRY_FILE, "run.h5x"}, {ENTRY_FILE, "d/run.h5"},
};

TEST(target__names_that_were_not_asked_for, .rows = ROWS(not_asked_for))
{
    static char *words[] = {"h:data/run.h5"};

    wishes.words = words;
    wishes.word_count = 1;
    ck_assert_int_eq(mkdir(path_of("inside/d"), 0700), 0);
    say(entry_of(ENTRY_FILE, "run.h5", 1, ""));
    say(entry_of(not_asked_for[_i].type, not_asked_for[_i].path, 0, "there"));
    say_end();
    ck_assert_int_eq(run_target(), LINE_FAILED);
    ck_assert_int_eq(own_count(path_of("inside")), 3); /* with . and .. */
    ck_assert_int_eq(own_count(path_of("inside/d")), 2);
}

TEST(target__a_name_that_was_asked_for)
{
    static char *words[] = {"h:other", "h:data/run.h5"};

    wishes.words = words;
    wishes.word_count = 2;
    say(entry_of(ENTRY_FILE, "run.h5", 1, ""));
    say_end();
    ck_assert_int_eq(run_target(), LINE_FINE);
    ck_assert(is_there("inside/run.h5"));
}

/* Behind a link of the source's that leads outside. */
static const struct {
    uint8_t type;
    const char *first, *second;
    uint64_t bytes; /* of the second */
} behind_link[] = {
    {ENTRY_FILE, "l/victim", "l/large", 1 << 20},
    {ENTRY_DIRECTORY, "l/new", "l", 0},
};

TEST(target__through_a_link_of_the_source, .rows = ROWS(behind_link))
{
    say(entry_of(ENTRY_LINK, "l", 0, "../outside"));
    say(entry_of(behind_link[_i].type, behind_link[_i].first, behind_link[_i].bytes > 0, ""));
    say(entry_of(behind_link[_i].type, behind_link[_i].second, behind_link[_i].bytes, ""));
    say_end();
    ck_assert_int_eq(run_target(), LINE_FINE);
    ck_assert_int_eq(script.outcome_count, 3);
    ck_assert_int_eq(script.outcomes[1] + script.outcomes[2], 2 * OUTCOME_FAILED);
}

TEST(target__a_link_that_was_there)
{
    ck_assert_int_eq(symlink("../outside/victim", path_of("inside/f")), 0);
    say(entry_of(ENTRY_FILE, "f", 1, ""));
    say_end();
    ck_assert_int_eq(run_target(), LINE_FINE);
    ck_assert_int_eq(script.outcomes[0], OUTCOME_COPIED); /* in the link's place */
}

TEST(target__a_file_twice)
{
    say(entry_of(ENTRY_FILE, "f", 1 << 20, ""));
    say(entry_of(ENTRY_FILE, "f", 2 << 20, ""));
    say_end();
    ck_assert_int_eq(run_target(), LINE_FINE);
    ck_assert_int_eq(script.outcome_count, 2);
}

/* What is in the directory has failed, too, and the one complaint stands for it. */
TEST(target__a_directory_meets_a_file)
{
    write_file("inside/d", "mine");
    say(entry_of(ENTRY_DIRECTORY, "d", 0, ""));
    say(entry_of(ENTRY_FILE, "d/small", 1, ""));
    say(entry_of(ENTRY_DIRECTORY, "d/e", 0, ""));
    say(entry_of(ENTRY_FILE, "d2", 1, ""));
    say_end();
    ck_assert_int_eq(run_target(), LINE_FINE);
    ck_assert_int_eq(script.outcome_count, 3);
    ck_assert_int_eq(script.outcomes[0], OUTCOME_FAILED);
    ck_assert(script.has_text[0]);
    ck_assert_int_eq(script.outcomes[1], OUTCOME_FAILED);
    ck_assert(!script.has_text[1]);
    ck_assert_int_eq(script.outcomes[2], OUTCOME_COPIED);
}

/* ---- a new name ---- */

/* Whatever the source calls it, nothing but that changes. */
TEST(target__under_a_new_name)
{
    ck_assert_int_eq(mkdir(path_of("inside/d"), 0700), 0);
    write_file("inside/other", "mine");
    wishes.name = "new";
    say(entry_of(ENTRY_DIRECTORY, "d", 0, ""));
    say(entry_of(ENTRY_FILE, "d/small", 1, ""));
    say(entry_of(ENTRY_FILE, "other/large", 5 << 20, ""));
    say_end();
    ck_assert_int_eq(run_target(), LINE_FINE);
    ck_assert_int_eq(script.outcome_count, 2);
    ck_assert(is_there("inside/new/small"));
    ck_assert(is_there("inside/new/large"));
    ck_assert(!is_there("inside/d/small"));
    ck_assert(is_there("inside/other"));
}

TEST(target__a_file_under_a_new_name)
{
    write_file("inside/new", "old");
    wishes.name = "new";
    say(entry_of(ENTRY_FILE, "f", 1, ""));
    say(entry_of(ENTRY_LINK, "l", 0, "../outside"));
    say_end();
    ck_assert_int_eq(run_target(), LINE_FINE);
    ck_assert(is_there("inside/new"));
    ck_assert(!is_there("inside/f"));
    ck_assert(!is_there("inside/l"));
}

/* It would be longer than a path may be. */
TEST(target__a_path_that_a_new_name_makes_too_long)
{
    static char path[PATH_MOST + 1], name[NAME_MOST + 1];

    memset(path, 'a', PATH_MOST);
    for (size_t i = 1; i < PATH_MOST; i += i == 1 ? NAME_MOST - 1 : NAME_MOST)
        path[i] = '/';
    path[PATH_MOST - 1] = 'a';
    memset(name, 'n', NAME_MOST);
    wishes.name = name;
    say(entry_of(ENTRY_FILE, path, 1, ""));
    say(entry_of(ENTRY_FILE, "b", 1, ""));
    say_end();
    ck_assert_int_eq(run_target(), LINE_FINE);
    ck_assert_int_eq(script.outcome_count, 2);
    ck_assert_int_eq(script.outcomes[0], OUTCOME_FAILED);
    ck_assert_int_eq(script.outcomes[1], OUTCOME_COPIED);
}

/* ---- a file with a second name, outside ---- */

static struct stat status_of(const char *name)
{
    struct stat status;

    ck_assert_int_eq(stat(path_of(name), &status), 0);
    return status;
}

static const struct {
    bool checksum;   /* contents are compared, and are the same */
    int64_t earlier; /* seconds that the source's file is older */
    uint16_t mode;   /* that the source says */
    uint8_t outcome; /* a copy takes the name inside, or nothing happens */
} linked[] = {
    {false, 0, 0777, OUTCOME_COPIED},
    {true, 0, 0777, OUTCOME_COPIED},
    {true, 1000, 0600, OUTCOME_COPIED},
    {true, 0, 0600, OUTCOME_SKIPPED},
};

/* inside/f is outside/victim by another name. */
TEST(target__a_file_with_a_name_outside, .rows = ROWS(linked))
{
    struct record file = entry_of(ENTRY_FILE, "f", sizeof(secret) - 1, "");
    char here[256];

    ck_assert_int_eq(chmod(path_of("outside/victim"), 0600), 0);
    (void)strcpy(here, path_of("inside/f"));
    ck_assert_int_eq(link(path_of("outside/victim"), here), 0);
    struct stat before = status_of("outside/victim");
    file.entry.mode = linked[_i].mode;
    file.entry.time_s = before.st_mtim.tv_sec - linked[_i].earlier;
    file.entry.time_ns = (uint32_t)before.st_mtim.tv_nsec;
    script.content = secret;
    wishes.checksum = linked[_i].checksum;
    say(file);
    say_end();
    ck_assert_int_eq(run_target(), LINE_FINE);
    struct stat after = status_of("outside/victim"), ours_now = status_of("inside/f");
    ck_assert_int_eq((int)after.st_mode, (int)before.st_mode);
    ck_assert_int_eq(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
    ck_assert_int_eq(script.outcomes[0], linked[_i].outcome);
    ck_assert_int_eq((int)ours_now.st_mode & 07777, linked[_i].mode);
    ck_assert_int_eq(ours_now.st_mtim.tv_sec, file.entry.time_s);
}

TEST(target__a_size_that_cannot_be)
{
    say(entry_of(ENTRY_FILE, "f", SIZE_MOST, ""));
    say(entry_of(ENTRY_FILE, "g", 1, ""));
    say_end();
    ck_assert_int_eq(run_target(), LINE_FINE);
    ck_assert_int_eq(script.outcome_count, 2); /* g, and f as failed */
    ck_assert(!is_there("inside/f"));
    ck_assert(is_there("inside/g"));
}

TEST(target__hashes_that_are_never_right)
{
    script.damages = true;
    say(entry_of(ENTRY_FILE, "large", 1 << 20, ""));
    say(entry_of(ENTRY_FILE, "small", 1, ""));
    say_end();
    ck_assert_int_eq(run_target(), LINE_FINE);
    ck_assert_int_eq(script.outcome_count, 2);
    ck_assert_int_eq(script.outcomes[0] + script.outcomes[1], 2 * OUTCOME_FAILED);
    ck_assert_int_eq(script.blocks, INCOMING_TRIES);
    ck_assert(!is_there("inside/large"));
    ck_assert(!is_there("inside/small"));
}

TEST(target__blocks_that_are_too_short)
{
    script.block_length = 10;
    say(entry_of(ENTRY_FILE, "large", 1 << 20, ""));
    say_end();
    ck_assert_int_eq(run_target(), LINE_FINE);
    ck_assert_int_eq(script.outcomes[0], OUTCOME_FAILED);
}

TEST(target__blocks_that_are_too_long)
{
    script.block_length = BLOCK_MOST;
    say(entry_of(ENTRY_FILE, "large", 1 << 20, ""));
    say_end();
    ck_assert_int_eq(run_target(), LINE_FAILED);
}

static void check_zeros(const char *name)
{
    static uint8_t bytes[PACK_ROOM + 1];
    FILE *file = fopen(path_of(name), "r");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fread(bytes, 1, sizeof(bytes), file), PACK_ROOM);
    ck_assert_mem_eq(bytes, zeros, PACK_ROOM);
    (void)fclose(file);
}

/* No answer may land where a block was. */
TEST(target__blocks_of_the_size_of_answers)
{
    enum { FILES = 20 };
    static char names[FILES][8];
    char name[32];

    for (int i = 0; i < FILES; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "f%02d", i);
        say(entry_of(ENTRY_FILE, names[i], PACK_ROOM, ""));
    }
    say_end();
    ck_assert_int_eq(run_target(), LINE_FINE);
    for (int i = 0; i < FILES; i++) {
        (void)snprintf(name, sizeof(name), "inside/f%02d", i);
        check_zeros(name);
    }
}

/* It may still write where a block belongs: that is unmapped only when it cannot any more. */
TEST(target__a_source_that_is_stopped)
{
    script.is_stopped = true;
    say(entry_of(ENTRY_FILE, "large", 5 << 20, ""));
    say_end();
    ck_assert_int_eq(run_target(), LINE_STOPPED);
    ck_assert_int_ge(busy_times, 1);
    ck_assert_int_eq(given_up, 0);
    ck_assert_ptr_null(busy);
    ck_assert_int_eq(atomic_load(&closes), 2);
}

/* A source that is interrupted takes back what has not left yet, and is gone: the part stays for
 * the next copy. */
TEST(target__a_source_that_takes_a_block_back)
{
    char part[NAME_MOST + 16];

    script.takes_back = true;
    ck_assert_int_eq(partial_open(&script.held, inside, "large"), 0);
    (void)snprintf(part, sizeof(part), "inside/%s", script.held.own);
    say(entry_of(ENTRY_FILE, "large", 1 << 20, ""));
    say_end();
    ck_assert_int_eq(run_target(), LINE_FAILED);
    ck_assert_int_eq(script.outcome_count, 0);
    ck_assert(is_there(part));
}

TEST(target__answers_of_another_kind)
{
    script.is_silly = true;
    ck_assert_int_eq(run_target(), LINE_FAILED);
}

TEST(target__an_empty_list)
{
    ck_assert_int_eq(run_target(), LINE_FAILED);
}

/* What was asked for in a pack that is answered wrongly is freed: a server would have less memory
 * after each. The files are so large that each of them is a mapping of its own. A sanitizer keeps
 * what was freed, and looks for the rest itself. */
TEST(target__a_pack_that_is_not_answered_is_freed)
{
    enum { FILES = 4, LARGE = 256 << 20 }; /* more than malloc takes for a thread */
    struct awaiting awaiting = {.crew = &crew, .count = 1, .come = 1};
    struct awaited *awaited = &awaiting.ring[0];

    awaited->kind = RECORD_PACK;
    awaited->pack_count = FILES;
    ck_assert_ptr_nonnull(awaited->pack = calloc(FILES, sizeof(*awaited->pack)));
    size_t before = own_address_space();
    for (int i = 1; i < FILES; i++) /* the first one was answered */
        ck_assert_ptr_nonnull(awaited->pack[i] = calloc(1, LARGE));
    awaiting_drop(&awaiting, 1);
    ck_assert(IS_SANITIZED || own_address_space() < before + LARGE);
    line_fini(&ours);
    line_fini(&theirs);
}

/* A source that lists a directory again and again costs no more memory than one that does so once.
 */
TEST(target__a_directory_again_and_again)
{
    enum { TIMES = 1000 };
    static struct copy_target target;
    struct wanted *wanted;
    int kept = 0;

    wishes.directory = inside;
    target.wishes = &wishes;
    for (int i = 0; i < TIMES; i++) {
        ck_assert_ptr_nonnull(wanted = calloc(1, sizeof(*wanted) + 4));
        wanted->entry = entry_of(ENTRY_DIRECTORY, i % 2 == 0 ? "d" : "d/e", 0, "").entry;
        wanted->entry.mode = (uint16_t)(i < TIMES - 2 ? 0755 : 0711);
        strcpy(wanted->bytes, wanted->entry.path.bytes);
        wanted->entry.path.bytes = wanted->bytes;
        ck_assert_int_eq(placing_entry(&target, wanted), 0);
    }
    for (const struct finished *one = target.directories; one != NULL; one = one->next)
        kept++;
    ck_assert_int_eq(kept, 2);
    ck_assert_int_eq(placing_finish_directories(&target, true), 0);
    ck_assert_int_eq((int)status_of("inside/d").st_mode & 07777, 0711); /* as it was listed last */
    ck_assert_int_eq((int)status_of("inside/d/e").st_mode & 07777, 0711);
    line_fini(&ours);
    line_fini(&theirs);
}

/* ---- extents ---- */

static const struct {
    uint64_t offset, length, second;
    bool ends;
} extents[] = {
    {0, UINT64_C(1) << 40, 0, true}, /* beyond the end */
    {1 << 21, 1, 0, true},           /* behind it */
    {4096, 4096, 4096, true},        /* twice */
    {0, 0, 0, true},                 /* of nothing */
};

TEST(target__extents_that_cannot_be, .rows = ROWS(extents))
{
    struct record file = entry_of(ENTRY_FILE, "f", 1 << 20, "");

    file.entry.is_sparse = true;
    for (int i = 0; i < 2; i++) {
        script.extents[i].kind = RECORD_EXTENT;
        script.extents[i].extent.offset = extents[_i].offset;
        script.extents[i].extent.length = extents[_i].length;
    }
    script.extent_count = 2;
    say(file);
    say_end();
    ck_assert_int_eq(run_target(), LINE_FAILED);
}

/* ---- a target that asks for anything ---- */

static void *ask(void *unused)
{
    struct zcrp_msg *message = zcrp_alloc_msg(REQUEST_ROOM), *answer_to_list;
    int code;

    ck_assert_ptr_nonnull(message);
    struct writer writer = writer_of(message->buffer, REQUEST_ROOM);
    for (int i = 0; i < request_count; i++)
        ck_assert(record_encode(&writer, &requests_of_target[i]));
    (void)line_send_first(&theirs, message, writer_length(&writer), 2000000000);
    answer_to_list = line_receive_first(&theirs, 2000000000, &code);
    zcrp_free_msg(answer_to_list);
    return unused;
}

static enum line_end run_source_with(void *(*asks)(void *))
{
    struct walk walk = {0};
    pthread_t asker;

    write_file("inside/file", "content");
    ck_assert_int_eq(symlink("../outside/victim", path_of("inside/link")), 0);
    ck_assert_int_eq(walk_add(&walk, inside, "."), 0);
    ck_assert_int_eq(pthread_create(&asker, NULL, asks, NULL), 0);
    enum line_end end = source_run(&ours, &crew, &walk, NULL);
    line_end_waits(&theirs, LINE_LEFT);
    ck_assert_int_eq(pthread_join(asker, NULL), 0);
    close_lines();
    walk_fini(&walk);
    return end;
}

static enum line_end run_source(void)
{
    return run_source_with(ask);
}

static void request(uint8_t kind, uint32_t file, uint64_t offset, uint32_t length)
{
    struct record *record = &requests_of_target[request_count++];

    record->kind = kind;
    if (kind == RECORD_PACK) {
        record->pack.count = 1;
        record->pack.files[0] = file;
        return;
    }
    record->part.file = file;
    record->part.offset = offset;
    record->part.length = length;
}

/* The list is: 0 file, 7 bytes; 1 link. */
static const struct {
    uint8_t kind;
    uint32_t file;
    uint64_t offset;
    uint32_t length;
} bad_requests[] = {
    {RECORD_SEND, 2, 0, 1},          {RECORD_SEND, UINT32_MAX, 0, 1}, {RECORD_SEND, 1, 0, 1},
    {RECORD_SEND, 0, 0, 8},          {RECORD_SEND, 0, 8, 1},          {RECORD_SEND, 0, 7, 1},
    {RECORD_SEND, 0, 0, UINT32_MAX}, {RECORD_HASHES, 0, 0, 8},        {RECORD_HASHES, 1, 0, 1},
    {RECORD_EXTENTS, 0, 8, 0},       {RECORD_EXTENTS, 7, 0, 0},       {RECORD_PACK, 1, 0, 0},
    {RECORD_PACK, 2, 0, 0},          {RECORD_CLOSE, 2, 0, 0},         {RECORD_END, 0, 0, 0},
    {RECORD_ENTRY, 0, 0, 0},
};

TEST(source__requests_for_what_there_is_not, .rows = ROWS(bad_requests))
{
    request(RECORD_LIST, 0, 0, 0);
    request(bad_requests[_i].kind, bad_requests[_i].file, bad_requests[_i].offset,
            bad_requests[_i].length);
    ck_assert_int_eq(run_source(), LINE_FAILED);
}

TEST(source__before_the_list)
{
    request(RECORD_SEND, 0, 0, 1);
    ck_assert_int_eq(run_source(), LINE_FAILED);
}

/* ---- a file that cannot be read any more ---- */

/* One request. Its answer, whose first record is *first. */
static struct zcrp_msg *ask_for(const struct record *wanted, struct record *first)
{
    struct zcrp_msg *message = zcrp_alloc_msg(REQUEST_ROOM);
    int code;

    ck_assert_ptr_nonnull(message);
    struct writer writer = writer_of(message->buffer, REQUEST_ROOM);
    ck_assert(record_encode(&writer, wanted));
    ck_assert_int_eq(line_send_first(&theirs, message, writer_length(&writer), 10000000000), 0);
    message = line_receive_first(&theirs, 10000000000, &code);
    ck_assert_ptr_nonnull(message);
    struct reader reader = reader_of(message->buffer, message->length);
    ck_assert(record_decode(&reader, first));
    return message;
}

static void expect_hashes(const char *error)
{
    struct record wanted = {.kind = RECORD_HASHES}, first;

    wanted.part.length = 7;
    struct zcrp_msg *message = ask_for(&wanted, &first);
    ck_assert_uint_eq(first.kind, RECORD_DIGESTS);
    ck_assert_uint_eq(first.digests.error.length, strlen(error));
    ck_assert_mem_eq(first.digests.error.bytes, error, strlen(error));
    zcrp_free_msg(message);
}

/* A file that is as it was listed, and has a page that did not come, is on a disk that fails. */
static void *ask_of_failing_disk(void *unused)
{
    static const struct record list = {.kind = RECORD_LIST}, bye = {.kind = RECORD_BYE};
    const char *file = path_of("inside/file");
    struct stat status;
    struct record first;

    ck_assert_int_eq(stat(file, &status), 0);
    const struct timespec times[2] = {status.st_atim, status.st_mtim};
    zcrp_free_msg(ask_for(&list, &first));
    expect_hashes("");
    ck_assert_int_eq(truncate(file, 0), 0);
    expect_hashes("it became shorter while it was copied");
    ck_assert_int_eq(truncate(file, status.st_size), 0);
    ck_assert_int_eq(utimensat(AT_FDCWD, file, times, 0), 0);
    expect_hashes(strerror(EIO));
    zcrp_free_msg(ask_for(&bye, &first));
    return unused;
}

TEST(source__a_disk_that_fails)
{
    ck_assert_int_eq(run_source_with(ask_of_failing_disk), LINE_FINE);
}

/* ---- answers that the target does not take ---- */

enum { SESSIONS = 12, MIB = 1 << 20 };

static struct outbox answers[SESSIONS];

/* Sends packs until it would have to wait for the target, which takes nothing. Their bytes. */
static size_t fill(struct outbox *one, bool *is_endless)
{
    size_t bytes = 0;

    *one = (struct outbox){.line = &ours};
    for (*is_endless = true; bytes < (size_t)OUTBOX_MOST * PACK_ROOM; bytes += PACK_ROOM) {
        int code;
        struct zcrp_msg *message = outbox_take(one, &code);

        if (message == NULL) {
            *is_endless = false;
            break;
        }
        ck_assert_int_eq(outbox_send(one, message, PACK_ROOM), 0);
    }
    return bytes;
}

TEST(outbox__is_bounded)
{
    bool is_endless;
    size_t all = 0, first;

    line_end_waits(&ours, LINE_INTERRUPTED); /* a wait would have no end */
    first = fill(&answers[0], &is_endless);
    ck_assert_msg(!is_endless && first <= 32 * MIB, "one session holds %zu MiB", first / MIB);
    ck_assert_uint_ge(first, 16 * MIB); /* more than a path of 10 ms and 10 Gbit/s has in transit */
    for (int i = 1; i < SESSIONS; i++) {
        size_t one = fill(&answers[i], &is_endless);

        ck_assert_uint_ge(one, 2 * PACK_ROOM); /* each of them goes on */
        all += one;
    }
    ck_assert_msg(first + all <= 288 * MIB, "all sessions hold %zu MiB", (first + all) / MIB);
    for (int i = 0; i < SESSIONS; i++)
        outbox_fini(&answers[i]);
    ck_assert_uint_eq(fill(&answers[0], &is_endless), first); /* there is room again */
    outbox_fini(&answers[0]);
    line_fini(&ours);
    line_fini(&theirs);
}

/* ---- what a client of a server asks for ---- */

enum { NAMES_MOST = 5000, NAME_ROOM = 24 };

static const struct {
    int names, folders; /* that they are in */
    bool is_served;
} demands[] = {{1000, 1, true}, {1000, 20, true}, {1000, 100, false}, {NAMES_MOST, 1, false}};

static struct session *heard;

static void *hear(void *rules)
{
    (void)session_hear(&theirs, rules, &heard);
    return NULL;
}

TEST(session__names_are_bounded, .rows = ROWS(demands))
{
    static char names[NAMES_MOST][NAME_ROOM];
    static const char *paths[NAMES_MOST];
    const struct session_rules rules = {.directory = inside};
    const struct session_wishes all = {
        .flags = OPEN_PULL, .paths = paths, .path_count = demands[_i].names};
    pthread_t hearer;
    char name[NAME_ROOM];

    for (int i = 0; i < demands[_i].folders; i++) {
        (void)snprintf(name, sizeof(name), "inside/%d", i);
        ck_assert_int_eq(mkdir(path_of(name), 0700), 0);
    }
    for (int i = 0; i < demands[_i].names; i++) {
        (void)snprintf(names[i], NAME_ROOM, "%d/%d", i % demands[_i].folders, i);
        paths[i] = names[i];
    }
    int before = own_descriptors();
    ck_assert_int_eq(pthread_create(&hearer, NULL, hear, (void *)&rules), 0);
    int code = session_open(&ours, &all, 10000000000);
    ck_assert_int_eq(pthread_join(hearer, NULL), 0);
    ck_assert_int_eq(code, demands[_i].is_served ? 0 : LINE_REFUSED);
    ck_assert_int_le(own_descriptors() - before, 40);
    session_drop(heard);
    close_lines();
}
