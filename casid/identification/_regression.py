"""Regression constrained to physically consistent parameters: its bounds, the masses to expect, the fit it gives.

Links and friction are fitted in one step, with every constraint of the retrieval (Gaz et al. 2019, supplement, pi_OSI;
Sousa 2014, Sec. 3.5)::

    minimise  sum_j w_j^2 ||tau_j - Y_j pi||^2 + prior    subject to  J_k(pi) >= margin 1,  bounds, any expression

After a robust fit (`casid.regression.irls`) the squares are those of the weighted samples. Only the R factor of the
data enters. Scalars without any bound (offsets) are eliminated exactly beforehand; those
without any effect in the data (friction of a joint that is left out) are set to zero.

Bounds where the description has none scale with the size and the torques of the robot, keep the parameters that the
data leave open, and with them the region of the certificate, bounded; a real robot is far from them. Where one is
reached, the result lists it (`FeasibleFit.active`).

Expected masses: the bodies that follow from the kinematics have masses up to one factor. It is that of the bodies
which, with the joint terms, explain the recorded torques best: least squares of one number ``f >= 0`` and the terms'
parameters t,

    min sum_j || tau_j - W_j (f K pi_0 + K_t t) ||^2,

every joint with its torque as it is, so that the strong ones, which carry the arm, decide. Mass at the axes of the
first joints makes no torque: described robots weigh 1.1 times as much. On iiwa, UR5, UR10, Z1, xArm7 and Talos' arm,
where this number was set, it is 1.06, 1.27, 1.49, 0.93, 0.91, 1.03. Of twelve other described arms the geometric mean
is 1.03 and the standard deviation 34 %, of twelve legs 1.4: their motors sit at the hip.

A counterbalance that is no part of the model holds the weight in place of the drives (it is looked for,
`casid.identification._joint_terms`); the largest torque then still bounds what an arm weighs from below: a third of
``3.2 tau / (g reach)``.

Shapes: a kinematic skeleton gives a link's joints, a drawing its size. Of six described robots (iiwa, UR5, UR10, Z1,
xArm7, Talos' arm) the masses scatter about the skeleton's proportions by 61 % (standard deviation of the logarithm
within a robot), about those of their convex hulls' volumes to the power 3/4 by 36 %: motors and gears are denser than
the shells around them. Nothing else was looked at for this number.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from types import MappingProxyType
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import ALIKE, ROUNDING, Array
from casid.description import STANDARD_G, Robot, link_hulls
from casid.dynamics import Model
from casid.errors import ProblemError
from casid.inertia import (
    STANDARD_NAMES,
    Full,
    Parameters,
    from_pseudo_inertia,
    link_slice,
    pseudo_inertia,
    standard_size,
    to_standard,
)
from casid.measurement import Dataset
from casid.regression import CompressedData, Fit, quadratic
from casid.retrieval import (
    ConstraintBuilder,
    Constraints,
    LeastSquares,
    LinearRows,
    LinkVariables,
    ParameterResult,
    PreparedProblem,
    Prior,
    Problem,
    Solution,
    SolveOptions,
    link_variables,
)
from casid.retrieval.constraints import ConsistencyKind, Constraint, PhysicalConsistency, sensible_bounds
from casid.retrieval.plausible import (
    Believable,
    PlausibleBodies,
    believable,
    believable_path,
    held_mass,
    noise_share,
    plausible_bodies,
    polished,
)

# ------------------------------------------------------------------ bounds and expected bodies

#: A link weighs at most so many times what the strongest joint holds at arm's length.
TIMES_HELD = 6.0
#: Rotor inertia of a drive over its largest torque and the square of the arm's reach [s^2/m^2].
ROTOR = 0.01
#: Standard deviation over the bound of a joint term below which it needs none: ten of them span the bound.
KNOWN = 0.1


def reach(robot: Robot, mounted: bool = True) -> float:
    """Sum of the lengths of all placements [m]; 1 where there are none. Not `Robot.reach`, the longest chain.

    Parameters
    ----------
    robot
    mounted
        Where the first joints stand on the base counts too: a pedestal, or the torso that an arm is mounted on.
    """
    placements = [j.placement for j in robot.joints if mounted or j.parent >= 0]
    lengths = [np.linalg.norm(p[:3, 3]) for p in (*placements, *(j.link_placement for j in robot.joints))]
    return float(sum(lengths)) or 1.0


def largest_mass(robot: Robot, torques: ArrayLike | None = None) -> float:
    """Mass that no link exceeds [kg]: six times what the strongest revolute joint holds at the arm's length.

    Parameters
    ----------
    torques
        Largest measured torque of each joint [N.m], shape (n,); three times that where a joint's limit is not known.
    """
    revolute = np.array([joint.type == "revolute" for joint in robot.coordinates])
    known = np.where(np.isfinite(robot.limits.effort) & (robot.limits.effort > 0), robot.limits.effort, 0.0)
    if torques is not None:
        known = np.maximum(known, np.where(known > 0, 0.0, 3.0 * np.abs(np.asarray(torques, dtype=float))))
    lever = np.where(revolute, reach(robot), 1.0)  # a prismatic joint holds a force
    return TIMES_HELD * float((known / (STANDARD_G * lever)).max())


def default_bounds(robot: Robot, torques: ArrayLike | None = None) -> ConstraintBuilder:
    """Constraints of an identification: those of the description, and generous ones where it has none.

    Parameters
    ----------
    robot
    torques
        Largest measured torque of each joint, shape (n,).
    """
    most, radius = largest_mass(robot, torques) or 100.0, reach(robot)
    return lambda variables: sensible_bounds(variables, most, radius)


def expected_rotors(model: Model, torques: ArrayLike, known: bool = True) -> dict[str, float]:
    """Rotor inertias that are expected at the joints, by the parameters' names [kg.m^2].

    That of the description where it has one; else ``Ia = 0.01 s^2/m^2 r^2 tau`` with the arm's reach r and the largest
    measured torque tau: a rotor is geared so that it weighs about as much as what it moves. Set on the UR10e (0.8 to
    1.6 times that); of the KUKA KR300 the maker's are 1.6 to 13 times that, of the TX40 0.2 to 0.8.

    Parameters
    ----------
    torques
        Largest measured torque of each joint, shape (n,).
    known
        Whether those of the description count.
    """
    described, size = known_rotors(model.robot) if known else {}, model.robot.reach or 1.0
    tau, found = np.abs(np.asarray(torques, dtype=float)), {}
    for column, (term, joint) in model.term_columns.items():
        name = model.parameter_names[column]
        if term.inertial and term.unit == "kg.m^2":
            value = described.get(name, 0.0) or ROTOR * size**2 * float(tau[joint])
            if value > 0:
                found[name] = float(value)
    return found


def known_rotors(robot: Robot) -> dict[str, float]:
    """Rotor inertias of the description, by parameter name."""
    numbered = enumerate(robot.coordinates, start=1)
    return {f"Ia{k}": float(joint.terms["Ia"]) for k, joint in numbered if joint.terms.get("Ia", 0.0) > 0}


def with_link_bounds(
    build: ConstraintBuilder | None, bounds: Mapping[str, tuple[float, float]]
) -> ConstraintBuilder | None:
    """Constraints of a builder, and bounds on single parameters of links (``m7``, ``lz2``).

    Raises
    ------
    ProblemError
        When built, if a robot has no link parameter of such a name.
    """
    if not bounds:
        return build

    def built(variables: LinkVariables) -> Constraints:
        made = []
        for name, (low, high) in bounds.items():
            if name not in variables.names:
                raise ProblemError(f"bounds: there is no parameter '{name}'; links have Lxx1 ... {variables.names[-1]}")
            made.append(Constraint(f"{name} as given", variables.x[variables.names.index(name)], low, high))
        return (build(variables) if build is not None else (), made)

    return built


def split_bounds(bounds: Mapping[str, tuple[float, float]] | None) -> tuple[dict[str, tuple[float, float]], ...]:
    """Bounds of links' parameters, and those of joint terms."""
    given = bounds or {}
    links = {name: pair for name, pair in given.items() if name.rstrip("0123456789") in STANDARD_NAMES}
    return links, {name: pair for name, pair in given.items() if name not in links}


def term_bounds(fit: Fit, torques: Array, speeds: Array) -> dict[str, tuple[float, float]]:
    """Bounds of joint terms: no friction is larger than the largest torque that was measured at its joint.

    Data of a joint that only moves one way do not separate Coulomb friction from an offset, and those of a joint that
    hardly moves do not determine viscous friction: without bounds their values are noise of any size. The offset of a
    prismatic joint has none: what is measured there may be what a counterbalance leaves of the arm's weight.

    Parameters
    ----------
    torques, speeds
        Largest torque and speed of each joint, shape (n,).

    Returns
    -------
    dict
        For every friction parameter of a constant or viscous column that the fit leaves uncertain by more than its
        bound.
    """
    model = fit.data.model
    sd = dict(zip(fit.data.base.names, fit.sd, strict=True))
    values = dict(zip(fit.data.base.names, fit.beta, strict=True))
    largest = float(torques.max(initial=0.0))
    bounds = {}
    for column, (term, joint) in sorted(model.term_columns.items()):
        bounded = term.dissipative or term.constant or term.fitted
        if term.constant and model.robot.coordinates[joint].type == "prismatic":
            continue  # a counterbalance holds any share of the arm's weight
        if not bounded or term.unit not in ("N.m", "N.m.s/rad") or not torques[joint] > 0:
            continue
        name = model.parameter_names[column]
        most = float(torques[joint])
        if term.viscous:
            most = min(most / max(float(speeds[joint]), 1e-9), 10.0 * largest)
        if name in sd and sd[name] < KNOWN * most and abs(values[name]) < most:
            continue
        bounds[name] = (0.0 if term.nonnegative else -most, most)
    return bounds


def largest_torques(datasets: Sequence[Dataset]) -> tuple[Array, Array]:
    """Largest counted torque and speed of each joint over processed recordings, shapes (n,)."""
    torques, speeds = np.zeros(datasets[0].n), np.zeros(datasets[0].n)
    for data in datasets:
        counted = np.where(data.counted, np.abs(data.tau), 0.0)
        torques = np.maximum(torques, counted.max(axis=0))
        if data.dq is not None:
            speeds = np.maximum(speeds, np.abs(data.dq).max(axis=0))
    return torques, speeds


#: Largest mass of right links over that of the bodies that explain the torques: beyond all robots of known bodies.
HEAVIER = 2.0
#: Least expected mass over the one that the largest torque holds.
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


def explained(
    bodies: PlausibleBodies,
    data: CompressedData,
    without: Collection[str] = (),
    masses: tuple[float, float] = (0.0, np.inf),
) -> Explained:
    """The common factor of bodies and the joint terms that explain the torques best; the equation of expected masses.

    Parameters
    ----------
    bodies
    data
    without
        Names of joint terms' parameters that are zero.
    masses
        Least and most of all links together [kg].
    """
    from scipy.optimize import lsq_linear  # slow to import

    model, base = data.model, data.base
    template = np.zeros(len(model.parameter_names))
    template[np.ravel(model.link_columns)] = bodies.parameters
    terms = sorted(model.term_columns)
    columns = np.column_stack([base.K @ template, base.K[:, terms]])
    R, rho, _ = data.plain.stacked()
    matrix = R @ columns
    lengths = np.linalg.norm(matrix, axis=0)
    used = lengths > ROUNDING * lengths.max(initial=0.0)
    used[1:] &= [model.parameter_names[column] not in without for column in terms]
    low = np.where([True, *(model.term_columns[column][0].nonnegative for column in terms)], 0.0, -np.inf)
    high, whole = np.full(len(low), np.inf), float(bodies.parameters[9::10].sum())
    low[0], high[0] = np.array(masses) / whole
    x, ends = np.zeros(len(lengths)), (low[used] * lengths[used], high[used] * lengths[used])
    x[used] = lsq_linear(matrix[:, used] / lengths[used], rho, ends).x / lengths[used]
    return Explained(float(x[0]) * whole, dict(zip(terms, map(float, x[1:]), strict=True)), columns @ x)


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


#: Power of the volume with which masses grow.
GROWTH = 0.75
#: Share of the links that must have a shape.
LEAST_SHAPED = 2.0 / 3.0
#: Origin of such a body.
SHAPE = "shape"


def suggested_bodies(robot: Robot) -> PlausibleBodies:
    """The plausible bodies that a robot's file suggests: its inertial values, its links' shapes, or its kinematics."""
    return shaped_bodies(robot, plausible_bodies(robot))


def shaped_bodies(robot: Robot, bodies: PlausibleBodies) -> PlausibleBodies:
    """The bodies of a skeleton with the proportions of the links' shapes, where most links have one.

    Links without a shape keep their body, with the factor of the others' masses (median). Bodies whose masses are
    known, as some or all are described, are kept.

    Parameters
    ----------
    robot
    bodies
        `casid.retrieval.plausible._bodies.plausible_bodies` of it.
    """
    if not bodies.boxes.all() or bodies.weighed:
        return bodies
    hulls = [h if origin == "skeleton" else None for h, origin in zip(link_hulls(robot), bodies.origins, strict=True)]
    shaped = np.array([one is not None for one in hulls])
    if shaped.mean() < LEAST_SHAPED:
        return bodies
    tens = bodies.parameters.reshape(-1, 10).copy()
    masses = np.array([0.0 if one is None else one.volume**GROWTH for one in hulls])
    tens[~shaped] *= np.exp(np.median(np.log(masses[shaped] / tens[shaped, 9])))
    for k, one in enumerate(hulls):
        if one is not None:
            second = masses[k] / one.volume * one.second
            tens[k] = to_standard(float(masses[k]), one.centre, np.trace(second) * np.eye(3) - second)
    origins = tuple(SHAPE if own else origin for own, origin in zip(shaped, bodies.origins, strict=True))
    return PlausibleBodies(tens.ravel(), origins)


# ------------------------------------------------------------------ the fit

Bounds = Mapping[str, tuple[float, float]]
Stated = tuple[Constraint | PhysicalConsistency, ...]


@dataclass(frozen=True, eq=False)
class FeasibleFit(ParameterResult):
    """A physically consistent fit.

    Attributes
    ----------
    fit : Fit
        The unconstrained fit with the same data and weights.
    solution : Solution
        Of the retrieval problem: status, certificate, violations. With an entropic prior it belongs to the last
        second-order model of it.
    values : ndarray, shape (N,)
        All parameters, in the order of ``model.parameter_names``; by name: `parameters`.
    objective : float
        ``sum_j w_j^2 ||tau_j - Y_j pi||^2``, without the prior; after a robust fit with the weights of single samples
        (``fit.objective`` is the same sum, the errors below are of all samples alike).
    prior_distance : float
        Squared distance from the prior, 0 without one.
    believable : Believable or None
        The choice among all sets that explain the data as well, if it was made; the parameters are then its own.
    active : tuple of ActiveBound
        Bounds that the parameters lie on.
    """

    fit: Fit
    solution: Solution
    values: Array
    objective: float
    prior_distance: float = 0.0
    believable: Believable | None = None
    active: tuple[ActiveBound, ...] = ()

    @cached_property
    def parameters(self) -> Parameters:
        """All parameters by name."""
        return self.model.named(self.values)

    @property
    def model(self) -> Model:
        """The model whose parameters these are."""
        return self.fit.data.model

    @property
    def data(self) -> CompressedData:
        """The data it was fitted to."""
        return self.fit.data

    @property
    def certified(self) -> bool:
        """The optimum is proven (and so is the choice near it), and every constraint holds on re-check."""
        return self.solution.certified and (self.believable is None or self.believable.certified)

    @property
    def gap(self) -> float:
        """Certified relative gap of the best fit."""
        return self.solution.gap

    @cached_property
    def beta(self) -> Array:
        """Base parameters of the fit."""
        return self.data.base.values(self.values)

    @property
    def residual_ratio(self) -> float:
        """Norm of the weighted residual over that of the unconstrained fit: what consistency costs, >= 1."""
        return float(np.sqrt(self.objective / self.fit.objective))

    @cached_property
    def relative_error(self) -> float:
        """``100 ||tau - Y pi|| / ||tau||`` over all joints [%]."""
        return self.data.relative_errors(self.beta)[0]

    @cached_property
    def relative_errors(self) -> Array:
        """The same per joint [%]."""
        return self.data.relative_errors(self.beta)[1]

    @cached_property
    def rms(self) -> Array:
        """Root mean square error of each joint [N.m]."""
        return self.data.rms(self.beta)


#: Share of a bound's size (of the row's largest term) within which it counts as reached; smallest eigenvalue over its
#: margin up to which a body does: an interior point ends above it.
REACHED, THIN = 1e-5, 2.0


@dataclass(frozen=True)
class ActiveBound:
    """A bound that a parameter set lies on.

    Attributes
    ----------
    kind : {"constraint", "parameter", "consistency"}
        An entry of a constraint; the bound of a joint term's parameter; physical consistency of a link.
    quantity : str
        Label of the constraint, name of the parameter, or label of the link's consistency.
    value : float
        Of the bounded quantity in the rows of the solver; of consistency the smallest eigenvalue of the pseudo-inertia.
    text : str
        The bound in words, e.g. ``link2 mass <= 10 kg``.
    """

    kind: Literal["constraint", "parameter", "consistency"]
    quantity: str
    value: float
    text: str


def active_bounds(problem: Problem, linear: LinearRows, x: Array) -> tuple[ActiveBound, ...]:
    """Linear bounds that x lies on, and links as thin as their margin of consistency allows.

    A joint term that cannot be negative and that the data set to zero is not listed.
    """
    found = []
    values = linear.matrix @ x
    sizes = np.maximum(np.abs(linear.matrix * x).max(axis=1, initial=0.0), 1e-9)
    away = np.minimum(np.abs(values - linear.lower), np.abs(linear.upper - values))
    extras = tuple(problem.variables.extras)
    for k in np.flatnonzero(away <= REACHED * sizes):
        row, value = linear.rows[k], float(values[k])
        if row.constraint >= 0:
            found.append(ActiveBound("constraint", problem.constraints[row.constraint].label, value, row.text))
        elif linear.lower[k] != 0.0 or abs(value) > REACHED:
            found.append(ActiveBound("parameter", extras[row.entry], value, row.text))
    for cone in problem.cones:
        if cone.cone != Full():
            continue
        smallest = float(np.linalg.eigvalsh(pseudo_inertia(x[link_slice(cone.link)]))[0])
        if smallest <= THIN * cone.margin:
            text = f"{cone.name} is as thin as physical consistency allows"
            found.append(ActiveBound("consistency", cone.label, smallest, text))
    return tuple(found)


class Statement:
    """The constraints that a builder makes for a robot: for the same unknowns the same symbols and constraints.

    Parameters
    ----------
    robot
    build
        From the unknowns to constraints; ``None``: none.
    """

    def __init__(self, robot: Robot, build: ConstraintBuilder | None) -> None:
        self._robot, self._build = robot, build
        self._made: dict[tuple[str, ...], tuple[LinkVariables, Stated]] = {}

    def about(self, extras: Bounds) -> tuple[LinkVariables, Stated]:
        """Unknowns with the joint terms' parameters ``extras`` and their bounds, and the constraints on them."""
        names = tuple(extras)
        if names not in self._made:
            variables = link_variables(self._robot, extras)
            nothing = LeastSquares(np.zeros((0, variables.size)), np.zeros(0))
            built = () if self._build is None else self._build(variables)
            stated = Problem(f"{self._robot.name} identification", variables, nothing, built)
            self._made[names] = variables, (*stated.constraints, *stated.link_consistency)
        variables, constraints = self._made[names]
        return replace(variables, extras=dict(extras)), constraints

    def names_used(self, extras: Bounds) -> set[str]:
        """Names of those of the extras that appear in a constraint."""
        expressions = [c.expression for c in self.about(extras)[1] if isinstance(c, Constraint)]
        symbols = {str(symbol) for symbol in ca.symvar(ca.vertcat(*expressions))} if expressions else set()
        return symbols & set(extras)


#: Options of IPOPT for well-scaled regressions: no scaling inside MUMPS, and an early hand-over to the polishing call.
QUICK = MappingProxyType(
    {
        "mu_strategy": "adaptive",
        "tol": 1e-3,
        "mu_target": 1e-5,
        "fast_step_computation": "yes",
        "perturb_dec_fact": 0.1,
        "mumps_permuting_scaling": 0,
        "mumps_scaling": 0,
    }
)
#: Newton steps of the entropic prior, and the relative decrease at which they stop.
PRIOR_STEPS, PRIOR_TOLERANCE = 30, 1e-11


def extra_bounds(model: Model, given: Bounds | None = None) -> dict[str, tuple[float, float]]:
    """Bounds of the terms' parameters: friction and rotor inertia not negative, the others free, then what is given.

    Raises
    ------
    ProblemError
        If ``given`` names a parameter that the model's terms do not have.
    """
    names = model.parameter_names
    bounds = {
        names[c]: (0.0 if model.term_columns[c][0].nonnegative else -np.inf, np.inf) for c in sorted(model.term_columns)
    }
    for name, pair in (given or {}).items():
        if name not in bounds:
            raise ProblemError(
                f"bounds: the model has no term parameter '{name}'; it has {', '.join(bounds) or 'none'}"
            )
        bounds[name] = (float(pair[0]), float(pair[1]))
    return bounds


def feasible_regression(
    fit: Fit,
    *,
    consistency: ConsistencyKind = "full",
    margin: float | None = None,
    constraints: ConstraintBuilder | None = sensible_bounds,
    bounds: Bounds | None = None,
    prior: Prior | None = None,
    options: SolveOptions | None = None,
) -> FeasibleFit:
    """Physically consistent parameters that fit the data best.

    Parameters
    ----------
    fit
        The unconstrained fit: its data and weights are used.
    consistency, margin
        ``full`` (``J >= margin 1``: with the triangle inequality) or ``semi`` (m > 0, I > 0 only; Sousa 2014, eq.
        3.18-3.21). The margin is by default 1e-6, less for tiny links, see `Problem`.
    constraints
        From the unknowns to constraints; default: the bounds of the robot description, and generous limits where
        it is silent (`sensible_bounds`). ``None``: consistency only.
    bounds
        Of terms' parameters, e.g. ``{"fo1": (-1, 1)}``; default see `extra_bounds`.
    prior
        Regularisation.
    options
        Of the solver.

    Raises
    ------
    ProblemError, SolveError
        As `casid.retrieval.solve`.
    """
    built = RegressionProblem(fit, consistency, margin, constraints, bounds, prior, options)
    return built.solve()


class RegressionProblem:
    """A feasible regression with its program built; `solve` is fast. Arguments: see `feasible_regression`.

    Attributes
    ----------
    problem : Problem
        The retrieval problem that is solved.
    """

    def __init__(
        self,
        fit: Fit,
        consistency: ConsistencyKind = "full",
        margin: float | None = None,
        constraints: ConstraintBuilder | Statement | None = sensible_bounds,
        bounds: Bounds | None = None,
        prior: Prior | None = None,
        options: SolveOptions | None = None,
    ) -> None:
        began = perf_counter()
        self._fit, self._prior = fit, prior
        self._options = options or SolveOptions(initial_gradient=100.0, nlpsol={"ipopt": QUICK})
        model = fit.data.model
        statement = constraints if isinstance(constraints, Statement) else Statement(model.robot, constraints)
        R, rho, rest = quadratic(fit)
        self._order = np.concatenate([np.ravel(model.link_columns), sorted(model.term_columns)]).astype(int)
        self._matrix, self._target, self._rest = R @ fit.data.base.K[:, self._order], rho, rest
        names = [model.parameter_names[c] for c in self._order]
        every = extra_bounds(model, bounds)
        free, idle = self._left_out(names, every, statement.names_used(every))
        self._extras = {name: pair for name, pair in every.items() if name not in free | idle}
        self._free = np.array([k for k, name in enumerate(names) if name in free], dtype=int)
        self._idle = {k: min(max(0.0, every[name][0]), every[name][1]) for k, name in enumerate(names) if name in idle}
        self._kept = np.array([k for k, name in enumerate(names) if name not in free | idle], dtype=int)
        self._complement = complement(self._matrix[:, self._free])
        variables, stated = statement.about(self._extras)
        title = f"{model.robot.name} identification"
        self.problem = Problem(title, variables, self._objective(None), stated, consistency, margin)
        self._nominal = None if prior is None else self._about(prior)
        self._prepared = PreparedProblem(self.problem, self._nominal, self._options)
        self.build_time = perf_counter() - began

    def _left_out(self, names: list[str], every: Bounds, used: set[str]) -> tuple[set[str], set[str]]:
        """Joint terms' parameters that are eliminated (no bound, no constraint), and those without effect."""
        lengths = dict(zip(names, np.linalg.norm(self._matrix, axis=0), strict=True))
        least = ROUNDING * max(lengths.values())
        idle = {name for name in every if lengths[name] <= least and name not in used}
        free = {name for name, (low, high) in every.items() if np.isneginf(low) and np.isposinf(high)}
        return free - used - idle, idle

    @property
    def linear(self) -> LinearRows:
        """Its linear rows."""
        return self._prepared.linear

    def _about(self, prior: Prior) -> Array:
        """The prior's bodies, which scale the solver's unknowns, and small extras."""
        extras = [min(max(1e-2, low), high) for low, high in self._extras.values()]
        return np.concatenate([_thickened(prior.parameters, [one.margin for one in self.problem.cones]), extras])

    def _objective(self, around: Array | None) -> LeastSquares:
        """Data and prior as one sum of squares; the entropic prior expanded around a point."""
        Q = self._complement
        matrix, target = Q.T @ self._matrix[:, self._kept], Q.T @ self._target
        if self._prior is not None:
            A, b = self._prior.rows(around)
            rows = np.zeros((len(b), matrix.shape[1]))
            rows[:, : A.shape[1]] = A
            matrix, target = np.vstack([matrix, rows]), np.concatenate([target, b])
        made = LeastSquares.compressed(matrix, target)
        return LeastSquares(made.matrix, made.target, made.constant + self._rest)

    def solve(self, throw: bool = True) -> FeasibleFit:
        """The consistent fit, from the nominal bodies; with ``throw=False`` a failure is the status of its solution."""
        solution = self._prepared.solve(throw=throw)
        if self._prior is not None and not self._prior.quadratic and solution.usable:
            solution = self._newton(solution, throw)
        if self._prior is None:
            solution = polished(solution)
        return self._fitted(solution, solution.x)

    def choose(
        self,
        result: FeasibleFit,
        bodies: PlausibleBodies | None = None,
        share: float | None = None,
        near: FeasibleFit | None = None,
        rotors: Mapping[str, float] | None = None,
    ) -> FeasibleFit:
        """The most plausible of all sets that explain the data as well (`believable`), as a fit.

        Parameters
        ----------
        result
            Of `solve`.
        bodies
            Default: those that the robot's file suggests (`suggested_bodies`).
        share
            How much the residual's norm may grow; default: what noise explains, at most 0.5 % (`noise_share`).
        near
            The choice of a similar fit: where the search begins.
        rotors
            Rotor inertias that are expected, by the parameters' names [kg.m^2].

        Raises
        ------
        ProblemError, SolveError
            As `believable`.
        """
        samples = int(self._fit.data.independent_samples.sum())
        part = noise_share(samples, self._fit.rank) if share is None else share
        start = None if near is None else near.values[self._order][self._kept]
        chosen = bodies or suggested_bodies(self.problem.variables.robot)
        choice = believable(self.problem, result.solution, chosen, share=part, near=start, rotors=rotors)
        return replace(self._fitted(result.solution, choice.x), believable=choice)

    def path(
        self,
        result: FeasibleFit,
        shares: Sequence[float],
        bodies: PlausibleBodies,
        rotors: Mapping[str, float] | None = None,
        rough: bool = False,
    ) -> tuple[FeasibleFit, ...]:
        """The most plausible sets for several shares, the largest share first (`believable_path`).

        Parameters
        ----------
        result
            Of `solve`.
        shares
            How much the residual's norm may grow.
        bodies, rotors
            As of `choose`.
        rough
            Meet the shares within 2 % of themselves: faster.

        Raises
        ------
        ProblemError, SolveError
            As `believable`.
        """
        choices = believable_path(self.problem, result.solution, shares, bodies, rotors, rough=rough)
        return tuple(replace(self._fitted(result.solution, c.x), believable=c) for c in choices)

    @property
    def columns(self) -> Array:
        """Places of the problem's unknowns among the model's parameters."""
        return np.asarray(self._order[self._kept])

    def values(self, kept: Array) -> Array:
        """All parameters in the model's order, of the problem's unknowns: eliminated scalars put back."""
        values = np.zeros(len(self._order))
        values[self._order] = self._whole(kept)
        values.setflags(write=False)
        return values

    def _whole(self, kept: Array) -> Array:
        """All parameters, links first."""
        x = np.zeros(len(self._order))
        x[self._kept] = kept
        for k, value in self._idle.items():
            x[k] = value
        if len(self._free):
            left = self._target - self._matrix[:, self._kept] @ kept
            x[self._free] = np.linalg.lstsq(self._matrix[:, self._free], left, rcond=1e-10)[0]
        return x

    def _fitted(self, solution: Solution, kept: Array) -> FeasibleFit:
        """The fit of the problem's unknowns."""
        x, values = self._whole(kept), self.values(kept)
        objective = float(np.sum((self._matrix @ x - self._target) ** 2)) + self._rest
        distance = 0.0 if self._prior is None else self._prior.distance(kept[: standard_size(self._fit.data.n)])
        active = active_bounds(self.problem, self.linear, kept)
        return FeasibleFit(self._fit, solution, values, objective, distance, active=active)

    def _newton(self, solution: Solution, throw: bool) -> Solution:
        """Entropic prior: second-order models minimised in turn, with a line search on the true objective."""
        assert self._prior is not None
        count = standard_size(self._fit.data.n)
        x = solution.x
        value = self._true_objective(x)
        for _ in range(PRIOR_STEPS):
            problem = replace(self.problem, objective=self._objective(x[:count]))
            found = PreparedProblem(problem, self._nominal, self._options).solve(start=x, throw=throw)
            step = 1.0
            while (new := self._true_objective(x + step * (found.x - x))) > value and step > ALIKE:
                step /= 2.0
            decrease = value - new
            if decrease > 0:
                x, value = x + step * (found.x - x), new
            solution = found
            if decrease <= PRIOR_TOLERANCE * abs(value):
                break
        return solution

    def _true_objective(self, x: Array) -> float:
        assert self._prior is not None
        Q = self._complement
        residual = Q.T @ (self._matrix[:, self._kept] @ x - self._target)
        return (
            float(residual @ residual)
            + self._rest
            + self._prior.weight * self._prior.distance(x[: standard_size(self._fit.data.n)])
        )


def _thickened(parameters: Array, margins: list[float]) -> Array:
    """Bodies with ten times the margin: those below it are thickened alike in every direction."""
    tens = np.array(parameters, dtype=float).reshape(-1, 10)
    for ten, margin in zip(tens, margins, strict=True):
        missing = 10.0 * margin - float(np.linalg.eigvalsh(pseudo_inertia(ten))[0])
        if missing > 0:
            ten += from_pseudo_inertia(missing * np.eye(4))
    return tens.ravel()


def complement(matrix: Array) -> Array:
    """Orthonormal basis of what the columns of a matrix cannot reach."""
    from scipy.linalg import null_space  # slow to import

    return np.asarray(null_space(matrix.T, rcond=1e-10)) if matrix.shape[1] else np.eye(matrix.shape[0])
