"""Measures saltext-reclass beside its peers, and writes docs/benchmarks.md.

    make bench            everything, 10 minutes or more
    make bench-quick      small samples, into target/bench

Ends with 1 if an instruction count rose by more than 3 % over the recorded one, and with 0
otherwise: a time that misses its target is a line on the page.
"""

from __future__ import annotations

import argparse
import pickle
import sys

from benches import instructions, suite
from benches.effort import FULL, QUICK
from benches.page import page
from benches.plots import draw
from benches.programs import KEPT, LOG, REPOSITORY

LAST = KEPT / "results.pickle"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benches", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small samples, into target/bench")
    parser.add_argument("--page", action="store_true", help="write the page of the last results again")
    arguments = parser.parse_args()
    if arguments.page:
        results: suite.Results = pickle.loads(LAST.read_bytes())  # noqa: S301 - written below
    else:
        LOG.unlink(missing_ok=True)
        results = suite.measure(QUICK if arguments.quick else FULL)
        if not arguments.quick:
            LAST.write_bytes(pickle.dumps(results))
    folder = KEPT if arguments.quick else REPOSITORY / "docs"
    (folder / "benchmarks.md").write_text(page(results))
    draw(results, folder / "benchmarks")
    suite.say(f"written: {folder / 'benchmarks.md'}")
    risen = instructions.risen(results.counted, results.recorded)
    for name in risen:
        suite.say(f"instructions of {name}: {results.counted[name]:,}, recorded {results.recorded[name]:,}")
    return 1 if risen else 0


if __name__ == "__main__":
    sys.exit(main())
