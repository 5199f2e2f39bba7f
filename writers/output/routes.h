/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the series of the statistics to those of one output: which labels they keep, and, of an
 * output with a budget, how far these are merged so that it never has more lines than that. Series
 * that then have the same labels are one. Series 0, `(other)`, always stays: what is in it is not
 * known.
 *
 * Without a budget, metrics with the same labels before and after share a route. With one, each
 * metric is a family with a route and a label set of its own, in which a series has a place from
 * when it first counts something. When the families outgrow the budget, the largest ones become
 * coarser: pairs of components pairs of models first, then components models, then `(other)`. What
 * is published of a counter or a histogram keeps its value and its lines for ever; the coarser
 * series are published beside it with 0, and take over after OUTPUT_ROUTES_HANDOVER_NS, so that a
 * scraper sees where they begin; until then what is new counts as `(other)`. Which family becomes
 * coarser depends on their sizes, never on which series came first. Part of resolution.c; one
 * thread at a time.
 */
#pragma once

#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/merged.h"

#define OUTPUT_ROUTES_HANDOVER_NS INT64_C(60000000000)

struct output_route {
    unsigned from, to;              /* label sets of the statistics and of the output */
    uint8_t kept[VAMP_LABELS_MAX];  /* places in the former of the latter's labels */
    bool of_model[VAMP_LABELS_MAX]; /* the model of the component there */
    uint32_t known;                 /* series of the statistics that were looked at */
    uint32_t *number;               /* of these in the output, and one; 0: none */
    /* With a budget. */
    unsigned metric;                  /* of the output */
    enum vamp_detail detail;          /* of series that are new */
    uint32_t lines;                   /* of each series */
    uint32_t before;                  /* series that there were before this bucket */
    uint32_t components, names, open; /* labels with names of components, with those of models, too,
                                       * with names of any kind */
    int64_t moves_ns;    /* when all series take the present detail; INT64_MAX: they have */
    bool full;           /* a series of this bucket found no place */
    bool without_models; /* these are as many as the components */
};

struct output_routes {
    const struct vamp_strings *patterns; /* of series */
    struct vamp_merged *merged;          /* the output's */
    uint64_t budget;                     /* lines at most; 0: any */
    uint64_t aside;                      /* of these, lines that no route makes */
    uint64_t zeros;                      /* lines of series that began before they counted */
    uint32_t zeros_of;                   /* series of pool_operations that have these */
    struct output_route items[VAMP_METRICS_MAX];
    unsigned count;
    char **models; /* "(model IFS)", malloc'ed */
    unsigned model_count;
    unsigned merges; /* how often a family became coarser */
};

/* Whether a number of a route is one and one more: that of a series. */
static inline bool output_route_leads(uint32_t number)
{
    return number != 0 && number != UINT32_MAX;
}

/* Makes what the label sets of `route` say. False: no memory. */
bool output_route_make(struct output_routes *routes, struct output_route *route,
                       const struct vamp_label_set *from);
void output_routes_done(struct output_routes *routes);
/* Looks at the series that are new in this bucket. False: no memory; nothing was changed but places
 * of series. */
bool output_routes_learn(struct output_routes *routes, const struct vamp_bucket *bucket);
