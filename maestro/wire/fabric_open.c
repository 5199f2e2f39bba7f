/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds a provider with the needed capabilities, and opens an endpoint on it. */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "maestro/wire/fabric_internal.h"

#define API_VERSION FI_VERSION(1, 17)
#define ENDPOINT_TRIES 16U
#define ALLOWED "allowed are tcp;ofi_rxm (the default), tcp, and shm on a single host"

const char *fabric_provider_choice(const char *wanted)
{
    const char *const sources[] = {wanted, getenv("MSTRO_OFI_PROVIDER"), getenv("FI_PROVIDER")};
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        if (sources[i] != NULL && sources[i][0] != '\0') {
            return sources[i];
        }
    }
    return FABRIC_PROVIDER_PRESET;
}

/*
 * ofi_rxm's own defaults reserve 70 MB for each endpoint, for rates that do not occur here. It also
 * allocates 16 KiB for each message that arrives without a posted receive: when it closes a
 * connection, it first reads every other connection until it is empty. One peer that sends without
 * a pause makes that endless. With pass-through, messages go into this endpoint's buffers, and the
 * peers wait while no buffer is posted. A value that the user has set is kept.
 */
static void bound_memory(void)
{
    static const char *const settings[][2] = {
        {"FI_OFI_RXM_USE_SRX", "1"},         {"FI_OFI_RXM_MSG_RX_SIZE", "256"},
        {"FI_OFI_RXM_RX_SIZE", "512"},       {"FI_OFI_RXM_TX_SIZE", "512"},
        {"FI_OFI_RXM_ENABLE_PASSTHRU", "1"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        (void)setenv(settings[i][0], settings[i][1], 0);
    }
}

static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE,
                        &limit); /* one descriptor a peer; the old limit is not fatal */
    }
}

/* The shm provider installs handlers for these signals as soon as libfabric looks for providers. A
 * program's own handlers are put back; where it had none, shm's stay: they remove its files. */
static const int taken_signals[] = {SIGBUS, SIGSEGV, SIGTERM, SIGINT};
#define TAKEN_SIGNALS (sizeof taken_signals / sizeof taken_signals[0])

/* "ADDRESS", "ADDRESS:PORT" or "[ADDRESS]:PORT", taken apart in `text`; NULL: no port. */
static const char *take_port(char *text, const char **ret_node)
{
    *ret_node = text;
    char *colon = strrchr(text, ':');
    const bool bracketed = text[0] == '[' && colon != NULL && colon[-1] == ']';
    if (colon == NULL || (!bracketed && strchr(text, ':') != colon)) {
        return NULL; /* several without brackets: an address of version 6 */
    }
    *colon = '\0';
    if (bracketed) {
        colon[-1] = '\0';
        *ret_node = text + 1;
    }
    return colon + 1;
}

/* A second endpoint of this process takes any port. */
static void drop_port(const struct fi_info *info)
{
    if (info->src_addr != NULL && info->addr_format == FI_SOCKADDR_IN) {
        ((struct sockaddr_in *)info->src_addr)->sin_port = 0;
    } else if (info->src_addr != NULL && info->addr_format == FI_SOCKADDR_IN6) {
        ((struct sockaddr_in6 *)info->src_addr)->sin6_port = 0;
    }
}

static int get_info(const struct fi_info *hints, const char *bind, struct fi_info **ret_info)
{
    char text[FABRIC_ADDRESS_BYTES];
    const char *node = NULL;
    const char *port = NULL;
    if (bind != NULL) {
        (void)snprintf(text, sizeof text, "%s", bind);
        port = take_port(text, &node);
    }
    struct sigaction before[TAKEN_SIGNALS];
    for (size_t i = 0; i < TAKEN_SIGNALS; i++) {
        (void)sigaction(taken_signals[i], NULL, &before[i]);
    }
    int result = fi_getinfo(API_VERSION, node, port, node != NULL ? FI_SOURCE : 0, hints, ret_info);
    for (size_t i = 0; i < TAKEN_SIGNALS; i++) {
        if (before[i].sa_handler != SIG_DFL) {
            (void)sigaction(taken_signals[i], &before[i], NULL);
        }
    }
    return result;
}

/* Does the provider exist, with these capabilities and this kind of endpoint? */
static int look_for(const struct fabric_kind *kind, const char *bind, uint64_t capabilities,
                    enum fi_ep_type type, struct fi_info **ret_info)
{
    struct fi_info *hints = fi_allocinfo();
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
    int result = hints->fabric_attr->prov_name == NULL ? -ENOMEM : get_info(hints, bind, ret_info);
    fi_freeinfo(hints);
    return result;
}

static bool exists(const char *provider, uint64_t capabilities, enum fi_ep_type type)
{
    struct fi_info *info = NULL;
    const struct fabric_kind any = {.provider = provider};
    int result = look_for(&any, NULL, capabilities, type, &info);
    fi_freeinfo(info);
    return result == 0;
}

/* The error text for why fi_getinfo found nothing. */
static int explain(const char *provider, const char *bind, struct vamp_err *err)
{
    if (!exists(provider, 0, FI_EP_UNSPEC)) {
        return vamp_err_set(err, -ENODEV,
                            "libfabric provider \"%s\" is not available here; " ALLOWED, provider);
    }
    if (!exists(provider, FI_MSG, FI_EP_RDM)) {
        return vamp_err_set(err, -ENOTSUP,
                            "libfabric provider \"%s\" lacks reliable datagram endpoints "
                            "(FI_EP_RDM); " ALLOWED,
                            provider);
    }
    if (!exists(provider, FI_MSG | FI_RMA, FI_EP_RDM)) {
        return vamp_err_set(err, -ENOTSUP,
                            "libfabric provider \"%s\" lacks remote reads (FI_RMA) of plain "
                            "memory; " ALLOWED,
                            provider);
    }
    return vamp_err_set(
        err, -EADDRNOTAVAIL,
        "libfabric provider \"%s\" cannot listen on \"%s\": give an address of this "
        "host",
        provider, bind != NULL ? bind : "any");
}

/* Whether the provider would be found with another protocol. */
static bool only_protocol_differs(const struct fabric_kind *kind, const char *bind)
{
    const struct fabric_kind any = {.provider = kind->provider};
    struct fi_info *info = NULL;
    int result =
        kind->protocol == 0 ? -ENODATA : look_for(&any, bind, FI_MSG | FI_RMA, FI_EP_RDM, &info);
    fi_freeinfo(info);
    return result == 0;
}

int fabric_find(const struct fabric_kind *kind, const char *bind, struct fi_info **ret_info,
                struct vamp_err *err)
{
    const char *provider = kind->provider;
    bool own_host_only = strncmp(provider, "shm", 3) == 0;
    const char *node = own_host_only ? NULL : bind;
    struct fi_info *info = NULL;
    int result = look_for(kind, node, FI_MSG | FI_RMA, FI_EP_RDM, &info);
    if (result == -ENOMEM) {
        return vamp_err_set_errno(err, ENOMEM, "look for libfabric provider \"%s\"", provider);
    }
    if (result != 0 && only_protocol_differs(kind, node)) {
        return vamp_err_set(err, -EPROTONOSUPPORT,
                            "the other end speaks libfabric's protocol %" PRIu32
                            " of \"%s\", which this process cannot open, because it used libfabric "
                            "before; start it with FI_OFI_RXM_ENABLE_PASSTHRU=1, or the pool "
                            "manager with FI_OFI_RXM_ENABLE_PASSTHRU=0",
                            kind->protocol, provider);
    }
    if (result != 0) {
        return explain(provider, node, err);
    }
    if (info->tx_attr->size < 64 || info->ep_attr->max_msg_size < FABRIC_MESSAGE_BYTES) {
        fi_freeinfo(info);
        return vamp_err_set(
            err, -ENOTSUP,
            "libfabric provider \"%s\" does not take messages of %zu bytes; " ALLOWED, provider,
            FABRIC_MESSAGE_BYTES);
    }
    *ret_info = info;
    return 0;
}

static int failed(struct vamp_err *err, int result, const char *what)
{
    return vamp_err_set(err, result < 0 && result > -4096 ? result : -EIO, "%s: %s", what,
                        fi_strerror(-result));
}

static int start_endpoint(struct fabric *fabric, struct vamp_err *err)
{
    int result = fi_endpoint(fabric->domain, fabric->info, &fabric->endpoint, NULL);
    if (result != 0) {
        return failed(err, result, "open the endpoint");
    }
    result = fi_ep_bind(fabric->endpoint, &fabric->av->fid, 0);
    if (result == 0) {
        result = fi_ep_bind(fabric->endpoint, &fabric->cq->fid, FI_TRANSMIT | FI_RECV);
    }
    if (result != 0) {
        /* ofi_rxm of libfabric 1.17 crashes when it closes an endpoint without its table and queue,
         * so all of them stay open; the process is about to end. */
        fabric->endpoint = NULL;
        return failed(err, result, "connect the endpoint with its queue");
    }
    result = fi_enable(fabric->endpoint);
    if (result != 0) {
        (void)fi_close(&fabric->endpoint->fid);
        fabric->endpoint = NULL;
        return failed(err, result, "start the endpoint");
    }
    return 0;
}

static int open_objects(struct fabric *fabric, struct vamp_err *err)
{
    unsigned tries = 0;
    struct fi_info *info = fabric->info;
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
    if (fabric_open_queue(fabric, err) != 0) {
        return err != NULL ? err->code : -EIO;
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

static int lay_out_buffers(struct fabric *fabric, struct vamp_err *err)
{
    /* Pages of buffers that are never used are never touched. */
    void *memory = mmap(NULL, BUFFERS_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return vamp_err_set_errno(err, errno, "reserve %zu bytes for messages", BUFFERS_BYTES);
    }
    fabric->memory = memory;
    uint8_t *next = fabric->memory;
    for (size_t i = 0; i < FABRIC_RECEIVES; i++, next += FABRIC_MESSAGE_BYTES) {
        fabric->receives[i] =
            (struct fabric_op){.kind = FABRIC_OP_RECEIVE, .bytes = next, .next = fabric->unposted};
        fabric->unposted = &fabric->receives[i];
    }
    for (size_t i = 0; i < FABRIC_SENDS; i++, next += FABRIC_MESSAGE_BYTES) {
        fabric->sends[i] =
            (struct fabric_op){.kind = FABRIC_OP_SEND, .bytes = next, .next = fabric->free_sends};
        fabric->free_sends = &fabric->sends[i];
    }
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
    for (size_t i = 0; i < FABRIC_READS; i++) {
        fabric->reads[i] = (struct fabric_op){.kind = FABRIC_OP_READ, .next = fabric->free_reads};
        fabric->free_reads = &fabric->reads[i];
    }
    int result = 0;
    if (like != NULL) {
        fabric->info = fi_dupinfo(like->info); /* looking for it again takes some milliseconds */
        result = fabric->info != NULL ? 0 : vamp_err_set_errno(err, ENOMEM, "open an endpoint");
        if (result == 0) {
            drop_port(fabric->info);
        }
    } else {
        result = lay_out_buffers(fabric, err);
        result = result == 0 ? fabric_find(kind, fabric->bind, &fabric->info, err) : result;
    }
    if (result != 0) {
        return result;
    }
    result = open_objects(fabric, err);
    if (result == 0) {
        result = fabric_post_receives(fabric);
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
    raise_descriptor_limit();
    bound_memory();
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

static void close_object(struct fid *fid)
{
    (void)fi_close(fid); /* a failure here cannot be handled */
}

void fabric_close(struct fabric *fabric)
{
    if (fabric == NULL) {
        return;
    }
    if (fabric->endpoint != NULL) {
        close_object(&fabric->endpoint->fid);
    }
    if (fabric->cq != NULL) {
        close_object(&fabric->cq->fid);
    }
    if (fabric->av != NULL) {
        close_object(&fabric->av->fid);
    }
    if (fabric->domain != NULL) {
        close_object(&fabric->domain->fid);
    }
    if (fabric->fabric != NULL) {
        close_object(&fabric->fabric->fid);
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
