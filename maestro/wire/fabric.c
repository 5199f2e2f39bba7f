/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages, remote reads and completions of an open endpoint. */
#include "maestro/wire/fabric.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "maestro/wire/fabric_internal.h"

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

static struct fabric_op *take(struct fabric_op **list)
{
    struct fabric_op *op = *list;
    if (op != NULL) {
        *list = op->next;
        op->next = NULL;
    }
    return op;
}

static void give(struct fabric_op **list, struct fabric_op *op)
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

int fabric_post_receives(struct fabric *fabric)
{
    while (fabric->unposted != NULL) {
        struct fabric_op *op = fabric->unposted;
        int result = plain_result(fi_recv(fabric->endpoint, op->bytes, FABRIC_MESSAGE_BYTES, NULL,
                                          FI_ADDR_UNSPEC, &op->context));
        if (result != 0) {
            return result == -EAGAIN ? 0 : result; /* tried again at the next poll */
        }
        (void)take(&fabric->unposted);
    }
    return 0;
}

/* `struct fabric_message` is the public name of an operation. */
static struct fabric_op *op_of(struct fabric_message *message)
{
    return (struct fabric_op *)(void *)message;
}

struct fabric_message *fabric_message_get(struct fabric *fabric)
{
    return (struct fabric_message *)(void *)take(&fabric->free_sends);
}

void fabric_message_put(struct fabric *fabric, struct fabric_message *message)
{
    give(&fabric->free_sends, op_of(message));
}

uint8_t *fabric_message_bytes(struct fabric_message *message)
{
    return op_of(message)->bytes;
}

int fabric_send(struct fabric *fabric, fabric_peer peer, struct fabric_message *message,
                size_t offset, size_t length, uint64_t tag)
{
    struct fabric_op *op = op_of(message);
    op->tag = tag;
    return plain_result(
        fi_send(fabric->endpoint, op->bytes + offset, length, NULL, peer, &op->context));
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
    struct fabric_op *op = take(&fabric->free_reads);
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

static struct fabric_op *op_of_context(void *context)
{
    return context; /* libfabric's part is the first member */
}

/* Turns a completion into an event and gives the operation back; false: nothing to report. */
static bool complete(struct fabric *fabric, struct fabric_op *op, int status, size_t length,
                     struct fabric_event *event)
{
    *event = (struct fabric_event){.status = status, .tag = op->tag};
    switch (op->kind) {
    case FABRIC_OP_RECEIVE:
        if (status != 0) { /* a message cut short, or one of a connection that broke */
            give(&fabric->unposted, op);
            return false;
        }
        event->kind = FABRIC_RECEIVED;
        event->bytes = op->bytes;
        event->length = length;
        event->buffer = op;
        return true;
    case FABRIC_OP_SEND:
        event->kind = FABRIC_SENT;
        give(&fabric->free_sends, op);
        return true;
    case FABRIC_OP_READ:
        event->kind = FABRIC_READ;
        give(&fabric->free_reads, op);
        return true;
    }
    return false;
}

/* Reads the failed completion at the head of the queue. 1: an event, 0: none. */
static int take_failure(struct fabric *fabric, struct fabric_event *event)
{
    struct fi_cq_err_entry entry = {0};
    ssize_t got = fi_cq_readerr(fabric->cq, &entry, 0);
    if (got != 1 || entry.op_context == NULL) {
        return 0;
    }
    int status = entry.err > 0 && entry.err < 4096 ? -entry.err : -EIO;
    return complete(fabric, op_of_context(entry.op_context), status, 0, event) ? 1 : 0;
}

int fabric_poll(struct fabric *fabric, struct fabric_event events[FABRIC_EVENTS])
{
    struct fi_cq_msg_entry entries[FABRIC_EVENTS];
    int result = fabric_post_receives(fabric);
    if (result != 0) {
        return result;
    }
    ssize_t got = fi_cq_read(fabric->cq, entries, FABRIC_EVENTS);
    if (got == -FI_EAGAIN) {
        return 0;
    }
    atomic_store(&fabric->busy, true);
    if (got == -FI_EAVAIL) {
        return take_failure(fabric, &events[0]);
    }
    if (got < 0) {
        return (int)got;
    }
    int count = 0;
    for (ssize_t i = 0; i < got; i++) {
        if (entries[i].op_context != NULL && complete(fabric, op_of_context(entries[i].op_context),
                                                      0, entries[i].len, &events[count])) {
            count++;
        }
    }
    return count;
}

void fabric_release(struct fabric *fabric, const struct fabric_event *event)
{
    give(&fabric->unposted, event->buffer);
}

const char *fabric_provider(const struct fabric *fabric)
{
    return fabric->info->fabric_attr->prov_name;
}
