/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Texts that describe numbers, used by the summary, by vampire-top and, through `make generated`
 * (python/vampire/words.py), by the Python package and the report.
 */
#pragma once

#define VAMP_WORDS_EVERY "every event was counted"
#define VAMP_WORDS_OF_EVENTS "%s of the events"
#define VAMP_WORDS_FROM_EVENTS "from %s of the events; coverage of the total not known"
#define VAMP_WORDS_OF_TOTAL "%s of %s"
#define VAMP_WORDS_FILTERED "what statistics.filters exclude"
#define VAMP_WORDS_OUTSIDE "the series that this output leaves out"
/* In a verdict of vampire --examine: a field of events does not mean what it should. */
#define VAMP_WORDS_OTHER ": other,"
#define VAMP_WORDS_COARSE ": coarse"
#define VAMP_WORDS_SHARED ": shared"
#define VAMP_WORDS_NO_ROOM "values for which max_histogram_memory has no room"
#define VAMP_WORDS_ABSENT "not counted, or not in this output"
#define VAMP_WORDS_UNOBSERVED "not observable: %s"
#define VAMP_WORDS_REJECTED "could not be understood"
#define VAMP_WORDS_REFUSED "messages of runs, or parts of them, were refused"
#define VAMP_WORDS_RUNS_MISSING "runs missing in some of %s buckets"
#define VAMP_WORDS_OTHER_KINDS "that were not asked for, or that the recording leaves out"
#define VAMP_WORDS_SAMPLED_OUT "of these; vampire-report estimates the totals"
#define VAMP_WORDS_LATE "counted in a later bucket than their own"
#define VAMP_WORDS_UNWATCHED "the pool manager was gone"
#define VAMP_WORDS_CUT "pattern matches; their conditions counted as false"
#define VAMP_WORDS_NO_SERIES "at a limit: over max_series, or out of memory"
#define VAMP_WORDS_NO_NAME "at a limit: over max_components"
#define VAMP_WORDS_OVERFLOW                                                                        \
    "values of series over max_series or max_histogram_memory, or out of memory"
#define VAMP_WORDS_GIVEN_UP                                                                        \
    "labels aggregated away: over max_series or attribute_values, or out of memory"
#define VAMP_WORDS_EVICTED "records evicted: over max_cdos or max_pending"
#define VAMP_WORDS_UNIDENTIFIED                                                                    \
    "events of components that cannot be distinguished: too many at a time"
#define VAMP_WORDS_UNCOUNTED                                                                       \
    "CDOs not in cdos_created: probably counted before their record was evicted"
