/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/alarms/silence.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vampire/core/clock.h"
#include "vampire/core/io.h"
#include "vampire/core/options/options.h"

void vamp_silences_done(struct vamp_silences *silences)
{
    free(silences->text);
    *silences = (struct vamp_silences){.count = 0};
}

static char *without_blanks_at_ends(char *text)
{
    static const char blanks[] = " \t\r\n";
    text += strspn(text, blanks);
    size_t length = strlen(text);
    while (length > 0 && strchr(blanks, text[length - 1]) != NULL) {
        text[--length] = '\0';
    }
    return text;
}

/* Parses "NAME DURATION", which is split at the last blank. */
static int read_silence(struct vamp_silences *silences, char *line, int64_t changed_ns,
                        struct vamp_err *err)
{
    char *blank = strrchr(line, ' ');
    int64_t duration_ns = 0;
    if (blank == NULL || vamp_duration_parse(blank + 1, &duration_ns, NULL) != 0) {
        return vamp_err_set(err, -EINVAL,
                            "\"%.80s\" is no silence: write NAME DURATION, such as \"stuck 30min\"",
                            line);
    }
    if (silences->count == VAMP_SILENCES_MAX) {
        return vamp_err_set(err, -E2BIG, "more than %u silences", VAMP_SILENCES_MAX);
    }
    *blank = '\0';
    silences->items[silences->count++] =
        (struct vamp_silence){without_blanks_at_ends(line), changed_ns + duration_ns};
    return 0;
}

static int read_lines(struct vamp_silences *silences, int64_t changed_ns, struct vamp_err *err)
{
    int status = 0;
    unsigned number = 0;
    char *rest = silences->text;
    for (char *line = strsep(&rest, "\n"); line != NULL && status == 0;
         line = strsep(&rest, "\n")) {
        number++;
        line = without_blanks_at_ends(line);
        if (line[0] != '\0' && line[0] != '#') {
            status = read_silence(silences, line, changed_ns, err);
        }
    }
    if (status != 0) {
        (void)vamp_err_wrap(err, "line %u", number);
    }
    return status;
}

/* Reads the whole file as terminated text. Returns 0 or -errno. */
static int read_text(int fd, char text[static VAMP_SILENCES_FILE_BYTES + 1], struct vamp_err *err)
{
    size_t used = 0;
    const int code = vamp_read_all(fd, text, VAMP_SILENCES_FILE_BYTES + 1, &used);
    if (code != 0) {
        return vamp_err_set_errno(err, code, "read it");
    }
    if (used > VAMP_SILENCES_FILE_BYTES) {
        return vamp_err_set(err, -EFBIG, "longer than %u bytes", VAMP_SILENCES_FILE_BYTES);
    }
    text[used] = '\0';
    return 0;
}

static int read_file(struct vamp_silences *silences, int fd, struct vamp_err *err)
{
    struct stat info;
    silences->text = malloc(VAMP_SILENCES_FILE_BYTES + 1);
    if (silences->text == NULL || fstat(fd, &info) != 0) {
        return vamp_err_set_errno(err, errno, "read it");
    }
    if (!S_ISREG(info.st_mode)) {
        return vamp_err_set(err, -EINVAL, "it is no file");
    }
    const int status = read_text(fd, silences->text, err);
    if (status != 0) {
        return status;
    }
    const int64_t changed_ns =
        (int64_t)info.st_mtim.tv_sec * VAMP_NS_PER_SECOND + (int64_t)info.st_mtim.tv_nsec;
    return read_lines(silences, changed_ns, err);
}

int vamp_silences_read(struct vamp_silences *silences, const char *path, struct vamp_err *err)
{
    struct vamp_silences fresh = {.count = 0};
    int status = 0;
    /* O_NONBLOCK, since opening a FIFO would block. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
        status = read_file(&fresh, fd, err);
        (void)close(fd);
    } else if (errno != ENOENT) {
        status = vamp_err_set_errno(err, errno, "open it");
    }
    if (status != 0) {
        vamp_silences_done(&fresh);
        (void)vamp_err_wrap(err, "silences in %s", path);
        return status;
    }
    vamp_silences_done(silences);
    *silences = fresh;
    return 0;
}

bool vamp_silences_hold(const struct vamp_silences *silences, const char *name, int64_t utc_ns)
{
    for (unsigned i = 0; i < silences->count; i++) {
        if (utc_ns < silences->items[i].until_ns &&
            fnmatch(silences->items[i].pattern, name, 0) == 0) {
            return true;
        }
    }
    return false;
}
