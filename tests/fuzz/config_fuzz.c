/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target of the configuration reader: the text of a file, and behind the first byte 0x01 lines
 * PATH=VALUE as the command line would give them. Every mistake has to be reported, with places
 * that exist; what loads has to dump itself and load again to the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OVERRIDES_MAX 16
#define MEMORY_BYTES (UINT64_C(16) << 30)

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

/* A file without a name, written again for each input. */
struct memory_file {
    int fd;
    char path[64];
};

static void memory_file_open(struct memory_file *file)
{
    file->fd = memfd_create("config", MFD_CLOEXEC);
    require(file->fd >= 0);
    (void)snprintf(file->path, sizeof file->path, "/proc/self/fd/%d", file->fd);
}

static void memory_file_write(const struct memory_file *file, const void *data, size_t size)
{
    require(ftruncate(file->fd, 0) == 0);
    require(pwrite(file->fd, data, size, 0) == (ssize_t)size);
}

static void check_diagnostics(const struct vamp_diagnostics *diagnostics, size_t size)
{
    FILE *nowhere = fopen("/dev/null", "we");
    require(nowhere != NULL);
    vamp_diagnostics_print(diagnostics, nowhere, true);
    vamp_diagnostics_print_json(diagnostics, "f", nowhere);
    (void)fclose(nowhere);
    for (unsigned i = 0; i < diagnostics->count; i++) {
        const struct vamp_diagnostic *item = &diagnostics->items[i];
        require(item->text[0] != '\0' && item->file[0] != '\0');
        require(item->line <= size + 1 && item->column <= size + 1);
        require(item->caret <= strlen(item->excerpt));
    }
}

static struct vamp_config *load(const struct vamp_config_request *request, size_t size)
{
    struct vamp_diagnostics diagnostics;
    struct vamp_err err = VAMP_ERR_NONE;
    struct vamp_config *config = NULL;
    require(vamp_diagnostics_init(&diagnostics, &err) == 0);
    int code = vamp_config_load(request, &config, &diagnostics, &err);
    require((code == 0) == (config != NULL));
    require(code != -EINVAL || diagnostics.error_count > 0);
    require(code == 0 || code == -EINVAL || code == -EFBIG);
    check_diagnostics(&diagnostics, size);
    vamp_diagnostics_done(&diagnostics);
    return config;
}

static size_t split_overrides(char *text, struct vamp_config_override *overrides)
{
    size_t count = 0;
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL && count < OVERRIDES_MAX;
         line = strsep(&rest, "\n")) {
        char *equals = strchr(line, '=');
        if (equals != NULL) {
            *equals = '\0';
            overrides[count++] = (struct vamp_config_override){line, equals + 1, "-o"};
        }
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct memory_file file = {.fd = -1};
    if (file.fd < 0) {
        memory_file_open(&file);
    }
    const uint8_t *mark = size > 0 ? memchr(data, 0x01, size) : NULL;
    size_t length = mark != NULL ? (size_t)(mark - data) : size;
    char *options = mark != NULL ? strndup((const char *)mark + 1, size - length - 1) : strdup("");
    require(options != NULL);
    struct vamp_config_override overrides[OVERRIDES_MAX];
    memory_file_write(&file, data, length);
    struct vamp_config *config = load(
        &(struct vamp_config_request){
            .file = file.path,
            .overrides = overrides,
            .override_count = split_overrides(options, overrides),
            .memory_bytes = MEMORY_BYTES,
        },
        length);
    free(options);
    if (config == NULL) {
        return 0;
    }
    char *dump = vamp_config_dump(config, 1);
    require(dump != NULL);
    /* A dump may be larger than a file may be: many short words become many lines. */
    if (strlen(dump) < 200000) {
        memory_file_write(&file, dump, strlen(dump));
        struct vamp_config *again =
            load(&(struct vamp_config_request){.file = file.path, .memory_bytes = MEMORY_BYTES},
                 strlen(dump));
        require(again != NULL && strcmp(config->effective_text, again->effective_text) == 0);
        require(config->event_kinds == again->event_kinds);
        require(config->filter == NULL ? again->filter == NULL
                                       : strcmp(config->filter, again->filter) == 0);
        vamp_config_free(again);
    }
    free(dump);
    vamp_config_free(config);
    return 0;
}
