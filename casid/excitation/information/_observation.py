"""The observation matrix of a motion, at many samples at once, with sign functions smoothed for its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.dynamics import Model, random_rows, regroup
from casid.errors import DatasetError, ProblemError
from casid.expressions import Rules, Walk, as_function, rebuild
from casid.files import numeric_array
from casid.motion import Motion


class Mapped:
    """A function mapped over ``count`` samples, called through fixed buffers (no copies by CasADi).

    Inputs that are column vectors of m entries have shape (count, m), as a `casid.motion.Motion` holds them; matrices,
    and all outputs, are arrays whose last axis runs over the samples: (m, count) and (rows, columns, count).
    """

    def __init__(self, function: ca.Function, count: int, constant: Sequence[str] = ()) -> None:
        names = function.name_in()
        fixed = [names.index(name) for name in constant]
        mapped = (
            function.map(f"{function.name()}_{count}", "serial", count, fixed, []) if fixed else function.map(count)
        )
        self._shapes = [function.size_out(k) for k in range(function.n_out())]
        self._count = count
        self._inputs = [np.zeros(mapped.nnz_in(k)) for k in range(mapped.n_in())]
        self._outputs = [np.zeros(mapped.nnz_out(k)) for k in range(mapped.n_out())]
        self._buffer, self._evaluate = mapped.buffer()
        self._function = mapped  # keeps it alive
        for k, array in enumerate(self._inputs):
            self._buffer.set_arg(k, memoryview(array))  # type: ignore[call-arg, arg-type]
        for k, array in enumerate(self._outputs):
            self._buffer.set_res(k, memoryview(array))  # type: ignore[call-arg, arg-type]

    def __call__(self, *values: Array | float) -> list[Array]:
        """Evaluate; the arrays returned are fresh."""
        for array, value in zip(self._inputs, values, strict=True):
            array[:] = np.ravel(value if np.ndim(value) < 3 else np.transpose(value, (2, 1, 0)))  # CasADi's order
        self._evaluate()
        results = []
        for array, (rows, columns) in zip(self._outputs, self._shapes, strict=True):
            block = array.reshape(self._count, columns, rows)  # CasADi stores by columns
            results.append(block[:, 0].T.copy() if columns == 1 else block.transpose(2, 1, 0).copy())
        return results


def smooth_signs(expression: ca.SX, x: ca.SX, width: ca.SX) -> ca.SX:
    """Replace every ``sign(a)`` of an expression of x, shape (N, 1), by ``tanh(a / width)``."""

    def smooth(code: int, operands: list[ca.SX]) -> ca.SX:
        return ca.tanh(operands[0] / width) if code == ca.OP_SIGN else rebuild(code, operands)

    rules: Rules = {"constant": ca.SX, "entry": lambda k: x[k], "operation": smooth}
    steps = Walk(as_function(expression, x), calls=False)
    for step in steps:
        step.value = rules[step.kind](*step.given)
    return ca.SX(ca.reshape(ca.vertcat(*steps.values), *expression.shape))


STATES = ("q", "dq", "ddq")


class Observation:
    """A regressor ``y = Y(q, dq, ddq) beta`` and the noise on y.

    Parameters
    ----------
    function : casadi.Function
        ``(q)``, ``(q, dq)`` or ``(q, dq, ddq) -> Y`` (m x r), with inputs of these names. Its columns must be
        independent over motions (base parameters), or every criterion is infinite.
    names : sequence of str
        Names of the r parameters.
    noise : array_like, shape (m,), optional
        Standard deviation of the noise on each entry of y [unit of y]; default 1: unweighted.

    Notes
    -----
    A motion with samples k has the information matrix (inverse covariance of the least-squares estimate)
    ``F = sum_k Y_k' diag(noise)^-2 Y_k``.
    """

    def __init__(self, function: ca.Function, names: Sequence[str], noise: ArrayLike | None = None) -> None:
        inputs = function.name_in()
        if not inputs or tuple(inputs) != STATES[: len(inputs)] or function.n_out() != 1:
            raise ProblemError(
                f"observation: expected a function (q[, dq[, ddq]]) -> Y, got {function.name()}({', '.join(inputs)}) "
                f"with {function.n_out()} outputs"
            )
        self.function = function
        self.names = tuple(names)
        self.rows, columns = function.size_out(0)
        self.n = function.size1_in(0)
        if columns != len(self.names):
            raise ProblemError(f"observation: {len(self.names)} parameter names for {columns} columns")
        where, given = "observation: standard deviations of the noise", np.ones(self.rows) if noise is None else noise
        sd = numeric_array(given, where, ProblemError, finite=True, shape=(self.rows,))
        if not (sd > 0).all():
            raise ProblemError(f"{where} must be positive")
        sd.setflags(write=False)
        self.noise = sd
        self._mapped: dict[tuple[str, int], Mapped] = {}

    # ------------------------------------------------------------------ the usual observations

    @classmethod
    def of_model(cls, model: Model, noise: ArrayLike | None = None) -> Observation:
        """Joint torques of a motion: the model's base regressor, joint terms (friction, rotor) included."""
        return cls(model.base_regressor, model.base.names, noise)

    @classmethod
    def of_regressor(
        cls,
        function: ca.Function,
        names: Sequence[str],
        noise: ArrayLike | None = None,
        prismatic: Sequence[bool] | None = None,
    ) -> Observation:
        """Any regressor with dependent columns, e.g. with those of a drive train: its independent columns are kept.

        Parameters
        ----------
        function
            ``(q[, dq[, ddq]]) -> Y`` (m x N).
        names
            Of the N parameters; dependent columns are regrouped into those before them, as in `casid.Model.base`.
        prismatic
            Which joints are prismatic (for the random states that distinguish columns); default none.
        """
        n = function.size1_in(0)
        base = regroup(random_rows(function, [False] * n if prismatic is None else prismatic), names)
        symbols = [ca.SX.sym(name, n) for name in function.name_in()]
        Y = function(*symbols)[:, list(base.independent)]
        chosen = ca.Function(
            f"base_{function.name()}", symbols, [ca.densify(Y)], function.name_in(), ["Y"], {"cse": True}
        )
        return cls(chosen, base.names, noise)

    @classmethod
    def static(cls, model: Model, noise: ArrayLike | None = None) -> Observation:
        """Return the entries of the mass matrix and the gravity torques at poses (Gaz et al. 2019, eq. 17)."""
        static = model.static_regressor
        if static.n_in() != 1:
            raise ProblemError("observation: static poses need a model with a fixed gravity vector")
        return cls.of_regressor(static, model.parameter_names, noise, _prismatic(model))

    @classmethod
    def payload(cls, model: Model, link: str | None = None, noise: ArrayLike | None = None) -> Observation:
        """Joint torques of a load on a link of a robot whose own parameters are known: the link's ten columns.

        Parameters
        ----------
        link
            Name of the link that carries the load; default the last one.
        """
        links = [joint.link.name for joint in model.robot.joints]
        if link is not None and link not in links:
            raise ProblemError(f"payload: robot '{model.robot.name}' has no link '{link}'; known: {', '.join(links)}")
        k = len(links) - 1 if link is None else links.index(link)
        columns = list(model.link_columns[k])
        names = [model.parameter_names[column] for column in columns]
        symbols = [ca.SX.sym(name, model.n) for name in STATES]
        Y = ca.densify(model.regressor(*symbols)[:, columns])
        part = ca.Function("payload_regressor", symbols, [Y], list(STATES), ["Y"], {"cse": True})
        return cls.of_regressor(part, names, noise, _prismatic(model))

    # ------------------------------------------------------------------ evaluation

    def row(self, name: str) -> int:
        """Number of a parameter; ProblemError if it is not one of the observation's (not identifiable on its own)."""
        if name not in self.names:
            raise ProblemError(
                f"'{name}' is not identifiable: it leads no base parameter; choose among {', '.join(self.names)}"
            )
        return self.names.index(name)

    def matrix(self, motion: Motion) -> Array:
        """Stacked observation matrix W, each row divided by its noise, shape (samples * m, r): exact, no smoothing."""
        Y = self._at("exact", len(motion))(*self._inputs(motion))[0]
        return np.asarray((Y / self.noise[:, None, None]).transpose(2, 0, 1).reshape(-1, len(self.names)))

    def information(self, motion: Motion) -> Array:
        """Information matrix ``W'W`` of a motion, shape (r, r); of a recording, the prior of the next design.

        Each sample counts as one independent measurement with the observation's noise: decimate a recording to the
        bandwidth of its filter first.

        Raises
        ------
        DatasetError
            For a motion of other joints, NaN or infinite values; the message names the joint and the sample.
        """
        W = self.matrix(motion)
        F = W.T @ W
        if np.isfinite(F).all():
            return np.asarray(F)
        for name, part in zip(STATES, motion, strict=True):
            bad = np.argwhere(~np.isfinite(part))
            if len(bad):
                raise DatasetError(
                    f"information matrix: {name} of joint {bad[0][1] + 1}, sample {bad[0][0]}, is not a finite number"
                )
        raise DatasetError("information matrix: the regressor has a NaN or infinite value")

    def smooth_matrix(self, motion: Motion, width: float) -> Array:
        """Weighted regressors with signs smoothed over ``width`` [rad/s or m/s], shape (m, r, samples)."""
        return np.asarray(self._at("smooth", len(motion))(*self._inputs(motion), width)[0])

    def pull_back(self, motion: Motion, seed: Array, width: float) -> list[Array]:
        """Chain rule: from d f / d Y (m, r, samples), of the weighted smooth regressors, to d f / d (q, dq, ddq).

        Three arrays, each (n, samples).
        """
        gradient = self._at("reverse", len(motion))(*self._inputs(motion), width, seed)[0]
        parts = [gradient[k * self.n : (k + 1) * self.n] for k in range(self.function.n_in())]
        parts += [np.zeros_like(parts[0])] * (3 - len(parts))
        return parts

    def _inputs(self, motion: Motion) -> tuple[Array, ...]:
        motion.expect_joints(self.n, "observation")
        return tuple(motion)[: self.function.n_in()]

    def _at(self, kind: str, count: int) -> Mapped:
        key = (kind, count)
        if key not in self._mapped:
            exact = kind == "exact"
            graph = self.function if exact else self._smooth[kind]
            self._mapped[key] = Mapped(graph, count, () if exact else ("width",))
        return self._mapped[key]

    @cached_property
    def _smooth(self) -> dict[str, ca.Function]:
        """The weighted regressor with smoothed signs, and its chain rule."""
        width = ca.SX.sym("width")
        states = [ca.SX.sym(name, self.n) for name in self.function.name_in()]
        smooth = smooth_signs(self.function(*states), ca.vertcat(*states), width)
        Y = ca.densify(ca.mtimes(ca.diag(ca.DM(1 / self.noise)), smooth))
        seed = ca.SX.sym("seed", *Y.shape)
        back = ca.densify(ca.jtimes(ca.vec(Y), ca.vertcat(*states), ca.vec(seed), True))
        names, given, options = [*self.function.name_in(), "width"], [*states, width], {"cse": True}
        reverse = ca.Function("reverse", [*given, seed], [back], [*names, "seed"], ["g"], options)
        return {"smooth": ca.Function("smooth", given, [Y], names, ["Y"], options), "reverse": reverse}


def _prismatic(model: Model) -> list[bool]:
    return [joint.type == "prismatic" for joint in model.robot.coordinates]
