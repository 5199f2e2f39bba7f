/* SPDX-License-Identifier: BSD-3-Clause */
/* Which series are wanted: patterns of the values of labels, as options and requests have them. */
#ifndef VAMP_STATS_BUCKET_PATTERNS_H
#define VAMP_STATS_BUCKET_PATTERNS_H

#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/bucket.h"

/* Splits "LABEL=PATTERN". False: there is no such label, or no "=". `*ret_pattern` points into the
 * text. */
bool vamp_series_pattern(const char *text, enum vamp_label *ret_label, const char **ret_pattern);
/* Whether the patterns ("component=IFS*", fnmatch) choose the series. Those of one label are
 * alternatives; of different labels all must hold. A label set without the label is not concerned.
 */
bool vamp_series_is_wanted(const struct vamp_strings *patterns, const struct vamp_label_set *set,
                           const struct vamp_series *series);

#endif
