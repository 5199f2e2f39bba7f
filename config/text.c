/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration file's bytes. Comments are overwritten with blanks, byte by byte, before the
 * JSON reader sees the text, so that every offset means the same in both copies.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

static const char byte_order_mark[] = "\xef\xbb\xbf";

static int read_stream(struct config_text *text, FILE *stream, const char *file,
                       struct vamp_err *err)
{
    char *bytes = malloc(CONFIG_FILE_BYTES_MAX + 2);
    if (bytes == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "read the configuration %s", file);
    }
    errno = 0;
    size_t length = fread(bytes, 1, CONFIG_FILE_BYTES_MAX + 1, stream);
    int code = 0;
    if (ferror(stream)) {
        code = vamp_err_set_errno(err, errno != 0 ? errno : EIO, "read the configuration %s", file);
    } else if (length > CONFIG_FILE_BYTES_MAX) {
        code = vamp_err_set(err, -EFBIG,
                            "read the configuration %s: it is larger than 256KiB, the most a "
                            "configuration may have",
                            file);
    }
    if (code != 0) {
        free(bytes);
        return code;
    }
    bytes[length] = '\0';
    text->bytes = bytes;
    text->length = length;
    return 0;
}

int config_text_read(struct config_text *text, const char *file, struct vamp_err *err)
{
    if (strcmp(file, "-") == 0) {
        return read_stream(text, stdin, "from standard input", err);
    }
    FILE *stream = fopen(file, "re");
    if (stream == NULL) {
        return vamp_err_set_errno(err, errno, "open the configuration %s", file);
    }
    int code = read_stream(text, stream, file, err);
    (void)fclose(stream); /* only read: nothing can be lost */
    return code;
}

void config_text_done(struct config_text *text)
{
    free(text->bytes);
    free(text->blanked);
    *text = (struct config_text){0};
}

/* From the opening quote to behind the closing one, or to the end of the text. */
static size_t skip_string(const char *bytes, size_t at)
{
    for (at++; bytes[at] != '\0' && bytes[at] != '"' && bytes[at] != '\n'; at++) {
        if (bytes[at] == '\\' && bytes[at + 1] != '\0') {
            at++;
        }
    }
    return bytes[at] == '"' ? at + 1 : at;
}

/* Blanks one comment; returns the offset behind it, 0 when it does not end. */
static size_t blank_comment(char *bytes, size_t at)
{
    bool block = bytes[at + 1] == '*';
    const char *end = block ? strstr(bytes + at + 2, "*/") : strchr(bytes + at, '\n');
    if (end == NULL && block) {
        return 0;
    }
    size_t behind = end == NULL ? at + strlen(bytes + at) : (size_t)(end - bytes) + (block ? 2 : 0);
    for (; at < behind; at++) {
        if (bytes[at] != '\n') {
            bytes[at] = ' ';
        }
    }
    return behind;
}

static bool blank_all(char *bytes, size_t length, struct config_fault *ret_fault)
{
    unsigned depth = 0;
    size_t at = 0;
    while (at < length) {
        char c = bytes[at];
        if (c == '"') {
            at = skip_string(bytes, at);
            continue;
        }
        if (c == '/' && (bytes[at + 1] == '/' || bytes[at + 1] == '*')) {
            size_t behind = blank_comment(bytes, at);
            if (behind == 0) {
                *ret_fault = (struct config_fault){at, "this comment has no end (*/)"};
                return false;
            }
            at = behind;
            continue;
        }
        if (c == '\0') {
            *ret_fault = (struct config_fault){at, "a zero byte: this is no text file"};
            return false;
        }
        if ((c == '{' || c == '[') && ++depth > CONFIG_DEPTH_MAX) {
            *ret_fault = (struct config_fault){at, "nested too deeply: more than 16 levels"};
            return false;
        }
        if ((c == '}' || c == ']') && depth > 0) {
            depth--;
        }
        at++;
    }
    return true;
}

bool config_text_blank(struct config_text *text, struct config_fault *ret_fault)
{
    if (strncmp(text->blanked, byte_order_mark, sizeof byte_order_mark - 1) == 0) {
        memset(text->blanked, ' ', sizeof byte_order_mark - 1);
    }
    if (!blank_all(text->blanked, text->length, ret_fault)) {
        return false;
    }
    if (strspn(text->blanked, " \t\r\n") == text->length) {
        *ret_fault =
            (struct config_fault){0, "the file is empty; {} is the smallest configuration"};
        return false;
    }
    return true;
}

static bool begins_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

/* The part of the line that fits, with the offset in the last third when the line is long. */
static void take_excerpt(const char *line, size_t length, size_t offset,
                         struct vamp_diagnostic *diagnostic)
{
    const size_t room = 100;
    size_t first = offset > room * 3 / 4 ? offset - room * 3 / 4 : 0;
    while (first < offset && !begins_character(line[first])) {
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
        if (at - first >= room && begins_character(line[at])) {
            memcpy(excerpt + used, "...", 3);
            used += 3;
            break;
        }
        excerpt[used++] = (unsigned char)line[at] < 0x20 || line[at] == 0x7f ? ' ' : line[at];
        caret += at < offset && begins_character(line[at]);
    }
    while (used > caret && excerpt[used - 1] == ' ') {
        used--;
    }
    excerpt[used] = '\0';
    diagnostic->caret = caret;
}

void config_text_place(const struct config_text *text, size_t offset,
                       struct vamp_diagnostic *diagnostic)
{
    if (offset > text->length) {
        offset = text->length;
    }
    size_t line_start = 0;
    unsigned line = 1;
    for (size_t i = 0; i < offset; i++) {
        if (text->bytes[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
    if (line == 1 && strncmp(text->bytes, byte_order_mark, sizeof byte_order_mark - 1) == 0 &&
        offset >= sizeof byte_order_mark - 1) {
        line_start = sizeof byte_order_mark - 1;
    }
    unsigned column = 1;
    for (size_t i = line_start; i < offset; i++) {
        column += begins_character(text->bytes[i]);
    }
    diagnostic->line = line;
    diagnostic->column = column;
    const char *start = text->bytes + line_start;
    take_excerpt(start, strcspn(start, "\n"), offset - line_start, diagnostic);
}
