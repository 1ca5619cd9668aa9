"""Row: the certified solve against training, by this library's Adam and by the ladder's own code.

The ladder's code (PyPI: differentiable-robot-model) wants PyTorch: install it in an environment of its own and give
that interpreter as ``CASID_DIFFNEA``.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
from baselines.diffnea import CHECK

from benchmarks.learning.data import BATCH, dataset, iiwa, sines
from benchmarks.measure import Measure, NotMeasured, skipped
from casid.description import write_robot
from casid.learning import Adam, Chart, TorqueLoss, certified_limit, train

PROGRAM = Path(__file__).resolve().parents[2] / "baselines" / "diffnea.py"
#: CPU seconds that the ladder's code may train; torque noise of the data [N.m].
BUDGET, NOISE = 60.0, 0.05


def direct_against_training(budget: float = BUDGET) -> tuple[str, bool]:
    """CPU seconds of one core: the certified solve from raw samples, and what training reaches in how many of them."""
    motion = sines(noise=NOISE)
    data = dataset(motion)
    certified_limit(TorqueLoss(iiwa(), data), Chart(iiwa(), "cov").links)  # compiles what is compiled once
    start = process_time()
    loss, chart = TorqueLoss(iiwa(), data), Chart(iiwa(), "cov")
    limit = certified_limit(loss, chart.links)
    direct = process_time() - start
    begin = chart.draw(np.random.default_rng(0))
    loss.slopes(BATCH, False)
    start = process_time()
    run = train(loss, chart, Adam(rate=1e-2, batch=BATCH), epochs=60, limit=limit, start=begin)
    own = process_time() - start
    text = (
        f"certified {direct:.2f} s, loss {limit.value:.3g} (gap {limit.gap(limit.value):.0e}); Adam of this library "
        f"on a matrix of each batch: {own:.1f} s for 60 epochs, gap {run.gap:.1e}"
    )
    interpreter = os.environ.get("CASID_DIFFNEA")
    if interpreter is None:
        raise NotMeasured(f"{text}; the ladder's own code: set CASID_DIFFNEA to an interpreter that has it")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_robot(iiwa().robot, folder / "robot.urdf")
        links = [link.name for link in iiwa().robot.links]
        np.savez(folder / "data.npz", q=motion.q, dq=motion.dq, ddq=motion.ddq, tau=motion.tau, links=np.array(links))
        subprocess.run(
            [interpreter, str(PROGRAM), "robot.urdf", "data.npz", f"{budget:g}", "out.npz"],
            cwd=folder, check=True, capture_output=True,
        )  # fmt: skip
        with np.load(folder / "out.npz") as out:
            times, losses, steps = out["seconds"], out["losses"], int(out["steps"])

    # the same samples for both: the loss of a part differs from that of the whole by more than what is asked for
    part = motion.rows(slice(None, None, CHECK))
    best = iiwa().inverse_dynamics(part.q, part.dq, part.ddq, limit.parameters)
    reference = float(np.mean((best - part.tau) ** 2 / motion.tau.var(axis=0)))

    def first(share: float) -> tuple[float, str]:
        """How many times the solve's CPU seconds until the loss was within a share of the certified solution's."""
        close = np.flatnonzero(losses <= reference * (1 + share))
        seconds = float(times[close[0]] if len(close) else times[-1])
        how = f"{seconds:.0f} s" if len(close) else f"not within {seconds:.0f} s"
        return seconds / direct, f"{how}, {'' if len(close) else 'more than '}{seconds / direct:.0f} times the solve"

    # as good as the direct solve: within a thousandth of the certified optimum
    ratio, words = first(1e-3)
    curve = ", ".join(f"{v:.4g} after {s:.0f} s" for s, v in zip(times[::6], losses[::6], strict=True))
    return (
        f"{text}; the ladder's own code: {steps} steps, loss on every {CHECK}th sample {curve}; "
        f"the certified solution's {reference:.4g}; within 1 % of it: {first(1e-2)[1]}; "
        f"within 0.1 %: {words}"
    ), ratio >= 100


ROWS = [
    Measure("direct certified solve against training with the ladder's own code (and with Adam of this library)",
            ">= 100 x", "differentiable-robot-model 0.2.3", direct_against_training, skipped, "the whole row"),
]  # fmt: skip
