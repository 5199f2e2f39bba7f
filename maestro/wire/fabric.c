/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/wire/fabric.h"

#include <assert.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "maestro/wire/secure.h"
#include "maestro/wire/stream.h"
#include "vampire/core/values.h"

#define LIBRARY "libfabric.so.1"
#define API_VERSION FI_VERSION(1, 17)
#define ALLOWED FABRIC_PROVIDERS
#define ENDPOINT_TRIES 16U
/* Sufficient for all operations in flight: a queue overrun would be fatal. */
#define QUEUE_ENTRIES (FABRIC_READS + 64)
/* Sleep times of timed polling: short after traffic, to keep round trips short; long when idle. */
#define NAP_SHORTEST_NS INT64_C(20000)
#define NAP_LONGEST_NS INT64_C(2000000)
#define FABRIC_READS 64

/* A read, to which libfabric may hold a pointer. The part used by libfabric must come first. */
struct fabric_read {
    struct fi_context2 context;
    uint64_t tag;
    struct fabric_read *next; /* free list */
};

struct fabric {
    struct carrier carrier;
    char bind[CARRIER_ADDRESS_BYTES];
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *endpoint;
    int cq_fd; /* -1: the queue has to be polled */
    int64_t nap_ns;
    uint8_t address[CARRIER_ADDRESS_BYTES];
    size_t address_length;
    struct fabric_read reads[FABRIC_READS], *free_reads;
};

/* ---- providers */

const char *fabric_provider_choice(const char *wanted)
{
    const char *const sources[] = {wanted, getenv("MSTRO_OFI_PROVIDER"), getenv("FI_PROVIDER")};
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        if (sources[i] != NULL && sources[i][0] != '\0') {
            return sources[i];
        }
    }
    return "";
}

bool fabric_provider_is_known(const char *name)
{
    static const char *const known[] = {"cxi", "efa", "opx", "verbs", "shm", "tcp", DOOR_PROVIDER};
    const size_t length = strcspn(name, ";");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strlen(known[i]) == length && strncmp(name, known[i], length) == 0) {
            return true;
        }
    }
    return false;
}

/* Loads libfabric; must precede any other use of it. Limits the memory reserved by ofi_rxm, 70 MB
 * for each endpoint; values set by the user are kept. */
static int provider_load(struct vamp_err *err)
{
    static const char *const settings[][2] = {
        {"FI_OFI_RXM_USE_SRX", "1"},         {"FI_OFI_RXM_MSG_RX_SIZE", "256"},
        {"FI_OFI_RXM_RX_SIZE", "512"},       {"FI_OFI_RXM_TX_SIZE", "512"},
        {"FI_OFI_RXM_ENABLE_PASSTHRU", "1"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        (void)setenv(settings[i][0], settings[i][1], 0);
    }
    if (dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE) == NULL) {
        return vamp_err_set(err, -ENOSYS,
                            LIBRARY
                            " cannot be loaded (%s); install it (package libfabric1), or transfer "
                            "payloads without it: MSTRO_OFI_PROVIDER=stream",
                            dlerror());
    }
    return 0;
}

typedef void provider_function(void);

/* Returns a function exported by libfabric (others are inline in its headers); only after
 * provider_load. */
static provider_function *provider_find_function(const char *name)
{
    const union {
        void *symbol;
        provider_function *function;
    } found = {dlsym(RTLD_DEFAULT, name)};
    assert(found.function != NULL); /* all versions with this library name have these functions */
    return found.function;
}

#define PROVIDER_FUNCTION(name) (*(__typeof__(&(name)))provider_find_function(#name))
#define fi_getinfo PROVIDER_FUNCTION(fi_getinfo)
#define fi_dupinfo PROVIDER_FUNCTION(fi_dupinfo)
#define fi_freeinfo PROVIDER_FUNCTION(fi_freeinfo)
#define fi_fabric PROVIDER_FUNCTION(fi_fabric)
#define fi_strerror PROVIDER_FUNCTION(fi_strerror)

/* The shm provider installs handlers for these signals as soon as libfabric searches for providers.
 * The program's own handlers are restored; for signals without one, shm's handlers stay, which
 * remove its files. */
static const int taken_signals[] = {SIGBUS, SIGSEGV, SIGTERM, SIGINT};
#define TAKEN_SIGNALS (sizeof taken_signals / sizeof taken_signals[0])

static int get_info(const struct fi_info *hints, const char *bind, struct fi_info **ret_info)
{
    char text[CARRIER_ADDRESS_BYTES];
    const char *node = NULL;
    if (bind != NULL) { /* any port: the port in `bind` is the pool manager's */
        (void)snprintf(text, sizeof text, "%s", bind);
        (void)stream_take_port(text, &node);
    }
    struct sigaction before[TAKEN_SIGNALS];
    for (size_t i = 0; i < TAKEN_SIGNALS; i++) {
        (void)sigaction(taken_signals[i], NULL, &before[i]);
    }
    int result = fi_getinfo(API_VERSION, node, NULL, node != NULL ? FI_SOURCE : 0, hints, ret_info);
    for (size_t i = 0; i < TAKEN_SIGNALS; i++) {
        if (before[i].sa_handler != SIG_DFL) {
            (void)sigaction(taken_signals[i], &before[i], NULL);
        }
    }
    return result;
}

/* Searches for the provider with these capabilities and this endpoint type. */
static int find_info(const struct carrier_place *kind, const char *bind, uint64_t capabilities,
                     enum fi_ep_type type, struct fi_info **ret_info)
{
    struct fi_info *hints = fi_dupinfo(NULL);
    if (hints == NULL) {
        return -ENOMEM;
    }
    hints->caps = capabilities;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = type;
    hints->ep_attr->protocol = kind->protocol;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    if (type == FI_EP_RDM) {
        hints->tx_attr->msg_order = FI_ORDER_SAS;
        hints->rx_attr->msg_order = FI_ORDER_SAS;
        hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    }
    hints->fabric_attr->prov_name = strdup(kind->provider);
    int result = -ENOMEM;
    if (hints->fabric_attr->prov_name != NULL) {
        result = get_info(hints, bind, ret_info);
    }
    fi_freeinfo(hints);
    return result;
}

static bool exists(const struct carrier_place *kind, const char *bind, uint64_t capabilities,
                   enum fi_ep_type type)
{
    struct fi_info *info = NULL;
    int result = find_info(kind, bind, capabilities, type, &info);
    fi_freeinfo(info);
    return result == 0;
}

/* Sets the reason why fi_getinfo found nothing. Returns the -errno. */
static int explain(const struct carrier_place *kind, const char *bind, struct vamp_err *err)
{
    const char *provider = kind->provider;
    struct carrier_place any = *kind;
    any.protocol = 0;
    if (kind->protocol != 0 && exists(&any, bind, FI_MSG | FI_RMA, FI_EP_RDM)) {
        return vamp_err_set(err, -EPROTONOSUPPORT,
                            "the other end uses libfabric's protocol %" PRIu32
                            " of \"%s\", which this process cannot open, because it used libfabric "
                            "before; start it with FI_OFI_RXM_ENABLE_PASSTHRU=1, or the pool "
                            "manager with FI_OFI_RXM_ENABLE_PASSTHRU=0",
                            kind->protocol, provider);
    }
    if (!exists(&any, NULL, 0, FI_EP_UNSPEC)) {
        return vamp_err_set(err, -ENODEV,
                            "libfabric provider \"%s\" is not available here; " ALLOWED, provider);
    }
    if (!exists(&any, NULL, FI_MSG | FI_RMA, FI_EP_RDM)) {
        const char *missing = "reliable datagram endpoints (FI_EP_RDM)";
        if (exists(&any, NULL, FI_MSG, FI_EP_RDM)) {
            missing = "remote reads (FI_RMA) of plain memory";
        }
        return vamp_err_set(err, -ENOTSUP, "libfabric provider \"%s\" lacks %s; " ALLOWED, provider,
                            missing);
    }
    return vamp_err_set(
        err, -EADDRNOTAVAIL,
        "libfabric provider \"%s\" cannot listen on \"%s\": give an address of this "
        "host",
        provider, vamp_text_or(bind, "any"));
}

/* Returns an info to be freed with fi_freeinfo. Keeps the program's signal handlers. */
static int provider_find(const struct carrier_place *kind, const char *bind,
                         struct fi_info **ret_info, struct vamp_err *err)
{
    const char *provider = kind->provider;
    bool own_host_only = strncmp(provider, "shm", 3) == 0;
    const char *node = own_host_only ? NULL : bind;
    struct fi_info *info = NULL;
    int result = find_info(kind, node, FI_MSG | FI_RMA, FI_EP_RDM, &info);
    if (result == -ENOMEM) {
        return vamp_err_set_errno(err, ENOMEM, "look for libfabric provider \"%s\"", provider);
    }
    if (result != 0) {
        return explain(kind, node, err);
    }
    if (info->tx_attr->size < 64) {
        fi_freeinfo(info);
        return vamp_err_set(
            err, -ENOTSUP,
            "libfabric provider \"%s\" does not support 64 reads at a time; " ALLOWED, provider);
    }
    *ret_info = info;
    return 0;
}

static bool has_device(const char *folder)
{
    struct dirent *entry;
    bool found = false;
    DIR *devices = opendir(folder);
    while (devices != NULL && !found && (entry = readdir(devices)) != NULL) {
        found = entry->d_name[0] != '.';
    }
    if (devices != NULL) {
        (void)closedir(devices);
    }
    return found;
}

const char *fabric_present(void)
{
    static const char *const providers[] = {"cxi", "efa", "opx", "verbs;ofi_rxm"};
    if (!has_device("/sys/class/cxi") && !has_device("/sys/class/infiniband")) {
        return NULL;
    }
    for (size_t i = 0; provider_load(NULL) == 0 && i < sizeof providers / sizeof providers[0];
         i++) {
        struct carrier_place kind = {.protocol = 0};
        (void)snprintf(kind.provider, sizeof kind.provider, "%s", providers[i]);
        if (exists(&kind, NULL, FI_MSG | FI_RMA, FI_EP_RDM)) {
            return providers[i];
        }
    }
    return NULL;
}

/* ---- operations */

static struct fabric *as_fabric(const struct carrier *carrier)
{
    return (struct fabric *)(uintptr_t)carrier;
}

/* Converts a result of libfabric to -errno. */
static int to_errno(ssize_t result)
{
    return result < 0 && result > -4096 ? (int)result : -EIO;
}

/* Maps libfabric's various codes for "try again" to one. */
static int plain_result(ssize_t result)
{
    if (result == 0) {
        return 0;
    }
    if (result == -FI_EAGAIN || result == -FI_ENOMEM) {
        return -EAGAIN;
    }
    return to_errno(result);
}

static int failed(struct vamp_err *err, int result, const char *what)
{
    return vamp_err_set(err, to_errno(result), "%s: %s", what, fi_strerror(-result));
}

/* ---- opening */

static int open_with(struct fabric *fabric, enum fi_wait_obj object)
{
    struct fi_cq_attr attributes = {
        .size = QUEUE_ENTRIES, .format = FI_CQ_FORMAT_MSG, .wait_obj = object};
    return fi_cq_open(fabric->domain, &attributes, &fabric->cq, NULL);
}

/* Opens the completion queue, with a descriptor to wait for if the provider supports it: plain tcp
 * keeps its descriptor readable forever; shm has none and spins in a blocking read. */
static int open_queue(struct fabric *fabric, struct vamp_err *err)
{
    const char *provider = fabric->info->fabric_attr->prov_name;
    fabric->nap_ns = NAP_SHORTEST_NS;
    if (strncmp(provider, "shm", 3) != 0 && strcmp(provider, "tcp") != 0 &&
        open_with(fabric, FI_WAIT_FD) == 0) {
        if (fi_control(&fabric->cq->fid, FI_GETWAIT, &fabric->cq_fd) == 0) {
            return 0;
        }
        (void)fi_close(&fabric->cq->fid);
        fabric->cq = NULL;
        fabric->cq_fd = -1;
    }
    int result = open_with(fabric, FI_WAIT_NONE);
    if (result != 0) {
        return failed(err, result, "open the completion queue");
    }
    return 0;
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
        /* ofi_rxm in libfabric 1.17 crashes when it closes an endpoint without its table and queue,
         * so all of them stay open; the process ends soon in any case. */
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
    /* A killed process leaves its shm file behind, whose name collides when the process id is
     * reused. Each attempt uses the next name. */
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

static void fabric_close(struct carrier *carrier)
{
    struct fabric *fabric = as_fabric(carrier);
    /* Each of these structures begins with its fid. */
    void *const objects[] = {fabric->endpoint, fabric->cq, fabric->av, fabric->domain,
                             fabric->fabric};
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) {
        if (objects[i] != NULL) {
            (void)fi_close(objects[i]); /* a failure cannot be handled here */
        }
    }
    fi_freeinfo(fabric->info);
    free(fabric);
}

static void fabric_place(const struct carrier *carrier, struct carrier_place *ret_place)
{
    const struct fabric *fabric = as_fabric(carrier);
    *ret_place = (struct carrier_place){.protocol = fabric->info->ep_attr->protocol,
                                        .length = fabric->address_length};
    (void)snprintf(ret_place->provider, sizeof ret_place->provider, "%s",
                   fabric->info->fabric_attr->prov_name);
    memcpy(ret_place->address, fabric->address, fabric->address_length);
}

/* ---- peers */

static int fabric_peer_add(struct carrier *carrier, const struct carrier_place *place,
                           carrier_peer *ret_peer)
{
    struct fabric *fabric = as_fabric(carrier);
    /* libfabric accepts an address without a length; it assumes the length of its own address
     * format. */
    uint8_t whole[CARRIER_ADDRESS_BYTES + 1] = {0};
    if (place->length == 0 || place->length > CARRIER_ADDRESS_BYTES ||
        (fabric->info->addr_format != FI_ADDR_STR && place->length != fabric->address_length)) {
        return -EINVAL;
    }
    memcpy(whole, place->address, place->length);
    fi_addr_t peer = FI_ADDR_UNSPEC;
    const int inserted = fi_av_insert(fabric->av, whole, 1, &peer, 0, NULL);
    *ret_peer = peer;
    if (inserted != 1 || peer == FI_ADDR_UNSPEC) {
        return -EINVAL;
    }
    return 0;
}

static void fabric_peer_remove(struct carrier *carrier, carrier_peer peer)
{
    fi_addr_t address = peer;
    (void)fi_av_remove(as_fabric(carrier)->av, &address, 1, 0);
}

void fabric_bury(const struct carrier_place *place)
{
    static const char head[] = "fi_shm://";
    char name[64];
    const size_t skip = sizeof head - 2; /* the segment's name follows the last slash */
    const size_t length = place->length;
    if (length <= skip + 1 || length - skip >= sizeof name ||
        memcmp(place->address, head, sizeof head - 1) != 0) {
        return;
    }
    memcpy(name, place->address + skip, length - skip);
    name[length - skip] = '\0';
    long process = strtol(name + 1, NULL, 10);
    const bool is_own_name = process > 0 && process <= INT_MAX && strchr(name + 1, '/') == NULL;
    if (is_own_name && kill((pid_t)process, 0) != 0 && errno == ESRCH) {
        (void)shm_unlink(name);
    }
}

/* ---- remote memory */

static int fabric_expose(struct carrier *carrier, void *address, size_t bytes,
                         struct carrier_memory *ret_memory, struct vamp_err *err)
{
    struct fabric *fabric = as_fabric(carrier);
    uint64_t key = 0;
    if (secure_random(&key, sizeof key, err) != 0) {
        return -EIO;
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
    *ret_memory = (struct carrier_memory){.address = virtual ? (uint64_t)(uintptr_t)address : 0,
                                          .key = fi_mr_key(registration),
                                          .registration = registration};
    return 0;
}

static void fabric_forget(struct carrier *carrier, struct carrier_memory *memory)
{
    (void)carrier;
    if (memory->registration != NULL) {
        struct fid_mr *registration = memory->registration;
        (void)fi_close(&registration->fid);
        memory->registration = NULL;
    }
}

static void give(struct fabric *fabric, struct fabric_read *read)
{
    read->next = fabric->free_reads;
    fabric->free_reads = read;
}

static int fabric_read(struct carrier *carrier, carrier_peer peer, uint64_t address, uint64_t key,
                       void *destination, size_t bytes, uint64_t tag)
{
    struct fabric *fabric = as_fabric(carrier);
    struct fabric_read *read = fabric->free_reads;
    if (read == NULL) {
        return -EAGAIN;
    }
    fabric->free_reads = read->next;
    read->tag = tag;
    int result = plain_result(
        fi_read(fabric->endpoint, destination, bytes, NULL, peer, address, key, &read->context));
    if (result != 0) {
        give(fabric, read);
    }
    return result;
}

/* Converts a completion to an event; the context that libfabric returns is the read. */
static int complete(struct fabric *fabric, void *context, int status, struct carrier_event *event)
{
    struct fabric_read *read = context;
    if (read == NULL) {
        return 0;
    }
    *event = (struct carrier_event){.status = status, .tag = read->tag};
    give(fabric, read);
    return 1;
}

static int fabric_poll(struct carrier *carrier, struct carrier_event events[CARRIER_EVENTS])
{
    struct fabric *fabric = as_fabric(carrier);
    struct fi_cq_msg_entry entries[CARRIER_EVENTS];
    ssize_t got = fi_cq_read(fabric->cq, entries, CARRIER_EVENTS);
    if (got == -FI_EAGAIN) {
        return 0;
    }
    fabric->nap_ns = NAP_SHORTEST_NS;
    if (got == -FI_EAVAIL) { /* a failed completion is at the head of the queue */
        struct fi_cq_err_entry entry = {0};
        got = fi_cq_readerr(fabric->cq, &entry, 0);
        if (got != 1) {
            return 0;
        }
        const int status = entry.err > 0 && entry.err < 4096 ? -entry.err : -EIO;
        return complete(fabric, entry.op_context, status, events);
    }
    int count = 0;
    for (ssize_t i = 0; i < got; i++) {
        count += complete(fabric, entries[i].op_context, 0, &events[count]);
    }
    return got < 0 ? (int)got : count;
}

static int fabric_wait(struct carrier *carrier, int64_t *timeout_ns)
{
    struct fabric *fabric = as_fabric(carrier);
    struct fid *fid = &fabric->cq->fid;
    if (fabric->cq_fd < 0) {
        *timeout_ns = VAMP_MIN(fabric->nap_ns, *timeout_ns);
        if (fabric->nap_ns < NAP_LONGEST_NS) {
            fabric->nap_ns += fabric->nap_ns / 8;
        }
    } else if (fi_trywait(fabric->fabric, &fid, 1) != 0) {
        *timeout_ns = 0; /* completions are already available; normal under load */
    }
    return fabric->cq_fd;
}

/* ---- probe: whether a process listens */

/*
 * Probes whether a process listens at a peer's address. tcp;ofi_rxm reconnects forever to a peer
 * whose connection broke, and only reports that it cannot send now. The kernel of the peer's host
 * distinguishes the cases: it refuses a connection at once if no process listens any more, and
 * accepts one for a process that is merely stopped.
 */
/* Timeout: a host that does not answer proves nothing and must not delay the caller. */
#define ANSWER_MS 2

static bool fabric_refuses(const struct carrier *carrier, const struct carrier_place *place)
{
    const struct fabric *fabric = as_fabric(carrier);
    const uint32_t format = fabric->info->addr_format;
    const size_t length = place->length;
    struct sockaddr_storage to = {0};
    const bool is_tcp = strncmp(fabric->info->fabric_attr->prov_name, "tcp", 3) == 0;
    const bool is_socket_address =
        format == FI_SOCKADDR || format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6;
    if (!is_tcp || !is_socket_address) {
        return false;
    }
    if (length != fabric->address_length || length > sizeof to) {
        return false;
    }
    memcpy(&to, place->address, length);
    int end = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (end < 0) {
        return false;
    }
    int result = 0;
    if (connect(end, (const struct sockaddr *)&to, (socklen_t)length) != 0) {
        result = errno;
    }
    struct pollfd answer = {.fd = end, .events = POLLOUT};
    if (result == EINPROGRESS && poll(&answer, 1, ANSWER_MS) == 1) {
        socklen_t bytes = sizeof result;
        (void)getsockopt(end, SOL_SOCKET, SO_ERROR, &result, &bytes);
    }
    (void)close(end);
    return result == ECONNREFUSED;
}

/* ---- opening the carrier */

static const struct carrier_ops fabric_ops = {
    .close = fabric_close,
    .place = fabric_place,
    .peer_add = fabric_peer_add,
    .peer_remove = fabric_peer_remove,
    .refuses = fabric_refuses,
    .expose = fabric_expose,
    .forget = fabric_forget,
    .read = fabric_read,
    .poll = fabric_poll,
    .wait = fabric_wait,
};

int fabric_open(const struct carrier_place *like, const char *bind, struct carrier **ret_carrier,
                struct vamp_err *err)
{
    if (provider_load(err) != 0) {
        return -ENOSYS;
    }
    struct fabric *fabric = calloc(1, sizeof *fabric);
    if (fabric == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "open libfabric provider \"%s\"", like->provider);
    }
    fabric->carrier.ops = &fabric_ops;
    fabric->cq_fd = -1;
    for (size_t i = 0; i < FABRIC_READS; i++) {
        give(fabric, &fabric->reads[i]);
    }
    int length = snprintf(fabric->bind, sizeof fabric->bind, "%s", bind);
    int result = 0;
    if (length < 0 || (size_t)length >= sizeof fabric->bind) {
        result = vamp_err_set(err, -EINVAL, "the address to listen on is too long");
    } else {
        result = provider_find(like, fabric->bind, &fabric->info, err);
    }
    if (result == 0) {
        result = open_objects(fabric, err);
    }
    if (result != 0) {
        (void)vamp_err_wrap(err, "libfabric provider \"%s\" on the address %s%s", like->provider,
                            fabric->bind,
                            result == -EADDRNOTAVAIL ? ", which is none of this host's" : "");
        fabric_close(&fabric->carrier);
        return result;
    }
    *ret_carrier = &fabric->carrier;
    return 0;
}
