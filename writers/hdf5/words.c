/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Labels with a closed list of values, and the resulting cells. Each such label is a dimension of
 * the overview. Word 0 is "(other)"; the others follow in the order of the list in the program. The
 * names of outputs are not in a list: their words are added when outputs appear.
 */
#include "writers/hdf5/words.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/values.h"
#include "writers/hdf5/error.h"
#include "writers/hdf5/file.h"

bool hdf5_is_unseen(const struct hdf5_file *file, unsigned place)
{
    const struct vamp_coverage *coverage = file->schema->coverage;
    return coverage != NULL && place == VAMP_LOSS_POOL_MANAGER &&
           (coverage->unknown & VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_LOSSES)) != 0;
}

/* Returns word `number` of the label's list, NULL after its end. The words of operations start with
 * 1, as do the reasons of losses if losses with the first reason cannot be observed. */
static const char *word_of(const struct hdf5_file *file, enum vamp_label label, unsigned number)
{
    static_assert(VAMP_LOSS_POOL_MANAGER == 0, "the first");
    const struct vamp_label_values *values = &vamp_label_values[label];
    const bool from_one =
        label == VAMP_LABEL_OPERATION || (label == VAMP_LABEL_REASON && hdf5_is_unseen(file, 0));
    const unsigned value = number + from_one;
    if (values->text == NULL || value >= values->count) {
        return NULL;
    }
    return values->text(value);
}

/* Creates the dimension of a closed label, and writes its list of words. */
static void create_words(struct hdf5_file *file, enum vamp_label label)
{
    struct hdf5_words *words = &file->words[label];
    char about[HDF5_NAME_BYTES];
    static_assert(VAMP_OUTPUTS_MAX < HDF5_WORDS_MAX, "all outputs have a word");
    assert(vamp_label_values[label].count > 0);
    words->words[0] = VAMP_SERIES_OTHER;
    for (words->named = 1; word_of(file, label, words->named - 1) != NULL; words->named++) {
        assert(words->named < HDF5_WORDS_MAX);
        words->words[words->named] = word_of(file, label, words->named - 1);
    }
    words->slots = label == VAMP_LABEL_OUTPUT ? VAMP_OUTPUTS_MAX + 1 : words->named;
    words->dimension = file->dimension_count;
    (void)snprintf(about, sizeof about, "values of the label %s", vamp_label_name(label));
    words->text = hdf5_words_dimension_create(file, vamp_label_name(label), about, words->slots,
                                              hdf5_words_length(label));
    hdf5_dataset_put_texts(file, words->text, 0, words->named, words->words);
}

unsigned hdf5_words_length(enum vamp_label label)
{
    if (vamp_label_is_open(label) || label == VAMP_LABEL_OUTPUT) {
        return HDF5_NAME_LENGTH;
    }
    return HDF5_WORD_LENGTH;
}

void hdf5_words_create(struct hdf5_file *file)
{
    const struct vamp_schema *schema = file->schema;
    for (unsigned s = 0; s < schema->label_set_count; s++) {
        struct hdf5_set *own = &file->sets[s];
        own->cells = 1;
        for (unsigned l = 0; l < schema->label_sets[s].label_count; l++) {
            const enum vamp_label label = schema->label_sets[s].labels[l];
            if (vamp_label_is_open(label)) {
                continue;
            }
            if (file->words[label].dimension == 0) {
                create_words(file, label);
            }
            own->closed[own->closed_count++] = l;
            own->cells *= file->words[label].slots;
        }
    }
}

/* Returns the number of a label value, or 0 ("(other)") if it is not in the list. Only the list of
 * label `output` can grow: a new value is added to it while there is capacity. */
static unsigned number_or_add(struct hdf5_file *file, enum vamp_label label, const char *text)
{
    struct hdf5_words *words = &file->words[label];
    for (unsigned w = 0; w < words->named; w++) {
        if (strcmp(words->words[w], text) == 0) {
            return w;
        }
    }
    if (label != VAMP_LABEL_OUTPUT || words->named == words->slots) {
        return 0;
    }
    words->words[words->named] = text;
    hdf5_dataset_put_texts(file, words->text, words->named, 1, &text);
    return words->named++;
}

/* Enlarges an array to `count` items of `bytes` bytes. Returns false if out of memory. */
static bool grow(void *array, unsigned count, size_t bytes)
{
    void **items = array;
    void *larger = realloc(*items, count * bytes);
    if (larger == NULL) {
        return false;
    }
    *items = larger;
    return true;
}

/* Assigns a cell to each new series of the label set, and enlarges the arrays of the set if needed.
 */
static void place_set(struct hdf5_file *file, const struct vamp_bucket *bucket, unsigned number)
{
    const struct vamp_label_set *description = &file->schema->label_sets[number];
    struct hdf5_set *set = &file->sets[number];
    const unsigned count = bucket->series_count[number];
    if (count > set->capacity) {
        const unsigned capacity = VAMP_MAX(count, 2 * set->capacity);
        if (!grow(&set->cell, capacity, sizeof *set->cell) ||
            !grow(&set->changed, capacity, sizeof *set->changed) ||
            !grow(&set->is_changed, capacity, sizeof *set->is_changed)) {
            hdf5_no_memory(file, "prepare the series of a bucket");
            return;
        }
        set->capacity = capacity;
    }
    for (; file->code == 0 && set->known < count; set->known++) {
        uint32_t cell = 0;
        for (unsigned c = 0; c < set->closed_count; c++) {
            const enum vamp_label label = description->labels[set->closed[c]];
            const char *text = bucket->series[number][set->known]->labels[set->closed[c]];
            cell = cell * file->words[label].slots + number_or_add(file, label, text);
        }
        set->cell[set->known] = cell;
    }
}

void hdf5_words_place(struct hdf5_file *file, const struct vamp_bucket *bucket)
{
    for (unsigned s = 0; file->code == 0 && s < file->schema->label_set_count; s++) {
        place_set(file, bucket, s);
    }
}
