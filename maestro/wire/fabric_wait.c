/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for the fabric without spinning, in the best way the provider offers: its descriptor, a
 * blocking read of the queue, or sleeps between polls.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "maestro/wire/fabric_internal.h"
#include "vampire/core/clock.h"

/* All operations that can be in flight fit: an overrun of the queue would be fatal. */
#define QUEUE_ENTRIES (FABRIC_RECEIVES + FABRIC_SENDS + FABRIC_READS + 64)
/* Sleeps of timed polling: short after traffic, to keep round trips short; long when idle. */
#define NAP_SHORTEST_NS INT64_C(20000)
#define NAP_LONGEST_NS INT64_C(2000000)
/* The kernel adds its 50 us: half of the pool manager's window at a message every 4 us. */
#define GATHER_NS INT64_C(20000)

/* False for providers whose descriptor or blocking read does not work well: plain tcp keeps its
 * descriptor readable forever, shm and rxd spin inside a blocking read. */
static bool descriptor_is_good(const char *provider)
{
    return strcmp(provider, "tcp") != 0 && strncmp(provider, "shm", 3) != 0;
}
static bool blocking_read_is_good(const char *provider)
{
    return strncmp(provider, "shm", 3) != 0 && strstr(provider, "ofi_rxd") == NULL;
}

static int open_with(struct fabric *fabric, enum fi_wait_obj object)
{
    struct fi_cq_attr attributes = {
        .size = QUEUE_ENTRIES, .format = FI_CQ_FORMAT_MSG, .wait_obj = object};
    return fi_cq_open(fabric->domain, &attributes, &fabric->cq, NULL);
}

int fabric_open_queue(struct fabric *fabric, struct vamp_err *err)
{
    const char *provider = fabric_provider(fabric);
    if (descriptor_is_good(provider) && open_with(fabric, FI_WAIT_FD) == 0) {
        if (fi_control(&fabric->cq->fid, FI_GETWAIT, &fabric->cq_fd) == 0) {
            fabric->wait = FABRIC_WAIT_FD;
            return 0;
        }
        (void)fi_close(&fabric->cq->fid);
        fabric->cq = NULL;
    }
    if (blocking_read_is_good(provider) && open_with(fabric, FI_WAIT_UNSPEC) == 0) {
        fabric->wait = FABRIC_WAIT_SREAD;
        return 0;
    }
    int result = open_with(fabric, FI_WAIT_NONE);
    if (result != 0) {
        return vamp_err_set(err, result, "open the completion queue: %s", fi_strerror(-result));
    }
    fabric->wait = FABRIC_WAIT_TIMED;
    fabric->nap_ns = NAP_SHORTEST_NS;
    return 0;
}

static void sleep_on(struct pollfd *descriptors, nfds_t count, int64_t timeout_ns)
{
    struct timespec timeout = {.tv_sec = timeout_ns / VAMP_NS_PER_SECOND,
                               .tv_nsec = timeout_ns % VAMP_NS_PER_SECOND};
    (void)ppoll(descriptors, count, &timeout, NULL); /* an early return is allowed */
}

/* False: there is something to read already; the normal answer under load. */
static bool may_sleep(struct fabric *fabric)
{
    struct fid *fid = &fabric->cq->fid;
    return fi_trywait(fabric->fabric, &fid, 1) == 0;
}

static void wait_on_descriptors(struct fabric *fabric, struct fabric *reader, int64_t timeout_ns)
{
    if (!may_sleep(fabric) || (reader != NULL && !may_sleep(reader))) {
        return;
    }
    struct pollfd descriptors[] = {
        {.fd = fabric->cq_fd, .events = POLLIN},
        {.fd = fabric->wake_fd, .events = POLLIN},
        {.fd = reader != NULL ? reader->cq_fd : -1, .events = POLLIN},
    };
    sleep_on(descriptors, 3, timeout_ns);
}

static void wait_in_naps(struct fabric *fabric, struct fabric *reader, int64_t timeout_ns)
{
    bool busy = atomic_exchange(&fabric->busy, false);
    if (reader != NULL) {
        busy = atomic_exchange(&reader->busy, false) || busy;
    }
    if (busy) {
        fabric->nap_ns = NAP_SHORTEST_NS;
    } else if (fabric->nap_ns < NAP_LONGEST_NS) {
        fabric->nap_ns += fabric->nap_ns / 8;
    }
    struct pollfd descriptor = {.fd = fabric->wake_fd, .events = POLLIN};
    sleep_on(&descriptor, 1, timeout_ns < fabric->nap_ns ? timeout_ns : fabric->nap_ns);
}

/* Blocks on one queue and polls the other one often. */
static void wait_in_queue(struct fabric *fabric, const struct fabric *reader, int64_t timeout_ns)
{
    int timeout_ms = reader != NULL ? 1 : (int)((timeout_ns + 999999) / 1000000);
    struct fi_cq_msg_entry none;
    (void)fi_cq_sread(fabric->cq, &none, 0, NULL, timeout_ms); /* takes nothing */
}

static void take_wake(struct fabric *fabric)
{
    if (atomic_exchange(&fabric->wake_pending, false)) {
        uint64_t count;
        (void)!read(fabric->wake_fd, &count, sizeof count); /* empty is fine */
    }
}

void fabric_wait(struct fabric *fabric, struct fabric *reader, int64_t timeout_ns)
{
    if (timeout_ns > 0 && !atomic_load(&fabric->wake_pending)) {
        switch (fabric->wait) {
        case FABRIC_WAIT_FD:
            wait_on_descriptors(fabric, reader, timeout_ns);
            break;
        case FABRIC_WAIT_SREAD:
            wait_in_queue(fabric, reader, timeout_ns);
            break;
        case FABRIC_WAIT_TIMED:
            wait_in_naps(fabric, reader, timeout_ns);
            break;
        }
    }
    take_wake(fabric);
}

void fabric_gather(struct fabric *fabric)
{
    if (!atomic_load(&fabric->wake_pending)) {
        struct pollfd descriptor = {.fd = fabric->wake_fd, .events = POLLIN};
        sleep_on(&descriptor, 1, GATHER_NS);
    }
    take_wake(fabric);
}

void fabric_wake(struct fabric *fabric)
{
    if (atomic_exchange(&fabric->wake_pending, true)) {
        return;
    }
    uint64_t one = 1;
    (void)!write(fabric->wake_fd, &one, sizeof one); /* full means: already readable */
    if (fabric->wait == FABRIC_WAIT_SREAD) {
        (void)fi_cq_signal(fabric->cq);
    }
}
