/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Option tables: the only definition of an option's name, type, default, limits, allowed words and
 * help. The configuration parser, `--help`, `--dump-config`, the JSON Schema and the manual are all
 * based on them. A table fills a plain struct, with each option at its offset.
 *
 * An entry starts with key, type, offset and default in this order; other members are named. A
 * table ends with an entry whose key is NULL. Strings stored by a table are owned by the struct and
 * freed by vamp_opt_done.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "vampire/core/err.h"

enum vamp_opt_type {
    VAMP_OPT_BOOL,     /* bool:             true, false */
    VAMP_OPT_UINT,     /* uint64_t:         a whole number */
    VAMP_OPT_DURATION, /* int64_t, ns:      "500ms", "1s", "5min", "2h"; units ns us ms s min h d */
    VAMP_OPT_SIZE,     /* uint64_t, bytes:  "64KiB"; units B KiB MiB GiB TiB kB MB GB TB */
    VAMP_OPT_STRING,   /* char *:           any text, NULL when empty */
    VAMP_OPT_ENUM,     /* unsigned:         index into `choices` */
    VAMP_OPT_SET, /* uint64_t:         bits of indices into `choices`; a list of words, or "all" */
    VAMP_OPT_STRINGS, /* struct vamp_strings: a list of texts */
    /* struct vamp_sets: SETs by name, an object of lists of words; a list alone is that of "*" */
    VAMP_OPT_SETS,
    VAMP_OPT_FRACTION, /* double:           a number from 0 to 1; -1: "not set" */
};

/* What a STRING names; its existence can then be checked before a run. */
enum vamp_opt_role {
    VAMP_OPT_PLAIN,
    VAMP_OPT_NEW_FILE,  /* a file that will be written; "-" is standard output */
    VAMP_OPT_DIRECTORY, /* an existing directory in which files will be written */
    VAMP_OPT_LISTEN,    /* an address on which only one output can listen */
    VAMP_OPT_SECRET,    /* a secret, which is hidden when the configuration is printed */
};

/* Maximum number of texts of a STRINGS option; more texts are an error. */
#define VAMP_STRINGS_MAX 256

/* An owned list of texts. */
struct vamp_strings {
    char **items;
    size_t count;
};

/* Maximum number of entries of a SETS option; more entries are an error. */
#define VAMP_SETS_MAX 256

/* An owned list of named sets of words. */
struct vamp_named_set {
    char *name;
    uint64_t bits; /* bits of indices into the option's `choices` */
};
struct vamp_sets {
    struct vamp_named_set *items;
    size_t count;
};

struct vamp_opt {
    const char *key;
    enum vamp_opt_type type;
    size_t offset; /* offset in the struct that the table fills */
    /* Default as text; words of SET and STRINGS are separated by blanks. NULL: empty, 0 or false;
     * for DURATION and FRACTION -1, "not set", whose meaning is stated by the help. */
    const char *preset;
    uint64_t min, max; /* UINT, DURATION, SIZE: limits in the base unit; max 0: no limit. STRING(S):
                          longest text in bytes; SETS: longest name */
    const char *const *choices; /* ENUM, SET(S): NULL-terminated words, at most 64 for a SET */
    bool grows;                 /* words may also be declared in the same configuration file */
    const char *help;           /* one sentence without full stop */
    enum vamp_opt_role role;
    /* Bits of the conditions below; without one of them the option has no effect. 0: unconditional.
     */
    uint32_t only_with;
};

/* An entry; for macros that expand to entries of several tables. */
#define VAMP_OPT_ROW(...)                                                                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* Conditions on other options of the struct under which options have an effect. */
struct vamp_opt_conditions {
    const char *const *
        words; /* element i: text that completes "only with" for bit i, or ""; terminated by NULL */
    uint32_t (*hold)(const void *options); /* Returns the bits of the conditions that hold. */
};

/* Sets every option of the table to its default; previous values in `base` are ignored. Returns 0;
 * -ENOMEM; or -EINVAL if the table is wrong. On failure stored values are freed. */
VAMP_MUST_CHECK int vamp_opt_presets(const struct vamp_opt *table, void *base,
                                     struct vamp_err *err);
/* Frees and empties all texts that the table owns in `base`. */
void vamp_opt_done(const struct vamp_opt *table, void *base);
/* Returns the entry with this key; NULL if there is none. */
const struct vamp_opt *vamp_opt_find(const struct vamp_opt *table, const char *key);
/* Sets one option from text (for SET, SETS and STRINGS one word, which is added). Returns 0,
 * -ENOMEM, or -EINVAL (-ERANGE: out of limits) with a text such as `"5x" is not a duration`;
 * vamp_opt_allowed states what is allowed. On failure the value is unchanged. */
VAMP_MUST_CHECK int vamp_opt_set(const struct vamp_opt *opt, void *base, const char *text,
                                 struct vamp_err *err);
/* Adds a word to the set with this name, which is created if it is new; `word` NULL: creates it
 * empty. Returns what vamp_opt_set returns. */
VAMP_MUST_CHECK int vamp_opt_set_named(const struct vamp_opt *opt, void *base, const char *name,
                                       const char *word, struct vamp_err *err);
/* Returns whether the value is a JSON number: a UINT, a SIZE, or an ENUM of numbers. */
bool vamp_opt_is_number(const struct vamp_opt *opt);
/* Frees and empties one option, for example a list before its words are added. */
void vamp_opt_clear(const struct vamp_opt *opt, void *base);

/* Size of texts of vamp_opt_allowed; a longer text is cut and ends in "...". */
#define VAMP_OPT_ALLOWED_BYTES 512
/* Writes the allowed values: "true or false"; "a duration such as \"1s\""; "one of a, b, c". */
void vamp_opt_allowed(const struct vamp_opt *opt, char text[static VAMP_OPT_ALLOWED_BYTES]);
/* Return the choice or key that is most similar to `word`: at edit distance 1 (2 from six letters
 * on), or beginning or ending with `word`, ignoring case. Return NULL if none is similar. */
const char *vamp_opt_near_choice(const char *const *choices, const char *word);
const char *vamp_opt_near_key(const struct vamp_opt *table, const char *word);

/* Prints the text, starting at column `indent`, in lines of at most 100 characters, with a newline.
 */
void vamp_opt_print_wrapped(FILE *stream, int indent, const char *text);

/* Returns bits of the conditions that hold; all bits if `conditions` is NULL. */
uint32_t vamp_opt_holding(const struct vamp_opt_conditions *conditions, const void *options);
bool vamp_opt_has_effect(const struct vamp_opt *opt, uint32_t holding);
/* Writes "only with A, B or C"; "" if the option always has an effect or `conditions` is NULL. */
void vamp_opt_only_with(const struct vamp_opt *opt, const struct vamp_opt_conditions *conditions,
                        char text[static VAMP_OPT_ALLOWED_BYTES]);

/* Convert between text and value, with the same units for all options. A decimal fraction is
 * allowed if the value is an integer ("1.5s"), and so is a blank before the unit. A size without a
 * unit is in bytes; a duration requires a unit (except 0). Return 0, -EINVAL or -ERANGE with a
 * text. */
VAMP_MUST_CHECK int vamp_duration_parse(const char *text, int64_t *ret_ns, struct vamp_err *err);
VAMP_MUST_CHECK int vamp_size_parse(const char *text, uint64_t *ret_bytes, struct vamp_err *err);
/* Write the value with the largest unit that divides it ("1s", "1500ms", "64KiB"), always
 * terminated. The parsers accept these texts. */
#define VAMP_QUANTITY_TEXT_BYTES 32
void vamp_duration_text(int64_t ns, char *text, size_t bytes);
void vamp_size_text(uint64_t size_bytes, char *text, size_t bytes);
