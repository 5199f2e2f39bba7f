/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bare libfabric, the baseline of what goes over the wire: how many messages of so many bytes one
 * process can take from another when their content is not read, and what an endpoint costs that
 * only waits.
 *
 *   wire receive PROVIDER MESSAGES BYTES    prints one JSON object
 *   wire send PROVIDER MESSAGES BYTES       sends at a pace, so that its instructions can be
 * counted wire idle PROVIDER                      prints "ready", waits until its standard input
 * ends
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POSTED 512
#define TAKEN 64
#define BUFFER_BYTES 16384
#define GATHER_NS 200000 /* an empty queue is left alone so long: cheaper than asking at once */
#define ADDRESS_BYTES 256

struct endpoint {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *received, *sent;
    struct fid_ep *ep;
    uint8_t *buffers;
};

static void check(long result, const char *what)
{
    if (result < 0) {
        (void)fprintf(stderr, "wire: %s: %s\n", what, fi_strerror((int)-result));
        exit(1);
    }
}

static void post(struct endpoint *endpoint, size_t number)
{
    uint8_t *buffer = endpoint->buffers + number * BUFFER_BYTES;
    check(fi_recv(endpoint->ep, buffer, BUFFER_BYTES, NULL, FI_ADDR_UNSPEC, buffer), "fi_recv");
}

static void open_queues(struct endpoint *endpoint)
{
    struct fi_cq_attr attributes = {.format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_NONE};
    struct fi_av_attr addresses = {.type = FI_AV_UNSPEC};
    check(fi_av_open(endpoint->domain, &addresses, &endpoint->av, NULL), "fi_av_open");
    check(fi_cq_open(endpoint->domain, &attributes, &endpoint->received, NULL), "fi_cq_open");
    check(fi_cq_open(endpoint->domain, &attributes, &endpoint->sent, NULL), "fi_cq_open");
    check(fi_endpoint(endpoint->domain, endpoint->info, &endpoint->ep, NULL), "fi_endpoint");
    check(fi_ep_bind(endpoint->ep, &endpoint->av->fid, 0), "bind the addresses");
    check(fi_ep_bind(endpoint->ep, &endpoint->received->fid, FI_RECV), "bind a queue");
    check(fi_ep_bind(endpoint->ep, &endpoint->sent->fid, FI_TRANSMIT), "bind a queue");
    check(fi_enable(endpoint->ep), "fi_enable");
}

static void open_endpoint(struct endpoint *endpoint, const char *provider)
{
    struct fi_info *hints = fi_allocinfo();
    if (hints == NULL) {
        (void)fputs("wire: no memory\n", stderr);
        exit(1);
    }
    hints->caps = FI_MSG;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup(provider);
    const char *node = strcmp(provider, "shm") == 0 ? NULL : "127.0.0.1";
    check(fi_getinfo(FI_VERSION(1, 17), node, NULL, node == NULL ? 0 : FI_SOURCE, hints,
                     &endpoint->info),
          provider);
    fi_freeinfo(hints);
    check(fi_fabric(endpoint->info->fabric_attr, &endpoint->fabric, NULL), "fi_fabric");
    check(fi_domain(endpoint->fabric, endpoint->info, &endpoint->domain, NULL), "fi_domain");
    open_queues(endpoint);
    endpoint->buffers = calloc(POSTED, BUFFER_BYTES);
    if (endpoint->buffers == NULL) {
        check(-FI_ENOMEM, "buffers");
    }
}

static double clock_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void gather(void)
{
    const struct timespec pause = {.tv_nsec = GATHER_NS};
    (void)nanosleep(&pause, NULL);
}

/* Whatever is in the queue; the number taken. */
static size_t take(struct fid_cq *queue, struct fi_cq_msg_entry *entries)
{
    const ssize_t count = fi_cq_read(queue, entries, TAKEN);
    if (count == -FI_EAGAIN) {
        return 0;
    }
    check(count, "fi_cq_read");
    return (size_t)count;
}

/* ------------------------------------------------------------------ the sender, a child */

/* Waits until the receiver has written its address, and opens an endpoint that can send there. */
static fi_addr_t open_sender(struct endpoint *own, const char *provider, int address)
{
    uint8_t name[ADDRESS_BYTES];
    fi_addr_t peer;
    if (read(address, name, sizeof name) != (ssize_t)sizeof name) {
        _exit(1);
    }
    open_endpoint(own, provider);
    if (fi_av_insert(own->av, name, 1, &peer, 0, NULL) != 1) {
        check(-FI_EADDRNOTAVAIL, "fi_av_insert");
    }
    return peer;
}

static _Noreturn void send_all(const char *provider, int address, uint64_t messages, size_t bytes)
{
    struct endpoint own = {.info = NULL};
    const fi_addr_t peer = open_sender(&own, provider, address);
    struct fi_cq_msg_entry entries[TAKEN];
    uint64_t posted = 0;
    uint64_t completed = 0;
    while (completed < messages) {
        if (posted < messages && posted - completed < POSTED / 2) {
            const ssize_t result = fi_send(own.ep, own.buffers, bytes, NULL, peer, NULL);
            if (result == 0) {
                posted++;
                continue;
            }
            if (result != -FI_EAGAIN) {
                check(result, "fi_send");
            }
        }
        completed += take(own.sent, entries);
        (void)fi_cq_read(own.received, entries, 0); /* drives the provider's connections */
    }
    /* Complete is not delivered: stay until the receiver has all of it and ends us. */
    for (;;) {
        (void)take(own.sent, entries);
        (void)fi_cq_read(own.received, entries, 0);
        gather();
    }
}

/* ------------------------------------------------------------------ the receiver */

/* Opens an endpoint with posted buffers and writes its address. */
static void open_receiver(struct endpoint *own, const char *provider, int address)
{
    open_endpoint(own, provider);
    for (size_t i = 0; i < POSTED; i++) {
        post(own, i);
    }
    uint8_t name[ADDRESS_BYTES] = {0};
    size_t length = sizeof name;
    check(fi_getname(&own->ep->fid, name, &length), "fi_getname");
    if (write(address, name, sizeof name) != (ssize_t)sizeof name) {
        _exit(1);
    }
}

/* The other end, a process that ends with this one; 0 in it. Endpoints do not survive a fork, so
 * each opens its own afterwards. `address` is a pipe for the receiver's. */
static pid_t fork_other_end(int address[2])
{
    check(pipe(address) != 0 ? -errno : 0, "pipe");
    const pid_t other = fork();
    check(other < 0 ? -errno : 0, "fork");
    if (other == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    return other;
}

static int receive_all(const char *provider, uint64_t messages, size_t bytes)
{
    int address[2];
    const pid_t sender = fork_other_end(address);
    if (sender == 0) {
        send_all(provider, address[0], messages, bytes);
    }
    struct endpoint own = {.info = NULL};
    open_receiver(&own, provider, address[1]);
    struct fi_cq_msg_entry entries[TAKEN];
    uint64_t received = 0;
    uint64_t received_bytes = 0;
    double began = 0;
    double began_processor = 0;
    while (received < messages) {
        const size_t count = take(own.received, entries);
        if (count == 0) {
            gather();
            continue;
        }
        if (received == 0) {
            began = clock_ns(CLOCK_MONOTONIC);
            began_processor = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        }
        for (size_t i = 0; i < count; i++) {
            received_bytes += entries[i].len;
            post(&own, (size_t)((uint8_t *)entries[i].op_context - own.buffers) / BUFFER_BYTES);
        }
        received += count;
    }
    const double elapsed = clock_ns(CLOCK_MONOTONIC) - began;
    const double processor = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_processor;
    (void)printf("{\"messages\": %" PRIu64 ", \"bytes\": %" PRIu64
                 ", \"seconds\": %.6f, \"cpu_seconds\": %.6f}\n",
                 received, received_bytes, elapsed / 1e9, processor / 1e9);
    (void)kill(sender, SIGKILL);
    (void)waitpid(sender, NULL, 0);
    return 0;
}

/* ------------------------------------------------------------------ sending at a pace */

static _Noreturn void receive_for_ever(const char *provider, int address)
{
    struct endpoint own = {.info = NULL};
    struct fi_cq_msg_entry entries[TAKEN];
    open_receiver(&own, provider, address);
    for (;;) {
        const size_t count = take(own.received, entries);
        for (size_t i = 0; i < count; i++) {
            post(&own, (size_t)((uint8_t *)entries[i].op_context - own.buffers) / BUFFER_BYTES);
        }
        gather();
    }
}

/* A message is sent, and looked after once it has left: one call each, no waiting in a loop. */
static int send_at_a_pace(const char *provider, uint64_t messages, size_t bytes)
{
    int address[2];
    const pid_t receiver = fork_other_end(address);
    if (receiver == 0) {
        receive_for_ever(provider, address[1]);
    }
    struct endpoint own = {.info = NULL};
    struct fi_cq_msg_entry entries[TAKEN];
    const fi_addr_t peer = open_sender(&own, provider, address[0]);
    uint64_t posted = 0;
    uint64_t completed = 0;
    while (completed < messages) {
        if (posted < messages) {
            const ssize_t result = fi_send(own.ep, own.buffers, bytes, NULL, peer, NULL);
            check(result == -FI_EAGAIN ? 0 : result, "fi_send"); /* still connecting */
            posted += result == 0 ? 1 : 0;
        }
        gather();
        completed += take(own.sent, entries);
    }
    free(own.buffers);
    (void)kill(receiver, SIGKILL);
    (void)waitpid(receiver, NULL, 0);
    return 0;
}

static int idle(const char *provider)
{
    struct endpoint own = {.info = NULL};
    open_endpoint(&own, provider);
    for (size_t i = 0; i < POSTED; i++) {
        post(&own, i);
    }
    (void)puts("ready");
    (void)fflush(stdout);
    while (getchar() != EOF) {
    }
    return 0;
}

int main(int count, char **arguments)
{
    if (count == 5) {
        const size_t bytes = strtoul(arguments[4], NULL, 10);
        const uint64_t messages = strtoull(arguments[3], NULL, 10);
        if (bytes > 0 && bytes <= BUFFER_BYTES && strcmp(arguments[1], "receive") == 0) {
            return receive_all(arguments[2], messages, bytes);
        }
        if (bytes > 0 && bytes <= BUFFER_BYTES && strcmp(arguments[1], "send") == 0) {
            return send_at_a_pace(arguments[2], messages, bytes);
        }
    }
    if (count == 3 && strcmp(arguments[1], "idle") == 0) {
        return idle(arguments[2]);
    }
    (void)fputs("usage: wire receive PROVIDER MESSAGES BYTES\n       wire send PROVIDER MESSAGES "
                "BYTES\n       wire idle PROVIDER\n",
                stderr);
    return 2;
}
