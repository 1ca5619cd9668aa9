"""The command ``simulate``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

import casid
from casid.cli import options as o
from casid.cli.shared import RobotArgument, note, out_folder, present, refuse
from casid.errors import DatasetError
from casid.files import assignments, comma_numbers


@dataclass(frozen=True)
class Reference(o.OptionGroup):
    """Motion to follow."""

    panel = "Motion"
    trajectory: Path | None = o.option(None, "Motion to follow (TOML of `casid excite`); default: sines.")
    duration: float | None = o.option(None, "Seconds; default: the motion's, at most 10 of sines.")
    amplitude: float = o.option(0.5, "Of the sines, lowest to highest point \\[rad or m].")
    frequency: float = o.option(0.25, "Of the first joint's sine [Hz]; of the last: twice.")

    def followed(self, robot: casid.Robot) -> casid.motion.Follow | casid.motion.Sine:
        """The reference of a robot."""
        if self.trajectory is not None:
            return casid.motion.Follow(casid.motion.read_trajectory(self.trajectory))
        seconds = 10.0 if self.duration is None else self.duration
        return casid.motion.Sine.within(robot, self.amplitude, self.frequency, seconds)


@dataclass(frozen=True)
class Simulated(o.OptionGroup):
    """The simulated robot and its sensors."""

    panel = "Simulated robot"
    parameters: Path | None = o.option(
        None, "Parameters and joint terms of the robot (.json, .csv, .npy); default: its description's."
    )
    term_values: str = o.option(
        "",
        "Joint terms instead of the description's, of all joints or of one: viscous=0.5,viscous@joint6=0.1.",
        metavar="TERM=VALUE,...",
    )
    noise: str = o.option("0,0,0", "Standard deviations of the sensors \\[rad, rad/s, N.m].", metavar="Q,DQ,TAU")
    seed: int = o.option(0, "Of the sensors' errors.", min=0)
    exact: bool = o.option(False, "Exact dry friction with sticking (dormand-prince).", "--exact")
    wall: str = o.option(
        "",
        "A compliant wall that --frame meets: a point, its normal, stiffness \\[N/m], damping \\[N.s/m].",
        metavar="X,Y,Z,NX,NY,NZ,K,D",
    )
    smooth: float = o.option(1e-2, "Speed at which smooth dry friction is reached \\[rad/s].")

    def plant(self, robot: casid.Robot, frame: str | None = None) -> casid.simulation.Plant:
        """The robot with its joint terms, its friction, and the wall that a frame meets."""
        from casid.simulation import ExactCoulomb, Plant, SmoothCoulomb, Wall

        given = robot.parameters if self.parameters is None else casid.inertia.read_parameters(self.parameters)
        friction = ExactCoulomb() if self.exact else SmoothCoulomb(self.smooth)
        plant = Plant.of(robot, friction, None, given, **_by_joint(robot, self.term_values))
        if not self.wall:
            return plant
        given_wall = comma_numbers(self.wall, "--wall", typer.BadParameter, 8)
        return replace(
            plant, forces=(Wall(frame or robot.flange.name, given_wall[:3], given_wall[3:6], *given_wall[6:]),)
        )


def _by_joint(robot: casid.Robot, text: str) -> dict[str, list[float]]:
    """Values of each joint term, one a joint, of ``TERM=VALUE,TERM@JOINT=VALUE``; 0 where a joint has none."""
    joints = [joint.name for joint in robot.coordinates]
    given = assignments(text, "--term-values", typer.BadParameter)
    found: dict[str, list[float]] = {}
    for name, value in sorted(given.items(), key=lambda item: "@" in item[0]):  # those of all joints first
        term, at, joint = name.partition("@")
        if at and joint not in joints:
            raise typer.BadParameter(f"--term-values: there is no joint '{joint}'; there are {', '.join(joints)}")
        values = found.setdefault(term, [0.0] * len(joints))
        values[:] = [value if not at or other == joint else old for other, old in zip(joints, values, strict=True)]
    return found


@dataclass(frozen=True)
class Control(o.OptionGroup):
    """The controller."""

    panel = "Controller"
    controller: str = o.option(
        "computed-torque",
        "passive, pd, pd-gravity, feed-forward, computed-torque, operational-space, "
        "velocity-operational-space or impedance.",
    )
    believed: Path | None = o.option(None, "Parameters in the controller's model; default: those of the robot's links.")
    bandwidth: float = o.option(10.0, "Of the controller's error \\[rad/s].")
    kp: str | None = o.option(None, "Proportional gains instead.", metavar="NUMBER,...")
    kd: str | None = o.option(None, "Derivative gains instead.", metavar="NUMBER,...")
    frame: str | None = o.option(None, "Frame that is controlled, or meets the wall; default: the flange.")
    control_rate: float = o.option(1000.0, "Samples of the controller a second [Hz].")
    control_delay: float = o.option(0.0, "From a sample to its torque \\[s].")
    limits: bool = o.option(True, "Cut torques off at the robot's limits.")

    def law(
        self, robot: casid.Robot, plant: casid.simulation.Plant, reference: casid.motion.Reference
    ) -> casid.control.Controller:
        """The controller of a plant."""
        links, inertial = plant.links
        settings = casid.control.ControllerSettings(
            links,
            inertial if self.believed is None else casid.inertia.read_parameters(self.believed).standard,
            reference.at(0.0).q[0],
            self.bandwidth,
            self.frame or robot.flange.name,
            None if self.kp is None else comma_numbers(self.kp, "kp", DatasetError),
            None if self.kd is None else comma_numbers(self.kd, "kd", DatasetError),
        )
        law = casid.control.controller_of(self.controller, settings)
        return casid.control.Saturated(law, robot.limits.effort) if self.limits else law


@dataclass(frozen=True)
class Integration(o.OptionGroup):
    """Numerical integration."""

    panel = o.ADVANCED
    integrator: str | None = o.option(None, "runge-kutta, euler, dormand-prince, cvodes; default: as friction needs.")
    step: float | None = o.option(None, "Step \\[s] of runge-kutta (default) and euler, tolerance of the others.")

    def chosen(self, exact: bool) -> casid.simulation.integrators.Integrator | None:
        """The integrator; None: as the plant's friction needs."""
        if not (self.integrator or exact or self.step is not None):
            return None
        name = self.integrator or ("dormand-prince" if exact else "runge-kutta")
        return casid.simulation.integrators.integrator_of(name, self.step)


@o.grouped
def simulate(
    context: typer.Context,
    robot: RobotArgument,
    motion: Reference,
    simulated: Simulated,
    control: Control,
    integration: Integration,
    options: o.RobotOptions,
    out: Annotated[Path | None, typer.Option(help="Folder for the recording, pictures and an animation.")] = None,
) -> None:
    """Simulate a robot under a controller: a recording that `identify` reads, pictures, the energy balance."""
    from casid.arrays import ALIKE

    _refuse_unused(context, motion, simulated, control)
    folder = out_folder(out)
    loaded = options.robot(robot)
    plant = simulated.plant(loaded, control.frame)
    reference = motion.followed(loaded)
    law = control.law(loaded, plant, reference)
    position, velocity, torque = comma_numbers(simulated.noise, "noise", typer.BadParameter, 3)
    done = casid.simulation.simulate(
        plant,
        law,
        reference,
        reference.span[1] if motion.duration is None else motion.duration,
        integrator=integration.chosen(simulated.exact),
        rate=control.control_rate,
        delay=control.control_delay,
        sensor=casid.simulation.Sensor(position, velocity, torque, simulated.seed),
    )
    written = present(casid.report.report_of(done), folder)
    if folder is not None and all(path.name != "recording.npz" for path in written):
        note(f"no recording.npz: {len(done)} samples are too few")
    loads = [loaded.coordinates[k].name for term, k in plant.model.term_columns.values() if term.loaded]
    if loads:
        note(
            f"friction of {', '.join(dict.fromkeys(loads))} grows with the load, here with that of the links "
            "without acceleration",
        )
    error = done.tracking_error
    missed, demanded = abs(error).max(axis=0, initial=0.0), done.q_ref.std(axis=0)
    stands = (demanded > ALIKE) & (error.std(axis=0) > demanded / 2)  # as large as demanded for one that stands
    far = [
        f"{joint.name} by {largest:.3g}"
        for joint, largest, still in zip(loaded.coordinates, missed, stands, strict=True)
        if largest > 1 or still
    ]
    if far and done.end.finished and control.controller != "passive":
        note(
            f"the arm does not follow its motion [rad or m]: {', '.join(far)}; raise --bandwidth, or look at "
            "friction and torque limits",
        )
    if not done.end.finished:
        raise typer.Exit(2)


def _refuse_unused(context: typer.Context, motion: Reference, simulated: Simulated, control: Control) -> None:
    """BadParameter for options that the others leave without effect."""
    controller = control.controller
    if motion.trajectory is not None:
        refuse(context, ("amplitude", "frequency"), "is of the sines, not of a --trajectory")
    if controller == "passive":
        refuse(context, ("bandwidth", "kp", "kd", "believed"), "has no effect on the controller 'passive'")
    if controller not in casid.control.OF_A_FRAME and not simulated.wall:
        refuse(context, ("frame",), f"has no effect on the controller '{controller}'")
    if control.kp is not None and control.kd is not None:
        refuse(context, ("bandwidth",), "has no effect where --kp and --kd are given")
    if simulated.exact:
        refuse(context, ("smooth",), "contradicts --exact")
