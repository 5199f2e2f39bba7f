/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps the series of the statistics to those of one output: which labels they keep and, for an
 * output with a budget of lines, how far they are merged to stay within it. Series whose remaining
 * labels are equal become one. Series 0, `(other)`, is always kept: its contents are unknown.
 *
 * Without a budget, metrics with the same labels before and after share a route. With a budget,
 * each metric has its own route and label set, in which a series gets a place when it first counts
 * something. If the metrics exceed the budget, the largest become coarser: first pairs of
 * components become pairs of models, then components become models, then everything becomes
 * `(other)`. Published series of counters and histograms keep their values and lines forever. The
 * coarser series are published beside them with 0, and replace them after
 * OUTPUT_ROUTES_HANDOVER_NS, so that a scraper sees their start; until then new series count as
 * `(other)`. Which metric becomes coarser depends on sizes, never on which series came first. Part
 * of resolution.c; one thread at a time.
 */
#pragma once

#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/merged.h"

#define OUTPUT_ROUTES_HANDOVER_NS INT64_C(60000000000)

struct output_route {
    unsigned from, to;              /* label sets of the statistics and of the output */
    uint8_t kept[VAMP_LABELS_MAX];  /* positions in `from` of the labels of `to` */
    bool of_model[VAMP_LABELS_MAX]; /* use the model of the component at that position */
    uint32_t known;                 /* series of the statistics that were processed */
    uint32_t *number;               /* their numbers in the output, plus 1; 0: none */
    /* With a budget. */
    unsigned metric;                  /* of the output */
    enum vamp_detail detail;          /* of series that are new */
    uint32_t lines;                   /* of each series */
    uint32_t before;                  /* number of series before this bucket */
    uint32_t components, names, open; /* labels with names of components, with those of models, too,
                                       * with names of any kind */
    int64_t moves_ns;    /* when all series move to the current detail; INT64_MAX: done */
    bool full;           /* there was no place for a series of this bucket */
    bool without_models; /* there are as many models as components */
};

struct output_routes {
    const struct vamp_strings *patterns; /* of series */
    struct vamp_merged *merged;          /* the output's */
    uint64_t budget;                     /* lines at most; 0: any */
    uint64_t aside;                      /* part of the budget for lines without a route */
    uint64_t zeros;                      /* lines of series that are exported as 0 from the start */
    uint32_t zeros_of;                   /* series of pool_operations that were given such series */
    struct output_route items[VAMP_METRICS_MAX];
    unsigned count;
    char **models; /* "(model IFS)", malloc'ed */
    unsigned model_count;
    unsigned merges; /* how often a metric became coarser */
};

/* Whether a number of a route refers to a series. */
static inline bool output_route_leads(uint32_t number)
{
    return number != 0 && number != UINT32_MAX;
}

/* Prepares the route between its two label sets. False: out of memory. */
bool output_route_make(struct output_routes *routes, struct output_route *route,
                       const struct vamp_label_set *from);
void output_routes_done(struct output_routes *routes);
/* Adds the series that are new in this bucket. False: out of memory; only places of series have
 * changed. */
bool output_routes_learn(struct output_routes *routes, const struct vamp_bucket *bucket);
