/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of values created by the parser, and JSON pointers (RFC 6901) into it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

struct config_value *config_value_add(struct config_tree *tree, struct config_value *parent,
                                      size_t key_bytes, size_t text_bytes)
{
    struct config_value *value = calloc(1, sizeof *value + key_bytes + 1 + text_bytes + 1);
    if (value == NULL) {
        return NULL;
    }
    value->key = value->room;
    value->text = value->room + key_bytes + 1;
    value->parent = parent;
    value->allocated_before = tree->allocated;
    tree->allocated = value;
    tree->count++;
    if (parent != NULL) {
        if (parent->last != NULL) {
            parent->last->next = value;
        } else {
            parent->first = value;
        }
        parent->last = value;
        value->index = parent->count++;
    }
    return value;
}

void config_value_clear(struct config_value *value)
{
    value->first = value->last = NULL;
    value->count = 0;
}

void config_tree_done(struct config_tree *tree)
{
    while (tree->allocated != NULL) {
        struct config_value *value = tree->allocated;
        tree->allocated = value->allocated_before;
        free(value);
    }
    *tree = (struct config_tree){0};
}

struct config_value *config_member(const struct config_value *object, const char *key)
{
    if (object == NULL || object->type != CONFIG_OBJECT) {
        return NULL;
    }
    struct config_value *member = object->first;
    while (member != NULL && strcmp(member->key, key) != 0) {
        member = member->next;
    }
    return member;
}

struct config_value *config_item(const struct config_value *list, size_t index)
{
    if (list == NULL || list->type != CONFIG_LIST || index >= list->count) {
        return NULL;
    }
    struct config_value *item = list->first;
    while (index-- > 0) {
        item = item->next;
    }
    return item;
}

const char *config_member_text(const struct config_value *object, const char *key)
{
    const struct config_value *member = config_member(object, key);
    return member != NULL && member->type == CONFIG_TEXT ? member->text : NULL;
}

/* ---- paths */

size_t config_path_push(char path[static CONFIG_PATH_BYTES], const char *key)
{
    const size_t length = strlen(path);
    size_t used = length;
    if (used + 1 < CONFIG_PATH_BYTES) {
        path[used++] = '/';
    }
    for (; *key != '\0'; key++) {
        const char *escaped = key;
        size_t bytes = 1;
        if (*key == '~' || *key == '/') {
            escaped = *key == '~' ? "~0" : "~1";
            bytes = 2;
        }
        if (used + bytes >= CONFIG_PATH_BYTES) {
            break;
        }
        memcpy(path + used, escaped, bytes);
        used += bytes;
    }
    path[used] = '\0';
    return length;
}

size_t config_path_push_index(char path[static CONFIG_PATH_BYTES], size_t index)
{
    char number[24];
    (void)snprintf(number, sizeof number, "%zu", index);
    return config_path_push(path, number);
}

static bool is_member(const struct config_value *value)
{
    return value->parent != NULL && value->parent->type == CONFIG_OBJECT;
}

void config_value_path(const struct config_value *value, char path[static CONFIG_PATH_BYTES])
{
    path[0] = '\0';
    const struct config_value *chain[CONFIG_PATH_BYTES];
    size_t depth = 0;
    for (; value->parent != NULL && depth < CONFIG_PATH_BYTES; value = value->parent) {
        chain[depth++] = value;
    }
    while (depth > 0) {
        value = chain[--depth];
        if (is_member(value)) {
            (void)config_path_push(path, value->key);
        } else {
            (void)config_path_push_index(path, value->index);
        }
    }
}

/* Copies the first component of a JSON pointer, unescaped and truncated to the size of `component`.
 * Returns the rest of the JSON pointer. */
static const char *next_component(const char *path, char component[static CONFIG_PATH_BYTES])
{
    size_t used = 0;
    for (path += *path == '/'; *path != '\0' && *path != '/'; path++) {
        char c = *path;
        if (c == '~' && (path[1] == '0' || path[1] == '1')) {
            c = *++path == '0' ? '~' : '/';
        }
        if (used + 1 < CONFIG_PATH_BYTES) {
            component[used++] = c;
        }
    }
    component[used] = '\0';
    return path;
}

struct config_value *config_child(const struct config_value *parent, const char *component)
{
    if (parent->type == CONFIG_OBJECT) {
        return config_member(parent, component);
    }
    char *end = NULL;
    const unsigned long index = strtoul(component, &end, 10);
    const bool is_index = component[0] >= '0' && component[0] <= '9' && *end == '\0';
    return is_index ? config_item(parent, index) : NULL;
}

const struct config_value *config_at(const struct config_value *root, const char *path,
                                     bool *ret_exact)
{
    *ret_exact = true;
    while (*path == '/') {
        char component[CONFIG_PATH_BYTES];
        path = next_component(path, component);
        const struct config_value *child = config_child(root, component);
        if (child == NULL) {
            *ret_exact = false;
            break;
        }
        root = child;
    }
    return root;
}
