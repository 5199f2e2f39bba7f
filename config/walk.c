/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From one object to the structs, along the option tables. Every mistake is reported and the walk
 * continues with the default in its place; only a lack of memory ends it.
 */
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

/* An option, the struct it fills, and what the configuration says of it. */
struct setting {
    const struct config_loader *loader;
    const struct vamp_opt *opt;
    void *base;
    const struct config_value *value;
    const char *name; /* of the set, in a SETS; else NULL */
};

static const char *near_word(const struct vamp_opt *opt, const char *text)
{
    if (opt->choices == NULL) {
        return NULL;
    }
    if (opt->type == VAMP_OPT_SET && strcasecmp(text, "all") == 0) {
        return "all";
    }
    return vamp_opt_near_choice(opt->choices, text);
}

/* The value, or an item of its list, has the wrong type. */
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

/* What is allowed for one word of a SET, else for the option. */
static void describe_item(const struct vamp_opt *opt, char text[static VAMP_OPT_ALLOWED_BYTES])
{
    const struct vamp_opt one_of = {.type = VAMP_OPT_ENUM, .choices = opt->choices};
    vamp_opt_allowed(opt->type == VAMP_OPT_SET || opt->type == VAMP_OPT_SETS ? &one_of : opt, text);
}

/* Reports a failure to store a value. 0 also when the value was wrong. */
static int report_stored(const struct setting *setting, const struct config_value *value,
                         const char *text, int code, const struct vamp_err *err)
{
    if (code == -ENOMEM) {
        return vamp_err_set(setting->loader->err, code, "%s", err->text);
    }
    if (code != 0) {
        struct vamp_diagnostic problem =
            config_value_problem(setting->loader, value, CONFIG_AT_VALUE, "%s", err->text);
        describe_item(setting->opt, problem.allowed);
        config_near(&problem, near_word(setting->opt, text));
        vamp_diagnostics_add(setting->loader->diagnostics, &problem);
    }
    return 0;
}

/* `text` is that of the value, of an item of its list, or a word of it. */
static int set_text(const struct setting *setting, const struct config_value *value,
                    const char *text)
{
    struct vamp_err err = VAMP_ERR_NONE;
    const int code = setting->name != NULL ? vamp_opt_set_named(setting->opt, setting->base,
                                                                setting->name, text, &err)
                                           : vamp_opt_set(setting->opt, setting->base, text, &err);
    return report_stored(setting, value, text, code, &err);
}

static int set_integer(const struct setting *setting)
{
    const struct config_value *value = setting->value;
    if (value->integer < 0) {
        report_type(setting, value, NULL);
        return 0;
    }
    struct vamp_err err = VAMP_ERR_NONE;
    const int code = vamp_opt_set_uint(setting->opt, setting->base, (uint64_t)value->integer, &err);
    return report_stored(setting, value, value->text, code, &err);
}

/* A list of words. */
static int add_list(const struct setting *setting)
{
    int code = 0;
    for (const struct config_value *item = setting->value->first; item != NULL && code == 0;
         item = item->next) {
        if (item->type == CONFIG_TEXT) {
            code = set_text(setting, item, item->text);
        } else {
            report_type(setting, item, NULL);
        }
    }
    return code;
}

/* Words separated by commas, from the command line. */
static int add_commas(const struct setting *setting)
{
    char *words = strdup(setting->value->text);
    if (words == NULL) {
        return vamp_err_set_errno(setting->loader->err, ENOMEM, "read the command line");
    }
    int code = 0;
    char *rest = words;
    for (char *word = strsep(&rest, ","); word != NULL && code == 0; word = strsep(&rest, ",")) {
        code = *word != '\0' ? set_text(setting, setting->value, word) : 0;
    }
    free(words);
    return code;
}

/* The only text that a list option takes in the file is "all"; others get the list as a near miss.
 */
static int set_list_from_text(const struct setting *setting)
{
    const char *text = setting->value->text;
    if (setting->opt->type == VAMP_OPT_SET && strcmp(text, "all") == 0) {
        return set_text(setting, setting->value, text);
    }
    char list[80];
    (void)snprintf(list, sizeof list, "[\"%.60s\"]", text);
    report_type(setting, setting->value, list);
    return 0;
}

static bool is_list(const struct vamp_opt *opt)
{
    return opt->type == VAMP_OPT_SET || opt->type == VAMP_OPT_STRINGS;
}

/* The words of one set of a SETS: a list, or words separated by commas from the command line. */
static int set_one_of_sets(const struct config_loader *loader, const struct vamp_opt *opt,
                           void *base, const struct config_value *value, const char *name)
{
    const struct setting setting = {loader, opt, base, value, name};
    const bool is_words = value->type == CONFIG_TEXT && value->origin != NULL;
    if (!is_words && value->type != CONFIG_LIST) {
        report_type(&setting, value, NULL);
        return 0;
    }
    struct vamp_err err = VAMP_ERR_NONE;
    int code = vamp_opt_set_named(opt, base, name, NULL, &err); /* a list may be empty */
    code = report_stored(&setting, value, name, code, &err);
    if (code != 0) {
        return code;
    }
    return is_words ? add_commas(&setting) : add_list(&setting);
}

/* A list or words for all names, or an object of lists by name. */
static int set_sets(const struct setting *setting)
{
    const struct config_value *value = setting->value;
    vamp_opt_clear(setting->opt, setting->base);
    if (value->type != CONFIG_OBJECT) {
        return set_one_of_sets(setting->loader, setting->opt, setting->base, value, "*");
    }
    int code = 0;
    for (const struct config_value *member = value->first; member != NULL && code == 0;
         member = member->next) {
        if (!config_report_duplicate(setting->loader, member)) {
            code =
                set_one_of_sets(setting->loader, setting->opt, setting->base, member, member->key);
        }
    }
    return code;
}

static int set_from_text(const struct setting *setting)
{
    const struct vamp_opt *opt = setting->opt;
    const bool from_file = setting->value->origin == NULL;
    if (is_list(opt)) {
        vamp_opt_clear(opt, setting->base);
        return from_file ? set_list_from_text(setting) : add_commas(setting);
    }
    const bool takes_text = opt->type == VAMP_OPT_STRING || opt->type == VAMP_OPT_DURATION ||
                            opt->type == VAMP_OPT_SIZE ||
                            (opt->type == VAMP_OPT_ENUM && !vamp_opt_is_number(opt));
    if (from_file && !takes_text) {
        report_type(setting, setting->value, NULL);
        return 0;
    }
    return set_text(setting, setting->value, setting->value->text);
}

static int set_value(const struct setting *setting)
{
    const struct vamp_opt *opt = setting->opt;
    const struct config_value *value = setting->value;
    char near[32] = "";
    if (opt->type == VAMP_OPT_SETS) {
        return set_sets(setting);
    }
    if (value->type == CONFIG_TEXT) {
        return set_from_text(setting);
    }
    if (value->type == CONFIG_LIST && is_list(opt)) {
        vamp_opt_clear(opt, setting->base);
        return add_list(setting);
    }
    if (value->type == CONFIG_INTEGER && vamp_opt_is_number(opt)) {
        return set_integer(setting);
    }
    if ((value->type == CONFIG_INTEGER || value->type == CONFIG_REAL) &&
        opt->type == VAMP_OPT_FRACTION) {
        return set_text(setting, value, value->text);
    }
    if ((value->type == CONFIG_TRUE || value->type == CONFIG_FALSE) && opt->type == VAMP_OPT_BOOL) {
        vamp_opt_set_bool(opt, setting->base, value->type == CONFIG_TRUE);
        return 0;
    }
    if (value->type == CONFIG_INTEGER && opt->type == VAMP_OPT_DURATION && value->integer >= 0) {
        (void)snprintf(near, sizeof near, "%" PRId64 "s", value->integer);
    }
    report_type(setting, value, near);
    return 0;
}

/* ---- one object */

static bool is_other(const struct config_shape *shape, const char *key)
{
    for (const char *const *each = shape->others; *each != NULL; each++) {
        if (strcmp(*each, key) == 0) {
            return true;
        }
    }
    return false;
}

static const char *near_member(const struct config_shape *shape, const char *key)
{
    const char *near = vamp_opt_near_choice(shape->others, key);
    for (size_t i = 0; i < 2 && near == NULL; i++) {
        near = vamp_opt_near_key(shape->tables[i], key);
    }
    return near;
}

static void list_members(const struct config_shape *shape, char *text, size_t bytes)
{
    size_t used = 0;
    for (const char *const *each = shape->others; *each != NULL && used < bytes; each++) {
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", used > 0 ? ", " : "", *each);
    }
    for (size_t i = 0; i < 2 && shape->tables[i] != NULL; i++) {
        for (const struct vamp_opt *opt = shape->tables[i]; opt->key != NULL && used < bytes;
             opt++) {
            used +=
                (size_t)snprintf(text + used, bytes - used, "%s%s", used > 0 ? ", " : "", opt->key);
        }
    }
}

static void report_unknown(const struct config_loader *loader, const struct config_shape *shape,
                           const struct config_value *member)
{
    struct vamp_diagnostic problem =
        config_value_problem(loader, member, CONFIG_AT_KEY, "\"%.100s\" is not an option of %s",
                             member->key, shape->what);
    config_near(&problem, near_member(shape, member->key));
    list_members(shape, problem.allowed, sizeof problem.allowed);
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

static int walk_member(const struct config_loader *loader, const struct config_shape *shape,
                       const struct config_value *member)
{
    if (config_report_duplicate(loader, member)) {
        return 0;
    }
    for (size_t i = 0; i < 2 && shape->tables[i] != NULL; i++) {
        const struct vamp_opt *opt = vamp_opt_find(shape->tables[i], member->key);
        if (opt != NULL) {
            return set_value(&(struct setting){loader, opt, shape->bases[i], member, NULL});
        }
    }
    if (!is_other(shape, member->key)) {
        report_unknown(loader, shape, member);
    }
    return 0;
}

int config_walk_object(const struct config_loader *loader, const struct config_shape *shape,
                       const struct config_value *object)
{
    if (object->type != CONFIG_OBJECT) {
        config_report_found(loader, object, "an object {...}");
        return 0;
    }
    int code = 0;
    for (const struct config_value *member = object->first; member != NULL && code == 0;
         member = member->next) {
        code = walk_member(loader, shape, member);
    }
    return code;
}
