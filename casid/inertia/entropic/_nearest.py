"""Consistent bodies nearest to given ones in log-det divergence, under linear equations.

    minimise  sum_k tr(R_k^-1 J_k) - log det(R_k^-1 J_k)   subject to   A x = b

The congruence ``J = F Y F'`` with ``R = F F'`` makes every R the identity, whatever the units; the program is that of
`casid.inertia.InteriorPoint` without rows, the equations its squares at an infinite price.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from casid.arrays import RANK, ROUNDING, Array
from casid.inertia._interior_point import NEAR, ROUGH, InteriorPoint, Measure
from casid.inertia._parameters import SVEC_WEIGHTS, congruence, consistency, link_slice, pseudo_inertia, symmetric

#: Weight of the divergence at which the softened equations stop; bodies together up to this many times as large as
#: those found are covered by the bound of the distance.
LEAST, LARGE = 1e-17, 10.0
#: Share of the squared distance by which its bound may be lower.
SHARP = 1e-6


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
        ``None``: no consistent bodies satisfy the equations (as far as the interior point can determine).
    """
    free = list(free)
    maps = [congruence(np.linalg.cholesky(pseudo_inertia(references[k]))) for k in free]
    result = given.copy()
    result[free] = 0.0
    right = b - A @ result.ravel()
    rows = _independent(np.hstack([A[:, link_slice(k)] @ C for k, C in zip(free, maps, strict=True)]), right)
    if rows is None:
        return None
    program = InteriorPoint(Measure(np.zeros(len(free), dtype=bool)), *rows)
    found = program.solve(program.start(), np.inf)
    if not found.solved:
        return None
    for k, C, y in zip(free, maps, found.y.reshape(-1, 10), strict=True):
        result[k] = C @ y
    result = _with_equations(A, b, result, free)
    return result if all(consistency(result[k]).full for k in free) else None


def _independent(scaled: Array, right: Array) -> tuple[Array, Array] | None:
    """Orthonormal rows of the equations; ``None`` where they contradict each other."""
    if not len(right):
        return np.zeros((0, scaled.shape[1])), right
    size = np.linalg.norm(scaled, axis=1)
    scale = np.where(size > 0, size, 1.0)
    U, s, Vt = np.linalg.svd(scaled / scale[:, None], full_matrices=False)
    keep = s > RANK * s.max()
    projected = U.T @ (right / scale)
    left = right / scale - U[:, keep] @ projected[keep]
    if np.abs(left * scale).max() > RANK * max(float(np.abs(right).max()), float(size.max())):
        return None
    return Vt[keep], projected[keep] / s[keep]


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
    maps = [congruence(np.linalg.cholesky(pseudo_inertia(ten))) for ten in references]
    S = np.hstack([A[:, link_slice(k)] @ C for k, C in enumerate(maps)])
    size = float(np.linalg.norm(S, 2))
    U, s, Vt = np.linalg.svd(S / size, full_matrices=False)
    keep = s > len(s) * np.finfo(float).eps
    rows, right = s[keep, None] * Vt[keep], U[:, keep].T @ b / size
    lost = float(np.linalg.norm(b / size - U[:, keep] @ right))
    program = InteriorPoint(Measure(np.zeros(len(maps), dtype=bool)), rows, right)
    point, epsilon = program.start(), 1.0
    duals: list[tuple[float, float]] = []
    while True:
        made = program.solve(program.solve(point, 0.5 / epsilon, NEAR), 0.5 / epsilon, ROUGH)
        if not made.solved:
            break  # as near to bodies without extent as numbers allow
        point = made
        left = right - rows @ point.y
        # l'A x' = <adjoint, J'> <= (largest eigenvalue) tr R^-1 J': in exact arithmetic at most eps
        adjoint = symmetric((rows.T @ left).reshape(-1, 10) / SVEC_WEIGHTS**2)
        excess = max(float(np.linalg.eigvalsh(adjoint).max()), 0.0)
        duals.append((float(left @ right - left @ left / 2), excess))
        room = LARGE * max(float(np.trace(program.measure.matrices(point.y), axis1=1, axis2=2).sum()), 4.0 * len(maps))
        reached = left @ left <= ROUNDING**2 * (right @ right) or epsilon * room <= SHARP * (left @ left)
        if reached or epsilon <= LEAST:
            break
        epsilon *= 0.1
    bound = max(value - excess * room for value, excess in duals)
    result = np.array([C @ y for C, y in zip(maps, point.y.reshape(-1, 10), strict=True)])
    return result, size * float(np.sqrt(2 * max(bound, 0.0) + lost**2))


def _with_equations(A: Array, b: Array, x: Array, free: list[int]) -> Array:
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
