"""How long decisions take: AuTraScale with training and with transfer by the number of operators, and its libraries.

Processor time, as in AuTraScale's Table IV (published for 10 operators: 88 ms with training, 116 ms with transfer).
"""

import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np

from penstock.analysis import fit_gaussian_process
from penstock.evaluation.papers.autrascale import decision_times_s


def cpu_ms(work: Callable[[], object], repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return 1000 * sorted(times)[repeats // 2]


def growth() -> None:
    print("operators  training ms  prediction ms  transfer ms")
    for operators in (2, 4, 6, 8, 10, 20, 50, 100):
        training, prediction, transfer = (1000 * seconds for seconds in decision_times_s(operators, 5))
        print(f"{operators:9d}  {training:11.1f}  {prediction:13.3f}  {transfer:11.1f}")


def library() -> None:
    """Why the Gaussian process is our own: up to some dozens of samples it is quicker to fit, and quick to import."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Matern

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    print("samples  dimensions  own fit ms  scikit-learn fit ms")
    for samples, dimensions in ((14, 10), (40, 10), (110, 100)):
        points = rng.random((samples, dimensions))
        values = np.sin(points.sum(axis=1))
        regressor = GaussianProcessRegressor(Matern(nu=2.5), normalize_y=True, alpha=1e-6, n_restarts_optimizer=2)
        own = cpu_ms(partial(fit_gaussian_process, points, values))
        theirs = cpu_ms(partial(regressor.fit, points, values))
        print(f"{samples:7d}  {dimensions:10d}  {own:10.1f}  {theirs:19.1f}")


if __name__ == "__main__":
    growth()
    library()
