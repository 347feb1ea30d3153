"""How a run on Spark is put together."""

import pytest

from penstock.service.live import BATCH_S, longest_batch_s


@pytest.mark.parametrize("trigger_s", [0.5, 3.0, 5.0, 10.0, 60.0])
def test_a_batch_may_hold_more_than_comes_between_two(trigger_s: float) -> None:
    assert longest_batch_s(trigger_s) >= max(BATCH_S, 1.2 * trigger_s)


def test_batches_that_follow_soon_are_not_made_larger() -> None:
    assert longest_batch_s(0.5) == longest_batch_s(3.0) == BATCH_S
