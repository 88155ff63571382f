#include "cq.h"

#include "ep.h"
#include "match.h"
#include "provider.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST = 16384 }; /* completions that a queue has room for */

void cq_add(struct cq *cq, struct op *op)
{
    list_add(&cq->ended, &op->in);
    cq->count++;
    waker_ring(&cq->waker);
}

bool cq_has_room(struct cq *cq)
{
    if (cq->count >= cq->most)
        cq->is_full = true;
    return cq->count < cq->most;
}

static struct op *take_first(struct cq *cq)
{
    cq->count--;
    return OWNER(list_take(&cq->ended), struct op, in);
}

/* What waited for room goes on when half of it is free. */
static void retry(struct cq *cq)
{
    if (!cq->is_full || cq->count >= cq->most / 2)
        return;
    cq->is_full = false;
    for (struct list *link = cq->endpoints.next; link != &cq->endpoints; link = link->next)
        match_retry(OWNER(link, struct ep, of_queue));
}

/* ---- reading ---- */

static struct op *first(const struct cq *cq)
{
    return list_is_empty(&cq->ended) ? NULL : OWNER(cq->ended.next, struct op, in);
}

static size_t entry_bytes(enum fi_cq_format format)
{
    switch (format) {
    case FI_CQ_FORMAT_MSG:
        return sizeof(struct fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA:
        return sizeof(struct fi_cq_data_entry);
    case FI_CQ_FORMAT_TAGGED:
        return sizeof(struct fi_cq_tagged_entry);
    case FI_CQ_FORMAT_UNSPEC:
    case FI_CQ_FORMAT_CONTEXT:
        break;
    }
    return sizeof(struct fi_cq_entry);
}

/* Each format is the beginning of the largest. */
static char *write_entry(char *out, const struct cq *cq, const struct op *op)
{
    const struct fi_cq_tagged_entry entry = {.op_context = op->context,
                                             .flags = op->flags,
                                             .len = op->length,
                                             .buf = op->buffer,
                                             .data = op->data,
                                             .tag = op->tag};
    size_t bytes = entry_bytes(cq->format);

    memcpy(out, &entry, bytes);
    return out + bytes;
}

static ssize_t read_entries(struct cq *cq, void *buffer, size_t count, fi_addr_t *sources)
{
    char *out = buffer;
    ssize_t done = 0;
    struct op *op;

    while ((op = first(cq)) != NULL && op->error == 0 && (size_t)done < count) {
        out = write_entry(out, cq, op);
        if (sources != NULL)
            sources[done] = op->source;
        op_free(cq->domain, take_first(cq));
        done++;
    }
    retry(cq);
    if (done > 0 || count == 0)
        return done;
    return op != NULL ? -FI_EAVAIL : -FI_EAGAIN;
}

/* Where there is something to read it is read, without looking for more. */
static ssize_t cq_readfrom(struct fid_cq *fid, void *buffer, size_t count, fi_addr_t *sources)
{
    struct cq *cq = OWNER(fid, struct cq, fid);

    domain_enter(cq->domain);
    if (list_is_empty(&cq->ended) || count == 0)
        domain_progress(cq->domain);
    ssize_t result = read_entries(cq, buffer, count, sources);
    domain_leave(cq->domain);
    return result;
}

static ssize_t cq_read(struct fid_cq *fid, void *buffer, size_t count)
{
    return cq_readfrom(fid, buffer, count, NULL);
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry, uint64_t flags)
{
    struct cq *cq = OWNER(fid, struct cq, fid);

    (void)flags;
    domain_enter(cq->domain);
    struct op *op = first(cq);
    if (op == NULL || op->error == 0) {
        domain_leave(cq->domain);
        return -FI_EAGAIN;
    }
    entry->op_context = op->context;
    entry->flags = op->flags;
    entry->len = op->length;
    entry->buf = op->buffer;
    entry->data = op->data;
    entry->tag = op->tag;
    entry->olen = op->over;
    entry->err = op->error;
    entry->prov_errno = op->zcrp_code;
    if (FI_VERSION_LT(cq->domain->fabric->api_version, FI_VERSION(1, 5)))
        entry->err_data = NULL; /* the entry's last member then */
    else
        entry->err_data_size = 0;
    op_free(cq->domain, take_first(cq));
    retry(cq);
    domain_leave(cq->domain);
    return 1;
}

/* ---- waiting ---- */

/* Is there anything for a thread that sleeps? */
static bool has_news(const struct cq *cq)
{
    return cq->is_signalled || !list_is_empty(&cq->ended);
}

/* Is it over, and with what? A signal ends one wait. One ring may wake one of several sleepers, so
 * that one rings for what it leaves. Within the mutex. */
static bool is_over(struct cq *cq, void *buffer, size_t count, fi_addr_t *sources, ssize_t *result)
{
    if (list_is_empty(&cq->ended))
        domain_progress(cq->domain);
    *result = read_entries(cq, buffer, count, sources);
    if (*result != -FI_EAGAIN) {
        if (has_news(cq))
            waker_ring(&cq->waker);
        return true;
    }
    bool is_signalled = cq->is_signalled;
    cq->is_signalled = false;
    return is_signalled;
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buffer, size_t count, fi_addr_t *sources,
                            const void *condition, int timeout_ms)
{
    struct cq *cq = OWNER(fid, struct cq, fid);
    int64_t began = waker_now();
    ssize_t result;

    (void)condition;
    if (cq->waker.descriptor < 0)
        return -FI_EINVAL;
    for (;;) {
        bool may_sleep = waker_now() - began >= WAKER_SPIN_NS;
        domain_enter(cq->domain);
        if (may_sleep)
            waker_arm(&cq->waker);
        bool has_ended = is_over(cq, buffer, count, sources, &result);
        domain_leave(cq->domain);
        int left = waker_left(began, timeout_ms);
        if (has_ended || left == 0)
            return result;
        if (may_sleep)
            waker_sleep(&cq->waker, left);
    }
}

static ssize_t cq_sread(struct fid_cq *fid, void *buffer, size_t count, const void *condition,
                        int timeout_ms)
{
    return cq_sreadfrom(fid, buffer, count, NULL, condition, timeout_ms);
}

static int cq_signal(struct fid_cq *fid)
{
    struct cq *cq = OWNER(fid, struct cq, fid);

    domain_enter(cq->domain);
    cq->is_signalled = true;
    waker_ring(&cq->waker);
    domain_leave(cq->domain);
    return 0;
}

int cq_trywait(struct cq *cq)
{
    domain_enter(cq->domain);
    waker_arm(&cq->waker);
    domain_progress(cq->domain);
    bool is_empty = list_is_empty(&cq->ended);
    if (has_news(cq)) /* for those that sleep already */
        waker_ring(&cq->waker);
    domain_leave(cq->domain);
    return is_empty ? 0 : -FI_EAGAIN;
}

static const char *cq_strerror(struct fid_cq *fid, int code, const void *data, char *text,
                               size_t size)
{
    const char *line = zcrp_strerror(code);

    (void)fid, (void)data;
    if (text != NULL && size > 0) {
        strncpy(text, line, size - 1);
        text[size - 1] = '\0';
    }
    return line;
}

/* ---- life ---- */

static int cq_close(struct fid *fid)
{
    struct cq *cq = OWNER(fid, struct cq, fid.fid);

    domain_enter(cq->domain);
    bool is_used = cq->users > 0;
    if (!is_used) {
        LIST_EACH(link, &cq->ended)
        op_free(cq->domain, OWNER(link, struct op, in));
    }
    domain_leave(cq->domain);
    if (is_used)
        return -FI_EBUSY;
    waker_fini(&cq->waker);
    domain_unuse(cq->domain);
    free(cq);
    return 0;
}

static int cq_control(struct fid *fid, int command, void *argument)
{
    return waker_control(&OWNER(fid, struct cq, fid.fid)->waker, command, argument);
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = cq_close,
    .bind = no_bind,
    .control = cq_control,
    .ops_open = no_ops,
};

static struct fi_ops_cq cq_ops = {
    .size = sizeof(struct fi_ops_cq),
    .read = cq_read,
    .readfrom = cq_readfrom,
    .readerr = cq_readerr,
    .sread = cq_sread,
    .sreadfrom = cq_sreadfrom,
    .signal = cq_signal,
    .strerror = cq_strerror,
};

int cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context)
{
    struct domain *d = OWNER(domain, struct domain, fid);

    if (attr == NULL || (attr->flags & ~FI_AFFINITY) != 0 || attr->format > FI_CQ_FORMAT_TAGGED)
        return -FI_EINVAL;
    struct cq *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return -FI_ENOMEM;
    int error = waker_init(&c->waker, d, attr->wait_obj);
    if (error != 0) {
        free(c);
        return error;
    }
    c->fid.fid = (struct fid){.fclass = FI_CLASS_CQ, .context = context, .ops = &fid_ops};
    c->fid.ops = &cq_ops;
    c->domain = d;
    c->format = attr->format == FI_CQ_FORMAT_UNSPEC ? FI_CQ_FORMAT_CONTEXT : attr->format;
    attr->format = c->format;
    c->most = attr->size > LEAST ? attr->size : LEAST;
    list_init(&c->ended);
    list_init(&c->endpoints);
    domain_use(d);
    *cq = &c->fid;
    return 0;
}
