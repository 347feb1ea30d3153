"""A slice of what benchmarks/placement_fuzz.py does ten thousand times."""

from collections import Counter

from penstock.testing.fuzz import fuzzed_file, fuzzed_outcome


def test_every_file_ends_in_a_result_or_a_refusal() -> None:
    outcomes = Counter(fuzzed_outcome(seed) for seed in range(300))
    assert outcomes["refused"] > 50
    assert outcomes["optimal"] > 10
    assert outcomes["feasible"] > 10


def test_equal_seeds_give_equal_files() -> None:
    assert fuzzed_file(7) == fuzzed_file(7)
    assert fuzzed_file(7) != fuzzed_file(8)
