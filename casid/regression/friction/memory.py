"""States of dynamic friction laws along a measured motion: one fold over its samples, with exact sensitivities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from casid.regression.friction.law import FrictionLaw

Array = NDArray[np.float64]

#: Samples that one call of the fold takes.
CHUNK = 256


def fold(step: ca.Function, start: ArrayLike, drive: Array, parameters: ArrayLike = ()) -> Array:
    """``x_i = step(x_{i-1}, u_i, p)`` along all samples, shape (N, states).

    Parameters
    ----------
    step : casadi.Function
        ``(x, u, p) -> x``.
    start
        State before the first sample.
    drive
        u, shape (N, inputs).
    parameters
        p, the same for all samples.
    """
    chain = step.mapaccum(CHUNK)
    count, states = len(drive), step.size1_in(0)
    padded = np.zeros((-(-count // CHUNK) * CHUNK, drive.shape[1]))
    padded[:count] = drive
    out = np.empty((len(padded), states))
    held = np.tile(np.asarray(parameters, dtype=float), (CHUNK, 1))
    x = np.array(start, dtype=float)
    buffer, run = chain.buffer()
    buffer.set_arg(0, memoryview(x))  # type: ignore[call-arg, arg-type]
    if held.size:
        buffer.set_arg(2, memoryview(held))  # type: ignore[call-arg, arg-type]
    for first in range(0, len(padded), CHUNK):
        part = slice(first, first + CHUNK)
        buffer.set_arg(1, memoryview(padded[part]))  # type: ignore[call-arg, arg-type]
        buffer.set_res(0, memoryview(out[part]))  # type: ignore[call-arg, arg-type]
        run()
        x[:] = out[first + CHUNK - 1]
    return out[:count]


def states_of(laws: Sequence[tuple[FrictionLaw, Sequence[float]]], q: Array, period: float) -> list[Array]:
    """States of laws with their shapes along one motion, from rest at its start, each of shape (N, law.memory)."""
    sizes = [law.memory for law, _ in laws]
    edges = np.cumsum([0, *sizes])
    if not edges[-1]:
        return [np.zeros((len(q), 0)) for _ in laws]
    z, way = ca.SX.sym("z", int(edges[-1])), ca.SX.sym("way")
    new = [
        law.evolve(z[int(a) : int(a) + law.memory], way, ca.SX(period), theta)
        for (law, theta), a in zip(laws, edges, strict=False)
        if law.memory
    ]
    step = ca.Function("step", [z, way, ca.SX.sym("p", 0)], [ca.densify(ca.vertcat(*new))], {"cse": True})
    made = fold(step, np.zeros(int(edges[-1])), _ways(q))
    return [made[:, a : a + size] for a, size in zip(edges, sizes, strict=False)]


def sensitive_states(law: FrictionLaw, theta: Array, q: Array, period: float) -> tuple[Array, Array]:
    """States z of a law and ``dz/dtheta``, shapes (N, memory) and (N, memory, len(theta)).

    The sensitivities S obey ``S_i = dF/dz S_{i-1} + dF/dtheta`` and are carried along with the states.
    """
    size, shapes = law.memory, len(law.shape)
    z, S = ca.SX.sym("z", size), ca.SX.sym("S", size * shapes)
    way, p = ca.SX.sym("way"), ca.SX.sym("theta", shapes)
    new = law.evolve(z, way, ca.SX(period), ca.vertsplit(p))
    moved = ca.jacobian(new, z) @ ca.reshape(S, size, shapes) + ca.jacobian(new, p)
    step = ca.Function("step", [ca.vertcat(z, S), way, p], [ca.densify(ca.vertcat(new, ca.vec(moved)))], {"cse": True})
    made = fold(step, np.zeros(size * (1 + shapes)), _ways(q), theta)
    return made[:, :size], made[:, size:].reshape(len(q), shapes, size).transpose(0, 2, 1)


def _ways(q: Array) -> Array:
    """Steps of the position, the first zero, shape (N, 1)."""
    return np.diff(q, prepend=q[:1])[:, None]
