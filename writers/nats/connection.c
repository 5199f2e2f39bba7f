/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection at a time, by libnats, to one server after the other. The library does not connect
 * again by itself: what it had sent would be unknown. What was not confirmed when a connection
 * ended is sent again on the next one, with the same ids. After a failure the next attempt waits,
 * longer each time.
 */
#include <errno.h>
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vampire/core/clock.h"
#include "writers/format/secret.h"
#include "writers/nats/internal.h"

/* How long a call may take, but for a connection that is being made or a write that blocks. */
#define PATIENCE_NS (VAMP_NS_PER_SECOND / 2)
#define CONNECT_MS 1000
#define POLL_MS 50
#define PAUSE_FIRST_NS (VAMP_NS_PER_SECOND / 4)
#define PAUSE_LONGEST_NS (5 * VAMP_NS_PER_SECOND)
/* Of a message, in addition to its content: the id. */
#define HEADER_BYTES 512
#define ID_BYTES 128

struct nats_connection {
    const struct nats_options *options;
    natsOptions *library;
    natsConnection *link;       /* NULL: not connected */
    jsCtx *stream;              /* of `link`, with JetStream */
    size_t server;              /* of the present connection, or of the next one */
    unsigned sent;              /* messages that were sent; with JetStream: that the stream has */
    int64_t since_ns;           /* when the newest of them was sent; monotonic */
    int64_t pause_ns, again_ns; /* monotonic; 0: at once */
    char last[VAMP_ERR_TEXT_BYTES]; /* why the newest attempt failed; "": there was none */
};

static int64_t now_ns(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

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
    const int64_t timeout_ms = self->options->timeout_ns / 1000000;
    const natsStatus codes[] = {
        natsOptions_SetName(self->library, "vampire"),
        natsOptions_SetTimeout(self->library, CONNECT_MS),
        natsOptions_SetAllowReconnect(self->library, false),
        natsOptions_SetWriteDeadline(self->library, timeout_ms),
        natsOptions_SetErrorHandler(self->library, ignore_error, NULL),
    };
    natsStatus code = NATS_OK;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0] && code == NATS_OK; i++) {
        code = codes[i];
    }
    return code;
}

static int set_files(struct nats_connection *self, struct vamp_err *err)
{
    const struct nats_options *options = self->options;
    natsOptions *library = self->library;
    const char *what = "use the certificates of authorities in", *path = options->ca_file;
    natsStatus code = path != NULL ? natsOptions_LoadCATrustedCertificates(library, path) : NATS_OK;
    if (code == NATS_OK && options->certificate_file != NULL) {
        what = "use the certificate in";
        path = options->certificate_file;
        code = natsOptions_LoadCertificatesChain(library, path, options->key_file);
    }
    if (code == NATS_OK && options->credentials_file != NULL) {
        what = "use the credentials in";
        path = options->credentials_file;
        FILE *file = fopen(path, "re"); /* the library reads it when it connects */
        if (file == NULL) {
            return vamp_err_set_errno(err, errno, "%s %s", what, path);
        }
        (void)fclose(file);
        code = natsOptions_SetUserCredentialsFromFiles(library, path, NULL);
    }
    return code == NATS_OK
               ? 0
               : vamp_err_set(err, -EINVAL, "%s %s: %s", what, path, nats_GetLastError(NULL));
}

static int set_options(struct nats_connection *self, struct vamp_err *err)
{
    char secret[VAMP_SECRET_BYTES];
    int code = vamp_secret_read(self->options->secret_file, NATS_SECRET_VARIABLE, secret, err);
    if (code != 0) {
        return code;
    }
    natsStatus status = natsOptions_Create(&self->library);
    status = status == NATS_OK ? set_secret(self->library, self->options->user, secret) : status;
    status = status == NATS_OK ? set_general(self) : status;
    explicit_bzero(secret, sizeof secret);
    if (status != NATS_OK) {
        return vamp_err_set(err, -ENOMEM, "prepare a connection: %s", natsStatus_GetText(status));
    }
    return set_files(self, err);
}

int nats_connection_create(const struct nats_options *options,
                           struct nats_connection **ret_connection, struct vamp_err *err)
{
    struct nats_connection *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare a connection");
    }
    self->options = options;
    const int code = set_options(self, err);
    if (code != 0) {
        nats_connection_free(self);
        return code;
    }
    *ret_connection = self;
    return 0;
}

/* What a plain connection has not confirmed will be sent again; a stream keeps what it has. */
static void disconnect(struct nats_connection *self)
{
    jsCtx_Destroy(self->stream);
    natsConnection_Destroy(self->link);
    self->stream = NULL;
    self->link = NULL;
    self->sent = self->options->jetstream ? self->sent : 0;
}

void nats_connection_free(struct nats_connection *self)
{
    if (self != NULL) {
        disconnect(self);
        natsOptions_Destroy(self->library);
        free(self);
    }
}

const char *nats_connection_address(const struct nats_connection *self)
{
    return self->options->servers.items[self->server];
}

/* ---- connect */

/* `text` is why; the next attempt is at the next server, after a pause. */
static int fail(struct nats_connection *self, const char *text, struct vamp_err *err)
{
    (void)snprintf(self->last, sizeof self->last,
                   "publish at %.180s: %.250s; buckets wait, then are lost and counted",
                   nats_connection_address(self), text);
    disconnect(self);
    self->server = (self->server + 1) % self->options->servers.count;
    self->pause_ns = self->pause_ns == 0 ? PAUSE_FIRST_NS : self->pause_ns * 2;
    self->pause_ns = self->pause_ns > PAUSE_LONGEST_NS ? PAUSE_LONGEST_NS : self->pause_ns;
    self->again_ns = now_ns() + self->pause_ns;
    return vamp_err_set(err, -EAGAIN, "%s", self->last);
}

/* What the server said last is more than what a call says. */
static int fail_with(struct nats_connection *self, natsStatus status, struct vamp_err *err)
{
    const char *said = NULL;
    if (self->link != NULL) {
        (void)natsConnection_GetLastError(self->link, &said);
    }
    said = said != NULL && said[0] != '\0' ? said : nats_GetLastError(NULL);
    said = said != NULL && said[0] != '\0' ? said : natsStatus_GetText(status);
    return fail(self, words_of(said), err);
}

/* Waits for the next attempt, for no longer than a call may take. False: it is not due yet. */
static bool is_due(const struct nats_connection *self)
{
    const int64_t until_ns = now_ns() + PATIENCE_NS;
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    while (now_ns() < self->again_ns && now_ns() < until_ns) {
        (void)nanosleep(&pause, NULL);
    }
    return now_ns() >= self->again_ns;
}

static int check_payload(struct nats_connection *self, struct vamp_err *err)
{
    const int64_t most = natsConnection_GetMaxPayload(self->link);
    if (most >= (int64_t)self->options->message_bytes + HEADER_BYTES) {
        return 0;
    }
    char text[200], size[VAMP_QUANTITY_TEXT_BYTES];
    vamp_size_text(self->options->message_bytes, size, sizeof size);
    (void)snprintf(text, sizeof text,
                   "it takes messages of at most %lld bytes (max_payload), too few for \"message\" "
                   "(%s) and its id",
                   (long long)most, size);
    return fail(self, text, err);
}

static int connect_to_server(struct nats_connection *self, struct vamp_err *err)
{
    const char *server = nats_connection_address(self);
    natsStatus status = natsOptions_SetURL(self->library, server);
    if (status == NATS_OK) {
        status = natsOptions_SetSecure(self->library, strncmp(server, "tls:", 4) == 0);
    }
    status = status == NATS_OK ? natsConnection_Connect(&self->link, self->library) : status;
    if (status == NATS_OK && self->options->jetstream) {
        status = natsConnection_JetStream(&self->stream, self->link, NULL);
    }
    return status == NATS_OK ? check_payload(self, err) : fail_with(self, status, err);
}

/* ---- publish */

static natsStatus make_message(const struct nats_messages *messages, unsigned number,
                               const char *subject, const char *id, natsMsg **ret_message)
{
    char whole_id[ID_BYTES];
    const size_t begin = number > 0 ? messages->ends[number - 1] : 0;
    (void)snprintf(whole_id, sizeof whole_id, "%s.%u", id, number + 1);
    natsStatus status = natsMsg_Create(ret_message, subject, NULL, messages->text.bytes + begin,
                                       (int)(messages->ends[number] - begin));
    if (status == NATS_OK) {
        status = natsMsgHeader_Set(*ret_message, "Nats-Msg-Id", whole_id);
    }
    return status;
}

/* Sends the next message; to a stream: until it has it. */
static natsStatus send_next(struct nats_connection *self, const char *subject, const char *id,
                            const struct nats_messages *messages, jsErrCode *refusal)
{
    natsMsg *message = NULL;
    natsStatus status = make_message(messages, self->sent, subject, id, &message);
    if (status == NATS_OK && self->stream != NULL) {
        jsPubOptions options = {.MaxWait = PATIENCE_NS / 1000000};
        status = js_PublishMsg(NULL, self->stream, message, &options, refusal);
    } else if (status == NATS_OK) {
        status = natsConnection_PublishMsg(self->link, message);
    }
    natsMsg_Destroy(message);
    self->sent += status == NATS_OK ? 1 : 0;
    return status;
}

/* A server that did not answer may still do so, until `timeout`. */
static int wait_or_fail(struct nats_connection *self, struct vamp_err *err)
{
    if (now_ns() - self->since_ns < self->options->timeout_ns) {
        return -EAGAIN;
    }
    return fail_with(self, NATS_TIMEOUT, err);
}

static int conclude(struct nats_connection *self, natsStatus status, jsErrCode refusal,
                    const char *subject, struct vamp_err *err)
{
    if (status == NATS_OK) {
        self->sent = 0;
        self->pause_ns = 0;
        self->last[0] = '\0';
        return 0;
    }
    if (status == NATS_TIMEOUT) {
        return wait_or_fail(self, err);
    }
    if (refusal == JSStreamMessageExceedsMaximumErr) {
        self->sent = 0;
        return vamp_err_set(err, -EBADMSG,
                            "the stream at %.200s refuses a bucket: its max_msg_size is below "
                            "\"message\"",
                            nats_connection_address(self));
    }
    if (status == NATS_NO_RESPONDERS) {
        char text[300];
        (void)snprintf(text, sizeof text, "no stream of JetStream takes %.200s", subject);
        return fail(self, text, err);
    }
    return fail_with(self, status, err);
}

/* A server answers after it has taken, or refused, all that was sent before. */
static natsStatus confirm(struct nats_connection *self)
{
    natsStatus status = natsConnection_FlushTimeout(self->link, PATIENCE_NS / 1000000);
    if (status == NATS_OK) {
        const char *said = NULL;
        status = natsConnection_GetLastError(self->link, &said);
    }
    return status;
}

int nats_connection_publish(struct nats_connection *self, const char *subject, const char *id,
                            const struct nats_messages *messages, struct vamp_err *err)
{
    if (self->link == NULL) {
        if (!is_due(self)) {
            return vamp_err_set(err, -EAGAIN, "%s", self->last);
        }
        const int code = connect_to_server(self, err);
        if (code != 0) {
            return code;
        }
        self->since_ns = now_ns();
    }
    const int64_t until_ns = now_ns() + PATIENCE_NS;
    natsStatus status = NATS_OK;
    jsErrCode refusal = 0;
    while (status == NATS_OK && self->sent < messages->count) {
        if (now_ns() > until_ns) {
            return -EAGAIN;
        }
        status = send_next(self, subject, id, messages, &refusal);
        self->since_ns = status == NATS_OK ? now_ns() : self->since_ns;
    }
    if (status == NATS_OK && self->stream == NULL) {
        status = confirm(self);
    }
    return conclude(self, status, refusal, subject, err);
}
