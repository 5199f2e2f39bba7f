/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frames between a program and its connection process (process.h): a header, then texts and
 * numbers in the machine's byte order. Both sides check lengths, because a NATS server may have
 * taken control of the connection process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "writers/format/text.h"

/* The socket in the connection process. */
#define NATS_PROCESS_SOCKET 3
/* A reply holds at most one message, its subject and an error text. */
#define NATS_FRAME_BYTES_MAX (NATS_MESSAGE_BYTES_MAX + 128 * 1024)

/* Requests. Each one has exactly one reply, and the next one follows the reply. */
enum nats_ask {
    NATS_ASK_PUBLISHER,  /* the first request: an output's options */
    NATS_ASK_SUBSCRIBER, /* the first request: a subscription */
    NATS_ASK_PUBLISH,    /* the bucket's id, ends and text of its messages */
    NATS_ASK_RESUME,     /* continues the publication whose reply was -EAGAIN */
    NATS_ASK_NEXT,       /* frees the present message; waits for the next one */
    NATS_ASK_ANSWER,     /* text; answers the present message */
    NATS_ASK_STATE,
};

struct nats_frame {
    int32_t what;   /* enum nats_ask; in a reply: the result of the call, 0, 1 or -errno */
    uint32_t bytes; /* length of what follows */
};

static inline void nats_put_number(struct vamp_text *text, uint64_t number)
{
    vamp_text_add(text, (const char *)&number, sizeof number);
}
static inline void nats_put_bytes(struct vamp_text *text, const void *bytes, size_t length)
{
    nats_put_number(text, length);
    vamp_text_add(text, bytes, length);
}
/* NULL is allowed. */
static inline void nats_put_text(struct vamp_text *text, const char *word)
{
    nats_put_bytes(text, word, word != NULL ? strlen(word) + 1 : 0);
}

/* The unread part of a frame. */
struct nats_rest {
    const char *at;
    size_t bytes;
    bool invalid; /* a length exceeded the frame; everything read since is 0 or NULL */
};

static inline const void *nats_get_raw(struct nats_rest *rest, size_t length)
{
    if (rest->invalid || length > rest->bytes) {
        rest->invalid = true;
        return NULL;
    }
    const void *found = rest->at;
    rest->at += length;
    rest->bytes -= length;
    return found;
}
static inline uint64_t nats_get_number(struct nats_rest *rest)
{
    uint64_t number = 0;
    const void *found = nats_get_raw(rest, sizeof number);
    if (found != NULL) {
        memcpy(&number, found, sizeof number);
    }
    return number;
}
static inline const void *nats_get_bytes(struct nats_rest *rest, size_t *ret_length)
{
    *ret_length = nats_get_number(rest);
    return nats_get_raw(rest, *ret_length);
}
/* Returns a text in the frame, or NULL. */
static inline const char *nats_get_text(struct nats_rest *rest)
{
    size_t length = 0;
    const char *text = nats_get_bytes(rest, &length);
    if (text == NULL || length == 0) {
        return NULL;
    }
    if (text[length - 1] != '\0') {
        rest->invalid = true;
        return NULL;
    }
    return text;
}
