"""Rows: identification on line, loads, the exported code, adaptive control."""

from __future__ import annotations

import numpy as np

import casid
from benchmarks.measure import Measure
from benchmarks.recordings import panda, panda_model, rokae, tx40, ur10e, ur10e_raw
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.inertia import pseudo_inertia, to_standard
from casid.inertia.entropic import Plausible
from casid.measurement import Dataset, Processing
from casid.motion import Sine
from casid.online import NaturalAdaptation, Online, SlotineLi, simulate_adaptive
from casid.online._adaptive import AdaptiveRun
from casid.regression import CompressedData, compress, compress_momentum, wls


def plausible(model: Model) -> Plausible:
    """Bodies of 3 kg and 10 cm, terms of usual size: nothing of the robot at hand."""
    positive = sum(term.nonnegative for term, _ in model.term_columns.values())
    body = to_standard(3.0, [0.0, 0.0, 0.0], np.diag([0.03, 0.03, 0.03]))
    free = len(model.term_columns) - positive
    return Plausible(np.tile(body, (model.n, 1)), np.full(positive, 1.0), np.full(free, 1.0))


def streaming() -> tuple[str, bool]:
    """Whole recordings in blocks of 20 samples; after each a consistent estimate."""
    texts, ok = [], True
    for name, (model, data) in {"Panda": (panda_model(), panda()), "UR10e": (ur10e()[0], ur10e()[1][0])}.items():
        fit = wls(compress(model, data))
        online = Online.from_fit(fit, plausible(model))
        least, worst = np.inf, 0.0
        q, dq, ddq, tau = _arrays(data)
        for k in range(0, len(data), 20):
            part = slice(k, k + 20)
            online.update(q[part], dq[part], ddq[part], tau[part], data.t[part])
            estimate = online.estimate()
            links = estimate.parameters.values[np.ravel(model.link_columns)].reshape(-1, 10)
            least = min(least, float(np.linalg.eigvalsh(pseudo_inertia(links)).min()))
            worst = max(worst, estimate.suboptimality / max(estimate.entropic.objective, 1e-300))
        plain = wls(compress(model, Dataset(data.t, q, tau, dq, ddq)), weights=fit.weights)
        error = float(np.abs(estimate.beta - plain.beta).max() / np.abs(plain.beta).max())
        ok &= error <= 1e-9 and least > 0
        texts.append(f"{name}: {error:.1e} from batch, smallest eigenvalue ever {least:.1e}, gap ever {worst:.1e}")
    return "; ".join(texts), ok


def _arrays(data: Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    assert data.dq is not None and data.ddq is not None
    return data.q, data.dq, data.ddq, data.tau


def _anyhow(model: Model, law: type[NaturalAdaptation] | type[SlotineLi], truth: np.ndarray, seed: int) -> AdaptiveRun:
    """Random first estimates, gains and starts, for two seconds or as long as the loop can be integrated.

    The log-det divergence bounds the logarithm of an estimate only: far from the truth, with weak feedback, natural
    estimates may grow by many orders of magnitude before V has fallen.
    """
    rng = np.random.default_rng(seed)
    mass, lever = rng.uniform(0.2, 6.0, 2), rng.uniform(-0.3, 0.3, (2, 3))
    size = rng.uniform(0.002, 0.05, 2)
    bodies = [to_standard(m, c, np.diag([s, s, 1.2 * s])) for m, c, s in zip(mass, lever, size, strict=True)]
    gain, K, Lambda = 10.0 ** rng.uniform(-1.5, 0.0), rng.uniform(1.0, 20.0), rng.uniform(1.0, 15.0)
    q0, start, duration = rng.uniform(-1.0, 1.0, 2), np.concatenate(bodies), 2.0
    while True:
        try:
            return simulate_adaptive(
                model, truth, start, law(gain), _REFERENCE, duration, K=K, Lambda=Lambda, q0=q0, step=1e-4
            )
        except DatasetError:
            if duration < 0.2:
                raise
            duration /= 2


_REFERENCE = Sine(np.array([0.0, 0.3]), np.array([1.2, 1.0]), np.array([0.5, 0.8]), 100.0)


def adaptive(attacks: int = 12) -> tuple[str, bool]:
    """The 2R arm from wrong links: natural against Slotine-Li, five starts each; then any gains and first estimates."""
    model = Model(casid.load_robot("spatial_2r"))
    truth = np.tile(to_standard(3.0, [-0.3, 0.02, 0.05], np.diag([0.02, 0.05, 0.05])), 2)
    start = np.tile(to_standard(1.0, [-0.1, 0.0, 0.0], np.diag([0.002, 0.002, 0.002])), 2)
    texts, ok = [], True
    for law in (NaturalAdaptation(0.5), SlotineLi(0.5)):
        starts = [np.random.default_rng(seed).uniform(-0.5, 0.5, 2) for seed in range(5)]
        runs = [simulate_adaptive(model, truth, start, law, _REFERENCE, 8.0, q0=q0, step=2e-4) for q0 in starts]
        others = [_anyhow(model, type(law), truth, seed) for seed in range(attacks)]
        least = min(float(r.smallest_eigenvalue.min()) for r in (*runs, *others))
        rise = max(float((np.diff(r.lyapunov) / r.lyapunov[0]).max()) for r in (*runs, *others))
        book = max(float(np.ptp(r.lyapunov + r.dissipated) / r.lyapunov[0]) for r in runs)
        error = np.median([float(np.abs(r.error[-10000:]).max()) for r in runs])
        texts.append(
            f"{law.name}: smallest eigenvalue {least:.1e}, V rises by at most {max(rise, 0):.0e} of V(0), V + "
            f"dissipated constant to {book:.0e}, late error {error:.3f} rad"
            f" (the first two also of {attacks} random gains, starts and first estimates, "
            f"{sum(r.t[-1] < 1.99 for r in others)} of which end early: estimates beyond integration)"
        )
        ok &= rise <= 1e-8 and (law.name != "natural" or least > 0)
    return "; ".join(texts), ok


def _even(data: Dataset) -> Dataset:
    """At a uniform rate, which the momentum form needs."""
    settings = Processing(
        cutoff=7.5, torque_cutoff=10.0, order=5, rate=100.0, velocity="measured", filter_position=False,
        acceleration_cutoff=7.5, trim=0.0, every=1, filter_columns=False,
    )  # fmt: skip
    return settings.apply(data)


def momentum() -> tuple[str, bool]:
    """With and without accelerations, on one half of each recording; error of the other half's torques."""
    texts = []
    recordings: dict[str, tuple[Model, list[Dataset]]] = {
        "Panda": (panda_model(), [panda()]), "UR10e": (ur10e()[0], [_even(ur10e_raw())]), "TX40": tx40(),
        "Rokae": rokae(),
    }  # fmt: skip
    for name, (model, datasets) in recordings.items():
        data = datasets[0]
        first, second = data.rows(slice(0, len(data) // 2), "first"), data.rows(slice(len(data) // 2, None), "second")
        check = compress(model, second)
        plain, filtered = wls(compress(model, first)), wls(compress_momentum(model, first))
        errors = [_error(fit.beta, check) for fit in (plain, filtered)]
        apart = np.linalg.norm(filtered.beta - plain.beta) / np.linalg.norm(plain.beta)
        texts.append(f"{name}: {errors[0]:.2f} % with, {errors[1]:.2f} % without accelerations, beta {apart:.1%} apart")
    return "; ".join(texts), True


def _error(beta: np.ndarray, check: CompressedData) -> float:
    """Relative error of the torques of a recording [%]."""
    left, size = 0.0, 0.0
    for R in check.factors:
        left += float(np.sum((R[:, :-2] @ beta - R[:, -2]) ** 2))
        size += float(np.sum(R[:, -2] ** 2))
    return 100.0 * float(np.sqrt(left / size))


ROWS = [
    Measure("streaming a whole recording (Panda, UR10e)", "1e-9 from batch; never infeasible", "-", streaming),
    Measure("acceleration-free (momentum) regression: first half -> second half", "printed beside the one with", "-",
            momentum),
    Measure("adaptive control: natural law against Slotine-Li", "physical; V never increases", "Lee et al. 2018",
            adaptive),
]  # fmt: skip
