/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/bucket/bucket.h"

#include <assert.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "vampire/core/io.h"
#include "vampire/core/options/options.h"

/* The number of references is stored in the bucket, which is constant otherwise. */
static unsigned *holders_of(const struct vamp_bucket *bucket)
{
    return (unsigned *)(uintptr_t)&bucket->holders;
}

const struct vamp_bucket *vamp_bucket_hold(const struct vamp_bucket *bucket)
{
    __atomic_add_fetch(holders_of(bucket), 1, __ATOMIC_RELAXED);
    return bucket;
}

/* Large freed blocks that are kept for the next buckets. An output may release several buckets
 * before the next one is built. Mapping and clearing a new block each time takes a sixth of the
 * time of a replay of `hour`. */
#define SPARES 2
static void *spares[SPARES];
#define SPARE_BYTES_MIN                                                                            \
    ((size_t)128 << 10) /* minimum size; glibc does not use mmap for smaller blocks */

static void free_block(void *memory)
{
    const bool large = malloc_usable_size(memory) >= SPARE_BYTES_MIN;
    for (unsigned i = 0; large && i < SPARES && memory != NULL; i++) {
        memory = __atomic_exchange_n(&spares[i], memory, __ATOMIC_ACQ_REL);
    }
    free(memory);
}

/* Returns a spare block of at least this size, or NULL if there is none. A block that is too small
 * or much too large is freed. */
static void *take_spare(size_t bytes)
{
    for (unsigned i = 0; i < SPARES; i++) {
        void *memory = __atomic_exchange_n(&spares[i], NULL, __ATOMIC_ACQ_REL);
        const size_t has = malloc_usable_size(memory);
        if (memory != NULL && has >= bytes && has / 4 <= bytes) {
            return memory;
        }
        free(memory);
    }
    return NULL;
}

bool vamp_bucket_block_take(struct vamp_bucket_block *block)
{
    const size_t bytes = block->used;
    assert(bytes > 0);
    void *memory = take_spare(bytes);
    if (memory == NULL) {
        memory = malloc(bytes + bytes / 8); /* the next bucket may be somewhat larger */
        if (memory != NULL) {
            vamp_pages_ask(memory, bytes);
        }
    }
    *block = (struct vamp_bucket_block){memory, 0};
    return memory != NULL;
}

void vamp_bucket_release(const struct vamp_bucket *bucket)
{
    if (bucket != NULL && __atomic_sub_fetch(holders_of(bucket), 1, __ATOMIC_ACQ_REL) == 0) {
        if (bucket->destroy != NULL) {
            bucket->destroy(bucket);
            return;
        }
        free((void *)(uintptr_t)bucket->alarms);
        free_block((void *)(uintptr_t)bucket);
    }
}

void *vamp_bucket_copy(struct vamp_bucket_block *block, const void *from, size_t bytes)
{
    void *part = vamp_bucket_cut(block, bytes);
    if (part != NULL && bytes > 0) {
        memcpy(part, from, bytes);
    }
    return part;
}

void vamp_bucket_set_alarms(const struct vamp_bucket *bucket, struct vamp_alarm_change *alarms,
                            unsigned count)
{
    struct vamp_bucket *own = (struct vamp_bucket *)(uintptr_t)bucket;
    assert(own->holders == 1 && own->alarms == NULL);
    own->alarms = alarms;
    own->alarm_count = count;
}

const char *vamp_gap_reason_name(unsigned reason)
{
    static const char *const names[VAMP_GAP_REASON_COUNT] = {
        [VAMP_GAP_LEAP] = "leap",
        [VAMP_GAP_MEMORY] = "memory",
        [VAMP_GAP_POOL_GONE] = "pool_gone",
        [VAMP_GAP_RUN_LOST] = "run_lost_buckets",
        [VAMP_GAP_ON_WAY] = "buckets_missing",
    };
    return reason < VAMP_LOSS_COUNT ? vamp_loss_name(reason) : VAMP_NAME_AT(names, reason);
}

void vamp_gap_join(struct vamp_gap *gaps, unsigned count, const struct vamp_gap *gap)
{
    struct vamp_gap *into = &gaps[count - 1];
    for (unsigned i = count; i-- > 0;) {
        if (gaps[i].reason == gap->reason) {
            into = &gaps[i];
            break;
        }
    }
    into->start_ns = VAMP_MIN(into->start_ns, gap->start_ns);
    into->end_ns = VAMP_MAX(into->end_ns, gap->end_ns);
    into->events += gap->events;
}

const char *vamp_cdo_time_name(unsigned what)
{
    static const char *const names[VAMP_CDO_TIME_COUNT] = {
        "declared", "sealed", "offered", "first_demand", "last_transport", "withdrawn", "disposed",
    };
    return VAMP_NAME_AT(names, what);
}

const char *vamp_cdo_end_name(unsigned end)
{
    static const char *const names[] = {"disposed", "left", "evicted", "run"};
    return VAMP_NAME_AT(names, end);
}

/* ---- totals */

uint64_t vamp_totals_operations(const struct vamp_totals *totals)
{
    uint64_t sum = 0;
    for (unsigned kind = 0; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        sum += totals->operations[kind];
    }
    return sum;
}

uint64_t vamp_totals_lost(const struct vamp_totals *totals)
{
    uint64_t sum = 0;
    for (unsigned reason = 0; reason < VAMP_LOSS_COUNT; reason++) {
        sum += totals->accounting.lost[reason];
    }
    return sum;
}

uint64_t vamp_totals_events(const struct vamp_totals *totals)
{
    return totals->accounting.received + totals->accounting.not_subscribed +
           vamp_totals_lost(totals);
}

/* ---- label sets */

uint32_t vamp_label_set_bits(const struct vamp_label_set *set)
{
    uint32_t labels = 0;
    for (unsigned i = 0; i < set->label_count; i++) {
        labels |= UINT32_C(1) << set->labels[i];
    }
    return labels;
}

void vamp_label_set_describe(struct vamp_label_set *set, uint32_t labels)
{
    set->name[0] = '\0';
    set->label_count = 0;
    size_t used = 0;
    for (unsigned label = 0; label < VAMP_LABEL_COUNT; label++) {
        if ((labels & UINT32_C(1) << label) == 0 || used >= sizeof set->name) {
            continue;
        }
        used += (size_t)snprintf(set->name + used, sizeof set->name - used, "%s%s",
                                 used == 0 ? "" : "_", vamp_label_name(label));
        set->labels[set->label_count++] = (enum vamp_label)label;
    }
    if (set->label_count == 1) {
        (void)snprintf(set->name + used, sizeof set->name - used, "_series");
    }
}

uint64_t vamp_bucket_resolution(const struct vamp_bucket *bucket, enum vamp_metric_id id)
{
    const struct vamp_metric *metric = &vamp_metrics[id];
    const bool is_own = id == VAMP_METRIC_OWN_ROUNDTRIP_NS || id == VAMP_METRIC_VAMPIRE_COMMIT_NS ||
                        (metric->sets & VAMP_SET_SAMPLED) != 0;
    if (metric->kind != VAMP_HISTOGRAM || is_own || strcmp(metric->unit, "ns") != 0) {
        return 0;
    }
    return bucket->accounting.resolution_ns;
}

void vamp_series_space_text(const uint8_t series_space[static 16],
                            char text[static VAMP_SERIES_SPACE_BYTES])
{
    uuid_unparse_lower(series_space, text);
}

/* ---- run labels */

const char *const vamp_run_label_words[VAMP_RUN_LABEL_COUNT + 1] = {
    "workflow", "run", "host", "pid", "user", "batch_job",
};

const char *vamp_run_label(const struct vamp_run *run, enum vamp_run_label label,
                           char scratch[static VAMP_RUN_LABEL_BYTES])
{
    switch (label) {
    case VAMP_RUN_WORKFLOW:
        return run->workflow;
    case VAMP_RUN_RUN:
        return run->id;
    case VAMP_RUN_HOST:
        return run->host;
    case VAMP_RUN_PID:
        (void)snprintf(scratch, VAMP_RUN_LABEL_BYTES, "%" PRIu64, run->pid);
        return scratch;
    case VAMP_RUN_USER:
        return run->user;
    case VAMP_RUN_BATCH_JOB:
        return run->batch_job;
    }
    return "";
}

uint64_t vamp_run_labels_to_add(const struct vamp_schema *schema, uint64_t labels)
{
    uint32_t own = 0;
    for (unsigned i = 0; i < schema->label_set_count; i++) {
        own |= vamp_label_set_bits(&schema->label_sets[i]);
    }
    if ((own >> VAMP_LABEL_WORKFLOW & 1U) != 0) {
        labels &= ~(UINT64_C(1) << VAMP_RUN_WORKFLOW);
    }
    if ((own >> VAMP_LABEL_RUN & 1U) != 0) {
        labels &= ~(UINT64_C(1) << VAMP_RUN_RUN);
    }
    return labels;
}

/* ---- selection of series */

bool vamp_series_pattern(const char *text, enum vamp_label *ret_label, const char **ret_pattern)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL) {
        return false;
    }
    const unsigned label = vamp_label_find(text, (size_t)(equals - text));
    if (label == VAMP_LABEL_COUNT) {
        return false;
    }
    *ret_label = (enum vamp_label)label;
    *ret_pattern = equals + 1;
    return true;
}

/* Returns whether the value matches a pattern of the label, or the label has no pattern. */
static bool label_is_wanted(const struct vamp_strings *patterns, enum vamp_label label,
                            const char *value)
{
    bool concerned = false;
    for (size_t i = 0; i < patterns->count; i++) {
        enum vamp_label of = VAMP_LABEL_COMPONENT;
        const char *pattern = NULL;
        if (!vamp_series_pattern(patterns->items[i], &of, &pattern) || of != label) {
            continue;
        }
        concerned = true;
        if (fnmatch(pattern, value, 0) == 0) {
            return true;
        }
    }
    return !concerned;
}

bool vamp_series_is_wanted(const struct vamp_strings *patterns, const struct vamp_label_set *set,
                           const struct vamp_series *series)
{
    for (unsigned i = 0; i < set->label_count; i++) {
        if (!label_is_wanted(patterns, set->labels[i], series->labels[i])) {
            return false;
        }
    }
    return true;
}
