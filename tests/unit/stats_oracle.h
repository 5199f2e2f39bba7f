/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules of docs/metrics.md once more, slow and obvious: plain lists searched from end to end,
 * no bounds, no hashing, no code of the statistics. It only says which value falls into which
 * metric, series (as text) and bucket; the test adds them up.
 */
#ifndef TESTS_UNIT_STATS_ORACLE_H
#define TESTS_UNIT_STATS_ORACLE_H

#include "tests/unit/stats_collect.h"

#define ORACLE_MAX 20000
#define NOBODY UINT32_MAX /* no component is meant; 0 is a component that is not known */

/* One value. Of a gauge: the change. */
struct fact {
    enum vamp_metric_id metric;
    char labels[160];
    int64_t bucket; /* its number since 1970 */
    int64_t value;
    size_t event; /* which event of the stream */
};

struct oracle_cdo {
    uint64_t id, size;
    uint32_t maker, belongs;
    bool sized, counted, declared, offered, once;
    int64_t declared_ns, offered_ns;
    int handles, own_handles, offers, demands;
};
/* A declare by a second component, a received operation, a demand or a transport. */
struct oracle_wait {
    uint64_t id;
    uint32_t component;
    uint64_t kind;
    int64_t since_ns;
    int count;
    bool acknowledged, failed;
    bool sized, has_source;
    uint64_t size;
    unsigned tier, cause;
    char source[64];
};
struct oracle_component {
    int present, handles;
    bool left, told;
};

struct oracle {
    const struct vamp_components *components;
    struct fact facts[ORACLE_MAX * 8];
    size_t fact_count;
    struct oracle_cdo cdos[ORACLE_MAX];
    size_t cdo_count;
    struct oracle_wait seconds[ORACLE_MAX], received[ORACLE_MAX], demands[ORACLE_MAX],
        transports[ORACLE_MAX];
    size_t second_count, received_count, demand_count, transport_count;
    struct oracle_component table[256];
    /* the event at hand */
    const struct vamp_event *event;
    size_t event_number;
    int64_t bucket;
    uint32_t component;
    char name[64];
    /* buckets */
    bool began;
    int64_t first_bucket, latest_ns;
};

static inline void oracle_name(const struct oracle *o, uint32_t component, char name[64])
{
    (void)snprintf(name, 64, "%s",
                   component == 0 ? "unknown"
                                  : vamp_components_row(o->components, component)->name);
}

__attribute__((format(printf, 4, 5))) static inline void
oracle_fact(struct oracle *o, enum vamp_metric_id metric, int64_t value, const char *format, ...)
{
    struct fact *fact = &o->facts[o->fact_count++];
    fact->metric = metric;
    fact->bucket = o->bucket;
    fact->value = value;
    fact->event = o->event_number;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(fact->labels, sizeof fact->labels, format, arguments);
    va_end(arguments);
}

static inline void oracle_anomaly(struct oracle *o, const char *anomaly, int count)
{
    if (count > 0) {
        oracle_fact(o, VAMP_METRIC_ANOMALIES, count, "%s|%s", o->name, anomaly);
    }
}

/* The time since then, or -1 and an anomaly. */
static inline int64_t oracle_since(struct oracle *o, int64_t since_ns)
{
    if (o->event->time_ns < since_ns) {
        oracle_anomaly(o, "negative_interval", 1);
        return -1;
    }
    return o->event->time_ns - since_ns;
}

static inline const char *oracle_class(bool known, uint64_t size)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB"};
    static char text[4][64];
    static unsigned turn;
    char *to = text[turn++ % 4];
    if (!known) {
        return "unknown";
    }
    uint64_t low = 0, high = 256;
    while (size >= high && high < (UINT64_C(1) << 30)) {
        low = high;
        high *= 2;
    }
    if (size >= UINT64_C(1) << 30) {
        return "[1GiB,inf)";
    }
    int low_unit = 0, high_unit = 0;
    for (; low >= 1024; low /= 1024) {
        low_unit++;
    }
    for (; high >= 1024; high /= 1024) {
        high_unit++;
    }
    (void)snprintf(to, 64, "[%d%s,%d%s)", (int)low, units[low_unit], (int)high, units[high_unit]);
    return to;
}

static inline struct oracle_cdo *oracle_find(struct oracle *o, uint64_t id)
{
    for (size_t i = 0; i < o->cdo_count; i++) {
        if (o->cdos[i].id == id) {
            return &o->cdos[i];
        }
    }
    return NULL;
}

static inline struct oracle_wait *oracle_wait(struct oracle_wait *list, size_t count, uint64_t id,
                                              uint32_t component, uint64_t kind)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i].id == id && list[i].component == component && list[i].kind == kind) {
            return &list[i];
        }
    }
    return NULL;
}

static inline struct oracle_wait *oracle_put(struct oracle_wait *list, size_t *count, uint64_t id,
                                             uint32_t component, uint64_t kind)
{
    struct oracle_wait *found = oracle_wait(list, *count, id, component, kind);
    if (found == NULL) {
        found = &list[(*count)++];
        *found = (struct oracle_wait){.id = id, .component = component, .kind = kind};
    }
    return found;
}

static inline void oracle_drop(struct oracle_wait *list, size_t *count, struct oracle_wait *which)
{
    *which = list[--*count];
}

static inline int oracle_drop_all(struct oracle_wait *list, size_t *count, uint32_t component)
{
    int dropped = 0;
    for (size_t i = *count; i-- > 0;) {
        if (list[i].component == component) {
            oracle_drop(list, count, &list[i]);
            dropped++;
        }
    }
    return dropped;
}

static inline int64_t oracle_bucket(struct oracle *o, int64_t time_ns)
{
    int64_t bucket = time_ns / SECOND;
    if (!o->began) {
        o->began = true;
        o->first_bucket = bucket;
        o->latest_ns = time_ns;
    }
    o->latest_ns = time_ns > o->latest_ns ? time_ns : o->latest_ns;
    int64_t oldest = o->first_bucket;
    while ((oldest + 2) * SECOND <= o->latest_ns) {
        oldest++;
    }
    if (bucket < oldest) {
        oracle_fact(o, VAMP_METRIC_VAMPIRE_LATE, 1, "%s", "");
        o->facts[o->fact_count - 1].bucket = oldest;
        return oldest;
    }
    return bucket;
}

#endif
