# SPDX-License-Identifier: BSD-3-Clause
"""After any disturbance of a run, its totals are those of its events, or their coverage reports what is missing."""

import pytest

import lives

pytestmark = pytest.mark.plain


@pytest.mark.parametrize("seeds", [range(first, first + 5) for first in range(0, 40, 5)], ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_lives_of_a_run(seeds):
    for seed in seeds:
        log, wrong = lives.live(seed)
        assert not wrong, f"{log}\n{wrong}"
