/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Doubly linked list of objects that contain their own link, and arrays that grow. A list is a ring
 * that includes its head. A link that is not on any list points to itself, so that removing it
 * twice is harmless.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Returns the object of type `type` whose member `member` is at `pointer`. */
#define CONTAINER_OF(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

struct list_link {
    struct list_link *next, *previous;
};

struct list {
    struct list_link head;
};

static inline void list_link_init(struct list_link *link)
{
    link->next = link->previous = link;
}

static inline void list_init(struct list *list)
{
    list_link_init(&list->head);
}

static inline bool list_is_empty(const struct list *list)
{
    return list->head.next == &list->head;
}

static inline void list_append(struct list *list, struct list_link *link)
{
    link->previous = list->head.previous;
    link->next = &list->head;
    link->previous->next = link;
    list->head.previous = link;
}

static inline void list_remove(struct list_link *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    list_link_init(link);
}

static inline bool list_is_linked(const struct list_link *link)
{
    return link->next != link;
}

/* Returns NULL if the list is empty. */
static inline struct list_link *list_first(const struct list *list)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes a removed link for one that is there. */
    return list_is_empty(list) ? NULL : list->head.next;
}

/* Removes and returns the first link; NULL if the list is empty. */
static inline struct list_link *list_take(struct list *list)
{
    if (list_is_empty(list)) {
        return NULL;
    }
    struct list_link *link = list->head.next;
    list->head.next = link->next;
    link->next->previous = &list->head;
    list_link_init(link);
    return link;
}

/* Returns the link after `link`; NULL at the end. */
static inline struct list_link *list_next(const struct list *list, const struct list_link *link)
{
    return link->next == &list->head ? NULL : link->next;
}

/* Loops over the objects of type `type` that are linked by `member`; the list must not change. */
#define LIST_EACH(object, list, type, member)                                                      \
    for (type *object = CONTAINER_OF((list)->head.next, type, member);                             \
         &object->member != &(list)->head;                                                         \
         object = CONTAINER_OF(object->member.next, type, member))

/* Grows an array, by doubling, so that it has an element with index `count`; new elements are
 * zeroed. `array` is the address of the pointer to the array, which is malloc'ed or NULL and has
 * `*room` elements of `bytes` each. Returns false if out of memory; the array is then unchanged. */
static inline bool vamp_array_reserve(void *array, unsigned *room, unsigned count, size_t bytes)
{
    void *present;
    unsigned wanted = *room > 0 ? *room : 8;
    if (count < *room) {
        return true;
    }
    while (wanted <= count) {
        wanted *= 2;
    }
    memcpy(&present, array,
           sizeof present); /* copied, since `array` may point to a pointer of any type */
    char *larger = reallocarray(present, wanted, bytes);
    if (larger != NULL) {
        memset(larger + *room * bytes, 0, (wanted - *room) * bytes);
        memcpy(array, &larger, sizeof larger);
        *room = wanted;
    }
    return larger != NULL;
}
