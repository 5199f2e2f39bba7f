/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of the page's series: page.c updates them, render.c writes them. */
#pragma once

#include <pthread.h>

#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/bucket/metric.h"
#include "writers/format/bounds.h"
#include "writers/format/present.h"
#include "writers/prometheus/page.h"

struct page_histogram {
    uint64_t count;
    unsigned __int128 sum;
    uint64_t in_bin[];
};

/* The value of a series. */
struct page_value {
    union {
        uint64_t counter;
        struct vamp_gauge_value gauge;
        struct page_histogram *histogram; /* NULL: nothing recorded */
    };
    int64_t born_ns; /* the time from which it counts */
};

/* A metric and its series on the page. */
struct page_metric {
    const struct vamp_metric *metric;
    struct vamp_base_metric base;
    unsigned label_set;
    unsigned count;                  /* number of series */
    unsigned room;                   /* of the array */
    struct vamp_schema_metric entry; /* as of the newest bucket: what was merged */
    struct page_value *values;       /* by number of the series */
    struct vamp_bounds *bounds; /* of a histogram, and the bucket of a native one for each bin */
    int16_t *places;
};

struct page {
    const struct vamp_schema *schema;
    /* Labels of every series, and of vampire_run_info: as text and as messages. */
    struct vamp_text run_labels[2], info_labels[2];

    pthread_mutex_t lock; /* guards the members below; the format's and the server's thread */
    struct page_metric *metrics;
    const struct vamp_series *const *const *series; /* [label set][series]: as buckets have them */
    uint64_t buckets, lost_buckets;
    int64_t end_ns; /* of the newest bucket */
    bool ended;
    struct vamp_present present;
};

/* Appends a label: to a text, separated by commas; or to a message, as its field 1. */
void page_label(struct vamp_text *text, bool message, const char *name, const char *value);
