/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/process.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vampire/core/io.h"
#include "vampire/core/utf8.h"
#include "vampire/core/values.h"
#include "version.h"

/* Copies the value of the first variable that is set; "": none. */
static void take_variable(const char *const *names, char text[static VAMP_PROCESS_TEXT_BYTES])
{
    const char *value = NULL;
    for (; *names != NULL && (value == NULL || *value == '\0'); names++) {
        value = getenv(*names);
    }
    (void)vamp_utf8_copy(text, VAMP_PROCESS_TEXT_BYTES - 1, vamp_text_or(value, ""));
    text[VAMP_PROCESS_TEXT_BYTES - 1] = '\0';
}

void vamp_process_describe(struct vamp_process *process, const struct vamp_config *config,
                           const struct vamp_clock *clock, struct vamp_run *ret_run)
{
    static const char *const jobs[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", NULL};
    if (gethostname(process->host, sizeof process->host - 1) != 0) {
        process->host[0] = '\0';
    }
    vamp_user_name(process->user);
    take_variable(jobs, process->batch_job);
    *ret_run = (struct vamp_run){
        .host = process->host,
        .user = process->user,
        .batch_job = process->batch_job,
        .pid = (uint64_t)getpid(),
        .version = VAMP_VERSION,
        .clock = "event",
        .configuration = config->effective_text,
        .started_ns = vamp_clock_utc_ns(clock),
    };
    uuid_t id;
    uuid_generate(id);
    uuid_unparse_lower(id, ret_run->id);
}

int64_t vamp_self_rss_bytes(void)
{
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    char text[128];
    ssize_t length = read(file, text, sizeof text - 1);
    (void)close(file);
    if (length <= 0) {
        return 0;
    }
    text[length] = '\0';
    /* the file contains "total resident shared ...", in pages */
    char *end = NULL;
    (void)strtoull(text, &end, 10);
    return (int64_t)strtoull(end, NULL, 10) * sysconf(_SC_PAGESIZE);
}

static int64_t timeval_ns(struct timeval time)
{
    return (int64_t)time.tv_sec * VAMP_NS_PER_SECOND + (int64_t)time.tv_usec * 1000;
}

int64_t vamp_self_cpu_ns(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) {
        return 0;
    }
    return timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
}

/* Minimum length: shorter keys could be guessed. */
#define KEY_BYTES_LEAST 16
#define KEY_BYTES_MOST 4096

/* The RFC 4122 namespace of vampire's series; also in docs/metrics.md. */
static const char series_of_vampire[] = "5b0e7a52-3d0c-5f6e-9b8a-6f1a2c94d7e3";

static int check_key(const char *path, size_t length, struct vamp_err *err)
{
    if (length > KEY_BYTES_MOST) {
        return vamp_err_set(err, -EINVAL,
                            "read the key of the series' ids: %s has more than %d bytes", path,
                            KEY_BYTES_MOST);
    }
    if (length < KEY_BYTES_LEAST) {
        return vamp_err_set(err, -EINVAL,
                            "read the key of the series' ids: %s has %zu bytes; a key has at least "
                            "%d, such as the output of: head -c 32 /dev/urandom | base64",
                            path, length, KEY_BYTES_LEAST);
    }
    return 0;
}

/* Reads the key without trailing white space. */
static int read_key(const char *path, char key[static KEY_BYTES_MOST + 1], size_t *ret_length,
                    struct vamp_err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t length = 0;
    int code = 0;
    if (fd < 0) {
        code = errno;
    } else {
        code = vamp_read_all(fd, key, KEY_BYTES_MOST + 1, &length);
        (void)close(fd);
    }
    if (code != 0) {
        return vamp_err_set_errno(err, code, "read the key of the series' ids from %s", path);
    }
    while (length > 0 && length <= KEY_BYTES_MOST && isspace((unsigned char)key[length - 1])) {
        length--;
    }
    *ret_length = length;
    return check_key(path, length, err);
}

int vamp_series_space(const char *workflow, const char *key_file, char space[static UUID_STR_LEN],
                      struct vamp_err *err)
{
    uuid_t id;
    (void)uuid_parse(series_of_vampire, id);
    uuid_generate_sha1(id, id, workflow, strlen(workflow));
    if (key_file != NULL) {
        char key[KEY_BYTES_MOST + 1];
        size_t length = 0;
        const int code = read_key(key_file, key, &length, err);
        if (code != 0) {
            return code;
        }
        uuid_generate_sha1(id, id, key, length);
        explicit_bzero(key, sizeof key);
    }
    uuid_unparse_lower(id, space);
    return 0;
}

#define WHAT "write the ready file %s"

/* Writes the process id and closes `descriptor` in any case. Returns 0 or an errno. */
static int write_process_id(int descriptor)
{
    int wrong = 0;
    if (fchmod(descriptor, 0644) != 0 || dprintf(descriptor, "%ld\n", (long)getpid()) <= 0) {
        wrong = errno;
    }
    if (close(descriptor) != 0 && wrong == 0) {
        wrong = errno;
    }
    return wrong;
}

int vamp_ready_file_prepare(struct vamp_ready_file *file, const char *path, struct vamp_err *err)
{
    *file = (struct vamp_ready_file){.path = path};
    if (path == NULL) {
        return 0;
    }
    if (unlink(path) != 0 && errno != ENOENT) {
        return vamp_err_set_errno(err, errno, WHAT, path);
    }
    if (asprintf(&file->prepared, "%s.XXXXXX", path) < 0) {
        file->prepared = NULL;
        return vamp_err_set_errno(err, ENOMEM, WHAT, path);
    }
    const int descriptor = mkstemp(file->prepared);
    if (descriptor < 0) {
        const int wrong = errno;
        free(file->prepared);
        file->prepared = NULL;
        return vamp_err_set_errno(err, wrong, WHAT, path);
    }
    const int wrong = write_process_id(descriptor);
    if (wrong != 0) {
        return vamp_err_set_errno(err, wrong, WHAT, path);
    }
    return 0;
}

int vamp_ready_file_show(struct vamp_ready_file *file, struct vamp_err *err)
{
    if (file->path == NULL) {
        return 0;
    }
    if (rename(file->prepared, file->path) != 0) {
        return vamp_err_set_errno(err, errno, WHAT, file->path);
    }
    file->shown = true;
    return 0;
}

void vamp_ready_file_done(struct vamp_ready_file *file)
{
    if (file->prepared != NULL) {
        (void)unlink(file->shown ? file->path : file->prepared);
        free(file->prepared);
    }
    *file = (struct vamp_ready_file){0};
}
