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
from penstock.stores import ResumedJournal, summary


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
