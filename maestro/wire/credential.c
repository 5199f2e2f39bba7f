/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/wire/credential.h"

#include <dlfcn.h>
#include <errno.h>
#include <munge.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "vampire/core/values.h"

#define LIBRARY "libmunge.so.2"

struct credentials {
    void *library;
    __typeof__(munge_encode) *encode;
    __typeof__(munge_decode) *decode;
    __typeof__(munge_ctx_create) *create_context;
    __typeof__(munge_ctx_destroy) *destroy_context;
    __typeof__(munge_ctx_set) *set;
    __typeof__(munge_ctx_get) *get;
    __typeof__(munge_ctx_strerror) *text_of;
    munge_ctx_t context;  /* for encoding credentials */
    munge_ctx_t decoding; /* separate, because decoding overwrites the settings of its context */
};

/* ---- the library */

static bool find_functions(struct credentials *credentials)
{
    const struct {
        const char *name;
        void **function;
    } wanted[] = {
        {"munge_encode", (void **)&credentials->encode},
        {"munge_decode", (void **)&credentials->decode},
        {"munge_ctx_create", (void **)&credentials->create_context},
        {"munge_ctx_destroy", (void **)&credentials->destroy_context},
        {"munge_ctx_set", (void **)&credentials->set},
        {"munge_ctx_get", (void **)&credentials->get},
        {"munge_ctx_strerror", (void **)&credentials->text_of},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        *wanted[i].function = dlsym(credentials->library, wanted[i].name);
        if (*wanted[i].function == NULL) {
            return false;
        }
    }
    return true;
}

/* Fails only if out of memory. */
static bool open_context(struct credentials *credentials, munge_ctx_t *ret_context)
{
    const char *path = getenv(CREDENTIAL_ENV_SOCKET);
    *ret_context = credentials->create_context();
    return *ret_context != NULL &&
           (path == NULL || path[0] == '\0' ||
            credentials->set(*ret_context, MUNGE_OPT_SOCKET, path) == EMUNGE_SUCCESS);
}

int credentials_open(struct credentials **ret_credentials, struct vamp_err *err)
{
    struct credentials *credentials = calloc(1, sizeof *credentials);
    if (credentials == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "use MUNGE");
    }
    int result = 0;
    credentials->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (credentials->library == NULL || !find_functions(credentials)) {
        result = vamp_err_set(err, -ENOENT,
                              "MUNGE's library " LIBRARY " cannot be used (%s); is it installed "
                              "(package libmunge2)?",
                              credentials->library == NULL ? dlerror() : "it lacks a function");
    } else if (!open_context(credentials, &credentials->context) ||
               !open_context(credentials, &credentials->decoding)) {
        result = vamp_err_set_errno(err, ENOMEM, "use MUNGE");
    }
    if (result != 0) {
        credentials_close(credentials);
        return result;
    }
    *ret_credentials = credentials;
    return 0;
}

void credentials_close(struct credentials *credentials)
{
    if (credentials == NULL) {
        return;
    }
    if (credentials->context != NULL) {
        credentials->destroy_context(credentials->context);
    }
    if (credentials->decoding != NULL) {
        credentials->destroy_context(credentials->decoding);
    }
    if (credentials->library != NULL) {
        (void)dlclose(credentials->library);
    }
    free(credentials);
}

/* ---- munged */

static int no_daemon(struct credentials *credentials, int failure, struct vamp_err *err)
{
    char *path = NULL;
    (void)credentials->get(credentials->context, MUNGE_OPT_SOCKET, &path);
    return vamp_err_set(
        err, -ECONNREFUSED,
        "munged does not answer at %s (%s); is it running on this host? " CREDENTIAL_ENV_SOCKET
        " names another socket",
        vamp_text_or(path, "its socket"), strerror(failure));
}

/* Checks that munged listens: libmunge would retry for seconds and block the pool manager. */
static int check_daemon(struct credentials *credentials, struct vamp_err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char *path = NULL;
    if (credentials->get(credentials->context, MUNGE_OPT_SOCKET, &path) != EMUNGE_SUCCESS ||
        path == NULL || strlen(path) >= sizeof address.sun_path) {
        return no_daemon(credentials, ENAMETOOLONG, err);
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (probe < 0) {
        return vamp_err_set_errno(err, errno, "open a socket for munged");
    }
    int failure = 0;
    if (connect(probe, (const struct sockaddr *)&address, sizeof address) != 0) {
        failure = errno;
    }
    (void)close(probe);
    if (failure != 0) {
        return no_daemon(credentials, failure, err);
    }
    return 0;
}

int credential_make(struct credentials *credentials, const struct secure_binding *binding,
                    struct credential *ret_credential, struct vamp_err *err)
{
    int result = check_daemon(credentials, err);
    if (result != 0) {
        return result;
    }
    char *text = NULL;
    munge_err_t failure = credentials->encode(&text, credentials->context, binding->bytes,
                                              (int)sizeof binding->bytes);
    if (failure != EMUNGE_SUCCESS || text == NULL || strlen(text) >= CREDENTIAL_BYTES) {
        result = vamp_err_set(err, -EACCES, "munged gives no credential: %s",
                              failure != EMUNGE_SUCCESS ? credentials->text_of(credentials->context)
                                                        : "it is too long");
    } else {
        ret_credential->length = strlen(text);
        memcpy(ret_credential->text, text, ret_credential->length + 1);
    }
    free(text);
    return result;
}

/* ---- checking */

#define CLOCKS "the clocks of the two hosts differ"
static const struct {
    munge_err_t failure;
    const char *text;
} refusals[] = {
    {EMUNGE_CRED_EXPIRED, "has expired: " CLOCKS ", or it was on its way for too long"},
    {EMUNGE_CRED_REWOUND, "was made in the future: " CLOCKS},
    {EMUNGE_CRED_REPLAYED, "has been used before"},
};

static int explain(struct credentials *credentials, munge_err_t failure, struct vamp_err *err)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        if (refusals[i].failure == failure) {
            return vamp_err_set(err, -EACCES, "the credential of MUNGE %s", refusals[i].text);
        }
    }
    if (failure == EMUNGE_SOCKET) {
        return no_daemon(credentials, ECONNREFUSED, err);
    }
    return vamp_err_set(err, -EACCES,
                        "the credential of MUNGE is not accepted: %s; both hosts need the same "
                        "MUNGE key",
                        credentials->text_of(credentials->decoding));
}

int credential_check(struct credentials *credentials, const struct secure_binding *binding,
                     const uint8_t *bytes, size_t length, struct vamp_err *err)
{
    char text[CREDENTIAL_BYTES];
    if (length == 0 || length >= sizeof text) {
        return vamp_err_set(
            err, -EACCES, "the join has no credential of MUNGE, which this pool manager requires");
    }
    int result = check_daemon(credentials, err);
    if (result != 0) {
        return result;
    }
    memcpy(text, bytes, length);
    text[length] = '\0';
    void *payload = NULL;
    int payload_length = 0;
    uid_t user = (uid_t)-1;
    gid_t group;
    const munge_err_t failure =
        credentials->decode(text, credentials->decoding, &payload, &payload_length, &user, &group);
    if (failure != EMUNGE_SUCCESS) {
        result = explain(credentials, failure, err);
    } else if (payload_length != (int)sizeof binding->bytes ||
               memcmp(payload, binding->bytes, sizeof binding->bytes) != 0) {
        result =
            vamp_err_set(err, -EACCES, "the credential of MUNGE belongs to another connection");
    } else if (user != geteuid()) {
        result = vamp_err_set(err, -EACCES,
                              "the component runs as user %ld, the pool manager as user %ld; with "
                              "--munge they must be the same",
                              (long)user, (long)geteuid());
    }
    free(payload);
    return result;
}
