"""Robot files of public packages: read or refused, equal to engines, simulated, exported. A row of ``soundness``.

CASID_WHEELS names a folder with the packages' wheels; ``python scripts/graded_models.py FOLDER --download`` fills one.
"""

from __future__ import annotations

import os
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from graded_models import candidates

from benchmarks.measure import NotMeasured, Rows, in_process, need, scratch
from benchmarks.motion.formats import apart, nominal, own_torques, pinocchio_torques, torques_in_mujoco, urdf_files
from casid.control import Passive
from casid.description import Robot, load_description, load_robot
from casid.dynamics import Model
from casid.errors import CasidError
from casid.export import export_robot
from casid.motion import Hold
from casid.simulation import Plant, simulate

row = Rows()

#: Beginnings of the wheels' names.
PACKAGES = ("mujoco-", "robosuite", "gymnasium_robotics", "dm_control", "pybullet", "example_robot_data")
#: Seconds that a file may take.
LIMIT = 300.0
#: Largest relative difference of torques; of bodies from meshes, whose vertices MuJoCo keeps in single precision.
EQUAL, EQUAL_MESHES = 1e-9, 1e-5


@dataclass(frozen=True)
class Outcome:
    """What became of a file.

    Attributes
    ----------
    file : str
    demanded : bool
        Whether an engine reads it as a robot on a fixed base with moving joints and masses.
    refused : str
        Why casid refuses it; empty if it is read.
    difference : float
        Of the torques from the engine's, relative to the largest; NaN where there is none to compare with.
    failed : str
        What failed of simulation and export, or of the program itself.
    """

    file: str
    demanded: bool = False
    refused: str = ""
    difference: float = float("nan")
    failed: str = ""
    meshes: bool = False

    @property
    def differs(self) -> bool:
        """Whether the torques are not those of the engine."""
        return self.difference > (EQUAL_MESHES if self.meshes else EQUAL)

    @property
    def whole(self) -> bool:
        """Read, simulated and exported."""
        return not self.refused and not self.failed


def _demanded(path: Path, content: bytes) -> bool:
    """Whether MuJoCo, or Pinocchio, reads a robot on a fixed base with moving joints that carry mass."""
    if b"<mujoco" in content:
        mujoco: Any = need("mujoco")
        try:
            model = mujoco.MjModel.from_xml_path(str(path))
        except ValueError:
            return False
        hinges = {int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)}
        return bool(model.nv > 0 and set(map(int, model.jnt_type)) <= hinges and model.body_mass.sum() > 0)
    if path.suffix.lower() != ".urdf":
        return False
    pinocchio: Any = need("pinocchio")
    try:
        model = pinocchio.buildModelFromUrdf(str(path), mimic=True)
    except (ValueError, RuntimeError):
        return False
    return bool(model.nv > 0 and sum(body.mass for body in model.inertias[1:]) > 0)


def _difference(path: Path, content: bytes, robot: Robot) -> float:
    if b"<mujoco" in content:
        return apart(own_torques(robot), torques_in_mujoco(path, robot))
    if path.suffix.lower() == ".urdf":
        return apart(own_torques(robot), pinocchio_torques(path, robot))
    return float("nan")


def _outcome(path: Path, name: str) -> Outcome:
    content = path.read_bytes()
    demanded = _demanded(path, content)
    try:
        free = [joint.name for joint in load_description(path).joints if joint.type == "floating"]
        robot = load_robot(path, lock=free)
    except CasidError as error:
        return Outcome(name, demanded, " ".join(str(error).split()))
    if free or not nominal(robot).any():
        return Outcome(name)
    failed = []
    hold = Hold(np.zeros(robot.n))
    result = simulate(Plant(Model(robot), nominal(robot)), Passive(robot.n), hold, 0.01, compiled=False)
    if not np.isfinite(result.q).all():
        failed.append("simulation")
    with scratch() as folder:
        written = export_robot(robot, folder / "c", ("inverse_dynamics",), prefix="robot", parameters=nominal(robot))
        if not any(file.suffix == ".c" for file in Path(written.path).iterdir()):
            failed.append("export")
    meshes = b'type="mesh"' in content
    difference = _difference(path, content, robot) if demanded else float("nan")
    return Outcome(name, demanded, "", difference, " and ".join(failed), meshes)


def _within_limit(path: Path, name: str) -> Outcome:
    """`_outcome` in a process of its own; a traceback on a user's file is a fault of casid."""
    try:
        found: Outcome = in_process(_outcome, path, name, limit=LIMIT)
        return found
    except NotMeasured:
        raise
    except (TimeoutError, ChildProcessError) as error:
        return Outcome(name, True, failed=str(error))
    except Exception as error:
        return Outcome(name, True, failed=f"{type(error).__name__}: {error}")


@contextmanager
def _unpacked() -> Iterator[list[tuple[Path, str]]]:
    """Robot files of all packages, and their names."""
    folder = Path(os.environ.get("CASID_WHEELS", ""))
    wheels = {part: sorted(folder.glob(f"{part}*.whl")) for part in PACKAGES} if folder.is_dir() else {}
    missing = [part for part in PACKAGES if not wheels.get(part)]
    if missing:
        raise NotMeasured(f"needs CASID_WHEELS, a folder with the wheels of {', '.join(missing)}")
    with scratch() as place:
        files = []
        for part, (wheel, *_) in wheels.items():
            inside = place / part
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(inside)
            files += [(path, path.relative_to(place).as_posix()) for path in candidates(inside)]
        yield files


def installed_files() -> tuple[str, bool]:
    """Each twentieth URDF of the packages that are installed."""
    return _judged([_within_limit(path, path.name) for path in urdf_files()[::20]])


@row("public robot files: mujoco, robosuite, gymnasium-robotics, dm_control, pybullet, example-robot-data",
     "0 differ; of fixed-base files with inertias >= 95 % read, simulated and exported", "112 of 350 agree",
     quick=installed_files, left_out="the wheels; each twentieth URDF of two installed packages")  # fmt: skip
def public_files() -> tuple[str, bool]:
    """All files of the wheels."""
    with _unpacked() as files:
        return _judged([_within_limit(path, name) for path, name in files])


def _judged(found: list[Outcome]) -> tuple[str, bool]:
    demanded = [one for one in found if one.demanded]
    compared = [one for one in demanded if np.isfinite(one.difference)]
    apart_ones = [one for one in compared if one.differs]
    whole = sum(one.whole for one in demanded)
    share = whole / max(len(demanded), 1)
    reasons = Counter(_kind(one.refused) for one in found if one.refused)
    lines = [
        f"{len(found)} files, {sum(not one.refused for one in found)} read; "
        f"{len(compared)} compared with MuJoCo or Pinocchio: {len(apart_ones)} differ, by at most "
        f"{max((one.difference for one in compared), default=0.0):.1e}; of {len(demanded)} on a fixed base that an "
        f"engine reads {whole} ({share:.1%}) are read, simulated and exported",
        *(f"{one.file}: differs by {one.difference:.1e}" for one in apart_ones),
        *(f"{one.file}: {one.refused or one.failed}"[:200] for one in demanded if not one.whole),
        *(f"{one.file}: {one.failed}"[:200] for one in found if one.failed and not one.demanded),
        "refused, by reason: " + "; ".join(f"{count} {reason}" for reason, count in reasons.most_common()),
    ]
    broken = [one for one in found if one.failed and one not in demanded]
    return "\n".join(lines), not apart_ones and not broken and share >= 0.95


def _kind(reason: str) -> str:
    """A refusal without the names in it."""
    words = reason.split(": ")
    text = words[1] if len(words) > 1 else words[0]
    parts = text.split("'")
    return "'...'".join(parts[::2])[:60]
