"""Records the contract's golden values anew, or lists what differs from them.

    python tests/contract/record.py                 # every case, into tests/contract/golden
    python tests/contract/record.py identified three  # cases whose group or name has a word
    python tests/contract/record.py --differences   # nothing is written: a table of what differs, a line a field

Run by another checkout's Python, it records that checkout's casid.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import casid
from casid.testing import NotMeasured

# after casid, which may be another checkout's
sys.path += [str(Path(__file__).resolve().parents[2] / part) for part in ("", "scripts")]

from tests.contract.case import differences, golden, plain, write
from tests.contract.groups import GROUPS


def main() -> int:
    """Exit code 1 where something differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD", help="only cases whose group or name has one of the words")
    parser.add_argument("--differences", action="store_true", help="write nothing, print what differs")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"casid of {casid.__path__[0]}")
    rows = []
    for group, cases in GROUPS.items():
        for name, case in cases.items():
            if arguments.words and not any(word in f"{group} {name}" for word in arguments.words):
                continue
            began = time.perf_counter()
            try:
                values = plain(case.run())
            except NotMeasured as reason:
                print(f"{group}, {name}: {reason}", flush=True)
                continue
            except Exception:
                print(f"{group}, {name}: {traceback.format_exc()}", flush=True)
                rows.append(f"| {group} | {name} | ends in an error | | |")
                continue
            kept = golden(group)
            found = list(differences(kept.get(name, {}), values))
            print(f"{group}, {name}: {len(found)} differences, {time.perf_counter() - began:.1f} s", flush=True)
            rows += [f"| {group} | {name} | {row} |" for row in _rows(found)]
            if not arguments.differences:
                write(group, kept | {name: values})
    if arguments.differences:
        print("\n".join(("", "| group | case | field | old | new |", "| --- | --- | --- | --- | --- |", *rows)))
    return int(arguments.differences and bool(rows))


def _rows(found: list[tuple[str, Any, Any]]) -> list[str]:
    """A line for each field: of many entries the one that has changed most, relative to its old value."""
    fields: dict[str, list[tuple[str, Any, Any]]] = {}
    for entry, old, new in found:
        fields.setdefault(re.split(r"[.\[]", entry)[0], []).append((entry, old, new))
    rows = []
    for entries in fields.values():
        entry, old, new = max(entries, key=_change)
        others = f", and {len(entries) - 1} more" if len(entries) > 1 else ""
        rows.append(f"{entry}{others} | {_text(old)} | {_text(new)}")
    return rows


def _change(entry: tuple[str, Any, Any]) -> float:
    """Relative change of a number; of anything else more than that of every number."""
    _, old, new = entry
    numbers = all(isinstance(value, (int, float)) for value in (old, new))
    return abs(new - old) / max(abs(old), 1e-30) if numbers else float("inf")


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
