"""Objectives: sums of squares ``||R x - r||^2 + constant``, the identified coefficients they come from, and priors.

Distances from prior bodies (CAD, URDF) with pseudo-inertias J0 (Lee, Wensing and Park 2020, Sec. III; Wensing et al.
2018)::

    euclidean   sum_i ((x_i - x0_i) / s_i)^2            s: the size of the prior body's parameters
    pullback    tr( J0^-1 (J - J0) J0^-1 (J - J0) )     the affine-invariant metric, pulled back at the prior
    entropic    2 (tr J0^-1 J - log det J0^-1 J - 4)    log-det Bregman divergence; equal to pullback to second order

The last two do not depend on units or frames. All three vanish at the prior and are convex in the standard parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import Array, read_only
from casid.description import Robot
from casid.errors import DatasetError, ProblemError
from casid.expressions import Maximum, SquareSum, as_function, convex_kinks, enclose, square_sum
from casid.inertia import (
    Divergence,
    consistency,
    divergence_root,
    from_pseudo_inertia,
    link_slice,
    pseudo_inertia,
    standard_size,
)
from casid.retrieval._variables import Box, LinkVariables, in_unknowns

#: A sum of squares below this share of its size at x = 0 is a perfect fit: what solvers leave, no noise of data.
PERFECT = 1e-11


class Addend:
    """What can be added to, subtracted from and scaled by other objectives, numbers and CasADi expressions."""

    __array_ufunc__ = None  # numpy's numbers leave the operation to this class

    def _sum(self, factor: float) -> ObjectiveSum:
        raise NotImplementedError

    def __add__(self, other: Addend | ca.SX | float) -> ObjectiveSum:
        return self._sum(1.0).plus(other, 1.0)

    __radd__ = __add__

    def __sub__(self, other: Addend | ca.SX | float) -> ObjectiveSum:
        return self._sum(1.0).plus(other, -1.0)

    def __rsub__(self, other: ca.SX | float) -> ObjectiveSum:
        return self._sum(-1.0).plus(other, 1.0)

    def __mul__(self, factor: float) -> ObjectiveSum:
        return self._sum(_number(factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> ObjectiveSum:
        if _number(divisor) == 0.0:
            raise ProblemError("objective: division by zero")
        return self._sum(1.0 / _number(divisor))

    def __neg__(self) -> ObjectiveSum:
        return self._sum(-1.0)

    def __pos__(self) -> ObjectiveSum:
        return self._sum(1.0)


def _number(value: Any) -> float:
    try:
        factor = None if isinstance(value, ca.SX) and not value.is_constant() else float(value)
    except (TypeError, ValueError, RuntimeError):
        factor = None
    if factor is None:
        raise ProblemError(
            f"objective: a sum of squares is multiplied and divided by numbers only, got {type(value).__name__}; write "
            "the product with objective.expression(links.x)"
        )
    if not np.isfinite(factor):
        raise ProblemError(f"objective: the factor must be finite, got {factor}")
    return factor


@dataclass(frozen=True, eq=False)
class ObjectiveSum(Addend):
    """Weighted sums of squares plus an expression: what arithmetic with a `LeastSquares` gives, an objective as well.

    Attributes
    ----------
    squares : tuple of (float, LeastSquares)
    other : SX
        Scalar.
    """

    squares: tuple[tuple[float, LeastSquares], ...]
    other: ca.SX

    def _sum(self, factor: float) -> ObjectiveSum:
        return ObjectiveSum(tuple((factor * w, part) for w, part in self.squares), factor * self.other)

    def plus(self, other: Addend | ca.SX | float, sign: float) -> ObjectiveSum:
        """The sum with, or the difference from, anything that is one number."""
        if isinstance(other, Addend):
            more = other._sum(sign)
            return ObjectiveSum(self.squares + more.squares, self.other + more.other)
        try:
            added = ca.SX(in_unknowns(other, "objective: what is added"))
        except NotImplementedError:
            raise ProblemError(
                f"objective: expected a casadi.SX, a number or another objective to add, got {type(other).__name__}"
            ) from None
        if added.numel() != 1:
            raise ProblemError(f"objective: what is added must be one number, got shape {added.shape}")
        return ObjectiveSum(self.squares, self.other + sign * added)

    def expression(self, x: ca.SX) -> ca.SX:
        """The objective as an expression of the unknowns x, e.g. ``links.x``."""
        return sum((weight * part.expression(x) for weight, part in self.squares), self.other)


@dataclass(frozen=True, eq=False)
class LeastSquares(Addend):
    """``||matrix x - target||^2 + constant``; the number of rows never exceeds that of the unknowns.

    Attributes
    ----------
    matrix : ndarray, shape (p, N)
        R.
    target : ndarray, shape (p,)
        r.
    constant : float
        The part that does not depend on x; negative only where a whole objective, not a sum of squares, is meant.
    """

    matrix: NDArray[np.float64]
    target: NDArray[np.float64]
    constant: float = 0.0

    def __post_init__(self) -> None:
        for name in ("matrix", "target"):
            array = read_only(getattr(self, name))
            if not np.isfinite(array).all():
                place = np.argwhere(~np.isfinite(array))[0].tolist()
                raise DatasetError(f"objective: {name} has a NaN or infinite entry at {place}")
            object.__setattr__(self, name, array)
        if not np.isfinite(self.constant):
            raise DatasetError(f"objective: the constant must be finite, got {self.constant}")
        if self.matrix.ndim != 2 or self.target.shape != self.matrix.shape[:1]:
            raise DatasetError(
                f"objective: expected a matrix (p, N) and a target (p,), got {self.matrix.shape} and "
                f"{self.target.shape}"
            )

    @classmethod
    def compressed(cls, matrix: ArrayLike, target: ArrayLike, constant: float = 0.0) -> LeastSquares:
        """The same sum of squares with at most N rows: the R factor of ``[matrix, target]``.

        The target is first reduced by its fit, so that what no x can explain is not a difference of large numbers.
        """
        matrix, target = np.asarray(matrix, dtype=float), np.asarray(target, dtype=float)
        raw = cls(matrix, target, constant)
        if raw.matrix.shape[0] <= raw.matrix.shape[1]:
            return raw
        size = raw.matrix.shape[1]
        first: Array = np.asarray(np.linalg.qr(np.column_stack([matrix, target]), mode="r"))[:size]
        sizes = np.linalg.norm(first[:, :size], axis=0)
        sizes[sizes == 0] = 1.0
        fit = np.linalg.lstsq(first[:, :size] / sizes, first[:, size], rcond=None)[0] / sizes
        factor: Array = np.asarray(np.linalg.qr(np.column_stack([matrix, target - matrix @ fit]), mode="r"))
        unexplained = float(factor[size, size] ** 2) if factor.shape[0] > size else 0.0
        top = factor[:size, :size]
        return cls(top, factor[:size, size] + top @ fit, constant + unexplained)

    def _sum(self, factor: float) -> ObjectiveSum:
        return ObjectiveSum(((factor, self),), ca.SX(0))

    def expression(self, x: ca.SX) -> ca.SX:
        """The objective as an expression of the unknowns, shape (N, 1) or longer: the first N are taken."""
        count = self.matrix.shape[1]
        if x.numel() < count:
            raise ProblemError(f"objective: it has {count} unknowns, the vector given has {x.numel()}")
        residual = ca.sparsify(ca.DM(self.matrix)) @ x[:count] - ca.DM(self.target)
        return ca.sumsqr(residual) + self.constant

    def __call__(self, x: ArrayLike) -> float:
        """Value at x, shape (N,)."""
        residual = self.matrix @ np.asarray(x, dtype=float) - self.target
        return float(residual @ residual + self.constant)

    @property
    def size(self) -> float:
        """Value at x = 0 (1 if that is zero) without the sign of the constant: reference for the solver's scale."""
        return float(self.target @ self.target) + abs(self.constant) or 1.0

    def negligible(self, x: ArrayLike) -> float:
        """Sum of squares at x that counts as zero: every residual 1e-10 of the terms that it is the difference of.

        Row by row, ``sum_i (1e-10 (|R_i| |x| + |r_i|))^2``, plus the rounding of the constant.
        """
        terms = np.abs(self.matrix) @ np.abs(np.asarray(x, dtype=float)) + np.abs(self.target)
        return float(1e-20 * (terms @ terms) + 4 * np.finfo(float).eps * abs(self.constant)) or 1e-300

    def gradient(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gradient at x, shape (N,)."""
        return np.asarray(2.0 * self.matrix.T @ (self.matrix @ x - self.target))


def split_objective(
    expression: ca.SX, variables: LinkVariables, where: str, region: Box
) -> tuple[LeastSquares, list[tuple[Maximum, float]]]:
    """A CasADi expression as a sum of squares, what is left of it, and numbers below all that this can reach.

    Squares of affine terms stay the residuals that they are written as. Where the rest is affine, it is what is left;
    other convex quadratics are completed to squares. All of it is done in rational numbers, so that a light part is
    never lost beside a heavy one. A quadratic that is convex up to the rounding of its coefficients is replaced by one
    that is convex and nowhere larger in the region. Convex kinks (`convex_kinks`) are parts of their own. Any other
    expression is left as it is.

    Parameters
    ----------
    expression, variables
    where
        The problem, in messages.
    region
        Bounds of all unknowns and of the centres of mass, as in `enclose`.

    Returns
    -------
    squares : LeastSquares
    left : list of (Maximum, float)
        What is to be added, and what none of it is below.

    Raises
    ------
    ProblemError
        For an expression that is not one number, is a constant, has symbols that are no unknowns, or that nothing
        bounds from below.
    """
    if expression.numel() != 1:
        raise ProblemError(f"{where}: the objective has shape {expression.shape}; expected one number")
    x = variables.x
    variables.check_symbols(expression, f"{where}: the objective")
    if not ca.depends_on(expression, x):
        raise ProblemError(f"{where}: the objective depends on no unknown")
    smooth, kinks = convex_kinks(expression, x)
    left = []
    for kink in kinks:  # neither the greatest piece nor their mean is above the maximum: |a| is not below 0
        mean = sum(kink.pieces, ca.SX(0)) / len(kink.pieces)
        left.append((kink, max(_floor(kink.expression, x, region), _floor(mean, x, region))))
    squares, rest = _smooth_part(smooth, x, region)
    if kinks and not all(np.isfinite(low) for _, low in (*left, *rest)):
        left, (squares, rest) = [], _smooth_part(expression, x, region)
    if not all(np.isfinite(low) for _, low in rest):
        raise ProblemError(
            f"{where}: nothing is known to bound the objective from below; bound what it depends on "
            "(masses, centres of mass, inertias, extras), or state it as soften(Constraint('name', expression, "
            "upper=LEAST), weight=1.0) with LEAST below all it can reach"
        )
    return squares, rest + left


def _floor(expression: ca.SX, x: ca.SX, region: Box) -> float:
    return float(enclose(as_function(expression, x), *region)[0].low)


def _smooth_part(expression: ca.SX, x: ca.SX, region: Box) -> tuple[LeastSquares, list[tuple[Maximum, float]]]:
    """`split_objective` of an expression whose kinks are no parts of their own; the floor may be -inf."""
    size = x.numel()
    if not ca.depends_on(expression, x):
        return LeastSquares(np.zeros((0, size)), np.zeros(0), float(expression)), []
    found = []
    for convex, above in _convex_forms(expression, x, np.maximum(*np.abs(region[:2]))):
        slope = sum((float(c) * x[k] for k, c in sorted(convex.rest.linear.items())), ca.SX(0))
        left = [(Maximum(1.0, (slope,)), _floor(slope, x, region))] if convex.rest.linear else []
        found.append((convex, float(convex.rest.terms.get((), 0)) - above, left))
    # parts that reach far below the objective cancel: those are taken whose constants bound it best
    best = max(found, key=lambda form: form[1] + sum(low for _, low in form[2]), default=None)
    if best is not None and all(np.isfinite(low) for _, low in best[2]):
        return _rows(best[0], best[1], size), best[2]
    return LeastSquares(np.zeros((0, size)), np.zeros(0)), [
        (Maximum(1.0, (expression,)), _floor(expression, x, region))
    ]


def _convex_forms(expression: ca.SX, x: ca.SX, reach: Array) -> Iterator[tuple[SquareSum, float]]:
    """Convex quadratics that the expression is, and by how much each can be above it where ``|x| <= reach``."""
    found = square_sum(expression, x)
    if found is None:
        return
    if found.settled:
        yield found, 0.0
        if found.rest.constant is not None:
            return
    completed = found.completed()
    if completed is not None:
        yield completed, 0.0
    if completed is not None or found.settled:
        return
    share = float(len(reach) * np.finfo(float).eps)
    shifted = found.completed(share)
    if shifted is not None:
        curvature = np.maximum(found.curvatures(len(reach)), 0.0)
        above = share * float(curvature @ np.where(curvature > 0, reach, 0.0) ** 2)
        if np.isfinite(above):
            yield shifted, above


def _rows(form: SquareSum, constant: float, size: int) -> LeastSquares:
    """Weighted squares as rows, each coefficient rounded once."""
    matrix, target = np.zeros((len(form.squares), size)), np.zeros(len(form.squares))
    for i, (weight, square) in enumerate(zip(form.weights, form.squares, strict=True)):
        root = np.sqrt(float(weight))
        for entry, coefficient in square.linear.items():
            matrix[i, entry] = root * float(coefficient)
        target[i] = -root * float(square.terms.get((), 0))
    return LeastSquares.compressed(matrix, target, constant)


def base_parameter_error(
    variables: LinkVariables, forms: ArrayLike, values: ArrayLike, sd: ArrayLike | None = None
) -> LeastSquares:
    """``||K x - beta||^2``: distance of the base parameters of x from identified ones (Gaz et al. 2019, eq. 29).

    Parameters
    ----------
    variables
        Of the problem.
    forms
        K, shape (b, N) or (b, 10 n): base parameters as linear forms of the unknowns.
    values
        Identified base parameters beta, shape (b,).
    sd
        Standard deviations, shape (b,), in the units of ``values``; each deviation is then divided by its own.
        Default: all count the same, as in the paper.

    Raises
    ------
    DatasetError
        For wrong shapes, NaN, or standard deviations that are not positive.
    """
    forms, values = np.asarray(forms, dtype=float), np.asarray(values, dtype=float)
    standard = variables.standard_size
    if forms.ndim != 2 or forms.shape[1] not in (standard, variables.size):
        raise DatasetError(f"forms: expected shape (b, {variables.size}), got {forms.shape}")
    if values.shape != forms.shape[:1]:
        raise DatasetError(f"values: expected shape ({forms.shape[0]},), one a form, got {values.shape}")
    matrix = np.zeros((forms.shape[0], variables.size))
    matrix[:, : forms.shape[1]] = forms
    if sd is not None:
        sd = np.asarray(sd, dtype=float)
        if sd.shape != values.shape or not (sd > 0).all():
            raise DatasetError(f"sd: expected {values.size} positive numbers, got shape {sd.shape}")
        matrix, values = matrix / sd[:, None], values / sd
    return LeastSquares.compressed(matrix, values)


def least_squares(variables: LinkVariables, matrix: ArrayLike, target: ArrayLike) -> LeastSquares:
    """``||W x - tau||^2`` of a constrained regression; only the R factor of the data is kept.

    Parameters
    ----------
    variables
        Of the problem.
    matrix, target
        Observation matrix W, shape (samples, N), and measured torques tau, shape (samples,).
    """
    matrix = np.asarray(matrix, dtype=float)
    if matrix.ndim != 2 or matrix.shape[1] != variables.size:
        raise ProblemError(f"the observation matrix must have {variables.size} columns, got shape {matrix.shape}")
    return LeastSquares.compressed(matrix, target)


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Linear forms of the parameters with their identified values.

    Attributes
    ----------
    forms : ndarray, shape (r, N)
        K; fewer columns are those of the first unknowns.
    values : ndarray, shape (r,)
        Identified.
    sd : ndarray, shape (r,), or None
        Standard deviations of the values, same units.
    used : ndarray of bool, shape (r,)
        Which ones the objective contains; default all.
    samples : int or None
        Number of samples that the values were estimated from.

    Raises
    ------
    ProblemError
        For shapes that do not match, NaN, or negative standard deviations.
    """

    forms: Any
    values: Any
    sd: Any = None
    used: Any = None
    samples: int | None = None

    def __post_init__(self) -> None:
        forms, values = read_only(self.forms), read_only(self.values)
        if values.ndim != 1 or forms.ndim != 2 or len(forms) != len(values):
            raise ProblemError(f"coefficients: expected forms (r, N), values (r,), got {forms.shape}, {values.shape}")
        if not (np.isfinite(forms).all() and np.isfinite(values).all()):
            raise ProblemError("coefficients: forms and values must be finite")
        sd = None if self.sd is None else read_only(self.sd)
        used = np.ones(len(values), dtype=bool) if self.used is None else np.array(self.used, dtype=bool)
        for name, array in (("sd", sd), ("used", used)):
            if array is not None and array.shape != values.shape:
                raise ProblemError(f"coefficients: expected {len(values)} entries of '{name}', got shape {array.shape}")
        if sd is not None and not (np.isfinite(sd) & (sd >= 0)).all():
            raise ProblemError("coefficients: standard deviations must be finite and >= 0")
        if self.samples is not None and self.samples < 1:
            raise ProblemError(f"coefficients: the number of samples must be positive, got {self.samples}")
        used.setflags(write=False)
        vars(self).update(forms=forms, values=values, sd=sd, used=used)


Metric = Literal["pullback", "entropic", "euclidean"]


@dataclass(frozen=True, eq=False)
class Prior:
    """Prior bodies, the weight of the distance from them, and its metric.

    Attributes
    ----------
    robot : Robot
    parameters : ndarray, shape (10 n,)
        Standard parameters of the prior bodies.
    weight : float
        Weight of the squared distance, in units of the regression's weighted sum of squares: with joints weighted by
        1/RMS, a relative change of one parameter by 100 % costs as much as ``weight`` torque samples that miss by
        their RMS.
    metric : {"pullback", "entropic", "euclidean"}

    Raises
    ------
    ProblemError
        If a link of the prior is not fully consistent (its pseudo-inertia must be invertible), or the weight is not
        positive.
    """

    robot: Robot
    parameters: Array
    weight: float
    metric: Metric = "pullback"

    def __post_init__(self) -> None:
        x, size = read_only(self.parameters), standard_size(len(self.robot.links))
        if x.shape != (size,):
            raise ProblemError(f"prior: expected {size} standard parameters, got shape {x.shape}")
        if not (np.isfinite(self.weight) and self.weight > 0):
            raise ProblemError(f"prior: the weight must be positive and finite, got {self.weight}")
        if self.metric not in get_args(Metric):
            raise ProblemError(f"prior: metric '{self.metric}' is none of {', '.join(map(repr, get_args(Metric)))}")
        for link, ten in zip(self.robot.links, x.reshape(-1, 10), strict=True):
            complaint = consistency(ten).complaint()
            if complaint:
                raise ProblemError(f"prior: link '{link.name}': {complaint}; repair it first (nearest_consistent)")
        object.__setattr__(self, "parameters", x)

    @property
    def quadratic(self) -> bool:
        """Whether the squared distance is a quadratic of the parameters, so that `rows` are exact."""
        return self.metric != "entropic"

    def distance(self, parameters: ArrayLike) -> float:
        """Squared distance of standard parameters, shape (10 n,), from the prior."""
        x = np.asarray(parameters, dtype=float)
        if self.quadratic:
            matrix, target = self.rows()
            return float(np.sum((matrix @ x - target) ** 2) / self.weight)
        prior = Divergence(pseudo_inertia(self.parameters.reshape(-1, 10)))
        return 2.0 * float(prior.value(pseudo_inertia(x.reshape(-1, 10))).sum())

    def rows(self, around: ArrayLike | None = None) -> tuple[Array, Array]:
        """``(A, b)`` with ``weight distance(x) = ||A x - b||^2``; entropic: the second-order model, up to a constant.

        Parameters
        ----------
        around
            Where the entropic divergence is expanded, shape (10 n,); default: the prior.
        """
        at = self.parameters if around is None else np.asarray(around, dtype=float)
        size = standard_size(len(self.robot.links))
        A, b = np.zeros((size, size)), np.zeros(size)
        for k in range(len(self.robot.links)):
            link = link_slice(k)
            root, target = _expanded(self.metric, self.parameters[link], at[link])
            A[link, link], b[link] = np.sqrt(self.weight) * root, np.sqrt(self.weight) * target
        return A, b


def _expanded(metric: Metric, ten0: Array, at: Array) -> tuple[Array, Array]:
    """Root R, shape (10, 10), and target r of ``|R x - r|^2``: the distance from a body ten0, expanded at another."""
    if metric == "euclidean":
        return np.diag(1.0 / _sizes(ten0)), ten0 / _sizes(ten0)
    J, J0 = pseudo_inertia(at), pseudo_inertia(ten0)
    # |root dx|^2 = tr(J^-1 dJ J^-1 dJ), of the divergence's Hessian
    root = np.asarray(np.linalg.qr(divergence_root(J if metric == "entropic" else J0), mode="r"))
    if metric == "pullback":
        return root, root @ ten0
    # gradient 2 (J0^-1 - J^-1), Hessian 2 J^-1 . J^-1: the model's minimiser is J + J (J^-1 - J0^-1) J
    return root, root @ from_pseudo_inertia(2.0 * J - J @ np.linalg.solve(J0, J))


def _sizes(ten: Array) -> Array:
    """Typical size of each of a body's ten parameters: the inertia's trace, mass times its radius, mass."""
    mass = ten[9]
    inertia = max(float(np.trace(pseudo_inertia(ten)[:3, :3])), 1e-12)
    return np.array([inertia] * 6 + [np.sqrt(mass * inertia)] * 3 + [mass])


def chi_square(freedom: float, tail: float) -> float:
    """Value that a chi-square variable of so many degrees of freedom exceeds with probability ``tail``."""
    from scipy.special import chdtri  # imported late: it takes longer than the rest of casid together

    return float(chdtri(freedom, tail))
