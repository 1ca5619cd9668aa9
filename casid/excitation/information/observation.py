"""The observation matrix of a motion: what a recording of it would say about the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.dynamics._base_parameters import regroup
from casid.errors import DatasetError, ProblemError
from casid.excitation.information.mapped import Mapped
from casid.excitation.information.smoothing import smooth_signs
from casid.excitation.motions.basis import Array
from casid.excitation.motions.trajectory import Motion

if TYPE_CHECKING:
    from casid.dynamics import Model

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
        sd = np.ones(self.rows) if noise is None else np.array(noise, dtype=float)
        if sd.shape != (self.rows,):
            raise ProblemError(
                f"observation: expected {self.rows} standard deviations of the noise, got shape {sd.shape}"
            )
        if not (np.isfinite(sd).all() and (sd > 0).all()):
            raise ProblemError("observation: the standard deviations of the noise must be positive and finite")
        sd.setflags(write=False)
        self.noise = sd
        self._mapped: dict[tuple[str, int], Mapped] = {}
        self._graphs: dict[str, ca.Function] = {}

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
            Which joints are prismatic (for the random states that tell columns apart); default none.
        """
        n, count = function.size1_in(0), max(60, 6 * len(names) // function.size1_out(0))
        rng = np.random.default_rng(20140401)
        reach = np.where(np.zeros(n, bool) if prismatic is None else np.asarray(prismatic), 1.0, np.pi)[:, None]
        states = (
            rng.uniform(-reach, reach, (n, count)),
            rng.uniform(-3, 3, (n, count)),
            rng.uniform(-10, 10, (n, count)),
        )
        values = Mapped(function, count)(*states[: function.n_in()])[0].reshape(
            function.size1_out(0), len(names), count
        )
        base = regroup(values.transpose(2, 0, 1).reshape(-1, len(names)), names)
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
        Y = self._at("exact", motion.q.shape[1])(*self._inputs(motion))[0]
        return np.asarray((Y / self.noise[:, None, None]).transpose(2, 0, 1).reshape(-1, len(self.names)))

    def information(self, motion: Motion) -> Array:
        """Information matrix ``W'W`` of a motion, shape (r, r)."""
        W = self.matrix(motion)
        F = W.T @ W
        if not np.isfinite(F).all():
            raise DatasetError("information matrix: the motion or the regressor has a NaN or infinite value")
        return np.asarray(F)

    def smooth_matrix(self, motion: Motion, width: float) -> Array:
        """Weighted regressors with signs smoothed over ``width`` [rad/s or m/s], shape (m, r, samples)."""
        return np.asarray(self._at("smooth", motion.q.shape[1])(*self._inputs(motion), width)[0])

    def pull_back(self, motion: Motion, seed: Array, width: float) -> Motion:
        """Chain rule: from d f / d Y (m, r, samples), of the weighted smooth regressors, to d f / d (q, dq, ddq)."""
        gradient = self._at("reverse", motion.q.shape[1])(*self._inputs(motion), width, seed)[0]
        parts = [gradient[k * self.n : (k + 1) * self.n] for k in range(self.function.n_in())]
        parts += [np.zeros_like(parts[0])] * (3 - len(parts))
        return Motion(*parts)

    def _inputs(self, motion: Motion) -> tuple[Array, ...]:
        return tuple(motion)[: self.function.n_in()]

    def _at(self, kind: str, count: int) -> Mapped:
        key = (kind, count)
        if key not in self._mapped:
            self._mapped[key] = Mapped(self._graph(kind), count, () if kind == "exact" else ("width",))
        return self._mapped[key]

    def _graph(self, kind: str) -> ca.Function:
        if kind == "exact":
            return self.function
        if kind not in self._graphs:
            width = ca.SX.sym("width")
            smooth = smooth_signs(self.function, width)
            states = [ca.SX.sym(name, self.n) for name in self.function.name_in()]
            Y = ca.densify(ca.mtimes(ca.diag(ca.DM(1 / self.noise)), smooth(*states, width)))
            seed = ca.SX.sym("seed", *Y.shape)
            back = ca.jtimes(ca.vec(Y), ca.vertcat(*states), ca.vec(seed), True)
            names = [*self.function.name_in(), "width"]
            options = {"cse": True}
            self._graphs["smooth"] = ca.Function("smooth", [*states, width], [Y], names, ["Y"], options)
            self._graphs["reverse"] = ca.Function(
                "reverse", [*states, width, seed], [ca.densify(back)], [*names, "seed"], ["g"], options
            )
        return self._graphs[kind]


def _prismatic(model: Model) -> list[bool]:
    return [joint.type == "prismatic" for joint in model.robot.coordinates]
