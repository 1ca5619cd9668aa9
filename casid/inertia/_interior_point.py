"""The one interior point of casid: least log-det divergence plus squares over 4x4 blocks, with linear rows.

With the pseudo-inertia J of a body and J0 of a reference body, the log-det (entropic, Stein's) divergence is

    D(J || J0) = tr(J0^-1 J) - log det(J0^-1 J) - 4  >= 0,

zero at ``J = J0`` alone and infinite at the boundary of the physical set. It does not depend on units or frames. In
coordinates ``vec J = B x`` (B, shape (16, 10)) its derivatives are

    dD/dx_i = tr(E_i (J0^-1 - J^-1)),    d2D/dx_i dx_j = tr(E_i J^-1 E_j J^-1),    E_i: column i of B as a matrix,

and twice the second-order model at ``J = J0`` is the affine-invariant metric ``tr((J^-1 dJ)^2)``.

Three coordinates of symmetric 4x4 matrices are in use, each a matrix B:

* `PSEUDO_INERTIA_MAP`: the ten standard parameters of a body;
* `TRIANGLE_MAP`: the entries of the lower triangle, row by row;
* `ORTHONORMAL_MAP`: the same entries, those off the diagonal times sqrt(2) (``svec``): ``<A, B> = svec(A)' svec(B)``.

References
----------
T. Lee, P. M. Wensing, F. C. Park, "Geometric robot dynamic identification: a convex programming approach", IEEE
Transactions on Robotics 36(2), 2020, Sec. III. T. Lee, J. Kwon, F. C. Park, "A natural adaptive control law for robot
manipulators", IROS 2018.

Unknowns y are the lower triangles of the links' matrices ``M_k``, in coordinates in which the reference body of every
link is 1, and scalars u. With ``D`` (`Measure`) and ``q = ||A y - b||^2``

    minimise   D(y) + price q(y)   subject to   G y >= h                                             (docs, P4)

with slacks s = G y - h and multipliers z, ``s z -> mu``, and a dual matrix Z_k of each link, ``M_k Z_k -> 1``: D's
own logarithm is the barrier of the cone, so that the answers are points of the central path of the least-squares
problem and Nesterov and Todd's direction takes long steps along it. It converges from any start, and from the answer
at a similar price within a few steps. Unknowns and slacks, multipliers, and duals go each as far as they may alone
(the last two enter the curvature only), up to 0.9 of the way to the boundary, near the answer up to ``1 - Newton's
decrement``; mu falls to the lesser of ``mu / 10`` and ``mu^1.5``. The answer at a price is the most plausible of all
sets with ``q <= q(price)``: the path of prices is the path of tolerances, from the largest, where the references
themselves are the answer, to the smallest (`Climb`). With ``price = inf`` the squares are equations ``A y = b``.

Newton's system is solved in one of two forms: by unknowns (Cholesky of ``D'' + 2 price A'A + G' diag(z/s) G``), or,
without rows, by equations (``A D''^-1 A' + 1/(2 price)``, with the inverse of D'' in closed form, ``E -> W E W``),
where prices may be as large as they like and bodies as thin.

Where each solver is used, and why:

* **IPOPT** solves every retrieval and constrained regression: any expression of the user can be a constraint there.
  Of the plausible step it solves what is no program of the above kind: a nonlinear row that acts, a soft row, an
  equation, bodies whose common scale is unknown (`casid.retrieval.plausible`); and the regression with an entropic
  prior, whose rows are the user's too (`casid.identification`).
* **This interior point** solves what has no rows but linear ones, many times in turn: plausible sets along a path of
  shares, in 10 to 30 steps of less than 1 ms each, warm from one to the next; bodies nearest to
  given ones. Its duals make the proofs. (The start of a retrieval whose data determine everything is left to operator
  splitting, `casid.retrieval.program`: no divergence is wanted there, and its rough answers take 0.7 times as long.)
* **A primal path** with the same divergence serves on-line estimates (`casid.inertia.entropic`): it is physical after
  any number of steps, and the exported C follows the same path.
* **Closed forms**: base parameters and least squares (QR), the lower bounds of all of these (duality, in numpy).

References
----------
Y. Nesterov, M. Todd, "Primal-dual interior-point methods for self-scaled cones", SIAM J. Optimization 8(2), 1998. S.
Boyd, L. Vandenberghe, "Convex optimization", Cambridge 2004, Sec. 11.7.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import casadi as ca
import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from casid.arrays import ALIKE, ROUNDING, Array
from casid.inertia._cones import ORTHONORMAL_MAP, SVEC_WEIGHTS, TRIANGLE_MAP, lower_triangle, symmetric
from casid.inertia._parameters import PSEUDO_INERTIA_MAP, link_slice

# ------------------------------------------------------------------ divergence


def log_det(matrices: Array) -> Array:
    """``log det``, shape (...,), of symmetric matrices, shape (..., 4, 4); -inf where one is not positive definite."""
    try:
        diagonal = np.diagonal(np.linalg.cholesky(matrices), axis1=-2, axis2=-1)
    except np.linalg.LinAlgError:
        if matrices.ndim == 2:
            return np.array(-np.inf)
        return np.array([log_det(matrix) for matrix in matrices])
    return np.asarray(2.0 * np.log(diagonal).sum(axis=-1))


class Divergence:
    """The divergence ``D(. || J0)`` from reference bodies.

    Parameters
    ----------
    references
        J0, shape (..., 4, 4).
    """

    def __init__(self, references: Array) -> None:
        self.inverse: Array = np.asarray(np.linalg.inv(references), dtype=float)
        self._log_det = log_det(references)

    def value(self, matrices: Array) -> Array:
        """D of J, shape (..., 4, 4), each from its own reference; infinite where J or J0 is not positive definite."""
        trace = np.sum(self.inverse * matrices, axis=(-2, -1))
        value = trace - log_det(matrices) + self._log_det - 4.0
        return np.where(np.isfinite(value), value, np.inf)

    def gradient(self, matrices: Array, basis: Array = PSEUDO_INERTIA_MAP) -> Array:
        """Gradient in coordinates ``vec J = basis x``, shape (..., 10), at J, shape (..., 4, 4)."""
        left = self.inverse - np.linalg.inv(matrices)
        return np.asarray(left.reshape(*left.shape[:-2], 16) @ basis)


def divergence_root(matrices: Array, basis: Array = PSEUDO_INERTIA_MAP) -> Array:
    """Matrix A, shape (..., 16, 10), with Hessian ``A'A``: column i is ``vec(T^-1 E_i T^-T)`` with ``J = T T'``."""
    inverse = np.linalg.inv(np.linalg.cholesky(matrices))
    return congruent(np.asarray(np.swapaxes(inverse, -2, -1), dtype=float), basis)


def divergence_hessian(matrices: Array, basis: Array = PSEUDO_INERTIA_MAP) -> Array:
    """Hessian of D in coordinates ``vec J = basis x``, shape (..., 10, 10), at J, shape (..., 4, 4).

    It does not depend on the reference.
    """
    return _gram(divergence_root(matrices, basis))


def inverse_hessian(matrices: Array) -> Array:
    """Inverse of the Hessian of D in orthonormal coordinates, shape (..., 10, 10): it maps E to ``J E J``.

    Nothing is inverted, so that bodies with nearly no extent are no difficulty.
    """
    return _gram(congruent(np.asarray(np.linalg.cholesky(matrices), dtype=float), ORTHONORMAL_MAP))


def _gram(root: Array) -> Array:
    return np.asarray(np.swapaxes(root, -2, -1) @ root)


def congruent(F: Array, basis: Array) -> Array:
    """Columns ``vec(F' E_i F)``, shape (..., 16, columns); their Gram matrix is ``tr(E_i S E_j S)``, ``S = F F'``."""
    directions = basis.T.reshape(-1, 4, 4)
    turned = np.swapaxes(F, -2, -1)[..., None, :, :] @ directions @ F[..., None, :, :]
    return np.swapaxes(turned.reshape(*F.shape[:-2], len(directions), 16), -2, -1)


def log_det_function() -> ca.Function:
    """CasADi function log det of a lower triangle y, shape (10,); NaN where the matrix is not positive definite."""
    y = ca.SX.sym("y", 10)
    a = ca.tril2symm(ca.SX(ca.Sparsity.upper(4), y).T)
    logarithms = ca.SX(0)
    for i in range(4):
        logarithms += ca.log(a[i, i])
        if i < 3:
            a[i + 1 :, i + 1 :] = a[i + 1 :, i + 1 :] - a[i + 1 :, i] @ a[i, i + 1 :] / a[i, i]
    return ca.Function("log_det", [y], [logarithms])


# ------------------------------------------------------------------ interior point

_FROM_ONE = Divergence(np.eye(4))


@dataclass(frozen=True, eq=False)
class Measure:
    """D of links and of the unknowns u beyond them: value, derivatives and level sets.

    In coordinates in which every link's reference is 1, with sigma the logarithm of the common factor of those
    references whose masses are not known,

        D(y, sigma) = sum_k  exp(-sigma_k) tr M_k - log det M_k + 4 sigma_k - 4  +  sum_j t_j u_j^2
                      + weight sum_r  u_r / a_r - log((u_r / a_r + offset) / (1 + offset)) - 1         (docs, P2)

    The last sum is the divergence of a matrix of one row; the offset keeps it finite where u is zero. D is convex in y;
    in sigma its stationary point is unique.

    Attributes
    ----------
    scaled : ndarray of bool, shape (links,)
        Links whose references share the unknown factor.
    terms : ndarray, shape (u,)
        t_j.
    sizes : ndarray, shape (u,)
        Expected value a_r of an unknown that is not negative; 0 for any other.
    weight, offset : float
    """

    scaled: NDArray[np.bool_]
    terms: Array = field(default_factory=lambda: np.zeros(0))
    sizes: Array = field(default_factory=lambda: np.zeros(0))
    weight: float = 1.0
    offset: float = 0.0

    @property
    def links(self) -> int:
        """Number of links."""
        return len(self.scaled)

    @property
    def references(self) -> Array:
        """Unknowns of the references themselves, and of the expected u."""
        return np.concatenate([np.tile(lower_triangle(np.eye(4)), self.links), self.sizes])

    def matrices(self, y: Array) -> Array:
        """M_k, shape (links, 4, 4)."""
        return symmetric(y[: 10 * self.links].reshape(-1, 10))

    def scales(self, sigma: float) -> Array:
        """``exp(sigma_k)``, shape (links,)."""
        return np.where(self.scaled, np.exp(sigma), 1.0)

    def value(self, y: Array, sigma: float = 0.0) -> float:
        """D; infinite outside the cone."""
        bodies = _FROM_ONE.value(self.matrices(y) / self.scales(sigma)[:, None, None])
        u = y[10 * self.links :]
        share = self.inside(u) / (1.0 + self.offset)
        if (share <= 0).any():
            return float("inf")
        extras = self.weight * np.where(self.sizes > 0, share - np.log(share) - 1.0, 0.0)
        return float(bodies.sum() + self.terms @ u**2 + extras.sum())

    def gradient(self, y: Array, sigma: float = 0.0) -> Array:
        """By y, shape (N,)."""
        s, u = self.scales(sigma)[:, None], y[10 * self.links :]
        bodies = _FROM_ONE.gradient(self.matrices(y) / s[..., None], TRIANGLE_MAP) / s
        slope = self.weight * (1.0 / (1.0 + self.offset) - 1.0 / self.inside(u)) * self.rates
        return np.concatenate([bodies.ravel(), 2 * self.terms * u + slope])

    def curvature(self, u: Array) -> Array:
        """Second derivatives by u, shape (u,)."""
        return np.asarray(2 * self.terms + self.weight * (self.rates / self.inside(u)) ** 2)

    def reach(self, value: float, sigma: float) -> tuple[Array, Array, Array]:
        """Where D can be at most ``value``: largest traces, shape (links,), least and largest u, shape (u,)."""
        left = max(value, 0.0)
        traces = 4.0 * largest(left / 4.0) * self.scales(sigma)
        with np.errstate(divide="ignore"):
            most = np.where(self.terms > 0, np.sqrt(left / np.where(self.terms > 0, self.terms, 1.0)), np.inf)
        high = (1.0 + self.offset) * largest(left / self.weight) * self.sizes
        return traces, np.where(self.sizes > 0, -self.offset * self.sizes, -most), np.where(self.sizes > 0, high, most)

    @property
    def rates(self) -> Array:
        """``1 / a_r``; 0 for an unknown of any sign."""
        return np.where(self.sizes > 0, 1.0 / np.where(self.sizes > 0, self.sizes, 1.0), 0.0)

    def inside(self, u: Array) -> Array:
        """``u / a + offset``, positive where D is finite; 1 + offset for an unknown of any sign."""
        return np.where(self.sizes > 0, u * self.rates, 1.0) + self.offset


def largest(divergence: float) -> float:
    """Largest l with ``l - log l - 1 <= divergence``, by Newton's method from above."""
    value = 2.0 * divergence + 4.0
    for _ in range(100):
        step = (value - np.log(value) - 1.0 - divergence) / (1.0 - 1.0 / value)
        value -= step
        if abs(step) <= ROUNDING * value:
            break
    return float(value) * (1.0 + ALIKE)


#: Least slack of a row and the complementarity at first, at the references and near an answer; the latter of six
#: pairs the one with the fewest steps of all trials on the Panda's recording (2,098; with the former 2,956).
FIRST, NEARBY = (1e-2, 0.1), (1e-4, 1e-3)
#: Complementarity of the rows at first; and of an answer, with its Newton decrement: near it, roughly and exactly.
LOOSEST, NEAR, ROUGH, EXACT = 1e-6, (1e-6, 1.0), (1e-7, 1e-3), (1e-12, 1e-8)
#: Steps allowed for one price, roughly and exactly, and the share of the way to the boundary that a step goes at most.
STEPS, BOUNDARY = (400, 120), 0.9


@dataclass(frozen=True, eq=False)
class Point:
    """A point of the method: unknowns, slacks and multipliers of the rows, duals of the cones.

    ``slope`` is the change of q for a relative change of the price, ``solved`` whether the point is the answer.
    """

    y: Array
    slacks: Array
    multipliers: Array
    duals: Array
    steps: int = 0
    solved: bool = False
    slope: float = 0.0


class InteriorPoint:
    """The program of one problem.

    Parameters
    ----------
    measure
        D; the references' factor is known (sigma = 0).
    matrix, target
        ``q = ||matrix y - target||^2``.
    rows, least
        ``G y >= h``, shapes (rows, N), (rows,). Without them Newton's system is solved by equations.
    """

    def __init__(
        self, measure: Measure, matrix: Array, target: Array, rows: Array | None = None, least: Array | None = None
    ) -> None:
        self.measure, self._matrix, self._target = measure, matrix, target
        self._by_equations = rows is None
        rows = np.zeros((0, matrix.shape[1])) if rows is None else rows
        least = np.zeros(0) if least is None else least
        self._gram = np.zeros(0) if self._by_equations else matrix.T @ matrix
        self._sizes = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
        self._rows, self._least = rows / self._sizes[:, None], least / self._sizes

    def start(self, y: Array | None = None) -> Point:
        """A point with slacks inside, near an answer; default: the references."""
        floor, mu = FIRST if y is None else NEARBY
        y = self.measure.references if y is None else y
        slacks = np.maximum(self._rows @ y - self._least, floor * (1.0 + np.abs(self._least)))
        return Point(y, slacks, mu / slacks, np.asarray(np.linalg.inv(self.measure.matrices(y)), dtype=float))

    def residual(self, y: Array) -> float:
        """Q at y."""
        return float(np.sum((self._matrix @ y - self._target) ** 2))

    def row_multipliers(self, point: Point) -> Array:
        """Multipliers of the rows as given, >= 0."""
        return np.asarray(point.multipliers / self._sizes)

    def solve(
        self, point: Point, price: float, accuracy: tuple[float, float] = EXACT, steps: int | None = None
    ) -> Point:
        """The answer at a price, from a point; ``solved`` states whether it was reached, as exactly as asked for."""
        least, enough = accuracy
        now, mu = point, max(float(point.slacks @ point.multipliers) / max(len(point.slacks), 1), LOOSEST)
        floor = 1e-4 * np.sqrt(mu)
        now = replace(now, slacks=np.maximum(now.slacks, floor), multipliers=np.maximum(now.multipliers, floor))
        mu, slope, done = mu if len(now.slacks) else 0.0, 0.0, False
        for _ in range(STEPS[accuracy == EXACT] if steps is None else steps):
            try:
                now, decrement, slope, along = self._step(now, price, mu)
            except LinAlgError:  # a matrix on the boundary of its cone, within rounding
                break
            done = decrement < enough and (along == 1.0 or accuracy == NEAR) and mu <= least
            if done:
                break
            if decrement < 1.0 and mu:
                mu = max(min(0.1 * mu, mu**1.5), least)
        return replace(now, solved=done, slope=slope)

    def _step(self, at: Point, price: float, mu: float) -> tuple[Point, float, float, float]:
        """One step: the point, the decrement, the change of q with the logarithm of the price, the step's length."""
        from scipy.linalg import cho_factor, cho_solve  # a model is imported without scipy

        y, s, z, measure = at.y, at.slacks, at.multipliers, self.measure
        M = measure.matrices(y)
        scaled = Scaling.between(M, at.duals)
        missing, slope = self._rows @ y - self._least - s, 0.0
        missing[np.abs(missing) <= ROUNDING * (1.0 + np.abs(self._least))] = 0.0
        if self._by_equations:
            dy, decrement = self._by_equation(y, scaled.W, price)
        else:
            H = 2.0 * price * self._gram + (self._rows.T * (z / s)) @ self._rows
            for k, block in enumerate(scaled.hessian()):
                H[link_slice(k), link_slice(k)] += block
            beyond = np.arange(10 * measure.links, len(y))
            H[beyond, beyond] += measure.curvature(y[beyond])
            factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
            by_q = 2.0 * (self._matrix.T @ (self._matrix @ y - self._target))
            by_y = measure.gradient(y) + price * by_q
            both = cho_solve(
                factor, np.column_stack([-by_y + self._rows.T @ (mu / s - z / s * missing), by_q]), check_finite=False
            )
            dy, slope = both[:, 0], -price * float(by_q @ both[:, 1])
            decrement = float(np.sqrt(abs((by_y - self._rows.T @ (mu / s)) @ dy)))
        ds = self._rows @ dy + missing
        dz = mu / s - z - z / s * ds
        dM = measure.matrices(dy)
        dZ = scaled.inverse - at.duals - scaled.across(dM)
        u, du = (measure.inside(v[10 * measure.links :]) for v in (y, y + dy))
        share = max(BOUNDARY, 1.0 - decrement)
        primal = min(_inside(scaled.M_root, dM, share), _within(s, ds, share), _within(u, du - u, share))
        dual, cone = _within(z, dz, share), _inside(scaled.Z_root, dZ, share)
        made = Point(y + primal * dy, s + primal * ds, z + dual * dz, at.duals + cone * dZ, at.steps + 1)
        return made, decrement, slope, min(primal, dual)

    def _by_equation(self, y: Array, W: Array, price: float) -> tuple[Array, float]:
        """Direction and decrement without rows; the curvature of ``-log det`` is taken at W."""
        last = 10 * self.measure.links
        inverses = inverse_hessian(W) / np.outer(SVEC_WEIGHTS, SVEC_WEIGHTS)

        def inverse(rows: Array) -> Array:
            """``rows D''^-1``, shape (..., N)."""
            blocks = rows[..., :last].reshape(*rows.shape[:-1], self.measure.links, 10)
            links = np.einsum("...ki,kij->...kj", blocks, inverses).reshape(*rows.shape[:-1], last)
            return np.concatenate([links, rows[..., last:] / self.measure.curvature(y[last:])], axis=-1)

        by_y, left = self.measure.gradient(y), self._matrix @ y - self._target
        across = inverse(self._matrix)
        system, right = across @ self._matrix.T, left - across @ by_y
        dual = np.zeros(len(left))
        if np.isinf(price) and len(left):
            dual = np.linalg.lstsq(system, right, rcond=1e-14)[0]
        elif price:
            dual = np.linalg.solve(system + np.eye(len(left)) / (2.0 * price), right)
        dy = -inverse(by_y + self._matrix.T @ dual)
        bent = float(np.abs((by_y + self._matrix.T @ dual) @ dy))
        moved = self._matrix @ dy
        return dy, float(np.sqrt(bent + (0.0 if np.isinf(price) else 2.0 * price * float(moved @ moved))))


@dataclass(frozen=True, eq=False)
class Scaling:
    """Nesterov and Todd's scaling of matrices M and duals Z: W with ``W Z W = M``; M itself where ``Z = M^-1``.

    All of shape (links, 4, 4): W, ``M^-1``, and roots with ``F M F' = 1``, ``F Z F' = 1``, ``F W F' = 1``.
    """

    W: Array
    inverse: Array
    M_root: Array
    Z_root: Array
    W_root: Array

    @classmethod
    def between(cls, M: Array, Z: Array) -> Scaling:
        """Of positive definite matrices; LinAlgError for others."""
        values, V = np.linalg.eigh(M)
        if not values.min(initial=1.0) > 0:
            raise LinAlgError("a matrix is not positive definite")
        sizes = np.sqrt(values)[:, None, :]
        root, unroot = V * sizes @ np.swapaxes(V, 1, 2), V / sizes @ np.swapaxes(V, 1, 2)
        inner, turned = np.linalg.eigh(root @ Z @ root)
        if not inner.min(initial=1.0) > 0:
            raise LinAlgError("a dual matrix is not positive definite")
        back, quarter = np.swapaxes(turned, 1, 2), inner[:, :, None] ** 0.25
        half = root @ turned / np.swapaxes(quarter, 1, 2)
        return cls(
            half @ np.swapaxes(half, 1, 2), unroot @ unroot, unroot, back @ root / quarter**2, quarter * back @ unroot
        )

    def across(self, dM: Array) -> Array:
        """``W^-1 dM W^-1``."""
        inverse = np.swapaxes(self.W_root, 1, 2) @ self.W_root
        return np.asarray(inverse @ dM @ inverse)

    def hessian(self) -> Array:
        """Curvature of ``-log det`` at W in the entries of lower triangles, shape (links, 10, 10)."""
        return _gram(congruent(np.swapaxes(self.W_root, 1, 2), TRIANGLE_MAP))


def _inside(root: Array, change: Array, share: float) -> float:
    """Longest step, at most 1, that keeps matrices S positive definite, with ``root S root' = 1``."""
    falling = float(np.linalg.eigvalsh(root @ change @ np.swapaxes(root, 1, 2)).min(initial=0.0))
    return min(1.0, -share / falling) if falling < 0 else 1.0


def _within(s: Array, ds: Array, share: float) -> float:
    """Longest step, at most 1, that keeps numbers positive."""
    return float(np.min(-share * s[ds < 0] / ds[ds < 0], initial=1.0))


#: First price of the path of prices and the last one, in units of the least sum of squares asked for, and the largest
#: factor from one to the next.
CHEAP, DEAR, DEARER = 1e-9, 1e14, 30.0
#: Relative error to which the increase of the sum of squares meets its limit, the prices tried for it, and how many
#: of them may fail.
MET, TRIED, FAILURES = 1e-5, 25, 2


class Climb:
    """The path of growing prices, from the references to the data.

    Parameters
    ----------
    program, first
        The interior point and a point of it.
    least
        Least sum of squares of any consistent set.
    room
        Least sum of squares that will be asked for.
    met
        Relative error to which the increase over the least is met.
    """

    def __init__(self, program: InteriorPoint, first: Point, least: float, room: float, met: float = MET) -> None:
        self._program, self._point, self._least, self._met = program, first, least, met
        self._unit = 1.0 / max(least, room, 1e-300)
        self.price = 0.0

    def to(self, room: float) -> Point | None:
        """The point whose sum of squares is ``room``, within ``met`` of its increase over the least; None: none found.

        The logarithm of the increase falls almost linearly in that of the price: Newton's method within a bracket.
        """
        solve, price = self._program.solve, self.price or CHEAP * self._unit
        below, above, enough = 0.0, np.inf, 0.0  # prices that are too low, too high, and known to be high enough
        wanted = np.log(max(room - self._least, 1e-12 * room)) - 2 * self._met  # within the limit
        failures, accuracy = 0, ROUGH
        point = solve(self._point, price, accuracy)
        for _ in range(TRIED):
            if not point.solved:  # too far: a price between
                failures += 1
                if failures > FAILURES:
                    break
                price = float(np.sqrt(price * self.price)) if self.price else 0.1 * price
                point = solve(self._point, price, accuracy)
                continue
            self._point, self.price = point, price
            left = self._program.residual(point.y) - self._least
            now = np.log(left) if left > 0 else -np.inf
            if left > 0 and (abs(now - wanted) <= self._met or (now < wanted and below == 0.0)):
                if accuracy == EXACT:
                    return point
                accuracy, below, above = EXACT, below and price / DEARER, np.inf
                point = solve(point, price)
                continue
            if now > wanted:
                below = price
            else:
                above = price
                enough = price if left > 0 else enough
            steepness = point.slope / left if left > 0 else 0.0
            most = np.log(DEARER)
            price *= np.exp(np.clip((wanted - now) / steepness, -most, most)) if steepness < 0 else DEARER
            if not below < price < above:
                price = DEARER * below if np.isinf(above) else float(np.sqrt(max(below, 1e-6 * above) * above))
            if price > DEAR * self._unit:
                break
            point = solve(point, price, accuracy)
        if not enough:
            return None
        point, self.price = solve(solve(self._point, enough, ROUGH), enough), enough
        self._point = point
        return point if point.solved else None
