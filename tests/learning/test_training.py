"""Training: resumed, refused, killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from casid.errors import DatasetError
from casid.learning import (
    Adam,
    Chart,
    GaussNewton,
    TorqueLoss,
    parametrisation,
    train,
)
from casid.measurement import Dataset


def test_bad_input(loss_of, model, data):
    chart = Chart(model, "cov")
    loss = loss_of(model, data, "cov")
    with pytest.raises(DatasetError, match="no velocities"):
        TorqueLoss(model, Dataset(data.t, data.q, data.tau))
    for field in ("q", "tau", "ddq"):
        broken = {name: np.array(getattr(data, name)) for name in ("t", "q", "tau", "dq", "ddq")}
        broken[field][7, 1] = np.nan
        with pytest.raises(DatasetError):
            TorqueLoss(model, Dataset(**broken))
    with pytest.raises(DatasetError, match="expected 22 finite numbers"):
        train(loss, chart, Adam(), start=np.full(22, np.nan))
    with pytest.raises(DatasetError, match="link 'link1'"):
        chart.inverse(np.full(20, -1.0), [0.1, 0.1])
    with pytest.raises(DatasetError, match="diverged in epoch 1"):
        train(loss, chart, Adam(rate=1e200), epochs=2)


_KILLED = """
    import sys, numpy as np, casid
    from casid.dynamics import Model
    from casid.learning import Adam, Chart, TorqueLoss, train
    from casid.measurement import Dataset
    model = Model(casid.load_robot("spatial_2r"))
    t = np.arange(0, 10, 0.02); w = np.array([1.3, 2.1])
    q, dq, ddq = np.sin(np.outer(t, w)), w * np.cos(np.outer(t, w)), -w**2 * np.sin(np.outer(t, w))
    link = casid.inertia.to_standard(2.0, [-0.5, 0.02, 0.1], np.diag([0.01, 0.05, 0.05]))
    tau = model.inverse_dynamics(q, dq, ddq, np.tile(link, 2))
    run = train(TorqueLoss(model, Dataset(t, q, tau, dq, ddq)), Chart(model, "tri"), Adam(batch=32), seed=5,
                epochs=int(sys.argv[2]), checkpoint=sys.argv[1] or None)
    print(run.epochs[-1].number, repr(run.epochs[-1].loss), run.step.theta.tobytes().hex())
"""


@pytest.mark.slow
def test_a_training_that_was_killed_resumes_to_the_same_numbers(tmp_path):
    file = tmp_path / "state.npz"

    def start(checkpoint, epochs):
        command = [sys.executable, "-c", textwrap.dedent(_KILLED), str(checkpoint), str(epochs)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)

    process = start(file, 1_000_000)
    deadline = time.monotonic() + 120
    while not file.is_file() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert file.is_file()
    with np.load(file) as state:
        reached = len(state["history"]) - 1
    assert reached >= 1
    resumed, whole = start(file, reached + 5), start("", reached + 5)
    one, other = resumed.communicate()[0], whole.communicate()[0]
    assert resumed.returncode == whole.returncode == 0
    assert one == other and one.startswith(f"{reached + 5} ")


@pytest.mark.claim("a function of a user that returns another shape is refused where it is taken")
@pytest.mark.parametrize("what", ["value", "gradient", "residual"])
@pytest.mark.parametrize("size", [0, 1, 3, 700])
def test_shapes_of_a_loss_are_checked(what, size, model, data):
    class Own(TorqueLoss):
        def value(self, pi):
            return np.ones(size) if what == "value" else super().value(pi)

        def gradient(self, pi, rows):
            return (1.0, np.ones(size)) if what == "gradient" else super().gradient(pi, rows)

        def residual(self, pi):
            return (np.ones(3), np.ones((3, size))) if what == "residual" else super().residual(pi)

    with pytest.raises(DatasetError, match=rf"'Own': .*`{what}`: expected .*, got shape .*\b{size}\b"):
        train(Own(model, data), Chart(model, "cov"), GaussNewton(), epochs=1)


@pytest.mark.claim("a function of a user that returns another shape is refused where it is taken")
def test_shapes_of_a_parametrisation_are_checked(model):
    own = type("Own", (type(parametrisation("symm")),), {"expression": lambda self, theta: theta[:3]})
    with pytest.raises(DatasetError, match=r"'symm': `expression`: expected shape \(10, 1\), got \(3, 1\)"):
        Chart(model, own()).parameters(np.zeros(20))
