/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Labels whose values are a closed list, and the cells they make. Each such label is a dimension of
 * the overview. Word 0 is "(other)", the others follow in the order of the program's list. Outputs
 * have no such list: their words are named as they appear.
 */
#include "writers/hdf5/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The word `number` of the list, NULL after its end. */
static const char *word_of(enum vamp_label label, unsigned number)
{
    switch (label) {
    case VAMP_LABEL_OPERATION: /* they have the numbers 1, 2, ... */
        return number + 1 < VAMP_EVENT_KIND_COUNT ? vamp_event_kind_name(number + 1) : NULL;
    case VAMP_LABEL_SIZE_CLASS:
        return number < VAMP_SIZE_CLASS_COUNT ? vamp_size_class_name(number) : NULL;
    case VAMP_LABEL_TIER:
        return number < VAMP_TIER_COUNT ? vamp_tier_name(number) : NULL;
    case VAMP_LABEL_CAUSE:
        return number < VAMP_CAUSE_COUNT ? vamp_cause_name(number) : NULL;
    case VAMP_LABEL_ANOMALY:
        return number < VAMP_ANOMALY_COUNT ? vamp_anomaly_name(number) : NULL;
    case VAMP_LABEL_REASON:
        return number < VAMP_LOSS_COUNT ? vamp_loss_name(number) : NULL;
    case VAMP_LABEL_PART:
        return number < VAMP_WAIT_PART_COUNT ? vamp_wait_part_name(number) : NULL;
    case VAMP_LABEL_REFUSAL:
        return number < VAMP_REFUSAL_COUNT ? vamp_refusal_name(number) : NULL;
    case VAMP_LABEL_WORKFLOW:
    case VAMP_LABEL_RUN:
    case VAMP_LABEL_COMPONENT:
    case VAMP_LABEL_SOURCE:
    case VAMP_LABEL_SINK:
    case VAMP_LABEL_PRODUCER:
    case VAMP_LABEL_MODEL:
    case VAMP_LABEL_SOURCE_MODEL:
    case VAMP_LABEL_SINK_MODEL:
    case VAMP_LABEL_PRODUCER_MODEL:
    case VAMP_LABEL_OUTPUT:
        break;
    }
    return NULL;
}

static int create_words(struct hdf5_file *file, enum vamp_label label, struct vamp_err *err)
{
    struct hdf5_words *words = &file->words[label];
    char name[HDF5_NAME_BYTES], about[HDF5_NAME_BYTES];
    while (word_of(label, words->named) != NULL) {
        words->named++;
    }
    words->named++; /* (other) */
    words->slots = label == VAMP_LABEL_OUTPUT ? VAMP_OUTPUTS_MAX + 1 : words->named;
    words->dimension = file->dimension_count++;
    (void)snprintf(name, sizeof name, "%s_series", vamp_label_name(label));
    int code = hdf5_dimension_create(file, words->dimension, name, words->slots, false, err);
    (void)snprintf(about, sizeof about, "values of the label %s", vamp_label_name(label));
    if (code == 0) {
        code = hdf5_layout_text(file, vamp_label_name(label), about, words->dimension,
                                hdf5_layout_length(label), &words->text, err);
    }
    for (unsigned w = 0; code == 0 && w < words->named; w++) {
        code = hdf5_dataset_put_text(file, words->text, w,
                                     w == 0 ? VAMP_SERIES_OTHER : word_of(label, w - 1), err);
    }
    return code;
}

int hdf5_words_create(struct hdf5_file *file, struct vamp_err *err)
{
    const struct vamp_schema *schema = file->schema;
    for (unsigned s = 0; s < schema->label_set_count; s++) {
        struct hdf5_set *own = &file->sets[s];
        own->cells = 1;
        for (unsigned l = 0; l < schema->label_sets[s].label_count; l++) {
            const enum vamp_label label = schema->label_sets[s].labels[l];
            struct hdf5_words *words = &file->words[label];
            if (vamp_label_is_open(label)) {
                continue;
            }
            const int code = words->dimension == 0 ? create_words(file, label, err) : 0;
            if (code != 0) {
                return code;
            }
            own->closed[own->closed_count++] = l;
            own->cells *= words->slots;
        }
    }
    return 0;
}

static int name_output(struct hdf5_file *file, const char *text, unsigned *ret_word,
                       struct vamp_err *err)
{
    struct hdf5_words *words = &file->words[VAMP_LABEL_OUTPUT];
    for (unsigned w = 1; w < words->named; w++) {
        if (strcmp(file->output_words[w], text) == 0) {
            *ret_word = w;
            return 0;
        }
    }
    if (words->named == words->slots) {
        return 0; /* (other) */
    }
    file->output_words[words->named] = text;
    *ret_word = words->named++;
    return hdf5_dataset_put_text(file, words->text, *ret_word, text, err);
}

static int number_of(struct hdf5_file *file, enum vamp_label label, const char *text,
                     unsigned *ret_word, struct vamp_err *err)
{
    *ret_word = 0;
    if (strcmp(text, VAMP_SERIES_OTHER) == 0) {
        return 0;
    }
    if (label == VAMP_LABEL_OUTPUT) {
        return name_output(file, text, ret_word, err);
    }
    for (unsigned w = 1; w < file->words[label].slots; w++) {
        if (strcmp(word_of(label, w - 1), text) == 0) {
            *ret_word = w;
            return 0;
        }
    }
    return 0;
}

static int report_memory(unsigned series, struct vamp_err *err)
{
    return vamp_err_set_errno(err, ENOMEM, "prepare %u series of a bucket", series);
}

static int make_room(struct hdf5_set *set, unsigned count, struct vamp_err *err)
{
    if (count <= set->capacity) {
        return 0;
    }
    const unsigned capacity = count < 2 * set->capacity ? 2 * set->capacity : count;
    uint32_t *cell = realloc(set->cell, capacity * sizeof *cell);
    if (cell == NULL) {
        return report_memory(count, err);
    }
    set->cell = cell;
    uint32_t *changed = realloc(set->changed, capacity * sizeof *changed);
    if (changed == NULL) {
        return report_memory(count, err);
    }
    set->changed = changed;
    bool *is_changed = realloc(set->is_changed, capacity * sizeof *is_changed);
    if (is_changed == NULL) {
        return report_memory(count, err);
    }
    set->is_changed = is_changed;
    set->capacity = capacity;
    return 0;
}

static int place_set(struct hdf5_file *file, const struct vamp_bucket *bucket, unsigned number,
                     struct vamp_err *err)
{
    const struct vamp_label_set *description = &file->schema->label_sets[number];
    struct hdf5_set *set = &file->sets[number];
    int code = make_room(set, bucket->series_count[number], err);
    for (; code == 0 && set->known < bucket->series_count[number]; set->known++) {
        uint32_t cell = 0;
        for (unsigned c = 0; code == 0 && c < set->closed_count; c++) {
            const unsigned l = set->closed[c];
            unsigned word = 0;
            code = number_of(file, description->labels[l],
                             bucket->series[number][set->known]->labels[l], &word, err);
            cell = cell * file->words[description->labels[l]].slots + word;
        }
        set->cell[set->known] = cell;
    }
    return code;
}

int hdf5_words_place(struct hdf5_file *file, const struct vamp_bucket *bucket, struct vamp_err *err)
{
    int code = 0;
    for (unsigned s = 0; code == 0 && s < file->schema->label_set_count; s++) {
        code = place_set(file, bucket, s, err);
    }
    return code;
}
