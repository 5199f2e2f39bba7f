/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Glob patterns: `*` matches any characters, `?` one character, `[a-z]` and `[!a-z]` one character
 * of a set; `\` makes the next character literal. Characters are UTF-8 characters; a byte of
 * invalid UTF-8 counts as a character that equals only itself. The whole text must match.
 */
#include "filters/expression_tree.h"

#include <string.h>

#include "vampire/core/utf8.h"
#include "vampire/core/values.h"

/* Decodes the character at `*at` and moves `*at` past it. Invalid bytes yield numbers above all
 * code points, so that they never equal a valid character. */
static uint32_t take(const char *text, size_t length, size_t *at)
{
    const unsigned char *b = (const unsigned char *)text + *at;
    if (b[0] < 0x80) {
        ++*at;
        return b[0];
    }
    uint32_t character = 0x110000U + b[0];
    const size_t size = vamp_utf8_read(text + *at, length - *at, &character);
    *at += VAMP_MAX(size, 1);
    return character;
}

/* Decodes a character of a set, or a literal character, and resolves an escape. */
static uint32_t take_escaped(const char *pattern, size_t length, size_t *at)
{
    if (pattern[*at] == '\\' && *at + 1 < length) {
        ++*at;
    }
    return take(pattern, length, at);
}

/* Returns whether `character` is in the set that begins at pattern[*at], after '['; moves *at past
 * the ']'. vamp_glob_check must have accepted the set. */
static bool in_set(const char *pattern, size_t length, size_t *at, uint32_t character)
{
    bool negated = pattern[*at] == '!' || pattern[*at] == '^';
    bool found = false;
    *at += negated;
    for (bool first = true; first || pattern[*at] != ']'; first = false) {
        uint32_t low = take_escaped(pattern, length, at), high = low;
        if (pattern[*at] == '-' && pattern[*at + 1] != ']') {
            ++*at;
            high = take_escaped(pattern, length, at);
        }
        found = found || (character >= low && character <= high);
    }
    ++*at;
    return found != negated;
}

/* Checks the set after '[' at *at, and moves past it. */
static const char *check_set(const char *pattern, size_t length, size_t *at)
{
    *at += *at < length && (pattern[*at] == '!' || pattern[*at] == '^');
    for (bool first = true; *at < length && (first || pattern[*at] != ']'); first = false) {
        if (pattern[*at] == '\\' && *at + 1 >= length) {
            break;
        }
        uint32_t low = take_escaped(pattern, length, at);
        if (*at + 1 < length && pattern[*at] == '-' && pattern[*at + 1] != ']') {
            ++*at;
            if (pattern[*at] == '\\' && *at + 1 >= length) {
                break;
            }
            if (take_escaped(pattern, length, at) < low) {
                return "a range in [...] ends before it begins";
            }
        }
    }
    if (*at >= length || pattern[*at] != ']') {
        return "'[' is not closed by ']'; \\[ is the character itself";
    }
    ++*at;
    return NULL;
}

const char *vamp_glob_check(const char *pattern, size_t length)
{
    for (size_t at = 0; at < length;) {
        if (pattern[at] == '\\') {
            if (at + 1 >= length) {
                return "a backslash at the end takes no character";
            }
            at += 2;
        } else if (pattern[at] == '[') {
            at++;
            const char *wrong = check_set(pattern, length, &at);
            if (wrong != NULL) {
                return wrong;
            }
        } else {
            at++;
        }
    }
    return NULL;
}

/* Returns whether the element at pattern[*at], which is not a star, matches `character`; moves *at
 * past the element. */
static bool element_matches(const char *pattern, size_t length, size_t *at, uint32_t character)
{
    if (pattern[*at] == '?') {
        ++*at;
        return true;
    }
    if (pattern[*at] == '[') {
        ++*at;
        return in_set(pattern, length, at, character);
    }
    return take_escaped(pattern, length, at) == character;
}

/* Returns whether the byte is a literal character by itself; no byte of another character equals
 * it. */
static bool is_plain(char c)
{
    static const bool means_more[128] = {['*'] = true, ['?'] = true, ['['] = true, ['\\'] = true};
    return (c & 0x80) == 0 && !means_more[(unsigned char)c];
}

/* Returns the first position from `at` on where the text after a star may begin; SIZE_MAX: none. */
static size_t next_start(char first, const char *text, size_t length, size_t at)
{
    if (at == length || !is_plain(first)) {
        return at;
    }
    const char *found = memchr(text + at, first, length - at);
    return found != NULL ? (size_t)(found - text) : SIZE_MAX;
}

static inline __attribute__((always_inline)) bool match(const char *pattern, size_t pattern_length,
                                                        const char *text, size_t text_length,
                                                        unsigned *steps)
{
    size_t p = 0, t = 0;
    /* Position to continue from after a failed attempt: after the last star, one character later.
     * Earlier stars never need another attempt. */
    size_t star_p = SIZE_MAX, star_t = 0;
    while (p < pattern_length || t < text_length) {
        if (*steps == 0) {
            return false;
        }
        --*steps;
        if (p < pattern_length && pattern[p] == '*') {
            star_p = ++p;
            if (p == pattern_length) {
                return true;
            }
            star_t = t = next_start(pattern[p], text, text_length, t);
            if (t == SIZE_MAX) {
                return false;
            }
            continue;
        }
        if (p < pattern_length && t < text_length && is_plain(pattern[p])) {
            if (pattern[p] == text[t]) {
                p++;
                t++;
                continue;
            }
        } else if (p < pattern_length && t < text_length) {
            size_t after = t;
            uint32_t character = take(text, text_length, &after);
            if (element_matches(pattern, pattern_length, &p, character)) {
                t = after;
                continue;
            }
        }
        if (star_p == SIZE_MAX || star_t >= text_length) {
            return false;
        }
        p = star_p;
        (void)take(text, text_length, &star_t);
        star_t = t = next_start(pattern[p], text, text_length, star_t);
        if (t == SIZE_MAX) {
            return false;
        }
    }
    return true;
}

bool vamp_glob_match(const char *pattern, size_t pattern_length, const char *text,
                     size_t text_length, unsigned *steps)
{
    unsigned left = *steps; /* copy that stays in a register */
    const bool matches = match(pattern, pattern_length, text, text_length, &left);
    *steps = left;
    return matches;
}
