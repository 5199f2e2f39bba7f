#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the dashboard for Grafana and the alert rules for Prometheus from the table of metrics.

    packaging/exporters/make.py PROGRAMS            renew them in packaging/exporters/
    packaging/exporters/make.py --check PROGRAMS    only report which file differs, exit code 1

PROGRAMS is the directory of the programs, such as build/release/bin. `make generated` calls this, and
a test does with --check.
"""

import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# The set of metrics: heading of its row.
ROWS = {
    "basic": "The workflow",
    "waits": "Waits",
    "in_flight": "In flight",
    "transport": "Transports",
    "lifecycle": "Life of CDOs",
    "anomalies": "Anomalies",
    "": "Estimates with sampling (statistics.metrics)",
    "vampire": "vampire itself",
    "collect": "Collected runs",
}
# What one looks at first: they fill one screen. All others are in rows that are closed.
FIRST = ("components_present", "pool_operations", "anomalies", "demand_oldest_ns", "demand_wait_ns", "demands_pending", "transport_bytes",
         "pool_bytes", "vampire_lost")
# By which label a panel splits: the first of these that the metric has.
SPLIT = ("part", "component", "sink", "operation", "anomaly", "reason", "output", "tier", "source", "size_class")
UNITS = {"ns": "s", "byte": "bytes", "byte s-1": "Bps", "1e-6": "none", "1": "short"}
QUANTILES = (0.5, 0.99)
WORKFLOW = '{workflow=~"$workflow"}'
COLUMNS, WIDTH, HEIGHT = 3, 8, 7


def split_of(metric):
    return next((label for label in SPLIT if label in metric["labels"]), None)


def queries(metric):
    """[(expression, legend)]."""
    name, split = metric["prometheus"], split_of(metric)
    by = f" by ({split})" if split else ""
    legend = f"{{{{{split}}}}}" if split else metric["help"]
    if metric["kind"] == "counter":
        return [(f"sum{by} (rate({name}{WORKFLOW}[$__rate_interval]))", legend)]
    if metric["kind"] == "gauge":
        rule = "sum" if metric["merge"].startswith("adds") else "max"
        return [(f"{rule}{by} ({name}{WORKFLOW})", legend)]
    le = f"le, {split}" if split else "le"
    return [(f"histogram_quantile({quantile}, sum by ({le}) (rate({name}_bucket{WORKFLOW}[$__rate_interval])))",
             f"{legend} p{round(100 * quantile)}" if split else f"p{round(100 * quantile)}")
            for quantile in QUANTILES]


def unit(metric):
    if metric["kind"] == "counter":
        return {"1": "ops", "byte": "Bps", "ns": "percentunit"}.get(metric["unit"], "short")
    return UNITS[metric["unit"]]


def panel(metric, number, x, y):
    return {
        "id": number,
        "type": "timeseries",
        "title": metric["help"][:1].upper() + metric["help"][1:] + (", each second" if metric["kind"] == "counter" else ""),
        "description": f"{metric['name']}: {metric['origin']}",
        "datasource": {"type": "prometheus", "uid": "$datasource"},
        "gridPos": {"x": x, "y": y, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit(metric)}, "overrides": []},
        "targets": [{"refId": chr(ord("A") + index), "expr": expression, "legendFormat": legend}
                    for index, (expression, legend) in enumerate(queries(metric))],
    }


def row_of(metric):
    return next((name for name in ROWS if name in metric["sets"]), "")


def panels(metrics):
    known = {metric["name"]: metric for metric in metrics}
    made = [panel(known[name], 1 + at, at % COLUMNS * WIDTH, at // COLUMNS * HEIGHT) for at, name in enumerate(FIRST)]
    y = len(FIRST) // COLUMNS * HEIGHT
    for row, (name, title) in enumerate(ROWS.items()):
        number = 100 * (row + 1)
        chosen = [metric for metric in metrics if row_of(metric) == name]
        inside = [panel(metric, number + 1 + at, at % COLUMNS * WIDTH, y + row + 1 + at // COLUMNS * HEIGHT)
                  for at, metric in enumerate(chosen)]
        made.append({"id": number, "type": "row", "title": title, "collapsed": True, "panels": inside,
                     "gridPos": {"x": 0, "y": y + row, "w": COLUMNS * WIDTH, "h": 1}})
    return made


def variable(name, label, kind, query, **more):
    return {"name": name, "label": label, "type": kind, "query": query, **more}


def dashboard(metrics):
    return {
        "title": "vampire",
        "uid": "vampire",
        "description": "A Maestro workflow's pool, by vampire. Made from its table of metrics.",
        "tags": ["maestro", "vampire"],
        "schemaVersion": 37,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [
            variable("datasource", "Data source", "datasource", "prometheus"),
            variable("workflow", "Workflow", "query", "label_values(vampire_run_info, workflow)",
                     datasource={"type": "prometheus", "uid": "$datasource"}, refresh=2, includeAll=True, multi=True,
                     allValue=".*", current={"text": "All", "value": "$__all"}),
        ]},
        "panels": panels(metrics),
    }


def rule(alert, expression, severity, summary, lasting="0s"):
    return {"alert": alert, "expr": expression, "for": lasting, "labels": {"severity": severity},
            "annotations": {"summary": summary}}


def rules(names):
    """`names`: of the page, by vampire's. What is not in the table is an error here."""
    lost, buckets, rejected = (names[name] for name in ("vampire_lost", "vampire_lost_buckets", "vampire_rejected"))
    oldest, anomalies = names["demand_oldest_ns"], names["anomalies"]
    running = "on (instance, workflow) (vampire_run_ended == 0)"
    return {"groups": [{"name": "vampire", "rules": [
        rule("VampireLosesEvents", f"sum by (instance, workflow, reason) (increase({lost}[5m])) > 0", "critical",
             "Events of workflow {{ $labels.workflow }} are lost ({{ $labels.reason }}): its numbers are too small."),
        rule("VampireLosesBuckets", f"sum by (instance, workflow, output) (increase({buckets}[5m])) > 0", "critical",
             "Output {{ $labels.output }} of workflow {{ $labels.workflow }} cannot write as fast as numbers come."),
        rule("VampireRejectsEvents", f"sum by (instance, workflow) (increase({rejected}[5m])) > 0", "warning",
             "Events of workflow {{ $labels.workflow }} are not understood: is the pool manager of another release?"),
        rule("VampireIsLate", f"{names['vampire_lag_ns']} > 60", "warning",
             "What vampire counts in workflow {{ $labels.workflow }} is {{ $value | humanizeDuration }} old.", "1m"),
        # A series that is new has no increase yet: its first anomaly is in the second part.
        rule("WorkflowAnomalies",
             f"sum by (instance, workflow, anomaly) (increase({anomalies}[10m])) > 0"
             f" or sum by (instance, workflow, anomaly) ({anomalies} unless {anomalies} offset 10m) > 0",
             "warning", "Workflow {{ $labels.workflow }} has irregularities: {{ $labels.anomaly }}."),
        # The age of a wait that goes on: a histogram has those that ended.
        rule("WorkflowWaitsForData", f"max by (instance, workflow, component) ({oldest}) > 30",
             "warning", "Component {{ $labels.component }} of workflow {{ $labels.workflow }} has waited "
             "{{ $value | humanizeDuration }} for data."),
        rule("WorkflowPoolManagerGone",
             f"{names['components_present']} == 0 and {running}"
             " and on (instance, workflow) (changes(vampire_page_buckets_total[1m]) == 0)",
             "critical", "The pool manager of workflow {{ $labels.workflow }} is gone: no component is there and "
             "vampire counts nothing."),
        # Its page was there, did not say that the run ended, and is not there now.
        rule("VampireIsDown",
             "last_over_time(vampire_run_ended[1h]) == 0 unless on (instance, workflow) vampire_run_ended",
             "critical", "vampire of workflow {{ $labels.workflow }} is gone without an end: nothing is counted.", "1m"),
    ]}]}


def texts(programs):
    """{file name: text}. JSON is YAML, too."""
    printed = subprocess.run([programs / "vampire", "--list-metrics=json"], capture_output=True, check=True)
    metrics = json.loads(printed.stdout)["metrics"]
    made = {
        "vampire-grafana.json": dashboard(metrics),
        "vampire-alerts.yml": rules({metric["name"]: metric["prometheus"] for metric in metrics}),
    }
    return {name: json.dumps(content, indent=1) + "\n" for name, content in made.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("programs", type=pathlib.Path, metavar="PROGRAMS")
    parser.add_argument("--check", action="store_true", help="write nothing, exit code 1 when something differs")
    options = parser.parse_args()
    stale = 0
    for name, text in texts(options.programs.resolve()).items():
        path = HERE / name
        if options.check and (not path.exists() or path.read_text(encoding="utf-8") != text):
            print(f"{path} is not what the table of metrics gives; make generated renews it", file=sys.stderr)
            stale = 1
        elif not options.check:
            path.write_text(text, encoding="utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main())
