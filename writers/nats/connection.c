/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/clock.h"
#include "vampire/core/worker.h"
#include "writers/format/secret.h"
#include "writers/nats/connection.h"

#define CONNECT_MS 1000
/* A server that accepts a connection but does not answer for this long is reported. */
#define SILENT_NS (5 * VAMP_NS_PER_SECOND)
/* Size of a message's header, including the id. */
#define HEADER_BYTES 512

/* Removes the source location from a message of the library, such as "(conn.c:733): ". */
static const char *words_of(const char *said)
{
    const char *end = NULL;
    if (said[0] == '(') {
        end = strstr(said, "): ");
    }
    return end != NULL ? end + 3 : said;
}

static bool is_empty(const char *text)
{
    return text == NULL || text[0] == '\0';
}

/* ---- create and free */

/* Errors are read from the connection when a call fails. Without a handler, the library would print
 * them. */
static void ignore_error(natsConnection *link, natsSubscription *subscription, natsStatus status,
                         void *context)
{
    (void)link, (void)subscription, (void)status, (void)context;
}

/* Sets the user and the password, or the token, if there is a secret. */
static natsStatus set_secret(natsOptions *library, const char *user, const char *secret)
{
    if (user != NULL) {
        return natsOptions_SetUserInfo(library, user, secret);
    }
    if (secret[0] != '\0') {
        return natsOptions_SetToken(library, secret);
    }
    return NATS_OK;
}

/* Sets the options that do not depend on the configuration. */
static natsStatus set_general(struct nats_connection *self)
{
    const natsStatus codes[] = {
        natsOptions_SetName(self->library, "vampire"),
        natsOptions_SetTimeout(self->library, CONNECT_MS),
        natsOptions_SetAllowReconnect(self->library, false),
        natsOptions_SetWriteDeadline(self->library, self->purpose.write_ns / 1000000),
        natsOptions_SetErrorHandler(self->library, ignore_error, NULL),
    };
    natsStatus code = NATS_OK;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0] && code == NATS_OK; i++) {
        code = codes[i];
    }
    return code;
}

/* Checks that the files can be read: the library reads some of them when it connects, and does not
 * report the reason of a failure. */
static int check_files(const struct vamp_nats_server *server, struct vamp_err *err)
{
    const char *const paths[] = {server->ca_file, server->certificate_file, server->key_file,
                                 server->credentials_file};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        if (paths[i] == NULL) {
            continue;
        }
        FILE *file = fopen(paths[i], "re");
        if (file == NULL) {
            return vamp_err_set_errno(err, errno, "read %s", paths[i]);
        }
        (void)fclose(file);
    }
    return 0;
}

/* Sets the files with certificates and credentials. -EINVAL: a file cannot be used. */
static int set_files(struct nats_connection *self, struct vamp_err *err)
{
    const struct vamp_nats_server *server = self->purpose.server;
    natsOptions *library = self->library;
    const char *what = "use the certificates of authorities in", *path = server->ca_file;
    const int unreadable = check_files(server, err);
    if (unreadable != 0) {
        return unreadable;
    }
    natsStatus code = NATS_OK;
    if (path != NULL) {
        code = natsOptions_LoadCATrustedCertificates(library, path);
    }
    if (code == NATS_OK && server->certificate_file != NULL) {
        what = "use the certificate in";
        path = server->certificate_file;
        code = natsOptions_LoadCertificatesChain(library, path, server->key_file);
    }
    if (code == NATS_OK && server->credentials_file != NULL) {
        what = "use the credentials in";
        path = server->credentials_file;
        code = natsOptions_SetUserCredentialsFromFiles(library, path, NULL);
    }
    if (code == NATS_OK) {
        return 0;
    }
    const char *said = nats_GetLastError(NULL);
    if (said == NULL) {
        said = natsStatus_GetText(code);
    }
    return vamp_err_set(err, -EINVAL, "%s %s: %s", what, path, words_of(said));
}

/* Creates the library's options from the configuration. Returns 0 or -errno. */
static int set_options(struct nats_connection *self, struct vamp_err *err)
{
    char secret[VAMP_SECRET_BYTES];
    int code =
        vamp_secret_read(self->purpose.server->secret_file, VAMP_NATS_SECRET_VARIABLE, secret, err);
    if (code != 0) {
        return code;
    }
    natsStatus status = natsOptions_Create(&self->library);
    if (status == NATS_OK) {
        status = set_secret(self->library, self->purpose.server->user, secret);
    }
    if (status == NATS_OK) {
        status = set_general(self);
    }
    explicit_bzero(secret, sizeof secret);
    if (status != NATS_OK) {
        return vamp_err_set(err, -ENOMEM, "prepare a connection: %s", natsStatus_GetText(status));
    }
    return set_files(self, err);
}

int nats_connection_init(struct nats_connection *self, const struct nats_purpose *purpose,
                         struct vamp_err *err)
{
    *self = (struct nats_connection){.purpose = *purpose};
    return set_options(self, err);
}

/* An attempt to connect, on a separate thread, since the library has no timeout for TLS. If the
 * attempt is abandoned, its thread keeps `library` and this structure. */
struct nats_connecting {
    struct vamp_worker worker;
    int64_t since_ns;
    natsOptions *library;
    natsConnection *link;
    natsStatus status;
    char said[200]; /* error text of the library on that thread */
};

/* The thread's function: connects. If abandoned, closes the connection. */
static void run_attempt(void *context)
{
    struct nats_connecting *connecting = context;
    connecting->status = natsConnection_Connect(&connecting->link, connecting->library);
    const char *said = nats_GetLastError(NULL);
    if (is_empty(said)) {
        said = natsStatus_GetText(connecting->status);
    }
    (void)snprintf(connecting->said, sizeof connecting->said, "%s", words_of(said));
    if (atomic_load(&connecting->worker.abandoned)) {
        natsConnection_Destroy(connecting->link);
    }
}

/* Starts an attempt to connect. Returns 0, or -EAGAIN if out of memory. */
static int begin_attempt(struct nats_connection *self, struct vamp_err *err)
{
    const struct vamp_worker_bounds none = {.items_max = 0};
    struct nats_connecting *connecting = calloc(1, sizeof *connecting);
    int code = -ENOMEM;
    if (connecting != NULL) {
        code = vamp_worker_init(&connecting->worker, &none, 1, err);
    }
    if (code == 0) {
        connecting->library = self->library;
        connecting->since_ns = vamp_worker_now_ns();
        code = vamp_worker_start(&connecting->worker, "nats-connect", run_attempt, connecting, err);
    }
    if (code != 0) {
        free(connecting);
        return vamp_attempts_failed(&self->attempts, err, "no memory for a connection");
    }
    self->connecting = connecting;
    return 0;
}

static void free_attempt(struct nats_connecting *connecting)
{
    vamp_worker_done(&connecting->worker);
    free(connecting);
}

void nats_connection_done(struct nats_connection *self)
{
    if (self->connecting != NULL && vamp_worker_join(&self->connecting->worker, 0)) {
        self->link = self->connecting->link;
        free_attempt(self->connecting);
    } else if (self->connecting != NULL) {
        self->library = NULL; /* now owned by the attempt */
    }
    natsConnection_Destroy(self->link);
    natsOptions_Destroy(self->library);
    *self = (struct nats_connection){.link = NULL};
}

const char *nats_connection_address(const struct nats_connection *self)
{
    return self->purpose.server->servers.items[self->server];
}

/* ---- connect */

int nats_connection_fail(struct nats_connection *self, const char *text, struct vamp_err *err)
{
    const int code =
        vamp_attempts_failed(&self->attempts, err, "%s %.180s: %.250s; %s", self->purpose.what,
                             nats_connection_address(self), text, self->purpose.meanwhile);
    /* Must come after the use of the text, which may belong to the connection. */
    natsConnection_Destroy(self->link);
    self->link = NULL;
    self->server = (self->server + 1) % self->purpose.server->servers.count;
    return code;
}

/* Prefers the server's last error, which is more specific than the status of a call. */
int nats_connection_fail_with(struct nats_connection *self, natsStatus status, struct vamp_err *err)
{
    const char *said = NULL;
    if (self->link != NULL) {
        (void)natsConnection_GetLastError(self->link, &said);
    }
    if (is_empty(said)) {
        said = nats_GetLastError(NULL);
    }
    if (is_empty(said)) {
        said = natsStatus_GetText(status);
    }
    return nats_connection_fail(self, said, err);
}

/* Checks that the server accepts messages of the configured size; closes it otherwise. */
static int check_payload(struct nats_connection *self, struct vamp_err *err)
{
    const int64_t most = natsConnection_GetMaxPayload(self->link);
    char text[200], size[VAMP_QUANTITY_TEXT_BYTES];
    if (most > (int64_t)NATS_MESSAGE_BYTES_MAX) {
        (void)snprintf(text, sizeof text,
                       "it announces messages of up to %lld bytes (max_payload); no nats-server "
                       "takes more than 64 MiB",
                       (long long)most);
        return nats_connection_fail(self, text, err);
    }
    if (self->purpose.message_bytes == 0 ||
        most >= (int64_t)self->purpose.message_bytes + HEADER_BYTES) {
        return 0;
    }
    vamp_size_text(self->purpose.message_bytes, size, sizeof size);
    (void)snprintf(
        text, sizeof text,
        "it accepts messages of at most %lld bytes (max_payload), too few for \"message\" "
        "(%s) and its id",
        (long long)most, size);
    return nats_connection_fail(self, text, err);
}

/* Evaluates the attempt. Returns 0 if it has connected, else -EAGAIN, without a text while it is in
 * progress and the server is not reported yet. */
static int conclude_attempt(struct nats_connection *self, struct vamp_err *err)
{
    struct nats_connecting *connecting = self->connecting;
    const int64_t now_ns = vamp_worker_now_ns();
    if (!vamp_worker_await_end(&connecting->worker, now_ns + NATS_PATIENCE_NS)) {
        if (now_ns - connecting->since_ns < SILENT_NS) {
            return -EAGAIN;
        }
        return vamp_err_set(
            err, -EAGAIN, "%s %.180s: the server accepts a connection and is silent; %s",
            self->purpose.what, nats_connection_address(self), self->purpose.meanwhile);
    }
    (void)vamp_worker_join(&connecting->worker, now_ns);
    const natsStatus status = connecting->status;
    char said[sizeof connecting->said];
    (void)snprintf(said, sizeof said, "%s", connecting->said);
    self->link = connecting->link;
    self->connecting = NULL;
    free_attempt(connecting);
    if (status != NATS_OK) {
        return nats_connection_fail(self, said, err);
    }
    return check_payload(self, err);
}

int nats_connection_open(struct nats_connection *self, struct vamp_err *err)
{
    if (self->link != NULL) {
        return 0;
    }
    if (self->connecting == NULL) {
        int code = vamp_attempts_await(&self->attempts, err);
        if (code != 0) {
            return code;
        }
        const char *server = nats_connection_address(self);
        natsStatus status = natsOptions_SetURL(self->library, server);
        if (status == NATS_OK) {
            status = natsOptions_SetSecure(self->library, strncmp(server, "tls:", 4) == 0);
        }
        if (status == NATS_OK) {
            code = begin_attempt(self, err);
        } else {
            code = nats_connection_fail_with(self, status, err);
        }
        if (code != 0) {
            return code;
        }
    }
    return conclude_attempt(self, err);
}

natsStatus nats_connection_confirm(const struct nats_connection *self)
{
    const char *said = NULL;
    const natsStatus status = natsConnection_FlushTimeout(self->link, NATS_PATIENCE_NS / 1000000);
    if (status != NATS_OK) {
        return status;
    }
    return natsConnection_GetLastError(self->link, &said);
}
