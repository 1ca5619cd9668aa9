"""The robot files that come with the test extras, and what an engine makes of a file."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import NotMeasured, need
from casid.arrays import Array
from casid.description import Description, Robot
from casid.dynamics import Model
from casid.testing import MuJoCo

#: A thousand objects of a single body each, made by one program; counted apart.
OBJECTS = "random_urdfs"


def urdf_files() -> list[Path]:
    """Every URDF with an inertial in example-robot-data and pybullet_data, without the thousand random objects."""
    folders = []
    try:
        package = metadata.distribution("example-robot-data")
        folders.append(Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots"))))
    except metadata.PackageNotFoundError:
        pass
    try:
        folders.append(Path(need("pybullet_data").getDataPath()))
    except NotMeasured:
        pass
    if not folders:
        raise NotMeasured("needs robot files: pip install casid[peers]")
    files = [path for folder in folders for path in sorted(folder.rglob("*.urdf")) if OBJECTS not in path.parts]
    return [path for path in files if b"<inertial" in path.read_bytes()]


def packages() -> str:
    """How many files each package has, and what is left out."""
    versions = {"example-robot-data": "example-robot-data", "pybullet_data": "pybullet"}
    parts = []
    for package, owner in versions.items():
        count = sum(package in path.parts for path in urdf_files())
        if count:
            parts.append(f"{count} of {package} ({owner} {metadata.version(owner)})")
    return f"{', '.join(parts)}; without {OBJECTS}, a thousand single bodies with mass and no inertia"


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings of what is wrong in other people's files: the rows count it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def nominal(robot: Robot) -> Array:
    """Standard parameters, zeros for links without a body."""
    tens = [np.zeros(10) if b.inertial is None else b.inertial.standard_parameters() for b in robot.links]
    return np.concatenate(tens)


def states(robot: Robot, count: int = 3) -> Array:
    """Random positions, velocities and accelerations, shape (count, 3, n)."""
    return np.random.default_rng(0).uniform(-1.0, 1.0, (count, 3, robot.n))


def own_torques(robot: Robot) -> Array:
    """Inverse dynamics of the links at `states`, shape (count, n)."""
    inverse_dynamics, pi = Model(robot).inverse_dynamics, nominal(robot)
    return np.array([np.ravel(inverse_dynamics(*state, pi)) for state in states(robot)])


def pinocchio_torques(path: Path, robot: Robot) -> Array:
    """The same by Pinocchio, whose joints that mimic others have no coordinate either."""
    pinocchio: Any = need("pinocchio")
    model = pinocchio.buildModelFromUrdf(str(path), mimic=True)
    model.gravity.linear = robot.gravity
    data = model.createData()
    torques = []
    for q, dq, ddq in states(robot):
        full = [np.zeros(size) for size in (model.nq, model.nv, model.nv)]
        places = []
        for k, joint in enumerate(robot.coordinates):
            item = model.joints[model.getJointId(joint.name)]
            if item.nq == 2:  # without position limits: cosine and sine
                full[0][item.idx_q : item.idx_q + 2] = np.cos(q[k]), np.sin(q[k])
            else:
                full[0][item.idx_q] = q[k]
            full[1][item.idx_v], full[2][item.idx_v] = dq[k], ddq[k]
            places.append(item.idx_v)
        torques.append(pinocchio.rnea(model, data, *full)[places])
    return np.array(torques)


def torques_in_mujoco(path: Path, robot: Robot) -> Array:
    """The same by MuJoCo, without friction and rotors; joints that follow others are moved along."""
    engine = MuJoCo(path, robot)
    engine.without_joint_terms()
    return np.array([engine.inverse_dynamics(*state) for state in states(robot)])


def apart(ours: Array, theirs: Array) -> float:
    """Largest difference relative to the largest torque."""
    return float(np.abs(ours - theirs).max(initial=0.0) / max(float(np.abs(ours).max(initial=0.0)), 1e-300))


def differences(a: Description, b: Description) -> list[str]:
    """What of two descriptions differs by more than 1e-12: links, joints, bodies, placements, limits, terms."""
    links = {link.name: link for link in b.links}
    joints = {joint.name: joint for joint in b.joints}
    found = [] if [x.name for x in a.joints] == [x.name for x in b.joints] else ["order of joints"]
    for link in a.links:
        other = links.get(link.name)
        if other is None or (other.inertial is None) != (link.inertial is None):
            found.append(f"link {link.name}")
        elif link.inertial is not None and other.inertial is not None:
            one, two = link.inertial, other.inertial
            size = max(float(np.abs(one.inertia_com).max()), 1e-300)
            worst = max(
                abs(one.mass - two.mass) / max(abs(one.mass), 1e-300),
                float(np.abs(one.com - two.com).max()) / max(1.0, float(np.abs(one.com).max())),
                float(np.abs(one.inertia_com - two.inertia_com).max()) / size,
            )
            found += [f"body of {link.name}"] if worst > 1e-12 else []
    for joint in a.joints:
        same = joints.get(joint.name)
        if same is None or (same.type, same.parent, same.mimic) != (joint.type, joint.parent, joint.mimic):
            found.append(f"joint {joint.name}")
            continue
        placed = max(
            float(np.abs(joint.placement - same.placement).max()),
            float(np.abs(joint.link_placement - same.link_placement).max()),
            0.0 if joint.type == "fixed" else float(np.abs(joint.axis - same.axis).max()),
        )
        found += [f"placement of {joint.name}"] if placed > 1e-12 * max(1.0, np.abs(joint.placement).max()) else []
        found += [f"limits of {joint.name}"] if joint.limits != same.limits else []
        found += [f"terms of {joint.name}"] if dict(joint.terms) != dict(same.terms) else []
    return found
