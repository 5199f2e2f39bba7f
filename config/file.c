/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration file: its bytes, and the line, column and excerpt of an offset into them. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/internal.h"
#include "vampire/core/utf8.h"

/* How long a FIFO may be without a writer: scripts start both ends at about the same time. */
#define FIFO_WAIT_MS 5000

/* An open file on its way into memory. */
struct input {
    int fd;
    const char *name;
    char *bytes; /* CONFIG_FILE_BYTES_MAX + 2 */
    size_t length;
    bool fifo;     /* opened without waiting for a writer */
    bool waited;   /* for a writer */
    bool deserted; /* none came */
};

/* Nothing was read from a FIFO so far: waits for what a writer sends. True: read again. */
static bool wait_for_writer(struct input *input)
{
    if (!input->fifo || input->length > 0 || input->waited) {
        return false;
    }
    struct pollfd readable = {.fd = input->fd, .events = POLLIN};
    input->waited = true;
    input->deserted = poll(&readable, 1, FIFO_WAIT_MS) == 0;
    return true;
}

/* Reads to the end, or to one byte more than is allowed. 0 or -errno without text. */
static int read_bytes(struct input *input)
{
    while (input->length <= CONFIG_FILE_BYTES_MAX) {
        const ssize_t count = read(input->fd, input->bytes + input->length,
                                   CONFIG_FILE_BYTES_MAX + 1 - input->length);
        if (count > 0) {
            input->length += (size_t)count;
        } else if (count == 0 && !wait_for_writer(input)) {
            break;
        } else if (count < 0 && errno == EAGAIN) { /* a writer that has not written yet */
            struct pollfd readable = {.fd = input->fd, .events = POLLIN};
            input->deserted = false;
            (void)poll(&readable, 1, -1);
        } else if (count < 0 && errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

static int check_bytes(const struct input *input, int code, struct vamp_err *err)
{
    if (code != 0) {
        return vamp_err_set_errno(err, -code, "read the configuration %s", input->name);
    }
    if (input->length > CONFIG_FILE_BYTES_MAX) {
        return vamp_err_set(err, -EFBIG,
                            "read the configuration %s: it is larger than 256KiB, the most a "
                            "configuration may have",
                            input->name);
    }
    return 0;
}

static int read_open_file(struct config_file *file, struct input *input, struct vamp_err *err)
{
    struct stat status;
    input->fifo =
        input->fd != STDIN_FILENO && fstat(input->fd, &status) == 0 && S_ISFIFO(status.st_mode);
    input->bytes = malloc(CONFIG_FILE_BYTES_MAX + 2);
    if (input->bytes == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "read the configuration %s", input->name);
    }
    int code = check_bytes(input, read_bytes(input), err);
    if (code == 0 && input->deserted && input->length == 0) {
        code = vamp_err_set(err, -ETIMEDOUT,
                            "read the configuration %s: this is a FIFO, and no process opened it "
                            "for writing within %d s",
                            input->name, FIFO_WAIT_MS / 1000);
    }
    if (code != 0) {
        free(input->bytes);
        return code;
    }
    input->bytes[input->length] = '\0';
    *file = (struct config_file){.bytes = input->bytes, .length = input->length};
    file->shown = malloc(input->length + 1);
    if (file->shown == NULL) {
        config_file_done(file);
        return vamp_err_set_errno(err, ENOMEM, "read the configuration %s", input->name);
    }
    memcpy(file->shown, input->bytes, input->length + 1);
    return 0;
}

int config_file_read(struct config_file *file, const char *name, struct vamp_err *err)
{
    if (strcmp(name, "-") == 0) {
        return read_open_file(
            file, &(struct input){.fd = STDIN_FILENO, .name = "from standard input"}, err);
    }
    if (name[0] == '\0') {
        return vamp_err_set(err, -ENOENT, "open the configuration: the name of the file is empty");
    }
    struct input input = {.fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK), .name = name};
    if (input.fd < 0) {
        return vamp_err_set_errno(err, errno, "open the configuration %s", name);
    }
    const int code = read_open_file(file, &input, err);
    (void)close(input.fd); /* only read: nothing can be lost */
    return code;
}

void config_file_done(struct config_file *file)
{
    free(file->bytes);
    free(file->shown);
    *file = (struct config_file){0};
}

/* The part of the line that fits, with the offset in the last third when the line is long. */
static void copy_excerpt(const char *line, size_t length, size_t offset,
                         struct vamp_diagnostic *diagnostic)
{
    const size_t room = 100;
    size_t first = offset > room * 3 / 4 ? offset - room * 3 / 4 : 0;
    while (first < offset && !vamp_utf8_begins(line[first])) {
        first++;
    }
    char *excerpt = diagnostic->excerpt;
    size_t used = 0;
    unsigned caret = 0;
    if (first > 0) {
        memcpy(excerpt, "...", 3);
        used = caret = 3;
    }
    size_t at = first;
    for (; at < length && used < sizeof diagnostic->excerpt - 8; at++) {
        if (at - first >= room && vamp_utf8_begins(line[at])) {
            memcpy(excerpt + used, "...", 3);
            used += 3;
            break;
        }
        excerpt[used++] = (unsigned char)line[at] < 0x20 || line[at] == 0x7f ? ' ' : line[at];
        caret += at < offset && vamp_utf8_begins(line[at]);
    }
    while (used > caret && excerpt[used - 1] == ' ') {
        used--;
    }
    excerpt[used] = '\0';
    diagnostic->caret = caret;
}

void config_file_place(const struct config_file *file, size_t offset,
                       struct vamp_diagnostic *diagnostic)
{
    if (offset > file->length) {
        offset = file->length;
    }
    size_t line_start = 0;
    unsigned line = 1;
    for (size_t i = 0; i < offset; i++) {
        if (file->bytes[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
    if (line == 1 && strncmp(file->bytes, CONFIG_BYTE_ORDER_MARK, 3) == 0 && offset >= 3) {
        line_start = 3;
    }
    unsigned column = 1;
    for (size_t i = line_start; i < offset; i++) {
        column += vamp_utf8_begins(file->bytes[i]);
    }
    diagnostic->line = line;
    diagnostic->column = column;
    const char *start = file->shown + line_start;
    copy_excerpt(start, strcspn(start, "\n"), offset - line_start, diagnostic);
}
