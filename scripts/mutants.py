"""Mutants of a room's code that its tests do not notice.

    python scripts/mutants.py retrieval                             # 400, those known not again
    python scripts/mutants.py retrieval --sample 25                 # the first 25 of them
    python scripts/mutants.py identification --only loads --sample 10
    python scripts/mutants.py dynamics --list --sample 5            # what would be tried
    python scripts/mutants.py dynamics --known                      # what is known, without a trial
    python scripts/mutants.py identification --tests test_bounds test_verdict       # what quick test files kill

A mutant is one change of a file's code, see ``mutation/changes.py``; it is tried on the room's fast tests that execute
the changed line, see ``mutation/trials.py``. What becomes of each is kept in docs/results/pieces, so that a sample
can be tried in several runs: a kill stands while the mutated file and the test that killed are unchanged; a survivor is
tried again when the room or its tests have changed. Survivors are listed, those that no test could kill
with the reason from ``mutation/equivalent.json``; the exit code is 1 where more than 8 % survive or some are untried.
"""

from __future__ import annotations

import argparse
import sys

from mutation.changes import ROOT
from mutation.room import Room
from mutation.trials import PATIENCE


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    rooms = sorted(p.name for p in (ROOT / "casid").iterdir() if (p / "__init__.py").is_file())
    parser.add_argument("room", choices=rooms)
    parser.add_argument("--sample", type=int, default=400, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", metavar="WORD", help="files whose path contains WORD")
    parser.add_argument("--wide", action="store_true", help="ask tests of other rooms that import it too")
    parser.add_argument("--tests", nargs="*", default=(), metavar="WORD", help="ask test files with one of these words")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds of computing for a mutant's tests")
    parser.add_argument("--again", action="store_true", help="try survivors once more")
    parser.add_argument("--jobs", type=int, default=2, help="mutants tried at once")
    parser.add_argument("--list", action="store_true", help="print the mutants and try none")
    parser.add_argument("--known", action="store_true", help="print what is known of them and try none")
    options = parser.parse_args()
    room = Room(options.room, options.sample, options.seed, options.only, options.wide, options.tests)
    print(f"{options.room}: {room.number} mutants, {len(room.mutants)} drawn, {len(room.tests)} test files", flush=True)
    if options.list:
        print("\n".join(map(str, room.mutants)))
        return 0
    if not options.known:
        room.measure(options.jobs, options.patience, options.again)
    text, met = room.report()
    print(text)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
