"""Problem files of which many are wrong: each must end in a result or in a refusal of one sentence.

Usage: python benchmarks/placement_fuzz.py [FILES] [FIRST]     (default: 10,000 files from seed 0 on)

Prints how many files ended how, and every seed that ended in anything else, of which there must be none; the exit
code is then 1. A file that was read is given to a solver chosen at random, with 0.3 s.
"""

import sys
import time
import traceback
import warnings
from collections import Counter

from penstock.testing.fuzz import fuzzed_outcome


def main() -> int:
    files, first = (int(argument) for argument in (sys.argv[1:] + ["10000", "0"][len(sys.argv) - 1 :])[:2])
    warnings.simplefilter("error")
    outcomes: Counter[str] = Counter()
    begin = time.process_time()
    for seed in range(first, first + files):
        try:
            outcomes[fuzzed_outcome(seed)] += 1
        except Exception:
            outcomes["FAILED"] += 1
            print(f"seed {seed}:\n{traceback.format_exc()}", flush=True)
        if (seed - first + 1) % 1000 == 0:
            print(f"{seed - first + 1} files ...", file=sys.stderr, flush=True)
    for outcome, number in sorted(outcomes.items()):
        print(f"{number:6d}  {outcome}")
    print(f"{time.process_time() - begin:.0f} s of CPU time")
    return 1 if outcomes["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
