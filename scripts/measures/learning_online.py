"""Rows: identification on line, loads, the exported code, adaptive control."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np

import casid
from casid.codegen import evaluate_batch, find_compiler
from casid.dynamics import Model
from casid.export.online import export_online
from casid.identification.online import Online, OnlineLoad, Plausible
from casid.inertia import pseudo_inertia, to_standard
from casid.measurement import Dataset, Processing, read_dataset
from casid.regression import compress, wls
from casid.simulation import Sine
from casid.simulation.adaptive import NaturalAdaptation, SlotineLi, simulate_adaptive
from measures.measure import Measure, NotMeasured, data_folder
from measures.recordings import FRICTION, GRAVITY, UR_GAINS, panda, panda_model, ur10e


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


def _ur(name: str, rows: tuple[int, int]) -> Dataset:
    settings = Processing(
        cutoff=7.5, torque_cutoff=10.0, order=5, rate=None, velocity="measured", filter_position=False,
        acceleration_cutoff=7.5, trim=0.0, every=1,
    )  # fmt: skip
    path = data_folder() / "ur10e" / "identification_data" / f"{name}.npz"
    return settings.apply(read_dataset(path, columns={"tau": "i"}, gains=UR_GAINS, rows=rows))


def load_picked_up() -> tuple[str, bool]:
    """The same motion without and with a load, spliced at ten instants."""
    free, loaded = _ur("ur-20_02_19_14harm50sec", (194, 4966)), _ur("ur-20_02_19_14harm50secLoad", (307, 5071))
    model = Model(casid.load_robot("ur10e"), (*FRICTION, "rotor"), GRAVITY)
    q, dq, ddq, tau = _arrays(free)
    fit = wls(compress(model, Dataset(free.t, q, tau, dq, ddq)))
    pi = np.linalg.lstsq(model.base.K, fit.beta, rcond=None)[0]
    count = min(len(free), len(loaded))
    delays, times, physical, false = [], [], True, 0
    for at in np.linspace(0.3, 0.7, 10) * count:
        splice = int(at)
        before, after = _arrays(free), _arrays(loaded)
        q, dq, ddq, tau = (np.vstack([a[:splice], b[splice:count]]) for a, b in zip(before, after, strict=True))
        t = np.arange(count) * 0.01
        online = OnlineLoad(model, pi, fit.weights, to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3)))
        masses = []
        for k in range(count):
            online.update(q[k], dq[k], ddq[k], tau[k], t[k])
            if k >= splice:
                estimate = online.estimate()
                physical &= bool(np.linalg.eigvalsh(pseudo_inertia(estimate.parameters))[0] > 0)
                masses.append(estimate.mass)
        alarms = np.array(online.changes)
        false += int((alarms < t[splice]).sum()) + max(0, int((alarms >= t[splice]).sum()) - 1)
        late = alarms[alarms >= t[splice]]
        delays.append(float(late[0] - t[splice]) if len(late) else np.inf)
        within = np.abs(np.array(masses) / masses[-1] - 1) <= 0.05
        outside = np.flatnonzero(~within)
        times.append(0.01 * (outside[-1] + 1) if len(outside) else 0.0)
    text = (
        f"10 splices: detected after {np.median(delays):.2f} s (worst {max(delays):.2f}), mass within 5 % of its final "
        f"{masses[-1]:.2f} kg for good after {np.median(times):.1f} s (worst {max(times):.1f}), other alarms {false}, "
        f"physical at every instant: {'yes' if physical else 'NO'}"
    )
    return text, max(delays) <= 0.5 and max(times) <= 2.0 and physical


def _sines(model: Model, seed: int, count: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    t = np.arange(count) * 0.01
    w, a = rng.uniform(0.5, 3.0, (4, model.n)), rng.uniform(-0.3, 0.3, (4, model.n))
    phase = [np.outer(t, w[k]) for k in range(4)]
    q = sum(a[k] * np.sin(phase[k]) for k in range(4))
    dq = sum(a[k] * w[k] * np.cos(phase[k]) for k in range(4))
    ddq = sum(-a[k] * w[k] ** 2 * np.sin(phase[k]) for k in range(4))
    return t, np.asarray(q), np.asarray(dq), np.asarray(ddq)


def intervals() -> tuple[str, bool]:
    """200 random loads on random motions of a Panda, noise of 0.3 N m: is the true mass in the stated interval?"""
    robot = casid.load_robot("panda")
    if any(link.inertial is None for link in robot.links):
        raise NotMeasured("the Panda's description has no inertials")
    model = Model(robot)
    pi = robot.standard_parameters()
    inside = noticed = 0
    for seed in range(200):
        rng = np.random.default_rng([11, seed])
        t, q, dq, ddq = _sines(model, seed, 1600)
        load = to_standard(
            rng.uniform(0.3, 3.0), rng.uniform(-0.1, 0.1, 3), np.diag(rng.uniform(2e-3, 6e-3) * np.ones(3))
        )
        with_load = pi.copy()
        with_load[-10:] += load
        tau = np.asarray(evaluate_batch(model.inverse_dynamics, q, dq, ddq, pi))[..., 0]
        tau[800:] = np.asarray(evaluate_batch(model.inverse_dynamics, q[800:], dq[800:], ddq[800:], with_load))[..., 0]
        tau += 0.3 * rng.normal(size=tau.shape)
        online = OnlineLoad(model, pi, np.full(7, 1 / 0.3), to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3)))
        online.update(q, dq, ddq, tau, t)
        low, high = online.estimate().interval
        inside += low <= load[9] <= high
        noticed += len(online.changes) >= 1
    return f"{inside} of 200 inside, {noticed} of 200 steps noticed", inside >= 190


def exported() -> tuple[str, bool]:
    """Worst and mean time of 1e5 calls in C, on one core; a whole-robot filter of 64 columns and a load."""
    if find_compiler() is None:
        raise NotMeasured("needs a C compiler")
    model, data = panda_model(), panda()
    fit = wls(compress(model, data))
    pi = np.linalg.lstsq(model.base.K, fit.beta, rcond=None)[0]
    body = to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3))
    estimators: dict[str, Online | OnlineLoad] = {
        "robot": Online.from_fit(fit, plausible(model), forgetting=0.999),
        "load": OnlineLoad(model, pi, fit.weights, body, forgetting=0.999),
    }
    texts, ok = [], True
    with tempfile.TemporaryDirectory() as folder:
        for name, estimator in estimators.items():
            target = Path(folder) / name
            export_online(estimator, target, name)
            (target / "race.c").write_text(_RACE.replace("NAME", name))
            build = ["cc", "-std=gnu99", "-O3", "-march=native", "-o", "race", "race.c", f"{name}.c", "-lm"]
            subprocess.run(build, cwd=target, check=True)
            rows = np.concatenate([data.q, data.dq, data.ddq, data.tau], axis=1)
            np.ascontiguousarray(rows).tofile(target / "samples")
            out = subprocess.run(["./race", str(len(rows))], cwd=target, check=True, capture_output=True, text=True)
            mean, worst, p999, cold, warm, gap = (float(v) for v in out.stdout.split())
            limit = 100.0 if name == "robot" else 10.0
            ok &= p999 <= limit and warm <= 5000.0
            texts.append(
                f"{name}: update mean {mean:.1f}, 99.9 % {p999:.1f}, worst {worst:.0f} us; estimate cold {cold:.0f}, "
                f"warm {warm:.0f} us, gap {gap:.0e}"
            )
            sanitised = ["cc", "-std=gnu99", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
            subprocess.run([*sanitised, "-o", "safe", "race.c", f"{name}.c", "-lm"], cwd=target, check=True)
            checked = subprocess.run(["./safe", str(len(rows))], cwd=target, capture_output=True)
            ok &= checked.returncode == 0
            code = (target / f"{name}.c").read_text() + (target / "online_core.h").read_text()
            ok &= "malloc" not in code
    return "; ".join(texts) + "; sanitizers clean, no allocation", ok


_RACE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "NAME.h"
static NAME_state s;
static double us(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}
static int order(const void *a, const void *b) {
    double x = *(const double *)a - *(const double *)b;
    return (x > 0) - (x < 0);
}
static double rows[30000][28], all[100000];
int main(int argc, char **argv) {
    int n = atoi(argv[1]); FILE *f = fopen("samples", "rb");
    if (argc != 2 || fread(rows, sizeof rows[0], (size_t)n, f) != (size_t)n) return 1;
    NAME_init(&s);
    double total = 0, worst = 0;
    for (int k = 0; k < 100000; k++) {
        double *r = rows[k % n], t = us();
        NAME_update(&s, r, r + 7, r + 14, r + 21);
        t = us() - t; all[k] = t; total += t; if (t > worst) worst = t;
        if (k == n - 1) NAME_estimate(&s, 60);
    }
    qsort(all, 100000, sizeof(double), order);
    NAME_init(&s);
    for (int k = 0; k < n; k++) NAME_update(&s, rows[k], rows[k] + 7, rows[k] + 14, rows[k] + 21);
    double t = us(); NAME_estimate(&s, 60); double cold = us() - t;
    for (int k = 0; k < 100; k++) NAME_update(&s, rows[k], rows[k] + 7, rows[k] + 14, rows[k] + 21);
    t = us(); NAME_estimate(&s, 60); double warm = us() - t;
    printf("%g %g %g %g %g %g\n", total / 1e5, worst, all[99900], cold, warm, s.suboptimality);
    return 0;
}
"""


def adaptive() -> tuple[str, bool]:
    """The 2R arm from wrong links: natural against Slotine-Li, five starts each."""
    model = Model(casid.load_robot("spatial_2r"))
    truth = np.tile(to_standard(3.0, [-0.3, 0.02, 0.05], np.diag([0.02, 0.05, 0.05])), 2)
    start = np.tile(to_standard(1.0, [-0.1, 0.0, 0.0], np.diag([0.002, 0.002, 0.002])), 2)
    reference = Sine(np.array([0.0, 0.3]), np.array([1.2, 1.0]), np.array([0.5, 0.8]), 100.0)
    texts, ok = [], True
    for law in (NaturalAdaptation(0.5), SlotineLi(0.5)):
        runs = [
            simulate_adaptive(model, truth, start, law, reference, 8.0, q0=np.random.default_rng(s).uniform(-1, 1, 2))
            for s in range(5)
        ]
        least = min(float(r.smallest_eigenvalue.min()) for r in runs)
        rise = max(float((np.diff(r.lyapunov) / r.lyapunov[0]).max()) for r in runs)
        book = max(float(np.ptp(r.lyapunov + r.dissipated) / r.lyapunov[0]) for r in runs)
        error = np.median([float(np.abs(r.error[-2000:]).max()) for r in runs])
        texts.append(
            f"{law.name}: smallest eigenvalue {least:.1e}, V rises by at most {max(rise, 0):.0e} of V(0), V + "
            f"dissipated constant to {book:.0e}, late error {error:.3f} rad"
        )
        ok &= rise <= 1e-8 and (law.name != "natural" or least > 0)
    return "; ".join(texts), ok


ROWS = [
    Measure("streaming a whole recording (Panda, UR10e)", "1e-9 from batch; never infeasible", "-", streaming),
    Measure("load picked up: spliced UR10e 14harm50sec", "<= 0.5 s; mass within 5 % in <= 2 s; physical", "-",
            load_picked_up),
    Measure("200 simulated runs, Panda with payload steps", "true mass inside >= 95 %", "-", intervals),
    Measure("exported C, Panda, one core", "update <= 100 us (64 columns), <= 10 us (load); refresh <= 5 ms warm",
            "TAG-K, RLS", exported),
    Measure("adaptive control: natural law against Slotine-Li", "physical; V never increases", "Lee et al. 2018",
            adaptive),
]  # fmt: skip
