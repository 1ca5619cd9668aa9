"""Criteria and their gradients, designs of motions and poses, information, and what must be refused."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import casid
from casid.description import Capsule, Limits, Robot
from casid.errors import DatasetError, ProblemError
from casid.excitation import (
    CollisionConstraint,
    ConditionNumber,
    Criterion,
    Designer,
    DesignSettings,
    FunctionConstraint,
    LargestDeviation,
    MotionLimits,
    Observation,
    certify_limits,
    torque_limits,
    weak_parameters,
    workspace_box,
)
from casid.excitation.information._criteria import CRITERIA, criterion
from casid.excitation.information._observation import smooth_signs
from casid.excitation.optimisation._result import Progress
from casid.excitation.optimisation._starts import Objective, Stage
from casid.motion import Fourier, Motion, Poses, QuinticSpline, Ramped, Trajectory

QUICK = (Stage(0.2, 2.0, 25), Stage(0.05, 8.0, 25))


@pytest.fixture(scope="module")
def arm() -> Robot:
    """The two-link arm, with limits."""
    two = np.full(2, 2.0)
    return replace(casid.load_robot("spatial_2r"), limits=Limits(-two, two, two, 4 * two, np.full(2, np.inf), 50 * two))


@pytest.fixture(scope="module")
def observed(arm: Robot) -> Observation:
    return Observation.of_model(casid.Model(arm, terms=("viscous", "coulomb")))


@pytest.fixture(scope="module")
def panda() -> Robot:
    return casid.load_robot("panda")


@pytest.fixture(scope="module")
def panda_observed(panda: Robot) -> Observation:
    return Observation.of_model(casid.Model(panda, terms=("viscous", "coulomb", "offset")))


# ---------------------------------------------------------------------- observation and criteria


def test_information_is_that_of_the_stacked_regressor(arm: Robot) -> None:
    model = casid.Model(arm, terms=("viscous", "coulomb"))
    noise = np.array([0.5, 2.0])
    observation = Observation.of_model(model, noise)
    motion = Motion(*np.random.default_rng(0).normal(size=(3, 9, 2)))
    W = np.vstack([np.array(model.base_regressor(*(x[k] for x in motion))) / noise[:, None] for k in range(9)])
    assert observation.matrix(motion) == pytest.approx(W)
    assert observation.information(motion) == pytest.approx(W.T @ W)


def test_smoothed_signs_converge_to_signs() -> None:
    x = ca.SX.sym("q", 2)
    f = ca.Function(
        "f", [x], [ca.horzcat(ca.sign(x[0]) * x[1], ca.fmax(x[0], x[1]) ** 2 + ca.sin(x[1]) / 3)], ["q"], ["Y"]
    )
    smooth = smooth_signs(f, ca.SX.sym("width"))
    at = [0.7, -0.3]
    assert np.array(smooth(at, 1e-3)) == pytest.approx(np.array(f(at)))
    assert float(smooth(at, 0.5)[0]) == pytest.approx(np.tanh(1.4) * -0.3)


@pytest.mark.parametrize("scale", [None, "columns", "given"])
@pytest.mark.parametrize("name", CRITERIA)
def test_gradient_of_every_criterion(name: str, scale: str | None, observed: Observation) -> None:
    rng = np.random.default_rng(1)
    r = len(observed.names)
    units = np.exp(rng.normal(size=r)) if scale == "given" else scale
    prior = np.diag(np.exp(rng.normal(size=r)))
    objective = Objective(observed, Fourier(0.8, 3), criterion(name, observed, scale=units), 30, prior)
    x = rng.normal(size=(2, 7))
    _, g = objective.smooth(x, 0.2, 5.0)
    v = rng.normal(size=x.shape)

    def slope(h: float) -> float:
        return (objective.smooth(x + h * v, 0.2, 5.0)[0] - objective.smooth(x - h * v, 0.2, 5.0)[0]) / (2 * h)

    assert (g * v).sum() == pytest.approx((4 * slope(5e-5) - slope(1e-4)) / 3, rel=1e-6)


def test_smooth_criteria_approach_the_exact_ones(observed: Observation) -> None:
    F = Objective(observed, Fourier(0.8, 3), ConditionNumber(), 30)
    motion = F.motion(np.random.default_rng(2).normal(size=(2, 7)))
    information = observed.information(motion)
    W = observed.matrix(motion)
    assert ConditionNumber().value(information) == pytest.approx(np.linalg.cond(W), rel=1e-6)
    sd = np.sqrt(np.diagonal(np.linalg.inv(information)))
    assert LargestDeviation().value(information) == pytest.approx(sd.max())
    assert LargestDeviation(rows=(1, 2)).value(information) == pytest.approx(sd[1:3].max())
    for make in CRITERIA.values():
        rule: Criterion = make()
        smooth = np.exp(rule.objective(information, 300.0)[0])
        assert smooth == pytest.approx(rule.value(information), rel=1e-2)


def test_a_criterion_that_makes_no_sense_is_refused(observed: Observation) -> None:
    with pytest.raises(ProblemError, match="known: condition"):
        criterion("e-optimal", observed)
    with pytest.raises(ProblemError, match="'m1' is not identifiable"):
        criterion("largest-sd", observed, ["m1"])
    with pytest.raises(ProblemError, match="largest-sd"):
        criterion("condition", observed, [observed.names[0]])
    with pytest.raises(ProblemError, match="'columns'"):
        ConditionNumber("rows")
    assert ConditionNumber().value(np.zeros((3, 3))) == np.inf


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


@pytest.mark.slow
def test_state_constraints_hold_on_a_finer_grid(panda: Robot) -> None:
    observation = Observation.of_model(casid.Model(panda))
    model = casid.Model(panda)
    constraints = (
        CollisionConstraint(panda),
        torque_limits(model, panda.standard_parameters(), 0.6 * panda.limits.effort),
        workspace_box(model, "flange", (-np.inf, -np.inf, 0.1), np.inf),
    )
    limits = MotionLimits.of_robot(panda, share=0.5)
    designer = Designer(observation, Fourier(0.6, 2), limits, constraints=constraints, samples=40)
    design = designer.run(stages=(Stage(0.2, 2.0, 20),), seed=3)
    motion = design.trajectory.motion(np.linspace(0, 2 * np.pi / 0.6, 1001))
    for constraint in constraints:
        assert constraint.violation(motion) <= 1e-4
        assert design.violations[constraint.name] <= 1e-7
    assert design.value < design.starts[0].initial


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


def test_an_interrupted_design_keeps_its_best(arm: Robot, observed: Observation) -> None:
    limits = MotionLimits.of_robot(arm)
    designer = Designer(observed, Fourier(0.6, 3), limits, samples=60)

    def interrupt(at: Progress) -> None:
        if at.iteration == 6:
            raise KeyboardInterrupt

    design = designer.run(starts=3, progress=interrupt)
    assert design.interrupted
    assert len(design.starts) == 1
    assert design.value <= design.starts[0].initial
    assert max(check.excess for check in certify_limits(design.trajectory, limits)) <= 0
    limited = designer.run(max_seconds=0.0)
    assert not limited.interrupted
    assert limited.value <= limited.starts[0].initial


# ---------------------------------------------------------------------- what must be refused


def test_problems_that_cannot_be_solved_say_why(
    panda: Robot, panda_observed: Observation, observed: Observation
) -> None:
    limits = MotionLimits.of_robot(panda)
    basis = Fourier(0.5, 5)
    ball = Capsule("ball", -1, np.array([0.55, 0.0, 0.6]), np.array([0.55, 0.0, 0.6]), 0.2)
    pose = np.array([0, 0, 0, -1.5, 0, 1.9, 0])
    with pytest.raises(ProblemError, match=r"start pose: .*ball"):
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
        with pytest.raises(ProblemError, match="3 coefficients for each of 7 joints are too few to tell 64 parameters"):
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


def test_wrong_observations_and_constraints_are_refused(arm: Robot) -> None:
    x = ca.SX.sym("x", 2)
    with pytest.raises(ProblemError, match="expected a function"):
        Observation(ca.Function("f", [x], [x], ["x"], ["Y"]), ["a"])
    with pytest.raises(ProblemError, match="standard deviations"):
        Observation.of_model(casid.Model(arm), noise=[1.0, 0.0])
    with pytest.raises(ProblemError, match="cross"):
        FunctionConstraint("c", ca.Function("c", [x], [x], ["q"], ["c"]), 1.0, 0.0)
    with pytest.raises(ProblemError, match="nominal parameters"):
        torque_limits(casid.Model(arm), np.zeros(3))


# ---------------------------------------------------------------------- information


def test_prior_information_steers_the_next_motion(arm: Robot, observed: Observation) -> None:
    limits, basis = MotionLimits.of_robot(arm), Fourier(0.6, 3)
    first = Designer(observed, basis, limits, samples=60).run(stages=QUICK, seed=1).trajectory
    motion = first.sample(60)
    prior = observed.information(motion)
    assert prior == pytest.approx(observed.information(motion))
    rule = criterion("a-optimal", observed)
    second = Designer(observed, basis, limits, rule, prior=prior, samples=60).run(stages=QUICK, seed=2)
    assert second.value < rule.value(2 * prior)  # better than playing the first one again
    with pytest.raises(DatasetError, match="dq of joint 2, sample 3"):
        bad = motion.dq.copy()
        bad[3, 1] = np.nan
        observed.information(Motion(motion.q, bad, motion.ddq))


def test_weak_parameters_and_why() -> None:
    q = ca.SX.sym("q", 1)
    Y = ca.horzcat(q, q + 1e-3 * q**2, 1e-3 * ca.sin(5 * q), 1.0)
    observation = Observation(ca.Function("f", [q], [Y], ["q"], ["Y"]), ["a", "b", "small", "offset"])
    F = observation.information(Motion(*np.random.default_rng(0).uniform(-1, 1, (3, 400, 1))))
    weak = {parameter.name: parameter for parameter in weak_parameters(observation, F)}
    assert weak["a"].deviation == pytest.approx(np.sqrt(np.linalg.inv(F)[0, 0]))
    assert weak["a"].confounded_with[0][0] == "b"
    assert weak["a"].reason.startswith("not distinguishable from b (-1.00)")
    assert weak["small"].reason.startswith("small effect")
    assert [p.name for p in weak_parameters(observation, F, nominal=[1, 1, 1e-9, 1], count=1)] == ["small"]
    with pytest.raises(DatasetError, match="no information about small"):
        weak_parameters(observation, F * np.outer([1, 1, 0, 1], [1, 1, 0, 1]))
    with pytest.raises(DatasetError, match=r"cannot be distinguished: (a, b|b, a)"):
        singular = F.copy()
        singular[1], singular[:, 1] = singular[0], singular[:, 0]
        singular[1, 1] = singular[0, 0]
        weak_parameters(observation, singular)


def test_payload_has_the_ten_parameters_of_a_load(panda: Robot) -> None:
    observation = Observation.payload(casid.Model(panda))
    assert observation.names == tuple(f"{name}7" for name in "Lxx Lxy Lxz Lyy Lyz Lzz lx ly lz m".split())
    motion = Motion(*np.random.default_rng(0).normal(size=(3, 5, 7)))
    load = np.random.default_rng(1).normal(size=10)
    pi = np.zeros(70)
    pi[60:] = load
    expected = [np.array(casid.Model(panda).inverse_dynamics(*(x[k] for x in motion), pi)).ravel() for k in range(5)]
    assert observation.matrix(motion) @ load == pytest.approx(np.concatenate(expected))
    with pytest.raises(ProblemError, match="no link 'tool'"):
        Observation.payload(casid.Model(panda), "tool")


def test_study_builds_what_it_says(panda: Robot) -> None:
    designer = DesignSettings(duration=10.0, ramp=0.5, floor=0.1).designer(panda)
    assert isinstance(designer.basis, Ramped)
    assert [constraint.name for constraint in designer.constraints] == ["collision", "torque limits", "floor"]
    assert len(designer.observation.names) == 64
    assert len(DesignSettings(payload=True).designer(panda).observation.names) == 10
    basis = Fourier(0.6, 5)
    _, judged = DesignSettings(collision=False).judge(panda, Trajectory(basis, np.ones((7, 11))))
    assert judged.trajectory.basis == basis
    assert judged.violations.keys() == {"torque limits"}
    with pytest.raises(ProblemError, match="3 joints"):
        DesignSettings().judge(panda, Trajectory(basis, np.ones((3, 11))))
    with pytest.raises(ProblemError, match="unknown basis"):
        DesignSettings(basis="wavelet").motion_basis()


# ---------------------------------------------------------------------- published trajectories


def test_published_trajectories_have_their_condition_numbers() -> None:
    from benchmarks import excitation as measured
    from benchmarks.measure import NotMeasured

    try:
        panda, wam = measured.table_ii(), measured.wam_table("wam_table_4_4_trajectory_A")
    except NotMeasured as reason:
        pytest.skip(str(reason))
    # other samples than the papers' recordings: 121.9 (Gaz et al. 2019) and 105 (Sousa 2014)
    assert measured.condition(measured.panda_observation(), panda) == pytest.approx(95.82, abs=0.01)
    assert len(measured.wam_observation().names) == 76
    assert measured.condition(measured.wam_observation(), wam) == pytest.approx(105, rel=0.04)
