/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names and safe creation of output files, shared by all formats that write files.
 */
#pragma once

#include "writers/writer.h"

/* Access to a new file: the names and file modes of the option "access". */
enum vamp_target_access { VAMP_ACCESS_PRIVATE, VAMP_ACCESS_GROUP, VAMP_ACCESS_ALL };
extern const char *const vamp_target_access_words[]; /* "private", "group", "all", NULL */

/* Entries of a format's option table: the directory of its files, described by `files`, and their
 * access. */
#define VAMP_TARGET_DIRECTORY_OPTION(files, place, conditions)                                     \
    VAMP_OPT_ROW("directory", VAMP_OPT_STRING, place, ".", .max = 3840,                            \
                 .role = VAMP_OPT_DIRECTORY, .only_with = conditions,                              \
                 .help = "existing directory for the " files)
#define VAMP_TARGET_ACCESS_OPTION(whom, place, conditions)                                         \
    VAMP_OPT_ROW("access", VAMP_OPT_ENUM, place, "private", .choices = vamp_target_access_words,   \
                 .only_with = conditions,                                                          \
                 .help = "who may " whom ": the owner, the owner's group, or all")

/* Builds the name DIRECTORY/vampire-WORKFLOW-START-RUN-NAME-SEGMENT.EXTENSION, for example
 * runs/vampire-forecast-20261121T034400Z-6f9619ff-minutes-0001.h5. RUN is the first part of the
 * run's identifier, so that runs that start in the same second use different files; NAME is the
 * name of the output. In WORKFLOW and NAME, all characters except letters, digits, '.', '_', '+'
 * and '-' are replaced by '_', and the result is cut to 64 bytes. malloc'ed; NULL if out of memory.
 */
char *vamp_target_name(const char *directory, const struct vamp_writer_target *target,
                       const char *extension);

/* Whether two output names yield the same file name. */
bool vamp_target_same_name(const char *left, const char *right);

/* Opens a directory that is not a symbolic link, so that replacing an output's directory by a link
 * during a run cannot redirect the files that vampire creates. The configuration resolves a link
 * that exists at the start. `mode` is O_PATH, or O_RDONLY to list it. Returns a descriptor, or
 * -errno: -ELOOP for a link. */
int vamp_target_directory(const char *path, int mode);

/* Creates a file with exactly the mode of `access`; fails if the path exists, and follows no
 * symbolic link. The file is open for writing, close-on-exec, and locked
 * while it is open, so that vampire --recover can distinguish it from a file without a writer.
 * Until it is published it has the name PATH.PID.new, which replaces `*path` (malloc'ed), so that a
 * killed run leaves no unreadable file at PATH. Returns 0, or -EEXIST, -ENOENT or another -errno
 * with text; `*path` is then unchanged. */
VAMP_MUST_CHECK int vamp_target_create(char **path, enum vamp_target_access access, int *ret_fd,
                                       struct vamp_err *err);
#define VAMP_TARGET_UNPUBLISHED ".new"
/* Renames the file to its final name, which replaces `*path`. Call it when readers can open the
 * file. Returns 0, or -EEXIST or another -errno with text; the caller must then delete the file. */
VAMP_MUST_CHECK int vamp_target_publish(char **path, struct vamp_err *err);

/* Sets the mode of a file or directory that vampire created to exactly that of `access`. Returns 0
 * or -errno. */
VAMP_MUST_CHECK int vamp_target_permit(const char *path, enum vamp_target_access access,
                                       bool is_directory);
/* Creates a directory with the mode of `access`. Returns 0, or -EEXIST, -ENOENT or another -errno
 * with text. */
VAMP_MUST_CHECK int vamp_target_create_directory(const char *path, enum vamp_target_access access,
                                                 struct vamp_err *err);

/* Locks the file exclusively, or (`shared`) together with other readers. The lock belongs to the
 * open file description of `fd`. Returns 0; -EBUSY if another process has the lock; or -ENOLCK if
 * the file system has no locks. */
int vamp_target_lock(int fd, bool shared);
