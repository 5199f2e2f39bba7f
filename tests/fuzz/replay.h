/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a fuzz target on its committed seeds and on a few mutants of each, as a unit test: what the
 * fuzzers found stays fixed, also with the compiler and the options of the product. Mutants come
 * from the target's own mutator; a target without one has REPLAY_WITH_ANY_BYTES before this header.
 */
#pragma once

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define REPLAY_BYTES_MAX ((size_t)70000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

/* In place of libFuzzer's: changes, adds or drops a few bytes. The same every time. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
    static uint32_t state = 1;
    state = state * 1664525U + 1013904223U;
    size_t at = size > 0 ? (state >> 8) % size : 0;
    if (state >> 30 == 0 && size > 0) {
        memmove(data + at, data + at + 1, size - at - 1);
        return size - 1;
    }
    if (state >> 30 == 1 && size < max) {
        memmove(data + at + 1, data + at, size - at);
        data[at] = (uint8_t)(state >> 16);
        return size + 1;
    }
    if (size > 0) {
        data[at] = (uint8_t)(data[at] ^ 1U << (state >> 4 & 7));
    }
    return size;
}

#ifdef REPLAY_WITH_ANY_BYTES
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    (void)seed;
    return LLVMFuzzerMutate(data, size, max);
}
#endif

static void replay_one(const char *path, unsigned mutants)
{
    uint8_t *data = malloc(REPLAY_BYTES_MAX);
    uint8_t *mutant = malloc(REPLAY_BYTES_MAX);
    FILE *file = fopen(path, "rb");
    assert_true(data != NULL && mutant != NULL && file != NULL);
    size_t size = fread(data, 1, REPLAY_BYTES_MAX, file);
    (void)fclose(file);
    (void)LLVMFuzzerTestOneInput(data, size);
    memcpy(mutant, data, size);
    for (unsigned i = 0; i < mutants; i++) {
        size = LLVMFuzzerCustomMutator(mutant, size, REPLAY_BYTES_MAX / 8, i);
        (void)LLVMFuzzerTestOneInput(mutant, size);
    }
    free(mutant);
    free(data);
}

/* All seeds of the target, at least `expected`. */
static void replay_seeds(const char *target, unsigned expected, unsigned mutants)
{
    const char *tests = getenv("VAMP_TESTS");
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/fuzz/seeds/%s", tests != NULL ? tests : "tests", target);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        fail_msg("no folder %s: start at the repository root or set VAMP_TESTS", path);
        return;
    }
    size_t length = strlen(path);
    unsigned count = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.') {
            (void)snprintf(path + length, sizeof path - length, "/%s", entry->d_name);
            replay_one(path, mutants);
            count++;
        }
    }
    (void)closedir(folder);
    assert_true(count >= expected);
}
