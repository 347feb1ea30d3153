"""Several runs side by side, the best one first."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError
from penstock.evaluation.figures import UNKNOWN, plain, ratio, seconds
from penstock.evaluation.measures import Measures

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

RULE = "Ranked by fewest seconds over the latency target, then fewest worker-seconds; runs that were cut off come last."

_CAPTION = f"* best of all runs. {RULE}"
_WIDE = 100
"""From this width on there is room for all measures side by side."""
_MEASURE, _FIGURE = 20, 18
"""The width of the names of measures, and of the figures of a run below its name."""


@dataclass(frozen=True, slots=True)
class Column:
    """One measure of the scoreboard: where it comes from, how it is headed and written, which way is better."""

    key: str
    heading: str
    write: Callable[[float | None], str]
    meaning: str
    more_is_better: bool = False

    def value(self, measures: Measures) -> float | None:
        """The measure in one run."""
        found: float | None = getattr(measures, self.key)
        return found

    def text(self, measures: Measures) -> str:
        """The measure in one run, as it is written."""
        return self.write(self.value(measures))


def _whole(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.0f}"


COLUMNS = (
    Column("worker_seconds", "worker-s", plain, "workers in use, times the seconds they were"),
    Column(
        "slo_violation_s", "over target", seconds, "time with a 95th percentile above the target, or standing still"
    ),
    Column("p95_latency_s", "p95", seconds, "latency that 95 % of all events stayed within"),
    Column("throughput_degradation", "degradation", ratio, "mean of |load - throughput| / load"),
    Column("nodes_saved", "saved %", _whole, "workers not chosen, of all in the pool", more_is_better=True),
    Column("peak_backlog", "peak backlog", plain, "most events waiting at once"),
    Column("reconfigurations", "reconfigurations", plain, "changes carried out, rollbacks included"),
    Column("downtime_s", "downtime", seconds, "time in which a change kept events waiting"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One run and the name it goes by; rank 1 is the best."""

    rank: int
    name: str
    measures: Measures


@dataclass(frozen=True, slots=True)
class Scoreboard:
    """Runs in the order of their rank.

    The rule: fewest seconds over the latency target first, among equals fewest worker-seconds, then by name.
    A run that was cut off has had less time to go wrong and comes after all that were completed.
    """

    rows: tuple[Row, ...]

    @classmethod
    def of(cls, runs: Mapping[str, Measures]) -> "Scoreboard":
        """Rank runs by name; raises `UsageError` when there is none."""
        if not runs:
            raise UsageError("There is no run to put on a scoreboard; give at least one.")
        return cls(tuple(Row(i + 1, name, runs[name]) for i, name in enumerate(rank(runs))))

    def in_short(self) -> "Scoreboard":
        """The same with names that say no more than they must."""
        short = short_names(row.name for row in self.rows)
        return Scoreboard(tuple(replace(row, name=short[row.name]) for row in self.rows))

    def best(self, column: Column) -> frozenset[str]:
        """Names of the runs that are best in a column, as far as its writing tells; none where all look equal."""
        known = [row for row in self.rows if column.value(row.measures) is not None]
        if len({column.text(row.measures) for row in known}) < 2:
            return frozenset()
        sign = -1.0 if column.more_is_better else 1.0
        top = min(known, key=lambda row: sign * (column.value(row.measures) or 0.0))
        return frozenset(row.name for row in known if column.text(row.measures) == column.text(top.measures))

    def as_json(self) -> list[dict[str, Any]]:
        """The JSON of every run's measures, in rank order, with `name` and `rank` after them."""
        return [{**row.measures.as_json(), "name": row.name, "rank": row.rank} for row in self.rows]

    def tables(self, title: str | None = None, width: int = _WIDE) -> "list[Table]":
        """The scoreboard for a terminal of that width; the best value of a column carries a star.

        In a narrow terminal the measures are rows, and several tables of a few runs each stand below one another.
        """
        if width >= _WIDE and len(self.rows) > 1:
            return [self._wide(title)]
        room = max(1, (width - _MEASURE) // _FIGURE)
        parts = [self.rows[first : first + room] for first in range(0, len(self.rows), room)]
        tables = [self._narrow(part) for part in parts]
        tables[0].title = title
        tables[-1].caption = _CAPTION if len(self.rows) > 1 else None
        return tables

    def _wide(self, title: str | None) -> "Table":
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(title=title, box=box.SIMPLE_HEAD, caption=_CAPTION, pad_edge=False)
        table.caption_justify = "left"
        table.add_column("", justify="right", style="dim")
        table.add_column("policy", overflow="fold", min_width=16)
        for column in COLUMNS:
            table.add_column(_stacked(column.heading), justify="right", no_wrap=True)
        for row in self.rows:
            name = Text(_name(row), style="bold" if row.rank == 1 else "")
            table.add_row(str(row.rank), name, *(self._cell(column, row) for column in COLUMNS))
        return table

    def _narrow(self, rows: tuple[Row, ...]) -> "Table":
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, caption_justify="left")
        table.add_column("policy")
        for row in rows:
            width = _FIGURE - 2 if len(self.rows) > 1 else None
            heading = f"{row.rank}.\u00a0{_name(row)}" if len(self.rows) > 1 else _name(row)
            table.add_column(Text(heading, overflow="fold"), justify="right", overflow="fold", max_width=width)
        for column in COLUMNS:
            table.add_row(column.heading, *(self._cell(column, row) for row in rows))
        return table

    def _cell(self, column: Column, row: Row) -> "Text":
        from rich.text import Text

        if row.name in self.best(column):
            return Text(f"{column.text(row.measures)}*", style="bold green")
        return Text(f"{column.text(row.measures)} ")


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Every name with only those of its parameters that tell it apart from others of the same policy."""
    parts = {}
    for name in names:
        policy, mark, number = name.partition(" #")
        head, _, rest = policy.partition(":")
        parts[name] = (head, rest.split(","), mark + number)
    short = {}
    for name, (head, own, suffix) in parts.items():
        others = [set(rest) for other, rest, _ in parts.values() if other == head]
        telling = [part for part in own if part not in set.intersection(*others)]
        short[name] = ":".join([head, *([",".join(telling)] if telling else [])]) + suffix
    return short if len(set(short.values())) == len(short) else {name: name for name in short}


def _name(row: Row) -> str:
    return row.name if row.measures.complete else f"{row.name} (cut off)"


def rank(runs: Mapping[str, Measures]) -> list[str]:
    """Names of the runs, best first (see `Scoreboard` for the rule)."""

    def order(name: str) -> tuple[bool, float, float, str]:
        measures = runs[name]
        return not measures.complete, round(measures.slo_violation_s, 3), measures.worker_seconds, name

    return sorted(runs, key=order)


def spreads(runs: Mapping[str, Measures]) -> list[str]:
    """A line for every policy that ran more than once: means of what matters most, with the lowest and the highest."""
    found: dict[str, list[Measures]] = {}
    for measures in runs.values():
        found.setdefault(measures.policy, []).append(measures)
    return [_spread(policy, rounds) for policy, rounds in found.items() if len(rounds) > 1]


def _spread(policy: str, rounds: list[Measures]) -> str:
    said = []
    for column in COLUMNS[:3]:
        known = sorted(value for value in map(column.value, rounds) if value is not None)
        if known:
            low, high = column.write(known[0]), column.write(known[-1])
            said.append(f"{column.heading} {column.write(sum(known) / len(known))} ({low} to {high})")
    return f"{policy}, {len(rounds)} rounds: {', '.join(said)}"


def _stacked(heading: str) -> str:
    """A heading of two words, or one long one, on two lines."""
    split = {"degradation": "degra-\ndation", "reconfigurations": "recon-\nfigured", "downtime": "down-\ntime"}
    return split.get(heading, heading.replace(" ", "\n"))
