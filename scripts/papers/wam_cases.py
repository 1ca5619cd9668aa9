"""The demonstrations of Sousa (2014, Ch. 5): free fall and control of the WAM with four sets of base parameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from benchmarks import published

import casid
from casid.arrays import Array
from casid.control import PD, ComputedTorque, Controller, Passive, PDGravity, Switched
from casid.dynamics import Model
from casid.motion import Follow, Fourier, Hold, Positions, Trajectory
from casid.simulation import ExactCoulomb, Plant, Simulation, SmoothCoulomb, Stops, simulate
from casid.simulation._plant import FrictionTreatment
from casid.simulation.integrators import DormandPrince

#: The joint and motor terms of eq. 4.9-4.11.
TERMS = ("viscous", "coulomb", "offset", "motor_viscous", "motor_coulomb", "motor_offset", "motor_rotor")
#: Columns of Table 4.9, by the names in the text; the first is not feasible.
SETS = {
    "beta_WLS": "beta_WLS", "beta'": "beta_prime_WLS", "beta*": "beta_star_WLS", "beta*e": "beta_star_e_WLS",
}  # fmt: skip
FEASIBLE = tuple(SETS)[1:]
#: Switch-on of the PD control and of the trajectory [s]; the trajectory's period [s] (Sec. 5.2, eq. 4.22).
PD_ON, MOTION_ON, PERIOD = 2.0, 4.0, 12.5
#: Fundamental frequency of the trajectories [rad/s] (eq. 4.22).
FUNDAMENTAL = 2 * np.pi * 0.08


@cache
def model() -> Model:
    return Model(casid.load_robot("wam7"), TERMS)


def parameters(name: str) -> Array:
    """Standard parameters with the base parameters of a set: each leading one takes its value, all others are zero.

    Torques, mass matrix and motion depend on the base parameters alone (Sousa 2014, Sec. 2.5.1).
    """
    pi = np.zeros(len(model().parameter_names))
    rows = published.table("wam_table_4_9_feasible_estimates")
    pi[list(model().base.independent)] = published.column(rows, SETS[name])
    return pi


def free_fall(name: str, duration: float, friction: FrictionTreatment | None = None) -> Simulation:
    """Motors off, from rest with all joints at zero (Sec. 5.1.2)."""
    plant = Plant(model(), parameters(name), friction or ExactCoulomb())
    return simulate(
        plant, Passive(7), Hold(np.zeros(7)), duration, rate=200.0, integrator=DormandPrince(1e-10),
    )  # fmt: skip


def divergence(name: str, tolerance: float = 1e-8) -> Simulation:
    """Free fall as in the thesis: sigmoid friction, nothing but the integrator to stop it; every millisecond."""
    plant = Plant(model(), parameters(name), SmoothCoulomb(1e-3))
    return simulate(
        plant, Passive(7), Hold(np.zeros(7)), 0.2, rate=1000.0, integrator=DormandPrince(tolerance),
        stops=Stops(definite=False, speed=1e6),
    )  # fmt: skip


def wam_table(name: str) -> Trajectory:
    """A published trajectory (Table 4.4 or 4.5)."""
    keys = [*(f"a_{k}" for k in range(1, 7)), *(f"b_{k}" for k in range(1, 7)), "q0"]
    rows = [[float(row[key]) for key in keys] for row in published.table(name)]
    return Trajectory(Fourier(FUNDAMENTAL, 6), np.array(rows))


def trajectory_b() -> Trajectory:
    """Trajectory B (Table 4.5)."""
    return wam_table("wam_table_4_5_trajectory_B")


def gains(table: str) -> tuple[Array, Array]:
    """Gains ``Kp, Kd`` of a table."""
    rows = published.table(table)
    return published.column(rows, "Kp"), published.column(rows, "Kd")


@dataclass(frozen=True)
class Law:
    """A controller of the comparison: its name, and the table of its gains."""

    name: str
    gains: str

    def controller(self, pi: Array, factor: float = 1.0) -> Controller:
        """For a set: only gravity and Coriolis compensation before the PD control is switched on (Sec. 5.2).

        A factor multiplies Kp, its root Kd: the damping stays.
        """
        links, inertial = Plant(model(), pi).links
        kp, kd = gains(self.gains)
        kp, kd = factor * kp, np.sqrt(factor) * kd
        zero = np.zeros(7)
        before: Controller = ComputedTorque(links, inertial, zero, zero)
        if self.name == "PD":
            return Switched(PD(zero, zero), PD(kp, kd), PD_ON)
        if self.name == "PD + gravity":
            return Switched(before, PDGravity(links, inertial, kp, kd), PD_ON)
        return Switched(before, ComputedTorque(links, inertial, kp, kd), PD_ON)


LAWS = {
    "PD": Law("PD", "wam_table_4_3_pd_gains"),
    "PD + gravity": Law("PD + gravity", "wam_table_4_3_pd_gains"),
    "computed torque": Law("computed torque", "wam_table_5_1_pd_gains"),
    "computed torque, tight": Law("computed torque", "wam_table_5_2_pd_gains"),
}
#: The machine that is controlled: the set with a-priori knowledge, with all its friction and rotor inertia.
MACHINE = "beta*e"


@cache
def track(name: str, law: str, factor: float = 1.0) -> Simulation:
    """One period of trajectory B at 1 kHz, positions alone as the reference (Sec. 5.2); Kp times a factor."""
    plant = Plant(model(), parameters(MACHINE), ExactCoulomb())
    reference = Positions(Follow(trajectory_b(), MOTION_ON))
    return simulate(
        plant, LAWS[law].controller(parameters(name), factor), reference, MOTION_ON + PERIOD, rate=1000.0,
        integrator=DormandPrince(1e-8), stops=Stops(speed=100.0),
    )  # fmt: skip


def rms_degrees(done: Simulation) -> Array:
    """Root mean square of each joint's error while the trajectory is played [deg]."""
    return np.asarray(np.degrees(np.sqrt(np.mean(done.tracking_error[done.t >= MOTION_ON] ** 2, axis=0))))
