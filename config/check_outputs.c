/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of outputs: names, metrics and series, and targets. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/internal.h"
#include "vampire/core/address.h"
#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/bucket/declared.h"
#include "writers/format/file.h"
#include "writers/format/push.h"
#include "writers/format/secret.h"
#include "writers/format/sent_alarms.h"
#include "writers/output/resolution.h"

/* ---- names */

/* Returns the index of the first of `count` outputs with this name, excluding `skip`; -1: none. */
static int find_name(const struct vamp_config *config, const char *name, unsigned count,
                     unsigned skip)
{
    for (unsigned i = 0; i < count; i++) {
        const char *other = config->outputs[i].settings.name;
        if (i != skip && other != NULL && strcmp(other, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* Reports duplicate names, and names each output without a name after its type: "hdf5", then
 * "hdf5-2", "hdf5-3", ... */
static int settle_names(const struct config_loader *loader)
{
    struct vamp_config *config = loader->config;
    for (unsigned i = 1; i < config->output_count; i++) {
        const char *name = config->outputs[i].settings.name;
        if (name != NULL && find_name(config, name, i, i) >= 0) {
            config_output_error(loader, i, "name", "another output is called \"%s\" too", name);
        }
    }
    for (unsigned i = 0; i < config->output_count; i++) {
        struct vamp_config_output *output = &config->outputs[i];
        char name[VAMP_OUTPUT_NAME_BYTES];
        if (output->settings.name != NULL) {
            continue;
        }
        (void)snprintf(name, sizeof name, "%s", output->ops->name);
        for (unsigned number = 2; find_name(config, name, config->output_count, i) >= 0; number++) {
            (void)snprintf(name, sizeof name, "%.40s-%u", output->ops->name, number);
        }
        output->settings.name = strdup(name);
        if (output->settings.name == NULL) {
            return vamp_err_set_errno(loader->err, ENOMEM, "name the outputs");
        }
    }
    return 0;
}

/* ---- buckets and rotation */

#define ROTATE_BYTES_MIN UINT64_C(65536)

static int64_t bucket_width(const struct config_loader *loader, unsigned index)
{
    const int64_t own_ns = loader->config->outputs[index].settings.bucket_ns;
    return own_ns > 0 ? own_ns : loader->config->statistics.bucket_ns;
}

static void check_bucket(const struct config_loader *loader, unsigned index)
{
    const int64_t whole_ns = loader->config->statistics.bucket_ns;
    char text[VAMP_QUANTITY_TEXT_BYTES];
    if (whole_ns > 0 && bucket_width(loader, index) % whole_ns != 0) {
        vamp_duration_text(whole_ns, text, sizeof text);
        config_output_error(
            loader, index, "bucket", "not a multiple of \"%s.bucket\", which is %s",
            loader->config->program == VAMP_CONFIG_COLLECT ? "collect" : "statistics", text);
    }
}

static void check_rotation(const struct config_loader *loader, unsigned index)
{
    const struct vamp_output_settings *settings = &loader->config->outputs[index].settings;
    if (settings->rotate_ns > 0 && settings->rotate_ns < bucket_width(loader, index)) {
        config_output_error(loader, index, "rotate/interval",
                            "shorter than a bucket, which is the least a file can contain");
    }
    if (settings->rotate_bytes > 0 && settings->rotate_bytes < ROTATE_BYTES_MIN) {
        config_output_error(loader, index, "rotate/size",
                            "too small: 0B (never) or at least 64KiB");
    }
}

/* ---- metrics and series of outputs */

static bool is_computed(const struct vamp_config *config, const char *pattern)
{
    char *items[] = {(char *)(uintptr_t)pattern};
    const struct vamp_strings one = {.items = items, .count = 1};
    for (unsigned id = 0; id < vamp_metric_count(); id++) {
        if (vamp_stats_wants(&config->statistics, (enum vamp_metric_id)id) &&
            vamp_resolution_wants(&one, vamp_metrics[id].name)) {
            return true;
        }
    }
    return false;
}

/* Checks a pattern in the option `key` of an output: the member `inside`, or the item `item` if
 * `inside` is NULL. */
static void check_computed(const struct config_loader *loader, unsigned output, const char *key,
                           const char *inside, size_t item, const char *pattern)
{
    char path[CONFIG_PATH_BYTES];
    if (is_computed(loader->config, pattern)) {
        return;
    }
    config_output_path(loader, output, key, path);
    if (inside != NULL) {
        (void)config_path_push(path, inside);
    } else {
        (void)config_path_push_index(path, item);
    }
    if (vamp_metric_find(pattern) == VAMP_METRIC_NONE) {
        config_report_no_metric(loader, path, pattern);
    } else {
        config_error(loader, path,
                     "%s is not computed: add it to \"statistics.metrics\" or its set to "
                     "\"statistics.sets\"",
                     pattern);
    }
}

static void report_no_label(const struct config_loader *loader, const char *path, const char *text)
{
    const char *const *const names = vamp_label_words;
    char name[32];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    const char *wrong = "names no label of the metrics";
    if (strchr(text, '=') == NULL) {
        wrong = "has no label: write LABEL=PATTERN";
    }
    struct vamp_diagnostic problem =
        config_problem(loader, path, CONFIG_AT_VALUE, "\"%.80s\" %s", text, wrong);
    config_near(&problem, vamp_opt_near_choice(names, name));
    size_t used = (size_t)snprintf(problem.allowed, sizeof problem.allowed,
                                   "LABEL=PATTERN with a LABEL from");
    for (unsigned i = 0; names[i] != NULL && used < sizeof problem.allowed; i++) {
        used += (size_t)snprintf(problem.allowed + used, sizeof problem.allowed - used, "%s %s",
                                 i == 0 ? "" : ",", names[i]);
    }
    vamp_diagnostics_add(loader->diagnostics, &problem);
}

/* Returns whether a metric of this output has the label. */
static bool has_label(const struct config_loader *loader,
                      const struct vamp_output_settings *settings, enum vamp_label label)
{
    const struct vamp_stats_options *statistics = &loader->config->statistics;
    for (unsigned id = 0; id < vamp_metric_count(); id++) {
        const uint32_t labels =
            vamp_metric_labels_at(&vamp_metrics[id], (enum vamp_level)statistics->level);
        if ((labels & UINT32_C(1) << label) != 0 &&
            vamp_stats_wants(statistics, (enum vamp_metric_id)id) &&
            (settings->metrics.count == 0 ||
             vamp_resolution_wants(&settings->metrics, vamp_metrics[id].name))) {
            return true;
        }
    }
    return false;
}

static void check_output_series(const struct config_loader *loader, unsigned index)
{
    const struct vamp_output_settings *settings = &loader->config->outputs[index].settings;
    const char *hint = "";
    if (loader->config->statistics.level == VAMP_LEVEL_WORKFLOW) {
        hint = "; level workflow does not distinguish components";
    }
    for (size_t i = 0; i < settings->series.count; i++) {
        enum vamp_label label = VAMP_LABEL_COMPONENT;
        const char *pattern = NULL;
        char path[CONFIG_PATH_BYTES];
        config_output_path(loader, index, "series", path);
        (void)config_path_push_index(path, i);
        if (!vamp_series_pattern(settings->series.items[i], &label, &pattern)) {
            report_no_label(loader, path, settings->series.items[i]);
        } else if (!has_label(loader, settings, label)) {
            config_error(loader, path, "no metric of this output has the label \"%s\"%s",
                         vamp_label_name(label), label <= VAMP_LABEL_CONSUMER ? hint : "");
        }
    }
}

/* Reports metrics that an option of the output selects but that are not computed. */
static void check_output_metrics(const struct config_loader *loader, unsigned index)
{
    const struct vamp_output_settings *settings = &loader->config->outputs[index].settings;
    const struct vamp_sets *const sets[] = {&settings->by, &settings->without};
    for (size_t i = 0; i < settings->metrics.count; i++) {
        check_computed(loader, index, "metrics", NULL, i, settings->metrics.items[i]);
    }
    for (unsigned k = 0; k < 2; k++) {
        for (size_t i = 0; i < sets[k]->count; i++) {
            const char *pattern = sets[k]->items[i].name;
            if (strcmp(pattern, "*") != 0) {
                check_computed(loader, index, k == 0 ? "by" : "without", pattern, 0, pattern);
            }
        }
    }
}

/* Returns whether the output's options specify labels to keep or to drop. */
static bool gives_labels(const struct config_loader *loader, unsigned index)
{
    char path[CONFIG_PATH_BYTES];
    config_output_path(loader, index, "by", path);
    const bool by = config_level_of(loader, path) != CONFIG_LEVEL_DEFAULT;
    config_output_path(loader, index, "without", path);
    return by || config_level_of(loader, path) != CONFIG_LEVEL_DEFAULT;
}

/* Adds these labels to "by" or "without" for the metrics that match the pattern. */
static int add_labels(const struct config_loader *loader, struct vamp_config_output *output,
                      const char *key, const char *metrics, uint32_t labels)
{
    const struct vamp_opt *opt = vamp_opt_find(vamp_output_options(output->ops), key);
    int code = 0;
    for (unsigned label = 0; code == 0 && label < VAMP_LABEL_COUNT; label++) {
        if ((labels & UINT32_C(1) << label) != 0) {
            code = vamp_opt_set_named(opt, &output->settings, metrics, vamp_label_name(label),
                                      loader->err);
        }
    }
    return code;
}

/* Applies the output type's own defaults for "budget", "by" and "without". */
static int settle_labels(const struct config_loader *loader, unsigned index)
{
    struct vamp_config_output *output = &loader->config->outputs[index];
    const struct vamp_kept_labels *kept = output->ops->by_unset;
    const uint32_t holding = vamp_output_holding(output->ops, output->options, &output->settings);
    char path[CONFIG_PATH_BYTES];
    config_output_path(loader, index, "budget", path);
    if (config_level_of(loader, path) == CONFIG_LEVEL_DEFAULT &&
        (holding & VAMP_TARGET_BIT(VAMP_WITH_ALARMS)) == 0) {
        output->settings.budget = output->ops->budget_unset;
    } else if (output->settings.budget > 0 && output->ops->budget_unset == 0) {
        config_output_error(loader, index, "budget", "outputs of type %s have none: they keep all",
                            output->ops->name);
    }
    if (gives_labels(loader, index) || (holding & VAMP_TARGET_FILES) == 0 ||
        (holding & VAMP_TARGET_BIT(VAMP_WITH_ALARMS)) != 0) {
        return 0;
    }
    int code = add_labels(loader, output, "without", "*", output->ops->without_unset);
    /* A declared metric has exactly the labels in its declaration. */
    for (unsigned i = 0; code == 0 && kept != NULL && i < vamp_declared_count(); i++) {
        const struct vamp_metric *metric = &vamp_metrics[vamp_declared_at(i)->id];
        code = add_labels(loader, output, "by", metric->name, metric->labels);
    }
    for (; code == 0 && kept != NULL && kept->metrics != NULL; kept++) {
        /* For metrics that are not computed, this would be an error when the dump is loaded. */
        if (strcmp(kept->metrics, "*") == 0 || is_computed(loader->config, kept->metrics)) {
            code = vamp_opt_set_named(vamp_opt_find(vamp_output_options(output->ops), "by"),
                                      &output->settings, kept->metrics, NULL, loader->err);
            if (code == 0) {
                code = add_labels(loader, output, "by", kept->metrics, kept->labels);
            }
        }
    }
    return code;
}

static int check_output_filter(const struct config_loader *loader, unsigned index)
{
    const struct vamp_config_output *output = &loader->config->outputs[index];
    if (output->settings.filter == NULL) {
        return 0;
    }
    char path[CONFIG_PATH_BYTES];
    config_output_path(loader, index, "filter", path);
    uint64_t kinds = 0;
    int code =
        config_check_expression(loader, path, output->settings.filter, VAMP_FILTER_INSIDE, &kinds);
    if (code == 0 && kinds == 0) {
        config_error(loader, path, "this filter is never true: no event would be recorded");
    }
    return code;
}

/* Reports names that do not match any rule. */
static void check_alarm_names(const struct config_loader *loader, unsigned index,
                              const struct vamp_strings *when)
{
    const struct vamp_config *config = loader->config;
    const char *names[VAMP_ALARM_RULES_MAX + 1] = {NULL};
    char path[CONFIG_PATH_BYTES];
    unsigned count = 0;
    for (unsigned i = 0; i < config->alarm_count; i++) {
        if (config->alarms[i].options.name != NULL) {
            names[count++] = config->alarms[i].options.name;
        }
    }
    config_output_path(loader, index, "when", path);
    for (size_t i = 0; i < when->count; i++) {
        unsigned rule = 0;
        while (rule < count && strcmp(names[rule], when->items[i]) != 0) {
            rule++;
        }
        if (rule == count) {
            const size_t length = config_path_push_index(path, i);
            struct vamp_diagnostic problem =
                config_problem(loader, path, CONFIG_AT_VALUE,
                               "there is no rule \"%s\" in \"alarms\"", when->items[i]);
            config_near(&problem, vamp_opt_near_choice(names, when->items[i]));
            vamp_diagnostics_add(loader->diagnostics, &problem);
            path[length] = '\0';
        }
    }
}

/* Reports an output that sends alarm changes although there are no rules. */
static void check_sent_alarms(const struct config_loader *loader, unsigned index)
{
    const struct vamp_config_output *output = &loader->config->outputs[index];
    const struct vamp_sent_alarms *sent = vamp_sent_alarms(output->ops, output->options);
    if (sent == NULL) {
        return;
    }
    if (loader->config->alarm_count == 0) {
        config_output_error(loader, index, "send",
                            "there is no rule in \"alarms\": nothing would be sent");
    }
    check_alarm_names(loader, index, &sent->when);
    char path[CONFIG_PATH_BYTES];
    config_output_path(loader, index, "states", path);
    if (sent->states == 0 && !config_is_wrong(loader, path)) {
        config_error(loader, path, "empty: nothing would be sent");
    }
}

const char *config_opt_text(const struct vamp_opt *opt, const void *base)
{
    if (opt == NULL || opt->type != VAMP_OPT_STRING) {
        return NULL;
    }
    return *(char *const *)(const void *)((const char *)base + opt->offset);
}

static const char *text_of(const struct vamp_config_output *output, const char *key)
{
    return config_opt_text(vamp_opt_find(output->ops->options, key), output->options);
}

/* Returns the address of a server that is reached by HTTP; NULL: the output has none. */
static const char *url_of(const struct vamp_config_output *output, const char **ret_key)
{
    static const char *const keys[] = {"url", "endpoint"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *url = text_of(output, keys[i]);
        if (url != NULL && strncmp(url, "http", 4) == 0) {
            *ret_key = keys[i];
            return url;
        }
    }
    return NULL;
}

/* Warns that a proxy of the environment gets the data. */
static void check_proxy(const struct config_loader *loader, unsigned index)
{
    const char *key = NULL, *variable = NULL;
    const char *url = url_of(&loader->config->outputs[index], &key);
    const char *proxy = url != NULL ? vamp_push_proxy(url, &variable) : NULL;
    if (proxy != NULL) {
        char path[CONFIG_PATH_BYTES], shown[VAMP_PUSH_PROXY_BYTES];
        vamp_push_show_proxy(proxy, shown);
        config_output_path(loader, index, key, path);
        config_warning(loader, path,
                       "the environment variable %s sends this through the proxy %s, unless "
                       "no_proxy names the server",
                       variable, shown);
    }
}

/* Warns if other users can read the secret or if it is sent unencrypted. */
static void check_secret(const struct config_loader *loader, unsigned index)
{
    const struct vamp_config_output *output = &loader->config->outputs[index];
    const char *file = text_of(output, "secret_file");
    const char *key = NULL, *url = url_of(output, &key);
    bool loose = false;
    struct vamp_err err = VAMP_ERR_NONE;
    char path[CONFIG_PATH_BYTES];
    config_output_path(loader, index, "secret_file", path);
    if (file != NULL && vamp_secret_check(file, &loose, &err) != 0) {
        config_error(loader, path, "%s", err.text);
    } else if (file != NULL && loose) {
        config_warning(loader, path, "other users may read the secret in %s: chmod 600 %s", file,
                       file);
    }
    if (file != NULL && url != NULL && vamp_secret_is_shown(url)) {
        config_output_path(loader, index, key, path);
        config_warning(loader, path,
                       "the secret is sent over the network unencrypted: use https://");
    }
}

/* ---- targets: files, directories and addresses, which must be distinct */

/* A target as identified by the file system, so that different spellings of one path are
 * recognised. */
struct place {
    const char
        *type; /* type of the output; directories may be shared by outputs of different types */
    bool file;
    dev_t device;
    ino_t directory;
    const char *name; /* name of the file in the directory; for a directory, the name of the output,
                       * which is part of its file names */
};

static const char *target_text(const struct vamp_config_output *output, const struct vamp_opt *opt)
{
    return config_opt_text(opt, output->options);
}

static bool is_target(const struct vamp_opt *opt)
{
    return opt->role == VAMP_OPT_NEW_FILE || opt->role == VAMP_OPT_DIRECTORY ||
           opt->role == VAMP_OPT_LISTEN;
}

/* Returns the first set option that determines the target; NULL: none. */
static const struct vamp_opt *find_target(const struct vamp_config_output *output)
{
    for (const struct vamp_opt *opt = output->ops->options; opt->key != NULL; opt++) {
        if (is_target(opt) && target_text(output, opt) != NULL) {
            return opt;
        }
    }
    return NULL;
}

/* Reports an output that requires a target but has none, because all options for it are empty. */
static void check_target(const struct config_loader *loader, unsigned index)
{
    const struct vamp_config_output *output = &loader->config->outputs[index];
    const struct vamp_opt *last = NULL;
    for (const struct vamp_opt *opt = output->ops->options; opt->key != NULL; opt++) {
        if (is_target(opt) && opt->role != VAMP_OPT_LISTEN) {
            last = opt;
        }
    }
    if (last != NULL && find_target(output) == NULL) {
        config_output_error(
            loader, index, last->key,
            "empty, so this output has no directory to write to; \".\" is the directory "
            "in which vampire runs");
    }
}

/* Checks that the directory is usable (`writable`: that files can be created in it), and that an
 * existing entry with the name of the new file permits it: a regular file does, because the new
 * file is then numbered. `file` NULL: only the directory. Returns 0 or -errno with text. */
static int check_target_path(const char *file, const char *directory, bool writable,
                             struct vamp_err *err)
{
    struct stat status;
    if (file != NULL && lstat(file, &status) == 0) {
        const bool is_stream = S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode);
        if (S_ISDIR(status.st_mode)) {
            return vamp_err_set(err, -EISDIR,
                                "%s is a directory; give the name of a file in it, or set "
                                "\"directory\" instead of \"path\"",
                                file);
        }
        if (S_ISLNK(status.st_mode)) {
            return vamp_err_set(err, -ELOOP,
                                "%s is a symbolic link, which is not followed; give the real path",
                                file);
        }
        if (is_stream && faccessat(AT_FDCWD, file, W_OK, AT_EACCESS) != 0) {
            return vamp_err_set_errno(err, errno, "%s cannot be written to", file);
        }
    }
    if (stat(directory, &status) != 0) {
        const int wrong = errno;
        const bool is_for_shells = directory[0] == '~' || strchr(directory, '$') != NULL;
        return vamp_err_set_errno(
            err, wrong, "the directory %s cannot be used%s", directory,
            is_for_shells ? ", because only shells replace ~ and $; write the whole path" : "");
    }
    if (!S_ISDIR(status.st_mode)) {
        return vamp_err_set(err, -ENOTDIR, "%s is not a directory", directory);
    }
    if (writable && faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) != 0) {
        return vamp_err_set_errno(err, errno, "the directory %s cannot be written to", directory);
    }
    return 0;
}

/* Returns whether the options select one of these kinds of targets, given as bits. */
static bool writes_to(const struct vamp_config_output *output, uint32_t kinds)
{
    return (vamp_output_holding(output->ops, output->options, &output->settings) & kinds) != 0;
}

/* Replaces the directory of a target by its real path if it is a symbolic link. Writers do not
 * follow one, so that a link created during the run cannot redirect the output. */
static void resolve_links(const struct vamp_config_output *output, const struct vamp_opt *opt,
                          const char *directory, struct place *place)
{
    const int fd = vamp_target_directory(directory, O_PATH);
    if (fd >= 0) {
        (void)close(fd);
        return;
    }
    struct stat status;
    char *real = realpath(directory, NULL), *path = NULL;
    /* In another mount namespace (/proc/PID/root), the real path is another directory. */
    const bool is_same = real != NULL && stat(real, &status) == 0 &&
                         status.st_dev == place->device && status.st_ino == place->directory;
    if (is_same && asprintf(&path, "%s%s%s", real, place->file ? "/" : "",
                            place->file ? place->name : "") < 0) {
        path = NULL;
    }
    free(real);
    if (path == NULL) {
        return; /* creating the file will report the link */
    }
    char **text = (char **)(void *)((char *)output->options + opt->offset);
    free(*text);
    *text = path;
    if (place->file) {
        place->name = strrchr(path, '/') + 1;
    }
}

/* Determines the directory, and the name of the file in it if the option specifies a file. */
static bool find_file(const struct config_loader *loader, unsigned index, struct place *place)
{
    const struct vamp_config_output *output = &loader->config->outputs[index];
    const struct vamp_opt *opt = find_target(output);
    const char *text = target_text(output, opt);
    const char *slash = strrchr(text, '/');
    char directory[4096];
    (void)snprintf(directory, sizeof directory, "%s", text);
    if (opt->role == VAMP_OPT_NEW_FILE) {
        place->file = true;
        place->name = text;
        (void)snprintf(directory, sizeof directory, ".");
        if (slash != NULL) {
            place->name = slash + 1;
            (void)snprintf(directory, sizeof directory, "%.*s", VAMP_MAX((int)(slash - text), 1),
                           text);
        }
        if (place->name[0] == '\0') {
            config_output_error(loader, index, opt->key, "this names a directory, not a file");
            return false;
        }
    }
    const bool writable =
        !writes_to(output, VAMP_TARGET_BIT(VAMP_TARGET_FIFO) | VAMP_TARGET_BIT(VAMP_TARGET_DEVICE));
    struct vamp_err err = VAMP_ERR_NONE;
    if (loader->request->paths &&
        check_target_path(place->file ? text : NULL, directory, writable, &err) != 0) {
        config_output_error(loader, index, opt->key, "%s", err.text);
        return false;
    }
    struct stat status;
    if (stat(directory, &status) != 0) {
        return false;
    }
    place->device = status.st_dev;
    place->directory = status.st_ino;
    resolve_links(output, opt, directory, place);
    return true;
}

/* Determines the target. Returns false if there is none or it is unknown; errors are reported. */
static bool find_place(const struct config_loader *loader, unsigned index, struct place *ret_place)
{
    const struct vamp_config_output *output = &loader->config->outputs[index];
    const struct vamp_opt *opt = find_target(output);
    struct vamp_err err = VAMP_ERR_NONE;
    const char *key = "type";
    if (output->ops->check != NULL && output->ops->check(output->options, &key, &err) != 0) {
        config_output_error(loader, index, key, "%s", err.text);
        return false;
    }
    if (opt == NULL) {
        return false;
    }
    *ret_place = (struct place){.type = output->ops->name, .name = output->settings.name};
    if (opt->role != VAMP_OPT_LISTEN &&
        !writes_to(output, VAMP_TARGET_SOCKETS | VAMP_TARGET_BIT(VAMP_TARGET_STDOUT))) {
        return find_file(loader, index, ret_place);
    }
    ret_place->file = true; /* targets other than files are compared as text */
    ret_place->name = target_text(output, opt);
    return true;
}

/* Returns whether two files are identical, or two outputs use the same file names. */
static bool same_place(const struct place *left, const struct place *right)
{
    if (left->file != right->file || left->device != right->device ||
        left->directory != right->directory) {
        return false;
    }
    if (left->file) {
        return strcmp(left->name, right->name) == 0;
    }
    return vamp_target_same_name(left->name, right->name) && strcmp(left->type, right->type) == 0;
}

static bool is_loopback(const struct vamp_address *address)
{
    if (address->any.sa_family == AF_INET6) {
        return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
    }
    return ntohl(address->v4.sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
}

/* Warns if other hosts can read what the output offers. */
static void check_reach(const struct config_loader *loader, unsigned index)
{
    const struct vamp_config_output *output = &loader->config->outputs[index];
    const struct vamp_opt *opt = find_target(output);
    const char *text = opt != NULL ? target_text(output, opt) : "";
    struct vamp_address address;
    struct vamp_err err = VAMP_ERR_NONE;
    if (strncmp(text, "tcp:", 4) == 0 && vamp_address_parse(text, "tcp", &address, &err) == 0 &&
        !is_loopback(&address)) {
        char path[CONFIG_PATH_BYTES];
        config_output_path(loader, index, opt->key, path);
        config_warning(loader, path,
                       "every host that reaches this address can read the run: there is no "
                       "password and no encryption");
    }
}

static void check_targets(const struct config_loader *loader)
{
    const struct vamp_config *config = loader->config;
    struct place places[VAMP_OUTPUTS_MAX];
    bool known[VAMP_OUTPUTS_MAX] = {false};
    for (unsigned i = 0; i < config->output_count; i++) {
        const struct vamp_writer_ops *functions = NULL;
        struct vamp_err err = VAMP_ERR_NONE;
        if (loader->request->paths && /* the plug-in may not be installed */
            vamp_writer_load(config->outputs[i].ops, &functions, &err) != 0) {
            config_output_error(loader, i, "type", "%s", err.text);
        }
        check_target(loader, i);
        check_reach(loader, i);
        known[i] = find_place(loader, i, &places[i]);
        for (unsigned j = 0; j < i && known[i]; j++) {
            if (!known[j] || !same_place(&places[i], &places[j])) {
                continue;
            }
            config_output_error(loader, i, find_target(&config->outputs[i])->key,
                                "output \"%s\" would %s", config->outputs[j].settings.name,
                                find_target(&config->outputs[i])->role == VAMP_OPT_LISTEN
                                    ? "listen on the same address"
                                    : "write the same files");
            break;
        }
    }
}

int config_check_outputs(struct config_loader *loader)
{
    const struct vamp_config *config = loader->config;
    int code = settle_names(loader);
    if (code != 0) {
        return code;
    }
    for (unsigned i = 0; i < config->output_count; i++) {
        check_bucket(loader, i);
        check_rotation(loader, i);
        check_sent_alarms(loader, i);
        check_secret(loader, i);
        check_proxy(loader, i);
        check_alarm_names(loader, i, &config->outputs[i].settings.when);
        check_output_metrics(loader, i);
        check_output_series(loader, i);
        code = check_output_filter(loader, i);
        if (code == 0) {
            code = settle_labels(loader, i);
        }
        if (code != 0) {
            return code;
        }
    }
    check_targets(loader);
    const struct config_value *list = config_member(loader->tree.root, "outputs");
    if (list != NULL && list->type == CONFIG_LIST && list->count == 0) {
        config_warning(loader, "/outputs", "no output: nothing will be written");
    }
    return 0;
}
