/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vampire-collect: passes messages of many runs from NATS (writers/nats/subscriber.h) through the
 * core (vampire/collect/collect.h) to the outputs. Single-threaded. See docs/exporters.md.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "programs/cli/start.h"
#include "programs/run/outputs.h"
#include "programs/run/page.h"
#include "programs/vampire-collect/command_line.h"
#include "vampire/collect/collect.h"
#include "vampire/core/units.h"
#include "writers/nats/subscriber.h"

/* Minimum interval between reports of refusals for the same reason; the first is reported at once.
 */
#define SAY_AGAIN_NS (60 * VAMP_NS_PER_SECOND)
#define LOST VAMP_REFUSAL_COUNT /* index for messages lost because the queue was full */
#define TICK_NS (VAMP_NS_PER_SECOND / 2)

struct collector {
    const struct vamp_start *start;
    const struct vamp_config *config;
    const struct vamp_clock *clock;
    struct vamp_process process;
    struct vamp_run run;
    struct vamp_status status;
    struct vamp_ready_file ready_file;
    struct vamp_collect *core;
    struct vamp_outputs outputs;
    struct vamp_accounting accounting; /* counters of the newest bucket */
    struct vamp_nats_subscription subscription;
    const struct vamp_nats_subscriber_ops *bus;
    void *subscriber;
    /* UTC time up to which all messages were received, while the stream still has more; 0: no
     * delay. */
    int64_t behind_ns;

    int64_t began_ns;     /* start of the run, monotonic */
    int64_t next_tick_ns; /* time of the next report, monotonic */
    uint64_t answered;    /* number of answered requests */
    unsigned connections_seen;
    struct vamp_reminder no_server; /* reminder while there is no connection to the server */
    unsigned shows_seen,
        reloads_seen; /* values of the signal counters at the last requests that were served */
    /* For each reason for refusals, and at index LOST: the count reported last, and the time from
     * which it may be reported again. */
    uint64_t said[VAMP_REFUSAL_COUNT + 1];
    int64_t say_again_ns[VAMP_REFUSAL_COUNT + 1]; /* monotonic */
};

static uint64_t all_refused(const struct vamp_collect_counts *counts)
{
    uint64_t sum = 0;
    for (unsigned reason = 0; reason < VAMP_REFUSAL_COUNT; reason++) {
        sum += counts->refused[reason];
    }
    return sum;
}

/* Returns whether to report an increased count now, and stores it as reported. */
static bool note_count(struct collector *self, unsigned index, uint64_t count, int64_t now_ns)
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
        if (note_count(self, reason, counts->refused[reason], now_ns)) {
            vamp_status_error(&self->status, "messages refused so far: %" PRIu64 " (%s)",
                              counts->refused[reason], vamp_refusal_name(reason));
        }
    }
}

static void report_subscriber(struct collector *self, int64_t now_ns)
{
    struct vamp_nats_subscriber_state state;
    self->bus->state(self->subscriber, &state);
    if (note_count(self, LOST, state.lost, now_ns)) {
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

/* Writes one line: "12 runs, 3 of them ended; 340 buckets collected; 0 messages refused". */
static void status_line(const struct collector *self, char *line, size_t bytes)
{
    const struct vamp_collect_counts *counts = vamp_collect_counts(self->core);
    (void)snprintf(line, bytes,
                   "%u runs, %u of them ended; %" PRIu64 " buckets collected; %" PRIu64
                   " messages refused",
                   counts->runs_known, counts->runs_ended, counts->collected, all_refused(counts));
}

/* Reports new refusals, losses and failures of outputs, and notifies the service manager. Called at
 * intervals. */
static void report(struct collector *self, int64_t now_ns)
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
        status_line(self, line, sizeof line);
    }
    vamp_notify_alive(notify, now_ns, wanted ? line : NULL);
}

/* `state` is "stopped by signal after" or "still running after". `finished`: the core and the
 * outputs have finished, so the runs are no longer known and everything has been written. */
static void print_summary(const struct collector *self, const char *state, bool finished,
                          FILE *stream)
{
    const struct vamp_page page = {stream, VAMP_PAGE_SUMMARY_COLUMNS};
    const struct vamp_collect_counts *counts = vamp_collect_counts(self->core);
    const int64_t time_ns = vamp_clock_monotonic_ns(self->clock) - self->began_ns;
    struct vamp_nats_subscriber_state bus;
    char text[VAMP_UNIT_TEXT_BYTES];
    self->bus->state(self->subscriber, &bus);
    (void)fprintf(stream, "\nvampire-collect: \"%s\": %s %s\n\n", self->subscription.subject, state,
                  vamp_duration_people((uint64_t)time_ns, text));
    if (!finished) {
        vamp_page_line(&page, "runs", "%s known, %u of them ended",
                       vamp_count_people(counts->runs_known, text), counts->runs_ended);
    }
    vamp_page_line(&page, "messages", "%s", vamp_count_people(counts->messages, text));
    vamp_page_line(&page, "repeated", "%s of them, which changed nothing",
                   vamp_count_people(counts->repeated, text));
    vamp_page_line(&page, "merged", "%s buckets of runs", vamp_count_people(counts->buckets, text));
    vamp_page_line(&page, "collected", "%s buckets", vamp_count_people(counts->collected, text));
    vamp_page_line(&page, "answered", "%s requests", vamp_count_people(self->answered, text));
    for (unsigned reason = 0; reason < VAMP_REFUSAL_COUNT; reason++) {
        if (counts->refused[reason] > 0) {
            vamp_page_line(&page, "REFUSED", "%s %s",
                           vamp_count_people(counts->refused[reason], text),
                           vamp_refusal_name(reason));
        }
    }
    if (bus.lost > 0) {
        vamp_page_line(&page, "LOST", "%s messages: no room in \"collect.queue\"",
                       vamp_count_people(bus.lost, text));
    }
    if (finished) {
        vamp_page_outputs(&page, &self->outputs);
    }
    (void)fflush(stream);
}

/* ---- messages and requests */

static void answer(struct collector *self, const struct vamp_nats_received *request)
{
    char *text = vamp_collect_present(self->core, request->data, request->bytes);
    int code = -ENOMEM;
    if (text != NULL) {
        code = self->bus->answer(self->subscriber, request, text);
    }
    free(text);
    if (code == -ENOMEM) {
        code = self->bus->answer(self->subscriber, request, "{\"error\": \"out of memory\"}");
    } else if (code == -EMSGSIZE) {
        code = self->bus->answer(self->subscriber, request,
                                 "{\"error\": \"the answer is longer than the server's messages "
                                 "may be: ask for fewer metrics or series\"}");
    }
    self->answered += code == 0;
}

/* Returns the current time for the core. While a stream has more messages, this is the time of the
 * newest received message, so that messages published in time do not count as late. */
static int64_t present_ns(const struct collector *self)
{
    return self->behind_ns > 0 ? self->behind_ns : vamp_clock_utc_ns(self->clock);
}

static void take(struct collector *self, const struct vamp_nats_received *received)
{
    if (received->is_request) {
        answer(self, received);
        return;
    }
    self->behind_ns = received->more ? received->published_ns : 0;
    int64_t now_ns = received->published_ns;
    if (now_ns <= 0) {
        now_ns = present_ns(self);
    }
    vamp_collect_advance(self->core, now_ns);
    vamp_collect_message(self->core, received->subject, received->data, received->bytes, now_ns);
}

/* Receives one message. If none arrives within the timeout, the stream has no more messages at the
 * moment. */
static void receive(struct collector *self, int64_t timeout_ns)
{
    struct vamp_nats_received received;
    struct vamp_err err = VAMP_ERR_NONE;
    const int code = self->bus->next(self->subscriber, timeout_ns, &received, &err);
    if (code > 0) {
        take(self, &received);
        self->bus->done(self->subscriber, &received);
    } else if (code == 0) {
        self->behind_ns = 0;
    } else if (err.text[0] != '\0' &&
               vamp_reminder_take_due(&self->no_server, err.text,
                                      vamp_clock_monotonic_ns(self->clock))) {
        vamp_status_error(&self->status, "%s", err.text);
    }
}

static void tick_if_due(struct collector *self)
{
    const int64_t now_ns = vamp_clock_monotonic_ns(self->clock);
    if (now_ns < self->next_tick_ns) {
        return;
    }
    self->next_tick_ns = now_ns + TICK_NS;
    report(self, now_ns);
    vamp_collect_advance(self->core, present_ns(self));
}

static void serve_signals(struct collector *self)
{
    const struct vamp_signals *signals = self->start->signals;
    if (vamp_signals_take(&signals->show, &self->shows_seen)) {
        print_summary(self, "still running after", false, stderr);
    }
    if (vamp_signals_take(&signals->reload, &self->reloads_seen)) {
        vamp_status_error(&self->status,
                          "the configuration is not read again while runs are collected; end it "
                          "with SIGTERM and start it again");
    }
}

/* Runs until a signal requests the end, then handles the waiting messages. */
static void run_loop(struct collector *self)
{
    while (atomic_load(&self->start->signals->stop) == 0) {
        serve_signals(self);
        receive(self, TICK_NS);
        tick_if_due(self);
    }
    struct vamp_nats_subscriber_state state;
    self->bus->state(self->subscriber, &state);
    for (uint64_t left = state.connected ? state.waiting : 0; left > 0; left--) {
        receive(self, 0);
    }
}

/* ---- start and end */

static void emit(void *context, const struct vamp_bucket *bucket)
{
    struct collector *self = context;
    self->accounting = bucket->accounting;
    vamp_outputs_submit(&self->outputs, bucket);
}

static int create_core(struct collector *self, struct vamp_err *err)
{
    const struct vamp_config_collect *config = &self->config->collect;
    char space[UUID_STR_LEN];
    const int code = vamp_series_space(self->run.workflow, NULL, space, err);
    if (code != 0) {
        return code;
    }
    const struct vamp_collect_options options = {
        .bucket_ns = config->bucket_ns,
        .delay_ns = config->delay_ns,
        .forget_ns = config->forget_ns,
        .max_runs = (unsigned)config->max_runs,
        .max_series = (unsigned)config->max_series,
        .max_message_bytes = NATS_MESSAGE_BYTES_MAX,
        .max_waiting_bytes = config->waiting_bytes,
        .sub_bits = config->sub_bins + 2,
        .level = (enum vamp_level)config->level,
        .series_space = space,
    };
    return vamp_collect_create(&options, emit, self, &self->core, err);
}

static int create_subscriber(struct collector *self, struct vamp_err *err)
{
    const struct vamp_config_collect *config = &self->config->collect;
    const void *symbol = NULL;
    const int code = vamp_plug_in_load("nats", "vamp_nats_subscriber_plug_in", "subscribes by NATS",
                                       &symbol, err);
    if (code != 0) {
        return code;
    }
    self->bus = ((const struct vamp_nats_subscriber_plug_in *)symbol)->functions;
    self->subscription = (struct vamp_nats_subscription){
        .server = &config->server,
        .subject = config->subject,
        .consumer = config->consumer,
        .requests = config->answer,
        .queue_bytes = config->queue_bytes,
    };
    return self->bus->create(&self->subscription, &self->subscriber, err);
}

static int open_outputs(struct collector *self, struct vamp_err *err)
{
    const struct vamp_output_context context = {
        .run = &self->run,
        .schema = vamp_collect_schema(self->core),
        .clock = self->clock,
        .signal = &self->start->signals->stop,
    };
    return vamp_outputs_open(&self->outputs, self->config, &context, NULL, NULL, err);
}

static enum vamp_exit_code finish(struct collector *self)
{
    enum vamp_exit_code code = VAMP_EXIT_OK;
    vamp_notify_stopping(self->start->notify, "the files are being completed");
    report(self, vamp_clock_monotonic_ns(self->clock));
    vamp_collect_finish(self->core, vamp_clock_utc_ns(self->clock));
    const struct vamp_ending ending = {
        .time_ns = vamp_clock_utc_ns(self->clock),
        .reason = "stopped by signal",
        .completed = true,
        .stop = atomic_load(&self->start->signals->stop),
        .until_ns = vamp_signals_deadline(self->start->signals),
        .accounting = self->accounting,
    };
    vamp_outputs_finish(&self->outputs, &ending, &self->status);
    struct vamp_nats_subscriber_state bus;
    self->bus->state(self->subscriber, &bus);
    if (self->outputs.lost || bus.lost > 0) {
        code = VAMP_EXIT_FAILED;
    }
    if (!self->start->options->quiet) {
        print_summary(self, "stopped by signal after", true, stderr);
    }
    return code;
}

static enum vamp_exit_code start_and_run(struct collector *self)
{
    struct vamp_err err = VAMP_ERR_NONE;
    int status = create_core(self, &err);
    if (status == 0) {
        status = create_subscriber(self, &err);
    }
    if (status == 0) {
        status = vamp_ready_file_prepare(&self->ready_file, self->start->options->ready_file, &err);
    }
    if (status == 0) {
        status = open_outputs(self, &err);
    }
    if (status != 0) {
        vamp_status_error(&self->status, "%s", err.text);
        return status == -EINVAL ? VAMP_EXIT_USAGE : VAMP_EXIT_FAILED;
    }
    self->began_ns = vamp_clock_monotonic_ns(self->clock);
    char line[256];
    status_line(self, line, sizeof line);
    vamp_notify_ready(self->start->notify, line);
    run_loop(self);
    return finish(self);
}

static enum vamp_exit_code run_collector(const struct vamp_start *start)
{
    struct collector self = {.start = start, .config = start->config, .clock = &vamp_clock_system};
    vamp_status_init(&self.status, start->options->program->name, start->options->quiet,
                     self.clock);
    vamp_process_describe(&self.process, self.config, self.clock, &self.run);
    self.run.workflow = self.config->collect.name;
    self.run.component = start->options->program->name;
    self.run.sampling = "none";
    const enum vamp_exit_code code = start_and_run(&self);
    vamp_ready_file_done(&self.ready_file);
    if (self.subscriber != NULL) {
        self.bus->free(self.subscriber);
    }
    if (self.outputs.left_behind) {
        _exit((int)code); /* library cleanup at exit would wait for the stuck thread */
    }
    vamp_outputs_done(&self.outputs);
    vamp_collect_free(self.core);
    vamp_status_done(&self.status);
    return code;
}

int main(int argc, char **argv)
{
    return vamp_start(&vamp_program_collect, argc, argv, run_collector);
}
