"""Models whose parameters are given: as numbers, or as base parameters at run time."""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.description import Robot
from casid.dynamics.model import Model, Symbols
from casid.errors import DatasetError


class _Parametrised(Model):
    """A model with another parametrisation; its regressors remain those of the standard parameters."""

    def __init__(self, model: Model) -> None:
        gravity = "input" if model.gravity_vector is None else model.gravity_vector
        super().__init__(model.robot, model.terms, gravity, model.velocity_deadband)
        self._standard = model

    @cached_property
    def regressor(self) -> ca.Function:
        """``(q, dq, ddq) -> Y`` of the standard parameters."""
        return self._standard.regressor

    @cached_property
    def base_regressor(self) -> ca.Function:
        """``(q, dq, ddq) -> Y`` of the base parameters."""
        return self._standard.base_regressor

    @cached_property
    def static_regressor(self) -> ca.Function:
        """``(q) -> Y`` of the standard parameters."""
        return self._standard.static_regressor


class GivenParameters(_Parametrised):
    """The functions of a model with numbers for its parameters: no input ``pi``, zeros leave no trace.

    Parameters
    ----------
    model
        The model.
    parameters
        Its parameters ``pi``, shape (N,).
    offsets
        Added to the joint positions, shape (n,); default: none. Only with terms that do not depend on the position.
    nominal
        Robot whose nominal bodies load the joints' friction, where it is not the model's.

    Raises
    ------
    DatasetError
        If their number is not the model's, or one of them is not finite.
    """

    def __init__(
        self, model: Model, parameters: ArrayLike, offsets: ArrayLike | None = None, nominal: Robot | None = None
    ) -> None:
        super().__init__(model)
        values = np.array(parameters, dtype=float)
        names = model.parameter_names
        if values.shape != (len(names),):
            raise DatasetError(
                f"robot '{model.robot.name}' with its joint terms has {len(names)} parameters ({names[0]} ... "
                f"{names[-1]}), got shape {values.shape}"
            )
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise DatasetError(f"robot '{model.robot.name}': parameter '{names[bad[0]]}' is not a finite number")
        values.setflags(write=False)
        self.values = values
        self.offsets = np.zeros(model.n) if offsets is None else np.array(offsets, dtype=float)
        self.nominal = nominal

    def _symbols(self) -> Symbols:
        symbols = Symbols(self)
        symbols.use_parameters(ca.SX(ca.DM(self.values)))
        symbols.parameter_inputs = ()
        if self.offsets.any():
            symbols.offsets = ca.DM(self.offsets)
        symbols.nominal = self.nominal
        return symbols


class BaseParameterModel(_Parametrised):
    """The functions of a model with base parameters ``beta`` (rank) as input instead of ``pi``.

    The leading parameter of each base parameter takes its value, all others are exact zeros.
    """

    def _symbols(self) -> Symbols:
        base = self._standard.base
        symbols = BaseSymbols(self)
        symbols.beta = ca.SX.sym("beta", base.rank)
        pi = ca.SX(len(base.parameter_names), 1)
        for row, index in enumerate(base.independent):
            pi[index] = symbols.beta[row]
        symbols.use_parameters(ca.densify(pi))
        return symbols


class BaseSymbols(Symbols):
    """Symbols of a function of base parameters."""

    parameter_inputs = ("beta",)
    beta: ca.SX
