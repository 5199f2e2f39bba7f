/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which value of a JSON text stands where. jansson tells no positions of values, so this reads the
 * same text once more; the text is known to be valid, only bounds are checked.
 */
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

static int add_position(struct config_positions *positions, const struct config_position *item,
                        struct vamp_err *err)
{
    if (positions->count >= CONFIG_VALUES_MAX) {
        return vamp_err_set(err, -E2BIG, "more than %d values in one configuration",
                            CONFIG_VALUES_MAX);
    }
    if ((positions->count & (positions->count - 1)) == 0) {
        size_t room = positions->count == 0 ? 1 : (size_t)positions->count * 2;
        struct config_position *items = reallocarray(positions->items, room, sizeof *items);
        if (items == NULL) {
            return vamp_err_set_errno(err, ENOMEM, "note the places in the configuration");
        }
        positions->items = items;
    }
    positions->items[positions->count++] = *item;
    return 0;
}

static uint32_t skip_string(const char *text, uint32_t at)
{
    for (at++; text[at] != '"' && text[at] != '\0'; at++) {
        if (text[at] == '\\' && text[at + 1] != '\0') {
            at++;
        }
    }
    return text[at] == '"' ? at + 1 : at;
}

/* A list or object whose end was not reached yet. */
struct frame {
    uint32_t item;  /* its own position */
    uint32_t count; /* values in it so far */
    bool object;
};

/* The scan's state: `key_offset` is the key read last, in an object. */
struct scan {
    struct config_positions *positions;
    struct frame frames[CONFIG_DEPTH_MAX];
    unsigned depth;
    uint32_t key_offset;
    bool have_key;
};

/* Notes the value that begins at `at`, and enters it when it holds others. */
static int begin_value(struct scan *scan, uint32_t at, struct vamp_err *err)
{
    struct frame *frame = scan->depth > 0 ? &scan->frames[scan->depth - 1] : NULL;
    const struct config_position item = {
        .parent = frame != NULL ? frame->item : 0,
        .index = frame != NULL ? frame->count++ : 0,
        .key_offset = scan->key_offset,
        .value_offset = at,
        .keyed = frame != NULL && frame->object,
    };
    scan->have_key = false;
    int code = add_position(scan->positions, &item, err);
    char first = scan->positions->text[at];
    if (code == 0 && (first == '{' || first == '[') && scan->depth < CONFIG_DEPTH_MAX) {
        scan->frames[scan->depth++] = (struct frame){
            .item = scan->positions->count - 1,
            .object = first == '{',
        };
    }
    return code;
}

static bool expects_key(const struct scan *scan)
{
    return scan->depth > 0 && scan->frames[scan->depth - 1].object && !scan->have_key;
}

int config_positions_init(struct config_positions *positions, const char *text,
                          struct vamp_err *err)
{
    *positions = (struct config_positions){.text = text};
    struct scan scan = {.positions = positions};
    int code = 0;
    uint32_t at = 0;
    while (text[at] != '\0' && code == 0) {
        switch (text[at]) {
        case ' ':
        case '\t':
        case '\n':
        case '\r':
        case ',':
        case ':':
            at++;
            break;
        case '}':
        case ']':
            scan.depth -= scan.depth > 0;
            at++;
            break;
        case '"':
            if (expects_key(&scan)) {
                scan.key_offset = at;
                scan.have_key = true;
            } else {
                code = begin_value(&scan, at, err);
            }
            at = skip_string(text, at);
            break;
        case '{':
        case '[':
            code = begin_value(&scan, at, err);
            at++;
            break;
        default: /* a number, true, false, null */
            code = begin_value(&scan, at, err);
            at += (uint32_t)strcspn(text + at, " \t\n\r,:]}");
            break;
        }
    }
    if (code != 0) {
        config_positions_done(positions);
    }
    return code;
}

void config_positions_done(struct config_positions *positions)
{
    free(positions->items);
    *positions = (struct config_positions){0};
}

/* ---- keys as they are written */

static unsigned hex_digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10U;
}

static unsigned hex4(const char *at)
{
    return hex_digit(at[0]) << 12 | hex_digit(at[1]) << 8 | hex_digit(at[2]) << 4 |
           hex_digit(at[3]);
}

static size_t put_utf8(unsigned point, char bytes[static 4])
{
    if (point < 0x80) {
        bytes[0] = (char)point;
        return 1;
    }
    size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--) {
        bytes[i] = (char)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    bytes[0] = (char)(lead[length] | point);
    return length;
}

/* One character of a JSON text into `bytes`; returns how many bytes, and moves `*at` behind it. */
static size_t decode(const char **at, char bytes[static 4])
{
    const char *from = *at;
    if (*from != '\\') {
        bytes[0] = *from;
        *at = from + 1;
        return 1;
    }
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *found = strchr(escapes, from[1]);
    if (from[1] != 'u') {
        bytes[0] = found != NULL ? meanings[found - escapes] : from[1];
        *at = from + 2;
        return 1;
    }
    unsigned point = hex4(from + 2);
    *at = from + 6;
    if (point >= 0xd800 && point < 0xdc00 && from[6] == '\\' && from[7] == 'u') {
        point = 0x10000 + ((point - 0xd800) << 10) + (hex4(from + 8) - 0xdc00);
        *at = from + 12;
    }
    return put_utf8(point, bytes);
}

/* Compares the JSON text at `quote` with a terminated one. */
static bool key_is(const char *quote, const char *key)
{
    const char *at = quote + 1;
    while (*at != '"') {
        char bytes[4];
        size_t length = decode(&at, bytes);
        if (strncmp(key, bytes, length) != 0) {
            return false;
        }
        key += length;
    }
    return *key == '\0';
}

static bool same_key(const char *left, const char *right)
{
    const char *a = left + 1;
    const char *b = right + 1;
    while (*a != '"' && *b != '"') {
        char first[4];
        char second[4];
        size_t length = decode(&a, first);
        if (decode(&b, second) != length || memcmp(first, second, length) != 0) {
            return false;
        }
    }
    return *a == *b;
}

/* ---- paths */

/* Appends to a path of any buffer size; cuts what does not fit. */
static void push(char *path, size_t bytes, const char *component)
{
    size_t used = strlen(path);
    if (used + 1 < bytes) {
        path[used++] = '/';
    }
    for (; *component != '\0'; component++) {
        const char *escaped = *component == '~' ? "~0" : *component == '/' ? "~1" : NULL;
        size_t length = escaped != NULL ? 2 : 1;
        if (used + length >= bytes) {
            break;
        }
        memcpy(path + used, escaped != NULL ? escaped : component, length);
        used += length;
    }
    path[used] = '\0';
}

size_t config_path_push(char path[static CONFIG_PATH_BYTES], const char *key)
{
    size_t length = strlen(path);
    push(path, CONFIG_PATH_BYTES, key);
    return length;
}

size_t config_path_push_index(char path[static CONFIG_PATH_BYTES], size_t index)
{
    char number[24];
    (void)snprintf(number, sizeof number, "%zu", index);
    return config_path_push(path, number);
}

const char *config_path_component(const char *path, char *component, size_t bytes)
{
    size_t used = 0;
    for (path += *path == '/'; *path != '\0' && *path != '/'; path++) {
        char c = *path;
        if (c == '~' && (path[1] == '0' || path[1] == '1')) {
            c = *++path == '0' ? '~' : '/';
        }
        if (used + 1 < bytes) {
            component[used++] = c;
        }
    }
    component[used] = '\0';
    return path;
}

/* The child of item `parent` with this key or index, 0: none. Children come behind their parents.
 */
static uint32_t find_child(const struct config_positions *positions, uint32_t parent,
                           const char *component)
{
    char *end = NULL;
    unsigned long index = strtoul(component, &end, 10);
    bool is_index = end != component && *end == '\0';
    for (uint32_t i = parent + 1; i < positions->count; i++) {
        const struct config_position *item = &positions->items[i];
        if (item->parent == parent &&
            (item->keyed ? key_is(positions->text + item->key_offset, component)
                         : is_index && item->index == index)) {
            return i;
        }
    }
    return 0;
}

const struct config_position *config_positions_find(const struct config_positions *positions,
                                                    const char *path, bool *ret_exact)
{
    if (positions->count == 0) {
        return NULL;
    }
    uint32_t found = 0;
    *ret_exact = true;
    while (*path == '/') {
        char component[CONFIG_PATH_BYTES];
        path = config_path_component(path, component, sizeof component);
        uint32_t child = find_child(positions, found, component);
        if (child == 0) {
            *ret_exact = false;
            break;
        }
        found = child;
    }
    return &positions->items[found];
}

size_t config_positions_inside(const struct config_positions *positions,
                               const struct config_position *position, unsigned line,
                               unsigned column)
{
    const char *at = positions->text + position->value_offset;
    if (*at != '"') {
        return position->value_offset;
    }
    at++;
    for (unsigned l = 1, c = 1; *at != '"' && (l < line || (l == line && c < column));) {
        char bytes[4];
        (void)decode(&at, bytes);
        if (bytes[0] == '\n') {
            l++;
            c = 1;
        } else if (((unsigned char)*at & 0xc0) != 0x80) {
            c++; /* the next byte begins a character */
        }
    }
    return (size_t)(at - positions->text);
}

const struct config_position *config_positions_duplicate(const struct config_positions *positions,
                                                         unsigned *from,
                                                         const struct config_position **ret_first)
{
    for (; *from < positions->count; (*from)++) {
        const struct config_position *item = &positions->items[*from];
        for (uint32_t i = item->parent + 1; item->keyed && i < *from; i++) {
            const struct config_position *earlier = &positions->items[i];
            if (earlier->keyed && earlier->parent == item->parent &&
                same_key(positions->text + earlier->key_offset,
                         positions->text + item->key_offset)) {
                *ret_first = earlier;
                (*from)++;
                return item;
            }
        }
    }
    return NULL;
}

void config_positions_path(const struct config_positions *positions,
                           const struct config_position *position, char *path, size_t bytes)
{
    const struct config_position *chain[CONFIG_DEPTH_MAX + 1];
    unsigned depth = 0;
    while (position != positions->items && depth <= CONFIG_DEPTH_MAX) {
        chain[depth++] = position;
        position = &positions->items[position->parent];
    }
    path[0] = '\0';
    while (depth > 0) {
        const struct config_position *item = chain[--depth];
        char component[256];
        size_t used = 0;
        if (!item->keyed) {
            (void)snprintf(component, sizeof component, "%u", item->index);
            push(path, bytes, component);
            continue;
        }
        const char *at = positions->text + item->key_offset + 1;
        while (*at != '"' && used + 4 < sizeof component) {
            used += decode(&at, component + used);
        }
        component[used] = '\0';
        push(path, bytes, component);
    }
}
