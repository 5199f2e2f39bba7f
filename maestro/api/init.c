/* SPDX-License-Identifier: BSD-3-Clause */
/* Initialisation and end of the library and of the pool manager in it. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "maestro/api/internal.h"
#include "maestro/server/server.h"
#include "maestro/wire/frame.h"
#include "vampire/core/user.h"

enum { JOIN_DEADLINE_MS = 30000, LEAVE_DEADLINE_MS = 5000 };

/* ------------------------------------------------------------------ start */

static void pool_gone(void *context, mstro_status status, const char *text)
{
    (void)context;
    (void)status;
    log_say(LOG_LEVEL_ERROR, "the pool manager is gone: %s", text);
    (void)pthread_mutex_lock(&library.lock);
    library.gone = true;
    cdos_wake();
    subscriptions_gone();
    (void)pthread_mutex_unlock(&library.lock);
}

/* An empty variable counts as not set, because shell scripts export empty variables. */
static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value == NULL || *value == '\0' ? NULL : value;
}

static uint32_t join_deadline_ms(void)
{
    const char *text = environment(MSTRO_ENV_JOIN_TIMEOUT_MS);
    char *end = NULL;
    if (text == NULL) {
        return JOIN_DEADLINE_MS;
    }
    const unsigned long value = strtoul(text, &end, 10);
    const bool fits = *end == '\0' && value > 0 && value <= 3600000;
    return fits ? (uint32_t)value : JOIN_DEADLINE_MS;
}

static void forget_all(void)
{
    schema_free(library.schemas);
    free(library.workflow);
    free(library.component);
    map_done(&library.cdos);
    library.schemas = NULL;
    library.workflow = library.component = NULL;
    library.port = NULL;
    library.server = NULL;
}

/* Describes this process; the texts point into the caller's buffers. */
static Mstro__Wire__Process describe_process(char host[static 256], char job[static 128],
                                             char user[static VAMP_USER_BYTES])
{
    Mstro__Wire__Process process = MSTRO__WIRE__PROCESS__INIT;
    const char *slurm = environment("SLURM_JOB_ID");
    const char *step = environment("SLURM_STEP_ID");
    const char *other = environment(environment("PBS_JOBID") != NULL ? "PBS_JOBID" : "LSB_JOBID");
    process.pid = (uint64_t)getpid();
    if (gethostname(host, 255) == 0) {
        process.host = host;
    }
    vamp_user_name(user);
    process.user = user;
    (void)snprintf(job, 128, "%s", vamp_text_or(slurm, vamp_text_or(other, "")));
    if (slurm != NULL && step != NULL) {
        (void)snprintf(job, 128, "%s.%s", slurm, step);
    }
    if (*job != '\0') {
        process.batch_job = job;
    }
    return process;
}

static mstro_status start_library(const char *workflow, const char *component, uint64_t index,
                                  struct vamp_err *err)
{
    const char *drop = environment(MSTRO_ENV_DROP_UNKNOWN_ATTRIBUTES);
    log_open(component);
    library.drop_unknown = drop != NULL && strcmp(drop, "0") != 0;
    library.gone = false;
    list_init(&library.cdo_list);
    list_init(&library.subscription_list);
    library.workflow = strdup(workflow);
    library.component = strdup(component);
    if (library.workflow == NULL || library.component == NULL || map_init(&library.cdos) < 0) {
        return VAMP_REFUSE(MSTRO_NOMEM, err, -ENOMEM, "out of memory");
    }
    mstro_status status = schema_load(environment(MSTRO_ENV_SCHEMA_LIST),
                                      environment(MSTRO_ENV_SCHEMA_PATH), &library.schemas, err);
    if (status != MSTRO_OK) {
        return status;
    }
    const struct port_events events = {.place = cdo_place,
                                       .arrived = cdo_arrived,
                                       .events = subscriptions_events,
                                       .gone = pool_gone};
    char host[256] = "", job[128] = "", user[VAMP_USER_BYTES];
    Mstro__Wire__Process process = describe_process(host, job, user);
    const struct port_member member = {.workflow = library.workflow,
                                       .component = library.component,
                                       .index = index,
                                       .process = &process};
    const char *info = environment(MSTRO_ENV_POOL_INFO);
    if (info == NULL) {
        return port_open_local(&member, NULL, &events, &library.port, err);
    }
    return port_open_remote(info, &member, join_deadline_ms(), &events, &library.port, err);
}

/* Waits until no thread is initialising or ending the library. Under the lock. */
static void await_change(void)
{
    while (library.changing) {
        (void)pthread_cond_wait(&library.changed, &library.lock);
    }
}

mstro_status mstro_init(const char *workflow_name, const char *component_name,
                        uint64_t component_index)
{
    const char *workflow = vamp_text_or(workflow_name, environment(MSTRO_ENV_WORKFLOW_NAME));
    const char *component = vamp_text_or(component_name, environment(MSTRO_ENV_COMPONENT_NAME));
    if (workflow == NULL || *workflow == '\0') {
        return api_fail(MSTRO_INVARG,
                        "mstro_init: no workflow name: give one, or set " MSTRO_ENV_WORKFLOW_NAME);
    }
    if (component == NULL || *component == '\0') {
        return api_fail(
            MSTRO_INVARG,
            "mstro_init: no component name: give one, or set " MSTRO_ENV_COMPONENT_NAME);
    }
    (void)pthread_mutex_lock(&library.lock);
    await_change();
    const bool first = !library.ready;
    library.changing = first;
    library.users += !first;
    (void)pthread_mutex_unlock(&library.lock);
    if (!first) {
        return api_note(LOG_LEVEL_INFO, MSTRO_NOT_TWICE,
                        "mstro_init: called before without mstro_finalize; each "
                        "call needs a mstro_finalize of its own");
    }
    struct vamp_err err = VAMP_ERR_NONE;
    mstro_status status = start_library(workflow, component, component_index, &err);
    if (status != MSTRO_OK) {
        forget_all();
    }
    (void)pthread_mutex_lock(&library.lock);
    library.ready = status == MSTRO_OK;
    library.users = status == MSTRO_OK;
    library.generation += status == MSTRO_OK;
    library.changing = false;
    (void)pthread_cond_broadcast(&library.changed);
    (void)pthread_mutex_unlock(&library.lock);
    if (status != MSTRO_OK) {
        return api_fail(status, "mstro_init: %s", err.text);
    }
    return MSTRO_OK;
}

/* ------------------------------------------------------------------ end */

mstro_status mstro_finalize(void)
{
    (void)pthread_mutex_lock(&library.lock);
    await_change();
    const bool ready = library.ready;
    assert(!ready || library.users > 0);
    library.users -= ready;
    const bool last = ready && library.users == 0;
    if (last) { /* from here on no call begins, and waits that only this process can end have been
                 * ended */
        library.ready = false;
        library.changing = true;
        cdos_wake();
        subscriptions_gone();
    }
    (void)pthread_mutex_unlock(&library.lock);
    if (!ready) {
        return api_fail(MSTRO_UNINIT, "mstro_finalize: mstro_init was not called");
    }
    if (!last) {
        return MSTRO_OK;
    }
    /* The pool manager in this process ends first, while the port still works. */
    server_stop(library.server, NULL);
    Mstro__Wire__Leave leave = MSTRO__WIRE__LEAVE__INIT;
    Mstro__Wire__Request request = PORT_REQUEST(LEAVE, leave, &leave);
    struct port_answer answer;
    struct vamp_err err = VAMP_ERR_NONE;
    /* If this fails, the pool manager removes the component after its silence time. */
    (void)library.port->ops->call(library.port, &request, LEAVE_DEADLINE_MS, &answer, &err);
    library.port->ops->shut(library.port);

    (void)pthread_mutex_lock(&library.lock);
    /* The port must stay open until the last call in another thread has returned. */
    while (library.active > 0) {
        (void)pthread_cond_wait(&library.idle, &library.lock);
    }
    (void)pthread_mutex_unlock(&library.lock);
    library.port->ops->close(library.port);

    (void)pthread_mutex_lock(&library.lock);
    /* Handles that were not disposed become leftovers. */
    size_t held = cdos_detach();
    subscriptions_detach();
    forget_all();
    library.changing = false;
    (void)pthread_cond_broadcast(&library.changed);
    (void)pthread_mutex_unlock(&library.lock);
    if (held > 0) {
        log_say(LOG_LEVEL_WARNING, "mstro_finalize: %zu CDOs were not disposed; released", held);
    }
    log_end();
    return MSTRO_OK;
}

/* ------------------------------------------------------------------ pool manager */

mstro_status mstro_pm_start(void)
{
    mstro_status status = api_enter("mstro_pm_start", 0);
    if (status != MSTRO_OK) {
        return status;
    }
    struct vamp_err err = VAMP_ERR_NONE;
    if (library.server != NULL) {
        status = api_fail(MSTRO_NOT_TWICE, "mstro_pm_start: this process is a pool manager");
    } else if (environment(MSTRO_ENV_POOL_INFO) != NULL) {
        status = api_fail(MSTRO_INVSTATE, "mstro_pm_start: this component has joined the pool "
                                          "manager of " MSTRO_ENV_POOL_INFO);
    } else {
        status = server_start(library.port, library.workflow, NULL, &library.server, &err);
        if (status != MSTRO_OK) {
            (void)api_fail(status, "mstro_pm_start: %s", err.text);
        }
    }
    api_leave();
    return status;
}

mstro_status mstro_pm_getinfo(char **result)
{
    if (result == NULL) {
        return api_fail(MSTRO_INVARG, "mstro_pm_getinfo: no place for the result");
    }
    mstro_status status = api_enter("mstro_pm_getinfo", 0);
    if (status != MSTRO_OK) {
        return status;
    }
    if (library.server == NULL) {
        status = api_fail(MSTRO_NO_PM, "mstro_pm_getinfo: mstro_pm_start was not called");
    } else {
        char *copy = strdup(server_info(library.server));
        if (copy != NULL) {
            *result = copy;
        } else {
            status = api_fail(MSTRO_NOMEM, "mstro_pm_getinfo: out of memory");
        }
    }
    api_leave();
    return status;
}

mstro_status mstro_pm_terminate(void)
{
    mstro_status status = api_enter("mstro_pm_terminate", 0);
    if (status != MSTRO_OK) {
        return status;
    }
    if (library.server == NULL) {
        status = api_fail(MSTRO_NO_PM, "mstro_pm_terminate: mstro_pm_start was not called");
    }
    server_stop(library.server, NULL);
    library.server = NULL;
    api_leave();
    return status;
}
