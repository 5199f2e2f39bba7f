/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "writers/jsonl/audience_internal.h"

/* Bytes sent in one turn, so that a fast reader does not delay the others. */
#define TURN_BYTES ((size_t)256 * 1024)

static bool push(struct audience_reader *reader, struct audience_block *block)
{
    if (reader->count >= AUDIENCE_QUEUE_BLOCKS) {
        return false;
    }
    reader->queue[(reader->first + reader->count++) % AUDIENCE_QUEUE_BLOCKS] = block;
    reader->bytes += block->length;
    block->holders++;
    return true;
}

static void pop(struct audience_reader *reader)
{
    struct audience_block *block = reader->queue[reader->first];
    reader->first = (reader->first + 1) % AUDIENCE_QUEUE_BLOCKS;
    reader->count--;
    reader->bytes -= block->length;
    reader->sent = 0;
    audience_block_release(block);
}

int audience_reader_add(struct vamp_audience *audience, int fd)
{
    struct audience_reader *reader = calloc(1, sizeof *reader);
    struct audience_block *welcome = audience_welcome(audience);
    if (reader == NULL || welcome == NULL) {
        audience_block_release(welcome);
        free(reader);
        (void)close(fd);
        return -ENOMEM;
    }
    reader->fd = fd;
    (void)push(reader, welcome); /* into an empty queue */
    audience_block_release(welcome);
    audience->readers[audience->reader_count++] = reader;
    audience->wants_complete = true;
    return 0;
}

void audience_reader_remove(struct vamp_audience *audience, unsigned index)
{
    struct audience_reader *reader = audience->readers[index];
    while (reader->count > 0) {
        pop(reader);
    }
    (void)close(reader->fd);
    free(reader);
    audience->readers[index] = audience->readers[--audience->reader_count];
}

bool audience_make_place(struct vamp_audience *audience)
{
    if (audience->reader_count < audience->options.readers_max) {
        return true;
    }
    unsigned worst = 0;
    for (unsigned i = 1; i < audience->reader_count; i++) {
        worst = audience->readers[i]->lost > audience->readers[worst]->lost ? i : worst;
    }
    if (audience->readers[worst]->lost == 0) {
        audience->refused++;
        return false;
    }
    audience->dropped++;
    audience_reader_remove(audience, worst);
    return true;
}

static void lose(struct vamp_audience *audience, struct audience_reader *reader)
{
    reader->lost++;
    audience->lost++;
    audience->wants_complete = true;
}

static bool has_room(const struct vamp_audience *audience, const struct audience_reader *reader,
                     size_t length, unsigned blocks)
{
    return reader->count + blocks <= AUDIENCE_QUEUE_BLOCKS &&
           (reader->count == 0 || reader->bytes + length <= audience->options.buffer_bytes);
}

/* After a loss: the welcome, the number of lost texts, and then the text. */
static bool catch_up(struct vamp_audience *audience, struct audience_reader *reader,
                     struct audience_block *text, const struct vamp_audience_news *news)
{
    char line[VAMP_AUDIENCE_LOST_LINE_BYTES];
    const size_t length = news->lost_line(news->context, reader->lost, line);
    struct audience_block *welcome = audience_welcome(audience);
    struct audience_block *lost = audience_block_make(line, length);
    const bool good = welcome != NULL && lost != NULL &&
                      has_room(audience, reader, welcome->length + length + text->length, 3) &&
                      push(reader, welcome) && push(reader, lost) && push(reader, text);
    audience_block_release(welcome);
    audience_block_release(lost);
    return good;
}

void audience_reader_give(struct vamp_audience *audience, struct audience_reader *reader,
                          struct audience_block *text, const struct vamp_audience_news *news)
{
    if (reader->lost > 0) {
        if (news->complete && catch_up(audience, reader, text, news)) {
            reader->lost = 0;
        } else {
            lose(audience, reader);
        }
        return;
    }
    if (!has_room(audience, reader, text->length, 1) || !push(reader, text)) {
        lose(audience, reader);
    }
}

bool audience_reader_send(struct audience_reader *reader)
{
    size_t turn = 0;
    while (reader->count > 0 && turn < TURN_BYTES) {
        const struct audience_block *block = reader->queue[reader->first];
        const size_t left = block->length - reader->sent;
        ssize_t count = left == 0 ? 0
                                  : send(reader->fd, block->bytes + reader->sent, left,
                                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0) {
            return errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ENOMEM;
        }
        turn += (size_t)count;
        reader->sent += (size_t)count;
        if (reader->sent == block->length) {
            pop(reader);
        }
    }
    return true;
}

bool audience_reader_listen(struct audience_reader *reader)
{
    char ignored[4096];
    const ssize_t count = recv(reader->fd, ignored, sizeof ignored, MSG_DONTWAIT);
    if (count == 0) {
        reader->half_closed = true;
    }
    return count >= 0 || errno == EAGAIN || errno == EINTR;
}
