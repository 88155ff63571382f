#include "crew.h"

#include <errno.h>

static void *work(void *context)
{
    struct crew *crew = context;

    (void)pthread_setname_np(pthread_self(), crew->name);
    pthread_mutex_lock(&crew->lock);
    while (!crew->is_over) {
        struct crew_job *job = crew->first;

        if (job == NULL) {
            crew->idle_threads++;
            pthread_cond_wait(&crew->added, &crew->lock);
            crew->idle_threads--;
            continue;
        }
        crew->first = job->next;
        if (crew->first == NULL)
            crew->last = &crew->first;
        crew->waiting_jobs--;
        pthread_mutex_unlock(&crew->lock);
        job->work(job);
        pthread_mutex_lock(&crew->lock);
        job->is_done = true;
        pthread_cond_broadcast(&crew->done);
        if (crew->on_done != NULL)
            crew->on_done(job);
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* 0 or errno. */
static int start_thread(struct crew *crew)
{
    int code = pthread_create(&crew->threads[crew->thread_count], NULL, work, crew);

    crew->thread_count += code == 0;
    return code;
}

int crew_init(struct crew *crew, const char *name, int threads_most)
{
    *crew = (struct crew){.last = &crew->first, .threads_most = threads_most, .name = name};
    (void)pthread_mutex_init(&crew->lock, NULL);
    (void)pthread_cond_init(&crew->added, NULL);
    (void)pthread_cond_init(&crew->done, NULL);
    int code = start_thread(crew);
    if (code == 0)
        return 0;
    crew_fini(crew);
    errno = code;
    return -1;
}

void crew_fini(struct crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->is_over = true;
    pthread_cond_broadcast(&crew->added);
    pthread_mutex_unlock(&crew->lock);
    for (int i = 0; i < crew->thread_count; i++)
        (void)pthread_join(crew->threads[i], NULL);
    (void)pthread_cond_destroy(&crew->done);
    (void)pthread_cond_destroy(&crew->added);
    (void)pthread_mutex_destroy(&crew->lock);
}

/* A thread that was signalled counts as idle until it has run: so jobs are counted, too. */
void crew_add(struct crew *crew, struct crew_job *job)
{
    pthread_mutex_lock(&crew->lock);
    job->is_done = false;
    job->next = NULL;
    *crew->last = job;
    crew->last = &job->next;
    if (++crew->waiting_jobs > crew->idle_threads && crew->thread_count < crew->threads_most)
        (void)start_thread(crew);
    pthread_cond_signal(&crew->added);
    pthread_mutex_unlock(&crew->lock);
}

bool crew_is_done(struct crew *crew, const struct crew_job *job)
{
    pthread_mutex_lock(&crew->lock);
    bool is_done = job->is_done;
    pthread_mutex_unlock(&crew->lock);
    return is_done;
}

void crew_wait(struct crew *crew, struct crew_job *job)
{
    pthread_mutex_lock(&crew->lock);
    while (!job->is_done)
        pthread_cond_wait(&crew->done, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
}
