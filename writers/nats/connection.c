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
/* A server that accepts a connection and says nothing for so long is said to. */
#define SILENT_NS (5 * VAMP_NS_PER_SECOND)
/* Of a message, in addition to its content: the id. */
#define HEADER_BYTES 512

/* Without the place in the library, as in "(conn.c:733): ". */
static const char *words_of(const char *said)
{
    const char *end = said[0] == '(' ? strstr(said, "): ") : NULL;
    return end != NULL ? end + 3 : said;
}

/* ---- create and free */

/* What the library reports at any time is found in the connection when a call fails. Without a
 * handler it would print. */
static void ignore_error(natsConnection *link, natsSubscription *subscription, natsStatus status,
                         void *context)
{
    (void)link, (void)subscription, (void)status, (void)context;
}

static natsStatus set_secret(natsOptions *library, const char *user, const char *secret)
{
    if (user != NULL) {
        return natsOptions_SetUserInfo(library, user, secret);
    }
    return secret[0] != '\0' ? natsOptions_SetToken(library, secret) : NATS_OK;
}

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

/* The library reads some of them when it connects, and does not say why it cannot. */
static int look_at_files(const struct vamp_nats_server *server, struct vamp_err *err)
{
    const char *const paths[] = {server->ca_file, server->certificate_file, server->key_file,
                                 server->credentials_file};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        FILE *file = paths[i] != NULL ? fopen(paths[i], "re") : NULL;
        if (paths[i] != NULL && file == NULL) {
            return vamp_err_set_errno(err, errno, "read %s", paths[i]);
        }
        if (file != NULL) {
            (void)fclose(file);
        }
    }
    return 0;
}

static int set_files(struct nats_connection *self, struct vamp_err *err)
{
    const struct vamp_nats_server *server = self->purpose.server;
    natsOptions *library = self->library;
    const char *what = "use the certificates of authorities in", *path = server->ca_file;
    const int unread = look_at_files(server, err);
    if (unread != 0) {
        return unread;
    }
    natsStatus code = path != NULL ? natsOptions_LoadCATrustedCertificates(library, path) : NATS_OK;
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
    return vamp_err_set(err, -EINVAL, "%s %s: %s", what, path,
                        said != NULL ? words_of(said) : natsStatus_GetText(code));
}

static int set_options(struct nats_connection *self, struct vamp_err *err)
{
    char secret[VAMP_SECRET_BYTES];
    int code =
        vamp_secret_read(self->purpose.server->secret_file, VAMP_NATS_SECRET_VARIABLE, secret, err);
    if (code != 0) {
        return code;
    }
    natsStatus status = natsOptions_Create(&self->library);
    status =
        status == NATS_OK ? set_secret(self->library, self->purpose.server->user, secret) : status;
    status = status == NATS_OK ? set_general(self) : status;
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

/* An attempt, on a thread of its own: for TLS the library has no time limit. One that is left
 * behind keeps `library` and this. */
struct nats_connecting {
    struct vamp_worker worker;
    int64_t since_ns;
    natsOptions *library;
    natsConnection *link;
    natsStatus status;
    char said[200]; /* by the library, on that thread */
};

static void run_attempt(void *context)
{
    struct nats_connecting *connecting = context;
    connecting->status = natsConnection_Connect(&connecting->link, connecting->library);
    const char *said = nats_GetLastError(NULL);
    said = said != NULL && said[0] != '\0' ? said : natsStatus_GetText(connecting->status);
    (void)snprintf(connecting->said, sizeof connecting->said, "%s", words_of(said));
    if (atomic_load(&connecting->worker.abandoned)) {
        natsConnection_Destroy(connecting->link);
    }
}

static int begin_attempt(struct nats_connection *self, struct vamp_err *err)
{
    const struct vamp_worker_bounds none = {.items_max = 0};
    struct nats_connecting *connecting = calloc(1, sizeof *connecting);
    int code = connecting != NULL ? vamp_worker_init(&connecting->worker, &none, 1, err) : -ENOMEM;
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
        self->library = NULL; /* it is the attempt's */
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
    natsConnection_Destroy(self->link); /* after the text, which may be the connection's */
    self->link = NULL;
    self->server = (self->server + 1) % self->purpose.server->servers.count;
    return code;
}

/* What the server said last is more than what a call says. */
int nats_connection_fail_with(struct nats_connection *self, natsStatus status, struct vamp_err *err)
{
    const char *said = NULL;
    if (self->link != NULL) {
        (void)natsConnection_GetLastError(self->link, &said);
    }
    said = said != NULL && said[0] != '\0' ? said : nats_GetLastError(NULL);
    said = said != NULL && said[0] != '\0' ? said : natsStatus_GetText(status);
    return nats_connection_fail(self, said, err);
}

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
    (void)snprintf(text, sizeof text,
                   "it takes messages of at most %lld bytes (max_payload), too few for \"message\" "
                   "(%s) and its id",
                   (long long)most, size);
    return nats_connection_fail(self, text, err);
}

/* What came of the attempt, as far as it is known. */
static int conclude_attempt(struct nats_connection *self, struct vamp_err *err)
{
    struct nats_connecting *connecting = self->connecting;
    const int64_t now_ns = vamp_worker_now_ns();
    if (!vamp_worker_await_end(&connecting->worker, now_ns + NATS_PATIENCE_NS)) {
        return now_ns - connecting->since_ns < SILENT_NS
                   ? -EAGAIN
                   : vamp_err_set(err, -EAGAIN,
                                  "%s %.180s: the server accepts a connection and is silent; %s",
                                  self->purpose.what, nats_connection_address(self),
                                  self->purpose.meanwhile);
    }
    (void)vamp_worker_join(&connecting->worker, now_ns);
    const natsStatus status = connecting->status;
    char said[sizeof connecting->said];
    (void)snprintf(said, sizeof said, "%s", connecting->said);
    self->link = connecting->link;
    self->connecting = NULL;
    free_attempt(connecting);
    return status == NATS_OK ? check_payload(self, err) : nats_connection_fail(self, said, err);
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
        code = status == NATS_OK ? begin_attempt(self, err)
                                 : nats_connection_fail_with(self, status, err);
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
    return status == NATS_OK ? natsConnection_GetLastError(self->link, &said) : status;
}
