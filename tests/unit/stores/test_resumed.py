from dataclasses import replace

import pytest

from penstock.control.entries import Decided, Ended, Entry, Observed, Refused
from penstock.errors import JournalMismatch
from penstock.model import Keep, WorkerObservation
from penstock.stores import MemoryJournal, ResumedJournal
from penstock.testing.stores import example_entries, example_observation


def test_nothing_is_written_until_every_kept_entry_was_met() -> None:
    inner = MemoryJournal(example_entries()[:2])
    resumed = ResumedJournal(inner)
    for count, entry in enumerate(example_entries(), start=1):
        assert resumed.caught_up == (count > 2)
        resumed.append(entry)
        assert len(list(inner.entries())) == max(count, 2)
        assert resumed.position == count
    assert tuple(resumed.entries()) == example_entries()


def test_an_empty_journal_is_simply_appended_to() -> None:
    resumed = ResumedJournal(MemoryJournal())
    assert resumed.caught_up
    resumed.append(Refused(1.0, "x"))
    assert list(resumed.entries()) == [Refused(1.0, "x")]


observed = Observed(1.0, example_observation())
slower = replace(example_observation(), workers={"w1": WorkerObservation(usage=0.75), "w2": WorkerObservation()})
fewer = replace(example_observation(), workers={"w1": WorkerObservation()})


@pytest.mark.parametrize(
    ("kept", "new", "said"),
    [
        (Refused(1.0, "x"), Refused(1.5, "x"), "at_s is 1.0 there and 1.5 now"),
        (Refused(1.0, "x"), Ended(1.0, "x"), "it is Refused there and Ended now"),
        (observed, Observed(1.0, slower), "observation.workers[w1].usage is 0.5 there and 0.75 now"),
        (observed, Observed(1.0, fewer), "observation.workers is ['w1', 'w2'] there and ['w1'] now"),
        (Decided(1.0, Keep("a"), None), Decided(1.0, Keep("b"), None), "decision.because is 'a' there and 'b' now"),
        (Refused(1.0, "x" * 99), Refused(1.0, "y"), f"because is '{'x' * 56}... there and 'y' now"),
    ],
)
def test_another_run_is_refused_with_the_first_difference(kept: Entry, new: Entry, said: str) -> None:
    inner = MemoryJournal([Refused(0.0, "same"), kept])
    resumed = ResumedJournal(inner)
    resumed.append(Refused(0.0, "same"))
    with pytest.raises(JournalMismatch) as caught:
        resumed.append(new)
    assert str(caught.value).startswith(f"Entry 2 of the journal is from another run: {said};")
    assert list(inner.entries()) == [Refused(0.0, "same"), kept]


def test_after_a_mismatch_the_same_entry_is_still_awaited() -> None:
    resumed = ResumedJournal(MemoryJournal([Refused(0.0, "a"), Refused(1.0, "b")]))
    with pytest.raises(JournalMismatch):
        resumed.append(Refused(1.0, "b"))
    resumed.append(Refused(0.0, "a"))
    assert resumed.position == 1
