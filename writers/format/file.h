/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of output files and their safe creation, shared by all formats of files.
 */
#pragma once

#include "writers/writer.h"

/* Who may read a new file; the words and file modes of the option "access". */
enum vamp_target_access { VAMP_ACCESS_PRIVATE, VAMP_ACCESS_GROUP, VAMP_ACCESS_ALL };
extern const char *const vamp_target_access_words[]; /* "private", "group", "all", NULL */

/* Rows of a format's table of options: the directory of its files, whose names `files` describes,
 * and who may read them. */
#define VAMP_TARGET_DIRECTORY_OPTION(files, place, conditions)                                     \
    VAMP_OPT_ROW("directory", VAMP_OPT_STRING, place, ".", .max = 3840,                            \
                 .role = VAMP_OPT_DIRECTORY, .only_with = conditions,                              \
                 .help = "existing directory for the " files)
#define VAMP_TARGET_ACCESS_OPTION(whom, place, conditions)                                         \
    VAMP_OPT_ROW("access", VAMP_OPT_ENUM, place, "private", .choices = vamp_target_access_words,   \
                 .only_with = conditions,                                                          \
                 .help = "who may " whom ": the owner, the owner's group, or all")

/* DIRECTORY/vampire-WORKFLOW-START-RUN-NAME-SEGMENT.EXTENSION, for example
 * runs/vampire-forecast-20261121T034400Z-6f9619ff-minutes-0001.h5. RUN is the first part of the
 * run's identifier, so that runs that begin in the same second have files of their own; NAME is the
 * output's. In the names everything but letters, digits, '.', '_', '+' and '-' becomes '_', and
 * they are cut to 64 bytes. malloc'ed; NULL without memory. */
char *vamp_target_name(const char *directory, const struct vamp_writer_target *target,
                       const char *extension);

/* Whether two names of outputs are the same in the names of files. */
bool vamp_target_same_name(const char *left, const char *right);

/* Creates a file that did not exist, follows no symbolic link at the last component, with exactly
 * the mode of `access`. Opened for writing, close-on-exec, and locked while it is open, so that
 * vampire --recover can distinguish it from a file that no process writes. Until it is published it
 * has another name, PATH.PID.new, which `*path` (malloc'ed) becomes: a killed run leaves nothing
 * under PATH that cannot be opened. 0; -EEXIST, -ENOENT, ... with text, `*path` as before. */
VAMP_MUST_CHECK int vamp_target_create(char **path, enum vamp_target_access access, int *ret_fd,
                                       struct vamp_err *err);
#define VAMP_TARGET_UNPUBLISHED ".new"
/* Renames the file to its final name, which `*path` becomes, once readers can open it. 0; -EEXIST,
 * ... with text: the caller deletes it. */
VAMP_MUST_CHECK int vamp_target_publish(char **path, struct vamp_err *err);

/* Gives a file or directory that vampire created exactly the mode of `access`. 0 or -errno. */
VAMP_MUST_CHECK int vamp_target_permit(const char *path, enum vamp_target_access access,
                                       bool is_directory);
/* Creates a directory that did not exist, with the mode of `access`. 0; -EEXIST, -ENOENT, ... with
 * text. */
VAMP_MUST_CHECK int vamp_target_create_directory(const char *path, enum vamp_target_access access,
                                                 struct vamp_err *err);

/* Locks the file: exclusively, or (`shared`) together with other readers. The lock belongs to the
 * open file description of `fd`. False: another process has it. True where files cannot be locked.
 */
bool vamp_target_lock(int fd, bool shared);
