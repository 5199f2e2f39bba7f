/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/http/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/values.h"
#include "vampire/core/worker.h"
#include "writers/format/attempts.h"
#include "writers/format/secret.h"

#define ADDRESS_BYTES 4096
#define POLL_MS 50
/* Statuses of servers that reject the content of a request permanently. */
#define STATUS_BAD_REQUEST 400
#define STATUS_TOO_LARGE 413
#define STATUS_UNPROCESSABLE 422

struct http {
    const struct vamp_push_options *options;
    long success;
    int (*read_answer)(void *context, const char *type, const unsigned char *bytes, size_t count);
    void *context;
    CURL *easy;
    CURLM *multi;
    struct curl_slist *headers;
    char *url;         /* for messages, with the proxy */
    const char *proxy; /* in the environment; NULL: none */
    char address[ADDRESS_BYTES];
    char reason[CURL_ERROR_SIZE];
    unsigned char answer[HTTP_ANSWER_BYTES];
    size_t answered;
    bool under_way;
    struct vamp_attempts attempts;
};

/* Called by libcurl with a piece of the answer's body. Keeps the first HTTP_ANSWER_BYTES of the
 * answer. Returns the bytes consumed: all. */
static size_t keep_answer(char *bytes, size_t size, size_t count, void *context)
{
    struct http *http = context;
    const size_t room = sizeof http->answer - http->answered;
    const size_t kept = VAMP_MIN(size * count, room);
    memcpy(http->answer + http->answered, bytes, kept);
    http->answered += kept;
    return size * count;
}

void http_show(const unsigned char *bytes, size_t count, char text[static HTTP_SHOWN_BYTES])
{
    size_t length = 0;
    for (size_t i = 0; i < count && length + 1 < HTTP_SHOWN_BYTES; i++) {
        const unsigned char byte = bytes[i];
        const bool visible = byte > ' ' && byte <= '~';
        if (visible || (length > 0 && text[length - 1] != ' ')) {
            text[length++] = visible ? (char)byte : ' ';
        }
    }
    if (length > 0 && text[length - 1] == ' ') { /* replaces a newline at the end */
        length--;
    }
    text[length] = '\0';
}

/* ---- create and free */

static bool add_header(struct http *http, const char *header)
{
    struct curl_slist *longer = curl_slist_append(http->headers, header);
    if (longer != NULL) {
        http->headers = longer;
    }
    return longer != NULL;
}

/* Sets the user and password, or the header with the token, if there is a secret. */
static int set_secret(struct http *http, const struct http_server *server, struct vamp_err *err)
{
    char secret[VAMP_SECRET_BYTES], header[VAMP_SECRET_BYTES + 32];
    const char *user = server->options->user;
    int code = vamp_secret_read(server->options->secret_file, server->variable, secret, err);
    if (code == 0 && user != NULL) {
        (void)curl_easy_setopt(http->easy, CURLOPT_USERNAME, user);
        (void)curl_easy_setopt(http->easy, CURLOPT_PASSWORD, secret);
    } else if (code == 0 && secret[0] != '\0') {
        (void)snprintf(header, sizeof header, "Authorization: %s %s", server->token, secret);
        if (!add_header(http, header)) {
            code = vamp_err_set_errno(err, ENOMEM, "keep the secret");
        }
    }
    explicit_bzero(secret, sizeof secret);
    explicit_bzero(header, sizeof header);
    return code;
}

/* Builds the address: the URL, the path, and the escaped parameter. Returns 0 or -ENAMETOOLONG. */
static int set_address(struct http *http, const struct http_server *server, struct vamp_err *err)
{
    size_t length = strlen(server->url);
    if (server->path[0] != '\0' && server->url[length - 1] == '/') {
        length--;
    }
    char *escaped = curl_easy_escape(http->easy, vamp_text_or(server->parameter, ""), 0);
    const int bytes = snprintf(http->address, sizeof http->address, "%.*s%s%s", (int)length,
                               server->url, server->path, vamp_text_or(escaped, ""));
    const bool good = escaped != NULL && bytes > 0 && (size_t)bytes < sizeof http->address;
    curl_free(escaped);
    if (good) {
        return 0;
    }
    return vamp_err_set(err, -ENAMETOOLONG, "the address of the server is too long");
}

static void set_options(struct http *http)
{
    CURL *easy = http->easy;
    (void)curl_easy_setopt(easy, CURLOPT_URL, http->address);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(http->options->timeout_ns / 1000000));
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, http->headers);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep_answer);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, http);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, http->reason);
    /* Without this, libcurl would use the proxy of the environment for this machine, too. */
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, vamp_text_or(http->proxy, ""));
    if (http->options->ca_file != NULL) {
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, http->options->ca_file);
    }
}

/* Chooses the proxy. Returns the name of the server for messages; NULL: out of memory. */
static char *name_server(struct http *http, const char *url)
{
    const char *variable = NULL;
    char shown[VAMP_PUSH_PROXY_BYTES], *name = NULL;
    http->proxy = vamp_push_proxy(url, &variable);
    if (http->proxy == NULL) {
        return strdup(url);
    }
    vamp_push_show_proxy(http->proxy, shown);
    const int bytes =
        asprintf(&name, "%.150s (proxy %s of %s, unless no_proxy names it)", url, shown, variable);
    return bytes >= 0 ? name : NULL;
}

int http_create(const struct http_server *server, struct http **ret_http, struct vamp_err *err)
{
    struct http *http = calloc(1, sizeof *http);
    if (http == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare requests");
    }
    http->options = server->options;
    http->success = server->success;
    http->read_answer = server->read_answer;
    http->context = server->context;
    bool good = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    if (good) {
        http->url = name_server(http, server->url);
        http->easy = curl_easy_init();
        http->multi = curl_multi_init();
        good = http->url != NULL && http->easy != NULL && http->multi != NULL &&
               add_header(http, "Expect:");
    }
    for (const char *const *header = server->headers; good && *header != NULL; header++) {
        good = add_header(http, *header);
    }
    int code = 0;
    if (!good) {
        code = vamp_err_set_errno(err, ENOMEM, "prepare requests");
    }
    if (code == 0) {
        code = set_secret(http, server, err);
    }
    if (code == 0) {
        code = set_address(http, server, err);
    }
    if (code != 0) {
        http_free(http);
        return code;
    }
    set_options(http);
    *ret_http = http;
    return 0;
}

static void stop(struct http *http)
{
    if (http->under_way) {
        (void)curl_multi_remove_handle(http->multi, http->easy);
        http->under_way = false;
    }
}

void http_free(struct http *http)
{
    if (http == NULL) {
        return;
    }
    stop(http);
    curl_easy_cleanup(http->easy);
    if (http->multi != NULL) {
        (void)curl_multi_cleanup(http->multi);
    }
    curl_slist_free_all(http->headers);
    free(http->url);
    free(http);
}

/* ---- requests */

/* Handles an answer with status 2xx. Other web servers send such answers, too, so status and
 * content must be those of the protocol. Returns 0 or -EAGAIN. */
static int read_confirmation(struct http *http, long status, struct vamp_err *err)
{
    const char *type = NULL;
    char answer[HTTP_SHOWN_BYTES];
    (void)curl_easy_getinfo(http->easy, CURLINFO_CONTENT_TYPE, &type);
    type = vamp_text_or(type, "");
    int code = -EBADMSG;
    if (status == http->success) {
        code = 0;
        if (http->read_answer != NULL) {
            code = http->read_answer(http->context, type, http->answer, http->answered);
        }
    }
    if (code == 0) {
        vamp_attempts_succeeded(&http->attempts);
        return 0;
    }
    http_show(http->answer, http->answered, answer);
    return vamp_attempts_failed(&http->attempts, err,
                                "unexpected confirmation from %.200s: status %ld, Content-Type "
                                "\"%.60s\": %s; check that this is the right "
                                "server. " VAMP_BUCKETS_WAIT,
                                http->url, status, type, answer);
}

/* Ends a completed request. Returns 0; -EBADMSG: the content is rejected; or -EAGAIN. */
static int conclude(struct http *http, CURLcode result, struct vamp_err *err)
{
    long status = 0;
    curl_off_t retry_after_s = 0;
    const char *redirect = NULL; /* where a redirection leads, which is not followed */
    char answer[HTTP_SHOWN_BYTES];
    (void)curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(http->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
    (void)curl_easy_getinfo(http->easy, CURLINFO_REDIRECT_URL, &redirect);
    stop(http);
    if (result == CURLE_OK && status >= 200 && status < 300) {
        return read_confirmation(http, status, err);
    }
    http_show(http->answer, http->answered, answer);
    const bool is_rejected = status == STATUS_BAD_REQUEST || status == STATUS_TOO_LARGE ||
                             status == STATUS_UNPROCESSABLE;
    if (result == CURLE_OK && is_rejected) {
        return vamp_err_set(err, -EBADMSG, "%.200s refuses a bucket (status %ld): %s", http->url,
                            status, answer);
    }
    if (result == CURLE_OK && redirect != NULL) {
        return vamp_attempts_failed(&http->attempts, err,
                                    "%.200s answers with status %ld: it has moved to %.*s, which "
                                    "must be configured; " VAMP_BUCKETS_WAIT,
                                    http->url, status, (int)VAMP_MIN(strcspn(redirect, "?"), 200),
                                    redirect);
    }
    if (result == CURLE_OK) {
        const int code = vamp_attempts_failed(
            &http->attempts, err, "%.200s answers with status %ld: %s; " VAMP_BUCKETS_WAIT,
            http->url, status, answer);
        vamp_attempts_postpone(&http->attempts, retry_after_s);
        return code;
    }
    const char *reason = http->reason;
    if (reason[0] == '\0') {
        reason = curl_easy_strerror(result);
    }
    return vamp_attempts_failed(&http->attempts, err, "send to %.200s: %.180s; " VAMP_BUCKETS_WAIT,
                                http->url, reason);
}

/* Starts a request. `bytes` must stay valid until its end. Returns 0 or -EAGAIN. */
static int begin(struct http *http, const void *bytes, size_t count, struct vamp_err *err)
{
    http->answered = 0;
    http->reason[0] = '\0';
    (void)curl_easy_setopt(http->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)count);
    (void)curl_easy_setopt(http->easy, CURLOPT_POSTFIELDS, bytes);
    const CURLMcode code = curl_multi_add_handle(http->multi, http->easy);
    if (code != CURLM_OK) {
        return vamp_attempts_failed(&http->attempts, err, "begin a request: %s",
                                    curl_multi_strerror(code));
    }
    http->under_way = true;
    return 0;
}

int http_post(struct http *http, const void *bytes, size_t count, struct vamp_err *err)
{
    const int64_t until_ns = vamp_worker_now_ns() + VAMP_ATTEMPT_NS;
    if (!http->under_way) {
        int code = vamp_attempts_await(&http->attempts, err);
        if (code == 0) {
            code = begin(http, bytes, count, err);
        }
        if (code != 0) {
            return code;
        }
    }
    do {
        int running = 0, messages = 0;
        (void)curl_multi_perform(http->multi, &running);
        const CURLMsg *message = curl_multi_info_read(http->multi, &messages);
        if (message != NULL && message->msg == CURLMSG_DONE) {
            return conclude(http, message->data.result, err);
        }
        (void)curl_multi_poll(http->multi, NULL, 0, POLL_MS, NULL);
    } while (vamp_worker_now_ns() < until_ns);
    return -EAGAIN; /* pending: nothing to report before the timeout */
}
