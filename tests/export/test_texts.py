"""Texts beside exported code: header, self-test, build files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from casid.codegen._compiler import find_compiler
from casid.description import Robot
from casid.dynamics import Model
from casid.export import export_robot
from casid.export._texts import cmake, makefile
from tests.export.conftest import needs_compiler


@needs_compiler
def test_self_test_notices_a_wrong_number(panda: Robot, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    export_robot(panda, folder, ["gravity"])
    code = (folder / "panda.c").read_text()
    (folder / "panda.c").write_text(re.sub(r"(g\[3\] = )", r"\1 1e-9 + ", code, count=1))
    command = [*(find_compiler() or []), "self_test.c", "panda.c", "-lm", "-o", "self_test"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(["./self_test"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "FAILED" in done.stdout


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


def test_build_files_name_their_sources() -> None:
    assert "arm_batch" in makefile("arm", True) and "arm_batch" not in makefile("arm", False)
    assert "arm.c arm_batch.c" in cmake("arm", True) and "enable_testing" in cmake("arm", False)
