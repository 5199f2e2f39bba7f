/* SPDX-License-Identifier: BSD-3-Clause */
/* A request at a time, by libcurl. */
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/clock.h"
#include "writers/format/attempts.h"
#include "writers/format/secret.h"
#include "writers/influx/internal.h"

#define ADDRESS_BYTES 4096
#define ANSWER_BYTES 160
#define POLL_MS 50

struct influx_request {
    const struct influx_options *options;
    CURL *easy;
    CURLM *multi;
    struct curl_slist *headers;
    char address[ADDRESS_BYTES];
    char reason[CURL_ERROR_SIZE];
    char answer[ANSWER_BYTES]; /* the start of what the server says */
    size_t answered;
    bool under_way;
    struct vamp_attempts attempts;
};

static int64_t now_ns(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

/* ---- create and free */

/* Keeps the begin, as one line of printable characters. */
static size_t keep_answer(char *bytes, size_t size, size_t count, void *context)
{
    struct influx_request *request = context;
    for (size_t i = 0; i < size * count && request->answered + 1 < ANSWER_BYTES; i++) {
        const char byte = bytes[i];
        request->answer[request->answered++] = byte >= ' ' && byte <= '~' ? byte : ' ';
    }
    return size * count;
}

static bool add_header(struct influx_request *request, const char *header)
{
    struct curl_slist *longer = curl_slist_append(request->headers, header);
    request->headers = longer != NULL ? longer : request->headers;
    return longer != NULL;
}

static int set_secret(struct influx_request *request, struct vamp_err *err)
{
    char secret[VAMP_SECRET_BYTES], header[VAMP_SECRET_BYTES + 32];
    const char *user = request->options->user;
    int code = vamp_secret_read(request->options->secret_file, INFLUX_SECRET_VARIABLE, secret, err);
    if (code == 0 && user != NULL) {
        (void)curl_easy_setopt(request->easy, CURLOPT_USERNAME, user);
        (void)curl_easy_setopt(request->easy, CURLOPT_PASSWORD, secret);
    } else if (code == 0 && secret[0] != '\0') {
        (void)snprintf(header, sizeof header, "Authorization: Token %s", secret);
        code = add_header(request, header) ? 0 : vamp_err_set_errno(err, ENOMEM, "keep the secret");
    }
    explicit_bzero(secret, sizeof secret);
    explicit_bzero(header, sizeof header);
    return code;
}

static int set_address(struct influx_request *request, struct vamp_err *err)
{
    const char *url = request->options->url;
    size_t length = strlen(url);
    length -= url[length - 1] == '/' ? 1 : 0;
    char *database = curl_easy_escape(request->easy, request->options->database, 0);
    const int bytes =
        snprintf(request->address, sizeof request->address, "%.*s/write?db=%s&precision=ns",
                 (int)length, url, database != NULL ? database : "");
    curl_free(database);
    return database != NULL && bytes > 0 && (size_t)bytes < sizeof request->address
               ? 0
               : vamp_err_set(err, -ENAMETOOLONG, "the address of the server is too long");
}

static void set_options(struct influx_request *request)
{
    CURL *easy = request->easy;
    const struct influx_options *options = request->options;
    (void)curl_easy_setopt(easy, CURLOPT_URL, request->address);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(options->timeout_ns / 1000000));
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep_answer);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, request);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, request->reason);
    if (options->ca_file != NULL) {
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, options->ca_file);
    }
}

int influx_request_create(const struct influx_options *options, struct influx_request **ret_request,
                          struct vamp_err *err)
{
    struct influx_request *request = calloc(1, sizeof *request);
    if (request == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare requests");
    }
    request->options = options;
    const bool good = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK &&
                      (request->easy = curl_easy_init()) != NULL &&
                      (request->multi = curl_multi_init()) != NULL &&
                      add_header(request, "Content-Type: text/plain; charset=utf-8") &&
                      add_header(request, "Expect:");
    int code = good ? 0 : vamp_err_set_errno(err, ENOMEM, "prepare requests");
    if (code == 0) {
        code = set_secret(request, err);
    }
    if (code == 0) {
        code = set_address(request, err);
    }
    if (code != 0) {
        influx_request_free(request);
        return code;
    }
    set_options(request);
    *ret_request = request;
    return 0;
}

static void stop(struct influx_request *request)
{
    if (request->under_way) {
        (void)curl_multi_remove_handle(request->multi, request->easy);
        request->under_way = false;
    }
}

void influx_request_free(struct influx_request *request)
{
    if (request == NULL) {
        return;
    }
    stop(request);
    curl_easy_cleanup(request->easy);
    if (request->multi != NULL) {
        (void)curl_multi_cleanup(request->multi);
    }
    curl_slist_free_all(request->headers);
    free(request);
}

/* ---- sending */

/* What came of the request, which has ended. */
static int conclude(struct influx_request *request, CURLcode result, struct vamp_err *err)
{
    long status = 0;
    (void)curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
    stop(request);
    while (request->answered > 0 && request->answer[request->answered - 1] == ' ') {
        request->answered--; /* a newline at its end */
    }
    request->answer[request->answered] = '\0';
    if (result == CURLE_OK && status >= 200 && status < 300) {
        vamp_attempts_succeeded(&request->attempts);
        return 0;
    }
    const char *url = request->options->url;
    if (result == CURLE_OK && (status == 400 || status == 413 || status == 422)) {
        return vamp_err_set(err, -EBADMSG, "%.200s refuses a bucket (status %ld): %s", url, status,
                            request->answer);
    }
    if (result == CURLE_OK) {
        return vamp_attempts_failed(&request->attempts, err,
                                    "%.200s answers with status %ld: %s; " VAMP_BUCKETS_WAIT, url,
                                    status, request->answer);
    }
    const char *reason = request->reason[0] != '\0' ? request->reason : curl_easy_strerror(result);
    return vamp_attempts_failed(&request->attempts, err,
                                "send to %.200s: %.180s; " VAMP_BUCKETS_WAIT, url, reason);
}

static int begin(struct influx_request *request, const struct vamp_text *text, struct vamp_err *err)
{
    request->answered = 0;
    request->reason[0] = '\0';
    (void)curl_easy_setopt(request->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)text->used);
    (void)curl_easy_setopt(request->easy, CURLOPT_POSTFIELDS, text->bytes);
    const CURLMcode code = curl_multi_add_handle(request->multi, request->easy);
    if (code != CURLM_OK) {
        return vamp_attempts_failed(&request->attempts, err, "begin a request: %s",
                                    curl_multi_strerror(code));
    }
    request->under_way = true;
    return 0;
}

int influx_request_send(struct influx_request *request, const struct vamp_text *text,
                        struct vamp_err *err)
{
    const int64_t until_ns = now_ns() + VAMP_ATTEMPT_NS;
    if (!request->under_way) {
        int code = vamp_attempts_await(&request->attempts, err);
        if (code == 0) {
            code = begin(request, text, err);
        }
        if (code != 0) {
            return code;
        }
    }
    do {
        int running = 0, messages = 0;
        (void)curl_multi_perform(request->multi, &running);
        const CURLMsg *message = curl_multi_info_read(request->multi, &messages);
        if (message != NULL && message->msg == CURLMSG_DONE) {
            return conclude(request, message->data.result, err);
        }
        (void)curl_multi_poll(request->multi, NULL, 0, POLL_MS, NULL);
    } while (now_ns() < until_ns);
    return -EAGAIN; /* under way: nothing to report before "timeout" */
}
