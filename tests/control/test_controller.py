"""The contract of controllers: memory in Python and in C, and what the closed loop of a regression accepts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import casid
from casid.control import (
    PD,
    CascadedDrive,
    Controller,
    OperationalSpace,
    Passive,
    Saturated,
    Switched,
    controller_of,
    nominal,
)
from casid.dynamics import Model
from casid.errors import DatasetError
from casid.export import export_controller, load
from casid.motion import Hold, Motion, Positions, Sine
from casid.simulation import Plant, simulate, simulate_many
from problems.spatial_2r import true_parameters
from tests.helpers import needs_compiler


@dataclass(frozen=True)
class Counter(Controller):
    """Torques that grow by 1 N.m a sample: the memory counts."""

    @property
    def n(self) -> int:
        return 2

    @property
    def states(self) -> int:
        return 1

    def initial(self, q: ca.SX) -> ca.SX:
        return ca.SX(2, 1)

    def step(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX, memory: ca.SX) -> tuple[ca.SX, ca.SX]:
        return memory[:, 0], memory + 1


def plant() -> Plant:
    return Plant(Model(casid.load_robot("spatial_2r")), true_parameters())


@pytest.mark.claim("controllers with a memory simulate, in Python and in C, alone, side by side and in wrappers")
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_compiler)])
def test_memory_is_kept_from_sample_to_sample(compiled: bool) -> None:
    law = Saturated(Switched(Counter(), Counter(), 0.005), np.array([6.0, np.inf]))
    assert law.states == 2
    done = simulate(plant(), law, Hold(np.zeros(2)), 0.01, compiled=compiled)
    assert done.command[:, 1].tolist() == list(range(11))
    assert done.command[:, 0].tolist() == [min(k, 6) for k in range(11)]


@needs_compiler
def test_rollouts_have_memories_of_their_own() -> None:
    drive = CascadedDrive(50.0, 2.0, 1e-3, 10.0, 1.0, joints=2)
    q0 = np.array([[0.0, 0.1], [0.2, -0.1], [0.1, 0.1]])
    many = simulate_many(plant(), drive, Hold(np.zeros(2)), 0.05, q0=q0)
    for k in range(3):
        alone = simulate(plant(), drive, Hold(np.zeros(2)), 0.05, q0=q0[k])
        assert np.abs(many.tau[k] - alone.tau).max() < 1e-9
    assert np.abs(many.tau[0] - many.tau[1]).max() > 0.1


def test_functions_of_a_controller_with_memory_have_it_as_input_and_output() -> None:
    drive = CascadedDrive(50.0, 2.0, 1e-3, 10.0, 1.0)
    assert drive.function.name_in() == ["t", "q_ref", "dq_ref", "ddq_ref", "q", "dq", "memory"]
    assert drive.function.name_out() == ["tau", "memory_next"]
    assert PD(np.ones(1), np.ones(1)).function.name_out() == ["tau"]


def test_references_of_joints_only_and_no_time() -> None:
    q, r, memory = ca.SX.sym("q", 2), ca.SX.sym("r", 6), ca.SX(2, 0)
    tau, _ = PD(np.ones(2), np.ones(2)).joint_step(r, q, q, memory)
    assert tau.shape == (2, 1)
    with pytest.raises(DatasetError, match="does not depend on the time"):
        Switched(PD(np.ones(2), np.ones(2)), Passive(2), 1.0).joint_step(r, q, q, memory)


def test_a_controller_without_a_law_is_refused() -> None:
    class Empty(Controller):
        @property
        def n(self) -> int:
            return 2

    with pytest.raises(NotImplementedError, match="Empty must define law, or step"):
        Empty().rows(Sine.within(casid.load_robot("spatial_2r")).at([0.0]))
        _ = Empty().function


PANDA = casid.load_robot("panda")


POSTURE = np.array([0.0, -0.4, 0.1, -2.0, 0.1, 1.7, 0.6])


def test_torques_stay_within_their_limits(run, settings) -> None:
    limit = np.array([5.0, 40.0, 5.0, np.inf, 1.0, 2.0, 1.0])
    controller = Saturated(controller_of("computed-torque", settings(bandwidth=20.0)), limit)
    done = run(controller, POSTURE + 0.3, 0.3)
    largest = np.abs(done.tau).max(axis=0)
    assert (largest <= limit).all()
    assert (largest[[0, 2, 4]] == limit[[0, 2, 4]]).all()  # they were asked for more
    with pytest.raises(DatasetError, match=r"limit of joint 2"):
        Saturated(controller, np.array([1.0, 0.0, 1, 1, 1, 1, 1]))


def test_switched_and_positions_only() -> None:
    first, second = (PD(np.full(7, kp), np.zeros(7)) for kp in (1.0, 3.0))
    law = Switched(first, second, 0.5).function
    state = [np.ones(7), np.ones(7), np.ones(7), np.zeros(7), np.zeros(7)]
    assert np.array(law(0.499, *state)).ravel().tolist() == [1.0] * 7
    assert np.array(law(0.5, *state)).ravel().tolist() == [3.0] * 7
    with pytest.raises(DatasetError, match="same joints"):
        Switched(first, OperationalSpace(*nominal(PANDA), 1.0, 1.0, "flange"), 1.0)  # type: ignore[arg-type]
    motion = Positions(Sine.within(PANDA)).at(np.linspace(0, 1, 5))
    assert np.abs(motion.q - motion.q[0]).max() > 0.1
    assert not motion.dq.any() and not motion.ddq.any()


@needs_compiler
@pytest.mark.parametrize("name", ["computed-torque", "operational-space"])
def test_exported_control_is_the_simulated_one(settings, name: str, tmp_path: Path) -> None:
    controller = Saturated(controller_of(name, settings()), PANDA.limits.effort)
    export_controller(controller, tmp_path / "c", "panda")
    source = (tmp_path / "c" / "panda.c").read_text()
    assert "alloc" not in source and "static double" not in source
    header = " ".join((tmp_path / "c" / "panda.h").read_text().replace("*", " ").split())
    assert "Torques are cut off at the limits" in header
    exported = load(tmp_path / "c").control
    rng = np.random.default_rng(0)
    signals = controller.rows(Sine.within(PANDA).at([0.3]))[0]
    parts, start = [], 0
    for signal in controller.signals:
        parts.append(signals[start : start + signal.size].reshape((signal.rows, signal.columns), order="F"))
        start += signal.size
    for _ in range(5):
        q, dq = POSTURE + 0.1 * rng.standard_normal(7), rng.standard_normal(7)
        ours = np.array(controller.stacked(0.3, signals, q, dq)).ravel()
        assert np.abs(np.ravel(exported(0.3, *parts, q, dq)) - ours).max() < 1e-9 * (1 + np.abs(ours).max())


class Wrong(Controller):
    """Torques, memory, references or first memory of another size, for two joints."""

    def __init__(self, what: str, size: int) -> None:
        self.what, self.size = what, size

    @property
    def n(self) -> int:
        return 2

    @property
    def states(self) -> int:
        return int(self.what in ("memory", "initial"))

    def step(self, t: ca.SX, signals: tuple[ca.SX, ...], q: ca.SX, dq: ca.SX, memory: ca.SX) -> tuple[ca.SX, ca.SX]:
        return ca.SX(self.size if self.what == "torques" else 2, 1), (
            ca.SX(self.size, 1) if self.what == "memory" else memory
        )

    def initial(self, q: ca.SX) -> ca.SX:
        return ca.SX(self.size, 1) if self.what == "initial" else ca.SX(q)

    def rows(self, motion: Motion) -> np.ndarray:
        return np.zeros((len(motion), self.size)) if self.what == "rows" else super().rows(motion)


@pytest.mark.claim("a function of a user that returns another shape is refused where it is taken")
@needs_compiler
@pytest.mark.parametrize("what", ["torques", "memory", "initial", "rows"])
@pytest.mark.parametrize("size", [0, 1, 3, 4, 700])
def test_shapes_of_a_law_are_checked_by_everything_that_runs_it(what: str, size: int, tmp_path: Path) -> None:
    law, still = Wrong(what, size), Hold(np.zeros(2))
    uses = [
        lambda compiled=compiled: simulate(plant(), law, still, 0.01, compiled=compiled) for compiled in (False, True)
    ]
    uses.append(lambda: simulate_many(plant(), law, still, 0.01, count=2))
    uses.append(lambda: simulate(plant(), Saturated(Switched(law, law, 1.0), np.full(2, 9.0)), still, 0.01))
    if what in ("torques", "memory"):
        uses.append(lambda: export_controller(law, tmp_path / "out", "arm"))
    expected = {"torques": r"\(2, 1\)", "memory": r"\(2, 1\)", "initial": r"\(2, 1\)", "rows": r"\(11, 6\)"}[what]
    for use in uses:
        with pytest.raises(DatasetError, match=rf"'Wrong': .*expected shape {expected}, got .*\b{size}\b"):
            use()
    assert not (tmp_path / "out").exists()
