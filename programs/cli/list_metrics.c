/* SPDX-License-Identifier: BSD-3-Clause */
/* --list-metrics: prints the catalogue as a table or as JSON. */
#include <stdbool.h>
#include <stdio.h>

#include "programs/cli/options.h"
#include "vampire/stats/bucket/coverage.h"

static const char *const set_names[] = {"basic",     "waits",     "transport",
                                        "lifecycle", "anomalies", "in_flight",
                                        "vampire",   "collect",   "samples"};
#define SET_COUNT (sizeof set_names / sizeof set_names[0])

/* Writes the names of the bits in a mask, separated. `name_of` is vamp_label_name or set_name. */
static void join_names(uint32_t mask, const char *(*name_of)(unsigned), const char *separator,
                       char *text, size_t bytes)
{
    const char *before = "";
    size_t used = 0;
    text[0] = '\0';
    for (unsigned bit = 0; bit < 32 && used < bytes; bit++) {
        if ((mask & UINT32_C(1) << bit) != 0) {
            used += (size_t)snprintf(text + used, bytes - used, "%s%s", before, name_of(bit));
            before = separator;
        }
    }
}

static const char *set_name(unsigned bit)
{
    return bit < SET_COUNT ? set_names[bit] : "unknown";
}

static const char *unknown_word(unsigned bit)
{
    return vamp_unknown_word((enum vamp_unknown)bit);
}

static const char *or_dash(const char *text)
{
    return text[0] != '\0' ? text : "-";
}

static void list_text(FILE *stream, uint32_t unknown)
{
    (void)fprintf(stream, "%-28s %-9s %-8s %s\n", "METRIC", "KIND", "UNIT", "LABELS; SETS");
    for (unsigned id = 0; id < vamp_metric_count(); id++) {
        const struct vamp_metric *metric = &vamp_metrics[id];
        char labels[256];
        char sets[128];
        join_names(metric->labels & ~VAMP_BY_ATTRIBUTE, vamp_label_name, ", ", labels,
                   sizeof labels);
        join_names(metric->sets, set_name, ", ", sets, sizeof sets);
        const bool by_attribute = (metric->labels & VAMP_BY_ATTRIBUTE) != 0;
        (void)fprintf(stream, "%-28s %-9s %-8s %s%s; %s\n    %s: %s\n    merge: %s\n", metric->name,
                      vamp_metric_kind_name(metric->kind), metric->unit, or_dash(labels),
                      by_attribute ? ", (attributes)" : "", or_dash(sets), metric->help,
                      metric->origin, vamp_metric_merge_rule(metric));
        char reason[VAMP_ABSENCE_BYTES];
        if ((metric->basis & unknown) != 0) {
            (void)fprintf(stream, "    not observable with this Maestro: %s\n",
                          vamp_unknown_reason(metric->basis & unknown, reason));
        }
    }
    (void)fputs(
        "\nLabels are those of level component; at level workflow component, source and sink "
        "fall away; (attributes) are those of \"statistics.attributes\".\nThe set \"vampire\" is "
        "always on; metrics without a set are computed where "
        "\"metrics\" names them.\n",
        stream);
}

/* The tables contain plain text without quotes and backslashes; a test checks the texts that may
 * change. */
static void put_list(FILE *stream, const char *key, uint32_t mask, const char *(*name_of)(unsigned))
{
    char names[256];
    join_names(mask, name_of, "\", \"", names, sizeof names);
    if (names[0] != '\0') {
        (void)fprintf(stream, ", \"%s\": [\"%s\"]", key, names);
    } else {
        (void)fprintf(stream, ", \"%s\": []", key);
    }
}

static void list_json(FILE *stream, uint32_t unknown)
{
    (void)fputs("{\"metrics\": [", stream);
    for (unsigned id = 0; id < vamp_metric_count(); id++) {
        const struct vamp_metric *metric = &vamp_metrics[id];
        (void)fprintf(stream, "%s\n  {\"name\": \"%s\", \"kind\": \"%s\", \"unit\": \"%s\"",
                      id > 0 ? "," : "", metric->name, vamp_metric_kind_name(metric->kind),
                      metric->unit);
        put_list(stream, "labels", metric->labels & ~VAMP_BY_ATTRIBUTE, vamp_label_name);
        (void)fprintf(stream, ", \"by_attribute\": %s",
                      (metric->labels & VAMP_BY_ATTRIBUTE) != 0 ? "true" : "false");
        put_list(stream, "sets", metric->sets, set_name);
        put_list(stream, "basis", metric->basis, unknown_word);
        put_list(stream, "lacking", metric->basis & unknown, unknown_word);
        struct vamp_base_metric base;
        vamp_base_metric(metric, &base);
        (void)fprintf(stream, ",\n   \"prometheus\": \"%s%s\", \"decimals\": %u", base.name,
                      metric->kind == VAMP_COUNTER ? "_total" : "", base.decimals);
        (void)fprintf(stream, ",\n   \"merge\": \"%s\", \"help\": \"%s\", \"origin\": \"%s\"}",
                      vamp_metric_merge_rule(metric), metric->help, metric->origin);
    }
    (void)fputs("\n]}\n", stream);
}

void vamp_list_metrics(FILE *stream, bool json, uint32_t unknown)
{
    if (json) {
        list_json(stream, unknown);
    } else {
        list_text(stream, unknown);
    }
}
