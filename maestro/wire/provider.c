/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/wire/provider.h"

#include <assert.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maestro/wire/door.h"
#include "maestro/wire/fabric.h"
#include "maestro/wire/stream.h"

#define LIBRARY "libfabric.so.1"
#define API_VERSION FI_VERSION(1, 17)
#define ALLOWED FABRIC_PROVIDERS

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

/* Bounds what ofi_rxm reserves, 70 MB for each endpoint; a value that the user has set is kept. */
int provider_load(struct vamp_err *err)
{
    static const char *const settings[][2] = {
        {"FI_OFI_RXM_USE_SRX", "1"},         {"FI_OFI_RXM_MSG_RX_SIZE", "256"},
        {"FI_OFI_RXM_RX_SIZE", "512"},       {"FI_OFI_RXM_TX_SIZE", "512"},
        {"FI_OFI_RXM_ENABLE_PASSTHRU", "1"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        (void)setenv(settings[i][0], settings[i][1], 0);
    }
    return dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE) != NULL
               ? 0
               : vamp_err_set(err, -ENOSYS,
                              LIBRARY " cannot be loaded (%s); install it (package libfabric1), or "
                                      "let payloads go without it: MSTRO_OFI_PROVIDER=stream",
                              dlerror());
}

provider_function *provider_find_function(const char *name)
{
    const union {
        void *symbol;
        provider_function *function;
    } found = {dlsym(RTLD_DEFAULT, name)};
    assert(found.function != NULL); /* each is as old as the library's name */
    return found.function;
}

/* The shm provider installs handlers for these signals as soon as libfabric looks for providers. A
 * program's own handlers are put back; where it had none, shm's stay: they remove its files. */
static const int taken_signals[] = {SIGBUS, SIGSEGV, SIGTERM, SIGINT};
#define TAKEN_SIGNALS (sizeof taken_signals / sizeof taken_signals[0])

static int get_info(const struct fi_info *hints, const char *bind, struct fi_info **ret_info)
{
    char text[CARRIER_ADDRESS_BYTES];
    const char *node = NULL;
    if (bind != NULL) { /* any port: the one of `bind` is the pool manager's */
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

/* Does the provider exist, with these capabilities and this kind of endpoint? */
static int look_for(const struct carrier_place *kind, const char *bind, uint64_t capabilities,
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
    int result = hints->fabric_attr->prov_name == NULL ? -ENOMEM : get_info(hints, bind, ret_info);
    fi_freeinfo(hints);
    return result;
}

static bool exists(const struct carrier_place *kind, const char *bind, uint64_t capabilities,
                   enum fi_ep_type type)
{
    struct fi_info *info = NULL;
    int result = look_for(kind, bind, capabilities, type, &info);
    fi_freeinfo(info);
    return result == 0;
}

/* The error text for why fi_getinfo found nothing. */
static int explain(const struct carrier_place *kind, const char *bind, struct vamp_err *err)
{
    const char *provider = kind->provider;
    struct carrier_place any = *kind;
    any.protocol = 0;
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

int provider_find(const struct carrier_place *kind, const char *bind, struct fi_info **ret_info,
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
    if (info->tx_attr->size < 64) {
        fi_freeinfo(info);
        return vamp_err_set(err, -ENOTSUP,
                            "libfabric provider \"%s\" does not take 64 reads at a time; " ALLOWED,
                            provider);
    }
    *ret_info = info;
    return 0;
}

/* ---- whether there is a high-speed network */

/* Whether the kernel has a device of this class. */
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
