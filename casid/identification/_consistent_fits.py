"""Consistent fits of one robot, and the share of the residual that the choice of plausible links may cost.

The residual of a real robot is model error, not noise, so that no quantile of a noise distribution bounds how far the
choice of plausible links may go. Each of several shares is therefore tried on parts of the motion that a fit did not
see. Of the shares than whose held-out error the best one's is not surely less (`casid.evidence.compared`, on the
squares of the stretches of the motion), and is less by at most 5 % (`casid.evidence.NOTICEABLE`), the largest is taken:
its links are the most plausible. The error is the root mean square over joints of each joint's own, over its least at
any share: torques of a shoulder do not outvote those of a wrist. A difference of less than half a percent never counts.

An estimator that does not minimise squared torques (maximum likelihood, instruments) is not judged by them alone: what
its estimate's own metric and covariance exclude with 95 % is not tried (`own_share`). Samples count in the choice as
they count in the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from casid.arrays import Array
from casid.description import Robot
from casid.errors import SolveError
from casid.evidence import NOTICEABLE, compared
from casid.identification._accuracy import Part
from casid.identification._bounds import (
    default_bounds,
    expected_rotors,
    expected_terms,
    largest_torques,
    split_bounds,
    suggested_bodies,
    term_bounds,
    weighed_bodies,
    with_link_bounds,
)
from casid.identification._regression import Bounds, FeasibleFit, RegressionProblem, Statement
from casid.measurement import Dataset
from casid.regression import Fit
from casid.retrieval import ConstraintBuilder, LeastSquares, Prior, chi_square
from casid.retrieval.constraints import ConsistencyKind
from casid.retrieval.plausible import DivergenceProgram, PlausibleBodies, check_share

#: Shares that are tried; those that are tried too where the largest, or the smallest, of these is the choice; and the
#: one that is taken where nothing can be held out.
SHARES, NOT_HELD_OUT = (0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02), 0.05
LARGER, SMALLER = (1.0, 0.7, 0.45), (0.01, 0.005, 0.002, 0.001, 5e-4, 2e-4, 1e-4)
#: Held-out errors over those of the best share that count as the best, however sure the difference. Of 24 simulated
#: robots whose description is right within 10 %: links' masses miss by 20 % (rms) with it, by 31 % without.
NEGLIGIBLE = 1.005


@dataclass(frozen=True)
class Constraints:
    """What the consistent fit obeys.

    Attributes
    ----------
    build : callable, "default" or None
        From the unknowns to constraints. ``"default"``: the bounds of the description, and where it gives none, bounds
        that scale with the robot's size and torques (`default_bounds`). ``None``: physical consistency only.
    bounds : mapping of str to (float, float)
        Of single parameters, e.g. ``{"fo1": (-1, 1), "m7": (0, 3)}``.
    consistency : {"full", "semi"}
    margin : float, optional
        Of physical consistency; default: see `feasible_regression`.
    prior : Prior, optional
        Regularisation towards given bodies.
    """

    build: ConstraintBuilder | Literal["default"] | None = "default"
    bounds: Bounds = field(default_factory=dict)
    consistency: ConsistencyKind = "full"
    margin: float | None = None
    prior: Prior | None = None


@dataclass(frozen=True)
class Choice:
    """The choice among all parameter sets that explain the data as well as the best.

    Attributes
    ----------
    believable : bool
        Take the most plausible set (`casid.identification.believable`); without effect with a prior, or with less than
        full consistency.
    bodies : PlausibleBodies, optional
        Default: `plausible_bodies` of the robot.
    share : float, optional
        Relative increase of the residual's norm that is allowed; default: chosen by held-out error
        (`casid.identification._consistent_fits`).

    Raises
    ------
    ProblemError
        If the share is not positive and finite.
    """

    believable: bool = True
    bodies: PlausibleBodies | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        if self.share is not None:
            check_share(self.share)


@dataclass(frozen=True, eq=False)
class Priced:
    """A feasible regression whose most plausible parameters are found at one price of the residual."""

    problem: RegressionProblem
    program: DivergenceProgram
    price: float

    def found(self, squares: LeastSquares, left_out: Sequence[str], near: Array | None) -> Array:
        """The problem's unknowns for other squares, without rows that are no linear inequalities; or SolveError."""
        made = self.program.priced(self.price, near, left_out, squares)
        if made is None:
            raise SolveError("no plausible parameters at this price", None)
        return made


@dataclass(frozen=True, eq=False)
class ConsistentFits:
    """Consistent fits of one robot with the same constraints and the same choice.

    Attributes
    ----------
    robot, datasets, constraints, choice
    share : float
        Of the residual's norm that plausibility may cost.
    springs : tuple of (str, float)
        Joints with springs, and the largest torque of each without it [N.m].
    """

    robot: Robot
    datasets: tuple[Dataset, ...]
    constraints: Constraints
    choice: Choice
    share: float = NOT_HELD_OUT
    springs: tuple[tuple[str, float], ...] = ()

    @cached_property
    def largest(self) -> tuple[Array, Array]:
        """Largest torque and speed of each joint, shapes (n,)."""
        return largest_torques(self.datasets)

    @cached_property
    def _held(self) -> Array:
        """Largest torque of each joint, of those with springs what the links make [N.m]."""
        names, torques = [joint.name for joint in self.robot.coordinates], np.array(self.largest[0])
        for joint, held in self.springs:
            torques[names.index(joint)] = held
        return torques

    @cached_property
    def _statement(self) -> Statement:
        build = self.constraints.build
        made = default_bounds(self.robot, self._held) if build == "default" else build
        return Statement(self.robot, with_link_bounds(made, split_bounds(self.constraints.bounds)[0]))

    @cached_property
    def template(self) -> PlausibleBodies:
        """Plausible bodies before the torques say what they weigh."""
        return self.choice.bodies or suggested_bodies(self.robot)

    def _bodies(self, estimate: Fit) -> PlausibleBodies:
        """Plausible bodies with masses that follow the torques of an estimate's data."""
        return weighed_bodies(self.template, estimate, self._held)

    @property
    def choosing(self) -> bool:
        """Whether plausible links are chosen."""
        given = self.constraints
        return self.choice.believable and given.prior is None and given.consistency == "full"

    def _problem(self, estimate: Fit, bounds: Bounds | None = None) -> RegressionProblem:
        given, known = self.constraints, estimate.data.model.parameter_names
        own = {name: ends for name, ends in split_bounds(given.bounds)[1].items() if name in known}
        limits = {**term_bounds(estimate, *self.largest), **(bounds or {}), **own}
        return RegressionProblem(estimate, given.consistency, given.margin, self._statement, limits, given.prior)

    def best(self, estimate: Fit, bounds: Bounds) -> FeasibleFit:
        """The best consistent fit with these bounds of joint terms, before any choice.

        Raises
        ------
        SolveError
            If there is none.
        """
        return self._problem(estimate, bounds).solve()

    def path(self, estimate: Fit, shares: Sequence[float]) -> dict[float, FeasibleFit]:
        """The most plausible sets for each of several shares."""
        problem = self._problem(estimate)
        expected = expected_terms(estimate, self.largest[0])
        found = problem.path(problem.solve(), shares, self._bodies(estimate), expected, rough=True)
        return dict(zip(sorted(shares, reverse=True), found, strict=False))

    def priced(self, estimate: Fit, bounds: Bounds, price: float, offsets: bool = True) -> Priced:
        """The feasible regression with these bounds of joint terms, at a price of the residual.

        Parameters
        ----------
        estimate
        bounds
        price
        offsets
            Whether offsets of friction that data leave open have their expected size.
        """
        problem, bodies, largest = self._problem(estimate, bounds), self._bodies(estimate), self.largest[0]
        expected = expected_terms(estimate, largest) if offsets else expected_rotors(estimate.data.model, largest)
        program = DivergenceProgram(problem.problem, bodies.parameters, bodies.scaled, expected)
        return Priced(problem, program, price)

    def fitted(self, estimate: Fit, near: FeasibleFit | None = None) -> tuple[FeasibleFit, str]:
        """The consistent fit of an unconstrained one, and a note where no plausible links were found.

        Parameters
        ----------
        estimate
        near
            Fit of similar data, from which the search for plausible links begins.
        """
        problem = self._problem(estimate)
        best = problem.solve()
        if not self.choosing:
            return best, ""
        expected = expected_terms(estimate, self.largest[0])
        try:
            return problem.choose(best, self._bodies(estimate), self.share, near, expected), ""
        except SolveError as error:
            return best, f"no more plausible links were found, these are those of the best fit: {error}"


@dataclass(frozen=True)
class ShareStep:
    """One share.

    Attributes
    ----------
    share : float
        Relative increase of the residual's norm.
    error : float
        Held-out error, over all joints [%].
    ratio : float
        Of the joints' held-out errors over the least of each at any share, the root mean square.
    deviation : float
        Standard error of the ratio's difference to the least one, over the stretches of the motion.
    mass : float
        Of all links, fitted to the whole motion [kg]; NaN where it is not known.
    """

    share: float
    error: float
    ratio: float
    deviation: float
    mass: float = float("nan")


@dataclass(frozen=True, eq=False)
class SharePath:
    """The shares that were tried, and the choice.

    Attributes
    ----------
    steps : tuple of ShareStep
        The largest share first; none where nothing was held out.
    share : float
        The choice.
    folds : tuple of dict
        Base parameters of every part of the motion, by the share.
    price : float
        Of the residual at the choice (`MostPlausible.price`), fitted to the whole motion; 0 where it is not known.
    failure : str
        Why parts of the motion could not be held out, in words.
    """

    steps: tuple[ShareStep, ...]
    share: float
    folds: tuple[dict[float, Array], ...] = ()
    price: float = 0.0
    failure: str = ""

    @property
    def best(self) -> ShareStep | None:
        """The step of least held-out errors."""
        return min(self.steps, key=lambda step: step.ratio, default=None)

    @property
    def reason(self) -> str:
        """What the share rests on, in words."""
        best = self.best
        if best is None:
            return f"share {100 * self.share:.3g} %: {self.failure or 'nothing was held out to choose it by'}"
        own = next(step for step in self.steps if step.share == self.share)
        end = ", the largest of them: the data would allow more" if self.ends else ""
        if min(step.share for step in self.steps) > min(SHARES):
            end += "; at smaller shares no answer was found in every part"
        return (
            f"share {100 * self.share:.3g} % of {len(self.steps)} tried: over the least of each joint, held-out errors "
            f"are {own.ratio:.3f} x (root mean square), at best {best.ratio:.3f} x at {100 * best.share:.3g} %, a "
            f"difference of {own.ratio - best.ratio:.3f} +- {own.deviation:.3f}; of all joints {own.error:.3g} and "
            f"{best.error:.3g} %{end}"
        )

    @property
    def ends(self) -> bool:
        """Whether the choice is the largest share that was tried, so that a larger one might do as well."""
        return bool(self.steps) and self.share == max(step.share for step in self.steps)

    def with_whole(self, fit: Fit, fits: ConsistentFits) -> SharePath:
        """The same path with the total mass of each step, and the price of the choice, fitted to the whole motion."""
        if not self.steps:
            return self
        whole = fits.path(fit, [step.share for step in self.steps])
        masses = {share: float(found.standard_parameters[9::10].sum()) for share, found in whole.items()}
        steps = tuple(replace(step, mass=masses.get(step.share, float("nan"))) for step in self.steps)
        taken = whole.get(self.share)
        price = 0.0 if taken is None or taken.believable is None else taken.believable.choice.price
        return replace(self, steps=steps, price=price)

    def record(self) -> dict[str, object]:
        """Plain numbers."""
        return {
            "share": self.share,
            "reason": self.reason,
            "steps": [
                {
                    "share": s.share,
                    "held_out": s.error,
                    "by_joint": s.ratio,
                    "standard_error": s.deviation,
                    "total_mass": s.mass if np.isfinite(s.mass) else None,
                }
                for s in self.steps
            ],
        }


def fixed(share: float | None, failure: str = "") -> SharePath:
    """A share that is given; ``None``: nothing can be held out, because of a failure or of a motion of one part."""
    return SharePath((), NOT_HELD_OUT if share is None else share, failure=failure)


def chosen_share(
    parts: Sequence[Part], estimates: Sequence[Fit], fits: ConsistentFits, most: float = np.inf
) -> SharePath:
    """Choose the share by the error on parts of the motion that are left out in turn.

    Parameters
    ----------
    parts
    estimates
        Unconstrained fit of each part's `Part.training`.
    fits
        How they are made consistent.
    most
        The largest share that is tried.
    """
    shares, larger, smaller = ([s for s in tried if s < most] for tried in (SHARES, LARGER, SMALLER))
    if most <= max(LARGER):
        (shares if most <= max(SHARES) else larger).insert(0, most)
    if len(parts) < 2 or len(estimates) != len(parts):
        return fixed(None)
    try:
        made = [_betas(fits, fit, shares) for fit in estimates]
        chosen = _chosen(parts, made)
        further = larger if chosen.ends else smaller if chosen.share == min(shares) else ()
        if further:
            made = [_betas(fits, fit, further) | betas for fit, betas in zip(estimates, made, strict=True)]
            chosen = _chosen(parts, made)
    except SolveError as error:
        return fixed(None, f"no choice among shares, a part of the motion has no consistent fit: {error}")
    return chosen


def _betas(fits: ConsistentFits, fit: Fit, shares: Sequence[float]) -> dict[float, Array]:
    """Base parameters of the most plausible sets for each share."""
    return {share: found.beta for share, found in fits.path(fit, shares).items()}


def own_share(fit: Fit) -> float:
    """The largest share that an estimate's own statistics allow; infinite where it minimises the data's squares.

    The metric of an indirect estimate (`casid.regression._fit.quadratic`) is its covariance in units of one of the
    ``nu`` independent samples' squares; the scores of batches, of which it is made, hold what is no noise too. The true
    parameters lie within ``chi^2`` of its rank with 95 %: ``(1 + s)^2 = 1 + chi^2 / nu``.
    """
    if not fit.indirect:
        return float("inf")
    counted = np.asarray(fit.weights) > 0
    freedom = max(float(fit.data.independent_samples[counted].sum()) - fit.rank, 1.0)
    return float(np.sqrt(1.0 + chi_square(fit.rank, 0.05) / freedom)) - 1.0


def _chosen(parts: Sequence[Part], made: Sequence[dict[float, Array]]) -> SharePath:
    """The choice among the shares that every part has."""
    everywhere = sorted(set.intersection(*(set(betas) for betas in made)), reverse=True)
    stretches = [(part.data.only([i]), betas) for part, betas in zip(parts, made, strict=True) for i in part.apart]
    torques = sum(float(held.squared_torques.sum()) for held, _ in stretches)
    if not everywhere or torques <= 0:
        return fixed(None, f"no choice among shares, {'no torque was held out' if everywhere else 'parts share none'}")
    each = np.array([[held.squared_errors(betas[s]) for s in everywhere] for held, betas in stretches])
    totals = each.sum(axis=0)  # by share and joint
    squares = (each / np.maximum(totals.min(axis=0), np.finfo(float).eps * torques / each.shape[2])).mean(axis=2)
    ratios = np.maximum(np.sqrt(squares.sum(axis=0)), 1e-150)
    least = int(np.argmin(ratios))
    against = [compared(squares[:, k], squares[:, least]) for k in range(len(everywhere))]
    near = (ratios <= NOTICEABLE * ratios[least]) & ~np.array([each.better for each in against])
    near |= ratios <= NEGLIGIBLE * ratios[least]
    deviations = len(squares) * np.array([each.error for each in against]) / ratios / 2.0
    errors = 100.0 * np.sqrt(totals.sum(axis=1) / torques)
    steps = tuple(ShareStep(*map(float, one)) for one in zip(everywhere, errors, ratios, deviations, strict=True))
    return SharePath(steps, max(step.share for step, taken in zip(steps, near, strict=True) if taken), tuple(made))
