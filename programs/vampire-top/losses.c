/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire-top/losses.h"

#include <stdio.h>
#include <string.h>

static struct top_loss *loss_of(struct top_snapshot *shown, const char *raw)
{
    char text[2 * TOP_WORD_BYTES];
    top_text_clean(text, sizeof text, raw);
    for (unsigned i = 0; i < shown->loss_count; i++) {
        if (strcmp(shown->losses[i].text, text) == 0) {
            return &shown->losses[i];
        }
    }
    /* The last one takes losses that find no place. */
    if (shown->loss_count < TOP_LOSSES_MAX) {
        memcpy(shown->losses[shown->loss_count++].text, text, sizeof text);
    }
    return &shown->losses[shown->loss_count - 1];
}

/* A number that only grows, reported with each bucket: of `what` in or of `where`. Losses before
 * the first bucket of the stream are not new. */
static void report_loss(struct top_snapshot *shown, const char *what, const char *where,
                        double count)
{
    char text[2 * TOP_WORD_BYTES];
    (void)snprintf(text, sizeof text, "%s %.40s", what, where);
    struct top_loss *loss = loss_of(shown, text);
    loss->fresh = shown->buckets > 0 && count > loss->count ? count - loss->count : 0;
    loss->count = count;
}

void top_losses_account(struct top_snapshot *shown, const json_t *accounting)
{
    const char *reason = NULL;
    json_t *value = NULL;
    size_t i = 0;
    if (accounting == NULL) {
        for (i = 0; i < shown->loss_count; i++) {
            shown->losses[i].fresh = 0;
        }
        return;
    }
    shown->received = top_json_number(accounting, "received");
    shown->counted = top_json_number(accounting, "counted");
    shown->filtered = top_json_number(accounting, "filtered");
    shown->late = top_json_number(accounting, "late");
    shown->lost = 0;
    json_object_foreach(json_object_get(accounting, "lost"), reason, value)
    {
        report_loss(shown, "events in", reason, (double)top_json_integer(value));
        shown->lost += (double)top_json_integer(value);
    }
    report_loss(shown, "events", "rejected", top_json_number(accounting, "rejected"));
    json_array_foreach(json_object_get(accounting, "outputs"), i, value)
    {
        report_loss(shown, "buckets of", top_json_text(value, "name"),
                    top_json_number(value, "lost"));
    }
}

void top_losses_lost(struct top_snapshot *shown, const json_t *line)
{
    if (strcmp(top_json_text(line, "what"), "lines") == 0) {
        struct top_loss *loss = loss_of(shown, "lines too long");
        loss->fresh = top_json_number(line, "count");
        loss->count += loss->fresh;
    }
}

void top_losses_gap(struct top_snapshot *shown, const json_t *line)
{
    /* Of times as RFC 3339 has them, the times of day. */
    const char *start = top_json_text(line, "start"), *end = top_json_text(line, "end");
    char text[sizeof shown->gap];
    shown->gaps++;
    (void)snprintf(text, sizeof text, "%.12s to %.12s (%.31s)",
                   strlen(start) > 11 ? start + 11 : "?", strlen(end) > 11 ? end + 11 : "?",
                   top_json_text(line, "reason"));
    top_text_clean(shown->gap, sizeof shown->gap, text);
}
