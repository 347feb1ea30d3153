"""What every journal and every metric store must do, as test classes to inherit.

    class TestMyJournal(JournalContract):
        def make(self, folder: Path) -> MyJournal:
            return MyJournal(folder / "journal")

pytest then runs the whole suite against it. `folder` is a fresh folder for each test; a store that is `durable` must
find in it what an earlier one has left there.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from penstock.control.actions import Action, Level
from penstock.control.entries import Acted, Decided, Ended, Entry, Judged, Observed, Refused, Started
from penstock.control.ports import Journal
from penstock.errors import BadObservation
from penstock.model import (
    ApplicationObservation,
    Cluster,
    Configuration,
    Expected,
    Keep,
    Latency,
    Objectives,
    Observation,
    Operator,
    OperatorObservation,
    Reconfigure,
    Role,
    Stream,
    Topology,
    WorkerObservation,
)
from penstock.stores import DataRange, MetricStore, Profile, ResumedJournal, summary


def example_observation(at_s: float = 10.0, window_s: float = 10.0) -> Observation:
    """A small observation in which some things are known and others are not."""
    operators = {
        "read": OperatorObservation(1, 100.0, 100.0, {"count": 250.0}, busy_s=2.0),
        "count": OperatorObservation(2, 250.0, 240.0, busy_s=8.0, queue=100.0, true_rate_per_s=300.0, state_rows=7),
    }
    application = ApplicationObservation(
        operators, 1000.0, 960.0, 0.0, 0.0, 100.0, 96.0, 40.0, Latency(0.25, 0.2, 0.5, 0.75)
    )
    workers = {"w1": WorkerObservation(0.5, 2, 1024, {"read": 1, "count": 1}), "w2": WorkerObservation()}
    return Observation(at_s, window_s, {"words": application}, workers)


def example_entries() -> tuple[Entry, ...]:
    """A short run in which every kind of entry occurs."""
    topology = Topology(
        "words",
        (Operator("read", Role.SOURCE), Operator("count", Role.SINK, 1, 4, stateful=True, key="word", pins=("w1",))),
        (Stream("read", "count"),),
        (("read", "count"),),
    )
    before = Configuration({"words": {"read": 1, "count": 1}}, 1)
    after = Configuration({"words": {"read": 1, "count": 2}}, 2, {"words": {"read": ("w1",), "count": ("w1", "w2")}})
    change = Reconfigure(after, "count is at 0.93 of its capacity", Expected({"words": 250.0}, {"count": 0.5}), ("w2",))
    action = Action("two partitions for count", Level.STATE, "words", 4.5, 3.0)
    return (
        Started(0.0, {"policy": "ds2"}, (topology,), Cluster.homogeneous(2, 4), Objectives(max_workers=2), before),
        Refused(10.0, "the window was cut short"),
        Observed(20.0, example_observation(20.0)),
        Decided(20.0, Keep("no data yet for 'count'"), None),
        Decided(30.0, change, after),
        Decided(30.0, change, None, "cool-down until 60 s"),
        Acted(35.0, after, (action, replace(action, level=Level.HOT, application=None))),
        Acted(36.0, after, (), "no answer from the cluster"),
        Judged(60.0, "worse", "latency rose from 0.2 to 0.9 s", before),
        Ended(90.0, "the duration was over", {"events": "9000"}),
    )


class _StoreContract:
    durable: ClassVar[bool] = True
    """Whether a store that is made in the same folder after the first was closed finds what that one kept."""

    def _close(self, store: object) -> None:
        close: Callable[[], None] | None = getattr(store, "close", None)
        if close is not None:
            close()


class JournalContract(_StoreContract):
    """What every `Journal` must do. Override `make`."""

    def make(self, folder: Path) -> Journal:
        """A journal that lives in `folder`: a new one, or, if durable, the one that was made there before."""
        raise NotImplementedError

    def test_a_new_journal_is_empty(self, tmp_path: Path) -> None:
        """Nothing is in it, and its summary says so."""
        journal = self.make(tmp_path)
        assert list(journal.entries()) == []
        assert summary(journal).entries == 0
        assert not summary(journal).cut_off
        self._close(journal)

    def test_what_is_appended_comes_back_equal_and_in_order(self, tmp_path: Path) -> None:
        """Every kind of entry, with None, nested mappings, tuples, enums and both kinds of decision."""
        journal = self.make(tmp_path)
        for entry in example_entries():
            journal.append(entry)
        assert tuple(journal.entries()) == example_entries()
        assert [type(entry) for entry in journal.entries()] == [type(entry) for entry in example_entries()]
        self._close(journal)

    def test_equal_entries_are_all_kept(self, tmp_path: Path) -> None:
        """A journal is a record of what happened, and the same thing may happen twice."""
        journal = self.make(tmp_path)
        for _ in range(3):
            journal.append(Refused(1.0, "again"))
        assert list(journal.entries()) == [Refused(1.0, "again")] * 3
        self._close(journal)

    def test_order_is_that_of_appending_not_of_time(self, tmp_path: Path) -> None:
        """A resumed run may start its clock anew."""
        journal = self.make(tmp_path)
        for at_s in (3.0, 1.0, 2.0):
            journal.append(Refused(at_s, "out of order"))
        assert [entry.at_s for entry in journal.entries()] == [3.0, 1.0, 2.0]
        self._close(journal)

    def test_entries_may_be_appended_while_others_are_read(self, tmp_path: Path) -> None:
        """Reading goes on undisturbed, and the new entries are there for the next reader."""
        journal = self.make(tmp_path)
        for number in range(5):
            journal.append(Refused(float(number), "first"))
        seen = 0
        for entry in journal.entries():
            if entry.at_s < 5:
                journal.append(Refused(entry.at_s + 100, "second"))
                seen += 1
        assert seen == 5
        assert [entry.at_s for entry in journal.entries()] == [0, 1, 2, 3, 4, 100, 101, 102, 103, 104]
        self._close(journal)

    def test_a_number_that_is_none_is_refused_and_not_kept(self, tmp_path: Path) -> None:
        """NaN and infinity raise `BadObservation`, and the journal stays as it was."""
        journal = self.make(tmp_path)
        journal.append(Refused(1.0, "NaN and Infinity may well be written about"))
        for number in (float("nan"), float("inf"), float("-inf")):
            observation = replace(example_observation(), workers={"w1": WorkerObservation(usage=number)})
            with suppress(BadObservation):
                journal.append(Observed(2.0, observation))
                raise AssertionError(f"{number} was written")
        assert len(list(journal.entries())) == 1
        self._close(journal)

    def test_the_summary_tells_a_run_that_ended_from_one_that_was_cut_off(self, tmp_path: Path) -> None:
        """The last entry decides, whatever came before it."""
        journal = self.make(tmp_path)
        *begun, ended = example_entries()
        for entry in begun:
            journal.append(entry)
        assert (summary(journal).cut_off, summary(journal).last_s) == (True, 60.0)
        journal.append(ended)
        assert (summary(journal).cut_off, summary(journal).ended, summary(journal).last_s) == (False, True, 90.0)
        self._close(journal)

    def test_a_cut_off_run_can_be_done_again_over_it(self, tmp_path: Path) -> None:
        """What is met is not written twice; what is new is."""
        journal = self.make(tmp_path)
        for entry in example_entries()[:4]:
            journal.append(entry)
        resumed = ResumedJournal(journal)
        for entry in example_entries():
            resumed.append(entry)
        assert tuple(journal.entries()) == example_entries()
        self._close(journal)

    def test_a_durable_journal_is_found_again(self, tmp_path: Path) -> None:
        """And goes on where it ended."""
        if not self.durable:
            return
        first = self.make(tmp_path)
        for entry in example_entries()[:3]:
            first.append(entry)
        self._close(first)
        second = self.make(tmp_path)
        assert tuple(second.entries()) == example_entries()[:3]
        second.append(example_entries()[3])
        self._close(second)
        third = self.make(tmp_path)
        assert tuple(third.entries()) == example_entries()[:4]
        self._close(third)


class MetricStoreContract(_StoreContract):
    """What every `MetricStore` must do. Override `make`."""

    def make(self, folder: Path, keep_s: float | None = None) -> MetricStore:
        """A metric store that lives in `folder`: a new one, or, if durable, the one that was made there before."""
        raise NotImplementedError

    def test_a_new_store_knows_nothing(self, tmp_path: Path) -> None:
        """And says so with None and empty tuples."""
        store = self.make(tmp_path)
        assert store.window(0.0, 1e9) == ()
        assert store.averages(60.0) is None
        assert store.actions() == ()
        assert store.typical_pause_s(Level.HOT) is None
        assert store.profiles() == ()
        assert store.profile("words", "busy") is None
        self._close(store)

    def test_a_window_is_open_at_its_start_and_closed_at_its_end(self, tmp_path: Path) -> None:
        """So that windows that follow one another share nothing and miss nothing."""
        store = self.make(tmp_path)
        for at_s in (10.0, 20.0, 30.0, 40.0):
            store.add(example_observation(at_s))
        assert store.window(10.0, 30.0) == (example_observation(20.0), example_observation(30.0))
        assert store.window(30.0, 1e9) == (example_observation(40.0),)
        assert store.window(40.0, 1e9) == ()
        self._close(store)

    def test_observations_are_in_order_of_time(self, tmp_path: Path) -> None:
        """In whatever order they came."""
        store = self.make(tmp_path)
        for at_s in (30.0, 10.0, 20.0):
            store.add(example_observation(at_s))
        assert [observation.at_s for observation in store.window(0.0, 1e9)] == [10.0, 20.0, 30.0]
        self._close(store)

    def test_one_time_has_one_observation(self, tmp_path: Path) -> None:
        """The one that was added last: a run that is done again adds everything again."""
        store = self.make(tmp_path)
        store.add(example_observation(10.0, 10.0))
        store.add(example_observation(10.0, 5.0))
        assert store.window(0.0, 1e9) == (example_observation(10.0, 5.0),)
        self._close(store)

    def test_a_window_can_be_that_of_one_application(self, tmp_path: Path) -> None:
        """Observations that do not know it are left out, and so are other applications."""
        store = self.make(tmp_path)
        words = example_observation(10.0)
        both = replace(words, at_s=20.0, applications={**words.applications, "routes": words.applications["words"]})
        store.add(words)
        store.add(both)
        assert store.window(0.0, 1e9, "words") == (words, replace(words, at_s=20.0))
        assert [list(seen.applications) for seen in store.window(0.0, 1e9, "routes")] == [["routes"]]
        assert store.window(0.0, 1e9, "nothing") == ()
        self._close(store)

    def test_numbers_that_are_not_finite_are_refused_and_not_kept(self, tmp_path: Path) -> None:
        """`BadObservation`, and the store stays as it was."""
        store = self.make(tmp_path)
        bad = replace(example_observation(), workers={"w1": WorkerObservation(usage=float("nan"))})
        with suppress(BadObservation):
            store.add(bad)
            raise AssertionError("NaN was kept")
        with suppress(BadObservation):
            store.add_action(float("nan"), Action("grow", Level.HOT, None, 1.0, 0.0))
            raise AssertionError("an action at no time was kept")
        assert (store.window(-1e9, 1e9), store.actions()) == ((), ())
        self._close(store)

    def test_averages_are_those_of_the_last_minute(self, tmp_path: Path) -> None:
        """Six samples of ten seconds; older and later ones do not count, and what is unknown is passed over."""
        store = self.make(tmp_path)
        usages = {10.0: 0.9, 20.0: 0.1, 30.0: None, 40.0: 0.3, 50.0: 0.3, 60.0: 0.3, 70.0: 0.5, 80.0: 0.9}
        for at_s, usage in usages.items():
            store.add(replace(example_observation(at_s), workers={"w1": WorkerObservation(usage)}))
        seen = store.averages(70.0)
        assert seen is not None
        assert (seen.at_s, seen.window_s) == (70.0, 60.0)
        assert abs((seen.workers["w1"].usage or 0.0) - 0.3) < 1e-12
        words = seen.applications["words"]
        assert (words.input_per_s, words.arrived, words.backlog) == (100.0, 6000.0, 40.0)
        assert (words.operators["read"].busy_s, words.operators["read"].queue) == (12.0, None)
        assert (store.averages(500.0), store.averages(5.0)) == (None, None)
        self._close(store)

    def test_the_typical_pause_is_the_median_of_its_level(self, tmp_path: Path) -> None:
        """One slow restart does not make all restarts slow."""
        store = self.make(tmp_path)
        for number, pause_s in enumerate((2.0, 30.0, 2.5)):
            store.add_action(number * 10.0, Action("restart", Level.RESTART, "words", 3.0, pause_s))
        store.add_action(40.0, Action("grow", Level.HOT, None, 4.0, 0.0))
        assert store.typical_pause_s(Level.RESTART) == 2.5
        assert store.typical_pause_s(Level.HOT) == 0.0
        assert store.typical_pause_s(Level.STATE) is None
        self._close(store)

    def test_actions_are_in_order_of_time_and_kept_once(self, tmp_path: Path) -> None:
        """Two different ones of the same time are both kept, in the order in which they came."""
        store = self.make(tmp_path)
        grow, shrink = Action("grow", Level.HOT, None, 1.0, 0.0), Action("a shrink", Level.HOT, None, 1.0, 0.0)
        move = Action("move", Level.STATE, "words", 4.0, 3.0)
        for at_s, action in ((20.0, grow), (20.0, shrink), (10.0, move), (20.0, grow), (30.0, grow)):
            store.add_action(at_s, action)
        assert store.actions() == (move, grow, shrink, grow)
        assert store.actions(Level.HOT) == (grow, shrink, grow)
        self._close(store)

    def test_what_is_too_old_is_deleted(self, tmp_path: Path) -> None:
        """Of observations and actions, as newer ones come; a late one deletes nothing that is newer."""
        store = self.make(tmp_path, keep_s=30.0)
        for at_s in (10.0, 20.0, 30.0, 40.0, 50.0):
            store.add(example_observation(at_s))
            store.add_action(at_s, Action(f"at {at_s:g}", Level.HOT, None, 1.0, 0.0))
        assert [seen.at_s for seen in store.window(-1e9, 1e9)] == [30.0, 40.0, 50.0]
        assert [action.what for action in store.actions()] == ["at 30", "at 40", "at 50"]
        store.add(example_observation(35.0))
        assert [seen.at_s for seen in store.window(-1e9, 1e9)] == [30.0, 35.0, 40.0, 50.0]
        self._close(store)

    def test_profiles_are_kept_by_application_name_and_version(self, tmp_path: Path) -> None:
        """Without a version the highest is meant; saving one again replaces it."""
        store = self.make(tmp_path)
        created = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
        busy = Profile(
            "words", "busy", 2, created, {"weights": [1.5, None], "deep": {"on": True}}, DataRange(0.0, 60.0)
        )
        others = (replace(busy, version=10), replace(busy, name="load", data=None), replace(busy, application="routes"))
        for profile in (replace(busy, body={}), busy, *others):
            store.save_profile(profile)
        assert store.profile("words", "busy") == others[0]
        assert store.profile("words", "busy", 2) == busy
        assert store.profile("words", "busy", 3) is None
        assert store.profiles("words") == (busy, others[0], others[1])
        assert store.profiles() == (others[2], busy, others[0], others[1])
        self._close(store)

    def test_a_durable_store_is_found_again(self, tmp_path: Path) -> None:
        """With its observations, actions and profiles."""
        if not self.durable:
            return
        first = self.make(tmp_path)
        action = Action("move", Level.STATE, "words", 4.0, 3.0)
        profile = Profile("words", "busy", 1, datetime(2024, 5, 6, tzinfo=UTC), {"slope": 0.5})
        first.add(example_observation(10.0))
        first.add_action(10.0, action)
        first.save_profile(profile)
        self._close(first)
        second = self.make(tmp_path)
        assert second.window(0.0, 10.0) == (example_observation(10.0),)
        assert second.actions() == (action,)
        assert second.profiles() == (profile,)
        self._close(second)
