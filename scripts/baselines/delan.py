"""Deep Lagrangian networks (Lutter et al. 2019): the Euler-Lagrange equation of learnt energies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from baselines.contract import Array
from baselines.network import Network, dense, random_weights


class DeLaN(Network):
    """``tau = d/dt dL/d(dq) - dL/dq + friction`` with ``L = dq' H(q) dq / 2 - V(q)``, H = T T' + eps 1.

    Parameters
    ----------
    structured
        True: networks for T and V; False: one network for L(q, dq) ("black box").
    damping
        Learn a non-negative viscous and Coulomb friction of each joint too.
    """

    def __init__(
        self,
        name: str = "DeLaN",
        structured: bool = True,
        hidden: Sequence[int] = (64, 64),
        damping: bool = False,
        epochs: int = 300,
        rate: float = 2e-3,
    ) -> None:
        super().__init__(name, epochs, rate)
        self.structured, self.hidden, self.damping = structured, tuple(hidden), damping

    def start(self, key: jax.Array, n: int) -> Any:
        """Random layers; factors' diagonals start at about one."""
        one, two = jax.random.split(key)
        self.lower = np.tril_indices(n, -1)
        friction = jnp.full((2, n), 0.1)
        if self.structured:
            size = n * (n + 1) // 2
            return {
                "T": random_weights(one, [2 * n, *self.hidden, size]),
                "V": random_weights(two, [2 * n, *self.hidden, 1]),
                "f": friction,
            }
        return {"L": random_weights(one, [3 * n, *self.hidden, 1]), "f": friction}

    def offset(self) -> Array:
        """None: gravity has to come from the potential."""
        return np.zeros_like(self.mean)

    def _lagrangian(self, weights: Any, q: jax.Array, dq: jax.Array) -> jax.Array:
        x = jnp.concatenate([jnp.sin(q), jnp.cos(q)])
        if not self.structured:
            return dense(weights["L"], jnp.concatenate([x, dq]), jax.nn.softplus)[0] * self.energy
        n = len(q)
        entries = dense(weights["T"], x, jax.nn.softplus)
        T = jnp.zeros((n, n)).at[self.lower].set(entries[n:]) + jnp.diag(jax.nn.softplus(entries[:n]) + 1e-3)
        kinetic = jnp.sum((T.T @ (dq * self.root)) ** 2) / 2
        return kinetic - dense(weights["V"], x, jax.nn.softplus)[0] * self.energy

    @property
    def energy(self) -> float:
        """Scale of energies: the largest torque deviation over a radian."""
        return float(self.scale.max())

    @property
    def root(self) -> Array:
        """Scale of the inertia's root: torque over acceleration."""
        return np.sqrt(self.scale / self.inputs[2][1])

    def torque(self, weights: Any, q: jax.Array, dq: jax.Array, ddq: jax.Array) -> jax.Array:
        """Euler-Lagrange by automatic differentiation."""

        def momentum(q: jax.Array, dq: jax.Array) -> jax.Array:
            return jax.grad(self._lagrangian, argnums=2)(weights, q, dq)

        _, rate = jax.jvp(momentum, (q, dq), (dq, ddq))
        tau = rate - jax.grad(self._lagrangian, argnums=1)(weights, q, dq)
        if self.damping:
            f = jax.nn.softplus(weights["f"]) * self.scale
            tau = tau + f[0] * dq / self.inputs[1][1] + f[1] * jnp.tanh(20 * dq / self.inputs[1][1])
        return tau / self.scale
