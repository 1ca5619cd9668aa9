"""Exported C code: what is written, that it compiles everywhere, computes the same, and refuses bad input."""

from __future__ import annotations

import re
import shutil
import subprocess
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import casid
from casid.description import Joint, Link, Robot
from casid.dynamics import (
    Model,
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
    inverse_mass_matrix,
    operational_space,
)
from casid.errors import DatasetError, ExportError, InertiaWarning, RobotError
from casid.export import FUNCTIONS, all_functions, export_c, export_robot, load
from casid.testing import states
from tests.helpers import close, needs_compiler, random_parameters, run


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize(
    ("robot_name", "mode"), [("panda", "none"), ("three_link", "standard"), ("three_link", "base")]
)
def test_every_function_loads_back_and_equals_the_standard_model(robot_name: str, mode: str, tmp_path: Path) -> None:
    model = Model(casid.load_robot(robot_name), ("viscous", "coulomb"))
    pi, names = random_parameters(model, 1), list(all_functions(model.robot, mode))
    assert len(names) >= len(FUNCTIONS) - 3
    export_robot(model, tmp_path / "c", names, parameters=pi, runtime_parameters=mode)
    library = load(tmp_path / "c")
    assert list(library) == names
    q, dq, ddq = states(model.n, 5)
    tau = np.array(model.inverse_dynamics(q, dq, ddq, pi)).ravel()
    passed = {"q": q, "dq": dq, "ddq": ddq, "tau": tau, "pi": pi, "beta": model.base.values(pi)}
    derived = {
        "inverse_mass_matrix": inverse_mass_matrix,
        "operational_space": partial(operational_space, frame="flange"),
        "inverse_dynamics_derivatives": inverse_dynamics_derivatives,
        "forward_dynamics_derivatives": forward_dynamics_derivatives,
    }
    compared = set()
    for name in names:
        f = library[name]
        value = f(*(passed[key] for key in f.name_in()))
        graph = derived[name](model) if name in derived else getattr(model, name, None)
        if graph is None:
            continue
        compared.add(name)
        expected = graph.call([passed[key] for key in graph.name_in()])
        for ours, theirs in zip(value if isinstance(value, tuple) else (value,), expected, strict=True):
            close(ours, theirs.full(), 1e-9 if name in derived else 1e-10)
    assert compared >= set(derived) & set(names) and len(compared) >= len(names) - 2, set(names) - compared


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_make_and_self_test_without_a_warning(panda: Robot, tmp_path: Path, compiler: str) -> None:
    if shutil.which(compiler) is None or shutil.which("make") is None:
        pytest.skip(f"needs {compiler} and make")
    folder = tmp_path / "c"
    export_robot(panda, folder, batched=True)
    done = subprocess.run(
        ["make", f"CC={compiler}", "all", "test"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert done.stdout.count(" ok") == 5
    cxx = {"gcc": "g++", "clang": "clang++"}[compiler]
    strict = [cxx, "-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    for name in ("panda.c", "example.c", "self_test.c"):
        subprocess.run([*strict, name], cwd=folder, check=True)
    text = (folder / "panda.c").read_text()
    assert not re.search(r"\b(malloc|free|static (?!inline))", text)


@needs_compiler
def test_gravity_as_an_argument_and_a_prismatic_joint(tmp_path: Path) -> None:
    robot = casid.load_robot("stanford")
    model, pi = Model(robot, ("rotor",), gravity="input"), np.random.default_rng(8).uniform(0.1, 1.0, 66)
    wall = np.array([3.0, -9.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InertiaWarning)
        export_robot(model, tmp_path / "c", parameters=pi)
    library = load(tmp_path / "c")
    q, dq, ddq = states(6, 9)
    close(library.inverse_dynamics(q, dq, ddq, wall), model.inverse_dynamics(q, dq, ddq, pi, wall))
    close(library.gravity(q, wall), model.gravity(q, pi, wall))
    assert library.mass_matrix.name_in() == ["q"]


def test_parameters_that_do_not_belong_to_the_robot(panda: Robot, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="expected 70 parameters of robot 'panda'"):
        export_robot(panda, tmp_path / "c", parameters=np.ones(60))
    bad = panda.standard_parameters()
    bad[13] = np.nan
    with pytest.raises(DatasetError, match="'Lyy2' is not a finite number"):
        export_robot(panda, tmp_path / "c", parameters=bad)
    assert not (tmp_path / "c").exists()


def test_infeasible_parameters_warn_for_simulation_only(panda: Robot, tmp_path: Path) -> None:
    pi = panda.standard_parameters()
    pi[69] = -1.0
    with pytest.warns(InertiaWarning, match=r"link 'link7': its mass is -1 kg.*M\(q\) may not be positive definite"):
        export_robot(panda, tmp_path / "a", ["forward_dynamics"], parameters=pi)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        export_robot(panda, tmp_path / "b", ["inverse_dynamics"], parameters=pi)


@pytest.mark.parametrize(
    ("name", "prefix"), [("my robot/1", "my_robot_1"), ("7 axes", "robot_7_axes"), ("double", "robot_double")]
)
def test_names_of_robots_that_are_no_identifiers(panda: Robot, tmp_path: Path, name: str, prefix: str) -> None:
    done = export_robot(replace(panda, name=name), tmp_path / "c", ["gravity"])
    assert (done.path / f"{prefix}.h").is_file()


def test_bad_requests(panda: Robot, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"unknown function 'mass_matrx'; did you mean 'mass_matrix'\? known"):
        export_robot(panda, tmp_path / "c", ["mass_matrx"])
    with pytest.raises(ExportError, match="'my-robot' is no C identifier"):
        export_robot(panda, tmp_path / "c", prefix="my-robot")
    with pytest.raises(ExportError, match="'joint_wrenches' depends on more than the base parameters"):
        export_robot(panda, tmp_path / "c", ["joint_wrenches"], runtime_parameters="base")
    x = ca.SX.sym("x")
    with pytest.raises(ExportError, match=r"argument of 'p_f' 'double' is no C identifier"):
        export_c([ca.Function("f", [x], [x], ["double"], ["y"])], tmp_path / "c", "p")
    with pytest.raises(
        casid.CasidError, match=r"three_link' has 3 joints: the operational-space mass matrix .* needs six"
    ):
        export_robot(
            casid.load_robot("three_link"), tmp_path / "c", ["operational_space"], runtime_parameters="standard"
        )
    with pytest.raises(RobotError, match=r"has no frame 'gripper'; known: .*flange"):
        export_robot(panda, tmp_path / "c", payload=[1, 0, 0, 0], frame="gripper")
    with pytest.raises(DatasetError, match="payload: give mass"):
        export_robot(panda, tmp_path / "c", payload=[1, 0, 0])
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ExportError, match="holds no export"):
        load(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(ExportError, match="exists and is not empty"):
        export_robot(panda, tmp_path / "full", ["gravity"])
    export_robot(panda, tmp_path / "full", ["gravity"], overwrite=True)
    assert (tmp_path / "full" / "mine.txt").read_text() == "mine"
    assert (tmp_path / "full" / "panda.c").is_file()
    (tmp_path / "file").write_text("")
    with pytest.raises(ExportError, match="is a file"):
        export_robot(panda, tmp_path / "file", ["gravity"])
    with pytest.raises(ExportError, match="cannot be written"):
        export_robot(panda, tmp_path / "file" / "below", ["gravity"])


def test_robot_without_inertials_can_be_exported_with_runtime_parameters(tmp_path: Path) -> None:
    bare = Robot("bare", tuple(Joint(f"j{k}", "revolute", k - 1, Link(f"l{k}")) for k in range(2)))
    export_robot(bare, tmp_path / "c", ["inverse_dynamics"], runtime_parameters="standard")
    with pytest.raises(casid.CasidError, match="no inertial values"):
        export_robot(bare, tmp_path / "d", ["inverse_dynamics"])


def test_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "c"
    command = "export", "panda", "--out"
    assert "panda_gravity" in run(*command, out, "--functions", "gravity,coriolis", "--payload", "1,0,0,0.1")
    assert (out / "panda.h").is_file()
    run(*command, out, code=1)
    run(*command, tmp_path / "d", "--functions", "nothing", code=1)
    assert not (tmp_path / "d").exists()
    for width in ("80", "100", "140"):
        monkeypatch.setenv("COLUMNS", width)
        words = run("ops", "stanford").split()
        assert "477" in words and "393" in words and "7.1)" in words
    assert str(tmp_path / "cache") in run("cache").replace("\n", "")
    run("cache", "--clear")
