/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <string.h>

#include "programs/run/output_lines.h"
#include "programs/vampire-collect/internal.h"
#include "vampire/core/units.h"

/* A reason of refusals is reported at once, then no more often than this. */
#define SAY_AGAIN_NS (60 * VAMP_NS_PER_SECOND)
#define LOST VAMP_REFUSAL_COUNT /* the index of what found no room in the queue */

static uint64_t all_refused(const struct vamp_collect_counts *counts)
{
    uint64_t sum = 0;
    for (unsigned reason = 0; reason < VAMP_REFUSAL_COUNT; reason++) {
        sum += counts->refused[reason];
    }
    return sum;
}

/* Whether there is something new to say about a count that only grows. */
static bool is_new(struct collector *self, unsigned index, uint64_t count, int64_t now_ns)
{
    if (count == self->said[index] || now_ns < self->say_again_ns[index]) {
        return false;
    }
    self->said[index] = count;
    self->say_again_ns[index] = now_ns + SAY_AGAIN_NS;
    return true;
}

static void report_refusals(struct collector *self, int64_t now_ns)
{
    const struct vamp_collect_counts *counts = vamp_collect_counts(self->core);
    for (unsigned reason = 0; reason < VAMP_REFUSAL_COUNT; reason++) {
        if (is_new(self, reason, counts->refused[reason], now_ns)) {
            vamp_status_error(&self->status, "messages refused so far: %" PRIu64 " (%s)",
                              counts->refused[reason], vamp_refusal_name(reason));
        }
    }
}

static void report_subscriber(struct collector *self, int64_t now_ns)
{
    struct vamp_nats_subscriber_state state;
    self->bus->state(self->subscriber, &state);
    if (is_new(self, LOST, state.lost, now_ns)) {
        vamp_status_error(&self->status,
                          "messages lost so far: %" PRIu64 " (no room in \"collect.queue\")",
                          state.lost);
    }
    if (state.connections == self->connections_seen) {
        return;
    }
    self->connections_seen = state.connections;
    vamp_reminder_end(&self->no_server);
    vamp_status_say(&self->status, "subscribed to \"%s\" at %s", self->subscription.subject,
                    state.address);
    struct vamp_err err = VAMP_ERR_NONE;
    if (!self->ready_file.shown && vamp_ready_file_show(&self->ready_file, &err) != 0) {
        vamp_status_error(&self->status, "%s", err.text);
    }
}

void collector_status_line(const struct collector *self, char *line, size_t bytes)
{
    const struct vamp_collect_counts *counts = vamp_collect_counts(self->core);
    (void)snprintf(line, bytes,
                   "%u runs, %u of them ended; %" PRIu64 " buckets collected; %" PRIu64
                   " messages refused",
                   counts->runs_known, counts->runs_ended, counts->collected, all_refused(counts));
}

void collector_report(struct collector *self, int64_t now_ns)
{
    struct vamp_output_account accounts[VAMP_OUTPUTS_MAX];
    struct vamp_notify *notify = self->start->notify;
    report_subscriber(self, now_ns);
    report_refusals(self, now_ns);
    vamp_outputs_accounts(&self->outputs, accounts);
    vamp_collect_outputs(self->core, accounts, self->outputs.count);
    vamp_outputs_report(&self->outputs, NULL, &self->status);
    vamp_status_flush(&self->status);
    char line[256];
    const bool wanted = vamp_notify_wants_status(notify, now_ns);
    if (wanted) {
        collector_status_line(self, line, sizeof line);
    }
    vamp_notify_alive(notify, now_ns, wanted ? line : NULL);
}

static void print_count(FILE *stream, const char *name, uint64_t count, const char *what)
{
    char text[VAMP_UNIT_TEXT_BYTES];
    (void)fprintf(stream, "  %-*s %s%s%s\n", VAMP_SUMMARY_NAME_COLUMNS, name,
                  vamp_count_people(count, text), what[0] != '\0' ? " " : "", what);
}

void collector_print_summary(const struct collector *self, const char *state, bool finished,
                             FILE *stream)
{
    const struct vamp_collect_counts *counts = vamp_collect_counts(self->core);
    const int64_t time_ns = vamp_clock_monotonic_ns(self->clock) - self->began_ns;
    struct vamp_nats_subscriber_state bus;
    char text[VAMP_UNIT_TEXT_BYTES], runs[64];
    self->bus->state(self->subscriber, &bus);
    (void)fprintf(stream, "\nvampire-collect: \"%s\": %s %s\n\n", self->subscription.subject, state,
                  vamp_duration_people((uint64_t)time_ns, text));
    if (!finished) {
        (void)snprintf(runs, sizeof runs, "known, %u of them ended", counts->runs_ended);
        print_count(stream, "runs", counts->runs_known, runs);
    }
    print_count(stream, "messages", counts->messages, "");
    print_count(stream, "repeated", counts->repeated, "of them, which changed nothing");
    print_count(stream, "merged", counts->buckets, "buckets of runs");
    print_count(stream, "collected", counts->collected, "buckets");
    print_count(stream, "answered", self->answered, "requests");
    for (unsigned reason = 0; reason < VAMP_REFUSAL_COUNT; reason++) {
        if (counts->refused[reason] > 0) {
            print_count(stream, "REFUSED", counts->refused[reason], vamp_refusal_name(reason));
        }
    }
    if (bus.lost > 0) {
        print_count(stream, "LOST", bus.lost, "messages: no room in \"collect.queue\"");
    }
    if (finished) {
        struct vamp_summary_output outputs[VAMP_OUTPUTS_MAX];
        vamp_summary_of_outputs(&self->outputs, outputs);
        for (unsigned i = 0; i < self->outputs.count; i++) {
            vamp_summary_output_print(stream, &outputs[i]);
        }
    }
    (void)fflush(stream);
}
