"""What ships, and who may import whom."""

from __future__ import annotations

import importlib.resources
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from benchmarks.users.controllers import FILES, FOLDERS, shipped, sources

import casid
from casid.errors import DatasetError
from casid.files import read_toml

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "casid"
PYPROJECT = read_toml(ROOT / "pyproject.toml", "project", DatasetError)
PROJECT = PYPROJECT["project"]


@pytest.mark.claim("no circles among files of a room, no imports against the slope of rooms")
def test_imports_keep_their_contracts() -> None:
    pytest.importorskip("importlinter", reason="needs the extra dev")
    from importlinter import cli

    assert cli.lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == cli.EXIT_STATUS_SUCCESS


def test_every_room_is_listed_in_pyproject() -> None:
    folders = {".".join(init.parent.relative_to(ROOT).parts) for init in PACKAGE.rglob("__init__.py")}
    assert set(PYPROJECT["tool"]["setuptools"]["packages"]) == folders | {"casid.problems", "casid.robots"}


def test_robots_and_problems_are_found_as_resources() -> None:
    for folder, suffix in (("robots", ".toml"), ("problems", ".py")):
        shipped = {entry.name for entry in importlib.resources.files(f"casid.{folder}").iterdir()}
        names = {path.name for path in (ROOT / folder).glob(f"*{suffix}")}
        assert names
        assert names <= shipped


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the sdist and the wheel made from it."""
    pytest.importorskip("build", reason="needs the extra all-tests")
    pytest.importorskip("setuptools", minversion="77", reason="needs the extra all-tests")
    source, folder = sources(tmp_path_factory.mktemp("source")), tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_wheel_holds_the_package_its_robots_and_its_problems(archives: Path) -> None:
    (wheel,) = archives.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert shipped() <= names
    assert not [name for name in names if name.startswith(("tests/", "scripts/", "robots/", "problems/"))]
    assert wheel.name.startswith(f"casid-{casid.__version__}-py3-none-any")


@pytest.mark.slow
def test_sdist_holds_what_the_wheel_is_made_of(archives: Path) -> None:
    (sdist,) = archives.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names
    moved = (name.replace("casid/robots/", "robots/") for name in shipped())
    assert {name.replace("casid/problems/", "problems/") for name in moved} <= names


def test_the_conda_recipe_needs_what_the_wheel_needs() -> None:
    yaml = pytest.importorskip("yaml", reason="needs the extra all-tests")
    recipe = yaml.safe_load((ROOT / "docs/packaging/conda/recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == casid.__version__
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    wanted = {item.partition(";")[0].replace(" ", "") for item in PROJECT["dependencies"]}
    given = {item.replace(" ", "").replace("matplotlib-base", "matplotlib") for item in recipe["requirements"]["run"]}
    assert wanted <= given
    assert recipe["build"]["python"]["entry_points"] == [f"casid = {PROJECT['scripts']['casid']}"]
    assert set(recipe["about"]["license"].split()) == {PROJECT["license"]}


def test_the_dockerfile_copies_what_the_wheel_is_made_of_and_runs_its_command() -> None:
    text = (ROOT / "docs/packaging/Dockerfile").read_text(encoding="utf-8")
    copied = [words for line in text.splitlines() if (words := line.split()) and words[0] == "COPY"]
    assert {name for words in copied if "--from=build" not in words for name in words[1:-1]} == {*FOLDERS, *FILES}
    versions = set(re.findall(r"FROM python:([\d.]+)", text))
    assert versions <= {item.rpartition(" ")[2] for item in PROJECT["classifiers"] if "Python :: 3." in item}
    (command,) = re.findall(r'ENTRYPOINT \["(\w+)"\]', text)
    assert command in PROJECT["scripts"] and len(versions) == 1
