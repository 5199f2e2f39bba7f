/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion for bash, from the option tables. */
#include <string.h>

#include "config/internal.h"
#include "vampire/cli/options.h"

/* ---- every option of the configuration, in one order for all who list them */

/* `section` is the dotted path before the key, "" at the root. */
typedef void visit_fn(FILE *stream, const char *section, const struct vamp_opt *opt);

static void visit_table(FILE *stream, const char *section, const struct vamp_opt *table,
                        visit_fn *visit)
{
    for (const struct vamp_opt *opt = table; opt->key != NULL; opt++) {
        visit(stream, section, opt);
    }
}

/* ---- bash */

static void put_key(FILE *stream, const char *section, const struct vamp_opt *opt)
{
    (void)fprintf(stream, "        %s%s%s\n", section, section[0] != '\0' ? "." : "", opt->key);
}

/* The keys that -o takes. Of outputs: by their type, as -o also names them. */
static void put_keys(FILE *stream)
{
    for (const struct config_section *section = config_sections; section->key != NULL; section++) {
        visit_table(stream, section->key, section->options, put_key);
    }
    for (const struct vamp_source_ops *const *each = vamp_sources; *each != NULL; each++) {
        visit_table(stream, "source", (*each)->options, put_key);
    }
    for (const struct vamp_writer_ops *const *each = vamp_writers; *each != NULL; each++) {
        char section[128];
        (void)snprintf(section, sizeof section, "outputs.%s", (*each)->name);
        visit_table(stream, section, vamp_output_options(*each), put_key);
        visit_table(stream, section, (*each)->options, put_key);
        (void)snprintf(section, sizeof section, "outputs.%s.rotate", (*each)->name);
        const struct vamp_opt *rotate = vamp_output_rotate_options(*each);
        if (rotate != NULL) {
            visit_table(stream, section, rotate, put_key);
        }
    }
}

/* A case for each option whose words are a closed list. */
static void put_words(FILE *stream, const char *section, const struct vamp_opt *opt)
{
    if (opt->choices == NULL && opt->type != VAMP_OPT_BOOL) {
        return;
    }
    (void)fprintf(stream, "    %s%s%s) words=\"", section, section[0] != '\0' ? "." : "", opt->key);
    for (size_t i = 0; opt->choices != NULL && opt->choices[i] != NULL; i++) {
        (void)fprintf(stream, "%s%s", i > 0 ? " " : "", opt->choices[i]);
    }
    (void)fprintf(stream, "%s\" ;;\n",
                  opt->type == VAMP_OPT_SET    ? " all"
                  : opt->type == VAMP_OPT_BOOL ? "true false"
                                               : "");
}

static void put_value_cases(FILE *stream)
{
    for (const struct config_section *section = config_sections; section->key != NULL; section++) {
        visit_table(stream, section->key, section->options, put_words);
    }
    for (const struct vamp_source_ops *const *each = vamp_sources; *each != NULL; each++) {
        visit_table(stream, "source", (*each)->options, put_words);
    }
    for (const struct vamp_writer_ops *const *each = vamp_writers; *each != NULL; each++) {
        char section[128];
        (void)snprintf(section, sizeof section, "outputs.%s", (*each)->name);
        visit_table(stream, section, vamp_output_options(*each), put_words);
        visit_table(stream, section, (*each)->options, put_words);
    }
}

void vamp_options_completion(FILE *stream)
{
    (void)fputs("# bash completion for vampire; made by vampire --print-completion\n"
                "_vampire_keys='\n",
                stream);
    put_keys(stream);
    (void)fputs("'\n_vampire_words() {\n    local words=\n    case $1 in\n", stream);
    put_value_cases(stream);
    (void)fputs("    esac\n    printf '%s' \"$words\"\n}\n_vampire_options='\n", stream);
    vamp_options_names(stream);
    (void)fputs(
        "'\n"
        "_vampire() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} key\n"
        "    COMPREPLY=()\n"
        "    # bash takes KEY=VALUE apart at the equals sign.\n"
        "    if [[ $word == = ]]; then\n"
        "        word=; key=$before\n"
        "    elif [[ $before == = ]]; then\n"
        "        key=${COMP_WORDS[COMP_CWORD-2]}\n"
        "    fi\n"
        "    case $key in\n"
        "    --check-config | --dump-config)\n"
        "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;\n"
        "    --list-metrics) mapfile -t COMPREPLY < <(compgen -W json -- \"$word\"); return ;;\n"
        "    ?*)\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$(_vampire_words \"$key\")\" -- \"$word\")\n"
        "        return ;;\n"
        "    esac\n"
        "    case $before in\n"
        "    -o | --set)\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$_vampire_keys\" -S = -- \"$word\")\n"
        "        compopt -o nospace; return ;;\n"
        "    -c | --config | -i | --info-file | -r | --replay | --check-config | --dump-config)\n"
        "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;\n"
        "    -w | --workflow | -n | --component | -p | --pool-manager-info | --wait) return ;;\n"
        "    esac\n"
        "    mapfile -t COMPREPLY < <(compgen -W \"$_vampire_options\" -- \"$word\")\n"
        "}\n"
        "complete -o filenames -F _vampire vampire\n",
        stream);
}
