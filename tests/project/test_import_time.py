"""``import casid`` stays light: what it must not load (times are measured by the acceptance script, not here)."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("matplotlib", "scipy", "typer", "rich", "pinocchio", "mujoco", "clarabel")


def loaded_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_import_casid_loads_nothing_heavy() -> None:
    assert not loaded_after("import casid") & {*HEAVY, "casadi", "numpy"}


def test_neither_a_model_nor_a_report_needs_scipy_or_matplotlib() -> None:
    assert not loaded_after("from casid import Model, load_robot") & set(HEAVY)
    assert not loaded_after("import casid.report") & {"scipy", "matplotlib"}
    assert not loaded_after("from casid.report.viewer import view; view('panda')") & {"scipy", "matplotlib", "trimesh"}


def test_command_line_starts_without_casadi() -> None:
    for module in ("casid.cli", "casid.__main__"):
        assert not loaded_after(f"import {module}") & {"casadi", "numpy", "matplotlib", "scipy"}


def test_every_public_name_exists() -> None:
    import casid

    for name in casid.__all__:
        assert getattr(casid, name) is not None
        assert name in dir(casid)


def test_unknown_name_is_an_attribute_error() -> None:
    import casid

    with pytest.raises(AttributeError, match="'casid' has no attribute 'nothing'"):
        _ = casid.nothing
