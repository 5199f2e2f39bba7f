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

static void describe(struct vamp_collect *collect, const uuid_t space)
{
    const struct vamp_collect_options *options = &collect->options;
    struct vamp_schema like = {
        .max_components = options->max_runs,
        .level = options->level,
        .bucket_ns = options->bucket_ns,
    };
    vamp_bins_init(&like.bins, options->sub_bits);
    memcpy(like.series_space, space, sizeof like.series_space);
    vamp_merged_begin(&collect->merged, &like);
    for (unsigned id = 0; id < vamp_metric_count(); id++) {
        (void)vamp_merged_metric(&collect->merged, (enum vamp_metric_id)id,
                                 labels_of(collect, &vamp_metrics[id]));
    }
    for (unsigned i = 0; i < collect->merged.schema.label_set_count; i++) {
        struct vamp_label_set *set = &collect->merged.label_sets[i];
        set->max_series = set->label_count == 0 ? 1 : options->max_series;
    }
}

int collect_schema_init(struct vamp_collect *collect, struct vamp_err *err)
{
    uuid_t space;
    if (uuid_parse(collect->options.series_space, space) != 0) {
        return vamp_err_set(err, -EINVAL, "name space \"%s\" of series is no UUID",
                            collect->options.series_space);
    }
    collect->options.series_space = NULL;
    describe(collect, space);
    if (map_init(&collect->names) != 0 || vamp_merged_create(&collect->merged) != 0) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the series of collected runs");
    }
    const char *other[VAMP_LABELS_MAX];
    for (unsigned i = 0; i < VAMP_LABELS_MAX; i++) {
        other[i] = VAMP_SERIES_OTHER;
    }
    for (unsigned i = 0; i < collect->merged.schema.label_set_count; i++) {
        (void)collect_series(collect, i, other);
    }
    return 0;
}

void collect_schema_done(struct vamp_collect *collect)
{
    vamp_merged_done(&collect->merged);
    while (collect->name_list != NULL) {
        struct collect_name *name = collect->name_list;
        collect->name_list = name->next;
        free(name);
    }
    map_done(&collect->names);
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
    const struct vamp_label_set *own = &collect->merged.label_sets[set];
    struct vamp_series wanted = {.labels = {NULL}};
    bool kept = true;
    for (unsigned i = 0; i < own->label_count; i++) {
        wanted.labels[i] = keep_name(collect, labels[i]);
        kept = kept && wanted.labels[i] != NULL;
    }
    set_models(own, &wanted);
    const uint32_t number = kept ? vamp_merged_place(&collect->merged, set, &wanted) : 0;
    if (number == 0 && !is_other(own, labels)) {
        collect->counts.refused[VAMP_REFUSAL_SERIES]++;
    }
    return number;
}
