# SPDX-License-Identifier: BSD-3-Clause
"""vampire-top: shows a run from vampire's JSON lines, in a terminal or as plain text. Standard library only.

text     texts and figures for a terminal
rows     what is counted, by component, pair and metric
model    the state of a run, from its lines
attention, losses   alarms, demands that wait, and what is missing
page     the lines that are shown
source   where the lines come from
plain, view   the two ways to show them
main     the command line
"""
