# SPDX-License-Identifier: BSD-3-Clause
"""Reads what vampire wrote into HDF5 files, of any format: one file, a run of many, several runs, also while
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

from .cdos import cdo_table, plot_cdo, plot_cdos
from .chain import trace_waits, wait_chain
from .compute import merge, quantile, rate, table
from .dataset import labels_of, open, select  # pylint: disable=redefined-builtin
from .errors import Error, TooLarge
from .history import History
from .look import amount, duration, style
from .plots import (blame_table, plot_blame, plot_gauge, plot_heatmap, plot_stack, plot_transports, plot_waits,
                    wait_table)
from .summary import summary

__all__ = [
    "Error", "History", "TooLarge", "amount", "blame_table", "cdo_table", "duration", "labels_of", "merge", "open", "plot_blame",
    "plot_cdo", "plot_cdos",
    "plot_gauge", "plot_heatmap", "plot_stack", "plot_transports", "plot_waits", "quantile", "rate", "select", "style",
    "summary", "table", "trace_waits", "wait_chain", "wait_table",
]
