/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/bucket/base_unit.h"

#include <stdio.h>
#include <string.h>

/* Other units are base units already. */
static const struct {
    const char *unit, *ending, *base;
    unsigned decimals;
} scaled[] = {
    {"ns", "_ns", "seconds", 9},
    {"1e-6", "", "", 6},
};

static bool ends_with(const char *text, const char *ending)
{
    const size_t length = strlen(text), bytes = strlen(ending);
    return length >= bytes && strcmp(text + length - bytes, ending) == 0;
}

void vamp_base_metric(const struct vamp_metric *metric, struct vamp_base_metric *ret_base)
{
    const char *ending = "", *base = "";
    *ret_base = (struct vamp_base_metric){.unit = ends_with(metric->name, "_bytes") ? "bytes" : ""};
    for (size_t i = 0; i < sizeof scaled / sizeof scaled[0]; i++) {
        if (strcmp(metric->unit, scaled[i].unit) == 0) {
            ret_base->decimals = scaled[i].decimals;
            ret_base->unit = scaled[i].base;
            base = scaled[i].base;
            ending = ends_with(metric->name, scaled[i].ending) ? scaled[i].ending : "";
        }
    }
    static const char prefix[] = "vampire_";
    const bool has_prefix = strncmp(metric->name, prefix, sizeof prefix - 1) == 0;
    (void)snprintf(ret_base->name, sizeof ret_base->name, "%s%.*s%s%s", has_prefix ? "" : prefix,
                   (int)(strlen(metric->name) - strlen(ending)), metric->name,
                   base[0] != '\0' ? "_" : "", base);
}
