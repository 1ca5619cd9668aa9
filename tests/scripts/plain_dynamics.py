"""Newton-Euler in plain numpy for serial arms, written apart from the library: the oracle of `test_independent`."""

from __future__ import annotations

import numpy as np

from casid.arrays import Array

#: Entries of the inertia in the order of the standard parameters.
INERTIA = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def turn(angle: Array, axis: int) -> Array:
    """Rotations about x (0) or z (2), shape (N, 3, 3)."""
    c, s, i, j = np.cos(angle), np.sin(angle), (axis + 1) % 3, (axis + 2) % 3
    made = np.zeros((len(angle), 3, 3))
    made[:, axis, axis] = 1.0
    made[:, i, i], made[:, j, j], made[:, i, j], made[:, j, i] = c, c, -s, s
    return made


def frames(rows: Array, q: Array, standard: bool) -> list[tuple[Array, Array, Array, Array]]:
    """Of every link: rotation (N, 3, 3) and origin (N, 3) of its frame, axis and a point of its joint.

    ``rows``: alpha, a, d, of a standard or of a modified Denavit-Hartenberg table.
    """
    count = len(q)
    R, o, found = np.tile(np.eye(3), (count, 1, 1)), np.zeros((count, 3)), []
    for k, (alpha, a, d) in enumerate(rows):
        tilt = turn(np.full(count, alpha), 0)
        if standard:
            axis, point = R[:, :, 2], o
            R = R @ turn(q[:, k], 2)
            o = o + d * R[:, :, 2] + a * R[:, :, 0]
            R = R @ tilt
        else:
            o = o + a * R[:, :, 0]
            R = R @ tilt
            o = o + d * R[:, :, 2]
            axis, point = R[:, :, 2], o
            R = R @ turn(q[:, k], 2)
        found.append((R, o, axis, point))
    return found


def regressor(rows: Array, q: Array, dq: Array, ddq: Array, standard: bool, gravity: float) -> Array:
    """Joint torques as linear forms of ``Lxx Lxy Lxz Lyy Lyz Lzz lx ly lz m`` of each link, shape (N, n, 10 n)."""
    links, count, n = frames(rows, q, standard), len(q), q.shape[1]
    w, dw, last = np.zeros((count, 3)), np.zeros((count, 3)), np.zeros((count, 3))
    acceleration = np.tile([0.0, 0.0, gravity], (count, 1))
    Y = np.zeros((count, n, 10 * n))
    for k, (R, o, axis, point) in enumerate(links):
        acceleration = acceleration + _rigid(w, dw, point - last)
        dw = dw + axis * ddq[:, k : k + 1] + np.cross(w, axis * dq[:, k : k + 1])
        w = w + axis * dq[:, k : k + 1]
        acceleration, last = acceleration + _rigid(w, dw, o - point), o
        for p in range(10):
            force, moment = _wrench(p, R, w, dw, acceleration)
            for j in range(k + 1):
                _, _, z, at = links[j]
                Y[:, j, 10 * k + p] = np.einsum("ni,ni->n", z, moment + np.cross(o - at, force))
    return Y


def _rigid(w: Array, dw: Array, arm: Array) -> Array:
    return np.cross(dw, arm) + np.cross(w, np.cross(w, arm))


def _wrench(p: int, R: Array, w: Array, dw: Array, acceleration: Array) -> tuple[Array, Array]:
    """Force and moment about the link's origin, in the base frame, of a unit of its p-th parameter."""
    zero = np.zeros_like(w)
    if p < 6:
        L = np.zeros((3, 3))
        L[INERTIA[p]] = L[INERTIA[p][::-1]] = 1.0
        inertia = R @ L @ R.transpose(0, 2, 1)
        spin = np.einsum("nij,nj->ni", inertia, w)
        return zero, np.einsum("nij,nj->ni", inertia, dw) + np.cross(w, spin)
    if p < 9:
        arm = R[:, :, p - 6]
        return _rigid(w, dw, arm), np.cross(arm, acceleration)
    return acceleration, zero


def leading(W: Array, tolerance: float = 1e-9) -> list[int]:
    """First linearly independent columns from the left."""
    chosen, basis, largest = list[int](), np.zeros((len(W), 0)), float(np.linalg.norm(W, axis=0).max())
    for k in range(W.shape[1]):
        column = W[:, k]
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)
        if np.linalg.norm(rest) > tolerance * largest:
            basis, chosen = np.column_stack([basis, rest / np.linalg.norm(rest)]), [*chosen, k]
    return chosen
