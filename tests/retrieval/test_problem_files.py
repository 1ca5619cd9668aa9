"""Problems by name, and from a user's file."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from traceback import format_exception

import pytest

import casid
from casid.errors import ProblemError
from casid.retrieval import link_variables, load_constraints, load_problem, problem_names
from casid.testing import arm


def test_shipped_and_unknown_names() -> None:
    assert "panda_retrieval" in problem_names()
    with pytest.raises(ProblemError, match="unknown problem 'panda_retreival'; did you mean 'panda_retrieval'"):
        load_problem("panda_retreival")
    with pytest.raises(ProblemError, match=re.escape("'nowhere/mine.py' does not exist")):
        load_problem("nowhere/mine.py")


def test_a_users_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import casid\nfrom casid.retrieval import *\nimport numpy as np\n"
        "def build(upper=4.0):\n"
        "    v = link_variables(casid.load_robot('spatial_2r'))\n"
        "    objective = least_squares(v, np.eye(v.size), np.ones(v.size))\n"
        "    return Problem('mine', v, objective, (total_mass(v, 1.0, upper),))\n"
    )
    problem = load_problem(file, upper=3.0)
    assert problem.name == "mine" and problem.constraints[0].upper[0] == 3.0


@pytest.mark.parametrize("text, parts", [
    ("def build():\n    return own()\n\ndef own():\n    return 1 / 0\n", ["line 5, in own", "ZeroDivisionError"]),
    ("values = [1]\nvalues[3]\n", ["line 2", "IndexError"]),
    ("def build(:\n", ["line 1"]),
    ("x = 1\n", ["no function 'build'"]),
    ("def build():\n    return 3\n", ["must return a Problem, it returned int"]),
    ("import casid.retrieval as r\ndef build():\n    r.link_variables(None)\n", ["3, in build", "AttributeError"]),
])  # fmt: skip
def test_a_users_error_shows_their_lines_not_ours(tmp_path: Path, text: str, parts: list[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(ProblemError) as caught:
        load_problem(str(file))
    message, detail = str(caught.value), caught.value.detail
    assert str(file) in message and "\n" not in message
    for part in parts:
        assert part in message
    assert bool(detail) == ("in own" in message)
    assert not detail or detail.startswith("Traceback")
    assert sys.version_info < (3, 11) or detail in "".join(format_exception(caught.value))
    assert "load.py" not in message + detail and "variables.py" not in message + detail


def test_an_error_of_casid_in_a_users_file_tells_the_place(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from casid.retrieval import load_problem\n\ndef build():\n    return own(load_problem('spatial_2r'))\n\n"
        "def own(p):\n    return p.variables['link9']\n"
    )
    with pytest.raises(ProblemError, match="no link 'link9'") as caught:
        load_problem(file)
    assert str(caught.value).endswith(f"(problem file '{file}', line 7, in own)")
    file.write_text("def constraints(variables):\n    return [variables['link9'].mass >= 0]\n")
    with pytest.raises(ProblemError) as caught:
        load_constraints(file)(link_variables(casid.load_robot("spatial_2r")))
    assert str(caught.value).endswith(f"(constraint file '{file}', line 2, in constraints)")


def test_an_error_shows_the_frames_of_what_the_users_file_calls(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import json\n\ndef build():\n    return json.loads('{')\n")
    with pytest.raises(ProblemError) as caught:
        load_problem(file)
    assert "decoder.py" in caught.value.detail and str(file) in caught.value.detail


def test_a_constraint_file_that_gives_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="does not exist"):
        load_constraints(tmp_path / "none.py")
    file = tmp_path / "mine.py"
    v = link_variables(arm())
    file.write_text("x = 1\n")
    with pytest.raises(ProblemError, match="has no function 'constraints"):
        load_constraints(file)
    file.write_text("def constraints(variables):\n    return None\n")
    with pytest.raises(ProblemError, match="it returned None"):
        load_constraints(file)(v)
    file.write_text(
        "from casid.retrieval import mass_bounds\n\n"
        "def constraints(variables):\n    return mass_bounds(variables[0], 1, 2)\n"
    )
    (made,) = load_constraints(file)(v)
    assert made.upper[0] == 2.0


@pytest.mark.parametrize(
    "text, meant", [("links['link2'].mas", "mass"), ("Problem('mine', links, constrains=())", "constraints")]
)
def test_a_misspelt_attribute_or_keyword_of_a_users_file_has_its_nearest(tmp_path: Path, text: str, meant: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import casid\nfrom casid.retrieval import Problem, link_variables\n\ndef build():\n"
        f"    links = link_variables(casid.load_robot('spatial_2r'))\n    return {text}\n"
    )
    with pytest.raises(ProblemError, match=f"did you mean '{meant}'"):
        load_problem(file)


def test_an_unexpected_keyword_of_a_function_without_signature_is_the_users_error(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"  # as `numpy.array` before 2.4
    file.write_text(
        "dict = dict\n\ndef build():\n    raise TypeError(\"dict() got an unexpected keyword argument 'of'\")\n"
    )
    with pytest.raises(ProblemError, match="line 4, in build: TypeError: dict"):
        load_problem(file)
