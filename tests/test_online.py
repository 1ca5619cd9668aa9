"""On-line identification: equal to batch, physical at every instant, honest about loads; the same in C."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from scipy.signal import lfilter
from typer.testing import CliRunner

import casid
from casid.cli import app
from casid.codegen import evaluate_batch
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.export.online import export_online
from casid.identification.online import (
    GEAR_FRICTION,
    ChangeDetector,
    Information,
    Online,
    OnlineLoad,
    Plausible,
    ResidualNoise,
    entropic_estimate,
    entropic_fit,
)
from casid.inertia import pseudo_inertia, to_standard
from casid.inertia.parameter_files import write_parameters
from casid.measurement import Dataset
from casid.regression import compress, wls

TERMS = ("viscous", "coulomb", "offset")


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(casid.load_robot("kuka_iiwa"), TERMS)


def motion(n: int, count: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    t = np.arange(count) * 0.01
    w = rng.uniform(0.5, 3.0, (4, n))
    a = rng.uniform(-0.4, 0.4, (4, n))
    q = sum(a[k] * np.sin(np.outer(t, w[k])) for k in range(4))
    dq = sum(a[k] * w[k] * np.cos(np.outer(t, w[k])) for k in range(4))
    ddq = sum(-a[k] * w[k] ** 2 * np.sin(np.outer(t, w[k])) for k in range(4))
    return t, q, dq, ddq


def recorded(model: Model, count: int = 800, load: np.ndarray | None = None, noise: float = 0.05, seed: int = 0):
    t, q, dq, ddq = motion(model.n, count, seed)
    pi = model.parameters(model.robot.standard_parameters(), np.tile([0.5, 0.4, 0.1], model.n))
    if load is not None:
        pi[list(model.link_columns[-1])] += load
    tau = np.asarray(evaluate_batch(model.inverse_dynamics, q, dq, ddq, pi))[..., 0]
    return t, q, dq, ddq, tau + noise * np.random.default_rng(seed + 1).normal(size=tau.shape), pi


def plausible(model: Model) -> Plausible:
    body = to_standard(3.0, [0.0, 0.0, 0.05], np.diag([0.03, 0.03, 0.02]))
    return Plausible(np.tile(body, (model.n, 1)), np.full(2 * model.n, 0.3), np.full(model.n, 0.5))


def smallest_eigenvalue(model: Model, values: np.ndarray) -> float:
    links = values[np.ravel(model.link_columns)].reshape(-1, 10)
    return float(np.linalg.eigvalsh(pseudo_inertia(links)).min())


def test_streaming_ends_at_the_batch_estimate_and_is_physical_all_along(model):
    t, q, dq, ddq, tau, _ = recorded(model)
    fit = wls(compress(model, Dataset(t, q, tau, dq, ddq)))
    online = Online.from_fit(fit, plausible(model))
    for k in range(0, len(t), 40):
        rows = slice(k, k + 40)
        online.update(q[rows], dq[rows], ddq[rows], tau[rows], t[rows])
        estimate = online.estimate()
        assert smallest_eigenvalue(model, estimate.parameters.values) > 0
        assert estimate.suboptimality < 1e-9 * estimate.entropic.objective
    assert np.abs(estimate.beta - fit.beta).max() <= 1e-9 * np.abs(fit.beta).max()
    assert np.allclose(estimate.sd, fit.sd, rtol=1e-6)


def test_the_stated_suboptimality_bounds_what_any_other_physical_point_gains(model):
    t, q, dq, ddq, tau, _ = recorded(model, 300)
    online = Online(model, np.full(model.n, 10.0), plausible(model))
    online.update(q, dq, ddq, tau, t)
    A = online.information.R @ model.base.K[:, online.order]
    best = entropic_estimate(A, online.information.rho, online.plausible, 1.0)
    for steps in range(1, best.iterations):
        early = entropic_estimate(A, online.information.rho, online.plausible, 1.0, iterations=steps)
        assert early.objective - best.objective <= early.suboptimality + 1e-9 * best.objective


def test_a_joint_at_rest_does_not_wind_up_forgetting(model):
    """Minutes without motion of most joints: what was known of them stays known."""
    t, q, dq, ddq, tau, pi = recorded(model, 800)
    online = Online(model, np.full(model.n, 20.0), plausible(model), forgetting=0.99)
    online.update(q, dq, ddq, tau, t)
    before = online.information.covariance()
    still = np.tile(q[-1], (6000, 1))
    zero = np.zeros_like(still)
    hold = np.asarray(model.inverse_dynamics(q[-1], zero[0], zero[0], pi)).ravel()
    rng = np.random.default_rng(3)
    online.update(still, zero, zero, hold + 0.05 * rng.normal(size=still.shape), t[-1] + 0.01 * np.arange(1, 6001))
    after = online.information.covariance()
    assert np.trace(after) <= 1.5 * np.trace(before)
    assert smallest_eigenvalue(model, online.estimate().parameters.values) > 0


@pytest.mark.parametrize("fault", ["nan", "back", "shape"])
def test_bad_samples_leave_the_state_as_it_was(model, fault):
    t, q, dq, ddq, tau, _ = recorded(model, 50)
    online = Online(model, np.ones(model.n), plausible(model))
    online.update(q[:40], dq[:40], ddq[:40], tau[:40], t[:40])
    before = online.information
    q2, t2 = q[40:].copy(), t[40:].copy()
    if fault == "nan":
        q2[3, 2] = np.nan
    if fault == "back":
        t2[5] = t2[0] - 1.0
    if fault == "shape":
        q2 = q2[:, :3]
    words = {"nan": "q of joint 3, sample 3", "back": "time goes back by", "shape": "expected"}[fault]
    with pytest.raises(DatasetError, match=words):
        online.update(q2, dq[40:], ddq[40:], tau[40:], t2)
    assert online.information is before


def test_directional_forgetting_fades_only_what_is_seen():
    rng = np.random.default_rng(1)
    information = Information.nothing(5).updated(rng.normal(size=(40, 5)), rng.normal(size=40))
    rows = np.zeros((1, 5))
    rows[0, :2] = 1.0, 2.0
    faded = information.forgotten(rows, 0.5)
    A, B = information.R.T @ information.R, faded.R.T @ faded.R
    seen = A @ rows.T
    expected = A - 0.5 * seen @ seen.T / (rows @ seen).item()
    assert np.allclose(B, expected, atol=1e-12 * np.abs(A).max())
    assert np.allclose(faded.estimate, information.estimate)


def test_a_load_is_noticed_and_weighed(model):
    load = to_standard(2.0, [0.03, -0.02, 0.08], np.diag([0.006, 0.005, 0.004]))
    t, q, dq, ddq, free, pi = recorded(model, 2400, noise=0.2)
    *_, loaded, _ = recorded(model, 2400, load, noise=0.2)
    tau = np.where((np.arange(2400) < 1200)[:, None], free, loaded)
    online = OnlineLoad(model, pi, np.full(model.n, 5.0), to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3)))
    assert not online.update(q[:1200], dq[:1200], ddq[:1200], tau[:1200], t[:1200])
    assert online.estimate().mass < 0.1
    assert online.update(q[1200:], dq[1200:], ddq[1200:], tau[1200:], t[1200:])
    assert 12.0 <= online.changes[0] <= 12.3
    assert len(online.changes) == 1
    estimate = online.estimate()
    assert estimate.mass == pytest.approx(2.0, rel=0.02)
    assert estimate.interval[0] <= 2.0 <= estimate.interval[1]
    assert np.abs(estimate.com - [0.03, -0.02, 0.08]).max() < 0.01


def test_the_detector_is_silent_on_noise_and_finds_a_slight_change():
    rng = np.random.default_rng(2)
    detector, seen, noise = ChangeDetector(10), Information.nothing(10), ResidualNoise(7)
    alarms = []
    for k in range(4000):
        rows = rng.normal(size=(7, 10))
        targets = rng.normal(size=7) + (rows @ np.full(10, 0.08) if k >= 3000 else 0.0)
        if detector.update(rows, targets, seen, noise):
            alarms.append(k)
            seen = Information.nothing(10)
        else:
            seen = seen.updated(rows, targets)
    assert len(alarms) == 1
    assert 3000 <= alarms[0] <= 3300


@pytest.mark.claim("a change too slight to be noticed at once is not taken for noise")
def test_residuals_of_a_change_that_is_not_noticed_yet_do_not_raise_the_alarm_level():
    """The noise as it would be learnt beside the change: blocks of it have a mean, and its inflation grows."""
    rng = np.random.default_rng(3)
    detector, seen, noise = ChangeDetector(10), Information.nothing(10), ResidualNoise(7)
    alarms = []
    for k in range(2000):
        rows = rng.normal(size=(7, 10))
        shift = rows @ np.full(10, 0.12) if k >= 1000 else np.zeros(7)
        targets = rng.normal(size=7) + shift
        noise.update(targets if k < 1000 else targets + 1.0)  # what the estimate before the change leaves
        if detector.update(rows, targets, seen, noise):
            alarms.append(k)
            break
        seen = seen.updated(rows, targets)
    assert noise.inflation(300.0) > 3.0
    assert len(alarms) == 1
    assert 1000 <= alarms[0] <= 1300


def test_a_load_with_a_correlated_residual_is_that_of_generalised_least_squares(model):
    a, count = 0.8, 400
    load = to_standard(2.0, [0.03, -0.02, 0.08], np.diag([0.006, 0.005, 0.004]))
    t, q, dq, ddq, tau, pi = recorded(model, count, load, noise=0.0)
    pi[list(model.link_columns[-1])] -= load
    white = np.random.default_rng(6).normal(size=tau.shape)
    tau = tau + 0.2 * np.asarray(lfilter([np.sqrt(1 - a**2)], [1, -a], white, axis=0))
    body = to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3))
    online = OnlineLoad(model, pi, np.full(model.n, 5.0), body, correlation=a)
    for part in (slice(0, 1), slice(1, 150), slice(150, count)):
        online.update(q[part], dq[part], ddq[part], tau[part], t[part])
    Y = np.asarray(evaluate_batch(model.regressor, q, dq, ddq))
    inverse = np.linalg.inv(a ** np.abs(np.subtract.outer(np.arange(count), np.arange(count))))
    own = Y[:, :, list(model.link_columns[-1])]
    left = tau - Y @ pi
    normal = sum(own[:, j].T @ inverse @ own[:, j] for j in range(model.n))
    right = sum(own[:, j].T @ inverse @ left[:, j] for j in range(model.n))
    expected = np.linalg.solve(normal, right)
    assert not online.changes
    assert online.information.estimate == pytest.approx(expected, abs=1e-7)
    assert online.noise.inflation() < 3.0
    with pytest.raises(DatasetError, match="correlation"):
        OnlineLoad(model, pi, np.full(model.n, 5.0), body, correlation=1.0)


def test_all_samples_of_a_fit_at_once_say_what_they_say_one_by_one(model):
    t, q, dq, ddq, tau, _ = recorded(model, 300, noise=0.2)
    fit = wls(compress(model, Dataset(t, q, tau, dq, ddq)))
    online = Online.from_fit(fit)
    online.update(q, dq, ddq, tau, t)
    one_by_one, at_once = online.estimate(), entropic_fit(fit)
    assert at_once.count == one_by_one.count
    assert at_once.entropic.objective == pytest.approx(one_by_one.entropic.objective, rel=1e-8)
    assert at_once.parameters.values == pytest.approx(one_by_one.parameters.values, abs=1e-5)
    assert at_once.suboptimality < 1e-6


def test_two_changes_in_quick_succession_are_both_noticed(model):
    """The comparison knows how well either side is known: no dead time after an alarm."""
    first, second = (to_standard(m, [0.02, 0.0, 0.06], np.diag([m * 2e-3] * 3)) for m in (2.0, 0.7))
    t, q, dq, ddq, tau, pi = recorded(model, 2000, noise=0.2)
    for start, load in ((1000, first), (1080, second)):
        tau[start:] = recorded(model, 2000, load, noise=0.2)[4][start:]
    online = OnlineLoad(model, pi, np.full(model.n, 5.0), to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3)))
    online.update(q, dq, ddq, tau, t)
    assert len(online.changes) == 2
    assert 10.8 <= online.changes[1] <= 11.5
    low, high = online.estimate().intervals["m"]
    assert low <= 0.7 <= high


def test_intervals_know_of_correlated_noise_and_of_torque_scales(model):
    load = to_standard(2.0, [0.03, -0.02, 0.08], np.diag([0.006, 0.005, 0.004]))
    t, q, dq, ddq, tau, pi = recorded(model, 1500, load, noise=0.0)
    pi[list(model.link_columns[-1])] -= load
    rng = np.random.default_rng(5)
    white = 0.2 * rng.normal(size=tau.shape)
    slow = np.asarray(lfilter([np.sqrt(1 - 0.95**2)], [1, -0.95], white, axis=0))
    body = to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3))

    def width(noise: np.ndarray, gain_error: float = 0.0) -> float:
        online = OnlineLoad(model, pi, np.full(model.n, 5.0), body, gain_error=gain_error)
        online.update(q, dq, ddq, tau + noise, t)
        low, high = online.estimate().interval
        return high - low

    assert width(slow) > 2.5 * width(white)
    assert width(white, 0.05) > 0.05 * 2.0


@pytest.mark.claim("an estimate that is almost singular does not hold the next ones back")
def test_a_start_near_the_boundary_is_left_for_the_central_path():
    rng = np.random.default_rng(7)
    bodies = Plausible(to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3))[None], np.zeros(0), np.zeros(0))
    truth = to_standard(2.4, [0.1, -0.1, 0.1], np.diag([0.02, 0.02, 0.01]))
    singular = to_standard(2.0, [0.3, 0.0, 0.0], np.diag([1e-9, 1e-9, 2e-9]) + 1e-12 * np.eye(3))
    for scale in (1.0, 10.0, 100.0):
        A = scale * rng.normal(size=(10, 10)) * np.array([1, 1, 1, 1, 1, 1, 5, 5, 5, 20.0])
        found = entropic_estimate(A, A @ truth, bodies, 1.0, singular)
        assert found.suboptimality <= 1e-9 * max(found.objective, 1.0)


def test_inputs_that_samples_do_not_hold_are_refused(model):
    free = Model(model.robot, gravity="input")
    with pytest.raises(DatasetError, match="input 'gravity'"):
        OnlineLoad(free, free.robot.standard_parameters(), np.ones(free.n), to_standard(1.0, [0, 0, 0.05], np.eye(3)))


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_friction_of_the_gears_is_exported_too(model, tmp_path):
    robot = model.robot
    geared = Model(robot, (*TERMS, GEAR_FRICTION.on(robot.joints[1].name, robot.joints[3].name)))
    t, q, dq, ddq, tau, pi = recorded(model, 300)
    own = np.zeros(len(geared.parameter_names))
    own[[geared.parameter_names.index(name) for name in model.parameter_names]] = pi
    own[[geared.parameter_names.index(name) for name in ("fg2", "fg4")]] = 0.06
    online = OnlineLoad(geared, own, np.full(model.n, 5.0), to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3)))
    export_online(online, tmp_path / "c", "geared")
    flags = "-std=c99 -O1 -Wall -Wextra -Wpedantic -Werror"
    subprocess.run(["make", f"CFLAGS={flags}", "libgeared.so"], cwd=tmp_path / "c", check=True, capture_output=True)
    library = ctypes.CDLL(str(tmp_path / "c" / "libgeared.so"))
    state = (ctypes.c_double * 50_000)()
    library.geared_init(state)
    for k in range(300):
        rows = [np.ascontiguousarray(v[k]) for v in (q, dq, ddq, tau)]
        library.geared_update(state, *(row.ctypes.data_as(ctypes.c_void_p) for row in rows))
    library.geared_estimate(state, 100)
    online.update(q, dq, ddq, tau, t)
    assert np.abs(np.array(state[:10]) - online.estimate().parameters).max() < 1e-8


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("forgetting", [1.0, 0.999])
def test_the_exported_code_does_the_same(model, tmp_path, forgetting):
    t, q, dq, ddq, tau, _ = recorded(model, 400)
    online = Online(model, np.full(model.n, 10.0), plausible(model), forgetting=forgetting)
    export_online(online, tmp_path / "c", "arm_online")
    flags = "-std=c99 -O2 -Wall -Wextra -Wpedantic -Werror"
    subprocess.run(["make", f"CFLAGS={flags}", "libarm_online.so", "example"], cwd=tmp_path / "c", check=True)
    assert (
        "within" in subprocess.run(["./example"], cwd=tmp_path / "c", check=True, capture_output=True, text=True).stdout
    )
    library = ctypes.CDLL(str(tmp_path / "c" / "libarm_online.so"))
    text = (tmp_path / "c" / "arm_online.h").read_text()
    assert "malloc" not in text + (tmp_path / "c" / "arm_online.c").read_text()
    state = (ctypes.c_double * 400_000)()
    library.arm_online_init(state)

    def pointer(row: np.ndarray) -> ctypes.c_void_p:
        return np.ascontiguousarray(row).ctypes.data_as(ctypes.c_void_p)

    for k in range(400):
        assert library.arm_online_update(state, *(pointer(v[k]) for v in (q, dq, ddq, tau))) == 0
    assert (
        library.arm_online_update(state, pointer(q[0] * np.nan), pointer(dq[0]), pointer(ddq[0]), pointer(tau[0])) == 1
    )
    assert library.arm_online_estimate(state, 60) == 0
    online.update(q, dq, ddq, tau, t)
    x = online.estimate().entropic.x
    assert np.abs(np.array(state[: len(x)]) - x).max() <= (1e-6 if forgetting == 1.0 else 1e-5) * np.abs(x).max()


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_the_exported_load_estimator_does_the_same(model, tmp_path):
    load = to_standard(2.0, [0.03, -0.02, 0.08], np.diag([0.006, 0.005, 0.004]))
    t, q, dq, ddq, tau, pi = recorded(model, 300, load)
    pi[list(model.link_columns[-1])] -= load
    online = OnlineLoad(model, pi, np.full(model.n, 5.0), to_standard(1.0, [0, 0, 0.05], np.diag([3e-3] * 3)))
    export_online(online, tmp_path / "c", "load_online")
    subprocess.run(["make", "libload_online.so"], cwd=tmp_path / "c", check=True, capture_output=True)
    library = ctypes.CDLL(str(tmp_path / "c" / "libload_online.so"))
    state = (ctypes.c_double * 50_000)()
    library.load_online_init(state)
    for k in range(300):
        rows = [np.ascontiguousarray(v[k]) for v in (q, dq, ddq, tau)]
        library.load_online_update(state, *(row.ctypes.data_as(ctypes.c_void_p) for row in rows))
    library.load_online_estimate(state, 40)
    online.update(q, dq, ddq, tau, t)
    assert np.abs(np.array(state[:10]) - online.estimate().parameters).max() < 1e-8


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_bad_samples_and_a_robot_at_rest_do_the_exported_code_no_harm(model, tmp_path):
    """A sample that is not finite changes no bit of the state; a minute at rest winds nothing up."""
    _, q, dq, ddq, tau, pi = recorded(model, 300)
    online = Online(model, np.full(model.n, 20.0), plausible(model), forgetting=0.99)
    export_online(online, tmp_path / "c", "resting")
    subprocess.run(
        ["make", "CFLAGS=-std=c99 -O2", "libresting.so"], cwd=tmp_path / "c", check=True, capture_output=True
    )
    library = ctypes.CDLL(str(tmp_path / "c" / "libresting.so"))
    state = (ctypes.c_double * 400_000)()
    library.resting_init(state)

    def update(*rows: np.ndarray) -> int:
        kept = [np.ascontiguousarray(row, dtype=float) for row in rows]
        return int(library.resting_update(state, *(row.ctypes.data_as(ctypes.c_void_p) for row in kept)))

    for k in range(300):
        assert update(q[k], dq[k], ddq[k], tau[k]) == 0
    library.resting_estimate(state, 100)
    before = np.array(state)
    for place in range(4):
        sample = [q[0].copy(), dq[0].copy(), ddq[0].copy(), tau[0].copy()]
        for wrong in (np.nan, np.inf):
            sample[place][2] = wrong
            assert update(*sample) == 1
    assert np.array_equal(np.array(state), before)
    hold = np.asarray(model.inverse_dynamics(q[-1], 0 * q[-1], 0 * q[-1], pi)).ravel()
    rng = np.random.default_rng(3)
    for _ in range(6000):
        assert update(q[-1], 0 * q[-1], 0 * q[-1], hold + 0.05 * rng.normal(size=model.n)) == 0
    assert library.resting_estimate(state, 100) == 0
    x = np.array(state)[: len(online.order)]
    assert np.isfinite(np.array(state)).all()
    links = x[: 10 * model.n].reshape(-1, 10)
    assert np.linalg.eigvalsh(pseudo_inertia(links)).min() > 0
    moved = np.abs(links - before[: 10 * model.n].reshape(-1, 10)).max()
    assert moved < 0.5 * np.abs(before[: 10 * model.n]).max()


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("kind", ["robot", "load"])
def test_the_command_line_writes_either_estimator(tmp_path, kind):
    runner, robot = CliRunner(), casid.load_robot("kuka_iiwa")
    model = Model(robot)
    write_parameters(tmp_path / "own.json", casid.Parameters(model.parameter_names, robot.standard_parameters()))
    arguments = ["export", "kuka_iiwa", "--online", kind, "--deviation", "0.3", "--out", str(tmp_path / "c")]
    assert runner.invoke(app, [*arguments[:4], *arguments[6:]]).exit_code != 0  # says that it needs the deviation
    arguments += ["--parameters", str(tmp_path / "own.json")] if kind == "load" else []
    done = runner.invoke(app, arguments)
    assert done.exit_code == 0, done.output
    flags = "-std=c99 -O1 -Wall -Wextra -Wpedantic -Werror"
    subprocess.run(["make", f"CFLAGS={flags}", "example"], cwd=tmp_path / "c", check=True, capture_output=True)
    out = subprocess.run(["./example"], cwd=tmp_path / "c", check=True, capture_output=True, text=True).stdout
    assert "within" in out
