#include "ends.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/complain.h"
#include "common/meeting.h"

static const int64_t step_ns = 200000000, patience_ns = 60000000000;

const struct meeting_program program_of_copies = {"zcrp-cp", RECORD_VERSION, true};
_Static_assert((int)MEETING_PROOF_BYTES == (int)PROOF_BYTES,
               "the proofs of the meeting are the session's");

struct far {
    struct meeting meeting;
    struct zcrp_listener *listener; /* with the key */
    struct crew crew;
};

/* When standard input ends, the near end is gone, however that has ended. Part files stay. */
static struct line line = {.watched = STDIN_FILENO, .on_end = LINE_INTERRUPTED};

/* Waits for the near end: nobody else has the key. What it wants, and it has the line; or NULL, and
 * it was complained of, unless the line has ended. */
static struct session *hear_near(struct far *far)
{
    const struct session_rules rules = {.directory = -1, .proof = far->meeting.far_proof};
    struct session *session = NULL;
    struct zcrp_connection *connection = NULL;
    int64_t end = clock_now_ns() + patience_ns;
    int code = ZCRP_ERROR_TIMEOUT;

    while (code != 0 && clock_now_ns() < end && line_stopped(&line) == LINE_GOES) {
        code = zcrp_accept(far->listener, &connection, step_ns);
        if (code != 0 && code != ZCRP_ERROR_TIMEOUT)
            (void)usleep(100000);
    }
    if (code != 0) {
        if (line_stopped(&line) == LINE_GOES)
            (void)complain("the near end has not connected: does a firewall drop UDP?");
        return NULL;
    }
    line_init(&line, connection);
    (void)session_hear(&line, &rules, &session);
    return session;
}

static enum line_end serve_near(struct far *far)
{
    enum line_end end = LINE_FAILED;
    struct session *session = hear_near(far);

    if (session != NULL)
        end = session_run(session, &line, &far->crew, NULL);
    /* A close would wait for the answer of somebody who is gone. */
    if (line_stopped(&line) == LINE_INTERRUPTED)
        _exit(end == LINE_FINE ? STATUS_FINE : STATUS_BROKEN);
    if (line.connection != NULL)
        line_fini(&line);
    return end;
}

int far_run(void)
{
    static struct far far;
    int status = STATUS_BROKEN;

    if (meeting_hear(&far.meeting, &program_of_copies) != 0)
        return STATUS_USAGE;
    if (crew_init(&far.crew, "zcrp-cp crew", CREW_THREADS) != 0) {
        (void)complain("cannot start threads: %s", strerror(errno));
        return STATUS_BROKEN;
    }
    const struct zcrp_options zcrp = {.keys = meeting_keys(&far.meeting, &program_of_copies)};
    if (meeting_listen(&far.listener, NULL, far.meeting.port, &zcrp) == 0 &&
        meeting_answer(&far.meeting, &program_of_copies,
                       (uint16_t)zcrp_listener_port(far.listener)) == 0 &&
        serve_near(&far) == LINE_FINE)
        status = STATUS_FINE;
    (void)zcrp_listener_close(far.listener);
    crew_fini(&far.crew);
    meeting_forget(&far.meeting);
    return status;
}
