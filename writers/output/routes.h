/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps the series of the statistics to those of one output: which labels they keep and, for an
 * output with a budget of lines, how far they are merged to stay within the budget. Series whose
 * remaining labels are equal become one. Series 0, `(other)`, is always kept, since its contents
 * are unknown.
 *
 * Without a budget, metrics with the same labels before and after share a route. With a budget,
 * each metric has its own route and label set; a series is added to it when it first counts
 * something. If the metrics exceed the budget, the largest ones become coarser: first pairs of
 * components become pairs of models, then components become models, then everything becomes
 * `(other)`. Published series of counters and histograms are never removed and keep their values.
 * The coarser series are first exported beside them as 0 and replace them after
 * OUTPUT_ROUTES_HANDOVER_NS, so that a scraper observes their start; until then new series count as
 * `(other)`. Which metric becomes coarser depends only on sizes, never on the order in which series
 * appeared. Part of resolution.c; one thread at a time.
 */
#pragma once

#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/merged.h"

#define OUTPUT_ROUTES_HANDOVER_NS INT64_C(60000000000)

struct output_route {
    unsigned from;                  /* label set of the statistics */
    unsigned to;                    /* label set of the output */
    uint8_t kept[VAMP_LABELS_MAX];  /* positions in `from` of the labels in `to` */
    bool of_model[VAMP_LABELS_MAX]; /* the label at that position is replaced by the component's
                                       model */
    uint32_t known;                 /* series of the statistics that were processed */
    uint32_t *number;               /* their series numbers in the output, plus 1; 0: none */
    /* With a budget. */
    unsigned metric;         /* metric number in the output's schema */
    enum vamp_detail detail; /* detail of new series */
    uint32_t lines;          /* lines of each series */
    uint32_t before;         /* number of series before this bucket */
    uint32_t components;     /* number of labels with names of components */
    uint32_t names;          /* number of labels with names of components or models */
    uint32_t open;           /* number of labels with names of any kind */
    int64_t moves_ns; /* time at which all series switch to the current detail; INT64_MAX: done */
    bool full;        /* the label set had no capacity for a series of this bucket */
    bool without_models; /* there are as many models as components */
};

struct output_routes {
    const struct vamp_strings *patterns; /* patterns of the series to keep */
    struct vamp_merged *merged;          /* belongs to the output */
    uint64_t budget;                     /* maximum number of lines; 0: unlimited */
    uint64_t aside;                      /* budget reserved for lines without a route */
    uint64_t zeros;                      /* lines of series that are exported as 0 from the start */
    uint32_t zeros_of; /* number of series of pool_operations for which such series exist */
    struct output_route items[VAMP_METRICS_MAX];
    unsigned count;
    char **models; /* "(model IFS)", malloc'ed */
    unsigned model_count;
    unsigned merges; /* number of times that a metric became coarser */
};

/* Whether an entry of a route's `number` refers to a series. */
static inline bool output_route_leads(uint32_t number)
{
    return number != 0 && number != UINT32_MAX;
}

/* Prepares the route between its two label sets. Returns false if out of memory. */
bool output_route_make(struct output_routes *routes, struct output_route *route,
                       const struct vamp_label_set *from);
void output_routes_done(struct output_routes *routes);
/* Adds the series that are new in this bucket. Returns false if out of memory; only the route's
 * numbers have changed then. */
bool output_routes_learn(struct output_routes *routes, const struct vamp_bucket *bucket);
