"""Texts beside exported code: header, self-test, build files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.codegen import find_compiler
from casid.description import Robot
from casid.dynamics import Model
from casid.errors import RobotError
from casid.export import export_robot
from casid.inertia import express_in, tensor, to_standard
from tests.helpers import needs_compiler


def test_cmake_project_builds(panda: Robot, tmp_path: Path) -> None:
    if shutil.which("cmake") is None or find_compiler() is None:
        pytest.skip("needs cmake and a C compiler")
    export_robot(panda, tmp_path / "c", ["gravity"])
    for command in (["cmake", "-B", "build"], ["cmake", "--build", "build"], ["ctest", "--test-dir", "build"]):
        subprocess.run(command, cwd=tmp_path / "c", capture_output=True, check=True)


def test_header_says_what_a_user_must_know(panda: Robot, tmp_path: Path) -> None:
    export_robot(Model(panda, ["viscous"]), tmp_path / "a", ["inverse_dynamics"], payload=[2.0, 0, 0, 0.1])
    text = (tmp_path / "a" / "panda.h").read_text()
    declared = "int panda_inverse_dynamics(const double q[7], const double dq[7], const double ddq[7], double tau[7]);"
    assert declared in text
    for words in ("rad/s", "N.m", "flange", "threads", "SHA-256", "viscous", "Payload", "m7=", "Gaz et al. 2019"):
        assert words in text
    export_robot(panda, tmp_path / "b", ["base_regressor", "inverse_dynamics"], runtime_parameters="base")
    text = (tmp_path / "b" / "panda.h").read_text()
    assert "beta[0] = Lzz1 + Lyy2" in text
    assert "const double beta[43]" in text
    record = json.loads((tmp_path / "b" / "panda.json").read_text())
    assert record["functions"]["base_regressor"]["outputs"] == [{"name": "Y", "rows": 7, "columns": 43}]


@needs_compiler
@pytest.mark.claim(
    "the self-test of an export passes, also where matrices are nearly singular, and still notices a defect"
)
@pytest.mark.parametrize(
    ("robot", "function", "value", "error"),
    [
        ("panda", "gravity", r"(g\[3\] = )", "1e-9"),
        ("ur10e", "operational_space", r"(Lambda\[7\] = )", "1e-7"),
        ("wam7", "operational_space", r"(Lambda\[7\] = )", "1e-7"),
    ],
)
def test_self_test_allows_rounding_as_the_condition_numbers_make_it(
    robot: str, function: str, value: str, error: str, tmp_path: Path
) -> None:
    folder = tmp_path / "c"
    export_robot(casid.load_robot(robot), folder, [function])

    def run() -> subprocess.CompletedProcess[str]:
        command = [*(find_compiler() or []), "self_test.c", f"{robot}.c", "-lm", "-o", "self_test"]
        subprocess.run(command, cwd=folder, check=True)
        return subprocess.run(["./self_test"], cwd=folder, capture_output=True, text=True, check=False)

    done = run()
    assert done.returncode == 0 and f"{robot}_{function}" in done.stdout and " ok" in done.stdout
    code = (folder / f"{robot}.c").read_text()
    (folder / f"{robot}.c").write_text(re.sub(value, rf"\1 {error} + ", code, count=1))
    done = run()
    assert done.returncode == 1 and "FAILED" in done.stdout


@pytest.mark.claim(
    "a payload of an export has an effect, or is refused; run-time parameters that have to contain it are given"
)
def test_a_payload_is_part_of_the_parameters(panda: Robot, tmp_path: Path) -> None:
    load = [2.0, 0.01, 0.02, 0.1, 0.01, 0.001, 0.002, 0.012, -0.001, 0.009]
    for runtime in ("none", "base"):
        with pytest.raises(RobotError, match="frame 'base' is fixed to the base, where a payload changes no torque"):
            export_robot(panda, tmp_path / "c", payload=load, frame="base", runtime_parameters=runtime)
    assert not (tmp_path / "c").exists()
    model = Model(panda)
    pi = model.parameters(panda.standard_parameters())
    placement = panda.frame("flange").placement
    pi[list(model.link_columns[-1])] += express_in(
        to_standard(load[0], load[1:4], tensor(load[4:])), placement[:3, :3], placement[:3, 3]
    )
    for runtime, expected in (("base", model.base.values(pi)), ("standard", pi)):
        export_robot(panda, tmp_path / runtime, ["gravity"], runtime_parameters=runtime, payload=load)
        text = " ".join((tmp_path / runtime / "panda.h").read_text().replace("\n *", " ").split())
        given = re.search(r"The code adds no payload: .* = \{([^}]*)\}", text)
        assert given is not None
        assert np.array([float(x) for x in given[1].split(",")]) == pytest.approx(expected, rel=1e-12)
