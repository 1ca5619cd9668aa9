"""What stands for the parameters in a model's functions: the vector ``pi``, numbers, or base parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.description import Robot
from casid.dynamics.base_parameters import BaseParameters
from casid.dynamics.structure import Structure


class Parametrisation(ABC):
    """Inputs of a model's functions that stand for its parameters, and ``pi`` as an expression of them.

    Attributes
    ----------
    offsets : ndarray, shape (n,), or None
        Added to the joint positions in the finished expressions.
    nominal : Robot or None
        Robot whose nominal bodies load the joints' friction, where it is not the model's.
    """

    offsets: np.ndarray | None = None
    nominal: Robot | None = None

    @abstractmethod
    def symbols(self, structure: Structure) -> tuple[Mapping[str, ca.SX], ca.SX]:
        """Fresh inputs by name, in order, and ``pi``, shape (N, 1), in terms of them."""


class StandardParameters(Parametrisation):
    """The parameters are an input ``pi`` (N)."""

    def symbols(self, structure: Structure) -> tuple[Mapping[str, ca.SX], ca.SX]:
        """One input."""
        pi = ca.SX.sym("pi", len(structure.parameter_names))
        return {"pi": pi}, pi


class Numbers(Parametrisation):
    """The parameters are given numbers: no input, zeros leave no trace.

    Parameters
    ----------
    values
        In the model's order, shape (N,).
    offsets
        Added to the joint positions, shape (n,); default: none. Only with terms that do not depend on the position.
    nominal
        Robot whose nominal bodies load the joints' friction, where it is not the model's.
    """

    def __init__(self, values: ArrayLike, offsets: ArrayLike | None = None, nominal: Robot | None = None) -> None:
        self.values = np.array(values, dtype=float)
        self.values.setflags(write=False)
        moved = None if offsets is None else np.array(offsets, dtype=float)
        self.offsets = moved if moved is not None and moved.any() else None
        self.nominal = nominal

    def symbols(self, structure: Structure) -> tuple[Mapping[str, ca.SX], ca.SX]:
        """No input."""
        return {}, ca.SX(ca.DM(self.values))


class BaseInput(Parametrisation):
    """The base parameters are an input ``beta`` (rank).

    The leading parameter of each base parameter takes its value, all others are exact zeros.
    """

    def __init__(self, base: BaseParameters) -> None:
        self.base = base

    def symbols(self, structure: Structure) -> tuple[Mapping[str, ca.SX], ca.SX]:
        """One input."""
        beta = ca.SX.sym("beta", self.base.rank)
        pi = ca.SX(len(structure.parameter_names), 1)
        for row, index in enumerate(self.base.independent):
            pi[index] = beta[row]
        return {"beta": beta}, ca.densify(pi)
