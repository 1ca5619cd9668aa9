"""Mass, centre of mass and inertia of MJCF geoms, as MuJoCo computes them."""

from __future__ import annotations

import math

import numpy as np

from casid.arrays import Array
from casid.description._placement import transform
from casid.description._robot import Inertial, carried
from casid.description.formats._mjcf_context import Context
from casid.description.formats._mjcf_meshes import Meshes
from casid.description.formats._xml import Element
from casid.inertia import to_standard

#: Number of sizes that matter, by type of geom; with ``fromto`` the length is not among them.
_SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
_MASSLESS = ("plane", "hfield", "sdf")


def body_of_geoms(geoms: list[tuple[Element, Array]], context: Context, meshes: Meshes, what: str) -> Inertial | None:
    """Sum of the geoms of a body (already with their defaults), each with the placement of the frame it stands in.

    Raises
    ------
    RobotError
        For sizes that are missing, meshes that cannot be read, and primitives that are fitted to a mesh.
    """
    low, high = 0, 5
    if "inertiagrouprange" in context.compiler:
        words = Element("compiler", context.compiler)
        low, high = map(int, context.numbers(words, "inertiagrouprange", 2, "compiler"))
    tens = []
    for geom, frame in geoms:
        group = int(context.number(geom, "group", what, 0.0))
        if low <= group <= high:
            ten = _geom(geom, frame, context, meshes, what)
            if ten is not None:
                tens.append(ten)
    if not tens:
        return None
    total = np.sum(tens, axis=0)
    return Inertial.of(total) if total[9] > 0 else None


def _geom(geom: Element, frame: Array, context: Context, meshes: Meshes, what: str) -> Array | None:
    kind = geom.get("type", "sphere")
    mass = context.number(geom, "mass", what) if "mass" in geom.attrib else None
    density = context.number(geom, "density", what, 1000.0)
    if kind in _MASSLESS or mass == 0.0 or (mass is None and density == 0.0):
        return None
    if kind == "mesh":
        volume, com, unit = meshes.solid(geom.get("mesh", ""), what)
        m = density * volume if mass is None else mass
        return carried(to_standard(m, com, m * unit), frame @ context.placement(geom, what))
    if kind not in _SIZES or "mesh" in geom.attrib:
        fitted = " fitted to a mesh" if "mesh" in geom.attrib else ""
        context.fail(
            f"{what}: takes its mass from a geom of type '{kind}'{fitted}, which casid does not compute; give the body "
            "an <inertial> (mujoco: mj_saveLastXML writes one)"
        )
    if geom.get("shellinertia") == "true":
        context.fail(f"{what}: a geom with shellinertia is not computed; give the body an <inertial>")
    size = context.numbers(geom, "size", None, what, ())
    placement = context.placement(geom, what)
    if "fromto" in geom.attrib:
        if kind == "sphere":
            context.fail(f"{what}: a sphere has no fromto")
        ends = np.array(context.numbers(geom, "fromto", 6, what)).reshape(2, 3)
        along = ends[0] - ends[1]  # MuJoCo: z points from the second end to the first
        axis = Element("geom", {"zaxis": " ".join(map(repr, along.tolist()))})
        placement = transform(context.placement(axis, what)[:3, :3], ends.mean(axis=0))
        half = float(np.linalg.norm(along)) / 2
        size = [*size[:1], half] if kind in ("capsule", "cylinder") else [*size[:1], *size[:1], half]
    if len(size) < _SIZES[kind] or min(size[: _SIZES[kind]]) <= 0:
        context.fail(f"{what}: a geom of type '{kind}' needs {_SIZES[kind]} positive sizes, got {size}")
    volume, unit = _shape(kind, size)
    m = density * volume if mass is None else mass
    return carried(to_standard(m, np.zeros(3), np.diag(m * unit)), frame @ placement)


def _shape(kind: str, size: list[float]) -> tuple[float, Array]:
    """Volume [m^3] and principal moments of unit mass [m^2]."""
    if kind == "sphere":
        r = size[0]
        return 4 / 3 * math.pi * r**3, np.full(3, 0.4 * r * r)
    if kind == "ellipsoid":
        squares = np.square(size[:3])
        return 4 / 3 * math.pi * math.prod(size[:3]), (squares.sum() - squares) / 5
    if kind == "box":
        squares = np.square(size[:3])
        return 8 * math.prod(size[:3]), (squares.sum() - squares) / 3
    r, h = size[0], 2 * size[1]
    cylinder = math.pi * r * r * h
    across, along = (3 * r * r + h * h) / 12, r * r / 2
    if kind == "cylinder":
        return cylinder, np.array([across, across, along])
    ball = 4 / 3 * math.pi * r**3
    share = cylinder / (cylinder + ball)
    # two half balls at the ends: Steiner through the centre of mass of a half ball, 3/8 r from its flat side
    ends = 0.4 * r * r + h * h / 4 + 3 / 8 * h * r
    across = share * across + (1 - share) * ends
    return cylinder + ball, np.array([across, across, share * along + (1 - share) * 0.4 * r * r])
