"""Check of a file: its unphysical bodies, the feasibility of its dynamics, and the repaired file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.description import (
    ANGLE_TOLERANCE,
    Lock,
    Robot,
    as_file,
    description_of,
    format_of_name,
    load_description,
)
from casid.description.formats import FORMATS, Changes
from casid.errors import DatasetError, RobotError
from casid.identification.repair._feasibility import nearest_consistent
from casid.identification.repair._repair import Repair, repair
from casid.inertia import Consistency, consistency, from_standard, parameter_csv, read_parameters, standard_names


@dataclass(frozen=True, eq=False)
class LinkCheck:
    """One body: its parameters, their margins, and the repaired ones.

    Attributes
    ----------
    name : str
    parameters, repaired : ndarray, shape (10,)
        Standard parameters as given and repaired.
    state : Consistency
    """

    name: str
    parameters: Array
    repaired: Array
    state: Consistency

    @property
    def changed(self) -> bool:
        """Whether the repair touches this body."""
        return not np.array_equal(self.parameters, self.repaired)

    @property
    def change(self) -> float:
        """Largest change of an entry of the inertia about the centre of mass [kg.m^2]."""
        return float(np.abs(from_standard(self.repaired)[2] - from_standard(self.parameters)[2]).max())

    @property
    def mass_change(self) -> float:
        """Change of the mass [kg]."""
        return float(self.repaired[9] - self.parameters[9])

    @property
    def com_change(self) -> float:
        """How far the centre of mass moves [m]."""
        return float(np.linalg.norm(from_standard(self.repaired)[1] - from_standard(self.parameters)[1]))


@dataclass(frozen=True, eq=False)
class FileCheck:
    """All bodies of a file, and the repaired file.

    Attributes
    ----------
    links : tuple of LinkCheck
    massless : tuple of str
        Moving links that are said to have neither mass nor inertia: not bodies, left alone.
    repaired_name, repaired : str, bytes
        Name and content of the repaired file.
    repair : Repair, optional
        The verdict and the base parameters; ``None`` for parameters without a robot.
    """

    links: tuple[LinkCheck, ...]
    massless: tuple[str, ...]
    repaired_name: str
    repaired: bytes
    repair: Repair | None = None

    @property
    def unphysical(self) -> tuple[LinkCheck, ...]:
        """The links whose parameters are those of no real body."""
        return tuple(link for link in self.links if not link.state.full)

    @property
    def verdict(self) -> str:
        """The verdict with its evidence, in one sentence."""
        if not self.unphysical:
            return "feasible: every body can exist"
        count = f"{len(self.unphysical)} of {len(self.links)} bodies cannot exist"
        if self.repair is None:
            return f"{count}; whether their dynamics are feasible depends on the robot, which was not given"
        if self.repair.verdict == "virtually feasible":
            return (
                f"virtually feasible: {count}, but a consistent set has the same base parameters; the repair keeps "
                f"them (to {self.repair.relative_base_change:.1e})"
            )
        if self.repair.verdict == "marginal":
            return (
                f"marginal: {count}, and consistent sets only approach its base parameters; the repair moves them by "
                f"{self.repair.base_change:.3g} ({self.repair.relative_base_change:.1e} of their size)"
            )
        return (
            f"infeasible: {count}, and no consistent set has the same base parameters; the repair moves them by "
            f"{self.repair.base_change:.3g}, and less than {self.repair.proven_distance:.3g} is proven impossible"
        )


def check_file(
    name_or_path: str | Path,
    robot: Robot | None = None,
    *,
    lock: Lock = (),
    gravity: ArrayLike | None = None,
    angle_tolerance: float = ANGLE_TOLERANCE,
) -> FileCheck:
    """Check a robot file, a shipped robot, or a file of parameters.

    Parameters
    ----------
    name_or_path
        A robot's name or file (TOML, URDF, MJCF, SDF); an ``identification.json`` or a csv with columns
        ``parameter,value``.
    robot
        Whose parameters a json or csv file holds: then the repair keeps the dynamics where it can.
    lock, gravity, angle_tolerance
        How a robot's file is read, as for `casid.load_robot`: what moves, and which way gravity points, decides what
        the base parameters are.

    Returns
    -------
    FileCheck
        The repaired file has the format of the given one and differs from it only in bodies; one that includes others
        is written anew.

    Raises
    ------
    RobotError, DatasetError
        If the file cannot be read or holds no inertial values, or a robot is given beside the file of a robot.
    """
    path = Path(name_or_path)
    if path.suffix.lower() in (".json", ".csv", ".npy"):
        return _check_values(path, robot)
    if robot is not None:
        raise RobotError(
            f"'{path.name}' is the file of a robot; a second robot is expected beside a json, csv or npy file of "
            "parameters only"
        )
    description = load_description(name_or_path, angle_tolerance=angle_tolerance).changed(lock=lock, gravity=gravity)
    done = repair(description)
    if not done.bodies:
        raise RobotError(f"'{path.name}' has no link with mass and inertia")
    bodies = {body.link for body in done.bodies}
    massless = [link.name for link in description.links if link.inertial is not None and link.name not in bodies]
    suffix = path.suffix or ".toml"
    form = next((form for form in FORMATS if form.name == description.format), format_of_name(f"robot{suffix}"))
    content, _, _ = as_file(description, form, Changes(dict(done.inertials())))
    return FileCheck(_links(done), tuple(massless), f"{path.stem}_repaired{suffix}", content, done)


def _links(done: Repair) -> tuple[LinkCheck, ...]:
    return tuple(
        LinkCheck(body.link, body.given, new, body.state) for body, new in zip(done.bodies, done.repaired, strict=True)
    )


def _check_values(path: Path, robot: Robot | None) -> FileCheck:
    given = read_parameters(path)
    if not given.n:
        raise DatasetError(f"{path.name}: no standard parameters Lxx1 ... m1")
    if robot is None:  # without regard to dynamics
        tens = np.reshape(given.standard, (-1, 10))
        fixed = nearest_consistent(tens).reshape(-1, 10)
        made = zip(given.link_names, tens, fixed, map(consistency, tens), strict=True)
        done, links = None, tuple(LinkCheck(*one) for one in made)
    else:
        done = repair(description_of(robot.with_parameters(given.standard)))
        links = _links(done)
    repaired = np.concatenate([link.repaired for link in links])
    changed = given.with_values(dict(zip(standard_names(given.n), repaired, strict=True)))
    return FileCheck(links, (), f"{path.stem}_repaired.csv", parameter_csv(changed), done)
