"""The share of the residual that plausibility may cost, chosen by the error on parts that are held out."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from scipy.stats import chi2

import casid
from casid.errors import DatasetError, ProblemError, SolveError
from casid.identification import Checks, Choice, Constraints, ModelOptions, identify
from casid.identification._consistent_fits import (
    LARGER,
    SHARES,
    SMALLER,
    ConsistentFits,
    chosen_share,
    fixed,
    own_share,
)
from casid.inertia import pseudo_inertia
from casid.regression import compress, wls
from casid.regression.estimators import WLS
from casid.retrieval import total_mass
from casid.testing import blind, recording, with_friction


@pytest.mark.claim("the share is chosen by parts of the motion that the fit did not see")
def test_the_choice_rests_on_parts_that_no_fit_saw(robot, noisy):
    """Its error is the held-out one; that on the fitted parts is less."""
    linear = ModelOptions(("viscous", "coulomb", "offset"), "linear")
    result = identify(robot, noisy, processing=False, model=linear, checks=Checks(folds=3, verdict=False))
    path, held = result.share, result.held_out
    own = next(step for step in path.steps if step.share == path.share)
    assert own.error == pytest.approx(held.tested["consistent"].total, rel=1e-9)
    assert own.error > held.training["consistent"].total
    assert result.feasible.believable.share == pytest.approx(path.share, rel=1e-3)
    assert result.record()["share"]["steps"][0]["total_mass"] > 0 and "tried" in path.reason


@pytest.mark.claim("every share that the choice tries is one that a user may give")
@pytest.mark.parametrize("share", (*SHARES, *LARGER))
def test_shares_that_are_tried_may_be_given(share):
    assert Choice(share=share).share == share


def test_a_given_share_is_kept_and_its_ground_stated(robot, noisy):
    given = identify(robot, noisy, processing=False, choice=Choice(share=0.03), checks=Checks(folds=2, verdict=False))
    assert given.share.share == 0.03 and given.feasible.believable.share == pytest.approx(0.03, rel=1e-3)
    assert "nothing was held out" in given.share.reason and given.record()["share"]["steps"] == []


def test_the_share_of_an_indirect_estimate_is_bounded_by_its_own_statistics(fit):
    assert own_share(fit) == np.inf
    most = own_share(replace(fit, indirect=True))
    freedom = float(fit.data.independent_samples.sum()) - fit.rank
    assert ((1 + most) ** 2 - 1) * freedom == pytest.approx(chi2.ppf(0.95, fit.rank))


class Motion:
    """Stretches whose squared errors are given for each share, in two parts; an estimate's parameters are its share."""

    def __init__(self, errors: dict[float, list[float]], torques: float = 100.0, lacking: tuple = ((), ())) -> None:
        self.errors, self.torques, self.lacking, self.asked = errors, torques, lacking, set()
        self.parts = [Part(self, (0, 2)), Part(self, (1, 3))]

    def path(self, part: int, shares: list[float]) -> dict[float, Beta]:
        self.asked |= set(shares)
        return {s: Beta(s) for s in shares if s in self.errors and s not in self.lacking[part]}

    def chosen(self, most: float = np.inf):
        return chosen_share(self.parts, [0, 1], self, most)


class Beta:
    def __init__(self, share: float) -> None:
        self.beta = share


class Part:
    def __init__(self, motion: Motion, apart: tuple[int, ...]) -> None:
        self.apart, self.data, self.motion = apart, self, motion

    def only(self, which: list[int]) -> Stretch:
        assert set(which) <= set(self.apart)
        return Stretch(self.motion, which[0])


class Stretch:
    def __init__(self, motion: Motion, index: int) -> None:
        self.motion, self.index = motion, index

    @property
    def squared_torques(self) -> np.ndarray:
        return np.array([self.motion.torques])

    def squared_errors(self, share: float) -> np.ndarray:
        return np.atleast_1d(self.motion.errors[share][self.index])


BEST = [1.0, 3.0, 2.0, 2.0]


@pytest.mark.claim("the share is judged joint by joint: a wrist is not outvoted by a shoulder")
def test_a_joint_of_small_torques_counts_as_much_as_one_of_large_ones():
    shoulder, wrist = 1e4 * np.array(BEST), np.array(BEST)
    errors = {0.3: np.column_stack([shoulder, 4.0 * wrist]), 0.1: np.column_stack([1.01 * shoulder, wrist])}
    assert Motion(errors).chosen().share == 0.1
    assert Motion({share: e[:, 0] for share, e in errors.items()}).chosen().share == 0.3


def test_errors_and_their_deviations_are_those_of_the_stretches():
    other = [1.1, 3.2, 2.0, 2.1]
    found = Motion({0.02: BEST, 0.03: other}).chosen()
    steps = {step.share: step for step in found.steps}
    assert steps[0.02].error == pytest.approx(100 * np.sqrt(8.0 / 400.0)) and steps[0.02].deviation == 0.0
    assert steps[0.03].error == pytest.approx(100 * np.sqrt(8.4 / 400.0))
    order = [0, 2, 1, 3]
    spread = 2.0 * np.std(np.subtract(other, BEST)[order], ddof=1)  # of a sum of four differences
    assert steps[0.03].ratio == pytest.approx(np.sqrt(8.4 / 8.0)) and steps[0.02].ratio == pytest.approx(1.0)
    assert steps[0.03].deviation == pytest.approx(steps[0.03].ratio * spread / 8.4 / 2)


@pytest.mark.parametrize(("rises", "taken"), [
    ([0.2, -0.1, 0.2, -0.1], True),  # 0.2 in all, two standard errors are 0.69
    ([0.1, 0.1, 0.1, 0.1], False),  # small but sure
    ([0.01, 0.01, 0.01, 0.01], True),  # sure, and less than half a percent
    ([1.6, -0.2, -0.2, 0.0], False),  # unsure, and more than 5 % above the best
])  # fmt: skip
def test_a_larger_share_is_taken_where_it_is_not_surely_worse_and_not_much(rises, taken):
    found = Motion({0.02: BEST, 0.03: list(np.add(BEST, rises))}).chosen()
    assert found.share == (0.03 if taken else 0.02)


@pytest.mark.claim("where the largest share is the choice the path goes on, or states that it ends there")
def test_shares_beyond_the_ends_are_tried_only_where_an_end_is_chosen():
    every = (*SHARES, *LARGER)
    flat = Motion(dict.fromkeys(every, BEST))
    found = flat.chosen()
    assert found.share == max(LARGER) and flat.asked == set(every)
    assert found.ends and "the data would allow more" in found.reason
    bent = Motion({share: list(np.multiply(BEST, 1.0 if share < 0.6 else 2.0)) for share in every})
    found = bent.chosen()
    assert found.share == 0.45 and not found.ends and "allow more" not in found.reason
    steep = Motion({share: list(np.multiply(BEST, 1.0 + 1000.0 * share)) for share in (*every, *SMALLER)})
    assert steep.chosen().share == min(SMALLER) and steep.asked == {*SHARES, *SMALLER}
    curved = Motion({share: list(np.multiply(BEST, 1.0 + abs(np.log(share / 0.07)))) for share in every})
    assert curved.chosen().share == 0.07 and curved.asked == set(SHARES)


@pytest.mark.parametrize("most", [0.025, 0.3, 0.6])
def test_the_largest_share_that_may_be_tried_is_tried_and_none_beyond(most):
    motion = Motion(dict.fromkeys((*SHARES, *LARGER, most), BEST))
    assert motion.chosen(most).share == most == max(motion.asked)


def test_shares_that_a_part_lacks_and_motions_of_one_part_are_left_out():
    motion = Motion({0.1: BEST, 0.02: BEST}, lacking=((), (0.02,)))
    assert [step.share for step in motion.chosen().steps] == [0.1]
    assert "at smaller shares no answer" in motion.chosen().reason
    assert "no answer" not in Motion(dict.fromkeys(SHARES, BEST)).chosen().reason
    assert chosen_share(motion.parts[:1], [0], motion).steps == ()
    assert Motion(dict.fromkeys(SHARES, BEST), torques=0.0).chosen().steps == ()
    assert fixed(None).share == 0.05 and fixed(0.2).share == 0.2


@pytest.mark.claim("a failure on a part is the stated reason of the share; a mistake is raised")
def test_the_failure_of_a_part_is_stated_and_a_mistake_is_raised(robot, noisy):
    def failing(error: casid.CasidError) -> Motion:
        motion = Motion({})
        motion.path = Mock(side_effect=error)
        return motion

    class Estimator(WLS):
        refit = Mock(side_effect=DatasetError("j1 rests"))

    found = failing(SolveError("the bounds conflict")).chosen()
    assert found.steps == () and "the bounds conflict" in found.reason and "nothing was held out" not in found.reason
    with pytest.raises(ProblemError, match="share"):
        failing(ProblemError("share: too large")).chosen()
    options = {"processing": False, "estimator": Estimator(), "checks": Checks(folds=2, verdict=False)}
    found = identify(robot, noisy, **options)
    assert found.held_out is None and "j1 rests" in found.share.reason and any("j1 rests" in n for n in found.notes)
    Estimator.refit.side_effect = ProblemError("no such parameter")
    with pytest.raises(ProblemError, match="no such parameter"):
        identify(robot, noisy, **options)


def test_an_exact_fit_has_no_error_and_no_deviation():
    found = Motion({share: [0.0] * 4 for share in SHARES}).chosen()
    assert max(step.error for step in found.steps) < 1e-100
    assert all(np.isfinite([step.error, step.deviation]).all() for step in found.steps)


@pytest.fixture(scope="module")
def case():
    robot = casid.load_robot("three_link")
    if any(joint.link.inertial is None for joint in robot.joints):
        body = [0.3, 0.01, 0.02, 0.3, 0.01, 0.2, 0.1, 0.05, 0.1, 2.0]
        robot = robot.with_parameters(body * 3)
    model, truth = with_friction(robot)
    data = recording(model, truth, samples=400, noise=0.3)
    return robot, data, wls(compress(model, data))


def test_a_fit_obeys_the_constraints_and_is_of_real_bodies(case):
    robot, data, fit = case
    given = Constraints(lambda v: total_mass(v, 0.0, 4.0), {"fv1": (0.0, 0.2)})
    found, note = ConsistentFits(blind(robot), (data,), given, Choice(believable=False)).fitted(fit)
    links = found.standard_parameters.reshape(3, 10)
    assert links[:, 9].sum() <= 4.0 + 1e-6 and found.extras["fv1"] <= 0.2 + 1e-9 and note == ""
    assert min(np.linalg.eigvalsh(pseudo_inertia(link))[0] for link in links) > 0
    free, _ = ConsistentFits(blind(robot), (data,), Constraints(), Choice(believable=False)).fitted(fit)
    assert free.residual_ratio < found.residual_ratio and free.standard_parameters[9::10].sum() > 4.0


def test_the_choice_keeps_the_residual_within_its_share(case):
    robot, data, fit = case
    fits = ConsistentFits(robot, (data,), Constraints(), Choice(), share=0.01)
    chosen, note = fits.fitted(fit)
    best, _ = ConsistentFits(robot, (data,), Constraints(), Choice(believable=False)).fitted(fit)
    assert fits.choosing and note == ""
    assert best.residual_ratio <= chosen.residual_ratio <= 1.01 * best.residual_ratio * (1 + 1e-6)
    nominal = robot.standard_parameters()
    assert np.linalg.norm(chosen.standard_parameters - nominal) < np.linalg.norm(best.standard_parameters - nominal)
    path = fits.path(fit, (0.001, 0.05))
    assert list(path) == [0.05, 0.001] and path[0.05].residual_ratio > path[0.001].residual_ratio


def test_nothing_is_chosen_with_a_prior_or_weak_consistency(case):
    robot, data, _ = case
    semi = Constraints(consistency="semi")
    assert not ConsistentFits(robot, (data,), semi, Choice()).choosing
    assert not ConsistentFits(robot, (data,), Constraints(), Choice(believable=False)).choosing


def test_joints_with_springs_hold_what_the_links_make(case):
    robot, data, _ = case
    plain = ConsistentFits(robot, (data,), Constraints(), Choice())
    name = robot.coordinates[1].name
    held = ConsistentFits(robot, (data,), Constraints(), Choice(), springs=((name, 1.5),))._held
    assert held[1] == 1.5 and held[[0, 2]] == pytest.approx(plain._held[[0, 2]])
