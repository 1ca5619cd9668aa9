"""Deep Lagrangian networks (Lutter et al. 2019): the Euler-Lagrange equation of learnt energies."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from baselines.contract import Motion
from baselines.network import Network, Weights, dense, random_weights

from casid.arrays import Array


class DeLaN(Network):
    """``tau = d/dt dL/d(dq) - dL/dq + friction`` with ``L = dq' H(q) dq / 2 - V(q)``, H = T T' + eps 1.

    Parameters
    ----------
    structured
        True: networks for T and V; False: one network for L(q, dq) ("black box").
    damping
        Learn a non-negative viscous and Coulomb friction of each joint too.
    """

    hidden = (64, 64)

    def __init__(self, name: str, structured: bool, damping: bool) -> None:
        super().__init__(name, 1e-2)
        self.structured, self.damping = structured, damping

    def prepare(self, motion: Motion) -> None:
        """Scales of energies, of their slopes along each joint, and of the inertia."""
        super().prepare(motion)
        speeds = self.scales["dq"]
        root = np.sqrt(_inertia(motion, 0.02 * self.scale / self.scales["ddq"]))
        kinetic = float(((root * speeds) ** 2).sum() / 2)
        energy = float(self.scale.max())
        # a torque is the slope of an energy: joints of small torque see the network through small inputs
        slope = np.clip(self.scale / energy, 1e-4, 1.0)
        turn = np.clip(self.scale / max(kinetic, 1e-12), 1e-4, 1.0)
        self.scales |= {"root": root, "energy": energy, "slope": slope, "turn": turn}

    def start(self, key: jax.Array, n: int) -> Any:
        """Random layers, the last one small: a constant diagonal inertia and no potential to begin with."""
        one, two = jax.random.split(key)
        friction = jnp.full((2, n), -3.0, dtype=jnp.float32)  # a weak type would be compiled for a second time
        if self.structured:
            size = n * (n + 1) // 2
            return {
                "T": _small(random_weights(one, [2 * n, *self.hidden, size])),
                "V": _small(random_weights(two, [2 * n, *self.hidden, 1])),
                "f": friction,
            }
        return {"L": _small(random_weights(one, [3 * n, *self.hidden, 1])), "f": friction}

    def offset(self) -> Array:
        """None: gravity has to come from the potential."""
        return np.zeros_like(self.mean)

    def structure(self) -> tuple[Any, ...]:
        """See `Network`."""
        return "DeLaN", self.structured, self.damping

    def _lagrangian(self, weights: Any, scales: Any, q: jax.Array, dq: jax.Array) -> jax.Array:
        slope, turn = scales["slope"], scales["turn"]
        x = jnp.concatenate([slope * jnp.sin(q), slope * jnp.cos(q)])
        scaled = dq * scales["root"]
        if not self.structured:
            network = dense(weights["L"], jnp.concatenate([x, dq / scales["dq"] * slope]), jax.nn.softplus)
            return jnp.sum(scaled**2) / 2 + network[0] * scales["energy"]
        n = len(q)
        entries = dense(weights["T"], jnp.concatenate([turn * jnp.sin(q), turn * jnp.cos(q)]), jax.nn.softplus)
        diagonal = jnp.diag(jax.nn.softplus(entries[:n] + 0.54) + 1e-3)
        T = jnp.zeros((n, n)).at[np.tril_indices(n, -1)].set(entries[n:]) + diagonal
        return jnp.sum((T.T @ scaled) ** 2) / 2 - dense(weights["V"], x, jax.nn.softplus)[0] * scales["energy"]

    def torque(self, weights: Any, scales: Any, q: jax.Array, dq: jax.Array, ddq: jax.Array) -> jax.Array:
        """Euler-Lagrange by automatic differentiation."""

        def momentum(q: jax.Array, dq: jax.Array) -> jax.Array:
            return jax.grad(self._lagrangian, argnums=3)(weights, scales, q, dq)

        _, rate = jax.jvp(momentum, (q, dq), (dq, ddq))
        tau = rate - jax.grad(self._lagrangian, argnums=2)(weights, scales, q, dq)
        if self.damping:
            f = jax.nn.softplus(weights["f"]) * scales["tau"]
            tau = tau + f[0] * dq / scales["dq"] + f[1] * jnp.tanh(20 * dq / scales["dq"])
        return tau / scales["tau"]


def _small(weights: Weights) -> Weights:
    *first, (W, b) = weights
    return [*first, (0.1 * W, b)]


def _inertia(motion: Motion, least: Array) -> Array:
    """Diagonal of a constant inertia, by least squares beside sines and cosines and their products (gravity)."""
    harmonic = np.concatenate([np.sin(motion.q), np.cos(motion.q)], axis=1)
    i, j = np.triu_indices(harmonic.shape[1], 1)
    features = np.concatenate(
        [motion.ddq, np.ones((len(motion), 1)), harmonic, harmonic[:, i] * harmonic[:, j]], axis=1
    )
    size = np.maximum(np.abs(features).max(axis=0), 1e-12)
    gram = (features / size).T @ (features / size)
    gram += 1e-6 * np.trace(gram) / len(gram) * np.eye(len(gram))
    found = np.linalg.solve(gram, (features / size).T @ motion.tau) / size[:, None]
    return np.asarray(np.maximum(np.diag(found[: motion.q.shape[1]]), least))
