/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The prometheus format: a page with all values, fetched by scrapers. page.c keeps the values,
 * render.c writes the page, writer.c answers requests. table.c is linked into the program; the
 * other files are in the shared object prometheus.so. docs/exporters.md describes the page.
 */
#pragma once

#include "writers/format/text.h"
#include "writers/writer.h"

struct prometheus_options {
    char *listen;
    uint64_t labels;   /* bit per enum vamp_run_label */
    unsigned bounds;   /* log2 of the number of bounds per doubling */
    int64_t linger_ns; /* how long the page is served after the end of the run */
};

struct page;
/* Prometheus text format 0.0.4; OpenMetrics 1.0; and delimited Protocol Buffers
 * (io.prometheus.client.MetricFamily), the only one with native histograms. */
enum page_kind { PAGE_TEXT, PAGE_OPENMETRICS, PAGE_MESSAGES };
#define PAGE_KIND_COUNT 3

/* Returns 0 or -ENOMEM. */
VAMP_MUST_CHECK int page_create(const struct prometheus_options *options,
                                const struct vamp_writer_target *target, struct page **ret_page,
                                struct vamp_err *err);
void page_free(struct page *page); /* NULL is allowed */
/* Adds the values of a bucket. Returns 0, or -ENOMEM: nothing was added. */
VAMP_MUST_CHECK int page_add(struct page *page, const struct vamp_delivery *delivery,
                             struct vamp_err *err);
/* Must be called when the run has ended. */
void page_end(struct page *page);
/* Version number, which increases with each change of the page. Any thread. */
uint64_t page_version(struct page *page);
/* Appends the page to the text; sets `failed` of the text if out of memory. Any thread. */
void page_render(struct page *page, enum page_kind kind, struct vamp_text *text);
