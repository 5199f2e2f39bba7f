/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The prometheus format: a page of all values that scrapers fetch. page.c keeps the values,
 * bounds.c says which of a histogram's edges the page shows, render.c writes the page as text,
 * writer.c is the format and answers requests. table.c is in the program; all others are in
 * the shared object prometheus.so. The page is described in docs/exporters.md.
 */
#ifndef VAMP_WRITERS_PROMETHEUS_INTERNAL_H
#define VAMP_WRITERS_PROMETHEUS_INTERNAL_H

#include <pthread.h>

#include "vampire/stats/bucket/metric.h"
#include "vampire/stats/bucket/rows.h"
#include "writers/format/listener.h"
#include "writers/format/text.h"
#include "writers/writer.h"

struct prometheus_options {
    char *listen;
    uint64_t labels; /* bit per enum vamp_run_label */
    uint64_t page_bytes;
    unsigned bounds;   /* 2 to the power of it in each doubling */
    int64_t linger_ns; /* after the end of the run */
};

/* ---- bounds.c: upper bounds of a histogram's buckets on the page, each the exact upper edge of a
 * bin. */

#define PROMETHEUS_LE_BYTES 32

struct prometheus_bounds {
    unsigned count;                  /* without +Inf */
    char (*le)[PROMETHEUS_LE_BYTES]; /* their texts, in the base unit */
    uint16_t of_bin[VAMP_BINS_MAX];  /* index of a bin's bound; `count`: +Inf */
};
/* 2 to the power of `resolution` bounds a doubling, or as many as there are bins. NULL: no memory.
 */
struct prometheus_bounds *prometheus_bounds_create(const struct vamp_metric *metric,
                                                   const struct vamp_bins *bins,
                                                   unsigned resolution);
void prometheus_bounds_free(struct prometheus_bounds *bounds); /* NULL is fine */

/* ---- page.c */

struct page_histogram {
    uint64_t count;
    unsigned __int128 sum;
    uint64_t in_bound[]; /* as many as bounds, and one: not cumulative */
};

/* What the page has of a series. */
struct page_value {
    union {
        uint64_t counter;
        struct vamp_gauge_value gauge;
        struct page_histogram *histogram; /* NULL: nothing recorded, or no room */
    };
    bool refused; /* a histogram that found no room */
};

/* A metric and its series on the page. */
struct page_metric {
    const struct vamp_metric *metric;
    struct vamp_base_metric base;
    unsigned label_set;
    bool has_bounds; /* of a gauge: see struct vamp_schema_metric */
    bool full;       /* a series found no room: no further one is admitted */
    unsigned count;  /* admitted, from series 0 on; of a histogram: the array's length */
    unsigned room;   /* of the array */
    unsigned left_out;
    struct page_value *values;        /* by number of the series */
    struct prometheus_bounds *bounds; /* of a histogram */
};

enum page_kind { PAGE_TEXT, PAGE_OPENMETRICS };
#define PAGE_KIND_COUNT 2

/* A rendered page; freed with its last holder. */
struct page_text {
    unsigned holders;
    size_t length;
    char *bytes;
};

struct page {
    const struct vamp_run *run;
    const struct vamp_schema *schema;
    uint64_t max_bytes, reserved_bytes; /* reserved: what the longest page of these series takes */
    uint64_t run_labels;

    pthread_mutex_t lock; /* of all below; the page's writer and the server's thread */
    struct page_metric *metrics;
    const struct vamp_series *const *const *series; /* [label set][series]: as buckets have them */
    uint64_t buckets, lost_buckets;
    int64_t end_ns; /* of the newest bucket */
    bool ended;
    struct page_text *texts[PAGE_KIND_COUNT]; /* NULL: to be rendered */
};

/* 0 or -ENOMEM. */
VAMP_MUST_CHECK int page_create(const struct prometheus_options *options,
                                const struct vamp_writer_target *target, struct page **ret_page,
                                struct vamp_err *err);
void page_free(struct page *page); /* NULL is fine */
/* Takes the values of a bucket. 0 or -ENOMEM: nothing was taken. */
VAMP_MUST_CHECK int page_add(struct page *page, const struct vamp_delivery *delivery,
                             struct vamp_err *err);
/* The run has ended. */
void page_end(struct page *page);
/* How many series have no room on the page. */
uint64_t page_left_out(struct page *page);
/* The page as text; NULL without memory. Any thread. */
struct page_text *page_hold(struct page *page, enum page_kind kind);
void page_release(struct page_text *text);

/* ---- render.c; with the page's lock. */
void page_render(const struct page *page, enum page_kind kind, struct vamp_text *text);
/* Bytes that the lines of a series, or those of a metric without series, take at most. */
uint64_t page_series_bytes(const struct page *page, const struct page_metric *metric,
                           const struct vamp_series *series);
uint64_t page_metric_bytes(const struct page_metric *metric);

#endif
