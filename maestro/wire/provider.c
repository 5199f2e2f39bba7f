/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/wire/provider.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define API_VERSION FI_VERSION(1, 17)
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

void provider_prepare(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max; /* one descriptor a peer; the old limit is not fatal */
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    bound_memory();
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

static bool exists(const struct fabric_kind *kind, const char *bind, uint64_t capabilities,
                   enum fi_ep_type type)
{
    struct fi_info *info = NULL;
    int result = look_for(kind, bind, capabilities, type, &info);
    fi_freeinfo(info);
    return result == 0;
}

/* The error text for why fi_getinfo found nothing. */
static int explain(const struct fabric_kind *kind, const char *bind, struct vamp_err *err)
{
    const char *provider = kind->provider;
    const struct fabric_kind any = {.provider = provider};
    if (kind->protocol != 0 && exists(&any, bind, FI_MSG | FI_RMA, FI_EP_RDM)) {
        return vamp_err_set(err, -EPROTONOSUPPORT,
                            "the other end speaks libfabric's protocol %" PRIu32
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
        return vamp_err_set(err, -ENOTSUP, "libfabric provider \"%s\" lacks %s; " ALLOWED, provider,
                            exists(&any, NULL, FI_MSG, FI_EP_RDM)
                                ? "remote reads (FI_RMA) of plain memory"
                                : "reliable datagram endpoints (FI_EP_RDM)");
    }
    return vamp_err_set(
        err, -EADDRNOTAVAIL,
        "libfabric provider \"%s\" cannot listen on \"%s\": give an address of this "
        "host",
        provider, bind != NULL ? bind : "any");
}

int provider_find(const struct fabric_kind *kind, const char *bind, struct fi_info **ret_info,
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
    if (result != 0) {
        return explain(kind, node, err);
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
