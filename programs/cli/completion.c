/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion for bash, zsh and fish, from the option tables: a script for each shell, in which
 * letters after @ stand for what the tables say. */
#include <string.h>

#include "config/config.h"
#include "programs/cli/options.h"

const char *const vamp_completion_shells[] = {"bash", "zsh", "fish", NULL};

/* What is completed for the program, and how the shell writes it. */
struct script {
    const struct vamp_program *program;
    FILE *stream;
    const char *before, *after; /* of the words that a key can have, with the key for %s */
    const char *separator;      /* before the next pattern of a case of bash */
};

static bool is_setting(const struct vamp_command_option *option)
{
    return strcmp(option->name, "--set") == 0;
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
    const struct script *script = context;
    (void)fprintf(script->stream, "        %s%s%s\n", section, section[0] != '\0' ? "." : "",
                  opt->key);
}

/* The words of an option whose words are a closed list. */
static void put_words(void *context, const char *section, const struct vamp_opt *opt)
{
    const struct script *script = context;
    FILE *stream = script->stream;
    if (opt->choices == NULL && opt->type != VAMP_OPT_BOOL) {
        return;
    }
    const int before_key = (int)strcspn(script->before, "%");
    (void)fprintf(stream, "%.*s%s%s%s%s", before_key, script->before, section,
                  section[0] != '\0' ? "." : "", opt->key, script->before + before_key + 2);
    for (size_t i = 0; opt->choices != NULL && opt->choices[i] != NULL; i++) {
        (void)fprintf(stream, " %s", opt->choices[i]);
    }
    (void)fprintf(stream, "%s%s",
                  opt->type == VAMP_OPT_SET    ? " all"
                  : opt->type == VAMP_OPT_BOOL ? " true false"
                                               : "",
                  script->after);
}

/* `special` with a backslash before it, a quote as `quote`. */
static void put_escaped(FILE *stream, const char *text, const char *special, const char *quote)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            (void)fputs(quote, stream);
        } else {
            (void)fprintf(stream, strchr(special, *text) != NULL ? "\\%c" : "%c", *text);
        }
    }
}

/* ---- one option of the command line */

typedef void put_fn(struct script *script, const struct vamp_command_option *option);

static void put_name(struct script *script, const struct vamp_command_option *option)
{
    (void)fprintf(script->stream, "        %s\n", option->name);
    if (option->letter != 0) {
        (void)fprintf(script->stream, "        -%c\n", option->letter);
    }
}

static void put_bash_case(struct script *script, const struct vamp_command_option *option)
{
    if (words_of(option) != NULL) {
        (void)fprintf(script->stream,
                      "    %s) mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$word\"); "
                      "return ;;\n",
                      option->name, words_of(option));
    }
}

static void put_pattern(struct script *script, const struct vamp_command_option *option)
{
    (void)fprintf(script->stream, "%s%s", script->separator, option->name);
    script->separator = " | ";
    if (option->letter != 0) {
        (void)fprintf(script->stream, " | -%c", option->letter);
    }
}

static void put_bash_file(struct script *script, const struct vamp_command_option *option)
{
    if (takes_file(option)) {
        put_pattern(script, option);
    }
}

static void put_bash_free(struct script *script, const struct vamp_command_option *option)
{
    if (option->argument != NULL && words_of(option) == NULL && !takes_file(option) &&
        !is_setting(option)) {
        put_pattern(script, option);
    }
}

static void put_zsh_option(struct script *script, const struct vamp_command_option *option)
{
    FILE *stream = script->stream;
    const bool optional = takes_optional(option);
    const char *equals = option->argument == NULL ? "" : optional ? "=-" : "=";
    (void)fprintf(stream, "        %s", is_setting(option) ? "'*'" : ""); /* it may come again */
    if (option->letter != 0) {
        (void)fprintf(stream, "{-%c%s,%s%s}'[", option->letter,
                      option->argument == NULL || optional ? "" : "+", option->name, equals);
    } else {
        (void)fprintf(stream, "'%s%s[", option->name, equals);
    }
    put_escaped(stream, option->help, "[]:\\", "'\\''");
    (void)fputc(']', stream);
    /* A letter takes no optional argument. */
    if (option->argument != NULL && (!optional || option->letter == 0)) {
        const char *name = option->argument + 2 * optional;
        const char *words = words_of(option);
        (void)fprintf(stream, ":%.*s:", (int)strcspn(name, "]"), name);
        if (is_setting(option)) {
            (void)fprintf(stream, "_%s_set", script->program->word);
        } else if (takes_file(option) || words != NULL) {
            (void)fprintf(stream, words != NULL ? "(%s)" : "_files", words);
        }
    }
    (void)fputs("' \\\n", stream);
}

static void put_fish_option(struct script *script, const struct vamp_command_option *option)
{
    FILE *stream = script->stream;
    (void)fprintf(stream, "complete -c %s -l %s", script->program->name, option->name + 2);
    if (option->letter != 0) {
        (void)fprintf(stream, " -s %c", option->letter);
    }
    if (is_setting(option)) {
        (void)fprintf(stream, " -x -a '(__%s_set)'", script->program->word);
    } else if (takes_file(option)) {
        (void)fputs(takes_optional(option) ? " -F" : " -r -F", stream);
    } else if (words_of(option) != NULL) {
        (void)fprintf(stream, " -a '%s'", words_of(option));
    } else if (option->argument != NULL) {
        (void)fputs(" -x", stream);
    }
    (void)fputs(" -d '", stream);
    put_escaped(stream, option->help, "", "\\'");
    (void)fputs("'\n", stream);
}

/* ---- the scripts */

static const char bash[] =
    "# bash completion for @N; made by @N --print-completion\n"
    "_@W_keys='\n"
    "@K'\n_@W_words() {\n    local words=\n    case $1 in\n"
    "@V    esac\n    printf '%s' \"$words\"\n}\n_@W_options='\n"
    "@O'\n"
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
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;\n"
    "@A    ?*)\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$(_@W_words \"$key\")\" -- \"$word\")\n"
    "        return ;;\n"
    "    esac\n"
    "    case $before in\n"
    "    -o | --set)\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$_@W_keys\" -S = -- \"$word\")\n"
    "        compopt -o nospace; return ;;\n"
    "@F)\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;\n"
    "@E    esac\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$_@W_options\" -- \"$word\")\n"
    "}\n"
    "complete -o filenames -F _@W @N\n";

static const char zsh[] = "#compdef @N\n"
                          "# zsh completion for @N; made by @N --print-completion=zsh\n"
                          "_@W_words() {\n    local words=\n    case $1 in\n"
                          "@V    esac\n    print -r -- \"$words\"\n}\n"
                          "_@W_set() {\n"
                          "    local -a words\n"
                          "    if compset -P 1 '*='; then\n"
                          "        words=(${=$(_@W_words ${${IPREFIX%=}##*=})})\n"
                          "        compadd -a words\n"
                          "        return\n"
                          "    fi\n"
                          "    words=(\n"
                          "@K    )\n    compadd -S = -a words\n}\n"
                          "_@W() {\n    _arguments -s -S \\\n"
                          "@Z        '*:file:_files'\n}\n_@W \"$@\"\n";

static const char fish[] =
    "# fish completion for @N; made by @N --print-completion=fish\n"
    "function __@W_set\n"
    "    set -l token (commandline -ct | string replace -r '^(--set=|-o)' '')\n"
    "    if not string match -q '*=*' -- $token\n"
    "        printf '%s=\\n' (string split -n ' ' -- (echo '\n"
    "@K        '))\n"
    "        return\n"
    "    end\n"
    "    set -l key (string split -m1 = -- $token)[1]\n"
    "    set -l words\n"
    "    switch $key\n"
    "@V    end\n"
    "    for word in $words\n"
    "        printf '%s=%s\\n' $key $word\n"
    "    end\n"
    "end\n"
    "complete -c @N -f\n"
    "complete -c @N -n '__fish_contains_opt summary recover check-config dump-config' -F\n"
    "@I";

static void put_options(struct script *script, put_fn *put)
{
    script->separator = "    ";
    for (const struct vamp_command_option *option = script->program->options; option->name != NULL;
         option++) {
        put(script, option);
    }
    /* There may be no option with a free argument. */
    if (put == put_bash_free && script->separator[1] == '|') {
        (void)fputs(") return ;;\n", script->stream);
    }
}

/* What a letter stands for. */
static void put_part(struct script *script, char letter)
{
    static const struct {
        char letter;
        put_fn *put;
    } of_options[] = {{'O', put_name},      {'A', put_bash_case},  {'F', put_bash_file},
                      {'E', put_bash_free}, {'Z', put_zsh_option}, {'I', put_fish_option}};
    if (letter == 'N' || letter == 'W') {
        (void)fputs(letter == 'N' ? script->program->name : script->program->word, script->stream);
    } else if (letter == 'K' || letter == 'V') {
        vamp_config_each_option(script->program->config, letter == 'K' ? put_key : put_words,
                                script);
    }
    for (size_t i = 0; i < sizeof of_options / sizeof of_options[0]; i++) {
        if (of_options[i].letter == letter) {
            put_options(script, of_options[i].put);
        }
    }
}

void vamp_options_completion(const struct vamp_program *program, const char *shell, FILE *stream)
{
    const bool is_fish = strcmp(shell, "fish") == 0;
    struct script script = {
        .program = program,
        .stream = stream,
        .before = is_fish ? "        case %s\n            set words" : "    %s) words=\"",
        .after = is_fish ? "\n" : "\" ;;\n",
    };
    for (const char *at = is_fish                     ? fish
                          : strcmp(shell, "zsh") == 0 ? zsh
                                                      : bash;
         *at != '\0'; at++) {
        if (*at == '@' && strchr("NWKVOAFEZI", at[1]) != NULL) {
            put_part(&script, *++at);
        } else {
            (void)fputc(*at, stream);
        }
    }
}
