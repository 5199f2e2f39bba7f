/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/bucket/patterns.h"

#include <fnmatch.h>
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

/* Whether no pattern concerns the label, or one of those that do fits the value. */
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
