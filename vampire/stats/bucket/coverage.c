/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/bucket/coverage.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *word, *sentence;
} unknowns[VAMP_UNKNOWN_COUNT] = {
#define VAMP_UNKNOWN(symbol, number, word, sentence) [number] = {word, sentence},
#include "vampire/core/event/knows.def"
#undef VAMP_UNKNOWN
};

const char *vamp_unknown_word(enum vamp_unknown unknown)
{
    return unknowns[unknown].word;
}

/* Appends a sentence such as "no events of these kinds: offer demand" to the text, which has `used`
 * bytes. */
static void append_kinds(uint64_t kinds, char text[static VAMP_ABSENCE_BYTES], size_t used)
{
    const char *separator = used > 0 ? "; " : "";
    used += (size_t)snprintf(text + used, VAMP_ABSENCE_BYTES - used,
                             "%sno events of these kinds:", separator);
    for (unsigned kind = 1; kind < VAMP_EVENT_KIND_COUNT && used < VAMP_ABSENCE_BYTES; kind++) {
        if ((kinds & VAMP_EVENT_BIT(kind)) != 0) {
            used += (size_t)snprintf(text + used, VAMP_ABSENCE_BYTES - used, " %s",
                                     vamp_event_kind_name(kind));
        }
    }
}

const char *vamp_unknown_reason(uint32_t lacking, char text[static VAMP_ABSENCE_BYTES])
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < VAMP_UNKNOWN_COUNT && used < VAMP_ABSENCE_BYTES; i++) {
        if ((lacking & VAMP_UNKNOWN_BIT(i)) != 0) {
            used += (size_t)snprintf(text + used, VAMP_ABSENCE_BYTES - used, "%s%s",
                                     used > 0 ? "; " : "", unknowns[i].sentence);
        }
    }
    return text;
}

const char *vamp_absence_reason(const struct vamp_absence *absence,
                                char text[static VAMP_ABSENCE_BYTES])
{
    (void)vamp_unknown_reason(absence->lacking, text);
    const size_t used = strlen(text);
    if (absence->kinds != 0 && used < VAMP_ABSENCE_BYTES - 1) {
        append_kinds(absence->kinds, text, used);
    }
    return text;
}

const char *vamp_coverage_next(const struct vamp_coverage *coverage, unsigned *position,
                               char reason[static VAMP_ABSENCE_BYTES])
{
    if (coverage == NULL) {
        return NULL;
    }
    if (*position < coverage->absence_count) {
        const struct vamp_absence *absence = &coverage->absences[(*position)++];
        (void)vamp_absence_reason(absence, reason);
        return vamp_metrics[absence->id].name;
    }
    const uint32_t apart =
        VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_LOSSES) | VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_SERIALS);
    const uint32_t listed = (coverage->unknown & apart) | coverage->learned;
    const unsigned bit = *position - coverage->absence_count;
    uint32_t left = 0;
    if (bit < VAMP_UNKNOWN_COUNT) {
        left = listed >> bit << bit;
    }
    if (left == 0) {
        *position = coverage->absence_count + VAMP_UNKNOWN_COUNT + 1;
        if (bit > VAMP_UNKNOWN_COUNT || coverage->not_subscribed == 0) {
            return NULL;
        }
        append_kinds(coverage->not_subscribed, reason, 0);
        return "kinds";
    }
    const unsigned next = (unsigned)__builtin_ctz(left);
    *position = coverage->absence_count + next + 1;
    (void)vamp_unknown_reason(VAMP_UNKNOWN_BIT(next), reason);
    return vamp_unknown_word((enum vamp_unknown)next);
}

const struct vamp_absence *vamp_coverage_find(const struct vamp_coverage *coverage,
                                              enum vamp_metric_id id)
{
    for (unsigned i = 0; coverage != NULL && i < coverage->absence_count; i++) {
        if (coverage->absences[i].id == id) {
            return &coverage->absences[i];
        }
    }
    return NULL;
}

static const struct {
    const char *word, *sentence;
} details[VAMP_DETAIL_COUNT] = {
    [VAMP_DETAIL_FULL] = {"full", "nothing is merged"},
    [VAMP_DETAIL_MODELS] = {"models", "components are merged into their models"},
    [VAMP_DETAIL_UNNAMED] = {"unnamed", "components are merged into one, (other)"},
    [VAMP_DETAIL_OTHER] = {"other", "all series are merged into one, (other)"},
};

const char *vamp_detail_word(enum vamp_detail detail)
{
    return details[detail].word;
}

const char *vamp_detail_sentence(enum vamp_detail detail)
{
    return details[detail].sentence;
}
