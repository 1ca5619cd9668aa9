"""The contract of a parametrisation: a smooth map from free numbers to a link's parameters, and its inverse."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from casid.errors import DatasetError
from casid.inertia._parameters import Vector

#: Added to masses [kg] and to the diagonals of inertias [kg.m^2], so that "positive" keeps a distance from zero.
BIAS = 1e-6


class Parametrisation(ABC):
    """Coordinates theta of one link, free in R^size, and its parameters as functions of them.

    A new one is a subclass that gives ``expression`` and ``coordinates``; training, guarantees and tests follow.

    Attributes
    ----------
    name : str
        What a user writes.
    size : int
        Number of coordinates.
    positive_mass, symmetric, definite, triangle : bool
        What holds for **every** theta: m > 0, I = I', I > 0 about the centre of mass, and the triangle inequality of
        the principal moments (so that a body of positive density exists).
    one_to_one : bool
        Each body has exactly one theta.
    """

    name: ClassVar[str]
    size: ClassVar[int]
    positive_mass: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True
    definite: ClassVar[bool] = True
    triangle: ClassVar[bool] = True
    one_to_one: ClassVar[bool] = False

    @abstractmethod
    def expression(self, theta: ca.SX) -> ca.SX:
        """Standard parameters, shape (10,), of coordinates theta, shape (size,).

        Parametrisations that are not ``symmetric`` return 13 numbers: the ten of the symmetric part of the inertia,
        then the vector a of its antisymmetric part S(a) (`casid.dynamics`).
        """

    @abstractmethod
    def coordinates(self, parameters: Vector) -> Vector:
        """A theta of these parameters; called with ten finite numbers inside the map's image."""

    @property
    def count(self) -> int:
        """Length of what the map returns: 10, or 13 where the inertia is not symmetric."""
        return 10 if self.symmetric else 13

    @cached_property
    def map(self) -> ca.Function:
        """``theta (size) -> pi (count)``."""
        theta = ca.SX.sym("theta", self.size)
        return ca.Function(
            f"{type(self).__name__}_map", [theta], [ca.densify(self.expression(theta))], ["theta"], ["pi"]
        )

    def parameters(self, theta: ArrayLike) -> Vector:
        """Parameters of coordinates, shape (count,).

        Raises
        ------
        DatasetError
            If theta has another shape or is not finite.
        """
        given = _checked(theta, (self.size,), f"parametrisation '{self.name}': theta")
        return np.asarray(self.map(given)).reshape(-1)

    def inverse(self, parameters: ArrayLike) -> Vector:
        """Coordinates, shape (size,), whose map gives these standard parameters, shape (10,).

        Raises
        ------
        DatasetError
            If the parameters lie outside the map's image (a negative mass, an inertia that no such theta reaches).
        """
        given = _checked(parameters, (10,), f"parametrisation '{self.name}': parameters")
        with np.errstate(all="ignore"):
            theta = np.asarray(self.coordinates(given), dtype=float)
        if not np.isfinite(theta).all():
            raise DatasetError(
                f"parametrisation '{self.name}' does not reach these parameters (mass {given[9]:.6g} kg); start from a "
                "physically consistent body"
            )
        return theta

    def random(self, rng: np.random.Generator, scale: float = 1.0) -> Vector:
        """Random coordinates, normal with standard deviation ``scale``."""
        return scale * rng.standard_normal(self.size)

    def draw(self, rng: np.random.Generator) -> Vector:
        """Coordinates that training starts from where nothing is known of the body.

        Those of Sutanto et al. (2020) start as in their published code: the mass is the square of a standard normal
        number, the centre of mass the magnitude of three [m], and the coordinates of the inertia are normal with
        standard deviation 0.01 (`NoStr`: 1, free mass).
        """
        return np.concatenate([rng.standard_normal(1), np.abs(rng.standard_normal(3)), self.draw_inertia(rng)])

    def draw_inertia(self, rng: np.random.Generator) -> Vector:
        """The share of `draw` beyond mass and centre of mass."""
        return 0.01 * rng.standard_normal(self.size - 4)

    def __repr__(self) -> str:
        words = ("positive mass", "symmetric", "positive definite", "triangle inequality")
        holds = [w for w, yes in zip(words, (self.positive_mass, self.symmetric, self.definite, self.triangle)) if yes]  # noqa: B905
        return f"<{type(self).__name__}: {self.size} coordinates, guarantees {', '.join(holds) or 'nothing'}>"


def _checked(value: ArrayLike, shape: tuple[int, ...], what: str) -> Vector:
    array = np.array(value, dtype=float)
    if array.shape != shape:
        raise DatasetError(f"{what} must have shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise DatasetError(f"{what}: entry {int(np.flatnonzero(~np.isfinite(array))[0])} is not a finite number")
    return array
