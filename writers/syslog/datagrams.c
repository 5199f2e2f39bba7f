/* SPDX-License-Identifier: BSD-3-Clause */
/* What is sent for a message, by what the reader of the socket expects. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "writers/format/run_labels.h"
#include "writers/syslog/internal.h"

#define HOST_BYTES 256 /* what RFC 5424 allows */

/* The host's name with the characters that the header allows; "-" without one. */
static void header_host(const char *host, char text[static HOST_BYTES])
{
    size_t used = 0;
    for (; host[used] != '\0' && used + 1 < HOST_BYTES; used++) {
        text[used] = (char)(host[used] > ' ' && host[used] <= '~' ? host[used] : '_');
    }
    if (used == 0) {
        text[used++] = '-';
    }
    text[used] = '\0';
}

static void add_rfc5424(struct vamp_text *text, const struct vamp_run *run, unsigned priority,
                        const char *type)
{
    char host[HOST_BYTES], prefix[SYSLOG_PREFIX_BYTES];
    struct timespec now = {0};
    struct tm parts = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &parts);
    header_host(run->host, host);
    (void)snprintf(prefix, sizeof prefix,
                   "<%u>1 %04d-%02d-%02dT%02d:%02d:%02d.%06ldZ %s " VAMP_LOG_PROGRAM " %" PRIu64
                   " %s - ",
                   priority, parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                   parts.tm_min, parts.tm_sec, now.tv_nsec / 1000, host, run->pid, type);
    vamp_text_word(text, prefix);
}

/* The form in which a value may contain anything: name, newline, length with its lowest byte first,
 * value, newline. */
static void add_field(struct vamp_text *text, const char *name, const char *value, size_t bytes)
{
    char length[8];
    for (unsigned i = 0; i < sizeof length; i++) {
        length[i] = (char)(unsigned char)((uint64_t)bytes >> 8 * i);
    }
    vamp_text_word(text, name);
    vamp_text_word(text, "\n");
    vamp_text_add(text, length, sizeof length);
    vamp_text_add(text, value, bytes);
    vamp_text_word(text, "\n");
}

static void add_word_field(struct vamp_text *text, const char *name, const char *value)
{
    add_field(text, name, value, strnlen(value, VAMP_RUN_TEXT_BYTES));
}

/* The fields that precede the message. */
static void add_journal(struct vamp_text *text, const struct vamp_run *run, unsigned priority,
                        const char *type)
{
    char number[16];
    (void)snprintf(number, sizeof number, "%u", priority & LOG_PRIMASK);
    add_word_field(text, "PRIORITY", number);
    (void)snprintf(number, sizeof number, "%u", priority >> 3);
    add_word_field(text, "SYSLOG_FACILITY", number);
    add_word_field(text, "SYSLOG_IDENTIFIER", VAMP_LOG_PROGRAM);
    add_word_field(text, "VAMPIRE_TYPE", type);
    add_word_field(text, "VAMPIRE_WORKFLOW", run->workflow);
    add_word_field(text, "VAMPIRE_RUN", run->id);
    add_word_field(text, "VAMPIRE_USER", run->user);
    add_word_field(text, "VAMPIRE_BATCH_JOB", run->batch_job);
}

void syslog_datagram(struct vamp_text *text, const struct syslog_options *options,
                     const struct vamp_run *run, const struct syslog_messages *messages,
                     const struct syslog_message *message)
{
    const unsigned priority = vamp_log_priority(options->facility, message->severity);
    const char *object = messages->text.bytes + message->begin;
    char header[VAMP_LOG_HEADER_BYTES];
    text->used = 0;
    text->failed = false;
    switch ((enum syslog_format)options->format) {
    case SYSLOG_LOCAL:
        vamp_log_header(header, priority, run->pid);
        vamp_text_word(text, header);
        break;
    case SYSLOG_RFC5424:
        add_rfc5424(text, run, priority, message->type);
        break;
    case SYSLOG_JOURNAL:
        add_journal(text, run, priority, message->type);
        add_field(text, "MESSAGE", object, message->bytes);
        return;
    }
    vamp_text_word(text, "@cee: ");
    vamp_text_add(text, object, message->bytes);
}
