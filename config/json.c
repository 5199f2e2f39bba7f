/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/utf8.h"

static void write_escaped(FILE *stream, char c)
{
    static const char escapes[] = "\"\\bfnrt", meanings[] = "\"\\\b\f\n\r\t";
    const char *found = strchr(meanings, c);
    if (found != NULL) {
        (void)fprintf(stream, "\\%c", escapes[found - meanings]);
    } else {
        (void)fprintf(stream, "\\u%04X", (unsigned)(unsigned char)c);
    }
}

void config_json_quote(FILE *stream, const char *text)
{
    (void)fputc('"', stream);
    while (*text != '\0') {
        const size_t length = vamp_utf8_length(text);
        if (length == 0) {
            (void)fputs(VAMP_UTF8_REPLACEMENT, stream);
        } else if (*text == '"' || *text == '\\' || (unsigned char)*text < 0x20) {
            write_escaped(stream, *text);
        } else {
            (void)fwrite(text, 1, length, stream);
        }
        text += length > 0 ? length : 1;
    }
    (void)fputc('"', stream);
}

static void new_line(const struct config_json *json)
{
    if (json->indent > 0) {
        (void)fprintf(json->stream, "\n%*s", (int)(json->indent * json->depth), "");
    }
}

static void begin_value(struct config_json *json, const char *key)
{
    if (json->filled) {
        (void)fputs(json->indent > 0 ? "," : ", ", json->stream);
    }
    if (json->depth > 0) {
        new_line(json);
    }
    if (key != NULL) {
        config_json_quote(json->stream, key);
        (void)fputs(": ", json->stream);
    }
    json->filled = true;
}

void config_json_open(struct config_json *json, const char *key, char bracket)
{
    begin_value(json, key);
    (void)fputc(bracket, json->stream);
    json->depth++;
    json->filled = false;
}

void config_json_close(struct config_json *json, char bracket)
{
    json->depth--;
    if (json->filled) {
        new_line(json);
    }
    (void)fputc(bracket, json->stream);
    json->filled = true;
}

void config_json_text(struct config_json *json, const char *key, const char *text)
{
    begin_value(json, key);
    config_json_quote(json->stream, text);
}

void config_json_integer(struct config_json *json, const char *key, int64_t value)
{
    begin_value(json, key);
    (void)fprintf(json->stream, "%" PRId64, value);
}

void config_json_real(struct config_json *json, const char *key, double value)
{
    char digits[32];
    /* 15 digits suffice for what a person writes, 17 for everything. */
    (void)snprintf(digits, sizeof digits, "%.15g", value);
    if (strtod(digits, NULL) != value) {
        (void)snprintf(digits, sizeof digits, "%.17g", value);
    }
    begin_value(json, key);
    (void)fputs(digits, json->stream);
}

void config_json_bool(struct config_json *json, const char *key, bool value)
{
    begin_value(json, key);
    (void)fputs(value ? "true" : "false", json->stream);
}

bool config_draft_begin(struct config_draft *draft)
{
    *draft = (struct config_draft){0};
    draft->stream = open_memstream(&draft->text, &draft->bytes);
    return draft->stream != NULL;
}

char *config_draft_end(struct config_draft *draft)
{
    bool failed = ferror(draft->stream) != 0;
    failed = fclose(draft->stream) != 0 || failed;
    if (failed) {
        free(draft->text);
        return NULL;
    }
    return draft->text;
}
