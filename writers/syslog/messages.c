/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the objects. The values of a bucket are split into as many messages as needed. Each
 * contains its number and the total, so that a reader can check that none is missing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "vampire/alarms/change.h"
#include "vampire/core/list.h"
#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/bucket/bucket_json.h"
#include "writers/syslog/messages.h"

#define SYSLOG_VERSION 1
/* Space for `,"part":N,"parts":N,"metrics":[]}`. */
#define PART_BYTES 64

void syslog_messages_done(struct syslog_messages *messages)
{
    vamp_text_done(&messages->text);
    vamp_json_done(&messages->line);
    vamp_json_done(&messages->value);
    free(messages->items);
    *messages = (struct syslog_messages){.items = NULL};
}

void syslog_messages_clear(struct syslog_messages *messages)
{
    messages->text.used = 0;
    messages->text.failed = false;
    messages->line.failed = false;
    messages->value.failed = false;
    messages->failed = false;
    messages->count = 0;
}

static void begin(struct vamp_json *json, const struct vamp_run *run, const char *type,
                  int64_t time_ns)
{
    vamp_json_clear(json);
    vamp_json_line_begin(json);
    vamp_json_unsigned(json, "v", SYSLOG_VERSION);
    vamp_json_text(json, "type", type);
    vamp_json_time(json, "time", time_ns);
    vamp_run_labels_json(json, run);
}

/* Adds a message that begins at the end of the text. Returns NULL if out of memory. */
static struct syslog_message *add_message(struct syslog_messages *messages, const char *type,
                                          unsigned severity)
{
    if (!vamp_array_reserve(&messages->items, &messages->capacity, messages->count,
                            sizeof *messages->items)) {
        messages->failed = true;
        return NULL;
    }
    struct syslog_message *message = &messages->items[messages->count++];
    *message =
        (struct syslog_message){.begin = messages->text.used, .type = type, .severity = severity};
    return message;
}

static void end_message(struct syslog_messages *messages, struct syslog_message *message)
{
    message->bytes = messages->text.used - message->begin;
    messages->failed = messages->failed || messages->text.failed;
}

/* Completes the object in `line` and makes it a message. If it is too long, the message is the
 * plain text `text`, or is dropped if that is NULL. */
static void add_line(struct syslog_messages *messages, const char *type, unsigned severity,
                     const char *text)
{
    struct vamp_json *line = &messages->line;
    vamp_json_line_end(line);
    messages->failed = messages->failed || line->failed;
    const bool fits = line->used > 0 && line->used - 1 <= SYSLOG_OBJECT_BYTES;
    if (messages->failed) {
        return;
    }
    if (!fits && text == NULL) {
        messages->left_out++;
        return;
    }
    struct syslog_message *message = add_message(messages, type, severity);
    if (message == NULL) {
        return;
    }
    message->is_line = !fits;
    if (fits) {
        vamp_text_add(&messages->text, line->bytes, line->used - 1); /* without its newline */
    } else {
        vamp_text_word(&messages->text, text);
    }
    end_message(messages, message);
}

/* ---- alarms and anomalies */

static void add_alarm(struct syslog_messages *messages, const struct vamp_run *run,
                      const struct vamp_alarm_change *change)
{
    char text[VAMP_ALARM_LINE_BYTES];
    begin(&messages->line, run, "alarm", change->time_ns);
    vamp_alarm_change_json(&messages->line, change);
    vamp_alarm_change_text(change, text);
    add_line(messages, "alarm", vamp_alarm_change_log_severity(change), text);
}

void syslog_messages_alarms(struct syslog_messages *messages, const struct vamp_run *run,
                            const struct vamp_bucket *bucket, const struct vamp_sent_alarms *sent)
{
    for (unsigned i = 0; i < bucket->alarm_count; i++) {
        if (vamp_sent_alarms_have(sent, &bucket->alarms[i])) {
            add_alarm(messages, run, &bucket->alarms[i]);
        }
    }
}

static void alarms_and_anomalies(struct syslog_messages *messages, const struct vamp_run *run,
                                 const struct vamp_bucket *bucket)
{
    for (unsigned i = 0; i < bucket->alarm_count; i++) {
        add_alarm(messages, run, &bucket->alarms[i]);
    }
    for (unsigned i = 0; i < bucket->anomaly_count; i++) {
        begin(&messages->line, run, "alert", bucket->anomalies[i].time_ns);
        vamp_json_unsigned(&messages->line, "bucket", bucket->number);
        vamp_bucket_json_anomaly(&messages->line, &bucket->anomalies[i]);
        add_line(messages, "alert", LOG_WARNING, NULL);
    }
}

/* ---- values, one line each */

/* Writes a line for each series that has values in the bucket; lines longer than `room` are
 * dropped. */
static void make_values(struct syslog_messages *messages, const struct vamp_bucket *bucket,
                        size_t room)
{
    struct vamp_json *json = &messages->value;
    struct vamp_rows rows = vamp_rows(bucket, VAMP_ROWS_IDLE);
    vamp_json_clear(json);
    while (vamp_rows_next(&rows)) {
        const struct vamp_row *row = &rows.row;
        vamp_json_line_begin(json);
        vamp_json_text(json, "metric", row->metric->name);
        if (row->set->label_count > 0) {
            vamp_bucket_json_labels(json, row->set, row->series);
        }
        vamp_bucket_json_values(json, &bucket->schema->bins, row);
        const size_t begin = json->line;
        vamp_json_line_end(json);
        if (json->used - begin > room || json->used == begin) {
            json->used = begin;
            messages->left_out++;
        }
    }
}

/* ---- the messages of a bucket */

/* Returns the end of the part that begins at this offset of the values: as many whole lines as fit.
 */
static size_t part_end(const struct vamp_json *value, size_t from, size_t room)
{
    size_t end = from;
    while (end < value->used) {
        const char *newline = memchr(value->bytes + end, '\n', value->used - end);
        const size_t next = (size_t)(newline - value->bytes) + 1;
        if (next - from > room) {
            break;
        }
        end = next;
    }
    return end;
}

/* Adds a message with the values in [from, end), separated by commas. */
static void add_part(struct syslog_messages *messages, const char *counts, size_t from, size_t end)
{
    struct vamp_text *text = &messages->text;
    struct syslog_message *message = add_message(messages, "bucket", LOG_INFO);
    if (message == NULL) {
        return;
    }
    vamp_text_add(text, messages->line.bytes, messages->line.used);
    vamp_text_word(text, counts);
    const size_t begin = text->used;
    if (end > from) {
        vamp_text_add(text, messages->value.bytes + from, end - from - 1);
    }
    for (size_t i = begin; i < text->used; i++) {
        if (text->bytes[i] == '\n') {
            text->bytes[i] = ',';
        }
    }
    vamp_text_word(text, "]}");
    end_message(messages, message);
}

/* Writes the common beginning of all messages of the bucket to `line`; the object stays open. */
static void make_head(struct syslog_messages *messages, const struct vamp_run *run,
                      const struct vamp_delivery *delivery)
{
    struct vamp_json *line = &messages->line;
    const struct vamp_bucket *bucket = delivery->bucket;
    begin(line, run, "bucket", bucket->start_ns);
    vamp_json_unsigned(line, "bucket", bucket->number);
    vamp_json_unsigned(line, "buckets", bucket->buckets);
    vamp_json_signed(line, "width_ns", bucket->width_ns);
    vamp_json_unsigned(line, "lost_buckets", delivery->lost_before);
    vamp_json_unsigned(line, "alerts_unlisted", bucket->anomalies_unlisted);
    vamp_json_unsigned(line, "alarms_unlisted", bucket->alarms_unlisted);
}

void syslog_messages_bucket(struct syslog_messages *messages, const struct vamp_run *run,
                            const struct vamp_delivery *delivery)
{
    alarms_and_anomalies(messages, run, delivery->bucket);
    make_head(messages, run, delivery);
    struct vamp_json *value = &messages->value;
    const size_t room = SYSLOG_OBJECT_BYTES - PART_BYTES - messages->line.used;
    make_values(messages, delivery->bucket, room);
    messages->failed = messages->failed || messages->line.failed || value->failed;
    if (messages->failed) {
        return;
    }
    unsigned parts = 0;
    for (size_t at = 0; at < value->used || parts == 0; parts++) {
        at = part_end(value, at, room);
    }
    size_t from = 0;
    for (unsigned part = 1; part <= parts; part++) {
        char counts[PART_BYTES];
        const size_t end = part_end(value, from, room);
        (void)snprintf(counts, sizeof counts, ",\"part\":%u,\"parts\":%u,\"metrics\":[", part,
                       parts);
        add_part(messages, counts, from, end);
        from = end;
    }
}

void syslog_messages_end(struct syslog_messages *messages, const struct vamp_run *run,
                         const struct vamp_coverage *coverage, const struct vamp_ending *ending)
{
    begin(&messages->line, run, "end", ending->time_ns);
    vamp_json_text(&messages->line, "reason", ending->reason);
    vamp_bucket_json_account(&messages->line, &ending->accounting, coverage);
    add_line(messages, "end", LOG_NOTICE, NULL);
}
