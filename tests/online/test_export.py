"""On-line identification in C: the same numbers as in Python, no harm from bad samples."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

import casid
from casid.dynamics import Model
from casid.dynamics.terms import GEAR_FRICTION
from casid.errors import ExportError
from casid.inertia import pseudo_inertia, to_standard, write_parameters
from casid.online import Online, OnlineLoad, StateNoise, TorqueErrors, export_online
from casid.testing import TERMS, plausible, recorded
from tests.helpers import needs_compiler, run
from tests.online.conftest import BODY, carrying

STRICT = "-std=c99 -O1 -Wall -Wextra -Wpedantic -Werror"


def said(folder: Path, *command: str) -> str:
    """What a command that succeeds prints."""
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def example(folder: Path, flags: str) -> str:
    """What the compiled example prints."""
    said(folder, "make", f"CFLAGS={flags}", "example")
    return said(folder, "./example")


class Exported:
    """An exported estimator, compiled and loaded; without flags, as its Makefile compiles it."""

    def __init__(self, online: Online | OnlineLoad, folder: Path, name: str, flags: str | None = None) -> None:
        export_online(online, folder, name)
        options = [] if flags is None else [f"CFLAGS={flags}"]
        said(folder, "make", *options, f"lib{name}.so")
        self.library, self.name = ctypes.CDLL(str(folder / f"lib{name}.so")), name
        self.state = (ctypes.c_double * 400_000)()
        self.library[f"{name}_init"](self.state)

    def update(self, *rows: np.ndarray) -> int:
        kept = [np.ascontiguousarray(row, dtype=float) for row in rows]
        pointers = [row.ctypes.data_as(ctypes.c_void_p) for row in kept]
        return int(self.library[f"{self.name}_update"](self.state, *pointers))

    def take(self, *signals: np.ndarray) -> None:
        """All samples of q, dq, ddq, tau; none is refused."""
        assert not any(self.update(*sample) for sample in zip(*signals, strict=True))

    def estimate(self, iterations: int) -> int:
        return int(self.library[f"{self.name}_estimate"](self.state, iterations))


@needs_compiler
def test_friction_of_the_gears_is_exported_too(model, tmp_path):
    robot = model.robot
    geared = Model(robot, (*TERMS, GEAR_FRICTION.on(robot.joints[1].name, robot.joints[3].name)))
    t, q, dq, ddq, tau, pi = recorded(model, 300)
    own = np.zeros(len(geared.parameter_names))
    own[[geared.parameter_names.index(name) for name in model.parameter_names]] = pi
    own[[geared.parameter_names.index(name) for name in ("fg2", "fg4")]] = 0.06
    tau[:, [1, 3]] /= (1.0 - 0.06 * np.sign(dq * tau))[:, [1, 3]]  # friction of the gears, of the torque itself
    online = OnlineLoad(geared, own, np.full(model.n, 5.0), BODY)
    exported = Exported(online, tmp_path / "c", "geared", STRICT)
    exported.take(q, dq, ddq, tau)
    assert exported.estimate(100) == 0
    online.update(q, dq, ddq, tau, t)
    assert np.abs(np.array(exported.state[:10]) - online.estimate().parameters).max() < 1e-8


@needs_compiler
@pytest.mark.parametrize("forgetting", [pytest.param(1.0, marks=pytest.mark.slow), 0.999])
def test_the_exported_code_does_the_same(model, tmp_path, forgetting):
    t, q, dq, ddq, tau, _ = recorded(model, 400)
    online = Online(model, np.full(model.n, 10.0), plausible(model), forgetting=forgetting)
    flags = "-std=c99 -O2 -Wall -Wextra -Wpedantic -Werror"
    exported = Exported(online, tmp_path / "c", "arm_online", flags)
    assert "within" in example(tmp_path / "c", flags)
    assert "passed" in said(tmp_path / "c", "make", f"CFLAGS={flags}", "test")
    text = (tmp_path / "c" / "arm_online.h").read_text()
    assert "malloc" not in text + (tmp_path / "c" / "arm_online.c").read_text()
    exported.take(q, dq, ddq, tau)
    assert exported.update(q[0] * np.nan, dq[0], ddq[0], tau[0]) == 1
    assert exported.estimate(60) == 0
    online.update(q, dq, ddq, tau, t)
    x = online.estimate().entropic.x
    off = np.abs(np.array(exported.state[: len(x)]) - x).max()
    assert off <= (1e-6 if forgetting == 1.0 else 1e-5) * np.abs(x).max()


@pytest.mark.slow
@needs_compiler
def test_the_exported_load_estimator_does_the_same(model, tmp_path):
    t, q, dq, ddq, tau, pi = carrying(model, 300)
    online = OnlineLoad(model, pi, np.full(model.n, 5.0), BODY)
    exported = Exported(online, tmp_path / "c", "load_online")
    said(tmp_path / "c", "make", "test")
    core = tmp_path / "c" / "online_core.h"  # a broken estimator does not pass its own test
    whole = core.read_text()
    core.write_text(whole.replace("+=", "-=", 1))
    assert whole != core.read_text()
    assert subprocess.run(["make", "test"], cwd=tmp_path / "c", capture_output=True).returncode != 0
    core.write_text(whole)
    exported.take(q, dq, ddq, tau)
    assert exported.estimate(40) == 0
    online.update(q, dq, ddq, tau, t)
    assert np.abs(np.array(exported.state[:10]) - online.estimate().parameters).max() < 1e-8


def test_loads_whose_errors_the_code_cannot_hold_are_refused(model, tmp_path):
    own = model.parameters(model.robot.standard_parameters(), np.zeros(3 * model.n))
    state = StateNoise(*np.full((3, model.n), 0.1))
    for errors, words in (
        (TorqueErrors(correlation=0.5), "correlated residuals"),
        (TorqueErrors(state=state), "TorqueErrors.state"),
    ):
        online = OnlineLoad(model, own, np.full(model.n, 5.0), BODY, errors=errors)
        with pytest.raises(ExportError, match=words):
            export_online(online, tmp_path / "c", "load_online")
        assert not (tmp_path / "c").exists()


@needs_compiler
def test_bad_samples_and_a_robot_at_rest_do_the_exported_code_no_harm(model, tmp_path):
    """A sample not finite or beyond measure changes no bit of the state; a minute at rest winds nothing up."""
    _, q, dq, ddq, tau, pi = recorded(model, 300)
    online = Online(model, np.full(model.n, 20.0), plausible(model), forgetting=0.99)
    exported = Exported(online, tmp_path / "c", "resting", "-std=c99 -O2")
    exported.take(q, dq, ddq, tau)
    exported.estimate(100)
    before = np.array(exported.state)
    for place in range(4):
        sample = [q[0].copy(), dq[0].copy(), ddq[0].copy(), tau[0].copy()]
        for wrong in (np.nan, np.inf, 1e200):
            sample[place][2] = wrong
            assert exported.update(*sample) == 1
    assert np.array_equal(np.array(exported.state), before)
    hold = np.asarray(model.inverse_dynamics(q[-1], 0 * q[-1], 0 * q[-1], pi)).ravel()
    rng = np.random.default_rng(3)
    for _ in range(6000):
        assert exported.update(q[-1], 0 * q[-1], 0 * q[-1], hold + 0.05 * rng.normal(size=model.n)) == 0
    assert exported.estimate(100) == 0
    x = np.array(exported.state)[: len(online.order)]
    assert np.isfinite(np.array(exported.state)).all()
    links = x[: 10 * model.n].reshape(-1, 10)
    assert np.linalg.eigvalsh(pseudo_inertia(links)).min() > 0
    moved = np.abs(links - before[: 10 * model.n].reshape(-1, 10)).max()
    assert moved < 0.5 * np.abs(before[: 10 * model.n]).max()


@needs_compiler
@pytest.mark.parametrize("forgetting", [1.0, 0.999, 0.9, 0.5])
def test_the_exported_filter_is_that_of_python_where_little_is_known(model, tmp_path, forgetting):
    """A few samples, then at rest, then one joint, then all: directions come to be known one after the other."""
    _, q, dq, ddq, tau, pi = recorded(model, 240)
    online = Online(model, np.full(model.n, 10.0), plausible(model), forgetting=forgetting)
    exported = Exported(online, tmp_path / "c", "few", "-std=c99 -O2 -Wall -Wextra -Werror")
    held = np.ones_like(q)
    held[5:80], held[80:160] = 0.0, np.arange(model.n) == 3
    dq, ddq = dq * held, ddq * held
    q = np.where(held > 0, q, q[5])
    noise = 0.1 * np.random.default_rng(1).normal(size=tau.shape)
    tau = model.inverse_dynamics(q, dq, ddq, pi) + noise
    rank, count = model.base.rank, len(online.order)
    first = count + 2  # x, the bound, the iterations; then R, rho
    for k in range(240):
        sample = [v[k] for v in (q, dq, ddq, tau)]
        assert exported.update(*sample) == 0
        online.update(*sample)
        if k in (0, 1, 4, 79, 159, 239):
            assert exported.estimate(100) == 0
            numbers = np.array(exported.state)
            R = numbers[first : first + rank**2].reshape(rank, rank)
            rho = numbers[first + rank**2 : first + rank**2 + rank]
            own, x = online.information, online.estimate().entropic.x
            for mine, other in ((own.R.T @ own.R, R.T @ R), (own.R.T @ own.rho, R.T @ rho)):
                assert np.abs(mine - other).max() <= 1e-11 * np.abs(mine).max()
            assert np.abs(numbers[:count] - x).max() <= 1e-6 * np.abs(x).max()


@needs_compiler
@pytest.mark.parametrize("kind", ["robot", "load"])
def test_the_command_line_writes_either_estimator(tmp_path, kind):
    robot = casid.load_robot("kuka_iiwa")
    model = Model(robot)
    write_parameters(tmp_path / "own.json", casid.Parameters(model.parameter_names, robot.standard_parameters()))
    arguments = ["export", "kuka_iiwa", "--online", kind, "--out", tmp_path / "c"]
    run(*arguments, code=2)  # says that it needs the deviation
    run(*arguments, "--deviation", 0.3, *(["--parameters", tmp_path / "own.json"] if kind == "load" else []))
    assert "within" in example(tmp_path / "c", STRICT)


@needs_compiler
@pytest.mark.claim("an exported estimator says that it has not converged, and goes on in the next call")
@pytest.mark.parametrize("steps", [1, 6, 7])
def test_estimates_that_are_cut_short_say_so_and_go_on(model, tmp_path, steps):
    load = to_standard(3.0, [0.05, -0.1, 0.08], np.diag([0.02, 0.015, 0.01]))
    t, q, dq, ddq, tau, pi = carrying(model, 300, load)
    online = OnlineLoad(model, pi, np.full(model.n, 20.0), to_standard(0.05, [0, 0, 0.05], np.diag([1e-4] * 3)))
    exported = Exported(online, tmp_path / "c", "load", STRICT)
    codes = []
    for k, sample in enumerate(zip(q, dq, ddq, tau, strict=True)):
        assert exported.update(*sample) == 0
        if k % 100 == 0:
            codes.append(exported.estimate(steps))
            assert codes[-1] == 1 or np.isfinite(exported.state[10])
    codes.append(exported.estimate(steps))
    while codes[-1] == 1 and len(codes) < 500:
        codes.append(exported.estimate(steps))
    assert 1 in codes and codes[-1] == 0
    assert not online.update(q, dq, ddq, tau, t)  # no change detected: the same samples
    assert np.array(exported.state[:10]) == pytest.approx(online.estimate(200).parameters, abs=1e-6)


@pytest.mark.claim("the header of an exported estimator says what its numbers are")
def test_header_of_an_estimator_says_what_its_numbers_are(model, tmp_path):
    pi = model.parameters(model.robot.standard_parameters(), np.zeros(3 * model.n))
    online = OnlineLoad(model, pi, np.full(model.n, 4.0), BODY, forgetting=0.995)
    export_online(online, tmp_path / "c", "load")
    text = " ".join((tmp_path / "c" / "load.h").read_text().replace("\n *", " ").split())
    joints = ", ".join(joint.name for joint in model.robot.coordinates)
    frame = f"frame of link '{model.robot.links[-1].name}'"
    numbers = f"order of the joints, {joints}", "(0.25, 0.25", "0.995", "m7="
    for words in (frame, *numbers, "no detector of changes", "Licence of the description", "1: not converged"):
        assert words in text, words
