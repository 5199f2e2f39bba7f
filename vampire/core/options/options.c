/* SPDX-License-Identifier: BSD-3-Clause */
/* Storing options: defaults, one value after the other, and freeing them. */
#include "vampire/core/options/options.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Storage of an option. The cast is the point of a table: the offset was taken from a struct
 * whose member has the type that enum vamp_opt_type promises. */
static void *member(const struct vamp_opt *opt, void *base)
{
    return (char *)base + opt->offset;
}

const struct vamp_opt *vamp_opt_find(const struct vamp_opt *table, const char *key)
{
    for (; table->key != NULL; table++) {
        if (strcmp(table->key, key) == 0) {
            return table;
        }
    }
    return NULL;
}

static void strings_done(struct vamp_strings *strings)
{
    for (size_t i = 0; i < strings->count; i++) {
        free(strings->items[i]);
    }
    free(strings->items);
    *strings = (struct vamp_strings){NULL, 0};
}

static void sets_done(struct vamp_sets *sets)
{
    for (size_t i = 0; i < sets->count; i++) {
        free(sets->items[i].name);
    }
    free(sets->items);
    *sets = (struct vamp_sets){NULL, 0};
}

/* The empty value, which owns nothing. */
static void empty(const struct vamp_opt *opt, void *base)
{
    void *value = member(opt, base);
    switch (opt->type) {
    case VAMP_OPT_BOOL:
        *(bool *)value = false;
        break;
    case VAMP_OPT_UINT:
    case VAMP_OPT_SIZE:
    case VAMP_OPT_SET:
        *(uint64_t *)value = 0;
        break;
    case VAMP_OPT_DURATION:
        *(int64_t *)value = -1;
        break;
    case VAMP_OPT_STRING:
        *(char **)value = NULL;
        break;
    case VAMP_OPT_ENUM:
        *(unsigned *)value = 0;
        break;
    case VAMP_OPT_STRINGS:
        *(struct vamp_strings *)value = (struct vamp_strings){NULL, 0};
        break;
    case VAMP_OPT_SETS:
        *(struct vamp_sets *)value = (struct vamp_sets){NULL, 0};
        break;
    case VAMP_OPT_FRACTION:
        *(double *)value = -1;
        break;
    }
}

void vamp_opt_done(const struct vamp_opt *table, void *base)
{
    for (const struct vamp_opt *opt = table; opt->key != NULL; opt++) {
        if (opt->type == VAMP_OPT_STRING) {
            free(*(char **)member(opt, base));
        } else if (opt->type == VAMP_OPT_STRINGS) {
            strings_done(member(opt, base));
        } else if (opt->type == VAMP_OPT_SETS) {
            sets_done(member(opt, base));
        }
        empty(opt, base);
    }
}

void vamp_opt_clear(const struct vamp_opt *opt, void *base)
{
    if (opt->type == VAMP_OPT_STRINGS) {
        strings_done(member(opt, base));
    } else if (opt->type == VAMP_OPT_SETS) {
        sets_done(member(opt, base));
    } else if (opt->type == VAMP_OPT_SET) {
        *(uint64_t *)member(opt, base) = 0;
    }
}

static int check_bounds(const struct vamp_opt *opt, uint64_t value, const char *text,
                        struct vamp_err *err)
{
    if (value < opt->min) {
        return vamp_err_set(err, -ERANGE, "\"%s\" is too small", text);
    }
    if (opt->max != 0 && value > opt->max) {
        return vamp_err_set(err, -ERANGE, "\"%s\" is too large", text);
    }
    return 0;
}

static int set_fraction(const char *text, double *ret_value, struct vamp_err *err)
{
    char *end = NULL;
    /* strtod would take blanks, "inf" and hexadecimal numbers. */
    const bool is_number = text[0] != '\0' && strspn(text, "0123456789.eE+-") == strlen(text);
    const double value = strtod(text, &end);
    if (!is_number || *end != '\0') {
        return vamp_err_set(err, -EINVAL, "\"%s\" is not a number", text);
    }
    if (value < 0 || value > 1) {
        return vamp_err_set(err, -ERANGE, "\"%s\" is too %s", text, value < 0 ? "small" : "large");
    }
    *ret_value = value;
    return 0;
}

static int set_bool(const char *text, bool *ret_value, struct vamp_err *err)
{
    bool yes = strcmp(text, "true") == 0;
    if (!yes && strcmp(text, "false") != 0) {
        return vamp_err_set(err, -EINVAL, "\"%s\" is neither true nor false", text);
    }
    *ret_value = yes;
    return 0;
}

static int set_uint(const struct vamp_opt *opt, const char *text, uint64_t *ret_value,
                    struct vamp_err *err)
{
    /* strtoull would take a sign and blanks. */
    if (text[0] == '\0' || strspn(text, "0123456789") != strlen(text)) {
        return vamp_err_set(err, -EINVAL, "\"%s\" is not a whole number", text);
    }
    errno = 0;
    uint64_t value = strtoull(text, NULL, 10);
    if (errno != 0) {
        return vamp_err_set(err, -ERANGE, "\"%s\" is too large", text);
    }
    int code = check_bounds(opt, value, text, err);
    if (code == 0) {
        *ret_value = value;
    }
    return code;
}

static int set_duration(const struct vamp_opt *opt, const char *text, int64_t *ret_value,
                        struct vamp_err *err)
{
    int64_t value = 0;
    int code = vamp_duration_parse(text, &value, err);
    if (code == 0) {
        code = check_bounds(opt, (uint64_t)value, text, err);
    }
    if (code == 0) {
        *ret_value = value;
    }
    return code;
}

static int set_size(const struct vamp_opt *opt, const char *text, uint64_t *ret_value,
                    struct vamp_err *err)
{
    uint64_t value = 0;
    int code = vamp_size_parse(text, &value, err);
    if (code == 0) {
        code = check_bounds(opt, value, text, err);
    }
    if (code == 0) {
        *ret_value = value;
    }
    return code;
}

/* A copy, NULL for an empty text. */
static int copy_text(const struct vamp_opt *opt, const char *text, char **ret_copy,
                     struct vamp_err *err)
{
    size_t length = strlen(text);
    if (opt->max != 0 && length > opt->max) {
        return vamp_err_set(err, -ERANGE, "the text is %zu bytes long", length);
    }
    for (const char *at = text; *at != '\0'; at++) {
        if ((unsigned char)*at < 0x20 && *at != '\n' && *at != '\t') {
            return vamp_err_set(err, -EINVAL, "the text holds the control character 0x%02x",
                                (unsigned)(unsigned char)*at);
        }
    }
    char *copy = NULL;
    if (length > 0) {
        copy = strdup(text);
        if (copy == NULL) {
            return vamp_err_set_errno(err, ENOMEM, "keep the value of %s", opt->key);
        }
    }
    *ret_copy = copy;
    return 0;
}

static int set_string(const struct vamp_opt *opt, const char *text, char **value,
                      struct vamp_err *err)
{
    char *copy = NULL;
    int code = copy_text(opt, text, &copy, err);
    if (code == 0) {
        free(*value);
        *value = copy;
    }
    return code;
}

static int add_string(const struct vamp_opt *opt, const char *text, struct vamp_strings *strings,
                      struct vamp_err *err)
{
    if (text[0] == '\0') {
        return vamp_err_set(err, -EINVAL, "an empty text in a list");
    }
    if (strings->count >= VAMP_STRINGS_MAX) {
        return vamp_err_set(err, -ERANGE, "more than %d texts", VAMP_STRINGS_MAX);
    }
    char *copy = NULL;
    int code = copy_text(opt, text, &copy, err);
    if (code != 0) {
        return code;
    }
    char **items = reallocarray(strings->items, strings->count + 1, sizeof *items);
    if (items == NULL) {
        free(copy);
        return vamp_err_set_errno(err, ENOMEM, "keep the values of %s", opt->key);
    }
    items[strings->count] = copy;
    strings->items = items;
    strings->count++;
    return 0;
}

/* The index of a word, -1 when there is none. */
static int find_choice(const char *const *choices, const char *word)
{
    for (int i = 0; choices[i] != NULL; i++) {
        if (strcmp(choices[i], word) == 0) {
            return i;
        }
    }
    return -1;
}

static int set_enum(const struct vamp_opt *opt, const char *text, unsigned *ret_value,
                    struct vamp_err *err)
{
    int index = find_choice(opt->choices, text);
    if (index < 0) {
        return vamp_err_set(err, -EINVAL, "\"%s\" is not known here", text);
    }
    *ret_value = (unsigned)index;
    return 0;
}

static int add_word(const struct vamp_opt *opt, const char *text, uint64_t *bits,
                    struct vamp_err *err)
{
    if (strcmp(text, "all") == 0) {
        for (unsigned i = 0; i < 64 && opt->choices[i] != NULL; i++) {
            *bits |= UINT64_C(1) << i;
        }
        return 0;
    }
    int index = find_choice(opt->choices, text);
    if (index < 0 || index > 63) {
        return vamp_err_set(err, -EINVAL, "\"%s\" is not known here", text);
    }
    *bits |= UINT64_C(1) << index;
    return 0;
}

/* The set of this name, made if it is new. */
static int find_or_add_set(const struct vamp_opt *opt, struct vamp_sets *sets, const char *name,
                           struct vamp_named_set **ret_set, struct vamp_err *err)
{
    for (size_t i = 0; i < sets->count; i++) {
        if (strcmp(sets->items[i].name, name) == 0) {
            *ret_set = &sets->items[i];
            return 0;
        }
    }
    if (sets->count >= VAMP_SETS_MAX) {
        return vamp_err_set(err, -ERANGE, "more than %d names", VAMP_SETS_MAX);
    }
    char *copy = NULL;
    const int code = copy_text(opt, name, &copy, err);
    if (code != 0) {
        return code;
    }
    struct vamp_named_set *items = reallocarray(sets->items, sets->count + 1, sizeof *items);
    if (items == NULL || copy == NULL) {
        sets->items = items != NULL ? items : sets->items;
        free(copy);
        return items == NULL ? vamp_err_set_errno(err, ENOMEM, "keep the values of %s", opt->key)
                             : vamp_err_set(err, -EINVAL, "an empty name");
    }
    sets->items = items;
    items[sets->count] = (struct vamp_named_set){.name = copy};
    *ret_set = &items[sets->count++];
    return 0;
}

int vamp_opt_set_named(const struct vamp_opt *opt, void *base, const char *name, const char *word,
                       struct vamp_err *err)
{
    assert(opt->type == VAMP_OPT_SETS);
    uint64_t bits = 0;
    int code = word != NULL ? add_word(opt, word, &bits, err) : 0;
    struct vamp_named_set *set = NULL;
    if (code == 0) {
        code = find_or_add_set(opt, member(opt, base), name, &set, err);
    }
    if (code == 0) {
        assert(set != NULL);
        set->bits |= bits;
    }
    return code;
}

int vamp_opt_set(const struct vamp_opt *opt, void *base, const char *text, struct vamp_err *err)
{
    void *value = member(opt, base);
    switch (opt->type) {
    case VAMP_OPT_BOOL:
        return set_bool(text, value, err);
    case VAMP_OPT_UINT:
        return set_uint(opt, text, value, err);
    case VAMP_OPT_DURATION:
        return set_duration(opt, text, value, err);
    case VAMP_OPT_SIZE:
        return set_size(opt, text, value, err);
    case VAMP_OPT_STRING:
        return set_string(opt, text, value, err);
    case VAMP_OPT_ENUM:
        return set_enum(opt, text, value, err);
    case VAMP_OPT_SET:
        return add_word(opt, text, value, err);
    case VAMP_OPT_STRINGS:
        return add_string(opt, text, value, err);
    case VAMP_OPT_SETS:
        return vamp_opt_set_named(opt, base, "*", text, err);
    case VAMP_OPT_FRACTION:
        return set_fraction(text, value, err);
    }
    return vamp_err_set(err, -EINVAL, "option %s has no type", opt->key);
}

/* ENUM: all words are decimal numbers. */
static bool has_numeric_choices(const struct vamp_opt *opt)
{
    for (const char *const *each = opt->choices; *each != NULL; each++) {
        if (strspn(*each, "0123456789") != strlen(*each)) {
            return false;
        }
    }
    return true;
}

bool vamp_opt_is_number(const struct vamp_opt *opt)
{
    return opt->type == VAMP_OPT_UINT || opt->type == VAMP_OPT_SIZE ||
           (opt->type == VAMP_OPT_ENUM && has_numeric_choices(opt));
}

static int set_numeric_enum(const struct vamp_opt *opt, uint64_t number, unsigned *ret_value,
                            struct vamp_err *err)
{
    for (unsigned i = 0; opt->choices[i] != NULL; i++) {
        if (strtoull(opt->choices[i], NULL, 10) == number) {
            *ret_value = i;
            return 0;
        }
    }
    return vamp_err_set(err, -EINVAL, "\"%" PRIu64 "\" is not known here", number);
}

int vamp_opt_set_uint(const struct vamp_opt *opt, void *base, uint64_t number, struct vamp_err *err)
{
    assert(vamp_opt_is_number(opt));
    if (opt->type == VAMP_OPT_ENUM) {
        return set_numeric_enum(opt, number, member(opt, base), err);
    }
    char text[24]; /* for the message */
    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    const int code = check_bounds(opt, number, text, err);
    if (code == 0) {
        *(uint64_t *)member(opt, base) = number;
    }
    return code;
}

void vamp_opt_set_bool(const struct vamp_opt *opt, void *base, bool value)
{
    assert(opt->type == VAMP_OPT_BOOL);
    *(bool *)member(opt, base) = value;
}

/* Sets each blank-separated word of a SET's or STRINGS' default. */
static int preset_words(const struct vamp_opt *opt, void *base, struct vamp_err *err)
{
    char *words = strdup(opt->preset);
    if (words == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "keep the default of %s", opt->key);
    }
    int code = 0;
    char *rest = NULL;
    for (char *word = strtok_r(words, " ", &rest); word != NULL && code == 0;
         word = strtok_r(NULL, " ", &rest)) {
        code = vamp_opt_set(opt, base, word, err);
    }
    free(words);
    return code;
}

int vamp_opt_presets(const struct vamp_opt *table, void *base, struct vamp_err *err)
{
    for (const struct vamp_opt *opt = table; opt->key != NULL; opt++) {
        empty(opt, base);
    }
    int code = 0;
    for (const struct vamp_opt *opt = table; opt->key != NULL && code == 0; opt++) {
        if (opt->preset == NULL) {
            continue;
        }
        bool words = opt->type == VAMP_OPT_SET || opt->type == VAMP_OPT_STRINGS;
        code = words ? preset_words(opt, base, err) : vamp_opt_set(opt, base, opt->preset, err);
        if (code != 0 && code != -ENOMEM) {
            (void)vamp_err_wrap(err, "the default of option %s", opt->key);
            code = -EINVAL;
        }
    }
    if (code != 0) {
        vamp_opt_done(table, base);
    }
    return code;
}
