# SPDX-License-Identifier: BSD-3-Clause
"""Reads what vampire wrote into HDF5 files: one file, a run of many, several runs, also while
they are written.

    import vampire
    print(vampire.summary("/scratch/forecast"))                   # what ran, and what is not in the numbers
    vampire.quantile("/scratch/forecast", "transport_ns", 0.99, by=["source"])
    vampire.rate("/scratch/forecast", "pool_operations", by=["component"], freq="1min").plot()
    vampire.table("/scratch/forecast", "demand_wait_ns", by=["component"])     # a tidy pandas frame
    ds = vampire.open("/scratch/forecast")         # or xarray.open_dataset(path, engine="vampire")

`quantile`, `merge`, `rate` and `table` work on rows, a few buckets at a time, and need little memory however
large the files are. `open` gives a labelled Dataset, of which only what is used is read. The plot_ functions draw
with matplotlib. docs/python.md has examples; the files are described in vampire-hdf5(5), the metrics in
vampire-metrics(7).
"""

import importlib

_FROM = {
    "account": ("summary",),
    "baseline": ("changed",),
    "blocking": ("blocked",),
    "cdos": ("cdo_table", "plot_cdo", "plot_cdos"),
    "chain": ("trace_waits", "wait_chain"),
    "compute": ("merge", "quantile", "rate", "resolution", "table"),
    "diagnosis": ("diagnose",),
    "dataset": ("components", "labels_of", "open", "select"),
    "errors": ("DamageWarning", "Error", "TooLarge"),
    "history": ("History",),
    "look": ("amount", "duration", "style"),
    "plots": ("blame_table", "plot_blame", "plot_estimate", "plot_gauge", "plot_heatmap", "plot_lines", "plot_stack", "plot_transports", "plot_waits",
              "wait_table"),
    "sampling": ("estimate",),
    "together": ("aligned", "moved_with"),
}
_MODULES = {name: module for module, names in _FROM.items() for name in names}
__all__ = sorted(_MODULES)  # pylint: disable=invalid-all-format


def __getattr__(name):
    """Loads what is used: `vampire --summary` has no need of xarray, pandas and matplotlib, which take long."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    found = globals()[name] = getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
    return found


def __dir__():
    return __all__
