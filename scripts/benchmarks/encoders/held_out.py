"""Encoders alone: models of a part of a record, and written ones, on motions that they have not seen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.encoders.measured import BENCHES, Bench, emps, found, go2, mujoco_run
from benchmarks.measure import Rows, need, scratch
from casid.drives import CommandRecording, FreeRuns, Servo, SimulationOptions, identify_from_commands, write_mjcf
from casid.dynamics import Model
from casid.measurement import Dataset, Processing
from casid.regression import compress, ols

row = Rows()

#: Train and test samples of the EMPS, in shares of its record.
PARTS = {
    "first 60 %": ((0.0, 0.6), (0.6, 1.0)),
    "first third": ((0.0, 1 / 3), (1 / 3, 1.0)),
    "last third": ((2 / 3, 1.0), (0.0, 2 / 3)),
}
#: IDIM-LS as Janot et al. (2019) filter it.
IDIM = Processing(cutoff=100.0, torque_cutoff=40.0, every=10, trim=0.05)


def least_squares(bench: Bench, data: CommandRecording) -> np.ndarray:
    """Mass, viscous and dry friction and offset by IDIM-LS."""
    assert data.torque is not None
    model = Model(bench.robot, ("viscous", "coulomb", "offset"), (0.0, 0.0, 0.0))
    return np.asarray(ols(compress(model, IDIM.apply(Dataset(data.t - data.t[0], data.q, data.torque)))).beta)


@row("EMPS: terms chosen by default", "never worse than the four parameters, and <= 0.9 x IDIM-LS on each",
     quick=(("first 60 %",),), left_out="the thirds")  # fmt: skip
def terms_by_default(names: tuple[str, ...] = tuple(PARTS)) -> tuple[str, bool]:
    """The default call on a part of the record, beside its four parameters alone: one free run over the rest.

    IDIM-LS takes the same samples. The first 20 samples of the rest give the state from which it is run.
    """
    bench, texts, met = emps(), list[str](), True
    whole = CommandRecording(*(np.concatenate(parts) for parts in _columns(bench)[:3]), torque=_columns(bench)[3])
    for name in names:
        train, test = (whole.rows(slice(*(round(share * len(whole)) for share in part))) for part in PARTS[name])

        def error(servo: Servo, theta: np.ndarray, test: CommandRecording = test) -> float:
            runs = FreeRuns(bench.robot, servo, [test.rows(slice(10, None))], 1e-3, np.inf, 1)
            return 1e3 * float(runs.errors(runs.point(theta))[0])

        made = [
            identify_from_commands(bench.robot, (train,), bench.servo, options)
            for options in (None, SimulationOptions(terms=()))
        ]
        chosen, plain = (error(one.servo, one.theta) for one in made)
        squares = error(bench.servo, least_squares(bench, train))
        terms = ", ".join(dict.fromkeys(e.attribute for e in made[0].estimates))
        texts.append(
            f"{name}: {chosen:.2f} mm ({terms}), four parameters {plain:.2f}, IDIM-LS {squares:.2f}: "
            f"{chosen / squares:.2f}"
        )
        met = met and chosen <= plain and chosen <= 0.9 * squares
    return "; ".join(texts), met
