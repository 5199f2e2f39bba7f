/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/live/examine.h"

#include <dlfcn.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <maestro.h>

#include "vampire/core/values.h"
#include "vampire/live/actor.h"
#include "vampire/live/maestro_fields.h"
#include "vampire/live/session.h"

/* Keys of the file, by enum vamp_question. */
static const char *const keys[VAMP_QUESTION_COUNT] = {"times",      "sizes",  "serials", "order",
                                                      "transports", "before", "early",   "losses",
                                                      "ids",        "names",  "kinds"};

static const char *maestro_version(void)
{
#if VAMP_MSTRO_HAS_VERSION
    return mstro_version();
#else
    return "unknown";
#endif
}

/* Determines the path of the file: from the options, or next to the plug-in. */
static int find_path(const struct vamp_maestro_options *options, char path[static PATH_MAX],
                     struct vamp_err *err)
{
    const char *named = options->examined;
    Dl_info here;
    int length = 0;
    if (named != NULL && named[0] != '\0') {
        length = snprintf(path, PATH_MAX, "%s", named);
    } else if (dladdr(keys, &here) != 0 && strrchr(here.dli_fname, '/') != NULL) {
        length = snprintf(path, PATH_MAX, "%.*s/maestro.examined.json",
                          (int)(strrchr(here.dli_fname, '/') - here.dli_fname), here.dli_fname);
    } else {
        return vamp_err_set(
            err, -ENOENT,
            "the folder of vampire's plug-in, which contains the verdict, is unknown; "
            "source.examined names another file");
    }
    if (length >= PATH_MAX) {
        return vamp_err_set(err, -ENAMETOOLONG, "the path of the verdict has more than %d bytes",
                            PATH_MAX - 1);
    }
    return 0;
}

/* ------------------------------------------------------------------ the file */

/* Stores the enum name of each question, and all of them as one text. Returns 0 or -EBADMSG. */
static int read_enum_names(const json_t *root, const char *path, struct vamp_examined *examined,
                           struct vamp_err *err)
{
    size_t used = 0;
    for (unsigned i = 0; i < VAMP_QUESTION_COUNT; i++) {
        const char *word = json_string_value(json_object_get(root, keys[i]));
        if (word == NULL && i >= VAMP_ASK_IDS) {
            continue; /* written by an earlier version */
        }
        if (word == NULL || strlen(word) >= VAMP_FINDING_BYTES) {
            return vamp_err_set(err, -EBADMSG, "%s contains no result for \"%s\"", path, keys[i]);
        }
        (void)snprintf(examined->words[i], VAMP_FINDING_BYTES, "%s", word);
        used += (size_t)snprintf(examined->text + used, sizeof examined->text - used, "%s%s: %s",
                                 i > 0 ? ", " : "", keys[i], word);
    }
    return 0;
}

/* Reads the file, which must be from this version of Maestro. Returns 0 or -errno. */
static int read_file(const char *path, struct vamp_examined *examined, struct vamp_err *err)
{
    json_error_t fault;
    errno = 0;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &fault);
    if (root == NULL && errno != 0 && fault.line < 0) {
        return vamp_err_set_errno(err, errno, "read %s", path);
    }
    if (root == NULL) {
        return vamp_err_set(err, -EBADMSG, "line %d of %s is damaged: %s", fault.line, path,
                            fault.text);
    }
    const char *maestro = json_string_value(json_object_get(root, "maestro"));
    int code = 0;
    if (maestro == NULL || strcmp(maestro, maestro_version()) != 0) {
        code = vamp_err_set(err, -ESTALE, "%s was written for Maestro %s, but this is Maestro %s",
                            path, vamp_text_or(maestro, "(unknown)"), maestro_version());
    } else {
        code = read_enum_names(root, path, examined, err);
    }
    json_decref(root);
    return code;
}

void vamp_examined_read(const struct vamp_maestro_options *options,
                        const struct vamp_source_context *context,
                        struct vamp_examined *ret_examined)
{
    const bool named = options->examined != NULL && options->examined[0] != '\0';
    char path[PATH_MAX];
    struct vamp_err err = VAMP_ERR_NONE;
    memset(ret_examined, 0, sizeof *ret_examined);
    int code = find_path(options, path, &err);
    if (code == 0) {
        code = read_file(path, ret_examined, &err);
    }
    if (code != 0 && (named || code != -ENOENT)) {
        memset(ret_examined, 0, sizeof *ret_examined);
        vamp_source_say(
            context,
            "%s: the verdict of vampire --examine is not used; the run continues as with a "
            "Maestro that was not examined",
            err.text);
    }
}

bool vamp_examined_says(const struct vamp_examined *examined, enum vamp_question question,
                        const char *word)
{
    return strcmp(examined->words[question], word) == 0;
}

/* ------------------------------------------------------------------ the examination */

/* Starts the process of an actor; `*ret_socket` is the caller's end. */
static pid_t start_actor(int *ret_socket, struct vamp_err *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) {
        return vamp_err_set_errno(err, errno, "make a socket for the examination");
    }
    (void)fflush(NULL);
    const pid_t process = fork();
    if (process == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(ends[1]);
        vamp_actor_follow(ends[0]);
        _exit(0);
    }
    (void)close(ends[0]);
    *ret_socket = ends[1];
    if (process < 0) {
        return vamp_err_set_errno(err, errno, "start a process of the examination");
    }
    return process;
}

int vamp_examine(const struct vamp_maestro_options *options, vamp_examine_fn *judge, void *context,
                 struct vamp_err *err)
{
    char path[PATH_MAX];
    struct vamp_examination examination = {.maestro = maestro_version(), .path = path};
    pid_t processes[VAMP_EXAMINE_ACTORS] = {0};
    unsigned started = 0;
    int code = find_path(options, path, err);
    if (code == 0 && options->info_file != NULL && options->info_file[0] != '\0') {
        code = vamp_session_info(options, err);
        examination.shared = true;
    }
    for (; code == 0 && started < VAMP_EXAMINE_ACTORS; started += code == 0) {
        processes[started] = start_actor(&examination.sockets[started], err);
        if (processes[started] <= 0) {
            code = err->code;
        }
    }
    int verdict = -1;
    if (code == 0) {
        verdict = judge(context, &examination);
    }
    while (started-- > 0) {
        (void)close(examination.sockets[started]);
        (void)kill(processes[started], SIGKILL);
        (void)waitpid(processes[started], NULL, 0);
    }
    return verdict;
}
