"""Consistent bodies nearest to given ones in log-det divergence, under linear equations, by Newton's method.

    minimise  sum_k tr(R_k^-1 J_k) - log det(R_k^-1 J_k)   subject to   A x = b

The congruence ``J = T' Z T`` with ``R = T' T`` makes every R the identity, so that the Hessian at the references is the
identity too, whatever the units. Newton steps from an infeasible start (Boyd and Vandenberghe 2004, Sec. 10.3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from casid.arrays import Array
from casid.inertia._divergence import (
    ORTHONORMAL_MAP,
    SVEC_WEIGHTS,
    Divergence,
    congruence,
    divergence_hessian,
    from_svec,
    inverse_hessian,
    to_svec,
)
from casid.inertia._parameter_vector import link_slice
from casid.inertia._parameters import consistency, pseudo_inertia

#: Newton steps; relative residual of the equations that counts as reached.
STEPS, REACHED = 200, 1e-12
#: Weight of the divergence at which the softened equations stop; bodies together up to this many times as large as
#: those found are covered by the bound of the distance.
LEAST, LARGE = 1e-17, 10.0
#: Smallest eigenvalue of a body's pseudo-inertia, relative to its reference, that iterations may reach.
_SMALLEST = 1e-12
#: Singular values of the scaled equations below this share of the largest count as zero.
RANK = 1e-10
#: Divergence from ``Z = 1``.
_FROM_ONE = Divergence(np.eye(4))


def nearest_bodies(A: Array, b: Array, given: Array, references: Array, free: Sequence[int]) -> Array | None:
    """Consistent bodies of least divergence from their references.

    Parameters
    ----------
    A, b
        Equations ``A x = b`` of all bodies' standard parameters x, shapes (rows, 10 bodies) and (rows,).
    given
        Standard parameters, shape (bodies, 10): the values of the bodies that are not free.
    references
        Consistent ones, shape (bodies, 10).
    free
        Indices of the bodies that may change.

    Returns
    -------
    ndarray, shape (bodies, 10), or None
        ``None``: no consistent bodies satisfy the equations (as far as Newton's method can determine).
    """
    free = list(free)
    maps = [_standard_of(references[k]) for k in free]
    held = given.copy()
    held[free] = 0.0
    right = b - A @ held.ravel()
    scaled = np.hstack([A[:, link_slice(k)] @ M for k, M in zip(free, maps, strict=True)])
    rows = _independent(scaled, right)
    if rows is None:
        return None
    Q, r = rows
    z = _newton(Q, r, len(free))
    if z is None:
        return None
    result = given.copy()
    for k, M, zk in zip(free, maps, z, strict=True):
        result[k] = M @ zk
    result = _polished(A, b, result, free)
    if all(consistency(result[k]).full for k in free):
        return result
    return None


def _standard_of(reference: Array) -> Array:
    """Matrix M, shape (10, 10), with ``x = M z``: z are orthonormal coordinates of Z with ``J = T' Z T``, R = T' T."""
    return congruence(np.linalg.cholesky(pseudo_inertia(reference))) / SVEC_WEIGHTS


def _independent(scaled: Array, right: Array) -> tuple[Array, Array] | None:
    """Orthonormal rows of the equations; ``None`` where they contradict each other."""
    if not len(right):
        return np.zeros((0, scaled.shape[1])), right
    size = np.linalg.norm(scaled, axis=1)
    scale = np.where(size > 0, size, 1.0)
    U, s, Vt = np.linalg.svd(scaled / scale[:, None], full_matrices=False)
    keep = s > RANK * max(float(s.max(initial=0.0)), 1e-300)
    projected = U.T @ (right / scale)
    left = right / scale - U[:, keep] @ projected[keep]
    if np.abs(left * scale).max() > 1e-10 * max(float(np.abs(right).max()), float(size.max()), 1e-300):
        return None
    return Vt[keep], projected[keep] / s[keep]


def _newton(Q: Array, r: Array, count: int) -> Array | None:
    """Minimise ``sum tr Z - log det Z`` subject to ``Q z = r`` from Z = 1; shape (count, 10)."""
    z = _start(count)
    dual = np.zeros(len(r))
    tolerance = REACHED * max(float(np.abs(r).max(initial=0.0)), 1.0)
    for _ in range(STEPS):
        Z = from_svec(z)
        gradient = _FROM_ONE.gradient(Z, ORTHONORMAL_MAP)
        H, H_inverse = divergence_hessian(Z, ORTHONORMAL_MAP), inverse_hessian(Z)
        primal = (Q @ z.ravel()) - r
        blocks = Q.reshape(len(r), count, 10)
        QH = np.einsum("rki,kij->rkj", blocks, H_inverse).reshape(len(r), 10 * count)
        new_dual = np.linalg.lstsq(QH @ Q.T, primal - QH @ gradient.ravel(), rcond=1e-14)[0]
        step = -np.einsum("kij,kj->ki", H_inverse, gradient + (Q.T @ new_dual).reshape(count, 10))
        before = _residual(gradient, Q, dual, primal)
        decrement = float(np.einsum("ki,kij,kj->", step, H, step))
        if np.abs(primal).max(initial=0.0) <= tolerance and decrement < 1e-16:
            return z
        t = _largest_step(Z, step)
        while t > 1e-10:
            trial = z + t * step
            values = from_svec(trial)
            trial_gradient = _FROM_ONE.gradient(values, ORTHONORMAL_MAP)
            trial_dual = dual + t * (new_dual - dual)
            if _residual(trial_gradient, Q, trial_dual, Q @ trial.ravel() - r) <= (1 - 0.1 * t) * before:
                break
            t *= 0.5
        else:
            return z if np.abs(primal).max(initial=0.0) <= tolerance else None
        z, dual = trial, trial_dual
    return z if np.abs(Q @ z.ravel() - r).max(initial=0.0) <= tolerance else None


def _residual(gradient: Array, Q: Array, dual: Array, primal: Array) -> float:
    return float(np.hypot(np.linalg.norm(gradient.ravel() + Q.T @ dual), np.linalg.norm(primal)))


def _largest_step(Z: Array, step: Array) -> float:
    """Longest step of at most 1 that keeps all matrices positive definite, with room to spare."""
    root = np.linalg.inv(np.linalg.cholesky(Z))
    change = np.einsum("kab,kbc,kdc->kad", root, from_svec(step), root)
    least = float(np.linalg.eigvalsh(change).min())
    return 1.0 if least > -0.9 else -0.9 / least


def nearest_right_side(A: Array, b: Array, references: Array) -> tuple[Array, float]:
    """Consistent bodies whose ``A x`` is nearest to b, and of those the ones of least divergence.

    Minimises ``|A x - b|^2 / (2 eps) + divergence`` for a falling eps. At the optimum ``A'l = eps (R^-1 - J^-1)`` with
    ``l = b - A x``, so that for all bodies x' that are together at most `LARGE` times as large (``tr R^-1 J'``)

        |A x' - b|^2 / 2  >=  l'b - l'l / 2 - l'A x'  >=  l'b - l'l / 2 - eps LARGE tr R^-1 J,

    from which follows a bound of the distance that needs no trust in the optimiser.

    Returns
    -------
    bodies : ndarray, shape (bodies, 10)
    bound : float
        No consistent bodies of that size come nearer.
    """
    count = len(references)
    maps = [_standard_of(ten) for ten in references]
    S = np.hstack([A[:, link_slice(k)] @ M for k, M in enumerate(maps)])
    size = float(np.linalg.norm(S, 2))
    U, s, Vt = np.linalg.svd(S / size, full_matrices=False)
    keep = s > 1e-14
    rows, right = s[keep, None] * Vt[keep], U[:, keep].T @ b / size
    lost = float(np.linalg.norm(b / size - U[:, keep] @ right))
    z, epsilon = _start(count), 1.0
    duals: list[tuple[float, float]] = []
    while True:
        z, exact = _soft(rows, right, z, epsilon)
        left = right - rows @ z.ravel()
        # l'A x' = <adjoint, J'> <= (largest eigenvalue) tr R^-1 J': in exact arithmetic at most eps
        adjoint = from_svec(rows.T @ left)
        excess = max(float(np.linalg.eigvalsh(adjoint).max()), 0.0)
        duals.append((float(left @ right - left @ left / 2), excess))
        room = LARGE * max(float((_start(count) * z).sum()), 4.0 * count)
        reached = left @ left <= 1e-24 * (right @ right) or epsilon * room <= 1e-6 * (left @ left)
        if reached or not exact or epsilon <= LEAST:
            break
        epsilon *= 0.1
    bound = max(value - excess * room for value, excess in duals)
    result = np.array([M @ zk for M, zk in zip(maps, z, strict=True)])
    return result, size * float(np.sqrt(2 * max(bound, 0.0) + lost**2))


def _start(count: int) -> Array:
    return np.tile(to_svec(np.eye(4)), (count, 1))


def _soft(Q: Array, r: Array, z: Array, epsilon: float) -> tuple[Array, bool]:
    """Minimise ``sum tr Z - log det Z + |Q z - r|^2 / (2 epsilon)`` from a start inside, shape (count, 10).

    The second value is false where rounding leaves no direction of descent: a smaller epsilon leads nowhere then.
    """
    count, trace = len(z), _start(len(z))
    blocks = Q.reshape(len(r), count, 10)

    def rise(z: Array, step: Array) -> float:
        """Change of the objective along a step, without the cancellation of two large values."""
        root = np.linalg.inv(np.linalg.cholesky(from_svec(z)))
        change = np.einsum("kab,kbc,kdc->kad", root, from_svec(step), root)
        along, off = Q @ step.ravel(), Q @ z.ravel() - r
        spread = float(np.log1p(np.linalg.eigvalsh(change)).sum())
        return float((trace * step).sum() - spread + along @ (off + along / 2) / epsilon)

    for _ in range(STEPS):
        Z = from_svec(z)
        gradient, H_inverse = _FROM_ONE.gradient(Z, ORTHONORMAL_MAP), inverse_hessian(Z)
        off = Q @ z.ravel() - r
        QH = np.einsum("rki,kij->rkj", blocks, H_inverse).reshape(len(r), 10 * count)
        dual = np.linalg.solve(QH @ Q.T + epsilon * np.eye(len(r)), off - QH @ gradient.ravel())
        step = -np.einsum("kij,kj->ki", H_inverse, gradient + (Q.T @ dual).reshape(count, 10))
        full = gradient.ravel() + Q.T @ (off / epsilon)
        decrease = -float(full @ step.ravel())
        if decrease < 1e-12:
            return z, decrease > -1e-6
        t = _largest_step(Z, step)
        while t > 1e-8 and not rise(z, t * step) <= -1e-4 * t * decrease:
            t *= 0.5
        trial = from_svec(z + t * step)
        if t <= 1e-8 or np.linalg.eigvalsh(trial).min() < _SMALLEST:
            return z, False  # as near to bodies without extent as numbers allow
        z = z + t * step
    return z, True


def _polished(A: Array, b: Array, x: Array, free: list[int]) -> Array:
    """The equations satisfied to rounding: one projection, scaled by the bodies' sizes."""
    if not len(b):
        return x
    columns = np.concatenate([np.r_[link_slice(k)] for k in free])
    scale = np.abs(x.ravel()[columns]) + 1e-12
    scale = np.maximum(scale, 1e-6 * scale.max())
    result = x.copy().ravel()
    for _ in range(2):
        left = b - A @ result
        result[columns] += scale * np.linalg.lstsq(A[:, columns] * scale, left, rcond=1e-13)[0]
    return np.asarray(result.reshape(x.shape))
