/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/run_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vamp_run_file *vamp_run_file_create(void)
{
    return calloc(1, sizeof(struct vamp_run_file));
}

static void free_components(struct vamp_run_file *file)
{
    for (size_t i = 0; i < file->component_count; i++) {
        free((char *)(uintptr_t)file->components[i].name);
    }
    free(file->components);
}

void vamp_run_file_free(struct vamp_run_file *file)
{
    if (file == NULL) {
        return;
    }
    free_components(file);
    for (unsigned i = 0; i < VAMP_FILE_HISTOGRAM_COUNT; i++) {
        free(file->histograms[i]);
    }
    free(file->workflow);
    free(file->output);
    free(file->reason);
    free(file);
}

int vamp_run_file_text(char **text, const char *from, size_t length, struct vamp_err *err)
{
    char *copy = strndup(from, length);
    if (copy == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "read the file");
    }
    free(*text);
    *text = copy;
    return 0;
}

int vamp_run_file_bins(struct vamp_run_file *file, unsigned count, struct vamp_err *err)
{
    for (unsigned sub_bits = 2; sub_bits <= 4; sub_bits++) {
        vamp_bins_init(&file->bins, sub_bits);
        if (file->bins.count == count) {
            return 0;
        }
    }
    return vamp_err_set(err, -EBADMSG, "vampire has no histograms of %u bins", count);
}

/* The totals point to the file's histograms. */
static void show_histograms(struct vamp_run_file *file)
{
    file->totals.transport_ns = file->histograms[VAMP_FILE_TRANSPORT_NS];
    file->totals.demand_wait_ns = file->histograms[VAMP_FILE_DEMAND_WAIT_NS];
}

int vamp_run_file_histogram(struct vamp_run_file *file, enum vamp_file_histogram which,
                            struct vamp_err *err)
{
    struct vamp_histogram *made = malloc(sizeof *made + VAMP_BINS_MAX * sizeof made->bins[0]);
    if (made == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "read the file");
    }
    vamp_histogram_clear(made, VAMP_BINS_MAX);
    free(file->histograms[which]);
    file->histograms[which] = made;
    show_histograms(file);
    return 0;
}

static bool make_room(struct vamp_run_file *file, size_t rows)
{
    if (rows <= file->component_room) {
        return true;
    }
    const size_t room = rows * 2;
    struct vamp_component *larger = reallocarray(file->components, room, sizeof *file->components);
    if (larger != NULL) {
        file->components = larger;
        file->component_room = room;
    }
    return larger != NULL;
}

int vamp_run_file_component(struct vamp_run_file *file, size_t row,
                            const struct vamp_component *component, struct vamp_err *err)
{
    if (row >= VAMP_COMPONENTS_MAX) {
        return vamp_err_set(err, -EBADMSG, "it has a component of number %zu", row);
    }
    char *name = strdup(component->name);
    if (name == NULL || !make_room(file, row + 1)) {
        free(name);
        return vamp_err_set_errno(err, ENOMEM, "read its components");
    }
    for (; file->component_count <= row; file->component_count++) {
        file->components[file->component_count] = (struct vamp_component){.name = NULL};
    }
    free((char *)(uintptr_t)file->components[row].name);
    file->components[row] = *component;
    file->components[row].name = name;
    return 0;
}

void vamp_run_file_bucket(struct vamp_run_file *file, uint64_t number, uint64_t count,
                          int64_t start_ns, int64_t width_ns)
{
    if (file->buckets == 0) {
        file->first_number = number;
        file->first_ns = start_ns;
    } else if (number > file->next_number) {
        file->lost += number - file->next_number;
    }
    file->next_number = number + count;
    file->last_ns = start_ns + width_ns;
    file->buckets += count;
}

void vamp_run_file_gap(struct vamp_run_file *file, const char *reason, int64_t start_ns,
                       int64_t end_ns)
{
    if (strcmp(reason, vamp_gap_reason_name(VAMP_GAP_POOL_GONE)) == 0) {
        file->totals.unwatched++;
        file->totals.unwatched_ns += end_ns > start_ns ? (uint64_t)(end_ns - start_ns) : 0;
    }
}

static int join_components(struct vamp_run_file *sum, const struct vamp_run_file *next,
                           struct vamp_err *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < next->component_count; i++) {
        if (next->components[i].name != NULL) {
            code = vamp_run_file_component(sum, i, &next->components[i], err);
        }
    }
    return code;
}

/* Of the buckets before the next segment's. */
static int join_histograms(struct vamp_run_file *sum, struct vamp_run_file *next,
                           struct vamp_err *err)
{
    for (unsigned i = 0; i < VAMP_FILE_HISTOGRAM_COUNT; i++) {
        struct vamp_histogram *newer = next->histograms[i];
        if (newer == NULL || sum->histograms[i] == NULL) {
            continue;
        }
        if (sum->bins.count != next->bins.count) {
            return vamp_err_set(err, -EBADMSG,
                                "the files of this run have histograms of %u and of %u bins",
                                sum->bins.count, next->bins.count);
        }
        vamp_histogram_merge(newer, sum->histograms[i], sum->bins.count);
    }
    return 0;
}

static void join_buckets(struct vamp_run_file *sum, struct vamp_run_file *next)
{
    if (next->segment > sum->segment + 1) {
        next->segments_missing = sum->segments_missing + next->segment - sum->segment - 1;
    } else {
        next->segments_missing = sum->segments_missing;
        next->lost += next->first_number - sum->next_number;
    }
    next->lost += sum->lost;
    next->buckets += sum->buckets;
    next->first_number = sum->first_number;
    next->first_ns = sum->first_ns;
}

/* Exchanges the tables of components. */
static void swap_components(struct vamp_run_file *one, struct vamp_run_file *other)
{
    struct vamp_component *const rows = one->components;
    const size_t count = one->component_count, room = one->component_room;
    one->components = other->components;
    one->component_count = other->component_count;
    one->component_room = other->component_room;
    other->components = rows;
    other->component_count = count;
    other->component_room = room;
}

/* A segment without a bucket has no totals, only an end. */
static void join_end(struct vamp_run_file *sum, struct vamp_run_file *next)
{
    char *const reason = sum->reason;
    sum->segment = next->segment;
    sum->end = next->end;
    sum->ended_ns = next->ended_ns;
    sum->reason = next->reason;
    next->reason = reason;
}

/* The rule with this name, new at need; NULL: there is no room. */
static struct vamp_file_alarm *need_alarm(struct vamp_run_file *file, const char *rule,
                                          const char *severity)
{
    for (unsigned i = 0; i < file->alarm_count; i++) {
        if (strcmp(file->alarms[i].name, rule) == 0) {
            return &file->alarms[i];
        }
    }
    if (file->alarm_count == VAMP_FILE_ALARMS_MAX) {
        return NULL;
    }
    struct vamp_file_alarm *alarm = &file->alarms[file->alarm_count++];
    *alarm = (struct vamp_file_alarm){.fired = 0};
    (void)snprintf(alarm->name, sizeof alarm->name, "%s", rule);
    (void)snprintf(alarm->severity, sizeof alarm->severity, "%s", severity);
    return alarm;
}

void vamp_run_file_alarm(struct vamp_run_file *file, const char *rule, const char *severity,
                         const char *state, bool delayed)
{
    struct vamp_file_alarm *alarm = rule[0] != '\0' ? need_alarm(file, rule, severity) : NULL;
    if (alarm == NULL) {
        return;
    }
    if (strcmp(state, "pending") == 0) {
        alarm->pending++;
    } else if (strcmp(state, "firing") == 0) {
        alarm->fired++;
        alarm->firing++;
        alarm->pending -= delayed;
    } else if (strcmp(state, "resolved") == 0) {
        alarm->firing--;
    } else if (strcmp(state, "cleared") == 0) {
        alarm->pending--;
    }
}

static void join_alarms(struct vamp_run_file *sum, struct vamp_run_file *next)
{
    struct vamp_file_alarm later[VAMP_FILE_ALARMS_MAX];
    const unsigned later_count = next->alarm_count;
    memcpy(later, next->alarms, sizeof later);
    memcpy(next->alarms, sum->alarms, sizeof next->alarms);
    next->alarm_count = sum->alarm_count;
    for (unsigned i = 0; i < later_count; i++) {
        struct vamp_file_alarm *alarm = need_alarm(next, later[i].name, later[i].severity);
        if (alarm != NULL) {
            alarm->fired += later[i].fired;
            alarm->firing += later[i].firing;
            alarm->pending += later[i].pending;
        }
    }
}

int vamp_run_file_join(struct vamp_run_file *sum, struct vamp_run_file *next, struct vamp_err *err)
{
    int code = join_components(sum, next, err);
    const bool goes_on = sum->buckets > 0 && next->first_number >= sum->next_number;
    if (next->buckets == 0) {
        join_end(sum, next);
    } else {
        if (code == 0 && goes_on) {
            code = join_histograms(sum, next, err);
            join_buckets(sum, next);
            join_alarms(sum, next);
            next->totals.unwatched += sum->totals.unwatched;
            next->totals.unwatched_ns += sum->totals.unwatched_ns;
        }
        swap_components(sum, next);
        const struct vamp_run_file older = *sum;
        *sum = *next;
        *next = older;
    }
    vamp_run_file_free(next);
    show_histograms(sum);
    return code;
}
