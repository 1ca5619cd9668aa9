"""What is known of links beyond their bounds: symmetry, equality, a payload, a CAD model, the body they fit in."""

from __future__ import annotations

from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.errors import ProblemError
from casid.inertia._parameter_vector import link_slice
from casid.retrieval.builders.shapes import ellipsoid
from casid.retrieval.constraints import Constraint
from casid.retrieval.objectives import LeastSquares
from casid.retrieval.variables import LinkVariables, LinkView

Array = NDArray[np.float64]
_AXES = "xyz"


def symmetric_link(link: LinkView, plane: Literal["xy", "xz", "yz"], offset: float = 0.0) -> Constraint:
    """Mirror symmetry about a plane of the link frame, shifted by ``offset`` along its normal [m].

    The first moment and the products of inertia across the plane vanish: with normal n, ``l_n = m offset`` and
    ``Sigma_na = offset l_a``, where ``Sigma_na = -L_na``.
    """
    if plane not in ("xy", "xz", "yz"):
        raise ProblemError(f"link '{link.name}': the plane of symmetry is 'xy', 'xz' or 'yz', got '{plane}'")
    normal = next(axis for axis in range(3) if _AXES[axis] not in plane)
    rows = [link.first_moment[normal] - offset * link.mass]
    rows += [link.inertia[normal, a] + offset * link.first_moment[a] for a in range(3) if a != normal]
    return Constraint(f"{link.name} symmetric about {plane}", ca.vertcat(*rows), 0.0, 0.0)


def axisymmetric_link(link: LinkView, axis: Literal["x", "y", "z"]) -> Constraint:
    """A body of revolution about an axis of the link frame: its centre of mass on it, its other moments equal."""
    if axis not in ("x", "y", "z"):
        raise ProblemError(f"link '{link.name}': the axis of symmetry is 'x', 'y' or 'z', got '{axis}'")
    k = _AXES.index(axis)
    a, b = (k + 1) % 3, (k + 2) % 3
    inertia, moment = link.inertia, link.first_moment
    rows = [moment[a], moment[b], inertia[0, 1], inertia[0, 2], inertia[1, 2], inertia[a, a] - inertia[b, b]]
    return Constraint(f"{link.name} of revolution about {axis}", ca.vertcat(*rows), 0.0, 0.0)


def equal_links(first: LinkView, second: LinkView) -> Constraint:
    """Two links are the same part: all ten parameters, each in its own link frame, are equal."""
    if first.index == second.index:
        raise ProblemError(f"equal links: '{first.name}' was given twice")
    return Constraint(f"{first.name} equals {second.name}", first.parameters - second.parameters, 0.0, 0.0)


def body_in_ellipsoid(
    link: LinkView,
    centre: ArrayLike,
    semi_axes: ArrayLike,
    rotation: ArrayLike | None = None,
    density: float | None = None,
) -> tuple[Constraint, ...]:
    """The link's mass lies within an ellipsoid, of at most a given density [kg/m^3] (Wensing, Kim, Slotine 2018).

    With the ellipsoid ``[r; 1]' Q [r; 1] >= 0``, a mass distribution inside it has ``tr(J Q) >= 0``; linear in the
    unknowns. The density bounds the mass by that of the full ellipsoid.
    """
    label = f"{link.name} within its ellipsoid"
    middle, axes, turn = ellipsoid(label, centre, semi_axes, rotation)
    shape = turn @ np.diag(axes**-2) @ turn.T
    Q = np.block(
        [[-shape, (shape @ middle)[:, None]], [(shape @ middle)[None], np.array([[1.0 - middle @ shape @ middle]])]]
    )
    inside = Constraint(label, ca.trace(link.pseudo_inertia @ ca.DM(Q)), lower=0.0)
    if density is None:
        return (inside,)
    if not (np.isfinite(density) and density > 0):
        raise ProblemError(f"constraint '{label}': the density must be positive [kg/m^3], got {density}")
    most = density * 4 / 3 * np.pi * float(axes.prod())
    return inside, Constraint(f"{link.name} mass within its ellipsoid", link.mass, upper=most)


def without_payload(objective: LeastSquares, link: LinkView, payload: ArrayLike) -> LeastSquares:
    """The objective of data recorded with a known payload on a link: the unknowns are then the link's without it.

    Parameters
    ----------
    payload
        Its ten standard parameters in the link frame.
    """
    ten = np.asarray(payload, dtype=float)
    if ten.shape != (10,) or not np.isfinite(ten).all():
        raise ProblemError(
            f"payload of link '{link.name}': expected ten finite standard parameters, got shape {ten.shape}"
        )
    columns = objective.matrix[:, link_slice(link.index)]
    return LeastSquares(objective.matrix, objective.target - columns @ ten, objective.constant)


def with_cad_prior(
    objective: LeastSquares,
    variables: LinkVariables,
    parameters: ArrayLike,
    confidence: float,
    unit: float | None = None,
) -> LeastSquares:
    """The objective plus a pull towards a CAD model, ``unit sum_k ((x_k - x_k^CAD) / (confidence size_k))^2``.

    Parameters
    ----------
    parameters
        Standard parameters of the CAD model, shape (10 n,).
    confidence
        Relative standard deviation of the CAD values, e.g. 0.1 for 10 %; ``size_k`` is the size of the link's mass,
        first moment or inertia.
    unit
        Price of one standard deviation, in units of the objective; default 1, right if the residuals are in standard
        deviations.
    """
    standard = variables.standard_size
    cad = np.asarray(parameters, dtype=float)
    if cad.shape != (standard,) or not np.isfinite(cad).all():
        raise ProblemError(f"CAD prior: expected {standard} finite standard parameters, got shape {cad.shape}")
    if not (np.isfinite(confidence) and confidence > 0):
        raise ProblemError(
            f"CAD prior: the confidence must be a positive relative standard deviation, got {confidence}"
        )
    sizes = []
    for ten in cad.reshape(-1, 10):
        inertia, mass = float(np.abs(ten[[0, 3, 5]]).max()), float(ten[9])
        if mass <= 0 or inertia <= 0:
            raise ProblemError("CAD prior: every link needs a positive mass and inertia")
        sizes.append([inertia] * 6 + [np.sqrt(inertia * mass)] * 3 + [mass])
    weights = np.sqrt(1.0 if unit is None else unit) / (confidence * np.concatenate(sizes))
    rows = np.zeros((standard, variables.size))
    rows[:, :standard] = np.diag(weights)
    combined = LeastSquares.compressed(
        np.vstack([objective.matrix, rows]), np.concatenate([objective.target, weights * cad])
    )
    return LeastSquares(combined.matrix, combined.target, combined.constant + objective.constant)
