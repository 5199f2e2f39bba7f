# SPDX-License-Identifier: BSD-3-Clause
"""vampire-report: one page, as HTML, plain text or CSV, of a run, or of what differs between two."""
