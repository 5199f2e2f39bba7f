/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failing calls of libfabric on purpose. libfabric's calls are inline functions through tables that
 * each object has; so the objects are the real ones, and their tables are replaced when the program
 * opens them. libfabric's internal calls do not pass through here.
 *
 * Included once by a program, or by a library that is preloaded: it defines fi_fabric and
 * fi_getinfo. Any thread.
 */
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* COMPLETE: the nth operation that completes says that it failed. */
#define FABRIC_FAULT_CALLS(X)                                                                      \
    X(GETINFO)                                                                                     \
    X(FABRIC)                                                                                      \
    X(DOMAIN)                                                                                      \
    X(AV_OPEN)                                                                                     \
    X(CQ_OPEN)                                                                                     \
    X(ENDPOINT)                                                                                    \
    X(GETWAIT)                                                                                     \
    X(BIND)                                                                                        \
    X(ENABLE)                                                                                      \
    X(GETNAME)                                                                                     \
    X(INSERT)                                                                                      \
    X(REMOVE)                                                                                      \
    X(REGISTER)                                                                                    \
    X(READ)                                                                                        \
    X(TRYWAIT)                                                                                     \
    X(CQ_READ)                                                                                     \
    X(COMPLETE)                                                                                    \
    X(CLOSE)
enum fabric_fault_call {
#define X(name) FABRIC_FAULT_##name,
    FABRIC_FAULT_CALLS(X)
#undef X
        FABRIC_FAULT_CALL_COUNT
};

static const char *const fabric_fault_names[] = {
#define X(name) #name,
    FABRIC_FAULT_CALLS(X)
#undef X
};

/* What is to fail of one kind of call. */
struct fabric_fault {
    atomic_uint number, count; /* number 0: none fails */
    atomic_int error;          /* FI_EAGAIN and so on */
    _Atomic(int64_t) lasts_ns; /* 0: only this one; else all from then on, for this time */
    _Atomic(int64_t) until_ns; /* of CLOCK_MONOTONIC, once the first has failed */
    atomic_bool failed;
};

static struct {
    struct fabric_fault of[FABRIC_FAULT_CALL_COUNT];
    /* The completion that is to be reported as an error; with its queue. */
    _Atomic(struct fid_cq *) queue;
    void *context;
    uint64_t flags;
    /* The real tables. An object of one kind has one, whatever endpoint it belongs to. */
    struct fi_ops_fabric fabric, *real_fabric;
    struct fi_ops_domain domain, *real_domain;
    struct fi_ops_mr mr, *real_mr;
    struct fi_ops_av av, *real_av;
    struct fi_ops_cq cq, *real_cq;
    struct fi_ops cq_fid, *real_cq_fid;
    struct fi_ops ep_fid, *real_ep_fid;
    struct fi_ops_rma rma, *real_rma;
    struct fi_ops_cm cm, *real_cm;
} fabric_faults;

/* The numberth call of this kind from now on fails with `error`, and with lasts_ns all others for
 * this time. */
static inline void fabric_faults_add(enum fabric_fault_call call, unsigned number, int error,
                                     int64_t lasts_ns)
{
    struct fabric_fault *fault = &fabric_faults.of[call];
    atomic_store(&fault->error, error);
    atomic_store(&fault->lasts_ns, lasts_ns);
    atomic_store(&fault->number, number);
}

/* Only this one fails, and once. */
static inline void fabric_faults_arm(enum fabric_fault_call call, unsigned number, int error)
{
    for (unsigned i = 0; i < FABRIC_FAULT_CALL_COUNT; i++) {
        atomic_store(&fabric_faults.of[i].number, 0);
        atomic_store(&fabric_faults.of[i].count, 0);
        atomic_store(&fabric_faults.of[i].failed, false);
    }
    fabric_faults_add(call, number, error, 0);
}

static int64_t fabric_fault_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* 0, or how this call is to fail. */
static int fabric_fault(enum fabric_fault_call call)
{
    struct fabric_fault *fault = &fabric_faults.of[call];
    unsigned count = atomic_fetch_add(&fault->count, 1) + 1;
    unsigned number = atomic_load(&fault->number);
    if (number == 0 || count < number) {
        return 0;
    }
    int64_t lasts_ns = atomic_load(&fault->lasts_ns);
    if (count == number) {
        atomic_store(&fault->until_ns, fabric_fault_now_ns() + lasts_ns);
        atomic_store(&fault->failed, true);
    } else if (lasts_ns == 0 || fabric_fault_now_ns() > atomic_load(&fault->until_ns)) {
        return 0;
    }
    return -atomic_load(&fault->error);
}

#define FABRIC_FAULT_RETURN(name)                                                                  \
    do {                                                                                           \
        int fault_ = fabric_fault(FABRIC_FAULT_##name);                                            \
        if (fault_ != 0) {                                                                         \
            return fault_;                                                                         \
        }                                                                                          \
    } while (0)

/* Replaces a table by a copy in which some entries are ours. The copy is made with the first object
 * of its kind, before there are threads; afterwards it is only read. */
#define FABRIC_FAULT_TABLE(object, member, ...)                                                    \
    do {                                                                                           \
        if (fabric_faults.real_##member == NULL) {                                                 \
            fabric_faults.member = *(object);                                                      \
            __VA_ARGS__;                                                                           \
            fabric_faults.real_##member = (object);                                                \
        }                                                                                          \
        (object) = &fabric_faults.member;                                                          \
    } while (0)

/* ---- endpoint */

static ssize_t fault_read(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t source,
                          uint64_t addr, uint64_t key, void *context)
{
    FABRIC_FAULT_RETURN(READ);
    return fabric_faults.real_rma->read(ep, buf, len, desc, source, addr, key, context);
}

static int fault_getname(fid_t fid, void *addr, size_t *addrlen)
{
    FABRIC_FAULT_RETURN(GETNAME);
    return fabric_faults.real_cm->getname(fid, addr, addrlen);
}

static int fault_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
    FABRIC_FAULT_RETURN(BIND);
    return fabric_faults.real_ep_fid->bind(fid, bfid, flags);
}

static int fault_ep_control(struct fid *fid, int command, void *arg)
{
    FABRIC_FAULT_RETURN(ENABLE);
    return fabric_faults.real_ep_fid->control(fid, command, arg);
}

/* It is closed all the same: otherwise everything it uses stays in use. */
static int fault_ep_close(struct fid *fid)
{
    int fault = fabric_fault(FABRIC_FAULT_CLOSE);
    int result = fabric_faults.real_ep_fid->close(fid);
    return fault != 0 ? fault : result;
}

static int fault_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                          void *context)
{
    FABRIC_FAULT_RETURN(ENDPOINT);
    int result = fabric_faults.real_domain->endpoint(domain, info, ep, context);
    if (result == 0) {
        FABRIC_FAULT_TABLE((*ep)->rma, rma, fabric_faults.rma.read = fault_read);
        FABRIC_FAULT_TABLE((*ep)->cm, cm, fabric_faults.cm.getname = fault_getname);
        FABRIC_FAULT_TABLE((*ep)->fid.ops, ep_fid, fabric_faults.ep_fid.bind = fault_bind;
                           fabric_faults.ep_fid.control = fault_ep_control;
                           fabric_faults.ep_fid.close = fault_ep_close);
    }
    return result;
}

/* ---- queue */

static ssize_t fault_cq_read(struct fid_cq *cq, void *buf, size_t count)
{
    if (count == 0) {
        return fabric_faults.real_cq->read(cq, buf, count);
    }
    FABRIC_FAULT_RETURN(CQ_READ);
    if (atomic_load(&fabric_faults.queue) == cq) {
        return -FI_EAVAIL;
    }
    const struct fabric_fault *fault = &fabric_faults.of[FABRIC_FAULT_COMPLETE];
    bool one = atomic_load(&fault->number) != 0 && !atomic_load(&fault->failed);
    ssize_t got = fabric_faults.real_cq->read(cq, buf, one ? 1 : count);
    if (got == 1 && one && fabric_fault(FABRIC_FAULT_COMPLETE) != 0) {
        const struct fi_cq_msg_entry *entry = buf;
        fabric_faults.context = entry->op_context;
        fabric_faults.flags = entry->flags;
        atomic_store(&fabric_faults.queue, cq);
        return -FI_EAVAIL;
    }
    return got;
}

static ssize_t fault_cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags)
{
    if (atomic_load(&fabric_faults.queue) != cq) {
        return fabric_faults.real_cq->readerr(cq, entry, flags);
    }
    entry->op_context = fabric_faults.context;
    entry->flags = fabric_faults.flags;
    entry->err = atomic_load(&fabric_faults.of[FABRIC_FAULT_COMPLETE].error);
    entry->len = 0;
    atomic_store(&fabric_faults.queue, NULL);
    return 1;
}

static int fault_cq_control(struct fid *fid, int command, void *arg)
{
    FABRIC_FAULT_RETURN(GETWAIT);
    return fabric_faults.real_cq_fid->control(fid, command, arg);
}

static int fault_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
                         void *context)
{
    FABRIC_FAULT_RETURN(CQ_OPEN);
    int result = fabric_faults.real_domain->cq_open(domain, attr, cq, context);
    if (result == 0) {
        FABRIC_FAULT_TABLE((*cq)->ops, cq, fabric_faults.cq.read = fault_cq_read;
                           fabric_faults.cq.readerr = fault_cq_readerr);
        FABRIC_FAULT_TABLE((*cq)->fid.ops, cq_fid, fabric_faults.cq_fid.control = fault_cq_control);
    }
    return result;
}

/* ---- addresses, memory */

static int fault_insert(struct fid_av *av, const void *addr, size_t count, fi_addr_t *fi_addr,
                        uint64_t flags, void *context)
{
    FABRIC_FAULT_RETURN(INSERT);
    return fabric_faults.real_av->insert(av, addr, count, fi_addr, flags, context);
}

static int fault_remove(struct fid_av *av, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
    FABRIC_FAULT_RETURN(REMOVE);
    return fabric_faults.real_av->remove(av, fi_addr, count, flags);
}

static int fault_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
                         void *context)
{
    FABRIC_FAULT_RETURN(AV_OPEN);
    int result = fabric_faults.real_domain->av_open(domain, attr, av, context);
    if (result == 0) {
        FABRIC_FAULT_TABLE((*av)->ops, av, fabric_faults.av.insert = fault_insert;
                           fabric_faults.av.remove = fault_remove);
    }
    return result;
}

static int fault_register(struct fid *fid, const void *buf, size_t len, uint64_t access,
                          uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr,
                          void *context)
{
    FABRIC_FAULT_RETURN(REGISTER);
    return fabric_faults.real_mr->reg(fid, buf, len, access, offset, key, flags, mr, context);
}

/* ---- fabric and domain */

static int fault_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
    FABRIC_FAULT_RETURN(TRYWAIT);
    return fabric_faults.real_fabric->trywait(fabric, fids, count);
}

static int fault_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
                        void *context)
{
    FABRIC_FAULT_RETURN(DOMAIN);
    int result = fabric_faults.real_fabric->domain(fabric, info, domain, context);
    if (result == 0) {
        FABRIC_FAULT_TABLE((*domain)->ops, domain, fabric_faults.domain.endpoint = fault_endpoint;
                           fabric_faults.domain.cq_open = fault_cq_open;
                           fabric_faults.domain.av_open = fault_av_open);
        FABRIC_FAULT_TABLE((*domain)->mr, mr, fabric_faults.mr.reg = fault_register);
    }
    return result;
}

/* libfabric's providers call each other: their calls are not the program's, which is the executable
 * (it has no name here) and the part of vampire that joins a pool. */
static bool of_program(void *caller)
{
    struct dl_find_object object;
    if (_dl_find_object(caller, &object) != 0) {
        return false;
    }
    const char *name = object.dlfo_link_map->l_name;
    return name[0] == '\0' || strstr(name, "/lib/vampire/maestro.so") != NULL;
}

/* Loaded explicitly, not by RTLD_NEXT: vampire loads it late and locally. */
static void *fabric_library(void)
{
    return dlopen("libfabric.so.1", RTLD_NOW);
}

int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    union {
        void *symbol;
        int (*call)(struct fi_fabric_attr *, struct fid_fabric **, void *);
    } real = {dlsym(fabric_library(), "fi_fabric")};
    if (!of_program(__builtin_return_address(0))) {
        return real.call(attr, fabric, context);
    }
    FABRIC_FAULT_RETURN(FABRIC);
    int result = real.call(attr, fabric, context);
    if (result == 0) {
        FABRIC_FAULT_TABLE((*fabric)->ops, fabric, fabric_faults.fabric.domain = fault_domain;
                           fabric_faults.fabric.trywait = fault_trywait);
    }
    return result;
}

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
               const struct fi_info *hints, struct fi_info **info)
{
    union {
        void *symbol;
        int (*call)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
                    struct fi_info **);
    } real = {dlsym(fabric_library(), "fi_getinfo")};
    if (of_program(__builtin_return_address(0))) {
        FABRIC_FAULT_RETURN(GETINFO);
    }
    return real.call(version, node, service, flags, hints, info);
}
