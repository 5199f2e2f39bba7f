/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/alarm_lines.h"

#include <inttypes.h>

static bool has_something_to_say(const struct vamp_alarm_state_count *rule)
{
    return rule->fired > 0 || rule->pending > 0 || rule->not_followed > 0 || rule->delayed > 0;
}

static void print_rule(FILE *stream, const struct vamp_alarm_state_count *rule)
{
    (void)fprintf(stream,
                  "%s (%s): fired %" PRIu64 " time%s, %" PRIu64 " firing, %" PRIu64 " pending",
                  rule->name, vamp_alarm_severity_words[rule->severity], rule->fired,
                  rule->fired == 1 ? "" : "s", rule->firing, rule->pending);
    if (rule->not_followed > 0) {
        (void)fprintf(stream, "; follows %" PRIu64 " series, %" PRIu64 " MORE ARE NOT FOLLOWED",
                      rule->followed, rule->not_followed);
    }
    if (rule->delayed > 0) {
        (void)fprintf(stream, "; %" PRIu64 " changes a bucket late", rule->delayed);
    }
    (void)fputc('\n', stream);
}

/* With the word before the first line that is printed. */
static void print_line(FILE *stream, const struct vamp_alarm_state_count *rule, int columns,
                       const char **word)
{
    (void)fprintf(stream, "  %-*s ", columns, *word);
    print_rule(stream, rule);
    *word = "";
}

void vamp_alarm_lines_print_states(FILE *stream, const struct vamp_alarm_state_count *rules,
                                   unsigned count, int columns)
{
    const char *word = "alarms";
    for (unsigned i = 0; i < count; i++) {
        if (has_something_to_say(&rules[i])) {
            print_line(stream, &rules[i], columns, &word);
        }
    }
}

void vamp_alarm_lines_print(FILE *stream, const struct vamp_alarms *alarms, int columns, bool all)
{
    const char *word = "alarms";
    for (unsigned i = 0; i < vamp_alarms_count(alarms); i++) {
        struct vamp_alarm_state_count rule;
        vamp_alarms_state(alarms, i, &rule);
        if (all || has_something_to_say(&rule)) {
            print_line(stream, &rule, columns, &word);
        }
    }
}
