"""The mass that a robot's links are expected to have, from what a recording shows, and how far that can be off.

The bodies that follow from the kinematics have masses up to one factor. It is that of the bodies which, with the joint
terms, explain the recorded torques best: least squares of one number ``f >= 0`` and the terms' parameters t,

    min sum_j || tau_j - W_j (f K pi_0 + K_t t) ||^2,

every joint with its torque as it is, so that the strong ones, which carry the arm, decide. Mass at the axes of the
first joints makes no torque: described robots weigh 1.1 times as much. On iiwa, UR5, UR10, Z1, xArm7 and Talos' arm,
where this number was set, it is 1.06, 1.27, 1.49, 0.93, 0.91, 1.03. Of twelve other described arms the geometric mean
is 1.03 and the standard deviation 34 %, of twelve legs 1.4: their motors sit at the hip.

A counterbalance that is no part of the model holds the weight in place of the drives (`casid.identification._springs`
looks for it); the largest torque then still tells what an arm weighs at least: a third of ``3.2 tau / (g reach)``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import lsq_linear

from casid.regression import CompressedData, Fit
from casid.retrieval.plausible._bodies import PlausibleBodies, held_mass

Array = NDArray[np.float64]
#: Least expected mass over the one of which the largest torque tells.
LEAST_HELD = 1.0 / 3.0
#: Mass of the links over that of the bodies that explain the torques best.
UNSEEN = 1.1


@dataclass(frozen=True, eq=False)
class Explained:
    """What bodies of one common factor explain of the torques.

    Attributes
    ----------
    mass : float
        Of all links, with that factor [kg].
    terms : dict
        Parameters of the joint terms, by their columns in the model.
    beta : ndarray, shape (rank,)
        Base parameters of both.
    """

    mass: float
    terms: dict[int, float]
    beta: Array


def explained(bodies: PlausibleBodies, data: CompressedData, without: Collection[int] = ()) -> Explained:
    """The common factor of bodies and the joint terms that explain the torques best; the module's equation.

    Parameters
    ----------
    bodies
    data
    without
        Columns of the model's parameters that are zero.
    """
    model, base = data.model, data.base
    template = np.zeros(len(model.parameter_names))
    template[np.ravel(model.link_columns)] = bodies.parameters
    terms = sorted(model.term_columns)
    columns = np.column_stack([base.K @ template, base.K[:, terms]])
    R, rho, _ = data.plain.stacked()
    matrix = R @ columns
    lengths = np.linalg.norm(matrix, axis=0)
    used = lengths > 1e-12 * lengths.max(initial=1e-300)
    used[1:] &= [column not in without for column in terms]
    low = np.where([True, *(model.term_columns[column][0].nonnegative for column in terms)], 0.0, -np.inf)[used]
    x = np.zeros(len(lengths))
    x[used] = lsq_linear(matrix[:, used] / lengths[used], rho, (low, np.full(len(low), np.inf))).x / lengths[used]
    mass = float(x[0]) * float(bodies.parameters[9::10].sum())
    return Explained(mass, dict(zip(terms, map(float, x[1:]), strict=True)), columns @ x)


def weighed_bodies(bodies: PlausibleBodies, estimate: Fit, torques: ArrayLike) -> PlausibleBodies:
    """The plausible bodies with the common factor of their masses that explains the torques best.

    Parameters
    ----------
    bodies
        Those whose masses are known are kept as they are.
    estimate
        Its data are used.
    torques
        Largest torque of each joint, without what springs hold [N.m], shape (n,).
    """
    if not bodies.scaled.all():
        return bodies
    held = LEAST_HELD * held_mass(estimate.data.model.robot, torques)
    mass = max(UNSEEN * explained(bodies, estimate.data).mass, held)
    return bodies.weighing(mass) if np.isfinite(mass) and mass > 0 else bodies
