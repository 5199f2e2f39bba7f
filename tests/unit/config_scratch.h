/* SPDX-License-Identifier: BSD-3-Clause */
/* Configurations in files of their own, loaded, with what was printed about them. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"

#define MEMORY_BYTES (UINT64_C(4) << 30)

/* The whole file, terminated; NULL: there is none. */
static inline char *read_file(const char *path)
{
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        return NULL;
    }
    char *text = NULL;
    size_t room = 0;
    ssize_t length = getdelim(&text, &room, EOF, stream);
    (void)fclose(stream);
    if (length < 0) {
        free(text);
        return strdup("");
    }
    return text;
}

static inline void write_file(const char *path, const char *text)
{
    FILE *stream = fopen(path, "we");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
}

/* Loads and gives back what was printed about it. */
static inline int load(const struct vamp_config_request *request, struct vamp_config **ret_config,
                       char **ret_printed)
{
    struct vamp_diagnostics diagnostics;
    assert_int_equal(vamp_diagnostics_init(&diagnostics, NULL), 0);
    struct vamp_err err = VAMP_ERR_NONE;
    *ret_config = NULL;
    int code = vamp_config_load(request, ret_config, &diagnostics, &err);
    assert_int_equal(code == 0, *ret_config != NULL);
    assert_true(code == 0 || err.text[0] != '\0');
    assert_int_equal(code == -EINVAL, diagnostics.error_count > 0);
    size_t bytes = 0;
    FILE *stream = open_memstream(ret_printed, &bytes);
    assert_non_null(stream);
    vamp_diagnostics_print(&diagnostics, stream, false);
    if (code != 0 && code != -EINVAL) {
        (void)fprintf(stream, "%s\n", err.text);
    }
    assert_int_equal(fclose(stream), 0);
    vamp_diagnostics_done(&diagnostics);
    return code;
}

static inline struct vamp_config *load_good(const char *file)
{
    const struct vamp_config_request request = {.file = file, .memory_bytes = MEMORY_BYTES};
    struct vamp_config *config = NULL;
    char *printed = NULL;
    if (load(&request, &config, &printed) != 0) {
        fail_msg("%s", printed);
    }
    free(printed);
    return config;
}

/* A file of this text in a directory of its own; the caller removes both. */
struct scratch {
    char directory[64], file[96];
};

static inline struct scratch scratch_make(const char *text)
{
    struct scratch scratch = {.directory = "/tmp/vampire-config-XXXXXX"};
    assert_non_null(mkdtemp(scratch.directory));
    (void)snprintf(scratch.file, sizeof scratch.file, "%s/c.json", scratch.directory);
    write_file(scratch.file, text);
    return scratch;
}

static inline void scratch_remove(const struct scratch *scratch)
{
    assert_int_equal(unlink(scratch->file), 0);
    assert_int_equal(rmdir(scratch->directory), 0);
}

/* What was dumped loads without a word and dumps the same. */
static inline void assert_round_trip(const struct vamp_config *config)
{
    char *text = vamp_config_dump(config, 2);
    assert_non_null(text);
    struct scratch scratch = scratch_make(text);
    struct vamp_config *again = load_good(scratch.file);
    char *text_again = vamp_config_dump(again, 2);
    assert_string_equal(text, text_again);
    assert_string_equal(config->effective_text, again->effective_text);
    assert_int_equal(config->event_kinds, again->event_kinds);
    assert_int_equal(config->filter == NULL, again->filter == NULL);
    if (config->filter != NULL) {
        assert_string_equal(config->filter, again->filter);
    }
    free(text_again);
    free(text);
    vamp_config_free(again);
    scratch_remove(&scratch);
}
