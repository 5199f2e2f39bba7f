/* SPDX-License-Identifier: BSD-3-Clause */
/* Where outputs write: files, directories, addresses, and that no two of them are the same. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/internal.h"
#include "writers/format/file.h"

/* A target as the file system sees it, so that two spellings of one place are found. */
struct place {
    const char *type; /* of the output; directories are shared by outputs of different types */
    bool file;
    dev_t device;
    ino_t directory;
    const char *name; /* of the file in the directory; of a directory: the output's, which is in
                         the names of its files */
};

static const char *target_text(const struct vamp_config_output *output, const struct vamp_opt *opt)
{
    const char *base = output->options;
    return *(char *const *)(const void *)(base + opt->offset);
}

static bool is_target(const struct vamp_opt *opt)
{
    return opt->role == VAMP_OPT_NEW_FILE || opt->role == VAMP_OPT_DIRECTORY ||
           opt->role == VAMP_OPT_LISTEN;
}

/* The first option that says where the output writes, NULL: none does. */
static const struct vamp_opt *find_target(const struct vamp_config_output *output)
{
    for (const struct vamp_opt *opt = output->ops->options; opt->key != NULL; opt++) {
        if (is_target(opt) && target_text(output, opt) != NULL) {
            return opt;
        }
    }
    return NULL;
}

/* An output that writes to a place has to have one: all of its options for it may be empty. */
static void check_target(const struct config_loader *loader, unsigned index)
{
    const struct vamp_config_output *output = &loader->config->outputs[index];
    const struct vamp_opt *last = NULL;
    for (const struct vamp_opt *opt = output->ops->options; opt->key != NULL; opt++) {
        last = is_target(opt) && opt->role != VAMP_OPT_LISTEN ? opt : last;
    }
    if (last != NULL && find_target(output) == NULL) {
        char path[CONFIG_PATH_BYTES];
        config_output_path(loader, index, last->key, path);
        config_error(loader, path,
                     "empty, so this output has no directory to write to; \".\" is the directory "
                     "in which vampire runs");
    }
}

/* Checks the directory, and what already has the name of a new file in it, if there is one; next to
 * a regular file the new one gets a number. False: nothing can be written there, reported if the
 * request asks for it. */
static bool look_at(const struct config_loader *loader, const char *path, const char *file,
                    const char *directory, bool writable, struct stat *ret_status)
{
    struct stat status;
    if (file != NULL && loader->request->paths && lstat(file, &status) == 0) {
        const bool is_stream = S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode);
        if (S_ISDIR(status.st_mode)) {
            config_error(loader, path,
                         "%s is a directory; give the name of a file in it, or set \"directory\" "
                         "instead of \"path\"",
                         file);
            return false;
        }
        if (S_ISLNK(status.st_mode)) {
            config_error(
                loader, path,
                "%s is a symbolic link, and vampire follows none there; give the real path", file);
            return false;
        }
        if (is_stream && faccessat(AT_FDCWD, file, W_OK, AT_EACCESS) != 0) {
            config_error(loader, path, "%s cannot be written to: %s", file, strerrordesc_np(errno));
            return false;
        }
    }
    const bool there = stat(directory, ret_status) == 0;
    if (!loader->request->paths) {
        return there;
    }
    if (!there) {
        config_error(loader, path, "the directory %s cannot be used: %s", directory,
                     strerrordesc_np(errno));
    } else if (!S_ISDIR(ret_status->st_mode)) {
        config_error(loader, path, "%s is not a directory", directory);
    } else if (writable && faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) != 0) {
        config_error(loader, path, "the directory %s cannot be written to: %s", directory,
                     strerrordesc_np(errno));
    } else {
        return true;
    }
    return false;
}

/* Whether the options mean one of these kinds of targets; `kinds` are their bits. */
static bool writes_to(const struct vamp_config_output *output, uint32_t kinds)
{
    return (vamp_output_holding(output->ops, output->options, &output->settings) & kinds) != 0;
}

/* The directory, and the file's name in it when the option names a file. */
static bool find_file(const struct config_loader *loader, const char *path,
                      const struct vamp_config_output *output, struct place *place)
{
    const struct vamp_opt *opt = find_target(output);
    const char *text = target_text(output, opt);
    const char *slash = strrchr(text, '/');
    char directory[4096];
    (void)snprintf(directory, sizeof directory, "%s", text);
    if (opt->role == VAMP_OPT_NEW_FILE) {
        place->file = true;
        place->name = slash != NULL ? slash + 1 : text;
        if (place->name[0] == '\0') {
            config_error(loader, path, "this names a directory, not a file");
            return false;
        }
        (void)snprintf(directory, sizeof directory, "%.*s",
                       slash == NULL || slash == text ? 1 : (int)(slash - text),
                       slash == NULL ? "." : text);
    }
    const bool writable =
        !writes_to(output, VAMP_TARGET_BIT(VAMP_TARGET_FIFO) | VAMP_TARGET_BIT(VAMP_TARGET_DEVICE));
    struct stat status;
    if (!look_at(loader, path, place->file ? text : NULL, directory, writable, &status)) {
        return false;
    }
    place->device = status.st_dev;
    place->directory = status.st_ino;
    return true;
}

/* Where the output writes. False: nowhere, or not known; what is wrong is reported. */
static bool find_place(const struct config_loader *loader, unsigned index, struct place *ret_place)
{
    const struct vamp_config_output *output = &loader->config->outputs[index];
    const struct vamp_opt *opt = find_target(output);
    struct vamp_err err = VAMP_ERR_NONE;
    char path[CONFIG_PATH_BYTES];
    const char *key = "type";
    if (output->ops->check != NULL && output->ops->check(output->options, &key, &err) != 0) {
        config_output_path(loader, index, key, path);
        config_error(loader, path, "%s", err.text);
        return false;
    }
    if (opt == NULL) {
        return false;
    }
    config_output_path(loader, index, opt->key, path);
    *ret_place = (struct place){.type = output->ops->name, .name = output->settings.name};
    if (opt->role != VAMP_OPT_LISTEN &&
        !writes_to(output, VAMP_TARGET_SOCKETS | VAMP_TARGET_BIT(VAMP_TARGET_STDOUT))) {
        return find_file(loader, path, output, ret_place);
    }
    ret_place->file = true; /* one name, one place */
    ret_place->name = target_text(output, opt);
    return true;
}

/* Two files with one name, or two outputs that give their files the same names. */
static bool same_place(const struct place *left, const struct place *right)
{
    return left->file == right->file && left->device == right->device &&
           left->directory == right->directory &&
           (left->file ? strcmp(left->name, right->name) == 0
                       : vamp_target_same_name(left->name, right->name) &&
                             strcmp(left->type, right->type) == 0);
}

/* A plug-in that is not installed is reported with the place that asks for it. */
static void check_plug_in(const struct config_loader *loader, unsigned index)
{
    const struct vamp_writer_ops *functions = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    if (loader->request->paths &&
        vamp_writer_load(loader->config->outputs[index].ops, &functions, &err) != 0) {
        char path[CONFIG_PATH_BYTES];
        config_output_path(loader, index, "type", path);
        config_error(loader, path, "%s", err.text);
    }
}

void config_check_targets(const struct config_loader *loader)
{
    const struct vamp_config *config = loader->config;
    struct place places[VAMP_OUTPUTS_MAX];
    bool known[VAMP_OUTPUTS_MAX] = {false};
    for (unsigned i = 0; i < config->output_count; i++) {
        check_plug_in(loader, i);
        check_target(loader, i);
        known[i] = find_place(loader, i, &places[i]);
        for (unsigned j = 0; j < i && known[i]; j++) {
            if (!known[j] || !same_place(&places[i], &places[j])) {
                continue;
            }
            char path[CONFIG_PATH_BYTES];
            config_output_path(loader, i, find_target(&config->outputs[i])->key, path);
            config_error(loader, path, "output \"%s\" would %s", config->outputs[j].settings.name,
                         find_target(&config->outputs[i])->role == VAMP_OPT_LISTEN
                             ? "listen on the same address"
                             : "write the same files");
            break;
        }
    }
}
