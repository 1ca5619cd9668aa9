"""A simulated controller as C for the real one."""

from __future__ import annotations

from pathlib import Path

from casid.codegen._source import check_identifier
from casid.control import Controller
from casid.export._directory import ExportedDirectory, export_c

_UNITS = {
    "t": "time since the control began [s]",
    "q": "measured joint positions [rad, m for prismatic joints]",
    "dq": "measured joint velocities [rad/s, m/s]",
    "tau": "joint torques to command [N.m, N]",
    "memory": "memory of the controller, 0 samples old; at first that of rest",
    "memory_next": "memory to hand over at the next sample",
}


def export_controller(
    controller: Controller, out: str | Path, prefix: str = "robot", *, batched: bool = False, overwrite: bool = False
) -> ExportedDirectory:
    """Write a controller's law as C: ``int <prefix>_control(t, <reference signals>, q, dq, tau)``.

    The same expression that `casid.simulation.simulate` runs, torque limits included: without allocation, without
    state, with header, build files and self-test (see `export_c`).

    Parameters
    ----------
    controller
        Any controller of `casid.control`.
    out
        Folder to make.
    prefix
        Beginning of the functions' and files' names.
    batched, overwrite
        As for `export_c`.

    Raises
    ------
    ExportError
        If a name is no C identifier, or the folder exists or cannot be written.

    Examples
    --------
    >>> import casid
    >>> from casid.control import ComputedTorque, Saturated, nominal
    >>> from casid.export import export_controller
    >>> panda = casid.load_robot("panda")
    >>> law = Saturated(ComputedTorque(*nominal(panda), 100.0, 20.0), panda.limits.effort)
    >>> export_controller(law, "panda_control", "panda")  # doctest: +SKIP
    """
    check_identifier(prefix, "prefix")
    units = {**_UNITS, **{signal.name: signal.words for signal in controller.signals if signal.words}}
    return export_c(
        {"control": controller.function}, out, prefix, words={"control": controller.words}, units=units,
        batched=batched, overwrite=overwrite,
    )  # fmt: skip
