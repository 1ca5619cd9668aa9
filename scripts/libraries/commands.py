"""Entries from position commands and encoders: `casid.drives.identify_from_commands`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.encoders import measured as data

from casid.drives import identified_robot, identify_from_commands
from libraries.entry import Found


def made(read: Callable[[], data.Bench], folder: str, file: str = "{}", without: tuple[str, ...] = ()) -> Found:
    """The default call on the training motions; errors of free runs, also on the motions that were held out.

    ``without``: recordings that the findings of the whole call say to leave out, because commands are missing in them.
    """
    bench = read()
    train = [recording for recording in bench.train if recording.name not in without]
    result = identify_from_commands(bench.robot, train, bench.servo)
    intervals = {e.name: (e.value, e.low, e.high) for e in result.estimates}
    held_out = round(1e3 * result.error_of(bench.test), 3)
    return Found(
        identified_robot(result),
        result.headline,
        round(1e3 * result.error, 3),
        held_out,
        "mrad",
        intervals,
        files=tuple(f"{folder}/{file.format(recording.name)}.npz" for recording in train),
    )


COMMANDS: dict[str, Callable[[], Found]] = {
    "so101_sage": partial(made, data.so101, "so101", without=("prbs_excitation",)),
    "go2_held": partial(made, data.go2, "go2", "go2_train"),
    "xl330_pendulum": partial(made, data.xl330, "servos", without=("xl330_lift_and_drop_kp200",)),
}
