"""Methods of forecasting, side by side."""

from penstock.evaluation.papers import EXPERIMENTS
from penstock.evaluation.papers.forecasting import sampled
from penstock.forecasting import METHODS
from penstock.workloads import Constant


def test_learned_methods_foresee_a_trace_better_than_its_last_value() -> None:
    rows = EXPERIMENTS["forecasting-errors"].run(True)
    found = {row.case.removeprefix("trace at 60:1, ").removesuffix(": error %"): row.ours for row in rows}
    assert list(found) == ["nothing changes", *METHODS]
    naive = found["nothing changes"]
    assert naive is not None
    assert all(error is not None and error < naive for name, error in found.items() if name != "nothing changes")
    (least,) = [row for row in rows if row.note]
    assert least.ours == min(error for error in found.values() if error is not None)
    assert least.ours < 0.5 * naive


def test_a_load_is_sampled_by_the_minute() -> None:
    assert sampled(Constant(7.0), 3).values == (7.0, 7.0, 7.0)
