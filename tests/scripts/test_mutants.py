"""Mutants: what is changed, what is left alone, which tests execute it, and whether they notice."""

import ast
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from benchmarks import pieces
from benchmarks.soundness.evaluators import evaluated
from mutation import room
from mutation.changes import ROOT, mutants_of, sample
from mutation.executed import Contexts, Map
from mutation.trials import Failure, deadliest, exchanges, verdict
from mutation.validity import of_test

SOURCE = '''"""Text 1 + 2."""

LIMIT = 0.5

def f(a: "int | 3" = 2) -> float:
    """Text with 1 + 2."""
    if a < LIMIT and not a:
        raise ValueError(f"{a + 1}")
    return min(a, abs(
        a - 1.0))
'''


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "code.py"
    place.write_text(SOURCE, encoding="utf-8")
    return place


def test_each_change_is_one_and_gives_a_program(path: Path) -> None:
    made = list(mutants_of(path))
    whole = ast.unparse(ast.parse(SOURCE))
    for mutant in made:
        changed = ast.unparse(ast.parse(mutant.source))
        assert changed != whole and '"""Text with 1 + 2."""' in changed and "{a + 1}" in changed
        assert sum(a != b for a, b in zip(whole.splitlines(), changed.splitlines(), strict=True)) == 1
        assert len(mutant.source.splitlines()) == len(SOURCE.splitlines())
    after = {mutant.after for mutant in made}
    assert {
        "a <= LIMIT",
        "a >= LIMIT",
        "a < LIMIT or not a",
        "a",
        "max(a, abs(a - 1.0))",
        "a - 1.0",
        "a + 1.0",
    } <= after
    assert len({mutant.name for mutant in made}) == len(made)


def test_a_change_of_one_function_leaves_the_sample_of_the_others(tmp_path: Path, path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text(SOURCE.replace("def f", "def g"), encoding="utf-8")
    before, number = sample([path, other], 1000)
    assert number == len(before)
    path.write_text(
        SOURCE.replace("LIMIT = 0.5", "LIMIT = 0.5 + 1").replace('"""Text 1', '"""More\n\nText 1'), encoding="utf-8"
    )
    after, _ = sample([path, other], 1000)
    kept = [mutant.name for mutant in before if "module" not in mutant.name]
    assert kept == [mutant.name for mutant in after if "module" not in mutant.name]
    assert [m.name for m in sample([path, other], 5)[0]] == [m.name for m in after[:5]]


def test_code_of_a_function_is_exchanged_and_that_of_the_module_is_not(path: Path) -> None:
    found = {mutant.name.split(": ", 1)[1]: exchanges(mutant) for mutant in mutants_of(path)}
    ((before, after),) = found["a - 1.0 -> a + 1.0"]
    assert before.co_name == after.co_name == "f" and before.co_code != after.co_code
    assert found["0.5 -> 1.5"] is None and found["2 -> 3"] is None


def test_a_kill_is_a_failure_that_repeats_and_is_the_mutants(path: Path) -> None:
    mutant = next(mutants_of(path))
    runs = []

    def run(tests, tried):
        runs.append((tuple(tests), tried is not None))
        failing = {"flaky": len(runs) == 1, "broken": True, "good": tried is not None, "blind": False}
        return next((Failure(test) for test in tests if failing[test]), None)

    trial = verdict(mutant, ["flaky", "broken", "blind", "good"], run)
    assert (trial.verdict, trial.note) == ("killed", "good")
    assert (("broken",), False) in runs and (("good",), False) in runs
    assert verdict(mutant, ["blind"], run).verdict == "survived"
    assert verdict(mutant, ["flaky", "broken"], run).verdict == "survived"
    assert verdict(mutant, [], run).verdict == "not executed"


def test_the_tests_that_killed_the_most_in_their_time_come_first() -> None:
    known = Map(seconds={"a": 0.1, "b": 5.0, "c": 0.1, "d": 0.1})
    assert deadliest(["a", "b", "c", "d"], {"b": 9, "c": 1, "d": 2, "elsewhere": 50}, known) == ["d", "c", "b", "a"]


TESTS = '''"""Tests."""
import pytest
from tests.helpers import rounded

LIMIT = 0.5

@pytest.fixture
def number():
    return rounded(LIMIT)

def test_one(number, robot):
    assert number

def test_other():
    assert True
'''
SHARED = {
    "tests/helpers.py": "def rounded(x):\n    return round(x)\n\ndef unused():\n    return 1\n",
    "tests/conftest.py": "def robot():\n    return 1\n",
    "tests/arms/conftest.py": "SIZE = 2\n",
    "tests/arms/test_arm.py": TESTS,
}


@pytest.mark.parametrize(
    ("file", "before", "after", "stands"),
    [
        ("tests/arms/test_arm.py", "    assert True", "    assert not False", True),
        ("tests/arms/test_arm.py", "def test_other", "def test_more():\n    pass\n\ndef test_other", True),
        ("tests/arms/test_arm.py", "assert number", "assert number  # as before", True),
        ("tests/helpers.py", "return 1", "return 2", True),
        ("tests/arms/test_arm.py", "assert number", "assert not number", False),
        ("tests/arms/test_arm.py", "LIMIT = 0.5", "LIMIT = 0.6", False),
        ("tests/arms/test_arm.py", "(LIMIT)", "(LIMIT + 1)", False),
        ("tests/arms/test_arm.py", "LIMIT =", "pytestmark = []\nLIMIT =", False),
        ("tests/arms/test_arm.py", "LIMIT =", "@pytest.fixture(autouse=True)\ndef a():\n    pass\nLIMIT =", False),
        ("tests/arms/test_arm.py", "test_one", "test_first", False),
        ("tests/helpers.py", "round(x)", "round(x, 1)", False),
        ("tests/conftest.py", "return 1", "return 2", False),
        ("tests/arms/conftest.py", "SIZE = 2", "SIZE = 3\nLIMIT = 7", False),
    ],
)
def test_a_test_is_the_same_while_all_that_it_names_is(tmp_path, file, before, after, stands) -> None:
    for path, text in SHARED.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    test = "tests/arms/test_arm.py::test_one[0.5-a]"
    first = of_test(test, tmp_path)
    assert len(first) == 16 and first != of_test("tests/arms/test_arm.py::test_other", tmp_path)
    assert before in SHARED[file]
    (tmp_path / file).write_text(SHARED[file].replace(before, after), encoding="utf-8")
    assert (of_test(test, tmp_path) == first) == stands


def test_a_kill_stands_while_its_file_and_its_test_do(tmp_path, monkeypatch) -> None:
    """A survivor counts on, and is tried again once tests have come; an argued one only if asked for."""
    monkeypatch.setattr("mutation.room.keep", partial(pieces.keep, folder=tmp_path))
    monkeypatch.setattr("mutation.room.kept", partial(pieces.kept, folder=tmp_path))
    tried = room.Room("inertia", 6)
    names = [mutant.name for mutant in tried.mutants]
    monkeypatch.setattr(tried, "_reasons", {names[3]: "the same value", "another file, f: 1 -> 2": "no place"})
    assert [(p["part"], p["verdict"]) for p in tried.known()] == [(names[3], "survived")]
    assert [m.name for m in tried.left()] == [*names[:3], *names[4:]]
    test = "tests/scripts/test_mutants.py::test_a_kill_stands_while_its_file_and_its_test_do"
    trials = [
        tried._dated({"part": name, "verdict": verdict, "note": note})
        for name, verdict, note in zip(
            names,
            ["killed", "killed", "survived", "survived", "killed"],
            [test, f"{test}, time limit", "executed by 3 tests", "executed by 3 tests", "import: ValueError"],
            strict=False,
        )
    ]
    for trial in trials:
        pieces.keep("mutants_inertia", tried._key, trial, folder=tmp_path)
    assert [p["part"] for p in tried.known()] == names[:5]
    assert [m.name for m in tried.left()] == names[5:]
    assert {m.name for m in tried.left(again=True)} == {names[2], names[3], names[5]}
    for trial in trials:  # the tests have changed, not the one that killed
        pieces.keep("mutants_inertia", "another", trial, folder=tmp_path)
    assert [m.name for m in tried.left()] == [names[2], names[5]] and len(tried.known()) == 5
    for changed in ({"test": "another"}, {"file": "another"}):
        for trial in trials:
            pieces.keep("mutants_inertia", tried._key, trial | changed, folder=tmp_path)
        standing = {names[2], names[3]} if "test" in changed else {names[3]}
        assert {p["part"] for p in tried.known()} == standing
        assert {m.name for m in tried.left()} == set(names) - standing


def test_cached_values_and_fixtures_count_for_all_that_use_them() -> None:
    contexts = Contexts(lambda name: None)
    with contexts.of("first", used=False), contexts.of("cached a"), contexts.of("cached b"):
        pass
    with contexts.of("second", used=False):
        contexts.use("cached a")
    with contexts.of("third", used=False):
        pass
    assert contexts.all_of("second") == {"second", "cached a", "cached b"}
    assert contexts.all_of("third") == {"third"}


def test_tests_of_a_room_are_its_own_and_those_that_import_it() -> None:
    own, found = room.tests_of("identification"), room.tests_of("identification", wide=True)
    assert own == [test for test in found if test.startswith("tests/identification/")] and len(own) < len(found)
    assert "tests/identification/test_loads.py" in found and "tests/retrieval/test_ratio_ends.py" in found
    assert "tests/retrieval/test_solve.py" not in found


def test_a_part_of_the_tests_may_be_asked_first() -> None:
    """The state is that of the whole room, and what is untried is stated."""
    whole, part = room.Room("inertia", 3), room.Room("inertia", 3, asked=("test_entropic",))
    assert whole._asked == whole.tests == part.tests and whole._key == part._key
    assert 0 < len(part._asked) < len(part.tests) and all("test_entropic" in test for test in part._asked)
    text, met = room.Room("simulation", 2, seed=-1).report()
    assert "of the sample untried" in text and not met


@pytest.mark.slow
def test_mutants_are_tried_from_the_map_to_the_verdict(tmp_path: Path) -> None:
    """The whole way, in processes of its own: changes of the kinematics that its tests execute."""
    code = """
import sys
from functools import partial
from pathlib import Path
sys.path.insert(0, "scripts")
from mutation import executed, selection, trials
from mutation.changes import ROOT, mutants_of
tests = ["tests/dynamics/test_kinematics.py"]
known = executed.mapped(tests, Path(sys.argv[1]), "dynamics", 1)
made = [m for m in mutants_of(ROOT / "casid/dynamics/_kinematics.py") if selection.tests_for(m, known)][:3]
trials.tried(made, known, {}, lambda t: print("TRIAL", t.verdict, flush=True))
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    verdicts = [line for line in done.stdout.splitlines() if line.startswith("TRIAL")]
    assert len(verdicts) == 3 and "TRIAL killed" in verdicts, done.stderr


def test_mutants_that_are_called_equivalent_exist_and_have_a_reason() -> None:
    reasons = json.loads(room.EQUIVALENT.read_text(encoding="utf-8"))
    files = {name.split(", ")[0] for name in reasons}
    names = {mutant.name for file in files for mutant in mutants_of(ROOT / file)}
    assert set(reasons) <= names
    assert all(len(reason) > 20 for reason in reasons.values())


def test_casadi_and_the_walk_agree_on_some_graphs() -> None:
    text, met = evaluated(graphs=20, count=20)
    assert met, text
    assert text.startswith("0 of 400 points of 20 graphs, 51 operations")
