/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME_BYTES 64 /* maximum length of the workflow's and the output's name */
/* Characters used of the run's identifier: enough to distinguish runs that start in the same
 * second. */
#define RUN_CHARACTERS 8

const char *const vamp_target_access_words[] = {"private", "group", "all", NULL};

static const mode_t file_modes[] = {
    [VAMP_ACCESS_PRIVATE] = 0600, [VAMP_ACCESS_GROUP] = 0640, [VAMP_ACCESS_ALL] = 0644};

/* Copies at most NAME_BYTES of a name, with '_' for characters that are not allowed. */
static void sanitize(const char *name, char out[static NAME_BYTES + 1])
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-";
    size_t length = strnlen(name, NAME_BYTES);
    memcpy(out, name, length);
    for (size_t i = 0; i < length; i++) {
        if (strchr(allowed, out[i]) == NULL) {
            out[i] = '_';
        }
    }
    out[length] = '\0';
    if (length == 0) {
        memcpy(out, "unnamed", sizeof "unnamed");
    }
}

bool vamp_target_same_name(const char *left, const char *right)
{
    char plain_left[NAME_BYTES + 1], plain_right[NAME_BYTES + 1];
    sanitize(left, plain_left);
    sanitize(right, plain_right);
    return strcmp(plain_left, plain_right) == 0;
}

char *vamp_target_name(const char *directory, const struct vamp_writer_target *target,
                       const char *extension)
{
    char workflow[NAME_BYTES + 1], name[NAME_BYTES + 1];
    sanitize(target->run->workflow, workflow);
    sanitize(target->name, name);
    time_t seconds = (time_t)(target->run->started_ns / 1000000000);
    struct tm parts;
    char start[32] = "19700101T000000Z";
    if (gmtime_r(&seconds, &parts) != NULL) {
        (void)strftime(start, sizeof start, "%Y%m%dT%H%M%SZ", &parts);
    }
    char *path = NULL;
    if (asprintf(&path, "%s/vampire-%s-%s-%.*s-%s-%04u.%s", directory, workflow, start,
                 RUN_CHARACTERS, target->run->id, name, target->segment, extension) < 0) {
        return NULL;
    }
    return path;
}

/* True even for directories such as /proc, whose file system does not allow new files. */
static bool parent_exists(const char *path)
{
    char *copy = strdup(path);
    struct stat status;
    const bool exists = copy != NULL && stat(dirname(copy), &status) == 0;
    free(copy);
    return exists;
}

/* Sets the error for a file or directory that could not be created. `code` is a positive errno.
 * Returns its negative value, or -ELOOP for a symbolic link. */
static int create_error(int code, const char *path, struct vamp_err *err)
{
    struct stat status;
    if (code == EEXIST && lstat(path, &status) == 0 && S_ISLNK(status.st_mode)) {
        return vamp_err_set(err, -ELOOP,
                            "create %s: it is a symbolic link, and vampire follows none there; "
                            "remove it or give the real path",
                            path);
    }
    if (code == EEXIST) {
        return vamp_err_set(err, -EEXIST,
                            "create %s: it exists, and vampire never overwrites; move it away or "
                            "choose another name",
                            path);
    }
    if (code == ENOENT && parent_exists(path)) {
        return vamp_err_set(err, -ENOENT,
                            "create %s: the directory exists, but its file system does not allow "
                            "new files; choose another directory",
                            path);
    }
    if (code == ENOENT) {
        return vamp_err_set(err, -ENOENT,
                            "create %s: the directory does not exist; create it first", path);
    }
    return vamp_err_set_errno(err, code, "create %s", path);
}

int vamp_target_directory(const char *path, int mode)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') { /* a link with a slash would be followed */
        length--;
    }
    char directory[PATH_MAX];
    if (length >= sizeof directory) {
        return -ENAMETOOLONG;
    }
    memcpy(directory, path, length);
    directory[length] = '\0';
    int fd = open(directory, mode | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        struct stat status;
        fd = -errno;
        if (fd == -ENOTDIR && lstat(directory, &status) == 0 && S_ISLNK(status.st_mode)) {
            fd = -ELOOP;
        }
    }
    return fd;
}

/* Returns the name of a file in its directory; it points into `path`. */
static const char *name_in_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Opens the directory of a new file. Returns a descriptor, or -errno with text. */
static int open_parent(const char *path, struct vamp_err *err)
{
    char *copy = strdup(path);
    if (copy == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "create %s", path);
    }
    int fd = vamp_target_directory(dirname(copy), O_PATH);
    free(copy);
    if (fd == -ELOOP) {
        fd = vamp_err_set(err, fd,
                          "create %s: a symbolic link has replaced its directory since the start, "
                          "and vampire does not follow it; restore the directory",
                          path);
    } else if (fd < 0) {
        fd = create_error(-fd, path, err);
    }
    return fd;
}

int vamp_target_create(char **path, enum vamp_target_access access, int *ret_fd,
                       struct vamp_err *err)
{
    struct stat status;
    char *name = NULL;
    const char *base = name_in_directory(*path);
    const int parent = open_parent(*path, err);
    if (parent < 0) {
        return parent;
    }
    if (fstatat(parent, base, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        (void)close(parent);
        return create_error(EEXIST, *path, err);
    }
    if (asprintf(&name, "%s.%ld" VAMP_TARGET_UNPUBLISHED, *path, (long)getpid()) < 0) {
        (void)close(parent);
        return vamp_err_set_errno(err, ENOMEM, "create %s", *path);
    }
    int code = 0;
    base = name_in_directory(name);
    const int fd = openat(parent, base, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        code = create_error(errno, errno == EEXIST ? name : *path, err);
    } else if (fchmod(fd, file_modes[access]) != 0) { /* regardless of the umask */
        code = vamp_err_set_errno(err, errno, "set the permissions of %s", *path);
        (void)close(fd);
        (void)unlinkat(parent, base, 0);
    }
    (void)close(parent);
    if (code != 0) {
        free(name);
        return code;
    }
    /* Cannot fail: no other process can have locked a new file. */
    (void)vamp_target_lock(fd, false);
    free(*path);
    *path = name;
    *ret_fd = fd;
    return 0;
}

int vamp_target_publish(char **path, struct vamp_err *err)
{
    const char *unpublished = name_in_directory(*path);
    const int parent = open_parent(*path, err);
    if (parent < 0) {
        return parent;
    }
    char *name = strdup(*path);
    if (name == NULL) {
        (void)close(parent);
        return vamp_err_set_errno(err, ENOMEM, "give %s its name", *path);
    }
    const char *base = name_in_directory(name);
    /* Remove the two extensions of PATH.PID.new. */
    *strrchr(name, '.') = '\0';
    *strrchr(name, '.') = '\0';
    int code = 0;
    if (renameat2(parent, unpublished, parent, base, RENAME_NOREPLACE) != 0) {
        code = errno;
    }
    /* Without support for this flag (NFS): a hard link does not replace a file either. */
    if (code == EINVAL || code == ENOSYS) {
        code = linkat(parent, unpublished, parent, base, 0) == 0 ? 0 : errno;
        if (code == 0) {
            (void)unlinkat(parent, unpublished, 0);
        }
    }
    (void)close(parent);
    if (code != 0) {
        code = create_error(code, name, err);
        free(name);
        return code;
    }
    free(*path);
    *path = name;
    return 0;
}

static mode_t mode_of(enum vamp_target_access access, bool is_directory)
{
    mode_t mode = file_modes[access];
    if (is_directory) { /* read permission includes search permission */
        mode |= (mode & 0444) >> 2;
    }
    return mode;
}

int vamp_target_permit(const char *path, enum vamp_target_access access, bool is_directory)
{
    return chmod(path, mode_of(access, is_directory)) == 0 ? 0 : -errno;
}

int vamp_target_create_directory(const char *path, enum vamp_target_access access,
                                 struct vamp_err *err)
{
    const int parent = open_parent(path, err);
    if (parent < 0) {
        return parent;
    }
    const char *name = name_in_directory(path);
    int code = 0;
    if (mkdirat(parent, name, 0700) != 0) {
        code = create_error(errno, path, err);
    } else if (fchmodat(parent, name, mode_of(access, true), 0) != 0) {
        code = vamp_err_set_errno(err, errno, "set the permissions of %s", path);
        (void)unlinkat(parent, name, AT_REMOVEDIR);
    }
    (void)close(parent);
    return code;
}

/* Not flock, which HDF5 uses itself and releases when SWMR starts. */
int vamp_target_lock(int fd, bool shared)
{
    struct flock lock = {.l_type = shared ? F_RDLCK : F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
        return 0;
    }
    return errno == EAGAIN || errno == EACCES ? -EBUSY : -ENOLCK;
}
