# SPDX-License-Identifier: BSD-3-Clause
"""The metrics, their labels, and the classes and bins that values fall into: docs/metrics.md as tables."""

OTHER, UNKNOWN = "(other)", "unknown"
SECOND = 10**9
LEAP_RUN = 256
COMBINATIONS_ALWAYS_HELD = 64
GAPS_OF_A_BUCKET = 32
GIVEN_UP_FIRST = "size_class sink producer consumer tier cause operation part anomaly".split()
WAIT_PARTS = "for_offer for_start moving".split()
NAME_BYTES = 255
PENDING_DEMANDS = 16  # listed in a bucket
CDO_TIMES = "declared sealed offered first_demand last_transport withdrawn disposed".split()

LABELS = {
    "pool_operations": ("component", "operation"),
    "cdos_created": ("component", "size_class"),
    "cdos_created_bytes": ("component", "size_class"),
    "component_association_ns": (),
    "produced_bytes": ("component",),
    "consumed_bytes": ("component",),
    "demand_wait_ns": ("component", "size_class"),
    "demand_wait_part_ns": ("component", "producer", "part"),
    "blocked_ns": ("component",), "blocked_on_ns": ("component", "producer", "part"),
    "blocked_on_before_ns": ("component", "producer", "part"), "held_back_ns": ("component", "consumer"),
    "withdraw_wait_ns": ("component", "size_class"),
    "leave_wait_ns": ("component",),
    "handling_ns": ("operation",),
    "declare_to_offer_ns": ("component", "size_class"),
    "offer_to_first_demand_ns": ("component", "size_class"),
    "offer_to_withdraw_ns": ("component", "size_class"),
    "cdo_lifetime_ns": ("component", "size_class"),
    "demands_per_cdo": ("component",),
    "transport_ns": ("source", "sink", "size_class", "tier"),
    "transports": ("source", "sink", "size_class", "tier", "cause"),
    "transport_bytes": ("source", "sink", "size_class", "tier", "cause"),
    "transport_bytes_per_second": ("size_class", "tier"),
    "anomalies": ("component", "anomaly"),
    "demands_pending": ("component",), "withdraws_pending": ("component",),
    "transports_pending": ("component", "tier"), "in_flight_uncertain": ("component",),
    "demand_oldest_ns": ("component",), "withdraw_oldest_ns": ("component",),
    "transport_oldest_ns": ("component",), "component_silent_ns": ("component",),
    "components_present": (), "pool_cdos": (), "pool_bytes": (), "transports_active": ("tier",),
    "vampire_received": (), "vampire_decoded": (), "vampire_rejected": (), "vampire_filtered": (),
    "vampire_sampled_out": (), "vampire_sampled_in": (), "vampire_weighted": (), "vampire_weight": (),
    "vampire_sample_group": ("metric", "group"),
    "vampire_counted": (), "vampire_late": (), "vampire_lost": ("reason",), "vampire_evicted": (), "vampire_cdos_uncounted": (), "vampire_unidentified": (),
    "vampire_series_overflow": (), "vampire_labels_given_up": (), "vampire_tracked_cdos": (),
}
WEIGHTED = {"weighted_" + name: name for name in
            "pool_operations cdos_created cdos_created_bytes produced_bytes consumed_bytes transports transport_bytes".split()}
LABELS.update({name: LABELS[plain] for name, plain in WEIGHTED.items()})
COUNTERS = ("pool_operations cdos_created cdos_created_bytes produced_bytes consumed_bytes transports "
            "transport_bytes blocked_ns blocked_on_ns blocked_on_before_ns held_back_ns anomalies vampire_received vampire_decoded vampire_rejected "
            "vampire_filtered vampire_sampled_out vampire_sampled_in vampire_sample_group vampire_weighted vampire_counted vampire_late vampire_lost "
            "vampire_evicted vampire_cdos_uncounted vampire_unidentified vampire_series_overflow vampire_labels_given_up").split() + list(WEIGHTED)
GROUPED = "pool_operations cdos_created_bytes produced_bytes consumed_bytes transports transport_bytes".split()
GROUPS = 16
AGES = "demand_oldest_ns withdraw_oldest_ns transport_oldest_ns component_silent_ns".split()
NO_AGE = (-(2**63),) * 3
GAUGES = AGES + ("demands_pending withdraws_pending transports_pending in_flight_uncertain components_present pool_cdos pool_bytes transports_active vampire_tracked_cdos "
          "vampire_weight").split()
HISTOGRAMS = [name for name in LABELS if name not in COUNTERS and name not in GAUGES]
ANOMALIES = ("not_withdrawn_at_leave not_disposed_at_leave offer_never_demanded "
             "demand_never_satisfied transport_failed negative_interval operation_out_of_order "
             "unknown_component").split()


# Metrics of vampire's own work, and of a collection: no stream of events determines them. A metric that is neither in
# LABELS nor here is a difference, so that a new one cannot stay unchecked.
NOT_RECOMPUTED = """
own_roundtrip_ns vampire_filter_cut vampire_not_subscribed vampire_metric_filtered vampire_no_room vampire_not_in_output
vampire_written vampire_lost_buckets vampire_queue_high_water vampire_commit_ns vampire_lag_ns
vampire_clock_resolution_ns vampire_ring_bytes vampire_rss_bytes vampire_cpu_ns vampire_alarms_firing
vampire_alarms_fired collect_runs_reporting collect_runs_missing collect_refused
""".split()


def unknown_metrics(names, declared):
    """The names of metrics that nothing recomputes. declared: names of metrics that the configuration declares; their
    values come from samples."""
    return sorted({*names} - {*LABELS, *NOT_RECOMPUTED, *declared})


# Those that have the declared attributes of CDOs after their other labels.
BY_ATTRIBUTE = ("produced_bytes consumed_bytes demand_wait_ns demand_wait_part_ns declare_to_offer_ns offer_to_first_demand_ns "
                "offer_to_withdraw_ns cdo_lifetime_ns transport_ns transports transport_bytes transport_bytes_per_second "
                "weighted_produced_bytes weighted_consumed_bytes weighted_transports weighted_transport_bytes").split()
ATTRIBUTES, ATTRIBUTE_BYTES = [], 63


def declare(attributes):
    """From here on these are the attributes."""
    for metric in BY_ATTRIBUTE:
        LABELS[metric] = LABELS[metric][: len(LABELS[metric]) - len(ATTRIBUTES)] + tuple(attributes)
    ATTRIBUTES[:] = attributes


# Kinds of events without which a metric is absent; the weighted ones are as those on which they are based.
DELIVERED, DURATION = {"transport_completed"}, {"transport_init", "transport_completed"}
NEEDS = {
    **dict.fromkeys(("transports", "transport_bytes", "consumed_bytes"), DELIVERED),
    **dict.fromkeys(("transport_ns", "transport_bytes_per_second"), DURATION),
    **dict.fromkeys(("transports_active", "transports_pending", "transport_oldest_ns"), DURATION | {"transport_failed"}),
    **dict.fromkeys(("demand_wait_ns", "demand_wait_part_ns", "demands_pending", "demand_oldest_ns",
                     "blocked_ns", "blocked_on_ns", "blocked_on_before_ns"), DELIVERED | {"demand"}),
    **dict.fromkeys(("held_back_ns", "withdraw_wait_ns", "withdraws_pending", "withdraw_oldest_ns"), {"withdraw"}),
    **dict.fromkeys(("pool_cdos", "pool_bytes", "offer_to_withdraw_ns"), {"offer", "withdraw"}),
    "produced_bytes": {"offer"}, "declare_to_offer_ns": {"declare", "offer"}, "offer_to_first_demand_ns": {"offer", "demand"},
    "cdo_lifetime_ns": {"declare", "dispose"}, "demands_per_cdo": {"demand"},
}


def absent_without(kinds):
    """The metrics that are absent where events of these kinds cannot arrive."""
    return {name for name in LABELS if NEEDS.get(WEIGHTED.get(name, name), set()) & set(kinds)}


EARLIEST, LATEST = -9214560000 * SECOND, 9214646400 * SECOND - 1  # 1678-01-01, before 2262-01-01


def component_label(name):
    """What a component called so in its JOIN is called."""
    text = name.split(b"\0")[0].decode("utf-8")
    return "\\" + text if text.lstrip("\\") in (OTHER, UNKNOWN) else text or UNKNOWN


def labels_at(metric, level):
    """The labels of a metric: those that distinguish components are left out at level `workflow`."""
    gone = ("component", "source", "sink", "producer", "consumer") if level == "workflow" else ()
    return tuple(name for name in LABELS[metric] if name not in gone)


def size_text(size):
    for unit, word in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit}{word}"
    return str(size)


def size_class(size):
    if size is None:
        return UNKNOWN
    lower, upper = 0, 256
    while size >= upper and upper < 1 << 30:
        lower, upper = upper, upper * 2
    if size >= 1 << 30:
        return "[1GiB,inf)"
    return f"[{size_text(lower)},{size_text(upper)})"


def bin_of(value, sub_bits):
    """Smallest value of the bin that holds `value`."""
    if value < 1 << sub_bits:
        return value
    doubling = value.bit_length() - 1
    width = 1 << (doubling - sub_bits)
    return value // width * width
