"""Wall time as the loop's clock."""

import threading
import time


class WallClock:
    """Seconds since `epoch_s` (in seconds since 1970). Sleeping ends early when `interrupted` is set."""

    def __init__(self, epoch_s: float, interrupted: threading.Event | None = None) -> None:
        self.epoch_s = epoch_s
        self._interrupted = interrupted or threading.Event()

    def now_s(self) -> float:
        """Seconds since the epoch of the run."""
        return time.time() - self.epoch_s

    def sleep_until(self, at_s: float) -> None:
        """Return at `at_s`, or as soon as the run is interrupted."""
        while not self._interrupted.is_set() and (left_s := at_s - self.now_s()) > 0:
            self._interrupted.wait(left_s)
