"""Constraints of every kind on the Panda's retrieval problem, one recipe each.

``load_problem("cookbook", recipe="cylinder")`` builds one. Copy the lines of a recipe into a problem of your own.
Shapes are invented for the example; bounds, coefficients and their source are those of ``panda_retrieval``. The recipes
marked nonconvex are certified by branching or by a relaxation, see docs/constraints.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np

from casid.errors import ProblemError
from casid.retrieval import (
    Constraint,
    LinkVariables,
    Problem,
    axisymmetric_link,
    body_in_ellipsoid,
    com_in_cone,
    com_in_cylinder,
    com_in_ellipsoid,
    com_in_hull,
    com_in_sphere,
    either,
    equal_links,
    load_problem,
    soften,
    symmetric_link,
    total_mass,
)

Recipe = Callable[[LinkVariables], tuple[Constraint, ...]]


def cylinder(links: LinkVariables) -> tuple[Constraint, ...]:
    """Centre of mass of link 4 inside a cylinder around its z axis."""
    return com_in_cylinder(links[3], start=[0, 0, -0.05], end=[0, 0, 0.05], radius=0.03)


def cone(links: LinkVariables) -> tuple[Constraint, ...]:
    """Inside a truncated cone."""
    return com_in_cone(links[3], start=[0, 0, -0.05], end=[0.1, 0, 0.05], start_radius=0.03, end_radius=0.01)


def sphere(links: LinkVariables) -> tuple[Constraint, ...]:
    """Inside a sphere."""
    return com_in_sphere(links[3], centre=[0, 0, 0], radius=0.05)


def soft_mass(links: LinkVariables) -> tuple[Constraint, ...]:
    """Soft: the wrist should have 4.5 to 5 kg; a kilogram off costs 1e-4 (a quarter of the fit's sum of squares)."""
    return (soften(total_mass(links.links[4:], 4.5, 5.0, label="wrist mass, roughly"), weight=1e-4),)


def ellipsoid(links: LinkVariables) -> tuple[Constraint, ...]:
    """Inside an ellipsoid."""
    return com_in_ellipsoid(links[3], centre=[0, 0, 0], semi_axes=[0.08, 0.05, 0.05])


def hull(links: LinkVariables) -> tuple[Constraint, ...]:
    """Inside the convex hull of points, say the corners of a mesh."""
    corners = np.array([[x, y, z] for x in (-0.09, 0.0) for y in (0.0, 0.1) for z in (-0.04, 0.04)])
    return com_in_hull(links[3], np.vstack([corners, [[-0.12, 0.12, 0.0]]]))


def symmetric(links: LinkVariables) -> tuple[Constraint, ...]:
    """Links 2 and 4 are mirror-symmetric."""
    return symmetric_link(links[1], "yz"), symmetric_link(links[3], "xy")


def revolution(links: LinkVariables) -> tuple[Constraint, ...]:
    """Link 7, the flange, is a body of revolution about its z axis."""
    return (axisymmetric_link(links[6], "z"),)


def equal(links: LinkVariables) -> tuple[Constraint, ...]:
    """Two links are the same part."""
    return (equal_links(links[4], links[5]),)


def sub_chain(links: LinkVariables) -> tuple[Constraint, ...]:
    """The wrist was weighed: links 5 to 7 together have 4 to 4.4 kg."""
    return (total_mass(links.links[4:], 4.0, 4.4, label="wrist mass"),)


def realisable(links: LinkVariables) -> tuple[Constraint, ...]:
    """Link 7 fits in an ellipsoid, with moments that a density up to aluminium's can have (Wensing's ellipsoid)."""
    return body_in_ellipsoid(links[6], centre=[0, 0, 0.06], semi_axes=[0.07, 0.07, 0.08], density=2700.0)


def if_else(links: LinkVariables) -> tuple[Constraint, ...]:
    """Nonconvex as written: a radius that depends on which side of a plane the centre of mass lies."""
    c = links[3].com
    radius = ca.if_else(c[2] < 0, 0.05, 0.05 - 0.5 * c[2])
    return (Constraint("link4 com in its housing", radius**2 - c[0] ** 2 - c[1] ** 2, lower=0.0),)


def bolted(links: LinkVariables) -> tuple[Constraint, ...]:
    """Nonconvex: a counterweight is bolted to one side of link 4 or to the other."""
    here = com_in_sphere(links[3], [0.03, 0.0, 0.0], 0.03)
    there = com_in_sphere(links[3], [-0.1, 0.0, 0.0], 0.03)
    return (either("link4 counterweight", here, there),)


def tube(links: LinkVariables) -> tuple[Constraint, ...]:
    """Nonconvex: link 3 is a tube, its centre of mass is not within 10 cm of the axis."""
    c = links[2].com
    return (Constraint("link3 com outside its bore", c[0] ** 2 + c[1] ** 2, lower=0.1**2),)


def aligned(links: LinkVariables) -> tuple[Constraint, ...]:
    """Nonconvex: the product of inertia Ixy of link 4 about its centre of mass vanishes."""
    return (Constraint("link4 Ixy", links[3].inertia_com[0, 1], 0.0, 0.0),)


def round_section(links: LinkVariables) -> tuple[Constraint, ...]:
    """Nonconvex: link 2 has equal moments Ixx = Iyy about its centre of mass."""
    inertia = links[1].inertia_com
    return (Constraint("link2 Ixx = Iyy", inertia[0, 0] - inertia[1, 1], 0.0, 0.0),)


def far_apart(links: LinkVariables) -> tuple[Constraint, ...]:
    """Nonconvex: the centre of mass of link 6 lies at least 13 cm from the joint axis, whose motor is there."""
    c = links[5].com
    return (Constraint("link6 com off its axis", c[0] ** 2 + c[1] ** 2, lower=0.13**2),)


#: Convex recipes: certified directly.
CONVEX: dict[str, Recipe] = {
    f.__name__: f
    for f in (cylinder, cone, sphere, soft_mass, ellipsoid, hull, symmetric, revolution, equal, sub_chain, realisable)
}
#: Nonconvex ones.
NONCONVEX: dict[str, Recipe] = {f.__name__: f for f in (if_else, bolted, tube, aligned, round_section, far_apart)}


def build(recipe: str = "cylinder") -> Problem:
    """The Panda's problem with the constraints of a recipe added."""
    recipes = {**CONVEX, **NONCONVEX}
    if recipe not in recipes:
        raise ProblemError(f"unknown recipe '{recipe}'; there are {', '.join(recipes)}")
    base = load_problem("panda_retrieval")
    extra = recipes[recipe](base.variables)
    return replace(base.add(extra), name=f"cookbook: {recipe}")
