"""Designs of exciting motions."""

from __future__ import annotations

import signal
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

import casid
from casid.description import Capsule, Robot
from casid.errors import ProblemError
from casid.excitation import (
    CollisionConstraint,
    ConditionNumber,
    Designer,
    FunctionConstraint,
    MotionLimits,
    Observation,
    certify_limits,
    workspace_box,
)
from casid.excitation.optimisation import Progress, Stage
from casid.motion import Fourier, Motion, Poses, QuinticSpline, Ramped, Trajectory

QUICK = (Stage(0.2, 2.0, 25), Stage(0.05, 8.0, 25))


@pytest.fixture(scope="module")
def panda_observed(panda: Robot) -> Observation:
    return Observation.of_model(casid.Model(panda, terms=("viscous", "coulomb", "offset")))


# ---------------------------------------------------------------------- designs


@pytest.mark.parametrize(
    "basis",
    [Fourier(0.6, 3), Ramped(Fourier(0.6, 3), 1.0), QuinticSpline(10.0, 11)],
    ids=["fourier", "ramped", "spline"],
)
def test_a_design_beats_its_start_and_keeps_its_limits(basis: object, arm: Robot, observed: Observation) -> None:
    limits = MotionLimits.of_robot(arm)
    design = Designer(observed, basis, limits, samples=60).run(seed=1, stages=QUICK)  # type: ignore[arg-type]
    assert design.value < 0.8 * design.starts[0].initial
    assert design.value == pytest.approx(np.linalg.cond(observed.matrix(design.trajectory.sample(60))), rel=1e-6)
    assert max(check.excess for check in certify_limits(design.trajectory, limits)) <= 0


@pytest.mark.slow
def test_the_panda_in_a_few_seconds(panda: Robot, panda_observed: Observation) -> None:
    limits = MotionLimits.of_robot(panda)
    designer = Designer(panda_observed, Fourier(0.15 * np.pi, 5), limits)
    design = designer.run(stages=(Stage(0.2, 2.0, 40), Stage(0.06, 6.0, 25)))
    assert design.condition_number < 50  # the published trajectory: 96
    assert max(check.excess for check in certify_limits(design.trajectory, limits)) <= 0


def test_start_pose_and_rest(arm: Robot, observed: Observation) -> None:
    pose = np.array([0.4, -0.3])
    designer = Designer(observed, Fourier(0.6, 4), MotionLimits.of_robot(arm), pose=pose, rest=True, samples=60)
    trajectory = designer.run(stages=QUICK).trajectory
    assert trajectory.derivative([0.0], 0)[0] == pytest.approx(pose, abs=1e-6)
    for order in (1, 2):
        assert trajectory.derivative([0.0], order)[0] == pytest.approx([0, 0], abs=1e-6)


def test_poses_for_reverse_engineering(arm: Robot) -> None:
    observation = Observation.static(casid.Model(arm))
    limits = MotionLimits.of_positions(arm)
    design = Designer(observation, Poses(8), limits, samples=8).run(stages=QUICK)
    rng = np.random.default_rng(0)
    random = [Trajectory(Poses(8), rng.uniform(-2, 2, (2, 8))) for _ in range(50)]
    values = [np.linalg.cond(observation.matrix(poses.sample(8))) for poses in random]
    assert design.condition_number < min(values)
    assert (np.abs(design.trajectory.coefficients) <= 2).all()


@pytest.mark.slow
def test_several_starts_keep_the_best(arm: Robot, observed: Observation) -> None:
    designer = Designer(observed, Fourier(0.6, 3), MotionLimits.of_robot(arm), samples=60)
    seen: list[Progress] = []
    design = designer.run(starts=3, stages=QUICK[:1], progress=seen.append)
    assert design.value == min(start.value for start in design.starts)
    assert {at.start for at in seen} == {1, 2, 3}
    alone = [designer.run(seed=seed, stages=QUICK[:1]).value for seed in range(3)]
    assert sorted(alone) == pytest.approx([start.value for start in design.starts])


@pytest.mark.claim(
    "Ctrl-C ends a design, which keeps its best motion; before the first it goes on as KeyboardInterrupt"
)
def test_an_interrupted_design_keeps_its_best(arm: Robot, observed: Observation) -> None:
    """By a real signal, after the fifth iteration."""
    seen: list[Progress] = []

    def press(at: Progress) -> None:
        seen.append(at)
        if at.iteration == 5:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    limits = MotionLimits.of_robot(arm)
    design = Designer(observed, Fourier(0.6, 3), limits, samples=60).run(2, stages=QUICK, progress=press)
    assert signal.getsignal(signal.SIGINT) is before
    assert design.interrupted and len(design.starts) == 1 and seen[-1].iteration == 5
    assert design.value <= seen[0].best * (1 + 1e-9)
    assert max(check.excess for check in certify_limits(design.trajectory, limits)) <= 0


class Pressing(ConditionNumber):
    """Presses Ctrl-C, or fails, inside the solver: in its twentieth evaluation."""

    def __init__(self, press: Callable[[], None]) -> None:
        super().__init__()
        self.__dict__.update(press=press, left=20)

    def objective(self, information: np.ndarray, sharpness: float) -> tuple[float, np.ndarray]:
        self.__dict__["left"] -= 1
        if self.left == 0:
            self.press()
        return super().objective(information, sharpness)


def failed() -> None:
    raise ValueError("of the criterion")


@pytest.mark.claim("Ctrl-C inside an evaluation of excite's solver prints no traceback and no vectors")
def test_an_evaluation_that_is_interrupted_or_fails_prints_nothing(
    arm: Robot, observed: Observation, capfd: pytest.CaptureFixture[str]
) -> None:
    limits = MotionLimits.of_robot(arm)
    pressed, failing = (
        Designer(observed, Fourier(0.6, 3), limits, Pressing(press), samples=60)
        for press in (lambda: signal.raise_signal(signal.SIGINT), failed)
    )
    design = pressed.run(stages=QUICK)
    assert design.interrupted and 0 < design.starts[0].iterations <= 20
    with pytest.raises(ValueError, match="of the criterion"):
        failing.run(stages=QUICK)
    assert capfd.readouterr() == ("", "")


@pytest.mark.claim("a budget of iterations gives the same motion at any load, and says that it ended the start")
def test_a_budget_of_iterations(arm: Robot, observed: Observation) -> None:
    designer = Designer(observed, Fourier(0.6, 3), MotionLimits.of_robot(arm), samples=60)
    few, again, more = (designer.run(iterations=count) for count in (10, 10, 60))
    assert np.array_equal(few.trajectory.coefficients, again.trajectory.coefficients)
    assert few.starts[0].iterations <= 10 and few.starts[0].limited.endswith("iterations")
    assert more.value < few.value < few.starts[0].initial
    assert designer.run(max_seconds=0.0).starts[0].limited == "the time limit"


# ---------------------------------------------------------------------- what must be refused


def test_problems_that_cannot_be_solved_are_refused_with_the_reason(
    panda: Robot, panda_observed: Observation, observed: Observation
) -> None:
    limits = MotionLimits.of_robot(panda)
    basis = Fourier(0.5, 5)
    ball = Capsule("ball", -1, np.array([0.55, 0.0, 0.6]), np.array([0.55, 0.0, 0.6]), 0.2)
    pose = np.array([0, 0, 0, -1.5, 0, 1.9, 0])
    with pytest.raises(ProblemError, match=r"home pose: .*ball"):
        Designer(panda_observed, basis, limits, constraints=[CollisionConstraint(panda, [ball])], pose=pose).run()
    with pytest.raises(ProblemError, match="joint 'joint4' at 0 is outside"):
        Designer(panda_observed, basis, limits, pose=np.zeros(7))
    with pytest.raises(ProblemError, match="21 equations for 64 parameters"):
        Designer(panda_observed, basis, limits, samples=3)
    with pytest.raises(ProblemError, match="limits of 7 joints for an observation of 2"):
        Designer(observed, basis, limits)
    box = workspace_box(casid.Model(panda), "flange", (3.0, -1, -1), (4.0, 1, 1))
    with pytest.raises(ProblemError, match="x of flange"):
        Designer(panda_observed, basis, limits, constraints=[box]).run()


def test_a_motion_too_poor_for_its_parameters_is_refused(panda: Robot, panda_observed: Observation) -> None:
    limits = MotionLimits.of_robot(panda)
    for basis in (Fourier(0.5, 1), QuinticSpline(10.0, 7)):
        with pytest.raises(ProblemError, match="3 coefficients for each of 7 joints are too few to distinguish 64"):
            Designer(panda_observed, basis, limits)
    full = ca.Function("full", *_full_regressor(panda))
    with pytest.raises(ProblemError, match="excite only"):
        Designer(Observation(full, casid.Model(panda).parameter_names), Fourier(0.5, 3), limits).run()


def test_an_error_of_the_users_own_constraint_comes_through(arm: Robot, observed: Observation) -> None:
    class Broken(FunctionConstraint):
        def jacobian(self, motion: Motion) -> tuple[np.ndarray, np.ndarray]:
            raise ZeroDivisionError("their mistake")

    q = ca.SX.sym("q", 2)
    broken = Broken("broken", ca.Function("c", [q], [q], ["q"], ["c"]), -1.9, 1.9, unit=10.0)
    with pytest.raises(ZeroDivisionError, match="their mistake"):
        Designer(observed, Fourier(0.6, 3), MotionLimits.of_robot(arm), constraints=[broken], samples=60).run()


def _full_regressor(robot: Robot) -> tuple[list, list, list, list]:
    states = [ca.SX.sym(name, robot.n) for name in ("q", "dq", "ddq")]
    return states, [casid.Model(robot).regressor(*states)], ["q", "dq", "ddq"], ["Y"]
