"""Row: batches of 256 in the order in which they come, each seen once (Sutanto et al. 2020, Fig. 1).

The gradient models take `STEPS` Adam steps on the newest batch; the networks know the scales of the whole set. The
error is that on the whole set, seen and not yet seen. ``python scripts/benchmarks/learning/sequential.py PICTURE.png``
draws it.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from baselines.contract import Motion, nmse

from benchmarks.learning.data import dataset, iiwa, sines
from benchmarks.measure import Measure, need
from benchmarks.picture import write_picture
from casid.learning import Chart, TorqueLoss
from casid.learning._parametrisations import PARAMETRISATIONS
from casid.online import Online
from casid.online._estimator import plausible_values
from casid.report import INK, new_figure, set_title, tidy

BATCH, STEPS, DURATION = 256, 10, 30.0
_KINDS = ("nostr", "symm", "spd", "tri", "cov", "log-cholesky")
#: Torque noise as a share of each joint's deviation; the paper's data have none.
_NOISE = (0.0, 0.05)


def _batches(motion: Motion) -> list[Motion]:
    return [motion.rows(slice(k, k + BATCH)) for k in range(0, len(motion) - BATCH + 1, BATCH)]


def _noisy(motion: Motion, noise: float) -> Motion:
    rng = np.random.default_rng(7)
    tau = motion.tau + noise * motion.tau.std(axis=0) * rng.normal(size=motion.tau.shape)
    return Motion(motion.q, motion.dq, motion.ddq, tau)


def _online(motion: Motion, noise: float, loss: TorqueLoss) -> list[float]:
    """casid: boxes around the skeleton as plausible bodies, the noise as stated (0.1 % where there is none)."""
    model = iiwa()
    online = Online(model, 1 / (max(noise, 1e-3) * motion.tau.std(axis=0)), plausible_values(model, nominal=False))
    errors = []
    for part in _batches(motion):
        online.update(part.q, part.dq, part.ddq, part.tau)
        pi = online.estimate().parameters.values[np.ravel(model.link_columns)]
        errors.append(float(np.mean(loss.nmse(pi))))
    return errors


def _ladder(kind: str, motion: Motion, loss: TorqueLoss, rate: float = 1e-2) -> list[float]:
    """A parametrisation of the ladder by Adam, from the bodies that casid starts from."""
    chart = Chart(iiwa(), kind)
    theta = chart.inverse(plausible_values(iiwa(), nominal=False).bodies.ravel())
    slopes = loss.slopes(BATCH, False)
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    errors = []
    for k in range(len(_batches(motion))):
        for step in range(k * STEPS + 1, (k + 1) * STEPS + 1):
            slope = chart.pullback(theta, slopes(k, chart.parameters(theta)))
            first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
            theta = theta - rate / (1 - 0.9**step) * first / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        errors.append(float(np.mean(loss.nmse(chart.parameters(theta)))))
    return errors


def _network(network: Any, motion: Motion, check: Motion) -> list[float]:
    """A network by Adam, from its own start."""
    jax, optax = need("jax", "learning"), need("optax", "learning")
    jnp = jax.numpy
    network.prepare(motion)
    weights = network.start(jax.random.PRNGKey(0), motion.q.shape[1])
    optimiser = optax.adamw(network.rate, weight_decay=network.decay)
    state = optimiser.init(weights)
    torque = jax.vmap(network.torque, in_axes=(None, None, 0, 0, 0))

    def batch(w: Any, s: Any, q: Any, dq: Any, ddq: Any, tau: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            w, s = carry
            slope = jax.grad(lambda v: jnp.mean((torque(v, network.scales, q, dq, ddq) - tau) ** 2))(w)
            update, s = optimiser.update(slope, s, w)
            return (optax.apply_updates(w, update), s), None

        return jax.lax.scan(step, (w, s), None, length=STEPS)[0]

    compiled = jax.jit(batch)
    errors = []
    for part in _batches(motion):
        weights, state = compiled(weights, state, *network.normalised(part))
        network._weights = weights
        errors.append(float(nmse(check.tau, network.predict(check)).mean()))
    return errors


def curves(noise: float, duration: float = DURATION) -> dict[str, list[float]]:
    """NMSE on the whole set (without the noise) after each batch, mean over the joints, of every model."""
    need("jax", "learning")
    need("optax", "learning")
    from baselines import delan, mlp

    clean = sines(duration=duration)
    motion = _noisy(clean, noise)
    loss = TorqueLoss(iiwa(), dataset(motion))
    judge = loss if noise == 0.0 else TorqueLoss(iiwa(), dataset(clean))
    found = {"casid on line": _online(motion, noise, judge)}
    for kind in _KINDS:
        own = loss if PARAMETRISATIONS[kind].symmetric else TorqueLoss(iiwa(), dataset(motion), symmetric=False)
        found[kind] = _ladder(kind, motion, own)
    check = clean.rows(slice(None, None, 16))
    for network in (mlp.MLP(), mlp.tuned(), delan.DeLaN(), delan.DeLaN("DeLaN black box", False)):
        found[network.name] = _network(network, motion, check)
    return found


def sequential(noises: tuple[float, ...] = _NOISE, duration: float = DURATION) -> tuple[str, bool]:
    """Whether casid's on-line estimate is below every other from the second batch on."""
    texts, ok = [], True
    for noise in noises:
        found = curves(noise, duration)
        own = np.array(found.pop("casid on line"))
        others = np.array(list(found.values()))
        ok &= bool((own[1:] < others[:, 1:].min(axis=0)).all())
        at = [1, len(own) // 4, len(own) - 1]
        rows = {"casid on line": own, **{name: np.array(v) for name, v in found.items()}}
        texts.append(
            f"noise {noise:.0%}, after batches {', '.join(str(k + 1) for k in at)}: "
            + ", ".join(f"{name} {' / '.join(f'{row[k]:.2g}' for k in at)}" for name, row in rows.items())
        )
    return "; ".join(texts), ok


ROWS = [
    Measure(
        "on-line sequential batches of 256: NMSE on the whole set",
        "casid below every other from the second batch on",
        "Fig. 1",
        sequential,
        partial(sequential, _NOISE[1:], 10.0),
        "torques without noise, two thirds of the samples",
    ),
]


def main(picture: str) -> None:
    """Draw both noises."""
    figure = new_figure(10.0, 4.4)
    set_title(figure, "Batches in the order in which they come: error on the whole set, seen and not yet seen")
    for axes, noise in zip(figure.subplots(1, len(_NOISE), sharey=True), _NOISE, strict=True):
        for name, errors in curves(noise).items():
            own, rung = name.startswith("casid"), name in _KINDS
            axes.semilogy(
                1 + np.arange(len(errors)), errors, label=name, color=INK if own else None,
                linewidth=2.6 if own else 1.3, linestyle="-" if own else ":" if rung else "--",
            )  # fmt: skip
        axes.set(xlabel=f"batches of {BATCH} samples", title=f"torque noise {noise:.0%} of each joint's deviation")
        tidy(axes)
    figure.axes[0].set_ylabel("NMSE, mean of the joints")
    figure.axes[1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    write_picture(figure, picture)


if __name__ == "__main__":
    main(sys.argv[1])
