"""External forces and the compliant wall against closed forms."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from casid.control import Passive
from casid.description import Inertial, Joint, Link, Robot
from casid.dynamics import Model
from casid.errors import DatasetError, RobotError
from casid.motion import Hold
from casid.simulation import ExactCoulomb, ExternalForce, Plant, Simulation, Wall, simulate, simulate_many
from casid.simulation.integrators import Cvodes, DormandPrince, Integrator, RungeKutta4

MASS, STIFFNESS = 2.0, 800.0


def body(gravity: float = 0.0, damping: float = 0.0, **options: object) -> Plant:
    """A mass on a rail along x, with a wall behind x = 0."""
    joint = Joint(
        "slide", "prismatic", -1, Link("mass", Inertial(MASS, np.zeros(3), np.eye(3))), axis=np.array([1.0, 0.0, 0.0])
    )
    robot = Robot("rail", (joint,), gravity=np.array([-gravity, 0.0, 0.0]))
    walls = (Wall("mass", (0, 0, 0), (3.0, 0, 0), STIFFNESS, damping),)
    terms = ("coulomb",) if options else ()
    pi = np.append(robot.standard_parameters(), [0.5] * len(terms))
    return Plant(Model(robot, terms), pi, forces=walls, **options)  # type: ignore[arg-type]


def run(plant: Plant, x0: float, v0: float, duration: float, integrator: Integrator | None = None) -> Simulation:
    return simulate(
        plant, Passive(1), Hold(np.zeros(1)), duration, integrator=integrator or RungeKutta4(1e-4), q0=[x0], dq0=[v0],
        compiled=False,
    )  # fmt: skip


def test_a_mass_bounces_off_a_spring_after_half_a_period() -> None:
    done = run(body(), 0.0, -0.3, 0.3)
    w = np.sqrt(STIFFNESS / MASS)
    inside = done.t < np.pi / w - 1e-3
    force = done.wrench("mass")
    assert np.abs(force[inside, 0] - 0.3 * np.sqrt(STIFFNESS * MASS) * np.sin(w * done.t[inside])).max() < 1e-6
    assert np.abs(done.dq[~inside & (done.t > np.pi / w), 0] - 0.3).max() < 1e-4
    assert not force[done.t > np.pi / w + 1e-3].any() and not force[:, 1:].any()
    assert np.abs(done.dissipated).max() < 1e-12 and done.energy.relative_imbalance < 1e-4


@pytest.mark.parametrize("integrator", [RungeKutta4(1e-4), DormandPrince(1e-9)], ids=lambda i: type(i).__name__)
def test_a_damper_follows_its_equation_and_dissipates(integrator: Integrator) -> None:
    """``m x'' = -k x - c x'`` while the force is positive, weight carried at last."""
    c, g = 20.0, 5.0
    done = run(body(g, c), -0.04, 0.0, 2.0, integrator)
    decay, rest = c / (2 * MASS), -MASS * g / STIFFNESS
    w = np.sqrt(STIFFNESS / MASS - decay**2)
    inside = done.t < 0.05  # before it leaves the wall
    t = done.t[inside]
    expected = rest + (-0.04 - rest) * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))
    assert np.abs(done.q[inside, 0] - expected).max() < 1e-7
    force = done.wrench("mass")[:, 0]
    assert force.min() >= 0 and force[-1] == pytest.approx(MASS * g, rel=1e-3)
    assert done.q[-1, 0] == pytest.approx(rest, rel=1e-3)
    assert (np.diff(done.dissipated) > -1e-9).all() and done.dissipated[-1] > 0.3
    assert done.energy.relative_imbalance < 1e-3


def test_the_implicit_method_has_the_same_wall() -> None:
    plant = body(5.0, 20.0)
    done, other = (run(plant, -0.04, 0.0, 0.05, i) for i in (Cvodes(1e-9), RungeKutta4(1e-4)))
    assert np.abs(done.q - other.q).max() < 1e-7 and np.abs(done.dissipated - other.dissipated).max() < 1e-6


def test_the_wall_never_holds_what_leaves_it() -> None:
    """Drawn out faster than the spring follows, the damper lets go and the spring's energy is lost."""
    plant = body(0.0, 200.0)
    done = run(plant, -0.02, 1.0, 0.05)
    assert not done.wrench("mass")[:15].any() and np.abs(done.dq - 1.0).max() < 1e-9
    assert done.dissipated[-1] == pytest.approx(STIFFNESS * 0.02**2 / 2, rel=1e-6)


def test_exact_friction_sticks_in_the_wall() -> None:
    done = run(body(friction=ExactCoulomb()), 0.02, -0.1, 1.0, DormandPrince(1e-9))
    assert done.dq[-1, 0] == 0.0 and done.q[-1, 0] < 0.02
    assert done.wrench("mass")[-1, 0] <= 0.5 + 1e-9  # friction holds what the spring pushes with
    assert done.energy.relative_imbalance < 1e-6


def test_many_bounces_in_c_are_the_one() -> None:
    plant = body(1.0, 5.0)
    many = simulate_many(plant, Passive(1), Hold(np.zeros(1)), 0.5, q0=[[0.01], [0.03]], dq0=[[-0.2], [0.0]])
    one = run(plant, 0.03, 0.0, 0.5, RungeKutta4(1e-3))
    assert np.abs(many.q[1] - one.q).max() < 1e-10


def test_walls_and_frames_that_are_none_are_refused() -> None:
    with pytest.raises(DatasetError, match="normal is zero"):
        Wall("flange", (0, 0, 0), (0, 0, 0), 1.0)
    with pytest.raises(DatasetError, match="'flange': stiffness must be positive"):
        Wall("flange", (0, 0, 0), (0, 0, 1), -1.0)
    with pytest.raises(DatasetError, match="point: expected shape"):
        Wall("flange", (0, 0), (0, 0, 1), 1.0)
    plant = body()
    with pytest.raises(RobotError, match="no frame 'hand'"):
        Plant(plant.model, plant.parameters, forces=(Wall("hand", (0, 0, 0), (0, 0, 1), 1.0),))


@pytest.mark.claim("a function of a user that returns another shape is refused where it is taken")
@pytest.mark.parametrize(("wrench", "energy"), [(1, 1), (7, 1), (6, 2), (6, 0)])
def test_shapes_of_an_external_force_are_checked(wrench: int, energy: int) -> None:
    class Own(ExternalForce):
        frame = "mass"

        def wrench(self, T: ca.SX, twist: ca.SX) -> ca.SX:
            return ca.SX(wrench, 1)

        def energy(self, T: ca.SX) -> ca.SX:
            return ca.SX(energy, 1)

    what, found = ("wrench", wrench) if wrench != 6 else ("energy", energy)
    with pytest.raises(DatasetError, match=rf"'Own': `{what}`: expected shape .*, got \({found}, 1\)"):
        simulate(replace(body(), forces=(Own(),)), Passive(1), Hold(np.zeros(1)), 0.01)
