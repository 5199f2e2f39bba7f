/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Coverage: which data the results of a run do not include, with the reason as text. A metric based
 * on data that the source does not report is absent, never 0; every format writes the absences.
 *
 * Constant during a run, except `learned`; any thread. A NULL coverage means that nothing is
 * absent.
 */
#pragma once

#include "vampire/stats/bucket/metric.h"

/* A metric that was requested and is absent. */
struct vamp_absence {
    enum vamp_metric_id id;
    /* Bit per enum vamp_unknown: unreported data on which the metric is based. */
    uint32_t lacking;
    /* Bit per enum vamp_event_kind: kinds that the metric requires and that cannot arrive. */
    uint64_t kinds;
};

struct vamp_coverage {
    uint32_t unknown;         /* bit per enum vamp_unknown: data that the source does not report */
    _Atomic uint32_t learned; /* as `unknown`, but detected during the run; removes no metric */
    uint64_t not_subscribed;  /* bit per enum vamp_event_kind: these kinds cannot arrive */
    unsigned absence_count;
    struct vamp_absence absences[VAMP_METRICS_MAX]; /* in the order of the catalogue */
};

/* Returns the enum name, a constant: "time", "size", ... */
const char *vamp_unknown_word(enum vamp_unknown unknown);
/* Write a reason for missing data or for an absent metric, as sentences joined by "; ", and return
 * `text`. `lacking`: bit per enum vamp_unknown. */
#define VAMP_ABSENCE_BYTES 512
const char *vamp_unknown_reason(uint32_t lacking, char text[static VAMP_ABSENCE_BYTES]);
const char *vamp_absence_reason(const struct vamp_absence *absence,
                                char text[static VAMP_ABSENCE_BYTES]);
/* Iterates over everything absent: the metrics, "losses" of the pool manager, "serials", data whose
 * absence was detected during the run (by its enum name), and "kinds" of events. Returns a constant
 * name and sets its reason; returns NULL at the end. `*position` starts at 0. */
const char *vamp_coverage_next(const struct vamp_coverage *coverage, unsigned *position,
                               char reason[static VAMP_ABSENCE_BYTES]);
/* Returns the absence of a requested metric, or NULL if the metric is not absent. */
const struct vamp_absence *vamp_coverage_find(const struct vamp_coverage *coverage,
                                              enum vamp_metric_id id);
/* How far the labels of a metric are aggregated to keep an output within its budget; each level is
 * coarser than the previous one. Sums stay exact. */
enum vamp_detail {
    VAMP_DETAIL_FULL,
    VAMP_DETAIL_MODELS,  /* components become "(model IFS)" */
    VAMP_DETAIL_UNNAMED, /* names of any kind become "(other)" */
    VAMP_DETAIL_OTHER,   /* all labels become "(other)" */
};
#define VAMP_DETAIL_COUNT (VAMP_DETAIL_OTHER + 1)
/* "full", "models", ...: constant. */
const char *vamp_detail_word(enum vamp_detail detail);
/* "components are merged into their models", ... */
const char *vamp_detail_sentence(enum vamp_detail detail);

/* Returns everything that is unknown now: bit per enum vamp_unknown. */
static inline uint32_t vamp_coverage_unknown(const struct vamp_coverage *coverage)
{
    return coverage != NULL ? coverage->unknown | coverage->learned : 0;
}

/* Returns whether all losses of this kind (enum vamp_loss) are detected. */
static inline bool vamp_coverage_sees_losses(const struct vamp_coverage *coverage, unsigned place)
{
    return place != VAMP_LOSS_POOL_MANAGER ||
           (vamp_coverage_unknown(coverage) & VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_LOSSES)) == 0;
}
