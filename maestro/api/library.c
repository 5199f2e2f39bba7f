/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the one library of a process, and how calls enter and leave it. */
#include <assert.h>

#include "maestro/api/internal.h"

struct library library = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .idle = PTHREAD_COND_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
    .leftovers = {.head = {&library.leftovers.head, &library.leftovers.head}},
};

void api_forget_leftover(struct list_link *of_library)
{
    (void)pthread_mutex_lock(&library.lock);
    list_remove(of_library);
    (void)pthread_mutex_unlock(&library.lock);
}

mstro_status api_enter_for(const char *what, uint64_t generation)
{
    (void)pthread_mutex_lock(&library.lock);
    bool inside = library.ready && (generation == 0 || generation == library.generation);
    library.active += inside;
    (void)pthread_mutex_unlock(&library.lock);
    return inside ? MSTRO_OK
                  : api_fail(MSTRO_UNINIT,
                             "%s: mstro_init has not been called, or mstro_finalize "
                             "has",
                             what);
}

mstro_status api_enter(const char *what)
{
    return api_enter_for(what, 0);
}

void api_leave(void)
{
    (void)pthread_mutex_lock(&library.lock);
    assert(library.active > 0);
    if (--library.active == 0) {
        (void)pthread_cond_broadcast(&library.idle);
    }
    (void)pthread_mutex_unlock(&library.lock);
}

mstro_status api_call(Mstro__Wire__Request *request, struct port_answer *ret_answer)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct port_answer unused;
    mstro_status status = library.port->ops->call(library.port, request, 0,
                                                  ret_answer == NULL ? &unused : ret_answer, &err);
    return status == MSTRO_OK ? status : api_fail(status, "%s", err.text);
}
