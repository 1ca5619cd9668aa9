"""The unknowns and constraints of a robot's consistent fits, stated once and used for one fit after another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import casadi as ca
import numpy as np

from casid.description import Robot
from casid.retrieval._load import ConstraintBuilder
from casid.retrieval._objectives import LeastSquares
from casid.retrieval._problem import Problem
from casid.retrieval._variables import LinkVariables, link_variables
from casid.retrieval.constraints._consistency import PhysicalConsistency
from casid.retrieval.constraints._constraint import Constraint

Bounds = Mapping[str, tuple[float, float]]
Stated = tuple[Constraint | PhysicalConsistency, ...]


class Statement:
    """What a builder says about a robot; asked again for the same unknowns it gives the same symbols and constraints.

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
            said = () if self._build is None else self._build(variables)
            stated = Problem(f"{self._robot.name} identification", variables, nothing, said)
            self._made[names] = variables, (*stated.constraints, *stated.link_consistency)
        variables, constraints = self._made[names]
        return replace(variables, extras=dict(extras)), constraints

    def names_used(self, extras: Bounds) -> set[str]:
        """Names of those of the extras that appear in a constraint."""
        expressions = [c.expression for c in self.about(extras)[1] if isinstance(c, Constraint)]
        symbols = {str(symbol) for symbol in ca.symvar(ca.vertcat(*expressions))} if expressions else set()
        return symbols & set(extras)
