"""The walk of CONTRIBUTING, tried in a copy: a new part is one file and one line of a catalogue."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: New file of the package -> its text.
FILES = {
    "dynamics/terms/_square.py": '''
from casid.description.joint_parameters import VISCOUS
from casid.dynamics.terms._terms import FrictionLaw, catalogued

class Square(FrictionLaw):
    """``fv v |v|``."""

    name = "square"
    amplitudes = catalogued(VISCOUS)

    def columns(self, signals, theta):
        return [signals.dq * abs(signals.dq)]
''',
    "regression/estimators/_equal.py": '''
from casid.regression._fit import wls
from casid.regression._fit import Estimator

class Equal(Estimator):
    """Weighted least squares with equal weights."""

    name = "equal"

    def fit(self, data):
        return wls(data.compressed, [1.0] * data.compressed.n)

    def refit(self, part, whole, data):
        return wls(part, [1.0] * part.n)
''',
    "measurement/_json.py": '''
import json
import numpy as np
from casid.measurement._columns import Columns

class Json:
    """A JSON object of arrays."""

    name = ".json"

    def accepts(self, path):
        return path.suffix == ".json"

    def read(self, path, topic):
        return Columns({k: np.array(v) for k, v in json.loads(path.read_text()).items()})
''',
    "retrieval/constraints/_plane.py": '''
from casid.retrieval.constraints._constraint import Constraint

def heavier(one, other):
    """Link ``one`` is at least as heavy as ``other``."""
    return Constraint("heavier", one.mass - other.mass, lower=0.0)
''',
    "description/formats/_arm.py": '''
from casid.description.formats._toml import Toml

class Arm(Toml):
    """TOML by another suffix."""

    name = "ARM"
    suffixes = (".arm",)
''',
    "testing/_model_engine.py": '''
from casid.description import load_robot
from casid.dynamics import Model
from casid.testing._engines import Engine

class ModelEngine(Engine):
    """casid itself as the engine."""

    name = "casid"
    module = "numpy"

    def __init__(self, path, robot):
        own = load_robot(path)
        self.model, self.pi = Model(own), own.standard_parameters()

    def mass_matrix(self, q):
        return self.model.mass_matrix(q, self.pi)

    def bias(self, q, dq):
        return self.model.inverse_dynamics(q, dq, 0 * dq, self.pi)

    def acceleration(self, q, dq, tau):
        return self.model.forward_dynamics(q, dq, tau, self.pi)
''',
    "cli/_greeting.py": '''
def greeting() -> None:
    """Print a greeting."""
    print("hello")
''',
}
#: Catalogue or front -> a text in it, and the same with the new part.
LINES = {
    "dynamics/terms/_friction.py": ("(Linear(), ", "(Square(), Linear(), "),
    "regression/estimators/_catalogue.py": ("(WLS(), ", "(Equal(), WLS(), "),
    "measurement/_formats.py": ('Arrays(".npz", ', 'Json(), Arrays(".npz", '),
    "description/formats/__init__.py": ("= (Toml(), ", "= (Toml(), Arm(), "),
    "cli/__init__.py": ("(_robots.robots, ", "(greeting, _robots.robots, "),
    "retrieval/__init__.py": ("", ""),
    "testing/__init__.py": ("", ""),
}
#: The same -> the import that the line needs; for a front it is the line itself.
IMPORTS = {
    "dynamics/terms/_friction.py": "from casid.dynamics.terms._square import Square",
    "regression/estimators/_catalogue.py": "from casid.regression.estimators._equal import Equal",
    "measurement/_formats.py": "from casid.measurement._json import Json",
    "description/formats/__init__.py": "from casid.description.formats._arm import Arm",
    "cli/__init__.py": "from casid.cli._greeting import greeting",
    "retrieval/__init__.py": "from casid.retrieval.constraints._plane import heavier as heavier",
    "testing/__init__.py": "from casid.testing._model_engine import ModelEngine as ModelEngine",
}
#: Each new part as a user meets it.
USE = """
import json
from pathlib import Path
import numpy as np
import casid
from typer.testing import CliRunner
from casid.cli import app
from casid.regression.estimators._catalogue import ESTIMATORS
from casid.retrieval import heavier
from casid.testing import ModelEngine, running

robot = casid.load_robot("panda")
Path("a.json").write_text(json.dumps({"t": list(range(12)), "q": [[0.0]] * 12, "tau": [[3.0]] * 12}))
from casid.description import write_robot
write_robot(robot, "a.toml")
Path("a.toml").rename("b.arm")
from casid.dynamics.terms._friction import friction_model
links = casid.load_problem("panda_retrieval").variables
with running(robot, ModelEngine) as engine:
    size = engine.mass_matrix(np.zeros(7)).shape
print(json.dumps({
    "law": friction_model("square+offset").name,
    "estimator": "equal" in ESTIMATORS,
    "recording": casid.read_dataset("a.json").tau.sum(),
    "robot": casid.load_robot("b.arm").n,
    "command": CliRunner().invoke(app, ["greeting"]).output.strip(),
    "engine": size,
    "constraint": heavier(links[1], links[0]).label,
}))
"""


@pytest.mark.slow
def test_a_file_and_a_line_make_a_new_part(tmp_path: Path) -> None:
    package = tmp_path / "casid"
    shutil.copytree(ROOT / "casid", package)
    for folder in ("robots", "problems"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    for name, text in FILES.items():
        (package / name).write_text(text, encoding="utf-8")
    for name, (here, there) in LINES.items():
        source = (package / name).read_text(encoding="utf-8")
        assert here in source, f"{name} has no line {here!r}: CONTRIBUTING's walk has moved"
        source = source.replace(here, there, 1)
        place = source.index("\nfrom casid.")
        (package / name).write_text(f"{source[:place]}\n{IMPORTS[name]}{source[place:]}", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", USE], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "law": "square+offset", "estimator": True, "recording": 36.0, "robot": 7, "command": "hello",
        "engine": [7, 7], "constraint": "heavier",
    }  # fmt: skip
