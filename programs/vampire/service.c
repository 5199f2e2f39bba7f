/* SPDX-License-Identifier: BSD-3-Clause */
/* Keep-alives and a status line for the service manager. */
#include <stdio.h>

#include "programs/vampire/internal.h"
#include "vampire/core/units.h"

/* The source thread counts as stuck after this time without progress. Joining again takes some
 * seconds an attempt, and a pool manager that does not answer is given up after 30 s. */
#define SOURCE_STUCK_NS (120 * VAMP_NS_PER_SECOND)

void pipeline_status_line(struct pipeline *pipeline, char *line, size_t bytes)
{
    struct vamp_totals totals;
    vamp_stats_totals(pipeline->stats, &totals);
    const char *what = "running";
    struct vamp_source_state state;
    if (pipeline->first->source->describe != NULL) {
        pipeline->first->source->describe(pipeline->source, &state);
        what = state.what;
    }
    char events[VAMP_UNIT_TEXT_BYTES], lost[VAMP_UNIT_TEXT_BYTES];
    (void)snprintf(line, bytes, "%s: %s; %s events, %s lost",
                   *pipeline->run->workflow != '\0' ? pipeline->run->workflow : "no workflow", what,
                   vamp_count_people(totals.accounting.received, events),
                   vamp_count_people(vamp_totals_lost(&totals), lost));
    for (char *c = line; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ') {
            *c = '?'; /* a newline in a name would begin another variable */
        }
    }
}

void pipeline_notify_alive(struct pipeline *pipeline, int64_t now_ns)
{
    struct vamp_notify *notify = pipeline->options->notify;
    const unsigned beats =
        atomic_load_explicit(&pipeline->source_thread.beats, memory_order_relaxed);
    if (beats != pipeline->beats_seen || pipeline->beat_ns == 0) {
        pipeline->beats_seen = beats;
        pipeline->beat_ns = now_ns;
    }
    if (now_ns - pipeline->beat_ns >= SOURCE_STUCK_NS) {
        return;
    }
    char line[256];
    const bool wanted = vamp_notify_wants_status(notify, now_ns);
    if (wanted) {
        pipeline_status_line(pipeline, line, sizeof line);
    }
    vamp_notify_alive(notify, now_ns, wanted ? line : NULL);
}
