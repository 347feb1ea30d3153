"""The exact timetable of a load: which event is due when."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.workloads.curves import Curve

_CELL_S = 0.1
_BLOCK_CELLS = 1024
_QUIET_S = 24 * 3600.0
_LONGEST_S = 60 * _QUIET_S

_Blocks: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Expected events (a real number) and events due (whole) by the start of every cell."""


@dataclass(frozen=True)
class Schedule:
    """When every event of a load is due, whether or not the system keeps up (open loop).

    The timetable depends on nothing but the curve and `scale` (a factor on its rates): every process that holds an
    equal schedule knows the same times. `events_until(t)` is exactly the number of `times` that are <= t. Only curve
    and scale travel when it is pickled; each process keeps its own table, which grows as later times are asked for.
    The curve must be hashable, as every frozen dataclass is.
    """

    curve: Curve
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.scale < 0:
            raise UsageError(f"A schedule cannot have scale {self.scale:g}; it must be at least 0.")

    def __getstate__(self) -> dict[str, Any]:
        return {"curve": self.curve, "scale": self.scale}

    @cached_property
    def _table(self) -> "_Table":
        assert isinstance(self.curve, Hashable)
        return _shared_table(self.curve, self.scale)

    def events_until(self, at_s: float) -> int:
        """Events that are due at `at_s` or before; 0 before the start of the run."""
        return self._table.events_until(at_s)

    def times(self, start: int, end: int) -> NDArray[np.float64]:
        """When events `start` to `end - 1` (counted from 0) are due, in order.

        Raises `UsageError` when the load does not bring that many: when a whole day brings none, or after 60 days.
        """
        return self._table.times(start, end)


class _Table:
    """Events due by the end of each cell of time, computed as far as it was needed.

    Cells are added in blocks of fixed size, so that the sums do not depend on the order of questions. Arrays are
    replaced, never changed, so that threads may ask at the same time.
    """

    def __init__(self, rate_per_s: Callable[[float], float], scale: float) -> None:
        self._rate_per_s = rate_per_s
        self._scale = scale
        self._blocks: _Blocks = (np.zeros(1), np.zeros(1, dtype=np.int64))

    def events_until(self, at_s: float) -> int:
        if at_s < 0:
            return 0
        cell = int(at_s / _CELL_S)
        due = self._covering_cell(cell + 1)
        first, last = int(due[cell]), int(due[cell + 1])
        count = min(first + int((at_s / _CELL_S - cell) * (last - first) + 0.5), last)
        # The division above may round to the wrong side of an event: the times themselves decide.
        while count > 0 and self._time(due, count - 1) > at_s:
            count -= 1
        while count < int(due[-1]) and self._time(due, count) <= at_s:
            count += 1
        return count

    def times(self, start: int, end: int) -> NDArray[np.float64]:
        if start < 0:
            raise UsageError(f"Events are counted from 0; there is no event {start}.")
        if end <= start:
            return np.empty(0)
        return _times(self._covering_event(end - 1), np.arange(start, end, dtype=np.int64))

    @staticmethod
    def _time(due: NDArray[np.int64], event: int) -> float:
        return float(_times(due, np.array([event], dtype=np.int64))[0])

    def _covering_cell(self, cell: int) -> NDArray[np.int64]:
        _, due = blocks = self._blocks
        if len(due) > cell:
            return due
        self._blocks = blocks = self._grown(blocks, 1 + (cell - len(due)) // _BLOCK_CELLS)
        return blocks[1]

    def _covering_event(self, event: int) -> NDArray[np.int64]:
        blocks = self._blocks
        while blocks[1][-1] <= event:
            cells = len(blocks[1])
            if cells * _CELL_S > _LONGEST_S or _quiet_for_s(blocks[1]) > _QUIET_S:
                raise UsageError(f"The load does not bring {event + 1} events; ask for fewer events.")
            # Growing by a quarter keeps the copying in proportion to the whole.
            self._blocks = blocks = self._grown(blocks, 1 + cells // (4 * _BLOCK_CELLS))
        return blocks[1]

    def _grown(self, blocks: _Blocks, count: int) -> _Blocks:
        sums, dues = [blocks[0]], [blocks[1]]
        begin = len(blocks[0]) - 1
        for _ in range(count):
            middles_s = (np.arange(begin, begin + _BLOCK_CELLS) + 0.5) * _CELL_S
            rates = np.array([self._rate_per_s(at_s) for at_s in middles_s.tolist()])
            sums.append(sums[-1][-1] + np.cumsum(rates * (self._scale * _CELL_S)))
            # A sum that is a whole number but for rounding counts as that number.
            dues.append(np.floor(sums[-1] + 1e-6).astype(np.int64))
            begin += _BLOCK_CELLS
        return np.concatenate(sums), np.concatenate(dues)


def _quiet_for_s(due: NDArray[np.int64]) -> float:
    """How long before the end of the table the last event is."""
    return float(len(due) - 1 - np.searchsorted(due, due[-1])) * _CELL_S


def _times(due: NDArray[np.int64], events: NDArray[np.int64]) -> NDArray[np.float64]:
    """The events of one cell are spread evenly over it."""
    cells = np.searchsorted(due, events, side="right") - 1
    first, in_cell = due[cells], due[cells + 1] - due[cells]
    return np.asarray((cells + (events - first + 0.5) / in_cell) * _CELL_S, dtype=np.float64)


@lru_cache(maxsize=16)
def _shared_table(curve: Curve, scale: float) -> _Table:
    # Equal schedules arrive in a worker process again and again; they share what was computed.
    return _Table(curve.rate_per_s, scale)
