"""Multi-layer perceptron from (q, dq, ddq) to torques."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from baselines.network import Network, dense, random_weights


class MLP(Network):
    """``tau = f(q, dq, ddq)``, inputs and outputs normalised.

    Parameters
    ----------
    hidden
        Sizes of the hidden layers: 250, 250, 100 in Sutanto et al. (2020).
    trigonometric
        Sines and cosines of the positions in place of the positions: the tuned one.
    """

    def __init__(self, name: str, hidden: tuple[int, ...], trigonometric: bool) -> None:
        super().__init__(name, 3e-3)
        self.hidden, self.trigonometric = hidden, trigonometric

    def start(self, key: jax.Array, n: int) -> Any:
        """Random layers."""
        return random_weights(key, [(4 if self.trigonometric else 3) * n, *self.hidden, n])

    def structure(self) -> tuple[Any, ...]:
        """See `Network`."""
        return "MLP", self.hidden, self.trigonometric

    def torque(self, weights: Any, scales: Any, q: jax.Array, dq: jax.Array, ddq: jax.Array) -> jax.Array:
        """One sample."""
        inputs = {"q": q, "dq": dq, "ddq": ddq}
        q, dq, ddq = ((x - scales[f"{name} mean"]) / scales[name] for name, x in inputs.items())
        positions = [jnp.sin(inputs["q"]), jnp.cos(inputs["q"])] if self.trigonometric else [q]
        x = jnp.concatenate([*positions, dq, ddq])
        return dense(weights, x, jax.nn.silu if self.trigonometric else jnp.tanh)


def paper() -> MLP:
    """The paper's network."""
    return MLP("MLP", (250, 250, 100), False)


def tuned() -> MLP:
    """Sines and cosines in, smooth activations, wider first layer."""
    return MLP("MLP tuned", (256, 256, 128), True)
