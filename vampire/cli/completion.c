/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion for bash, zsh and fish, from the option tables. */
#include <string.h>

#include "config/config.h"
#include "vampire/cli/options.h"

const char *const vamp_completion_shells[] = {"bash", "zsh", "fish", NULL};

/* ---- what all three contain */

static bool takes_nothing(const struct vamp_command_option *option)
{
    return option->argument == NULL;
}

/* "[=FILE]" */
static bool takes_optional(const struct vamp_command_option *option)
{
    return option->argument != NULL && option->argument[0] == '[';
}

static bool takes_file(const struct vamp_command_option *option)
{
    return option->argument != NULL && strstr(option->argument, "FILE") != NULL;
}

/* The words that an optional argument can be; NULL: it is free. */
static const char *words_of(const struct vamp_command_option *option)
{
    if (!takes_optional(option) || takes_file(option)) {
        return NULL;
    }
    return strcmp(option->argument, "[=SHELL]") == 0 ? "bash zsh fish"
           : strcmp(option->argument, "[=all]") == 0 ? "all"
                                                     : "json";
}

/* A key that -o takes. Of outputs: by their type, as -o also names them. */
static void put_key(void *context, const char *section, const struct vamp_opt *opt)
{
    FILE *stream = context;
    (void)fprintf(stream, "        %s%s%s\n", section, section[0] != '\0' ? "." : "", opt->key);
}

/* The words of a closed list, each after a blank. */
static void put_choices(FILE *stream, const struct vamp_opt *opt)
{
    for (size_t i = 0; opt->choices != NULL && opt->choices[i] != NULL; i++) {
        (void)fprintf(stream, " %s", opt->choices[i]);
    }
    (void)fputs(opt->type == VAMP_OPT_SET    ? " all"
                : opt->type == VAMP_OPT_BOOL ? " true false"
                                             : "",
                stream);
}

/* A case of bash and zsh for an option whose words are a closed list. */
static void put_words(void *context, const char *section, const struct vamp_opt *opt)
{
    FILE *stream = context;
    if (opt->choices == NULL && opt->type != VAMP_OPT_BOOL) {
        return;
    }
    (void)fprintf(stream, "    %s%s%s) words=\"", section, section[0] != '\0' ? "." : "", opt->key);
    put_choices(stream, opt);
    (void)fputs("\" ;;\n", stream);
}

/* ---- bash */

static void put_bash_cases(FILE *stream)
{
    for (const struct vamp_command_option *option = vamp_options_table; option->name != NULL;
         option++) {
        if (words_of(option) != NULL) {
            (void)fprintf(stream,
                          "    %s) mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$word\"); "
                          "return ;;\n",
                          option->name, words_of(option));
        }
    }
}

/* Joined by " | ": the names of the options that take a file, or another argument. */
static void put_bash_names(FILE *stream, bool file)
{
    const char *separator = "    ";
    for (const struct vamp_command_option *option = vamp_options_table; option->name != NULL;
         option++) {
        if (takes_nothing(option) || words_of(option) != NULL || takes_file(option) != file ||
            strcmp(option->name, "--set") == 0) {
            continue;
        }
        (void)fprintf(stream, "%s%s", separator, option->name);
        separator = " | ";
        if (option->letter != 0) {
            (void)fprintf(stream, " | -%c", option->letter);
        }
    }
}

static void print_bash(FILE *stream)
{
    (void)fputs("# bash completion for vampire; made by vampire --print-completion\n"
                "_vampire_keys='\n",
                stream);
    vamp_config_each_option(put_key, stream);
    (void)fputs("'\n_vampire_words() {\n    local words=\n    case $1 in\n", stream);
    vamp_config_each_option(put_words, stream);
    (void)fputs("    esac\n    printf '%s' \"$words\"\n}\n_vampire_options='\n", stream);
    vamp_command_options_names(vamp_options_table, "        ", stream);
    (void)fputs("'\n"
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
                "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;\n",
                stream);
    put_bash_cases(stream);
    (void)fputs(
        "    ?*)\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$(_vampire_words \"$key\")\" -- \"$word\")\n"
        "        return ;;\n"
        "    esac\n"
        "    case $before in\n"
        "    -o | --set)\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$_vampire_keys\" -S = -- \"$word\")\n"
        "        compopt -o nospace; return ;;\n",
        stream);
    put_bash_names(stream, true);
    (void)fputs(")\n"
                "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;\n",
                stream);
    put_bash_names(stream, false);
    (void)fputs(") return ;;\n"
                "    esac\n"
                "    mapfile -t COMPREPLY < <(compgen -W \"$_vampire_options\" -- \"$word\")\n"
                "}\n"
                "complete -o filenames -F _vampire vampire\n",
                stream);
}

/* ---- zsh */

/* Inside single quotes and brackets of an argument of _arguments. */
static void put_zsh_text(FILE *stream, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            (void)fputs("'\\''", stream);
        } else if (strchr("[]:\\", *text) != NULL) {
            (void)fprintf(stream, "\\%c", *text);
        } else {
            (void)fputc(*text, stream);
        }
    }
}

/* What completes the argument. */
static void put_zsh_argument(FILE *stream, const struct vamp_command_option *option)
{
    if (takes_nothing(option)) {
        return;
    }
    (void)fprintf(stream,
                  ":%.*s:", (int)strcspn(option->argument + 2 * takes_optional(option), "]"),
                  option->argument + 2 * takes_optional(option));
    if (strcmp(option->name, "--set") == 0) {
        (void)fputs("_vampire_set", stream);
    } else if (takes_file(option)) {
        (void)fputs("_files", stream);
    } else if (words_of(option) != NULL) {
        (void)fprintf(stream, "(%s)", words_of(option));
    }
}

static void put_zsh_option(FILE *stream, const struct vamp_command_option *option)
{
    const char *after_name = takes_nothing(option) ? "" : takes_optional(option) ? "=-" : "=";
    (void)fputs("        ", stream);
    if (strcmp(option->name, "--set") == 0) {
        (void)fputs("'*'", stream); /* it may be given again */
    }
    if (option->letter != 0) {
        (void)fprintf(stream, "{-%c%s,%s%s}'[", option->letter,
                      takes_nothing(option) || takes_optional(option) ? "" : "+", option->name,
                      after_name);
    } else {
        (void)fprintf(stream, "'%s%s[", option->name, after_name);
    }
    put_zsh_text(stream, option->help);
    (void)fputc(']', stream);
    /* A letter takes no optional argument. */
    if (!takes_optional(option) || option->letter == 0) {
        put_zsh_argument(stream, option);
    }
    (void)fputs("' \\\n", stream);
}

static void print_zsh(FILE *stream)
{
    (void)fputs("#compdef vampire\n"
                "# zsh completion for vampire; made by vampire --print-completion=zsh\n"
                "_vampire_words() {\n    local words=\n    case $1 in\n",
                stream);
    vamp_config_each_option(put_words, stream);
    (void)fputs("    esac\n    print -r -- \"$words\"\n}\n"
                "_vampire_set() {\n"
                "    local -a words\n"
                "    if compset -P 1 '*='; then\n"
                "        words=(${=$(_vampire_words ${${IPREFIX%=}##*=})})\n"
                "        compadd -a words\n"
                "        return\n"
                "    fi\n"
                "    words=(\n",
                stream);
    vamp_config_each_option(put_key, stream);
    (void)fputs("    )\n    compadd -S = -a words\n}\n"
                "_vampire() {\n    _arguments -s -S \\\n",
                stream);
    for (const struct vamp_command_option *option = vamp_options_table; option->name != NULL;
         option++) {
        put_zsh_option(stream, option);
    }
    (void)fputs("        '*:file:_files'\n}\n_vampire \"$@\"\n", stream);
}

/* ---- fish */

static void put_fish_words(void *context, const char *section, const struct vamp_opt *opt)
{
    FILE *stream = context;
    if (opt->choices == NULL && opt->type != VAMP_OPT_BOOL) {
        return;
    }
    (void)fprintf(stream, "        case %s%s%s\n            set words", section,
                  section[0] != '\0' ? "." : "", opt->key);
    put_choices(stream, opt);
    (void)fputc('\n', stream);
}

static void put_fish_option(FILE *stream, const struct vamp_command_option *option)
{
    (void)fprintf(stream, "complete -c vampire -l %s", option->name + 2);
    if (option->letter != 0) {
        (void)fprintf(stream, " -s %c", option->letter);
    }
    if (strcmp(option->name, "--set") == 0) {
        (void)fputs(" -x -a '(__vampire_set)'", stream);
    } else if (takes_file(option)) {
        (void)fputs(takes_optional(option) ? " -F" : " -r -F", stream);
    } else if (words_of(option) != NULL) {
        (void)fprintf(stream, " -a '%s'", words_of(option));
    } else if (!takes_nothing(option)) {
        (void)fputs(" -x", stream);
    }
    (void)fputs(" -d '", stream);
    for (const char *c = option->help; *c != '\0'; c++) {
        (void)fprintf(stream, *c == '\'' ? "\\%c" : "%c", *c);
    }
    (void)fputs("'\n", stream);
}

static void print_fish(FILE *stream)
{
    (void)fputs("# fish completion for vampire; made by vampire --print-completion=fish\n"
                "function __vampire_set\n"
                "    set -l token (commandline -ct | string replace -r '^(--set=|-o)' '')\n"
                "    if not string match -q '*=*' -- $token\n"
                "        printf '%s=\\n' (string split -n ' ' -- (echo '\n",
                stream);
    vamp_config_each_option(put_key, stream);
    (void)fputs("        '))\n"
                "        return\n"
                "    end\n"
                "    set -l key (string split -m1 = -- $token)[1]\n"
                "    set -l words\n"
                "    switch $key\n",
                stream);
    vamp_config_each_option(put_fish_words, stream);
    (void)fputs("    end\n"
                "    for word in $words\n"
                "        printf '%s=%s\\n' $key $word\n"
                "    end\n"
                "end\n"
                "complete -c vampire -f\n"
                "complete -c vampire -n '__fish_contains_opt summary recover check-config "
                "dump-config' -F\n",
                stream);
    for (const struct vamp_command_option *option = vamp_options_table; option->name != NULL;
         option++) {
        put_fish_option(stream, option);
    }
}

void vamp_options_completion(const char *shell, FILE *stream)
{
    if (strcmp(shell, "zsh") == 0) {
        print_zsh(stream);
    } else if (strcmp(shell, "fish") == 0) {
        print_fish(stream);
    } else {
        print_bash(stream);
    }
}
