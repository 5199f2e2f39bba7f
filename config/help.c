/* SPDX-License-Identifier: BSD-3-Clause */
/* All options of the configuration as text, for --help and the manual. */
#include <ctype.h>
#include <string.h>

#include "config/internal.h"

#define INDENT 6
#define WIDTH 100

/* Text in lines of WIDTH, indented; with a capital at its begin. */
static void print_wrapped(FILE *stream, int indent, const char *text)
{
    size_t column = (size_t)indent;
    (void)fprintf(stream, "%*s", indent, "");
    bool first = true;
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        if (!first && column + 1 + length > WIDTH) {
            (void)fprintf(stream, "\n%*s", indent, "");
            column = (size_t)indent;
        } else if (!first) {
            (void)fputc(' ', stream);
            column++;
        }
        if (first) {
            (void)fprintf(stream, "%c%.*s", toupper((unsigned char)*text), (int)length - 1,
                          text + 1);
        } else {
            (void)fprintf(stream, "%.*s", (int)length, text);
        }
        first = false;
        column += length;
        text += length;
        text += *text == ' ';
    }
    (void)fputc('\n', stream);
}

/* The table of a section, source or output. `conditions`: of its options, or NULL. */
struct table {
    const char *section;
    const struct vamp_opt *options;
    const struct vamp_opt_conditions *conditions;
};

static void print_option(FILE *stream, const struct table *table, const struct vamp_opt *opt)
{
    const char *section = table->section;
    char allowed[VAMP_OPT_ALLOWED_BYTES];
    char only_with[VAMP_OPT_ALLOWED_BYTES];
    vamp_opt_allowed(opt, allowed);
    vamp_opt_only_with(opt, table->conditions, only_with);
    (void)fprintf(stream, "  %s%s%s", section, section[0] != '\0' ? "." : "", opt->key);
    if (opt->preset != NULL && opt->preset[0] != '\0') {
        (void)fprintf(stream, " = %s", opt->preset);
    }
    (void)fputc('\n', stream);
    char text[1024 + 2 * VAMP_OPT_ALLOWED_BYTES];
    (void)snprintf(text, sizeof text, "%s.%s%s%s Allowed: %s.", opt->help,
                   only_with[0] != '\0' ? " Has an effect " : "", only_with,
                   only_with[0] != '\0' ? "." : "", allowed);
    print_wrapped(stream, INDENT, text);
}

static void print_table(FILE *stream, const struct table *table)
{
    for (const struct vamp_opt *opt = table->options; opt->key != NULL; opt++) {
        print_option(stream, table, opt);
    }
}

typedef const struct vamp_opt *table_of(const struct vamp_writer_ops *format);

/* Whether a format of the program before this one in the list has the same table. */
static bool printed_before(enum vamp_config_program program,
                           const struct vamp_writer_ops *const *format, table_of *table)
{
    for (const struct vamp_writer_ops *const *each = vamp_writers; each != format; each++) {
        if (config_takes_format(program, *each) && table(*each) == table(*format)) {
            return true;
        }
    }
    return false;
}

/* Each table that formats share, once, with the formats that have it. */
static void print_shared(FILE *stream, enum vamp_config_program program, const char *section,
                         const char *what, table_of *table)
{
    for (const struct vamp_writer_ops *const *first = vamp_writers; *first != NULL; first++) {
        if (!config_takes_format(program, *first) || table(*first) == NULL ||
            printed_before(program, first, table)) {
            continue;
        }
        char heading[256];
        size_t used = (size_t)snprintf(heading, sizeof heading, "%s of type", what);
        const char *separator = " ";
        for (const struct vamp_writer_ops *const *each = first; *each != NULL; each++) {
            if (config_takes_format(program, *each) && table(*each) == table(*first) &&
                used < sizeof heading) {
                used += (size_t)snprintf(heading + used, sizeof heading - used, "%s\"%s\"",
                                         separator, (*each)->name);
                separator = ", ";
            }
        }
        char line[sizeof heading + 1];
        (void)snprintf(line, sizeof line, "%s:", heading);
        print_wrapped(stream, 0, line);
        print_table(stream, &(struct table){section, table(*first), NULL});
    }
}

/* A section that all outputs with files have, with their types. */
static void print_output_section(FILE *stream, enum vamp_config_program program,
                                 const struct vamp_output_section *section)
{
    char heading[512], name[64];
    size_t used =
        (size_t)snprintf(heading, sizeof heading, "%s, for outputs of type", section->help);
    const char *separator = " ";
    for (const struct vamp_writer_ops *const *each = vamp_writers; *each != NULL; each++) {
        if (config_takes_format(program, *each) && vamp_output_sections(*each)->key != NULL &&
            used < sizeof heading) {
            used += (size_t)snprintf(heading + used, sizeof heading - used, "%s\"%s\"", separator,
                                     (*each)->name);
            separator = ", ";
        }
    }
    (void)fprintf(stream, "%c%s:\n", toupper((unsigned char)heading[0]), heading + 1);
    (void)snprintf(name, sizeof name, "outputs.N.%s", section->key);
    print_table(stream, &(struct table){name, section->options, NULL});
}

static void print_sources(FILE *stream)
{
    for (const struct vamp_source_ops *const *each = vamp_sources; *each != NULL; each++) {
        char heading[256];
        (void)snprintf(heading, sizeof heading, "Source \"type\": \"%s\"%s: %s:", (*each)->name,
                       each == vamp_sources ? " (the default)" : "", (*each)->summary);
        print_wrapped(stream, 0, heading);
        print_table(stream, &(struct table){"source", (*each)->options, (*each)->conditions});
    }
}

static void print_alarms(FILE *stream)
{
    (void)fprintf(stream, "Rules of alarms (N: the number in the list, from 0):\n");
    print_table(stream, &(struct table){"alarms.N", vamp_alarm_options, NULL});
    for (const struct vamp_alarm_action_ops *const *each = vamp_alarm_actions; *each != NULL;
         each++) {
        char heading[256];
        (void)snprintf(heading, sizeof heading, "Action \"type\": \"%s\": %s:", (*each)->name,
                       (*each)->summary);
        print_wrapped(stream, 0, heading);
        if ((*each)->options->key == NULL) {
            print_wrapped(stream, INDENT, "No options");
        }
        print_table(stream, &(struct table){"alarms.N.actions.M", (*each)->options, NULL});
    }
}

static void print_outputs(FILE *stream, enum vamp_config_program program)
{
    print_shared(stream, program, "outputs.N", "Outputs (N: number from 0, or name)",
                 vamp_output_options);
    for (const struct vamp_output_section *section = vamp_output_sections(vamp_writers[0]);
         section->key != NULL; section++) {
        print_output_section(stream, program, section);
    }
    for (const struct vamp_writer_ops *const *each = vamp_writers; *each != NULL; each++) {
        if (!config_takes_format(program, *each)) {
            continue;
        }
        char heading[256];
        (void)snprintf(heading, sizeof heading, "Output \"type\": \"%s\": %s%s", (*each)->name,
                       (*each)->summary, (*each)->options->key != NULL ? ":" : "");
        print_wrapped(stream, 0, heading);
        print_table(stream, &(struct table){"outputs.N", (*each)->options, (*each)->targets});
    }
}

void vamp_config_help(enum vamp_config_program program, FILE *stream)
{
    for (const struct config_section *section = config_sections[program]; section->key != NULL;
         section++) {
        if (section->options->key != NULL) {
            (void)fprintf(stream, "%s:\n", section->help);
            print_table(stream, &(struct table){section->key, section->options, NULL});
        }
    }
    if (program == VAMP_CONFIG_VAMPIRE) {
        print_sources(stream);
        print_alarms(stream);
    }
    print_outputs(stream, program);
}
