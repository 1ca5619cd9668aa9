"""A whole robot's parameters as a function of unconstrained coordinates, with Jacobian, metric and inverse."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import ROUNDING, Array
from casid.codegen import Function
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.expressions import shaped
from casid.files import numeric_array
from casid.inertia import consistency, divergence_hessian, from_pseudo_inertia, pseudo_inertia
from casid.learning._parametrisations import Parametrisation, parametrisation

#: First coordinates of terms, whose squares are small beside the torques of links, and not zero, where a square has no
#: slope.
_TERM_START = 0.1


class Chart:
    """``theta -> (links' parameters, terms' parameters)``: one parametrisation for all links, squares for damping.

    The parameters stand in the order of `TorqueLoss`: those of link 1 (10, or 13 without symmetry), ... of link n,
    then the joint terms in the model's order.

    Parameters
    ----------
    model
        Its joint terms are learnt too; those that physics forbids to be negative as squares (Sutanto et al. 2020,
        Sec. 4.2), the others as they are.
    links
        Parametrisation of every link, or its name.
    held
        Coordinates of every link that training leaves where they start: 1, 2, 3 are the centre of mass in the
        parametrisations of Sutanto et al. (2020).

    Raises
    ------
    DatasetError
        If ``held`` names no coordinate.
    """

    def __init__(self, model: Model, links: Parametrisation | str, held: Sequence[int] = ()) -> None:
        self.model = model
        self.links = parametrisation(links) if isinstance(links, str) else links
        columns = model.term_columns
        self.terms = tuple(model.parameter_names[c] for c in sorted(columns))
        if not all(0 <= k < self.links.size for k in held):
            last = self.links.size - 1
            raise DatasetError(f"held: '{self.links.name}' has coordinates 0 to {last}, got {list(held)}")
        self.held = tuple(held)
        free = np.ones(self.links.size)
        free[list(held)] = 0.0
        self._free = np.concatenate([np.tile(free, self.n), np.ones(len(self.terms))])
        self._squared = np.array([columns[c][0].nonnegative for c in sorted(columns)], dtype=bool)

    @property
    def n(self) -> int:
        """Number of links."""
        return len(self.model.robot.links)

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.n * self.links.size + len(self.terms)

    @property
    def count(self) -> int:
        """Number of parameters."""
        return self.n * self.links.count + len(self.terms)

    @cached_property
    def _functions(self) -> tuple[Function, Function, Function]:
        """Parameters, these with their Jacobian, and the pullback."""
        theta, slope = ca.SX.sym("theta", self.size), ca.SX.sym("slope", self.count)
        split = self.n * self.links.size
        where, shape = f"parametrisation '{self.links.name}': `expression`", (self.links.count, 1)
        parts = [
            shaped(self.links.expression(part), shape, where, DatasetError)
            for part in ca.vertsplit(theta[:split], self.links.size)
        ]
        for k, squared in enumerate(self._squared):
            parts.append(theta[split + k] ** 2 if squared else theta[split + k])
        pi = ca.densify(ca.vertcat(*parts))
        jacobian = ca.densify(ca.jacobian(pi, theta))
        back = ca.densify(ca.jtimes(pi, theta, slope, True) * ca.DM(self._free))
        options = {"cse": True}
        return (
            Function(ca.Function("chart", [theta], [pi], options)),
            Function(ca.Function("chart_jacobian", [theta], [pi, jacobian], options), axes=(1, 2)),
            Function(ca.Function("chart_pullback", [theta, slope], [back], options)),
        )

    def parameters(self, theta: Array) -> Array:
        """Parameters at theta, shape (count,)."""
        return np.asarray(self._functions[0](theta))

    def pullback(self, theta: Array, slope: Array) -> Array:
        """``(d pi / d theta)' slope``: gradient in theta of a function whose gradient in pi is ``slope``."""
        return np.asarray(self._functions[2](theta, slope))

    def linearised(self, theta: Array) -> tuple[Array, Array]:
        """Parameters and their Jacobian in theta, shapes (count,) and (count, size); zero for held coordinates."""
        pi, jacobian = self._functions[1](theta)
        return pi, jacobian * self._free

    def standard(self, parameters: Array) -> tuple[Array, Array]:
        """Standard parameters of all links, shape (10 n,), and the terms' values."""
        split = self.n * self.links.count
        return parameters[:split].reshape(self.n, -1)[:, :10].ravel(), parameters[split:]

    def symmetric(self, parameters: Array) -> bool:
        """Whether every inertia is symmetric, up to rounding."""
        if self.links.symmetric:
            return True
        links = parameters[: self.n * 13].reshape(self.n, 13)
        return bool(np.all(np.abs(links[:, 10:]).max(axis=1) <= ROUNDING * np.abs(links[:, :6]).max(axis=1)))

    def inconsistent(self, parameters: Array) -> tuple[str, ...]:
        """Names of the links that no body can have, with an asymmetric inertia or without full consistency."""
        standard = self.standard(parameters)[0].reshape(self.n, 10)
        symmetric = self.symmetric(parameters)
        bodies = [symmetric and consistency(ten).full for ten in standard]
        return tuple(link.name for link, body in zip(self.model.robot.links, bodies, strict=True) if not body)

    def metric(self, theta: Array) -> Array:
        """Pullback of the affine-invariant metric of bodies, shape (size, size).

        ``g(d, d) = sum_k tr((J_k^-1 dJ_k)^2) / 2`` (Lee, Kwon and Park 2018), plus ``(dx/x)^2`` for squared terms and
        ``dx^2`` for free ones. Where a link is no body, its share is Euclidean.
        """
        pi, jacobian = self.linearised(theta)
        G = np.zeros((self.size, self.size))
        count, size = self.links.count, self.links.size
        for k in range(self.n):
            block = jacobian[count * k : count * k + count, size * k : size * k + size]
            J = pseudo_inertia(pi[count * k : count * k + 10])
            own = np.eye(count)
            if np.linalg.eigvalsh(J)[0] > 0:
                lifted = J + 1e-12 * np.trace(J) * np.eye(4)  # links on the boundary: rank-deficient
                own[:10, :10] = divergence_hessian(lifted) / 2
            G[size * k : size * k + size, size * k : size * k + size] = block.T @ own @ block
        split = self.n * size
        for i, squared in enumerate(self._squared):
            G[split + i, split + i] = 4.0 / max(theta[split + i] ** 2, 1e-12) if squared else 1.0
        return G

    def inverse(self, standard: ArrayLike, terms: ArrayLike | None = None) -> Array:
        """Coordinates of given links, shape (10 n,), and terms.

        Raises
        ------
        DatasetError
            If a link lies outside the parametrisation's image (named), or shapes do not fit.
        """
        bodies = numeric_array(standard, "standard parameters", DatasetError, shape=(10 * self.n,))
        given = np.zeros(len(self.terms)) if terms is None else terms
        values = numeric_array(given, "terms", DatasetError, shape=(len(self.terms),))
        parts = []
        for link, ten in zip(self.model.robot.links, bodies.reshape(self.n, 10), strict=True):
            try:
                parts.append(self.links.inverse(ten))
            except DatasetError as error:
                raise DatasetError(f"link '{link.name}': {error}") from error
        negative = np.flatnonzero(self._squared & (values < 0))
        if negative.size:
            raise DatasetError(f"'{self.terms[negative[0]]}' is {values[negative[0]]:.6g}; it cannot be negative")
        return np.concatenate([*parts, np.where(self._squared, np.sqrt(np.abs(values)), values)])

    def draw(self, rng: np.random.Generator) -> Array:
        """Coordinates that the parametrisation starts from where nothing is known (`Parametrisation.draw`)."""
        return np.concatenate([*(self.links.draw(rng) for _ in range(self.n)), np.full(len(self.terms), _TERM_START)])

    def random(self, rng: np.random.Generator, size: float = 0.3, mass: float = 3.0) -> Array:
        """Coordinates of random bodies: Wishart pseudo-inertias of about this extent [m] and mass [kg]."""
        scale = np.diag([size / 2, size / 2, size / 2, 1.0]) * np.sqrt(mass)
        bodies = []
        for _ in range(self.n):
            A = scale @ rng.standard_normal((4, 8)) / np.sqrt(8)
            bodies.append(from_pseudo_inertia(A @ A.T + 1e-4 * mass * np.diag([size**2, size**2, size**2, 1.0])))
        return self.inverse(np.concatenate(bodies), np.full(len(self.terms), _TERM_START**2))
