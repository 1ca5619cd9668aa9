"""Options of `identify` as objects, and the keyword arguments of version 0.2."""

import numpy as np
import pytest

from casid.description import load_robot
from casid.errors import DatasetError, ProblemError
from casid.identification import Checks, Choice, Constraints, ModelOptions, identify
from casid.identification._options import DEFAULT_TERMS, FORMER, MOTOR_TERMS, with_former
from casid.regression.estimators import OLS

PLAIN = {
    "model": ModelOptions(),
    "estimator": "WLS",
    "constraints": Constraints(),
    "choice": Choice(),
    "checks": Checks(),
}


def test_wrong_options_are_named():
    with pytest.raises(DatasetError, match="folds: expected 2 parts of the motion or more, or 0 for none, got 1"):
        Checks(folds=1)
    with pytest.raises(ProblemError, match="share"):
        Choice(share=0.0)


def test_every_former_argument_has_a_place():
    for name, (place, part) in FORMER.items():
        assert place in PLAIN and (not part or hasattr(PLAIN[place], part)), name


@pytest.mark.claim("keyword arguments of 0.2 keep working and name their new place")
def test_former_arguments_are_put_in_their_places():
    with pytest.warns(DeprecationWarning, match=r"checks=Checks\(folds=\.\.\.\)"):
        made = with_former(PLAIN, {"folds": 2, "terms": ("viscous",), "method": "OLS", "bounds": None})
    assert made["checks"] == Checks(folds=2) and made["model"].terms == ("viscous",) and made["estimator"] == "OLS"
    with pytest.warns(DeprecationWarning, match=r"constraints=Constraints\(build=\.\.\.\)"):
        made = with_former({**PLAIN, "constraints": None}, {"consistency": "semi"})
    assert made["constraints"] == Constraints(build=None, consistency="semi")
    with pytest.raises(TypeError, match=r"identify\(\) has no argument 'fold'; it has model"):
        with_former(PLAIN, {"fold": 2})
    assert with_former(PLAIN, {}) == PLAIN


def test_old_and_new_arguments_give_the_same(robot, noisy):
    with pytest.warns(DeprecationWarning, match="version 0.2"):
        old = identify(robot, noisy, processing=False, method="OLS", folds=0, verdict=False, believable=False)
    quick = {"choice": Choice(believable=False), "checks": Checks(folds=0, verdict=False)}
    new = identify(robot, noisy, processing=False, estimator=OLS(), **quick)
    np.testing.assert_array_equal(old.parameters.values, new.parameters.values)


@pytest.mark.claim("a motor that turns several joints has its own friction and rotor by default")
def test_default_terms_follow_the_transmission():
    coupled = load_robot("tx40")
    assert ModelOptions().terms_of(load_robot("panda")) == DEFAULT_TERMS
    motors = tuple(f"{term}@joint_6" for term in MOTOR_TERMS)
    assert ModelOptions().terms_of(coupled) == (*DEFAULT_TERMS, *motors)
    assert ModelOptions(terms=("viscous",)).terms_of(coupled) == ("viscous",)
