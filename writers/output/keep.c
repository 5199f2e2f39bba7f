/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deletes older files of an output: those in the directory of the new segment whose names differ
 * from the segment's name only in the start time, the run and the segment number
 * (writers/format/file.h). A file locked by a process is being written and is never deleted; on a
 * file system without locks, no file is deleted. A segment can be an archive: a directory, whose
 * path is that of its anchor file. The anchor is written last, so that an archive without an anchor
 * is being written; it is also deleted last. Called by the thread that opens segments.
 */
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vampire/core/clock.h"
#include "vampire/core/values.h"
#include "writers/format/file.h"
#include "writers/output/internal.h"

#define START_CHARACTERS 16 /* 20261121T034400Z */
#define RUN_CHARACTERS 8
/* Maximum number of files examined at a time; the others are left for the next segment. */
#define FILES_MAX 65536
#define FOUR_DIGITS "[0-9][0-9][0-9][0-9]"
#define FOUR_OF_RUN "[0-9a-f][0-9a-f][0-9a-f][0-9a-f]"

/* The pattern of the names of the output's files, for any run. */
struct own_name {
    const char *file; /* file of the new segment */
    /* For an archive: name of the anchor file; NULL: the segment is a file. */
    const char *anchor;
    char *pattern;           /* for fnmatch, malloc'ed */
    size_t number_at;        /* offset of the segment number */
    size_t rest;             /* number of bytes after it: ".h5", ".trace.json" */
    char stem[NAME_MAX + 1]; /* for an archive: name of the anchor without its extension */
};

struct old_file {
    char name[NAME_MAX + 1];
    int64_t written_ns; /* time of the last write */
    uint64_t bytes;
    bool has_anchor; /* archives only */
};

struct old_files {
    struct old_file *items;
    size_t count;
    uint64_t bytes;
};

/* Sets the pattern, `number_at` and `rest` from the name of the new segment's file. Returns false
 * if vampire did not generate the name, or if out of memory. */
static bool make_pattern(const struct vamp_output *output, struct own_name *own)
{
    const char *file = own->file;
    char run[RUN_CHARACTERS + 3];
    (void)snprintf(run, sizeof run, "-%.*s-", RUN_CHARACTERS, output->run->id);
    const char *segment = strrchr(file, '-'), *at = NULL;
    /* Use the last match: the name of the workflow may contain the run. */
    for (const char *next = strstr(file, run); next != NULL; next = strstr(next + 1, run)) {
        at = next;
    }
    if (at == NULL || at - file < START_CHARACTERS || strpbrk(file, "*?[\\") != NULL) {
        return false;
    }
    const char *name = at + RUN_CHARACTERS + 1;
    const char *extension = strchr(segment, '.'); /* always found: `run` also contains a '-' */
    if (extension == NULL || segment < name) {
        return false;
    }
    own->number_at = (size_t)(segment - file) + 1;
    own->rest = strlen(extension);
    const int length = asprintf(&own->pattern,
                                "%.*s" FOUR_DIGITS FOUR_DIGITS "T" FOUR_DIGITS
                                "[0-9][0-9]Z-" FOUR_OF_RUN FOUR_OF_RUN "%.*s" FOUR_DIGITS "*%s",
                                (int)(at - file) - START_CHARACTERS, file,
                                (int)(segment - name) + 1, name, extension);
    if (length < 0) {
        own->pattern = NULL;
    }
    return length >= 0;
}

static bool is_own_name(const struct own_name *own, const char *file)
{
    return fnmatch(own->pattern, file, 0) == 0 &&
           strspn(file + own->number_at, "0123456789") == strlen(file) - own->number_at - own->rest;
}

/* A file in the archive's directory: the anchor's name without extension, then any extension. */
static bool is_outer_file(const struct own_name *own, const char *name)
{
    const size_t same = strlen(own->stem);
    return same > 0 && strncmp(name, own->stem, same) == 0 && name[same] == '.';
}

/* A file in the inner directory: digits, then an extension. */
static bool is_inner_file(const char *name)
{
    const size_t digits = strspn(name, "0123456789");
    return digits > 0 && name[digits] == '.';
}

/* Opens a directory without following a symbolic link. Returns NULL with errno on failure. */
static DIR *open_folder(int parent, const char *name)
{
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    DIR *folder = fdopendir(fd);
    if (folder == NULL) {
        (void)close(fd);
    }
    return folder;
}

/* Adds the sizes of the files in a directory of the archive to `sum`. With `deletes`, deletes all
 * of them except the anchor. `inner`: the inner directory. Returns false if there is anything else
 * in the directory, or on failure, with errno. */
static bool walk_folder(const struct own_name *own, DIR *folder, bool inner, bool deletes,
                        struct old_file *sum)
{
    bool good = true;
    const struct dirent *entry;
    while (good && (entry = readdir(folder)) != NULL) {
        const char *name = entry->d_name;
        struct stat status;
        const bool is_inner_folder = !inner && strcmp(name, own->stem) == 0;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || is_inner_folder) {
            continue;
        }
        const bool is_anchor = !inner && strcmp(name, own->anchor) == 0;
        const bool has_name = inner ? is_inner_file(name) : is_outer_file(own, name);
        good = fstatat(dirfd(folder), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
               S_ISREG(status.st_mode) && has_name;
        if (good && deletes && !is_anchor) {
            good = unlinkat(dirfd(folder), name, 0) == 0;
        }
        if (good) {
            sum->bytes += (uint64_t)status.st_size;
        }
        sum->has_anchor |= is_anchor;
    }
    return good;
}

/* Like walk_folder, for a whole archive; the anchor is deleted after the other files. */
static bool walk_archive(const struct own_name *own, int parent, const char *name, bool deletes,
                         struct old_file *sum)
{
    DIR *outer = open_folder(parent, name), *inner = NULL;
    if (outer != NULL) {
        inner = open_folder(dirfd(outer), own->stem);
    }
    bool good = inner != NULL && walk_folder(own, inner, true, deletes, sum) &&
                walk_folder(own, outer, false, deletes, sum);
    if (good && deletes) {
        good = unlinkat(dirfd(outer), own->stem, AT_REMOVEDIR) == 0 &&
               unlinkat(dirfd(outer), own->anchor, 0) == 0 &&
               unlinkat(parent, name, AT_REMOVEDIR) == 0;
    }
    const int code = errno;
    if (inner != NULL) {
        (void)closedir(inner);
    }
    if (outer != NULL) {
        (void)closedir(outer);
    }
    errno = code;
    return good;
}

/* Adds a file or a complete archive, nothing else. Returns false if out of memory. */
static bool add_file(struct old_files *files, const struct own_name *own, int directory,
                     const char *name)
{
    struct stat status;
    struct old_file sum = {.bytes = 0};
    if (files->count == FILES_MAX || fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return true;
    }
    if (own->anchor == NULL) {
        if (!S_ISREG(status.st_mode)) {
            return true;
        }
        sum.bytes = (uint64_t)status.st_size;
    } else if (!walk_archive(own, directory, name, false, &sum) || !sum.has_anchor) {
        return true;
    }
    struct old_file *items = reallocarray(files->items, files->count + 1, sizeof *items);
    if (items == NULL) {
        return false;
    }
    files->items = items;
    struct old_file *file = &items[files->count++];
    file->written_ns = (int64_t)status.st_mtim.tv_sec * VAMP_NS_PER_SECOND + status.st_mtim.tv_nsec;
    file->bytes = sum.bytes;
    (void)snprintf(file->name, sizeof file->name, "%s", name);
    files->bytes += file->bytes;
    return true;
}

static int oldest_first(const void *left, const void *right)
{
    const struct old_file *one = left, *other = right;
    if (one->written_ns != other->written_ns) {
        return one->written_ns < other->written_ns ? -1 : 1;
    }
    return strcmp(one->name, other->name);
}

/* Returns whether no process writes the file. Incomplete archives were not added. */
static bool is_closed(int directory, const char *name)
{
    const int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const bool closed = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
    if (fd >= 0) {
        (void)close(fd);
    }
    return closed;
}

/* Adds to the unreported deletions, so that every deleted file is reported. */
static void report_deleted(struct vamp_output *output, unsigned count, uint64_t bytes,
                           const char *newest)
{
    (void)atomic_fetch_add(&output->deleted, count);
    vamp_worker_lock(&output->worker);
    output->unreported_files += count;
    output->unreported_bytes += bytes;
    (void)snprintf(output->remark, sizeof output->remark,
                   "deleted %" PRIu64 " older file%s, %.1f MB, up to %s, because of \"keep\"",
                   output->unreported_files, vamp_plural(output->unreported_files),
                   (double)output->unreported_bytes / 1e6, newest);
    vamp_worker_unlock(&output->worker);
}

static void report_failed(struct vamp_output *output, const char *name, int code)
{
    struct vamp_err err = VAMP_ERR_NONE;
    (void)vamp_err_set_errno(&err, code, "delete the older file %s because of \"keep\"", name);
    vamp_worker_lock(&output->worker);
    (void)snprintf(output->remark, sizeof output->remark, "%s", err.text);
    vamp_worker_unlock(&output->worker);
}

static bool delete_file(const struct own_name *own, int directory, const char *name)
{
    struct old_file deleted = {.bytes = 0};
    if (own->anchor == NULL) {
        return unlinkat(directory, name, 0) == 0;
    }
    return walk_archive(own, directory, name, true, &deleted);
}

/* Deletes closed files, the oldest first, until the rest is within the limits of age and size. */
static void delete_older(struct vamp_output *output, int directory, const struct own_name *own,
                         struct old_files *files)
{
    const struct vamp_output_settings *settings = output->settings;
    /* The same clock as the times of files. */
    const int64_t now_ns = vamp_clock_utc_ns(&vamp_clock_system);
    uint64_t left = files->bytes, deleted_bytes = 0;
    unsigned deleted = 0;
    const char *newest = NULL;
    for (size_t i = 0; i < files->count; i++) {
        const struct old_file *file = &files->items[i];
        const bool too_old = settings->keep_ns > 0 && now_ns - file->written_ns > settings->keep_ns;
        const bool too_much = settings->keep_bytes > 0 && left > settings->keep_bytes;
        const bool is_new_segment = strcmp(file->name, own->file) == 0;
        if ((!too_old && !too_much) || is_new_segment) {
            continue;
        }
        if (own->anchor == NULL && !is_closed(directory, file->name)) {
            continue;
        }
        if (!delete_file(own, directory, file->name)) {
            report_failed(output, file->name, errno);
            continue;
        }
        left -= file->bytes;
        deleted_bytes += file->bytes;
        newest = file->name;
        deleted++;
    }
    if (deleted > 0) {
        report_deleted(output, deleted, deleted_bytes, newest);
    }
}

/* Lists the output's files in the directory, and deletes those over the limits of age and size. */
static void delete_old_files(struct vamp_output *output, DIR *directory, const struct own_name *own)
{
    struct old_files files = {.count = 0};
    bool good = true;
    for (const struct dirent *entry = readdir(directory); entry != NULL && good;
         entry = readdir(directory)) {
        if (is_own_name(own, entry->d_name)) {
            good = add_file(&files, own, dirfd(directory), entry->d_name);
        }
    }
    if (good && files.count > 0) { /* if memory ran out, the next segment tries again */
        qsort(files.items, files.count, sizeof *files.items, oldest_first);
        delete_older(output, dirfd(directory), own, &files);
    }
    free(files.items);
}

/* Cuts off the last component of the path and returns it. */
static char *cut_name(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return NULL;
    }
    *slash = '\0';
    return slash + 1;
}

void output_keep(struct vamp_output *output)
{
    if (output->settings->keep_ns <= 0 && output->settings->keep_bytes == 0) {
        return;
    }
    char *path = strdup(output->format->path(output->segment.writer));
    struct own_name own = {.anchor = NULL};
    if (path != NULL) {
        own.file = cut_name(path);
    }
    /* The file of the segment or, if its name is not vampire's, the archive that contains it. */
    bool known = own.file != NULL && make_pattern(output, &own);
    if (own.file != NULL && !known) {
        own.anchor = own.file;
        (void)snprintf(own.stem, sizeof own.stem, "%.*s", (int)strcspn(own.anchor, "."),
                       own.anchor);
        own.file = cut_name(path);
        known = own.file != NULL && make_pattern(output, &own);
    }
    DIR *directory = NULL;
    if (known && own.file != NULL) {
        const int folder = vamp_target_directory(path, O_RDONLY);
        directory = folder >= 0 ? fdopendir(folder) : NULL;
        if (folder >= 0 && directory == NULL) {
            (void)close(folder);
        }
    }
    if (directory != NULL) {
        delete_old_files(output, directory, &own);
        (void)closedir(directory);
    }
    free(own.pattern);
    free(path);
}
