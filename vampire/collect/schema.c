/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schema: all metrics of the catalogue with the labels of the level, and `workflow` and `run`
 * in addition. A series belongs to all runs that send its labels; the values of its labels are
 * copied once, in bounded memory.
 */
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "vampire/collect/internal.h"

#define LABEL(name) (UINT32_C(1) << VAMP_LABEL_##name)
/* Of values of labels, for each series of a label set. */
#define NAME_BYTES_PER_SERIES ((size_t)256)

/* ---- the schema */

static uint32_t labels_of(const struct vamp_collect *collect, const struct vamp_metric *metric)
{
    return (metric->sets & VAMP_SET_COLLECT) != 0
               ? metric->labels
               : vamp_metric_labels_at(metric, collect->options.level) | LABEL(WORKFLOW) |
                     LABEL(RUN);
}

static unsigned find_set(struct vamp_collect *collect, uint32_t labels)
{
    for (unsigned i = 0; i < collect->schema.label_set_count; i++) {
        if (vamp_label_set_bits(&collect->label_sets[i]) == labels) {
            return i;
        }
    }
    const unsigned place = collect->schema.label_set_count++;
    vamp_label_set_describe(&collect->label_sets[place], labels);
    collect->label_sets[place].max_series = labels == 0 ? 1 : collect->options.max_series;
    return place;
}

static void describe(struct vamp_collect *collect)
{
    for (unsigned id = 0; id < VAMP_METRIC_COUNT; id++) {
        collect->place[id] = collect->schema.metric_count;
        collect->metrics[collect->schema.metric_count++] = (struct vamp_schema_metric){
            .id = (enum vamp_metric_id)id,
            .label_set = find_set(collect, labels_of(collect, &vamp_metrics[id])),
        };
    }
    collect->schema.label_sets = collect->label_sets;
    collect->schema.metrics = collect->metrics;
    vamp_bins_init(&collect->schema.bins, collect->options.sub_bits);
    collect->schema.max_components = collect->options.max_runs;
    collect->schema.level = collect->options.level;
    collect->schema.bucket_ns = collect->options.bucket_ns;
}

int collect_schema_init(struct vamp_collect *collect, struct vamp_err *err)
{
    if (uuid_parse(collect->options.series_space, collect->schema.series_space) != 0) {
        return vamp_err_set(err, -EINVAL, "name space \"%s\" of series is no UUID",
                            collect->options.series_space);
    }
    collect->options.series_space = NULL;
    describe(collect);
    collect->scratch = malloc(VAMP_SERIES_SCRATCH_BYTES);
    int code = collect->scratch != NULL ? map_init(&collect->names) : -ENOMEM;
    for (unsigned i = 0; code == 0 && i < collect->schema.label_set_count; i++) {
        code = vamp_merged_series_init(&collect->series[i], &collect->label_sets[i]);
        collect->series_tables[i] = collect->series[i].places;
        if (code == 0) {
            const char *other[VAMP_LABELS_MAX];
            for (unsigned l = 0; l < VAMP_LABELS_MAX; l++) {
                other[l] = VAMP_SERIES_OTHER;
            }
            (void)collect_series(collect, i, other);
        }
    }
    return code == 0 ? 0 : vamp_err_set_errno(err, ENOMEM, "prepare the series of collected runs");
}

void collect_schema_done(struct vamp_collect *collect)
{
    for (unsigned i = 0; i < collect->schema.label_set_count; i++) {
        vamp_merged_series_done(&collect->series[i]);
    }
    while (collect->name_list != NULL) {
        struct collect_name *name = collect->name_list;
        collect->name_list = name->next;
        free(name);
    }
    map_done(&collect->names);
    free(collect->scratch);
}

/* ---- series */

/* The text, which stays; NULL: no room. */
static const char *keep_name(struct vamp_collect *collect, const char *text)
{
    const size_t length = strlen(text);
    const uint64_t hash = map_hash_text(&collect->names, text, length);
    for (struct map_link *link = map_first(&collect->names, hash); link != NULL;
         link = map_next(link)) {
        const struct collect_name *known = (const struct collect_name *)(const void *)link;
        if (strcmp(known->text, text) == 0) {
            return known->text;
        }
    }
    const size_t bytes = sizeof(struct collect_name) + length + 1;
    struct collect_name *name =
        collect->name_bytes + bytes <= collect->options.max_series * NAME_BYTES_PER_SERIES
            ? malloc(bytes)
            : NULL;
    if (name == NULL) {
        return NULL;
    }
    memcpy(name->text, text, length + 1);
    name->next = collect->name_list;
    collect->name_list = name;
    map_insert(&collect->names, &name->link, hash);
    collect->name_bytes += bytes;
    return name->text;
}

/* Models are not in messages of components. */
static void set_models(const struct vamp_label_set *set, struct vamp_series *series)
{
    for (unsigned i = 0; i < VAMP_NAME_LABELS_MAX && i < set->label_count; i++) {
        series->models[i] = vamp_label_is_name(set->labels[i]) ? VAMP_SERIES_OTHER : NULL;
    }
}

static bool is_other(const struct vamp_label_set *set,
                     const char *const labels[static VAMP_LABELS_MAX])
{
    bool is = true;
    for (unsigned i = 0; i < set->label_count; i++) {
        is = is && strcmp(labels[i], VAMP_SERIES_OTHER) == 0;
    }
    return is;
}

uint32_t collect_series(struct vamp_collect *collect, unsigned set,
                        const char *const labels[static VAMP_LABELS_MAX])
{
    struct vamp_merged_series *all = &collect->series[set];
    struct vamp_series wanted = {.labels = {NULL}};
    bool kept = true, is_new = false;
    for (unsigned i = 0; i < all->labels->label_count; i++) {
        wanted.labels[i] = keep_name(collect, labels[i]);
        kept = kept && wanted.labels[i] != NULL;
    }
    const uint32_t number = kept ? vamp_merged_series_place(all, &wanted, &is_new) : 0;
    if (is_new) {
        set_models(all->labels, &all->series[number]);
        vamp_series_identify(collect->schema.series_space, all->labels, &all->series[number],
                             collect->scratch);
    } else if (number == 0 && !is_other(all->labels, labels)) {
        collect->counts.refused[VAMP_REFUSAL_SERIES]++;
    }
    return number;
}
