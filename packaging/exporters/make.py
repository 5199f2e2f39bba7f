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
# By which label a panel splits: the first of these that the metric has.
SPLIT = ("part", "component", "sink", "operation", "anomaly", "reason", "output", "tier", "source", "size_class")
UNITS = {"ns": "s", "byte": "bytes", "byte s-1": "Bps", "1e-6": "none", "1": "short"}
QUANTILES = (0.5, 0.99)
WORKFLOW = '{workflow=~"$workflow"}'
# A model, and what is of it: "IFS", "IFS -- 7", "(model IFS)".
MODEL = '{workflow=~"$workflow",%s=~"(.model )?($model)( -- .*|[)])?"}'
RATE = "[$__rate_interval]"
COLUMNS, WIDTH, HEIGHT = 3, 8, 7


def split_of(metric):
    return next((label for label in SPLIT if label in metric["labels"]), None)


def queries(metric):
    """[(expression, legend)]."""
    name, split = metric["prometheus"], split_of(metric)
    who = MODEL % "component" if "component" in metric["labels"] else WORKFLOW
    by = f" by ({split})" if split else ""
    legend = f"{{{{{split}}}}}" if split else metric["help"]
    if metric["kind"] == "counter":
        return [(f"sum{by} (rate({name}{who}{RATE}))", legend)]
    if metric["kind"] == "gauge":
        rule = "sum" if "adds over labels" in metric["merge"] else "max"
        return [(f"{rule}{by} ({name}{who})", legend)]
    le = f"le, {split}" if split else "le"
    return [(f"histogram_quantile({quantile}, sum by ({le}) (rate({name}_bucket{who}{RATE})))",
             f"{legend} p{round(100 * quantile)}" if split else f"p{round(100 * quantile)}")
            for quantile in QUANTILES]


def unit(metric):
    if metric["kind"] == "counter":
        return {"1": "ops", "byte": "Bps", "ns": "percentunit"}.get(metric["unit"], "short")
    return UNITS[metric["unit"]]


def panel(number, at, y, about, title, unit_of, asked, kind="timeseries"):  # pylint: disable=too-many-arguments
    """`about`: metric: what it is; `at`: the place from the left and below y; `asked`: [(expression, legend)]."""
    form = {"heatmap": {"format": "heatmap"}, "bargauge": {"instant": True}, "stat": {"instant": True}}.get(kind, {})
    looks = {"heatmap": {"calculate": False, "yAxis": {"unit": unit_of}},
             "bargauge": {"orientation": "horizontal", "reduceOptions": {"calcs": ["lastNotNull"]}}}.get(kind, {})
    return {
        "id": number,
        "type": kind,
        "title": title,
        "description": about,
        "datasource": {"type": "prometheus", "uid": "$datasource"},
        "gridPos": {"x": at % COLUMNS * WIDTH, "y": y + at // COLUMNS * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit_of}, "overrides": []},
        "options": looks,
        "targets": [{"refId": chr(ord("A") + index), "expr": expression, "legendFormat": legend, **form}
                    for index, (expression, legend) in enumerate(asked)],
    }


def panel_of(metric, number, at, y):
    return panel(number, at, y, f"{metric['name']}: {metric['origin']}",
                 metric["help"][:1].upper() + metric["help"][1:] + (", each second" if metric["kind"] == "counter" else ""),
                 unit(metric), queries(metric))


def screen(name):
    """What one looks at first: it answers who is blocked on whom, how long, what moves, and what the numbers stand for. `name`: of
    the page, by vampire's."""
    def heat(metric, who):
        return [(f"sum by (le) (increase({name[metric]}_bucket{who}{RATE}))", "{{le}}")]

    def total(metric):
        return f"(sum({name[metric]}{WORKFLOW}) or vector(0))"

    moved, anomalies = MODEL % "source", MODEL % "component"
    component, events = MODEL % "component", " + ".join(map(total, ("vampire_received", "vampire_lost", "vampire_not_subscribed")))
    return [
        ("blocked_on_ns", "Who is blocked on whom, fraction of the time", "percentunit",
         [(f"topk(10, sum by (component, producer) (rate({name['blocked_on_ns']}{component}{RATE})))",
           "{{component}} on {{producer}}")], "bargauge"),
        ("demand_wait_ns", "How long waits on demand were", "s", heat("demand_wait_ns", component), "heatmap"),
        ("demand_oldest_ns", "Who waits now, and since when", "s",
         [(f"topk(10, max by (component) ({name['demand_oldest_ns']}{component}))", "{{component}}")]),
        ("transport_bytes", "Bytes moved, each second", "Bps",
         [(f"topk(10, sum by (source, sink) (rate({name['transport_bytes']}{moved}{RATE})))", "{{source}} to {{sink}}")]),
        ("transport_ns", "How long transports took", "s", heat("transport_ns", moved), "heatmap"),
        ("pool_bytes", "Bytes in the pool", "bytes", [(f"sum by (workflow) ({name['pool_bytes']}{WORKFLOW})", "{{workflow}}")]),
        ("pool_operations", "Pool operations, each second", "ops",
         [(f"sum by (operation) (rate({name['pool_operations']}{component}{RATE}))", "{{operation}}")]),
        ("anomalies", "Irregularities and losses", "short",
         [(f"sum by (anomaly) (increase({name['anomalies']}{anomalies}{RATE})) > 0 or vector(0)", "{{anomaly}}"),
          (f"sum by (reason) (increase({name['vampire_lost']}{WORKFLOW}{RATE}))", "events lost: {{reason}}"),
          (f"sum by (output) (increase({name['vampire_lost_buckets']}{WORKFLOW}{RATE}))", "buckets lost: {{output}}")]),
        ("vampire_counted", "What the numbers stand for", "percentunit",
         [(f"{total('vampire_counted')} / ({events})", "of the events"),
          (f"1 - (count(vampire_page_merged{WORKFLOW}) or vector(0)) / {len(name)}", "of the metrics with all labels")], "stat"),
    ]


def row_of(metric):
    return next((name for name in ROWS if name in metric["sets"]), "")


def panels(metrics):
    known = {metric["name"]: metric for metric in metrics}
    first = screen({name: metric["prometheus"] for name, metric in known.items()})
    made = [panel(1 + at, at, 0, f"{name}: {known[name]['origin']}", *rest) for at, (name, *rest) in enumerate(first)]
    y = len(first) // COLUMNS * HEIGHT
    for row, (name, title) in enumerate(ROWS.items()):
        number = 100 * (row + 1)
        chosen = [metric for metric in metrics if row_of(metric) == name]
        inside = [panel_of(metric, number + 1 + at, at, y + row + 1) for at, metric in enumerate(chosen)]
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
            variable("model", "Model", "query", "label_values(vampire_pool_operations_total{workflow=~\"$workflow\"}, component)",
                     datasource={"type": "prometheus", "uid": "$datasource"}, refresh=2, includeAll=True, multi=True,
                     regex="/^(?:.model )?(.*?)(?: -- .*|[)])?$/", allValue=".*", current={"text": "All", "value": "$__all"}),
        ]},
        "panels": panels(metrics),
    }


def rule(alert, expression, severity, summary, lasting="0s"):
    return {"alert": alert, "expr": expression, "for": lasting, "labels": {"severity": severity},
            "annotations": {"summary": summary}}


def rules(names):
    """`names`: of the page, by vampire's. What is not in the table is an error here."""
    lost, buckets, rejected = (names[name] for name in ("vampire_lost", "vampire_lost_buckets", "vampire_rejected"))
    oldest, anomalies, blocked = names["demand_oldest_ns"], names["anomalies"], names["blocked_on_ns"]
    share = f"sum by (instance, workflow, component, producer) (rate({blocked}[5m]))"
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
        # Being blocked is normal in many workflows; being blocked for longer than before is not.
        rule("WorkflowBlockedLonger",
             f"{share} - avg_over_time({share}[1h:1m] offset 5m) > 0.2",
             "warning", "Component {{ $labels.component }} of workflow {{ $labels.workflow }} was blocked on {{ $labels.producer }} for "
             "{{ $value | humanizePercentage }} more of the last five minutes than of the hour before.", "2m"),
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
