/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The filter table: things that let an event pass or not. Everything is decided at creation; all
 * functions are called on the worker thread, except create and free, which run where the pipeline
 * is built. Instances share nothing.
 */
#ifndef VAMP_FILTERS_FILTER_H
#define VAMP_FILTERS_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filters/event_filter.h"
#include "vampire/core/err.h"
#include "vampire/core/event.h"
#include "vampire/core/opt.h"

/* What every filter is told. The pointers outlive the instance, except `named`. */
struct vamp_filter_context {
    const struct vamp_components *components; /* who is who; NULL: names are absent */
    struct vamp_named_filters *named;         /* only used by create; may be NULL */
    enum vamp_filter_place place;
};

/* What an instance has done since its creation. seen = passed + dropped + exempt. */
struct vamp_filter_counts {
    uint64_t seen;
    uint64_t passed;
    uint64_t dropped; /* filtered or sampled out */
    uint64_t exempt;  /* passed because the filter does not apply to them: no weight */
    uint64_t cut;     /* pattern matches cut short by a bound */
    /* How many events one passed event stands for: 1 for a filter that selects. A sampling filter
     * says its constant; 0: it varies, take (passed + dropped) / passed of the interval's
     * differences. */
    double weight;
};

struct vamp_filter_ops {
    const char *name;
    const char *summary;            /* one line for --help */
    const struct vamp_opt *options; /* fills a struct of `options_bytes` */
    size_t options_bytes;

    /* Compiles. All errors are told here; on failure nothing is left behind. Keeps no pointer to
     * `options`. 0 or -errno. */
    int (*create)(const void *options, const struct vamp_filter_context *context, void **ret_self,
                  struct vamp_err *err);
    /* Bits of the kinds of events that can pass; fixed for the life of the instance. */
    uint64_t (*kinds)(const void *self);
    /* Selector text for the pool manager, owned by self; NULL: nothing is pushed down. */
    const char *(*selector)(const void *self);
    /* Whether the event passes, and counts it. No allocation, I/O, clock or failure; time is the
     * event's. The marks LOST and REJECTED pass and are exempt. */
    bool (*match)(void *self, const struct vamp_event *event);
    void (*counts)(const void *self, struct vamp_filter_counts *ret_counts);
    /* Normal form, malloc'ed; NULL without memory. */
    char *(*print)(const void *self);
    /* NULL is fine. */
    void (*free)(void *self);
};

extern const struct vamp_filter_ops vamp_filter_expression;
extern const struct vamp_filter_ops vamp_filter_every;
extern const struct vamp_filter_ops vamp_filter_fraction;
extern const struct vamp_filter_ops vamp_filter_rate;

/* All filters, ended by NULL. */
extern const struct vamp_filter_ops *const vamp_filters[];

#endif
