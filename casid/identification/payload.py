r"""What a robot carries: mass, centre of mass and inertia of a load on its last link, from what it changes.

A load rigidly on the last link adds ``Y_l x`` to the torques, with Y_l the last link's ten columns of the regressor and
x the load's standard parameters in that link's frame. Two sources for what the robot alone would do:

* a *pair* of recordings, without and with the load: the robot's base parameters and the load are fitted together, and
  the former are eliminated exactly (a QR of ``[W, W_l, tau]``), which is the difference of the two for equal motions;
* *one* recording, and parameters of the robot that were identified before: the load explains what they leave.

Friction and offsets drift between recordings: a change of each joint's offset, and in motion of its Coulomb friction,
may be fitted along.

**Intervals.** Every x within ``||R x - r||^2 <= min + t``, consistent or not, lies in the ellipsoid ``||R (x - x*)||^2
<= t``: a linear quantity c'x in ``c'x* +- sqrt(t c'(R'R)^-1 c)``, a centre of mass l/m in the roots of a quadratic
(Fieller). The ends are exact; t is what noise explains with 95 % probability, ``s^2 chi^2``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.codegen import evaluate_batch
from casid.description import Joint, Link, Robot
from casid.dynamics import Model
from casid.errors import CasidError, DatasetError
from casid.identification.believable import believable
from casid.identification.load_intervals import DETERMINED, load_intervals
from casid.identification.plausible import PlausibleBodies
from casid.inertia import express_in, from_standard, to_standard
from casid.measurement import Dataset
from casid.regression._observation import filtered_blocks, motion
from casid.retrieval.constraints import gyration_bound, mass_bounds
from casid.retrieval.insight.chi_square import chi_square
from casid.retrieval.methods.solve import solve
from casid.retrieval.objectives import LeastSquares
from casid.retrieval.problem import Problem
from casid.retrieval.solution import Solution
from casid.retrieval.variables import link_variables

Array = NDArray[np.float64]

#: Radius of gyration [m] and mass [kg] that no load exceeds; smallest second moment of a load over its mass [m^2].
LARGEST_RADIUS, LARGEST_MASS = 1.0, 1000.0
#: Edge of the cube that stands for a load of which nothing else is known [m].
EDGE = 0.1
#: Smallest margin of a load's physical consistency [SI].
MARGIN = 1e-9


@dataclass(frozen=True, eq=False)
class Payload:
    """A load on the last link.

    Attributes
    ----------
    standard : ndarray, shape (10,)
        Standard parameters in the last link's frame: physically consistent.
    intervals : mapping of str to (float, float)
        95 % intervals of ``m, cx, cy, cz, Lxx ... Lzz`` in that frame, infinite where the data say nothing.
    drift : mapping of str to float
        Change of offsets and Coulomb friction, by name.
    solution : Solution
        Of the consistent fit, with its certificate.
    error_without, error : float
        Relative error of the loaded recording's torques without and with the load [%].
    notes : tuple of str
        What deserves a look.
    """

    standard: Array
    intervals: Mapping[str, tuple[float, float]]
    drift: Mapping[str, float]
    solution: Solution
    error_without: float
    error: float
    notes: tuple[str, ...] = ()

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

    def in_frame(self, placement: ArrayLike) -> tuple[float, Array, Array]:
        """Mass, centre of mass and inertia about it in a frame with this placement (4, 4) in the last link's frame."""
        T = np.asarray(placement, dtype=float)
        R = T[:3, :3]
        return self.mass, R.T @ (self.com - T[:3, 3]), R.T @ self.inertia_com @ R

    def controller_fields(self, placement: ArrayLike) -> dict[str, str]:
        """What a user types into the controllers of Universal Robots and Franka, for a flange of this placement.

        UR: ``set_target_payload(m, [CoGx, CoGy, CoGz], [Ixx, Iyy, Izz, Ixy, Ixz, Iyz])``; Franka: ``setLoad(mass,
        F_x_Cload, load_inertia)``, the inertia by columns.
        """
        mass, c, inertia = self.in_frame(placement)
        com = ", ".join(f"{value:.5f}" for value in c)
        six = ", ".join(f"{inertia[i, j]:.6f}" for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
        nine = ", ".join(f"{value:.6f}" for value in inertia.T.ravel())
        return {
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
    drift: bool = True,
    confidence: float = 0.95,
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
    drift
        Fit a change of each joint's offset, and in motion of its Coulomb friction.
    confidence
        Of the intervals.

    Raises
    ------
    DatasetError
        If neither or both sources of the robot are given, recordings do not fit the model, or the load has no effect
        or weighs less than nothing.
    """
    if (unloaded is None) == (parameters is None):
        raise DatasetError("payload: give either recordings without the load, or the robot's parameters")
    with_load, without = _recordings(loaded), _recordings(unloaded)
    stack = load_stack(model, with_load, without, parameters, drift)
    R, r, left, freedom = stack.compressed()
    start = np.asarray(np.linalg.lstsq(R, r, rcond=DETERMINED)[0], dtype=float)
    variance = left / max(freedom, 1.0)
    tolerance = variance * chi_square(max(int(np.linalg.matrix_rank(R)), 1), 1.0 - confidence)
    standard, extras, solution = _consistent(R, r, left, stack.names, tolerance)
    intervals = load_intervals(R, start, tolerance)
    differ, (low, high) = _similar(without, with_load), intervals["m"]
    if high < 0:
        raise DatasetError(
            f"payload: with the load the robot is lighter, by {-high:.3g} to {-low:.3g} kg: the recordings with and "
            f"without it seem exchanged, or the sign of the torques is reversed{''.join(f'; {d}' for d in differ)}"
        )
    notes = [*differ, *_too_heavy(model, standard, with_load)]
    if low <= 0:
        notes.append("the recordings do not tell the load from none: record more motion against gravity")
    if solution.objective - left > tolerance + float(np.sum((R @ start - r) ** 2)):
        notes.append("no real body explains the difference: the robot, its friction or the recordings differ otherwise")
    x = np.concatenate([standard, list(extras.values())])
    return Payload(standard, intervals, extras, solution, *stack.errors(x), tuple(notes))


def load_stack(
    model: Model,
    loaded: Dataset | Sequence[Dataset],
    unloaded: Dataset | Sequence[Dataset] | None,
    parameters: ArrayLike | None,
    drift: bool,
) -> LoadStack:
    """R factors of recordings with and without a load; arguments as `payload`."""
    stack = LoadStack(model, None if parameters is None else np.asarray(parameters, dtype=float), drift)
    for data in _recordings(unloaded):
        stack.add(data, False)
    for data in _recordings(loaded):
        stack.add(data, True)
    return stack


def combined(stack: LoadStack) -> tuple[list[Array], Array, float]:
    """R factor of each joint, weights of the joints, and the degrees of freedom."""
    stack.compressed()
    return stack.factors(), stack.weights, float(stack.independent.sum()) - stack.factors()[0].shape[1]


def _recordings(given: Dataset | Sequence[Dataset] | None) -> tuple[Dataset, ...]:
    return () if given is None else (given,) if isinstance(given, Dataset) else tuple(given)


class LoadStack:
    """R factors of ``[W_b, W_l, drift, tau]`` joint by joint, and from them the load's own system."""

    def __init__(self, model: Model, parameters: Array | None, drift: bool) -> None:
        self.model, self.parameters = model, parameters
        if parameters is not None and parameters.shape != (len(model.parameter_names),):
            raise DatasetError(f"payload: expected {len(model.parameter_names)} parameters, got {parameters.shape}")
        self.base = 0 if parameters is not None else model.base.rank
        self.drift = [f"{kind}{k + 1}" for kind in ("fo", "fc") for k in range(model.n)] if drift else []
        self.names = [*self.drift]
        self._rows: list[list[Array]] = [[] for _ in range(model.n)]
        self._loaded: list[list[Array]] = [[] for _ in range(model.n)]
        self.samples = np.zeros(model.n)
        self.weights = np.ones(model.n)
        self.independent = np.zeros(model.n)

    def add(self, data: Dataset, loaded: bool) -> None:
        """Rows of one recording."""
        if data.n != self.model.n or data.dq is None or data.ddq is None:
            raise DatasetError(f"{data.name}: a processed recording of {self.model.n} joints is needed")
        source = motion(data)
        assert source.dq is not None and source.ddq is not None
        names = self.model.regressor.name_in()
        if len(names) != 3:
            raise DatasetError(f"payload: the model's regressor has an input '{names[-1]}', leave that term out")
        q, dq, ddq = source.q, source.dq, source.ddq
        n, last = self.model.n, np.asarray(self.model.link_columns[-1])
        independent = list(self.model.base.independent)

        def evaluate(part: slice) -> Array:
            Y = np.asarray(evaluate_batch(self.model.regressor, q[part], dq[part], ddq[part]))
            columns = [Y[:, :, last]]
            if self.parameters is None:
                columns.insert(0, Y[:, :, independent])
            else:
                columns.append((Y @ self.parameters)[:, :, None])
            columns.append(np.sign(dq[part])[:, :, None])
            return np.concatenate(columns, axis=2)

        for first, block in filtered_blocks(data, evaluate):
            rows = slice(first, first + len(block))
            for k in range(n):
                self._joint(k, block[:, k], data, rows, loaded)
        counted = np.full(n, len(data)) if data.mask is None else data.mask.sum(axis=0)
        self.samples += counted
        self.independent += counted / (1.0 if data.full is None else data.full.correlation)

    def _joint(self, k: int, block: Array, data: Dataset, rows: slice, loaded: bool) -> None:
        keep = slice(None) if data.mask is None else data.mask[rows, k]
        part = block[keep]
        base, load, sign = part[:, : self.base], part[:, self.base : self.base + 10], part[:, -1]
        known = part[:, self.base + 10] if self.parameters is not None else np.zeros(len(part))
        drift = np.zeros((len(part), len(self.drift)))
        if self.drift and loaded:
            drift[:, k], drift[:, self.model.n + k] = 1.0, sign
        tau = data.tau[rows, k][keep]
        made = np.column_stack([base, load if loaded else np.zeros_like(load), drift, tau - known])
        self._rows[k].append(_triangle(made))
        if loaded:
            entry = np.column_stack([base, load, drift, tau - known, tau])
            self._loaded[k].append(_triangle(entry))

    def factors(self) -> list[Array]:
        """R factor of each joint's ``[W_b, W_l, drift, tau]``."""
        return [_triangle(np.vstack(rows)) for rows in self._rows]

    def compressed(self) -> tuple[Array, Array, float, float]:
        """R, r of the load and the drifts, the sum of squares that is left, and the degrees of freedom.

        Joints are weighted by 1/RMS of their residual.
        """
        factors = self.factors()
        x = self._least_squares(factors, np.ones(len(factors)))
        sizes = np.array([np.linalg.norm(f[:, :-1] @ x - f[:, -1]) for f in factors])
        rms = sizes / np.sqrt(np.maximum(self.samples, 1))
        self.weights = np.where(rms > 0, 1.0 / np.where(rms > 0, rms, 1.0), 0.0)
        stack = np.vstack([w * f for w, f in zip(self.weights, factors, strict=True)])
        R: Array = np.asarray(np.linalg.qr(stack, mode="r"))
        base = _reduced(R, self.base)
        width = stack.shape[1]
        self._beta = base
        own = R[self.base : width - 1, self.base : width - 1]
        target = R[self.base : width - 1, width - 1]
        left = float(np.sum(R[width - 1 :, width - 1] ** 2))
        if not own[:, :10].any() or np.linalg.norm(own[:, 9]) <= DETERMINED * np.linalg.norm(stack[:, self.base + 9]):
            raise DatasetError("payload: the load has no effect on these torques; move it against gravity")
        return own, target, left, float(self.independent.sum()) - width + 1

    def _least_squares(self, factors: Sequence[Array], weights: Array) -> Array:
        stack = np.vstack([w * f for w, f in zip(weights, factors, strict=True)])
        lengths = np.linalg.norm(stack[:, :-1], axis=0)
        scale = np.where(lengths > 0, lengths, 1.0)
        return np.asarray(np.linalg.lstsq(stack[:, :-1] / scale, stack[:, -1], rcond=1e-10)[0] / scale)

    def errors(self, x: Array) -> tuple[float, float]:
        """Relative error of the loaded recordings without and with the load [%]; the robot as fitted with it."""
        factors = [_triangle(np.vstack(rows)) for rows in self._loaded]
        R, target = self._beta
        beta: Array = np.zeros(0)
        if self.base:
            beta = np.asarray(np.linalg.lstsq(R[:, : self.base], target - R[:, self.base :] @ x, rcond=1e-10)[0])
        whole = np.concatenate([beta, x])
        without = np.concatenate([beta, np.zeros(10), x[10:]])
        size = np.sqrt(sum(float(f[:, -1] @ f[:, -1]) for f in factors))
        made = [np.sqrt(sum(float(np.sum((f[:, :-2] @ z - f[:, -2]) ** 2)) for f in factors)) for z in (without, whole)]
        return 100.0 * float(made[0] / size), 100.0 * float(made[1] / size)


def _triangle(rows: Array) -> Array:
    """R factor of rows, or the rows themselves where they are few."""
    return np.asarray(np.linalg.qr(rows, mode="r"), dtype=float) if len(rows) > rows.shape[1] else rows


def _reduced(R: Array, base: int) -> tuple[Array, Array]:
    """Upper rows: base parameters in terms of the rest."""
    return R[:base, :-1], R[:base, -1]


def _consistent(
    R: Array, r: Array, left: float, names: Sequence[str], tolerance: float
) -> tuple[Array, dict[str, float], Solution]:
    """The most plausible physically consistent load that explains the data: near a cube, where they leave it open."""
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
    except CasidError:  # nothing to choose from: the load is as good as none
        extras.update(solution.extras)
        return solution.standard_parameters[:10].copy(), extras, solution
    extras.update(choice.extras)
    return choice.standard_parameters.copy(), extras, solution


def _similar(without: Sequence[Dataset], with_load: Sequence[Dataset]) -> list[str]:
    """A note where the two motions cover different ranges: the robot is then extrapolated."""
    if not without:
        return []
    low = np.min([d.q.min(axis=0) for d in without], axis=0)
    high = np.max([d.q.max(axis=0) for d in without], axis=0)
    size = np.maximum(high - low, 0.05)
    beyond = np.max([np.maximum(low - d.q.min(axis=0), d.q.max(axis=0) - high) for d in with_load], axis=0) / size
    if float(beyond.max()) <= 0.2:
        return []
    return [
        f"the motions differ: with the load joint {int(np.argmax(beyond)) + 1} leaves the range it has without by "
        f"{100 * float(beyond.max()):.0f} %; the robot alone is extrapolated there"
    ]


def _too_heavy(model: Model, standard: Array, with_load: Sequence[Dataset]) -> list[str]:
    """A note where the load's own gravity torque exceeds what a joint can make."""
    robot = model.robot
    limits = robot.limits.effort
    if not np.isfinite(limits).any():
        return []
    x = np.zeros(len(model.parameter_names))
    x[np.asarray(model.link_columns[-1])] = standard
    worst = np.zeros(robot.n)
    for data in with_load:
        q = data.q[:: max(1, len(data) // 200)]
        worst = np.maximum(
            worst, np.abs(np.array(model.gravity.map(len(q))(q.T, np.tile(x[:, None], len(q))))).max(axis=1)
        )
    over = np.isfinite(limits) & (worst > limits)
    if not over.any():
        return []
    k = int(np.argmax(np.where(over, worst / limits, 0.0)))
    return [
        f"the load alone asks {worst[k]:.3g} N.m of joint '{robot.coordinates[k].name}', whose limit is "
        f"{limits[k]:.3g}: heavier than the robot can carry"
    ]


def moved(standard: ArrayLike, placement: ArrayLike) -> Array:
    """Standard parameters of a body in a frame with the given placement (4, 4), expressed in the parent's frame."""
    T = np.asarray(placement, dtype=float)
    return express_in(np.asarray(standard, dtype=float), T[:3, :3], T[:3, 3])
