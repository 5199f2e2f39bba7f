/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration file: its bytes, and the line, column and excerpt of an offset into them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/internal.h"
#include "vampire/core/utf8.h"

void config_file_done(struct config_file *file)
{
    free(file->bytes);
    free(file->shown);
    *file = (struct config_file){0};
}

/* Reads to the end, or to one byte more than is allowed. 0 or -errno without text. */
static int read_bytes(int fd, char *bytes, size_t *ret_length)
{
    size_t length = 0;
    ssize_t count = 1;
    while (count != 0 && length <= CONFIG_FILE_BYTES_MAX) {
        count = read(fd, bytes + length, CONFIG_FILE_BYTES_MAX + 1 - length);
        if (count < 0 && errno != EINTR) {
            return -errno;
        }
        length += count > 0 ? (size_t)count : 0;
    }
    bytes[length] = '\0';
    *ret_length = length;
    return 0;
}

int config_file_read(struct config_file *file, const char *name, struct vamp_err *err)
{
    const bool standard = strcmp(name, "-") == 0;
    const char *shown = standard ? "from standard input" : name;
    if (name[0] == '\0') {
        return vamp_err_set(err, -ENOENT, "open the configuration: the name of the file is empty");
    }
    const int fd = standard ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return vamp_err_set_errno(err, errno, "open the configuration %s", name);
    }
    *file = (struct config_file){.bytes = malloc(CONFIG_FILE_BYTES_MAX + 2)};
    int code = file->bytes != NULL ? read_bytes(fd, file->bytes, &file->length) : -ENOMEM;
    if (code == 0 && file->length <= CONFIG_FILE_BYTES_MAX) {
        file->shown = malloc(file->length + 1); /* the bytes may contain zeros */
        code = file->shown != NULL ? 0 : -ENOMEM;
    }
    if (file->shown != NULL) {
        memcpy(file->shown, file->bytes, file->length + 1);
    }
    if (!standard) {
        (void)close(fd); /* only read: nothing can be lost */
    }
    if (code == 0 && file->length > CONFIG_FILE_BYTES_MAX) {
        code = vamp_err_set(err, -EFBIG,
                            "read the configuration %s: it is larger than 256KiB, the most a "
                            "configuration may have",
                            shown);
    } else if (code != 0) {
        code = vamp_err_set_errno(err, -code, "read the configuration %s", shown);
    }
    if (code != 0) {
        config_file_done(file);
    }
    return code;
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
