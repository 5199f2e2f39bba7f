/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire-top/input.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vampire/core/address.h"
#include "vampire/core/clock.h"

#define RECONNECT_NS (10 * VAMP_NS_PER_SECOND)
/* Only this much of a longer file is read, unless the user asks for the whole. */
#define TAIL_BYTES (16 * 1024 * 1024)
/* How many segment numbers are tried: other runs may have taken some. */
#define SEGMENTS_AHEAD 64
#define PATH_BYTES 4096

enum kind {
    KIND_FILE,   /* followed */
    KIND_FIFO,   /* writers come and go */
    KIND_STREAM, /* standard input, socket: its end is the end */
};

struct top_input {
    enum kind kind;
    struct top_input_options options;
    int fd; /* -1: not there (yet) */
    char path[PATH_BYTES];
    /* Of a file: the file that is open, and the position in it. */
    dev_t device;
    ino_t inode;
    off_t offset;
    bool rotated;               /* its last line was read; the next segment is looked for */
    int64_t reconnect_until_ns; /* of a socket whose run continues, by the monotonic clock */
    bool finished;              /* the run has ended */
    bool hung_up;               /* of a FIFO: no writer at the moment */
    bool begins_within_line;    /* what is read next, probably */
    bool skip_line;             /* until the next newline: too long, or begun before the input */
    bool skip_silently;         /* the latter */
    size_t taken, held;         /* of buffer: lines done, bytes there */
    char buffer[TOP_LINE_BYTES];
};

/* ---- sockets */

static void close_fd(struct top_input *input)
{
    if (input->fd > STDIN_FILENO) {
        (void)close(input->fd);
    }
    input->fd = -1;
}

static bool is_socket(const char *source)
{
    return strncmp(source, "unix:", 5) == 0 || strncmp(source, "tcp:", 4) == 0;
}

/* unix:PATH, tcp:..., or the path of a Unix socket. */
static int parse_socket(const char *source, struct vamp_address *ret, struct vamp_err *err)
{
    char text[PATH_BYTES + 8];
    (void)snprintf(text, sizeof text, "%s%s", is_socket(source) ? "" : "unix:", source);
    const int code = vamp_address_parse(text, "tcp", ret, err);
    const bool v6 = ret->any.sa_family == AF_INET6;
    const bool here =
        v6 ? IN6_IS_ADDR_LOOPBACK(&ret->v6.sin6_addr) : ntohl(ret->v4.sin_addr.s_addr) >> 24 == 127;
    return code == 0 && ret->any.sa_family != AF_UNIX && (!here || vamp_address_port(ret) == 0)
               ? vamp_err_set(err, -EINVAL, "%s: a port of this machine, 1 to 65535, is expected",
                              source)
               : code;
}

static int connect_to(struct top_input *input, struct vamp_err *err)
{
    struct vamp_address address;
    input->kind = KIND_STREAM;
    int code = parse_socket(input->path, &address, err);
    if (code != 0) {
        return code;
    }
    const int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* Blocking: on this machine a connection is there or refused at once. */
    if (fd < 0 || connect(fd, &address.any, address.bytes) != 0 ||
        fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        code = vamp_err_set_errno(err, errno, "connect to %s", input->path);
        if (fd >= 0) {
            (void)close(fd);
        }
        return code;
    }
    input->fd = fd;
    return 0;
}

/* ---- files */

/* A long file is read from some line near its end. Its first line, the header, is read in any
 * case: it names the workflow. */
static void skip_to_tail(struct top_input *input, off_t size)
{
    if (input->options.whole || size <= TAIL_BYTES) {
        return;
    }
    ssize_t bytes = pread(input->fd, input->buffer, sizeof input->buffer, 0);
    const char *end = bytes > 0 ? memchr(input->buffer, '\n', (size_t)bytes) : NULL;
    input->taken = 0;
    input->held = end != NULL ? (size_t)(end - input->buffer) + 1 : 0;
    off_t start = lseek(input->fd, size - TAIL_BYTES, SEEK_SET);
    input->offset = start > 0 ? start : 0;
    input->begins_within_line = start > 0;
}

static void restart(struct top_input *input)
{
    input->offset = 0;
    input->taken = input->held = 0;
    input->hung_up = input->rotated = input->finished = false;
    input->begins_within_line = input->skip_line = input->skip_silently = false;
}

static int take_fd(struct top_input *input, int fd, struct vamp_err *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return vamp_err_set_errno(err, errno, "look at %s", input->path);
    }
    if (S_ISDIR(status.st_mode)) {
        return vamp_err_set(err, -EISDIR,
                            "open %s: it is a directory; name the file, such as "
                            "%.200s/vampire.jsonl",
                            input->path, input->path);
    }
    input->kind = S_ISREG(status.st_mode)    ? KIND_FILE
                  : S_ISFIFO(status.st_mode) ? KIND_FIFO
                                             : KIND_STREAM;
    input->device = status.st_dev;
    input->inode = status.st_ino;
    restart(input);
    close_fd(input);
    input->fd = fd;
    if (input->kind == KIND_FILE) {
        skip_to_tail(input, status.st_size);
    }
    return 0;
}

/* Opens what is at `path`, whatever it is. */
static int open_path(struct top_input *input, struct vamp_err *err)
{
    /* A FIFO without a writer must not block. */
    const int fd = open(input->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 && errno == ENXIO) {
        return connect_to(input, err);
    }
    if (fd < 0) {
        return vamp_err_set_errno(err, errno, "open %s", input->path);
    }
    const int code = take_fd(input, fd, err);
    if (code != 0) {
        (void)close(fd);
    }
    return code;
}

/* ---- segments */

/* The path so many segments further, after NAME, NAME.0002, NAME.0003, ... or RUN-0001.jsonl,
 * RUN-0002.jsonl, ...; "" when it would be too long. */
static void segment_path(char out[static PATH_BYTES], const char *path, unsigned ahead)
{
    const char *end = path + strlen(path);
    const bool named = end - path > 11 && end[-11] == '-' && strcmp(end - 6, ".jsonl") == 0;
    const char *suffix = named ? end - 6 : end;
    const char *digits = suffix - 4;
    unsigned long number = 1;
    if (end - path <= 5 || digits[-1] != (named ? '-' : '.') || strspn(digits, "0123456789") < 4) {
        digits = suffix = end;
    } else {
        number = strtoul(digits, NULL, 10);
    }
    const int length = snprintf(out, PATH_BYTES, "%.*s%s%04lu%s", (int)(digits - path), path,
                                digits == end ? "." : "", number + ahead, suffix);
    if (length < 0 || length >= PATH_BYTES) {
        out[0] = '\0'; /* no such file then */
    }
}

/* Whether this file's header, in its first bytes, names the present run. */
static bool is_of_run(int fd, const char *run)
{
    char begin[256];
    char wanted[64];
    ssize_t bytes = pread(fd, begin, sizeof begin - 1, 0);
    begin[bytes > 0 ? bytes : 0] = '\0';
    (void)snprintf(wanted, sizeof wanted, "\"run\":\"%s\"", run);
    return strstr(begin, wanted) != NULL;
}

static bool next_segment(struct top_input *input, const struct top_model *model)
{
    for (unsigned ahead = 1; ahead <= SEGMENTS_AHEAD; ahead++) {
        char path[PATH_BYTES];
        segment_path(path, input->path, ahead);
        int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (fd < 0) {
            return false;
        }
        if (is_of_run(fd, top_model_run(model)) && take_fd(input, fd, NULL) == 0) {
            memcpy(input->path, path, strlen(path) + 1);
            return true;
        }
        (void)close(fd);
    }
    return false;
}

/* At the end of a file: was it replaced, cut, or is there a next segment? Opens that. True when
 * there is something new to read. */
static bool follow(struct top_input *input, const struct top_model *model)
{
    struct stat status;
    if (input->rotated && next_segment(input, model)) {
        return true;
    }
    if (stat(input->path, &status) != 0) {
        return false; /* moved away: wait for the file that replaces it */
    }
    if (status.st_dev == input->device && status.st_ino == input->inode) {
        if (status.st_size >= input->offset) {
            return false;
        }
        /* Cut, to be written again. */
        if (lseek(input->fd, 0, SEEK_SET) != 0) {
            return false;
        }
        restart(input);
        return true;
    }
    return open_path(input, NULL) == 0;
}

/* ---- opening */

int top_input_check(const char *source, struct vamp_err *err)
{
    if (*source == '\0' || strlen(source) >= PATH_BYTES) {
        return vamp_err_set(err, -EINVAL, "SOURCE \"%.64s\": its name has 1 to %d bytes", source,
                            PATH_BYTES - 1);
    }
    struct vamp_address ignored;
    return is_socket(source) ? parse_socket(source, &ignored, err) : 0;
}

static int open_source(struct top_input *input, struct vamp_err *err)
{
    if (strcmp(input->options.source, "-") == 0) {
        input->kind = KIND_STREAM;
        input->fd = STDIN_FILENO;
        return 0;
    }
    return is_socket(input->options.source) ? connect_to(input, err) : open_path(input, err);
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
    if (input != NULL) {
        close_fd(input);
        free(input);
    }
}

const char *top_input_name(const struct top_input *input)
{
    return strcmp(input->path, "-") == 0 ? "standard input" : input->path;
}

unsigned top_input_progress(const struct top_input *input)
{
    struct stat status;
    const bool known = input->kind == KIND_FILE && fstat(input->fd, &status) == 0;
    return known && input->offset < status.st_size
               ? (unsigned)(100 * (double)input->offset / (double)status.st_size)
               : 100;
}

/* ---- lines */

static enum top_fed feed_line(struct top_input *input, struct top_model *model, const char *line,
                              size_t bytes)
{
    if (!input->skip_line) {
        return bytes > 0 ? top_model_feed(model, line, bytes) : TOP_FED_LINE;
    }
    if (input->skip_silently) {
        top_model_jump(model);
    } else {
        top_model_skip(model);
    }
    input->skip_line = input->skip_silently = false;
    return TOP_FED_LINE;
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

/* The state that the end of the data means for this kind of input. */
static enum top_input_state at_end(struct top_input *input, struct top_model *model)
{
    switch (input->kind) {
    case KIND_STREAM:
        if (input->held > 0) { /* a stream may end within a line: that is reported as such */
            (void)feed_line(input, model, input->buffer, input->held);
            input->held = 0;
        }
        if (!input->rotated || !is_socket(input->options.source)) {
            return TOP_INPUT_END;
        }
        /* The run continues with another configuration and will listen again in a moment. */
        close_fd(input);
        input->rotated = false;
        input->reconnect_until_ns = vamp_clock_monotonic_ns(&vamp_clock_system) + RECONNECT_NS;
        return TOP_INPUT_IDLE;
    case KIND_FIFO:
        input->hung_up = true;
        return input->finished ? TOP_INPUT_END : TOP_INPUT_IDLE;
    case KIND_FILE:
        return follow(input, model) ? TOP_INPUT_MORE
               : input->finished    ? TOP_INPUT_END
                                    : TOP_INPUT_IDLE;
    }
    return TOP_INPUT_END;
}

bool top_input_is_settled(const struct top_input *input)
{
    return input->kind == KIND_FILE && input->fd >= 0 && !input->options.wait;
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
    bool pollable = input != NULL && input->kind != KIND_FILE && !input->hung_up;
    struct pollfd waiting[2] = {{.fd = key_fd, .events = POLLIN},
                                {.fd = pollable ? input->fd : -1, .events = POLLIN}};
    (void)poll(waiting, 2, milliseconds);
}
