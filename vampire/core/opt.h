/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Option tables: the one source of an option's name, type, default, bounds, allowed words and
 * help. Parsing a configuration, `--help`, `--dump-config`, the JSON Schema and the manual all
 * read them. A table fills a plain struct, each option at its offset.
 *
 * A table ends with an entry whose key is NULL. Strings that a table stores are owned by the
 * struct it filled: vamp_opt_done frees them.
 */
#ifndef VAMP_CORE_OPT_H
#define VAMP_CORE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"

enum vamp_opt_type {
    VAMP_OPT_BOOL,     /* bool:             true, false */
    VAMP_OPT_UINT,     /* uint64_t:         a whole number */
    VAMP_OPT_DURATION, /* int64_t, ns:      "500ms", "1s", "5min", "2h"; units ns us ms s min h d */
    VAMP_OPT_SIZE,     /* uint64_t, bytes:  "64KiB"; units B KiB MiB GiB TiB kB MB GB TB */
    VAMP_OPT_STRING,   /* char *:           any text, NULL when empty */
    VAMP_OPT_ENUM,     /* unsigned:         index into `choices` */
    VAMP_OPT_SET,      /* uint64_t:         bits of indices into `choices`; a list of words */
    VAMP_OPT_STRINGS,  /* struct vamp_strings: a list of texts */
};

/* An owned list of texts. */
struct vamp_strings {
    char **items;
    size_t count;
};

struct vamp_opt {
    const char *key;
    enum vamp_opt_type type;
    const char *preset; /* default as text; a SET's and STRINGS' words separated by blanks */
    uint64_t min, max;  /* UINT, DURATION, SIZE: bounds in the base unit; max 0: no bound.
                           STRING(S): longest text in bytes */
    const char *const *choices; /* ENUM, SET: NULL-terminated words */
    size_t offset;
    const char *help; /* one sentence, no full stop */
};

/* Sets every option of the table to its default. `base` may hold anything before. 0, -ENOMEM, or
 * -EINVAL with text when the table itself is wrong. On failure what was stored is freed. */
VAMP_MUST_CHECK int vamp_opt_presets(const struct vamp_opt *table, void *base,
                                     struct vamp_err *err);
/* Frees all text the table owns in `base` and empties it. */
void vamp_opt_done(const struct vamp_opt *table, void *base);
/* The entry with this key, NULL when there is none. */
const struct vamp_opt *vamp_opt_find(const struct vamp_opt *table, const char *key);
/* Sets one option from text (a SET's and STRINGS' text is one word and adds to it). 0, -ENOMEM, or -EINVAL with a
 * text that says what is wrong and what is allowed; the old value stays on failure. */
VAMP_MUST_CHECK int vamp_opt_set(const struct vamp_opt *opt, void *base, const char *text,
                                 struct vamp_err *err);
/* Empties a SET or STRINGS before its words are added. */
void vamp_opt_clear(const struct vamp_opt *opt, void *base);
/* "true, false"; "a duration such as \"1s\", from 10ms to 1h"; "one of a, b, c". */
void vamp_opt_allowed(const struct vamp_opt *opt, char *text, size_t bytes);
/* The words or key nearest to `word` (edit distance at most 2, or a third of it), else NULL. */
const char *vamp_opt_near_choice(const char *const *choices, const char *word);
const char *vamp_opt_near_key(const struct vamp_opt *table, const char *word);

/* Text to value and back; the same units everywhere. 0 or -EINVAL / -ERANGE. */
VAMP_MUST_CHECK int vamp_duration_parse(const char *text, int64_t *ret_ns, struct vamp_err *err);
VAMP_MUST_CHECK int vamp_size_parse(const char *text, uint64_t *ret_bytes, struct vamp_err *err);
/* The largest unit that divides the value ("1s", "1500ms", "64KiB"); text is terminated. */
void vamp_duration_text(int64_t ns, char *text, size_t bytes);
void vamp_size_text(uint64_t size_bytes, char *text, size_t bytes);

#endif
