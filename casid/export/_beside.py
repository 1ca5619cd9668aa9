"""What stands beside exported code: its licence, and the frames and units of the values that go in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.codegen import Argument, CFunction
from casid.description import Robot
from casid.dynamics import Model
from casid.version import __version__


@dataclass(frozen=True)
class Described:
    """A function, what it returns in words, and the frame and unit of its arguments by name.

    A key that ends in ``_`` speaks of all names that begin with it.
    """

    function: CFunction
    words: str
    units: Mapping[str, str]

    def meaning(self, argument: Argument) -> str:
        """Frame and unit of an argument, empty where nobody has stated them."""
        name = argument.name
        return self.units.get(name) or self.units.get(name.partition("_")[0] + "_", "")


def shape_words(argument: Argument) -> str:
    """The shape of an argument's array."""
    return f"{argument.rows} x {argument.columns}, row by row" if argument.columns > 1 else f"{argument.rows}"


def beside(robot: Robot | None, functions: Sequence[Described] = (), notes: Sequence[str] = ()) -> dict[str, str]:
    """The files LICENSE and FRAMES.md of an exported folder.

    Parameters
    ----------
    robot
        Whose numbers the code holds; none for functions of no robot.
    functions
        Functions of the folder.
    notes
        Paragraphs that follow the tables of frames.
    """
    return {"LICENSE": _licence(robot), "FRAMES.md": _frames(robot, functions, notes)}


def licence_of(robot: Robot) -> str:
    """The licence that a robot's description states, or that it states none."""
    return robot.source.get("licence") or "not stated by the robot's description"


def rest(robot: Robot) -> Array:
    """Joint positions to start at, shape (n,) [rad or m]: zero, or the middle of limits that zero is outside of.

    Of limits on one side alone, the limit itself.
    """
    return np.where((robot.limits.lower <= 0) & (robot.limits.upper >= 0), 0.0, robot.limits.middle)


def _licence(robot: Robot | None) -> str:
    text = (
        f"The texts of casid {__version__} in this folder (code around the numbers, build files, tests) are under the "
        f"licence of casid:\n\n{(files(__package__) / 'LICENSE').read_text(encoding='utf-8')}\n"
    )
    if robot is None:
        return text + "The expressions and numbers are those of whoever wrote the exported functions.\n"
    text += (
        f"The numbers are of the robot '{robot.name}'. Licence of its description: {licence_of(robot)}. Parameters "
        "that were given to the export in place of the description's are under that of whoever determined them.\n"
    )
    sources = [f"  {what}: {of}\n" for what, of in robot.source.items() if what != "licence"]
    return text + ("Sources that the description names:\n" + "".join(sources) if sources else "")


def _frames(robot: Robot | None, functions: Sequence[Described], notes: Sequence[str]) -> str:
    lines = [f"# Frames and units{'' if robot is None else f' of {robot.name}'}", ""]
    lines += ["SI units: kg, m, s, rad, N, N.m. Matrices stand row by row.", ""]
    if robot is not None:
        lines += [*_joints(robot), "", *_placements(robot), ""]
    for described in functions:
        f = described.function
        lines += [f"## {f.name}", "", *([described.words, ""] if described.words else [])]
        rows = [
            (a.name, way, shape_words(a), described.meaning(a) or "not stated")
            for way, arguments in (("in", f.inputs), ("out", f.outputs))
            for a in arguments
        ]
        lines += [*_table(("value", "", "shape", "frame and unit"), rows), ""]
    for note in notes:
        lines += [note, ""]
    return "\n".join(lines)


def _joints(robot: Robot) -> list[str]:
    """The joints in the order of q, with units and limits."""
    rows = [
        (
            str(i), joint.name, joint.type, "m, N" if joint.type == "prismatic" else "rad, N.m",
            f"{robot.limits.lower[i]:.6g} to {robot.limits.upper[i]:.6g}",
        )
        for i, joint in enumerate(robot.coordinates)
    ]  # fmt: skip
    return _table(("entry of q, dq, ddq, tau", "joint", "type", "unit of position, torque", "limits"), rows)


def _placements(robot: Robot) -> list[str]:
    """Every frame in the base frame, all joints at position 0."""
    links = [np.array(T, dtype=float) for T in Model(robot).forward_kinematics.call([np.zeros(robot.n)])]
    placed = [(link.name, T) for link, T in zip(robot.links, links, strict=True)]
    placed += [(f.name, (links[f.joint] if f.joint >= 0 else np.eye(4)) @ f.placement) for f in robot.frames]
    rows = [(name, _vector(T[:3, 3]), _vector(T[:3, 0]), _vector(T[:3, 2])) for name, T in placed]
    return [
        "Base frame: that of the robot file's root. A link's parameters and quantities are in its own frame. Where the "
        "frames of links, and those fixed to them, stand in the base frame with every joint at position 0:",
        "",
        *_table(("frame", "origin [m]", "x axis", "z axis"), rows),
    ]


def _vector(values: ArrayLike) -> str:
    return ", ".join(f"{round(float(value), 9) + 0.0:.6g}" for value in np.ravel(values))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
