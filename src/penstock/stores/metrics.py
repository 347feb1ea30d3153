"""The metric database: observations, what actions cost, and profiles, in a sqlite file or in memory."""

import math
from bisect import bisect_right, insort
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from os import PathLike
from statistics import median
from types import TracebackType
from typing import Protocol

from penstock.control.actions import Action, Level
from penstock.errors import BadObservation, UsageError
from penstock.model import Observation
from penstock.stores.averages import average
from penstock.stores.codec import decode, decode_payload, encode, encode_payload
from penstock.stores.database import Database, Layout
from penstock.stores.profile import DataRange, Profile

_LAYOUT = Layout(
    what="metric store",
    application_id=int.from_bytes(b"PenM", "big"),
    version=1,
    tables=(
        "CREATE TABLE observations (at_s REAL NOT NULL UNIQUE, body TEXT NOT NULL)",
        "CREATE TABLE actions (at_s REAL NOT NULL, level TEXT NOT NULL, body TEXT NOT NULL, UNIQUE (at_s, body))",
        "CREATE TABLE profiles (application TEXT, name TEXT, version INTEGER, created TEXT NOT NULL, "
        "since_s REAL, until_s REAL, body TEXT NOT NULL, PRIMARY KEY (application, name, version))",
    ),
)


class MetricStore(Protocol):
    """What was measured and what it taught. Times are those of one run, or of one clock that all runs share.

    Adding the same observation or action again changes nothing, so that a run may be done again over its store.
    """

    def add(self, observation: Observation) -> None:
        """Keep an observation, in place of one of the same time. Raises `BadObservation` if it is not all finite."""
        ...

    def window(self, since_s: float, until_s: float, application: str | None = None) -> tuple[Observation, ...]:
        """The observations with `since_s < at_s <= until_s`, oldest first.

        With `application`, only those that know it, without the other applications.
        """
        ...

    def averages(self, at_s: float, window_s: float = 60.0) -> Observation | None:
        """The sliding averages over the `window_s` before `at_s`; None if nothing was observed in it."""
        ...

    def add_action(self, at_s: float, action: Action) -> None:
        """Keep what was done, and when."""
        ...

    def actions(self, level: Level | None = None) -> tuple[Action, ...]:
        """What was done, all of it or that of one level, oldest first."""
        ...

    def typical_pause_s(self, level: Level) -> float | None:
        """The median pause of the actions of that level; None before there was one."""
        ...

    def save_profile(self, profile: Profile) -> None:
        """Keep a profile, in place of one of the same application, name and version."""
        ...

    def profile(self, application: str, name: str, version: int | None = None) -> Profile | None:
        """The profile of that version, or the highest; None if there is none."""
        ...

    def profiles(self, application: str | None = None) -> tuple[Profile, ...]:
        """All profiles, or those of one application, by application, name and version."""
        ...


class SqliteMetricStore:
    """A metric store in a sqlite file; other processes may read and write it at the same time.

    Observations and actions older than `keep_s` before the newest one are deleted as new ones come. Raises
    `UsageError` for a file that is not a metric store, is damaged or of a newer version.
    """

    def __init__(self, path: str | PathLike[str], keep_s: float | None = None, create: bool = True) -> None:
        self._keep_s = _checked(keep_s)
        self._database = Database(path, _LAYOUT, create)

    def add(self, observation: Observation) -> None:
        """Keep an observation, in place of one of the same time."""
        body = encode(observation)
        self._write("observations", observation.at_s, "INSERT OR REPLACE INTO observations VALUES (?, ?)", body)

    def window(self, since_s: float, until_s: float, application: str | None = None) -> tuple[Observation, ...]:
        """The observations with `since_s < at_s <= until_s`, oldest first."""
        query = "SELECT body FROM observations WHERE at_s > ? AND at_s <= ? ORDER BY at_s"
        found = [decode(Observation, body) for (body,) in self._database.rows(query, (since_s, until_s))]
        return _narrowed(found, application)

    def averages(self, at_s: float, window_s: float = 60.0) -> Observation | None:
        """The sliding averages over the `window_s` before `at_s`; None if nothing was observed in it."""
        return average(self.window(at_s - window_s, at_s), at_s, window_s)

    def add_action(self, at_s: float, action: Action) -> None:
        """Keep what was done, and when."""
        _check_time(at_s)
        body = encode(action)
        statement = "INSERT OR IGNORE INTO actions VALUES (?, ?, ?)"
        self._write("actions", at_s, statement, action.level.value, body)

    def actions(self, level: Level | None = None) -> tuple[Action, ...]:
        """What was done, all of it or that of one level, oldest first."""
        query = "SELECT body FROM actions WHERE level = coalesce(?, level) ORDER BY at_s, rowid"
        rows = self._database.rows(query, (None if level is None else level.value,))
        return tuple(decode(Action, body) for (body,) in rows)

    def typical_pause_s(self, level: Level) -> float | None:
        """The median pause of the actions of that level; None before there was one."""
        return _median_pause_s(self.actions(level))

    def save_profile(self, profile: Profile) -> None:
        """Keep a profile, in place of one of the same application, name and version."""
        row = (profile.application, profile.name, profile.version, *_origin(profile), encode_payload(profile.body))
        self._database.write(("INSERT OR REPLACE INTO profiles VALUES (?, ?, ?, ?, ?, ?, ?)", row))

    def profile(self, application: str, name: str, version: int | None = None) -> Profile | None:
        """The profile of that version, or the highest; None if there is none."""
        return _chosen(self.profiles(application), name, version)

    def profiles(self, application: str | None = None) -> tuple[Profile, ...]:
        """All profiles, or those of one application, by application, name and version."""
        query = (
            "SELECT application, name, version, body, created, since_s, until_s FROM profiles "
            "WHERE application = coalesce(?, application) ORDER BY application, name, version"
        )
        return tuple(
            Profile(owner, name, version, datetime.fromisoformat(created), decode_payload(body), _range(*times))
            for owner, name, version, body, created, *times in self._database.rows(query, (application,))
        )

    def close(self) -> None:
        """Release the file; closing twice is closing once."""
        self._database.close()

    def __enter__(self) -> "SqliteMetricStore":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, table: str, at_s: float, statement: str, *values: object) -> None:
        oldest_s = -math.inf if self._keep_s is None else at_s - self._keep_s
        self._database.write((statement, (at_s, *values)), (f"DELETE FROM {table} WHERE at_s <= ?", (oldest_s,)))


class MemoryMetricStore:
    """A metric store that lasts as long as the object. It refuses what a file could not hold."""

    def __init__(self, keep_s: float | None = None) -> None:
        self._keep_s = _checked(keep_s)
        self._times: list[float] = []
        self._observations: dict[float, Observation] = {}
        self._actions: list[tuple[float, Action]] = []
        self._profiles: dict[tuple[str, str, int], Profile] = {}

    def add(self, observation: Observation) -> None:
        """Keep an observation, in place of one of the same time."""
        encode(observation)
        if observation.at_s not in self._observations:
            insort(self._times, observation.at_s)
        self._observations[observation.at_s] = observation
        while self._too_old(self._times[0], observation.at_s):
            del self._observations[self._times.pop(0)]

    def window(self, since_s: float, until_s: float, application: str | None = None) -> tuple[Observation, ...]:
        """The observations with `since_s < at_s <= until_s`, oldest first."""
        times = self._times[bisect_right(self._times, since_s) : bisect_right(self._times, until_s)]
        return _narrowed((self._observations[at_s] for at_s in times), application)

    def averages(self, at_s: float, window_s: float = 60.0) -> Observation | None:
        """The sliding averages over the `window_s` before `at_s`; None if nothing was observed in it."""
        return average(self.window(at_s - window_s, at_s), at_s, window_s)

    def add_action(self, at_s: float, action: Action) -> None:
        """Keep what was done, and when."""
        _check_time(at_s)
        encode(action)
        if (at_s, action) not in self._actions:
            insort(self._actions, (at_s, action), key=lambda timed: timed[0])
        while self._too_old(self._actions[0][0], at_s):
            self._actions.pop(0)

    def actions(self, level: Level | None = None) -> tuple[Action, ...]:
        """What was done, all of it or that of one level, oldest first."""
        return tuple(action for _, action in self._actions if level in (None, action.level))

    def typical_pause_s(self, level: Level) -> float | None:
        """The median pause of the actions of that level; None before there was one."""
        return _median_pause_s(self.actions(level))

    def save_profile(self, profile: Profile) -> None:
        """Keep a profile, in place of one of the same application, name and version."""
        body = decode_payload(encode_payload(profile.body))
        self._profiles[profile.application, profile.name, profile.version] = replace(profile, body=body)

    def profile(self, application: str, name: str, version: int | None = None) -> Profile | None:
        """The profile of that version, or the highest; None if there is none."""
        return _chosen(self.profiles(application), name, version)

    def profiles(self, application: str | None = None) -> tuple[Profile, ...]:
        """All profiles, or those of one application, by application, name and version."""
        kept = (self._profiles[key] for key in sorted(self._profiles))
        return tuple(profile for profile in kept if application in (None, profile.application))

    def _too_old(self, at_s: float, newest_s: float) -> bool:
        return self._keep_s is not None and at_s <= newest_s - self._keep_s


def _checked(keep_s: float | None) -> float | None:
    if keep_s is not None and not keep_s > 0:
        raise UsageError(f"A metric store must keep its observations for longer than {keep_s:g} s.")
    return keep_s


def _check_time(at_s: float) -> None:
    if not math.isfinite(at_s):
        raise BadObservation(f"The time of an action must be a finite number, not {at_s}.")


def _narrowed(observations: Iterable[Observation], application: str | None) -> tuple[Observation, ...]:
    if application is None:
        return tuple(observations)
    return tuple(
        replace(observation, applications={application: observation.applications[application]})
        for observation in observations
        if application in observation.applications
    )


def _median_pause_s(actions: Iterable[Action]) -> float | None:
    pauses_s = [action.pause_s for action in actions]
    return median(pauses_s) if pauses_s else None


def _origin(profile: Profile) -> tuple[str, float | None, float | None]:
    data = profile.data
    return profile.created.isoformat(), None if data is None else data.since_s, None if data is None else data.until_s


def _range(since_s: float | None, until_s: float | None) -> DataRange | None:
    return None if since_s is None or until_s is None else DataRange(since_s, until_s)


def _chosen(profiles: Iterable[Profile], name: str, version: int | None) -> Profile | None:
    """The highest version of that name among profiles in order of their versions, or the one asked for."""
    fitting = [profile for profile in profiles if profile.name == name and version in (None, profile.version)]
    return fitting[-1] if fitting else None
