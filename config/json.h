/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes JSON to a stream, value after value. What fails stays in the stream: ask ferror and
 * fclose at the end. No state beyond the struct.
 */
#ifndef VAMP_CONFIG_JSON_H
#define VAMP_CONFIG_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Begins as {.stream = ..., .indent = ...}. */
struct config_json {
    FILE *stream;
    unsigned indent; /* blanks a level; 0: all on one line */
    unsigned depth;  /* open lists and objects */
    bool filled;     /* the innermost of them holds a value */
};

/* `key`: NULL in a list and for the outermost value. */
void config_json_open(struct config_json *json, const char *key, char bracket);
void config_json_close(struct config_json *json, char bracket);
void config_json_text(struct config_json *json, const char *key, const char *text);
void config_json_integer(struct config_json *json, const char *key, int64_t value);
void config_json_real(struct config_json *json, const char *key, double value); /* finite */
void config_json_bool(struct config_json *json, const char *key, bool value);

/* One text in quotes; a byte that is no UTF-8 becomes U+FFFD. */
void config_json_quote(FILE *stream, const char *text);

/* A text that is written through `stream`. */
struct config_draft {
    FILE *stream;
    char *text;
    size_t bytes;
};
/* False without memory. */
bool config_draft_begin(struct config_draft *draft);
/* The text, malloc'ed; NULL without memory. */
char *config_draft_end(struct config_draft *draft);

#endif
