/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of the page's series. page.c updates them, render.c reads them. */
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
    int64_t born_ns; /* start of its counting period */
};

/* A metric and its series on the page. */
struct page_metric {
    const struct vamp_metric *metric;
    struct vamp_base_metric base;
    unsigned label_set;
    unsigned count; /* number of series */
    unsigned room;  /* capacity of `values` */
    /* Label set, unit and other properties as of the newest bucket. */
    struct vamp_schema_metric entry;
    struct page_value *values;  /* indexed by series number */
    struct vamp_bounds *bounds; /* of a histogram; else NULL */
    uint64_t resolution_ns;     /* vamp_bucket_resolution, as of the newest bucket */
    int16_t *places;            /* for each bin, its bucket in the native histogram */
};

struct page {
    const struct vamp_schema *schema;
    /* Labels of every series and of vampire_run_info, each as text and as messages. */
    struct vamp_text run_labels[2], info_labels[2];

    /* Guards the members below; used by the format's and the server's thread. */
    pthread_mutex_t lock;
    struct page_metric *metrics;
    const struct vamp_series *const *const *series; /* [label set][series], as in buckets */
    uint64_t buckets, lost_buckets;
    int64_t end_ns; /* end of the newest bucket */
    bool ended;
    struct vamp_present present;
};

/* Appends a label: to a text, comma-separated, or to a message as its field 1. */
void page_label(struct vamp_text *text, bool message, const char *name, const char *value);
