"""Exported folders as delivered: self-tests of every shipped robot; on-line estimates that converge or say that not."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import casid
from benchmarks.measure import Measure, NotMeasured
from casid.export import all_functions, export_robot
from casid.inertia import to_standard
from casid.motion import Sine
from casid.online import OnlineLoad, export_online

#: Load [kg, m, kg.m^2] put on the UR10e, deviation of its torques [N.m], rate [Hz] and samples of the recording.
_LOAD, _DEVIATION, _RATE, _SAMPLES = (
    to_standard(3.2, [0.02, 0.177, -0.035], np.diag([0.02, 0.015, 0.01])),
    1.0,
    500,
    5000,
)
#: Newton steps of one call, as in the example that is delivered; calls at most; agreement with Python.
_STEPS, _CALLS, _AGREEMENT = 20, 50, 1e-5


def _tools() -> None:
    if shutil.which("make") is None or shutil.which("cc") is None:
        raise NotMeasured("needs make and a C compiler")


def _folders(robots: tuple[str, ...]) -> tuple[str, bool]:
    _tools()
    failed, folders, functions = [], 0, 0
    for name in robots:
        robot = casid.load_robot(name)
        known = all(link.inertial is not None for link in robot.links)
        for runtime in ("none", "standard", "base") if known else ("standard", "base"):
            with tempfile.TemporaryDirectory() as folder:
                names = all_functions(robot, runtime)
                export_robot(robot, Path(folder) / "c", names, runtime_parameters=runtime, prefix="arm")
                done = subprocess.run(
                    ["make", "-C", f"{folder}/c", "test"], capture_output=True, text=True, check=False
                )
            folders, functions = folders + 1, functions + done.stdout.count(" ok\n")
            if done.returncode or done.stdout.count(" ok\n") != len(names):
                failed.append(f"{name} ({runtime}): {'; '.join(x for x in done.stdout.splitlines() if 'FAILED' in x)}")
    value = f"{folders - len(failed)} of {folders} folders pass, {functions} functions"
    return value + (f"; failed: {', '.join(failed)}" if failed else ""), not failed


def _estimates() -> tuple[str, bool]:
    """The load of `_LOAD`, from the first sample on; calls of `_STEPS` after the last one, or ten a second."""
    _tools()
    model = casid.Model(casid.load_robot("ur10e"))
    pi = model.parameters(model.robot.standard_parameters())
    loaded = pi.copy()
    loaded[list(model.link_columns[-1])] += _LOAD
    t = np.arange(_SAMPLES) / _RATE
    motion = Sine.within(model.robot, 1.0, 0.3, 20.0).at(t)
    rng = np.random.default_rng(0)
    tau = np.asarray(model.inverse_dynamics.map(_SAMPLES)(motion.q.T, motion.dq.T, motion.ddq.T, loaded)).T
    tau = tau + _DEVIATION * rng.normal(size=tau.shape)
    body = to_standard(1.0, [0.0, 0.0, 0.05], np.diag([3e-3] * 3))
    texts, fine = [], True
    for forgetting in (1.0, 0.999):
        online = OnlineLoad(model, pi, np.full(model.n, 1 / _DEVIATION), body, forgetting=forgetting)
        with tempfile.TemporaryDirectory() as folder:
            export_online(online, Path(folder) / "c", "load")
            subprocess.run(["make", "-C", f"{folder}/c", "libload.so"], check=True, capture_output=True)
            library = ctypes.CDLL(f"{folder}/c/libload.so")
        online.update(motion.q, motion.dq, motion.ddq, tau)
        expected = online.estimate(200).parameters
        for every in (_SAMPLES, _RATE // 10):
            state = (ctypes.c_double * 100_000)()
            library.load_init(state)
            codes: list[int] = []
            unsaid = 0
            for k in range(_SAMPLES):
                rows = [np.ascontiguousarray(part[k]) for part in (*motion, tau)]
                library.load_update(state, *(row.ctypes.data_as(ctypes.c_void_p) for row in rows))
                if (k + 1) % every == 0:
                    codes.append(int(library.load_estimate(state, _STEPS)))
                    unsaid += codes[-1] == 0 and not np.isfinite(state[10])
            calls = 1
            while codes[-1] == 1 and calls < _CALLS:
                codes.append(int(library.load_estimate(state, _STEPS)))
                calls += 1
            off = float(np.abs(np.array(state[:10]) - expected).max() / np.abs(expected).max())
            fine &= codes[-1] == 0 and unsaid == 0 and off < _AGREEMENT
            texts.append(
                f"forgetting {forgetting:g}, a call in {every} samples: {codes.count(1)} of {len(codes)} calls not "
                f"converged, {unsaid} of them unsaid, at last within {off:.1e} of Python"
            )
    return "; ".join(texts), bool(fine)


_ROBOTS = ("panda", "ur10e", "kuka_iiwa", "wam7", "tx40", "puma560", "stanford", "three_link", "spatial_2r")

ROWS = [
    Measure(
        "first hour: `make test` of every exported folder of the shipped robots, all functions", "passes",
        "ur10e and wam7 fail (0.3)", lambda: _folders(_ROBOTS), lambda: _folders(_ROBOTS[-2:]), "the larger robots",
    ),
    Measure(
        "first hour: `estimate(&s, 20)` of an exported load estimator", "converges in some calls, or says that not",
        "stuck with a wrong load, returns 0 (0.3)", _estimates,
    ),
]  # fmt: skip
