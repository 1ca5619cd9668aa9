"""The judge of tools side by side: the truth has no error, a wrong result has its own, impossible bodies are seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("pinocchio", reason="needs the extra peers")

from benchmarks.users import side_by_side
from benchmarks.users.peers import judged, task


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("task")
    ElementTree.ElementTree(task.bare(task.robot_file())).write(place / "robot.urdf")
    return place


@pytest.fixture(scope="module")
def truth(folder: Path) -> task.Truth:
    """The arm that moves, and its clean motion by Newton-Euler."""
    drawn = task.draw(task.bare(task.robot_file()), np.random.default_rng(0))
    rng, n = np.random.default_rng(1), len(drawn.joints)
    q, dq, ddq = (rng.uniform(-1, 1, (200, n)) for _ in range(3))
    tau = judged._torques(folder / "robot.urdf", drawn, drawn.joints, (q, dq, ddq))
    tau = tau + drawn.viscous * dq + drawn.coulomb * np.sign(dq)
    np.savez(folder / "truth.npz", q=q, dq=dq, ddq=ddq, tau=tau)
    return drawn


def result_of(truth: task.Truth) -> judged.Result:
    bodies = (truth.masses, truth.centres, truth.inertias)
    return judged.Result(*bodies, truth.viscous, truth.coulomb, truth.rotors, np.zeros(len(truth.joints)), "none")


def test_the_arm_that_moves_has_other_bodies_than_the_file_and_real_ones(truth: task.Truth) -> None:
    file = [task._inertial(link)[0] for link in task._moving(task.bare(task.robot_file()))[1]]
    assert np.all(np.abs(truth.masses / np.array(file) - 1) > 1e-3)
    assert judged._smallest(result_of(truth)) > 0


def test_the_truth_has_no_error(truth: task.Truth, folder: Path) -> None:
    found = judged.score(result_of(truth), truth, folder)
    assert max(found.held_out, found.worst, found.rigid, found.mass, found.friction) < 1e-9


def test_what_is_wrong_has_an_error_of_its_own(truth: task.Truth, folder: Path) -> None:
    right = result_of(truth)
    heavy = judged.score(replace(right, masses=1.1 * right.masses), truth, folder)
    assert heavy.mass == pytest.approx(10) and heavy.rigid > 1 and heavy.friction < 1e-9
    sticky = judged.score(replace(right, coulomb=1.2 * right.coulomb), truth, folder)
    assert sticky.friction == pytest.approx(20) and sticky.held_out > 0.1 and sticky.rigid < 1e-9
    impossible = judged.score(replace(right, inertias=right.inertias + np.diag([0, 0, 1.0])), truth, folder)
    assert side_by_side._possible(impossible.eigenvalue) == "no"


def test_lines_are_those_that_a_user_writes() -> None:
    casid_, figaroh, _ = side_by_side.TOOLS
    assert casid_.lines == 2 and 30 < figaroh.lines < 60


def test_the_page_is_compared_by_the_versions_and_rows_of_its_first_table() -> None:
    text = side_by_side.PAGE.read_text(encoding="utf-8")
    first = [line for line in text.splitlines() if line.startswith("|")]
    first = first[: next(k for k, line in enumerate(first) if line.startswith("| tool |"))]
    assert side_by_side._same_rows(text, first) and len(first) > 10
    assert not side_by_side._same_rows(text, first[:-1])
    assert not side_by_side._same_rows(text, [first[0].replace("casid ", "casid 9."), *first[1:]])
    assert not side_by_side._same_rows("", first)


def test_every_setting_that_is_varied_stands_in_the_scripts() -> None:
    texts = {
        tool.name: "".join((side_by_side.HERE / file).read_text(encoding="utf-8") for file in tool.files)
        for tool in side_by_side.TOOLS
    }
    for name, label, changes in side_by_side.VARIANTS:
        assert label and all(texts[name].count(old) == 1 for old in changes)
