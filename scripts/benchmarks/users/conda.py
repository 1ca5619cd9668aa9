"""The recipe for conda, built by rattler-build against a channel of this machine's Python."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.measure import Measure, NotMeasured, need
from benchmarks.users.packages import interpreter
from casid.errors import DatasetError
from casid.files import read_toml

ROOT = Path(__file__).resolve().parents[3]
RECIPE = ROOT / "docs" / "packaging" / "conda" / "recipe.yaml"


def _stand_ins(python: Path, version: str) -> Mapping[str, tuple[str, str]]:
    """Version and build script of what the recipe's build needs: a link to an interpreter, pip and setuptools."""
    place = f"$PREFIX/lib/python{version}/site-packages"
    settings = f"home = {python.parent}\\nversion = {version}\\ninclude-system-site-packages = false\\n"
    links = "; ".join(f"ln -s {python} $PREFIX/bin/{name}" for name in ("python", f"python{version}"))
    script = f"mkdir -p $PREFIX/bin {place}; {links}; printf '{settings}' > $PREFIX/pyvenv.cfg"
    found = {"python": (f"{version}.0", script)}
    for name, folders in (("pip", ("pip",)), ("setuptools", ("setuptools", "_distutils_hack"))):
        own = metadata.distribution(name)
        parts = " ".join(str(own.locate_file(part)) for part in (*folders, f"{name}-{own.version}.dist-info"))
        found[name] = (own.version, f"mkdir -p {place}; cp -r {parts} {place}")
    return found


def _package(builder: Any, place: Path, python: Path, version: str) -> Any:
    """The recipe built from a copy of the sources, in a folder that is thrown away."""
    source = place / "source"
    for name in ("casid", "robots", "problems"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", str(RECIPE.relative_to(ROOT))):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    for name, (number, script) in _stand_ins(python, version).items():
        build = {"script": [script], "dynamic_linking": {"binary_relocation": False}}
        stand_in = {"package": {"name": name, "version": number}, "build": build}
        builder.Stage0Recipe.from_dict(stand_in).run_build(output_dir=place / "channel", channels=[])
    recipe = builder.Stage0Recipe.from_file(source / RECIPE.relative_to(ROOT))
    settings = builder.ToolConfiguration(test_strategy="skip")  # its tests need casadi and others from a channel
    channel = (place / "channel").as_uri()
    (done,) = recipe.run_build(output_dir=place / "out", channels=[channel], tool_config=settings)
    return builder.Package.from_file(done.packages[0])


def _built() -> tuple[str, bool]:
    builder = need("rattler_build", "conda")
    project = read_toml(ROOT / "pyproject.toml", "project", DatasetError)["project"]
    version = project["requires-python"].removeprefix(">=")
    python = interpreter(version)
    if python is None:
        raise NotMeasured(f"needs Python {version} on the path or in pyenv")
    with tempfile.TemporaryDirectory() as folder:
        package = _package(builder, Path(folder), Path(python), version)
        held = {name.removeprefix("site-packages/") for name in package.files}
        name = Path(package.path).name
    expected = {str(path.relative_to(ROOT)) for path in (ROOT / "casid").rglob("*.py")} | {"casid/py.typed"}
    for part, suffix in (("robots", "*.toml"), ("problems", "*.py")):
        expected |= {f"casid/{path.relative_to(ROOT)}" for path in (ROOT / part).glob(suffix)}
    missing = sorted(expected - held)
    text = (
        f"{name} by rattler-build {metadata.version('py-rattler-build')}: {len(held)} files, "
        f"{len(missing)} of {len(expected)} missing{': ' + missing[0] if missing else ''}; "
        f"{len(package.depends)} requirements; Python {version}, pip and setuptools are this machine's"
    )
    return text, not missing and len(package.depends) > len(project["dependencies"])


ROWS = [Measure("conda recipe", "built once, every file of the wheel", "rattler-build", _built)]
