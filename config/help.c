/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the list of all options from the tables, for --help and the manual. */
#include <ctype.h>

#include "config/internal.h"

#define INDENT 6

static void print_wrapped(FILE *stream, int indent, const char *text)
{
    (void)fprintf(stream, "%*s", indent, "");
    vamp_opt_print_wrapped(stream, indent, text);
}

static void print_options(FILE *stream, const char *section, const struct vamp_opt *options,
                          const struct vamp_opt_conditions *conditions)
{
    for (const struct vamp_opt *opt = options; opt->key != NULL; opt++) {
        char text[CONFIG_DESCRIPTION_BYTES];
        config_describe_option(opt, conditions, ".", text);
        (void)fprintf(stream, "  %s%s%s", section, section[0] != '\0' ? "." : "", opt->key);
        if (opt->preset != NULL && opt->preset[0] != '\0') {
            (void)fprintf(stream, " = %s", opt->preset);
        }
        (void)fputc('\n', stream);
        print_wrapped(stream, INDENT, text);
    }
}

static void print_types(FILE *stream, enum vamp_config_program program, enum config_kind kind,
                        const char *section)
{
    static const char *const words[] = {
        [CONFIG_SOURCE] = "Source", [CONFIG_ALARMS] = "Action", [CONFIG_OUTPUTS] = "Output"};
    struct config_object type;
    for (unsigned i = 0; config_type(program, kind, i, &type); i++) {
        const struct vamp_opt *options = type.tables[kind == CONFIG_OUTPUTS].options;
        const char *note = "", *colon = "";
        if (kind == CONFIG_SOURCE && i == 0) {
            note = " (the default)";
        }
        if (kind != CONFIG_OUTPUTS || options->key != NULL) {
            colon = ":";
        }
        char heading[256];
        (void)snprintf(heading, sizeof heading, "%s \"type\": \"%s\"%s: %s%s", words[kind],
                       type.type, note, type.summary, colon);
        print_wrapped(stream, 0, heading);
        if (kind == CONFIG_ALARMS && options->key == NULL) {
            print_wrapped(stream, INDENT, "No options");
        }
        print_options(stream, section, options, type.conditions);
    }
}

/* Prints the options of outputs that do not depend on the type: each table once, with the types to
 * which it applies. */
static void print_shared(FILE *stream, enum vamp_config_program program, unsigned index)
{
    struct config_object first, other;
    for (unsigned i = 0; config_type(program, CONFIG_OUTPUTS, i, &first); i++) {
        const struct config_table *table = &first.tables[index];
        char heading[512], section[64] = "outputs.N";
        const char *help = "Outputs (N: number from 0, or name)", *where = "";
        if (table->key != NULL) {
            help = table->help;
            where = ", for outputs";
            (void)snprintf(section, sizeof section, "outputs.N.%s", table->key);
        }
        size_t used = (size_t)snprintf(heading, sizeof heading, "%s%s of type", help, where);
        bool printed = table->options == NULL;
        const char *separator = " ";
        for (unsigned k = 0; config_type(program, CONFIG_OUTPUTS, k, &other); k++) {
            if (other.tables[index].options == table->options && used < sizeof heading) {
                printed = printed || k < i;
                used += (size_t)snprintf(heading + used, sizeof heading - used, "%s\"%s\"",
                                         separator, other.type);
                separator = ", ";
            }
        }
        if (!printed) {
            (void)snprintf(heading + used, sizeof heading - used, ":");
            heading[0] = (char)toupper((unsigned char)heading[0]);
            print_wrapped(stream, 0, heading);
            print_options(stream, section, table->options, NULL);
        }
    }
}

void vamp_config_help(enum vamp_config_program program, FILE *stream)
{
    for (const struct config_part *part = config_parts[program]; part->key != NULL; part++) {
        if (part->kind == CONFIG_OPTIONS && part->options->key != NULL) {
            (void)fprintf(stream, "%s:\n", part->help);
            print_options(stream, part->key, part->options, NULL);
        }
    }
    if (program == VAMP_CONFIG_VAMPIRE) {
        print_types(stream, program, CONFIG_SOURCE, "source");
        (void)fprintf(stream, "Rules of alarms (N: the number in the list, from 0):\n");
        print_options(stream, "alarms.N", vamp_alarm_options, NULL);
        print_types(stream, program, CONFIG_ALARMS, "alarms.N.actions.M");
    }
    for (unsigned index = 0; index < CONFIG_TABLES_MAX; index++) {
        if (index != 1) { /* the options of the type itself */
            print_shared(stream, program, index);
        }
    }
    print_types(stream, program, CONFIG_OUTPUTS, "outputs.N");
}
