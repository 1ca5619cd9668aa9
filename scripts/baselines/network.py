"""Training loop of the neural baselines: AdamW with cosine decay, mini-batches, best epoch on held-out samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from baselines.contract import Array, Baseline, Motion

Weights = list[tuple[jax.Array, jax.Array]]


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


class Network(Baseline):
    """A baseline that is trained by gradients on normalised torques.

    Subclasses give ``start`` (weights) and ``torque`` (one sample, in physical units).
    """

    def __init__(self, name: str, epochs: int, rate: float = 1e-3, batch: int = 256, decay: float = 1e-5) -> None:
        self.name, self.epochs, self.rate, self.batch, self.decay = name, epochs, rate, batch, decay
        self._weights: Any = None
        self._key: tuple[Any, ...] = ()
        self._programs: tuple[Any, Any, Any] = (None, None, None)
        self._predict: Any = None

    @property
    def weights(self) -> Any:
        """Those of the best epoch."""
        return self._weights

    def start(self, key: jax.Array, n: int) -> Any:
        """Random weights for n joints."""
        raise NotImplementedError

    def torque(self, weights: Any, q: jax.Array, dq: jax.Array, ddq: jax.Array) -> jax.Array:
        """Torques of one sample, over the training data's deviation."""
        raise NotImplementedError

    def prepare(self, motion: Motion) -> None:
        """Scales of the training data."""
        self.scale = np.maximum(motion.tau.std(axis=0), 1e-9)
        self.mean = motion.tau.mean(axis=0)
        self.inputs = [(x.mean(axis=0), np.maximum(x.std(axis=0), 1e-9)) for x in (motion.q, motion.dq, motion.ddq)]

    def fit(
        self, motion: Motion, seed: int = 0, stop: Callable[[int, Callable[[Motion], Array]], bool] | None = None
    ) -> int:
        """See `Baseline`."""
        self.prepare(motion)
        rng = np.random.default_rng(seed)
        held = np.zeros(len(motion), dtype=bool)
        held[rng.permutation(len(motion))[: len(motion) // 10]] = True
        train, test = motion.rows(~held), motion.rows(held)
        weights = self.start(jax.random.PRNGKey(seed), motion.q.shape[1])
        per_epoch = max(1, -(-len(train) // self.batch))
        optimiser, epoch, judge = self._compiled(len(train), per_epoch)
        state = optimiser.init(weights)

        def normalised(m: Motion) -> list[jax.Array]:
            tau = (m.tau - self.offset()) / self.scale
            return [jnp.asarray(x, dtype=jnp.float32) for x in (m.q, m.dq, m.ddq, tau)]

        arrays, checks = normalised(train), normalised(test)
        best, self._weights, used = np.inf, weights, 0
        count = min(self.batch, len(train))
        steps = len(train) // count
        for used in range(1, self.epochs + 1):
            order = rng.permutation(len(train))[: steps * count].reshape(steps, count)
            weights, state = epoch(weights, state, jnp.asarray(order), arrays)
            value = float(judge(weights, *checks))
            if value < best:
                best, self._weights = value, weights
            if stop is not None and stop(used, self.predict):
                break
        return used

    def _compiled(self, samples: int, steps: int) -> tuple[Any, Any, Any]:
        """Optimiser, epoch and loss, compiled once for the same data: more seeds cost no more compilation."""
        key = (samples, steps, self.epochs, self.scale.tobytes(), self.mean.tobytes())
        if self._key == key:
            return self._programs
        schedule = optax.cosine_decay_schedule(self.rate, steps * self.epochs, alpha=0.01)
        optimiser = optax.chain(optax.clip_by_global_norm(10.0), optax.adamw(schedule, weight_decay=self.decay))
        batched = jax.vmap(self.torque, in_axes=(None, 0, 0, 0))

        def loss(w: Any, q: jax.Array, dq: jax.Array, ddq: jax.Array, tau: jax.Array) -> jax.Array:
            return jnp.mean((batched(w, q, dq, ddq) - tau) ** 2)

        @jax.jit
        def epoch(w: Any, s: Any, order: jax.Array, arrays: list[jax.Array]) -> tuple[Any, Any]:
            def step(carry: tuple[Any, Any], rows: jax.Array) -> tuple[tuple[Any, Any], None]:
                w, s = carry
                slope = jax.grad(loss)(w, *(x[rows] for x in arrays))
                update, s = optimiser.update(slope, s, w)
                return (optax.apply_updates(w, update), s), None

            return jax.lax.scan(step, (w, s), order)[0]

        self._key, self._programs = key, (optimiser, epoch, jax.jit(loss))
        self._predict = jax.jit(batched)
        return self._programs

    def offset(self) -> Array:
        """Taken off the torques before training."""
        return np.asarray(self.mean)

    def predict(self, motion: Motion) -> Array:
        """See `Baseline`."""
        if self._predict is None:
            self._predict = jax.jit(jax.vmap(self.torque, in_axes=(None, 0, 0, 0)))
        parts = []
        for begin in range(0, len(motion), 8192):
            part = motion.rows(slice(begin, begin + 8192))
            parts.append(np.asarray(self._predict(self._weights, part.q, part.dq, part.ddq), dtype=float))
        return np.concatenate(parts) * self.scale + self.offset()
