"""Robot files between formats and engines."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from benchmarks.measure import NotMeasured, Rows, need, scratch
from casid.arrays import Array
from casid.description import Description, Link, Robot, description_of, load_description, load_robot, write_description
from casid.description.formats import Changes
from casid.dynamics import Model
from casid.errors import CasidError
from casid.identification.repair import repair
from casid.identification.repair._repair import Repair
from casid.inertia import consistency
from casid.testing import MuJoCo

row = Rows()

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


def pinocchio_torques(path: Path, robot: Robot, at: Array | None = None) -> Array:
    """The same by Pinocchio, of a URDF or an MJCF; its joints that mimic others have no coordinate either."""
    pinocchio: Any = need("pinocchio")
    urdf = path.suffix.lower() == ".urdf"
    read = partial(pinocchio.buildModelFromUrdf, mimic=True) if urdf else pinocchio.buildModelFromMJCF
    model = read(str(path))
    model.gravity.linear, model.armature[:] = np.array(robot.gravity), 0.0
    data, torques = model.createData(), []
    joints = [model.joints[model.getJointId(joint.name)] for joint in robot.coordinates]
    places = [joint.idx_v for joint in joints]
    for state in states(robot) if at is None else at:
        q, moving = np.zeros(model.nq), np.zeros((2, model.nv))
        for joint, value in zip(joints, state[0], strict=True):  # without position limits: cosine and sine
            q[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (np.cos(value), np.sin(value))
        moving[:, places] = state[1:]
        torques.append(pinocchio.rnea(model, data, q, *moving)[places])
    return np.array(torques)


def torques_in_mujoco(path: Path, robot: Robot, at: Array | None = None) -> Array:
    """The same by MuJoCo, without friction and rotors; joints that follow others are moved along."""
    engine = MuJoCo(path, robot)
    engine.without_joint_terms()
    engine.model.opt.gravity[:] = robot.gravity  # of a URDF MuJoCo takes 9.81
    return np.array([engine.inverse_dynamics(*state) for state in (states(robot) if at is None else at)])


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


_SUFFIXES = (".toml", ".urdf", ".xml", ".sdf")


def _fresh(description: Description) -> Description:
    """Without its file, so that a writer makes a new one."""
    return replace(description, format="", content=b"")


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@row("robot files, TOML <-> URDF <-> MJCF <-> SDF",
     "1e-12 in all bodies, placements, limits; second pass byte-identical; refusals named, < 5 %",
     "FIGAROH: URDF only; mujoco.sysid: MJCF only")  # fmt: skip
def round_trips() -> tuple[str, bool]:
    files, refused, wrong = urdf_files(), [], Counter[str]()
    with quiet():
        for path in files:
            try:
                wrong += _round_trip(path)
            except CasidError as error:
                refused.append(f"{path.name}: {str(error)[:90]}")
    share = len(refused) / len(files)
    listed = ", ".join(sorted({path.stem for path in files}))
    text = (
        f"{len(files)} files, 4 formats: {wrong['values']} differ by more than 1e-12, {wrong['bytes']} second passes "
        f"differ; {len(refused)} refused ({share:.1%}): {'; '.join(refused) or 'none'}. {packages()}. Files: {listed}"
    )
    return text, share < 0.05 and not wrong["values"] and not wrong["bytes"]


def _round_trip(path: Path) -> Counter[str]:
    """Formats in which values or the second pass differ; through each format, and through all one after the other."""
    wrong: Counter[str] = Counter()
    given = _fresh(load_description(path))
    first: dict[str, dict[str, bytes]] = {}
    chain = given
    for suffix in (*_SUFFIXES, *_SUFFIXES):
        with scratch() as name:
            target = name / f"robot{suffix}"
            source = chain if suffix in first else given
            write_description(_fresh(source), target)
            written = _contents(target.parent)
            back = load_description(target)
        if suffix not in first:
            wrong["values"] += bool(differences(given, back))
            first[suffix] = written
        wrong["bytes"] += written != first[suffix]
        chain = back
    return wrong


@row("inverse dynamics of the written files in engines", "1e-9")
def engines() -> tuple[str, bool]:
    need("pinocchio"), need("mujoco")
    worst: dict[str, float] = {"Pinocchio": 0.0, "MuJoCo": 0.0}
    compared: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    with quiet(), scratch() as name:
        for path in urdf_files():
            try:
                robot = load_robot(path, angle_tolerance=0.0)
                ours = own_torques(robot)
                write_description(_fresh(load_description(path, angle_tolerance=0.0)), name / "robot.urdf")
                done = repair(load_description(path, angle_tolerance=0.0))
                whole = load_description(path, angle_tolerance=0.0)
                write_description(_repaired(whole, done), name / "robot.xml")
                repaired = load_robot(name / "robot.xml", gravity=robot.gravity)
            except CasidError as error:
                skipped["no moving joint" if "no moving joint" in str(error) else "refused"] += 1
                continue
            try:
                theirs = pinocchio_torques(name / "robot.urdf", robot)
                worst["Pinocchio"] = max(worst["Pinocchio"], apart(ours, theirs))
                compared["Pinocchio"] += 1
            except ValueError:
                skipped["Pinocchio cannot read it"] += 1
            try:
                theirs = torques_in_mujoco(name / "robot.xml", repaired)
                worst["MuJoCo"] = max(worst["MuJoCo"], apart(own_torques(repaired), theirs))
                compared["MuJoCo"] += 1
            except ValueError as error:
                reason = "a moving body without mass" if "mass and inertia" in str(error) else str(error)[:60]
                skipped[f"MuJoCo: {reason}"] += 1
    text = ", ".join(f"{engine}: {worst[engine]:.1e} over {compared[engine]} robots" for engine in worst)
    reasons = "; ".join(f"{reason}: {count}" for reason, count in skipped.items())
    return f"{text} (not compared: {reasons})", min(compared.values()) > 50 and max(worst.values()) <= 1e-9


def _repaired(description: Description, done: Repair) -> Description:
    inertials = done.inertials()

    def link(old: Link) -> Link:
        return replace(old, inertial=inertials.get(old.name, old.inertial))

    joints = tuple(replace(joint, link=link(joint.link)) for joint in description.joints)
    return _fresh(replace(description, base=link(description.base), joints=joints))


def _count_unphysical(path: Path) -> tuple[int, int]:
    """Bodies and unphysical ones of a file, by nothing but its XML and eigenvalues."""
    bodies = bad = 0
    root = ElementTree.fromstring(path.read_bytes().lstrip())
    for inertial in root.iterfind("link/inertial"):
        mass, inertia = inertial.find("mass"), inertial.find("inertia")
        assert mass is not None and inertia is not None
        m = float(mass.get("value", "nan"))
        xx, xy, xz, yy, yz, zz = (float(inertia.get(f"i{key}", "nan")) for key in ("xx", "xy", "xz", "yy", "yz", "zz"))
        if m == 0.0 and not any((xx, xy, xz, yy, yz, zz)):
            continue
        bodies += 1
        moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        bad += not (m > 0 and moments.sum() / 2 - moments[2] > 0)
    return bodies, bad


@row("unphysical bodies in those files",
     "all found and repaired; load in MuJoCo; base parameters kept to 1e-9 where virtually feasible")  # fmt: skip
def unphysical() -> tuple[str, bool]:
    mujoco = need("mujoco")
    found: Counter[str] = Counter()
    worst, marginal, failed = 0.0, [], []
    with quiet(), scratch() as name:
        for path in urdf_files():
            try:
                description = load_description(path)
                done = repair(description)
            except CasidError:
                found["files refused"] += 1
                continue
            bodies, bad = _count_unphysical(path)
            found["bodies"] += len(done.bodies)
            found["unphysical"] += len(done.unphysical)
            found["miscounted"] += (bodies, bad) != (len(done.bodies), len(done.unphysical))
            found[done.verdict] += 1
            found["left"] += sum(not consistency(ten).full for ten in done.repaired)
            if done.verdict == "virtually feasible":
                worst = max(worst, done.relative_base_change)
            elif done.verdict != "feasible":
                marginal.append(f"{path.stem} {done.verdict}, {done.relative_base_change:.1e}")
            if not done.unphysical:
                continue
            found["loads"] += 1
            massless = Changes()  # a moving link without a body is not what is measured here
            write_description(_with_bodies(_repaired(description, done)), name / "robot.xml", massless)
            try:
                mujoco.MjModel.from_xml_path(str(name / "robot.xml"))
            except ValueError as error:
                failed.append(f"{path.stem}: {str(error)[:60]}")
    text = (
        f"{found['unphysical']} of {found['bodies']} bodies unphysical (independent count differs in "
        f"{found['miscounted']} files), {found['left']} left after repair; files: {found['feasible']} feasible, "
        f"{found['virtually feasible']} virtually feasible (base parameters kept to {worst:.1e}), "
        f"{len(marginal)} not ({'; '.join(marginal)}); {found['loads'] - len(failed)} of {found['loads']} repaired "
        f"files load in MuJoCo {'; '.join(failed)}"
    )
    return text, not found["miscounted"] and not found["left"] and worst <= 1e-9 and not failed


def _with_bodies(description: Description) -> Description:
    """Moving links without a body get a gram, for MuJoCo refuses them whatever the others are."""
    from casid.description import Inertial

    speck = Inertial(1e-3, np.zeros(3), 1e-7 * np.eye(3))
    joints = tuple(
        replace(joint, link=replace(joint.link, inertial=speck))
        if joint.type != "fixed" and (joint.link.inertial is None or joint.link.inertial.mass == 0.0)
        else joint
        for joint in description.joints
    )
    return replace(description, joints=joints)


@row("Panda parameters shifted along the null space of the base parameters",
     "virtually feasible; repaired with base parameters unchanged", "repair link by link: moved by 463")  # fmt: skip
def shifted_set() -> tuple[str, bool]:
    with quiet():
        robot = load_robot("panda")
        base, given = Model(robot).base, robot.standard_parameters()
        null = np.linalg.svd(base.K)[2][base.rank :]
        rng = np.random.default_rng(0)
        size = 1.0
        while True:
            shifted = given + null.T @ (size * rng.standard_normal(len(null)))
            if not any(consistency(ten).full for ten in shifted.reshape(-1, 10)):
                break
            size *= 2.0
        done = repair(description_of(robot.with_parameters(shifted)))
    text = (
        f"shifted by {np.abs(shifted - given).max():.3g}, {len(done.unphysical)} of 7 links unphysical: "
        f"{done.verdict}, base parameters kept to {done.relative_base_change:.1e}"
    )
    good = all(consistency(ten).full for ten in done.repaired)
    return text, done.verdict == "virtually feasible" and good and done.relative_base_change <= 1e-9


@row("joints that follow others: Panda with hand, Baxter", "1e-9 of Pinocchio's mimic model")
def followers() -> tuple[str, bool]:
    need("pinocchio")
    values, names = [], ("panda_description/urdf/panda.urdf", "baxter_description/urdf/baxter.urdf", "tiago_pro.urdf")
    with quiet():
        for path in urdf_files():
            if not any(str(path).endswith(name) for name in names):
                continue
            robot = load_robot(path, angle_tolerance=0.0)
            if not nominal(robot).any():
                continue
            error = apart(own_torques(robot), pinocchio_torques(path, robot))
            values.append((f"{path.stem}: {len(robot.joints)} joints, {robot.n} coordinates, {error:.1e}", error))
    return "; ".join(text for text, _ in values), len(values) >= 2 and max(error for _, error in values) <= 1e-9


#: Assembled by the table of the topic.
