"""A self-contained page: style, script and data inside, robots in three dimensions, curves to zoom, tables to sort."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.table import Table

from casid.arrays import Array
from casid.description import Robot
from casid.errors import DatasetError
from casid.inertia import consistency, from_standard, link_slice
from casid.report._links import semi_axes
from casid.report._shapes import Shape, shapes_found
from casid.report._style import link_colours
from casid.report._tables import html_of
from casid.version import __version__

#: A page may use only what it holds; the browser enforces it.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
#: Most points of a curve, and most samples of a motion.
_POINTS, _FRAMES = 2500, 600


#: The tag that precedes the data of a page.
MARK = '<script type="application/json" id="casid-data">'


class Page:
    """One self-contained HTML page, built piece by piece; it fetches nothing.

    Parameters
    ----------
    title
        Plain text, heading of the page.
    lead
        Plain text below it.
    """

    def __init__(self, title: str, lead: str = "") -> None:
        self.title = title
        self.body = [f"<h1>{escape(title)}</h1>"] + ([f'<p class="lead">{escape(lead)}</p>'] if lead else [])
        self.robots: dict[str, Any] = {}
        self.plots: dict[str, Any] = {}

    def add(self, *pieces: str) -> None:
        """Add pieces of HTML."""
        self.body += pieces

    def heading(self, text: str, level: int = 2) -> None:
        """Add a heading of plain text."""
        self.add(f"<h{level}>{escape(text)}</h{level}>")

    def text(self, text: str, kind: str = "") -> None:
        """Add a paragraph of plain text; ``kind`` is its class in the style sheet, e.g. ``note``."""
        self.add(f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>")

    def image(self, picture: bytes | None) -> None:
        """Add a PNG; ``None`` stands for one that could not be drawn."""
        if picture is None:
            self.text("This picture could not be drawn.")
        else:
            self.add(f'<img alt="" src="data:image/png;base64,{base64.b64encode(picture).decode()}">')

    def table(self, *tables: Table, titled: bool = False) -> None:
        """Add tables whose columns sort by a click, but for their feet."""
        self.add(*(f'<div class="scroll">{html_of(table, titled)}</div>' for table in tables))

    def robot(
        self,
        robot: Robot,
        bodies: Mapping[str, ArrayLike] | None = None,
        motion: tuple[ArrayLike, ArrayLike] | None = None,
        posture: ArrayLike | None = None,
        surfaces: Sequence[Shape] | None = None,
    ) -> None:
        """Add a robot to turn and move: joints with placements, sets of bodies as ellipsoids, a motion.

        Each body is the ellipsoid of uniform density with the link's mass and inertia, see `links_figure`.

        Parameters
        ----------
        bodies
            Label -> standard parameters, shape (10 links,); the last one is shown first. Default: the robot's own.
        motion
            Times [s], shape (N,), and joint positions, shape (N, n).
        posture
            Joint positions at the beginning, shape (n,); default: the motion's first, or the middle of the limits.
        surfaces
            Shapes of links, drawn behind the bodies; default: those of the robot's file, where its meshes are found.

        Raises
        ------
        DatasetError
            If an array has another shape or a value is not finite.
        """
        played = None if motion is None else _motion(robot, *motion)
        start = robot.limits.middle if played is None else played["q"][0]
        sets: Mapping[str, ArrayLike] = nominal_bodies(robot, "nominal") if bodies is None else bodies
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
            "colours": link_colours(len(robot.links)),
            "coordinates": _coordinates(robot),
            "posture": _plain(start if posture is None else posture),
            "sets": [
                {"label": label, "bodies": _bodies(robot, np.asarray(values, dtype=float))}
                for label, values in sets.items()
            ],
        }
        if robot.coupled:
            matrix, offset = robot.coupling()
            record |= {"coupling": [_plain(row) for row in matrix], "offset": _plain(offset)}
        shown = shapes_found(robot) if surfaces is None else surfaces
        if shown:
            record["shapes"] = [_surface(shape) for shape in shown]
        if played is not None:
            record["motion"] = played
        key = f"robot{len(self.robots) + 1}"
        self.robots[key] = record
        self.add(f'<div class="robot" id="robot-{key}" data-robot="{key}"></div>')

    def curves(
        self, t: ArrayLike, curves: Mapping[str, ArrayLike], titles: Sequence[str], unit: str, group: str
    ) -> None:
        """Add curves over time to zoom, one chart for each joint.

        Parameters
        ----------
        t
            Times [s], shape (N,).
        curves
            Label -> values, shape (N, n); the first is blue, the second orange, others grey.
        titles
            One for each joint.
        unit, group
            Unit of the values; charts of one group are zoomed together.
        """
        key = str(len(self.plots))
        times = np.asarray(t, dtype=float)
        kept = _thinned(len(times), _POINTS)
        colours, shown = chain(("blue", "orange"), repeat("grey")), _plain(times[kept])
        lines = [
            (label, colour, np.asarray(values, dtype=float)[kept])
            for colour, (label, values) in zip(colours, curves.items(), strict=False)
        ]
        self.plots[key] = [
            {"title": title, "unit": unit, "group": group, "t": shown, "curves": [
                {"label": label, "colour": colour, "y": _plain(y[:, k])} for label, colour, y in lines
            ]}
            for k, title in enumerate(titles)
        ]  # fmt: skip
        self.add(f'<div data-plots="{key}"></div>')

    def html(self) -> str:
        """The whole page."""
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="casid '
            f'{escape(__version__)}"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
            '<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
            f"<title>{escape(self.title)}</title><style>\n{_asset('viewer.css')}</style></head><body>\n"
            '<button id="theme" type="button">Dark</button>\n'
            + "\n".join(self.body)
            + f"\n{_data({'robots': self.robots, 'plots': self.plots})}\n"
            f"<script>\n{_asset('viewer.js')}</script>\n"
            "</body></html>\n"
        )


def _data(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return MARK + text.replace("<", "\\u003c") + "</script>"  # no text inside can end the script


@cache
def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _surface(shape: Shape) -> dict[str, Any]:
    """Vertices as whole numbers of 1/10000 of the longest side."""
    unit = _round(max(float(np.ptp(shape.vertices, axis=0).max()), 1e-9) / 1e4)
    return {
        "joint": shape.joint, "unit": unit, "faces": shape.faces.tolist(),
        "at": np.round(shape.vertices / unit).astype(int).tolist(),
    }  # fmt: skip


def nominal_bodies(robot: Robot, label: str = "nominal, of the description") -> dict[str, Array]:
    """The robot's own bodies under a label, zeros for a link without one; empty where no link has one."""
    bodies = [np.zeros(10) if link.inertial is None else link.inertial.standard_parameters() for link in robot.links]
    return {label: np.concatenate(bodies)} if any(link.inertial for link in robot.links) else {}


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
    return {
        "mass": _round(mass),
        "com": _plain(com),
        "semi_axes": [_plain(axis) for axis in semi_axes(parameters).T],
        "moments": _plain(np.linalg.eigvalsh(inertia)),
        "complaint": consistency(parameters).complaint(),
    }


def _coordinates(robot: Robot) -> list[dict[str, Any]]:
    found = []
    for joint, low, high in zip(robot.coordinates, robot.limits.lower, robot.limits.upper, strict=True):
        unit, reach = ("rad", np.pi) if joint.type == "revolute" else ("m", 1.0)
        ends = (low if np.isfinite(low) else -reach, high if np.isfinite(high) else reach)
        found.append({"name": joint.name, "unit": unit, "lower": _round(ends[0]), "upper": _round(ends[1])})
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
