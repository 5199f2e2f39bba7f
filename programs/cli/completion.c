/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion for bash, zsh and fish, from the option tables. */
#include <string.h>

#include "config/config.h"
#include "programs/cli/options.h"

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

/* A text of a script: @N is the program's name, @W the same in names of functions. */
static void put_text(const struct vamp_program *program, FILE *stream, const char *text)
{
    for (; *text != '\0'; text++) {
        if (text[0] == '@' && (text[1] == 'N' || text[1] == 'W')) {
            (void)fputs(*++text == 'N' ? program->name : program->word, stream);
        } else {
            (void)fputc(*text, stream);
        }
    }
}

/* ---- bash */

static void put_bash_cases(const struct vamp_program *program, FILE *stream)
{
    for (const struct vamp_command_option *option = program->options; option->name != NULL;
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
static void put_bash_names(const struct vamp_program *program, FILE *stream, bool file)
{
    const char *separator = "    ";
    for (const struct vamp_command_option *option = program->options; option->name != NULL;
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

static void print_bash(const struct vamp_program *program, FILE *stream)
{
    put_text(program, stream,
             "# bash completion for @N; made by @N --print-completion\n"
             "_@W_keys='\n");
    vamp_config_each_option(program->config, put_key, stream);
    put_text(program, stream, "'\n_@W_words() {\n    local words=\n    case $1 in\n");
    vamp_config_each_option(program->config, put_words, stream);
    put_text(program, stream, "    esac\n    printf '%s' \"$words\"\n}\n_@W_options='\n");
    vamp_command_options_names(program->options, "        ", stream);
    put_text(program, stream,
             "'\n"
             "_@W() {\n"
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
             "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;\n");
    put_bash_cases(program, stream);
    put_text(program, stream,
             "    ?*)\n"
             "        mapfile -t COMPREPLY < <(compgen -W \"$(_@W_words \"$key\")\" -- \"$word\")\n"
             "        return ;;\n"
             "    esac\n"
             "    case $before in\n"
             "    -o | --set)\n"
             "        mapfile -t COMPREPLY < <(compgen -W \"$_@W_keys\" -S = -- \"$word\")\n"
             "        compopt -o nospace; return ;;\n");
    put_bash_names(program, stream, true);
    (void)fputs(")\n"
                "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;\n",
                stream);
    put_bash_names(program, stream, false);
    put_text(program, stream,
             ") return ;;\n"
             "    esac\n"
             "    mapfile -t COMPREPLY < <(compgen -W \"$_@W_options\" -- \"$word\")\n"
             "}\n"
             "complete -o filenames -F _@W @N\n");
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
static void put_zsh_argument(const struct vamp_program *program, FILE *stream,
                             const struct vamp_command_option *option)
{
    if (takes_nothing(option)) {
        return;
    }
    (void)fprintf(stream,
                  ":%.*s:", (int)strcspn(option->argument + 2 * takes_optional(option), "]"),
                  option->argument + 2 * takes_optional(option));
    if (strcmp(option->name, "--set") == 0) {
        put_text(program, stream, "_@W_set");
    } else if (takes_file(option)) {
        (void)fputs("_files", stream);
    } else if (words_of(option) != NULL) {
        (void)fprintf(stream, "(%s)", words_of(option));
    }
}

static void put_zsh_option(const struct vamp_program *program, FILE *stream,
                           const struct vamp_command_option *option)
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
        put_zsh_argument(program, stream, option);
    }
    (void)fputs("' \\\n", stream);
}

static void print_zsh(const struct vamp_program *program, FILE *stream)
{
    put_text(program, stream,
             "#compdef @N\n"
             "# zsh completion for @N; made by @N --print-completion=zsh\n"
             "_@W_words() {\n    local words=\n    case $1 in\n");
    vamp_config_each_option(program->config, put_words, stream);
    put_text(program, stream,
             "    esac\n    print -r -- \"$words\"\n}\n"
             "_@W_set() {\n"
             "    local -a words\n"
             "    if compset -P 1 '*='; then\n"
             "        words=(${=$(_@W_words ${${IPREFIX%=}##*=})})\n"
             "        compadd -a words\n"
             "        return\n"
             "    fi\n"
             "    words=(\n");
    vamp_config_each_option(program->config, put_key, stream);
    put_text(program, stream,
             "    )\n    compadd -S = -a words\n}\n"
             "_@W() {\n    _arguments -s -S \\\n");
    for (const struct vamp_command_option *option = program->options; option->name != NULL;
         option++) {
        put_zsh_option(program, stream, option);
    }
    put_text(program, stream, "        '*:file:_files'\n}\n_@W \"$@\"\n");
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

static void put_fish_option(const struct vamp_program *program, FILE *stream,
                            const struct vamp_command_option *option)
{
    (void)fprintf(stream, "complete -c %s -l %s", program->name, option->name + 2);
    if (option->letter != 0) {
        (void)fprintf(stream, " -s %c", option->letter);
    }
    if (strcmp(option->name, "--set") == 0) {
        put_text(program, stream, " -x -a '(__@W_set)'");
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

static void print_fish(const struct vamp_program *program, FILE *stream)
{
    put_text(program, stream,
             "# fish completion for @N; made by @N --print-completion=fish\n"
             "function __@W_set\n"
             "    set -l token (commandline -ct | string replace -r '^(--set=|-o)' '')\n"
             "    if not string match -q '*=*' -- $token\n"
             "        printf '%s=\\n' (string split -n ' ' -- (echo '\n");
    vamp_config_each_option(program->config, put_key, stream);
    (void)fputs("        '))\n"
                "        return\n"
                "    end\n"
                "    set -l key (string split -m1 = -- $token)[1]\n"
                "    set -l words\n"
                "    switch $key\n",
                stream);
    vamp_config_each_option(program->config, put_fish_words, stream);
    put_text(program, stream,
             "    end\n"
             "    for word in $words\n"
             "        printf '%s=%s\\n' $key $word\n"
             "    end\n"
             "end\n"
             "complete -c @N -f\n"
             "complete -c @N -n '__fish_contains_opt summary recover check-config "
             "dump-config' -F\n");
    for (const struct vamp_command_option *option = program->options; option->name != NULL;
         option++) {
        put_fish_option(program, stream, option);
    }
}

void vamp_options_completion(const struct vamp_program *program, const char *shell, FILE *stream)
{
    if (strcmp(shell, "zsh") == 0) {
        print_zsh(program, stream);
    } else if (strcmp(shell, "fish") == 0) {
        print_fish(program, stream);
    } else {
        print_bash(program, stream);
    }
}
