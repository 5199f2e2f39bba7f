/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fabric_*.c files share. Only they include libfabric's headers. */
#ifndef MAESTRO_WIRE_FABRIC_INTERNAL_H
#define MAESTRO_WIRE_FABRIC_INTERNAL_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <stdatomic.h>

#include "maestro/wire/fabric.h"

/* Some providers do not bound the messages for which no receive is posted; more posted receives
 * help there. With this many, tcp;ofi_rxm without pass-through was measured to stay small. */
#define FABRIC_RECEIVES 256
#define FABRIC_SENDS 256
#define FABRIC_READS 64

enum fabric_wait_kind { FABRIC_WAIT_FD, FABRIC_WAIT_SREAD, FABRIC_WAIT_TIMED };

enum fabric_op_kind { FABRIC_OP_RECEIVE, FABRIC_OP_SEND, FABRIC_OP_READ };

/* One operation libfabric may hold a pointer to. libfabric's own part comes first. */
struct fabric_op {
    struct fi_context2 context;
    enum fabric_op_kind kind;
    uint64_t tag;
    struct fabric_op *next; /* free list */
    uint8_t *bytes;         /* of a message, FABRIC_MESSAGE_BYTES */
};

struct fabric {
    char bind[FABRIC_ADDRESS_BYTES];
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *endpoint;
    enum fabric_wait_kind wait;
    int cq_fd;
    int wake_fd;
    atomic_bool wake_pending;
    int64_t nap_ns;   /* timed polling: the next sleep; used by fabric_poll and fabric_wait */
    atomic_bool busy; /* something completed since the last wait */
    uint8_t address[FABRIC_ADDRESS_BYTES];
    size_t address_length;
    uint8_t *memory; /* of all message buffers */
    struct fabric_op receives[FABRIC_RECEIVES], sends[FABRIC_SENDS], reads[FABRIC_READS];
    struct fabric_op *free_sends, *free_reads;
    struct fabric_op *unposted; /* receive buffers the provider did not take yet */
};

/* Opens the completion queue with the best way to wait that the provider supports. */
VAMP_MUST_CHECK int fabric_open_queue(struct fabric *fabric, struct vamp_err *err);
/* Finds the provider's info. */
VAMP_MUST_CHECK int fabric_find(const struct fabric_kind *kind, const char *bind,
                                struct fi_info **ret_info, struct vamp_err *err);
/* Posts all receive buffers that are not posted. 0, or -errno of a failure for good. */
VAMP_MUST_CHECK int fabric_post_receives(struct fabric *fabric);

#endif
