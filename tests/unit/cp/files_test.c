/* Files as zcrp-cp meets them: below a directory and nowhere else, as a list, as memory that may
 * vanish, and as parts. */
#include "zcrp-cp/ends/incoming.h"
#include "zcrp-cp/files/memory.h"
#include "zcrp-cp/files/place.h"
#include "zcrp-cp/files/walk.h"

#include "../../support/own.h"
#include "../../support/suite.h"
#include "common/character.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char folder[64];
static int top;

static const char *path_of(const char *name)
{
    static char path[256];

    ck_assert_int_lt(snprintf(path, sizeof(path), "%s/%s", folder, name), (int)sizeof(path));
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* inside/: a/b/file, out -> ../outside, loop -> loop, a/file -> b/file. outside/: victim. */
static void setup(void)
{
    mapping_start();
    strcpy(folder, "/tmp/zcrp-files-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(mkdir(path_of("inside"), 0700), 0);
    ck_assert_int_eq(mkdir(path_of("inside/a"), 0700), 0);
    ck_assert_int_eq(mkdir(path_of("inside/a/b"), 0700), 0);
    ck_assert_int_eq(mkdir(path_of("outside"), 0700), 0);
    write_file("inside/a/b/file", "content");
    write_file("outside/victim", "secret");
    ck_assert_int_eq(symlink("../outside", path_of("inside/out")), 0);
    ck_assert_int_eq(symlink("b/file", path_of("inside/a/file")), 0);
    ck_assert_int_eq(symlink("loop", path_of("inside/loop")), 0);
    top = open(path_of("inside"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(top, 0);
}

static void teardown(void)
{
    char command[128];

    (void)close(top);
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

FIXTURE(setup, teardown)

/* ---- beneath ---- */

/* As on a kernel that does not have openat2. In a process of its own: there is no way back. */
static void forget_openat2(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(rules) / sizeof(rules[0]), .filter = rules};

    ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
    ck_assert_int_eq((int)syscall(SYS_openat2, top, ".", NULL, 0), -1);
    ck_assert_int_eq(errno, ENOSYS);
}

static const struct {
    const char *path;
    bool is_opened;
} opens[] = {
    {".", true},           {"a", true},           {"a/b", true},   {"a/b/file", true},
    {"out", false},        {"out/victim", false}, {"loop", false}, {"a/file", false},
    {"a/b/file/x", false}, {"none", false},
};

static void open_all(void)
{
    for (size_t i = 0; i < sizeof(opens) / sizeof(opens[0]); i++) {
        int fd = beneath_open(top, opens[i].path, O_RDONLY, 0);

        ck_assert_msg((fd >= 0) == opens[i].is_opened, "%s", opens[i].path);
        if (fd >= 0)
            (void)close(fd);
    }
    ck_assert_int_eq(beneath_open(top, "out/new", O_WRONLY | O_CREAT, 0600), -1);
    ck_assert_int_eq(beneath_make_directory(top, "out/new", PRIVATE_DIRECTORY_MODE), -1);
    ck_assert_int_eq(beneath_make_directory(top, "out", PRIVATE_DIRECTORY_MODE), -1);
    ck_assert_int_eq(beneath_make_directory(top, "a/new", PRIVATE_DIRECTORY_MODE), 0);
    ck_assert_int_eq(beneath_make_directory(top, "a/new", PRIVATE_DIRECTORY_MODE), 0);
    ck_assert_int_ne(access(path_of("outside/new"), F_OK), 0);
    ck_assert_int_eq(access(path_of("inside/a/new"), F_OK), 0);
}

TEST(beneath__stays_there)
{
    open_all();
}

TEST(beneath__without_openat2)
{
    const char *no_fork = getenv("CK_FORK");

    if (no_fork != NULL && strcmp(no_fork, "no") == 0)
        return; /* it would be the end of openat2 for the others */
    forget_openat2();
    open_all();
}

TEST(beneath_status__of_the_link_itself)
{
    struct stat status;

    ck_assert_int_eq(beneath_status(top, "a/file", &status), 0);
    ck_assert(S_ISLNK(status.st_mode));
    ck_assert_int_eq(beneath_status(top, "out/victim", &status), -1);
}

/* ---- place ---- */

/* What the word means below a server's directory, and at the far end of a remote shell whose home
 * is /h; NULL: it is refused. */
static const struct {
    const char *word, *below, *anywhere;
} words[] = {
    {"", ".", "/h/."},
    {"~", ".", "/h/."},
    {"~/", ".", "/h/."},
    {".", ".", "/h/."},
    {"a", "a", "/h/a"},
    {"a/b/", "a/b/", "/h/a/b/"},
    {"a/.", "a/.", "/h/a/."},
    {"a/./", "a/.", "/h/a/./"},
    {"a//.//", "a/.", "/h/a//.//"},
    {"a./", "a./", "/h/a./"},
    {"./", ".", "/h/./"},
    {"~/a", "a", "/h/a"},
    {"~//a", "a", "/h/a"},
    {"/", ".", "/"},
    {"/a//./b", "a/b", "/a//./b"},
    {"/~", "~", "/~"},
    {"a~", "a~", "/h/a~"},
    {"~no one has this name/a", "~no one has this name/a", "/h/~no one has this name/a"},
    {"..", NULL, "/h/.."},
    {"../a", NULL, "/h/../a"},
    {"a/..", NULL, "/h/a/.."},
    {"~/../a", NULL, "/h/../a"},
    {"a/.../b", "a/.../b", "/h/a/.../b"},
};

static void expect_path(int directory, const char *word, const char *wanted)
{
    char path[PLACE_ROOM];
    const char *why = place_resolve(directory, word, path);

    if (wanted != NULL) {
        ck_assert_ptr_null(why);
        ck_assert_str_eq(path, wanted);
    } else {
        ck_assert_str_eq(why, "a server refuses '..' in a path");
    }
}

TEST(place_resolve__table, .rows = ROWS(words))
{
    char home[PLACE_ROOM];

    (void)snprintf(home, sizeof(home), "%s", getenv("HOME") != NULL ? getenv("HOME") : "/");
    ck_assert_int_eq(setenv("HOME", "/h", 1), 0);
    expect_path(top, words[_i].word, words[_i].below);
    expect_path(-1, words[_i].word, words[_i].anywhere);
    ck_assert_int_eq(setenv("HOME", home, 1), 0);
}

TEST(place_resolve__home_of_another_user)
{
    const struct passwd *root = getpwuid(0);
    char word[PLACE_ROOM], wanted[PLACE_ROOM];

    if (root == NULL || root->pw_dir[0] != '/')
        return;
    (void)snprintf(word, sizeof(word), "~%s/a", root->pw_name);
    (void)snprintf(wanted, sizeof(wanted), "%s/a", root->pw_dir);
    expect_path(-1, word, wanted);
    *strchr(word, '/') = '\0';
    expect_path(-1, word, root->pw_dir);
}

TEST(place_resolve__too_long)
{
    char word[PATH_MOST + 1], out[PLACE_ROOM];

    memset(word, 'a', PATH_MOST);
    word[PATH_MOST] = '\0';
    for (size_t i = NAME_MOST; i < PATH_MOST; i += NAME_MOST + 1)
        word[i] = '/';
    ck_assert_ptr_null(place_resolve(top, word, out));
    ck_assert_uint_eq(strlen(out), PATH_MOST);
    ck_assert_str_eq(place_resolve(-1, word, out), strerror(ENAMETOOLONG));
    word[NAME_MOST] = 'a';
    ck_assert_str_eq(place_resolve(top, word, out), strerror(ENAMETOOLONG));
}

enum { HERE = 1, DRY = 2, FAILS = 4, NOWHERE = 8 };

/* Where files go, below inside/ as a server's, or (HERE) as a path of this process's. */
static const struct {
    const char *path;
    enum place_kind kind;
    unsigned how;       /* of the above */
    const char *name;   /* the new one, or "" */
    const char *folder; /* below inside/: the directory that was opened */
} places[] = {
    {".", PLACE_DIRECTORY, 0, "", "."},
    {"a", PLACE_DIRECTORY, 0, "", "a"},
    {"a", PLACE_NAME, 0, "", "a"},
    {"a/", PLACE_NAME, HERE, "", "a"},
    {"a/.", PLACE_NAME, 0, "", "a"},
    {"new", PLACE_DIRECTORY, FAILS, "", ""},
    {"new", PLACE_DIRECTORY, FAILS | HERE, "", ""},
    {"new", PLACE_NAME, 0, "new", "."},
    {"a/new", PLACE_NAME, HERE, "new", "a"},
    {"a/new", PLACE_NAME, DRY, "new", "a"},
    {"new", PLACE_CONTENTS, 0, "", "new"},
    {"new", PLACE_CONTENTS, HERE, "", "new"},
    {"new/", PLACE_DIRECTORY, 0, "", "new"},
    {"new/", PLACE_NAME, HERE, "", "new"},
    {"new/", PLACE_NAME, DRY | NOWHERE, "", ""},
    {"new", PLACE_CONTENTS, DRY | NOWHERE | HERE, "", ""},
    {"new/.", PLACE_NAME, FAILS, "", ""},
    {"none/new", PLACE_NAME, FAILS, "", ""},
    {"none/new", PLACE_NAME, FAILS | HERE, "", ""},
    {"none/new/", PLACE_NAME, FAILS, "", ""},
    {"a/b/file", PLACE_NAME, 0, "file", "a/b"},
    {"a/b/file", PLACE_NAME, HERE, "file", "a/b"},
    {"a/b/file/", PLACE_NAME, FAILS, "", ""},
    {"a/b/file/", PLACE_NAME, FAILS | HERE, "", ""},
    {"a/b/file", PLACE_DIRECTORY, FAILS, "", ""},
    {"a/b/file/new", PLACE_NAME, FAILS, "", ""},
    {"a/file", PLACE_NAME, HERE, "file", "a/b"}, /* a link to that */
    {"a/file", PLACE_NAME, FAILS, "", ""},
    {"out", PLACE_NAME, FAILS, "", ""},
    {"out", PLACE_CONTENTS, FAILS, "", ""},
    {"out/", PLACE_NAME, FAILS, "", ""},
    {"out/new", PLACE_NAME, FAILS, "", ""},
    {"out/victim", PLACE_NAME, FAILS, "", ""},
    {"loop", PLACE_NAME, FAILS, "", ""},
    {"loop", PLACE_NAME, FAILS | HERE, "", ""},
    {"pipe", PLACE_NAME, FAILS, "", ""},
    {"pipe", PLACE_NAME, FAILS | HERE, "", ""},
};

TEST(place_open__table, .rows = ROWS(places))
{
    unsigned how = places[_i].how;
    char path[512];
    struct place place;
    struct stat opened, wanted;

    ck_assert_int_eq(mkfifo(path_of("inside/pipe"), 0600), 0);
    (void)snprintf(path, sizeof(path), "%s/%s", path_of("inside"), places[_i].path);
    const char *why =
        place_open(&place, (how & HERE) != 0 ? -1 : top, (how & HERE) != 0 ? path : places[_i].path,
                   places[_i].kind, (how & DRY) != 0);
    ck_assert_msg((why != NULL) == ((how & FAILS) != 0), "%s: %s", path, why != NULL ? why : "");
    ck_assert_str_eq(place.name, places[_i].name);
    ck_assert_int_eq(place.directory < 0, (how & (FAILS | NOWHERE)) != 0);
    if (place.directory >= 0) {
        (void)snprintf(path, sizeof(path), "%s/%s", path_of("inside"), places[_i].folder);
        ck_assert_int_eq(fstat(place.directory, &opened), 0);
        ck_assert_int_eq(stat(path, &wanted), 0);
        ck_assert_uint_eq(opened.st_ino, wanted.st_ino);
        (void)close(place.directory);
    }
    ck_assert_int_eq(stat(path_of("inside/new"), &wanted) == 0,
                     strcmp(places[_i].folder, "new") == 0);
    ck_assert_int_ne(stat(path_of("outside/new"), &wanted), 0);
}

/* ---- walk ---- */

static void expect(struct walk *walk, const char *path, uint8_t type)
{
    struct list_entry entry;
    uint32_t root;

    ck_assert_int_eq(walk_next(walk, &entry, &root), WALK_ENTRY);
    ck_assert_str_eq(walk->path, path);
    ck_assert_uint_eq(entry.type, type);
}

TEST(walk__a_tree)
{
    struct walk walk = {0};
    struct list_entry entry;
    uint32_t root;

    const char part[] = "inside/.a.zcrp-0123456789abcdef";

    ck_assert_int_eq(mkfifo(path_of("inside/pipe"), 0600), 0);
    ck_assert_int_eq(mknod(path_of(part), S_IFREG | 0600, 0), 0);
    ck_assert_int_eq(mknod(path_of("inside/.a.zcrp-0123456789abcdeg"), S_IFREG | 0600, 0), 0);
    ck_assert_int_eq(walk_add(&walk, -1, path_of("inside//")), 0);
    expect(&walk, "inside", ENTRY_DIRECTORY);
    ck_assert_int_eq(walk_next(&walk, &entry, &root), WALK_TROUBLE);
    ck_assert_str_eq(walk.path, part);
    expect(&walk, "inside/.a.zcrp-0123456789abcdeg", ENTRY_FILE);
    expect(&walk, "inside/a", ENTRY_DIRECTORY);
    expect(&walk, "inside/a/b", ENTRY_DIRECTORY);
    expect(&walk, "inside/a/b/file", ENTRY_FILE);
    expect(&walk, "inside/a/file", ENTRY_LINK);
    expect(&walk, "inside/loop", ENTRY_LINK);
    expect(&walk, "inside/out", ENTRY_LINK);
    ck_assert_str_eq(walk.link, "../outside");
    ck_assert_int_eq(walk_next(&walk, &entry, &root), WALK_TROUBLE);
    ck_assert_str_eq(walk.path, "inside/pipe");
    ck_assert_int_eq(walk_next(&walk, &entry, &root), WALK_END);
    ck_assert_int_eq(walk_next(&walk, &entry, &root), WALK_END);
    walk_fini(&walk);
}

TEST(walk__what_is_in_a_directory_and_a_file)
{
    struct walk walk = {0};
    struct list_entry entry;
    uint32_t root;

    ck_assert_int_eq(walk_add(&walk, top, "a/."), 0);
    ck_assert_int_eq(walk_add(&walk, top, "a/b/file"), 0);
    ck_assert_int_eq(walk_add(&walk, top, "out/victim"), -1);
    expect(&walk, "b", ENTRY_DIRECTORY);
    expect(&walk, "b/file", ENTRY_FILE);
    expect(&walk, "file", ENTRY_LINK);
    expect(&walk, "file", ENTRY_FILE);
    ck_assert_int_eq(walk_next(&walk, &entry, &root), WALK_END);
    walk_fini(&walk);
}

TEST(walk__a_file_that_is_gone)
{
    struct walk walk = {0};
    struct list_entry entry;
    uint32_t root;

    ck_assert_int_eq(walk_add(&walk, top, "none"), 0);
    ck_assert_int_eq(walk_next(&walk, &entry, &root), WALK_TROUBLE);
    ck_assert_str_eq(walk.error, strerror(ENOENT));
    ck_assert_int_eq(walk_next(&walk, &entry, &root), WALK_END);
    walk_fini(&walk);
}

/* ---- mapping ---- */

TEST(mapping__a_file_that_shrinks)
{
    enum { BYTES = 1 << 20 };
    struct mapping mapping;
    int fd = open(path_of("inside/large"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    ck_assert_int_eq(ftruncate(fd, BYTES), 0);
    ck_assert_int_eq(mapping_init(&mapping, fd, BYTES, true), 0);
    mapping.memory[BYTES - 1] = 7;
    ck_assert(!mapping_is_torn(&mapping));
    ck_assert_int_eq(ftruncate(fd, 5000), 0);
    ck_assert_int_eq(mapping.memory[4999], 0);
    ck_assert(!mapping_is_torn(&mapping));
    ck_assert_int_eq(mapping.memory[BYTES - 1], 0);
    ck_assert(mapping_is_torn(&mapping));
    mapping.memory[BYTES / 2] = 1;
    ck_assert_int_eq(mapping.memory[BYTES / 2], 1);
    mapping_fini(&mapping);
    mapping_fini(&mapping);
    (void)close(fd);
}

/* The target's file becomes shorter, or its disk fails, while it is compared with the source's:
 * then it is replaced. */
TEST(incoming__what_is_there_cannot_be_read)
{
    enum { BYTES = 1 << 20 };
    struct incoming incoming;
    struct wanted *wanted = calloc(1, sizeof(*wanted) + sizeof("large"));
    struct range part;
    uint8_t kind = 0;
    int fd = open(path_of("inside/large"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    ck_assert_ptr_nonnull(wanted);
    strcpy(wanted->bytes, "large");
    wanted->entry = (struct list_entry){
        .type = ENTRY_FILE, .size = BYTES, .path = text_of(wanted->bytes), .link = {"", 0}};
    ck_assert_int_eq(ftruncate(fd, BYTES), 0);
    incoming_begin_compare(&incoming, top, wanted);
    ck_assert_int_eq(incoming_next(&incoming, BYTES, &kind, &part), INCOMING_ASK);
    ck_assert_uint_eq(kind, RECORD_HASHES);
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    ck_assert_uint_eq(*(volatile uint8_t *)incoming.mapping.memory, 0);
    ck_assert_int_eq(incoming_next(&incoming, BYTES, &kind, &part), INCOMING_DIFFERS);
    ck_assert_str_eq(incoming.error, "");
    incoming_fini(&incoming, true);
    (void)close(fd);
}

TEST(mapping__a_fault_elsewhere_ends_the_process, .signal = SIGBUS)
{
    teardown(); /* nobody else does */
    ck_assert_int_eq(raise(SIGBUS), 0);
    ck_assert_int_eq(raise(SIGBUS), 0);
}

/* ---- tasks ---- */

TEST(task__hashes_of_leaves)
{
    static uint8_t memory[1000];
    uint8_t hashes[3 * HASH_BYTES], hash[HASH_BYTES];
    struct crew crew;
    struct task task = task_of_hash(memory, sizeof(memory), 400, hashes);

    for (size_t i = 0; i < sizeof(memory); i++)
        memory[i] = (uint8_t)i;
    ck_assert_int_eq(crew_init(&crew, "zcrp-cp crew", CREW_THREADS), 0);
    task_start(&crew, &task);
    crew_wait(&crew, &task.job);
    crew_fini(&crew);
    task_hash(memory, 400, hash);
    ck_assert_mem_eq(hashes, hash, HASH_BYTES);
    task_hash(memory + 800, 200, hash);
    ck_assert_mem_eq(hashes + 2 * HASH_BYTES, hash, HASH_BYTES);
}

/* XXH3-128 of nothing, from its specification: another library's hash is another protocol. */
TEST(task_hash__is_xxh3)
{
    static const uint8_t nothing[HASH_BYTES] = {0x99, 0xaa, 0x06, 0xd3, 0x01, 0x47, 0x98, 0xd8,
                                                0x60, 0x01, 0xc3, 0x24, 0x46, 0x8d, 0x49, 0x7f};
    uint8_t hash[HASH_BYTES];

    task_hash("", 0, hash);
    ck_assert_mem_eq(hash, nothing, HASH_BYTES);
}

/* ---- partial ---- */

static struct list_entry entry_of(const char *path)
{
    return (struct list_entry){.type = ENTRY_FILE,
                               .mode = 04751,
                               .time_s = 1000000000,
                               .path = text_of(path),
                               .link = {"", 0}};
}

TEST(partial__is_found_again)
{
    struct partial partial;
    struct list_entry entry = entry_of("a/new");
    struct stat status;

    ck_assert_int_eq(partial_open(&partial, top, "a/new"), 0);
    ck_assert(!partial.was_there);
    ck_assert_int_eq(partial_allocate(&partial, 100000, false), 0);
    partial_close(&partial);
    ck_assert_int_eq(partial_open(&partial, top, "a/new"), 0);
    ck_assert(partial.was_there);
    ck_assert_int_eq(access(path_of("inside/a/new"), F_OK), -1);
    ck_assert_int_eq(partial_finish(&partial, &entry), 0);
    partial_close(&partial);
    ck_assert_int_eq(stat(path_of("inside/a/new"), &status), 0);
    ck_assert_int_eq(status.st_size, 100000);
    ck_assert_int_eq((int)(status.st_mode & 07777), 0751);
    ck_assert_int_eq(status.st_mtim.tv_sec, 1000000000);
}

static bool is_root(void)
{
    return geteuid() == 0;
}

/* A file system may give all files one owner: what was made is this copy's all the same. */
TEST(partial__on_a_share_with_one_owner, .needs = is_root)
{
    struct partial partial;

    ck_assert_int_eq(fchmod(top, 0777), 0);
    (void)setfsuid(65534); /* the effective user stays */
    int code = partial_open(&partial, top, "new");
    (void)setfsuid(0);
    ck_assert_int_eq(code, 0);
    ck_assert(!partial.was_there);
    partial_discard(&partial);
    partial_close(&partial);
}

/* A part file that cannot be opened for want of a descriptor stays. */
TEST(partial__without_a_descriptor)
{
    struct partial partial;

    ck_assert_int_eq(partial_open(&partial, top, "new"), 0);
    ck_assert_int_eq(partial_allocate(&partial, 100000, false), 0);
    partial_close(&partial);
    struct rlimit before = own_leave_descriptors(1); /* for the folder */
    int code = partial_open(&partial, top, "new"), error = errno;
    own_limit_descriptors(before);
    ck_assert_int_eq(code, -1);
    ck_assert_int_eq(error, EMFILE);
    ck_assert_int_eq(partial_open(&partial, top, "new"), 0);
    ck_assert(partial.was_there);
    partial_discard(&partial);
    partial_close(&partial);
}

TEST(partial__of_another_copy)
{
    struct partial first, second;

    ck_assert_int_eq(partial_open(&first, top, "new"), 0);
    ck_assert_int_eq(partial_open(&second, top, "new"), -1);
    ck_assert_int_eq(errno, EBUSY);
    partial_discard(&first);
    partial_close(&first);
    ck_assert_int_eq(partial_open(&second, top, "new"), 0);
    partial_discard(&second);
    partial_close(&second);
}

/* A source has `new`, and a part file of it that a broken copy has left: that would take the name
 * of the part which is open, and then become `new`. */
TEST(partial_finish__by_the_name_of_a_part_that_is_open)
{
    struct partial file, left;
    struct list_entry file_entry = entry_of("new"), left_entry;
    struct stat status;

    ck_assert_int_eq(partial_open(&file, top, "new"), 0);
    ck_assert_int_eq(partial_allocate(&file, 100000, false), 0);
    ck_assert_int_eq(partial_open(&left, top, file.own), 0);
    left_entry = entry_of(file.own);
    ck_assert_int_eq(partial_finish(&left, &left_entry), -1);
    ck_assert_int_eq(errno, EBUSY);
    partial_discard(&left);
    partial_close(&left);
    ck_assert_int_eq(partial_finish(&file, &file_entry), 0);
    partial_close(&file);
    ck_assert_int_eq(stat(path_of("inside/new"), &status), 0);
    ck_assert_int_eq(status.st_size, 100000);
}

TEST(partial_finish__by_the_name_of_a_part_that_nobody_has_open)
{
    struct partial file, left;
    struct list_entry left_entry;
    struct stat status;

    ck_assert_int_eq(partial_open(&file, top, "new"), 0);
    partial_close(&file);
    ck_assert_int_eq(partial_open(&left, top, file.own), 0);
    ck_assert_int_eq(partial_allocate(&left, 7, false), 0);
    left_entry = entry_of(file.own);
    ck_assert_int_eq(partial_finish(&left, &left_entry), 0);
    partial_close(&left);
    ck_assert_int_eq(fstatat(top, file.own, &status, 0), 0);
    ck_assert_int_eq(status.st_size, 7);
}

/* Somebody has put another file where the part file is: it stays, and gets no other name. */
TEST(partial_finish__its_name_is_taken)
{
    struct partial partial;
    struct list_entry entry = entry_of("new");
    char own[PATH_MOST];

    ck_assert_int_eq(partial_open(&partial, top, "new"), 0);
    partial_discard(&partial);
    (void)snprintf(own, sizeof(own), "inside/%s", partial.own);
    write_file(own, "other");
    ck_assert_int_eq(partial_finish(&partial, &entry), -1);
    ck_assert_int_eq(errno, EBUSY);
    partial_discard(&partial);
    partial_close(&partial);
    ck_assert_int_eq(access(path_of("inside/new"), F_OK), -1);
    ck_assert_int_eq(access(path_of(own), F_OK), 0);
}

/* Somebody has put something else where the part file belongs. */
TEST(partial__a_link_in_its_place)
{
    struct partial partial;
    struct stat status;

    ck_assert_int_eq(partial_open(&partial, top, "new"), 0);
    partial_discard(&partial);
    ck_assert_int_eq(symlinkat("../outside/victim", top, partial.own), 0);
    partial_close(&partial);
    ck_assert_int_eq(partial_open(&partial, top, "new"), 0);
    ck_assert(!partial.was_there);
    ck_assert_int_eq(partial_allocate(&partial, 1, false), 0);
    partial_close(&partial);
    ck_assert_int_eq(stat(path_of("outside/victim"), &status), 0);
    ck_assert_int_eq(status.st_size, 6);
}

/* ---- a part file's place that another user has taken ---- */

enum { NOBODY = 65534, SOMEBODY = 65533 };

/* shared/ is everybody's, and sticky: nobody removes what is another's. */
static void take_place_of_part(const char *name)
{
    struct partial partial;

    ck_assert_int_eq(mkdir(path_of("inside/shared"), 0700), 0);
    ck_assert_int_eq(chmod(path_of("inside/shared"), 01777), 0);
    ck_assert_int_eq(partial_open(&partial, top, name), 0);
    if (geteuid() == 0) { /* a file of NOBODY's, which holds its lock */
        ck_assert_int_eq(fchown(partial.fd, NOBODY, NOBODY), 0);
        ck_assert_int_eq(fchmod(partial.fd, 0666), 0);
        ck_assert_int_eq(chmod(path_of("inside"), 0755), 0);
        ck_assert_int_eq(seteuid(SOMEBODY), 0);
        return; /* and leaves it open */
    }
    partial_discard(&partial); /* what cannot be removed: a folder */
    ck_assert_int_eq(mkdirat(partial.folder, partial.own, 0700), 0);
    partial_close(&partial);
}

static int names_in_shared(void)
{
    return own_count(path_of("inside/shared")) - 2; /* without . and .. */
}

TEST(partial__its_place_is_taken)
{
    struct partial partial;
    struct list_entry entry = entry_of("shared/new");

    take_place_of_part("shared/new");
    ck_assert_int_eq(partial_open(&partial, top, "shared/new"), 0);
    ck_assert(!partial.was_there);
    ck_assert_int_eq(partial_finish(&partial, &entry), 0);
    partial_close(&partial);
    ck_assert_int_eq(seteuid(getuid()), 0);
    ck_assert_int_eq(access(path_of("inside/shared/new"), F_OK), 0);
    ck_assert_int_eq(names_in_shared(), 2); /* and what was there */
}

/* No later copy would find such a part, so none is left. */
TEST(partial__in_another_place_is_not_left)
{
    struct partial partial;

    take_place_of_part("shared/new");
    ck_assert_int_eq(partial_open(&partial, top, "shared/new"), 0);
    partial_close(&partial);
    ck_assert_int_eq(seteuid(getuid()), 0);
    ck_assert_int_eq(names_in_shared(), 1);
}

TEST(partial_make_link__its_place_is_taken)
{
    struct list_entry entry = entry_of("shared/new");

    entry.link = (struct text){"there", 5};
    take_place_of_part("shared/new");
    ck_assert_int_eq(partial_make_link(top, &entry), 0);
    ck_assert_int_eq(seteuid(getuid()), 0);
    ck_assert_int_eq(names_in_shared(), 2);
}

/* A file system of Unicode names, as vfat, exFAT and ZFS can be, refuses what is no UTF-8. */
TEST(partial__names_are_not_cut_amid_a_character)
{
    static const char euro[] = "\xe2\x82\xac";
    char name[NAME_MOST + 1] = "";
    struct partial partial;

    for (int i = 0; i < 80; i++)
        strcat(name, euro);
    ck_assert_int_eq(partial_open(&partial, top, name), 0);
    for (size_t at = 0, count; at < strlen(partial.own); at += count) {
        count = character_shown(partial.own + at, strlen(partial.own) - at);
        ck_assert_uint_gt(count, 0);
    }
    ck_assert_ptr_nonnull(strstr(partial.own, euro));
    partial_discard(&partial);
    partial_close(&partial);
}

TEST(partial__names_of_any_length)
{
    char name[NAME_MOST + 1];
    struct partial partial;

    memset(name, 'n', NAME_MOST);
    name[NAME_MOST] = '\0';
    ck_assert_int_eq(partial_open(&partial, top, name), 0);
    ck_assert_uint_le(strlen(partial.own), NAME_MOST);
    struct list_entry entry = entry_of(name);
    ck_assert_int_eq(partial_finish(&partial, &entry), 0);
    partial_close(&partial);
    ck_assert_int_eq(faccessat(top, name, F_OK, 0), 0);
}
