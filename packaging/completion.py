#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the completion of a program for a shell, from what the program says of itself.

    packaging/completion.py build/release/bin/vampire bash|zsh|fish

The options come from --help=all, the keys and words that -o takes from --print-schema. Of outputs a key has
their type, as -o also names them (outputs.hdf5.directory). `make install` calls this."""

import ast
import json
import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"^  (?:-(\w), |    )(--[\w-]+)(?:(\[=\w+\])| ([A-Z=]+))? +(.*)$")
WITH_CONFIGURATION = ("vampire", "vampire-collect")

BASH = """\
# bash completion for @N, made by packaging/completion.py
_@W_keys='
@K'
_@W_words() {
    local words=
    case $1 in
@V    esac
    printf '%s' "$words"
}
_@W_options='
@O'
_@W() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} key
    COMPREPLY=()
    # bash takes KEY=VALUE apart at the equals sign.
    if [[ $word == = ]]; then
        word=; key=$before
    elif [[ $before == = ]]; then
        key=${COMP_WORDS[COMP_CWORD-2]}
    fi
    case $key in
    --check-config | --dump-config)
        mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
@A    ?*)
        mapfile -t COMPREPLY < <(compgen -W "$(_@W_words "$key")" -- "$word")
        return ;;
    esac
    case $before in
@S@F    esac
    if [[ -n $word && $word != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word"); return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$_@W_options" -- "$word")
}
complete -o filenames -F _@W @N
"""

ZSH = """\
#compdef @N
# zsh completion for @N, made by packaging/completion.py
_@W_words() {
    local words=
    case $1 in
@V    esac
    print -r -- "$words"
}
_@W_set() {
    local -a words
    if compset -P 1 '*='; then
        words=(${=$(_@W_words ${${IPREFIX%=}##*=})})
        compadd -a words
        return
    fi
    words=(
@K    )
    compadd -S = -a words
}
_@W() {
    _arguments -s -S \\
@Z        '*:file:_files'
}
_@W "$@"
"""

FISH = """\
# fish completion for @N, made by packaging/completion.py
function __@W_set
    set -l token (commandline -ct | string replace -r '^(--set=|-o)' '')
    if not string match -q '*=*' -- $token
        printf '%s=\\n' (string split -n ' ' -- (echo '
@K        '))
        return
    end
    set -l key (string split -m1 = -- $token)[1]
    set -l words
    switch $key
@V    end
    for word in $words
        printf '%s=%s\\n' $key $word
    end
end
@S@I"""

# Of programs with a configuration.
BASH_SET = """\
    -o | --set)
        mapfile -t COMPREPLY < <(compgen -W "$_@W_keys" -S = -- "$word")
        compopt -o nospace; return ;;
"""
FISH_SET = """\
complete -c @N -f
complete -c @N -n '__fish_contains_opt summary recover check-config dump-config' -F
"""


class Option:
    """An option of the command line. `takes`: "" none, "file", "set", "free", or the words of its argument."""

    def __init__(self, letter, name, optional, argument, text):
        self.letter, self.name, self.optional, self.text = letter, name, bool(optional), text
        self.argument = (optional or "").strip("[=]") or argument or ""
        self.takes = ("" if not self.argument else "set" if name == "--set" else "file" if re.search("FILE|DIR|RUN", self.argument)
                      else self.argument if optional else "free")

    @property
    def words(self):
        return self.takes if self.takes not in ("", "file", "set", "free") else ""


def said(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=True).stdout


def argparse_options(source):
    """Those that a Python program adds to its parser: to start it takes libraries that need not be here."""
    found = [Option("h", "--help", None, None, "print the options, and exit")]
    for call in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "add_argument" and call.args[0].value.startswith("-"):
            names = [argument.value for argument in call.args]
            given = {word.arg: word.value.value for word in call.keywords if isinstance(word.value, ast.Constant)}
            letter = names[0][1] if len(names) > 1 else None
            found.append(Option(letter, names[-1], None, given.get("metavar"), given["help"]))
    return found


def options_of(program):
    found = []
    inside = False
    name = pathlib.Path(program).name
    if name == "vampire-report":
        return argparse_options(pathlib.Path(program).parent / "vampire" / "report" / "main.py")
    for line in said(program, "--help=all" if name in WITH_CONFIGURATION else "--help").split("\n"):
        match = OPTION.match(line)
        if line and not line.startswith(" "):
            inside = line == "Options:"
        elif inside and match:
            found.append([text or "" for text in match.groups()])
        elif inside and found:
            found[-1][-1] += " " + line.strip()
    return [Option(*parts[:4], parts[4].strip()) for parts in found]


def words_of(schema):
    """The closed list of words that a value can be; none: it is free."""
    if schema.get("type") == "boolean":
        return ["true", "false"]
    if "enum" in schema:
        return schema["enum"]
    lists = [choice["items"]["enum"] for choice in schema.get("anyOf", ()) if "enum" in choice.get("items", {})]
    return lists[0] if lists else []


def keys_of(schema, path=""):
    """(key, words) of each option below an object."""
    for name, inner in schema["properties"].items():
        key = f"{path}.{name}" if path else name
        if name == "outputs":
            for kind in inner["items"]["oneOf"]:
                yield from keys_of(kind, f"outputs.{kind['properties']['type']['const']}")
        elif "oneOf" in inner:
            for kind in inner["oneOf"]:
                yield from keys_of(kind, key)
        elif "properties" in inner:
            yield from keys_of(inner, key)
        elif name not in ("alarms", "filters") and "const" not in inner:
            yield key, [str(word) for word in words_of(inner)]


def case(options):
    return " | ".join(name for option in options for name in (option.name, f"-{option.letter}")[:1 + bool(option.letter)])


def zsh_option(option, word):
    value = "" if not option.argument else "=-" if option.optional else "="
    text = re.sub(r"([\[\]:\\])", r"\\\1", option.text).replace("'", "'\\''")
    name = (f"{{-{option.letter}{'+' if value == '=' else ''},{option.name}{value}}}'" if option.letter
            else f"'{option.name}{value}")
    # A letter takes no optional argument.
    follows = "" if not option.argument or (option.optional and option.letter) else f":{option.argument}:" + {
        "set": f"_{word}_set", "file": "_files", "free": ""}.get(option.takes, f"({option.words})")
    return f"        {chr(39) + '*' + chr(39) if option.takes == 'set' else ''}{name}[{text}]{follows}' \\\n"


def fish_option(option, name, word):
    takes = {"": "", "set": f" -x -a '(__{word}_set)'", "file": " -F" if option.optional else " -r -F",
             "free": " -x"}.get(option.takes, f" -a '{option.words}'")
    letter = f" -s {option.letter}" if option.letter else ""
    text = option.text.replace("'", "\\'")
    return f"complete -c {name} -l {option.name[2:]}{letter}{takes} -d '{text}'\n"


def completion(program, shell):
    name = pathlib.Path(program).name
    word = name.replace("-", "_")
    options = options_of(program)
    keys = dict(keys_of(json.loads(said(program, "--print-schema")))) if name in WITH_CONFIGURATION else {}
    closed = {key: words for key, words in keys.items() if words}
    files = [option for option in options if option.takes == "file"]
    free = [option for option in options if option.takes == "free"]
    parts = {
        "N": name, "W": word,
        "K": "".join(f"        {key}\n" for key in keys),
        "V": "".join(f"        case {key}\n            set words {' '.join(words)}\n" if shell == "fish"
                     else f"    {key}) words=\"{' '.join(words)}\" ;;\n" for key, words in closed.items()),
        "O": "".join(f"        {each}\n" for option in options for each in case([option]).split(" | ")),
        "A": "".join(f"    {option.name}) mapfile -t COMPREPLY < <(compgen -W '{option.words}' -- \"$word\"); return ;;\n"
                     for option in options if option.words),
        "F": ("" if not files else f"    {case(files)})\n        mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;\n")
             + (f"    {case(free)}) return ;;\n" if free else ""),
        "Z": "".join(zsh_option(option, word) for option in options),
        "S": re.sub("@([NW])", lambda match: {"N": name, "W": word}[match[1]], {"bash": BASH_SET, "fish": FISH_SET}.get(shell, ""))
             if keys else "",
        "I": "".join(fish_option(option, name, word) for option in options),
    }
    script = {"bash": BASH, "zsh": ZSH, "fish": FISH}[shell]
    return re.sub("@([NWKVOAFZIS])", lambda match: parts[match[1]], script)


if __name__ == "__main__":
    print(completion(*sys.argv[1:]), end="")
