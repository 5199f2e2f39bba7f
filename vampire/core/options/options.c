/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores option values: defaults, one value at a time, and freeing them. */
#include "vampire/core/options/options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Returns the address of an option's value. The cast is valid because the type at this offset
 * corresponds to the option's enum vamp_opt_type. */
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

/* Stores the empty value, which owns no memory. */
static void empty(const struct vamp_opt *opt, void *base)
{
    static const size_t sizes[] = {
        [VAMP_OPT_BOOL] = sizeof(bool),
        [VAMP_OPT_UINT] = sizeof(uint64_t),
        [VAMP_OPT_DURATION] = sizeof(int64_t),
        [VAMP_OPT_SIZE] = sizeof(uint64_t),
        [VAMP_OPT_STRING] = sizeof(char *),
        [VAMP_OPT_ENUM] = sizeof(unsigned),
        [VAMP_OPT_SET] = sizeof(uint64_t),
        [VAMP_OPT_STRINGS] = sizeof(struct vamp_strings),
        [VAMP_OPT_SETS] = sizeof(struct vamp_sets),
        [VAMP_OPT_FRACTION] = sizeof(double),
    };
    void *value = member(opt, base);
    memset(value, 0, sizes[opt->type]);
    if (opt->type == VAMP_OPT_DURATION) {
        *(int64_t *)value = -1;
    } else if (opt->type == VAMP_OPT_FRACTION) {
        *(double *)value = -1;
    }
}

void vamp_opt_clear(const struct vamp_opt *opt, void *base)
{
    void *value = member(opt, base);
    const struct vamp_strings *strings = value;
    const struct vamp_sets *sets = value;
    if (opt->type == VAMP_OPT_STRING) {
        free(*(char **)value);
    } else if (opt->type == VAMP_OPT_STRINGS) {
        for (size_t i = 0; i < strings->count; i++) {
            free(strings->items[i]);
        }
        free(strings->items);
    } else if (opt->type == VAMP_OPT_SETS) {
        for (size_t i = 0; i < sets->count; i++) {
            free(sets->items[i].name);
        }
        free(sets->items);
    }
    empty(opt, base);
}

void vamp_opt_done(const struct vamp_opt *table, void *base)
{
    for (const struct vamp_opt *opt = table; opt->key != NULL; opt++) {
        vamp_opt_clear(opt, base);
    }
}

/* ---- one value */

static int refuse_size(struct vamp_err *err, const char *text, bool small)
{
    return vamp_err_set(err, -ERANGE, "\"%s\" is too %s", text, small ? "small" : "large");
}

/* Stores a UINT, DURATION or SIZE. Returns -ERANGE if it is outside the option's limits. */
static int set_number(const struct vamp_opt *opt, const char *text, void *value,
                      struct vamp_err *err)
{
    uint64_t number = 0;
    int64_t ns = 0;
    int code = 0;
    if (opt->type == VAMP_OPT_DURATION) {
        code = vamp_duration_parse(text, &ns, err);
        number = (uint64_t)ns;
    } else if (opt->type == VAMP_OPT_SIZE) {
        code = vamp_size_parse(text, &number, err);
    } else {
        /* strtoull would accept a sign and blanks */
        if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0') {
            return vamp_err_set(err, -EINVAL, "\"%s\" is not a whole number", text);
        }
        errno = 0;
        number = strtoull(text, NULL, 10);
        if (errno != 0) {
            code = refuse_size(err, text, false);
        }
    }
    if (code != 0) {
        return code;
    }
    if (number < opt->min || (opt->max != 0 && number > opt->max)) {
        return refuse_size(err, text, number < opt->min);
    }
    memcpy(value, &number,
           sizeof number); /* an int64_t for a duration, which is not negative here */
    return 0;
}

static int set_fraction(const char *text, double *ret_value, struct vamp_err *err)
{
    char *end = NULL;
    /* strtod would accept blanks, "inf" and hexadecimal numbers */
    const bool is_number = text[0] != '\0' && text[strspn(text, "0123456789.eE+-")] == '\0';
    const double value = strtod(text, &end);
    if (!is_number || *end != '\0') {
        return vamp_err_set(err, -EINVAL, "\"%s\" is not a number", text);
    }
    if (value < 0 || value > 1) {
        return refuse_size(err, text, value < 0);
    }
    *ret_value = value;
    return 0;
}

/* Stores a copy of the text; NULL for an empty text. */
static int copy_text(const struct vamp_opt *opt, const char *text, char **ret_copy,
                     struct vamp_err *err)
{
    const size_t length = strlen(text);
    if (opt->max != 0 && length > opt->max) {
        return vamp_err_set(err, -ERANGE, "the text is %zu bytes long", length);
    }
    for (const char *at = text; *at != '\0'; at++) {
        if ((unsigned char)*at < 0x20 && *at != '\n' && *at != '\t') {
            return vamp_err_set(err, -EINVAL, "the text holds the control character 0x%02x",
                                (unsigned)(unsigned char)*at);
        }
    }
    *ret_copy = length > 0 ? strdup(text) : NULL;
    if (length > 0 && *ret_copy == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "keep the value of %s", opt->key);
    }
    return 0;
}

static int set_string(const struct vamp_opt *opt, const char *text, char **value,
                      struct vamp_err *err)
{
    char *copy = NULL;
    const int code = copy_text(opt, text, &copy, err);
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
    char **items = reallocarray(strings->items, strings->count + 1, sizeof *items);
    if (items == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "keep the values of %s", opt->key);
    }
    strings->items = items;
    const int code = copy_text(opt, text, &items[strings->count], err);
    strings->count += code == 0;
    return code;
}

/* Sets `*ret_index` to the index of a word; for a SET it is below 64. */
static int find_choice(const struct vamp_opt *opt, const char *word, unsigned *ret_index,
                       struct vamp_err *err)
{
    for (unsigned i = 0; opt->choices[i] != NULL && (opt->type == VAMP_OPT_ENUM || i < 64); i++) {
        if (strcmp(opt->choices[i], word) == 0) {
            *ret_index = i;
            return 0;
        }
    }
    return vamp_err_set(err, -EINVAL, "\"%s\" is not known here", word);
}

static int add_word(const struct vamp_opt *opt, const char *word, uint64_t *bits,
                    struct vamp_err *err)
{
    const bool all = strcmp(word, "all") == 0;
    unsigned index = 0;
    const int code = all ? 0 : find_choice(opt, word, &index, err);
    if (code == 0 && !all) {
        *bits |= UINT64_C(1) << index;
    }
    for (unsigned i = 0; all && i < 64 && opt->choices[i] != NULL; i++) {
        *bits |= UINT64_C(1) << i;
    }
    return code;
}

int vamp_opt_set_named(const struct vamp_opt *opt, void *base, const char *name, const char *word,
                       struct vamp_err *err)
{
    assert(opt->type == VAMP_OPT_SETS);
    struct vamp_sets *sets = member(opt, base);
    uint64_t bits = 0;
    int code = word != NULL ? add_word(opt, word, &bits, err) : 0;
    if (code != 0) {
        return code;
    }
    for (size_t i = 0; i < sets->count; i++) {
        if (strcmp(sets->items[i].name, name) == 0) {
            sets->items[i].bits |= bits;
            return 0;
        }
    }
    if (name[0] == '\0') {
        return vamp_err_set(err, -EINVAL, "an empty name");
    }
    if (sets->count >= VAMP_SETS_MAX) {
        return vamp_err_set(err, -ERANGE, "more than %d names", VAMP_SETS_MAX);
    }
    struct vamp_named_set *items = reallocarray(sets->items, sets->count + 1, sizeof *items);
    if (items == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "keep the values of %s", opt->key);
    }
    sets->items = items;
    items[sets->count].bits = bits;
    code = copy_text(opt, name, &items[sets->count].name, err);
    sets->count += code == 0;
    return code;
}

int vamp_opt_set(const struct vamp_opt *opt, void *base, const char *text, struct vamp_err *err)
{
    void *value = member(opt, base);
    switch (opt->type) {
    case VAMP_OPT_BOOL:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
            return vamp_err_set(err, -EINVAL, "\"%s\" is neither true nor false", text);
        }
        *(bool *)value = text[0] == 't';
        return 0;
    case VAMP_OPT_UINT:
    case VAMP_OPT_DURATION:
    case VAMP_OPT_SIZE:
        return set_number(opt, text, value, err);
    case VAMP_OPT_STRING:
        return set_string(opt, text, value, err);
    case VAMP_OPT_ENUM:
        return find_choice(opt, text, value, err);
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

bool vamp_opt_is_number(const struct vamp_opt *opt)
{
    bool numbers = opt->type == VAMP_OPT_ENUM;
    for (unsigned i = 0; numbers && opt->choices[i] != NULL; i++) {
        numbers = opt->choices[i][strspn(opt->choices[i], "0123456789")] == '\0';
    }
    return opt->type == VAMP_OPT_UINT || opt->type == VAMP_OPT_SIZE || numbers;
}

/* ---- defaults */

/* Stores the default; for SET and STRINGS, each of its words. */
static int set_default(const struct vamp_opt *opt, void *base, struct vamp_err *err)
{
    if (opt->type != VAMP_OPT_SET && opt->type != VAMP_OPT_STRINGS) {
        return vamp_opt_set(opt, base, opt->preset, err);
    }
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
    for (const struct vamp_opt *opt = table; opt->key != NULL; opt++) {
        int code = opt->preset != NULL ? set_default(opt, base, err) : 0;
        if (code != 0) {
            if (code != -ENOMEM) {
                (void)vamp_err_wrap(err, "the default of option %s", opt->key);
                code = -EINVAL;
            }
            vamp_opt_done(table, base);
            return code;
        }
    }
    return 0;
}
