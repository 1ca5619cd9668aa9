"""Recordings of a simulated robot: the ground truth of identification."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from casid.excitation import Trajectory
from casid.measurement import Dataset
from casid.simulation.controllers import ComputedTorque
from casid.simulation.integrators import Integrator
from casid.simulation.plant import Plant
from casid.simulation.references import Follow, Reference
from casid.simulation.sensor import Sensor
from casid.simulation.simulate import simulate


def record(
    plant: Plant,
    motion: Trajectory | Reference,
    *,
    rate: float = 1000.0,
    delay: float = 0.0,
    kp: ArrayLike = 100.0,
    kd: ArrayLike = 20.0,
    sensor: Sensor | None = None,
    duration: float | None = None,
    integrator: Integrator | None = None,
    name: str = "simulation",
) -> Dataset:
    """Let the plant follow a motion in closed loop and record it as its sensors see it.

    Computed torque with the plant's own links, without its joint terms, drives it; errors of the measured state enter
    the loop and so the torques, as on a real robot.

    Parameters
    ----------
    plant
        The robot, friction included.
    motion
        A trajectory, e.g. of `casid.excitation`, or any reference.
    rate, delay
        Of controller and recording [Hz, s].
    kp, kd
        Gains of the joints' errors [1/s^2, 1/s].
    sensor
        Standard deviations of the errors, and their seed.
    duration
        [s]; default: that of the motion.

    Returns
    -------
    Dataset
        Measured t, q, dq, tau. A simulation that ended early says so in the notes.

    Raises
    ------
    DatasetError
        If it ended before there were enough samples.

    Examples
    --------
    >>> import casid
    >>> from casid.simulation import Plant, Sensor, Sine, record
    >>> panda = casid.load_robot("panda")
    >>> plant = Plant.of(panda, viscous=0.5, coulomb=0.3)
    >>> data = record(plant, Sine.within(panda), sensor=Sensor(position=1e-5, torque=0.05), duration=2.0)
    """
    reference = Follow(motion) if isinstance(motion, Trajectory) else motion
    controller = ComputedTorque(*plant.links, np.asarray(kp), np.asarray(kd))
    length = float(np.ceil((reference.span[1] if duration is None else duration) * rate - 1e-9)) / rate
    done = simulate(plant, controller, reference, length, integrator=integrator, rate=rate, delay=delay, sensor=sensor)
    return done.dataset(name)
