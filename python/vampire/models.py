# SPDX-License-Identifier: BSD-3-Clause
"""Which model a component is a rank of, by its name: the rules of `statistics.models`."""

import fnmatch
import functools
import re

from .errors import Error

# What is usual, as in vampire (vampire/core/event/components.c).
RULES = ("(*) -- *", "(*) [0-9]*")
LONGEST = 255  # bytes of a name that has a model; a longer one is a model of its own
LABELS = {"model": "component", "source_model": "source", "sink_model": "sink", "producer_model": "producer",
          "consumer_model": "consumer"}
AS_MODEL = {label: model for model, label in LABELS.items()}
UNNAMED = ("(other)", "unknown")


def _pattern(glob):
    return fnmatch.translate(glob).removesuffix(r"\Z")


@functools.lru_cache
def _compiled(rules):
    """[(compiled pattern, name of the model; None: what the pattern's group matched)]"""
    found = []
    for rule in rules:
        before, found_here, after = rule.partition("(*)")
        name, equals, glob = rule.partition("=")
        if found_here and after and "=" not in before:
            found.append((re.compile(f"{_pattern(before)}(.+?){_pattern(after)}", re.DOTALL), None))
        elif name and equals and glob:
            found.append((re.compile(_pattern(glob), re.DOTALL), name))
        else:
            raise Error(f"the model '{rule}'; a model is such as 'ocean=NEMO*', or '(*) -- *', in which the text in the place "
                        "of (*) is the model")
    return found


@functools.lru_cache(1 << 16)
def model_of(name, rules=RULES):
    """The model of a component; the first rule that fits decides, and a name that none fits is a model of its own."""
    if name not in UNNAMED and len(name.encode("utf-8", "surrogatepass")) <= LONGEST:
        for pattern, model in _compiled(rules):
            if match := pattern.fullmatch(name):
                return model or match.group(1)
    return name
