/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire-top/input.h"

#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs/vampire-top/input_internal.h"
#include "vampire/core/clock.h"

#define RECONNECT_NS (10 * VAMP_NS_PER_SECOND)

static bool is_socket(const char *source)
{
    return strncmp(source, "unix:", 5) == 0 || strncmp(source, "tcp:", 4) == 0;
}

int top_input_check(const char *source, struct vamp_err *err)
{
    if (*source == '\0' || strlen(source) >= INPUT_PATH_BYTES) {
        return vamp_err_set(err, -EINVAL, "SOURCE \"%.64s\": its name has 1 to %d bytes", source,
                            INPUT_PATH_BYTES - 1);
    }
    return is_socket(source) ? input_check_socket(source, err) : 0;
}

static int open_source(struct top_input *input, struct vamp_err *err)
{
    const char *source = input->options.source;
    if (strcmp(source, "-") == 0) {
        input->kind = INPUT_STREAM;
        input->fd = STDIN_FILENO;
        return 0;
    }
    if (is_socket(source)) {
        input->kind = INPUT_STREAM;
        return input_connect(input, err);
    }
    return input_open_path(input, err);
}

static bool may_come(int code)
{
    return code == -ENOENT || code == -ECONNREFUSED;
}

int top_input_open(const struct top_input_options *options, struct top_input **ret_input,
                   struct vamp_err *err)
{
    int code = top_input_check(options->source, err);
    if (code != 0) {
        return code;
    }
    struct top_input *input = calloc(1, sizeof *input);
    if (input == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "open %s", options->source);
    }
    input->options = *options;
    input->fd = -1;
    assert(strlen(options->source) < sizeof input->path); /* was checked */
    memcpy(input->path, options->source, strlen(options->source) + 1);
    code = open_source(input, err);
    if (code != 0 && !(options->wait && may_come(code))) {
        top_input_close(input);
        return code;
    }
    *ret_input = input;
    return 0;
}

void top_input_close(struct top_input *input)
{
    if (input == NULL) {
        return;
    }
    if (input->fd > STDIN_FILENO) {
        (void)close(input->fd);
    }
    free(input);
}

const char *top_input_name(const struct top_input *input)
{
    return strcmp(input->path, "-") == 0 ? "standard input" : input->path;
}

/* ---- lines */

static enum top_fed feed_line(struct top_input *input, struct top_model *model, const char *line,
                              size_t bytes)
{
    if (input->skip_line) {
        if (!input->skip_silently) {
            top_model_skip(model);
        }
        input->skip_line = input->skip_silently = false;
        return TOP_FED_LINE;
    }
    if (bytes == 0) {
        return TOP_FED_LINE;
    }
    return top_model_feed(model, line, bytes);
}

/* The lines that are in the buffer, up to the end of a bucket or of the run. */
static enum top_input_state feed_lines(struct top_input *input, struct top_model *model)
{
    while (input->taken < input->held) {
        const char *line = input->buffer + input->taken;
        const char *end = memchr(line, '\n', input->held - input->taken);
        if (end == NULL) {
            break;
        }
        enum top_fed fed = feed_line(input, model, line, (size_t)(end - line));
        input->taken += (size_t)(end - line) + 1;
        input->rotated = input->rotated || fed == TOP_FED_ROTATED;
        input->finished = fed == TOP_FED_END || (input->finished && fed == TOP_FED_LINE);
        if (fed == TOP_FED_BUCKET || fed == TOP_FED_END) {
            return fed == TOP_FED_BUCKET ? TOP_INPUT_BUCKET : TOP_INPUT_CLOSED;
        }
    }
    return TOP_INPUT_MORE;
}

/* Makes room: moves an incomplete line to the front. A line that fills the buffer is too long. */
static void make_room(struct top_input *input)
{
    assert(input->taken <= input->held && input->held <= sizeof input->buffer);
    memmove(input->buffer, input->buffer + input->taken, input->held - input->taken);
    input->held -= input->taken;
    input->taken = 0;
    if (input->held == sizeof input->buffer) {
        input->held = 0;
        input->skip_line = true;
    }
}

/* ---- reading */

/* The run continues with another configuration and will listen again in a moment. */
static enum top_input_state connect_again(struct top_input *input)
{
    (void)close(input->fd);
    input->fd = -1;
    input->rotated = false;
    input->reconnect_until_ns = vamp_clock_monotonic_ns(&vamp_clock_system) + RECONNECT_NS;
    return TOP_INPUT_IDLE;
}

/* The state that the end of the data means for this kind of input. */
static enum top_input_state at_end(struct top_input *input, struct top_model *model)
{
    switch (input->kind) {
    case INPUT_STREAM:
        if (input->held > 0) { /* a stream may end within a line: that is reported as such */
            (void)feed_line(input, model, input->buffer, input->held);
            input->held = 0;
        }
        return input->rotated && is_socket(input->options.source) ? connect_again(input)
                                                                  : TOP_INPUT_END;
    case INPUT_FIFO:
        input->hung_up = true;
        return input->finished ? TOP_INPUT_END : TOP_INPUT_IDLE;
    case INPUT_FILE:
        if (input_follow(input, model)) {
            return TOP_INPUT_MORE;
        }
        return input->finished ? TOP_INPUT_END : TOP_INPUT_IDLE;
    }
    return TOP_INPUT_END;
}

bool top_input_is_settled(const struct top_input *input)
{
    return input->kind == INPUT_FILE && input->fd >= 0 && !input->options.wait;
}

/* Opens a source that did not exist before, or is missing for a moment. */
static int open_late(struct top_input *input, struct vamp_err *err)
{
    struct vamp_err late = VAMP_ERR_NONE;
    int code = open_source(input, &late);
    bool waits = input->options.wait ||
                 vamp_clock_monotonic_ns(&vamp_clock_system) < input->reconnect_until_ns;
    return code == 0 || (may_come(code) && waits) ? 0 : vamp_err_set(err, code, "%s", late.text);
}

int top_input_read(struct top_input *input, struct top_model *model,
                   enum top_input_state *ret_state, struct vamp_err *err)
{
    *ret_state = feed_lines(input, model);
    if (*ret_state != TOP_INPUT_MORE) {
        return 0;
    }
    if (input->fd < 0) {
        *ret_state = TOP_INPUT_IDLE;
        return open_late(input, err);
    }
    if (input->begins_within_line) {
        input->skip_line = input->skip_silently = true;
        input->begins_within_line = false;
    }
    make_room(input);
    assert(input->held < sizeof input->buffer); /* reading 0 bytes would look like the end */
    ssize_t bytes =
        read(input->fd, input->buffer + input->held, sizeof input->buffer - input->held);
    if (bytes < 0) {
        if (errno == EAGAIN || errno == EINTR) {
            *ret_state = TOP_INPUT_IDLE;
            return 0;
        }
        *ret_state = TOP_INPUT_END;
        return vamp_err_set_errno(err, errno, "read %s", top_input_name(input));
    }
    if (bytes == 0) {
        *ret_state = at_end(input, model);
        return 0;
    }
    input->held += (size_t)bytes;
    input->offset += bytes;
    input->hung_up = false;
    *ret_state = feed_lines(input, model);
    return 0;
}

void top_input_wait(struct top_input *input, int key_fd, int milliseconds)
{
    /* A file is always readable and a FIFO without writer always at its end: so wait for a fixed
     * time. */
    bool pollable = input != NULL && input->kind != INPUT_FILE && !input->hung_up;
    struct pollfd waiting[2] = {{.fd = key_fd, .events = POLLIN},
                                {.fd = pollable ? input->fd : -1, .events = POLLIN}};
    (void)poll(waiting, 2, milliseconds);
}
