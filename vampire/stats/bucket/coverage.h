/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The statement of coverage: what the numbers of a run do not show, and why, in words. A metric
 * that rests on something the source cannot know is absent, never 0; its absence is data, which
 * every format writes from here. Constant while a run's statistics last, but for what turns out to
 * be unknown; any thread. A coverage of NULL: nothing is absent.
 */
#pragma once

#include "vampire/stats/bucket/metric.h"

/* A metric that was asked for and is absent. */
struct vamp_absence {
    enum vamp_metric_id id;
    uint32_t lacking; /* bit per enum vamp_unknown, never 0: of its basis */
};

struct vamp_coverage {
    uint32_t unknown; /* bit per enum vamp_unknown: what the source cannot know; 0: nothing */
    _Atomic uint32_t learned; /* the same, since then: of what is counted it takes nothing away */
    uint64_t not_subscribed;  /* bit per enum vamp_event_kind: none of these kinds can come */
    unsigned absence_count;
    struct vamp_absence absences[VAMP_METRICS_MAX]; /* in catalogue order */
};

/* "time", "size", ...: constant. */
const char *vamp_unknown_word(enum vamp_unknown unknown);
/* Why something is absent, as sentences joined by "; ". `lacking`: bit per enum vamp_unknown. */
#define VAMP_ABSENCE_BYTES 512
const char *vamp_absence_reason(uint32_t lacking, char text[static VAMP_ABSENCE_BYTES]);
/* One after the other what is absent, in words: the metrics, "losses" of the pool manager,
 * "serials", what was learned since (by its word), and "kinds" of events. NULL at the end; else the
 * constant name, with the reason. `*position` starts at 0. */
const char *vamp_coverage_next(const struct vamp_coverage *coverage, unsigned *position,
                               char reason[static VAMP_ABSENCE_BYTES]);
/* Why this metric, which was asked for, is absent; NULL: it is not. */
const struct vamp_absence *vamp_coverage_find(const struct vamp_coverage *coverage,
                                              enum vamp_metric_id id);
/* How far the labels of a metric's series are merged to keep an output within its budget. Sums stay
 * exact. Each step is coarser. */
enum vamp_detail {
    VAMP_DETAIL_FULL,
    VAMP_DETAIL_MODELS,  /* a component reads "(model IFS)" */
    VAMP_DETAIL_UNNAMED, /* names of any kind read "(other)" */
    VAMP_DETAIL_OTHER,   /* all labels do */
};
#define VAMP_DETAIL_COUNT 4
/* "full", "models", ...: constant. */
const char *vamp_detail_word(enum vamp_detail detail);
/* What was merged, as the end of a sentence: "components are merged into their models". */
const char *vamp_detail_sentence(enum vamp_detail detail);

/* Bit per enum vamp_unknown: all that is unknown by now. */
static inline uint32_t vamp_coverage_unknown(const struct vamp_coverage *coverage)
{
    return coverage != NULL ? coverage->unknown | coverage->learned : 0;
}

/* Whether all losses at this place (enum vamp_loss) are seen. */
static inline bool vamp_coverage_sees_losses(const struct vamp_coverage *coverage, unsigned place)
{
    return place != VAMP_LOSS_POOL_MANAGER ||
           (vamp_coverage_unknown(coverage) & VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_LOSSES)) == 0;
}
