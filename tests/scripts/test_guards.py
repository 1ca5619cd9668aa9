"""Items are guarded by what they are made of: broken on purpose, each is noticed here."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("clarabel", reason="needs the extra test")

from papers import gaz2019, panda, sousa2014_methods, sousa2014_theory, sousa2014_wam
from papers import gaz2019_supplement as supplement
from papers import gaz2019_two_links as two_links
from papers.catalogue import PAPERS, paper_of
from papers.item import Item, Setting, Status, filled, holds
from papers.two_links import Relaxed

from tests.scripts.needs import needs_data
from tests.scripts.published_numbers import numbers
from tests.scripts.test_independent import fitted, places

needs_data()

WAM_SETS = "wam_table_4_9_feasible_estimates"


def scaled(factor: float):
    """A replacement that multiplies what a function returns."""
    return lambda function: lambda *words, **named: factor * np.asarray(function(*words, **named))


def moved(function):
    """A semidefinite least squares whose solution is a little off."""
    return lambda *words: (function(*words)[0] + 1e-3, function(*words)[1])


#: Item, module, name in it, what takes its place, and the claim that must then fail.
BROKEN = [
    ("gaz2019", "Fig. 1", gaz2019, "D1", None, 0),
    ("gaz2019", "Sec. III-B", gaz2019, "pseudo_inertia", scaled(-1.0), 2),
    ("gaz2019", "Table I", gaz2019, "sinusoids",
     lambda make: lambda *_: replace(make(), frequency=1.01 * np.asarray(make().frequency)), 0),
    ("gaz2019_supplement", "Table VI", two_links, "standard_dh", scaled(1.001), 0),
    ("gaz2019_supplement", "Table VII", two_links, "printed", scaled(1.01), 0),
    ("gaz2019_supplement", "Fig. 9", two_links, "relaxed", lambda make: lambda n: [
        replace(one, parameters=1.01 * one.parameters) for one in make(n)], 0),
    ("gaz2019_supplement", "Fig. 10", two_links.arm, "force_ratios",
     lambda make: lambda *words: tuple(1e6 * ratio for ratio in make(*words)), 3),
    ("sousa2014", "Table 4.1", two_links, "standard_dh", scaled(1.001), 0),
    ("sousa2014", "Table 4.2", sousa2014_wam, "printed_form", scaled(1.001), 1),
    ("sousa2014", "Fig. 6.1", sousa2014_methods, "pd_curve", scaled(0.5), 1),
    ("sousa2014", "Table 6.1", sousa2014_methods, "nearest_feasible", lambda make: lambda *words, **named: (
        SimpleNamespace(distance=1.01 * make(*words, **named).distance, proven_distance=0.0,
                        corrected=make(*words, **named).corrected)), 2),
    ("sousa2014", "Sec. 3.5", sousa2014_theory, "ols_by_sdp", moved, 0),
    ("sousa2014", "Sec. 3.1", sousa2014_theory, "closed_form", lambda make: lambda *_: True, 1),
]  # fmt: skip


@pytest.mark.claim("an item whose code is broken loses the claim that rests on it")
@pytest.mark.parametrize(
    ("key", "name", "module", "part", "change", "claim"), BROKEN, ids=lambda value: str(value)[:20]
)
def test_a_broken_item_loses_its_claim(key, name, module, part, change, claim, monkeypatch):
    item = paper_of(key).item(name)
    right = item.run(Setting(quick=True)).checks[claim]
    if part == "D1":
        monkeypatch.setattr(module, "TABLE", ((0.0, 0.0, module.D1 + 1e-3), *module.TABLE[1:]))
    else:
        monkeypatch.setattr(module, part, change(getattr(module, part)))
    wrong = item.run(Setting(quick=True)).checks[claim]
    assert not right.changed and wrong.changed


def test_beta_prime_is_computed_and_nearer_than_any_feasible_set_allows():
    nearest, distance, off = sousa2014_wam.correction_of_print()
    assert np.abs(1e4 * nearest - np.round(1e4 * nearest)).max() > 0.1 and 0 < round(off, 6) <= 7e-5  # not the print's
    given = numbers(WAM_SETS, "beta_WLS")
    d = nearest - given
    assert distance**2 == pytest.approx(d @ d, rel=1e-6)
    for column in ("beta_star_WLS", "beta_star_e_WLS"):  # a convex set lies beyond the plane through its nearest point
        assert d @ (numbers(WAM_SETS, column) - given) >= d @ d * (1 - 1e-3)


def test_the_coefficients_of_table_iii_are_those_of_plain_numpy(monkeypatch):
    x, _, error, _ = fitted()
    shown = np.array([float(row[2]) for row in supplement.table()[:43]])
    np.testing.assert_allclose(shown, x[places()], atol=1e-6)
    assert panda.coefficients().relative_error == pytest.approx(error, rel=1e-3)
    assert 0.1 < panda.deviations()[0] <= 0.6
    estimate = panda.coefficients()
    other = SimpleNamespace(values=estimate.values + 1e-3)
    monkeypatch.setattr(panda, "coefficients", lambda: other)
    assert panda.deviations()[0] >= 5


def test_the_replay_is_judged_on_what_was_not_fitted(monkeypatch):
    asked = []
    monkeypatch.setattr(supplement, "replay", lambda kind, held_out=False: asked.append(held_out))
    supplement.replays.__wrapped__()
    assert asked == [True, True]


def test_ratios_of_forces_are_one_for_the_true_parameters(monkeypatch):
    truth = two_links.true_parameters()
    monkeypatch.setattr(two_links, "relaxed", lambda _: [Relaxed(truth, 0.0, 0.0), Relaxed(2 * truth, 0.0, 0.0)])
    np.testing.assert_allclose(two_links.ratios(2), [[1, 1], [2, 2]], rtol=1e-9)


def test_infeasible_is_proven_for_the_infeasible_alone():
    free = {name: sousa2014_wam.verdict(name, None) for name in ("beta_WLS", "beta*e")}
    assert sousa2014_wam.proven_infeasible(free["beta_WLS"]) and not sousa2014_wam.within_digits(free["beta_WLS"])
    assert not sousa2014_wam.proven_infeasible(free["beta*e"]) and sousa2014_wam.within_digits(free["beta*e"])


def test_numbers_fill_their_words_in_order_and_none_is_left():
    assert list(filled(("{} of {:.1f}", "none", "{{x}} {}"), (1, 2.0, 3))) == ["1 of 2.0", "none", "{x} 3"]
    with pytest.raises(ValueError, match="too few"):
        list(filled(("{} {}",), (1,)))
    with pytest.raises(ValueError, match="too many"):
        list(filled(("{}",), (1, 2)))
    item = Item("one", "two", Status.REPRODUCED, "how", claims=("a", "~ b"), function=lambda _: [holds(True)])
    with pytest.raises(ValueError, match=r"shorter|longer"):
        item.run(Setting())
    both = replace(item, function=lambda _: [holds(True, False)]).run(Setting())
    assert [check.changed for check in both.checks] == [False, False]
    assert all(item.claims for paper in PAPERS for item in paper.items if item.repeatable and item.name != "Table I")
