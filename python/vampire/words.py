# SPDX-License-Identifier: BSD-3-Clause
"""What a number stands for, in words that vampire's own summary has, too."""

# Made by docs/manuals.py: words of vampire/core/words.h
EVERY = "every event was counted"
OF_EVENTS = "%s of the events"
OF_TOTAL = "%s of %s"
FILTERED = "what statistics.filters exclude"
OUTSIDE = "the series that this output leaves out"
ABSENT = "not counted, or not in this output"
UNOBSERVED = "not observable: %s"
REJECTED = "could not be understood"
OTHER_KINDS = "of kinds that were not asked for"
LATE = "counted in a later bucket than their own"
UNWATCHED = "the pool manager was gone"
CUT = "pattern matches; their conditions counted as false"
NO_SERIES = "at a bound: beyond max_series, or without memory"
NO_NAME = "at a bound: beyond max_components"
OVERFLOW = "values of series beyond max_series or max_histogram_memory, or without memory"
GIVEN_UP = "labels given up by values of series beyond max_series, or without memory"
EVICTED = "records given up: beyond max_cdos or max_pending"
UNIDENTIFIED = "events of components that cannot be told apart: too many at a time"
UNCOUNTED = "CDOs not in cdos_created: probably counted before their record was given up"
# End of words of vampire/core/words.h
