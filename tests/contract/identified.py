"""What the default `casid.identify` finds, from its record and its result."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import casid
from casid.description import Inertial, Joint, Link, Robot
from casid.drives import FREE, CommandRecording, Servo, Unknown, identify_from_commands
from casid.testing import broadband_commands, commanded_motion
from tests.contract.case import Case
from tests.contract.recordings import MEASURED, SIMULATED, data, embodied


def found(result: Any) -> dict[str, Any]:
    """What was chosen, the parameters, the certificate, the findings and the errors."""
    record = result.record()
    processing, verdict, fit = record["processing"], record["verdict"], result.feasible
    laws = {c["joint"]: c["law"] for c in record["friction_candidates"] if c["chosen"]}
    masses = record["masses"]
    return {
        "friction": laws or record["friction"],
        "cutoff": processing["cutoff"],
        "torque_cutoff": processing["torque_cutoff"],
        "delay": processing["delay"],
        "share": record["share"]["share"],
        "springs": [spring["joint"] for spring in record["springs"]],
        "rank": record["rank"],
        "masses": {name: value for name, (value, _, _) in masses.items()},
        "mass_low": {name: low for name, (_, low, _) in masses.items()},
        "mass_high": {name: high for name, (_, _, high) in masses.items()},
        "base_parameters": {one["name"]: one["feasible"] for one in record["base_parameters"]},
        "certified": record["certified"],
        "objective": fit.solution.objective,
        "lower_bound": fit.solution.lower_bound,
        "residual_ratio": record["residual_ratio"],
        "divergence": record["believable"]["divergence"],
        "divergence_bound": record["believable"]["lower_bound"],
        "active_bounds": sorted(bound.quantity for bound in fit.active),
        "right": verdict["right"],
        "findings": sorted(f"{one['kind']}: {one['joint']}".rstrip(": ") for one in verdict["findings"]),
        "error": record["relative_error"]["feasible"],
        "unconstrained_error": record["relative_error"]["unconstrained"],
        "held_out": record["held_out"]["held_out"]["consistent"]["total"],
        "unconstrained_held_out": record["held_out"]["held_out"]["unconstrained"]["total"],
    }


def identified(make: Any) -> dict[str, Any]:
    """One robot by the default call."""
    return found(casid.identify(*make()))


def drive(recording: CommandRecording, *others: CommandRecording, robot: Robot, servo: Servo) -> dict[str, Any]:
    """Servos from commands and encoders."""
    result = identify_from_commands(robot, (recording, *others), servo)
    estimates = {one.name if one.common else f"{one.attribute} {one.joints[0]}": one for one in result.estimates}
    record = result.record()
    return {
        "values": {name: one.value for name, one in estimates.items()},
        "low": {name: one.low for name, one in estimates.items()},
        "high": {name: one.high for name, one in estimates.items()},
        "error": result.error,
        "held_out": record["held_out_error"],
        "start": record["start"]["error"],
        "findings": len(record["findings"]),
    }


def pendulum(kind: str, mass: float, com: tuple[float, float, float], axis: tuple[float, float, float]) -> Robot:
    """One joint with a small body."""
    body = Inertial(mass, np.array(com), 1e-9 * np.eye(3))
    return Robot("bench", (Joint("joint", kind, -1, Link("load", body), axis=np.array(axis)),))  # type: ignore[arg-type]


def emps() -> dict[str, Any]:
    """A prismatic axis driven by a known force."""
    z = np.load(data("emps", "estimation.npz"))
    q, tau = (np.asarray(z[key], dtype=float).reshape(-1, 1)[:18000] for key in ("q", "tau"))
    recording = CommandRecording(np.ravel(z["t"])[:18000], q, np.zeros_like(q), torque=tau, name="emps")
    free = dict.fromkeys(("viscous", "coulomb", "offset"), FREE)
    servo = Servo(kp=0.0, bias=0.0, delay=0.0, armature=Unknown(lower=1.0, upper=1000.0), **free)
    return drive(recording, robot=pendulum("prismatic", 1e-6, (0, 0, 0), (1, 0, 0)), servo=servo)


def xl330() -> dict[str, Any]:
    """A servo with a pendulum, four motions."""
    found = []
    for name in ("sin_sin_kp100", "sin_sin_kp200", "sin_time_square_kp100", "up_and_down_kp100"):
        z = np.load(data("servos", f"xl330_{name}.npz"))
        q, u = (np.asarray(z[key], dtype=float).reshape(-1, 1) for key in ("q", "q_des"))
        on = np.asarray(z["torque_enable"], dtype=float) * np.asarray(z["volts"], dtype=float) / 7.4
        t = np.asarray(z["t"], dtype=float)
        found.append(CommandRecording(t - t[0], q, u, on, float(z["kp"]), name=name))
    duty = 256 * 885 * 2 * np.pi / 4096
    servo = Servo(kp=Unknown(lower=1e-5, upper=1.0), duty=duty, back_emf=FREE)
    return drive(*found, robot=pendulum("revolute", 0.49, (0, 0, -0.1), (0, 1, 0)), servo=servo)


def commanded() -> dict[str, Any]:
    """Two servos of known values, simulated."""
    robot = embodied(casid.load_robot("spatial_2r"), 1)
    given = Servo(kp=[40.0, 30.0], armature=0.05, viscous=1.0, coulomb=0.2, bias=0.0, delay=0.01)
    t = np.arange(0.0, 10.0, 0.02)
    commands = broadband_commands(t, np.zeros(2), 0.6, seed=3)
    return drive(commanded_motion(robot, given, t, commands, noise=1e-4, seed=4), robot=robot, servo=Servo())


#: Fast enough to run by default.
FAST = ("three_link",)
CASES = {
    **{f"simulated {name}": Case(partial(identified, make), slow=name not in FAST) for name, make in SIMULATED.items()},
    **{f"measured {name}": Case(partial(identified, make)) for name, make in MEASURED.items()},
    "commands emps": Case(emps),
    "commands xl330": Case(xl330),
    "commands simulated": Case(commanded),
}
