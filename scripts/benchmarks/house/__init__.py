"""The shape of the source: one way down, one of each thing, a promised front, plain English; counted at each run."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from collections import Counter

from benchmarks.house import source
from benchmarks.measure import PUBLISHED, Measure, skipped
from benchmarks.page import stored
from benchmarks.soundness import structure

#: Defects of version 0.2 that stood where two implementations met: a letter each, named in the claim of their test.
DEFECTS = "abcdefgh"
#: Topics whose tables the house must not have changed.
OLDER = (
    "foundation", "measured", "compiled", "constraints", "excitation", "motion", "users", "soundness", "real",
    "learning", "seeds",
)  # fmt: skip

#: The commit that landed the rooms by subject: the bar of modules is for it, later growth is printed.
LANDED = "292b584324"

#: Code lines of the rooms of version 0.2; "" the files beside them.
EARLIER = {
    "cli": 1567, "codegen": 1578, "control": 0, "description": 3478, "dynamics": 1416, "excitation": 2366,
    "export": 1514, "expressions": 962, "files": 657, "identification": 4114, "inertia": 966, "learning": 925,
    "measurement": 1188, "motion": 0, "drives": 0, "regression": 2986, "report": 2315, "retrieval": 5490,
    "simulation": 2152, "testing": 0, "": 120,
}  # fmt: skip


def _listed(found: list[str], most: int = 3) -> str:
    return f"{len(found)}" + "".join(f"\n{text}" for text in found[:most])


def slope() -> tuple[str, bool]:
    against, circles = structure.arrows(), [" ".join(group) for group in structure.circles(annotations=True)]
    return f"{_listed(against)}; {_listed(circles)}", not against and not circles


def defects() -> tuple[str, bool]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "claim", "-rA", "--tb=no"]
    done = subprocess.run(
        [*command, "--claims", "house"], cwd=structure.ROOT, capture_output=True, text=True, check=False
    )
    outcome = Counter(re.findall(r"^(PASSED|FAILED|ERROR)", done.stdout, re.MULTILINE))
    letters = {m for m in re.findall(r"house ([a-h]):", done.stdout)}
    missing = sorted(set(DEFECTS) - letters)
    text = f"{outcome['PASSED']} tests of {len(letters)} defects pass, {outcome['FAILED'] + outcome['ERROR']} fail"
    if missing:
        text += f"; no test of {', '.join(missing)}"
    return text, not missing and not outcome["FAILED"] and not outcome["ERROR"] and outcome["PASSED"] >= len(DEFECTS)


def implementations() -> tuple[str, bool]:
    found = source.implementations()
    lines = [f"{subject}: {len(where)}" + (f" ({', '.join(where)})" if len(where) != 1 else "")
             for subject, where in found.items()]  # fmt: skip
    return "\n".join(lines), all(len(where) == 1 for where in found.values())


def size_of_front() -> tuple[str, bool]:
    landed, now, names = source.modules_at(LANDED), source.modules(), len(source.promised())
    growth = Counter(name.split(".")[1] for name in now) - Counter(name.split(".")[1] for name in landed)
    more = ", ".join(f"{room} +{count}" for room, count in growth.most_common())
    text = f"{len(landed)} modules at {LANDED}, {len(now)} now ({more or 'none more'}); {names} public names"
    return text, len(landed) <= 260 and names <= 260


def documented() -> tuple[str, bool]:
    done = subprocess.run(
        [sys.executable, "scripts/public_names.py", "--check"],
        cwd=structure.ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    last = (done.stdout + done.stderr).strip().splitlines()[-1:]
    return " ".join(last), done.returncode == 0


def code() -> tuple[str, bool]:
    lines: Counter[str] = Counter()
    for name, (path, _) in structure.trees().items():
        lines[name.split(".")[1] if path.parent != structure.PACKAGE else ""] += source.code_lines(path)
    growth = Counter({room: lines[room] - before for room, before in EARLIER.items()})
    largest = ", ".join(f"{room} {more:+,}" for room, more in growth.most_common(7))
    return f"{lines.total():,}; since 0.2: {largest}", lines.total() <= 30_000


def functions() -> tuple[str, bool]:
    tall, wide = source.long_functions(), source.wide_functions()
    return f"{_listed(tall, 10)}; {_listed(wide, 12)}", len(tall) <= 8 and len(wide) <= 10


def decisions() -> tuple[str, bool]:
    texts, kinds = source.matched_texts(), source.foreign_isinstance()
    return f"{_listed(texts)}; {_listed(kinds, 6)}", not texts and not kinds


def tested() -> tuple[str, bool]:
    without, copies, count = source.untested(), source.copied_helpers(), len(source.modules())
    return f"{count - len(without)} of {count}{''.join(f'{chr(10)}{n}' for n in without[:5])}; {_listed(copies)}", (
        not without and not copies
    )


def english() -> tuple[str, bool]:
    found = source.banned_words()
    return _listed(found, 5), not found


def light_import() -> tuple[str, bool]:
    code = "import time; import casadi, numpy; t = time.perf_counter(); import casid; print(time.perf_counter() - t)"
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(5)
    ]
    return f"{sorted(runs)[2]:.3f} s (median of {len(runs)})", sorted(runs)[2] <= 0.3


def older(topic: str) -> tuple[str, bool]:
    """The table of an older topic: missed where a row is known to be, else measured anew and published with these."""
    missed = [name for name, row in stored(topic).items() if row.verdict == "NO"]
    if missed:
        return f"{len(missed)} rows are missed by what was measured last: {'; '.join(missed)}", False
    command = [sys.executable, "scripts/acceptance.py", topic, *(["--publish"] if PUBLISHED in os.environ else [])]
    done = subprocess.run(
        command, cwd=structure.ROOT, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "200"}
    )
    last = done.stdout.strip().splitlines()[-1:] or done.stderr.strip().splitlines()[-1:]
    return " ".join(last), done.returncode == 0


MEASURES = (
    Measure("arrows up; circles, type-only and late imports included", "0; 0", "0; 3 in 0.2", slope),
    Measure("defects a to h: a test each", "8", "fail on 0.2", defects),
    Measure("implementations of one thing", "1 each", "2 to 6 in 0.2", implementations),
    Measure("modules; public names", "<= 260; <= 260", "399; 502 in 0.2", size_of_front),
    Measure("public names documented and grouped", "all", "-", documented),
    Measure("code lines (no docstring, comment, blank)", "<= 30,000", "32,563 in 0.2", code),
    Measure("functions over 60 lines; with over 8 parameters", "<= 8; <= 10", "29; 30 in 0.2", functions),
    Measure("text matched to decide; isinstance on a kind of another room", "0; 0", "5; some in 0.2", decisions),
    Measure("modules with a test file of their subject; copies of test helpers", "all; 0", "31 of 399 in 0.2", tested),
    Measure("banned words in code, docs, messages", "0", "hundreds in 0.2", english),
    Measure("import casid beyond CasADi and numpy", "<= 0.3 s", "-", light_import),
    *(
        Measure(f"older table: {topic}", "holds", "-", functools.partial(older, topic), skipped, "the older tables")
        for topic in OLDER
    ),
)
