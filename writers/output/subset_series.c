/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/output/subset_series.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

bool vamp_series_pattern(const char *text, enum vamp_label *ret_label, const char **ret_pattern)
{
    const char *equals = strchr(text, '=');
    for (unsigned label = 0; equals != NULL && label < VAMP_LABEL_COUNT; label++) {
        const char *name = vamp_label_name(label);
        const size_t length = (size_t)(equals - text);
        if (strlen(name) == length && memcmp(name, text, length) == 0) {
            *ret_label = (enum vamp_label)label;
            *ret_pattern = equals + 1;
            return true;
        }
    }
    return false;
}

/* Whether a pattern names the label, and whether one of its patterns matches the value. */
static bool fits(const struct vamp_strings *patterns, enum vamp_label label, const char *value,
                 bool *ret_spoken_of)
{
    *ret_spoken_of = false;
    for (size_t i = 0; i < patterns->count; i++) {
        enum vamp_label of = VAMP_LABEL_COMPONENT;
        const char *pattern = NULL;
        if (!vamp_series_pattern(patterns->items[i], &of, &pattern) || of != label) {
            continue;
        }
        *ret_spoken_of = true;
        if (value != NULL && fnmatch(pattern, value, 0) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_wanted(const struct vamp_strings *patterns, const struct vamp_label_set *set,
                      const struct vamp_series *series)
{
    for (unsigned i = 0; i < set->label_count; i++) {
        bool spoken_of = false;
        if (!fits(patterns, set->labels[i], series->labels[i], &spoken_of) && spoken_of) {
            return false;
        }
    }
    return true;
}

static bool concerns(const struct vamp_strings *patterns, const struct vamp_label_set *set)
{
    bool spoken_of = false;
    for (unsigned i = 0; i < set->label_count && !spoken_of; i++) {
        (void)fits(patterns, set->labels[i], NULL, &spoken_of);
    }
    return spoken_of;
}

int vamp_series_subset_init(struct vamp_series_subset *choice, const struct vamp_strings *patterns,
                            const struct vamp_schema *schema)
{
    *choice = (struct vamp_series_subset){.patterns = patterns};
    choice->sets = calloc(schema->label_set_count + 1, sizeof *choice->sets);
    if (choice->sets == NULL) {
        return -ENOMEM;
    }
    choice->set_count = schema->label_set_count;
    for (unsigned i = 0; i < schema->label_set_count; i++) {
        struct vamp_chosen_set *set = &choice->sets[i];
        const size_t most = schema->label_sets[i].max_series;
        set->restricted = concerns(patterns, &schema->label_sets[i]);
        if (!set->restricted) {
            continue;
        }
        /* Pages that are never touched cost nothing. */
        set->number = calloc(most, sizeof *set->number);
        set->series = calloc(most, sizeof(const struct vamp_series *));
        if (set->number == NULL || set->series == NULL) {
            return -ENOMEM;
        }
    }
    return 0;
}

void vamp_series_subset_done(struct vamp_series_subset *choice)
{
    for (unsigned i = 0; i < choice->set_count; i++) {
        free(choice->sets[i].number);
        free(choice->sets[i].series);
    }
    free(choice->sets);
    *choice = (struct vamp_series_subset){0};
}

void vamp_series_subset_learn(struct vamp_series_subset *choice, const struct vamp_bucket *bucket)
{
    for (unsigned i = 0; i < choice->set_count; i++) {
        struct vamp_chosen_set *set = &choice->sets[i];
        const struct vamp_label_set *labels = &bucket->schema->label_sets[i];
        for (; set->restricted && set->known < bucket->series_count[i]; set->known++) {
            const struct vamp_series *series = bucket->series[i][set->known];
            const bool wanted = set->known == 0 || is_wanted(choice->patterns, labels, series);
            set->number[set->known] = wanted ? set->count : VAMP_SERIES_LEFT_OUT;
            if (wanted) {
                set->series[set->count++] = series;
            }
        }
    }
}
