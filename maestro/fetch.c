/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/fetch.h"

#include <stdbool.h>
#include <stdlib.h>

#define PIECE_BYTES ((uint64_t)1 << 20)
#define PIECES_IN_FLIGHT 4U
/* Jobs under way at a time; no more than there are reads for. The others wait without a deadline.
 */
#define JOBS_ACTIVE 16U
#define RETRY_NS INT64_C(200000)
/* How long a closed connection has to answer for its reads. */
#define GRACE_NS INT64_C(2000000000)

struct fetch_job {
    struct fetch_job *next;
    struct fetch_order order;
    uint64_t issued;    /* bytes */
    unsigned in_flight; /* pieces */
    int status;
    bool given_up;
    int64_t deadline_ns; /* 0: has not begun */
};

void fetch_init(struct fetcher *fetcher, struct fabric *fabric, int64_t patience_ns)
{
    *fetcher = (struct fetcher){.fabric = fabric, .patience_ns = patience_ns};
}

int fetch_start(struct fetcher *fetcher, const struct fetch_order *order)
{
    struct fetch_job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        return -ENOMEM;
    }
    job->order = *order;
    if (fetcher->last != NULL) {
        fetcher->last->next = job;
    } else {
        fetcher->first = job;
    }
    fetcher->last = job;
    return 0;
}

static void mark(struct fetch_job *job, int64_t now_ns, int status)
{
    if (job->status == 0) {
        job->status = status;
        job->deadline_ns = now_ns + GRACE_NS;
    }
    job->given_up = true;
}

/* The connection is closed, so all jobs that use it have failed. */
static void fail(struct fetcher *fetcher, struct fetch_job *job, int64_t now_ns, int status)
{
    bool first = !job->given_up;
    mark(job, now_ns, status);
    if (!first || job->order.give_up == NULL) {
        return;
    }
    for (struct fetch_job *other = fetcher->first; other != NULL; other = other->next) {
        if (other->order.peer == job->order.peer) {
            mark(other, now_ns, status);
        }
    }
    job->order.give_up(job->order.context);
}

bool fetch_uses(const struct fetcher *fetcher, fabric_peer peer)
{
    const struct fetch_job *job = fetcher->first;
    while (job != NULL && job->order.peer != peer) {
        job = job->next;
    }
    return job != NULL;
}

/* The tag of a read is its job, which lives as long as a read of it may answer. */
static struct fetch_job *job_of(uint64_t tag)
{
    return (struct fetch_job *)(uintptr_t)tag;
}

void fetch_completed(struct fetcher *fetcher, int64_t now_ns, const struct fabric_event *event)
{
    struct fetch_job *job = job_of(event->tag);
    job->in_flight--;
    if (event->status != 0) {
        fail(fetcher, job, now_ns, event->status);
    } else if (job->status == 0) {
        job->deadline_ns = now_ns + fetcher->patience_ns;
    }
}

/* Posts as many pieces as may be. False: the provider wants time. */
static bool issue(struct fetcher *fetcher, struct fetch_job *job, int64_t now_ns)
{
    const struct fetch_order *order = &job->order;
    while (job->status == 0 && job->issued < order->bytes && job->in_flight < PIECES_IN_FLIGHT) {
        uint64_t left = order->bytes - job->issued;
        size_t piece = (size_t)(left < PIECE_BYTES ? left : PIECE_BYTES);
        int result = fabric_read(fetcher->fabric, order->peer, order->address + job->issued,
                                 order->key, (uint8_t *)order->destination + job->issued, piece,
                                 (uint64_t)(uintptr_t)job);
        if (result == -EAGAIN) {
            return false;
        }
        if (result != 0) {
            fail(fetcher, job, now_ns, result);
            break;
        }
        job->in_flight++;
        job->issued += piece;
    }
    return true;
}

static bool finished(const struct fetch_job *job)
{
    return job->in_flight == 0 && (job->status != 0 || job->issued == job->order.bytes);
}

/* Takes the job behind `before` (NULL: the first) out of the list. */
static void take_out(struct fetcher *fetcher, struct fetch_job *before, struct fetch_job *job)
{
    if (before != NULL) {
        before->next = job->next;
    } else {
        fetcher->first = job->next;
    }
    if (fetcher->last == job) {
        fetcher->last = before;
    }
    job->next = NULL;
}

static void end(struct fetcher *fetcher, struct fetch_job *job, int status)
{
    struct fetch_order order = job->order;
    if (job->in_flight == 0) {
        free(job);
    } else {
        job->next = fetcher->orphans;
        fetcher->orphans = job;
    }
    order.done(order.context, status);
}

/* True: the job is over and out of the list. */
static bool check(struct fetcher *fetcher, struct fetch_job *before, struct fetch_job *job,
                  int64_t now_ns)
{
    if (!finished(job) && now_ns >= job->deadline_ns) {
        if (job->status == 0) {
            fail(fetcher, job, now_ns, -ETIMEDOUT);
        } else {
            take_out(fetcher, before, job);
            end(fetcher, job, job->status);
            return true;
        }
    }
    if (finished(job)) {
        take_out(fetcher, before, job);
        end(fetcher, job, job->status);
        return true;
    }
    return false;
}

int64_t fetch_advance(struct fetcher *fetcher, int64_t now_ns)
{
    int64_t next_ns = INT64_MAX;
    struct fetch_job *before = NULL;
    struct fetch_job *job = fetcher->first;
    for (unsigned active = 0; job != NULL && active < JOBS_ACTIVE; active++) {
        struct fetch_job *next = job->next;
        if (job->deadline_ns == 0) {
            job->deadline_ns = now_ns + fetcher->patience_ns;
        }
        if (!issue(fetcher, job, now_ns) && now_ns + RETRY_NS < next_ns) {
            next_ns = now_ns + RETRY_NS;
        }
        if (!check(fetcher, before, job, now_ns)) {
            next_ns = job->deadline_ns < next_ns ? job->deadline_ns : next_ns;
            before = job;
            next = job->next; /* a callback may have added one behind the last */
        }
        job = next;
    }
    return next_ns;
}

bool fetch_end(struct fetcher *fetcher)
{
    bool quiet = fetcher->orphans == NULL;
    while (fetcher->first != NULL) {
        struct fetch_job *job = fetcher->first;
        take_out(fetcher, NULL, job);
        quiet = quiet && job->in_flight == 0;
        job->in_flight = 0;
        end(fetcher, job, -ECANCELED);
    }
    while (fetcher->orphans != NULL) {
        struct fetch_job *job = fetcher->orphans;
        fetcher->orphans = job->next;
        free(job);
    }
    return quiet;
}
