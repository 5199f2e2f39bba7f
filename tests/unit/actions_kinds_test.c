/* SPDX-License-Identifier: BSD-3-Clause */
/* Each kind of action from its options to its effect, with the services that all share. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/events.h"
#include "vampire/alarms/action.h"
#include "vampire/alarms/actions/services.h"

#define SECOND VAMP_NS_PER_SECOND

/* ---- the world */

struct world {
    char folder[64];
    struct vamp_run run;
    struct vamp_components *components;
    struct vamp_action_services services;
    const struct vamp_alarm_action_ops *ops;
    void *options, *action;
    char said[1024];
    bool error;
};

static void say_action(void *context, bool error, const char *line)
{
    struct world *world = context;
    world->error = world->error || error;
    (void)snprintf(world->said, sizeof world->said, "%s", line);
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    (void)snprintf(world->folder, sizeof world->folder, "/tmp/vampire-actions-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    world->run = (struct vamp_run){
        .id = "6f9619ff-8b86-4011-b42d-00cf4fc964ff",
        .workflow = "forecast",
        .component = "vampire",
        .version = "test",
        .host = "node1",
        .user = "operator",
        .batch_job = "",
        .pid = 4711,
    };
    assert_int_equal(vamp_components_create(16, &world->components, NULL), 0);
    world->services = (struct vamp_action_services){
        .say = say_action,
        .say_context = world,
        .run = &world->run,
        .components = world->components,
    };
    *state = world;
    return 0;
}

static void close_action(struct world *world)
{
    if (world->ops != NULL) {
        if (world->action != NULL) {
            world->ops->close(world->action);
        }
        vamp_opt_done(world->ops->options, world->options);
        free(world->options);
        world->ops = NULL;
        world->action = NULL;
    }
}

static int tear_down(void **state)
{
    struct world *world = *state;
    char command[128];
    close_action(world);
    vamp_action_services_done(&world->services);
    vamp_components_free(world->components);
    (void)snprintf(command, sizeof command, "rm -rf %s", world->folder);
    assert_int_equal(system(command), 0);
    free(world);
    return 0;
}

static void choose(struct world *world, const char *type)
{
    for (size_t i = 0; vamp_alarm_actions[i] != NULL; i++) {
        if (strcmp(vamp_alarm_actions[i]->name, type) == 0) {
            world->ops = vamp_alarm_actions[i];
        }
    }
    assert_non_null(world->ops);
    world->options = calloc(1, world->ops->options_bytes);
    assert_non_null(world->options);
    assert_int_equal(vamp_opt_presets(world->ops->options, world->options, NULL), 0);
}

static void set(struct world *world, const char *key, const char *value)
{
    const struct vamp_opt *opt = vamp_opt_find(world->ops->options, key);
    assert_non_null(opt);
    assert_int_equal(vamp_opt_set(opt, world->options, value, NULL), 0);
}

static void open_action(struct world *world)
{
    struct vamp_err err = VAMP_ERR_NONE;
    if ((world->ops->check != NULL && world->ops->check(world->options, &err) != 0) ||
        world->ops->open(world->options, &world->services, &world->action, &err) != 0) {
        fail_msg("%s", err.text);
    }
}

static struct vamp_alarm_change change_to(enum vamp_alarm_state state, int64_t time_ns)
{
    struct vamp_alarm_change change = {
        .alarm = "stuck",
        .severity = VAMP_ALARM_CRITICAL,
        .state = (uint8_t)state,
        .time_ns = time_ns,
        .since_ns = time_ns,
        .metric = "demand_oldest_ns",
        .unit = "ns",
        .has_value = true,
        .value = 34e9,
        .threshold = "> 30s",
        .label_count = 1,
        .cdo = "$(touch \"x\")\n",
    };
    change.labels[0].name = "component";
    (void)snprintf(change.labels[0].value, sizeof change.labels[0].value, "Products");
    return change;
}

static void enter(struct world *world, enum vamp_alarm_state state, int64_t time_ns)
{
    const struct vamp_alarm_change change = change_to(state, time_ns);
    world->ops->change(world->action, &change);
}

/* ---- tests */

static void a_command_reads_the_change_as_json(void **state)
{
    struct world *world = *state;
    char path[96], text[2048];
    (void)snprintf(path, sizeof path, "%s/input", world->folder);
    choose(world, "command");
    set(world, "argv", "/bin/sh");
    set(world, "argv", "-c");
    set(world, "argv", "cat >> \"$0\"");
    set(world, "argv", path);
    open_action(world);
    enter(world, VAMP_ALARM_PENDING, 0);
    enter(world, VAMP_ALARM_FIRING, 60 * SECOND);
    enter(world, VAMP_ALARM_RESOLVED, 90 * SECOND);
    vamp_action_services_finish(&world->services);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    static const char begin[] =
        "{\"type\":\"alarm\",\"time\":\"1970-01-01T00:01:00.000000000Z\",\"workflow\":\"forecast\","
        "\"run\":\"6f9619ff-8b86-4011-b42d-00cf4fc964ff\",\"host\":\"node1\",\"pid\":4711,"
        "\"user\":\"operator\",\"batch_job\":\"\",\"alarm\":\"stuck\",";
    assert_memory_equal(text, begin, sizeof begin - 1);
    assert_non_null(strstr(text, "\"cdo\":\"$(touch \\\"x\\\")\\n\""));
    const char *second = strstr(text, "}\n{\"type\":\"alarm\"");
    assert_non_null(second);
    assert_non_null(strstr(second, "\"state\":\"resolved\""));
    assert_false(world->error);
    struct vamp_commands_account account;
    vamp_commands_account(world->services.commands, &account);
    assert_int_equal(account.succeeded, 2);
    assert_int_equal(account.failed, 0);
}

static void mistakes_of_a_command_are_found_before_it_runs(void **state)
{
    struct world *world = *state;
    struct vamp_err err = VAMP_ERR_NONE;
    choose(world, "command");
    assert_int_equal(world->ops->check(world->options, &err), -EINVAL);
    assert_string_equal(err.text,
                        "an action of type command needs \"argv\": [\"/path/of/program\", ...]");
    set(world, "argv", "page-operator");
    assert_int_equal(world->ops->check(world->options, &err), -EINVAL);
    assert_string_equal(err.text,
                        "\"argv\" begins with \"page-operator\", which is no absolute path");
    vamp_opt_clear(vamp_opt_find(world->ops->options, "argv"), world->options);
    set(world, "argv", "/nowhere/page-operator");
    assert_int_equal(world->ops->check(world->options, &err), 0);
    assert_int_equal(world->ops->open(world->options, &world->services, &world->action, &err),
                     -ENOENT);
    assert_string_equal(err.text, "run /nowhere/page-operator: No such file or directory");
}

static void level_selects_cdos_while_it_fires(void **state)
{
    struct world *world = *state;
    choose(world, "level");
    open_action(world);
    const struct vamp_event join = event_join(1, 7, "Products");
    (void)vamp_components_observe(world->components, &join);
    const struct vamp_event own = event_cdo(VAMP_EVENT_DEMAND, 5, 7, 1);
    const struct vamp_event other = event_cdo(VAMP_EVENT_DEMAND, 5, 8, 1);
    assert_false(vamp_action_services_select(&world->services, &own));
    enter(world, VAMP_ALARM_FIRING, 60 * SECOND);
    assert_true(vamp_action_services_select(&world->services, &own));
    assert_false(vamp_action_services_select(&world->services, &other));
    enter(world, VAMP_ALARM_RESOLVED, 90 * SECOND);
    assert_false(vamp_action_services_select(&world->services, &own));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_command_reads_the_change_as_json),
        TEST(mistakes_of_a_command_are_found_before_it_runs),
        TEST(level_selects_cdos_while_it_fires),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
