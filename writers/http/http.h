/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting to a server by HTTP, one request at a time, by libcurl: what the plug-ins that push
 * share. A request that fails is sent again, with pauses (writers/format/attempts.h), or when the
 * server says so in Retry-After. One thread at a time.
 */
#pragma once

#include "writers/format/push.h"

/* Of what a server answers, what is kept. */
#define HTTP_ANSWER_BYTES 4096

/* Where to post; all but `options` is copied. */
struct http_server {
    const char *url;            /* as messages show it */
    const char *path;           /* added to it; "": nothing */
    const char *parameter;      /* added to that, escaped; NULL: nothing */
    const char *const *headers; /* of each request, ended by NULL */
    const char *token;          /* what "Authorization" has before a token */
    const char *variable;       /* see VAMP_PUSH_OPTIONS */
    const struct vamp_push_options *options;
};

struct http;

/* Opens no connection. 0; -ENOMEM; -ENAMETOOLONG; -errno of a file with a secret. */
VAMP_MUST_CHECK int http_create(const struct http_server *server, struct http **ret_http,
                                struct vamp_err *err);
/* Gives up a request that is under way. NULL is fine. */
void http_free(struct http *http);
/* Posts the bytes, or goes on with it: repeated with the same bytes until the result is not
 * -EAGAIN. 0: the server has them; -EAGAIN: not yet, within a second, with why in the text unless
 * the server may still answer; -EBADMSG: the server refuses these very bytes. */
VAMP_MUST_CHECK int http_post(struct http *http, const void *bytes, size_t count,
                              struct vamp_err *err);
/* The begin of the newest answer, valid until the next post; and what a message shows of what a
 * server says: its begin as one line of printable characters. */
const unsigned char *http_answer(const struct http *http, size_t *ret_bytes);
#define HTTP_SHOWN_BYTES 160
void http_show(const unsigned char *bytes, size_t count, char text[static HTTP_SHOWN_BYTES]);
