"""Training loop of the neural baselines: AdamW with cosine decay, mini-batches, best epoch on held-out samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from baselines.contract import Motion

from casid.arrays import Array

Weights = list[tuple[jax.Array, jax.Array]]
#: What inputs and outputs are normalised by.
Scales = dict[str, Any]
#: Samples that are predicted at once.
_BLOCK = 512


def random_weights(key: jax.Array, sizes: Sequence[int]) -> Weights:
    """Layers of a dense network, Glorot-normal."""
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        (jax.random.normal(k, (a, b)) * jnp.sqrt(2.0 / (a + b)), jnp.zeros(b))
        for k, a, b in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]


def dense(weights: Weights, x: jax.Array, activation: Callable[[jax.Array], jax.Array]) -> jax.Array:
    """The network's output; the last layer is linear."""
    for W, b in weights[:-1]:
        x = activation(x @ W + b)
    W, b = weights[-1]
    return x @ W + b


class Network:
    """A learnt inverse dynamics, trained by gradients on normalised torques, for so many epochs at most.

    Subclasses give ``start`` (weights) and ``torque`` (one sample), and add to ``scales`` in ``prepare`` what they
    normalise by. Scales are arguments of the compiled programs: networks of one structure are compiled once in a
    process, whatever data they see.
    """

    epochs, batch, decay = 300, 256, 1e-5

    def __init__(self, name: str, rate: float) -> None:
        self.name, self.rate = name, rate
        self.scales: Scales = {}
        self.weights: Any = None  # of the best epoch

    def start(self, key: jax.Array, n: int) -> Any:
        """Random weights for n joints."""
        raise NotImplementedError

    def torque(self, weights: Any, scales: Any, q: jax.Array, dq: jax.Array, ddq: jax.Array) -> jax.Array:
        """Torques of one sample, over the training data's deviation."""
        raise NotImplementedError

    def structure(self) -> tuple[Any, ...]:
        """All that the compiled programs depend on beside shapes."""
        raise NotImplementedError

    def prepare(self, motion: Motion) -> None:
        """Scales of the training data."""
        self.scale = np.maximum(motion.tau.std(axis=0), 1e-9)
        self.mean = motion.tau.mean(axis=0)
        self.scales = {"tau": self.scale}
        for name, x in (("q", motion.q), ("dq", motion.dq), ("ddq", motion.ddq)):
            self.scales |= {name: np.maximum(x.std(axis=0), 1e-9), f"{name} mean": x.mean(axis=0)}

    def fit(
        self, motion: Motion, seed: int = 0, stop: Callable[[int, Callable[[Motion], Array]], bool] | None = None
    ) -> int:
        """Train; the number of epochs used.

        ``stop(epoch, predict)`` is asked after each epoch and ends the training when it says so.
        """
        self.prepare(motion)
        rng = np.random.default_rng(seed)
        held = np.zeros(len(motion), dtype=bool)
        held[rng.permutation(len(motion))[: len(motion) // 10]] = True
        train, check = motion.rows(~held), motion.rows(held)
        weights = self.start(jax.random.PRNGKey(seed), motion.q.shape[1])
        count = min(self.batch, len(train))
        steps = len(train) // count
        optimiser, step, _ = programs(self)
        state = optimiser.init(weights)
        arrays = self.normalised(train)
        best, self.weights, used = np.inf, weights, 0
        for used in range(1, self.epochs + 1):
            order = rng.permutation(len(train))[: steps * count].reshape(steps, count)
            for k, rows in enumerate(order):
                rate = self.rate * _cosine((k + (used - 1) * steps) / (steps * self.epochs))
                weights, state, _ = step(weights, state, self.scales, rate, *(x[rows] for x in arrays))
            value = float((((self._torques(weights, check) - check.tau) / self.scale) ** 2).mean())
            if value < best:
                best, self.weights = value, weights
            if stop is not None and stop(used, self.predict):
                break
        return used

    def normalised(self, motion: Motion) -> list[Array]:
        """Positions, velocities, accelerations and torques over their deviation, in single precision."""
        tau = (motion.tau - self.offset()) / self.scale
        return [np.asarray(x, dtype=np.float32) for x in (motion.q, motion.dq, motion.ddq, tau)]

    def offset(self) -> Array:
        """Taken off the torques before training."""
        return np.asarray(self.mean)

    def _torques(self, weights: Any, motion: Motion) -> Array:
        predict, parts = programs(self)[2], []
        for begin in range(0, len(motion), _BLOCK):
            part = motion.rows(slice(begin, begin + _BLOCK))
            # a last block that is short is filled with its own last sample: one shape, one compilation
            rows = np.minimum(np.arange(_BLOCK), len(part) - 1)
            found = predict(weights, self.scales, *(x[rows] for x in (part.q, part.dq, part.ddq)))
            parts.append(np.asarray(found, dtype=float)[: len(part)])
        return np.concatenate(parts) * self.scale + self.offset()

    def predict(self, motion: Motion) -> Array:
        """Torques (N, n); ``motion.tau`` is not looked at."""
        return self._torques(self.weights, motion)


_COMPILED: dict[tuple[Any, ...], tuple[Any, Any, Any]] = {}


def programs(network: Network) -> tuple[Any, Any, Any]:
    """Optimiser, ``(weights, state, scales, rate, q, dq, ddq, tau) -> weights, state, loss``; torques of samples."""
    key = (network.decay, *network.structure())
    if key not in _COMPILED:
        optimiser = optax.chain(
            optax.clip_by_global_norm(10.0), optax.scale_by_adam(), optax.add_decayed_weights(network.decay)
        )
        batched = jax.vmap(network.torque, in_axes=(None, None, 0, 0, 0))

        @jax.jit
        def step(w: Any, s: Any, scales: Any, rate: Any, q: Any, dq: Any, ddq: Any, tau: Any) -> tuple[Any, Any, Any]:
            value, slope = jax.value_and_grad(lambda v: jnp.mean((batched(v, scales, q, dq, ddq) - tau) ** 2))(w)
            update, s = optimiser.update(slope, s, w)
            return optax.apply_updates(w, jax.tree.map(lambda u: -rate * u, update)), s, value

        _COMPILED[key] = optimiser, step, jax.jit(batched)
    return _COMPILED[key]


def _cosine(share: float) -> float:
    """From 1 to 0.01."""
    return float(0.01 + 0.99 * (1 + np.cos(np.pi * share)) / 2)
