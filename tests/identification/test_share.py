"""The share that plausibility may cost, chosen by held-out error."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from casid.identification import Checks, Choice, identify
from casid.identification._share import ABOVE_BEST, FURTHER, SHARES, chosen_share, fixed, own_share
from casid.regression import compress, wls


@pytest.mark.claim("the share is chosen by held-out error")
def test_the_largest_share_near_the_best_is_taken(model, noisy):
    data = compress(model, noisy)
    bend = {0.3: 1.5, 0.1: 1.0001, 0.05: 1.0, 0.02: 1.0001}
    path = chosen_share(data, wls, lambda fit, shares: {s: bend[s] * fit.beta for s in shares if s in bend}, 4)
    assert path.share == 0.1 and [step.share for step in path.steps] == [0.3, 0.1, 0.05, 0.02]
    assert path.best is not None and path.best.error <= next(s.error for s in path.steps if s.share == 0.1)
    assert [step.deviation > 0 for step in path.steps] == [True, True, False, True]  # of the difference to the least
    assert path.steps[0].error > ABOVE_BEST * path.best.error
    named = path.with_masses({0.1: 12.0})
    assert [np.isfinite(step.mass) for step in named.steps] == [False, True, False, False]
    assert named.record()["steps"][1]["total_mass"] == 12.0


def test_shares_that_a_fold_lacks_are_left_out(model, noisy):
    data, calls = compress(model, noisy), []

    def path(fit, shares):
        calls.append(fit)
        return {0.1: fit.beta} if len(calls) > 1 else {0.1: fit.beta, 0.02: fit.beta}

    assert [step.share for step in chosen_share(data, wls, path, 3).steps] == [0.1]
    assert chosen_share(data.only([0]), wls, path, 4).steps == ()


def test_a_given_share_is_kept_and_its_ground_stated(robot, noisy):
    given = identify(robot, noisy, processing=False, choice=Choice(share=0.03), checks=Checks(folds=2, verdict=False))
    assert given.share.share == 0.03 and given.feasible.believable.share == pytest.approx(0.03, rel=1e-3)
    assert "nothing was held out" in fixed(None).reason
    assert given.record()["share"]["steps"] == []


@pytest.mark.claim("where the largest share is the choice the path goes on, or says that it ends there")
def test_the_path_goes_on_beyond_its_largest_share(model, noisy):
    data, asked = compress(model, noisy), []

    def path(fit, shares, most=0.6):
        asked.append(tuple(shares))
        return {share: (1.5 if share > most else 1.0) * fit.beta for share in shares}

    further = chosen_share(data, wls, path, 3)
    assert further.share == 0.45 and not further.ends and asked == [SHARES] * 3 + [FURTHER] * 3
    assert {step.share for step in further.steps} == {*SHARES, *FURTHER} and "allow more" not in further.reason
    end = chosen_share(data, wls, lambda fit, shares: path(fit, shares, 9.0), 3)
    assert end.ends and end.share == max(FURTHER) and "the data would allow more" in end.reason


def test_the_share_of_an_indirect_estimate_is_bounded_by_its_own_statistics(model, noisy):
    fit = wls(compress(model, noisy))
    assert own_share(fit) == np.inf
    most = own_share(replace(fit, indirect=True))
    freedom = float(fit.data.independent_samples.sum()) - fit.rank
    assert ((1 + most) ** 2 - 1) * freedom == pytest.approx(chi2.ppf(0.95, fit.rank))
    asked = []

    def path(fit, shares):
        asked.append(tuple(shares))
        return {share: fit.beta for share in shares}

    assert chosen_share(fit.data, wls, path, 2, most=0.06).share == 0.06 and asked == [(0.06, 0.05, 0.03, 0.02)] * 2


class Stretches:
    """Data whose squared errors on each stretch are given for each share; an estimate is its share."""

    def __init__(self, errors: dict[float, list[float]], torques: list[float], which: list[int] | None = None) -> None:
        self.errors, self.torques = errors, torques
        self.segments = list(range(len(torques))) if which is None else which

    def only(self, which: list[int]) -> "Stretches":
        return Stretches(self.errors, self.torques, which)

    @property
    def squared_torques(self) -> np.ndarray:
        return np.array([sum(self.torques[i] for i in self.segments)])

    def squared_errors(self, share: float) -> np.ndarray:
        return np.array([sum(self.errors[share][i] for i in self.segments)])

    def chosen(self, most: float = np.inf) -> tuple:
        asked: list[float] = []

        def path(fit: object, shares: list[float]) -> dict[float, float]:
            asked.extend(shares)
            return {share: share for share in shares if share in self.errors}

        return chosen_share(self, lambda part: part, path, 2, most=most), sorted(set(asked))


def test_errors_and_their_deviations_are_those_of_the_stretches():
    best, other = [1.0, 3.0, 2.0, 2.0], [1.1, 3.2, 2.0, 2.1]
    found, _ = Stretches({0.02: best, 0.03: other}, [100.0] * 4).chosen()
    steps = {step.share: step for step in found.steps}
    assert steps[0.02].error == pytest.approx(100 * np.sqrt(8.0 / 400.0)) and steps[0.02].deviation == 0.0
    assert steps[0.03].error == pytest.approx(100 * np.sqrt(8.4 / 400.0))
    spread = 2.0 * np.std(np.subtract(other, best), ddof=1)  # of a sum of four differences
    assert steps[0.03].deviation == pytest.approx(steps[0.03].error * spread / 8.4 / 2)


@pytest.mark.parametrize(
    ("rises", "taken"),
    [
        ([0.2, -0.1, 0.2, -0.1], True),  # 0.2 in all, two standard errors are 0.69
        ([0.1, 0.1, 0.1, 0.1], False),  # small but sure
        ([1.6, -0.2, -0.2, 0.0], False),  # unsure, and more than 5 % above the best
    ],
)
def test_a_larger_share_is_taken_where_it_is_not_surely_worse_and_not_much(rises, taken):
    best = [1.0, 3.0, 2.0, 2.0]
    found, _ = Stretches({0.02: best, 0.03: list(np.add(best, rises))}, [100.0] * 4).chosen()
    assert found.share == (0.03 if taken else 0.02)


def test_shares_beyond_the_largest_are_tried_only_where_it_is_chosen():
    flat = {share: [1.0, 3.0, 2.0, 2.0] for share in (*SHARES, *FURTHER)}
    found, asked = Stretches(flat, [100.0] * 4).chosen()
    assert found.share == max(FURTHER) and asked == sorted((*SHARES, *FURTHER))
    steep = {share: [1.0 + share, 3.0 + share, 2.0, 2.0 + share] for share in (*SHARES, *FURTHER)}
    found, asked = Stretches(steep, [100.0] * 4).chosen()
    assert found.share < max(SHARES) and asked == sorted(SHARES)


@pytest.mark.parametrize("most", [0.025, 0.3, 0.6])
def test_the_largest_share_that_may_be_tried_is_tried_and_none_beyond(most):
    flat = {share: [1.0, 3.0, 2.0, 2.0] for share in (*SHARES, *FURTHER, most)}
    found, asked = Stretches(flat, [100.0] * 4).chosen(most)
    assert found.share == most == max(asked)


def test_an_exact_fit_has_no_error_and_no_deviation():
    found, _ = Stretches({share: [0.0] * 4 for share in SHARES}, [100.0] * 4).chosen()
    assert max(step.error for step in found.steps) < 1e-100
    assert all(np.isfinite([step.error, step.deviation]).all() for step in found.steps)


def test_without_torques_nothing_is_held_out():
    found, _ = Stretches({share: [1.0] * 4 for share in SHARES}, [0.0] * 4).chosen()
    assert found.steps == () and found.share == fixed(None).share == 0.05 and fixed(0.2).share == 0.2


def test_progress_counts_the_parts_that_are_done(model, noisy):
    done = []
    chosen_share(compress(model, noisy), wls, lambda fit, shares: {0.1: fit.beta}, 3, done.append)
    assert done == [1, 2, 3]
