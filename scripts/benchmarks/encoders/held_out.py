"""Encoders alone: models of a part of a record, and the files that are written, on motions that they have not seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.encoders.measured import Bench, emps, emps_recording, found, go2, replayed, so101, xl330
from benchmarks.measure import Rows, need, scratch
from casid.drives import CommandRecording, FreeRuns, SimulationOptions, identify_from_commands, write_mjcf
from casid.drives._servo import TERMS_WITHOUT_PLACE
from casid.dynamics import Model
from casid.measurement import Dataset, Processing
from casid.regression import compress, ols

row = Rows()

#: Samples of the EMPS that train and that test, in shares of its record.
PARTS = {
    "first 60 %": ((0.0, 0.6), (0.6, 1.0)),
    "first third": ((0.0, 1 / 3), (1 / 3, 1.0)),
    "last third": ((2 / 3, 1.0), (0.0, 2 / 3)),
}
#: Of Janot et al. (2019).
IDIM = Processing(cutoff=100.0, torque_cutoff=40.0, every=10, trim=0.05)


def least_squares(bench: Bench, data: CommandRecording) -> np.ndarray:
    """Mass, viscous and dry friction and offset by IDIM-LS."""
    assert data.torque is not None
    model = Model(bench.robot, ("viscous", "coulomb", "offset"), (0.0, 0.0, 0.0))
    return np.asarray(ols(compress(model, IDIM.apply(Dataset(data.t - data.t[0], data.q, data.torque)))).beta)


def free_run(bench: Bench, test: CommandRecording, runs: FreeRuns, theta: np.ndarray) -> float:
    """Error of one free run [mm], the first 20 samples giving the state."""
    one = FreeRuns(bench.robot, runs.servo, [test.rows(slice(10, None))], 1e-3, np.inf, 1)
    one.parameters = runs.parameters
    return 1e3 * float(one.errors(one.point(theta))[0])


@row("EMPS: terms chosen by default", "never worse than the four parameters, and <= 0.9 x IDIM-LS on each",
     quick=(("first 60 %",),), left_out="the thirds")  # fmt: skip
def terms_by_default(names: tuple[str, ...] = tuple(PARTS)) -> tuple[str, bool]:
    """The default call on a part of the record beside its four parameters alone and IDIM-LS on the same samples."""
    bench, texts, met = emps(), list[str](), True
    whole = emps_recording()
    for name in names:
        train, test = (whole.rows(slice(*(round(share * len(whole)) for share in part))) for part in PARTS[name])
        made, plain = (
            identify_from_commands(bench.robot, (train,), bench.servo, options)
            for options in (None, SimulationOptions(terms=()))
        )
        own, four = (free_run(bench, test, one.runs, one.theta) for one in (made, plain))
        squares = free_run(bench, test, FreeRuns(bench.robot, bench.servo, [train]), least_squares(bench, train))
        terms = ", ".join(dict.fromkeys(e.attribute for e in made.estimates))
        texts.append(
            f"{name}: {own:.2f} mm ({terms}), four parameters {four:.2f}, IDIM-LS {squares:.2f}: {own / squares:.2f}"
        )
        met = met and own <= four and own <= 0.9 * squares
    return "; ".join(texts), met


@row("replay of the written MJCF by MuJoCo's own step on each robot", "<= 1.05 x casid's own error on each robot",
     quick=((xl330,),), left_out="SO-101 and Go2")  # fmt: skip
def written(benches: tuple[Callable[[], Bench], ...] = (so101, go2, xl330)) -> tuple[str, bool]:
    """Errors of recordings held out, in the pieces of casid's own error."""
    need("mujoco", "engines")
    texts, met = list[str](), True
    for make in benches:
        bench, one = make(), found(make)
        pieces = [replace(p.recording.rows(p.rows), name=str(k)) for k, p in enumerate(one.runs.of(bench.test).pieces)]
        kept, lost = one.without(TERMS_WITHOUT_PLACE)  # as the file holds it, which `write_mjcf` does itself
        with scratch() as folder:
            path, _ = write_mjcf(kept, folder / "found.xml")
            squares = [(replayed(path, kept, data) - data.q) ** 2 for data in pieces]
        rms, own, model = float(np.sqrt(np.mean(np.concatenate(squares)))), one.error_of(pieces), kept.error_of(pieces)
        texts.append(f"{bench.name} {1e3 * rms:.1f} mrad, casid {1e3 * own:.1f}: {rms / own:.2f}")
        left = "".join(lost[:1]).partition(";")[0].removeprefix("left out: ")
        texts[-1] += f" ({1e3 * model:.1f} by casid without {left})" if left else ""
        met = met and rms <= 1.05 * own
    return "; ".join(texts), met
