"""What a page needs to draw: a robot with its links' ellipsoids and motion, curves over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.description import Robot
from casid.errors import DatasetError
from casid.inertia import consistency, from_standard
from casid.inertia._parameter_vector import link_slice
from casid.report.links_plot import link_placements, middle_posture

Array = NDArray[np.float64]

#: Most points of a curve, and most samples of a motion.
_POINTS, _FRAMES = 2500, 600


def scene(
    robot: Robot,
    bodies: Mapping[str, ArrayLike] | None = None,
    motion: tuple[ArrayLike, ArrayLike] | None = None,
    posture: ArrayLike | None = None,
) -> dict[str, Any]:
    """A robot as plain values: joints with placements, sets of bodies as ellipsoids, a motion.

    Each body is drawn as the ellipsoid of uniform density with the link's mass and inertia, see `links_figure`.

    Parameters
    ----------
    bodies
        Label -> standard parameters, shape (10 links,); the last one is shown first. Default: the robot's own.
    motion
        Times [s], shape (N,), and joint positions, shape (N, n).
    posture
        Joint positions at the beginning, shape (n,); default: the motion's first, or the middle of the limits.

    Raises
    ------
    DatasetError
        If an array has another shape or a value is not finite.
    """
    start = middle_posture(robot)
    played = None
    if motion is not None:
        played = _motion(robot, *motion)
        start = np.array(played["q"][0])
    if posture is not None:
        start = np.asarray(posture, dtype=float)
    origins = np.array([np.zeros(3), *(T[:3, 3] for T in link_placements(robot, start))])
    low, high = origins.min(axis=0), origins.max(axis=0)
    sets = _own(robot) if bodies is None else {label: np.asarray(v, dtype=float) for label, v in bodies.items()}
    length = np.linalg.norm(high - low)
    record: dict[str, Any] = {
        "name": robot.name,
        "joints": [
            {
                "type": joint.type,
                "parent": joint.parent,
                "axis": _plain(joint.axis),
                "placement": _plain(joint.placement),
                "link": _plain(joint.link_placement),
            }
            for joint in robot.joints
        ],
        "links": [link.name for link in robot.links],
        "coordinates": _coordinates(robot),
        "posture": _plain(start),
        "centre": _plain((low + high) / 2),
        "reach": float(max(0.62 * length, 0.1)),
        "sets": [{"label": label, "bodies": _bodies(robot, values)} for label, values in sets.items()],
    }
    if robot.coupled:
        matrix, offset = robot.coupling()
        record |= {"coupling": [_plain(row) for row in matrix], "offset": _plain(offset)}
    return record if played is None else record | {"motion": played}


def torque_charts(
    t: ArrayLike, curves: Mapping[str, ArrayLike], titles: Sequence[str], unit: str, group: str
) -> list[dict[str, Any]]:
    """One chart a joint.

    Parameters
    ----------
    t
        Times [s], shape (N,).
    curves
        Label -> values, shape (N, n); the first is blue, the second orange, others grey.
    titles
        One a joint.
    unit, group
        Unit of the values; charts of one group are zoomed together.
    """
    times = np.asarray(t, dtype=float)
    kept = _thinned(len(times), _POINTS)
    colours = ("blue", "orange")
    return [
        {
            "title": title,
            "unit": unit,
            "group": group,
            "t": _plain(times[kept]),
            "curves": [
                {
                    "label": label,
                    "colour": colours[i] if i < len(colours) else "grey",
                    "y": _plain(np.asarray(values, dtype=float)[kept, k]),
                }
                for i, (label, values) in enumerate(curves.items())
            ],
        }
        for k, title in enumerate(titles)
    ]


def _own(robot: Robot) -> dict[str, Array]:
    """The robot's own bodies; none where a link has none."""
    if any(link.inertial is None for link in robot.links):
        return {}
    return {"nominal": np.asarray(robot.standard_parameters(), dtype=float)}


def _bodies(robot: Robot, values: Array) -> list[dict[str, Any] | None]:
    if values.shape != (10 * len(robot.joints),) or not np.isfinite(values).all():
        raise DatasetError(
            f"robot '{robot.name}': expected {10 * len(robot.joints)} finite parameters, got shape {values.shape}"
        )
    return [_body(values[link_slice(k)]) for k in range(len(robot.joints))]


def _body(parameters: Array) -> dict[str, Any] | None:
    if parameters[9] == 0.0:
        return None
    mass, com, inertia = from_standard(parameters)
    lengths, vectors = np.linalg.eigh(np.trace(inertia) / 2 * np.eye(3) - inertia)
    half = np.sqrt(5.0 * np.maximum(lengths / mass, 0.0)) * vectors
    return {
        "mass": _round(mass),
        "com": _plain(com),
        "semi_axes": [_plain(axis) for axis in half.T],
        "moments": _plain(np.linalg.eigvalsh(inertia)),
        "complaint": consistency(parameters).complaint(),
    }


def _coordinates(robot: Robot) -> list[dict[str, Any]]:
    found = []
    free = [joint for joint in robot.joints if joint.mimic is None]
    for joint, low, high in zip(free, robot.limits.lower, robot.limits.upper, strict=True):
        turns = joint.type == "revolute"
        reach = np.pi if turns else 1.0
        found.append(
            {
                "name": joint.name,
                "unit": "rad" if turns else "m",
                "lower": _round(low if np.isfinite(low) else -reach),
                "upper": _round(high if np.isfinite(high) else reach),
            }
        )
    return found


def _motion(robot: Robot, t: ArrayLike, q: ArrayLike) -> dict[str, Any]:
    times, positions = np.asarray(t, dtype=float), np.asarray(q, dtype=float)
    if positions.ndim != 2 or positions.shape != (len(times), robot.n) or len(times) < 2:
        raise DatasetError(
            f"robot '{robot.name}': expected a motion of shape (samples, {robot.n}), got {positions.shape}"
        )
    if not (np.isfinite(times).all() and np.isfinite(positions).all()):
        raise DatasetError(f"robot '{robot.name}': the motion has values that are not finite")
    kept = _thinned(len(times), _FRAMES)
    return {"t": _plain(times[kept]), "q": [_plain(row) for row in positions[kept]]}


def _thinned(count: int, most: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.intp))


def _round(value: float) -> float:
    return float(f"{float(value):.7g}")


def _plain(values: ArrayLike) -> list[float | None]:
    return [_round(v) if np.isfinite(v) else None for v in np.ravel(np.asarray(values, dtype=float))]
