/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "programs/run/process.h"
#include "programs/run/summary.h"
#include "writers/files.h"

struct given {
    const char *path;
    struct vamp_run_file *file; /* NULL: it could not be read, or is part of a summary already */
    size_t place; /* on the command line, of the first file of the same run and output */
    bool is_written;
};

/* The files of one summary. */
struct group {
    const struct given *files;
    size_t count;
};

static const char *text_or(const char *text, const char *otherwise)
{
    return text != NULL ? text : otherwise;
}

static bool same_output(const struct vamp_run_file *left, const struct vamp_run_file *right)
{
    return strcmp(left->run, right->run) == 0 &&
           strcmp(text_or(left->output, ""), text_or(right->output, "")) == 0;
}

/* Reads all; returns how many could be. Those come first. */
static size_t read_files(struct given *given, char *const *paths, size_t count, FILE *error)
{
    size_t read = 0;
    for (size_t i = 0; i < count; i++) {
        struct vamp_err err = VAMP_ERR_NONE;
        struct given *next = &given[read];
        *next = (struct given){.path = paths[i], .place = read};
        if (vamp_read_run_file(paths[i], &next->file, &next->is_written, &err) != 0) {
            (void)fprintf(error, "vampire: error: %s\n", err.text);
            continue;
        }
        for (size_t k = 0; k < read; k++) {
            if (same_output(given[k].file, next->file)) {
                next->place = given[k].place;
                break;
            }
        }
        read++;
    }
    return read;
}

static int by_place_and_segment(const void *left, const void *right)
{
    const struct given *one = left, *other = right;
    if (one->place != other->place) {
        return one->place < other->place ? -1 : 1;
    }
    return one->file->segment < other->file->segment   ? -1
           : one->file->segment > other->file->segment ? 1
                                                       : 0;
}

static size_t each_path(const void *context, void (*each)(void *of_each, const char *path),
                        void *of_each)
{
    const struct group *group = context;
    for (size_t i = 0; i < group->count; i++) {
        each(of_each, group->files[i].path);
    }
    return group->count;
}

static const struct vamp_component *row_of(const void *components, size_t row)
{
    const struct vamp_run_file *file = components;
    return file->components[row].name != NULL ? &file->components[row] : NULL;
}

/* What became of the run, up to the words before a duration, which it sets. */
static void describe_state(const struct vamp_run_file *file, bool is_written, char *text,
                           size_t bytes, uint64_t *ret_duration_ns)
{
    const char *state = is_written                       ? "still running; so far its files cover"
                        : file->end == VAMP_FILE_OPEN    ? "without an end, vampire was killed; "
                                                           "its files cover"
                        : file->end == VAMP_FILE_ROTATED ? "continued in a file that was not "
                                                           "given; these cover"
                                                         : NULL;
    const bool ended = state == NULL && file->reason != NULL;
    const int64_t duration_ns =
        ended ? file->ended_ns - file->started_ns : file->last_ns - file->first_ns;
    *ret_duration_ns = duration_ns > 0 ? (uint64_t)duration_ns : 0;
    if (ended) {
        (void)snprintf(text, bytes, "%s after", file->reason);
    } else {
        (void)snprintf(text, bytes, "%s", text_or(state, "its files cover"));
    }
}

static uint64_t at_least_none(int64_t count)
{
    return count > 0 ? (uint64_t)count : 0;
}

/* Returns how many rules there are. */
static unsigned describe_alarms(const struct vamp_run_file *file,
                                struct vamp_alarm_state_count rules[static VAMP_FILE_ALARMS_MAX])
{
    for (unsigned i = 0; i < file->alarm_count; i++) {
        const struct vamp_file_alarm *alarm = &file->alarms[i];
        rules[i] = (struct vamp_alarm_state_count){
            .name = alarm->name,
            .severity = VAMP_ALARM_INFO,
            .fired = alarm->fired,
            .firing = at_least_none(alarm->firing),
            .pending = at_least_none(alarm->pending),
        };
        for (unsigned s = 0; vamp_alarm_severity_words[s] != NULL; s++) {
            rules[i].severity =
                strcmp(vamp_alarm_severity_words[s], alarm->severity) == 0 ? s : rules[i].severity;
        }
    }
    return file->alarm_count;
}

static void print_group(FILE *out, const struct vamp_run_file *file, const struct group *group)
{
    char state[320];
    uint64_t duration_ns = 0;
    struct vamp_alarm_state_count alarms[VAMP_FILE_ALARMS_MAX];
    const unsigned alarm_count = describe_alarms(file, alarms);
    struct vamp_summary_output output = {
        .account = {.written = file->buckets, .lost = file->lost},
        .unit = "bucket",
        .paths = each_path,
        .context = group,
    };
    /* Numbers of buckets begin with 0. */
    output.account.lost += file->segments_missing == 0 ? file->first_number : 0;
    (void)snprintf(output.account.name, sizeof output.account.name, "%s",
                   text_or(file->output, "output"));
    describe_state(file, group->files[group->count - 1].is_written, state, sizeof state,
                   &duration_ns);
    vamp_summary_print(out, &(struct vamp_summary){
                                .workflow = text_or(file->workflow, ""),
                                .state = state,
                                .duration_ns = duration_ns,
                                .totals = &file->totals,
                                .bins = &file->bins,
                                .component = row_of,
                                .components = file,
                                .component_count = file->component_count,
                                .outputs = &output,
                                .output_count = 1,
                                .filter_cut = file->filter_cut,
                                .file_alarms = alarms,
                                .file_alarm_count = alarm_count,
                                .buckets_missing = output.account.lost + file->segments_missing,
                                .files_missing = file->segments_missing,
                            });
}

/* Joins the files of a group, which begins at `given`, and prints their summary. Sets how many they
 * are. */
static int summarise(struct given *given, size_t count, FILE *out, FILE *error, size_t *ret_count)
{
    struct vamp_run_file *sum = given[0].file;
    struct group group = {.files = given, .count = 1};
    int code = VAMP_EXIT_OK;
    given[0].file = NULL;
    sum->segments_missing = sum->segment > 0 ? sum->segment - 1 : 0;
    for (; group.count < count && given[group.count].place == given[0].place; group.count++) {
        struct given *next = &given[group.count];
        struct vamp_run_file *file = next->file;
        struct vamp_err err = VAMP_ERR_NONE;
        next->file = NULL;
        if (file->segment == sum->segment) {
            (void)fprintf(error, "vampire: error: %s and %s are the same part of one run\n",
                          given[group.count - 1].path, next->path);
            vamp_run_file_free(file);
            code = VAMP_EXIT_FAILED;
        } else if (vamp_run_file_join(sum, file, &err) != 0) {
            (void)fprintf(error, "vampire: error: %s: %s\n", next->path, err.text);
            code = VAMP_EXIT_FAILED;
        }
    }
    print_group(out, sum, &group);
    vamp_run_file_free(sum);
    *ret_count = group.count;
    return code;
}

int vamp_summary_of_files(char *const *paths, size_t count, FILE *out, FILE *error)
{
    struct given *given = calloc(count, sizeof *given);
    if (given == NULL) {
        (void)fputs("vampire: error: out of memory\n", error);
        return VAMP_EXIT_FAILED;
    }
    const size_t read = read_files(given, paths, count, error);
    int exit_code = read == count ? VAMP_EXIT_OK : VAMP_EXIT_FAILED;
    qsort(given, read, sizeof *given, by_place_and_segment);
    for (size_t i = 0, taken = 0; i < read; i += taken) {
        const int code = summarise(&given[i], read - i, out, error, &taken);
        exit_code = exit_code == VAMP_EXIT_OK ? code : exit_code;
    }
    free(given);
    return exit_code;
}
