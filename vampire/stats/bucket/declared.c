/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/bucket/declared.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/stats/bucket/bucket.h"

#define NAME_LENGTH_MAX 63

static struct vamp_declared declared[VAMP_DECLARED_MAX];
static unsigned count;
static bool sealed;

const enum vamp_label vamp_declared_labels[VAMP_DECLARED_LABEL_COUNT] = {
    [VAMP_DECLARED_COMPONENT] = VAMP_LABEL_COMPONENT,
    [VAMP_DECLARED_HOST] = VAMP_LABEL_HOST,
    [VAMP_DECLARED_JOB] = VAMP_LABEL_JOB,
    [VAMP_DECLARED_NAME] = VAMP_LABEL_NAME,
};

static bool is_metric_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    const size_t length = strlen(name);
    return strchr(letters, name[0]) != NULL && length <= NAME_LENGTH_MAX &&
           strspn(name, allowed) == length && strncmp(name, "vampire_", 8) != 0;
}

static int read_kind(const char *word, enum vamp_metric_kind *ret_kind, struct vamp_err *err)
{
    for (unsigned kind = VAMP_COUNTER; kind <= VAMP_HISTOGRAM; kind++) {
        if (strcmp(word, vamp_metric_kind_name(kind)) == 0) {
            *ret_kind = (enum vamp_metric_kind)kind;
            return 0;
        }
    }
    return vamp_err_set(err, -EINVAL, "\"%s\" is no kind: expected counter, gauge or histogram",
                        word);
}

static int read_scale(const char *word, long double *ret_scale, struct vamp_err *err)
{
    char *end = NULL;
    *ret_scale = strtold(word, &end);
    if (*word == '\0' || *end != '\0' || !isfinite(*ret_scale) || *ret_scale <= 0) {
        return vamp_err_set(err, -EINVAL, "\"%s\" is no scale: expected a number above 0", word);
    }
    return 0;
}

/* Parses one "key=value", which is split into two texts, and stores it in `into` or `metric`. */
static int read_property(char *word, struct vamp_declared *into, struct vamp_metric *metric,
                         struct vamp_err *err)
{
    char *value = strchr(word, '=');
    if (value == NULL || value[1] == '\0') {
        return vamp_err_set(err, -EINVAL, "\"%s\" has no value: expected KEY=VALUE", word);
    }
    *value++ = '\0';
    if (strcmp(word, "unit") == 0) {
        metric->unit = value;
        return 0;
    }
    if (strcmp(word, "scale") == 0) {
        return read_scale(value, &into->scale, err);
    }
    if (strcmp(word, "only") == 0) {
        into->only = strsep(&value, ":");
        into->only_value = value;
        if (value == NULL) {
            return vamp_err_set(err, -EINVAL, "\"only=%s\" is no tag: expected only=TAG:VALUE",
                                into->only);
        }
        return 0;
    }
    if (strcmp(word, "value") == 0) {
        into->value = value;
        if (metric->kind != VAMP_HISTOGRAM) {
            return vamp_err_set(err, -EINVAL, "\"value=%s\" is for histograms only", value);
        }
        return 0;
    }
    for (unsigned i = 0; i < VAMP_DECLARED_LABEL_COUNT; i++) {
        if (strcmp(vamp_label_name(vamp_declared_labels[i]), word) == 0) {
            into->tags[i] = value;
            metric->labels |= UINT32_C(1) << vamp_declared_labels[i];
            return 0;
        }
    }
    return vamp_err_set(
        err, -EINVAL,
        "\"%s\" is not known: expected unit, scale, only, value, component, host, job or name",
        word);
}

/* Parses "NAME KIND MEASUREMENT.FIELD key=value ..." and sets `into` and `metric`, whose texts
 * point into `words`. Returns 0, or -EINVAL with a text. */
static int read_words(char *words, struct vamp_declared *into, struct vamp_metric *metric,
                      struct vamp_err *err)
{
    char *rest = NULL;
    const char *name = strtok_r(words, " ", &rest);
    const char *kind = strtok_r(NULL, " ", &rest);
    into->from = strtok_r(NULL, " ", &rest);
    if (into->from == NULL || strchr(into->from, '.') == NULL) {
        return vamp_err_set(err, -EINVAL,
                            "expected NAME KIND MEASUREMENT.FIELD, such as \"ifs_step counter "
                            "ifs.step component=component\"");
    }
    if (!is_metric_name(name)) {
        return vamp_err_set(err, -EINVAL,
                            "\"%s\" is not a valid metric name: it must consist of at most %d "
                            "lower-case letters, digits and _, start with a letter, and not start "
                            "with vampire_",
                            name, NAME_LENGTH_MAX);
    }
    if (strlen(into->from) >= VAMP_SAMPLE_NAME_BYTES) {
        return vamp_err_set(err, -EINVAL, "MEASUREMENT.FIELD is longer than %d bytes",
                            VAMP_SAMPLE_NAME_BYTES - 1);
    }
    metric->name = name;
    int status = read_kind(kind, &metric->kind, err);
    for (char *word = strtok_r(NULL, " ", &rest); word != NULL && status == 0;
         word = strtok_r(NULL, " ", &rest)) {
        status = read_property(word, into, metric, err);
    }
    return status;
}

static int append(const struct vamp_declared *made, struct vamp_metric *metric,
                  struct vamp_err *err)
{
    char *help = NULL;
    if (asprintf(&help, "samples of %s", made->from) < 0) {
        return vamp_err_set_errno(err, ENOMEM, "declare a metric");
    }
    metric->help = help; /* owned by the catalogue once it is appended */
    enum vamp_metric_id id = VAMP_METRIC_NONE;
    const int status = vamp_metrics_append(metric, &id);
    if (status != 0) {
        free(help);
    }
    if (status == -EEXIST) {
        return vamp_err_set(err, -EINVAL, "there is a metric %s already", metric->name);
    }
    if (status != 0) {
        return vamp_err_set(err, -EINVAL, "there is no room for %s in the catalogue", metric->name);
    }
    declared[count] = *made;
    declared[count++].id = id;
    return 0;
}

/* Returns whether one sample could match both metrics. */
static bool overlap(const struct vamp_declared *one, const struct vamp_declared *other)
{
    assert(one->from != NULL && other->from != NULL);
    if (strcmp(one->from, other->from) != 0) {
        return false;
    }
    if (one->only == NULL || other->only == NULL || strcmp(one->only, other->only) != 0) {
        return true;
    }
    assert(one->only_value != NULL && other->only_value != NULL);
    return strcmp(one->only_value, other->only_value) == 0;
}

int vamp_declare(const char *text, struct vamp_err *err)
{
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(declared[i].text, text) == 0) {
            return 0;
        }
    }
    if (sealed) {
        return vamp_err_set(err, -EINVAL, "metrics cannot be declared while vampire runs");
    }
    if (count == VAMP_DECLARED_MAX) {
        return vamp_err_set(err, -EINVAL, "more than %d metrics are declared", VAMP_DECLARED_MAX);
    }
    /* The texts of the catalogue point into this copy and the following ones, which are never
     * freed. */
    char *words = strdup(text);
    char *kept = strdup(text);
    struct vamp_declared made = {.text = kept, .scale = 1};
    struct vamp_metric metric = {
        .unit = "1",
        .sets = VAMP_SET_SAMPLED,
        .merge = VAMP_MERGE_SUM,
        .origin = "declared in samples.metrics",
    };
    int status = 0;
    if (words == NULL || kept == NULL) {
        status = vamp_err_set_errno(err, ENOMEM, "declare a metric");
    } else {
        status = read_words(words, &made, &metric, err);
    }
    for (unsigned i = 0; i < count && status == 0; i++) {
        if (overlap(&declared[i], &made)) {
            status = vamp_err_set(err, -EINVAL, "%s is declared twice", made.from);
        }
    }
    if (status == 0) {
        status = append(&made, &metric, err);
    }
    if (status != 0) {
        free(words);
        free(kept);
    }
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the catalogue refers to them */
    return status;
}

void vamp_declared_seal(void)
{
    sealed = true;
}

static bool is_in(const char *name, const char *const *words)
{
    while (*words != NULL && strcmp(*words, name) != 0) {
        words++;
    }
    return *words != NULL;
}

/* Returns 0 or -EINVAL. */
static int check_name(const char *name, struct vamp_err *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    /* Names that have another meaning in Prometheus, in tables or in JSON lines. */
    static const char *const taken[] = {
        "le",  "quantile",  "time",      "start", "end", "value", "delta", "count", "sum",  "min",
        "max", "min_bound", "max_bound", "p50",   "p90", "p99",   "p999",  "bins",  "unit", NULL};
    const size_t length = strlen(name);
    const size_t letter = strspn(name, letters);
    if (letter == 0 || length > VAMP_ATTRIBUTE_NAME_MAX ||
        strspn(name + letter, "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") !=
            length - letter) {
        return vamp_err_set(err, -EINVAL,
                            "\"%.80s\" cannot be the name of a label: expected at most %d letters, "
                            "digits and _, a letter first",
                            name, VAMP_ATTRIBUTE_NAME_MAX);
    }
    if (is_in(name, taken) || is_in(name, vamp_run_label_words) || is_in(name, vamp_label_words)) {
        return vamp_err_set(err, -EINVAL,
                            "\"%s\" has another meaning beside values: give it another name, with "
                            "the pattern, such as \"cdo_%s=(?:^|,)%s[:=]([^,]*)\"",
                            name, name, name);
    }
    return 0;
}

int vamp_attributes_declare(const char *const *names, unsigned number, unsigned *ret_wrong,
                            struct vamp_err *err)
{
    bool same = number == vamp_attribute_count();
    for (unsigned i = 0; same && i < number; i++) {
        same = strcmp(names[i], vamp_label_name(VAMP_LABEL_ATTRIBUTE + i)) == 0;
    }
    *ret_wrong = 0;
    if (same) {
        return 0;
    }
    if (sealed) {
        return vamp_err_set(err, -EINVAL,
                            "the names of attributes cannot change while vampire runs");
    }
    int status = 0;
    for (unsigned i = 0; i < number && i < VAMP_ATTRIBUTES_MAX && status == 0; i++) {
        vamp_attributes_set(names, i); /* names[i] must differ from the names before it */
        *ret_wrong = i;
        status = check_name(names[i], err);
    }
    if (status != 0) {
        return status;
    }
    vamp_attributes_set(names, VAMP_MIN(number, (unsigned)VAMP_ATTRIBUTES_MAX));
    *ret_wrong = VAMP_ATTRIBUTES_MAX;
    if (number > VAMP_ATTRIBUTES_MAX) {
        return vamp_err_set(err, -EINVAL, "more than %d attributes", VAMP_ATTRIBUTES_MAX);
    }
    return 0;
}

unsigned vamp_declared_count(void)
{
    return count;
}

const struct vamp_declared *vamp_declared_at(unsigned index)
{
    return &declared[index];
}
