/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fills the structs from one object, using the option tables. For every error the walk reports it
 * and continues with the default; only running out of memory ends the walk.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

void config_describe(const struct config_value *value, char *text, size_t bytes)
{
    static const char *const words[] = {
        [CONFIG_OBJECT] = "an object", [CONFIG_LIST] = "a list", [CONFIG_TRUE] = "true",
        [CONFIG_FALSE] = "false",      [CONFIG_NULL] = "null",
    };
    const bool secret = config_is_secret(value);
    switch (value->type) {
    case CONFIG_TEXT:
        (void)snprintf(text, bytes, secret ? "a text" : "the text \"%.80s\"", value->text);
        return;
    case CONFIG_INTEGER:
    case CONFIG_REAL:
        (void)snprintf(text, bytes, secret ? "a number" : "the number %.80s", value->text);
        return;
    case CONFIG_OBJECT:
    case CONFIG_LIST:
    case CONFIG_TRUE:
    case CONFIG_FALSE:
    case CONFIG_NULL:
        (void)snprintf(text, bytes, "%s", words[value->type]);
        return;
    }
}

void config_report_found(const struct config_loader *loader, const struct config_value *value,
                         const char *needed)
{
    char found[128];
    config_describe(value, found, sizeof found);
    const struct vamp_diagnostic problem = config_value_problem(
        loader, value, CONFIG_AT_VALUE, "found %s where %s is needed", found, needed);
    vamp_diagnostics_add(loader->diagnostics, &problem);
}

/* ---- one value */

/* An option, the struct that it fills, and the configured value. */
struct setting {
    const struct config_loader *loader;
    const struct vamp_opt *opt;
    void *base;
    const struct config_value *value;
    const char *name; /* SETS: name of the set; else NULL */
};

static void report_type(const struct setting *setting, const struct config_value *value,
                        const char *near)
{
    char found[128];
    config_describe(value, found, sizeof found);
    struct vamp_diagnostic problem =
        config_value_problem(setting->loader, value, CONFIG_AT_VALUE, "found %s", found);
    vamp_opt_allowed(setting->opt, problem.allowed);
    config_near(&problem, near);
    vamp_diagnostics_add(setting->loader->diagnostics, &problem);
}

/* Stores a text: the value, an item of its list, or one of its comma-separated elements. NULL:
 * creates the named set, empty. */
static int set_text(const struct setting *setting, const struct config_value *value,
                    const char *text)
{
    const struct vamp_opt *opt = setting->opt;
    struct vamp_err err = VAMP_ERR_NONE;
    int code = 0;
    if (setting->name != NULL) {
        code = vamp_opt_set_named(opt, setting->base, setting->name, text, &err);
    } else {
        code = vamp_opt_set(opt, setting->base, text, &err);
    }
    if (code == 0) {
        return 0;
    }
    if (code == -ENOMEM) {
        return vamp_err_set(setting->loader->err, code, "%s", err.text);
    }
    struct vamp_diagnostic problem =
        config_value_problem(setting->loader, value, CONFIG_AT_VALUE, "%s", err.text);
    const struct vamp_opt one_of = {.type = VAMP_OPT_ENUM, .choices = opt->choices};
    const bool is_word = opt->type == VAMP_OPT_SET || opt->type == VAMP_OPT_SETS;
    vamp_opt_allowed(is_word ? &one_of : opt, problem.allowed);
    text = vamp_text_or(text, setting->name);
    assert(text != NULL);
    const char *near = "all";
    if (opt->type != VAMP_OPT_SET || strcasecmp(text, near) != 0) {
        near = vamp_opt_near_choice(opt->choices, text);
    }
    config_near(&problem, near);
    vamp_diagnostics_add(setting->loader->diagnostics, &problem);
    return 0;
}

/* Adds the elements of a list, or of a comma-separated text from the command line. */
static int add_words(const struct setting *setting)
{
    const struct config_value *value = setting->value;
    int code = 0;
    for (const struct config_value *item = value->first; item != NULL && code == 0;
         item = item->next) {
        if (item->type == CONFIG_TEXT) {
            code = set_text(setting, item, item->text);
        } else {
            report_type(setting, item, NULL);
        }
    }
    if (value->type != CONFIG_TEXT) {
        return code;
    }
    char *words = strdup(value->text);
    if (words == NULL) {
        return vamp_err_set_errno(setting->loader->err, ENOMEM, "read the command line");
    }
    char *rest = words;
    for (char *word = strsep(&rest, ","); word != NULL && code == 0; word = strsep(&rest, ",")) {
        if (*word != '\0') {
            code = set_text(setting, value, word);
        }
    }
    free(words);
    return code;
}

/* Stores a list, or a comma-separated text from the command line; in the file, the only permitted
 * text is "all", and a list is suggested for other texts. For SETS: stores the set `name`. */
static int set_list(const struct setting *setting)
{
    const struct config_value *value = setting->value;
    const bool is_text = value->type == CONFIG_TEXT;
    char near[80] = "";
    if (value->type == CONFIG_LIST || (is_text && value->origin != NULL)) {
        int code = 0;
        if (setting->name != NULL) {
            code = set_text(setting, value, NULL);
        }
        if (code == 0) {
            code = add_words(setting);
        }
        return code;
    }
    if (is_text && setting->opt->type == VAMP_OPT_SET && strcmp(value->text, "all") == 0) {
        return set_text(setting, value, value->text);
    }
    if (is_text && setting->name == NULL) {
        (void)snprintf(near, sizeof near, "[\"%.60s\"]", value->text);
    }
    report_type(setting, value, near);
    return 0;
}

/* Stores one list for all names, or an object with a list for each name. */
static int set_sets(const struct setting *setting)
{
    struct setting one = *setting;
    int code = 0;
    one.name = "*";
    if (setting->value->type != CONFIG_OBJECT) {
        return set_list(&one);
    }
    for (one.value = setting->value->first; one.value != NULL && code == 0;
         one.value = one.value->next) {
        one.name = one.value->key;
        if (!config_report_duplicate(setting->loader, one.value)) {
            code = set_list(&one);
        }
    }
    return code;
}

/* Returns whether an option that is not a list accepts a value of this type. An override may be a
 * text for an option of any type. */
static bool accepts(const struct vamp_opt *opt, const struct config_value *value)
{
    switch (value->type) {
    case CONFIG_TEXT:
        return value->origin != NULL || opt->type == VAMP_OPT_STRING ||
               opt->type == VAMP_OPT_DURATION || opt->type == VAMP_OPT_SIZE ||
               (opt->type == VAMP_OPT_ENUM && !vamp_opt_is_number(opt));
    case CONFIG_INTEGER:
        return opt->type == VAMP_OPT_FRACTION || (vamp_opt_is_number(opt) && value->integer >= 0);
    case CONFIG_REAL:
        return opt->type == VAMP_OPT_FRACTION;
    case CONFIG_TRUE:
    case CONFIG_FALSE:
        return opt->type == VAMP_OPT_BOOL;
    case CONFIG_OBJECT:
    case CONFIG_LIST:
    case CONFIG_NULL:
        break;
    }
    return false;
}

static int set_value(const struct setting *setting)
{
    const struct vamp_opt *opt = setting->opt;
    const struct config_value *value = setting->value;
    char text[32] = "";
    if (opt->type == VAMP_OPT_SETS || opt->type == VAMP_OPT_SET || opt->type == VAMP_OPT_STRINGS) {
        const bool is_list = value->type == CONFIG_TEXT || value->type == CONFIG_LIST;
        if (is_list || opt->type == VAMP_OPT_SETS) {
            vamp_opt_clear(opt, setting->base);
        }
        return opt->type == VAMP_OPT_SETS ? set_sets(setting) : set_list(setting);
    }
    if (!accepts(opt, value)) {
        if (value->type == CONFIG_INTEGER && opt->type == VAMP_OPT_DURATION &&
            value->integer >= 0) {
            (void)snprintf(text, sizeof text, "%" PRId64 "s", value->integer);
        }
        report_type(setting, value, text);
        return 0;
    }
    if (value->type == CONFIG_TRUE || value->type == CONFIG_FALSE) {
        return set_text(setting, value, value->type == CONFIG_TRUE ? "true" : "false");
    }
    if (value->type == CONFIG_INTEGER && opt->type != VAMP_OPT_FRACTION) {
        (void)snprintf(text, sizeof text, "%" PRId64, value->integer); /* 1e3 becomes 1000 */
        return set_text(setting, value, text);
    }
    return set_text(setting, value, value->text);
}

/* ---- one object */

#define WORDS_MAX 15

/* Collects the members of an object that are not options, ended by NULL: "type", nested objects of
 * its tables, and members that are handled elsewhere. */
static void list_others(const struct config_object *object, const char *words[WORDS_MAX + 1])
{
    size_t count = 0;
    if (object->type != NULL) {
        words[count++] = "type";
    }
    for (const struct config_table *table = object->tables; table->options != NULL; table++) {
        if (table->key != NULL) {
            words[count++] = table->key;
        }
    }
    for (const char *const *each = object->others; each != NULL && *each != NULL; each++) {
        assert(count < WORDS_MAX);
        words[count++] = *each;
    }
    words[count] = NULL;
}

/* Appends a name to the permitted ones, truncated to the available space. */
static void add_allowed(struct vamp_diagnostic *problem, const char *word)
{
    const size_t used = strlen(problem->allowed);
    (void)snprintf(problem->allowed + used, sizeof problem->allowed - used, "%s%s",
                   used > 0 ? ", " : "", word);
}

static void report_unknown(const struct config_loader *loader, const struct config_object *object,
                           const char *const *others, const struct config_value *member)
{
    struct vamp_diagnostic problem =
        config_value_problem(loader, member, CONFIG_AT_KEY, "\"%.100s\" is not an option of %s",
                             member->key, object->what);
    const char *near = vamp_opt_near_choice(others, member->key);
    if (strcmp(member->parent->key, "sampling") == 0 &&
        (strcmp(member->key, "every") == 0 || strcmp(member->key, "rate") == 0)) {
        const size_t length = strlen(problem.text);
        (void)snprintf(problem.text + length, sizeof problem.text - length,
                       " any more: whole CDOs are sampled; \"fraction\": 10000 counts one in 100");
    }
    if (vamp_opt_find(config_parts[loader->config->program]->options, member->key) != NULL) {
        const size_t length = strlen(problem.text);
        (void)snprintf(problem.text + length, sizeof problem.text - length,
                       "; it belongs at the top level of the configuration");
    }
    for (const char *const *each = others; *each != NULL; each++) {
        add_allowed(&problem, *each);
    }
    for (const struct config_table *table = object->tables;
         table->options != NULL && table->key == NULL; table++) {
        if (near == NULL) {
            near = vamp_opt_near_key(table->options, member->key);
        }
        for (const struct vamp_opt *opt = table->options; opt->key != NULL; opt++) {
            add_allowed(&problem, opt->key);
        }
    }
    config_near(&problem, near);
    vamp_diagnostics_add(loader->diagnostics, &problem);
}

bool config_report_duplicate(const struct config_loader *loader, const struct config_value *member)
{
    const struct config_value *first = config_member(member->parent, member->key);
    if (first == member) {
        return false;
    }
    struct vamp_diagnostic problem =
        config_value_problem(loader, member, CONFIG_AT_KEY, "given twice");
    if (first->origin == NULL) {
        struct vamp_diagnostic place = {0};
        config_file_place(&loader->file, first->key_offset, &place);
        (void)snprintf(problem.text, sizeof problem.text,
                       "given twice; the first one is in line %u, column %u", place.line,
                       place.column);
    }
    vamp_diagnostics_add(loader->diagnostics, &problem);
    return true;
}

static int walk_member(const struct config_loader *loader, const struct config_object *object,
                       const char *const *others, const struct config_value *member)
{
    if (config_report_duplicate(loader, member)) {
        return 0;
    }
    for (const struct config_table *table = object->tables;
         table->options != NULL && table->key == NULL; table++) {
        const struct vamp_opt *opt = vamp_opt_find(table->options, member->key);
        if (opt != NULL) {
            return set_value(&(struct setting){loader, opt, table->base, member, NULL});
        }
    }
    const char *const *first_other = others;
    while (*others != NULL && strcmp(*others, member->key) != 0) {
        others++;
    }
    if (*others == NULL) {
        report_unknown(loader, object, first_other, member);
    }
    return 0;
}

static bool accepts_text(const struct vamp_opt *opt, const char *text)
{
    struct vamp_err unused;
    int64_t duration_ns = 0;
    uint64_t bytes = 0;
    if (opt->type == VAMP_OPT_DURATION) {
        return vamp_duration_parse(text, &duration_ns, &unused) == 0;
    }
    return opt->type == VAMP_OPT_SIZE && vamp_size_parse(text, &bytes, &unused) == 0;
}

/* Reports a value in place of an object, and proposes the first option of the object that accepts
 * it. */
static void report_no_object(const struct config_loader *loader, const struct config_object *object,
                             const struct config_value *value)
{
    char found[128];
    config_describe(value, found, sizeof found);
    struct vamp_diagnostic problem = config_value_problem(
        loader, value, CONFIG_AT_VALUE, "found %s where an object {...} is needed", found);
    const struct config_table *own = &object->tables[0];
    const bool has_options = own->key == NULL && own->options != NULL;
    for (const struct vamp_opt *opt = own->options;
         has_options && value->type == CONFIG_TEXT && opt->key != NULL; opt++) {
        if (accepts_text(opt, value->text)) {
            (void)snprintf(problem.near, sizeof problem.near, "{\"%s\": \"%.20s\"}", opt->key,
                           value->text);
            break;
        }
    }
    vamp_diagnostics_add(loader->diagnostics, &problem);
}

/* Walks the object without its nested objects. */
static int walk_members(const struct config_loader *loader, const struct config_object *object,
                        const struct config_value *value)
{
    if (value->type != CONFIG_OBJECT) {
        report_no_object(loader, object, value);
        return 0;
    }
    const char *others[WORDS_MAX + 1];
    list_others(object, others);
    int code = 0;
    for (const struct config_value *member = value->first; member != NULL && code == 0;
         member = member->next) {
        code = walk_member(loader, object, others, member);
    }
    return code;
}

int config_walk_object(const struct config_loader *loader, const struct config_object *object,
                       const struct config_value *value)
{
    int code = walk_members(loader, object, value);
    for (const struct config_table *table = object->tables; table->options != NULL && code == 0;
         table++) {
        if (table->key == NULL) {
            continue;
        }
        const struct config_value *child = config_member(value, table->key);
        if (child != NULL) {
            struct config_object inside = {
                .tables = {{.options = table->options, .base = table->base}}};
            (void)snprintf(inside.what, sizeof inside.what, "\"%s\"", table->key);
            code = walk_members(loader, &inside, child);
        }
    }
    return code;
}

/* Reports that the type is missing or is not one of `words`. `type` NULL: no value for it. */
static void report_no_type(const struct config_loader *loader, const struct config_value *value,
                           const struct config_value *type, const char *article,
                           const char *const *words)
{
    char found[128];
    struct vamp_diagnostic problem;
    if (type != NULL) { /* unknown, or not a text */
        config_describe(type, found, sizeof found);
        problem = config_value_problem(loader, type, CONFIG_AT_VALUE, "found %s", found);
    } else if (value->type == CONFIG_OBJECT) { /* an object without "type" */
        problem =
            config_value_problem(loader, value, CONFIG_AT_VALUE, "%s needs a \"type\"", article);
    } else { /* neither an object nor a name */
        config_describe(value, found, sizeof found);
        problem = config_value_problem(loader, value, CONFIG_AT_VALUE,
                                       "found %s where an object {\"type\": ...} is needed", found);
    }
    if (type != NULL && type->type == CONFIG_TEXT) {
        config_near(&problem, vamp_opt_near_choice(words, type->text));
    }
    vamp_opt_allowed(&(struct vamp_opt){.type = VAMP_OPT_ENUM, .choices = words}, problem.allowed);
    vamp_diagnostics_add(loader->diagnostics, &problem);
}

const char *config_find_type(const struct config_loader *loader, enum config_kind kind,
                             const struct config_value *value, const char *article, bool by_name)
{
    const struct config_value *type = value; /* only the name of the type is given */
    if (value->type == CONFIG_OBJECT || !by_name) {
        type = config_member(value, "type");
    }
    const char *text = NULL;
    if (type != NULL && type->type == CONFIG_TEXT) {
        text = type->text;
    }
    const char *words[WORDS_MAX + 1] = {NULL};
    struct config_object candidate;
    for (unsigned i = 0; config_type(loader->config->program, kind, i, &candidate); i++) {
        assert(i < WORDS_MAX);
        words[i] = candidate.type;
        if (text != NULL && strcmp(text, words[i]) == 0) {
            return words[i];
        }
    }
    report_no_type(loader, value, type, article, words);
    return NULL;
}
