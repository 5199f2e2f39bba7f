/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posts to a server by HTTP with libcurl, one request at a time; shared by the plug-ins that push.
 * A failed request is sent again after a pause (writers/format/attempts.h) or the server's
 * Retry-After. One thread at a time.
 */
#pragma once

#include "writers/format/push.h"

/* Maximum number of bytes kept of an answer. */
#define HTTP_ANSWER_BYTES 65536

/* The server. Everything except `options` and `context` is copied. */
struct http_server {
    const char *url;            /* also used in messages */
    const char *path;           /* appended to the URL; "": nothing */
    const char *parameter;      /* appended to the path, escaped; NULL: nothing */
    const char *const *headers; /* headers of each request, ended by NULL */
    const char *token;          /* the scheme of "Authorization" for a token */
    const char *variable;       /* see VAMP_PUSH_OPTIONS */
    const struct vamp_push_options *options;
    long success; /* the status that confirms a request */
    /* Checks the body of a confirmation; `type` is its Content-Type or "". Returns 0, or -EBADMSG
     * if it is not an answer of the protocol. NULL: any body is accepted. */
    int (*read_answer)(void *context, const char *type, const unsigned char *bytes, size_t count);
    void *context;
};

struct http;

/* Opens no connection yet. Returns 0, -ENOMEM, -ENAMETOOLONG, or -errno of a secret file. */
VAMP_MUST_CHECK int http_create(const struct http_server *server, struct http **ret_http,
                                struct vamp_err *err);
/* Aborts a pending request. NULL is allowed. */
void http_free(struct http *http);
/* Posts the bytes, or continues a pending post; call it with the same bytes until the result is not
 * -EAGAIN. Returns 0 when the server has accepted them; -EAGAIN after at most a second if it has
 * not yet, with the reason unless the server may still answer; -EBADMSG if the server rejects these
 * bytes. */
VAMP_MUST_CHECK int http_post(struct http *http, const void *bytes, size_t count,
                              struct vamp_err *err);
/* Copies the beginning of a text from the server as one line of printable characters, for messages.
 */
#define HTTP_SHOWN_BYTES 160
void http_show(const unsigned char *bytes, size_t count, char text[static HTTP_SHOWN_BYTES]);
