"""From a parallelism to a whole configuration: the number of workers."""

from penstock.model import Configuration, Parallelism, View


def allowed_workers(view: View, workers: int) -> int:
    """The nearest number of workers that pool and objectives allow."""
    return min(max(workers, view.objectives.min_workers), view.max_workers)


def on_fewest_workers(view: View, parallelism: Parallelism) -> Configuration:
    """That parallelism on the fewest allowed workers with a slot for every instance.

    When all allowed workers together have too few slots, it gets all of them and instances share slots.
    """
    fitted = Configuration(parallelism, 1).fitted(view.topologies, view.cluster)
    return fitted.with_workers(allowed_workers(view, fitted.workers))
