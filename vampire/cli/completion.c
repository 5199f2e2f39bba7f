/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion for bash, from the option tables. */
#include "config/config.h"
#include "vampire/cli/options.h"

/* A key that -o takes. Of outputs: by their type, as -o also names them. */
static void put_key(void *context, const char *section, const struct vamp_opt *opt)
{
    FILE *stream = context;
    (void)fprintf(stream, "        %s%s%s\n", section, section[0] != '\0' ? "." : "", opt->key);
}

/* A case for an option whose words are a closed list. */
static void put_words(void *context, const char *section, const struct vamp_opt *opt)
{
    FILE *stream = context;
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

void vamp_options_completion(FILE *stream)
{
    (void)fputs("# bash completion for vampire; made by vampire --print-completion\n"
                "_vampire_keys='\n",
                stream);
    vamp_config_each_option(put_key, stream);
    (void)fputs("'\n_vampire_words() {\n    local words=\n    case $1 in\n", stream);
    vamp_config_each_option(put_words, stream);
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
