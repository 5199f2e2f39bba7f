/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/wire/fetch.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maestro/wire/fabric.h"
#include "maestro/wire/stream.h"

#define PIECE_BYTES ((uint64_t)1 << 20)
#define PIECES_IN_FLIGHT 4U
/* Maximum number of active jobs; at most one for each read. Other jobs wait, without a deadline. */
#define JOBS_ACTIVE 16U
#define RETRY_NS INT64_C(200000)
/* A source that accepts no reads for ASK_NS is probed, and again at this interval. */
#define ASK_NS INT64_C(500000000)
/* After one piece has failed, the others usually fail too: they have GRACE_NS to complete. */
#define GRACE_NS INT64_C(100000000)
/* Maximum number of connections kept for reuse; over the limit, unused ones are closed. */
#define CONNECTIONS_MAX 256U

/* A source in the reader's address table. */
struct fetch_connection {
    struct fetch_connection *next;
    struct carrier_place source;
    carrier_peer peer;
    unsigned in_flight; /* number of pieces in flight */
    bool broken;        /* to be reopened once no piece is in flight */
};

struct fetch_job {
    struct list_link of_fetcher;
    struct fetch_order order;
    struct fetch_connection *connection; /* NULL: not connected yet */
    uint64_t issued;                     /* bytes requested so far */
    unsigned in_flight;                  /* number of pieces in flight */
    int status;
    int64_t deadline_ns; /* 0: not started */
    int64_t ask_ns;      /* time of the next probe of the source; 0: reads can be issued */
};

void fetch_init(struct fetcher *fetcher, const char *provider, const char *bind,
                int64_t patience_ns)
{
    char text[CARRIER_ADDRESS_BYTES];
    const char *node = NULL;
    *fetcher = (struct fetcher){.patience_ns = patience_ns};
    (void)snprintf(text, sizeof text, "%s", bind);
    (void)stream_take_port(text, &node); /* remove the port, which is the pool manager's */
    (void)snprintf(fetcher->bind, sizeof fetcher->bind, "%s", node);
    (void)snprintf(fetcher->requested.provider, sizeof fetcher->requested.provider, "%s", provider);
    list_init(&fetcher->jobs);
}

static int open_carrier(const struct fetcher *fetcher, const struct carrier_place *place,
                        struct carrier **ret_carrier, struct vamp_err *err)
{
    if (strcmp(place->provider, DOOR_PROVIDER) == 0) {
        return door_open(fetcher->bind, ret_carrier, err);
    }
    return fabric_open(place, fetcher->bind, ret_carrier, err);
}

/* ---- memory of this process */

int fetch_open(const struct fetcher *fetcher, struct carrier **ret_carrier, struct vamp_err *err)
{
    struct carrier_place requested = fetcher->requested;
    if (requested.provider[0] == '\0') {
        (void)snprintf(requested.provider, sizeof requested.provider, "%s",
                       vamp_text_or(fabric_present(), DOOR_PROVIDER));
    }
    return open_carrier(fetcher, &requested, ret_carrier, err);
}

int fetch_expose(struct fetcher *fetcher, struct carrier *opened, void *address, uint64_t bytes,
                 struct carrier_memory *ret_memory, struct carrier_place *ret_place,
                 struct vamp_err *err)
{
    int result = 0;
    if (fetcher->own == NULL && opened != NULL) {
        fetcher->own = opened;
    } else if (opened != NULL) {
        opened->ops->close(opened); /* another thread has opened one in the meantime */
    } else if (fetcher->own == NULL) {
        result = fetch_open(fetcher, &fetcher->own, err);
    }
    if (result == 0) {
        assert(fetcher->own != NULL);
        result = fetcher->own->ops->expose(fetcher->own, address, bytes, ret_memory, err);
    }
    if (result == 0) {
        fetcher->own->ops->place(fetcher->own, ret_place);
    }
    return result;
}

void fetch_forget(struct fetcher *fetcher, struct carrier_memory *memory)
{
    if (fetcher->own != NULL) {
        fetcher->own->ops->forget(fetcher->own, memory);
    }
}

/* ---- payloads of others */

static struct fetch_job *first_job(const struct fetcher *fetcher)
{
    struct list_link *link = list_first(&fetcher->jobs);
    return link == NULL ? NULL : CONTAINER_OF(link, struct fetch_job, of_fetcher);
}

static struct fetch_job *next_job(const struct fetcher *fetcher, const struct fetch_job *job)
{
    struct list_link *link = list_next(&fetcher->jobs, &job->of_fetcher);
    return link == NULL ? NULL : CONTAINER_OF(link, struct fetch_job, of_fetcher);
}

int fetch_start(struct fetcher *fetcher, const struct fetch_order *order)
{
    struct fetch_job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        return -ENOMEM;
    }
    job->order = *order;
    list_append(&fetcher->jobs, &job->of_fetcher);
    return 0;
}

static bool same_place(const struct carrier_place *a, const struct carrier_place *b)
{
    return a->length == b->length && memcmp(a->address, b->address, a->length) == 0 &&
           strcmp(a->provider, b->provider) == 0;
}

/* ---- the reader and its connections */

/* Closes connections without reads in flight: broken ones, or all of them. */
static void drop_useless(struct fetcher *fetcher, bool all)
{
    struct fetch_connection **at = &fetcher->connections;
    while (*at != NULL) {
        struct fetch_connection *connection = *at;
        if (connection->in_flight > 0 || (!all && !connection->broken)) {
            at = &connection->next;
            continue;
        }
        *at = connection->next;
        fetcher->connection_count--;
        for (struct fetch_job *job = first_job(fetcher); job != NULL;
             job = next_job(fetcher, job)) {
            if (job->connection == connection) {
                job->connection = NULL;
            }
        }
        fetcher->reader->ops->peer_remove(fetcher->reader, connection->peer);
        free(connection);
    }
}

/* Ends all reads permanently. Active jobs that have not failed start over. */
static void close_reader(struct fetcher *fetcher)
{
    for (struct fetch_job *job = first_job(fetcher); job != NULL; job = next_job(fetcher, job)) {
        job->connection = NULL;
        job->in_flight = 0;
        job->issued = 0;
    }
    if (fetcher->reader != NULL) {
        fetcher->reader->ops->close(fetcher->reader);
        fetcher->reader = NULL;
    }
    while (fetcher->connections != NULL) {
        struct fetch_connection *connection = fetcher->connections;
        fetcher->connections = connection->next;
        free(connection);
    }
    fetcher->connection_count = 0;
}

/* Returns 0; -EAGAIN: the old connection must be removed first; or another -errno. */
static int connect_job(struct fetcher *fetcher, struct fetch_job *job)
{
    const struct carrier_place *source = &job->order.source;
    if (fetcher->reader == NULL) {
        int result = open_carrier(fetcher, source, &fetcher->reader, NULL);
        if (result != 0) {
            return result == -EAGAIN ? -EIO : result;
        }
        fetcher->reader_place = *source;
    }
    assert(fetcher->reader != NULL);
    if (strcmp(fetcher->reader_place.provider, source->provider) != 0) {
        return -EPROTONOSUPPORT; /* all components of a workflow use the same provider */
    }
    struct fetch_connection *connection = fetcher->connections;
    while (connection != NULL && !same_place(&connection->source, source)) {
        connection = connection->next;
    }
    if (connection == NULL) {
        if (fetcher->connection_count >= CONNECTIONS_MAX) {
            drop_useless(fetcher, true);
        }
        connection = calloc(1, sizeof *connection);
        if (connection == NULL) {
            return -ENOMEM;
        }
        int result = fetcher->reader->ops->peer_add(fetcher->reader, source, &connection->peer);
        if (result != 0) {
            free(connection);
            return result;
        }
        connection->source = *source;
        connection->next = fetcher->connections;
        fetcher->connections = connection;
        fetcher->connection_count++;
    }
    if (connection->broken) {
        return -EAGAIN;
    }
    job->connection = connection;
    return 0;
}

/* ---- jobs */

static void fail(struct fetch_job *job, int status, int64_t until_ns)
{
    if (job->status == 0) {
        job->status = status;
        job->deadline_ns = until_ns;
    }
}

/* Sets the job's deadline to the past, so that the reader is closed at once if necessary. */
static void cancel(struct fetch_job *job)
{
    fail(job, -ECANCELED, 1);
}

void fetch_cancel_all(struct fetcher *fetcher)
{
    for (struct fetch_job *job = first_job(fetcher); job != NULL; job = next_job(fetcher, job)) {
        cancel(job);
    }
}

void fetch_abandon(struct fetcher *fetcher, const void *context, const struct carrier_place *source)
{
    bool in_flight = false;
    for (struct fetch_job *job = first_job(fetcher); job != NULL; job = next_job(fetcher, job)) {
        const struct carrier_place *own = &job->order.source;
        if (job->order.context == context || (source != NULL && same_place(own, source))) {
            in_flight = in_flight || job->in_flight > 0;
            cancel(job);
        }
    }
    if (in_flight) {
        close_reader(fetcher);
    }
}

static void take_completions(struct fetcher *fetcher, int64_t now_ns)
{
    struct carrier_event events[CARRIER_EVENTS];
    int count = CARRIER_EVENTS;
    if (fetcher->own != NULL) { /* make progress for the readers of this process's memory */
        count = fetcher->own->ops->poll(fetcher->own, events);
        assert(count <= 0); /* this carrier issues no reads */
        count = CARRIER_EVENTS;
    }
    while (fetcher->reader != NULL && count == CARRIER_EVENTS) {
        count = fetcher->reader->ops->poll(fetcher->reader, events);
        for (int i = 0; i < count; i++) {
            /* The tag of a read is its job, which exists until its last read has completed. */
            struct fetch_job *job = (struct fetch_job *)(uintptr_t)events[i].tag;
            job->in_flight--;
            job->connection->in_flight--;
            if (events[i].status != 0) {
                job->connection->broken = true;
                fail(job, events[i].status, now_ns + GRACE_NS);
            } else if (job->status == 0) {
                job->deadline_ns = now_ns + fetcher->patience_ns;
            }
        }
    }
    if (count < 0) {
        close_reader(fetcher);
    }
}

/* Issues as many reads as permitted. Returns false if the provider accepts no more now. */
static bool issue(struct fetcher *fetcher, struct fetch_job *job, int64_t now_ns)
{
    const struct fetch_order *order = &job->order;
    while (job->status == 0 && job->issued < order->bytes && job->in_flight < PIECES_IN_FLIGHT) {
        const uint64_t left = order->bytes - job->issued;
        const size_t piece = (size_t)VAMP_MIN(left, PIECE_BYTES);
        int result = 0;
        if (job->connection == NULL) {
            result = connect_job(fetcher, job);
        } else if (job->connection->broken) {
            result = -ECONNRESET;
        }
        if (result == 0) {
            result = fetcher->reader->ops->read(
                fetcher->reader, job->connection->peer, order->address + job->issued, order->key,
                (uint8_t *)order->destination + job->issued, piece, (uint64_t)(uintptr_t)job);
        }
        if (result == -EAGAIN) {
            return false;
        }
        if (result != 0) {
            fail(job, result, now_ns + GRACE_NS);
            break;
        }
        job->connection->in_flight++;
        job->in_flight++;
        job->issued += piece;
    }
    return true;
}

/* The provider tries to connect to a dead source forever. Fails the job if no process listens at
 * the source's address. */
static void probe_source(struct fetcher *fetcher, struct fetch_job *job, int64_t now_ns)
{
    const struct carrier_place *source = &job->order.source;
    if (job->ask_ns == 0) {
        job->ask_ns = now_ns + ASK_NS;
    } else if (now_ns >= job->ask_ns) {
        job->ask_ns = now_ns + ASK_NS;
        if (fetcher->reader != NULL && fetcher->reader->ops->refuses(fetcher->reader, source)) {
            if (job->connection != NULL) {
                job->connection->broken = true;
            }
            fail(job, -ECONNREFUSED, now_ns + GRACE_NS);
        }
    }
}

/* Removes the job from the list and reports it to its owner. */
static void end(struct fetch_job *job, int status)
{
    const struct fetch_order order = job->order;
    list_remove(&job->of_fetcher);
    free(job);
    order.done(order.context, status);
}

/* Returns true if the job has ended and is no longer in the list. */
static bool check(struct fetcher *fetcher, struct fetch_job *job, int64_t now_ns)
{
    if (now_ns >= job->deadline_ns) {
        fail(job, -ETIMEDOUT, now_ns);
        if (job->in_flight > 0) {
            close_reader(fetcher);
        }
    }
    if (job->in_flight > 0 || (job->status == 0 && job->issued < job->order.bytes)) {
        return false;
    }
    end(job, job->status);
    return true;
}

int64_t fetch_advance(struct fetcher *fetcher, int64_t now_ns)
{
    int64_t next_ns = INT64_MAX;
    take_completions(fetcher, now_ns);
    drop_useless(fetcher, false);
    struct fetch_job *job = first_job(fetcher);
    for (unsigned active = 0; job != NULL && active < JOBS_ACTIVE; active++) {
        if (job->deadline_ns == 0) {
            job->deadline_ns = now_ns + fetcher->patience_ns;
        }
        if (issue(fetcher, job, now_ns)) {
            job->ask_ns = 0;
        } else {
            probe_source(fetcher, job, now_ns);
            next_ns = VAMP_MIN(now_ns + RETRY_NS, next_ns);
        }
        struct fetch_job *next = next_job(fetcher, job);
        if (check(fetcher, job, now_ns)) {
            next_ns = now_ns; /* another job can start, or was started by a callback */
        } else {
            next_ns = VAMP_MIN(job->deadline_ns, next_ns);
        }
        job = next;
    }
    return next_ns;
}

void fetch_wait(struct fetcher *fetcher, int ret_waits[FETCH_WAITS], int64_t *timeout_ns)
{
    struct carrier *const carriers[FETCH_WAITS] = {fetcher->own, fetcher->reader};
    for (size_t i = 0; i < FETCH_WAITS; i++) {
        ret_waits[i] = carriers[i] != NULL ? carriers[i]->ops->wait(carriers[i], timeout_ns) : -1;
    }
}

void fetch_end(struct fetcher *fetcher)
{
    close_reader(fetcher);
    if (fetcher->own != NULL) {
        fetcher->own->ops->close(fetcher->own);
        fetcher->own = NULL;
    }
    struct list_link *link = NULL;
    while ((link = list_take(&fetcher->jobs)) != NULL) {
        end(CONTAINER_OF(link, struct fetch_job, of_fetcher), -ECANCELED);
    }
}
