/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/output/internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vampire/core/values.h"

#define PAUSE_NS INT64_C(100000000)
#define PAUSE_LONGEST_NS (5 * VAMP_NS_PER_SECOND)
/* Limit on the pause after the end of the run. */
#define PAUSE_LAST_NS (4 * PAUSE_NS)
#define ATTEMPTS_MAX 5
/* Number of segment names to try: another process, or the output before a reload, may use a name.
 */
#define NUMBERS_TRIED 16
/* Interval between two checks of the queue's capacity. */
#define ROOM_NS 200000

/* ---- pauses */

/* Waits for at most `pause_ns`; returns early when vamp_output_finish is called. */
static void pause_thread(struct vamp_output *output, int64_t pause_ns)
{
    struct vamp_worker *worker = &output->worker;
    vamp_worker_lock(worker);
    const bool was_finishing = atomic_load(&worker->finishing);
    const int64_t until = vamp_worker_now_ns() + pause_ns;
    while (vamp_worker_now_ns() < until && !vamp_worker_must_give_up(worker) &&
           atomic_load(&worker->finishing) == was_finishing) {
        const int64_t give_up = atomic_load(&worker->give_up_ns);
        vamp_worker_wait(worker, VAMP_MIN(until, give_up));
    }
    vamp_worker_unlock(worker);
}

void output_await_room(struct vamp_output *output)
{
    const int64_t until_ns = vamp_worker_now_ns() + VAMP_OUTPUT_PATIENCE_NS;
    while (output->stop != NULL && !output->stuck && atomic_load(output->stop) == 0) {
        if (output->kind->used(output) < output->crowded) {
            return;
        }
        vamp_sleep_ns(ROOM_NS);
        output->stuck = vamp_worker_now_ns() >= until_ns;
    }
}

/* ---- the list of files */

void vamp_paths_add(struct vamp_paths *paths, const char *path)
{
    if (paths->count > 0 && strcmp(paths->items[paths->count - 1], path) == 0) {
        return;
    }
    if (paths->items == NULL) {
        paths->items = calloc(VAMP_PATHS_MAX, sizeof *paths->items);
    }
    char *copy = NULL;
    if (paths->items != NULL) {
        copy = strdup(path);
    }
    if (copy == NULL) {
        return;
    }
    if (paths->count == VAMP_PATHS_MAX) {
        free(paths->items[--paths->count]);
        paths->left_out++;
    }
    paths->items[paths->count++] = copy;
}

size_t vamp_paths_each(const struct vamp_paths *paths,
                       void (*each)(void *context, const char *path), void *context)
{
    for (size_t i = 0; i < paths->count; i++) {
        each(context, paths->items[i]);
    }
    return paths->count + paths->left_out;
}

void vamp_paths_done(struct vamp_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++) {
        free(paths->items[i]);
    }
    free(paths->items);
    *paths = (struct vamp_paths){.items = NULL};
}

/* ---- accounting */

static uint64_t written_in_segment(const struct vamp_output *output)
{
    if (output->format->written == NULL) {
        return output->segment.taken;
    }
    return output->format->written(output->segment.writer);
}

/* Updates the number of written elements in the accounting. */
static void publish(struct vamp_output *output)
{
    const uint64_t written = written_in_segment(output);
    assert(written <= output->segment.taken);
    atomic_store_explicit(&output->worker.done, output->written_before + written,
                          memory_order_release);
}

/* Fetches the format's next remark if the previous one was reported; the format reports each remark
 * once. */
static void take_remark(struct vamp_output *output)
{
    vamp_worker_lock(&output->worker);
    if (output->remark[0] == '\0' && output->format->remark != NULL) {
        if (!output->format->remark(output->segment.writer, output->remark)) {
            output->remark[0] = '\0';
        }
    }
    vamp_worker_unlock(&output->worker);
}

/* ---- open and close */

/* Opens the next segment, while the current one may still be open. Tries further segment numbers if
 * the name is in use, except for the first segment of a run. Returns 0 or -errno. */
static int open_next(struct vamp_output *output, struct output_segment *ret_segment,
                     struct vamp_err *err)
{
    struct vamp_writer_target target = {
        .run = output->run,
        .schema = output->schema,
        .ranks = output->ranks,
        .name = output->name,
        .stop = output->signal,
        .event_kinds = output->event_kinds,
        .events_before = output->written_before + atomic_load(&output->worker.lost) +
                         output->segment.taken - output->others_before,
    };
    if (output->kind->first != NULL) {
        target.first = output->kind->first(output);
    }
    *ret_segment = (struct output_segment){.blind = target.first == NULL};
    int code = -EEXIST;
    unsigned number = atomic_load(&output->segment_number);
    for (unsigned i = 0; i < NUMBERS_TRIED && code == -EEXIST; i++) {
        target.segment = number + 1;
        code = output->format->open(output->format_options, &target, &ret_segment->writer, err);
        if (code != 0 && (code != -EEXIST || number == 0)) {
            break;
        }
        atomic_store(&output->segment_number, ++number);
    }
    return code;
}

/* Opens the segment's file with O_PATH; if the file does not exist yet, opens its directory.
 * Returns the descriptor; -1: the segment is not a file, or on failure. */
static int open_place(const struct vamp_writer_ops *format, const char *path)
{
    struct stat status;
    int fd = -1;
    if (lstat(path, &status) == 0) {
        if (S_ISREG(status.st_mode)) {
            fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        }
    } else if (format->files != NULL && strchr(path, '/') != NULL) {
        char *copy = strdup(path);
        if (copy != NULL) {
            fd = open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
        }
        free(copy);
    }
    return fd;
}

/* Returns whether this path no longer leads to the open file. */
static bool is_moved(const struct stat *file, const char *path)
{
    struct stat named;
    if (!S_ISREG(file->st_mode)) {
        return false;
    }
    return lstat(path, &named) != 0 || named.st_ino != file->st_ino || named.st_dev != file->st_dev;
}

static void begin_segment(struct vamp_output *output, const struct output_segment *segment)
{
    output->segment = *segment;
    output->segment.fd = open_place(output->format, output->format->path(segment->writer));
    output->kind->begin_segment(output);
    output_keep(output);
}

int output_open_segment(struct vamp_output *output, struct vamp_err *err)
{
    struct output_segment segment;
    const int code = open_next(output, &segment, err);
    if (code == 0) {
        begin_segment(output, &segment);
    }
    return code;
}

void output_close_segment(struct vamp_output *output, const struct vamp_ending *ending, bool failed)
{
    struct vamp_err err = VAMP_ERR_NONE;
    void *writer = output->segment.writer;
    int code = 0;
    if (!failed && output->format->flush != NULL) {
        code = output->format->flush(writer, &err);
    }
    /* May complete the target: must come before the counters are read. */
    if (output->format->left_out != NULL) {
        atomic_fetch_add(&output->left_out,
                         output->format->left_out(writer, &output->left_out_what));
    }
    publish(output);
    const uint64_t written = written_in_segment(output), taken = output->segment.taken;
    output->written_before += written;
    vamp_worker_count(&output->worker.lost, taken - written);
    const bool is_empty_but_good = !failed && code == 0 && taken == 0;
    if (!output->segment.is_lost && (written > 0 || is_empty_but_good)) {
        vamp_paths_add(&output->paths, output->format->path(writer));
    }
    if (output->segment.fd >= 0) {
        (void)close(output->segment.fd);
    }
    output->segment = (struct output_segment){.writer = NULL};
    struct vamp_err close_err = VAMP_ERR_NONE;
    const int close_code = output->format->close(writer, ending, &close_err);
    if (!failed && (code != 0 || close_code != 0)) {
        output->close_failure = code != 0 ? err : close_err;
        vamp_worker_say(&output->worker, &output->close_failure);
    }
}

/* Closes a segment that failed. Returns true if the segment was new and is empty. */
static bool give_up_segment(struct vamp_output *output, const struct vamp_err *why)
{
    vamp_worker_say(&output->worker, why);
    const bool was_empty = written_in_segment(output) == 0;
    output_close_segment(output, NULL, true);
    return was_empty;
}

void output_flush(struct vamp_output *output)
{
    struct vamp_err err = VAMP_ERR_NONE;
    if (output->segment.writer == NULL || output->format->flush == NULL) {
        return;
    }
    if (output->format->flush(output->segment.writer, &err) == 0) {
        if (output->kind->flushed != NULL) {
            output->kind->flushed(output);
        }
        publish(output);
        take_remark(output);
        return;
    }
    if (give_up_segment(output, &err)) {
        pause_thread(output, PAUSE_NS);
    }
}

/* ---- rotation */

/* Returns the element's time in units of rotate_ns, rounded down; 0 without rotation by time. */
static int64_t period_of(const struct vamp_output *output)
{
    const int64_t length = output->settings->rotate_ns;
    const int64_t time_ns = output->current.time_ns;
    if (length <= 0) {
        return 0;
    }
    return time_ns / length - (time_ns % length < 0);
}

/* Returns whether the element belongs to another period than the segment. Small backward jumps of
 * time do not start a new segment; a clock set back by more than a period does. */
static bool is_in_other_period(const struct vamp_output *output)
{
    const int64_t period = period_of(output), current = output->segment.period;
    return period > current || period < current - 1;
}

static bool is_over_size(const struct vamp_output *output)
{
    const uint64_t bytes = output->settings->rotate_bytes;
    return bytes > 0 &&
           output->format->bytes(output->segment.writer) >= bytes + output->segment.refused_bytes;
}

/* Returns whether the next segment must be started before the element is written. */
static bool rotation_is_due(const struct vamp_output *output)
{
    if (output->segment.taken == 0 || output->current.counts == 0 ||
        atomic_load(&output->is_retired)) {
        return false;
    }
    return is_in_other_period(output) || is_over_size(output);
}

/* Returns whether the output was not retired in the meantime; then the next number is used. */
static bool begin_rotation(struct vamp_output *output)
{
    vamp_worker_lock(&output->worker);
    output->is_rotating = !atomic_load(&output->is_retired);
    const bool may_rotate = output->is_rotating;
    vamp_worker_unlock(&output->worker);
    return may_rotate;
}

static void end_rotation(struct vamp_output *output)
{
    vamp_worker_lock(&output->worker);
    output->is_rotating = false;
    vamp_worker_unlock(&output->worker);
}

/* Starts the next segment and completes the current one. If the next one cannot be created, the
 * current one continues: a larger file loses no data. */
static void rotate(struct vamp_output *output)
{
    output_flush(output);
    if (output->segment.writer == NULL) {
        return; /* the segment failed; the next one is opened as after any failure */
    }
    if (!begin_rotation(output)) {
        return;
    }
    struct vamp_err err = VAMP_ERR_NONE;
    struct output_segment next;
    const int code = open_next(output, &next, &err);
    end_rotation(output);
    if (code != 0) {
        vamp_worker_say(&output->worker, &err);
        output->segment.refused_bytes += output->settings->rotate_bytes;
        output->segment.period = period_of(output);
        return;
    }
    output_close_segment(output, NULL, false);
    begin_segment(output, &next);
}

void output_check_file(struct vamp_output *output)
{
    struct output_segment *segment = &output->segment;
    struct stat held;
    const bool has_file = segment->writer != NULL && segment->fd >= 0;
    if (!has_file || fstat(segment->fd, &held) != 0) {
        return;
    }
    const char *path = output->format->path(segment->writer);
    if (held.st_nlink == 0) {
        struct vamp_err err = VAMP_ERR_NONE;
        (void)vamp_err_set(&err, -ENOENT,
                           "%s was deleted while vampire wrote it: its content is lost; a new file "
                           "begins when its directory exists",
                           path);
        atomic_fetch_add(&output->removed, written_in_segment(output));
        segment->is_lost = true;
        (void)give_up_segment(output, &err);
    } else if (is_moved(&held, path)) {
        rotate(output); /* the new file has the path that readers expect */
    }
}

/* ---- one element */

/* The result of one attempt to write an element. */
enum attempt {
    ATTEMPT_WRITTEN,
    ATTEMPT_AGAIN,
    ATTEMPT_NEXT_SEGMENT,
    ATTEMPT_FAILED,
    ATTEMPT_REFUSED,
    ATTEMPT_NOT_OPENED
};

/* Opens a segment. After the end of the run, ends the output if too many attempts have failed. */
static enum attempt attempt_open(struct vamp_output *output)
{
    struct vamp_err err = VAMP_ERR_NONE;
    const int code = output_open_segment(output, &err);
    if (code == 0) {
        return ATTEMPT_NEXT_SEGMENT;
    }
    vamp_worker_say(&output->worker, &err);
    /* At the end of a run, the user may still free space. */
    const bool lacks_space = code == -ENOSPC || code == -EDQUOT;
    if (!lacks_space && atomic_load(&output->worker.finishing)) {
        output->segment.failed_opens++;
        if (output->segment.failed_opens >= ATTEMPTS_MAX) {
            atomic_store(&output->worker.give_up_ns, vamp_worker_now_ns());
        }
    }
    return ATTEMPT_NOT_OPENED;
}

/* Adds the element to the counters of the segment; without a flush, it is then in the target. */
static void note_taken(struct vamp_output *output)
{
    if (output->current.counts == 0) {
        return;
    }
    if (output->segment.taken == 0) {
        output->segment.period = period_of(output);
    }
    output->segment.taken += output->current.counts;
    if (output->format->flush == NULL) {
        publish(output);
        take_remark(output);
    }
}

/* Writes the element once, and closes the segment if it is full or has failed. */
static enum attempt attempt_write(struct vamp_output *output)
{
    struct vamp_err err = VAMP_ERR_NONE;
    const int code = output->kind->write(output, &err);
    if (code == 0) {
        note_taken(output);
        return ATTEMPT_WRITTEN;
    }
    if (code == -EAGAIN) {
        if (err.code != 0) {
            vamp_worker_say(&output->worker, &err);
        }
        return ATTEMPT_AGAIN;
    }
    if (code == -EBADMSG) {
        vamp_worker_say(&output->worker, &err);
        return ATTEMPT_REFUSED;
    }
    /* Expected, unless the segment was sized for this bucket. */
    if (code == -ENOBUFS && (output->segment.taken > 0 || output->segment.blind)) {
        output_close_segment(output, NULL, false);
        return ATTEMPT_NEXT_SEGMENT;
    }
    return give_up_segment(output, &err) ? ATTEMPT_FAILED : ATTEMPT_NEXT_SEGMENT;
}

/* Rotates if due, then opens a segment or writes the element once. */
static enum attempt attempt(struct vamp_output *output)
{
    if (output->segment.writer != NULL && rotation_is_due(output)) {
        rotate(output);
    }
    if (output->segment.writer == NULL) {
        return attempt_open(output);
    }
    return attempt_write(output);
}

bool output_deliver(struct vamp_output *output)
{
    int64_t pause = PAUSE_NS;
    unsigned failures = 0;
    while (failures < ATTEMPTS_MAX && !vamp_worker_must_give_up(&output->worker)) {
        switch (attempt(output)) {
        case ATTEMPT_WRITTEN:
            return true;
        case ATTEMPT_REFUSED:
            return false;
        case ATTEMPT_NEXT_SEGMENT:
            break;
        case ATTEMPT_FAILED:
            failures++;
            pause_thread(output, PAUSE_NS);
            break;
        case ATTEMPT_AGAIN:
            pause_thread(output, PAUSE_NS);
            break;
        case ATTEMPT_NOT_OPENED:
            if (atomic_load(&output->worker.finishing)) {
                pause = VAMP_MIN(pause, PAUSE_LAST_NS);
            }
            pause_thread(output, pause);
            if (pause < PAUSE_LONGEST_NS) {
                pause *= 2;
            }
            break;
        }
    }
    return false;
}
