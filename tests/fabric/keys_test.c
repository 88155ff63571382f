/* Keys from the file that FI_ZCRP_KEYS names: ranks that have the same one talk, others do not. */
#include "ranks.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zcrp.h>

LOAD(asleep)

enum keys { NONE, RIGHT, WRONG };

static enum keys of_rank[2];

static bool has_keys(void)
{
    struct zcrp_keys *keys;
    int code = zcrp_keys_psk(&keys, "probe", "32 bytes that are no secret at all", 32);

    zcrp_keys_free(keys);
    if (code != ZCRP_OK)
        puts("the library was built without keys");
    return code == ZCRP_OK;
}

NEEDS(has_keys)

/* A file with a pre-shared key, in a folder of the process's own. */
static void make_file(char *path, size_t size, enum keys keys, mode_t mode)
{
    char folder[] = "/tmp/zcrp-fabric-keys-XXXXXX";

    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, size, "%s/key", folder);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    (void)fputs("ranks:", file);
    for (int i = 0; i < 32; i++)
        (void)fprintf(file, "%02x", i * 7 + (keys == WRONG));
    (void)fputs("\n", file);
    OK(fclose(file));
    OK(chmod(path, mode));
}

static void remove_file(char *path)
{
    (void)unlink(path);
    *strrchr(path, '/') = '\0';
    (void)rmdir(path);
}

static char path[100];

static void choose_keys(int number)
{
    if (of_rank[number] == NONE)
        return;
    make_file(path, sizeof(path), of_rank[number], 0600);
    (void)setenv("FI_ZCRP_KEYS", path, 1);
}

/* Where rank 1 tells how many of its sends failed. */
static _Atomic int *failures(struct rank *r)
{
    return &r->board->stage[RANKS_MOST - 1];
}

/* Rank 1 sends a small message and a large one. Only with FI_TRANSMIT_COMPLETE a small one has not
 * ended before it has left. */
static void send_both(struct rank *r)
{
    uint8_t *out = filled(LARGE, 5);
    struct iovec one = {out, SMALL};
    struct fi_msg_tagged m = {
        .msg_iov = &one, .iov_count = 1, .addr = r->to[0], .tag = 5, .context = out};

    for (int i = 0; i < 2; i++) {
        POST(fi_tsendmsg(r->node.ep, &m, FI_TRANSMIT_COMPLETE | FI_COMPLETION));
        atomic_fetch_add(failures(r), take(r->node.sent).err != 0);
        one.iov_len = LARGE;
    }
    ranks_sync(r);
    if (of_rank[1] != NONE)
        remove_file(path);
    free(out);
}

static const struct {
    enum keys of_receiver, of_sender;
    bool is_memory, is_good;
} rows[] = {{RIGHT, RIGHT, false, true}, {RIGHT, RIGHT, true, true},  {RIGHT, WRONG, false, false},
            {RIGHT, NONE, false, false}, {NONE, RIGHT, false, false}, {RIGHT, WRONG, true, false},
            {RIGHT, NONE, true, false},  {NONE, RIGHT, true, false}};

TEST(keys__of_two_ranks, .rows = ROWS(rows))
{
    const struct ranks_plan plan = {
        .count = 2, .is_memory = rows[_i].is_memory, .prepare = choose_keys, .part = send_both};
    uint8_t *in[2] = {blank(LARGE), blank(LARGE)};
    struct rank r;

    of_rank[0] = rows[_i].of_receiver;
    of_rank[1] = rows[_i].of_sender;
    ranks_start(&r, &plan);
    for (int i = 0; i < 2; i++)
        POST(fi_trecv(r.node.ep, in[i], LARGE, NULL, FI_ADDR_UNSPEC, 5, 0, in[i]));
    for (int i = 0; i < 2 && rows[_i].is_good; i++)
        ck_assert_int_eq(take(r.node.received).err, 0);
    ranks_sync(&r);
    int failed = atomic_load(failures(&r));
    ck_assert_int_eq(failed, rows[_i].is_good ? 0 : 2);
    if (rows[_i].is_good)
        ck_assert(pattern_holds(in[0], SMALL, 5) && pattern_holds(in[1], LARGE, 5));
    else
        take_nothing(r.node.received);
    if (of_rank[0] != NONE)
        remove_file(path);
    ranks_finish(&r);
    free(in[0]);
    free(in[1]);
}

/* A file that is not there, or that others may read, must not end in messages without keys. */
TEST(keys__file_that_cannot_be_used, .rows = 2)
{
    struct fi_info *hints = node_hints(&(struct node_wish){0}), *info = NULL;
    struct fid_fabric *fabric = NULL;
    struct fid_domain *domain = NULL;
    struct fid_ep *ep = NULL;
    struct fid_av *av = NULL;
    struct fid_cq *cq = NULL;

    make_file(path, sizeof(path), RIGHT, 0644);
    (void)setenv("FI_ZCRP_KEYS", _i == 0 ? path : "/no/such/file", 1);
    int code = fi_getinfo(NODE_VERSION, "127.0.0.1", NULL, FI_SOURCE, hints, &info);
    if (code == 0)
        code = fi_fabric(info->fabric_attr, &fabric, NULL);
    if (code == 0)
        code = fi_domain(fabric, info, &domain, NULL);
    if (code == 0)
        code = fi_endpoint(domain, info, &ep, NULL);
    if (code == 0) {
        OK(fi_cq_open(domain, &(struct fi_cq_attr){0}, &cq, NULL));
        OK(fi_av_open(domain, &(struct fi_av_attr){0}, &av, NULL));
        OK(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
        OK(fi_ep_bind(ep, &av->fid, 0));
        code = fi_enable(ep);
    }
    ck_assert_int_lt(code, 0);
    struct fid *open[] = {ep ? &ep->fid : NULL, cq ? &cq->fid : NULL, av ? &av->fid : NULL,
                          domain ? &domain->fid : NULL, fabric ? &fabric->fid : NULL};
    for (int i = 0; i < 5; i++)
        if (open[i] != NULL)
            OK(fi_close(open[i]));
    fi_freeinfo(info);
    fi_freeinfo(hints);
    remove_file(path);
}
