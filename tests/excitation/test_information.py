"""Observations, information and criteria."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import casid
from casid.description import Robot
from casid.errors import DatasetError, ProblemError
from casid.excitation import (
    ConditionNumber,
    Criterion,
    Designer,
    LargestDeviation,
    MotionLimits,
    Observation,
    weak_parameters,
)
from casid.excitation.information import CRITERIA, criterion
from casid.excitation.optimisation import Objective, Stage
from casid.motion import Fourier, Motion

QUICK = (Stage(0.2, 2.0, 25), Stage(0.05, 8.0, 25))


# ---------------------------------------------------------------------- observation and criteria


def test_information_is_that_of_the_stacked_regressor(arm: Robot) -> None:
    model = casid.Model(arm, terms=("viscous", "coulomb"))
    noise = np.array([0.5, 2.0])
    observation = Observation.of_model(model, noise)
    motion = Motion(*np.random.default_rng(0).normal(size=(3, 9, 2)))
    W = np.vstack([np.array(model.base_regressor(*(x[k] for x in motion))) / noise[:, None] for k in range(9)])
    assert observation.matrix(motion) == pytest.approx(W)
    assert observation.information(motion) == pytest.approx(W.T @ W)


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
    assert weak["a"].reason.startswith("not distinguishable from b (-1.00)")
    assert weak["small"].reason.startswith("small effect")
    assert [p.name for p in weak_parameters(observation, F, count=1)] == ["a"]
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


@pytest.mark.claim("a function of a user that returns another shape is refused where it is taken")
@pytest.mark.parametrize("value", [np.ones(1), np.ones(3), 1.0])
@pytest.mark.parametrize("slope", [1.0, np.ones(4), np.ones((7, 3))])
def test_shapes_of_a_criterion_are_checked(value: object, slope: object, arm: Robot, observed: Observation) -> None:
    class Own(ConditionNumber):
        def _exact(self, eigenvalues: np.ndarray, vectors: np.ndarray) -> float:
            return value  # type: ignore[return-value]

        def _smooth(self, eigenvalues: np.ndarray, vectors: np.ndarray, sharpness: float) -> tuple[float, np.ndarray]:
            return 0.0, slope  # type: ignore[return-value]

    what = "_smooth`, gradient" if np.ndim(value) == 0 else "_exact`"
    with pytest.raises(ProblemError, match=rf"'Own': `{what}: expected .*, got shape"):
        Designer(observed, Fourier(0.6, 3), MotionLimits.of_robot(arm), Own(), samples=60)
