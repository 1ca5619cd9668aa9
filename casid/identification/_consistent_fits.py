"""Consistent fits of one robot with the same constraints and the same choice of plausible links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from casid.description import Robot
from casid.errors import CasidError
from casid.identification._bounds import (
    default_bounds,
    expected_rotors,
    largest_torques,
    split_bounds,
    term_bounds,
    weighed_bodies,
    with_link_bounds,
)
from casid.identification._feasible_fit import FeasibleFit
from casid.identification._options import Choice, Constraints
from casid.identification._regression import Bounds, RegressionProblem, Statement
from casid.identification._shaped_bodies import suggested_bodies
from casid.identification._share import NOT_HELD_OUT
from casid.identification._springs import FoundSpring, Priced
from casid.measurement import Dataset
from casid.regression import Fit
from casid.retrieval.plausible import DivergenceProgram, PlausibleBodies


@dataclass(frozen=True, eq=False)
class ConsistentFits:
    """Consistent fits of one robot with the same constraints and the same choice."""

    robot: Robot
    datasets: tuple[Dataset, ...]
    constraints: Constraints
    choice: Choice
    share: float = NOT_HELD_OUT
    springs: tuple[FoundSpring, ...] = ()

    @cached_property
    def _largest(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return largest_torques(self.datasets)

    @cached_property
    def _held(self) -> NDArray[np.float64]:
        """Largest torque of each joint, of those with springs what the links make [N.m]."""
        names, torques = [joint.name for joint in self.robot.coordinates], np.array(self._largest[0])
        for spring in self.springs:
            torques[names.index(spring.joint)] = spring.held
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
        given = self.constraints
        limits = {**term_bounds(estimate, *self._largest), **(bounds or {}), **split_bounds(given.bounds)[1]}
        return RegressionProblem(estimate, given.consistency, given.margin, self._statement, limits, given.prior)

    @property
    def largest_torques(self) -> NDArray[np.float64]:
        """Largest measured torque of each joint [N.m], shape (n,)."""
        return self._largest[0]

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
        rotors = expected_rotors(estimate.data.model, self._largest[0])
        found = problem.path(problem.solve(), shares, self._bodies(estimate), rotors, rough=True)
        return dict(zip(sorted(shares, reverse=True), found, strict=False))

    def priced(self, estimate: Fit, bounds: Bounds, price: float) -> Priced:
        """The feasible regression with these bounds of joint terms, at a price of the residual."""
        problem = self._problem(estimate, bounds)
        rotors = expected_rotors(estimate.data.model, self._largest[0])
        bodies = self._bodies(estimate)
        program = DivergenceProgram(problem.problem, bodies.parameters, bodies.scaled, rotors)
        return Priced(problem, program, price)

    def fitted(
        self, estimate: Fit, near: FeasibleFit | None = None, between: Callable[[], None] = lambda: None
    ) -> tuple[FeasibleFit, str]:
        """The consistent fit of an unconstrained one, and a note where no plausible links were found.

        Parameters
        ----------
        estimate
        near
            Fit of similar data, from which the search for plausible links begins.
        between
            Called when the best fit is known, before plausible links are searched.
        """
        problem = self._problem(estimate)
        best = problem.solve()
        between()
        if not self.choosing:
            return best, ""
        rotors = expected_rotors(estimate.data.model, self._largest[0])
        try:
            return problem.choose(best, self._bodies(estimate), self.share, near, rotors), ""
        except CasidError as error:
            return best, f"no more plausible links were found, these are those of the best fit: {error}"
