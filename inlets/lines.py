# SPDX-License-Identifier: BSD-3-Clause
"""Lines of InfluxDB's protocol, for the scripts of this folder."""


def word(text, characters=", ="):
    """A measurement, tag or field as a line has it."""
    return "".join("\\" + c if c in characters else c for c in str(text).replace("\n", " "))


def line(measurement, tags, fields, time):
    """Tags without a value are left out. Whole numbers are marked as such."""
    tags = "".join(f",{word(key)}={word(value)}" for key, value in tags.items() if value not in ("", None))
    fields = ",".join(f"{word(key)}={value}i" if isinstance(value, int) else f"{word(key)}={value!r}"
                      for key, value in fields.items())
    return f"{word(measurement, ', ')}{tags} {fields} {time}\n"
