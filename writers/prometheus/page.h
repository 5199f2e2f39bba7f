/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The prometheus format: a page of all values that scrapers fetch. page.c keeps the values,
 * render.c writes the page, writer.c answers requests. table.c is part of the program; the others
 * are in the shared object prometheus.so. The page is described in docs/exporters.md.
 */
#pragma once

#include "writers/format/text.h"
#include "writers/writer.h"

struct prometheus_options {
    char *listen;
    uint64_t labels;   /* bit per enum vamp_run_label */
    unsigned bounds;   /* 2 to the power of it in each doubling */
    int64_t linger_ns; /* after the end of the run */
};

struct page;
/* Text format 0.0.4 of Prometheus, OpenMetrics 1.0, and Prometheus's Protocol Buffers
 * (io.prometheus.client.MetricFamily, delimited), which alone has native histograms. */
enum page_kind { PAGE_TEXT, PAGE_OPENMETRICS, PAGE_MESSAGES };
#define PAGE_KIND_COUNT 3

/* 0 or -ENOMEM. */
VAMP_MUST_CHECK int page_create(const struct prometheus_options *options,
                                const struct vamp_writer_target *target, struct page **ret_page,
                                struct vamp_err *err);
void page_free(struct page *page); /* NULL is fine */
/* Adds the values of a bucket. 0 or -ENOMEM: nothing was added. */
VAMP_MUST_CHECK int page_add(struct page *page, const struct vamp_delivery *delivery,
                             struct vamp_err *err);
/* The run has ended. */
void page_end(struct page *page);
/* A number that grows with each change of the page. Any thread. */
uint64_t page_version(struct page *page);
/* Appends the page; `failed` of the text: no memory. Any thread. */
void page_render(struct page *page, enum page_kind kind, struct vamp_text *text);
