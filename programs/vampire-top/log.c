/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire-top/log.h"

#include <stdlib.h>

/* Memory that is not used is not taken from the system. */
#define LOGGED_MAX ((uint64_t)1 << 21)
/* Instead of a row. */
#define BUCKET UINT32_MAX
#define RANKS (UINT32_MAX - 1)

struct logged {
    uint32_t row;
    uint32_t number; /* of a sum, or TOP_SUM_COUNT: the largest time, or behind that of a bin */
    double value;    /* of BUCKET and RANKS, their width */
};

struct top_log {
    uint64_t end; /* the newest is before it, modulo LOGGED_MAX */
    struct logged logged[LOGGED_MAX];
};

struct top_log *top_log_create(void)
{
    return calloc(1, sizeof(struct top_log));
}

void top_log_free(struct top_log *log)
{
    free(log);
}

void top_log_clear(struct top_log *log)
{
    log->end = 0;
}

static void add(struct top_log *log, uint32_t row, uint32_t number, double value)
{
    if (value > 0) {
        log->logged[log->end++ % LOGGED_MAX] = (struct logged){row, number, value};
    }
}

void top_log_part(struct top_log *log, uint32_t row, const struct top_part *part)
{
    const struct vamp_histogram *times = part->times;
    for (uint32_t i = 0; i < TOP_SUM_COUNT; i++) {
        add(log, row, i, part->sums[i]);
    }
    if (times->count > 0) {
        add(log, row, TOP_SUM_COUNT, (double)times->max);
        for (uint32_t i = 0; i < TOP_BINS; i++) {
            add(log, row, TOP_SUM_COUNT + 1 + i, (double)times->bins[i]);
        }
    }
}

void top_log_bucket(struct top_log *log, double width_ns)
{
    log->logged[log->end++ % LOGGED_MAX] = (struct logged){BUCKET, 0, width_ns};
}

void top_log_ranks(struct top_log *log, double width_ns)
{
    log->logged[log->end++ % LOGGED_MAX] = (struct logged){RANKS, 0, width_ns};
}

static void add_logged(struct top_part *part, const struct logged *logged)
{
    struct vamp_histogram *times = part->times;
    const uint64_t value = (uint64_t)logged->value;
    if (logged->number < TOP_SUM_COUNT) {
        part->sums[logged->number] += logged->value;
    } else if (logged->number == TOP_SUM_COUNT) {
        times->max = value > times->max ? value : times->max;
        times->min = 0; /* is not shown */
    } else {
        times->bins[logged->number - TOP_SUM_COUNT - 1] += value;
        times->count += value;
    }
}

static uint64_t oldest_of(const struct top_log *log)
{
    return log->end > LOGGED_MAX ? log->end - LOGGED_MAX : 0;
}

/* Where the buckets of the window begin, and how long they are. */
static uint64_t window_begin(const struct top_log *log, double window_ns, double *ret_ns)
{
    const uint64_t oldest = oldest_of(log);
    uint64_t at = log->end, begin = at;
    double width_ns = 0;
    *ret_ns = 0;
    /* A bucket is whole when the end of the one before it is there, or it is the first. */
    while (at > oldest) {
        const struct logged *logged = &log->logged[--at % LOGGED_MAX];
        if (logged->row == BUCKET) {
            *ret_ns += width_ns;
            width_ns = logged->value;
            begin = at + 1;
            if (*ret_ns > 0 && *ret_ns >= window_ns) {
                return begin;
            }
        }
    }
    *ret_ns += oldest == 0 ? width_ns : 0;
    return oldest == 0 ? 0 : begin;
}

/* Where the lines of ranks begin that came from `begin` on; if none did, the newest before it. */
static uint64_t ranks_begin(const struct top_log *log, uint64_t begin, double *ret_ns)
{
    const uint64_t oldest = oldest_of(log);
    *ret_ns = 0;
    for (uint64_t at = begin; at < log->end; at++) {
        const struct logged *logged = &log->logged[at % LOGGED_MAX];
        *ret_ns += logged->row == RANKS ? logged->value : 0;
    }
    for (uint64_t at = begin; *ret_ns == 0 && at > oldest; at--) {
        const struct logged *logged = &log->logged[(at - 1) % LOGGED_MAX];
        if (logged->row == RANKS) {
            *ret_ns = logged->value;
            return at;
        }
    }
    return begin;
}

void top_log_window(const struct top_log *log, double window_ns,
                    struct top_part *(*part)(void *context, uint32_t row), void *context,
                    double *ret_window_ns, double *ret_ranks_ns)
{
    const uint64_t begin = window_begin(log, window_ns, ret_window_ns);
    for (uint64_t at = ranks_begin(log, begin, ret_ranks_ns); at < log->end; at++) {
        const struct logged *logged = &log->logged[at % LOGGED_MAX];
        const bool is_mark = logged->row == BUCKET || logged->row == RANKS;
        if (!is_mark && (at >= begin || (logged->row & TOP_LOG_OF_RANKS) != 0)) {
            add_logged(part(context, logged->row), logged);
        }
    }
}
