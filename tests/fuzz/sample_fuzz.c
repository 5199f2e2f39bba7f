/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target of the line protocol: the input is one line. Each sample of a line that is accepted
 * can be read from its own text, with the same value and a name.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"
#include "vampire/core/event/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

static void require_sample(const struct vamp_sample_line *line, const char *field, size_t length)
{
    char name[64];
    const size_t bytes = line->series_length + 1 + length;
    char *text = malloc(bytes);
    struct vamp_sample sample;
    require(text != NULL);
    memcpy(text, line->text, line->series_length);
    text[line->series_length] = ' ';
    memcpy(text + line->series_length + 1, field, length);
    require(vamp_sample_read(text, bytes, &sample));
    const bool fits = vamp_sample_name(&sample, name, sizeof name);
    require(strlen(name) < sizeof name && (!fits || strchr(name, '.') != NULL));
    (void)vamp_sample_tag(&sample, "host", name, sizeof name);
    require(strlen(name) < sizeof name);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size > 0 ? size : 1); /* so that reading beyond the end is found */
    struct vamp_sample_line line;
    struct vamp_err err = VAMP_ERR_NONE;
    const char *field = NULL;
    size_t length = 0;
    require(text != NULL);
    if (size > 0) {
        memcpy(text, data, size);
    }
    if (vamp_sample_line_read(text, size, &line, &err) == 0) {
        while (vamp_sample_line_next(&line, &field, &length)) {
            require_sample(&line, field, length);
        }
    }
    free(text);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    (void)seed;
    return LLVMFuzzerMutate(data, size, max);
}
