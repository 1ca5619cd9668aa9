"""Options of `identify` as objects."""

import pytest

from casid.description import load_robot
from casid.errors import DatasetError, ProblemError
from casid.identification import Checks, Choice, ModelOptions, identify

DEFAULT_TERMS = ("viscous", "coulomb", "offset", "rotor")
MOTOR_TERMS = ("motor_viscous", "motor_coulomb", "motor_rotor")


def test_wrong_options_are_named():
    with pytest.raises(DatasetError, match="folds: expected 2 parts of the motion or more, or 0 for none, got 1"):
        Checks(folds=1)
    with pytest.raises(ProblemError, match="share"):
        Choice(share=0.0)


@pytest.mark.claim("a motor that turns several joints has its own friction and rotor by default")
def test_default_terms_follow_the_transmission():
    coupled = load_robot("tx40")
    assert ModelOptions().terms_of(load_robot("panda")) == DEFAULT_TERMS
    motors = tuple(f"{term}@joint_6" for term in MOTOR_TERMS)
    assert ModelOptions().terms_of(coupled) == (*DEFAULT_TERMS, *motors)
    assert ModelOptions(terms=("viscous",)).terms_of(coupled) == ("viscous",)


@pytest.mark.parametrize("name", ["model", "constraints", "choice", "checks"])
def test_an_option_of_another_kind_is_refused_by_name(robot, noisy, name):
    with pytest.raises(ProblemError, match=rf"{name}: expected casid\.identification\.\w+\(\.\.\.\), got None"):
        identify(robot, noisy, **{name: None})
