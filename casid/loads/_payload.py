r"""Payload identification: mass, centre of mass and inertia of a load on the last link, with intervals.

A load rigidly on the last link adds ``Y_l x`` to the torques, with Y_l the last link's ten columns of the regressor and
x the load's standard parameters in that link's frame. The torques of the robot alone come from one of two sources:

* a *pair* of recordings, without and with the load: the robot's base parameters and the load are fitted together, and
  the former are eliminated exactly (a QR of ``[W, W_l, tau]``), which is the difference of the two for equal motions;
* *one* recording, and parameters of the robot that were identified before: the load is fitted to the residual.

Friction and offsets drift between recordings: a change of each joint's offset, and in motion of its Coulomb friction,
may be fitted along.

**Intervals.** Every x within ``||R x - r||^2 <= min + t``, consistent or not, lies in the ellipsoid ``||R (x - x*)||^2
<= t``: a linear quantity c'x in ``c'x* +- sqrt(t c'(R'R)^-1 c)``, a centre of mass l/m in the roots of a quadratic
(Fieller). The ends are exact. With ``t = s^2 t_nu^2``, t_nu Student's quantile of the nu degrees of freedom of s^2 at
the probability ``0.95^(1/k)``, both sides, k intervals hold together with at least 95 %, however correlated they are
(Sidak 1967): k = 4 for mass and centre of mass, 6 for the inertia. One of the four alone holds with 98.7 %.

Residuals of real robots are errors of the model, not noise. What these are worth is measured: each of ten stretches of
every recording is left out in turn, and where a quantity varies more than noise explains (the delete-a-group jackknife,
Shao and Tu 1995, Sec. 2.3), t is as much larger for it. A robot known from an identification enters with its own
information (`casid.regression.Fit.information`), so that its error is part of the intervals.

**Poses at rest** have bounded errors: `casid.loads._bounded_errors`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.description import Joint, Link, Robot
from casid.dynamics import Model
from casid.errors import DatasetError, SolveError
from casid.evidence import CONFIDENCE
from casid.inertia import Parameters, from_standard, tensor_entries, to_standard
from casid.loads._bounded_errors import bounded_load
from casid.loads._equations import (
    Known,
    inflation,
    least_norm,
    load_intervals,
    load_stack,
    quantities,
    recordings,
    together,
)
from casid.measurement import Dataset
from casid.retrieval import (
    LeastSquares,
    ParameterResult,
    Problem,
    Solution,
    chi_square,
    link_variables,
    mass_bounds,
    solve,
)
from casid.retrieval.constraints import gyration_bound
from casid.retrieval.plausible import PlausibleBodies, believable

#: Radius of gyration [m] and mass [kg] that no load exceeds; smallest second moment of a load over its mass [m^2].
LARGEST_RADIUS, LARGEST_MASS = 1.0, 1000.0
#: Edge of the cube that is the plausible body of a load [m]: a part that a gripper takes; it decides only what the
#: recordings leave open.
EDGE = 0.1
#: Smallest margin of a load's physical consistency [SI], a thousandth of the default of links, which are heavier.
MARGIN = 1e-9
#: What is said of a load whose moments of inertia the recordings do not tell from zero.
POINT = (
    "the moments of inertia about the centre are not determined by these recordings: those for controllers are of a "
    "plausible body; give the load's own, or record quick turns of the wrist"
)
#: Share of a joint's range without the load by which the motion with it may be wider without a note; it only notes.
EXTRAPOLATED = 0.2


@dataclass(frozen=True, eq=False)
class Payload(ParameterResult):
    """A load on the last link.

    Attributes
    ----------
    standard : ndarray, shape (10,)
        Standard parameters in the last link's frame: physically consistent.
    intervals : mapping of str to (float, float)
        95 % intervals of ``m, cx, cy, cz``, together, of ``Lxx ... Lzz``, together, in that frame, and of ``Ixx ...
        Izz`` about the centre of mass, together; infinite where the data determine nothing.
    drift : mapping of str to float
        Change of offsets and Coulomb friction, by name.
    solution : Solution
        Of the consistent fit, with its certificate.
    error_without, error : float
        Relative error of the loaded recording's torques without and with the load [%].
    notes : tuple of str
        Warnings about the recordings and the result.
    """

    standard: Array
    intervals: Mapping[str, tuple[float, float]]
    drift: Mapping[str, float]
    solution: Solution
    error_without: float
    error: float
    notes: tuple[str, ...] = ()

    @cached_property
    def parameters(self) -> Parameters:
        """The load as one link of the name ``payload``, and the drift as terms."""
        return Parameters.of_links(self.standard, ("payload",), self.drift)

    @property
    def mass(self) -> float:
        """[kg]."""
        return float(self.standard[9])

    @property
    def com(self) -> Array:
        """Centre of mass in the last link's frame, shape (3,) [m]."""
        return from_standard(self.standard)[1]

    @property
    def inertia_com(self) -> Array:
        """Inertia about the centre of mass, axes of the last link's frame, shape (3, 3) [kg.m^2]."""
        return from_standard(self.standard)[2]

    @property
    def inertia_determined(self) -> bool:
        """Whether the intervals of all moments of inertia about the centre of mass exclude zero, a point mass."""
        return all(self.intervals[name][0] > 0 for name in ("Ixx", "Iyy", "Izz"))

    def in_frame(self, placement: ArrayLike) -> tuple[float, Array, Array]:
        """Mass, centre of mass and inertia about it in a frame with this placement (4, 4) in the last link's frame."""
        T = np.asarray(placement, dtype=float)
        R = T[:3, :3]
        return self.mass, R.T @ (self.com - T[:3, 3]), R.T @ self.inertia_com @ R

    def controller_fields(self, placement: ArrayLike) -> dict[str, str]:
        """Commands that set the load in controllers, all of which take it in the frame of the flange.

        UR: ``set_target_payload(m, [CoGx, CoGy, CoGz], [Ixx, Iyy, Izz, Ixy, Ixz, Iyz])``; Franka: ``setLoad(mass,
        F_x_Cload, load_inertia)``, the inertia by columns; KUKA: ``LOAD``, the centre in mm with the principal axes as
        angles about z, y, x [deg], and the principal moments.

        Parameters
        ----------
        placement
            Of the flange in the last link's frame, (4, 4).
        """
        mass, c, inertia = self.in_frame(placement)
        com = ", ".join(f"{value:.5f}" for value in c)
        six = ", ".join(f"{inertia[i, j]:.6f}" for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
        nine = ", ".join(f"{value:.6f}" for value in inertia.T.ravel())
        moments, axes = np.linalg.eigh(inertia)
        axes = axes * np.sign(np.linalg.det(axes))
        about_y = -np.arcsin(np.clip(axes[2, 0], -1.0, 1.0))
        angles = np.degrees([np.arctan2(axes[1, 0], axes[0, 0]), about_y, np.arctan2(axes[2, 1], axes[2, 2])])
        middle = ", ".join(f"{name} {value:.3f}" for name, value in zip("XYZABC", (*(1e3 * c), *angles), strict=True))
        principal = ", ".join(f"{name} {value:.6f}" for name, value in zip("XYZ", moments, strict=True))
        return {
            "KUKA": f"{{M {mass:.4f}, CM {{{middle}}}, J {{{principal}}}}}",
            "UR": f"set_target_payload({mass:.4f}, [{com}], [{six}])",
            "Franka": f"setLoad({mass:.4f}, {{{com}}}, {{{nine}}})",
        }

    def __repr__(self) -> str:
        low, high = self.intervals["m"]
        c = ", ".join(f"{1e3 * value:.1f}" for value in self.com)
        return f"Payload({self.mass:.4g} kg [{low:.4g}, {high:.4g}], centre of mass ({c}) mm)"


def payload(
    model: Model,
    loaded: Dataset | Sequence[Dataset],
    unloaded: Dataset | Sequence[Dataset] | None = None,
    *,
    parameters: ArrayLike | None = None,
    information: Known | None = None,
    drift: bool = True,
) -> Payload:
    """Identify a load on the last link.

    Parameters
    ----------
    model
        Links and joint terms of the robot.
    loaded
        Processed recordings with the load; static poses have velocities and accelerations zero.
    unloaded
        Processed recordings without it; or
    parameters
        the robot's parameters, in the order of ``model.parameter_names``.
    information
        With the parameters: what the recordings of the robot alone determine, ``identification.unconstrained
        .information``. The load is then fitted together with the base parameters; without it, the parameters count as
        exact, and a note says so.
    drift
        Fit a change of each joint's offset, and in motion of its Coulomb friction.

    Raises
    ------
    DatasetError
        If neither or both sources of the robot are given, recordings do not fit the model, or the load has no effect
        or a negative mass.
    """
    if (unloaded is None) == (parameters is None):
        raise DatasetError("payload: give recordings without the load or the robot's parameters, one of the two")
    with_load, without = recordings(loaded), recordings(unloaded)
    stack = load_stack(model, with_load, without, parameters, drift, information)
    R, r, left, freedom = stack.compressed()
    bounded = None if stack.base else bounded_load(stack, CONFIDENCE)
    if bounded is None:
        variance, known = left / freedom, dict[str, tuple[float, float]]()
    else:
        R, r, left, known = bounded
        variance = 1.0
    start = least_norm(R, r)
    tolerance = variance * chi_square(max(int(np.linalg.matrix_rank(R)), 1), 1.0 - CONFIDENCE)
    standard, drifts, solution = _consistent(R, r, left, stack.drift, tolerance)
    x, (mass, com, inertia) = np.concatenate([standard, list(drifts.values())]), from_standard(standard)
    wider = dict.fromkeys(quantities(10, com), 1.0)
    if bounded is None:
        wider = inflation(stack.without_stretches(), start, variance, *stack.covariances(), com)
    allowed = {name: by * together(4 if name[0] in "mc" else 6, freedom) for name, by in wider.items()}
    intervals = load_intervals(R, start, variance, allowed, com) | known
    differ, (low, high) = _similar(without, with_load), intervals["m"]
    if high < 0:
        raise DatasetError(
            f"payload: the load's mass is negative, {low:.3g} to {high:.3g} kg: check whether the recordings with and "
            f"without it are exchanged, or the sign of the torques is reversed{''.join(f'; {d}' for d in differ)}"
        )
    notes = [*differ, *_too_heavy(model, standard, with_load)]
    if parameters is not None and information is None:
        notes.append("the intervals leave out the error of the robot's own parameters, which count as exact")
    if low <= 0:
        notes.append("the load cannot be distinguished from none: record more motion against gravity")
    if solution.objective - left > tolerance + float(np.sum((R @ start - r) ** 2)):
        notes.append(
            "no physically consistent body explains the difference: the robot, its friction or the recordings differ "
            "in another way"
        )
    values = np.concatenate([standard[:6], [mass], com, tensor_entries(inertia)])
    intervals = {
        name: (min(ends[0], float(value)), max(ends[1], float(value)))
        for (name, ends), value in zip(intervals.items(), values, strict=True)
    }
    found = Payload(standard, intervals, drifts, solution, *stack.errors(x), tuple(notes))
    return found if found.inertia_determined else replace(found, notes=(*notes, POINT))


def _consistent(
    R: Array, r: Array, left: float, names: Sequence[str], tolerance: float
) -> tuple[Array, dict[str, float], Solution]:
    """The most plausible physically consistent load that explains the data: near a cube where they leave it open."""
    robot = Robot("payload", (Joint("flange", "revolute", -1, Link("payload")),))
    used = [k for k, name in enumerate(names) if np.linalg.norm(R[:, 10 + k]) > 0]
    variables = link_variables(robot, {names[k]: (-np.inf, np.inf) for k in used})
    matrix = np.column_stack([R[:, :10], R[:, [10 + k for k in used]]])
    view = variables.links[0]
    constraints = (mass_bounds(view, 0.0, LARGEST_MASS), gyration_bound(view, LARGEST_RADIUS))
    problem = Problem("payload", variables, LeastSquares(matrix, r, left), constraints, "full", MARGIN)
    solution = solve(problem)
    mass = max(float(solution.standard_parameters[9]), 1e-3)
    com = solution.standard_parameters[6:9] / mass
    cube = to_standard(mass, com, mass * EDGE**2 / 6 * np.eye(3))
    bodies = PlausibleBodies(cube, ("description",))
    extras = dict.fromkeys(names, 0.0)
    try:
        choice = believable(problem, solution, bodies, tolerance=max(tolerance, 1e-12 * left, 1e-300))
    except SolveError:  # no choice is possible: the load is practically zero
        extras.update(solution.extras)
        return solution.standard_parameters[:10].copy(), extras, solution
    extras.update(choice.extras)
    return choice.standard_parameters.copy(), extras, solution


def _similar(without: Sequence[Dataset], with_load: Sequence[Dataset]) -> list[str]:
    """A note where the two motions cover different ranges: the robot's own torques are then extrapolated."""
    if not without:
        return []
    low = np.min([d.q.min(axis=0) for d in without], axis=0)
    high = np.max([d.q.max(axis=0) for d in without], axis=0)
    size = np.maximum(high - low, 0.05)
    beyond = np.max([np.maximum(low - d.q.min(axis=0), d.q.max(axis=0) - high) for d in with_load], axis=0) / size
    if float(beyond.max()) <= EXTRAPOLATED:
        return []
    return [
        f"the motions differ: with the load joint {int(np.argmax(beyond)) + 1} leaves its range without the load by "
        f"{100 * float(beyond.max()):.0f} %; the torques of the robot alone are extrapolated there"
    ]


def _too_heavy(model: Model, standard: Array, with_load: Sequence[Dataset]) -> list[str]:
    """A note where the load's own gravity torque exceeds the effort limit of a joint."""
    robot = model.robot
    limits = robot.limits.effort
    if not np.isfinite(limits).any():
        return []
    x = np.zeros(len(model.parameter_names))
    x[np.asarray(model.link_columns[-1])] = standard
    worst = np.zeros(robot.n)
    for data in with_load:
        q = data.q[:: max(1, len(data) // 200)]
        worst = np.maximum(worst, np.abs(model.inverse_dynamics(q, 0.0 * q, 0.0 * q, x)).max(axis=0))
    over = np.isfinite(limits) & (worst > limits)
    if not over.any():
        return []
    k = int(np.argmax(np.where(over, worst / limits, 0.0)))
    return [
        f"the load alone requires {worst[k]:.3g} N.m at joint '{robot.coordinates[k].name}', whose limit is "
        f"{limits[k]:.3g}: it is heavier than the robot can carry"
    ]
