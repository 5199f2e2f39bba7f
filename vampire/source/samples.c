/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/source/samples.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vampire/core/address.h"
#include "vampire/core/event/sample.h"
#include "vampire/core/unix_socket.h"
#include "vampire/core/utf8.h"
#include "vampire/core/values.h"

/* Size of an input's buffer: the maximum length of a datagram, and of a line in a file. */
#define BUFFER_BYTES 65536
/* Size of a socket's receive buffer, where datagrams wait while the source thread does not run. */
#define SOCKET_BYTES (4 << 20)
/* Interval at which `stop` and files are checked, since poll cannot wait for files. */
#define POLL_MS 100
/* Maximum number of samples that are still read after the source was stopped. */
#define AFTER_STOP_MAX 65536
/* Maximum lead of a sender's clock. */
#define AHEAD_NS (10 * VAMP_NS_PER_SECOND)
/* Interval at which the state of all inputs is reported, and period of the limit `max_rate`. */
#define REPORT_NS VAMP_NS_PER_SECOND
#define PERIOD_NS VAMP_NS_PER_SECOND
/* Maximum number of passes over all inputs without a sample in one call of `next`. */
#define PASSES_MAX 64
#define REPORTED_LINES_MAX 5
#define SHOWN_BYTES 120

struct input {
    const char *name; /* as in the configuration */
    const char *path; /* path of a file; NULL for sockets */
    struct vamp_unix_socket socket_file;
    int file; /* file descriptor; -1: the file does not exist now */
    bool is_file;
    bool ended; /* a replayed file was read to its end */
    bool skips; /* the rest of a line that is too long is skipped */
    ino_t inode;
    size_t begin, used; /* unread part of `buffer` */
    uint64_t line;      /* number of the last line */
    bool has_line;
    struct vamp_sample_line current;
    int64_t time_ns;
    int64_t came_ns;   /* time of the last line; 0: no line was received */
    int64_t period_ns; /* start of the period in which `lines_in_period` lines were counted */
    uint64_t lines_in_period;
    uint64_t refused, beyond;
    char *buffer;
};

struct samples {
    struct vamp_source_context context;
    const struct vamp_samples_options *options;
    int64_t now_ns; /* UTC, at the start of this call of `next` */
    unsigned count, turn, reported_lines, after_stop;
    bool busy;                /* more data may be available without waiting */
    unsigned reported_fields; /* number of fields of inputs that were reported in this round */
    int64_t round_ns;         /* start of this round of reports */
    struct input inputs[VAMP_SAMPLE_INPUTS_MAX];
    char text[VAMP_NAME_BYTES_MAX]; /* text of the last returned event */
};

/* ---- addresses */

static int read_address(const char *text, struct vamp_address *address, struct vamp_err *err)
{
    const int code = vamp_address_parse(text, "udp", address, err);
    if (code == 0 && address->any.sa_family != AF_UNIX && vamp_address_port(address) == 0) {
        return vamp_err_set(err, -EINVAL, "%s: a port is 1 to 65535", text);
    }
    return code;
}

int vamp_samples_check_address(const char *text, struct vamp_err *err)
{
    struct vamp_address address;
    return read_address(text, &address, err);
}

/* ---- open and close */

static int listen_at(struct input *input, struct vamp_err *err)
{
    struct vamp_address address;
    int status = read_address(input->name, &address, err);
    if (status != 0) {
        return status;
    }
    input->file = socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int bytes = SOCKET_BYTES;
    if (input->file >= 0) {
        /* The system may set a smaller size. */
        (void)setsockopt(input->file, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    if (input->file < 0) {
        return vamp_err_set_errno(err, errno, "listen for samples at %s", input->name);
    }
    if (address.any.sa_family == AF_UNIX) {
        status = vamp_unix_socket_bind(input->file, &address, 0600, 0, &input->socket_file, err);
        return status == 0 ? 0 : vamp_err_wrap(err, "samples");
    }
    if (bind(input->file, &address.any, address.bytes) != 0) {
        return vamp_err_set_errno(err, errno, "listen for samples at %s", input->name);
    }
    return 0;
}

/* Opens the file of the input. In a live run the file may be created later. */
static int open_file(struct input *input, bool replayed, struct vamp_err *err)
{
    struct stat now;
    input->file = open(input->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (input->file >= 0 && fstat(input->file, &now) == 0) {
        input->inode = now.st_ino;
        return 0;
    }
    if (replayed || errno != ENOENT) {
        return vamp_err_set_errno(err, errno, "read samples from %s", input->path);
    }
    return 0;
}

static int add_input(struct samples *self, const char *name, bool is_file, struct vamp_err *err)
{
    assert(self->count < VAMP_SAMPLE_INPUTS_MAX); /* checked with the configuration */
    struct input *input = &self->inputs[self->count++];
    *input = (struct input){.name = name, .is_file = is_file, .file = -1};
    input->buffer = malloc(BUFFER_BYTES);
    if (input->buffer == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "read samples from %s", name);
    }
    if (!is_file) {
        return listen_at(input, err);
    }
    input->path = name;
    const int status = open_file(input, self->options->replayed, err);
    if (status == 0 && input->file >= 0 && !self->options->replayed) {
        (void)lseek(input->file, 0, SEEK_END);
    }
    return status;
}

static int samples_close(void *object, struct vamp_err *err)
{
    struct samples *self = object;
    (void)err;
    for (unsigned i = 0; i < self->count; i++) {
        struct input *input = &self->inputs[i];
        if (input->file >= 0) {
            (void)close(input->file);
        }
        vamp_unix_socket_remove(&input->socket_file);
        free(input->buffer);
    }
    free(self);
    return 0;
}

static int samples_open(const void *options, const struct vamp_source_context *context,
                        void **ret_self, struct vamp_err *err)
{
    struct samples *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "receive samples");
    }
    self->options = options;
    self->context = *context;
    int status = 0;
    for (size_t i = 0; status == 0 && i < self->options->listen.count; i++) {
        status = add_input(self, self->options->listen.items[i], false, err);
    }
    for (size_t i = 0; status == 0 && i < self->options->files.count; i++) {
        status = add_input(self, self->options->files.items[i], true, err);
    }
    if (status != 0) {
        (void)samples_close(self, NULL);
        return status;
    }
    *ret_self = self;
    return 0;
}

/* ---- lines */

static void reject(struct samples *self, struct input *input, const char *text, size_t length,
                   const char *why)
{
    input->refused++;
    if (self->reported_lines < REPORTED_LINES_MAX) {
        const size_t shown = vamp_utf8_cut(text, length, SHOWN_BYTES);
        vamp_source_say(&self->context, "samples: %s: line %" PRIu64 ": %s: %.*s%s", input->name,
                        input->line, why, (int)shown, text, shown < length ? "..." : "");
    } else if (self->reported_lines == REPORTED_LINES_MAX) {
        vamp_source_say(&self->context, "samples: further rejected lines are only counted");
    }
    self->reported_lines += self->reported_lines <= REPORTED_LINES_MAX;
}

/* Converts a time to nanoseconds. Returns false if it is outside the range of event times. */
static bool scale_time(int64_t time, unsigned precision, int64_t *ret_ns)
{
    static const int64_t unit_ns[] = {
        [VAMP_SAMPLE_NS] = 1,
        [VAMP_SAMPLE_US] = 1000,
        [VAMP_SAMPLE_MS] = 1000000,
        [VAMP_SAMPLE_S] = VAMP_NS_PER_SECOND,
    };
    if (precision == VAMP_SAMPLE_AUTO) {
        const int64_t limit = INT64_C(100000000000); /* limit of times in seconds: the year 5138 */
        precision = VAMP_SAMPLE_NS;
        if (time < limit) {
            precision = VAMP_SAMPLE_S;
        } else if (time < limit * 1000) {
            precision = VAMP_SAMPLE_MS;
        } else if (time < limit * 1000000) {
            precision = VAMP_SAMPLE_US;
        }
    }
    return !__builtin_mul_overflow(time, unit_ns[precision], ret_ns) && vamp_time_is_valid(*ret_ns);
}

/* Sets the time of the line. Returns NULL, or a message if the line must be rejected. In a live run
 * a later time than now is replaced by the current time: since samples are merged in order of
 * arrival, a sender whose clock is ahead would delay the samples of all other senders. */
static const char *settle_time(const struct samples *self, struct input *input)
{
    const bool replayed = self->options->replayed;
    input->time_ns = self->now_ns;
    if (!input->current.has_time) {
        return replayed ? "lines of replayed files must have a time" : NULL;
    }
    if (!scale_time(input->current.time, self->options->precision, &input->time_ns)) {
        return "the time is out of range: is \"precision\" right?";
    }
    if (!replayed && input->time_ns > self->now_ns) {
        const bool far = input->time_ns > self->now_ns + AHEAD_NS;
        input->time_ns = self->now_ns;
        return far ? "the time is more than 10 s ahead of this machine's clock" : NULL;
    }
    return NULL;
}

/* Counts a line of the input against `max_rate`. Returns false if the line is over the limit. */
static bool count_against_rate(const struct samples *self, struct input *input)
{
    if (self->now_ns < input->period_ns || self->now_ns >= input->period_ns + PERIOD_NS) {
        input->period_ns = self->now_ns;
        input->lines_in_period = 0;
    }
    return self->options->replayed || self->after_stop > 0 ||
           input->lines_in_period++ < self->options->max_rate;
}

static void drop_line(const struct samples *self, struct input *input)
{
    if (input->beyond++ == 0) {
        vamp_source_say(&self->context,
                        "samples: %s: more than %" PRIu64 " lines per second (max_rate); "
                        "further lines are dropped and counted",
                        input->name, self->options->max_rate);
    }
}

static void parse_line(struct samples *self, struct input *input, const char *text, size_t length)
{
    struct vamp_err err = VAMP_ERR_NONE;
    input->line++;
    const int status = vamp_sample_line_read(text, length, &input->current, &err);
    if (status == -ENODATA) {
        return;
    }
    const char *why = status != 0 ? err.text : settle_time(self, input);
    input->has_line = why == NULL;
    input->came_ns = self->now_ns;
    if (why != NULL) {
        reject(self, input, text, length, why);
    }
}

/* Reads more bytes into the buffer, after the bytes of an incomplete line. Returns whether there
 * are bytes to parse: bytes were read, or a replayed file has ended (sets `ended`) with a last line
 * that has no newline. Returns false if no data are available now. */
static bool fill(struct samples *self, struct input *input)
{
    if (input->is_file) {
        memmove(input->buffer, input->buffer + input->begin, input->used - input->begin);
        input->used -= input->begin;
    } else {
        input->used = 0;
    }
    input->begin = 0;
    if (input->file < 0) {
        return false;
    }
    ssize_t got = 0;
    if (input->is_file) {
        got = read(input->file, input->buffer + input->used, BUFFER_BYTES - input->used);
    } else {
        got = recv(input->file, input->buffer, BUFFER_BYTES, MSG_TRUNC);
    }
    if (got > BUFFER_BYTES) {
        input->line++;
        reject(self, input, input->buffer, BUFFER_BYTES, "the datagram is longer than 65536 bytes");
        return true;
    }
    if (got > 0) {
        input->used += (size_t)got;
        return true;
    }
    input->ended |= self->options->replayed && input->is_file && got == 0;
    return input->ended && input->used > 0; /* the unterminated last line is complete */
}

/* Returns whether the open file has an unread complete line in the buffer, or unread bytes. */
static bool has_more(const struct input *input)
{
    struct stat now;
    return memchr(input->buffer + input->begin, '\n', input->used - input->begin) != NULL ||
           (fstat(input->file, &now) == 0 && lseek(input->file, 0, SEEK_CUR) < now.st_size);
}

/* Opens the new file if the file was replaced; starts at the beginning if it was truncated. */
static void follow(struct input *input)
{
    struct stat now;
    if (stat(input->path, &now) != 0) {
        return;
    }
    if (input->file >= 0 && now.st_ino == input->inode) {
        if (lseek(input->file, 0, SEEK_CUR) > now.st_size) {
            (void)lseek(input->file, 0, SEEK_SET);
            input->begin = input->used = 0;
        }
        return;
    }
    if (input->file >= 0) {
        if (has_more(input)) {
            return; /* the old file must be read to its end first */
        }
        (void)close(input->file);
    }
    (void)open_file(input, false, NULL);
    input->begin = input->used = 0;
    input->line = 0;
}

/* Reads and parses the next line of the input; a line that is rejected or over `max_rate` is only
 * counted. Returns false if there is no complete line. */
static bool next_line(struct samples *self, struct input *input)
{
    for (;;) {
        char *text = input->buffer + input->begin;
        const size_t rest = input->used - input->begin;
        char *newline = rest > 0 ? memchr(text, '\n', rest) : NULL;
        const bool is_last = !input->is_file || input->ended;
        if (newline != NULL || (rest > 0 && is_last)) {
            const bool within_rate = count_against_rate(self, input);
            if (!within_rate && input->is_file) {
                return false; /* the line remains in the file until the next period */
            }
            const size_t length = newline != NULL ? (size_t)(newline - text) : rest;
            input->begin += length + (newline != NULL);
            if (input->skips) {
                input->line++;
                reject(self, input, text, 0, "the line is longer than 65,536 bytes");
            } else if (within_rate) {
                parse_line(self, input, text, length);
            } else {
                drop_line(self, input);
            }
            input->skips = false;
            return true;
        }
        if (rest == BUFFER_BYTES) {
            input->skips = true; /* the line is rejected when its newline is read */
            input->begin = input->used;
        }
        if (!fill(self, input)) {
            return false;
        }
    }
}

/* Returns the input whose line is processed next: replayed files in the order of the lines' times,
 * other inputs in turn. Returns NULL if no input has a line. */
static struct input *choose(struct samples *self)
{
    struct input *chosen = NULL;
    assert(self->count > 0);
    for (unsigned i = 0; i < self->count; i++) {
        struct input *input = &self->inputs[(self->turn + i) % self->count];
        if (input->has_line &&
            (chosen == NULL || (self->options->replayed && input->time_ns < chosen->time_ns))) {
            chosen = input;
        }
    }
    self->turn = self->options->replayed ? 0 : (self->turn + 1) % self->count;
    return chosen;
}

/* ---- events */

/* Sets `*ret_event` to a sample with the first `length` bytes of `text`. */
static void make_sample(const struct samples *self, size_t length, int64_t time_ns,
                        struct vamp_event *ret_event)
{
    *ret_event = (struct vamp_event){
        .kind = VAMP_EVENT_SAMPLE,
        .time_ns = time_ns,
        .name = self->text,
        .name_length = (uint32_t)length,
        .present = VAMP_HAS_TIME | VAMP_HAS_CDO_NAME,
    };
}

/* Sets `*ret_event` to the next field of the line. Returns false after the last field. */
static bool next_field(struct samples *self, struct input *input, struct vamp_event *ret_event)
{
    const char *field = NULL;
    size_t length = 0;
    const size_t series = input->current.series_length;
    while (vamp_sample_line_next(&input->current, &field, &length)) {
        if (series + 1 + length <= sizeof self->text) {
            memcpy(self->text, input->current.text, series);
            self->text[series] = ' ';
            memcpy(self->text + series + 1, field, length);
            make_sample(self, series + 1 + length, input->time_ns, ret_event);
            return true;
        }
        reject(self, input, input->current.text, series, "a sample is longer than 4,096 bytes");
    }
    input->has_line = false;
    return false;
}

/* Sets `*ret_event` to the next field that reports the state of an input, as in
 * "vampire_input,input=NAME age=1.500". Returns false if all fields were reported within the last
 * second. */
static bool next_state(struct samples *self, struct vamp_event *ret_event)
{
    static const char *const names[] = {"age", "lines", "refused", "beyond"};
    const unsigned fields = sizeof names / sizeof names[0];
    const unsigned all = self->count * fields;
    if (self->options->replayed ||
        (self->reported_fields == all && self->now_ns < self->round_ns + REPORT_NS)) {
        return false;
    }
    if (self->reported_fields >= all) {
        self->reported_fields = 0;
    }
    if (self->reported_fields == 0) {
        self->round_ns = self->now_ns;
    }
    while (self->reported_fields < all &&
           self->inputs[self->reported_fields / fields].came_ns == 0) {
        self->reported_fields += fields;
    }
    if (self->reported_fields == all) {
        return false;
    }
    const struct input *input = &self->inputs[self->reported_fields / fields];
    const double values[] = {(double)(self->now_ns - input->came_ns) / VAMP_NS_PER_SECOND,
                             (double)input->line, (double)input->refused, (double)input->beyond};
    const unsigned field = self->reported_fields++ % fields;
    char *at = stpcpy(self->text, "vampire_input,input=");
    const char *const end = self->text + sizeof self->text - 64;
    for (const char *from = input->name; *from != '\0' && at < end; *at++ = *from++) {
        if (strchr(",= \\", *from) != NULL) {
            *at++ = '\\';
        }
    }
    const size_t room = (size_t)(self->text + sizeof self->text - at);
    const int length = snprintf(at, room, " %s=%.3f", names[field], values[field]);
    assert(length > 0 && (size_t)length < room);
    make_sample(self, (size_t)(at - self->text) + (size_t)length, self->now_ns, ret_event);
    return true;
}

static enum vamp_source_status samples_next(void *object, struct vamp_event *ret_event,
                                            struct vamp_err *err)
{
    struct samples *self = object;
    const bool stops = atomic_load_explicit(self->context.stop, memory_order_relaxed) != 0;
    (void)err;
    self->now_ns = vamp_clock_utc_ns(self->context.clock);
    if (stops && self->after_stop++ == AFTER_STOP_MAX) {
        return VAMP_SOURCE_END;
    }
    if (!stops && next_state(self, ret_event)) {
        return VAMP_SOURCE_MORE;
    }
    for (unsigned pass = 0; pass < PASSES_MAX; pass++) {
        bool any = false, refused = false, all_ended = self->options->replayed;
        for (unsigned i = 0; i < self->count; i++) {
            struct input *input = &self->inputs[i];
            const bool read = input->has_line || next_line(self, input);
            any = any || read;
            refused = refused || (read && !input->has_line);
            all_ended = all_ended && input->ended;
        }
        self->busy = any;
        if (!any) {
            return all_ended || stops ? VAMP_SOURCE_END : VAMP_SOURCE_EMPTY;
        }
        /* Lines can be merged by time only if each input has a line. */
        struct input *input = refused && self->options->replayed ? NULL : choose(self);
        if (input != NULL && next_field(self, input, ret_event)) {
            return VAMP_SOURCE_MORE;
        }
    }
    return VAMP_SOURCE_EMPTY;
}

static void samples_wait(void *object, int64_t timeout_ns)
{
    struct samples *self = object;
    struct pollfd sockets[VAMP_SAMPLE_INPUTS_MAX];
    nfds_t count = 0;
    const int most_ms = (int)VAMP_MIN(timeout_ns / 1000000, POLL_MS);
    for (unsigned i = 0; i < self->count; i++) {
        struct input *input = &self->inputs[i];
        if (input->is_file) {
            follow(input);
        } else {
            sockets[count++] = (struct pollfd){.fd = input->file, .events = POLLIN};
        }
    }
    (void)poll(sockets, count, self->busy ? 0 : most_ms);
}

struct vamp_samples_account vamp_samples_account(const void *object)
{
    const struct samples *self = object;
    struct vamp_samples_account all = {0};
    for (unsigned i = 0; i < self->count; i++) {
        all.refused += self->inputs[i].refused;
        all.beyond += self->inputs[i].beyond;
    }
    return all;
}

const struct vamp_source_ops vamp_source_samples = {
    .name = "samples",
    .summary = "lines of InfluxDB's protocol from datagrams and files",
    .options_bytes = sizeof(struct vamp_samples_options),
    .open = samples_open,
    .next = samples_next,
    .wait = samples_wait,
    .close = samples_close,
};
