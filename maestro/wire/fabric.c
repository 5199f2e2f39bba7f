/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/wire/fabric.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "maestro/wire/provider.h"
#include "vampire/core/clock.h"

#define ENDPOINT_TRIES 16U
/* All operations that can be in flight fit: an overrun of the queue would be fatal. */
#define QUEUE_ENTRIES (FABRIC_RECEIVES + FABRIC_SENDS + FABRIC_READS + 64)
/* Sleeps of timed polling: short after traffic, to keep round trips short; long when idle. */
#define NAP_SHORTEST_NS INT64_C(20000)
#define NAP_LONGEST_NS INT64_C(2000000)
/* The kernel adds its 50 us: half of the pool manager's window at a message every 4 us. */
#define GATHER_NS INT64_C(20000)

/* Some providers do not bound the messages for which no receive is posted; more posted receives
 * help there. With this many, tcp;ofi_rxm without pass-through was measured to stay small. */
#define FABRIC_RECEIVES 256
#define FABRIC_SENDS 256
#define FABRIC_READS 64

enum wait_kind { WAIT_FD, WAIT_SREAD, WAIT_TIMED };

enum op_kind { OP_RECEIVE, OP_SEND, OP_READ };

/* One operation libfabric may hold a pointer to: a message, or a read. libfabric's own part comes
 * first. */
struct fabric_message {
    struct fi_context2 context;
    enum op_kind kind;
    uint64_t tag;
    struct fabric_message *next; /* free list */
    uint8_t *bytes;              /* of a message, FABRIC_MESSAGE_BYTES */
};

struct fabric {
    char bind[FABRIC_ADDRESS_BYTES];
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *endpoint;
    enum wait_kind wait;
    int cq_fd;
    int wake_fd;
    atomic_bool wake_pending;
    int64_t nap_ns;   /* timed polling: the next sleep; used by fabric_poll and fabric_wait */
    atomic_bool busy; /* something completed since the last wait */
    uint8_t address[FABRIC_ADDRESS_BYTES];
    size_t address_length;
    uint8_t *memory; /* of all message buffers */
    struct fabric_message receives[FABRIC_RECEIVES], sends[FABRIC_SENDS], reads[FABRIC_READS];
    struct fabric_message *free_sends, *free_reads;
    struct fabric_message *unposted; /* receive buffers the provider did not take yet */
};

/* ---- operations */

static struct fabric_message *take(struct fabric_message **list)
{
    struct fabric_message *op = *list;
    if (op != NULL) {
        *list = op->next;
        op->next = NULL;
    }
    return op;
}

static void give(struct fabric_message **list, struct fabric_message *op)
{
    op->next = *list;
    *list = op;
}

/* Maps the different codes with which libfabric reports "not now" to one. */
static int plain_result(ssize_t result)
{
    if (result == 0) {
        return 0;
    }
    if (result == -FI_EAGAIN || result == -FI_ENOMEM) {
        return -EAGAIN;
    }
    return result < 0 && result > -4096 ? (int)result : -EIO;
}

static int failed(struct vamp_err *err, int result, const char *what)
{
    return vamp_err_set(err, result < 0 && result > -4096 ? result : -EIO, "%s: %s", what,
                        fi_strerror(-result));
}

static int post_receives(struct fabric *fabric)
{
    while (fabric->unposted != NULL) {
        struct fabric_message *op = fabric->unposted;
        int result = plain_result(fi_recv(fabric->endpoint, op->bytes, FABRIC_MESSAGE_BYTES, NULL,
                                          FI_ADDR_UNSPEC, &op->context));
        if (result != 0) {
            return result == -EAGAIN ? 0 : result; /* tried again at the next poll */
        }
        (void)take(&fabric->unposted);
    }
    return 0;
}

/* ---- opening */

const char *fabric_provider(const struct fabric *fabric)
{
    return fabric->info->fabric_attr->prov_name;
}

static int open_with(struct fabric *fabric, enum fi_wait_obj object)
{
    struct fi_cq_attr attributes = {
        .size = QUEUE_ENTRIES, .format = FI_CQ_FORMAT_MSG, .wait_obj = object};
    return fi_cq_open(fabric->domain, &attributes, &fabric->cq, NULL);
}

/* Opens the completion queue with the best way to wait that the provider supports well: plain tcp
 * keeps its descriptor readable forever, shm and rxd spin inside a blocking read. */
static int open_queue(struct fabric *fabric, struct vamp_err *err)
{
    const char *provider = fabric_provider(fabric);
    const bool shm = strncmp(provider, "shm", 3) == 0;
    if (!shm && strcmp(provider, "tcp") != 0 && open_with(fabric, FI_WAIT_FD) == 0) {
        if (fi_control(&fabric->cq->fid, FI_GETWAIT, &fabric->cq_fd) == 0) {
            fabric->wait = WAIT_FD;
            return 0;
        }
        (void)fi_close(&fabric->cq->fid);
        fabric->cq = NULL;
    }
    if (!shm && strstr(provider, "ofi_rxd") == NULL && open_with(fabric, FI_WAIT_UNSPEC) == 0) {
        fabric->wait = WAIT_SREAD;
        return 0;
    }
    fabric->wait = WAIT_TIMED;
    fabric->nap_ns = NAP_SHORTEST_NS;
    int result = open_with(fabric, FI_WAIT_NONE);
    return result == 0 ? 0 : failed(err, result, "open the completion queue");
}

static int start_endpoint(struct fabric *fabric, struct vamp_err *err)
{
    struct fid_ep *endpoint = NULL;
    int result = fi_endpoint(fabric->domain, fabric->info, &endpoint, NULL);
    if (result != 0) {
        return failed(err, result, "open the endpoint");
    }
    result = fi_ep_bind(endpoint, &fabric->av->fid, 0);
    if (result == 0) {
        result = fi_ep_bind(endpoint, &fabric->cq->fid, FI_TRANSMIT | FI_RECV);
    }
    if (result != 0) {
        /* ofi_rxm of libfabric 1.17 crashes when it closes an endpoint without its table and queue,
         * so all of them stay open; the process is about to end. */
        return failed(err, result, "connect the endpoint with its queue");
    }
    result = fi_enable(endpoint);
    if (result != 0) {
        (void)fi_close(&endpoint->fid);
        return failed(err, result, "start the endpoint");
    }
    fabric->endpoint = endpoint;
    return 0;
}

static int open_objects(struct fabric *fabric, struct vamp_err *err)
{
    unsigned tries = 0;
    struct fi_info *info = fabric->info;
    assert(info != NULL);
    int result = fi_fabric(info->fabric_attr, &fabric->fabric, NULL);
    if (result != 0) {
        return failed(err, result, "open the fabric");
    }
    result = fi_domain(fabric->fabric, info, &fabric->domain, NULL);
    if (result != 0) {
        return failed(err, result, "open the domain");
    }
    struct fi_av_attr table = {.type = FI_AV_UNSPEC, .count = 64};
    result = fi_av_open(fabric->domain, &table, &fabric->av, NULL);
    if (result != 0) {
        return failed(err, result, "open the address table");
    }
    result = open_queue(fabric, err);
    if (result != 0) {
        return result;
    }
    /* A killed process leaves its shm file; when its process id is used again, that name is taken.
     * Each try uses the next name. */
    do {
        result = start_endpoint(fabric, err);
    } while (result == -FI_EBUSY && ++tries < ENDPOINT_TRIES);
    if (result != 0) {
        return result;
    }
    fabric->address_length = sizeof fabric->address;
    result = fi_getname(&fabric->endpoint->fid, fabric->address, &fabric->address_length);
    if (result != 0 || fabric->address_length > sizeof fabric->address) {
        return failed(err, result != 0 ? result : -E2BIG, "ask for the endpoint's address");
    }
    return 0;
}

#define BUFFERS_BYTES ((FABRIC_RECEIVES + FABRIC_SENDS) * FABRIC_MESSAGE_BYTES)

/* Makes the operations of an array free, each with its part of the memory; returns the rest. */
static uint8_t *lay_out(struct fabric_message *ops, size_t count, enum op_kind kind,
                        struct fabric_message **list, uint8_t *memory)
{
    for (size_t i = 0; i < count; i++) {
        ops[i] = (struct fabric_message){.kind = kind, .bytes = memory};
        memory += memory != NULL ? FABRIC_MESSAGE_BYTES : 0;
        give(list, &ops[i]);
    }
    return memory;
}

static int lay_out_buffers(struct fabric *fabric, struct vamp_err *err)
{
    /* Pages of buffers that are never used are never touched. */
    void *memory = mmap(NULL, BUFFERS_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return vamp_err_set_errno(err, errno, "reserve %zu bytes for messages", BUFFERS_BYTES);
    }
    fabric->memory = memory;
    uint8_t *rest =
        lay_out(fabric->receives, FABRIC_RECEIVES, OP_RECEIVE, &fabric->unposted, memory);
    (void)lay_out(fabric->sends, FABRIC_SENDS, OP_SEND, &fabric->free_sends, rest);
    return 0;
}

/* `like` NULL: any endpoint of the provider; else a reader of the same kind. */
static int open_all(struct fabric *fabric, const struct fabric_kind *kind,
                    const struct fabric *like, struct vamp_err *err)
{
    fabric->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fabric->wake_fd < 0) {
        return vamp_err_set_errno(err, errno, "create an event descriptor");
    }
    (void)lay_out(fabric->reads, FABRIC_READS, OP_READ, &fabric->free_reads, NULL);
    int result = 0;
    if (like != NULL) {
        fabric->info = fi_dupinfo(like->info); /* looking for it again takes some milliseconds */
        result = fabric->info != NULL ? 0 : vamp_err_set_errno(err, ENOMEM, "open an endpoint");
        struct sockaddr *own = fabric->info != NULL ? fabric->info->src_addr : NULL;
        if (own != NULL && fabric->info->addr_format == FI_SOCKADDR_IN) { /* any port */
            ((struct sockaddr_in *)(void *)own)->sin_port = 0;
        } else if (own != NULL && fabric->info->addr_format == FI_SOCKADDR_IN6) {
            ((struct sockaddr_in6 *)(void *)own)->sin6_port = 0;
        }
    } else {
        result = lay_out_buffers(fabric, err);
        result = result == 0 ? provider_find(kind, fabric->bind, &fabric->info, err) : result;
    }
    if (result != 0) {
        return result;
    }
    result = open_objects(fabric, err);
    if (result == 0) {
        result = post_receives(fabric);
        if (result != 0) {
            (void)failed(err, result, "post receive buffers");
        }
    }
    if (result != 0) {
        (void)vamp_err_wrap(err, "libfabric provider \"%s\" on the address %s%s", kind->provider,
                            fabric->bind,
                            result == -EADDRNOTAVAIL ? ", which is none of this host's" : "");
    }
    return result;
}

static int open_one(const struct fabric_kind *kind, const char *bind, const struct fabric *like,
                    struct fabric **ret_fabric, struct vamp_err *err)
{
    struct fabric *fabric = calloc(1, sizeof *fabric);
    if (fabric == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "open libfabric provider \"%s\"", kind->provider);
    }
    fabric->wake_fd = -1;
    fabric->cq_fd = -1;
    int length = snprintf(fabric->bind, sizeof fabric->bind, "%s", bind);
    int result = length < 0 || (size_t)length >= sizeof fabric->bind
                     ? vamp_err_set(err, -EINVAL, "the address to listen on is too long")
                     : open_all(fabric, kind, like, err);
    if (result != 0) {
        fabric_close(fabric);
        return result;
    }
    *ret_fabric = fabric;
    return 0;
}

int fabric_open(const struct fabric_kind *kind, const char *bind, struct fabric **ret_fabric,
                struct vamp_err *err)
{
    provider_prepare();
    if (bind == NULL || bind[0] == '\0') {
        bind = getenv(FABRIC_ENV_BIND);
    }
    if (bind == NULL || bind[0] == '\0') {
        bind = FABRIC_BIND_PRESET;
    }
    return open_one(kind, bind, NULL, ret_fabric, err);
}

int fabric_open_reader(const struct fabric *like, struct fabric **ret_fabric, struct vamp_err *err)
{
    const struct fabric_kind kind = {fabric_provider(like), fabric_protocol(like)};
    return open_one(&kind, like->bind, like, ret_fabric, err);
}

void fabric_close(struct fabric *fabric)
{
    if (fabric == NULL) {
        return;
    }
    /* Each begins with its fid. */
    void *const objects[] = {fabric->endpoint, fabric->cq, fabric->av, fabric->domain,
                             fabric->fabric};
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) {
        if (objects[i] != NULL) {
            (void)fi_close(objects[i]); /* a failure here cannot be handled */
        }
    }
    fi_freeinfo(fabric->info);
    if (fabric->memory != NULL) {
        (void)munmap(fabric->memory, BUFFERS_BYTES);
    }
    if (fabric->wake_fd >= 0) {
        (void)close(fabric->wake_fd);
    }
    free(fabric);
}

uint32_t fabric_protocol(const struct fabric *fabric)
{
    return fabric->info->ep_attr->protocol;
}

const uint8_t *fabric_address(const struct fabric *fabric, size_t *ret_length)
{
    *ret_length = fabric->address_length;
    return fabric->address;
}

/* ---- peers */

int fabric_peer_add(struct fabric *fabric, const uint8_t *address, size_t length,
                    fabric_peer *ret_peer, struct vamp_err *err)
{
    /* libfabric takes an address without its length, as long as those of its own kind. */
    uint8_t whole[FABRIC_ADDRESS_BYTES + 1] = {0};
    if (length == 0 || length > FABRIC_ADDRESS_BYTES) {
        return vamp_err_set(err, -EINVAL, "a peer's address of %zu bytes cannot be right", length);
    }
    if (fabric->info->addr_format != FI_ADDR_STR && length != fabric->address_length) {
        return vamp_err_set(err, -EINVAL, "a peer's address has %zu bytes instead of %zu", length,
                            fabric->address_length);
    }
    memcpy(whole, address, length);
    fi_addr_t peer = FI_ADDR_UNSPEC;
    int inserted = fi_av_insert(fabric->av, whole, 1, &peer, 0, NULL);
    if (inserted != 1 || peer == FI_ADDR_UNSPEC) {
        return vamp_err_set(err, -EINVAL, "libfabric does not accept a peer's address: %s",
                            inserted < 0 ? fi_strerror(-inserted) : "not of its kind");
    }
    *ret_peer = peer;
    return 0;
}

void fabric_peer_remove(struct fabric *fabric, fabric_peer peer)
{
    fi_addr_t address = peer;
    (void)fi_av_remove(fabric->av, &address, 1, 0);
}

void fabric_peer_bury(const struct fabric *fabric, const uint8_t *address, size_t length)
{
    static const char head[] = "fi_shm://";
    char name[64];
    const size_t skip = sizeof head - 2; /* the last slash begins the name of the segment */
    if (fabric->info->addr_format != FI_ADDR_STR || length <= skip + 1 ||
        length - skip >= sizeof name || memcmp(address, head, sizeof head - 1) != 0) {
        return;
    }
    memcpy(name, address + skip, length - skip);
    name[length - skip] = '\0';
    long process = strtol(name + 1, NULL, 10);
    if (process > 0 && process <= INT_MAX && strchr(name + 1, '/') == NULL &&
        kill((pid_t)process, 0) != 0 && errno == ESRCH) {
        (void)shm_unlink(name);
    }
}

/* ---- operations */

struct fabric_message *fabric_message_get(struct fabric *fabric)
{
    return take(&fabric->free_sends);
}

void fabric_message_put(struct fabric *fabric, struct fabric_message *message)
{
    give(&fabric->free_sends, message);
}

uint8_t *fabric_message_bytes(struct fabric_message *message)
{
    return message->bytes;
}

int fabric_send(struct fabric *fabric, fabric_peer peer, struct fabric_message *message,
                size_t offset, size_t length, uint64_t tag)
{
    message->tag = tag;
    return plain_result(
        fi_send(fabric->endpoint, message->bytes + offset, length, NULL, peer, &message->context));
}

/* ---- remote memory */

int fabric_register(struct fabric *fabric, void *address, size_t bytes,
                    struct fabric_memory *ret_memory, struct vamp_err *err)
{
    uint64_t key = 0;
    if (getrandom(&key, sizeof key, 0) != (ssize_t)sizeof key) {
        return vamp_err_set_errno(err, errno, "get a random number");
    }
    size_t key_bytes = fabric->info->domain_attr->mr_key_size;
    if (key_bytes > 0 && key_bytes < sizeof key) {
        key &= (UINT64_C(1) << (8 * key_bytes)) - 1;
    }
    struct fid_mr *registration = NULL;
    int result =
        fi_mr_reg(fabric->domain, address, bytes, FI_REMOTE_READ, 0, key, 0, &registration, NULL);
    if (result != 0) {
        return vamp_err_set(err, result, "register %zu bytes of memory for remote reads: %s", bytes,
                            fi_strerror(-result));
    }
    bool virtual = (fabric->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    *ret_memory = (struct fabric_memory){.address = virtual ? (uint64_t)(uintptr_t)address : 0,
                                         .key = fi_mr_key(registration),
                                         .registration = registration};
    return 0;
}

void fabric_unregister(struct fabric *fabric, struct fabric_memory *memory)
{
    (void)fabric;
    if (memory->registration != NULL) {
        struct fid_mr *registration = memory->registration;
        (void)fi_close(&registration->fid);
        memory->registration = NULL;
    }
}

int fabric_read(struct fabric *fabric, fabric_peer peer, uint64_t address, uint64_t key,
                void *destination, size_t bytes, uint64_t tag)
{
    struct fabric_message *op = take(&fabric->free_reads);
    if (op == NULL) {
        return -EAGAIN;
    }
    op->tag = tag;
    int result = plain_result(
        fi_read(fabric->endpoint, destination, bytes, NULL, peer, address, key, &op->context));
    if (result != 0) {
        give(&fabric->free_reads, op);
    }
    return result;
}

/* ---- completions */

/* Turns a completion into an event and gives the operation back; false: nothing to report. The
 * operation's context, which libfabric returns, is its first member. */
static bool complete(struct fabric *fabric, void *context, int status, size_t length,
                     struct fabric_event *event)
{
    struct fabric_message *op = context;
    *event = (struct fabric_event){.status = status, .tag = op->tag};
    switch (op->kind) {
    case OP_RECEIVE:
        if (status != 0) { /* a message cut short, or one of a connection that broke */
            give(&fabric->unposted, op);
            return false;
        }
        event->kind = FABRIC_RECEIVED;
        event->bytes = op->bytes;
        event->length = length;
        event->buffer = op;
        return true;
    case OP_SEND:
        event->kind = FABRIC_SENT;
        give(&fabric->free_sends, op);
        return true;
    case OP_READ:
        event->kind = FABRIC_READ;
        give(&fabric->free_reads, op);
        return true;
    }
    return false;
}

int fabric_poll(struct fabric *fabric, struct fabric_event events[FABRIC_EVENTS])
{
    struct fi_cq_msg_entry entries[FABRIC_EVENTS];
    int result = post_receives(fabric);
    if (result != 0) {
        return result;
    }
    ssize_t got = fi_cq_read(fabric->cq, entries, FABRIC_EVENTS);
    if (got == -FI_EAGAIN) {
        return 0;
    }
    atomic_store(&fabric->busy, true);
    if (got == -FI_EAVAIL) { /* a failed completion is at the head of the queue */
        struct fi_cq_err_entry entry = {0};
        got = fi_cq_readerr(fabric->cq, &entry, 0);
        int status = entry.err > 0 && entry.err < 4096 ? -entry.err : -EIO;
        return got == 1 && entry.op_context != NULL &&
               complete(fabric, entry.op_context, status, 0, events);
    }
    if (got < 0) {
        return (int)got;
    }
    int count = 0;
    for (ssize_t i = 0; i < got; i++) {
        count += entries[i].op_context != NULL &&
                 complete(fabric, entries[i].op_context, 0, entries[i].len, &events[count]);
    }
    return count;
}

void fabric_release(struct fabric *fabric, const struct fabric_event *event)
{
    give(&fabric->unposted, event->buffer);
}

/* ---- waiting: without spinning, in the best way the provider offers: its descriptor, a blocking
 * read of the queue, or sleeps between polls */

static void sleep_on(struct pollfd *descriptors, nfds_t count, int64_t timeout_ns)
{
    const struct timespec timeout = vamp_timespec(timeout_ns);
    (void)ppoll(descriptors, count, &timeout, NULL); /* an early return is allowed */
}

/* Sleeps until it is woken. */
static void nap(struct fabric *fabric, int64_t ns)
{
    struct pollfd descriptor = {.fd = fabric->wake_fd, .events = POLLIN};
    sleep_on(&descriptor, 1, ns);
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
    nap(fabric, timeout_ns < fabric->nap_ns ? timeout_ns : fabric->nap_ns);
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
        case WAIT_FD:
            wait_on_descriptors(fabric, reader, timeout_ns);
            break;
        case WAIT_SREAD: { /* blocks on one queue, and polls the other one often */
            int timeout_ms = reader != NULL ? 1 : (int)((timeout_ns + 999999) / 1000000);
            struct fi_cq_msg_entry none;
            (void)fi_cq_sread(fabric->cq, &none, 0, NULL, timeout_ms); /* takes nothing */
            break;
        }
        case WAIT_TIMED:
            wait_in_naps(fabric, reader, timeout_ns);
            break;
        }
    }
    take_wake(fabric);
}

void fabric_gather(struct fabric *fabric)
{
    if (!atomic_load(&fabric->wake_pending)) {
        nap(fabric, GATHER_NS);
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
    if (fabric->wait == WAIT_SREAD) {
        (void)fi_cq_signal(fabric->cq);
    }
}

/* ---- whether a process listens */

/*
 * Probes whether a process listens at a peer's address. tcp;ofi_rxm connects again, forever, to a
 * peer whose connection broke, and reports only that it cannot send now. The kernel of the peer's
 * host is more precise: it refuses a connection at once where no process listens any more, and
 * accepts one for a process that is only stopped.
 */
/* A host that does not answer proves nothing; do not delay the caller for it. */
#define ANSWER_MS 2

bool fabric_peer_refuses(const struct fabric *fabric, const uint8_t *address, size_t length)
{
    const uint32_t format = fabric->info->addr_format;
    struct sockaddr_storage to = {0};
    if (strncmp(fabric_provider(fabric), "tcp", 3) != 0 || length != fabric->address_length ||
        length > sizeof to ||
        (format != FI_SOCKADDR && format != FI_SOCKADDR_IN && format != FI_SOCKADDR_IN6)) {
        return false;
    }
    memcpy(&to, address, length);
    int end = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (end < 0) {
        return false;
    }
    int result = connect(end, (const struct sockaddr *)&to, (socklen_t)length) == 0 ? 0 : errno;
    struct pollfd answer = {.fd = end, .events = POLLOUT};
    if (result == EINPROGRESS && poll(&answer, 1, ANSWER_MS) == 1) {
        socklen_t bytes = sizeof result;
        (void)getsockopt(end, SOL_SOCKET, SO_ERROR, &result, &bytes);
    }
    (void)close(end);
    return result == ECONNREFUSED;
}
