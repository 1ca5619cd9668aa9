"""The load's own system of equations, from R factors of recordings with and without it; intervals of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casid.arrays import RANK, ROUNDING, Array
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.evidence import CONFIDENCE, jackknife
from casid.inertia import STANDARD_NAMES, express_in
from casid.measurement import Dataset
from casid.regression import filtered_blocks, lengths, motion


def quantities(size: int, centre: Array | None = None) -> dict[str, tuple[Array, Array | None]]:
    """Quantities with an interval, as linear forms of load and drifts, and the form of the mass which divides them.

    ``Lxx ... Lzz`` about the frame's origin, ``m``, ``cx, cy, cz``, and ``Ixx ... Izz`` about a centre, if it is given.
    """
    units = np.eye(size)
    found: dict[str, tuple[Array, Array | None]] = {STANDARD_NAMES[k]: (units[k], None) for k in (*range(6), 9)}
    found |= {f"c{axis}": (units[6 + k], units[9]) for k, axis in enumerate("xyz")}
    if centre is not None:
        moved = np.array([express_in(unit[:10], np.eye(3), -centre) for unit in units[:10]])
        found |= {f"I{STANDARD_NAMES[k][1:]}": (np.pad(moved[:, k], (0, size - 10)), None) for k in range(6)}
    return found


def inflation(
    left_out: Sequence[Array], x: Array, variance: float, whole: Array, known: Array, centre: Array | None = None
) -> dict[str, float]:
    """By how much the variance of each quantity exceeds what noise explains; at least 1.

    Its variance is that of what is known of the robot, and of the jackknife over the stretches of either kind of
    recording (`casid.evidence.jackknife`).

    Parameters
    ----------
    left_out
        x with each stretch left out, shape (G, N) of each kind (`LoadStack.without_stretches`).
    x
        Load, then drifts, shape (N,).
    variance, whole, known
        Of a residual, and the covariances that belong to a residual of size 1 (`LoadStack.covariances`).
    centre
        Of `quantities`.
    """
    found = {}
    for name, (form, mass) in quantities(len(x), centre).items():
        slope = form if mass is None else (form - (form @ x) / (mass @ x) * mass) / (mass @ x)
        made = float((slope @ whole) @ slope)
        measured = float((slope @ known) @ slope) * variance
        for part in left_out:
            measured += float(jackknife(part @ form if mass is None else part @ form / (part @ mass)))
        enough = np.isfinite(measured) and made > 0 and variance > 0
        found[name] = max(1.0, measured / (variance * made)) if enough else 1.0
    return found


def together(count: int, freedom: float) -> float:
    """Square of Student's quantile, so that ``count`` intervals hold together with the confidence (Sidak 1967)."""
    from scipy.special import stdtrit  # slow to import

    return float(stdtrit(freedom, (1.0 + CONFIDENCE ** (1.0 / count)) / 2.0)) ** 2


def load_intervals(
    R: Array, x: Array, tolerance: float, wider: Mapping[str, float] | None = None, centre: Array | None = None
) -> dict[str, tuple[float, float]]:
    """Intervals of the ellipsoid ``||R (z - x)||^2 <= tolerance``; ``wider`` multiplies the tolerance by quantity.

    Of ``Lxx ... Lzz, m, cx, cy, cz``, and ``Ixx ... Izz`` about a centre, if it is given.
    """
    scale = lengths((R**2).sum(axis=0))
    _, s, Vt = np.linalg.svd(R / scale, full_matrices=True)
    values = np.zeros(R.shape[1])
    values[: len(s)] = s
    sure = values > RANK * values[0]
    inverse = (Vt[sure].T / values[sure]) / scale[:, None]
    free = (Vt[~sure].T) / scale[:, None]
    found = {}
    for name, (form, mass) in quantities(len(x), centre).items():
        allowed = tolerance * (wider or {}).get(name, 1.0)
        if mass is None:
            middle, half = float(form @ x), _half(form, inverse, free, allowed, scale)
            found[name] = (middle - half, middle + half)
        else:
            found[name] = _ratio(form, mass, x, inverse, free, allowed, scale)
    return found


def _half(c: Array, inverse: Array, free: Array, tolerance: float, scale: Array) -> float:
    if free.size and np.abs(c @ (free * scale[:, None])).max() > np.sqrt(RANK):  # less is rounding
        return float("inf")
    return float(np.sqrt(tolerance) * np.linalg.norm(c @ inverse))


def _ratio(
    a: Array, b: Array, x: Array, inverse: Array, free: Array, tolerance: float, scale: Array
) -> tuple[float, float]:
    """Fieller's interval of ``a'z / b'z``: all t with ``((a - t b)'x)^2 <= tolerance |(a - t b)'B|^2``."""
    if not np.isfinite(_half(a, inverse, free, tolerance, scale) + _half(b, inverse, free, tolerance, scale)):
        return -np.inf, np.inf
    va, vb = a @ inverse, b @ inverse
    A = float(b @ x) ** 2 - tolerance * float(vb @ vb)
    B = -2.0 * (float(a @ x) * float(b @ x) - tolerance * float(va @ vb))
    C = float(a @ x) ** 2 - tolerance * float(va @ va)
    root = B**2 - 4 * A * C
    if A <= 0 or root < 0:
        return -np.inf, np.inf
    ends = sorted(((-B - np.sqrt(root)) / (2 * A), (-B + np.sqrt(root)) / (2 * A)))
    return float(ends[0]), float(ends[1])


@dataclass(frozen=True, eq=False)
class Resting:
    """Which joints rest at each sample, and their friction: arrays of shape (N, n).

    Attributes
    ----------
    mask : ndarray of bool
    shift : ndarray
        Middle of the friction's band less the friction of the model [N.m]; zero in motion.
    band : ndarray
        Half the band [N.m]; zero in motion.
    """

    mask: NDArray[np.bool_]
    shift: Array
    band: Array

    @classmethod
    def of(cls, friction: Callable[[Array], Array], dq: Array, speed: Array) -> Resting:
        """From the joint terms' torque as a function of the velocities, shapes (N, n)."""
        mask = np.abs(dq) < speed
        if not mask.any():
            return cls(mask, np.zeros(dq.shape), np.zeros(dq.shape))
        up, down = (friction(np.where(mask, sign * speed, dq)) for sign in (1.0, -1.0))
        shift = np.where(mask, (up + down) / 2.0 - friction(dq), 0.0)
        return cls(mask, shift, np.where(mask, np.abs(up - down) / 2.0, 0.0))


#: Rows and targets of what is known of the robot's base parameters (`casid.regression.Fit.information`).
Known = tuple[ArrayLike, ArrayLike]
#: Speed below which a recording is one of poses [rad/s or m/s], and most samples of such a recording.
STILL, MOST_POSES = 1e-3, 2000
#: Stretches of a recording that are left out in turn: Student's quantile of nine degrees of freedom is 15 % above the
#: normal one.
STRETCHES = 10


def load_stack(
    model: Model,
    loaded: Dataset | Sequence[Dataset],
    unloaded: Dataset | Sequence[Dataset] | None,
    parameters: ArrayLike | None,
    drift: bool,
    information: Known | None = None,
) -> LoadStack:
    """R factors of recordings with and without a load; arguments as in `payload`."""
    given = None if parameters is None else np.asarray(parameters, dtype=float)
    stack = LoadStack(model, given, drift, information)
    for data in recordings(unloaded):
        stack.add(data, False)
    for data in recordings(loaded):
        stack.add(data, True)
    return stack


def recordings(given: Dataset | Sequence[Dataset] | None) -> tuple[Dataset, ...]:
    """One recording, several or none as a tuple."""
    return () if given is None else (given,) if isinstance(given, Dataset) else tuple(given)


class LoadStack:
    """R factors of ``[W_b, W_l, drift, tau]`` joint by joint, and from them the load's own system.

    ``held``: these rows themselves and half the band of dry friction, joint by joint, where all recordings are of poses
    at rest; else ``None``.
    """

    def __init__(self, model: Model, parameters: Array | None, drift: bool, information: Known | None = None) -> None:
        if parameters is not None and parameters.shape != (len(model.parameter_names),):
            raise DatasetError(f"payload: expected {len(model.parameter_names)} parameters, got {parameters.shape}")
        self.model, self.parameters = model, parameters if information is None else None
        self.base = 0 if self.parameters is not None else model.base.rank
        self.drift = [f"{kind}{k + 1}" for kind in ("fo", "fc") for k in range(model.n)] if drift else []
        self._known = self._prior(information)
        self._stretches: list[tuple[bool, list[list[Array]]]] = []
        self._loaded: list[list[Array]] = [[] for _ in range(model.n)]
        self.samples = np.zeros(model.n)
        self.weights = np.ones(model.n)
        self.independent = np.zeros(model.n)
        self.held: list[list[Array]] | None = [[] for _ in range(model.n)]

    def add(self, data: Dataset, loaded: bool) -> None:
        """Add the rows of one recording."""
        if data.n != self.model.n or data.dq is None or data.ddq is None:
            raise DatasetError(
                f"{data.name}: expected a processed recording of {self.model.n} joints, velocities and accelerations "
                "included"
            )
        source = motion(data)
        assert source.dq is not None and source.ddq is not None
        names = self.model.regressor.name_in()
        if len(names) != 3:
            raise DatasetError(f"payload: the model's regressor has the input '{names[-1]}'; leave that joint term out")
        q, dq, ddq = source.q, source.dq, source.ddq
        n, last = self.model.n, np.asarray(self.model.link_columns[-1])
        independent = list(self.model.base.independent)

        def evaluate(part: slice) -> Array:
            Y = self.model.regressor(q[part], dq[part], ddq[part])
            columns = [Y[:, :, last]]
            if self.parameters is None:
                columns.insert(0, Y[:, :, independent])
            else:
                columns.append((Y @ self.parameters)[:, :, None])
            columns += [np.sign(dq[part])[:, :, None], self._band(q[part], ddq[part])[:, :, None]]
            return np.concatenate(columns, axis=2)

        if np.abs(dq).max() > STILL or len(data) > MOST_POSES:
            self.held = None
        edges = np.linspace(0, len(data), STRETCHES + 1).astype(int)
        stretches: list[list[list[Array]]] = [[[] for _ in range(n)] for _ in range(STRETCHES)]
        self._stretches += [(loaded, stretch) for stretch in stretches]
        for first, block in filtered_blocks(data, evaluate):
            stop = first + len(block)
            for start, end in pairwise([first, *edges[(edges > first) & (edges < stop)].tolist(), stop]):
                rows, part = block[start - first : end - first], int(np.searchsorted(edges, start, side="right")) - 1
                for k in range(n):
                    stretches[part][k].append(self._joint(k, rows[:, k], data, slice(start, end), loaded))
        counted = np.full(n, len(data)) if data.mask is None else data.mask.sum(axis=0)
        self.samples += counted
        self.independent += counted / (1.0 if data.full is None else data.full.correlation)

    def _prior(self, information: Known | None) -> Array:
        """Rows of what is known of the robot alone, as those of the joints; errors of unit variance."""
        width = self.base + 11 + len(self.drift)
        if information is None:
            return np.zeros((0, width))
        rows, targets = (np.asarray(part, dtype=float) for part in information)
        if rows.ndim != 2 or rows.shape[1] != self.base or targets.shape != rows.shape[:1]:
            raise DatasetError(
                f"payload: expected information of {self.base} base parameters, shapes (r, {self.base}) and (r,), got "
                f"{rows.shape} and {targets.shape}"
            )
        return np.column_stack([rows, np.zeros((len(rows), width - 1 - self.base)), targets])

    def _joint(self, k: int, block: Array, data: Dataset, rows: slice, loaded: bool) -> Array:
        """R factor of some rows of a joint."""
        keep = slice(None) if data.mask is None else data.mask[rows, k]
        part = block[keep]
        base, load = part[:, : self.base], part[:, self.base : self.base + 10]
        sign, band = part[:, -2], part[:, -1]
        known = part[:, self.base + 10] if self.parameters is not None else np.zeros(len(part))
        drift = np.zeros((len(part), len(self.drift)))
        if self.drift and loaded:
            drift[:, k], drift[:, self.model.n + k] = 1.0, sign
        tau = data.tau[rows, k][keep]
        made = np.column_stack([base, load if loaded else np.zeros_like(load), drift, tau - known])
        if loaded:
            self._loaded[k].append(_triangle(np.column_stack([made, tau])))
        if self.held is not None:
            self.held[k].append(np.column_stack([made, band]))
        return _triangle(made)

    def _band(self, q: Array, ddq: Array) -> Array:
        """Half the band of dry friction by the robot's parameters at poses at rest, shape (N, n) [N.m]; else zero."""
        if self.held is None or self.parameters is None:
            return np.zeros(q.shape)
        # a speed that is rounding has the whole of dry friction and no other torque
        slow, parameters = np.full(self.model.n, max(self.model.velocity_deadband, ROUNDING)), self.parameters

        def torque(velocities: Array) -> Array:
            return np.asarray(self.model.regressor(q, velocities, ddq) @ parameters)

        return Resting.of(torque, np.zeros(q.shape), slow).band

    def factors(self) -> list[Array]:
        """R factor of each joint's ``[W_b, W_l, drift, tau]``."""
        return [_triangle(np.vstack([r for _, s in self._stretches for r in s[k]])) for k in range(self.model.n)]

    def compressed(self) -> tuple[Array, Array, float, float]:
        """R, r of the load and the drifts, the residual sum of squares, and the degrees of freedom.

        Joints are weighted by 1/RMS of their residual.
        """
        factors = self.factors()
        alike = np.vstack(factors)
        x = scaled_least_squares(alike[:, :-1], alike[:, -1])[0]
        sizes = np.array([np.linalg.norm(f[:, :-1] @ x - f[:, -1]) for f in factors])
        self.weights = np.divide(np.sqrt(self.samples), sizes, out=np.zeros_like(sizes), where=sizes > 0)
        stack = np.vstack([*(w * f for w, f in zip(self.weights, factors, strict=True)), self.known])
        R: Array = np.asarray(np.linalg.qr(stack, mode="r"))
        width = stack.shape[1]
        self._whole = R
        self._beta = R[: self.base, :-1], R[: self.base, -1]  # base parameters in terms of the rest
        own, target = self._own(R)
        left = float(np.sum(R[width - 1 :, width - 1] ** 2))
        if not own[:, :10].any() or np.linalg.norm(own[:, 9]) <= RANK * np.linalg.norm(stack[:, self.base + 9]):
            raise DatasetError("payload: the load has no effect on these torques; record motion against gravity")
        return own, target, left, max(float(self.independent.sum()) - width + 1, 1.0)

    @property
    def known(self) -> Array:
        """Rows of what is known of the robot alone, in units in which a residual of the recordings is 1."""
        scale = np.sqrt(max(float(self.samples.sum()), 1.0) / max(float(self.independent.sum()), 1.0))
        return np.asarray(scale * self._known)

    def _own(self, R: Array) -> tuple[Array, Array]:
        """The load's own equations, from the R factor of all."""
        rest = slice(self.base, R.shape[1] - 1)
        return R[rest, rest], R[rest, R.shape[1] - 1]

    def covariances(self) -> tuple[Array, Array]:
        """Of load and drifts, shape (10 + drifts, ...) each, for residuals of size 1; after `compressed`.

        The whole, and the part of it that errors of what is known of the robot make. Directions that are not determined
        are left out.
        """
        width = self._whole.shape[1] - 1
        _, root = scaled_inverse(self._whole[:width, :width])
        own = root[self.base :]
        moved = self.known[:, :-1] @ root @ own.T
        return np.asarray(own @ own.T), np.asarray(moved.T @ moved)

    def without_stretches(self) -> list[Array]:
        """Load and drifts with each stretch of the recordings left out in turn, shape (stretches, 10 + drifts).

        One array for the recordings without the load, one for those with it; after `compressed`.
        """
        parts = [
            (loaded, _triangle(np.vstack([w * r for w, rows in zip(self.weights, joints, strict=True) for r in rows])))
            for loaded, joints in self._stretches
            if any(len(r) for rows in joints for r in rows)
        ]
        before, after = [self.known], [self.known[:0]]  # R factors of the stretches before and after each
        for (_, first), (_, last) in zip(parts, reversed(parts), strict=True):
            before.append(_triangle(np.vstack([before[-1], first])))
            after.append(_triangle(np.vstack([after[-1], last])))
        found: list[Array] = []
        for kind in (False, True):
            chosen = [k for k, (loaded, _) in enumerate(parts) if loaded is kind]
            if len(chosen) >= 3:
                rest = [np.vstack([before[k], after[len(parts) - 1 - k]]) for k in chosen]
                factors = [np.asarray(np.linalg.qr(rows, mode="r")) for rows in rest]
                found.append(np.array([least_norm(*self._own(R)) for R in factors]))
        return found

    def errors(self, x: Array) -> tuple[float, float]:
        """Relative error of the loaded recordings without and with the load [%]; the robot as fitted with it."""
        factors = [_triangle(np.vstack(rows)) for rows in self._loaded]
        R, target = self._beta
        beta: Array = np.zeros(0)
        if self.base:
            beta = np.asarray(np.linalg.lstsq(R[:, : self.base], target - R[:, self.base :] @ x, rcond=RANK)[0])
        whole = np.concatenate([beta, x])
        without = np.concatenate([beta, np.zeros(10), x[10:]])
        size = np.sqrt(sum(float(f[:, -1] @ f[:, -1]) for f in factors))
        made = [np.sqrt(sum(float(np.sum((f[:, :-2] @ z - f[:, -2]) ** 2)) for f in factors)) for z in (without, whole)]
        return 100.0 * float(made[0] / size), 100.0 * float(made[1] / size)


def scaled_inverse(A: Array) -> tuple[Array, Array]:
    """``U, B`` with ``A B = U`` orthonormal: ``B U'b`` solves ``A x = b``; columns scaled, rounding left out."""
    scale = lengths((A**2).sum(axis=0))
    U, s, Vt = np.linalg.svd(A / scale, full_matrices=False)
    sure = s > RANK * s[0]
    return U[:, sure], (Vt[sure].T / s[sure]) / scale[:, None]


def scaled_least_squares(A: Array, b: Array) -> tuple[Array, Array]:
    """Least squares of least norm with scaled columns, and the deviations of its unknowns for residuals of size 1."""
    U, root = scaled_inverse(A)
    return root @ (U.T @ b), np.linalg.norm(root, axis=1)


def least_norm(R: Array, r: Array) -> Array:
    """Load and drifts of their own equations; 0 where nothing determines them."""
    return np.asarray(np.linalg.lstsq(R, r, rcond=RANK)[0], dtype=float)


def _triangle(rows: Array) -> Array:
    """R factor of rows, or the rows themselves where they are few."""
    return np.asarray(np.linalg.qr(rows, mode="r"), dtype=float) if len(rows) > rows.shape[1] else rows
