"""Loads that were once recorded: a file with the events of every interval, replayed."""

import csv
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import median

from penstock.errors import InvalidModel, UsageError


@dataclass(frozen=True, slots=True)
class Trace:
    """A recorded load: interval i starts at `starts_s[i]` and has the rate `rates_per_s[i]`.

    Where recordings are missing the rate goes evenly from the last known one to the next. After `length_s` the trace
    starts again.
    """

    starts_s: tuple[float, ...]
    rates_per_s: tuple[float, ...]
    interval_s: float

    def __post_init__(self) -> None:
        if not self.starts_s or len(self.starts_s) != len(self.rates_per_s):
            raise InvalidModel("A trace needs at least one interval, and a rate for each.")
        if any(later <= earlier for earlier, later in pairwise(self.starts_s)):
            raise InvalidModel("The intervals of a trace must start one after the other.")
        if self.starts_s[0] != 0 or self.interval_s <= 0:
            raise InvalidModel("A trace must start at 0 and have intervals of more than 0 seconds.")
        if min(self.rates_per_s) < 0:
            raise InvalidModel("The rates of a trace must not be negative.")

    @property
    def length_s(self) -> float:
        """From the start of the first interval to the end of the last."""
        return self.starts_s[-1] + self.interval_s

    def rate_per_s(self, at_s: float) -> float:
        """Events per second at that time."""
        within_s = at_s % self.length_s
        index = bisect_right(self.starts_s, within_s) - 1
        rate = self.rates_per_s[index]
        into_gap_s = within_s - self.starts_s[index] - self.interval_s
        if into_gap_s <= 0 or index + 1 == len(self.starts_s):
            return rate
        gap_s = self.starts_s[index + 1] - self.starts_s[index] - self.interval_s
        return rate + (self.rates_per_s[index + 1] - rate) * into_gap_s / gap_s


def read_trace(path: Path, compress: float, peak_per_s: float, begin: datetime | None = None) -> Trace:
    """The trace in a CSV file with the columns `timestamp` and `value`.

    Time runs `compress` times faster than it did, and rates are scaled so that the highest is `peak_per_s`. Rows before
    `begin` are left out. The interval is the median distance of two rows. Raises `UsageError`, with the line number
    where one line is to blame.
    """
    rows = [row for row in _rows(path) if begin is None or _not_before(path, row[0], begin)]
    if len(rows) < 2:
        since = "" if begin is None else f" from {begin.isoformat()} on"
        raise UsageError(f"The trace '{path}' has {len(rows)} intervals{since}; it needs at least 2.")
    starts_s = tuple((at - rows[0][0]).total_seconds() / compress for at, _ in rows)
    interval_s = median(later - earlier for earlier, later in pairwise(starts_s))
    highest = max(value for _, value in rows)
    if highest <= 0:
        raise UsageError(f"The trace '{path}' has no events in it; all its values are 0.")
    return Trace(starts_s, tuple(value * peak_per_s / highest for _, value in rows), interval_s)


def _rows(path: Path) -> Iterator[tuple[datetime, float]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            yield from _parsed(path, lines)
    except UnicodeDecodeError:
        raise UsageError(f"The trace '{path}' is not a text file in UTF-8.") from None
    except FileNotFoundError:
        raise UsageError(f"There is no trace file '{path}'; check the path.") from None
    except OSError as error:
        raise UsageError(f"The trace '{path}' cannot be read: {error.strerror}.") from None


def _parsed(path: Path, lines: Iterable[str]) -> Iterator[tuple[datetime, float]]:
    reader = csv.reader(lines)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        if "timestamp" not in header or "value" not in header:
            raise UsageError(f"The trace '{path}' must begin with a line that names the columns timestamp and value.")
        columns = (header.index("timestamp"), header.index("value"))
        previous: datetime | None = None
        for row in reader:
            if not any(field.strip() for field in row):
                continue
            at, value = _row(path, reader.line_num, row, columns)
            _check_order(path, reader.line_num, previous, at)
            previous = at
            yield at, value
    except csv.Error as error:
        raise UsageError(f"Line {reader.line_num} of the trace '{path}' is not CSV: {error}.") from None


def _row(path: Path, line: int, row: list[str], columns: tuple[int, int]) -> tuple[datetime, float]:
    where = f"Line {line} of the trace '{path}'"
    if len(row) <= max(columns):
        raise UsageError(f"{where} has {len(row)} columns; it needs a timestamp and a value.")
    time_text, value_text = (row[column].strip() for column in columns)
    try:
        at = datetime.fromisoformat(time_text)
    except ValueError:
        raise UsageError(f"{where} has the timestamp '{time_text}'; write it as 2026-01-31 23:59:00.") from None
    try:
        value = float(value_text)
    except ValueError:
        raise UsageError(f"{where} has the value '{value_text}', which is not a number.") from None
    if not math.isfinite(value) or value < 0:
        raise UsageError(f"{where} has the value {value_text}; it must be a number of events, at least 0.")
    return at, value


def _check_order(path: Path, line: int, previous: datetime | None, at: datetime) -> None:
    if previous is None:
        return
    if (previous.tzinfo is None) != (at.tzinfo is None):
        raise UsageError(f"Line {line} of the trace '{path}' has a time zone where others have none, or the reverse.")
    if at <= previous:
        raise UsageError(
            f"Line {line} of the trace '{path}' goes back in time: {at.isoformat(' ')} does not come after "
            f"{previous.isoformat(' ')}."
        )


def _not_before(path: Path, at: datetime, begin: datetime) -> bool:
    if (at.tzinfo is None) != (begin.tzinfo is None):
        raise UsageError(f"Give start with a time zone if, and only if, the trace '{path}' has one.")
    return at >= begin
