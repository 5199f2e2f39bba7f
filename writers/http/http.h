/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posts to a server by HTTP with libcurl, one request at a time; shared by the plug-ins that push.
 * A failed request is sent again after a pause (writers/format/attempts.h) or the server's
 * Retry-After. One thread at a time.
 */
#pragma once

#include "writers/format/push.h"

/* Bytes kept of an answer. */
#define HTTP_ANSWER_BYTES 4096

/* The server; everything except `options` is copied. */
struct http_server {
    const char *url;            /* also shown in messages */
    const char *path;           /* appended to the URL; "": nothing */
    const char *parameter;      /* appended to the path, escaped; NULL: nothing */
    const char *const *headers; /* of each request, ended by NULL */
    const char *token;          /* the scheme of "Authorization" for a token */
    const char *variable;       /* see VAMP_PUSH_OPTIONS */
    const struct vamp_push_options *options;
};

struct http;

/* Opens no connection. 0; -ENOMEM; -ENAMETOOLONG; -errno of a file with a secret. */
VAMP_MUST_CHECK int http_create(const struct http_server *server, struct http **ret_http,
                                struct vamp_err *err);
/* Aborts a request that is under way. NULL is allowed. */
void http_free(struct http *http);
/* Posts the bytes, or continues to: call it with the same bytes until the result is not -EAGAIN. 0:
 * the server has them; -EAGAIN: not yet, after at most a second, with the reason unless the server
 * may still answer; -EBADMSG: the server rejects these bytes. */
VAMP_MUST_CHECK int http_post(struct http *http, const void *bytes, size_t count,
                              struct vamp_err *err);
/* The begin of the newest answer, valid until the next post; and the begin of a text of the server
 * as one line of printable characters, for messages. */
const unsigned char *http_answer(const struct http *http, size_t *ret_bytes);
#define HTTP_SHOWN_BYTES 160
void http_show(const unsigned char *bytes, size_t count, char text[static HTTP_SHOWN_BYTES]);
