"""Feasible links from a controller's M(q) and g(q), and friction of known links (Gaz et al. 2019)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.description import Robot
from casid.dynamics import Model
from casid.dynamics.terms import Friction, FrictionLaw, JointFriction
from casid.errors import DatasetError, SolveError
from casid.evidence import CONFIDENCE, compared
from casid.files import open_end
from casid.identification._accuracy import Prediction, predict
from casid.identification._bounds import suggested_bodies
from casid.identification._identification import model_record, processing_record
from casid.identification.diagnosis._findings import Finding
from casid.inertia import Parameters
from casid.measurement import Dataset, Processing, check_angles, prepare
from casid.regression import Estimate, Numbers, one_thread, reverse_engineer_with_torques
from casid.regression.friction import fit_friction
from casid.retrieval import (
    Coefficients,
    ConstraintBuilder,
    LeastSquares,
    ParameterResult,
    Problem,
    Solution,
    chi_square,
    link_variables,
)
from casid.retrieval.constraints import sensible_bounds
from casid.retrieval.methods import solve
from casid.retrieval.plausible import FEASIBLE, Believable, PlausibleBodies, believable_path, polished


@dataclass(frozen=True, eq=False)
class Refitted(ParameterResult):
    """Links with fitted friction.

    Attributes
    ----------
    model : Model
        The friction is among its joint terms.
    values : ndarray, shape (N,)
        All parameters, in the order of ``model.parameter_names``; by name: `parameters`.
    friction : Friction
        Law and shape of every joint.
    """

    model: Model
    values: Array
    friction: Friction

    @cached_property
    def parameters(self) -> Parameters:
        """All parameters by name."""
        return self.model.named(self.values)


def refit_friction(
    model: Model, parameters: Parameters | ArrayLike, dataset: Dataset, friction: str | FrictionLaw = "sigmoid"
) -> Refitted:
    """The links of a model with friction fitted to a recording (Gaz et al. 2019, Sec. IV-B).

    The joint terms of the model are left out; the residual torque of each joint, over its velocity, is fitted by the
    law alone, so that the links stay what they are.

    Parameters
    ----------
    model
        Any joint terms in it are replaced.
    parameters
        Of the model: by name, or shape (N,).
    dataset
        Processed: with velocities and accelerations.
    friction
        A law of the velocity alone.

    Raises
    ------
    DatasetError
        If the recording does not fit the model, or a joint does not move.
    """
    pi = model.parameters(parameters)
    links = model.like(terms=())
    found = predict(links, pi[np.ravel(model.link_columns)], dataset)
    if dataset.dq is None:
        raise DatasetError(f"{dataset.name}: a processed recording is needed to fit friction")
    joints, values = [], dict(zip(links.parameter_names, pi[np.ravel(model.link_columns)], strict=True))
    for k in range(model.n):
        kept = dataset.counted[:, k]
        fit = fit_friction(dataset.dq[kept, k], found.residual[kept, k], friction)
        joints.append(JointFriction(fit.model, tuple(fit.shape.tolist())))
        for amplitude, value in zip(fit.model.amplitudes, fit.amplitudes.tolist(), strict=True):
            values[f"{amplitude.symbol}{k + 1}"] = value
    laws = Friction(tuple(joints))
    made = links.with_friction(laws)
    return Refitted(made, np.array([values[name] for name in made.parameter_names]), laws)


@dataclass(frozen=True, eq=False)
class ReverseEngineering(ParameterResult):
    """Coefficients, feasible links and friction from the numbers of a controller's model.

    Attributes
    ----------
    estimate : Estimate
        Base parameters with their covariance: pi_RE.
    solution : Solution
        Feasible links nearest to them in the metric of the covariance.
    choice : Believable or None
        The most plausible links of all within one standard deviation of these; None with findings.
    findings : tuple of Finding
        What contradicts the numbers; none: nothing.
    model : Model
        Links, and friction where a recording was given.
    values : ndarray, shape (N,)
        All parameters, in the order of ``model.parameter_names``; by name: `parameters`.
    friction : Friction or None
        Shapes of every joint's friction.
    validation : Prediction or None
        Torques of the recording by Newton-Euler, friction included.
    unfitted : Prediction or None
        The same without friction.
    processing : Processing, bool or None
        Of the recording.
    """

    estimate: Estimate
    solution: Solution
    choice: Believable | None
    findings: tuple[Finding, ...]
    model: Model
    values: Array
    friction: Friction | None = None
    validation: Prediction | None = None
    unfitted: Prediction | None = None
    processing: Processing | bool | None = None

    @cached_property
    def parameters(self) -> Parameters:
        """All parameters by name."""
        return self.model.named(self.values)

    @property
    def certified(self) -> bool:
        """Nothing contradicts the numbers, the best fit is proven, and the links obey every constraint."""
        obeyed = self.choice is None or self.choice.max_violation <= FEASIBLE
        return self.solution.certified and obeyed and not self.findings

    def record(self) -> dict[str, Any]:
        """Plain numbers and text; `casid.identification.load_model` reads the model back."""
        return {
            **model_record(self.model),
            "parameters": self.parameters.to_dict(),
            "processing": processing_record(self.processing),
            "certified": self.certified,
            "findings": [finding.record() for finding in self.findings],
            "coefficients": {
                name: {"value": float(value), "sd_percent": open_end(sd)}
                for name, value, sd in zip(
                    self.estimate.base.expressions, self.estimate.values, self.estimate.relative_sd, strict=True
                )
            },
            "condition_number": self.estimate.condition_number,
            "relative_error": self.estimate.relative_error,
            "objective": self.solution.objective,
            "lower_bound": self.solution.lower_bound,
            "validation_relative_error": None if self.validation is None else self.validation.relative_error,
        }


@one_thread()  # its matrices are small
def reverse_engineered(
    robot: Robot,
    q: ArrayLike,
    mass_matrices: ArrayLike | None,
    gravity_torques: ArrayLike,
    recording: Dataset | None = None,
    *,
    gravity: ArrayLike | None = None,
    friction: str = "sigmoid",
    constraints: ConstraintBuilder | None = sensible_bounds,
    processing: Processing | bool | None = None,
) -> ReverseEngineering:
    """From a controller's mass matrices and gravity torques to a robot's feasible links, and its friction.

    The coefficients follow by least squares in which every entry of M and g counts by its own error
    (`casid.regression._reverse_engineering.Numbers.weighted`). None is left out: with their covariance C the feasible
    links x minimise ``|| C^-1/2 (K x - beta) ||^2``, so that uncertain ones count little. Of all links within one of
    that minimum, which moves no quantity by more than one standard deviation, the most plausible are taken.

    Parameters
    ----------
    robot
        Kinematics and bounds.
    q, mass_matrices, gravity_torques
        See `casid.regression.reverse_engineer`.
    recording
        Raw positions and torques; without it there is no friction and no validation. Without mass matrices its torques
        determine what gravity does not (`reverse_engineer_with_torques`); the validation is then on
        the torques of the identification itself.
    gravity
        Default: the robot's.
    friction
        Law fitted to what the coefficients leave of the recording's torques.
    constraints
        Of the retrieval; default: the robot's bounds.

    Raises
    ------
    DatasetError, SolveError
        If the numbers cannot be used, or no feasible links exist.
    """
    model = Model(robot, (), gravity)
    given = Numbers.checked(model, q, mass_matrices, gravity_torques)
    check_angles(given.q, robot, "q")
    data = None if recording is None else prepare(recording, processing)
    if given.M is None and data is not None:
        estimate = reverse_engineer_with_torques(model, given.q, given.g, data)
    else:
        estimate = given.weighted[0]
    problem, solution = _nearest_links(robot, estimate, constraints)
    bodies = suggested_bodies(robot)
    if given.M is not None:
        findings = _contradictions(given, solution, lambda other: _nearest_links(robot, other, constraints)[1])
    else:
        allowed = chi_square(estimate.rank, 1.0 - CONFIDENCE)
        findings = _opposite(given, bodies) or _of_no_links(_missed(solution, estimate), allowed)
    choice = None if findings else _most_plausible(problem, solution, _weighed(bodies, estimate))
    if choice is None and not findings:
        findings = (Finding("not the most plausible"),)
    links = (choice or solution).standard_parameters
    if data is None:
        return ReverseEngineering(estimate, solution, choice, findings, model, links)
    made = refit_friction(model, links, data, friction)
    validation, unfitted = predict(made.model, made.values, data), predict(model, links, data)
    return ReverseEngineering(
        estimate, solution, choice, findings, made.model, made.values, made.friction, validation, unfitted, processing
    )


def _nearest_links(robot: Robot, estimate: Estimate, constraints: ConstraintBuilder | None) -> tuple[Problem, Solution]:
    """The certified feasible links whose coefficients are nearest in the metric of their covariance."""
    variables = link_variables(robot)
    rows, targets = estimate.information
    problem = Problem(
        f"{robot.name} reverse engineering",
        variables,
        LeastSquares(rows @ estimate.base.K, targets, estimate.squares),
        () if constraints is None else constraints(variables),
        coefficients=Coefficients(estimate.base.K, estimate.values, estimate.sd, samples=estimate.samples),
    )
    return problem, polished(solve(problem))


def _most_plausible(problem: Problem, solution: Solution, bodies: PlausibleBodies) -> Believable | None:
    """The most plausible links within one standard deviation of the nearest ones; None: the search failed.

    The path to them leads through larger tolerances, in decades from the number of coefficients; where a step of it
    ends early, in half decades and in quarters.
    """
    best, decades = max(solution.total, 1e-12), int(np.ceil(np.log10(len(problem.objective.target))))
    for steps in (1, 2, 4):
        exponents = np.arange(steps * decades + 1) / steps
        try:
            return believable_path(problem, solution, list(np.sqrt(1.0 + 10.0**exponents / best) - 1.0), bodies)[-1]
        except SolveError:
            continue
    return None


def _weighed(bodies: PlausibleBodies, estimate: Estimate) -> PlausibleBodies:
    """Plausible bodies; those of unknown weight with the common factor that gives the coefficients best."""
    made = estimate.base.K @ bodies.parameters
    factor = float(made @ estimate.values / max(float(made @ made), 1e-300))
    if not bodies.scaled.all() or not factor > 0:
        return bodies
    return bodies.weighing(factor * float(bodies.parameters[9::10].sum()))


def _contradictions(given: Numbers, solution: Solution, nearest: Callable[[Estimate], Solution]) -> tuple[Finding, ...]:
    """What contradicts a controller's numbers, as one finding: another reading of them, or that no links have them.

    M and g are made of the same links: with g, a joint's direction or two joints' columns read wrongly they contradict
    each other. Each reading is fitted; the poses' likelihoods are compared (`casid.evidence.compared`), which is
    Vuong's test. Where no feasible links have the coefficients within their errors (chi-square), a reading that
    explains the numbers no worse and whose coefficients links have is named. The one confidence is shared out among all
    readings, of which the best one is taken (Bonferroni).
    """
    ordered = sorted(_readings(given), key=lambda reading: -float(reading[2].likelihood.sum()))
    missed = _missed(solution, given.weighted[0])
    allowed = chi_square(given.base.rank, (1.0 - CONFIDENCE) / len(ordered))
    for cause, where, other in ordered:
        better = compared(-given.likelihood, -other.likelihood, tried=len(ordered)).better
        worse = compared(-other.likelihood, -given.likelihood).better
        if not better and (worse or missed <= allowed):
            break
        if better or _missed(nearest(other.weighted[0]), other.weighted[0]) <= allowed:
            values: dict[str, float | str] = {"reading": other.unexplained, "recorded": given.unexplained}
            values["other"] = str(where.get("other", ""))
            return (Finding(cause, joint=where.get("joint", ""), values=values),)
    return _of_no_links(missed, allowed)


def _readings(given: Numbers) -> list[tuple[str, dict[str, str], Numbers]]:
    """Other readings of the numbers: cause of the finding, the joints it names, and the numbers as read."""
    names, joints = [joint.name for joint in given.model.robot.coordinates], range(given.model.n)
    readings: list[tuple[str, dict[str, str], Numbers]] = [
        ("reversed gravity", {}, replace(given, g=-given.g)),
        ("degrees", {}, replace(given, q=np.radians(given.q))),
    ]
    for k in joints:
        signs = np.where(np.arange(given.model.n) == k, -1.0, 1.0)
        readings.append(("reversed position", {"joint": names[k]}, replace(given, q=given.q * signs)))
        readings.append(("reversed gravity of a joint", {"joint": names[k]}, replace(given, g=given.g * signs)))
    for i, j in combinations(joints, 2):
        order = np.arange(given.model.n)
        order[[i, j]] = order[[j, i]]
        pair = {"joint": names[i], "other": names[j]}
        readings.append(("exchanged positions", pair, replace(given, q=given.q[:, order])))
        readings.append(("exchanged gravity", pair, replace(given, g=given.g[:, order])))
    return readings


def _missed(solution: Solution, estimate: Estimate) -> float:
    """Squared distance of feasible links from the coefficients, in the metric of their covariance."""
    return solution.objective - estimate.squares


def _of_no_links(missed: float, allowed: float) -> tuple[Finding, ...]:
    """A finding where no feasible links have the coefficients within their errors."""
    if missed <= allowed:
        return ()
    values = {"missed": float(np.sqrt(missed)), "allowed": float(np.sqrt(allowed))}
    return (Finding("coefficients of no links", values=values),)


def _opposite(given: Numbers, bodies: PlausibleBodies) -> tuple[Finding, ...]:
    """Gravity torques alone: whether they are surely nearer to those of plausible bodies with the other sign."""
    made = np.asarray(given.regressor @ bodies.parameters)
    made = made * np.linalg.norm(given.g) / max(float(np.linalg.norm(made)), 1e-300)
    here, turned = (np.sum((sign * given.g - made) ** 2, axis=1) for sign in (1.0, -1.0))
    if not compared(here, turned).better:
        return ()
    left = [100.0 * float(np.sqrt(squares.sum()) / np.linalg.norm(given.g)) for squares in (turned, here)]
    return (Finding("opposite gravity", values=dict(zip(("reading", "recorded"), left, strict=True))),)
