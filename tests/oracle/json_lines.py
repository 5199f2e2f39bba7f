# SPDX-License-Identifier: BSD-3-Clause
"""JSON lines with a record for each value, and with what lines leave out since it is as usual or as before."""

BOUNDED = ("sum", "min", "max", "p50", "p90", "p99", "p999")
NUMBERS = {*(f"{name}_{end}" for name in BOUNDED for end in ("low", "high")), "value", "delta", "min", "max", "min_bound", "max_bound", "count", "sum", "p50", "p90", "p99", "p999", "bins"}


def whole(row):
    """A row with its labels aside; of a gauge that did not move, its extremes, too."""
    labels = {key: value for key, value in row.items() if key not in NUMBERS}
    numbers = {key: value for key, value in row.items() if key in NUMBERS}
    if numbers.keys() == {"value"}:
        numbers["min"] = numbers["max"] = numbers["value"]
    for name in BOUNDED:  # what is only known to be within bounds: values below the resolution count as 0
        if f"{name}_low" in numbers:
            numbers[name] = numbers[f"{name}_low"]
    return {"labels": labels, **numbers}


def flat(lines):
    """Lines of a stream from its header on, each decoded: those with values become one of type `metric` for each row."""
    bucket_ns = account = None
    for line in lines:
        if line["type"] == "values":
            for metric, rows in line["values"].items():
                for row in rows:
                    yield {"type": "metric", "time": line["time"], "bucket": line["bucket"], "metric": metric, **whole(row)}
            continue
        if line["type"] == "header":
            bucket_ns = line["bucket_ns"]
        if line["type"] == "bucket":
            account = line.get("accounting", account)
            line = {"buckets": 1, "width_ns": bucket_ns, "complete": False, "accounting": account, **line}
        yield line
