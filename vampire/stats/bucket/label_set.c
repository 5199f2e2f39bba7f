/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of label sets and identifiers of series, the same for all who make some. */
#include <stdio.h>
#include <uuid/uuid.h>

#include "vampire/stats/bucket/bucket.h"

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
        const int added = snprintf(set->name + used, sizeof set->name - used, "%s%s",
                                   used == 0 ? "" : "_", vamp_label_name(label));
        used += added > 0 ? (size_t)added : 0;
        set->labels[set->label_count++] = (enum vamp_label)label;
    }
    if (set->label_count == 1) {
        (void)snprintf(set->name + used, sizeof set->name - used, "_series");
    }
}

/* Appends `text`, percent-encoding what separates the parts of an id's text. */
static char *append_escaped(char *to, const char *end, const char *text)
{
    for (; *text != '\0' && end - to > 4; text++) {
        if (*text == '/' || *text == '%') {
            to += snprintf(to, 4, "%%%02X", (unsigned char)*text);
        } else {
            *to++ = *text;
        }
    }
    return to;
}

void vamp_series_identify(const uint8_t series_space[static 16], const struct vamp_label_set *set,
                          struct vamp_series *series,
                          char scratch[static VAMP_SERIES_SCRATCH_BYTES])
{
    char *end = scratch + VAMP_SERIES_SCRATCH_BYTES;
    char *to = append_escaped(scratch, end, set->name);
    for (unsigned i = 0; i < set->label_count; i++) {
        *to++ = '/';
        to = append_escaped(to, end, vamp_label_name(set->labels[i]));
        *to++ = '=';
        to = append_escaped(to, end, series->labels[i]);
    }
    uuid_t id;
    uuid_generate_sha1(id, series_space, scratch, (size_t)(to - scratch));
    uuid_unparse_lower(id, series->id);
}
