/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Secret options in a file: messages must not quote their values. Every key that resembles the name
 * of a secret option is treated as one, wherever it is and even if no such option exists, such as
 * "password". In a file that cannot be parsed, the end of a value is unknown, so everything after
 * such a key is hidden.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

#define WORD_BYTES 80 /* longer words cannot be keys */

/* The probable meaning of a key. Only sources have secrets; outputs refer to files that contain
 * them. */
enum meaning { UNKNOWN, PLAIN, SECRET };

static enum meaning meaning_of(const char *key)
{
    static const char *const words[] = {"passw", "secret", "token", "credential"};
    enum meaning meaning = UNKNOWN;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasestr(key, words[i]) != NULL && strstr(key, "_file") == NULL) {
            return SECRET;
        }
    }
    for (const struct vamp_source_ops *const *source = vamp_sources; *source != NULL; source++) {
        const char *near = vamp_opt_near_key((*source)->options, key);
        if (near == NULL) {
            continue;
        }
        const struct vamp_opt *opt = vamp_opt_find((*source)->options, near);
        if (opt != NULL && opt->role == VAMP_OPT_SECRET) {
            return SECRET;
        }
        meaning = PLAIN;
    }
    return meaning;
}

/* In the section of the source, a key that resembles no option is also treated as a secret. The
 * keys of filters are names chosen by the user. */
static bool has_secret_key(const struct config_value *value)
{
    const struct config_value *parent = value->parent;
    if (parent == NULL || value->key[0] == '\0' || strcmp(parent->key, "filters") == 0) {
        return false;
    }
    const enum meaning meaning = meaning_of(value->key);
    const bool of_source = parent->parent != NULL && parent->parent->parent == NULL &&
                           strcmp(parent->key, "source") == 0;
    return meaning == SECRET ||
           (meaning == UNKNOWN && of_source && strcmp(value->key, "type") != 0);
}

bool config_is_secret(const struct config_value *value)
{
    while (value != NULL && !has_secret_key(value)) {
        value = value->parent;
    }
    return value != NULL;
}

static void hide(struct config_file *file, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        if (file->shown[i] != '\n') {
            file->shown[i] = '*';
        }
    }
}

void config_hide_addresses(struct config_file *file)
{
    for (size_t at = 0; at < file->length; at++) {
        size_t first = at;
        while (file->bytes[at] == '@' && first > 0 &&
               strchr("\"' \t\r\n", file->bytes[first - 1]) == NULL) {
            first--;
        }
        const char *colon = memchr(file->bytes + first, ':', at - first);
        if (colon != NULL) {
            hide(file, (size_t)(colon - file->bytes) + 1, at);
        }
    }
}

void config_hide_values(struct config_file *file, const struct config_tree *tree)
{
    for (const struct config_value *value = tree->allocated; value != NULL;
         value = value->allocated_before) {
        if (has_secret_key(value)) {
            hide(file, value->offset, value->end);
        }
    }
}

/* ---- files that cannot be parsed */

static bool is_in_word(char c)
{
    return c == '_' || isalnum((unsigned char)c);
}

/* Returns whether the character may be missing or misplaced, or be part of an escape. */
static bool is_ignored(char c)
{
    return c == '"' || c == '\'' || c == '\\';
}

/* Returns the character of an escape such as "\u0069"; '\0': not an escape. */
static char read_escape(const char *text)
{
    if (strncmp(text, "\\u00", 4) != 0 || !isxdigit((unsigned char)text[4]) ||
        !isxdigit((unsigned char)text[5])) {
        return '\0';
    }
    const char digits[] = {text[4], text[5], '\0'};
    return (char)strtoul(digits, NULL, 16);
}

/* Copies the word that begins here, with escapes resolved and without quotes. Returns its length in
 * the text. */
static size_t read_word(const char *text, char word[static WORD_BYTES])
{
    size_t at = 0;
    size_t used = 0;
    while (is_in_word(text[at]) || is_ignored(text[at])) {
        char c = read_escape(text + at);
        if (c != '\0') {
            at += 6;
        } else {
            c = text[at++];
        }
        if (is_in_word(c) && used + 1 < WORD_BYTES) {
            word[used++] = c;
        }
    }
    word[used] = '\0';
    return at;
}

/* Returns whether the file can be a configuration. Any other file, such as the output of the pool
 * manager, may consist of a secret. */
static bool begins_as_configuration(const struct config_file *file)
{
    const bool mark = strncmp(file->bytes, CONFIG_BYTE_ORDER_MARK, 3) == 0;
    const char *text = file->bytes + (mark ? 3 : 0);
    text += strspn(text, " \t\r\n");
    return *text == '{' || *text == '[' || *text == '/' || *text == '\0';
}

size_t config_hide_rest(struct config_file *file)
{
    size_t at = 0;
    bool found = !begins_as_configuration(file);
    while (at < file->length && !found) {
        char word[WORD_BYTES];
        const size_t bytes = read_word(file->bytes + at, word);
        found = meaning_of(word) == SECRET;
        at += VAMP_MAX(bytes, 1);
    }
    hide(file, at, file->length);
    return at;
}
